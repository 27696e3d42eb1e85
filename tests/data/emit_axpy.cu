// SPDX-License-Identifier: Apache-2.0
// A user's kernel in the macro style, for the tests of emission. Not written for every size.
//
// simtune: family   axpy
// simtune: axis     n = 1Mi
// simtune: param    BLOCK = 128 256
// simtune: param    ITEMS = 1 2 4
// simtune: param    ORDER = strided chunked
// simtune: default  BLOCK=128 ITEMS=1 ORDER=strided
// simtune: where    n % (BLOCK * ITEMS) == 0
// simtune: buffer   x : input f32[n]
// simtune: buffer   y : inout f32[n]
// simtune: launch   axpy grid=ceil_div(n,BLOCK*ITEMS) block=BLOCK args=x,y,3:f32
// simtune: bytes    n * 12
#include <cuda_fp16.h>

#define AXPY_TILE (BLOCK * ITEMS)

extern "C" __global__ void axpy(const float *x, float *y, float factor)
{
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
#if ORDER == ORDER_strided
        const unsigned long long at = blockIdx.x * (unsigned long long)AXPY_TILE + i * BLOCK + threadIdx.x;
#else
        const unsigned long long at = blockIdx.x * (unsigned long long)AXPY_TILE + threadIdx.x * ITEMS + i;
#endif
        y[at] += factor * x[at];
    }
}
