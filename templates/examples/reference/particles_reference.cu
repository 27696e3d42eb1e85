// SPDX-License-Identifier: Apache-2.0
// The plain reference of `particles`, in float64, and how far each number may be off, in units of 2^-24: for
// each pair 24 of its pull (differences, a square, a root that is off by two units in the last place and is
// taken three times, products) and the rounding of a sum of so many; see the template's `compare`.
#ifndef SIMTUNE_PARTICLES_REFERENCE_CU
#define SIMTUNE_PARTICLES_REFERENCE_CU
#include "particles.cu"

namespace simtune {

__device__ inline double reference_size(double x) {
    return x < 0 ? -x : x;
}

// A thread a particle.
template <class Config>
__global__ void reference_particles(const float *place, const float *velocity, double *right_place,
                                    double *right_velocity, double *off_place, double *off_velocity,
                                    unsigned long long n, unsigned long long cell, float rate) {
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const unsigned long long first = i / cell * cell, end = cell < n - first ? first + cell : n;
    double pull[3] = {0, 0, 0}, size[3] = {0, 0, 0};
    for (unsigned long long j = first; j < end; j++) {
        double d[3], square = 0.015625;
        for (int k = 0; k < 3; k++) {
            d[k] = (double)place[4 * j + k] - (double)place[4 * i + k];
            square += d[k] * d[k];
        }
        const double factor = (double)place[4 * j + 3] / (square * sqrt(square));
        for (int k = 0; k < 3; k++) {
            pull[k] += d[k] * factor;
            size[k] += reference_size(d[k] * factor);
        }
    }
    const double span = 1.0 / (double)rate, each = 24.0 + 6.0 * sqrt((double)(end - first));
    for (int k = 0; k < 4; k++) {
        const unsigned long long at = 4 * i + k;
        const double speed = (double)velocity[at] + (k < 3 ? span * pull[k] : 0.0);
        const double moved = (double)place[at] + (k < 3 ? span * speed : 0.0);
        const double off = k < 3 ? span * size[k] * each + reference_size(speed) : 0.0;
        right_velocity[at] = speed;
        off_velocity[at] = off;
        right_place[at] = moved;
        off_place[at] = k < 3 ? span * off + reference_size(moved) : 0.0;
    }
}

} // namespace simtune

#endif // SIMTUNE_PARTICLES_REFERENCE_CU
