#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What scan, compact and segreduce must reach on a GPU, step by step, with a table of targets at the end.
#
#   tests/gpu/acceptance_families.sh SIMTUNE OUT [STEP…]
#
# SIMTUNE, OUT and the environment as for acceptance.sh (DEVICE=emu tries the steps that need no nvcc). Further:
# CUB_CALLS (tests/bench/cub_calls.cu, compiled), REPEATS and SECONDS_BESIDE (step repeat: 10000, 120),
# SPACE_BUDGET (step sanitize: candidates to choose from).
set -u

readonly all_steps="tune cub repeat sanitize articles pack summary"
declare -A about=(
    [tune]="the default run of each family, and the types that are compared with CUB"
    [cub]="the headers of those runs beside CUB"
    [repeat]="10,000 repetitions of each look-back winner under load, and two functions on two streams"
    [sanitize]="compute-sanitizer over one candidate of each ALGORITHM x PASS and METHOD"
    [articles]="the figures of well-known articles, measured"
    [pack]="logs, history and headers in one archive"
    [summary]="the table of targets"
)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/gpu/acceptance_common.sh
. "$here/acceptance_common.sh"
begin "$@"
store=$out/store.db results=$out/results.tsv
export SIMTUNE_SHIPPED_HISTORY=off

# The lines of a log that tell what won.
tell() {
    awk '/^[a-zA-Z_]+=/ { print "  " $0 } $1 == "winner" || $1 == "time" || $1 == "memory" { print }' "$1" | cut -c1-160
}

tune_family() { # NAME LIMIT ARGUMENTS…
    local name=$1
    shift
    local limit=$1
    shift
    tune "$out/tune-$name.log" "$limit" "$@" --db "$store" --no-header
    tell "$out/tune-$name.log"
    target "default run: $name" "exit 0" "exit $code in $seconds s" "$code"
}

step_tune() {
    local f
    tune_family scan 200 scan --arch auto
    target "a scan says why the winner beats Hillis-Steele and Blelloch" "in words, from counters" \
        "$(grep -A1 -m1 'hillis_steele at its best' "$out/tune-scan.log" | tr -s ' \n' ' ' | cut -c1-150)" \
        "$(holds grep -q 'at its best takes .* the time: ' "$out/tune-scan.log")"
    tune_family scan-types 300 scan --type i32,f64,i64,f16 ${TYPES_BUDGET:+--budget "$TYPES_BUDGET"}
    tune_family compact 200 compact --arch auto
    tune_family segreduce 300 segreduce --arch auto ${SEGMENTS_BUDGET:+--budget "$SEGMENTS_BUDGET"}
    rm -rf "$out/include"
    for f in scan compact segreduce; do
        "$simtune" emit "$f" --db "$store" -o "$out/include" ${DEVICE:+--allow-emulated} >"$out/emit-$f.log" 2>&1
        target "header of $f" "exit 0" "exit $?" "$(holds test -s "$out/include/simtune_$f.h")"
    done
}

need_headers() {
    [ -s "$out/include/simtune_scan.h" ] && [ -s "$out/include/simtune_compact.h" ] || {
        line "no headers: run step tune before"
        return 1
    }
}

step_cub() {
    need_headers && need_nvcc || return
    local calls=${CUB_CALLS:-$out/cub_calls.o} arch=${ARCH:-native} log=$out/families-cub.log
    [ -s "$calls" ] || timed "$out/cub-calls-build.log" 300 "$nvcc" -O3 -std=c++17 -arch="$arch" -c \
        "$root/tests/bench/cub_calls.cu" -o "$calls"
    timed "$out/families-cub-build.log" 300 "$nvcc" -O3 -std=c++17 -arch="$arch" -I "$out/include" -I "$root/tests/bench" \
        "$root/tests/bench/families_vs_cub.cu" "$calls" -o "$out/families_vs_cub"
    [ $code = 0 ] || { target "headers beside CUB" "compile" "nvcc exits $code" 1; return; }
    timed "$log" 200 "$out/families_vs_cub" --csv "$out/families-cub.csv"
    cat "$log"
    if [ $code -gt 1 ] || ! grep -q ' cold ' "$log"; then target "headers beside CUB" "run" "exit $code" 1; fi
    grep -E ' (cold) .* (pass|MISS) *$|WRONG' "$log" | while read -r row; do
        printf '%s\t%s\t%s\t%s\n' "$(sed -E 's/ +cold.*//; s/ +/ /g' <<<"$row")" \
            "$(sed -E 's/.*[0-9]\)+ +[0-9]+ +[0-9]+ +//; s/ (pass|MISS) *$//' <<<"$row")" \
            "$(sed -E 's/.* cold +//; s/ (x [0-9.]+|[0-9]+ GB\/s) .*//; s/ +/ /g' <<<"$row")" \
            "$(grep -oE '(pass|MISS|WRONG)' <<<"$row" | tail -n 1 | sed 's/WRONG/MISS/')" >>"$results"
    done
}

step_repeat() {
    need_headers && need_nvcc || return
    timed "$out/repeat-build.log" 300 "$nvcc" -O2 -std=c++14 -arch="${ARCH:-native}" -I "$out/include" \
        "$here/repeat_families.cu" -o "$out/repeat_families"
    [ $code = 0 ] || { target "repetitions" "compiles" "nvcc exits $code" 1; return; }
    timed "$out/repeat.log" 500 "$out/repeat_families" --repeats "${REPEATS:-10000}" --seconds "${SECONDS_BESIDE:-120}"
    cat "$out/repeat.log"
    target "${REPEATS:-10000} repetitions of each winner under load; two streams for ${SECONDS_BESIDE:-120} s" "all right" \
        "exit $code: $(tail -n 1 "$out/repeat.log")" "$code"
}

# One correct candidate of each combination of values, of a short run at an odd size, as a standalone program.
programs_of() { # NAME PARAMETERS ARGUMENTS…
    local name=$1 parameters=$2 db=$out/sanitize-$1.db id word
    shift 2
    rm -f "$db"*
    tune "$out/sanitize-$name.log" 60 "$@" --counters off --no-header --fresh --db "$db"
    here_python each "$db" "$parameters" >"$out/sanitize-$name.txt"
    [ -s "$out/sanitize-$name.txt" ] || echo "$name: no candidate" >>"$out/sanitize-missing.txt"
    while read -r id word; do
        "$simtune" repro "$id" -o "$out/programs/$name-$word.cu" --db "$db" >>"$out/sanitize-$name.log" 2>&1 ||
            echo "$name $word: no program" >>"$out/sanitize-missing.txt"
    done <"$out/sanitize-$name.txt"
}

# Each ALGORITHM under each PASS, each METHOD: what these need beside the default is set.
programs_of_all() {
    local pass method
    for pass in one_block reduce_then_scan scan_then_propagate watched look_back; do
        programs_of "scan-$pass" ALGORITHM scan --size 20011 --vary ALGORITHM --set "PASS=$pass"
    done
    programs_of scan-cluster ALGORITHM scan --size 20011 --vary ALGORITHM --set PASS=cluster,CLUSTER=8
    programs_of scan-pipelined ALGORITHM scan --size 200011 --vary ALGORITHM --set PASS=pipelined_look_back,STAGES=2,COPY=bulk
    programs_of scan-async COPY scan --size 200011 --vary COPY --set PASS=pipelined_look_back,STAGES=2,ALGORITHM=warp_shuffle
    programs_of scan-wave LOOK,ROLES scan --size 900011 --set ROLES=divided --strategy random --budget 30
    for method in simple scan_scatter look_back one_block cluster quadratic; do
        programs_of "compact-$method" SCATTER compact --size 50021 --set "METHOD=$method" --strategy random --budget 16
    done
    for method in pipelined_look_back pipelined_wave; do # large enough for tiles to come after tiles in a slot
        programs_of "compact-$method" SCATTER compact --size 2000003 --set "METHOD=$method" --strategy random --budget 16
    done
    for method in simple atomic warp_aggregated block_aggregated; do
        programs_of "compact-any-$method" METHOD compact --size 50021 --axis order=any --set "METHOD=$method" --strategy random --budget 4
    done
    for method in by_block by_lanes staged split_warps split_blocks; do
        programs_of "segreduce-$method" METHOD segreduce --size segments=57 --size segment=1003 --set "METHOD=$method" --strategy random --budget 6
    done
}

build_programs() {
    local program
    for program in "$out"/programs/*.cu; do # racecheck gets another form of these
        python3 "$here/every_lane_arrives.py" "$program" "${program%.cu}.lanes" && mv "${program%.cu}.lanes"{,.src} ||
            [ $? = 3 ] || echo "$program: not understood by every_lane_arrives.py" >>"$out/sanitize-missing.txt"
    done
    export nvcc arch=${ARCH:-native}
    # shellcheck disable=SC2016
    find "$out/programs" \( -name '*.cu' -o -name '*.src' \) -print0 | xargs -0 -P "$(nproc)" -I{} sh -c \
        '"$nvcc" -std=c++11 -O2 -lineinfo -arch="$arch" -x cu "$1" -o "${1%.*}" >"$1.build" 2>&1' sh {}
}

# Why racecheck gets another form: what it says of two kernels that are right, and of their every-lane forms.
elected_lanes() {
    "$nvcc" -std=c++11 -O2 -lineinfo -arch="$arch" "$here/racecheck_elected.cu" -o "$out/racecheck_elected" || return
    local form
    for form in elected every; do
        compute-sanitizer --tool racecheck "$out/racecheck_elected" $form >"$out/racecheck-$form.log" 2>&1
        line "racecheck, $form lane arrives: $(grep -o 'SUMMARY: [0-9]* hazards\?' "$out/racecheck-$form.log")"
    done
    target "racecheck: an elected lane's arrival is what it cannot follow" "hazards with it, none without" \
        "$(grep -ho 'SUMMARY: [0-9]* hazards\?' "$out"/racecheck-{elected,every}.log | tr '\n' ' ')" \
        "$(holds grep -q 'SUMMARY: 0 hazards' "$out/racecheck-every.log")"
}

step_sanitize() {
    need_nvcc || return
    command -v compute-sanitizer >/dev/null || { line "no compute-sanitizer here: skipped"; return; }
    rm -rf "$out/programs" "$out/sanitize-missing.txt"
    mkdir -p "$out/programs"
    programs_of_all
    export nvcc arch=${ARCH:-native}
    build_programs
    elected_lanes
    # One run under one tool; prints its line. A program runs twice: what a first run leaves behind is met by the second.
    # shellcheck disable=SC2016
    local check='tool=$1 program=$2 log=$2.$1.log clean="ERROR SUMMARY: 0 errors"
        [ "$tool" = racecheck ] && clean="RACECHECK SUMMARY: 0 hazards" && [ -x "$program.lanes" ] && program=$program.lanes
        timeout 120 compute-sanitizer --tool "$tool" --error-exitcode 9 "$program" 1 >"$log" 2>&1
        code=$?
        if [ $code = 0 ] && grep -q "$clean" "$log"; then echo "$tool $(basename "$program") clean"
        else echo "$tool $(basename "$program") FOUND (exit $code): $(grep -m 1 -E "^=====.*(Invalid|Race|hazard|Uninit|Barrier|Error|error)" "$log" || tail -n 1 "$log")"; fi'
    local tool program
    for tool in memcheck racecheck synccheck initcheck; do
        for program in "$out"/programs/*.cu; do echo "$tool ${program%.cu}"; done
    done | xargs -P "$(nproc)" -L 1 sh -c "$check" sh >"$out/sanitize-families.txt"
    grep -v ' clean$' "$out/sanitize-families.txt" | cut -c1-200 | head -n 30
    cat "$out/sanitize-missing.txt" 2>/dev/null
    local clean wanted
    clean=$(grep -c ' clean$' "$out/sanitize-families.txt")
    wanted=$((4 * $(find "$out/programs" -name '*.cu' | wc -l)))
    target "compute-sanitizer: 4 tools, each ALGORITHM x PASS and METHOD" "nothing found" "$clean of $wanted clean" \
        "$(holds test "$clean" = "$wanted" -a "$wanted" -gt 200 -a ! -s "$out/sanitize-missing.txt")"
}

# What articles say, on this device: each a small table.
step_articles() {
    vary() { # NAME ARGUMENTS…
        local name=$1
        shift
        tune "$out/article-$name.log" 120 "$@" --no-header --counters off --db "$out/articles.db"
        line "$name: simtune $*"
        awk '/^T=|^[a-z]+=.* n=/ { p = $0 } /^  [A-Z_]+ +time/ { on = 1; print "    " p; print; next } on && /^  / { print; next } { on = 0 }' \
            "$out/article-$name.log" | cut -c1-110
    }
    local loop="--set BLOCK=256 --set VEC=1 --set UNROLL=8"
    # shellcheck disable=SC2086
    vary accumulators reduce --size 1Mi,16Mi,256Mi --vary ACC $loop
    vary algorithm scan --size 64Ki,1Mi,16Mi,256Mi --vary ALGORITHM
    vary method compact --size 64Ki,1Mi --axis order=any --vary METHOD
    vary percent compact --size 16Mi --axis percent=all --axis pattern=all --vary METHOD
}

step_pack() {
    local ids
    [ -s "$store" ] || { line "no store: run step tune before"; return; }
    ids=$(here_python ids "$store")
    # shellcheck disable=SC2086 # one argument a session
    timed "$out/export.log" 60 "$simtune" db export "$out/history.jsonl.gz" $ids --db "$store"
    line "exported $(wc -w <<<"$ids") sessions: exit $code, $(du -k "$out/history.jsonl.gz" 2>/dev/null | cut -f1) KiB"
    (cd "$out" && find . -maxdepth 2 \( -name '*.log' -o -name '*.tsv' -o -name '*.csv' -o -name '*.h' -o -name '*.txt' \) \
        -print0 | tar -czf acceptance-families.tgz --null -T -)
}

run_steps
