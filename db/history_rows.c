// SPDX-License-Identifier: Apache-2.0
// The rows of a history file, as they are read. Invariants: 1. nothing in the file is trusted: presence, type and
// range are checked before anything is bound, so that messages name the field and not SQL's constraint; 2. a row that is there, by stable id, is
// left as it is; 3. after the first failure (in->code) nothing more is read or written.
#include "db/history_internal.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- rows --------------------------------------------------------------------------------------------------
static void import_device(st_import *in)
{
    st_device_row row = {.cc = (int)st_import_int_within(in, "cc", ST_FIELD_OPTIONAL, ST_CC_LEAST, ST_CC_MOST),
                         .sm_count = (int)st_import_int_within(in, "sm_count", ST_FIELD_OPTIONAL, 1, 999999),
                         .memory_bytes = st_import_int_within(in, "memory_bytes", ST_FIELD_OPTIONAL, 1, INT64_MAX),
                         .l2_bytes = st_import_int_within(in, "l2_bytes", ST_FIELD_OPTIONAL, 0, INT64_MAX),
                         .read_gbs = st_import_real_within(in, "read_gbs", 1e-9, 1e9),
                         .copy_gbs = st_import_real_within(in, "copy_gbs", 1e-9, 1e9)};
    st_import_copy_text(in, "uuid", true, row.uuid, sizeof row.uuid);
    st_import_copy_text(in, "name", true, row.name, sizeof row.name);
    st_import_copy_text(in, "backend", true, row.backend, sizeof row.backend);
    st_import_copy_text(in, "pci", false, row.pci, sizeof row.pci);
    st_import_check_filled(in, "uuid", row.uuid);
    st_import_check_filled(in, "backend", row.backend);
    if (st_import_is_given(in, "facts"))
        st_import_members_of(in, "facts", ST_VALUE_OBJECT);
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
    st_import_check_filled(in, "family", family);
    st_import_check_filled(in, "hash", hash);
    st_import_check_texts(in);
    if (in->code == ST_OK)
        in->code = st_store_template(in->store, family, hash, texts, &key, in->error);
    st_free(texts);
}

static void import_problem(st_import *in)
{
    const char *family = st_import_text_of(in, "family"), *text = st_import_text_of(in, "text");
    const char *type = st_import_text_or_empty(in, "type"), *operation = st_import_text_or_empty(in, "operation");
    int64_t n = st_import_int_within(in, "n", ST_FIELD_OPTIONAL, 0, INT64_MAX), key;
    st_import_check_filled(in, "family", family);
    if (in->code == ST_OK)
        in->code = st_store_problem(in->store, family, text, type, operation, n, &key, in->error);
}

static void insert_session(st_import *in, int64_t device, int64_t toolchain, int64_t template_key)
{
    const char *const texts[] = {st_import_text_of(in, "id"), st_import_text_of(in, "resume_key"),
                                 st_import_text_of(in, "family"), st_import_text_of(in, "status"),
                                 st_import_text_or_empty(in, "command")};
    int64_t started = st_import_int_within(in, "started_ms", ST_FIELD_REQUIRED, 1, ST_TIME_MOST_MS),
            finished = st_import_int_within(in, "finished_ms", ST_FIELD_OPTIONAL, 1, ST_TIME_MOST_MS);
    st_import_check_id(in, "id", texts[0]);
    st_import_check_filled(in, "family", texts[2]);
    st_import_check_word(in, "status", texts[3], st_stored_statuses);
    st_import_check_times(in, texts[3], started, finished);
    st_import_check_holds(in, "SELECT count(*) FROM template WHERE template_key = ? AND family = ?", template_key, texts[2],
                          "the session's template is of another family than the session");
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

// For st_free.
static double *read_samples(st_import *in, st_measurement_row *row)
{
    const st_value *list = st_import_members_of(in, "samples_ns", ST_VALUE_LIST), *value = st_value_first(&in->reader, list);
    row->sample_count = list ? list->count : 0;
    double *samples = st_malloc(row->sample_count * sizeof *samples);
    if (!samples && in->code == ST_OK)
        in->code = st_fail_memory(in->error, "importing samples");
    for (size_t i = 0; in->code == ST_OK && value; value = st_value_next(&in->reader, value), i++)
        if (!st_import_number(value, &samples[i]))
            in->code = st_fail(in->error, ST_FAILED, NULL, "a sample is not a number");
    row->samples_ns = samples;
    return samples;
}

static void import_measurement(st_import *in, int64_t candidate)
{
    st_measurement_row row = {.candidate_key = candidate,
                              .round = (int)st_import_int_within(in, "round", ST_FIELD_REQUIRED, 0, INT32_MAX),
                              .median_ns = st_import_real_or_unknown(in, "median_ns"),
                              .sm_clock_mhz = st_import_small_or_unknown(in, "sm_clock_mhz"),
                              .memory_clock_mhz = st_import_small_or_unknown(in, "memory_clock_mhz"),
                              .temperature_c = st_import_small_or_unknown(in, "temperature_c"),
                              .power_mw = st_import_small_or_unknown(in, "power_mw"),
                              .throttle_reasons = st_import_int_or_unknown(in, "throttle_reasons"),
                              .dropped = (int)st_import_int_within(in, "dropped", ST_FIELD_OPTIONAL, 0, INT32_MAX),
                              .batch = (int)st_import_int_within(in, "batch", ST_FIELD_OPTIONAL, 1, INT32_MAX),
                              .tick_ns = st_import_real_within(in, "tick_ns", 0, 1e18),
                              .taken_ms = st_import_int_within(in, "taken_ms", ST_FIELD_REQUIRED, 1, ST_TIME_MOST_MS)};
    st_import_copy_text(in, "phase", true, row.phase, sizeof row.phase);
    st_import_copy_text(in, "cache", true, row.cache, sizeof row.cache);
    st_import_check_word(in, "phase", row.phase, st_stored_phases);
    st_import_check_word(in, "cache", row.cache, st_stored_caches);
    double *samples = read_samples(in, &row);
    bool added = false;
    int64_t taken = st_import_int_within(in, "samples_taken", ST_FIELD_OPTIONAL, 1, INT64_MAX);
    st_import_check_samples(in, &row, taken > 0);
    if (in->code == ST_OK)
        in->code = st_measurement_add(in->store, &row, &added, in->error);
    if (in->code == ST_OK && added && taken > 0)
        note_samples_taken(in, &row, taken);
    st_free(samples);
}

// *added false: it is there, and stays as it is.
static int64_t insert_profile(st_import *in, int64_t candidate, const char *kind, double seconds, bool *added)
{
    st_statement statement;
    int64_t key = -1;
    *added = false;
    in->code = st_statement_open(in->store, &statement,
                                 "INSERT INTO profile (candidate_key, kind, seconds) VALUES (?, ?, ?)"
                                 " ON CONFLICT (candidate_key, kind) DO NOTHING",
                                 "importing counters", in->error);
    if (in->code == ST_OK) {
        st_bind_int(&statement, candidate);
        st_bind_text(&statement, kind);
        st_bind_real(&statement, seconds);
        in->code = st_statement_insert(&statement, &key, added, in->error);
    }
    st_statement_close(&statement);
    return key;
}

static void insert_counter(st_import *in, int64_t profile, int64_t metric, double value)
{
    st_statement statement;
    in->code = st_statement_open(in->store, &statement,
                                 "INSERT INTO counter (profile_key, metric_key, value) VALUES (?, ?, ?)",
                                 "importing counters", in->error);
    if (in->code == ST_OK) {
        st_bind_int(&statement, profile);
        st_bind_int(&statement, metric);
        st_bind_real(&statement, value);
        in->code = st_statement_run(&statement, in->error);
    }
    st_statement_close(&statement);
}

static void import_profile(st_import *in, int64_t candidate)
{
    const char *kind = st_import_text_of(in, "kind");
    double seconds = st_import_real_within(in, "seconds", 0, 1e18), number;
    st_import_check_word(in, "kind", kind, st_stored_profiles);
    const st_value *counters = st_import_members_of(in, "counters", ST_VALUE_OBJECT);
    bool added = false;
    int64_t profile = in->code == ST_OK ? insert_profile(in, candidate, kind, seconds, &added) : -1;
    const st_value *value = added ? st_value_first(&in->reader, counters) : NULL;
    for (size_t i = 0; in->code == ST_OK && value; value = st_value_next(&in->reader, value), i++) {
        if (!st_import_number(value, &number))
            in->code = st_fail(in->error, ST_FAILED, NULL, "the counter %s is not a number", value->name);
        if (in->code == ST_OK && !*value->name)
            in->code = st_fail(in->error, ST_FAILED, NULL, "a counter has no name");
        int64_t metric = in->code == ST_OK ? st_import_metric_key(in, value->name, i) : -1;
        if (in->code == ST_OK)
            insert_counter(in, profile, metric, number);
    }
}

// Each object of the list `name` of the row, which may be absent.
static void import_list(st_import *in, const char *name, int64_t candidate,
                        void (*import_one)(st_import *in, int64_t candidate))
{
    const st_value *whole = in->row;
    if (in->code != ST_OK || !st_import_is_given(in, name))
        return;
    const st_value *list = st_import_members_of(in, name, ST_VALUE_LIST), *member = st_value_first(&in->reader, list);
    for (; in->code == ST_OK && member; member = st_value_next(&in->reader, member)) {
        in->row = member;
        if (member->kind == ST_VALUE_OBJECT)
            import_one(in, candidate);
        else
            in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is not a list of objects", name);
    }
    in->row = whole;
}

// *added false: it is there, and stays as it is.
static int64_t insert_candidate(st_import *in, const st_candidate_row *row, bool *added)
{
    int64_t key = -1;
    st_statement statement;
    in->code = st_statement_open(
        in->store, &statement,
        "INSERT INTO candidate (candidate_id, session_key, problem_key, configuration_key, outcome,"
        " detail, registers, local_bytes, static_smem, dynamic_smem, blocks_per_sm, occupancy,"
        " deterministic, compile_seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (session_key, problem_key, configuration_key) DO NOTHING",
        "importing a candidate", in->error);
    if (in->code == ST_OK) {
        st_bind_candidate(&statement, row);
        in->code = st_statement_insert(&statement, &key, added, in->error);
    }
    st_statement_close(&statement);
    return key;
}

static int64_t find_or_make_candidate(st_import *in, const char *configuration)
{
    char configuration_id[ST_HASH_TEXT];
    st_candidate_row row = {.session_key = in->known.session,
                            .problem_key = in->known.problem_key,
                            .registers = (int)st_import_int_within(in, "registers", ST_FIELD_OPTIONAL, 0, INT32_MAX),
                            .local_bytes = (int)st_import_int_within(in, "local_bytes", ST_FIELD_OPTIONAL, 0, INT32_MAX),
                            .static_smem = (int)st_import_int_within(in, "static_smem", ST_FIELD_OPTIONAL, 0, INT32_MAX),
                            .dynamic_smem = (int)st_import_int_within(in, "dynamic_smem", ST_FIELD_OPTIONAL, 0, INT32_MAX),
                            .blocks_per_sm = (int)st_import_int_within(in, "blocks_per_sm", ST_FIELD_OPTIONAL, 0, INT32_MAX),
                            .occupancy = st_import_real_within(in, "occupancy", 0, 1 + 1e-6),
                            .deterministic = (int)st_import_int_within(in, "deterministic", ST_FIELD_OPTIONAL, 0, 1),
                            .compile_seconds = st_import_real_within(in, "compile_seconds", 0, 1e18)};
    st_import_copy_text(in, "outcome", true, row.outcome, sizeof row.outcome);
    st_import_check_word(in, "outcome", row.outcome, st_stored_outcomes);
    // Not const in the struct, whose other users own it; it is only bound here.
    row.detail = (char *)(uintptr_t)st_import_text_or_empty(in, "detail");
    bool added = false;
    if (in->code == ST_OK)
        in->code = st_configuration_id(in->known.family, configuration, configuration_id, in->error);
    if (in->code == ST_OK)
        in->code = st_candidate_id(in->known.session_id, in->known.problem_id, configuration_id, row.id, in->error);
    if (in->code == ST_OK)
        in->code = st_store_configuration(in->store, in->known.family, configuration, &row.configuration_key, in->error);
    if (in->code == ST_OK)
        row.key = insert_candidate(in, &row, &added);
    return in->code == ST_OK && !added ? st_import_candidate_key(in, configuration) : row.key;
}

static void import_candidate(st_import *in)
{
    const char *configuration = st_import_text_of(in, "configuration");
    st_import_check_configuration(in, configuration);
    st_import_session_key(in, st_import_text_of(in, "session"));
    st_import_problem_key(in, st_import_text_of(in, "problem"));
    int64_t key = find_or_make_candidate(in, configuration);
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
    st_winner_row row = {.session_key = st_import_session_key(in, st_import_text_of(in, "session")),
                         .default_key = -1,
                         .winner_ns = st_import_real_within(in, "winner_ns", 0, 1e30),
                         .default_ns = st_import_real_within(in, "default_ns", 0, 1e30),
                         .speedup = st_import_real_or_unknown(in, "speedup"),
                         .speedup_low = st_import_real_or_unknown(in, "speedup_low"),
                         .speedup_high = st_import_real_or_unknown(in, "speedup_high"),
                         .tied = (int)st_import_int_within(in, "tied", ST_FIELD_REQUIRED, 1, INT32_MAX),
                         .bytes = st_import_real_within(in, "bytes", 0, 1e30)};
    row.problem_key = st_import_problem_key(in, st_import_text_of(in, "problem"));
    st_import_copy_text(in, "cache", true, row.cache, sizeof row.cache);
    const char *winner = st_import_text_of(in, "winner");
    st_import_check_word(in, "cache", row.cache, st_stored_caches);
    row.winner_key = st_import_candidate_key(in, winner);
    if (in->code == ST_OK && row.winner_key < 0)
        in->code = st_fail(in->error, ST_FAILED, NULL, "the winner \"%s\" is no candidate of its session and problem", winner);
    st_import_check_holds(in, "SELECT count(*) FROM candidate WHERE candidate_key = ? AND outcome = ?", row.winner_key, "correct",
                          "the outcome of the winner is not");
    if (st_import_is_given(in, "default"))
        row.default_key = st_import_candidate_key(in, st_import_text_of(in, "default"));
    st_import_check_speedup(in, &row);
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
    int64_t session = st_import_session_key(in, st_import_text_of(in, "session")), 
            marked = st_import_int_within(in, "marked_ms", ST_FIELD_REQUIRED, 1, ST_TIME_MOST_MS);
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
    const char *family = st_import_text_of(in, "family"), *text = st_import_text_of(in, "problem");
    char problem_id[ST_HASH_TEXT] = "";
    if (in->code == ST_OK)
        in->code = st_problem_id(family, text, problem_id, in->error);
    int64_t problem = st_import_key_of(in, "SELECT problem_key FROM problem WHERE problem_id = ?", "problem", problem_id);
    int64_t acknowledged = st_import_int_within(in, "acknowledged_ms", ST_FIELD_REQUIRED, 1, ST_TIME_MOST_MS);
    st_import_check_id(in, "id", texts[0]);
    st_import_check_word(in, "cache", texts[1], st_stored_caches);
    st_import_check_filled(in, "reason", texts[2]);
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
                           "it says that it has %lld row%s, but %lld came", (long long)rows, st_plural(rows),
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
