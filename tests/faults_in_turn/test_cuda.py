# SPDX-License-Identifier: Apache-2.0
"""One call of the driver, NVML, NVRTC or CUPTI fails in a whole tuning run, at each place in turn.

The run is that of a GPU, over the counterfeit driver, NVML and CUPTI of tests/fake, whose device computes what the
kernels of templates/blend.cu would; programs are compiled by the real NVRTC. The libraries tell what was called and
what was not given back. With all places, every other kind of fault strikes on this path as well.
"""
import os
import re

import places
from places import harness

SECONDS = 15
DRIVER = ("driver", "cupti")
HEADER = os.path.join(places.HERE, "..", "..", "tuner", "gpu", "driver_api.h")
NOT_CALLED = {"cuStreamQuery", "cuMemsetD32Async"}  # of no use to a tuning run
NOT_COUNTED = {"cuGetErrorName", "cuGetErrorString"}  # words of an error: they do not pass the fault point


class Cuda(places.Tuning):
    TEMPLATE, DEVICE, ON = "blend.cu", "0", "blend on Counterfeit 0"

    def setUp(self):
        self.gpu = self.place(own_cache=True)
        self.report = os.path.join(self.gpu.folder, "report")
        self.ENV = {"SIMTUNE_LIBCUDA": os.environ["FAKE_CUDA"], "SIMTUNE_LIBNVML": os.environ["FAKE_NVML"],
                    "SIMTUNE_LIBCUPTI": os.environ["FAKE_CUPTI"], "FAKE_REPORT": self.report,
                    "FAKE_CUDA_MEMORY": "96", "FAKE_CUDA_L2": "1"}

    def reported(self):
        if not os.path.exists(self.report):
            return set()
        with open(self.report, encoding="ascii") as file:
            return set(file.read().splitlines())

    def assert_nothing_left(self, place, where):
        """What the run left is told once."""
        reported = self.reported()
        if os.path.exists(self.report):
            os.remove(self.report)
        self.assertEqual({line for line in reported if line.startswith("left")}, set(), where)

    def test_undisturbed(self):
        """What is failed one by one below is all that simtune can call."""
        result = self.tune(self.gpu)
        self.assert_code(result, 0)
        self.assert_says(result.out, r"counters allowed")
        self.assert_says(result.out, r"waits for +a value from global memory")
        self.assertEqual(self.gpu.one("SELECT count(*) FROM simtune_candidates WHERE outcome = 'correct'"), 2)
        with open(HEADER, encoding="utf-8") as file:
            known = set(re.findall(r'X\(\w+, "(cu\w+)"', file.read()))
        called = {line.split()[1] for line in self.reported() if line.startswith("call")}
        self.assertGreater(len(known), 40)
        self.assertEqual(known - called - NOT_COUNTED, NOT_CALLED)
        self.assert_nothing_left(self.gpu, str(result))

    def test_driver_and_counters(self):
        self.assert_code(self.tune(self.gpu), 0)  # the programs are compiled from here on
        found = self.in_turn(self.gpu, 16, SECONDS, places.forget,
                             lambda role, kind: kind in DRIVER or (places.ALL and role in ("time", "profile")))
        self.assertLessEqual({("parent", "driver"), ("time", "driver"), ("profile", "driver"), ("profile", "cupti")},
                             set(found))
        self.assertNotIn(("time", "cupti"), found, "CUPTI is never in the process that times")
        self.assertNotIn(("parent", "cupti"), found)

    def test_compiler(self):
        found = self.in_turn(self.gpu, 8, SECONDS, places.forget_compiled,
                             lambda role, kind: role == "compile" and (kind == "nvrtc" or places.ALL))
        self.assertIn(("compile", "nvrtc"), found)


if __name__ == "__main__":
    harness.main()
