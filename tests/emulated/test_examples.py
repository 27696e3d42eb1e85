# SPDX-License-Identifier: Apache-2.0
"""The examples among the templates, and problems in the T1 format, end to end."""
import json
import os
import unittest

import harness

EXAMPLES = os.path.join(harness.HERE, "..", "..", "templates", "examples")

KERNEL = """extern "C" __global__ void vector_add(float *c, const float *a, const float *b, int n, float s)
{
    for (int k = 0; k < work; k++) {
        int i = (blockIdx.x * work + k) * block_size_x + threadIdx.x;
        if (i < n)
            c[i] = a[i] + s * b[i] * SCALE + (KIND == KIND_wrong && i == 77 ? 1 : 0);
    }
}
"""


def vector(name, kind, access):
    return {"Name": name, "Type": "float", "MemoryType": "Vector", "AccessType": access, "FillType": kind,
            "FillValue": 0, "Size": "ProblemSize[0]"}


PROBLEM = {
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "block_size_x", "Type": "int", "Values": "[32 * i for i in range(1, 5) if i != 3]", "Default": 64},
            {"Name": "work", "Type": "int", "Values": "[1] + [2, 3]"},
            {"Name": "KIND", "Type": "string", "Values": ["plain", "wrong"]}],
        "Conditions": [{"Parameters": ["block_size_x", "work"],
                        "Expression": "64 <= block_size_x * work <= 128 and work in (1, 2)"}]},
    "KernelSpecification": {
        "Language": "CUDA", "KernelName": "vector_add", "KernelFile": "kernels/vec.cu",
        "CompilerOptions": ["-std=c++11", "-DSCALE=1.0f"], "GlobalSizeType": "CUDA", "ProblemSize": [3000],
        "GlobalSize": {"X": "ceil(ProblemSize[0] / (block_size_x * work))"}, "LocalSize": {"X": "block_size_x"},
        "Arguments": [vector("c", "Constant", "WriteOnly"), vector("a", "Random", "ReadOnly"),
                      vector("b", "Random", "ReadOnly"),
                      {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 3000},
                      {"Name": "s", "Type": "float", "MemoryType": "Scalar", "FillValue": 2.0}]}}


class Examples(harness.Case):
    def test_a_fast_form_is_wrong_where_the_reference_allows_little(self):
        # 1e-7 of what the reference allows: of 4 times the sine, or of 2000.
        place = self.place()
        result = place.tune("rough", "--axis", "bound=all")
        self.assert_code(result, 0)
        rows = place.rows("SELECT problem, configuration, outcome, detail FROM simtune_candidates")
        self.assertEqual({(problem, configuration): outcome for problem, configuration, outcome, _ in rows},
                         {("bound=ulps", "FORM=library"): "correct", ("bound=ulps", "FORM=fast"): "wrong",
                          ("bound=ulps", "FORM=wrong"): "wrong", ("bound=absolute", "FORM=library"): "correct",
                          ("bound=absolute", "FORM=fast"): "correct", ("bound=absolute", "FORM=wrong"): "wrong"},
                         str(result))
        # Small integers have no exact sines: the bound holds for them too, and tells what it was.
        for problem, configuration, outcome, detail in rows:
            if outcome == "wrong":
                self.assert_says(detail, r"y\[\d+\] is \S+, expected \S+ within \S+ \(\w+ data")
        self.assert_sound(place)

    @unittest.skipUnless(os.environ.get("SIMTUNE_TEST_TRIALS") == "all", "a minute of processor time")
    def test_the_example_tells_fast_forms_from_right_ones(self):
        # The fast sine keeps an absolute error; a last step that is exact repairs it.
        place = self.place()
        result = place.tune(os.path.join(EXAMPLES, "special.cu"), "--size", "1021", "--axis", "bound=all",
                            "--where", "BLOCK == 256 and ITEMS == 1 and TILES == 1 and DIVIDE == exact and STEPS == 6",
                            timeout=600)
        self.assert_code(result, 0)
        rows = place.rows("SELECT problem, configuration, outcome FROM simtune_candidates"
                          " WHERE configuration LIKE '%STEPS=6%'")
        outcomes = {(problem.split("bound=")[1].split()[0], configuration.split("EARLY=")[1].split(" DIVIDE")[0]): outcome
                    for problem, configuration, outcome in rows}
        forms = ("library LAST=library", "polynomial LAST=polynomial", "fast LAST=library", "fast LAST=polynomial")
        self.assertEqual(outcomes, {("ulps", "fast LAST=fast"): "wrong", ("absolute", "fast LAST=fast"): "correct",
                                    **{(bound, form): "correct" for bound in ("ulps", "absolute") for form in forms}})

    def test_an_example_is_found_by_its_name(self):
        place = self.place()
        result = place.run("fma_chain", "--device", "emu", "--size", "n=300", "--size", "length=70", "--set", "BLOCK=64",
                           "--set", "POINTS=1", "--set", "ROW=4", "--set", "SOURCE=shared", "--vary", "ACC", "--budget",
                           "none")
        self.assert_code(result, 0)
        self.assertEqual(set(outcome for outcome, _ in place.outcomes().values()), {"correct"}, str(result))
        self.assert_says(result.out, "ACC +time")


class T1(harness.Case):
    def problem(self, place, **changes):
        os.makedirs(os.path.join(place.folder, "kernels"), exist_ok=True)
        with open(os.path.join(place.folder, "kernels", "vec.cu"), "w", encoding="utf-8") as out:
            out.write(KERNEL)
        with open(os.path.join(place.folder, "vec.json"), "w", encoding="utf-8") as out:
            json.dump({**PROBLEM, **changes}, out)

    def test_a_problem_is_tuned(self):
        place = self.place()
        self.problem(place)
        result = place.run("tune", "vec.json", "--device", "emu", "--budget", "none")
        self.assert_code(result, 0)
        self.assertEqual({configuration: outcome for configuration, (outcome, _) in place.outcomes().items()},
                         {f"block_size_x={block} work={work} KIND={kind}": "correct" if kind == "plain" else "wrong"
                          for block, work in ((32, 2), (64, 1), (64, 2), (128, 1)) for kind in ("plain", "wrong")})
        self.assert_sound(place)

    def test_its_budget_is_kept(self):
        place = self.place()
        self.problem(place, Budget=[{"Type": "ConfigurationCount", "BudgetValue": 3}])
        result = place.run("tune", "vec.json", "--device", "emu")
        self.assert_code(result, 0)
        self.assertEqual(len(place.outcomes()), 3, str(result))

    def test_a_kernel_that_does_not_compile_is_named_by_its_own_file_and_line(self):
        place = self.place()
        self.problem(place)
        with open(os.path.join(place.folder, "kernels", "vec.cu"), "a", encoding="utf-8") as out:
            out.write("int broken = nothing;\n")
        result = place.run("tune", "vec.json", "--device", "emu", "--budget", "none")
        self.assertNotEqual(result.code, 0, str(result))
        self.assert_says(result.out + result.err, r"vec\.cu:9")


if __name__ == "__main__":
    harness.main()
