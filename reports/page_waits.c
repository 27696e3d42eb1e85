// SPDX-License-Identifier: Apache-2.0
// Where the time goes: the time of default and winner, each split by what their warps did when they were sampled, and the
// roofline with both. Invariants: 1. bars of different candidates are to one scale of time; 2. a share is of samples
// where both were sampled, else of warp latency, and the words say which; 3. small shares are put together, never lost.
#include "reports/page_internal.h"

#include "reports/format.h"
#include "tuner/base/json.h"

#include <math.h>
#include <string.h>

static const double segment_least = 0.01, label_least = 0.03;

typedef struct waits_side {
    const char *name, *classes;
    const st_reported_profile *profile;
    double ns;
} waits_side;

static double share_of(const st_reported_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->wait_count; i++)
        if (strcmp(profile->waits[i].name, name) == 0)
            return st_reported_wait_share(profile, &profile->waits[i]);
    return profile->wait_count ? 0 : NAN;
}

static const char *short_words(const char *name)
{
    return strcmp(name, "selected") == 0       ? "issues"
           : strcmp(name, "not_selected") == 0 ? "ready"
                                               : name;
}

static void add_segment(page *to, const char *name, double share, double of_all)
{
    page_raw(to, "<i class=\"seg");
    page_stall_class(to, name);
    page_rawf(to, "\" style=\"width:%.2f%%\" title=\"", 100 * share);
    page_words(to, short_words(name));
    page_raw(to, " ");
    page_share(to, share);
    page_raw(to, "\">");
    if (share * of_all >= label_least) {
        page_raw(to, "<wbr><span>"); // what does not fit goes to a second line, which is not shown: never half a word
        page_words(to, short_words(name));
        page_raw(to, "</span>");
    }
    page_raw(to, "</i>");
}

static void add_bar(page *to, const waits_side *side, double longest)
{
    double rest = 0, part = side->ns / longest;
    page_rawf(to,
              "<div class=\"timebar\"><span class=\"who %s\">%s</span><span class=\"what\"><span class=\"stack\" "
              "style=\"width:%.2f%%\">",
              side->classes, side->name, 100 * part);
    for (size_t i = 0; i < side->profile->wait_count; i++) {
        double share = st_reported_wait_share(side->profile, &side->profile->waits[i]);
        if (share >= segment_least)
            add_segment(to, side->profile->waits[i].name, share, part);
        else if (share > 0)
            rest += share;
    }
    if (rest > 0.001)
        page_rawf(to, "<i class=\"seg w-unknown\" style=\"width:%.2f%%\" title=\"the rest\"></i>", 100 * rest);
    page_raw(to, "</span><span class=\"after\">");
    page_time(to, side->ns);
    page_raw(to, "</span></span></div>");
}

static void add_cells(page *to, const waits_side *side, const char *name)
{
    double share = side->profile ? share_of(side->profile, name) : NAN;
    page_raw(to, "<td class=\"n\">");
    page_share(to, share);
    page_raw(to, "</td><td class=\"n\">");
    if (share > 0)
        page_time(to, share * side->ns);
    else
        page_raw(to, isnan(share) ? "-" : "0");
    page_raw(to, "</td>");
}

static void add_row(page *to, const waits_side *sides, size_t count, const char *name)
{
    page_raw(to, "<tr><th scope=\"row\"><i class=\"key");
    page_stall_class(to, name);
    page_raw(to, "\"></i>");
    page_words(to, short_words(name));
    page_raw(to, "<small>");
    bool is_ready = strcmp(name, "selected") == 0 || strcmp(name, "not_selected") == 0;
    page_words(to, is_ready ? (name[0] == 's' ? "the useful part" : "another warp issues: enough warps, no loss") : page_waits_for(name));
    page_raw(to, "</small></th>");
    for (size_t i = 0; i < count; i++)
        add_cells(to, &sides[i], name);
    if (count == 2) {
        double before = share_of(sides[0].profile, name) * sides[0].ns,
               after = share_of(sides[1].profile, name) * sides[1].ns;
        page_raw(to, "<td class=\"n\">");
        if (isfinite(before) && isfinite(after)) {
            page_raw(to, after - before < 0 ? "−" : "+");
            page_time(to, fabs(after - before));
        }
        page_raw(to, "</td>");
    }
    page_raw(to, "</tr>");
}

// The reasons of all sides, those of the first in its order, then what only the second has.
static void add_table(page *to, const waits_side *sides, size_t count)
{
    page_scroll(to, "waits");
    page_raw(to, "<table class=\"waits\"><thead><tr><th scope=\"col\">warps wait for</th>");
    for (size_t i = 0; i < count; i++)
        page_rawf(to, "<th scope=\"col\" class=\"n\" colspan=\"2\"><i class=\"key %s\"></i>%s: share, of its time</th>",
                  sides[i].classes, sides[i].name);
    page_raw(to, count == 2 ? "<th scope=\"col\" class=\"n\">change</th></tr></thead><tbody>" : "</tr></thead><tbody>");
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < sides[s].profile->wait_count; i++) {
            const char *name = sides[s].profile->waits[i].name;
            double here = share_of(sides[s].profile, name);
            bool listed = s == 1 && share_of(sides[0].profile, name) >= segment_least;
            if (here >= segment_least && !listed)
                add_row(to, sides, count, name);
        }
    page_raw(to, "</tbody></table></div>");
}

void page_waits(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    waits_side sides[2];
    size_t count = 0;
    double longest = 0;
    if (result->standard >= 0 && result->standard != result->winner && result->standard_profile &&
        result->standard_profile->wait_count)
        sides[count++] = (waits_side){"default", "d", result->standard_profile, result->standard_ns};
    if (result->winner_profile && result->winner_profile->wait_count)
        sides[count++] = (waits_side){"winner", "w", result->winner_profile, result->winner_ns};
    if (!count) {
        page_raw(to,
                 "<p class=\"note\">The store has no stall samples of these two, so where the time goes is not known. "
                 "<code>simtune doctor</code> says whether counters are allowed.</p>");
        return;
    }
    for (size_t i = 0; i < count; i++)
        longest = fmax(longest, sides[i].ns);
    bool sampled = sides[0].profile->is_sampled;
    page_rawf(
        to,
        "<h4>Where the time goes</h4><figure class=\"timebars\"><figcaption class=\"note\">Length is time; the parts "
        "are what its warps were doing, by share of %s. Counters are taken in runs of their own%s.</figcaption>",
        sampled ? "samples" : "warp latency",
        at->cache == ST_REPORT_WARM ? ", with a cold cache: how the time with a warm one is split was not measured, so these are "
                                      "the shares of the cold run on the length of the warm time" : "");
    for (size_t i = 0; i < count; i++)
        add_bar(to, &sides[i], longest);
    page_raw(to, "</figure>");
    add_table(to, sides, count);
}

// --- roofline --------------------------------------------------------------------------------------------------------

typedef struct roof_point {
    const char *name, *classes;
    double x, y; // warp instructions a byte; warp instructions a nanosecond
} roof_point;

static double moved_bytes(const st_reported_profile *profile, double bytes)
{
    double read = st_reported_counter_of(profile, "dram_bytes_read"),
           written = st_reported_counter_of(profile, "dram_bytes_written");
    double both = (isfinite(read) ? read : 0) + (isfinite(written) ? written : 0);
    return both > 0 ? both : bytes;
}

static bool make_point(roof_point *out, const char *name, const char *classes, const st_reported_profile *profile,
                       double bytes, double ns)
{
    double instructions = st_reported_counter_of(profile, "instructions");
    *out = (roof_point){name, classes, instructions / moved_bytes(profile, bytes), instructions / ns};
    return out->x > 0 && out->y > 0 && isfinite(out->x) && isfinite(out->y);
}

static void add_line(page *to, const page_scale *x, const page_scale *y, double x1, double y1, double x2, double y2,
                     const char *c)
{
    page_rawf(to, "<path class=\"%s\" d=\"M%.0f %.0fL%.0f %.0f\"/>", c, PAGE_WIDE * page_scale_at(x, x1),
              PAGE_HIGH * (1 - page_scale_at(y, y1)), PAGE_WIDE * page_scale_at(x, x2),
              PAGE_HIGH * (1 - page_scale_at(y, y2)));
}

static void add_roof_table(page *to, const roof_point *points, size_t count, double memory, double issue)
{
    page_scroll(to, "roofline");
    page_raw(
        to,
        "<table><thead><tr><th scope=\"col\">point</th><th scope=\"col\" class=\"n\">warp "
        "instructions a byte</th><th scope=\"col\" class=\"n\">billion warp instructions/s</th><th scope=\"col\" "
        "class=\"n\">of the memory roof</th><th scope=\"col\" class=\"n\">of the issue roof</th></tr></thead><tbody>");
    for (size_t i = 0; i < count; i++) {
        page_rawf(to,
                  "<tr><th scope=\"row\"><i class=\"key %s\"></i>%s</th><td class=\"n\">%.3g</td><td "
                  "class=\"n\">%.3g</td><td "
                  "class=\"n\">",
                  points[i].classes, points[i].name, points[i].x, points[i].y);
        page_share(to, points[i].y / (points[i].x * memory));
        page_raw(to, "</td><td class=\"n\">");
        page_share(to, points[i].y / issue);
        page_raw(to, "</td></tr>");
    }
    page_raw(to, "</tbody></table></div>");
}

static void add_roof_heights(page *to, const page_scale *y)
{
    double ticks[8];
    size_t count = page_scale_ticks(y, ticks, 5);
    page_raw(to, "<div class=\"axis y\" aria-hidden=\"true\">");
    for (size_t i = 0; i < count; i++)
        page_rawf(to, "<span style=\"top:%.1f%%\">%g</span>", 100 * (1 - page_scale_at(y, ticks[i])), ticks[i]);
    page_raw(to, "</div>");
}

static void add_roof_widths(page *to, const page_scale *x)
{
    double ticks[8];
    size_t count = page_scale_ticks(x, ticks, 5);
    page_raw(to, "<div class=\"axis x ticks\" aria-hidden=\"true\">");
    for (size_t i = 0; i < count; i++)
        page_rawf(to, "<span style=\"left:%.1f%%\">%g</span>", 100 * page_scale_at(x, ticks[i]), ticks[i]);
    page_raw(to, "</div><div class=\"axis x title\">warp instructions for each byte of device memory →</div>");
}

static void add_roof_grid(page *to, const page_scale *x, const page_scale *y)
{
    double ticks[8];
    size_t count = page_scale_ticks(y, ticks, 5);
    for (size_t i = 0; i < count; i++)
        page_rawf(to, "<path class=\"grid\" d=\"M0 %.0fH%d\"/>", PAGE_HIGH * (1 - page_scale_at(y, ticks[i])), PAGE_WIDE);
    count = page_scale_ticks(x, ticks, 5);
    for (size_t i = 0; i < count; i++)
        page_rawf(to, "<path class=\"grid\" d=\"M%.0f 0V%d\"/>", PAGE_WIDE * page_scale_at(x, ticks[i]), PAGE_HIGH);
}

static void add_roof_plot(page *to, const roof_point *points, size_t count, double memory, double issue)
{
    double knee = issue / memory, x_low = knee / 30, x_high = knee * 8, y_low = INFINITY, y_high = issue * 2;
    for (size_t i = 0; i < count; i++) {
        x_low = fmin(x_low, points[i].x / 2);
        x_high = fmax(x_high, points[i].x * 2);
        y_low = fmin(y_low, points[i].y / 2);
        y_high = fmax(y_high, points[i].y * 1.5);
    }
    y_low = fmin(y_low, x_low * memory);
    page_scale x = page_scale_log(x_low, x_high), y = page_scale_log(y_low, y_high);
    page_chart_begin(to, "roof");
    add_roof_heights(to, &y);
    page_raw(to, "<div class=\"plot\">");
    page_svg_begin(to, "roofline",
                   "Roofline: default and winner under the roofs of memory and issue; the table has the figures");
    add_roof_grid(to, &x, &y);
    add_line(to, &x, &y, x.low, x.low * memory, knee, issue, "rule");
    add_line(to, &x, &y, knee, issue, x.high, issue, "rule");
    for (size_t i = 0; i < count; i++) {
        page_rawf(to, "<path class=\"dot %s\" d=\"", points[i].classes);
        page_point(to, page_scale_at(&x, points[i].x), 1 - page_scale_at(&y, points[i].y));
        page_raw(to, "\"/>");
    }
    page_svg_end(to);
    for (size_t i = 0; i < count; i++)
        page_rawf(to, "<span class=\"tag %s%s\" style=\"left:%.1f%%;top:%.1f%%\">%s</span>", points[i].classes,
                  page_scale_at(&x, points[i].x) > 0.7 ? " left" : "", 100 * page_scale_at(&x, points[i].x),
                  100 * (1 - page_scale_at(&y, points[i].y)), points[i].name);
    page_rawf(to, "<span class=\"tag roof-issue\" style=\"right:0;top:%.1f%%\">issue: %.0f</span>",
              100 * (1 - page_scale_at(&y, issue)), issue);
    page_rawf(to, "<span class=\"tag roof-memory\" style=\"left:2%%;top:%.1f%%\">memory: ",
              100 * (1 - page_scale_at(&y, x.low * memory * 1.6)));
    page_speed(to, memory);
    page_raw(to, "</span></div>");
    add_roof_widths(to, &x);
    page_chart_end(to);
}

void page_roofline(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    const json_t *facts = at->session->device_facts;
    double clock = facts ? st_json_number_or_nan(facts, "sm_clock_khz") / 1e6 : NAN;
    double issue = at->session->sm_count * 4.0 * clock, memory = result->limit_gbs;
    roof_point points[2];
    size_t count = 0;
    if (result->standard >= 0 && result->standard != result->winner)
        count +=
            make_point(&points[count], "default", "d", result->standard_profile, result->bytes, result->standard_ns);
    count += make_point(&points[count], "winner", "w", result->winner_profile, result->bytes, result->winner_ns);
    if (!count || !isfinite(issue) || issue <= 0 || !isfinite(memory))
        return;
    page_raw(
        to,
        "<h4>Roofline</h4><div class=\"two\"><figure><figcaption class=\"note\">Billion warp instructions a second, over "
        "how many there are for each byte. Under the slope the memory is the limit, under the flat line the number of "
        "instructions. A point at a roof cannot go higher without moving along it; where a winner has fewer instructions "
        "for the same bytes, it may stand lower and be faster.</figcaption>");
    add_roof_plot(to, points, count, memory, issue);
    page_raw(to, "</figure>");
    add_roof_table(to, points, count, memory, issue);
    page_raw(to, "</div>");
}
