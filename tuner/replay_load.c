// SPDX-License-Identifier: Apache-2.0
// Records out of the store. Invariants: 1. the values of a parameter are those that occur, numbers ascending, words by
// name; a parameter of numbers alone is ordered; 2. configurations come in the order of the store; 3. a record that
// is not whole (no memory) is not in the list.
#include "tuner/replay.h"

#include "cupti/advice.h"
#include "tuner/base/memory.h"
#include "tuner/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One candidate on its way into a record.
typedef struct found {
    char *configuration;
    double ns, seconds;
    st_search_facts facts;
    st_search_advice advice;
    bool has_profile;
} found;

// What is being gathered: one problem of one session.
typedef struct gathering {
    st_store *store;
    char session[ST_HASH_TEXT];
    char *family, *problem, *device, *standard; // standard: the default's configuration; NULL unknown
    int cc, sm_count;
    double read_gbs, bytes, distance; // distance: from wish->nearest_to
    const char *cache;             // wanted; NULL: cold where there is both
    found *items; size_t count, capacity;
} gathering;

typedef struct gatherings {
    gathering *items; size_t count, capacity;
    const st_record_wish *wish;
} gatherings;

static void release_gathering(gathering *one)
{
    for (size_t i = 0; i < one->count; i++)
        st_free(one->items[i].configuration);
    st_free(one->items);
    st_free(one->family);
    st_free(one->problem);
    st_free(one->device);
    st_free(one->standard);
    *one = (gathering){0};
}

// --- which problems of which sessions ----------------------------------------------------------------------------

static gathering *find_gathering(gatherings *all, const char *session, const char *problem)
{
    for (size_t i = all->count; i-- > 0;)
        if (strcmp(all->items[i].session, session) == 0 && strcmp(all->items[i].problem, problem) == 0)
            return &all->items[i];
    return NULL;
}

static gathering *add_gathering(gatherings *all, const st_answer *answer)
{
    gathering *items = st_grow(all->items, &all->capacity, all->count + 1, sizeof *items);
    if (!items)
        return NULL;
    all->items = items;
    gathering *one = &items[all->count++];
    *one = (gathering){.family = st_strdup(answer->family), .problem = st_strdup(answer->problem),
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
    gathering *one = find_gathering(all, answer->session_id, answer->problem);
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
    const char *cache;
    double ns[2], screen_seconds;
    int weight[2]; // of the measurement that ns is of; 0: none
} standing;

static st_code note_measurement(void *context, const st_measurement_row *row, st_error *error)
{
    (void)error;
    standing *at = context;
    int cache = strcmp(row->cache, "warm") == 0;
    int phase = strcmp(row->phase, "finals") == 0 ? 3 : strcmp(row->phase, "halving") == 0 ? 2 : 1;
    int weight = phase * 10000 + row->round + 1;
    if (phase == 1)
        at->screen_seconds += row->median_ns * (double)row->sample_count * (double)(row->batch > 0 ? row->batch : 1) * 1e-9;
    if (weight > at->weight[cache] && row->median_ns > 0) {
        at->weight[cache] = weight;
        at->ns[cache] = row->median_ns;
    }
    return ST_OK;
}

typedef struct viewing {
    st_profile_view view;
    bool any;
} viewing;

static st_code note_counter(void *context, const char *kind, const char *name, double value, st_error *error)
{
    (void)error;
    viewing *at = context;
    st_view_counter(&at->view, kind, name, value);
    at->any = true;
    return ST_OK;
}

static st_code advise(const gathering *one, int64_t key, found *item, st_error *error)
{
    viewing at;
    st_finding findings[ST_FINDINGS_MOST];
    st_view_init(&at.view);
    at.any = false;
    st_code code = st_store_counters_of(one->store, key, note_counter, &at, error);
    if (code != ST_OK || !at.any || !st_view_has_stalls(&at.view))
        return code;
    at.view.ns = item->ns;
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
    return ST_OK;
}

static double known(double value)
{
    return value >= 0 ? value : NAN;
}

static st_code note_candidate(void *context, const st_candidate_row *row, const char *problem,
                              const char *configuration, st_error *error)
{
    gatherings *all = context;
    gathering *one = NULL;
    for (size_t i = 0; i < all->count && !one; i++)
        if (strcmp(all->items[i].problem, problem) == 0)
            one = &all->items[i];
    if (!one || strcmp(row->outcome, "skipped") == 0)
        return ST_OK;
    found *items = st_grow(one->items, &one->capacity, one->count + 1, sizeof *items);
    if (!items)
        return st_fail_memory(error, "reading records");
    one->items = items;
    found *item = &items[one->count];
    standing at = {.ns = {NAN, NAN}};
    *item = (found){.configuration = st_strdup(configuration), .ns = NAN};
    if (!item->configuration)
        return st_fail_memory(error, "reading records");
    one->count++;
    double shared = known(row->static_smem) + known(row->dynamic_smem);
    item->facts = (st_search_facts){known(row->registers), known(row->local_bytes), shared, row->occupancy};
    st_code code = st_store_measurements(one->store, row->key, note_measurement, &at, error);
    if (strcmp(row->outcome, "correct") == 0) {
        bool warm = one->cache ? strcmp(one->cache, "warm") == 0 : !at.weight[0];
        item->ns = at.ns[warm];
        if (code == ST_OK && isnan(item->ns) && !isnan(at.ns[!warm])) { // right, but not timed in this state
            st_free(item->configuration);
            one->count--;
            return ST_OK;
        }
    }
    item->seconds = at.screen_seconds + (row->compile_seconds > 0 ? row->compile_seconds : 0);
    return code == ST_OK ? advise(one, row->key, item, error) : code;
}

// --- a record out of what was gathered -----------------------------------------------------------------------------

typedef struct word {
    const char *text;
    size_t length;
    double number;
    bool is_number;
} word;

// The next NAME=VALUE of "A=1 B=2"; NULL at the end.
static const char *next_pair(const char **at, word *name, word *value)
{
    const char *start = *at + strspn(*at, " ");
    const char *equals = strchr(start, '=');
    if (!*start || !equals)
        return NULL;
    *name = (word){.text = start, .length = (size_t)(equals - start)};
    *value = (word){.text = equals + 1, .length = strcspn(equals + 1, " ")};
    char *end;
    value->number = strtod(value->text, &end);
    value->is_number = value->length && end == value->text + value->length && isfinite(value->number);
    *at = value->text + value->length;
    return start;
}

static int by_value(const void *a, const void *b)
{
    const word *x = a, *y = b;
    if (x->is_number != y->is_number)
        return x->is_number ? -1 : 1;
    if (x->is_number && x->number != y->number)
        return x->number < y->number ? -1 : 1;
    size_t shorter = x->length < y->length ? x->length : y->length;
    int order = strncmp(x->text, y->text, shorter);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

// A column of the space: fills values, and the parameter with its words.
static st_code make_column(const gathering *one, const char *name, size_t name_length, size_t p, st_recorded *out,
                           st_error *error)
{
    size_t count = one->count, parameters = out->space.parameter_count, used = 0;
    word *column = st_malloc((count + 1) * sizeof *column), *sorted = st_malloc((count + 1) * sizeof *sorted);
    st_search_parameter *parameter = (st_search_parameter *)(uintptr_t)&out->space.parameters[p];
    st_code code = column && sorted ? ST_OK : st_fail_memory(error, "reading records");
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        const char *at = one->items[i].configuration;
        word pair = {0}, value = {0};
        bool there = false;
        while (!there && next_pair(&at, &pair, &value))
            there = pair.length == name_length && strncmp(pair.text, name, name_length) == 0;
        column[i] = there ? value : (word){.text = ""};
    }
    if (code == ST_OK && count) {
        memcpy(sorted, column, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_value);
        for (size_t i = 0; i < count; i++)
            if (!used || by_value(&sorted[used - 1], &sorted[i]) != 0)
                sorted[used++] = sorted[i];
    }
    if (code == ST_OK && used > UINT16_MAX)
        code = st_fail(error, ST_FAILED, "such a space cannot be replayed", "parameter %.*s has %zu values",
                       (int)name_length, name, used);
    double *values = code == ST_OK ? st_calloc(used + 1, sizeof *values) : NULL;
    out->words[p] = code == ST_OK ? st_calloc(used + 1, sizeof **out->words) : NULL;
    parameter->name = code == ST_OK ? st_strndup(name, name_length) : NULL;
    parameter->values = values;
    if (code == ST_OK && (!values || !out->words[p] || !parameter->name))
        code = st_fail_memory(error, "reading records");
    for (size_t v = 0; v < used && code == ST_OK; v++) {
        values[v] = sorted[v].number;
        parameter->is_word = parameter->is_word || !sorted[v].is_number;
        parameter->value_count = v + 1;
        if (!(out->words[p][v] = st_strndup(sorted[v].text, sorted[v].length)))
            code = st_fail_memory(error, "reading records");
    }
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        const word *place = bsearch(&column[i], sorted, used, sizeof *sorted, by_value);
        ((uint16_t *)(uintptr_t)out->space.values)[i * parameters + p] = (uint16_t)(place - sorted);
    }
    st_free(column);
    st_free(sorted);
    return code;
}

// Roles of the family's parameters, where its template is known.
static void add_roles(st_recorded *record)
{
    st_template *tmpl = NULL;
    if (st_template_find(record->family, &tmpl, NULL) != ST_OK)
        return;
    for (size_t p = 0; p < record->space.parameter_count; p++) {
        int found_at = st_template_parameter(tmpl, record->space.parameters[p].name);
        if (found_at >= 0)
            ((st_search_parameter *)(uintptr_t)record->space.parameters)[p].roles = tmpl->parameters[found_at].roles;
    }
    st_template_free(tmpl);
}

static void release_record(st_recorded *record)
{
    for (size_t p = 0; p < record->space.parameter_count && record->space.parameters; p++) {
        for (size_t v = 0; record->words && record->words[p] && v < record->space.parameters[p].value_count; v++)
            st_free(record->words[p][v]);
        if (record->words)
            st_free(record->words[p]);
        st_free((void *)(uintptr_t)record->space.parameters[p].name);
        st_free((void *)(uintptr_t)record->space.parameters[p].values);
    }
    st_free(record->words);
    st_free((void *)(uintptr_t)record->space.parameters);
    st_free((void *)(uintptr_t)record->space.values);
    st_free(record->ns);
    st_free(record->facts);
    st_free(record->seconds);
    st_free(record->advice);
    st_free(record->has_profile);
    st_free(record->family);
    st_free(record->problem);
    st_free(record->device);
    *record = (st_recorded){0};
}

static st_code make_room(const gathering *one, size_t parameters, st_recorded *out, st_error *error)
{
    size_t count = one->count;
    out->space.parameters = st_calloc(parameters + 1, sizeof *out->space.parameters);
    out->space.values = st_calloc(count * parameters + 1, sizeof *out->space.values);
    out->words = st_calloc(parameters + 1, sizeof *out->words);
    out->ns = st_malloc((count + 1) * sizeof *out->ns);
    out->facts = st_malloc((count + 1) * sizeof *out->facts);
    out->seconds = st_malloc((count + 1) * sizeof *out->seconds);
    out->advice = st_calloc(count + 1, sizeof *out->advice);
    out->has_profile = st_calloc(count + 1, sizeof *out->has_profile);
    if (!out->space.parameters || !out->space.values || !out->words || !out->ns || !out->facts || !out->seconds ||
        !out->advice || !out->has_profile)
        return st_fail_memory(error, "reading records");
    out->space.parameter_count = parameters;
    out->space.count = count;
    return ST_OK;
}

static void fill_answers(const gathering *one, st_recorded *out)
{
    out->best = out->space.standard = ST_SEARCH_NONE;
    for (size_t i = 0; i < one->count; i++) {
        const found *item = &one->items[i];
        out->ns[i] = item->ns;
        out->facts[i] = item->facts;
        out->seconds[i] = item->seconds;
        out->advice[i] = item->advice;
        out->has_profile[i] = item->has_profile;
        out->failed += isnan(item->ns);
        out->profiled += item->has_profile;
        if (!isnan(item->ns) && (out->best == ST_SEARCH_NONE || item->ns < out->ns[out->best]))
            out->best = i;
        if (one->standard && strcmp(one->standard, item->configuration) == 0)
            out->space.standard = i;
    }
    out->limit_ns = one->bytes / one->read_gbs; // GB/s are bytes a nanosecond
}

static st_code make_record(gathering *one, st_recorded *out, st_error *error)
{
    word names[ST_SEARCH_PARAMETERS], value;
    size_t parameters = 0;
    *out = (st_recorded){.cc = one->cc, .sm_count = one->sm_count};
    const char *at = one->items[0].configuration;
    word name;
    while (next_pair(&at, &name, &value)) {
        if (parameters == ST_SEARCH_PARAMETERS)
            return st_fail(error, ST_FAILED, "such a space cannot be replayed", "%s: more than %d parameters",
                           one->problem, ST_SEARCH_PARAMETERS);
        names[parameters++] = name;
    }
    st_code code = make_room(one, parameters, out, error);
    for (size_t p = 0; p < parameters && code == ST_OK; p++)
        code = make_column(one, names[p].text, names[p].length, p, out, error);
    if (code == ST_OK) {
        fill_answers(one, out);
        snprintf(out->session, sizeof out->session, "%s", one->session);
        out->family = one->family;
        out->problem = one->problem;
        out->device = one->device;
        one->family = one->problem = one->device = NULL;
        add_roles(out);
    } else
        release_record(out);
    return code;
}

// --- all of them ---------------------------------------------------------------------------------------------------

static st_code add_record(st_records *out, gathering *one, st_error *error)
{
    if (!one->count)
        return ST_OK;
    st_recorded record;
    st_recorded *items = st_grow(out->items, &out->capacity, out->count + 1, sizeof *items);
    if (!items)
        return st_fail_memory(error, "reading records");
    out->items = items;
    st_code code = make_record(one, &record, error);
    if (code == ST_OK && record.best == ST_SEARCH_NONE)
        release_record(&record);
    else if (code == ST_OK)
        out->items[out->count++] = record;
    return code;
}

// Candidates of all problems of one session, whose gatherings stand side by side.
static st_code gather_session(st_store *store, gathering *first, size_t count, st_error *error)
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
    const gathering *x = a, *y = b;
    int order = strcmp(y->session, x->session); // ids sort by time: newest first
    order = order ? order : strcmp(x->family, y->family);
    return order ? order : strcmp(x->problem, y->problem);
}

static int by_distance(const void *a, const void *b)
{
    const gathering *x = a, *y = b;
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
        release_record(&records->items[i]);
    st_free(records->items);
    *records = (st_records){0};
}
