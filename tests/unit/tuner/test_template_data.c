// SPDX-License-Identifier: Apache-2.0
// The directives that say what data are and what the host function looks like: data axes, problem, fills, scalars,
// derive, in_place, prune, determinism default, host_name and host_args with `when`. T1 and T2 of tuner/template.c.
#include "tuner/plan.h"
#include "tuner/template.h"

#include "tuner/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char whole[] =
    "// simtune: family   keep\n"
    "// simtune: axis     T = f32 f16\n"
    "// simtune: axis     kind = flagged less\n"
    "// simtune: axis     percent = 50 1 100 data\n"
    "// simtune: axis     pattern = random data_of_users data\n"
    "// simtune: axis     n = 1000\n"
    "// simtune: problem  pattern == random or kind == flagged\n"
    "// simtune: problem  n <= 2 * SM_COUNT * 1Mi\n"
    "// simtune: param    METHOD = any serial\n"
    "// simtune: param    BLOCK = 32 64\n"
    "// simtune: default  METHOD=serial BLOCK=32\n"
    "// simtune: let      run = 1 + 7 * (pattern != random)\n"
    "// simtune: prune    METHOD == serial or BLOCK == 64\n"
    "// simtune: scalar   limit : T = 3 * run\n"
    "// simtune: buffer   in : input T[n] fill below(percent, max(1, run), 3 * run) guard  flags : input u8[n] fill "
    "flags(percent,run)\n"
    "// simtune: buffer   out : output T[n]  count : output u64[1]  rest : input u32[4] fill distinct\n"
    "// simtune: fill     rest zero when kind == less\n"
    "// simtune: fill     rest nonzero(percent, run) when percent == 1 and pattern == random\n"
    "// simtune: buffer   right : expected T[n]  total : expected u64[1]  sum : derived u64[1]  right_sum : expected "
    "u64[1]\n"
    "// simtune: launch   keep<Config> grid=1 block=BLOCK args=in,flags,limit,out,count,rest,n\n"
    "// simtune: in_place in out when METHOD == serial\n"
    "// simtune: determinism run_to_run when METHOD == serial\n"
    "// simtune: determinism default none when kind == less\n"
    "// simtune: reference right<Config> grid=1 block=1 args=in,flags,limit,right,total,right_sum,n\n"
    "// simtune: derive   sum_of<Config> grid=1 block=BLOCK args=out,count,sum when METHOD == any\n"
    "// simtune: compare  count with total\n"
    "// simtune: compare  out with right when METHOD == serial\n"
    "// simtune: compare  sum with right_sum when METHOD == any\n"
    "// simtune: host_name {kind}_of_{T} when kind == less\n"
    "// simtune: host_args in,out,count,limit,rest,n when kind == less\n"
    "// simtune: host_args in,flags,out,count,rest,n\n";

static const st_device_facts device = {.name = "Test", .cc = 90, .sm_count = 100, .warp_size = 32};

static st_template *load(const char *text)
{
    st_template *t = NULL;
    st_error error = {0};
    if (st_template_parse("dir/t.cu", text, strlen(text), &t, &error))
        fail_msg("%s | %s", error.what, error.remedy);
    return t;
}

static st_problem problem_of(const st_template *t, const char *text)
{
    st_problem problem;
    st_error error = {0};
    if (st_problem_parse(t, text, &problem, &error))
        fail_msg("%s", error.what);
    return problem;
}

static void test_problems(void **state)
{
    (void)state;
    st_template *t = load(whole);
    assert_true(t->axes[2].data && t->axes[3].data && !t->axes[4].data);
    assert_int_equal(t->axes[3].value_count, 2); // `data` at the end is no value
    st_problem usual = problem_of(t, "T=f32 kind=flagged percent=50 pattern=random n=1000");
    st_problem other = problem_of(t, "T=f16 kind=less percent=1 pattern=data_of_users n=1000");
    st_problem large = problem_of(t, "T=f16 kind=less percent=50 pattern=random n=1Gi");
    assert_true(st_problem_is_usual(t, &usual));
    assert_false(st_problem_is_usual(t, &other));
    assert_null(st_problem_broken_rule(t, &usual, &device));
    assert_ptr_equal(st_problem_broken_rule(t, &other, NULL), t->problem_rules[0]);
    assert_ptr_equal(st_problem_broken_rule(t, &large, &device), t->problem_rules[1]);
    assert_null(st_problem_broken_rule(t, &large, NULL)); // no device: not asked
    assert_false(st_problem_default_none(t, &usual));
    assert_true(st_problem_default_none(t, &other));
    assert_null(st_problem_host_name(t, &usual));
    assert_string_equal(st_problem_host_name(t, &other), "{kind}_of_{T}");
    assert_string_equal(st_problem_host_list(t, &usual)->names[1], "flags");
    assert_string_equal(st_problem_host_list(t, &other)->names[3], "limit");
    assert_int_equal(st_problem_scalar_type(t, &other, &t->scalars[0]), ST_F16);
    st_template_free(t);
}

// Of the lines of `fill` the first that holds, for the problem.
static void test_fill_lines(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *fill;
        int64_t arguments;
    } cases[] = {{"T=f16 kind=less percent=1 pattern=random n=1000", "zero", 0},
                 {"T=f16 kind=flagged percent=1 pattern=random n=1000", "nonzero", 2},
                 {"T=f16 kind=flagged percent=50 pattern=random n=1000", "distinct", 0}};
    st_template *t = load(whole);
    st_config config;
    st_config_default(t, &config);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_problem problem = problem_of(t, cases[i].problem);
        st_bindings bindings;
        st_plan_buffer *buffers = NULL;
        assert_int_equal(st_bindings_make(t, &problem, &config, &device, &bindings, NULL), ST_OK);
        assert_int_equal(st_plan_buffers(&bindings, 0, &buffers, NULL), ST_OK);
        assert_string_equal(buffers[4].fill, cases[i].fill);
        assert_int_equal(buffers[4].fill_value_count, cases[i].arguments);
        if (cases[i].arguments) {
            assert_int_equal(buffers[4].fill_values[0], 1);
            assert_int_equal(buffers[4].fill_values[1], 1);
        }
        st_free(buffers);
        st_bindings_release(&bindings);
    }
    st_template_free(t);
}

// What a worker is told: fills with numbers, scalars as arguments, derives behind the references.
static void test_plans(void **state)
{
    (void)state;
    st_template *t = load(whole);
    st_problem problem = problem_of(t, "T=f16 kind=flagged percent=1 pattern=data_of_users n=1000");
    st_config config;
    st_bindings bindings;
    st_plan_buffer *buffers = NULL;
    st_plan_kernels references, derives, kernels;
    st_plan plan;
    char *const lowered[] = {"a", "b"};
    int(*in_places)[2] = NULL;
    size_t count;
    st_config_default(t, &config);
    assert_int_equal(st_bindings_make(t, &problem, &config, &device, &bindings, NULL), ST_OK);
    assert_int_equal(st_plan_buffers(&bindings, 1, &buffers, NULL), ST_OK);
    assert_string_equal(buffers[0].fill, "below");
    assert_int_equal(buffers[0].fill_value_count, 3);
    assert_int_equal(buffers[0].fill_values[0], 1);
    assert_int_equal(buffers[0].fill_values[1], 8);
    assert_int_equal(buffers[0].fill_values[2], 24);
    assert_string_equal(buffers[1].fill, "flags");
    assert_string_equal(buffers[4].fill, "distinct"); // no line of `rest` holds
    assert_int_equal(buffers[7].role, ST_BUFFER_DERIVED);
    assert_int_equal(buffers[7].misalign, 0);

    assert_int_equal(st_plan_kernels_make(&bindings, t->steps, t->step_count, lowered, &kernels, NULL), ST_OK);
    assert_int_equal(st_plan_make(&bindings, t->steps, t->step_count, &kernels, &plan, NULL), ST_OK);
    assert_int_equal(plan.steps[0].arguments[2].buffer, -1);
    assert_int_equal(plan.steps[0].arguments[2].type, ST_F16);
    assert_int_equal(plan.steps[0].arguments[2].value, 24);
    st_plan_release(&plan);
    st_plan_kernels_release(&kernels);

    // The default takes no derive, but its kernel is there for those that do.
    assert_int_equal(st_plan_plain_kernels(&bindings, lowered, &references, &derives, NULL), ST_OK);
    assert_int_equal(references.count, 1);
    assert_int_equal(derives.count, 1);
    assert_string_equal(derives.kernels[0].lowered, "b");
    assert_int_equal(derives.launch_kernel[0], 1);
    assert_int_equal(st_plan_make(&bindings, t->derives, t->derive_count, &derives, &plan, NULL), ST_OK);
    assert_int_equal(plan.step_count, 0);
    st_plan_release(&plan);
    assert_int_equal(st_plan_in_places(&bindings, &in_places, &count, NULL), ST_OK);
    assert_int_equal(count, 1);
    assert_int_equal(in_places[0][0], 0);
    assert_int_equal(in_places[0][1], 2);
    st_free(in_places);
    st_bindings_release(&bindings);

    config.value[0] = t->parameters[0].values[0].number; // METHOD=any
    assert_int_equal(st_bindings_make(t, &problem, &config, &device, &bindings, NULL), ST_OK);
    assert_int_equal(st_plan_make(&bindings, t->derives, t->derive_count, &derives, &plan, NULL), ST_OK);
    assert_int_equal(plan.step_count, 1);
    assert_int_equal(plan.steps[0].kernel, 1);
    assert_int_equal(st_plan_in_places(&bindings, &in_places, &count, NULL), ST_OK);
    assert_int_equal(count, 0);
    st_free(in_places);
    // Moved by one f16: the alignment is 2, of bytes 1, of u64 8.
    st_plan_align(&bindings, 1);
    assert_int_equal(bindings.values[t->buffers[0].align_slot], 2);
    assert_int_equal(bindings.values[t->buffers[1].align_slot], 1);
    assert_int_equal(bindings.values[t->buffers[3].align_slot], 8);
    assert_int_equal(bindings.values[t->buffers[5].align_slot], 256); // expected: not moved
    st_plan_release(&plan);
    st_plan_kernels_release(&references);
    st_plan_kernels_release(&derives);
    st_free(buffers);
    st_bindings_release(&bindings);
    st_template_free(t);
}

// Without any list that holds: inputs, outputs, scalars, sizes; axes of the data are no arguments.
static void test_usual_arguments(void **state)
{
    (void)state;
    st_template *t = load("// simtune: family f\n// simtune: axis n = 1\n// simtune: axis p = 1 2 data\n"
                          "// simtune: scalar s : f32 = 2\n// simtune: buffer o : output f32[n] i : input f32[n]\n"
                          "// simtune: launch k grid=1 block=1 args=i,o,s,n\n"
                          "// simtune: host_args n,o,i,s when p == 2\n");
    static const char *const order[] = {"i", "o", "s", "n"};
    st_problem problem = problem_of(t, "n=1 p=1");
    const st_host_list *list = st_problem_host_list(t, &problem);
    assert_int_equal(list->count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(list->names[i], order[i]);
    st_template_free(t);
}

#define HEAD "// simtune: family f\n// simtune: axis n = 1\n// simtune: param P = 1 2\n// simtune: default P=1\n"
#define TAIL "\n// simtune: launch k grid=1 block=1 args=n\n"
#define BUFFERS "buffer i : input f32[n]  o : output f32[n]\n// simtune: "
static const struct {
    const char *line, *what, *remedy;
} mistakes[] = {
    {"axis T = f32 f64 data", "t.cu:5: the type axis `T` is known to callers", "Remove `data`"},
    {"problem P == 1", "t.cu:5: `problem` cannot depend on `P`", "axes and facts"},
    {"let a = P + 1\n// simtune: problem a == 1", "`problem` cannot depend on `a`", ""},
    {"prune BLOCKS_PER_SM > 1", "`prune` cannot depend on BLOCKS_PER_SM", "where"},
    {"buffer i : input f32[n] fill flag(1, 1)", "unknown fill `flag`", "Did you mean `flags`?"},
    {"buffer i : input u8[n] fill flags", "t.cu:5: too few arguments: write `fill flags(PERCENT, RUN)`", ""},
    {"buffer i : input u8[n] fill flags(1, 2, 3)", "too many arguments: write `fill flags(PERCENT, RUN)`", ""},
    {"buffer i : input u8[n] fill flags(1, 2", "`fill flags(` has no end", ""},
    {"buffer i : input u8[n] fill flags(1, P)", "a fill cannot depend on `P`", ""},
    {"buffer i : input f32[n] fill flags(1, 1)", "`fill flags` is for u8, and `i` is of type f32", ""},
    {"buffer i : input u8[n] fill offsets(n)", "`fill offsets` is for u32 u64", ""},
    {"buffer i : temp f32[n] fill distinct", "`i` is neither input nor inout", ""},
    {"buffer i : input f32[n] fill zero(1)", "too many arguments", ""},
    {"fill i distinct", "no buffer `i`", "fill BUFFER FILL when"},
    {BUFFERS "fill i", "`fill` without a word", ""},
    {BUFFERS "fill i distinct zero", "`zero` behind the fill", ""},
    {BUFFERS "fill i flags(1, 1)", "`fill flags` is for u8, and `i` is of type f32", ""},
    {BUFFERS "fill i nonzero(P, 1)", "a fill cannot depend on `P`", ""},
    {BUFFERS "fill i nonzero(1, 1) when P == 1", "`fill` cannot depend on `P`", "axes only"},
    {BUFFERS "fill o distinct", "`o` is neither input nor inout", ""},
    {BUFFERS "fill i zero\n// simtune: fill i distinct", "t.cu:7: line 6, which always holds", "last"},
    {"scalar s = 3", "`s = 3` is no scalar", "scalar NAME : TYPE = EXPRESSION"},
    {"scalar s : f33 = 3", "unknown type `f33` of the scalar `s`", ""},
    {"scalar s : f32 = P", "a scalar cannot depend on `P`", ""},
    {"scalar n : f32 = 3", "the scalar `n` has the name of something else", ""},
    {"buffer s : input f32[n]\n// simtune: scalar S : f32 = 3", "t.cu:6: the scalar `S` has the name", ""},
    {BUFFERS "in_place i", "`i` are not two buffers", "in_place INPUT OUTPUT"},
    {BUFFERS "in_place o i", "`o` and `i` cannot be the same memory", ""},
    {BUFFERS "in_place i o when BLOCKS_PER_SM > 1", "the promise must be known", ""},
    {BUFFERS "derive d grid=1 block=1 args=o", "without a reference", ""},
    {"buffer d : derived f32[n]  e : expected f32[n]\n// simtune: reference r grid=1 block=1 args=e",
     "nothing fills the derived buffer `d`", "derive"},
    {"determinism default some", "unknown level `default some`", ""},
    {"determinism default none when P == 1", "`determinism default` cannot depend on `P`", "axes only"},
    {"host_args n when P == 1", "`host_args` cannot depend on `P`", ""},
    {"host_args n when CC > 80", "`host_args` cannot depend on `CC`", ""},
    {"host_args n\n// simtune: host_args n", "t.cu:6: line 5, which always holds", "last"},
    {"host_args x when n == 1", "`x` cannot stand here", ""},
    {"axis m = 2\n// simtune: host_args n when n == 1", "t.cu:6: `host_args` lacks the size `m`", ""},
    {"axis d = 1 data\n// simtune: host_args n,d", "`d` cannot stand here", ""},
    {"axis d = 1 2 data\n// simtune: launch k grid=d block=1 args=n", "t.cu:6: what runs depends on `d`", ""},
    {"axis d = 1 2 data\n// simtune: let m = d + 1\n// simtune: buffer b : temp f32[m]",
     "the size of `b` depends on `d`", ""},
    {"host_name a-b", "`a-b` is no name of a host function", ""},
    {"host_name {n}_x", "{n} is no axis that can stand in a name", ""},
    {"host_name {x", "is no axis", ""},
    {"host_name a\n// simtune: host_name b", "t.cu:6: line 5, which always holds", ""},
};

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        st_template *t = NULL;
        st_error error = {0};
        char *text = st_format("%s// simtune: %s%s", HEAD, mistakes[i].line, TAIL);
        st_code code = st_template_parse("t.cu", text, strlen(text), &t, &error);
        if (code != ST_USAGE || !strstr(error.what, mistakes[i].what) || !strstr(error.remedy, mistakes[i].remedy))
            fail_msg("%s: %d %s | %s", mistakes[i].line, code, error.what, error.remedy);
        assert_null(t);
        st_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_problems), cmocka_unit_test(test_fill_lines), cmocka_unit_test(test_plans),
                                       cmocka_unit_test(test_usual_arguments), cmocka_unit_test(test_mistakes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
