// SPDX-License-Identifier: Apache-2.0
// The other file: the same functions, and the other version under its global names.
#include "other/simtune_total.h"
#include "simtune_axpy.h"
#include "simtune_reduce.h"

cudaError_t call_from_two(size_t *bytes)
{
    cudaError_t error = simtune_total_f32_sum(nullptr, bytes, nullptr, nullptr, 1000, nullptr);
    if (error == cudaSuccess)
        error = simtune_reduce_f32_sum(nullptr, bytes, nullptr, nullptr, 1000, nullptr);
    return error == cudaSuccess ? simtune_axpy(nullptr, bytes, nullptr, nullptr, 1024, nullptr) : error;
}
