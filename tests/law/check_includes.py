#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when an #include breaks the law of dependence (DESIGN, "Folders and the law of dependence"), or when SQLite
shows outside of what is written for it.

Usage: check_includes.py ROOT. Prints one line a violation; exit 1 when there is any.
"""
import pathlib
import re
import sys

# Folder -> what it may include of ours, beside itself. A name ending in .h is one header.
# To add a folder: its row here and in PARTS.
LAW = {
    "base": [],
    "db": ["base"],
    "cupti": ["base"],
    "gpu": ["base", "templates/emu/abi.h"],  # between the emulated device and the code it runs
    "worker": ["base", "gpu", "cupti"],
    "tuner": ["base", "gpu", "tuner/worker/messages.h", "cupti/counters.h", "cupti/advice.h", "db"],
    "reports": ["base", "db", "cupti/counters.h", "cupti/advice.h"],
    "cli": ["base", "db", "cupti", "gpu", "worker", "tuner", "reports"],
}
# Longest first: tuner/base before tuner.
PARTS = [("tuner/base", "base"), ("tuner/gpu", "gpu"), ("tuner/worker", "worker"),
         ("tuner/cli", "cli"), ("tuner", "tuner"), ("db", "db"), ("cupti", "cupti"),
         ("reports", "reports")]
# Vendors' headers and who may see them.
VENDOR = [(re.compile(r"^cupti\w*\.h$"), {"cupti"}),
          (re.compile(r"^(nvrtc|nvml)\.h$"), {"gpu"}),
          (re.compile(r"^(cuda|cuda_runtime\w*)\.h$"), {"gpu", "cupti"}),
          (re.compile(r"^sqlite3\.h$"), {"db", "tuner"})]
# Where SQLite may be named: behind the store's headers, and in the space (a query in memory). Everywhere else another
# store could take the file's place.
SQLITE_FILES = re.compile(r"^(db/.*\.c|db/.*_internal\.h|tuner/space\w*\.[ch])$")
SQLITE = re.compile(r"\bsqlite3(_\w+|\.h)?\b")
WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|//.*|/\*.*?\*/')  # texts for people and comments
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def part_of(path):
    """The part that a path (relative to the root) belongs to; None for what is not ours."""
    for folder, part in PARTS:
        if path.startswith(folder + "/"):
            return part
    return None


def tested_part(path):
    """A unit test sees what its folder sees; a helper that all of them share sees base."""
    match = re.match(r"tests/unit/(\w+)/", path)
    return match.group(1) if match else "base"


def why_not(path, part, quoted, name):
    """Why `path` of `part` must not include `name`; None when it may."""
    if not quoted:
        if part_of(name):
            return f"<{name}> is ours: it is included in quotes"
        if part_of(path) is None:
            return None  # a test may use vendors' libraries to check us
        for pattern, owners in VENDOR:
            if pattern.match(name) and part not in owners:
                return f"only {', '.join(sorted(owners))} may include <{name}>"
        return None
    target = part_of(name)
    if name in LAW[part]:
        return None
    if target is None:
        return f'"{name}" is not a path from the root'
    if target == part:
        return None
    if name.endswith("_internal.h"):
        return f'"{name}" is private to {target}'
    if target in LAW[part]:
        return None
    return f"{part} may include {', '.join(LAW[part]) or 'nothing of ours'}, not \"{name}\""


def shows_sqlite(path, line):
    """Whether a line of our code outside of SQLITE_FILES names SQLite."""
    return part_of(path) is not None and not SQLITE_FILES.match(path) and SQLITE.search(WORDS.sub('""', line))


def check(root):
    root = pathlib.Path(root)
    found = []
    folders = sorted({folder.split("/")[0] for folder, _ in PARTS}) + ["tests/unit"]
    for folder in folders:
        for file in sorted(root.glob(f"{folder}/**/*.[ch]")):
            path = file.relative_to(root).as_posix()
            part = part_of(path) or tested_part(path)
            if part not in LAW:
                found.append(f"{path}: belongs to no folder of the law; add it to {__file__}")
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if shows_sqlite(path, line) and not (match and match.group(2) == "sqlite3.h" and
                                                     part not in ("db", "tuner")):
                    found.append(f"{path}:{number}: SQLite stays inside db/*.c, db/*_internal.h and tuner/space*")
                if not match:
                    continue
                quoted, name = match.group(1) == '"', match.group(2)
                helper = name.startswith("tests/") or (file.parent / name).is_file()
                if part_of(path) is None and quoted and helper:
                    continue  # a test's own helper
                why = why_not(path, part, quoted, name)
                if why:
                    found.append(f"{path}:{number}: {why}")
    return found


if __name__ == "__main__":
    violations = check(sys.argv[1])
    print("\n".join(violations) or "every include keeps the law of dependence")
    sys.exit(1 if violations else 0)
