// SPDX-License-Identifier: Apache-2.0
// Candidates: choosing them, bringing them into a worker, verifying them. Invariants: 1. `loaded` is true
// only for the worker of `generation`; 2. an outcome is set once and is final; 3. the default configuration,
// where allowed, is tried first.
#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"
#include "tuner/gpu/emu.h"
#include "tuner/launch_facts.h"
#include "tuner/run_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// --- choosing -------------------------------------------------------------------------------------------

static bool is_adaptive(const st_run *run)
{
    const st_strategy_row *row = run->options->strategy ? st_strategy_find(run->options->strategy) : NULL;
    return row && row->adaptive;
}

// An adaptive strategy chooses among all, and keeps to the budget by itself; of a space beyond all measuring it gets a
// random part.
static size_t choice_limit(const st_run *run, size_t count)
{
    enum { CHOSEN_AMONG = 50000 };
    uint64_t budget = is_adaptive(run) ? CHOSEN_AMONG : run->options->budget_candidates;
    return budget && budget < count ? (size_t)budget : count;
}

// A random order of the space with the default in front, cut to the budget. An exhaustive run without a
// budget keeps it whole: the order then only decides what is known first.
st_code run_choose(st_run *run, run_problem *problem, st_error *error)
{
    size_t count = st_space_count(problem->space);
    st_config standard;
    st_config_default(run->tmpl, &standard);
    // What only the usual search leaves out is still what all others are compared with.
    size_t extra = st_space_only_pruned(problem->space, &standard);
    size_t wanted = choice_limit(run, count + extra);
    run->allowed += count + extra;
    size_t *order = st_malloc((count ? count : 1) * sizeof *order);
    problem->candidates = st_calloc(wanted, sizeof *problem->candidates);
    if (!order || !problem->candidates) {
        st_free(order);
        return st_fail_memory(error, "choosing candidates");
    }
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    st_random random;
    st_random_seed(&random, run->options->seed);
    st_random_shuffle(&random, order, count);
    int64_t first = st_space_find(problem->space, &standard);
    for (size_t i = 0; i < count && first >= 0; i++)
        if (order[i] == (size_t)first) {
            order[i] = order[0];
            order[0] = (size_t)first;
            break;
        }
    problem->standard = (run_candidate){.config = standard, .main = {-1, -1, -1, -1, -1}};
    st_config_index_init(&problem->index, run->tmpl);
    st_code code = ST_OK;
    for (size_t i = 0; i < wanted && code == ST_OK; i++) {
        run_candidate *candidate = &problem->candidates[i];
        if (extra && i == 0)
            candidate->config = standard;
        else
            st_space_config(problem->space, order[i - extra], &candidate->config);
        candidate->outcome = ST_OUTCOME_SKIPPED;
        candidate->series[COLD].median_ns = candidate->series[WARM].median_ns = candidate->screen_ns = NAN;
        candidate->unclassed = is_adaptive(run);
        candidate->main = (st_loaded_kernel){-1, -1, -1, -1, -1};
        if (st_config_index_add(&problem->index, &candidate->config, NULL) == SIZE_MAX)
            code = st_fail_memory(error, "choosing candidates");
    }
    problem->candidate_count = wanted;
    st_free(order);
    return code;
}

// --- problems in a worker -----------------------------------------------------------------------------------

// Alignments are those of the buffers that the worker has.
static st_code bind(const st_run *run, const st_link *link, const st_problem *problem, const st_config *config,
                    st_bindings *out, st_error *error)
{
    st_code code = st_bindings_make(run->tmpl, problem, config, &run->device, out, error);
    if (code == ST_OK && link == run->timing)
        st_plan_align(out, run->misalign);
    return code;
}

// With the default configuration, which references and derives are of.
static st_code bind_plainly(const st_run *run, const st_problem *problem, st_bindings *out, st_error *error)
{
    st_config standard;
    st_config_default(run->tmpl, &standard);
    st_code code = st_bindings_make(run->tmpl, problem, &standard, &run->device, out, error);
    return code == ST_OK ? st_bindings_late(out, 1, error) : code;
}

// One list of both, for the worker.
static st_code join_kernels(const st_plan_kernels *a, const st_plan_kernels *b, st_load_kernel **out,
                            st_error *error)
{
    *out = st_calloc(a->count + b->count + 1, sizeof **out);
    if (!*out)
        return st_fail_memory(error, "making a plan");
    if (a->count)
        memcpy(*out, a->kernels, a->count * sizeof **out);
    if (b->count)
        memcpy(*out + a->count, b->kernels, b->count * sizeof **out);
    return ST_OK;
}

st_code run_set_problem(st_run *run, st_link *link, const st_problem *problem, uint32_t misalign,
                        bool *too_big, st_error *error)
{
    st_bindings bindings = {0};
    st_plan_buffer *buffers = NULL;
    st_plan_kernels kernels = {0}, derives = {0};
    st_load_kernel *joined = NULL;
    st_plan plan = {0};
    st_code code = bind_plainly(run, problem, &bindings, error);
    if (link == run->timing)
        run->misalign = misalign;
    if (code == ST_OK)
        code = st_plan_buffers(&bindings, misalign, &buffers, error);
    if (code == ST_OK && run->has_reference) {
        code = st_plan_plain_kernels(&bindings, run->reference.lowered_names, &kernels, &derives, error);
        if (code == ST_OK)
            code = join_kernels(&kernels, &derives, &joined, error);
        if (code == ST_OK)
            code = st_plan_make(&bindings, run->tmpl->references, run->tmpl->reference_count, &kernels,
                                &plan, error);
    } else if (code == ST_OK) {
        plan.temp_counts = st_calloc(run->tmpl->buffer_count, sizeof *plan.temp_counts);
        plan.buffer_count = (uint32_t)run->tmpl->buffer_count;
        if (!plan.temp_counts)
            code = st_fail_memory(error, "making a plan");
    }
    if (code == ST_OK) {
        st_link_problem described = {.buffers = buffers,
                                     .buffer_count = run->tmpl->buffer_count,
                                     .image = run->has_reference ? run->reference.image : NULL,
                                     .image_bytes = run->has_reference ? run->reference.image_bytes : 0,
                                     .kernels = joined,
                                     .kernel_count = kernels.count + derives.count,
                                     .plan = &plan};
        code = st_link_set_problem(link, &described, too_big, error);
    }
    st_plan_release(&plan);
    st_plan_kernels_release(&kernels);
    st_plan_kernels_release(&derives);
    st_free(joined);
    st_free(buffers);
    st_bindings_release(&bindings);
    return code;
}

// --- one candidate ----------------------------------------------------------------------------------------------

void run_fail(run_candidate *candidate, st_outcome outcome, char **detail, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    candidate->stage = STAGE_DONE;
    candidate->outcome = outcome;
    st_free(*detail);
    *detail = st_strdup(text);
}

// What trouble of a worker means for the candidate.
void run_fail_by_trouble(run_candidate *candidate, st_trouble trouble, const char *when, const st_error *why,
                         char **detail)
{
    st_outcome outcome = strstr(why->what, ST_EMU_RACE)   ? ST_OUTCOME_RACE
                         : trouble == ST_TROUBLE_CRASH   ? ST_OUTCOME_CRASH
                         : trouble == ST_TROUBLE_TIMEOUT ? ST_OUTCOME_TIMEOUT
                                                         : ST_OUTCOME_LAUNCH;
    // A worker that refused still holds what was loaded; a lost one is told by its generation.
    run_fail(candidate, outcome, detail, "%s%s", when, why->what);
}

// The first kernel, until the plan tells which is the main one.
static void keep_facts(run_candidate *candidate, const st_loaded_kernel *facts, int main)
{
    if (!candidate->kernels.count)
        return;
    size_t of = main > 0 ? (size_t)main : 0;
    candidate->main = facts[of];
    candidate->main_block = candidate->kernels.kernels[of].block;
    candidate->main_smem = candidate->kernels.kernels[of].smem;
    candidate->most_registers = 0;
    for (size_t i = 0; i < candidate->kernels.count; i++) {
        if (facts[i].registers > candidate->most_registers)
            candidate->most_registers = facts[i].registers;
        if (facts[i].local_bytes > candidate->main.local_bytes)
            candidate->main.local_bytes = facts[i].local_bytes;
    }
}

// Registers and occupancy decide the late names; the plan is made with them.
static st_code plan_candidate(st_run *run, st_link *link, const st_problem *problem,
                              const st_space *space, run_candidate *candidate, int64_t id, const st_loaded_kernel *facts,
                              char **detail, st_error *error)
{
    st_bindings bindings = {0};
    st_plan plan = {0};
    st_trouble trouble = ST_TROUBLE_NONE;
    int blocks = candidate->given_blocks > 0 ? candidate->given_blocks
                 : candidate->kernels.count  ? facts[0].blocks_per_sm
                                             : 1;
    st_code code = bind(run, link, problem, &candidate->config, &bindings, error);
    if (code == ST_OK)
        code = st_bindings_late(&bindings, blocks > 0 ? blocks : 1, error);
    if (code == ST_OK)
        code = st_bindings_deterministic(&bindings, &candidate->deterministic, error);
    if (code == ST_OK)
        code = st_plan_make(&bindings, run->tmpl->steps, run->tmpl->step_count, &candidate->kernels, &plan,
                            error);
    if (code == ST_OK)
        code = st_plan_check_steps(&bindings, &plan, error);
    const char *forbidden_by = NULL;
    if (code == ST_OK && space && st_space_has_late_where(space))
        code = st_space_late_where(space, &bindings, &forbidden_by, error);
    if (code == ST_NOTHING || forbidden_by) {
        run_fail(candidate, ST_OUTCOME_CONSTRAINT, detail, "%s", forbidden_by ? forbidden_by : error->what);
        code = ST_OK;
    } else if (code == ST_OK) {
        st_error why = {0};
        keep_facts(candidate, facts, st_plan_main_kernel(run->tmpl, &plan));
        code = st_link_plan(link, id, &plan, &trouble, &why);
        if (code != ST_OK && error)
            *error = why;
        else if (trouble != ST_TROUBLE_NONE)
            run_fail_by_trouble(candidate, trouble, "", &why, detail);
    }
    st_plan_release(&plan);
    st_bindings_release(&bindings);
    return code;
}

// What the loaded kernels say before anything runs: can they be launched at all?
static bool launchable(run_candidate *candidate, const st_loaded_kernel *facts, char **detail)
{
    for (size_t i = 0; i < candidate->kernels.count; i++) {
        const st_load_kernel *kernel = &candidate->kernels.kernels[i];
        if (facts[i].max_threads > 0 && kernel->block > (uint32_t)facts[i].max_threads) {
            run_fail(candidate, ST_OUTCOME_LAUNCH, detail,
                     "a block of %u threads with %d registers each does not fit: at most %d threads",
                     kernel->block, facts[i].registers, facts[i].max_threads);
            return false;
        }
        if (facts[i].blocks_per_sm == 0) {
            char words[160];
            st_launch_never_words(kernel, facts[i].registers, facts[i].static_smem, words, sizeof words);
            run_fail(candidate, ST_OUTCOME_LAUNCH, detail, "%s", words);
            return false;
        }
    }
    return true;
}

static st_code make_kernels(st_run *run, const st_link *link, const st_problem *problem, run_candidate *candidate,
                            char **lowered, char **detail, st_error *error)
{
    st_bindings bindings = {0};
    st_plan_kernels_release(&candidate->kernels);
    st_code code = bind(run, link, problem, &candidate->config, &bindings, error);
    if (code == ST_OK)
        code = st_plan_kernels_make(&bindings, run->tmpl->steps, run->tmpl->step_count, lowered,
                                    &candidate->kernels, error);
    if (code == ST_NOTHING) {
        run_fail(candidate, ST_OUTCOME_CONSTRAINT, detail, "%s", error->what);
        code = ST_OK;
    }
    st_bindings_release(&bindings);
    return code;
}

// The same by what the compiler says, before anything is loaded. Its facts stand for those of the device.
static bool could_fit(const st_run *run, run_candidate *candidate, const run_program *program, char **detail)
{
    st_launch_facts said;
    st_launch_facts_read(program->compiled.log, candidate->kernels.kernels, candidate->kernels.count, &run->device,
                         &said);
    if (!said.never[0])
        return true;
    candidate->main = (st_loaded_kernel){said.registers, -1, said.static_smem, -1, said.blocks_per_sm};
    candidate->main_block = said.block;
    candidate->main_smem = said.smem;
    run_fail(candidate, ST_OUTCOME_LAUNCH, detail, "%s", said.never);
    return false;
}

static double known(int value)
{
    return value < 0 ? NAN : (double)value;
}

st_code run_foresee(st_run *run, const st_problem *problem, run_candidate *candidate, st_search_facts *out,
                    st_error *error)
{
    const run_class *class = &run->classes[candidate->class_index];
    const run_program *program = &run->programs[class->program];
    char *detail = NULL;
    st_launch_facts said;
    *out = (st_search_facts){NAN, NAN, NAN, NAN};
    if (program->state != PROGRAM_READY)
        return ST_OK;
    run_candidate trial = {.config = candidate->config};
    st_code code = make_kernels(run, run->timing, problem, &trial,
                                program->compiled.lowered_names + class->in_program * program->launch_count, &detail,
                                error);
    if (code == ST_OK && trial.stage != STAGE_DONE) {
        st_launch_facts_read(program->compiled.log, trial.kernels.kernels, trial.kernels.count, &run->device, &said);
        trial.main.blocks_per_sm = said.blocks_per_sm;
        trial.main_block = said.block;
        *out = (st_search_facts){known(said.registers), known(said.spill_bytes), known(said.static_smem) + said.smem,
                                 run_occupancy(run, &trial)};
    }
    st_plan_kernels_release(&trial.kernels);
    st_free(detail);
    return code;
}

st_code run_load(st_run *run, st_link *link, const st_problem *problem, run_candidate *candidate,
                 int64_t id, char **detail, st_error *error)
{
    if (candidate->loaded && candidate->generation == st_link_generation(link))
        return ST_OK;
    // Resumed candidates reach the finals without the screen, which asks for programs and waits for them.
    st_code code = run_want(run, candidate, error);
    if (code == ST_OK)
        code = run_await(run, candidate->class_index, error);
    if (code != ST_OK)
        return code;
    const run_class *class = &run->classes[candidate->class_index];
    const run_program *program = &run->programs[class->program];
    if (program->state != PROGRAM_READY) {
        static const char *const words[] = {"", "does not compile", "took too long to compile",
                                            "crashed the compiler"};
        run_fail(candidate, ST_OUTCOME_COMPILE, detail, "%s: %s", words[program->compiled.outcome],
                 program->compiled.log ? program->compiled.log : "");
        return ST_OK;
    }
    char **lowered = program->compiled.lowered_names + class->in_program * program->launch_count;
    code = make_kernels(run, link, problem, candidate, lowered, detail, error);
    if (code != ST_OK || candidate->stage == STAGE_DONE || !could_fit(run, candidate, program, detail))
        return code;
    st_loaded_kernel facts[ST_PLAN_KERNELS_MOST] = {{0}};
    if (candidate->kernels.count > ST_PLAN_KERNELS_MOST)
        return st_fail(error, ST_FAILED, "use fewer launches", "a configuration has %zu kernels, at most %d",
                       candidate->kernels.count, ST_PLAN_KERNELS_MOST);
    st_trouble trouble;
    st_error why = {0};
    code = st_link_load(link, id, program->serial, program->compiled.image, program->compiled.image_bytes,
                        candidate->kernels.kernels, candidate->kernels.count, facts,
                        run->options->time_limit, &trouble, &why);
    if (code != ST_OK) {
        *error = why;
        return code;
    }
    if (trouble != ST_TROUBLE_NONE) {
        run_fail_by_trouble(candidate, trouble, "", &why, detail);
        return ST_OK;
    }
    candidate->loaded = true;
    candidate->generation = st_link_generation(link);
    keep_facts(candidate, facts, 0);
    if (!launchable(candidate, facts, detail))
        return ST_OK;
    // A winner's check at other sizes is not held to this size's space.
    const st_space *space = NULL;
    for (size_t p = 0; p < run->options->problem_count; p++)
        if (problem == &run->problems[p].problem)
            space = run->problems[p].space;
    return plan_candidate(run, link, problem, space, candidate, id, facts, detail, error);
}

st_code run_unload(st_run *run, st_link *link, run_candidate *candidate, int64_t id, st_error *error)
{
    (void)run;
    st_trouble trouble = ST_TROUBLE_NONE;
    st_code code = ST_OK;
    if (candidate->loaded && candidate->generation == st_link_generation(link))
        code = st_link_unload(link, id, &trouble, error);
    candidate->loaded = false;
    return code;
}

static void describe_mismatch(run_candidate *candidate, const st_verdict *verdict, st_data data,
                              uint64_t rotation, char **detail)
{
    const char *kind = data == ST_DATA_EXACT ? "exact" : "random";
    if (strcmp(verdict->what, "guard") == 0)
        run_fail(candidate, ST_OUTCOME_WRONG, detail,
                 "wrote outside %s: %llu bytes of its fences changed (%s data)", verdict->output,
                 (unsigned long long)verdict->mismatches, kind);
    else
        run_fail(candidate, ST_OUTCOME_WRONG, detail,
                 "%s[%llu] is %.9g, expected %.9g%s%.3g (%s data, rotation %llu%s): %llu of %llu differ",
                 verdict->output, (unsigned long long)verdict->first_index, verdict->got,
                 verdict->expected, verdict->bound > 0 ? " within " : " exactly; bound ", verdict->bound,
                 kind, (unsigned long long)rotation,
                 strcmp(verdict->what, "unwritten") == 0 ? ", never written"
                 : strcmp(verdict->what, "repeat") == 0  ? ", only when run a second time"
                 : strcmp(verdict->what, "in place") == 0 ? ", only in place"
                                                         : "",
                 (unsigned long long)verdict->mismatches, (unsigned long long)verdict->checked);
}

// The derives that this configuration takes.
static st_code plan_derives(const st_run *run, const st_problem *problem, const st_bindings *bindings,
                            st_plan *out, st_error *error)
{
    st_bindings plain = {0};
    st_plan_kernels references = {0}, derives = {0};
    *out = (st_plan){0};
    if (!run->tmpl->derive_count || !run->has_reference)
        return ST_OK;
    st_code code = bind_plainly(run, problem, &plain, error);
    if (code == ST_OK)
        code = st_plan_plain_kernels(&plain, run->reference.lowered_names, &references, &derives, error);
    if (code == ST_OK)
        code = st_plan_make(bindings, run->tmpl->derives, run->tmpl->derive_count, &derives, out, error);
    st_plan_kernels_release(&references);
    st_plan_kernels_release(&derives);
    st_bindings_release(&plain);
    return code;
}

st_code run_verify(st_run *run, const st_problem *problem, run_candidate *candidate, int64_t id,
                   st_data data, uint64_t rotation, char **detail, st_error *error)
{
    st_bindings bindings = {0};
    st_plan_compare *compares = NULL;
    size_t count = 0, in_place_count = 0;
    st_plan derive = {0};
    int(*in_places)[2] = NULL;
    st_verdict verdict = {0};
    st_trouble trouble = ST_TROUBLE_NONE;
    st_error why = {0};
    st_code code = run_load(run, run->timing, problem, candidate, id, detail, error);
    int blocks = candidate->given_blocks > 0 ? candidate->given_blocks : candidate->main.blocks_per_sm;
    if (code != ST_OK || candidate->stage == STAGE_DONE)
        return code;
    code = bind(run, run->timing, problem, &candidate->config, &bindings, error);
    if (code == ST_OK)
        code = st_bindings_late(&bindings, blocks > 0 ? blocks : 1, error);
    if (code == ST_OK)
        code = st_plan_compares(&bindings, &compares, &count, error);
    if (code == ST_OK)
        code = plan_derives(run, problem, &bindings, &derive, error);
    if (code == ST_OK)
        code = st_plan_in_places(&bindings, &in_places, &in_place_count, error);
    if (code == ST_OK) {
        const st_link_check check = {.compares = compares,
                                     .count = count,
                                     .derive = derive.step_count ? &derive : NULL,
                                     .in_places = (const int (*)[2])in_places,
                                     .in_place_count = in_place_count,
                                     .keeps_storage = run->checked && data == ST_DATA_RANDOM};
        code = st_link_verify(run->timing, id, data, rotation, &check, run->options->time_limit, &verdict,
                              &trouble, &why);
        if (code != ST_OK)
            *error = why;
        else if (trouble != ST_TROUBLE_NONE)
            run_fail_by_trouble(candidate, trouble, "", &why, detail);
        else if (verdict.mismatches)
            describe_mismatch(candidate, &verdict, data, rotation, detail);
    }
    st_plan_release(&derive);
    st_free(in_places);
    st_free(compares);
    st_bindings_release(&bindings);
    return code;
}
