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
#include "reference_values.cuh"

namespace simtune {

enum { REFERENCE_BLOCKS = 1024, REFERENCE_THREADS = 256 };

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
         i += (u64)gridDim.x * REFERENCE_THREADS)
        reference_add_element<OPERATION, R>(state, in[i]);
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
