// SPDX-License-Identifier: Apache-2.0
// The landscape: all configurations by their time, and the time by each parameter. Invariants: 1. a chart of a parameter
// is a table whose rows are its values, so that it cannot be without one; 2. parameters stand by how much of the spread
// of times their values explain; 3. what failed is hatched and counted, never left out; 4. the points of a path stand in
// the order of the candidates that have a time (page_internal.h); 5. a row of a parameter is drawn as a box, which costs
// the same for any number of candidates: the script puts the points over it where the problem is looked at; 6. times of
// all are on one scale (base/phases.h), that of the finals, and what was put on it is said.
#include "reports/page_internal.h"

#include "reports/format.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape { // what all charts of a problem share
    const page_place *at;
    uint32_t *measured; // candidates that have a time, in order
    uint32_t *rank;     // of each of these, 0 the fastest
    double *scratch;
    size_t count, failed, step;
    page_scale times;
} shape;

static double time_of(const shape *of, size_t measured)
{
    return of->at->problem->candidates[of->measured[measured]].times[of->at->cache].comparable_ns;
}

// qsort_r's.
static int by_time(const void *a, const void *b, void *context)
{
    const shape *of = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    double at_x = time_of(of, x), at_y = time_of(of, y);
    return at_x < at_y ? -1 : at_x > at_y ? 1 : (x > y) - (x < y);
}

static bool make_ranks(shape *of)
{
    uint32_t *order = st_malloc((of->count ? of->count : 1) * sizeof *order);
    if (!order)
        return false;
    for (size_t i = 0; i < of->count; i++)
        order[i] = (uint32_t)i;
    if (of->count)
        qsort_r(order, of->count, sizeof *order, by_time, of);
    for (size_t i = 0; i < of->count; i++)
        of->rank[order[i]] = (uint32_t)i;
    of->times =
        of->count ? page_scale_log(time_of(of, order[0]), time_of(of, order[of->count - 1])) : page_scale_log(NAN, NAN);
    st_free(order);
    return true;
}

static void release(shape *of)
{
    st_free(of->measured);
    st_free(of->rank);
    st_free(of->scratch);
}

static bool make_shape(const page_place *at, shape *out)
{
    size_t all = at->problem->count ? at->problem->count : 1;
    *out = (shape){.at = at,
                   .measured = st_malloc(all * sizeof *out->measured),
                   .rank = st_malloc(all * sizeof *out->rank),
                   .scratch = st_malloc(all * sizeof *out->scratch)};
    if (!out->measured || !out->rank || !out->scratch)
        return false;
    for (size_t i = 0; i < at->problem->count; i++) {
        const st_reported_candidate *candidate = &at->problem->candidates[i];
        if (candidate->times[at->cache].comparable_ns > 0)
            out->measured[out->count++] = (uint32_t)i;
        else if (st_reported_outcome_is_failure(candidate->outcome))
            out->failed++;
    }
    out->step = page_step(out->count);
    return make_ranks(out);
}

// --- all configurations ----------------------------------------------------------------------------------------------

static void add_mark(page *to, const shape *of, int candidate, double width, const char *name, const char *classes)
{
    for (size_t i = 0; i < of->count && candidate >= 0; i++)
        if (of->measured[i] == (uint32_t)candidate) {
            double x = width * ((double)of->rank[i] + 0.5) / (double)of->count;
            page_rawf(to, "<span class=\"tag %s%s\" style=\"left:%.1f%%;top:%.1f%%\">%s ", classes,
                      x > 0.7 ? " left" : "", 100 * x, 100 * (1 - page_scale_at(&of->times, time_of(of, i))), name);
            page_time(to, time_of(of, i));
            page_raw(to, "</span>");
        }
}

static void add_dot(page *to, const shape *of, int candidate, double width, const char *classes)
{
    for (size_t i = 0; i < of->count && candidate >= 0; i++)
        if (of->measured[i] == (uint32_t)candidate) {
            page_rawf(to, "<path class=\"dot %s\" d=\"", classes);
            page_point(to, width * ((double)of->rank[i] + 0.5) / (double)of->count,
                       1 - page_scale_at(&of->times, time_of(of, i)));
            page_raw(to, "\"/>");
        }
}

static void add_all(page *to, const shape *of)
{
    // Failures take their share of the width, a quarter at most.
    double width = of->failed ? 1 - fmin(fmax((double)of->failed / (double)(of->count + of->failed), 0.02), 0.25) : 1;
    const st_reported_result *result = of->at->result;
    page_raw(to, "<figure><figcaption><b>All configurations</b>, fastest first <span class=\"note\">time, logarithmic");
    if (of->step > 1)
        page_rawf(to, "; one point in %zu is drawn, all count", of->step);
    page_raw(to, "</span></figcaption>");
    page_chart_begin(to, "rank");
    page_chart_y_times(to, &of->times);
    page_raw(to, "<div class=\"plot\">");
    page_svg_begin(
        to, "points",
        "Every configuration that has a time, by its rank and time; the table of candidates below has them all");
    double ticks[8];
    size_t tick_count = page_scale_ticks(&of->times, ticks, 6);
    for (size_t i = 0; i < tick_count; i++)
        page_rawf(to, "<path class=\"grid\" d=\"M0 %.0fH%d\"/>", PAGE_HIGH * (1 - page_scale_at(&of->times, ticks[i])),
                  PAGE_WIDE);
    page_rawf(to, "<path class=\"pts\" data-points=\"all\" data-step=\"%zu\" d=\"", of->step);
    for (size_t i = 0; i < of->count; i += of->step)
        page_point(to, width * ((double)of->rank[i] + 0.5) / (double)of->count,
                   1 - page_scale_at(&of->times, time_of(of, i)));
    page_raw(to, "\"/>");
    add_dot(to, of, result->standard, width, "d");
    add_dot(to, of, result->winner, width, "w");
    page_svg_end(to);
    if (of->failed)
        page_rawf(to, "<span class=\"hatch\" style=\"left:%.1f%%;right:0\"><b>%zu failed</b></span>", 100 * width,
                  of->failed);
    add_mark(to, of, result->standard, width, "default", "d");
    if (result->winner != result->standard)
        add_mark(to, of, result->winner, width, "winner", "w");
    page_rawf(to, "</div><div class=\"axis x title\">%zu with a time, by rank</div>", of->count);
    page_chart_end(to);
    page_raw(to, "</figure>");
}

// --- one parameter ---------------------------------------------------------------------------------------------------

typedef struct value_facts {
    size_t measured, failed, tried;
    double best, lower, median, upper, worst; // time; lower and upper: a quarter is faster, a quarter is slower
    bool has_winner;
} value_facts;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at_share(const double *ordered, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    return below + 1 < count ? ordered[below] + (place - (double)below) * (ordered[below + 1] - ordered[below])
                             : ordered[count - 1];
}

static value_facts facts_of(const shape *of, size_t parameter, uint16_t value)
{
    const st_reported_problem *problem = of->at->problem;
    value_facts facts = {.best = NAN, .lower = NAN, .median = NAN, .upper = NAN, .worst = NAN};
    for (size_t i = 0; i < problem->count; i++) {
        const st_reported_candidate *candidate = &problem->candidates[i];
        if (candidate->values[parameter] != value)
            continue;
        double ns = candidate->times[of->at->cache].comparable_ns;
        facts.tried++;
        facts.has_winner = facts.has_winner || (int)i == of->at->result->winner;
        if (ns > 0) {
            of->scratch[facts.measured++] = ns;
        } else if (st_reported_outcome_is_failure(candidate->outcome))
            facts.failed++;
    }
    if (facts.measured) {
        qsort(of->scratch, facts.measured, sizeof *of->scratch, by_value);
        facts.best = of->scratch[0];
        facts.worst = of->scratch[facts.measured - 1];
        facts.lower = at_share(of->scratch, facts.measured, 0.25);
        facts.median = at_share(of->scratch, facts.measured, 0.5);
        facts.upper = at_share(of->scratch, facts.measured, 0.75);
    }
    return facts;
}

static void add_strip(page *to, const shape *of, uint16_t value, const value_facts *facts)
{
    const double times[] = {facts->best, facts->lower, facts->median, facts->upper, facts->worst};
    double places[5];
    char which[32];
    if (!facts->measured)
        return;
    for (size_t i = 0; i < 5; i++)
        places[i] = page_scale_at(&of->times, times[i]);
    snprintf(which, sizeof which, " data-v=\"%u\"", value);
    page_box(to, places, which);
    if (facts->has_winner)
        page_rawf(to, "<b style=\"left:%.1f%%\"></b>", 100 * page_scale_at(&of->times, of->at->result->winner_ns));
    page_raw(to, "</span>");
}

static void add_value_row(page *to, const shape *of, size_t parameter, uint16_t value)
{
    const st_reported_parameter *of_parameter = &of->at->session->parameters[parameter];
    value_facts facts = facts_of(of, parameter, value);
    if (!facts.tried)
        return;
    page_rawf(to, "<tr%s><th scope=\"row\"><code>", facts.has_winner ? " class=\"win\"" : "");
    page_name(to, of_parameter->values[value]);
    page_raw(to, of_parameter->standard == value ? "</code><small>default</small></th><td class=\"n\">"
                                                 : "</code></th><td class=\"n\">");
    page_rawf(to, "%zu", facts.measured);
    if (facts.failed)
        page_rawf(to, "<span class=\"hatch inline\" title=\"failed\">%zu</span>", facts.failed);
    page_raw(to, "</td><td class=\"stripcell\">");
    add_strip(to, of, value, &facts);
    page_raw(to, "</td><td class=\"n\">");
    page_time(to, facts.median);
    page_raw(to, "</td><td class=\"n best\">");
    page_time(to, facts.best);
    page_raw(to, "</td></tr>");
}

static void add_strip_axis(page *to, const shape *of)
{
    double ticks[6];
    size_t count = page_scale_ticks(&of->times, ticks, 3);
    double last = -1;
    page_raw(to, "<span class=\"axis x\">");
    for (size_t i = 0; i < count; i++) {
        double at = page_scale_at(&of->times, ticks[i]);
        if (at - last < 0.24)
            continue; // they would touch where the page is narrow
        last = at;
        page_rawf(to, "<span style=\"left:%.1f%%\"%s>", 100 * at,
                  at < 0.12   ? " class=\"first\""
                  : at > 0.88 ? " class=\"last\""
                              : "");
        page_tick(to, ticks[i]);
        page_raw(to, "</span>");
    }
    page_raw(to, "</span>");
}

static void add_parameter(page *to, const shape *of, size_t parameter)
{
    const st_reported_parameter *one = &of->at->session->parameters[parameter];
    double share = of->at->result->importance ? of->at->result->importance[parameter] : NAN;
    page_rawf(to, "<figure class=\"parameter\"><table class=\"strips\" data-p=\"%zu\"><caption><b>", parameter);
    page_words(to, one->name);
    page_raw(to, "</b>");
    if (isfinite(share)) {
        page_raw(to, " <span class=\"note\">explains ");
        page_share(to, share);
        page_raw(to, " of the spread</span>");
    }
    if (one->roles) {
        page_raw(to, "<small>moves ");
        page_roles(to, one->roles);
        page_raw(to, "</small>");
    }
    page_raw(to, "</caption><thead><tr><th scope=\"col\">value</th><th scope=\"col\" class=\"n\">n</th><th "
                 "scope=\"col\" class=\"stripcell\">");
    add_strip_axis(to, of);
    page_raw(
        to,
        "</th><th scope=\"col\" class=\"n\">median</th><th scope=\"col\" class=\"n\">best</th></tr></thead><tbody>");
    for (size_t v = 0; v < one->value_count; v++)
        add_value_row(to, of, parameter, (uint16_t)v);
    page_raw(to, "</tbody></table></figure>");
}

static size_t values_tried(const page_place *at, size_t parameter)
{
    uint16_t first = ST_REPORT_NO_VALUE;
    for (size_t i = 0; i < at->problem->count; i++) {
        uint16_t value = at->problem->candidates[i].values[parameter];
        if (first == ST_REPORT_NO_VALUE)
            first = value;
        else if (value != first)
            return 2;
    }
    return first != ST_REPORT_NO_VALUE;
}

// The most telling parameter that is not listed yet; count: none is left.
static size_t next_parameter(const page_place *at, const bool *listed, size_t count)
{
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        double share = at->result->importance ? at->result->importance[i] : NAN;
        double most = best < count && at->result->importance ? at->result->importance[best] : NAN;
        if (!listed[i] && (best == count || share > most || (isnan(most) && isfinite(share))))
            best = i;
    }
    return best;
}

static bool add_parameters(page *to, const shape *of)
{
    size_t count = of->at->session->parameter_count, held = 0;
    bool *listed = st_calloc(count ? count : 1, sizeof *listed);
    if (!listed)
        return false;
    page_raw(to, "<h4>Time by each parameter</h4><p class=\"note\">The parameter whose values tell most about the time "
                 "comes first. "
                 "The line goes from the fastest to the slowest of a row, the box over the middle half, the mark is the "
                 "median; points, where scripts run, are single configurations; the accent marks the winner.</p>");
    page_rawf(to, "<div class=\"parameters\" data-step=\"%zu\"", of->step);
    if (of->count)
        page_rawf(to, " data-low=\"%.9g\" data-high=\"%.9g\"", of->times.low, of->times.high);
    page_raw(to, ">");
    for (size_t i; (i = next_parameter(of->at, listed, count)) < count; listed[i] = true)
        if (values_tried(of->at, i) > 1)
            add_parameter(to, of, i);
        else
            held++;
    page_raw(to, "</div>");
    if (held)
        page_rawf(to, "<p class=\"note\">%zu more parameter%s held at one value.</p>", held,
                  held == 1 ? " was" : "s were");
    st_free(listed);
    return true;
}

void page_landscape(page *to, const page_place *at)
{
    shape of;
    bool fine = make_shape(at, &of);
    if (fine && of.count + of.failed) {
        page_raw(to, "<section class=\"landscape\"><h3>The landscape</h3>");
        st_report_scale(at->problem, at->cache, &to->scratch);
        if (to->scratch.length) {
            page_raw(to, "<p class=\"note\">");
            page_scratch(to);
            page_raw(to, "</p>");
        }
        if (of.count)
            add_all(to, &of);
        fine = add_parameters(to, &of);
        page_heat(to, at);
        page_raw(to, "</section>");
    }
    to->out->failed = to->out->failed || !fine;
    release(&of);
}
