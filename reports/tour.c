// SPDX-License-Identifier: Apache-2.0
// Finding the rows of a stop. Invariants: 1. all rows of a stop are of one session and problem; 2. rows of a stop that is
// about one parameter alone differ in it alone, unless the store has no such pair, which is then said; 3. more values, then
// more profiles, then the share of the first value's samples that wait for what the claim is about make one set better than
// another: what is shown is the case that articles speak of.
#include "reports/tour.h"

#include "reports/report_internal.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SESSIONS_MOST = 6 };

// --- sessions -------------------------------------------------------------------------------------------------------------

typedef struct session_list {
    struct {
        char id[ST_HASH_TEXT];
        bool hardware;
        int64_t taken_ms;
    } items[SESSIONS_MOST];
    size_t count;
} session_list;

// The newest, hardware first.
static st_code list_session(void *context, const st_answer *answer, st_error *error)
{
    session_list *list = context;
    bool hardware = st_backend_is_hardware(answer->backend);
    (void)error;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].id, answer->session_id) == 0)
            return ST_OK;
    size_t at = 0;
    while (at < list->count &&
           (list->items[at].hardware > hardware ||
            (list->items[at].hardware == hardware && list->items[at].taken_ms >= answer->taken_ms)))
        at++;
    if (at == SESSIONS_MOST)
        return ST_OK;
    size_t moved = (list->count < SESSIONS_MOST ? list->count : SESSIONS_MOST - 1) - at;
    memmove(&list->items[at + 1], &list->items[at], moved * sizeof list->items[0]);
    list->count += list->count < SESSIONS_MOST;
    list->items[at].hardware = hardware;
    list->items[at].taken_ms = answer->taken_ms;
    snprintf(list->items[at].id, sizeof list->items[at].id, "%s", answer->session_id);
    return ST_OK;
}

static st_code list_sessions(st_store *store, const st_tour_stop *stop, const char *device, const int *archs,
                             size_t arch_count, session_list *out, st_error *error)
{
    *out = (session_list){.count = 0};
    st_query query = {.family = stop->family,
                      .device = device,
                      .archs = archs,
                      .arch_count = arch_count,
                      .cc = -1,
                      .sm_count = -1,
                      .n = -1,
                      .since_ms = -1,
                      .cache = "cold",
                      .top = 1};
    return st_store_query(store, &query, list_session, out, error);
}

// --- sets of candidates ---------------------------------------------------------------------------------------------------

typedef struct tour_set {
    int problem, candidates[ST_TOUR_VALUES]; // -1: none
    size_t values, profiles;
    bool alone;
    double share; // of the first value's samples that wait for what the stop looks at
} tour_set;

typedef struct looking {
    const st_reported_session *session;
    const st_tour_stop *stop;
    int parameter, values[ST_TOUR_VALUES]; // index of each value, -1: the session has none
    size_t count;
    double *share; // of the problem at hand, a candidate each: as above; NaN: no profile
} looking;

static size_t count_values(const st_tour_stop *stop)
{
    size_t count = 0;
    while (count < ST_TOUR_VALUES && stop->values[count])
        count++;
    return count;
}

static int index_of_value(const st_reported_parameter *parameter, const char *value)
{
    for (size_t v = 0; v < parameter->value_count; v++)
        if (strcmp(parameter->values[v], value) == 0)
            return (int)v;
    return -1;
}

static bool find_parameter(looking *at)
{
    at->parameter = -1;
    for (size_t p = 0; p < at->session->parameter_count; p++)
        if (strcmp(at->session->parameters[p].name, at->stop->parameter) == 0)
            at->parameter = (int)p;
    at->count = count_values(at->stop);
    for (size_t v = 0; v < at->count && at->parameter >= 0; v++)
        at->values[v] = index_of_value(&at->session->parameters[at->parameter], at->stop->values[v]);
    return at->parameter >= 0;
}

static double time_of(const st_reported_candidate *candidate)
{
    return candidate->outcome == ST_REPORTED_CORRECT ? candidate->times[ST_REPORT_COLD].comparable_ns : NAN;
}

static bool same_otherwise(const looking *at, const st_reported_candidate *a, const st_reported_candidate *b)
{
    for (size_t p = 0; p < at->session->parameter_count; p++)
        if ((int)p != at->parameter && a->values[p] != b->values[p])
            return false;
    return true;
}

static int value_of(const looking *at, const st_reported_candidate *candidate)
{
    for (size_t v = 0; v < at->count; v++)
        if (at->values[v] >= 0 && candidate->values[at->parameter] == at->values[v])
            return (int)v;
    return -1;
}

// The fastest of each value; those only that are as `like` otherwise, if it is given.
static void fill_set(const looking *at, int problem, const st_reported_candidate *like, tour_set *out)
{
    const st_reported_problem *of = &at->session->problems[problem];
    *out = (tour_set){.problem = problem, .alone = like != NULL};
    for (size_t v = 0; v < ST_TOUR_VALUES; v++)
        out->candidates[v] = -1;
    for (size_t c = 0; c < of->count; c++) {
        int value = value_of(at, &of->candidates[c]);
        double ns = time_of(&of->candidates[c]);
        if (value < 0 || isnan(ns) || (like && !same_otherwise(at, like, &of->candidates[c])))
            continue;
        int *best = &out->candidates[value];
        // A profile is worth a slightly slower one: that is what the table is for.
        double had =
            *best < 0 ? INFINITY
                      : time_of(&of->candidates[*best]) * (!isnan(at->share[c]) && isnan(at->share[*best]) ? 1.1 : 1);
        if (ns < had)
            *best = (int)c;
    }
    for (size_t v = 0; v < at->count; v++)
        if (out->candidates[v] >= 0) {
            double share = at->share[out->candidates[v]];
            out->share = out->values++ ? out->share : isnan(share) ? 0 : share;
            out->profiles += !isnan(share);
        }
}

static bool is_better(const tour_set *a, const tour_set *b)
{
    if (a->values != b->values)
        return a->values > b->values;
    if (a->profiles != b->profiles)
        return a->profiles > b->profiles;
    return a->share > b->share;
}

static void keep_better(const tour_set *made, tour_set *best)
{
    if (made->values >= 2 && is_better(made, best))
        *best = *made;
}

typedef struct share_reading {
    const char *counter; // "stall.wait"
    double share;
    bool any;
} share_reading;

static st_code take_counter(void *context, const char *kind, const char *name, double value, st_error *error)
{
    share_reading *at = context;
    (void)error;
    at->any = at->any || strcmp(name, "stall_samples") == 0;
    if (strcmp(kind, "pc") == 0 && strcmp(name, at->counter) == 0)
        at->share = value;
    return ST_OK;
}

static st_code read_shares(st_store *store, const looking *at, const st_reported_problem *problem, st_error *error)
{
    st_code code = ST_OK;
    char counter[64];
    snprintf(counter, sizeof counter, "stall.%s", at->stop->look_at[0]);
    for (size_t c = 0; c < problem->count && code == ST_OK; c++) {
        share_reading one = {.counter = counter};
        at->share[c] = NAN;
        if (value_of(at, &problem->candidates[c]) < 0)
            continue;
        code = st_store_counters_of(store, problem->candidates[c].key, take_counter, &one, error);
        at->share[c] = !one.any ? NAN : isnan(one.share) ? 0 : one.share;
    }
    return code;
}

static st_code look_at_problem(looking *at, st_store *store, int problem, tour_set *alone, tour_set *any,
                               st_error *error)
{
    const st_reported_problem *of = &at->session->problems[problem];
    tour_set made;
    at->share = st_malloc((of->count + 1) * sizeof *at->share);
    if (!at->share)
        return st_fail_memory(error, "looking for a stop of the tour");
    st_code code = read_shares(store, at, of, error);
    for (size_t c = 0; c < of->count && code == ST_OK && at->stop->alone; c++)
        if (value_of(at, &of->candidates[c]) >= 0 && !isnan(time_of(&of->candidates[c]))) {
            fill_set(at, problem, &of->candidates[c], &made);
            keep_better(&made, alone);
        }
    if (code == ST_OK) {
        fill_set(at, problem, NULL, &made);
        keep_better(&made, any);
    }
    st_free(at->share);
    return code;
}

// --- rows -------------------------------------------------------------------------------------------------------------------

static st_code fill_row(st_store *store, const looking *at, const tour_set *set, size_t value, st_tour_row *out,
                        st_error *error)
{
    const st_reported_problem *problem = &at->session->problems[set->problem];
    int candidate = set->candidates[value];
    *out = (st_tour_row){.value = at->stop->values[value], .ns = NAN, .median_ns = NAN, .registers = -1};
    st_view_init(&out->view);
    for (size_t c = 0; c < problem->count; c++)
        if (value_of(at, &problem->candidates[c]) == (int)value) {
            out->tried++;
            out->wrong += problem->candidates[c].outcome == ST_REPORTED_WRONG;
        }
    if (candidate < 0)
        return ST_OK;
    st_reported_profile *profile = NULL;
    st_code code = report_profile_load(store, at->session, problem, ST_REPORT_COLD, candidate, &profile, error);
    if (code == ST_OK) {
        const st_reported_candidate *of = &problem->candidates[candidate];
        out->view = profile->view;
        out->view.lines = NULL;
        out->view.line_count = 0;
        out->ns = time_of(of);
        out->median_ns = of->times[ST_REPORT_COLD].median_ns;
        out->view.ns = out->ns; // shares of the limit are compared, too
        out->registers = of->registers;
        out->configuration = st_strdup(of->configuration);
        snprintf(out->id, sizeof out->id, "%s", of->id);
        if (!out->configuration)
            code = st_fail_memory(error, "looking for a stop of the tour");
    }
    report_profile_free(profile);
    return code;
}

static st_code fill_found(st_store *store, const looking *at, const tour_set *set, st_tour_found *out,
                          st_error *error)
{
    const st_reported_session *session = at->session;
    st_tour_found_release(out);
    *out = (st_tour_found){.found = true,
                           .alone = set->alone,
                           .device = st_strdup(session->device_name),
                           .backend = st_strdup(session->backend),
                           .problem = st_strdup(session->problems[set->problem].text)};
    snprintf(out->uuid, sizeof out->uuid, "%s", session->device_uuid);
    snprintf(out->session, sizeof out->session, "%s", session->session.id);
    st_code code =
        out->device && out->backend && out->problem ? ST_OK : st_fail_memory(error, "looking for a stop of the tour");
    for (size_t v = 0; v < at->count && code == ST_OK; v++)
        code = fill_row(store, at, set, v, &out->rows[out->count++], error);
    return code;
}

static st_code look_in_session(st_store *store, const st_tour_stop *stop, const char *session, tour_set *best,
                               st_tour_found *out, st_error *error)
{
    st_report report;
    st_code code = st_report_load(store, &session, 1, ST_REPORT_COLD, &report, error);
    if (code != ST_OK)
        return code;
    looking at = {.session = &report.sessions[0], .stop = stop};
    tour_set alone = {.values = 0}, any = {.values = 0};
    for (size_t p = 0; p < at.session->count && code == ST_OK && find_parameter(&at); p++)
        code = look_at_problem(&at, store, (int)p, &alone, &any, error);
    // One parameter alone says more than all others at their best, however few values it has.
    const tour_set *made = alone.values >= 2 ? &alone : &any;
    bool first = !best->values,
         more = made->alone > best->alone || (made->alone == best->alone && is_better(made, best));
    if (code == ST_OK && made->values >= 2 && (first || more)) {
        *best = *made;
        code = fill_found(store, &at, made, out, error);
    }
    st_report_release(&report);
    return code;
}

st_code st_tour_find(st_store *store, const st_tour_stop *stop, const char *device, const int *archs, size_t arch_count,
                     st_tour_found *out, st_error *error)
{
    session_list sessions;
    tour_set best = {.values = 0};
    *out = (st_tour_found){.found = false};
    st_code code = list_sessions(store, stop, device, archs, arch_count, &sessions, error);
    for (size_t i = 0; i < sessions.count && code == ST_OK; i++)
        if (!best.values || sessions.items[i].hardware == sessions.items[0].hardware)
            code = look_in_session(store, stop, sessions.items[i].id, &best, out, error);
    if (code != ST_OK)
        st_tour_found_release(out);
    return code;
}

void st_tour_found_release(st_tour_found *found)
{
    for (size_t i = 0; i < found->count; i++)
        st_free(found->rows[i].configuration);
    st_free(found->device);
    st_free(found->backend);
    st_free(found->problem);
    *found = (st_tour_found){.found = false};
}
