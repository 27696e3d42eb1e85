// SPDX-License-Identifier: Apache-2.0
// One tuning run: from a template to winners in the store (DESIGN.md §2). Promise: what was measured is in
// the store whatever ends the run; a candidate that fails costs itself only; the same options on the same
// store and device go on where an unfinished run stopped.
#ifndef SIMTUNE_TUNER_RUN_H
#define SIMTUNE_TUNER_RUN_H

#include "db/store.h"
#include "tuner/search.h"
#include "tuner/space.h"
#include "tuner/template.h"
#include "tuner/trace.h"
#include "tuner/worker/messages.h"

#include <signal.h>
#include <stdbool.h>

typedef enum st_counters_wish { ST_COUNTERS_AUTO, ST_COUNTERS_OFF, ST_COUNTERS_DEMANDED } st_counters_wish;

typedef struct st_tune_options {
    const st_template *tmpl;
    const char *backend;          // "cuda" or "emu"
    int ordinal;
    const st_problem *problems;   // in the order to be tuned
    size_t problem_count;
    st_space_options space;       // --set, --vary, --where, determinism
    const char *strategy;         // a name of st_strategies
    double budget_seconds;        // a problem's time for candidates; 0: no limit
    uint64_t budget_candidates;   // a problem's; 0: no limit
    double budget_limit;          // a problem's candidates end when the best takes at most 1 + this times what the
                                  // memory's measured speed allows; 0: they do not. Needs the template's `bytes`
    uint64_t seed;
    double time_limit;            // seconds that one request of a candidate may take
    st_counters_wish counters;
    bool profile_all;             // stall profiles of every candidate, not of the survivors alone
    int compile_processes;        // 0: by the machine
    const char *cache_folder;     // of cubins; NULL: none
    bool fresh;                   // do not resume
    const char *command;          // as typed, for the record
    const char *program;          // binary for workers; NULL: this one
    bool no_history;              // guided starts from nothing
    volatile sig_atomic_t *interrupted;
    st_trace *trace;              // where the timeline goes; NULL: nowhere
} st_tune_options;

typedef struct st_progress {
    const char *phase;            // "compile", "screen", "halving", "finals", "check", "profile"
    const char *problem;          // text, or ""
    size_t problem_index, problem_count;
    size_t done, total;           // candidates of this problem
    double best_ns;               // NaN: none yet
    size_t failed;                // candidates of this problem with another outcome than correct
    double seconds_left;          // of the whole run, estimated; NaN unknown
    double default_ns;            // the default's time; NaN: none yet
    const size_t *outcomes;       // candidates of this problem by st_outcome; NULL: no problem
    const char *best, *last;      // configurations: of best_ns, and the one that was finished last; "" none
    st_outcome last_outcome;
    double last_ns;               // NaN: not timed
} st_progress;
typedef struct st_tune_listener {
    void *context;
    void (*progress)(void *context, const st_progress *progress); // may be NULL
    void (*note)(void *context, const char *text);                // a thing the user should know; may be NULL
} st_tune_listener;

typedef struct st_tune_result {
    char session_id[ST_HASH_TEXT];
    int64_t session_key;
    bool resumed;
    size_t resumed_candidates;    // measured before, kept
    size_t problems_done, problems_skipped;
    size_t outcomes[ST_OUTCOME_COUNT];
    st_device_facts device;
    char compiler[48];
    double seconds;
    const char *counters;         // state of the counters in a word
} st_tune_result;

// ST_OK; ST_NOTHING when no problem got a winner; ST_INTERRUPTED (results so far are in the store, the
// session is resumable); others for failures of the tool.
st_code st_tune(const st_tune_options *options, st_store *store, const st_tune_listener *listener,
                st_tune_result *result, st_error *error);

// What st_tune would do, for --dry-run: opens the device for its facts alone (`device` may be given, then
// nothing is opened).
typedef struct st_tune_forecast {
    size_t problem;               // index
    double combinations;
    size_t allowed, chosen;       // configurations
    size_t compiles;              // distinct compiled configurations in `chosen`
    bool stops;                   // the strategy may end before all of them are tried
} st_tune_forecast;
st_code st_tune_dry_run(const st_tune_options *options, const st_device_facts *device,
                        st_tune_forecast *forecasts, st_error *error);

#endif
