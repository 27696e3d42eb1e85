// SPDX-License-Identifier: Apache-2.0
// Scales, points and frames of charts. Invariants: 1. a place is 0…1 from the left and from the top, written as whole
// thousandths; 2. no text stands in an SVG (page_internal.h says why); 3. each plot has a label in words.
#include "reports/page_internal.h"

#include "reports/format.h"

#include <math.h>

// --- scales ----------------------------------------------------------------------------------------------------------

page_scale page_scale_log(double low, double high)
{
    if (!(low > 0) || !(high > 0))
        return (page_scale){NAN, NAN, true};
    double room = fmax(log(high / low) * 0.04, 0.01);
    return (page_scale){low * exp(-room), high * exp(room), true};
}

page_scale page_scale_linear(double low, double high)
{
    return (page_scale){low, high > low ? high : low + 1, false};
}

double page_scale_at(const page_scale *scale, double value)
{
    double at = scale->is_log ? log(value / scale->low) / log(scale->high / scale->low)
                              : (value - scale->low) / (scale->high - scale->low);
    return isfinite(at) ? fmin(fmax(at, 0), 1) : 0;
}

static size_t log_ticks(const page_scale *scale, double *ticks, size_t most)
{
    // The finest of these grids that does not have too many lines.
    static const double mantissas[][9] = {{1, 1.5, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}};
    static const size_t lengths[] = {9, 5, 3, 2, 1};
    for (size_t grid = 0; grid < 5; grid++) {
        size_t count = 0;
        for (int power = (int)floor(log10(scale->low)); power <= (int)ceil(log10(scale->high)); power++)
            for (size_t i = 0; i < lengths[grid]; i++) {
                double value = mantissas[grid][i] * pow(10, power);
                if (value < scale->low || value > scale->high)
                    continue;
                if (count < most)
                    ticks[count] = value;
                count++;
            }
        if (count <= most && (count >= 2 || grid == 0))
            return count;
    }
    return 0;
}

// Round steps of 1, 2 or 5.
static size_t even_ticks(const page_scale *scale, double *ticks, size_t most)
{
    double raw = (scale->high - scale->low) / (double)(most > 1 ? most - 1 : 1);
    double power = pow(10, floor(log10(raw))), step = power;
    static const double steps[] = {1, 2, 5, 10};
    for (size_t i = 0; i < 4; i++)
        if ((step = steps[i] * power) >= raw * 0.999)
            break;
    size_t count = 0;
    for (double value = ceil(scale->low / step) * step; value <= scale->high * (1 + 1e-9) && count < most;
         value += step)
        ticks[count++] = fabs(value) < step * 1e-6 ? 0 : value;
    return count;
}

static const double ticks_apart = 0.11; // of the axis

size_t page_scale_ticks(const page_scale *scale, double *ticks, size_t most)
{
    if (!isfinite(scale->low) || !isfinite(scale->high) || !(scale->high > scale->low))
        return 0;
    size_t count = scale->is_log ? log_ticks(scale, ticks, most) : 0, kept = 0;
    if (count < 2)
        return even_ticks(scale, ticks, most);
    for (size_t i = 0; i < count; i++) // the grid is uneven: labels of neighbours must not run into each other
        if (!kept || page_scale_at(scale, ticks[i]) - page_scale_at(scale, ticks[kept - 1]) >= ticks_apart)
            ticks[kept++] = ticks[i];
    return kept;
}

// --- points ----------------------------------------------------------------------------------------------------------

static int unit(double at, int size)
{
    return (int)lround(fmin(fmax(at, 0), 1) * size);
}

void page_point(page *to, double x, double y)
{
    // By hand: there are many of them.
    char text[24];
    size_t length = sizeof text;
    int values[2] = {unit(y, PAGE_HIGH), unit(x, PAGE_WIDE)};
    text[--length] = '0';
    text[--length] = 'h';
    for (int i = 0; i < 2; i++) {
        int value = values[i];
        do
            text[--length] = (char)('0' + value % 10);
        while (value /= 10);
        text[--length] = i ? 'M' : ' ';
    }
    st_text_add_bytes(to->out, text + length, sizeof text - length);
}

size_t page_step(size_t points)
{
    return points <= PAGE_POINTS_MOST ? 1 : (points + PAGE_POINTS_MOST - 1) / PAGE_POINTS_MOST;
}

void page_box(page *to, const double places[5], const char *more)
{
    double at[5];
    for (size_t i = 0; i < 5; i++)
        at[i] = 100 * fmin(fmax(places[i], 0), 1);
    page_rawf(to, "<span class=\"boxed\"%s style=\"--a:%.1f;--c:%.1f;--m:%.1f;--d:%.1f;--b:%.1f\">", more, at[0], at[1], at[2],
              at[3], at[4]);
}

// --- frames ----------------------------------------------------------------------------------------------------------

void page_svg_begin(page *to, const char *classes, const char *label)
{
    page_rawf(to, "<svg class=\"%s\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
              classes, PAGE_WIDE, PAGE_HIGH);
    page_words(to, label);
    page_raw(to, "\">");
}

void page_svg_end(page *to)
{
    page_raw(to, "</svg>");
}

void page_chart_begin(page *to, const char *classes)
{
    page_rawf(to, "<div class=\"chart %s\">", classes);
}

// Labels of the axis stand left of the plot, each at its height; the grid is drawn with them.
void page_chart_y_times(page *to, const page_scale *scale)
{
    double ticks[8];
    size_t count = page_scale_ticks(scale, ticks, 6);
    page_raw(to, "<div class=\"axis y\" aria-hidden=\"true\">");
    for (size_t i = 0; i < count; i++) {
        page_rawf(to, "<span style=\"top:%.1f%%\">", 100 * (1 - page_scale_at(scale, ticks[i])));
        page_tick(to, ticks[i]);
        page_raw(to, "</span>");
    }
    page_raw(to, "</div>");
}

void page_chart_end(page *to)
{
    page_raw(to, "</div>");
}
