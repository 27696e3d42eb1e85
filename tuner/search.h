// SPDX-License-Identifier: Apache-2.0
// Search strategies over the configurations of one problem: ask which to try next, tell what came out. Promise:
// the same space, options, questions and answers in the same order give the same next question, so a run that is
// resumed and told what the store has asks alike; nothing is asked twice; every configuration is asked in the end; a
// strategy knows of a configuration only what it was told.
//
// A window: some are asked for at once, and after each answer another one, while the others are pending (asked and
// not told). So what is asked can be compiled while something else is measured.
//
// Whether the answers come from a device or from a recorded space makes no difference: nothing here knows of either.
#ifndef SIMTUNE_TUNER_SEARCH_H
#define SIMTUNE_TUNER_SEARCH_H

#include "tuner/base/error.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_SEARCH_NONE SIZE_MAX
enum { ST_SEARCH_PARAMETERS = 40, ST_SEARCH_ROLES = 7, ST_SEARCH_SMALL = 32 };

// The strategies. To add one: a row in strategy.c, its functions (search_internal.h), a line in docs/search.md.
typedef struct st_strategy_row {
    const char *name, *summary;
    bool adaptive; // what it tries next depends on what came out
    bool stops;    // by itself, before all is tried
    const struct st_search_operations *operations; // search_internal.h
} st_strategy_row;
const st_strategy_row *st_strategies(size_t *count); // the first is the default
const st_strategy_row *st_strategy_find(const char *name); // NULL: there is none
// "guided, exhaustive, random …" for messages.
const char *st_strategy_names(void);
bool st_strategy_profiles(const st_strategy_row *row); // may want profiles

typedef struct st_search_parameter {
    const char *name;
    unsigned roles;        // st_role bits; 0 unknown
    bool is_word;          // values have no order
    const double *values;  // by index, ascending; of words NULL
    size_t value_count;
} st_search_parameter;

// Borrowed by a search as long as it lives.
typedef struct st_search_space {
    const st_search_parameter *parameters;
    size_t parameter_count;    // at most ST_SEARCH_PARAMETERS
    const uint16_t *values;    // [count][parameter_count]: indices of values
    size_t count;              // configurations, all different
    size_t standard;           // the default, tried first; ST_SEARCH_NONE
} st_search_space;

// What the compiler says before anything runs; NaN: unknown.
typedef struct st_search_facts {
    double registers, local_bytes, shared_bytes, occupancy;
} st_search_facts;

// One answer. A configuration that failed has no time.
typedef struct st_search_answer {
    double ns; // NaN: failed
    st_search_facts facts;
} st_search_answer;

// The advice on one profile: pull on each role (number of its bit), -1 … 1, 0: none. As st_advice_pull
// (cupti/advice.h) gives it.
typedef struct st_search_advice {
    double pull[ST_SEARCH_ROLES];
    bool leave; // it runs at the limit: waiting is no problem
} st_search_advice;

typedef struct st_search_options {
    uint64_t seed;
    double limit_ns;        // no configuration can be faster: bytes / measured speed; NaN or 0: unknown
    double noise;           // relative error of an answer; 0: 1 %
    // History, [count]: what a like problem makes expect, as the logarithm of the time over the best of its own
    // problem, NaN where it says nothing; NULL: none. Borrowed while the search lives.
    const double *expected;
    bool without_stalls, without_rules, without_model; // for ablations of `guided`
} st_search_options;

typedef struct st_search st_search;
st_code st_search_open(const char *strategy, const st_search_space *space, const st_search_options *options,
                       st_search **out, st_error *error);
void st_search_close(st_search *search);

// Up to `most` configurations to try next, in this order; those asked before may still be pending. Fewer when the
// strategy must know what came out of those that are; 0 only while some are pending, or when all were asked.
st_code st_search_ask(st_search *search, size_t most, size_t *out, size_t *count, st_error *error);
// Each configuration that was asked for is told once.
st_code st_search_tell(st_search *search, size_t index, const st_search_answer *answer, st_error *error);
// What the compiler says of one that is pending, as soon as it does; its answer's facts take their place.
void st_search_tell_facts(st_search *search, size_t index, const st_search_facts *facts);
// A told configuration whose profile would help to choose what is next, or ST_SEARCH_NONE. Stands until it is told
// (advice NULL: there is none to be had) or until the next ask.
size_t st_search_wants_profile(const st_search *search);
void st_search_tell_profile(st_search *search, size_t index, const st_search_advice *advice);

size_t st_search_told(const st_search *search);   // how many
size_t st_search_best(const st_search *search);   // fastest so far; ST_SEARCH_NONE
// Why going on is not worth it, or NULL. A strategy that does not know says NULL. It can be asked on all the same. A
// space of at most ST_SEARCH_SMALL is worth trying whole.
const char *st_search_stops(const st_search *search);
// What it goes by at present, for people: "model (rank correlation 0.83 of what it was not shown)". Valid until the
// next call.
const char *st_search_says(st_search *search);

#endif
