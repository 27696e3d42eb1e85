// SPDX-License-Identifier: Apache-2.0
// What a session concluded: winners, the finals behind them, what each change of the winner is worth, and how much each
// parameter moves the time. Invariants: 1. a conclusion is the stored one, never drawn again here; 2. what a change is
// worth stands on measured candidates alone, and says which; 3. a share of variance is given only where a parameter has
// two values with times at least; 4. times of several candidates are on one scale: that of the finals (base/phases.h).
#include "reports/report_internal.h"

#include "db/session_read.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMPORTANCE_LEAST = 8 }; // candidates with a time, below which a share of variance says nothing

typedef struct results_reading {
    st_store *store;
    st_reported_session *session;
    const report_places *places;
} results_reading;

// --- finals ----------------------------------------------------------------------------------------------------------

static int candidate_by(const st_reported_problem *problem, const char *configuration, const char *id)
{
    for (size_t i = 0; i < problem->count; i++)
        if ((id && strcmp(problem->candidates[i].id, id) == 0) ||
            (configuration && strcmp(problem->candidates[i].configuration, configuration) == 0))
            return (int)i;
    return -1;
}

static bool take_entrant(st_reported_problem *problem, st_reported_result *result, const json_t *entry)
{
    st_reported_entrant *made = REPORT_ADD(result->finals, result->final_count, result->final_capacity);
    if (!made)
        return false;
    const char *rival = json_string_value(json_array_get(json_object_get(entry, "rivals"), 0));
    made->candidate = candidate_by(problem, json_string_value(json_object_get(entry, "configuration")),
                                   json_string_value(json_object_get(entry, "candidate")));
    made->median_ns = st_json_number_or_nan(entry, "median_ns");
    made->ratio = (st_interval){st_json_number_or_nan(entry, "low"), st_json_number_or_nan(entry, "ratio"),
                                st_json_number_or_nan(entry, "high")};
    made->tied = json_is_true(json_object_get(entry, "tied"));
    made->rival = rival ? st_strdup(rival) : NULL;
    return made->rival || !rival;
}

static int by_time(const void *a, const void *b)
{
    const st_reported_entrant *x = a, *y = b;
    if (isnan(x->median_ns) || isnan(y->median_ns))
        return isnan(x->median_ns) - isnan(y->median_ns);
    if (x->median_ns != y->median_ns)
        return x->median_ns < y->median_ns ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

static st_code take_finals(st_reported_problem *problem, st_reported_result *result, const char *ties, st_error *error)
{
    json_t *list = NULL;
    if (!ties || !ties[0])
        return ST_OK;
    st_code code = st_json_parse(ties, strlen(ties), "the finals of a problem", &list, error);
    for (size_t i = 0; i < json_array_size(list) && code == ST_OK; i++)
        if (!take_entrant(problem, result, json_array_get(list, i)))
            code = st_fail_memory(error, "reading the finals of a problem");
    json_decref(list);
    if (code == ST_OK && result->final_count)
        qsort(result->finals, result->final_count, sizeof *result->finals, by_time);
    for (size_t i = 0; i < result->final_count && result->runner_up < 0; i++) {
        int candidate = result->finals[i].candidate;
        if (candidate < 0 || candidate == result->winner || candidate == result->standard)
            continue;
        result->runner_up = candidate;
        result->runner_up_ns = result->finals[i].median_ns;
    }
    return code;
}

// --- samples ---------------------------------------------------------------------------------------------------------

typedef struct samples_reading {
    st_reported_samples *out;
    const char *cache;
    char phase; // the one that stands
} samples_reading;

static st_code take_samples(void *context, const st_measurement_row *row, st_error *error)
{
    samples_reading *at = context;
    if (strcmp(row->cache, at->cache) != 0 || row->phase[0] != at->phase || !row->sample_count)
        return ST_OK;
    size_t count = at->out->count + row->sample_count;
    double *grown = st_realloc(at->out->ns, count * sizeof *grown);
    if (!grown)
        return st_fail_memory(error, "reading samples");
    memcpy(grown + at->out->count, row->samples_ns, row->sample_count * sizeof *grown);
    *at->out = (st_reported_samples){grown, count};
    return ST_OK;
}

static st_code load_side(results_reading *at, const st_reported_problem *problem, int cache, int candidate,
                         st_reported_samples *samples, st_reported_profile **profile, st_error *error)
{
    if (candidate < 0)
        return ST_OK;
    const st_reported_candidate *of = &problem->candidates[candidate];
    samples_reading reading = {samples, st_report_cache_name(cache), of->times[cache].phase};
    st_code code = st_store_measurements(at->store, of->key, take_samples, &reading, error);
    return code == ST_OK ? report_profile_load(at->store, at->session, problem, cache, candidate, profile, error)
                         : code;
}

// --- changes ---------------------------------------------------------------------------------------------------------

static const char *value_text(const st_reported_parameter *parameter, uint16_t value)
{
    return value == ST_REPORT_NO_VALUE ? "" : parameter->values[value];
}

static void weigh_change(const st_reported_problem *problem, const st_reported_result *result, int cache, uint16_t kept,
                         st_reported_change *change)
{
    double best = INFINITY;
    change->without = NAN;
    change->alone = (st_interval){NAN, NAN, NAN};
    change->without_candidate = -1;
    for (size_t i = 0; i < problem->count; i++) {
        double ns = problem->candidates[i].times[cache].comparable_ns;
        bool counts = problem->candidates[i].values[change->parameter] == kept && ns > 0;
        change->without_count += counts;
        if (!counts || !(ns < best))
            continue;
        best = ns;
        change->without_candidate = (int)i;
    }
    if (change->without_candidate >= 0)
        change->without = best / result->winner_ns;
}

static int by_worth(const void *a, const void *b)
{
    const st_reported_change *x = a, *y = b;
    bool tells_x = x->without_count >= ST_REPORT_TELLING, tells_y = y->without_count >= ST_REPORT_TELLING;
    if (tells_x != tells_y)
        return tells_x ? -1 : 1;
    double of_x = isnan(x->without) ? 0 : x->without, of_y = isnan(y->without) ? 0 : y->without;
    if (of_x != of_y)
        return of_x > of_y ? -1 : 1;
    return x->parameter - y->parameter;
}

static st_code make_changes(const st_reported_session *session, const st_reported_problem *problem, int cache,
                            st_reported_result *result, st_error *error)
{
    if (result->winner < 0 || result->standard < 0)
        return ST_OK;
    const uint16_t *to = problem->candidates[result->winner].values,
                   *from = problem->candidates[result->standard].values;
    for (size_t i = 0; i < session->parameter_count; i++) {
        if (to[i] == from[i])
            continue;
        st_reported_change *change = REPORT_ADD(result->changes, result->change_count, result->change_capacity);
        if (!change)
            return st_fail_memory(error, "comparing winner and default");
        change->parameter = (int)i;
        change->from = value_text(&session->parameters[i], from[i]);
        change->to = value_text(&session->parameters[i], to[i]);
        weigh_change(problem, result, cache, from[i], change);
    }
    if (result->change_count)
        qsort(result->changes, result->change_count, sizeof *result->changes, by_worth);
    return ST_OK;
}

// --- importance ------------------------------------------------------------------------------------------------------

// Share of the variance of log time between the groups that a parameter's values make. `sums` and `counts` have room for
// all values.
static double explained(const st_reported_problem *problem, int cache, size_t parameter, size_t values, double mean,
                        double variance, double *sums, size_t *counts)
{
    double between = 0;
    size_t groups = 0;
    memset(sums, 0, values * sizeof *sums);
    memset(counts, 0, values * sizeof *counts);
    for (size_t i = 0; i < problem->count; i++) {
        double ns = problem->candidates[i].times[cache].comparable_ns;
        uint16_t value = problem->candidates[i].values[parameter];
        if (!(ns > 0) || value == ST_REPORT_NO_VALUE)
            continue;
        sums[value] += log(ns) - mean;
        counts[value]++;
    }
    for (size_t v = 0; v < values; v++)
        if (counts[v]) {
            between += sums[v] * sums[v] / (double)counts[v];
            groups++;
        }
    return groups > 1 && variance > 0 ? between / variance : NAN;
}

static st_code make_importance(const st_reported_session *session, const st_reported_problem *problem, int cache,
                               st_reported_result *result, st_error *error)
{
    double mean = 0, variance = 0, *sums;
    size_t count = 0, most = 1, *counts;
    for (size_t i = 0; i < problem->count; i++)
        if (problem->candidates[i].times[cache].comparable_ns > 0) {
            mean += log(problem->candidates[i].times[cache].comparable_ns);
            count++;
        }
    if (!count)
        return ST_OK;
    mean /= (double)count;
    for (size_t i = 0; i < problem->count; i++)
        if (problem->candidates[i].times[cache].comparable_ns > 0)
            variance += pow(log(problem->candidates[i].times[cache].comparable_ns) - mean, 2);
    for (size_t i = 0; i < session->parameter_count; i++)
        most = session->parameters[i].value_count > most ? session->parameters[i].value_count : most;
    result->importance = st_calloc(session->parameter_count ? session->parameter_count : 1, sizeof *result->importance);
    sums = st_calloc(most, sizeof *sums);
    counts = st_calloc(most, sizeof *counts);
    bool fine = result->importance && sums && counts;
    for (size_t i = 0; i < session->parameter_count && fine; i++)
        result->importance[i] =
            count < IMPORTANCE_LEAST
                ? NAN
                : explained(problem, cache, i, session->parameters[i].value_count, mean, variance, sums, counts);
    st_free(sums);
    st_free(counts);
    return fine ? ST_OK : st_fail_memory(error, "weighing parameters");
}

// --- winners ---------------------------------------------------------------------------------------------------------

static int index_of(const results_reading *at, int64_t key, size_t problem)
{
    const report_place *place = report_place_of(at->places, key);
    return place && place->problem == problem ? (int)place->candidate : -1;
}

static void copy_winner(const results_reading *at, const st_winner_row *row, size_t problem, st_reported_result *to)
{
    to->winner = index_of(at, row->winner_key, problem);
    to->standard = row->default_key < 0 ? -1 : index_of(at, row->default_key, problem);
    to->winner_ns = row->winner_ns;
    to->standard_ns = row->default_ns;
    to->speedup = (st_interval){row->speedup_low, row->speedup, row->speedup_high};
    to->tied = row->tied;
    to->bytes = row->bytes;
    to->speed = row->bytes / row->winner_ns;
}

static void take_limit(st_reported_result *result)
{
    if (!result->winner_profile)
        return;
    const st_profile_view *view = &result->winner_profile->view;
    result->limit_gbs = st_view_measured_limit_gbs(view);
    result->limit_share = result->speed / result->limit_gbs;
    result->written = isfinite(result->limit_gbs) ? st_view_written_share(view) : NAN;
}

// The template's text may be unknown: the default then shows in the results.
static void take_standard_values(st_reported_session *session, const st_reported_problem *problem, int standard)
{
    for (size_t i = 0; i < session->parameter_count && standard >= 0; i++) {
        uint16_t value = problem->candidates[standard].values[i];
        if (session->parameters[i].standard < 0 && value != ST_REPORT_NO_VALUE)
            session->parameters[i].standard = value;
    }
}

static st_code take_winner(void *context, const st_winner_row *row, const char *problem_text, st_error *error)
{
    results_reading *at = context;
    int cache = st_report_cache_find(row->cache);
    size_t p = 0;
    while (p < at->session->count && strcmp(at->session->problems[p].text, problem_text) != 0)
        p++;
    if (p == at->session->count || cache < 0)
        return ST_OK;
    st_reported_problem *problem = &at->session->problems[p];
    st_reported_result *result = &problem->results[cache];
    copy_winner(at, row, p, result);
    if (result->winner < 0)
        return ST_OK;
    take_standard_values(at->session, problem, result->standard);
    if (row->note && row->note[0] && !(result->note = st_strdup(row->note)))
        return st_fail_memory(error, "reading winners");
    st_code code = take_finals(problem, result, row->ties_json, error);
    if (code == ST_OK)
        code = load_side(at, problem, cache, result->winner, &result->winner_samples, &result->winner_profile, error);
    if (code == ST_OK)
        code = load_side(at, problem, cache, result->standard, &result->standard_samples, &result->standard_profile,
                         error);
    if (code == ST_OK)
        code = load_side(at, problem, cache, result->runner_up, &result->runner_up_samples, &result->runner_up_profile,
                         error);
    take_limit(result);
    return code;
}

static st_code take_past(void *context, const st_past_winner *row, st_error *error)
{
    results_reading *at = context;
    int cache = st_report_cache_find(row->cache);
    for (size_t p = 0; p < at->session->count && cache >= 0; p++) {
        st_reported_result *result = &at->session->problems[p].results[cache];
        if (strcmp(at->session->problems[p].text, row->problem) != 0)
            continue;
        st_reported_past *made = REPORT_ADD(result->past, result->past_count, result->past_capacity);
        if (made)
            made->configuration = st_strdup(row->configuration);
        if (!made || !made->configuration)
            return st_fail_memory(error, "reading past winners");
        snprintf(made->session_id, sizeof made->session_id, "%s", row->session_id);
        snprintf(made->driver, sizeof made->driver, "%s", row->driver);
        snprintf(made->compiler, sizeof made->compiler, "%s", row->compiler);
        snprintf(made->tool, sizeof made->tool, "%s", row->tool);
        snprintf(made->template_hash, sizeof made->template_hash, "%s", row->template_hash);
        made->ns = row->winner_ns;
        made->ended_ms = row->ended_ms;
    }
    return ST_OK;
}

st_code report_results(st_store *store, st_reported_session *session, const report_places *places, st_error *error)
{
    results_reading at = {store, session, places};
    st_code code = st_store_session_winners(store, session->session.key, take_winner, &at, error);
    if (code == ST_OK)
        code = st_store_past_winners(store, session->session.key, take_past, &at, error);
    for (size_t p = 0; p < session->count; p++)
        for (int cache = 0; cache < ST_REPORT_CACHES && code == ST_OK; cache++) {
            st_reported_result *result = &session->problems[p].results[cache];
            code = make_changes(session, &session->problems[p], cache, result, error);
            if (code == ST_OK)
                code = report_pairs(session, &session->problems[p], cache, result, error);
            if (code == ST_OK)
                code = report_steps(session, &session->problems[p], cache, result, error);
            if (code == ST_OK)
                code = report_credits(session, &session->problems[p], result, error);
            if (code == ST_OK)
                code = make_importance(session, &session->problems[p], cache, result, error);
        }
    return code;
}
