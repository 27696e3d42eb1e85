// SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_kernels/families.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// To add a family: a row, and a file expect_NAME.c.
const family *const families[] = {&family_reduce,    &family_scan,    &family_compact, &family_segreduce,
                                  &family_fma_chain, &family_special, &family_particles, NULL};

const family *family_of(const char *name)
{
    for (size_t i = 0; families[i]; i++)
        if (strcmp(families[i]->name, name) == 0)
            return families[i];
    return NULL;
}

// The examples lie in a folder of their own.
void family_path(const char *name, char path[512])
{
    snprintf(path, 512, SIMTUNE_SOURCE_FOLDER "/templates/%s.cu", name);
    if (access(path, R_OK) != 0)
        snprintf(path, 512, SIMTUNE_SOURCE_FOLDER "/templates/examples/%s.cu", name);
}

size_t family_add_run(const kernels *of, kernels_run *out, size_t count, size_t capacity,
                      const size_of_axis *sizes, size_t size_count)
{
    kernels_run made = {.offset = 0};
    for (size_t i = 0; i < size_count; i++) {
        int axis = st_template_axis(of->tmpl, sizes[i].axis);
        if (axis >= 0)
            made.size[axis] = sizes[i].value;
    }
    for (size_t i = 0; i < count; i++)
        if (memcmp(out[i].size, made.size, sizeof made.size) == 0)
            return count;
    if (count < capacity)
        out[count++] = made;
    return count;
}

static size_t add_size(uint64_t *out, size_t count, size_t capacity, uint64_t size)
{
    for (size_t i = 0; i < count; i++)
        if (out[i] == size)
            return count;
    if (count < capacity)
        out[count++] = size;
    return count;
}

size_t family_sizes(uint64_t block, uint64_t vec, uint64_t tile, uint64_t tiles_at_once,
                    uint64_t *out, size_t capacity)
{
    static const uint64_t always[] = {0, 1, 31, 32, 33, 1021};
    // Several tiles a block cost time: only where tiles are small.
    uint64_t more = tile <= 8192 ? 5 * tile + block * vec + 7 : tile + block * vec + 7;
    uint64_t three = tile <= 32768 ? 3 * tile + 4 * vec : tile + 4 * vec;
    uint64_t together = tile <= 8192 ? tile * tiles_at_once + 1 : 1;
    const uint64_t wanted[] = {block - 1, block, block + 1, tile - 1, tile,
                               tile + 1,  three, together,  more};
    size_t count = 0;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        count = add_size(out, count, capacity, always[i]);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        count = add_size(out, count, capacity, wanted[i]);
    return count;
}

size_t family_tile_runs(const kernels *of, size_t config, kernels_run *out, size_t count, size_t capacity)
{
    uint64_t block = kernels_parameter(of, config, "BLOCK");
    uint64_t vec = kernels_parameter(of, config, "VEC"), sizes[32];
    uint64_t tile = block * kernels_parameter(of, config, "ITEMS");
    size_t size_count =
        family_sizes(block, vec, tile, kernels_parameter(of, config, "CLUSTER"), sizes, 32);
    for (size_t i = 0; i < size_count; i++) {
        const size_of_axis n = {"n", (int64_t)sizes[i]};
        count = family_add_run(of, out, count, capacity, &n, 1);
    }
    return count;
}
