# SPDX-License-Identifier: Apache-2.0
"""Where a fault can strike in one command, and the trials that are made of it.

A run with SIMTUNE_FAULT_COUNT writes, for each chain of callers that reaches a fault point, the number of its first
pass there (tuner/base/fault.c). One trial at each of these reaches every place of the program where an allocation, a
system call or an SQLite step can fail, in a hundredth of the trials that every pass would take.
"""
import os
import random
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "emulated"))
import harness  # noqa: E402  (the one of the emulated tests: a place of its own for each test)

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = os.environ.get("SIMTUNE_TEST_TRIALS") == "all"


def of(place, run, every=0):
    """{(role, kind): passes at which a place is reached first} of what `run` starts in `place`. With all trials, kinds
    that have no more than `every` passes have each pass, and one more, which injects nothing."""
    counts = os.path.join(place.folder, "counts")
    run(SIMTUNE_FAULT_COUNT=counts)
    found, passes = {}, {}
    with open(counts, encoding="ascii") as file:
        for line in file:
            if match := re.fullmatch(r"(\w+) (\w+) at (\d+)\n", line):
                found.setdefault(match.group(1, 2), set()).add(int(match.group(3)))
            elif match := re.fullmatch(r"(\w+) (\w+) (\d+)\n", line):
                key = match.group(1, 2)
                passes[key] = max(passes.get(key, 0), int(match.group(3)))  # of several workers, the busiest
    os.remove(counts)
    for key, most in passes.items():
        if ALL and most <= every:
            found[key] = range(1, most + 2)
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


class Tuning(harness.Case):
    """Trials of a whole tuning run. Exactly one pass fails (SIMTUNE_FAULT_ONCE), so what is lost must be what the fault
    struck: no crash, no leak, a message where the run ends early, whole candidates in the store, and the same command
    goes on and finds its winners."""
    TEMPLATE = DEVICE = ON = None
    WINNERS = 2  # cold and warm
    ENV = {}

    def tune(self, place, **env):
        return place.run("tune", os.path.join(HERE, "templates", self.TEMPLATE), "--device", self.DEVICE,
                         "--budget", "none", **self.ENV, **env)

    def trial(self, place, role, kind, n):
        once = os.path.join(place.folder, "once")
        if os.path.exists(once):
            os.remove(once)
        place.forget_reports()
        result = self.tune(place, SIMTUNE_FAULT=f"{role}/{kind}:{n}", SIMTUNE_FAULT_ONCE=once)
        where = f"SIMTUNE_FAULT={role}/{kind}:{n}: {result}"
        self.assertIn(result.code, (0, 1, 2, 3, 5), where)
        if result.code:
            assert_message(self, result.err, where)
        else:
            self.assert_says(result.out, self.ON)
        place.wait_for_nobody(5)
        self.assert_nothing_left(place, where)
        self.assertEqual(place.store_problems(), [], where)
        self.assertEqual(self.half_rows(place), [], where)
        self.assertEqual(place.sanitizer_reports(), [], where)
        if result.code == 0 or rows(place, "SELECT 1 FROM session"):  # else it left nothing to go on from
            self.go_on(place, where)
        return os.path.exists(once)

    def assert_nothing_left(self, place, where):
        pass

    @staticmethod
    def half_rows(place):
        return (rows(place, "SELECT 'no median', * FROM measurement WHERE median_ns IS NULL AND length(samples) > 0") +
                rows(place, "SELECT 'no ratio', * FROM winner WHERE winner_ns IS NULL OR"
                            " (default_key IS NOT NULL AND (speedup IS NULL OR speedup_low IS NULL))"))

    def go_on(self, place, where):
        """The same command, undisturbed, ends with its winners, on what the trial left."""
        before = rows(place, "SELECT candidate_key, phase, cache, round, taken_ms FROM measurement")
        result = self.tune(place)
        where = f"after {where}\nthen: {result}"
        self.assertEqual(result.code, 0, where)
        place.wait_for_nobody(5)
        self.assertEqual(place.sanitizer_reports(), [], where)
        self.assertEqual(place.store_problems(), [], where)
        self.assertEqual(place.one("SELECT count(*) FROM winner WHERE session_key ="
                                   " (SELECT max(session_key) FROM session)"), self.WINNERS, where)
        after = rows(place, "SELECT candidate_key, phase, cache, round, taken_ms FROM measurement")
        self.assertLessEqual(set(before), set(after), "a measurement is lost; " + where)

    def in_turn(self, place, sample, seconds, prepare, keep=lambda role, kind: True):
        """`keep`: which of the places; those of other roles and kinds are tried elsewhere."""
        prepare(place)
        found = of(place, lambda **env: self.assert_code(self.tune(place, **env), 0), every=100)
        found = {key: numbers for key, numbers in found.items() if keep(*key)}
        struck, made, end = 0, 0, time.monotonic() + seconds
        for role, kind, n in trials(found, sample, seed=len(found)):
            if not ALL and time.monotonic() > end:
                break
            prepare(place)
            with self.subTest(role=role, kind=kind, n=n):
                made += 1
                struck += self.trial(place, role, kind, n)
        counts = ", ".join(f"{role} {kind} {len(numbers)}" for (role, kind), numbers in found.items())
        print(f"{made} trials of {sum(map(len, found.values()))} places ({counts}), {struck} struck", flush=True)
        self.assertGreater(struck, 0.6 * made, "the places move from run to run")
        return found


def rows(place, sql):
    if not os.path.exists(place.store_path) or not place.one("SELECT count(*) FROM sqlite_schema"):
        return []
    return place.rows(sql)


def forget(place):
    shutil.rmtree(os.path.join(place.folder, "data"), ignore_errors=True)


def forget_compiled(place):
    forget(place)
    shutil.rmtree(place.cache, ignore_errors=True)
