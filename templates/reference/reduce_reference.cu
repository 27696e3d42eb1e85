// SPDX-License-Identifier: Apache-2.0
// The plain reference of the `reduce` family: slow enough to be simple, separately written, and
// itself checked against the CPU (tests/bench/reduce_check.cu). Of the template it takes the types
// and words alone.
//
//  - floats: float64 with the rounding error of every addition carried along (TwoSum), and the sum
//    of |x|; a sum that is not finite drops its error term, which is NaN then;
//  - integers: sums wrap in 64 bits and are cut to the type;
//  - min, max: a NaN anywhere gives NaN.
// Two kernels: up to REFERENCE_BLOCKS blocks leave three numbers each in a variable of this
// program, then one thread adds those in order.
#ifndef SIMTUNE_REDUCE_REFERENCE_CU
#define SIMTUNE_REDUCE_REFERENCE_CU
#include "reduce.cu"

namespace simtune {

enum { REFERENCE_BLOCKS = 1024, REFERENCE_THREADS = 256 };

// How a type is read: floats as double, integers as themselves.
template <class T> struct reference_type { typedef T R; };
template <> struct reference_type<float> { typedef double R; };
template <> struct reference_type<simtune_half> { typedef double R; };
template <> struct reference_type<simtune_bfloat16> { typedef double R; };

template <class T> __device__ T reference_read(T value) {
    return value;
}
__device__ inline double reference_read(float value) {
    return (double)value;
}
__device__ inline double reference_read(simtune_half value) {
    const int exponent = (value.bits >> 10) & 31, fraction = value.bits & 1023;
    double size =
        exponent == 0 ? fraction * (1.0 / 16777216.0) : (1024 + fraction) * (1.0 / 1024.0);
    for (int e = exponent; e > 15 && exponent != 31; e--)
        size *= 2.0;
    for (int e = exponent; e > 0 && e < 15; e++)
        size *= 0.5;
    if (exponent == 31)
        size = limits<double>::greatest() * (fraction ? 0.0 : 1.0); // infinity times 0 is NaN
    return value.bits & 0x8000u ? -size : size;
}
__device__ inline double reference_read(simtune_bfloat16 value) {
    union {
        unsigned int bits;
        float number;
    } both;
    both.bits = (unsigned int)value.bits << 16;
    return (double)both.number;
}

// What a thread, a block, the grid knows so far.
template <class R> struct reference_state {
    R value, error;
    double magnitude;
};

template <class R> __device__ R reference_sum(R a, R b, R *) {
    return (R)((u64)a + (u64)b);
}
__device__ inline double reference_sum(double a, double b, double *error) {
    const double sum = a + b, b_part = sum - a, a_part = sum - b_part;
    *error += (a - a_part) + (b - b_part);
    return sum;
}

template <int OPERATION, class R>
__device__ void reference_add(reference_state<R> &to, const reference_state<R> &from) {
    if (OPERATION == op_sum) {
        to.value = reference_sum(to.value, from.value, &to.error);
        to.error = (R)(to.error + from.error);
    } else if (to.value == to.value) { // not a NaN already
        const bool better = OPERATION == op_min ? from.value < to.value : to.value < from.value;
        if (better || from.value != from.value)
            to.value = from.value;
    }
    to.magnitude += from.magnitude;
}

template <int OPERATION, class R> __device__ reference_state<R> reference_empty() {
    reference_state<R> state = {(R)0, (R)0, 0.0};
    if (OPERATION != op_sum)
        state.value = OPERATION == op_min ? limits<R>::greatest() : limits<R>::least();
    return state;
}

// The partial results of one reference run: bits of value and error, magnitude.
__device__ u64 reference_partial_value[REFERENCE_BLOCKS];
__device__ u64 reference_partial_error[REFERENCE_BLOCKS];
__device__ double reference_partial_magnitude[REFERENCE_BLOCKS];

template <class R> __device__ u64 reference_pack(R value) {
    union {
        u64 bits;
        R number;
    } both;
    both.bits = 0;
    both.number = value;
    return both.bits;
}
template <class R> __device__ R reference_unpack(u64 bits) {
    union {
        u64 bits;
        R number;
    } both;
    both.bits = bits;
    return both.number;
}

// grid: at most REFERENCE_BLOCKS, block: REFERENCE_THREADS.
template <class Config>
__global__ void reference_reduce_blocks(const typename Config::T *in, u64 n) {
    typedef typename reference_type<typename Config::T>::R R;
    const int OPERATION = Config::op;
    __shared__ R value[REFERENCE_THREADS], error[REFERENCE_THREADS];
    __shared__ double magnitude[REFERENCE_THREADS];
    reference_state<R> state = reference_empty<OPERATION, R>();
    for (u64 i = (u64)blockIdx.x * REFERENCE_THREADS + threadIdx.x; i < n;
         i += (u64)gridDim.x * REFERENCE_THREADS) {
        reference_state<R> one = {reference_read(in[i]), (R)0, 0.0};
        one.magnitude = (double)one.value;
        if (one.magnitude < 0)
            one.magnitude = -one.magnitude;
        reference_add<OPERATION, R>(state, one);
    }
    value[threadIdx.x] = state.value;
    error[threadIdx.x] = state.error;
    magnitude[threadIdx.x] = state.magnitude;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < REFERENCE_THREADS; i++) {
        const reference_state<R> other = {value[i], error[i], magnitude[i]};
        reference_add<OPERATION, R>(state, other);
    }
    reference_partial_value[blockIdx.x] = reference_pack(state.value);
    reference_partial_error[blockIdx.x] = reference_pack(state.error);
    reference_partial_magnitude[blockIdx.x] = state.magnitude;
}

// One thread.
template <class Config>
__global__ void reference_reduce_total(typename reference_type<typename Config::T>::R *expected,
                                       double *magnitude, u64 blocks) {
    typedef typename reference_type<typename Config::T>::R R;
    const int OPERATION = Config::op;
    reference_state<R> state = reference_empty<OPERATION, R>();
    for (u64 i = 0; i < blocks; i++) {
        const reference_state<R> other = {reference_unpack<R>(reference_partial_value[i]),
                                          reference_unpack<R>(reference_partial_error[i]),
                                          reference_partial_magnitude[i]};
        reference_add<OPERATION, R>(state, other);
    }
    const R total = (R)(state.value + state.error);
    *expected = total == total ? total : state.value;
    *magnitude = state.magnitude;
}

} // namespace simtune

#endif // SIMTUNE_REDUCE_REFERENCE_CU
