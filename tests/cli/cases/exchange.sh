# SPDX-License-Identifier: Apache-2.0
# Files of other tools, in and out: what is accepted, what is said about it, what is refused and where.
store
foreign() { PYTHONPATH="$DATA" python3 -B -c "from foreign import *; import json
$1"; }
foreign 'write("blur_cache.json", cache())
write("blur_T4.json.gz", t4())
write("cut_cache.json", cache()[:-3] + ",\n")'
t simtune db import blur_cache.json --db new.db
json simtune db import blur_cache.json blur_T4.json.gz --device "Some GPU 40GB" --family blur_kernel --db new.db --json
t simtune db import cut_cache.json --db new.db
t simtune db import blur_T4.json.gz --db other.db
t simtune db check --db new.db
t simtune query --db new.db
t simtune query --failures --db new.db
sql other.db "SELECT family, device_name, backend FROM simtune_sessions"
foreign 'again = json.loads(t4())
again["results"].append({**again["results"][0], "times": {"runtimes": [3, 4, 5]}})
write("again_T4.json", json.dumps(again))
again["results"].append(again["results"][0])
write("more_T4.json", json.dumps(again))'
t simtune db import again_T4.json more_T4.json --db other.db
# Never emitted as tuned, not even where the names are ours.
foreign 'write("scale_cache.json", cache([("256,4", {"BLOCK": 256, "ITEMS": 4, "time": 0.001})], kernel_name="scale",
                                         problem_size=1048576, tune_params_keys=["BLOCK", "ITEMS"]))'
t simtune db import scale_cache.json --db scale.db
t simtune query scale --best --db scale.db
t simtune emit "$DATA/scale.cu" --warm --db scale.db
t simtune emit "$DATA/scale.cu" --warm --allow-emulated --db scale.db
t simtune tune "$DATA/scale.cu" --arch sm_90 --warm --db scale.db
shown=$(sql scale.db "SELECT candidate_id FROM candidate")
t simtune show $shown --db scale.db
t simtune repro $shown --db scale.db
json simtune show $shown --db scale.db --json
json simtune query scale --best --db scale.db --json
t simtune db export none_cache.json --cache cold --db scale.db
# Out: the form by the name, or by --format.
t simtune db export all.jsonl --db history.db
t simtune db export all.jsonl.gz --db history.db
gzip -dc all.jsonl.gz | cmp - all.jsonl && echo "the same rows"
json simtune db export out.jsonl --family scale --device h200 --db history.db --json
t simtune db export arch.jsonl --arch 90 --op sum --type f32 --db history.db
t simtune db export arch.jsonl --arch 80 --db history.db
t simtune db export out.json --db history.db
t simtune db export out.json --format t5 --db history.db
t simtune db export out_T4.json --db history.db
json simtune db export scale_T4.json --family scale --db history.db --json
python3 - <<'END'
import json, jsonschema, os
schema = json.load(open(os.environ["DATA"] + "/t4_results_schema.json"))
jsonschema.validate(json.load(open("scale_T4.json")), schema)
print("T4 as its schema has it")
END
t simtune db export reduce_cache.json --family reduce --type f32 --op sum --size 64Ki --db history.db
sed -E 's/[0-9]{4}-[0-9-]+ [0-9:.+]+/DATE/' reduce_cache.json; echo
t simtune db export warm_cache.json --family reduce --size 64Ki --cache warm --db history.db
t simtune db import reduce_cache.json scale_T4.json --db back.db
t simtune query --best --db back.db
t simtune query reduce --failures --db back.db
t simtune db export blur.json --format kernel-tuner --family blur_kernel --db new.db
# A configuration that two sessions tried, and one with other parameters.
foreign 'late = [(k, {**v, "timestamp": v.get("timestamp", "").replace("2024", "2025")}) for k, v in ENTRIES[:1]]
write("late_cache.json", cache(late))
write("odd_cache.json", cache([("16", {"bx": 16, "time": 3.0})], tune_params_keys=["bx"]))'
t simtune db import late_cache.json odd_cache.json --db two.db
sql two.db "UPDATE session SET started_ms = 1000, finished_ms = 2000 WHERE session_key = 2"
t simtune db import blur_cache.json --db two.db
t simtune db export two_cache.json --db two.db
t simtune db export one_T4.json --problem "x=640 y=480" --db new.db
t simtune db export one_T4.json --problem "x=1" --db new.db
# What is asked for and is not there.
t simtune db export none.jsonl --family sort --db history.db
t simtune db export none_cache.json 0000 --db history.db
t simtune db export none_cache.json --family scale --size 7 --db history.db
t simtune db export none_cache.json --family scale --size many --db history.db
t simtune db export none_cache.json --family scale --type f99 --db history.db
t simtune db export none.jsonl --cache cold --db history.db
t simtune db export none_cache.json --cache hot --db history.db
t simtune db export none_cache.json --family blur_kernel --cache cold --db two.db
sql two.db "INSERT INTO session SELECT 99, '0123456789abcdef0123456789abcdef', resume_key, 'other', device_key, toolchain_key,
    template_key, started_ms, finished_ms, status, command, options, summary, shipped FROM session LIMIT 1"
t simtune db export none_cache.json 0123456789abcdef --db two.db
t simtune db export --db history.db
t simtune db import --db history.db
# What is refused, whole.
refuse() { printf "$2" >"$1"; t simtune db import "$1" --db fresh.db; }
refuse nonsense.json 'nonsense'
refuse mark.json '\xef\xbb\xbf{}'
refuse other.json '{"ConfigurationSpace": {}}'
refuse open.json '{"results": [\n'
refuse word.json '{"results" 5}'
refuse control.json '{"results"\001 5}'
refuse value.json '{"a": }'
refuse byte.json '{"a": \002}'
refuse text.json '{"a": "b'
refuse within.json '{"a": [1'
refuse none.json '{"a":'
refuse after.json '{"cache": {}, "tune_params_keys": []} 5'
refuse second.json '{"cache": {}, "results": []}'
refuse deep.json "{\"a\": $(printf '[%.0s' $(seq 80))"
refuse keys.json '{"cache": {}}'
refuse listed.json '{"cache": {}, "tune_params_keys": 5}'
refuse named.json '{"cache": {}, "tune_params_keys": [5]}'
refuse size.json "{\"cache\": {}, \"tune_params_keys\": [], \"problem_size\": \"$(printf 'x%.0s' $(seq 600))\"}"
refuse entry.json '{"tune_params_keys": ["a"], "cache": {\n"1": 5}}'
refuse absent.json '{"tune_params_keys": ["a", "b"], "cache": {\n"1": {"a": 5}}}'
refuse nested.json '{"tune_params_keys": ["a"], "cache": {\n"1": {"a": {}}}}'
refuse unnamed.json '{"tune_params_keys": [""], "cache": {\n"1": {"": 1}}}'
refuse negative.json '{"tune_params_keys": ["a"], "cache": {\n"1": {"time": -1}}}'
refuse slow.json '{"tune_params_keys": ["a"], "cache": {\n"1": {"times": [1, -1]}}}'
refuse fast.json '{"tune_params_keys": ["a"], "cache": {\n"1": {"times": ["fast"]}}}'
refuse times.json '{"tune_params_keys": ["a"], "cache": {\n"1": {"times": 5}}}'
refuse killed.json '{"tune_params_keys": ["a"], "cache": {\n"1": {"time": 5'
refuse unit.json '{"results": [], "metadata": {"timeunit": "weeks"}}'
refuse invalid.json '{"results": [\n{"configuration": {}, "invalidity": "odd"}]}'
refuse runtimes.json '{"results": [\n{"configuration": {}, "invalidity": "correct", "times": {"runtimes": 5}}]}'
refuse measured.json '{"results": [\n{"configuration": {}, "invalidity": "correct", "times": {}, "measurements": [{}]}]}'
refuse own.json '{"results": [], "metadata": {"simtune": {"cache": "hot"}}}'
refuse long.json "{\"results\": [], \"metadata\": {\"simtune\": {\"type\": \"$(printf 'x%.0s' $(seq 99))\"}}}"
gzip -c blur_cache.json | head -c 300 >half.json.gz
t simtune db import half.json.gz --db fresh.db
t simtune db import missing.json --db fresh.db
test -e fresh.db || echo "no store was left of it"
