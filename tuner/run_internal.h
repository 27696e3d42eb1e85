// SPDX-License-Identifier: Apache-2.0
// Shared by the run_*.c files; run.c opens with the invariants and states.
#ifndef SIMTUNE_TUNER_RUN_INTERNAL_H
#define SIMTUNE_TUNER_RUN_INTERNAL_H

#include "cupti/advice.h"
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

typedef enum run_program_state {
    PROGRAM_WAITING,
    PROGRAM_READY,
    PROGRAM_FAILED,
    PROGRAM_DROPPED, // taken back; whoever wants it submits it again
} run_program_state;
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
    int given_blocks;          // BLOCKS_PER_SM that its plan is made with; 0: as the loaded code says
    st_plan_kernels kernels;
    st_loaded_kernel main;     // facts of the main kernel (st_plan_main_kernel); local_bytes are the most of any
    uint32_t main_block, main_smem;
    int most_registers;        // of any launch; 0: not loaded by this process
    run_series series[CACHES];
    double screen_ns;          // median of the first look, cold; NaN: none. What strategies go by
    bool unclassed;            // no program was asked for yet: class_index means nothing
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
    size_t outcomes[ST_OUTCOME_COUNT]; // of those that are in the store
    double default_ns;         // in the cold cache, NaN: not timed
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
    double read_gbs, copy_gbs;  // measured speed of the memory; NaN unknown
    const struct run_problem *profiling_at; // where the profile worker stands; NULL: nowhere
    bool profiler_begun;        // ahead of its first use; it may be opening still
    bool profiler_awaited;      // it is not any more
    st_pool *pool;
    void *support; size_t support_bytes;
    char arch[16], compiler[48];
    int64_t session_began_ms;
    int64_t session, device_key, toolchain_key, template_key;
    st_config_index class_configs;
    run_class *classes; size_t class_count; // one a configuration of class_configs, then those of run_add_program
    run_program *programs; size_t program_count;
    size_t programs_pending;
    int64_t serials;
    st_compiled reference;     // of the group at hand; compiled when the group is ready
    bool has_reference;
    bool group_begun;          // the next group is, ahead of its turn
    // Results of jobs that are not candidates' programs, until they are waited for: the support module's, a reference's.
    struct { st_compiled compiled; bool there; } own[2];
    char **reference_lowered;
    run_problem *problems;
    double started;
    double screen_began;       // of the problem at hand; 0: not screening
    double compile_seconds, screen_seconds, finals_seconds, profile_seconds;
    size_t throttled_samples;
    size_t allowed;            // configurations that the spaces of all problems have
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
    const run_problem *at;           // the problem at hand; NULL: none
    const run_candidate *checked;    // the winner that is verified at other sizes; NULL: none
    st_link_trace link_trace;
    // What people are shown of the problem at hand; cut where it is too long to be shown anyway.
    struct {
        const run_problem *of;
        char best[200], last[200]; // configurations
        st_outcome last_outcome;
        double last_ns;
    } shown;
} st_run;

bool run_interrupted(const st_run *run);
// The device and its lock, and the compile pool, which is given the support module; then that is waited for. Between
// the two more can be submitted, but nothing asked of the device.
st_code run_open_device(st_run *run, st_error *error);
st_code run_open_support(st_run *run, st_error *error);
st_code run_open(st_run *run, st_error *error); // both
void run_close(st_run *run);                    // everything of the run

// --- run_progress.c: what people are told of the run, and the timeline
void run_note(st_run *run, const char *format, ...) ST_PRINTF(2, 3);
void run_progress(st_run *run, const run_problem *problem, const char *phase, size_t done, size_t total);
// A candidate has an outcome, stored under this configuration; `before` when it had another one already.
void run_finished(st_run *run, run_problem *problem, const run_candidate *candidate, const char *configuration,
                  bool before);
// Does a part of the work on a problem as a span of the timeline, named by the problem when `name` is NULL.
st_code run_phase(st_run *run, run_problem *problem, const char *name,
                  st_code (*work)(st_run *run, run_problem *problem, st_error *error), st_error *error);
void run_trace_begin(st_run *run);
void run_trace_opened(st_run *run); // device and session are known
// A program was compiled; `program` NULL: one of the tool's own, called `what`.
void run_trace_compiled(st_run *run, const run_program *program, const char *what, const st_compiled *compiled);

// --- run_compile.c
// A program of one configuration whose text stands elsewhere: `job` lacks id, backend and arch. `class_index` is for
// candidates. After run_group_compile of the group; run_await waits for it as for others.
st_code run_add_program(st_run *run, const st_compile_job *job, size_t *class_index, st_error *error);
// The same, compiled already: takes `compiled` over.
st_code run_add_compiled(st_run *run, st_compiled *compiled, size_t *class_index, st_error *error);
st_code run_compile_begin(st_run *run, st_error *error);  // opens the pool, submits the support module
st_code run_compile_support(st_run *run, st_error *error); // waits for it
st_code run_group_begin(st_run *run, st_error *error);    // reference, classes and programs of the group; submits
st_code run_group_ready(st_run *run, st_error *error);    // waits for the reference
st_code run_group_compile(st_run *run, st_error *error);  // both
void run_group_release(st_run *run);
// The class of a candidate that is unclassed, and its program, which is submitted when it is a new one.
st_code run_want(st_run *run, run_candidate *candidate, st_error *error);
// A candidate that is not wanted any more: its program is not compiled, unless that has begun or others need it.
void run_drop(st_run *run, run_candidate *candidate);
bool run_is_compiled(const st_run *run, const run_candidate *candidate); // or failed to
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
// What the compiler says of a candidate whose program is compiled, before anything is loaded; NaN: unknown.
st_code run_foresee(st_run *run, const st_problem *problem, run_candidate *candidate, st_search_facts *out,
                    st_error *error);
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
// Says that --budget limit was not reached though nothing is left to try.
void run_note_limit(st_run *run, const run_problem *problem);
// The same of those among some that are to be tried and are compiled, or failed to; at most a few, so that what is
// known is known soon. *tried: how many that were. `number`: of the chunk.
st_code run_screen_some(st_run *run, run_problem *problem, const size_t *indexes, size_t count, uint64_t number,
                        size_t *tried, st_error *error);
// Why a problem's candidates end by a budget of time, of which this was spent, or by one of the memory's limit; NULL: they
// do not. The words may be `words`.
const char *run_budget_ends(const st_run *run, const run_problem *problem, double spent, double best_ns, char *words,
                            size_t capacity);
// --- run_search.c: the same in the order of a strategy that is adaptive
st_code run_search(st_run *run, run_problem *problem, st_error *error);
// What it would most likely ask for first by what is known now is compiled while other things are done.
st_code run_search_ahead(st_run *run, run_problem *problem, st_error *error);
// Without references: keeps the default's outputs for these data, unless they are kept. ST_NOTHING: it fails.
st_code run_capture_default(st_run *run, run_problem *problem, st_data data, uint64_t rotation, st_error *error);
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
// --- run_profile.c: stall reasons. Candidates that have a profile, no time or no right result are passed over;
// without counters nothing happens and ST_OK is returned. candidate->profiled says which have one, in the store.
st_code run_profile(st_run *run, run_problem *problem, st_error *error); // of the survivors, or of all
// Of any, while others are still to be timed: what the timing worker holds stays.
st_code run_profile_some(st_run *run, run_problem *problem, const size_t *indexes, size_t count, st_error *error);
bool run_profiling_wanted(const st_run *run);
// A run whose strategy wants profiles in between starts the profile worker while programs compile. Before anything is
// timed it must be awaited: opening a context disturbs times.
void run_profiler_start(st_run *run);
st_code run_profiler_await(st_run *run, st_error *error);
// The profile worker at this problem; *able false when there are no counters to be had.
st_code run_profiler_begin(st_run *run, run_problem *problem, bool *able, st_error *error);
st_code run_profiler_stumbled(st_run *run, const run_problem *problem, const st_error *why, st_error *error);
st_code run_counters_gone(st_run *run, const st_error *why, st_error *error);
// --- run_view.c: what is known of a candidate, for advice (cupti/advice.h), out of the store. Without lines.
st_code run_view(st_run *run, run_problem *problem, size_t index, st_profile_view *out, st_error *error);
// Of the bytes that the problem moves, the share that is written; NaN unknown.
st_code run_written_share(st_run *run, run_problem *problem, double *out, st_error *error);
// --- run_count.c
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
// Resident warps of the main kernel as a share of what an SM holds; NaN unknown.
double run_occupancy(const st_run *run, const run_candidate *candidate);
st_code run_resume(st_run *run, st_error *error); // marks candidates that the session has already

#endif
