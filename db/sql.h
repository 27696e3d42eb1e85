// SPDX-License-Identifier: Apache-2.0
// The store as what it is today: an SQLite file with documented views, asked in SQL. Promise: nothing that is
// asked here changes anything; a statement of somebody else that tries is refused with its reason. A store that is
// no file one day has no such door, so nothing but `simtune query --sql` uses it.
#ifndef SIMTUNE_DB_SQL_H
#define SIMTUNE_DB_SQL_H

#include "db/store.h"

typedef struct st_sql_cell {
    enum { ST_CELL_NULL, ST_CELL_INTEGER, ST_CELL_REAL, ST_CELL_TEXT, ST_CELL_BLOB } kind;
    int64_t integer;
    double real;
    const void *bytes; // of a text (NUL after it) or a blob
    size_t length;
} st_sql_cell;

typedef struct st_sql_sink {
    void *context;
    // Before the first row, or instead of it.
    st_code (*columns)(void *context, const char *const *names, size_t count, st_error *error);
    st_code (*row)(void *context, const st_sql_cell *cells, size_t count, st_error *error);
} st_sql_sink;

// One statement that reads: SELECT, VALUES, WITH, EXPLAIN, or a PRAGMA that tells. ST_USAGE when SQLite does not
// understand it or when it would do more than read; ST_INTERRUPTED as st_store_stop_when says.
st_code st_store_sql(st_store *store, const char *sql, const st_sql_sink *sink, st_error *error);

// The views that docs/store.md describes, by name, with their columns in order.
typedef st_code st_view_callback(void *context, const char *view, const char *const *columns, size_t count,
                                 st_error *error);
st_code st_store_views(st_store *store, st_view_callback *callback, void *context, st_error *error);

#endif
