// SPDX-License-Identifier: Apache-2.0
// From survivors to a winner (DESIGN.md §7.5, §7.6). Invariants: 1. the finals hold the default whenever it
// is correct; 2. a win needs an interval of the paired ratio that excludes 1 and a gap of at least 0.5 %;
// otherwise it is a tie, and the simplest of the tied set is taken; 3. a winner is right on the breaking
// sizes, else the next takes its place.
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"
#include "tuner/run_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FINAL_ATTEMPTS = 3, FINALISTS = 8, ENTRANTS = FINALISTS + 1 + ST_MAX_RIVALS, FINAL_ROUNDS = 60, RESAMPLES = 1000, HALVING_FACTOR = 3, FINAL_FACTOR = 5 };
static const double least_gap = 0.005;
// A survivor is within so much of the best, at most so many, and gets so many samples.
static const struct {
    double within;
    size_t most;
    int64_t samples;
} halvings[] = {{1.15, 48, 12}, {1.06, 16, 40}};

// Short kernels are noisier (a cold L2 shows two levels 10 % apart) and cheaper: they get more samples. Not on
// the emulated device, whose samples cost the same and mean nothing.
static int64_t samples_of(const st_run *run, const run_problem *problem, int64_t samples, int factor)
{
    bool emulated = strcmp(run->options->backend, "emu") == 0;
    return problem->best_ns[COLD] < 5e4 && !emulated ? samples * factor : samples;
}

// A candidate that was correct until now is no longer: store and counts follow.
static st_code demote(st_run *run, run_problem *problem, run_candidate *candidate, const char *detail,
                      st_error *error)
{
    run->result->outcomes[ST_OUTCOME_CORRECT]--;
    run->result->outcomes[candidate->outcome]++;
    problem->failed++;
    return run_store_candidate(run, problem, candidate, detail, error);
}

static st_code resample(st_run *run, run_problem *problem, size_t index, int cache, int round,
                        int64_t samples, st_error *error)
{
    run_candidate *candidate = &problem->candidates[index];
    char *detail = NULL;
    if (candidate->series[cache].rounds > round)
        return ST_OK; // a resumed run has it already
    run_taken taken;
    candidate->stage = STAGE_NEW;
    st_code code = run_take(run, problem, candidate, (int64_t)index, cache,
                            samples_of(run, problem, samples, HALVING_FACTOR), &taken, &detail, error);
    bool failed = candidate->stage == STAGE_DONE;
    candidate->stage = STAGE_DONE;
    if (code == ST_OK && failed)
        code = demote(run, problem, candidate, detail, error);
    else if (code == ST_OK)
        code = run_store_taken(run, candidate, "halving", round, &taken, error);
    st_free(taken.samples);
    st_free(detail);
    return code;
}

st_code run_halving(st_run *run, run_problem *problem, st_error *error)
{
    run_ranked *order = st_malloc((problem->candidate_count ? problem->candidate_count : 1) * sizeof *order);
    if (!order)
        return st_fail_memory(error, "choosing survivors");
    double began = st_clock_seconds();
    st_code code = ST_OK;
    for (int cache = 0; cache < CACHES; cache++) {
        for (size_t h = 0; h < sizeof halvings / sizeof halvings[0]; h++) {
            size_t count = run_rank(problem, cache, h ? (int)h + 1 : cache == COLD, order), kept = 0;
            while (kept < count && kept < halvings[h].most &&
                   order[kept].ns <= order[0].ns * halvings[h].within)
                kept++;
            for (size_t i = 0; i < kept && code == ST_OK && !run_interrupted(run); i++) {
                // Rounds count from 1 after the screen; a warm series may lack its screen.
                run_candidate *candidate = &problem->candidates[order[i].index];
                if (candidate->series[cache].rounds < (int)h + 1)
                    candidate->series[cache].rounds = (int)h + 1;
                code = resample(run, problem, order[i].index, cache, (int)h + 1, halvings[h].samples, error);
                run_progress(run, problem, "halving", i, kept);
            }
        }
    }
    for (size_t i = 0; i < problem->candidate_count && code == ST_OK; i++)
        code = run_unload(run, run->timing, &problem->candidates[i], (int64_t)i, error);
    run->finals_seconds += st_clock_seconds() - began;
    st_free(order);
    return code;
}

// --- finals -----------------------------------------------------------------------------------------------

typedef struct finalist {
    size_t index;
    double *samples;  // rounds, in the order of rounds
    double median;
    st_interval ratio; // this / fastest
    bool tied;         // the samples do not show it slower
    bool near;         // tied, and within the least gap by its median: one of these is taken
} finalist;

typedef struct final {
    finalist entrants[ENTRANTS];
    size_t count, rounds;
    size_t fastest;
    st_timing_state state;
} final;

static void final_release(final *made)
{
    for (size_t i = 0; i < made->count; i++)
        st_free(made->entrants[i].samples);
}

static st_code enter(st_run *run, run_problem *problem, final *all, size_t index, st_error *error)
{
    run_candidate *candidate = &problem->candidates[index];
    char *detail = NULL;
    for (size_t i = 0; i < all->count; i++)
        if (all->entrants[i].index == index)
            return ST_OK;
    candidate->stage = STAGE_NEW;
    st_code code = run_load(run, run->timing, &problem->problem, candidate, (int64_t)index, &detail, error);
    if (code == ST_OK && candidate->stage == STAGE_NEW)
        all->entrants[all->count++] = (finalist){.index = index};
    else if (code == ST_OK) // it was right and timed many times: out of this final, not of the store
        run_note(run, "%s: a finalist is left out: %s", problem->text, detail ? detail : "it cannot be loaded");
    candidate->stage = STAGE_DONE;
    candidate->outcome = ST_OUTCOME_CORRECT;
    st_free(detail);
    return code;
}

static st_code choose_entrants(st_run *run, run_problem *problem, int cache, final *all, st_error *error)
{
    run_ranked *order = st_malloc((problem->candidate_count ? problem->candidate_count : 1) * sizeof *order);
    if (!order)
        return st_fail_memory(error, "choosing finalists");
    int rounds = (int)(sizeof halvings / sizeof halvings[0]);
    size_t count = 0;
    for (; rounds >= 0 && !count; rounds--) // an interrupted halving leaves fewer rounds
        count = run_rank(problem, cache, rounds + 1, order);
    st_code code = ST_OK;
    for (size_t i = 0; i < count && all->count < FINALISTS && code == ST_OK; i++)
        code = enter(run, problem, all, order[i].index, error);
    size_t standard = run_standard(run, problem);
    if (code == ST_OK && standard != RUN_NOBODY)
        code = enter(run, problem, all, standard, error);
    for (size_t r = 0; r < run->tmpl->rival_count && code == ST_OK; r++) {
        size_t rival = run_best_rival(run, problem, cache, r);
        if (rival != RUN_NOBODY)
            code = enter(run, problem, all, rival, error);
    }
    st_free(order);
    return code;
}

// *lost: the worker was lost, with it all that was loaded; nothing was stored.
static st_code race_entrants(st_run *run, run_problem *problem, int cache, final *all, bool *lost,
                             st_error *why_lost, st_error *error)
{
    int64_t ids[ENTRANTS];
    double *samples = NULL;
    st_trouble trouble = ST_TROUBLE_NONE;
    st_error why = {0};
    for (size_t i = 0; i < all->count; i++)
        ids[i] = (int64_t)all->entrants[i].index;
    st_code code = st_link_race(run->timing, ids, all->count, run_cache_names[cache],
                                samples_of(run, problem, FINAL_ROUNDS, FINAL_FACTOR),
                                (int64_t)run->options->seed + 1, run->options->time_limit + 120, &samples,
                                &all->rounds, &all->state, &trouble, &why);
    if (code != ST_OK) {
        *error = why;
        return code;
    }
    *lost = trouble != ST_TROUBLE_NONE;
    if (*lost) {
        *why_lost = why;
        return ST_OK;
    }
    run->throttled_samples += all->state.dropped * all->count;
    const int64_t taken_ms = st_clock_unix_ms();
    code = st_store_begin(run->store, error);
    bool begun = code == ST_OK;
    for (size_t i = 0; i < all->count && code == ST_OK; i++) {
        finalist *one = &all->entrants[i];
        one->samples = st_malloc(all->rounds * sizeof *one->samples);
        if (!one->samples) {
            code = st_fail_memory(error, "the finals");
            break;
        }
        for (size_t r = 0; r < all->rounds; r++)
            one->samples[r] = samples[r * all->count + i];
        one->median = st_median(one->samples, all->rounds);
        if (isnan(one->median)) {
            code = st_fail_memory(error, "the finals");
            break;
        }
        if (one->median < all->entrants[all->fastest].median)
            all->fastest = i;
        const run_taken taken = {true, cache, one->samples, all->rounds, all->state, taken_ms};
        code = run_store_taken(run, &problem->candidates[one->index], "finals", problem->finals_round[cache], &taken,
                               error);
    }
    st_free(samples);
    if (code == ST_OK)
        return st_store_commit(run->store, error);
    if (begun)
        st_store_rollback(run->store);
    return code;
}

static void find_ties(const st_run *run, final *all)
{
    const finalist *fastest = &all->entrants[all->fastest];
    for (size_t i = 0; i < all->count; i++) {
        finalist *one = &all->entrants[i];
        one->ratio = st_ratio_interval(one->samples, fastest->samples, all->rounds, RESAMPLES,
                                       run->options->seed + i);
        bool clearly_slower = one->ratio.low > 1 && one->ratio.centre - 1 >= least_gap;
        one->tied = i == all->fastest || !clearly_slower;
        one->near = one->tied && one->ratio.centre - 1 < least_gap;
    }
}

static size_t distance_from_default(const st_run *run, const st_config *config)
{
    st_config standard;
    size_t distance = 0;
    st_config_default(run->tmpl, &standard);
    for (size_t i = 0; i < run->tmpl->parameter_count; i++)
        distance += config->value[i] != standard.value[i];
    return distance;
}

// Of the kernel that takes most. A resumed candidate that was not loaded again tells its main one's.
static int registers_of(const run_candidate *candidate)
{
    return candidate->most_registers > 0 ? candidate->most_registers : candidate->main.registers;
}

// Simplest first: fewest registers, nearest the default, fastest.
static bool simpler(const st_run *run, const run_problem *problem, const finalist *a, const finalist *b)
{
    const run_candidate *x = &problem->candidates[a->index], *y = &problem->candidates[b->index];
    if (registers_of(x) != registers_of(y))
        return registers_of(x) < registers_of(y);
    size_t far = distance_from_default(run, &x->config), other = distance_from_default(run, &y->config);
    return far != other ? far < other : a->median < b->median;
}

// A wide interval ties with what is likely slower, so simplicity decides only among those whose medians are
// within the least gap too; then come the other tied ones and the rest, by time.
static bool better(const st_run *run, const run_problem *problem, const finalist *a, const finalist *b)
{
    if (a->near != b->near)
        return a->near;
    if (a->near)
        return simpler(run, problem, a, b);
    return a->tied != b->tied ? a->tied : a->median < b->median;
}

// The best that is right on the breaking sizes; -1: none.
static st_code pick_winner(st_run *run, run_problem *problem, final *all, int *winner, st_error *error)
{
    bool refused[ENTRANTS] = {false};
    st_code code = ST_OK;
    *winner = -1;
    for (size_t attempt = 0; attempt < all->count && *winner < 0 && code == ST_OK; attempt++) {
        int best = -1;
        for (size_t i = 0; i < all->count; i++) {
            if (!refused[i] &&
                (best < 0 || better(run, problem, &all->entrants[i], &all->entrants[best])))
                best = (int)i;
        }
        char *detail = NULL;
        bool right = false;
        run_candidate *candidate = &problem->candidates[all->entrants[best].index];
        code = run_check_winner(run, problem, candidate, &right, &detail, error);
        if (code == ST_OK && right)
            *winner = best;
        else if (code == ST_OK) {
            refused[best] = true;
            run_note(run, "%s: a finalist is wrong at another size and is out: %s", problem->text,
                     detail ? detail : "");
            code = demote(run, problem, candidate, detail, error);
        }
        st_free(detail);
    }
    return code;
}

// "ALGORITHM=blelloch" when the entrant is the best that has a rival's value.
static void add_rivals(const st_run *run, const run_problem *problem, int cache, size_t index, json_t *entry)
{
    for (size_t r = 0; r < run->tmpl->rival_count; r++) {
        const st_rival *rival = &run->tmpl->rivals[r];
        if (run_best_rival(run, problem, cache, r) != index)
            continue;
        st_text text;
        st_text_init(&text);
        st_text_addf(&text, "%s=", run->tmpl->parameters[rival->parameter].name);
        st_parameter_value_text(run->tmpl, rival->parameter, rival->value, &text);
        json_t *list = json_object_get(entry, "rivals");
        if (!list) {
            list = json_array();
            json_object_set_new(entry, "rivals", list);
        }
        json_array_append_new(list, json_string(st_text_string(&text)));
        st_text_release(&text);
    }
}

static json_t *describe_ties(const st_run *run, const run_problem *problem, int cache, const final *all)
{
    json_t *list = json_array();
    for (size_t i = 0; i < all->count; i++) {
        const finalist *one = &all->entrants[i];
        st_text text;
        st_text_init(&text);
        st_config_text(run->tmpl, &problem->candidates[one->index].config, &text);
        json_t *entry = json_pack("{s:s, s:o, s:o, s:o, s:o, s:b}", "configuration", st_text_string(&text),
                                  "median_ns", st_json_number(one->median), "ratio",
                                  st_json_number(one->ratio.centre), "low", st_json_number(one->ratio.low), "high",
                                  st_json_number(one->ratio.high), "tied", (int)one->tied);
        add_rivals(run, problem, cache, one->index, entry);
        json_array_append_new(list, entry);
        st_text_release(&text);
    }
    return list;
}

static st_code store_winner(st_run *run, run_problem *problem, int cache, final *all, int winner,
                            st_error *error)
{
    st_config standard;
    st_config_default(run->tmpl, &standard);
    const finalist *best = &all->entrants[winner], *base = NULL;
    unsigned long failed = st_allocations_failed(); // of intervals and ties: the row is whole, or not stored
    int tied = 0;
    for (size_t i = 0; i < all->count; i++) {
        tied += all->entrants[i].tied;
        if (st_config_equal(run->tmpl, &problem->candidates[all->entrants[i].index].config, &standard))
            base = &all->entrants[i];
    }
    st_winner_row row = {.session_key = run->session,
                         .problem_key = problem->key,
                         .winner_key = problem->candidates[best->index].key,
                         .default_key = base ? problem->candidates[base->index].key : -1,
                         .winner_ns = best->median,
                         .default_ns = base ? base->median : NAN,
                         .speedup = NAN,
                         .speedup_low = NAN,
                         .speedup_high = NAN,
                         .tied = best->tied ? tied : 1,
                         .bytes = problem->bytes};
    snprintf(row.cache, sizeof row.cache, "%s", run_cache_names[cache]);
    if (base) {
        st_interval ratio = st_ratio_interval(base->samples, best->samples, all->rounds, RESAMPLES,
                                              run->options->seed);
        row.speedup = ratio.centre;
        row.speedup_low = ratio.low;
        row.speedup_high = ratio.high;
    }
    char note[200];
    if (row.tied > 1)
        snprintf(note, sizeof note, "%d configurations tie; of those as fast within 0.5 %% this one has the "
                                    "fewest registers, then is nearest the default", row.tied);
    row.note = row.tied > 1 ? note : NULL;
    json_t *ties = describe_ties(run, problem, cache, all);
    st_text text;
    st_text_init(&text);
    st_json_print(ties, &text);
    json_decref(ties);
    row.ties_json = st_text_take(&text);
    bool whole = row.ties_json && st_allocations_failed() == failed;
    st_code code = whole ? st_store_winner(run->store, &row, error) : st_fail_memory(error, "storing a winner");
    st_free(row.ties_json);
    return code;
}

// Whom the winner is explained against: the default, the best of each rival, and who was fastest in this final.
static void mark_compared(const st_run *run, run_problem *problem, int cache, const final *all)
{
    size_t standard = run_standard(run, problem);
    if (standard != RUN_NOBODY)
        run_mark_counted(problem, standard);
    for (size_t r = 0; r < run->tmpl->rival_count && cache == COLD; r++) {
        size_t rival = run_best_rival(run, problem, cache, r);
        if (rival != RUN_NOBODY)
            run_mark_counted(problem, rival);
    }
    run_mark_counted(problem, all->entrants[all->fastest].index);
}

static st_code final_of(st_run *run, run_problem *problem, int cache, bool *won, st_error *error)
{
    final all = {0};
    int winner = -1;
    bool lost = true;
    st_error why = {0};
    st_code code = ST_OK;
    for (int attempt = 0; attempt < FINAL_ATTEMPTS && lost && code == ST_OK; attempt++) {
        final_release(&all);
        all = (final){0};
        code = choose_entrants(run, problem, cache, &all, error);
        lost = false;
        if (code == ST_OK && all.count)
            code = race_entrants(run, problem, cache, &all, &lost, &why, error);
    }
    if (code == ST_OK && lost) {
        run_note(run, "%s: no winner in the %s cache, the finals broke off %d times: %s", problem->text,
                 run_cache_names[cache], FINAL_ATTEMPTS, why.what);
        final_release(&all);
        return ST_OK;
    }
    for (size_t i = 0; i < all.count && code == ST_OK; i++)
        code = run_unload(run, run->timing, &problem->candidates[all.entrants[i].index],
                          (int64_t)all.entrants[i].index, error);
    // An interval that could not be computed is NaN, and NaN would be a tie: no winner rather than a wrong one.
    unsigned long failed = st_allocations_failed();
    if (code == ST_OK && all.count) {
        find_ties(run, &all);
        code = st_allocations_failed() == failed ? ST_OK : st_fail_memory(error, "comparing the finalists");
    }
    if (code == ST_OK && all.count) {
        code = pick_winner(run, problem, &all, &winner, error);
    }
    if (code == ST_OK && winner >= 0) {
        run_mark_counted(problem, all.entrants[winner].index);
        mark_compared(run, problem, cache, &all);
        *won = true;
        code = store_winner(run, problem, cache, &all, winner, error);
    }
    final_release(&all);
    return code;
}

st_code run_finals(st_run *run, run_problem *problem, st_error *error)
{
    double began = st_clock_seconds();
    bool won = false;
    st_code code = ST_OK;
    for (int cache = 0; cache < CACHES && code == ST_OK && !run_interrupted(run); cache++) {
        if (problem->won[cache]) {
            won = true; // a resumed run has it already
            continue;
        }
        bool too_big = false; // the check of a winner leaves the worker at another size
        run_progress(run, problem, "finals", (size_t)cache, CACHES);
        code = run_set_problem(run, run->timing, &problem->problem, 0, &too_big, error);
        if (code == ST_OK)
            code = final_of(run, problem, cache, &won, error);
    }
    run->result->problems_done += won;
    run->finals_seconds += st_clock_seconds() - began;
    return code;
}
