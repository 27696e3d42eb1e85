// SPDX-License-Identifier: Apache-2.0
// Shared by the files that load a report.
#ifndef SIMTUNE_REPORTS_REPORT_INTERNAL_H
#define SIMTUNE_REPORTS_REPORT_INTERNAL_H

#include "reports/report.h"

// Where a candidate stands, found by its key.
typedef struct report_place {
    int64_t key;
    uint32_t problem, candidate;
} report_place;
typedef struct report_places {
    report_place *items; // sorted by key
    size_t count, capacity;
} report_places;
const report_place *report_place_of(const report_places *places, int64_t key); // NULL: another session's

// The element after the last of a list that grows; NULL: no memory.
#define REPORT_ADD(list, count, capacity) report_add((void **)&(list), &(count), &(capacity), sizeof *(list))
void *report_add(void **list, size_t *count, size_t *capacity, size_t bytes); // zeroed, and counted

// --- report_parameters.c: parameters, their values, and the values of each candidate
st_code report_parameters(st_reported_session *session, st_error *error);
// --- report_source.c: roles, groups and defaults out of the stored text of the template
st_code report_source(st_reported_session *session, const char *template_json, st_error *error);
// --- report_results.c: winners, finals, changes, importance
st_code report_results(st_store *store, st_reported_session *session, const report_places *places, st_error *error);
// --- report_steps.c: the way from the default to the winner, and what each change does by itself
st_code report_steps(const st_reported_session *session, const st_reported_problem *problem, int cache,
                     st_reported_result *result, st_error *error);
// --- report_credits.c: after the steps
st_code report_credits(const st_reported_session *session, const st_reported_problem *problem, st_reported_result *result,
                       st_error *error);
st_code report_pairs(const st_reported_session *session, const st_reported_problem *problem, int cache,
                     st_reported_result *result, st_error *error);
// --- report_profile.c
st_code report_profile_load(st_store *store, const st_reported_session *session, const st_reported_problem *problem,
                            int cache, int candidate, st_reported_profile **out, st_error *error);
void report_profile_free(st_reported_profile *profile);
// --- report_trust.c: what may be doubted, after everything else
st_code report_trust(st_reported_session *session, st_error *error);

#endif
