// SPDX-License-Identifier: Apache-2.0
// Making a store smaller. Promise: nothing is removed unless `really`; what is asked for answers stays whole:
// winners, defaults, all who came to a final, baselines, acknowledged sessions, sessions that have not finished,
// shipped ones, and for each device and problem the newest session. A measurement keeps its median; a candidate
// goes only with `older_than_ms`.
#ifndef SIMTUNE_DB_PRUNE_H
#define SIMTUNE_DB_PRUNE_H

#include "db/store.h"

typedef struct st_prune_options {
    int keep_one_in;       // of N samples of a candidate that lost; 1: all stay
    int64_t older_than_ms; // candidates that lost in sessions that ended before this go; -1: none
} st_prune_options;

typedef struct st_prune_report {
    int64_t candidates;    // in the store
    int64_t kept;          // of them, those that stay whole
    int64_t thinned;       // measurements that lose samples
    int64_t samples;       // that go with thinning
    int64_t dropped, dropped_measurements, dropped_samples, dropped_counters; // candidates that go, with theirs
    int64_t configurations; // that nobody else uses
    int64_t bytes;         // all of that, about
} st_prune_report;

// In one transaction. Thinning is counted from what was measured, so pruning again with the same N removes nothing.
st_code st_store_prune(st_store *store, const st_prune_options *options, bool really, st_prune_report *report,
                       st_error *error);

#endif
