// SPDX-License-Identifier: Apache-2.0
// A static choice for a device class without history: what the compiler and a model (predict_model.h) say of a few dozen
// configurations, and how the nearest measured device ranked them. Promise: nothing runs; what is stored is marked, and
// is never taken for measured; leaving a measured device out shows what such a choice is worth.
#ifndef SIMTUNE_TUNER_PREDICT_H
#define SIMTUNE_TUNER_PREDICT_H

#include "db/store.h"
#include "tuner/emit.h"

#include <signal.h>

// --- what was measured ---------------------------------------------------------------------------------------------
typedef struct st_measured_device {
    char uuid[48], name[96];
    st_device_class device_class;
    int64_t memory_bytes; // -1 unknown
} st_measured_device;
typedef struct st_measured_row { // a correct candidate, by the cold cache
    size_t device;
    st_problem problem;
    st_config config;
    int registers, local_bytes, blocks_per_sm; // -1 unknown
    double ns;                   // of its newest and longest phase
    bool is_winner, is_default;  // in some session
} st_measured_row;
typedef struct st_measured {
    st_measured_device *devices; size_t device_count, device_capacity;
    st_measured_row *rows; size_t count, capacity;
    size_t stale;                // rows of other versions of the template, which are left out
} st_measured;
// Of the template's family, on hardware. Released in any case.
st_code st_measured_load(st_store *store, const st_template *tmpl, st_measured *out, st_error *error);
void st_measured_release(st_measured *measured);

// --- leave one out -------------------------------------------------------------------------------------------------
typedef struct st_left_out { // one problem of one device, predicted without anything that was measured there
    const st_measured_device *device, *by; // by: the device whose ranking was used; NULL: the model alone
    const st_problem *problem;
    size_t candidates;           // measured ones, among which it is chosen
    const st_config *chosen, *best;
    double chosen_ns, best_ns;   // both measured there
    double default_ns;           // NaN: not measured
} st_left_out;
typedef st_code st_left_out_callback(void *context, const st_left_out *row, st_error *error);
// Every problem that has at least `least` measured candidates.
st_code st_predict_left_out(const st_template *tmpl, const st_measured *measured, size_t least,
                            st_left_out_callback *callback, void *context, st_error *error);

// --- predicting ----------------------------------------------------------------------------------------------------
enum { ST_PREDICT_COMPILED = 48 }; // configurations of a problem that are compiled

typedef struct st_predict_options {
    const st_template *tmpl;
    st_device_class device_class; // sm_count > 0
    const st_problem *problems; size_t problem_count;
    const st_measured *measured;
    bool need_run_to_run;         // as in st_space_options
    uint64_t seed;
    const char *cache_folder;     // of cubins; NULL: none
    int compile_processes;        // 0: by the machine
    const char *program;          // NULL: this one
    volatile sig_atomic_t *interrupted;
} st_predict_options;

typedef struct st_prediction {
    st_choice choice;             // predicted; device_name from the data sheet, no times
    const st_measured_device *by; // NULL: the model alone
    double bytes;                 // moved by one run; NaN unknown
    int registers, static_smem;   // of the main kernel (plan.h)
    uint32_t dynamic_smem;
    double occupancy;
    size_t allowed;               // configurations of the space; 0: those of `by` were taken
    size_t compiled, spilled, impossible, failed; // of those that were tried
    char compiler[48];
} st_prediction;
// `error` of a problem without any: ST_NOTHING, and the callback gets NULL with it.
typedef st_code st_prediction_callback(void *context, const st_problem *problem, const st_prediction *prediction,
                                       const st_error *why, st_error *error);
st_code st_predict(const st_predict_options *options, st_prediction_callback *callback, void *context, st_error *error);

// Stores predictions of one class as a finished session: winners of the cold cache without a time, on a device whose
// backend is ST_PREDICTED_BACKEND.
st_code st_predict_store(st_store *store, const st_template *tmpl, const st_prediction *predictions, size_t count,
                         const char *command, char session_id[ST_HASH_TEXT], st_error *error);

#endif
