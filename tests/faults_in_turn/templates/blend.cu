// SPDX-License-Identifier: Apache-2.0
// out[i] = 3 in[i] + 1 with everything that a plan may ask of a driver: memory of its own that is set to zero,
// more shared memory than comes unasked, a cluster wider than is portable, and a reference. The counterfeit
// libcuda of tests/fake computes it without looking at this text, which is compiled all the same.
//
// simtune: family    blend
// simtune: param     ITEMS = 1 2
// simtune: default   ITEMS=1
// simtune: buffer    in      : input i32[64]
// simtune: buffer    partial : temp i32[2]
// simtune: buffer    out     : output i32[64]
// simtune: buffer    right   : expected i32[64]
// simtune: zero      partial
// simtune: launch    blend grid=16 block=32 smem=64Ki cluster=16 args=in,partial,out
// simtune: reference blend_plain grid=1 block=1 args=in,right
// simtune: compare   out with right
// simtune: bytes     64 * 8
#ifndef ITEMS
#define ITEMS 1
#endif
extern "C" __global__ void blend(const int *in, int *partial, int *out)
{
    for (unsigned k = 0; k < ITEMS; k++) {
        unsigned i = blockIdx.x * 4 + threadIdx.x * ITEMS + k;
        if (threadIdx.x * ITEMS + k < 4) {
            out[i] = in[i] * 3 + 1 + partial[0];
            atomicAdd(partial + 1, in[i]);
        }
    }
}

extern "C" __global__ void blend_plain(const int *in, int *right)
{
    for (int i = 0; i < 64; i++)
        right[i] = in[i] * 3 + 1;
}
