// SPDX-License-Identifier: Apache-2.0
// The summary for people. Invariants: 1. everything comes from the store (summary_load.c); 2. unknown is "-"
// or said in words, never 0; 3. no line is wider than the width, except for a word that is; 4. colour only
// when it is asked for, and never as the only carrier of a meaning; 5. it ends with a command.
#include "reports/summary_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_MOST = 24, LABEL_COLUMNS = 13 };

typedef struct page {
    const summary *all;
    st_store *store;
    int cache, width;
    bool colour;
    st_text *out;
} page;

static void add_styled(const page *to, const char *style, const char *words)
{
    if (to->colour)
        st_text_addf(to->out, "\033[%sm%s\033[0m", style, words);
    else
        st_text_add(to->out, words);
}

// A text that was built aside: its failure is the page's.
static void release_words(const page *to, st_text *words)
{
    to->out->failed = to->out->failed || words->failed;
    st_text_release(words);
}

// A row out of a text that is then cleared for the next.
static void add_row(const page *to, const char *label, st_text *words)
{
    st_report_row(to->out, label, LABEL_COLUMNS, st_text_string(words), to->width);
    to->out->failed = to->out->failed || words->failed;
    st_text_clear(words);
}

// --- the head --------------------------------------------------------------------------------------------------

static void add_head(const page *to)
{
    const summary *all = to->all;
    st_text words;
    st_text_init(&words);
    st_text_addf(&words, "%s on %s", all->session.family, all->device_name[0] ? all->device_name : "-");
    if (all->cc > 0)
        st_text_addf(&words, " (sm_%d, %d SMs)", all->cc, all->sm_count);
    add_styled(to, "1", st_text_string(&words));
    release_words(to, &words);
    st_text_addf(&words, "\n  driver %s, %s, %s cache", all->driver[0] ? all->driver : "-",
                 all->compiler[0] ? all->compiler : "-", summary_caches[to->cache]);
    if (strcmp(all->backend, "emu") == 0)
        st_text_add(&words, "\n  EMULATED: these times mean nothing");
    if (all->session.status != ST_SESSION_FINISHED)
        st_text_add(&words, "\n  not finished: the same command goes on where it stopped");
    st_text_addf(to->out, "%s\n", st_text_string(&words));
    release_words(to, &words);
}

// --- a winner ----------------------------------------------------------------------------------------------------

static void add_time_row(const page *to, const summary_problem *problem, st_text *words)
{
    const summary_result *result = &problem->results[to->cache];
    st_report_time(words, result->winner_ns);
    if (result->winner == result->standard)
        st_text_add(words, ": the default itself is the fastest");
    else if (isnan(result->speedup))
        st_text_add(words, "; the default has no time to compare with");
    else {
        st_text_add(words, ", ");
        st_report_speedup(words, result->speedup, result->speedup_low, result->speedup_high);
        if (result->speedup_low <= 1 && result->speedup_high >= 1)
            st_text_add(words, ": not told apart from it");
    }
    add_row(to, "time", words);
}

// More than the memory can move means that it did not come from there.
static void add_memory_row(const page *to, const summary_problem *problem, st_text *words)
{
    const summary_result *result = &problem->results[to->cache];
    double speed = result->bytes / result->winner_ns, share = speed / to->all->read_gbs;
    if (isnan(speed)) {
        st_text_add(words, "- (the template does not say how many bytes it moves)");
    } else {
        st_report_speed(words, speed);
        if (isnan(share))
            st_text_add(words, "; the speed of this device's memory was not measured");
        else {
            st_text_add(words, ", ");
            st_report_share(words, share);
            st_text_addf(words, " of this memory's measured %.0f GB/s%s", to->all->read_gbs,
                         share > 1.02 ? " (so from L2)" : "");
        }
    }
    add_row(to, "memory", words);
}

static void add_wait_rows(const page *to, const summary_problem *problem, st_text *words)
{
    const summary_result *result = &problem->results[to->cache];
    if (!result->winner_counters.any && !result->standard_counters.any) {
        st_text_add(words, "no counters");
        add_row(to, "waits for", words);
        return;
    }
    summary_add_stall(words, &result->winner_counters);
    add_row(to, "waits for", words);
    if (result->standard < 0 || result->standard == result->winner)
        return;
    st_text_add(words, "default: ");
    summary_add_stall(words, &result->standard_counters);
    add_row(to, "", words);
}

// One row a rival; the first carries the label.
typedef struct telling {
    const page *to;
    bool told;
} telling;

static void add_rival_row(void *context, const char *rival)
{
    telling *at = context;
    st_report_row(at->to->out, at->told ? "" : "against", LABEL_COLUMNS, rival, at->to->width);
    at->told = true;
}

static void add_tie_row(const page *to, const summary_problem *problem, st_text *words)
{
    const summary_result *result = &problem->results[to->cache];
    if (result->tied <= 1)
        return;
    st_text_addf(words, "%d tie; the simplest was taken: by registers, then by nearness to the default", result->tied);
    add_row(to, "ties", words);
}

// The fastest of a problem whose finals never came, NULL when nothing was timed.
static const summary_candidate *best_so_far(const summary_problem *problem, int cache)
{
    const summary_candidate *best = NULL;
    for (size_t i = 0; i < problem->count; i++) {
        const summary_candidate *one = &problem->candidates[i];
        if (strcmp(one->outcome, "correct") == 0 && !isnan(one->comparable_ns[cache]) &&
            (!best || one->comparable_ns[cache] < best->comparable_ns[cache]))
            best = one;
    }
    return best;
}

static st_code add_winner(const page *to, const summary_problem *problem, st_text *words, st_error *error)
{
    const summary_candidate *winner = summary_winner(problem, to->cache);
    const summary_candidate *best = winner ? NULL : best_so_far(problem, to->cache);
    if (best && to->all->session.status != ST_SESSION_FINISHED) {
        st_text_add(words, best->configuration);
        add_row(to, "so far", words);
        st_report_time(words, best->median_ns[to->cache]);
        st_text_addf(words, ", of %zu tried; no finals yet", problem->count);
        add_row(to, "time", words);
        return ST_OK;
    }
    if (!winner) {
        st_text_addf(words, "none in the %s cache", summary_caches[to->cache]);
        add_row(to, "winner", words);
        return ST_OK;
    }
    st_text_add(words, winner->configuration);
    add_row(to, "winner", words);
    add_time_row(to, problem, words);
    add_memory_row(to, problem, words);
    add_wait_rows(to, problem, words);
    telling at = {.to = to};
    st_code code = summary_rivals(to->store, problem, to->cache, add_rival_row, &at, error);
    add_tie_row(to, problem, words);
    st_text_addf(words, "simtune show %.12s", winner->id);
    add_row(to, "more", words);
    return code;
}

// --- what failed ---------------------------------------------------------------------------------------------------

// Worst first: the example is of the first that there is.
static const char *const failures[] = {"crash",   "wrong",  "race",       "timeout",
                                       "launch", "compile", "constraint", "skipped"};
enum { FAILURES = sizeof failures / sizeof failures[0] };

static size_t count_outcome(const summary_problem *problem, const char *outcome,
                            const summary_candidate **example)
{
    size_t count = 0;
    for (size_t i = 0; i < problem->count; i++)
        if (strcmp(problem->candidates[i].outcome, outcome) == 0) {
            count++;
            if (!*example || (!(*example)->detail && problem->candidates[i].detail &&
                              strcmp((*example)->outcome, outcome) == 0))
                *example = &problem->candidates[i];
        }
    return count;
}

// The first line of a detail, cut to the width.
static void add_example(const page *to, const summary_candidate *example, st_text *words)
{
    const char *detail = example->detail ? example->detail : "";
    st_text line;
    st_text_init(&line);
    st_text_addf(&line, "%s: ", example->outcome);
    int room = to->width - LABEL_COLUMNS - (int)st_report_columns(st_text_string(&line));
    size_t end = strcspn(detail, "\n"), at = 0, columns = 0;
    while (at < end) {
        columns += ((unsigned char)detail[at] & 0xC0) != 0x80;
        if ((int)columns >= room)
            break;
        at++;
    }
    st_text_add_bytes(&line, detail, at);
    st_text_addf(words, "%s%s", st_text_string(&line), at < end ? "…" : "");
    release_words(to, &line);
    if (example->detail)
        add_row(to, "", words);
    release_words(to, words);
    st_text_addf(words, "simtune show %.12s", example->id);
    add_row(to, "", words);
}

static void add_failed(const page *to, const summary_problem *problem, st_text *words)
{
    const summary_candidate *example = NULL;
    size_t failed = 0;
    st_text list;
    st_text_init(&list);
    for (size_t i = 0; i < FAILURES; i++) {
        size_t count = count_outcome(problem, failures[i], &example);
        if (count)
            st_text_addf(&list, "%s%zu %s", failed ? ", " : "", count, failures[i]);
        failed += count;
    }
    st_text_addf(words, failed ? "%zu of %zu: %s" : "none of %zu", failed ? failed : problem->count,
                 problem->count, st_text_string(&list));
    add_row(to, "failed", words);
    if (example)
        add_example(to, example, words);
    release_words(to, &list);
}

// --- one parameter alone ------------------------------------------------------------------------------------------

static st_code add_table_row(const page *to, const summary_problem *problem, size_t index,
                             const char *name, size_t name_length, st_text *words, st_error *error)
{
    const summary_candidate *candidate = &problem->candidates[index];
    summary_counters counters;
    size_t length = 0;
    st_code code = summary_counters_read(to->store, candidate->key, &counters, error);
    if (code != ST_OK)
        return code;
    const char *value = st_report_value_of(candidate->configuration, name, name_length, &length);
    st_text time;
    st_text_init(&time);
    bool correct = strcmp(candidate->outcome, "correct") == 0;
    if (correct)
        st_report_comparable(&time, candidate->median_ns[to->cache], candidate->comparable_ns[to->cache]);
    else
        st_text_add(&time, candidate->outcome);
    st_text_addf(words, "  %-12.*s ", value ? (int)length : 1, value ? value : "-");
    st_report_right(words, st_text_string(&time), 10);
    st_text_add(words, "  ");
    if (candidate->registers >= 0)
        st_text_addf(words, "%4d  ", candidate->registers);
    else
        st_text_add(words, "   -  ");
    if (isnan(candidate->occupancy))
        st_text_add(words, "     -  ");
    else
        st_text_addf(words, "%4.0f %%  ", candidate->occupancy * 100);
    summary_add_stall(words, &counters);
    st_text_addf(to->out, "%s\n", st_text_string(words));
    release_words(to, words);
    release_words(to, &time);
    return ST_OK;
}

// The table of a run that moved one parameter with all others fixed (--vary).
static st_code add_table(const page *to, const summary_problem *problem, st_text *words, st_error *error)
{
    size_t length = 0;
    const char *name = summary_moved_alone(problem, &length);
    if (!name || problem->count > TABLE_MOST)
        return ST_OK;
    st_text_addf(to->out, "\n  %-12.*s %10s  %4s  %6s  %s\n", (int)length, name, "time", "regs", "occup.",
                 "waits for");
    st_code code = ST_OK;
    bool shifted = false;
    for (size_t i = 0; i < problem->count && code == ST_OK; i++) {
        code = add_table_row(to, problem, i, name, length, words, error);
        shifted = shifted || st_report_is_shifted(problem->candidates[i].median_ns[to->cache],
                                                  problem->candidates[i].comparable_ns[to->cache]);
    }
    if (shifted)
        st_text_addf(to->out, "  %s\n", st_report_shifted);
    return code;
}

// --- whether to trust it -----------------------------------------------------------------------------------------

static void add_trust(const page *to)
{
    const summary *all = to->all;
    const summary_trust *trust = &all->trust;
    const json_t *dropped = json_object_get(all->facts, "throttled_samples");
    const json_t *others = json_object_get(all->facts, "other_processes");
    const json_t *counters = json_object_get(all->facts, "counters");
    st_text words;
    st_text_init(&words);
    if (json_is_integer(dropped))
        st_text_addf(&words, "%lld sample%s dropped for throttling", (long long)json_integer_value(dropped),
                     st_plural(json_integer_value(dropped)));
    else
        st_text_add(&words, "throttling unknown");
    if (trust->clock_low < 0)
        st_text_add(&words, "; clocks unknown");
    else if (trust->clock_low == trust->clock_high)
        st_text_addf(&words, "; SM clock %d MHz", trust->clock_low);
    else
        st_text_addf(&words, "; SM clock %d to %d MHz", trust->clock_low, trust->clock_high);
    if (trust->temperature_high >= 0)
        st_text_addf(&words, ", at most %d °C", trust->temperature_high);
    if (json_is_integer(others) && json_integer_value(others) >= 0)
        st_text_addf(&words, "; %lld other processes on the device", (long long)json_integer_value(others));
    else
        st_text_add(&words, "; other processes unknown");
    st_text_addf(&words, "; counters %s", json_is_string(counters) ? json_string_value(counters) : "unknown");
    st_text_add(to->out, "\n");
    add_row(to, "trust", &words);
    release_words(to, &words);
}

// A long command goes on in the next line as a shell takes it; an option keeps its value.
static void add_next(const page *to)
{
    enum { INDENT = 6 }; // of "Next: "
    st_text command;
    st_text_init(&command);
    summary_add_next(to->all, to->cache, &command);
    st_text_add(to->out, "\nNext: ");
    int at = INDENT;
    for (const char *part = st_text_string(&command); *part;) {
        const char *option = strstr(part + 1, " --");
        int length = (int)(option ? (size_t)(option - part) : strlen(part));
        if (at > INDENT && at + length > to->width - 2) {
            st_text_addf(to->out, " \\\n%*s", INDENT - 1, "");
            at = INDENT - 1;
        }
        st_text_add_bytes(to->out, part, (size_t)length);
        at += length;
        part += length;
    }
    st_text_add(to->out, "\n");
    release_words(to, &command);
}

// --- all -------------------------------------------------------------------------------------------------------------

static st_code add_problem(const page *to, const summary_problem *problem, st_error *error)
{
    st_text words;
    st_text_init(&words);
    st_report_problem(&words, problem->text);
    st_text_add(to->out, "\n");
    add_styled(to, "1", st_text_string(&words));
    st_text_add(to->out, "\n");
    release_words(to, &words);
    st_code code = add_winner(to, problem, &words, error);
    add_failed(to, problem, &words);
    if (code == ST_OK)
        code = add_table(to, problem, &words, error);
    release_words(to, &words);
    return code;
}

st_code st_summary_text(st_store *store, const char *session_id, const st_summary_options *options,
                        st_text *out, st_error *error)
{
    summary all;
    st_code code = summary_load(store, session_id, &all, error);
    if (code != ST_OK)
        return code;
    page to = {.all = &all,
               .store = store,
               .cache = summary_cache(options->cache),
               .width = options->width > 0 ? options->width : 80,
               .colour = options->colour,
               .out = out};
    add_head(&to);
    for (size_t i = 0; i < all.count && code == ST_OK; i++)
        code = add_problem(&to, &all.problems[i], error);
    if (code == ST_OK) {
        add_trust(&to);
        add_next(&to);
        if (out->failed)
            code = st_fail_memory(error, "writing a summary");
    }
    summary_release(&all);
    return code;
}
