# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a tuning run at random moments: 15 times, or 200 times under the label `long`.

After each: the store opens and passes integrity_check, nothing that was measured is gone or taken twice, and no
process is left. The session then completes by resuming, and has each candidate, phase and round once.
"""
import os
import random
import subprocess
import time

import places
from places import harness

KILLS = 200 if places.ALL else 15
SECONDS = 1e9 if places.ALL else 25
TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates", "tiny.cu")
CANDIDATES = 3
MEASUREMENTS = "SELECT candidate_key, phase, cache, round, taken_ms FROM measurement"


class Killed(harness.Case):
    def measured(self, place):
        if not os.path.exists(place.store_path) or not place.one("SELECT count(*) FROM sqlite_schema"):
            return set()
        return set(place.rows(MEASUREMENTS))

    def complete(self, place, kept):
        """Undisturbed, the newest session goes on to its end, or a new one begins and ends."""
        result = place.tune(TEMPLATE)
        self.assert_code(result, 0)
        self.assert_sound(place)
        self.assertLessEqual(kept, self.measured(place), "a measurement is gone, or was taken again")
        last = place.one("SELECT max(session_key) FROM session")
        self.assertEqual(place.rows("SELECT status FROM session WHERE session_key = ?", last), [("finished",)])
        self.assertEqual(place.rows("SELECT outcome, count(*) FROM candidate WHERE session_key = ? GROUP BY 1", last),
                         [("correct", CANDIDATES)])
        self.assertEqual(place.one("SELECT count(*) FROM winner WHERE session_key = ?", last), 2)

    def test_at_random_moments(self):
        place = self.place()
        self.assert_code(place.tune(TEMPLATE, "--db", "first.db"), 0)  # the programs are compiled from here on
        begin = time.monotonic()
        self.assert_code(place.tune(TEMPLATE, "--db", "other.db"), 0)
        whole = time.monotonic() - begin
        moments, killed, completed = random.Random(KILLS), 0, 0
        end = time.monotonic() + SECONDS
        while killed < KILLS and time.monotonic() < end:
            kept = self.measured(place)
            process = place.start(*place.words(TEMPLATE))
            try:
                process.wait(moments.uniform(0, whole))
                whole *= 0.95  # it was done: the machine is faster than it was
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
            place.finish(process)
            place.wait_for_nobody(5)
            self.assert_sound(place)
            self.assertLessEqual(kept, self.measured(place), f"kill {killed}: a measurement is gone or taken again")
            if killed >= 10 * completed + 8:
                self.complete(place, self.measured(place))
                completed += 1
        self.complete(place, self.measured(place))
        sessions, twice = place.one("SELECT count(*) FROM session"), place.rows(
            "SELECT candidate_key, phase, cache, round FROM measurement GROUP BY 1, 2, 3, 4 HAVING count(*) > 1")
        self.assertEqual(twice, [])
        self.assertEqual(place.one("SELECT count(*) FROM session WHERE status <> 'finished'"), 0,
                         "every session that was killed was taken up until it was done")
        print(f"{killed} kills, {completed + 1} completed after them, {sessions} sessions", flush=True)
        self.assertGreater(killed, 0)


if __name__ == "__main__":
    harness.main()
