// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. inputs are never reordered; 2. an allocation that fails gives NaN, which every reader
// treats as unknown; 3. the same seed gives the same numbers on every machine.
#include "tuner/base/statistics.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void st_random_seed(st_random *random, uint64_t seed)
{
    random->state = seed;
}

// splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
uint64_t st_random_next(st_random *random)
{
    uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t st_random_below(st_random *random, uint64_t bound)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound; // values at or above it would favour the small
    uint64_t value;
    do
        value = st_random_next(random);
    while (value >= limit);
    return value % bound;
}

double st_random_unit(st_random *random)
{
    return (double)(st_random_next(random) >> 11) * 0x1p-53;
}

void st_random_shuffle(st_random *random, size_t *order, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)st_random_below(random, i);
        size_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A sorted copy, NULL when memory is out or a sample is NaN.
static double *sorted(const double *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(samples[i]))
            return NULL;
    double *copy = count ? st_malloc(count * sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, samples, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, by_value);
    return copy;
}

static double quantile_of_sorted(const double *ordered, size_t count, double q)
{
    double place = q * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return ordered[count - 1];
    double share = place - (double)below;
    if (share == 0) // also where the next is infinite
        return ordered[below];
    return ordered[below] + share * (ordered[below + 1] - ordered[below]);
}

double st_quantile(const double *samples, size_t count, double q)
{
    double *ordered = sorted(samples, count);
    double value = ordered ? quantile_of_sorted(ordered, count, q) : NAN;
    st_free(ordered);
    return value;
}

// Puts the k-th smallest at its place and nothing larger before it (Hoare's selection, middle as pivot).
static double select_smallest(double *values, size_t count, size_t k)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            double kept = values[i];
            values[i++] = values[j];
            values[j--] = kept;
        }
        // Everything up to j is at most the pivot, everything after it at least.
        if (values[j] > pivot)
            j--;
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[k];
}

// As st_quantile(…, 0.5), by selection: bootstraps take hundreds of thousands of medians. Reorders `values`.
static double median_in_place(double *values, size_t count)
{
    double upper = select_smallest(values, count, count / 2);
    if (count % 2 == 1)
        return upper;
    double lower = values[0]; // the largest of the lower half
    for (size_t i = 1; i < count / 2; i++)
        if (values[i] > lower)
            lower = values[i];
    return lower == upper ? lower : lower + 0.5 * (upper - lower); // equal infinities too
}

double st_median(const double *samples, size_t count)
{
    double *copy = count ? st_malloc(count * sizeof *copy) : NULL;
    bool known = copy != NULL;
    for (size_t i = 0; i < count && known; i++) {
        copy[i] = samples[i];
        known = !isnan(samples[i]);
    }
    double value = known ? median_in_place(copy, count) : NAN;
    st_free(copy);
    return value;
}

double st_mean(const double *samples, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += samples[i];
    return count ? sum / (double)count : NAN;
}

double st_minimum(const double *samples, size_t count)
{
    return st_quantile(samples, count, 0);
}

double st_mad(const double *samples, size_t count)
{
    double centre = st_median(samples, count);
    double *away = count ? st_malloc(count * sizeof *away) : NULL;
    if (!away)
        return NAN;
    for (size_t i = 0; i < count; i++)
        away[i] = fabs(samples[i] - centre);
    double value = 1.4826 * st_median(away, count);
    st_free(away);
    return value;
}

// Ranks of a distribution-free interval (Conover, Practical Nonparametric Statistics, 3rd ed., 3.2): the
// number of samples below the median is binomial(n, 1/2); its normal approximation, ranks rounded
// outwards, so that the level is at least about 95 %.
st_interval st_median_interval(const double *samples, size_t count)
{
    st_interval interval = {NAN, NAN, NAN};
    double *ordered = sorted(samples, count);
    if (!ordered)
        return interval;
    interval.centre = quantile_of_sorted(ordered, count, 0.5);
    if (count < 6) {
        interval.low = ordered[0];
        interval.high = ordered[count - 1];
    } else {
        double half = 0.98 * sqrt((double)count); // 1.96 × sqrt(n) / 2
        double low = floor((double)count / 2 - half), high = ceil((double)count / 2 + half);
        size_t lowest = low < 0 ? 0 : (size_t)low;
        size_t highest = high > (double)(count - 1) ? count - 1 : (size_t)high;
        interval.low = ordered[lowest];
        interval.high = ordered[highest];
    }
    st_free(ordered);
    return interval;
}

st_interval st_ratio_interval(const double *a, const double *b, size_t count, size_t resamples,
                              uint64_t seed)
{
    st_interval interval = {NAN, NAN, NAN};
    interval.centre = st_median(a, count) / st_median(b, count);
    double *ratios = st_malloc(resamples * sizeof *ratios);
    double *drawn_a = st_malloc((count ? count : 1) * sizeof *drawn_a);
    double *drawn_b = st_malloc((count ? count : 1) * sizeof *drawn_b);
    if (ratios && drawn_a && drawn_b && count && resamples && !isnan(interval.centre)) {
        st_random random;
        st_random_seed(&random, seed);
        for (size_t r = 0; r < resamples; r++) {
            for (size_t i = 0; i < count; i++) {
                size_t pick = (size_t)st_random_below(&random, count);
                drawn_a[i] = a[pick];
                drawn_b[i] = b[pick];
            }
            ratios[r] = median_in_place(drawn_a, count) / median_in_place(drawn_b, count);
        }
        interval.low = st_quantile(ratios, resamples, 0.025);
        interval.high = st_quantile(ratios, resamples, 0.975);
    }
    st_free(drawn_b);
    st_free(drawn_a);
    st_free(ratios);
    return interval;
}
