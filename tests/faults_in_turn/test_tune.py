# SPDX-License-Identifier: Apache-2.0
"""One fault in one tuning run, at each place in turn: in the parent, a device worker, or a compile process.

Exactly one pass fails (SIMTUNE_FAULT_ONCE), so what is lost must be what the fault struck: no crash, no leak, a
message where the run ends early, whole candidates in the store, and the same command goes on and finds its winners.
"""
import os
import shutil
import time

import places
from places import harness

TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates", "tiny.cu")
SAMPLE = 14
SECONDS = 25  # a slow machine makes fewer trials, and says how many


class Tune(harness.Case):
    def trial(self, place, role, kind, n, **env):
        once = os.path.join(place.folder, "once")
        if os.path.exists(once):
            os.remove(once)
        result = place.tune(TEMPLATE, SIMTUNE_FAULT=f"{role}/{kind}:{n}", SIMTUNE_FAULT_ONCE=once, **env)
        where = f"SIMTUNE_FAULT={role}/{kind}:{n}: {result}"
        self.assertIn(result.code, (0, 1, 2, 3, 5), where)
        if result.code:
            places.assert_message(self, result.err, where)
        else:
            self.assert_says(result.out, "tiny on Emulated GPU")
        place.wait_for_nobody(5)
        self.assertEqual(place.store_problems(), [], where)
        self.assertEqual(self.half_rows(place), [], where)
        self.assertEqual(place.sanitizer_reports(), [], where)
        if result.code == 0 or self.rows(place, "SELECT 1 FROM session"):  # else it left nothing to go on from
            self.go_on(place, where)
        return os.path.exists(once)

    def half_rows(self, place):
        return (self.rows(place, "SELECT 'no median', * FROM measurement WHERE median_ns IS NULL AND length(samples) > 0") +
                self.rows(place, "SELECT 'no ratio', * FROM winner WHERE winner_ns IS NULL OR"
                                 " (default_key IS NOT NULL AND (speedup IS NULL OR speedup_low IS NULL))"))

    def go_on(self, place, where):
        """The same command, undisturbed, ends with both winners, on what the trial left."""
        before = self.rows(place, "SELECT candidate_key, phase, cache, round, taken_ms FROM measurement")
        result = place.tune(TEMPLATE)
        where = f"after {where}\nthen: {result}"
        self.assertEqual(result.code, 0, where)
        self.assertEqual(place.store_problems(), [], where)
        self.assertEqual(place.one("SELECT count(*) FROM winner WHERE session_key ="
                                   " (SELECT max(session_key) FROM session)"), 2, where)
        after = self.rows(place, "SELECT candidate_key, phase, cache, round, taken_ms FROM measurement")
        self.assertLessEqual(set(before), set(after), "a measurement is lost; " + where)

    @staticmethod
    def rows(place, sql):
        if not os.path.exists(place.store_path) or not place.one("SELECT count(*) FROM sqlite_schema"):
            return []
        return place.rows(sql)

    def forget(self, place):
        shutil.rmtree(os.path.join(place.folder, "data"), ignore_errors=True)

    def in_turn(self, place, sample, prepare):
        prepare(place)
        found = places.of(place, lambda **env: self.assert_code(place.tune(TEMPLATE, **env), 0))
        chosen = places.trials(found, sample, seed=len(found))
        struck, made, end = 0, 0, time.monotonic() + SECONDS
        for role, kind, n in chosen:
            if not places.ALL and time.monotonic() > end:
                break
            prepare(place)
            with self.subTest(role=role, kind=kind, n=n):
                made += 1
                struck += self.trial(place, role, kind, n)
        print(f"{made} trials of {sum(map(len, found.values()))} places, {struck} struck", flush=True)
        self.assertGreater(struck, 0.6 * made, "the places move from run to run")
        return found

    def test_with_compiled_programs(self):
        place = self.place()
        self.assert_code(place.tune(TEMPLATE), 0)
        found = self.in_turn(place, SAMPLE, self.forget)
        for key in (("parent", "allocation"), ("parent", "system"), ("parent", "sqlite"), ("time", "allocation"),
                    ("time", "system")):
            self.assertIn(key, found)

    def test_with_nothing_compiled(self):
        def prepare(place):
            self.forget(place)
            shutil.rmtree(place.cache, ignore_errors=True)
        place = self.place(own_cache=True)
        found = places.of(place, lambda **env: self.assert_code(place.tune(TEMPLATE, **env), 0))
        compiling = {key: numbers for key, numbers in found.items() if key[0] == "compile"}
        self.assertEqual(set(compiling), {("compile", "allocation"), ("compile", "system")})
        for role, kind, n in places.trials(compiling, 4, seed=1):
            prepare(place)
            with self.subTest(role=role, kind=kind, n=n):
                self.trial(place, role, kind, n)


if __name__ == "__main__":
    harness.main()
