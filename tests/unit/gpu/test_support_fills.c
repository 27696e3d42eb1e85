// SPDX-License-Identifier: Apache-2.0
// The fills of templates/support.cu, run on the emulated device: each keeps what docs/templates.md promises of it,
// for every percentage, run length and rotation that families use; and the data differ from rotation to rotation.
#include "tests/unit/gpu/emu_fixture.h"
#include "tuner/base/types.h"

#include <math.h>

enum { EXACT, RANDOM, ZERO, DISTINCT, FLAGS, FLAG_BITS, BELOW, NONZERO, OFFSETS, COUNT = 8000 };

static program support;
static st_gpu_pointer memory;

static int set_up(void **state)
{
    (void)state;
    static const char *const kernels[] = {"simtune_support_fill"};
    st_text source;
    st_text_init(&source);
    must(st_text_read_file(&source, SIMTUNE_SOURCE_FOLDER "/templates/support.cu", &error));
    support = open_program(source.data, kernels, 1);
    st_text_release(&source);
    memory = device_buffer(&support, COUNT * 8);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_program(&support);
    return 0;
}

static void fill(void *out, uint64_t count, st_type_id type, int kind, uint64_t rotation, int64_t a, int64_t b,
                 int64_t c)
{
    uint64_t seed = 5;
    int type_number = (int)type;
    void *arguments[] = {&memory, &count, &type_number, &kind, &seed, &rotation, &a, &b, &c};
    const size_t sizes[] = {8, 8, 4, 4, 8, 8, 8, 8, 8};
    st_launch launch = {.kernel = support.kernel, .grid = {4, 1, 1}, .block = {256, 1, 1}, .arguments = arguments,
                        .argument_sizes = sizes, .argument_count = 9};
    must(OPS->launch(support.gpu, &launch, &error));
    must(OPS->copy_out(support.gpu, out, memory, count * st_type_of(type)->size, &error));
}

static void test_flags(void **state)
{
    (void)state;
    static const int64_t percents[] = {0, 1, 10, 50, 90, 100}, runs[] = {1, 64};
    static uint8_t flags[COUNT], other[COUNT];
    static uint32_t bits[COUNT / 32];
    for (size_t p = 0; p < 6; p++)
        for (size_t r = 0; r < 2; r++)
            for (uint64_t rotation = 0; rotation < 3; rotation++) {
                fill(flags, COUNT, ST_U8, FLAGS, rotation, percents[p], runs[r], 0);
                fill(bits, COUNT / 32, ST_U32, FLAG_BITS, rotation, percents[p], runs[r], COUNT - 7);
                size_t set = 0, begun = 0;
                for (size_t i = 0; i < COUNT; i++) {
                    set += flags[i] != 0;
                    begun += flags[i] && !(i && flags[i - 1]);
                    if (rotation == 0)
                        assert_true(flags[i] <= 1);
                    if (i < COUNT - 7) // the same choice
                        assert_int_equal(bits[i / 32] >> (i % 32) & 1, flags[i] != 0);
                    else if (percents[p] == 0 || percents[p] == 100) // garbage: what nobody may look at
                        assert_int_equal(bits[i / 32] >> (i % 32) & 1, 1);
                }
                if (percents[p] == 0 || percents[p] == 100) // exactly
                    assert_int_equal(set, percents[p] ? COUNT : 0);
                double share = 100.0 * (double)set / COUNT, spread = runs[r] == 1 ? 2 : 16;
                assert_true(fabs(share - (double)percents[p]) <= spread);
                if (runs[r] > 1 && percents[p] >= 10 && percents[p] <= 50) {
                    double mean = (double)set / (double)begun;
                    assert_true(mean > 25 && mean < 160);
                }
                if (rotation && percents[p] > 1 && percents[p] < 100) {
                    fill(other, COUNT, ST_U8, FLAGS, rotation + 1, percents[p], runs[r], 0);
                    assert_memory_not_equal(flags, other, COUNT);
                }
            }
}

static double number_at(const void *from, size_t i, st_type_id type)
{
    return type == ST_F32   ? ((const float *)from)[i]
           : type == ST_F64 ? ((const double *)from)[i]
           : type == ST_I32 ? (double)((const int32_t *)from)[i]
                            : (double)((const uint32_t *)from)[i];
}

static int compare_words(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static void test_distinct(void **state)
{
    (void)state;
    static uint32_t words[COUNT], again[COUNT];
    static const st_type_id types[] = {ST_I32, ST_F32};
    for (size_t t = 0; t < 2; t++) {
        fill(words, COUNT, types[t], DISTINCT, 1, 0, 0, 0);
        size_t subnormal = 0, minus_zero = 0, same = 0;
        for (size_t i = 0; i < COUNT && types[t] == ST_F32; i++) {
            float value;
            memcpy(&value, &words[i], 4);
            assert_true(isfinite(value));
            subnormal += fpclassify(value) == FP_SUBNORMAL;
            minus_zero += words[i] == 0x80000000u;
        }
        assert_true(types[t] == ST_I32 || (subnormal > 90 && minus_zero > 25 && minus_zero < 200));
        fill(again, COUNT, types[t], DISTINCT, 2, 0, 0, 0);
        assert_memory_not_equal(words, again, sizeof words);
        qsort(words, COUNT, 4, compare_words);
        for (size_t i = 1; i < COUNT; i++)
            same += words[i] == words[i - 1];
        assert_true(same < 400); // -0, and chance
    }
}

static void test_below(void **state)
{
    (void)state;
    static uint64_t data[COUNT];
    static uint8_t flags[COUNT];
    static const st_type_id types[] = {ST_F32, ST_F64, ST_I32, ST_U32};
    static const int64_t limits[] = {0, 3, -1, 1000000};
    for (size_t t = 0; t < 4; t++)
        for (size_t l = 0; l < 4; l++) {
            if (types[t] == ST_U32 && limits[l] <= 0)
                continue; // nothing is below
            size_t near = 0, zeros[2] = {0, 0};
            fill(data, COUNT, types[t], BELOW, 1, 30, 1, limits[l]);
            fill(flags, COUNT, ST_U8, FLAGS, 1, 30, 1, 0);
            for (size_t i = 0; i < COUNT; i++) {
                double value = number_at(data, i, types[t]);
                assert_true(isfinite(value));
                assert_int_equal(value < (double)limits[l], flags[i] != 0); // the same choice
                near += value == (double)limits[l];
                zeros[signbit(value) != 0] += value == 0;
            }
            assert_true(near > 50);
            assert_true(types[t] == ST_U32 || zeros[0] > 50);
            assert_true(types[t] > ST_F64 || zeros[1] > 50); // both signs
        }
    // None and all; a side without values is the other one.
    static const int64_t ends[] = {0, 100};
    for (size_t e = 0; e < 2; e++) {
        fill(data, COUNT, ST_F32, BELOW, 0, ends[e], 1, 5);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(number_at(data, i, ST_F32) < 5, ends[e] == 100);
    }
    fill(data, COUNT, ST_U32, BELOW, 0, 50, 1, 0);
}

static void test_nonzero(void **state)
{
    (void)state;
    static uint32_t words[COUNT];
    static uint8_t flags[COUNT];
    for (int t = 0; t < 2; t++) {
        size_t zeros[2] = {0, 0};
        fill(words, COUNT, t ? ST_F32 : ST_I32, NONZERO, 1, 40, 8, 0);
        fill(flags, COUNT, ST_U8, FLAGS, 1, 40, 8, 0);
        for (size_t i = 0; i < COUNT; i++) {
            bool is_zero = words[i] == 0 || (t && words[i] == 0x80000000u);
            assert_int_equal(is_zero, flags[i] == 0);
            zeros[words[i] != 0] += is_zero;
        }
        assert_true(zeros[0] > 100 && (zeros[1] > 100) == (t == 1)); // of floats both
    }
}

static void test_offsets(void **state)
{
    (void)state;
    static uint64_t offsets[COUNT];
    static uint32_t narrow[COUNT];
    static const struct {
        uint64_t segments, total;
    } cases[] = {{0, 0}, {1, 0}, {1, 7}, {3, 1000}, {16, 5}, {17, 1000000}, {5000, 5000}, {COUNT - 1, (uint64_t)3 << 40}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (uint64_t rotation = 0; rotation < 3; rotation++) {
            uint64_t m = cases[k].segments, total = cases[k].total, empty = 0, longest = 0;
            fill(offsets, m + 1, ST_U64, OFFSETS, rotation, (int64_t)total, 0, 0);
            assert_true(offsets[m] == total);
            assert_true(m == 0 || offsets[0] == 0);
            for (uint64_t i = 0; i < m; i++) {
                assert_true(offsets[i] <= offsets[i + 1]);
                uint64_t length = offsets[i + 1] - offsets[i];
                empty += length == 0;
                longest = length > longest ? length : longest;
            }
            if (m >= 5000) {
                assert_true(empty > m / 20 && empty < m / 2 + m / 8);
                assert_true(longest >= 8 * (total / m));
            }
            if (total >> 32 == 0) { // the same in 32 bits
                fill(narrow, m + 1, ST_U32, OFFSETS, rotation, (int64_t)total, 0, 0);
                for (uint64_t i = 0; i <= m; i++)
                    assert_true(narrow[i] == offsets[i]);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flags), cmocka_unit_test(test_distinct),
                                       cmocka_unit_test(test_below), cmocka_unit_test(test_nonzero),
                                       cmocka_unit_test(test_offsets)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
