// SPDX-License-Identifier: Apache-2.0
// Counters of loaded candidates, in the profile worker alone. Invariant: each run that is profiled begins
// with the candidate's own zero steps, so a pass that is replayed finds tickets and tile states reset.
#include "cupti/counters.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/worker/profile_internal.h"

#include <math.h>

typedef struct profiled_run {
    st_worker *worker;
    const wk_candidate *candidate;
} profiled_run;

static st_code run_once(void *context, st_error *error)
{
    profiled_run *run = context;
    st_code code = wk_plan_run(run->worker, run->candidate, 0, error);
    return code == ST_OK ? run->worker->ops->synchronize(run->worker->gpu, error) : code;
}

// Before every profiled run, outside of what is counted: profiles are of the cold cache.
static st_code make_cold(void *context, st_error *error)
{
    profiled_run *run = context;
    st_code code = wk_flush_cache(run->worker, error);
    return code == ST_OK ? run->worker->ops->synchronize(run->worker->gpu, error) : code;
}

void wk_profiler_close(st_worker *worker)
{
    if (worker->profiler)
        st_profiler_close(worker->profiler);
    worker->profiler = NULL;
}

static st_code need_profiler(st_worker *worker, st_error *error)
{
    if (worker->profiler)
        return ST_OK;
    if (!worker->profiles)
        return st_fail(error, ST_FAILED, NULL, "this worker times: it must not profile");
    st_counters_state state = ST_COUNTERS_FAILED;
    if (wk_emulated(worker))
        return wk_emulated_counters_allowed(error);
    st_code code = st_profiler_open(worker->ops->native_context(worker->gpu), worker->facts.ordinal,
                                    &worker->profiler, &state, error);
    if (code != ST_OK && state != ST_COUNTERS_ALLOWED)
        return st_fail(error, ST_DENIED, st_counters_remedy(state), "counters are %s",
                       st_counters_state_name(state));
    if (code == ST_OK)
        st_profiler_set_prepare(worker->profiler, make_cold);
    return code;
}

void wk_profiler_warm(st_worker *worker)
{
    if (need_profiler(worker, NULL) == ST_OK && worker->profiler)
        (void)st_profiler_warm(worker->profiler, NULL);
}

enum { LINES_MOST = 64 }; // the rest are single samples

static json_t *encode_stalls(const st_stall_profile *profile, size_t lines_most)
{
    json_t *reasons = json_array(), *lines = json_array();
    for (size_t i = 0; i < profile->reason_count; i++) {
        const st_stall_sample *reason = &profile->reasons[i];
        json_array_append_new(reasons, json_pack("{s:s, s:I, s:I}", "name", reason->pc_name, "samples",
                                                 (json_int_t)reason->samples, "not_issued",
                                                 (json_int_t)reason->samples_not_issued));
    }
    for (size_t i = 0; i < profile->line_count && i < lines_most; i++) {
        const st_line_sample *line = &profile->lines[i];
        size_t known;
        const st_stall *stalls = st_stalls(&known);
        bool named = line->main_stall >= 0 && (size_t)line->main_stall < known;
        json_array_append_new(
            lines, json_pack("{s:s, s:s, s:i, s:I, s:I, s:s}", "function", line->function, "file",
                             line->file, "line", line->line, "pc", (json_int_t)line->pc_offset, "samples",
                             (json_int_t)line->samples, "stall",
                             named ? stalls[line->main_stall].name : ""));
    }
    return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:f}", "type", "stalls", "reasons", reasons, "lines",
                     lines, "total", (json_int_t)profile->total_samples, "dropped",
                     (json_int_t)profile->dropped_samples, "launches", (json_int_t)profile->launches,
                     "launch_seconds", st_json_number(profile->launch_seconds), "seconds", profile->seconds);
}

// How much is looked at: `minimum`, and what may be absent.
static st_code read_options(const json_t *request, st_stall_options *out, st_error *error)
{
    int64_t minimum = 0, lines = LINES_MOST;
    *out = (st_stall_options){0};
    st_code code = st_json_get_int(request, "minimum", &minimum, error);
    if (code == ST_OK && json_object_get(request, "lines"))
        code = st_json_get_int(request, "lines", &lines, error);
    if (code == ST_OK && json_object_get(request, "expected_ns"))
        code = st_json_get_number(request, "expected_ns", &out->expected_ns, error);
    if (code == ST_OK && json_object_get(request, "seconds"))
        code = st_json_get_number(request, "seconds", &out->seconds, error);
    out->minimum = minimum > 0 ? (uint64_t)minimum : 0;
    out->lines = lines < 1 ? 1 : lines > LINES_MOST ? LINES_MOST : (size_t)lines;
    return code;
}

st_code wk_stalls(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error)
{
    wk_candidate *candidate;
    st_stall_options how;
    st_stall_profile profile = {0};
    st_code code = wk_get_planned(worker, request->json, &candidate, error);
    if (code == ST_OK)
        code = read_options(request->json, &how, error);
    if (code == ST_OK)
        code = wk_data_prepare(worker, ST_DATA_RANDOM, 0, error);
    if (code == ST_OK)
        code = need_profiler(worker, error);
    if (code != ST_OK)
        return code;
    profiled_run run = {worker, candidate};
    if (wk_emulated(worker))
        code = wk_emulated_stalls(worker, make_cold, run_once, &run, how.minimum, &profile, error);
    else
        code = st_profiler_stalls_as(worker->profiler, run_once, &run, request->blob, request->blob_length, &how,
                                     &profile, error);
    if (code == ST_OK && !(reply->json = encode_stalls(&profile, how.lines)))
        code = st_fail_memory(error, "writing a profile");
    st_stall_profile_release(&profile);
    return code;
}

// The names of a list of texts; borrowed from it.
static st_code read_names(const json_t *request, const char ***out, size_t *count, st_error *error)
{
    json_t *list;
    st_code code = st_json_get_array(request, "metrics", &list, error);
    if (code != ST_OK)
        return code;
    *count = json_array_size(list);
    *out = st_calloc(*count, sizeof **out);
    if (!*out)
        return st_fail_memory(error, "reading metric names");
    for (size_t i = 0; i < *count; i++) {
        (*out)[i] = json_string_value(json_array_get(list, i));
        if (!(*out)[i])
            return st_fail(error, ST_FAILED, NULL, "a metric's name is not a text");
    }
    return ST_OK;
}

static json_t *encode_values(const double *values, size_t rows, size_t columns)
{
    json_t *list = json_array();
    for (size_t r = 0; r < rows && list; r++) {
        json_t *row = json_array();
        for (size_t c = 0; c < columns && row; c++)
            json_array_append_new(row, st_json_number(values[r * columns + c]));
        json_array_append_new(list, row);
    }
    return list;
}

st_code wk_counters(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error)
{
    json_t *ids;
    const char **names = NULL;
    size_t name_count = 0, count = 0;
    profiled_run *runs = NULL;
    void **contexts = NULL;
    double *values = NULL, seconds = wk_emulated(worker) ? 0 : NAN;
    st_code code = st_json_get_array(request->json, "candidates", &ids, error);
    if (code == ST_OK)
        code = read_names(request->json, &names, &name_count, error);
    if (code == ST_OK)
        code = wk_data_prepare(worker, ST_DATA_RANDOM, 0, error);
    if (code == ST_OK)
        code = need_profiler(worker, error);
    if (code == ST_OK) {
        count = json_array_size(ids);
        runs = st_calloc(count, sizeof *runs);
        contexts = st_calloc(count, sizeof *contexts);
        values = st_calloc(count * name_count, sizeof *values);
        if (!runs || !contexts || !values)
            code = st_fail_memory(error, "counting");
    }
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        runs[i] = (profiled_run){
            worker, wk_candidate_find(worker, json_integer_value(json_array_get(ids, i)))};
        contexts[i] = &runs[i];
        if (!runs[i].candidate || !runs[i].candidate->plan.temp_counts)
            code = st_fail(error, ST_FAILED, NULL, "a candidate to count is not loaded or has no plan");
    }
    if (code == ST_OK && wk_emulated(worker))
        code = wk_emulated_counters(worker, make_cold, run_once, contexts, count, names, name_count, values, error);
    else if (code == ST_OK)
        code = st_profiler_counters(worker->profiler, run_once, contexts, count, names, name_count, values,
                                    &seconds, error);
    if (code == ST_OK)
        reply->json = json_pack("{s:s, s:o, s:o}", "type", "counters", "values",
                                encode_values(values, count, name_count), "seconds",
                                st_json_number(seconds));
    st_free(values);
    st_free(contexts);
    st_free(runs);
    st_free(names);
    return code;
}
