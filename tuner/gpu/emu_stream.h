// SPDX-License-Identifier: Apache-2.0
// The opened emulated device and its one stream, shared by emu_backend.c, emu_memory.c and
// emu_stream.c.
#ifndef SIMTUNE_GPU_EMU_STREAM_H
#define SIMTUNE_GPU_EMU_STREAM_H

#include "tuner/gpu/emu_check.h"

typedef struct st_emu_allocation {
    char *map; // inaccessible, data, inaccessible
    size_t mapped;
    char *data; // what the caller got: ends (up to 255 bytes before) at the upper guard
    size_t bytes;
} st_emu_allocation;

struct st_gpu_event {
    double at; // nanoseconds on the stream's clock
    bool recorded;
};

typedef struct st_emu_operation {
    struct st_emu_operation *next;
    enum { ST_EMU_FILL8, ST_EMU_FILL32, ST_EMU_COPY_IN, ST_EMU_LAUNCH, ST_EMU_EVENT } kind;
    void *to;
    size_t bytes;
    uint32_t value;
    void *owned;         // COPY_IN: the bytes; LAUNCH: the arguments
    st_gpu_event *event; // EVENT; NULL once the event is gone
    st_emu_launch launch;
    st_gpu_kernel *kernel;
    int blocks_per_sm;
    uint64_t argument_bytes; // sizes of the allocations that the arguments point into
    bool begun;
} st_emu_operation;

struct st_gpu {
    const st_device_facts *facts;
    st_emu_runner *runner;
    st_emu_allocation *allocations;
    size_t allocation_count, allocation_capacity, allocated;
    st_gpu_module *modules;
    st_emu_operation *first, **last; // the stream
    double now;                      // its clock
    uint64_t ordinal, seed;          // operations so far
    st_emu_check *check;             // NULL outside the checking mode
    bool lost;
    char message[ST_EMU_MESSAGE]; // why
};

// emu_stream.c
void st_emu_enqueue(st_gpu *gpu, st_emu_operation *operation);
// Runs what is queued, for at most `seconds` (negative: all). *done says whether nothing is left.
st_code st_emu_drain(st_gpu *gpu, double seconds, bool *done, st_error *error);
void st_emu_operation_free(st_emu_operation *operation);
st_code st_emu_lost_error(const st_gpu *gpu, st_error *error);

// emu_memory.c
st_code st_emu_allocate(st_gpu *gpu, size_t bytes, st_gpu_pointer *out, st_error *error);
void st_emu_release(st_gpu *gpu, st_gpu_pointer pointer);
const st_emu_allocation *st_emu_find(const st_gpu *gpu, uintptr_t address);
// ST_USAGE unless [at, at + bytes) lies in one allocation.
st_code st_emu_check_range(const st_gpu *gpu, const char *what, st_gpu_pointer at, size_t bytes,
                           st_error *error);
st_emu_explain st_emu_explain_address; // context: the st_gpu

#endif
