// SPDX-License-Identifier: Apache-2.0
// What a compile log foretells of a launch: what cannot be is said, with the reason; what is not known rules nothing out.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/launch_facts.h"

#include <stdio.h>
#include <string.h>

static const st_device_facts h200 = {.cc = 90,
                                     .warp_size = 32,
                                     .max_threads_per_block = 1024,
                                     .threads_per_sm = 2048,
                                     .max_blocks_per_sm = 32,
                                     .registers_per_sm = 65536,
                                     .smem_per_block = 232448,
                                     .smem_per_sm = 233472,
                                     .smem_reserved = 1024};

static void log_of(char *out, size_t capacity, int registers, int smem)
{
    snprintf(out, capacity,
             "ptxas info    : Compiling entry function 'zero' for 'sm_90'\n"
             "ptxas info    : Function properties for zero\n"
             "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
             "ptxas info    : Used 8 registers, 368 bytes cmem[0]\n"
             "ptxas info    : Compiling entry function 'main' for 'sm_90'\n"
             "ptxas info    : Function properties for main\n"
             "    0 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads\n"
             "ptxas info    : Used %d registers, used 1 barriers, %d bytes smem, 368 bytes cmem[0]\n",
             registers, smem);
}

static st_launch_facts read_it(int registers, int smem, uint32_t block, uint32_t dynamic, const st_device_facts *device)
{
    char log[1000];
    st_launch_facts facts;
    st_load_kernel kernels[] = {{"zero", 32, 0}, {"main", block, dynamic}};
    log_of(log, sizeof log, registers, smem);
    st_launch_facts_read(log, kernels, 2, device, &facts);
    return facts;
}

// The kernel with the most registers is told of.
static void test_facts(void **state)
{
    (void)state;
    st_launch_facts facts = read_it(40, 4096, 256, 1024, &h200);
    assert_int_equal(facts.registers, 40);
    assert_int_equal(facts.spill_bytes, 16);
    assert_int_equal(facts.static_smem, 4096);
    assert_int_equal(facts.block, 256);
    assert_int_equal(facts.smem, 1024);
    assert_int_equal(facts.blocks_per_sm, 6); // 65536 / (40 × 256)
    assert_string_equal(facts.never, "");
}

static void test_never(void **state)
{
    (void)state;
    st_launch_facts facts = read_it(80, 0, 1024, 0, &h200); // 81920 registers
    assert_string_equal(facts.never,
                        "no block fits an SM: 1024 threads, 80 registers each, 0 + 0 bytes of shared memory");
    assert_int_equal(facts.blocks_per_sm, 0);
    assert_string_equal(read_it(64, 0, 1024, 0, &h200).never, ""); // just fits
    assert_non_null(strstr(read_it(32, 4096, 128, 229376, &h200).never, "229376 + 4096 bytes"));
    assert_string_equal(read_it(32, 3072, 128, 229376, &h200).never, ""); // 227 KiB, all that there is
    assert_non_null(strstr(read_it(16, 0, 1025, 0, &h200).never, "1025 threads"));
}

// A log without words of a kernel, of the emulated device or cut off; a device of which a limit is unknown.
static void test_unknown(void **state)
{
    (void)state;
    st_launch_facts facts;
    const st_load_kernel other = {"other", 5000, 1u << 30};
    char log[1000];
    log_of(log, sizeof log, 80, 0);
    const char *const logs[] = {log, "", NULL};
    for (int i = 0; i < 3; i++) {
        st_launch_facts_read(logs[i], &other, 1, &h200, &facts);
        assert_int_equal(facts.registers, -1);
        assert_int_equal(facts.blocks_per_sm, -1);
        assert_string_equal(facts.never, "");
    }
    st_launch_facts_read(log, NULL, 0, &h200, &facts);
    assert_int_equal(facts.registers, -1);
    st_device_facts device = h200;
    device.registers_per_sm = -1;
    facts = read_it(80, 0, 1024, 0, &device);
    assert_int_equal(facts.registers, 80);
    assert_int_equal(facts.blocks_per_sm, -1);
    assert_string_equal(facts.never, "");
    device = h200;
    device.max_threads_per_block = -1;
    assert_string_equal(read_it(80, 0, 1024, 0, &device).never, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_facts), cmocka_unit_test(test_never),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
