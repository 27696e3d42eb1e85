// SPDX-License-Identifier: Apache-2.0
// The tuning run. Invariants:
//   1. this process never holds a CUDA context: everything of the device goes through links;
//   2. the search sees only what the store holds, so a resumed run and an undisturbed one decide alike;
//   3. whatever ends the run, what was measured is in the store and the session is marked.
// States of a problem: chosen → screened → halved → finals → profiled → done; or skipped (no memory, nothing
// allowed). Problems of the same type and words are a group: they share what is compiled.
#include "tuner/run.h"

#include "cupti/counters.h"
#include "db/locking.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/run_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const run_cache_names[CACHES] = {"cold", "warm"};

bool run_interrupted(const st_run *run)
{
    return run->options->interrupted && *run->options->interrupted;
}

static bool wait_for_device(void *context, const st_lock_holder *holder, double waited)
{
    st_run *run = context;
    if (waited < 0.05) // the first of many calls
        run_note(run, "waiting for the device: process %ld holds it (%s)", (long)holder->pid,
                 holder->command);
    return !run_interrupted(run);
}

static bool stop_waiting_for_store(void *context)
{
    return run_interrupted(context);
}

static void note_waiting_for_store(void *context, const char *text)
{
    run_note(context, "%s", text);
}

// A run has measurements to lose, so it waits longer for other writers than a command that can be given again.
static void wait_for_store(st_run *run)
{
    enum { TIMES = 10 };
    st_store_listen(run->store,
                    &(st_store_listener){run, note_waiting_for_store, stop_waiting_for_store});
    st_store_be_patient(run->store, TIMES);
}

// --- beginning and ending --------------------------------------------------------------------------------

st_code run_open_device(st_run *run, st_error *error)
{
    // The support module is compiled for the device's arch, so the device is asked first.
    st_link_options options = {.backend = run->options->backend,
                               .ordinal = run->options->ordinal,
                               .program = run->options->program,
                               .trace = &run->link_trace};
    st_code code = st_link_open(&options, &run->timing, error);
    if (code != ST_OK)
        return code;
    run->device = *st_link_facts(run->timing);
    run->result->device = run->device;
    code = st_device_lock_take(run->device.uuid, wait_for_device, run, &run->lock, error);
    if (code != ST_OK && run_interrupted(run))
        return st_fail(error, ST_INTERRUPTED, NULL, "interrupted while waiting for the device");
    if (code != ST_OK)
        return code;
    snprintf(run->arch, sizeof run->arch, "sm_%lld", (long long)run->device.cc);
    return run_compile_begin(run, error);
}

st_code run_open_support(st_run *run, st_error *error)
{
    st_code code = run_compile_support(run, error);
    if (code != ST_OK)
        return code;
    snprintf(run->result->compiler, sizeof run->result->compiler, "%s", run->compiler);
    return st_link_support(run->timing, run->support, run->support_bytes, error);
}

st_code run_open(st_run *run, st_error *error)
{
    st_code code = run_open_device(run, error);
    return code == ST_OK ? run_open_support(run, error) : code;
}

static st_code open_problems(st_run *run, st_error *error)
{
    size_t count = run->options->problem_count;
    run->problems = st_calloc(count, sizeof *run->problems);
    if (!run->problems)
        return st_fail_memory(error, "preparing problems");
    for (size_t i = 0; i < count; i++) {
        run_problem *problem = &run->problems[i];
        st_text text;
        st_text_init(&text);
        problem->problem = run->options->problems[i];
        problem->bytes = problem->best_ns[COLD] = problem->best_ns[WARM] = problem->default_ns = NAN;
        st_problem_text(run->tmpl, &problem->problem, &text);
        problem->text = st_text_take(&text);
        if (!problem->text)
            return st_fail_memory(error, "preparing problems");
        if (st_problem_broken_rule(run->tmpl, &problem->problem, &run->device)) {
            problem->skipped = true; // what makes no sense on this device
            run->result->problems_skipped++;
            continue;
        }
        st_config standard;
        st_bindings bindings = {0};
        int64_t bytes = -1;
        st_config_default(run->tmpl, &standard);
        st_code code = st_bindings_make(run->tmpl, &problem->problem, &standard, &run->device, &bindings,
                                        error);
        if (code == ST_OK)
            code = st_bindings_late(&bindings, 1, error);
        if (code == ST_OK)
            code = st_bindings_evaluate(&bindings, run->tmpl->bytes, -1, &bytes, error);
        st_bindings_release(&bindings);
        if (code == ST_OK && run->options->budget_limit > 0 && bytes <= 0)
            code = st_fail(error, ST_USAGE, "say in the template what a run moves (bytes …), or give another --budget",
                           "--budget limit needs the bytes that a run moves, which %s does not say",
                           run->tmpl->family);
        if (code == ST_OK)
            code = st_space_open(run->tmpl, &problem->problem, &run->device, &run->options->space,
                                 &problem->space, error);
        if (code == ST_NOTHING && count > 1) { // another size may allow some
            run_note(run, "%s is skipped: %s. %s", problem->text, error->what, error->remedy);
            problem->skipped = true;
            run->result->problems_skipped++;
            continue;
        }
        if (code == ST_OK)
            code = run_choose(run, problem, error);
        if (code != ST_OK)
            return *problem->text ? st_error_prefix(error, "%s", problem->text) : code;
        if (bytes >= 0)
            problem->bytes = (double)bytes;
    }
    return ST_OK;
}

void run_close(st_run *run)
{
    for (size_t i = 0; run->problems && i < run->options->problem_count; i++) {
        run_problem *problem = &run->problems[i];
        for (size_t c = 0; c < problem->candidate_count; c++)
            st_plan_kernels_release(&problem->candidates[c].kernels);
        st_plan_kernels_release(&problem->standard.kernels);
        st_free(problem->candidates);
        st_config_index_release(&problem->index);
        st_space_close(problem->space);
        st_free(problem->text);
    }
    st_free(run->problems);
    run_group_release(run);
    st_device_lock_release(run->lock);
    st_pool_close(run->pool);
    st_link_close(run->timing);
    st_link_close(run->profiling);
    st_free(run->support);
}

// --- problems ----------------------------------------------------------------------------------------------

// The first problem of the group from this one on that is not skipped: while others are busy with the device.
static st_code compile_ahead(st_run *run, run_problem *from, st_error *error)
{
    const run_problem *end = run->problems + run->group_first + run->group_count;
    while (from < end && from->skipped)
        from++;
    return from < end ? run_search_ahead(run, from, error) : ST_OK;
}

static st_code tune_problem(st_run *run, run_problem *problem, st_error *error)
{
    bool too_big = false;
    if (problem->skipped)
        return ST_OK;
    st_code code = run_store_problem(run, problem, error);
    if (code == ST_OK)
        code = run_set_problem(run, run->timing, &problem->problem, 0, &too_big, error);
    if (code != ST_OK)
        return code;
    if (too_big) {
        run_note(run, "%s is skipped: it does not fit the free memory of this device", problem->text);
        problem->skipped = true;
        run->result->problems_skipped++;
        return ST_OK;
    }
    // A resumed run that has a winner here was past its candidates: a new budget must not add to them.
    if (!problem->won[COLD] && !problem->won[WARM]) {
        code = run_phase(run, problem, "screen", run_screen, error);
        if (code == ST_OK)
            run_note_limit(run, problem);
        if (code == ST_OK && !run_interrupted(run))
            code = compile_ahead(run, problem + 1, error);
        if (code == ST_OK && !run_interrupted(run))
            code = run_phase(run, problem, "halving", run_halving, error);
    }
    if (code == ST_OK)
        code = run_phase(run, problem, "finals", run_finals, error);
    if (code == ST_OK && !run_interrupted(run))
        code = run_phase(run, problem, "profile", run_profile, error);
    return code;
}

static bool same_group(const st_run *run, size_t a, size_t b)
{
    for (size_t i = 0; i < run->tmpl->axis_count; i++)
        if (run->tmpl->axes[i].kind != ST_AXIS_SIZE && !run->tmpl->axes[i].data &&
            run->problems[a].problem.value[i] != run->problems[b].problem.value[i])
            return false;
    return true;
}

// The group that begins with this problem is given to the compilers.
static st_code begin_group(st_run *run, size_t first, st_error *error)
{
    size_t end = first + 1;
    while (end < run->options->problem_count && same_group(run, first, end))
        end++;
    run->group_first = first;
    run->group_count = end - first;
    st_code code = run_group_begin(run, error);
    return code == ST_OK ? compile_ahead(run, &run->problems[first], error) : code;
}

static st_code tune_groups(st_run *run, st_error *error)
{
    st_code code = ST_OK;
    size_t count = run->options->problem_count;
    for (size_t first = 0; first < count && code == ST_OK && !run_interrupted(run);) {
        code = run->group_begun ? ST_OK : begin_group(run, first, error); // the first one is
        size_t end = first + run->group_count;
        if (code == ST_OK)
            code = run_group_ready(run, error);
        for (size_t i = first; i < end && code == ST_OK && !run_interrupted(run); i++)
            code = run_phase(run, &run->problems[i], NULL, tune_problem, error);
        // Exact counters come last: changing between the two kinds of profiling costs more than they do.
        for (size_t i = first; i < end && code == ST_OK && !run_interrupted(run); i++)
            code = run_phase(run, &run->problems[i], "count", run_count, error);
        run_group_release(run);
        first = end;
    }
    return code;
}

st_code st_tune(const st_tune_options *options, st_store *store, const st_tune_listener *listener,
                st_tune_result *result, st_error *error)
{
    st_run run = {.options = options,
                  .tmpl = options->tmpl,
                  .listener = listener,
                  .store = store,
                  .result = result,
                  .counters_state = -1,
                  .other_processes = -1,
                  .started = st_clock_seconds()};
    *result = (st_tune_result){.counters = options->counters == ST_COUNTERS_OFF ? "off" : "unknown"};
    wait_for_store(&run);
    run_trace_begin(&run);
    st_code code = run_open_device(&run, error);
    if (code == ST_OK)
        code = open_problems(&run, error);
    if (code == ST_OK)
        code = begin_group(&run, 0, error);
    if (code == ST_OK)
        code = run_open_support(&run, error);
    bool begun = false;
    if (code == ST_OK) {
        code = run_store_begin(&run, error);
        begun = code == ST_OK;
    }
    if (code == ST_OK)
        code = run_resume(&run, error);
    run_trace_opened(&run);
    if (code == ST_OK)
        code = tune_groups(&run, error);
    bool interrupted = run_interrupted(&run);
    if (begun) { // also after a failure: what was measured stays, and a next run resumes
        st_error ending = {0};
        st_code ended = run_store_end(&run, code == ST_OK && !interrupted, &ending);
        if (code == ST_OK && ended != ST_OK) {
            *error = ending;
            code = ended;
        }
    }
    result->seconds = st_clock_seconds() - run.started;
    if (code == ST_OK && interrupted)
        code = st_fail(error, ST_INTERRUPTED, "the same command goes on where this one stopped",
                       "interrupted: what was measured is kept");
    else if (code == ST_OK && !result->problems_done)
        code = st_fail(error, ST_NOTHING, "see what failed with simtune show",
                       "no configuration was right and fast enough to win anywhere");
    run_close(&run);
    st_store_be_patient(store, 1);
    st_store_listen(store, NULL);
    return code;
}

// --- forecasting -------------------------------------------------------------------------------------------

static st_code forecast(st_run *run, size_t index, st_tune_forecast *out, st_error *error)
{
    const run_problem *problem = &run->problems[index];
    st_config_index compiled;
    st_config_index_init(&compiled, run->tmpl);
    st_code code = ST_OK;
    for (size_t i = 0; i < problem->candidate_count && code == ST_OK; i++) {
        st_config key = st_config_compiled(run->tmpl, &problem->candidates[i].config);
        if (st_config_index_add(&compiled, &key, NULL) == SIZE_MAX)
            code = st_fail_memory(error, "forecasting");
    }
    const st_strategy_row *strategy = run->options->strategy ? st_strategy_find(run->options->strategy) : NULL;
    uint64_t budget = run->options->budget_candidates; // which an adaptive strategy keeps to by itself
    size_t most = budget && budget < problem->candidate_count ? (size_t)budget : problem->candidate_count;
    *out = (st_tune_forecast){.problem = index,
                              .stops = run->options->budget_limit > 0 ||
                                       (strategy && strategy->stops && problem->candidate_count > ST_SEARCH_SMALL),
                              .combinations = st_space_combinations(problem->space),
                              .allowed = st_space_count(problem->space),
                              .chosen = most,
                              .compiles = compiled.count < most ? compiled.count : most};
    st_config_index_release(&compiled);
    return code;
}

st_code st_tune_dry_run(const st_tune_options *options, const st_device_facts *device,
                        st_tune_forecast *forecasts, st_error *error)
{
    st_tune_result result = {0};
    st_run run = {.options = options, .tmpl = options->tmpl, .result = &result};
    st_code code = ST_OK;
    if (device)
        run.device = *device;
    else {
        st_link_options link = {
            .backend = options->backend, .ordinal = options->ordinal, .program = options->program};
        code = st_link_open(&link, &run.timing, error);
        if (code == ST_OK)
            run.device = *st_link_facts(run.timing);
    }
    if (code == ST_OK)
        code = open_problems(&run, error);
    for (size_t i = 0; i < options->problem_count && code == ST_OK; i++) {
        forecasts[i] = (st_tune_forecast){.problem = i};
        if (!run.problems[i].skipped)
            code = forecast(&run, i, &forecasts[i], error);
    }
    run_close(&run);
    return code;
}
