# SPDX-License-Identifier: Apache-2.0
"""`simtune predict` by the real NVRTC, for archs that are not here: what spills is dropped, rows are stored and marked,
emit has them, a measurement takes their place, and the same command says the same again."""
import json
import os

import harness

SCALE = os.path.join(harness.HERE, "..", "cli", "data", "scale.cu")

# Eight thousand bytes of values that a thread keeps do not fit its registers.
SPILLS = """// SPDX-License-Identifier: Apache-2.0
// simtune: family   heavy
// simtune: axis     n = 64Ki
// simtune: param    KEEP = 1 2000   role mlp
// simtune: default  KEEP=1
// simtune: buffer   in : input f32[n]   out : output f32[n]
// simtune: launch   heavy grid=ceil_div(n,256) block=256 args=in,out,n
// simtune: bytes    n * 8
extern "C" __global__ void __launch_bounds__(256, 8) heavy(const float *in, float *out, unsigned long long n)
{
    const unsigned long long at = blockIdx.x * 256ull + threadIdx.x;
    float kept[KEEP < 100 ? 1 : 100];
#pragma unroll
    for (int i = 0; i < (KEEP < 100 ? 1 : 100); i++)
        kept[i] = in[(at + i) % n];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < (KEEP < 100 ? 1 : 100); i++)
        sum += kept[i] * in[(at * 3 + i) % n];
#pragma unroll
    for (int i = 0; i < (KEEP < 100 ? 1 : 100); i++)
        sum = sum * 0.5f + kept[i];
    if (at < n)
        out[at] = sum;
}
"""


class Predict(harness.Case):
    def predict(self, place, *words):
        result = place.run("predict", *words, "--json")
        if "NVRTC" in result.err and result.code == 3:
            self.skipTest("no NVRTC here")
        self.assert_code(result, 0)
        return json.loads(result.out)["predictions"]

    def test_rows_make_headers(self):
        place = self.place()
        made = self.predict(place, SCALE, "--arch", "80,sm_90/114,100")
        self.assertEqual([(row["cc"], row["sm_count"]) for row in made],
                         [(80, 108)] * 2 + [(90, 114)] * 2 + [(100, 148)] * 2)
        self.assertTrue(all(row["predicted"] and row["by"] is None and row["compiled"] == 6 for row in made))
        self.assertEqual(self.predict(place, SCALE, "--arch", "80,sm_90/114,100"), made)
        self.assert_code(place.run("emit", SCALE, "--arch", "80,90,100", "-o", "scale.h"), 0)
        with open(os.path.join(place.folder, "scale.h"), encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("// PREDICTED, not measured, for NVIDIA A100-SXM4-80GB (sm_80, 108 SMs)"))
        self.assertEqual(text.count('"predicted":true'), 6)
        self.assert_says(place.run("query", "scale", "--best").out, r"A100.*PREDICTED, not measured")
        self.assert_code(place.run("lock", SCALE, "-o", "it.lock"), 0)
        self.assert_code(place.run("emit", SCALE, "--lock", "it.lock", "--require", "measured", "-o", "no"), 6)
        self.assert_code(place.run("db", "check"), 0)

    def test_what_spills_is_dropped(self):
        place = self.place()
        path = os.path.join(place.folder, "heavy.cu")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SPILLS)
        row, = self.predict(place, path, "--arch", "90")
        self.assertEqual((row["compiled"], row["spilled"], row["configuration"]), (2, 1, "KEEP=1"))


if __name__ == "__main__":
    harness.main()
