# SPDX-License-Identifier: Apache-2.0
"""One fault in one tuning run on the emulated device, at each place in turn: in the parent, a device worker, or a
compile process. Drivers and vendors' libraries fail in test_cuda.py."""
import places

SAMPLE = 14
SECONDS = 25  # a slow machine makes fewer trials, and says how many


class Tune(places.Tuning):
    TEMPLATE, DEVICE, ON = "tiny.cu", "emu", "tiny on Emulated GPU"

    def test_with_compiled_programs(self):
        place = self.place()
        self.assert_code(self.tune(place), 0)
        found = self.in_turn(place, SAMPLE, SECONDS, places.forget)
        self.assertLessEqual({("parent", "allocation"), ("parent", "system"), ("parent", "sqlite"),
                              ("time", "allocation"), ("time", "system")}, set(found))

    def test_with_nothing_compiled(self):
        place = self.place(own_cache=True)
        found = self.in_turn(place, 4, SECONDS / 2, places.forget_compiled, lambda role, kind: role == "compile")
        self.assertEqual(set(found), {("compile", "allocation"), ("compile", "system")})


if __name__ == "__main__":
    places.harness.main()
