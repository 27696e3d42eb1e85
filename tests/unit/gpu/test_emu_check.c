// SPDX-License-Identifier: Apache-2.0
// The checking mode of the emulated device: what it must find, with the lines of both accesses, and
// what it must not mistake for a fault. All kernels stand in one program; each is a line of the table
// below it, whose `words` are what the message must hold (none: the kernel is right).
#include "tests/unit/gpu/emu_fixture.h"

#include "tuner/base/text.h"

typedef struct trial {
    const char *name, *body;
    unsigned blocks, threads, cluster, dynamic;
    const char *words[4];
} trial;

// Every kernel gets `out` (1024 ints, zeroed) and `blank` (250 ints that nobody has written); its
// body is lines 1 … of a file of its name.
static const trial trials[] = {
    // --- races in a block
    {"missing_barrier",
     "__shared__ int a[64]; a[threadIdx.x] = 1;\n"
     "out[threadIdx.x] = a[63 - threadIdx.x];",
     1,
     64,
     1,
     0,
     {"the shared `a`", "missing_barrier:2"}},
    {"missing_barrier_2",
     "__shared__ int a[64]; a[threadIdx.x] = 1; __syncthreads();\n"
     "out[threadIdx.x] = a[63 - threadIdx.x];\n"
     "a[threadIdx.x] = 2;",
     1,
     64,
     1,
     0,
     {ST_EMU_RACE, "the shared `a`", "missing_barrier_2:2", "missing_barrier_2:3"}},
    {"barrier",
     "__shared__ int a[64]; a[threadIdx.x] = 1; __syncthreads();\n"
     "out[threadIdx.x] = a[63 - threadIdx.x]; __syncthreads(); a[threadIdx.x] = 2;",
     1,
     64,
     1,
     0,
     {NULL}},
    {"shuffle_orders_nothing",
     "__shared__ int a[32]; a[threadIdx.x] = 1; __syncthreads(); a[threadIdx.x] = 2;\n"
     "__shfl_sync(0xffffffffu, 1, 0);\n"
     "out[threadIdx.x] = a[31 - threadIdx.x];",
     1,
     32,
     1,
     0,
     {ST_EMU_RACE, "shuffle_orders_nothing:3", "shuffle_orders_nothing:1"}},
    {"syncwarp",
     "__shared__ int a[64]; a[threadIdx.x] = 1; __syncwarp();\n"
     "out[threadIdx.x] = a[threadIdx.x ^ 31]; __syncwarp(); a[threadIdx.x] = 2;",
     1,
     64,
     1,
     0,
     {NULL}},
    {"syncwarp_is_of_a_warp",
     "__shared__ int a[64]; a[threadIdx.x] = 1; __syncthreads(); a[threadIdx.x] = 2; "
     "__syncwarp();\n"
     "out[threadIdx.x] = a[threadIdx.x ^ 32];",
     1,
     64,
     1,
     0,
     {ST_EMU_RACE, "syncwarp_is_of_a_warp:2"}},
    {"half_warps",
     "__shared__ int a[32]; a[threadIdx.x] = 1;\n"
     "__syncwarp(threadIdx.x < 16 ? 0xffffu : 0xffff0000u); a[threadIdx.x ^ 15] = 3;\n"
     "__syncthreads(); out[threadIdx.x] = a[threadIdx.x];",
     1,
     32,
     1,
     0,
     {NULL}},
    {"half_warps_apart",
     "__shared__ int a[32]; a[threadIdx.x] = 1;\n"
     "__syncwarp(threadIdx.x < 16 ? 0xffffu : 0xffff0000u); a[threadIdx.x ^ 16] = 3;\n"
     "__syncthreads(); out[threadIdx.x] = a[threadIdx.x];",
     1,
     32,
     1,
     0,
     {ST_EMU_RACE, "half_warps_apart:2"}},
    {"same_value",
     "__shared__ int a; a = 5; __syncthreads(); out[threadIdx.x] = a;",
     1,
     64,
     1,
     0,
     {NULL}},
    {"other_value",
     "__shared__ int a; a = threadIdx.x / 32; __syncthreads(); out[0] = a;",
     1,
     64,
     1,
     0,
     {ST_EMU_RACE, "writes 4 bytes of the shared `a`", "other_value:1"}},
    {"neighbouring_bytes",
     "__shared__ char a[64]; a[threadIdx.x] = 1; __shared__ short b[64]; b[threadIdx.x] = 2;\n"
     "((char *)out)[threadIdx.x] = 3; __syncthreads();\n"
     "out[64 + threadIdx.x] = a[63 - threadIdx.x] + b[63 - threadIdx.x];",
     1,
     64,
     1,
     0,
     {NULL}},
    {"many_readers",
     "__shared__ int a; if (threadIdx.x == 0) a = 1; __syncthreads();\n"
     "out[threadIdx.x] = a; if (threadIdx.x == 5) a = 2; __syncthreads(); out[threadIdx.x] += a;",
     1,
     128,
     1,
     0,
     {ST_EMU_RACE, "many_readers:2"}},
    {"exited_threads_have_arrived",
     "__shared__ int a[64]; a[threadIdx.x] = 1; if (threadIdx.x > 40) return;\n"
     "__syncthreads(); out[threadIdx.x] = a[63 - threadIdx.x];",
     1,
     64,
     1,
     0,
     {NULL}},
    {"named_barrier",
     "__shared__ int a[64]; a[threadIdx.x] = 1;\n"
     "if (threadIdx.x < 64) simtune_emu_named_barrier(3, 64);\n"
     "if (threadIdx.x < 64) out[threadIdx.x] = a[63 - threadIdx.x];",
     1,
     64,
     1,
     0,
     {NULL}},
    {"named_arrive",
     "__shared__ int a[32]; if (threadIdx.x < 32) { a[threadIdx.x] = 1;\n"
     "simtune_emu_named_arrive(2, 64); } else if (threadIdx.x < 64) {\n"
     "simtune_emu_named_barrier(2, 64); out[threadIdx.x] = a[63 - threadIdx.x]; }",
     1,
     96,
     1,
     0,
     {NULL}},
    {"named_elsewhere",
     "__shared__ int a[96]; a[threadIdx.x] = 1; __syncthreads();\n"
     "a[threadIdx.x] = 2; if (threadIdx.x < 64) simtune_emu_named_barrier(2, 64);\n"
     "if (threadIdx.x < 32) out[threadIdx.x] = a[threadIdx.x + 64];",
     1,
     96,
     1,
     0,
     {ST_EMU_RACE, "named_elsewhere:3", "named_elsewhere:2"}},
    // --- between blocks
    {"two_blocks",
     "if (threadIdx.x == 0) out[0] = blockIdx.x;",
     2,
     32,
     1,
     0,
     {ST_EMU_RACE, "block (1,0,0), thread (0,0,0)", "block (0,0,0), thread (0,0,0)",
      "an allocation of 4096 bytes, at 0 (two_blocks:1)"}},
    {"neighbours", "out[blockIdx.x * 32 + threadIdx.x] = 1;", 8, 32, 1, 0, {NULL}},
    {"atomics", "atomicAdd(out, 1); atomicMax(out + 1, (int)threadIdx.x);", 8, 64, 1, 0, {NULL}},
    {"block_atomics",
     "if (threadIdx.x == 0) atomicAdd_block(out, 1);",
     2,
     32,
     1,
     0,
     {ST_EMU_RACE, "changes atomically", "block_atomics:1"}},
    {"atomic_and_plain",
     "if (threadIdx.x == 0) atomicAdd(out, 1);\nelse if (threadIdx.x == 1) *out = 7;",
     1,
     32,
     1,
     0,
     {ST_EMU_RACE, "atomic_and_plain:1", "atomic_and_plain:2"}},
    {"fenced_ticket",
     "__shared__ bool last; if (threadIdx.x == 0) { out[1 + blockIdx.x] = 1; __threadfence();\n"
     "last = atomicAdd(out, 1) == 7; __threadfence(); } __syncthreads();\n"
     "if (last && threadIdx.x < 8) out[100 + threadIdx.x] = out[1 + threadIdx.x];",
     8,
     32,
     1,
     0,
     {NULL}},
    {"no_first_fence",
     "__shared__ bool last; if (threadIdx.x == 0) { out[1 + blockIdx.x] = 1;\n"
     "last = atomicAdd(out, 1) == 7; __threadfence(); } __syncthreads();\n"
     "if (last && threadIdx.x < 8) out[100 + threadIdx.x] = out[1 + threadIdx.x];",
     8,
     32,
     1,
     0,
     {ST_EMU_RACE, "no_first_fence:3", "no_first_fence:1"}},
    {"no_second_fence",
     "__shared__ bool last; if (threadIdx.x == 0) { out[1 + blockIdx.x] = 1; __threadfence();\n"
     "last = atomicAdd(out, 1) == 7; } __syncthreads();\n"
     "if (last && threadIdx.x < 8) out[100 + threadIdx.x] = out[1 + threadIdx.x];",
     8,
     32,
     1,
     0,
     {ST_EMU_RACE, "no_second_fence:3"}},
    {"fence_of_the_block",
     "__shared__ bool last; if (threadIdx.x == 0) { out[1 + blockIdx.x] = 1; "
     "__threadfence_block();\n"
     "last = atomicAdd(out, 1) == 7; __threadfence(); } __syncthreads();\n"
     "if (last && threadIdx.x < 8) out[100 + threadIdx.x] = out[1 + threadIdx.x];",
     8,
     32,
     1,
     0,
     {ST_EMU_RACE, "fence_of_the_block:3"}},
    {"ordered_ticket",
     "__shared__ bool last; out[64 + blockIdx.x * 32 + threadIdx.x] = 1; __syncthreads();\n"
     "if (threadIdx.x == 0) last = simtune_emu_add_ordered((unsigned *)out, 1) == 7;\n"
     "__syncthreads(); if (last) for (int b = 0; b < 8; b++) out[threadIdx.x + 1] += out[64 + b * "
     "32 + threadIdx.x];",
     8,
     32,
     1,
     0,
     {NULL}},
    {"handed_on", // 0 -> 1 -> 2: block 2 learns of block 0 from block 1
     "if (threadIdx.x) return; unsigned b = blockIdx.x; if (b == 0) out[99] = 7;\n"
     "while (b && !simtune_emu_load_ordered(out + b - 1)) ; \n"
     "if (b == 2) out[98] = out[99]; simtune_emu_store_ordered(out + b, 1);",
     3,
     32,
     1,
     0,
     {NULL}},
    {"relaxed_hands_nothing_on",
     "if (threadIdx.x) return; unsigned b = blockIdx.x; if (b == 0) out[99] = 7;\n"
     "while (b && !simtune_emu_load_relaxed(out + b - 1)) ; \n"
     "if (b == 2) out[98] = out[99]; simtune_emu_store_relaxed(out + b, 1);",
     3,
     32,
     1,
     0,
     {ST_EMU_RACE, "relaxed_hands_nothing_on:3"}},
    {"volatile_flag",
     "volatile int *flag = out; if (threadIdx.x) return;\n"
     "if (blockIdx.x == 0) { out[1] = 7; __threadfence(); *flag = 1; }\n"
     "else { while (!*flag) ; __threadfence(); out[2] = out[1]; }",
     2,
     32,
     1,
     0,
     {NULL}},
    {"volatile_flag_alone",
     "volatile int *flag = out; if (threadIdx.x) return;\n"
     "if (blockIdx.x == 0) { out[1] = 7; *flag = 1; }\n"
     "else { while (!*flag) ; out[2] = out[1]; }",
     2,
     32,
     1,
     0,
     {ST_EMU_RACE, "volatile_flag_alone:3", "volatile_flag_alone:2"}},
    // --- clusters
    {"cluster_barrier",
     "__shared__ int a[64]; a[threadIdx.x] = 1; simtune_emu_cluster_barrier();\n"
     "out[blockIdx.x * 64 + threadIdx.x] = simtune_emu_cluster_shared(a, blockIdx.x ^ 1)[63 - "
     "threadIdx.x];\n"
     "simtune_emu_cluster_barrier();",
     4,
     64,
     4,
     0,
     {NULL}},
    {"cluster_relaxed",
     "__shared__ int a[64]; a[threadIdx.x] = 1; simtune_emu_cluster_arrive_relaxed();\n"
     "simtune_emu_cluster_wait();\n"
     "out[blockIdx.x * 64 + threadIdx.x] = simtune_emu_cluster_shared(a, blockIdx.x ^ 1)[63 - "
     "threadIdx.x];\n"
     "simtune_emu_cluster_barrier();",
     4,
     64,
     4,
     0,
     {ST_EMU_RACE, "cluster_relaxed:3", "cluster_relaxed:1"}},
    // --- bounds
    {"beyond",
     "out[1024 + threadIdx.x] = 1;",
     1,
     1,
     1,
     0,
     {"out of bounds: ", "4 bytes beyond the end of an allocation of 4096 bytes", "beyond:1"}},
    {"before", "out[-1] = 1;", 1, 1, 1, 0, {"out of bounds: ", "4 bytes before", "before:1"}},
    {"slack",
     "blank[249] = 1; ((char *)blank)[1000] = 1;",
     1,
     1,
     1,
     0,
     {"out of bounds: ", "an allocation of 1000 bytes"}},
    {"across_the_end",
     "*(int4 *)(out + 1022) = make_int4(1, 2, 3, 4);",
     1,
     1,
     1,
     0,
     {"out of bounds: "}},
    {"between_variables",
     "__shared__ int a[5]; __shared__ int b[5]; a[threadIdx.x] = 1; b[threadIdx.x] = 2;\n"
     "__syncthreads(); out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];",
     1,
     6,
     1,
     0,
     {"out of bounds: ", "20 of the shared `", "which has 20 bytes", "between_variables:"}},
    {"dynamic_end",
     "extern __shared__ int words[]; words[threadIdx.x] = 1;",
     1,
     32,
     1,
     124,
     {"out of bounds: ", "beyond the block's shared memory (124 of them dynamic)",
      "dynamic_end:1"}},
    {"dynamic", "extern __shared__ int words[]; words[threadIdx.x] = 1;", 1, 32, 1, 128, {NULL}},
    {"far_away",
     "int *volatile away = (int *)64; *away = 1;",
     1,
     1,
     1,
     0,
     {"illegal address: 0x40", "far_away:1"}},
    // --- what nobody has written
    {"blank_global",
     "out[threadIdx.x] = blank[threadIdx.x];",
     1,
     32,
     1,
     0,
     {"uninitialised: ", "an allocation of 1000 bytes", "which nobody has written",
      "blank_global:1"}},
    {"written_first",
     "blank[threadIdx.x] = 1; out[threadIdx.x] = blank[threadIdx.x];",
     1,
     32,
     1,
     0,
     {NULL}},
    {"half_written",
     "((short *)blank)[2 * threadIdx.x] = 1; out[threadIdx.x] = blank[threadIdx.x];",
     1,
     32,
     1,
     0,
     {"uninitialised: "}},
    {"blank_shared",
     "__shared__ int a[2]; a[0] = 1; out[0] = a[0] + a[blockIdx.x];",
     2,
     1,
     1,
     0,
     {"uninitialised: ", "the shared `a`, at 4", "blank_shared:1"}},
    {"shared_of_the_block_before", // many blocks, one after the other in the same memory
     "__shared__ int a; if (blockIdx.x < 1000) a = 1; else out[0] = a;",
     1001,
     1,
     1,
     0,
     {"uninitialised: "}},
    {"copied",
     "memcpy(blank, out, 64); memset(blank + 16, 0, 64); out[0] = blank[31];",
     1,
     1,
     1,
     0,
     {NULL}},
    {"copied_too_far",
     "memcpy(blank + 234, out, 65);",
     1,
     1,
     1,
     0,
     {"out of bounds: ", "65 bytes", "copied_too_far:1"}},
    // --- asynchronous copies
    {"copy_waited_for",
     "__shared__ int4 a[64]; simtune_emu_async_copy(&a[threadIdx.x], (int4 *)out + threadIdx.x, "
     "16);\n"
     "simtune_emu_async_wait_all(); __syncthreads(); out[512 + threadIdx.x] = a[63 - "
     "threadIdx.x].x;",
     1,
     64,
     1,
     0,
     {NULL}},
    {"copy_not_waited_for",
     "__shared__ int4 a[64]; simtune_emu_async_copy(&a[threadIdx.x], (int4 *)out + threadIdx.x, "
     "16);\n"
     "simtune_emu_async_commit(); __syncthreads(); out[512 + threadIdx.x] = a[threadIdx.x].x;",
     1,
     64,
     1,
     0,
     {ST_EMU_RACE, "copies asynchronously", "copy_not_waited_for:2", "copy_not_waited_for:1"}},
    {"copy_without_barrier",
     "__shared__ int4 a[64]; simtune_emu_async_copy(&a[threadIdx.x], (int4 *)out + threadIdx.x, "
     "16);\n"
     "simtune_emu_async_wait_all(); out[512 + threadIdx.x] = a[63 - threadIdx.x].x;",
     1,
     64,
     1,
     0,
     {"copy_without_barrier:2"}},
    {"bulk_copy",
     "__shared__ int4 a[64]; __shared__ simtune_emu_u64 bar; if (threadIdx.x == 0)\n"
     "simtune_emu_mbarrier_init(&bar, 1); __syncthreads(); if (threadIdx.x == 0) {\n"
     "simtune_emu_mbarrier_arrive_expect(&bar, 1024); simtune_emu_bulk_copy(a, out, 1024, &bar); "
     "}\n"
     "while (!simtune_emu_mbarrier_test(&bar, 0)) ; out[512 + threadIdx.x] = a[63 - "
     "threadIdx.x].x;",
     1,
     64,
     1,
     0,
     {NULL}},
    {"bulk_copy_not_waited_for",
     "__shared__ int4 a[64]; __shared__ simtune_emu_u64 bar; if (threadIdx.x == 0)\n"
     "simtune_emu_mbarrier_init(&bar, 1); __syncthreads(); if (threadIdx.x == 0) {\n"
     "simtune_emu_mbarrier_arrive_expect(&bar, 1024); simtune_emu_bulk_copy(a, out, 1024, &bar); "
     "}\n"
     "__syncthreads(); out[512 + threadIdx.x] = a[63 - threadIdx.x].x;",
     1,
     64,
     1,
     0,
     {ST_EMU_RACE, "copies asynchronously to", "bulk_copy_not_waited_for:4"}},
};
enum { TRIALS = sizeof trials / sizeof *trials };

static st_compiled compiled;

static int compile_all(void **state)
{
    (void)state;
    st_text source;
    const char *names[TRIALS];
    st_emu_set_checking(true);
    st_text_init(&source);
    for (size_t i = 0; i < TRIALS; i++) {
        names[i] = trials[i].name;
        st_text_addf(&source, "__global__ void %s(int *out, int *blank) {\n#line 1 \"%s\"\n%s\n}\n",
                     trials[i].name, trials[i].name, trials[i].body);
    }
    compiled = compile_with(source.data, names, TRIALS, NULL, 0, NULL, 0);
    st_text_release(&source);
    return compiled.outcome == ST_COMPILED ? 0 : -1;
}

static int release_all(void **state)
{
    (void)state;
    st_compiled_release(&compiled);
    st_emu_set_checking(false);
    return 0;
}

static void open_checked(program *p, const char *kernel)
{
    *p = (program){0};
    must(OPS->open(0, &p->gpu, &error));
    must(OPS->load(p->gpu, compiled.image, compiled.image_bytes, &p->module, &error));
    must(OPS->kernel(p->gpu, p->module, kernel, &p->kernel, &error));
}

static bool judge(const trial *of, st_code code)
{
    bool right = (code != ST_OK) == (of->words[0] != NULL);
    for (size_t w = 0; w < 4 && of->words[w] && right; w++)
        right = strstr(error.what, of->words[w]) != NULL;
    if (!right)
        print_error("%s: %s\n", of->name, code ? error.what : "nothing was found");
    return right;
}

static void every_trial(void **state)
{
    (void)state;
    bool right = true;
    for (size_t i = 0; i < TRIALS; i++) {
        const trial *of = &trials[i];
        error.what[0] = 0;
        program p;
        open_checked(&p, of->name);
        st_gpu_pointer out = device_buffer(&p, 4096), blank = device_buffer(&p, 1000);
        must(OPS->fill8(p.gpu, out, 0, 4096, &error));
        argument list[] = {P(out), P(blank)};
        must(queue_full(&p,
                        (st_launch){.grid = {of->blocks},
                                    .block = {of->threads},
                                    .cluster = of->cluster,
                                    .dynamic_smem = of->dynamic},
                        list, 2));
        right &= judge(of, OPS->synchronize(p.gpu, &error));
        close_program(&p);
    }
    assert_true(right);
}

// What is found does not depend on the order in which threads run.
static void every_order(void **state)
{
    char seed[16];
    for (int s = 1; s <= 4; s++) {
        snprintf(seed, sizeof seed, "%d", s);
        setenv("SIMTUNE_EMU_SEED", seed, 1);
        every_trial(state);
    }
    unsetenv("SIMTUNE_EMU_SEED");
}

// --- the host's side -----------------------------------------------------------------------------

static void what_the_host_writes(void **state)
{
    (void)state;
    int32_t words[8] = {0};
    program p;
    open_checked(&p, "blank_global");
    st_gpu_pointer out = device_buffer(&p, 4096), blank = device_buffer(&p, 128);
    argument list[] = {P(out), P(blank)};
    must(OPS->fill32(p.gpu, blank, 7, 24, &error));
    must(OPS->copy_in(p.gpu, blank + 96, words, 32, &error));
    must(queue_full(&p, (st_launch){.block = {32}}, list, 2));
    must(OPS->synchronize(p.gpu, &error));
    // 0xFF is what verification fills with, so that it holds nothing.
    must(OPS->fill8(p.gpu, blank + 64, 0xff, 4, &error));
    must(queue_full(&p, (st_launch){.block = {32}}, list, 2));
    expect_failure(&p,
                   "uninitialised: blank_global, block (0,0,0), thread (16,0,0) reads 4 bytes of "
                   "an allocation of 128 bytes, at 64, which nobody has written");
    close_program(&p);
    // Memory that the host maps is written behind our back.
    void *host;
    open_checked(&p, "blank_global");
    out = device_buffer(&p, 4096);
    must(OPS->allocate_mapped(p.gpu, 128, &host, &list[1].value, &error));
    list[0].value = out;
    must(queue_full(&p, (st_launch){.block = {32}}, list, 2));
    must(OPS->synchronize(p.gpu, &error));
    close_program(&p);
}

// One kernel's end orders all before what follows; memory that is allocated anew holds nothing.
static void kernels_in_turn(void **state)
{
    (void)state;
    program p;
    open_checked(&p, "neighbours");
    st_gpu_kernel *reader;
    must(OPS->kernel(p.gpu, p.module, "blank_global", &reader, &error));
    st_gpu_pointer blank = device_buffer(&p, 1024), out = device_buffer(&p, 4096);
    argument first[] = {P(blank), P(out)}, second[] = {P(out), P(blank)};
    must(queue_full(&p, (st_launch){.grid = {8}, .block = {32}}, first, 2));
    must(queue_full(&p, (st_launch){.kernel = reader, .block = {32}}, second, 2));
    must(OPS->synchronize(p.gpu, &error));
    OPS->release(p.gpu, blank);
    second[1].value = device_buffer(&p, 1024);
    must(queue_full(&p, (st_launch){.kernel = reader, .block = {32}}, second, 2));
    expect_failure(&p, "uninitialised: ");
    close_program(&p);
}

static const char dependents[] = "__global__ void first(int *out) { out[threadIdx.x] = 1; }\n"
                                 "__global__ void waits(int *out) { simtune_emu_dependency_wait(); "
                                 "out[99] = out[threadIdx.x]; }\n"
                                 "__global__ void reads(int *out) { out[99] = out[threadIdx.x]; "
                                 "simtune_emu_dependency_wait(); }\n";

// Atomic accesses do not race, but they see old values, unless they acquire.
static const char flags[] =
    "__global__ void first(unsigned *out)\n"
    "{ out[1] = 7; simtune_emu_store_relaxed(out + 2, 8u); simtune_emu_store_ordered(out, 1u); }\n"
    "__global__ void late(unsigned *out)\n"
    "{ out[8] = simtune_emu_load_relaxed(out + 2); out[9] = simtune_emu_load_relaxed(out + 2); }\n"
    "__global__ void acquires(unsigned *out)\n"
    "{ while (!simtune_emu_load_ordered(out)) ; out[8] = out[1];\n"
    "  out[9] = simtune_emu_load_relaxed(out + 2); }\n"
    "__global__ void waits(unsigned *out)\n"
    "{ simtune_emu_dependency_wait(); out[8] = out[1]; out[9] = simtune_emu_load_relaxed(out + 2); "
    "}\n";

static void a_dependent_launch_may_acquire(void **state)
{
    (void)state;
    static const char *const kernels[] = {"first", "late", "acquires", "waits"};
    static const uint32_t want[][2] = {{0, 0}, {5, 8}, {7, 8}, {7, 8}};
    for (int second = 1; second <= 3; second++) {
        uint32_t words[10] = {0, 0, 5}, got[10];
        program p = open_program(flags, kernels, 4);
        st_gpu_kernel *kernel;
        must(OPS->kernel(p.gpu, p.module, kernels[second], &kernel, &error));
        argument list[] = {P(device_copy(&p, words, sizeof words))};
        must(queue_full(&p, (st_launch){0}, list, 1));
        must(queue_full(&p, (st_launch){.kernel = kernel, .dependent = true}, list, 1));
        must(OPS->copy_out(p.gpu, got, list[0].value, sizeof got, &error));
        assert_int_equal(got[8], want[second][0]);
        assert_int_equal(got[9], want[second][1]);
        close_program(&p);
    }
}

static void a_dependent_launch_waits(void **state)
{
    (void)state;
    static const char *const kernels[] = {"first", "waits", "reads"};
    for (int second = 1; second <= 2; second++)
        for (int dependent = 0; dependent < 2; dependent++) {
            program p = open_program(dependents, kernels, 3);
            st_gpu_kernel *kernel;
            must(OPS->kernel(p.gpu, p.module, kernels[second], &kernel, &error));
            argument list[] = {P(device_buffer(&p, 4096))};
            must(queue_full(&p, (st_launch){.block = {32}}, list, 1));
            must(queue_full(
                &p, (st_launch){.kernel = kernel, .block = {32}, .dependent = dependent}, list, 1));
            if (second == 2 && dependent)
                expect_failure(&p, "test.cu:3); the kernel before writes them (test.cu:1), and "
                                   "nothing waits for it");
            else
                must(OPS->synchronize(p.gpu, &error));
            close_program(&p);
        }
}

// A store that a load knows nothing of may be missed, once.
static void a_load_may_be_late(void **state)
{
    (void)state;
    const char *kernel = "late";
    program p = open_program("__global__ void late(unsigned *word, unsigned *out)\n"
                             "{\n"
                             "    if (threadIdx.x == 0) simtune_emu_store_relaxed(word, 5u);\n"
                             "    __shfl_sync(0xffffffffu, 1, 0);\n"
                             "    if (threadIdx.x == 1) {\n"
                             "        out[0] = simtune_emu_load_relaxed(word); out[1] = "
                             "simtune_emu_load_relaxed(word);\n"
                             "    }\n"
                             "    __shfl_sync(0xffffffffu, 1, 0);\n"
                             "    if (threadIdx.x == 0) simtune_emu_store_relaxed(word, 6u);\n"
                             "    __syncwarp();\n"
                             "    if (threadIdx.x == 1) out[2] = simtune_emu_load_relaxed(word);\n"
                             "}\n",
                             &kernel, 1);
    uint32_t before = 4, out[3];
    st_gpu_pointer word = device_copy(&p, &before, 4), dout = device_buffer(&p, 12);
    argument list[] = {P(word), P(dout)};
    must(queue_full(&p, (st_launch){.block = {32}}, list, 2));
    must(OPS->copy_out(p.gpu, out, dout, 12, &error));
    assert_int_equal(out[0], 4);
    assert_int_equal(out[1], 5);
    assert_int_equal(out[2], 6);
    close_program(&p);
}

// The support kernels of verification read whatever is there; their names say so.
static void verification_may_read_anything(void **state)
{
    (void)state;
    const char *kernels[] = {"simtune_support_check", "candidate"};
    program p = open_program(
        "extern \"C\" __global__ void simtune_support_check(int *out, int *in) { *out = *in; }\n"
        "extern \"C\" __global__ void candidate(int *out, int *in) { *out = *in; }\n",
        kernels, 2);
    st_gpu_kernel *candidate;
    must(OPS->kernel(p.gpu, p.module, "candidate", &candidate, &error));
    argument list[] = {P(device_buffer(&p, 4)), P(device_buffer(&p, 4))};
    must(queue_full(&p, (st_launch){0}, list, 2));
    must(OPS->synchronize(p.gpu, &error));
    must(queue_full(&p, (st_launch){.kernel = candidate}, list, 2));
    expect_failure(&p, "uninitialised: candidate");
    close_program(&p);
}

static void modes_do_not_mix(void **state)
{
    (void)state;
    char checked[48], plain[48];
    const char *kernel = "k",
               *source = "__global__ void k(int *out) { atomicAdd(out, 1); *out += 1; }\n";
    must(st_emu_compiler(checked, &error));
    st_emu_set_checking(false);
    must(st_emu_compiler(plain, &error));
    assert_string_not_equal(checked, plain); // the name is part of what a cache finds programs by
    st_compiled unchecked = compile_with(source, &kernel, 1, NULL, 0, NULL, 0);
    // A checked program runs on a device that does not check.
    program p;
    open_checked(&p, "two_blocks");
    argument list[] = {P(device_buffer(&p, 4096)), P(device_buffer(&p, 4))};
    must(queue_full(&p, (st_launch){.grid = {2}, .block = {32}}, list, 2));
    must(OPS->kernel(p.gpu, p.module, "fenced_ticket", &p.kernel, &error));
    must(OPS->fill8(p.gpu, list[0].value, 0, 4096, &error));
    must(queue_full(&p, (st_launch){.grid = {8}, .block = {32}}, list, 2));
    int32_t first;
    must(OPS->copy_out(p.gpu, &first, list[0].value, 4, &error));
    assert_int_equal(first, 8);
    close_program(&p);
    // The other way round nothing could be known.
    st_emu_set_checking(true);
    st_gpu *gpu;
    st_gpu_module *module;
    must(OPS->open(0, &gpu, &error));
    assert_int_not_equal(OPS->load(gpu, unchecked.image, unchecked.image_bytes, &module, &error),
                         ST_OK);
    assert_non_null(strstr(error.what, "not compiled for the checking mode"));
    OPS->close(gpu);
    st_compiled_release(&unchecked);
}

// Every allocation fails in turn: an error or a finding, never a crash and no leak.
static void allocation_failures(void **state)
{
    (void)state;
    static const char *const kernels[] = {"handed_on", "cluster_barrier", "missing_barrier_2",
                                          "named_arrive"};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        unsigned long n = 0;
        bool injected = true;
        while (injected && n < 2000) {
            program p = {0};
            argument list[2] = {P(0), P(0)};
            st_fault_arm(ST_FAULT_ALLOCATION, ++n);
            st_code code = OPS->open(0, &p.gpu, &error);
            if (!code)
                code = OPS->load(p.gpu, compiled.image, compiled.image_bytes, &p.module, &error);
            if (!code)
                code = OPS->kernel(p.gpu, p.module, kernels[k], &p.kernel, &error);
            for (int i = 0; i < 2 && !code; i++)
                code = OPS->allocate(p.gpu, 4096, &list[i].value, &error);
            if (!code)
                code = OPS->fill8(p.gpu, list[0].value, 0, 4096, &error);
            unsigned cluster = k == 1 ? 4 : 1;
            if (!code)
                code = queue_full(&p,
                                  (st_launch){.grid = {k == 0 ? 3 : cluster},
                                              .block = {k == 0   ? 32
                                                        : k == 3 ? 96
                                                                 : 64},
                                              .cluster = cluster},
                                  list, 2);
            if (!code)
                code = OPS->synchronize(p.gpu, &error);
            injected = st_fault_injected(ST_FAULT_ALLOCATION);
            st_fault_arm(ST_FAULT_ALLOCATION, 0);
            assert_true(code != ST_OK || !injected);
            assert_true(injected || k == 2 || code == ST_OK);
            OPS->close(p.gpu);
        }
        assert_true(n > 5 && n < 2000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_trial),
        cmocka_unit_test(every_order),
        cmocka_unit_test(what_the_host_writes),
        cmocka_unit_test(kernels_in_turn),
        cmocka_unit_test(a_dependent_launch_waits),
        cmocka_unit_test(a_dependent_launch_may_acquire),
        cmocka_unit_test(a_load_may_be_late),
        cmocka_unit_test(verification_may_read_anything),
        cmocka_unit_test(modes_do_not_mix),
        cmocka_unit_test(allocation_failures),
    };
    return cmocka_run_group_tests(tests, compile_all, release_all);
}
