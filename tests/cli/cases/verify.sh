# SPDX-License-Identifier: Apache-2.0
# A header measured again: on the emulated device, where only answers count; and what cannot be verified. Times that
# decide are in tests/emulated/test_verify.py.
store
export XDG_CACHE_HOME=$CACHE
verify() { t simtune verify "$@" --db history.db; }
simtune lock $DATA/scale.cu --db history.db >.out
simtune emit $DATA/scale.cu --lock simtune.lock -o scale.h >.out
echo "--- on the emulated device"
t simtune verify --help
verify scale.h $DATA/scale.cu
verify scale.h $DATA/scale.cu --device emu
untimed simtune verify scale.h $DATA/scale.cu --device emu --size 4Ki --db history.db
verify scale.h $DATA/scale.cu --device emu --size n=4Ki --strict >.strict
tail -3 .strict
simtune verify scale.h $DATA/scale.cu --device emu --size 4Ki --db history.db --json | sed -E 's/("(median_ns|ratio[a-z_]*)":)[0-9.e+-]+/\11/g' >verify.json
json cat verify.json
echo "--- a kernel that is wrong, one that does not compile, and one that is another"
sed 's/return 3/return 4/' scale.h >wrong.h
untimed simtune verify wrong.h $DATA/scale.cu --device emu --size 4Ki --db history.db | sed -E 's/is [-0-9.]+, expected [-0-9.]+ within [0-9.]+/is A, expected B within C/'
sed 's/y\[at\] =/y[att] =/' scale.h >compile.h
untimed simtune verify compile.h $DATA/scale.cu --device emu --size 4Ki --db history.db | sed -E '/^ +header/,/^ +default/{/header/!{/default/!d};s/[0-9]+:[0-9]+: error: .*/L: error/}'
sed 's/#define ITEMS 4/#define ITEMS 2/' scale.h >other.h
verify other.h $DATA/scale.cu --device emu --size 4Ki
echo "--- what cannot be verified"
verify scale.h
verify none.h
verify simtune.lock
echo "int precious;" >precious.h
verify precious.h
verify scale.h $DATA/scale.cu --device emu --compiler nvcc
verify scale.h $DATA/scale.cu --device emu --type f64
verify scale.h $DATA/scale.cu --device emu --type f128
verify scale.h $DATA/scale.cu --device emu --op max
verify scale.h $DATA/scale.cu --device emu --size much
verify scale.h $DATA/scale.cu --device emu --size m=4
verify scale.h $DATA/scale.cu --device emu --size "$(seq -s, 1 65)"
verify scale.h $DATA/scale.cu --device emu --size 4Ki --time-limit never
verify scale.h $DATA/scale.cu --device emu --threshold 1000
verify scale.h $DATA/scale.cu --device 4090
verify --check scale.h $DATA/scale.cu --compiler nvcc
verify --check scale.h $DATA/scale.cu --size 4Ki
sed 's/"template":"..../"template":"0000/' scale.h >stale.h
verify stale.h $DATA/scale.cu --device emu
simtune emit $DATA/scale.cu --lock simtune.lock --format h,cu -o two >.out
rm two/simtune_scale.cu
verify two/simtune_scale.h $DATA/scale.cu --device emu
sed 's/#define SIMTUNE_SCALE_H_/#define SIMTUNE_SCALE_X_/' scale.h >nameless.h
verify nameless.h $DATA/scale.cu --device emu
sed 's/"template":"[0-9a-f]*"/"temple":1/' scale.h >unsaid.h
verify unsaid.h $DATA/scale.cu --device emu
echo "--- kernels that are not written for every size: the small rows alone"
sed '/^scale/{h;s/n=1048576/n=4096/;p;x}' simtune.lock >both.lock
simtune emit $DATA/scale.cu --lock both.lock -o both.h >.out
untimed simtune verify both.h $DATA/scale.cu --device emu --db history.db
echo "--- a family that ships: large problems at a small size"
candidate='{"template":"TEMPLATE","deterministic":true,"predicted":true,"emulated":false,"blocks_per_sm":1}'
hash=$(simtune templates reduce --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["hash"])')
config="BLOCK=256 VEC=4 UNROLL=4 ACC=4 LOAD=plain ORDER=batched MIN_BLOCKS=1 WAVES=1 MAP=strided WARP=shuffle BLOCK_STEP=shuffle FINISH=two_pass CLUSTER=1"
printf 'simtune-lock 1\nreduce sm_90/132 cold T=f32 op=sum n=16777216 : %s : %s\n' "$config" "${candidate/TEMPLATE/$hash}" >reduce.lock
simtune emit --lock reduce.lock -o reduce >.out
untimed simtune verify reduce/simtune_reduce.h --device emu --db history.db
