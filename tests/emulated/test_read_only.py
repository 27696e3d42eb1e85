# SPDX-License-Identifier: Apache-2.0
"""A store that cannot be written is read by every command that reads, and stays as it is: a read-only file, folder
and mount, with and without the log and index that a killed writer leaves."""
import hashlib
import json
import os
import shutil
import subprocess
import time
import unittest

import harness

NOBODY = 65534
COMMAND = ("--set", "KIND=plain,halves,odd_one", "--set", "BLOCK=64,128", "--jobs", "1", "--counters", "off")
TWICE = os.path.join(harness.TEMPLATES, "twice.cu")


def can_mount():
    return shutil.which("unshare") and subprocess.run(
        ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt && mount -o remount,ro /mnt"], check=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def reading(place, store):
    """Every command that only reads, once a line."""
    candidate = place.one("SELECT winner_key FROM winner LIMIT 1")
    candidate = place.one("SELECT candidate_id FROM candidate WHERE candidate_key = ?", candidate)
    session = place.one("SELECT session_id FROM session ORDER BY session_key LIMIT 1")
    out = os.path.join(place.folder, "out")
    for words in (("query",), ("query", "twice", "--best", "--json"), ("query", "--failures", "--csv"),
                  ("show", candidate), ("show", candidate, "--json"), ("db", "info"), ("db", "info", "--json"),
                  ("db", "check"), ("db", "export", os.path.join(out, "one.jsonl.gz"), session),
                  ("repro", candidate, "-o", os.path.join(out, "repro.cu")),
                  ("emit", TWICE, "--allow-emulated", "-o", out), ("history", "twice"),
                  ("tune", TWICE, "--dry-run", "--device", "emu")):
        yield (*words, "--db", store)


class ReadOnly(harness.Case):
    def assert_reads(self, place, run):
        for words in place.commands:
            result = run(words)
            self.assertEqual(result.code, 0, f"{' '.join(words)}\n{result}")
            self.assertNotRegex(result.err, "read.?only|locked|cannot be opened")

    def made(self, killed):
        """A place whose store has a session, and (killed) a log with another one's candidates."""
        place = self.place()
        self.assert_code(place.tune("twice", *COMMAND), 0)
        if killed:
            process = place.start(*place.words("twice", *COMMAND, "--seed", "2"))
            place.wait_until(lambda: self.stored(place) >= 2, 60, "it has stored some")
            process.kill()
            place.finish(process)
            self.assertGreater(os.path.getsize(place.store_path + "-wal"), 0)
        out = os.path.join(place.folder, "out")
        os.mkdir(out)
        os.chmod(out, 0o777)
        for folder in (place.folder, os.path.join(place.folder, "data"), place.reports):
            os.chmod(folder, 0o777)
        place.wait_for_nobody(5)
        place.commands = list(reading(place, place.store_path))
        if not killed:  # the harness is a reader that may leave them, empty
            for ending in ("-wal", "-shm"):
                os.remove(place.store_path + ending)
        return place

    @staticmethod
    def stored(place):
        return place.one("SELECT count(*) FROM candidate JOIN session USING (session_key) WHERE command LIKE '%--seed 2%'")

    @staticmethod
    def stored_any(place):
        try:
            return place.one("SELECT count(*) FROM candidate")
        except harness.sqlite3.Error:
            return 0

    @staticmethod
    def fingerprint(folder):
        found = {}
        for name in sorted(os.listdir(folder)):
            if not name.endswith("-shm"):  # an index is made anew by whoever needs it
                with open(os.path.join(folder, name), "rb") as file:
                    found[name] = hashlib.sha256(file.read()).hexdigest()
        return found

    def as_nobody(self, place):
        options = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        env = {**place.env, "HOME": place.folder, "SIMTUNE_RUNTIME": os.path.join(place.folder, "out", "locks"),
               "XDG_DATA_HOME": os.path.join(place.folder, "out", "data"),
               "XDG_CACHE_HOME": os.path.join(place.folder, "out", "cache")}

        def run(words):
            done = subprocess.run([harness.SIMTUNE, *words], env=env, text=True, capture_output=True, timeout=60,
                                  cwd=os.path.join(place.folder, "out"), check=False, **options)
            return harness.Result(done.returncode, done.stdout, done.stderr)
        return run

    def check_files(self, killed, index):
        place = self.made(killed)
        folder = os.path.dirname(place.store_path)
        if index == "gone" and os.path.exists(place.store_path + "-shm"):
            os.remove(place.store_path + "-shm")
        for name in os.listdir(folder):
            os.chmod(os.path.join(folder, name), 0o444)
        os.chmod(folder, 0o555)
        before = self.fingerprint(folder)
        run = self.as_nobody(place)
        try:
            self.assert_reads(place, run)
            rows = self.count_rows(place, run)
            result = run(("tune", TWICE, "--device", "emu", "--budget", "none", "--db", place.store_path))
            self.assert_code(result, 1)
            self.assert_says(result.err, r"(?m)^simtune: the store .*history\.db cannot be (written|opened)")
            self.assertEqual(self.fingerprint(folder), before)
        finally:
            os.chmod(folder, 0o755)
        for name in os.listdir(folder):
            os.chmod(os.path.join(folder, name), 0o644)
        # What stands in the log alone was read, too.
        self.assertEqual(rows, place.one("SELECT count(*) FROM candidate"))

    @staticmethod
    def count_rows(place, run):
        return json.loads(run(("db", "info", "--json", "--db", place.store_path)).out)["counts"]["candidates"]

    @harness.needs_reach
    def test_file_and_folder(self):
        self.check_files(killed=False, index="kept")

    @harness.needs_reach
    def test_after_a_killed_writer(self):
        self.check_files(killed=True, index="kept")

    @harness.needs_reach
    def test_after_a_killed_writer_without_the_index(self):
        self.check_files(killed=True, index="gone")

    @unittest.skipUnless(can_mount(), "no user namespaces here")
    def test_a_mount(self):
        for killed in (False, True):
            place = self.made(killed)
            folder = os.path.dirname(place.store_path)

            def run(words, place=place, folder=folder):
                script = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && " \
                         f"! touch {folder}/x 2>/dev/null && exec {harness.SIMTUNE} \"$@\""
                done = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", *words], env=place.env, text=True,
                                      capture_output=True, timeout=60, check=False)
                return harness.Result(done.returncode, done.stdout, done.stderr)
            before = self.fingerprint(folder)
            self.assert_reads(place, run)
            self.assertEqual(self.fingerprint(folder), before)
            rows = self.count_rows(place, run)
            self.assertEqual(rows, place.one("SELECT count(*) FROM candidate"))


class Beside(harness.Case):
    @harness.needs_reach
    def test_reading_while_another_user_writes(self):
        """A reader that may not write the files sees what a running writer has committed."""
        place = self.place()
        process = place.start(*place.words("twice", *COMMAND))
        place.wait_until(lambda: os.path.exists(place.store_path) and ReadOnly.stored_any(place), 60, "it stores")
        for folder in (place.folder, os.path.join(place.folder, "data"), place.reports):
            os.chmod(folder, 0o755)
        os.chmod(place.reports, 0o777)
        seen = []
        while process.poll() is None:
            options = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
            done = subprocess.run([harness.SIMTUNE, "db", "info", "--db", place.store_path], text=True, cwd="/",
                                  env={**place.env, "HOME": "/"}, capture_output=True, timeout=60, check=False, **options)
            seen.append(harness.Result(done.returncode, done.stdout, done.stderr))
            time.sleep(0.05)
        self.assert_code(place.finish(process), 0)
        for result in seen:
            self.assert_code(result, 0)
        self.assert_sound(place)


if __name__ == "__main__":
    harness.main()
