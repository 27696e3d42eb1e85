// SPDX-License-Identifier: Apache-2.0
// Shared by the files of comparisons and of the history.
#ifndef SIMTUNE_REPORTS_COMPARE_INTERNAL_H
#define SIMTUNE_REPORTS_COMPARE_INTERNAL_H

#include "reports/compare.h"

#include <jansson.h>

// --- compare_rows.c
st_code compare_record_make(const st_compare_row *row, bool in_store, st_compare_record **out, st_error *error);
void compare_record_free(st_compare_record *record);

// --- compare_judge.c
// Judges `b` against `a`; fills both records' facts of the measurement and everything of the pair but its note and
// counters.
st_code compare_judge(st_store *store, const st_compare_rules *rules, st_compare_record *a, st_compare_record *b,
                      st_compare_pair *out, st_error *error);
unsigned compare_differences(const st_compare_record *a, const st_compare_record *b);

// --- compare_counters.c
st_code compare_counters(st_store *store, st_compare_pair *pair, st_error *error);
// The unit of a moved counter as JSON names it, and what a share is of ("samples", "warp_latency", NULL).
const char *compare_moved_unit(const st_compare_moved *moved);
const char *compare_moved_of(const st_compare_moved *moved);
// What it means in words; "" unknown.
const char *compare_moved_meaning(const st_compare_moved *moved);

// --- compare_text.c
// "+2.7 %": how much longer the new time is. "-": unknown.
void compare_add_gap(st_text *out, double ratio);
// "+2.7 % (+2.4 to +3.0)".
void compare_add_gaps(st_text *out, st_interval ratio);
// "12 compared: 1 better, 9 same, 2 worse (1 acknowledged), 0 cannot tell".
void compare_add_counts(st_text *out, const st_comparison *made);

// --- compare_json.c
// Each NULL, or false, when memory was out.
json_t *compare_interval_json(st_interval ratio);
json_t *compare_record_json(const st_compare_record *record, double median_ns);
json_t *compare_differs_json(unsigned differs);
json_t *compare_rules_json(const st_compare_rules *rules);
bool compare_put_problem(json_t *object, const st_compare_row *row);
bool compare_put_change(json_t *object, const st_compare_pair *pair); // verdict, interval, what differs and moved

#endif
