#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_cuda.sh NVCC SOURCE HEADERS PROGRAM: compiles for the device that is present, and runs. 77: no nvcc or device.
set -e
test -x "$1" || exit 77
nvidia-smi -L > /dev/null 2>&1 || exit 77
"$1" -std=c++11 -O2 -arch=native -I "$3" -Xcompiler -Wall,-Wextra,-Werror "$2" -o "$4"
"$4"
