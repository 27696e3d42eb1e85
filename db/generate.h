// SPDX-License-Identifier: Apache-2.0
// A store made up for measuring how fast the store answers, and for tests. Promise: the same options give the same
// rows; every device in it has the backend "generated", which is never emitted as tuned; a file that exists is refused;
// a run that fails or is stopped leaves no file.
#ifndef SIMTUNE_DB_GENERATE_H
#define SIMTUNE_DB_GENERATE_H

#include "db/store.h"

#define ST_GENERATED_BACKEND "generated"
#define ST_GENERATE_CANDIDATES_MAX 10000000
#define ST_GENERATE_SAMPLES_MAX 50

typedef struct st_generate_options {
    int64_t candidates; // exactly so many: 1 … ST_GENERATE_CANDIDATES_MAX
    int samples;        // at least so many a candidate on average: 1 … ST_GENERATE_SAMPLES_MAX
    uint64_t seed;
    // Asked now and then with the number of candidates that stand; false ends the run with ST_INTERRUPTED. May be NULL.
    bool (*go_on)(void *context, int64_t candidates);
    void *context;
} st_generate_options;

typedef struct st_generated {
    int64_t sessions, candidates, measurements, samples, counters, winners;
} st_generated;
st_code st_store_generate(const char *path, const st_generate_options *options, st_generated *out,
                          st_error *error);

#endif
