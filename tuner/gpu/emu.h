// SPDX-License-Identifier: Apache-2.0
// The emulated device: the real template source, compiled by the host's C++ compiler against
// templates/emu/cuda_on_cpu.h and computed on the CPU. Promise: what it computes is what the source
// says; what CUDA leaves undefined is an error that names kernel, block, thread and line, or the
// least friendly answer that CUDA allows; the same calls give the same results, errors and times in
// every run. Its times come from a synthetic model (emu_model.c) and mean nothing. See
// docs/emulator.md.
//
// One thread of the process uses emulated devices at a time (workers are processes).
#ifndef SIMTUNE_GPU_EMU_H
#define SIMTUNE_GPU_EMU_H

#include "tuner/base/error.h"
#include "tuner/gpu/compile.h"
#include "tuner/gpu/gpu.h"

// How many devices: 1 ("Emulated GPU", cc 90), or SIMTUNE_EMU_DEVICES=2 for a second one of cc 80.
extern const st_gpu_operations st_emu_operations;

// Compiles a job whose backend is "emu": the image is a shared object, the lowered names are the
// name expressions. A program that does not compile is ST_OK with ST_COMPILE_ERROR and the
// compiler's log; no compiler is ST_NOTHING with the remedy. SIMTUNE_HOST_CXX names one, else g++,
// clang++, c++.
st_code st_emu_compile(const st_compile_job *job, st_compiled *out, st_error *error);

// Who would compile, and with which device headers: "g++ 12.2.0 emu 1a2b3c4d". The headers are part
// of every program but of no job, so a cache must hold this text in its keys.
st_code st_emu_compiler(char version[48], st_error *error);

// The checking mode: SIMTUNE_EMU_CHECK=1. Programs are compiled so that every access is seen, and the
// launch fails at the first race, access out of bounds or read of what nobody has written; its message
// then begins "race: ", "out of bounds: " or "uninitialised: " (behind the words that every failed
// launch has). Holds for devices opened and programs compiled from now on, in this process and in those
// that it starts.
#define ST_EMU_RACE "launch failed: race: " // stands in the error of a launch that raced
bool st_emu_checking(void);
void st_emu_set_checking(bool on);

// --- synthetic profiles (emu_profile.c says what they are made of) ------------------------------
typedef struct st_emu_reason {
    const char *name; // as PC sampling spells it
    uint64_t samples, samples_not_issued;
} st_emu_reason;
typedef struct st_emu_line {
    const char *function, *file; // of the loaded program; file "" and line 0: only the kernel is known
    int line;
    const char *reason;
    uint64_t samples;
} st_emu_line;
typedef struct st_emu_profile {
    st_emu_reason reasons[16];
    size_t reason_count;
    st_emu_line *lines; // owned; most samples first
    size_t line_count, line_capacity;
    uint64_t total;
} st_emu_profile;
// What is launched from now on is recorded, until begin is called again or until end.
st_code st_emu_profile_begin(st_gpu *gpu, st_error *error);
void st_emu_profile_end(st_gpu *gpu);
// Of what was recorded; at least about `minimum` samples.
st_code st_emu_profile_stalls(st_gpu *gpu, uint64_t minimum, st_emu_profile *out, st_error *error);
void st_emu_profile_release(st_emu_profile *profile);
// A counter by the name that the table of metrics has for it; NaN: the model knows nothing of it.
st_code st_emu_profile_counter(st_gpu *gpu, const char *name, double *value, st_error *error);

#endif
