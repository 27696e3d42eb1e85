# SPDX-License-Identifier: Apache-2.0
"""What ships is of this version: a family that db/history knows has finished sessions of the template as it is now.

A template whose text changes loses its history (the rows are of another kernel), and then `simtune FAMILY` and
`simtune emit FAMILY` have nothing to go by on machines without a GPU: record it anew in the same change.

    test_shipped.py SIMTUNE SOURCE
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys


def shipped(folder):
    """family -> hashes of the templates of finished sessions"""
    found = {}
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                if '"row":"session"' not in line:
                    continue
                row = json.loads(line)
                if row["status"] == "finished":
                    found.setdefault(row["family"], set()).add(row["template"])
    return found


def main():
    simtune, source = sys.argv[1], pathlib.Path(sys.argv[2])
    known = shipped(source / "db/history")
    assert known, "no history ships"
    answer = subprocess.run([simtune, "templates", "--json"], check=True, stdout=subprocess.PIPE,
                            env={**os.environ, "SIMTUNE_SHARE": str(source)})
    hashes = {one["family"]: one["hash"] for one in json.loads(answer.stdout)["families"]}
    stale = [family for family in known if hashes.get(family) not in known[family]]
    for family in sorted(known):
        print(f"{family}: {'of another version of its template' if family in stale else 'current'}")
    sys.exit(1 if stale else 0)


main()
