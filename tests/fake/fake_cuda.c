// SPDX-License-Identifier: Apache-2.0
// See fake_cuda.h. Exports the versioned names that driver_api.h asks for, and no others.
#include "tests/fake/fake_cuda.h"

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The point of this file is to export names of the driver, whatever cuda.h calls them in its
// version.
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#undef cuDeviceGetUuid
#undef cuEventElapsedTime

static fake_cuda control;
static size_t memory_used;

static int environment(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    control.version = environment("FAKE_CUDA_VERSION", 13000);
    control.init_result = environment("FAKE_CUDA_INIT", 0);
    control.device_count = environment("FAKE_CUDA_DEVICES", 1);
    control.cc = environment("FAKE_CUDA_CC", 90);
    control.memory_bytes = (size_t)environment("FAKE_CUDA_MEMORY", 1024) << 20;
    control.l2_bytes = (size_t)environment("FAKE_CUDA_L2", 60) << 20;
}

// --- what was called, what is left ---------------------------------------------------------------
enum { NAMES_MOST = 64 };
static const char *called[NAMES_MOST];

static void note_call(const char *name)
{
    for (int i = 0; i < NAMES_MOST; i++) {
        if (!called[i])
            called[i] = name;
        if (called[i] == name) // __func__: one pointer a function
            return;
    }
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAKE_REPORT");
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (!file)
        return;
    for (int i = 0; i < NAMES_MOST && called[i]; i++)
        fprintf(file, "call %s\n", called[i]);
    if (control.contexts || control.streams || control.allocations || control.hosts || control.modules ||
        control.events)
        fprintf(file, "left contexts %d streams %d allocations %d mapped %d modules %d events %d\n",
                control.contexts, control.streams, control.allocations, control.hosts, control.modules,
                control.events);
    fclose(file);
}

fake_cuda *fake_cuda_control(void)
{
    return &control;
}

// True with the result when this call is to fail.
static bool fails(const char *call, CUresult *result)
{
    control.calls++;
    note_call(call);
    if (strcmp(control.fail_call, call) != 0)
        return false;
    if (control.fail_skip > 0) {
        control.fail_skip--;
        return false;
    }
    *result = (CUresult)control.fail_result;
    return true;
}
#define CALL()                                                                                     \
    do {                                                                                           \
        CUresult planned;                                                                          \
        if (fails(__func__, &planned))                                                             \
            return planned;                                                                        \
    } while (0)
#define CONTEXT_CALL()                                                                             \
    do {                                                                                           \
        CALL();                                                                                    \
        if (control.broken)                                                                        \
            return (CUresult)control.broken;                                                       \
    } while (0)

// --- errors, devices -----------------------------------------------------------------------------
CUresult cuGetErrorName(CUresult error, const char **text)
{
    static char name[32];
    switch ((int)error) {
    case 2: *text = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case 100: *text = "CUDA_ERROR_NO_DEVICE"; break;
    case 700: *text = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case 803: *text = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"; break;
    case 123: *text = NULL; return CUDA_ERROR_INVALID_VALUE; // as for a code that it does not know
    default:
        snprintf(name, sizeof name, "CUDA_ERROR_%d", (int)error);
        *text = name;
    }
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    *text =
        error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "words";
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags)
{
    CALL();
    return flags == 0 ? (CUresult)control.init_result : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDriverGetVersion(int *version)
{
    CALL();
    *version = control.version;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    CALL();
    *count = control.device_count;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CALL();
    if (ordinal < 0 || ordinal >= control.device_count)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int capacity, CUdevice device)
{
    CALL();
    snprintf(name, (size_t)capacity, "Counterfeit %d%s", device, control.mig ? " MIG 1g.18gb" : "");
    return CUDA_SUCCESS;
}

static void make_uuid(CUuuid *uuid, CUdevice device, int salt)
{
    for (int i = 0; i < 16; i++)
        uuid->bytes[i] = (char)(i * 17 + device + salt);
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    CALL();
    make_uuid(uuid, device, 0);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    CALL();
    make_uuid(uuid, device, control.mig ? 3 : 0);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *text, int capacity, CUdevice device)
{
    CALL();
    snprintf(text, (size_t)capacity, "0000:%02X:00.0", device + 5);
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    CALL();
    (void)device;
    *bytes = control.memory_bytes;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CALL();
    (void)device;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = control.cc / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = control.cc % 10; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = 2048; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 227 << 10; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = 228 << 10; break;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = (int)control.l2_bytes; break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = 6144; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = 1980000; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = 0; break; // as newer drivers answer
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: *value = control.cc >= 90; break;
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED: *value = 0; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

// --- context, stream -----------------------------------------------------------------------------
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    CALL();
    (void)device;
    control.context_flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CALL();
    (void)device;
    control.contexts++;
    control.contexts_made++;
    *context = (CUcontext)&control;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    (void)device;
    control.contexts--;
    CONTEXT_CALL();
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    (void)context;
    CONTEXT_CALL();
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    CONTEXT_CALL();
    control.stream_flags = flags;
    control.streams++;
    *stream = (CUstream)&control.streams;
    return CUDA_SUCCESS;
}

// Giving back takes effect even on a broken context, so that leaks of ours are told from its own.
CUresult cuStreamDestroy_v2(CUstream stream)
{
    (void)stream;
    control.streams--;
    CONTEXT_CALL();
    return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream)
{
    (void)stream;
    CONTEXT_CALL();
    if (control.busy_queries > 0) {
        control.busy_queries--;
        return CUDA_ERROR_NOT_READY;
    }
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    CONTEXT_CALL();
    return CUDA_SUCCESS;
}

// --- memory --------------------------------------------------------------------------------------
CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes)
{
    CONTEXT_CALL();
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > control.memory_bytes - memory_used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t *block = malloc(bytes + 256);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *block = bytes;
    memory_used += bytes;
    control.allocations++;
    *pointer = (CUdeviceptr)(size_t)((char *)block + 256);
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    size_t *block = (size_t *)((char *)(size_t)pointer - 256);
    memory_used -= *block;
    free(block);
    control.allocations--;
    CONTEXT_CALL();
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    (void)flags;
    CONTEXT_CALL();
    *pointer = malloc(bytes);
    control.hosts++;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *pointer)
{
    free(pointer);
    control.hosts--;
    CONTEXT_CALL();
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags)
{
    (void)flags;
    CONTEXT_CALL();
    *device = (CUdeviceptr)(size_t)host;
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    CONTEXT_CALL();
    *unused = control.memory_bytes - memory_used;
    *total = control.memory_bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream)
{
    (void)stream;
    CONTEXT_CALL();
    memset((void *)(size_t)at, value, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD32Async(CUdeviceptr at, unsigned value, size_t count, CUstream stream)
{
    (void)stream;
    CONTEXT_CALL();
    for (size_t i = 0; i < count; i++)
        ((unsigned *)(size_t)at)[i] = value;
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)stream;
    CONTEXT_CALL();
    memcpy((void *)(size_t)to, from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    CONTEXT_CALL();
    memcpy((void *)(size_t)to, (const void *)(size_t)from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    CONTEXT_CALL();
    memcpy(to, (const void *)(size_t)from, bytes);
    return CUDA_SUCCESS;
}

// --- modules, launches, events -------------------------------------------------------------------
CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    CONTEXT_CALL();
    const char *bytes = image;
    if (memcmp(bytes, "\177ELF", 4) != 0 && strncmp(bytes, ".version", 8) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    control.modules++;
    *module = (CUmodule)&control.modules;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    (void)module;
    control.modules--;
    CONTEXT_CALL();
    return CUDA_SUCCESS;
}

// A CUfunction is one of these, or anything else for a kernel that nobody here can compute.
typedef struct known_kernel {
    fake_kernel *run;
    double ns;
} known_kernel;
static known_kernel known[NAMES_MOST];
static double device_ns; // the device's clock, which moves when a known kernel runs

static void run_known(CUfunction function, void **arguments)
{
    const known_kernel *kernel = (const known_kernel *)function;
    if (kernel < known || kernel >= known + NAMES_MOST)
        return;
    kernel->run(arguments);
    device_ns += kernel->ns;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    (void)module;
    CONTEXT_CALL();
    if (strstr(name, "absent"))
        return CUDA_ERROR_NOT_FOUND;
    double ns = 0;
    fake_kernel *run = fake_kernel_find(name, &ns);
    known_kernel *at = known;
    while (run && at->run && at->run != run)
        at++;
    if (run)
        *at = (known_kernel){run, ns};
    *function = run ? (CUfunction)at : (CUfunction)&control.functions_loaded;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function)
{
    (void)function;
    CONTEXT_CALL();
    control.functions_loaded++;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)function;
    CONTEXT_CALL();
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 40; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 16; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = 2048; break;
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 512; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = control.cc; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function;
    CONTEXT_CALL();
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value + 2048 > 227 << 10)
            return CUDA_ERROR_INVALID_VALUE;
        control.dynamic_smem_set = value;
    } else if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        control.wide_cluster_set = value;
    } else {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block,
                                                     size_t dynamic_smem)
{
    (void)function;
    CONTEXT_CALL();
    int by_threads = 2048 / block;
    int by_smem = (228 << 10) / (int)(dynamic_smem + 2048 + 1024);
    *blocks = by_threads < by_smem ? by_threads : by_smem;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
                          void **extra)
{
    CONTEXT_CALL();
    if (extra || config->blockDimX * config->blockDimY * config->blockDimZ > 512)
        return CUDA_ERROR_INVALID_VALUE;
    if (config->sharedMemBytes + 2048 > 48 << 10 &&
        (int)config->sharedMemBytes > control.dynamic_smem_set)
        return CUDA_ERROR_INVALID_VALUE;
    control.grid[0] = config->gridDimX, control.block[0] = config->blockDimX;
    control.grid[1] = config->gridDimY, control.block[1] = config->blockDimY;
    control.grid[2] = config->gridDimZ, control.block[2] = config->blockDimZ;
    control.smem = config->sharedMemBytes;
    control.cluster = 1;
    control.dependent = false;
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            control.cluster = config->attrs[i].value.clusterDim.x;
        else if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            control.dependent = config->attrs[i].value.programmaticStreamSerializationAllowed == 1;
    if (control.cluster > 8 && !control.wide_cluster_set)
        return (CUresult)912; // CUDA_ERROR_INVALID_CLUSTER_SIZE
    control.arguments = arguments;
    control.launches++;
    run_known(function, arguments);
    if (control.on_launch)
        control.on_launch();
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    CONTEXT_CALL();
    double *at = calloc(1, sizeof *at);
    if (!at)
        return CUDA_ERROR_OUT_OF_MEMORY;
    control.events++;
    *event = (CUevent)at;
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    free(event);
    control.events--;
    CONTEXT_CALL();
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)stream;
    CONTEXT_CALL();
    *(double *)event = device_ns;
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    CONTEXT_CALL();
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    CONTEXT_CALL();
    double ns = *(double *)end - *(double *)start;
    *milliseconds = ns > 0 ? (float)(ns / 1e6) : 0.25f; // something, of kernels that nobody computed
    return CUDA_SUCCESS;
}
