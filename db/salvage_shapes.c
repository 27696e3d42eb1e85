// SPDX-License-Identifier: Apache-2.0
// What rows of each table look like: how many values of which kinds. Invariants: 1. a shape is read from a sound
// store of the same version, never from the damaged one; 2. a row that fits no shape to the letter is not saved.
#include "db/salvage_internal.h"

#include "db/upkeep_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- reading shapes ----------------------------------------------------------------------------------------
// The record of a table without rowids holds its key first.
static st_code read_columns(st_store *store, st_shape *shape, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement,
                                          "SELECT i.name, i.type, i.\"notnull\", i.pk, t.sql LIKE '%WITHOUT ROWID%' AS wr"
                                          " FROM sqlite_schema t, pragma_table_info(t.name) i WHERE t.name = ?"
                                          " ORDER BY CASE WHEN wr AND i.pk THEN i.pk ELSE 1000 + i.cid END",
                                          "looking at its tables", error);
    if (code == ST_OK)
        st_bind_text(&statement, shape->name);
    int keys = 0;
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row || shape->columns == ST_SHAPE_COLUMNS)
            break;
        size_t i = shape->columns++;
        bool in_key = st_column_int(&statement, 3) > 0;
        st_column_copy(&statement, 0, shape->column[i], sizeof shape->column[i]);
        shape->type[i] = st_column_text(&statement, 1)[0];
        shape->by_rowid = st_column_int(&statement, 4) == 0;
        shape->needed[i] = st_column_int(&statement, 2) == 1 || (in_key && !shape->by_rowid);
        keys += in_key;
        if (in_key && shape->by_rowid && shape->type[i] == 'I')
            shape->key = (int)i;
    }
    if (keys != 1)
        shape->key = -1;
    shape->least = shape->columns;
    st_statement_close(&statement);
    return code;
}

st_code st_shapes_of(st_store *store, st_shape *shapes, size_t *count, st_error *error)
{
    st_table tables[ST_TABLES_MOST];
    st_code code = st_tables_of(store, tables, count, error);
    for (size_t i = 0; i < *count && code == ST_OK; i++) {
        shapes[i] = (st_shape){.key = -1};
        snprintf(shapes[i].name, sizeof shapes[i].name, "%.*s", (int)sizeof shapes[i].name - 1, tables[i].name);
        code = read_columns(store, &shapes[i], error);
    }
    return code;
}

// --- whether a row fits ------------------------------------------------------------------------------------
// Text without NULs, and UTF-8 throughout: a flipped bit often makes it neither.
static bool is_text(const unsigned char *at, size_t length)
{
    for (size_t i = 0; i < length;) {
        unsigned char c = at[i++];
        int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1;
        if (c == 0 || more < 0)
            return false;
        for (; more > 0; more--, i++)
            if (i >= length || (at[i] & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static bool is_id(const st_value *value)
{
    bool fine = value->length == 32;
    for (size_t i = 0; i < value->length && fine; i++)
        fine = (value->bytes[i] >= '0' && value->bytes[i] <= '9') || (value->bytes[i] >= 'a' && value->bytes[i] <= 'f');
    return fine;
}

static bool ends_in_id(const char *column)
{
    size_t length = strlen(column);
    return length > 3 && strcmp(column + length - 3, "_id") == 0;
}

static bool value_fits(const st_shape *shape, size_t column, const st_value *value)
{
    if (value->kind == ST_VALUE_NULL)
        return (int)column == shape->key || !shape->needed[column];
    if ((int)column == shape->key) // SQLite leaves the rowid out of the record
        return false;
    switch (shape->type[column]) {
    case 'I':
        return value->kind == ST_VALUE_INT;
    case 'R':
        return value->kind == ST_VALUE_INT || (value->kind == ST_VALUE_REAL && isfinite(value->real));
    case 'T':
        return value->kind == ST_VALUE_TEXT && is_text(value->bytes, value->length) &&
               (!ends_in_id(shape->column[column]) || is_id(value));
    default:
        return value->kind == ST_VALUE_BLOB;
    }
}

bool st_shape_fits(const st_shape *shape, const st_row *row)
{
    bool fits = row->count <= shape->columns && row->count >= shape->least;
    for (size_t i = 0; i < row->count && fits; i++)
        fits = value_fits(shape, i, &row->values[i]);
    return fits;
}

bool st_shape_is_told(const st_shape *shape, const st_row *row)
{
    const st_value *last = &row->values[row->count - 1];
    if (strcmp(shape->name, "stall_lines") == 0) // a list, in JSON
        return last->length > 0 && last->bytes[0] == '[';
    if (strcmp(shape->name, "metric") == 0)
        return last->length > 0 && last->bytes[0] != '[';
    if (shape->by_rowid || shape->columns > 3)
        return true;
    // Indexes of three numbers look the same, but theirs are whole and known.
    return last->kind == ST_VALUE_NULL || last->kind == ST_VALUE_REAL;
}
