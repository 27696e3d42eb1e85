// SPDX-License-Identifier: Apache-2.0
// CUB's device-wide calls that families_vs_cub.cu stands beside. They are a file of their own since they take
// far longer to compile than what they are compared with: cub_calls.cu is compiled once.
//
// Each asks for the size of its storage when `temp` is null. Sizes are 32-bit where CUB is faster with them.
#ifndef SIMTUNE_BENCH_CUB_CALLS_H
#define SIMTUNE_BENCH_CUB_CALLS_H

#include <cuda_fp16.h>
#include <cuda_runtime.h>

template <class T>
cudaError_t cub_exclusive_sum(void *temp, size_t *bytes, const T *in, T *out, unsigned n, cudaStream_t stream);
cudaError_t cub_select_flagged(void *temp, size_t *bytes, const float *in, const unsigned char *flags, float *out,
                               unsigned long long *count, unsigned n, cudaStream_t stream);
// Segments of equal length.
cudaError_t cub_segmented_sum(void *temp, size_t *bytes, const float *in, float *out, unsigned segments,
                              unsigned segment, cudaStream_t stream);
const char *cub_version();

#endif
