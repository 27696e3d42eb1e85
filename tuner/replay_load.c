// SPDX-License-Identifier: Apache-2.0
// Records out of the store. Invariants: 1. the advice on a candidate comes of its stall profile alone, as in a run
// that has just taken it: exact counters are taken of survivors only; 2. a record that is not whole (no memory) is not
// in the list.
#include "tuner/replay_internal.h"

#include "cupti/advice.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gatherings {
    st_gathering *items; size_t count, capacity;
    const st_record_wish *wish;
} gatherings;

static void release_gathering(st_gathering *one)
{
    for (size_t i = 0; i < one->count; i++)
        st_free(one->items[i].configuration);
    st_free(one->items);
    st_free(one->family);
    st_free(one->problem);
    st_free(one->device);
    st_free(one->standard);
    *one = (st_gathering){0};
}

// --- which problems of which sessions ----------------------------------------------------------------------------

static st_gathering *find_gathering(gatherings *all, const char *session, const char *problem)
{
    for (size_t i = all->count; i-- > 0;)
        if (strcmp(all->items[i].session, session) == 0 && strcmp(all->items[i].problem, problem) == 0)
            return &all->items[i];
    return NULL;
}

static st_gathering *add_gathering(gatherings *all, const st_answer *answer)
{
    st_gathering *items = st_grow(all->items, &all->capacity, all->count + 1, sizeof *items);
    if (!items)
        return NULL;
    all->items = items;
    st_gathering *one = &items[all->count++];
    *one = (st_gathering){.family = st_strdup(answer->family), .problem = st_strdup(answer->problem),
                       .device = st_strdup(answer->device_name), .cc = answer->cc, .sm_count = answer->sm_count,
                       .read_gbs = answer->read_gbs, .bytes = answer->bytes, .cache = all->wish->cache};
    snprintf(one->session, sizeof one->session, "%s", answer->session_id);
    return one->family && one->problem && one->device ? one : NULL;
}

// Ids of sessions begin with their date (st_hash_fresh_id).
static bool is_later(const st_record_wish *wish, const char *session)
{
    char digits[13];
    if (wish->before_ms < 0 || (wish->also_session && strcmp(wish->also_session, session) == 0))
        return false;
    snprintf(digits, sizeof digits, "%.12s", session);
    return strtoll(digits, NULL, 16) >= wish->before_ms;
}

static st_code note_answer(void *context, const st_answer *answer, st_error *error)
{
    gatherings *all = context;
    const st_record_wish *wish = all->wish;
    if ((wish->problem && strcmp(wish->problem, answer->problem) != 0) ||
        (wish->hardware_only && !st_backend_is_hardware(answer->backend)) || is_later(wish, answer->session_id))
        return ST_OK;
    st_gathering *one = find_gathering(all, answer->session_id, answer->problem);
    if (!one && !(one = add_gathering(all, answer)))
        return st_fail_memory(error, "reading records");
    if (isnan(one->bytes))
        one->bytes = answer->bytes;
    if (wish->nearest_to)
        one->distance = st_problem_distance(wish->nearest_to, one->problem) +
                        (strcmp(wish->device, one->device) == 0 ? 0 : 1);
    if (answer->is_default && !one->standard && !(one->standard = st_strdup(answer->configuration)))
        return st_fail_memory(error, "reading records");
    return ST_OK;
}

// --- one candidate -----------------------------------------------------------------------------------------------

typedef struct standing {
    st_phase_times times[2];   // cold, warm
    int round[2][ST_PHASES];   // that a time is of
    double screen_seconds;
} standing;

static st_code note_measurement(void *context, const st_measurement_row *row, st_error *error)
{
    (void)error;
    standing *at = context;
    int cache = strcmp(row->cache, "warm") == 0, phase = st_phase_of(row->phase, row->round);
    if (phase < 0)
        return ST_OK;
    if (phase == ST_PHASE_SCREEN)
        at->screen_seconds += row->median_ns * (double)row->sample_count * (double)(row->batch > 0 ? row->batch : 1) * 1e-9;
    double *ns = &at->times[cache].ns[phase];
    if (row->median_ns > 0 && (isnan(*ns) || row->round >= at->round[cache][phase])) {
        at->round[cache][phase] = row->round;
        *ns = row->median_ns;
    }
    return ST_OK;
}

static bool is_timed(const st_phase_times *times)
{
    return st_phase_last(times) >= 0;
}

typedef struct viewing {
    st_profile_view view;
    bool any;
} viewing;

static st_code note_counter(void *context, const char *kind, const char *name, double value, st_error *error)
{
    (void)error;
    viewing *at = context;
    if (strcmp(kind, "pc") != 0)
        return ST_OK;
    st_view_counter(&at->view, kind, name, value);
    at->any = true;
    return ST_OK;
}

static st_code advise(const st_gathering *one, int64_t key, st_found *item, st_error *error)
{
    viewing at;
    st_finding findings[ST_FINDINGS_MOST];
    st_view_init(&at.view);
    at.any = false;
    st_code code = st_store_counters_of(one->store, key, note_counter, &at, error);
    if (code != ST_OK || !at.any || !st_view_has_stalls(&at.view))
        return code;
    at.view.ns = st_found_first(item);
    at.view.bytes = one->bytes;
    at.view.registers = item->facts.registers;
    at.view.local_bytes = item->facts.local_bytes;
    at.view.occupancy = item->facts.occupancy;
    at.view.device.read_gbs = one->read_gbs;
    at.view.device.cc = one->cc;
    at.view.device.sm_count = one->sm_count;
    size_t count = st_advise(&at.view, findings);
    st_advice_pull(findings, count, item->advice.pull, NULL);
    item->advice.leave = st_view_at_limit(&at.view);
    item->has_profile = true;
    return st_store_profile_seconds(one->store, key, "pc", &item->profile_seconds, error);
}

static double known(double value)
{
    return value >= 0 ? value : NAN;
}

static st_code note_candidate(void *context, const st_candidate_row *row, const char *problem,
                              const char *configuration, st_error *error)
{
    gatherings *all = context;
    st_gathering *one = NULL;
    for (size_t i = 0; i < all->count && !one; i++)
        if (strcmp(all->items[i].problem, problem) == 0)
            one = &all->items[i];
    if (!one || strcmp(row->outcome, "skipped") == 0)
        return ST_OK;
    st_found *items = st_grow(one->items, &one->capacity, one->count + 1, sizeof *items);
    if (!items)
        return st_fail_memory(error, "reading records");
    one->items = items;
    st_found *item = &items[one->count];
    standing at = {.times = {st_phase_no_times, st_phase_no_times}};
    *item = (st_found){.configuration = st_strdup(configuration), .times = st_phase_no_times,
                       .profile_seconds = NAN};
    if (!item->configuration)
        return st_fail_memory(error, "reading records");
    one->count++;
    double shared = known(row->static_smem) + known(row->dynamic_smem);
    item->facts = (st_search_facts){known(row->registers), known(row->local_bytes), shared, row->occupancy};
    st_code code = st_store_measurements(one->store, row->key, note_measurement, &at, error);
    if (strcmp(row->outcome, "correct") == 0) {
        bool warm = one->cache ? strcmp(one->cache, "warm") == 0 : !is_timed(&at.times[0]);
        item->times = at.times[warm];
        if (code == ST_OK && !is_timed(&item->times) && is_timed(&at.times[!warm])) { // right, but not timed in this state
            st_free(item->configuration);
            one->count--;
            return ST_OK;
        }
    }
    item->seconds = at.screen_seconds + (row->compile_seconds > 0 ? row->compile_seconds : 0);
    return code == ST_OK ? advise(one, row->key, item, error) : code;
}

// --- all of them ---------------------------------------------------------------------------------------------------

static st_code add_record(st_records *out, st_gathering *one, st_error *error)
{
    if (!one->count)
        return ST_OK;
    st_recorded record;
    st_recorded *items = st_grow(out->items, &out->capacity, out->count + 1, sizeof *items);
    if (!items)
        return st_fail_memory(error, "reading records");
    out->items = items;
    st_code code = st_record_make(one, &record, error);
    if (code == ST_OK && record.best == ST_SEARCH_NONE)
        st_record_release(&record);
    else if (code == ST_OK)
        out->items[out->count++] = record;
    return code;
}

// Candidates of all problems of one session, whose gatherings stand side by side.
static st_code gather_session(st_store *store, st_gathering *first, size_t count, st_error *error)
{
    st_session_row session = {0};
    gatherings some = {.items = first, .count = count};
    for (size_t i = 0; i < count; i++)
        first[i].store = store;
    st_code code = st_store_session_of(store, first->session, &session, error);
    if (code == ST_OK)
        code = st_store_candidates(store, session.key, note_candidate, &some, error);
    st_session_row_release(&session);
    return code;
}

static int by_session(const void *a, const void *b)
{
    const st_gathering *x = a, *y = b;
    int order = strcmp(y->session, x->session); // ids sort by time: newest first
    order = order ? order : strcmp(x->family, y->family);
    return order ? order : strcmp(x->problem, y->problem);
}

static int by_distance(const void *a, const void *b)
{
    const st_gathering *x = a, *y = b;
    return x->distance != y->distance ? x->distance < y->distance ? -1 : 1 : by_session(a, b);
}

static st_code find_all(st_store *store, const st_record_wish *wish, gatherings *all, st_error *error)
{
    enum { NEAREST = 6 };
    st_query query = {.family = wish->family, .session = wish->session, .cc = -1, .sm_count = -1, .n = -1,
                      .since_ms = -1, .cache = wish->cache, .best = wish->nearest_to != NULL};
    st_code code = st_store_query(store, &query, note_answer, all, error);
    query.best = false;
    query.session = wish->also_session;
    if (code == ST_OK && wish->nearest_to && wish->also_session)
        code = st_store_query(store, &query, note_answer, all, error);
    if (code == ST_OK && wish->nearest_to && all->count) {
        qsort(all->items, all->count, sizeof *all->items, by_distance);
        while (all->count > NEAREST)
            release_gathering(&all->items[--all->count]);
    }
    return code;
}

st_code st_records_load(st_store *store, const st_record_wish *wish, st_records *out, st_error *error)
{
    gatherings all = {.wish = wish};
    size_t before = out->count;
    st_code code = find_all(store, wish, &all, error);
    if (code == ST_OK && all.count)
        qsort(all.items, all.count, sizeof *all.items, by_session);
    for (size_t i = 0; i < all.count && code == ST_OK;) {
        size_t end = i + 1;
        while (end < all.count && strcmp(all.items[end].session, all.items[i].session) == 0)
            end++;
        code = gather_session(store, &all.items[i], end - i, error);
        for (; i < end && code == ST_OK; i++)
            code = add_record(out, &all.items[i], error);
    }
    for (size_t i = 0; i < all.count; i++)
        release_gathering(&all.items[i]);
    st_free(all.items);
    if (code == ST_OK && out->count == before)
        code = st_fail(error, ST_NOTHING, "simtune query --session shows what a session has",
                       "no session with measured configurations matches");
    return code;
}

void st_records_release(st_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        st_record_release(&records->items[i]);
    st_free(records->items);
    *records = (st_records){0};
}
