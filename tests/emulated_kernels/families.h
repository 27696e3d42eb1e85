// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder know of each shipped family. To add a family: a file that fills its data and
// makes what is right, apart from all device code, and a row in families.c.
#ifndef SIMTUNE_TESTS_KERNELS_FAMILIES_H
#define SIMTUNE_TESTS_KERNELS_FAMILIES_H

#include "tests/emulated_kernels/kernels.h"

typedef struct family {
    const char *name;
    // Sizes at which the space is asked for configurations: pairs for families of two size axes.
    const int64_t (*covered)[2];
    size_t covered_count;
    // The sizes at which special data are tried.
    struct size_of_axis {
        const char *axis;
        int64_t value;
    } special[2];
    // Gives every input its data and every output the right result.
    st_code (*fill)(kernels_case *of, st_error *error);
    // Adds the runs that break kernels; returns how many there are then.
    size_t (*runs)(const kernels *of, size_t config, kernels_run *out, size_t count,
                   size_t capacity);
    // Compares one output with what is right; "" in detail: right. NULL: element by element.
    void (*judge)(const kernels_case *of, int buffer, const void *got, char detail[600]);
} family;

const family *family_of(const char *name); // NULL: unknown
void family_path(const char *name, char path[512]); // its template
// The names of all that this folder knows, with NULL at the end.
extern const family *const families[];

extern const family family_reduce, family_scan, family_compact, family_segreduce,
    family_fma_chain, family_special, family_particles;

// --- for the families' files -----------------------------------------------------------------------
// Adds a run of these sizes (an axis that the family lacks is ignored) unless it is there already.
typedef struct size_of_axis size_of_axis;
size_t family_add_run(const kernels *of, kernels_run *out, size_t count, size_t capacity,
                      const size_of_axis *sizes, size_t size_count);
// The runs of a family whose tile is BLOCK x ITEMS elements of the axis n, read VEC at a time.
size_t family_tile_runs(const kernels *of, size_t config, kernels_run *out, size_t count, size_t capacity);
// PRIMITIVES' sizes for a kernel of so many elements a block and tile; returns how many.
size_t family_sizes(uint64_t block, uint64_t vec, uint64_t tile, uint64_t tiles_at_once,
                    uint64_t *out, size_t capacity);

#endif
