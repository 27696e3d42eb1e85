# SPDX-License-Identifier: Apache-2.0
# A run from the first word to the last, on the emulated device; only its times are rewritten.
export XDG_CACHE_HOME=$CACHE SIMTUNE_SHIPPED_HISTORY=off
tune() { untimed simtune tune $DATA/typed.cu --device emu --size 512 --budget 3 "$@"; }
tune --counters off --type f32 --db history.db
tune --counters off --type f32 --db history.db --vary ITEMS --vary ITEMS --set ITEMS=1,2
tune --counters off --type f32 --db history.db --json >summary.json
python3 "$CHECK_JSON" <(sed -n '/^{/p' summary.json) | grep -E 'SCHEMA|"schema"|"outcomes"|"other_processes"'
t simtune emit $DATA/typed.cu --db history.db -o none
t simtune emit $DATA/typed.cu --db history.db --allow-emulated --type f32,i32 -o none
t simtune emit $DATA/typed.cu --db history.db --allow-emulated --type f32 -o emulated.h
tune --set ITEMS=2 --where 'ITEMS > 2' --type f32 --db other.db
# What was interrupted goes on.
sql history.db "UPDATE session SET status = 'running', finished_ms = NULL WHERE session_key = 1"
tune --counters off --type f32 --db history.db
tune --counters off --type f32 --db history.db --fresh
left
# The timeline: written beside the summary; what cannot be written is known before anything is measured.
untimed simtune tune "$DATA/typed.cu" --device emu --size 512 --budget 3 --counters off --type f32 --db history.db --fresh --trace made/run.json
python3 -c 'import json; print(sorted({e["cat"] for e in json.load(open("made/run.json"))["traceEvents"] if e["ph"] == "X"}))'
t simtune tune "$DATA/typed.cu" --device emu --size 512 --budget 3 --type f32 --db history.db --dry-run --trace run.json
t simtune tune "$DATA/typed.cu" --device emu --size 512 --budget 3 --type f32 --db history.db --trace made
t simtune tune "$DATA/typed.cu" --device emu --size 512 --budget 3 --type f32 --db history.db --trace /proc/none/run.json
t simtune tune "$DATA/typed.cu" --device emu --size 512 --budget 3 --type f32 --db history.db --trace history.db
