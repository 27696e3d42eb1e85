// SPDX-License-Identifier: Apache-2.0
// A problem of one fixed size: no size axis, and no axis at all.
//
// simtune: family    no_size
// simtune: param     BLOCK = 64 128
// simtune: default   BLOCK=64
// simtune: buffer    in  : input i32[1024]
// simtune: buffer    out : output i32[1024]
// simtune: launch    no_size grid=1024/BLOCK block=BLOCK args=in,out
// simtune: bytes     1024 * 8
#ifndef BLOCK
#define BLOCK 64
#endif
extern "C" __global__ void no_size(const int *in, int *out)
{
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    out[i] = in[i] * 5 + 1;
}
