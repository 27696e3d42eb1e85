// SPDX-License-Identifier: Apache-2.0
// How long a configuration would take on a device that is not here: a model of launches, memory traffic and bytes in
// flight, from the plan, what the compiler says of the kernels, and the data sheet. Promise: pure, the same for the same
// input; a figure to rank configurations by, not one to plan with.
#ifndef SIMTUNE_TUNER_PREDICT_MODEL_H
#define SIMTUNE_TUNER_PREDICT_MODEL_H

#include "tuner/template.h"

typedef struct st_static_facts {
    int registers;      // of a thread of the main kernel (plan.h); -1 unknown
    int blocks_per_sm;  // of the main kernel; ≥ 1
    double bandwidth;   // of the device's memory, bytes a nanosecond (10^9 bytes a second)
} st_static_facts;

// Nanoseconds, cold cache. ST_NOTHING: the configuration cannot be launched on the device, with the reason.
st_code st_predict_ns(const st_template *tmpl, const st_problem *problem, const st_config *config,
                      const st_device_facts *device, const st_static_facts *facts, double *ns, st_error *error);

#endif
