// SPDX-License-Identifier: Apache-2.0
// Predicting one problem: candidates → compiled for the arch → what spills or cannot be launched dropped → ranked.
// Invariants: 1. the choice depends on the options and on what was measured alone, never on how fast something compiled;
// 2. the default is always among the candidates; 3. a configuration is taken only when its code was compiled for the arch.
#include "tuner/predict_internal.h"

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"
#include "tuner/gpu/compile.h"
#include "tuner/gpu/occupancy.h"
#include "tuner/plan.h"
#include "tuner/space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 4000, CONFIGS_A_PROGRAM = 8, ASSUMED_REGISTERS = 48 };
typedef struct tried {
    st_config config;
    double guess;          // before compiling; orders what is compiled
    bool compiled, spills;
    int registers, static_smem, blocks_per_sm; // of the main kernel; blocks 0: some launch fits no SM
    uint32_t dynamic_smem, block;
    double ns;             // NaN: out
} tried;

typedef struct predicting {
    const st_predict_options *options;
    const st_template *tmpl;
    st_device_facts device;
    double bandwidth;
    char arch[16], compiler[48];
    st_pool *pool;
    uint64_t serial;
} predicting;

// --- candidates ------------------------------------------------------------------------------------------------------

// Threads and shared memory of the first launch, as the plan has them; false: the configuration cannot be.
static bool first_launch(const predicting *it, const st_problem *problem, const st_config *config, uint32_t *block,
                         uint32_t *smem)
{
    st_bindings bindings = {0};
    st_plan_kernels kernels = {0};
    char *names[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        names[i] = (char *)(uintptr_t)"kernel";
    st_code code = st_bindings_make(it->tmpl, problem, config, &it->device, &bindings, NULL);
    if (code == ST_OK)
        code = st_plan_kernels_make(&bindings, it->tmpl->steps, it->tmpl->step_count, names, &kernels, NULL);
    bool fine = code == ST_OK && kernels.count;
    if (fine) {
        *block = kernels.kernels[0].block;
        *smem = kernels.kernels[0].smem;
    }
    st_plan_kernels_release(&kernels);
    st_bindings_release(&bindings);
    return fine;
}

// The model before anything is compiled, with usual registers.
static double guess(const predicting *it, const st_problem *problem, const st_config *config)
{
    uint32_t block, smem;
    double ns;
    if (!first_launch(it, problem, config, &block, &smem))
        return NAN;
    int blocks = st_occupancy_blocks(&it->device, (int)block, ASSUMED_REGISTERS, smem);
    const st_static_facts facts = {ASSUMED_REGISTERS, blocks > 0 ? blocks : 1, it->bandwidth};
    return st_predict_ns(it->tmpl, problem, config, &it->device, &facts, &ns, NULL) == ST_OK ? ns : NAN;
}

static int by_guess(const void *left, const void *right)
{
    const tried *a = left, *b = right;
    return (a->guess > b->guess) - (a->guess < b->guess);
}

// The neighbour's fastest that the device allows.
static void take_neighbours(const predicting *it, const st_space *space, size_t neighbour, const st_problem *problem,
                            tried *list, size_t *count)
{
    predict_span span = predict_rows_of(it->tmpl, it->options->measured, neighbour, problem);
    for (size_t i = span.first; i < span.first + span.count && *count < ST_PREDICT_COMPILED; i++) {
        const st_config *config = &it->options->measured->rows[i].config;
        bool known = st_space_find(space, config) < 0;
        for (size_t k = 0; k < *count && !known; k++)
            known = st_config_equal(it->tmpl, &list[k].config, config);
        if (!known)
            list[(*count)++] = (tried){.config = *config};
    }
}

// The best of the space by the guess; of a large space a sample that the seed fixes.
static st_code take_space(const predicting *it, const st_space *space, const st_problem *problem, tried *list,
                          size_t *count, st_error *error)
{
    size_t all = st_space_count(space), looked = all < LOOKED_AT ? all : LOOKED_AT, kept = 0;
    size_t *order = st_malloc((all ? all : 1) * sizeof *order);
    tried *seen = st_calloc(looked ? looked : 1, sizeof *seen);
    if (!order || !seen) {
        st_free(order);
        st_free(seen);
        return st_fail_memory(error, "predicting");
    }
    st_random random;
    st_random_seed(&random, it->options->seed);
    for (size_t i = 0; i < all; i++)
        order[i] = i;
    if (all > looked)
        st_random_shuffle(&random, order, all);
    for (size_t i = 0; i < looked; i++) {
        st_space_config(space, order[i], &seen[kept].config);
        seen[kept].guess = guess(it, problem, &seen[kept].config);
        kept += !isnan(seen[kept].guess);
    }
    qsort(seen, kept, sizeof *seen, by_guess);
    for (size_t i = 0; i < kept && *count < ST_PREDICT_COMPILED; i++)
        list[(*count)++] = seen[i];
    st_free(order);
    st_free(seen);
    return ST_OK;
}

static void take_default(const predicting *it, const st_space *space, tried *list, size_t *count)
{
    st_config standard;
    st_config_default(it->tmpl, &standard);
    if (st_space_find(space, &standard) < 0 && !st_space_only_pruned(space, &standard))
        return;
    for (size_t i = 0; i < *count; i++)
        if (st_config_equal(it->tmpl, &list[i].config, &standard))
            return;
    list[(*count)++] = (tried){.config = standard};
}

// --- compiling -------------------------------------------------------------------------------------------------------

static st_code submit(predicting *it, const st_problem *problem, const tried *list, size_t count, st_error *error)
{
    st_config configs[CONFIGS_A_PROGRAM];
    st_program text = {0};
    for (size_t i = 0; i < count; i++)
        configs[i] = list[i].config;
    st_code code = st_program_make(it->tmpl, problem, configs, count, &text, error);
    st_source_text *includes =
        code == ST_OK ? st_calloc(text.includes.count ? text.includes.count : 1, sizeof *includes) : NULL;
    if (code == ST_OK && !includes)
        code = st_fail_memory(error, "compiling");
    for (size_t i = 0; i < text.includes.count && code == ST_OK; i++)
        includes[i] = (st_source_text){text.includes.items[i].name, text.includes.items[i].text};
    const st_compile_job job = {.id = it->serial,
                                .backend = "cuda",
                                .arch = it->arch,
                                .file_name = st_text_file_name(it->tmpl->path),
                                .source = st_text_string(&text.source),
                                .includes = includes,
                                .include_count = text.includes.count,
                                .options = (const char *const *)text.options,
                                .option_count = text.option_count,
                                .kernels = (const char *const *)text.kernels,
                                .kernel_count = text.kernel_count};
    if (code == ST_OK)
        code = st_pool_submit(it->pool, &job, error);
    st_free(includes);
    st_program_release(&text);
    return code;
}

static void take_kernel(tried *one, const st_load_kernel *kernel, int registers, int smem, int blocks)
{
    one->registers = registers;
    one->static_smem = smem;
    one->dynamic_smem = kernel->smem;
    one->block = kernel->block;
    one->blocks_per_sm = blocks;
}

// What the assembler says of every kernel that the configuration launches.
static st_code take_facts(const predicting *it, const st_problem *problem, const st_compiled *compiled, size_t index,
                          tried *one, st_error *error)
{
    st_bindings bindings = {0};
    st_plan_kernels kernels = {0};
    st_plan plan = {0};
    size_t launches = 0;
    bool fits = true;
    int registers[ST_PLAN_KERNELS_MOST], smem[ST_PLAN_KERNELS_MOST], blocks[ST_PLAN_KERNELS_MOST];
    for (size_t i = 0; i < it->tmpl->step_count; i++)
        launches += it->tmpl->steps[i].kind == ST_STEP_LAUNCH;
    st_code code = st_bindings_make(it->tmpl, problem, &one->config, &it->device, &bindings, error);
    if (code == ST_OK)
        code = st_plan_kernels_make(&bindings, it->tmpl->steps, it->tmpl->step_count,
                                    compiled->lowered_names + index * launches, &kernels, error);
    one->compiled = code == ST_OK && kernels.count && kernels.count <= ST_PLAN_KERNELS_MOST;
    for (size_t i = 0; i < kernels.count && one->compiled; i++) {
        const st_load_kernel *kernel = &kernels.kernels[i];
        int spill = 0;
        one->compiled = st_compile_kernel_facts(compiled->log, kernel->lowered, &registers[i], &spill, &smem[i]);
        if (!one->compiled)
            break;
        blocks[i] = st_occupancy_blocks(&it->device, (int)kernel->block, registers[i],
                                        (int64_t)kernel->smem + (smem[i] > 0 ? smem[i] : 0));
        one->spills = one->spills || spill > 0;
        fits = fits && blocks[i] > 0;
    }
    if (one->compiled) {
        code = st_bindings_late(&bindings, blocks[0] > 0 ? blocks[0] : 1, error);
        if (code == ST_OK)
            code = st_plan_make(&bindings, it->tmpl->steps, it->tmpl->step_count, &kernels, &plan, error);
        int main = code == ST_OK ? st_plan_main_kernel(it->tmpl, &plan) : -1;
        size_t of = main > 0 ? (size_t)main : 0;
        one->compiled = code == ST_OK;
        take_kernel(one, &kernels.kernels[of], registers[of], smem[of], fits ? blocks[of] : 0);
    }
    st_plan_release(&plan);
    st_plan_kernels_release(&kernels);
    st_bindings_release(&bindings);
    return code == ST_NOTHING ? ST_OK : code; // a plan that cannot be: not compiled, so out
}

static st_code await(predicting *it, st_compiled *out, st_error *error)
{
    for (bool got = false; !got;) {
        if (it->options->interrupted && *it->options->interrupted)
            return st_fail(error, ST_INTERRUPTED, NULL, "interrupted");
        st_code code = st_pool_next(it->pool, 0.5, out, &got, error);
        if (code != ST_OK)
            return code;
    }
    snprintf(it->compiler, sizeof it->compiler, "%s", out->compiler);
    return ST_OK;
}

// Programs of several configurations at once; what does not compile together is compiled one by one. Ids count from
// it->serial, so results are told apart in whatever order they come.
static st_code compile_all(predicting *it, const st_problem *problem, tried *list, size_t count, size_t at_once,
                           st_error *error)
{
    st_code code = ST_OK;
    uint64_t first = it->serial;
    size_t programs = 0;
    for (size_t i = 0; i < count && code == ST_OK; i += at_once, programs++) {
        code = submit(it, problem, &list[i], count - i < at_once ? count - i : at_once, error);
        it->serial++;
    }
    for (size_t p = 0; p < programs && code == ST_OK; p++) {
        st_compiled compiled;
        code = await(it, &compiled, error);
        if (code != ST_OK)
            break;
        size_t start = (size_t)(compiled.id - first) * at_once;
        for (size_t i = start; i < start + at_once && i < count && code == ST_OK; i++)
            if (compiled.outcome == ST_COMPILED)
                code = take_facts(it, problem, &compiled, i - start, &list[i], error);
        st_compiled_release(&compiled);
    }
    for (size_t i = 0; i < count && at_once > 1 && code == ST_OK; i++)
        if (!list[i].compiled)
            code = compile_all(it, problem, &list[i], 1, 1, error);
    return code;
}

// --- choosing --------------------------------------------------------------------------------------------------------

static void rank(const predicting *it, const st_problem *problem, size_t neighbour, tried *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tried *one = &list[i];
        one->ns = NAN;
        if (!one->compiled || one->spills || one->blocks_per_sm < 1)
            continue;
        const st_static_facts facts = {one->registers, one->blocks_per_sm, it->bandwidth};
        if (st_predict_ns(it->tmpl, problem, &one->config, &it->device, &facts, &one->ns, NULL) != ST_OK)
            one->ns = NAN;
        else if (neighbour != SIZE_MAX)
            one->ns = predict_by_neighbour(it->tmpl, it->options->measured, neighbour, problem, &one->config, one->ns);
    }
}

static const tried *choose(const st_template *tmpl, const tried *list, size_t count, bool ranked)
{
    predict_entry entries[ST_PREDICT_COMPILED + 1];
    for (size_t i = 0; i < count; i++)
        entries[i] = (predict_entry){&list[i].config, list[i].registers, list[i].ns};
    size_t picked = predict_pick(tmpl, entries, count, ranked);
    return picked == SIZE_MAX ? NULL : &list[picked];
}

static st_code describe(const predicting *it, const st_problem *problem, size_t neighbour, const tried *list, size_t count,
                        st_prediction *out, st_error *error)
{
    const tried *chosen = choose(it->tmpl, list, count, neighbour != SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        out->compiled += list[i].compiled;
        out->failed += !list[i].compiled;
        out->spilled += list[i].compiled && list[i].spills;
        out->impossible += list[i].compiled && !list[i].spills && list[i].blocks_per_sm < 1;
    }
    if (!chosen)
        return st_fail(error, ST_NOTHING, "tune on such a device",
                       "of %zu configurations %zu do not compile for %s, %zu spill and %zu fit no SM", count, out->failed,
                       it->arch, out->spilled, out->impossible);
    st_bindings bindings = {0};
    int64_t bytes = -1;
    st_choice *choice = &out->choice;
    *choice = (st_choice){.problem = *problem, .config = chosen->config, .device_class = it->options->device_class,
                          .blocks_per_sm = chosen->blocks_per_sm, .memory_bytes = it->device.memory_bytes,
                          .measured_ms = -1, .median_ns = NAN, .speedup = NAN, .speedup_low = NAN,
                          .speedup_high = NAN, .gbs = NAN, .tied = 1, .predicted = true};
    snprintf(choice->device_name, sizeof choice->device_name, "%s", it->device.name);
    snprintf(choice->compiler, sizeof choice->compiler, "%s", it->compiler);
    snprintf(choice->template_hash, sizeof choice->template_hash, "%s", it->tmpl->hash);
    st_code code = st_bindings_make(it->tmpl, problem, &chosen->config, &it->device, &bindings, error);
    if (code == ST_OK)
        code = st_bindings_late(&bindings, chosen->blocks_per_sm, error);
    if (code == ST_OK)
        code = st_bindings_deterministic(&bindings, &choice->deterministic, error);
    if (code == ST_OK)
        code = st_bindings_evaluate(&bindings, it->tmpl->bytes, -1, &bytes, error);
    st_bindings_release(&bindings);
    out->bytes = bytes >= 0 ? (double)bytes : NAN;
    out->by = neighbour == SIZE_MAX ? NULL : &it->options->measured->devices[neighbour];
    out->registers = chosen->registers;
    out->static_smem = chosen->static_smem;
    out->dynamic_smem = chosen->dynamic_smem;
    out->occupancy = it->device.threads_per_sm > 0
                         ? (double)chosen->blocks_per_sm * chosen->block / (double)it->device.threads_per_sm
                         : NAN;
    snprintf(out->compiler, sizeof out->compiler, "%s", it->compiler);
    return code;
}

static st_code predict_problem(predicting *it, const st_problem *problem, st_prediction *out, st_error *error)
{
    tried list[ST_PREDICT_COMPILED + 1];
    size_t count = 0;
    st_space *space = NULL;
    const st_space_options wish = {.need_run_to_run = it->options->need_run_to_run, .unless_default_none = true};
    *out = (st_prediction){.bytes = NAN};
    st_code code = st_space_open(it->tmpl, problem, &it->device, &wish, &space, error);
    if (code != ST_OK)
        return code;
    size_t neighbour =
        predict_neighbour(it->tmpl, it->options->measured, &it->options->device_class, SIZE_MAX, problem);
    if (neighbour != SIZE_MAX)
        take_neighbours(it, space, neighbour, problem, list, &count);
    if (!count) { // what it has is not allowed here
        neighbour = SIZE_MAX;
        code = take_space(it, space, problem, list, &count, error);
        out->allowed = st_space_count(space);
    }
    take_default(it, space, list, &count);
    st_space_close(space);
    if (code == ST_OK)
        code = compile_all(it, problem, list, count, it->tmpl->is_config ? CONFIGS_A_PROGRAM : 1, error);
    if (code != ST_OK)
        return code;
    rank(it, problem, neighbour, list, count);
    return describe(it, problem, neighbour, list, count, out, error);
}

st_code st_predict(const st_predict_options *options, st_prediction_callback *callback, void *context, st_error *error)
{
    predicting it = {.options = options, .tmpl = options->tmpl};
    const st_pool_options pool = {.processes = options->compile_processes, .cache_folder = options->cache_folder,
                                  .first_limit = 60, .program = options->program};
    st_code code = predict_facts(&options->device_class, -1, &it.device, error);
    it.bandwidth = predict_bandwidth(&options->device_class, -1);
    snprintf(it.arch, sizeof it.arch, "sm_%d", options->device_class.cc);
    if (code == ST_OK)
        code = st_pool_open(&pool, &it.pool, error);
    for (size_t i = 0; i < options->problem_count && code == ST_OK; i++) {
        st_prediction made;
        st_error why = {0};
        if (st_problem_broken_rule(options->tmpl, &options->problems[i], &it.device))
            continue;
        code = predict_problem(&it, &options->problems[i], &made, &why);
        if (code == ST_OK || code == ST_NOTHING)
            code = callback(context, &options->problems[i], code == ST_OK ? &made : NULL, &why, error);
        else if (error)
            *error = why;
    }
    st_pool_close(it.pool);
    return code;
}
