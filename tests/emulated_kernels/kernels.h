// SPDX-License-Identifier: Apache-2.0
// Computing configurations of the reduce template on the emulated device in its checking mode, and
// comparing them with sums made here, for the tests of this folder.
#ifndef SIMTUNE_TESTS_KERNELS_H
#define SIMTUNE_TESTS_KERNELS_H

#include "tuner/emit.h"
#include "tuner/gpu/emu.h"
#include "tuner/plan.h"

// A program of configurations of one type and operation.
typedef struct kernels {
    const st_template *tmpl;
    st_problem problem;       // its type and words
    const st_config *configs; // borrowed
    size_t config_count;
    st_program program;
    st_compiled compiled;
    st_device_facts facts;
    st_gpu *gpu;
    st_gpu_module *module;
} kernels;

// A text that the compiler sees instead of the file's; NULL: the file's own.
typedef struct kernels_change {
    const char *file; // "reduce.cu" or "simtune_device.cuh"
    const char *from, *to;
} kernels_change;

// ST_NOTHING when the change's text does not stand in its file exactly once; ST_FAILED when the
// program does not compile (error.what holds the compiler's words).
st_code kernels_open(kernels *made, const st_template *tmpl, const st_problem *problem,
                     const st_config *configs, size_t count, const kernels_change *change,
                     st_error *error);
void kernels_close(kernels *of);
// After a launch has failed: the device anew.
st_code kernels_reopen(kernels *of, st_error *error);

typedef enum kernels_data {
    KERNELS_EXACT,   // small integers, none of them zero
    KERNELS_SPECIAL, // floats: infinities, NaN, zeros of both signs; integers: all their bits
    KERNELS_DATA
} kernels_data;

typedef struct kernels_run {
    uint64_t n, offset; // elements; the input stands `offset` elements off its alignment
    kernels_data data;
    unsigned rotation; // where the extreme and the special values are
} kernels_run;

// How one run ended: *verdict is "" when it is right, else "value", "race", "uninitialised", "out of
// bounds", "deadlock", "divergence", "hang" or "launch", and *detail says more. Any error but those
// is returned.
st_code kernels_compute(kernels *of, size_t config, const kernels_run *run, char verdict[24],
                        char detail[600], st_error *error);

// The sizes that break kernels (PRIMITIVES) for this configuration, at most `capacity`.
size_t kernels_sizes(const kernels *of, size_t config, uint64_t *out, size_t capacity);

#endif
