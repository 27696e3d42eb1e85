// SPDX-License-Identifier: Apache-2.0
// The sum of n integers, in two kernels, wrong in ways that one look at one size does not show. FAULT:
// stale  a tile is added up only where its place in the temporary storage holds what nobody wrote: a second call
//        with other data gets the totals of the first;
// carry  the second kernel stops at 4096 tiles.
//
// simtune: family    sly
// simtune: axis      n = 4Ki
// simtune: param     FAULT = none stale carry
// simtune: default   FAULT=none
// simtune: let       tile = 256
// simtune: let       tiles = max(1, ceil_div(n, 256))
// simtune: buffer    in : input i32[n]   partial : temp i32[tiles]   out : output i32[1]   expected_out : expected i32[1]
// simtune: launch    sly_tiles grid=tiles block=256 args=in,partial,n
// simtune: launch    sly_total grid=1 block=64 args=partial,out,tiles:u64
// simtune: reference sly_reference file=sly_reference.cu grid=1 block=64 args=in,expected_out,n
// simtune: compare   out with expected_out
// simtune: bytes     n * 4
#ifndef FAULT
#define FAULT 0
#define FAULT_none 0
#define FAULT_stale 1
#define FAULT_carry 2
#endif

extern "C" __global__ void sly_tiles(const int *in, int *partial, unsigned long long n)
{
#if FAULT == FAULT_stale
    if (partial[blockIdx.x] != -1)
        return;
#endif
    __shared__ unsigned values[256];
    const unsigned long long i = blockIdx.x * 256ull + threadIdx.x;
    values[threadIdx.x] = i < n ? (unsigned)in[i] : 0u;
    __syncthreads();
    unsigned sum = 0;
    for (int k = 0; k < 256 && threadIdx.x == 0; k++)
        sum += values[k];
    if (threadIdx.x == 0)
        partial[blockIdx.x] = (int)sum;
}

extern "C" __global__ void sly_total(const int *partial, int *out, unsigned long long tiles)
{
    unsigned sum = 0;
#if FAULT == FAULT_carry
    if (tiles > 4096)
        tiles = 4096;
#endif
    for (unsigned long long i = 0; i < tiles && threadIdx.x == 0; i++)
        sum += (unsigned)partial[i];
    if (threadIdx.x == 0)
        *out = (int)sum;
}
