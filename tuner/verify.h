// SPDX-License-Identifier: Apache-2.0
// Measures a header again: the kernels of its own text, beside the template's default and the best that the store knows,
// in one run on the present device. Promise: every side is verified before it is timed, as a tuning run does it; all are
// timed by turns in random order; nothing is stored.
#ifndef SIMTUNE_TUNER_VERIFY_H
#define SIMTUNE_TUNER_VERIFY_H

#include "tuner/gpu/nvcc.h"
#include "tuner/header_program.h"
#include "tuner/run.h"

typedef enum st_verify_side_kind {
    ST_VERIFY_SHIPPED, // the header's kernels as a user gets them: by nvcc where it is given, else by NVRTC
    ST_VERIFY_NVRTC,   // the header's kernels by NVRTC, where the shipped ones are nvcc's
    ST_VERIFY_DEFAULT, // the template's default
    ST_VERIFY_STORE,   // the best that the store knows
    ST_VERIFY_SIDES
} st_verify_side_kind;

// What is asked: one problem of one function of the header.
typedef struct st_verify_item {
    size_t function;
    st_problem problem;
    st_header_row row;           // that the header takes for it
    const st_choice *best;       // of the store, for this device's class; NULL: it knows none
} st_verify_item;

typedef struct st_verify_side {
    bool present;                // false: not asked for, or the same as `as`
    int as;                      // an st_verify_side_kind whose configuration and code this one has; -1: none
    st_config config;
    char compiler[48];
    st_outcome outcome;
    const char *detail;          // NULL unless it failed; during the callback
    const double *samples;       // [rounds], during the callback; NULL: not timed
    double median_ns;            // NaN: not timed
    int registers;               // most of the kernels that it launches; -1 unknown
    int spill_bytes;             // of all of them, as the assembler says; -1 unknown
    int local_bytes, blocks_per_sm; // of the main kernel (local bytes: the most of any), as the device says; -1 unknown
} st_verify_side;

typedef struct st_verify_result {
    const st_verify_item *item;
    bool too_big;                // the device has not the memory: nothing was measured
    st_verify_side sides[ST_VERIFY_SIDES];
    size_t rounds;
    st_timing_state state;
} st_verify_result;
typedef st_code st_verify_callback(void *context, const st_verify_result *result, st_error *error);

typedef struct st_verify_options {
    const st_template *tmpl;
    const st_header_program *header;
    const char *backend;         // "cuda" or "emu"
    int ordinal;
    const st_nvcc *nvcc;         // NULL: NVRTC (or the emulated device's compiler) makes the header's kernels
    const char *cache_folder;    // of cubins; NULL: none
    int compile_processes;       // 0: by the machine
    double time_limit;           // seconds that one request may take
    uint64_t seed;
    const char *program;         // binary for workers; NULL: this one
    volatile sig_atomic_t *interrupted;
    const st_verify_item *items; // those of one function side by side
    size_t item_count;
} st_verify_options;

typedef struct st_verify_about {
    st_device_facts device;
    char compiler[48];           // of the default and of the store's best
    double nvcc_seconds;         // spent in nvcc; 0 without it
} st_verify_about;

// One callback an item, in their order. `about` is filled before the first.
st_code st_verify(const st_verify_options *options, const st_tune_listener *listener, st_verify_about *about,
                  st_verify_callback *callback, void *context, st_error *error);

#endif
