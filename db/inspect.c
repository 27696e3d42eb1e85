// SPDX-License-Identifier: Apache-2.0
// Invariant: nothing here writes.
#include "db/inspect.h"

#include "db/store_internal.h"

#include <stdio.h>

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
        code = callback(context, &answer, error);
    }
    st_statement_close(&statement);
    return code;
}
