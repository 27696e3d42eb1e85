// SPDX-License-Identifier: Apache-2.0
// A family's history. Invariants: 1. drivers, compilers and tools stand in the order of their versions, templates in
// the order in which they were first measured, devices by name; 2. of the other things that may differ (driver,
// compiler, template) those are held that let most versions be compared, the newer on a tie, and a version without
// a measurement of them gives its newest and says so; 3. changes are judged by compare_judge alone.
#include "reports/history.h"

#include "reports/compare_internal.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- versions --------------------------------------------------------------------------------------------------------

static const char *driver_of(const st_compare_row *row)
{
    return row->driver;
}

static const char *compiler_of(const st_compare_row *row)
{
    return row->compiler;
}

static const char *template_of(const st_compare_row *row)
{
    return row->template_hash;
}

static const char *tool_of(const st_compare_row *row)
{
    return row->tool;
}

static const char *device_of(const st_compare_row *row)
{
    return row->device_name;
}

static const struct {
    const char *name;
    const char *(*of)(const st_compare_row *row);
    unsigned differs;
} kinds[ST_HISTORY_BYS] = {
    [ST_HISTORY_DRIVER] = {"driver", driver_of, ST_DIFFERS_DRIVER},
    [ST_HISTORY_COMPILER] = {"compiler", compiler_of, ST_DIFFERS_COMPILER},
    [ST_HISTORY_TEMPLATE] = {"template", template_of, ST_DIFFERS_TEMPLATE},
    [ST_HISTORY_TOOL] = {"tool", tool_of, ST_DIFFERS_TOOL},
    [ST_HISTORY_DEVICE] = {"device", device_of, ST_DIFFERS_DEVICE},
};
// What is held while another one moves.
static const st_history_by held_kinds[] = {ST_HISTORY_DRIVER, ST_HISTORY_COMPILER, ST_HISTORY_TEMPLATE};

const char *st_history_by_name(st_history_by by)
{
    return kinds[by].name;
}

int st_history_by_find(const char *name)
{
    for (int by = 0; by < ST_HISTORY_BYS; by++)
        if (strcmp(kinds[by].name, name) == 0)
            return by;
    return -1;
}

static bool is_held_alike(st_history_by by, const st_compare_row *a, const st_compare_row *b)
{
    for (size_t i = 0; i < sizeof held_kinds / sizeof *held_kinds; i++)
        if (held_kinds[i] != by && strcmp(kinds[held_kinds[i]].of(a), kinds[held_kinds[i]].of(b)) != 0)
            return false;
    return true;
}

// --- order -----------------------------------------------------------------------------------------------------------

static int by_place(const st_history *made, const st_compare_row *a, const st_compare_row *b)
{
    int order = 0;
    if (made->by != ST_HISTORY_DEVICE) {
        order = strcmp(a->device_name, b->device_name);
        order = order ? order : strcmp(a->device_uuid, b->device_uuid);
        order = order ? order : strcmp(a->backend, b->backend);
    }
    order = order ? order : strcmp(a->type, b->type);
    order = order ? order : strcmp(a->operation, b->operation);
    order = order ? order : (a->n > b->n) - (a->n < b->n);
    order = order ? order : strcmp(a->problem, b->problem);
    return order ? order : strcmp(a->cache, b->cache);
}

static int by_version(const st_history *made, const st_compare_row *a, const st_compare_row *b)
{
    const char *x = kinds[made->by].of(a), *y = kinds[made->by].of(b);
    return made->by == ST_HISTORY_DEVICE || made->by == ST_HISTORY_TEMPLATE ? strcmp(x, y) : strverscmp(x, y);
}

// qsort_r's.
static int by_all(const void *x, const void *y, void *context)
{
    const st_compare_row *a = &(*(st_compare_record *const *)x)->row, *b = &(*(st_compare_record *const *)y)->row;
    int order = by_place(context, a, b);
    order = order ? order : by_version(context, a, b);
    order = order ? order : (a->taken_ms > b->taken_ms) - (a->taken_ms < b->taken_ms);
    return order ? order : strcmp(a->session_id, b->session_id);
}

// --- which kind ------------------------------------------------------------------------------------------------------

static size_t distinct(const st_history *made, st_history_by by)
{
    size_t count = 0;
    for (size_t i = 0; i < made->record_count; i++) {
        const char *version = kinds[by].of(&made->records[i]->row);
        bool seen = false;
        // Versions come in runs: the one before is nearly always the same.
        for (size_t j = i; j-- > 0 && !seen;)
            seen = strcmp(kinds[by].of(&made->records[j]->row), version) == 0;
        count += !seen;
        if (count > 1 && made->chosen)
            break;
    }
    return count;
}

static st_history_by choose(const st_history *made)
{
    for (int by = 0; by < ST_HISTORY_DEVICE; by++)
        if (distinct(made, (st_history_by)by) > 1)
            return (st_history_by)by;
    return ST_HISTORY_DRIVER;
}

// --- series ------------------------------------------------------------------------------------------------------------

// Of records [first, last), sorted by version: the one whose held things cover most versions; the newest of these.
static const st_compare_record *choose_held(const st_history *made, size_t first, size_t last)
{
    const st_compare_record *best = NULL;
    size_t most = 0;
    for (size_t i = first; i < last; i++) {
        const st_compare_row *one = &made->records[i]->row;
        size_t covered = 0;
        const st_compare_row *before = NULL;
        for (size_t j = first; j < last; j++) {
            const st_compare_row *other = &made->records[j]->row;
            if (!is_held_alike(made->by, one, other) || (before && by_version(made, before, other) == 0))
                continue;
            covered++;
            before = other;
        }
        if (covered > most || (covered == most && one->taken_ms >= best->row.taken_ms)) {
            most = covered;
            best = made->records[i];
        }
    }
    return best;
}

static st_history_series *add_series(st_history *made, size_t lines, st_error *error)
{
    st_history_series *series = st_grow(made->series, &made->capacity, made->count + 1, sizeof *series);
    if (!series) {
        st_fail_memory(error, "reading the history");
        return NULL;
    }
    made->series = series;
    series = &series[made->count];
    *series = (st_history_series){.lines = st_calloc(lines, sizeof *series->lines)};
    if (!series->lines) {
        st_fail_memory(error, "reading the history");
        return NULL;
    }
    made->count++;
    return series;
}

static int by_first_seen(const void *x, const void *y)
{
    const st_history_line *a = x, *b = y;
    // While lines are made, the level holds nothing yet and `median_ns` when the version was first measured.
    return (a->median_ns > b->median_ns) - (a->median_ns < b->median_ns);
}

// One line a version.
static void fill_series(const st_history *made, size_t first, size_t last, st_history_series *series)
{
    const st_compare_record *held = choose_held(made, first, last);
    for (size_t i = first; i < last;) {
        size_t end = i;
        st_history_line *line = &series->lines[series->count++];
        line->median_ns = (double)made->records[i]->row.taken_ms;
        for (; end < last && by_version(made, &made->records[i]->row, &made->records[end]->row) == 0; end++) {
            bool alike = is_held_alike(made->by, &held->row, &made->records[end]->row);
            if (alike || !line->held) // they come by time: the later one takes the place
                line->record = made->records[end];
            line->held = line->held || alike;
        }
        i = end;
    }
    if (made->by == ST_HISTORY_TEMPLATE)
        qsort(series->lines, series->count, sizeof *series->lines, by_first_seen);
}

static void set_levels(st_history_series *series, double least_span)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < series->count; i++)
        if (isfinite(series->lines[i].median_ns)) {
            low = fmin(low, series->lines[i].median_ns);
            high = fmax(high, series->lines[i].median_ns);
        }
    // Noise must not look like a mountain: the scale spans at least four times what counts as a change.
    double span = fmax(high - low, low * 4 * least_span);
    for (size_t i = 0; i < series->count; i++) {
        double value = series->lines[i].median_ns;
        series->lines[i].level = !isfinite(value) ? -1 : span > 0 ? (int)lround((value - low) / span * 7) : 0;
    }
}

static st_code judge_line(st_store *store, const st_history *made, const st_compare_record *before,
                          const st_compare_record *after, st_compare_pair *out, st_error *error)
{
    *out = (st_compare_pair){.a = before, .b = after, .change = ST_CHANGE_UNKNOWN, .reason = "",
                             .a_ns = before->row.median_ns, .b_ns = after->row.median_ns,
                             .ratio = {NAN, NAN, NAN}, .threshold = NAN, .default_ratio = NAN};
    // The records are the history's own; judging fills in what their measurements say.
    st_code code = compare_judge(store, &made->rules, (st_compare_record *)(uintptr_t)before,
                                 (st_compare_record *)(uintptr_t)after, out, error);
    bool moved = out->change == ST_CHANGE_BETTER || out->change == ST_CHANGE_WORSE;
    return code == ST_OK && moved ? compare_counters(store, out, error) : code;
}

static st_code judge_series(st_store *store, st_history *made, st_history_series *series, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < series->count && code == ST_OK; i++) {
        st_history_line *line = &series->lines[i];
        line->version = kinds[made->by].of(&line->record->row);
        line->median_ns = line->record->row.median_ns;
        if (i == 0)
            continue;
        code = judge_line(store, made, series->lines[i - 1].record, line->record, &line->change, error);
        series->lines[i - 1].median_ns = line->change.a_ns;
        line->median_ns = line->change.b_ns;
    }
    if (code == ST_OK && series->count > 2)
        code = judge_line(store, made, series->lines[0].record, series->lines[series->count - 1].record,
                          &series->overall, error);
    set_levels(series, made->rules.between);
    return code;
}

// --- findings ----------------------------------------------------------------------------------------------------------

static st_history_finding *finding_of(st_history *made, const st_history_line *before, const st_history_line *line,
                                      st_change change, st_error *error)
{
    const char *device = made->by == ST_HISTORY_DEVICE ? "" : line->record->row.device_name;
    for (size_t i = 0; i < made->finding_count; i++) {
        st_history_finding *one = &made->findings[i];
        if (one->change == change && strcmp(one->version, line->version) == 0 &&
            strcmp(one->before, before->version) == 0 && strcmp(one->device, device) == 0)
            return one;
    }
    st_history_finding *list = st_grow(made->findings, &made->finding_capacity, made->finding_count + 1, sizeof *list);
    if (!list) {
        st_fail_memory(error, "reading the history");
        return NULL;
    }
    made->findings = list;
    list += made->finding_count++;
    *list = (st_history_finding){.version = line->version, .before = before->version, .device = device,
                                 .change = change, .least = INFINITY, .most = -INFINITY};
    return list;
}

// Every change is entered as better and as worse; those that nothing did are taken out again.
static st_code add_findings(st_history *made, st_error *error)
{
    static const st_change told[] = {ST_CHANGE_WORSE, ST_CHANGE_BETTER};
    for (size_t s = 0; s < made->count; s++)
        for (size_t i = 1; i < made->series[s].count; i++)
            for (int t = 0; t < 2; t++) {
                const st_history_line *line = &made->series[s].lines[i];
                st_history_finding *to = finding_of(made, line - 1, line, told[t], error);
                if (!to)
                    return ST_NO_MEMORY;
                to->of++;
                to->untold += line->change.change == ST_CHANGE_UNKNOWN;
                if (line->change.change != told[t])
                    continue;
                to->count++;
                to->least = fmin(to->least, line->change.ratio.centre);
                to->most = fmax(to->most, line->change.ratio.centre);
                to->others |= line->change.differs & ~kinds[made->by].differs & ~(unsigned)ST_DIFFERS_UNFINISHED;
            }
    size_t kept = 0;
    for (size_t i = 0; i < made->finding_count; i++)
        if (made->findings[i].count)
            made->findings[kept++] = made->findings[i];
    made->finding_count = kept;
    return ST_OK;
}

// --- all -----------------------------------------------------------------------------------------------------------------

static st_code take_row(void *context, const st_compare_row *row, st_error *error)
{
    st_history *made = context;
    st_compare_record **records =
        st_grow(made->records, &made->record_capacity, made->record_count + 1, sizeof *records);
    if (!records)
        return st_fail_memory(error, "reading the history");
    made->records = records;
    st_code code = compare_record_make(row, true, &records[made->record_count], error);
    made->record_count += code == ST_OK;
    return code;
}

static st_code make_series(st_store *store, st_history *made, st_error *error)
{
    st_code code = ST_OK;
    for (size_t first = 0; first < made->record_count && code == ST_OK;) {
        size_t last = first;
        while (last < made->record_count && by_place(made, &made->records[first]->row, &made->records[last]->row) == 0)
            last++;
        st_history_series *series = add_series(made, last - first, error);
        if (!series)
            return ST_NO_MEMORY;
        fill_series(made, first, last, series);
        code = judge_series(store, made, series, error);
        first = last;
    }
    return code;
}

st_code st_history_load(st_store *store, const st_compare_filter *filter, int by, const st_compare_rules *rules,
                        st_history *out, st_error *error)
{
    *out = (st_history){.family = filter->family, .rules = *rules, .chosen = by < 0};
    st_code code = st_store_compare_history(store, filter, take_row, out, error);
    if (code == ST_OK && !out->record_count)
        code = st_fail(error, ST_NOTHING, "ask for less, or tune first: simtune reduce --arch auto",
                       "the store knows no such winner of %s", filter->family);
    if (code == ST_OK) {
        out->by = by < 0 ? choose(out) : (st_history_by)by;
        bool chosen = out->chosen;
        out->chosen = false; // now all versions are counted
        out->versions = distinct(out, out->by);
        out->chosen = chosen;
        qsort_r(out->records, out->record_count, sizeof *out->records, by_all, out);
        code = make_series(store, out, error);
    }
    if (code == ST_OK)
        code = add_findings(out, error);
    if (code != ST_OK)
        st_history_release(out);
    return code;
}

void st_history_release(st_history *made)
{
    for (size_t i = 0; i < made->count; i++)
        st_free(made->series[i].lines);
    for (size_t i = 0; i < made->record_count; i++)
        compare_record_free(made->records[i]);
    st_free(made->series);
    st_free(made->records);
    st_free(made->findings);
    *made = (st_history){.family = made->family};
}
