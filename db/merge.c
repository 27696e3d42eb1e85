// SPDX-License-Identifier: Apache-2.0
// Merging. Invariants: 1. the other file is copied first ($TMPDIR, read in one transaction, migrated there), so it
// is only read, and does not change while it is merged; 2. rows meet by their stable ids, never by keys; 3. a
// session is one transaction, so other writers get their turn between two; 4. where both stores have a row and
// the two differ, both orders of merging settle it alike:
//   session               the one that went further (finished, interrupted, running; then ended later) gives status,
//                         end and summary; own wins over shipped
//   candidate, counters,  what is unknown is filled in; where both know, the session that went further has it
//   stall lines, winner
//   measurement           the one with more samples (prune may have thinned one), then the one taken first
//   device                the better measured speeds; what is unknown is filled in; then the greater text
//   baseline              the one marked last      acknowledgement   the one made first
// To add a table: its statement below, and its line in the test that looks for tables that nobody merges.
#include "db/merge.h"

#include "db/upkeep_internal.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char doing[] = "merging";

enum { STEPS_MOST = 16 };

typedef struct st_merge {
    st_store *store;
    st_merge_report *report;
    st_table tables[ST_TABLES_MOST];
    size_t table_count;
    st_text texts[STEPS_MOST]; // of the steps of a session
    st_statement steps[STEPS_MOST];
    size_t step_count;
} st_merge;

// --- putting statements together ---------------------------------------------------------------------------
static const st_table *table_named(const st_merge *job, const char *name)
{
    for (size_t i = 0; i < job->table_count; i++)
        if (strcmp(job->tables[i].name, name) == 0)
            return &job->tables[i];
    return NULL;
}

// Calls `add` for each column that is neither key nor reference.
static st_code each_column(st_merge *job, const char *table, void (*add)(st_text *out, const char *column), st_text *out,
                           st_error *error)
{
    st_text columns;
    st_text_init(&columns);
    st_code code = st_table_columns(job->store, table_named(job, table), "", &columns, error);
    if (code == ST_OK && columns.failed)
        code = st_fail_memory(error, doing);
    const char *at = st_text_string(&columns);
    for (bool first = true; code == ST_OK && *at; first = false) {
        char column[64];
        size_t length = strcspn(at, ",");
        snprintf(column, sizeof column, "%.*s", (int)length, at);
        if (!first)
            st_text_add(out, ", ");
        add(out, column);
        at += length + strspn(at + length, ", ");
    }
    st_text_release(&columns);
    return code;
}

static void add_name(st_text *out, const char *column)
{
    st_text_add(out, column);
}

static void add_theirs(st_text *out, const char *column)
{
    st_text_addf(out, "x.%s", column);
}

static void set_theirs(st_text *out, const char *column)
{
    st_text_addf(out, "%s = excluded.%s", column, column);
}

#define WINS "(SELECT wins FROM temp.merge_now)"

// The further session's value, unless it is unknown there. (What it says of an outcome goes with its detail.)
static void set_further(st_text *out, const char *column)
{
    if (strcmp(column, "\"detail\"") == 0)
        st_text_addf(out, "detail = CASE WHEN " WINS " THEN excluded.detail ELSE detail END");
    else
        st_text_addf(out, "%s = CASE WHEN " WINS " THEN coalesce(excluded.%s, %s) ELSE coalesce(%s, excluded.%s) END",
                     column, column, column, column, column);
}

// Of a device both know facts: measured speeds rise, the rest is settled by order alone.
static void set_greater(st_text *out, const char *column)
{
    st_text_addf(out, "%s = max(coalesce(%s, excluded.%s), coalesce(excluded.%s, %s))", column, column, column, column,
                 column);
}

// INSERT INTO table (references, columns) SELECT `keys`, x.columns FROM `from`.
static st_code add_insert(st_merge *job, const char *table, const char *references, const char *keys, const char *from,
                          st_text *out, st_error *error)
{
    st_text_addf(out, "INSERT INTO main.%s (%s%s", table, references, *references ? ", " : "");
    st_code code = each_column(job, table, add_name, out, error);
    st_text_addf(out, ") SELECT %s%s", keys, *keys ? ", " : "");
    if (code == ST_OK)
        code = each_column(job, table, add_theirs, out, error);
    st_text_addf(out, " FROM %s", from);
    return code;
}

// --- rows that sessions share ------------------------------------------------------------------------------
// Found by what is unique in every store; a map from their keys to ours goes with each.
static st_code merge_shared(st_merge *job, const char *table, const char *identity, st_error *error)
{
    char from[64];
    st_text sql;
    st_text_init(&sql);
    snprintf(from, sizeof from, "other.%s x WHERE true ORDER BY x.%s_key", table, table);
    st_code code = add_insert(job, table, "", "", from, &sql, error);
    st_text_addf(&sql, " ON CONFLICT (%s) DO ", identity);
    if (strcmp(table, "device") == 0) {
        st_text_add(&sql, "UPDATE SET ");
        if (code == ST_OK)
            code = each_column(job, table, set_greater, &sql, error);
    } else {
        st_text_add(&sql, "NOTHING");
    }
    st_text_addf(&sql, ";CREATE TEMP TABLE merge_%s (theirs INTEGER PRIMARY KEY, ours INTEGER);"
                       "INSERT INTO temp.merge_%s SELECT x.%s_key, m.%s_key FROM other.%s x JOIN main.%s m ON m.%s = x.%s",
                 table, table, table, table, table, table, identity, identity);
    if (code == ST_OK)
        code = st_run_text(job->store, &sql, doing, NULL, error);
    st_text_release(&sql);
    return code;
}

static st_code merge_all_shared(st_merge *job, st_error *error)
{
    static const char *const shared[][2] = {{"device", "device_id"},   {"toolchain", "toolchain_id"},
                                            {"template", "hash"},      {"problem", "problem_id"},
                                            {"metric", "name"},        {"configuration", "configuration_id"}};
    int64_t before = 0, after = 0;
    st_code code = st_store_begin(job->store, error);
    if (code != ST_OK)
        return code;
    code = st_ask_number(job->store, "SELECT count(*) FROM main.device", doing, &before, error);
    for (size_t i = 0; i < sizeof shared / sizeof *shared && code == ST_OK; i++)
        code = merge_shared(job, shared[i][0], shared[i][1], error);
    if (code == ST_OK)
        code = st_ask_number(job->store, "SELECT count(*) FROM main.device", doing, &after, error);
    job->report->new_devices += after - before;
    return st_store_finish(job->store, code, error);
}

// --- one session -------------------------------------------------------------------------------------------
#define RANK(table) \
    "(CASE " table ".status WHEN 'finished' THEN 2 WHEN 'interrupted' THEN 1 ELSE 0 END," \
    " coalesce(" table ".finished_ms, 0), coalesce(" table ".summary, ''))"
// A finished session never changes, so where as much hangs on it in both stores nothing is to be done.
#define CONTENT(db, session) \
    "(SELECT count(*) || ' ' || total(n) || ' ' || total(bytes) || ' ' || total(taken) || ' ' || total(profiles) FROM" \
    " (SELECT (SELECT count(*) FROM " db ".profile f WHERE f.candidate_key = c.candidate_key) AS profiles," \
    "   count(m.measurement_key) AS n, total(length(m.samples)) AS bytes, total(m.taken_ms) AS taken" \
    "   FROM " db ".candidate c LEFT JOIN " db ".measurement m ON m.candidate_key = c.candidate_key" \
    "   WHERE c.session_key = " session ".session_key GROUP BY c.candidate_key))"
#define NOW "(SELECT theirs FROM temp.merge_now)"
#define OURS "(SELECT ours FROM temp.merge_now)"

// What is the same for every session. CROSS JOIN keeps SQLite from reading whole tables once a session: it does not
// know that the maps hold one session only.
static const struct {
    const char *sql;        // NULL: an insert, as below
    const char *table, *references, *keys, *from, *conflict;
    void (*set)(st_text *out, const char *column);
    const char *where;
    bool always; // also for a session that is the same in both
} session_steps[] = {
    {"DELETE FROM temp.merge_now", NULL, NULL, NULL, NULL, NULL, NULL, NULL, true},
    {"INSERT INTO temp.merge_now SELECT x.session_key, m.session_key, coalesce(" RANK("x") " > " RANK("m")
     ", 0), (SELECT max(measurement_key) FROM main.measurement), (SELECT max(candidate_key) FROM main.candidate),"
     " x.status = 'finished' AND " RANK("x") " = " RANK("m") " AND " CONTENT("other", "x") " = " CONTENT("main", "m")
     " FROM other.session x LEFT JOIN main.session m ON m.session_id = x.session_id"
     " WHERE x.session_key = (SELECT session_key FROM temp.merge_sessions WHERE done = 0 ORDER BY place LIMIT 1)",
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, true},
    {NULL, "session", "device_key, toolchain_key, template_key", "d.ours, t.ours, e.ours",
     "other.session x JOIN temp.merge_device d ON d.theirs = x.device_key"
     " JOIN temp.merge_toolchain t ON t.theirs = x.toolchain_key"
     " JOIN temp.merge_template e ON e.theirs = x.template_key WHERE x.session_key = " NOW,
     "session_id", NULL, NULL, false},
    {"UPDATE temp.merge_now SET ours = (SELECT m.session_key FROM main.session m JOIN other.session x"
     " ON x.session_id = m.session_id WHERE x.session_key = theirs)",
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, false},
    // What is shipped is own as soon as one store has it as its own.
    {"UPDATE main.session SET shipped = 0 WHERE session_key = " OURS " AND shipped = 1 AND 0 ="
     " (SELECT shipped FROM other.session WHERE session_key = " NOW ")",
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, true},
    {"UPDATE main.session SET (status, finished_ms, summary, command, options) ="
     " (SELECT status, finished_ms, coalesce(x.summary, main.session.summary), coalesce(x.command, main.session.command),"
     "  coalesce(x.options, main.session.options) FROM other.session x WHERE x.session_key = " NOW ")"
     " WHERE session_key = " OURS " AND " WINS,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, false},
    {NULL, "candidate", "session_key, problem_key, configuration_key", OURS ", p.ours, g.ours",
     "other.candidate x JOIN temp.merge_problem p ON p.theirs = x.problem_key"
     " JOIN temp.merge_configuration g ON g.theirs = x.configuration_key WHERE x.session_key = " NOW
     " ORDER BY x.candidate_key",
     "candidate_id", set_further, NULL, false},
    {"DELETE FROM temp.merge_candidate", NULL, NULL, NULL, NULL, NULL, NULL, NULL, false},
    {"INSERT INTO temp.merge_candidate SELECT x.candidate_key, m.candidate_key FROM other.candidate x"
     " JOIN main.candidate m ON m.candidate_id = x.candidate_id WHERE x.session_key = " NOW,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, false},
    {NULL, "measurement", "candidate_key", "c.ours",
     "temp.merge_candidate c CROSS JOIN other.measurement x ON x.candidate_key = c.theirs WHERE true"
     " ORDER BY c.theirs",
     "candidate_key, cache, phase, round", set_theirs,
     "length(excluded.samples) > length(samples) OR (length(excluded.samples) = length(samples) AND"
     " (excluded.taken_ms, excluded.samples) < (taken_ms, samples))", false},
    {NULL, "profile", "candidate_key", "c.ours",
     "temp.merge_candidate c CROSS JOIN other.profile x ON x.candidate_key = c.theirs WHERE true", "candidate_key, kind",
     set_further, NULL, false},
    {"INSERT INTO main.counter (profile_key, metric_key, value) SELECT f.profile_key, r.ours, v.value"
     " FROM temp.merge_candidate c CROSS JOIN other.profile x ON x.candidate_key = c.theirs"
     " CROSS JOIN main.profile f ON f.candidate_key = c.ours AND f.kind = x.kind"
     " CROSS JOIN temp.merge_metric r"
     " CROSS JOIN other.counter v ON v.metric_key = r.theirs AND v.profile_key = x.profile_key WHERE true"
     " ORDER BY r.ours, f.profile_key"
     " ON CONFLICT (profile_key, metric_key) DO UPDATE SET value = excluded.value"
     " WHERE excluded.value IS NOT NULL AND (value IS NULL OR (" WINS " AND value <> excluded.value))",
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, false},
    {NULL, "stall_lines", "candidate_key", "c.ours",
     "temp.merge_candidate c CROSS JOIN other.stall_lines x ON x.candidate_key = c.theirs WHERE true", "candidate_key",
     set_theirs, WINS, false},
    {NULL, "winner", "session_key, problem_key, winner_key, default_key", OURS ", p.ours, c.ours, d.ours",
     "other.winner x JOIN temp.merge_problem p ON p.theirs = x.problem_key"
     " JOIN temp.merge_candidate c ON c.theirs = x.winner_key"
     " LEFT JOIN temp.merge_candidate d ON d.theirs = x.default_key WHERE x.session_key = " NOW,
     "session_key, problem_key, cache", set_theirs, WINS, false},
    {"UPDATE temp.merge_sessions SET done = 1 WHERE session_key = " NOW, NULL, NULL, NULL, NULL, NULL, NULL, NULL, true},
};

static st_code build_step(st_merge *job, size_t i, st_error *error)
{
    st_text *sql = &job->texts[i];
    if (session_steps[i].sql) {
        st_text_add(sql, session_steps[i].sql);
    } else {
        const char *table = session_steps[i].table;
        st_code code = add_insert(job, table, session_steps[i].references, session_steps[i].keys,
                                  session_steps[i].from, sql, error);
        st_text_addf(sql, " ON CONFLICT (%s) DO %s", session_steps[i].conflict,
                     session_steps[i].set ? "UPDATE SET " : "NOTHING");
        if (code == ST_OK && strcmp(table, "winner") == 0)
            st_text_add(sql, "winner_key = excluded.winner_key, default_key = excluded.default_key, ");
        if (code == ST_OK && session_steps[i].set)
            code = each_column(job, table, session_steps[i].set, sql, error);
        if (session_steps[i].where)
            st_text_addf(sql, " WHERE %s", session_steps[i].where);
        if (code != ST_OK)
            return code;
    }
    if (sql->failed)
        return st_fail_memory(error, doing);
    return st_statement_open_once(job->store, &job->steps[i], st_text_string(sql), doing, error);
}

static st_code build_steps(st_merge *job, st_error *error)
{
    static const char setup[] =
        "CREATE TEMP TABLE merge_now (theirs INTEGER, ours INTEGER, wins INTEGER, last_measurement INTEGER,"
        "  last_candidate INTEGER, same INTEGER);"
        "CREATE TEMP TABLE merge_candidate (theirs INTEGER PRIMARY KEY, ours INTEGER);"
        "CREATE TEMP TABLE merge_sessions (place INTEGER PRIMARY KEY, session_key INTEGER UNIQUE, done INTEGER);"
        "INSERT INTO temp.merge_sessions SELECT NULL, session_key, 0 FROM other.session ORDER BY session_id;"
        "CREATE INDEX temp.merge_open ON merge_sessions (done, place);";
    st_code code = st_script_run(job->store, setup, doing, error);
    for (size_t i = 0; i < sizeof session_steps / sizeof *session_steps && code == ST_OK; i++) {
        st_text_init(&job->texts[i]);
        job->step_count = i + 1;
        code = build_step(job, i, error);
    }
    return code;
}

// Within the transaction new rows have the greatest keys.
static st_code count_session(st_merge *job, bool was_here, int64_t touched, st_error *error)
{
    int64_t candidates = 0, measurements = 0;
    st_code code = st_ask_number(job->store,
                                 "SELECT count(*) FROM main.candidate WHERE candidate_key >"
                                 " (SELECT coalesce(last_candidate, 0) FROM temp.merge_now)",
                                 doing, &candidates, error);
    if (code == ST_OK)
        code = st_ask_number(job->store,
                             "SELECT count(*) FROM main.measurement WHERE measurement_key >"
                             " (SELECT coalesce(last_measurement, 0) FROM temp.merge_now)",
                             doing, &measurements, error);
    job->report->new_sessions += !was_here;
    job->report->changed_sessions += was_here && (candidates || touched);
    job->report->new_candidates += candidates;
    job->report->new_measurements += measurements;
    job->report->settled += touched - measurements;
    return code;
}

static st_code run_steps(st_merge *job, st_error *error)
{
    st_code code = ST_OK;
    int64_t was_here = 0, same = 0, touched = 0; // touched: measurements that came, or took the place of ours
    for (size_t i = 0; i < job->step_count && code == ST_OK; i++) {
        const char *table = session_steps[i].table ? session_steps[i].table : "";
        if (same && !session_steps[i].always)
            continue;
        code = st_statement_run(&job->steps[i], error);
        int changed = sqlite3_changes(job->store->db);
        sqlite3_reset(job->steps[i].statement);
        if (code == ST_OK && i == 1)
            code = st_ask_number(job->store, "SELECT ours IS NOT NULL FROM temp.merge_now", doing, &was_here, error);
        if (code == ST_OK && i == 1)
            code = st_ask_number(job->store, "SELECT same IS 1 FROM temp.merge_now", doing, &same, error);
        if (strcmp(table, "measurement") == 0)
            touched = changed;
        if (strcmp(table, "winner") == 0 && !was_here)
            job->report->new_winners += changed;
    }
    return code == ST_OK ? count_session(job, was_here, touched, error) : code;
}

static st_code merge_sessions(st_merge *job, st_error *error)
{
    st_code code = ST_OK;
    for (int64_t left = job->report->sessions; left > 0 && code == ST_OK; left--) {
        code = st_store_begin(job->store, error);
        if (code == ST_OK)
            code = st_store_finish(job->store, run_steps(job, error), error);
    }
    return code;
}

// --- what people said --------------------------------------------------------------------------------------
static st_code merge_marks(st_merge *job, st_error *error)
{
#define SESSION(table, column) \
    " JOIN other.session " table "s ON " table "s.session_key = x." column \
    " JOIN main.session " table " ON " table ".session_id = " table "s.session_id"
    static const char baselines[] =
        "INSERT INTO main.baseline (session_key, marked_ms, note) SELECT m.session_key, x.marked_ms, x.note"
        " FROM other.baseline x" SESSION("m", "session_key") " WHERE true ON CONFLICT (session_key) DO UPDATE"
        " SET marked_ms = excluded.marked_ms, note = excluded.note"
        " WHERE (excluded.marked_ms, coalesce(excluded.note, '')) > (marked_ms, coalesce(note, ''))";
    st_text sql;
    st_text_init(&sql);
    int64_t before[2], after[2];
    static const char *const counts[] = {"SELECT count(*) FROM main.baseline",
                                         "SELECT count(*) FROM main.acknowledgement"};
    st_code code = st_store_begin(job->store, error);
    if (code != ST_OK)
        return code;
    for (size_t i = 0; i < 2 && code == ST_OK; i++)
        code = st_ask_number(job->store, counts[i], doing, &before[i], error);
    if (code == ST_OK)
        code = st_script_run(job->store, baselines, doing, error);
    if (code == ST_OK)
        code = add_insert(job, "acknowledgement", "baseline_key, session_key, problem_key",
                          "b.session_key, m.session_key, p.ours",
                          "other.acknowledgement x" SESSION("b", "baseline_key") SESSION("m", "session_key")
                          " JOIN temp.merge_problem p ON p.theirs = x.problem_key WHERE true",
                          &sql, error);
    st_text_add(&sql, " ON CONFLICT (baseline_key, session_key, problem_key, cache) DO UPDATE SET ");
    if (code == ST_OK)
        code = each_column(job, "acknowledgement", set_theirs, &sql, error);
    st_text_add(&sql, " WHERE (excluded.acknowledged_ms, excluded.acknowledgement_id) <"
                      " (acknowledged_ms, acknowledgement_id)");
    if (code == ST_OK)
        code = st_run_text(job->store, &sql, doing, NULL, error);
    st_text_release(&sql);
    for (size_t i = 0; i < 2 && code == ST_OK; i++)
        code = st_ask_number(job->store, counts[i], doing, &after[i], error);
    if (code == ST_OK) {
        job->report->new_baselines = after[0] - before[0];
        job->report->new_acknowledgements = after[1] - before[1];
    }
    return st_store_finish(job->store, code, error);
}

// --- the whole ---------------------------------------------------------------------------------------------
static st_code merge_attached(st_merge *job, st_error *error)
{
    st_code code = st_tables_of(job->store, job->tables, &job->table_count, error);
    if (code == ST_OK)
        code = st_ask_number(job->store, "SELECT count(*) FROM other.session", doing, &job->report->sessions, error);
    if (code == ST_OK)
        code = st_ask_number(job->store, "SELECT count(*) FROM other.session WHERE status = 'running'", doing,
                             &job->report->unfinished, error);
    if (code == ST_OK)
        code = merge_all_shared(job, error);
    if (code == ST_OK)
        code = build_steps(job, error);
    if (code == ST_OK)
        code = merge_sessions(job, error);
    for (size_t i = 0; i < job->step_count; i++) {
        st_statement_close(&job->steps[i]);
        st_text_release(&job->texts[i]);
    }
    return code == ST_OK ? merge_marks(job, error) : code;
}

static st_code attach(st_store *store, const char *path, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, "ATTACH ? AS other", doing, error);
    if (code == ST_OK) {
        st_bind_text(&statement, path);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    return code;
}

static void detach(st_store *store)
{
    static const char *const made[] = {"device", "toolchain", "template", "problem", "metric", "configuration",
                                       "now", "candidate", "sessions"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS temp.merge_%s", made[i]);
        sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    }
    sqlite3_exec(store->db, "DETACH other", NULL, NULL, NULL);
}

// Opened for writing once, so that it has the current schema.
static st_code migrate_copy(const char *copy, st_error *error)
{
    st_store *store = NULL;
    st_code code = st_store_open(copy, ST_STORE_WRITE, &store, error);
    if (code == ST_OK)
        code = st_script_run(store, "PRAGMA journal_mode = DELETE", doing, error);
    st_store_close(store);
    return code;
}

static st_code merge_copy(st_store *store, const char *copy, st_merge_report *report, st_error *error)
{
    st_merge job = {.store = store, .report = report};
    st_code code = migrate_copy(copy, error);
    if (code == ST_OK)
        code = attach(store, copy, error);
    if (code == ST_OK)
        code = merge_attached(&job, error);
    detach(store);
    return code;
}

st_code st_store_merge(st_store *store, const char *other, st_merge_report *report, st_error *error)
{
    *report = (st_merge_report){0};
    st_file_look look;
    st_code code = st_file_look_at(other, &look, error);
    if (code == ST_OK && !look.exists)
        code = st_fail(error, ST_NOTHING, "check its name", "there is no store at %s", other);
    if (code == ST_OK && st_text_one_file(st_store_path(store), other))
        code = st_fail(error, ST_USAGE, "name another store", "%s is the store itself", other);
    if (code != ST_OK)
        return code;
    report->schema_version = look.user_version;
    const char *parent = getenv("TMPDIR");
    char *copy = st_format("%s/simtune-merge-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!copy)
        return st_fail_memory(error, doing);
    int file = st_fault_here(ST_FAULT_SYSTEM) ? -1 : mkstemp(copy);
    if (file < 0) {
        code = st_fail(error, ST_FAILED, "name a folder that can be written in TMPDIR",
                       "cannot make a copy of the store %s in %s", other, parent && *parent ? parent : "/tmp");
    } else {
        close(file);
        code = st_store_copy(other, copy, error);
        if (code == ST_OK)
            code = merge_copy(store, copy, report, error);
        unlink(copy);
    }
    st_free(copy);
    return code;
}
