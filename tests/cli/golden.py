#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests of the command line: runs cases/NAME.sh and compares with cases/NAME.out.

Usage: golden.py BUILD [--refresh] [NAME…]     BUILD holds simtune, tests/cli/make_store, tests/fake/libfake_cuda.so

A case is a bash script that runs in an empty folder of its own, with a home of its own, and with the counterfeit
driver of tests/fake, which has no device unless FAKE_CUDA_DEVICES says so: the output is the same on machines
with and without a GPU. What ships is of the family reduce alone, without history, so that a new family or a new
recording changes no output. It has the functions below; what they print is the output:
  t COMMAND…      the command, its stdout, its stderr (lines after "! "), and "exit N" unless it is 0
  json COMMAND…   the same for a command that must print one JSON document, shown one key a line; the document must
                  be as schemas/ says (check_json.py)
  untimed COMMAND…  as t, with times and speeds rewritten
  store           makes history.db, the store of session_fixture.h
  versions        makes history.db, the store of make_history.c: $S1 … $S4 are its sessions
  left            what lies in the folder, stores aside
  id FAMILY N     the candidate id of the winner of a family at size N (of history.db)
  failed OUTCOME  the id of a candidate with this outcome
  sql STORE TEXT  runs SQL on a store, and prints its rows
  $DATA           tests/cli/data
  $SHARE          what ships: templates/, db/history/
Only what cannot stay the same is rewritten: ids, dates and times, the paths of this machine, the version.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PRELUDE = r"""
set -u
t() {
    echo "\$ $*"
    "$@" >.out 2>.err; local rc=$?
    cat .out; sed 's/^/! /' .err
    [ $rc = 0 ] || echo "exit $rc"
}
json() {
    echo "\$ $*"
    "$@" >.out 2>.err; local rc=$?
    python3 "$CHECK_JSON" .out
    sed 's/^/! /' .err
    [ $rc = 0 ] || echo "exit $rc"
}
untimed() { t "$@" | sed -E '/^  ≈: what such a time/d; s/ *(≈ )?[0-9.]+ (ns|µs|ms|GB\/s|%)/ TIME \2/g'; }
sql() { python3 "$SQL" "$@"; }
failed() { sql history.db "SELECT candidate_id FROM candidate WHERE outcome = '$1' LIMIT 1"; }
left() { echo "\$ left"; ls | grep -v '\.db'; }
store() { make_store history.db "$DATA/scale.cu"; }
versions() { set -- $(make_history history.db); S1=$1 S2=$2 S3=$3 S4=$4; }
id() {
    simtune query "$1" --size "$2" --best --cache cold --db history.db --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"][0]["candidate"])'
}
"""


def ship(share):
    """What an installed simtune has beside it, of reduce alone."""
    templates = share / "templates"
    templates.mkdir(parents=True)
    (share / "db/history").mkdir(parents=True)
    for path in (ROOT / "templates").iterdir():
        other = path.suffix == ".cu" and path.name != "reduce.cu" and "simtune: family" in path.read_text()
        if not other and path.name != "examples":
            (templates / path.name).symlink_to(path)


def normalise(text, top, build, version):
    """What differs from run to run or from machine to machine, and nothing else."""
    for path, name in ((f"{top}/run", "FOLDER"), (f"{top}/share", "SHARE"), (f"{top}/home", "HOME"), (top, "TOP"),
                       (str(HERE / "data"), "DATA"), (str(build), "BUILD"), (str(ROOT), "SOURCE")):
        text = text.replace(path, name)
    text = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "DATE", text)
    text = re.sub(r'("\w+_ms": )\d{13}\b', r"\1MILLISECONDS", text)
    text = re.sub(r"(?<![-\w])[0-9a-f]{32}\b", "ID", text)
    text = re.sub(r'(?<![-\w.])(?<!":)(?<!": )[0-9a-f]{12}\b(?!\.)', "SHORT-ID", text)  # a number in JSON is none
    text = re.sub(r"\bsimtune_[0-9a-f]{8}\b", "simtune_HASH", text)
    text = re.sub(r"\S+ [\d.]+ emu [0-9a-f]{8}\b", "COMPILER", text)
    text = re.sub(r"[\d.]+ [KM]iB, schema \d+", "SIZE, SCHEMA", text)  # as SQLite's version and migrations have it
    return text.replace(version, "VERSION")


def run(name, build, version):
    with tempfile.TemporaryDirectory(prefix="simtune-cli-") as top:
        folder, tools = os.path.join(top, "run"), os.path.join(top, "tools")
        for made in (folder, tools, os.path.join(top, "home")):
            os.mkdir(made)
        ship(pathlib.Path(top, "share"))
        os.symlink(build / "simtune", os.path.join(tools, "simtune"))
        for tool in ("make_store", "make_history"):
            os.symlink(build / "tests/cli" / tool, os.path.join(tools, tool))
        kept = {key: os.environ[key] for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
                if key in os.environ}
        environment = {"PATH": f"{tools}:{os.path.dirname(sys.executable)}:/usr/bin:/bin", "TZ": "UTC",
                       "HOME": os.path.join(top, "home"), "LC_ALL": "C.UTF-8", "TERM": "dumb",
                       "DATA": str(HERE / "data"), "SIMTUNE_LIBCUDA": str(build / "tests/fake/libfake_cuda.so"),
                       "FAKE_CUDA_DEVICES": "0", "SIMTUNE_FILE_SYSTEM": "ext4", "SHARE": os.path.join(top, "share"),
                       "SIMTUNE_SHARE": os.path.join(top, "share"), "CACHE": str(build / "tests/cli/cache"),
                       "CHECK_JSON": str(HERE / "check_json.py"), "SQL": str(HERE / "sql.py"),
                       "SIMTUNE_RUNTIME": os.path.join(top, "locks"), "TMPDIR": top,
                       "SIMTUNE_LIBNVML": "/nonexistent/libnvidia-ml.so.1", **kept}
        script = PRELUDE + (HERE / "cases" / f"{name}.sh").read_text()
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True,
                              timeout=280, check=False)
        text = done.stdout.decode() + "".join(f"SCRIPT: {line}\n" for line in done.stderr.decode().splitlines())
        return normalise(text, top, build, version)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("--refresh", action="store_true")
    options.add_argument("names", nargs="*")
    options = options.parse_intermixed_args()
    build = options.build.resolve()
    version = subprocess.run([build / "simtune", "version"], capture_output=True, text=True, check=True).stdout.split()[1]
    failed = False
    for name in options.names or sorted(path.stem for path in (HERE / "cases").glob("*.sh")):
        golden = HERE / "cases" / f"{name}.out"
        is_now = run(name, build, version)
        was = golden.read_text() if golden.exists() else ""
        if options.refresh:
            golden.write_text(is_now)
            print(f"{name}: {'as before' if is_now == was else 'rewritten'}")
        elif is_now != was:
            failed = True
            sys.stdout.writelines(difflib.unified_diff(was.splitlines(True), is_now.splitlines(True),
                                                       f"{name}.out", "now"))
            print(f"\n{name}: differs; if the new output is right: tests/cli/refresh BUILD {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
