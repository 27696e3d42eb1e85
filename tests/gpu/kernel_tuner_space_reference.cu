// SPDX-License-Identifier: Apache-2.0
// The plain sum in float64 that kernel_tuner_space.cu is held against: 1024 blocks of 256 threads, then one.
__device__ double block_sums[1024], block_sizes[1024];

extern "C" __global__ void plain_sums(const float *in, unsigned long long n) {
    __shared__ double sums[256], sizes[256];
    double sum = 0, size = 0;
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) {
        const double value = in[i];
        sum += value;
        size += value < 0 ? -value : value;
    }
    sums[threadIdx.x] = sum;
    sizes[threadIdx.x] = size;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < 256; t++) {
            sum += sums[t];
            size += sizes[t];
        }
        block_sums[blockIdx.x] = sum;
        block_sizes[blockIdx.x] = size;
    }
}

extern "C" __global__ void plain_total(double *expected, double *magnitude) {
    double sum = 0, size = 0;
    for (int b = 0; b < 1024; b++) {
        sum += block_sums[b];
        size += block_sizes[b];
    }
    *expected = sum;
    *magnitude = size;
}
