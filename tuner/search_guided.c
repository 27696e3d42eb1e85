// SPDX-License-Identifier: Apache-2.0
// The guided strategy. What it expects of a configuration has three sources, each of which may be missing: history
// (options.expected), the advice on profiles (directions on roles), and a model that learns from the answers what the
// first two leave unexplained. What lies far from the best counts by less than it says: the search is for the top.
//
//   designing → modelling ⇄ abstaining → stopped
//
// Invariants: 1. while fewer than DESIGN configurations were asked (with history: 1), the next one shows values that
// were shown least; 2. the model decides while its cross-validated ranking is better than `trusted`, else the best's
// neighbours are asked in turn with it, those first that history and advice expect most of; 3. configurations that are
// open count in the model with what it believes of them, so several can be asked at once; 4. failures make
// configurations near them unlikely, and never end the search; 5. from NEAR_FROM answers on, every other configuration
// is a neighbour of one of the fastest: a model that is smooth misses peaks.
#include "tuner/base/memory.h"
#include "tuner/search_model.h"

#include <stdio.h>
#include <string.h>

enum { ROWS_MOST = 12000, DESIGN = 3, NEAR_FROM = 20, NEAR_TOPS = 3, DULL_MOST = 24, STOP_FROM = 24, ALIKE_FROM = 48, ADVICE_MOST = 6 };
static const double bend = 0.3;     // of the logarithm of times: from here on differences count less
static const double trusted = 0.2;  // least rank correlation of the model
static const double refit_at = 1.15;
static const double pulled = 0.2;   // logarithm of time that a full pull over a role's whole range is taken to bring
static const double dull_below = 0.25; // of the noise: such a gain is not worth a trial
static const double explored = 0.7;     // times the deviation: less trusts the model's mean more
static const double alike = 4;          // times the noise: of most answers so near to the best, none is better
static const double at_limit = 1.02;   // times the limit: nothing is left to be found

typedef struct guided {
    st_features features;
    size_t *rows, row_count;   // configurations that the model speaks of
    st_model *model;
    size_t *observed, count;   // in the order in which the model got them
    double *z;                 // [observed]: what is to be explained
    double *believed;          // [observed]: what the model said when it was asked; NaN: it was not asked
    double *offset;            // [configurations]: expected without the model
    double *term;              // [configurations]: one part of it
    double *mean, *deviation;  // [rows]
    float *valid, *invalid;    // [rows]: weights of answers nearby
    size_t *shown, value_most; // [parameters × value_most]: how often a value was asked
    size_t *around;
    unsigned char *near;       // [configurations]: room
    size_t fitted;             // answers at the last fit
    double trust;              // cross-validated ranking; NaN: not yet
    bool stale;                // the model has not seen all
    double gain;               // expected improvement of what was chosen last, as a share of the time
    size_t dull;               // choices in a row whose gain was below the noise
    // Advice, newest last, and whose profile is wanted.
    struct { size_t index; st_search_advice advice; } advice[ADVICE_MOST];
    size_t advice_count, wanted, profiled_best;
    char words[160];
} guided;

static void close_guided(void *state)
{
    guided *at = state;
    st_features_release(&at->features);
    st_model_close(at->model);
    st_free(at->rows);
    st_free(at->observed);
    st_free(at->z);
    st_free(at->believed);
    st_free(at->offset);
    st_free(at->term);
    st_free(at->mean);
    st_free(at->deviation);
    st_free(at->valid);
    st_free(at->invalid);
    st_free(at->shown);
    st_free(at->around);
    st_free(at->near);
    st_free(at);
}

static st_code make_room(st_search *search, guided *at, st_error *error)
{
    size_t count = search->space->count, rows = at->row_count + 1;
    at->rows = st_malloc(rows * sizeof *at->rows);
    at->observed = st_malloc(ST_MODEL_MOST * sizeof *at->observed);
    at->z = st_malloc(ST_MODEL_MOST * sizeof *at->z);
    at->believed = st_malloc(ST_MODEL_MOST * sizeof *at->believed);
    at->offset = st_calloc(count + 1, sizeof *at->offset);
    at->term = st_calloc(count + 1, sizeof *at->term);
    at->mean = st_malloc(rows * sizeof *at->mean);
    at->deviation = st_malloc(rows * sizeof *at->deviation);
    at->valid = st_calloc(rows, sizeof *at->valid);
    at->invalid = st_calloc(rows, sizeof *at->invalid);
    at->shown = st_calloc(search->space->parameter_count * at->value_most + 1, sizeof *at->shown);
    at->around = st_malloc(st_search_neighbours_most(search) * sizeof *at->around);
    at->near = st_malloc(count + 1);
    return at->rows && at->observed && at->z && at->believed && at->offset && at->term && at->mean && at->deviation && at->valid && at->invalid &&
                   at->shown && at->around && at->near
               ? ST_OK
               : st_fail_memory(error, "searching");
}

// --- what is expected without the model --------------------------------------------------------------------------

static double bent(double logarithm)
{
    return bend * log1p(fmax(logarithm, 0) / bend);
}

// How much of what was expected came true: the slope of the answers over it, drawn to 1 where there are few. `weight`:
// how hard it is drawn.
static double holds(const st_search *search, const double *expected, double weight)
{
    double n = 0, ee = 0, ez = 0, e = 0, z = 0;
    for (size_t i = 0; i < search->space->count; i++) {
        if (search->mark[i] != ST_TOLD || isnan(search->ns[i]) || isnan(expected[i]))
            continue;
        double y = bent(log(search->ns[i] / search->ns[search->best]));
        n++;
        e += expected[i];
        z += y;
        ee += expected[i] * expected[i];
        ez += expected[i] * y;
    }
    double slope = n > 0 ? (ez - e * z / n + weight) / (ee - e * e / n + weight) : 1;
    return fmin(fmax(slope, 0), 1);
}

// Adds what history expects; of what it does not know, the middle of what it does.
static void expect_history(st_search *search, guided *at)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < search->space->count; i++) {
        at->term[i] = isnan(search->options.expected[i]) ? NAN : bent(search->options.expected[i]);
        if (!isnan(at->term[i])) {
            sum += at->term[i];
            known++;
        }
    }
    double slope = holds(search, at->term, 0.1), middle = known ? sum / (double)known : 0;
    for (size_t i = 0; i < search->space->count; i++)
        at->offset[i] += slope * (isnan(at->term[i]) ? middle : at->term[i]);
}

// The advice on the fastest of the profiled ones: towards where it points a configuration is expected to be faster,
// by as much as it lies further on in the roles that are pulled. (Advice to take another way, where values have no
// order, says nothing of which: following it gained nothing on recorded spaces.)
static void expect_advice(st_search *search, guided *at)
{
    const st_search_advice *advice = NULL;
    size_t from = ST_SEARCH_NONE;
    for (size_t i = 0; i < at->advice_count; i++)
        if (from == ST_SEARCH_NONE || search->ns[at->advice[i].index] <= search->ns[from]) {
            from = at->advice[i].index;
            advice = &at->advice[i].advice;
        }
    if (!advice || advice->leave)
        return;
    const float *here = at->features.roles + from * ST_SEARCH_ROLES;
    for (size_t i = 0; i < search->space->count; i++) {
        const float *there = at->features.roles + i * ST_SEARCH_ROLES;
        double sum = 0;
        for (int role = 0; role < ST_SEARCH_ROLES; role++)
            sum += advice->pull[role] * (double)(there[role] - here[role]);
        at->term[i] = -pulled * fmin(fmax(sum, -1), 1);
    }
    double slope = holds(search, at->term, 0.02);
    for (size_t i = 0; i < search->space->count; i++)
        at->offset[i] += slope * at->term[i];
}

static void expect(st_search *search, guided *at)
{
    memset(at->offset, 0, search->space->count * sizeof *at->offset);
    if (search->options.expected)
        expect_history(search, at);
    if (!search->options.without_stalls)
        expect_advice(search, at);
}

// --- the model ----------------------------------------------------------------------------------------------------

// What is to be explained of each observation; NaN of those that are open. Failures are as slow as the slowest.
static void fill_unexplained(st_search *search, guided *at)
{
    double slowest = 0;
    for (int failed = 0; failed < 2; failed++)
        for (size_t i = 0; i < at->count; i++) {
            size_t index = at->observed[i];
            if (search->mark[index] != ST_TOLD)
                at->z[i] = NAN;
            else if (isnan(search->ns[index]) == failed) {
                double z = failed ? slowest : bent(log(search->ns[index] / search->ns[search->best]));
                slowest = fmax(slowest, z);
                at->z[i] = z - at->offset[index];
            }
        }
}

static st_code consult(st_search *search, guided *at, st_error *error)
{
    st_code code = ST_OK;
    double sum = 0, known = 0;
    expect(search, at);
    fill_unexplained(search, at);
    if (search->told_count >= 3 && (double)search->told_count >= (double)at->fitted * refit_at) {
        code = st_model_fit(at->model, at->z, error);
        at->fitted = search->told_count;
        at->trust = code == ST_OK ? st_model_cross_validated(at->model, at->z) : NAN;
    }
    for (size_t i = 0; i < at->count; i++)
        if (!isnan(at->z[i])) {
            sum += at->z[i];
            known++;
        }
    for (size_t i = 0; i < at->count; i++)
        if (isnan(at->z[i])) // open: what is believed, else the middle
            at->z[i] = !isnan(at->believed[i]) ? at->believed[i] : known > 0 ? sum / known : 0;
    if (code == ST_OK)
        code = st_model_predict(at->model, at->z, at->mean, at->deviation, error);
    at->stale = code != ST_OK;
    return code;
}

// That a configuration works at all, by what lies near it.
static double chance(const guided *at, size_t row)
{
    double valid = 1 + (double)at->valid[row], invalid = 0.03 + (double)at->invalid[row];
    return valid / (valid + invalid);
}

static double expected_improvement(double mean, double deviation)
{
    double u = -mean / deviation; // over the incumbent, which is at 0
    if (u < -8)
        return 0;
    return -mean * 0.5 * erfc(-u * 0.7071067811865476) + deviation * exp(-u * u / 2) * 0.3989422804014327;
}

// Marks the fresh neighbours of the fastest few; false: there are none.
static bool mark_near(st_search *search, guided *at)
{
    double before = 0;
    bool any = false;
    memset(at->near, 0, search->space->count);
    for (int top = 0; top < NEAR_TOPS; top++) {
        size_t found = ST_SEARCH_NONE;
        for (size_t i = 0; i < at->count; i++) {
            double ns = search->ns[at->observed[i]];
            if (ns > before && (found == ST_SEARCH_NONE || ns < search->ns[found]))
                found = at->observed[i];
        }
        if (found == ST_SEARCH_NONE)
            break;
        before = search->ns[found];
        size_t count = st_search_neighbours(search, found, false, at->around);
        for (size_t i = 0; i < count; i++) {
            at->near[at->around[i]] = 1;
            any = any || search->mark[at->around[i]] == ST_FRESH;
        }
    }
    return any;
}

// The best of what was told, by the model: the fastest answer of many is one whose noise was lucky.
static double incumbent_of(const st_search *search, const guided *at)
{
    double incumbent = INFINITY;
    for (size_t row = 0; row < at->row_count; row++) {
        size_t index = at->rows[row];
        if (search->mark[index] == ST_TOLD && !isnan(search->ns[index]))
            incumbent = fmin(incumbent, at->mean[row] + at->offset[index]);
    }
    return isinf(incumbent) ? 0 : fmax(incumbent, 0);
}

// The greatest expected improvement; every other time from NEAR_FROM on, of what lies near the fastest the one that is
// believed fastest (a model that is smooth thinks itself sure where it misses a peak).
static size_t most_promising(st_search *search, guided *at, double *believed)
{
    bool look_near = search->asked_count >= NEAR_FROM && search->asked_count % 2 == 0 && mark_near(search, at);
    double incumbent = incumbent_of(search, at), fastest = INFINITY, near_mean = NAN;
    size_t best = ST_SEARCH_NONE, near = ST_SEARCH_NONE;
    at->gain = -1;
    for (size_t row = 0; row < at->row_count; row++) {
        size_t index = at->rows[row];
        if (search->mark[index] != ST_FRESH)
            continue;
        double mean = at->mean[row] + at->offset[index];
        double gain = chance(at, row) * expected_improvement(mean - incumbent, explored * at->deviation[row]);
        if (gain > at->gain) {
            at->gain = gain;
            best = index;
            *believed = at->mean[row];
        }
        if (look_near && at->near[index] && mean < fastest) {
            fastest = mean;
            near = index;
            near_mean = at->mean[row];
        }
    }
    if (near == ST_SEARCH_NONE)
        return best;
    *believed = near_mean;
    return near;
}

// --- without the model --------------------------------------------------------------------------------------------

// Of some fresh ones that whose values were shown least, those of weight first, and which history expects most of.
static size_t least_shown(st_search *search, guided *at)
{
    enum { LOOKED_AT = 300 };
    size_t best = ST_SEARCH_NONE, seen = 0;
    double most = -INFINITY;
    for (size_t row = 0; row < at->row_count && seen < LOOKED_AT; row++) {
        size_t index = at->rows[row];
        if (search->mark[index] != ST_FRESH)
            continue;
        seen++;
        double value = -10 * at->offset[index];
        for (size_t p = 0; p < search->space->parameter_count; p++)
            value += at->features.parameter_weight[p] /
                     (1.0 + (double)at->shown[p * at->value_most + st_search_values(search, index)[p]]);
        if (value > most) {
            most = value;
            best = index;
        }
    }
    return best;
}

static size_t best_neighbour(st_search *search, guided *at)
{
    if (search->best == ST_SEARCH_NONE)
        return st_search_fresh(search);
    size_t count = st_search_neighbours(search, search->best, false, at->around), best = ST_SEARCH_NONE;
    st_random_shuffle(&search->random, at->around, count);
    for (size_t i = 0; i < count; i++)
        if (search->mark[at->around[i]] == ST_FRESH &&
            (best == ST_SEARCH_NONE || at->offset[at->around[i]] < at->offset[best]))
            best = at->around[i];
    return best == ST_SEARCH_NONE ? st_search_fresh(search) : best;
}

// --- as a strategy ------------------------------------------------------------------------------------------------

static st_code observe(st_search *search, guided *at, size_t index, double believed, st_error *error)
{
    for (size_t p = 0; p < search->space->parameter_count; p++)
        at->shown[p * at->value_most + st_search_values(search, index)[p]]++;
    at->stale = true;
    if (search->options.without_model || at->count == ST_MODEL_MOST)
        return ST_OK;
    st_code code = st_model_add(at->model, index, error);
    at->believed[at->count] = believed;
    at->observed[at->count] = index;
    at->count += code == ST_OK;
    return code;
}

static st_code open_guided(st_search *search, st_error *error)
{
    guided *at = st_calloc(1, sizeof *at);
    if (!at)
        return st_fail_memory(error, "searching");
    search->state = at;
    at->wanted = at->profiled_best = ST_SEARCH_NONE;
    at->trust = NAN;
    at->gain = INFINITY;
    at->stale = true;
    at->row_count = search->space->count < ROWS_MOST ? search->space->count : ROWS_MOST;
    for (size_t p = 0; p < search->space->parameter_count; p++)
        if (search->space->parameters[p].value_count > at->value_most)
            at->value_most = search->space->parameters[p].value_count;
    st_code code = make_room(search, at, error);
    if (code != ST_OK)
        return code;
    memcpy(at->rows, search->order, at->row_count * sizeof *at->rows); // random, with the default
    code = st_features_make(search->space, &at->features, error);
    if (code == ST_OK)
        code = st_model_open(&at->features, at->rows, at->row_count, &at->model, error);
    return code;
}

static st_code next_guided(st_search *search, size_t *out, st_error *error)
{
    guided *at = search->state;
    st_code code = ST_OK;
    size_t design = search->options.expected ? 1 : DESIGN;
    bool models = !search->options.without_model && search->asked_count >= design && search->best != ST_SEARCH_NONE;
    at->wanted = ST_SEARCH_NONE;
    if (models && at->stale)
        code = consult(search, at, error);
    else if (at->stale)
        expect(search, at);
    if (code != ST_OK)
        return code;
    double believed = NAN;
    bool abstains = search->told_count >= 8 && !(at->trust >= trusted) && search->asked_count % 2;
    *out = search->asked_count < design                                                ? least_shown(search, at)
           : models && !abstains && at->count < ST_MODEL_MOST ? most_promising(search, at, &believed)
                                                              : best_neighbour(search, at);
    return *out == ST_SEARCH_NONE ? ST_OK : observe(search, at, *out, believed, error);
}

// A failure makes unlikely what is near it, a success likely.
static void learn_validity(st_search *search, guided *at, size_t index)
{
    bool failed = isnan(search->ns[index]);
    for (size_t row = 0; row < at->row_count; row++) {
        double sum = 0;
        for (size_t f = 0; f < at->features.width; f++)
            sum += st_kernel_distance(&at->features, index, at->rows[row], f);
        *(failed ? &at->invalid[row] : &at->valid[row]) += (float)exp(-3 * sum);
    }
}

static st_code told_guided(st_search *search, size_t index, st_error *error)
{
    guided *at = search->state;
    bool shown = index != search->space->standard || at->count;
    st_code code = shown ? ST_OK : observe(search, at, index, NAN, error); // search.c asks for the default by itself
    at->stale = true;
    if (search->failed_count)
        learn_validity(search, at, index);
    // The profile of a new best says where to go from it; of one that is hardly faster it says the same again.
    if (!search->options.without_stalls && search->best == index && at->advice_count < ADVICE_MOST &&
        (at->profiled_best == ST_SEARCH_NONE || search->ns[index] < 0.97 * search->ns[at->profiled_best]))
        at->wanted = index;
    at->dull = at->gain < dull_below * search->options.noise ? at->dull + 1 : 0;
    return code;
}

static size_t wants_profile(const st_search *search)
{
    const guided *at = search->state;
    return at->wanted;
}

static void profiled(st_search *search, size_t index, const st_search_advice *advice)
{
    guided *at = search->state;
    at->wanted = ST_SEARCH_NONE;
    at->profiled_best = index;
    if (!advice || at->advice_count == ADVICE_MOST)
        return;
    at->advice[at->advice_count].index = index;
    at->advice[at->advice_count++].advice = *advice;
    at->stale = true;
}

// Nine answers of ten are within the noise of the best: there is nothing to rank, and little to be found.
static bool all_alike(const st_search *search)
{
    double near = search->ns[search->best] * (1 + alike * search->options.noise);
    size_t count = 0;
    for (size_t i = 0; i < search->space->count; i++)
        count += search->ns[i] <= near;
    return search->told_count >= ALIKE_FROM && 10 * count >= 9 * (search->told_count - search->failed_count);
}

static const char *stops_guided(const st_search *search)
{
    const guided *at = search->state;
    if (search->best == ST_SEARCH_NONE)
        return NULL;
    if (search->ns[search->best] <= search->options.limit_ns * at_limit)
        return "the best runs at the measured limit of the memory";
    if (all_alike(search))
        return "what was tried is alike, but for the noise";
    return search->told_count >= STOP_FROM && at->dull >= DULL_MOST && at->trust >= trusted
               ? "what another one is expected to bring is less than the noise"
               : NULL;
}

static const char *says_guided(st_search *search)
{
    guided *at = search->state;
    if (isnan(at->trust))
        snprintf(at->words, sizeof at->words, "%zu answer%s: no model yet", search->told_count,
                 search->told_count == 1 ? "" : "s");
    else
        snprintf(at->words, sizeof at->words, "%zu answers: %s (rank correlation %.2f of answers that it was not shown)",
                 search->told_count, at->trust >= trusted ? "a model" : "a model that abstains every other time",
                 at->trust);
    return at->words;
}

const st_search_operations st_search_guided_operations = {
    .open = open_guided, .close = close_guided, .next = next_guided, .told = told_guided,
    .wants_profile = wants_profile, .profiled = profiled, .stops = stops_guided, .says = says_guided};
