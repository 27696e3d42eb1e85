// SPDX-License-Identifier: Apache-2.0
// The plain reference of the `scan` family: slow enough to be simple, separately written. Of the
// template it takes the types and words alone.
//
//  - floats: float64 with the rounding error of every addition carried along (TwoSum), and the
//    prefix of |x|; where a sum is not finite its error term is dropped, which is NaN then;
//  - integers: sums wrap in 64 bits and are cut to the type;
//  - min, max: a NaN anywhere before gives NaN.
// Each of up to REFERENCE_CHUNKS warps adds up a stretch; one block scans these sums; each warp goes
// over its stretch again, 32 elements at a time, and writes what is right at every place.
#ifndef SIMTUNE_SCAN_REFERENCE_CU
#define SIMTUNE_SCAN_REFERENCE_CU
#include "scan.cu"
#include "reference_values.cuh"

namespace simtune {

enum { REFERENCE_CHUNKS = 16384, REFERENCE_THREADS = 256 };

// Of each stretch: its sum, then what lies before it. Bits of value and error, magnitude.
__device__ u64 reference_chunk_value[REFERENCE_CHUNKS];
__device__ u64 reference_chunk_error[REFERENCE_CHUNKS];
__device__ double reference_chunk_magnitude[REFERENCE_CHUNKS];

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
template <class R> __device__ void reference_keep(u64 chunk, const reference_state<R> &state) {
    reference_chunk_value[chunk] = reference_pack(state.value);
    reference_chunk_error[chunk] = reference_pack(state.error);
    reference_chunk_magnitude[chunk] = state.magnitude;
}
template <class R> __device__ reference_state<R> reference_kept(u64 chunk) {
    const reference_state<R> state = {reference_unpack<R>(reference_chunk_value[chunk]),
                                      reference_unpack<R>(reference_chunk_error[chunk]),
                                      reference_chunk_magnitude[chunk]};
    return state;
}

__device__ inline u64 reference_first(u64 chunk, u64 n, u64 chunks) {
    const u64 length = (n + chunks - 1) / chunks;
    return chunk * length < n ? chunk * length : n;
}

// Another lane's state.
template <class R>
__device__ reference_state<R> reference_shuffle(const reference_state<R> &state, int lane) {
    reference_state<R> other;
    other.value = reference_unpack<R>(__shfl_sync(0xffffffffu, reference_pack(state.value), lane));
    other.error = reference_unpack<R>(__shfl_sync(0xffffffffu, reference_pack(state.error), lane));
    other.magnitude = reference_unpack<double>(
        __shfl_sync(0xffffffffu, reference_pack(state.magnitude), lane));
    return other;
}
// What lies before this lane's state and with it.
template <int OPERATION, class R>
__device__ reference_state<R> reference_scan_lanes(reference_state<R> state) {
    const int lane = threadIdx.x % 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        reference_state<R> lower =
            reference_shuffle(state, lane >= distance ? lane - distance : lane);
        if (lane >= distance) {
            reference_add<OPERATION, R>(lower, state);
            state = lower;
        }
    }
    return state;
}

// `chunks` warps, at most REFERENCE_CHUNKS.
template <class Config>
__global__ void reference_scan_chunks(const typename Config::T *in, u64 n, u64 chunks) {
    typedef typename reference_type<typename Config::T>::R R;
    const int OPERATION = Config::op, lane = threadIdx.x % 32;
    const u64 chunk = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (chunk >= chunks)
        return;
    reference_state<R> state = reference_empty<OPERATION, R>();
    const u64 end = reference_first(chunk + 1, n, chunks);
    for (u64 i = reference_first(chunk, n, chunks) + lane; i < end; i += 32)
        reference_add_element<OPERATION, R>(state, in[i]);
    state = reference_scan_lanes<OPERATION, R>(state);
    if (lane == 31)
        reference_keep<R>(chunk, state);
}

// One block of REFERENCE_THREADS.
template <class Config> __global__ void reference_scan_offsets(u64 chunks) {
    typedef typename reference_type<typename Config::T>::R R;
    const int OPERATION = Config::op;
    __shared__ R value[REFERENCE_THREADS], error[REFERENCE_THREADS];
    __shared__ double magnitude[REFERENCE_THREADS];
    const u64 first = reference_first(threadIdx.x, chunks, REFERENCE_THREADS);
    const u64 end = reference_first(threadIdx.x + 1, chunks, REFERENCE_THREADS);
    reference_state<R> state = reference_empty<OPERATION, R>();
    for (u64 chunk = first; chunk < end; chunk++)
        reference_add<OPERATION, R>(state, reference_kept<R>(chunk));
    value[threadIdx.x] = state.value;
    error[threadIdx.x] = state.error;
    magnitude[threadIdx.x] = state.magnitude;
    __syncthreads();
    state = reference_empty<OPERATION, R>();
    for (u32 i = 0; i < threadIdx.x; i++) {
        const reference_state<R> other = {value[i], error[i], magnitude[i]};
        reference_add<OPERATION, R>(state, other);
    }
    for (u64 chunk = first; chunk < end; chunk++) {
        const reference_state<R> own = reference_kept<R>(chunk);
        reference_keep<R>(chunk, state);
        reference_add<OPERATION, R>(state, own);
    }
}

template <class Config>
__global__ void reference_scan_values(const typename Config::T *in,
                                      typename reference_type<typename Config::T>::R *expected,
                                      double *magnitude, u64 n, u64 chunks) {
    typedef typename reference_type<typename Config::T>::R R;
    const int OPERATION = Config::op, lane = threadIdx.x % 32;
    const u64 chunk = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (chunk >= chunks)
        return;
    const u64 end = reference_first(chunk + 1, n, chunks);
    reference_state<R> running = reference_kept<R>(chunk); // before the 32 elements
    for (u64 base = reference_first(chunk, n, chunks); base < end; base += 32) {
        const u64 i = base + lane;
        reference_state<R> own = reference_empty<OPERATION, R>();
        if (i < end)
            reference_add_element<OPERATION, R>(own, in[i]);
        const reference_state<R> upto = reference_scan_lanes<OPERATION, R>(own);
        const reference_state<R> before = reference_shuffle(upto, lane > 0 ? lane - 1 : 0);
        reference_state<R> here = running;
        if (Config::kind != kind_exclusive)
            reference_add<OPERATION, R>(here, upto);
        else if (lane > 0)
            reference_add<OPERATION, R>(here, before);
        const R total = (R)(here.value + here.error);
        if (i < end) {
            expected[i] = total == total ? total : here.value;
            magnitude[i] = here.magnitude;
        }
        reference_add<OPERATION, R>(running, reference_shuffle(upto, 31));
    }
}

} // namespace simtune

#endif // SIMTUNE_SCAN_REFERENCE_CU
