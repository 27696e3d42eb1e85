// SPDX-License-Identifier: Apache-2.0
// A step of particles in double; results are right within the rounding of their pairs.
#include "tests/emulated_kernels/data.h"
#include "tests/emulated_kernels/families.h"

#include <math.h>
#include <stdio.h>

static double number(uint64_t i, unsigned rotation)
{
    uint64_t drawn = data_mix(i * 11 + rotation);
    return drawn & 3 ? (double)(int64_t)(drawn >> 8 & 255) / 64 - 2
                     : (double)(drawn >> 40) / 16777216.0;
}

static st_code fill(kernels_case *of, st_error *error)
{
    (void)error;
    uint64_t n = (uint64_t)kernels_axis(of, "n");
    float *place = of->host[kernels_buffer(of, "place")],
          *velocity = of->host[kernels_buffer(of, "velocity")];
    for (uint64_t i = 0; i < 4 * n; i++) {
        place[i] = (float)number(i, of->run->rotation);
        velocity[i] = (float)number(i + 4 * n, of->run->rotation);
    }
    return ST_OK;
}

// Number k of particle i: its new velocity, and the sum of its pulls' sizes.
static double new_speed(const kernels_case *of, uint64_t i, uint64_t k, double *size)
{
    const float *place = of->host[kernels_buffer(of, "place")],
                *velocity = of->host[kernels_buffer(of, "velocity")];
    uint64_t n = (uint64_t)kernels_axis(of, "n"), cell = (uint64_t)kernels_axis(of, "cell"),
             first = i / cell * cell;
    double pull = 0;
    *size = 0;
    for (uint64_t j = first; k < 3 && j < n && j < first + cell; j++) {
        double square = 1.0 / 64, d = (double)place[4 * j + k] - place[4 * i + k];
        for (uint64_t m = 0; m < 3; m++)
            square += pow((double)place[4 * j + m] - place[4 * i + m], 2);
        pull += d * place[4 * j + 3] / (square * sqrt(square)) / 1024;
        *size += fabs(d * place[4 * j + 3] / (square * sqrt(square)) / 1024);
    }
    return velocity[4 * i + k] + pull;
}

static void judge(const kernels_case *of, int buffer, const void *got, char detail[600])
{
    const float *place = of->host[kernels_buffer(of, "place")], *found = got;
    bool is_place = buffer == kernels_buffer(of, "new_place");
    for (uint64_t i = 0; i < of->buffers[buffer].count; i++) {
        double size, speed = new_speed(of, i / 4, i % 4, &size);
        double right = !is_place ? speed : place[i] + (i % 4 < 3 ? speed / 1024 : 0);
        double allowed = 0x1p-19 * (size + fabs(right) / 16);
        if (fabs(found[i] - right) <= (i % 4 < 3 ? allowed : 0))
            continue;
        snprintf(detail, 600, "%s[%llu]: %.9g, expected %.9g within %.3g", of->buffers[buffer].name,
                 (unsigned long long)i, (double)found[i], right, allowed);
        return;
    }
}

// Several cells to a block, the last one short; a cell as large as what a block has at once, and larger.
static size_t runs(const kernels *of, size_t config, kernels_run *out, size_t count,
                   size_t capacity)
{
    uint64_t block = kernels_parameter(of, config, "BLOCK"),
             unroll = kernels_parameter(of, config, "UNROLL");
    uint64_t room = block * kernels_parameter(of, config, "TARGETS"),
             large = room <= 256 ? room : 0;
    const uint64_t pairs[][2] = {{0, 5},
                                 {1, 1},
                                 {5, 1},
                                 {67, 2},
                                 {100, unroll},
                                 {33, unroll + 1},
                                 {2 * block + 3, 7},
                                 {65, 32},
                                 {149, 33},
                                 {30, 1021},
                                 {large + 1, large + 1},
                                 {large, large + 5}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const size_of_axis both[] = {{"n", (int64_t)pairs[i][0]}, {"cell", (int64_t)pairs[i][1]}};
        if (pairs[i][1])
            count = family_add_run(of, out, count, capacity, both, 2);
    }
    return count;
}

static const int64_t covered[][2] = {{4096, 32}};

const family family_particles = {.name = "particles",
                                 .special = {{"n", 129}, {"cell", 40}},
                                 .covered = covered,
                                 .covered_count = sizeof covered / sizeof *covered,
                                 .fill = fill,
                                 .runs = runs,
                                 .judge = judge};
