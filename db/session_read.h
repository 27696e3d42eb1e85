// SPDX-License-Identifier: Apache-2.0
// One whole session, read in bulk: for reports, which show all of it. Promise: one statement for each kind of row, so
// that fifty thousand candidates take a fraction of a second; rows come in a stated order; unknown is as in store.h.
#ifndef SIMTUNE_DB_SESSION_READ_H
#define SIMTUNE_DB_SESSION_READ_H

#include "db/store.h"

// Where a session was measured and with what. ST_NOTHING: no such session.
typedef struct st_session_origin {
    st_device_row device;      // facts_json NULL: unknown
    st_toolchain_row toolchain;
    char template_hash[ST_HASH_TEXT];
    char *template_json;       // {"reduce.cu": text, …}; NULL unknown
    bool shipped;
} st_session_origin;
st_code st_store_session_origin(st_store *store, int64_t session, st_session_origin *out, st_error *error);
void st_session_origin_release(st_session_origin *origin);

// Every measurement without its samples, by candidate and then in the order in which they were taken.
typedef struct st_session_time {
    int64_t candidate_key;
    char phase[16];
    int round;
    char cache[8];
    double median_ns, tick_ns;   // NaN unknown
    int64_t sample_count;        // that are stored
    int sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw, dropped, batch; // -1 unknown
    int64_t throttle_reasons;    // -1 unknown
    int64_t taken_ms;
} st_session_time;
typedef st_code st_session_time_callback(void *context, const st_session_time *row, st_error *error);
st_code st_store_session_times(st_store *store, int64_t session, st_session_time_callback *callback, void *context,
                               st_error *error);

// Candidates of which there is a profile of any kind, by key.
typedef st_code st_profiled_callback(void *context, int64_t candidate_key, st_error *error);
st_code st_store_session_profiled(st_store *store, int64_t session, st_profiled_callback *callback, void *context,
                                  st_error *error);

// Its winners, by problem and state of the cache; texts are valid during the callback only.
typedef st_code st_winner_callback(void *context, const st_winner_row *row, const char *problem, st_error *error);
st_code st_store_session_winners(st_store *store, int64_t session, st_winner_callback *callback, void *context,
                                 st_error *error);

// Problems by text with their type, operation and n ("" and -1 unknown).
typedef st_code st_problem_callback(void *context, const char *problem, const char *type, const char *operation, int64_t n,
                                    st_error *error);
st_code st_store_session_problems(st_store *store, int64_t session, st_problem_callback *callback, void *context,
                                  st_error *error);

// Winners of all ended sessions for the problems of this one on its device, oldest first within a problem and state of
// the cache: how they changed over time.
typedef struct st_past_winner {
    const char *problem, *cache, *session_id, *driver, *compiler, *tool, *template_hash, *configuration;
    double winner_ns;
    int64_t ended_ms;
} st_past_winner;
typedef st_code st_past_winner_callback(void *context, const st_past_winner *row, st_error *error);
st_code st_store_past_winners(st_store *store, int64_t session, st_past_winner_callback *callback, void *context,
                              st_error *error);

#endif
