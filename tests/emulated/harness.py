# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: a place of its own for each test, runs of simtune in it, and its store.

A test names the binary by SIMTUNE (set by CMake). Sanitizers of all processes, workers included, write their
reports into the place; `Place.close` fails when there is one, so a crash that the tuner survives is seen too.
"""
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest
import uuid

SIMTUNE = os.environ["SIMTUNE"]
SHARED_CACHE = os.environ["SIMTUNE_TEST_CACHE"]
HERE = os.path.dirname(os.path.abspath(__file__))
TEMPLATES = os.path.join(HERE, "templates")
FAULTY = os.path.join(HERE, "..", "faults", "faulty_reduce.cu")
INTERRUPTED = 130


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Place:
    """A folder with store, cache and locks of its own, and a mark by which its processes are known."""

    def __init__(self, own_cache=False):
        self.folder = tempfile.mkdtemp(prefix="simtune-test-")
        self.mark = "SIMTUNE_TEST_MARK=" + uuid.uuid4().hex
        self.reports = os.path.join(self.folder, "reports")
        os.mkdir(self.reports)
        self.store_path = os.path.join(self.folder, "data", "simtune", "history.db")
        self.cache = os.path.join(self.folder, "cache") if own_cache else SHARED_CACHE
        self.env = dict(os.environ)
        for name in ("SIMTUNE_FAULT", "SIMTUNE_SHARE", "SIMTUNE_EMU_SEED", "SIMTUNE_EMU_DEVICES",
                     "SIMTUNE_EMU_CHECK", "SIMTUNE_EMU_COUNTERS", "SIMTUNE_FILE_SYSTEM", "SIMTUNE_DB_PATIENCE",
                     "SIMTUNE_DB_LOCKS"):
            self.env.pop(name, None)
        name, value = self.mark.split("=")
        self.env.update({
            name: value,
            "XDG_DATA_HOME": os.path.join(self.folder, "data"),
            "XDG_CACHE_HOME": self.cache,
            "SIMTUNE_SHIPPED_HISTORY": "off",
            "SIMTUNE_RUNTIME": os.path.join(self.folder, "locks"),
            "TMPDIR": self.folder,
            "NO_COLOR": "1",
            "ASAN_OPTIONS": f"log_path={self.reports}/asan:exitcode=99:abort_on_error=0",
            "UBSAN_OPTIONS": f"log_path={self.reports}/ubsan:exitcode=99:print_stacktrace=1",
        })

    # --- running ---------------------------------------------------------------------------------------------
    def start(self, *words, **env):
        """A run in a session of its own, so that signals to its group reach nobody else."""
        return subprocess.Popen([SIMTUNE, *words], cwd=self.folder, env={**self.env, **env}, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True)

    def finish(self, process, timeout=60):
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(f"still running after {timeout} s\n{out}\n{err}") from None
        return Result(process.returncode, out, err)

    def run(self, *words, timeout=60, **env):
        return self.finish(self.start(*words, **env), timeout)

    def tune(self, template, *words, **options):
        """`simtune tune` of one of tests/emulated/templates on the emulated device."""
        return self.run(*self.words(template, *words), **options)

    def words(self, template, *words):
        path = template if template.endswith(".cu") else os.path.join(TEMPLATES, template + ".cu")
        # Without a budget: what is tried must not depend on how busy the machine is.
        budget = () if "--budget" in words else ("--budget", "none")
        return ("tune", path, "--device", "emu", *words, *budget)

    # --- the store ---------------------------------------------------------------------------------------------
    def rows(self, sql, *values):
        store = sqlite3.connect(f"file:{self.store_path}?mode=ro", uri=True)
        try:
            return store.execute(sql, values).fetchall()
        finally:
            store.close()

    def one(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    def outcomes(self):
        """{configuration: (outcome, detail)} of the newest session."""
        return {c: (o, d) for c, o, d in self.rows(
            "SELECT configuration, outcome, detail FROM simtune_candidates WHERE session_key ="
            " (SELECT max(session_key) FROM session)")}

    def store_problems(self):
        """What is inconsistent in the store; [] when it is sound (or not there yet)."""
        if not os.path.exists(self.store_path):
            return []
        found = [r[0] for r in self.rows("PRAGMA integrity_check") if r[0] != "ok"]
        found += [f"foreign key {r}" for r in self.rows("PRAGMA foreign_key_check")]
        if not self.one("SELECT count(*) FROM sqlite_schema"):
            return found  # the schema is made in one transaction: there, or not
        found += [f"twice: {r}" for r in self.rows(
            "SELECT candidate_key, phase, cache, round FROM measurement GROUP BY 1, 2, 3, 4 HAVING count(*) > 1")]
        # A candidate is in the store with what was measured of it, or not at all.
        found += [f"correct but never timed: {r}" for r in self.rows(
            "SELECT candidate_id FROM candidate c WHERE outcome = 'correct' AND NOT EXISTS"
            " (SELECT 1 FROM measurement m WHERE m.candidate_key = c.candidate_key)")]
        return found

    # --- processes -----------------------------------------------------------------------------------------------
    def processes(self):
        """{pid: command line} of what was started from this place and still runs."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if self.mark.encode() not in file.read().split(b"\0"):
                        continue
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if words:  # a zombie has none
                found[int(pid)] = words
        return found

    def children(self, role):
        return [pid for pid, words in self.processes().items() if words.endswith("--internal " + role)]

    def wait_until(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.005)
        raise AssertionError(f"not within {seconds} s: {what}; still there: {self.processes()}")

    def wait_for_nobody(self, seconds=2):
        self.wait_until(lambda: not self.processes(), seconds, "every process has ended")

    def sanitizer_reports(self):
        texts = []
        for name in sorted(os.listdir(self.reports)):
            with open(os.path.join(self.reports, name), encoding="utf-8", errors="replace") as file:
                text = file.read()
            if "ERROR:" in text or "runtime error:" in text:  # a process that is killed leaves half a line
                texts.append(f"{name}\n{text[:4000]}")
        return texts

    def forget_reports(self):
        """What a test has told already: it was one finding, of one of many trials."""
        for name in os.listdir(self.reports):
            os.remove(os.path.join(self.reports, name))

    def close(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        reports = self.sanitizer_reports()
        shutil.rmtree(self.folder, ignore_errors=True)
        if reports:
            raise AssertionError("a sanitizer found:\n" + "\n".join(reports))


class Case(unittest.TestCase):
    maxDiff = None

    def place(self, **options):
        made = Place(**options)
        self.addCleanup(made.close)
        return made

    def assert_code(self, result, code):
        self.assertEqual(result.code, code, str(result))

    def assert_sound(self, place):
        self.assertEqual(place.store_problems(), [])

    def assert_says(self, text, pattern):
        self.assertTrue(re.search(pattern, text), f"/{pattern}/ is not in:\n{text}")


def others_reach(path):
    """May other users go to this file and run it? Not in a checkout under a home that is closed to them."""
    path = os.path.realpath(path)
    ways = [path]
    while os.path.dirname(ways[-1]) != ways[-1]:
        ways.append(os.path.dirname(ways[-1]))
    return all(os.stat(way).st_mode & 0o001 for way in ways)


# For tests that run the program as another user when they are root's.
needs_reach = unittest.skipUnless(os.geteuid() != 0 or others_reach(SIMTUNE),
                                  "NOT RUN: other users cannot reach this checkout, and the test needs one")


def main():
    os.makedirs(SHARED_CACHE, exist_ok=True)
    unittest.main(verbosity=2)
