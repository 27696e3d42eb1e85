// SPDX-License-Identifier: Apache-2.0
// For tests with a GPU: the driver and NVRTC, opened at run time, and just enough of them to
// compile, load and launch a kernel.
#ifndef SIMTUNE_TESTS_GPU_TRIAL_DEVICE_H
#define SIMTUNE_TESTS_GPU_TRIAL_DEVICE_H

#include "tuner/base/error.h"

#include <cuda.h>
#include <nvrtc.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct trial_cubin {
    char *bytes; // st_free
    size_t length;
} trial_cubin;

// X(pointer name, exported name, type of)
#define TRIAL_DRIVER(X)                                                                            \
    X(init, "cuInit", cuInit)                                                                      \
    X(device_get, "cuDeviceGet", cuDeviceGet)                                                      \
    X(device_name, "cuDeviceGetName", cuDeviceGetName)                                             \
    X(attribute, "cuDeviceGetAttribute", cuDeviceGetAttribute)                                     \
    X(retain, "cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)                                \
    X(set_current, "cuCtxSetCurrent", cuCtxSetCurrent)                                             \
    X(synchronize, "cuCtxSynchronize", cuCtxSynchronize)                                           \
    X(load, "cuModuleLoadData", cuModuleLoadData)                                                  \
    X(unload, "cuModuleUnload", cuModuleUnload)                                                    \
    X(function, "cuModuleGetFunction", cuModuleGetFunction)                                        \
    X(allocate, "cuMemAlloc_v2", cuMemAlloc)                                                       \
    X(fill, "cuMemsetD32_v2", cuMemsetD32)                                                         \
    X(launch, "cuLaunchKernel", cuLaunchKernel)                                                    \
    X(error_name, "cuGetErrorName", cuGetErrorName)

typedef struct trial_device {
#define X(pointer, name, type) __typeof__(&type) pointer;
    TRIAL_DRIVER(X)
#undef X
    CUdevice device;
    CUcontext context;
    char name[128];
    int sms, major, minor;
} trial_device;

// False with a printed reason when there is no GPU or no NVRTC.
bool trial_open(trial_device *device);
bool trial_compile(const trial_device *device, const char *source, trial_cubin *cubin);

#endif
