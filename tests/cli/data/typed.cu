// SPDX-License-Identifier: Apache-2.0
// out[i] = in[i] + 1 for two types: code of one type gives wrong results on data of the other.
//
// simtune: family    typed
// simtune: axis      T = f32 i32
// simtune: axis      n = 1Ki
// simtune: param     ITEMS = 1 2 4 8
// simtune: default   ITEMS=1
// simtune: let       tile = 64 * ITEMS
// simtune: buffer    in  : input T[n]
// simtune: buffer    out : output T[n]
// simtune: launch    typed grid=ceil_div(n,tile) block=64 args=in,out,n
// simtune: bytes     n * 2 * size_of_T
#ifndef ITEMS
#define ITEMS 1
#define T float
#endif
extern "C" __global__ void typed(const T *in, T *out, unsigned long long n)
{
    unsigned long long first = (unsigned long long)blockIdx.x * 64 * ITEMS + threadIdx.x;
    for (int k = 0; k < ITEMS; k++)
        if (first + k * 64 < n)
            out[first + k * 64] = in[first + k * 64] + T(1);
}
