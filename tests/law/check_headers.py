#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a header of ours does not compile alone, or not twice in one file.

Usage: check_headers.py ROOT CC [SYSTEM_INCLUDE_FOLDER…]
"""
import pathlib
import subprocess
import sys

FOLDERS = ("tuner", "db", "cupti", "reports")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", '-DSIMTUNE_SOURCE_FOLDER=""', "-fsyntax-only", "-Wall", "-Wextra",
         "-Wstrict-prototypes", "-Werror", "-Wno-unused-function", "-xc", "-"]


def check(root, compiler, system_folders=()):
    root = pathlib.Path(root)
    command = [compiler, f"-I{root}"]
    for folder in system_folders:
        if folder:
            command += ["-isystem", folder]
    found = []
    for folder in FOLDERS:
        for header in sorted(root.glob(f"{folder}/**/*.h")):
            name = header.relative_to(root).as_posix()
            source = f'#include "{name}"\n#include "{name}"\n'
            run = subprocess.run(command + FLAGS, input=source, text=True, capture_output=True)
            if run.returncode:
                found.append(f"{name}: does not compile alone\n{run.stderr}")
    return found


if __name__ == "__main__":
    violations = check(sys.argv[1], sys.argv[2], sys.argv[3:])
    print("\n".join(violations) or "every header compiles alone")
    sys.exit(1 if violations else 0)
