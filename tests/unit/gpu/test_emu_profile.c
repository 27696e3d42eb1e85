// SPDX-License-Identifier: Apache-2.0
// The emulated device's model: times and profiles depend on what was launched and on nothing else, and move the way
// a GPU's do.
#include "tests/unit/gpu/emu_fixture.h"

#include <math.h>

static const char *const source =
    "template <int COUNT> __global__ void read(const int4 *in, int *out, unsigned n)\n"
    "{\n"
    "    int sum = 0;\n"
    "    unsigned stride = gridDim.x * blockDim.x;\n"
    "    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += COUNT * stride) {\n"
    "        int4 kept[COUNT];\n"
    "        for (int k = 0; k < COUNT; k++) kept[k] = in[(i + k * stride) % n];\n"
    "        for (int k = 0; k < COUNT; k++) sum += kept[(k + sum) & (COUNT - 1)].x;\n"
    "    }\n"
    "    if (sum == 77) *out = sum;\n"
    "}\n"
    "__global__ void piped(const int4 *in, int *out, unsigned n)\n"
    "{\n"
    "    __shared__ int4 stage[16][64];\n"
    "    int sum = 0;\n"
    "    for (unsigned i = blockIdx.x * 64 + threadIdx.x; i < n; i += 16 * gridDim.x * 64) {\n"
    "        for (unsigned k = 0; k < 16; k++)\n"
    "            simtune_emu_async_copy(&stage[k][threadIdx.x], &in[(i + k * 64) % n], 16);\n"
    "        simtune_emu_async_wait_all();\n"
    "        for (unsigned k = 0; k < 16; k++) sum += stage[k][threadIdx.x].x;\n"
    "    }\n"
    "    if (sum == 77) *out = sum;\n"
    "}\n"
    "__global__ void meet(int *out, int barriers, int votes, int adds)\n"
    "{\n"
    "    for (int i = 0; i < barriers; i++)\n"
    "        __syncthreads();\n" // line 27
    "    for (int i = 0; i < votes; i++)\n"
    "        __any_sync(0xffffffffu, i);\n" // line 29
    "    for (int i = 0; i < adds; i++) atomicAdd(out, 1);\n"
    "}\n";
static const char *const names[] = {"read<1>", "read<8>", "meet", "piped"};

typedef struct bench {
    program p;
    st_gpu_kernel *kernel[4];
    st_gpu_pointer in, other, out;
    st_gpu_event *from, *to;
} bench;

enum { BYTES = 4 << 20 };

static bench open_bench(void)
{
    bench b = {.p = open_program(source, names, 4)};
    for (int k = 0; k < 4; k++)
        must(OPS->kernel(b.p.gpu, b.p.module, names[k], &b.kernel[k], &error));
    b.in = device_buffer(&b.p, BYTES);
    b.other = device_buffer(&b.p, BYTES);
    b.out = device_buffer(&b.p, 64);
    must(OPS->fill8(b.p.gpu, b.in, 0, BYTES, &error));
    must(OPS->fill8(b.p.gpu, b.out, 0, 64, &error));
    must(OPS->event_make(b.p.gpu, &b.from, &error));
    must(OPS->event_make(b.p.gpu, &b.to, &error));
    return b;
}

static void close_bench(bench *b)
{
    OPS->event_free(b->p.gpu, b->from);
    OPS->event_free(b->p.gpu, b->to);
    close_program(&b->p);
}

static void queue_read(bench *b, int kernel, unsigned grid, unsigned block, unsigned bytes)
{
    const argument list[] = {P(b->in), P(b->out), U(bytes / 16)};
    size_t used[] = {bytes, 4, 0}, sizes[] = {8, 8, 4};
    void *pointers[3];
    uint64_t values[3];
    for (int i = 0; i < 3; i++) {
        values[i] = list[i].value;
        pointers[i] = &values[i];
    }
    st_launch launch = {.kernel = b->kernel[kernel],
                        .grid = {grid, 1, 1},
                        .block = {block, 1, 1},
                        .arguments = pointers,
                        .argument_sizes = sizes,
                        .buffer_bytes = used,
                        .argument_count = 3};
    must(OPS->launch(b->p.gpu, &launch, &error));
}

static void queue_meet(bench *b, int barriers, int votes, int adds)
{
    const argument list[] = {P(b->out), U(barriers), U(votes), U(adds)};
    must(queue_full(&b->p, (st_launch){.kernel = b->kernel[2], .grid = {8}, .block = {128}}, list,
                    4));
}

static double time_read(bench *b, int kernel, unsigned grid, unsigned block, unsigned bytes)
{
    double ns;
    must(OPS->event_record(b->p.gpu, b->from, &error));
    queue_read(b, kernel, grid, block, bytes);
    must(OPS->event_record(b->p.gpu, b->to, &error));
    must(OPS->event_elapsed(b->p.gpu, b->from, b->to, &ns, &error));
    return ns;
}

static double time_meet(bench *b, int barriers, int votes, int adds)
{
    double ns;
    must(OPS->event_record(b->p.gpu, b->from, &error));
    queue_meet(b, barriers, votes, adds);
    must(OPS->event_record(b->p.gpu, b->to, &error));
    must(OPS->event_elapsed(b->p.gpu, b->from, b->to, &ns, &error));
    return ns;
}

// --- times -------------------------------------------------------------------------------------

// What else was launched, allocated or copied before does not enter.
static void a_time_has_no_history(void **state)
{
    (void)state;
    bench a = open_bench();
    double first[3], second[3];
    must(OPS->fill8(a.p.gpu, a.other, 0, BYTES, &error)); // into L2
    for (int i = 0; i < 3; i++)
        first[i] = time_read(&a, 1, 16, 128, BYTES);
    close_bench(&a);

    bench b = open_bench();
    device_buffer(&b.p, 12345); // other addresses
    for (int i = 0; i < 5; i++)
        time_read(&b, 0, 8, 64, 1 << 16);
    time_meet(&b, 3, 4, 5);
    int word = 0;
    must(OPS->copy_out(b.p.gpu, &word, b.out, 4, &error));
    must(OPS->fill8(b.p.gpu, b.other, 0, BYTES, &error));
    for (int i = 0; i < 3; i++)
        second[i] = time_read(&b, 1, 16, 128, BYTES); // more than L2 holds: always cold
    close_bench(&b);
    for (int i = 0; i < 3; i++)
        assert_true(first[i] == second[i]);
    assert_true(first[0] != first[1]); // noise
}

static void what_a_time_depends_on(void **state)
{
    (void)state;
    bench b = open_bench();
    double few = time_read(&b, 0, 4, 64, BYTES), many = time_read(&b, 0, 32, 256, BYTES);
    assert_true(few > 2 * many); // warps hide latency
    double wide = time_read(&b, 1, 4, 64, BYTES);
    assert_true(few > 1.5 * wide); // so do loads of one thread
    double piped = time_read(&b, 3, 4, 64, BYTES);
    assert_true(few > 1.5 * piped); // and copies that it does not wait for
    assert_true(time_read(&b, 0, 32, 256, BYTES / 2) < 0.8 * many);
    // What is in L2 is read faster. Something larger in between, and it is not there any more.
    must(OPS->fill8(b.p.gpu, b.other, 0, BYTES, &error));
    double cold = time_read(&b, 0, 32, 256, 1 << 18), warm = time_read(&b, 0, 32, 256, 1 << 18);
    assert_true(cold > 1.05 * warm);
    double none = time_meet(&b, 0, 0, 0);
    assert_true(time_meet(&b, 50, 0, 0) > none + 100);
    assert_true(time_meet(&b, 0, 50, 0) > none + 100);
    assert_true(time_meet(&b, 0, 0, 5) > none + 1000);
    close_bench(&b);
}

// --- profiles ----------------------------------------------------------------------------------

static uint64_t samples_of(const st_emu_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->reason_count; i++)
        if (strcmp(profile->reasons[i].name, name) == 0)
            return profile->reasons[i].samples;
    return 0;
}

static const char *main_reason(const st_emu_profile *profile)
{
    size_t most = 0;
    for (size_t i = 1; i < profile->reason_count; i++)
        if (profile->reasons[i].samples > profile->reasons[most].samples)
            most = i;
    return profile->reasons[most].name;
}

static double counter_of(bench *b, const char *name)
{
    double value = -1;
    must(st_emu_profile_counter(b->p.gpu, name, &value, &error));
    return value;
}

static void stalls_follow_the_kernel(void **state)
{
    (void)state;
    bench b = open_bench();
    st_emu_profile profile;
    must(st_emu_profile_begin(b.p.gpu, &error));
    queue_read(&b, 0, 8, 64, BYTES);
    must(st_emu_profile_stalls(b.p.gpu, 300, &profile, &error));
    assert_string_equal(main_reason(&profile), "long_scoreboard");
    assert_true(profile.total >= 290);
    uint64_t sum = 0;
    for (size_t i = 0; i < profile.reason_count; i++) {
        sum += profile.reasons[i].samples;
        assert_true(profile.reasons[i].samples_not_issued <= profile.reasons[i].samples);
    }
    assert_int_equal(sum, profile.total);
    assert_int_equal(samples_of(&profile, "barrier"), 0);
    st_emu_profile_release(&profile);

    must(st_emu_profile_begin(b.p.gpu, &error));
    queue_meet(&b, 100, 0, 0);
    must(st_emu_profile_stalls(b.p.gpu, 300, &profile, &error));
    assert_string_equal(main_reason(&profile), "barrier");
    assert_true(profile.line_count > 0);
    assert_string_equal(profile.lines[0].file, "test.cu");
    assert_int_equal(profile.lines[0].line, 27);
    assert_string_equal(profile.lines[0].function, "meet");
    assert_string_equal(profile.lines[0].reason, "barrier");
    st_emu_profile_release(&profile);

    must(st_emu_profile_begin(b.p.gpu, &error));
    queue_meet(&b, 0, 400, 0);
    must(st_emu_profile_stalls(b.p.gpu, 300, &profile, &error));
    assert_string_equal(main_reason(&profile), "short_scoreboard");
    assert_int_equal(profile.lines[0].line, 29);
    st_emu_profile_release(&profile);
    st_emu_profile_end(b.p.gpu);
    close_bench(&b);
}

static void lg_throttle_needs_narrow_accesses(void **state)
{
    (void)state;
    bench b = open_bench();
    double share[2];
    for (int k = 0; k < 2; k++) {
        st_emu_profile profile;
        must(st_emu_profile_begin(b.p.gpu, &error));
        queue_read(&b, k, 32, 256, BYTES);
        must(st_emu_profile_stalls(b.p.gpu, 2000, &profile, &error));
        share[k] = (double)samples_of(&profile, "lg_throttle") / (double)profile.total;
        st_emu_profile_release(&profile);
    }
    assert_true(share[0] > 0.05);
    assert_true(share[1] < share[0] / 4);
    close_bench(&b); // still profiling
}

static void counters_follow_the_kernel(void **state)
{
    (void)state;
    bench b = open_bench();
    must(st_emu_profile_begin(b.p.gpu, &error));
    assert_true(isnan(counter_of(&b, "dram_throughput"))); // nothing was launched
    time_read(&b, 1, 32, 256, BYTES);
    time_read(&b, 1, 32, 256, BYTES);
    must(st_emu_profile_begin(b.p.gpu, &error));
    queue_read(&b, 1, 32, 256, BYTES);
    double dram = counter_of(&b, "dram_throughput"), read = counter_of(&b, "dram_bytes_read");
    assert_true(dram > 0.1 && dram <= 1);
    assert_float_equal(read, BYTES + 4, 8);
    assert_float_equal(counter_of(&b, "l2_hit_rate"), 0, 1e-3);
    double active = counter_of(&b, "occupancy");
    assert_true(active > 0.2 && active <= 1);
    assert_true(
        isnan(counter_of(&b, "shared_load_conflicts"))); // not modelled: no value, and not 0
    assert_true(isnan(counter_of(&b, "no_such_metric")));
    // The stall ratios together are the warps an issue.
    static const char *const all[] = {"long_scoreboard", "wait",           "short_scoreboard",
                                      "barrier",         "lg_throttle",    "drain",
                                      "mio_throttle",    "no_instruction", "branch_resolving",
                                      "dispatch_stall",  "not_selected",   "selected"};
    double sum = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "stall.%s", all[i]);
        sum += counter_of(&b, name);
    }
    assert_float_equal(sum / counter_of(&b, "warps_per_issue"), 1, 1e-6);
    st_emu_profile_end(b.p.gpu);
    close_bench(&b);
}

static void the_same_profile_every_time(void **state)
{
    (void)state;
    st_emu_profile made[2];
    for (int i = 0; i < 2; i++) {
        bench b = open_bench();
        for (int other = 0; other < 3 * i; other++)
            time_meet(&b, 1, 1, 1);
        must(OPS->fill8(b.p.gpu, b.other, 0, BYTES, &error)); // nothing of `out` is left in L2
        must(st_emu_profile_begin(b.p.gpu, &error));
        queue_meet(&b, 20, 30, 4);
        queue_read(&b, 1, 32, 256, BYTES);
        must(st_emu_profile_stalls(b.p.gpu, 300, &made[i], &error));
        st_emu_profile_end(b.p.gpu);
        for (size_t l = 0; l < made[i].line_count; l++)
            made[i].lines[l].function = made[i].lines[l].file = NULL; // of a program that is gone
        close_bench(&b);
    }
    assert_int_equal(made[0].line_count, made[1].line_count);
    assert_int_equal(made[0].total, made[1].total);
    for (size_t i = 0; i < made[0].reason_count; i++)
        assert_int_equal(made[0].reasons[i].samples, made[1].reasons[i].samples);
    for (size_t i = 0; i < made[0].line_count; i++)
        assert_int_equal(made[0].lines[i].samples, made[1].lines[i].samples);
    st_emu_profile_release(&made[0]);
    st_emu_profile_release(&made[1]);
}

static void profiles_without_memory(void **state)
{
    (void)state;
    bench b = open_bench();
    bool injected = true;
    unsigned long n = 0;
    for (; injected && n < 100;) {
        st_emu_profile profile = {0};
        st_fault_arm(ST_FAULT_ALLOCATION, ++n);
        st_code code = st_emu_profile_begin(b.p.gpu, &error);
        if (!code) {
            const argument list[] = {P(b.out), U(3), U(3), U(3)};
            code = queue_full(&b.p, (st_launch){.kernel = b.kernel[2], .grid = {2}, .block = {64}},
                              list, 4);
        }
        if (!code)
            code = st_emu_profile_stalls(b.p.gpu, 300, &profile, &error);
        injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        if (!injected)
            assert_int_equal(code, ST_OK);
        st_emu_profile_release(&profile);
        if (OPS->is_lost(b.p.gpu)) { // no memory for a block
            close_bench(&b);
            b = open_bench();
        }
    }
    assert_true(n > 3 && n < 100);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_has_no_history),
        cmocka_unit_test(what_a_time_depends_on),
        cmocka_unit_test(stalls_follow_the_kernel),
        cmocka_unit_test(lg_throttle_needs_narrow_accesses),
        cmocka_unit_test(counters_follow_the_kernel),
        cmocka_unit_test(the_same_profile_every_time),
        cmocka_unit_test(profiles_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
