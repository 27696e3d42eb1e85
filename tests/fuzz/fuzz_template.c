// SPDX-License-Identifier: Apache-2.0
// Templates (st_template_parse): the input is the file. What is refused names the file; what is accepted must
// stand all that is done with a template: its default and its problem as text and back, its space, which
// must hold exactly the configurations that its constraints allow one by one, its plan, its program, its
// header and its repro.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/gpu.h"
#include "tuner/plan.h"
#include "tuner/space.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COMBINATIONS_MOST = 256, CHOICES_MOST = 2 };
static const char path[] = "/nowhere/fuzz.cu";

static st_device_facts facts;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    st_error error = {0};
    (void)argc, (void)argv;
    st_json_setup();
    FUZZ_MUST(st_gpu_backend("emu")->facts(0, &facts, &error) == ST_OK, "%s", error.what);
    return 0;
}

static void first_problem(const st_template *tmpl, st_problem *problem)
{
    st_error error = {0};
    st_problem again;
    st_text text;
    memset(problem, 0, sizeof *problem);
    for (size_t i = 0; i < tmpl->axis_count; i++)
        problem->value[i] = tmpl->axes[i].values[0].number;
    st_text_init(&text);
    st_problem_text(tmpl, problem, &text);
    st_code code = st_problem_parse(tmpl, st_text_string(&text), &again, &error);
    FUZZ_MUST(code == ST_OK && memcmp(problem, &again, sizeof again) == 0,
              "the problem `%s` is refused: %s", st_text_string(&text), error.what);
    st_text_release(&text);
}

static void check_default(const st_template *tmpl, st_config *config)
{
    st_error error = {0};
    st_config again;
    st_text text;
    st_text_init(&text);
    st_config_default(tmpl, config);
    st_config_text(tmpl, config, &text);
    st_code code = st_config_parse(tmpl, st_text_string(&text), &again, &error);
    FUZZ_MUST(code == ST_OK && st_config_equal(tmpl, config, &again),
              "the default `%s` is refused: %s", st_text_string(&text), error.what);
    st_text_release(&text);
}

// --- the space ---------------------------------------------------------------------------------------------
static double combinations(const st_template *tmpl)
{
    double product = 1;
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        product *= (double)tmpl->parameters[i].value_count;
    return product;
}

static void nth_config(const st_template *tmpl, size_t n, st_config *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < tmpl->parameter_count; i++) {
        const st_parameter *parameter = &tmpl->parameters[i];
        out->value[i] = parameter->values[n % parameter->value_count].number;
        n /= parameter->value_count;
    }
}

// Whether the constraints that can be known before compiling allow it; *fails when one cannot be evaluated.
static bool is_allowed(const st_template *tmpl, const st_problem *problem, const st_config *config,
                       bool *fails)
{
    st_bindings bindings;
    bool allowed = true;
    if (st_bindings_make(tmpl, problem, config, &facts, &bindings, NULL) != ST_OK) {
        *fails = true;
        return false;
    }
    for (size_t i = 0; i < tmpl->where_count; i++) {
        int64_t value = 1;
        if (st_expression_is_late(tmpl->wheres[i], &tmpl->scope))
            continue;
        if (st_bindings_evaluate(&bindings, tmpl->wheres[i], 1, &value, NULL) != ST_OK)
            *fails = true;
        allowed = allowed && value;
    }
    for (size_t i = 0; i < tmpl->prune_count; i++) { // no parameter's values were named
        int64_t value = 1;
        if (st_bindings_evaluate(&bindings, tmpl->prunes[i], 1, &value, NULL) != ST_OK)
            *fails = true;
        allowed = allowed && value;
    }
    st_bindings_release(&bindings);
    return allowed;
}

static void check_space(const st_template *tmpl, const st_problem *problem)
{
    size_t total = (size_t)combinations(tmpl), allowed = 0;
    bool fails = false;
    st_error error = {0};
    st_space *space = NULL;
    st_code code = st_space_open(tmpl, problem, &facts, NULL, &space, &error);
    if (code)
        fuzz_check_error(code, &error);
    for (size_t i = 0; i < total; i++) {
        st_config config;
        nth_config(tmpl, i, &config);
        bool here = is_allowed(tmpl, problem, &config, &fails);
        allowed += here;
        if (fails)
            break;
        FUZZ_MUST(code || here == (st_space_find(space, &config) >= 0),
                  "configuration %zu is%s allowed, and the space says otherwise", i,
                  here ? "" : " not");
    }
    if (!fails) {
        FUZZ_MUST(code == ST_OK || code == ST_NOTHING, "no constraint fails, but the space: %s",
                  error.what);
        FUZZ_MUST(allowed == (code ? 0 : st_space_count(space)),
                  "%zu are allowed, the space has %zu", allowed, code ? 0 : st_space_count(space));
    }
    if (space)
        st_space_close(space);
}

// --- what is made of it ------------------------------------------------------------------------------------
static void check_plan(const st_template *tmpl, const st_problem *problem, const st_config *config,
                       char *const *names, size_t name_count)
{
    st_error error = {0};
    st_bindings bindings;
    st_plan_kernels kernels = {0};
    st_plan plan = {0};
    st_plan_buffer *buffers = NULL;
    st_plan_compare *compares = NULL;
    size_t count = 0;
    bool deterministic;
    (void)name_count;
    if (st_bindings_make(tmpl, problem, config, &facts, &bindings, &error) != ST_OK)
        return;
    st_code code =
        st_plan_kernels_make(&bindings, tmpl->steps, tmpl->step_count, names, &kernels, &error);
    if (!code)
        code = st_bindings_late(&bindings, 2, &error);
    if (!code)
        code = st_plan_make(&bindings, tmpl->steps, tmpl->step_count, &kernels, &plan, &error);
    if (!code)
        code = st_plan_buffers(&bindings, 1, &buffers, &error);
    if (!code)
        code = st_plan_compares(&bindings, &compares, &count, &error);
    if (!code)
        code = st_bindings_deterministic(&bindings, &deterministic, &error);
    if (code) {
        fuzz_check_error(code, &error);
    } else {
        // What the tuner would send is what a worker takes.
        st_plan again;
        json_t *json = st_plan_encode(&plan);
        code = st_plan_decode(json, tmpl->buffer_count, kernels.count, &again, &error);
        FUZZ_MUST(code == ST_OK, "a worker refuses the plan: %s", error.what);
        st_plan_release(&again);
        json_decref(json);
    }
    st_free(buffers);
    st_free(compares);
    st_plan_release(&plan);
    st_plan_kernels_release(&kernels);
    st_bindings_release(&bindings);
}

// References, derives and promises, on buffers that are off their alignment; what a worker takes.
static void check_plain_plan(const st_template *tmpl, const st_problem *problem, const st_config *config,
                             char *const *names)
{
    st_error error = {0};
    st_bindings bindings;
    st_plan_kernels references = {0}, derives = {0};
    st_plan plan = {0};
    st_plan_buffer *buffers = NULL, *again = NULL;
    int(*pairs)[2] = NULL;
    size_t count = 0;
    if (st_bindings_make(tmpl, problem, config, &facts, &bindings, &error) != ST_OK)
        return;
    st_plan_align(&bindings, ST_MISALIGN_INPUTS | 1);
    st_code code = st_bindings_late(&bindings, 1, &error);
    if (!code)
        code = st_plan_plain_kernels(&bindings, names, &references, &derives, &error);
    if (!code)
        code = st_plan_make(&bindings, tmpl->derives, tmpl->derive_count, &derives, &plan, &error);
    if (!code)
        code = st_plan_in_places(&bindings, &pairs, &count, &error);
    if (!code)
        code = st_plan_buffers(&bindings, ST_MISALIGN_OUTPUTS | 1, &buffers, &error);
    if (code) {
        fuzz_check_error(code, &error);
    } else {
        json_t *json = st_plan_buffers_encode(buffers, tmpl->buffer_count);
        code = st_plan_buffers_decode(json, &again, &count, &error);
        FUZZ_MUST(code == ST_OK && count == tmpl->buffer_count, "a worker refuses the buffers: %s", error.what);
        json_decref(json);
    }
    st_free(again);
    st_free(buffers);
    st_free(pairs);
    st_plan_release(&plan);
    st_plan_kernels_release(&references);
    st_plan_kernels_release(&derives);
    st_bindings_release(&bindings);
}

static void check_program(const st_template *tmpl, const st_problem *problem,
                          const st_config *config)
{
    st_error error = {0};
    st_program program;
    st_code code = st_program_make(tmpl, problem, config, 1, &program, &error);
    if (code) {
        fuzz_check_error(code, &error);
        return;
    }
    check_plan(tmpl, problem, config, program.kernels, program.kernel_count);
    st_program_release(&program);
    code = st_reference_program_make(tmpl, problem, &program, &error);
    if (code)
        fuzz_check_error(code, &error);
    else {
        check_plain_plan(tmpl, problem, config, program.kernels);
        st_program_release(&program);
    }
}

// What the directives say of a problem: always an answer.
static void check_problem(const st_template *tmpl, const st_problem *problem)
{
    const st_expression *rule = st_problem_broken_rule(tmpl, problem, &facts);
    FUZZ_MUST(!rule || tmpl->problem_rule_count, "a rule is broken that is not there");
    FUZZ_MUST(!st_problem_default_none(tmpl, problem) || tmpl->default_none_count, "a default is not there");
    const st_host_list *list = st_problem_host_list(tmpl, problem);
    FUZZ_MUST(list >= tmpl->host_lists && list < tmpl->host_lists + tmpl->host_list_count, "no list of arguments holds");
    for (size_t i = 0; i < tmpl->scalar_count; i++)
        FUZZ_MUST(st_problem_scalar_type(tmpl, problem, &tmpl->scalars[i]) < ST_TYPE_COUNT, "a scalar has no type");
    const char *pattern = st_problem_host_name(tmpl, problem);
    FUZZ_MUST(!pattern || *pattern, "an empty name");
}

static void check_emission(const st_template *tmpl, const st_problem *problem,
                           const st_config *config)
{
    static const st_emit_options options = {.cache = "cold", .command = "fuzz"};
    st_choice choices[CHOICES_MOST];
    st_error error = {0};
    st_text text;
    memset(choices, 0, sizeof choices);
    for (int i = 0; i < CHOICES_MOST; i++) {
        st_choice *choice = &choices[i];
        choice->problem = *problem;
        choice->config = *config;
        choice->device_class = (st_device_class){i ? 80 : 90, i ? 108 : 132};
        choice->blocks_per_sm = 2;
        choice->memory_bytes = -1;
        choice->median_ns = 1000;
        choice->speedup = choice->speedup_low = choice->speedup_high = choice->gbs = NAN;
        snprintf(choice->template_hash, sizeof choice->template_hash, "%s", tmpl->hash);
    }
    st_text_init(&text);
    st_code code = st_emit_header(tmpl, choices, CHOICES_MOST, &options, &text, &error);
    if (code)
        fuzz_check_error(code, &error);
    st_text_clear(&text);
    code = st_emit_repro(tmpl, choices, &facts, &text, &error);
    if (code)
        fuzz_check_error(code, &error);
    st_text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_error error = {0};
    st_template *tmpl = NULL;
    st_problem problem;
    st_config config;
    st_code code = st_template_parse(path, (const char *)data, size, &tmpl, &error);
    if (code) {
        fuzz_check_error(code, &error);
        FUZZ_MUST(strstr(error.what, "fuzz.cu"), "the message names no file: %s", error.what);
        return 0;
    }
    first_problem(tmpl, &problem);
    check_default(tmpl, &config);
    if (combinations(tmpl) <= COMBINATIONS_MOST)
        check_space(tmpl, &problem);
    check_problem(tmpl, &problem);
    check_program(tmpl, &problem, &config);
    check_emission(tmpl, &problem, &config);
    st_template_free(tmpl);
    return 0;
}
