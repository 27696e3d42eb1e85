// SPDX-License-Identifier: Apache-2.0
// From a template and its bindings to what a worker is told: buffers, kernels, steps, comparisons. Promise:
// every size is checked to be launchable in principle (non-negative, within 32 bits, a block of at most 1024
// threads), and what is not is ST_NOTHING with the reason: the candidate's outcome is then `constraint`.
#ifndef SIMTUNE_TUNER_PLAN_H
#define SIMTUNE_TUNER_PLAN_H

#include "tuner/emit.h"
#include "tuner/template.h"
#include "tuner/worker/messages.h"

// What a buffer is filled with for this problem.
st_code st_plan_fill(const st_bindings *bindings, size_t buffer, const st_fill **out, st_error *error);
// The problem's buffers, with the default bindings; counts of temp buffers are 0 (a plan gives them).
// `misalign`: elements that every input and output is moved off its alignment, or only one side with one of
// the bits below. *out is st_free'd.
enum { ST_MISALIGN_INPUTS = 0x100, ST_MISALIGN_OUTPUTS = 0x200 };
st_code st_plan_buffers(const st_bindings *bindings, uint32_t misalign, st_plan_buffer **out,
                        st_error *error);

// Sets align_NAME to what it is of buffers that are moved so.
void st_plan_align(st_bindings *bindings, uint32_t misalign);

// Does anything that runs depend on an alignment?
bool st_plan_asks_alignment(const st_template *tmpl);

// The kernels that the launches of one configuration use, each once, with block and dynamic shared memory;
// `launch_kernel[i]` is the index for launch step i of `steps`, or -1 when `when` rules it out.
// `lowered` are the names of this configuration, one a launch step. Late names are not needed for this,
// except that a `when` or block that uses them is an error of the template.
enum { ST_PLAN_KERNELS_MOST = 16 };
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

// ST_NOTHING for a plan without a step while outputs have elements: it would be timed as nothing, and win.
st_code st_plan_check_steps(const st_bindings *bindings, const st_plan *plan, st_error *error);

// The kernels of the references (those that the default configuration takes), then of the derives (all, since
// the configuration at hand decides which run): what a worker is given with the problem. The derives' indices
// count from the first reference. `lowered`: of st_reference_program_make.
st_code st_plan_plain_kernels(const st_bindings *bindings, char *const *lowered, st_plan_kernels *references,
                              st_plan_kernels *derives, st_error *error);

// The kernel that a configuration's registers and occupancy are told of: its main one. That of the launch with the
// most threads, the first of equals; where the plan goes by BLOCKS_PER_SM, of the first launch, since that is what
// the name means. -1: nothing is launched.
int st_plan_main_kernel(const st_template *tmpl, const st_plan *plan);

// The promises of in_place that hold: pairs of buffers, st_free'd.
st_code st_plan_in_places(const st_bindings *bindings, int (**out)[2], size_t *count, st_error *error);

// The comparisons that apply. Without references, expected is -1: what the default configuration gave.
st_code st_plan_compares(const st_bindings *bindings, st_plan_compare **out, size_t *count,
                         st_error *error);

#endif
