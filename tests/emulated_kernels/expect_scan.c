// SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_kernels/data.h"
#include "tests/emulated_kernels/families.h"

static st_code fill(kernels_case *of, st_error *error)
{
    (void)error;
    const data_list list = {of->type, data_operation_of(of), of->run->data,
                            (uint64_t)kernels_axis(of, "n"), of->run->rotation};
    data_make_scan(of->host[kernels_buffer(of, "in")], &list,
                   kernels_axis_is(of, "kind", "inclusive"), of->host[kernels_buffer(of, "out")]);
    return ST_OK;
}

static const int64_t covered[][2] = {{1 << 10, 0}, {1 << 16, 0}, {1 << 20, 0}};

const family family_scan = {.name = "scan",
                            .special = {{"n", 1021}},
                            .covered = covered,
                            .covered_count = sizeof covered / sizeof *covered,
                            .fill = fill,
                            .runs = family_tile_runs};
