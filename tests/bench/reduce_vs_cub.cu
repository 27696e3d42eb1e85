// SPDX-License-Identifier: Apache-2.0
// Times hand-picked configurations of templates/reduce.cu beside cub::DeviceReduce::Sum, float32, at the same
// guarantee (run to run) and under the same contract: temporary storage is filled with garbage before every sample.
//
// A gate kernel holds the stream until everything is queued, so launch gaps of the host stay out. cold: more than
// twice L2 is read before each sample; warm: not. First every candidate a few times, then the better quarter more
// often, then the best few interleaved with CUB in random order; reported are medians and the median of the ratios of
// neighbours.
//
//   nvcc -O2 -std=c++17 -arch=sm_90 tests/bench/reduce_vs_cub.cu -o reduce_vs_cub
//   ./reduce_vs_cub [FOLDER for all figures as CSV]
#include <cub/cub.cuh>

#include "reduce_harness.cuh"

#include <random>

using namespace simtune;

// --- measuring ------------------------------------------------------------------------------------------
static volatile int *gate_host;
static int *gate_device;
static int4 *flush_buffer;
static size_t flush_bytes;
static float *input, *output;
static void *storage;
static const size_t storage_bytes = 64 << 20;
static cudaEvent_t begin_event, end_event;
static cudaStream_t stream;

__global__ void gate(volatile int *flag)
{
    const long long start = clock64();
    while (*flag == 0 && clock64() - start < 4000000000ll)
        __nanosleep(100);
}

__global__ void read_all(const int4 *from, size_t count, int *sink)
{
    int sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        sum += from[i].x ^ from[i].y ^ from[i].z ^ from[i].w;
    if (sum == 0x12345678)
        *sink = sum;
}

struct contender {
    std::string name;
    candidate c; // unused for CUB
    bool is_cub;
    std::vector<float> samples; // µs
    float median() const
    {
        std::vector<float> sorted(samples);
        std::sort(sorted.begin(), sorted.end());
        return sorted[sorted.size() / 2];
    }
};

static void launch(const contender &who, unsigned long long n)
{
    if (who.is_cub) {
        size_t bytes = storage_bytes;
        CHECK(cub::DeviceReduce::Sum(storage, bytes, input, output, n, stream));
    } else {
        CHECK(launch_candidate(who.c, input, output, storage, n, stream));
    }
}

static float sample(const contender &who, unsigned long long n, bool cold)
{
    CHECK(cudaMemsetAsync(storage, 0xa5, 1 << 20, stream));
    if (cold)
        read_all<<<8 * sm_count, 256, 0, stream>>>(flush_buffer, flush_bytes / 16, gate_device + 8);
    CHECK(cudaStreamSynchronize(stream));
    *gate_host = 0;
    gate<<<1, 1, 0, stream>>>(gate_device);
    CHECK(cudaEventRecord(begin_event, stream));
    launch(who, n);
    CHECK(cudaEventRecord(end_event, stream));
    *gate_host = 1;
    CHECK(cudaEventSynchronize(end_event));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin_event, end_event));
    return ms * 1000;
}

// --- the candidates ---------------------------------------------------------------------------------------
static std::vector<candidate> candidates;

template <int BLOCK, int VEC, int UNROLL, int ACC, int LOAD, int ORDER, int MIN_BLOCKS, int WARP, int STEP, int FINISH,
          int CLUSTER>
static void add()
{
    candidates.push_back(
        make_candidate<config<float, op_sum, BLOCK, VEC, UNROLL, ACC, LOAD, ORDER, MIN_BLOCKS, WARP, STEP, FINISH,
                              CLUSTER>>());
}
template <int BLOCK, int UNROLL, int ACC, int LOAD = LOAD_nc, int ORDER = ORDER_batched, int MIN_BLOCKS = 1,
          int WARP = WARP_shuffle, int STEP = BLOCK_STEP_shuffle, int FINISH = FINISH_dependent>
static void grid()
{
    add<BLOCK, 4, UNROLL, ACC, LOAD, ORDER, MIN_BLOCKS, WARP, STEP, FINISH, 1>();
}
template <int BLOCK, int UNROLL, int CLUSTER> static void cluster()
{
    add<BLOCK, 4, UNROLL, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_cluster, CLUSTER>();
    add<BLOCK, 4, UNROLL, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_direct, FINISH_cluster, CLUSTER>();
}
template <int BLOCK, int UNROLL> static void clusters()
{
    cluster<BLOCK, UNROLL, 4>();
    cluster<BLOCK, UNROLL, 8>();
}

static void make_all()
{
    add<256, 1, 1, 1, LOAD_plain, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_two_pass, 1>(); // the default
    add<256, 2, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_dependent, 1>();
    add<256, 1, 8, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_dependent, 1>();
    grid<128, 1, 4>(); grid<128, 2, 4>(); grid<128, 4, 4>(); grid<128, 8, 4>(); grid<128, 16, 4>();
    grid<256, 1, 4>(); grid<256, 2, 4>(); grid<256, 4, 4>(); grid<256, 8, 4>(); grid<256, 16, 4>();
    grid<512, 1, 4>(); grid<512, 2, 4>(); grid<512, 4, 4>(); grid<512, 8, 4>(); grid<512, 16, 4>();
    grid<1024, 1, 4>(); grid<1024, 2, 4>(); grid<1024, 4, 4>(); grid<1024, 8, 4>();
    grid<256, 4, 1>(); grid<256, 8, 1>(); grid<512, 4, 1>(); grid<512, 8, 1>();
    grid<256, 4, 8>(); grid<256, 8, 8>(); grid<512, 4, 8>(); grid<512, 8, 8>();
    grid<512, 4, 4, LOAD_plain>(); grid<512, 4, 4, LOAD_cg>(); grid<512, 4, 4, LOAD_no_allocate>();
    grid<512, 4, 4, LOAD_evict_first>(); grid<512, 4, 4, LOAD_prefetch_64>(); grid<512, 4, 4, LOAD_prefetch_128>();
    grid<512, 4, 4, LOAD_prefetch_256>();
    grid<256, 8, 4, LOAD_plain>(); grid<256, 8, 4, LOAD_cg>(); grid<256, 8, 4, LOAD_no_allocate>();
    grid<256, 8, 4, LOAD_evict_first>(); grid<256, 8, 4, LOAD_prefetch_64>(); grid<256, 8, 4, LOAD_prefetch_128>();
    grid<256, 8, 4, LOAD_prefetch_256>();
    grid<256, 4, 4, LOAD_nc, 1>(); grid<256, 8, 4, LOAD_nc, 1>(); grid<512, 2, 4, LOAD_nc, 1>();
    grid<512, 4, 4, LOAD_nc, 1>(); grid<512, 8, 4, LOAD_nc, 1>(); grid<1024, 4, 4, LOAD_nc, 1>();
    grid<128, 8, 4, LOAD_nc, 1>(); grid<128, 16, 4, LOAD_nc, 1>(); grid<256, 16, 4, LOAD_nc, 1>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_serial>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_direct>();
    grid<256, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_serial>();
    grid<256, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_direct>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shared>(); grid<256, 8, 4, LOAD_nc, 0, 1, WARP_shared>();
    grid<512, 8, 4, LOAD_nc, 0, 2>(); grid<512, 4, 4, LOAD_nc, 0, 4>(); grid<256, 8, 4, LOAD_nc, 0, 4>();
    grid<512, 2, 4, LOAD_nc, 0, 4>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_two_pass>();
    grid<256, 8, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_two_pass>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_ticket>();
    grid<512, 8, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_ticket>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_atomic>();
    clusters<256, 4>(); clusters<256, 8>();
    clusters<512, 1>(); clusters<512, 2>(); clusters<512, 4>(); clusters<512, 8>();
    clusters<1024, 1>(); clusters<1024, 2>(); clusters<1024, 4>();
    grid<512, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_one_block>();
    grid<1024, 4, 4, LOAD_nc, 0, 1, WARP_shuffle, BLOCK_STEP_shuffle, FINISH_one_block>();
}

// Every runtime form that makes sense for n.
static std::vector<contender> contenders_for(unsigned long long n)
{
    std::vector<contender> result;
    for (const candidate &base : candidates) {
        const bool single = base.finish == FINISH_cluster || base.finish == FINISH_one_block;
        if ((base.finish == FINISH_cluster && n > 4 << 20) || (base.finish == FINISH_one_block && n > 1 << 18))
            continue;
        std::vector<std::string> seen;
        for (int waves : {0, 1, 2, 4, 8})
            for (int contiguous = 0; contiguous < 2; contiguous++)
                for (int ppt : {1, 4}) {
                    contender who = {"", base, false, {}};
                    who.c.waves = waves;
                    who.c.contiguous = contiguous;
                    who.c.partials_per_thread = ppt;
                    const plan p = plan_of(who.c, n);
                    if (p.temp_bytes > storage_bytes || p.partials > 65536 || (single && (waves != 1 || ppt != 1)) ||
                        (waves == 0 && contiguous) || (base.second == NULL && ppt != 1))
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

static void rounds(std::vector<contender> &who, unsigned long long n, bool cold, int count)
{
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

static void sort_and_cut(std::vector<contender> &who, size_t keep)
{
    std::sort(who.begin(), who.end(), [](const contender &a, const contender &b) { return a.median() < b.median(); });
    if (who.size() > keep)
        who.resize(keep);
}

static void measure(int log_n, bool cold, FILE *csv)
{
    const unsigned long long n = 1ull << log_n;
    std::vector<contender> who = contenders_for(n), naive(1, contender{"naive", candidates[0], false, {}});
    const size_t tried = who.size();
    rounds(who, n, cold, 5);
    for (const contender &c : who)
        if (csv)
            std::fprintf(csv, "%d,%s,%.3f,%s\n", log_n, cold ? "cold" : "warm", c.median(), c.name.c_str());
    sort_and_cut(who, std::max<size_t>(24, who.size() / 4));
    rounds(who, n, cold, 16);
    sort_and_cut(who, 6);
    for (contender &c : who)
        c.samples.clear();
    who.push_back(contender{"CUB", candidates[0], true, {}});
    naive[0].c.waves = 8;
    who.push_back(naive[0]);
    rounds(who, n, cold, 3); // warm up CUB
    for (contender &c : who)
        c.samples.clear();
    rounds(who, n, cold, 101);
    const contender &cub = who[who.size() - 2];
    std::printf("\n2^%d %s: %zu tried; CUB %.2f us, naive %.2f us\n", log_n, cold ? "cold" : "warm", tried,
                cub.median(), who.back().median());
    for (size_t i = 0; i + 2 < who.size(); i++) {
        std::vector<float> ratio(cub.samples);
        for (size_t k = 0; k < ratio.size(); k++)
            ratio[k] /= who[i].samples[k];
        std::sort(ratio.begin(), ratio.end());
        std::printf("  %8.2f us %6.0f GB/s  x%.3f CUB [%.3f %.3f]  %s\n", who[i].median(),
                    n * 4e-3 / who[i].median(), ratio[ratio.size() / 2], ratio[ratio.size() / 4],
                    ratio[3 * ratio.size() / 4], who[i].name.c_str());
        if (csv)
            std::fprintf(csv, "%d,%s-final,%.3f,%s\n", log_n, cold ? "cold" : "warm", who[i].median(),
                         who[i].name.c_str());
    }
    if (csv)
        std::fprintf(csv, "%d,%s-final,%.3f,CUB\n", log_n, cold ? "cold" : "warm", cub.median());
    std::fflush(stdout);
}

int main(int argc, char **argv)
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); // loading a kernel behind the gate would wait for ever
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    sm_count = properties.multiProcessorCount;
    std::printf("%s, %d SMs, L2 %d MiB, CUB %d.%d\n", properties.name, sm_count, properties.l2CacheSize >> 20,
                CUB_MAJOR_VERSION, CUB_MINOR_VERSION);
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
    for (int log_n : {16, 20, 24, 28})
        for (int cold = 1; cold >= 0; cold--)
            if (cold || log_n < 24)
                measure(log_n, cold, csv);
    if (csv)
        std::fclose(csv);
    return 0;
}
