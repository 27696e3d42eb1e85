// SPDX-License-Identifier: Apache-2.0
// What comparisons ask of the store: what a word means, the rows that a side stands for, their samples, and what
// people said about them (baselines, acknowledgements). Promise: rows come one by one through callbacks and are
// never judged here; unknown is NaN, -1 or "" as in db/store.h; nothing is changed but by the functions that say so.
#ifndef SIMTUNE_DB_COMPARE_H
#define SIMTUNE_DB_COMPARE_H

#include "db/store.h"

// --- what a word means (compare_words.c) ---------------------------------------------------------------------
// To add a kind: a row in compare_words.c, its condition in compare.c.
typedef enum st_side_kind {
    ST_SIDE_SESSION, ST_SIDE_CANDIDATE, ST_SIDE_TEMPLATE, ST_SIDE_DEVICE, ST_SIDE_DRIVER, ST_SIDE_COMPILER,
    ST_SIDE_TOOL, ST_SIDE_KINDS
} st_side_kind;
const char *st_side_kind_name(st_side_kind kind);       // "session", "driver" …
int st_side_kind_find(const char *name);                // st_side_kind, or -1

typedef struct st_meaning {
    st_side_kind kind;
    const char *value;  // the whole id, hash, name or version; valid during the callback only
    const char *about;  // "reduce on NVIDIA H200, 2026-11-30T09:20:43Z"; "" when there is no more to say
} st_meaning;
typedef st_code st_meaning_callback(void *context, const st_meaning *meaning, st_error *error);
// Everything in the store that `word` can mean: the beginning of an id or hash (4 digits and more), a driver, its
// beginning ("580"), a compiler ("nvrtc 13.0", "13.0"), a version of simtune, a part of a device's name, the
// beginning of its UUID. Within a kind what is named whole hides what is named in part. At most 9 of a kind.
st_code st_store_meanings(st_store *store, const char *word, st_meaning_callback *callback, void *context,
                          st_error *error);
// Every value of a kind that the store knows, newest first: for messages. At most `limit`.
st_code st_store_values(st_store *store, st_side_kind kind, size_t limit, st_meaning_callback *callback,
                        void *context, st_error *error);

// --- rows of a side (compare.c) --------------------------------------------------------------------------------
typedef struct st_compare_filter {
    const char *family, *type, *operation, *cache;  // NULL: all
    const char *device;                             // part of the name, or UUID; NULL: all
    int64_t n;                                      // -1: all
    const int *archs; size_t arch_count;            // compute capabilities; none: all
} st_compare_filter;

// One winner (of a candidate side: the candidate) for a problem and state of the cache.
typedef struct st_compare_row {
    int64_t session_key, problem_key, device_key, candidate_key, configuration_key;
    int64_t default_key, default_configuration_key;  // -1: none
    const char *session_id, *candidate_id, *family, *problem, *type, *operation, *cache, *configuration;
    int64_t n;
    const char *device_name, *device_uuid, *backend; int cc, sm_count;
    const char *driver, *compiler, *tool, *template_hash, *status, *outcome;
    const char *options_json;                       // of the session; "" unknown
    double median_ns, default_ns, bytes;            // NaN unknown
    int deterministic, registers;                   // -1 unknown
    int64_t taken_ms;                               // when its session ended, or began
    bool shipped;
} st_compare_row;
typedef st_code st_compare_callback(void *context, const st_compare_row *row, st_error *error);
// ST_SIDE_SESSION and ST_SIDE_CANDIDATE (`value` a whole id): its rows, whatever its status. A device: of ended
// sessions the newest row of each problem and state of the cache. All other kinds: the same for each device.
// By family, device, problem, cache.
st_code st_store_compare(st_store *store, st_side_kind kind, const char *value, const st_compare_filter *filter,
                         st_compare_callback *callback, void *context, st_error *error);
// All winners of ended sessions, oldest first within a device, problem and state of the cache.
st_code st_store_compare_history(st_store *store, const st_compare_filter *filter, st_compare_callback *callback,
                                 void *context, st_error *error);
// Whether a session tried a problem and no candidate of it was correct.
st_code st_store_lost(st_store *store, int64_t session_key, int64_t problem_key, bool *lost, st_error *error);

// --- samples (compare.c) -----------------------------------------------------------------------------------------
typedef struct st_standing {
    double *samples_ns; size_t sample_count;  // owned; NULL and 0: none is there
    char phase[16]; int round;                // "" and -1: not measured
    double median_ns, tick_ns;
    int sm_clock_mhz, memory_clock_mhz, temperature_c, dropped, batch;
    int64_t throttle_reasons;
} st_standing;
void st_standing_release(st_standing *standing);
// The measurement that stands for a candidate in a state of the cache: of its furthest phase the last round.
st_code st_store_standing(st_store *store, int64_t candidate_key, const char *cache, st_standing *out,
                          st_error *error);
// The same of two candidates of one session that met in the same finals: the last such round, whose samples were
// taken by turns. *paired false (and nothing to release) when they never did.
st_code st_store_standing_pair(st_store *store, int64_t a, int64_t b, const char *cache, st_standing *of_a,
                               st_standing *of_b, bool *paired, st_error *error);

// Of two candidates, of whatever sessions, the furthest phase that both were timed in, of each the last round: phases are
// not alike (base/phases.h). *shared false (and nothing to release): there is none.
st_code st_store_standing_shared(st_store *store, int64_t a, int64_t b, const char *cache, st_standing *of_a,
                                 st_standing *of_b, bool *shared, st_error *error);

// --- baselines (compare_baseline.c) ------------------------------------------------------------------------------
typedef struct st_baseline_row {
    int64_t session_key, device_key;
    const char *session_id, *family, *device_name, *device_uuid, *driver, *compiler, *template_hash;
    int64_t marked_ms, finished_ms;
    const char *note;            // NULL: none
    bool newest;                 // of its family and device: the one that is compared with
    const char *newest_session;  // the newest finished session of the same family and device
} st_baseline_row;
typedef st_code st_baseline_callback(void *context, const st_baseline_row *row, st_error *error);
// Marks a session; again: the note and the time are replaced. ST_USAGE when it runs, has no winner or is a prediction.
st_code st_store_baseline(st_store *store, int64_t session_key, const char *note, st_error *error);
// ST_NOTHING when it is none. Acknowledgements stay.
st_code st_store_baseline_forget(st_store *store, int64_t session_key, st_error *error);
// By family, device, newest mark first. Of the filter: family, device and archs.
st_code st_store_baselines(st_store *store, const st_compare_filter *filter, st_baseline_callback *callback,
                           void *context, st_error *error);
// The newest finished session that the filter lets through (family, device, archs): its whole id. Own before
// shipped. ST_NOTHING when there is none.
st_code st_store_latest(st_store *store, const st_compare_filter *filter, char id[ST_HASH_TEXT], st_error *error);

// --- acknowledgements (compare_baseline.c) -------------------------------------------------------------------------
typedef struct st_acknowledgement {
    char id[ST_HASH_TEXT];            // filled by the store
    int64_t baseline_key, session_key, problem_key;
    const char *cache, *reason, *author;  // author NULL: unknown
    int64_t acknowledged_ms;
    // only when read:
    const char *family, *problem, *session_id, *baseline_id, *device_name;
} st_acknowledgement;
typedef st_code st_acknowledgement_callback(void *context, const st_acknowledgement *row, st_error *error);
// Again for the same baseline, session, problem and state of the cache: ST_USAGE, and what was said stays.
st_code st_store_acknowledge(st_store *store, st_acknowledgement *row, st_error *error);
// By family, problem, cache, newest first. baseline_key -1: all.
st_code st_store_acknowledgements(st_store *store, int64_t baseline_key, const st_compare_filter *filter,
                                  st_acknowledgement_callback *callback, void *context, st_error *error);
// By a prefix of its id.
st_code st_store_acknowledgement_withdraw(st_store *store, const char *id_prefix, st_error *error);

#endif
