// SPDX-License-Identifier: Apache-2.0
// The emulated device: that it computes what CUDA's words say, and that it finds what hardware
// hides.
#include "tests/unit/gpu/emu_fixture.h"

#include <math.h>

// --- computing ---------------------------------------------------------------------------------

static void vector_add(void **state)
{
    (void)state;
    program p = open_kernel(
        "template <int N> __global__ void add(const float *a, const float *b, float *c,\n"
        "                                     unsigned n)\n"
        "{\n"
        "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) c[i] = a[i] * N + b[i];\n"
        "}\n",
        "add<3>");
    enum { N = 1000 };
    float a[N], b[N], c[N];
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 0.5f;
    }
    st_gpu_pointer da = device_copy(&p, a, sizeof a), db = device_copy(&p, b, sizeof b);
    st_gpu_pointer dc = device_buffer(&p, sizeof c);
    QUEUE(&p, 8, 128, P(da), P(db), P(dc), U(N));
    must(OPS->copy_out(p.gpu, c, dc, sizeof c, &error));
    for (int i = 0; i < N; i++)
        assert_float_equal(c[i], 3.0f * (float)i + 0.5f, 0);
    close_program(&p);
}

static const char *const block_sum =
    "__global__ void block_sum(const float *in, float *out, unsigned n)\n"
    "{\n"
    "    __shared__ float part[32];\n"
    "    float sum = 0;\n"
    "    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * "
    "blockDim.x)\n"
    "        sum += in[i];\n"
    "    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);\n"
    "    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x < 32) {\n"
    "        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f;\n"
    "        for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);\n"
    "        if (threadIdx.x == 0) out[blockIdx.x] = sum;\n"
    "    }\n"
    "}\n";

static void block_reduction(void **state)
{
    (void)state;
    program p = open_kernel(block_sum, "block_sum");
    enum { N = 65536, BLOCKS = 256 };
    static float in[N], out[BLOCKS];
    double want = 0, got = 0;
    for (int i = 0; i < N; i++)
        want += in[i] = (float)(i % 7 - 3);
    st_gpu_pointer din = device_copy(&p, in, sizeof in), dout = device_buffer(&p, sizeof out);
    QUEUE(&p, BLOCKS, 256, P(din), P(dout), U(N));
    must(OPS->copy_out(p.gpu, out, dout, sizeof out, &error));
    for (int i = 0; i < BLOCKS; i++)
        got += out[i];
    assert_true(got == want);
    st_kernel_facts facts;
    must(OPS->kernel_facts(p.gpu, p.kernel, &facts, &error));
    assert_int_equal(facts.static_smem, 32 * 4);
    assert_int_equal(facts.binary_version, 90);
    assert_true(facts.registers >= 16 && facts.registers <= 64);
    close_program(&p);
}

// Two arrays under two names in two namespaces are the same memory, of the size that the launch
// says, behind the static one.
static void dynamic_shared(void **state)
{
    (void)state;
    program p = open_kernel(
        "namespace a { extern __shared__ int words[]; }\n"
        "namespace b { template <class T> __device__ T *bytes() { extern __shared__ char raw[];\n"
        "    return (T *)raw; } }\n"
        "__global__ void turn(int *out)\n"
        "{\n"
        "    __shared__ int fixed[64];\n"
        "    fixed[threadIdx.x] = 1000;\n"
        "    a::words[threadIdx.x] = threadIdx.x + blockIdx.x * 100;\n"
        "    __syncthreads();\n"
        "    out[blockIdx.x * 64 + threadIdx.x] = b::bytes<int>()[63 - threadIdx.x] + "
        "fixed[threadIdx.x];\n"
        "}\n",
        "turn");
    int out[2 * 64];
    st_gpu_pointer dout = device_buffer(&p, sizeof out);
    argument list[] = {P(dout)};
    must(queue_full(&p, (st_launch){.grid = {2}, .block = {64}, .dynamic_smem = 256}, list, 1));
    must(OPS->copy_out(p.gpu, out, dout, sizeof out, &error));
    for (int i = 0; i < 128; i++)
        assert_int_equal(out[i], 1000 + 63 - i % 64 + i / 64 * 100);
    // One word less, and the last thread's store is beyond it.
    must(queue_full(&p, (st_launch){.grid = {2}, .block = {64}, .dynamic_smem = 128}, list, 1));
    expect_failure(&p, "beyond the block's shared memory");
    close_program(&p);
}

static void warp_words(void **state)
{
    (void)state;
    program p = open_kernel(
        "__global__ void words(unsigned *out)\n"
        "{\n"
        "    unsigned lane = threadIdx.x, full = 0xffffffffu;\n"
        "    unsigned ok = 1;\n"
        "    ok &= __ballot_sync(full, lane % 3 == 0) == 0x49249249u;\n"
        "    ok &= __any_sync(full, lane == 5) == 1;\n"
        "    ok &= __all_sync(full, lane < 31) == 0;\n"
        "    ok &= __shfl_sync(full, (int)lane, 7, 8) == (int)(lane / 8 * 8 + 7);\n"
        "    ok &= __shfl_sync(full, lane, lane + 1) == (lane + 1) % 32;\n"
        "    ok &= __shfl_up_sync(full, lane, 1) == (lane ? lane - 1 : 0);\n"
        "    ok &= __shfl_down_sync(full, (double)lane, 4, 16) == (lane % 16 < 12 ? lane + 4 : "
        "lane);\n"
        "    ok &= __shfl_xor_sync(full, (unsigned long long)lane << 40, 3) == (unsigned long "
        "long)(lane ^ 3) << 40;\n"
        "    ok &= __match_any_sync(full, lane % 2) == (lane % 2 ? 0xaaaaaaaau : 0x55555555u);\n"
        "    int all; ok &= __match_all_sync(full, 5, &all) == full && all;\n"
        "    ok &= __match_all_sync(full, lane, &all) == 0 && !all;\n"
        "    ok &= __reduce_add_sync(full, lane) == 496 && __reduce_min_sync(full, (int)lane - 9) "
        "== -9;\n"
        "    ok &= __reduce_max_sync(full, -(int)lane) == 0 && __reduce_or_sync(full, 1u << lane) "
        "== full;\n"
        "    if (lane < 16) ok &= __ballot_sync(0xffffu, 1) == 0xffffu;\n"
        "    else ok &= __ballot_sync(0xffff0000u, lane % 2) == 0xaaaa0000u;\n"
        "    __syncwarp();\n"
        "    ok &= __popc(0xf0u) == 4 && __ffs(8) == 4 && __clz(1) == 31 && __brev(1u) == "
        "0x80000000u;\n"
        "    ok &= __byte_perm(0x33221100u, 0x77665544u, 0x7531) == 0x77553311u;\n"
        "    ok &= __umulhi(0x80000000u, 6u) == 3u && __funnelshift_l(0x80000000u, 1u, 1) == 3u;\n"
        "    ok &= max(-1, 1u) == 0xffffffffu && min(2, 3) == 2 && __float_as_uint(1.0f) == "
        "0x3f800000u;\n"
        "    ok &= simtune_emu_half_to_float(0x3c00) == 1.0f && "
        "simtune_emu_float_to_half(65520.0f) == 0x7c00;\n"
        "    ok &= simtune_emu_float_to_half(65519.0f) == 0x7bff && "
        "simtune_emu_float_to_bf16(1.0f) == 0x3f80;\n"
        "    ok &= __activemask() == 1u << lane;\n"
        "    out[lane] = ok;\n"
        "}\n",
        "words");
    unsigned out[32];
    st_gpu_pointer dout = device_buffer(&p, sizeof out);
    QUEUE(&p, 1, 32, P(dout));
    must(OPS->copy_out(p.gpu, out, dout, sizeof out, &error));
    for (int i = 0; i < 32; i++)
        assert_int_equal(out[i], 1);
    close_program(&p);
}

static void barrier_predicates(void **state)
{
    (void)state;
    program p =
        open_kernel("__global__ void votes(int *out)\n"
                    "{\n"
                    "    int t = threadIdx.x;\n"
                    "    int a = __syncthreads_count(t % 3 == 0);\n"
                    "    int b = __syncthreads_and(t < 95), c = __syncthreads_and(t < 96);\n"
                    "    int d = __syncthreads_or(t == 50), e = __syncthreads_or(t == 500);\n"
                    "    out[t] = a * 10000 + b * 1000 + c * 100 + d * 10 + e;\n"
                    "}\n",
                    "votes");
    int out[96];
    st_gpu_pointer dout = device_buffer(&p, sizeof out);
    QUEUE(&p, 1, 96, P(dout));
    must(OPS->copy_out(p.gpu, out, dout, sizeof out, &error));
    for (int i = 0; i < 96; i++)
        assert_int_equal(out[i], 320110);
    close_program(&p);
}

static void atomics(void **state)
{
    (void)state;
    program p = open_kernel(
        "__global__ void all(int *i, unsigned *u, unsigned long long *l, float *f, double *d)\n"
        "{\n"
        "    int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    atomicAdd(&i[0], t); atomicMin(&i[1], -t); atomicMax(&i[2], t); atomicSub(&i[3], 1);\n"
        "    atomicInc(&u[0], 99); atomicOr(&u[1], 1u << t % 32); atomicAnd(&u[2], ~(1u << t % "
        "32));\n"
        "    atomicXor(&u[3], (unsigned)t);\n"
        "    atomicAdd(l, 1ull << 33); atomicAdd(f, 0.5f); atomicAdd(d, 0.25);\n"
        "    unsigned old = u[4], seen;\n"
        "    do { seen = old; old = atomicCAS(&u[4], seen, seen + 2); } while (old != seen);\n"
        "    if (t == 0) atomicExch(&u[5], 77);\n"
        "}\n",
        "all");
    int i[4] = {0};
    unsigned u[6] = {0, 0, 0xffffffffu, 0, 0, 0};
    uint64_t l = 0;
    float f = 0;
    double d = 0;
    st_gpu_pointer di = device_copy(&p, i, sizeof i), du = device_copy(&p, u, sizeof u);
    st_gpu_pointer dl = device_copy(&p, &l, 8), df = device_copy(&p, &f, 4),
                   dd = device_copy(&p, &d, 8);
    QUEUE(&p, 10, 100, P(di), P(du), P(dl), P(df), P(dd));
    must(OPS->copy_out(p.gpu, i, di, sizeof i, &error));
    must(OPS->copy_out(p.gpu, u, du, sizeof u, &error));
    must(OPS->copy_out(p.gpu, &l, dl, 8, &error));
    must(OPS->copy_out(p.gpu, &f, df, 4, &error));
    must(OPS->copy_out(p.gpu, &d, dd, 8, &error));
    assert_int_equal(i[0], 499500);
    assert_int_equal(i[1], -999);
    assert_int_equal(i[2], 999);
    assert_int_equal(i[3], -1000);
    assert_int_equal(u[0], 0); // wraps after 99
    assert_int_equal(u[1], 0xffffffffu);
    assert_int_equal(u[2], 0);
    assert_int_equal(u[3], 0); // the XOR of 0 … 999
    assert_int_equal(u[4], 2000);
    assert_int_equal(u[5], 77);
    assert_true(l == 1000ull << 33);
    assert_true(f == 500.0f && d == 250.0);
    close_program(&p);
}

// A block reads its neighbours' shared memory; the one that waits for no barrier would read
// garbage.
static void cluster_exchange(void **state)
{
    (void)state;
    program p = open_kernel(
        "__global__ void exchange(int *out)\n"
        "{\n"
        "    __shared__ int mine;\n"
        "    unsigned rank = simtune_emu_cluster_rank(), size = simtune_emu_cluster_size();\n"
        "    if (threadIdx.x == 0) mine = (int)blockIdx.x;\n"
        "    simtune_emu_cluster_barrier();\n"
        "    if (threadIdx.x < size)\n"
        "        out[blockIdx.x * 4 + threadIdx.x] = *simtune_emu_cluster_shared(&mine, "
        "threadIdx.x) * 10 + rank;\n"
        "    simtune_emu_cluster_barrier();\n"
        "}\n",
        "exchange");
    int out[12 * 4];
    st_gpu_pointer dout = device_buffer(&p, sizeof out);
    argument list[] = {P(dout)};
    must(queue_full(&p, (st_launch){.grid = {12}, .block = {64}, .cluster = 4}, list, 1));
    must(OPS->copy_out(p.gpu, out, dout, sizeof out, &error));
    for (int b = 0; b < 12; b++)
        for (int r = 0; r < 4; r++)
            assert_int_equal(out[b * 4 + r], (b / 4 * 4 + r) * 10 + b % 4);
    assert_int_not_equal(
        queue_full(&p, (st_launch){.grid = {10}, .block = {64}, .cluster = 4}, list, 1), ST_OK);
    assert_false(OPS->is_lost(p.gpu));
    close_program(&p);
}

static void cluster_block_gone(void **state)
{
    (void)state;
    program p = open_kernel("__global__ void gone(int *out)\n"
                            "{\n"
                            "    __shared__ int mine;\n"
                            "    mine = 1;\n"
                            "    simtune_emu_cluster_barrier();\n"
                            "    if (blockIdx.x == 1) return;\n"
                            "    for (int i = 0; i < 1000; i++) simtune_emu_yield();\n"
                            "    *out = *simtune_emu_cluster_shared(&mine, 1);\n"
                            "}\n",
                            "gone");
    st_gpu_pointer dout = device_buffer(&p, 4);
    argument list[] = {P(dout)};
    must(queue_full(&p, (st_launch){.grid = {2}, .block = {1}, .cluster = 2}, list, 1));
    expect_failure(&p, "which has exited");
    close_program(&p);
}

// Each block waits for its predecessor's word, with three ways of waiting; blocks begin in any
// order.
static void look_back(void **state)
{
    (void)state;
    static const char *const waits[] = {
        "while (atomicAdd(&word[b - 1], 0u) == 0u) ;",
        "while (simtune_emu_load_ordered(&word[b - 1]) == 0u) ;",
        "while (((volatile unsigned *)word)[b - 1] == 0u) ;", // nothing but the timer helps
        "while (((volatile unsigned *)word)[b - 1] == 0u) __nanosleep(20);",
    };
    for (size_t w = 0; w < sizeof waits / sizeof *waits; w++) {
        char source[1024];
        snprintf(source, sizeof source,
                 "__global__ void chain(unsigned *word)\n"
                 "{\n"
                 "    unsigned b = blockIdx.x;\n"
                 "    if (threadIdx.x == 0) {\n"
                 "        if (b > 0) %s\n"
                 "        __threadfence();\n"
                 "        atomicExch(&word[b], b > 0 ? word[b - 1] + 1u : 1u);\n"
                 "    }\n"
                 "    __syncthreads();\n"
                 "}\n",
                 waits[w]);
        program p = open_kernel(source, "chain");
        unsigned blocks = w == 2 ? 6 : 500, out[500];
        st_gpu_pointer dout = device_buffer(&p, sizeof out);
        must(OPS->fill32(p.gpu, dout, 0, 500, &error));
        QUEUE(&p, blocks, 64, P(dout));
        must(OPS->copy_out(p.gpu, out, dout, sizeof out, &error));
        for (unsigned i = 0; i < blocks; i++)
            assert_int_equal(out[i], i + 1);
        close_program(&p);
    }
}

// What has been copied asynchronously is not there before it has been waited for.
static void async_copies(void **state)
{
    (void)state;
    program p = open_kernel(
        "__global__ void copies(const int4 *in, int *out, unsigned long long *bulk)\n"
        "{\n"
        "    __shared__ int4 a[2]; __shared__ int4 big[4]; __shared__ simtune_emu_u64 bar;\n"
        "    a[0].x = a[1].x = -5;\n"
        "    simtune_emu_async_copy(&a[0], &in[0], 16); simtune_emu_async_commit();\n"
        "    simtune_emu_async_copy(&a[1], &in[1], 8, 8); simtune_emu_async_commit();\n"
        "    out[0] = a[0].x;\n"
        "    simtune_emu_async_wait(1); out[1] = a[0].x; out[2] = a[1].x;\n"
        "    simtune_emu_async_wait(0); out[3] = a[1].x; out[4] = a[1].z;\n"
        "    simtune_emu_mbarrier_init(&bar, 1);\n"
        "    big[3].w = -7;\n"
        "    simtune_emu_mbarrier_arrive_expect(&bar, 64);\n"
        "    simtune_emu_bulk_copy(big, in, 64, &bar);\n"
        "    out[5] = big[3].w;\n"
        "    while (!simtune_emu_mbarrier_test(&bar, 0)) ;\n"
        "    out[6] = big[3].w;\n"
        "    out[7] = simtune_emu_mbarrier_test(&bar, 1);\n"
        "}\n",
        "copies");
    int in[16], out[8];
    for (int i = 0; i < 16; i++)
        in[i] = i + 1;
    st_gpu_pointer din = device_copy(&p, in, sizeof in), dout = device_buffer(&p, sizeof out);
    QUEUE(&p, 1, 1, P(din), P(dout), P(0));
    must(OPS->copy_out(p.gpu, out, dout, sizeof out, &error));
    const int want[8] = {-5, 1, -5, 5, 0, -7, 16, 0};
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[i], want[i]);
    close_program(&p);
}

// Threads that have left are not waited for, neither at the barrier nor by a warp.
static void exited_threads(void **state)
{
    (void)state;
    program p = open_kernel("__global__ void leave(int *out)\n"
                            "{\n"
                            "    if (threadIdx.x >= 40) return;\n"
                            "    __syncthreads();\n"
                            "    unsigned votes = __ballot_sync(0xffffffffu, 1);\n"
                            "    __syncthreads();\n"
                            "    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = (int)votes;\n"
                            "}\n",
                            "leave");
    int out[2];
    st_gpu_pointer dout = device_buffer(&p, sizeof out);
    QUEUE(&p, 1, 64, P(dout));
    must(OPS->copy_out(p.gpu, out, dout, sizeof out, &error));
    assert_int_equal(out[0], -1);
    assert_int_equal(out[1], 0xff);
    close_program(&p);
}

// --- finding what hardware hides ---------------------------------------------------------------

static void expect_fault(const char *body, unsigned threads, const char *const *words, size_t count)
{
    char source[2048];
    snprintf(source, sizeof source, "__global__ void faulty(int *out)\n{\n%s\n}\n", body);
    program p = open_kernel(source, "faulty");
    st_gpu_pointer dout = device_buffer(&p, 1024);
    QUEUE(&p, 3, threads, P(dout));
    for (size_t i = 0; i < count; i++)
        expect_failure(&p, words[i]);
    // Sticky: everything after it fails with the same words.
    assert_int_not_equal(OPS->fill8(p.gpu, dout, 0, 4, &error), ST_OK);
    assert_non_null(strstr(error.what, words[0]));
    int word;
    assert_int_not_equal(OPS->copy_out(p.gpu, &word, dout, 4, &error), ST_OK);
    close_program(&p);
}
#define EXPECT_FAULT(body, threads, ...)                                                           \
    expect_fault(body, threads, (const char *const[]){__VA_ARGS__},                                \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void barrier_divergence(void **state)
{
    (void)state;
    EXPECT_FAULT("if (threadIdx.x < 5) __syncthreads();\nelse __syncthreads();", 64,
                 "barrier divergence", "test.cu:3", "test.cu:4", "faulty, block (");
    // In one warp at a barrier, in the other at a warp operation that needs all.
    EXPECT_FAULT("if (threadIdx.x < 5) __syncthreads();\nelse __syncwarp();", 64, "deadlock",
                 "__syncwarp", "__syncthreads", "mask 0xffffffff");
}

static void absent_lane(void **state)
{
    (void)state;
    EXPECT_FAULT("out[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1, 16);", 33, "does not exist",
                 "__shfl_down_sync", "test.cu:3");
    EXPECT_FAULT(
        "if (threadIdx.x == 3) return;\nout[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);", 32,
        "reads lane 3, which has exited", "thread (2,0,0)");
    EXPECT_FAULT("if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffffu, 1, 20);", 32,
                 "reads lane 20, which is not in the mask", "(mask 0x0000ffff)");
    EXPECT_FAULT("__syncwarp(1u);", 32, "in which its own lane");
    EXPECT_FAULT("if (threadIdx.x != 9) __shfl_sync(0xffffffffu, 1, 0);\nelse __syncthreads();", 32,
                 "deadlock", "thread (9,0,0) waits at __syncthreads");
}

static void deadlock_of_cluster(void **state)
{
    (void)state;
    program p = open_kernel("__global__ void half(int *out)\n"
                            "{\n"
                            "    if (blockIdx.x == 0) simtune_emu_cluster_barrier();\n"
                            "    else simtune_emu_named_barrier(1, 64);\n"
                            "}\n",
                            "half");
    st_gpu_pointer dout = device_buffer(&p, 4);
    argument list[] = {P(dout)};
    must(queue_full(&p, (st_launch){.grid = {2}, .block = {32}, .cluster = 2}, list, 1));
    expect_failure(&p, "deadlock");
    close_program(&p);
}

static void illegal_addresses(void **state)
{
    (void)state;
    EXPECT_FAULT("out[256 + threadIdx.x] = 1;", 1, "illegal address", "0 bytes beyond the end",
                 "1024 bytes", "thread (0,0,0)");
    EXPECT_FAULT("if (threadIdx.x == 7) out[0] = out[-2000];", 32, "illegal address",
                 "thread (7,0,0)", "before an allocation of 1024 bytes");
    EXPECT_FAULT("*(volatile int *)64 = 1;", 1, "illegal address: 0x40, no allocation is near");
    EXPECT_FAULT("volatile int big[70000];\nfor (int i = 0; i < 70000; i += 100) big[i] = i;\n"
                 "out[0] = big[blockIdx.x * 100];",
                 1, "stack of 256 KiB");
#if defined(__x86_64__) // elsewhere the host's division gives a number, as the device's does
    EXPECT_FAULT("volatile int zero = 0; out[0] = 5 / zero;", 1, "by zero");
#endif
    EXPECT_FAULT("__trap();", 1, "__trap was called");
}

// A missing barrier gives garbage, whatever the order of threads: shared memory starts as 0xFF.
static void missing_barrier_shows(void **state)
{
    (void)state;
    program p = open_kernel("__global__ void turn(int *out)\n"
                            "{\n"
                            "    __shared__ int all[128];\n"
                            "    all[threadIdx.x] = threadIdx.x;\n"
                            "    out[threadIdx.x] = all[127 - threadIdx.x];\n"
                            "}\n",
                            "turn");
    int out[128], wrong = 0;
    st_gpu_pointer dout = device_buffer(&p, sizeof out);
    QUEUE(&p, 1, 128, P(dout));
    must(OPS->copy_out(p.gpu, out, dout, sizeof out, &error));
    for (int i = 0; i < 128; i++)
        wrong += out[i] != 127 - i;
    assert_true(wrong > 0);
    close_program(&p);
}

// --- stream, events, errors --------------------------------------------------------------------

// A kernel that waits for the host holds the stream; asking does not hang.
static void gate_holds_the_stream(void **state)
{
    (void)state;
    const char *kernels[] = {"gate", "mark"};
    program p =
        open_program("__global__ void gate(volatile int *flag) { while (*flag == 0) ; }\n"
                     "__global__ void mark(int *out, int value) { *out = *out * 10 + value; }\n",
                     kernels, 2);
    st_gpu_kernel *mark = NULL;
    must(OPS->kernel(p.gpu, p.module, "mark", &mark, &error));
    void *host = NULL;
    st_gpu_pointer flag = 0, dout = device_buffer(&p, 4);
    must(OPS->allocate_mapped(p.gpu, 4, &host, &flag, &error));
    *(volatile int *)host = 0;
    must(OPS->fill8(p.gpu, dout, 0, 4, &error));
    QUEUE(&p, 1, 1, P(flag));
    for (int i = 1; i <= 3; i++) {
        argument list[] = {P(dout), U(i)};
        must(queue_full(&p, (st_launch){.kernel = mark}, list, 2));
    }
    bool done = true;
    for (int i = 0; i < 5; i++) {
        must(OPS->query(p.gpu, &done, &error));
        assert_false(done);
    }
    *(volatile int *)host = 1;
    int out = 0;
    must(OPS->copy_out(p.gpu, &out, dout, 4, &error));
    assert_int_equal(out, 123);
    must(OPS->query(p.gpu, &done, &error));
    assert_true(done);
    close_program(&p);
}

static void times_of_a_run(double times[6])
{
    program p = open_kernel(block_sum, "block_sum");
    st_gpu_event *event[7];
    st_gpu_pointer din = device_buffer(&p, 1 << 20), dout = device_buffer(&p, 4096);
    for (int i = 0; i < 7; i++)
        must(OPS->event_make(p.gpu, &event[i], &error));
    must(OPS->event_record(p.gpu, event[0], &error));
    for (int i = 0; i < 6; i++) {
        QUEUE(&p, i < 3 ? 64 : 1, 256, P(din), P(dout), U(1 << 18));
        must(OPS->event_record(p.gpu, event[i + 1], &error));
    }
    for (int i = 0; i < 6; i++)
        must(OPS->event_elapsed(p.gpu, event[i], event[i + 1], &times[i], &error));
    double all = 0;
    must(OPS->event_elapsed(p.gpu, event[0], event[6], &all, &error));
    double sum = times[0] + times[1] + times[2] + times[3] + times[4] + times[5];
    assert_true(fabs(all - sum) < 1e-6 * all);
    for (int i = 0; i < 7; i++)
        OPS->event_free(p.gpu, event[i]);
    close_program(&p);
}

static void events(void **state)
{
    (void)state;
    double a[6], b[6];
    times_of_a_run(a);
    times_of_a_run(b);
    for (int i = 0; i < 6; i++) {
        assert_true(a[i] > 1000);
        assert_true(a[i] == b[i]);
    }
    assert_true(a[1] != a[2]);                 // noise
    assert_true(fabs(a[1] / a[2] - 1) < 0.02); // of half a per cent
    assert_true(a[0] > 1.2 * a[1]);            // the first finds nothing in L2
    assert_true(a[3] > a[1]);                  // one block has not the speed of 64
}

static void event_misuse(void **state)
{
    (void)state;
    program p = open_kernel(block_sum, "block_sum");
    st_gpu_event *a, *b;
    double ns;
    must(OPS->event_make(p.gpu, &a, &error));
    must(OPS->event_make(p.gpu, &b, &error));
    must(OPS->event_record(p.gpu, a, &error));
    assert_int_not_equal(OPS->event_elapsed(p.gpu, a, b, &ns, &error), ST_OK);
    must(OPS->event_record(p.gpu, b, &error));
    OPS->event_free(p.gpu, b); // while it is queued
    must(OPS->synchronize(p.gpu, &error));
    OPS->event_free(p.gpu, a);
    close_program(&p);
}

static void refused_launches(void **state)
{
    (void)state;
    program p = open_kernel(block_sum, "block_sum");
    st_gpu_pointer d = device_buffer(&p, 4096);
    argument list[] = {P(d), P(d), U(1)}, wide[] = {P(d), P(d), P(1)};
    const st_launch bad[] = {{.grid = {1}, .block = {1025}},
                             {.grid = {1}, .block = {32, 33}},
                             {.grid = {1, 65536}, .block = {32}},
                             {.grid = {1}, .block = {32}, .dynamic_smem = 1 << 20},
                             {.grid = {17}, .block = {32}, .cluster = 17}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_not_equal(queue_full(&p, bad[i], list, 3), ST_OK);
        assert_non_null(strstr(error.what, "launching block_sum"));
    }
    assert_int_not_equal(queue_full(&p, (st_launch){.grid = {1}, .block = {32}}, list, 2), ST_OK);
    assert_int_not_equal(queue_full(&p, (st_launch){.grid = {1}, .block = {32}}, wide, 3), ST_OK);
    assert_false(OPS->is_lost(p.gpu));
    QUEUE(&p, 1, 32, P(d), P(d), U(1));
    must(OPS->synchronize(p.gpu, &error));
    int blocks = -1;
    must(OPS->occupancy(p.gpu, p.kernel, 1024, 0, &blocks, &error));
    assert_in_range(blocks, 1, 2);
    must(OPS->occupancy(p.gpu, p.kernel, 128, 200 << 10, &blocks, &error));
    assert_int_equal(blocks, 1);
    must(OPS->occupancy(p.gpu, p.kernel, 128, 300 << 10, &blocks, &error));
    assert_int_equal(blocks, 0);
    close_program(&p);
}

static void memory_limits(void **state)
{
    (void)state;
    st_gpu *gpu;
    st_gpu_pointer a, b;
    size_t available, total;
    must(OPS->open(0, &gpu, &error));
    must(OPS->memory(gpu, &available, &total, &error));
    assert_int_equal(total, 1 << 30);
    assert_int_equal(available, total);
    must(OPS->allocate(gpu, (size_t)700 << 20, &a, &error));
    assert_int_equal(OPS->allocate(gpu, (size_t)700 << 20, &b, &error), ST_NO_MEMORY);
    OPS->release(gpu, a);
    must(OPS->allocate(gpu, (size_t)700 << 20, &b, &error));
    assert_int_equal(b % 256, 0);
    assert_int_not_equal(OPS->allocate(gpu, 0, &a, &error), ST_OK);
    must(OPS->allocate(gpu, 1000, &a, &error));
    assert_int_equal(a % 256, 0);
    uint8_t bytes[1000];
    assert_int_not_equal(OPS->fill8(gpu, a, 1, 1001, &error), ST_OK);
    assert_int_not_equal(OPS->copy_in(gpu, a + 1, bytes, 1000, &error), ST_OK);
    assert_int_not_equal(OPS->copy_out(gpu, bytes, a - 1, 10, &error), ST_OK);
    assert_int_not_equal(OPS->fill32(gpu, a + 2, 1, 1, &error), ST_OK);
    must(OPS->copy_out(gpu, bytes, a, 1000, &error));
    assert_int_equal(bytes[999], 0xa5); // not zero
    must(OPS->fill32(gpu, a, 0x01020304, 250, &error));
    must(OPS->fill8(gpu, a + 999, 9, 1, &error));
    must(OPS->copy_out(gpu, bytes, a, 1000, &error));
    assert_int_equal(bytes[0], 4);
    assert_int_equal(bytes[999], 9);
    OPS->close(gpu);
}

static void devices(void **state)
{
    (void)state;
    int n = 0;
    st_device_facts facts;
    st_gpu *gpu;
    unsetenv("SIMTUNE_EMU_DEVICES");
    must(OPS->count(&n, &error));
    assert_int_equal(n, 1);
    must(OPS->facts(0, &facts, &error));
    assert_string_equal(facts.name, "Emulated GPU");
    assert_string_equal(facts.backend, "emu");
    assert_int_equal(strncmp(facts.uuid, "EMU-", 4), 0);
    assert_int_equal(facts.cc, 90);
    assert_int_equal(OPS->facts(1, &facts, &error), ST_NOTHING);
    assert_int_equal(OPS->open(1, &gpu, &error), ST_NOTHING);
    setenv("SIMTUNE_EMU_DEVICES", "2", 1);
    must(OPS->count(&n, &error));
    assert_int_equal(n, 2);
    must(OPS->facts(1, &facts, &error));
    assert_int_equal(facts.cc, 80);
    assert_int_equal(facts.max_cluster, 1);
    unsetenv("SIMTUNE_EMU_DEVICES");
}

// --- compiling ---------------------------------------------------------------------------------

static void compile_errors(void **state)
{
    (void)state;
    const char *kernel = "broken", *missing = "absent<3>";
    st_compiled made =
        compile_with("__global__ void broken(int *out)\n{\n    *out = nonsense;\n}\n", &kernel, 1,
                     NULL, 0, NULL, 0);
    assert_int_equal(made.outcome, ST_COMPILE_ERROR);
    assert_non_null(strstr(made.log, "test.cu:3"));
    assert_non_null(strstr(made.log, "nonsense"));
    assert_null(made.image);
    assert_int_equal(made.id, 7);
    st_compiled_release(&made);
    made = compile_with("__global__ void other(int *) {}\n", &missing, 1, NULL, 0, NULL, 0);
    assert_int_equal(made.outcome, ST_COMPILE_ERROR);
    assert_non_null(strstr(made.log, "the kernel absent<3>"));
    assert_null(strstr(made.log, "/simtune-emu-"));
    st_compiled_release(&made);
}

static void compile_options(void **state)
{
    (void)state;
    const char *kernel = "k<n::both<1, 2> >";
    const char *options[] = {"--define-macro=A=5", "-D",         "B=6", "-DC=7", "--use_fast_math",
                             "-default-device",    "--std=c++14"};
    st_source_text includes[] = {{"deep/er.cuh", "#define D 8\n"},
                                 {"../x.cuh", "#include \"deep/er.cuh\"\n"}};
    st_compiled made = compile_with(
        "#include \"../x.cuh\"\n"
        "static_assert(A == 5 && B == 6 && C == 7 && D == 8 && __CUDA_ARCH__ == 900, \"\");\n"
        "static_assert(__cplusplus == 201402L, \"\");\n"
        "namespace n { template <int A1, int B1> struct both {}; }\n"
        "template <class T> __global__ void __launch_bounds__(64) k(int *out) { *out = 1; }\n",
        &kernel, 1, includes, 2, options, 7);
    assert_int_equal(made.outcome, ST_COMPILED);
    assert_string_equal(made.lowered_names[0], kernel);
    assert_string_equal(made.log, "");
    assert_true(made.image_bytes > 0);
    assert_true(strlen(made.compiler) > 8);
    st_compiled_release(&made);
    st_compile_job job = {.backend = "emu",
                          .arch = "sm_90",
                          .file_name = "test.cu",
                          .source = "",
                          .includes = &(st_source_text){"../../../../up.cuh", ""},
                          .include_count = 1};
    assert_int_equal(st_emu_compile(&job, &made, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "../../../../up.cuh"));
}

static void no_compiler(void **state)
{
    (void)state;
    const char *kernel = "k";
    st_compile_job job = {.backend = "emu",
                          .arch = "sm_90",
                          .file_name = "test.cu",
                          .source = "__global__ void k() {}\n",
                          .kernels = &kernel,
                          .kernel_count = 1};
    st_compiled made;
    setenv("SIMTUNE_HOST_CXX", "/nonexistent/c++", 1);
    assert_int_equal(st_emu_compile(&job, &made, &error), ST_NOTHING);
    assert_non_null(strstr(error.what, "/nonexistent/c++"));
    assert_non_null(strstr(error.remedy, "SIMTUNE_HOST_CXX"));
    unsetenv("SIMTUNE_HOST_CXX");
    must(st_emu_compile(&job, &made, &error));
    assert_int_equal(made.outcome, ST_COMPILED);
    // Not a program.
    st_gpu *gpu;
    st_gpu_module *module;
    must(OPS->open(0, &gpu, &error));
    assert_int_not_equal(OPS->load(gpu, "nonsense", 8, &module, &error), ST_OK);
    for (size_t cut = 0; cut < made.image_bytes; cut += made.image_bytes / 7 + 1)
        assert_int_not_equal(OPS->load(gpu, made.image, cut, &module, &error), ST_OK);
    must(OPS->load(gpu, made.image, made.image_bytes, &module, &error));
    st_gpu_kernel *absent;
    assert_int_equal(OPS->kernel(gpu, module, "other", &absent, &error), ST_NOTHING);
    OPS->unload(gpu, module);
    OPS->close(gpu);
    st_compiled_release(&made);
}

// Two configurations in one program: each has its own static shared memory, and each is told apart.
static void two_configurations(void **state)
{
    (void)state;
    const char *kernels[] = {"sum<small>", "sum<large>"};
    program p = open_program(
        "struct small { static const int N = 8; };\nstruct large { static const int N = 64; };\n"
        "template <class C> __device__ int step(int v)\n"
        "{ __shared__ int s[C::N]; s[threadIdx.x % C::N] = v; __syncthreads(); return "
        "s[(threadIdx.x + 1) % C::N]; }\n"
        "template <class C> __global__ void sum(int *out) { __shared__ int own; own = 0; "
        "__syncthreads();\n"
        "  atomicAdd(&own, step<C>(threadIdx.x)); __syncthreads(); if (threadIdx.x == 0) *out = "
        "own; }\n",
        kernels, 2);
    st_gpu_kernel *large;
    must(OPS->kernel(p.gpu, p.module, "sum<large>", &large, &error));
    st_kernel_facts facts;
    must(OPS->kernel_facts(p.gpu, p.kernel, &facts, &error));
    assert_int_equal(facts.static_smem, 8 * 4 + 4);
    must(OPS->kernel_facts(p.gpu, large, &facts, &error));
    assert_int_equal(facts.static_smem, 64 * 4 + 4);
    st_gpu_pointer dout = device_buffer(&p, 4);
    argument list[] = {P(dout)};
    int out;
    must(queue_full(&p, (st_launch){.block = {8}}, list, 1));
    must(OPS->copy_out(p.gpu, &out, dout, 4, &error));
    assert_int_equal(out, 28);
    must(queue_full(&p, (st_launch){.kernel = large, .block = {64}}, list, 1));
    must(OPS->copy_out(p.gpu, &out, dout, 4, &error));
    assert_int_equal(out, 2016);
    close_program(&p);
}

// Every allocation of a whole run fails in turn: an error, never a crash, and no leak
// (AddressSanitizer).
static void allocation_failures(void **state)
{
    (void)state;
    const char *kernel = "block_sum";
    st_compiled made = compile_with(block_sum, &kernel, 1, NULL, 0, NULL, 0);
    unsigned long n = 0;
    bool injected = true;
    while (injected && n < 1000) {
        st_gpu *gpu = NULL;
        st_gpu_module *module = NULL;
        st_gpu_pointer d = 0;
        program p = {0};
        st_fault_arm(ST_FAULT_ALLOCATION, ++n);
        st_code code = OPS->open(0, &gpu, &error);
        if (!code)
            code = OPS->load(gpu, made.image, made.image_bytes, &module, &error);
        if (!code)
            code = OPS->kernel(gpu, module, kernel, &p.kernel, &error);
        if (!code)
            code = OPS->allocate(gpu, 4096, &d, &error);
        p.gpu = gpu;
        argument list[] = {P(d), P(d), U(1000)};
        if (!code)
            code = OPS->copy_in(gpu, d, list, sizeof list, &error);
        if (!code)
            code = queue_full(&p, (st_launch){.grid = {4}, .block = {64}}, list, 3);
        if (!code)
            code = OPS->synchronize(gpu, &error);
        injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_true(injected == (code != ST_OK));
        OPS->close(gpu);
    }
    assert_true(n > 5);
    st_compiled_release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_add),
        cmocka_unit_test(block_reduction),
        cmocka_unit_test(dynamic_shared),
        cmocka_unit_test(warp_words),
        cmocka_unit_test(barrier_predicates),
        cmocka_unit_test(atomics),
        cmocka_unit_test(cluster_exchange),
        cmocka_unit_test(cluster_block_gone),
        cmocka_unit_test(look_back),
        cmocka_unit_test(async_copies),
        cmocka_unit_test(exited_threads),
        cmocka_unit_test(barrier_divergence),
        cmocka_unit_test(absent_lane),
        cmocka_unit_test(deadlock_of_cluster),
        cmocka_unit_test(illegal_addresses),
        cmocka_unit_test(missing_barrier_shows),
        cmocka_unit_test(gate_holds_the_stream),
        cmocka_unit_test(events),
        cmocka_unit_test(event_misuse),
        cmocka_unit_test(refused_launches),
        cmocka_unit_test(memory_limits),
        cmocka_unit_test(devices),
        cmocka_unit_test(compile_errors),
        cmocka_unit_test(compile_options),
        cmocka_unit_test(no_compiler),
        cmocka_unit_test(two_configurations),
        cmocka_unit_test(allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
