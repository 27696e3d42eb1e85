#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clash.sh CC HEADERS: two versions of one header in one C file give one error, and it says what to do.
set -e
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#include "simtune_total.h"\n#include "other/simtune_total.h"\n' > "$work/clash.c"
if "$1" -std=c11 -I "$2" -c "$work/clash.c" -o "$work/clash.o" 2> "$work/log"; then
    echo "two versions in one C file were accepted"
    exit 1
fi
grep -q 'two versions of simtune_total.h' "$work/log"
test "$(grep -c 'error' "$work/log")" -le 2
