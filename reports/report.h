// SPDX-License-Identifier: Apache-2.0
// What a report shows, read from the store once: sessions, their problems, candidates, winners, profiles, findings
// and what may be doubted. Promise: everything comes from stored rows (no device, no template file); the same rows
// give the same report; what is not known stays NaN, -1, NULL or "" and never becomes 0. The page, the terminal and
// the markdown are printed from this one model, so that they cannot disagree.
//
// Times are nanoseconds, speeds GB/s (bytes per nanosecond), shares 0…1, dates milliseconds since 1970 (UTC).
// Everything is owned by the report and lives until st_report_release; indices are into the named list, -1: none.
#ifndef SIMTUNE_REPORTS_REPORT_H
#define SIMTUNE_REPORTS_REPORT_H

#include "cupti/advice.h"
#include "db/store.h"
#include "tuner/base/phases.h"
#include "tuner/base/statistics.h"

#include <jansson.h>

typedef enum st_report_cache { ST_REPORT_COLD, ST_REPORT_WARM, ST_REPORT_CACHES } st_report_cache;
const char *st_report_cache_name(int cache);   // "cold", "warm"
int st_report_cache_find(const char *name);    // or -1

// --- candidates ----------------------------------------------------------------------------------------------------
// To add an outcome: a row in report_words.c.
typedef enum st_reported_outcome {
    ST_REPORTED_CORRECT, ST_REPORTED_WRONG, ST_REPORTED_RACE, ST_REPORTED_COMPILE, ST_REPORTED_LAUNCH,
    ST_REPORTED_CRASH, ST_REPORTED_TIMEOUT, ST_REPORTED_CONSTRAINT, ST_REPORTED_SKIPPED,
    ST_REPORTED_OTHER, // a word of a later version
    ST_REPORTED_OUTCOMES
} st_reported_outcome;
const char *st_reported_outcome_name(st_reported_outcome outcome);    // "correct", "wrong" …; "other"
const char *st_reported_outcome_meaning(st_reported_outcome outcome); // "gave a wrong result": one line
// True for what somebody has to look at: not correct, and not left out on purpose (constraint, skipped).
bool st_reported_outcome_is_failure(st_reported_outcome outcome);

typedef struct st_reported_parameter {
    char *name;
    char **values;         // those that the session's candidates have; numbers ascending, words as they came
    size_t value_count, value_capacity;
    bool numeric;          // every value is a number
    int standard;          // index of the default's value, -1 unknown
    unsigned roles;        // st_role bits (base/roles.h) as the stored template says; 0 unknown
    char *meaning;         // the template's comment above it, one paragraph; NULL: none
} st_reported_parameter;

enum { ST_REPORT_NO_VALUE = 0xFFFF };
typedef struct st_reported_time { // in one state of the cache
    double median_ns;      // what stands: of the furthest phase the last round; NaN: not measured so
    double comparable_ns;  // that on the scale of the finals (base/phases.h): what candidates of a problem are ranked by
    st_phase_times phases; // of each phase the last round
    double first_ns;       // of the first measurement: what the search saw, alike for all candidates
    int64_t first_ms;      // when that was; -1
    char phase;            // 's' screen, 'h' halving, 'f' finals, 0: not measured
    int samples;           // behind median_ns
} st_reported_time;

typedef struct st_reported_candidate {
    int64_t key;
    char id[ST_HASH_TEXT];
    st_reported_outcome outcome;
    char *configuration;   // canonical text
    char *detail;          // first lines of the log, the mismatch …; NULL none
    const uint16_t *values; // one a parameter of the session: index in its values, or ST_REPORT_NO_VALUE
    int registers, local_bytes, static_smem, dynamic_smem, blocks_per_sm, deterministic; // -1 unknown
    double occupancy, compile_seconds; // NaN unknown
    bool profiled;         // there is a profile of it; those of winner, default and runner-up are loaded
    st_reported_time times[ST_REPORT_CACHES];
} st_reported_candidate;

// --- profiles and findings -----------------------------------------------------------------------------------------
typedef struct st_reported_wait {   // one stall reason
    int stall;             // index in st_stalls (cupti/counters.h), -1: the table does not know it
    char name[48];
    double samples;        // share of PC samples; NaN: not sampled
    double not_issued;     // the part of it in which nothing else issued; NaN
    double latency;        // share of warp latency (range profiler); NaN
    double ratio;          // warps that wait so at each issued instruction (range profiler); NaN
} st_reported_wait;
typedef struct st_reported_counter { // of the range profiler, in the units of the table of metrics
    char name[64];
    double value;
} st_reported_counter;
typedef struct st_reported_line {   // of the source, all its instructions together
    char *file;            // as the template's texts name it
    int line;              // 0 unknown
    int stall;             // what most of its samples wait for; index in st_stalls, -1
    char stall_name[48];
    double share;          // of all samples of the profile
    uint64_t samples;
} st_reported_line;

typedef struct st_reported_profile {
    bool any;              // there is at least one value; everything else is empty otherwise
    st_reported_wait *waits; // most first (by samples, else by latency); "selected" and "not_selected" are among them
    size_t wait_count, wait_capacity;
    int main_wait;         // index in waits of what most samples wait for (never selected or not_selected); -1
    bool is_sampled;       // `samples` of the waits are known; else `latency` is
    double total_samples;  // NaN unknown
    st_reported_counter *counters; // by name
    size_t counter_count, counter_capacity;
    st_reported_line *lines; // most samples first
    size_t line_count, line_capacity;
    st_profile_view view;  // the same values for st_view_value, with the facts of candidate and device
    st_finding findings[ST_FINDINGS_MOST]; // of the rules, gravest first
    size_t finding_count;
    st_line_sample *instructions; // as stored; the view and the findings point into it
    size_t instruction_count;
} st_reported_profile;
// A counter of the range profiler by our name ("dram_throughput"); NaN: it is not there.
double st_reported_counter_of(const st_reported_profile *profile, const char *name);
// The share of a wait: of samples where sampled, else of warp latency. NaN unknown.
double st_reported_wait_share(const st_reported_profile *profile, const st_reported_wait *wait);

// --- results -------------------------------------------------------------------------------------------------------
typedef struct st_reported_samples { double *ns; size_t count; } st_reported_samples; // of the phase that stands

typedef struct st_reported_entrant { // of the finals
    int candidate;         // -1: not among the session's (never, unless the store is damaged)
    double median_ns;
    st_interval ratio;     // its time / that of the fastest entrant
    bool tied;             // with the fastest
    char *rival;           // "PASS=look_back": the template's rival that it stands for; NULL: none
} st_reported_entrant;

enum { ST_REPORT_TELLING = 2 };
typedef struct st_reported_change { // a parameter in which the winner differs from the default
    int parameter;
    const char *from, *to; // values; "" where one of them lacks it
    // Best time of all candidates that keep the default's value / the winner's time: what leaving the change out
    // costs at least, everything else tuned anew. NaN: no such candidate was measured.
    double without;
    int without_candidate; // the one with that best time, -1
    size_t without_count;  // of how many it is the best; fewer than ST_REPORT_TELLING (the default alone) tell nothing
    size_t pairs;          // of measured configurations that differ in this parameter alone, one with each value
    st_interval alone;     // least, median and most of what the change gains in them (time before / after); NaN: no pair
} st_reported_change;

// A step of the way from the default to the winner. Both ends are measured configurations; what differs between them was
// changed at once, so its gain belongs to all of it together (report_steps.c says how the way is chosen).
#define ST_REPORT_GAIN_TELLS 1.01 // a gain below that is not told from noise
typedef struct st_reported_step {
    int before, after;     // candidates
    double gain;           // time before / time after; those of all steps multiply to that of the whole
    size_t differ;         // parameters in which the two differ: 1: the gain is of that change alone
    size_t between;        // measured configurations that have only some of these changes (none of them is a step)
    size_t credit;         // that it belongs to
} st_reported_step;

// Steps whose gain is credited together, since one undoes what another set (report_credits.c): what made it faster.
enum { ST_REPORT_CREDITS = 6 };
typedef struct st_reported_credit {
    double gain;           // product of those of its steps
    size_t steps, differ;  // parameters that it changed in all
    bool is_rest;          // several that there is no room for, or that gained little
} st_reported_credit;

typedef struct st_reported_past {    // a winner of the same problem on the same device
    char session_id[ST_HASH_TEXT], driver[32], compiler[48], tool[32], template_hash[ST_HASH_TEXT];
    char *configuration;
    double ns;
    int64_t ended_ms;
} st_reported_past;

typedef struct st_reported_result {  // of one problem in one state of the cache
    int winner, standard, runner_up; // candidates; standard: the default; runner_up: fastest entrant besides the two
    double winner_ns, standard_ns, runner_up_ns; // medians of the finals
    st_interval speedup;             // default / winner, 95 %; NaN: the default did not survive
    int tied;                        // size of the tied set, 1: a clear win; 0 unknown
    char *note;                      // why this one of the tied set; NULL
    double bytes;                    // moved by one run; NaN
    double speed, limit_gbs, limit_share; // bytes / winner_ns in GB/s; what this memory was measured to move with these
                                     // reads and writes, whatever the winner reached; the share of it, which is more
                                     // than 1 where the winner was faster. NaN
    double written;                  // share of writes that the limit is for: 0 reading alone, 0.5 a copy; NaN
    st_reported_entrant *finals;     // fastest first
    size_t final_count, final_capacity;
    st_reported_change *changes;     // costliest to leave out first; those that tell nothing last
    size_t change_count, change_capacity;
    st_reported_step *steps;         // from the default to the winner, in their order; none where the winner is the default
    size_t step_count, step_capacity;
    st_reported_credit credits[ST_REPORT_CREDITS]; // what gained most first
    size_t credit_count;
    double *importance;              // one a parameter: share of the variance of log time that its values explain
                                     // by themselves (0…1); NaN: one value only, or too few candidates. NULL: no times
    size_t measured;                 // candidates with a time in this state of the cache
    st_phase_scale scale;            // of comparable_ns
    double fastest_ns;               // the least of them; NaN
    st_reported_samples winner_samples, standard_samples, runner_up_samples;
    st_reported_profile *winner_profile, *standard_profile, *runner_up_profile; // NULL: there is no such candidate
    st_reported_past *past;          // oldest first, this session's own included
    size_t past_count, past_capacity;
} st_reported_result;

typedef struct st_reported_problem {
    char *text, *type, *operation;   // type and operation NULL: unknown
    int64_t n;                       // -1 unknown
    st_reported_candidate *candidates; // in the order in which they were tried
    size_t count, capacity;
    size_t outcomes[ST_REPORTED_OUTCOMES];
    st_reported_result results[ST_REPORT_CACHES];
} st_reported_problem;

// --- trust ---------------------------------------------------------------------------------------------------------
typedef enum st_reported_level { ST_REPORTED_RED, ST_REPORTED_AMBER, ST_REPORTED_GREEN, ST_REPORTED_GREY } st_reported_level;
const char *st_reported_level_word(st_reported_level level); // "doubt", "look", "fine", "unknown"
typedef struct st_reported_doubt {
    st_reported_level level;
    const char *about;     // "clocks", "noise", "verification" …
    char *words;           // a sentence with its figures
} st_reported_doubt;

// --- sessions ------------------------------------------------------------------------------------------------------
typedef struct st_reported_observed { // of all measurements; clocks of the finals (of all, where there are none)
    int clock_low, clock_high, memory_clock_low, memory_clock_high, temperature_high, power_high_mw; // -1 unknown
    int64_t throttle_reasons;        // all bits that were seen; -1 unknown
    int64_t dropped;                 // samples; -1 unknown
    double tick_ns;                  // of the timer, NaN
    int64_t first_ms, last_ms;       // -1: nothing was measured
} st_reported_observed;

typedef struct st_reported_session {
    st_session_row session;
    json_t *options, *facts;         // of its options and summary; NULL: none
    char device_name[96], device_uuid[48], backend[16], driver[32], compiler[48], tool[32];
    char template_hash[ST_HASH_TEXT];
    int cc, sm_count, driver_cuda;   // -1 unknown
    int64_t memory_bytes, l2_bytes;
    double read_gbs, copy_gbs;       // measured; NaN
    json_t *device_facts;            // all that the device said of itself; NULL
    char label[32];                  // short, unique in the report: "scan 01a22cda51b3"
    st_reported_parameter *parameters; // in the template's order
    size_t parameter_count, parameter_capacity;
    st_reported_problem *problems;   // in the order in which the session came to them
    size_t count, capacity;
    size_t candidate_count, measured_count; // of all problems; measured: in any state of the cache
    size_t outcomes[ST_REPORTED_OUTCOMES];
    st_reported_doubt *doubts;       // red first; grey last
    size_t doubt_count, doubt_capacity;
    st_reported_observed observed;
    json_t *sources;                 // {"scan.cu": text, …} of the template, NULL unknown
    char *source_file;               // which of them is the template itself; NULL
    char *summary;                   // what the family computes, as the template says it; NULL
    char *standard_words;            // the comment above the template's default; NULL
    int lead;                        // the problem that a reader should look at first: the one of the largest gain
                                     // that is no tie and is backed by counters; -1: no problem at all
    uint16_t *values;                // of all candidates
} st_reported_session;

typedef struct st_report {
    st_reported_session *sessions;   // as asked for
    size_t count, capacity;
    int cache;                       // which state of the cache is shown first (st_report_cache)
} st_report;

// `session_ids`: whole ids, at least one. ST_NOTHING when a session is not there; nothing has to be released then.
st_code st_report_load(st_store *store, const char *const *session_ids, size_t count, int cache, st_report *out,
                       st_error *error);
void st_report_release(st_report *report);

// --- words that every form of the report uses ----------------------------------------------------------------------
// "scan (kind=exclusive T=f32 op=sum n=256Mi) runs 4.07 × as fast as the default (4.06–4.07)": the verdict of one
// result in a sentence; says ties and missing defaults.
void st_report_verdict(const st_reported_session *session, const st_reported_problem *problem, int cache, st_text *out);
// What the winner waits on now: "its warps wait for …; device memory runs at 92 % of its peak". Nothing without counters.
void st_report_waits_on(const st_reported_profile *profile, st_text *out);
// The winner's, in its state of the cache: whether it is at the memory's limit comes first, and what was counted cold says so.
void st_report_now(const st_reported_session *session, const st_reported_problem *problem, int cache, st_text *out);
// Whether the winner is so near the limit of the memory that waits are what is left of it. What fits in the cache is not.
bool st_report_is_at_limit(const st_reported_session *session, const st_reported_result *result, int cache);
// "at the memory's limit: at most 4.1 % is left"; nothing where it is not.
void st_report_at_limit(const st_reported_session *session, const st_reported_result *result, int cache, st_text *out);
// What all problems of a session have alike (varying false), or what tells this one from the others (true).
void st_report_problem_part(const st_reported_session *session, const char *problem, bool varying, st_text *out);
// How one of the tied was taken, by the rule of the finals; else what was noted of a winner, as of a predicted one.
void st_report_tie(const st_reported_result *result, st_text *out);
// The command of the session for somebody else: without the recorder's files, a template of ours by its name.
void st_report_command(const st_reported_session *session, st_text *out);
// "BLOCK 256 → 512" for a change.
void st_report_change(const st_reported_session *session, const st_reported_change *change, st_text *out);
// What the speed of the winner is measured against: "reading (4622 GB/s) and copying (3933 GB/s), the fastest that simtune
// measured here, for 50 % of bytes written". Nothing where the limit is not known.
void st_report_limit(const st_reported_session *session, const st_reported_result *result, st_text *out);
// "VEC 1 → 4; with it ITEMS 4 → 16" for a step: first what it let go of the default, then what else differs.
void st_report_step(const st_reported_session *session, const st_reported_problem *problem, int cache,
                    const st_reported_step *step, st_text *out);
// "BLOCK 128 → 256, ITEMS 1 → 4 (24 in the end)" for what is credited: `from` and `to` of a parameter before and
// after all of it (st_report_credit_move; false: it did not change).
void st_report_credit(const st_reported_session *session, const st_reported_problem *problem, int cache, size_t credit,
                      st_text *out);
// "2 at once", "2 steps together", "all the rest", between `before` and `after`; nothing for one change.
void st_report_credit_how(const st_reported_result *result, size_t credit, const char *before, const char *after, st_text *out);
bool st_report_credit_move(const st_reported_problem *problem, const st_reported_result *result, size_t credit,
                           size_t parameter, uint16_t *from, uint16_t *to);
// Whether a parameter is one that the step let go: before it had the default's value, and the winner has another.
bool st_report_is_let_go(const st_reported_problem *problem, int cache, const st_reported_step *step, size_t parameter);
// What makes times comparable, where that changes anything: "Times are those of the finals …; to what was timed in the
// screen +432.0 ns is added …"; and why some stand before the winner all the same, where they do.
void st_report_scale(const st_reported_problem *problem, int cache, st_text *out);
// " in the screen (about 5.412 µs in the finals)": behind a time that is of another phase than the furthest; else nothing.
void st_report_phase(const st_reported_time *time, const st_phase_scale *scale, st_text *out);
// The worst level among the doubts.
st_reported_level st_report_trust(const st_reported_session *session);
// "Yes: nothing speaks against it. 2 things are not known.": the same in words.
void st_report_trust_words(const st_reported_session *session, st_text *out);

// --- forms ---------------------------------------------------------------------------------------------------------
typedef struct st_report_page_options {
    const char *title;               // NULL: made from the sessions
} st_report_page_options;
// One self-contained HTML page.
st_code st_report_html(const st_report *report, const st_report_page_options *options, st_text *out, st_error *error);
// "schema": "simtune.report/1"; docs/report.md documents it. The page holds the same document.
st_code st_report_json(const st_report *report, st_text *out, st_error *error);

#endif
