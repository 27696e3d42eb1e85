// SPDX-License-Identifier: Apache-2.0
// out[i] = 2 in[i], as a user would write it: macros, no reference, so that others are compared with what
// the default gives. KIND plants what can go wrong before and while a kernel runs.
//
// simtune: family    twice
// simtune: axis      n = 4Ki
// simtune: param     BLOCK = 64 128 256 2048
// simtune: param     KIND  = plain halves odd_one no_compile much_shared most_shared crash
// simtune: default   BLOCK=128 KIND=plain
// simtune: where     BLOCK < 2048 or KIND == plain
// simtune: let       dynamic = (KIND == much_shared) * 1048576
// simtune: buffer    in  : input f32[n]
// simtune: buffer    out : output f32[n]
// simtune: launch    twice grid=ceil_div(n,BLOCK) block=BLOCK smem=dynamic args=in,out,n
// simtune: bytes     n * 8
#ifndef KIND
#define BLOCK 128
#define KIND 0
#define KIND_plain 0
#define KIND_halves 1
#define KIND_odd_one 2
#define KIND_no_compile 3
#define KIND_most_shared 4
#define KIND_crash 5
#endif

extern "C" __global__ void twice(const float *in, float *out, unsigned long long n)
{
    unsigned long long i = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
#if KIND == KIND_most_shared
    __shared__ float large[100000];
    large[threadIdx.x] = in[0];
    __syncthreads();
    if (large[threadIdx.x] != in[0])
        return;
#endif
#if KIND == KIND_no_compile
    this is no kernel;
#elif KIND == KIND_halves
    if (i < n)
        out[i] = in[i] / 0.5f;
#elif KIND == KIND_odd_one
    if (i < n)
        out[i] = i == 77 ? 2.0f * in[i] + 1.0f : 2.0f * in[i];
#elif KIND == KIND_crash
    out[i + (1ull << 40)] = in[i];
#else
    if (i < n)
        out[i] = 2.0f * in[i];
#endif
}
