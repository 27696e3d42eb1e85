// SPDX-License-Identifier: Apache-2.0
// The page: one self-contained HTML file. Invariants: 1. no network: styles, script and data stand inside, and a policy in
// the head forbids everything else; 2. all that is to be read stands in the HTML itself: the script only adds choosing,
// hovering, filtering, sorting and downloads; 3. the same report gives the same bytes: no date of today, no random order;
// 4. every text of the store is escaped (page_write.c).
// The order of the parts is that of questions: how much faster, can I trust it, why, what else was seen, how do I repeat it.
#include "reports/page_internal.h"

#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/base/version.h"

#include <math.h>
#include <string.h>

enum { PLACES_WHOLE = 100 }; // of more problems and states of the cache, only those that sessions lead with are shown whole

// --- head ------------------------------------------------------------------------------------------------------------

static void add_title(page *to, const st_report_page_options *options)
{
    const st_report *report = to->report;
    if (options && options->title) {
        page_words(to, options->title);
        return;
    }
    for (size_t i = 0; i < report->count && i < 3; i++) {
        page_raw(to, i ? ", " : "");
        page_words(to, report->sessions[i].session.family);
        page_raw(to, " on ");
        page_words(to, report->sessions[i].device_name[0] ? report->sessions[i].device_name : "an unknown device");
    }
    page_raw(to, report->count > 3 ? " and more" : "");
    page_raw(to, " · simtune");
}

static void add_head(page *to, const st_report_page_options *options)
{
    page_raw(to,
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
             "<meta name=\"color-scheme\" content=\"light dark\">"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
             "script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">"
             "<meta name=\"generator\" content=\"simtune " SIMTUNE_VERSION
             "\"><link rel=\"icon\" href=\"data:,\"><title>");
    add_title(to, options);
    page_raw(to, "</title><style>");
    page_raw(to, st_page_css);
    page_raw(to, "</style></head>");
}

// --- one problem -----------------------------------------------------------------------------------------------------

static void add_problem_summary(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    page_raw(to, "<summary><h2>");
    page_problem(to, at->problem->text);
    page_rawf(to, " <span class=\"cache\">%s cache</span></h2><span class=\"short\">", st_report_cache_name(at->cache));
    if (result->winner < 0)
        page_rawf(to, "no winner, %zu measured", result->measured);
    else {
        page_time(to, result->winner_ns);
        if (isfinite(result->speedup.centre)) {
            page_raw(to, ", <b>");
            page_times(to, result->speedup.centre);
            page_raw(to, "</b> as fast as the default");
        }
    }
    page_raw(to, "</span></summary>");
}

// `is_whole` false: the result only.
static void add_problem(page *to, const page_place *at, bool is_open, bool is_whole)
{
    page_rawf(to,
              "<details class=\"problem\" id=\"s%dp%d%s\" data-session=\"%d\" data-problem=\"%d\" data-cache=\"%s\"%s>",
              at->session_index, at->problem_index, st_report_cache_name(at->cache), at->session_index,
              at->problem_index, st_report_cache_name(at->cache), is_open ? " open" : "");
    add_problem_summary(to, at);
    if (!is_whole) {
        page_findings(to, at);
        page_top(to, at);
        page_rawf(to,
                  "<p class=\"note\">This report has more than %d problems, so of this one it shows the result only; its data "
                  "are all here. <code>simtune report %.12s -o report.html</code> makes the whole page of its "
                  "session.</p></details>",
                  PLACES_WHOLE, at->session->session.id);
        return;
    }
    page_why(to, at);
    page_findings(to, at);
    page_top(to, at);
    page_landscape(to, at);
    page_search(to, at);
    page_failures(to, at);
    page_samples(to, at);
    page_source(to, at);
    page_raw(to, "</details>");
}

static size_t places_in(const st_report *report)
{
    size_t places = 0;
    for (size_t s = 0; s < report->count; s++)
        for (size_t p = 0; p < report->sessions[s].count; p++)
            for (int cache = 0; cache < ST_REPORT_CACHES; cache++)
                places += report->sessions[s].problems[p].results[cache].measured > 0;
    return places;
}

// The problem that the report leads with comes first and is open.
static void add_problems(page *to, int session)
{
    const st_reported_session *of = &to->report->sessions[session];
    bool all_whole = places_in(to->report) <= PLACES_WHOLE;
    page_rawf(to, "<div class=\"problems\" id=\"s%d-problems\">", session);
    for (int round = 0; round < 2; round++)
        for (size_t p = 0; p < of->count; p++)
            for (int i = 0; i < ST_REPORT_CACHES; i++) {
                int cache = i == 0 ? to->report->cache : !to->report->cache;
                bool is_lead = (int)p == of->lead && i == 0;
                page_place at = {of, &of->problems[p], &of->problems[p].results[cache], session, (int)p, cache};
                if (is_lead == (round == 0) && (i == 0 || at.result->measured))
                    add_problem(to, &at, is_lead && session == 0, is_lead || all_whole);
            }
    page_raw(to, "</div>");
}

// --- one session -----------------------------------------------------------------------------------------------------

static void add_session(page *to, int session)
{
    const st_reported_session *of = &to->report->sessions[session];
    page_rawf(to, "<article class=\"session\" id=\"s%d\">", session);
    page_verdict(to, session);
    page_trust(to, of);
    add_problems(to, session);
    page_sizes(to, session);
    page_parameters(to, session);
    page_past(to, of);
    page_reproduce(to, of);
    page_data(to, session);
    page_raw(to, "</article>");
}

static void add_navigation(page *to)
{
    page_raw(to, "<a class=\"skip\" href=\"#main\">to the report</a><header class=\"top\"><span "
                 "class=\"brand\">simtune</span><nav "
                 "aria-label=\"parts of the report\">");
    if (to->report->count > 1)
        page_raw(to, "<a href=\"#compare\">compared</a>");
    for (size_t i = 0; i < to->report->count; i++) {
        if (to->report->count > 1) {
            page_rawf(to, "<a href=\"#s%zu\">", i);
            page_words(to, to->report->sessions[i].label);
            page_raw(to, "</a>");
        } else
            page_raw(
                to,
                "<a href=\"#s0-verdict\">verdict</a><a href=\"#s0-problems\">why</a><a href=\"#s0-sizes\">sizes</a><a "
                "href=\"#s0-parameters\">names</a><a href=\"#s0-data\">data</a>");
    }
    page_raw(to, "</nav><div id=\"tools\"></div></header>");
}

static st_code add_data(page *to, st_error *error)
{
    page_raw(to, "<script type=\"application/json\" id=\"data\">");
    st_code code = report_json_write(to->report, true, to->out, error);
    page_raw(to, "</script><script>");
    page_raw(to, st_page_js);
    page_raw(to, "</script>");
    return code;
}

st_code st_report_html(const st_report *report, const st_report_page_options *options, st_text *out, st_error *error)
{
    page to = {.report = report, .out = out};
    unsigned long failed = st_allocations_failed();
    st_text_init(&to.scratch);
    add_head(&to, options);
    page_raw(&to, "<body>");
    add_navigation(&to);
    page_raw(&to, "<main id=\"main\">");
    if (report->count > 1)
        page_compare(&to);
    for (size_t i = 0; i < report->count; i++)
        add_session(&to, (int)i);
    page_raw(&to, "</main><footer>Made by simtune " SIMTUNE_VERSION
                  " from its store alone. Times are medians, intervals are of 95 %, "
                  "dates are UTC.</footer>");
    st_code code = add_data(&to, error);
    page_raw(&to, "</body></html>\n");
    if (code == ST_OK && (out->failed || to.scratch.failed || st_allocations_failed() != failed))
        code = st_fail_memory(error, "writing a page");
    st_text_release(&to.scratch);
    return code;
}
