// SPDX-License-Identifier: Apache-2.0
#include "cub_calls.h"

#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstdio>

template <class T>
cudaError_t cub_exclusive_sum(void *temp, size_t *bytes, const T *in, T *out, unsigned n, cudaStream_t stream)
{
    return cub::DeviceScan::ExclusiveSum(temp, *bytes, in, out, n, stream);
}
template cudaError_t cub_exclusive_sum(void *, size_t *, const float *, float *, unsigned, cudaStream_t);
template cudaError_t cub_exclusive_sum(void *, size_t *, const double *, double *, unsigned, cudaStream_t);
template cudaError_t cub_exclusive_sum(void *, size_t *, const int *, int *, unsigned, cudaStream_t);
template cudaError_t cub_exclusive_sum(void *, size_t *, const long long *, long long *, unsigned, cudaStream_t);
template cudaError_t cub_exclusive_sum(void *, size_t *, const __half *, __half *, unsigned, cudaStream_t);

cudaError_t cub_select_flagged(void *temp, size_t *bytes, const float *in, const unsigned char *flags, float *out,
                               unsigned long long *count, unsigned n, cudaStream_t stream)
{
    return cub::DeviceSelect::Flagged(temp, *bytes, in, flags, out, count, n, stream);
}

struct begin_of {
    unsigned segment;
    __host__ __device__ long long operator()(unsigned index) const { return (long long)index * segment; }
};

cudaError_t cub_segmented_sum(void *temp, size_t *bytes, const float *in, float *out, unsigned segments,
                              unsigned segment, cudaStream_t stream)
{
    const begin_of begin = {segment};
    const thrust::counting_iterator<unsigned> first(0u), second(1u);
    return cub::DeviceSegmentedReduce::Sum(temp, *bytes, in, out, segments,
                                           thrust::make_transform_iterator(first, begin),
                                           thrust::make_transform_iterator(second, begin), stream);
}

const char *cub_version()
{
    static char text[32];
    std::snprintf(text, sizeof text, "%d.%d.%d", CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    return text;
}
