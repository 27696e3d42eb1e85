// SPDX-License-Identifier: Apache-2.0
// libcuda, opened at run time. Promise: nothing links against it; a driver that is absent, too old
// or that does not start gives doctor's finding (doctor.h); every call passes the fault point
// ST_FAULT_DRIVER, and an error names the call as the driver exports it and the driver's own words.
//
// SIMTUNE_LIBCUDA=/path/to/libcuda.so.1 names the library instead of the usual places (tests use a
// counterfeit; a user may have several drivers).
//
// Compiles with the headers of CUDA 12.6 and later: functions are declared here by the versioned
// name that the library exports, not by the macros of cuda.h, whose meaning changes between
// versions.
#ifndef SIMTUNE_GPU_DRIVER_API_H
#define SIMTUNE_GPU_DRIVER_API_H

#include "tuner/base/error.h"
#include "tuner/base/library.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/doctor.h"

#include <cuda.h>

#define ST_DRIVER_OLDEST_CUDA 12060 // as cuDriverGetVersion counts: 12.6

// X(our name, exported name, required, parameters). To use one more function of the driver: one
// row.
#define ST_DRIVER_CALLS(X)                                                                         \
    X(get_error_name, "cuGetErrorName", true, (CUresult, const char **))                           \
    X(get_error_string, "cuGetErrorString", true, (CUresult, const char **))                       \
    X(init, "cuInit", true, (unsigned))                                                            \
    X(driver_get_version, "cuDriverGetVersion", true, (int *))                                     \
    X(device_get_count, "cuDeviceGetCount", true, (int *))                                         \
    X(device_get, "cuDeviceGet", true, (CUdevice *, int))                                          \
    X(device_get_name, "cuDeviceGetName", true, (char *, int, CUdevice))                           \
    X(device_get_uuid, "cuDeviceGetUuid_v2", true, (CUuuid *, CUdevice))                           \
    X(device_get_board_uuid, "cuDeviceGetUuid", false, (CUuuid *, CUdevice))                       \
    X(device_get_pci, "cuDeviceGetPCIBusId", true, (char *, int, CUdevice))                        \
    X(device_total_mem, "cuDeviceTotalMem_v2", true, (size_t *, CUdevice))                         \
    X(device_get_attribute, "cuDeviceGetAttribute", true, (int *, CUdevice_attribute, CUdevice))   \
    X(context_retain, "cuDevicePrimaryCtxRetain", true, (CUcontext *, CUdevice))                   \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", true, (CUdevice))                           \
    X(context_set_flags, "cuDevicePrimaryCtxSetFlags_v2", true, (CUdevice, unsigned))              \
    X(context_set_current, "cuCtxSetCurrent", true, (CUcontext))                                   \
    X(stream_create, "cuStreamCreate", true, (CUstream *, unsigned))                               \
    X(stream_destroy, "cuStreamDestroy_v2", true, (CUstream))                                      \
    X(stream_query, "cuStreamQuery", true, (CUstream))                                             \
    X(stream_synchronize, "cuStreamSynchronize", true, (CUstream))                                 \
    X(mem_alloc, "cuMemAlloc_v2", true, (CUdeviceptr *, size_t))                                   \
    X(mem_free, "cuMemFree_v2", true, (CUdeviceptr))                                               \
    X(mem_host_alloc, "cuMemHostAlloc", true, (void **, size_t, unsigned))                         \
    X(mem_host_free, "cuMemFreeHost", true, (void *))                                              \
    X(mem_host_pointer, "cuMemHostGetDevicePointer_v2", true, (CUdeviceptr *, void *, unsigned))   \
    X(mem_get_info, "cuMemGetInfo_v2", true, (size_t *, size_t *))                                 \
    X(memset_d8, "cuMemsetD8Async", true, (CUdeviceptr, unsigned char, size_t, CUstream))          \
    X(memset_d32, "cuMemsetD32Async", true, (CUdeviceptr, unsigned, size_t, CUstream))             \
    X(memcpy_to_device, "cuMemcpyHtoDAsync_v2", true,                                              \
      (CUdeviceptr, const void *, size_t, CUstream))                                               \
    X(memcpy_within, "cuMemcpyDtoDAsync_v2", true, (CUdeviceptr, CUdeviceptr, size_t, CUstream))    \
    X(memcpy_to_host, "cuMemcpyDtoHAsync_v2", true, (void *, CUdeviceptr, size_t, CUstream))       \
    X(module_load, "cuModuleLoadData", true, (CUmodule *, const void *))                           \
    X(module_unload, "cuModuleUnload", true, (CUmodule))                                           \
    X(module_get_function, "cuModuleGetFunction", true, (CUfunction *, CUmodule, const char *))    \
    X(func_load, "cuFuncLoad", false, (CUfunction))                                                \
    X(func_get_attribute, "cuFuncGetAttribute", true, (int *, CUfunction_attribute, CUfunction))   \
    X(func_set_attribute, "cuFuncSetAttribute", true, (CUfunction, CUfunction_attribute, int))     \
    X(launch_kernel, "cuLaunchKernelEx", true,                                                     \
      (const CUlaunchConfig *, CUfunction, void **, void **))                                      \
    X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", true,                              \
      (int *, CUfunction, int, size_t))                                                            \
    X(event_create, "cuEventCreate", true, (CUevent *, unsigned))                                  \
    X(event_destroy, "cuEventDestroy_v2", true, (CUevent))                                         \
    X(event_record, "cuEventRecord", true, (CUevent, CUstream))                                    \
    X(event_synchronize, "cuEventSynchronize", true, (CUevent))                                    \
    X(event_elapsed, "cuEventElapsedTime", true, (float *, CUevent, CUevent))

typedef enum st_driver_call {
#define X(field, exported, required, parameters) ST_CALL_##field,
    ST_DRIVER_CALLS(X)
#undef X
    ST_DRIVER_CALL_COUNT
} st_driver_call;

typedef struct st_driver {
    st_library library;
    int version; // 13000 for CUDA 13.0
#define X(field, exported, required, parameters) CUresult(*field) parameters;
    ST_DRIVER_CALLS(X)
#undef X
} st_driver;

// The driver of this process, opened and initialised by the first call that succeeds; every failed
// call tries afresh. NULL: ST_NOTHING when there is no GPU for us, ST_FAILED when one is there but
// unusable. Creates no context. Not for several threads at once.
const st_driver *st_driver_get(st_error *error);
// What the last st_driver_get found, for doctor.
void st_driver_probed(st_driver_probe *out);
// Forgets the driver (tests, before another SIMTUNE_LIBCUDA). No device may be open.
void st_driver_close(void);

const char *st_driver_call_name(st_driver_call call); // "cuMemAlloc_v2"
// Fills the error for a result that is not CUDA_SUCCESS: "cuMemAlloc_v2: CUDA_ERROR_…: out of
// memory".
st_code st_driver_check(const st_driver *driver, CUresult result, st_driver_call call,
                        st_error *error);
// True for the results after which the context is beyond repair.
bool st_driver_is_sticky(CUresult result);

// What an injected fault answers instead of making the call; no value of the driver's own.
#define ST_DRIVER_INJECTED ((CUresult)99999)
// The one way to make a call. The second form is for giving things back: the call is made all the
// same (so that nothing leaks), and then reported as failed.
#define ST_DRIVER_CALL(driver, field, ...)                                                         \
    (st_fault_here(ST_FAULT_DRIVER) ? ST_DRIVER_INJECTED : (driver)->field(__VA_ARGS__))
#define ST_DRIVER_GIVE_BACK(driver, field, ...)                                                    \
    st_driver_given_back((driver)->field(__VA_ARGS__))
CUresult st_driver_given_back(CUresult result);

#endif
