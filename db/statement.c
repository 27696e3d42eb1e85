// SPDX-License-Identifier: Apache-2.0
// Statements. Invariants: 1. every prepare, step and backup step of db/ passes the fault point
// ST_FAULT_SQLITE here; 2. a cached statement is reset and unbound whenever it is not in use; 3. an
// error names the store, what was being done, why it failed and what to do.
#include "db/store_internal.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- errors ------------------------------------------------------------------------------------------------
const char st_damage_remedy[] =
    "keep a copy of the file; simtune db check says what can still be read, simtune db export saves it";

st_code st_store_fail(st_store *store, int rc, const char *doing, st_error *error)
{
    const char *path = store->path;
    const char *why = store->db && (sqlite3_extended_errcode(store->db) & 0xff) == (rc & 0xff)
                          ? sqlite3_errmsg(store->db)
                          : sqlite3_errstr(rc);
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return st_fail(error, ST_FAILED,
                       "make room on the disk, then run the same command again: what was committed "
                       "is kept",
                       "the disk is full: %s in the store %s failed", doing, path);
    case SQLITE_IOERR:
        return st_fail(error, ST_FAILED,
                       "check that the disk works and has room (quota, file size limit); what was "
                       "committed is kept",
                       "the store %s: %s failed (%s)", path, doing, why);
    case SQLITE_NOMEM:
        return st_fail_memory(error, doing);
    case SQLITE_INTERRUPT:
        return st_fail(error, ST_INTERRUPTED, NULL, "interrupted (%s)", doing);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: // so many others wanted the lock that SQLite gave up trying
        return st_waiting_fail(store, doing, error);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        store->damaged = true;
        return st_fail(error, ST_DAMAGED, st_damage_remedy,
                       "the store %s is damaged or is not a database (%s: %s)", path, doing, why);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return st_fail(
            error, ST_FAILED,
            "check the permissions of the file and its folder, or name another store with "
            "--db",
            "the store %s cannot be written (%s: %s)", path, doing, why);
    case SQLITE_CANTOPEN:
        return st_fail(error, ST_FAILED,
                       "check the path and its permissions, or name another store with --db",
                       "the store %s cannot be opened (%s: %s)", path, doing, why);
    case SQLITE_CONSTRAINT:
        return st_fail(error, ST_FAILED, "this is a fault of the program or of the imported file",
                       "the store %s refuses a row (%s: %s)", path, doing, why);
    default:
        return st_fail(error, ST_FAILED, "check the disk that holds the store",
                       "the store %s: %s failed (%s)", path, doing, why);
    }
}

// --- open and close ----------------------------------------------------------------------------------------
static st_code prepare(st_store *store, const char *sql, unsigned flags, sqlite3_stmt **out,
                       const char **tail, const char *doing, st_error *error)
{
    *out = NULL;
    int rc = st_fault_here(ST_FAULT_SQLITE)
                 ? SQLITE_IOERR
                 : sqlite3_prepare_v3(store->db, sql, -1, flags, out, tail);
    return rc == SQLITE_OK ? ST_OK : st_store_fail(store, rc, doing, error);
}

static void start(st_statement *statement, st_store *store, const char *doing)
{
    *statement = (st_statement){.store = store, .rc = SQLITE_OK, .doing = doing};
}

st_code st_statement_open_once(st_store *store, st_statement *statement, const char *sql,
                               const char *doing, st_error *error)
{
    start(statement, store, doing);
    return prepare(store, sql, 0, &statement->statement, NULL, doing, error);
}

st_code st_statement_open(st_store *store, st_statement *statement, const char *sql,
                          const char *doing, st_error *error)
{
    start(statement, store, doing);
    for (size_t i = 0; i < store->cached_count; i++) {
        st_cached_statement *cached = &store->cached[i];
        if (cached->sql != sql || cached->in_use)
            continue;
        cached->in_use = true;
        statement->cached = cached;
        statement->statement = cached->statement;
        return ST_OK;
    }
    bool room = store->cached_count < ST_CACHED_STATEMENTS;
    st_code code = prepare(store, sql, room ? SQLITE_PREPARE_PERSISTENT : 0, &statement->statement,
                           NULL, doing, error);
    if (code == ST_OK && room) {
        statement->cached = &store->cached[store->cached_count++];
        *statement->cached =
            (st_cached_statement){.sql = sql, .statement = statement->statement, .in_use = true};
    }
    return code;
}

void st_statement_close(st_statement *statement)
{
    if (!statement->statement)
        return;
    if (statement->cached) {
        sqlite3_reset(statement->statement);
        sqlite3_clear_bindings(statement->statement);
        statement->cached->in_use = false;
    } else {
        sqlite3_finalize(statement->statement);
    }
    statement->statement = NULL;
    statement->cached = NULL;
}

// --- binding -----------------------------------------------------------------------------------------------
static void bound(st_statement *statement, int rc)
{
    if (statement->rc == SQLITE_OK)
        statement->rc = rc;
}

void st_bind_int(st_statement *statement, int64_t value)
{
    bound(statement, sqlite3_bind_int64(statement->statement, ++statement->bound, value));
}

static void bind_null(st_statement *statement)
{
    bound(statement, sqlite3_bind_null(statement->statement, ++statement->bound));
}

void st_bind_known_int(st_statement *statement, int64_t value)
{
    if (value == -1)
        bind_null(statement);
    else
        st_bind_int(statement, value);
}

void st_bind_real(st_statement *statement, double value)
{
    if (isfinite(value))
        bound(statement, sqlite3_bind_double(statement->statement, ++statement->bound, value));
    else
        bind_null(statement);
}

void st_bind_text(st_statement *statement, const char *value)
{
    if (value)
        bound(statement, sqlite3_bind_text64(statement->statement, ++statement->bound, value,
                                             strlen(value), SQLITE_STATIC, SQLITE_UTF8));
    else
        bind_null(statement);
}

void st_bind_known_text(st_statement *statement, const char *value)
{
    st_bind_text(statement, value && *value ? value : NULL);
}

void st_bind_blob(st_statement *statement, const void *bytes, size_t length)
{
    if (length)
        bound(statement, sqlite3_bind_blob64(statement->statement, ++statement->bound, bytes,
                                             length, SQLITE_STATIC));
    else
        bound(statement, sqlite3_bind_zeroblob(statement->statement, ++statement->bound, 0));
}

// --- stepping ----------------------------------------------------------------------------------------------
st_code st_statement_step(st_statement *statement, bool *row, st_error *error)
{
    *row = false;
    int rc = statement->rc;
    if (rc == SQLITE_OK)
        rc = st_fault_here(ST_FAULT_SQLITE) ? SQLITE_IOERR : sqlite3_step(statement->statement);
    *row = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        return ST_OK;
    return st_store_fail(statement->store, rc, statement->doing, error);
}

st_code st_statement_run(st_statement *statement, st_error *error)
{
    st_code code = ST_OK;
    for (bool row = true; code == ST_OK && row;)
        code = st_statement_step(statement, &row, error);
    return code;
}

st_code st_statement_number(st_statement *statement, int64_t *value, bool *found, st_error *error)
{
    bool row;
    st_code code = st_statement_step(statement, &row, error);
    if (found)
        *found = row;
    if (code != ST_OK || !row)
        return code;
    *value = st_column_int(statement, 0);
    return st_statement_run(statement, error);
}

st_code st_statement_insert(st_statement *statement, int64_t *key, bool *added, st_error *error)
{
    st_code code = st_statement_run(statement, error);
    *added = code == ST_OK && sqlite3_changes(statement->store->db) > 0;
    if (*added)
        *key = sqlite3_last_insert_rowid(statement->store->db);
    return code;
}

st_code st_statement_do(st_store *store, const char *sql, const char *doing, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open(store, &statement, sql, doing, error);
    if (code == ST_OK)
        code = st_statement_run(&statement, error);
    st_statement_close(&statement);
    return code;
}

st_code st_script_run(st_store *store, const char *script, const char *doing, st_error *error)
{
    st_code code = ST_OK;
    while (code == ST_OK && *script) {
        st_statement statement;
        start(&statement, store, doing);
        code = prepare(store, script, 0, &statement.statement, &script, doing, error);
        if (code == ST_OK && statement.statement)
            code = st_statement_run(&statement, error);
        st_statement_close(&statement);
    }
    return code;
}

// --- columns -----------------------------------------------------------------------------------------------
static bool is_null(const st_statement *statement, int column)
{
    return sqlite3_column_type(statement->statement, column) == SQLITE_NULL;
}

int64_t st_column_int(const st_statement *statement, int column)
{
    return is_null(statement, column) ? -1 : sqlite3_column_int64(statement->statement, column);
}

double st_column_real(const st_statement *statement, int column)
{
    return is_null(statement, column) ? NAN : sqlite3_column_double(statement->statement, column);
}

const char *st_column_text_or_null(const st_statement *statement, int column)
{
    return (const char *)sqlite3_column_text(statement->statement, column);
}

const char *st_column_text(const st_statement *statement, int column)
{
    const char *text = st_column_text_or_null(statement, column);
    return text ? text : "";
}

void st_column_copy(const st_statement *statement, int column, char *out, size_t capacity)
{
    snprintf(out, capacity, "%s", st_column_text(statement, column));
}

bool st_column_take(const st_statement *statement, int column, char **out)
{
    const char *text = st_column_text_or_null(statement, column);
    *out = text ? st_strdup(text) : NULL;
    return *out || is_null(statement, column);
}
