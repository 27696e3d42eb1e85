// SPDX-License-Identifier: Apache-2.0
// Times of several phases on one scale: what is not told apart by it, what is, and what nobody was measured for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"
#include "tuner/base/phases.h"

#include <math.h>

static st_phase_times in(double screen, double halving, double later, double finals)
{
    return (st_phase_times){{screen, halving, later, finals}};
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(st_phase_of("screen", 0), ST_PHASE_SCREEN);
    assert_int_equal(st_phase_of("screen", 7), ST_PHASE_SCREEN); // repeated in an imported file
    assert_int_equal(st_phase_of("halving", 1), ST_PHASE_HALVING);
    assert_int_equal(st_phase_of("halving", 2), ST_PHASE_HALVING_LATER);
    assert_int_equal(st_phase_of("finals", 1), ST_PHASE_FINALS);
    assert_int_equal(st_phase_of("", 0), -1);
    assert_int_equal(st_phase_of("replay", 0), -1);
    assert_int_equal(st_phase_last(&st_phase_no_times), -1);
    const st_phase_times some = in(5, NAN, 6, NAN);
    assert_int_equal(st_phase_last(&some), ST_PHASE_HALVING_LATER);
}

static st_phase_scale scale_of(const st_phase_times *times, size_t count)
{
    st_phase_scale scale;
    assert_true(st_phase_scale_make(times, count, sizeof *times, &scale));
    return scale;
}

// The winner is not behind the loser that was only screened, and a slow kernel pays no more than a fast one.
static void test_shifted(void **state)
{
    (void)state;
    const st_phase_times times[] = {in(5000, 5500, 5510, 5400), in(5100, 5580, 5600, 5500), in(5200, 5700, NAN, NAN),
                                    in(5300, NAN, NAN, NAN),    in(9000, NAN, NAN, 9500),   in(20000, NAN, NAN, NAN)};
    const st_phase_scale scale = scale_of(times, 6);
    assert_int_equal(scale.to, ST_PHASE_FINALS);
    assert_true(scale.longer_ns[ST_PHASE_SCREEN] == 400);         // of 400, 400 and 500
    assert_true(scale.longer_ns[ST_PHASE_HALVING] == -90);        // of -100 and -80
    assert_true(scale.longer_ns[ST_PHASE_HALVING_LATER] == -105); // of -110 and -100
    const double expected[] = {5400, 5500, 5610, 5700, 9500, 20400};
    for (size_t i = 0; i < 6; i++)
        assert_true(st_phase_comparable_of(&scale, &times[i]) == expected[i]);
    assert_true(isnan(st_phase_comparable_of(&scale, &st_phase_no_times)));
    assert_true(isnan(st_phase_comparable(&scale, ST_PHASE_SCREEN, NAN)));
}

static void test_one_phase(void **state)
{
    (void)state;
    const st_phase_times times[] = {in(5000, NAN, NAN, NAN), in(4000, NAN, NAN, NAN)};
    const st_phase_scale scale = scale_of(times, 2), none = scale_of(NULL, 0), empty = scale_of(&st_phase_no_times, 1);
    assert_int_equal(scale.to, ST_PHASE_SCREEN);
    assert_true(st_phase_comparable_of(&scale, &times[0]) == 5000);
    assert_int_equal(none.to, -1);
    assert_int_equal(empty.to, -1);
    assert_true(st_phase_comparable(&none, ST_PHASE_SCREEN, 7) == 7);
}

// An interrupted session: halving is as far as anybody came.
static void test_without_finals(void **state)
{
    (void)state;
    const st_phase_times times[] = {in(100, 120, NAN, NAN), in(200, NAN, NAN, NAN)};
    const st_phase_scale scale = scale_of(times, 2);
    assert_int_equal(scale.to, ST_PHASE_HALVING);
    assert_true(st_phase_comparable_of(&scale, &times[0]) == 120);
    assert_true(st_phase_comparable_of(&scale, &times[1]) == 220);
}

// Nobody was in both: the time stays as it is, which is better than a guess.
static void test_nobody_in_both(void **state)
{
    (void)state;
    const st_phase_times times[] = {in(100, NAN, NAN, NAN), in(NAN, NAN, NAN, 90)};
    const st_phase_scale scale = scale_of(times, 2);
    assert_true(scale.longer_ns[ST_PHASE_SCREEN] == 0);
    assert_true(st_phase_comparable_of(&scale, &times[0]) == 100);
}

static void test_stays_positive(void **state)
{
    (void)state;
    const st_phase_times times[] = {in(1000, NAN, NAN, 10), in(100, NAN, NAN, NAN)};
    const st_phase_scale scale = scale_of(times, 2);
    assert_true(st_phase_comparable_of(&scale, &times[1]) == 50);
}

static void test_ratio(void **state)
{
    (void)state;
    const st_phase_times times[] = {in(100, 130, NAN, 120), in(200, 230, NAN, NAN), in(NAN, NAN, NAN, 240)};
    const st_phase_scale scale = scale_of(times, 3);
    assert_true(st_phase_ratio(&scale, &times[1], &times[0]) == 230.0 / 130); // halving with halving
    assert_true(st_phase_ratio(&scale, &times[2], &times[0]) == 2);           // finals with finals
    assert_true(st_phase_ratio(&scale, &times[1], &times[2]) == (230.0 - 10) / 240);
    assert_true(isnan(st_phase_ratio(&scale, &times[0], &st_phase_no_times)));
}

// Times lie inside other structs.
static void test_stride(void **state)
{
    (void)state;
    struct {
        int before;
        st_phase_times times;
        char after;
    } rows[] = {{1, in(10, NAN, NAN, 14), 'a'}, {2, in(20, NAN, NAN, 26), 'b'}, {3, in(30, NAN, NAN, 35), 'c'}};
    st_phase_scale scale;
    assert_true(st_phase_scale_make(&rows[0].times, 3, sizeof rows[0], &scale));
    assert_true(scale.longer_ns[ST_PHASE_SCREEN] == 5);
}

static void test_no_memory(void **state)
{
    (void)state;
    const st_phase_times times[] = {in(10, NAN, NAN, 14), in(20, NAN, NAN, 26)};
    st_phase_scale scale;
    for (unsigned long nth = 1; nth <= 2; nth++) {
        st_fault_arm(ST_FAULT_ALLOCATION, nth);
        assert_false(st_phase_scale_make(times, 2, sizeof *times, &scale));
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),         cmocka_unit_test(test_shifted),       cmocka_unit_test(test_one_phase),
        cmocka_unit_test(test_without_finals), cmocka_unit_test(test_nobody_in_both), cmocka_unit_test(test_stays_positive),
        cmocka_unit_test(test_ratio),         cmocka_unit_test(test_stride),        cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
