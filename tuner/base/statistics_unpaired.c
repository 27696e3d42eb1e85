// SPDX-License-Identifier: Apache-2.0
// The ratio of two medians of samples that were taken apart. Invariants: 1. inputs are never reordered; 2. nothing
// is drawn: the distribution of a resampled median is known (Maritz and Jarrett, A Note on Estimating the Variance
// of the Sample Median, 1978): it is the j-th smallest sample with the chance that of n draws just enough fall at or
// below it; 3. the interval is that of the quotient of two independent such medians.
#include "tuner/base/statistics.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Continued fraction of the incomplete beta function, by the modified method of Lentz.
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int i = 1; i <= 500; i++) {
        double step = 1;
        const double terms[] = {i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i)),
                                -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1))};
        for (int k = 0; k < 2; k++) {
            d = 1 + terms[k] * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + terms[k] / c;
            c = fabs(c) < tiny ? tiny : c;
            step = c * d;
            h *= step;
        }
        if (fabs(step - 1) < 1e-12)
            break;
    }
    return h;
}

// The chance that at least m of n draws succeed, each with the chance p: the regularized incomplete beta function.
static double at_least(size_t m, size_t n, double p)
{
    if (p <= 0 || p >= 1)
        return p >= 1;
    double a = (double)m, b = (double)(n - m) + 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(p) + b * log1p(-p));
    return p < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, p) / a : 1 - front * beta_fraction(b, a, 1 - p) / b;
}

typedef struct medians { // the values that a resampled median can have, with their chances; ascending
    double *values, *below; // below[i]: the chance of values[0 … i]
    size_t count;
} medians;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void release(medians *made)
{
    st_free(made->values);
    st_free(made->below);
}

// The median of an even number of draws is the mean of two; it is taken as either of them, which is a little wider.
static bool make(const double *samples, size_t n, medians *out)
{
    *out = (medians){.values = st_malloc((n ? n : 1) * sizeof(double)),
                     .below = st_malloc((n ? n : 1) * sizeof(double))};
    bool known = n && out->values && out->below;
    for (size_t i = 0; i < n && known; i++)
        known = !isnan(samples[i]);
    if (!known)
        return false;
    memcpy(out->values, samples, n * sizeof(double));
    qsort(out->values, n, sizeof(double), by_value);
    size_t lower = (n + 1) / 2, upper = n / 2 + 1; // ranks from 1
    // Beyond four deviations of the rank the chance is under 1e-4 on each side: it goes to the last one kept.
    double far = 2 + 2 * sqrt((double)n);
    size_t first = (double)lower > far ? lower - (size_t)far : 1, last = upper + (size_t)far;
    if (last > n)
        last = n;
    for (size_t j = first; j <= last; j++) {
        double p = (double)j / (double)n;
        double chance = j == last ? 1 : 0.5 * (at_least(lower, n, p) + at_least(upper, n, p));
        out->values[out->count] = out->values[j - 1];
        out->below[out->count++] = chance;
    }
    return true;
}

// The chance that a/b is at most x. Both lists ascend, so one walk does.
static double chance_of(const medians *a, const medians *b, double x)
{
    double chance = 0, before = 0;
    size_t i = 0;
    for (size_t j = 0; j < b->count; j++) {
        while (i < a->count && a->values[i] <= x * b->values[j])
            i++;
        chance += (b->below[j] - before) * (i ? a->below[i - 1] : 0);
        before = b->below[j];
    }
    return chance;
}

// The least x whose chance reaches q.
static double quantile(const medians *a, const medians *b, double q)
{
    double low = a->values[0] / b->values[b->count - 1], high = a->values[a->count - 1] / b->values[0];
    if (chance_of(a, b, low) >= q)
        return low;
    for (int i = 0; i < 60 && high - low > 1e-12 * high; i++) {
        double middle = low + 0.5 * (high - low);
        if (chance_of(a, b, middle) >= q)
            high = middle;
        else
            low = middle;
    }
    return high;
}

st_interval st_ratio_interval_unpaired(const double *a, size_t a_count, const double *b, size_t b_count)
{
    st_interval interval = {NAN, NAN, NAN};
    medians of_a, of_b = {0};
    bool known = make(a, a_count, &of_a);
    known = make(b, b_count, &of_b) && known;
    if (known)
        interval.centre = st_median(a, a_count) / st_median(b, b_count);
    if (isfinite(interval.centre) && of_a.values[0] > 0 && of_b.values[0] > 0 &&
        isfinite(of_a.values[of_a.count - 1] / of_b.values[0])) {
        interval.low = quantile(&of_a, &of_b, 0.025);
        interval.high = quantile(&of_a, &of_b, 0.975);
    } else {
        interval.centre = NAN;
    }
    release(&of_a);
    release(&of_b);
    return interval;
}
