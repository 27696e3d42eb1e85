// SPDX-License-Identifier: Apache-2.0
// Shared by the files that look after a store as a whole: check, merge, prune, salvage, backup.
#ifndef SIMTUNE_DB_UPKEEP_INTERNAL_H
#define SIMTUNE_DB_UPKEEP_INTERNAL_H

#include "db/store_internal.h"

// --- identity.c --------------------------------------------------------------------------------------------
// Rows whose stable id is not the hash of what they say. Stops at the first code that is not ST_OK.
typedef st_code st_wrong_id_callback(void *context, const char *table, int64_t key, const char *id,
                                     st_error *error);
st_code st_wrong_ids(st_store *store, st_wrong_id_callback *callback, void *context, st_error *error);

// --- backup.c ----------------------------------------------------------------------------------------------
// A copy of one moment at `target`, which is written over; checked. Of any version up to ours.
st_code st_store_copy(const char *path, const char *target, st_error *error);

// --- tables.c ----------------------------------------------------------------------------------------------
// What SQLite says of the tables of a store, so that a column that a migration adds is carried along.
enum { ST_REFERENCES_MOST = 8, ST_TABLES_MOST = 24 };
typedef struct st_reference {
    char column[32], parent[32];
} st_reference;
typedef struct st_table {
    char name[32];
    char key[32]; // the column that is the rowid; "" where there is none
    st_reference references[ST_REFERENCES_MOST];
    size_t reference_count;
} st_table;
// Those that others refer to come first.
st_code st_tables_of(st_store *store, st_table *tables, size_t *count, st_error *error);
// Appends the names of the table's columns with commas between, each after `prefix`, but for its key and what
// refers to other tables.
st_code st_table_columns(st_store *store, const st_table *table, const char *prefix, st_text *out, st_error *error);
// Deletes, in all tables, rows that refer to what is not there. Foreign keys must be off.
st_code st_drop_orphans(st_store *store, int64_t *dropped, st_error *error);

// The number that a statement without parameters gives; `sql` may be put together.
st_code st_ask_number(st_store *store, const char *sql, const char *doing, int64_t *value, st_error *error);
// Runs SQL that was put together; fails when `sql` did. *changes (may be NULL): rows changed.
st_code st_run_text(st_store *store, const st_text *sql, const char *doing, int64_t *changes, st_error *error);

#endif
