#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which messages of the program a golden test shows: every st_fail(…) and every line of talk in the sources, looked
for in cases/*.out.

Usage: messages.py [--list]

Fails when a message of tuner/cli, or of a file in ALSO, has no case and no reason in WITHOUT_CASE, and when a reason
is out of date. For all else it prints the share, and with --list what is not shown: that has unit tests of its own.
"""
import argparse
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OTHER_FOLDERS = ("tuner/base", "db", "tuner", "reports", "tuner/gpu", "cupti")
# Files of other folders whose messages users read as they are: the same holds for them.
ALSO = {"tuner/base/options.c", "tuner/base/file.c", "tuner/base/paths.c", "db/open.c", "db/history_export.c",
        "db/history_import.c", "db/history_rows.c", "db/history_fields.c", "db/exchange_scan.c",
        "db/exchange_walk.c", "db/exchange_survey.c", "db/exchange_trial.c", "db/exchange_kernel_tuner.c",
        "db/exchange_t4.c", "db/exchange_store.c", "db/exchange_select.c", "db/exchange_rows.c", "db/exchange_sink.c",
        "db/exchange_export.c", "db/migrations.c", "db/query.c", "tuner/publish.c",
        "tuner/emit_provenance.c", "tuner/space_options.c", "tuner/gpu/device_class.c"}

# Beginning of the message → why no command line without a GPU prints it. To add one: a line, and a good reason.
WITHOUT_CASE = {
    "this program was built without the backend": "every build has both backends",
    "\r\x1b[K%lld of %lld candidates": "progress, for terminals alone",
    "note: no header: it is made from the usual data": "after a run on a GPU",
    "%s is neither beside the program": "a program that was built here finds the source tree",
    "session %.12s has lost what it says of": "a store whose rows contradict each other",
    "/dev/null cannot be opened": "every system has one",
    "%s changed while it was read": "another program writes it at that moment",
    "cannot compress a row": "zlib fails without memory alone",
    "a row for %s is larger than 2 GiB": "nobody waits for that",
    "%zu of %zu rows of %s are worse than": "times decide, and those of the emulated device tell nothing",
    "cannot read the store": "a disk fails",
    "the store %s: a row of %s refers to a row": "while migrating, and there is one schema so far",
}

# Where the format stands among the arguments of others that print messages.
AT = {"run_note": 1, "st_loader_fail": 2}

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"'}


def without_comments(text):
    """The same text with comments blanked, so that a quote in one is no string."""
    pattern = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.S)
    return pattern.sub(lambda m: m[0] if m[0][0] in "\"'" else re.sub(r"[^\n]", " ", m[0]), text)


def arguments(text, at):
    """The arguments of the call whose parenthesis opens at `at`."""
    parts, depth, start, i = [], 0, at + 1, at
    while i < len(text):
        if text[i] in "\"'":
            i = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'').match(text, i).end()
            continue
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if not depth:
                parts.append(text[start:i])
                return parts
        elif text[i] == "," and depth == 1:
            parts.append(text[start:i])
            start = i + 1
        i += 1
    raise ValueError("a call without an end")


def literals(argument):
    """The texts of an argument: one, or each branch of a choice. Literals side by side are one."""
    found, last = [], None
    for match in LITERAL.finditer(argument):
        text = re.sub(r"\\([0-7]{1,3}|.)", lambda m: chr(int(m[1], 8)) if m[1].isdigit() else ESCAPES.get(m[1], m[1]),
                      match[1])
        if last is not None and not argument[last:match.end()][:match.start() - last].strip():
            found[-1] += text
        else:
            found.append(text)
        last = match.end()
    return found


def messages_of(source):
    """(line, format) of each message that the file can print."""
    text = without_comments(source.read_text())
    for match in re.finditer(r"\b(st_fail|st_loader_fail|fprintf|st_cli_tell|run_note)\(", text):
        call = arguments(text, match.end() - 1)
        call = call[1:] if match[1] == "st_cli_tell" else call
        if match[1] == "st_fail":
            formats = literals(call[3]) if len(call) > 3 else []
        elif match[1] in AT:
            formats = literals(call[AT[match[1]]]) if len(call) > AT[match[1]] else []
        else:
            talks = re.search(r"stderr|talk", call[0]) or re.fullmatch(r"\s*to->out\s*", call[0])
            formats = [f for f in literals(call[1]) if talks and re.search(r"[A-Za-z]{3}", re.sub(r"%[^a-z]*\w", "", f))]
        line = text.count("\n", 0, match.start()) + 1
        for one in formats:
            if re.sub(r"%[-+ #0-9.*lzhjt]*[a-zA-Z]", "", one).strip(" \n:,()"):
                yield line, one


def pattern_of(form):
    """What the printed message looks like."""
    parts = re.split(r"(%%|%[-+ #0-9.*lzhjt]*[a-zA-Z])", form.strip("\n"))
    return re.compile("".join("%" if p == "%%" else r"[^\n]*?" if p.startswith("%") and len(p) > 1 else re.escape(p)
                              for p in parts).replace(re.escape("\n"), r"\n(?:! )?").replace("\\\n", r"\n(?:! )?"))


def is_shown(form, text):
    words = max(re.split(r"%[-+ #0-9.*lzhjt]*[a-zA-Z%]|\n", form), key=len)  # quick, and mostly enough to say no
    return words in text and bool(pattern_of(form).search(text))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--list", action="store_true")
    options = options.parse_args()
    shown = "\n".join(path.read_text() for path in sorted((HERE / "cases").glob("*.out")))
    missing, others, used = [], [], set()
    count = collections.Counter()
    for folder in ("tuner/cli", *OTHER_FOLDERS):
        for source in sorted((ROOT / folder).glob("*.c")):
            name = source.relative_to(ROOT).as_posix()
            held = folder == "tuner/cli" or name in ALSO
            for line, form in messages_of(source):
                found = is_shown(form, shown)
                reason = next((start for start in WITHOUT_CASE if held and not found and form.startswith(start)), None)
                used.add(reason)
                kind = "shown" if found else "not possible" if reason else "missing"
                count[folder, kind] += 1
                if kind == "missing" and (held or options.list):
                    (missing if held else others).append(f"{name}:{line}: {form.strip()}")
    print("messages that a golden test shows")
    for folder in ("tuner/cli", *OTHER_FOLDERS):
        of = {kind: count[folder, kind] for kind in ("shown", "not possible", "missing")}
        print(f"  {folder:12} {of['shown']:4} of {sum(of.values()):4}"
              + (f", {of['not possible']} need a GPU or a fault" if of["not possible"] else ""))
    stale = sorted(set(WITHOUT_CASE) - used)
    for start in stale:
        print(f"WITHOUT_CASE: {start!r} is shown, or gone")
    if others:
        print("not shown, of other files:", *others, sep="\n")
    if missing:
        print("without a golden case:", *missing, sep="\n")
    return 1 if stale or missing else 0


if __name__ == "__main__":
    sys.exit(main())
