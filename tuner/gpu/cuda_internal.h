// SPDX-License-Identifier: Apache-2.0
// What the files of the cuda backend share.
#ifndef SIMTUNE_GPU_CUDA_INTERNAL_H
#define SIMTUNE_GPU_CUDA_INTERNAL_H

#include "tuner/gpu/driver_api.h"
#include "tuner/gpu/gpu.h"

typedef struct st_cuda_mapped {
    struct st_cuda_mapped *next;
    void *host;
    st_gpu_pointer device;
} st_cuda_mapped;

struct st_gpu {
    const st_driver *driver;
    CUdevice device;
    CUcontext context; // the primary one, retained; NULL before
    CUstream stream;   // NULL before
    int smem_optin;    // largest shared memory of a block
    st_cuda_mapped *mapped;
    st_gpu_module *modules;
    bool lost;         // a sticky error has been seen:
    char lost_by[384]; // this one
};

struct st_gpu_kernel {
    st_gpu_kernel *next;
    CUfunction function;
    int static_smem, max_threads;
    unsigned dynamic_allowed; // opted in to so far
    bool wide_cluster;        // clusters of more than 8 are allowed
    char name[];
};

struct st_gpu_module {
    st_gpu_module *next, **place; // in the list of its device
    CUmodule module;
    st_gpu_kernel *kernels;
};

struct st_gpu_event {
    CUevent event;
};

// Judges a result: remembers a sticky one, and fills the error.
st_code st_cuda_check(st_gpu *gpu, CUresult result, st_driver_call call, st_error *error);
st_code st_cuda_lost(const st_gpu *gpu, st_error *error);
// One call on an open device. After a sticky error no further call is made: it could only hang or
// repeat.
#define ST_CUDA(gpu, error, field, ...)                                                            \
    ((gpu)->lost ? st_cuda_lost(gpu, error)                                                        \
                 : st_cuda_check(gpu, ST_DRIVER_CALL((gpu)->driver, field, __VA_ARGS__),           \
                                 ST_CALL_##field, error))
// Gives something back; no error to fill, but a sticky one is remembered.
#define ST_CUDA_GIVE_BACK(gpu, field, ...)                                                         \
    st_cuda_check(gpu, ST_DRIVER_GIVE_BACK((gpu)->driver, field, __VA_ARGS__), ST_CALL_##field,    \
                  NULL)

// cuda_facts.c
st_code st_cuda_count(int *devices, st_error *error);
st_code st_cuda_facts(int ordinal, st_device_facts *facts, st_error *error);
// A CUuuid as nvidia-smi prints it: "GPU-01234567-89ab-…".
void st_cuda_uuid_text(const char *prefix, const unsigned char bytes[16], char out[48]);

// cuda_kernel.c
st_code st_cuda_load(st_gpu *gpu, const void *image, size_t bytes, st_gpu_module **out,
                     st_error *error);
void st_cuda_unload(st_gpu *gpu, st_gpu_module *module);
st_code st_cuda_kernel(st_gpu *gpu, st_gpu_module *module, const char *lowered_name,
                       st_gpu_kernel **out, st_error *error);
st_code st_cuda_kernel_facts(st_gpu *gpu, st_gpu_kernel *kernel, st_kernel_facts *facts,
                             st_error *error);
st_code st_cuda_occupancy(st_gpu *gpu, st_gpu_kernel *kernel, unsigned block, unsigned dynamic_smem,
                          int *blocks_per_sm, st_error *error);
st_code st_cuda_launch(st_gpu *gpu, const st_launch *launch, st_error *error);

#endif
