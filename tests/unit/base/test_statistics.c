// SPDX-License-Identifier: Apache-2.0
// Statistics of samples. Invariants of statistics.c: 1. inputs are never reordered; 2. an allocation that fails
// gives NaN; 3. the same seed gives the same numbers everywhere.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * (1 + fabs(wanted))))
        fail_msg("%.17g is not %.17g", value, wanted);
}

// Known answers of splitmix64 with seed 1234567 (the generator's published reference values).
static void test_random(void **state)
{
    (void)state;
    static const uint64_t known[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                     4593380528125082431u, 16408922859458223821u};
    st_random random;
    st_random_seed(&random, 1234567);
    for (size_t i = 0; i < 5; i++)
        assert_true(st_random_next(&random) == known[i]);
}

static void test_random_ranges(void **state)
{
    (void)state;
    st_random random;
    st_random_seed(&random, 7);
    size_t seen[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint64_t value = st_random_below(&random, 7);
        assert_true(value < 7);
        seen[value]++;
        double unit = st_random_unit(&random);
        assert_true(unit >= 0 && unit < 1);
    }
    for (int i = 0; i < 7; i++) // 10000 each, 5 standard deviations are 463
        assert_in_range(seen[i], 9500, 10500);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(st_random_below(&random, 1), 0);
        assert_true(st_random_below(&random, UINT64_MAX) < UINT64_MAX);
    }
}

static void test_shuffle(void **state)
{
    (void)state;
    size_t order[50], again[50];
    bool seen[50] = {false}, moved = false;
    st_random random;
    for (size_t i = 0; i < 50; i++)
        order[i] = again[i] = i;
    st_random_seed(&random, 3);
    st_random_shuffle(&random, order, 50);
    st_random_seed(&random, 3);
    st_random_shuffle(&random, again, 50);
    assert_memory_equal(order, again, sizeof order);
    for (size_t i = 0; i < 50; i++) {
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
        moved = moved || order[i] != i;
    }
    assert_true(moved);
    st_random_shuffle(&random, order, 1);
    st_random_shuffle(&random, order, 0);
}

static void test_quantiles(void **state)
{
    (void)state;
    const double samples[] = {4, 1, 3, 2}, kept[] = {4, 1, 3, 2}, one[] = {5};
    near(st_quantile(samples, 4, 0), 1);
    near(st_quantile(samples, 4, 1), 4);
    near(st_quantile(samples, 4, 0.5), 2.5);
    near(st_quantile(samples, 4, 0.25), 1.75); // type 7: 1 + 3 × 0.25
    near(st_quantile(samples, 4, 0.1), 1.3);
    near(st_median(samples, 3), 3);
    near(st_minimum(samples, 4), 1);
    near(st_mean(samples, 4), 2.5);
    for (double q = 0; q <= 1; q += 0.125)
        near(st_quantile(one, 1, q), 5);
    assert_memory_equal(samples, kept, sizeof samples); // invariant 1
}

static void test_mad(void **state)
{
    (void)state;
    const double samples[] = {1, 1, 2, 2, 4, 6, 9}, same[] = {3, 3, 3};
    near(st_mad(samples, 7), 1.4826); // deviations from 2: 1 1 0 0 2 4 7, median 1
    near(st_mad(same, 3), 0);
}

static void test_unknown(void **state)
{
    (void)state;
    const double samples[] = {1, NAN, 3}, fine[] = {1, 2, 3}, endless[] = {1, INFINITY, 3};
    assert_true(isnan(st_median(samples, 3)));
    assert_true(isnan(st_minimum(samples, 3)));
    assert_true(isnan(st_mean(samples, 3)));
    assert_true(isnan(st_mad(samples, 3)));
    assert_true(isnan(st_median_interval(samples, 3).low));
    assert_true(isnan(st_ratio_interval(samples, fine, 3, 100, 1).centre));
    assert_true(isnan(st_ratio_interval(fine, samples, 3, 100, 1).high));
    assert_true(isnan(st_median(fine, 0)));
    assert_true(isnan(st_mean(fine, 0)));
    assert_true(isnan(st_mad(fine, 0)));
    assert_true(isnan(st_median_interval(fine, 0).centre));
    assert_true(isnan(st_ratio_interval(fine, fine, 0, 100, 1).centre));
    near(st_median(endless, 3), 3);
}

// Chance that the median lies within the given ranks (0-based, both ends included): the number of samples
// below it is binomial(count, 1/2).
static double coverage(size_t count, size_t low, size_t high)
{
    double sum = 0;
    for (size_t below = low + 1; below <= high; below++)
        sum += exp(lgamma((double)count + 1) - lgamma((double)below + 1) - lgamma((double)(count - below) + 1) -
                   (double)count * log(2));
    return sum;
}

static void test_median_interval(void **state)
{
    (void)state;
    double samples[300];
    for (size_t i = 0; i < 300; i++)
        samples[i] = (double)i;
    for (size_t count = 1; count < 6; count++) {
        st_interval interval = st_median_interval(samples, count);
        near(interval.low, 0);
        near(interval.high, (double)(count - 1));
        near(interval.centre, (double)(count - 1) / 2);
    }
    for (size_t count = 6; count <= 300; count++) {
        st_interval interval = st_median_interval(samples, count);
        assert_true(interval.low <= interval.centre && interval.centre <= interval.high);
        double covered = coverage(count, (size_t)interval.low, (size_t)interval.high);
        if (!(covered >= 0.945))
            fail_msg("%zu samples: the interval covers %.4f", count, covered);
        if (count > 30 && !(covered <= 0.985))
            fail_msg("%zu samples: the interval is too wide: %.4f", count, covered);
    }
}

static void test_ratio_interval(void **state)
{
    (void)state;
    double a[60], b[60];
    st_random random;
    st_random_seed(&random, 11);
    // The pairs share a slow drift that is larger than their difference.
    for (size_t i = 0; i < 60; i++) {
        double drift = 1 + 0.2 * (double)i / 60;
        a[i] = 1.10 * drift * (1 + 0.002 * st_random_unit(&random));
        b[i] = drift * (1 + 0.002 * st_random_unit(&random));
    }
    st_interval ratio = st_ratio_interval(a, b, 60, 1000, 5), again = st_ratio_interval(a, b, 60, 1000, 5);
    assert_memory_equal(&ratio, &again, sizeof ratio);
    assert_true(ratio.low <= ratio.centre && ratio.centre <= ratio.high);
    assert_true(ratio.low > 1.09 && ratio.high < 1.11); // pairing takes the drift out
    st_interval same = st_ratio_interval(a, a, 60, 500, 5);
    near(same.low, 1);
    near(same.centre, 1);
    near(same.high, 1);
    st_interval single = st_ratio_interval(a, b, 1, 100, 5);
    near(single.low, a[0] / b[0]);
    near(single.high, a[0] / b[0]);
    assert_true(isnan(st_ratio_interval(a, b, 60, 0, 5).low)); // no resamples, no interval
}

// Invariant 2: each allocation fails in turn, and the answer is either right or NaN.
static void test_no_memory(void **state)
{
    (void)state;
    const double a[] = {2, 4, 6, 8, 10, 12, 14}, b[] = {1, 2, 3, 4, 5, 6, 7};
    for (unsigned long n = 1; n < 200; n++) {
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        double values[] = {st_median(a, 7), st_mad(a, 7), st_minimum(a, 7)};
        st_interval interval = st_median_interval(a, 7), ratio = st_ratio_interval(a, b, 7, 20, 1);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_true(isnan(values[0]) || values[0] == 8);
        assert_true(isnan(values[1]) || fabs(values[1] - 4 * 1.4826) < 1e-9);
        assert_true(isnan(values[2]) || values[2] == 2);
        assert_true(isnan(interval.low) || interval.low == 2);
        assert_true(isnan(ratio.centre) || ratio.centre == 2);
        assert_true(isnan(ratio.low) || ratio.low == 2);
        if (!injected)
            return;
    }
    fail_msg("the trial without a fault was never reached");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),          cmocka_unit_test(test_random_ranges),
        cmocka_unit_test(test_shuffle),         cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_mad),             cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_median_interval), cmocka_unit_test(test_ratio_interval),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
