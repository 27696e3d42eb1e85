// SPDX-License-Identifier: Apache-2.0
// A CUDA runtime that only takes notes: what a generated host function asks, in which order, with which numbers.
// Written from the public interface's documentation; holds what the headers use.
#ifndef SIMTUNE_FAKE_CUDA_RUNTIME_H
#define SIMTUNE_FAKE_CUDA_RUNTIME_H

#include <cstddef>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#define __global__
#define __device__
#define __CUDA_ARCH_LIST__ 800, 900

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorNoDevice = 100,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock,
    cudaDevAttrMultiProcessorCount,
    cudaDevAttrComputeCapabilityMajor,
    cudaDevAttrComputeCapabilityMinor,
    cudaDevAttrMaxSharedMemoryPerBlockOptin,
    cudaDevAttrOthers
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize,
    cudaFuncAttributeNonPortableClusterSizeAllowed
};
enum cudaLaunchAttributeID {
    cudaLaunchAttributeClusterDimension,
    cudaLaunchAttributeProgrammaticStreamSerialization
};
typedef struct fake_stream *cudaStream_t;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes;
    int maxDynamicSharedSizeBytes, ptxVersion, binaryVersion;
};
struct cudaLaunchAttributeValue {
    struct { unsigned x, y, z; } clusterDim;
    int programmaticStreamSerializationAllowed;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

struct fake_device { int cc, sm_count, smem_per_block, ptx; };
struct fake_launch {
    const void *kernel;
    dim3 grid, block;
    size_t shared;
    unsigned cluster;
    bool dependent;
    int device;
    std::vector<void *> pointers; // the first three arguments, as pointers
};
struct fake_memset { void *at; int value; size_t bytes; };

struct fake_runtime {
    std::mutex lock;
    std::vector<fake_device> devices;
    int current;
    std::vector<std::string> calls;
    std::vector<fake_launch> launches;
    std::vector<fake_memset> memsets;
    std::vector<int> shared_set; // values given to MaxDynamicSharedMemorySize
    int fail_launch;             // the launch of this number fails; 0: none
    void forget()
    {
        calls.clear();
        launches.clear();
        memsets.clear();
        shared_set.clear();
        fail_launch = 0;
    }
};
extern fake_runtime fake;

#define FAKE_CALL(name)                          \
    std::lock_guard<std::mutex> guard(fake.lock); \
    fake.calls.push_back(name)

inline cudaError_t cudaGetDevice(int *ordinal)
{
    FAKE_CALL("cudaGetDevice");
    *ordinal = fake.current;
    return fake.devices.empty() ? cudaErrorNoDevice : cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int *count)
{
    FAKE_CALL("cudaGetDeviceCount");
    *count = (int)fake.devices.size();
    return fake.devices.empty() ? cudaErrorNoDevice : cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int ordinal)
{
    FAKE_CALL("cudaDeviceGetAttribute");
    const fake_device &it = fake.devices[(size_t)ordinal];
    const int values[] = {1024, it.sm_count, it.cc / 10, it.cc % 10, it.smem_per_block, 0};
    *value = values[attribute];
    return cudaSuccess;
}
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *)
{
    FAKE_CALL("cudaFuncGetAttributes");
    attributes->sharedSizeBytes = 1024;
    attributes->maxDynamicSharedSizeBytes = 48 * 1024;
    attributes->ptxVersion = fake.devices[(size_t)fake.current].ptx;
    attributes->binaryVersion = fake.devices[(size_t)fake.current].cc;
    return cudaSuccess;
}
inline cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute attribute, int value)
{
    FAKE_CALL("cudaFuncSetAttribute");
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
        fake.shared_set.push_back(value);
    return cudaSuccess;
}
inline cudaError_t fake_note(const fake_launch &launch)
{
    fake.launches.push_back(launch);
    return fake.fail_launch && (int)fake.launches.size() == fake.fail_launch ? cudaErrorLaunchFailure : cudaSuccess;
}
inline void fake_arguments(fake_launch *launch, void **arguments)
{
    for (int i = 0; i < 3 && arguments[i]; i++) {
        void *pointer;
        std::memcpy(&pointer, arguments[i], sizeof pointer);
        launch->pointers.push_back(pointer);
    }
}
inline cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                    cudaStream_t)
{
    FAKE_CALL("cudaLaunchKernel");
    fake_launch launch = {kernel, grid, block, shared, 1, false, fake.current, std::vector<void *>()};
    fake_arguments(&launch, arguments);
    return fake_note(launch);
}
inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments)
{
    FAKE_CALL("cudaLaunchKernelExC");
    fake_launch launch = {kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes, 1, false, fake.current,
                          std::vector<void *>()};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
            launch.cluster = config->attrs[i].val.clusterDim.x;
        else
            launch.dependent = config->attrs[i].val.programmaticStreamSerializationAllowed != 0;
    }
    fake_arguments(&launch, arguments);
    return fake_note(launch);
}
inline cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t)
{
    FAKE_CALL("cudaMemsetAsync");
    const fake_memset one = {at, value, bytes};
    fake.memsets.push_back(one);
    return cudaSuccess;
}

#endif
