# SPDX-License-Identifier: Apache-2.0
"""Where a fault can strike in one command, and the trials that are made of it.

A run with SIMTUNE_FAULT_COUNT writes, for each chain of callers that reaches a fault point, the number of its first
pass there (tuner/base/fault.c). One trial at each of these reaches every place of the program where an allocation, a
system call or an SQLite step can fail, in a hundredth of the trials that every pass would take.
"""
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "emulated"))
import harness  # noqa: E402  (the one of the emulated tests: a place of its own for each test)

ALL = os.environ.get("SIMTUNE_TEST_TRIALS") == "all"


def of(place, run):
    """{(role, kind): passes at which a place is reached first} of what `run` starts in `place`."""
    counts = os.path.join(place.folder, "counts")
    run(SIMTUNE_FAULT_COUNT=counts)
    found = {}
    with open(counts, encoding="ascii") as file:
        for line in file:
            if match := re.fullmatch(r"(\w+) (\w+) at (\d+)\n", line):
                found.setdefault(match.group(1, 2), set()).add(int(match.group(3)))
    os.remove(counts)
    return {key: sorted(numbers) for key, numbers in sorted(found.items())}


def trials(found, sample, seed):
    """All of them as (role, kind, n), or `sample` of them: some of each role and kind."""
    everything = [(role, kind, n) for (role, kind), numbers in found.items() for n in numbers]
    if ALL:
        return everything
    draw, chosen = random.Random(seed), set()
    share = max(1, sample // len(found))
    for (role, kind), numbers in found.items():
        chosen |= {(role, kind, n) for n in draw.sample(numbers, min(share, len(numbers)))}
    rest = sorted(set(everything) - chosen)
    chosen |= set(draw.sample(rest, max(0, min(sample - len(chosen), len(rest)))))
    return sorted(chosen)


def assert_message(case, text, where):
    """An error says what happened: a sentence after `simtune: `, not an end that is missing."""
    line = re.search(r"(?m)^simtune: (.*)$", text)
    case.assertTrue(line, "no message; " + where)
    case.assertTrue(re.search(r"[\w)'\"`]\Z", line.group(1).rstrip(".")), f"half a message: {line.group(0)}; {where}")
