// SPDX-License-Identifier: Apache-2.0
// The kernels that counters_trial profiles, and what its parts share.
#ifndef SIMTUNE_TESTS_GPU_COUNTERS_KERNELS_H
#define SIMTUNE_TESTS_GPU_COUNTERS_KERNELS_H

#include "cupti/profiler_internal.h"
#include "trial_device.h"

#define BYTES ((size_t)1 << 30)
#define MANY 32

typedef struct candidate {
    CUfunction functions[2]; // run one after the other; the second may be NULL
    unsigned blocks;
    unsigned long long n[2];
    unsigned runs;
} candidate;

extern const char trial_source[], trial_flush_source[];
extern trial_device gpu;
extern int failures;
extern CUdeviceptr input, output;
extern CUfunction flush_kernel;

bool check(bool holds, const char *what);
st_code run_once(void *context, st_error *error); // an st_run_once of a candidate
st_code flush(void *context, st_error *error);    // reads 512 MiB by a kernel of another module
CUmodule load(const trial_cubin *cubin);
CUfunction function_of(CUmodule module, const char *name);
st_stall_profile stalls_of(st_profiler *profiler, candidate *one, const trial_cubin *cubin,
                           const char *title);
const char *name_of(const st_stall_profile *profile, int reason);
double value_of(st_profiler *profiler, candidate *one, const char *metric);

// counters_measure.c: what collecting costs.
void measure_sampling(st_profiler *profiler, candidate *stream, candidate *small, candidate *tiny,
                      const trial_cubin *cubin);
void measure_counters(st_profiler *profiler, candidate *stream);

#endif
