// SPDX-License-Identifier: Apache-2.0
// The host functions of generated headers of scan and compact, many times over, while others use the device: they
// look back at other blocks' results, so a lost, early or stale one shows only now and then, and a block that waits
// for one that cannot start hangs.
//
//     nvcc -std=c++14 -O2 -arch=native -I HEADERS repeat_families.cu -o repeat_families
//     ./repeat_families [--repeats N] [--seconds S] [--only WORD]
//
// 1. Each function at the sizes of its rows: N calls (10,000) into storage that nobody prepares, every output compared
//    after every call, while a second stream runs one kernel after the other that fills the device. Integers bit by
//    bit; sums of floats of whole numbers bit by bit, of random ones within the bound of their rounding.
// 2. Two of them on two streams of one device for S seconds (60), checked all the time; some calls by graph replay.
// Prints a line each; ends with 1 when anything was wrong, and by an alarm when something hangs.
#include "simtune_compact.h"
#include "simtune_scan.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cuda_fp16.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

typedef unsigned long long u64;
static int failures;
static unsigned sms;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const cudaError_t error_here = (call);                                                     \
        if (error_here != cudaSuccess) {                                                           \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_here)); \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

__host__ __device__ inline unsigned hash_of(u64 i)
{
    i = (i + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebull;
    return (unsigned)(i >> 33);
}

// --- load ------------------------------------------------------------------------------------------------------
// Fills every place of the device for a short while, so that blocks of others start late and one by one.
__global__ void __launch_bounds__(1024) fill_device(const int4 *from, size_t count, int *sink, long long cycles)
{
    const long long start = clock64();
    int mixed = 0;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    while (clock64() - start < cycles) {
        mixed ^= from[i % count].x;
        i += (size_t)gridDim.x * blockDim.x;
    }
    if (mixed == 0x12345678)
        *sink = mixed;
}

struct load {
    std::atomic<bool> stop;
    std::thread host;
    load() : stop(false) { host = std::thread([this] { run(); }); }
    ~load()
    {
        stop = true;
        host.join();
    }
    void run()
    {
        const size_t bytes = 64 << 20;
        int4 *memory;
        int *sink;
        cudaStream_t stream;
        CHECK(cudaMalloc(&memory, bytes));
        CHECK(cudaMalloc(&sink, sizeof *sink));
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        for (unsigned i = 0; !stop; i++) {
            for (int k = 0; k < 8; k++)
                fill_device<<<2 * sms, 1024, 0, stream>>>(memory, bytes / sizeof(int4), sink,
                                                          20000 + hash_of(i * 8 + k) % 100000);
            CHECK(cudaStreamSynchronize(stream));
        }
        CHECK(cudaStreamDestroy(stream));
        CHECK(cudaFree(memory));
        CHECK(cudaFree(sink));
    }
};

// --- data and checks -----------------------------------------------------------------------------------------
enum data { WHOLE, RANDOM };

// WHOLE: 1 at every `stride`-th place. RANDOM: in [0, 1), integers all their bits.
template <class T> struct value_of {
    static __device__ T at(u64 i, u64 stride, data kind)
    {
        if (kind == WHOLE)
            return (T)(i % stride == 0 ? 1.0f : 0.0f);
        return (T)((float)(hash_of(i) >> 8) * (1.0f / 8388608.0f));
    }
};
template <> struct value_of<int> {
    static __device__ int at(u64 i, u64, data) { return (int)hash_of(i); }
};
template <> struct value_of<long long> {
    static __device__ long long at(u64 i, u64, data) { return (long long)((u64)hash_of(i) << 31 ^ hash_of(~i)); }
};

template <class T> __global__ void fill(T *to, u64 n, u64 stride, data kind)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        to[i] = value_of<T>::at(i, stride, kind);
}

__global__ void fill_flags(unsigned char *to, u64 n)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        to[i] = (unsigned char)(hash_of(i) % 2);
}

// What the first call gave becomes what all must give; the first is checked against sums made here, slowly.
template <class T> __global__ void same(const T *a, const T *b, u64 n, u64 *mismatches)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        if (a[i] != b[i])
            atomicAdd(mismatches, 1ull);
}

// Within `share` of the prefix itself, which is the sum of absolute values, since no value is negative.
template <class T>
__global__ void near(const T *a, const double *b, u64 n, double share, double own, u64 *mismatches)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        if (!(fabs((double)(float)a[i] - b[i]) <= (share + own) * b[i]))
            atomicAdd(mismatches, 1ull);
}
template <>
__global__ void near<double>(const double *a, const double *b, u64 n, double share, double own, u64 *mismatches)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        if (!(fabs(a[i] - b[i]) <= (share + own) * b[i]))
            atomicAdd(mismatches, 1ull);
}

template <class T> struct sum_of { typedef double type; };
template <> struct sum_of<int> { typedef unsigned type; };
template <> struct sum_of<long long> { typedef u64 type; };

static double widen(float value) { return value; }
static double widen(double value) { return value; }
static double widen(__half value) { return __half2float(value); }
static unsigned widen(int value) { return (unsigned)value; }
static u64 widen(long long value) { return (u64)value; }

template <class T> struct narrow_to {
    static T from(double value) { return (T)(float)value; }
};
template <> struct narrow_to<double> {
    static double from(double value) { return value; }
};
template <> struct narrow_to<int> {
    static int from(unsigned value) { return (int)value; }
};
template <> struct narrow_to<long long> {
    static long long from(u64 value) { return (long long)value; }
};

// --- one function, many times --------------------------------------------------------------------------------
struct job {
    std::string name;
    std::function<void(cudaStream_t)> call, check; // check adds to *mismatches
    std::function<void()> close;
    const char *config;
    u64 *mismatches; // on the device
};

static void *storage_of(size_t bytes)
{
    void *temp;
    CHECK(cudaMalloc(&temp, bytes ? bytes : 1));
    CHECK(cudaMemset(temp, 0xFF, bytes));
    return temp;
}

template <class T>
static job scan_job(const char *type, u64 n, data kind,
                    cudaError_t (*function)(void *, size_t *, const T *, T *, size_t, cudaStream_t),
                    const simtune_config *config)
{
    typedef typename sum_of<T>::type S;
    const u64 stride = std::max<u64>(64, n / 1024);
    const unsigned grid = 4 * sms;
    T *in, *out, *wanted;
    double *exact = nullptr;
    u64 *mismatches;
    CHECK(cudaMalloc(&in, n * sizeof(T)));
    CHECK(cudaMalloc(&out, n * sizeof(T)));
    CHECK(cudaMalloc(&wanted, n * sizeof(T)));
    CHECK(cudaMalloc(&mismatches, sizeof *mismatches));
    CHECK(cudaMemset(mismatches, 0, sizeof *mismatches));
    fill<<<grid, 256>>>(in, n, stride, kind);
    std::vector<T> host(n);
    CHECK(cudaMemcpy(host.data(), in, n * sizeof(T), cudaMemcpyDeviceToHost));
    S sum = 0;
    const bool bounded = kind == RANDOM && std::is_same<S, double>::value;
    std::vector<double> sums(bounded ? n : 0);
    for (u64 i = 0; i < n; i++) {
        const S next = sum + (S)widen(host[i]);
        if (bounded)
            sums[i] = (double)sum;
        host[i] = narrow_to<T>::from(sum);
        sum = next;
    }
    CHECK(cudaMemcpy(wanted, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    if (bounded) {
        CHECK(cudaMalloc(&exact, n * sizeof(double)));
        CHECK(cudaMemcpy(exact, sums.data(), n * sizeof(double), cudaMemcpyHostToDevice));
    }
    // u of the accumulator and of the output; the height of a look-back over tiles of 1024 elements and more.
    const double u = sizeof(T) == 8 ? 0x1p-53 : 0x1p-24, own = sizeof(T) == 2 ? 0x1p-11 : u;
    const double share = 6 * std::sqrt((double)n / 1024 + 64) * u;
    size_t bytes = 0;
    CHECK(function(nullptr, &bytes, in, out, n, nullptr));
    void *const temp = storage_of(bytes);
    job made;
    made.name = std::string("scan ") + type + (bounded ? " random" : "") + ", n = " + std::to_string(n);
    made.config = config ? config->text : "";
    made.mismatches = mismatches;
    made.call = [=](cudaStream_t stream) {
        size_t given = bytes;
        CHECK(function(temp, &given, in, out, n, stream));
    };
    made.check = [=](cudaStream_t stream) {
        if (bounded)
            near<T><<<grid, 256, 0, stream>>>(out, exact, n, share, own, mismatches);
        else
            same<<<grid, 256, 0, stream>>>(out, wanted, n, mismatches);
    };
    made.close = [=] {
        for (void *memory : {(void *)in, (void *)out, (void *)wanted, (void *)exact, temp, (void *)mismatches})
            CHECK(cudaFree(memory));
    };
    return made;
}

static job compact_job(u64 n)
{
    const unsigned grid = 4 * sms;
    float *in, *out, *wanted;
    unsigned char *flags;
    u64 *mismatches, *count, *kept;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    CHECK(cudaMalloc(&wanted, n * sizeof(float)));
    CHECK(cudaMalloc(&flags, n));
    CHECK(cudaMalloc(&count, sizeof *count));
    CHECK(cudaMalloc(&kept, sizeof *kept));
    CHECK(cudaMalloc(&mismatches, sizeof *mismatches));
    CHECK(cudaMemset(mismatches, 0, sizeof *mismatches));
    CHECK(cudaMemset(out, 0xFF, n * sizeof(float)));
    fill<<<grid, 256>>>(in, n, 64, RANDOM);
    fill_flags<<<grid, 256>>>(flags, n);
    std::vector<unsigned> host(n);
    std::vector<unsigned char> chosen(n);
    CHECK(cudaMemcpy(host.data(), in, n * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(chosen.data(), flags, n, cudaMemcpyDeviceToHost));
    u64 to = 0;
    for (u64 i = 0; i < n; i++)
        if (chosen[i])
            host[to++] = host[i];
    for (u64 i = to; i < n; i++)
        host[i] = 0xFFFFFFFFu; // nothing may be written there
    CHECK(cudaMemcpy(wanted, host.data(), n * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(kept, &to, sizeof to, cudaMemcpyHostToDevice));
    size_t bytes = 0;
    CHECK(simtune_compact_f32_flagged(nullptr, &bytes, in, flags, out, count, n, nullptr));
    void *const temp = storage_of(bytes);
    const simtune_config *const config = simtune_compact_f32_flagged_config(90, (int)sms, n);
    job made;
    made.name = "compact f32 50 %, n = " + std::to_string(n);
    made.config = config ? config->text : "";
    made.mismatches = mismatches;
    made.call = [=](cudaStream_t stream) {
        size_t given = bytes;
        CHECK(simtune_compact_f32_flagged(temp, &given, in, flags, out, count, n, stream));
    };
    made.check = [=](cudaStream_t stream) {
        same<<<grid, 256, 0, stream>>>((const unsigned *)out, (const unsigned *)wanted, n, mismatches);
        same<<<1, 1, 0, stream>>>(count, kept, 1, mismatches);
    };
    made.close = [=] {
        for (void *memory : {(void *)in, (void *)out, (void *)wanted, (void *)flags, (void *)count, (void *)kept, temp,
                             (void *)mismatches})
            CHECK(cudaFree(memory));
    };
    return made;
}

static void report(const job &of, u64 calls, double seconds)
{
    u64 mismatches = 0;
    CHECK(cudaMemcpy(&mismatches, of.mismatches, sizeof mismatches, cudaMemcpyDeviceToHost));
    failures += mismatches != 0;
    std::printf("%-34s %7llu calls %6.1f s  %s  %s\n", of.name.c_str(), calls, seconds, mismatches ? "WRONG" : "right",
                of.config);
    std::fflush(stdout);
}

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void repeat(const job &of, u64 repeats)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    const double began = now();
    {
        load beside;
        for (u64 r = 0; r < repeats; r++) {
            of.call(stream);
            of.check(stream);
            if (r % 64 == 63) {
                alarm(60); // whoever hangs is ended by it
                CHECK(cudaStreamSynchronize(stream));
            }
        }
        CHECK(cudaStreamSynchronize(stream));
    }
    report(of, repeats, now() - began);
    CHECK(cudaStreamDestroy(stream));
}

// --- two at once ---------------------------------------------------------------------------------------------
static cudaGraphExec_t capture(const job &of, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t program;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    of.call(stream);
    of.check(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&program, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return program;
}

static void two_streams(const job (&jobs)[2], double seconds)
{
    cudaStream_t streams[2];
    cudaGraphExec_t programs[2];
    for (int s = 0; s < 2; s++) {
        CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        programs[s] = capture(jobs[s], streams[s]);
    }
    CHECK(cudaDeviceSynchronize());
    const double began = now();
    u64 calls[2] = {0, 0};
    while (now() - began < seconds) {
        for (int k = 0; k < 50; k++)
            for (int s = 0; s < 2; s++) {
                if (k % 2) {
                    CHECK(cudaGraphLaunch(programs[s], streams[s]));
                } else {
                    jobs[s].call(streams[s]);
                    jobs[s].check(streams[s]);
                }
                calls[s]++;
            }
        alarm(60);
        for (int s = 0; s < 2; s++)
            CHECK(cudaStreamSynchronize(streams[s]));
    }
    for (int s = 0; s < 2; s++) {
        report(jobs[s], calls[s], now() - began);
        CHECK(cudaGraphExecDestroy(programs[s]));
        CHECK(cudaStreamDestroy(streams[s]));
    }
}

int main(int argc, char **argv)
{
    u64 repeats = 10000;
    double seconds = 60;
    std::string only;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--repeats") == 0)
            repeats = std::strtoull(argv[i + 1], nullptr, 10);
        else if (std::strcmp(argv[i], "--seconds") == 0)
            seconds = std::atof(argv[i + 1]);
        else if (std::strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
    }
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    sms = (unsigned)device.multiProcessorCount;
    const int cc = device.major * 10 + device.minor, count = device.multiProcessorCount;
    // Of each row's neighbourhood; the last falls to the row of the largest size, at less time a call.
    const u64 sizes[] = {65536, (1 << 20) + 7, (1 << 24) - 3, 80000001};
    for (u64 n : sizes) {
        std::vector<std::function<job()>> makers = {
            [=] { return scan_job<int>("i32", n, WHOLE, simtune_exclusive_scan_i32_sum,
                                       simtune_exclusive_scan_i32_sum_config(cc, count, n)); },
            [=] { return scan_job<float>("f32", n, WHOLE, simtune_exclusive_scan_f32_sum,
                                         simtune_exclusive_scan_f32_sum_config(cc, count, n)); },
            [=] { return scan_job<float>("f32", n, RANDOM, simtune_exclusive_scan_f32_sum,
                                         simtune_exclusive_scan_f32_sum_config(cc, count, n)); },
            [=] { return scan_job<long long>("i64", n, WHOLE, simtune_exclusive_scan_i64_sum,
                                             simtune_exclusive_scan_i64_sum_config(cc, count, n)); },
            [=] { return scan_job<double>("f64", n, RANDOM, simtune_exclusive_scan_f64_sum,
                                          simtune_exclusive_scan_f64_sum_config(cc, count, n)); },
            [=] { return scan_job<__half>("f16", n, WHOLE, simtune_exclusive_scan_f16_sum,
                                          simtune_exclusive_scan_f16_sum_config(cc, count, n)); },
            [=] { return compact_job(n); },
        };
        for (const std::function<job()> &make : makers) {
            const job one = make();
            if (only.empty() || one.name.find(only) != std::string::npos)
                repeat(one, repeats);
            one.close();
        }
    }
    if (seconds > 0) {
        const u64 n = 5000011;
        const job jobs[2] = {scan_job<int>("i32", n, WHOLE, simtune_exclusive_scan_i32_sum,
                                           simtune_exclusive_scan_i32_sum_config(cc, count, n)),
                             compact_job(n + 2)};
        two_streams(jobs, seconds);
        for (const job &one : jobs)
            one.close();
    }
    std::printf("%d failures\n", failures);
    return failures != 0;
}
