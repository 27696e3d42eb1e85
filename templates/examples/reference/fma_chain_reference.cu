// SPDX-License-Identifier: Apache-2.0
// The plain reference of `fma_chain`: Horner's rule in float64, each step's two rounding errors carried
// along (Graillat, Langlois and Louvet's compensated Horner scheme), so that it is right for f64 too;
// and the sum of the terms' absolute values. Of the template it takes the words alone.
#ifndef SIMTUNE_FMA_CHAIN_REFERENCE_CU
#define SIMTUNE_FMA_CHAIN_REFERENCE_CU
#include "fma_chain.cu"

namespace simtune {

// A thread a point.
template <class Config>
__global__ void reference_fma_chain(const typename Config::T *coefficients,
                                    const typename Config::T *x, double *right, double *magnitude,
                                    unsigned long long n, unsigned long long length) {
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double at = (double)x[i], value = 0, error = 0, absolute = 0;
    if (at > 1)
        at = 1;
    if (at < -1)
        at = -1;
    const double size = at < 0 ? -at : at;
    for (unsigned long long k = length; k-- > 0;) {
        const double c = (double)coefficients[k];
        // Not left to the compiler, which would make one operation of two.
        const double product = __dmul_rn(value, at), lost = fma(value, at, -product);
        const double sum = __dadd_rn(product, c), part = __dadd_rn(sum, -product);
        const double missed = (product - __dadd_rn(sum, -part)) + (c - part);
        value = sum;
        error = error * at + (lost + missed);
        absolute = absolute * size + (c < 0 ? -c : c);
    }
    right[i] = value + error;
    magnitude[i] = absolute;
}

} // namespace simtune

#endif // SIMTUNE_FMA_CHAIN_REFERENCE_CU
