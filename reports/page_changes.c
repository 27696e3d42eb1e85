// SPDX-License-Identifier: Apache-2.0
// What the changes are worth: the steps from the default to the winner, and each change by itself. Invariants: 1. a gain
// stands with all that differed between the two configurations that it was measured on; 2. a change is credited by itself
// only where pairs of configurations differ in it alone, and with their number; 3. what is no gain that could be told
// from noise says so.
#include "reports/page_internal.h"

#include "reports/format.h"

#include <math.h>

// --- a step in words -------------------------------------------------------------------------------------------------

static bool differs(const page_place *at, const st_reported_step *step, size_t parameter)
{
    const st_reported_candidate *all = at->problem->candidates;
    return all[step->before].values[parameter] != all[step->after].values[parameter];
}

static bool is_let_go(const page_place *at, const st_reported_step *step, size_t parameter)
{
    return st_report_is_let_go(at->problem, at->cache, step, parameter);
}

static void add_move(page *to, const page_place *at, size_t parameter, uint16_t before, uint16_t after, bool bold)
{
    const st_reported_parameter *one = &at->session->parameters[parameter];
    page_raw(to, "<span class=\"move\"");
    page_meaning(to, at->session, one->name, after == ST_REPORT_NO_VALUE ? NULL : one->values[after]);
    page_raw(to, bold ? "><b>" : ">");
    page_words(to, one->name);
    page_raw(to, bold ? "</b> " : " ");
    page_words(to, before == ST_REPORT_NO_VALUE ? "-" : one->values[before]);
    page_raw(to, bold ? " → <b>" : " → ");
    page_words(to, after == ST_REPORT_NO_VALUE ? "-" : one->values[after]);
    page_raw(to, bold ? "</b></span>" : "</span>");
}

// Behind a move to a value that the winner does not have.
static void add_end(page *to, const page_place *at, size_t parameter, uint16_t before, uint16_t after)
{
    uint16_t end = at->problem->candidates[at->result->winner].values[parameter];
    if (after == end)
        return;
    if (end == before) {
        page_raw(to, " <small>(undone later)</small>");
        return;
    }
    page_raw(to, " <small>(");
    page_words(to, end == ST_REPORT_NO_VALUE ? "-" : at->session->parameters[parameter].values[end]);
    page_raw(to, " in the end)</small>");
}

void page_credit_words(page *to, const page_place *at, size_t credit)
{
    size_t told = 0;
    for (size_t i = 0; i < at->session->parameter_count; i++) {
        uint16_t from, then;
        if (!st_report_credit_move(at->problem, at->result, credit, i, &from, &then))
            continue;
        page_raw(to, told++ ? ", " : "");
        add_move(to, at, i, from, then, true);
        add_end(to, at, i, from, then);
    }
}

// What was let go first; then what was tuned anew with it.
void page_step_words(page *to, const page_place *at, const st_reported_step *step)
{
    size_t told = 0, of_them = 0;
    for (size_t i = 0; i < at->session->parameter_count; i++)
        of_them += is_let_go(at, step, i);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < at->session->parameter_count; i++) {
            if (!differs(at, step, i) || is_let_go(at, step, i) != (round == 0))
                continue;
            page_raw(to, !told ? "" : round == 1 && told == of_them ? "; with it " : ", ");
            uint16_t before = at->problem->candidates[step->before].values[i];
            uint16_t after = at->problem->candidates[step->after].values[i];
            add_move(to, at, i, before, after, round == 0 || !of_them);
            add_end(to, at, i, before, after);
            told++;
        }
}

// --- the steps --------------------------------------------------------------------------------------------------------

static void add_gain(page *to, double gain)
{
    page_raw(to, gain >= ST_REPORT_GAIN_TELLS ? "<b>" : "");
    page_times(to, gain);
    page_raw(to, gain >= ST_REPORT_GAIN_TELLS ? "</b>" : "");
}

static void add_step_row(page *to, const page_place *at, const st_reported_step *step, double whole)
{
    double share = log(step->gain) / log(whole);
    page_raw(to, "<tr><td class=\"n\">");
    add_gain(to, step->gain);
    page_rawf(to, "</td><td class=\"barcell\"><span class=\"bar\"><i style=\"width:%.1f%%\"></i></span></td><td>",
              isfinite(share) ? 100 * fmin(fmax(share, 0), 1) : 0);
    page_step_words(to, at, step);
    if (step->differ == 1)
        page_raw(to, "</td><td class=\"whole\">nothing else changed</td><td class=\"n\">");
    else
        page_rawf(to, "</td><td class=\"whole\">%zu at once</td><td class=\"n\">", step->differ);
    bool ends = step->after == at->result->winner;
    page_time(to, ends ? at->result->winner_ns : at->problem->candidates[step->after].times[at->cache].comparable_ns);
    page_raw(to, "</td><td>");
    page_candidate(to, at, step->after);
    page_raw(to, ends ? " <b>winner</b></td></tr>" : "</td></tr>");
}

static void add_steps(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    double whole = result->standard_ns / result->winner_ns;
    page_raw(to, "<h4>From the default to the winner, step by step</h4><p class=\"note\">Each row is a configuration that "
                 "was measured, and what differs from the row above; what changed at once was never measured apart, or gained "
                 "nothing apart, so the gain is that of all of it together. All gains multiply to ");
    page_times(to, whole);
    page_raw(to, at->cache == ST_REPORT_WARM ? ". Other ways would share it out differently. With a warm cache only what came on is "
                                               "timed, so that less was measured apart.</p>"
                                             : ". Other ways would share it out differently.</p>");
    page_scroll(to, "steps from the default to the winner");
    page_raw(to, "<table class=\"changes steps\"><thead><tr><th scope=\"col\" class=\"n\">gain</th><th scope=\"col\"></th><th "
                 "scope=\"col\">changed</th><th scope=\"col\">measured</th><th scope=\"col\" "
                 "class=\"n\">time then</th><th scope=\"col\">candidate</th></tr></thead><tbody><tr><td "
                 "class=\"n\"></td><td></td><td><b>the default</b></td><td></td><td class=\"n\">");
    page_time(to, result->standard_ns);
    page_raw(to, "</td><td>");
    page_candidate(to, at, result->standard);
    page_raw(to, "</td></tr>");
    for (size_t i = 0; i < result->step_count; i++)
        add_step_row(to, at, &result->steps[i], whole);
    page_raw(to, "</tbody></table></div>");
}

// --- each change by itself ---------------------------------------------------------------------------------------------

// "1.27 × in 2 pairs (1.25–1.29)"
static void add_alone(page *to, const st_reported_change *change)
{
    if (!change->pairs) {
        page_raw(to, "-<small>no two differ in it alone</small>");
        return;
    }
    add_gain(to, change->alone.centre);
    page_rawf(to, "<small>%zu pair%s", change->pairs, change->pairs == 1 ? "" : "s");
    if (change->pairs > 1)
        page_rawf(to, ": %.2f to %.2f", change->alone.low, change->alone.high);
    page_raw(to, "</small>");
}

// Of the best configuration without the change: which others it lacks as well.
static void add_lacks(page *to, const page_place *at, const st_reported_change *change)
{
    const st_reported_candidate *all = at->problem->candidates;
    size_t count = 0;
    for (size_t i = 0; i < at->session->parameter_count; i++) {
        uint16_t standard = all[at->result->standard].values[i];
        if ((int)i == change->parameter || all[change->without_candidate].values[i] != standard ||
            all[at->result->winner].values[i] == standard)
            continue;
        page_raw(to, count++ ? ", " : "<small>without ");
        page_words(to, at->session->parameters[i].name);
    }
    page_raw(to, count ? " as well</small>" : "");
}

static void add_change_row(page *to, const page_place *at, const st_reported_change *change)
{
    const st_reported_parameter *parameter = &at->session->parameters[change->parameter];
    page_raw(to, "<tr><th scope=\"row\"");
    page_meaning(to, at->session, parameter->name, NULL);
    page_raw(to, ">");
    page_words(to, parameter->name);
    page_raw(to, "</th><td class=\"values\"><code>");
    page_name(to, change->from[0] ? change->from : "-");
    page_raw(to, "</code> → <code class=\"moved\">");
    page_name(to, change->to[0] ? change->to : "-");
    page_raw(to, "</code></td><td class=\"n\">");
    add_alone(to, change);
    page_raw(to, "</td><td class=\"n\">");
    page_times(to, change->without);
    if (change->without_count == 1)
        page_raw(to, at->cache == ST_REPORT_WARM ? "<small>the only one timed warm, as only what came on is</small>"
                                                 : "<small>the only one measured</small>");
    else if (change->without_count) {
        page_raw(to, "<small>fastest of ");
        page_count(to, (double)change->without_count);
        page_raw(to, "</small>");
    }
    page_raw(to, "</td><td>");
    if (change->without_candidate >= 0) {
        page_candidate(to, at, change->without_candidate);
        add_lacks(to, at, change);
    } else
        page_raw(to, "not measured");
    page_raw(to, "</td><td>");
    page_roles(to, parameter->roles);
    page_raw(to, "</td></tr>");
}

void page_changes(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    if (!result->change_count)
        return;
    page_rawf(to, "<div id=\"s%dp%d%s-changes\">", at->session_index, at->problem_index, st_report_cache_name(at->cache));
    if (result->step_count)
        add_steps(to, at);
    page_raw(to, "<h4>Each change by itself</h4><p class=\"note\"><b>Alone</b>: the gain in all pairs of measured "
                 "configurations that differ in nothing else, their median. <b>Without it</b>: the fastest "
                 "configuration that keeps the default's value, everything else tuned anew, against the winner. 1.00 × means "
                 "that the change can be left out; where it lacks other changes as well, the cost is that of all of "
                 "them.</p>");
    page_scroll(to, "each change by itself");
    page_raw(to, "<table class=\"changes each\"><thead><tr><th scope=\"col\">parameter</th><th scope=\"col\">default → "
                 "winner</th><th scope=\"col\" class=\"n\">alone</th><th scope=\"col\" class=\"n\">without it</th><th "
                 "scope=\"col\">seen in</th><th scope=\"col\">moves</th></tr></thead><tbody>");
    for (size_t i = 0; i < result->change_count; i++)
        add_change_row(to, at, &result->changes[i]);
    page_raw(to, "</tbody></table></div></div>");
}
