// SPDX-License-Identifier: Apache-2.0
// Pruning. Invariants: 1. what may go is chosen first, in temporary tables, by statements that only read; a plan
// and a removal choose by the same ones; 2. a median is never touched, and a measurement keeps at least one sample;
// 3. how many samples there were stands in samples_taken, so that thinning is not repeated on what is left.
#include "db/prune.h"

#include "db/upkeep_internal.h"
#include "tuner/base/memory.h"

#include <string.h>

static const char doing[] = "pruning";

// temp.prune_rest: candidates that neither won nor were in a final, of sessions that nothing keeps.
// temp.prune_old: of those, the ones that go altogether.
static const char choose[] =
    "CREATE TEMP TABLE prune_pair (session_key INTEGER, problem_key INTEGER, whole INTEGER NOT NULL DEFAULT 0,"
    "  PRIMARY KEY (session_key, problem_key)) WITHOUT ROWID;"
    "INSERT INTO temp.prune_pair (session_key, problem_key)"
    "  SELECT DISTINCT session_key, problem_key FROM candidate;"
    // The newest of each device and problem, also when it found no winner.
    "UPDATE temp.prune_pair SET whole = 1 WHERE (session_key, problem_key) IN"
    "  (SELECT session_key, problem_key FROM (SELECT r.session_key, r.problem_key, row_number() OVER"
    "    (PARTITION BY s.device_key, r.problem_key ORDER BY s.finished_ms DESC, s.session_id DESC) AS place"
    "    FROM temp.prune_pair r JOIN session s ON s.session_key = r.session_key WHERE s.status = 'finished')"
    "   WHERE place = 1);"
    "UPDATE temp.prune_pair SET whole = 1 WHERE session_key IN"
    "  (SELECT session_key FROM session WHERE status <> 'finished' OR shipped = 1"
    "   UNION SELECT session_key FROM baseline"
    "   UNION SELECT session_key FROM acknowledgement UNION SELECT baseline_key FROM acknowledgement);"
    "CREATE TEMP TABLE prune_kept (candidate_key INTEGER PRIMARY KEY);"
    "INSERT OR IGNORE INTO temp.prune_kept SELECT winner_key FROM winner"
    "  UNION SELECT default_key FROM winner WHERE default_key IS NOT NULL;"
    "INSERT OR IGNORE INTO temp.prune_kept SELECT candidate_key FROM measurement WHERE phase = 'finals';"
    "INSERT OR IGNORE INTO temp.prune_kept SELECT c.candidate_key FROM winner w JOIN json_each(w.ties) t"
    "  JOIN session s ON s.session_key = w.session_key"
    "  JOIN configuration g ON g.family = s.family AND t.type = 'object'"
    "    AND g.text = json_extract(t.value, '$.configuration')"
    "  JOIN candidate c ON c.session_key = w.session_key AND c.problem_key = w.problem_key"
    "    AND c.configuration_key = g.configuration_key WHERE w.ties IS NOT NULL;"
    "CREATE TEMP TABLE prune_rest (candidate_key INTEGER PRIMARY KEY, finished_ms INTEGER);"
    "INSERT INTO temp.prune_rest SELECT c.candidate_key, s.finished_ms FROM candidate c"
    "  JOIN session s ON s.session_key = c.session_key"
    "  JOIN temp.prune_pair r ON r.session_key = c.session_key AND r.problem_key = c.problem_key"
    "  WHERE r.whole = 0 AND c.candidate_key NOT IN (SELECT candidate_key FROM temp.prune_kept);"
    "CREATE TEMP TABLE prune_old (candidate_key INTEGER PRIMARY KEY);"
    "CREATE TEMP TABLE prune_unused (configuration_key INTEGER PRIMARY KEY);";

static const char forget[] =
    "DROP TABLE IF EXISTS temp.prune_pair; DROP TABLE IF EXISTS temp.prune_kept;"
    "DROP TABLE IF EXISTS temp.prune_rest; DROP TABLE IF EXISTS temp.prune_old;"
    "DROP TABLE IF EXISTS temp.prune_unused;";

static st_code choose_old(st_store *store, int64_t before_ms, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement,
                                          "INSERT INTO temp.prune_old SELECT candidate_key FROM temp.prune_rest"
                                          " WHERE finished_ms < ?",
                                          doing, error);
    if (code == ST_OK) {
        st_bind_int(&statement, before_ms);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    if (code == ST_OK)
        code = st_script_run(store,
                             "DELETE FROM temp.prune_rest WHERE candidate_key IN (SELECT candidate_key FROM temp.prune_old);"
                             "INSERT OR IGNORE INTO temp.prune_unused SELECT c.configuration_key FROM temp.prune_old o"
                             " JOIN candidate c ON c.candidate_key = o.candidate_key WHERE NOT EXISTS (SELECT 1 FROM"
                             " candidate k WHERE k.configuration_key = c.configuration_key"
                             " AND k.candidate_key NOT IN (SELECT candidate_key FROM temp.prune_old))",
                             doing, error);
    return code;
}

// --- counting ----------------------------------------------------------------------------------------------
static st_code count_dropped(st_store *store, st_prune_report *report, st_error *error)
{
    const struct {
        const char *sql;
        int64_t *out;
    } counts[] = {
        {"SELECT count(*) FROM candidate", &report->candidates},
        {"SELECT count(*) FROM temp.prune_old", &report->dropped},
        {"SELECT count(*) FROM temp.prune_unused", &report->configurations},
        {"SELECT count(*) FROM temp.prune_old o JOIN measurement m ON m.candidate_key = o.candidate_key",
         &report->dropped_measurements},
        {"SELECT coalesce(sum(length(m.samples) / 8), 0) FROM temp.prune_old o"
         " JOIN measurement m ON m.candidate_key = o.candidate_key", &report->dropped_samples},
        {"SELECT count(*) FROM temp.prune_old o JOIN profile f ON f.candidate_key = o.candidate_key JOIN metric r"
         " CROSS JOIN counter v ON v.metric_key = r.metric_key AND v.profile_key = f.profile_key",
         &report->dropped_counters},
        {"SELECT (SELECT count(*) FROM candidate) - (SELECT count(*) FROM temp.prune_old)"
         " - (SELECT count(*) FROM temp.prune_rest)", &report->kept},
    };
    st_code code = ST_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && code == ST_OK; i++)
        code = st_ask_number(store, counts[i].sql, doing, counts[i].out, error);
    return code;
}

// --- thinning ----------------------------------------------------------------------------------------------
// Which samples stay: spread evenly over the time in which they were taken.
static size_t thin(const unsigned char *samples, size_t count, size_t stay, unsigned char *out)
{
    for (size_t k = 0; k < stay; k++)
        memcpy(out + 8 * k, samples + 8 * ((2 * k + 1) * count / (2 * stay)), 8);
    return stay;
}

static st_code write_samples(st_store *store, int64_t key, int64_t taken, const unsigned char *samples, size_t count,
                             st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open(store, &statement,
                                     "UPDATE measurement SET samples = ?, samples_taken = ? WHERE measurement_key = ?",
                                     doing, error);
    if (code == ST_OK) {
        st_bind_blob(&statement, samples, 8 * count);
        st_bind_int(&statement, taken);
        st_bind_int(&statement, key);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    return code;
}

static st_code thin_one(st_store *store, const st_statement *row, int one_in, st_prune_report *report, st_error *error)
{
    size_t count = (size_t)sqlite3_column_bytes(row->statement, 1) / 8;
    const unsigned char *samples = sqlite3_column_blob(row->statement, 1);
    int64_t taken = st_column_int(row, 2);
    size_t had = taken > 0 ? (size_t)taken : count, stay = (had + (size_t)one_in - 1) / (size_t)one_in;
    if (count <= stay || count == 0)
        return ST_OK;
    report->thinned++;
    report->samples += (int64_t)(count - stay);
    if (!samples)
        return st_fail_memory(error, doing);
    unsigned char *kept = st_malloc(8 * stay);
    if (!kept)
        return st_fail_memory(error, doing);
    st_code code = write_samples(store, st_column_int(row, 0), (int64_t)had, kept, thin(samples, count, stay, kept),
                                 error);
    st_free(kept);
    return code;
}

// What thin_all would do, without reading a sample.
static st_code count_thinned(st_store *store, int one_in, st_prune_report *report, st_error *error)
{
    st_statement statement;
    bool row = false;
    st_code code = st_statement_open_once(store, &statement,
                                          "SELECT count(*), coalesce(sum(has - stay), 0) FROM (SELECT has,"
                                          " (coalesce(taken, has) + ?1 - 1) / ?1 AS stay FROM"
                                          "  (SELECT length(m.samples) / 8 AS has, m.samples_taken AS taken"
                                          "   FROM temp.prune_rest r CROSS JOIN measurement m"
                                          "   ON m.candidate_key = r.candidate_key)) WHERE has > stay",
                                          doing, error);
    if (code == ST_OK) {
        st_bind_int(&statement, one_in);
        code = st_statement_step(&statement, &row, error);
    }
    if (code == ST_OK && row) {
        report->thinned = st_column_int(&statement, 0);
        report->samples = st_column_int(&statement, 1);
    }
    st_statement_close(&statement);
    return code;
}

static st_code thin_all(st_store *store, int one_in, bool really, st_prune_report *report, st_error *error)
{
    st_statement statement;
    if (one_in <= 1)
        return ST_OK;
    if (!really)
        return count_thinned(store, one_in, report, error);
    // By key, so that rows that are rewritten are not met again.
    st_code code = st_statement_open_once(store, &statement,
                                          "SELECT m.measurement_key, m.samples, m.samples_taken FROM measurement m"
                                          " WHERE m.candidate_key IN (SELECT candidate_key FROM temp.prune_rest)"
                                          " ORDER BY m.measurement_key",
                                          doing, error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = thin_one(store, &statement, one_in, report, error);
    }
    st_statement_close(&statement);
    return code;
}

// --- the whole ---------------------------------------------------------------------------------------------
static st_code drop_old(st_store *store, st_error *error)
{
    return st_script_run(store,
                         "DELETE FROM profile WHERE candidate_key IN (SELECT candidate_key FROM temp.prune_old);"
                         "DELETE FROM stall_lines WHERE candidate_key IN (SELECT candidate_key FROM temp.prune_old);"
                         "DELETE FROM measurement WHERE candidate_key IN (SELECT candidate_key FROM temp.prune_old);"
                         "DELETE FROM candidate WHERE candidate_key IN (SELECT candidate_key FROM temp.prune_old);"
                         "DELETE FROM configuration WHERE configuration_key IN"
                         " (SELECT configuration_key FROM temp.prune_unused);",
                         doing, error);
}

static st_code prune(st_store *store, const st_prune_options *options, bool really, st_prune_report *report,
                     st_error *error)
{
    st_code code = st_script_run(store, choose, doing, error);
    if (code == ST_OK && options->older_than_ms > 0)
        code = choose_old(store, options->older_than_ms, error);
    if (code == ST_OK)
        code = count_dropped(store, report, error);
    if (code == ST_OK)
        code = thin_all(store, options->keep_one_in, really, report, error);
    if (code == ST_OK && really && report->dropped)
        code = drop_old(store, error);
    // Rows with their entries in indexes, as they are on average.
    report->bytes = 8 * (report->samples + report->dropped_samples) + 16 * report->dropped_counters +
                    160 * report->dropped_measurements + 260 * report->dropped + 300 * report->configurations;
    return code;
}

st_code st_store_prune(st_store *store, const st_prune_options *options, bool really, st_prune_report *report,
                       st_error *error)
{
    *report = (st_prune_report){0};
    // Temporary tables of this connection alone; the store is not written.
    st_code code = st_script_run(store, "PRAGMA query_only = OFF", doing, error);
    if (code == ST_OK && really)
        code = st_store_begin(store, error);
    if (code == ST_OK) {
        code = st_script_run(store, forget, doing, error);
        if (code == ST_OK)
            code = prune(store, options, really, report, error);
        if (really)
            code = st_store_finish(store, code, error);
    }
    if (st_script_run(store, forget, doing, NULL) != ST_OK)
        st_script_run(store, forget, doing, NULL);
    if (store->mode == ST_STORE_READ && st_script_run(store, "PRAGMA query_only = ON", doing, NULL) != ST_OK)
        st_script_run(store, "PRAGMA query_only = ON", doing, NULL);
    return code;
}
