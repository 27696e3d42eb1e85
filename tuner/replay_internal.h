// SPDX-License-Identifier: Apache-2.0
// Shared by replay_load.c, which reads candidates, and replay_record.c, which makes a record out of them.
#ifndef SIMTUNE_TUNER_REPLAY_INTERNAL_H
#define SIMTUNE_TUNER_REPLAY_INTERNAL_H

#include "tuner/base/phases.h"
#include "tuner/replay.h"

// One candidate on its way into a record.
typedef struct st_found {
    char *configuration;
    st_phase_times times;
    double seconds, profile_seconds;
    st_search_facts facts;
    st_search_advice advice;
    bool has_profile;
} st_found;

// What is being gathered: one problem of one session.
typedef struct st_gathering {
    st_store *store;
    char session[ST_HASH_TEXT];
    char *family, *problem, *device, *standard; // standard: the default's configuration; NULL unknown
    int cc, sm_count;
    double read_gbs, bytes, distance; // distance: from wish->nearest_to
    const char *cache;             // wanted; NULL: cold where there is both
    st_found *items; size_t count, capacity;
} st_gathering;

// NaN: it failed.
double st_found_first(const st_found *item);
// Takes family, problem and device.
st_code st_record_make(st_gathering *one, st_recorded *out, st_error *error);
void st_record_release(st_recorded *record);

#endif
