// SPDX-License-Identifier: Apache-2.0
// The rows of a history file, as they are read. Invariants: 1. nothing in the file is trusted: presence
// and type are checked here, ranges and references by the schema; 2. a row that is there, by stable id, is
// left as it is; 3. after the first failure (in->code) nothing more is read or written.
#include "db/history_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- fields ------------------------------------------------------------------------------------------------
static const char *text_of(st_import *in, const char *name)
{
    const char *value = "";
    if (in->code == ST_OK)
        in->code = st_json_get_string(in->row, name, &value, in->error);
    return value;
}

static bool is_given(const st_import *in, const char *name)
{
    const json_t *value = json_object_get(in->row, name);
    return value && !json_is_null(value);
}

static const char *text_or_empty(st_import *in, const char *name)
{
    return is_given(in, name) ? text_of(in, name) : "";
}

static int64_t int_or_unknown(st_import *in, const char *name)
{
    int64_t value = -1;
    if (in->code == ST_OK && is_given(in, name))
        in->code = st_json_get_int(in->row, name, &value, in->error);
    return value;
}

static int small_or_unknown(st_import *in, const char *name)
{
    int64_t value = int_or_unknown(in, name);
    if (in->code == ST_OK && (value < INT32_MIN || value > INT32_MAX))
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is out of range", name);
    return (int)value;
}

static double real_or_unknown(st_import *in, const char *name)
{
    double value = NAN;
    if (in->code == ST_OK && is_given(in, name))
        in->code = st_json_get_number(in->row, name, &value, in->error);
    return value;
}

// A text that must fit an array of a struct.
static void copy_text(st_import *in, const char *name, bool required, char *out, size_t capacity)
{
    const char *text = required ? text_of(in, name) : text_or_empty(in, name);
    if (in->code == ST_OK && strlen(text) >= capacity)
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is too long", name);
    snprintf(out, capacity, "%s", text);
}

// The JSON value as text (st_free), NULL when it is not given.
static char *json_or_null(st_import *in, const char *name)
{
    if (in->code != ST_OK || !is_given(in, name))
        return NULL;
    st_text text;
    st_text_init(&text);
    st_history_print(json_object_get(in->row, name), &text);
    char *value = st_text_take(&text);
    if (!value)
        in->code = st_fail_memory(in->error, "importing");
    st_text_release(&text);
    return value;
}

// --- keys by stable id -------------------------------------------------------------------------------------
static int64_t key_of(st_import *in, const char *sql, const char *what, const char *id)
{
    st_statement statement;
    int64_t key = -1;
    bool found = false;
    if (in->code != ST_OK)
        return -1;
    in->code = st_statement_open(in->store, &statement, sql, "importing", in->error);
    if (in->code == ST_OK) {
        st_bind_text(&statement, id);
        in->code = st_statement_number(&statement, &key, &found, in->error);
    }
    st_statement_close(&statement);
    if (in->code == ST_OK && !found)
        in->code = st_fail(in->error, ST_FAILED, NULL, "it refers to a %s (%s) that is not there",
                           what, id);
    return key;
}

static int64_t session_key(st_import *in, const char *id)
{
    return key_of(in, "SELECT session_key FROM session WHERE session_id = ?", "session", id);
}

// The family of the session that the row belongs to. A copy: rows are found by it.
static void session_family(st_import *in, int64_t session, char out[64])
{
    st_statement statement;
    bool row;
    out[0] = '\0';
    if (in->code != ST_OK)
        return;
    in->code =
        st_statement_open(in->store, &statement, "SELECT family FROM session WHERE session_key = ?",
                          "importing", in->error);
    if (in->code == ST_OK) {
        st_bind_int(&statement, session);
        in->code = st_statement_step(&statement, &row, in->error);
        if (in->code == ST_OK && row)
            st_column_copy(&statement, 0, out, 64);
    }
    st_statement_close(&statement);
}

static int64_t problem_key(st_import *in, const char *family, const char *text)
{
    char id[ST_HASH_TEXT];
    if (in->code == ST_OK)
        in->code = st_problem_id(family, text, id, in->error);
    return in->code == ST_OK
               ? key_of(in, "SELECT problem_key FROM problem WHERE problem_id = ?", "problem", id)
               : -1;
}

// -1 quietly when it is not there.
static int64_t candidate_key(st_import *in, int64_t session, int64_t problem, const char *family,
                             const char *configuration)
{
    char id[ST_HASH_TEXT];
    int64_t key = -1;
    bool found = false;
    st_statement statement;
    if (in->code == ST_OK)
        in->code = st_configuration_id(family, configuration, id, in->error);
    if (in->code != ST_OK)
        return -1;
    in->code = st_statement_open(in->store, &statement,
                                 "SELECT c.candidate_key FROM configuration g JOIN candidate c"
                                 " ON c.configuration_key = g.configuration_key"
                                 " WHERE g.configuration_id = ? AND c.session_key = ?"
                                 " AND c.problem_key = ?",
                                 "importing", in->error);
    if (in->code == ST_OK) {
        st_bind_text(&statement, id);
        st_bind_int(&statement, session);
        st_bind_int(&statement, problem);
        in->code = st_statement_number(&statement, &key, &found, in->error);
    }
    st_statement_close(&statement);
    return found ? key : -1;
}

// --- rows --------------------------------------------------------------------------------------------------
static void import_device(st_import *in)
{
    st_device_row row = {.cc = small_or_unknown(in, "cc"),
                         .sm_count = small_or_unknown(in, "sm_count"),
                         .memory_bytes = int_or_unknown(in, "memory_bytes"),
                         .l2_bytes = int_or_unknown(in, "l2_bytes"),
                         .read_gbs = real_or_unknown(in, "read_gbs"),
                         .copy_gbs = real_or_unknown(in, "copy_gbs")};
    copy_text(in, "uuid", true, row.uuid, sizeof row.uuid);
    copy_text(in, "name", true, row.name, sizeof row.name);
    copy_text(in, "backend", true, row.backend, sizeof row.backend);
    copy_text(in, "pci", false, row.pci, sizeof row.pci);
    row.facts_json = json_or_null(in, "facts");
    int64_t key;
    if (in->code == ST_OK)
        in->code = st_device_find_or_make(in->store, &row, &key, NULL, in->error);
    st_free(row.facts_json);
}

static void import_toolchain(st_import *in)
{
    st_toolchain_row row = {.driver_cuda = small_or_unknown(in, "driver_cuda")};
    copy_text(in, "driver", false, row.driver, sizeof row.driver);
    copy_text(in, "compiler", false, row.compiler, sizeof row.compiler);
    copy_text(in, "tool", false, row.tool, sizeof row.tool);
    int64_t key;
    if (in->code == ST_OK)
        in->code = st_store_toolchain(in->store, &row, &key, in->error);
}

static void import_template(st_import *in)
{
    const char *family = text_of(in, "family"), *hash = text_of(in, "hash");
    char *texts = json_or_null(in, "texts");
    int64_t key;
    if (in->code == ST_OK)
        in->code = st_store_template(in->store, family, hash, texts, &key, in->error);
    st_free(texts);
}

static void import_problem(st_import *in)
{
    const char *family = text_of(in, "family"), *text = text_of(in, "text");
    const char *type = text_or_empty(in, "type"), *operation = text_or_empty(in, "operation");
    int64_t n = int_or_unknown(in, "n"), key;
    if (in->code == ST_OK)
        in->code = st_store_problem(in->store, family, text, type, operation, n, &key, in->error);
}

static void insert_session(st_import *in, int64_t device, int64_t toolchain, int64_t template_key)
{
    const char *const texts[] = {text_of(in, "id"), text_of(in, "resume_key"),
                                 text_of(in, "family"), text_of(in, "status"),
                                 text_or_empty(in, "command")};
    int64_t started = int_or_unknown(in, "started_ms"),
            finished = int_or_unknown(in, "finished_ms");
    char *options = json_or_null(in, "options"), *summary = json_or_null(in, "summary");
    st_statement statement = {0};
    if (in->code == ST_OK)
        in->code = st_statement_open(
            in->store, &statement,
            "INSERT INTO session (session_id, resume_key, family, status, command, started_ms,"
            " finished_ms, options, summary, device_key, toolchain_key, template_key, shipped)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id) DO NOTHING",
            "importing a session", in->error);
    if (in->code == ST_OK) {
        for (size_t i = 0; i < 4; i++)
            st_bind_text(&statement, texts[i]);
        st_bind_known_text(&statement, texts[4]);
        st_bind_known_int(&statement, started);
        st_bind_known_int(&statement, finished);
        st_bind_text(&statement, options);
        st_bind_text(&statement, summary);
        st_bind_int(&statement, device);
        st_bind_int(&statement, toolchain);
        st_bind_int(&statement, template_key);
        st_bind_int(&statement, in->shipped);
        in->code = st_statement_run(&statement, in->error);
    }
    st_statement_close(&statement);
    st_free(options);
    st_free(summary);
}

static void import_session(st_import *in)
{
    int64_t device = key_of(in, "SELECT device_key FROM device WHERE device_id = ?", "device",
                            text_of(in, "device"));
    int64_t toolchain = key_of(in, "SELECT toolchain_key FROM toolchain WHERE toolchain_id = ?",
                               "toolchain", text_of(in, "toolchain"));
    int64_t template_key = key_of(in, "SELECT template_key FROM template WHERE hash = ?",
                                  "template", text_of(in, "template"));
    insert_session(in, device, toolchain, template_key);
}

static void import_measurement(st_import *in, int64_t candidate)
{
    st_measurement_row row = {.candidate_key = candidate,
                              .round = small_or_unknown(in, "round"),
                              .median_ns = real_or_unknown(in, "median_ns"),
                              .sm_clock_mhz = small_or_unknown(in, "sm_clock_mhz"),
                              .memory_clock_mhz = small_or_unknown(in, "memory_clock_mhz"),
                              .temperature_c = small_or_unknown(in, "temperature_c"),
                              .power_mw = small_or_unknown(in, "power_mw"),
                              .throttle_reasons = int_or_unknown(in, "throttle_reasons"),
                              .dropped = small_or_unknown(in, "dropped"),
                              .batch = small_or_unknown(in, "batch"),
                              .tick_ns = real_or_unknown(in, "tick_ns"),
                              .taken_ms = int_or_unknown(in, "taken_ms")};
    copy_text(in, "phase", true, row.phase, sizeof row.phase);
    copy_text(in, "cache", true, row.cache, sizeof row.cache);
    json_t *list = NULL;
    if (in->code == ST_OK)
        in->code = st_json_get_array(in->row, "samples_ns", &list, in->error);
    row.sample_count = json_array_size(list);
    double *samples = st_malloc(row.sample_count * sizeof *samples);
    if (!samples && in->code == ST_OK)
        in->code = st_fail_memory(in->error, "importing samples");
    for (size_t i = 0; i < row.sample_count && in->code == ST_OK; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_number(value) && !json_is_null(value))
            in->code = st_fail(in->error, ST_FAILED, NULL, "a sample is not a number");
        samples[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    row.samples_ns = samples;
    bool added;
    if (in->code == ST_OK)
        in->code = st_measurement_add(in->store, &row, &added, in->error);
    st_free(samples);
}

static bool has_profile(st_import *in, int64_t candidate, const char *kind)
{
    st_statement statement;
    int64_t count = 0;
    in->code = st_statement_open(
        in->store, &statement, "SELECT count(*) FROM profile WHERE candidate_key = ? AND kind = ?",
        "importing counters", in->error);
    if (in->code == ST_OK) {
        st_bind_int(&statement, candidate);
        st_bind_text(&statement, kind);
        in->code = st_statement_number(&statement, &count, NULL, in->error);
    }
    st_statement_close(&statement);
    return count > 0;
}

static void import_profile(st_import *in, int64_t candidate)
{
    json_t *counters = NULL, *value;
    const char *kind = text_of(in, "kind"), *name;
    double seconds = real_or_unknown(in, "seconds");
    if (in->code == ST_OK)
        in->code = st_json_get_object(in->row, "counters", &counters, in->error);
    if (in->code != ST_OK || has_profile(in, candidate, kind) || in->code != ST_OK)
        return;
    size_t count = json_object_size(counters), filled = 0;
    const char **names = st_malloc(count * sizeof *names);
    double *values = st_malloc(count * sizeof *values);
    if (!names || !values)
        in->code = st_fail_memory(in->error, "importing counters");
    json_object_foreach(counters, name, value)
    {
        if (in->code == ST_OK && !json_is_number(value) && !json_is_null(value))
            in->code = st_fail(in->error, ST_FAILED, NULL, "the counter %s is not a number", name);
        if (in->code != ST_OK)
            break;
        names[filled] = name;
        values[filled++] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    if (in->code == ST_OK)
        in->code = st_store_counters(in->store, candidate, kind, names, values, filled, seconds,
                                     in->error);
    st_free(names);
    st_free(values);
}

// Each object of the list `name` of the row, which may be absent.
static void import_list(st_import *in, const char *name, int64_t candidate,
                        void (*import_one)(st_import *in, int64_t candidate))
{
    const json_t *whole = in->row;
    json_t *list = NULL;
    if (in->code != ST_OK || !is_given(in, name))
        return;
    in->code = st_json_get_array(whole, name, &list, in->error);
    for (size_t i = 0; i < json_array_size(list) && in->code == ST_OK; i++) {
        in->row = json_array_get(list, i);
        if (json_is_object(in->row))
            import_one(in, candidate);
        else
            in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is not a list of objects", name);
    }
    in->row = whole;
}

static int64_t insert_candidate(st_import *in, int64_t session, int64_t problem, const char *family,
                                const char *configuration)
{
    st_candidate_row row = {.session_key = session,
                            .problem_key = problem,
                            .registers = small_or_unknown(in, "registers"),
                            .local_bytes = small_or_unknown(in, "local_bytes"),
                            .static_smem = small_or_unknown(in, "static_smem"),
                            .dynamic_smem = small_or_unknown(in, "dynamic_smem"),
                            .blocks_per_sm = small_or_unknown(in, "blocks_per_sm"),
                            .occupancy = real_or_unknown(in, "occupancy"),
                            .deterministic = small_or_unknown(in, "deterministic"),
                            .compile_seconds = real_or_unknown(in, "compile_seconds")};
    copy_text(in, "outcome", true, row.outcome, sizeof row.outcome);
    const char *detail = text_or_empty(in, "detail");
    row.detail = *detail ? st_strdup(detail) : NULL;
    if (in->code == ST_OK && *detail && !row.detail)
        in->code = st_fail_memory(in->error, "importing a candidate");
    if (in->code == ST_OK)
        in->code = st_store_configuration(in->store, family, configuration, &row.configuration_key,
                                          in->error);
    if (in->code == ST_OK)
        in->code = st_store_candidate(in->store, &row, in->error);
    st_free(row.detail);
    return row.key;
}

static void import_candidate(st_import *in)
{
    char family[64];
    const char *configuration = text_of(in, "configuration");
    int64_t session = session_key(in, text_of(in, "session"));
    session_family(in, session, family);
    int64_t problem = problem_key(in, family, text_of(in, "problem"));
    int64_t key = candidate_key(in, session, problem, family, configuration);
    if (in->code == ST_OK && key < 0)
        key = insert_candidate(in, session, problem, family, configuration);
    import_list(in, "measurements", key, import_measurement);
    import_list(in, "profiles", key, import_profile);
    char *lines = json_or_null(in, "stall_lines");
    if (in->code == ST_OK && lines)
        in->code = st_store_stall_lines(in->store, key, lines, in->error);
    st_free(lines);
}

static bool has_winner(st_import *in, const st_winner_row *row)
{
    st_statement statement;
    int64_t count = 0;
    if (in->code != ST_OK)
        return false;
    in->code = st_statement_open(in->store, &statement,
                                 "SELECT count(*) FROM winner WHERE session_key = ?"
                                 " AND problem_key = ? AND cache = ?",
                                 "importing a winner", in->error);
    if (in->code == ST_OK) {
        st_bind_int(&statement, row->session_key);
        st_bind_int(&statement, row->problem_key);
        st_bind_text(&statement, row->cache);
        in->code = st_statement_number(&statement, &count, NULL, in->error);
    }
    st_statement_close(&statement);
    return count > 0;
}

static void import_winner(st_import *in)
{
    char family[64];
    st_winner_row row = {.session_key = session_key(in, text_of(in, "session")),
                         .default_key = -1,
                         .winner_ns = real_or_unknown(in, "winner_ns"),
                         .default_ns = real_or_unknown(in, "default_ns"),
                         .speedup = real_or_unknown(in, "speedup"),
                         .speedup_low = real_or_unknown(in, "speedup_low"),
                         .speedup_high = real_or_unknown(in, "speedup_high"),
                         .tied = small_or_unknown(in, "tied"),
                         .bytes = real_or_unknown(in, "bytes")};
    session_family(in, row.session_key, family);
    row.problem_key = problem_key(in, family, text_of(in, "problem"));
    copy_text(in, "cache", true, row.cache, sizeof row.cache);
    row.winner_key =
        candidate_key(in, row.session_key, row.problem_key, family, text_of(in, "winner"));
    if (is_given(in, "default"))
        row.default_key =
            candidate_key(in, row.session_key, row.problem_key, family, text_of(in, "default"));
    const char *note = text_or_empty(in, "note");
    row.ties_json = json_or_null(in, "ties");
    row.note = st_strdup(note);
    if (in->code == ST_OK && !row.note)
        in->code = st_fail_memory(in->error, "importing a winner");
    if (!has_winner(in, &row) && in->code == ST_OK)
        in->code = st_store_winner(in->store, &row, in->error);
    st_free(row.ties_json);
    st_free(row.note);
}

static void import_end(st_import *in)
{
    int64_t rows = int_or_unknown(in, "rows");
    if (in->code == ST_OK && rows != (int64_t)in->line_number - 2)
        in->code = st_fail(in->error, ST_FAILED, NULL,
                           "it says that there are %lld rows, but there are %lld", (long long)rows,
                           (long long)in->line_number - 2);
    in->ended = true;
}

// To add a kind of row: a line here, its reader above, its writer in history_export.c.
void st_import_row(st_import *in)
{
    static const struct {
        const char *name;
        void (*import)(st_import *in);
    } kinds[] = {{"device", import_device},     {"toolchain", import_toolchain},
                 {"template", import_template}, {"problem", import_problem},
                 {"session", import_session},   {"candidate", import_candidate},
                 {"winner", import_winner},     {"end", import_end}};
    const char *name = text_of(in, "row");
    size_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && !st_text_equal(kinds[i].name, name))
        i++;
    if (in->code == ST_OK && in->ended)
        in->code = st_fail(in->error, ST_FAILED, NULL, "there is something after the last row");
    if (in->code == ST_OK && i == sizeof kinds / sizeof *kinds)
        in->code = st_fail(in->error, ST_FAILED, NULL, "a row of an unknown kind, \"%s\"", name);
    int before = sqlite3_total_changes(in->store->db);
    if (in->code == ST_OK)
        kinds[i].import(in);
    in->added += sqlite3_total_changes(in->store->db) != before;
}
