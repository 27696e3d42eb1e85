# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the acceptance scripts share; sourced by them. They set: all_steps, about (a line for each step) and results;
# `begin "$@"` sets the rest from SIMTUNE OUT [STEP…]: simtune, out, steps, device (an array of arguments), nvcc, root.

# --- beginning -------------------------------------------------------------------------------------------
# The script's head, from line 4 to `set -u`, then its steps.
usage() {
    sed -n '4,/^set -u/s/^# \{0,1\}//p' "$0" >&2
    local step
    for step in $all_steps; do printf '  %-10s %s\n' "$step" "${about[$step]}" >&2; done
    exit 2
}

begin() {
    [ $# -ge 2 ] || usage
    root=$(cd "$here/../.." && pwd)
    simtune=$(realpath "$1") || exit 2
    [ -x "$simtune" ] || { echo "$1 is no program" >&2; exit 2; }
    mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
    shift 2
    steps=${*:-$all_steps}
    local step
    for step in $steps; do [ -n "${about[$step]:-}" ] || { echo "no step $step" >&2; usage; }; done
    device=()
    [ -n "${DEVICE:-}" ] && device=(--device "$DEVICE")
    PATH=$PATH${CUDA_HOME:+:$CUDA_HOME/bin}:/usr/local/cuda/bin
    nvcc=${NVCC:-nvcc}
    export XDG_DATA_HOME=$out/data XDG_CACHE_HOME=$out/cache # nothing of the user's own is read or written
}

# --- saying and noting -----------------------------------------------------------------------------------
here_python() { python3 "$here/acceptance_store.py" "$@"; }
line() { printf '  %s\n' "$*"; }

# target NAME WANTED GOT PASSED(0: yes; info: no verdict)
target() {
    local verdict=MISS
    [ "$4" = 0 ] && verdict=pass
    [ "$4" = info ] && verdict=-
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$verdict" >>"$results"
    line "$(printf '%-4s %s: %s (wanted %s)' "$verdict" "$1" "$3" "$2")"
}

holds() { if "$@" >/dev/null 2>&1; then echo 0; else echo 1; fi; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 < b + 0) }'; }

# timed LOG LIMIT COMMAND…: runs, both streams to LOG; sets `code` and `seconds`.
timed() {
    local log=$1 limit=$2 start
    shift 2
    start=$(date +%s.%N)
    timeout -k 5 "$limit" "$@" >"$log" 2>&1
    code=$?
    seconds=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
}

tune() { # LOG LIMIT ARGUMENTS…
    local log=$1 limit=$2
    shift 2
    timed "$log" "$limit" "$simtune" "$@" "${device[@]}"
}

need_nvcc() { command -v "$nvcc" >/dev/null || { line "no $nvcc here: skipped"; return 1; }; }

# The last word on each target, in the order of their first.
latest() {
    awk -F'\t' '!($1 in row) { order[++n] = $1 } { row[$1] = $0 }
        END { for (i = 1; i <= n; i++) { split(row[order[i]], f, "\t"); printf "%-4s  %-58s %-30s %s\n", f[4], f[1], f[2], f[3] } }' \
        "$results"
}

step_summary() {
    [ -s "$results" ] || { line "nothing was run"; return; }
    latest | tee "$out/summary.txt"
    line "$(grep -c '^pass' "$out/summary.txt") pass, $(grep -c '^MISS' "$out/summary.txt") missed"
}

# Each of $steps under its line of `about`; false when a target was missed.
run_steps() {
    local began=$SECONDS step step_began
    for step in $steps; do
        echo "== $step: ${about[$step]}"
        step_began=$(date +%s.%N)
        "step_$step"
        printf '   %s took %.1f s\n' "$step" "$(awk -v a="$step_began" -v b="$(date +%s.%N)" 'BEGIN { print b - a }')"
    done
    echo "== all: $((SECONDS - began)) s"
    [ ! -s "$results" ] || ! latest | grep -q '^MISS'
}
