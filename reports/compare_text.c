// SPDX-License-Identifier: Apache-2.0
// A comparison for people. Invariants: 1. unknown is "-" or said in words, never 0; 2. what differs on all pairs is
// said once, above; what differs on some, with them; 3. colour never carries a meaning alone; 4. the counts come last,
// where a terminal shows them.
#include "reports/compare_internal.h"

#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 8, TOLD_MOVED = 3, WIDTH = 100 };

typedef struct page {
    const st_comparison *made;
    st_text *out;
    int width;
    bool colour;
    unsigned uniform;    // differences that all pairs share, said above
    char group[640];     // the heading that was printed last
    char problem[512];
} page;

// --- numbers ---------------------------------------------------------------------------------------------------------

void compare_add_gap(st_text *out, double ratio)
{
    double gap = (ratio - 1) * 100;
    if (!isfinite(gap))
        st_text_add(out, "-");
    else
        st_text_addf(out, "%+.*f %%", fabs(gap) < 99.5 ? 1 : 0, fabs(gap) < 0.05 ? 0.0 : gap);
}

void compare_add_gaps(st_text *out, st_interval ratio)
{
    compare_add_gap(out, ratio.centre);
    if (isnan(ratio.low) || isnan(ratio.high))
        return;
    st_text_add(out, " (");
    compare_add_gap(out, ratio.low);
    st_text_add(out, " to ");
    compare_add_gap(out, ratio.high);
    st_text_add(out, ")");
}

void compare_add_counts(st_text *out, const st_comparison *made)
{
    st_text_addf(out, "%zu compared: %zu better, %zu same, %zu worse, %zu cannot tell", made->count,
                 made->counts[ST_CHANGE_BETTER], made->counts[ST_CHANGE_SAME], made->counts[ST_CHANGE_WORSE],
                 made->counts[ST_CHANGE_UNKNOWN]);
    if (made->acknowledged)
        st_text_addf(out, "; %zu acknowledged", made->acknowledged);
    for (int side = 0; side < 2; side++)
        if (made->only_count[side])
            st_text_addf(out, "; %zu only in %s", made->only_count[side],
                         made->against_baseline ? (side ? "the new session" : "the baseline") : side ? "B" : "A");
}

static void add_words(page *to, st_text *words, const char *label)
{
    st_report_row(to->out, label, INDENT, st_text_string(words), to->width);
    to->out->failed = to->out->failed || words->failed;
    st_text_clear(words);
}

// --- the head ----------------------------------------------------------------------------------------------------------

// Both sides may be unfinished alike: that is told, and is no difference.
static void add_differs(unsigned bit, st_text *words)
{
    st_text_addf(words, bit == ST_DIFFERS_UNFINISHED ? "%s: " : "differ in %s: ", st_differs_name(bit));
}

// Whether all pairs differ in this, with the same two values.
static bool is_uniform(const st_comparison *made, unsigned bit, st_text *values)
{
    st_text first, next;
    st_text_init(&first);
    st_text_init(&next);
    bool same = false, began = false;
    for (size_t i = 0; i < made->count; i++) {
        const st_compare_pair *pair = &made->pairs[i];
        if (!pair->b)
            continue;
        same = (pair->differs & bit) != 0;
        st_text_clear(&next);
        st_differs_add_value(pair->a, bit, &next);
        st_text_add(&next, " | ");
        st_differs_add_value(pair->b, bit, &next);
        if (!began)
            st_text_add(&first, st_text_string(&next));
        same = same && strcmp(st_text_string(&first), st_text_string(&next)) == 0;
        began = true;
        if (!same)
            break;
    }
    if (same)
        st_text_add(values, st_text_string(&first));
    values->failed = values->failed || first.failed || next.failed;
    st_text_release(&next);
    st_text_release(&first);
    return same;
}

static void add_head(page *to)
{
    const st_comparison *made = to->made;
    st_text words;
    st_text_init(&words);
    for (int side = 0; side < 2; side++)
        if (made->sides[side].label) {
            st_text_add(&words, made->sides[side].label);
            add_words(to, &words, side ? "B" : "A");
        }
    for (unsigned bit = 1; bit < 1u << ST_DIFFERS_KINDS; bit <<= 1) {
        if (bit == ST_DIFFERS_DEVICE && made->against_baseline)
            continue; // never
        add_differs(bit, &words);
        if (is_uniform(made, bit, &words)) {
            to->uniform |= bit;
            add_words(to, &words, "");
        }
        st_text_clear(&words);
    }
    st_text_addf(&words, "a change counts from %.3g %% on between sessions", made->rules.between * 100);
    if (made->rules.ticks > 0)
        st_text_addf(&words, " (and %g ticks of the timer)", made->rules.ticks);
    st_text_addf(&words, ", from %.3g %% on within one", made->rules.within * 100);
    add_words(to, &words, "");
    st_text_release(&words);
}

// --- pairs -------------------------------------------------------------------------------------------------------------

static void add_session(const char *id, int64_t ended_ms, st_text *out)
{
    char date[ST_DATE_TEXT];
    st_clock_date(ended_ms, date);
    st_text_addf(out, "%.12s of %s", id, date);
}

// The new session that meets this baseline, whether it has this problem or not.
static void add_new_session(const st_comparison *made, const st_compare_row *baseline, st_text *out)
{
    for (size_t i = 0; i < made->sides[1].session_count; i++) {
        const struct st_compare_session *one = &made->sides[1].sessions[i];
        if (one->device_key != baseline->device_key || strcmp(one->family, baseline->family) != 0)
            continue;
        st_text_add(out, ", now ");
        add_session(one->id, one->ended_ms, out);
        return;
    }
}

static void add_group(page *to, const st_compare_pair *pair)
{
    const st_compare_row *a = pair->a ? &pair->a->row : NULL, *b = pair->b ? &pair->b->row : NULL;
    const st_compare_row *one = a ? a : b;
    st_text words;
    st_text_init(&words);
    if (to->made->against_baseline) {
        st_text_addf(&words, "%s on %s: baseline ", one->family, one->device_name);
        add_session(one->session_id, one->taken_ms, &words);
        add_new_session(to->made, one, &words);
    } else {
        st_text_add(&words, one->device_name[0] ? one->device_name : "-");
        if (a && b && pair->differs & ST_DIFFERS_DEVICE)
            st_text_addf(&words, " | %s", b->device_name);
        if (strcmp(one->backend, "emu") == 0 || (b && strcmp(b->backend, "emu") == 0))
            st_text_add(&words, ", EMULATED: these times mean nothing");
    }
    if (strcmp(st_text_string(&words), to->group) != 0) {
        st_text_addf(to->out, "\n%s%s%s\n", to->colour ? "\033[1m" : "", st_text_string(&words),
                     to->colour ? "\033[0m" : "");
        snprintf(to->group, sizeof to->group, "%s", st_text_string(&words));
        to->problem[0] = '\0';
    }
    to->out->failed = to->out->failed || words.failed;
    st_text_release(&words);
}

static void add_problem(page *to, const st_compare_row *row)
{
    char problem[512];
    snprintf(problem, sizeof problem, "%s %s", row->family, row->problem);
    if (strcmp(problem, to->problem) == 0)
        return;
    st_text_addf(to->out, "%s ", row->family);
    st_report_problem(to->out, row->problem);
    st_text_add(to->out, "\n");
    snprintf(to->problem, sizeof to->problem, "%s", problem);
}

static void add_verdict(page *to, const st_compare_pair *pair)
{
    static const char *const colours[ST_CHANGES] = {"32", "0", "31", "33"};
    st_text line;
    st_text_init(&line);
    st_report_left(&line, st_change_name(pair->change), 11);
    st_text_addf(to->out, "  %-4s  ", pair->a->row.cache);
    if (to->colour)
        st_text_addf(to->out, "\033[%sm%s\033[0m", colours[pair->change], st_text_string(&line));
    else
        st_text_add(to->out, st_text_string(&line));
    st_text_clear(&line);
    st_report_time(&line, pair->a_ns);
    st_report_right(to->out, st_text_string(&line), 11);
    st_text_clear(&line);
    if (pair->b)
        st_report_time(&line, pair->b_ns);
    else
        st_text_add(&line, "nothing valid any more");
    st_text_add(to->out, " → ");
    st_report_left(to->out, st_text_string(&line), 11);
    if (pair->b) {
        st_text_add(to->out, " ");
        compare_add_gaps(to->out, pair->ratio);
        st_text_add(to->out, pair->paired ? ", by turns" : "");
    }
    if (pair->reason[0])
        st_text_addf(to->out, ": %s", pair->reason);
    st_text_add(to->out, "\n");
    to->out->failed = to->out->failed || line.failed;
    st_text_release(&line);
}

static void add_configurations(page *to, const st_compare_pair *pair, st_text *words)
{
    const char *a = pair->a->row.configuration, *b = pair->b ? pair->b->row.configuration : NULL;
    bool same = b && strcmp(a, b) == 0;
    st_text_addf(words, "%s%s", same ? "both " : "A ", a);
    add_words(to, words, "");
    if (b && !same) {
        st_text_addf(words, "B %s", b);
        add_words(to, words, "");
    }
}

static void add_why(page *to, const st_compare_pair *pair, st_text *words)
{
    for (size_t i = 0; i < pair->moved_count && i < TOLD_MOVED; i++) {
        st_text_add(words, i ? "; " : "moved: ");
        st_compare_add_moved(&pair->moved[i], words);
    }
    if (words->length)
        add_words(to, words, "");
    bool moved = pair->change == ST_CHANGE_BETTER || pair->change == ST_CHANGE_WORSE;
    if (moved && isfinite(pair->default_ratio)) {
        st_text_add(words, "the default's time: ");
        compare_add_gap(words, pair->default_ratio);
        add_words(to, words, "");
    }
    for (unsigned bit = 1; bit < 1u << ST_DIFFERS_KINDS; bit <<= 1)
        if (pair->differs & bit & ~to->uniform) {
            add_differs(bit, words);
            st_differs_add_value(pair->a, bit, words);
            st_text_add(words, " | ");
            st_differs_add_value(pair->b, bit, words);
            add_words(to, words, "");
        }
}

static void add_note(page *to, const st_compare_pair *pair, st_text *words)
{
    const st_compare_note *note = pair->note;
    char date[ST_DATE_TEXT];
    if (!note)
        return;
    st_clock_date(note->acknowledged_ms, date);
    st_text_addf(words, "acknowledged by %s on %s: %s", note->author ? note->author : "-", date, note->reason);
    if (note->surpassed) {
        st_text_add(words, "; but it got worse since: ");
        compare_add_gaps(words, note->ratio);
    }
    add_words(to, words, "");
}

static void add_pair(page *to, const st_compare_pair *pair)
{
    st_text words;
    st_text_init(&words);
    add_group(to, pair);
    add_problem(to, &pair->a->row);
    add_verdict(to, pair);
    add_configurations(to, pair, &words);
    if (pair->b)
        add_why(to, pair, &words);
    if (isfinite(pair->threshold) && pair->threshold > to->made->rules.between * 1.0001 && pair->b) {
        st_text_addf(&words, "a change counts from %.1f %% on here: it is so short that ticks of the timer show",
                     pair->threshold * 100);
        add_words(to, &words, "");
    }
    add_note(to, pair, &words);
    st_text_release(&words);
}

static void add_only(page *to, int side)
{
    const st_comparison *made = to->made;
    const char *whose = made->against_baseline ? (side ? "the new session" : "the baseline") : side ? "B" : "A";
    if (!made->only_count[side])
        return;
    st_text_addf(to->out, "\nonly %s has\n", whose);
    for (size_t i = 0; i < made->only_count[side]; i++) {
        const st_compare_pair *pair = &made->only[side][i];
        const st_compare_row *row = side ? &pair->b->row : &pair->a->row;
        st_text_addf(to->out, "  %s ", row->family);
        st_report_problem(to->out, row->problem);
        st_text_addf(to->out, ", %s: ", row->cache);
        st_report_time(to->out, row->median_ns);
        st_text_addf(to->out, " on %s\n", row->device_name[0] ? row->device_name : "-");
    }
}

void st_comparison_text(const st_comparison *made, const st_compare_print *print, st_text *out)
{
    page to = {.made = made, .out = out, .width = print->width ? print->width : WIDTH, .colour = print->colour};
    add_head(&to);
    for (size_t i = 0; i < made->count; i++)
        add_pair(&to, &made->pairs[i]);
    add_only(&to, 0);
    add_only(&to, 1);
    st_text_add(out, "\n");
    compare_add_counts(out, made);
    st_text_add(out, "\n");
}
