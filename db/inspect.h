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

// Before a store is opened for st_store_check: whether its inner pages and its list of free pages (which SQLite's check of a
// store leaves out) look damaged, again and again.
st_code st_store_looks_damaged(const char *path, bool *damaged, st_error *error);
// SQLite's integrity check and that of foreign keys. Appends a line for each finding; *sound when none.
st_code st_store_check(st_store *store, bool *sound, st_text *findings, st_error *error);

// Every session, oldest first.
typedef struct st_session_answer {
    const char *id, *family, *device_name, *status, *command; // valid during the callback only
    int cc, sm_count;
    int64_t started_ms, finished_ms;  // finished -1: running
    int64_t candidates;
    bool shipped;
    bool live;                        // some process runs it now
} st_session_answer;
typedef st_code st_session_callback(void *context, const st_session_answer *answer, st_error *error);
st_code st_store_sessions(st_store *store, st_session_callback *callback, void *context, st_error *error);

// What is in it by family, or by device.
typedef enum st_group { ST_GROUP_FAMILY, ST_GROUP_DEVICE } st_group;
typedef struct st_group_answer {
    const char *name;     // valid during the callback only
    const char *uuid;     // of a device; "" for a family
    int64_t sessions, candidates, winners, last_ms; // last_ms: when its newest session began; -1 none
} st_group_answer;
typedef st_code st_group_callback(void *context, const st_group_answer *answer, st_error *error);
st_code st_store_groups(st_store *store, st_group group, st_group_callback *callback, void *context, st_error *error);

// What people marked, and room that is taken by nothing.
typedef struct st_store_extras {
    int64_t baselines, acknowledgements;
    int64_t thinned;      // measurements that a prune thinned
    int64_t free_bytes;   // what vacuum would give back
    int64_t wal_bytes;    // of the -wal file beside it; 0 none
} st_store_extras;
st_code st_store_look_closer(st_store *store, st_store_extras *out, st_error *error);

#endif
