# SPDX-License-Identifier: Apache-2.0
"""One tuning run on the emulated device: what it stores, prints and leaves out; the words that choose its space."""
import json
import os

import harness


class WholeRun(harness.Case):
    def test_reduce_from_an_empty_cache_and_again(self):
        place = self.place(own_cache=True)
        command = ("reduce", "--device", "emu", "--size", "4Ki", "--budget", "20")
        first = place.run(*command, timeout=120)
        self.assert_code(first, 0)
        self.assert_says(first.out, "EMULATED")
        self.assert_says(first.out, "winner +BLOCK=")
        self.assert_sound(place)
        self.assertEqual(place.one("SELECT count(*) FROM candidate"), 20)
        self.assertEqual(place.one("SELECT count(*) FROM candidate WHERE outcome <> 'correct'"), 0)
        winners = place.rows("SELECT cache, winner_key, default_key, winner_ns, speedup_low FROM winner ORDER BY cache")
        self.assertEqual([w[0] for w in winners], ["cold", "warm"])
        for cache, winner, default, ns, low in winners:
            self.assertGreater(ns, 0)
            self.assertGreater(low, 0)
            finalists = {r[0] for r in place.rows(
                "SELECT candidate_key FROM measurement WHERE phase = 'finals' AND cache = ?", cache)}
            self.assertIn(winner, finalists)
            self.assertIn(default, finalists, "the default runs in the finals")
        # Nothing that was made here can be taken for a tuned header.
        self.assertEqual([f for _, _, files in os.walk(place.folder) for f in files if f.endswith(".h")], [])
        self.assert_says(first.err, "no header")
        cubins = sorted(os.listdir(os.path.join(place.cache, "simtune")))
        self.assertGreater(len(cubins), 2)

        second = place.run(*command, timeout=120)
        self.assert_code(second, 0)
        self.assertNotIn("resumed", second.err)
        sessions = place.rows("SELECT session_key, status, summary FROM session ORDER BY session_key")
        self.assertEqual([s[1] for s in sessions], ["finished", "finished"])
        self.assertGreater(json.loads(sessions[0][2])["phases"]["compile_cpu"], 0)
        self.assertEqual(json.loads(sessions[1][2])["phases"]["compile_cpu"], 0, "every program was in the cache")
        self.assertEqual(sorted(os.listdir(os.path.join(place.cache, "simtune"))), cubins)
        chosen = [{r[0] for r in place.rows("SELECT configuration_key FROM candidate WHERE session_key = ?", s[0])}
                  for s in sessions]
        self.assertEqual(chosen[0], chosen[1], "same seed, same candidates")
        # The model's times follow from what runs: every sample of the two runs is the same, and so is the winner.
        samples = [place.rows(
            "SELECT n.configuration_key, m.cache, m.phase, m.round, m.samples FROM measurement m"
            " JOIN candidate n USING (candidate_key) WHERE n.session_key = ? ORDER BY 1, 2, 3, 4", s[0])
            for s in sessions]
        self.assertGreater(len(samples[0]), 20)
        self.assertEqual(samples[0], samples[1])
        stalls = [place.rows(
            "SELECT n.configuration_key, r.name, v.value FROM counter v JOIN metric r USING (metric_key)"
            " JOIN profile f USING (profile_key) JOIN candidate n USING (candidate_key) WHERE n.session_key = ?"
            " ORDER BY 1, 2", s[0]) for s in sessions]
        self.assertGreater(len(stalls[0]), 20)
        self.assertEqual(stalls[0], stalls[1])
        self.assertEqual({r[0] for r in place.rows("SELECT backend FROM simtune_results")}, {"emu"})

    def test_json_is_whole_and_alone_on_stdout(self):
        place = self.place()
        result = place.tune("no_size", "--json")
        self.assert_code(result, 0)
        summary = json.loads(result.out)
        self.assertEqual(summary["schema"], "simtune.summary/1")

    def test_without_size_and_budget(self):
        """Small enough for a CPU, and it says so; what the user names is left alone."""
        place = self.place()
        self.assert_says(place.run("reduce", "--device", "emu", "--dry-run").err, "(?s)emulated.*--size")
        out = place.run("reduce", "--device", "emu", "--dry-run").out
        self.assertEqual([line.split(":")[0] for line in out.splitlines()[:2]],
                         ["reduce T=f32 op=sum n=1024", "reduce T=f32 op=sum n=65536"])
        self.assert_says(out, "24 to be tried")
        named = place.run("reduce", "--device", "emu", "--dry-run", "--size", "1Mi", "--budget", "7")
        self.assert_says(named.out, r"\Areduce T=f32 op=sum n=1048576: .* 7 to be tried")
        self.assertNotIn("--size", named.err)

    def test_a_profile_of_the_model(self):
        place = self.place()
        result = place.tune("no_size", "--counters", "required")
        self.assert_code(result, 0)
        self.assert_says(result.out, "(?s)EMULATED.*waits for +a")
        names = {r[0] for r in place.rows("SELECT DISTINCT name FROM simtune_counters")}
        self.assertTrue({"stall.long_scoreboard", "stall_samples", "occupancy", "dram_throughput"} <= names, names)
        self.assertEqual(place.one("SELECT count(*) FROM simtune_counters WHERE name = 'shared_load_conflicts'"
                                   " AND value IS NOT NULL"), 0, "what is not modelled is not 0")
        for lines, in place.rows("SELECT lines FROM stall_lines"):
            self.assertGreater(sum(line["samples"] for line in json.loads(lines)), 0)

    def test_counters_that_cannot_be_had(self):
        place = self.place()
        self.assert_code(place.tune("no_size", "--counters", "off"), 0)
        required = place.tune("no_size", "--counters", "required", SIMTUNE_EMU_COUNTERS="denied")
        self.assert_code(required, 5)
        self.assert_says(required.err, "counters are denied")
        # What was timed before counters were asked for is kept.
        self.assertEqual(place.one("SELECT count(*) FROM winner"), 4)
        self.assertEqual(place.one("SELECT count(*) FROM profile"), 0)
        self.assert_sound(place)
        without = place.tune("no_size", SIMTUNE_EMU_COUNTERS="busy")
        self.assert_code(without, 0)
        self.assert_says(without.err, "no stall reasons: counters are busy")

    def test_the_checking_mode_is_a_device(self):
        place = self.place()
        path = os.path.join(harness.TEMPLATES, "no_size.cu")
        result = place.run("tune", path, "--device", "emu-check", "--budget", "none")
        self.assert_code(result, 0)
        self.assert_says(result.out, "driver emulated, checking")
        self.assertEqual(place.rows("SELECT DISTINCT driver FROM toolchain"), [("emulated, checking",)])
        self.assertEqual(set(o for o, _ in place.outcomes().values()), {"correct"})


class Shapes(harness.Case):
    def test_without_any_axis(self):
        place = self.place()
        self.assert_code(place.tune("no_size"), 0)
        self.assertEqual({c: o for c, (o, _) in place.outcomes().items()},
                         {"BLOCK=64": "correct", "BLOCK=128": "correct"})
        self.assertEqual(place.rows("SELECT text, n FROM problem"), [("", None)])

    def test_two_size_axes_are_four_problems(self):
        place = self.place()
        result = place.tune("two_sizes")
        self.assert_code(result, 0)
        self.assertEqual(place.one("SELECT count(*) FROM problem"), 4)
        self.assertEqual(place.one("SELECT count(*) FROM candidate WHERE outcome = 'correct'"), 8, str(result))
        self.assertEqual(place.one("SELECT count(*) FROM winner"), 8)
        self.assert_sound(place)

    def test_one_named_size_of_each_axis(self):
        place = self.place()
        self.assert_code(place.tune("two_sizes", "--size", "columns=100", "--size", "rows=8"), 0)
        self.assertEqual(place.rows("SELECT text FROM problem"), [("rows=8 columns=100",)])

    def test_every_directive(self):
        """keep.cu: data axes, problem, fills, scalars, derive, in_place, prune, determinism, names and arguments."""
        place = self.place()
        result = place.tune("keep", "--size", "rows=3", "--size", "width=40", "--axis", "kind=all")
        self.assert_code(result, 0)
        rows = place.rows("SELECT text, configuration, outcome FROM simtune_candidates JOIN problem USING (problem_key)")
        usual = "percent=50 pattern=random rows=3 width=40"
        self.assertEqual({text for text, _, _ in rows},
                         {f"T=f32 kind={kind} {usual}" for kind in ("flagged", "bits", "less")})
        self.assertEqual({outcome for _, _, outcome in rows}, {"correct"}, str(result))
        # Unordered only where that is usual; METHOD=atomic BLOCK=128 is pruned.
        self.assertEqual({c for text, c, _ in rows if "flagged" in text},
                         {"METHOD=serial BLOCK=64", "METHOD=serial BLOCK=128"})
        self.assertEqual({c for text, c, _ in rows if "less" in text},
                         {"METHOD=serial BLOCK=64", "METHOD=serial BLOCK=128", "METHOD=atomic BLOCK=64"})
        self.assert_sound(place)

    def test_all_of_the_data(self):
        place = self.place()
        result = place.tune("keep", "--size", "rows=2", "--size", "width=33", "--type", "f16", "--axis",
                            "percent=0,100", "--axis", "kind=less", "--set", "METHOD=atomic", "--set", "BLOCK=128",
                            "--determinism", "none")
        self.assert_code(result, 0)
        self.assertEqual(place.rows("SELECT DISTINCT outcome, configuration FROM simtune_candidates"),
                         [("correct", "METHOD=atomic BLOCK=128")], str(result))
        self.assertEqual(place.one("SELECT count(*) FROM problem"), 2)
        # Rows of other data than the usual make no header.
        result = place.run("emit", os.path.join(harness.TEMPLATES, "keep.cu"), "--allow-emulated", "-o", place.folder)
        self.assertIn("of other data than the usual", str(result))
        self.assertEqual(result.code, 3, str(result))

    def test_what_makes_no_sense(self):
        place = self.place()
        result = place.tune("keep", "--axis", "kind=less", "--axis", "pattern=clustered")
        self.assert_code(result, 2)
        self.assertIn("keep.cu:", result.err)
        self.assertIn("is no problem of keep: pattern == random or kind == flagged", result.err)
        self.assert_code(place.tune("keep", "--axis", "colour=red"), 2)
        # Every pattern of every kind leaves that one out.
        result = place.tune("keep", "--axis", "kind=all", "--axis", "pattern=all", "--size", "rows=1", "--size",
                            "width=1", "--dry-run")
        self.assert_code(result, 0)
        self.assertEqual(result.out.count("allowed"), 4, str(result))

    def test_programs_of_a_group_that_ran_out_of_budget_do_not_reach_the_next(self):
        place = self.place(own_cache=True)
        # One compile process and no time: programs of f32 are still being compiled when i32 begins.
        result = place.tune("typed", "--type", "f32,i32", "--jobs", "1", "--budget", "0.01s", "--seed", "3")
        self.assert_code(result, 0)
        self.assertEqual({o for (o,) in place.rows("SELECT outcome FROM candidate")}, {"correct"}, str(result))
        self.assertEqual({t for (t,) in place.rows("SELECT type FROM problem JOIN winner USING (problem_key)")},
                         {"f32", "i32"})


class Words(harness.Case):
    """The space is what --set, --vary, --where, --strategy, --budget and --seed say."""

    def configurations(self, place, *words, code=0):
        result = place.tune("twice", *words)
        self.assert_code(result, code)
        return sorted(place.outcomes()), result

    def test_set(self):
        found, _ = self.configurations(self.place(), "--set", "BLOCK=64,128", "--set", "KIND=plain")
        self.assertEqual(found, ["BLOCK=128 KIND=plain", "BLOCK=64 KIND=plain"])

    def test_where(self):
        found, _ = self.configurations(self.place(), "--set", "KIND=plain,halves", "--where", "BLOCK < 100")
        self.assertEqual(found, ["BLOCK=64 KIND=halves", "BLOCK=64 KIND=plain"])

    def test_vary_leaves_the_rest_at_the_default_and_prints_a_table(self):
        found, result = self.configurations(self.place(), "--vary", "BLOCK", "--set", "BLOCK=64,128,256")
        self.assertEqual(found, ["BLOCK=128 KIND=plain", "BLOCK=256 KIND=plain", "BLOCK=64 KIND=plain"])
        self.assert_says(result.out, r"BLOCK +time +regs +occup")
        for value in ("64", "128", "256"):
            self.assert_says(result.out, rf"(?m)^ +{value} +[\d.]+ µs +\d+ +\d+ %")

    def test_several_that_vary_have_a_table_each_of_the_best(self):
        place = self.place()
        _, result = self.configurations(place, "--vary", "BLOCK,KIND", "--set", "BLOCK=64,128", "--set",
                                        "KIND=plain,odd_one")
        self.assertEqual(len(place.outcomes()), 4)
        tables = result.out.split("the best with each ")[1:]
        self.assertEqual([t.split("\n")[0] for t in tables], ["BLOCK", "KIND"])
        for value in ("64", "128"):
            self.assert_says(tables[0], rf"(?m)^  {value} +[\d.]+ µs +\d+ +\d+ %  a value from .* samples")
        self.assert_says(tables[1], r"(?m)^  plain +[\d.]+ µs")
        self.assertNotIn("odd_one ", tables[1].split("Emulated")[0], "what is wrong has no time")

    def test_a_seed_means_the_same_candidates(self):
        place = self.place()
        words = ("--strategy", "random", "--budget", "3", "--set", "KIND=plain,halves", "--set", "BLOCK=64,128,256")
        first, _ = self.configurations(place, *words, "--seed", "7")
        again, _ = self.configurations(place, *words, "--seed", "7")
        self.assertEqual(len(first), 3)
        self.assertIn("BLOCK=128 KIND=plain", first, "the default is always tried")
        self.assertEqual(first, again)
        others = [self.configurations(place, *words, "--seed", str(seed))[0] for seed in (8, 9)]
        self.assertNotEqual([first, first], others, "another seed, another sample")

    def test_a_space_that_excludes_the_default_is_still_compared_with_it(self):
        place = self.place()
        result = place.tune("twice", "--set", "BLOCK=64", "--set", "KIND=odd_one")
        self.assert_code(result, 3)  # equal to itself, but not to the default
        self.assertEqual(place.outcomes()["BLOCK=64 KIND=odd_one"][0], "wrong", str(result))
        result = place.tune("twice", "--set", "BLOCK=64", "--set", "KIND=halves,odd_one")
        self.assert_code(result, 0)
        self.assertEqual({c: o for c, (o, _) in place.outcomes().items()},
                         {"BLOCK=64 KIND=odd_one": "wrong", "BLOCK=64 KIND=halves": "correct"}, str(result))

    def test_words_that_mean_nothing_here(self):
        place = self.place()
        for words in (("--set", "NOPE=1"), ("--set", "BLOCK=65"), ("--set", "KIND=fast"), ("--vary", "NOPE"),
                      ("--where", "BLOCK <"), ("--where", "NOPE == 1"), ("--type", "f32"), ("--size", "rows=4"),
                      ("--budget", "0"), ("--jobs", "0"), ("--time-limit", "never")):
            with self.subTest(words=words):
                result = place.tune("twice", *words)
                self.assert_code(result, 2)
                self.assertEqual(result.out, "")
                self.assert_says(result.err, r"(?m)\Asimtune: .+\n  .+\n\Z")

    def test_nothing_is_allowed(self):
        place = self.place()
        result = place.tune("twice", "--where", "BLOCK < 10")
        self.assert_code(result, 3)
        self.assert_says(result.err, "n=4")
        self.assert_sound(place)

    def test_a_dry_run_measures_nothing(self):
        place = self.place()
        result = place.tune("twice", "--set", "KIND=plain", "--dry-run")
        self.assert_code(result, 0)
        self.assert_says(result.out, "4 allowed, 4 to be tried")
        self.assertFalse(os.path.exists(place.store_path))


if __name__ == "__main__":
    harness.main()
