# SPDX-License-Identifier: Apache-2.0
# A stop of the tour that is measured first, by the shipped example. On the emulated device that takes a while.
export XDG_CACHE_HOME=$CACHE SIMTUNE_SHIPPED_HISTORY=off
untimed simtune tour --measure accumulators --device emu --db history.db
sql history.db "SELECT count(*), count(p.profile_key) FROM candidate c LEFT JOIN profile p ON p.candidate_key = c.candidate_key AND p.kind = 'pc'"
