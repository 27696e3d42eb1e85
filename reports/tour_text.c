// SPDX-License-Identifier: Apache-2.0
// A stop of the tour in words. Invariants: 1. what articles claim stands apart from what was measured; 2. a reason is told
// only where a figure shows it.
#include "reports/tour.h"

#include "reports/explain_internal.h"
#include "reports/format.h"
#include "tuner/base/json.h"

#include <math.h>
#include <string.h>

enum { USUAL = 80 };

static double value(const st_tour_row *row, const char *name)
{
    return st_view_value(&row->view, name, NULL);
}

static int fastest_of(const st_tour_found *found)
{
    int best = -1;
    for (size_t i = 0; i < found->count; i++)
        if (!isnan(found->rows[i].ns) && (best < 0 || found->rows[i].ns < found->rows[best].ns))
            best = (int)i;
    return best;
}

static int first_of(const st_tour_found *found)
{
    for (size_t i = 0; i < found->count; i++)
        if (!isnan(found->rows[i].ns))
            return (int)i;
    return -1;
}

// --- why ------------------------------------------------------------------------------------------------------------------

static double share_of(const st_tour_row *row, const char *stall)
{
    char name[64] = "stall.";
    strncat(name, stall, sizeof name - sizeof "stall.");
    return value(row, name);
}

static void add_shift(const char *name, const st_tour_row *first, const st_tour_row *best, bool again, st_text *out)
{
    const st_stall *stall = name ? st_stall_find(name) : NULL;
    double before = stall ? share_of(first, name) : NAN, after = stall ? share_of(best, name) : NAN;
    if (isnan(before) || isnan(after))
        return;
    if (again)
        st_text_addf(out, ", of %s from ", name);
    else
        st_text_addf(out, "; the share of samples that wait for %s (%s) goes from ", stall->waits_for, name);
    st_report_share(out, before);
    st_text_add(out, " to ");
    st_report_share(out, after);
}

// What of it came out wrong, where the claim is that it is good enough.
static void add_wrong(const st_tour_found *found, st_text *out)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->rows[i].wrong)
            st_text_addf(out, " %zu of the %zu configuration%s with %s give%s a wrong result.", found->rows[i].wrong,
                         found->rows[i].tried, st_plural((int64_t)found->rows[i].tried), found->rows[i].value, found->rows[i].wrong == 1 ? "s" : "");
}

void st_tour_why(const st_tour_stop *stop, const st_tour_found *found, st_text *out)
{
    int f = first_of(found), b = fastest_of(found);
    if (f < 0 || b < 0)
        return;
    const st_tour_row *first = &found->rows[f], *best = &found->rows[b];
    double times = first->ns / best->ns;
    if (f == b)
        st_text_addf(out, "%s is the fastest here.", first->value);
    else {
        st_text_addf(out, "%s is %.2f × as fast as %s", best->value, times, first->value);
        add_shift(stop->look_at[0], first, best, false, out);
        add_shift(stop->look_at[1], first, best, true, out);
        st_text_add(out, ".");
    }
    if (stop->promised > 0 && times < 0.8 * stop->promised)
        explain_why_less(&first->view, &best->view, first->value, best->value, out);
    add_wrong(found, out);
}

// --- the table --------------------------------------------------------------------------------------------------------------

// The two largest waits: "long_scoreboard 86 %, wait 4 %".
static void add_waits(const st_profile_view *view, st_text *out)
{
    size_t count;
    const st_stall *stalls = st_stalls(&count);
    int told = -1;
    if (!st_view_has_stalls(view)) {
        st_text_add(out, "no profile");
        return;
    }
    for (int i = 0; i < 2; i++) {
        int best = -1;
        for (size_t s = 0; s < count; s++)
            if ((int)s != told && view->share[s] > 0 && strcmp(stalls[s].name, "selected") != 0 &&
                (best < 0 || view->share[s] > view->share[best]))
                best = (int)s;
        if (best < 0)
            return;
        st_text_addf(out, "%s%s ", i ? ", " : "", stalls[best].name);
        st_report_share(out, view->share[best]);
        told = best;
    }
}

static void add_cell(st_text *out, const char *words, int width, bool left)
{
    if (left)
        st_report_left(out, words, width);
    else
        st_report_right(out, words, width);
}

static void add_number_cell(st_text *out, double number, const char *name, int width)
{
    st_text cell;
    st_text_init(&cell);
    if (isnan(number))
        st_text_add(&cell, "-");
    else if (strcmp(name, "share") == 0)
        st_report_share(&cell, number);
    else
        st_text_addf(&cell, "%.1f", number);
    add_cell(out, st_text_string(&cell), width, false);
    out->failed = out->failed || cell.failed;
    st_text_release(&cell);
}

static void add_row(const st_tour_found *found, const st_tour_row *row, double first_ns, int width, st_text *out)
{
    st_text cell;
    st_text_init(&cell);
    st_text_add(out, "  ");
    add_cell(out, row->value, width, true);
    if (isnan(row->ns)) {
        st_text_addf(out, " %s\n",
                     !row->tried                ? "not tried"
                     : row->wrong == row->tried ? "WRONG in every candidate"
                                                : "none was right and timed");
        st_text_release(&cell);
        return;
    }
    st_report_time(&cell, row->ns);
    add_cell(out, st_text_string(&cell), 11, false);
    st_text_clear(&cell);
    st_text_addf(&cell, "%.2f", first_ns / row->ns);
    add_cell(out, st_text_string(&cell), 7, false);
    add_number_cell(out, value(row, "issue_active"), "share", 8);
    add_number_cell(out, value(row, "latency"), "cycles", 8);
    st_text_clear(&cell);
    if (row->registers >= 0)
        st_text_addf(&cell, "%d", row->registers);
    add_cell(out, cell.length ? st_text_string(&cell) : "-", 6, false);
    st_text_add(out, "  ");
    add_waits(&row->view, out);
    if (row->wrong)
        st_text_addf(out, "; %zu of %zu wrong", row->wrong, row->tried);
    st_text_add(out, "\n");
    (void)found;
    out->failed = out->failed || cell.failed;
    st_text_release(&cell);
}

static void add_table(const st_tour_stop *stop, const st_tour_found *found, st_text *out)
{
    int first = first_of(found), width = (int)strlen(stop->parameter);
    for (size_t i = 0; i < found->count; i++)
        if ((int)strlen(found->rows[i].value) > width)
            width = (int)strlen(found->rows[i].value);
    st_text_add(out, "  ");
    st_report_left(out, stop->parameter, width);
    static const struct {
        const char *word;
        int width;
    } heads[] = {{"time", 11}, {"×", 7}, {"issue", 8}, {"cycles", 8}, {"regs", 6}};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        st_report_right(out, heads[i].word, heads[i].width);
    st_text_add(out, "  waits for, share of samples\n");
    for (size_t i = 0; i < found->count; i++)
        add_row(found, &found->rows[i], first < 0 ? NAN : found->rows[first].ns, width, out);
}

// --- a stop -----------------------------------------------------------------------------------------------------------------

static void add_where(const st_tour_stop *stop, const st_tour_found *found, const char *here, int width, st_text *out)
{
    st_text words;
    st_text_init(&words);
    st_text_addf(&words, "%s ", stop->family);
    st_report_problem(&words, found->problem);
    st_text_addf(&words, " on %s", found->device);
    if (!st_backend_is_hardware(found->backend))
        st_text_add(&words, ", which is EMULATED: its figures mean nothing");
    else if (!here || strcmp(here, found->uuid) != 0)
        st_text_add(&words, ", not on this machine");
    st_text_addf(&words, "; %s", found->alone ? "all else is the same" : "each at its best");
    if (stop->alone && !found->alone)
        st_text_add(&words, ", since the store has none that differ in it alone");
    st_text_addf(&words, "; session %.12s", found->session);
    st_report_row(out, "", 2, st_text_string(&words), width);
    out->failed = out->failed || words.failed;
    st_text_release(&words);
}

void st_tour_text(const st_tour_stop *stop, const st_tour_found *found, size_t number, const char *here, int width,
                  st_text *out)
{
    st_text words;
    width = width ? width : USUAL;
    st_text_init(&words);
    st_text_addf(out, "%zu. %s\n", number, stop->title);
    st_text_addf(&words, "Articles say: %s", stop->claim);
    st_report_row(out, "", 2, st_text_string(&words), width);
    st_text_clear(&words);
    if (!found->found) {
        st_text_add(&words, "Not in the store. On a machine with a GPU: simtune tour --measure ");
        st_text_add(&words, stop->id);
        st_report_row(out, "", 2, st_text_string(&words), width);
    } else {
        add_where(stop, found, here, width, out);
        add_table(stop, found, out);
        st_tour_why(stop, found, &words);
        if (words.length)
            st_report_row(out, "", 2, st_text_string(&words), width);
    }
    out->failed = out->failed || words.failed;
    st_text_release(&words);
}

// --- JSON -----------------------------------------------------------------------------------------------------------------

static json_t *stalls_json(const st_profile_view *view)
{
    size_t count;
    const st_stall *stalls = st_stalls(&count);
    json_t *all = json_object();
    bool whole = all != NULL;
    for (size_t s = 0; s < count && whole; s++)
        if (!isnan(view->share[s]))
            whole = st_json_put(all, stalls[s].name, st_json_number(view->share[s]));
    if (whole)
        return all;
    json_decref(all);
    return NULL;
}

static json_t *row_json(const st_tour_row *row)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "value", row->value, "candidate",
                     st_json_text_or_null(row->id), "configuration", st_json_text_or_null(row->configuration),
                     "median_ns", st_json_number(row->median_ns), "comparable_ns", st_json_number(row->ns), "tried", (json_int_t)row->tried, "wrong",
                     (json_int_t)row->wrong, "registers", st_json_known_or_null(row->registers), "issue_active",
                     st_json_number(value(row, "issue_active")), "latency_cycles",
                     st_json_number(value(row, "latency")), "share_of_limit",
                     st_json_number(value(row, "share_of_limit")), "stalls", stalls_json(&row->view));
}

json_t *st_tour_json(const st_tour_stop *stop, const st_tour_found *found, const char *here)
{
    st_text why;
    st_text_init(&why);
    json_t *rows = json_array(), *made = json_object();
    bool whole = rows && made;
    for (size_t i = 0; i < found->count && whole; i++)
        whole = json_array_append_new(rows, row_json(&found->rows[i])) == 0;
    st_tour_why(stop, found, &why);
    bool is_here = found->found && here && strcmp(here, found->uuid) == 0;
    whole = whole && !why.failed && st_json_put(made, "stop", json_string(stop->id)) &&
            st_json_put(made, "title", json_string(stop->title)) &&
            st_json_put(made, "family", json_string(stop->family)) &&
            st_json_put(made, "parameter", json_string(stop->parameter)) &&
            st_json_put(made, "claim", json_string(stop->claim)) &&
            st_json_put(made, "promised_speedup", st_json_number(stop->promised)) &&
            st_json_put(made, "found", json_boolean(found->found)) &&
            st_json_put(made, "alone", found->found ? json_boolean(found->alone) : json_null()) &&
            st_json_put(made, "device", st_json_text_or_null(found->device)) &&
            st_json_put(made, "backend", st_json_text_or_null(found->backend)) &&
            st_json_put(made, "measured_here", found->found ? json_boolean(is_here) : json_null()) &&
            st_json_put(made, "problem", st_json_text_or_null(found->problem)) &&
            st_json_put(made, "session", st_json_text_or_null(found->session)) &&
            st_json_put(made, "rows", json_incref(rows)) &&
            st_json_put(made, "outcome", st_json_text_or_null(st_text_string(&why)));
    json_decref(rows);
    st_text_release(&why);
    if (whole)
        return made;
    json_decref(made);
    return NULL;
}
