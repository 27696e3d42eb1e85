// SPDX-License-Identifier: Apache-2.0
// Taking another store in. Promise: the other file is only read; a session comes whole, in one transaction, or not
// at all; merging again changes nothing; two stores merged either way hold the same rows (merge.c says how rows
// that differ are settled).
#ifndef SIMTUNE_DB_MERGE_H
#define SIMTUNE_DB_MERGE_H

#include "db/store.h"

typedef struct st_merge_report {
    int schema_version;             // of the other file
    int64_t sessions;               // in the other file
    int64_t new_sessions;
    int64_t changed_sessions;       // were here, and went on there
    int64_t unfinished;             // of the other's: not ended, or never will be
    int64_t new_devices, new_candidates, new_measurements, new_winners, new_baselines, new_acknowledgements;
    int64_t settled;                // measurements that both have and that differ: the other's stands now
} st_merge_report;

// ST_USAGE when both are one file; ST_NOTHING when there is no such file; ST_DAMAGED when it cannot be read; an
// older one is migrated on a copy ($TMPDIR), a newer one is refused.
st_code st_store_merge(st_store *store, const char *other, st_merge_report *report, st_error *error);

#endif
