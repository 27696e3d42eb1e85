// SPDX-License-Identifier: Apache-2.0
// One device behind one struct of functions. Two backends stand in the table of backends.c: `cuda`
// (libcuda, opened at run time) and `emu` (the real template source computed on the CPU).
//
// Promise: a call that fails says which driver call failed, with the driver's own name for the error,
// and whether the context is lost (`is_sticky`): then only a new process helps. Only worker processes
// open a device; the parent asks them.
#ifndef SIMTUNE_GPU_GPU_H
#define SIMTUNE_GPU_GPU_H

#include "tuner/base/error.h"
#include "tuner/base/text.h"
#include "tuner/gpu/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t st_gpu_pointer; // device address
typedef struct st_gpu st_gpu;    // an opened device: context, one stream
typedef struct st_gpu_module st_gpu_module;
typedef struct st_gpu_kernel st_gpu_kernel; // borrowed from its module
typedef struct st_gpu_event st_gpu_event;

typedef struct st_kernel_facts {
    int registers;      // a thread
    int local_bytes;    // a thread: spills and local arrays
    int static_smem;    // bytes a block
    int max_threads;    // largest block that this kernel can be launched with
    int binary_version; // cc × 10 of the code that was loaded
} st_kernel_facts;

typedef struct st_launch {
    st_gpu_kernel *kernel;
    unsigned grid[3], block[3];
    unsigned dynamic_smem; // bytes
    unsigned cluster;      // blocks along x; 1 = none
    bool dependent;        // programmatic stream serialisation: may start before its predecessor ends
    void **arguments;      // as cuLaunchKernel takes them
    const size_t *argument_sizes;
    // Of each argument that is a pointer: bytes of the buffer behind it, 0 for others; NULL: unknown. The
    // emulated device's time follows from it (from the whole allocation where it is unknown).
    const size_t *buffer_bytes;
    unsigned argument_count;
} st_launch;

typedef struct st_gpu_operations {
    const char *name; // "cuda", "emu"
    // How many devices there are. ST_NOTHING with doctor's finding when the driver is absent, ST_FAILED
    // when it is there but unusable. Must not create a context.
    st_code (*count)(int *devices, st_error *error);
    st_code (*facts)(int ordinal, st_device_facts *facts, st_error *error);
    st_code (*open)(int ordinal, st_gpu **gpu, st_error *error);
    void (*close)(st_gpu *gpu);

    st_code (*allocate)(st_gpu *gpu, size_t bytes, st_gpu_pointer *out, st_error *error);
    void (*release)(st_gpu *gpu, st_gpu_pointer pointer);
    // Host memory that kernels can see (the gate's flag). `host` and `device` name the same bytes.
    st_code (*allocate_mapped)(st_gpu *gpu, size_t bytes, void **host, st_gpu_pointer *device,
                               st_error *error);
    st_code (*memory)(st_gpu *gpu, size_t *free_bytes, size_t *total_bytes, st_error *error);
    // On the stream, in order:
    st_code (*fill8)(st_gpu *gpu, st_gpu_pointer at, uint8_t value, size_t bytes, st_error *error);
    st_code (*fill32)(st_gpu *gpu, st_gpu_pointer at, uint32_t value, size_t words, st_error *error);
    st_code (*copy)(st_gpu *gpu, st_gpu_pointer to, st_gpu_pointer from, size_t bytes,
                    st_error *error); // within the device; the two do not overlap
    st_code (*copy_in)(st_gpu *gpu, st_gpu_pointer to, const void *from, size_t bytes,
                       st_error *error);  // returns when `from` may be reused
    st_code (*copy_out)(st_gpu *gpu, void *to, st_gpu_pointer from, size_t bytes,
                        st_error *error); // waits for the stream first
    st_code (*launch)(st_gpu *gpu, const st_launch *launch, st_error *error);
    st_code (*synchronize)(st_gpu *gpu, st_error *error);
    // *done without waiting.
    st_code (*query)(st_gpu *gpu, bool *done, st_error *error);

    st_code (*load)(st_gpu *gpu, const void *image, size_t bytes, st_gpu_module **out,
                    st_error *error);
    void (*unload)(st_gpu *gpu, st_gpu_module *module);
    st_code (*kernel)(st_gpu *gpu, st_gpu_module *module, const char *lowered_name,
                      st_gpu_kernel **out, st_error *error);
    st_code (*kernel_facts)(st_gpu *gpu, st_gpu_kernel *kernel, st_kernel_facts *facts,
                            st_error *error);
    // Resident blocks a SM at this block size and dynamic shared memory; allows the opt-in maximum.
    // 0 when it cannot be launched at all.
    st_code (*occupancy)(st_gpu *gpu, st_gpu_kernel *kernel, unsigned block, unsigned dynamic_smem,
                         int *blocks_per_sm, st_error *error);

    st_code (*event_make)(st_gpu *gpu, st_gpu_event **out, st_error *error);
    void (*event_free)(st_gpu *gpu, st_gpu_event *event);
    st_code (*event_record)(st_gpu *gpu, st_gpu_event *event, st_error *error);
    // Waits for `end`; nanoseconds between the two.
    st_code (*event_elapsed)(st_gpu *gpu, st_gpu_event *start, st_gpu_event *end, double *ns,
                             st_error *error);
    // True once a call has failed in a way that only a new process mends.
    bool (*is_lost)(const st_gpu *gpu);
    // The CUcontext, for CUPTI; NULL for emu.
    void *(*native_context)(st_gpu *gpu);
} st_gpu_operations;

// "cuda" or "emu"; NULL when unknown.
const st_gpu_operations *st_gpu_backend(const char *name);

// --- the state of the device while measuring (NVML; everything -1 when NVML is absent) -------------
typedef struct st_device_state {
    int sm_clock_mhz, memory_clock_mhz;
    int temperature_c;
    int power_mw;
    int64_t throttle_reasons;  // NVML's bits; -1 unknown
    bool throttled;            // reasons that slow a kernel down (not idle, not application clocks)
    int other_processes;       // compute processes on the device that are not ours; -1 unknown
} st_device_state;
typedef struct st_monitor st_monitor;
// NULL result with ST_OK is never returned; a monitor without NVML answers "unknown".
st_code st_monitor_open(const st_device_facts *device, st_monitor **out, st_error *error);
void st_monitor_close(st_monitor *monitor);
void st_monitor_read(st_monitor *monitor, st_device_state *state);
// "sw_power_cap, hw_thermal" for the bits; appends.
void st_throttle_names(int64_t reasons, st_text *out);

#endif
