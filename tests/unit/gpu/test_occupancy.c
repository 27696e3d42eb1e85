// SPDX-License-Identifier: Apache-2.0
// Resident blocks from limits: the answers of the driver of an H200 for kernels that ran there, the calculator's for
// others, and the edges.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/gpu/device_class.h"
#include "tuner/gpu/occupancy.h"

static st_device_facts facts_of(int cc, int sm_count)
{
    st_device_facts facts;
    st_error error;
    assert_int_equal(st_device_class_facts((st_device_class){cc, sm_count}, -1, &facts, &error), ST_OK);
    return facts;
}

static void as_the_driver_of_an_h200_says(void **state)
{
    (void)state;
    static const struct {
        int threads, registers;
        int64_t smem;
        int blocks;
    } rows[] = {{160, 38, 16, 9},      {352, 118, 205472, 1}, {512, 46, 128, 2},   {512, 82, 64, 1},
                {256, 31, 2328, 8},    {128, 24, 32, 16},     {384, 80, 73984, 2}, {416, 44, 48, 3},
                {128, 56, 33, 9},      {640, 92, 147968, 1},  {256, 36, 264, 6},   {640, 48, 98688, 2},
                {64, 38, 1440, 24},    {128, 162, 24, 3},     {1024, 50, 128, 1},  {384, 96, 131584, 1}};
    const st_device_facts h200 = facts_of(90, 132);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int blocks = st_occupancy_blocks(&h200, rows[i].threads, rows[i].registers, rows[i].smem);
        if (blocks != rows[i].blocks)
            fail_msg("row %zu: %d blocks, the driver says %d", i, blocks, rows[i].blocks);
    }
}

static void limits_of_each_arch_hold(void **state)
{
    (void)state;
    const st_device_facts turing = facts_of(75, 40), ampere = facts_of(86, 82), hopper = facts_of(90, 132);
    assert_int_equal(st_occupancy_blocks(&turing, 32, 16, 0), 16); // blocks of an SM
    assert_int_equal(st_occupancy_blocks(&hopper, 32, 16, 0), 32);
    assert_int_equal(st_occupancy_blocks(&ampere, 512, 32, 0), 3); // threads of an SM
    assert_int_equal(st_occupancy_blocks(&turing, 128, 32, 65536), 1);
    assert_int_equal(st_occupancy_blocks(&ampere, 128, 32, 101376), 1); // 99 KiB, and 1 KiB that the system takes
    assert_int_equal(st_occupancy_blocks(&ampere, 128, 32, 101377), 0);
    assert_int_equal(st_occupancy_blocks(&hopper, 33, 32, 0), 32); // two warps
}

static void what_fits_no_sm_is_none(void **state)
{
    (void)state;
    st_device_facts hopper = facts_of(90, 132);
    assert_int_equal(st_occupancy_blocks(&hopper, 1024, 65, 0), 0);
    assert_int_equal(st_occupancy_blocks(&hopper, 1025, 16, 0), 0);
    assert_int_equal(st_occupancy_blocks(&hopper, 0, 16, 0), 0);
    assert_int_equal(st_occupancy_blocks(&hopper, 128, 256, 0), 0);
    assert_int_equal(st_occupancy_blocks(&hopper, 128, 32, (int64_t)1 << 40), 0);
    assert_int_equal(st_occupancy_blocks(&hopper, 128, -1, 0), 16); // registers unknown: the other limits
    hopper.threads_per_sm = -1;
    assert_int_equal(st_occupancy_blocks(&hopper, 128, 32, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_driver_of_an_h200_says),
                                       cmocka_unit_test(limits_of_each_arch_hold),
                                       cmocka_unit_test(what_fits_no_sm_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
