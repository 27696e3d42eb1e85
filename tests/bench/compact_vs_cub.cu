// SPDX-License-Identifier: Apache-2.0
// Times hand-picked configurations of templates/compact.cu beside cub::DeviceSelect::Flagged: float32, byte flags,
// kept in order, at the same guarantee and under the same contract: temporary storage is filled with garbage before
// every sample. Every configuration's output is compared, element by element, with what CUB kept (and CUB's once with
// the CPU's), and what lies beyond the count must be untouched.
//
// A gate kernel holds the stream until everything is queued, so launch gaps of the host stay out; more than twice L2 is
// read before each sample. First every candidate a few times, then the best few interleaved with CUB in random order;
// reported are medians and the median of the ratios of neighbours.
//
//   nvcc -O2 -std=c++17 -arch=sm_90 -Itemplates tests/bench/compact_vs_cub.cu -o compact_vs_cub
//   ./compact_vs_cub [FOLDER for all figures as CSV]
#include <cub/cub.cuh>

#include "compact.cu"
#include "measure.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
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

using namespace simtune;

// --- configurations ------------------------------------------------------------------------------
template <int Method, int Block, int Items, int Vec, int Stages, int Scatter, int Rank, int MinBlocks,
          int Empty, int Cluster = 1, int Store = STORE_streaming, int Window = 4, int Backoff = 0>
struct config {
    typedef float T;
    static const int select = select_flagged, order = order_ordered, pattern = pattern_random;
    static const int METHOD = Method, BLOCK = Block, ITEMS = Items, VEC = Vec, STAGES = Stages,
                     SCATTER = Scatter, RANK = Rank, MIN_BLOCKS = MinBlocks, EMPTY = Empty,
                     CLUSTER = Cluster, STORE = Store, WINDOW = Window, BACKOFF = Backoff;
};

struct arguments {
    const float *in;
    const unsigned char *flags;
    float *out;
    unsigned long long *count, *temp;
    unsigned long long n;
    cudaStream_t stream;
};

static int sm_count;
static const size_t temp_bytes = 64 << 20;

static u64 ceil_div(u64 a, u64 b) {
    return (a + b - 1) / b;
}

template <class C, int METHOD = C::METHOD> struct form;

template <class C> static size_t stage_bytes() {
    return C::SCATTER == SCATTER_staged ? C::BLOCK * C::ITEMS * sizeof(float) : 0;
}

// Empties `words` of the state, or the count.
template <class C> static void empty(const arguments &a, u64 words) {
    if (C::EMPTY == EMPTY_memset) {
        CHECK(cudaMemsetAsync(words ? a.temp : a.count, 0, words ? words * 8 : 8, a.stream));
        return;
    }
    void *args[] = {(void *)&a.temp, &words, (void *)&a.count};
    CHECK(launch_kernel((const void *)compact_empty<C>, std::min<u64>(ceil_div(words + 1, 256), sm_count), 256, 0, 1,
                false, args, a.stream));
}

template <class C> struct form<C, METHOD_scan_scatter> {
    static const void *kernel() { return (const void *)compact_scatter<C>; }
    static size_t shared() { return stage_bytes<C>(); }
    static bool fits(u64) { return true; }
    static void run(const arguments &a) {
        const void *none = nullptr;
        float limit = 0;
        u64 tiles = std::max<u64>(1, ceil_div(a.n, C::BLOCK * C::ITEMS));
        const u64 dealt = std::min<u64>(tiles, (u64)sm_count * C::MIN_BLOCKS);
        u64 share = ceil_div(tiles, dealt);
        const u64 blocks = ceil_div(tiles, share);
        void *count_args[] = {(void *)&a.in, (void *)&a.flags, &none, (void *)&a.temp, (void *)&a.n,
                              &limit, &share, &tiles};
        CHECK(launch_kernel((const void *)compact_count<C>, blocks, C::BLOCK, 0, 1, false, count_args, a.stream));
        void *args[] = {(void *)&a.in, (void *)&a.flags, &none, (void *)&a.out, (void *)&a.count,
                        (void *)&a.temp, (void *)&a.n, &limit, &share, &tiles};
        CHECK(launch_kernel(kernel(), blocks, C::BLOCK, shared(), 1, C::EMPTY == EMPTY_dependent, args, a.stream));
    }
};

template <class C> struct form<C, METHOD_one_block> {
    static const void *kernel() { return (const void *)compact_one_block<C>; }
    static size_t shared() { return stage_bytes<C>(); }
    static bool fits(u64 n) { return n <= 65536; }
    static void run(const arguments &a) {
        const void *none = nullptr;
        float limit = 0;
        u64 tiles = std::max<u64>(1, ceil_div(a.n, C::BLOCK * C::ITEMS));
        void *args[] = {(void *)&a.in, (void *)&a.flags, &none, (void *)&a.out, (void *)&a.count,
                        (void *)&a.n, &limit, &tiles};
        CHECK(launch_kernel(kernel(), 1, C::BLOCK, shared(), 1, false, args, a.stream));
    }
};

template <class C> struct form<C, METHOD_cluster> {
    static const void *kernel() { return (const void *)compact_cluster<C>; }
    static size_t shared() { return stage_bytes<C>(); }
    static bool fits(u64 n) { return n <= 1 << 20; }
    static void run(const arguments &a) {
        const void *none = nullptr;
        float limit = 0;
        u64 tiles = std::max<u64>(1, ceil_div(a.n, C::BLOCK * C::ITEMS)), share = ceil_div(tiles, C::CLUSTER);
        void *args[] = {(void *)&a.in, (void *)&a.flags, &none, (void *)&a.out, (void *)&a.count,
                        (void *)&a.n, &limit, &share, &tiles};
        CHECK(launch_kernel(kernel(), C::CLUSTER, C::BLOCK, shared(), C::CLUSTER, false, args, a.stream));
    }
};

template <class C> struct form<C, METHOD_look_back> {
    static const void *kernel() { return (const void *)compact_look_back<C>; }
    static size_t shared() { return stage_bytes<C>(); }
    static bool fits(u64) { return true; }
    static void run(const arguments &a) {
        const void *none = nullptr;
        float limit = 0;
        u64 tiles = std::max<u64>(1, ceil_div(a.n, C::BLOCK * C::ITEMS));
        empty<C>(a, tiles + TILE_HEAD_WORDS);
        void *args[] = {(void *)&a.in, (void *)&a.flags, &none, (void *)&a.out, (void *)&a.count,
                        (void *)&a.temp, (void *)&a.n, &limit, &tiles};
        CHECK(launch_kernel(kernel(), tiles, C::BLOCK, shared(), 1, C::EMPTY == EMPTY_dependent, args, a.stream));
    }
};

template <class C> struct pipelined_form {
    static const void *kernel() { return (const void *)compact_pipelined<C>; }
    typedef compact_pipeline<C> line;
    static size_t shared() {
        return C::STAGES * (size_t)(compact_pipeline<C>::DATA_SLOT + compact_pipeline<C>::FLAG_SLOT);
    }
    static bool fits(u64) { return true; }
    static void run(const arguments &a) {
        const void *none = nullptr;
        float limit = 0;
        u64 tiles = std::max<u64>(1, ceil_div(a.n, C::BLOCK * C::ITEMS));
        empty<C>(a, tiles + TILE_HEAD_WORDS);
        void *args[] = {(void *)&a.in, (void *)&a.flags, &none, (void *)&a.out, (void *)&a.count,
                        (void *)&a.temp, (void *)&a.n, &limit, &tiles};
        CHECK(launch_kernel(kernel(), std::min<u64>(tiles, (u64)sm_count * C::MIN_BLOCKS),
                            compact_pipeline<C>::THREADS, shared(), 1, C::EMPTY == EMPTY_dependent, args, a.stream));
    }
};

template <class C> struct form<C, METHOD_pipelined_look_back> : pipelined_form<C> {};
template <class C> struct form<C, METHOD_pipelined_wave> : pipelined_form<C> {};

struct contender {
    std::string name;
    void (*run)(const arguments &);
    bool (*fits)(u64);
    int tile, method;
    std::vector<float> samples; // µs
    float median() const {
        std::vector<float> sorted(samples);
        std::sort(sorted.begin(), sorted.end());
        return sorted[sorted.size() / 2];
    }
};
static std::vector<contender> candidates;

template <class C> static void add() {
    static const char *const methods[] = {"simple", "atomic", "warp_agg", "block_agg", "scan_scatter", "look_back",
                                          "pipelined", "wave", "one_block", "cluster", "quadratic"};
    static const char *const empties[] = {"memset", "kernel", "dependent"};
    const void *const kernel = form<C>::kernel();
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)form<C>::shared())) {
        cudaGetLastError();
        std::printf("does not fit: %zu bytes\n", form<C>::shared());
        return;
    }
    cudaFuncAttributes facts;
    CHECK(cudaFuncGetAttributes(&facts, kernel));
    int resident = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &resident, kernel,
        C::METHOD == METHOD_pipelined_look_back || C::METHOD == METHOD_pipelined_wave ? C::BLOCK + 96 : C::BLOCK, form<C>::shared()));
    char text[256];
    std::snprintf(text, sizeof text, "%s %dx%d/%d stages %d %s %s blocks %d (%d) %s c%d%s window %d backoff %d %d regs%s", methods[C::METHOD], C::BLOCK,
                  C::ITEMS, C::VEC, C::STAGES, C::SCATTER == SCATTER_staged ? "staged" : "direct",
                  C::RANK == RANK_scan ? "scan" : "ballot", C::MIN_BLOCKS, resident, empties[C::EMPTY],
                  C::CLUSTER, C::STORE == STORE_plain ? " plain" : "", C::WINDOW, C::BACKOFF, facts.numRegs,
                  facts.localSizeBytes ? " SPILLS" : "");
    if (resident == 0)
        return;
    contender who = {text, form<C>::run, form<C>::fits, C::BLOCK * C::ITEMS, C::METHOD, {}};
    candidates.push_back(who);
}

template <int Method, int Block, int Items, int Stages, int MinBlocks, int Scatter = SCATTER_staged,
          int Window = 8, int Empty = EMPTY_memset, int Rank = RANK_scan>
static void ring() {
    add<config<Method, Block, Items, 4, Stages, Scatter, Rank, MinBlocks, Empty, 1, STORE_streaming,
               Window>>();
}
template <int Method, int Block, int Items, int MinBlocks, int Empty = EMPTY_dependent,
          int Scatter = SCATTER_staged, int Cluster = 1, int Rank = RANK_scan>
static void block() {
    add<config<Method, Block, Items, 4, 1, Scatter, Rank, MinBlocks, Empty, Cluster,
               STORE_streaming, 1>>();
}

static void add_all() {
    const int WAVE = METHOD_pipelined_wave, LOOK = METHOD_look_back, SHARE = METHOD_scan_scatter;
    ring<WAVE, 256, 32, 5, 1>();
    ring<WAVE, 256, 32, 5, 1, SCATTER_direct>();
    ring<WAVE, 256, 32, 5, 1, SCATTER_staged, 8, EMPTY_dependent>();
    ring<WAVE, 256, 32, 4, 1>();
    ring<WAVE, 384, 24, 4, 1>();
    ring<WAVE, 384, 16, 5, 1>();
    ring<WAVE, 256, 24, 5, 1>();
    ring<WAVE, 256, 48, 3, 1>();
    ring<WAVE, 256, 48, 3, 1, SCATTER_direct>();
    ring<WAVE, 384, 32, 3, 1>();
    ring<WAVE, 512, 16, 5, 1>();
    ring<WAVE, 512, 24, 3, 1>();
    ring<WAVE, 128, 32, 4, 2>();
    ring<WAVE, 128, 32, 5, 2>();
    ring<WAVE, 128, 48, 3, 2>();
    ring<METHOD_pipelined_look_back, 256, 16, 3, 3, SCATTER_staged, 1>();
    block<SHARE, 512, 16, 2>();
    block<SHARE, 512, 8, 2>();
    block<SHARE, 512, 8, 2, EMPTY_dependent, SCATTER_direct>();
    block<SHARE, 256, 8, 4>();
    block<SHARE, 256, 16, 4>();
    block<SHARE, 1024, 8, 2>();
    block<LOOK, 512, 16, 4>();
    block<LOOK, 256, 16, 4, EMPTY_memset>();
    block<METHOD_cluster, 512, 16, 4, EMPTY_memset, SCATTER_staged, 8>();
    block<METHOD_cluster, 1024, 8, 4, EMPTY_memset, SCATTER_staged, 8>();
    block<METHOD_cluster, 1024, 16, 4, EMPTY_memset, SCATTER_staged, 4>();
    block<METHOD_one_block, 1024, 16, 4, EMPTY_memset>();
}

// --- measuring -----------------------------------------------------------------------------------
static volatile int *gate_host;
static int *gate_device;
static int4 *flush_buffer;
static size_t flush_bytes;
static float *input, *output, *expected;
static unsigned char *flags;
static unsigned long long *temp, *count, *expected_count, *wrong;
static cudaEvent_t begin_event, end_event;
static cudaStream_t stream;

__device__ u64 mixed(u64 i) {
    u64 z = (i + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
__global__ void fill_values(float *to, u64 n) {
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        to[i] = __uint_as_float((unsigned)mixed(i) & 0xbfffffffu);
}
// `run`: neighbours that share a choice.
__global__ void fill_flags(unsigned char *to, u64 n, unsigned per_mille, u64 run) {
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        to[i] = mixed(i / run + 77) % 1000 < per_mille ? 1 + mixed(i) % 255 : 0;
}
__global__ void count_wrong(const unsigned *got, const unsigned *right, u64 n, unsigned long long *wrong) {
    unsigned long long bad = 0;
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        bad += got[i] != right[i];
    if (bad)
        atomicAdd(wrong, bad);
}

static void run_cub(const arguments &a) {
    size_t bytes = temp_bytes;
    CHECK(cub::DeviceSelect::Flagged(a.temp, bytes, a.in, a.flags, a.out, a.count, (long long)a.n, a.stream));
}
static bool any(u64) {
    return true;
}

static float sample(const contender &who, const arguments &a) {
    CHECK(cudaMemsetAsync(temp, 0xa5, 1 << 20, stream));
    read_all<<<8 * sm_count, 256, 0, stream>>>(flush_buffer, flush_bytes / 16, gate_device + 8);
    CHECK(cudaStreamSynchronize(stream));
    *gate_host = 0;
    gate<<<1, 1, 0, stream>>>(gate_device);
    CHECK(cudaEventRecord(begin_event, stream));
    who.run(a);
    CHECK(cudaEventRecord(end_event, stream));
    *gate_host = 1;
    CHECK(cudaEventSynchronize(end_event));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin_event, end_event));
    return ms * 1000;
}

// A figure of a wrong result is worth nothing.
static bool verify(const contender &who, const arguments &a) {
    CHECK(cudaMemsetAsync(temp, 0xa5, temp_bytes, stream));
    CHECK(cudaMemsetAsync(output, 0xff, a.n * 4, stream));
    CHECK(cudaMemsetAsync(count, 0xff, 8, stream));
    CHECK(cudaMemsetAsync(wrong, 0, 8, stream));
    who.run(a);
    count_wrong<<<8 * sm_count, 256, 0, stream>>>((unsigned *)output, (unsigned *)expected, a.n, wrong);
    unsigned long long bad, got, right;
    CHECK(cudaMemcpyAsync(&bad, wrong, 8, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(&got, count, 8, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(&right, expected_count, 8, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (bad || got != right)
        std::printf("WRONG: %llu of %llu elements, count %llu for %llu: %s\n", bad, a.n, got, right,
                    who.name.c_str());
    return !bad && got == right;
}

static void rounds(std::vector<contender> &who, const arguments &a, int count) {
    static std::mt19937 random(7);
    std::vector<size_t> order(who.size());
    for (size_t i = 0; i < order.size(); i++)
        order[i] = i;
    for (int r = 0; r < count; r++) {
        std::shuffle(order.begin(), order.end(), random);
        for (size_t i : order)
            who[i].samples.push_back(sample(who[i], a));
    }
}

static void sort_and_cut(std::vector<contender> &who, size_t keep) {
    std::sort(who.begin(), who.end(),
              [](const contender &a, const contender &b) { return a.median() < b.median(); });
    if (who.size() > keep)
        who.resize(keep);
}

static void measure(int log_n, int percent, u64 run, FILE *csv) {
    arguments a = {input, flags, expected, expected_count, temp, 1ull << log_n, stream};
    fill_flags<<<8 * sm_count, 256, 0, stream>>>(flags, a.n, percent * 10, run);
    CHECK(cudaMemsetAsync(expected, 0xff, a.n * 4, stream));
    run_cub(a);
    a.out = output;
    a.count = count;
    std::vector<contender> who;
    for (const contender &c : candidates)
        if (c.fits(a.n) && (log_n > 16 || c.tile <= 16384) && verify(c, a))
            who.push_back(c);
    const size_t tried = who.size();
    const bool big = log_n >= 26;
    rounds(who, a, big ? 5 : 7);
    sort_and_cut(who, who.size());
    for (const contender &c : who)
        if (csv)
            std::fprintf(csv, "%d,%d,%llu,%.3f,%s\n", log_n, percent, run, c.median(), c.name.c_str());
    // The best few, and the best of each method.
    std::vector<contender> finals;
    std::vector<int> seen(16, 0);
    for (const contender &c : who)
        if (finals.size() < 6 || !seen[c.method]) {
            seen[c.method] = 1;
            finals.push_back(c);
        }
    who = finals;
    who.push_back(contender{"CUB", run_cub, any, 0, 0, {}});
    rounds(who, a, 2);
    for (contender &c : who)
        c.samples.clear();
    rounds(who, a, big ? 21 : 81);
    const contender cub = who.back();
    unsigned long long kept;
    CHECK(cudaMemcpy(&kept, expected_count, 8, cudaMemcpyDeviceToHost));
    const double bytes = a.n * 5.0 + kept * 4.0;
    std::printf("2^%d %d %% run %llu: %zu tried; CUB %.2f us %.0f GB/s\n", log_n, percent, run, tried, cub.median(),
                bytes * 1e-3 / cub.median());
    for (size_t i = 0; i + 1 < who.size(); i++) {
        std::vector<float> ratio(cub.samples);
        for (size_t k = 0; k < ratio.size(); k++)
            ratio[k] /= who[i].samples[k];
        std::sort(ratio.begin(), ratio.end());
        std::printf("  %8.2f us %6.0f GB/s  x%.3f  %s\n", who[i].median(), bytes * 1e-3 / who[i].median(),
                    ratio[ratio.size() / 2], who[i].name.c_str());
    }
    std::fflush(stdout);
}

// CUB is what the others are compared with: it is compared with the CPU once.
static void verify_cub() {
    const arguments a = {input, flags, expected, expected_count, temp, 1000003, stream};
    fill_flags<<<8 * sm_count, 256, 0, stream>>>(flags, a.n, 500, 1);
    run_cub(a);
    std::vector<unsigned> values(a.n), kept(a.n);
    std::vector<unsigned char> chosen(a.n);
    unsigned long long total;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(values.data(), input, a.n * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(kept.data(), expected, a.n * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(chosen.data(), flags, a.n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&total, expected_count, 8, cudaMemcpyDeviceToHost));
    size_t at = 0, bad = 0;
    for (size_t i = 0; i < a.n; i++)
        if (chosen[i])
            bad += at >= total || kept[at] != values[i], at++;
    std::printf("CUB beside the CPU, n = %llu: %s\n", a.n, bad || at != total ? "WRONG" : "the same");
}

// Other sizes and bases, one configuration after the other.
static void verify_all() {
    size_t checks = 0, failed = 0;
    for (u64 n : {0ull, 1ull, 31ull, 33ull, 1000ull, 4095ull, 4097ull, 65537ull, 1000003ull, 3000017ull})
        for (int base = 0; base < 3; base++) {
            arguments a = {input + (base & 1), flags + base, expected, expected_count, temp, n, stream};
            fill_flags<<<8 * sm_count, 256, 0, stream>>>(flags, n + 2, 300 + 300 * base, 1 + 40 * (n % 2));
            CHECK(cudaMemsetAsync(expected, 0xff, n * 4, stream));
            run_cub(a);
            a.out = output;
            a.count = count;
            for (const contender &c : candidates)
                if (c.fits(n)) {
                    checks++;
                    failed += !verify(c, a);
                }
        }
    std::printf("%zu checks of %zu candidates at other sizes and bases: %zu wrong\n", checks, candidates.size(),
                failed);
}

int main(int argc, char **argv) {
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); // loading a kernel behind the gate would wait for ever
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    sm_count = properties.multiProcessorCount;
    std::printf("%s, %d SMs, L2 %d MiB, CUB %d.%d\n", properties.name, sm_count, properties.l2CacheSize >> 20,
                CUB_MAJOR_VERSION, CUB_MINOR_VERSION);
    const u64 most = 1ull << 28;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaHostAlloc((void **)&gate_host, 64, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&gate_device, (void *)gate_host, 0));
    flush_bytes = 2 * (size_t)properties.l2CacheSize + (8 << 20);
    CHECK(cudaMalloc(&flush_buffer, flush_bytes));
    CHECK(cudaMemset(flush_buffer, 1, flush_bytes));
    CHECK(cudaMalloc(&input, most * 4));
    CHECK(cudaMalloc(&output, most * 4));
    CHECK(cudaMalloc(&expected, most * 4));
    CHECK(cudaMalloc(&flags, most));
    CHECK(cudaMalloc(&temp, temp_bytes));
    CHECK(cudaMalloc(&count, 32));
    expected_count = count + 1;
    wrong = count + 2;
    CHECK(cudaEventCreate(&begin_event));
    CHECK(cudaEventCreate(&end_event));
    fill_values<<<8 * sm_count, 256, 0, stream>>>(input, most);
    add_all();
    FILE *csv = NULL;
    if (argc > 1 && !(csv = std::fopen((std::string(argv[1]) + "/compact_vs_cub.csv").c_str(), "w")))
        std::perror(argv[1]);
    verify_cub();
    verify_all();
    for (int log_n : {28, 24, 20, 16})
        for (int percent : {50, 1, 100})
            measure(log_n, percent, 1, csv);
    measure(28, 10, 1, csv);
    measure(28, 90, 1, csv);
    measure(28, 50, 1000, csv);
    if (csv)
        std::fclose(csv);
    return 0;
}
