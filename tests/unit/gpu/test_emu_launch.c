// SPDX-License-Identifier: Apache-2.0
// How the emulated device launches: what __launch_bounds__ and shared memory leave room for, clusters beyond the
// portable size, dependent launches beside their predecessor, blocks that wait for others.
#include "tests/unit/gpu/emu_fixture.h"

// --- bounds ------------------------------------------------------------------------------------

// Eight values of 16 bytes a thread, kept in an array: registers.
#define HOLDS                                                                                      \
    "    int4 kept[8];\n"                                                                          \
    "    for (int i = 0; i < 8; i++) kept[i] = in[threadIdx.x + i * blockDim.x];\n"                \
    "    __syncthreads();\n"                                                                       \
    "    int sum = 0;\n"                                                                           \
    "    for (int i = 0; i < 8; i++) sum += kept[(i + threadIdx.x) % 8].x;\n"                      \
    "    out[threadIdx.x] = sum;\n"

static const char *const bounded =
    "template <int MAX, int MIN> struct config { static const int BLOCK = MAX, LEAST = MIN; };\n"
    "template <class Config> __global__ void __launch_bounds__(Config::BLOCK, Config::LEAST)\n"
    "two(const int4 *in, int *out)\n{\n" HOLDS "}\n"
    "template <class Config> __global__ __launch_bounds__(Config::BLOCK)\n"
    "void one(const int4 *in, int *out)\n{\n" HOLDS "}\n"
    "__global__ void plain(const int4 *in, int *out)\n{\n" HOLDS "}\n";

// clang++ takes no attribute that depends on a template's arguments in that place.
static void skip_without_bounds(void)
{
    char compiler[48];
    must(st_emu_compiler(compiler, &error));
    if (strstr(compiler, "clang"))
        skip();
}

static void launch_bounds(void **state)
{
    (void)state;
    skip_without_bounds();
    static const char *const names[] = {"two<config<256,4> >", "two<config<96,1> >",
                                        "one<config<128,0> >", "plain", "two<config<512,4> >"};
    static const int most[] = {256, 96, 128, 1024, 512};
    program p = open_program(bounded, names, 5);
    st_kernel_facts facts[5];
    for (int k = 0; k < 5; k++) {
        st_gpu_kernel *kernel;
        int blocks;
        must(OPS->kernel(p.gpu, p.module, names[k], &kernel, &error));
        must(OPS->kernel_facts(p.gpu, kernel, &facts[k], &error));
        assert_int_equal(facts[k].max_threads, most[k]);
        must(OPS->occupancy(p.gpu, kernel, (unsigned)most[k], 0, &blocks, &error));
        assert_true(blocks >= 1);
        if (k != 3) {
            must(OPS->occupancy(p.gpu, kernel, (unsigned)most[k] + 32, 0, &blocks, &error));
            assert_int_equal(blocks, 0);
        }
    }
    // Four blocks of 256 threads: 64 registers at most. Four of 512: 32, and the rest is spilled.
    assert_true(facts[0].registers <= 64);
    assert_true(facts[1].registers > 32);
    assert_int_equal(facts[1].local_bytes, 0);
    assert_int_equal(facts[4].registers, 32);
    assert_int_equal(facts[4].local_bytes, 4 * (facts[1].registers - 32));
    int blocks;
    st_gpu_kernel *kernel;
    must(OPS->kernel(p.gpu, p.module, names[4], &kernel, &error));
    must(OPS->occupancy(p.gpu, kernel, 512, 0, &blocks, &error));
    assert_int_equal(blocks, 4);
    close_program(&p);
}

static void too_many_threads_for_the_bounds(void **state)
{
    (void)state;
    skip_without_bounds();
    static const char *const name = "two<config<96,1> >";
    program p = open_program(bounded, &name, 1);
    st_gpu_pointer in = device_buffer(&p, 8 * 128 * 16), out = device_buffer(&p, 512);
    must(OPS->fill8(p.gpu, in, 0, 8 * 128 * 16, &error));
    const argument list[] = {P(in), P(out)};
    assert_int_not_equal(queue_full(&p, (st_launch){.block = {128}}, list, 2), ST_OK);
    assert_non_null(strstr(error.what, "__launch_bounds__ allows 96"));
    QUEUE(&p, 1, 96, P(in), P(out)); // nothing is lost
    must(OPS->synchronize(p.gpu, &error));
    close_program(&p);
}

static void dynamic_shared_memory_takes_room(void **state)
{
    (void)state;
    program p = open_kernel(
        "__global__ void k(int *out) { extern __shared__ int all[]; all[threadIdx.x] = 1;\n"
        "    out[threadIdx.x] = all[threadIdx.x]; }\n",
        "k");
    int few, many, none;
    must(OPS->occupancy(p.gpu, p.kernel, 64, 1024, &many, &error));
    must(OPS->occupancy(p.gpu, p.kernel, 64, 100 << 10, &few, &error));
    must(OPS->occupancy(p.gpu, p.kernel, 64, 240 << 10, &none, &error));
    assert_true(many > few);
    assert_int_equal(few, 2); // 228 KiB an SM
    assert_int_equal(none, 0);
    close_program(&p);
}

// --- clusters ----------------------------------------------------------------------------------

static void sixteen_blocks_in_a_cluster(void **state)
{
    (void)state;
    program p =
        open_kernel("__global__ void ring(unsigned *out)\n"
                    "{\n"
                    "    __shared__ unsigned mine;\n"
                    "    unsigned rank = simtune_emu_cluster_rank();\n"
                    "    if (threadIdx.x == 0) mine = rank * rank;\n"
                    "    simtune_emu_cluster_barrier();\n"
                    "    unsigned other = *simtune_emu_cluster_shared(&mine, (rank + 1) % 16);\n"
                    "    if (threadIdx.x == 0) out[blockIdx.x] = other;\n"
                    "    simtune_emu_cluster_barrier();\n"
                    "}\n",
                    "ring");
    st_gpu_pointer out = device_buffer(&p, 32 * 4);
    const argument list[] = {P(out)};
    uint32_t got[32];
    must(queue_full(&p, (st_launch){.grid = {32}, .block = {64}, .cluster = 16}, list, 1));
    must(OPS->copy_out(p.gpu, got, out, sizeof got, &error));
    for (unsigned b = 0; b < 32; b++)
        assert_int_equal(got[b], (b % 16 + 1) % 16 * ((b % 16 + 1) % 16));
    assert_int_not_equal(
        queue_full(&p, (st_launch){.grid = {34}, .block = {64}, .cluster = 17}, list, 1), ST_OK);
    assert_int_not_equal(
        queue_full(&p, (st_launch){.grid = {20}, .block = {64}, .cluster = 16}, list, 1), ST_OK);
    close_program(&p);
}

// --- dependent launches ------------------------------------------------------------------------

static const char *const pair =
    "__global__ void first(volatile int *data, volatile int *early, int trigger)\n"
    "{\n"
    "    if (trigger) simtune_emu_dependency_trigger();\n"
    "    for (int i = 0; i < 40; i++) { __syncthreads(); __nanosleep(1); }\n"
    "    data[blockIdx.x] = 7;\n"
    "    if (*early) data[64 + blockIdx.x] = 1;\n" // somebody behind us runs already
    "}\n"
    "__global__ void second(volatile int *data, volatile int *early, int *out, int waits)\n"
    "{\n"
    "    if (threadIdx.x == 0) *early = 1;\n"
    "    if (waits) simtune_emu_dependency_wait();\n"
    "    if (threadIdx.x == 0) out[blockIdx.x] = data[blockIdx.x];\n"
    "}\n";

typedef struct seen {
    int right, overlapped;
} seen;

// Blocks of `second` that saw what `first` wrote, blocks of `first` that saw `second` run.
static seen run_pair(bool dependent, bool triggers, bool waits)
{
    static const char *const names[] = {"first", "second"};
    program p = open_program(pair, names, 2);
    st_gpu_kernel *second;
    must(OPS->kernel(p.gpu, p.module, "second", &second, &error));
    enum { BLOCKS = 8 };
    int data[128], out[BLOCKS];
    st_gpu_pointer d = device_buffer(&p, sizeof data), e = device_buffer(&p, 4),
                   o = device_buffer(&p, sizeof out);
    must(OPS->fill8(p.gpu, d, 0, sizeof data, &error));
    must(OPS->fill8(p.gpu, e, 0, 4, &error));
    const argument a[] = {P(d), P(e), U(triggers)}, b[] = {P(d), P(e), P(o), U(waits)};
    must(queue_full(&p, (st_launch){.grid = {BLOCKS}, .block = {64}}, a, 3));
    must(queue_full(
        &p, (st_launch){.kernel = second, .grid = {BLOCKS}, .block = {64}, .dependent = dependent},
        b, 4));
    must(OPS->copy_out(p.gpu, data, d, sizeof data, &error));
    must(OPS->copy_out(p.gpu, out, o, sizeof out, &error));
    seen result = {0, 0};
    for (int i = 0; i < BLOCKS; i++) {
        result.right += out[i] == 7;
        result.overlapped += data[64 + i] == 1;
        assert_int_equal(data[i], 7);
    }
    close_program(&p);
    return result;
}

static void dependent_launches_overlap(void **state)
{
    (void)state;
    seen in_order = run_pair(false, true, false);
    assert_int_equal(in_order.right, 8);
    assert_int_equal(in_order.overlapped, 0);
    seen waits = run_pair(true, true, true);
    assert_int_equal(waits.right, 8);
    assert_true(waits.overlapped > 0);
    seen forgot = run_pair(true, true, false); // the fault that this is for
    assert_true(forgot.right < 8);
    seen again = run_pair(true, true, false);
    assert_int_equal(forgot.right, again.right); // and it repeats
    assert_int_equal(run_pair(true, false, true).right, 8);
    assert_int_equal(run_pair(true, false, false).overlapped,
                     0); // nobody triggered: it begins at the end
}

// A fault in either of the two ends both.
static void a_fault_beside_another_kernel(void **state)
{
    (void)state;
    static const char *const names[] = {"first", "second"};
    static const char *const source =
        "__global__ void first(int *data) { simtune_emu_dependency_trigger();\n"
        "    for (int i = 0; i < 100; i++) __nanosleep(1); data[threadIdx.x] = 1; }\n"
        "__global__ void second(int *data) { data[threadIdx.x + (1 << 17)] = 1; }\n";
    program p = open_program(source, names, 2);
    st_gpu_kernel *second;
    must(OPS->kernel(p.gpu, p.module, "second", &second, &error));
    st_gpu_pointer d = device_buffer(&p, 4096);
    const argument a[] = {P(d)};
    must(queue_full(&p, (st_launch){.block = {32}}, a, 1));
    must(queue_full(&p, (st_launch){.kernel = second, .block = {32}, .dependent = true}, a, 1));
    expect_failure(&p, "second, block (0,0,0)");
    close_program(&p);
}

// Three in a row: the third begins when the second has triggered, which is not before the first has ended.
static void a_chain_of_dependent_launches(void **state)
{
    (void)state;
    program p = open_kernel("__global__ void add(int *data, int by)\n"
                            "{\n"
                            "    simtune_emu_dependency_trigger();\n"
                            "    simtune_emu_dependency_wait();\n"
                            "    data[blockIdx.x * blockDim.x + threadIdx.x] *= by;\n"
                            "    data[blockIdx.x * blockDim.x + threadIdx.x] += by;\n"
                            "}\n",
                            "add");
    int data[256];
    st_gpu_pointer d = device_buffer(&p, sizeof data);
    must(OPS->fill8(p.gpu, d, 0, sizeof data, &error));
    for (int i = 2; i < 6; i++) {
        const argument a[] = {P(d), U(i)};
        must(queue_full(&p, (st_launch){.grid = {4}, .block = {64}, .dependent = i > 2}, a, 2));
    }
    must(OPS->copy_out(p.gpu, data, d, sizeof data, &error));
    for (int i = 0; i < 256; i++)
        assert_int_equal(data[i], ((2 * 3 + 3) * 4 + 4) * 5 + 5);
    close_program(&p);
}

// --- blocks that wait for others ---------------------------------------------------------------

// More tiles than blocks, each tile adds to what the tile before left: taken by ticket, waited for by polling.
static void a_persistent_grid_ends(void **state)
{
    (void)state;
    program p = open_kernel(
        "__global__ void chain(unsigned *ticket, unsigned long long *left, unsigned tiles)\n"
        "{\n"
        "    __shared__ unsigned tile;\n"
        "    for (;;) {\n"
        "        if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);\n"
        "        __syncthreads();\n"
        "        unsigned mine = tile;\n"
        "        __syncthreads();\n"
        "        if (mine >= tiles) return;\n"
        "        if (threadIdx.x == 0) {\n"
        "            unsigned long long before = mine ? 0 : 1;\n"
        "            while (!before) before = simtune_emu_load_ordered(&left[mine - 1]);\n"
        "            simtune_emu_store_ordered(&left[mine], before + 1);\n"
        "        }\n"
        "    }\n"
        "}\n",
        "chain");
    enum { TILES = 500 };
    uint64_t left[TILES];
    st_gpu_pointer t = device_buffer(&p, 4), l = device_buffer(&p, sizeof left);
    must(OPS->fill8(p.gpu, t, 0, 4, &error));
    must(OPS->fill8(p.gpu, l, 0, sizeof left, &error));
    QUEUE(&p, 16, 64, P(t), P(l), U(TILES));
    must(OPS->copy_out(p.gpu, left, l, sizeof left, &error));
    for (int i = 0; i < TILES; i++)
        assert_int_equal(left[i], i + 2);
    close_program(&p);
}

// --- words of 16 bytes -------------------------------------------------------------------------

static void wide_relaxed_words(void **state)
{
    (void)state;
    static const char *const source =
        "struct __align__(16) status { unsigned long long flag, value; };\n"
        "__global__ void pass(status *slots, unsigned long long *out)\n"
        "{\n"
        "    if (threadIdx.x) return;\n"
        "    status got = {1, 0};\n"
        "    if (blockIdx.x)\n"
        "        do got = simtune_emu_load_relaxed(&slots[blockIdx.x - 1]); while (!got.flag);\n"
        "    out[blockIdx.x] = got.value;\n"
        "    status put = {1, got.value + blockIdx.x};\n"
        "    simtune_emu_store_relaxed(&slots[blockIdx.x], put);\n"
        "}\n";
    for (int checked = 0; checked < 2; checked++) {
        st_emu_set_checking(checked);
        program p = open_kernel(source, "pass");
        enum { BLOCKS = 40 };
        uint64_t out[BLOCKS];
        st_gpu_pointer s = device_buffer(&p, BLOCKS * 16), o = device_buffer(&p, sizeof out);
        must(OPS->fill8(p.gpu, s, 0, BLOCKS * 16, &error));
        QUEUE(&p, BLOCKS, 32, P(s), P(o));
        must(OPS->copy_out(p.gpu, out, o, sizeof out, &error));
        for (uint64_t b = 0; b < BLOCKS; b++)
            assert_int_equal(out[b], b ? (b - 1) * b / 2 : 0);
        close_program(&p);
    }
    st_emu_set_checking(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_bounds),
        cmocka_unit_test(too_many_threads_for_the_bounds),
        cmocka_unit_test(dynamic_shared_memory_takes_room),
        cmocka_unit_test(sixteen_blocks_in_a_cluster),
        cmocka_unit_test(dependent_launches_overlap),
        cmocka_unit_test(a_fault_beside_another_kernel),
        cmocka_unit_test(a_chain_of_dependent_launches),
        cmocka_unit_test(a_persistent_grid_ends),
        cmocka_unit_test(wide_relaxed_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
