// SPDX-License-Identifier: Apache-2.0
// What made the winner faster: the way from the default to it over measured configurations, and what each change does by
// itself. Changes are seldom tried one by one (a space has constraints), so a gain must not be credited to one of several
// that were made at once.
//
// The way: a configuration keeps some of the changed parameters at the default's value: all of them the default, none the
// winner. From set to set, each a part of the one before and each faster, the way goes over as many configurations as gain
// something; so what was changed is not taken back, and what was never measured apart is one step. Of the configurations
// that keep the same and are about as fast, the one stands for them that is nearest to the one before and to the winner, so
// that little else differs.
//
// Invariants: 1. both ends of a step are measured configurations, and all that differs between them is its change; 2. the
// gains of the steps multiply to the time of the default over that of the winner; 3. the same rows give the same way:
// equals are told apart by their place; 4. a pair counts only when all other parameters are equal; 5. the two of a pair are
// compared in the furthest phase that both came to, configurations along the way on the scale of the finals
// (base/phases.h): a survivor's time is not set against one that was only screened.
#include "reports/report_internal.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SETS_MOST = 1024, CHANGES_MOST = 60 };
static const double about_as_fast = 1.03, gains_a_step = 1.01, gains_something = 1.002;

// --- what was measured ---------------------------------------------------------------------------------------------

typedef struct kept_set { // of changed parameters that a configuration has at the default's value; bit: place in `changed`
    uint64_t bits;
    double ns;     // of the fastest that keeps just these
    size_t steps;  // of the best way to it, those that gain
    double worth;  // sum of the logs of ns along that way: lower is earlier gain
    size_t before; // the set before on that way; SIZE_MAX: none
    size_t kept;   // number of bits
} kept_set;

typedef struct way {
    const st_reported_session *session;
    const st_reported_problem *problem;
    int cache;
    st_reported_result *result;
    size_t changed[CHANGES_MOST], changes; // parameters
    uint64_t *bits;                        // of each candidate
    kept_set *sets;
    size_t count;
} way;

static double time_of(const way *of, size_t candidate)
{
    const st_reported_result *result = of->result;
    double ns = of->problem->candidates[candidate].times[of->cache].comparable_ns;
    if ((int)candidate == result->winner)
        return result->winner_ns;
    if ((int)candidate == result->standard)
        return result->standard_ns;
    // What a few samples put before the winner is not faster than it: the finals have the last word.
    return ns > 0 ? fmax(ns, result->winner_ns) : NAN;
}

static int by_bits(const void *a, const void *b)
{
    const kept_set *x = a, *y = b;
    if (x->kept != y->kept)
        return x->kept > y->kept ? -1 : 1;
    return (x->bits > y->bits) - (x->bits < y->bits);
}

static int by_time_then_bits(const void *a, const void *b)
{
    const kept_set *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? -1 : 1) : (x->bits > y->bits) - (x->bits < y->bits);
}

static size_t bits_in(uint64_t bits)
{
    size_t count = 0;
    for (; bits; bits &= bits - 1)
        count++;
    return count;
}

static uint64_t bits_of(const way *of, size_t candidate)
{
    const uint16_t *values = of->problem->candidates[candidate].values;
    const uint16_t *standard = of->problem->candidates[of->result->standard].values;
    uint64_t bits = 0;
    for (size_t i = 0; i < of->changes && i < CHANGES_MOST; i++)
        bits |= (uint64_t)(values[of->changed[i]] == standard[of->changed[i]]) << i;
    return bits;
}

// One set for all configurations with the same bits, with the best time; the sets of default and winner are the first and
// the last.
static bool make_sets(way *of)
{
    size_t all = of->problem->count;
    of->bits = st_malloc(all * sizeof *of->bits);
    of->sets = st_calloc(all, sizeof *of->sets);
    if (!of->bits || !of->sets)
        return false;
    for (size_t c = 0; c < all; c++) {
        double ns = time_of(of, c);
        of->bits[c] = bits_of(of, c);
        if (!(ns > 0))
            continue;
        kept_set *made = &of->sets[of->count++];
        *made = (kept_set){.bits = of->bits[c], .ns = ns, .kept = bits_in(of->bits[c]), .before = SIZE_MAX};
    }
    qsort(of->sets, of->count, sizeof *of->sets, by_bits);
    size_t sets = 0;
    for (size_t i = 0; i < of->count; i++)
        if (sets && of->sets[sets - 1].bits == of->sets[i].bits)
            of->sets[sets - 1].ns = fmin(of->sets[sets - 1].ns, of->sets[i].ns);
        else
            of->sets[sets++] = of->sets[i];
    of->count = sets;
    if (sets > SETS_MOST) { // the fastest tell most; the ends belong to it
        qsort(of->sets + 1, sets - 2, sizeof *of->sets, by_time_then_bits);
        of->sets[SETS_MOST - 1] = of->sets[sets - 1];
        of->count = SETS_MOST;
        qsort(of->sets, of->count, sizeof *of->sets, by_bits);
    }
    return true;
}

// --- the way -------------------------------------------------------------------------------------------------------

// The sets stand by how much they keep: what comes before one is known when it is reached.
static void find_way(way *of)
{
    of->sets[0].ns = of->result->standard_ns;
    for (size_t i = 0; i < of->count; i++) {
        kept_set *set = &of->sets[i];
        for (size_t j = 0; j < i; j++) {
            const kept_set *from = &of->sets[j];
            if ((from->bits & set->bits) != set->bits || (j && from->before == SIZE_MAX) || from->ns < set->ns)
                continue;
            size_t steps = from->steps + (from->ns > set->ns * gains_a_step);
            double worth = from->worth + log(set->ns);
            if (set->before != SIZE_MAX && (steps < set->steps || (steps == set->steps && worth >= set->worth)))
                continue;
            set->steps = steps;
            set->worth = worth;
            set->before = j;
        }
    }
}

static size_t differences(const way *of, size_t a, size_t b)
{
    const uint16_t *x = of->problem->candidates[a].values, *y = of->problem->candidates[b].values;
    size_t count = 0;
    for (size_t i = 0; i < of->session->parameter_count; i++)
        count += x[i] != y[i];
    return count;
}

// The configuration that stands for a set on the way from `before` to the winner.
static size_t nearest(const way *of, const kept_set *set, size_t before)
{
    size_t best = before, least = SIZE_MAX;
    for (size_t c = 0; c < of->problem->count; c++) {
        double ns = time_of(of, c);
        if (of->bits[c] != set->bits || !(ns <= set->ns * about_as_fast))
            continue;
        size_t differ = differences(of, before, c) + differences(of, c, (size_t)of->result->winner);
        if (differ > least || (differ == least && !(ns < time_of(of, best))))
            continue;
        best = c;
        least = differ;
    }
    return best;
}

static bool add_step(way *of, size_t before, size_t after)
{
    st_reported_result *result = of->result;
    if (before == after)
        return true;
    st_reported_step *step = REPORT_ADD(result->steps, result->step_count, result->step_capacity);
    if (!step)
        return false;
    *step = (st_reported_step){(int)before, (int)after, time_of(of, before) / time_of(of, after),
                               differences(of, before, after), 0, 0};
    return true;
}

// Whether a configuration has some of a step's changes and not all, and nothing else.
static bool is_between(const way *of, const st_reported_step *step, size_t candidate)
{
    const st_reported_candidate *all = of->problem->candidates;
    const uint16_t *x = all[step->before].values, *y = all[step->after].values, *c = all[candidate].values;
    if ((int)candidate == step->before || (int)candidate == step->after || !(time_of(of, candidate) > 0))
        return false;
    for (size_t i = 0; i < of->session->parameter_count; i++)
        if (c[i] != x[i] && c[i] != y[i])
            return false;
    return true;
}

// The configuration between the ends of a step that makes two steps of it, both of which gain: with the fewest changes, of
// these the fastest. SIZE_MAX: there is none. Counts what lies between.
static size_t dividing(const way *of, st_reported_step *step)
{
    double from = time_of(of, (size_t)step->before), to = time_of(of, (size_t)step->after);
    size_t best = SIZE_MAX, fewest = SIZE_MAX;
    step->between = 0;
    for (size_t c = 0; c < of->problem->count; c++) {
        if (!is_between(of, step, c))
            continue;
        step->between++;
        double ns = time_of(of, c);
        size_t differ = differences(of, (size_t)step->before, c);
        if (!(from > ns * gains_something) || !(ns > to * gains_something) || differ > fewest ||
            (differ == fewest && !(ns < time_of(of, best))))
            continue;
        best = c;
        fewest = differ;
    }
    return best;
}

static bool divide(way *of)
{
    st_reported_result *result = of->result;
    for (size_t i = 0; i < result->step_count;) {
        st_reported_step *step = &result->steps[i];
        size_t at = step->differ > 1 ? dividing(of, step) : SIZE_MAX, after = (size_t)step->after;
        if (at == SIZE_MAX) {
            i++;
            continue;
        }
        if (!add_step(of, at, after)) // at the end, from where it is moved to its place
            return false;
        st_reported_step made = result->steps[result->step_count - 1];
        memmove(&result->steps[i + 2], &result->steps[i + 1], (result->step_count - i - 2) * sizeof made);
        result->steps[i + 1] = made;
        step = &result->steps[i];
        step->after = (int)at;
        step->gain = time_of(of, (size_t)step->before) / time_of(of, at);
        step->differ = differences(of, (size_t)step->before, at);
    }
    return true;
}

static bool walk(way *of)
{
    size_t path[CHANGES_MOST + 1], length = 0, at = (size_t)of->result->standard;
    bool fine = true;
    // Of all that keep everything only the default counts: what else differs there, the winner does not keep either.
    for (size_t i = of->sets[of->count - 1].before; i != 0 && i != SIZE_MAX && length < CHANGES_MOST; i = of->sets[i].before)
        path[length++] = i;
    while (length-- > 0 && fine) {
        size_t next = nearest(of, &of->sets[path[length]], at);
        // What gains nothing is part of the next step.
        if (!(time_of(of, at) > time_of(of, next) * gains_something))
            continue;
        fine = add_step(of, at, next);
        at = next;
    }
    return fine && add_step(of, at, (size_t)of->result->winner);
}

st_code report_steps(const st_reported_session *session, const st_reported_problem *problem, int cache,
                     st_reported_result *result, st_error *error)
{
    way of = {.session = session, .problem = problem, .cache = cache, .result = result};
    if (!result->change_count || !(result->standard_ns > 0) || !(result->winner_ns > 0))
        return ST_OK;
    for (size_t i = 0; i < result->change_count && i < CHANGES_MOST; i++)
        of.changed[of.changes++] = (size_t)result->changes[i].parameter;
    bool fine = make_sets(&of);
    if (fine && of.count) {
        find_way(&of);
        fine = walk(&of) && divide(&of);
    }
    st_free(of.bits);
    st_free(of.sets);
    return fine ? ST_OK : st_fail_memory(error, "finding what made the winner faster");
}

// --- one change by itself --------------------------------------------------------------------------------------------

typedef struct side { // of a pair
    uint64_t rest;    // hash of all other values
    uint32_t candidate;
    bool changed;     // has the winner's value
} side;

static int by_rest(const void *a, const void *b)
{
    const side *x = a, *y = b;
    if (x->rest != y->rest)
        return x->rest < y->rest ? -1 : 1;
    return x->changed != y->changed ? x->changed - y->changed : (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

static uint64_t mixed(size_t parameter, uint16_t value)
{
    uint64_t x = ((uint64_t)parameter << 16 | value) + 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static bool equal_but(const st_reported_session *session, const uint16_t *a, const uint16_t *b, size_t parameter)
{
    for (size_t i = 0; i < session->parameter_count; i++)
        if (i != parameter && a[i] != b[i])
            return false;
    return true;
}

static size_t collect(const st_reported_session *session, const st_reported_problem *problem, int cache,
                      size_t parameter, uint16_t from, uint16_t to, side *sides)
{
    size_t count = 0;
    for (size_t c = 0; c < problem->count; c++) {
        const st_reported_candidate *one = &problem->candidates[c];
        uint16_t value = one->values[parameter];
        if (!(one->times[cache].comparable_ns > 0) || (value != from && value != to))
            continue;
        uint64_t rest = 0;
        for (size_t i = 0; i < session->parameter_count; i++)
            rest += i == parameter ? 0 : mixed(i, one->values[i]);
        sides[count++] = (side){rest, (uint32_t)c, value == to};
    }
    return count;
}

// Sides [0, count) by rest; a pair stands together. `gains` has room for half as many.
static void weigh_pairs(const st_reported_session *session, const st_reported_problem *problem, int cache,
                        const st_reported_result *result, const side *sides, size_t count, double *gains, st_reported_change *change)
{
    for (size_t i = 0; i + 1 < count; i++) {
        const st_reported_candidate *before = &problem->candidates[sides[i].candidate];
        const st_reported_candidate *after = &problem->candidates[sides[i + 1].candidate];
        if (sides[i].changed || !sides[i + 1].changed || sides[i].rest != sides[i + 1].rest ||
            !equal_but(session, before->values, after->values, (size_t)change->parameter))
            continue;
        double gain = st_phase_ratio(&result->scale, &before->times[cache].phases, &after->times[cache].phases);
        if (isfinite(gain))
            gains[change->pairs++] = gain;
    }
    if (change->pairs)
        change->alone = (st_interval){st_minimum(gains, change->pairs), st_median(gains, change->pairs),
                                      st_quantile(gains, change->pairs, 1)};
}

st_code report_pairs(const st_reported_session *session, const st_reported_problem *problem, int cache,
                     st_reported_result *result, st_error *error)
{
    if (!result->change_count)
        return ST_OK;
    side *sides = st_malloc((problem->count + 1) * sizeof *sides);
    double *gains = st_malloc((problem->count + 1) * sizeof *gains);
    bool fine = sides && gains;
    for (size_t i = 0; i < result->change_count && fine; i++) {
        st_reported_change *change = &result->changes[i];
        size_t parameter = (size_t)change->parameter;
        size_t count = collect(session, problem, cache, parameter, problem->candidates[result->standard].values[parameter],
                               problem->candidates[result->winner].values[parameter], sides);
        if (count)
            qsort(sides, count, sizeof *sides, by_rest);
        weigh_pairs(session, problem, cache, result, sides, count, gains, change);
    }
    st_free(sides);
    st_free(gains);
    return fine ? ST_OK : st_fail_memory(error, "finding what each change does");
}
