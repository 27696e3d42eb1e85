// SPDX-License-Identifier: Apache-2.0
// Two sides, problem by problem: better, same, worse, or cannot tell. Promise: everything comes from the store; one
// rule of noise for all (st_change_of); the same store gives the same bytes; what cannot be told is said with its
// reason, and what only one side has is listed.
#ifndef SIMTUNE_REPORTS_COMPARE_H
#define SIMTUNE_REPORTS_COMPARE_H

#include "db/compare.h"
#include "tuner/base/statistics.h"

// --- the rule of noise ---------------------------------------------------------------------------------------------
typedef enum st_change { ST_CHANGE_BETTER, ST_CHANGE_SAME, ST_CHANGE_WORSE, ST_CHANGE_UNKNOWN, ST_CHANGES } st_change;
const char *st_change_name(st_change change); // "better", "same", "worse", "cannot tell"
// Of the ratio new time / old time with its 95 % interval: worse (better) when the interval excludes 1 and the gap
// is at least the threshold; the same when the whole interval lies within it; else it cannot be told. Times that
// are exchanged give the opposite.
st_change st_change_of(st_interval ratio, double threshold);

typedef struct st_compare_rules {
    double within;   // threshold between measurements of one session
    double between;  // between sessions: clocks, placement of memory and the machine differ a little each time
    double ticks;    // between sessions also so many ticks of the timer, which short kernels feel
} st_compare_rules;
extern const st_compare_rules st_compare_usual_rules; // 0.5 %, 2 %, 2 ticks
enum { ST_COMPARE_SAMPLES_LEAST = 6 }; // fewer samples on a side tell nothing

// --- a comparison --------------------------------------------------------------------------------------------------
typedef struct st_compare_record { // a row of a side, owned; its times are those of what stands for it
    st_compare_row row;
    char *block;       // what the row's texts point into
    bool in_store;     // false: a header names it, and the store has no such candidate
    size_t samples;    // that its time was made of
    int sm_clock_mhz, memory_clock_mhz, temperature_c, dropped; // -1 unknown
} st_compare_record;

// What differs between the two rows of a pair beside the times.
enum {
    ST_DIFFERS_DEVICE = 1, ST_DIFFERS_DRIVER = 2, ST_DIFFERS_COMPILER = 4, ST_DIFFERS_TOOL = 8,
    ST_DIFFERS_TEMPLATE = 16, ST_DIFFERS_CLOCK = 32, ST_DIFFERS_VERIFICATION = 64, ST_DIFFERS_UNFINISHED = 128,
    ST_DIFFERS_KINDS = 8
};
const char *st_differs_name(unsigned bit); // "device", "driver" …
// What a row says of it ("580.159.04"); appends.
void st_differs_add_value(const st_compare_record *record, unsigned bit, st_text *out);

enum { ST_COMPARE_MOVED = 6 };
typedef struct st_compare_moved { // a counter of both
    char kind[8], name[80];       // "pc" or "range"
    double a, b;                  // shares of samples or of warp latency for "stall.", else as the metric's unit says
    double weight;                // how telling; the list is sorted by it
} st_compare_moved;
// Appends "long_scoreboard 62 % → 70 % of samples".
void st_compare_add_moved(const st_compare_moved *moved, st_text *out);

typedef struct st_compare_note { // an acknowledgement that was found for a pair
    char id[ST_HASH_TEXT], session_id[ST_HASH_TEXT];
    char *reason, *author;       // owned; author NULL: unknown
    int64_t acknowledged_ms;
    bool surpassed;              // it got worse than what was acknowledged
    st_interval ratio;           // against what was acknowledged; NaN: it is that measurement itself
} st_compare_note;

typedef struct st_compare_pair {
    const st_compare_record *a, *b; // b NULL: it is gone (or, of only_a, was not asked); a NULL likewise
    st_change change;
    const char *reason;          // why it cannot be told; "" else
    bool paired;                 // the samples were taken by turns
    bool lost;                   // b's session tried the problem, and nothing valid was left
    double a_ns, b_ns, threshold;
    st_interval ratio;           // b / a
    double default_ratio;        // of the times of the same default configuration; NaN unknown
    unsigned differs;
    st_compare_moved moved[ST_COMPARE_MOVED];
    size_t moved_count;
    st_compare_note *note;       // NULL: none
} st_compare_pair;

typedef struct st_compare_side {
    char *label;                 // "session 019a…", as the head says it
    st_compare_record **records;
    size_t count, capacity;
    struct st_compare_session { int64_t session_key, device_key, ended_ms; char id[ST_HASH_TEXT], family[64]; } *sessions;
    size_t session_count, session_capacity; // that the side consists of; none when it is a choice among many
    bool device_by_device;       // rows of different devices never meet
} st_compare_side;

typedef struct st_comparison {
    st_compare_rules rules;
    bool against_baseline;
    st_compare_side sides[2];
    st_compare_pair *pairs;      // of both sides, and what was lost
    size_t count, capacity;
    st_compare_pair *only[2];    // what one side alone has
    size_t only_count[2], only_capacity[2];
    size_t counts[ST_CHANGES], acknowledged; // an acknowledged one is in both
} st_comparison;

void st_comparison_init(st_comparison *made, const st_compare_rules *rules);
void st_comparison_release(st_comparison *made);
st_code st_comparison_label(st_comparison *made, int side, const char *label, st_error *error);
// Adds what the store has of a side (side 0: A, 1: B). May be called several times.
st_code st_comparison_add(st_comparison *made, st_store *store, int side, st_side_kind kind, const char *value,
                          const st_compare_filter *filter, st_error *error);
// Adds a row that the store does not have.
st_code st_comparison_add_row(st_comparison *made, int side, const st_compare_row *row, st_error *error);
// Matches and judges. Call it once.
st_code st_comparison_judge(st_comparison *made, st_store *store, st_error *error);
// For comparisons against baselines, after judging: finds for each change what was acknowledged.
st_code st_comparison_acknowledged(st_comparison *made, st_store *store, st_error *error);
// What fails a build: pairs that are worse and not acknowledged; what cannot be told, and what B lacks.
size_t st_comparison_regressions(const st_comparison *made);
size_t st_comparison_untold(const st_comparison *made);

typedef struct st_compare_print {
    bool colour;
    int width;     // 0: 100
} st_compare_print;
void st_comparison_text(const st_comparison *made, const st_compare_print *print, st_text *out);
void st_comparison_markdown(const st_comparison *made, st_text *out);
// "schema": "simtune.compare/1"; ST_NO_MEMORY alone.
st_code st_comparison_json(const st_comparison *made, st_text *out, st_error *error);

#endif
