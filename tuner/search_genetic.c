// SPDX-License-Identifier: Apache-2.0
// A genetic algorithm: a generation of configurations, of which the fast ones have children that mix their values.
// Invariants: 1. every member of a generation is a configuration of the space; 2. the next generation is bred when
// all of this one are told; members that were tried before cost nothing.
#include "tuner/base/memory.h"
#include "tuner/search_internal.h"

#include <stdlib.h>
#include <string.h>

enum { POPULATION = 20, BARREN_MOST = 50 };

typedef struct member {
    size_t index;
    double ns;
} member;

typedef struct genetic {
    size_t members[POPULATION];
    size_t count, at; // those before `at` were asked, in this generation or before
    size_t *around;
} genetic;

static void close_genetic(void *state)
{
    genetic *pool = state;
    st_free(pool->around);
    st_free(pool);
}

static st_code open_genetic(st_search *search, st_error *error)
{
    genetic *pool = st_calloc(1, sizeof *pool);
    if (!pool)
        return st_fail_memory(error, "searching");
    search->state = pool;
    pool->around = st_malloc(st_search_neighbours_most(search) * sizeof *pool->around);
    if (!pool->around)
        return st_fail_memory(error, "searching");
    for (size_t i = 0; i < search->space->count && pool->count < POPULATION; i++)
        pool->members[pool->count++] = search->order[i];
    return ST_OK;
}

static int by_time(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (isnan(x->ns) != isnan(y->ns))
        return isnan(x->ns) ? 1 : -1;
    if (x->ns != y->ns && !isnan(x->ns))
        return x->ns < y->ns ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

// The faster of the ranked, the likelier: the first has twice the chance of the middle one.
static size_t choose_parent(st_random *random, const member *ranked, size_t count)
{
    size_t a = st_random_below(random, count), b = st_random_below(random, count);
    return ranked[a < b ? a : b].index;
}

// Each value is of one parent or the other; some children also get a neighbour's value. A child that the space does
// not have gives way to a neighbour of a parent.
static size_t breed_one(st_search *search, size_t mother, size_t father)
{
    enum { TRIALS = 10 };
    genetic *pool = search->state;
    uint16_t values[ST_SEARCH_PARAMETERS];
    size_t parameters = search->space->parameter_count, child = ST_SEARCH_NONE;
    for (int trial = 0; trial < TRIALS && child == ST_SEARCH_NONE; trial++) {
        for (size_t p = 0; p < parameters; p++)
            values[p] = st_search_values(search, st_random_below(&search->random, 2) ? mother : father)[p];
        child = st_search_find(search, values);
    }
    bool mutates = child == ST_SEARCH_NONE || search->mark[child] != ST_FRESH ||
                   st_random_below(&search->random, 5) == 0;
    child = child == ST_SEARCH_NONE ? mother : child;
    size_t around = mutates ? st_search_neighbours(search, child, false, pool->around) : 0;
    return around ? pool->around[st_random_below(&search->random, around)] : child;
}

static void breed(st_search *search)
{
    genetic *pool = search->state;
    member ranked[POPULATION];
    size_t next[POPULATION];
    for (size_t i = 0; i < pool->count; i++)
        ranked[i] = (member){pool->members[i], search->ns[pool->members[i]]};
    qsort(ranked, pool->count, sizeof *ranked, by_time);
    for (size_t i = 0; i < pool->count; i++)
        next[i] = i < 2 ? ranked[i].index // the two best live on
                        : breed_one(search, choose_parent(&search->random, ranked, pool->count),
                                    choose_parent(&search->random, ranked, pool->count));
    memcpy(pool->members, next, pool->count * sizeof *next);
    pool->at = 0;
}

static size_t choose_genetic(st_search *search)
{
    genetic *pool = search->state;
    for (int barren = 0; barren < BARREN_MOST; barren++) {
        while (pool->at < pool->count) {
            size_t index = pool->members[pool->at++];
            if (search->mark[index] == ST_FRESH)
                return index;
        }
        if (search->asked_count != search->told_count)
            return ST_SEARCH_NONE;
        breed(search);
    }
    // All that these have together was tried: half of them give way to new ones.
    for (size_t i = pool->count / 2; i < pool->count; i++)
        pool->members[i] = search->order[st_random_below(&search->random, search->space->count)];
    pool->at = 0;
    return st_search_fresh(search);
}

static st_code next_genetic(st_search *search, size_t *out, st_error *error)
{
    (void)error;
    *out = choose_genetic(search);
    return ST_OK;
}

const st_search_operations st_search_genetic_operations = {
    .open = open_genetic, .close = close_genetic, .next = next_genetic};
