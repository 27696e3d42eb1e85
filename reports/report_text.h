// SPDX-License-Identifier: Apache-2.0
// The report in a terminal and in the comment on a change. Promise: they say what the page says, in its words and
// figures (one model, report.h), shorter; no line of the terminal's is wider than asked for, except for a word that
// is; nothing that others wrote steers a terminal or ends a cell.
#ifndef SIMTUNE_REPORTS_REPORT_TEXT_H
#define SIMTUNE_REPORTS_REPORT_TEXT_H

#include "reports/report.h"

typedef struct st_report_text_options {
    bool colour;   // never the only carrier of a meaning
    bool unicode;  // bars of blocks; else of ASCII
    int width;     // columns; 0: 80, never less than 60
} st_report_text_options;

// For each session verdict, chart, trust, what failed and the next commands; then, with several, a comparison.
st_code st_report_text(const st_report *report, const st_report_text_options *options, st_text *out, st_error *error);
// Markdown as GitHub and GitLab read it: the verdict first, long tables folded.
st_code st_report_markdown(const st_report *report, st_text *out, st_error *error);

// --- what both are made of (report_sides.c) ---------------------------------------------------------------------
// A problem that at least two sessions have a winner of, in the report's state of the cache.
typedef struct st_report_shared {
    const char *family, *problem;
    size_t *place;         // one a session: index of the problem there, SIZE_MAX: it has none or no winner
    double best_ns;        // of all sessions
} st_report_shared;
// *out is released by st_report_shared_free; by first appearance.
st_code st_report_shared_find(const st_report *report, st_report_shared **out, size_t *count, st_error *error);
void st_report_shared_free(st_report_shared *shared, size_t count);
// The times of all measured configurations of a problem, counted in `bins` bins of equal width in log time from the
// fastest to the slowest. False: fewer than 8 configurations.
typedef struct st_report_spread { double low_ns, median_ns, high_ns; size_t measured, within; } st_report_spread;
bool st_report_spread_of(const st_reported_problem *problem, int cache, size_t *bins, size_t count,
                         st_report_spread *out);
// "3 wrong, 1 compile": what somebody has to look at; "" when nothing failed. Returns how many.
size_t st_report_failures(const size_t *outcomes, st_text *out);

#endif
