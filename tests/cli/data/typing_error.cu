// SPDX-License-Identifier: Apache-2.0
// A template with a typing error in line 6.
// simtune: family   broken
// simtune: axis     n = 64Ki
// simtune: param    BLOCK = 128 256
// simtune: where    BLOK <= 1024
// simtune: default  BLOCK=128
// simtune: buffer   x : inout f32[n]
// simtune: launch   broken grid=1 block=BLOCK args=x,n
extern "C" __global__ void broken(float *x, unsigned long long n) {}
