// SPDX-License-Identifier: Apache-2.0
// Times of candidates on one scale, for what ranks them (tuner/base/phases.h says why). Invariants: 1. the scale of a
// session, problem and state of the cache depends on all of its candidates, whichever a question looks at; 2. it is found
// once a question, when the first time is met that may need it: those of finals never do; 3. what is stored stays.
#include "db/query_internal.h"

#include "tuner/base/memory.h"
#include "tuner/base/phases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct query_scale {
    int64_t session, problem;
    bool warm;
    st_phase_scale scale;
    int64_t *later; // candidates that came beyond the first round of halving, ascending
    size_t later_count, later_capacity;
} query_scale;

struct st_query_scales {
    query_scale *items;
    size_t count, capacity, last; // last: found last; rows of a group mostly follow each other
    uint32_t *table;              // index + 1
    size_t table_size;
};

void st_query_scales_forget(st_store *store)
{
    struct st_query_scales *all = store->scales;
    for (size_t i = 0; all && i < all->count; i++)
        st_free(all->items[i].later);
    if (all) {
        st_free(all->items);
        st_free(all->table);
    }
    st_free(all);
    store->scales = NULL;
}

// --- one scale -----------------------------------------------------------------------------------------------------
typedef struct times {
    st_phase_times *items; // of candidates that came further than the screen
    size_t count, capacity;
    int64_t candidate;     // of the last
    int round[ST_PHASES];
} times;

const char st_query_scale_sql[] =
    "SELECT m.candidate_key, m.phase, m.round, m.median_ns FROM candidate c"
    " CROSS JOIN measurement m ON m.candidate_key = c.candidate_key AND m.cache = ?3"
    " WHERE c.session_key = ?1 AND c.problem_key = ?2 AND EXISTS (SELECT 1 FROM measurement y"
    "  WHERE y.candidate_key = c.candidate_key AND y.cache = ?3"
    "  AND CASE y.phase WHEN 'finals' THEN 0 WHEN 'halving' THEN 1 ELSE 2 END < 2)";

// Rows of a candidate follow each other.
static bool take_time(query_scale *made, times *all, const st_statement *row)
{
    int64_t candidate = st_column_int(row, 0);
    int round = (int)st_column_int(row, 2), phase = st_phase_of(st_column_text(row, 1), round);
    if (!all->count || all->candidate != candidate) {
        st_phase_times *items = st_grow(all->items, &all->capacity, all->count + 1, sizeof *items);
        if (!items)
            return false;
        all->items = items;
        all->candidate = candidate;
        items[all->count++] = st_phase_no_times;
        for (int i = 0; i < ST_PHASES; i++)
            all->round[i] = -1;
    }
    if (phase < 0 || round < all->round[phase])
        return true;
    if (phase == ST_PHASE_HALVING_LATER && all->round[phase] < 0) {
        int64_t *later = st_grow(made->later, &made->later_capacity, made->later_count + 1, sizeof *later);
        if (!later)
            return false;
        made->later = later;
        later[made->later_count++] = candidate;
    }
    all->round[phase] = round;
    all->items[all->count - 1].ns[phase] = st_column_real(row, 3);
    return true;
}

static int by_key(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static st_code make_scale(st_store *store, query_scale *made, st_error *error)
{
    static const char doing[] = "asking the store";
    times all = {.candidate = -1};
    st_statement statement;
    st_code code = st_statement_open(store, &statement, st_query_scale_sql, doing, error);
    if (code == ST_OK) {
        st_bind_int(&statement, made->session);
        st_bind_int(&statement, made->problem);
        st_bind_text(&statement, made->warm ? "warm" : "cold");
    }
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row && !take_time(made, &all, &statement))
            code = st_fail_memory(error, doing);
    }
    st_statement_close(&statement);
    if (code == ST_OK && !st_phase_scale_make(all.items, all.count, sizeof *all.items, &made->scale))
        code = st_fail_memory(error, doing);
    if (code == ST_OK && made->later_count)
        qsort(made->later, made->later_count, sizeof *made->later, by_key);
    st_free(all.items);
    return code;
}

// --- all scales of a question ----------------------------------------------------------------------------------------
static bool is_of(const query_scale *one, int64_t session, int64_t problem, bool warm)
{
    return one->session == session && one->problem == problem && one->warm == warm;
}

static uint32_t *slot_of(const struct st_query_scales *all, int64_t session, int64_t problem, bool warm)
{
    uint64_t hash = ((uint64_t)session * 0x9e3779b97f4a7c15u ^ (uint64_t)problem) * 0xbf58476d1ce4e5b9u + warm;
    size_t at = (size_t)(hash ^ hash >> 29) & (all->table_size - 1);
    while (all->table[at] && !is_of(&all->items[all->table[at] - 1], session, problem, warm))
        at = (at + 1) & (all->table_size - 1);
    return &all->table[at];
}

static bool make_room(struct st_query_scales *all)
{
    query_scale *items = st_grow(all->items, &all->capacity, all->count + 1, sizeof *items);
    if (!items)
        return false;
    all->items = items;
    if ((all->count + 1) * 2 < all->table_size)
        return true;
    size_t size = all->table_size ? all->table_size * 2 : 64;
    uint32_t *table = st_calloc(size, sizeof *table);
    if (!table)
        return false;
    st_free(all->table);
    all->table = table;
    all->table_size = size;
    for (size_t i = 0; i < all->count; i++)
        *slot_of(all, items[i].session, items[i].problem, items[i].warm) = (uint32_t)i + 1;
    return true;
}

static st_code find_scale(st_store *store, int64_t session, int64_t problem, bool warm, const query_scale **out,
                          st_error *error)
{
    *out = NULL;
    if (!store->scales && !(store->scales = st_calloc(1, sizeof *store->scales)))
        return st_fail_memory(error, "asking the store");
    struct st_query_scales *all = store->scales;
    if (all->count && is_of(&all->items[all->last], session, problem, warm)) {
        *out = &all->items[all->last];
        return ST_OK;
    }
    if (!make_room(all))
        return st_fail_memory(error, "asking the store");
    uint32_t *slot = slot_of(all, session, problem, warm);
    if (!*slot) {
        query_scale made = {.session = session, .problem = problem, .warm = warm};
        st_code code = make_scale(store, &made, error);
        if (code != ST_OK) {
            st_free(made.later);
            return code;
        }
        all->items[all->count] = made;
        *slot = (uint32_t)++all->count;
    }
    all->last = *slot - 1;
    *out = &all->items[all->last];
    return ST_OK;
}

// --- in SQL --------------------------------------------------------------------------------------------------------
static void fail(sqlite3_context *context, st_code code)
{
    if (code == ST_NO_MEMORY)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_error_code(context, code == ST_DAMAGED       ? SQLITE_CORRUPT
                                           : code == ST_INTERRUPTED ? SQLITE_INTERRUPT
                                                                    : SQLITE_IOERR);
}

// simtune_query_comparable(candidate_key, session_key, problem_key, cache, phase, median_ns): nanoseconds.
void st_query_call_comparable(sqlite3_context *context, int count, sqlite3_value **values)
{
    enum { CANDIDATE, SESSION, PROBLEM, CACHE, PHASE, TIME };
    (void)count;
    const char *cache = (const char *)sqlite3_value_text(values[CACHE]);
    const char *phase = (const char *)sqlite3_value_text(values[PHASE]);
    if (sqlite3_value_type(values[TIME]) == SQLITE_NULL)
        return;
    double ns = sqlite3_value_double(values[TIME]);
    if (!cache || !phase || strcmp(phase, "finals") == 0) {
        sqlite3_result_double(context, ns);
        return;
    }
    const query_scale *of;
    st_error why = {0};
    st_code code = find_scale(sqlite3_user_data(context), sqlite3_value_int64(values[SESSION]),
                              sqlite3_value_int64(values[PROBLEM]), strcmp(cache, "warm") == 0, &of, &why);
    if (code != ST_OK) {
        fail(context, code);
        return;
    }
    int64_t candidate = sqlite3_value_int64(values[CANDIDATE]);
    bool later = of->later_count && bsearch(&candidate, of->later, of->later_count, sizeof candidate, by_key);
    sqlite3_result_double(context, st_phase_comparable(&of->scale, st_phase_of(phase, later ? 2 : 1), ns));
}
