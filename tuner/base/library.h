// SPDX-License-Identifier: Apache-2.0
// Opening vendor libraries at run time. Promise: a library that is absent, too old, or lacks a symbol
// gives a message that names what was tried, where, and how to get it; nothing links against it.
#ifndef SIMTUNE_BASE_LIBRARY_H
#define SIMTUNE_BASE_LIBRARY_H

#include "tuner/base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct st_library {
    void *handle;
    char path[512]; // the file that was opened, as the loader resolved it
} st_library;

// Tries each of `names` (NULL-terminated; plain names go to the loader's search path, names with a
// slash are taken as paths). Fills `library` or says which were tried.
st_code st_library_open(st_library *library, const char *const *names, const char *remedy,
                        st_error *error);
void st_library_close(st_library *library);

// One row of a symbol table: filled by st_library_load.
typedef struct st_symbol {
    const char *name;
    void **place;  // where the address goes; NULL'ed when absent
    bool required; // absent: error; optional ones are left NULL
} st_symbol;
st_code st_library_load(const st_library *library, const st_symbol *symbols, size_t count,
                        const char *remedy, st_error *error);

#endif
