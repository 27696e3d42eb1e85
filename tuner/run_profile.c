// SPDX-License-Identifier: Apache-2.0
// Counters of a problem's survivors, after its timing is over (never while timing). Invariants: 1. counters
// that cannot be had are said once and stored as nothing; 2. a profile that fails costs its candidate's
// profile only.
#include "cupti/counters.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/run_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROFILED_MOST = 32, COUNTED_MOST = 6, SAMPLES_LEAST = 300 };
static const double profile_limit = 60;

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

static st_code counters_gone(st_run *run, const st_error *why, st_error *error)
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

// A profiler that stumbled is started anew; after three times the run goes on without.
static st_code stumbled(st_run *run, const run_problem *problem, const st_error *why, st_error *error)
{
    st_link_close(run->profiling);
    run->profiling = NULL;
    if (++run->profile_failures < 3) {
        run_note(run, "%s: the profiler is started anew: %s", problem->text, why->what);
        return ST_OK;
    }
    return counters_gone(run, why, error);
}

// The profile worker at this problem; *able false when there are no counters to be had.
static st_code begin(st_run *run, run_problem *problem, bool *able, st_error *error)
{
    bool too_big = false;
    *able = false;
    if (!run->profiling) {
        st_link_options options = {.backend = run->options->backend,
                                   .ordinal = run->options->ordinal,
                                   .profiles = true,
                                   .support = run->support,
                                   .support_bytes = run->support_bytes,
                                   .program = run->options->program};
        st_error why = {0};
        if (st_link_open(&options, &run->profiling, &why) != ST_OK)
            return counters_gone(run, &why, error);
    }
    st_error why = {0};
    st_code code = run_set_problem(run, run->profiling, &problem->problem, 0, &too_big, &why);
    if (code != ST_OK || too_big)
        run_note(run, "%s: no counters, the device has not the memory for a second worker", problem->text);
    *able = code == ST_OK && !too_big;
    return ST_OK;
}

// Shares of all samples, under the names of the stall table.
static st_code store_stalls(st_run *run, const run_candidate *candidate, const json_t *reply,
                            st_error *error)
{
    json_t *reasons = json_object_get(reply, "reasons");
    size_t count = json_array_size(reasons), used = 0;
    double total = st_json_number_or_nan(reply, "total");
    char (*names)[96] = st_calloc(2 * count + 1, sizeof *names);
    const char **pointers = st_calloc(2 * count + 1, sizeof *pointers);
    double *values = st_calloc(2 * count + 1, sizeof *values);
    st_code code = names && pointers && values ? ST_OK : st_fail_memory(error, "storing a profile");
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        const json_t *reason = json_array_get(reasons, i);
        const char *pc_name = json_string_value(json_object_get(reason, "name"));
        const st_stall *stall = pc_name ? st_stall_find(pc_name) : NULL;
        const char *name = stall ? stall->name : pc_name ? pc_name : "unknown";
        static const char *const kinds[] = {"samples", "not_issued"}, *const prefixes[] = {
            "stall", "stall_not_issued"};
        for (int k = 0; k < 2; k++) {
            snprintf(names[used], sizeof names[used], "%s.%s", prefixes[k], name);
            pointers[used] = names[used];
            values[used++] = st_json_number_or_nan(reason, kinds[k]) / total;
        }
    }
    if (code == ST_OK) {
        pointers[used] = "stall_samples";
        values[used++] = total;
        code = st_store_counters(run->store, candidate->key, "pc", pointers, values, used,
                                 st_json_number_or_nan(reply, "seconds"), error);
    }
    json_t *lines = json_object_get(reply, "lines");
    if (code == ST_OK && json_array_size(lines)) {
        st_text text;
        st_text_init(&text);
        st_json_print(lines, &text);
        code = text.failed ? st_fail_memory(error, "storing a profile")
                           : st_store_stall_lines(run->store, candidate->key, st_text_string(&text), error);
        st_text_release(&text);
    }
    st_free(values);
    st_free(pointers);
    st_free(names);
    return code;
}

static st_code stalls_of(st_run *run, run_problem *problem, size_t index, st_error *error)
{
    run_candidate *candidate = &problem->candidates[index];
    const run_class *class = &run->classes[candidate->class_index];
    const st_compiled *compiled = &run->programs[class->program].compiled;
    char *detail = NULL;
    json_t *reply = NULL;
    st_trouble trouble = ST_TROUBLE_NONE;
    st_error why = {0};
    st_outcome outcome = candidate->outcome;
    candidate->stage = STAGE_NEW;
    st_code code = run_load(run, run->profiling, &problem->problem, candidate, (int64_t)index, &detail,
                            error);
    if (code == ST_OK && candidate->stage == STAGE_NEW)
        code = st_link_stalls(run->profiling, (int64_t)index, SAMPLES_LEAST, compiled->image,
                              compiled->image_bytes, profile_limit, &reply, &trouble, &why);
    if (code == ST_OK && trouble == ST_TROUBLE_REFUSED && why.code == ST_DENIED)
        code = counters_gone(run, &why, error);
    else if (code == ST_OK && trouble != ST_TROUBLE_NONE)
        code = stumbled(run, problem, &why, error);
    else if (code == ST_OK && reply) {
        run->counters_state = ST_COUNTERS_ALLOWED;
        run->result->counters = "allowed";
        candidate->profiled = true;
        code = st_store_begin(run->store, error);
        if (code == ST_OK) {
            code = store_stalls(run, candidate, reply, error);
            if (code == ST_OK)
                code = st_store_commit(run->store, error);
            else
                st_store_rollback(run->store);
        }
    }
    candidate->stage = STAGE_DONE;
    candidate->outcome = outcome; // trouble under the profiler says nothing about the candidate
    json_decref(reply);
    st_free(detail);
    return code;
}

// Exact counters of candidates that are loaded in the profile worker.
static st_code count_loaded(st_run *run, run_problem *problem, st_error *error)
{
    int64_t ids[COUNTED_MOST];
    size_t metric_count, how_many = problem->counted_count;
    const st_metric *metrics = st_metrics(&metric_count);
    const char **names = st_calloc(metric_count, sizeof *names);
    double *values = st_calloc(metric_count, sizeof *values);
    json_t *reply = NULL;
    st_trouble trouble = ST_TROUBLE_NONE;
    st_error why = {0};
    st_code code = names && values ? ST_OK : st_fail_memory(error, "counting");
    for (size_t m = 0; m < metric_count && code == ST_OK; m++)
        names[m] = metrics[m].name;
    // Always as many: the profiler is set up anew, at a fifth of a second, for every other number.
    for (size_t i = 0; i < COUNTED_MOST; i++)
        ids[i] = (int64_t)problem->counted[i < how_many ? i : how_many - 1];
    if (code == ST_OK)
        code = st_link_counters(run->profiling, ids, COUNTED_MOST, names, metric_count, profile_limit, &reply,
                                &trouble, &why);
    if (code == ST_OK && trouble == ST_TROUBLE_REFUSED && why.code == ST_DENIED)
        code = counters_gone(run, &why, error);
    else if (code == ST_OK && trouble != ST_TROUBLE_NONE)
        code = stumbled(run, problem, &why, error);
    const json_t *rows = json_object_get(reply, "values");
    double seconds = st_json_number_or_nan(reply, "seconds");
    for (size_t i = 0; i < how_many && reply && code == ST_OK; i++) {
        const json_t *row = json_array_get(rows, i);
        for (size_t m = 0; m < metric_count; m++) {
            const json_t *value = json_array_get(row, m);
            values[m] = json_is_number(value) ? json_number_value(value) : NAN;
        }
        code = st_store_counters(run->store, problem->candidates[problem->counted[i]].key, "range", names,
                                 values, metric_count, seconds / COUNTED_MOST, error);
    }
    json_decref(reply);
    st_free(values);
    st_free(names);
    return code;
}

void run_mark_counted(run_problem *problem, size_t index)
{
    for (size_t i = 0; i < problem->counted_count; i++)
        if (problem->counted[i] == index)
            return;
    if (problem->counted_count < COUNTED_MOST)
        problem->counted[problem->counted_count++] = index;
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
    return found < PROFILED_MOST ? found : PROFILED_MOST;
}

static st_code profile_all(st_run *run, run_problem *problem, const run_ranked *order, size_t number,
                           st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < number && code == ST_OK && !run_interrupted(run); i++) {
        run_progress(run, problem, "profile", i, number);
        bool able = run->profiling != NULL;
        if (!able) // it stumbled over the one before
            code = begin(run, problem, &able, error);
        if (code == ST_OK && able)
            code = stalls_of(run, problem, order[i].index, error);
        if (counters_are_gone(run) || !able)
            break;
        if (code == ST_OK && run->profiling)
            code = run_unload(run, run->profiling, &problem->candidates[order[i].index],
                              (int64_t)order[i].index, error);
        problem->candidates[order[i].index].loaded = false;
    }
    return code;
}

static bool profiling_wanted(const st_run *run)
{
    return run->options->counters != ST_COUNTERS_OFF && !counters_are_gone(run);
}

st_code run_profile(st_run *run, run_problem *problem, st_error *error)
{
    if (!profiling_wanted(run))
        return ST_OK;
    double began = st_clock_seconds();
    bool able;
    run_ranked *order = st_malloc((problem->candidate_count ? problem->candidate_count : 1) * sizeof *order);
    if (!order)
        return st_fail_memory(error, "profiling");
    size_t number = survivors(run, problem, order);
    st_code code = number ? begin(run, problem, &able, error) : ST_OK;
    if (code == ST_OK && number && able)
        code = profile_all(run, problem, order, number, error);
    run->profile_seconds += st_clock_seconds() - began;
    st_free(order);
    return code;
}

st_code run_count(st_run *run, run_problem *problem, st_error *error)
{
    if (!profiling_wanted(run) || !problem->counted_count)
        return ST_OK;
    double began = st_clock_seconds();
    bool able;
    st_code code = begin(run, problem, &able, error);
    bool all_there = code == ST_OK && able;
    for (size_t i = 0; i < problem->counted_count && code == ST_OK && all_there; i++) {
        run_candidate *candidate = &problem->candidates[problem->counted[i]];
        char *detail = NULL;
        candidate->stage = STAGE_NEW;
        candidate->loaded = false;
        code = run_load(run, run->profiling, &problem->problem, candidate, (int64_t)problem->counted[i], &detail,
                        error);
        all_there = candidate->stage == STAGE_NEW;
        candidate->stage = STAGE_DONE;
        candidate->outcome = ST_OUTCOME_CORRECT;
        st_free(detail);
    }
    run_progress(run, problem, "count", 0, problem->counted_count);
    if (code == ST_OK && all_there)
        code = count_loaded(run, problem, error);
    for (size_t i = 0; i < problem->counted_count; i++)
        problem->candidates[problem->counted[i]].loaded = false; // the next problem clears the worker
    run->profile_seconds += st_clock_seconds() - began;
    return code;
}
