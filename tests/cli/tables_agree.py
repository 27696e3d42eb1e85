#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when help, the manual page and the completions do not name the same commands, options and families.

Usage: tables_agree.py SIMTUNE
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import golden


def output(*words):
    return subprocess.run([SIMTUNE, *words], capture_output=True, text=True, check=True, env=ENVIRONMENT).stdout


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


def families():
    """What each of them says, and the list of templates."""
    text = output("help", "--bash")
    listed = json.loads(output("templates", "--json"))["families"]
    return {"templates": [family["family"] for family in listed],
            "help": re.search(r"^Families.*\n  (.*)\n", output("help"), re.M).group(1).split(),
            "help --json": json.loads(output("help", "--json"))["families"],
            "manual": re.search(r"^\.SH FAMILIES\n.*\n\.PP\n(.*)\n", output("help", "--man"), re.M).group(1).split(", "),
            "completions": re.search(r'families="([^"]*)"', text).group(1).split(),
            "completions of tune": re.search(r"^    tune\|([\w|]+)\)", text, re.M).group(1).split("|")}


def never_tried(options):
    """Options that no golden case gives to their command."""
    shown = "\n".join(path.read_text() for path in (golden.HERE / "cases").glob("*.out"))
    lines = re.findall(r"^\$ simtune (\w+) (.*)$", shown, re.M)
    letters = {option["name"]: option["letter"] for command in json.loads(output("help", "--json"))["commands"]
               for option in command["options"] if option["letter"]}
    found = []
    for command, names in options.items():
        words = [rest for name, rest in lines if name == command or command == "tune" and name == "reduce"]
        found += [f"{command} --{name}" for name in sorted(names)
                  if not any(re.search(rf"(^| )(--{name}\b|-{letters.get(name, '-')} )", rest + " ") for rest in words)]
    return found


def troff_warnings():
    """What groff says of the manual; nothing where there is no groff."""
    if not shutil.which("groff"):
        return ""
    done = subprocess.run(["groff", "-man", "-ww", "-z"], input=output("help", "--man"), capture_output=True, text=True,
                          check=False)
    return done.stderr


def disagreements(tables):
    wrong = []
    for name in ("manual", "completions"):
        for command in sorted(set(tables["help"]) | set(tables[name])):
            one, other = tables["help"].get(command), tables[name].get(command)
            if one != other:
                wrong.append(f"{command}: help has {sorted(one or [])}, {name} {sorted(other or [])}")
    return wrong


def can_fail(tables):
    """The check itself: whatever table lacks an option, or a command, is found."""
    for name, table in tables.items():
        for planted in ({**table, "tune": table["tune"] - {"budget"}}, {k: v for k, v in table.items() if k != "db"}):
            assert disagreements({**tables, name: planted}), f"what {name} lacks is not found"


def main():
    tables = {"help": of_help(), "manual": of_manual(), "completions": of_completions()}
    assert len(tables["help"]) >= 10 and len(tables["help"]["tune"]) >= 15, "the help could not be read"
    can_fail(tables)
    wrong = disagreements(tables)
    # What is typed first when help is asked for by a word is the same as by the option.
    for command in tables["help"]:
        if output("help", command) != output(command, "--help"):
            wrong.append(f"{command}: help {command} and {command} --help differ")
    named = families()
    wrong += [f"families: templates has {named['templates']}, {name} {found}" for name, found in named.items()
              if found != named["templates"]]
    wrong += [f"no golden case has {option}" for option in never_tried(tables["help"])]
    if not output("help", "--man").isascii():
        wrong.append("the manual is not ASCII, so it is read wrong in some locales")
    wrong += [f"groff: {line}" for line in troff_warnings().splitlines()]
    print("\n".join(wrong) or "help, manual and completions agree")
    return 1 if wrong else 0


def two_families(share):
    """What ships for the golden tests, and one family more."""
    golden.ship(share)
    text = (golden.HERE / "data/scale.cu").read_text()
    (share / "templates/blur.cu").write_text(re.sub(r"(family +)scale", r"\1blur", text))


if __name__ == "__main__":
    SIMTUNE = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="simtune-cli-") as top:
        two_families(pathlib.Path(top))
        ENVIRONMENT = {**os.environ, "SIMTUNE_SHARE": top}
        sys.exit(main())
