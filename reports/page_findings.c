// SPDX-License-Identifier: Apache-2.0
// What the rules say of the winner (and, folded, of the default), and the configurations that were in the finals.
// Invariants: 1. what is estimated says so; 2. a finding names the figures that it stands on; 3. the tied set comes
// before everything that is slower.
#include "reports/page_internal.h"

#include "reports/format.h"
#include "tuner/base/text.h"

#include <math.h>
#include <string.h>

// --- findings --------------------------------------------------------------------------------------------------------

static void add_source_line(page *to, const page_place *at, const st_line_sample *focus)
{
    const char *base = st_text_file_name(focus->file), *name, *text = NULL;
    json_t *value;
    json_object_foreach(at->session->sources, name, value)
    {
        if (strcmp(st_text_file_name(name), base) == 0)
            text = json_string_value(value);
    }
    page_raw(to, "<p class=\"focus\">waits most at <code>");
    page_words(to, base);
    page_rawf(to, ":%d</code>", focus->line);
    for (int line = 1; text && *text && line < focus->line; line++) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    if (text && *text && focus->line > 0) {
        text += strspn(text, " \t");
        page_raw(to, "<code class=\"line\">");
        page_bytes(to, text, strcspn(text, "\n"));
        page_raw(to, "</code>");
    }
    page_raw(to, "</p>");
}

static void add_finding(page *to, const page_place *at, const st_finding *finding)
{
    static const char *const words[] = {"fine as it is", "worth a trial", "what the time goes into"};
    page_rawf(to, "<li class=\"finding %s\"><p class=\"title\"><span class=\"severity\">%s</span> <b>",
              st_gravity_name(finding->severity), words[finding->severity]);
    page_words(to, finding->title);
    page_rawf(to, "</b> <code class=\"rule\">%s</code></p><p>", finding->rule);
    page_words(to, finding->message);
    page_raw(to, "</p><p class=\"evidence\">");
    page_words(to, finding->evidence);
    page_raw(to, "</p>");
    if (finding->remedy && finding->remedy[0] && finding->severity != ST_GRAVITY_FINE) {
        page_raw(to, "<p><b>Try:</b> ");
        page_words(to, finding->remedy);
        page_raw(to, "</p>");
    }
    for (size_t i = 0; i < finding->move_count; i++)
        page_rawf(to, "%s%s", i ? ", " : "<p class=\"moves\">In the space: ", st_move_words(finding->moves[i]));
    page_raw(to, finding->move_count ? "</p>" : "");
    if (isfinite(finding->gain)) {
        page_raw(to, "<p class=\"gain\">Estimated, at most ");
        page_share(to, finding->gain);
        page_raw(to, finding->capped ? " of the time: that is what the distance to the memory's limit leaves, the waits "
                                       "alone would be more<small>"
                                     : " of the time<small>");
        page_words(to, finding->gain_source);
        page_raw(to, "</small></p>");
    }
    if (finding->focus && finding->focus->line > 0)
        add_source_line(to, at, finding->focus);
    page_raw(to, "</li>");
}

static void add_findings(page *to, const page_place *at, const st_reported_profile *profile)
{
    page_raw(to, "<ul class=\"findings\">");
    for (size_t i = 0; i < profile->finding_count; i++)
        add_finding(to, at, &profile->findings[i]);
    page_raw(to, "</ul>");
}

void page_findings(page *to, const page_place *at)
{
    const st_reported_profile *winner = at->result->winner_profile, *standard = at->result->standard_profile;
    if (!winner || !winner->any)
        return;
    page_raw(to, "<section><h3>What the profile says of the winner</h3>");
    if (at->cache == ST_REPORT_WARM)
        page_raw(to, "<p class=\"note\">Counters and stalls were taken with a cold cache; they are set against the times with a "
                     "warm one here.</p>");
    st_report_at_limit(at->session, at->result, at->cache, &to->scratch);
    if (to->scratch.length) {
        page_raw(to, "<p>It is ");
        page_scratch(to);
        page_raw(to, ".</p>");
    }
    if (winner->finding_count)
        add_findings(to, at, winner);
    else
        page_raw(to, "<p>No rule applies: nothing stands out in its counters.</p>");
    if (standard && standard != winner && standard->finding_count && at->result->standard != at->result->winner) {
        page_raw(to, "<details><summary>What it says of the default</summary>");
        add_findings(to, at, standard);
        page_raw(to, "</details>");
    }
    page_raw(to, "</section>");
}

// --- the fastest -----------------------------------------------------------------------------------------------------

// What differs from the winner.
static void add_against_winner(page *to, const page_place *at, int candidate)
{
    const uint16_t *values = at->problem->candidates[candidate].values;
    const uint16_t *best = at->problem->candidates[at->result->winner].values;
    size_t count = 0;
    if (candidate == at->result->winner) {
        page_raw(to, "<b>the winner</b>");
        if (at->result->tied > 1 && at->result->finals[0].candidate != at->result->winner)
            page_raw(to, " <small>tied; taken as the simplest</small>");
        return;
    }
    page_raw(to, "<code class=\"config\">");
    for (size_t i = 0; i < at->session->parameter_count; i++) {
        if (values[i] == best[i])
            continue;
        page_raw(to, "<span class=\"pair\">");
        page_words(to, at->session->parameters[i].name);
        page_raw(to, "=<b>");
        page_words(to, values[i] == ST_REPORT_NO_VALUE ? "-" : at->session->parameters[i].values[values[i]]);
        page_raw(to, "</b></span> ");
        count++;
    }
    page_raw(to, count ? "</code>" : "as the winner</code>");
}

static void add_facts(page *to, const st_reported_candidate *candidate)
{
    page_raw(to, "<td class=\"n\">");
    page_count(to, candidate->registers < 0 ? NAN : candidate->registers);
    page_raw(to, "</td><td class=\"n\">");
    page_share(to, candidate->occupancy);
    page_raw(to, "</td>");
}

// The interval on a scale from the fastest to `most`.
static void add_interval(page *to, st_interval ratio, double least, double most)
{
    double span = most - least, low = fmax(ratio.low, least), high = fmin(ratio.high, most);
    page_raw(to, "<td class=\"barcell\"><span class=\"interval\">");
    if (ratio.centre > most)
        page_raw(to, "<s>→</s>");
    else if (isfinite(ratio.centre) && span > 0)
        page_rawf(to, "<i style=\"left:%.1f%%;width:%.1f%%\"></i><b style=\"left:%.1f%%\"></b>",
                  100 * (low - least) / span, 100 * fmax(high - low, 0) / span,
                  100 * fmin(fmax(ratio.centre - least, 0), span) / span);
    page_raw(to, "</span></td>");
}

static double widest(const page_place *at)
{
    double most = 1.02;
    for (size_t i = 0; i < at->result->final_count; i++) {
        const st_reported_entrant *entrant = &at->result->finals[i];
        if (entrant->candidate != at->result->standard && entrant->ratio.high < 1.3)
            most = fmax(most, entrant->ratio.high);
    }
    return most + (most - 1) * 0.05;
}

static void add_entrant(page *to, const page_place *at, const st_reported_entrant *entrant, double most)
{
    if (entrant->candidate < 0)
        return;
    bool is_winner = entrant->candidate == at->result->winner;
    page_rawf(to, "<tr%s><td>", is_winner ? " class=\"win\"" : entrant->tied && at->result->tied > 1 ? " class=\"tied\"" : "");
    page_candidate(to, at, entrant->candidate);
    page_raw(to, "</td><td class=\"n\">");
    page_time(to, entrant->median_ns);
    page_raw(to, "</td><td class=\"n\">");
    page_times(to, entrant->ratio.centre);
    page_raw(to, "</td>");
    add_interval(to, entrant->ratio, 1 - (most - 1) * 0.2, most);
    page_raw(to, entrant->tied && at->result->tied > 1 ? "<td>tied</td>" : "<td></td>"); // the fastest ties with itself
    add_facts(to, &at->problem->candidates[entrant->candidate]);
    page_raw(to, "<td>");
    if (entrant->candidate == at->result->standard)
        page_raw(to, "<b>the default</b> ");
    else
        add_against_winner(to, at, entrant->candidate);
    if (entrant->rival && !is_winner) {
        page_raw(to, " <small>the best with ");
        page_words(to, entrant->rival);
        page_raw(to, "</small>");
    }
    page_raw(to, "</td></tr>");
}

void page_top(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    if (result->winner < 0 || !result->final_count)
        return;
    double most = widest(at);
    page_raw(to, "<section><h3>The finals</h3><p class=\"note\">The best few and the default, measured by turns. ");
    if (result->tied > 1) {
        page_rawf(to, "<b>%d are tied</b>: no interval of theirs excludes the fastest, or the gap is below 0.5 %%. ",
                  result->tied);
        if (result->final_count && result->finals[0].candidate != result->winner)
            page_raw(to, "So the winner need not stand first: of those within 0.5 % of the fastest the simplest is taken, by "
                         "registers of the kernel that needs most (the table has those of the main kernel), then by nearness "
                         "to the default, then by time. ");
    } else
        page_raw(to, "The first place is clear. ");
    page_raw(to, "Bars are 95 % intervals of the time against the fastest.</p>");
    page_scroll(to, "finals");
    page_raw(to,
             "<table class=\"top\"><thead>"
             "<tr><th scope=\"col\">candidate</th><th scope=\"col\" class=\"n\">time</th><th scope=\"col\" class=\"n\">"
             "/ fastest</th><th scope=\"col\">interval</th><th scope=\"col\"></th><th scope=\"col\" "
             "class=\"n\" title=\"for each thread of its main kernel, the launch with the most threads\">registers</th>"
             "<th scope=\"col\" class=\"n\" title=\"of its main kernel\">occupancy</th><th scope=\"col\">differs from the winner "
             "in</th></tr></thead><tbody>");
    for (size_t i = 0; i < result->final_count; i++)
        add_entrant(to, at, &result->finals[i], most);
    page_raw(to, "</tbody></table></div></section>");
}
