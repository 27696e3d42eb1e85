# SPDX-License-Identifier: Apache-2.0
# Why a candidate takes its time, from the store alone.
store
t simtune explain --help
t simtune explain reduce --size 64Ki --type float --op sum --device H200 --arch 90 --db history.db
json simtune explain reduce --size 64Ki --json --db history.db
# What is at the memory's limit is left alone; no samples, so shares are of latency.
t simtune explain reduce --size 256Mi --db history.db
t simtune explain reduce --size 64Ki --cache warm --config "BLOCK=512 ACC=1" --db history.db
t simtune explain scale --db history.db
t simtune explain $(failed wrong) --db history.db
json simtune explain $(failed crash) --json --db history.db
# A session: its winner.
t simtune explain $(sql history.db "SELECT session_id FROM session WHERE family = 'scale'") --db history.db | sed -n 1,2p
# The newest of all, whatever it is.
t simtune explain --db history.db | sed -n 1,2p
# One stall by its names.
t simtune explain --stall smsp__pcsamp_warps_issue_stalled_barrier_not_issued --db history.db
t simtune explain --stall execution_dependency --db history.db
t simtune explain --stall "Stall LG Throttle" --db history.db
json simtune explain --stall long_scoreboard --json --db history.db
t simtune explain --stall all --db history.db | grep -c "waits for"
# Words need no store, and make none.
t simtune explain --stall barrier --db missing.db | tail -2
simtune explain --stall barrier | grep example
ls missing.db ~/.local/share/simtune ~/.cache/simtune 2>/dev/null
# What nobody measured.
cp history.db predicted.db
sql predicted.db "UPDATE device SET backend = 'predicted', device_id = 'f0000000000000000000000000000000'; DELETE FROM measurement; DELETE FROM profile; UPDATE winner SET winner_ns = NULL, default_ns = NULL, speedup = NULL, speedup_low = NULL, speedup_high = NULL, note = NULL"
t simtune explain scale --db predicted.db
sql predicted.db "UPDATE winner SET note = 'predicted, not measured: as ranked on NVIDIA H100'"
t simtune explain scale --db predicted.db | sed -n 2,5p
# What cannot be explained.
t simtune explain reduce --device A100 --db history.db
t simtune explain --stall barier --db history.db
t simtune explain --stall register_dependency_of_old --db history.db
t simtune explain reduce --stall barrier --db history.db
t simtune explain reduce scan --db history.db
t simtune explain scan --db history.db
t simtune explain 0000 --db history.db
t simtune explain nothing --db history.db
t simtune explain reduce --size 1Mi --db history.db
t simtune explain reduce --size many --db history.db
t simtune explain reduce --type f33 --db history.db
t simtune explain reduce --cache lukewarm --db history.db
t simtune explain reduce --session ffff --db history.db
t simtune explain $(failed wrong) --config BLOCK=512 --db history.db
t simtune explain reduce --size 64Ki --config "BLOCK=512 WIDTH=4" --db history.db
t simtune explain reduce --size 64Ki --config "BLOCK=64" --db history.db
t simtune explain reduce --size 64Ki --config "BLOCK=256 ACC=4" --db history.db
t simtune explain reduce --db missing.db
