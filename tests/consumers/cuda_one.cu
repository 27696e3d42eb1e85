// SPDX-License-Identifier: Apache-2.0
// One of two files of a program that uses generated headers: three families, two versions of one.
#include "simtune_axpy.h"
#include "simtune_reduce.h"
#include "simtune_total.h"
#define SIMTUNE_NAMESPACE_ONLY
#include "other/simtune_total.h"

#include <cstdio>

cudaError_t call_from_two(size_t *bytes); // cuda_two.cu

static cudaError_t ask_all(size_t *bytes)
{
    cudaError_t (*const as_pointer)(void *, size_t *, const float *, float *, size_t, cudaStream_t) =
        simtune_reduce_f32_sum;
    cudaError_t error = as_pointer(nullptr, bytes, nullptr, nullptr, 1000, nullptr);
    if (error == cudaSuccess)
        error = simtune_total_f32_sum(nullptr, bytes, nullptr, nullptr, 1000, nullptr);
    if (error == cudaSuccess)
        error = simtune_total_f16_sum(nullptr, bytes, static_cast<const __half *>(nullptr),
                                      static_cast<__half *>(nullptr), 1000, nullptr);
    if (error == cudaSuccess)
        error = SIMTUNE_OTHER::simtune_total_f32_sum(nullptr, bytes, nullptr, nullptr, 1000, nullptr);
    return error == cudaSuccess ? simtune_axpy(nullptr, bytes, nullptr, nullptr, 1024, nullptr) : error;
}

int main()
{
    size_t bytes = 0;
    const cudaError_t mine = ask_all(&bytes), theirs = call_from_two(&bytes);
    std::printf("%s\n", cudaGetErrorString(mine));
    // The size must have been written, or there is no device that could be asked.
    if (mine != theirs)
        return 1;
    return mine == cudaSuccess ? bytes == 0 : mine != cudaErrorNoDevice && mine != cudaErrorInsufficientDriver;
}
