// SPDX-License-Identifier: Apache-2.0
// nvcc, for what a user's build makes of a header: one translation unit to a cubin. Nothing else of simtune needs it.
// Promise: what it leaves behind is the cubin in memory; a unit that does not compile is an outcome with a log.
#ifndef SIMTUNE_GPU_NVCC_H
#define SIMTUNE_GPU_NVCC_H

#include "tuner/gpu/compile.h"

typedef struct st_nvcc {
    char program[512];  // as it is run
    char version[48];   // "nvcc 13.0"
} st_nvcc;

// `wish` is a path, or "nvcc": the one of PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda, in this order. ST_NOTHING with
// the remedy when none runs.
st_code st_nvcc_find(const char *wish, st_nvcc *out, st_error *error);

// Compiles `source` for `arch` ("sm_90") as a build does: nvcc's defaults, `folder` on the include path, and what
// NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS say. `out` is filled but for id and lowered names: image, log (ptxas's facts
// of every kernel in it), seconds. ST_OK also with ST_COMPILE_ERROR.
st_code st_nvcc_compile(const st_nvcc *nvcc, const char *source, const char *folder, const char *arch, st_compiled *out,
                        st_error *error);

// The name of a kernel in the log of a compilation that has all `parts` (ended by NULL) in this order. st_free; NULL:
// there is none, or no memory (*failed).
char *st_nvcc_symbol(const char *log, char *const *parts, bool *failed);

#endif
