// SPDX-License-Identifier: Apache-2.0
// A sum with planted faults, one a word of MODE: a run must end well, with the outcomes correct, crash, timeout,
// wrong, wrong, wrong, wrong for the seven words in their order.
//
// simtune: family    faulty_reduce
// simtune: summary   a sum with planted faults (for tests of the tool)
// simtune: axis      T = f32
// simtune: axis      n = 64Ki
// simtune: param     MODE = right out_of_bounds forever wrong_sum lost_tile unwritten over_the_end
// simtune: default   MODE=right
// simtune: let       tile = 2048
// simtune: let       blocks = max(1, ceil_div(n, tile))
// simtune: let       tree_height = 12 + ceil_log2(blocks)
// simtune: buffer    in        : input T[n]
// simtune: buffer    partial   : temp f32[blocks]
// simtune: buffer    out       : output T[1]
// simtune: buffer    expected  : expected f64[1]
// simtune: buffer    absolute : magnitude f64[1]
// simtune: launch    tile_sums grid=blocks block=256 args=in,partial,n
// simtune: launch    add_sums  grid=1 block=256 args=partial,out,blocks:u64
// simtune: reference plain_sum file=faulty_reduce_reference.cu grid=1 block=1024 args=in,expected,absolute,n
// simtune: compare   out with expected magnitude absolute height tree_height
// simtune: determinism run_to_run when 1 == 1
// simtune: bytes     n * 4
#ifndef MODE
#define MODE 0
#define MODE_right 0
#define MODE_out_of_bounds 1
#define MODE_forever 2
#define MODE_wrong_sum 3
#define MODE_lost_tile 4
#define MODE_unwritten 5
#define MODE_over_the_end 6
#endif

static __device__ float block_sum(float value)
{
    __shared__ float shared[256];
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    return shared[0];
}

extern "C" __global__ void tile_sums(const float *in, float *partial, unsigned long long n)
{
    unsigned long long start = (unsigned long long)blockIdx.x * 2048, end = start + 2048 < n ? start + 2048 : n;
    float sum = 0;
    for (unsigned long long i = start + threadIdx.x; i < end; i += 256)
        sum += in[i];
#if MODE == MODE_out_of_bounds
    if (blockIdx.x == 0 && threadIdx.x == 0)
        sum += in[1ull << 40];
#elif MODE == MODE_forever
    volatile const float *watched = in;
    while (watched[0] > -1e30f)
        sum += 0.0f;
#elif MODE == MODE_wrong_sum
    if (blockIdx.x == 0 && threadIdx.x == 0)
        sum += 1.0f;
#elif MODE == MODE_lost_tile
    if (blockIdx.x == gridDim.x / 3)
        sum = 0;
#endif
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

extern "C" __global__ void add_sums(const float *partial, float *out, unsigned long long blocks)
{
    float sum = 0;
    for (unsigned long long i = threadIdx.x; i < blocks; i += 256)
        sum += partial[i];
    sum = block_sum(sum);
#if MODE == MODE_unwritten
    if (threadIdx.x == 1000)
        out[0] = sum;
#else
    if (threadIdx.x == 0)
        out[0] = sum;
#endif
#if MODE == MODE_over_the_end
    if (threadIdx.x == 0)
        out[1] = sum;
#endif
}
