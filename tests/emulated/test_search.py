# SPDX-License-Identifier: Apache-2.0
"""Strategies in a whole run: guided goes by what was measured, keeps to its budget, and a run that was killed asks,
once resumed, for what the undisturbed one asked for."""
import json
import os
import time

import harness

GUIDED = ("--strategy", "guided")


def asked(place):
    """Configurations of the newest session in the order in which they were stored, with what was profiled."""
    return place.rows("SELECT c.configuration, EXISTS (SELECT 1 FROM profile f WHERE f.candidate_key = c.candidate_key)"
                      " FROM simtune_candidates c WHERE session_key = (SELECT max(session_key) FROM session)"
                      " ORDER BY c.candidate_key")


class Search(harness.Case):
    def test_resumed_alike(self):
        whole = self.place()
        words = ("steered", *GUIDED, "--budget", "40")
        result = whole.tune(*words)
        self.assert_code(result, 0)
        self.assert_says(result.err, r"\d+ of 72 candidates tried, then ")
        undisturbed = asked(whole)
        self.assertTrue(24 < len(undisturbed) <= 40)
        self.assertIn("BLOCK=128 TILES=24", undisturbed[0][0], "the default is first")
        place = self.place()
        seen, runs = 0, 0
        while seen < 12:  # while the first are pending, and later
            runs += 1
            self.assertLess(runs, 20, "it does not come any further")
            process = place.start(*place.words(*words))
            while process.poll() is None and self.count(place) < seen + 6:
                time.sleep(0.002)
            process.kill()
            place.finish(process)
            place.wait_for_nobody(2)
            seen = self.count(place)
        result = place.tune(*words)
        self.assert_code(result, 0)
        self.assert_says(result.err, "candidates were measured before")
        self.assertEqual(place.one("SELECT count(*) FROM session"), 1)
        self.assertEqual([c for c, _ in asked(place)], [c for c, _ in undisturbed])

    @staticmethod
    def count(place):
        try:
            return place.one("SELECT count(*) FROM candidate")
        except harness.sqlite3.Error:
            return 0

    def test_profiles_guide(self):
        """The default is profiled while others are still to be tried; --counters off takes none and goes on."""
        place = self.place()
        result = place.tune("steered", *GUIDED, "--budget", "17")
        self.assert_code(result, 0)
        self.assertEqual(asked(place)[0][1], 1, "the default has a profile")
        place = self.place()
        self.assert_code(place.tune("steered", *GUIDED, "--budget", "17", "--counters", "off"), 0)
        self.assertEqual(place.one("SELECT count(*) FROM profile"), 0)
        self.assertEqual(len(asked(place)), 17)

    def test_limit(self):
        """A budget that ends near the memory's limit: for any strategy, with the default alone when it is near enough."""
        for strategy in ("guided", "exhaustive"):
            place = self.place()
            near = place.tune("steered", "--strategy", strategy, "--budget", "limit:1000%,40", "--counters", "off")
            self.assert_code(near, 0)
            self.assert_says(near.err, "the best is within 1000 % of the memory's limit")
            self.assertLess(len(asked(place)), 40)
        place = self.place()
        far = place.tune("steered", *GUIDED, "--budget", "limit:0.001%,8", "--counters", "off")
        self.assert_code(far, 0)
        self.assertEqual(len(asked(place)), 8)
        place = self.place()
        all_tried = place.tune("steered", "--strategy", "exhaustive", "--budget", "limit:0.001%", "--set", "BLOCK=128",
                               "--counters", "off")
        self.assert_code(all_tried, 0)
        self.assert_says(all_tried.err, r"all \d+ candidates were tried, and none was within 0.001 % of the memory's limit")
        bare = place.tune("keep", "--budget", "limit:5%")
        self.assert_code(bare, 2)
        self.assert_says(bare.err, "--budget limit needs the bytes that a run moves, which keep does not say")

    def test_others(self):
        for strategy in ("local", "genetic", "anneal"):
            place = self.place()
            result = place.tune("steered", "--strategy", strategy, "--budget", "8", "--counters", "off")
            self.assert_code(result, 0)
            self.assertEqual(len(asked(place)), 8, strategy)
            self.assert_sound(place)

    def test_whole_spaces(self):
        """Without a budget it tries all that is worth it; a space of few configurations is tried whole."""
        place = self.place()
        self.assert_code(place.tune("steered", *GUIDED, "--set", "TILES=1,2,24", "--counters", "off"), 0)
        self.assertEqual(len(asked(place)), 9)


@harness.unittest.skipUnless("FAKE_CUDA" in os.environ, "no counterfeit GPU")
class OnAGpu(harness.Case):
    """The same on the counterfeit GPU of tests/fake, whose every configuration takes as long: how a run goes about it."""

    def gpu(self):
        place = self.place()
        place.env.update({"SIMTUNE_LIBCUDA": os.environ["FAKE_CUDA"], "SIMTUNE_LIBNVML": os.environ["FAKE_NVML"],
                          "SIMTUNE_LIBCUPTI": os.environ["FAKE_CUPTI"], "FAKE_CUDA_MEMORY": "96", "FAKE_CUDA_L2": "1"})
        return place

    def tune(self, place, *words, **more):
        result = place.run(*self.words(*words), **more)
        if "NVRTC" in result.err and result.code == 3:
            self.skipTest("no NVRTC here")
        self.assert_code(result, 0)
        return result

    @staticmethod
    def words(*words):
        return ("tune", os.path.join(harness.TEMPLATES, "many.cu"), "--device", "0", "--no-header", *words)

    def spans(self, place, *words):
        """The trace of a run: (begin, end, category, name) of each span of a worker."""
        path = os.path.join(place.folder, "trace.json")
        self.tune(place, *words, "--fresh", "--trace", path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
        spans = [(e["ts"], e["ts"] + e["dur"], tracks[e["tid"]], e["name"]) for e in events if e["ph"] == "X"]
        return sorted(span for span in spans if span[2].startswith("worker"))

    def test_the_profiler_opens_before_anything_is_timed(self):
        place = self.gpu()
        spans = self.spans(place, "--budget", "20")
        opened = [s for s in spans if s[2:] == ("worker: profile", "open the device")]
        timed = [s for s in spans if s[3].startswith(("time", "measure the memory"))]
        stalls = [s for s in spans if s[3] == "sample stalls"]
        self.assertEqual(len(opened), 1)
        for span in timed:
            self.assertTrue(span[1] <= opened[0][0] or span[0] >= opened[0][1], (span, opened[0]))
        self.assertLess(opened[0][0], next(s[0] for s in timed if s[3] == "time cold"))
        self.assertTrue(any(s[0] < timed[-1][0] for s in stalls), "the default is profiled while others are to be tried")
        for off in (("--counters", "off"), ("--strategy", "random")):
            spans = self.spans(place, "--budget", "3", *off)
            timed = [s for s in spans if s[3].startswith("time")]
            opened = [s for s in spans if s[2:] == ("worker: profile", "open the device")]
            self.assertEqual(len(opened), off[0] == "--strategy")
            for span in opened:  # for the finals' profiles alone
                self.assertGreater(span[0], timed[-1][0])

    def test_the_default_strategy(self):
        """guided, which says what it goes by; exhaustive where a table is asked for, which is whole."""
        place = self.gpu()
        result = self.tune(place, "--counters", "off", "--budget", "40")
        self.assert_says(result.err, r": 40 of 200 candidates tried, then the budget ended; 40 answers: ")
        self.assertEqual(len(asked(place)), 40)
        self.tune(place, "--counters", "off", "--vary", "WAY,STEP", "--fresh")
        self.assertEqual(len(asked(place)), 200)

    def test_resumed(self):
        """What is stored is told again in its order, whatever was pending when the run was killed."""
        place = self.gpu()
        self.tune(place, "--counters", "off", "--strategy", "random", "--budget", "1")  # what is compiled is there
        words = self.words("--counters", "off", "--budget", "44")
        process = place.start(*words)
        while process.poll() is None and Search.count(place) < 1 + 9:
            time.sleep(0.001)
        process.kill()
        place.finish(process)
        place.wait_for_nobody(2)
        stored = [c for c, _ in asked(place)]
        self.assertGreater(len(stored), 8)
        result = self.tune(place, "--counters", "off", "--budget", "44")
        now = [c for c, _ in asked(place)]
        self.assertEqual(now[:len(stored)], stored)
        self.assertEqual(len(now), 44)
        if len(stored) < 44:  # it was killed in time
            self.assert_says(result.err, r": 44 of 200 candidates tried, then the budget ended; 44 answers:")
            self.assert_says(result.err, f"{len(stored)} candidates were measured before")


if __name__ == "__main__":
    harness.main()
