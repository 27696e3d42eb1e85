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
    uint64_t used_at; // gpu->traffic when a kernel used it last; 0: never
} st_emu_allocation;

typedef struct st_emu_use { // of a buffer by a launch
    uintptr_t data;         // its allocation
    size_t bytes;
} st_emu_use;
#define ST_EMU_USES 8

struct st_gpu_event {
    double at; // nanoseconds on the stream's clock
    bool recorded;
};

typedef struct st_emu_operation {
    struct st_emu_operation *next;
    enum { ST_EMU_FILL8, ST_EMU_FILL32, ST_EMU_COPY_IN, ST_EMU_COPY, ST_EMU_LAUNCH, ST_EMU_EVENT } kind;
    void *to;
    const void *from;    // COPY
    size_t bytes;
    uint32_t value;
    void *owned;         // COPY_IN: the bytes; LAUNCH: the arguments
    st_gpu_event *event; // EVENT; NULL once the event is gone
    st_emu_launch launch;
    st_gpu_kernel *kernel;
    int blocks_per_sm;
    st_emu_use uses[ST_EMU_USES]; // what its arguments point into
    unsigned use_count;
    uint64_t key, count;   // which kernel in which shape, and how often before: what noise follows from
    st_emu_runner *runner; // while it runs
    bool begun, ended;
} st_emu_operation;

// What a launch took on the stream's clock; kept while the device is profiled.
typedef struct st_emu_record {
    const char *kernel; // its module's
    st_emu_account account;
    st_emu_counts counts;
    st_emu_model_input input;
    st_emu_site *sites; // owned
    size_t site_count;
} st_emu_record;

typedef struct st_emu_tally st_emu_tally;
st_emu_tally *st_emu_tally_make(void); // NULL when memory is out
void st_emu_tally_free(st_emu_tally *tally);

struct st_gpu {
    const st_device_facts *facts;
    st_emu_runner *runner, *other; // `other`: of a dependent launch that began before its turn
    st_emu_allocation *allocations;
    size_t allocation_count, allocation_capacity, allocated;
    st_gpu_module *modules;
    st_emu_operation *first, **last; // the stream
    double now;                      // its clock
    uint64_t seed, traffic;          // traffic: bytes that went through L2
    st_emu_tally *tally;             // how often each key came
    st_emu_record *records;          // profiling
    size_t record_count, record_capacity;
    bool profiling;
    st_emu_check *check;             // NULL outside the checking mode
    bool lost;
    char message[ST_EMU_MESSAGE]; // why
};

// emu_stream.c
void st_emu_enqueue(st_gpu *gpu, st_emu_operation *operation);
// Runs what is queued, for at most `seconds` (negative: all). *done says whether nothing is left.
st_code st_emu_drain(st_gpu *gpu, double seconds, bool *done, st_error *error);
void st_emu_operation_free(st_emu_operation *operation);
// The host copies: takes its time.
void st_emu_take_copy(st_gpu *gpu, const char *what, size_t bytes);
st_code st_emu_lost_error(const st_gpu *gpu, st_error *error);

// emu_profile.c: keeps what a launch took, and where its threads met.
void st_emu_profile_keep(st_gpu *gpu, st_emu_runner *ran, const st_emu_record *record);

// emu_memory.c
st_code st_emu_allocate(st_gpu *gpu, size_t bytes, st_gpu_pointer *out, st_error *error);
void st_emu_release(st_gpu *gpu, st_gpu_pointer pointer);
const st_emu_allocation *st_emu_find(const st_gpu *gpu, uintptr_t address);
st_emu_allocation *st_emu_find_writable(st_gpu *gpu, uintptr_t address);
// ST_USAGE unless [at, at + bytes) lies in one allocation.
st_code st_emu_check_range(const st_gpu *gpu, const char *what, st_gpu_pointer at, size_t bytes,
                           st_error *error);
st_emu_explain st_emu_explain_address; // context: the st_gpu

#endif
