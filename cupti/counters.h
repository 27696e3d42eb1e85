// SPDX-License-Identifier: Apache-2.0
// Counters of one candidate: stall reasons by PC sampling, exact counters by the range profiler.
// Promise: CUPTI is opened at run time; what is denied, busy, absent or unknown to this chip is told
// apart and never becomes 0 (values are NaN, validity is explicit). A time is never taken from here.
//
// Used only in the profile worker: CUPTI must never be in the process that times.
#ifndef SIMTUNE_CUPTI_COUNTERS_H
#define SIMTUNE_CUPTI_COUNTERS_H

#include "tuner/base/error.h"
#include "tuner/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// --- the table of metrics (metrics.c): to add one, add a row -------------------------------------------
typedef enum st_metric_unit {
    ST_UNIT_RATIO, ST_UNIT_SHARE /* 0…1 */, ST_UNIT_BYTES, ST_UNIT_COUNT, ST_UNIT_NANOSECONDS,
    ST_UNIT_CYCLES, ST_UNIT_PER_SECOND, ST_UNIT_BYTES_PER_SECOND
} st_metric_unit;

typedef struct st_metric {
    const char *name;      // ours, short, stable, in the store: "dram_throughput", "stall.long_scoreboard"
    const char *tool_name; // NVIDIA's: "dram__throughput.avg.pct_of_peak_sustained_elapsed"
    st_metric_unit unit;
    double scale;          // tool's value × scale = value in our unit (0.01 for a percentage)
    int better;            // +1 more is better, -1 less is better, 0 neither
    const char *group;     // "stall", "memory", "issue", "occupancy", "shared"
    const char *meaning;   // one line in plain words
    const char *other_tool_name; // the same counter as some other chips spell it, NULL: one spelling
} st_metric;
const st_metric *st_metrics(size_t *count);
const st_metric *st_metric_find(const char *name); // ours; NULL when unknown
// The only place where units are converted: NVIDIA's value to ours. What is not finite becomes NaN.
double st_metric_convert(const st_metric *metric, double tool_value);
const char *st_metric_unit_name(st_metric_unit unit); // "share", "bytes/s" …, as in JSON and CSV
// For people: "96.1 %", "4.51 TB/s", "107.5"; "-" for NaN.
void st_metric_add_value(st_text *text, const st_metric *metric, double value);

// --- the table of stall reasons (stalls.c) ---------------------------------------------------------------
typedef struct st_stall {
    const char *name;        // ours: "long_scoreboard"
    const char *range_name;  // as the range profiler spells it, NULL: it has none
    const char *pc_name;     // as PC sampling spells it (without the smsp__pcsamp_warps_issue_stalled_ prefix)
    const char *old_names;   // articles' names and other tools' short ones, space separated
    const char *waits_for;   // "a value from global memory": completes "waits for …"
    const char *meaning;     // two or three sentences
    unsigned moves;          // st_role bits (base/roles.h)
} st_stall;
const st_stall *st_stalls(size_t *count);
// By our name, NVIDIA's (with or without smsp__… and _not_issued), or an old one (with or without
// "stall_"), in any case, with blanks for underscores. Where articles used one old name for several reasons, the first of the table is taken.
const st_stall *st_stall_find(const char *any_name);

// --- whether counters can be had -------------------------------------------------------------------------
typedef enum st_counters_state {
    ST_COUNTERS_ALLOWED, ST_COUNTERS_NO_LIBRARY, ST_COUNTERS_TOO_OLD, ST_COUNTERS_DENIED,
    ST_COUNTERS_BUSY, ST_COUNTERS_WSL, ST_COUNTERS_VGPU, ST_COUNTERS_MIG, ST_COUNTERS_CONFIDENTIAL,
    ST_COUNTERS_UNSUPPORTED, ST_COUNTERS_FAILED
} st_counters_state;
const char *st_counters_state_name(st_counters_state state); // "allowed", "denied" …
const char *st_counters_remedy(st_counters_state state);     // what works there; "" for allowed

// Needs a current context on device `ordinal` (creates none); enables and disables for real, since only
// that tells denied from allowed. Never fails: the state says it; `detail` (may be NULL) gets CUPTI's words.
st_counters_state st_counters_probe(void *cu_context, int ordinal, st_text *detail);
// Where CUPTI was found and its version; ST_NOTHING with the remedy.
st_code st_cupti_version(st_text *path_and_version, int *version, st_error *error);

// --- collecting --------------------------------------------------------------------------------------------
// Rules for whoever collects (the profile worker):
//  - One context, one profiler, one thread. PC sampling and the range profiler are never enabled at the
//    same time; the profiler switches by itself. A switch costs 0.1 to 0.2 s, a collection some 2 to 20 ms
//    (docs/counters.md): ask for all stalls first, then for all counters, many candidates in one call and
//    the same metrics in every call.
//  - Modules may be loaded before or after st_profiler_open, also before CUPTI itself is loaded.
//  - After a failed collection try the next; when the error says that CUPTI is left alone, start the
//    worker anew.
//  - Everything that `run` puts on the device is counted. Kernels that are not the candidate's (cache
//    flush, fills) belong into `prepare`, which is called before every run and is not counted.
typedef struct st_profiler st_profiler;
// Runs the candidate once, with all that it needs reset before (tickets, tile states), and waits for it.
typedef st_code st_run_once(void *context, st_error *error);

st_code st_profiler_open(void *cu_context, int ordinal, st_profiler **out, st_counters_state *state,
                         st_error *error);
void st_profiler_close(st_profiler *profiler);
// Enables PC sampling now, which the first profile would wait for (0.3 s on an H200).
st_code st_profiler_warm(st_profiler *profiler, st_error *error);
const char *st_profiler_chip(const st_profiler *profiler); // "GH100"
// Called with the same context before every run, outside of what is counted; waits for what it started.
// NULL (as at first): nothing.
void st_profiler_set_prepare(st_profiler *profiler, st_run_once *prepare);

typedef struct st_stall_sample {   // of one reason
    int stall;                     // index in st_stalls, or -1 for one the table does not know
    char pc_name[64];
    uint64_t samples, samples_not_issued;
} st_stall_sample;
typedef struct st_line_sample {    // of one instruction
    char function[256];
    uint64_t pc_offset;
    int line;                      // of the source, 0 unknown
    char file[256];
    int main_stall;                // index in st_stalls, -1 none
    uint64_t samples;
} st_line_sample;
typedef struct st_stall_profile {
    st_stall_sample *reasons; size_t reason_count; // owned
    st_line_sample *lines; size_t line_count;      // owned; most samples first
    uint64_t total_samples, dropped_samples;
    unsigned launches;                             // runs of the candidate
    double launch_seconds;                         // that these took, each with what prepares it; NaN unknown
    double seconds;                                // what collecting cost in all, launches and set-up included
} st_stall_profile;
void st_stall_profile_release(st_stall_profile *profile);
// Share (0…1) of all samples that fell on one reason (index in st_stalls); NaN when there are none.
double st_stall_share(const st_stall_profile *profile, int stall);
// The reason that most samples wait for, `selected` (issuing) left out: index in `reasons`, -1 none.
int st_stall_main(const st_stall_profile *profile);
// "waits for a value from global memory (long_scoreboard): 71 % of samples, 64 % with nothing issued"
void st_stall_describe(const st_stall_profile *profile, st_text *text);

// How much of a candidate is looked at. 0 in any field: as st_profiler_stalls does.
typedef struct st_stall_options {
    uint64_t minimum;   // samples that are enough
    double expected_ns; // what one run takes, when that is known: the period is chosen by it, and candidates of
                        // like times follow each other without a change of the period, which costs 0.1 s
    double seconds;     // of runs and reading, after which no more are begun (0.05)
    size_t lines;       // hottest instructions whose source lines are looked up (64)
} st_stall_options;
st_code st_profiler_stalls_as(st_profiler *profiler, st_run_once *run, void *context, const void *image,
                              size_t image_bytes, const st_stall_options *how, st_stall_profile *out,
                              st_error *error);
// PC sampling of one run (repeated until there are `minimum` samples or 64 runs). `image` is the cubin
// that is running, for source lines (NULL: no lines).
st_code st_profiler_stalls(st_profiler *profiler, st_run_once *run, void *context, const void *image,
                           size_t image_bytes, uint64_t minimum, st_stall_profile *out,
                           st_error *error);

// Exact counters for `candidate_count` candidates, one range each, all passes: values[c * metric_count + m]
// in our units, NaN where the chip or the pass has none. Names are ours; unknown ones are an error.
st_code st_profiler_counters(st_profiler *profiler, st_run_once *run, void *const *contexts,
                             size_t candidate_count, const char *const *metric_names,
                             size_t metric_count, double *values, double *seconds,
                             st_error *error);

// Source line of one instruction of a cubin with line information; needs no GPU. `file` gets the name that
// the program had for the compiler ("reduce.cu"). ST_NOTHING when the image has no line for it. CUPTI
// keeps about twice the size of every cubin that it is asked about, for good.
st_code st_source_line(const void *image, size_t image_bytes, const char *function,
                       uint64_t pc_offset, char *file, size_t file_size, int *line, st_error *error);

// --- without a GPU (host library only) -----------------------------------------------------------------------
// Chips the host library knows; checks each metric of the table on a chip: supported[i] for metric i, and
// the number of passes that the supported ones need together.
st_code st_cupti_chips(char chips[][16], size_t capacity, size_t *count, st_error *error);
st_code st_cupti_check_chip(const char *chip, bool *supported, size_t *passes, st_error *error);

#endif
