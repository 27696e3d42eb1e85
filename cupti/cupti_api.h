// SPDX-License-Identifier: Apache-2.0
// Private to cupti/: libcupti behind one struct of functions, opened at run time.
// Promise: absent and too old are told apart; every call passes the fault point ST_FAULT_CUPTI; a
// failed call becomes an st_error with the state it means and the remedy that works there.
#ifndef SIMTUNE_CUPTI_CUPTI_API_H
#define SIMTUNE_CUPTI_CUPTI_API_H

#include "cupti/counters.h"
#include "tuner/base/library.h"
#include "tuner/base/memory.h"

#include <cuda.h>
#include <cupti_pcsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_version.h>

// X(name without "cupti", required): what is not required came or went within CUDA 12.6 … 13.x, or
// is only needed for better messages. A library that lacks a required one is too old.
#define ST_CUPTI_FUNCTIONS(X)                                                                      \
    X(GetVersion, true)                                                                            \
    X(GetResultString, true)                                                                       \
    X(ProfilerInitialize, false)                                                                   \
    X(ProfilerDeviceSupported, false)                                                              \
    X(DeviceGetChipName, true)                                                                     \
    X(ProfilerHostGetSupportedChips, true)                                                         \
    X(ProfilerHostInitialize, true)                                                                \
    X(ProfilerHostDeinitialize, true)                                                              \
    X(ProfilerHostGetMetricProperties, true)                                                       \
    X(ProfilerHostConfigAddMetrics, true)                                                          \
    X(ProfilerHostGetConfigImageSize, true)                                                        \
    X(ProfilerHostGetConfigImage, true)                                                            \
    X(ProfilerHostGetNumOfPasses, true)                                                            \
    X(ProfilerHostEvaluateToGpuValues, true)                                                       \
    X(RangeProfilerEnable, true)                                                                   \
    X(RangeProfilerDisable, true)                                                                  \
    X(RangeProfilerGetCounterDataSize, true)                                                       \
    X(RangeProfilerCounterDataImageInitialize, true)                                               \
    X(RangeProfilerSetConfig, true)                                                                \
    X(RangeProfilerStart, true)                                                                    \
    X(RangeProfilerStop, true)                                                                     \
    X(RangeProfilerPushRange, true)                                                                \
    X(RangeProfilerPopRange, true)                                                                 \
    X(RangeProfilerDecodeData, true)                                                               \
    X(RangeProfilerGetCounterDataInfo, true)                                                       \
    X(PCSamplingEnable, true)                                                                      \
    X(PCSamplingDisable, true)                                                                     \
    X(PCSamplingGetNumStallReasons, true)                                                          \
    X(PCSamplingGetStallReasons, true)                                                             \
    X(PCSamplingSetConfigurationAttribute, true)                                                   \
    X(PCSamplingGetData, true)                                                                     \
    X(GetCubinCrc, false)                                                                          \
    X(GetSassToSourceCorrelation, true)

typedef struct st_cupti {
    st_library library;
    int version; // as cuptiGetVersion says: 24 for CUDA 12.6, 130000 and more from 13.0 on
#define X(name, required) __typeof__(&cupti##name) name;
    ST_CUPTI_FUNCTIONS(X)
#undef X
} st_cupti;

// The one way to call: ST_CUPTI(api, GetVersion, &version) is a CUptiResult. An injected fault is
// NOT_READY, which CUPTI itself does not give here: UNKNOWN has a meaning (see
// st_profiler_give_up).
#define ST_CUPTI(api, name, ...)                                                                   \
    (st_fault_here(ST_FAULT_CUPTI) ? CUPTI_ERROR_NOT_READY : (api)->name(__VA_ARGS__))

// The size that a parameter block has up to the last field that is used: an older library knows no
// more, a newer one is told no more.
#define ST_CUPTI_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

// Opens the library on the first successful call and keeps it for the life of the process: CUPTI
// does not survive being unloaded. Called from one thread. `state` (may be NULL) tells why not.
st_code st_cupti_open(const st_cupti **api, st_counters_state *state, st_error *error);

// What a result means for whoever wants counters. Numbers above 42 are unknown to CUDA 12.6's
// headers.
st_counters_state st_cupti_state_of(int result);
// Fills the error: "WHAT: CUPTI says TEXT (number)", with the remedy of the state. Returns
// ST_DENIED when the state is one where counters are refused (denied, busy, a kind of machine),
// ST_FAILED otherwise.
st_code st_cupti_fail(const st_cupti *api, int result, const char *what, st_error *error);
const char *st_cupti_words(const st_cupti *api, int result);

#endif
