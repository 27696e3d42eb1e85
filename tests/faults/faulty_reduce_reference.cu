// SPDX-License-Identifier: Apache-2.0
// The plain sum that faulty_reduce.cu is held against, in float64, one block.
extern "C" __global__ void plain_sum(const float *in, double *expected, double *magnitude, unsigned long long n)
{
    __shared__ double sums[1024], sizes[1024];
    double sum = 0, size = 0;
    for (unsigned long long i = threadIdx.x; i < n; i += blockDim.x) {
        double value = in[i];
        sum += value;
        size += value < 0 ? -value : value;
    }
    sums[threadIdx.x] = sum;
    sizes[threadIdx.x] = size;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = size = 0;
        for (unsigned i = 0; i < blockDim.x; i++) {
            sum += sums[i];
            size += sizes[i];
        }
        *expected = sum;
        *magnitude = size;
    }
}
