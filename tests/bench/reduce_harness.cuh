// SPDX-License-Identifier: Apache-2.0
// What the hand-built programs around templates/reduce.cu share: configurations as types, the
// launch plan of its directives in C++ (kept in step by hand), and error checking. They measure and
// check the kernels without the tool.
#ifndef SIMTUNE_REDUCE_HARNESS_CUH
#define SIMTUNE_REDUCE_HARNESS_CUH

#include "measure.cuh"
#include "reference/reduce_reference.cu"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t code_ = (call);                                                                \
        if (code_ != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                     \
                         cudaGetErrorString(code_));                                               \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

template <class Type, int OP, int Block, int Vec, int Unroll, int Acc, int Load, int Order,
          int MinBlocks, int Warp, int Step, int Finish, int ClusterSize>
struct config {
    typedef Type T;
    static const int op = OP, BLOCK = Block, VEC = Vec, UNROLL = Unroll, ACC = Acc, LOAD = Load,
                     ORDER = Order, MIN_BLOCKS = MinBlocks, WARP = Warp, BLOCK_STEP = Step,
                     FINISH = Finish, CLUSTER = ClusterSize;
};

// One configuration with its kernels. The runtime parameters may be changed in a copy.
struct candidate {
    int block, vec, unroll, acc, load, order, min_blocks, warp, step, finish, cluster;
    int element_size, accumulator_size, op;
    const void *first, *second; // kernels; second NULL: one launch
    int blocks_per_sm;          // of the first
    // runtime parameters
    int waves;
    bool contiguous;
    const char *experiment; // what differs from the template's kernels; NULL: nothing
};

static int sm_count, threads_per_sm, max_blocks_per_sm;

static void read_device_facts() {
    int device;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device));
    CHECK(cudaDeviceGetAttribute(&threads_per_sm, cudaDevAttrMaxThreadsPerMultiProcessor, device));
    CHECK(
        cudaDeviceGetAttribute(&max_blocks_per_sm, cudaDevAttrMaxBlocksPerMultiprocessor, device));
}

template <class C, int FINISH> struct kernels_of {
    static const void *first() {
        return (const void *)simtune::reduce_blocks<C>;
    }
    static const void *second() {
        return (const void *)simtune::reduce_partials<C>;
    }
};
template <class C> struct kernels_of<C, simtune::FINISH_one_block> {
    static const void *first() {
        return (const void *)simtune::reduce_one_block<C>;
    }
    static const void *second() {
        return NULL;
    }
};
template <class C> struct kernels_of<C, simtune::FINISH_cluster> {
    static const void *first() {
        return (const void *)simtune::reduce_cluster<C>;
    }
    static const void *second() {
        return NULL;
    }
};
template <class C> struct kernels_of<C, simtune::FINISH_ticket> {
    static const void *first() {
        return (const void *)simtune::reduce_ticket<C>;
    }
    static const void *second() {
        return NULL;
    }
};
template <class C> struct kernels_of<C, simtune::FINISH_atomic> {
    static const void *first() {
        return (const void *)simtune::reduce_atomic<C>;
    }
    static const void *second() {
        return NULL;
    }
};

template <class C> candidate make_candidate() {
    candidate c = {C::BLOCK,
                   C::VEC,
                   C::UNROLL,
                   C::ACC,
                   C::LOAD,
                   C::ORDER,
                   C::MIN_BLOCKS,
                   C::WARP,
                   C::BLOCK_STEP,
                   C::FINISH,
                   C::CLUSTER,
                   (int)sizeof(typename C::T),
                   (int)sizeof(typename simtune::element<typename C::T>::accumulator),
                   C::op,
                   kernels_of<C, C::FINISH>::first(),
                   kernels_of<C, C::FINISH>::second(),
                   0,
                   1,
                   false,
                   NULL};
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&c.blocks_per_sm, c.first, C::BLOCK, 0));
    return c;
}

static unsigned long long ceil_div(unsigned long long a, unsigned long long b) {
    return (a + b - 1) / b;
}

struct plan {
    unsigned long long tiles, blocks, share, partials;
    unsigned finish_block;
    size_t temp_bytes;
};

static plan plan_of(const candidate &c, unsigned long long n) {
    plan p;
    p.tiles = std::max(1ull, ceil_div(n, (unsigned long long)c.block * c.vec * c.unroll));
    p.blocks = c.finish == simtune::FINISH_one_block ? 1
               : c.finish == simtune::FINISH_cluster ? c.cluster
               : c.waves == 0
                   ? p.tiles
                   : std::min<unsigned long long>(p.tiles, (unsigned long long)sm_count *
                                                               c.blocks_per_sm * c.waves);
    p.share = c.contiguous
                  ? ceil_div(std::max(1ull, ceil_div(n, c.block * c.vec)), p.blocks) * c.block
                  : 0;
    const unsigned long long values_a_block =
        c.step == simtune::BLOCK_STEP_direct ? c.block / 32 : 1;
    const unsigned long long resident =
        (unsigned long long)sm_count * std::min(max_blocks_per_sm, threads_per_sm / c.block);
    const unsigned long long most_blocks =
        c.waves == 0 ? p.tiles : std::min<unsigned long long>(p.tiles, resident * c.waves);
    p.partials = p.blocks * values_a_block;
    p.finish_block = (unsigned)std::min(1024ull, 32 * ceil_div(most_blocks * values_a_block, 128));
    p.temp_bytes = 256 + p.partials * c.accumulator_size; // ticket and value first
    return p;
}

// The whole plan on a stream. Temporary storage may hold anything.
static cudaError_t launch_candidate(const candidate &c, const void *in, void *out, void *temp,
                                    unsigned long long n, cudaStream_t stream) {
    plan p = plan_of(c, n);
    void *state = temp, *partial = (char *)temp + 256;
    cudaError_t error = cudaSuccess;
    void *blocks_args[] = {&in, &partial, &n, &p.share};
    void *partials_args[] = {&partial, &out, &p.partials};
    void *cluster_args[] = {&in, &out, &n, &p.share};
    void *ticket_args[] = {&in, &out, &partial, &state, &n, &p.share};
    void *atomic_args[] = {&in, &out, &state, &n, &p.share};
    switch (c.finish) {
    case simtune::FINISH_one_block:
    case simtune::FINISH_cluster:
        return launch_kernel(c.first, (unsigned)p.blocks, c.block, 0, c.cluster, false, cluster_args,
                             stream);
    case simtune::FINISH_ticket:
        if ((error = cudaMemsetAsync(state, 0, 16, stream)) != cudaSuccess)
            return error;
        return launch_kernel(c.first, (unsigned)p.blocks, c.block, 0, 1, false, ticket_args, stream);
    case simtune::FINISH_atomic:
        if (c.op == simtune::op_sum && c.element_size >= 4)
            error = cudaMemsetAsync(out, 0, c.element_size, stream);
        else
            error = cudaMemsetAsync(state, 0, 16, stream);
        if (error != cudaSuccess)
            return error;
        return launch_kernel(c.first, (unsigned)p.blocks, c.block, 0, 1, false, atomic_args, stream);
    default:
        error = launch_kernel(c.first, (unsigned)p.blocks, c.block, 0, 1, false, blocks_args, stream);
        if (error != cudaSuccess)
            return error;
        if (!c.second) { // an experiment: the first kernel once more, over the values that it left
            unsigned long long none = 0;
            void *again_args[] = {&partial, &out, &p.partials, &none};
            return launch_kernel(c.first, 1, c.block, 0, 1, true, again_args, stream);
        }
        return launch_kernel(c.second, 1, p.finish_block, 0, 1, c.finish == simtune::FINISH_dependent,
                             partials_args, stream);
    }
}

static std::string text_of(const candidate &c) {
    static const char *const loads[] = {"plain",       "nc",    "cg",     "no_allocate",
                                        "evict_first", "l2_64", "l2_128", "l2_256"};
    static const char *const warps[] = {"shuffle", "shared", "redux"}, *const steps[] = {"serial",
                                                                                         "shuffle",
                                                                                         "direct"};
    static const char *const finishes[] = {"two_pass",  "dependent", "cluster",
                                           "one_block", "ticket",    "atomic"};
    char text[256];
    std::snprintf(
        text, sizeof text,
        "BLOCK=%d VEC=%d UNROLL=%d ACC=%d %s %s MIN_BLOCKS=%d %s %s %s %d WAVES=%d %s%s%s", c.block,
        c.vec, c.unroll, c.acc, loads[c.load], c.order ? "interleaved" : "batched", c.min_blocks,
        warps[c.warp], steps[c.step], finishes[c.finish], c.cluster, c.waves,
        c.contiguous ? "contiguous" : "strided", c.experiment ? " EXPERIMENT " : "",
        c.experiment ? c.experiment : "");
    return text;
}

#endif
