// SPDX-License-Identifier: Apache-2.0
// Roots as Newton's method has them after so many steps in double: not the roots themselves, since
// configurations of few steps are right in what they do, and wrong in what they leave.
#include "tests/emulated_kernels/data.h"
#include "tests/emulated_kernels/families.h"

#include <math.h>
#include <stdio.h>

static double right_side(uint64_t i, kernels_data data, unsigned rotation)
{
    static const double plain[] = {0,   1,     -1,   3,     0.5,  -0.25, 1e-3,
                                   101, -1000, 1104, 40000, 1e-7, -2,    3.1415927};
    static const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-40, 3};
    uint64_t drawn = data_mix(i * 5 + rotation);
    if (data == KERNELS_SPECIAL)
        return special[drawn % 6];
    return drawn % 3 ? plain[drawn / 3 % 14] : (double)(drawn >> 40) / 16777216.0 * 2 - 1;
}

static double newton(bool kepler, double x, int64_t steps)
{
    double at = kepler ? x : log(1 + fabs(x)), e = (double)(50 * 0.01f);
    for (int64_t k = 0; k < steps; k++)
        at = kepler ? at - (at - e * sin(at) - x) / (1 - e * cos(at))
                    : (at * at + fabs(x) * exp(-at)) / (1 + at);
    return at;
}

static st_code fill(kernels_case *of, st_error *error)
{
    (void)error;
    bool kepler = kernels_axis_is(of, "equation", "kepler");
    uint64_t n = (uint64_t)kernels_axis(of, "n");
    float *x = of->host[kernels_buffer(of, "x")], *root = of->host[kernels_buffer(of, "root")];
    int64_t steps = of->config->value[st_template_parameter(of->of->tmpl, "STEPS")];
    for (uint64_t i = 0; i < n; i++) {
        x[i] = (float)right_side(i, of->run->data, of->run->rotation);
        root[i] = (float)newton(kepler, x[i], steps);
    }
    return ST_OK;
}

// 16 units of 2^-24; with the fast sine besides 2^-19 and its rounding of large arguments.
static void judge(const kernels_case *of, int buffer, const void *got, char detail[600])
{
    const float *a = got, *b = of->host[buffer];
    bool rough = kernels_axis_is(of, "equation", "kepler") &&
                 (kernels_config_is(of, "LAST", "fast") || kernels_config_is(of, "EARLY", "fast"));
    bool last = rough && kernels_config_is(of, "LAST", "fast");
    for (uint64_t i = 0; i < of->buffers[buffer].count; i++) {
        double size = fabs(b[i]), allowed = size * 0x1p-20 + 1e-38;
        if (rough) // what the last step leaves of an error that the steps before it had
            allowed += (last ? 0x1p-19 : 0x1p-36) + size * 0x1p-21;
        if (isnan(a[i]) ? isnan(b[i]) : fabs((double)a[i] - b[i]) <= allowed)
            continue;
        snprintf(detail, 600, "%s[%llu]: %.9g, expected %.9g within %.3g", of->buffers[buffer].name,
                 (unsigned long long)i, (double)a[i], (double)b[i], allowed);
        return;
    }
}

static size_t runs(const kernels *of, size_t config, kernels_run *out, size_t count,
                   size_t capacity)
{
    int64_t tile =
        (int64_t)(kernels_parameter(of, config, "BLOCK") * kernels_parameter(of, config, "ITEMS"));
    const int64_t sizes[] = {0, 1, 31, 33, tile - 1, tile, tile + 1, 3 * tile + 5, 4 * tile + 2};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_of_axis n = {"n", sizes[i]};
        count = family_add_run(of, out, count, capacity, &n, 1);
    }
    return count;
}

static const int64_t covered[][2] = {{1 << 12, 0}};

const family family_special = {.name = "special",
                               .special = {{"n", 129}},
                               .covered = covered,
                               .covered_count = sizeof covered / sizeof *covered,
                               .fill = fill,
                               .runs = runs,
                               .judge = judge};
