// SPDX-License-Identifier: Apache-2.0
// The table of strategies. To add one: a row here, its functions in a search_*.c, a line in docs/search.md.
#include "tuner/search_internal.h"

#include <string.h>

static const st_strategy_row rows[] = {
    {"guided", "stall profiles, a model of this run, and history choose what comes next, and when to stop", true, true,
     &st_search_guided_operations},
    {"exhaustive", "every allowed configuration, in a seeded random order, the default first", false, false,
     &st_search_random_operations},
    {"random", "a seeded random sample of the allowed configurations (--budget says how many)", false, false,
     &st_search_random_operations},
    {"local", "greedy local search from a random start, begun anew near the best", true, false, &st_search_local_operations},
    {"genetic", "a genetic algorithm: generations of 20 that mix the values of the fast ones", true, false,
     &st_search_genetic_operations},
    {"anneal", "simulated annealing: a walk that takes worse steps less and less", true, false, &st_search_anneal_operations},
};

const st_strategy_row *st_strategies(size_t *count)
{
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

const st_strategy_row *st_strategy_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

bool st_strategy_profiles(const st_strategy_row *row)
{
    return row->operations->wants_profile != NULL;
}

const char *st_strategy_names(void)
{
    return "there are guided, exhaustive, random, local, genetic and anneal";
}
