// SPDX-License-Identifier: Apache-2.0
// The verdict: how much faster, which changes did it, what it waits on now, the configuration to copy; and whether that
// can be trusted. Invariants: 1. the first sentence is about the problem that the report leads with, and names it; 2. a
// change counts only by what measured configurations without it took.
#include "reports/page_internal.h"

#include "reports/format.h"
#include "tuner/base/clock.h"

#include <math.h>
#include <string.h>

enum { CHANGES_TOLD = 5 };
static const double change_least = 1.01; // below that a change is not worth a word in the verdict

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
    page_rawf(to, " All %zu winners of the session, <a href=\"#s%d-sizes\">side by side</a>: ", winners,
              at->session_index);
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
}

// --- which changes did it, and what it waits on now ------------------------------------------------------------------

static void add_change_words(page *to, const page_place *at, const st_reported_change *change)
{
    page_raw(to, "<b>");
    page_words(to, at->session->parameters[change->parameter].name);
    page_raw(to, "</b> ");
    page_words(to, change->from[0] ? change->from : "-");
    page_raw(to, " → <b>");
    page_words(to, change->to[0] ? change->to : "-");
    page_raw(to, "</b>");
}

static void add_cause(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    size_t told = 0, small = 0;
    page_raw(to, "<div class=\"answer\"><h2>What made it faster</h2>");
    if (!result->change_count) {
        page_raw(to, "<p>Nothing: it is the default.</p></div>");
        return;
    }
    page_raw(to, "<ol class=\"causes\">");
    for (size_t i = 0; i < result->change_count; i++) {
        const st_reported_change *change = &result->changes[i];
        bool tells = change->without_count >= ST_REPORT_TELLING && change->without >= change_least;
        if (!tells || told == CHANGES_TOLD) {
            small++;
            continue;
        }
        page_raw(to, "<li>");
        add_change_words(to, at, change);
        page_raw(to, "<span class=\"cost\">");
        if (at->session->parameters[change->parameter].roles) {
            page_raw(to, "moves ");
            page_roles(to, at->session->parameters[change->parameter].roles);
            page_raw(to, "; ");
        }
        page_raw(to, "without it the best of ");
        page_count(to, (double)change->without_count);
        page_raw(to, " configurations takes ");
        page_times(to, change->without);
        page_raw(to, " the time</span></li>");
        told++;
    }
    page_raw(to, "</ol>");
    if (!told)
        page_raw(
            to,
            "<p>No single change: each of them can be left out without loss as long as the others stay, or was never "
            "tried without the others.</p>");
    else if (small)
        page_rawf(to, "<p class=\"note\">%zu more change%s of less weight stand%s below.</p>", small,
                  small == 1 ? "" : "s", small == 1 ? "s" : "");
    page_raw(to, "</div>");
}

static void add_waits_now(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    const st_reported_profile *profile = result->winner_profile;
    page_raw(to, "<div class=\"answer\"><h2>What it waits on now</h2><p>");
    if (!profile || !profile->any)
        page_raw(to, "Not known: the store has no counters of the winner.");
    else {
        st_report_waits_on(profile, &to->scratch);
        if (to->scratch.length && to->scratch.data[0] >= 'a' && to->scratch.data[0] <= 'z')
            to->scratch.data[0] = (char)(to->scratch.data[0] - 'a' + 'A');
        page_scratch(to);
        page_raw(to, ".");
    }
    page_raw(to, "</p>");
    if (profile && profile->finding_count) {
        const st_finding *finding = &profile->findings[0];
        page_raw(to, "<p>");
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
        page_raw(to, "<p class=\"note\">It moves ");
        page_speed(to, result->speed);
        page_raw(to, ", ");
        page_share(to, result->limit_share);
        page_raw(to, " of the ");
        page_speed(to, result->limit_gbs);
        page_raw(to, " that this device's memory was measured to move.</p>");
    }
    page_raw(to, "</div>");
}

static void add_configuration(page *to, const page_place *at)
{
    page_raw(to, "<div class=\"take\"><h2>Configuration to copy</h2>");
    page_configuration(to, at, at->result->winner, at->result->standard);
    page_raw(to, "<p class=\"note\">Marked: what differs from the default. ");
    if (at->result->note && at->result->note[0]) {
        page_words(to, at->result->note);
        page_raw(to, ".");
    }
    page_raw(to, "</p></div>");
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
    static const char *const summaries[] = {"No: read the first line.", "Yes, with what is marked in mind.",
                                            "Yes: nothing speaks against it.",
                                            "Nothing is known that speaks for or against it."};
    st_reported_level worst = st_report_trust(session);
    page_rawf(to, "<section class=\"trust\"><h2>Can it be trusted? <span class=\"level %s\">", classes[worst]);
    page_words(to, has_winner(session) || worst == ST_REPORTED_RED ? summaries[worst] : "There is no winner to trust.");
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

// --- all changes -----------------------------------------------------------------------------------------------------

static void add_change_row(page *to, const page_place *at, const st_reported_change *change, double most)
{
    const st_reported_parameter *parameter = &at->session->parameters[change->parameter];
    page_raw(to, "<tr><th scope=\"row\"");
    if (parameter->meaning) {
        page_raw(to, " title=\"");
        page_words(to, parameter->meaning);
        page_raw(to, "\"");
    }
    page_raw(to, ">");
    page_words(to, parameter->name);
    page_raw(to, "</th><td><code>");
    page_words(to, change->from[0] ? change->from : "-");
    page_raw(to, "</code></td><td><code class=\"moved\">");
    page_words(to, change->to[0] ? change->to : "-");
    page_raw(to, "</code></td><td>");
    page_roles(to, parameter->roles);
    page_raw(to, "</td><td class=\"n\">");
    page_times(to, change->without);
    page_raw(to, "</td><td class=\"n\">");
    page_count(to, (double)change->without_count);
    page_rawf(to, "</td><td class=\"barcell\"><span class=\"bar\"><i style=\"width:%.1f%%\"></i></span></td><td>",
              isfinite(change->without) && most > 1 ? 100 * fmax(0, (change->without - 1) / (most - 1)) : 0);
    if (change->without_candidate >= 0)
        page_candidate(to, at, change->without_candidate);
    else
        page_raw(to, "not measured");
    page_raw(to, "</td></tr>");
}

void page_changes(page *to, const page_place *at)
{
    double most = 1;
    if (!at->result->change_count)
        return;
    for (size_t i = 0; i < at->result->change_count; i++)
        most = fmax(most, isfinite(at->result->changes[i].without) ? at->result->changes[i].without : 1);
    page_raw(to,
             "<h4>What each change is worth</h4><p class=\"note\">Each row keeps one parameter at the default's value "
             "and takes the best of all configurations measured so: the least that leaving the change out costs, with "
             "everything else tuned anew. 1.00 × means that the change can be left out; the fewer were tried (\"best "
             "of\"), the less that says.</p>");
    page_scroll(to, "changes");
    page_raw(to, "<table class=\"changes\"><thead><tr><th scope=\"col\">parameter</th>"
                 "<th scope=\"col\">default</th><th scope=\"col\">winner</th><th scope=\"col\">moves</th>"
                 "<th scope=\"col\" class=\"n\">time without it</th><th scope=\"col\" class=\"n\">best of</th><th "
                 "scope=\"col\"></th><th scope=\"col\">seen in</th></tr></thead><tbody>");
    for (size_t i = 0; i < at->result->change_count; i++)
        add_change_row(to, at, &at->result->changes[i], most);
    page_raw(to, "</tbody></table></div>");
}
