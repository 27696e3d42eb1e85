// SPDX-License-Identifier: Apache-2.0
// The verdict: how much faster, which changes did it, what it waits on now, the configuration to copy; and whether that
// can be trusted. Invariants: 1. the first sentence is about the problem that the report leads with, and names it; 2. a gain
// stands with all that is credited for it together (report_credits.c).
#include "reports/page_internal.h"

#include "tuner/base/clock.h"

#include <math.h>
#include <string.h>

// What the other problems of the session came to.
static void add_range(page *to, const page_place *at)
{
    double least = INFINITY, most = 0;
    size_t winners = 0;
    for (size_t p = 0; p < at->session->count; p++)
        for (int cache = 0; cache < ST_REPORT_CACHES; cache++) {
            double speedup = at->session->problems[p].results[cache].speedup.centre;
            if (!isfinite(speedup))
                continue;
            winners++;
            least = fmin(least, speedup);
            most = fmax(most, speedup);
        }
    if (winners < 2)
        return;
    page_rawf(to, winners > at->session->count ? " All %zu winners of the session (of %zu problem%s, with a cold and with a warm "
                                                 "cache), <a href=\"#s%d-sizes\">side by side</a>: "
                                               : " All %zu winners of the session, of %zu problem%s, <a "
                                                 "href=\"#s%d-sizes\">side by side</a>: ",
              winners, at->session->count, at->session->count == 1 ? "" : "s", at->session_index);
    page_times(to, least);
    page_raw(to, " to ");
    page_times(to, most);
    page_raw(to, ".");
}

static void add_headline(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    st_interval speedup = result->speedup;
    page_raw(to, "<h1>");
    if (result->winner < 0)
        page_raw(to, "No winner");
    else if (result->winner == result->standard)
        page_raw(to, "The default is the fastest");
    else if (!isfinite(speedup.centre))
        page_raw(to, "A winner, and no default to compare with");
    else if (speedup.low <= 1 && speedup.high >= 1)
        page_raw(to, "No faster than the default");
    else {
        page_raw(to, "<em>");
        page_times(to, speedup.centre);
        page_raw(to, "</em> as fast as the default");
    }
    page_raw(to, "</h1><p class=\"lede\">");
    st_report_verdict(at->session, at->problem, at->cache, &to->scratch);
    page_scratch(to);
    page_raw(to, ".");
    add_range(to, at);
    page_raw(to, "</p>");
    if (!at->session->summary && !at->session->standard_words)
        return;
    page_raw(to, "<p class=\"note\">");
    if (at->session->summary) {
        page_words(to, at->session->session.family);
        page_raw(to, ": ");
        page_words(to, at->session->summary);
        page_raw(to, ". ");
    }
    if (at->session->standard_words) {
        page_raw(to, "The default: ");
        page_words(to, at->session->standard_words);
    }
    page_raw(to, "</p>");
}

// --- which changes did it, and what it waits on now ------------------------------------------------------------------

// Of the one step of a credit.
static size_t between_of(const st_reported_result *result, size_t credit)
{
    size_t i = 0;
    while (i < result->step_count && result->steps[i].credit != credit)
        i++;
    return i < result->step_count ? result->steps[i].between : 0;
}

static void add_cause_item(page *to, const page_place *at, size_t credit)
{
    const st_reported_credit *one = &at->result->credits[credit];
    page_raw(to, "<li><b class=\"worth\">");
    page_times(to, one->gain);
    page_raw(to, "</b><span>");
    page_credit_words(to, at, credit);
    page_raw(to, "<span class=\"cost\">");
    for (size_t i = 0; i < at->session->parameter_count && !one->is_rest; i++) {
        uint16_t from, then;
        if (st_report_credit_move(at->problem, at->result, credit, i, &from, &then) &&
            at->problem->candidates[at->result->standard].values[i] == from)
            page_meaning_words(to, at->session, i);
    }
    if (one->is_rest)
        page_rawf(to, "All the rest of the way: %zu step%s.</span>", one->steps, one->steps == 1 ? "" : "s");
    else if (one->steps > 1)
        page_rawf(to, "Together: %zu steps, one of which undoes a part of another; their gains multiplied.</span>", one->steps);
    else if (one->differ == 1)
        page_raw(to, "Measured with nothing else changed.</span>");
    else
        page_rawf(to, between_of(at->result, credit)
                          ? "Together: these %zu; what was measured between them was no gain.</span>"
                          : "Together: these %zu were measured only at once.</span>",
                  one->differ);
    page_raw(to, "</span></li>");
}

static void add_cause(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    page_raw(to, "<div class=\"answer\"><h2>What made it faster</h2>");
    if (result->standard < 0) {
        page_raw(to, "<p>Not known: the default has no time.</p></div>");
        return;
    }
    if (!result->change_count) {
        page_raw(to, "<p>Nothing: it is the default.</p></div>");
        return;
    }
    page_raw(to, "<ul class=\"causes\">");
    for (size_t i = 0; i < result->credit_count; i++)
        add_cause_item(to, at, i);
    page_raw(to, "</ul><p class=\"note\">Changes that the winner has, with what they gained on the way from the default to "
                 "it over measured configurations; all together ");
    page_times(to, result->standard_ns / result->winner_ns);
    page_rawf(to, ". In another order each might count for more or less. <a href=\"#s%dp%d%s-changes\">All steps, and each "
                  "change by itself</a>; <a href=\"#s%d-parameters\">what the names mean</a>.</p></div>",
              at->session_index, at->problem_index, st_report_cache_name(at->cache), at->session_index);
}

static void add_waits_now(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    const st_reported_profile *profile = result->winner_profile;
    page_raw(to, "<div class=\"answer\"><h2>What it waits on now</h2><p>");
    st_report_now(at->session, at->problem, at->cache, &to->scratch);
    if (!to->scratch.length)
        page_raw(to, "Not known: the store has no counters of the winner.");
    else {
        if (to->scratch.length && to->scratch.data[0] >= 'a' && to->scratch.data[0] <= 'z')
            to->scratch.data[0] = (char)(to->scratch.data[0] - 'a' + 'A');
        page_scratch(to);
        page_raw(to, ".");
    }
    page_raw(to, "</p>");
    if (profile && profile->finding_count) {
        const st_finding *finding = &profile->findings[0];
        page_raw(to, "<p>The rules say: it <b>");
        page_words(to, strncmp(finding->title, "it ", 3) == 0 ? finding->title + 3 : finding->title);
        page_raw(to, "</b>. ");
        page_words(to, finding->message);
        page_raw(to, "</p>");
    }
    if (result->standard >= 0 && result->standard != result->winner && result->standard_profile &&
        result->standard_profile->any) {
        page_raw(to, "<p class=\"note\">Of the default: ");
        st_report_waits_on(result->standard_profile, &to->scratch);
        page_scratch(to);
        page_raw(to, ".</p>");
    }
    if (isfinite(result->limit_share)) {
        page_raw(to, "<p class=\"note\">");
        page_limit(to, at);
        page_raw(to, "</p>");
    }
    page_raw(to, "</div>");
}

static void add_configuration(page *to, const page_place *at)
{
    page_raw(to, "<div class=\"take\"><h2>Configuration to copy</h2>");
    page_configuration(to, at, at->result->winner, at->result->standard);
    page_raw(to, "<p class=\"note\">Marked: what differs from the default. ");
    st_report_tie(at->result, &to->scratch);
    if (to->scratch.length) {
        page_scratch(to);
        page_raw(to, ".");
    }
    page_rawf(to,
              "</p><p class=\"note\">Candidate <code>%.8s</code>; all that is stored of it:</p><pre "
              "class=\"command\"><code>simtune show %.12s</code></pre></div>",
              at->problem->candidates[at->result->winner].id, at->problem->candidates[at->result->winner].id);
}

void page_verdict(page *to, int session)
{
    const st_reported_session *of = &to->report->sessions[session];
    char date[32];
    page_rawf(to, "<section class=\"verdict\" id=\"s%d-verdict\"><p class=\"eyebrow\">", session);
    page_words(to, of->session.family);
    page_raw(to, " · ");
    page_words(to, of->device_name[0] ? of->device_name : "unknown device");
    page_raw(to, " · ");
    st_clock_date(of->session.started_ms, date);
    page_rawf(to, "<time datetime=\"%s\">%.10s</time> · session <code>%.8s</code></p>", date, date, of->session.id);
    if (!st_backend_is_hardware(of->backend)) {
        page_raw(to, "<p class=\"banner\"><b>");
        page_raw(to, strcmp(of->backend, "emu") == 0 ? "EMULATED" : "NOT MEASURED HERE");
        page_raw(to, "</b> Times on this page are not those of a GPU that simtune measured: they show what a report "
                     "looks like, and "
                     "nothing else.</p>");
    }
    if (of->lead < 0) {
        page_raw(to, "<h1>Nothing was tried</h1><p class=\"lede\">The session has no candidates.</p></section>");
        return;
    }
    const st_reported_problem *problem = &of->problems[of->lead];
    page_place at = {of, problem, &problem->results[to->report->cache], session, of->lead, to->report->cache};
    add_headline(to, &at);
    if (at.result->winner >= 0) {
        page_raw(to, "<div class=\"answers\">");
        add_cause(to, &at);
        add_waits_now(to, &at);
        page_raw(to, "</div>");
        add_configuration(to, &at);
    }
    page_raw(to, "</section>");
}

// --- trust -----------------------------------------------------------------------------------------------------------

static bool has_winner(const st_reported_session *session)
{
    for (size_t p = 0; p < session->count; p++)
        for (int cache = 0; cache < ST_REPORT_CACHES; cache++)
            if (session->problems[p].results[cache].winner >= 0)
                return true;
    return false;
}

void page_trust(page *to, const st_reported_session *session)
{
    static const char *const classes[] = {"red", "amber", "green", "grey"};
    static const char *const marks[] = {"✕", "!", "✓", "?"};
    st_reported_level worst = st_report_trust(session);
    page_rawf(to, "<section class=\"trust\"><h2>Can it be trusted? <span class=\"level %s\">", classes[worst]);
    if (has_winner(session) || worst == ST_REPORTED_RED) {
        st_report_trust_words(session, &to->scratch);
        page_scratch(to);
    } else
        page_raw(to, "There is no winner to trust.");
    page_raw(to, "</span></h2><ul class=\"doubts\">");
    for (size_t i = 0; i < session->doubt_count; i++) {
        const st_reported_doubt *doubt = &session->doubts[i];
        page_rawf(to, "<li class=\"%s\"><span class=\"mark\" role=\"img\" aria-label=\"%s\">%s</span><b>",
                  classes[doubt->level], st_reported_level_word(doubt->level), marks[doubt->level]);
        page_words(to, doubt->about);
        page_raw(to, "</b><span>");
        page_words(to, doubt->words);
        page_raw(to, "</span></li>");
    }
    page_raw(to, "</ul></section>");
}
