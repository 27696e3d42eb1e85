#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What simtune must reach on a GPU, step by step, with a table of targets at the end.
#
#   tests/gpu/acceptance.sh SIMTUNE OUT [STEP…]
#
# SIMTUNE: the binary (the preset `portable` makes one that starts on other machines). OUT: a folder for logs,
# stores and headers; steps of several calls with the same OUT belong together, and the table gathers them all.
# Without steps all are run, in the order below. Needs nvcc for cub, consumers and sanitize, python3 for most.
#
# Environment: DEVICE (for --device; `emu` tries the script without a GPU), HEADER (folder of a simtune_reduce.h
# to use when step `first` is not run here), NVCC, CC, ARCH (for nvcc -arch, default native). For trials of the
# script itself: DEFAULT_ARGUMENTS, TYPES_SIZE, TYPES_BUDGET, FAULT_SIZE, FAULT_LIMIT, SPACE_SIZE, SPACE_BUDGET,
# RESUME_SIZE, RESUME_BUDGET, RESUME_AT, PROGRESS_BUDGET.
set -u

readonly all_steps="devices first second cub four memory types consumers sanitize faults space resume denied
  progress input repro pack elsewhere summary"
declare -A about=(
    [devices]="simtune devices and doctor"
    [first]="the default run from an empty cache: under 60 s"
    [second]="the same again: under 15 s"
    [cub]="the header of that run beside CUB"
    [four]="the default run on four cores (no target: the time is stated)"
    [memory]="a size that does not fit is skipped with a note"
    [types]="all types and operations at 1Mi with a small budget: history, and a header with 24 functions"
    [consumers]="a program with that header: right sums, graphs, streams, devices"
    [sanitize]="compute-sanitizer over the winners and one candidate of each finish and warp step"
    [faults]="planted faults at 64Ki and 256Mi: crash, timeout, wrong, wrong"
    [space]="the 672 configurations of a recorded Kernel Tuner run: under 8 s"
    [resume]="Ctrl-C, then kill -9, then the end of one session"
    [denied]="a run whose counters are denied, and one by a user without privileges"
    [progress]="the progress line, with the time left"
    [input]="bad input: one message, the right exit code"
    [repro]="show, and the standalone program of a winner"
    [pack]="logs, history and headers in one archive"
    [elsewhere]="where there is no GPU: a header from the packed history (skipped where there is one)"
    [summary]="the table of targets"
)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/gpu/acceptance_common.sh
. "$here/acceptance_common.sh"
begin "$@"
export SIMTUNE_SHARE=${SIMTUNE_SHARE:-$root}
read -ra defaults <<<"${DEFAULT_ARGUMENTS:-}" # besides `reduce --arch auto`: none in earnest
store=$out/store.db results=$out/results.tsv

# The header of step `first`, or the one that HEADER names.
need_header() {
    mkdir -p "$out/include"
    [ -s "$out/include/simtune_reduce.h" ] || cp "${HEADER:-/nowhere}/simtune_reduce.h" "$out/include/" 2>/dev/null ||
        { line "no header: run step first before, or set HEADER"; return 1; }
}

# --- steps -----------------------------------------------------------------------------------------------
step_devices() {
    tune "$out/devices.log" 60 devices
    local devices=$code
    line "$(head -n 2 "$out/devices.log" | tr -s '\n ' ' ')"
    tune "$out/doctor.log" 60 doctor
    line "$(grep -m 1 counters "$out/doctor.log")"
    target "devices and doctor" "exit 0, and a word on counters" "exits $devices and $code" \
        "$(holds test "$devices$code" = 00 -a -n "$(grep counters "$out/doctor.log")")"
}

default_run() { # NAME LIMIT DB ARGUMENTS…
    local name=$1 limit=$2 db=$3
    shift 3
    tune "$out/$name.log" "$limit" reduce --arch auto "${defaults[@]}" --db "$db" "$@"
}

step_first() {
    rm -rf "$out/cache" "$store"* "$out/include"
    default_run first 150 "$store" -o "$out/include"
    # One line a size: problem, time, memory, what it waits for.
    awk '/^T=/ { problem = $0 } $1 == "time" || $1 == "memory" || $1 == "waits" { row[problem] = row[problem] "; " $0 }
        END { for (p in row) print p row[p] }' "$out/first.log" | tr -s ' ' | cut -c1-200 | sort -t= -k4n
    target "default run from an empty cache" "< 60 s" "$seconds s, exit $code" "$(holds less "$seconds" "$((code ? 0 : 60))")"
    target "counters of that run are in the store" "> 0 values" "$(here_python counters "$store")" \
        "$(holds test "$(here_python counters "$store")" -gt 0)"
    target "it names the next command" "a last line" "$(tail -n 1 <(grep . "$out/first.log") | cut -c1-60)" \
        "$(holds grep -q '^Next:' "$out/first.log")"
}

step_second() {
    default_run second 100 "$store" --no-header
    target "default run, second time" "< 15 s" "$seconds s, exit $code" "$(holds less "$seconds" "$((code ? 0 : 15))")"
}

step_four() {
    local cores=0-3
    [ "$(nproc)" -ge 4 ] || cores=0-$(($(nproc) - 1))
    default_four() { timed "$out/four.log" 240 taskset -c "$cores" env XDG_CACHE_HOME="$out/cache-four" \
        "$simtune" reduce --arch auto "${defaults[@]}" --jobs 4 --db "$out/four.db" --no-header "${device[@]}"; }
    rm -rf "$out/cache-four" "$out"/four.db*
    default_four
    target "default run on 4 cores, from an empty cache" "stated" "$seconds s, exit $code" info
    default_four
    target "default run on 4 cores, second time" "stated" "$seconds s, exit $code" info
    rm -rf "$out/cache-four"
}

step_memory() {
    tune "$out/memory.log" 60 reduce --size 64Ki,1048576Mi --budget 20 --counters off --db "$out/memory.db" --no-header
    line "$(grep -m 1 -i 'skipped' "$out/memory.log" || echo "no note")"
    target "a size beyond the memory" "exit 0 and a note" "exit $code" \
        "$(holds test "$code" = 0 -a -n "$(grep -i 'skipped' "$out/memory.log")")"
}

step_types() {
    local start=$SECONDS first small=(--size "${TYPES_SIZE:-1Mi}" --budget "${TYPES_BUDGET:-240}")
    tune "$out/types-f32.log" 100 reduce --type f32 --op min,max "${small[@]}" --db "$store" --no-header
    first=$code
    tune "$out/types.log" 250 reduce --type f64,i32,u32,i64,u64,f16,bf16 --op sum,min,max "${small[@]}" \
        --db "$store" --no-header
    line "tuned in $((SECONDS - start)) s"
    target "all types and operations" "exits 0" "exits $first and $code; $(here_python winners "$store") problems in the store" \
        "$(holds test "$first$code" = 00)"
    rm -rf "$out/all"
    "$simtune" emit reduce --db "$store" -o "$out/all" ${DEVICE:+--allow-emulated} >"$out/emit.log" 2>&1
    code=$?
    local functions
    functions=$(grep -c '^// *cudaError_t simtune_reduce_' "$out/all/simtune_reduce.h" 2>/dev/null)
    target "one header of all of them" "24 functions" "exit $code, ${functions:-0} functions" "$(holds test "$functions" = 24)"
}

step_cub() {
    need_header && need_nvcc || return
    timed "$out/cub-build.log" 120 "$nvcc" -O3 -std=c++17 -arch="${ARCH:-native}" -I "$out/include" \
        "$root/tests/bench/header_vs_cub.cu" -o "$out/header_vs_cub"
    [ $code = 0 ] || { target "header beside CUB" "compiles" "nvcc exits $code" 1; return; }
    timed "$out/cub.log" 90 "$out/header_vs_cub" --csv "$out/cub.csv"
    cat "$out/cub.log"
    if [ $code -gt 1 ] || ! grep -q ' cold ' "$out/cub.log"; then target "header beside CUB" "runs" "exit $code" 1; fi
    # A row of its table: n, cache, CUB, ours, ratio, low "to" high, GB/s, target, verdict.
    awk '$2 == "cold" || $2 == "warm" {
        wanted = $10 == "-" ? "-" : "x " $10; if ($0 ~ /, [0-9]+ GB/) wanted = "x " $10 " " $11 " GB/s"
        verdict = $NF == "pass" || $NF == "MISS" ? $NF : "-"
        printf "CUB, n = %s %s\t%s\tx %s (%s to %s), %s us, %s GB/s\t%s\n", $1, $2, wanted, $5, $6, $8, $4, $9, verdict
    }' "$out/cub.log" >>"$results"
}

step_consumers() {
    need_nvcc || return
    local headers=$out/all
    [ -s "$headers/simtune_reduce.h" ] || { line "no header of all types: run step types before"; return; }
    timed "$out/consumers-build.log" 300 "$nvcc" -std=c++11 -O2 -arch="${ARCH:-native}" -I "$headers" \
        -Xcompiler -Wall,-Wextra,-Werror "$here/consumer_reduce.cu" -o "$out/consumer_reduce"
    line "compiled in $seconds s"
    [ $code = 0 ] || { target "the header in a program" "compiles without a warning" "nvcc exits $code" 1; return; }
    timed "$out/consumers.log" 120 "$out/consumer_reduce"
    grep -v '^NVIDIA' "$out/consumers.log" | tail -n 3
    target "right for all types, odd sizes, misaligned; 1000 replays; streams" "0 failures" \
        "exit $code, $(tail -n 1 "$out/consumers.log")" "$code"
}

step_sanitize() {
    need_nvcc || return
    local header=()
    need_header && header=("$out/include")
    timed "$out/sanitize.log" 240 env NVCC="$nvcc" bash "$here/sanitize.sh" "$out/sanitize" "${header[@]}"
    grep -v ' clean$' "$out/sanitize.log" | head -n 20
    line "$(grep -c ' clean$' "$out/sanitize.log") clean, $seconds s"
    [ $code = 77 ] && { line "skipped"; return; }
    target "compute-sanitizer: 4 tools, winners, each finish and warp step" "nothing found" \
        "$(tail -n 1 "$out/sanitize.log")" "$code"
}

step_faults() {
    local size wanted got
    wanted="forever timeout,lost_tile wrong,out_of_bounds crash,over_the_end wrong,right correct,unwritten wrong,wrong_sum wrong,"
    rm -f "$out"/faults.db*
    # Without a GPU, a size that the emulated device computes in reasonable time.
    for size in 64Ki ${FAULT_SIZE:-256Mi}; do
        tune "$out/faults-$size.log" 120 tune "$root/tests/faults/faulty_reduce.cu" --size "$size" --time-limit "${FAULT_LIMIT:-3}" \
            --strategy exhaustive --budget none --counters off --fresh --no-header --db "$out/faults.db"
        got=$(here_python outcomes "$out/faults.db" MODE | tr '\n' ',')
        line "$size: $got"
        target "planted faults at $size" "crash timeout wrong wrong, and the run ends well" "exit $code in $seconds s, $(
            [ "$got" = "$wanted" ] && echo "all as planted" || echo "NOT as planted")" \
            "$(holds test "$code$got" = "0$wanted")"
    done
}

step_space() {
    rm -rf "$out"/space.db* "$out/cache-space"
    timed "$out/space.log" 60 env XDG_CACHE_HOME="$out/cache-space" "$simtune" tune "$here/kernel_tuner_space.cu" \
        --strategy exhaustive --budget "${SPACE_BUDGET:-none}" --size "${SPACE_SIZE:-256Mi}" --counters off --no-header --db "$out/space.db" \
        "${device[@]}"
    local session identity status candidates correct first last
    session=$(here_python session "$out/space.db")
    read -r identity status candidates correct first last <<<"$session"
    line "session ${identity:0:8} $status: $correct of $candidates right; first measured after $first s, last after $last s"
    grep -E '^ +(winner|time|memory)' "$out/space.log"
    target "672 configurations compiled and measured, finals and all" "< 8 s" "$seconds s, exit $code, $correct measured" \
        "$(holds less "$seconds" "$([ "$code$correct" = 0672 ] && echo 8 || echo 0)")"
    rm -rf "$out/cache-space"
}

# Waits until the newest session of $1 has $2 candidates, while $3 lives.
wait_for_candidates() {
    local i
    for ((i = 0; i < 600; i++)); do
        [ "$(here_python count "$1" 2>/dev/null | cut -d' ' -f1)" -ge "$2" ] 2>/dev/null && return 0
        kill -0 "$3" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

step_resume() {
    local db=$out/resume.db size=${RESUME_SIZE:-16Mi} command pid cut reached left identity status candidates correct first last
    rm -rf "$db"*
    command=("$simtune" reduce --size "$size" --strategy exhaustive --budget "${RESUME_BUDGET:-1200}" --counters off --no-header --db "$db" "${device[@]}")
    setsid "${command[@]}" >"$out/resume-1.log" 2>&1 &
    pid=$!
    wait_for_candidates "$db" "${RESUME_AT:-150}" $pid
    kill -INT -- -$pid # as a terminal does: to the workers as well
    wait $pid
    code=$?
    reached=$(here_python count "$db")
    line "Ctrl-C at $reached candidates: $(grep -m 1 interrupted "$out/resume-1.log")"
    target "Ctrl-C" "exit 130, what was measured kept" "exit $code, $reached candidates" \
        "$(holds test "$code" = 130 -a "$reached" -ge "${RESUME_AT:-150}")"
    setsid "${command[@]}" >"$out/resume-2.log" 2>&1 &
    pid=$!
    wait_for_candidates "$db" $((reached + ${RESUME_AT:-150})) $pid
    kill -KILL $pid
    wait $pid 2>/dev/null
    cut=$(date +%s%3N)
    reached=$(here_python before "$db" "$cut")
    sleep 2
    left=$(cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | awk -v session=$pid '$4 == session && $1 != "Z"' | wc -l)
    target "kill -9 leaves no process behind" "0 after 2 s" "$left" "$left"
    timed "$out/resume-3.log" 120 "${command[@]}"
    read -r identity status candidates correct first last <<<"$(here_python session "$db")"
    line "$(grep -m 1 'note: resumed' "$out/resume-3.log")"
    target "the same command after kill -9 measures only what is missing" "one session, rows of before untouched" \
        "exit $code, $(here_python sessions "$db") session, $status, $candidates candidates, $(here_python before "$db" "$cut") of $reached rows of before" \
        "$(holds test "$code$status$(here_python sessions "$db")" = 0finished1 -a "$(here_python before "$db" "$cut")" = "$reached")"
}

# Counters that are denied, by a CUPTI that refuses to begin; see denied_cupti.c.
step_denied() {
    local shim=$out/denied cc=${CC:-cc} real
    real=$(sed -n 's|^ *at \(.*libcupti\.so[.0-9]*\)$|\1|p' <("$simtune" doctor "${device[@]}" 2>/dev/null) | head -n 1)
    mkdir -p "$shim"
    rm -f "$out"/denied.db*
    if [ -n "$real" ] && command -v "$cc" >/dev/null &&
        "$cc" -shared -fPIC -Wl,-soname,"$(basename "$real")" -x c /dev/null -o "$shim/$(basename "$real")" &&
        "$cc" -shared -fPIC -Wl,--no-as-needed "$here/denied_cupti.c" "$shim/$(basename "$real")" -o "$shim/libcupti_denied.so"; then
        rm -f "$shim/$(basename "$real")"
        export LD_LIBRARY_PATH_BEFORE=${LD_LIBRARY_PATH:-}
        run_denied() { # LOG ARGUMENTS…
            local log=$1
            shift
            timed "$log" 60 env SIMTUNE_LIBCUPTI="$shim/libcupti_denied.so" \
                LD_LIBRARY_PATH="$(dirname "$real"):$LD_LIBRARY_PATH_BEFORE" "$simtune" reduce --size 1Mi --budget 60 \
                --no-header --db "$out/denied.db" "$@" "${device[@]}"
        }
        run_denied "$out/denied.log"
        line "$(grep -m 1 'note: no stall' "$out/denied.log" | cut -c1-150)"
        target "counters denied" "exit 0, said once, nothing stored" \
            "exit $code, said $(grep -c 'note: no stall' "$out/denied.log") times, $(here_python counters "$out/denied.db") values" \
            "$(holds test "$code" = 0 -a "$(grep -c 'counters are denied' "$out/denied.log")" = 1 -a "$(here_python counters "$out/denied.db")" = 0)"
        run_denied "$out/denied-required.log" --counters required
        target "counters denied but required" "exit 5" "exit $code" "$(holds test "$code" = 5)"
    else
        line "no CUPTI or no C compiler: a denial cannot be played here"
    fi
    step_unprivileged
}

step_unprivileged() {
    local folder
    line "$(grep -h RmProfilingAdminOnly /proc/driver/nvidia/params 2>/dev/null || echo "the driver does not say whether counters are for administrators")"
    if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
        line "not root, or no setpriv: no run as another user"
        return
    fi
    folder=$(mktemp -d /tmp/simtune-acceptance.XXXXXX) || return
    cp -r "$simtune" "$root/templates" "$folder/"
    mkdir "$folder/home"
    chmod -R a+rX "$folder"
    chown -R 65534:65534 "$folder/home"
    timed "$out/unprivileged.log" 60 env -C "$folder/home" HOME="$folder/home" XDG_DATA_HOME="$folder/home/data" \
        XDG_CACHE_HOME="$folder/home/cache" SIMTUNE_SHARE="$folder" setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$folder/$(basename "$simtune")" reduce --size 1Mi --budget 60 --no-header --db "$folder/home/s.db" "${device[@]}"
    line "$(grep -m 1 'note: no stall' "$out/unprivileged.log" | cut -c1-150)"
    target "a user without privileges" "exit 0, with or without counters" \
        "exit $code, $(here_python counters "$folder/home/s.db") values of counters" "$code"
    rm -rf "$folder"
}

step_progress() {
    # A terminal for stderr; stdout is not one.
    timed "$out/progress.log" 60 python3 - "$simtune" reduce --size 1Mi --strategy exhaustive --budget "${PROGRESS_BUDGET:-300}" --counters off --no-header \
        --db "$out/progress.db" "${device[@]}" <<'PYTHON'
import os
import pty
import subprocess
import sys

mine, theirs = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stderr=theirs, stdout=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"})
os.close(theirs)
text = b""
while True:
    try:
        read = os.read(mine, 4096)
    except OSError:
        break
    if not read:
        break
    text += read
for part in text.replace(b"\x1b[K", b"").replace(b"\r", b"\n").decode(errors="replace").splitlines():
    print(part)
sys.exit(child.wait())
PYTHON
    line "$(grep -m 1 's left' "$out/progress.log")"
    target "progress line" "with the time left" "exit $code" "$(holds grep -q '[0-9] s left' "$out/progress.log")"
}

# refuses WANTED_CODE WORD ARGUMENTS…: the exit code, one line that has WORD, and nothing on stdout.
refuses() {
    local wanted=$1 word=$2 got lines
    shift 2
    timeout 60 "$simtune" "$@" >"$out/input.out" 2>"$out/input.err" </dev/null
    got=$?
    lines=$(grep -c . "$out/input.err")
    { echo "== simtune $*: exit $got"; cat "$out/input.out" "$out/input.err"; } >>"$out/input.log"
    [ "$got" = "$wanted" ] && grep -qi -- "$word" "$out/input.err" && [ "$lines" -le 3 ] && [ ! -s "$out/input.out" ] && return 0
    line "simtune $*: exit $got, $lines lines: $(head -n 1 "$out/input.err")"
    return 1
}

step_input() {
    local wrong=0 typo=$out/typo.cu
    : >"$out/input.log"
    sed 's|simtune: param    BLOCK|simtune: parm     BLOCK|' "$root/templates/reduce.cu" >"$typo"
    python3 - "$out/newer.db" <<'PYTHON'
import sqlite3
import sys
store = sqlite3.connect(sys.argv[1])
store.execute("PRAGMA user_version = 9999")
store.execute("CREATE TABLE IF NOT EXISTS session (x)")
store.commit()
PYTHON
    refuses 2 f33 reduce --type f33 "${device[@]}" || wrong=$((wrong + 1))
    refuses 2 12Q reduce --size 12Q "${device[@]}" || wrong=$((wrong + 1))
    refuses 2 sm_9x reduce --arch sm_9x "${device[@]}" || wrong=$((wrong + 1))
    refuses 1 writ reduce -o /proc/nowhere --budget 1 "${device[@]}" || wrong=$((wrong + 1))
    refuses 1 newer reduce --db "$out/newer.db" --no-header "${device[@]}" || wrong=$((wrong + 1))
    refuses 2 typo.cu: tune "$typo" --no-header "${device[@]}" || wrong=$((wrong + 1))
    refuses 2 frobnicate frobnicate || wrong=$((wrong + 1))
    target "bad input" "one message, the right exit code" "$wrong of 7 not so (input.log)" "$wrong"
}

step_pack() {
    local ids
    [ -s "$store" ] || { line "no store: run step first before"; return; }
    ids=$(here_python ids "$store")
    # shellcheck disable=SC2086 # one argument a session
    timed "$out/export.log" 60 "$simtune" db export "$out/history.jsonl.gz" $ids --db "$store"
    line "exported $(wc -w <<<"$ids") sessions: exit $code, $(du -k "$out/history.jsonl.gz" 2>/dev/null | cut -f1) KiB"
    (cd "$out" && find . -maxdepth 2 \( -name '*.log' -o -name '*.tsv' -o -name '*.csv' -o -name '*.h' -o -name lines.txt \) \
        -print0 | tar -czf acceptance.tgz --null -T -)
    line "$out/acceptance.tgz: $(du -k "$out/acceptance.tgz" | cut -f1) KiB"
}

# HISTORY: a packed history of another OUT.
step_elsewhere() {
    local history=${HISTORY:-$out/history.jsonl.gz} share=$out/share
    nvidia-smi -L >/dev/null 2>&1 && { line "there is a GPU here: skipped"; return; }
    [ -s "$history" ] || { line "no history: run step pack before, or set HISTORY"; return; }
    rm -rf "$share" "$out/elsewhere"
    mkdir -p "$share/db/history"
    cp -r "$root/templates" "$share/"
    cp "$history" "$share/db/history/"
    timed "$out/elsewhere.log" 60 env SIMTUNE_SHARE="$share" "$simtune" reduce --arch auto --db "$out/elsewhere.db" -o "$out/elsewhere"
    head -n 8 "$out/elsewhere.log" | cut -c1-150
    target "without a GPU, from the history" "exit 0, NOT TUNED HERE first, in the header too" \
        "exit $code, $(head -n 1 "$out/elsewhere.log" | cut -c1-60)" \
        "$(holds test "$code" = 0 -a -n "$(head -n 1 "$out/elsewhere.log" | grep 'NOT TUNED HERE')" \
            -a -n "$(head -n 15 "$out/elsewhere/simtune_reduce.h" 2>/dev/null | grep 'NOT TUNED HERE')")"
}

step_repro() {
    local id
    id=$(here_python best "$store") || { line "no store: run step first before"; return; }
    timed "$out/show.log" 30 "$simtune" show "$id" --db "$store"
    local shown=$code
    timed "$out/repro.log" 30 "$simtune" repro "$id" -o "$out/repro.cu" --db "$store"
    target "show and repro of a winner" "exits 0" "exits $shown and $code" "$(holds test "$shown$code" = 00)"
    { [ $code = 0 ] && need_nvcc; } || return
    timed "$out/repro-build.log" 60 "$nvcc" -std=c++11 -O2 -arch="${ARCH:-native}" "$out/repro.cu" -o "$out/repro"
    [ $code = 0 ] && timed "$out/repro-run.log" 60 "$out/repro"
    target "the standalone program" "right" "exit $code: $(tail -n 1 "$out/repro-run.log" 2>/dev/null)" "$code"
}

run_steps
