// SPDX-License-Identifier: Apache-2.0
// A reduction with the space of a recorded Kernel Tuner run on an H200: 8 x 3 x 5 x 4 x 2 values, of which
// ACC <= UNROLL leaves 672. The same form of kernel, so that the time to compile and measure all of them can be
// set beside that run (52.5 s). WAVES reaches the grid alone, so 336 kernels are compiled; as template arguments,
// because eight kernels to a program compile in less than half the time of eight programs with macros.
//
//     simtune tune tests/gpu/kernel_tuner_space.cu --budget none --counters off --no-header
//
// The partial sums of the blocks are added by float atomics: the last bits differ from run to run, and no
// `determinism` line grants anything.
//
// clang-format off
// simtune: family    kernel_tuner_space
// simtune: summary   sum of n floats in the 672 configurations of a recorded Kernel Tuner run
//
// simtune: axis      n = 256Mi
//
// simtune: param     BLOCK  = 64 128 192 256 384 512 768 1024   role tlp
// simtune: param     VEC    = 1 2 4                             role mlp
// simtune: param     UNROLL = 1 2 4 8 16                        role mlp ilp
// simtune: param     ACC    = 1 2 4 8                           role ilp
// simtune: param     WAVES  = 1 4                               role tlp work runtime
// simtune: default   BLOCK=256 VEC=1 UNROLL=1 ACC=1 WAVES=1
// simtune: where     ACC <= UNROLL
//
// simtune: let       tile   = BLOCK * VEC * UNROLL
// simtune: let       tiles  = max(1, ceil_div(n, tile))
// simtune: let       blocks = min(tiles, SM_COUNT * BLOCKS_PER_SM * WAVES)
// simtune: buffer    in : input f32[n]   out : output f32[1]
// simtune: buffer    sum_of : expected f64[1]   size_of : magnitude f64[1]
// simtune: zero      out
// simtune: launch    sum_all<Config> grid=blocks block=BLOCK args=in,out,n
// simtune: reference plain_sums  file=kernel_tuner_space_reference.cu grid=1024 block=256 args=in,n
// simtune: reference plain_total file=kernel_tuner_space_reference.cu grid=1 block=1 args=sum_of,size_of
// A thread's chain and what one accumulator gets at the end of it, accumulators and lanes, warps, blocks.
// simtune: let       chain  = ceil_div(n, blocks * BLOCK * VEC) + UNROLL + 1
// simtune: let       tree_height = chain + ceil_log2(ACC * VEC) + 10 + blocks
// simtune: compare   out with sum_of magnitude size_of height tree_height
// simtune: bytes     n * 4
// clang-format on

namespace simtune {

template <int VEC> struct vector_of;
template <> struct vector_of<1> { typedef float type; };
template <> struct vector_of<2> { typedef float2 type; };
template <> struct vector_of<4> { typedef float4 type; };

static __device__ __forceinline__ void add(float &to, float x) {
    to += x;
}
static __device__ __forceinline__ void add(float2 &to, float2 x) {
    to.x += x.x;
    to.y += x.y;
}
static __device__ __forceinline__ void add(float4 &to, float4 x) {
    to.x += x.x;
    to.y += x.y;
    to.z += x.z;
    to.w += x.w;
}

static __device__ __forceinline__ float total(float x) {
    return x;
}
static __device__ __forceinline__ float total(float2 x) {
    return x.x + x.y;
}
static __device__ __forceinline__ float total(float4 x) {
    return (x.x + x.y) + (x.z + x.w);
}

static __device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(~0u, value, distance);
    return value;
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    sum_all(const float *__restrict__ in, float *out, unsigned long long n) {
    typedef typename vector_of<Config::VEC>::type vector;
    enum { BLOCK = Config::BLOCK, VEC = Config::VEC, UNROLL = Config::UNROLL, ACC = Config::ACC };
    // Elements before the first whole vector, and after the last.
    const unsigned off = (unsigned)((unsigned long long)in / sizeof(float) % VEC);
    unsigned long long head = off ? VEC - off : 0;
    head = head < n ? head : n;
    const unsigned long long count = (n - head) / VEC, ends = n - count * VEC;
    const unsigned long long stride = (unsigned long long)gridDim.x * BLOCK;
    const vector *from = (const vector *)(in + head);
    unsigned long long i = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;

    vector sums[ACC];
#pragma unroll
    for (int a = 0; a < ACC; a++)
        sums[a] = vector();
    float value = 0;
    if (VEC > 1 && i < ends)
        value = in[i < head ? i : n - ends + i];
    for (; i + (UNROLL - 1) * stride < count; i += UNROLL * stride) {
        vector loaded[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            loaded[u] = __ldcs(from + i + u * stride);
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            add(sums[u % ACC], loaded[u]);
    }
    for (; i < count; i += stride)
        add(sums[0], from[i]);
#pragma unroll
    for (int a = 0; a < ACC; a++)
        value += total(sums[a]);

    __shared__ float of_warp[32];
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = warp_sum(threadIdx.x < BLOCK / 32 ? of_warp[threadIdx.x] : 0);
        if (threadIdx.x == 0)
            atomicAdd(out, value);
    }
}

} // namespace simtune
