// SPDX-License-Identifier: Apache-2.0
// Why it is faster: default against winner, fact by fact. Invariants: 1. a row without a value on either side is left
// out; 2. a bar is drawn against a limit that is named, and only for shares of it; 3. nothing is computed here from a
// value that is not known.
#include "reports/page_internal.h"

#include "reports/format.h"
#include "tuner/base/json.h"

#include <math.h>
#include <string.h>

typedef enum row_kind { ROW_TIME, ROW_SPEED, ROW_SHARE, ROW_COUNT, ROW_RATIO, ROW_BYTES } row_kind;

typedef struct why_sides {
    const page_place *at;
    const st_reported_candidate *standard, *winner; // standard NULL: there is none
    const st_reported_profile *before, *after;
} why_sides;

// --- the limit of the memory -------------------------------------------------------------------------------------------

void page_limit(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    page_raw(to, "It moves ");
    page_speed(to, result->speed);
    page_raw(to, ", ");
    page_share(to, result->limit_share);
    page_raw(to, " of the limit of the memory, ");
    page_speed(to, result->limit_gbs);
    page_raw(to, ": ");
    st_report_limit(at->session, result, &to->scratch);
    page_scratch(to);
    page_raw(to, result->limit_share > 1 ? ". So it is faster than the limit that was measured: that is a measurement too, and "
                                           "what a run wrote last may still be in the cache when it ends."
                                         : ".");
    if (result->winner_profile && isfinite(st_reported_counter_of(result->winner_profile, "dram_throughput")))
        page_raw(to, " The peak that the counters are a share of is the rate of the memory's bus, which plain reads and copies do "
                     "not reach either.");
}

// --- occupancy -------------------------------------------------------------------------------------------------------

static double fact(const why_sides *sides, const char *name)
{
    const json_t *facts = sides->at->session->device_facts;
    return facts ? st_json_number_or_nan(facts, name) : NAN;
}

// What keeps more blocks from being resident: computed as the hardware counts. "" unknown.
static const char *limiter(const why_sides *sides, const st_reported_candidate *candidate)
{
    double threads = fact(sides, "threads_per_sm"), registers = fact(sides, "registers_per_sm");
    double shared = fact(sides, "smem_per_sm"), reserved = fact(sides, "smem_reserved");
    if (!candidate || candidate->blocks_per_sm <= 0 || !isfinite(candidate->occupancy) || !isfinite(threads))
        return "";
    double block = candidate->occupancy * threads / candidate->blocks_per_sm, warps = ceil(block / 32);
    double by_threads = floor(threads / (warps * 32)), by_blocks = fact(sides, "max_blocks_per_sm");
    double by_registers = INFINITY, by_shared = INFINITY;
    if (candidate->registers > 0 && isfinite(registers)) // given out in units of 256 a warp
        by_registers = floor(registers / (ceil(candidate->registers * 32 / 256.0) * 256 * warps));
    double used = fmax(candidate->static_smem, 0) + fmax(candidate->dynamic_smem, 0);
    if (used > 0 && isfinite(shared)) // in units of 128 bytes
        by_shared = floor(shared / (ceil((used + (isfinite(reserved) ? reserved : 1024)) / 128) * 128));
    double least = fmin(fmin(by_threads, by_blocks), fmin(by_registers, by_shared));
    if (by_registers <= least)
        return "registers";
    if (by_shared <= least)
        return "shared memory";
    return by_threads <= least ? "threads (it is full)" : by_blocks <= least ? "block slots" : "";
}

// --- rows ------------------------------------------------------------------------------------------------------------

static void add_value(page *to, row_kind kind, double value)
{
    if (!isfinite(value)) {
        page_raw(to, "-");
        return;
    }
    switch (kind) {
    case ROW_TIME:
        page_time(to, value);
        break;
    case ROW_SPEED:
        page_speed(to, value);
        break;
    case ROW_SHARE:
        page_share(to, value);
        break;
    case ROW_COUNT:
        page_count(to, value);
        break;
    case ROW_RATIO:
        page_rawf(to, "%.*f", value < 10 ? 2 : 1, value);
        break;
    case ROW_BYTES:
        st_report_bytes(&to->scratch, value < 9e18 ? (int64_t)value : -1);
        page_scratch(to);
        break;
    }
}

// Two bars, one above the other, against 100 %.
static void add_bars(page *to, double before, double after)
{
    page_raw(to, "<span class=\"pairbar\">");
    if (isfinite(before))
        page_rawf(to, "<i class=\"d\" style=\"width:%.1f%%\"></i>", 100 * fmin(fmax(before, 0), 1));
    if (isfinite(after))
        page_rawf(to, "<i class=\"w\" style=\"width:%.1f%%\"></i>", 100 * fmin(fmax(after, 0), 1));
    page_raw(to, "</span>");
}

static void add_change(page *to, row_kind kind, double before, double after)
{
    double ratio = after / before;
    if (!isfinite(ratio) || before == after)
        page_raw(to, before == after ? "same" : "");
    else if (kind == ROW_SHARE) {
        page_signed(to, 100 * (after - before), 0);
        page_raw(to, " points");
    } else
        page_times(to, ratio);
}

// `whole`: what the bars stand against; NaN: the larger of the two.
static void add_row(page *to, const char *name, const char *meaning, row_kind kind, double before, double after,
                    double whole)
{
    if (!isfinite(before) && !isfinite(after))
        return;
    double top = isfinite(whole) ? whole : fmax(isfinite(before) ? before : 0, isfinite(after) ? after : 0);
    page_rawf(to, "<tr><th scope=\"row\">%s<small>%s</small></th><td class=\"n\">", name, meaning);
    add_value(to, kind, before);
    page_raw(to, "</td><td class=\"n win\">");
    add_value(to, kind, after);
    page_raw(to, "</td><td class=\"barcell\">");
    if (top > 0)
        add_bars(to, before / top, after / top);
    page_raw(to, "</td><td class=\"n\">");
    add_change(to, kind, before, after);
    page_raw(to, "</td></tr>");
}

static void add_word_row(page *to, const char *name, const char *meaning, const char *before, const char *after)
{
    if (!before[0] && !after[0])
        return;
    page_rawf(
        to,
        "<tr><th scope=\"row\">%s<small>%s</small></th><td class=\"n\">%s</td><td class=\"n win\">%s</td><td></td><td "
        "class=\"n\">%s</td></tr>",
        name, meaning, before[0] ? before : "-", after[0] ? after : "-", strcmp(before, after) == 0 ? "same" : "");
}

static void add_counter(page *to, const why_sides *sides, const char *name, const char *words, row_kind kind,
                        double whole)
{
    const st_metric *metric = st_metric_find(name);
    add_row(to, words, metric ? metric->meaning : "", kind, st_reported_counter_of(sides->before, name),
            st_reported_counter_of(sides->after, name), whole);
}

static double known(int value)
{
    return value < 0 ? NAN : value;
}

static void add_measured(page *to, const why_sides *sides)
{
    const st_reported_result *result = sides->at->result;
    double before = sides->standard ? result->standard_ns : NAN;
    add_row(to, "time", "median of the finals", ROW_TIME, before, result->winner_ns, NAN);
    add_row(to, "speed",
            isfinite(result->limit_gbs) ? "bytes that it has to move, by time; the bar ends at the measured limit of the memory"
                                        : "bytes that it has to move, by time",
            ROW_SPEED, result->bytes / before, result->speed, fmax(result->limit_gbs, result->speed));
}

static void add_counters(page *to, const why_sides *sides)
{
    add_counter(to, sides, "dram_throughput", "device memory", ROW_SHARE, 1);
    add_counter(to, sides, "l2_throughput", "L2", ROW_SHARE, 1);
    add_counter(to, sides, "issue_active", "issue slots used", ROW_SHARE, 1);
    add_counter(to, sides, "sm_busy", "SMs with work", ROW_SHARE, 1);
    add_counter(to, sides, "eligible_warps", "warps that could issue", ROW_RATIO, NAN);
    add_counter(to, sides, "cycles_per_instruction", "cycles an instruction", ROW_RATIO, NAN);
    add_counter(to, sides, "instructions", "warp instructions", ROW_COUNT, NAN);
    add_counter(to, sides, "dram_bytes_read", "bytes read", ROW_BYTES, NAN);
    add_counter(to, sides, "dram_bytes_written", "bytes written", ROW_BYTES, NAN);
    add_counter(to, sides, "load_sectors_per_request", "sectors a load", ROW_RATIO, NAN);
}

static double shared_of(const st_reported_candidate *candidate)
{
    return candidate && candidate->static_smem >= 0 && candidate->dynamic_smem >= 0
               ? (double)candidate->static_smem + candidate->dynamic_smem
               : NAN;
}

static void add_resources(page *to, const why_sides *sides)
{
    const st_reported_candidate *a = sides->standard, *b = sides->winner;
    add_row(to, "occupancy", "warps of its main kernel that can be resident, of what an SM holds", ROW_SHARE,
            a ? a->occupancy : NAN, b->occupancy, 1);
    add_counter(to, sides, "occupancy", "achieved occupancy", ROW_SHARE, 1);
    add_word_row(to, "limited by", "what keeps more blocks of its main kernel from being resident", limiter(sides, a),
                 limiter(sides, b));
    add_row(to, "registers", "for each thread of its main kernel", ROW_COUNT, a ? known(a->registers) : NAN,
            known(b->registers), 255);
    add_row(to, "spills", "local memory for each thread, the most of any of its kernels", ROW_BYTES, a ? known(a->local_bytes) : NAN,
            known(b->local_bytes), NAN);
    add_row(to, "shared memory", "for each block of its main kernel", ROW_BYTES, shared_of(a), shared_of(b),
            fact(sides, "smem_per_block"));
    add_row(to, "blocks", "of its main kernel, resident on an SM", ROW_COUNT, a ? known(a->blocks_per_sm) : NAN, known(b->blocks_per_sm),
            NAN);
}

void page_why(page *to, const page_place *at)
{
    const st_reported_result *result = at->result;
    if (result->winner < 0)
        return;
    why_sides sides = {.at = at, .winner = &at->problem->candidates[result->winner], .after = result->winner_profile};
    if (result->standard >= 0) {
        sides.standard = &at->problem->candidates[result->standard];
        sides.before = result->standard_profile;
    }
    page_raw(to, "<section class=\"why\"><h3>Why it is faster</h3>");
    page_changes(to, at);
    page_waits(to, at);
    page_raw(to, "<h4>Default and winner, side by side</h4><p class=\"note\">The main kernel is the launch with the most "
                 "threads; counters are of all kernels of a run. ");
    if (at->cache == ST_REPORT_WARM)
        page_raw(to, "Counters and stalls were taken with a cold cache, times with a warm one. ");
    if (isfinite(result->limit_share))
        page_limit(to, at);
    page_raw(to, "</p>");
    page_scroll(to, "default and winner");
    page_raw(to,
             "<table class=\"sides\"><thead><tr>"
             "<th scope=\"col\">what</th><th scope=\"col\" class=\"n\"><i class=\"key d\"></i>default</th>"
             "<th scope=\"col\" class=\"n\"><i class=\"key w\"></i>winner</th><th scope=\"col\">against its limit</th>"
             "<th scope=\"col\" class=\"n\">winner / default</th></tr></thead><tbody>");
    add_measured(to, &sides);
    add_counters(to, &sides);
    add_resources(to, &sides);
    page_raw(to, "</tbody></table></div>");
    page_roofline(to, at);
    page_raw(to, "</section>");
}
