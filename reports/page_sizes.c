// SPDX-License-Identifier: Apache-2.0
// What belongs to the session as a whole: its problems side by side, where its time went, how the winners changed over
// time, and how to do it again. Invariants: 1. a problem without a winner keeps its row; 2. the command is the one that
// was typed.
#include "reports/page_internal.h"

#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"

#include <math.h>
#include <string.h>

// --- sizes side by side ----------------------------------------------------------------------------------------------

// Default and winner on a line of shares of the limit.
static void add_dumbbell(page *to, double before, double after)
{
    double from = fmin(fmax(before, 0), 1.1) / 1.1, until = fmin(fmax(after, 0), 1.1) / 1.1;
    page_raw(to, "<svg class=\"strip dumbbell\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" "
                 "aria-hidden=\"true\"><path "
                 "class=\"rule\" d=\"M909 0V1000\"/>");
    if (isfinite(before) && isfinite(after))
        page_rawf(to, "<path class=\"link\" d=\"M%.0f 500H%.0f\"/>", PAGE_WIDE * from, PAGE_WIDE * until);
    if (isfinite(before)) {
        page_raw(to, "<path class=\"dot d\" d=\"");
        page_point(to, from, 0.5);
        page_raw(to, "\"/>");
    }
    if (isfinite(after)) {
        page_raw(to, "<path class=\"dot w\" d=\"");
        page_point(to, until, 0.5);
        page_raw(to, "\"/>");
    }
    page_raw(to, "</svg>");
}

static void add_interval_words(page *to, st_interval speedup)
{
    if (!isfinite(speedup.low) || !isfinite(speedup.high))
        return;
    int digits = speedup.high - speedup.low < 0.02 && speedup.centre < 1.2 ? 3 : 2;
    page_rawf(to, " <small>%.*f–%.*f</small>", digits, speedup.low, digits, speedup.high);
}

static void add_size_row(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    double before = result->limit_share * result->winner_ns / result->standard_ns;
    page_rawf(to, "<tr data-place=\"s%dp%d%s\"><th scope=\"row\"><a href=\"#s%dp%d%s\">", at->session_index,
              at->problem_index, st_report_cache_name(at->cache), at->session_index, at->problem_index,
              st_report_cache_name(at->cache));
    page_problem_part(to, at->session, at->problem->text, true);
    page_rawf(to, "</a></th><td>%s</td>", st_report_cache_name(at->cache));
    if (result->winner < 0) {
        page_rawf(to, "<td colspan=\"7\">no winner; %zu measured</td></tr>", result->measured);
        return;
    }
    page_raw(to, "<td class=\"n\">");
    page_time(to, result->standard >= 0 ? result->standard_ns : NAN);
    page_raw(to, "</td><td class=\"n win\">");
    page_time(to, result->winner_ns);
    page_raw(to, "</td><td class=\"n\"><b>");
    page_times(to, result->speedup.centre);
    page_raw(to, "</b>");
    add_interval_words(to, result->speedup);
    page_rawf(to, result->tied > 1 ? "</td><td class=\"whole\">%d tied</td><td class=\"n\">" : "</td><td></td><td class=\"n\">",
              result->tied);
    page_share(to, result->limit_share);
    page_raw(to, "</td><td class=\"stripcell\">");
    add_dumbbell(to, result->standard >= 0 ? before : NAN, result->limit_share);
    page_raw(to, "</td><td>");
    page_differences(to, at, result->winner);
    page_raw(to, "</td></tr>");
}

void page_sizes(page *to, int session)
{
    const st_reported_session *of = &to->report->sessions[session];
    page_rawf(to,
              "<section class=\"sizes\" id=\"s%d-sizes\"><h2>Sizes side by side</h2><p class=\"note\">Winner against "
              "default for each "
              "problem and state of the cache. The strip is the share of the measured limit of the memory: default, winner, "
              "and a line at 100 %%. More than that is possible: the limit is a measurement too, and small data stay in the "
              "cache.",
              session);
    if (of->count > 1) {
        page_raw(to, " All have <code>");
        page_problem_part(to, of, of->problems[0].text, false);
        page_raw(to, "</code>.");
    }
    page_raw(to, "</p>");
    page_scroll(to, "all problems");
    page_raw(to, "<table class=\"matrix\"><thead><tr><th scope=\"col\">problem</th><th "
                 "scope=\"col\">cache</th>");
    page_raw(to, "<th scope=\"col\" class=\"n\"><i class=\"key d\"></i>default</th><th scope=\"col\" class=\"n\"><i "
                 "class=\"key w\"></i>"
                 "winner</th><th scope=\"col\" class=\"n\">faster by</th><th scope=\"col\"></th><th scope=\"col\" "
                 "class=\"n\">of the limit</th>"
                 "<th scope=\"col\" class=\"stripcell\"></th><th scope=\"col\">winner: differs from the default "
                 "in</th></tr></thead><tbody>");
    for (size_t p = 0; p < of->count; p++)
        for (int i = 0; i < ST_REPORT_CACHES; i++) {
            int cache = i == 0 ? to->report->cache : !to->report->cache; // the one that is asked for first
            const st_reported_problem *problem = &of->problems[p];
            page_place at = {of, problem, &problem->results[cache], session, (int)p, cache};
            if (i == 0 || at.result->measured)
                add_size_row(to, &at);
        }
    page_raw(to, "</tbody></table></div></section>");
}

// --- over time -------------------------------------------------------------------------------------------------------

static void add_past_line(page *to, const st_reported_result *result)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < result->past_count; i++) {
        low = fmin(low, result->past[i].ns);
        high = fmax(high, result->past[i].ns);
    }
    page_scale scale = page_scale_log(low / 1.02, high * 1.02);
    page_raw(to, "<svg class=\"strip past\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" "
                 "aria-hidden=\"true\"><path class=\"curve\" d=\"");
    for (size_t i = 0; i < result->past_count; i++)
        page_rawf(to, "%c%.0f %.0f", i ? 'L' : 'M', 1000.0 * (double)i / (double)(result->past_count - 1),
                  1000 * (1 - page_scale_at(&scale, result->past[i].ns)));
    page_raw(to, "\"/><path class=\"dots\" d=\"");
    for (size_t i = 0; i < result->past_count; i++)
        page_point(to, (double)i / (double)(result->past_count - 1), 1 - page_scale_at(&scale, result->past[i].ns));
    page_raw(to, "\"/></svg>");
}

static void add_past_rows(page *to, const st_reported_session *session, const st_reported_problem *problem, int cache)
{
    const st_reported_result *result = &problem->results[cache];
    for (size_t i = 0; i < result->past_count; i++) {
        const st_reported_past *past = &result->past[i];
        char date[ST_DATE_TEXT];
        st_clock_date(past->ended_ms, date);
        page_raw(to, i ? "<tr>" : "<tr class=\"first\">");
        if (i == 0) {
            page_rawf(to, "<th scope=\"rowgroup\" rowspan=\"%zu\">", result->past_count);
            page_problem(to, problem->text);
            page_rawf(to, "<small>%s</small></th><td class=\"stripcell\" rowspan=\"%zu\">", st_report_cache_name(cache),
                      result->past_count);
            add_past_line(to, result);
            page_raw(to, "</td>");
        }
        page_rawf(to, "<td>%.10s</td><td><code>%.8s</code>%s</td><td class=\"n\">", date, past->session_id,
                  strcmp(past->session_id, session->session.id) == 0 ? " this one" : "");
        page_time(to, past->ns);
        page_raw(to, "</td><td class=\"n\">");
        if (i) {
            page_signed(to, 100 * (past->ns / result->past[i - 1].ns - 1), 1);
            page_raw(to, " %");
        }
        page_raw(to, "</td><td>");
        page_words(to, past->driver);
        page_raw(to, "</td><td>");
        page_words(to, past->compiler);
        page_rawf(to, "</td><td><code>%.8s</code></td></tr>", past->template_hash);
    }
}

void page_past(page *to, const st_reported_session *session)
{
    size_t several = 0;
    for (size_t p = 0; p < session->count; p++)
        for (int cache = 0; cache < ST_REPORT_CACHES; cache++)
            several += session->problems[p].results[cache].past_count > 1;
    page_raw(to, "<section><h2>Over time</h2>");
    if (!several) {
        page_raw(to, "<p class=\"note\">This store knows no other session that tuned these problems on this "
                     "device.</p></section>");
        return;
    }
    page_raw(to, "<p class=\"note\">The winner of each session that tuned the same problem on this device. "
                 "<code>simtune history ");
    page_words(to, session->session.family);
    page_raw(to, "</code> judges the changes.</p>");
    page_scroll(to, "winners over time");
    page_raw(to, "<table><thead><tr><th scope=\"col\">problem</th><th scope=\"col\" "
                 "class=\"stripcell\"></th><th scope=\"col\">date</th><th scope=\"col\">session</th><th scope=\"col\" "
                 "class=\"n\">winner</th>"
                 "<th scope=\"col\" class=\"n\">change</th><th scope=\"col\">driver</th><th "
                 "scope=\"col\">compiler</th><th scope=\"col\">"
                 "template</th></tr></thead><tbody>");
    for (size_t p = 0; p < session->count; p++)
        for (int cache = 0; cache < ST_REPORT_CACHES; cache++)
            if (session->problems[p].results[cache].past_count > 1)
                add_past_rows(to, session, &session->problems[p], cache);
    page_raw(to, "</tbody></table></div></section>");
}

// --- the run ---------------------------------------------------------------------------------------------------------

// To add a phase: its row; the run stores it under "phases" of its summary.
static const struct {
    const char *key, *name, *meaning;
} phases[] = {{"screen", "screening", "verify all, a few samples each, more for the survivors"},
              {"finals", "finals", "the best and the default by turns"},
              {"profile", "profiling", "stall samples and counters, in a process of its own"},
              {"compile_cpu", "compiling", "processor time of all compile processes together"}};

static void add_budget(page *to, const st_reported_session *session)
{
    const json_t *spent = json_object_get(session->facts, "phases");
    double whole = session->facts ? st_json_number_or_nan(session->facts, "seconds") : NAN, most = whole;
    if (!json_is_object(spent))
        return;
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        most = fmax(most, st_json_number_or_nan(spent, phases[i].key));
    page_raw(to, "<h3>Where the run's time went</h3>");
    page_scroll(to, "time of the run");
    page_raw(to, "<table class=\"budget\"><tbody>");
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        double seconds = st_json_number_or_nan(spent, phases[i].key);
        if (isfinite(seconds))
            page_rawf(
                to,
                "<tr><th scope=\"row\">%s<small>%s</small></th><td class=\"n\">%.1f s</td><td class=\"barcell\"><span "
                "class=\"bar\"><i style=\"width:%.1f%%\"></i></span></td></tr>",
                phases[i].name, phases[i].meaning, seconds, most > 0 ? 100 * seconds / most : 0);
    }
    page_rawf(
        to,
        "<tr><th scope=\"row\">all<small>by the clock; phases overlap</small></th><td class=\"n\">%.1f s</td><td "
        "class=\"barcell\"><span class=\"bar d\"><i style=\"width:%.1f%%\"></i></span></td></tr></tbody></table></div>",
        whole, most > 0 ? 100 * whole / most : 0);
}

static void add_fact(page *to, const char *name, const char *value)
{
    if (!value || !value[0])
        return;
    page_rawf(to, "<dt>%s</dt><dd>", name);
    page_words(to, value);
    page_raw(to, "</dd>");
}

static void add_date(page *to, const char *name, int64_t ms)
{
    char date[ST_DATE_TEXT];
    if (ms <= 0)
        return;
    st_clock_date(ms, date);
    add_fact(to, name, date);
}

static void add_facts(page *to, const st_reported_session *session)
{
    static const char *const states[] = {"running", "finished", "interrupted"};
    page_raw(to, "<dl class=\"facts\">");
    add_fact(to, "session", session->session.id);
    add_fact(to, "state", states[session->session.status]);
    add_date(to, "begun", session->session.started_ms);
    add_date(to, "ended", session->session.finished_ms);
    add_fact(to, "device", session->device_name);
    add_fact(to, "device's UUID", session->device_uuid);
    if (session->cc > 0) {
        st_text_addf(&to->scratch, "sm_%d, %d SMs, ", session->cc, session->sm_count);
        st_report_bytes(&to->scratch, session->memory_bytes);
        st_text_add(&to->scratch, " of memory, L2 ");
        st_report_bytes(&to->scratch, session->l2_bytes);
        page_raw(to, "<dt>class</dt><dd>");
        page_scratch(to);
        page_raw(to, "</dd>");
    }
    if (isfinite(session->read_gbs)) {
        page_raw(to, "<dt>memory, measured</dt><dd>reads ");
        page_speed(to, session->read_gbs);
        page_raw(to, ", copies ");
        page_speed(to, session->copy_gbs);
        page_raw(to, "</dd>");
    }
    add_fact(to, "driver", session->driver);
    add_fact(to, "compiler", session->compiler);
    add_fact(to, "simtune", session->tool);
    add_fact(to, "template", session->template_hash);
    page_raw(to, "</dl>");
}

void page_reproduce(page *to, const st_reported_session *session)
{
    page_raw(
        to,
        "<section class=\"reproduce\"><h2>How to reproduce it</h2><p>The same session again, on the same device:</p>"
        "<pre class=\"command\"><code>");
    st_report_command(session, &to->scratch);
    if (!to->scratch.length)
        st_text_add(&to->scratch, "the command was not stored");
    page_scratch(to);
    page_raw(to,
             "</code></pre><p>One candidate, as a program of its own with its nvcc and ncu command lines (the "
             "beginning of its id is "
             "enough), and the page:</p><pre class=\"command\"><code>simtune repro ID -o repro.cu\nsimtune report ");
    page_rawf(to, "%.12s -o report.html</code></pre>", session->session.id);
    add_facts(to, session);
    add_budget(to, session);
    page_raw(to, "</section>");
}

// --- all data --------------------------------------------------------------------------------------------------------

void page_data(page *to, int session)
{
    const st_reported_session *of = &to->report->sessions[session];
    page_rawf(
        to,
        "<section class=\"data\" id=\"s%d-data\" data-session=\"%d\"><h2>All candidates</h2><div "
        "class=\"candidates\"><p "
        "class=\"note\">This table, its filter and the CSV downloads are made by the page's script. Without scripts "
        "the same "
        "rows are in <code>simtune query --session %.12s --csv</code>, and as JSON in this page's source (the element "
        "<code>#data</code>; docs/report.md says what stands where).</p></div></section>",
        session, session, of->session.id);
}
