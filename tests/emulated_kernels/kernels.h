// SPDX-License-Identifier: Apache-2.0
// Computing configurations of a shipped template on the emulated device in its checking mode, and
// comparing them with what a plain program in C makes of the same data, for the tests of this folder.
// What data a family gets, what is right, and which sizes break its kernels is in families.h.
#ifndef SIMTUNE_TESTS_KERNELS_H
#define SIMTUNE_TESTS_KERNELS_H

#include "tuner/emit.h"
#include "tuner/gpu/emu.h"
#include "tuner/plan.h"

#define KERNELS_BUFFERS 24

struct family;

// A program of configurations of one type and combination of words.
typedef struct kernels {
    const struct family *family;
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
    const char *file; // the template, or what it includes
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
    KERNELS_EXACT,   // every element counts, and results are exact in every type
    KERNELS_SPECIAL, // floats: infinities, NaN, zeros of both signs; integers: all their bits
    KERNELS_DATA
} kernels_data;

typedef struct kernels_run {
    int64_t size[ST_MAX_AXES]; // by axis; of the others, what the program's problem says
    uint64_t offset;           // elements that inputs and outputs stand off their alignment
    kernels_data data;
    unsigned rotation; // where the extreme and the special values are
    bool in_place;     // where the family promises it
} kernels_run;

// One run's data on the host. A family's `fill` gives inputs their contents and outputs what is right.
typedef struct kernels_case {
    const kernels *of;
    const kernels_run *run;
    const st_bindings *bindings;
    const st_config *config;
    st_problem problem; // sizes included
    st_type_id type;    // of the type axis
    const st_plan_buffer *buffers;
    void *host[KERNELS_BUFFERS]; // inputs and outputs, count elements each; outputs begin as 0xFF
} kernels_case;

// An axis's value, its word (NULL: a size), a buffer by name (-1: none), the count of its elements.
int64_t kernels_axis(const kernels_case *of, const char *name);
bool kernels_axis_is(const kernels_case *of, const char *name, const char *word);
int kernels_buffer(const kernels_case *of, const char *name);
bool kernels_config_is(const kernels_case *of, const char *parameter, const char *word);

// How one run ended: *verdict is "" when it is right, else "value", "race", "uninitialised", "out of
// bounds", "deadlock", "divergence", "hang" or "launch", and *detail says more. Any error but those
// is returned.
st_code kernels_compute(kernels *of, size_t config, const kernels_run *run, char verdict[24],
                        char detail[600], st_error *error);

// "n=1000 percent=50 …", 1 element off alignment, …
void kernels_run_text(const kernels *of, const kernels_run *run, st_text *out);

// The runs that break kernels (PRIMITIVES) for this configuration, at most `capacity`.
size_t kernels_runs(const kernels *of, size_t config, kernels_run *out, size_t capacity);
// The value of an integer parameter; 1 where the family has none of that name.
uint64_t kernels_parameter(const kernels *of, size_t config, const char *name);

#endif
