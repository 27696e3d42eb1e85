// SPDX-License-Identifier: Apache-2.0
// What generate.c (sessions and what stays the same), generate_rows.c (candidates and what hangs on them) and
// generate_model.c (the world that they tell of) share.
#ifndef SIMTUNE_DB_GENERATE_INTERNAL_H
#define SIMTUNE_DB_GENERATE_INTERNAL_H

#include "db/generate.h"
#include "db/store_internal.h"
#include "tuner/base/statistics.h"

enum {
    ST_WORLD_DEVICES = 8,
    ST_WORLD_DRIVERS = 6,
    ST_WORLD_FAMILIES = 4,
    ST_WORLD_GROUPS = 8, // pairs of type and operation
    ST_WORLD_SIZES = 4,
    ST_WORLD_CONFIGURATIONS = 504, // of a family
    ST_WORLD_COUNTERS = 20,        // of each kind of profile
    ST_GENERATE_TRIALS = 250       // candidates of a problem in one session, at most
};

// One point of the parameters that every family of the generated world has.
typedef struct st_world_configuration {
    int block, vec, unroll, acc, finish;
} st_world_configuration;

// What a problem of a session is about.
typedef struct st_world_place {
    int device, driver, family, group, size;
    bool new_template;
} st_world_place;

const char *st_world_family(int family);
void st_world_device(int device, st_device_row *row);
void st_world_toolchain(int driver, st_toolchain_row *row);
// Writes the canonical text; type and operation live as long as the program.
void st_world_problem(int group, int size, char *text, size_t capacity, const char **type,
                      const char **operation, int64_t *n);
// All of them, in a fixed order; the first is the default.
void st_world_configurations(st_world_configuration out[ST_WORLD_CONFIGURATIONS]);
void st_world_configuration_text(const st_world_configuration *configuration, char *text, size_t capacity);

// The time that this place and configuration have without noise, and the bytes that one run moves.
double st_world_time_ns(const st_world_place *place, const st_world_configuration *configuration);
double st_world_bytes(const st_world_place *place);
// "correct", or one of the ways to fail with its detail (NULL: none).
const char *st_world_outcome(st_random *random, const char **detail);
// One sample around `time_ns`.
double st_world_sample(st_random *random, double time_ns);
// The names and values of a kind of profile ("pc", "range"); `slow` is time over the best time.
const char *const *st_world_counter_names(bool exact);
void st_world_counters(st_random *random, bool exact, const st_world_configuration *configuration, double slow,
                       double values[ST_WORLD_COUNTERS]);

// --- making rows -------------------------------------------------------------------------------------------
// A candidate of the problem that is being made.
typedef struct st_generate_trial {
    int configuration;
    int64_t key;
    bool correct;
    double time_ns, median_ns; // without and with noise
} st_generate_trial;

typedef struct st_generate_maker {
    st_store *store;
    const st_generate_options *options;
    st_random random;
    st_generated made;
    int64_t device[ST_WORLD_DEVICES], toolchain[ST_WORLD_DRIVERS], template[ST_WORLD_FAMILIES][2];
    int64_t problem[ST_WORLD_FAMILIES][ST_WORLD_GROUPS][ST_WORLD_SIZES];
    char problem_id[ST_WORLD_FAMILIES][ST_WORLD_GROUPS][ST_WORLD_SIZES][ST_HASH_TEXT];
    int64_t configuration[ST_WORLD_FAMILIES][ST_WORLD_CONFIGURATIONS];
    char configuration_id[ST_WORLD_FAMILIES][ST_WORLD_CONFIGURATIONS][ST_HASH_TEXT];
    st_world_configuration point[ST_WORLD_CONFIGURATIONS];
    int64_t metric[2][ST_WORLD_COUNTERS];
    int devices, groups, per_problem; // how many of them
    // Of the session that is being made.
    int64_t session, date_ms;
    char session_id[ST_HASH_TEXT];
    st_world_place place;
    st_generate_trial trials[ST_GENERATE_TRIALS];
} st_generate_maker;
// Runs a statement to its end when `code` is ST_OK, and closes it in any case.
st_code st_generate_run_row(st_statement *statement, st_code code, st_error *error);
// The place's problem in the session that is being made, with `count` candidates.
st_code st_generate_problem(st_generate_maker *all, int count, st_error *error);

#endif
