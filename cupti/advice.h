// SPDX-License-Identifier: Apache-2.0
// From a profile to findings: what waits, how much of it, what to change, and in which direction that moves the
// space. Promise: pure functions over plain values, no CUPTI and no device; a rule whose values are unknown says
// nothing; nothing is estimated without saying so; a kernel that runs at the measured limit of the memory is told
// to be left alone, however much it waits.
//
// Use: st_view_init, st_view_counter for every counter (the callback of st_store_counters_of and the reply of a
// profile worker have just its arguments), the facts that are known, then st_advise.
#ifndef SIMTUNE_CUPTI_ADVICE_H
#define SIMTUNE_CUPTI_ADVICE_H

#include "cupti/counters.h"
#include "tuner/base/roles.h"

enum {
    ST_VIEW_STALLS = 24,   // at least the rows of st_stalls
    ST_VIEW_METRICS = 64,  // at least the rows of st_metrics
    ST_FINDINGS_MOST = 24, // st_advise never has more
    ST_MOVES_MOST = 4,
    ST_ROLE_COUNT = 7      // bits of st_role
};

// Where a value comes from, and so how far it can be trusted.
typedef enum st_validity {
    ST_VALID_UNKNOWN, // NaN
    ST_VALID_EXACT,   // a counter of the range profiler
    ST_VALID_SAMPLED, // a share of PC samples: its error is about 1/sqrt(samples)
    ST_VALID_DERIVED, // computed out of samples where the counter was not taken (st_view_value says which)
    ST_VALID_FEW      // sampled, but from fewer than ST_SAMPLES_FEW samples: an indication
} st_validity;
enum { ST_SAMPLES_FEW = 100 };
const char *st_validity_name(st_validity validity); // "exact", "sampled", "derived", "few samples", "unknown"

// What the device can do. NaN and -1: unknown.
typedef struct st_device_limits {
    double read_gbs, copy_gbs; // measured speed of its memory, GB/s: reading alone; reading and writing alike
    double written_share;      // of the bytes that the problem moves, how many are written: 0 reduce, 0.5 scan.
                               // NaN: by the counters if they are there, else 0
    int cc, sm_count;
    double sm_clock_ghz;       // highest
    int64_t threads_per_sm, registers_per_sm, smem_per_sm;
} st_device_limits;

// One candidate. What is not known is NaN, -1 or NULL.
typedef struct st_profile_view {
    // Shares 0…1 by index in st_stalls. `share` is of all samples (or, without samples, of the warps' latency as
    // exact counters have it); `not_issued` of all samples: those at which the scheduler issued nothing at all.
    double share[ST_VIEW_STALLS], not_issued[ST_VIEW_STALLS];
    double ratio[ST_VIEW_STALLS]; // exact: warps that wait for it at each issued instruction
    bool sampled;                 // shares are of samples
    double samples;               // how many; NaN: none taken
    double metric[ST_VIEW_METRICS]; // by index in st_metrics ("stall." rows stay NaN: see ratio)
    // Of the first launch, as stored with the candidate.
    double registers, local_bytes, static_smem, dynamic_smem, blocks_per_sm;
    double occupancy;             // 0…1, by the limits of the device: what could be resident
    double ns, bytes;             // time of one timed run (never of a profiled one), bytes that it has to move
    double best_ns;               // of the fastest candidate of this problem that is known
    st_device_limits device;
    const st_line_sample *lines;  // borrowed; most samples first
    size_t line_count;
} st_profile_view;

void st_view_init(st_profile_view *view); // everything unknown
// Takes one counter as the store has it: kind "pc" or "range" with our name ("stall.wait",
// "stall_not_issued.wait", "stall_samples", "issue_active"). Unknown kinds and names are left out.
void st_view_counter(st_profile_view *view, const char *kind, const char *name, double value);
bool st_view_has_stalls(const st_profile_view *view);
// A value by name: "stall.NAME" (share), "stall_not_issued.NAME", "latency.NAME" and "latency" (cycles from one
// instruction of a warp to its next, and the part of a reason in it), every metric of st_metrics, the facts above,
// "share_of_limit", and "bank_conflicts" (share of the passes through shared memory). `issue_active`, `ipc` and
// `cycles_per_instruction` come from samples (derived) when the exact counter was not taken. NaN and
// ST_VALID_UNKNOWN when it cannot be known. `how` may be NULL.
double st_view_value(const st_profile_view *view, const char *name, st_validity *how);
// The reason that most samples wait for, `selected` and `not_selected` left out: index in st_stalls, -1 unknown.
int st_view_main_stall(const st_profile_view *view);

// GB/s that the memory of this device can move at most with the problem's share of writes: as measured of the device,
// or by the fastest candidate (best_ns) where that is more. NaN unknown.
double st_view_limit_gbs(const st_profile_view *view);
// The same as measured of the device alone, whatever any candidate reached; NaN unknown.
double st_view_measured_limit_gbs(const st_profile_view *view);
// Of the bytes that go over the memory, how many are written (0 … 1): of the problem, else by the counters, else 0.
double st_view_written_share(const st_profile_view *view);
// Speed of the timed run as a share of that limit; NaN unknown. More than 1 is possible: what was written may
// still be in the cache, and the limit is a measurement too.
double st_view_share_of_limit(const st_profile_view *view);
// Within 3 % of the limit: no rule about stalls applies.
bool st_view_at_limit(const st_profile_view *view);

// --- findings ------------------------------------------------------------------------------------------------
typedef enum st_gravity {
    ST_GRAVITY_FINE,  // looks bad and is not: leave it
    ST_GRAVITY_MINOR, // worth a trial
    ST_GRAVITY_MAJOR  // what the time goes into
} st_gravity;
const char *st_gravity_name(st_gravity severity); // "fine", "minor", "major"

// A direction in the space, for every parameter that has the role: +1 towards its larger values, -1 towards its
// smaller ones, 0 to another value (roles whose values have no order, as sync). For the role regs larger values
// (of a launch bound) mean fewer registers for each thread and more resident blocks.
typedef struct st_move {
    st_role role;
    int direction;
} st_move;

typedef struct st_finding {
    const char *rule;       // stable id, a row of st_rules: "long_scoreboard", "bank_conflicts", "at_the_limit"
    st_gravity severity;
    int stall;              // index in st_stalls; -1: not about one reason
    const char *title;      // "waits for a value from global memory"
    const char *message;    // what that means, a sentence or two
    const char *remedy;     // what to change, a sentence or two
    char evidence[320];     // the figures that speak for it, each with what it is a share of
    double gain;            // ESTIMATED: share of the time (0…1) that could be saved at most; NaN: no estimate
    bool capped;            // st_findings_cap lowered it to what the memory's limit leaves
    const char *gain_source; // the formula and where it comes from; NULL when there is no estimate
    st_move moves[ST_MOVES_MOST];
    size_t move_count;
    const st_line_sample *focus; // the line that waits most for it, of view->lines; NULL: unknown
} st_finding;

// Findings, the most severe first, then by gain. Returns how many. Takes some microseconds.
size_t st_advise(const st_profile_view *view, st_finding out[ST_FINDINGS_MOST]);
// For readers: no run takes less time than its bytes at the limit of the memory, so a gain is lowered to what the distance
// to it leaves, where that is known. A search weighs the reasons against each other, and does not want it.
void st_findings_cap(const st_profile_view *view, st_finding *findings, size_t count);
// The findings as one pull on each role (index: number of the role's bit), -1…1, 0: none: the moves of each
// finding weighted with its gain and severity. `unordered` (may be NULL) gets the weight of moves to another value.
void st_advice_pull(const st_finding *findings, size_t count, double pull[ST_ROLE_COUNT],
                    double unordered[ST_ROLE_COUNT]);
// "more loads in flight for each thread", "fewer registers", "another way of coming together"
const char *st_move_words(st_move move);
const char *st_role_name(st_role role); // "mlp", as in templates

// --- the table of rules: to add one, a row in advice_rules.c, a test, a line in docs/counters.md -----------------
typedef struct st_rule {
    const char *id;
    const char *stall;       // our name of the reason that it is about; NULL: not about one
    const char *when;        // its condition in words, gates included
    const char *title, *message, *remedy;
    const char *gain_source; // NULL: no estimate
    // Gates: all that are given must be known and hold. 0: no such gate.
    double least_share;      // of the reason; from ST_SHARE_MUCH on the finding is major
    double most_issue;       // issue activity is below it
    bool at_limit_too;       // else it says nothing when the memory runs at its limit
    st_gravity severity;    // at most
    st_move moves[ST_MOVES_MOST];
    size_t move_count;
    // What the gates do not say, NULL: nothing more. Fills evidence and gain, and may lower the severity or take
    // moves away; false: the rule does not apply. Called with evidence and gain of the reason filled in, if any.
    bool (*holds)(const st_profile_view *view, st_finding *finding);
} st_rule;
#define ST_SHARE_MUCH 0.3
const st_rule *st_rules(size_t *count);
const st_rule *st_rule_find(const char *id); // NULL: there is none

// --- what articles say of a stall (stall_words.c), for `simtune explain --stall` ----------------------------------
typedef struct st_stall_words {
    const char *name;       // of st_stalls
    const char *claim;      // what articles say; NULL: nothing that needs a word
    const char *correction; // what is so; NULL: the claim holds
} st_stall_words;
// All reasons that an old or new name may mean, as indices of st_stalls; returns how many (0: unknown name).
// An old name may stand for several ("execution_dependency": wait and short_scoreboard).
size_t st_stall_all(const char *any_name, int out[ST_VIEW_STALLS]);
const st_stall_words *st_stall_words_of(int stall); // NULL: nothing

// --- stored lines --------------------------------------------------------------------------------------------------
// The stall lines of a candidate as the store has them (JSON text) → *out, st_free'd by the caller; NULL text: none.
st_code st_stall_lines_parse(const char *json, st_line_sample **out, size_t *count, st_error *error);

#endif
