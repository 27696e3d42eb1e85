// SPDX-License-Identifier: Apache-2.0
// The search: the best so far by evaluation and by time, and where its budget went; what failed; and the samples behind
// winner, default and runner-up. Invariants: 1. the search is shown by first measurements, which all candidates have
// alike; 2. a failure stands with the command that repeats it; 3. samples are shown against their own median, so that
// noise of different candidates can be compared.
#include "reports/page_internal.h"

#include "reports/format.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_TOLD = 14, FAILURES_TOLD = 4 };

// --- best so far -----------------------------------------------------------------------------------------------------

typedef struct trial {
    uint32_t candidate;
    double ns;
    int64_t ms;
} trial;

typedef struct course { // the trials of a problem in the order in which they were made
    const page_place *at;
    trial *trials;
    uint32_t *improved; // trials that were better than all before
    size_t count, improved_count;
} course;

static int by_moment(const void *a, const void *b)
{
    const trial *x = a, *y = b;
    return x->ms != y->ms ? (x->ms < y->ms ? -1 : 1) : (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

static bool make_course(const page_place *at, course *out)
{
    size_t all = at->problem->count ? at->problem->count : 1;
    *out = (course){
        .at = at, .trials = st_malloc(all * sizeof *out->trials), .improved = st_malloc(all * sizeof *out->improved)};
    if (!out->trials || !out->improved)
        return false;
    for (size_t i = 0; i < at->problem->count; i++) {
        const st_reported_time *time = &at->problem->candidates[i].times[at->cache];
        if (time->first_ns > 0)
            out->trials[out->count++] = (trial){(uint32_t)i, time->first_ns, time->first_ms};
    }
    if (out->count)
        qsort(out->trials, out->count, sizeof *out->trials, by_moment);
    double best = INFINITY;
    for (size_t i = 0; i < out->count; i++)
        if (out->trials[i].ns < best) {
            best = out->trials[i].ns;
            out->improved[out->improved_count++] = (uint32_t)i;
        }
    return true;
}

static double seconds_of(const course *of, size_t index)
{
    return (double)(of->trials[index].ms - of->trials[0].ms) / 1000;
}

static double x_of(const course *of, size_t index, bool by_time)
{
    double last = by_time ? seconds_of(of, of->count - 1) : (double)(of->count > 1 ? of->count - 1 : 1);
    return last > 0 ? (by_time ? seconds_of(of, index) : (double)index) / last : 0;
}

static void add_course(page *to, const course *of, bool by_time)
{
    double first = of->trials[0].ns, best = of->trials[of->improved[of->improved_count - 1]].ns;
    page_scale scale = page_scale_log(best, first > best ? first : best * 1.05);
    page_rawf(to, "<figure><figcaption><b>Best so far by %s</b></figcaption>", by_time ? "time" : "evaluation");
    page_chart_begin(to, "search");
    page_chart_y_times(to, &scale);
    page_raw(to, "<div class=\"plot\">");
    page_svg_begin(
        to, "", by_time ? "Best time so far over the seconds of the search" : "Best time so far over the evaluations");
    page_raw(to, "<path class=\"curve\" d=\"");
    for (size_t i = 0; i < of->improved_count; i++) {
        double x = PAGE_WIDE * x_of(of, of->improved[i], by_time);
        double y = PAGE_HIGH * (1 - page_scale_at(&scale, of->trials[of->improved[i]].ns));
        page_rawf(to, i ? "H%.0fV%.0f" : "M%.0f %.0f", x, y);
    }
    page_rawf(to, "H%d\"/><path class=\"dots\" d=\"", PAGE_WIDE);
    for (size_t i = 0; i < of->improved_count; i++)
        page_point(to, x_of(of, of->improved[i], by_time), 1 - page_scale_at(&scale, of->trials[of->improved[i]].ns));
    page_raw(to, "\"/><path class=\"asked\" d=\"");
    for (size_t i = 0; i < of->count; i++)
        if (of->at->problem->candidates[of->trials[i].candidate].profiled)
            page_rawf(to, "M%.0f 955V1000", PAGE_WIDE * x_of(of, i, by_time));
    page_raw(to, "\"/>");
    page_svg_end(to);
    page_raw(to, "</div><div class=\"axis x title ends\"><span>");
    page_raw(to, by_time ? "0 s" : "1");
    page_raw(to, "</span><span>");
    if (by_time)
        page_rawf(to, "%.3g s", seconds_of(of, of->count - 1));
    else
        page_count(to, (double)of->count);
    page_raw(to, by_time ? "</span></div>" : " evaluations</span></div>");
    page_chart_end(to);
    page_raw(to, "</figure>");
}

// What the better one has that the one before had not.
static void add_step_differences(page *to, const page_place *at, int before, int after)
{
    page_raw(to, "<code class=\"config\">");
    for (size_t i = 0; i < at->session->parameter_count; i++) {
        uint16_t value = at->problem->candidates[after].values[i];
        if (value == ST_REPORT_NO_VALUE || (before >= 0 && at->problem->candidates[before].values[i] == value))
            continue;
        page_raw(to, "<span class=\"pair\">");
        page_words(to, at->session->parameters[i].name);
        page_raw(to, "=<b>");
        page_words(to, at->session->parameters[i].values[value]);
        page_raw(to, "</b></span> ");
    }
    page_raw(to, "</code>");
}

static void add_steps(page *to, const course *of)
{
    size_t first = of->improved_count > STEPS_TOLD ? of->improved_count - STEPS_TOLD : 0;
    page_raw(to, "<details><summary>Table: each time that the best was beaten</summary>");
    page_scroll(to, "steps of the search");
    page_raw(to, "<table><thead><tr>"
                 "<th scope=\"col\" class=\"n\">evaluation</th><th scope=\"col\" class=\"n\">after</th><th "
                 "scope=\"col\" class=\"n\">"
                 "first time</th><th scope=\"col\">candidate</th><th scope=\"col\">against the best "
                 "before</th></tr></thead><tbody>");
    for (size_t i = first; i < of->improved_count; i++) {
        const trial *one = &of->trials[of->improved[i]];
        page_rawf(to, "<tr><td class=\"n\">%u</td><td class=\"n\">%.2f s</td><td class=\"n\">", of->improved[i] + 1,
                  seconds_of(of, of->improved[i]));
        page_time(to, one->ns);
        page_raw(to, "</td><td>");
        page_candidate(to, of->at, (int)one->candidate);
        page_raw(to, "</td><td>");
        add_step_differences(to, of->at, i ? (int)of->trials[of->improved[i - 1]].candidate : -1, (int)one->candidate);
        page_raw(to, "</td></tr>");
    }
    page_raw(to, "</tbody></table></div>");
    if (first)
        page_rawf(to, "<p class=\"note\">The last %d of %zu.</p>", STEPS_TOLD, of->improved_count);
    page_raw(to, "</details>");
}

void page_search(page *to, const page_place *at)
{
    course of;
    bool fine = make_course(at, &of);
    if (fine && of.count > 1) {
        const char *strategy = json_string_value(json_object_get(at->session->options, "strategy"));
        page_raw(to, "<section class=\"searching\"><h3>The search</h3><p class=\"note\">By first measurements, a few "
                     "samples each");
        if (strategy) {
            page_raw(to, "; strategy <code>");
            page_words(to, strategy);
            page_raw(to, "</code>");
        }
        size_t profiled = 0;
        for (size_t i = 0; i < of.count; i++)
            profiled += at->problem->candidates[of.trials[i].candidate].profiled;
        page_raw(to, ". The winner is chosen later, in the finals.");
        if (profiled)
            page_rawf(to,
                      strategy && strcmp(strategy, "guided") == 0
                          ? " Marks at the foot: the %zu of which a stall profile was taken. The store does not keep which "
                            "configurations were chosen because of them, so they show only about where guidance acted."
                          : " Marks at the foot: the %zu of which a stall profile was taken, to explain the finals; this "
                            "strategy is not guided by them.",
                      profiled);
        page_raw(to, "</p><div class=\"two\">");
        add_course(to, &of, false);
        add_course(to, &of, true);
        page_raw(to, "</div>");
        add_steps(to, &of);
        page_raw(to, "</section>");
    }
    to->out->failed = to->out->failed || !fine;
    st_free(of.trials);
    st_free(of.improved);
}

// --- failures --------------------------------------------------------------------------------------------------------

static void add_failure(page *to, const page_place *at, int index)
{
    const st_reported_candidate *candidate = &at->problem->candidates[index];
    page_raw(to, "<tr><td>");
    page_candidate(to, at, index);
    page_raw(to, "</td><td class=\"log\">");
    if (candidate->detail)
        page_bytes(to, candidate->detail, strcspn(candidate->detail, "\n"));
    else
        page_raw(to, "nothing was logged");
    page_raw(to, "</td><td>");
    page_differences(to, at, index);
    page_rawf(to, "</td><td><code class=\"command\">simtune repro %.12s -o repro.cu</code></td></tr>", candidate->id);
}

static void add_outcome(page *to, const page_place *at, st_reported_outcome outcome)
{
    size_t count = at->problem->outcomes[outcome], told = 0;
    page_rawf(to, "<h4><span class=\"hatch inline\">%zu</span> %s<small>%s</small></h4>", count,
              st_reported_outcome_name(outcome), st_reported_outcome_meaning(outcome));
    page_scroll(to, "failures");
    page_raw(to, "<table class=\"failures\"><thead><tr><th scope=\"col\">candidate</th><th scope=\"col\">first line of "
                 "the log</th><th scope=\"col\">differs from "
                 "the default in</th><th scope=\"col\">to see it again</th></tr></thead><tbody>");
    for (size_t i = 0; i < at->problem->count && told < FAILURES_TOLD; i++)
        if (at->problem->candidates[i].outcome == outcome) {
            add_failure(to, at, (int)i);
            told++;
        }
    page_raw(to, "</tbody></table></div>");
    if (count > told)
        page_rawf(
            to,
            "<p class=\"note\">%zu more: the table of candidates has them, and <code>simtune query --session %.12s "
            "--outcome %s</code>.</p>",
            count - told, at->session->session.id, st_reported_outcome_name(outcome));
}

void page_failures(page *to, const page_place *at)
{
    size_t failed = 0;
    for (int i = 0; i < ST_REPORTED_OUTCOMES; i++)
        if (st_reported_outcome_is_failure((st_reported_outcome)i))
            failed += at->problem->outcomes[i];
    if (!failed)
        return;
    page_raw(to, "<section><h3>Failures</h3>");
    for (int i = 0; i < ST_REPORTED_OUTCOMES; i++)
        if (st_reported_outcome_is_failure((st_reported_outcome)i) && at->problem->outcomes[i])
            add_outcome(to, at, (st_reported_outcome)i);
    page_raw(to, "</section>");
}

// --- samples ---------------------------------------------------------------------------------------------------------

typedef struct sampled {
    const char *name, *key, *classes; // key: in the document
    const st_reported_samples *samples;
    double median, scatter, least, most;
} sampled;

// Against the median, from -span to +span; the script puts the single runs over it.
static void add_box(page *to, const sampled *of, double span)
{
    static const double shares[] = {0, 0.25, 0.5, 0.75, 1};
    double places[5];
    char which[64];
    for (size_t i = 0; i < 5; i++)
        places[i] = 0.5 + (st_quantile(of->samples->ns, of->samples->count, shares[i]) / of->median - 1) / span / 2;
    snprintf(which, sizeof which, " data-who=\"%s\" data-span=\"%.6g\"", of->key, span);
    page_box(to, places, which);
    page_raw(to, "</span>");
}

static void add_sampled(page *to, const sampled *of, double span)
{
    st_interval interval = st_median_interval(of->samples->ns, of->samples->count);
    page_rawf(to, "<tr><th scope=\"row\"><i class=\"key %s\"></i>%s</th><td class=\"n\">%zu</td><td class=\"n\">",
              of->classes, of->name, of->samples->count);
    page_time(to, of->median);
    page_raw(to, "</td><td class=\"stripcell\">");
    add_box(to, of, span);
    page_raw(to, "</td><td class=\"n\">");
    page_time(to, interval.low);
    page_raw(to, " – ");
    page_time(to, interval.high);
    page_raw(to, "</td><td class=\"n\">");
    page_share(to, of->scatter);
    page_raw(to, "</td><td class=\"n\">");
    page_time(to, of->least);
    page_raw(to, "</td><td class=\"n\">");
    page_time(to, of->most);
    page_raw(to, "</td></tr>");
}

static void add_side(sampled *list, size_t *count, const char *name, const char *classes,
                     const st_reported_samples *samples)
{
    if (!samples->count)
        return;
    sampled *of = &list[(*count)++];
    *of = (sampled){.name = name, .key = classes[0] == 'w' ? "winner" : classes[0] == 'd' ? "default" : "runner_up",
                    .classes = classes, .samples = samples};
    of->median = st_median(samples->ns, samples->count);
    of->scatter = st_mad(samples->ns, samples->count) / of->median;
    of->least = st_minimum(samples->ns, samples->count);
    of->most = st_quantile(samples->ns, samples->count, 1);
}

void page_samples(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    sampled list[3];
    size_t count = 0;
    double span = 0.01;
    if (result->winner < 0)
        return;
    add_side(list, &count, "winner", "w", &result->winner_samples);
    if (result->standard != result->winner)
        add_side(list, &count, "default", "d", &result->standard_samples);
    add_side(list, &count, "runner-up", "r", &result->runner_up_samples);
    if (!count)
        return;
    for (size_t i = 0; i < count; i++) // the middle 98 % of all fit; what lies outside stands at the edge
        span = fmax(span, fmax(st_quantile(list[i].samples->ns, list[i].samples->count, 0.99) / list[i].median - 1,
                               1 - st_quantile(list[i].samples->ns, list[i].samples->count, 0.01) / list[i].median));
    span *= 1.1;
    page_rawf(to,
              "<section><h3>The samples</h3><p class=\"note\">The runner-up is the fastest besides winner and default; where "
              "they tie it may be the faster of the two. The line goes from the least to the most, the box over the middle "
              "half, against the median of its row; points, where scripts run, are single timed runs, from the first at the "
              "top to the last. The edges are ∓%.2g %%.</p>",
              100 * span);
    page_scroll(to, "samples");
    page_raw(
        to,
        "<table class=\"samples\"><thead><tr>"
        "<th scope=\"col\"></th><th scope=\"col\" class=\"n\">samples</th><th scope=\"col\" class=\"n\">median</th><th "
        "scope=\"col\" class=\"stripcell\"></th><th scope=\"col\" class=\"n\">95 % of the median</th><th scope=\"col\" "
        "class=\"n\">scatter</th><th scope=\"col\" "
        "class=\"n\">least</th><th scope=\"col\" class=\"n\">most</th></tr></thead><tbody>");
    for (size_t i = 0; i < count; i++)
        add_sampled(to, &list[i], span);
    page_raw(to, "</tbody></table></div></section>");
}
