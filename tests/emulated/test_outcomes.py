# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a candidate costs that candidate, and is called by its name."""
import os

import harness


class Planted(harness.Case):
    def test_seven_modes_have_seven_outcomes(self):
        place = self.place()
        result = place.tune(harness.FAULTY, "--size", "4Ki", "--time-limit", "3")
        self.assert_code(result, 0)
        outcomes = place.outcomes()
        self.assertEqual({c: o for c, (o, _) in outcomes.items()},
                         {"MODE=right": "correct", "MODE=out_of_bounds": "crash", "MODE=forever": "timeout",
                          "MODE=wrong_sum": "wrong", "MODE=lost_tile": "wrong", "MODE=unwritten": "wrong",
                          "MODE=over_the_end": "wrong"}, str(result))
        for mode, words in (("out_of_bounds", "illegal address"), ("forever", "within 3 s"), ("wrong_sum", r"out\[0\]"),
                            ("lost_tile", r"out\[0\]"), ("unwritten", "never written"),
                            ("over_the_end", "outside out: 4 bytes")):
            self.assert_says(outcomes["MODE=" + mode][1], words)
        # Two workers were lost on the way; the finals were run by a third.
        self.assertEqual(place.one("SELECT count(DISTINCT configuration) FROM simtune_measurements"
                                   " WHERE phase = 'finals'"), 1)
        self.assert_says(result.out, "failed +6 of 7: 1 crash, 4 wrong, 1 timeout")
        self.assert_sound(place)

    def test_what_keeps_a_users_kernel_from_running(self):
        place = self.place()
        result = place.tune("twice", "--set", "BLOCK=128,2048")
        self.assert_code(result, 0)
        outcomes = place.outcomes()
        self.assertEqual({c: o for c, (o, _) in outcomes.items()},
                         {"BLOCK=128 KIND=plain": "correct", "BLOCK=128 KIND=halves": "correct",
                          "BLOCK=128 KIND=odd_one": "wrong", "BLOCK=128 KIND=no_compile": "compile",
                          "BLOCK=128 KIND=much_shared": "launch", "BLOCK=128 KIND=most_shared": "launch",
                          "BLOCK=128 KIND=crash": "crash", "BLOCK=2048 KIND=plain": "constraint"}, str(result))
        for kind, words in (("128 KIND=odd_one", r"out\[77\]"), ("128 KIND=no_compile", r"twice\.cu:\d+"),
                            ("128 KIND=much_shared", "shared memory"), ("128 KIND=most_shared", "shared memory"),
                            ("2048 KIND=plain", "block is 2048")):
            self.assert_says(outcomes["BLOCK=" + kind][1], words)
        self.assert_sound(place)

    def test_a_crash_costs_none_of_its_neighbours(self):
        # Whatever stands before and after it in the order of trial.
        for seed in range(1, 4):
            place = self.place()
            result = place.tune("twice", "--set", "BLOCK=64,128", "--set", "KIND=plain,crash", "--seed", str(seed))
            self.assert_code(result, 0)
            self.assertEqual({c: o for c, (o, _) in place.outcomes().items()},
                             {"BLOCK=64 KIND=plain": "correct", "BLOCK=128 KIND=plain": "correct",
                              "BLOCK=64 KIND=crash": "crash", "BLOCK=128 KIND=crash": "crash"}, str(result))

    def test_a_winner_is_tried_over_other_datas_leftovers_and_on_many_tiles(self):
        # What exact and random data at the tuned size do not show: each fault has a run of its own, where it is the
        # only candidate beside the default, and costs it the win.
        for fault, words in (("stale", "after a call with other data"), ("carry", "n=1048831")):
            place = self.place()
            result = place.tune("sly", "--set", f"FAULT={fault}")
            outcome, detail = place.outcomes()[f"FAULT={fault}"]
            self.assertEqual(outcome, "wrong", str(result))
            self.assert_says(detail, f"^at .*{words}")
        place = self.place()
        self.assert_code(place.tune("sly", "--set", "FAULT=none"), 0)

    def test_a_buffer_changed_in_place_is_made_anew_for_each_run(self):
        place = self.place()
        result = place.tune("in_place")
        self.assert_code(result, 0)
        self.assertEqual({c: o for c, (o, _) in place.outcomes().items()},
                         {"BLOCK=64 KIND=plain": "correct", "BLOCK=128 KIND=plain": "correct",
                          "BLOCK=64 KIND=added": "correct", "BLOCK=128 KIND=added": "correct",
                          "BLOCK=64 KIND=skips": "wrong", "BLOCK=128 KIND=skips": "wrong"}, str(result))


class BrokenDefault(harness.Case):
    """Without a reference the default is what others are compared with: one that fails is the template's fault."""

    def tune_with_default(self, kind):
        place = self.place()
        with open(os.path.join(harness.TEMPLATES, "twice.cu"), encoding="utf-8") as file:
            text = file.read()
        changed = text.replace("default   BLOCK=128 KIND=plain", "default   BLOCK=128 KIND=" + kind)
        self.assertNotEqual(text, changed)
        path = os.path.join(place.folder, "broken.cu")
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed)
        return place, place.tune(path, "--set", "BLOCK=128", "--set", "KIND=plain," + kind)

    def test_it_is_said_why_and_what_to_do(self):
        for kind, why in (("crash", "illegal address"), ("no_compile", "does not compile"),
                          ("much_shared", "shared memory")):
            with self.subTest(kind=kind):
                place, result = self.tune_with_default(kind)
                self.assert_code(result, 3)
                self.assert_says(result.err, f"the default configuration.*fails: (?s:.*){why}")
                self.assert_says(result.err, "mend the default, or add a `reference`")
                self.assertEqual(place.one("SELECT count(*) FROM winner"), 0)
                self.assert_sound(place)
                place.wait_for_nobody()


if __name__ == "__main__":
    harness.main()
