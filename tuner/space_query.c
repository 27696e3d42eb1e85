// SPDX-License-Identifier: Apache-2.0
// Running the query: a connection in memory, one table a parameter, the functions of expressions.
#include "tuner/base/memory.h"
#include "tuner/space_internal.h"

#include <stdio.h>
#include <string.h>

// --- functions
// -------------------------------------------------------------------------------------------------

typedef struct st_registered {
    const st_sql_function *function;
    st_error *failure;
} st_registered;

static void call_function(sqlite3_context *context, int count, sqlite3_value **arguments) {
    const st_registered *registered = sqlite3_user_data(context);
    int64_t numbers[4] = {0};
    int64_t result = 0;
    for (int i = 0; i + 1 < count && i < 4; i++)
        numbers[i] = sqlite3_value_int64(arguments[i]);
    const char *where = (const char *)sqlite3_value_text(arguments[count - 1]);
    st_error error;
    if (registered->function->call(numbers, where ? where : "", &result, &error) == ST_OK) {
        sqlite3_result_int64(context, result);
        return;
    }
    *registered->failure = error;
    sqlite3_result_error(context, error.what, -1);
}

int st_register_expression_functions(sqlite3 *connection, st_error *failure) {
    const st_sql_function *functions;
    size_t count = st_expression_sql_functions(&functions);
    st_error_clear(failure);
    for (size_t i = 0; i < count; i++) {
        st_registered *registered = st_malloc(sizeof *registered);
        if (!registered)
            return SQLITE_NOMEM;
        *registered = (st_registered){&functions[i], failure};
        int status = sqlite3_create_function_v2(connection, functions[i].name,
                                                functions[i].argument_count + 1, SQLITE_UTF8,
                                                registered, call_function, NULL, NULL, st_free);
        if (status != SQLITE_OK) // SQLite has freed `registered`
            return status;
    }
    return SQLITE_OK;
}

// --- the connection
// --------------------------------------------------------------------------------------------

static st_code sqlite_failed(sqlite3 *connection, int status, const char *doing, st_error *error) {
    if (status == SQLITE_NOMEM)
        return st_fail_memory(error, doing);
    return st_fail(
        error, ST_FAILED, "Simplify the constraints; --dry-run --verbose prints the query.",
        "%s: SQLite: %s", doing, connection ? sqlite3_errmsg(connection) : sqlite3_errstr(status));
}

static st_code prepare(sqlite3 *connection, const char *sql, sqlite3_stmt **statement,
                       st_error *error) {
    int status = st_fault_here(ST_FAULT_SQLITE)
                     ? SQLITE_NOMEM
                     : sqlite3_prepare_v2(connection, sql, -1, statement, NULL);
    return status == SQLITE_OK ? ST_OK
                               : sqlite_failed(connection, status, "making the space", error);
}

static st_code run_simple(sqlite3 *connection, const char *sql, st_error *error) {
    int status = st_fault_here(ST_FAULT_SQLITE) ? SQLITE_NOMEM
                                                : sqlite3_exec(connection, sql, NULL, NULL, NULL);
    return status == SQLITE_OK ? ST_OK
                               : sqlite_failed(connection, status, "making the space", error);
}

static st_code fill_table(sqlite3 *connection, const st_chosen *chosen, st_error *error) {
    char sql[96];
    sqlite3_stmt *statement = NULL;
    snprintf(sql, sizeof sql, "CREATE TABLE p%d(k INTEGER PRIMARY KEY, v INTEGER NOT NULL) STRICT",
             chosen->table);
    st_code code = run_simple(connection, sql, error);
    snprintf(sql, sizeof sql, "INSERT INTO p%d VALUES (?, ?)", chosen->table);
    if (!code)
        code = prepare(connection, sql, &statement, error);
    for (size_t i = 0; !code && i < chosen->count; i++) {
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)i);
        sqlite3_bind_int64(statement, 2, chosen->values[i]);
        int status = st_fault_here(ST_FAULT_SQLITE) ? SQLITE_NOMEM : sqlite3_step(statement);
        if (status != SQLITE_DONE)
            code = sqlite_failed(connection, status, "making the space", error);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return code;
}

static st_code make_tables(st_space *space, sqlite3 *connection, st_error *error) {
    // An automatic index would scan a table in the order of its values.
    st_code code = run_simple(connection, "PRAGMA automatic_index = OFF", error);
    if (!code)
        code = run_simple(connection, "BEGIN", error);
    for (size_t i = 0; !code && i < space->tmpl->parameter_count; i++)
        if (space->chosen[i].table >= 0)
            code = fill_table(connection, &space->chosen[i], error);
    return code ? code : run_simple(connection, "COMMIT", error);
}

static st_code run_query(st_space *space, sqlite3 *connection, const st_error *failure,
                         st_space_row *row, void *context, st_error *error) {
    sqlite3_stmt *statement = NULL;
    int indices[ST_MAX_PARAMETERS];
    st_code code = prepare(connection, st_text_string(&space->sql), &statement, error);
    while (!code) {
        int status = st_fault_here(ST_FAULT_SQLITE) ? SQLITE_NOMEM : sqlite3_step(statement);
        if (status == SQLITE_DONE)
            break;
        if (status != SQLITE_ROW) {
            if (failure->code) // an expression: its own message, with its remedy
                code = st_fail(error, failure->code, failure->remedy, "%s", failure->what);
            else
                code = sqlite_failed(connection, status, "making the space", error);
            break;
        }
        for (int i = 0; i < space->table_count; i++)
            indices[i] = sqlite3_column_int(statement, i);
        code = row(context, indices, error);
    }
    sqlite3_finalize(statement);
    return code;
}

st_code st_space_run_sql(st_space *space, st_space_row *row, void *context, st_error *error) {
    sqlite3 *connection = NULL;
    st_error failure;
    int status =
        sqlite3_open_v2(":memory:", &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (status == SQLITE_OK)
        status = st_register_expression_functions(connection, &failure);
    st_code code = status == SQLITE_OK
                       ? make_tables(space, connection, error)
                       : sqlite_failed(connection, status, "making the space", error);
    if (!code)
        code = run_query(space, connection, &failure, row, context, error);
    sqlite3_close(connection);
    return code;
}
