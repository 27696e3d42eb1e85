// SPDX-License-Identifier: Apache-2.0
// Greedy iterated local search and simulated annealing: both walk from a configuration to one that differs in one
// parameter. Invariants: 1. `here` was told and did not fail; 2. an answer is judged against where the walk stands
// when it comes, so several may be open at once.
#include "tuner/base/memory.h"
#include "tuner/search_internal.h"

typedef struct walk {
    size_t here;                // ST_SEARCH_NONE: a random start is wanted
    size_t *around, around_count, around_at; // neighbours of `here` in random order, those before `at` were looked at
    size_t open;                // asked and not told
    size_t *pool;               // room for neighbours of neighbours
    double temperature;         // anneal: relative to the time
    size_t stuck;               // anneal: neighbours in a row that were all tried
    bool anneals;
} walk;

static void close_walk(void *state)
{
    walk *at = state;
    st_free(at->around);
    st_free(at->pool);
    st_free(at);
}

static st_code open_walk(st_search *search, bool anneals, st_error *error)
{
    walk *at = st_calloc(1, sizeof *at);
    if (!at)
        return st_fail_memory(error, "searching");
    search->state = at;
    at->here = ST_SEARCH_NONE;
    at->anneals = anneals;
    at->temperature = 0.5;
    at->around = st_malloc(st_search_neighbours_most(search) * sizeof *at->around);
    at->pool = st_malloc(st_search_neighbours_most(search) * sizeof *at->pool);
    return at->around && at->pool ? ST_OK : st_fail_memory(error, "searching");
}

static st_code open_local(st_search *search, st_error *error)
{
    return open_walk(search, false, error);
}

static st_code open_anneal(st_search *search, st_error *error)
{
    return open_walk(search, true, error);
}

static void stand_at(st_search *search, size_t index)
{
    walk *at = search->state;
    at->here = index;
    at->around_count = st_search_neighbours(search, index, at->anneals, at->around);
    at->around_at = 0;
    at->stuck = 0;
    st_random_shuffle(&search->random, at->around, at->around_count);
}

// --- local -----------------------------------------------------------------------------------------------------

// At a local optimum: two random steps away from the best, which keeps what is good of it; from there down again.
static size_t perturb(st_search *search)
{
    walk *at = search->state;
    enum { STEPS = 2, TRIALS = 20 };
    for (int trial = 0; trial < TRIALS && search->best != ST_SEARCH_NONE; trial++) {
        size_t index = search->best;
        for (int step = 0; step < STEPS; step++) {
            size_t count = st_search_neighbours(search, index, false, at->pool);
            if (count)
                index = at->pool[st_random_below(&search->random, count)];
        }
        if (search->mark[index] == ST_FRESH)
            return index;
    }
    return st_search_fresh(search);
}

static size_t choose_local(st_search *search)
{
    walk *at = search->state;
    if (at->here != ST_SEARCH_NONE) {
        while (at->around_at < at->around_count) {
            size_t index = at->around[at->around_at++];
            if (search->mark[index] == ST_FRESH) {
                at->open++;
                return index;
            }
            // Tried on an earlier walk: known for nothing.
            if (search->mark[index] == ST_TOLD && search->ns[index] < search->ns[at->here])
                stand_at(search, index);
        }
        if (at->open)
            return ST_SEARCH_NONE;
        at->here = ST_SEARCH_NONE;
    }
    if (at->open)
        return ST_SEARCH_NONE;
    at->open++;
    return perturb(search);
}

static st_code told_local(st_search *search, size_t index, st_error *error)
{
    (void)error;
    walk *at = search->state;
    at->open -= at->open > 0;
    double ns = search->ns[index];
    if (!isnan(ns) && (at->here == ST_SEARCH_NONE || ns < search->ns[at->here]))
        stand_at(search, index);
    return ST_OK;
}

// --- anneal ----------------------------------------------------------------------------------------------------

static const double coolest = 0.001, cooling = 0.97;

static size_t choose_anneal(st_search *search)
{
    walk *at = search->state;
    if (at->here == ST_SEARCH_NONE) {
        if (at->open)
            return ST_SEARCH_NONE;
        at->open++;
        return st_search_fresh(search);
    }
    enum { STUCK_MOST = 100 };
    while (at->around_count && at->stuck++ < STUCK_MOST) {
        size_t index = at->around[st_random_below(&search->random, at->around_count)];
        if (search->mark[index] == ST_FRESH) {
            at->open++;
            return index;
        }
        double worse = search->ns[index] / search->ns[at->here] - 1;
        if (search->mark[index] == ST_TOLD && st_random_unit(&search->random) < exp(-worse / at->temperature)) {
            size_t stuck = at->stuck;
            stand_at(search, index);
            at->stuck = stuck;
        }
    }
    if (at->open)
        return ST_SEARCH_NONE;
    at->here = ST_SEARCH_NONE; // all around is known: begun anew
    at->temperature = 0.1;
    at->open++;
    return st_search_fresh(search);
}

static st_code told_anneal(st_search *search, size_t index, st_error *error)
{
    (void)error;
    walk *at = search->state;
    at->open -= at->open > 0;
    double ns = search->ns[index];
    if (isnan(ns))
        return ST_OK;
    double worse = at->here == ST_SEARCH_NONE ? -1 : ns / search->ns[at->here] - 1;
    if (worse <= 0 || st_random_unit(&search->random) < exp(-worse / at->temperature))
        stand_at(search, index);
    at->temperature = fmax(at->temperature * cooling, coolest);
    return ST_OK;
}

static st_code next_local(st_search *search, size_t *out, st_error *error)
{
    (void)error;
    *out = choose_local(search);
    return ST_OK;
}

const st_search_operations st_search_local_operations = {
    .open = open_local, .close = close_walk, .next = next_local, .told = told_local};
static st_code next_anneal(st_search *search, size_t *out, st_error *error)
{
    (void)error;
    *out = choose_anneal(search);
    return ST_OK;
}

const st_search_operations st_search_anneal_operations = {
    .open = open_anneal, .close = close_walk, .next = next_anneal, .told = told_anneal};
