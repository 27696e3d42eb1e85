// SPDX-License-Identifier: Apache-2.0
// Recorded spaces, and searching them again without a GPU. A recorded space is what a session of the store (ours, or
// a file of another tool that was imported) knows of one problem. Promise: a strategy sees of it only what it asks
// for; the same record and seeds give the same figures.
#ifndef SIMTUNE_TUNER_REPLAY_H
#define SIMTUNE_TUNER_REPLAY_H

#include "db/store.h"
#include "tuner/search.h"

#include <signal.h>

typedef struct st_recorded {
    char *family, *problem, *device, session[ST_HASH_TEXT];
    int cc, sm_count;              // -1 unknown
    st_search_space space;         // its arrays are owned
    char ***words;                 // [parameter][value]: as the configurations spell them
    // [count]: the measurement that stands, on the scale of the last phase (replay_record.c), by which a search is
    // judged, and the first look, which is what a strategy is told; NaN: failed.
    double *ns, *first_ns;
    st_search_facts *facts;        // [count]
    double *seconds;               // [count]: compiling and the samples of the first look
    st_search_advice *advice;      // [count]; of those that have a profile
    bool *has_profile;             // [count]
    double *profile_seconds;       // [count]: what taking it took; NaN: not recorded
    size_t failed, profiled, best; // best: index; ST_SEARCH_NONE when none has a time
    double limit_ns;               // bytes / measured speed of the memory; NaN unknown
} st_recorded;
typedef struct st_records {
    st_recorded *items;
    size_t count, capacity;
} st_records;

typedef struct st_record_wish {
    const char *session;           // prefix of an id; NULL: all
    const char *family;            // NULL: all
    const char *problem;           // its canonical text; NULL: all
    const char *cache;             // "cold" or "warm"; NULL: cold where there is both
    int64_t before_ms;             // sessions that began before; -1: all
    const char *also_session;      // and this one all the same: its whole id; NULL: none
    bool hardware_only;            // no emulated devices, and nothing that was imported
    // Only the few problems that are nearest to this one (of `family`) on this device or one like it; NULL: all.
    const char *nearest_to, *device;
} st_record_wish;
// Adds a record for each session, problem and device that matches, of sessions that ended or not, newest first.
// ST_NOTHING when none does, or when none has a time.
st_code st_records_load(st_store *store, const st_record_wish *wish, st_records *out, st_error *error);
void st_records_release(st_records *records);
// How many configurations are within this share of the best (0.01: 1 %).
size_t st_recorded_within(const st_recorded *record, double share);

// --- history ---------------------------------------------------------------------------------------------------
// What records of like problems make expect in `space` (st_search_options.expected): of at most three nearest of the
// same family, none of them `self`. *used: how many; 0: `out` is all NaN. `words` as of a record.
typedef struct st_experience_of {
    const char *family, *problem, *device;
    int cc, sm_count;
    const st_search_space *space;
    char *const *const *words;
    const st_recorded *self;       // NULL: none
} st_experience_of;
double st_problem_distance(const char *a, const char *b); // of their texts; 0: the same
st_code st_experience(const st_experience_of *of, const st_records *records, double *out, size_t *used,
                      st_error *error);

// --- replaying -------------------------------------------------------------------------------------------------
enum { ST_REPLAY_GOALS = 3, ST_REPLAY_POINTS = 32 };
extern const double st_replay_goals[ST_REPLAY_GOALS]; // 0.01 0.05 0.10

typedef struct st_replay_options {
    size_t seeds;                  // 1 …
    uint64_t first_seed;
    size_t batch;                  // pending at once: the window; 0: 1
    double profile_seconds;        // what a profile costs of which that was not recorded
    st_search_options search;      // seed and limit are set by the replay
    volatile sig_atomic_t *interrupted; // may be NULL
} st_replay_options;

typedef struct st_replay_figure { double low, median, high; } st_replay_figure; // 10, 50 and 90 % of the seeds

typedef struct st_replay_result {
    st_replay_figure evaluations[ST_REPLAY_GOALS], seconds[ST_REPLAY_GOALS];
    st_replay_figure profiles;     // taken until within the first goal
    // Where it would have stopped by itself, and how far from the best; NaN: it never would have.
    st_replay_figure stop_evaluations, stop_gap;
    size_t stopped;                // seeds that would have
    size_t point_count, points[ST_REPLAY_POINTS]; // evaluations, and best so far over the optimum after so many
    st_replay_figure curve[ST_REPLAY_POINTS];
} st_replay_result;
// The number of evaluations that a random order expects to need: (n + 1) / (k + 1).
double st_replay_expected(const st_recorded *record, double share);
// ST_INTERRUPTED when it was.
st_code st_replay(const st_recorded *record, const char *strategy, const st_replay_options *options,
                  st_replay_result *out, st_error *error);

#endif
