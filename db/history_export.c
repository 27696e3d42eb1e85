// SPDX-License-Identifier: Apache-2.0
// Writing history. Invariants: 1. the order of lines and of keys depends on what the rows say, never on
// local keys or on when they were stored: same rows, same bytes; 2. the gzip header holds no date and no
// name; 3. the file appears at its name only when it is complete, and an older file stays until then
// (st_text_write_file); 4. the rows are those of one moment (one read transaction).
#include "db/exchange_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <string.h>

typedef struct st_export {
    st_store *store;
    st_sink sink;
    st_text line;
    int64_t rows;
} st_export;

// --- lines -------------------------------------------------------------------------------------------------
// Writes the line and releases its object.
static st_code write_line(st_export *to, st_line *line, st_error *error)
{
    st_text_clear(&to->line);
    bool failed = line->failed;
    if (!failed)
        st_history_print(line->object, &to->line);
    st_text_add(&to->line, "\n");
    json_decref(line->object);
    line->object = NULL;
    if (failed || to->line.failed)
        return st_fail(error, ST_NO_MEMORY,
                       "free memory, or look for a JSON text in the store that is "
                       "not JSON or holds a number beyond 64 bits",
                       "cannot write a row as JSON to %s", to->sink.path);
    to->rows++;
    return st_sink_add(&to->sink, &to->line, error);
}

typedef void st_line_filler(st_line *line, const st_statement *row);

// One line a row of `sql`.
static st_code write_rows(st_export *to, const char *sql, const char *row_name,
                          st_line_filler *fill, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(to->store, &statement, sql, "exporting", error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row)
            break;
        st_line line;
        st_line_start(&line, row_name);
        fill(&line, &statement);
        code = write_line(to, &line, error);
    }
    st_statement_close(&statement);
    return code;
}

// --- content -----------------------------------------------------------------------------------------------
static void fill_device(st_line *line, const st_statement *row)
{
    static const char *const texts[] = {"id", "uuid", "name", "backend", "pci"};
    static const char *const numbers[] = {"cc", "sm_count", "memory_bytes", "l2_bytes"};
    for (int i = 0; i < 5; i++)
        st_line_text(line, texts[i], st_column_text(row, i));
    for (int i = 0; i < 4; i++)
        st_line_int(line, numbers[i], st_column_int(row, 5 + i));
    st_line_json(line, "facts", st_column_text(row, 9));
    st_line_real(line, "read_gbs", st_column_real(row, 10));
    st_line_real(line, "copy_gbs", st_column_real(row, 11));
}

static void fill_toolchain(st_line *line, const st_statement *row)
{
    st_line_text(line, "id", st_column_text(row, 0));
    st_line_text(line, "driver", st_column_text(row, 1));
    st_line_int(line, "driver_cuda", st_column_int(row, 2));
    st_line_text(line, "compiler", st_column_text(row, 3));
    st_line_text(line, "tool", st_column_text(row, 4));
}

static void fill_template(st_line *line, const st_statement *row)
{
    st_line_text(line, "hash", st_column_text(row, 0));
    st_line_text(line, "family", st_column_text(row, 1));
    st_line_json(line, "texts", st_column_text(row, 2));
}

static void fill_problem(st_line *line, const st_statement *row)
{
    st_line_text(line, "family", st_column_text(row, 0));
    st_line_value(line, "text", json_string(st_column_text(row, 1)));
    st_line_text(line, "type", st_column_text(row, 2));
    st_line_text(line, "operation", st_column_text(row, 3));
    st_line_int(line, "n", st_column_int(row, 4));
}

static void fill_session(st_line *line, const st_statement *row)
{
    static const char *const names[] = {"id",     "resume_key", "family",
                                        "device", "toolchain",  "template"};
    for (int i = 0; i < 6; i++)
        st_line_text(line, names[i], st_column_text(row, i));
    st_line_int(line, "started_ms", st_column_int(row, 6));
    st_line_int(line, "finished_ms", st_column_int(row, 7));
    st_line_text(line, "status", st_column_text(row, 8));
    st_line_text(line, "command", st_column_text(row, 9));
    st_line_json(line, "options", st_column_text(row, 10));
    st_line_json(line, "summary", st_column_text(row, 11));
}

static void fill_winner(st_line *line, const st_statement *row)
{
    static const char *const reals[] = {"winner_ns",   "default_ns",   "speedup",
                                        "speedup_low", "speedup_high", "bytes"};
    st_line_text(line, "session", st_column_text(row, 0));
    st_line_value(line, "problem", json_string(st_column_text(row, 1)));
    st_line_text(line, "cache", st_column_text(row, 2));
    st_line_value(line, "winner", json_string(st_column_text(row, 3)));
    if (st_column_text_or_null(row, 4))
        st_line_value(line, "default", json_string(st_column_text(row, 4)));
    for (int i = 0; i < 6; i++)
        st_line_real(line, reals[i], st_column_real(row, 5 + i));
    st_line_int(line, "tied", st_column_int(row, 11));
    st_line_json(line, "ties", st_column_text(row, 12));
    st_line_text(line, "note", st_column_text(row, 13));
}

static void fill_baseline(st_line *line, const st_statement *row)
{
    st_line_text(line, "session", st_column_text(row, 0));
    st_line_int(line, "marked_ms", st_column_int(row, 1));
    st_line_text(line, "note", st_column_text(row, 2));
}

static void fill_acknowledgement(st_line *line, const st_statement *row)
{
    st_line_text(line, "id", st_column_text(row, 0));
    st_line_text(line, "baseline", st_column_text(row, 1));
    st_line_text(line, "session", st_column_text(row, 2));
    st_line_text(line, "family", st_column_text(row, 3));
    st_line_value(line, "problem", json_string(st_column_text(row, 4)));
    st_line_text(line, "cache", st_column_text(row, 5));
    st_line_text(line, "reason", st_column_text(row, 6));
    st_line_text(line, "author", st_column_text(row, 7));
    st_line_int(line, "acknowledged_ms", st_column_int(row, 8));
}

// --- candidates --------------------------------------------------------------------------------------------
static st_code collect_measurement(void *context, const st_measurement_row *row, st_error *error)
{
    json_t *list = context;
    st_line line;
    st_line_start(&line, NULL);
    st_line_text(&line, "phase", row->phase);
    st_line_int(&line, "round", row->round);
    st_line_text(&line, "cache", row->cache);
    st_line_real(&line, "median_ns", row->median_ns);
    st_line_int(&line, "sm_clock_mhz", row->sm_clock_mhz);
    st_line_int(&line, "memory_clock_mhz", row->memory_clock_mhz);
    st_line_int(&line, "temperature_c", row->temperature_c);
    st_line_int(&line, "power_mw", row->power_mw);
    st_line_int(&line, "throttle_reasons", row->throttle_reasons);
    st_line_int(&line, "dropped", row->dropped);
    st_line_int(&line, "batch", row->batch);
    st_line_real(&line, "tick_ns", row->tick_ns);
    st_line_int(&line, "taken_ms", row->taken_ms);
    st_line_int(&line, "samples_taken", row->samples_taken > 0 ? row->samples_taken : -1);
    st_line_value(&line, "samples_ns", st_history_samples(row->samples_ns, row->sample_count));
    bool ok = !line.failed && json_array_append(list, line.object) == 0;
    json_decref(line.object);
    return ok ? ST_OK : st_fail_memory(error, "exporting a measurement");
}

static st_code add_measurements(st_export *to, int64_t key, st_line *line, st_error *error)
{
    json_t *list = json_array();
    if (!list)
        return st_fail_memory(error, "exporting measurements");
    st_code code = st_store_measurements(to->store, key, collect_measurement, list, error);
    if (code == ST_OK && json_array_size(list))
        st_line_value(line, "measurements", json_incref(list));
    json_decref(list);
    return code;
}

static st_code profile_counters(st_export *to, int64_t profile, json_t *counters, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open(to->store, &statement,
                                     "SELECT r.name, v.value FROM metric r CROSS JOIN counter v"
                                     " ON v.metric_key = r.metric_key WHERE v.profile_key = ?"
                                     " ORDER BY r.name",
                                     "exporting counters", error);
    if (code == ST_OK)
        st_bind_int(&statement, profile);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row &&
            json_object_set_new(counters, st_column_text(&statement, 0),
                                st_json_number(st_column_real(&statement, 1))) != 0)
            code = st_fail_memory(error, "exporting counters");
    }
    st_statement_close(&statement);
    return code;
}

static st_code add_profile(st_export *to, const st_statement *row, json_t *list, st_error *error)
{
    st_line line;
    st_line_start(&line, NULL);
    st_line_text(&line, "kind", st_column_text(row, 1));
    st_line_real(&line, "seconds", st_column_real(row, 2));
    json_t *counters = json_object();
    st_code code = counters ? profile_counters(to, st_column_int(row, 0), counters, error)
                            : st_fail_memory(error, "exporting counters");
    st_line_value(&line, "counters", counters);
    if (code == ST_OK && (line.failed || json_array_append(list, line.object) != 0))
        code = st_fail_memory(error, "exporting counters");
    json_decref(line.object);
    return code;
}

static st_code add_profiles(st_export *to, int64_t key, st_line *line, st_error *error)
{
    json_t *list = json_array();
    if (!list)
        return st_fail_memory(error, "exporting counters");
    st_statement statement;
    st_code code = st_statement_open(to->store, &statement,
                                     "SELECT profile_key, kind, seconds FROM profile"
                                     " WHERE candidate_key = ? ORDER BY kind",
                                     "exporting counters", error);
    if (code == ST_OK)
        st_bind_int(&statement, key);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = add_profile(to, &statement, list, error);
    }
    st_statement_close(&statement);
    if (code == ST_OK && json_array_size(list))
        st_line_value(line, "profiles", json_incref(list));
    json_decref(list);
    return code;
}

static void fill_candidate(st_line *line, const st_statement *row)
{
    static const char *const numbers[] = {"registers",    "local_bytes",   "static_smem",
                                          "dynamic_smem", "blocks_per_sm", "deterministic"};
    st_line_text(line, "session", st_column_text(row, 1));
    st_line_value(line, "problem", json_string(st_column_text(row, 2)));
    st_line_value(line, "configuration", json_string(st_column_text(row, 3)));
    st_line_text(line, "outcome", st_column_text(row, 4));
    st_line_text(line, "detail", st_column_text(row, 5));
    for (int i = 0; i < 6; i++)
        st_line_int(line, numbers[i], st_column_int(row, 6 + i));
    st_line_real(line, "occupancy", st_column_real(row, 12));
    st_line_real(line, "compile_seconds", st_column_real(row, 13));
}

static st_code write_candidate(st_export *to, const st_statement *row, st_error *error)
{
    int64_t key = st_column_int(row, 0);
    char *stall_lines = NULL;
    st_line line;
    st_line_start(&line, "candidate");
    fill_candidate(&line, row);
    st_code code = add_measurements(to, key, &line, error);
    if (code == ST_OK)
        code = add_profiles(to, key, &line, error);
    if (code == ST_OK)
        code = st_store_stall_lines_of(to->store, key, &stall_lines, error);
    st_line_json(&line, "stall_lines", stall_lines);
    st_free(stall_lines);
    if (code == ST_OK)
        return write_line(to, &line, error);
    json_decref(line.object);
    return code;
}

static st_code write_candidates(st_export *to, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(
        to->store, &statement,
        "SELECT c.candidate_key, s.session_id, p.text, g.text, c.outcome, c.detail, c.registers,"
        " c.local_bytes, c.static_smem, c.dynamic_smem, c.blocks_per_sm, c.deterministic, "
        "c.occupancy,"
        " c.compile_seconds FROM temp.chosen h JOIN session s ON s.session_key = h.session_key"
        " JOIN candidate c ON c.session_key = s.session_key"
        " AND c.problem_key IN (SELECT problem_key FROM temp.chosen_problem)"
        " JOIN problem p ON p.problem_key = c.problem_key"
        " JOIN configuration g ON g.configuration_key = c.configuration_key"
        " ORDER BY s.session_id, p.type, p.operation, p.n, p.text, g.text",
        "exporting candidates", error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = write_candidate(to, &statement, error);
    }
    st_statement_close(&statement);
    return code;
}

// --- the file ----------------------------------------------------------------------------------------------
#define ACKNOWLEDGED                                                                               \
    " WHERE a.baseline_key IN (SELECT session_key FROM temp.chosen)"                               \
    " AND a.session_key IN (SELECT session_key FROM temp.chosen)"                                  \
    " AND a.problem_key IN (SELECT problem_key FROM temp.chosen_problem)"

// Version 1 where a reader of version 1 understands every row.
static st_code version_needed(st_export *to, int64_t *version, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(
        to->store, &statement,
        "SELECT 1 + (EXISTS (SELECT 1 FROM baseline WHERE session_key IN (SELECT session_key FROM temp.chosen))"
        " OR EXISTS (SELECT 1 FROM acknowledgement a" ACKNOWLEDGED "))",
        "exporting", error);
    if (code == ST_OK)
        code = st_statement_number(&statement, version, NULL, error);
    st_statement_close(&statement);
    return code;
}

static st_code write_content(st_export *to, st_error *error)
{
#define OF_CHOSEN(column)                                                                          \
    " IN (SELECT " column " FROM session JOIN temp.chosen USING (session_key))"
    static const struct {
        const char *row, *sql;
        st_line_filler *fill;
    } parts[] = {
        {"device",
         "SELECT device_id, uuid, name, backend, pci, cc, sm_count, memory_bytes, l2_bytes, facts, "
         "read_gbs,"
         " copy_gbs FROM device WHERE device_key" OF_CHOSEN("device_key") " ORDER BY device_id",
         fill_device},
        {"toolchain",
         "SELECT toolchain_id, driver, driver_cuda, compiler, tool FROM toolchain"
         " WHERE toolchain_key" OF_CHOSEN("toolchain_key") " ORDER BY toolchain_id",
         fill_toolchain},
        {"template",
         "SELECT hash, family, texts FROM template WHERE template_key" OF_CHOSEN(
             "template_key") " ORDER BY hash",
         fill_template},
        {"problem",
         "SELECT family, text, type, operation, n FROM problem WHERE problem_key IN"
         " (SELECT problem_key FROM candidate JOIN temp.chosen USING (session_key)"
         "  JOIN temp.chosen_problem USING (problem_key))"
         " ORDER BY family, type, operation, n, text",
         fill_problem},
        {"session",
         "SELECT s.session_id, s.resume_key, s.family, d.device_id, t.toolchain_id, e.hash,"
         " s.started_ms, s.finished_ms, s.status, s.command, s.options, s.summary"
         " FROM temp.chosen h JOIN session s ON s.session_key = h.session_key"
         " JOIN device d ON d.device_key = s.device_key"
         " JOIN toolchain t ON t.toolchain_key = s.toolchain_key"
         " JOIN template e ON e.template_key = s.template_key ORDER BY s.session_id",
         fill_session},
        {NULL, NULL, NULL}, // candidates stand here
        {"winner",
         "SELECT s.session_id, p.text, w.cache, g.text, dg.text, w.winner_ns, w.default_ns, "
         "w.speedup,"
         " w.speedup_low, w.speedup_high, w.bytes, w.tied, w.ties, w.note"
         " FROM temp.chosen h JOIN session s ON s.session_key = h.session_key"
         " JOIN winner w ON w.session_key = s.session_key"
         " AND w.problem_key IN (SELECT problem_key FROM temp.chosen_problem)"
         " JOIN problem p ON p.problem_key = w.problem_key"
         " JOIN candidate c ON c.candidate_key = w.winner_key"
         " JOIN configuration g ON g.configuration_key = c.configuration_key"
         " LEFT JOIN candidate dc ON dc.candidate_key = w.default_key"
         " LEFT JOIN configuration dg ON dg.configuration_key = dc.configuration_key"
         " ORDER BY s.session_id, p.type, p.operation, p.n, p.text, w.cache",
         fill_winner},
        {"baseline",
         "SELECT s.session_id, b.marked_ms, b.note FROM temp.chosen h JOIN baseline b"
         " ON b.session_key = h.session_key JOIN session s ON s.session_key = h.session_key"
         " ORDER BY s.session_id",
         fill_baseline},
        {"acknowledgement", // of two sessions that both are in the file
         "SELECT a.acknowledgement_id, o.session_id, s.session_id, p.family, p.text, a.cache, a.reason,"
         " a.author, a.acknowledged_ms FROM acknowledgement a"
         " JOIN session o ON o.session_key = a.baseline_key JOIN session s ON s.session_key = a.session_key"
         " JOIN problem p ON p.problem_key = a.problem_key" ACKNOWLEDGED " ORDER BY a.acknowledgement_id",
         fill_acknowledgement},
    };
    st_line line;
    int64_t version;
    st_code code = version_needed(to, &version, error);
    if (code != ST_OK)
        return code;
    st_line_start(&line, NULL);
    st_line_text(&line, "format", ST_HISTORY_FORMAT);
    st_line_int(&line, "version", version);
    code = write_line(to, &line, error);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && code == ST_OK; i++)
        code = parts[i].row ? write_rows(to, parts[i].sql, parts[i].row, parts[i].fill, error)
                            : write_candidates(to, error);
    if (code != ST_OK)
        return code;
    int64_t between = to->rows - 1;
    st_line_start(&line, "end");
    st_line_int(&line, "rows", between);
    return write_line(to, &line, error);
}

st_code st_history_write(st_store *store, const char *path, bool zipped, st_error *error)
{
    st_export to = {.store = store};
    st_text_init(&to.line);
    st_code code = st_sink_open(&to.sink, path, zipped, error);
    if (code == ST_OK)
        code = write_content(&to, error);
    if (code == ST_OK)
        code = st_sink_finish(&to.sink, error);
    st_sink_release(&to.sink);
    st_text_release(&to.line);
    return code;
}

st_code st_history_export(st_store *store, const char *const *session_ids, const char *path,
                          st_error *error)
{
    const st_export_wish wish = {.sessions = session_ids, .n = -1};
    bool reading;
    size_t sessions;
    st_code code = st_exchange_select(store, &wish, &reading, &sessions, error);
    if (code != ST_OK)
        return code;
    code = st_history_write(store, path, true, error);
    st_exchange_unselect(store, reading);
    return code;
}
