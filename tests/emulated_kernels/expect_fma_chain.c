// SPDX-License-Identifier: Apache-2.0
// Polynomials of integers, at arguments where every result is an integer (-1, 0, 1 and what is clamped to them),
// and at some where every power is another (15/16), which are right within the rounding of their terms.
#include "tests/emulated_kernels/data.h"
#include "tests/emulated_kernels/families.h"

#include <math.h>
#include <stdio.h>

static double argument(uint64_t i, kernels_data data, unsigned rotation)
{
    static const double exact[] = {1, -1, 0, 1000, -2.5, -0.9375, 0.9375, 1};
    uint64_t drawn = data_mix(i * 7 + rotation);
    if (data == KERNELS_SPECIAL && drawn % 5 == 0)
        return drawn >> 8 & 1 ? NAN : drawn >> 9 & 1 ? INFINITY : -INFINITY;
    return exact[drawn >> 16 & 7];
}

static double read_number(st_type_id type, const void *from, uint64_t i)
{
    return type == ST_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

// *size: the sum of the terms' absolute values.
static double polynomial(const kernels_case *of, double x, double *size)
{
    const void *c = of->host[kernels_buffer(of, "coefficients")];
    double sum = 0;
    x = x > 1 ? 1 : x < -1 ? -1 : x;
    *size = 0;
    for (uint64_t k = (uint64_t)kernels_axis(of, "length"); k-- > 0;) {
        sum = sum * x + read_number(of->type, c, k);
        *size = *size * fabs(x) + fabs(read_number(of->type, c, k));
    }
    return sum;
}

static st_code fill(kernels_case *of, st_error *error)
{
    (void)error;
    uint64_t n = (uint64_t)kernels_axis(of, "n"), length = (uint64_t)kernels_axis(of, "length");
    void *x = of->host[kernels_buffer(of, "x")], *y = of->host[kernels_buffer(of, "y")];
    // None is 0, and two neighbours differ: a lost, doubled or moved one changes results.
    for (uint64_t k = 0; k < length; k++)
        data_put(of->host[kernels_buffer(of, "coefficients")], of->type, k,
                 (int64_t)(data_mix(k + of->run->rotation) % 7) * 2 - 6 + 1 +
                     (int64_t)(k % 2) * 20);
    for (uint64_t i = 0; i < n; i++) {
        double size;
        data_put_number(x, of->type, i, argument(i, of->run->data, of->run->rotation));
        data_put_number(y, of->type, i, polynomial(of, read_number(of->type, x, i), &size));
    }
    return ST_OK;
}

static void judge(const kernels_case *of, int buffer, const void *got, char detail[600])
{
    for (uint64_t i = 0; i < of->buffers[buffer].count; i++) {
        double x = read_number(of->type, of->host[kernels_buffer(of, "x")], i), size;
        double right = polynomial(of, x, &size), found = read_number(of->type, got, i);
        double allowed = fabs(x) == 0.9375 ? size * 0x1p-20 : 0;
        if (isnan(right) ? isnan(found) : fabs(found - right) <= allowed)
            continue;
        snprintf(detail, 600, "%s[%llu] at %g: %.9g, expected %.9g within %.3g",
                 of->buffers[buffer].name, (unsigned long long)i, x, found, right, allowed);
        return;
    }
}

// Fewer, as many and more points than a block has; coefficients around a row, all lanes' rows, a stage.
static size_t runs(const kernels *of, size_t config, kernels_run *out, size_t count,
                   size_t capacity)
{
    uint64_t lanes = kernels_parameter(of, config, "LANES");
    uint64_t block = kernels_parameter(of, config, "BLOCK"),
             row = kernels_parameter(of, config, "ROW");
    uint64_t tile = block / lanes * kernels_parameter(of, config, "POINTS"), all = lanes * row;
    const uint64_t pairs[][2] = {{0, 5},
                                 {5, 0},
                                 {1, 1},
                                 {3, row - 1},
                                 {tile - 1, row},
                                 {tile, row + 1},
                                 {tile + 1, row - 1},
                                 {33, all},
                                 {3, all - 1},
                                 {31, all + 1},
                                 {257, 2 * all},
                                 {7, 3 * all + row + 1},
                                 {5, 1023},
                                 {6, 1024},
                                 {3, 1025},
                                 {2, 2 * 1024 + all + 3}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const size_of_axis both[] = {{"n", (int64_t)pairs[i][0]}, {"length", (int64_t)pairs[i][1]}};
        count = family_add_run(of, out, count, capacity, both, 2);
    }
    return count;
}

static const int64_t covered[][2] = {{256, 256}, {1 << 14, 1 << 10}};

const family family_fma_chain = {.name = "fma_chain",
                                 .special = {{"n", 129}, {"length", 70}},
                                 .covered = covered,
                                 .covered_count = sizeof covered / sizeof *covered,
                                 .fill = fill,
                                 .runs = runs,
                                 .judge = judge};
