// SPDX-License-Identifier: Apache-2.0
// The header of tests/emulated/templates/keep.cu, which uses every directive, beside reduce's in one file.
#include "simtune_keep.h"
#include "simtune_reduce.h"

cudaError_t ask_keep(size_t *bytes)
{
    const float *in = nullptr;
    const __half *half_in = nullptr;
    float *out = nullptr;
    __half *half_out = nullptr;
    unsigned long long *count = nullptr;
    const size_t rows = 7, width = 300;
    cudaError_t error = simtune_keep_f32_flagged(nullptr, bytes, in, static_cast<const unsigned char *>(nullptr), out,
                                                 count, rows, width, nullptr);
    if (error == cudaSuccess)
        error = simtune_keep_f32_bits(nullptr, bytes, in, static_cast<const unsigned int *>(nullptr), out, count, rows,
                                      width, nullptr);
    if (error == cudaSuccess)
        error = simtune_f32_kept_where_less(nullptr, bytes, in, out, count, 1.5f, rows, width, nullptr);
    if (error == cudaSuccess)
        error = simtune_f16_kept_where_less(nullptr, bytes, half_in, half_out, count, __float2half(1.5f), rows, width,
                                            nullptr);
    return error == cudaSuccess ? simtune_reduce_f32_sum(nullptr, bytes, in, out, 1000, nullptr) : error;
}
