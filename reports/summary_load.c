// SPDX-License-Identifier: Apache-2.0
// A session from the store. Invariants: 1. everything comes from stored rows; 2. problems stand in the order
// in which the session came to them; 3. what the store does not know stays NaN, -1, "" or NULL.
#include "reports/summary_internal.h"

#include "cupti/counters.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const summary_caches[SUMMARY_CACHES] = {"cold", "warm"};

int summary_cache(const char *name)
{
    return name && strcmp(name, "warm") == 0 ? 1 : 0;
}

const summary_candidate *summary_winner(const summary_problem *problem, int cache)
{
    int index = problem->results[cache].winner;
    return index < 0 ? NULL : &problem->candidates[index];
}

const summary_candidate *summary_standard(const summary_problem *problem, int cache)
{
    int index = problem->results[cache].standard;
    return index < 0 ? NULL : &problem->candidates[index];
}

// --- counters ----------------------------------------------------------------------------------------------

typedef struct reading {
    summary_counters *out;
    // Range ratios are shares of their sum; known only at the end.
    double range_sum, range_most, pc_most;
    char range_name[64];
    bool has_pc;
} reading;

static st_code take_counter(void *context, const char *kind, const char *name, double value,
                            st_error *error)
{
    (void)error;
    reading *at = context;
    static const char start[] = "stall.";
    if (isnan(value))
        return ST_OK;
    at->out->any = true;
    if (strcmp(name, "dram_throughput") == 0)
        at->out->dram_throughput = value;
    if (strncmp(name, start, sizeof start - 1) != 0)
        return ST_OK;
    const char *reason = name + sizeof start - 1;
    bool is_wait = strcmp(reason, "selected") != 0, is_pc = strcmp(kind, "pc") == 0;
    at->has_pc = at->has_pc || is_pc;
    at->range_sum += is_pc ? 0 : value;
    double *most = is_pc ? &at->pc_most : &at->range_most;
    char *where = is_pc ? at->out->stall : at->range_name;
    if (is_wait && value > *most) {
        *most = value;
        snprintf(where, sizeof at->range_name, "%s", reason);
    }
    return ST_OK;
}

st_code summary_counters_read(st_store *store, int64_t candidate_key, summary_counters *out,
                              st_error *error)
{
    *out = (summary_counters){.stall_share = NAN, .dram_throughput = NAN};
    reading at = {.out = out};
    st_code code = st_store_counters_of(store, candidate_key, take_counter, &at, error);
    if (at.has_pc) {
        out->stall_of_samples = true;
        out->stall_share = out->stall[0] ? at.pc_most : NAN;
        out->issues_always = !out->stall[0];
    } else if (at.range_name[0]) {
        snprintf(out->stall, sizeof out->stall, "%s", at.range_name);
        out->stall_share = at.range_most / at.range_sum;
    }
    return code;
}

void summary_add_stall(st_text *text, const summary_counters *counters)
{
    if (!counters->stall[0]) {
        st_text_add(text, counters->issues_always ? "nothing: it issues in every sample" : "no counters");
        return;
    }
    const st_stall *stall = st_stall_find(counters->stall);
    st_text_addf(text, "%s (", stall ? stall->waits_for : counters->stall);
    st_report_share(text, counters->stall_share);
    st_text_addf(text, " of %s)", counters->stall_of_samples ? "samples" : "warp latency");
}

// --- candidates and their problems -----------------------------------------------------------------------

static summary_problem *problem_of(summary *all, const char *text)
{
    // A session comes to its problems one after the other: the last one is nearly always it.
    for (size_t i = all->count; i-- > 0;)
        if (strcmp(all->problems[i].text, text) == 0)
            return &all->problems[i];
    summary_problem *problems =
        st_grow(all->problems, &all->capacity, all->count + 1, sizeof *problems);
    if (!problems)
        return NULL;
    all->problems = problems;
    summary_problem *made = &problems[all->count];
    *made = (summary_problem){.text = st_strdup(text), .n = -1};
    if (!made->text)
        return NULL;
    for (int cache = 0; cache < SUMMARY_CACHES; cache++) {
        summary_result *result = &made->results[cache];
        *result = (summary_result){.winner = -1, .standard = -1};
        result->winner_ns = result->standard_ns = result->bytes = NAN;
        result->speedup = result->speedup_low = result->speedup_high = NAN;
        result->winner_counters.stall_share = result->winner_counters.dram_throughput = NAN;
        result->standard_counters = result->winner_counters;
    }
    all->count++;
    return made;
}

static bool is_first_of_outcome(const summary_problem *problem, const char *outcome)
{
    for (size_t i = 0; i < problem->count; i++)
        if (strcmp(problem->candidates[i].outcome, outcome) == 0 && problem->candidates[i].detail)
            return false;
    return true;
}

static st_code take_candidate(void *context, const st_candidate_row *row, const char *problem_text,
                              const char *configuration, st_error *error)
{
    summary *all = context;
    summary_problem *problem = problem_of(all, problem_text);
    summary_candidate *candidates =
        problem ? st_grow(problem->candidates, &problem->capacity, problem->count + 1, sizeof *candidates)
                : NULL;
    if (!candidates)
        return st_fail_memory(error, "reading a session");
    problem->candidates = candidates;
    summary_candidate *made = &candidates[problem->count];
    *made = (summary_candidate){.key = row->key,
                                .registers = row->registers,
                                .occupancy = row->occupancy,
                                .median_ns = {NAN, NAN},
                                .comparable_ns = {NAN, NAN},
                                .configuration = st_strdup(configuration)};
    snprintf(made->id, sizeof made->id, "%s", row->id);
    snprintf(made->outcome, sizeof made->outcome, "%s", row->outcome);
    bool wanted = row->detail && row->detail[0] && is_first_of_outcome(problem, row->outcome);
    if (wanted)
        made->detail = st_strdup(row->detail);
    problem->count++;
    return made->configuration && (!wanted || made->detail) ? ST_OK
                                                            : st_fail_memory(error, "reading a session");
}

// --- answers: times, device, winners ------------------------------------------------------------------------

typedef struct place {
    const char *id;
    uint32_t problem, candidate;
} place;

typedef struct matching {
    summary *all;
    place *places; // sorted by id
    size_t count;
} matching;

static int by_id(const void *a, const void *b)
{
    return strcmp(((const place *)a)->id, ((const place *)b)->id);
}

static st_code list_places(summary *all, matching *out, st_error *error)
{
    size_t total = 0;
    for (size_t p = 0; p < all->count; p++)
        total += all->problems[p].count;
    *out = (matching){.all = all, .places = st_malloc((total ? total : 1) * sizeof *out->places)};
    if (!out->places)
        return st_fail_memory(error, "reading a session");
    for (size_t p = 0; p < all->count; p++)
        for (size_t c = 0; c < all->problems[p].count; c++)
            out->places[out->count++] =
                (place){all->problems[p].candidates[c].id, (uint32_t)p, (uint32_t)c};
    qsort(out->places, out->count, sizeof *out->places, by_id);
    return ST_OK;
}

static void take_device(summary *all, const st_answer *answer)
{
    if (all->device_name[0])
        return;
    const struct {
        char *to;
        size_t capacity;
        const char *from;
    } texts[] = {{all->device_name, sizeof all->device_name, answer->device_name},
                 {all->device_uuid, sizeof all->device_uuid, answer->device_uuid},
                 {all->backend, sizeof all->backend, answer->backend},
                 {all->driver, sizeof all->driver, answer->driver},
                 {all->compiler, sizeof all->compiler, answer->compiler},
                 {all->tool, sizeof all->tool, answer->tool},
                 {all->template_hash, sizeof all->template_hash, answer->template_hash}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        snprintf(texts[i].to, texts[i].capacity, "%s", texts[i].from ? texts[i].from : "");
    all->cc = answer->cc;
    all->sm_count = answer->sm_count;
    all->driver_cuda = answer->driver_cuda;
    all->read_gbs = answer->read_gbs;
}

static st_code copy_known(char **to, const char *from, st_error *error)
{
    if (*to || !from || !from[0])
        return ST_OK;
    *to = st_strdup(from);
    return *to ? ST_OK : st_fail_memory(error, "reading a session");
}

static st_code take_result(summary_result *result, const st_answer *answer, int index, st_error *error)
{
    if (answer->is_default) {
        result->standard = index;
        result->standard_ns = answer->median_ns;
    }
    if (!answer->is_winner)
        return ST_OK;
    // The second asking (winners) says the same with the medians of all rounds of the finals.
    result->winner = index;
    result->winner_ns = answer->median_ns;
    result->bytes = answer->bytes;
    result->speedup = answer->speedup;
    result->speedup_low = answer->speedup_low;
    result->speedup_high = answer->speedup_high;
    result->tied = answer->tied;
    result->samples = answer->sample_count;
    st_code code = copy_known(&result->ties_json, answer->ties_json, error);
    return code == ST_OK ? copy_known(&result->note, answer->note, error) : code;
}

static st_code take_answer(void *context, const st_answer *answer, st_error *error)
{
    matching *at = context;
    place wanted = {answer->candidate_id, 0, 0};
    take_device(at->all, answer);
    const place *found =
        at->count ? bsearch(&wanted, at->places, at->count, sizeof *at->places, by_id) : NULL;
    if (!found)
        return ST_OK; // of another session that shares the id's beginning
    summary_problem *problem = &at->all->problems[found->problem];
    problem->n = answer->n;
    st_code code = copy_known(&problem->type, answer->type, error);
    if (code == ST_OK)
        code = copy_known(&problem->operation, answer->operation, error);
    for (int cache = 0; cache < SUMMARY_CACHES && code == ST_OK; cache++)
        if (answer->cache && strcmp(answer->cache, summary_caches[cache]) == 0) {
            problem->candidates[found->candidate].median_ns[cache] = answer->median_ns;
            problem->candidates[found->candidate].comparable_ns[cache] = answer->comparable_ns;
            code = take_result(&problem->results[cache], answer, (int)found->candidate, error);
        }
    return code;
}

static st_code load_answers(st_store *store, summary *all, st_error *error)
{
    matching at;
    st_query query = {.cc = -1, .sm_count = -1, .n = -1, .since_ms = -1, .session = all->session.id};
    st_code code = list_places(all, &at, error);
    if (code == ST_OK)
        code = st_store_query(store, &query, take_answer, &at, error);
    query.best = true;
    if (code == ST_OK)
        code = st_store_query(store, &query, take_answer, &at, error);
    // Nothing was measured: the device stands with any candidate.
    if (code == ST_OK && !all->device_name[0] && at.count)
        code = st_store_answer_of(store, all->problems[0].candidates[0].key, take_answer, &at, error);
    st_free(at.places);
    return code;
}

// --- trust -----------------------------------------------------------------------------------------------------

typedef struct trusting {
    summary_trust *trust;
    const char *cache; // whose measurements count
} trusting;

static st_code take_measurement(void *context, const st_measurement_row *row, st_error *error)
{
    (void)error;
    trusting *at = context;
    summary_trust *trust = at->trust;
    if (strcmp(row->cache, at->cache) != 0)
        return ST_OK;
    if (row->sm_clock_mhz > 0) {
        if (trust->clock_low < 0 || row->sm_clock_mhz < trust->clock_low)
            trust->clock_low = row->sm_clock_mhz;
        if (row->sm_clock_mhz > trust->clock_high)
            trust->clock_high = row->sm_clock_mhz;
    }
    if (row->temperature_c > trust->temperature_high)
        trust->temperature_high = row->temperature_c;
    return ST_OK;
}

static st_code load_details(st_store *store, summary *all, st_error *error)
{
    st_code code = ST_OK;
    for (size_t p = 0; p < all->count; p++)
        for (int cache = 0; cache < SUMMARY_CACHES && code == ST_OK; cache++) {
            summary_problem *problem = &all->problems[p];
            summary_result *result = &problem->results[cache];
            const summary_candidate *both[] = {summary_winner(problem, cache),
                                               summary_standard(problem, cache)};
            summary_counters *counters[] = {&result->winner_counters, &result->standard_counters};
            trusting at = {&all->trust, summary_caches[cache]};
            for (int i = 0; i < 2 && code == ST_OK; i++)
                if (both[i]) {
                    code = summary_counters_read(store, both[i]->key, counters[i], error);
                    if (code == ST_OK)
                        code = st_store_measurements(store, both[i]->key, take_measurement, &at, error);
                }
        }
    return code;
}

// --- all -------------------------------------------------------------------------------------------------------

st_code summary_load(st_store *store, const char *session_id, summary *out, st_error *error)
{
    *out = (summary){.cc = -1, .sm_count = -1, .driver_cuda = -1, .read_gbs = NAN};
    out->trust = (summary_trust){.clock_low = -1, .clock_high = -1, .temperature_high = -1};
    st_code code = st_store_session_of(store, session_id, &out->session, error);
    if (code == ST_OK)
        code = st_store_candidates(store, out->session.key, take_candidate, out, error);
    if (code == ST_OK)
        code = load_answers(store, out, error);
    if (code == ST_OK)
        code = load_details(store, out, error);
    const char *facts = out->session.summary_json;
    if (code == ST_OK && facts && facts[0])
        code = st_json_parse(facts, strlen(facts), "the session's summary", &out->facts, error);
    if (code != ST_OK)
        summary_release(out);
    return code;
}

void summary_release(summary *all)
{
    for (size_t p = 0; p < all->count; p++) {
        summary_problem *problem = &all->problems[p];
        for (size_t c = 0; c < problem->count; c++) {
            st_free(problem->candidates[c].configuration);
            st_free(problem->candidates[c].detail);
        }
        for (int cache = 0; cache < SUMMARY_CACHES; cache++) {
            st_free(problem->results[cache].ties_json);
            st_free(problem->results[cache].note);
        }
        st_free(problem->candidates);
        st_free(problem->text);
        st_free(problem->type);
        st_free(problem->operation);
    }
    st_free(all->problems);
    json_decref(all->facts);
    st_session_row_release(&all->session);
    *all = (summary){0};
}
