// SPDX-License-Identifier: Apache-2.0
// The table of known devices holds together, facts of a class follow from it, and archs are parsed.
#include "tuner/gpu/device_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void table_holds_together(void **state)
{
    (void)state;
    size_t count;
    const st_known_device *devices = st_known_devices(&count);
    assert_true(count > 20);
    for (size_t i = 0; i < count; i++) {
        const st_known_device *d = &devices[i];
        st_device_facts facts;
        st_device_class device_class = {d->cc, d->sm_count};
        assert_int_equal(st_device_class_facts(device_class, (int64_t)d->memory_gib << 30, &facts,
                                               NULL),
                         ST_OK); // invariant 1
        assert_true(i == 0 || devices[i - 1].cc <= d->cc); // invariant 3
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(devices[j].name, d->name);
        // Typing errors: a bus of a known width, a plausible speed of one of its pins (0.8 … 32
        // Gbit/s).
        assert_int_equal(d->bus_bits % 32, 0);
        double per_pin = d->bandwidth_gbs * 8 / d->bus_bits;
        assert_true(per_pin > 0.8 && per_pin <= 32.1);
        assert_true(d->sm_count > 0 && d->memory_gib > 0);
        assert_true(d->l2_mib == -1 || (d->l2_mib >= 4 && d->l2_mib <= 256));
        assert_true(d->sm_clock_mhz == -1 || (d->sm_clock_mhz > 1000 && d->sm_clock_mhz < 3000));
        // Found again by what identifies it (two clock grades of one chip may share all of that).
        const st_known_device *found =
            st_known_device_find(device_class, (int64_t)d->memory_gib << 30);
        assert_non_null(found);
        assert_int_equal(found->sm_count, d->sm_count);
        assert_int_equal(found->memory_gib, d->memory_gib);
    }
}

static void products_that_share_a_class(void **state)
{
    (void)state;
    st_device_class a100 = {80, 108}, h100 = {90, 132};
    assert_string_equal(st_known_device_find(a100, -1)->name, "A100-SXM4-80GB");
    assert_string_equal(st_known_device_find(a100, 42505273344)->name, "A100-SXM4-40GB");
    assert_string_equal(st_known_device_find(h100, -1)->name, "H100 80GB HBM3");
    assert_string_equal(st_known_device_find(h100, 150754820096)->name, "H200");
    assert_string_equal(st_known_device_find((st_device_class){90, 114}, -1)->name, "H100 PCIe");
    assert_null(st_known_device_find((st_device_class){90, 131}, -1));
    assert_null(st_known_device_find((st_device_class){61, -1}, -1));
    assert_int_equal(st_known_device_find((st_device_class){90, -1}, -1)->sm_count, 132);
}

static void facts_of_a_class(void **state)
{
    (void)state;
    st_device_facts facts;
    st_error error;
    assert_int_equal(st_device_class_facts((st_device_class){80, -1}, -1, &facts, &error), ST_OK);
    assert_string_equal(facts.name, "NVIDIA A100-SXM4-80GB");
    assert_string_equal(facts.uuid, "");
    assert_int_equal(facts.ordinal, -1);
    assert_int_equal(facts.cc, 80);
    assert_int_equal(facts.sm_count, 108);
    assert_int_equal(facts.threads_per_sm, 2048);
    assert_int_equal(facts.max_blocks_per_sm, 32);
    assert_int_equal(facts.registers_per_sm, 65536);
    assert_int_equal(facts.smem_per_sm, 164 << 10);
    assert_int_equal(facts.smem_per_block, 163 << 10);
    assert_int_equal(facts.smem_reserved, 1024);
    assert_int_equal(facts.max_cluster, 1);
    assert_int_equal(facts.l2_bytes, 40 << 20);
    assert_int_equal(facts.memory_bytes, (int64_t)80 << 30);
    assert_int_equal(facts.memory_clock_khz, -1);

    assert_int_equal(st_device_class_facts((st_device_class){90, 78}, 1000, &facts, &error), ST_OK);
    assert_int_equal(facts.max_cluster, 8);
    assert_int_equal(facts.l2_bytes, -1);
    assert_int_equal(facts.memory_bytes, 1000); // what the caller knows wins
    // A class that no product in the table has: limits are known, the rest is not.
    assert_int_equal(st_device_class_facts((st_device_class){75, 13}, -1, &facts, &error), ST_OK);
    assert_int_equal(facts.sm_count, 13);
    assert_int_equal(facts.threads_per_sm, 1024);
    assert_int_equal(facts.smem_reserved, 0);
    assert_int_equal(facts.memory_bytes, -1);
    assert_string_equal(facts.name, "a device of sm_75");
    assert_int_equal(st_device_class_facts((st_device_class){61, 20}, -1, &facts, &error),
                     ST_USAGE);
    assert_non_null(strstr(error.what, "sm_61"));
    assert_non_null(strstr(error.remedy, "sm_90"));
}

static void limits_of_archs(void **state)
{
    (void)state;
    const struct {
        int cc, threads, blocks, smem_sm, smem_block;
    } cases[] = {{70, 2048, 32, 96, 96},   {75, 1024, 16, 64, 64},    {86, 1536, 16, 100, 99},
                 {89, 1536, 24, 100, 99},  {90, 2048, 32, 228, 227},  {100, 2048, 32, 228, 227},
                 {110, 1536, 24, 228, 227}, {120, 1536, 24, 100, 99}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_device_facts facts;
        assert_int_equal(
            st_device_class_facts((st_device_class){cases[i].cc, -1}, -1, &facts, NULL), ST_OK);
        assert_int_equal(facts.threads_per_sm, cases[i].threads);
        assert_int_equal(facts.max_blocks_per_sm, cases[i].blocks);
        assert_int_equal(facts.smem_per_sm, cases[i].smem_sm << 10);
        assert_int_equal(facts.smem_per_block, cases[i].smem_block << 10);
        // The system's share and the block's maximum fill the SM.
        assert_int_equal(facts.smem_per_block + facts.smem_reserved, facts.smem_per_sm);
    }
}

static void parsing(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int cc, sm_count;
    } good[] = {{"sm_90", 90, -1},     {"sm_90a", 90, -1},       {"compute_80", 80, -1},
                {"90", 90, -1},        {"9.0", 90, -1},          {"10.0", 100, -1},
                {"sm_120", 120, -1},   {"sm_100f", 100, -1},     {"sm_90/132", 90, 132},
                {"12.0/170", 120, 170}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        st_device_class found;
        assert_int_equal(st_device_class_parse(good[i].text, &found, NULL), ST_OK);
        assert_int_equal(found.cc, good[i].cc);
        assert_int_equal(found.sm_count, good[i].sm_count);
    }
    const char *bad[] = {"",        "sm_",      "sm_91",    "sm_9",     "auto",     "sm_90b",
                         "sm_90 ",  "sm_90/",   "sm_90/0",  "sm_90/-1", "sm_90/x",  "sm_90/132x",
                         "9.",      "-90",      " 90",      "9.0.0",    "sm_90aa",  "SM_90",
                         "sm_99999999999999999999", "sm_90/99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        st_device_class found;
        st_error error;
        assert_int_equal(st_device_class_parse(bad[i], &found, &error), ST_USAGE);
        assert_non_null(strstr(error.what, bad[i]));
        assert_non_null(strstr(error.remedy, "sm_90"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_holds_together), cmocka_unit_test(products_that_share_a_class),
        cmocka_unit_test(facts_of_a_class),     cmocka_unit_test(limits_of_archs),
        cmocka_unit_test(parsing),
    };
    return cmocka_run_group_tests_name("device_class", tests, NULL, NULL);
}
