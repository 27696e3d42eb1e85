// SPDX-License-Identifier: Apache-2.0
// The kernel `blend` of tests/faults_in_turn, which the counterfeit libcuda of tests/fake computes, as many configurations
// of one program: WAY and STEP change nothing.
//
// simtune: family    many
// simtune: param     WAY  = 1:40:1     role mlp runtime
// simtune: param     STEP = 0 1 2 3 4  role work runtime
// simtune: default   WAY=1 STEP=0
// simtune: buffer    in      : input i32[64]
// simtune: buffer    partial : temp i32[2]
// simtune: buffer    out     : output i32[64]
// simtune: buffer    right   : expected i32[64]
// simtune: zero      partial
// simtune: launch    blend grid=16 block=32 smem=64Ki cluster=16 args=in,partial,out
// simtune: reference blend_plain grid=1 block=1 args=in,right
// simtune: compare   out with right
// simtune: bytes     64 * 8
extern "C" __global__ void blend(const int *in, int *partial, int *out)
{
    unsigned i = blockIdx.x * 4 + threadIdx.x;
    if (threadIdx.x < 4) {
        out[i] = in[i] * 3 + 1 + partial[0];
        atomicAdd(partial + 1, in[i]);
    }
}

extern "C" __global__ void blend_plain(const int *in, int *right)
{
    for (int i = 0; i < 64; i++)
        right[i] = in[i] * 3 + 1;
}
