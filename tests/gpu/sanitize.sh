#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compute-sanitizer over one candidate of each finish, warp step and block step of templates/reduce.cu, and over
# the winners of a generated header. One line a tool and candidate; 1 when anything is found, 77 when there is no
# device or no compute-sanitizer.
#
#   tests/gpu/sanitize.sh OUT PROGRAM          PROGRAM: tests/gpu/sanitize_reduce.cu, compiled
#   tests/gpu/sanitize.sh OUT [HEADERS]        compiles it; HEADERS: folder of simtune_reduce.h
#
# Environment: NVCC, SANITIZER (programs), JOBS (runs at a time, default 8), TOOLS.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
[ $# -ge 1 ] || { echo "usage: sanitize.sh OUT [PROGRAM | HEADERS]" >&2; exit 2; }
out=$1
PATH=$PATH${CUDA_HOME:+:$CUDA_HOME/bin}
nvcc=${NVCC:-nvcc}
sanitizer=${SANITIZER:-compute-sanitizer}
tools=${TOOLS:-memcheck racecheck synccheck initcheck}
mkdir -p "$out" || exit 1

nvidia-smi -L >/dev/null 2>&1 || { echo "sanitize: no GPU here"; exit 77; }
command -v "$sanitizer" >/dev/null || { echo "sanitize: no $sanitizer here (it is in the CUDA toolkit)"; exit 77; }
if [ -x "${2:-}" ] && [ ! -d "$2" ]; then
    program=$2
else
    command -v "$nvcc" >/dev/null || { echo "sanitize: no $nvcc here"; exit 77; }
    program=$out/sanitize_reduce
    header=()
    [ -n "${2:-}" ] && header=(-DWITH_HEADER -I "$2")
    "$nvcc" -O2 -lineinfo -std=c++14 -arch=native -I "$root/templates" -I "$root/tests/bench" "${header[@]}" \
        "$here/sanitize_reduce.cu" -o "$program" || exit 1
fi

# One run; prints its line. A finding, a wrong sum, or a tool that did not run to its summary is a failure.
check() {
    local tool=$1 name=$2 log arguments=() options=() clean='ERROR SUMMARY: 0 errors'
    log=$out/$tool.${name//[^a-zA-Z0-9_]/_}.log
    [ "$tool" = initcheck ] && arguments=(--leave-storage)
    [ "$tool" = racecheck ] && clean='RACECHECK SUMMARY: 0 hazards'
    [ "$tool" = memcheck ] && options=(--leak-check full)
    timeout 120 "$sanitizer" --tool "$tool" --error-exitcode 9 "${options[@]}" "$program" "${arguments[@]}" "$name" \
        >"$log" 2>&1
    local code=$?
    if [ $code = 0 ] && grep -q "$clean" "$log" && grep -q "^$name: right" "$log"; then
        printf '%-10s %-34s clean\n' "$tool" "$name"
        return 0
    fi
    printf '%-10s %-34s FOUND (exit %d): %s\n' "$tool" "$name" "$code" \
        "$(grep -m 1 -E '^=========.*(Invalid|Race|hazard|Uninitialized|Barrier|Leaked|Error|error)' "$log" ||
            tail -n 1 "$log")"
    return 1
}
export -f check
export out sanitizer program

names=$("$program" --list) || exit 1
# shellcheck disable=SC2016 # expanded by the inner shell
for tool in $tools; do for name in $names; do echo "$tool $name"; done; done |
    xargs -P "${JOBS:-8}" -L 1 bash -c 'check "$0" "$1"' >"$out/lines.txt"
code=$?
sort "$out/lines.txt"
total=$(wc -l <"$out/lines.txt") clean=$(grep -c ' clean$' "$out/lines.txt")
wanted=$(($(wc -w <<<"$tools") * $(wc -l <<<"$names")))
echo "sanitize: $clean of $wanted clean"
[ $code = 0 ] && [ "$total" = "$wanted" ] && [ "$clean" = "$wanted" ]
