// SPDX-License-Identifier: Apache-2.0
// Choosing rows among those that meet the conditions. Invariants: 1. a choice is made within a problem, a state of
// the cache and a group: the value that --per names, else the device; 2. of what was measured several times the
// newest measurement of each configuration (and device, with --per) stands, so that neither an old driver nor the
// luckiest of many runs decides; 3. rows are chosen by keys alone, and read whole after.
#include "db/query_internal.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *st_question_group_sql(const st_query *query)
{
    const char *per = query->per;
    return !per || st_text_equal(per, "device") ? "r.device_key"
           : st_text_equal(per, "driver")       ? "r.driver"
           : st_text_equal(per, "size")         ? "r.n"
                                                : "r.type";
}

// The rows to choose among. `values`: appended to the columns.
static void add_rows(const st_question *question, const char *values, st_text *sql)
{
    const char *group = st_question_group_sql(question->query);
    bool measured = question->source != ST_FROM_WINNERS; // of winners the newest were taken already
    st_text_addf(sql, "(SELECT r.candidate_key, r.candidate_id, r.cache, r.problem_key, r.median_ns, %s AS grouped%s",
                 group, values);
    if (measured)
        st_text_addf(sql,
                     ", row_number() OVER (PARTITION BY r.problem_key, r.cache, r.device_key, %s,"
                     " r.configuration_key ORDER BY r.taken_ms DESC, r.candidate_id) AS age",
                     group);
    st_text_addf(sql, " FROM %s WHERE r.outcome = 'correct' AND r.median_ns IS NOT NULL",
                 st_question_from(question->source));
    st_question_conditions_sql(question, sql);
    st_question_where_sql(question, sql);
    st_text_add(sql, measured ? ") WHERE age = 1" : ") WHERE 1");
}

void st_question_choice_sql(const st_question *question, st_text *sql)
{
    st_text_add(sql, "SELECT candidate_key AS chosen_key, cache AS chosen_cache FROM (SELECT candidate_key, cache,"
                     " row_number() OVER (PARTITION BY problem_key, cache, grouped ORDER BY median_ns, candidate_id)"
                     " AS place FROM ");
    add_rows(question, "", sql);
    st_text_add(sql, question->query->top ? ") WHERE place <= :top" : ") WHERE place = 1");
}

// --- rows that no other row beats ------------------------------------------------------------------------------
typedef struct point {
    int64_t candidate;
    bool warm;
    double at[ST_QUERY_AIMS]; // less is better
} point;

// The points of one problem, cache and group.
typedef struct field {
    point *points;
    size_t count, capacity;
    size_t aims;
    bool any;
    int64_t problem;
    bool warm;
    char *group; // NULL: unknown
    st_text *chosen;
} field;

static int compare_points(const void *a, const void *b)
{
    const point *left = a, *right = b;
    for (size_t i = 0; i < ST_QUERY_AIMS; i++)
        if (left->at[i] != right->at[i])
            return left->at[i] < right->at[i] ? -1 : 1;
    return (left->candidate > right->candidate) - (left->candidate < right->candidate);
}

// Nowhere worse, and somewhere better.
static bool beats(const point *a, const point *b, size_t aims)
{
    bool better = false;
    for (size_t i = 0; i < aims; i++) {
        if (a->at[i] > b->at[i])
            return false;
        better = better || a->at[i] < b->at[i];
    }
    return better;
}

// After sorting a point can be beaten only by an earlier one, and if so by one that is beaten by none.
static void end_field(field *at)
{
    if (!at->count)
        return;
    qsort(at->points, at->count, sizeof *at->points, compare_points);
    size_t front = 0;
    for (size_t i = 0; i < at->count; i++) {
        bool beaten = false;
        for (size_t k = 0; k < front && !beaten; k++)
            beaten = beats(&at->points[k], &at->points[i], at->aims);
        if (beaten)
            continue;
        st_text_addf(at->chosen, "%s[%lld,\"%s\"]", at->chosen->length > 1 ? "," : "",
                     (long long)at->points[i].candidate, at->points[i].warm ? "warm" : "cold");
        at->points[front++] = at->points[i];
    }
    at->count = 0;
}

enum { CANDIDATE, CACHE, PROBLEM, GROUP, FIRST_AIM };

static st_code take_point(field *at, const st_statement *row, const st_question *question, st_error *error)
{
    int64_t problem = st_column_int(row, PROBLEM);
    bool warm = st_text_equal(st_column_text(row, CACHE), "warm");
    const char *group = st_column_text_or_null(row, GROUP);
    if (at->any && (problem != at->problem || warm != at->warm || !st_text_equal(group, at->group)))
        end_field(at);
    if (!at->any || !st_text_equal(group, at->group)) {
        st_free(at->group);
        at->group = group ? st_strdup(group) : NULL;
        if (group && !at->group)
            return st_fail_memory(error, "asking the store");
    }
    at->any = true;
    at->problem = problem;
    at->warm = warm;
    point *points = st_grow(at->points, &at->capacity, at->count + 1, sizeof *points);
    if (!points)
        return st_fail_memory(error, "asking the store");
    at->points = points;
    point *one = &points[at->count++];
    *one = (point){.candidate = st_column_int(row, CANDIDATE), .warm = warm};
    for (size_t i = 0; i < question->aim_count; i++) {
        double value = st_column_real(row, FIRST_AIM + (int)i);
        one->at[i] = question->aims[i].more ? -value : value;
        if (isnan(value)) { // unknown in one of them: it cannot be placed
            at->count--;
            break;
        }
    }
    return ST_OK;
}

static void add_aims(const st_question *question, st_text *sql, st_text *names)
{
    st_question_aims_sql(question, sql);
    for (size_t i = 0; i < question->aim_count; i++)
        st_text_addf(names, ", aim%zu", i);
    names->failed = names->failed || sql->failed;
}

static void add_pareto(const st_question *question, st_text *sql)
{
    st_text values, names;
    st_text_init(&values);
    st_text_init(&names);
    add_aims(question, &values, &names);
    st_text_addf(sql, "SELECT candidate_key, cache, problem_key, grouped%s FROM ", st_text_string(&names));
    add_rows(question, st_text_string(&values), sql);
    st_text_add(sql, " ORDER BY problem_key, cache, grouped");
    sql->failed = sql->failed || names.failed;
    st_text_release(&values);
    st_text_release(&names);
}

st_code st_question_pareto(st_store *store, st_question *question, st_error *error)
{
    st_text sql, chosen;
    st_text_init(&sql);
    st_text_init(&chosen);
    st_text_add(&chosen, "[");
    add_pareto(question, &sql);
    field at = {.aims = question->aim_count, .chosen = &chosen};
    st_statement statement = {0};
    st_code code = sql.failed ? st_fail_memory(error, "asking the store")
                              : st_statement_open_once(store, &statement, st_text_string(&sql), "asking it", error);
    if (code == ST_OK)
        st_question_bind(&statement, question);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = take_point(&at, &statement, question, error);
    }
    st_statement_close(&statement);
    if (code == ST_OK)
        end_field(&at);
    st_text_add(&chosen, "]");
    if (code == ST_OK && !(question->chosen = st_text_take(&chosen)))
        code = st_fail_memory(error, "asking the store");
    st_free(at.points);
    st_free(at.group);
    st_text_release(&chosen);
    st_text_release(&sql);
    return code;
}
