// SPDX-License-Identifier: Apache-2.0
// A counterfeit libcuda: device memory is host memory, launches are recorded, and those of the kernels
// that it knows (fake_kernels.cpp) compute what the kernel would; any call can be made to fail. It counts
// what is alive, so that a test sees leaks. Environment, read when it is loaded: FAKE_CUDA_VERSION,
// FAKE_CUDA_INIT (result of cuInit), FAKE_CUDA_DEVICES, FAKE_CUDA_CC, FAKE_CUDA_MEMORY and FAKE_CUDA_L2
// (MiB), and FAKE_REPORT: a file to which each process that ends in order appends `call NAME` for each
// call that it made, and `left …` for what it did not give back.
#ifndef SIMTUNE_TESTS_FAKE_CUDA_H
#define SIMTUNE_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_cuda {
    int version, init_result, device_count, cc;
    bool mig;
    // The call of this name fails with this result, after `fail_skip` that do not; "" none.
    char fail_call[64];
    int fail_result, fail_skip;
    int broken;           // not 0: every call on the context answers this (a sticky error)
    int busy_queries;     // so many stream queries answer "not ready"
    size_t memory_bytes;  // allocations beyond this fail
    size_t l2_bytes;
    // What is alive.
    int contexts, streams, allocations, hosts, modules, events;
    // What was asked for.
    int contexts_made, calls;
    unsigned context_flags, stream_flags;
    unsigned grid[3], block[3], smem, cluster, launches;
    bool dependent;
    void **arguments;
    int dynamic_smem_set, wide_cluster_set, functions_loaded;
    void (*on_launch)(void); // NULL, or what samples the device
} fake_cuda;

// The library exports `fake_cuda *fake_cuda_control(void)`.
typedef fake_cuda *fake_cuda_control_function(void);

// fake_kernels.cpp: a kernel by its name, or NULL; it computes at once, and takes as many nanoseconds of
// the device's clock as `ns` says.
typedef void fake_kernel(void **arguments);
#ifdef __cplusplus
extern "C"
#endif
fake_kernel *fake_kernel_find(const char *name, double *ns);

#endif
