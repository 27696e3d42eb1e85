# SPDX-License-Identifier: Apache-2.0
# What this machine has differs from the next one's, so only what was put in its place is shown.
parts() { grep -A 2 -E '^(ok|warning|problem) +(driver|device 0|nvrtc) ' | grep -vE '^--|^(ok|warning|problem) +(nvml|counters|environment|cache|locks|cupti) ' | awk '!/^ +at / || /libfake_cuda|at 0000:/'; }
doctor() { echo "\$ simtune doctor"; "$@" simtune doctor >.out 2>.err; echo "exit $?"; parts <.out; sed 's/^/! /' .err; }
doctor env FAKE_CUDA_VERSION=11000 SIMTUNE_LIBNVRTC=/nonexistent/libnvrtc.so
doctor env FAKE_CUDA_DEVICES=1 SIMTUNE_LIBNVRTC=/nonexistent/libnvrtc.so
doctor env SIMTUNE_LIBCUDA=/nonexistent/libcuda.so SIMTUNE_LIBNVRTC=/nonexistent/libnvrtc.so
echo '$ simtune doctor --json --db history.db'
simtune doctor --json --db history.db >.json 2>.err
python3 "$CHECK_JSON" .json | grep -E 'SCHEMA|"schema"|"(driver|nvrtc|nvml|counters|cache|locks|cupti|store)"'
# Found by doctor, said by every command that needs a GPU.
SIMTUNE_LIBCUDA=/nonexistent/libcuda.so t simtune devices
FAKE_CUDA_VERSION=11000 t simtune tune $DATA/scale.cu
FAKE_CUDA_VERSION=11000 t simtune query --device 0
