# SPDX-License-Identifier: Apache-2.0
# Every candidate's profile recorded, explained, and shown on the tour: on the emulated device, whose figures mean nothing.
export XDG_CACHE_HOME=$CACHE SIMTUNE_SHIPPED_HISTORY=off
# ACC=2 adds in another order than the default, which the outputs are held to bit by bit.
untimed simtune tune $DATA/chain.cu --device emu --budget none --profile all --db history.db --no-header | grep -E '^\$|waits|failed|exit'
sql history.db "SELECT count(*), count(p.profile_key), min(v.value) FROM candidate c LEFT JOIN profile p ON p.candidate_key = c.candidate_key AND p.kind = 'pc' LEFT JOIN counter v ON v.profile_key = p.profile_key AND v.metric_key = (SELECT metric_key FROM metric WHERE name = 'stall_launches')"
untimed simtune explain fma_chain --db history.db
untimed simtune tour --db history.db
json simtune tour accumulators --json --db history.db | grep -vE 'median_ns|comparable_ns|share|issue|latency|"(wait|selected|not_selected|long_scoreboard|short_scoreboard|mio_throttle|lg_throttle|drain|barrier|branch_resolving|no_instruction|dispatch_stall)"|outcome'
t simtune tour --help
untimed simtune tour accumulators --device H200 --db history.db
untimed simtune tour accumulators --arch 80,90 --db history.db
untimed simtune tour accumulators --arch 80 --db history.db | tail -4
LC_ALL=C simtune tour accumulators --db history.db | LC_ALL=C grep -c '[^ -~]'
t simtune tour special_functions --db history.db
t simtune tour waterfalls --db history.db
untimed simtune tour scans atomics --db history.db
t simtune tour --budget 30s --db history.db
t simtune tour --measure --db history.db
# Without counters there is nothing to record.
t simtune tune $DATA/chain.cu --device emu --profile some --db history.db
t simtune tune $DATA/chain.cu --device emu --profile all --counters off --db history.db
