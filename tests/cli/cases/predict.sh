# SPDX-License-Identifier: Apache-2.0
# A static choice: what is refused, what is left out, how rows of it look; and a measured device left out. Predictions
# themselves need NVRTC: tests/unit/tuner/test_predict.c.
store
t simtune predict --help
t simtune predict
t simtune predict reduce
t simtune predict reduce --arch sm_99
t simtune predict reduce --arch 103
t simtune predict reduce --arch "$(for i in $(seq 1 17); do printf 'sm_90/%d,' $i; done)80"
t simtune predict none --arch 80
t simtune predict reduce --arch 80 --type f128
t simtune predict reduce --arch 80 --op mean
t simtune predict reduce --arch 80 --axis order=any
t simtune predict $DATA/scale.cu --arch sm_90/132 --db history.db
json simtune predict $DATA/scale.cu --arch sm_90/132 --db history.db --json
cp $DATA/scale_device.cuh .
sed 's|// simtune: where .*|&\n// simtune: where    CC >= 90|' $DATA/scale.cu >hopper.cu
t simtune predict hopper.cu --arch 80 --size 64Ki --db other.db
rm hopper.cu scale_device.cuh
t simtune predict --leave-one-out --db history.db
t simtune predict --leave-one-out --db none.db
echo "--- rows that were predicted"
sql history.db "UPDATE device SET backend = 'predicted', device_id = 'f0000000000000000000000000000000'; UPDATE winner SET winner_ns = NULL, default_ns = NULL, speedup = NULL, speedup_low = NULL, speedup_high = NULL"
t simtune query scale --best --db history.db
sql history.db "UPDATE winner SET note = 'predicted, not measured: by a model alone', tied = 1, default_key = NULL"
t simtune report --db history.db
t simtune report scale --db history.db
scale=$(sql history.db "SELECT session_id FROM session WHERE family = 'scale'")
t simtune report $scale --db history.db | head -12
t simtune report $scale --db history.db --format MARKDOWN | head -3
t simtune compare --baseline $scale --db history.db
t simtune emit $DATA/scale.cu --db history.db -o predicted.h
grep -c PREDICTED predicted.h
t simtune tune $DATA/scale.cu --arch sm_90 --db history.db -o run
head -1 run/simtune_scale.h
rm -r run
json simtune tune $DATA/scale.cu --arch sm_90 --db history.db --no-header --json
t simtune lock $DATA/scale.cu --db history.db -o predicted.lock
t simtune emit $DATA/scale.cu --lock predicted.lock --require measured -o none
t simtune show $(sql history.db "SELECT candidate_id FROM candidate JOIN winner ON winner_key = candidate_key LIMIT 1") --db history.db | grep -A 1 "^  device "
echo "--- a device left out: 48 candidates, of which the model must not see the times"
store
hash=$(simtune templates reduce --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["hash"])')
python3 - "$hash" <<'PYTHON'
import sqlite3, sys
store = sqlite3.connect("history.db")
session = store.execute("SELECT session_key, template_key FROM session JOIN device USING (device_key) WHERE family = 'reduce' AND backend = 'cuda' ORDER BY 1 LIMIT 1").fetchone()
store.execute("UPDATE template SET hash = ? WHERE template_key = ?", (sys.argv[1], session[1]))
store.execute("DELETE FROM winner")
store.execute("INSERT INTO problem (problem_id, family, text, type, operation, n) VALUES ('e0000000000000000000000000000000', 'reduce', 'T=f32 op=sum n=16777216', 'f32', 'sum', 16777216)")
problem = store.execute("SELECT max(problem_key) FROM problem").fetchone()[0]
rest = "LOAD=plain ORDER=batched MIN_BLOCKS=1 WAVES=1 MAP=strided WARP=shuffle BLOCK_STEP=shuffle FINISH=two_pass CLUSTER=1"
for number, (block, vec, unroll) in enumerate((b, v, u) for b in (128, 256, 512, 1024) for v in (1, 2, 4) for u in (1, 2, 4, 8)):
    text = f"BLOCK={block} VEC={vec} UNROLL={unroll} ACC=1 {rest}"
    row = {"configuration_id": f"{number:032x}", "family": "reduce", "text": text, "parameters": "{}"}
    store.execute(f"INSERT INTO configuration ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    key = store.execute("SELECT max(configuration_key) FROM configuration").fetchone()[0]
    store.execute("INSERT INTO candidate (candidate_id, session_key, problem_key, configuration_key, outcome, registers, local_bytes, blocks_per_sm) VALUES (?, ?, ?, ?, 'correct', 32, 0, ?)", (f"{number + 4096:032x}", session[0], problem, key, 2048 // block))
    candidate = store.execute("SELECT max(candidate_key) FROM candidate").fetchone()[0]
    store.execute("INSERT INTO measurement (candidate_key, phase, round, cache, samples, median_ns, taken_ms) VALUES (?, 'screen', 0, 'cold', zeroblob(8), ?, 1790000000000)", (candidate, 30000 - 100 * number))
store.commit()
PYTHON
t simtune predict --leave-one-out reduce --db history.db
json simtune predict --leave-one-out reduce --db history.db --json
echo "--- what was not predicted"
sql history.db "UPDATE device SET backend = 'predicted', uuid = 'PREDICTED' WHERE backend = 'cuda'; INSERT INTO winner (session_key, problem_key, cache, winner_key, tied) SELECT session_key, problem_key, 'cold', candidate_key, 1 FROM candidate WHERE candidate_key = (SELECT max(candidate_key) FROM candidate)"
t simtune tune reduce --arch 90 --db history.db --no-header --op sum
t simtune tune reduce --arch 90 --db history.db --no-header --type f64 --op min
t simtune tune reduce --arch 90 --db history.db --no-header --warm
t simtune tune reduce --arch 80 --db history.db --no-header
t simtune tune reduce --arch 80,90 --db history.db
left
