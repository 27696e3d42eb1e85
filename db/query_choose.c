// SPDX-License-Identifier: Apache-2.0
// Choosing rows among those that meet the conditions. Invariants: 1. a choice is made within a problem, a state of
// the cache and a group: the value that --per names, else the device; 2. of what was measured several times the
// newest measurement of each configuration (and device, with --per) stands, so that neither an old driver nor the
// luckiest of many runs decides; 3. rows are chosen by keys alone, and read whole after; 4. what is chosen depends on
// the rows, not on the order in which they come; 5. times are compared on one scale (query_scale.c). (SQLite's window functions would sort all of them twice.)
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

enum { CANDIDATE, CACHE, PROBLEM, GROUP, TIME, ID, DEVICE, CONFIGURATION, TAKEN, FIRST_AIM };

static void add_choice(const st_question *question, st_text *columns, st_text *conditions)
{
    st_text_addf(columns, "SELECT r.candidate_key, r.cache, r.problem_key, %s, %s, r.candidate_id, r.device_key,"
                      " r.configuration_key, r.taken_ms",
                 st_question_group_sql(question->query),
                 question->source == ST_FROM_RESULTS ? ST_COMPARABLE("r") : "r.median_ns");
    st_question_aims_sql(question, columns);
    st_text_add(conditions, " WHERE r.outcome = 'correct' AND r.median_ns IS NOT NULL");
    st_question_conditions_sql(question, conditions);
    st_question_where_sql(question, conditions);
}

void st_question_choice_sql(const st_question *question, st_text *sql)
{
    st_text columns, conditions, both;
    st_text_init(&columns);
    st_text_init(&conditions);
    st_text_init(&both);
    add_choice(question, &columns, &conditions);
    st_text_addf(&both, "%s%s", st_text_string(&columns), st_text_string(&conditions));
    st_text_addf(sql, "%s FROM ", st_text_string(&columns));
    st_question_rows_sql(question, st_text_string(&both), sql);
    st_text_add(sql, st_text_string(&conditions));
    sql->failed = sql->failed || columns.failed || conditions.failed || both.failed;
    st_text_release(&columns);
    st_text_release(&conditions);
    st_text_release(&both);
}

// --- rows --------------------------------------------------------------------------------------------------------
typedef struct point {
    int64_t candidate, problem, device, configuration, taken_ms;
    size_t group; // index of its value; what is unknown is a group, too
    bool warm;
    double ns; // on the scale of the finals
    char id[ST_HASH_TEXT];
} point;

typedef struct choice {
    const st_question *question;
    point *points;
    double *aims; // of each point question->aim_count; less is better
    size_t count, capacity, aim_capacity;
    char **groups; // values, as text
    size_t group_count, group_capacity;
    uint32_t *table; // of the newest points: index + 1
    size_t table_size;
} choice;

static void release(choice *all)
{
    for (size_t i = 0; i < all->group_count; i++)
        st_free(all->groups[i]);
    st_free(all->groups);
    st_free(all->points);
    st_free(all->aims);
    st_free(all->table);
}

// Devices, drivers, sizes, types: there are few.
static bool group_of(choice *all, const char *value, size_t *out)
{
    for (*out = 0; *out < all->group_count; ++*out)
        if (st_text_equal(all->groups[*out], value))
            return true;
    char **groups = st_grow(all->groups, &all->group_capacity, all->group_count + 1, sizeof *groups);
    if (groups)
        all->groups = groups;
    char *copy = groups && value ? st_strdup(value) : NULL;
    if (!groups || (value && !copy))
        return false;
    groups[all->group_count++] = copy;
    return true;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x9e3779b97f4a7c15u ^ hash >> 29;
}

// The same configuration of the same problem, cache, device and group.
static bool is_again(const point *a, const point *b)
{
    return a->configuration == b->configuration && a->problem == b->problem && a->warm == b->warm &&
           a->device == b->device && a->group == b->group;
}

static bool is_newer(const point *a, const point *b)
{
    return a->taken_ms != b->taken_ms ? a->taken_ms > b->taken_ms : strcmp(a->id, b->id) < 0;
}

// Where the point stands in the table, or would.
static uint32_t *slot_of(const choice *all, const point *one)
{
    uint64_t hash = mix(mix(mix((uint64_t)one->configuration, (uint64_t)one->problem), (uint64_t)one->device),
                        one->group * 2 + one->warm);
    size_t at = (size_t)(hash >> 20) & (all->table_size - 1);
    while (all->table[at] && !is_again(&all->points[all->table[at] - 1], one))
        at = (at + 1) & (all->table_size - 1);
    return &all->table[at];
}

static bool grow_table(choice *all)
{
    if (all->count * 2 < all->table_size)
        return true;
    size_t size = all->table_size ? all->table_size * 2 : 1024;
    uint32_t *table = all->count < UINT32_MAX / 2 ? st_calloc(size, sizeof *table) : NULL;
    if (!table)
        return false;
    st_free(all->table);
    all->table = table;
    all->table_size = size;
    for (size_t i = 0; i < all->count; i++)
        *slot_of(all, &all->points[i]) = (uint32_t)i + 1;
    return true;
}

static bool read_point(choice *all, const st_statement *row, point *out)
{
    *out = (point){.candidate = st_column_int(row, CANDIDATE),
                   .problem = st_column_int(row, PROBLEM),
                   .device = st_column_int(row, DEVICE),
                   .configuration = st_column_int(row, CONFIGURATION),
                   .taken_ms = st_column_int(row, TAKEN),
                   .ns = st_column_real(row, TIME),
                   .warm = st_text_equal(st_column_text(row, CACHE), "warm")};
    st_column_copy(row, ID, out->id, sizeof out->id);
    return group_of(all, st_column_text_or_null(row, GROUP), &out->group);
}

// Keeps the row unless a newer one of its configuration is there. Of winners the newest were taken already.
static st_code take_point(choice *all, const st_statement *row, st_error *error)
{
    static const char doing[] = "asking the store";
    size_t aims = all->question->aim_count;
    point one;
    if (!read_point(all, row, &one))
        return st_fail_memory(error, doing);
    bool measured = all->question->source != ST_FROM_WINNERS;
    if (measured && !grow_table(all))
        return st_fail_memory(error, doing);
    uint32_t *slot = measured ? slot_of(all, &one) : NULL;
    if (slot && *slot && !is_newer(&one, &all->points[*slot - 1]))
        return ST_OK;
    size_t at = slot && *slot ? *slot - 1 : all->count;
    point *points = st_grow(all->points, &all->capacity, at + 1, sizeof *points);
    if (points)
        all->points = points;
    double *values = points && aims ? st_grow(all->aims, &all->aim_capacity, (at + 1) * aims, sizeof *values) : NULL;
    if (values)
        all->aims = values;
    if (!points || (aims && !values))
        return st_fail_memory(error, doing);
    points[at] = one;
    for (size_t i = 0; i < aims; i++) {
        double value = st_column_real(row, FIRST_AIM + (int)i);
        all->aims[at * aims + i] = all->question->aims[i].more ? -value : value;
    }
    if (at == all->count)
        all->count++;
    if (slot)
        *slot = (uint32_t)at + 1;
    return ST_OK;
}

static st_code read_points(st_store *store, choice *all, st_error *error)
{
    st_text sql;
    st_text_init(&sql);
    st_question_choice_sql(all->question, &sql);
    st_statement statement = {0};
    st_code code = sql.failed ? st_fail_memory(error, "asking the store")
                              : st_statement_open_once(store, &statement, st_text_string(&sql), "asking it", error);
    if (code == ST_OK)
        st_question_bind(&statement, all->question);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = take_point(all, &statement, error);
    }
    st_statement_close(&statement);
    st_text_release(&sql);
    return code;
}

// --- choosing ------------------------------------------------------------------------------------------------------
static int compare_fields(const point *a, const point *b)
{
    if (a->problem != b->problem)
        return a->problem < b->problem ? -1 : 1;
    if (a->warm != b->warm)
        return a->warm ? 1 : -1;
    return (a->group > b->group) - (a->group < b->group);
}

static int compare_times(const void *left, const void *right)
{
    const point *a = *(const point *const *)left, *b = *(const point *const *)right;
    int fields = compare_fields(a, b);
    if (fields)
        return fields;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return strcmp(a->id, b->id);
}

static int compare_aims(const void *left, const void *right, void *context)
{
    const choice *all = context;
    const point *a = *(const point *const *)left, *b = *(const point *const *)right;
    size_t aims = all->question->aim_count;
    const double *x = all->aims + (size_t)(a - all->points) * aims, *y = all->aims + (size_t)(b - all->points) * aims;
    int fields = compare_fields(a, b);
    for (size_t i = 0; i < aims && !fields; i++)
        if (x[i] != y[i])
            fields = x[i] < y[i] ? -1 : 1;
    return fields ? fields : (a->candidate > b->candidate) - (a->candidate < b->candidate);
}

// Nowhere worse, and somewhere better.
static bool beats(const double *a, const double *b, size_t aims)
{
    bool better = false;
    for (size_t i = 0; i < aims; i++) {
        if (a[i] > b[i])
            return false;
        better = better || a[i] < b[i];
    }
    return better;
}

// Unknown in one of them: it cannot be placed.
static bool is_known(const double *aims, size_t count)
{
    bool known = true;
    for (size_t i = 0; i < count; i++)
        known = known && !isnan(aims[i]);
    return known;
}

static void add_chosen(const point *one, st_text *out)
{
    st_text_addf(out, "%s%lld", out->length > 1 ? "," : "", (long long)one->candidate * 2 + one->warm);
}

// The K fastest of each field, or the fastest.
static void choose_fastest(const choice *all, const point **order, st_text *out)
{
    size_t most = all->question->query->top ? all->question->query->top : 1, place = 0;
    qsort(order, all->count, sizeof *order, compare_times);
    for (size_t i = 0; i < all->count; i++) {
        place = i && compare_fields(order[i - 1], order[i]) == 0 ? place + 1 : 0;
        if (place < most)
            add_chosen(order[i], out);
    }
}

// After sorting a point can be beaten only by an earlier one, and if so by one that is beaten by none. The front of the
// field at hand stands at the beginning of `order`, whose places were read before.
static void choose_front(choice *all, const point **order, st_text *out)
{
    size_t aims = all->question->aim_count, known = 0, front = 0, begin = 0;
    for (size_t i = 0; i < all->count; i++)
        if (is_known(all->aims + i * aims, aims))
            order[known++] = &all->points[i];
    qsort_r(order, known, sizeof *order, compare_aims, all);
    for (size_t i = 0; i < known; i++) {
        const point *one = order[i];
        if (i == 0 || compare_fields(order[begin], one) != 0) {
            begin = i;
            front = i;
        }
        bool beaten = false;
        for (size_t k = begin; k < front && !beaten; k++)
            beaten = beats(all->aims + (size_t)(order[k] - all->points) * aims,
                           all->aims + (size_t)(one - all->points) * aims, aims);
        if (beaten)
            continue;
        order[front++] = one;
        add_chosen(one, out);
    }
}

st_code st_question_choose(st_store *store, st_question *question, st_error *error)
{
    choice all = {.question = question};
    st_text chosen;
    st_text_init(&chosen);
    st_text_add(&chosen, "[");
    st_code code = read_points(store, &all, error);
    const point **order = code == ST_OK ? st_malloc((all.count + 1) * sizeof *order) : NULL;
    if (code == ST_OK && !order)
        code = st_fail_memory(error, "asking the store");
    for (size_t i = 0; code == ST_OK && i < all.count; i++)
        order[i] = &all.points[i];
    if (code == ST_OK && question->aim_count)
        choose_front(&all, order, &chosen);
    else if (code == ST_OK)
        choose_fastest(&all, order, &chosen);
    st_text_add(&chosen, "]");
    if (code == ST_OK && !(question->chosen = st_text_take(&chosen)))
        code = st_fail_memory(error, "asking the store");
    st_free(order);
    st_text_release(&chosen);
    release(&all);
    return code;
}
