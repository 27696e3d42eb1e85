// SPDX-License-Identifier: Apache-2.0
// Reading what is left of a damaged store. Promise: the damaged file is only read, and never through SQLite, so
// nothing about it changes; every row that is whole and whose parents are there is in the store that comes out,
// which has the current schema and is sound; what is missing is counted.
#ifndef SIMTUNE_DB_SALVAGE_H
#define SIMTUNE_DB_SALVAGE_H

#include "db/store.h"

enum { ST_SALVAGE_TABLES = 24 };

typedef struct st_salvage_table {
    char name[32];
    int64_t saved;
    int64_t lost_pages;     // that could not be read, where rows of this table stood
    int64_t broken;         // rows that cannot be read, or are not as the schema has them
    int64_t without_parent; // rows that refer to one that is lost
    int64_t contradicting;  // rows whose id is not the hash of what they say, and what hangs on them
} st_salvage_table;

typedef struct st_salvage_report {
    st_salvage_table tables[ST_SALVAGE_TABLES];
    size_t count;
    int64_t pages, page_bytes; // of the file
    int64_t lost_pages;     // of tables, and those that nothing is known of
    bool header_damaged;    // the first 100 bytes
    bool schema_damaged;    // tables had to be told by their rows
    bool truncated;         // pages that the header promises are not there
    bool log_damaged;       // the -wal file; what it held since the last checkpoint is lost
    bool complete;          // nothing was lost
    int64_t sessions;       // saved
} st_salvage_report;

// A store of its own in a temporary folder ($TMPDIR), with what could be read. ST_FAILED when the file cannot be
// opened, holds nothing of a store, or is of a newer version. Close with st_salvage_close, not with st_store_close.
st_code st_salvage_open(const char *path, st_store **out, st_salvage_report *report, st_error *error);
void st_salvage_close(st_store *store); // removes the folder; NULL is fine

// What was lost, for people: a line each, with the table's name ("candidate: 120 saved, 2 pages cannot be read").
void st_salvage_describe(const st_salvage_report *report, st_text *out);

#endif
