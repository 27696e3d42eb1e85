// SPDX-License-Identifier: Apache-2.0
// Times hand-picked configurations of templates/segreduce.cu beside cub::DeviceSegmentedReduce::Sum,
// float32, at the same guarantee (run to run) and under the same contract: temporary storage is filled
// with garbage before every sample. Every candidate is first checked, on exact data, against the
// reference kernels, and those against a sum on the CPU.
//
// A gate kernel holds the stream until everything is queued. Cold: more than twice L2 is read before
// each sample. First every candidate a few times, then the best few interleaved with CUB in random
// order; reported are medians, GB/s of what must be moved, and the median of the ratios of neighbours.
//
//   nvcc -O2 -std=c++17 -arch=sm_90 -Itemplates tests/bench/segreduce_vs_cub.cu -o segreduce_vs_cub
//   ./segreduce_vs_cub [--quick] [FOLDER for all figures as CSV]
//   ./segreduce_vs_cub --check             right or wrong: every type and operation, each METHOD, few sizes
//   nvcc … -DONLY_CHECK=float …            that type alone, and nothing to measure, for
//   compute-sanitizer --tool racecheck ./segreduce_vs_cub --check
#include <cub/device/device_segmented_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "reference/segreduce_reference.cu"
#include "measure.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace simtune;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t code_ = (call);                                                                \
        if (code_ != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                     \
                         cudaGetErrorString(code_));                                               \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// --- the device ----------------------------------------------------------------------------------
static const size_t most_elements = 1ull << 28, most_segments = 1ull << 26;
static const size_t storage_bytes = 64 << 20;
static int sm_count;
static volatile int *gate_host;
static int *gate_device;
static int4 *flush_buffer;
static size_t flush_bytes;
static float *input, *output;
static double *expected, *magnitude;
static u64 *offsets;
static u32 *wrong;
static void *storage;
static cudaEvent_t begin_event, end_event;
static cudaStream_t stream;

__host__ __device__ static float element_at(size_t i)
{
    u64 z = (i + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    return (float)((int)(z >> 40 & 7) - 3) - ((z >> 50 & 1) ? 0.0f : 1.0f); // -4 … 4
}
__global__ void fill(float *to, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = element_at(i);
}
__global__ void compare(const float *got, const double *right, size_t n, u32 *count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        if (!((double)got[i] == right[i]))
            atomicAdd(count, 1u);
}

// --- the candidates ------------------------------------------------------------------------------
template <class Type, int Layout, int Method, int Lanes, int Batch, int Block, int Vec, int Unroll,
          int Acc, int Load, int Join>
struct config {
    typedef Type T;
    static const int layout = Layout, op = op_sum, METHOD = Method, LANES = Lanes, BATCH = Batch,
                     BLOCK = Block, VEC = Vec, UNROLL = Unroll, ACC = Acc, LOAD = Load, JOIN = Join;
};

struct candidate {
    int method, lanes, batch, block, vec, unroll, acc, load, join, waves;
    const void *equal, *equal_join, *varied, *varied_join;
    int equal_blocks, varied_blocks; // resident on one SM
};
static std::vector<candidate> candidates;

template <int METHOD> struct kernels_of {
    template <class E, class O> static void put(candidate &c)
    {
        c.equal = (const void *)segreduce_split<E>;
        c.equal_join = (const void *)segreduce_join<E>;
        c.varied = (const void *)segreduce_split_offsets<O>;
        c.varied_join = (const void *)segreduce_join_offsets<O>;
    }
};
template <> struct kernels_of<METHOD_by_block> {
    template <class E, class O> static void put(candidate &c)
    {
        c.equal = (const void *)segreduce_block<E>;
        c.varied = (const void *)segreduce_block_offsets<O>;
    }
};
template <> struct kernels_of<METHOD_by_lanes> {
    template <class E, class O> static void put(candidate &c)
    {
        c.equal = (const void *)segreduce_lanes<E>;
        c.varied = (const void *)segreduce_lanes_offsets<O>;
    }
};
template <> struct kernels_of<METHOD_staged> {
    template <class E, class O> static void put(candidate &c)
    {
        c.equal = (const void *)segreduce_staged<E>;
        c.varied = (const void *)segreduce_staged_offsets<O>;
    }
};

template <int METHOD, int LANES, int BATCH, int BLOCK, int VEC, int UNROLL, int ACC,
          int LOAD = LOAD_nc, int JOIN = JOIN_second_kernel>
static void add()
{
    typedef config<float, layout_equal, METHOD, LANES, BATCH, BLOCK, VEC, UNROLL, ACC, LOAD, JOIN>
        E;
    typedef config<float, layout_offsets, METHOD, LANES, BATCH, BLOCK, VEC, UNROLL, ACC, LOAD, JOIN>
        O;
    candidate c = {METHOD, LANES, BATCH, BLOCK, VEC, UNROLL, ACC, LOAD, JOIN, 1};
    kernels_of<METHOD>::template put<E, O>(c);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&c.equal_blocks, c.equal, BLOCK, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&c.varied_blocks, c.varied, BLOCK, 0));
    for (c.waves = 1; c.waves <= (METHOD >= METHOD_split_warps ? 8 : 1); c.waves *= 2)
        candidates.push_back(c);
}

static std::string text_of(const candidate &c)
{
    static const char *const methods[] = {"by_block", "by_lanes", "staged", "split_warps",
                                          "split_blocks"};
    static const char *const loads[] = {"plain",       "nc",    "cg",     "no_allocate",
                                        "evict_first", "l2_64", "l2_128", "l2_256"};
    char text[200];
    std::snprintf(text, sizeof text,
                  "%s LANES=%d BATCH=%d BLOCK=%d VEC=%d UNROLL=%d ACC=%d %s WAVES=%d %s",
                  methods[c.method], c.lanes, c.batch, c.block, c.vec, c.unroll, c.acc,
                  loads[c.load], c.waves, c.join ? "dependent" : "second_kernel");
    return text;
}

// The default, then what is worth comparing.
template <int LANES, int BATCH, int UNROLL, int BLOCK = 256> static void lanes()
{
    add<METHOD_by_lanes, LANES, BATCH, BLOCK, 4, UNROLL, 4>();
}
template <int LANES, int BATCH, int BLOCK, int VEC = 4> static void staged()
{
    add<METHOD_staged, LANES, BATCH, BLOCK, VEC, 4, 4>();
}
template <int METHOD, int BLOCK, int UNROLL> static void split()
{
    add<METHOD, 32, 1, BLOCK, 4, UNROLL, 4, LOAD_nc, JOIN_second_kernel>();
    add<METHOD, 32, 1, BLOCK, 4, UNROLL, 4, LOAD_nc, JOIN_dependent>();
}
template <int BLOCK, int UNROLL> static void blocks()
{
    add<METHOD_by_block, 32, 1, BLOCK, 4, UNROLL, 4>();
}
static void make_all()
{
#ifndef ONLY_CHECK
    add<METHOD_by_block, 32, 1, 256, 1, 1, 1, LOAD_plain>();
    lanes<1, 1, 1>(), lanes<1, 2, 1>(), lanes<1, 4, 1>(), lanes<1, 1, 4>(), lanes<1, 2, 4>();
    lanes<2, 1, 1>(), lanes<2, 1, 2>(), lanes<2, 2, 2>(), lanes<2, 4, 2>(), lanes<2, 1, 8>();
    lanes<4, 1, 1>(), lanes<4, 4, 1>(), lanes<4, 1, 4>(), lanes<4, 2, 4>(), lanes<4, 1, 16>();
    lanes<8, 1, 2>(), lanes<8, 4, 2>(), lanes<8, 1, 4>(), lanes<8, 1, 8>(), lanes<8, 2, 8>();
    lanes<8, 1, 8, 128>(), lanes<8, 1, 8, 512>(), lanes<8, 1, 8, 64>();
    lanes<16, 1, 4>(), lanes<16, 2, 4>(), lanes<16, 4, 4>(), lanes<16, 1, 4, 128>();
    lanes<16, 1, 4, 512>(), lanes<16, 1, 8>(), lanes<16, 2, 4, 128>();
    lanes<32, 1, 2>(), lanes<32, 2, 2>(), lanes<32, 4, 2>(), lanes<32, 1, 4>(), lanes<32, 1, 8>();
    lanes<32, 1, 16>(), lanes<32, 2, 8>(), lanes<32, 1, 8, 128>(), lanes<32, 1, 8, 512>();
    add<METHOD_by_lanes, 8, 1, 256, 4, 8, 4, LOAD_plain>();
    add<METHOD_by_lanes, 8, 1, 256, 4, 8, 4, LOAD_no_allocate>();
    add<METHOD_by_lanes, 8, 1, 256, 4, 8, 4, LOAD_evict_first>();
    add<METHOD_by_lanes, 8, 1, 256, 4, 8, 4, LOAD_l2_128>();
    add<METHOD_by_lanes, 16, 2, 256, 4, 4, 4, LOAD_evict_first>();
    add<METHOD_by_lanes, 1, 1, 256, 1, 4, 4>();
    add<METHOD_by_lanes, 1, 4, 256, 1, 4, 4>();
    add<METHOD_by_lanes, 4, 1, 256, 1, 4, 4>();
    add<METHOD_by_lanes, 8, 2, 256, 1, 4, 4>();
    add<METHOD_by_lanes, 16, 2, 256, 1, 4, 4>();
    staged<1, 1, 64>(), staged<1, 1, 128>(), staged<1, 1, 256>(), staged<1, 4, 128>();
    staged<1, 4, 256>(), staged<2, 1, 256>(), staged<2, 4, 256>(), staged<4, 1, 256>();
    lanes<8, 1, 4, 64>(), lanes<4, 1, 4, 64>(), lanes<4, 1, 8, 64>(), lanes<2, 1, 4, 64>();
    lanes<1, 1, 4, 64>(), lanes<1, 1, 4, 128>(), lanes<16, 1, 8, 64>(), lanes<16, 1, 8, 128>();
    staged<4, 4, 256>(), staged<8, 1, 256>(), staged<8, 2, 256>(), staged<1, 4, 256, 1>();
    split<METHOD_split_warps, 256, 4>(), split<METHOD_split_warps, 256, 8>();
    split<METHOD_split_warps, 128, 8>(), split<METHOD_split_warps, 512, 4>();
    split<METHOD_split_warps, 256, 16>();
    split<METHOD_split_blocks, 128, 8>(), split<METHOD_split_blocks, 256, 4>();
    split<METHOD_split_blocks, 256, 8>(), split<METHOD_split_blocks, 512, 4>();
    split<METHOD_split_blocks, 1024, 2>(), split<METHOD_split_blocks, 1024, 4>();
    blocks<64, 1>(), blocks<64, 4>(), blocks<128, 8>(), blocks<256, 4>(), blocks<256, 8>();
    split<METHOD_split_blocks, 512, 8>(), split<METHOD_split_blocks, 1024, 8>();
    split<METHOD_split_blocks, 256, 16>(), split<METHOD_split_warps, 512, 8>();
    split<METHOD_split_warps, 128, 16>();
    add<METHOD_split_warps, 32, 1, 256, 4, 16, 4, LOAD_evict_first, JOIN_dependent>();
    add<METHOD_split_blocks, 32, 1, 256, 4, 8, 4, LOAD_evict_first, JOIN_dependent>();
    add<METHOD_by_block, 32, 1, 1024, 4, 8, 4, LOAD_evict_first>();
    add<METHOD_by_block, 32, 1, 1024, 4, 8, 4, LOAD_no_allocate>();
    add<METHOD_by_block, 32, 1, 1024, 4, 16, 4>();
    add<METHOD_by_block, 32, 1, 512, 4, 16, 4>();
    blocks<512, 4>(), blocks<512, 8>(), blocks<1024, 4>(), blocks<1024, 8>();
#endif
}

// --- one launch ----------------------------------------------------------------------------------
struct problem {
    const char *name; // of the distribution of lengths; NULL: equal
    u64 segments, segment, n;
};

static cudaError_t launch_kernel(const void *kernel, u64 grid, unsigned block, size_t shared,
                                 bool dependent, void **args)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = {};
    config.gridDim = (unsigned)grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.numAttrs = dependent;
    return cudaLaunchKernelExC(&config, kernel, args);
}

static u64 ceil_div(u64 a, u64 b)
{
    return (a + b - 1) / b;
}

// The launch plan of the directives, kept in step by hand.
struct plan {
    u64 threads, tile, at_once, stage, shared;
};
static plan plan_of(const candidate &c, const problem &p, size_t element_bytes)
{
    const bool grouped = c.method == METHOD_by_lanes || c.method == METHOD_staged;
    plan made;
    made.threads = grouped ? c.lanes : c.method == METHOD_split_warps ? 32 : c.block;
    made.tile = made.threads * c.vec * c.unroll;
    made.at_once = c.block / made.threads * c.batch;
    made.stage = made.at_once * p.segment * (p.name ? 3 : 2) / 2 + 64;
    made.shared =
        c.method == METHOD_staged ? (made.stage + 16) * element_bytes * 17 / 128 * 8 + 16 : 0;
    return made;
}

static bool is_allowed(const plan &of)
{
    return of.stage <= 24576 || of.shared == 0 ? of.shared <= 49152 : false;
}
// Worth a try?
static bool suits(const candidate &c, const problem &p)
{
    const plan of = plan_of(c, p, 4);
    if (!is_allowed(of) || (c.method == METHOD_staged && p.segment > 256))
        return false;
    if (c.method == METHOD_by_lanes &&
        (c.lanes * (u64)c.vec >= 4 * p.segment || p.segment > of.tile * 64))
        return false;
    if ((c.method == METHOD_by_block || c.method == METHOD_split_blocks) && c.unroll * c.vec > 1 &&
        of.tile >= 4 * p.segment)
        return false;
    return c.method != METHOD_split_warps || p.segment >= 16;
}

static void launch(const candidate &c, const problem &p, size_t element_bytes = 4)
{
    const bool varied = p.name, split = c.method >= METHOD_split_warps;
    const plan of = plan_of(c, p, element_bytes);
    const u64 readers = c.method == METHOD_split_warps ? c.block / 32 : 1;
    const u64 most = (u64)sm_count * (varied ? c.varied_blocks : c.equal_blocks) * c.waves;
    const u64 grid = std::min(ceil_div(ceil_div(p.n + p.segments, of.tile), readers), most);
    u64 pieces = grid * readers;
    u32 capacity = (u32)of.stage;
    u64 *ended = (u64 *)storage;
    void *partial = (char *)storage + (16 << 20);
    const float *in = input;
    float *out = output;
    u64 segments = p.segments, segment = p.segment;
    if (split) {
        void *equal[] = {&in, &out, &partial, &ended, &segments, &segment};
        void *other[] = {&in, &offsets, &out, &partial, &ended, &segments};
        void *join[] = {&out, &partial, &ended, &pieces, &segments, &segment};
        void *other_join[] = {&offsets, &out, &partial, &ended, &pieces, &segments};
        CHECK(launch_kernel(varied ? c.varied : c.equal, grid, c.block, 0, false,
                            varied ? other : equal));
        CHECK(launch_kernel(varied ? c.varied_join : c.equal_join, ceil_div(pieces, 128), 128, 0,
                            c.join, varied ? other_join : join));
        return;
    }
    void *equal[] = {&in, &out, &segments, &segment, &capacity};
    void *other[] = {&in, &offsets, &out, &segments, &capacity};
    CHECK(launch_kernel(varied ? c.varied : c.equal, ceil_div(segments, of.at_once), c.block,
                        of.shared, false, varied ? other : equal));
}

struct begin_of {
    unsigned segment;
    __host__ __device__ long long operator()(unsigned index) const
    {
        return (long long)index * segment;
    }
};
static void launch_cub(const problem &p)
{
    size_t bytes = storage_bytes;
    if (p.name) {
        CHECK(cub::DeviceSegmentedReduce::Sum(storage, bytes, input, output, p.segments, offsets,
                                              offsets + 1, stream));
        return;
    }
    const begin_of begin = {(unsigned)p.segment};
    const thrust::counting_iterator<unsigned> first(0u), second(1u);
    CHECK(cub::DeviceSegmentedReduce::Sum(storage, bytes, input, output, p.segments,
                                          thrust::make_transform_iterator(first, begin),
                                          thrust::make_transform_iterator(second, begin), stream));
}

// --- measuring -----------------------------------------------------------------------------------
struct contender {
    std::string name;
    const candidate *c; // NULL: CUB
    std::vector<float> samples;
    float median() const
    {
        std::vector<float> sorted(samples);
        std::sort(sorted.begin(), sorted.end());
        return sorted[sorted.size() / 2];
    }
};

static float sample(const contender &who, const problem &p)
{
    CHECK(cudaMemsetAsync(storage, 0xa5, storage_bytes / 8, stream));
    read_all<<<8 * sm_count, 256, 0, stream>>>(flush_buffer, flush_bytes / 16, gate_device + 8);
    CHECK(cudaStreamSynchronize(stream));
    *gate_host = 0;
    gate<<<1, 1, 0, stream>>>(gate_device);
    CHECK(cudaEventRecord(begin_event, stream));
    if (who.c)
        launch(*who.c, p);
    else
        launch_cub(p);
    CHECK(cudaEventRecord(end_event, stream));
    *gate_host = 1;
    CHECK(cudaEventSynchronize(end_event));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin_event, end_event));
    return ms * 1000;
}

static void rounds(std::vector<contender> &who, const problem &p, int count)
{
    static std::mt19937 random(7);
    std::vector<size_t> order(who.size());
    for (size_t i = 0; i < order.size(); i++)
        order[i] = i;
    for (int r = 0; r < count; r++) {
        std::shuffle(order.begin(), order.end(), random);
        for (size_t i : order)
            who[i].samples.push_back(sample(who[i], p));
    }
}

static u32 count_wrong(const candidate &c, const problem &p)
{
    u32 count;
    CHECK(cudaMemsetAsync(output, 0xff, p.segments * 4, stream));
    CHECK(cudaMemsetAsync(storage, 0xa5, storage_bytes, stream));
    CHECK(cudaMemsetAsync(wrong, 0, 4, stream));
    launch(c, p);
    compare<<<8 * sm_count, 256, 0, stream>>>(output, expected, p.segments, wrong);
    CHECK(cudaMemcpyAsync(&count, wrong, 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    return count;
}

// Lengths by name; returns them as offsets. `skewed`: one segment has half of all, the others share the
// rest; `single`: the middle one has all.
static std::vector<u64> make_offsets(const problem &p)
{
    std::vector<u64> at(p.segments + 1, 0);
    std::mt19937_64 random(5);
    std::vector<double> weight(p.segments, 1);
    const bool single = !std::strcmp(p.name, "single"), skewed = !std::strcmp(p.name, "skewed");
    double sum = 0;
    for (size_t s = 0; s < p.segments; s++) {
        const double u = (double)(random() >> 11) / 9007199254740992.0;
        weight[s] = single ? 0 : u < 0.1 ? 0 : -std::log(1 - u);
        sum += weight[s];
    }
    if (skewed || single)
        weight[p.segments / 2] = single ? 1 : sum, sum = single ? 1 : 2 * sum;
    double before = 0;
    for (size_t s = 0; s < p.segments; s++) {
        at[s] = std::min<u64>(p.n, (u64)(before / sum * (double)p.n));
        before += weight[s];
    }
    at[p.segments] = p.n;
    if (single)
        for (size_t s = 0; s <= p.segments; s++)
            at[s] = s <= p.segments / 2 ? 0 : p.n;
    return at;
}

static void make_expected(const problem &p)
{
    typedef config<float, layout_equal, METHOD_by_block, 32, 1, 256, 1, 1, 1, 0, 0> C;
    std::vector<u64> at;
    const unsigned grid = (unsigned)std::min<u64>(ceil_div(p.segments, 256), 4096);
    const unsigned grid_long = (unsigned)std::min<u64>(p.segments, 4096);
    if (p.name) {
        at = make_offsets(p);
        CHECK(cudaMemcpy(offsets, at.data(), at.size() * 8, cudaMemcpyHostToDevice));
        reference_segreduce_short_offsets<C>
            <<<grid, 256, 0, stream>>>(input, offsets, expected, magnitude, p.segments);
        reference_segreduce_long_offsets<C>
            <<<grid_long, 256, 0, stream>>>(input, offsets, expected, magnitude, p.segments);
    } else {
        reference_segreduce_short<C>
            <<<grid, 256, 0, stream>>>(input, expected, magnitude, p.segments, p.segment);
        reference_segreduce_long<C>
            <<<grid_long, 256, 0, stream>>>(input, expected, magnitude, p.segments, p.segment);
    }
    CHECK(cudaStreamSynchronize(stream));
    for (u64 s : {(u64)0, p.segments / 2, p.segments - 1}) { // the reference itself
        const u64 begin = p.name ? at[s] : s * p.segment,
                  end = p.name ? at[s + 1] : begin + p.segment;
        double sum = 0, got;
        for (u64 i = begin; i < end && end - begin <= 1 << 22; i++)
            sum += element_at(i);
        CHECK(cudaMemcpy(&got, expected + s, 8, cudaMemcpyDeviceToHost));
        if (end - begin <= 1 << 22 && got != sum) {
            std::printf("the reference is WRONG: segment %llu: %g, not %g\n", s, got, sum);
            std::exit(1);
        }
    }
}

static int failures, checks;

static void measure(const problem &p, bool quick, FILE *csv)
{
    std::vector<contender> who;
    make_expected(p);
    for (const candidate &c : candidates)
        if (suits(c, p)) {
            const u32 bad = count_wrong(c, p);
            failures += bad != 0;
            if (bad)
                std::printf("WRONG: %u segments: %s\n", bad, text_of(c).c_str());
            else
                who.push_back({text_of(c), &c, {}});
        }
    const size_t tried = who.size();
    const double bytes = 4.0 * (double)(p.n + p.segments) + (p.name ? 8.0 * (p.segments + 1) : 0);
    rounds(who, p, 3);
    if (csv)
        for (const contender &c : who)
            std::fprintf(csv, "%s,%llu,%llu,%.3f,%s\n", p.name ? p.name : "equal", p.segments,
                         p.segment, c.median(), c.name.c_str());
    std::sort(who.begin(), who.end(),
              [](const contender &a, const contender &b) { return a.median() < b.median(); });
    if (who.size() > 8)
        who.resize(8);
    rounds(who, p, 15);
    std::sort(who.begin(), who.end(),
              [](const contender &a, const contender &b) { return a.median() < b.median(); });
    if (who.size() > 4)
        who.resize(4);
    who.push_back({text_of(candidates[0]), &candidates[0], {}}); // the default
    who.push_back({"CUB", NULL, {}});
    for (contender &c : who)
        c.samples.clear();
    rounds(who, p, quick ? 21 : 101);
    const contender &cub = who.back();
    std::printf("\n%s %llu x %llu: %zu tried; CUB %.2f us %.0f GB/s, default %.2f us\n",
                p.name ? p.name : "equal", p.segments, p.segment, tried, cub.median(),
                bytes / 1e3 / cub.median(), who[who.size() - 2].median());
    for (size_t i = 0; i + 2 < who.size() && i < 3; i++) {
        std::vector<float> ratio(cub.samples);
        for (size_t k = 0; k < ratio.size(); k++)
            ratio[k] /= who[i].samples[k];
        std::sort(ratio.begin(), ratio.end());
        std::printf("  %8.2f us %6.0f GB/s  x%.3f CUB [%.3f %.3f]  %s\n", who[i].median(),
                    bytes / 1e3 / who[i].median(), ratio[ratio.size() / 2], ratio[ratio.size() / 4],
                    ratio[3 * ratio.size() / 4], who[i].name.c_str());
    }
    std::fflush(stdout);
}

// --- right or wrong --------------------------------------------------------------------------------
template <class T> __global__ void fill_type(T *to, u64 n)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n;
         i += (u64)gridDim.x * blockDim.x)
        to[i] = element<T>::narrow((typename element<T>::accumulator)element_at(i));
}
template <class T, class R>
__global__ void compare_type(const T *got, const R *right, u64 n, u32 *count)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n;
         i += (u64)gridDim.x * blockDim.x)
        if (bits_of(got[i]) !=
            bits_of(element<T>::narrow((typename element<T>::accumulator)right[i])))
            atomicAdd(count, 1u);
}

template <class T, int OP, int L, int METHOD, int LANES, int BATCH, int BLOCK, int UNROLL>
struct check_config
    : config<T, L, METHOD, LANES, BATCH, BLOCK, 16 / (int)sizeof(T) < 8 ? 16 / (int)sizeof(T) : 8,
             UNROLL, 4, LOAD_plain, JOIN_dependent> {
    static const int op = OP;
};

template <class T, int OP, int METHOD, int LANES, int BATCH, int BLOCK, int UNROLL>
static void check_one(const problem &p, u32 skip)
{
    typedef check_config<T, OP, layout_equal, METHOD, LANES, BATCH, BLOCK, UNROLL> E;
    typedef check_config<T, OP, layout_offsets, METHOD, LANES, BATCH, BLOCK, UNROLL> O;
    typedef typename reference_type<T>::R R;
    float *const kept = input;
    candidate c = {METHOD, LANES, BATCH, BLOCK, E::VEC, UNROLL, 4, LOAD_plain, JOIN_dependent, 2};
    kernels_of<METHOD>::template put<E, O>(c);
    c.equal_blocks = c.varied_blocks = 2;
    if (!is_allowed(plan_of(c, p, sizeof(T))))
        return;
    const T *in = (T *)input + skip;
    if (p.name)
        reference_segreduce_short_offsets<O>
            <<<64, 256, 0, stream>>>(in, offsets, (R *)expected, magnitude, p.segments);
    else
        reference_segreduce_short<E>
            <<<64, 256, 0, stream>>>(in, (R *)expected, magnitude, p.segments, p.segment);
    if (p.name)
        reference_segreduce_long_offsets<O>
            <<<64, 256, 0, stream>>>(in, offsets, (R *)expected, magnitude, p.segments);
    else
        reference_segreduce_long<E>
            <<<64, 256, 0, stream>>>(in, (R *)expected, magnitude, p.segments, p.segment);
    u32 count;
    CHECK(cudaMemsetAsync(output, 0xff, p.segments * 8, stream));
    CHECK(cudaMemsetAsync(storage, 0xa5, storage_bytes, stream));
    CHECK(cudaMemsetAsync(wrong, 0, 4, stream));
    input = (float *)(void *)in;
    launch(c, p, sizeof(T));
    input = kept;
    compare_type<T, R>
        <<<64, 256, 0, stream>>>((const T *)(void *)output, (const R *)expected, p.segments, wrong);
    CHECK(cudaMemcpyAsync(&count, wrong, 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    checks++;
    failures += count != 0;
    if (count)
        std::printf("WRONG: %u of %llu x %llu %s, off by %u, type of %zu bytes, operation %d: %s\n",
                    count, p.segments, p.segment, p.name ? p.name : "equal", skip, sizeof(T), OP,
                    text_of(c).c_str());
}

template <class T, int OP> static void check_methods(const problem &p, u32 skip)
{
    check_one<T, OP, METHOD_by_block, 32, 1, 128, 2>(p, skip);
    check_one<T, OP, METHOD_by_lanes, 1, 2, 64, 2>(p, skip);
    check_one<T, OP, METHOD_by_lanes, 8, 1, 128, 4>(p, skip);
    check_one<T, OP, METHOD_staged, 2, 1, 128, 2>(p, skip);
    check_one<T, OP, METHOD_split_warps, 32, 1, 128, 4>(p, skip);
    check_one<T, OP, METHOD_split_blocks, 32, 1, 128, 4>(p, skip);
}

template <class T> static void check_type()
{
    const problem problems[] = {{NULL, 1, 0, 0},
                                {NULL, 1, 1, 1},
                                {NULL, 700, 3, 2100},
                                {NULL, 33, 131, 4323},
                                {NULL, 3, 40961, 122883},
                                {NULL, 300, 16, 4800},
                                {"random", 500, 20, 10000},
                                {"skewed", 900, 100, 90000},
                                {"single", 70, 700, 49000},
                                {"random", 5, 10007, 50035}};
    fill_type<T><<<64, 256, 0, stream>>>((T *)(void *)input, 1 << 20);
    for (const problem &p : problems) {
        if (p.name) {
            const std::vector<u64> at = make_offsets(p);
            CHECK(cudaMemcpy(offsets, at.data(), at.size() * 8, cudaMemcpyHostToDevice));
        }
        for (u32 skip : {0u, 1u, 3u}) {
            check_methods<T, op_sum>(p, skip);
            check_methods<T, op_min>(p, skip);
            check_methods<T, op_max>(p, skip);
        }
    }
}

static void check_all()
{
#ifdef ONLY_CHECK
    check_type<ONLY_CHECK>();
#else
    check_type<float>();
    check_type<double>();
    check_type<int>();
    check_type<u64>();
    check_type<simtune_half>();
    check_type<simtune_bfloat16>();
#endif
    std::printf("%d checks, %d failures\n", checks, failures);
}

int main(int argc, char **argv)
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); // loading a kernel behind the gate waits for ever
    bool quick = false, check = false;
    FILE *csv = NULL;
    for (int i = 1; i < argc; i++)
        if (!std::strcmp(argv[i], "--quick"))
            quick = true;
        else if (!std::strcmp(argv[i], "--check"))
            check = true;
        else if (!(csv = std::fopen((std::string(argv[i]) + "/segreduce_vs_cub.csv").c_str(), "w")))
            std::perror(argv[i]);
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    sm_count = properties.multiProcessorCount;
    std::printf("%s, %d SMs, CUB %d.%d\n", properties.name, sm_count, CUB_MAJOR_VERSION,
                CUB_MINOR_VERSION);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaHostAlloc((void **)&gate_host, 64, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&gate_device, (void *)gate_host, 0));
    flush_bytes = 2 * (size_t)properties.l2CacheSize + (8 << 20);
    CHECK(cudaMalloc(&flush_buffer, flush_bytes));
    CHECK(cudaMemset(flush_buffer, 1, flush_bytes));
    const size_t elements = check ? 1 << 22 : most_elements;
    const size_t segments = check ? 1 << 16 : most_segments;
    CHECK(cudaMalloc(&input, elements * 4));
    CHECK(cudaMalloc(&output, segments * 8));
    CHECK(cudaMalloc(&expected, segments * 8));
    CHECK(cudaMalloc(&magnitude, segments * 8));
    CHECK(cudaMalloc(&offsets, (segments + 1) * 8));
    CHECK(cudaMalloc(&wrong, 4));
    CHECK(cudaMalloc(&storage, storage_bytes));
    CHECK(cudaEventCreate(&begin_event));
    CHECK(cudaEventCreate(&end_event));
    if (check) {
        check_all();
        return failures != 0;
    }
    fill<<<8 * sm_count, 256, 0, stream>>>(input, most_elements);
    make_all();
    const problem problems[] = {
        {NULL, 1 << 20, 256, 1 << 28},         {NULL, 256, 1 << 20, 1 << 28},
        {NULL, 1 << 26, 4, 1 << 28},           {NULL, 1 << 24, 16, 1 << 28},
        {NULL, 1 << 22, 64, 1 << 28},          {NULL, 1 << 16, 1 << 12, 1 << 28},
        {NULL, 1 << 12, 1 << 16, 1 << 28},     {NULL, 16, 1 << 24, 1 << 28},
        {NULL, 1 << 20, 251, 251ull << 20},    {NULL, 1 << 22, 33, 33ull << 22},
        {NULL, 1 << 24, 7, 7ull << 24},        {NULL, 1 << 12, 256, 1 << 20},
        {NULL, 256, 1 << 12, 1 << 20},         {NULL, 16, 1 << 16, 1 << 20},
        {"random", 1 << 20, 256, 1 << 28},     {"random", 1 << 24, 16, 1 << 28},
        {"random", 1 << 12, 1 << 16, 1 << 28}, {"random", 1 << 22, 64, 1 << 28},
        {"random", 1 << 16, 1 << 12, 1 << 28}, {"skewed", 1 << 20, 256, 1 << 28},
        {"single", 1 << 20, 256, 1 << 28},
    };
    for (const problem &p : problems)
        measure(p, quick, csv);
    if (csv)
        std::fclose(csv);
    std::printf("\n%d failures\n", failures);
    return failures != 0;
}
