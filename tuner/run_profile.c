// SPDX-License-Identifier: Apache-2.0
// Stall profiles: of a problem's survivors after its timing, of every candidate when that is wished, and of any that
// the search asks for in between. Invariants: 1. counters that cannot be had are said once and stored as nothing;
// 2. a profile that fails costs its candidate's profile only; 3. between two calls the profile worker holds no
// candidate, and what the timing worker holds of a candidate is as it was; 4. nothing is timed while something is
// profiled: both workers are asked by this thread, one after the other; 5. nothing is timed while the profile worker
// opens the device: who starts it ahead of its first use awaits it before the first sample.
#include "cupti/counters.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/run_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SURVIVORS_MOST = 32, SAMPLES_LEAST = 300, LINES_OF_MANY = 8 };
static const double profile_limit = 60;
// Runs of one candidate end after so long: what is profiled in passing stays below 10 ms beside its launches.
static const double seconds_of_many = 0.008, seconds_of_survivors = 0.05;

// --- whether there are counters -------------------------------------------------------------------------------

// The word of the state that a worker's refusal names ("counters are busy").
static int state_of(const st_error *why)
{
    for (int state = 0; state <= ST_COUNTERS_FAILED; state++) {
        const char *name = st_counters_state_name((st_counters_state)state);
        if (name && st_text_starts(why->what, "counters are ") && strcmp(why->what + 13, name) == 0)
            return state;
    }
    return ST_COUNTERS_FAILED;
}

st_code run_counters_gone(st_run *run, const st_error *why, st_error *error)
{
    run->counters_state = state_of(why);
    run->result->counters = st_counters_state_name((st_counters_state)run->counters_state);
    if (run->options->counters == ST_COUNTERS_DEMANDED)
        return st_fail(error, ST_DENIED, why->remedy, "%s", why->what);
    run_note(run, "no stall reasons: %s. Timing goes on without. %s", why->what, why->remedy);
    return ST_OK;
}

static bool counters_are_gone(const st_run *run)
{
    return run->counters_state >= 0 && run->counters_state != ST_COUNTERS_ALLOWED;
}

bool run_profiling_wanted(const st_run *run)
{
    return run->options->counters != ST_COUNTERS_OFF && !counters_are_gone(run);
}

// A profiler that stumbled is started anew; after three times the run goes on without.
st_code run_profiler_stumbled(st_run *run, const run_problem *problem, const st_error *why, st_error *error)
{
    st_link_close(run->profiling);
    run->profiling = NULL;
    run->profiling_at = NULL;
    if (++run->profile_failures < 3) {
        run_note(run, "%s: the profiler is started anew: %s", problem->text, why->what);
        return ST_OK;
    }
    return run_counters_gone(run, why, error);
}

static st_link_options profiler_options(const st_run *run)
{
    return (st_link_options){.backend = run->options->backend,
                             .ordinal = run->options->ordinal,
                             .profiles = true,
                             .support = run->support,
                             .support_bytes = run->support_bytes,
                             .program = run->options->program,
                             .trace = &run->link_trace};
}

void run_profiler_start(st_run *run)
{
    const st_strategy_row *row = run->options->strategy ? st_strategy_find(run->options->strategy) : NULL;
    if (run->profiling || run->profiler_begun || !row || !st_strategy_profiles(row) || !run_profiling_wanted(run))
        return;
    st_link_options options = profiler_options(run);
    options.warm = true;
    run->profiler_begun = true;
    if (st_link_begin(&options, &run->profiling, NULL) != ST_OK)
        run->profiling = NULL; // the first profile says why
}

st_code run_profiler_await(st_run *run, st_error *error)
{
    if (!run->profiling || run->profiler_awaited)
        return ST_OK;
    st_error why = {0};
    run->profiler_awaited = true;
    // It may have been begun before the support module was there.
    if (st_link_support(run->profiling, run->support, run->support_bytes, &why) == ST_OK)
        return ST_OK;
    st_link_close(run->profiling);
    run->profiling = NULL;
    return run_counters_gone(run, &why, error);
}

st_code run_profiler_begin(st_run *run, run_problem *problem, bool *able, st_error *error)
{
    bool too_big = false;
    *able = run->profiling && run->profiling_at == problem;
    if (*able)
        return ST_OK;
    st_error why = {0};
    st_link_options options = profiler_options(run);
    if (run->profiling) {
        st_code code = run_profiler_await(run, error);
        if (code != ST_OK || !run->profiling)
            return code;
    } else if (st_link_open(&options, &run->profiling, &why) != ST_OK)
        return run_counters_gone(run, &why, error);
    run->profiler_awaited = true;
    st_code code = run_set_problem(run, run->profiling, &problem->problem, 0, &too_big, &why);
    if (code != ST_OK || too_big)
        run_note(run, "%s: no counters, the device has not the memory for a second worker", problem->text);
    *able = code == ST_OK && !too_big;
    run->profiling_at = *able ? problem : NULL;
    return ST_OK;
}

// --- storing --------------------------------------------------------------------------------------------------

// Counters of one profile in the making; names are of their own.
typedef struct counter_list {
    char (*names)[96];
    const char **pointers;
    double *values;
    size_t count;
} counter_list;

static void add_counter(counter_list *to, const char *prefix, const char *name, double value)
{
    snprintf(to->names[to->count], sizeof to->names[0], "%s%s", prefix, name);
    to->pointers[to->count] = to->names[to->count];
    to->values[to->count++] = value;
}

static void list_release(counter_list *list)
{
    st_free(list->values);
    st_free(list->pointers);
    st_free(list->names);
}

// Shares of all samples, under the names of the stall table, and what taking them cost beside `seconds`.
static st_code list_counters(const json_t *reply, counter_list *out, st_error *error)
{
    json_t *reasons = json_object_get(reply, "reasons");
    size_t most = 2 * json_array_size(reasons) + 4;
    double total = st_json_number_or_nan(reply, "total");
    *out = (counter_list){.names = st_calloc(most, sizeof *out->names),
                          .pointers = st_calloc(most, sizeof *out->pointers),
                          .values = st_calloc(most, sizeof *out->values)};
    if (!out->names || !out->pointers || !out->values)
        return st_fail_memory(error, "storing a profile");
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        const json_t *reason = json_array_get(reasons, i);
        const char *pc_name = json_string_value(json_object_get(reason, "name"));
        const st_stall *stall = pc_name ? st_stall_find(pc_name) : NULL;
        const char *name = stall ? stall->name : pc_name ? pc_name : "unknown";
        add_counter(out, "stall.", name, st_json_number_or_nan(reason, "samples") / total);
        add_counter(out, "stall_not_issued.", name, st_json_number_or_nan(reason, "not_issued") / total);
    }
    add_counter(out, "stall_samples", "", total);
    add_counter(out, "stall_launches", "", st_json_number_or_nan(reply, "launches"));
    add_counter(out, "stall_launch_seconds", "", st_json_number_or_nan(reply, "launch_seconds"));
    return ST_OK;
}

static st_code store_lines(st_run *run, const run_candidate *candidate, const json_t *reply, st_error *error)
{
    json_t *lines = json_object_get(reply, "lines");
    if (!json_array_size(lines))
        return ST_OK;
    st_text text;
    st_text_init(&text);
    st_json_print(lines, &text);
    st_code code = text.failed ? st_fail_memory(error, "storing a profile")
                               : st_store_stall_lines(run->store, candidate->key, st_text_string(&text), error);
    st_text_release(&text);
    return code;
}

static st_code store_profile(st_run *run, const run_candidate *candidate, const json_t *reply, st_error *error)
{
    counter_list list;
    st_code code = list_counters(reply, &list, error);
    if (code == ST_OK)
        code = st_store_begin(run->store, error);
    if (code == ST_OK) {
        code = st_store_counters(run->store, candidate->key, "pc", list.pointers, list.values, list.count,
                                 st_json_number_or_nan(reply, "seconds"), error);
        if (code == ST_OK)
            code = store_lines(run, candidate, reply, error);
        if (code == ST_OK)
            code = st_store_commit(run->store, error);
        else
            st_store_rollback(run->store);
    }
    list_release(&list);
    return code;
}

// --- one candidate ----------------------------------------------------------------------------------------------

typedef struct wanted_profile {
    size_t index;
    bool in_passing; // one of many: fewer lines, and an end after few milliseconds
} wanted_profile;

static st_code ask_stalls(st_run *run, run_problem *problem, const wanted_profile *wanted, json_t **reply,
                          st_trouble *trouble, st_error *error)
{
    const run_candidate *candidate = &problem->candidates[wanted->index];
    const st_compiled *compiled = &run->programs[run->classes[candidate->class_index].program].compiled;
    double ns = candidate->series[COLD].median_ns;
    const st_link_stall_options how = {.minimum = SAMPLES_LEAST,
                                       .expected_ns = isnan(ns) ? 0 : ns,
                                       .lines = wanted->in_passing ? LINES_OF_MANY : 0,
                                       .seconds = wanted->in_passing ? seconds_of_many : seconds_of_survivors};
    return st_link_stalls(run->profiling, (int64_t)wanted->index, &how, compiled->image, compiled->image_bytes,
                          profile_limit, reply, trouble, error);
}

static st_code stalls_of(st_run *run, run_problem *problem, const wanted_profile *wanted, st_error *error)
{
    run_candidate *candidate = &problem->candidates[wanted->index];
    char *detail = NULL;
    json_t *reply = NULL;
    st_trouble trouble = ST_TROUBLE_NONE;
    st_error why = {0};
    st_code code =
        run_load(run, run->profiling, &problem->problem, candidate, (int64_t)wanted->index, &detail, error);
    if (code == ST_OK && candidate->stage == STAGE_NEW)
        code = ask_stalls(run, problem, wanted, &reply, &trouble, &why);
    if (code == ST_OK && trouble == ST_TROUBLE_REFUSED && why.code == ST_DENIED)
        code = run_counters_gone(run, &why, error);
    else if (code == ST_OK && trouble != ST_TROUBLE_NONE)
        code = run_profiler_stumbled(run, problem, &why, error);
    else if (code == ST_OK && reply) {
        run->counters_state = ST_COUNTERS_ALLOWED;
        run->result->counters = "allowed";
        code = store_profile(run, candidate, reply, error);
        candidate->profiled = code == ST_OK;
    }
    json_decref(reply);
    st_free(detail);
    if (code == ST_OK && run->profiling)
        code = run_unload(run, run->profiling, candidate, (int64_t)wanted->index, error);
    return code;
}

// Invariant 3: the candidate is loaded into the profile worker and out of it again, whatever the other holds.
static st_code profile_one(st_run *run, run_problem *problem, const wanted_profile *wanted, st_error *error)
{
    run_candidate *candidate = &problem->candidates[wanted->index];
    const run_candidate before = *candidate;
    candidate->loaded = false;
    candidate->stage = STAGE_NEW;
    st_code code = stalls_of(run, problem, wanted, error);
    candidate->loaded = before.loaded;
    candidate->generation = before.generation;
    candidate->stage = before.stage;
    candidate->outcome = before.outcome; // trouble under the profiler says nothing about the candidate
    candidate->deterministic = before.deterministic;
    candidate->main = before.main;
    return code;
}

// --- several ----------------------------------------------------------------------------------------------------

static st_code profile_all(st_run *run, run_problem *problem, const wanted_profile *order, size_t number,
                           st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < number && code == ST_OK && !run_interrupted(run); i++) {
        bool able;
        run_progress(run, problem, "profile", i, number);
        code = run_profiler_begin(run, problem, &able, error); // also after it stumbled over the one before
        if (code != ST_OK || !able)
            break;
        code = profile_one(run, problem, &order[i], error);
        if (counters_are_gone(run))
            break;
    }
    return code;
}

static bool can_be_profiled(const run_candidate *candidate)
{
    return candidate->outcome == ST_OUTCOME_CORRECT && candidate->key && !candidate->profiled &&
           !isnan(candidate->series[COLD].median_ns);
}

// Survivors of the first round of halving, fastest first. Before them the default and the best of each rival,
// which are never left out.
static size_t survivors(const st_run *run, const run_problem *problem, run_ranked *out)
{
    size_t found = 0, wanted[1 + ST_MAX_RIVALS], wanted_count = 0;
    wanted[wanted_count++] = run_standard(run, problem);
    for (size_t r = 0; r < run->tmpl->rival_count; r++)
        wanted[wanted_count++] = run_best_rival(run, problem, COLD, r);
    for (size_t i = 0; i < problem->candidate_count; i++) {
        const run_candidate *candidate = &problem->candidates[i];
        bool always = false;
        for (size_t w = 0; w < wanted_count; w++)
            always = always || wanted[w] == i;
        if (candidate->outcome == ST_OUTCOME_CORRECT && candidate->key && !candidate->profiled &&
            (candidate->series[COLD].rounds >= 3 || candidate->series[WARM].rounds >= 3 || always))
            out[found++] = (run_ranked){always ? 0 : candidate->series[COLD].median_ns, i};
    }
    run_sort(out, found);
    return found < SURVIVORS_MOST ? found : SURVIVORS_MOST;
}

// All others, so that the profiler is told another period seldom and loads each program once: in bands of a factor
// of 16 by time, in a band by program.
static size_t all_others(const st_run *run, const run_problem *problem, const bool *taken, run_ranked *out)
{
    size_t found = 0;
    double least = problem->best_ns[COLD] > 0 ? problem->best_ns[COLD] : 1;
    for (size_t i = 0; i < problem->candidate_count; i++) {
        const run_candidate *candidate = &problem->candidates[i];
        if (taken[i] || !can_be_profiled(candidate))
            continue;
        double band = floor(fmax(0, log2(candidate->series[COLD].median_ns / least)) / 4);
        out[found++] =
            (run_ranked){band * (double)run->program_count + (double)run->classes[candidate->class_index].program, i};
    }
    run_sort(out, found);
    return found;
}

static size_t choose(const st_run *run, const run_problem *problem, run_ranked *ranked, bool *taken,
                     wanted_profile *out)
{
    size_t number = 0, count = survivors(run, problem, ranked);
    for (size_t i = 0; i < count; i++) {
        taken[ranked[i].index] = true;
        out[number++] = (wanted_profile){.index = ranked[i].index};
    }
    count = run->options->profile_all ? all_others(run, problem, taken, ranked) : 0;
    for (size_t i = 0; i < count; i++)
        out[number++] = (wanted_profile){.index = ranked[i].index, .in_passing = true};
    return number;
}

st_code run_profile(st_run *run, run_problem *problem, st_error *error)
{
    if (!run_profiling_wanted(run))
        return ST_OK;
    double began = st_clock_seconds();
    size_t most = problem->candidate_count ? problem->candidate_count : 1;
    run_ranked *ranked = st_malloc(most * sizeof *ranked);
    bool *taken = st_calloc(most, sizeof *taken);
    wanted_profile *order = st_malloc(most * sizeof *order);
    st_code code = ranked && taken && order ? ST_OK : st_fail_memory(error, "profiling");
    if (code == ST_OK)
        code = profile_all(run, problem, order, choose(run, problem, ranked, taken, order), error);
    run->profile_seconds += st_clock_seconds() - began;
    st_free(order);
    st_free(taken);
    st_free(ranked);
    return code;
}

st_code run_profile_some(st_run *run, run_problem *problem, const size_t *indexes, size_t count, st_error *error)
{
    double began = st_clock_seconds();
    st_code code = ST_OK;
    for (size_t i = 0; i < count && code == ST_OK && run_profiling_wanted(run) && !run_interrupted(run); i++) {
        bool able = true;
        const wanted_profile wanted = {.index = indexes[i], .in_passing = true};
        if (!can_be_profiled(&problem->candidates[indexes[i]]))
            continue;
        code = run_profiler_begin(run, problem, &able, error);
        if (code == ST_OK && able)
            code = profile_one(run, problem, &wanted, error);
        if (!able)
            break;
    }
    run->profile_seconds += st_clock_seconds() - began;
    return code;
}
