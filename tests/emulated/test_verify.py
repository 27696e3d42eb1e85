# SPDX-License-Identifier: Apache-2.0
"""`simtune verify HEADER`: the kernels of the header itself, on the emulated device and on the counterfeit GPU of
tests/fake, whose header kernels take as long, and answer as right, as the environment says (fake_kernels.cpp)."""
import json
import os
import re
import shutil
import unittest

import harness

BLEND = os.path.join(harness.HERE, "..", "faults_in_turn", "templates", "blend.cu")
TWICE = os.path.join(harness.TEMPLATES, "twice.cu")
NVCC = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")


class Verify(harness.Case):
    def gpu(self):
        """A place with the counterfeit GPU, a tuned blend in its store, and a lock and header of it."""
        place = self.place()
        place.env.update({"SIMTUNE_LIBCUDA": os.environ["FAKE_CUDA"], "SIMTUNE_LIBNVML": os.environ["FAKE_NVML"],
                          "SIMTUNE_LIBCUPTI": os.environ["FAKE_CUPTI"], "FAKE_CUDA_MEMORY": "96", "FAKE_CUDA_L2": "1"})
        tuned = place.run("tune", BLEND, "--device", "0", "--budget", "none", "--no-header", "--counters", "off")
        if "NVRTC" in tuned.err and tuned.code == 3:
            self.skipTest("no NVRTC here")
        self.assert_code(tuned, 0)
        self.assert_code(place.run("lock", BLEND, "-o", "it.lock"), 0)
        lock = os.path.join(place.folder, "it.lock")
        with open(lock, encoding="utf-8") as file:
            rows = file.read()
        best = "ITEMS=1" if ": ITEMS=1 :" in rows else "ITEMS=2"
        other = "ITEMS=2" if best == "ITEMS=1" else "ITEMS=1"
        with open(lock, "w", encoding="utf-8") as file:  # not what the store has
            file.write(rows.replace(f": {best} :", f": {other} :"))
        self.assert_code(place.run("emit", BLEND, "--lock", "it.lock", "-o", "other.h"), 0)
        self.assert_code(place.run("emit", BLEND, "-o", "best.h"), 0)
        return place

    def verify(self, place, *words, code=0, **env):
        result = place.run("verify", *words, "--json", **env)
        self.assert_code(result, code)
        return json.loads(result.out) if result.out else None

    def test_times_decide(self):
        place = self.gpu()
        for ns, verdict, code in (("20000", "same", 0), ("10000", "better", 0), ("30000", "worse", 4),
                                  ("20150", "worse", 4), ("20060", "same", 0)):
            row = self.verify(place, "other.h", BLEND, code=code, FAKE_CUDA_HEADER_NS=ns)["rows"][0]
            self.assertEqual(row["verdict"], verdict, ns)
            self.assertEqual(row["header"]["outcome"], "correct")
            self.assertAlmostEqual(row["header"]["median_ns"], float(ns), delta=1)
        row = self.verify(place, "other.h", BLEND, "--threshold", "2", FAKE_CUDA_HEADER_NS="20150")["rows"][0]
        self.assertEqual(row["verdict"], "same")
        result = place.run("verify", "other.h", BLEND, FAKE_CUDA_HEADER_NS="30000")
        self.assert_code(result, 4)
        self.assert_says(result.out, r"header worse: \+50\.0 %")
        self.assert_says(result.err, r"1 of 1 rows of other\.h are worse than")
        # The configuration that the store has: there is nothing to measure it against but itself.
        row = self.verify(place, "best.h", BLEND, FAKE_CUDA_HEADER_NS="30000", code=0)["rows"][0]
        self.assertEqual(row["store"]["same_as"], "header")

    def test_wrong_answers_and_code_that_does_not_compile(self):
        place = self.gpu()
        row = self.verify(place, "other.h", BLEND, code=4, FAKE_CUDA_HEADER_WRONG="1")["rows"][0]
        self.assertEqual((row["header"]["outcome"], row["works"], row["verdict"]), ("wrong", False, "worse"))
        self.assert_says(row["header"]["detail"], r"out\[63\]")
        path = os.path.join(place.folder, "other.h")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("atomicAdd(partial + 1", "atomicAddd(partial + 1"))
        result = place.run("verify", "other.h", BLEND)
        self.assert_code(result, 4)
        self.assert_says(result.out, r"compile: .*error")
        self.assert_says(result.err, r"other\.h was changed after simtune had written it")
        self.assert_sound(place)

    def test_allocations_that_fail(self):
        place = self.gpu()
        for number in (7, 211, 433, 655, 877, 1099):
            result = place.run("verify", "other.h", BLEND, SIMTUNE_FAULT=f"parent/allocation:{number}")
            self.assert_code(result, 1)
            self.assert_says(result.err, r"^simtune: ")

    @unittest.skipUnless(NVCC, "no nvcc here")
    def test_nvcc(self):
        place = self.gpu()
        self.assert_code(place.run("emit", BLEND, "--lock", "it.lock", "--format", "h,cu", "-o", "split"), 0)
        for header in ("other.h", "split/simtune_blend.h"):
            made = self.verify(place, header, BLEND, "--compiler", NVCC, FAKE_CUDA_HEADER_NS="20000")
            row = made["rows"][0]
            self.assert_says(made["shipped_by"], r"^nvcc 1\d\.\d+$")
            self.assert_says(made["compiler"], r"^nvrtc 1\d\.\d+$")
            self.assertEqual([row[side]["outcome"] for side in ("header", "nvrtc", "default")], ["correct"] * 3)
            self.assertEqual(row["header"]["compiler"], made["shipped_by"])
            self.assertEqual(row["nvrtc"]["compiler"], made["compiler"])
            self.assertIsNotNone(row["header"]["spill_bytes"])
            self.assertGreater(made["nvcc_seconds"], 0)
        result = place.run("verify", "other.h", BLEND, "--compiler", NVCC, NVCC_APPEND_FLAGS="-DSIMTUNE_CONFIG_LAYOUT=9")
        self.assert_code(result, 4)
        self.assert_says(" ".join(result.out.split()), r"compile: .*lay out simtune_config differently")
        self.assertEqual([name for name in os.listdir(place.folder) if name.startswith("simtune-nvcc")], [])

    def test_emulated_answers(self):
        """Answers are checked, times tell nothing; a kernel that is broken in the header is found."""
        place = self.place()
        self.assert_code(place.tune("twice", "--set", "KIND=plain", "--counters", "off"), 0)
        self.assert_code(place.run("lock", TWICE, "--allow-emulated", "-o", "twice.lock"), 0)
        path = os.path.join(place.folder, "twice.lock")
        with open(path, encoding="utf-8") as file:
            rows = file.read()
        with open(path, "w", encoding="utf-8") as file:  # neither the default nor what the store has
            file.write(re.sub(r": BLOCK=\d+ KIND=plain :", ": BLOCK=64 KIND=plain :", rows))
        self.assert_code(place.run("emit", TWICE, "--lock", "twice.lock", "-o", "twice.h"), 0)
        made = self.verify(place, "twice.h", TWICE, "--device", "emu")
        for row in made["rows"]:
            self.assertEqual((row["verdict"], row["works"]), ("cannot tell", True))
        self.assert_code(place.run("verify", "twice.h", TWICE, "--device", "emu", "--strict"), 6)
        path = os.path.join(place.folder, "twice.h")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        broken = text.replace("out[i] = 2.0f * in[i];", "out[i] = 3.0f * in[i];")
        self.assertNotEqual(text, broken)
        with open(path, "w", encoding="utf-8") as file:
            file.write(broken)
        row = self.verify(place, "twice.h", TWICE, "--device", "emu", code=4)["rows"][0]
        self.assertEqual(row["header"]["outcome"], "wrong")
        self.assert_sound(place)


if __name__ == "__main__":
    harness.main()
