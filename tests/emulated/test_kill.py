# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the tuner, of a device worker, of a compile process: what was measured stays, and the run goes on."""
import os
import random
import signal
import time

import harness

KILLS = 12
COMMAND = ("--set", "KIND=plain,halves,odd_one", "--set", "BLOCK=64,128,256")


class Parent(harness.Case):
    def sessions(self, place):
        if not os.path.exists(place.store_path):
            return {}
        return {key: (status, count) for key, status, count in place.rows(
            "SELECT session_key, status, (SELECT count(*) FROM candidate c WHERE c.session_key = s.session_key)"
            " FROM session s")}

    def measurements(self, place):
        return set(place.rows("SELECT candidate_key, phase, cache, round, taken_ms FROM measurement")) \
            if os.path.exists(place.store_path) else set()

    def check_nothing_lost(self, place, before, after):
        for key, (_, count) in before.items():
            self.assertIn(key, after)
            self.assertGreaterEqual(after[key][1], count, "a session lost candidates")

    def test_at_random_moments(self):
        place = self.place(own_cache=True)  # the first kills fall into compiling
        moments = random.Random(20)
        full = 1.5
        for _ in range(KILLS):
            before, kept = self.sessions(place), self.measurements(place)
            process = place.start(*place.words("twice", *COMMAND))
            started = time.monotonic()
            try:
                process.wait(moments.uniform(0, full))
                full = max(0.3, 0.9 * (time.monotonic() - started))  # it finished: kill earlier next time
            except harness.subprocess.TimeoutExpired:
                process.kill()
            place.finish(process)
            place.wait_for_nobody(2)
            self.assert_sound(place)
            self.check_nothing_lost(place, before, self.sessions(place))
            self.assertLessEqual(kept, self.measurements(place), "a measurement is gone or was taken again")
        before, kept = self.sessions(place), self.measurements(place)
        unfinished = [key for key, (status, _) in before.items() if status != "finished"]
        result = place.tune("twice", *COMMAND)
        self.assert_code(result, 0)
        self.assert_sound(place)
        self.assertLessEqual(kept, self.measurements(place))
        last = place.one("SELECT max(session_key) FROM session")
        if unfinished:
            self.assertEqual(last, unfinished[-1], "the unfinished session was taken up")
            self.assert_says(result.err, f"resumed session .*: {before[last][1]} candidates were measured before")
        self.assertEqual(place.rows("SELECT status FROM session WHERE session_key = ?", last), [("finished",)])
        self.assertEqual(place.one("SELECT count(*) FROM candidate WHERE session_key = ?", last), 9)
        self.assertEqual({o for o, in place.rows("SELECT outcome FROM candidate WHERE configuration_key IN"
                                                 " (SELECT configuration_key FROM configuration"
                                                 "  WHERE text LIKE '%plain' OR text LIKE '%halves')")}, {"correct"})
        self.assertEqual(place.one("SELECT count(*) FROM winner WHERE session_key = ?", last), 2)

    def test_after_each_candidate(self):
        """Killed as soon as the store has one candidate more: every run goes on where the last one stopped."""
        place = self.place()
        words = place.words("twice", *COMMAND, "--jobs", "1")
        seen, runs = 0, 0
        while seen < 9:
            runs += 1
            self.assertLess(runs, 20, "it does not come any further")
            process = place.start(*words)
            while process.poll() is None and self.count(place) <= seen:
                time.sleep(0.002)
            process.kill()
            place.finish(process)
            place.wait_for_nobody(2)
            self.assert_sound(place)
            self.assertGreaterEqual(self.count(place), seen)
            seen = self.count(place)
        self.assertEqual(place.one("SELECT count(*) FROM session"), 1)
        screened = self.measurements(place)
        result = place.run(*words)
        self.assert_code(result, 0)
        self.assert_says(result.err, "9 candidates were measured before")
        self.assertEqual({m for m in self.measurements(place) if m[1] == "screen"},
                         {m for m in screened if m[1] == "screen"}, "nothing is screened again")

    @staticmethod
    def count(place):
        try:
            return place.one("SELECT count(*) FROM candidate")
        except harness.sqlite3.Error:
            return 0  # the store is not there yet, or being made

    def test_a_problem_that_has_won_is_left_alone(self):
        place = self.place()
        words = place.words("typed", "--size", "512,1Ki", "--budget", "60s")
        process = place.start(*words)
        place.wait_until(lambda: self.winners(place) >= 2, 60, "the first problem has its winners")
        process.kill()
        place.finish(process)
        first = place.rows("SELECT min(problem_key) FROM winner")[0][0]
        before = place.rows("SELECT count(*), max(taken_ms) FROM simtune_measurements WHERE problem_key = ?", first)
        result = place.run(*words)
        self.assert_code(result, 0)
        self.assertEqual(before, place.rows("SELECT count(*), max(taken_ms) FROM simtune_measurements"
                                            " WHERE problem_key = ?", first))
        self.assertEqual(self.winners(place), 4)
        self.assertEqual(place.one("SELECT count(*) FROM session"), 1)

    @staticmethod
    def winners(place):
        try:
            return place.one("SELECT count(*) FROM winner")
        except harness.sqlite3.Error:
            return 0


class Children(harness.Case):
    """Someone else (the out-of-memory killer, say) ends a child."""

    def test_a_device_worker(self):
        for seed in range(4):
            place = self.place()
            process = place.start(*place.words("twice", *COMMAND))
            moments, killed, last = random.Random(seed), 0, -1
            while killed < 3 and process.poll() is None:
                # A worker that dies three times before it did anything ends the run: let it do something.
                if (done := self.progress(place)) <= last:
                    time.sleep(0.005)
                    continue
                time.sleep(moments.uniform(0, 0.2))
                for pid in place.children("time")[:1]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                        killed, last = killed + 1, max(done, self.progress(place))
                    except ProcessLookupError:
                        pass
            result = place.finish(process)
            self.assert_code(result, 0)
            self.assertGreater(killed, 0)
            self.assert_sound(place)
            found = place.outcomes()
            lost = [c for c, (o, _) in found.items() if o == "crash"]
            self.assertLessEqual(len(lost), killed, "a worker's end costs the candidate in flight")
            expected = {f"BLOCK={b} KIND={k}": "wrong" if k == "odd_one" else "correct"
                        for b in (64, 128, 256) for k in ("plain", "halves", "odd_one")}
            self.assertEqual({c: o for c, (o, _) in found.items() if c not in lost},
                             {c: o for c, o in expected.items() if c not in lost}, str(result))
            self.assertEqual(place.one("SELECT count(*) FROM winner"), 2, str(result))
            place.wait_for_nobody()

    @staticmethod
    def progress(place):
        try:
            return place.one("SELECT (SELECT count(*) FROM candidate) + (SELECT count(*) FROM measurement)"
                             " + (SELECT count(*) FROM session) - 1")
        except harness.sqlite3.Error:
            return -1  # the store is not there yet, or being made

    def test_a_compile_process(self):
        for seed in range(2):
            place = self.place(own_cache=True)
            words = place.words("twice", "--set", "KIND=plain,halves", "--set", "BLOCK=64,128,256")
            process = place.start(*words)
            place.wait_until(lambda: os.path.exists(place.store_path) and self.sessions(place), 60, "it has begun")
            moments, killed = random.Random(seed), 0
            while killed < 2 and process.poll() is None:
                time.sleep(moments.uniform(0, 0.2))
                for pid in place.children("compile")[:1]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                        killed += 1
                    except ProcessLookupError:
                        pass
            result = place.finish(process)
            outcomes = [o for o, _ in place.outcomes().values()]
            if place.outcomes().get("BLOCK=128 KIND=plain", ("compile",))[0] == "compile":
                self.assertIn(result.code, (0, 3), str(result))  # what others are compared with was hit
            else:
                self.assert_code(result, 0)
                self.assertEqual(len(outcomes), 6)
                self.assertLessEqual(outcomes.count("compile"), killed, str(result))
                self.assertEqual(outcomes.count("correct") + outcomes.count("compile"), 6, str(result))
            self.assert_sound(place)
            place.wait_for_nobody()

    @staticmethod
    def sessions(place):
        try:
            return place.one("SELECT count(*) FROM session")
        except harness.sqlite3.Error:
            return 0


if __name__ == "__main__":
    harness.main()
