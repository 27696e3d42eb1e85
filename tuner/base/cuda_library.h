// SPDX-License-Identifier: Apache-2.0
// Where a library of the CUDA toolkit may stand: installed toolkits, what pip unpacks, the loader's path.
// Promise: the same places in the same order for every library, so that NVRTC and CUPTI come from one toolkit
// wherever they can.
#ifndef SIMTUNE_BASE_CUDA_LIBRARY_H
#define SIMTUNE_BASE_CUDA_LIBRARY_H

#include "tuner/base/error.h"

#include <stdbool.h>
#include <stddef.h>

// The CUDA majors that simtune knows how to use.
#define ST_OLDEST_CUDA_MAJOR 12
#define ST_NEWEST_CUDA_MAJOR 13 // raised once a newer one was tested

typedef struct st_library_kind {
    const char *stem;     // "nvrtc" of libnvrtc.so.13
    const char *package;  // "cuda_nvrtc": the folder under nvidia/ of PyPI's 12.x packages
    const char *extra;    // "/extras/CUPTI/lib64/": a folder of toolkits beside the usual ones; or NULL
    const char *variable; // "SIMTUNE_LIBNVRTC": names the only library that is tried
} st_library_kind;

// Names to try, in order; the last is followed by NULL. Zeroed before use, released after.
typedef struct st_library_names {
    char *names[129];
    size_t count;
} st_library_names;
void st_library_names_release(st_library_names *list);

// *only: the variable is set, and its library is the list.
st_code st_library_names_only(const st_library_kind *kind, st_library_names *list, bool *only, st_error *error);
// Adds the places of one CUDA major: SIMTUNE_CUDA_LIBRARIES, CUDA_HOME, CUDA_PATH, /usr/local/cuda,
// /usr/local/cuda-*, the loader's own path, .deps/cuda of the source tree, cuda/ in the user's data folder.
// SIMTUNE_IGNORE_TOOLKIT=1 leaves out installed toolkits and the loader's path, so that the way without a
// toolkit can be tested on a machine that has one.
st_code st_library_names_add(const st_library_kind *kind, int major, st_library_names *list, st_error *error);
// Adds the name without a version, as development packages link it, unless toolkits are ignored.
st_code st_library_names_add_plain(const st_library_kind *kind, st_library_names *list, st_error *error);

#endif
