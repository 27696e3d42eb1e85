// SPDX-License-Identifier: Apache-2.0
// The host's C++ compiler and the emulated device's headers: which, where, and running it.
#ifndef SIMTUNE_GPU_EMU_HOST_COMPILER_H
#define SIMTUNE_GPU_EMU_HOST_COMPILER_H

#include "tuner/base/error.h"
#include "tuner/base/text.h"

#include <stdbool.h>

#define ST_EMU_COMPILER_REMEDY                                                                     \
    "install a C++ compiler (Debian, Ubuntu: apt install g++) or name one in SIMTUNE_HOST_CXX"

typedef struct st_emu_host_compiler {
    char program[256], version[48];
    bool is_clang;
} st_emu_host_compiler;

// The one that SIMTUNE_HOST_CXX names, else g++, clang++, c++. ST_NOTHING with the remedy when none
// runs.
st_code st_emu_find_compiler(st_emu_host_compiler *out, st_error *error);
// Appends the folder of the device headers; with `hash` also eight digits of what is in them.
st_code st_emu_header_folder(st_text *folder, char hash[9], st_error *error);
// Runs argv[0] (sought in PATH), both outputs appended to `log`. *status as waitpid; ST_NOTHING
// when it cannot be run at all.
st_code st_emu_run_program(char *const *argv, st_text *log, int *status, st_error *error);

#endif
