// SPDX-License-Identifier: Apache-2.0
// NVML, opened at run time. Its header does not come with the CUDA headers, so what is used is
// declared here after NVIDIA's public documentation. Promise: NVML is never needed; what it cannot
// tell is -1.
//
// SIMTUNE_LIBNVML=/path names the library instead of the usual places.
#ifndef SIMTUNE_GPU_NVML_H
#define SIMTUNE_GPU_NVML_H

#include "tuner/base/error.h"
#include "tuner/base/library.h"
#include "tuner/base/memory.h"

#define ST_NVML_SUCCESS 0
#define ST_NVML_INSUFFICIENT_SIZE 7
#define ST_NVML_CLOCK_SM 1
#define ST_NVML_CLOCK_MEMORY 2
#define ST_NVML_TEMPERATURE_GPU 0
#define ST_NVML_INJECTED 99999

typedef struct st_nvml_device_opaque *st_nvml_device;
// nvmlProcessInfo_t as nvmlDeviceGetComputeRunningProcesses_v3 fills it.
typedef struct st_nvml_process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
} st_nvml_process;

// X(our name, exported name, required, parameters)
#define ST_NVML_CALLS(X)                                                                           \
    X(init, "nvmlInit_v2", true, (void))                                                           \
    X(shutdown, "nvmlShutdown", true, (void))                                                      \
    X(driver_version, "nvmlSystemGetDriverVersion", true, (char *, unsigned))                      \
    X(nvml_version, "nvmlSystemGetNVMLVersion", true, (char *, unsigned))                          \
    X(by_uuid, "nvmlDeviceGetHandleByUUID", true, (const char *, st_nvml_device *))                \
    X(clock, "nvmlDeviceGetClockInfo", true, (st_nvml_device, int, unsigned *))                    \
    X(temperature, "nvmlDeviceGetTemperature", false, (st_nvml_device, int, unsigned *))           \
    X(power, "nvmlDeviceGetPowerUsage", false, (st_nvml_device, unsigned *))                       \
    X(reasons, "nvmlDeviceGetCurrentClocksEventReasons", false,                                    \
      (st_nvml_device, unsigned long long *))                                                      \
    X(old_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", false,                             \
      (st_nvml_device, unsigned long long *))                                                      \
    X(processes, "nvmlDeviceGetComputeRunningProcesses_v3", false,                                 \
      (st_nvml_device, unsigned *, st_nvml_process *))                                             \
    X(board_of_mig, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", false,                         \
      (st_nvml_device, st_nvml_device *))                                                          \
    X(mig_mode, "nvmlDeviceGetMigMode", false, (st_nvml_device, unsigned *, unsigned *))           \
    X(virtualization, "nvmlDeviceGetVirtualizationMode", false, (st_nvml_device, int *))

typedef struct st_nvml {
    st_library library;
    const char *(*error_text)(int);
#define X(field, exported, required, parameters) int(*field) parameters;
    ST_NVML_CALLS(X)
#undef X
} st_nvml;

// NVML of this process, started by the first call that succeeds. NULL with ST_NOTHING and the
// remedy.
const st_nvml *st_nvml_get(st_error *error);
void st_nvml_close(void); // ends NVML; no monitor may be open

// An absent function answers like one that fails: with a value that is not ST_NVML_SUCCESS.
#define ST_NVML_CALL(nvml, field, ...)                                                             \
    (!(nvml)->field || st_fault_here(ST_FAULT_DRIVER) ? ST_NVML_INJECTED                           \
                                                      : (nvml)->field(__VA_ARGS__))

// "580.95.05" from NVML, else from the kernel module; "" when neither tells.
void st_nvml_driver_version(char out[32]);

#endif
