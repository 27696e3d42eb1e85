// SPDX-License-Identifier: Apache-2.0
// NVRTC, opened at run time. Promise: the library that is chosen makes code which the driver on
// this machine can load (its CUDA major is not above the driver's); where none is found, the
// message names every place that was tried.
#ifndef SIMTUNE_GPU_NVRTC_API_H
#define SIMTUNE_GPU_NVRTC_API_H

#include "tuner/base/error.h"
#include "tuner/base/library.h"

#include <nvrtc.h>
#include <stddef.h>

// X(return type, function without "nvrtc", arguments): the functions that we call. To use one more,
// add its row here.
#define ST_NVRTC_FUNCTIONS(X)                                                                      \
    X(const char *, GetErrorString, (nvrtcResult))                                                 \
    X(nvrtcResult, Version, (int *, int *))                                                        \
    X(nvrtcResult, GetNumSupportedArchs, (int *))                                                  \
    X(nvrtcResult, GetSupportedArchs, (int *))                                                     \
    X(nvrtcResult, CreateProgram,                                                                  \
      (nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *)) \
    X(nvrtcResult, DestroyProgram, (nvrtcProgram *))                                               \
    X(nvrtcResult, CompileProgram, (nvrtcProgram, int, const char *const *))                       \
    X(nvrtcResult, GetCUBINSize, (nvrtcProgram, size_t *))                                         \
    X(nvrtcResult, GetCUBIN, (nvrtcProgram, char *))                                               \
    X(nvrtcResult, GetProgramLogSize, (nvrtcProgram, size_t *))                                    \
    X(nvrtcResult, GetProgramLog, (nvrtcProgram, char *))                                          \
    X(nvrtcResult, AddNameExpression, (nvrtcProgram, const char *))                                \
    X(nvrtcResult, GetLoweredName, (nvrtcProgram, const char *, const char **))

typedef struct st_nvrtc {
    st_library library;
    int major, minor;
    char version[48];     // "nvrtc 13.0"
    long long file_bytes; // of the library: tells builds of one version apart; -1 unknown
#define X(type, name, arguments) type(*name) arguments;
    ST_NVRTC_FUNCTIONS(X)
#undef X
} st_nvrtc;

// Opens the NVRTC for a driver of CUDA version `driver_cuda` (× 1000; negative: the newest found).
// One NVRTC a process: the first success is kept and handed out again. Borrowed.
st_code st_nvrtc_open(int driver_cuda, const st_nvrtc **out, st_error *error);

// CUDA version × 1000 that the installed driver supports, -1 when there is no driver. Makes no
// context.
int st_driver_cuda_version(void);

#endif
