// SPDX-License-Identifier: Apache-2.0
// Shared by the run_*.c files; run.c opens with the invariants and states.
#ifndef SIMTUNE_TUNER_RUN_INTERNAL_H
#define SIMTUNE_TUNER_RUN_INTERNAL_H

#include "tuner/config_index.h"
#include "tuner/emit.h"
#include "tuner/gpu/compile.h"
#include "tuner/gpu/device_lock.h"
#include "tuner/link.h"
#include "tuner/plan.h"
#include "tuner/run.h"

// Configurations that differ in runtime parameters alone are one class: they compile to the same code. The
// class's configuration stands in class_configs at the same index.
typedef struct run_class {
    size_t program;    // index
    size_t in_program; // index among the program's configurations
} run_class;

typedef enum run_program_state { PROGRAM_WAITING, PROGRAM_READY, PROGRAM_FAILED } run_program_state;
typedef struct run_program {
    size_t *classes; size_t class_count;
    run_program_state state;
    st_compiled compiled;
    bool *used;        // [class][launch], from st_program
    size_t launch_count;
    int64_t serial;    // names its module to the workers; never the same twice in a run
} run_program;

typedef enum run_stage {
    STAGE_NEW,
    STAGE_DONE,        // has a final outcome
} run_stage;

// One series of samples of a candidate in one state of the cache.
typedef struct run_series {
    double median_ns;  // of the newest phase; NaN: none
    int rounds;        // phases taken in this state
} run_series;

enum { COLD, WARM, CACHES };
extern const char *const run_cache_names[CACHES];

typedef struct run_candidate {
    st_config config;
    size_t class_index;
    run_stage stage;
    st_outcome outcome;
    int64_t key;               // in the store, 0: not there yet
    bool deterministic;
    bool loaded;               // in the worker of `generation`, with its plan
    unsigned generation;
    st_plan_kernels kernels;
    st_loaded_kernel first;    // facts of the first launch
    uint32_t first_block, first_smem;
    run_series series[CACHES];
    bool resumed;
    bool profiled;
} run_candidate;

typedef struct run_problem {
    st_problem problem;
    char *text;
    int64_t key;               // in the store
    st_space *space;
    run_candidate *candidates; // those chosen, in the order of trial
    run_candidate standard;    // without references: the default, whose outputs others must equal. Never
                               // among `candidates`, its id in a worker is candidate_count
    st_config_index index;     // of the candidates, by configuration
    size_t candidate_count;
    double bytes;              // moved by one run, NaN unknown
    size_t done, failed;
    double best_ns[CACHES];
    int finals_round[CACHES];  // > 0 when a run that was killed left finals without a winner
    bool won[CACHES];          // in the store already
    size_t counted[8]; size_t counted_count; // candidates to be counted exactly: winners, default, rivals
    bool skipped;
} run_problem;

typedef struct st_run {
    const st_tune_options *options;
    const st_template *tmpl;
    const st_tune_listener *listener;
    st_store *store;
    st_tune_result *result;
    st_device_facts device;
    st_device_lock *lock;
    st_link *timing, *profiling;
    st_pool *pool;
    void *support; size_t support_bytes;
    char arch[16], compiler[48];
    int64_t session, device_key, toolchain_key, template_key;
    st_config_index class_configs;
    run_class *classes;        // one a configuration of class_configs
    run_program *programs; size_t program_count;
    size_t programs_pending;
    int64_t serials;
    st_compiled reference;     // of the group at hand
    bool has_reference;
    char **reference_lowered;
    run_problem *problems;
    double started;
    double screen_began;       // of the problem at hand; 0: not screening
    double compile_seconds, screen_seconds, finals_seconds, profile_seconds;
    size_t throttled_samples;
    int other_processes;       // most that were seen on the device; -1 unknown
    int counters_state;        // -1 unknown yet, else st_counters_state
    unsigned profile_failures;
    // Without references: whose outputs `capture` keeps, and for which data they were kept last.
    struct {
        bool known;
        unsigned generation;
        st_data data;
        uint64_t rotation;
    } captured;
    uint32_t misalign;         // elements, of the timing link's problem at hand
    size_t group_first, group_count; // problems of the group at hand (same type and words)
} st_run;

bool run_interrupted(const st_run *run);
void run_note(st_run *run, const char *format, ...) ST_PRINTF(2, 3);
void run_progress(st_run *run, const run_problem *problem, const char *phase, size_t done, size_t total);

// --- run_compile.c
st_code run_compile_begin(st_run *run, st_error *error);  // support module; opens the pool
st_code run_group_compile(st_run *run, st_error *error);  // classes and programs of the group; submits
void run_group_release(st_run *run);
// Takes what the pool has; waits up to `seconds` for something.
st_code run_pump(st_run *run, double seconds, st_error *error);
// Waits until the program of a class is compiled, or failed to.
st_code run_await(st_run *run, size_t class_index, st_error *error);

// --- run_candidates.c: choosing, loading, verifying
st_code run_choose(st_run *run, run_problem *problem, st_error *error);
st_code run_set_problem(st_run *run, st_link *link, const st_problem *problem, uint32_t misalign,
                        bool *too_big, st_error *error);
// Loads a candidate's module and plan for `problem` unless they are there. Sets stage and outcome on trouble.
st_code run_load(st_run *run, st_link *link, const st_problem *problem, run_candidate *candidate,
                 int64_t id, char **detail, st_error *error);
st_code run_unload(st_run *run, st_link *link, run_candidate *candidate, int64_t id, st_error *error);
// One verification; sets stage and outcome (wrong, launch, crash, timeout) on failure, with *detail.
st_code run_verify(st_run *run, const st_problem *problem, run_candidate *candidate, int64_t id,
                   st_data data, uint64_t rotation, char **detail, st_error *error);
void run_fail(run_candidate *candidate, st_outcome outcome, char **detail, const char *format, ...)
    ST_PRINTF(4, 5);
void run_fail_by_trouble(run_candidate *candidate, st_trouble trouble, const char *when, const st_error *why,
                         char **detail);

// --- run_rank.c
#define RUN_NOBODY SIZE_MAX
typedef struct run_ranked {
    double ns;
    size_t index; // of the candidate
} run_ranked;
void run_sort(run_ranked *some, size_t count); // fastest first, then by index
// The newest median in this state of the cache; what was not taken warm is as cold, which it equals where it
// was left out. NaN: none.
double run_time_of(const run_candidate *candidate, int cache);
// Correct candidates with a time and so many rounds, fastest first; `out` has room for all candidates.
size_t run_rank(const run_problem *problem, int cache, int least_rounds, run_ranked *out);
// Indices of candidates, or RUN_NOBODY: the default where it is correct; the fastest that has the rival's value.
size_t run_standard(const st_run *run, const run_problem *problem);
size_t run_best_rival(const st_run *run, const run_problem *problem, int cache, size_t rival);

// --- run_screen.c
st_code run_screen(st_run *run, run_problem *problem, st_error *error);
// One series of samples that was taken and is not stored yet.
typedef struct run_taken {
    bool taken;        // false: the candidate failed, or it was not tried
    int cache;
    double *samples; size_t count; // freed by whoever asked for them
    st_timing_state state;
    int64_t taken_ms;
} run_taken;
// Takes samples in one state of the cache. Sets stage and outcome on trouble; the store is not touched.
st_code run_take(st_run *run, run_problem *problem, run_candidate *candidate, int64_t id, int cache,
                 int64_t samples, run_taken *out, char **detail, st_error *error);

// --- run_finals.c
st_code run_halving(st_run *run, run_problem *problem, st_error *error);
st_code run_finals(st_run *run, run_problem *problem, st_error *error);
// --- run_check.c: the breaking sizes. *right: every size was.
st_code run_check_winner(st_run *run, run_problem *problem, run_candidate *candidate, bool *right,
                         char **detail, st_error *error);
// --- run_profile.c
st_code run_profile(st_run *run, run_problem *problem, st_error *error);  // stall reasons of the survivors
st_code run_count(st_run *run, run_problem *problem, st_error *error);    // exact counters of the finalists
void run_mark_counted(run_problem *problem, size_t index);

// --- run_store.c
st_code run_store_begin(st_run *run, st_error *error);
st_code run_store_problem(st_run *run, run_problem *problem, st_error *error);
st_code run_store_candidate(st_run *run, run_problem *problem, run_candidate *candidate,
                            const char *detail, st_error *error);
st_code run_store_taken(st_run *run, const run_candidate *candidate, const char *phase, int round,
                        const run_taken *taken, st_error *error);
st_code run_store_end(st_run *run, bool finished, st_error *error);
st_code run_resume(st_run *run, st_error *error); // marks candidates that the session has already

#endif
