# SPDX-License-Identifier: Apache-2.0
"""One fault in a command that reads the store, or writes a file from it, at each place in turn.

Exit 0 means that the output is the undisturbed one, to the byte: nothing is lost or half. Any other end has a
message, and leaves store and files as they were.
"""
import os
import time

import places
from places import harness

SAMPLE = 16
SECONDS = 24


class Commands(harness.Case):
    @classmethod
    def setUpClass(cls):
        os.makedirs(harness.SHARED_CACHE, exist_ok=True)
        cls.shared = harness.Place()
        cls.addClassCleanup(cls.shared.close)
        result = cls.shared.tune("typed", "--size", "512", "--type", "f32", "--budget", "3")
        assert result.code == 0, str(result)
        cls.candidate = cls.shared.one("SELECT candidate_id FROM candidate WHERE outcome = 'correct' LIMIT 1")
        cls.session = cls.shared.one("SELECT session_id FROM session")
        export = cls.shared.run("db", "export", "one.jsonl.gz", cls.session)
        assert export.code == 0, str(export)

    def content(self, place):
        """What the store says, whatever its bytes are, and every file beside it."""
        files = {}
        for folder, _, names in os.walk(place.folder):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, place.folder).startswith(("reports", "counts", "once", "data")):
                    continue
                with open(path, "rb") as file:
                    files[os.path.relpath(path, place.folder)] = file.read()
        tables = [t for t, in place.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        return files, {table: place.rows(f"SELECT * FROM {table}") for table in tables}

    def in_turn(self, words, makes=None, may_differ=False, **env):
        """`makes`: a file that the command writes. `may_differ`: what cannot be found out is left out of the output."""
        place = self.shared

        def path(name):
            return os.path.join(place.folder, name)

        def undo():
            if makes and os.path.exists(path(makes)):
                os.remove(path(makes))

        undo()
        before = self.content(place)
        right = place.run(*words, **env)
        self.assert_code(right, 0)
        after = self.content(place)
        undo()
        found = places.of(place, lambda **more: self.assert_code(place.run(*words, **env, **more), 0), every=1500)
        end, made, failed = time.monotonic() + SECONDS / 8, 0, 0
        for role, kind, n in places.trials(found, SAMPLE, seed=len(words)):
            if not places.ALL and time.monotonic() > end:
                break
            undo()
            with self.subTest(words=words, role=role, kind=kind, n=n):
                made += 1
                result = place.run(*words, SIMTUNE_FAULT=f"{role}/{kind}:{n}", **env)
                where = f"SIMTUNE_FAULT={role}/{kind}:{n} {' '.join(words)}: {result}"
                self.assertEqual(place.sanitizer_reports(), [], where)
                if result.code == 0:
                    if not may_differ:
                        self.assertEqual(result.out, right.out, where)
                    self.assertEqual(self.content(place), after, where)
                else:
                    failed += 1
                    self.assertIn(result.code, (1, 2, 3), where)
                    places.assert_message(self, result.err, where)
                    self.assertEqual(self.content(place), before, where)
        print(f"{' '.join(words)}: {made} trials of {sum(map(len, found.values()))}, {failed} failed", flush=True)
        self.assertTrue(failed or may_differ)
        undo()

    def test_query(self):
        self.in_turn(("query", "typed"))
        self.in_turn(("query", "typed", "--best", "--json"))

    def test_compare(self):
        self.in_turn(("compare", "latest", self.session, "--json"))
        self.in_turn(("history", "typed"))

    def test_show(self):
        self.in_turn(("show", self.candidate))

    def test_explain(self):
        self.in_turn(("explain", self.candidate))

    def test_repro(self):
        self.in_turn(("repro", self.candidate, "-o", "repro.cu"), makes="repro.cu")

    def test_emit(self):
        template = os.path.join(harness.TEMPLATES, "typed.cu")
        self.in_turn(("emit", template, "--allow-emulated"), makes="simtune_typed.h")

    def test_export(self):
        self.in_turn(("db", "export", "two.jsonl.gz", self.session), makes="two.jsonl.gz")

    def test_check_and_info(self):
        self.in_turn(("db", "check"))
        self.in_turn(("db", "info"))

    def test_templates(self):
        self.in_turn(("templates", "reduce", "--arch", "sm_90/132"))

    LIBRARIES = {"SIMTUNE_LIBCUDA": os.environ["FAKE_CUDA"], "SIMTUNE_LIBNVML": os.environ["FAKE_NVML"],
                 "SIMTUNE_LIBCUPTI": os.environ["FAKE_CUPTI"]}

    def test_devices(self):
        self.in_turn(("devices",), may_differ=True, **self.LIBRARIES)

    def test_doctor(self):
        self.in_turn(("doctor",), may_differ=True, **self.LIBRARIES)

    def test_dry_run(self):
        self.in_turn(("tune", os.path.join(harness.TEMPLATES, "typed.cu"), "--device", "emu", "--dry-run"))


if __name__ == "__main__":
    harness.main()
