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

#endif
