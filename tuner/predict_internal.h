// SPDX-License-Identifier: Apache-2.0
// Shared by the predict*.c files.
#ifndef SIMTUNE_TUNER_PREDICT_INTERNAL_H
#define SIMTUNE_TUNER_PREDICT_INTERNAL_H

#include "tuner/predict.h"
#include "tuner/predict_model.h"

enum {
    PREDICT_ROWS_LEAST = 16, // of a problem, for a device to be a neighbour
    PREDICT_LOCAL_MOST = 64  // bytes of local memory that are no spill: what the launch itself takes
};

// --- predict_pick.c
typedef struct predict_entry {
    const st_config *config;
    int registers;
    double ns; // predicted; NaN: out
} predict_entry;
// The one to take; SIZE_MAX: none. Does not depend on the order of the entries. `ranked`: their times come from a device
// that measured them, not from the model alone.
size_t predict_pick(const st_template *tmpl, const predict_entry *entries, size_t count, bool ranked);

// --- predict_history.c
typedef struct predict_span { size_t first, count; } predict_span; // rows of one device and problem, fastest first
predict_span predict_rows_of(const st_template *tmpl, const st_measured *measured, size_t device,
                             const st_problem *problem);
// The nearest device with history of the problem; SIZE_MAX: none.
size_t predict_neighbour(const st_template *tmpl, const st_measured *measured, const st_device_class *wanted,
                         size_t except, const st_problem *problem);
// What a configuration would take by the neighbour's time of it, when the model says `model_ns` here. NaN: it was not
// measured there.
double predict_by_neighbour(const st_template *tmpl, const st_measured *measured, size_t neighbour,
                            const st_problem *problem, const st_config *config, double model_ns);
double predict_bandwidth(const st_device_class *device_class, int64_t memory_bytes); // data sheet, bytes a ns
st_code predict_facts(const st_device_class *device_class, int64_t memory_bytes, st_device_facts *out, st_error *error);

#endif
