#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tuned headers must reach on a GPU, step by step, with a table of targets at the end. Under three minutes in all.
#
#   tests/gpu/acceptance_headers.sh SIMTUNE OUT [STEP…]
#
# SIMTUNE, OUT and the environment as for acceptance.sh; needs nvcc for all but emit and verify (DEVICE=emu tries these
# two). Further: TUNE_BUDGET (configurations that a family without history gets, 40), ARCHS (of the unit for three archs,
# "80 90 100"), TYPE (f32).
set -u

readonly all_steps="emit verify nvcc choice app unit pack summary"
declare -A about=(
    [emit]="headers of all families from a store: how long"
    [verify]="verify measures reduce and scan again, by NVRTC"
    [nvcc]="the same as nvcc makes it, registers and spills beside NVRTC's"
    [choice]="what the choice costs the host, a call"
    [app]="the program of tests/package: three streams, answers, replayed graphs"
    [unit]="a translation unit that calls one function, for three archs; and one that only includes the header"
    [pack]="logs and headers in one archive"
    [summary]="the table of targets"
)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/gpu/acceptance_common.sh
. "$here/acceptance_common.sh"
begin "$@"
type=${TYPE:-f32}
store=$out/store.db results=$out/results.tsv include=$out/include lock=$out/simtune.lock
export SIMTUNE_SHARE=${SIMTUNE_SHARE:-$root}

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.3f", b - a }'; }

# Rows of the history that ships; a family whose template it does not know is tuned shortly.
need_headers() {
    [ -s "$include/simtune_compact.h" ] && return
    local family sizes=1Mi,16Mi
    [ -n "${DEVICE:-}" ] && sizes=1Ki,4Ki
    for family in reduce scan compact; do
        [ -s "$out/tune-$family.log" ] && continue
        if ! "$simtune" lock "$family" -o "$lock" >"$out/lock-$family.log" 2>&1; then
            line "no history of $family: tuned with ${TUNE_BUDGET:-40} configurations"
            tune "$out/tune-$family.log" 60 "$family" --type "$type" --size "$sizes" --budget "${TUNE_BUDGET:-40}" \
                --db "$store" --no-header --counters off
            "$simtune" lock "$family" ${DEVICE:+--allow-emulated} --db "$store" -o "$lock" >>"$out/lock-$family.log" 2>&1
        fi
    done
    "$simtune" lock segreduce -o "$lock" >"$out/lock-segreduce.log" 2>&1
    "$simtune" emit reduce scan --type "$type" --lock "$lock" -o "$include" >"$out/emit.log" 2>&1 &&
        "$simtune" emit compact --type "$type" --lock "$lock" --format h,cu -o "$include" >>"$out/emit.log" 2>&1
    [ -s "$include/simtune_compact.h" ] || { line "no headers: see emit.log"; tail -n 3 "$out/emit.log"; return 1; }
}

# --- steps -------------------------------------------------------------------------------------------------
step_emit() {
    need_headers || return
    local families start seconds=9 i one
    # Three classes, whose constraints are the same: other archs would need rows of their own.
    sed -E '/ sm_90\/132 /{p;s|/132|/114|p;s|/114|/78|}' "$lock" >"$out/three.lock"
    families=$(awk '$1 !~ /^#/ && NF > 3 { print $1 }' "$lock" | sort -u | tr '\n' ' ')
    for i in 1 2 3 4 5; do # the disk is not what is asked about: the best of five
        start=$(now)
        # shellcheck disable=SC2086
        "$simtune" emit $families --lock "$out/three.lock" -o "$out/all-$i" >"$out/emit-all.log" 2>&1 || seconds=-1
        one=$(since "$start")
        less "$one" "$seconds" && seconds=$one
    done
    line "$(grep -c ' sm_' "$out/three.lock") rows of: $families"
    target "emit of all families, types and sizes, three classes" "under 0.1 s" "$seconds s" "$(holds less "$seconds" 0.1)"
    target "the same bytes each time" "equal" "$(cmp "$out"/all-1/simtune_reduce.h "$out"/all-5/simtune_reduce.h && echo equal)" \
        "$(holds cmp "$out/all-1/simtune_reduce.h" "$out/all-5/simtune_reduce.h")"
}

# verify_family NAME FAMILY ARGUMENTS…: the verdict, and what is slower in words. Exit 4 is a finding, not a failure.
verify_family() {
    local name=$1 family=$2 log=$out/verify-$1.log verdict passed=1
    shift 2
    tune "$log" 80 verify "$include/simtune_$family.h" "$@"
    cat "$log"
    verdict=$(grep -m 1 ' verified: ' "$log")
    [ "$code" = 0 ] || [ "$code" = 4 ] && [ -n "$verdict" ] && ! grep -q 'do not work' "$log" && passed=0
    target "verify $name" "every row runs and is right" "exit $code in $seconds s: $verdict" "$passed"
}

step_verify() {
    need_headers || return
    local family
    for family in reduce scan; do verify_family "$family-nvrtc" "$family"; done
}

step_nvcc() {
    need_headers && need_nvcc || return
    local family
    for family in reduce scan; do verify_family "$family-nvcc" "$family" --compiler nvcc; done
    target "registers by nvcc and NVRTC" "stated" "$(grep -hE '^ *(header|nvrtc) ' "$out"/verify-*-nvcc.log |
        grep -oE '[0-9]+ registers' | sort | uniq -c | tr -s '\n ' ' ' | cut -c1-120)" info
    target "spills by nvcc" "stated" "$(grep -ohE '[0-9]+ bytes spilled' "$out"/verify-*-nvcc.log | sort -u | tr '\n' ' ')none else" info
}

step_choice() {
    need_headers && need_nvcc || return
    timed "$out/choice-build.log" 60 "$nvcc" -O2 -std=c++11 -arch="${ARCH:-native}" -I "$include" "$here/header_choice.cu" \
        -o "$out/header_choice"
    [ $code = 0 ] || { target "cost of the choice" "compiles" "nvcc exits $code" 1; cat "$out/choice-build.log"; return; }
    timed "$out/choice.log" 60 "$out/header_choice"
    cat "$out/choice.log"
    local ns
    ns=$(awk '$1 == "call" { print $2 }' "$out/choice.log")
    target "choice on the host, a call" "under 0.2 µs" "${ns:-?} ns" "$(holds less "${ns:-9999}" 200)"
}

step_app() {
    need_headers && need_nvcc || return
    local app=$root/tests/package/app
    timed "$out/app-build.log" 80 "$nvcc" -O2 -std=c++11 -arch="${ARCH:-native}" -I "$include" "$app/app.cu" "$app/other.cpp" \
        "$include/simtune_compact.cu" -o "$out/app"
    [ $code = 0 ] || { target "program of tests/package" "compiles" "nvcc exits $code" 1; tail -n 5 "$out/app-build.log"; return; }
    line "built in $seconds s"
    timed "$out/app.log" 60 "$out/app"
    target "three streams, answers, 100 replays of each graph" "all right" "exit $code: $(tail -n 1 "$out/app.log")" "$code"
}

# Three units: nothing but the runtime, the header included, one function called. Prints seconds and bytes of the object.
build_unit() { # NAME TEXT
    printf '%s\n' "#include <cuda_runtime.h>" "$2" >"$out/unit-$1.cu"
    local options=() arch best=99 i
    for arch in ${ARCHS:-80 90 100}; do options+=(-gencode "arch=compute_$arch,code=sm_$arch"); done
    for i in 1 2; do
        timed "$out/unit-$1.log" 60 "$nvcc" -std=c++11 -O3 "${options[@]}" -I "$include" -c "$out/unit-$1.cu" -o "$out/unit-$1.o"
        [ "$code" = 0 ] || { line "unit $1 does not compile:"; tail -n 5 "$out/unit-$1.log"; return 1; }
        less "$seconds" "$best" && best=$seconds
    done
    echo "$best $(stat -c %s "$out/unit-$1.o")" >"$out/unit-$1.txt"
}

step_unit() {
    need_headers && need_nvcc || return
    local call='cudaError_t sum(void *temp, size_t *bytes, const float *in, float *out, size_t n, cudaStream_t stream)
{ return simtune_reduce_f32_sum(temp, bytes, in, out, n, stream); }' none included called gained
    build_unit none "int nothing;" && build_unit included '#include "simtune_reduce.h"' &&
        build_unit called "#include \"simtune_reduce.h\"
$call" || { target "unit for three archs" "compiles" "no" 1; return; }
    read -ra none <"$out/unit-none.txt"
    read -ra included <"$out/unit-included.txt"
    read -ra called <"$out/unit-called.txt"
    target "unit that calls one function, archs ${ARCHS:-80 90 100}" "under 5 s" "${called[0]} s" "$(holds less "${called[0]}" 5)"
    gained=$(awk -v a="${called[1]}" -v b="${none[1]}" 'BEGIN { printf "%.0f", (a - b) / 1000 }')
    target "what it adds to the object" "under 1 MB" "$gained kB" "$(holds less "$gained" 1000)"
    gained=$(awk -v a="${included[0]}" -v b="${none[0]}" 'BEGIN { printf "%.2f", a - b }')
    target "including the header and calling nothing" "under 0.3 s more" "$gained s (${none[0]} s without)" "$(holds less "$gained" 0.3)"
}

step_pack() {
    (cd "$out" && find . -maxdepth 2 \( -name '*.log' -o -name '*.tsv' -o -name '*.h' -o -name '*.lock' -o -name 'unit-*.txt' \) \
        -not -path './all-*' -print0 | tar -czf acceptance-headers.tgz --null -T -)
    line "$(du -k "$out/acceptance-headers.tgz" | cut -f1) KiB"
}

run_steps
