// SPDX-License-Identifier: Apache-2.0
// A family's history for people. Invariants: 1. a sentence that blames a version says what else changed with it;
// 2. unknown is "-"; 3. a sparkline's heights are the data of the JSON; higher is slower.
#include "reports/history.h"

#include "reports/compare_internal.h"
#include "reports/format.h"
#include "tuner/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 8, TOLD_MOVED = 2, WIDTH = 100, VERSION_COLUMNS = 16 };

// --- sparkline -------------------------------------------------------------------------------------------------------

void st_history_sparkline(const st_history_series *series, bool unicode, st_text *out)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char plain[] = "_.:-=+*#";
    for (size_t i = 0; i < series->count; i++) {
        int level = series->lines[i].level;
        if (level < 0)
            st_text_add(out, unicode ? "·" : " ");
        else if (unicode)
            st_text_add(out, blocks[level]);
        else
            st_text_add_bytes(out, &plain[level], 1);
    }
}

// A template is known by the beginning of its hash.
static void add_version(const st_history *made, const char *version, st_text *out)
{
    st_text_addf(out, made->by == ST_HISTORY_TEMPLATE ? "%.12s" : "%s", version[0] ? version : "-");
}

// --- sentences -------------------------------------------------------------------------------------------------------

// Of the time before, as the lines have it.
static void add_range(double least, double most, st_text *out)
{
    double low = fmin(fabs(least - 1), fabs(most - 1)) * 100, high = fmax(fabs(least - 1), fabs(most - 1)) * 100;
    if (high - low < 0.1)
        st_text_addf(out, "by %.1f %%", high);
    else
        st_text_addf(out, "by %.1f to %.1f %%", low, high);
}

// What else differs, which may be to blame as well: the tool and the clocks included.
static void add_others(const st_history *made, unsigned others, st_text *out)
{
    int count = 0, told = 0;
    for (unsigned bit = 1; bit < 1u << ST_DIFFERS_KINDS; bit <<= 1)
        count += (others & bit) != 0;
    if (!count) {
        st_text_add(out, "; nothing else that is known changed with it");
        return;
    }
    st_text_add(out, "; but ");
    for (unsigned bit = 1; bit < 1u << ST_DIFFERS_KINDS; bit <<= 1)
        if (others & bit) {
            st_text_addf(out, "%s%s", told == 0 ? "" : told + 1 == count ? " and " : ", ", st_differs_name(bit));
            told++;
        }
    st_text_addf(out, " changed too, so it may not be the %s", st_history_by_name(made->by));
}

void st_history_sentence(const st_history *made, const st_history_finding *finding, st_text *out)
{
    const char *how = finding->change == ST_CHANGE_WORSE ? "slower" : "faster";
    bool devices = made->by == ST_HISTORY_DEVICE;
    if (devices) {
        st_text_addf(out, "%s is %s on ", made->family, how);
        add_version(made, finding->version, out);
        st_text_add(out, " than on ");
        add_version(made, finding->before, out);
    } else {
        st_text_addf(out, "%s ", st_history_by_name(made->by));
        add_version(made, finding->version, out);
        st_text_addf(out, " made %s %s on %s than ", made->family, how, finding->device);
        add_version(made, finding->before, out);
    }
    if (finding->of == 1)
        st_text_add(out, ", ");
    else
        st_text_addf(out, " in %zu of %zu problems and states of the cache, ", finding->count, finding->of);
    add_range(finding->least, finding->most, out);
    if (finding->untold)
        st_text_addf(out, " (%zu cannot be told)", finding->untold);
    if (!devices)
        add_others(made, finding->others, out);
}

void st_history_no_finding(const st_history *made, st_text *out)
{
    const char *by = st_history_by_name(made->by);
    size_t compared = 0, untold = 0;
    for (size_t s = 0; s < made->count; s++)
        for (size_t i = 1; i < made->series[s].count; i++) {
            compared++;
            untold += made->series[s].lines[i].change.change == ST_CHANGE_UNKNOWN;
        }
    if (made->versions < 2) {
        st_text_addf(out, "there is one %s so far: ", by);
        add_version(made, made->series[0].lines[0].version, out);
    } else if (!compared)
        st_text_addf(out, "no problem was measured with more than one %s", by);
    else {
        st_text_addf(out, "no %s made %s slower or faster beyond noise", by, made->family);
        if (untold)
            st_text_addf(out, " (%zu of %zu changes cannot be told)", untold, compared);
    }
}

// --- text --------------------------------------------------------------------------------------------------------------

typedef struct page {
    const st_history *made;
    const st_history_print *print;
    st_text *out;
    int width, columns; // of the versions
    char device[320];
} page;

static void add_words(page *to, st_text *words)
{
    st_report_row(to->out, "", INDENT, st_text_string(words), to->width);
    to->out->failed = to->out->failed || words->failed;
    st_text_clear(words);
}

static void add_series_head(page *to, const st_history_series *series)
{
    const st_compare_row *row = &series->lines[0].record->row;
    char device[320];
    snprintf(device, sizeof device, "%s%s%s%s", row->device_name, row->device_uuid[0] ? ", " : "", row->device_uuid,
             strcmp(row->backend, "emu") == 0 ? ", EMULATED: these times mean nothing" : "");
    if (to->made->by != ST_HISTORY_DEVICE && strcmp(device, to->device) != 0) {
        st_text_addf(to->out, "\n%s%s%s\n", to->print->colour ? "\033[1m" : "", device,
                     to->print->colour ? "\033[0m" : "");
        snprintf(to->device, sizeof to->device, "%s", device);
    }
    st_text_addf(to->out, "%s ", row->family);
    st_report_problem(to->out, row->problem);
    st_text_addf(to->out, ", %s  ", row->cache);
    st_history_sparkline(series, to->print->unicode, to->out);
    st_text_add(to->out, "\n");
}

static void add_change(const st_compare_pair *change, st_text *out)
{
    if (!change->a)
        return;
    st_text_add(out, "  ");
    st_report_left(out, st_change_name(change->change), 11);
    st_text_add(out, " ");
    compare_add_gaps(out, change->ratio);
    if (change->reason[0])
        st_text_addf(out, ": %s", change->reason);
}

static void add_line(page *to, const st_history_line *line)
{
    st_text cell;
    char date[ST_DATE_TEXT];
    st_text_init(&cell);
    add_version(to->made, line->version, &cell);
    st_text_add(to->out, "  ");
    st_report_left(to->out, st_text_string(&cell), to->columns);
    st_clock_date(line->record->row.taken_ms, date);
    st_text_addf(to->out, "  %.10s", date);
    st_text_clear(&cell);
    st_report_time(&cell, line->median_ns);
    st_report_right(to->out, st_text_string(&cell), 12);
    to->out->failed = to->out->failed || cell.failed;
    st_text_clear(&cell);
    add_change(&line->change, to->out);
    st_text_add(to->out, "\n");
    for (size_t i = 0; i < line->change.moved_count && i < TOLD_MOVED; i++) {
        st_text_add(&cell, i ? "; " : "moved: ");
        st_compare_add_moved(&line->change.moved[i], &cell);
    }
    if (cell.length)
        add_words(to, &cell);
    bool other = line->change.a &&
                 strcmp(line->change.a->row.configuration, line->record->row.configuration) != 0;
    if (!line->change.a || other) {
        st_text_addf(&cell, "%s", line->record->row.configuration);
        add_words(to, &cell);
    }
    if (!line->held) {
        st_text_addf(&cell, "(measured with driver %s, %s, template %.12s)",
                     line->record->row.driver[0] ? line->record->row.driver : "-",
                     line->record->row.compiler[0] ? line->record->row.compiler : "-",
                     line->record->row.template_hash);
        add_words(to, &cell);
    }
    st_text_release(&cell);
}

static void add_overall(page *to, const st_history_series *series)
{
    if (!series->overall.a)
        return;
    st_text_add(to->out, "  from the first to the last:");
    add_change(&series->overall, to->out);
    st_text_add(to->out, "\n");
}

static int widest(const st_history *made)
{
    int columns = VERSION_COLUMNS;
    for (size_t s = 0; s < made->count && made->by != ST_HISTORY_TEMPLATE; s++)
        for (size_t i = 0; i < made->series[s].count; i++) {
            int wide = (int)st_report_columns(made->series[s].lines[i].version);
            columns = wide > columns ? wide : columns;
        }
    return columns > 40 ? 40 : columns;
}

static void add_findings(const st_history *made, const char *before, const char *after, st_text *out)
{
    for (size_t i = 0; i < made->finding_count; i++) {
        st_text_add(out, before);
        st_history_sentence(made, &made->findings[i], out);
        st_text_add(out, after);
    }
    if (!made->finding_count) {
        st_text_add(out, before);
        st_history_no_finding(made, out);
        st_text_add(out, after);
    }
}

void st_history_text(const st_history *made, const st_history_print *print, st_text *out)
{
    page to = {.made = made, .print = print, .out = out, .width = print->width ? print->width : WIDTH,
               .columns = widest(made)};
    st_text_addf(out, "%s by %s%s; a change counts from %.3g %% on; a higher bar is slower\n", made->family,
                 st_history_by_name(made->by), made->chosen ? " (--by says otherwise)" : "",
                 made->rules.between * 100);
    for (size_t s = 0; s < made->count; s++) {
        add_series_head(&to, &made->series[s]);
        for (size_t i = 0; i < made->series[s].count; i++)
            add_line(&to, &made->series[s].lines[i]);
        add_overall(&to, &made->series[s]);
    }
    st_text_add(out, "\n");
    add_findings(made, "", "\n", out);
}

// --- Markdown ------------------------------------------------------------------------------------------------------------

static void add_cell(st_text *out, const char *text)
{
    for (; *text; text++)
        if (*text == '|')
            st_text_add(out, "\\|");
        else
            st_text_add_bytes(out, *text == '\n' || *text == '\r' ? " " : text, 1);
}

void st_history_markdown(const st_history *made, bool unicode, st_text *out)
{
    add_findings(made, "- ", "\n", out);
    st_text_addf(out, "\n| problem | cache | device | %s | measured | time | change (95 %%) | verdict |  |\n"
                      "|---|---|---|---|---|---|---|---|---|\n", st_history_by_name(made->by));
    for (size_t s = 0; s < made->count; s++)
        for (size_t i = 0; i < made->series[s].count; i++) {
            const st_history_line *line = &made->series[s].lines[i];
            const st_compare_row *row = &line->record->row;
            char date[ST_DATE_TEXT];
            st_clock_date(row->taken_ms, date);
            st_text_addf(out, "| %s ", row->family);
            st_report_problem(out, row->problem);
            st_text_addf(out, " | %s | ", row->cache);
            add_cell(out, row->device_name);
            st_text_add(out, " | ");
            add_version(made, line->version, out);
            st_text_addf(out, " | %.10s | ", date);
            st_report_time(out, line->median_ns);
            st_text_add(out, " | ");
            if (line->change.a)
                compare_add_gaps(out, line->change.ratio);
            st_text_addf(out, " | %s | ", line->change.a ? st_change_name(line->change.change) : "");
            if (i == 0)
                st_history_sparkline(&made->series[s], unicode, out);
            st_text_add(out, " |\n");
        }
}
