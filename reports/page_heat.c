// SPDX-License-Identifier: Apache-2.0
// The heat map of two parameters: the best time of each pair of values, as a table whose cells are coloured. The script
// lets the reader choose others; without it stand the two that explain most. Invariants: 1. a cell shows its figure, the
// colour only repeats it; 2. a pair that was tried and never gave a time is hatched; one that was not tried is empty;
// 3. times are on one scale, as those of the landscape.
#include "reports/page_internal.h"

#include "tuner/base/memory.h"

#include <math.h>

enum { HEAT_STEPS = 9, HEAT_VALUES_MOST = 16 };

typedef struct heat {
    size_t rows, columns; // parameters
    size_t row_count, column_count;
    double *best; // NaN: none
    size_t *tried;
    size_t *failed; // of those
} heat;

static size_t tried_values(const page_place *at, size_t parameter)
{
    bool seen[HEAT_VALUES_MOST] = {false};
    size_t count = 0;
    for (size_t i = 0; i < at->problem->count; i++) {
        uint16_t value = at->problem->candidates[i].values[parameter];
        if (value >= HEAT_VALUES_MOST)
            continue;
        count += !seen[value];
        seen[value] = true;
    }
    return at->session->parameters[parameter].value_count <= HEAT_VALUES_MOST ? count : 0;
}

// The parameter that explains most, `except` left out; the count of parameters: there is none.
static size_t most_telling(const page_place *at, size_t except)
{
    size_t count = at->session->parameter_count, best = count;
    for (size_t i = 0; i < count; i++) {
        double share = at->result->importance ? at->result->importance[i] : NAN;
        if (i == except || !isfinite(share) || tried_values(at, i) < 2)
            continue;
        if (best == count || share > at->result->importance[best])
            best = i;
    }
    return best;
}

static bool fill(const page_place *at, heat *of)
{
    of->row_count = at->session->parameters[of->rows].value_count;
    of->column_count = at->session->parameters[of->columns].value_count;
    size_t cells = of->row_count * of->column_count;
    of->best = st_malloc(cells * sizeof *of->best);
    of->tried = st_calloc(cells, sizeof *of->tried);
    of->failed = st_calloc(cells, sizeof *of->failed);
    if (!of->best || !of->tried || !of->failed)
        return false;
    for (size_t i = 0; i < cells; i++)
        of->best[i] = NAN;
    for (size_t i = 0; i < at->problem->count; i++) {
        const uint16_t *values = at->problem->candidates[i].values;
        double ns = at->problem->candidates[i].times[at->cache].comparable_ns;
        if (values[of->rows] == ST_REPORT_NO_VALUE || values[of->columns] == ST_REPORT_NO_VALUE)
            continue;
        size_t cell = values[of->rows] * of->column_count + values[of->columns];
        of->tried[cell]++;
        of->failed[cell] += st_reported_outcome_is_failure(at->problem->candidates[i].outcome);
        if (ns > 0 && !(ns >= of->best[cell]))
            of->best[cell] = ns;
    }
    return true;
}

static bool row_was_tried(const heat *of, size_t row)
{
    for (size_t c = 0; c < of->column_count; c++)
        if (of->tried[row * of->column_count + c])
            return true;
    return false;
}

static bool column_was_tried(const heat *of, size_t column)
{
    for (size_t r = 0; r < of->row_count; r++)
        if (of->tried[r * of->column_count + column])
            return true;
    return false;
}

static void add_cell(page *to, const heat *of, size_t cell, const page_scale *scale)
{
    double ns = of->best[cell];
    if (!of->tried[cell])
        page_raw(to, "<td></td>");
    else if (isnan(ns) && of->failed[cell] == of->tried[cell])
        page_raw(to, "<td class=\"hatch\">failed</td>");
    else if (isnan(ns)) // right, but given up before it was timed in this state of the cache
        page_raw(to, "<td class=\"n\">not timed</td>");
    else {
        int step = (int)floor((1 - page_scale_at(scale, ns)) * (HEAT_STEPS - 0.001));
        page_rawf(to, "<td class=\"n h%d\">", step);
        page_time(to, ns);
        page_raw(to, "</td>");
    }
}

static void add_table(page *to, const page_place *at, const heat *of)
{
    const st_reported_parameter *rows = &at->session->parameters[of->rows],
                                *columns = &at->session->parameters[of->columns];
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < of->row_count * of->column_count; i++)
        if (isfinite(of->best[i])) {
            least = fmin(least, of->best[i]);
            most = fmax(most, of->best[i]);
        }
    page_scale scale = {least, most > least ? most : least * 1.01, true};
    page_scroll(to, "two parameters");
    page_rawf(to, "<table class=\"heat\" data-rows=\"%zu\" data-columns=\"%zu\"><thead><tr><th scope=\"col\">",
              of->rows, of->columns);
    page_words(to, rows->name);
    page_raw(to, " ↓ ");
    page_words(to, columns->name);
    page_raw(to, " →</th>");
    for (size_t c = 0; c < of->column_count; c++)
        if (column_was_tried(of, c)) {
            page_raw(to, "<th scope=\"col\" class=\"n\"><code>");
            page_words(to, columns->values[c]);
            page_raw(to, "</code></th>");
        }
    page_raw(to, "</tr></thead><tbody>");
    for (size_t r = 0; r < of->row_count; r++) {
        if (!row_was_tried(of, r))
            continue;
        page_raw(to, "<tr><th scope=\"row\"><code>");
        page_words(to, rows->values[r]);
        page_raw(to, "</code></th>");
        for (size_t c = 0; c < of->column_count; c++)
            if (column_was_tried(of, c))
                add_cell(to, of, r * of->column_count + c, &scale);
        page_raw(to, "</tr>");
    }
    page_raw(to, "</tbody></table></div>");
}

void page_heat(page *to, const page_place *at)
{
    size_t none = at->session->parameter_count;
    heat of = {.rows = most_telling(at, none)};
    of.columns = of.rows < none ? most_telling(at, of.rows) : none;
    if (of.columns >= none)
        return;
    page_raw(
        to,
        "<h4>Two parameters together</h4><p class=\"note\">Best time of each pair of values; the stronger the colour, the faster. "
        "Hatched: tried, and nothing valid came of it. Empty: not allowed, or not tried.</p><div class=\"heatbox\">");
    if (fill(at, &of))
        add_table(to, at, &of);
    else
        to->out->failed = true;
    page_raw(to, "</div>");
    st_free(of.best);
    st_free(of.tried);
    st_free(of.failed);
}
