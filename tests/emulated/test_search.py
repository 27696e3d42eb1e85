# SPDX-License-Identifier: Apache-2.0
"""Strategies in a whole run: guided goes by what was measured, keeps to its budget, and a run that was killed asks,
once resumed, for what the undisturbed one asked for."""
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
        while seen < 24:  # in the first batch, and in the second
            runs += 1
            self.assertLess(runs, 20, "it does not come any further")
            process = place.start(*place.words(*words))
            while process.poll() is None and self.count(place) < seen + 9:
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


if __name__ == "__main__":
    harness.main()
