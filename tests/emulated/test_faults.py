# SPDX-License-Identifier: Apache-2.0
"""A fault injected at one pass of one fault point (tuner/base/memory.h), in every process of a run.

Children have the same fault armed, so a fault that strikes a worker strikes each one that is started in its
place: such a run may fail. It must not crash, leave processes behind, or leave a store that is not sound.
"""
import os
import random
import shutil

import harness

# Every pass of the beginning, then fewer and fewer. Random ones move with the seed below.
SAMPLES = {
    "allocation": (1, 2, 3, 5, 10, 30, 60, 100, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 6000),
    "system": (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 60),
    "sqlite": (1, 2, 3, 5, 8, 13, 20, 40, 60, 80, 100, 120, 140, 160, 200),
}


class Faults(harness.Case):
    def check(self, place, kind, n):
        result = place.tune("no_size", "--time-limit", "5", SIMTUNE_FAULT=f"{kind}:{n}")
        where = f"{kind}:{n}: {result}"
        self.assertIn(result.code, (0, 1, 3), where)
        if result.code:
            self.assert_says(result.err, r"(?m)^simtune: \S")
        else:
            self.assert_says(result.out, "no_size on Emulated GPU")
        place.wait_for_nobody()
        self.assert_sound(place)
        return result.code

    def try_all(self, kind, numbers):
        place = self.place()
        self.assert_code(place.tune("no_size"), 0)  # the cache is warm
        shutil.rmtree(os.path.dirname(place.store_path))
        codes = []
        for n in numbers:
            with self.subTest(kind=kind, n=n):
                codes.append(self.check(place, kind, n))
            if n % 3 == 0 and os.path.exists(place.store_path):
                shutil.rmtree(os.path.dirname(place.store_path))  # else: on what the last one left
        self.assertIn(1, codes, "some fault is an error that is said")
        # Whatever they left, an undisturbed run goes on from it.
        result = place.tune("no_size")
        self.assert_code(result, 0)
        self.assertEqual({o for o, _ in place.outcomes().values()} - {"crash", "launch", "compile"}, {"correct"})
        self.assert_sound(place)

    def test_allocation(self):
        more = random.Random(1).sample(range(1, 3000), 6)
        self.try_all("allocation", sorted({*SAMPLES["allocation"], *more}))

    def test_system(self):
        self.try_all("system", SAMPLES["system"])

    def test_sqlite(self):
        self.try_all("sqlite", SAMPLES["sqlite"])


if __name__ == "__main__":
    harness.main()
