// SPDX-License-Identifier: Apache-2.0
// The interval of a ratio of medians of samples that were taken apart (statistics_unpaired.c): it is the bootstrap's,
// it covers the truth as often as it says, and what is unknown stays so.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <math.h>
#include <string.h>

enum { MOST = 300 };

static double gauss(st_random *random)
{
    double radius = sqrt(-2 * log(1 - st_random_unit(random)));
    return radius * cos(6.283185307179586 * st_random_unit(random));
}

static void draw(st_random *random, double *out, size_t count, double centre, double scatter)
{
    for (size_t i = 0; i < count; i++)
        out[i] = centre * (1 + scatter * gauss(random));
}

// Against the bootstrap that draws, for odd counts where the median is one of the samples.
static void it_is_what_drawing_would_give(void **state)
{
    (void)state;
    enum { DRAWN = 20000 };
    static double ratios[DRAWN];
    static const size_t counts[] = {7, 13, 61, 201};
    st_random random;
    st_random_seed(&random, 5);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        size_t n = counts[k], m = counts[(k + 1) % 4];
        double a[MOST], b[MOST], x[MOST], y[MOST];
        draw(&random, a, n, 105, 0.03);
        draw(&random, b, m, 100, 0.01);
        for (size_t r = 0; r < DRAWN; r++) {
            for (size_t i = 0; i < n; i++)
                x[i] = a[st_random_below(&random, n)];
            for (size_t i = 0; i < m; i++)
                y[i] = b[st_random_below(&random, m)];
            ratios[r] = st_median(x, n) / st_median(y, m);
        }
        st_interval exact = st_ratio_interval_unpaired(a, n, b, m);
        double width = exact.high - exact.low;
        assert_true(exact.low <= exact.centre && exact.centre <= exact.high);
        assert_true(fabs(exact.low - st_quantile(ratios, DRAWN, 0.025)) < 0.06 * width);
        assert_true(fabs(exact.high - st_quantile(ratios, DRAWN, 0.975)) < 0.06 * width);
    }
}

// 95 % of intervals hold the truth; the normal samples here, 1000 trials a count, so ± 1.4 % by chance.
static void it_covers_the_truth_as_often_as_it_says(void **state)
{
    (void)state;
    static const size_t counts[] = {6, 12, 25, 60, 300};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        st_random random;
        st_random_seed(&random, 100 + k);
        int covered = 0;
        for (int trial = 0; trial < 1000; trial++) {
            double a[MOST], b[MOST];
            draw(&random, a, counts[k], 110, 0.02);
            draw(&random, b, counts[k], 100, 0.02);
            st_interval interval = st_ratio_interval_unpaired(a, counts[k], b, counts[k]);
            covered += interval.low <= 1.1 && interval.high >= 1.1;
        }
        if (covered < 936)
            fail_msg("%zu samples: %d of 1000 intervals hold the truth", counts[k], covered);
    }
}

static void exchanged_samples_give_the_inverse(void **state)
{
    (void)state;
    double a[61], b[60];
    st_random random;
    st_random_seed(&random, 9);
    draw(&random, a, 61, 100, 0.01);
    draw(&random, b, 60, 103, 0.02);
    st_interval one = st_ratio_interval_unpaired(a, 61, b, 60), other = st_ratio_interval_unpaired(b, 60, a, 61);
    assert_true(fabs(one.centre * other.centre - 1) < 1e-12);
    assert_true(fabs(one.low * other.high - 1) < 1e-3 && fabs(one.high * other.low - 1) < 1e-3);
}

static void samples_that_never_differ_give_a_point(void **state)
{
    (void)state;
    double a[8], b[6];
    for (int i = 0; i < 8; i++)
        a[i] = 32;
    for (int i = 0; i < 6; i++)
        b[i] = 64;
    st_interval interval = st_ratio_interval_unpaired(a, 8, b, 6);
    assert_true(interval.low == 0.5 && interval.centre == 0.5 && interval.high == 0.5);
    interval = st_ratio_interval_unpaired(a, 1, b, 1);
    assert_true(interval.low == 0.5 && interval.high == 0.5);
}

static void inputs_stay_as_they_are_and_their_order_means_nothing(void **state)
{
    (void)state;
    double a[] = {5, 1, 4, 2, 3, 9, 7}, kept[7], sorted[] = {1, 2, 3, 4, 5, 7, 9};
    memcpy(kept, a, sizeof a);
    st_interval one = st_ratio_interval_unpaired(a, 7, sorted, 7), two = st_ratio_interval_unpaired(sorted, 7, a, 7);
    assert_memory_equal(a, kept, sizeof a);
    assert_true(one.low == two.low && one.high == two.high && one.centre == 1);
}

static void assert_unknown(st_interval interval)
{
    assert_true(isnan(interval.low) && isnan(interval.centre) && isnan(interval.high));
}

static void what_is_unknown_stays_so(void **state)
{
    (void)state;
    double fine[] = {1, 2, 3}, nan[] = {1, NAN, 3}, zero[] = {0, 0, 0}, infinite[] = {1, INFINITY, INFINITY};
    assert_unknown(st_ratio_interval_unpaired(fine, 0, fine, 3));
    assert_unknown(st_ratio_interval_unpaired(fine, 3, fine, 0));
    assert_unknown(st_ratio_interval_unpaired(nan, 3, fine, 3));
    assert_unknown(st_ratio_interval_unpaired(fine, 3, nan, 3));
    assert_unknown(st_ratio_interval_unpaired(fine, 3, zero, 3));
    assert_unknown(st_ratio_interval_unpaired(zero, 3, fine, 3));
    assert_unknown(st_ratio_interval_unpaired(infinite, 3, fine, 3));
}

static void without_memory_it_is_unknown(void **state)
{
    (void)state;
    double a[] = {1, 2, 3}, b[] = {2, 3, 4};
    for (unsigned long n = 1;; n++) {
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_interval interval = st_ratio_interval_unpaired(a, 3, b, 3);
        bool hit = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        if (!hit) {
            assert_true(n > 4 && interval.centre > 0);
            break;
        }
        assert_unknown(interval);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_drawing_would_give),
        cmocka_unit_test(it_covers_the_truth_as_often_as_it_says),
        cmocka_unit_test(exchanged_samples_give_the_inverse),
        cmocka_unit_test(samples_that_never_differ_give_a_point),
        cmocka_unit_test(inputs_stay_as_they_are_and_their_order_means_nothing),
        cmocka_unit_test(what_is_unknown_stays_so),
        cmocka_unit_test(without_memory_it_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
