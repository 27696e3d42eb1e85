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

// --- rows --------------------------------------------------------------------------------------------------
static void import_device(st_import *in)
{
    st_device_row row = {.cc = st_import_small_or_unknown(in, "cc"),
                         .sm_count = st_import_small_or_unknown(in, "sm_count"),
                         .memory_bytes = st_import_int_or_unknown(in, "memory_bytes"),
                         .l2_bytes = st_import_int_or_unknown(in, "l2_bytes"),
                         .read_gbs = st_import_real_or_unknown(in, "read_gbs"),
                         .copy_gbs = st_import_real_or_unknown(in, "copy_gbs")};
    st_import_copy_text(in, "uuid", true, row.uuid, sizeof row.uuid);
    st_import_copy_text(in, "name", true, row.name, sizeof row.name);
    st_import_copy_text(in, "backend", true, row.backend, sizeof row.backend);
    st_import_copy_text(in, "pci", false, row.pci, sizeof row.pci);
    row.facts_json = st_import_json_or_null(in, "facts");
    int64_t key;
    if (in->code == ST_OK)
        in->code = st_device_find_or_make(in->store, &row, &key, NULL, in->error);
    st_free(row.facts_json);
}

static void import_toolchain(st_import *in)
{
    st_toolchain_row row = {.driver_cuda = st_import_small_or_unknown(in, "driver_cuda")};
    st_import_copy_text(in, "driver", false, row.driver, sizeof row.driver);
    st_import_copy_text(in, "compiler", false, row.compiler, sizeof row.compiler);
    st_import_copy_text(in, "tool", false, row.tool, sizeof row.tool);
    int64_t key;
    if (in->code == ST_OK)
        in->code = st_store_toolchain(in->store, &row, &key, in->error);
}

static void import_template(st_import *in)
{
    const char *family = st_import_text_of(in, "family"), *hash = st_import_text_of(in, "hash");
    char *texts = st_import_json_or_null(in, "texts");
    int64_t key;
    if (in->code == ST_OK)
        in->code = st_store_template(in->store, family, hash, texts, &key, in->error);
    st_free(texts);
}

static void import_problem(st_import *in)
{
    const char *family = st_import_text_of(in, "family"), *text = st_import_text_of(in, "text");
    const char *type = st_import_text_or_empty(in, "type"), *operation = st_import_text_or_empty(in, "operation");
    int64_t n = st_import_int_or_unknown(in, "n"), key;
    if (in->code == ST_OK)
        in->code = st_store_problem(in->store, family, text, type, operation, n, &key, in->error);
}

static void insert_session(st_import *in, int64_t device, int64_t toolchain, int64_t template_key)
{
    const char *const texts[] = {st_import_text_of(in, "id"), st_import_text_of(in, "resume_key"),
                                 st_import_text_of(in, "family"), st_import_text_of(in, "status"),
                                 st_import_text_or_empty(in, "command")};
    int64_t started = st_import_int_or_unknown(in, "started_ms"),
            finished = st_import_int_or_unknown(in, "finished_ms");
    char *options = st_import_json_or_null(in, "options"), *summary = st_import_json_or_null(in, "summary");
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
    int64_t device = st_import_key_of(in, "SELECT device_key FROM device WHERE device_id = ?", "device",
                            st_import_text_of(in, "device"));
    int64_t toolchain = st_import_key_of(in, "SELECT toolchain_key FROM toolchain WHERE toolchain_id = ?",
                               "toolchain", st_import_text_of(in, "toolchain"));
    int64_t template_key = st_import_key_of(in, "SELECT template_key FROM template WHERE hash = ?",
                                  "template", st_import_text_of(in, "template"));
    insert_session(in, device, toolchain, template_key);
}

// How many samples there were before a prune thinned them.
static void note_samples_taken(st_import *in, const st_measurement_row *row, int64_t taken)
{
    st_statement statement;
    in->code = st_statement_open(in->store, &statement,
                                 "UPDATE measurement SET samples_taken = ? WHERE candidate_key = ? AND cache = ?"
                                 " AND phase = ? AND round = ?",
                                 "importing a measurement", in->error);
    if (in->code == ST_OK) {
        st_bind_int(&statement, taken);
        st_bind_int(&statement, row->candidate_key);
        st_bind_text(&statement, row->cache);
        st_bind_text(&statement, row->phase);
        st_bind_int(&statement, row->round);
        in->code = st_statement_run(&statement, in->error);
    }
    st_statement_close(&statement);
}

// What st_cut_samples_of took out of the line.
static bool take_cut_samples(st_import *in, st_measurement_row *row)
{
    const json_t *place = json_object_get(in->row, "samples_ns");
    json_int_t list = json_is_integer(place) ? json_integer_value(place) : -1;
    if (list < 0 || (size_t)list >= in->cut.lists)
        return false;
    size_t begin = list ? in->cut.ends[list - 1] : 0;
    row->samples_ns = in->cut.values + begin;
    row->sample_count = in->cut.ends[list] - begin;
    return true;
}

// Of a line that was left whole. For st_free.
static double *read_samples(st_import *in, st_measurement_row *row)
{
    json_t *list = NULL;
    if (in->code == ST_OK)
        in->code = st_json_get_array(in->row, "samples_ns", &list, in->error);
    row->sample_count = json_array_size(list);
    double *samples = st_malloc(row->sample_count * sizeof *samples);
    if (!samples && in->code == ST_OK)
        in->code = st_fail_memory(in->error, "importing samples");
    for (size_t i = 0; i < row->sample_count && in->code == ST_OK; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_number(value) && !json_is_null(value))
            in->code = st_fail(in->error, ST_FAILED, NULL, "a sample is not a number");
        samples[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    row->samples_ns = samples;
    return samples;
}

// What no clock tells was not measured: a time below zero, a median outside its samples (of thinned ones it may be).
static void check_samples(st_import *in, const st_measurement_row *row, bool thinned)
{
    double low = INFINITY, high = -INFINITY, median = row->median_ns;
    if (in->code != ST_OK)
        return;
    for (size_t i = 0; i < row->sample_count; i++) {
        low = fmin(low, row->samples_ns[i]);
        high = fmax(high, row->samples_ns[i]);
    }
    if (low < 0 || median < 0)
        in->code = st_fail(in->error, ST_FAILED, NULL, "a time is negative: %g ns", low < 0 ? low : median);
    if (in->code == ST_OK && !thinned && low <= high && (median < low || median > high))
        in->code = st_fail(in->error, ST_FAILED, NULL,
                           "the median %.17g ns lies outside its samples, %.17g to %.17g ns", median, low, high);
}

static void import_measurement(st_import *in, int64_t candidate)
{
    st_measurement_row row = {.candidate_key = candidate,
                              .round = st_import_small_or_unknown(in, "round"),
                              .median_ns = st_import_real_or_unknown(in, "median_ns"),
                              .sm_clock_mhz = st_import_small_or_unknown(in, "sm_clock_mhz"),
                              .memory_clock_mhz = st_import_small_or_unknown(in, "memory_clock_mhz"),
                              .temperature_c = st_import_small_or_unknown(in, "temperature_c"),
                              .power_mw = st_import_small_or_unknown(in, "power_mw"),
                              .throttle_reasons = st_import_int_or_unknown(in, "throttle_reasons"),
                              .dropped = st_import_small_or_unknown(in, "dropped"),
                              .batch = st_import_small_or_unknown(in, "batch"),
                              .tick_ns = st_import_real_or_unknown(in, "tick_ns"),
                              .taken_ms = st_import_int_or_unknown(in, "taken_ms")};
    st_import_copy_text(in, "phase", true, row.phase, sizeof row.phase);
    st_import_copy_text(in, "cache", true, row.cache, sizeof row.cache);
    double *samples = NULL;
    if (!take_cut_samples(in, &row))
        samples = read_samples(in, &row);
    bool added = false;
    int64_t taken = st_import_int_or_unknown(in, "samples_taken");
    check_samples(in, &row, taken > 0);
    if (in->code == ST_OK)
        in->code = st_measurement_add(in->store, &row, &added, in->error);
    if (in->code == ST_OK && added && taken > 0)
        note_samples_taken(in, &row, taken);
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
    const char *kind = st_import_text_of(in, "kind"), *name;
    double seconds = st_import_real_or_unknown(in, "seconds");
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
    if (in->code != ST_OK || !st_import_is_given(in, name))
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
                            .registers = st_import_small_or_unknown(in, "registers"),
                            .local_bytes = st_import_small_or_unknown(in, "local_bytes"),
                            .static_smem = st_import_small_or_unknown(in, "static_smem"),
                            .dynamic_smem = st_import_small_or_unknown(in, "dynamic_smem"),
                            .blocks_per_sm = st_import_small_or_unknown(in, "blocks_per_sm"),
                            .occupancy = st_import_real_or_unknown(in, "occupancy"),
                            .deterministic = st_import_small_or_unknown(in, "deterministic"),
                            .compile_seconds = st_import_real_or_unknown(in, "compile_seconds")};
    st_import_copy_text(in, "outcome", true, row.outcome, sizeof row.outcome);
    const char *detail = st_import_text_or_empty(in, "detail");
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
    const char *configuration = st_import_text_of(in, "configuration");
    int64_t session = st_import_session_key(in, st_import_text_of(in, "session"));
    st_import_session_family(in, session, family);
    int64_t problem = st_import_problem_key(in, family, st_import_text_of(in, "problem"));
    int64_t key = st_import_candidate_key(in, session, problem, family, configuration);
    if (in->code == ST_OK && key < 0)
        key = insert_candidate(in, session, problem, family, configuration);
    import_list(in, "measurements", key, import_measurement);
    import_list(in, "profiles", key, import_profile);
    char *lines = st_import_json_or_null(in, "stall_lines");
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
    st_winner_row row = {.session_key = st_import_session_key(in, st_import_text_of(in, "session")),
                         .default_key = -1,
                         .winner_ns = st_import_real_or_unknown(in, "winner_ns"),
                         .default_ns = st_import_real_or_unknown(in, "default_ns"),
                         .speedup = st_import_real_or_unknown(in, "speedup"),
                         .speedup_low = st_import_real_or_unknown(in, "speedup_low"),
                         .speedup_high = st_import_real_or_unknown(in, "speedup_high"),
                         .tied = st_import_small_or_unknown(in, "tied"),
                         .bytes = st_import_real_or_unknown(in, "bytes")};
    st_import_session_family(in, row.session_key, family);
    row.problem_key = st_import_problem_key(in, family, st_import_text_of(in, "problem"));
    st_import_copy_text(in, "cache", true, row.cache, sizeof row.cache);
    row.winner_key =
        st_import_candidate_key(in, row.session_key, row.problem_key, family, st_import_text_of(in, "winner"));
    if (st_import_is_given(in, "default"))
        row.default_key =
            st_import_candidate_key(in, row.session_key, row.problem_key, family, st_import_text_of(in, "default"));
    const char *note = st_import_text_or_empty(in, "note");
    row.ties_json = st_import_json_or_null(in, "ties");
    row.note = st_strdup(note);
    if (in->code == ST_OK && !row.note)
        in->code = st_fail_memory(in->error, "importing a winner");
    if (!has_winner(in, &row) && in->code == ST_OK)
        in->code = st_store_winner(in->store, &row, in->error);
    st_free(row.ties_json);
    st_free(row.note);
}

static void import_baseline(st_import *in)
{
    int64_t session = st_import_session_key(in, st_import_text_of(in, "session")), marked = st_import_int_or_unknown(in, "marked_ms");
    const char *note = st_import_text_or_empty(in, "note");
    st_statement statement = {0};
    if (in->code == ST_OK)
        in->code = st_statement_open(in->store, &statement,
                                     "INSERT INTO baseline (session_key, marked_ms, note) VALUES (?, ?, ?)"
                                     " ON CONFLICT (session_key) DO NOTHING",
                                     "importing a baseline", in->error);
    if (in->code == ST_OK) {
        st_bind_int(&statement, session);
        st_bind_known_int(&statement, marked);
        st_bind_known_text(&statement, note);
        in->code = st_statement_run(&statement, in->error);
    }
    st_statement_close(&statement);
}

static void import_acknowledgement(st_import *in)
{
    const char *const texts[] = {st_import_text_of(in, "id"), st_import_text_of(in, "cache"), st_import_text_of(in, "reason"),
                                 st_import_text_or_empty(in, "author")};
    int64_t baseline = st_import_session_key(in, st_import_text_of(in, "baseline")), session = st_import_session_key(in, st_import_text_of(in, "session"));
    int64_t problem = st_import_problem_key(in, st_import_text_of(in, "family"), st_import_text_of(in, "problem"));
    int64_t acknowledged = st_import_int_or_unknown(in, "acknowledged_ms");
    st_statement statement = {0};
    if (in->code == ST_OK)
        in->code = st_statement_open(in->store, &statement,
                                     "INSERT INTO acknowledgement (acknowledgement_id, cache, reason, author,"
                                     " baseline_key, session_key, problem_key, acknowledged_ms)"
                                     " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                                     "importing an acknowledgement", in->error);
    if (in->code == ST_OK) {
        for (size_t i = 0; i < 3; i++)
            st_bind_text(&statement, texts[i]);
        st_bind_known_text(&statement, texts[3]);
        st_bind_int(&statement, baseline);
        st_bind_int(&statement, session);
        st_bind_int(&statement, problem);
        st_bind_known_int(&statement, acknowledged);
        in->code = st_statement_run(&statement, in->error);
    }
    st_statement_close(&statement);
}

static void import_end(st_import *in)
{
    int64_t rows = st_import_int_or_unknown(in, "rows");
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
                 {"winner", import_winner},     {"baseline", import_baseline},
                 {"acknowledgement", import_acknowledgement},
                 {"end", import_end}};
    const char *name = st_import_text_of(in, "row");
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
