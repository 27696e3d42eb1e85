// SPDX-License-Identifier: Apache-2.0
// Shared by the files that write the page. One file a part of the page; page.c says in which order they stand.
//
// How charts are made: the plot is an SVG of PAGE_WIDE × PAGE_HIGH units that stretches with its place
// (preserveAspectRatio none, strokes that do not scale), and every text around it is HTML, so that letters stay
// readable at any width. Points are one path, "M12 34h0" each, in the order of the problem's candidates that the chart
// shows: the script reads the places back out of it (page.js, "points"). Rows of tables have box plots (page_box), over which
// the script puts points where they are looked at, by the ends of the scale that stand beside them.
#ifndef SIMTUNE_REPORTS_PAGE_INTERNAL_H
#define SIMTUNE_REPORTS_PAGE_INTERNAL_H

#include "reports/report.h"

enum { PAGE_WIDE = 1000, PAGE_HIGH = 1000 };
enum { PAGE_POINTS_MOST = 4000 }; // of one chart; of more every second, third … is drawn, and the page says so

typedef struct page {
    const st_report *report;
    st_text *out;
    st_text scratch;   // for texts that are escaped when they are whole
} page;

// One problem in one state of the cache.
typedef struct page_place {
    const st_reported_session *session;
    const st_reported_problem *problem;
    const st_reported_result *result;
    int session_index, problem_index, cache;
} page_place;

// --- page_write.c: raw, and escaped
void page_raw(page *to, const char *html);
void page_rawf(page *to, const char *format, ...) ST_PRINTF(2, 3); // for numbers and words of ours
void page_words(page *to, const char *text);      // escaped: anything may stand in it
void page_name(page *to, const char *text);       // the same, and may be broken after an underscore
void page_signed(page *to, double value, int digits); // "+1.5", "−1.5"
void page_bytes(page *to, const char *text, size_t length);
void page_scratch(page *to);                      // writes what stands in `scratch`, escaped, and clears it
void page_time(page *to, double ns);              // "4.612 µs"
void page_tick(page *to, double ns);              // the same for axes: "5 ms"
void page_speed(page *to, double gbs);
void page_share(page *to, double share);
void page_times(page *to, double ratio);          // "4.07 ×"
void page_count(page *to, double count);          // "1 234 567" with thin spaces
void page_problem(page *to, const char *problem); // "T=f32 n=256Mi"
// What all problems of a session have alike (varying false), or what tells this one from the others (true).
void page_problem_part(page *to, const st_reported_session *session, const char *problem, bool varying);
// The configuration of a candidate, what differs from `standard` (-1: none) marked; copied as plain text.
void page_configuration(page *to, const page_place *at, int candidate, int standard);
// Only what differs from the default; "the default" when nothing does.
void page_differences(page *to, const page_place *at, int candidate);
// The beginning of a candidate's id, which chooses the candidate where scripts run.
void page_candidate(page *to, const page_place *at, int candidate);
void page_credit_words(page *to, const page_place *at, size_t credit); // "VEC 1 → 4, ITEMS 4 → 16 (24 in the end)"
void page_step_words(page *to, const page_place *at, const st_reported_step *step); // "VEC 1 → 4; with it ITEMS 4 → 16"
// The title of an element: what a parameter is, and this value of it (NULL: none). Nothing where neither is known.
void page_meaning(page *to, const st_reported_session *session, const char *name, const char *value);
void page_meaning_words(page *to, const st_reported_session *session, size_t parameter); // "VEC: elements of a load. "
void page_limit(page *to, const page_place *at);  // sentences: what it moves, and of which limit that is how much
void page_roles(page *to, unsigned roles);        // "loads in flight, registers"; "-" for none
void page_stall_class(page *to, const char *name); // " w-long_scoreboard"
const char *page_waits_for(const char *stall_name); // "a value from global memory"

// What is wider than the page scrolls in a box of its own, which the keyboard reaches; closed by </div>.
void page_scroll(page *to, const char *label);

// --- page_chart.c
typedef struct page_scale { // logarithmic from `low` to `high`, both > 0; or linear
    double low, high;
    bool is_log;
} page_scale;
// Makes room about the ends and keeps them apart. NaN where there is nothing.
page_scale page_scale_log(double low, double high);
page_scale page_scale_linear(double low, double high);
double page_scale_at(const page_scale *scale, double value); // 0…1
// At most `most` round values within the scale; returns how many.
size_t page_scale_ticks(const page_scale *scale, double *ticks, size_t most);
void page_point(page *to, double x, double y);   // 0…1 from the left, from the top: "M12 34h0"
size_t page_step(size_t points);                  // every how many-th point is drawn
// A box plot that costs few bytes: the places (0…1) of the least, a quarter, the median, three quarters, the most. The style
// sheet draws it (.boxed); closed by </span>. `more`: further attributes.
void page_box(page *to, const double places[5], const char *more);
void page_svg_begin(page *to, const char *classes, const char *label); // label: for those who do not see it
void page_svg_end(page *to);
void page_chart_begin(page *to, const char *classes); // the frame about a plot with axes
void page_chart_y_times(page *to, const page_scale *scale); // labels and their grid lines
void page_chart_end(page *to);

// --- the parts, in the order of the page
void page_verdict(page *to, int session);
void page_trust(page *to, const st_reported_session *session);
void page_why(page *to, const page_place *at);
void page_waits(page *to, const page_place *at);
void page_roofline(page *to, const page_place *at);
void page_changes(page *to, const page_place *at);
void page_findings(page *to, const page_place *at);
void page_top(page *to, const page_place *at);
void page_landscape(page *to, const page_place *at);
void page_heat(page *to, const page_place *at);
void page_search(page *to, const page_place *at);
void page_failures(page *to, const page_place *at);
void page_samples(page *to, const page_place *at);
void page_sizes(page *to, int session);
void page_source(page *to, const page_place *at);
void page_parameters(page *to, int session);
void page_past(page *to, const st_reported_session *session);
void page_reproduce(page *to, const st_reported_session *session);
void page_data(page *to, int session);
void page_compare(page *to); // several sessions

// --- page_assets.c is made at build time from page.css and page.js
extern const char st_page_css[], st_page_js[];

// --- report_json.c: for_page: safe between <script> and </script>
st_code report_json_write(const st_report *report, bool for_page, st_text *out, st_error *error);

#endif
