// SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_kernels/data.h"
#include "tests/emulated_kernels/families.h"

#include <string.h>

// How unequal lengths are dealt out; by the run's rotation.
enum { DEAL_ALIKE, DEAL_SOME_EMPTY, DEAL_ONE_HAS_ALL, DEAL_ONE_HAS_HALF, DEALS };

// offsets[s] for s = 0 … segments.
static void deal(uint64_t *offsets, uint64_t segments, uint64_t n, unsigned rotation)
{
    uint64_t at = 0, chosen = segments ? data_mix(rotation * 77u + segments) % segments : 0;
    unsigned how = rotation % DEALS;
    uint64_t mean = segments ? n / segments : 0;
    for (uint64_t s = 0; s < segments; s++) {
        uint64_t drawn = data_mix(s * 3 + rotation + 1);
        uint64_t length = drawn % (2 * mean + 1);
        offsets[s] = at;
        if (how == DEAL_SOME_EMPTY && drawn >> 32 & 1)
            length = 0;
        else if (how == DEAL_SOME_EMPTY)
            length *= 2;
        else if (how == DEAL_ONE_HAS_ALL)
            length = s == chosen ? n : 0;
        else if (how == DEAL_ONE_HAS_HALF)
            length = s == chosen ? n / 2 : length / 2;
        at = at + length < n ? at + length : n;
    }
    if (segments)
        offsets[segments] = n;
}

static st_code fill(kernels_case *of, st_error *error)
{
    (void)error;
    uint64_t segments = (uint64_t)kernels_axis(of, "segments");
    uint64_t length = (uint64_t)kernels_axis(of, "segment");
    bool equal = kernels_axis_is(of, "layout", "equal");
    size_t size = st_type_of(of->type)->size;
    uint64_t *offsets = of->host[kernels_buffer(of, "offsets")];
    char *in = of->host[kernels_buffer(of, "in")], *out = of->host[kernels_buffer(of, "out")];
    if (!equal)
        deal(offsets, segments, segments * length, of->run->rotation);
    for (uint64_t s = 0; s < segments; s++) {
        uint64_t begin = equal ? s * length : offsets[s];
        const data_list list = {of->type, data_operation_of(of), of->run->data,
                                equal ? length : offsets[s + 1] - begin,
                                of->run->rotation + (unsigned)s};
        data_make(in + begin * size, &list, out + s * size);
    }
    return ST_OK;
}

// Segments shorter, as long as and longer than what their threads take at once; none, one, and more of them
// than a block or a warp takes at once.
static size_t runs(const kernels *of, size_t config, kernels_run *out, size_t count,
                   size_t capacity)
{
    uint64_t vec = kernels_parameter(of, config, "VEC");
    uint64_t lanes = kernels_parameter(of, config, "LANES");
    uint64_t block = kernels_parameter(of, config, "BLOCK");
    uint64_t row = lanes * vec, tile = row * kernels_parameter(of, config, "UNROLL");
    uint64_t groups = block / lanes * kernels_parameter(of, config, "BATCH");
    uint64_t large = block * vec * kernels_parameter(of, config, "UNROLL");
    const uint64_t pairs[][2] = {{0, 5},
                                 {1, 0},
                                 {1, 1},
                                 {3, 1021},
                                 {33, 31},
                                 {1021, 1},
                                 {67, 33},
                                 {groups - 1, 3},
                                 {groups + 1, row + 1},
                                 {5, tile - 1},
                                 {5, tile},
                                 {3, tile + 1},
                                 {2, 3 * tile + 4 * vec},
                                 {1, large <= 8192 ? 5 * large + 7 : large + 7},
                                 {3, large <= 16384 ? large + 1 : 1021},
                                 {700, 2}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const size_of_axis both[] = {{"segments", (int64_t)pairs[i][0]},
                                     {"segment", (int64_t)pairs[i][1]}};
        count = family_add_run(of, out, count, capacity, both, 2);
    }
    return count;
}

static const int64_t covered[][2] = {{64, 4096}, {4096, 64}, {16384, 16}, {65536, 4}, {4, 65536}};

const family family_segreduce = {.name = "segreduce",
                                 .special = {{"segments", 7}, {"segment", 149}},
                                 .covered = covered,
                                 .covered_count = sizeof covered / sizeof *covered,
                                 .fill = fill,
                                 .runs = runs};
