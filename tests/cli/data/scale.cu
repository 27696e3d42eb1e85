// SPDX-License-Identifier: Apache-2.0
// A small kernel of a user, for the tests of the command line.
//
// simtune: family   scale
// simtune: summary  y = 3 x
// simtune: axis     n = 64Ki 1Mi
// simtune: param    BLOCK = 128 256   role tlp
// simtune: param    ITEMS = 1 2 4     role mlp ilp
// simtune: default  BLOCK=128 ITEMS=1
// simtune: where    BLOCK * ITEMS <= 1024
// simtune: buffer   x : input f32[n]
// simtune: buffer   y : output f32[n]
// simtune: launch   scale grid=ceil_div(n,BLOCK*ITEMS) block=BLOCK args=x,y,n
// simtune: bytes    n * 8
#include "scale_device.cuh"

extern "C" __global__ void scale(const float *x, float *y, unsigned long long n)
{
    for (int i = 0; i < ITEMS; i++) {
        const unsigned long long at = (blockIdx.x * (unsigned long long)ITEMS + i) * BLOCK + threadIdx.x;
        if (at < n)
            y[at] = scale_one(x[at]);
    }
}
