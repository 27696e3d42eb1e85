# SPDX-License-Identifier: Apache-2.0
# Lock files: written from the store, reviewed, merged, and made headers of without the store.
store
lock() { t simtune lock "$@" --db history.db; }
emit() { t simtune emit "$@" --lock simtune.lock --db none.db; }
shown() { sed -E 's/"(candidate|session|template)":"[0-9a-f]+"/"\1":…/g' simtune.lock; }
lock $DATA/scale.cu
shown
lock $DATA/scale.cu
lock reduce $DATA/scale.cu --arch 90
cut -d: -f1 simtune.lock | tail -n +4
emit $DATA/scale.cu -o from_lock
emit $DATA/scale.cu -o from_lock
[ -e none.db ] || echo "the store was not opened"
simtune emit $DATA/scale.cu --db history.db -o from_store >.out
# The same header but for the command that made it, and what follows from that (its hash).
diff <(grep -v "Made again by" from_lock/simtune_scale.h | sed -E 's/[0-9a-f]{8}/X/g; s/"command":"[^"]*"//') \
    <(grep -v "Made again by" from_store/simtune_scale.h | sed -E 's/[0-9a-f]{8}/X/g; s/"command":"[^"]*"//') && echo "the same header"
emit reduce -o from_lock
emit -o from_lock
emit $DATA/scale.cu --warm
emit $DATA/scale.cu --arch 80
emit $DATA/scale.cu --type f32
emit $DATA/scale.cu --session 0000
emit $DATA/scale.cu --require everything
emit $DATA/scale.cu --require measured
# Kernels in a file of their own.
emit $DATA/scale.cu --format h,cu -o split
grep -c __global__ split/simtune_scale.h split/simtune_scale.cu
echo "// changed" >>split/simtune_scale.cu
emit $DATA/scale.cu --format h,cu -o split
tail -1 split/simtune_scale.cu
emit $DATA/scale.cu --format cu -o split
lock
lock $DATA/scale.cu --arch 80
lock $DATA/scale.cu --type f32
lock $DATA/scale.cu --device 4090
lock $DATA/scale.cu --session 0000
t simtune lock --help
json simtune lock $DATA/scale.cu --warm -o warm/simtune.lock --db history.db --json
cp simtune.lock good
# Order and comments do not matter; what cannot be understood is named.
mistake() { echo "\$ # $1"; sed -E "$2" good >simtune.lock; simtune emit $DATA/scale.cu --lock simtune.lock --db none.db -o mistaken 2>&1 | sed 's/^/! /'; }
mistake "a comment and an empty line" '4s/^/# mine\n\n/'
mistake "no head" '1d'
mistake "a newer head" '1s/1/2/'
mistake "a bad version" '1s/1/one/'
mistake "a merge" '4s/^/<<<<<<< ours\n/'
mistake "a line twice" '$p'
mistake "two parts" 's/ : \{.*//'
mistake "no class" 's/ sm_90\/[0-9]+//'
mistake "another class" 's/ sm_90/ gfx90/'
mistake "another state" 's/ cold / hot /'
mistake "no configuration" 's/BLOCK=[0-9]+/BLOCK=7/'
mistake "another problem" 's/n=1048576/m=1048576/'
mistake "half a row" 's/,"cc".*//; s/,"device":.*//'
mistake "no hash" 's/"template":"[0-9a-f]+"/"template":"x"/'
mistake "a negative number" 's/"samples":/"samples":-/'
mistake "another version of the template" 's/"template":"[0-9a-f]{4}/"template":"0000/'
lock $DATA/scale.cu
: >simtune.lock
emit $DATA/scale.cu
echo "simtune-lock 1" >simtune.lock
emit
printf 'simtune-lock 1\n\0' >simtune.lock
emit
rm simtune.lock
emit
lock $DATA/scale.cu -o /dev/null/simtune.lock
# An emulated device, which builds may not take for measured.
make_store emulated.db "$DATA/scale.cu"
sql emulated.db "UPDATE device SET device_id = 'f0000000000000000000000000000000', backend = 'emu'"
t simtune lock $DATA/scale.cu --db emulated.db
t simtune lock $DATA/scale.cu --db emulated.db --allow-emulated
emit $DATA/scale.cu --require measured
left
