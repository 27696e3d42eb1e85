#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a source of ours has no SPDX line among its first three.

Usage: check_spdx.py ROOT. What tests compare with byte by byte (folders named golden or expected) and
generated headers (0BSD, in examples) are not sources of ours.
"""
import pathlib
import sys

SUFFIXES = {".c", ".h", ".cu", ".cuh", ".py", ".sh", ".cmake", ".js", ".css"}
NAMES = {"CMakeLists.txt", "dev"}
SKIPPED = {"build", "golden", "expected"}  # and hidden folders, but for .ci
LINE = "SPDX-License-Identifier: "
LICENCES = ("Apache-2.0", "0BSD")


def is_skipped(folder):
    return folder in SKIPPED or folder.startswith("build-") or (folder.startswith(".") and folder != ".ci")


def is_source(path):
    if any(is_skipped(part) for part in path.parts[:-1]):
        return False
    return path.suffix in SUFFIXES or path.name in NAMES or path.as_posix() == ".ci/run"


def check(root):
    root = pathlib.Path(root)
    found = []
    for folder in sorted(root.iterdir()):
        files = [folder] if folder.is_file() else [] if is_skipped(folder.name) else folder.rglob("*")
        for file in sorted(files):
            path = file.relative_to(root)
            if not file.is_file() or not is_source(path):
                continue
            head = file.read_text(errors="replace").splitlines()[:3]
            if not any(LINE + licence in line for line in head for licence in LICENCES):
                found.append(f"{path}: no line \"{LINE}Apache-2.0\" among the first three")
    return found


if __name__ == "__main__":
    violations = check(sys.argv[1])
    print("\n".join(violations) or "every source names its licence")
    sys.exit(1 if violations else 0)
