// SPDX-License-Identifier: Apache-2.0
// The generated header's simtune_reduce_f32_sum beside cub::DeviceReduce::Sum, float32. Both promise the same
// bits in every run, both may find anything in their temporary storage: it is filled with 0xFF before every
// sample, outside what is timed.
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -I FOLDER_OF_THE_HEADER header_vs_cub.cu -o header_vs_cub
//     ./header_vs_cub [--rounds N] [--csv FILE] [SIZE…]      sizes as 65536 or 2^16
//
// cold: twice L2 and more is read before each sample; warm: the same call has just run. A gate kernel holds
// the stream until everything is queued, so that the host's launch latency is in no time. Every round takes one
// sample of each in random order; reported are medians, the ratio of the medians, and its 95 % interval from a
// bootstrap over rounds. Ends with 1 when a sum is wrong or a target of the project is missed.
#include <cub/device/device_reduce.cuh>

#include "simtune_reduce.h"
#include "measure.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

// --- targets -------------------------------------------------------------------------------------
// How much faster than CUB, and at which speed, the header must be on an H200 (0: no such target).
static const struct target {
    unsigned long long n;
    double cold, warm, gbs;
} targets[] = {{1ull << 16, 1.30, 1.30, 0},
               {1ull << 20, 1.25, 1.15, 0},
               {1ull << 24, 1.08, 1.08, 0},
               {1ull << 28, 1.00, 1.00, 4500}};

static target target_of(unsigned long long n) {
    for (const target &t : targets)
        if (t.n == n)
            return t;
    return target{n, 0, 0, 0};
}

// --- the device ------------------------------------------------------------------------------------
static cudaStream_t stream;
static cudaEvent_t begin_event, end_event;
static volatile int *gate_host;
static int *gate_device;
static int4 *flush_buffer;
static size_t flush_bytes;
static float *input, *output;
static cudaDeviceProp device;

// 1 at every 64th place and at the last, so that every float sum up to 2^28 is exact in any order.
__global__ void fill(float *to, size_t n) {
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)
        to[i] = i % 64 == 0 || i + 1 == n ? 1.0f : 0.0f;
}

static void open_device(size_t most) {
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin_event));
    CHECK(cudaEventCreate(&end_event));
    CHECK(cudaHostAlloc((void **)&gate_host, 64, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&gate_device, (void *)gate_host, 0));
    flush_bytes = 2 * (size_t)device.l2CacheSize + (16 << 20);
    CHECK(cudaMalloc(&flush_buffer, flush_bytes));
    CHECK(cudaMemset(flush_buffer, 1, flush_bytes));
    CHECK(cudaMalloc(&input, most * sizeof(float)));
    CHECK(cudaMalloc(&output, sizeof(float)));
}

// --- the two -----------------------------------------------------------------------------------------
struct contender {
    const char *name;
    cudaError_t (*call)(void *temp, size_t *bytes, size_t n);
    void *temp;
    size_t bytes;
    std::vector<double> samples; // us
};

// 32-bit sizes are the faster way of CUB.
static cudaError_t call_cub(void *temp, size_t *bytes, size_t n) {
    return cub::DeviceReduce::Sum(temp, *bytes, input, output, (unsigned)n, stream);
}

static cudaError_t call_simtune(void *temp, size_t *bytes, size_t n) {
    return simtune_reduce_f32_sum(temp, bytes, input, output, n, stream);
}

static void run(contender &who, size_t n) {
    size_t bytes = who.bytes;
    CHECK(who.call(who.temp, &bytes, n));
}

static void prepare(contender &who, size_t n) {
    who.bytes = 0;
    who.samples.clear();
    CHECK(who.call(nullptr, &who.bytes, n));
    CHECK(cudaMalloc(&who.temp, who.bytes));
    CHECK(cudaMemset(who.temp, 0xFF, who.bytes));
    CHECK(cudaMemset(output, 0xFF, sizeof(float)));
    run(who, n);
    CHECK(cudaStreamSynchronize(stream));
    float got;
    CHECK(cudaMemcpy(&got, output, sizeof got, cudaMemcpyDeviceToHost));
    const double expected = (double)((n + 63) / 64) + ((n - 1) % 64 != 0);
    if (got != expected) {
        std::printf("WRONG: %s gives %.9g for n = %zu, expected %.9g\n", who.name, got, n, expected);
        std::exit(1);
    }
}

static double sample(contender &who, size_t n, bool cold) {
    if (!cold)
        run(who, n);
    CHECK(cudaMemsetAsync(who.temp, 0xFF, who.bytes, stream));
    if (cold)
        read_all<<<8 * device.multiProcessorCount, 256, 0, stream>>>(
            flush_buffer, flush_bytes / sizeof(int4), gate_device + 8);
    CHECK(cudaStreamSynchronize(stream));
    *gate_host = 0;
    gate<<<1, 1, 0, stream>>>(gate_device);
    CHECK(cudaEventRecord(begin_event, stream));
    run(who, n);
    CHECK(cudaEventRecord(end_event, stream));
    *gate_host = 1;
    CHECK(cudaEventSynchronize(end_event));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin_event, end_event));
    return ms * 1e3;
}

// --- figures -----------------------------------------------------------------------------------------
static double median(std::vector<double> values) {
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
static interval bootstrap(const std::vector<double> &above, const std::vector<double> &below) {
    const int draws = 2000;
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

static void save(FILE *csv, const contender &who, size_t n, bool cold) {
    for (size_t i = 0; csv && i < who.samples.size(); i++)
        std::fprintf(csv, "%zu,%s,%s,%zu,%.4f\n", n, cold ? "cold" : "warm", who.name, i, who.samples[i]);
}

static bool measure(contender (&both)[2], size_t n, bool cold, int rounds, FILE *csv) {
    static std::mt19937 random(7);
    const int settle = 5;
    for (contender &who : both)
        who.samples.clear();
    for (int r = -settle; r < rounds; r++) {
        const int first = random() & 1;
        for (int i = 0; i < 2; i++) {
            contender &who = both[first ^ i];
            const double us = sample(who, n, cold);
            if (r >= 0)
                who.samples.push_back(us);
        }
    }
    for (const contender &who : both)
        save(csv, who, n, cold);
    const double cub = median(both[0].samples), ours = median(both[1].samples), gbs = n * 4e-3 / ours;
    const interval of = bootstrap(both[0].samples, both[1].samples);
    const target wanted = target_of(n);
    const double ratio_wanted = cold ? wanted.cold : wanted.warm, gbs_wanted = cold ? wanted.gbs : 0;
    const bool reached = cub / ours >= ratio_wanted && gbs >= gbs_wanted;
    std::printf("%10zu  %s %9.2f %9.2f   %5.3f  %5.3f to %5.3f  %7.0f   ", n, cold ? "cold" : "warm", cub,
                ours, cub / ours, of.low, of.high, gbs);
    if (gbs_wanted > 0)
        std::printf("%.2f, %.0f GB/s  %s\n", ratio_wanted, gbs_wanted, reached ? "pass" : "MISS");
    else if (ratio_wanted > 0)
        std::printf("%.2f  %s\n", ratio_wanted, reached ? "pass" : "MISS");
    else
        std::printf("-\n");
    return reached;
}

static bool compare(size_t n, int rounds, FILE *csv) {
    contender both[2] = {{"cub", call_cub, nullptr, 0, {}}, {"simtune", call_simtune, nullptr, 0, {}}};
    fill<<<8 * device.multiProcessorCount, 256, 0, stream>>>(input, n);
    for (contender &who : both)
        prepare(who, n);
    bool reached = measure(both, n, true, rounds, csv);
    reached = measure(both, n, false, rounds, csv) && reached;
    for (contender &who : both)
        CHECK(cudaFree(who.temp));
    std::fflush(stdout);
    return reached;
}

static void print_configs(const std::vector<size_t> &sizes) {
    for (size_t n : sizes) {
        const simtune_config *const config = simtune_reduce_f32_sum_config(
            device.major * 10 + device.minor, device.multiProcessorCount, n);
        std::printf("%10zu  %s%s\n", n, config ? config->text : "no configuration",
                    config && config->exact ? "" : "  (not of this device)");
    }
}

static size_t size_of(const char *word) {
    const size_t n = std::strncmp(word, "2^", 2) == 0 ? (size_t)1 << std::atoi(word + 2)
                                                      : std::strtoull(word, nullptr, 10);
    if (n < 1 || n > 0xFFFFFFFFull) {
        std::fprintf(stderr, "%s is no size: write 65536 or 2^16\n", word);
        std::exit(2);
    }
    return n;
}

int main(int argc, char **argv) {
    // A kernel that is loaded behind the gate would wait for ever.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    int rounds = 201;
    FILE *csv = nullptr;
    std::vector<size_t> sizes;
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = std::max(60, std::atoi(argv[++i]));
        else if (std::strcmp(argv[i], "--csv") == 0 && i + 1 < argc) {
            if (!(csv = std::fopen(argv[++i], "w"))) {
                std::perror(argv[i]);
                return 2;
            }
            std::fprintf(csv, "n,cache,who,round,us\n");
        } else
            sizes.push_back(size_of(argv[i]));
    }
    if (sizes.empty())
        for (const target &one : targets)
            sizes.push_back(one.n);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    open_device(sizes.back());
    std::printf("%s, %d SMs, L2 %d MiB, CUB %d.%d.%d, %d rounds\n", device.name, device.multiProcessorCount,
                device.l2CacheSize >> 20, CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION, rounds);
    print_configs(sizes);
    std::printf("         n  cache  CUB us simtune us  ratio  95 %%             GB/s   target\n");
    bool reached = true;
    for (size_t n : sizes)
        reached = compare(n, rounds, csv) && reached;
    if (csv && std::fclose(csv) != 0) {
        std::perror("csv");
        return 2;
    }
    return reached ? 0 : 1;
}
