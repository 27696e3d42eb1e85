// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. what the header ships is compiled from its own text (header_program.h), all else from the template;
// 2. the header's plan is made with the BLOCKS_PER_SM that stands in the header, as its host function makes it; 3. only
// sides that are right take part in the race; 4. a side whose code another side has already is not measured twice.
//
// It is a tuning run (run_internal.h) whose candidates are the sides: problems of one function are a group.
#include "tuner/verify.h"

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"
#include "tuner/emit_internal.h"
#include "tuner/run_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 60, SHORT_FACTOR = 5, EMULATED_ROUNDS = 8 };

typedef struct item_sides {
    bool present[ST_VERIFY_SIDES];
    int as[ST_VERIFY_SIDES];
    size_t candidate[ST_VERIFY_SIDES]; // index in the problem's candidates
} item_sides;

typedef struct verifying {
    const st_verify_options *options;
    st_run run;
    st_tune_options tune;
    st_tune_result result;
    st_problem *problems;
    item_sides *sides;
    st_verify_about *about;
    st_verify_callback *callback;
    void *context;
} verifying;

// --- sides ---------------------------------------------------------------------------------------------------------

static void add_side(verifying *it, size_t item, st_verify_side_kind kind, const st_config *config)
{
    run_problem *problem = &it->run.problems[item];
    item_sides *sides = &it->sides[item];
    run_candidate *candidate = &problem->candidates[problem->candidate_count];
    *candidate = (run_candidate){.config = *config, .outcome = ST_OUTCOME_SKIPPED, .main = {-1, -1, -1, -1, -1}};
    candidate->series[COLD].median_ns = candidate->series[WARM].median_ns = NAN;
    sides->present[kind] = true;
    sides->candidate[kind] = problem->candidate_count++;
}

// Template sides come first: run_group_compile makes the programs of all candidates that there are.
static void add_template_sides(verifying *it, size_t i)
{
    const st_verify_item *item = &it->options->items[i];
    const st_template *tmpl = it->options->tmpl;
    item_sides *sides = &it->sides[i];
    // NVRTC makes the same of the header's text and of the template's.
    int same = it->options->nvcc ? ST_VERIFY_NVRTC : ST_VERIFY_SHIPPED;
    st_config standard;
    st_config_default(tmpl, &standard);
    for (int kind = 0; kind < ST_VERIFY_SIDES; kind++)
        sides->as[kind] = -1;
    if (st_config_equal(tmpl, &standard, &item->row.choice->config))
        sides->as[ST_VERIFY_DEFAULT] = same;
    else
        add_side(it, i, ST_VERIFY_DEFAULT, &standard);
    if (!item->best)
        return;
    if (st_config_equal(tmpl, &item->best->config, &item->row.choice->config))
        sides->as[ST_VERIFY_STORE] = same;
    else if (st_config_equal(tmpl, &item->best->config, &standard))
        sides->as[ST_VERIFY_STORE] = ST_VERIFY_DEFAULT;
    else
        add_side(it, i, ST_VERIFY_STORE, &item->best->config);
}

static void add_header_sides(verifying *it, size_t i)
{
    const st_verify_item *item = &it->options->items[i];
    run_problem *problem = &it->run.problems[i];
    for (int kind = ST_VERIFY_SHIPPED; kind <= (it->options->nvcc ? ST_VERIFY_NVRTC : ST_VERIFY_SHIPPED); kind++) {
        add_side(it, i, (st_verify_side_kind)kind, &item->row.choice->config);
        problem->candidates[problem->candidate_count - 1].given_blocks = item->row.choice->blocks_per_sm;
    }
}

static st_code open_problems(verifying *it, st_error *error)
{
    size_t count = it->options->item_count;
    it->run.problems = st_calloc(count ? count : 1, sizeof *it->run.problems);
    it->sides = st_calloc(count ? count : 1, sizeof *it->sides);
    if (!it->run.problems || !it->sides)
        return st_fail_memory(error, "preparing problems");
    for (size_t i = 0; i < count; i++) {
        run_problem *problem = &it->run.problems[i];
        st_text text;
        st_text_init(&text);
        problem->problem = it->options->items[i].problem;
        problem->bytes = problem->best_ns[COLD] = problem->best_ns[WARM] = NAN;
        st_problem_text(it->options->tmpl, &problem->problem, &text);
        problem->text = st_text_take(&text);
        problem->candidates = st_calloc(ST_VERIFY_SIDES, sizeof *problem->candidates);
        if (!problem->text || !problem->candidates)
            return st_fail_memory(error, "preparing problems");
        st_config_default(it->options->tmpl, &problem->standard.config);
        problem->standard.main = (st_loaded_kernel){-1, -1, -1, -1, -1};
        add_template_sides(it, i);
    }
    return ST_OK;
}

// --- the header's programs -------------------------------------------------------------------------------------------

// The kernels of one structure, once for all items of the group that take it.
static st_code add_structure(verifying *it, size_t item, size_t *class_index, st_error *error)
{
    const st_verify_item *of = &it->options->items[item];
    char **names = NULL;
    size_t count = 0;
    st_compile_job job;
    st_code code = st_header_kernels(it->options->header, &of->row, &names, &count, error);
    if (code != ST_OK)
        return code;
    st_header_job(it->options->header, &job);
    job.kernels = (const char *const *)names;
    job.kernel_count = count;
    code = run_add_program(&it->run, &job, class_index, error);
    for (size_t i = 0; i < count; i++)
        st_free(names[i]);
    st_free(names);
    return code;
}

static bool same_structure(const st_verify_item *a, const st_verify_item *b)
{
    return a->function == b->function && a->row.structure == b->row.structure;
}

static st_code add_structures(verifying *it, size_t first, size_t count, st_verify_side_kind kind, st_error *error)
{
    const st_verify_item *items = it->options->items;
    st_code code = ST_OK;
    for (size_t i = first; i < first + count && code == ST_OK; i++) {
        run_candidate *candidate = &it->run.problems[i].candidates[it->sides[i].candidate[kind]];
        size_t known = first;
        while (known < i && !same_structure(&items[known], &items[i]))
            known++;
        if (known < i)
            candidate->class_index = it->run.problems[known].candidates[it->sides[known].candidate[kind]].class_index;
        else
            code = add_structure(it, i, &candidate->class_index, error);
    }
    return code;
}

// --- nvcc ------------------------------------------------------------------------------------------------------------

// A translation unit that uses the function as a user's does, so that nvcc makes all that a user's would have. The
// address of the function is enough. A header in two files: its .cu as it is.
static char *unit_of(const st_header_program *header, size_t function)
{
    if (st_header_is_split(header))
        return st_format("#define SIMTUNE_QUIET\n#include \"%s\"\n", st_header_file(header));
    return st_format("#define SIMTUNE_QUIET\n#include \"%s\"\n"
                     "decltype(&%s::%s<void>) simtune_verified = &%s::%s<void>;\n",
                     st_header_file(header), st_header_space(header), st_header_function_name(header, function),
                     st_header_space(header), st_header_function_name(header, function));
}

// The image for one item, with the names that nvcc gave the kernels.
static st_code name_kernels(verifying *it, size_t item, const st_compiled *unit, st_compiled *out, st_error *error)
{
    const st_verify_item *of = &it->options->items[item];
    char **names = NULL;
    size_t count = 0;
    *out = *unit;
    out->image = st_malloc(unit->image_bytes ? unit->image_bytes : 1);
    out->log = st_strdup(unit->log);
    out->lowered_names = NULL;
    out->kernel_count = 0;
    st_code code = out->image && out->log ? st_header_kernels(it->options->header, &of->row, &names, &count, error)
                                          : st_fail_memory(error, "compiling with nvcc");
    if (code == ST_OK && unit->image_bytes)
        memcpy(out->image, unit->image, unit->image_bytes);
    if (code == ST_OK && !(out->lowered_names = st_calloc(count ? count : 1, sizeof *out->lowered_names)))
        code = st_fail_memory(error, "compiling with nvcc");
    for (size_t i = 0; i < count && code == ST_OK && unit->outcome == ST_COMPILED; i++) {
        char *parts[4];
        bool failed = false;
        code = st_header_symbol_parts(it->options->header, &of->row, i, parts, error);
        if (code != ST_OK)
            break;
        out->lowered_names[out->kernel_count++] = st_nvcc_symbol(unit->log, parts, &failed);
        for (size_t p = 0; p < 4; p++)
            st_free(parts[p]);
        if (!out->lowered_names[i])
            code = failed ? st_fail_memory(error, "compiling with nvcc")
                          : st_fail(error, ST_FAILED, "report this, with the header",
                                    "nvcc made no kernel %s of the header", names[i]);
    }
    for (size_t i = 0; i < count; i++)
        st_free(names[i]);
    st_free(names);
    if (code != ST_OK)
        st_compiled_release(out);
    return code;
}

// One run of nvcc for a function; each item has the image with names of its own.
static st_code add_units(verifying *it, size_t first, size_t count, st_error *error)
{
    const st_verify_options *options = it->options;
    st_compiled unit = {0};
    char *source = unit_of(options->header, options->items[first].function);
    run_progress(&it->run, &it->run.problems[first], "nvcc", 0, 1);
    st_code code = source ? st_nvcc_compile(options->nvcc, source, st_header_folder(options->header), it->run.arch, &unit,
                                            error)
                          : st_fail_memory(error, "compiling with nvcc");
    st_free(source);
    it->about->nvcc_seconds += unit.seconds;
    for (size_t i = first; i < first + count && code == ST_OK; i++) {
        run_candidate *candidate = &it->run.problems[i].candidates[it->sides[i].candidate[ST_VERIFY_SHIPPED]];
        st_compiled own;
        code = name_kernels(it, i, &unit, &own, error);
        if (code == ST_OK)
            code = run_add_compiled(&it->run, &own, &candidate->class_index, error);
    }
    st_compiled_release(&unit);
    return code;
}

// --- measuring -------------------------------------------------------------------------------------------------------

static st_code verify_side(verifying *it, run_problem *problem, size_t index, char **detail, st_error *error)
{
    run_candidate *candidate = &problem->candidates[index];
    st_code code = ST_OK;
    candidate->stage = STAGE_NEW;
    for (int data = 0; data < 2 && code == ST_OK && candidate->stage == STAGE_NEW; data++) {
        st_data kind = data ? ST_DATA_RANDOM : ST_DATA_EXACT;
        code = run_capture_default(&it->run, problem, kind, 0, error);
        if (code == ST_OK)
            code = run_verify(&it->run, &problem->problem, candidate, (int64_t)index, kind, 0, detail, error);
    }
    if (code == ST_OK && candidate->stage == STAGE_NEW)
        candidate->outcome = ST_OUTCOME_CORRECT;
    return code;
}

static int64_t rounds_of(const verifying *it, const st_verify_item *item)
{
    if (strcmp(it->options->backend, "emu") == 0)
        return EMULATED_ROUNDS;
    return item->row.choice->median_ns >= 5e4 ? ROUNDS : ROUNDS * SHORT_FACTOR; // short kernels are noisier
}

// A worker that is lost in the race takes all with it: those that are right are loaded again, twice.
static st_code race(verifying *it, size_t i, double **samples, size_t *order, size_t *count, st_verify_result *result,
                    st_error *error)
{
    run_problem *problem = &it->run.problems[i];
    const char *cache = st_header_cache(it->options->header);
    bool lost = true;
    st_error why = {0};
    st_code code = ST_OK;
    for (int attempt = 0; attempt < 3 && lost && code == ST_OK; attempt++) {
        int64_t ids[ST_VERIFY_SIDES];
        st_trouble trouble = ST_TROUBLE_NONE;
        char *detail = NULL;
        *count = 0;
        for (size_t c = 0; c < problem->candidate_count && code == ST_OK; c++) {
            run_candidate *candidate = &problem->candidates[c];
            if (candidate->outcome != ST_OUTCOME_CORRECT)
                continue;
            code = run_load(&it->run, it->run.timing, &problem->problem, candidate, (int64_t)c, &detail, error);
            if (candidate->stage != STAGE_NEW) // it was loaded a moment ago: something of the device has changed
                continue;
            order[*count] = c;
            ids[(*count)++] = (int64_t)c;
        }
        st_free(detail);
        lost = false;
        if (code != ST_OK || !*count)
            return code;
        code = st_link_race(it->run.timing, ids, *count, cache, rounds_of(it, &it->options->items[i]),
                            (int64_t)it->options->seed, it->options->time_limit + 120, samples, &result->rounds,
                            &result->state, &trouble, &why);
        if (code != ST_OK && error)
            *error = why;
        lost = trouble != ST_TROUBLE_NONE;
    }
    if (code == ST_OK && lost)
        code = st_fail(error, ST_FAILED, "try again; simtune doctor looks at the device",
                       "%s: the worker was lost three times while the sides took turns: %s", problem->text, why.what);
    return code;
}

// Registers and spills of the kernels that a side launches, from what the assembler said.
static void add_facts(const verifying *it, const run_candidate *candidate, st_verify_side *side)
{
    const run_program *program = &it->run.programs[it->run.classes[candidate->class_index].program];
    side->registers = candidate->main.registers;
    side->local_bytes = candidate->main.local_bytes;
    side->blocks_per_sm = candidate->main.blocks_per_sm;
    side->spill_bytes = -1;
    snprintf(side->compiler, sizeof side->compiler, "%s", program->compiled.compiler);
    for (size_t i = 0; i < candidate->kernels.count; i++) {
        int registers, spill, smem;
        if (!st_compile_kernel_facts(program->compiled.log, candidate->kernels.kernels[i].lowered, &registers, &spill,
                                     &smem))
            continue;
        side->registers = registers > side->registers ? registers : side->registers;
        if (spill >= 0)
            side->spill_bytes = (side->spill_bytes < 0 ? 0 : side->spill_bytes) + spill;
    }
}

// Samples of a side in the order of rounds: samples[round][place] → out[round].
static double *samples_of(const double *samples, size_t rounds, size_t count, size_t place)
{
    double *out = st_malloc((rounds ? rounds : 1) * sizeof *out);
    for (size_t r = 0; out && r < rounds; r++)
        out[r] = samples[r * count + place];
    return out;
}

static st_code tell(verifying *it, size_t i, char **details, const double *samples, const size_t *order, size_t count,
                    st_verify_result *result, st_error *error)
{
    const run_problem *problem = &it->run.problems[i];
    double *owned[ST_VERIFY_SIDES] = {NULL};
    st_code code = ST_OK;
    for (int kind = 0; kind < ST_VERIFY_SIDES; kind++) {
        st_verify_side *side = &result->sides[kind];
        *side = (st_verify_side){.present = it->sides[i].present[kind], .as = it->sides[i].as[kind], .median_ns = NAN,
                                 .registers = -1, .spill_bytes = -1, .local_bytes = -1, .blocks_per_sm = -1};
        if (!side->present)
            continue;
        size_t c = it->sides[i].candidate[kind];
        const run_candidate *candidate = &problem->candidates[c];
        side->config = candidate->config;
        side->outcome = candidate->outcome;
        side->detail = details[c];
        add_facts(it, candidate, side);
        for (size_t place = 0; place < count; place++) {
            if (order[place] != c)
                continue;
            side->samples = owned[kind] = samples_of(samples, result->rounds, count, place);
            side->median_ns = owned[kind] && result->rounds ? st_median(owned[kind], result->rounds) : NAN;
            if (!owned[kind] || (result->rounds && isnan(side->median_ns)))
                code = st_fail_memory(error, "comparing the sides");
        }
    }
    if (code == ST_OK)
        code = it->callback(it->context, result, error);
    for (int kind = 0; kind < ST_VERIFY_SIDES; kind++)
        st_free(owned[kind]);
    return code;
}

static st_code measure(verifying *it, size_t i, st_error *error)
{
    run_problem *problem = &it->run.problems[i];
    st_verify_result result = {.item = &it->options->items[i]};
    char *details[ST_VERIFY_SIDES] = {NULL};
    double *samples = NULL;
    size_t order[ST_VERIFY_SIDES], count = 0;
    st_code code = run_set_problem(&it->run, it->run.timing, &problem->problem, 0, &result.too_big, error);
    it->run.captured.known = false;
    for (size_t c = 0; c < problem->candidate_count && code == ST_OK && !result.too_big; c++) {
        run_progress(&it->run, problem, "verify", c, problem->candidate_count);
        code = verify_side(it, problem, c, &details[c], error);
    }
    if (code == ST_OK && !result.too_big) {
        run_progress(&it->run, problem, "race", 0, 1);
        code = race(it, i, &samples, order, &count, &result, error);
    }
    if (code == ST_OK)
        code = tell(it, i, details, samples, order, count, &result, error);
    for (size_t c = 0; c < problem->candidate_count; c++) {
        st_error ignored = {0};
        (void)run_unload(&it->run, it->run.timing, &problem->candidates[c], (int64_t)c, &ignored);
        st_free(details[c]);
    }
    st_free(samples);
    return code;
}

static st_code verify_group(verifying *it, size_t first, size_t count, st_error *error)
{
    it->run.group_first = first;
    it->run.group_count = count;
    st_code code = run_group_compile(&it->run, error);
    for (size_t i = first; i < first + count; i++)
        add_header_sides(it, i);
    if (code == ST_OK)
        code = add_structures(it, first, count, it->options->nvcc ? ST_VERIFY_NVRTC : ST_VERIFY_SHIPPED, error);
    if (code == ST_OK && it->options->nvcc)
        code = add_units(it, first, count, error);
    for (size_t i = first; i < first + count && code == ST_OK; i++)
        code = run_interrupted(&it->run) ? st_fail(error, ST_INTERRUPTED, NULL, "interrupted") : measure(it, i, error);
    run_group_release(&it->run);
    return code;
}

// --- all -------------------------------------------------------------------------------------------------------------

static st_code begin(verifying *it, st_error *error)
{
    const st_verify_options *options = it->options;
    it->problems = st_calloc(options->item_count ? options->item_count : 1, sizeof *it->problems);
    if (!it->problems)
        return st_fail_memory(error, "preparing problems");
    for (size_t i = 0; i < options->item_count; i++)
        it->problems[i] = options->items[i].problem;
    it->tune = (st_tune_options){.tmpl = options->tmpl,
                                 .backend = options->backend,
                                 .ordinal = options->ordinal,
                                 .problems = it->problems,
                                 .problem_count = options->item_count,
                                 .seed = options->seed,
                                 .time_limit = options->time_limit,
                                 .compile_processes = options->compile_processes,
                                 .cache_folder = options->cache_folder,
                                 .program = options->program,
                                 .interrupted = options->interrupted};
    st_code code = open_problems(it, error);
    if (code == ST_OK)
        code = run_open(&it->run, error);
    if (code != ST_OK)
        return code;
    it->about->device = it->run.device;
    snprintf(it->about->compiler, sizeof it->about->compiler, "%s", it->run.compiler);
    return ST_OK;
}

st_code st_verify(const st_verify_options *options, const st_tune_listener *listener, st_verify_about *about,
                  st_verify_callback *callback, void *context, st_error *error)
{
    verifying it = {.options = options, .about = about, .callback = callback, .context = context};
    *about = (st_verify_about){.nvcc_seconds = 0};
    it.run = (st_run){.options = &it.tune, .tmpl = options->tmpl, .listener = listener, .result = &it.result,
                      .counters_state = -1, .other_processes = -1};
    st_code code = begin(&it, error);
    for (size_t first = 0; first < options->item_count && code == ST_OK;) {
        size_t end = first + 1;
        while (end < options->item_count && options->items[end].function == options->items[first].function)
            end++;
        code = verify_group(&it, first, end - first, error);
        first = end;
    }
    run_close(&it.run);
    st_free(it.sides);
    st_free(it.problems);
    return code;
}
