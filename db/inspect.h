// SPDX-License-Identifier: Apache-2.0
// Looking at a store as a whole: how much is in it, and whether it is sound. Promise: changes nothing.
#ifndef SIMTUNE_DB_INSPECT_H
#define SIMTUNE_DB_INSPECT_H

#include "db/store.h"

typedef struct st_store_counts {
    int schema_version;
    int64_t devices, sessions, unfinished, shipped, problems, candidates, measurements, samples, profiles,
        winners;                      // sessions: all; unfinished and shipped of them
    int64_t first_ms, last_ms;        // when sessions began; -1 when there is none
    int64_t bytes;                    // of the database's pages
} st_store_counts;
st_code st_store_count(st_store *store, st_store_counts *out, st_error *error);

// SQLite's integrity check and that of foreign keys. Appends a line for each finding; *sound when none.
st_code st_store_check(st_store *store, bool *sound, st_text *findings, st_error *error);

// Every session, oldest first.
typedef struct st_session_answer {
    const char *id, *family, *device_name, *status, *command; // valid during the callback only
    int cc, sm_count;
    int64_t started_ms, finished_ms;  // finished -1: running
    int64_t candidates;
    bool shipped;
} st_session_answer;
typedef st_code st_session_callback(void *context, const st_session_answer *answer, st_error *error);
st_code st_store_sessions(st_store *store, st_session_callback *callback, void *context, st_error *error);

#endif
