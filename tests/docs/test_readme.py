#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command line in README.md and docs/*.md is one that the program takes, and every link leads somewhere.

Usage: test_readme.py ROOT SIMTUNE

A command line is an indented or fenced line that begins with `simtune` or `./dev`; what stands behind two blanks is
its explanation. Options are checked by the program itself (--help is added, so nothing runs); a tuning run is forecast
on the emulated device, so that its parameters and values are checked too.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
SIMTUNE = sys.argv.pop(1) if len(sys.argv) > 1 else None


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def command_lines(text):
    """(line number, words) of each command line."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        if not fenced and not line.startswith("    "):
            continue
        match = re.match(r"\s*(?:\$ )?((?:simtune|\./dev) .*)", line)
        if match:
            command = re.split(r"\s{2,}", match.group(1))[0]
            if "…" not in command and "..." not in command and "[" not in command:
                yield number, first_command(shlex.split(command))


def first_command(words):
    """Up to a pipe, a redirection or a comment; in quotes they are none."""
    for i, word in enumerate(words):
        if word in ("|", ">", ">>", "&&") or word.startswith("#"):
            return words[:i]
    return words


class Lines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.env = {**os.environ, "XDG_DATA_HOME": self.folder, "XDG_CACHE_HOME": self.folder,
                    "SIMTUNE_RUNTIME": self.folder, "NO_COLOR": "1"}

    def simtune(self, *words):
        return subprocess.run([SIMTUNE, *words], cwd=self.folder, env=self.env, text=True, capture_output=True,
                              timeout=120, check=False)

    def check(self, where, words):
        result = self.simtune(*words, "--help")
        self.assertEqual(result.returncode, 0, f"{where}: {result.stderr}")
        if words[0] in ("reduce", "scan") and "--dry-run" not in words:
            kept = [w for w in words if w not in ("--arch", "auto")]
            device = () if "--device" in words else ("--device", "emu")
            result = self.simtune(*kept, *device, "--dry-run")
            self.assertEqual(result.returncode, 0, f"{where}: {result.stderr}")
        if words[0] in ("templates", "query", "emit") and len(words) > 1 and re.fullmatch(r"[a-z_]+", words[1]):
            result = self.simtune("templates", words[1], "--arch", "sm_90")
            self.assertEqual(result.returncode, 0, f"{where}: {result.stderr}")

    def test_commands(self):
        known = subprocess.run([ROOT / "dev", "help"], text=True, capture_output=True, check=True).stdout
        dev_words = set(re.findall(r"^(?:\./dev |  )([\w-]+)", known, re.M))
        count = 0
        for page in pages():
            for number, words in command_lines(page.read_text()):
                where = f"{page.name}:{number}: {' '.join(words)}"
                with self.subTest(where):
                    count += 1
                    if words[0] == "simtune":
                        self.check(where, words[1:])
                    else:
                        self.assertIn(words[1], dev_words, where)
                        if words[1] == "run":
                            self.check(where, words[2:])
        self.assertGreater(count, 10, "the command lines of README.md are no longer recognised")

    def test_links(self):
        for page in pages():
            for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
                if "://" not in target:
                    self.assertTrue((page.parent / target).exists(), f"{page.name} links to {target}")

    def test_what_is_no_command_is_found(self):
        """The check itself."""
        text = "    simtune query reduce --bset\n\n    simtune frobnicate\n    simtune query redcue\n"
        found = [words for _, words in command_lines(text)]
        self.assertEqual(len(found), 3)
        for words in found:
            with self.assertRaises(AssertionError):
                self.check("here", words[1:])


if __name__ == "__main__":
    unittest.main(verbosity=1)
