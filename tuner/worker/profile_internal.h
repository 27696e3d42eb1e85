// SPDX-License-Identifier: Apache-2.0
// Shared by profile.c and profile_emulated.c.
#ifndef SIMTUNE_WORKER_PROFILE_INTERNAL_H
#define SIMTUNE_WORKER_PROFILE_INTERNAL_H

#include "cupti/counters.h"
#include "tuner/worker/worker_internal.h"

st_code wk_emulated_counters_allowed(st_error *error);
// As st_profiler_stalls and st_profiler_counters.
st_code wk_emulated_stalls(st_worker *worker, st_run_once *prepare, st_run_once *run, void *context,
                           uint64_t minimum, st_stall_profile *out, st_error *error);
st_code wk_emulated_counters(st_worker *worker, st_run_once *prepare, st_run_once *run, void *const *contexts,
                             size_t candidate_count, const char *const *names, size_t name_count, double *values,
                             st_error *error);

#endif
