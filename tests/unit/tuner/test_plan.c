// SPDX-License-Identifier: Apache-2.0
// From a template and its bindings to what a worker is told. Promise of plan.h: every size is checked to be
// launchable in principle, and what is not is ST_NOTHING with the reason.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"
#include "tuner/plan.h"

#include <stdio.h>
#include <string.h>

#define HEAD \
    "// simtune: family   trial\n" \
    "// simtune: axis     T = f32 f16\n" \
    "// simtune: axis     n = 1Ki\n" \
    "// simtune: param    BLOCK = 32 256 1024 2048\n" \
    "// simtune: param    FINISH = two atomic\n" \
    "// simtune: param    SMEM = 0 4096\n" \
    "// simtune: default  BLOCK=256 FINISH=two SMEM=0\n"
#define BUFFERS \
    "// simtune: let      blocks = min(ceil_div(n, BLOCK), SM_COUNT * BLOCKS_PER_SM)\n" \
    "// simtune: buffer   in : input T[n]   out : output T[1]   partial : temp f64[blocks]\n" \
    "// simtune: buffer   right : expected reference_T[1]   size : magnitude f64[1]\n" \
    "// simtune: zero     out when FINISH == atomic\n"
#define LAUNCHES \
    "// simtune: launch   first grid=blocks block=BLOCK smem=SMEM args=in,partial,n,blocks:i32 when FINISH == two\n" \
    "// simtune: launch   last grid=1 block=32 dependent=1 args=partial,out when FINISH == two\n" \
    "// simtune: launch   all grid=blocks,1,2 block=BLOCK/2,2 cluster=2 args=in,out,n when FINISH == atomic\n"
#define CODE "extern \"C\" __global__ void first() {}\n"

typedef struct trial {
    st_template *tmpl;
    st_problem problem;
    st_config config;
    st_device_facts device;
    st_bindings bindings;
    st_plan_kernels kernels;
} trial;

static char *const lowered[] = {(char *)(uintptr_t)"first", (char *)(uintptr_t)"last", (char *)(uintptr_t)"all"};

static void set_up(trial *at, const char *text, const char *problem, const char *config, int64_t blocks_per_sm)
{
    st_error error = {0};
    *at = (trial){.device = {.cc = 90, .sm_count = 4, .l2_bytes = 1 << 20}};
    if (st_template_parse("trial.cu", text, strlen(text), &at->tmpl, &error) != ST_OK ||
        st_problem_parse(at->tmpl, problem, &at->problem, &error) != ST_OK ||
        st_config_parse(at->tmpl, config, &at->config, &error) != ST_OK ||
        st_bindings_make(at->tmpl, &at->problem, &at->config, &at->device, &at->bindings, &error) != ST_OK)
        fail_msg("%s (%s)", error.what, error.remedy);
    if (blocks_per_sm > 0 && st_bindings_late(&at->bindings, blocks_per_sm, &error) != ST_OK)
        fail_msg("%s", error.what);
}

static void tear_down(trial *at)
{
    st_plan_kernels_release(&at->kernels);
    st_bindings_release(&at->bindings);
    st_template_free(at->tmpl);
}

static st_code make(trial *at, st_plan *plan, st_error *error)
{
    st_code code = st_plan_kernels_make(&at->bindings, at->tmpl->steps, at->tmpl->step_count, lowered, &at->kernels,
                                        error);
    return code == ST_OK ? st_plan_make(&at->bindings, at->tmpl->steps, at->tmpl->step_count, &at->kernels, plan, error)
                         : code;
}

// --- buffers ------------------------------------------------------------------------------------------------

static void test_buffers(void **state)
{
    (void)state;
    trial at;
    st_plan_buffer *buffers = NULL;
    set_up(&at, HEAD BUFFERS LAUNCHES CODE, "T=f16 n=1000", "BLOCK=256 FINISH=two SMEM=0", 0);
    assert_int_equal(st_plan_buffers(&at.bindings, 1, &buffers, NULL), ST_OK); // late names are not needed
    assert_string_equal(buffers[0].name, "in");
    assert_string_equal(buffers[0].fill, "values");
    assert_int_equal(buffers[0].type, ST_F16);
    assert_int_equal(buffers[0].count, 1000);
    assert_int_equal(buffers[0].misalign, 1);
    assert_int_equal(buffers[1].misalign, 1);
    assert_int_equal(buffers[1].count, 1);
    assert_int_equal(buffers[2].role, ST_BUFFER_TEMP);
    assert_int_equal(buffers[2].count, 0); // a plan says how much
    assert_int_equal(buffers[2].misalign, 0);
    assert_int_equal(buffers[3].type, ST_F64); // reference_T of a float
    assert_int_equal(buffers[3].misalign, 0);
    st_free(buffers);
    tear_down(&at);
}

// --- plans that do nothing ------------------------------------------------------------------------------------

// Timed as nothing, they would win.
static void test_launches_nothing(void **state)
{
    (void)state;
    static const char text[] = "// simtune: family nothing\n"
                               "// simtune: axis n = 8\n"
                               "// simtune: param A = 0 1\n"
                               "// simtune: default A=1\n"
                               "// simtune: buffer x : inout f32[n]\n"
                               "// simtune: launch first grid=A block=32 args=x\n"
                               "// simtune: bytes n\n"
                               "__global__ void first(float *x) {}\n";
    static const struct {
        const char *problem, *config;
        st_code code;
    } cases[] = {{"n=8", "A=1", ST_OK}, {"n=8", "A=0", ST_NOTHING}, {"n=0", "A=0", ST_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trial at;
        st_plan plan;
        st_error error = {0};
        set_up(&at, text, cases[i].problem, cases[i].config, 8);
        assert_int_equal(make(&at, &plan, &error), ST_OK);
        assert_int_equal(st_plan_check_steps(&at.bindings, &plan, &error), cases[i].code);
        if (cases[i].code == ST_NOTHING)
            assert_string_equal(error.what, "trial.cu: it launches nothing, though x has 8 elements to be written");
        st_plan_release(&plan);
        tear_down(&at);
    }
}

// --- the main kernel --------------------------------------------------------------------------------------------

static int main_kernel(const char *lines, const char *config)
{
    static const char *const parts[] = {HEAD, BUFFERS, CODE};
    char text[4096];
    trial at;
    st_plan plan;
    snprintf(text, sizeof text, "%s%s%s%s", parts[0], parts[1], lines, parts[2]);
    set_up(&at, text, "T=f32 n=100000", config, 8);
    assert_int_equal(make(&at, &plan, NULL), ST_OK);
    int found = st_plan_main_kernel(at.tmpl, &plan);
    st_plan_release(&plan);
    tear_down(&at);
    return found;
}

// Registers and occupancy are told of the kernel that does the work, not of the one that empties a counter before it
// or adds up after it.
static void test_main_kernel(void **state)
{
    (void)state;
    static const char config[] = "BLOCK=256 FINISH=two SMEM=0";
    assert_int_equal(main_kernel("// simtune: launch   first grid=2 block=256 args=partial\n"
                                 "// simtune: launch   last grid=ceil_div(n,BLOCK) block=BLOCK args=in,out\n", config), 1);
    assert_int_equal(main_kernel("// simtune: launch   first grid=ceil_div(n,BLOCK) block=BLOCK args=in,out\n"
                                 "// simtune: launch   last grid=1 block=1024 args=in,out\n", config), 0);
    // Of equals the first; all dimensions count.
    assert_int_equal(main_kernel("// simtune: launch   first grid=4,2 block=32,8 args=in,out\n"
                                 "// simtune: launch   last grid=8 block=256 args=in,out\n", config), 0);
    // BLOCKS_PER_SM is of the first launch, and so is all else where the plan goes by it.
    assert_int_equal(main_kernel("// simtune: launch   first grid=1 block=32 args=partial\n"
                                 "// simtune: launch   last grid=blocks block=BLOCK args=in,out\n", config), 0);
    // Nothing but memory is set.
    assert_int_equal(main_kernel("// simtune: launch   first grid=1 block=32 args=partial when FINISH == two\n",
                                 "BLOCK=256 FINISH=atomic SMEM=0"), -1);
}

// --- kernels and steps ------------------------------------------------------------------------------------------

static void test_two_launches(void **state)
{
    (void)state;
    trial at;
    st_plan plan;
    set_up(&at, HEAD BUFFERS LAUNCHES CODE, "T=f32 n=100000", "BLOCK=256 FINISH=two SMEM=4096", 8);
    assert_int_equal(make(&at, &plan, NULL), ST_OK);
    assert_int_equal(at.kernels.count, 2);
    assert_int_equal(at.kernels.launch_count, 3);
    assert_int_equal(at.kernels.launch_kernel[0], 0);
    assert_int_equal(at.kernels.launch_kernel[1], 1);
    assert_int_equal(at.kernels.launch_kernel[2], -1); // `when` rules it out
    assert_string_equal(at.kernels.kernels[0].lowered, "first");
    assert_int_equal(at.kernels.kernels[0].block, 256);
    assert_int_equal(at.kernels.kernels[0].smem, 4096);
    assert_int_equal(plan.step_count, 2); // no zero either
    const st_plan_step *first = &plan.steps[0], *last = &plan.steps[1];
    assert_int_equal(first->kernel, 0);
    assert_int_equal(first->grid[0], 32); // 4 SMs × 8, less than 391
    assert_int_equal(first->grid[1], 1);
    assert_int_equal(first->block[0], 256);
    assert_int_equal(first->smem, 4096);
    assert_int_equal(first->cluster, 1);
    assert_false(first->dependent);
    assert_int_equal(first->argument_count, 4);
    assert_int_equal(first->arguments[0].buffer, 0);
    assert_int_equal(first->arguments[1].buffer, 2);
    assert_int_equal(first->arguments[2].buffer, -1);
    assert_int_equal(first->arguments[2].type, ST_U64); // a size axis alone
    assert_int_equal(first->arguments[2].value, 100000);
    assert_int_equal(first->arguments[3].type, ST_I32);
    assert_int_equal(first->arguments[3].value, 32);
    assert_true(last->dependent);
    assert_int_equal(last->block[0], 32);
    assert_int_equal(plan.buffer_count, 5);
    assert_int_equal(plan.temp_counts[2], 32);
    assert_int_equal(plan.temp_counts[0], 0);
    st_plan_release(&plan);
    tear_down(&at);
}

static void test_zero_and_dims(void **state)
{
    (void)state;
    trial at;
    st_plan plan;
    set_up(&at, HEAD BUFFERS LAUNCHES CODE, "T=f16 n=1000", "BLOCK=256 FINISH=atomic SMEM=0", 8);
    assert_int_equal(make(&at, &plan, NULL), ST_OK);
    assert_int_equal(at.kernels.count, 1);
    assert_int_equal(plan.step_count, 2);
    assert_true(plan.steps[0].is_zero);
    assert_int_equal(plan.steps[0].buffer, 1);
    assert_int_equal(plan.steps[0].zero_bytes, 2); // one f16
    assert_int_equal(plan.steps[1].kernel, 0);
    assert_int_equal(plan.steps[1].grid[2], 2);
    assert_int_equal(plan.steps[1].block[0], 128);
    assert_int_equal(plan.steps[1].block[1], 2);
    assert_int_equal(plan.steps[1].cluster, 2);
    assert_int_equal(at.kernels.kernels[0].block, 256); // threads of all dimensions
    st_plan_release(&plan);
    tear_down(&at);
}

// n = 0: an empty grid is no launch.
static void test_empty_grid(void **state)
{
    (void)state;
    trial at;
    st_plan plan;
    set_up(&at, HEAD BUFFERS LAUNCHES CODE, "T=f32 n=0", "BLOCK=256 FINISH=two SMEM=0", 8);
    assert_int_equal(make(&at, &plan, NULL), ST_OK);
    assert_int_equal(plan.step_count, 1); // the last kernel alone
    assert_int_equal(plan.steps[0].kernel, 1);
    assert_int_equal(plan.temp_counts[2], 0);
    st_plan_release(&plan);
    tear_down(&at);
}

// A kernel that is launched twice alike is loaded once; with another block it is another.
static void test_shared_kernels(void **state)
{
    (void)state;
    static const char text[] = HEAD BUFFERS
        "// simtune: launch   first grid=1 block=64 args=in\n"
        "// simtune: launch   first grid=2 block=64 args=in\n"
        "// simtune: launch   first grid=2 block=32,2 args=in\n"
        "// simtune: launch   first grid=2 block=128 args=in\n" CODE;
    static char *const names[] = {(char *)(uintptr_t)"first", (char *)(uintptr_t)"first",
                                  (char *)(uintptr_t)"first", (char *)(uintptr_t)"first"};
    trial at;
    set_up(&at, text, "T=f32 n=8", "BLOCK=256 FINISH=two SMEM=0", 1);
    assert_int_equal(st_plan_kernels_make(&at.bindings, at.tmpl->steps, at.tmpl->step_count, names, &at.kernels, NULL),
                     ST_OK);
    assert_int_equal(at.kernels.count, 2);
    static const int wanted[] = {0, 0, 0, 1};
    assert_memory_equal(at.kernels.launch_kernel, wanted, sizeof wanted);
    tear_down(&at);
}

// --- what cannot be launched --------------------------------------------------------------------------------------

static void refused(const char *launch, const char *problem, const char *config, const char *says)
{
    trial at;
    st_plan plan = {0};
    st_error error = {0};
    char *text = st_format("%s%s%s%s", HEAD, BUFFERS, launch, CODE);
    set_up(&at, text, problem, config, 8);
    if (make(&at, &plan, &error) != ST_NOTHING)
        fail_msg("%s is planned (%s)", launch, error.what);
    if (!strstr(error.what, says) || !strstr(error.what, "trial.cu:") || !error.remedy[0])
        fail_msg("%s: %s (%s)", launch, error.what, error.remedy);
    assert_null(plan.steps);
    assert_null(at.kernels.kernels && plan.steps ? at.kernels.kernels : NULL);
    st_free(text);
    tear_down(&at);
}

static void test_refusing(void **state)
{
    (void)state;
    static const char usual[] = "BLOCK=256 FINISH=two SMEM=0";
    refused("// simtune: launch first grid=1 block=BLOCK args=in\n", "T=f32 n=8", "BLOCK=2048 FINISH=two SMEM=0", "block");
    refused("// simtune: launch first grid=1 block=64,64 args=in\n", "T=f32 n=8", usual, "4096 threads");
    refused("// simtune: launch first grid=1 block=n args=in\n", "T=f32 n=0", usual, "block is 0");
    refused("// simtune: launch first grid=n block=32 args=in\n", "T=f32 n=4294967296", usual, "grid");
    refused("// simtune: launch first grid=1,n block=32 args=in\n", "T=f32 n=65536", usual, "grid");
    refused("// simtune: launch first grid=1-n block=32 args=in\n", "T=f32 n=8", usual, "grid is -7");
    refused("// simtune: launch first grid=1 block=32 smem=0-n args=in\n", "T=f32 n=8", usual, "smem");
    refused("// simtune: launch first grid=1 block=32 cluster=n args=in\n", "T=f32 n=65", usual, "cluster");
}

// A division by zero is an error of the template, with its place.
static void test_failing_expressions(void **state)
{
    (void)state;
    trial at;
    st_plan plan;
    st_error error = {0};
    set_up(&at, HEAD BUFFERS "// simtune: launch first grid=8/n block=32 args=in\n" CODE, "T=f32 n=0",
           "BLOCK=256 FINISH=two SMEM=0", 8);
    st_code code = make(&at, &plan, &error);
    assert_int_not_equal(code, ST_OK);
    assert_non_null(strstr(error.what, "trial.cu:"));
    assert_non_null(strstr(error.what, "zero"));
    tear_down(&at);
}

// --- comparisons ------------------------------------------------------------------------------------------------------

static void test_default_comparison(void **state)
{
    (void)state;
    trial at;
    st_plan_compare *compares = NULL;
    size_t count = 0;
    set_up(&at, HEAD BUFFERS LAUNCHES CODE, "T=f32 n=8", "BLOCK=256 FINISH=two SMEM=0", 8);
    assert_int_equal(st_plan_compares(&at.bindings, &compares, &count, NULL), ST_OK);
    assert_int_equal(count, 1);
    assert_int_equal(compares[0].output, 1);
    assert_int_equal(compares[0].expected, -1); // against the default's
    assert_true(compares[0].tolerance == 1e-5);
    assert_false(compares[0].bounded);
    st_free(compares);
    tear_down(&at);
}

static void test_comparisons(void **state)
{
    (void)state;
    static const char text[] = HEAD BUFFERS LAUNCHES
        "// simtune: reference plain file=plain.cu grid=1 block=1 args=in,right,size,n\n"
        "// simtune: compare  out with right magnitude size height ceil_log2(n) + blocks when is_float_T\n"
        "// simtune: compare  out with right when not is_float_T\n" CODE;
    trial at;
    st_plan_compare *compares = NULL;
    size_t count = 0;
    set_up(&at, text, "T=f32 n=100000", "BLOCK=256 FINISH=two SMEM=0", 8);
    assert_int_equal(st_plan_compares(&at.bindings, &compares, &count, NULL), ST_OK);
    assert_int_equal(count, 1);
    assert_true(compares[0].bounded);
    assert_int_equal(compares[0].height, 17 + 32);
    assert_int_equal(compares[0].magnitude, 4);
    assert_int_equal(compares[0].expected, 3);
    st_free(compares);
    tear_down(&at);
}

// Each allocation fails in turn: an error, and nothing is left to free.
static void test_no_memory(void **state)
{
    (void)state;
    trial at;
    set_up(&at, HEAD BUFFERS LAUNCHES CODE, "T=f32 n=100000", "BLOCK=256 FINISH=two SMEM=0", 8);
    for (unsigned long n = 1; n < 200; n++) {
        st_plan plan = {0};
        st_plan_buffer *buffers = NULL;
        st_plan_compare *compares = NULL;
        size_t count = 0;
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = make(&at, &plan, NULL);
        if (code == ST_OK)
            code = st_plan_buffers(&at.bindings, 0, &buffers, NULL);
        if (code == ST_OK)
            code = st_plan_compares(&at.bindings, &compares, &count, NULL);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_int_equal(code, injected ? ST_NO_MEMORY : ST_OK);
        st_plan_release(&plan);
        st_plan_kernels_release(&at.kernels);
        st_free(buffers);
        st_free(compares);
        if (!injected) {
            tear_down(&at);
            return;
        }
    }
    fail_msg("the trial without a fault was never reached");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_main_kernel),
        cmocka_unit_test(test_buffers), cmocka_unit_test(test_launches_nothing),        cmocka_unit_test(test_two_launches),
        cmocka_unit_test(test_zero_and_dims),  cmocka_unit_test(test_empty_grid),
        cmocka_unit_test(test_shared_kernels), cmocka_unit_test(test_refusing),
        cmocka_unit_test(test_failing_expressions), cmocka_unit_test(test_default_comparison),
        cmocka_unit_test(test_comparisons),    cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
