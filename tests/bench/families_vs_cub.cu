// SPDX-License-Identifier: Apache-2.0
// The generated headers of scan, compact and segreduce beside CUB: exclusive sums, selection by byte flags, sums of
// equal segments. Both find anything in their temporary storage: it is filled with 0xFF before every sample, outside
// what is timed. Floating-point scans promise the same of both: right within the bound, not the same bits.
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -c cub_calls.cu
//     nvcc -O3 -std=c++17 -arch=sm_90 -I FOLDER_OF_THE_HEADERS families_vs_cub.cu cub_calls.o -o families_vs_cub
//     ./families_vs_cub [--rounds N] [--csv FILE] [--warm] [WORD…]      only cases whose name holds one of the words
//
// cold: twice L2 and more is read before each sample; --warm adds samples right after the same call. A gate kernel
// holds the stream until everything is queued, so that the host's launch latency is in no time. Every round takes
// one sample of each in random order; reported are medians, the ratio of the medians, and its 95 % interval from a
// bootstrap over rounds. Ends with 1 when a result is wrong or a target of the project is missed.
#include "cub_calls.h"
#include "measure.cuh"

#include "simtune_compact.h"
#include "simtune_scan.h"
#include "simtune_segreduce.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const cudaError_t code_ = (call);                                                          \
        if (code_ != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                     \
                         cudaGetErrorString(code_));                                               \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// --- the device ------------------------------------------------------------------------------------
static cudaStream_t stream;
static cudaEvent_t begin_event, end_event;
static volatile int *gate_host;
static int *gate_device;
static int4 *flush_buffer;
static size_t flush_bytes;
static cudaDeviceProp device;
static char *memory_in, *memory_out, *memory_other; // of the largest case: inputs, outputs, what CUB gave
static unsigned char *flags;
static unsigned long long *counts; // ours, CUB's, mismatches

static void open_device(size_t bytes)
{
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin_event));
    CHECK(cudaEventCreate(&end_event));
    CHECK(cudaHostAlloc((void **)&gate_host, 64, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&gate_device, (void *)gate_host, 0));
    flush_bytes = 2 * (size_t)device.l2CacheSize + (16 << 20);
    CHECK(cudaMalloc(&flush_buffer, flush_bytes));
    CHECK(cudaMemset(flush_buffer, 1, flush_bytes));
    CHECK(cudaMalloc(&memory_in, bytes));
    CHECK(cudaMalloc(&memory_out, bytes));
    CHECK(cudaMalloc(&memory_other, bytes));
    CHECK(cudaMalloc(&flags, (size_t)1 << 28));
    CHECK(cudaMalloc(&counts, 64));
}

// --- data --------------------------------------------------------------------------------------------
// 1 at every place that `stride` divides: sums are exact in every type and any order.
template <class T> __global__ void fill_sparse(T *to, size_t n, size_t stride)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)
        to[i] = (T)(i % stride == 0 ? 1.0f : 0.0f);
}

template <class T>
__global__ void check_prefix(const T *out, size_t n, size_t stride, unsigned long long *mismatches)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)
        if ((double)(float)out[i] != (double)(float)((i + stride - 1) / stride))
            atomicAdd(mismatches, 1ull);
}

__global__ void check_segments(const float *out, size_t segments, size_t segment, size_t stride,
                               unsigned long long *mismatches)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < segments; i += step) {
        const size_t first = (i * segment + stride - 1) / stride, last = ((i + 1) * segment + stride - 1) / stride;
        if (out[i] != (float)(last - first))
            atomicAdd(mismatches, 1ull);
    }
}

__host__ __device__ inline unsigned hash_of(unsigned long long i)
{
    i = (i + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebull;
    return (unsigned)(i >> 33);
}

// Every element another number; flagged: about `percent` of them.
__global__ void fill_select(float *to, unsigned char *flag, size_t n, unsigned percent)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step) {
        to[i] = __int_as_float((int)(0x3f800000u | (hash_of(~i) & 0x7fffffu)));
        flag[i] = hash_of(i) % 100 < percent;
    }
}

__global__ void check_same(const unsigned *a, const unsigned *b, const unsigned long long *counts_of_both,
                           unsigned long long *mismatches)
{
    const size_t step = (size_t)gridDim.x * blockDim.x, n = counts_of_both[1];
    if (counts_of_both[0] != n && blockIdx.x + threadIdx.x == 0)
        atomicAdd(mismatches, 1ull);
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)
        if (a[i] != b[i])
            atomicAdd(mismatches, 1ull);
}

// --- cases -----------------------------------------------------------------------------------------------
typedef std::function<cudaError_t(void *temp, size_t *bytes)> call;

struct contender {
    call run;
    void *temp;
    size_t bytes;
    std::vector<double> samples; // us
};

struct test_case {
    std::string name;
    size_t n;
    double bytes;        // that one run must move
    double ratio, gbs;   // what is to be reached; 0: nothing
    call cub, simtune;
    std::function<void()> fill;
    std::function<void()> check; // adds to counts[2]; after both have run
    const simtune_config *config;
};
static std::vector<test_case> cases;

static unsigned blocks() { return 8 * (unsigned)device.multiProcessorCount; }

template <class T>
static void add_scan(const char *type, size_t n, double ratio, double gbs,
                     cudaError_t (*ours)(void *, size_t *, const T *, T *, size_t, cudaStream_t),
                     const simtune_config *config)
{
    const size_t stride = std::max<size_t>(64, n / 1024);
    T *const in = (T *)memory_in, *const out = (T *)memory_out, *const other = (T *)memory_other;
    cases.push_back(test_case{
        std::string("exclusive scan ") + type, n, 2.0 * n * sizeof(T), ratio, gbs,
        [=](void *temp, size_t *bytes) { return cub_exclusive_sum(temp, bytes, in, other, (unsigned)n, stream); },
        [=](void *temp, size_t *bytes) { return ours(temp, bytes, in, out, n, stream); },
        [=] { fill_sparse<<<blocks(), 256, 0, stream>>>(in, n, stride); },
        [=] {
            check_prefix<<<blocks(), 256, 0, stream>>>(out, n, stride, counts + 2);
            check_prefix<<<blocks(), 256, 0, stream>>>(other, n, stride, counts + 2);
        },
        config});
}

static int cc() { return device.major * 10 + device.minor; }

static void add_scans(size_t n)
{
    const bool large = n == (size_t)1 << 28;
    const int sms = device.multiProcessorCount;
    add_scan<float>("f32", n, large ? 0 : 1.15, large ? 3800 : 0, simtune_exclusive_scan_f32_sum,
                    simtune_exclusive_scan_f32_sum_config(cc(), sms, n));
    add_scan<int>("i32", n, large ? 0 : 1.15, large ? 3800 : 0, simtune_exclusive_scan_i32_sum,
                  simtune_exclusive_scan_i32_sum_config(cc(), sms, n));
    add_scan<double>("f64", n, large ? 0 : 1.1, large ? 3800 : 0, simtune_exclusive_scan_f64_sum,
                     simtune_exclusive_scan_f64_sum_config(cc(), sms, n));
    add_scan<long long>("i64", n, large ? 0 : 1.1, large ? 3800 : 0, simtune_exclusive_scan_i64_sum,
                        simtune_exclusive_scan_i64_sum_config(cc(), sms, n));
    add_scan<__half>("f16", n, large ? 0 : 1.1, large ? 3000 : 0, simtune_exclusive_scan_f16_sum,
                     simtune_exclusive_scan_f16_sum_config(cc(), sms, n));
}

static void add_compact(size_t n, unsigned percent, double ratio, double gbs)
{
    float *const in = (float *)memory_in, *const out = (float *)memory_out, *const other = (float *)memory_other;
    cases.push_back(test_case{
        "compact f32 " + std::to_string(percent) + " %", n, n * (4.0 * (1 + percent / 100.0) + 1), ratio, gbs,
        [=](void *temp, size_t *bytes) {
            return cub_select_flagged(temp, bytes, in, flags, other, counts + 1, (unsigned)n, stream);
        },
        [=](void *temp, size_t *bytes) {
            return simtune_compact_f32_flagged(temp, bytes, in, flags, out, counts, n, stream);
        },
        [=] { fill_select<<<blocks(), 256, 0, stream>>>(in, flags, n, percent); },
        [=] {
            check_same<<<blocks(), 256, 0, stream>>>((const unsigned *)out, (const unsigned *)other, counts,
                                                     counts + 2);
        },
        simtune_compact_f32_flagged_config(cc(), device.multiProcessorCount, n)});
}

// Read speed of the memory: what 80 % is asked of.
static double read_gbs = 4600;

static void add_segments(size_t segments, size_t segment)
{
    const size_t n = segments * segment, stride = 64;
    float *const in = (float *)memory_in, *const out = (float *)memory_out, *const other = (float *)memory_other;
    cases.push_back(test_case{
        "segreduce f32 " + std::to_string(segments) + " of " + std::to_string(segment), n, 4.0 * n, 1.2,
        0.8 * read_gbs,
        [=](void *temp, size_t *bytes) {
            return cub_segmented_sum(temp, bytes, in, other, (unsigned)segments, (unsigned)segment, stream);
        },
        [=](void *temp, size_t *bytes) {
            return simtune_segreduce_f32_sum(temp, bytes, in, out, segments, segment, stream);
        },
        [=] { fill_sparse<<<blocks(), 256, 0, stream>>>(in, n, stride); },
        [=] {
            check_segments<<<blocks(), 256, 0, stream>>>(out, segments, segment, stride, counts + 2);
            check_segments<<<blocks(), 256, 0, stream>>>(other, segments, segment, stride, counts + 2);
        },
        simtune_segreduce_f32_sum_config(cc(), device.multiProcessorCount, segments, segment)});
}

// --- measuring ---------------------------------------------------------------------------------------------
static void run(contender &who)
{
    size_t bytes = who.bytes;
    CHECK(who.run(who.temp, &bytes));
}

static void prepare(contender &who)
{
    who.bytes = 0;
    CHECK(who.run(nullptr, &who.bytes));
    CHECK(cudaMalloc(&who.temp, who.bytes ? who.bytes : 1));
    CHECK(cudaMemset(who.temp, 0xFF, who.bytes));
    run(who);
    CHECK(cudaStreamSynchronize(stream));
}

static double sample(contender &who, bool cold)
{
    if (!cold)
        run(who);
    CHECK(cudaMemsetAsync(who.temp, 0xFF, who.bytes, stream));
    if (cold)
        read_all<<<blocks(), 256, 0, stream>>>(flush_buffer, flush_bytes / sizeof(int4), gate_device + 8);
    CHECK(cudaStreamSynchronize(stream));
    *gate_host = 0;
    gate<<<1, 1, 0, stream>>>(gate_device);
    CHECK(cudaEventRecord(begin_event, stream));
    run(who);
    CHECK(cudaEventRecord(end_event, stream));
    *gate_host = 1;
    CHECK(cudaEventSynchronize(end_event));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin_event, end_event));
    return ms * 1e3;
}

static double median(std::vector<double> values)
{
    const size_t half = values.size() / 2;
    std::nth_element(values.begin(), values.begin() + half, values.end());
    if (values.size() % 2)
        return values[half];
    return (values[half] + *std::max_element(values.begin(), values.begin() + half)) / 2;
}

struct interval {
    double low, high;
};

// Of the ratio of the medians; a round's two samples stay together.
static interval bootstrap(const std::vector<double> &above, const std::vector<double> &below)
{
    const int draws = 1000;
    std::mt19937 random(11);
    std::uniform_int_distribution<size_t> pick(0, above.size() - 1);
    std::vector<double> ratios(draws), a(above.size()), b(above.size());
    for (int d = 0; d < draws; d++) {
        for (size_t i = 0; i < a.size(); i++) {
            const size_t from = pick(random);
            a[i] = above[from];
            b[i] = below[from];
        }
        ratios[d] = median(a) / median(b);
    }
    std::sort(ratios.begin(), ratios.end());
    return interval{ratios[draws / 40], ratios[draws - 1 - draws / 40]};
}

static bool measure(const test_case &of, contender (&both)[2], bool cold, int rounds, FILE *csv)
{
    static std::mt19937 random(7);
    const int settle = 5;
    for (contender &who : both)
        who.samples.clear();
    for (int r = -settle; r < rounds; r++) {
        const int first = random() & 1;
        for (int i = 0; i < 2; i++) {
            contender &who = both[first ^ i];
            const double us = sample(who, cold);
            if (r >= 0)
                who.samples.push_back(us);
        }
    }
    for (int w = 0; csv && w < 2; w++)
        for (size_t i = 0; i < both[w].samples.size(); i++)
            std::fprintf(csv, "%s,%zu,%s,%s,%zu,%.4f\n", of.name.c_str(), of.n, cold ? "cold" : "warm",
                         w ? "simtune" : "cub", i, both[w].samples[i]);
    const double cub = median(both[0].samples), ours = median(both[1].samples);
    const interval range = bootstrap(both[0].samples, both[1].samples);
    const double gbs = of.bytes / ours * 1e-3, ratio = cub / ours;
    const bool reached = !cold || (ratio >= of.ratio && gbs >= of.gbs);
    std::printf("%-30s %10zu %s %9.2f %9.2f  %5.3f (%.3f-%.3f) %6.0f %6.0f  ", of.name.c_str(), of.n,
                cold ? "cold" : "warm", cub, ours, ratio, range.low, range.high, of.bytes / cub * 1e-3, gbs);
    if (cold && of.ratio > 0)
        std::printf("x %.2f ", of.ratio);
    if (cold && of.gbs > 0)
        std::printf("%.0f GB/s ", of.gbs);
    std::printf("%s\n", cold ? reached ? "pass" : "MISS" : "");
    return reached;
}

static bool compare(const test_case &of, int rounds, bool warm, FILE *csv)
{
    contender both[2] = {{of.cub, nullptr, 0, {}}, {of.simtune, nullptr, 0, {}}};
    CHECK(cudaMemsetAsync(counts, 0, 64, stream));
    of.fill();
    CHECK(cudaMemsetAsync(memory_out, 0xFF, (size_t)(of.bytes / 2), stream));
    for (contender &who : both)
        prepare(who);
    of.check();
    unsigned long long mismatches = 0;
    CHECK(cudaMemcpyAsync(&mismatches, counts + 2, sizeof mismatches, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (mismatches) {
        std::printf("%-30s %10zu WRONG at %llu places: %s\n", of.name.c_str(), of.n, mismatches,
                    of.config ? of.config->text : "");
        return false;
    }
    bool reached = measure(of, both, true, rounds, csv);
    if (warm)
        measure(of, both, false, rounds, csv);
    for (contender &who : both)
        CHECK(cudaFree(who.temp));
    std::printf("    %s%s\n", of.config ? of.config->text : "no configuration",
                of.config && of.config->exact ? "" : "  (not of this device)");
    std::fflush(stdout);
    return reached;
}

static bool is_wanted(const test_case &of, const std::vector<std::string> &words)
{
    const std::string text = of.name + " " + std::to_string(of.n);
    for (const std::string &word : words)
        if (text.find(word) != std::string::npos)
            return true;
    return words.empty();
}

int main(int argc, char **argv)
{
    // A kernel that is loaded behind the gate would wait for ever.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    int rounds = 101;
    bool warm = false, reached = true;
    FILE *csv = nullptr;
    std::vector<std::string> words;
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = std::max(21, std::atoi(argv[++i]));
        else if (std::strcmp(argv[i], "--warm") == 0)
            warm = true;
        else if (std::strcmp(argv[i], "--csv") == 0 && i + 1 < argc) {
            if (!(csv = std::fopen(argv[++i], "w"))) {
                std::perror(argv[i]);
                return 2;
            }
            std::fprintf(csv, "case,n,cache,who,round,us\n");
        } else
            words.push_back(argv[i]);
    }
    open_device(((size_t)1 << 28) * sizeof(double));
    std::printf("%s, %d SMs, L2 %d MiB, CUB %s, %d rounds\n", device.name, device.multiProcessorCount,
                device.l2CacheSize >> 20, cub_version(), rounds);
    for (int power : {16, 20, 24, 28}) {
        const size_t n = (size_t)1 << power;
        const bool large = power == 28;
        add_scans(n);
        add_compact(n, 50, large ? 0 : 1.15, large ? 3570 : 0);
        add_compact(n, 1, large ? 0 : 1.1, large ? 3400 : 0);
        add_compact(n, 100, large ? 0 : 1.1, large ? 3750 : 0);
    }
    add_segments((size_t)1 << 20, 256);
    add_segments(256, (size_t)1 << 20);
    std::printf("%-30s %10s cache    CUB us simtune us  ratio (95 %%)      CUB  simtune GB/s  target\n", "case", "n");
    for (const test_case &one : cases)
        if (is_wanted(one, words))
            reached = compare(one, rounds, warm, csv) && reached;
    if (csv && std::fclose(csv) != 0) {
        std::perror("csv");
        return 2;
    }
    return reached ? 0 : 1;
}
