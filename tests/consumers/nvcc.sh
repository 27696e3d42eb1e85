#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nvcc.sh NVCC ARCH STANDARD HEADERS: the headers of four families in three files of one program, compiled with
# warnings as errors and linked; and a file that calls nothing has no kernel in it.
set -e
nvcc=$1 arch=$2 standard=$3 headers=$4
test -x "$nvcc" || exit 77
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
    "$nvcc" -std=c++"$standard" -arch=sm_"$arch" -I "$headers" -include "$headers/other_name.h" \
        -Xcompiler -Wall,-Wextra,-Werror -Werror all-warnings -c "$1" -o "$2"
}
compile "$here/cuda_one.cu" "$work/one.o"
compile "$here/cuda_two.cu" "$work/two.o"
compile "$here/cuda_kept.cu" "$work/kept.o"
compile "$here/cuda_none.cu" "$work/none.o"
"$nvcc" -arch=sm_"$arch" "$work/one.o" "$work/two.o" "$work/kept.o" "$work/none.o" -o "$work/program"
# Without a device the runtime says so, with one the size is written: both is an answer.
"$work/program"
if strings "$work/none.o" | grep -q 'reduce_blocks\|total_partials'; then
    echo "kernels were compiled that nobody calls"
    exit 1
fi
