// SPDX-License-Identifier: Apache-2.0
// What the programs that measure beside CUB share: how a stream is held until all is queued, how L2 is emptied, and a launch
// with clusters and dependent starts.
#ifndef SIMTUNE_TESTS_BENCH_MEASURE_CUH
#define SIMTUNE_TESTS_BENCH_MEASURE_CUH

#include <cuda_runtime.h>

// Holds its stream until the host sets the flag. Opens by itself after about two seconds, should the host have died.
__global__ void gate(volatile int *flag) {
    const long long start = clock64();
    while (*flag == 0 && clock64() - start < 4000000000ll)
        __nanosleep(100);
}

// Reads, so that L2 holds nothing else after. The sum is only there so that the loads are.
__global__ void read_all(const int4 *from, size_t count, int *sink) {
    int mixed = 0;
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step)
        mixed += from[i].x ^ from[i].y ^ from[i].z ^ from[i].w;
    if (mixed == 0x12345678)
        *sink = mixed;
}

// cluster 0 and 1: none.
static inline cudaError_t launch_kernel(const void *kernel, unsigned long long grid,
                                        unsigned block, size_t shared, int cluster, bool dependent, void **args,
                                        cudaStream_t stream) {
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = {};
    config.gridDim = (unsigned)grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = attributes;
    if (cluster > 1) {
        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[config.numAttrs].val.clusterDim.x = cluster;
        attributes[config.numAttrs].val.clusterDim.y =
            attributes[config.numAttrs].val.clusterDim.z = 1;
        config.numAttrs++;
    }
    if (dependent) {
        attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    return cudaLaunchKernelExC(&config, kernel, args);
}

#endif
