#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when help, the manual page and the completions do not name the same commands and options.

Usage: tables_agree.py SIMTUNE
"""
import re
import subprocess
import sys


def output(*words):
    return subprocess.run([SIMTUNE, *words], capture_output=True, text=True, check=True).stdout


def of_help():
    """{command: options} of `simtune help` and each --help."""
    listed = re.search(r"^Commands\n((?:  .*\n)+)", output("help"), re.M).group(1)
    names = [line.split()[0] for line in listed.splitlines()]
    return {name: set(re.findall(r"^  (?:-\w, |    )--([\w-]+)", output(name, "--help"), re.M)) for name in names}


def of_manual():
    """The same of the manual: a command's own options and the common ones at the end."""
    page = output("help", "--man").replace("\\-", "-")
    page, common = page.split(".SH COMMON OPTIONS")
    find = re.compile(r"^(?:\\fB-\w\\fR, )?\\fB--([\w-]+)\\fR", re.M)
    shared = set(find.findall(common))
    parts = re.split(r'^\.SS "simtune (\w+) ', page, flags=re.M)[1:]
    return {name: set(find.findall(text)) | shared for name, text in zip(parts[::2], parts[1::2])}


def of_completions():
    text = output("help", "--bash")
    names = set(re.search(r'compgen -W "([^"]+)" -- "\$cur"\)\)\n\s+return', text).group(1).split())
    cases = re.findall(r'^    ([\w|]+)\) options="([^"]*)"', text, re.M)
    found = {name.split("|")[0]: set(re.findall(r"--([\w-]+)", options)) for name, options in cases}
    missing = set(found) - names
    assert not missing, f"completions know the options of {missing}, but not the commands"
    return found


def main():
    tables = {"help": of_help(), "manual": of_manual(), "completions": of_completions()}
    assert len(tables["help"]) >= 10 and len(tables["help"]["tune"]) >= 15, "the help could not be read"
    wrong = []
    for name in ("manual", "completions"):
        for command in sorted(set(tables["help"]) | set(tables[name])):
            one, other = tables["help"].get(command), tables[name].get(command)
            if one != other:
                wrong.append(f"{command}: help has {sorted(one or [])}, {name} {sorted(other or [])}")
    # What is typed first when help is asked for by a word is the same as by the option.
    for command in tables["help"]:
        if output("help", command) != output(command, "--help"):
            wrong.append(f"{command}: help {command} and {command} --help differ")
    print("\n".join(wrong) or "help, manual and completions agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    SIMTUNE = sys.argv[1]
    sys.exit(main())
