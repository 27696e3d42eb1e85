// SPDX-License-Identifier: Apache-2.0
// Invariant: nothing here writes.
#include "db/inspect.h"

#include "db/upkeep_internal.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <sys/stat.h>

st_code st_store_count(st_store *store, st_store_counts *out, st_error *error)
{
    static const char sql[] =
        "SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM device),"
        " (SELECT count(*) FROM session), (SELECT count(*) FROM session WHERE status <> 'finished'),"
        " (SELECT count(*) FROM session WHERE shipped = 1), (SELECT count(*) FROM problem),"
        " (SELECT count(*) FROM candidate), (SELECT count(*) FROM measurement),"
        " (SELECT coalesce(sum(length(samples) / 8), 0) FROM measurement),"
        " (SELECT count(*) FROM profile), (SELECT count(*) FROM winner),"
        " (SELECT min(started_ms) FROM session), (SELECT max(started_ms) FROM session),"
        " (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)";
    *out = (st_store_counts){.first_ms = -1, .last_ms = -1};
    int64_t *const fields[] = {&out->devices,      &out->sessions, &out->unfinished, &out->shipped,
                               &out->problems,     &out->candidates, &out->measurements, &out->samples,
                               &out->profiles,     &out->winners,  &out->first_ms,   &out->last_ms,
                               &out->bytes};
    st_statement statement;
    st_code code = st_statement_open(store, &statement, sql, "counting its rows", error);
    if (code != ST_OK)
        return code;
    bool row;
    code = st_statement_step(&statement, &row, error);
    if (code == ST_OK && row) {
        out->schema_version = (int)st_column_int(&statement, 0);
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
            *fields[i] = st_column_int(&statement, (int)i + 1);
    }
    st_statement_close(&statement);
    return code;
}

// A line for each row: its columns with spaces between.
static st_code list_rows(st_store *store, const char *sql, int columns, st_text *findings, size_t *count,
                         st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, sql, "checking it", error);
    if (code != ST_OK)
        return code;
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row)
            break;
        for (int i = 0; i < columns; i++)
            st_text_addf(findings, "%s%s", i ? " " : "", st_column_text(&statement, i));
        st_text_add(findings, "\n");
        ++*count;
    }
    st_statement_close(&statement);
    return code;
}

st_code st_store_looks_damaged(const char *path, bool *damaged, st_error *error)
{
    enum { TIMES = 12 };
    st_file_look look;
    *damaged = false;
    st_code code = st_file_look_at(path, &look, error);
    bool ours = code == ST_OK && look.exists && !look.empty && !look.is_open;
    return ours ? st_glance(path, TIMES, damaged, error) : code;
}

st_code st_store_check(st_store *store, bool *sound, st_text *findings, st_error *error)
{
    size_t count = 0;
    st_code code = list_rows(store,
                             "SELECT integrity_check FROM pragma_integrity_check"
                             " WHERE integrity_check <> 'ok'",
                             1, findings, &count, error);
    if (code == ST_OK)
        code = list_rows(store,
                         "SELECT 'row', \"rowid\", 'of', \"table\", 'refers to what is not in', \"parent\""
                         " FROM pragma_foreign_key_check",
                         6, findings, &count, error);
    *sound = code == ST_OK && count == 0;
    return code == ST_OK && findings->failed ? st_fail_memory(error, "checking the store") : code;
}

st_code st_store_sessions(st_store *store, st_session_callback *callback, void *context, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(
        store, &statement,
        "SELECT s.session_id, s.family, d.name, s.status, s.command, d.cc, d.sm_count, s.started_ms,"
        " s.finished_ms, (SELECT count(*) FROM candidate c WHERE c.session_key = s.session_key), s.shipped"
        " FROM session s JOIN device d ON d.device_key = s.device_key ORDER BY s.started_ms, s.session_id",
        "listing sessions", error);
    if (code != ST_OK)
        return code;
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row)
            break;
        st_session_answer answer = {
            .id = st_column_text(&statement, 0),
            .family = st_column_text(&statement, 1),
            .device_name = st_column_text(&statement, 2),
            .status = st_column_text(&statement, 3),
            .command = st_column_text(&statement, 4),
            .cc = (int)st_column_int(&statement, 5),
            .sm_count = (int)st_column_int(&statement, 6),
            .started_ms = st_column_int(&statement, 7),
            .finished_ms = st_column_int(&statement, 8),
            .candidates = st_column_int(&statement, 9),
            .shipped = st_column_int(&statement, 10) == 1,
        };
        if (st_text_equal(answer.status, "running") && !answer.shipped)
            code = st_store_session_is_live(store, answer.id, &answer.live, error);
        if (code == ST_OK)
            code = callback(context, &answer, error);
    }
    st_statement_close(&statement);
    return code;
}

st_code st_store_groups(st_store *store, st_group group, st_group_callback *callback, void *context, st_error *error)
{
    static const char *const sql[] = {
        "SELECT s.family, '', count(*), (SELECT count(*) FROM candidate c JOIN session t ON t.session_key = c.session_key"
        "  WHERE t.family = s.family), (SELECT count(*) FROM winner w JOIN session t ON t.session_key = w.session_key"
        "  WHERE t.family = s.family), max(s.started_ms) FROM session s GROUP BY s.family ORDER BY s.family",
        "SELECT d.name, d.uuid, (SELECT count(*) FROM session s WHERE s.device_key = d.device_key),"
        " (SELECT count(*) FROM session s JOIN candidate c ON c.session_key = s.session_key"
        "  WHERE s.device_key = d.device_key), (SELECT count(*) FROM session s JOIN winner w"
        "  ON w.session_key = s.session_key WHERE s.device_key = d.device_key),"
        " (SELECT max(started_ms) FROM session s WHERE s.device_key = d.device_key)"
        " FROM device d ORDER BY d.name, d.uuid, d.backend"};
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, sql[group], "counting its rows", error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row)
            break;
        st_group_answer answer = {.name = st_column_text(&statement, 0),
                                  .uuid = st_column_text(&statement, 1),
                                  .sessions = st_column_int(&statement, 2),
                                  .candidates = st_column_int(&statement, 3),
                                  .winners = st_column_int(&statement, 4),
                                  .last_ms = st_column_int(&statement, 5)};
        code = callback(context, &answer, error);
    }
    st_statement_close(&statement);
    return code;
}

st_code st_store_look_closer(st_store *store, st_store_extras *out, st_error *error)
{
    *out = (st_store_extras){0};
    const struct {
        const char *sql;
        int64_t *out;
    } counts[] = {
        {"SELECT count(*) FROM baseline", &out->baselines},
        {"SELECT count(*) FROM acknowledgement", &out->acknowledgements},
        {"SELECT count(samples_taken) FROM measurement", &out->thinned},
        {"SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size", &out->free_bytes},
    };
    st_code code = ST_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && code == ST_OK; i++)
        code = st_ask_number(store, counts[i].sql, "counting its rows", counts[i].out, error);
    char *log = st_format("%s-wal", store->path);
    if (code == ST_OK && !log)
        return st_fail_memory(error, "looking at the store");
    struct stat status;
    if (log && stat(log, &status) == 0)
        out->wal_bytes = status.st_size;
    st_free(log);
    return code;
}
