// SPDX-License-Identifier: Apache-2.0
// The plain reference of `special`: in float64, by Newton's method between two bounds, which are halved
// where it leaves them, so that it cannot diverge. Also how far a result may be off, in units of 2^-24: see the template's `compare`.
#ifndef SIMTUNE_SPECIAL_REFERENCE_CU
#define SIMTUNE_SPECIAL_REFERENCE_CU
#include "special.cu"

namespace simtune {

// Left side minus right side, which grows with `at`, and its slope.
template <int EQUATION>
__device__ double reference_special_missed(double at, double x, double e, double *slope) {
    if (EQUATION == equation_kepler) {
        *slope = 1.0 - e * cos(at);
        return at - e * sin(at) - x;
    }
    *slope = exp(at) * (1.0 + at);
    return at * exp(at) - x;
}

// A thread a right side.
template <class Config>
__global__ void reference_special(const typename Config::T *x, double *right, double *allowed,
                                  unsigned long long n, unsigned int percent) {
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    // The eccentricity as the kernels have it: a float32 product.
    const double e = (double)((float)percent * 0.01f);
    double value = (double)x[i], slope;
    if (Config::equation == equation_lambert && value < 0)
        value = -value;
    // |sin| <= 1; w exp(w) = x has 0 <= w <= log(1 + x).
    double low = Config::equation == equation_kepler ? value - 1.0 : 0.0;
    double high = Config::equation == equation_kepler ? value + 1.0 : log1p(value);
    double at = Config::equation == equation_kepler ? value : high;
    for (int k = 0; k < 100; k++) {
        const double missed = reference_special_missed<Config::equation>(at, value, e, &slope);
        if (missed < 0)
            low = at;
        else
            high = at;
        double next = at - missed / slope;
        if (!(next >= low && next <= high))
            next = 0.5 * (low + high);
        const double moved = next < at ? at - next : next - at, size = next < 0 ? -next : next;
        at = next;
        if (moved <= 1e-15 * size)
            break;
    }
    right[i] = at;
    allowed[i] = 16.0 * (at < 0 ? -at : at) + (Config::bound == bound_absolute ? 64.0 : 0.0);
}

} // namespace simtune

#endif // SIMTUNE_SPECIAL_REFERENCE_CU
