// SPDX-License-Identifier: Apache-2.0
// A comparison's rows. Invariants: 1. a record owns its texts in one block; 2. a pair is of one family, problem and
// state of the cache, and of one device unless each side is of one device; 3. the order is that of family, device,
// type, operation, n, problem, cache, whatever order rows came in; 4. what a side lacks is "only", unless its
// session tried the problem: then it was lost, which is worse.
#include "reports/compare_internal.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const st_compare_rules st_compare_usual_rules = {0.005, 0.02, 2};

void st_comparison_init(st_comparison *made, const st_compare_rules *rules)
{
    *made = (st_comparison){.rules = rules ? *rules : st_compare_usual_rules};
}

// --- records -----------------------------------------------------------------------------------------------------

// The texts of a row.
static const size_t texts[] = {
    offsetof(st_compare_row, session_id),   offsetof(st_compare_row, candidate_id),
    offsetof(st_compare_row, family),       offsetof(st_compare_row, problem),
    offsetof(st_compare_row, type),         offsetof(st_compare_row, operation),
    offsetof(st_compare_row, cache),        offsetof(st_compare_row, configuration),
    offsetof(st_compare_row, device_name),  offsetof(st_compare_row, device_uuid),
    offsetof(st_compare_row, backend),      offsetof(st_compare_row, driver),
    offsetof(st_compare_row, compiler),     offsetof(st_compare_row, tool),
    offsetof(st_compare_row, template_hash), offsetof(st_compare_row, status),
    offsetof(st_compare_row, outcome),      offsetof(st_compare_row, options_json)};
enum { TEXTS = sizeof texts / sizeof texts[0] };

static const char **text_at(st_compare_row *row, size_t i)
{
    return (const char **)(void *)((char *)row + texts[i]);
}

st_code compare_record_make(const st_compare_row *row, bool in_store, st_compare_record **out, st_error *error)
{
    st_compare_row copy = *row;
    size_t total = 0;
    for (size_t i = 0; i < TEXTS; i++)
        total += *text_at(&copy, i) ? strlen(*text_at(&copy, i)) + 1 : 1;
    st_compare_record *made = st_calloc(1, sizeof *made);
    char *block = made ? st_malloc(total) : NULL;
    *out = NULL;
    if (!block) {
        st_free(made);
        return st_fail_memory(error, "comparing");
    }
    *made = (st_compare_record){.row = copy, .block = block, .in_store = in_store, .sm_clock_mhz = -1,
                                .memory_clock_mhz = -1, .temperature_c = -1, .dropped = -1};
    for (size_t i = 0; i < TEXTS; i++) {
        const char *from = *text_at(&copy, i) ? *text_at(&copy, i) : "";
        size_t length = strlen(from) + 1;
        memcpy(block, from, length);
        *text_at(&made->row, i) = block;
        block += length;
    }
    *out = made;
    return ST_OK;
}

void compare_record_free(st_compare_record *record)
{
    if (record)
        st_free(record->block);
    st_free(record);
}

static void release_pairs(st_compare_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].note) {
            st_free(pairs[i].note->reason);
            st_free(pairs[i].note->author);
            st_free(pairs[i].note);
        }
    st_free(pairs);
}

void st_comparison_release(st_comparison *made)
{
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < made->sides[side].count; i++)
            compare_record_free(made->sides[side].records[i]);
        st_free(made->sides[side].records);
        st_free(made->sides[side].sessions);
        st_free(made->sides[side].label);
        release_pairs(made->only[side], made->only_count[side]);
    }
    release_pairs(made->pairs, made->count);
    *made = (st_comparison){.rules = made->rules};
}

// --- sides -------------------------------------------------------------------------------------------------------

st_code st_comparison_label(st_comparison *made, int side, const char *label, st_error *error)
{
    st_free(made->sides[side].label);
    made->sides[side].label = st_strdup(label);
    return made->sides[side].label ? ST_OK : st_fail_memory(error, "comparing");
}

static st_code keep(st_compare_side *side, const st_compare_row *row, bool in_store, st_error *error)
{
    st_compare_record **records = st_grow(side->records, &side->capacity, side->count + 1, sizeof *records);
    if (!records)
        return st_fail_memory(error, "comparing");
    side->records = records;
    st_code code = compare_record_make(row, in_store, &records[side->count], error);
    side->count += code == ST_OK;
    return code;
}

static st_code take_row(void *context, const st_compare_row *row, st_error *error)
{
    return keep(context, row, true, error);
}

st_code st_comparison_add_row(st_comparison *made, int side, const st_compare_row *row, st_error *error)
{
    return keep(&made->sides[side], row, false, error);
}

static st_code keep_session(st_compare_side *side, st_store *store, const char *id, st_error *error)
{
    st_session_row session;
    st_code code = st_store_session_of(store, id, &session, error);
    if (code != ST_OK)
        return code;
    struct st_compare_session *sessions =
        st_grow(side->sessions, &side->session_capacity, side->session_count + 1, sizeof *sessions);
    if (sessions) {
        side->sessions = sessions;
        struct st_compare_session *one = &sessions[side->session_count++];
        *one = (struct st_compare_session){session.key, session.device_key,
                                           session.finished_ms > 0 ? session.finished_ms : session.started_ms, {0}, {0}};
        memcpy(one->id, session.id, sizeof one->id);
        memcpy(one->family, session.family, sizeof one->family);
    } else
        code = st_fail_memory(error, "comparing");
    st_session_row_release(&session);
    return code;
}

st_code st_comparison_add(st_comparison *made, st_store *store, int side, st_side_kind kind, const char *value,
                          const st_compare_filter *filter, st_error *error)
{
    st_compare_side *to = &made->sides[side];
    bool devices_meet = kind == ST_SIDE_SESSION || kind == ST_SIDE_CANDIDATE || kind == ST_SIDE_DEVICE;
    to->device_by_device = to->device_by_device || !devices_meet;
    st_code code = kind == ST_SIDE_SESSION ? keep_session(to, store, value, error) : ST_OK;
    return code == ST_OK ? st_store_compare(store, kind, value, filter, take_row, to, error) : code;
}

// --- matching ----------------------------------------------------------------------------------------------------

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a, b);
}

static int by_device(const st_compare_row *a, const st_compare_row *b)
{
    int order = compare_texts(a->device_name, b->device_name);
    order = order ? order : compare_texts(a->device_uuid, b->device_uuid);
    return order ? order : compare_texts(a->backend, b->backend);
}

static int by_problem(const st_compare_row *a, const st_compare_row *b)
{
    int order = compare_texts(a->type, b->type);
    order = order ? order : compare_texts(a->operation, b->operation);
    order = order ? order : (a->n > b->n) - (a->n < b->n);
    order = order ? order : compare_texts(a->problem, b->problem);
    return order ? order : compare_texts(a->cache, b->cache);
}

static int order_with_device(const void *x, const void *y)
{
    const st_compare_row *a = &(*(st_compare_record *const *)x)->row, *b = &(*(st_compare_record *const *)y)->row;
    int order = compare_texts(a->family, b->family);
    order = order ? order : by_device(a, b);
    return order ? order : by_problem(a, b);
}

static int order_without_device(const void *x, const void *y)
{
    const st_compare_row *a = &(*(st_compare_record *const *)x)->row, *b = &(*(st_compare_record *const *)y)->row;
    int order = compare_texts(a->family, b->family);
    return order ? order : by_problem(a, b);
}

static bool is_of_one_device(const st_compare_side *side)
{
    for (size_t i = 1; i < side->count; i++)
        if (by_device(&side->records[0]->row, &side->records[i]->row) != 0)
            return false;
    return true;
}

// A device that is named by its model is one side, however many cards there are.
static bool is_of_one_model(const st_compare_side *side)
{
    for (size_t i = 1; i < side->count; i++)
        if (strcmp(side->records[0]->row.device_name, side->records[i]->row.device_name) != 0)
            return false;
    return true;
}

static st_compare_pair blank_pair(const st_compare_record *a, const st_compare_record *b)
{
    return (st_compare_pair){.a = a, .b = b, .change = ST_CHANGE_UNKNOWN, .reason = "", .threshold = NAN,
                             .a_ns = a ? a->row.median_ns : NAN, .b_ns = b ? b->row.median_ns : NAN,
                             .ratio = {NAN, NAN, NAN}, .default_ratio = NAN};
}

static st_compare_pair *add_pair(st_compare_pair **list, size_t *count, size_t *capacity, st_error *error)
{
    st_compare_pair *grown = st_grow(*list, capacity, *count + 1, sizeof *grown);
    if (!grown) {
        st_fail_memory(error, "comparing");
        return NULL;
    }
    *list = grown;
    grown[*count] = blank_pair(NULL, NULL);
    return &grown[(*count)++];
}

// Of A's rows without a partner: did the other side try the problem, and nothing valid was left?
static st_code was_lost(const st_comparison *made, st_store *store, const st_compare_row *row, bool *lost,
                        st_error *error)
{
    const st_compare_side *side = &made->sides[1];
    st_code code = ST_OK;
    *lost = false;
    for (size_t i = 0; i < side->session_count && code == ST_OK && !*lost; i++) {
        const struct st_compare_session *session = &side->sessions[i];
        bool meant = strcmp(session->family, row->family) == 0 &&
                     (!made->against_baseline || session->device_key == row->device_key);
        if (meant && row->problem_key >= 0)
            code = st_store_lost(store, session->session_key, row->problem_key, lost, error);
    }
    return code;
}

static st_code add_alone(st_comparison *made, st_store *store, int side, const st_compare_record *record,
                         st_error *error)
{
    bool lost = false;
    st_code code = side == 0 ? was_lost(made, store, &record->row, &lost, error) : ST_OK;
    if (code != ST_OK)
        return code;
    st_compare_pair *pair =
        lost ? add_pair(&made->pairs, &made->count, &made->capacity, error)
             : add_pair(&made->only[side], &made->only_count[side], &made->only_capacity[side], error);
    if (!pair)
        return ST_NO_MEMORY;
    *pair = blank_pair(side ? NULL : record, side ? record : NULL);
    if (lost) {
        pair->lost = true;
        pair->change = ST_CHANGE_WORSE;
    }
    return ST_OK;
}

static st_code add_both(st_comparison *made, st_store *store, st_compare_record *a, st_compare_record *b,
                        st_error *error)
{
    st_compare_pair *pair = add_pair(&made->pairs, &made->count, &made->capacity, error);
    if (!pair)
        return ST_NO_MEMORY;
    *pair = blank_pair(a, b);
    st_code code = compare_judge(store, &made->rules, a, b, pair, error);
    bool moved = pair->change == ST_CHANGE_BETTER || pair->change == ST_CHANGE_WORSE;
    return code == ST_OK && moved ? compare_counters(store, pair, error) : code;
}

static void sort_side(st_compare_side *side, int (*order)(const void *, const void *))
{
    if (side->count)
        qsort(side->records, side->count, sizeof *side->records, order);
}

st_code st_comparison_judge(st_comparison *made, st_store *store, st_error *error)
{
    st_compare_side *a = &made->sides[0], *b = &made->sides[1];
    bool one_each = (is_of_one_device(a) || is_of_one_model(a)) && (is_of_one_device(b) || is_of_one_model(b));
    bool by_devices = made->against_baseline || a->device_by_device || b->device_by_device || !one_each;
    int (*order)(const void *, const void *) = by_devices ? order_with_device : order_without_device;
    sort_side(a, order);
    sort_side(b, order);
    st_code code = ST_OK;
    for (size_t i = 0, j = 0; (i < a->count || j < b->count) && code == ST_OK;) {
        int which = i == a->count ? 1 : j == b->count ? -1 : order(&a->records[i], &b->records[j]);
        if (which < 0)
            code = add_alone(made, store, 0, a->records[i++], error);
        else if (which > 0)
            code = add_alone(made, store, 1, b->records[j++], error);
        else
            code = add_both(made, store, a->records[i++], b->records[j++], error);
    }
    for (size_t i = 0; i < made->count; i++)
        made->counts[made->pairs[i].change]++;
    return code;
}
