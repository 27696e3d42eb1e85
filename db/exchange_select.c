// SPDX-License-Identifier: Apache-2.0
// Which rows go out. Invariants: 1. the store itself is not written: what was chosen stands in temporary tables of
// this connection; 2. from choosing to the last row everything is of one moment (one read transaction).
#include "db/exchange_internal.h"

#include <string.h>

static const char setup_sql[] =
    "PRAGMA query_only = OFF;"
    "CREATE TEMP TABLE IF NOT EXISTS chosen (session_key INTEGER PRIMARY KEY); DELETE FROM temp.chosen;"
    "CREATE TEMP TABLE IF NOT EXISTS chosen_problem (problem_key INTEGER PRIMARY KEY);"
    "DELETE FROM temp.chosen_problem;";

static st_code choose_problems(st_store *store, const st_export_wish *wish, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement,
                                          "INSERT INTO temp.chosen_problem SELECT problem_key FROM problem"
                                          " WHERE (?1 IS NULL OR family = ?1) AND (?2 IS NULL OR type = ?2)"
                                          " AND (?3 IS NULL OR operation = ?3) AND (?4 IS NULL OR n = ?4)"
                                          " AND (?5 IS NULL OR text = ?5)",
                                          "exporting", error);
    if (code == ST_OK) {
        st_bind_text(&statement, wish->family);
        st_bind_text(&statement, wish->type);
        st_bind_text(&statement, wish->operation);
        st_bind_known_int(&statement, wish->n);
        st_bind_text(&statement, wish->problem);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    return code;
}

// A session by its id, or all of them (NULL), if family and device are wanted.
static st_code choose_sessions(st_store *store, const st_export_wish *wish, const char *id, int cc, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(
        store, &statement,
        "INSERT OR IGNORE INTO temp.chosen SELECT session_key FROM session s JOIN device d ON d.device_key = s.device_key"
        " WHERE (?1 IS NULL OR session_id = ?1) AND (?2 IS NULL OR family = ?2)"
        " AND (?3 IS NULL OR lower(d.uuid) = lower(?3) OR instr(lower(d.name), lower(?3)) > 0) AND (?4 IS NULL OR d.cc = ?4)",
        "exporting", error);
    if (code == ST_OK) {
        st_bind_text(&statement, id);
        st_bind_text(&statement, wish->family);
        st_bind_text(&statement, wish->device);
        st_bind_known_int(&statement, cc);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    return code;
}

static st_code check_session(st_store *store, const char *id, st_error *error)
{
    st_statement statement;
    int64_t key;
    bool found = false;
    st_code code = st_statement_open(store, &statement, "SELECT session_key FROM session WHERE session_id = ?",
                                     "exporting", error);
    if (code == ST_OK) {
        st_bind_text(&statement, id);
        code = st_statement_number(&statement, &key, &found, error);
    }
    st_statement_close(&statement);
    if (code == ST_OK && !found)
        code = st_fail(error, ST_NOTHING, "give whole session ids, as `simtune query --json` prints them",
                       "the store %s has no session %s", store->path, id);
    return code;
}

static st_code choose(st_store *store, const st_export_wish *wish, const char *id, st_error *error)
{
    st_code code = id ? check_session(store, id, error) : ST_OK;
    if (code == ST_OK && !wish->arch_count)
        code = choose_sessions(store, wish, id, -1, error);
    for (size_t i = 0; i < wish->arch_count && code == ST_OK; i++)
        code = choose_sessions(store, wish, id, wish->archs[i], error);
    return code;
}

// Sessions that have nothing of the chosen problems are not chosen, unless all problems are.
static st_code drop_others(st_store *store, const st_export_wish *wish, st_error *error)
{
    if (!wish->type && !wish->operation && wish->n == -1 && !wish->problem)
        return ST_OK;
    return st_script_run(store,
                         "DELETE FROM temp.chosen WHERE NOT EXISTS (SELECT 1 FROM temp.chosen_problem p"
                         " CROSS JOIN candidate c ON c.problem_key = p.problem_key"
                         " WHERE c.session_key = chosen.session_key)",
                         "exporting", error);
}

static st_code fill(st_store *store, const st_export_wish *wish, size_t *sessions, st_error *error)
{
    st_code code = choose_problems(store, wish, error);
    if (code == ST_OK && !wish->sessions)
        code = choose(store, wish, NULL, error);
    for (const char *const *id = wish->sessions; id && *id && code == ST_OK; id++)
        code = choose(store, wish, *id, error);
    if (code == ST_OK)
        code = drop_others(store, wish, error);
    st_statement statement = {0};
    int64_t count = 0;
    if (code == ST_OK)
        code = st_statement_open_once(store, &statement, "SELECT count(*) FROM temp.chosen", "exporting", error);
    if (code == ST_OK)
        code = st_statement_number(&statement, &count, NULL, error);
    st_statement_close(&statement);
    *sessions = (size_t)count;
    return code;
}

st_code st_exchange_select(st_store *store, const st_export_wish *wish, bool *reading, size_t *sessions,
                           st_error *error)
{
    *reading = false;
    st_code code = st_script_run(store, setup_sql, "exporting", error);
    if (code == ST_OK && store->depth == 0) {
        code = st_statement_do(store, "BEGIN", "exporting", error);
        *reading = code == ST_OK;
    }
    if (code == ST_OK)
        code = fill(store, wish, sessions, error);
    if (code != ST_OK)
        st_exchange_unselect(store, *reading);
    return code;
}

void st_exchange_unselect(st_store *store, bool reading)
{
    if (reading && st_statement_do(store, "COMMIT", "exporting", NULL) != ST_OK)
        st_statement_do(store, "ROLLBACK", "exporting", NULL);
    if (store->mode == ST_STORE_READ && st_script_run(store, "PRAGMA query_only = ON", "exporting", NULL) != ST_OK)
        st_script_run(store, "PRAGMA query_only = ON", "exporting", NULL);
}
