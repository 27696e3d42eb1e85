// SPDX-License-Identifier: Apache-2.0
// A report from the store. Invariants: 1. everything comes from stored rows; 2. candidates stand in the order in which
// they were tried, problems in that in which the session came to them; 3. what the store does not know stays NaN, -1,
// "" or NULL; 4. each kind of row is read in one statement for the whole session, so that many candidates cost little.
#include "reports/report_internal.h"

#include "db/session_read.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *report_add(void **list, size_t *count, size_t *capacity, size_t bytes)
{
    char *grown = st_grow(*list, capacity, *count + 1, bytes);
    if (!grown)
        return NULL;
    *list = grown;
    return memset(grown + bytes * (*count)++, 0, bytes);
}

// --- candidates ------------------------------------------------------------------------------------------------------

typedef struct loading {
    st_reported_session *session;
    report_places places;
    size_t place;   // of the candidate whose times were read last
    bool of_finals; // clocks are of the finals already
} loading;

static void clear_result(st_reported_result *result)
{
    *result = (st_reported_result){.winner = -1, .standard = -1, .runner_up = -1};
    result->winner_ns = result->standard_ns = result->runner_up_ns = result->fastest_ns = NAN;
    result->speedup = (st_interval){NAN, NAN, NAN};
    result->bytes = result->speed = result->limit_gbs = result->limit_share = result->written = NAN;
}

static st_reported_problem *problem_of(st_reported_session *session, const char *text)
{
    // A session comes to its problems one after the other: the last one is nearly always it.
    for (size_t i = session->count; i-- > 0;)
        if (strcmp(session->problems[i].text, text) == 0)
            return &session->problems[i];
    st_reported_problem *made = REPORT_ADD(session->problems, session->count, session->capacity);
    if (!made)
        return NULL;
    made->n = -1;
    for (int cache = 0; cache < ST_REPORT_CACHES; cache++)
        clear_result(&made->results[cache]);
    made->text = st_strdup(text);
    return made->text ? made : NULL;
}

static st_reported_outcome outcome_of(const char *word)
{
    for (int i = 0; i < ST_REPORTED_OTHER; i++)
        if (strcmp(word, st_reported_outcome_name((st_reported_outcome)i)) == 0)
            return (st_reported_outcome)i;
    return ST_REPORTED_OTHER;
}

static void copy_facts(st_reported_candidate *to, const st_candidate_row *row)
{
    to->key = row->key;
    to->outcome = outcome_of(row->outcome);
    to->registers = row->registers;
    to->local_bytes = row->local_bytes;
    to->static_smem = row->static_smem;
    to->dynamic_smem = row->dynamic_smem;
    to->blocks_per_sm = row->blocks_per_sm;
    to->deterministic = row->deterministic;
    to->occupancy = row->occupancy;
    to->compile_seconds = row->compile_seconds;
    snprintf(to->id, sizeof to->id, "%s", row->id);
    for (int cache = 0; cache < ST_REPORT_CACHES; cache++)
        to->times[cache] = (st_reported_time){
            .median_ns = NAN, .comparable_ns = NAN, .phases = st_phase_no_times, .first_ns = NAN, .first_ms = -1};
}

static st_code take_candidate(void *context, const st_candidate_row *row, const char *problem_text,
                              const char *configuration, st_error *error)
{
    loading *at = context;
    st_reported_problem *problem = problem_of(at->session, problem_text);
    st_reported_candidate *made = problem ? REPORT_ADD(problem->candidates, problem->count, problem->capacity) : NULL;
    report_place *place = made ? REPORT_ADD(at->places.items, at->places.count, at->places.capacity) : NULL;
    if (!place)
        return st_fail_memory(error, "reading a session");
    *place = (report_place){row->key, (uint32_t)(problem - at->session->problems), (uint32_t)(problem->count - 1)};
    copy_facts(made, row);
    made->configuration = st_strdup(configuration);
    made->detail = row->detail && row->detail[0] ? st_strdup(row->detail) : NULL;
    problem->outcomes[made->outcome]++;
    at->session->outcomes[made->outcome]++;
    at->session->candidate_count++;
    return made->configuration && (made->detail || !row->detail || !row->detail[0])
               ? ST_OK
               : st_fail_memory(error, "reading a session");
}

const report_place *report_place_of(const report_places *places, int64_t key)
{
    size_t low = 0, high = places->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places->items[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < places->count && places->items[low].key == key ? &places->items[low] : NULL;
}

static st_code take_problem(void *context, const char *text, const char *type, const char *operation, int64_t n,
                            st_error *error)
{
    loading *at = context;
    for (size_t i = 0; i < at->session->count; i++) {
        st_reported_problem *problem = &at->session->problems[i];
        if (strcmp(problem->text, text) != 0)
            continue;
        problem->n = n;
        problem->type = type[0] ? st_strdup(type) : NULL;
        problem->operation = operation[0] ? st_strdup(operation) : NULL;
        if ((type[0] && !problem->type) || (operation[0] && !problem->operation))
            return st_fail_memory(error, "reading a session");
    }
    return ST_OK;
}

// --- times -----------------------------------------------------------------------------------------------------------

static int rank_of(char phase)
{
    return phase == 'f' ? 3 : phase == 'h' ? 2 : phase == 's' ? 1 : 0;
}

static void widen(int *low, int *high, int value)
{
    if (value <= 0)
        return;
    *low = *low < 0 || value < *low ? value : *low;
    *high = value > *high ? value : *high;
}

static void observe(loading *at, const st_session_time *row)
{
    st_reported_observed *to = &at->session->observed;
    bool of_finals = row->phase[0] == 'f';
    if (of_finals && !at->of_finals) { // from now on only theirs count
        to->clock_low = to->clock_high = to->memory_clock_low = to->memory_clock_high = -1;
        at->of_finals = true;
    }
    if (of_finals == at->of_finals) {
        widen(&to->clock_low, &to->clock_high, row->sm_clock_mhz);
        widen(&to->memory_clock_low, &to->memory_clock_high, row->memory_clock_mhz);
    }
    to->temperature_high = row->temperature_c > to->temperature_high ? row->temperature_c : to->temperature_high;
    to->power_high_mw = row->power_mw > to->power_high_mw ? row->power_mw : to->power_high_mw;
    if (row->throttle_reasons >= 0)
        to->throttle_reasons = (to->throttle_reasons < 0 ? 0 : to->throttle_reasons) | row->throttle_reasons;
    if (row->dropped >= 0)
        to->dropped = (to->dropped < 0 ? 0 : to->dropped) + row->dropped;
    if (isnan(to->tick_ns) && isfinite(row->tick_ns))
        to->tick_ns = row->tick_ns;
    if (row->taken_ms > 0) {
        to->first_ms = to->first_ms < 0 || row->taken_ms < to->first_ms ? row->taken_ms : to->first_ms;
        to->last_ms = row->taken_ms > to->last_ms ? row->taken_ms : to->last_ms;
    }
}

static st_code take_time(void *context, const st_session_time *row, st_error *error)
{
    (void)error;
    loading *at = context;
    int cache = st_report_cache_find(row->cache);
    // Both come by candidate: the place is the one of the row before or a little further on.
    while (at->place < at->places.count && at->places.items[at->place].key < row->candidate_key)
        at->place++;
    if (cache < 0 || at->place >= at->places.count || at->places.items[at->place].key != row->candidate_key)
        return ST_OK;
    const report_place *place = &at->places.items[at->place];
    st_reported_candidate *candidate = &at->session->problems[place->problem].candidates[place->candidate];
    st_reported_time *time = &candidate->times[cache];
    int phase = st_phase_of(row->phase, row->round);
    observe(at, row);
    if (phase >= 0)
        time->phases.ns[phase] = row->median_ns;
    if (!time->phase) {
        time->first_ns = row->median_ns;
        time->first_ms = row->taken_ms > 0 ? row->taken_ms : -1;
    }
    if (rank_of(row->phase[0]) >= rank_of(time->phase)) { // rounds come in order
        time->phase = row->phase[0];
        time->median_ns = row->median_ns;
        time->samples = (int)row->sample_count;
    }
    return ST_OK;
}

static st_code take_profiled(void *context, int64_t candidate_key, st_error *error)
{
    (void)error;
    loading *at = context;
    const report_place *place = report_place_of(&at->places, candidate_key);
    if (place)
        at->session->problems[place->problem].candidates[place->candidate].profiled = true;
    return ST_OK;
}

// Times of different phases are not alike: as they are, those that came far would stand behind those that did not.
static st_code make_comparable(st_reported_session *session, st_error *error)
{
    for (size_t p = 0; p < session->count; p++)
        for (int cache = 0; cache < ST_REPORT_CACHES; cache++) {
            st_reported_problem *problem = &session->problems[p];
            st_phase_scale *scale = &problem->results[cache].scale;
            if (!problem->count)
                continue;
            if (!st_phase_scale_make(&problem->candidates[0].times[cache].phases, problem->count,
                                     sizeof *problem->candidates, scale))
                return st_fail_memory(error, "reading a session");
            for (size_t c = 0; c < problem->count; c++) {
                st_reported_time *time = &problem->candidates[c].times[cache];
                int last = st_phase_last(&time->phases);
                time->comparable_ns = last < 0 ? time->median_ns : st_phase_comparable(scale, last, time->median_ns);
                problem->results[cache].fastest_ns = fmin(problem->results[cache].fastest_ns, time->comparable_ns);
            }
        }
    return ST_OK;
}

static void count_measured(st_reported_session *session)
{
    for (size_t p = 0; p < session->count; p++)
        for (size_t c = 0; c < session->problems[p].count; c++) {
            const st_reported_candidate *candidate = &session->problems[p].candidates[c];
            bool any = false;
            for (int cache = 0; cache < ST_REPORT_CACHES; cache++) {
                bool has = isfinite(candidate->times[cache].median_ns);
                session->problems[p].results[cache].measured += has;
                any = any || has;
            }
            session->measured_count += any;
        }
}

// --- a session -------------------------------------------------------------------------------------------------------

// What the store holds as JSON text; *out NULL when it holds none. A text that is none is no error of the report.
static st_code parse_kept(const char *text, json_t **out)
{
    *out = NULL;
    if (!text || !text[0])
        return ST_OK;
    st_code code = st_json_parse(text, strlen(text), "the store", out, NULL);
    return code == ST_NO_MEMORY ? code : ST_OK;
}

static st_code load_origin(st_store *store, st_reported_session *session, st_error *error)
{
    st_session_origin origin;
    st_code code = st_store_session_origin(store, session->session.key, &origin, error);
    if (code != ST_OK)
        return code;
    const st_device_row *device = &origin.device;
    snprintf(session->device_name, sizeof session->device_name, "%s", device->name);
    snprintf(session->device_uuid, sizeof session->device_uuid, "%s", device->uuid);
    snprintf(session->backend, sizeof session->backend, "%s", device->backend);
    snprintf(session->driver, sizeof session->driver, "%s", origin.toolchain.driver);
    snprintf(session->compiler, sizeof session->compiler, "%s", origin.toolchain.compiler);
    snprintf(session->tool, sizeof session->tool, "%s", origin.toolchain.tool);
    snprintf(session->template_hash, sizeof session->template_hash, "%s", origin.template_hash);
    session->cc = device->cc;
    session->sm_count = device->sm_count;
    session->driver_cuda = origin.toolchain.driver_cuda;
    session->memory_bytes = device->memory_bytes;
    session->l2_bytes = device->l2_bytes;
    session->read_gbs = device->read_gbs;
    session->copy_gbs = device->copy_gbs;
    if (parse_kept(device->facts_json, &session->device_facts) != ST_OK)
        code = st_fail_memory(error, "reading a device");
    if (code == ST_OK)
        code = report_source(session, origin.template_json, error);
    st_session_origin_release(&origin);
    return code;
}

static void clear_observed(st_reported_observed *observed)
{
    *observed = (st_reported_observed){-1, -1, -1, -1, -1, -1, -1, -1, NAN, -1, -1};
}

// The problem whose winner gained most for certain; counters of both sides count, since the page explains with them.
static int lead_of(const st_reported_session *session, int cache)
{
    int best = -1;
    double most = -1;
    for (size_t p = 0; p < session->count; p++) {
        const st_reported_result *result = &session->problems[p].results[cache];
        double gain = result->winner < 0 ? 0 : isfinite(result->speedup.low) ? result->speedup.low : 0.5;
        bool explained = result->winner_profile && result->winner_profile->any;
        gain *= explained ? 1 : 0.25;
        if (gain > most) {
            most = gain;
            best = (int)p;
        }
    }
    return best;
}

static st_code load_session(st_store *store, const char *id, int cache, st_reported_session *session, st_error *error)
{
    loading at = {.session = session};
    clear_observed(&session->observed);
    session->read_gbs = session->copy_gbs = NAN;
    session->cc = session->sm_count = session->driver_cuda = session->lead = -1;
    session->memory_bytes = session->l2_bytes = -1;
    st_code code = st_store_session_of(store, id, &session->session, error);
    if (code != ST_OK)
        return code;
    snprintf(session->label, sizeof session->label, "%.18s %.12s", session->session.family, session->session.id);
    if (parse_kept(session->session.options_json, &session->options) != ST_OK ||
        parse_kept(session->session.summary_json, &session->facts) != ST_OK)
        code = st_fail_memory(error, "reading a session");
    if (code == ST_OK)
        code = st_store_candidates(store, session->session.key, take_candidate, &at, error);
    if (code == ST_OK)
        code = st_store_session_problems(store, session->session.key, take_problem, &at, error);
    if (code == ST_OK)
        code = st_store_session_times(store, session->session.key, take_time, &at, error);
    if (code == ST_OK)
        code = st_store_session_profiled(store, session->session.key, take_profiled, &at, error);
    if (code == ST_OK)
        code = make_comparable(session, error);
    if (code == ST_OK)
        code = report_parameters(session, error);
    if (code == ST_OK)
        code = load_origin(store, session, error);
    count_measured(session);
    if (code == ST_OK)
        code = report_results(store, session, &at.places, error);
    session->lead = lead_of(session, cache);
    if (code == ST_OK)
        code = report_trust(session, error);
    st_free(at.places.items);
    return code;
}

// Two sessions of one family whose ids begin alike get longer labels.
static void make_labels_unique(st_report *report)
{
    for (size_t i = 1; i < report->count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(report->sessions[i].label, report->sessions[j].label) == 0) {
                st_reported_session *again = &report->sessions[i];
                snprintf(again->label, sizeof again->label, "%.14s %.16s", again->session.family, again->session.id);
            }
}

st_code st_report_load(st_store *store, const char *const *session_ids, size_t count, int cache, st_report *out,
                       st_error *error)
{
    *out = (st_report){.cache = cache};
    st_code code = ST_OK;
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        st_reported_session *session = REPORT_ADD(out->sessions, out->count, out->capacity);
        code = session ? load_session(store, session_ids[i], cache, session, error)
                       : st_fail_memory(error, "reading a session");
    }
    if (code == ST_OK)
        make_labels_unique(out);
    else
        st_report_release(out);
    return code;
}

// --- the end ---------------------------------------------------------------------------------------------------------

static void release_result(st_reported_result *result)
{
    for (size_t i = 0; i < result->final_count; i++)
        st_free(result->finals[i].rival);
    for (size_t i = 0; i < result->past_count; i++)
        st_free(result->past[i].configuration);
    st_free(result->finals);
    st_free(result->past);
    st_free(result->changes);
    st_free(result->steps);
    st_free(result->importance);
    st_free(result->note);
    st_free(result->winner_samples.ns);
    st_free(result->standard_samples.ns);
    st_free(result->runner_up_samples.ns);
    report_profile_free(result->winner_profile);
    report_profile_free(result->standard_profile);
    report_profile_free(result->runner_up_profile);
}

static void release_problem(st_reported_problem *problem)
{
    for (size_t i = 0; i < problem->count; i++) {
        st_free(problem->candidates[i].configuration);
        st_free(problem->candidates[i].detail);
    }
    for (int cache = 0; cache < ST_REPORT_CACHES; cache++)
        release_result(&problem->results[cache]);
    st_free(problem->candidates);
    st_free(problem->text);
    st_free(problem->type);
    st_free(problem->operation);
}

static void release_session(st_reported_session *session)
{
    st_session_row_release(&session->session);
    json_decref(session->options);
    json_decref(session->facts);
    json_decref(session->device_facts);
    json_decref(session->sources);
    for (size_t i = 0; i < session->count; i++)
        release_problem(&session->problems[i]);
    for (size_t i = 0; i < session->parameter_count; i++) {
        st_reported_parameter *parameter = &session->parameters[i];
        for (size_t v = 0; v < parameter->value_count; v++)
            st_free(parameter->values[v]);
        st_free(parameter->values);
        st_free(parameter->name);
        st_free(parameter->meaning);
    }
    for (size_t i = 0; i < session->doubt_count; i++)
        st_free(session->doubts[i].words);
    st_free(session->problems);
    st_free(session->parameters);
    st_free(session->doubts);
    st_free(session->source_file);
    st_free(session->summary);
    st_free(session->standard_words);
    st_free(session->values);
}

void st_report_release(st_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        release_session(&report->sessions[i]);
    st_free(report->sessions);
    *report = (st_report){.cache = report->cache};
}
