// SPDX-License-Identifier: Apache-2.0
// Exact counters of a problem's finalists, after all of a group's stalls: changing between the two kinds of profiling
// costs more than they do. Invariants: those of run_profile.c.
#include "cupti/counters.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/run_internal.h"

#include <math.h>

enum { COUNTED_MOST = 6 };
static const double count_limit = 60;

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
        code = st_link_counters(run->profiling, ids, COUNTED_MOST, names, metric_count, count_limit, &reply, &trouble,
                                &why);
    if (code == ST_OK && trouble == ST_TROUBLE_REFUSED && why.code == ST_DENIED)
        code = run_counters_gone(run, &why, error);
    else if (code == ST_OK && trouble != ST_TROUBLE_NONE)
        code = run_profiler_stumbled(run, problem, &why, error);
    const json_t *rows = json_object_get(reply, "values");
    double seconds = st_json_number_or_nan(reply, "seconds");
    for (size_t i = 0; i < how_many && reply && code == ST_OK; i++) {
        const json_t *row = json_array_get(rows, i);
        for (size_t m = 0; m < metric_count; m++) {
            const json_t *value = json_array_get(row, m);
            values[m] = json_is_number(value) ? json_number_value(value) : NAN;
        }
        code = st_store_counters(run->store, problem->candidates[problem->counted[i]].key, "range", names, values,
                                 metric_count, seconds / COUNTED_MOST, error);
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

st_code run_count(st_run *run, run_problem *problem, st_error *error)
{
    if (!run_profiling_wanted(run) || !problem->counted_count)
        return ST_OK;
    double began = st_clock_seconds();
    bool able;
    st_code code = run_profiler_begin(run, problem, &able, error);
    bool all_there = code == ST_OK && able;
    for (size_t i = 0; i < problem->counted_count && code == ST_OK && all_there; i++) {
        run_candidate *candidate = &problem->candidates[problem->counted[i]];
        char *detail = NULL;
        candidate->stage = STAGE_NEW;
        candidate->loaded = false;
        code =
            run_load(run, run->profiling, &problem->problem, candidate, (int64_t)problem->counted[i], &detail, error);
        all_there = candidate->stage == STAGE_NEW;
        candidate->stage = STAGE_DONE;
        candidate->outcome = ST_OUTCOME_CORRECT;
        st_free(detail);
    }
    run_progress(run, problem, "count", 0, problem->counted_count);
    if (code == ST_OK && all_there)
        code = count_loaded(run, problem, error);
    for (size_t i = 0; i < problem->counted_count; i++)
        problem->candidates[problem->counted[i]].loaded = false;
    run->profiling_at = NULL; // coming to a problem again clears the worker of these
    run->profile_seconds += st_clock_seconds() - began;
    return code;
}
