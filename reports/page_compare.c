// SPDX-License-Identifier: Apache-2.0
// Several sessions in one report: what each was measured with, their winners problem by problem, and their landscapes one
// over the other. Invariants: 1. problems meet only by family and text; 2. a difference is shown, not judged: the command
// that judges it against noise stands beside; 3. a session keeps its colour and its letter everywhere.
#include "reports/page_internal.h"

#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_POINTS = 160, SESSIONS_COLOURED = 6 };

static void add_key(page *to, size_t session)
{
    page_rawf(to, "<i class=\"key c%zu\"></i><b>%c</b> ", session % SESSIONS_COLOURED, (char)('A' + session % 26));
}

// The same problem in another session; NULL: it has none.
static const st_reported_problem *same_problem(const st_reported_session *in, const char *family, const char *text)
{
    for (size_t p = 0; p < in->count && strcmp(in->session.family, family) == 0; p++)
        if (strcmp(in->problems[p].text, text) == 0)
            return &in->problems[p];
    return NULL;
}

// --- what they are ---------------------------------------------------------------------------------------------------

static void add_sessions(page *to)
{
    page_scroll(to, "sessions");
    page_raw(to, "<table><thead><tr><th scope=\"col\">session</th><th scope=\"col\">device</th><th scope=\"col\">date"
                 "</th><th scope=\"col\">driver</th><th scope=\"col\">compiler</th><th scope=\"col\">template</th><th "
                 "scope=\"col\" "
                 "class=\"n\">tried</th><th scope=\"col\">trust</th></tr></thead><tbody>");
    for (size_t i = 0; i < to->report->count; i++) {
        const st_reported_session *session = &to->report->sessions[i];
        char date[ST_DATE_TEXT];
        st_clock_date(session->session.started_ms, date);
        page_raw(to, "<tr><th scope=\"row\">");
        add_key(to, i);
        page_rawf(to, "<a href=\"#s%zu\">", i);
        page_words(to, session->label);
        page_raw(to, "</a></th><td>");
        page_words(to, session->device_name);
        page_rawf(to, "<small>sm_%d, %d SMs</small></td><td>%.10s</td><td>", session->cc, session->sm_count, date);
        page_words(to, session->driver);
        page_raw(to, "</td><td>");
        page_words(to, session->compiler);
        page_rawf(to, "</td><td><code>%.8s</code></td><td class=\"n\">", session->template_hash);
        page_count(to, (double)session->candidate_count);
        page_rawf(to, "</td><td>%s</td></tr>", st_reported_level_word(st_report_trust(session)));
    }
    page_raw(to, "</tbody></table></div>");
}

// --- problem by problem ----------------------------------------------------------------------------------------------

static const st_reported_result *result_in(const page *to, size_t session, const char *family, const char *text,
                                           int cache)
{
    const st_reported_problem *problem = same_problem(&to->report->sessions[session], family, text);
    return problem && problem->results[cache].winner >= 0 ? &problem->results[cache] : NULL;
}

static void add_marks(page *to, const char *family, const char *text, int cache)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < to->report->count; i++) {
        const st_reported_result *result = result_in(to, i, family, text, cache);
        if (result) {
            least = fmin(least, result->winner_ns);
            most = fmax(most, result->winner_ns);
        }
    }
    page_scale scale = page_scale_log(least / 1.01, most * 1.01);
    page_raw(to, "<svg class=\"strip\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    for (size_t i = 0; i < to->report->count; i++) {
        const st_reported_result *result = result_in(to, i, family, text, cache);
        if (!result)
            continue;
        page_rawf(to, "<path class=\"dot c%zu\" d=\"", i % SESSIONS_COLOURED);
        page_point(to, page_scale_at(&scale, result->winner_ns), 0.5);
        page_raw(to, "\"/>");
    }
    page_raw(to, "</svg>");
}

static void add_problem_row(page *to, const char *family, const char *text, int cache)
{
    const st_reported_result *first = NULL;
    page_raw(to, "<tr><th scope=\"row\">");
    page_words(to, family);
    page_raw(to, " ");
    page_problem(to, text);
    page_rawf(to, "</th><td>%s</td>", st_report_cache_name(cache));
    for (size_t i = 0; i < to->report->count; i++) {
        const st_reported_result *result = result_in(to, i, family, text, cache);
        page_raw(to, "<td class=\"n\">");
        page_time(to, result ? result->winner_ns : NAN);
        if (result && first) {
            page_raw(to, "<small>");
            page_signed(to, 100 * (result->winner_ns / first->winner_ns - 1), 1);
            page_raw(to, " %</small>");
        } else if (result)
            page_raw(to, "<small>the first</small>");
        page_raw(to, "</td><td class=\"n\">");
        page_share(to, result ? result->limit_share : NAN);
        page_raw(to, "</td>");
        first = first ? first : result;
    }
    page_raw(to, "<td class=\"stripcell\">");
    add_marks(to, family, text, cache);
    page_raw(to, "</td></tr>");
}

// Whether an earlier session has it already.
static bool is_listed(const page *to, size_t session, const char *family, const char *text)
{
    for (size_t i = 0; i < session; i++)
        if (same_problem(&to->report->sessions[i], family, text))
            return true;
    return false;
}

static size_t sessions_with(const page *to, const char *family, const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < to->report->count; i++)
        count += same_problem(&to->report->sessions[i], family, text) != NULL;
    return count;
}

// Those that several sessions have, or the others.
static size_t add_table(page *to, bool shared)
{
    size_t rows = 0;
    page_scroll(to, "winners of the sessions");
    page_raw(to, "<table><thead><tr><th scope=\"col\">problem</th><th "
                 "scope=\"col\">cache</th>");
    for (size_t i = 0; i < to->report->count; i++) {
        page_raw(to, "<th scope=\"col\" class=\"n\">");
        add_key(to, i);
        page_raw(to, "</th><th scope=\"col\" class=\"n\">of limit</th>");
    }
    page_raw(to, "<th scope=\"col\" class=\"stripcell\">time, logarithmic</th></tr></thead><tbody>");
    for (size_t s = 0; s < to->report->count; s++) {
        const st_reported_session *session = &to->report->sessions[s];
        for (size_t p = 0; p < session->count; p++) {
            const char *text = session->problems[p].text;
            bool wanted = (sessions_with(to, session->session.family, text) > 1) == shared;
            for (int cache = 0; cache < ST_REPORT_CACHES && wanted; cache++)
                if (session->problems[p].results[cache].measured && !is_listed(to, s, session->session.family, text)) {
                    add_problem_row(to, session->session.family, text, cache);
                    rows++;
                }
        }
    }
    page_raw(to, "</tbody></table></div>");
    return rows;
}

static void add_problems(page *to, bool any_shared)
{
    if (any_shared) {
        page_raw(to, "<h2>Winners, problem by problem</h2>");
        add_table(to, true);
    }
    page_raw(to, "<details><summary>Problems that one session alone has</summary>");
    if (!add_table(to, false))
        page_raw(to, "<p class=\"note\">There are none.</p>");
    page_raw(to, "</details><p class=\"note\">A difference is shown here, not judged: <code>simtune compare ");
    page_rawf(to, "%.8s %.8s</code> tells it from noise.</p>", to->report->sessions[0].session.id,
              to->report->sessions[1].session.id);
}

// --- landscapes ------------------------------------------------------------------------------------------------------

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Times of a problem, ascending. NULL: no memory; *count 0: none.
static double *sorted_times(const st_reported_problem *problem, int cache, size_t *count)
{
    double *times = st_malloc((problem->count ? problem->count : 1) * sizeof *times);
    *count = 0;
    for (size_t i = 0; i < problem->count && times; i++)
        if (problem->candidates[i].times[cache].comparable_ns > 0)
            times[(*count)++] = problem->candidates[i].times[cache].comparable_ns;
    if (times && *count)
        qsort(times, *count, sizeof *times, by_number);
    return times;
}

static bool add_curve(page *to, size_t session, const st_reported_problem *problem, int cache, const page_scale *scale)
{
    size_t count;
    double *times = sorted_times(problem, cache, &count);
    if (!times)
        return false;
    page_rawf(to, "<path class=\"curve c%zu\" d=\"", session % SESSIONS_COLOURED);
    for (size_t i = 0; i < CURVE_POINTS && count; i++) {
        size_t at = i * (count - 1) / (CURVE_POINTS - 1);
        page_rawf(to, "%c%.0f %.0f", i ? 'L' : 'M', 1000.0 * (double)i / (CURVE_POINTS - 1),
                  1000 * (1 - page_scale_at(scale, times[at])));
    }
    page_raw(to, "\"/>");
    st_free(times);
    return true;
}

// The same in figures.
static bool add_curve_row(page *to, size_t session, const st_reported_problem *problem, int cache)
{
    static const double shares[] = {0, 0.1, 0.5, 0.9, 1};
    size_t count;
    double *times = sorted_times(problem, cache, &count);
    if (!times)
        return false;
    page_raw(to, "<tr><th scope=\"row\">");
    add_key(to, session);
    page_words(to, to->report->sessions[session].label);
    page_rawf(to, "</th><td class=\"n\">%zu</td>", count);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        page_raw(to, "<td class=\"n\">");
        page_time(to, count ? st_quantile(times, count, shares[i]) : NAN);
        page_raw(to, "</td>");
    }
    page_raw(to, "</tr>");
    st_free(times);
    return true;
}

static void widen(const st_reported_problem *problem, int cache, double *least, double *most)
{
    for (size_t i = 0; i < problem->count; i++) {
        double ns = problem->candidates[i].times[cache].comparable_ns;
        if (ns > 0) {
            *least = fmin(*least, ns);
            *most = fmax(*most, ns);
        }
    }
}

static void add_curves(page *to, const char *family, const char *text, int cache)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < to->report->count; i++) {
        const st_reported_problem *problem = same_problem(&to->report->sessions[i], family, text);
        if (problem)
            widen(problem, cache, &least, &most);
    }
    page_scale scale = page_scale_log(least, most);
    page_raw(to, "<figure><figcaption><b>All configurations</b>, fastest first: ");
    page_problem(to, text);
    page_rawf(to, ", %s cache</figcaption>", st_report_cache_name(cache));
    page_chart_begin(to, "rank");
    page_chart_y_times(to, &scale);
    page_raw(to, "<div class=\"plot\">");
    page_svg_begin(to, "", "Times of all configurations of each session, sorted; the tables of the sessions have them");
    for (size_t i = 0; i < to->report->count; i++) {
        const st_reported_problem *problem = same_problem(&to->report->sessions[i], family, text);
        if (problem && problem->results[cache].measured && !add_curve(to, i, problem, cache, &scale))
            to->out->failed = true;
    }
    page_svg_end(to);
    page_raw(to, "</div><div class=\"axis x title ends\"><span>fastest</span><span>slowest</span></div>");
    page_chart_end(to);
    page_raw(to, "</figure>");
    page_scroll(to, "all configurations of the sessions");
    page_raw(to, "<table><thead><tr><th scope=\"col\">session</th><th "
                 "scope=\"col\" class=\"n\">with a time</th><th scope=\"col\" class=\"n\">fastest</th><th "
                 "scope=\"col\" class=\"n\">"
                 "a tenth is faster</th><th scope=\"col\" class=\"n\">half</th><th scope=\"col\" class=\"n\">nine "
                 "tenths</th><th "
                 "scope=\"col\" class=\"n\">slowest</th></tr></thead><tbody>");
    for (size_t i = 0; i < to->report->count; i++) {
        const st_reported_problem *problem = same_problem(&to->report->sessions[i], family, text);
        if (problem && !add_curve_row(to, i, problem, cache))
            to->out->failed = true;
    }
    page_raw(to, "</tbody></table></div>");
}

// The first problem that two sessions have at least, the leading one before others.
static const st_reported_problem *shared_problem(const page *to, const char **family)
{
    for (size_t s = 0; s < to->report->count; s++) {
        const st_reported_session *session = &to->report->sessions[s];
        for (size_t i = 0; i < session->count; i++) {
            size_t p = session->lead >= 0 ? (i + (size_t)session->lead) % session->count : i;
            for (size_t other = s + 1; other < to->report->count; other++)
                if (same_problem(&to->report->sessions[other], session->session.family, session->problems[p].text)) {
                    *family = session->session.family;
                    return &session->problems[p];
                }
        }
    }
    return NULL;
}

void page_compare(page *to)
{
    const char *family = "";
    const st_reported_problem *shared = shared_problem(to, &family);
    page_rawf(to, "<article class=\"compare\" id=\"compare\"><h1>%zu sessions compared</h1>", to->report->count);
    if (!shared)
        page_raw(to, "<p class=\"lede\">No two of them tuned the same problem, so they stand side by side only.</p>");
    add_sessions(to);
    add_problems(to, shared != NULL);
    if (shared)
        add_curves(to, family, shared->text, to->report->cache);
    page_raw(to, "</article>");
}
