// SPDX-License-Identifier: Apache-2.0
// One candidate of each finish, warp step and block step of templates/reduce.cu, and the winners of a generated
// header, each as a short run for compute-sanitizer: odd sizes, bases off alignment by one element, sums checked.
// tests/gpu/sanitize.sh runs them under every tool.
//
//     nvcc -O2 -lineinfo -std=c++14 -arch=sm_90 -I templates -I tests/bench [-DWITH_HEADER -I FOLDER_OF_THE_HEADER]
//          tests/gpu/sanitize_reduce.cu -o sanitize_reduce
//     ./sanitize_reduce --list
//     ./sanitize_reduce [--leave-storage] NAME
//
// --leave-storage: temporary storage and outputs are not filled before a run, so that initcheck sees what a
// kernel reads before it has written it. Otherwise they are filled with 0xFF.
#include "reduce_harness.cuh"

#include <cmath>
#ifdef WITH_HEADER
#include "simtune_reduce.h"
#endif

using namespace simtune;

static bool leave_storage;
static int failures;
static const char *running;

// Small whole numbers, some negative: sums are exact in every type that is used here.
static int value_at(unsigned long long i) {
    return i % 31 ? 0 : (int)(i / 31 % 5) - 1;
}

template <class T> static T *make_input(unsigned long long n, unsigned shift) {
    std::vector<T> host((size_t)n + shift);
    for (unsigned long long i = 0; i < n; i++)
        host[(size_t)i + shift] = (T)value_at(i);
    T *memory;
    CHECK(cudaMalloc(&memory, (host.size() + 1) * sizeof(T)));
    if (!host.empty())
        CHECK(cudaMemcpy(memory, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

static double expected_of(int op, unsigned long long n) {
    double sum = 0, least = INFINITY, greatest = -INFINITY;
    for (unsigned long long i = 0; i < n; i++) {
        const int value = value_at(i);
        sum += value;
        least = std::min<double>(least, value);
        greatest = std::max<double>(greatest, value);
    }
    return op == op_sum ? sum : op == op_min ? least : greatest;
}

static void *make_storage(size_t bytes) {
    void *memory;
    CHECK(cudaMalloc(&memory, bytes ? bytes : 1));
    if (!leave_storage)
        CHECK(cudaMemset(memory, 0xFF, bytes));
    return memory;
}

template <class T> static void judge(const T *out, int op, unsigned long long n, unsigned shift) {
    T got;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    if (!(n == 0 && op != op_sum) && (double)got != expected_of(op, n)) {
        failures++;
        std::printf("%s: n = %llu, base off by %u: %g, expected %g\n", running, n, shift, (double)got,
                    expected_of(op, n));
    }
}

// --- candidates of the template ----------------------------------------------------------------------
template <class Config> static void check_size(const candidate &c, unsigned long long n, unsigned shift) {
    typedef typename Config::T T;
    T *const in = make_input<T>(n, shift), *const out = static_cast<T *>(make_storage(sizeof(T)));
    void *const temp = make_storage(plan_of(c, n).temp_bytes);
    CHECK(launch_candidate(c, in + shift, out, temp, n, nullptr));
    judge(out, Config::op, n, shift);
    CHECK(cudaFree(temp));
    CHECK(cudaFree(out));
    CHECK(cudaFree(in));
}

template <class Config> static void check_config() {
    static const unsigned long long sizes[] = {0, 1, 31, 33, 257, 4099, 65537, 300007};
    candidate c = make_candidate<Config>();
    for (int waves = 0; waves < 3; waves++)
        for (int contiguous = 0; contiguous < 2; contiguous++) {
            const bool few = c.finish == FINISH_cluster || c.finish == FINISH_one_block;
            if ((few && waves != 1) || (waves == 0 && contiguous))
                continue;
            c.waves = waves;
            c.contiguous = contiguous;
            for (unsigned long long n : sizes)
                for (unsigned shift = 0; shift < 2; shift++)
                    check_size<Config>(c, n, shift);
        }
}

template <class T, int OP, int WARP, int STEP, int FINISH, int CLUSTER, int ORDER = ORDER_batched>
static void check() {
    check_config<config<T, OP, 256, 16 / (int)sizeof(T), 2, 2, LOAD_plain, ORDER, 1, WARP, STEP, FINISH, CLUSTER>>();
}

// --- winners of a header -----------------------------------------------------------------------------
#ifdef WITH_HEADER
// Odd sizes that are nearest to each size that a row is recorded for: 64Ki, 1Mi, 16Mi, 256Mi.
static void check_winner(unsigned long long n) {
    int device;
    cudaDeviceProp properties;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&properties, device));
    const simtune_config *const config = simtune_reduce_f32_sum_config(
        properties.major * 10 + properties.minor, properties.multiProcessorCount, (size_t)n);
    std::printf("n = %llu: %s\n", n, config ? config->text : "no configuration");
    for (unsigned shift = 0; shift < 2; shift++) {
        float *const in = make_input<float>(n, shift), *const out = static_cast<float *>(make_storage(4));
        size_t bytes = 0;
        CHECK(simtune_reduce_f32_sum(nullptr, &bytes, in + shift, out, (size_t)n, nullptr));
        void *const temp = make_storage(bytes);
        CHECK(simtune_reduce_f32_sum(temp, &bytes, in + shift, out, (size_t)n, nullptr));
        judge(out, op_sum, n, shift);
        CHECK(cudaFree(temp));
        CHECK(cudaFree(out));
        CHECK(cudaFree(in));
    }
}
static void check_winner_64ki() {
    check_winner(1021);
    check_winner(65537);
}
static void check_winner_1mi() {
    check_winner(1000003);
}
static void check_winner_16mi() {
    check_winner(8388617);
}
static void check_winner_256mi() {
    check_winner(71303171);
}
#endif

// --- by name -------------------------------------------------------------------------------------------
enum { SHUFFLE = WARP_shuffle, SHARED = WARP_shared, REDUX = WARP_redux };
enum { IN_TURN = BLOCK_STEP_serial, BY_LANES = BLOCK_STEP_shuffle, DIRECT = BLOCK_STEP_direct };

static const struct {
    const char *name;
    void (*run)();
} checks[] = {
    {"default", check_config<config<float, op_sum, 256, 1, 1, 1, LOAD_plain, ORDER_batched, 1, SHUFFLE, BY_LANES,
                                    FINISH_two_pass, 1>>},
    {"finish=two_pass", check<float, op_sum, SHUFFLE, BY_LANES, FINISH_two_pass, 1>},
    {"finish=dependent", check<float, op_sum, SHUFFLE, BY_LANES, FINISH_dependent, 1>},
    {"finish=cluster", check<float, op_sum, SHUFFLE, BY_LANES, FINISH_cluster, 8>},
    {"finish=one_block", check<float, op_sum, SHUFFLE, BY_LANES, FINISH_one_block, 1>},
    {"finish=ticket", check<float, op_sum, SHUFFLE, BY_LANES, FINISH_ticket, 1>},
    {"finish=atomic", check<float, op_sum, SHUFFLE, BY_LANES, FINISH_atomic, 1>},
    {"finish=atomic,op=min", check<float, op_min, SHUFFLE, BY_LANES, FINISH_atomic, 1>},
    {"warp=shuffle", check<double, op_max, SHUFFLE, BY_LANES, FINISH_dependent, 1>},
    {"warp=shared", check<float, op_sum, SHARED, IN_TURN, FINISH_dependent, 1>},
    {"warp=redux", check<int, op_sum, REDUX, BY_LANES, FINISH_dependent, 1>},
    {"block_step=serial", check<float, op_sum, SHUFFLE, IN_TURN, FINISH_cluster, 4>},
    {"block_step=direct", check<float, op_sum, SHUFFLE, DIRECT, FINISH_dependent, 1>},
    {"block_step=direct,finish=cluster", check<float, op_sum, SHUFFLE, DIRECT, FINISH_cluster, 4>},
    {"order=interleaved", check<float, op_sum, SHUFFLE, BY_LANES, FINISH_dependent, 1, ORDER_interleaved>},
#ifdef WITH_HEADER
    {"winner,n=64Ki", check_winner_64ki},
    {"winner,n=1Mi", check_winner_1mi},
    {"winner,n=16Mi", check_winner_16mi},
    {"winner,n=256Mi", check_winner_256mi},
#endif
};

int main(int argc, char **argv) {
    if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
        for (const auto &row : checks)
            std::printf("%s\n", row.name);
        return 0;
    }
    leave_storage = argc > 1 && std::strcmp(argv[1], "--leave-storage") == 0;
    const char *const name = argc > 1 + leave_storage ? argv[1 + leave_storage] : "";
    for (const auto &row : checks)
        if (std::strcmp(row.name, name) == 0) {
            running = row.name;
            read_device_facts();
            row.run();
            CHECK(cudaDeviceSynchronize());
            std::printf("%s: %s\n", name, failures ? "WRONG" : "right");
            return failures != 0;
        }
    std::fprintf(stderr, "there is no candidate \"%s\": see --list\n", name);
    return 2;
}
