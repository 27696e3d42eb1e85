// SPDX-License-Identifier: Apache-2.0
// Shared by search.c and the strategies in search_*.c.
#ifndef SIMTUNE_TUNER_SEARCH_INTERNAL_H
#define SIMTUNE_TUNER_SEARCH_INTERNAL_H

#include "tuner/base/statistics.h"
#include "tuner/search.h"

// How a strategy is driven. `next` sets *out to a configuration that was never asked, or ST_SEARCH_NONE while it waits for
// answers; when nothing is open and it gives none, search.c asks a random one that is left; it asks for the default by itself, first.
typedef struct st_search_operations {
    st_code (*open)(st_search *search, st_error *error); // sets search->state; may be NULL
    void (*close)(void *state);
    st_code (*next)(st_search *search, size_t *out, st_error *error);
    st_code (*told)(st_search *search, size_t index, st_error *error); // may be NULL
    size_t (*wants_profile)(const st_search *search);                  // may be NULL
    void (*profiled)(st_search *search, size_t index, const st_search_advice *advice);
    const char *(*stops)(const st_search *search);
    const char *(*says)(st_search *search);
} st_search_operations;

enum { ST_FRESH, ST_ASKED, ST_TOLD };

struct st_search {
    const st_search_operations *strategy;
    const st_search_space *space;
    st_search_options options;
    st_random random;
    unsigned char *mark;   // [count]: ST_FRESH …
    double *ns;            // [count]: NaN until told, and of what failed
    st_search_facts *facts;// [count]: NaN until known, of pending ones perhaps
    size_t asked_count, told_count, failed_count;
    size_t best;           // fastest told; ST_SEARCH_NONE
    size_t *order;         // a random order of all, the default first
    size_t order_at;       // all before it were asked
    size_t *table;         // open addressing over the values: index + 1; 0 empty
    size_t table_size;     // a power of two
    size_t told_last;      // ST_SEARCH_NONE
    void *state;           // of the strategy
};

const uint16_t *st_search_values(const st_search *search, size_t index);
// The configuration with these values, or ST_SEARCH_NONE.
size_t st_search_find(const st_search *search, const uint16_t *values);
// All configurations that differ from `index` in one parameter: fills `out` (room for the sum of all value counts),
// returns how many. `adjacent`: numbers move to the next value that the space has only.
size_t st_search_neighbours(const st_search *search, size_t index, bool adjacent, size_t *out);
size_t st_search_neighbours_most(const st_search *search);
// The next fresh one of the random order, or ST_SEARCH_NONE.
size_t st_search_fresh(st_search *search);

extern const st_search_operations st_search_random_operations, st_search_local_operations, st_search_genetic_operations,
    st_search_anneal_operations, st_search_guided_operations;

#endif
