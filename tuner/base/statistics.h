// SPDX-License-Identifier: Apache-2.0
// Statistics of samples. Promise: exact definitions, no hidden randomness (resampling takes a seed),
// NaN in is NaN out, unknown is NaN and never 0.
#ifndef SIMTUNE_BASE_STATISTICS_H
#define SIMTUNE_BASE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

// A small deterministic generator (splitmix64): the same seed gives the same run everywhere.
typedef struct st_random { uint64_t state; } st_random;
void st_random_seed(st_random *random, uint64_t seed);
uint64_t st_random_next(st_random *random);
uint64_t st_random_below(st_random *random, uint64_t bound); // 0 … bound-1, unbiased; bound ≥ 1
double st_random_unit(st_random *random);                    // [0, 1)
void st_random_shuffle(st_random *random, size_t *order, size_t count);

// Quantile q (0…1) with linear interpolation (type 7) of `count` ≥ 1 samples. Does not change them.
double st_quantile(const double *samples, size_t count, double q);
double st_median(const double *samples, size_t count);
double st_mean(const double *samples, size_t count);
double st_minimum(const double *samples, size_t count);
// Median absolute deviation × 1.4826: a robust standard deviation.
double st_mad(const double *samples, size_t count);

typedef struct st_interval { double low, centre, high; } st_interval;
// 95 % interval of the median by the order-statistic (binomial) rule; for fewer than 6 samples it is
// [minimum, maximum] (the widest that the data can tell).
st_interval st_median_interval(const double *samples, size_t count);
// Ratio median(a)/median(b) of *paired* samples (a[i] and b[i] were taken in the same round), with the
// 95 % percentile interval of `resamples` bootstrap resamples of the pairs.
st_interval st_ratio_interval(const double *a, const double *b, size_t count, size_t resamples,
                              uint64_t seed);
// The same of samples that were *not* taken together: the 95 % interval of the bootstrap that draws from each side
// by itself, computed exactly (no resamples, no seed). NaN in the interval: a count of 0, a NaN, a median of 0, or
// no memory.
st_interval st_ratio_interval_unpaired(const double *a, size_t a_count, const double *b, size_t b_count);

#endif
