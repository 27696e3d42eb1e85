// SPDX-License-Identifier: Apache-2.0
// From a template and its bindings to what a worker is told: buffers, kernels, steps, comparisons. Promise:
// every size is checked to be launchable in principle (non-negative, within 32 bits, a block of at most 1024
// threads), and what is not is ST_NOTHING with the reason: the candidate's outcome is then `constraint`.
#ifndef SIMTUNE_TUNER_PLAN_H
#define SIMTUNE_TUNER_PLAN_H

#include "tuner/emit.h"
#include "tuner/template.h"
#include "tuner/worker/messages.h"

// The problem's buffers, with the default bindings; counts of temp buffers are 0 (a plan gives them).
// `misalign`: elements that every input and output is moved off its alignment. *out is st_free'd.
st_code st_plan_buffers(const st_bindings *bindings, uint32_t misalign, st_plan_buffer **out,
                        st_error *error);

// The kernels that the launches of one configuration use, each once, with block and dynamic shared memory;
// `launch_kernel[i]` is the index for launch step i of `steps`, or -1 when `when` rules it out.
// `lowered` are the names of this configuration, one a launch step. Late names are not needed for this,
// except that a `when` or block that uses them is an error of the template.
typedef struct st_plan_kernels {
    st_load_kernel *kernels; // owned
    size_t count;
    int *launch_kernel;      // owned; one a launch step, in order
    size_t launch_count;
} st_plan_kernels;
st_code st_plan_kernels_make(const st_bindings *bindings, const st_step *steps, size_t step_count,
                             char *const *lowered, st_plan_kernels *out, st_error *error);
void st_plan_kernels_release(st_plan_kernels *kernels);

// The steps, everything evaluated. Bindings must be complete (late names too) when the steps use them.
st_code st_plan_make(const st_bindings *bindings, const st_step *steps, size_t step_count,
                     const st_plan_kernels *kernels, st_plan *out, st_error *error);

// The comparisons that apply. Without references, expected is -1: what the default configuration gave.
st_code st_plan_compares(const st_bindings *bindings, st_plan_compare **out, size_t *count,
                         st_error *error);

#endif
