// SPDX-License-Identifier: Apache-2.0
// Which candidates a T4 or Kernel Tuner file holds. Invariants: 1. a configuration stands once, as the newest of the
// chosen sessions tried it; 2. all have the same parameters, those of the newest session; 3. the order depends on
// what the rows say; 4. the measurement is the one that stands in simtune_results, its samples as they were taken; the
// time that is reported beside them, which readers rank by, is on the scale of the finals.
#include "db/exchange_internal.h"

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const st_property_names[ST_PROPERTIES] = {"registers",    "local_bytes",   "static_smem",
                                                      "dynamic_smem", "blocks_per_sm", "deterministic"};

// --- one problem, one device ---------------------------------------------------------------------------------------
static const char subjects_sql[] =
    "SELECT DISTINCT d.name, d.uuid, p.family, p.text, p.type, p.operation, p.n, d.cc, d.sm_count"
    " FROM temp.chosen h CROSS JOIN session s ON s.session_key = h.session_key"
    " JOIN device d ON d.device_key = s.device_key"
    " JOIN problem p ON p.problem_key IN (SELECT problem_key FROM temp.chosen_problem) AND p.family = s.family"
    " AND EXISTS (SELECT 1 FROM candidate c WHERE c.problem_key = p.problem_key AND c.session_key = s.session_key)"
    " ORDER BY p.family, p.type, p.operation, p.n, p.text, d.name, d.uuid LIMIT 6";

static void fill_subject(st_sheet *sheet, const st_statement *row)
{
    st_column_copy(row, 0, sheet->device, sizeof sheet->device);
    st_column_copy(row, 2, sheet->family, sizeof sheet->family);
    st_column_copy(row, 3, sheet->problem, sizeof sheet->problem);
    st_column_copy(row, 4, sheet->type, sizeof sheet->type);
    st_column_copy(row, 5, sheet->operation, sizeof sheet->operation);
    sheet->n = st_column_int(row, 6);
    sheet->cc = (int)st_column_int(row, 7);
    sheet->sm_count = (int)st_column_int(row, 8);
}

static st_code find_subject(st_store *store, st_sheet *sheet, st_error *error)
{
    st_statement statement;
    st_text found;
    int count = 0;
    st_text_init(&found);
    st_code code = st_statement_open_once(store, &statement, subjects_sql, "exporting", error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row)
            break;
        if (count++ == 0)
            fill_subject(sheet, &statement);
        if (count <= 5)
            st_text_addf(&found, "%s%s %s on %s (%s)", count > 1 ? "; " : "", st_column_text(&statement, 2),
                         st_column_text(&statement, 3), st_column_text(&statement, 0), st_column_text(&statement, 1));
    }
    st_statement_close(&statement);
    if (code == ST_OK && !count)
        code = st_fail(error, ST_NOTHING, "simtune db info lists the sessions, simtune query what they measured",
                       "the store %s has no candidate that was asked for", store->path);
    else if (code == ST_OK && count > 1)
        code = st_fail(error, ST_USAGE,
                       "name a session, or narrow it with --family, --device, --type, --op, --size and --problem; or "
                       "write JSON Lines, which hold everything",
                       "such a file holds one problem on one device, and these are several: %.700s%s",
                       st_text_string(&found), count > 5 ? " …" : "");
    st_text_release(&found);
    return code;
}

// --- which candidates ----------------------------------------------------------------------------------------------
#define OF_CHOSEN " FROM temp.chosen h CROSS JOIN candidate c ON c.session_key = h.session_key" \
                  " JOIN session s ON s.session_key = h.session_key" \
                  " WHERE c.problem_key IN (SELECT problem_key FROM temp.chosen_problem)"
#define STANDING "(SELECT y.measurement_key FROM measurement y WHERE y.candidate_key = c.candidate_key" \
                 " AND y.cache = ?1 ORDER BY CASE y.phase WHEN 'finals' THEN 0 WHEN 'halving' THEN 1" \
                 " ELSE 2 END, y.round DESC LIMIT 1)"

static st_code choose_cache(st_store *store, const st_export_wish *wish, st_sheet *sheet, st_error *error)
{
    st_statement statement;
    int64_t cold = 0;
    snprintf(sheet->cache, sizeof sheet->cache, "%s", wish->cache ? wish->cache : "cold");
    if (wish->cache)
        return ST_OK;
    st_code code = st_statement_open_once(store, &statement,
                                          "SELECT EXISTS (SELECT 1" OF_CHOSEN
                                          " AND EXISTS (SELECT 1 FROM measurement m WHERE m.candidate_key ="
                                          " c.candidate_key AND m.cache = 'cold'))",
                                          "exporting", error);
    if (code == ST_OK)
        code = st_statement_number(&statement, &cold, NULL, error);
    st_statement_close(&statement);
    if (!cold)
        snprintf(sheet->cache, sizeof sheet->cache, "warm");
    return code;
}

static st_code run_with_cache(st_store *store, const char *sql, const char *cache, int64_t *number, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, sql, "exporting", error);
    if (code == ST_OK) {
        if (sqlite3_bind_parameter_count(statement.statement))
            st_bind_text(&statement, cache);
        code = number ? st_statement_number(&statement, number, NULL, error) : st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    return code;
}

// temp.taken: what goes out, in order. What was never tried ('skipped') has no word in either form.
static st_code take_candidates(st_store *store, st_export_rows *rows, st_error *error)
{
    static const char fit_sql[] =
        "INSERT INTO temp.fit SELECT c.candidate_key, c.configuration_key, c.outcome, " STANDING
        ", row_number() OVER (ORDER BY s.started_ms DESC, s.session_id DESC)" OF_CHOSEN;
    static const char taken_sql[] =
        "INSERT INTO temp.taken (candidate_key, measurement_key) SELECT candidate_key, measurement_key FROM"
        " (SELECT f.*, row_number() OVER (PARTITION BY f.configuration_key ORDER BY place) AS nth FROM temp.fit f"
        "  WHERE f.outcome <> 'skipped' AND (f.outcome <> 'correct' OR f.measurement_key IS NOT NULL)) t"
        " JOIN configuration g ON g.configuration_key = t.configuration_key WHERE nth = 1"
        " ORDER BY (SELECT s.started_ms FROM candidate c JOIN session s ON s.session_key = c.session_key"
        "   WHERE c.candidate_key = t.candidate_key) DESC,"
        "  (SELECT s.session_id FROM candidate c JOIN session s ON s.session_key = c.session_key"
        "   WHERE c.candidate_key = t.candidate_key) DESC, g.text";
    static const char setup_sql[] =
        "CREATE TEMP TABLE IF NOT EXISTS fit (candidate_key INTEGER PRIMARY KEY, configuration_key, outcome,"
        " measurement_key, place);"
        "CREATE TEMP TABLE IF NOT EXISTS taken (position INTEGER PRIMARY KEY, candidate_key, measurement_key);"
        "DELETE FROM temp.fit; DELETE FROM temp.taken;";
    static const char unmeasured_sql[] =
        "SELECT count(*) FROM temp.fit WHERE outcome = 'skipped' OR (outcome = 'correct' AND measurement_key IS NULL)";
    int64_t all = 0, taken = 0, unmeasured = 0;
    st_code code = st_script_run(store, setup_sql, "exporting", error);
    if (code == ST_OK)
        code = run_with_cache(store, fit_sql, rows->sheet.cache, NULL, error);
    if (code == ST_OK)
        code = run_with_cache(store, taken_sql, NULL, NULL, error);
    if (code == ST_OK)
        code = run_with_cache(store, "SELECT count(*) FROM temp.fit", NULL, &all, error);
    if (code == ST_OK)
        code = run_with_cache(store, unmeasured_sql, NULL, &unmeasured, error);
    if (code == ST_OK)
        code = run_with_cache(store, "SELECT count(*) FROM temp.taken", NULL, &taken, error);
    rows->out->unmeasured = (size_t)unmeasured;
    rows->out->older = (size_t)(all - unmeasured - taken);
    return code;
}

// --- parameters --------------------------------------------------------------------------------------------------------
// The next "NAME=VALUE" of a configuration's text; false at its end.
static bool next_word(const char **at, const char **name, size_t *name_length, const char **value, size_t *length)
{
    while (**at) {
        size_t whole = strcspn(*at, " ");
        const char *equals = memchr(*at, '=', whole);
        *name = *at;
        *at += whole + strspn(*at + whole, " ");
        if (!equals)
            continue;
        *name_length = (size_t)(equals - *name);
        *value = equals + 1;
        *length = whole - *name_length - 1;
        return true;
    }
    return false;
}

static st_code add_parameter(st_export_rows *rows, const char *name, size_t length, st_error *error)
{
    st_text plain;
    st_text_init(&plain);
    st_text_add_unescaped(&plain, name, length);
    st_parameter *parameters =
        st_grow(rows->parameters, &rows->parameter_capacity, rows->parameter_count + 1, sizeof *parameters);
    if (parameters)
        rows->parameters = parameters;
    char *copy = parameters ? st_text_take(&plain) : NULL;
    st_text_release(&plain);
    if (!copy)
        return st_fail_memory(error, "exporting");
    parameters[rows->parameter_count++] = (st_parameter){.name = copy};
    return ST_OK;
}

// Whether the text has exactly the parameters, in their order; then *values are its values.
static st_code split(const st_export_rows *rows, const char *text, st_list *values, bool *fits, st_error *error)
{
    const char *at = text, *name, *value;
    size_t name_length, length, count = 0;
    st_text plain;
    st_text_init(&plain);
    *values = (st_list){0};
    *fits = true;
    bool whole = true;
    while (*fits && whole && next_word(&at, &name, &name_length, &value, &length)) {
        st_text_clear(&plain);
        st_text_add_unescaped(&plain, name, name_length);
        *fits = count < rows->parameter_count && st_text_equal(rows->parameters[count].name, st_text_string(&plain));
        whole = !plain.failed && st_list_add(values, value, length);
        count++;
    }
    *fits = *fits && count == rows->parameter_count;
    st_text_release(&plain);
    return whole ? ST_OK : st_fail_memory(error, "exporting");
}

static st_code note_values(st_export_rows *rows, const st_list *values, st_error *error)
{
    for (size_t i = 0; i < values->count; i++) {
        st_list *known = &rows->parameters[i].values;
        size_t at = known->count; // the last one is the likeliest
        while (at && strcmp(known->items[at - 1], values->items[i]) != 0)
            at--;
        if (!at && !st_list_add(known, values->items[i], strlen(values->items[i])))
            return st_fail_memory(error, "exporting");
    }
    return ST_OK;
}

static int by_size(const void *a, const void *b)
{
    double first = strtod(*(char *const *)a, NULL), second = strtod(*(char *const *)b, NULL);
    return first < second ? -1 : first > second;
}

static bool all_numbers(const st_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        char *end;
        strtod(list->items[i], &end);
        if (end == list->items[i] || *end)
            return false;
    }
    return true;
}

static const char taken_texts_sql[] =
    "SELECT g.text, t.position FROM temp.taken t JOIN candidate c ON c.candidate_key = t.candidate_key"
    " JOIN configuration g ON g.configuration_key = c.configuration_key ORDER BY t.position";

static st_code learn_text(st_export_rows *rows, const char *text, bool first, bool *fits, st_error *error)
{
    const char *at = text, *name, *value;
    size_t name_length, length;
    st_list values = {0};
    st_code code = ST_OK;
    while (first && code == ST_OK && next_word(&at, &name, &name_length, &value, &length))
        code = add_parameter(rows, name, name_length, error);
    if (code == ST_OK)
        code = split(rows, text, &values, fits, error);
    if (code == ST_OK && *fits)
        code = note_values(rows, &values, error);
    st_list_free(&values);
    return code;
}

static st_code learn_parameters(st_store *store, st_export_rows *rows, st_error *error)
{
    st_statement statement;
    size_t count = 0;
    st_code code = st_statement_open_once(store, &statement, taken_texts_sql, "exporting", error);
    for (bool row = true, fits = false; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row)
            break;
        code = learn_text(rows, st_column_text(&statement, 0), count++ == 0, &fits, error);
        rows->out->candidates += code == ST_OK && fits;
        rows->out->strangers += code == ST_OK && !fits;
    }
    st_statement_close(&statement);
    for (size_t i = 0; i < rows->parameter_count; i++)
        if (rows->parameters[i].values.count > 1 && all_numbers(&rows->parameters[i].values))
            qsort(rows->parameters[i].values.items, rows->parameters[i].values.count, sizeof(char *), by_size);
    if (code == ST_OK && !rows->out->candidates)
        code = st_fail(error, ST_NOTHING, "simtune query lists what was measured; --cache chooses its state",
                       "nothing of %s %s was measured with the cache %s", rows->sheet.family, rows->sheet.problem,
                       rows->sheet.cache);
    return code;
}

// The toolchain of the newest session.
static st_code learn_toolchain(st_store *store, st_sheet *sheet, st_error *error)
{
    st_statement statement;
    bool row = false;
    st_code code = st_statement_open_once(store, &statement,
                                          "SELECT k.driver, k.driver_cuda, k.compiler, k.tool FROM temp.taken t"
                                          " JOIN candidate c ON c.candidate_key = t.candidate_key"
                                          " JOIN session s ON s.session_key = c.session_key"
                                          " JOIN toolchain k ON k.toolchain_key = s.toolchain_key"
                                          " ORDER BY t.position LIMIT 1",
                                          "exporting", error);
    if (code == ST_OK)
        code = st_statement_step(&statement, &row, error);
    if (code == ST_OK && row) {
        st_column_copy(&statement, 0, sheet->driver, sizeof sheet->driver);
        sheet->driver_cuda = (int)st_column_int(&statement, 1);
        st_column_copy(&statement, 2, sheet->compiler, sizeof sheet->compiler);
        st_column_copy(&statement, 3, sheet->tool, sizeof sheet->tool);
    }
    st_statement_close(&statement);
    return code;
}

st_code st_export_rows_open(st_store *store, const st_export_wish *wish, st_exported *out, st_export_rows *rows,
                            st_error *error)
{
    *rows = (st_export_rows){.store = store, .out = out, .sheet = {.n = -1, .driver_cuda = -1}};
    st_code code = find_subject(store, &rows->sheet, error);
    if (code == ST_OK)
        code = choose_cache(store, wish, &rows->sheet, error);
    if (code == ST_OK)
        code = take_candidates(store, rows, error);
    if (code == ST_OK)
        code = learn_parameters(store, rows, error);
    if (code == ST_OK)
        code = learn_toolchain(store, &rows->sheet, error);
    snprintf(out->family, sizeof out->family, "%s", rows->sheet.family);
    snprintf(out->device, sizeof out->device, "%s", rows->sheet.device);
    snprintf(out->problem, sizeof out->problem, "%s", rows->sheet.problem);
    snprintf(out->cache, sizeof out->cache, "%s", rows->sheet.cache);
    if (code != ST_OK)
        st_export_rows_release(rows);
    return code;
}

void st_export_rows_release(st_export_rows *rows)
{
    for (size_t i = 0; i < rows->parameter_count; i++) {
        st_free(rows->parameters[i].name);
        st_list_free(&rows->parameters[i].values);
    }
    st_free(rows->parameters);
    *rows = (st_export_rows){0};
}

// --- one by one ------------------------------------------------------------------------------------------------------
typedef struct counters {
    st_trial_counter *items;
    size_t count, capacity;
    double reported_ns;
} counters;

static st_code collect_counter(void *context, const char *kind, const char *name, double value, st_error *error)
{
    counters *all = context;
    if (strcmp(name, ST_REPORTED_MEAN) == 0) {
        all->reported_ns = value;
        return ST_OK;
    }
    if (!isfinite(value))
        return ST_OK;
    st_trial_counter *items = st_grow(all->items, &all->capacity, all->count + 1, sizeof *items);
    if (items)
        all->items = items;
    char *copy = items ? st_strdup(name) : NULL;
    if (!copy)
        return st_fail_memory(error, "exporting counters");
    items[all->count++] = (st_trial_counter){copy, strcmp(kind, "pc") == 0, value};
    return ST_OK;
}

static const char rows_sql[] =
    "SELECT c.candidate_key, g.text, c.outcome, c.detail, c.registers, c.local_bytes, c.static_smem,"
    " c.dynamic_smem, c.blocks_per_sm, c.deterministic, c.occupancy, c.compile_seconds, m.median_ns, m.batch,"
    " m.taken_ms, m.samples, s.finished_ms, simtune_query_comparable(c.candidate_key, c.session_key, c.problem_key,"
    " m.cache, m.phase, m.median_ns) - m.median_ns FROM temp.taken t JOIN candidate c ON c.candidate_key = t.candidate_key"
    " JOIN session s ON s.session_key = c.session_key"
    " JOIN configuration g ON g.configuration_key = c.configuration_key"
    " LEFT JOIN measurement m ON m.measurement_key = t.measurement_key ORDER BY t.position";

static void fill_row(st_export_row *row, const st_statement *from, double reported_ns)
{
    row->outcome = st_column_text(from, 2);
    row->detail = st_column_text(from, 3);
    for (int i = 0; i < ST_PROPERTIES; i++)
        row->properties[i] = (int)st_column_int(from, 4 + i);
    row->occupancy = st_column_real(from, 10);
    row->compile_seconds = st_column_real(from, 11);
    row->taken_ms = st_column_int(from, 14) > 0 ? st_column_int(from, 14) : st_column_int(from, 16);
    row->mean_ns = row->benchmark_seconds = NAN;
    if (strcmp(row->outcome, "correct") != 0)
        row->sample_count = 0; // a time of what is wrong is none
    else if (row->sample_count) {
        int64_t batch = st_column_int(from, 13);
        row->mean_ns = st_mean(row->samples_ns, row->sample_count);
        row->benchmark_seconds = row->mean_ns * (double)row->sample_count * (double)(batch > 0 ? batch : 1) / 1e9;
    } else {
        row->mean_ns = isfinite(reported_ns) ? reported_ns : st_column_real(from, 12);
    }
    // Readers rank by it: on one scale (query_scale.c). Samples stay as they were taken.
    double shift = st_column_real(from, 17);
    row->mean_ns += isfinite(shift) ? fmax(shift, -row->mean_ns / 2) : 0;
}

static st_code write_one(st_export_rows *rows, const st_statement *from, st_export_row_writer *writer, void *context,
                         st_error *error)
{
    st_export_row row = {0};
    counters all = {.reported_ns = NAN};
    bool fits;
    double *samples = NULL;
    st_code code = split(rows, st_column_text(from, 1), &row.values, &fits, error);
    if (code == ST_OK && fits)
        code = st_store_counters_of(rows->store, st_column_int(from, 0), collect_counter, &all, error);
    if (code == ST_OK && fits) {
        samples = st_samples_decode(sqlite3_column_blob(from->statement, 15),
                                    (size_t)sqlite3_column_bytes(from->statement, 15), &row.sample_count);
        code = samples ? ST_OK : st_fail_memory(error, "exporting samples");
    }
    if (code == ST_OK && fits) {
        row.samples_ns = samples;
        fill_row(&row, from, all.reported_ns);
        row.counters = all.items;
        row.counter_count = all.count;
        code = writer(context, &row, error);
    }
    for (size_t i = 0; i < all.count; i++)
        st_free(all.items[i].name);
    st_free(all.items);
    st_free(samples);
    st_list_free(&row.values);
    return code;
}

st_code st_export_rows_each(st_export_rows *rows, st_export_row_writer *writer, void *context, st_error *error)
{
    st_statement statement = {0};
    st_code code = st_query_functions(rows->store, error);
    if (code == ST_OK)
        code = st_statement_open_once(rows->store, &statement, rows_sql, "exporting", error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = write_one(rows, &statement, writer, context, error);
    }
    st_statement_close(&statement);
    st_query_scales_forget(rows->store);
    return code;
}
