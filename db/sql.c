// SPDX-License-Identifier: Apache-2.0
// Statements of users. Invariants: 1. an authorizer allows reading, functions, and pragmas that tell, and nothing
// else, also in the copy in memory of an older store; 2. a statement without columns is refused, which keeps out
// what no authorizer is asked about (VACUUM, BEGIN); 3. the authorizer is gone when the call returns.
#include "db/sql.h"

#include "db/store_internal.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <string.h>

static const char views_remedy[] = "simtune query --sql lists the views and their columns";

// --- what is allowed ---------------------------------------------------------------------------------------------
// Pragmas that tell; those marked so only without a value.
static const struct {
    const char *name;
    bool alone;
} pragmas[] = {{"table_info", false},        {"table_xinfo", false},      {"table_list", false},
               {"index_list", false},        {"index_info", false},       {"index_xinfo", false},
               {"foreign_key_list", false},  {"foreign_key_check", false}, {"integrity_check", false},
               {"quick_check", false},       {"function_list", true},     {"collation_list", true},
               {"compile_options", true},    {"pragma_list", true},       {"user_version", true},
               {"application_id", true},     {"page_count", true},        {"page_size", true},
               {"freelist_count", true},     {"encoding", true},          {"schema_version", true}};

static bool allows_pragma(const char *name, const char *value)
{
    for (size_t i = 0; name && i < sizeof pragmas / sizeof *pragmas; i++)
        if (sqlite3_stricmp(name, pragmas[i].name) == 0)
            return !value || !pragmas[i].alone;
    return false;
}

static int authorize(void *context, int action, const char *first, const char *second, const char *database,
                     const char *trigger)
{
    (void)database, (void)trigger;
    bool allowed = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE ||
                   (action == SQLITE_FUNCTION && second && sqlite3_stricmp(second, "load_extension") != 0) ||
                   (action == SQLITE_PRAGMA && allows_pragma(first, second)) ||
                   // Asked of a table-valued function (pragma_table_info) too. Of a statement that really does it
                   // SQLite says that it writes, and it is refused for that.
                   (action == SQLITE_UPDATE && first && strcmp(first, "sqlite_master") == 0);
    if (!allowed)
        *(bool *)context = true;
    return allowed ? SQLITE_OK : SQLITE_DENY;
}

// --- running ---------------------------------------------------------------------------------------------------
// What SQLite says to a statement that it does not take is the user's to mend; all else is the store's.
static st_code refused(st_store *store, int rc, bool denied, const char *doing, st_error *error)
{
    if (denied)
        return st_fail(error, ST_USAGE, "write SELECT …; sqlite3 changes a copy of the file, simtune db the store",
                       "--sql only reads, and this statement does more");
    int primary = rc & 0xff;
    if (primary == SQLITE_ERROR || primary == SQLITE_RANGE || primary == SQLITE_TOOBIG || primary == SQLITE_MISMATCH ||
        primary == SQLITE_AUTH)
        return st_fail(error, ST_USAGE, views_remedy, "SQLite refuses the statement: %s", sqlite3_errmsg(store->db));
    return st_store_fail(store, rc, doing, error);
}

static bool ends(const char *tail)
{
    while (*tail) {
        if (strchr(" \t\r\n;", *tail))
            tail++;
        else if (tail[0] == '-' && tail[1] == '-')
            tail += strcspn(tail, "\n");
        else if (tail[0] == '/' && tail[1] == '*' && strstr(tail + 2, "*/"))
            tail = strstr(tail + 2, "*/") + 2;
        else
            return false;
    }
    return true;
}

static st_code open_statement(st_store *store, const char *sql, bool *denied, sqlite3_stmt **out, st_error *error)
{
    static const char doing[] = "asking it in SQL";
    const char *tail = "";
    *out = NULL;
    int rc = st_fault_here(ST_FAULT_SQLITE) ? SQLITE_IOERR
                                            : sqlite3_prepare_v3(store->db, sql, -1, 0, out, &tail);
    if (rc != SQLITE_OK)
        return refused(store, rc, *denied, doing, error);
    if (!*out)
        return st_fail(error, ST_USAGE, views_remedy, "the statement is empty");
    if (!sqlite3_stmt_readonly(*out) || sqlite3_column_count(*out) == 0)
        return refused(store, SQLITE_AUTH, true, doing, error);
    if (!ends(tail))
        return st_fail(error, ST_USAGE, "ask one after the other", "--sql takes one statement, and another follows");
    return ST_OK;
}

static st_sql_cell cell_of(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        return (st_sql_cell){.kind = ST_CELL_INTEGER, .integer = sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
        return (st_sql_cell){.kind = ST_CELL_REAL, .real = sqlite3_column_double(statement, column)};
    case SQLITE_TEXT: {
        const void *text = sqlite3_column_text(statement, column);
        return (st_sql_cell){.kind = text ? ST_CELL_TEXT : ST_CELL_NULL, .bytes = text,
                             .length = (size_t)sqlite3_column_bytes(statement, column)};
    }
    case SQLITE_BLOB: {
        const void *blob = sqlite3_column_blob(statement, column);
        return (st_sql_cell){.kind = ST_CELL_BLOB, .bytes = blob ? blob : "",
                             .length = (size_t)sqlite3_column_bytes(statement, column)};
    }
    }
    return (st_sql_cell){.kind = ST_CELL_NULL};
}

static st_code each_row(st_store *store, sqlite3_stmt *statement, const st_sql_sink *sink, st_sql_cell *cells,
                        int count, bool *denied, st_error *error)
{
    for (;;) {
        int rc = st_fault_here(ST_FAULT_SQLITE) ? SQLITE_IOERR : sqlite3_step(statement);
        if (rc == SQLITE_DONE)
            return ST_OK;
        if (rc != SQLITE_ROW)
            return refused(store, rc, *denied, "asking it in SQL", error);
        for (int i = 0; i < count; i++)
            cells[i] = cell_of(statement, i);
        st_code code = sink->row(sink->context, cells, (size_t)count, error);
        if (code != ST_OK)
            return code;
    }
}

st_code st_store_sql(st_store *store, const char *sql, const st_sql_sink *sink, st_error *error)
{
    bool denied = false;
    sqlite3_stmt *statement = NULL;
    const char **names = NULL;
    st_sql_cell *cells = NULL;
    sqlite3_set_authorizer(store->db, authorize, &denied);
    st_code code = open_statement(store, sql, &denied, &statement, error);
    int count = code == ST_OK ? sqlite3_column_count(statement) : 0;
    if (code == ST_OK) {
        names = st_calloc((size_t)count, sizeof *names);
        cells = st_calloc((size_t)count, sizeof *cells);
        for (int i = 0; names && i < count; i++)
            names[i] = sqlite3_column_name(statement, i) ? sqlite3_column_name(statement, i) : "";
        code = names && cells ? sink->columns(sink->context, names, (size_t)count, error)
                              : st_fail_memory(error, "asking the store in SQL");
    }
    if (code == ST_OK)
        code = each_row(store, statement, sink, cells, count, &denied, error);
    sqlite3_finalize(statement);
    sqlite3_set_authorizer(store->db, NULL, NULL);
    st_free(names);
    st_free(cells);
    return code;
}

// --- the views -----------------------------------------------------------------------------------------------
typedef struct one_view {
    char *name;
    st_text columns; // each with its NUL
    size_t count;
} one_view;

static st_code tell_view(one_view *view, st_view_callback *callback, void *context, st_error *error)
{
    if (!view->name)
        return ST_OK;
    const char **columns = view->columns.failed ? NULL : st_calloc(view->count, sizeof *columns);
    const char *at = st_text_string(&view->columns);
    for (size_t i = 0; columns && i < view->count; i++, at += strlen(at) + 1)
        columns[i] = at;
    st_code code = columns ? callback(context, view->name, columns, view->count, error)
                           : st_fail_memory(error, "listing the views");
    st_free(columns);
    st_free(view->name);
    view->name = NULL;
    view->count = 0;
    st_text_clear(&view->columns);
    return code;
}

static st_code take_column(one_view *view, const st_statement *row, st_view_callback *callback, void *context,
                           st_error *error)
{
    st_code code = ST_OK;
    if (view->name && strcmp(view->name, st_column_text(row, 0)) != 0)
        code = tell_view(view, callback, context, error);
    if (code == ST_OK && !view->name && !(view->name = st_strdup(st_column_text(row, 0))))
        code = st_fail_memory(error, "listing the views");
    const char *column = st_column_text(row, 1);
    st_text_add_bytes(&view->columns, column, strlen(column) + 1);
    view->count++;
    return code;
}

st_code st_store_views(st_store *store, st_view_callback *callback, void *context, st_error *error)
{
    one_view view = {0};
    st_text_init(&view.columns);
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement,
                                          "SELECT s.name, i.name FROM sqlite_schema s, pragma_table_info(s.name) i"
                                          " WHERE s.type = 'view' AND s.name GLOB 'simtune_*' ORDER BY s.name, i.cid",
                                          "listing the views", error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = take_column(&view, &statement, callback, context, error);
    }
    st_statement_close(&statement);
    if (code == ST_OK)
        code = tell_view(&view, callback, context, error);
    st_free(view.name);
    st_text_release(&view.columns);
    return code;
}
