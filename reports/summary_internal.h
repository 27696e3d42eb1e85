// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the summary: the session as read from the store.
#ifndef SIMTUNE_REPORTS_SUMMARY_INTERNAL_H
#define SIMTUNE_REPORTS_SUMMARY_INTERNAL_H

#include "reports/format.h"
#include "reports/summary.h"

#include <jansson.h>

enum { SUMMARY_CACHES = 2 };
extern const char *const summary_caches[SUMMARY_CACHES]; // "cold", "warm"

// What the counters of one candidate say. Everything is unknown until a counter says otherwise.
typedef struct summary_counters {
    bool any;              // there is at least one value
    char stall[64];        // name of the main stall, "" unknown
    double stall_share;    // of samples, or of warp latency; NaN unknown
    bool stall_of_samples; // PC sampling said it, not the range profiler
    bool issues_always;    // there are samples, and none of them waits
    double dram_throughput; // 0…1 of the memory's peak; NaN unknown
} summary_counters;

typedef struct summary_candidate {
    int64_t key;
    char id[ST_HASH_TEXT], outcome[16];
    char *configuration;
    char *detail;          // kept for the first one of each outcome of its problem, else NULL
    int registers;
    double occupancy;
    double median_ns[SUMMARY_CACHES];     // NaN: not measured so
    double comparable_ns[SUMMARY_CACHES]; // on the scale of the finals (base/phases.h): what they are compared by
} summary_candidate;

typedef struct summary_result { // of one problem in one state of the cache
    int winner, standard;       // indices of candidates, -1 none
    double winner_ns, standard_ns, speedup, speedup_low, speedup_high, bytes;
    int tied;
    size_t samples;
    char *ties_json, *note;     // NULL unknown
    summary_counters winner_counters, standard_counters;
} summary_result;

typedef struct summary_problem {
    char *text, *type, *operation; // type and operation NULL: unknown
    int64_t n;
    summary_candidate *candidates;
    size_t count, capacity;
    summary_result results[SUMMARY_CACHES];
} summary_problem;

typedef struct summary_trust { // of the winners' and defaults' measurements
    int clock_low, clock_high, temperature_high; // -1 unknown
} summary_trust;

typedef struct summary {
    st_session_row session;
    json_t *facts;         // of summary_json; NULL before the session's end
    char device_name[96], device_uuid[48], backend[16], driver[32], compiler[48], tool[32];
    char template_hash[ST_HASH_TEXT];
    int cc, sm_count, driver_cuda; // -1 unknown
    double read_gbs;
    summary_problem *problems;
    size_t count, capacity;
    summary_trust trust;
} summary;

// --- summary_load.c
st_code summary_load(st_store *store, const char *session_id, summary *out, st_error *error);
void summary_release(summary *all);
st_code summary_counters_read(st_store *store, int64_t candidate_key, summary_counters *out,
                              st_error *error);
const summary_candidate *summary_winner(const summary_problem *problem, int cache);  // or NULL
const summary_candidate *summary_standard(const summary_problem *problem, int cache); // or NULL
int summary_cache(const char *name); // index; cold for NULL and unknown names
// "a value from global memory (71 % of samples)"; says it in words when there are no counters.
void summary_add_stall(st_text *text, const summary_counters *counters);

// --- summary_rivals.c
// Tells of each rival in the finals (`rival` directive of the template) how much slower it is than the winner,
// and why: "blelloch at its best takes 1.42 × the time: its warps wait for …". Nothing without rivals.
st_code summary_rivals(st_store *store, const summary_problem *problem, int cache,
                       void (*tell)(void *context, const char *words), void *context, st_error *error);

// --- summary_next.c
// The command that is worth trying next: one line without a newline.
void summary_add_next(const summary *all, int cache, st_text *out);
// A session that moved one parameter only: its name and length, else NULL.
const char *summary_moved_alone(const summary_problem *problem, size_t *length);

#endif
