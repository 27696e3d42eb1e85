// SPDX-License-Identifier: Apache-2.0
// out[i] = 3 in[i] + 1 over a handful of elements: a whole run of it is as short as a run can be.
//
// simtune: family    tiny
// simtune: param     ITEMS = 1 2 4
// simtune: default   ITEMS=1
// simtune: buffer    in  : input i32[32]
// simtune: buffer    out : output i32[32]
// simtune: launch    tiny grid=1 block=32/ITEMS args=in,out
// simtune: bytes     32 * 8
#ifndef ITEMS
#define ITEMS 1
#endif
extern "C" __global__ void tiny(const int *in, int *out)
{
    for (unsigned k = 0; k < ITEMS; k++)
        out[threadIdx.x * ITEMS + k] = in[threadIdx.x * ITEMS + k] * 3 + 1;
}
