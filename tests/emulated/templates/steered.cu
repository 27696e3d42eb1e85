// SPDX-License-Identifier: Apache-2.0
// out[i] = 2 in[i] by blocks that take several tiles: many configurations of few programs, whose time on the emulated
// device depends on the grid.
//
// simtune: family    steered
// simtune: axis      n = 16Ki
// simtune: param     BLOCK = 64 128 256                     role tlp
// simtune: param     TILES = 1:24:1                         role work runtime
// simtune: default   BLOCK=128 TILES=24
// simtune: buffer    in  : input f32[n]
// simtune: buffer    out : output f32[n]
// simtune: launch    steered grid=ceil_div(n,BLOCK*TILES) block=BLOCK args=in,out,n,TILES:u32
// simtune: bytes     n * 8
#ifndef BLOCK
#define BLOCK 128
#endif

extern "C" __global__ void steered(const float *in, float *out, unsigned long long n, unsigned tiles)
{
    unsigned long long first = (unsigned long long)blockIdx.x * BLOCK * tiles + threadIdx.x;
    for (unsigned tile = 0; tile < tiles; tile++) {
        unsigned long long i = first + (unsigned long long)tile * BLOCK;
        if (i < n)
            out[i] = 2.0f * in[i];
    }
}
