// SPDX-License-Identifier: Apache-2.0
// The tables of a store, as SQLite tells them. Invariants: 1. nothing here knows the name of a table; 2. what
// triggers hold in place of a foreign key counts as a reference: a column X_key, where there is a table X.
// (pragma_table_list would tell as much, but opens every view at every call.)
#include "db/upkeep_internal.h"

#include <stdio.h>
#include <string.h>

static const char doing[] = "looking at its tables";

st_code st_ask_number(st_store *store, const char *sql, const char *what, int64_t *value, st_error *error)
{
    st_statement statement;
    *value = 0;
    st_code code = st_statement_open_once(store, &statement, sql, what, error);
    if (code == ST_OK)
        code = st_statement_number(&statement, value, NULL, error);
    st_statement_close(&statement);
    return code;
}

st_code st_run_text(st_store *store, const st_text *sql, const char *what, int64_t *changes, st_error *error)
{
    if (sql->failed)
        return st_fail_memory(error, what);
    int before = sqlite3_total_changes(store->db);
    st_code code = st_script_run(store, st_text_string(sql), what, error);
    if (changes)
        *changes = (int64_t)sqlite3_total_changes(store->db) - before;
    return code;
}

// --- what there is -----------------------------------------------------------------------------------------
static st_code read_names(st_store *store, st_table *tables, size_t *count, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(
        store, &statement,
        "SELECT t.name, coalesce((SELECT i.name FROM pragma_table_info(t.name) i WHERE i.pk = 1"
        "  AND t.sql NOT LIKE '%WITHOUT ROWID%' AND i.type = 'INTEGER'"
        "  AND 1 = (SELECT count(*) FROM pragma_table_info(t.name) WHERE pk > 0)), '')"
        " FROM main.sqlite_schema t WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY t.name",
        doing, error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row || *count == ST_TABLES_MOST)
            break;
        st_table *table = &tables[(*count)++];
        *table = (st_table){0};
        st_column_copy(&statement, 0, table->name, sizeof table->name);
        st_column_copy(&statement, 1, table->key, sizeof table->key);
    }
    st_statement_close(&statement);
    return code;
}

static st_code read_references(st_store *store, st_table *table, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement,
                                          "SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?1) UNION"
                                          " SELECT i.name, t.name FROM pragma_table_info(?1) i"
                                          " JOIN main.sqlite_schema t ON t.type = 'table'"
                                          "  AND i.name = t.name || '_key' AND t.name <> ?1"
                                          " WHERE i.name NOT IN (SELECT \"from\" FROM pragma_foreign_key_list(?1))"
                                          " ORDER BY 1",
                                          doing, error);
    if (code == ST_OK)
        st_bind_text(&statement, table->name);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row || table->reference_count == ST_REFERENCES_MOST)
            break;
        st_reference *reference = &table->references[table->reference_count++];
        st_column_copy(&statement, 0, reference->column, sizeof reference->column);
        st_column_copy(&statement, 1, reference->parent, sizeof reference->parent);
    }
    st_statement_close(&statement);
    return code;
}

static bool stands_before(const st_table *tables, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(tables[i].name, name) == 0)
            return true;
    return false;
}

static bool is_ready(const st_table *tables, size_t placed, const st_table *table)
{
    for (size_t i = 0; i < table->reference_count; i++)
        if (strcmp(table->references[i].parent, table->name) != 0 &&
            !stands_before(tables, placed, table->references[i].parent))
            return false;
    return true;
}

static void sort_parents_first(st_table *tables, size_t count)
{
    for (size_t placed = 0; placed < count; placed++)
        for (size_t i = placed; i < count; i++)
            if (is_ready(tables, placed, &tables[i])) {
                st_table next = tables[i];
                memmove(&tables[placed + 1], &tables[placed], (i - placed) * sizeof *tables);
                tables[placed] = next;
                break;
            }
}

st_code st_tables_of(st_store *store, st_table *tables, size_t *count, st_error *error)
{
    *count = 0;
    st_code code = read_names(store, tables, count, error);
    for (size_t i = 0; i < *count && code == ST_OK; i++)
        code = read_references(store, &tables[i], error);
    if (code == ST_OK)
        sort_parents_first(tables, *count);
    return code;
}

static bool is_special(const st_table *table, const char *column)
{
    bool special = strcmp(table->key, column) == 0;
    for (size_t i = 0; i < table->reference_count; i++)
        special |= strcmp(table->references[i].column, column) == 0;
    return special;
}

st_code st_table_columns(st_store *store, const st_table *table, const char *prefix, st_text *out, st_error *error)
{
    st_statement statement;
    bool any = false;
    st_code code = st_statement_open_once(store, &statement, "SELECT name FROM pragma_table_info(?) ORDER BY cid",
                                          doing, error);
    if (code == ST_OK)
        st_bind_text(&statement, table->name);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row)
            break;
        const char *name = st_column_text(&statement, 0);
        if (!is_special(table, name))
            st_text_addf(out, "%s%s\"%s\"", any ? ", " : "", prefix, name);
        any |= !is_special(table, name);
    }
    st_statement_close(&statement);
    return code;
}

// --- orphans -----------------------------------------------------------------------------------------------
st_code st_drop_orphans(st_store *store, int64_t *dropped, st_error *error)
{
    st_table tables[ST_TABLES_MOST];
    size_t count;
    st_text sql;
    st_text_init(&sql);
    st_code code = st_tables_of(store, tables, &count, error);
    for (size_t i = 0; i < count && code == ST_OK; i++)
        for (size_t r = 0; r < tables[i].reference_count; r++) {
            const st_reference *reference = &tables[i].references[r];
            st_text_addf(&sql, "DELETE FROM \"%s\" WHERE \"%s\" IS NOT NULL AND \"%s\" NOT IN (SELECT rowid FROM \"%s\");",
                         tables[i].name, reference->column, reference->column, reference->parent);
        }
    if (code == ST_OK)
        code = st_run_text(store, &sql, "dropping rows whose parents are lost", dropped, error);
    st_text_release(&sql);
    return code;
}
