// SPDX-License-Identifier: Apache-2.0
// The report in a terminal. Invariants: 1. all figures are the model's (report.h); 2. no line is wider than the width,
// except for a word that is; 3. colour repeats what a word says; 4. what others wrote is made safe once, at the end.
#include "reports/report_text.h"

#include "reports/format.h"
#include "tuner/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_COLUMNS = 13, NARROWEST = 60, USUAL = 80, DOUBTS_MOST = 6, SIZES_MOST = 16 };

typedef struct text_page {
    const st_report *report;
    const st_report_text_options *options;
    int width;
    st_text *out;
} text_page;

// A row out of a text that is then cleared for the next.
static void add_row(const text_page *to, const char *label, st_text *words)
{
    st_report_row(to->out, label, LABEL_COLUMNS, st_text_string(words), to->width);
    to->out->failed = to->out->failed || words->failed;
    st_text_clear(words);
}

static void add_styled(const text_page *to, const char *style, const char *words)
{
    if (to->options->colour)
        st_text_addf(to->out, "\033[%sm%s\033[0m", style, words);
    else
        st_text_add(to->out, words);
}

// A bar of `share` of `columns`, to an eighth of a column where the terminal has such blocks. What is not 0 shows.
static void add_bar(const text_page *to, const char *style, double share, int columns)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    st_text bar;
    st_text_init(&bar);
    double length = fmin(fmax(share, 0), 1) * columns;
    int full = (int)length, rest = (int)((length - full) * 8);
    if (!to->options->unicode) {
        full = (int)(length + 0.5);
        rest = 0;
        if (!full && share > 0)
            full = 1;
    } else if (!full && !rest && share > 0)
        rest = 1;
    for (int i = 0; i < full; i++)
        st_text_add(&bar, to->options->unicode ? "█" : "#");
    st_text_add(&bar, eighths[rest]);
    add_styled(to, style, st_text_string(&bar));
    st_text_addf(to->out, "%*s", columns - full - (rest > 0), "");
    st_text_release(&bar);
}

// --- head and verdict ----------------------------------------------------------------------------------------------

static const st_reported_problem *lead_of(const st_reported_session *session)
{
    return session->lead >= 0 ? &session->problems[session->lead] : NULL;
}

static void add_head(const text_page *to, const st_reported_session *session)
{
    st_text words;
    char date[ST_DATE_TEXT];
    st_text_init(&words);
    st_text_addf(&words, "%s on %s", session->session.family, session->device_name[0] ? session->device_name : "-");
    if (session->cc > 0 && session->sm_count > 0)
        st_text_addf(&words, " (sm_%d, %d SMs)", session->cc, session->sm_count);
    add_styled(to, "1", st_text_string(&words));
    st_text_clear(&words);
    st_clock_date(session->session.started_ms, date);
    st_text_addf(&words, "session %.12s of %s, driver %s, %s, %s cache", session->session.id, date,
                 session->driver[0] ? session->driver : "-", session->compiler[0] ? session->compiler : "-",
                 st_report_cache_name(to->report->cache));
    if (strcmp(session->backend, ST_PREDICTED_BACKEND) == 0)
        st_text_add(&words, "; PREDICTED, not measured");
    st_text_add(to->out, "\n");
    st_report_row(to->out, "", 2, st_text_string(&words), to->width);
    st_text_release(&words);
}

// What made it faster, a row for what is credited together.
static void add_credits(const text_page *to, const st_reported_session *session, const st_reported_problem *problem)
{
    const st_reported_result *result = &problem->results[to->report->cache];
    st_text words;
    st_text_init(&words);
    for (size_t i = 0; i < result->credit_count; i++) {
        st_text_addf(&words, "%.2f ×  ", result->credits[i].gain);
        st_report_credit(session, problem, to->report->cache, i, &words);
        st_report_credit_how(result, i, " (", ")", &words);
        add_row(to, i ? "" : "changed", &words);
    }
    if (result->credit_count) {
        st_text_add(&words, "gains of steps from the default to the winner over measured configurations; they multiply to "
                            "the whole");
        add_row(to, "", &words);
    }
    st_text_release(&words);
}

static void add_verdict(const text_page *to, const st_reported_session *session, const st_reported_problem *problem)
{
    const st_reported_result *result = &problem->results[to->report->cache];
    st_text words;
    st_text_init(&words);
    st_report_verdict(session, problem, to->report->cache, &words);
    st_text_add(to->out, "\n");
    if (to->options->colour)
        st_text_add(to->out, "\033[1m");
    st_report_row(to->out, "", 2, st_text_string(&words), to->width);
    if (to->options->colour)
        st_text_add(to->out, "\033[0m");
    st_text_clear(&words);
    if (result->winner >= 0) {
        st_text_add(&words, problem->candidates[result->winner].configuration);
        add_row(to, "winner", &words);
        add_credits(to, session, problem);
        st_report_now(session, problem, to->report->cache, &words);
        if (words.length)
            add_row(to, "now", &words);
        if (result->standard >= 0 && result->standard != result->winner)
            st_report_waits_on(result->standard_profile, &words);
        if (words.length)
            add_row(to, "default", &words);
        st_report_tie(result, &words);
        if (words.length)
            add_row(to, result->note && st_text_starts(result->note, ST_PREDICTED_NOTE) ? "chosen" : "tie", &words);
    }
    st_text_release(&words);
}

// --- the chart -----------------------------------------------------------------------------------------------------

static void add_time_bar(const text_page *to, const char *label, const char *style, double ns, double most)
{
    enum { AROUND = LABEL_COLUMNS + 12 };
    st_text time;
    if (!isfinite(ns))
        return;
    st_text_init(&time);
    st_report_time(&time, ns);
    st_text_add(to->out, "  ");
    st_report_left(to->out, label, LABEL_COLUMNS - 2);
    add_bar(to, style, ns / most, to->width - AROUND);
    st_text_add(to->out, "  ");
    st_report_right(to->out, st_text_string(&time), 10);
    st_text_add(to->out, "\n");
    st_text_release(&time);
}

// How the times of all configurations lie, as a line of blocks from the fastest to the slowest.
static void add_spread(const text_page *to, const st_reported_problem *problem)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char plain[] = " .:-=+*#@";
    enum { BINS_MOST = 32, BESIDE = LABEL_COLUMNS + 24 };
    size_t bins[BINS_MOST], most = 1, count = BINS_MOST;
    st_report_spread spread;
    st_text words;
    if (to->width < BESIDE + BINS_MOST)
        count = (size_t)(to->width - BESIDE);
    if (!st_report_spread_of(problem, to->report->cache, bins, count, &spread))
        return;
    for (size_t i = 0; i < count; i++)
        most = bins[i] > most ? bins[i] : most;
    st_text_init(&words);
    for (size_t i = 0; i < count; i++) {
        size_t level = bins[i] ? 1 + bins[i] * 7 / most : 0;
        if (to->options->unicode)
            st_text_add(&words, blocks[level]);
        else
            st_text_add_bytes(&words, &plain[level], 1);
    }
    st_text_add(to->out, "  ");
    st_report_left(to->out, "all tried", LABEL_COLUMNS - 2);
    add_styled(to, "36", st_text_string(&words));
    st_text_clear(&words);
    st_text_add(&words, "  ");
    st_report_time(&words, spread.low_ns);
    st_text_add(&words, " … ");
    st_report_time(&words, spread.high_ns);
    st_text_addf(to->out, "%s\n", st_text_string(&words));
    st_text_clear(&words);
    st_text_addf(&words, "%zu configuration%s measured: %zu within 5 %% of the fastest, half of them faster than ",
                 spread.measured, st_plural((int64_t)spread.measured), spread.within);
    st_report_time(&words, spread.median_ns);
    add_row(to, "", &words);
    st_text_release(&words);
}

static void add_chart(const text_page *to, const st_reported_problem *problem)
{
    const st_reported_result *result = &problem->results[to->report->cache];
    double limit = result->bytes / result->limit_gbs; // what the memory alone would take
    if (result->winner < 0)
        return;
    double most = fmax(result->winner_ns, fmax(result->standard_ns, result->runner_up_ns)); // fmax leaves NaN out
    st_text_add(to->out, "\n");
    if (result->standard != result->winner)
        add_time_bar(to, "default", "33", result->standard_ns, most);
    add_time_bar(to, "winner", "32", result->winner_ns, most);
    add_time_bar(to, "runner-up", "36", result->runner_up_ns, most);
    if (limit <= most)
        add_time_bar(to, "mem. limit", "34", limit, most);
    add_spread(to, problem);
}

// As many columns of a text as there is room for, the last one "…" where it goes on; then spaces.
static void add_cut(st_text *out, const char *words, int columns)
{
    int at = 0, all = (int)st_report_columns(words);
    for (const char *c = words; *c && (all <= columns || at < columns - 1); at++) {
        size_t length = st_text_character(c);
        st_text_add_bytes(out, c, length ? length : 1);
        c += length ? length : 1;
    }
    if (all > columns) {
        st_text_add(out, "…");
        at++;
    }
    st_text_addf(out, "%*s", columns > at ? columns - at : 0, "");
}

// --- sizes ---------------------------------------------------------------------------------------------------------

static void add_size_row(const text_page *to, const st_reported_session *session, const st_reported_problem *problem,
                         int label_columns, bool varying)
{
    enum { BAR_LEAST = 6, BAR_MOST = 24 };
    int bar = to->width - label_columns - 32;
    const st_reported_result *result = &problem->results[to->report->cache];
    st_text cell;
    st_text_init(&cell);
    if (varying)
        st_report_problem_part(session, problem->text, true, &cell);
    else
        st_report_problem(&cell, problem->text);
    st_text_add(to->out, "  ");
    add_cut(to->out, st_text_string(&cell), label_columns);
    st_text_clear(&cell);
    st_report_time(&cell, result->winner_ns);
    st_report_right(to->out, st_text_string(&cell), 11);
    st_text_clear(&cell);
    if (isfinite(result->speedup.centre))
        st_text_addf(&cell, "%.2f ×", result->speedup.centre);
    else
        st_text_add(&cell, "-");
    st_report_right(to->out, st_text_string(&cell), 9);
    st_text_clear(&cell);
    st_report_share(&cell, result->limit_share);
    st_report_right(to->out, st_text_string(&cell), 8);
    st_text_add(to->out, "  ");
    bool known = isfinite(result->limit_share);
    if (known && bar >= BAR_LEAST)
        add_bar(to, session->lead >= 0 && problem == &session->problems[session->lead] ? "1;34" : "34",
                result->limit_share, bar < BAR_MOST ? bar : BAR_MOST);
    while (to->out->length && to->out->data[to->out->length - 1] == ' ')
        to->out->data[--to->out->length] = '\0';
    st_text_add(to->out, "\n");
    st_text_release(&cell);
}

static void add_sizes(const text_page *to, const st_reported_session *session)
{
    size_t label = strlen("problem"), room = (size_t)to->width - 2 - 45; // what stands beside it in the head
    st_text name;
    if (session->count < 2)
        return;
    st_text_init(&name);
    for (size_t p = 0; p < session->count && p < SIZES_MOST; p++) {
        st_text_clear(&name);
        st_report_problem(&name, session->problems[p].text);
        size_t columns = st_report_columns(st_text_string(&name));
        label = columns > label ? columns : label;
    }
    bool varying = label > room; // what all have alike stands above them, so that what tells them apart is not cut off
    if (varying) {
        st_text_clear(&name);
        st_report_problem_part(session, session->problems[0].text, false, &name);
        st_text_addf(to->out, "\n  all with %s", st_text_string(&name));
    }
    label = label < room ? label : room;
    st_text_add(to->out, "\n  ");
    st_report_left(to->out, "problem", (int)label);
    st_text_add(to->out, "       time  speedup   of the memory's speed\n");
    for (size_t p = 0; p < session->count && p < SIZES_MOST; p++)
        add_size_row(to, session, &session->problems[p], (int)label, varying);
    if (session->count > SIZES_MOST)
        st_text_addf(to->out, "  and %zu more: simtune query %s --session %.12s\n", session->count - SIZES_MOST,
                     session->session.family, session->session.id);
    st_text_release(&name);
}

// --- trust, finding, what failed -----------------------------------------------------------------------------------

static const char *style_of(st_reported_level level)
{
    return level == ST_REPORTED_RED     ? "1;31"
           : level == ST_REPORTED_AMBER ? "33"
           : level == ST_REPORTED_GREEN ? "32"
                                        : "2";
}

static void add_trust(const text_page *to, const st_reported_session *session)
{
    st_reported_level worst = st_report_trust(session);
    size_t told = 0;
    st_text words;
    st_text_init(&words);
    st_text_add(to->out, "\n  ");
    st_report_left(to->out, "trust", LABEL_COLUMNS - 2);
    add_styled(to, style_of(worst), st_reported_level_word(worst));
    st_text_add(to->out, "\n");
    // Red and amber ones in full; where there are none, the first of the rest.
    bool troubled = worst == ST_REPORTED_RED || worst == ST_REPORTED_AMBER;
    for (size_t i = 0; i < session->doubt_count && told < DOUBTS_MOST; i++) {
        const st_reported_doubt *doubt = &session->doubts[i];
        bool grave = doubt->level == ST_REPORTED_RED || doubt->level == ST_REPORTED_AMBER;
        if (troubled ? !grave : told >= 3)
            continue;
        st_text_addf(&words, "%s: %s", st_reported_level_word(doubt->level), doubt->words);
        add_row(to, "", &words);
        told++;
    }
    st_text_release(&words);
}

static void add_finding(const text_page *to, const st_reported_problem *problem)
{
    const st_reported_profile *profile = problem->results[to->report->cache].winner_profile;
    st_text words;
    if (problem->results[to->report->cache].winner < 0 || !profile->finding_count)
        return;
    const st_finding *finding = &profile->findings[0];
    st_text_init(&words);
    st_text_addf(&words, "%s. %s %s", finding->title, finding->message, finding->remedy);
    add_row(to, "finding", &words);
    st_text_addf(&words, "evidence: %s", finding->evidence);
    if (isfinite(finding->gain)) {
        st_text_add(&words, "; estimated to be worth up to ");
        st_report_share(&words, finding->gain);
        st_text_add(&words, " of the time");
    }
    if (finding->focus && finding->focus->line > 0)
        st_text_addf(&words, "; most at %s:%d", st_text_file_name(finding->focus->file), finding->focus->line);
    add_row(to, "", &words);
    st_text_release(&words);
}

static void add_failed(const text_page *to, const st_reported_session *session)
{
    st_text words, list;
    st_text_init(&words);
    st_text_init(&list);
    size_t failed = st_report_failures(session->outcomes, &list);
    if (failed) {
        st_text_addf(&words, "%zu of %zu: %s; simtune query %s --session %.12s --failures", failed,
                     session->candidate_count, st_text_string(&list), session->session.family, session->session.id);
        add_row(to, "failed", &words);
    }
    st_text_release(&list);
    st_text_release(&words);
}

static void add_session(const text_page *to, const st_reported_session *session)
{
    const st_reported_problem *lead = lead_of(session);
    add_head(to, session);
    if (lead) {
        add_verdict(to, session, lead);
        add_chart(to, lead);
    } else
        st_text_add(to->out, "\n  nothing was tried\n");
    add_sizes(to, session);
    add_trust(to, session);
    if (lead)
        add_finding(to, lead);
    add_failed(to, session);
}

// --- several sessions ----------------------------------------------------------------------------------------------

static void add_shared(const text_page *to, const st_report_shared *shared)
{
    st_text words;
    st_text_init(&words);
    st_report_problem(&words, shared->problem);
    st_text_addf(to->out, "\n  %s %s\n", shared->family, st_text_string(&words));
    double most = 0;
    for (size_t s = 0; s < to->report->count; s++)
        if (shared->place[s] != SIZE_MAX)
            most = fmax(most, to->report->sessions[s].problems[shared->place[s]].results[to->report->cache].winner_ns);
    for (size_t s = 0; s < to->report->count; s++) {
        const st_reported_session *session = &to->report->sessions[s];
        if (shared->place[s] == SIZE_MAX)
            continue;
        double ns = session->problems[shared->place[s]].results[to->report->cache].winner_ns;
        st_text_clear(&words);
        st_report_time(&words, ns);
        st_text_add(to->out, "    ");
        add_cut(to->out, session->label, 22);
        st_text_add(to->out, " ");
        add_bar(to, ns == shared->best_ns ? "32" : "36", ns / most, to->width - 52);
        st_report_right(to->out, st_text_string(&words), 11);
        st_text_addf(to->out, "  %.2f ×\n", ns / shared->best_ns);
    }
    st_text_release(&words);
}

static st_code add_comparison(const text_page *to, st_error *error)
{
    enum { SHARED_MOST = 12 };
    st_report_shared *shared = NULL;
    size_t count = 0;
    st_code code = st_report_shared_find(to->report, &shared, &count, error);
    if (code != ST_OK)
        return code;
    if (count) {
        st_text_add(to->out, "\n");
        add_styled(to, "1", "side by side (winners' times, and how often the best)");
        st_text_add(to->out, "\n");
    }
    for (size_t s = 0; s < to->report->count && count; s++) {
        const st_reported_session *session = &to->report->sessions[s];
        st_text_addf(to->out, "  %-22s %s, driver %s, %s\n", session->label, session->device_name, session->driver,
                     session->compiler);
    }
    for (size_t i = 0; i < count && i < SHARED_MOST; i++)
        add_shared(to, &shared[i]);
    if (count > SHARED_MOST)
        st_text_addf(to->out, "\n  and %zu problem%s more; the page has them all\n", count - SHARED_MOST,
                     st_plural((int64_t)(count - SHARED_MOST)));
    if (!count)
        st_text_add(to->out, "\nNo two of these sessions have a winner of the same problem.\n");
    st_report_shared_free(shared, count);
    return ST_OK;
}

// --- all -----------------------------------------------------------------------------------------------------------

static void add_next(const text_page *to)
{
    const st_report *report = to->report;
    st_text command;
    st_text_init(&command);
    st_text_add(&command, "simtune report");
    for (size_t s = 0; s < report->count && s < 4; s++)
        st_text_addf(&command, " %.12s", report->sessions[s].session.id);
    st_text_addf(to->out, "\nThe whole: %s -o report.html\n", st_text_string(&command));
    st_text_release(&command);
}

st_code st_report_text(const st_report *report, const st_report_text_options *options, st_text *out, st_error *error)
{
    st_text raw;
    st_text_init(&raw);
    int width = options->width ? options->width : USUAL;
    text_page to = {report, options, width < NARROWEST ? NARROWEST : width, &raw};
    st_code code = ST_OK;
    for (size_t s = 0; s < report->count; s++) {
        st_text_add(&raw, s ? "\n" : "");
        add_session(&to, &report->sessions[s]);
    }
    if (report->count > 1)
        code = add_comparison(&to, error);
    add_next(&to);
    if (code == ST_OK && raw.failed)
        code = st_fail_memory(error, "writing a report");
    if (code == ST_OK)
        st_report_safe(out, st_text_string(&raw), options->colour);
    if (code == ST_OK && out->failed)
        code = st_fail_memory(error, "writing a report");
    st_text_release(&raw);
    return code;
}
