// SPDX-License-Identifier: Apache-2.0
// Times hand-picked configurations of templates/scan.cu beside cub::DeviceScan::ExclusiveSum, one
// element type a program, under the contract of the generated headers: temporary storage is filled
// with garbage before every sample. Every output of every configuration is compared, bit by bit, with
// the family's plain reference on data whose sums are exact.
//
// A gate kernel holds the stream until everything is queued, so launch gaps of the host stay out.
// cold: more than twice L2 is read before each sample; warm: not. First every candidate a few
// times, then the best few interleaved with CUB in random order; reported are medians and the median
// of the ratios of neighbours.
//
//   nvcc -O2 -std=c++17 -arch=sm_90 -DTYPE=0 -Itemplates tests/bench/scan_vs_cub.cu -o scan_vs_cub
//   ./scan_vs_cub [FOLDER for all figures as CSV, or -] [LOG2 OF A SIZE …]
// TYPE: 0 f32, 1 f64, 2 i32, 3 i64, 4 f16.
#include <cub/cub.cuh>
#include <cuda_fp16.h>

#include "reference/scan_reference.cu"
#include "measure.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

using namespace simtune;

#ifndef TYPE
#define TYPE 0
#endif
#if TYPE == 0
typedef float T;
typedef float cub_type;
static const char *const type_name = "f32";
#elif TYPE == 1
typedef double T;
typedef double cub_type;
static const char *const type_name = "f64";
#elif TYPE == 2
typedef int T;
typedef int cub_type;
static const char *const type_name = "i32";
#elif TYPE == 3
typedef long long T;
typedef long long cub_type;
static const char *const type_name = "i64";
#else
typedef simtune_half T;
typedef __half cub_type;
static const char *const type_name = "f16";
#endif
typedef element<T>::accumulator A;
typedef reference_type<T>::R R;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const cudaError_t result = (call);                                                         \
        if (result != cudaSuccess) {                                                               \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result));            \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

static int sm_count;
static volatile int *gate_host;
static int *gate_device;
static int4 *flush_buffer;
static size_t flush_bytes;
static T *input, *output;
static u64 *storage;
static const size_t storage_bytes = 64 << 20;
static R *expected;
static double *magnitude;
static unsigned long long *wrong_count;
static cudaEvent_t begin_event, end_event;
static cudaStream_t stream;

// -1, 0 and 1 by turns that follow no pattern: all prefix sums are small integers.
__global__ void make_input(T *to, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        u64 z = (i + 1) * 0x9e3779b97f4a7c15ull;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z ^= z >> 27;
        to[i] = element<T>::narrow((A)((int)((z >> 20) % 3) - 1));
    }
}

__global__ void count_wrong(const T *got, const R *right, size_t n, unsigned long long *wrong) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        if (bits_of(got[i]) != bits_of(element<T>::narrow((A)right[i])))
            atomicAdd(wrong, 1ull);
}

// --- candidates ----------------------------------------------------------------------------------
template <int ALGORITHM_, int PASS_, int BLOCK_, int ITEMS_, int VEC_, int STAGES_ = 1,
          int MIN_BLOCKS_ = 1, int RESET_ = RESET_memset, int PAUSE_ = 0, int CLUSTER_ = 1,
          int STORE_ = STORE_streaming, int COPY_ = COPY_bulk, int ROLES_ = ROLES_same,
          int LOOK_ = LOOK_nearest>
struct config {
    typedef ::T T;
    static const int kind = kind_exclusive, op = op_sum, ALGORITHM = ALGORITHM_, PASS = PASS_,
                     BLOCK = BLOCK_, ITEMS = ITEMS_, VEC = VEC_, STAGES = STAGES_,
                     MIN_BLOCKS = MIN_BLOCKS_, RESET = RESET_, PAUSE = PAUSE_, CLUSTER = CLUSTER_,
                     STORE = STORE_, COPY = COPY_, ROLES = ROLES_, LOOK = LOOK_;
};

struct candidate {
    std::string name;
    cudaError_t (*launch)(u64 n, bool plan_only);
    u64 least, most; // sizes at which it is worth trying
    std::vector<float> samples;
    float median() const {
        std::vector<float> sorted(samples);
        std::sort(sorted.begin(), sorted.end());
        return sorted[sorted.size() / 2];
    }
};

template <class... Args>
static void start(void (*kernel)(Args...), u64 grid, int block, size_t smem, int cluster,
                  bool dependent, Args... args) {
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3((unsigned)grid);
    launch.blockDim = dim3(block);
    launch.dynamicSmemBytes = smem;
    launch.stream = stream;
    launch.attrs = attributes;
    if (cluster > 1) {
        attributes[launch.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[launch.numAttrs].val.clusterDim.x = cluster;
        attributes[launch.numAttrs].val.clusterDim.y = 1;
        attributes[launch.numAttrs++].val.clusterDim.z = 1;
    }
    if (dependent) {
        attributes[launch.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[launch.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    CHECK(cudaLaunchKernelEx(&launch, kernel, args...));
}

// The launch plan, as the directives of the template say it.
template <class C> static cudaError_t launch_candidate(u64 n, bool) {
    typedef scan_shape<C> shape;
    const T *in = input;
    T *out = output;
    u64 *state = storage;
    void *partial = storage;
    const u64 tiles = std::max<u64>(1, (n + shape::TILE - 1) / shape::TILE);
    const u64 words = TILE_HEAD_WORDS + tiles * shape::state::WORDS;
    const bool looks_back = C::PASS == PASS_look_back || C::PASS == PASS_pipelined_look_back;
    const bool is_reset = C::RESET == RESET_dependent;
    if (looks_back && is_reset)
        start(scan_clear<C>, (words + 1023) / 1024, 256, 0, 1, false, state, words);
    else if (looks_back)
        CHECK(cudaMemsetAsync(state, 0, words * 8, stream));
    if constexpr (C::PASS == PASS_one_block) {
        start(scan_one_block<C>, 1, C::BLOCK, 0, 1, false, in, out, n);
    } else if constexpr (C::PASS == PASS_cluster) {
        start(scan_cluster<C>, C::CLUSTER, C::BLOCK, 0, C::CLUSTER, false, in, out, n);
    } else if constexpr (C::PASS == PASS_watched) {
        start(scan_publish<C>, tiles, C::BLOCK + (C::BLOCK < 1024 ? 32 : 0), 0, 1, false, in, state, n);
        start(scan_watch<C>, tiles, C::BLOCK, 0, 1, true, in, out, (const u64 *)state, n);
    } else if constexpr (C::PASS == PASS_look_back) {
        start(scan_look_back<C>, tiles, C::BLOCK, 0, 1, is_reset, in, out, state, n);
    } else if constexpr (C::PASS == PASS_pipelined_look_back) {
        const size_t smem = (size_t)C::STAGES * (shape::TILE * sizeof(T));
        static bool is_set = false;
        if (!is_set)
            CHECK(cudaFuncSetAttribute(scan_pipelined<C>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       (int)smem));
        is_set = true;
        if constexpr (C::ROLES == ROLES_divided) {
            static bool is_set_too = false;
            if (!is_set_too)
                CHECK(cudaFuncSetAttribute(scan_divided<C>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           (int)smem));
            is_set_too = true;
            start(scan_divided<C>, std::min<u64>(tiles, (u64)sm_count * C::MIN_BLOCKS), C::BLOCK + 128,
                  smem, 1, is_reset, in, out, state, n);
        } else
        start(scan_pipelined<C>, std::min<u64>(tiles, (u64)sm_count * C::MIN_BLOCKS), C::BLOCK, smem,
              1, is_reset, in, out, state, n);
    } else {
        const int finish = (int)std::min<u64>(1024, 32 * ((tiles + 127) / 128));
        if constexpr (C::PASS == PASS_reduce_then_scan) {
            start(scan_totals<C>, tiles, C::BLOCK, 0, 1, false, in, partial, n);
            start(scan_partials<C>, 1, finish, 0, 1, false, in, partial, n);
            start(scan_from_partials<C>, tiles, C::BLOCK, 0, 1, false, in, out, (const void *)partial, n);
        } else {
            start(scan_tiles<C>, tiles, C::BLOCK, 0, 1, false, in, out, partial, n);
            start(scan_partials<C>, 1, finish, 0, 1, false, in, partial, n);
            start(scan_propagate<C>, tiles, C::BLOCK, 0, 1, false, in, out, (const void *)partial, n);
        }
    }
    return cudaSuccess;
}

static cudaError_t launch_cub(u64 n, bool) {
    size_t bytes = storage_bytes;
    return cub::DeviceScan::ExclusiveSum(storage, bytes, (cub_type *)(void *)input,
                                         (cub_type *)(void *)output, (long long)n, stream);
}

static std::vector<candidate> candidates;
template <class C> static void add(u64 least, u64 most) {
    static const char *const algorithms[] = {"hillis_steele", "blelloch", "blelloch_padded",
                                             "warp_shuffle",  "raking",   "serial"};
    static const char *const passes[] = {"one_block",           "cluster",  "reduce_then_scan",
                                         "scan_then_propagate", "watched", "look_back",
                                         "pipelined"};
    char text[200];
    std::snprintf(text, sizeof text, "%s%s%s %s %dx%d v%d stages%d min%d %s pause%d cluster%d %s %s",
                  passes[C::PASS], C::ROLES ? " divided" : "",
                  C::LOOK ? " wave" : "", algorithms[C::ALGORITHM], C::BLOCK, C::ITEMS, C::VEC, C::STAGES,
                  C::MIN_BLOCKS, C::RESET ? "dependent" : "memset", C::PAUSE, C::CLUSTER,
                  C::STORE ? "streaming" : "plain", C::COPY ? "async" : "bulk");
    candidates.push_back({text, launch_candidate<C>, least, most, {}});
}

static const u64 Ki = 1024, Mi = 1 << 20;
static const int V = 16 / (int)sizeof(T);  // elements of a 16-byte load
static const int S = 4 / (int)sizeof(T) > 0 ? 4 / (int)sizeof(T) : 1; // f16: twice the items
static const int D = sizeof(T) == 8 ? 2 : 1;                          // 8 bytes: half the items
template <int BLOCK, int ITEMS, int STAGES, int MIN_BLOCKS, int RESET = RESET_memset,
          int LOOK = LOOK_nearest>
static void pipelined() {
    const int I = ITEMS * S / D;
    const int bytes = STAGES * BLOCK * I * (int)sizeof(T) + 2048;
    if constexpr (bytes * MIN_BLOCKS <= 227 * 1024 && I % V == 0)
        add<config<ALGORITHM_warp_shuffle, PASS_pipelined_look_back, BLOCK, I, V, STAGES, MIN_BLOCKS,
                   RESET, 0, 1, STORE_streaming, COPY_bulk, ROLES_same, LOOK>>(Mi, 256 * Mi);
}
template <int BLOCK, int ITEMS, int STAGES, int MIN_BLOCKS, int RESET = RESET_memset,
          int LOOK = LOOK_wave, int PAUSE = 0>
static void divided() {
    const int I = ITEMS * S / D;
    const int bytes = STAGES * (BLOCK * I * (int)sizeof(T) + 64 + BLOCK / 4) + 1024;
    if constexpr (bytes * MIN_BLOCKS <= 227 * 1024 && I % V == 0)
        add<config<ALGORITHM_warp_shuffle, PASS_pipelined_look_back, BLOCK, I, V, STAGES, MIN_BLOCKS,
                   RESET, PAUSE, 1, STORE_streaming, COPY_bulk, ROLES_divided, LOOK>>(Mi, 256 * Mi);
}
template <int BLOCK, int ITEMS> static void small() {
    const int I = ITEMS * S / D;
    if constexpr (I >= V) {
        add<config<ALGORITHM_warp_shuffle, PASS_watched, BLOCK, I, V>>(64 * Ki, 4 * Mi);
        add<config<ALGORITHM_warp_shuffle, PASS_look_back, BLOCK, I, V, 1, 1, RESET_dependent>>(
            64 * Ki, 16 * Mi);
    }
}
template <int BLOCK, int ITEMS> static void cluster() {
    const int I = ITEMS * S / D;
    if constexpr (I >= V)
        add<config<ALGORITHM_warp_shuffle, PASS_cluster, BLOCK, I, V, 1, 1, RESET_memset, 0, 8>>(
            0, 128 * Ki);
}

static void make_all() {
    cluster<256, 32>(), cluster<512, 16>(), cluster<1024, 8>();
    small<256, 8>(), small<256, 16>(), small<512, 4>(), small<512, 8>(), small<512, 16>();
    small<128, 16>(), small<1024, 4>(), small<1024, 8>();
    divided<256, 48, 4, 1>(), divided<256, 24, 4, 2>(), divided<256, 32, 3, 2>();
    divided<256, 32, 3, 2, RESET_dependent>(), divided<256, 24, 4, 2, RESET_dependent>();
    divided<512, 32, 3, 1>(), divided<512, 24, 4, 1>(), divided<384, 32, 4, 1>();
    divided<384, 16, 4, 2>(), divided<512, 16, 3, 2>(), divided<128, 32, 3, 4>();
    divided<256, 32, 3, 2, RESET_memset, LOOK_nearest>();
    pipelined<384, 32, 2, 2>(), pipelined<256, 32, 2, 3>(), pipelined<128, 48, 2, 4>();
    pipelined<256, 32, 3, 2>(); // why roles are divided
    add<config<ALGORITHM_hillis_steele, PASS_reduce_then_scan, 256, 1, 1>>(0, 256 * Mi);
    add<config<ALGORITHM_warp_shuffle, PASS_reduce_then_scan, 512, 16 * S / D, V>>(0, 256 * Mi);
}

// --- measuring -----------------------------------------------------------------------------------
static float sample(const candidate &who, u64 n, bool cold) {
    CHECK(cudaMemsetAsync(storage, 0xa5, 2 << 20, stream));
    if (cold)
        read_all<<<8 * sm_count, 256, 0, stream>>>(flush_buffer, flush_bytes / 16, gate_device + 8);
    CHECK(cudaStreamSynchronize(stream));
    *gate_host = 0;
    gate<<<1, 1, 0, stream>>>(gate_device);
    CHECK(cudaEventRecord(begin_event, stream));
    CHECK(who.launch(n, false));
    CHECK(cudaEventRecord(end_event, stream));
    *gate_host = 1;
    CHECK(cudaEventSynchronize(end_event));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin_event, end_event));
    return ms * 1000;
}

static void rounds(std::vector<candidate> &who, u64 n, bool cold, int count) {
    static std::mt19937 random(7);
    std::vector<size_t> order(who.size());
    for (size_t i = 0; i < order.size(); i++)
        order[i] = i;
    for (int r = 0; r < count; r++) {
        std::shuffle(order.begin(), order.end(), random);
        for (size_t i : order)
            who[i].samples.push_back(sample(who[i], n, cold));
    }
}

// A figure of a wrong scan is worth nothing.
static u64 wrong(const candidate &who, u64 n) {
    CHECK(cudaMemsetAsync(storage, 0xa5, 2 << 20, stream));
    CHECK(cudaMemsetAsync(output, 0xff, n * sizeof(T), stream));
    CHECK(cudaMemsetAsync(wrong_count, 0, 8, stream));
    CHECK(who.launch(n, false));
    CHECK(cudaEventRecord(end_event, stream));
    const std::clock_t started = std::clock();
    while (cudaEventQuery(end_event) == cudaErrorNotReady)
        if (std::clock() - started > 2 * CLOCKS_PER_SEC) {
            std::printf("HANGS at %llu: %s\n", n, who.name.c_str());
            std::fflush(stdout);
            std::_Exit(1);
        }
    count_wrong<<<8 * sm_count, 256, 0, stream>>>(output, expected, n, wrong_count);
    u64 count;
    CHECK(cudaMemcpyAsync(&count, wrong_count, 8, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    return count;
}

static void make_expected(u64 n) {
    typedef config<ALGORITHM_serial, PASS_one_block, 128, 1, 1> any;
    const u64 chunks = std::min<u64>(16384, std::max<u64>(1, (n + 1023) / 1024));
    const unsigned blocks = (unsigned)((chunks + 3) / 4);
    reference_scan_chunks<any><<<blocks, 128, 0, stream>>>(input, n, chunks);
    reference_scan_offsets<any><<<1, 256, 0, stream>>>(chunks);
    reference_scan_values<any><<<blocks, 128, 0, stream>>>(input, expected, magnitude, n, chunks);
    CHECK(cudaStreamSynchronize(stream));
}

static void measure(int log_n, bool cold, FILE *csv) {
    const u64 n = 1ull << log_n;
    make_expected(n);
    std::vector<candidate> who;
    for (const candidate &c : candidates)
        if (c.least <= n && n <= c.most) {
            const u64 bad = wrong(c, n) + wrong(c, n - 12345);
            if (bad)
                std::printf("WRONG at %llu places: %s\n", bad, c.name.c_str());
            else
                who.push_back(c);
        }
    const candidate cub = {"CUB", launch_cub, 0, 0, {}};
    rounds(who, n, cold, 7);
    std::sort(who.begin(), who.end(),
              [](const candidate &a, const candidate &b) { return a.median() < b.median(); });
    for (const candidate &c : who)
        if (csv)
            std::fprintf(csv, "%s,%d,%s,%.3f,%s\n", type_name, log_n, cold ? "cold" : "warm",
                         c.median(), c.name.c_str());
    const size_t tried = who.size();
    if (who.size() > 8)
        who.resize(8);
    who.push_back(cub);
    for (candidate &c : who)
        c.samples.clear();
    rounds(who, n, cold, log_n >= 26 ? 41 : 101);
    const std::vector<float> &base = who.back().samples;
    std::printf("%s 2^%d %s: %zu tried; CUB %.2f us %.0f GB/s\n", type_name, log_n,
                cold ? "cold" : "warm", tried, who.back().median(),
                2e-3 * n * sizeof(T) / who.back().median());
    for (size_t i = 0; i + 1 < who.size(); i++) {
        std::vector<float> ratio(base);
        for (size_t k = 0; k < ratio.size(); k++)
            ratio[k] /= who[i].samples[k];
        std::sort(ratio.begin(), ratio.end());
        std::printf("  %8.2f us %5.0f GB/s x%.3f [%.3f %.3f] %s\n", who[i].median(),
                    2e-3 * n * sizeof(T) / who[i].median(), ratio[ratio.size() / 2],
                    ratio[ratio.size() / 4], ratio[3 * ratio.size() / 4], who[i].name.c_str());
    }
    std::fflush(stdout);
}

int main(int argc, char **argv) {
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); // loading behind the gate would wait for ever
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    sm_count = properties.multiProcessorCount;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaHostAlloc((void **)&gate_host, 64, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&gate_device, (void *)gate_host, 0));
    flush_bytes = 2 * (size_t)properties.l2CacheSize + (8 << 20);
    const size_t most = 1ull << 28;
    CHECK(cudaMalloc(&flush_buffer, flush_bytes));
    CHECK(cudaMemset(flush_buffer, 1, flush_bytes));
    CHECK(cudaMalloc(&input, most * sizeof(T)));
    CHECK(cudaMalloc(&output, most * sizeof(T)));
    CHECK(cudaMalloc(&expected, most * sizeof(R)));
    CHECK(cudaMalloc(&magnitude, most * sizeof(double)));
    CHECK(cudaMalloc(&storage, storage_bytes));
    CHECK(cudaMalloc(&wrong_count, 8));
    CHECK(cudaEventCreate(&begin_event));
    CHECK(cudaEventCreate(&end_event));
    make_input<<<8 * sm_count, 256>>>(input, most);
    CHECK(cudaDeviceSynchronize());
    make_all();
    FILE *csv = NULL;
    if (argc > 1 && argv[1][0] != '-' &&
        !(csv = std::fopen((std::string(argv[1]) + "/scan_vs_cub_" + type_name + ".csv").c_str(), "w")))
        std::perror(argv[1]);
    std::vector<int> sizes;
    for (int i = 2; i < argc; i++)
        sizes.push_back(std::atoi(argv[i]));
    if (sizes.empty())
        sizes = {16, 20, 24, 28};
    for (int log_n : sizes)
        measure(log_n, true, csv);
    if (csv)
        std::fclose(csv);
    return 0;
}
