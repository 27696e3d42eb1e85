// SPDX-License-Identifier: Apache-2.0
// Times hand-picked configurations of templates/reduce.cu beside cub::DeviceReduce::Sum, float32,
// at the same guarantee (run to run) and under the same contract: temporary storage is filled with
// garbage before every sample.
//
// A gate kernel holds the stream until everything is queued, so launch gaps of the host stay out.
// cold: more than twice L2 is read before each sample; warm: not. First every candidate a few
// times, then the better quarter more often, then the best few interleaved with CUB in random
// order; reported are medians and the median of the ratios of neighbours.
//
//   nvcc -O2 -std=c++17 -arch=sm_90 -Itemplates tests/bench/reduce_vs_cub.cu -o reduce_vs_cub
//   ./reduce_vs_cub [FOLDER for all figures as CSV]
#include <cub/cub.cuh>

#include "reduce_harness.cuh"

#include <cmath>
#include <random>

using namespace simtune;

// --- measuring -----------------------------------------------------------------------------------
static volatile int *gate_host;
static int *gate_device;
static int4 *flush_buffer;
static size_t flush_bytes;
static float *input, *output;
static void *storage;
static const size_t storage_bytes = 64 << 20;
static cudaEvent_t begin_event, end_event;
static cudaStream_t stream;

struct contender {
    std::string name;
    candidate c; // unused for CUB
    bool is_cub;
    std::vector<float> samples; // µs
    float median() const {
        std::vector<float> sorted(samples);
        std::sort(sorted.begin(), sorted.end());
        return sorted[sorted.size() / 2];
    }
};

static void launch(const contender &who, unsigned long long n) {
    if (who.is_cub) {
        size_t bytes = storage_bytes;
        CHECK(cub::DeviceReduce::Sum(storage, bytes, input, output, n, stream));
    } else {
        CHECK(launch_candidate(who.c, input, output, storage, n, stream));
    }
}

template <class Launch> static float sample_with(Launch run, bool cold) {
    CHECK(cudaMemsetAsync(storage, 0xa5, 1 << 20, stream));
    if (cold)
        read_all<<<8 * sm_count, 256, 0, stream>>>(flush_buffer, flush_bytes / 16, gate_device + 8);
    CHECK(cudaStreamSynchronize(stream));
    *gate_host = 0;
    gate<<<1, 1, 0, stream>>>(gate_device);
    CHECK(cudaEventRecord(begin_event, stream));
    run();
    CHECK(cudaEventRecord(end_event, stream));
    *gate_host = 1;
    CHECK(cudaEventSynchronize(end_event));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin_event, end_event));
    return ms * 1000;
}

static float sample(const contender &who, unsigned long long n, bool cold) {
    return sample_with([&] { launch(who, n); }, cold);
}

// --- the candidates ------------------------------------------------------------------------------
static std::vector<candidate> candidates;
static candidate naive_candidate;

template <int BLOCK, int VEC, int UNROLL, int ACC, int LOAD, int ORDER, int MIN_BLOCKS, int WARP,
          int STEP, int FINISH, int CLUSTER>
static void add() {
    candidates.push_back(make_candidate<config<float, op_sum, BLOCK, VEC, UNROLL, ACC, LOAD, ORDER,
                                               MIN_BLOCKS, WARP, STEP, FINISH, CLUSTER>>());
}
template <int BLOCK, int UNROLL, int ACC, int LOAD = LOAD_nc, int ORDER = ORDER_batched,
          int MIN_BLOCKS = 1, int WARP = WARP_shuffle, int STEP = BLOCK_STEP_shuffle,
          int FINISH = FINISH_dependent>
static void grid() {
    add<BLOCK, 4, UNROLL, ACC, LOAD, ORDER, MIN_BLOCKS, WARP, STEP, FINISH, 1>();
}
template <int BLOCK, int UNROLL, int CLUSTER> static void cluster() {
    add<BLOCK, 4, UNROLL, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_cluster,
        CLUSTER>();
    add<BLOCK, 4, UNROLL, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_direct, FINISH_cluster,
        CLUSTER>();
}
template <int BLOCK, int UNROLL> static void clusters() {
    cluster<BLOCK, UNROLL, 4>();
    cluster<BLOCK, UNROLL, 8>();
}

// Experiments: what the early start of the second kernel and its being another kernel are worth.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    blocks_late(const float *in, void *partial, u64 n, u64 share) {
    float value = reduce_share<Config>(in, n, share);
    allow_dependents();
    value = reduce_block<Config>(value);
    if (threadIdx.x == 0)
        store_value((float *)partial + blockIdx.x, value);
}

// Serves as both kernels: the second launch reads the values that the first left, as if they were
// the input, and its only block leaves the result where `partial` points. Less code to fetch when cold.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    blocks_twice(const float *in, void *partial, u64 n, u64 share) {
    allow_dependents();
    wait_for_previous();
    float value = reduce_block<Config>(reduce_share<Config>(in, n, share));
    if (threadIdx.x == 0)
        store_value((float *)partial + blockIdx.x, value);
}

static void push(candidate c, const void *first, const void *second, const char *experiment) {
    c.first = first ? first : c.first;
    c.second = second ? second : c.second;
    c.experiment = experiment;
    candidates.push_back(c);
}

template <int BLOCK, int UNROLL> static void experiments() {
    typedef config<float, op_sum, BLOCK, 4, UNROLL, 4, LOAD_plain, 0, 1, WARP_shuffle,
                   BLOCK_STEP_shuffle, FINISH_dependent, 1>
        C;
    typedef config<float, op_sum, BLOCK, 4, UNROLL, 4, LOAD_plain, 0, 1, WARP_shuffle,
                   BLOCK_STEP_shuffle, FINISH_two_pass, 1>
        late;
    const candidate c = make_candidate<C>();
    push(c, (const void *)blocks_late<C>, NULL, "trigger-in-the-middle");
    push(c, (const void *)reduce_blocks<late>, NULL, "trigger-at-end");
    push(c, (const void *)blocks_twice<C>, NULL, "same-kernel-twice");
    candidates.back().second = NULL;
}

static void make_all() {
    experiments<256, 8>();
    experiments<512, 4>();
    experiments<256, 4>();
    add<256, 1, 1, 1, LOAD_plain, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_two_pass,
        1>(); // the default
    naive_candidate = candidates.back();
    add<256, 2, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_dependent, 1>();
    add<256, 1, 8, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_dependent, 1>();
    grid<128, 1, 4>();
    grid<128, 2, 4>();
    grid<128, 4, 4>();
    grid<128, 8, 4>();
    grid<128, 16, 4>();
    grid<256, 1, 4>();
    grid<256, 2, 4>();
    grid<256, 4, 4>();
    grid<256, 8, 4>();
    grid<256, 16, 4>();
    grid<512, 1, 4>();
    grid<512, 2, 4>();
    grid<512, 4, 4>();
    grid<512, 8, 4>();
    grid<512, 16, 4>();
    grid<1024, 1, 4>();
    grid<1024, 2, 4>();
    grid<1024, 4, 4>();
    grid<1024, 8, 4>();
    grid<256, 4, 1>();
    grid<256, 8, 1>();
    grid<512, 4, 1>();
    grid<512, 8, 1>();
    grid<256, 4, 8>();
    grid<256, 8, 8>();
    grid<512, 4, 8>();
    grid<512, 8, 8>();
    grid<512, 4, 4, LOAD_plain>();
    grid<512, 4, 4, LOAD_cg>();
    grid<512, 4, 4, LOAD_no_allocate>();
    grid<512, 4, 4, LOAD_evict_first>();
    grid<512, 4, 4, LOAD_l2_64>();
    grid<512, 4, 4, LOAD_l2_128>();
    grid<512, 4, 4, LOAD_l2_256>();
    grid<256, 8, 4, LOAD_plain>();
    grid<256, 8, 4, LOAD_cg>();
    grid<256, 8, 4, LOAD_no_allocate>();
    grid<256, 8, 4, LOAD_evict_first>();
    grid<256, 8, 4, LOAD_l2_64>();
    grid<256, 8, 4, LOAD_l2_128>();
    grid<256, 8, 4, LOAD_l2_256>();
    grid<256, 4, 4, LOAD_nc, 1>();
    grid<256, 8, 4, LOAD_nc, 1>();
    grid<512, 2, 4, LOAD_nc, 1>();
    grid<512, 4, 4, LOAD_nc, 1>();
    grid<512, 8, 4, LOAD_nc, 1>();
    grid<1024, 4, 4, LOAD_nc, 1>();
    grid<128, 8, 4, LOAD_nc, 1>();
    grid<128, 16, 4, LOAD_nc, 1>();
    grid<256, 16, 4, LOAD_nc, 1>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_serial>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_direct>();
    grid<256, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_serial>();
    grid<256, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_direct>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shared>();
    grid<256, 8, 4, LOAD_nc, 0, 1, WARP_shared>();
    grid<512, 8, 4, LOAD_nc, 0, 2>();
    grid<512, 4, 4, LOAD_nc, 0, 4>();
    grid<256, 8, 4, LOAD_nc, 0, 4>();
    grid<512, 2, 4, LOAD_nc, 0, 4>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_two_pass>();
    grid<256, 8, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_two_pass>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_ticket>();
    grid<512, 8, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_ticket>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_atomic>();
    clusters<256, 4>();
    clusters<256, 8>();
    clusters<512, 1>();
    clusters<512, 2>();
    clusters<512, 4>();
    clusters<512, 8>();
    clusters<1024, 1>();
    clusters<1024, 2>();
    clusters<1024, 4>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_one_block>();
    grid<1024, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_one_block>();
}

// Every runtime form that makes sense for n.
static std::vector<contender> contenders_for(unsigned long long n) {
    std::vector<contender> result;
    for (const candidate &base : candidates) {
        const bool single = base.finish == FINISH_cluster || base.finish == FINISH_one_block;
        if ((base.finish == FINISH_cluster && n > 4 << 20) ||
            (base.finish == FINISH_one_block && n > 1 << 18))
            continue;
        std::vector<std::string> seen;
        for (int waves : {0, 1, 2, 4, 8})
            for (int contiguous = 0; contiguous < 2; contiguous++) {
                contender who = {"", base, false, {}};
                who.c.waves = waves;
                who.c.contiguous = contiguous;
                const plan p = plan_of(who.c, n);
                if (p.temp_bytes > storage_bytes || p.partials > 65536 || (single && waves != 1) ||
                    (waves == 0 && contiguous))
                    continue;
                if (contiguous && p.blocks >= p.tiles) // the same thing
                    continue;
                char key[96];
                std::snprintf(key, sizeof key, "%llu %d %u", p.blocks, contiguous, p.finish_block);
                if (std::find(seen.begin(), seen.end(), key) != seen.end())
                    continue;
                seen.push_back(key);
                who.name = text_of(who.c) + " grid=" + std::to_string(p.blocks);
                result.push_back(who);
            }
    }
    return result;
}

static void rounds(std::vector<contender> &who, unsigned long long n, bool cold, int count) {
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

static void sort_and_cut(std::vector<contender> &who, size_t keep) {
    std::sort(who.begin(), who.end(),
              [](const contender &a, const contender &b) { return a.median() < b.median(); });
    if (who.size() > keep)
        who.resize(keep);
}

// The best `keep` that are deterministic, then the best of what else is worth seeing.
static std::vector<contender> finalists(const std::vector<contender> &sorted, size_t keep) {
    std::vector<contender> result, others;
    bool atomic_seen = false, ticket_seen = false;
    std::vector<std::string> experiments_seen;
    for (const contender &who : sorted) {
        bool *const seen = who.c.finish == FINISH_atomic ? &atomic_seen : &ticket_seen;
        if (who.c.experiment) {
            if (std::find(experiments_seen.begin(), experiments_seen.end(), who.c.experiment) ==
                experiments_seen.end()) {
                experiments_seen.push_back(who.c.experiment);
                others.push_back(who);
            }
        } else if (who.c.finish == FINISH_atomic || who.c.finish == FINISH_ticket) {
            if (!*seen)
                others.push_back(who);
            *seen = true;
        } else if (result.size() < keep) {
            result.push_back(who);
        }
    }
    result.insert(result.end(), others.begin(), others.end());
    return result;
}

// A figure of a wrong sum is worth nothing.
static void verify(const contender &who, unsigned long long n) {
    float element, got;
    launch(who, n);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&element, input, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&got, output, 4, cudaMemcpyDeviceToHost));
    if (!(std::fabs(got / (element * (double)n) - 1) < 1e-3)) {
        std::printf("WRONG: %g of %g: %s\n", got, element * (double)n, who.name.c_str());
        std::exit(1);
    }
}

static void measure(int log_n, bool cold, FILE *csv) {
    const unsigned long long n = 1ull << log_n;
    std::vector<contender> who = contenders_for(n);
    const size_t tried = who.size();
    for (const contender &c : who)
        verify(c, n);
    rounds(who, n, cold, 9);
    for (const contender &c : who)
        if (csv)
            std::fprintf(csv, "%d,%s,%.3f,%s\n", log_n, cold ? "cold" : "warm", c.median(),
                         c.name.c_str());
    sort_and_cut(who, std::max<size_t>(40, who.size() / 4));
    rounds(who, n, cold, 41);
    sort_and_cut(who, who.size());
    who = finalists(who, 6);
    contender cub = {"CUB", naive_candidate, true, {}},
              naive = {"naive", naive_candidate, false, {}};
    who.push_back(cub);
    who.push_back(naive);
    rounds(who, n, cold, 3);
    for (contender &c : who)
        c.samples.clear();
    rounds(who, n, cold, 301);
    cub = who[who.size() - 2];
    std::printf("\n2^%d %s: %zu tried; CUB %.2f us, naive %.2f us\n", log_n, cold ? "cold" : "warm",
                tried, cub.median(), who.back().median());
    for (size_t i = 0; i < who.size(); i++) {
        std::vector<float> ratio(cub.samples);
        for (size_t k = 0; k < ratio.size(); k++)
            ratio[k] /= who[i].samples[k];
        std::sort(ratio.begin(), ratio.end());
        if (i + 2 < who.size())
            std::printf("  %8.2f us %6.0f GB/s  x%.3f CUB [%.3f %.3f] of medians x%.3f  %s\n",
                        who[i].median(), n * 4e-3 / who[i].median(), ratio[ratio.size() / 2],
                        ratio[ratio.size() / 4], ratio[3 * ratio.size() / 4],
                        cub.median() / who[i].median(), who[i].name.c_str());
        if (csv)
            std::fprintf(csv, "%d,%s-final,%.3f,%s\n", log_n, cold ? "cold" : "warm",
                         who[i].median(), who[i].name.c_str());
    }
    std::fflush(stdout);
}

// Other types at 1 GiB: a few configurations beside CUB (float16 alone, where CUB accumulates
// differently).
template <class T, int VEC, int UNROLL> static contender other() {
    contender who = {
        "",
        make_candidate<config<T, op_sum, 256, VEC, UNROLL, 4, LOAD_nc, 0, 1, WARP_shuffle,
                              BLOCK_STEP_shuffle, FINISH_dependent, 1>>(),
        false,
        {}};
    who.name = text_of(who.c);
    return who;
}

template <class T, class CubType> static void measure_other(const char *name, bool with_cub) {
    const unsigned long long n = (1ull << 30) / sizeof(T);
    std::vector<contender> who = {other<T, 16 / sizeof(T), 4>(), other<T, 16 / sizeof(T), 8>(),
                                  other<T, 16 / sizeof(T), 16>()};
    std::vector<float> cub;
    for (int r = 0; r < 41; r++) {
        rounds(who, n, true, 1);
        if (with_cub)
            cub.push_back(sample_with(
                [&] {
                    size_t bytes = storage_bytes;
                    CHECK(cub::DeviceReduce::Sum(storage, bytes, (CubType *)(void *)input,
                                                 (CubType *)(void *)output, (long long)n, stream));
                },
                true));
    }
    std::sort(cub.begin(), cub.end());
    for (const contender &c : who)
        std::printf("%s 1 GiB cold: %.1f us %.0f GB/s  %s\n", name, c.median(),
                    1.073741824e6 / c.median(), c.name.c_str());
    if (with_cub)
        std::printf("%s 1 GiB cold: %.1f us %.0f GB/s  CUB\n", name, cub[cub.size() / 2],
                    1.073741824e6 / cub[cub.size() / 2]);
    std::fflush(stdout);
}

int main(int argc, char **argv) {
    setenv("CUDA_MODULE_LOADING", "EAGER",
           1); // loading a kernel behind the gate would wait for ever
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    read_device_facts();
    std::printf("%s, %d SMs, L2 %d MiB, CUB %d.%d\n", properties.name, sm_count,
                properties.l2CacheSize >> 20, CUB_MAJOR_VERSION, CUB_MINOR_VERSION);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaHostAlloc((void **)&gate_host, 64, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&gate_device, (void *)gate_host, 0));
    flush_bytes = 2 * (size_t)properties.l2CacheSize + (8 << 20);
    CHECK(cudaMalloc(&flush_buffer, flush_bytes));
    CHECK(cudaMemset(flush_buffer, 1, flush_bytes));
    CHECK(cudaMalloc(&input, (1ull << 28) * 4));
    CHECK(cudaMemset(input, 0x3e, (1ull << 28) * 4));
    CHECK(cudaMalloc(&output, 256));
    CHECK(cudaMalloc(&storage, storage_bytes));
    CHECK(cudaEventCreate(&begin_event));
    CHECK(cudaEventCreate(&end_event));
    make_all();
    FILE *csv = NULL;
    if (argc > 1 && !(csv = std::fopen((std::string(argv[1]) + "/reduce_vs_cub.csv").c_str(), "w")))
        std::perror(argv[1]);
    for (int log_n : {16, 18, 20, 22, 24, 26, 28})
        for (int cold = 1; cold >= 0; cold--)
            if (cold || log_n < 24)
                measure(log_n, cold, csv);
    measure_other<double, double>("f64", true);
    measure_other<int, int>("i32", true);
    measure_other<long long, long long>("i64", true);
    measure_other<simtune_half, int>("f16", false);
    measure_other<simtune_bfloat16, int>("bf16", false);
    if (csv)
        std::fclose(csv);
    return 0;
}
