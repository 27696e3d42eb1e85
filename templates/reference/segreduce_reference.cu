// SPDX-License-Identifier: Apache-2.0
// The plain reference of the `segreduce` family: how numbers are read, summed and compared is that of
// reduce's reference; here is only which elements make a segment. Short segments are summed by one thread
// each, long ones by a block each, and the other kernel leaves them out.
#ifndef SIMTUNE_SEGREDUCE_REFERENCE_CU
#define SIMTUNE_SEGREDUCE_REFERENCE_CU
#include "reduce_reference.cu"
#include "segreduce.cu"

namespace simtune
{

enum { REFERENCE_SHORT = 512 };

template <class R> struct segment_results {
    R *value;
    double *magnitude;

    __device__ void put(u64 segment, const reference_state<R> &state) const
    {
        const R total = (R)(state.value + state.error);
        value[segment] = total == total ? total : state.value;
        magnitude[segment] = state.magnitude;
    }
};

template <int OPERATION, class R, class T>
__device__ void segment_add(reference_state<R> &state, const T *at)
{
    reference_add_element<OPERATION, R>(state, *at);
}

template <int OPERATION, class R, class T>
__device__ void segment_by_thread(const T *in, u64 begin, u64 end, u64 segment,
                                  const segment_results<R> &to)
{
    reference_state<R> state = reference_empty<OPERATION, R>();
    if (end - begin > REFERENCE_SHORT)
        return;
    for (u64 i = begin; i < end; i++)
        segment_add<OPERATION, R>(state, in + i);
    to.put(segment, state);
}

template <int OPERATION, class R, class T>
__device__ void segment_by_block(const T *in, u64 begin, u64 end, u64 segment,
                                 const segment_results<R> &to)
{
    __shared__ R value[REFERENCE_THREADS], error[REFERENCE_THREADS];
    __shared__ double magnitude[REFERENCE_THREADS];
    reference_state<R> state = reference_empty<OPERATION, R>();
    if (end - begin <= REFERENCE_SHORT)
        return;
    for (u64 i = begin + threadIdx.x; i < end; i += REFERENCE_THREADS)
        segment_add<OPERATION, R>(state, in + i);
    __syncthreads(); // the segment before has been read
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
    to.put(segment, state);
}

// block: REFERENCE_THREADS; any grid.
template <class Config>
__global__ void reference_segreduce_short(const typename Config::T *in,
                                          typename reference_type<typename Config::T>::R *expected,
                                          double *magnitude, u64 segments, u64 length)
{
    const segment_results<typename reference_type<typename Config::T>::R> to = {expected,
                                                                                magnitude};
    for (u64 s = (u64)blockIdx.x * REFERENCE_THREADS + threadIdx.x; s < segments;
         s += (u64)gridDim.x * REFERENCE_THREADS)
        segment_by_thread<Config::op>(in, s * length, (s + 1) * length, s, to);
}
template <class Config>
__global__ void
reference_segreduce_short_offsets(const typename Config::T *in, const u64 *offsets,
                                  typename reference_type<typename Config::T>::R *expected,
                                  double *magnitude, u64 segments)
{
    const segment_results<typename reference_type<typename Config::T>::R> to = {expected,
                                                                                magnitude};
    for (u64 s = (u64)blockIdx.x * REFERENCE_THREADS + threadIdx.x; s < segments;
         s += (u64)gridDim.x * REFERENCE_THREADS)
        segment_by_thread<Config::op>(in, offsets[s], offsets[s + 1], s, to);
}
template <class Config>
__global__ void reference_segreduce_long(const typename Config::T *in,
                                         typename reference_type<typename Config::T>::R *expected,
                                         double *magnitude, u64 segments, u64 length)
{
    const segment_results<typename reference_type<typename Config::T>::R> to = {expected,
                                                                                magnitude};
    for (u64 s = blockIdx.x; s < segments; s += gridDim.x)
        segment_by_block<Config::op>(in, s * length, (s + 1) * length, s, to);
}
template <class Config>
__global__ void
reference_segreduce_long_offsets(const typename Config::T *in, const u64 *offsets,
                                 typename reference_type<typename Config::T>::R *expected,
                                 double *magnitude, u64 segments)
{
    const segment_results<typename reference_type<typename Config::T>::R> to = {expected,
                                                                                magnitude};
    for (u64 s = blockIdx.x; s < segments; s += gridDim.x)
        segment_by_block<Config::op>(in, offsets[s], offsets[s + 1], s, to);
}

} // namespace simtune

#endif // SIMTUNE_SEGREDUCE_REFERENCE_CU
