// SPDX-License-Identifier: Apache-2.0
// Sessions. Invariants: 1. a finished session never changes again; 2. an interrupted one may be taken up
// again and then finish; 3. a session that came with shipped history is never resumed.
//
// States:  begin ──► running ──► finished
//                      │  ▲          ▲
//                      ▼  │(resume)  │
//                   interrupted ─────┘     (st_store_session_end)
#include "db/compare.h"
#include "db/store_internal.h"

#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {"running", "finished", "interrupted"};

void st_session_row_release(st_session_row *row)
{
    st_free(row->command);
    st_free(row->options_json);
    st_free(row->summary_json);
    row->command = row->options_json = row->summary_json = NULL;
}

st_code st_store_session_begin(st_store *store, st_session_row *row, st_error *error)
{
    if (st_hash_fresh_id(row->id) != 0)
        return st_fail(error, ST_FAILED, "check that getrandom(2) works here",
                       "the system gives no random bytes for the session's id");
    if (row->started_ms <= 0)
        row->started_ms = st_clock_unix_ms();
    row->finished_ms = -1;
    row->status = ST_SESSION_RUNNING;
    st_statement statement;
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = st_statement_open(
        store, &statement,
        "INSERT INTO session (session_id, resume_key, family, device_key, toolchain_key, "
        "template_key,"
        " started_ms, status, command, options) VALUES (?, ?, ?, ?, ?, ?, ?, 'running', ?, ?)"
        " RETURNING session_key",
        "beginning a session", error);
    if (code == ST_OK) {
        st_bind_text(&statement, row->id);
        st_bind_text(&statement, row->resume_key);
        st_bind_text(&statement, row->family);
        st_bind_int(&statement, row->device_key);
        st_bind_int(&statement, row->toolchain_key);
        st_bind_int(&statement, row->template_key);
        st_bind_int(&statement, row->started_ms);
        st_bind_known_text(&statement, row->command);
        st_bind_known_text(&statement, row->options_json);
        code = st_statement_number(&statement, &row->key, NULL, error);
    }
    st_statement_close(&statement);
    return st_store_finish(store, code, error);
}

st_code st_store_session_end(st_store *store, int64_t session, st_session_status status,
                             const char *summary_json, st_error *error)
{
    if (status == ST_SESSION_RUNNING)
        return st_fail(error, ST_FAILED, "this is a fault of the program",
                       "a session cannot end as running");
    st_statement statement;
    bool found = false;
    int64_t key;
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = st_statement_open(
        store, &statement,
        "UPDATE session SET status = ?2, finished_ms = max(?3, started_ms), summary = coalesce(?4, summary)"
        " WHERE session_key = ?1 AND status <> 'finished' RETURNING session_key",
        "ending a session", error);
    if (code == ST_OK) {
        st_bind_int(&statement, session);
        st_bind_text(&statement, status_names[status]);
        st_bind_int(&statement, st_clock_unix_ms());
        st_bind_known_text(&statement, summary_json);
        code = st_statement_number(&statement, &key, &found, error);
    }
    st_statement_close(&statement);
    if (code == ST_OK && !found)
        code = st_fail(error, ST_FAILED, "this is a fault of the program",
                       "the store %s: no unfinished session %lld to end", store->path,
                       (long long)session);
    return st_store_finish(store, code, error);
}

// --- reading -----------------------------------------------------------------------------------------------
#define SESSION_ROW                                                                                \
    "SELECT session_key, session_id, resume_key, family, device_key, toolchain_key, template_key," \
    " started_ms, finished_ms, status, command, options, summary FROM session "

static st_code fill(const st_statement *statement, st_session_row *row, st_error *error)
{
    row->key = st_column_int(statement, 0);
    st_column_copy(statement, 1, row->id, sizeof row->id);
    st_column_copy(statement, 2, row->resume_key, sizeof row->resume_key);
    st_column_copy(statement, 3, row->family, sizeof row->family);
    row->device_key = st_column_int(statement, 4);
    row->toolchain_key = st_column_int(statement, 5);
    row->template_key = st_column_int(statement, 6);
    row->started_ms = st_column_int(statement, 7);
    row->finished_ms = st_column_int(statement, 8);
    for (int status = 0; status < 3; status++)
        if (st_text_equal(st_column_text(statement, 9), status_names[status]))
            row->status = (st_session_status)status;
    if (st_column_take(statement, 10, &row->command) &&
        st_column_take(statement, 11, &row->options_json) &&
        st_column_take(statement, 12, &row->summary_json))
        return ST_OK;
    st_session_row_release(row);
    return st_fail_memory(error, "reading a session");
}

// The first row of a statement whose parameters are bound. Closes it.
static st_code first(st_statement *statement, st_session_row *row, bool *found, st_error *error)
{
    st_code code = st_statement_step(statement, found, error);
    if (code == ST_OK && *found)
        code = fill(statement, row, error);
    st_statement_close(statement);
    return code;
}

st_code st_store_session_unfinished(st_store *store, const char *resume_key, st_session_row *row,
                                    st_error *error)
{
    *row = (st_session_row){0};
    bool found = false;
    st_statement statement;
    st_code code = st_statement_open(store, &statement,
                                     SESSION_ROW
                                     "WHERE resume_key = ? AND status <> 'finished' AND shipped = 0"
                                     " ORDER BY started_ms DESC, session_id DESC LIMIT 1",
                                     "looking for an unfinished session", error);
    if (code != ST_OK)
        return code;
    st_bind_text(&statement, resume_key);
    code = first(&statement, row, &found, error);
    return code == ST_OK && !found ? ST_NOTHING : code;
}

st_code st_store_session_latest(st_store *store, const char *family, st_session_row *row,
                                st_error *error)
{
    const st_compare_filter filter = {.family = family, .n = -1};
    char id[ST_HASH_TEXT];
    *row = (st_session_row){0};
    st_code code = st_store_latest(store, &filter, id, error);
    return code == ST_OK ? st_store_session_of(store, id, row, error) : code;
}

st_code st_store_session_newest(st_store *store, const char *family, st_session_row *row, st_error *error)
{
    *row = (st_session_row){0};
    bool found = false;
    st_statement statement;
    st_code code = st_statement_open(store, &statement,
                                     SESSION_ROW "WHERE ?1 IS NULL OR family = ?1"
                                                 " ORDER BY shipped, started_ms DESC, session_id DESC LIMIT 1",
                                     "looking for the newest session", error);
    if (code != ST_OK)
        return code;
    st_bind_text(&statement, family);
    code = first(&statement, row, &found, error);
    return code == ST_OK && !found ? ST_NOTHING : code;
}

st_code st_store_session_of(st_store *store, const char *id_prefix, st_session_row *row,
                            st_error *error)
{
    *row = (st_session_row){0};
    int64_t key;
    bool found = false;
    st_code code = st_key_by_prefix(store,
                                    "SELECT session_key, session_id FROM session WHERE session_id "
                                    ">= ?1 AND session_id < ?1 || 'g'"
                                    " ORDER BY session_id LIMIT 3",
                                    "session", id_prefix, &key, error);
    if (code != ST_OK)
        return code;
    st_statement statement;
    code = st_statement_open(store, &statement, SESSION_ROW "WHERE session_key = ?",
                             "reading a session", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, key);
    return first(&statement, row, &found, error);
}
