// SPDX-License-Identifier: Apache-2.0
// Pairwise covering of a family: a small set of configurations such that every pair of values that
// occurs together in any of its spaces occurs together in one of the set. A "value" is that of a
// parameter, or the problem's type and words: taken as one (so each operation of each type meets every
// value of every parameter), or each by itself. Deterministic.
#ifndef SIMTUNE_TESTS_COVERING_H
#define SIMTUNE_TESTS_COVERING_H

#include "tuner/space.h"

#define COVERING_DIMENSIONS (ST_MAX_PARAMETERS + ST_MAX_AXES)

typedef struct covering_choice {
    st_problem problem;
    st_config config;
    size_t kind; // which combination of type and words: programs hold one
    size_t row;  // of the covering
} covering_choice;

typedef struct covering {
    const st_template *tmpl;
    bool sampled;
    size_t times; // that sizes were added
    size_t kinds; // combinations of type and words
    size_t dimensions, counts[COVERING_DIMENSIONS];
    int parameters[COVERING_DIMENSIONS]; // of a dimension; -1: the kind, -2 - a: the axis a
    size_t pair_count, *pair_offsets;    // by dimension i, j at i * dimensions + j
    unsigned char *possible, *covered;   // one a pair
    size_t pairs_possible, pairs_covered;
    unsigned char *rows; // dimensions bytes each
    struct covering_origin *origins;
    size_t row_count, row_capacity, origin_capacity;
    st_space **spaces;
    st_problem *problems; // of the spaces
    size_t *problem_kinds;
    size_t space_count, space_capacity;
} covering;

typedef enum covering_flags {
    COVERING_RUNTIME = 1, // runtime parameters too: the same code, other launches
    COVERING_KINDS = 2,   // type and words as one
    COVERING_SAMPLED =
        4, // of a large space only the part with a few values of each parameter, which are drawn
} covering_flags;
st_code covering_open(covering *made, const st_template *tmpl, unsigned flags, st_error *error);
// Adds the spaces of every kind at these sizes (by axis; axes of the data have their first value), or with every
// size n, on this device; one that allows nothing adds nothing.
st_code covering_add_sizes(covering *to, const st_device_facts *device,
                           const int64_t sizes[ST_MAX_AXES], st_error *error);
st_code covering_add(covering *to, const st_device_facts *device, int64_t n, st_error *error);
// The set. *out is st_free'd by the caller; ordered by kind.
st_code covering_choose(covering *of, covering_choice **out, size_t *count, st_error *error);
// How many pairs these choices cover. SIZE_MAX: no memory.
size_t covering_pairs(const covering *of, const covering_choice *choices, size_t count);
void covering_close(covering *of);

#endif
