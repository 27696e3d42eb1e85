// SPDX-License-Identifier: Apache-2.0
// A small family with all that a header's plan can hold: two launches, a ticket that is zeroed, clusters,
// dependent launch, dynamic shared memory, late names, several types and words. For the tests of emission.
//
// simtune: family   total
// simtune: axis     T  = f32 f64 i32 u64 f16
// simtune: axis     op = sum max
// simtune: axis     n  = 1Ki 64Ki 1Mi
// simtune: param    BLOCK  = 64 128 256 1024
// simtune: param    ITEMS  = 1 2 4 16
// simtune: param    FINISH = two_pass dependent ticket cluster
// simtune: param    WAVES  = 1 2 4   runtime
// simtune: default  BLOCK=128 ITEMS=1 FINISH=two_pass WAVES=1
// simtune: where    FINISH != cluster or (CC >= 90 and WAVES == 1)
// simtune: where    FINISH != dependent or CC >= 90
// simtune: where    BLOCK * 8 * ITEMS <= SMEM_PER_BLOCK
// simtune: let      tiles  = max(1, ceil_div(n, BLOCK * ITEMS))
// simtune: let      blocks = min(tiles, SM_COUNT * BLOCKS_PER_SM * WAVES)
// simtune: let      fits   = n <= L2_BYTES
// simtune: determinism run_to_run when FINISH != ticket
// simtune: buffer   in      : input T[n]
// simtune: buffer   partial : temp reference_T[blocks]
// simtune: buffer   ticket  : temp u32[1]
// simtune: buffer   out     : output T[1]
// simtune: zero     ticket when FINISH == ticket
// simtune: launch   total_blocks<Config> grid=blocks block=BLOCK smem=BLOCK*8*ITEMS \
// simtune:          args=in,partial,ticket,out,n,blocks:i32 when FINISH == ticket
// simtune: launch   total_partials<Config> grid=blocks block=BLOCK smem=BLOCK*8 \
// simtune:          args=in,partial,n when FINISH == two_pass or FINISH == dependent
// simtune: launch   total_finish<Config> grid=1 block=256 dependent=FINISH==dependent \
// simtune:          args=partial,out,blocks:u32 when FINISH == two_pass or FINISH == dependent
// simtune: launch   total_cluster<Config> grid=8 block=BLOCK cluster=8 \
// simtune:          args=in,out,n when FINISH == cluster
// simtune: bytes    n * size_of_T
// simtune: summary  sums and maxima, for the tests of headers
#include "emit_total_device.cuh"

#define TOTAL_WARP 32

namespace simtune {

enum finish_word { FINISH_two_pass, FINISH_dependent, FINISH_ticket, FINISH_cluster };

// Each thread's share of the elements, combined in shared memory by one thread.
template <class Config>
__device__ typename wide<typename Config::T>::type block_total(const typename Config::T *in,
                                                               unsigned long long n,
                                                               typename wide<typename Config::T>::type *shared)
{
    typedef typename wide<typename Config::T>::type A;
    A mine = seed<Config::op, A>();
    const unsigned long long step = (unsigned long long)gridDim.x * Config::BLOCK;
    for (unsigned long long i = blockIdx.x * (unsigned long long)Config::BLOCK + threadIdx.x; i < n; i += step)
        mine = join<Config::op>(mine, wide<typename Config::T>::of(in[i]));
    shared[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 1; i < Config::BLOCK; i++)
            mine = join<Config::op>(mine, shared[i]);
    return mine;
}

template <class Config>
__global__ void total_partials(const typename Config::T *in, typename wide<typename Config::T>::type *partial,
                               unsigned long long n)
{
    extern __shared__ double storage[];
    typedef typename wide<typename Config::T>::type A;
    allow_dependents();
    const A mine = block_total<Config>(in, n, reinterpret_cast<A *>(storage));
    if (threadIdx.x == 0)
        partial[blockIdx.x] = mine;
}

template <class Config>
__global__ void total_finish(const typename wide<typename Config::T>::type *partial, typename Config::T *out,
                             unsigned int blocks)
{
    typedef typename wide<typename Config::T>::type A;
    if (Config::FINISH == FINISH_dependent)
        wait_for_previous();
    if (threadIdx.x != 0)
        return;
    A all = seed<Config::op, A>();
    for (unsigned int i = 0; i < blocks; i++)
        all = join<Config::op>(all, partial[i]);
    *out = wide<typename Config::T>::back(all);
}

template <class Config>
__global__ void total_blocks(const typename Config::T *in, typename wide<typename Config::T>::type *partial,
                             unsigned int *ticket, typename Config::T *out, unsigned long long n, int blocks)
{
    extern __shared__ double storage[];
    typedef typename wide<typename Config::T>::type A;
    const A mine = block_total<Config>(in, n, reinterpret_cast<A *>(storage));
    if (threadIdx.x != 0)
        return;
    partial[blockIdx.x] = mine;
    __threadfence();
    if (atomicAdd(ticket, 1u) != (unsigned int)blocks - 1)
        return;
    __threadfence();
    A all = seed<Config::op, A>();
    for (int i = 0; i < blocks; i++)
        all = join<Config::op>(all, *(volatile A *)&partial[i]);
    *out = wide<typename Config::T>::back(all);
}

// Block 0 of the cluster does all: what is tested is the launch.
template <class Config>
__global__ void total_cluster(const typename Config::T *in, typename Config::T *out, unsigned long long n)
{
    typedef typename wide<typename Config::T>::type A;
    if (blockIdx.x != 0 || threadIdx.x != 0)
        return;
    A all = seed<Config::op, A>();
    for (unsigned long long i = 0; i < n; i++)
        all = join<Config::op>(all, wide<typename Config::T>::of(in[i]));
    *out = wide<typename Config::T>::back(all);
}

} // namespace simtune
