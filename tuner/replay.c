// SPDX-License-Identifier: Apache-2.0
// Searching a recorded space with many seeds. Invariants: 1. time goes by as it was recorded: each configuration
// costs what compiling and its first samples took, each profile what it took; 2. a figure of a goal is that of
// the evaluation which reached it; a space is searched to its end when need be, so every seed reaches every goal;
// 3. the advice on a configuration is given when the strategy wants its profile, and there is one; 4. a strategy is told
// the first look, as in a run, and judged by the measurement that stands.
#include "tuner/replay.h"

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <string.h>

const double st_replay_goals[ST_REPLAY_GOALS] = {0.01, 0.05, 0.10};

// What one seed gave.
typedef struct trial {
    double evaluations[ST_REPLAY_GOALS], seconds[ST_REPLAY_GOALS], profiles;
    double stop_evaluations, stop_gap;
    double curve[ST_REPLAY_POINTS];
} trial;

size_t st_recorded_within(const st_recorded *record, double share)
{
    size_t count = 0;
    for (size_t i = 0; i < record->space.count && record->best != ST_SEARCH_NONE; i++)
        count += record->ns[i] <= record->ns[record->best] * (1 + share);
    return count;
}

double st_replay_expected(const st_recorded *record, double share)
{
    return (double)(record->space.count + 1) / (double)(st_recorded_within(record, share) + 1);
}

// 1 2 3 4 6 8 11 … count
static size_t choose_points(size_t count, size_t *points)
{
    size_t used = 0;
    for (double at = 1; used < ST_REPLAY_POINTS - 1 && (size_t)at < count; at = fmax(at + 1, at * 1.35))
        points[used++] = (size_t)at;
    points[used++] = count;
    return used;
}

// --- one seed --------------------------------------------------------------------------------------------------

typedef struct playing {
    const st_recorded *record;
    const st_replay_options *options;
    st_replay_result *out;
    st_search *search;
    trial *now;
    size_t evaluations, goals, profiles, point;
    double seconds, best;
    bool stops;           // the strategy may
} playing;

static void note_progress(playing *at, size_t index)
{
    double optimum = at->record->ns[at->record->best];
    at->evaluations++;
    at->seconds += at->record->seconds[index];
    if (at->record->ns[index] < at->best)
        at->best = at->record->ns[index];
    while (at->goals && at->best <= optimum * (1 + st_replay_goals[at->goals - 1])) {
        size_t goal = --at->goals; // the widest is last in the list and reached first
        at->now->evaluations[goal] = (double)at->evaluations;
        at->now->seconds[goal] = at->seconds;
        at->now->profiles = (double)at->profiles;
    }
    while (at->point < at->out->point_count && at->out->points[at->point] <= at->evaluations)
        at->now->curve[at->point++] = at->best / optimum;
    if (at->stops && isnan(at->now->stop_evaluations) && at->evaluations == st_search_told(at->search) &&
        st_search_stops(at->search)) {
        at->now->stop_evaluations = (double)at->evaluations;
        at->now->stop_gap = at->best / optimum - 1;
    }
}

static double cost_of_profile(const playing *at, size_t index)
{
    double recorded = at->record->profile_seconds[index];
    return isnan(recorded) ? at->options->profile_seconds : recorded;
}

// The oldest of the window is told, and its profile when the strategy wants one.
static st_code answer(playing *at, size_t index, st_error *error)
{
    st_search_answer told = {at->record->first_ns[index], at->record->facts[index]};
    st_code code = st_search_tell(at->search, index, &told, error);
    if (code != ST_OK)
        return code;
    note_progress(at, index);
    for (size_t wanted; (wanted = st_search_wants_profile(at->search)) != ST_SEARCH_NONE;) {
        bool there = at->record->has_profile[wanted];
        at->profiles += there;
        at->seconds += there ? cost_of_profile(at, wanted) : 0;
        st_search_tell_profile(at->search, wanted, there ? &at->record->advice[wanted] : NULL);
    }
    return ST_OK;
}

// As a run does (run_search.c): the window is filled up after each answer.
static st_code play_window(playing *at, size_t *window, size_t most, st_error *error)
{
    st_code code = ST_OK;
    for (size_t open = 0, count; code == ST_OK && (at->goals || (at->stops && isnan(at->now->stop_evaluations)));) {
        code = st_search_ask(at->search, most - open, window + open, &count, error);
        open += code == ST_OK ? count : 0;
        if (code != ST_OK || !open)
            break;
        code = answer(at, window[0], error);
        memmove(window, window + 1, --open * sizeof *window);
        if (code == ST_OK && at->options->interrupted && *at->options->interrupted)
            code = st_fail(error, ST_INTERRUPTED, NULL, "interrupted");
    }
    return code;
}

static st_code play(playing *at, const char *strategy, uint64_t seed, st_error *error)
{
    enum { BATCH_MOST = 256 };
    size_t window[BATCH_MOST], batch = at->options->batch ? at->options->batch : 1;
    st_search_options options = at->options->search;
    options.seed = seed;
    options.limit_ns = at->record->limit_ns;
    batch = batch < BATCH_MOST ? batch : BATCH_MOST;
    for (int goal = 0; goal < ST_REPLAY_GOALS; goal++)
        at->now->evaluations[goal] = at->now->seconds[goal] = NAN;
    at->now->profiles = at->now->stop_evaluations = at->now->stop_gap = NAN;
    st_code code = st_search_open(strategy, &at->record->space, &options, &at->search, error);
    if (code == ST_OK)
        code = play_window(at, window, batch, error);
    while (at->point < at->out->point_count) // it was found: so it stays
        at->now->curve[at->point++] = at->best / at->record->ns[at->record->best];
    st_search_close(at->search);
    return code;
}

// --- all of them -------------------------------------------------------------------------------------------------

// Of the value at `offset` bytes in each trial; those that are NaN do not count. *known: how many do.
static st_code figure_of(const trial *trials, size_t count, size_t offset, double *room, st_replay_figure *out,
                         size_t *known, st_error *error)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        double value = *(const double *)(const void *)((const char *)&trials[i] + offset);
        if (!isnan(value))
            room[used++] = value;
    }
    *out = (st_replay_figure){NAN, NAN, NAN};
    if (used)
        *out = (st_replay_figure){st_quantile(room, used, 0.1), st_median(room, used), st_quantile(room, used, 0.9)};
    if (known)
        *known = used;
    return used && isnan(out->median) ? st_fail_memory(error, "replaying") : ST_OK;
}

static st_code summarise(const trial *trials, size_t count, st_replay_result *out, st_error *error)
{
    double *room = st_malloc((count + 1) * sizeof *room);
    st_code code = room ? ST_OK : st_fail_memory(error, "replaying");
    for (size_t g = 0; g < ST_REPLAY_GOALS && code == ST_OK; g++) {
        code = figure_of(trials, count, offsetof(trial, evaluations) + g * sizeof(double), room, &out->evaluations[g],
                         NULL, error);
        if (code == ST_OK)
            code = figure_of(trials, count, offsetof(trial, seconds) + g * sizeof(double), room, &out->seconds[g], NULL,
                             error);
    }
    if (code == ST_OK)
        code = figure_of(trials, count, offsetof(trial, profiles), room, &out->profiles, NULL, error);
    if (code == ST_OK)
        code = figure_of(trials, count, offsetof(trial, stop_evaluations), room, &out->stop_evaluations, &out->stopped,
                         error);
    if (code == ST_OK)
        code = figure_of(trials, count, offsetof(trial, stop_gap), room, &out->stop_gap, NULL, error);
    for (size_t p = 0; p < out->point_count && code == ST_OK; p++)
        code = figure_of(trials, count, offsetof(trial, curve) + p * sizeof(double), room, &out->curve[p], NULL, error);
    st_free(room);
    return code;
}

st_code st_replay(const st_recorded *record, const char *strategy, const st_replay_options *options,
                  st_replay_result *out, st_error *error)
{
    *out = (st_replay_result){0};
    if (record->best == ST_SEARCH_NONE)
        return st_fail(error, ST_NOTHING, "replay a space that was measured", "nothing in %s has a time",
                       record->problem);
    trial *trials = st_calloc(options->seeds ? options->seeds : 1, sizeof *trials);
    st_code code = trials ? ST_OK : st_fail_memory(error, "replaying");
    out->point_count = choose_points(record->space.count, out->points);
    for (size_t i = 0; i < options->seeds && code == ST_OK; i++) {
        playing at = {.record = record, .options = options, .out = out, .now = &trials[i], .goals = ST_REPLAY_GOALS,
                      .best = INFINITY, .stops = st_strategy_find(strategy)->stops};
        code = play(&at, strategy, options->first_seed + i, error);
    }
    if (code == ST_OK)
        code = summarise(trials, options->seeds, out, error);
    st_free(trials);
    return code;
}
