// SPDX-License-Identifier: Apache-2.0
// data[i] = 3 data[i] in place: what a run leaves in the buffer must not reach the next one.
//
// simtune: family    in_place
// simtune: axis      n = 2Ki
// simtune: param     BLOCK = 64 128
// simtune: param     KIND  = plain added skips
// simtune: default   BLOCK=128 KIND=plain
// simtune: buffer    data : inout f32[n]
// simtune: launch    in_place grid=ceil_div(n,BLOCK) block=BLOCK args=data,n
// simtune: bytes     n * 8
#ifndef KIND
#define BLOCK 128
#define KIND 0
#define KIND_plain 0
#define KIND_added 1
#define KIND_skips 2
#endif
extern "C" __global__ void in_place(float *data, unsigned long long n)
{
    unsigned long long i = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n)
        return;
#if KIND == KIND_skips
    if (i == n - 1)
        return;
#endif
#if KIND == KIND_added
    data[i] = data[i] + data[i] + data[i];
#else
    data[i] = 3.0f * data[i];
#endif
}
