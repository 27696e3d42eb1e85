// SPDX-License-Identifier: Apache-2.0
// The sum of n integers, by one thread.
extern "C" __global__ void sly_reference(const int *in, int *out, unsigned long long n)
{
    unsigned sum = 0;
    for (unsigned long long i = 0; i < n && threadIdx.x == 0; i++)
        sum += (unsigned)in[i];
    if (threadIdx.x == 0)
        *out = (int)sum;
}
