# SPDX-License-Identifier: Apache-2.0
# Problems in the T1 format: what becomes of one, and what is said of what is not read.
mkdir kernels
echo 'extern "C" __global__ void vector_add(float *c, const float *a) { c[threadIdx.x] = a[threadIdx.x]; }' >kernels/vec.cu
cat >vec.json <<'END'
{"ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "block_size_x", "Type": "int", "Values": "[32 * i for i in range(1, 9) if i != 5]", "Default": 64},
      {"Name": "tile", "Type": "int", "Values": "[1, 2] + [4]"},
      {"Name": "order", "Type": "string", "Values": ["row", "column"]}],
    "Conditions": [{"Parameters": ["block_size_x", "tile"], "Expression": "64 <= block_size_x * tile <= 512 and tile in (1, 4)"}]},
 "KernelSpecification": {
    "Language": "CUDA", "KernelName": "vector_add", "KernelFile": "kernels/vec.cu",
    "ProblemSize": [100000], "GridDivX": ["block_size_x", "tile"], "LocalSize": {"X": "block_size_x"},
    "Arguments": [
      {"Name": "c", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": "ProblemSize[0]"},
      {"Name": "a", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random", "Size": "ProblemSize[0]"}]}}
END
t simtune templates vec.json --arch sm_90
json simtune templates vec.json --arch sm_90 --json
change() { sed "$1" vec.json >other.json && t simtune templates other.json; }
change 's/64 <= block_size_x/64 <= block_size_q/'
change 's/tile in (1, 4)/tile \/ 2 > 0/'
change 's/"\[1, 2\] + \[4\]"/"[1, 2.5]"/'
change 's/"Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly"/"Type": "custom"/'
change 's/"Random"/"BinaryRaw"/'
change 's/"Vector", "AccessType": "ReadOnly"/"Symbol", "AccessType": "ReadOnly"/'
change 's/\[100000\]/[0]/'
change 's/kernels\/vec.cu/none.cu/'
change 's/"CUDA"/"OpenCL"/'
change 's/KernelFile/File/'
change 's/"ConfigurationSpace"/"Space"/'
change 's/^{//'
# Run, it has no axes: one problem, which is said.
export XDG_CACHE_HOME=$CACHE SIMTUNE_SHIPPED_HISTORY=off
echo 'extern "C" __global__ void vector_add(float *c, const float *a) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < 256) c[i] = a[i]; }' >kernels/vec.cu
sed 's/100000/256/; s/ and tile in (1, 4)/ and tile == 1/' vec.json >small.json
simtune tune small.json --device emu --budget 3 --counters off --db history.db 2>&1 | grep -oE '^vector_add on|^.one problem.$|^simtune: .*'
t simtune tune $DATA/typed.cu --device emu --size 0 --db history.db
t simtune tune $DATA/typed.cu --device emu --axis n=0 --db history.db
