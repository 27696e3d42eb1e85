// SPDX-License-Identifier: Apache-2.0
// How the winners of a family changed from version to version: of the driver, the compiler, the template, the tool,
// or from device to device. Promise: everything comes from the store; changes are judged as comparisons are
// (reports/compare.h); where possible one thing changes from line to line and what else did is said.
#ifndef SIMTUNE_REPORTS_HISTORY_H
#define SIMTUNE_REPORTS_HISTORY_H

#include "reports/compare.h"

// To add one: a row in history_load.c.
typedef enum st_history_by {
    ST_HISTORY_DRIVER, ST_HISTORY_COMPILER, ST_HISTORY_TEMPLATE, ST_HISTORY_TOOL, ST_HISTORY_DEVICE, ST_HISTORY_BYS
} st_history_by;
const char *st_history_by_name(st_history_by by);
int st_history_by_find(const char *name); // st_history_by, or -1

typedef struct st_history_line {
    const char *version;             // as people read it: a template's is the beginning of its hash
    const st_compare_record *record; // the newest of its version, of the held toolchain and template where there is one
    bool held;                       // it is of these
    double median_ns;
    int level;                       // of the sparkline, 0 … 7; -1 unknown
    st_compare_pair change;          // against the line before; a NULL: there is none
} st_history_line;

typedef struct st_history_series { // of a device (unless by device), problem and state of the cache
    st_history_line *lines;
    size_t count;
    st_compare_pair overall;         // the last against the first; a NULL: fewer than three lines
} st_history_series;

typedef struct st_history_finding { // what a version did to all series of a device
    const char *version, *before, *device;
    st_change change;                // better or worse
    size_t count, of, untold;        // so many series of those that have both; of these some cannot be told
    double least, most;              // ratios new / old
    unsigned others;                 // what else differed, of those that changed (ST_DIFFERS_…)
} st_history_finding;

typedef struct st_history {
    const char *family;
    st_history_by by;
    bool chosen;                     // by itself: of the first kind that has several versions
    st_compare_rules rules;
    st_compare_record **records;
    size_t record_count, record_capacity;
    st_history_series *series;
    size_t count, capacity;
    st_history_finding *findings;
    size_t finding_count, finding_capacity;
    size_t versions;                 // distinct ones
} st_history;

// `by` -1: chosen. The filter's family must stand. ST_NOTHING when there is no winner of it.
st_code st_history_load(st_store *store, const st_compare_filter *filter, int by, const st_compare_rules *rules,
                        st_history *out, st_error *error);
void st_history_release(st_history *made);
// Each finding as a sentence; "no driver made reduce slower …" when there is none.
void st_history_sentence(const st_history *made, const st_history_finding *finding, st_text *out);
void st_history_no_finding(const st_history *made, st_text *out);
// Eight heights; `unicode` false: "_.:-=+*#".
void st_history_sparkline(const st_history_series *series, bool unicode, st_text *out);

typedef struct st_history_print {
    bool colour, unicode;
    int width;
} st_history_print;
void st_history_text(const st_history *made, const st_history_print *print, st_text *out);
void st_history_markdown(const st_history *made, bool unicode, st_text *out);
// "schema": "simtune.version_history/1"; ST_NO_MEMORY alone.
st_code st_history_json(const st_history *made, st_text *out, st_error *error);

#endif
