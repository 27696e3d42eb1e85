// SPDX-License-Identifier: Apache-2.0
// Sums of rows with ACC accumulators: small enough for the emulated device, and of the family that the tour looks for.
//
// simtune: family    fma_chain
// simtune: axis      T = f32
// simtune: axis      n = 1Ki
// simtune: param     BLOCK = 64 128     role tlp
// simtune: param     ACC   = 1 2 4      role ilp
// simtune: default   BLOCK=64 ACC=1
// simtune: buffer    in  : input T[n * 4]
// simtune: buffer    out : output T[n]
// simtune: launch    chain grid=ceil_div(n,BLOCK) block=BLOCK args=in,out,n
// simtune: bytes     n * 5 * size_of_T
#ifndef ACC
#define ACC 1
#define BLOCK 64
#define T float
#endif
extern "C" __global__ void chain(const T *in, T *out, unsigned long long n)
{
    __shared__ T held[BLOCK];
    unsigned long long i = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    T sum[ACC];
    for (int a = 0; a < ACC; a++)
        sum[a] = T(0);
    for (int k = 0; k < 4 && i < n; k++)
        sum[k % ACC] += in[i * 4 + k];
    for (int a = 1; a < ACC; a++)
        sum[0] += sum[a];
    held[threadIdx.x] = sum[0];
    __syncthreads();
    if (i < n)
        out[i] = held[threadIdx.x];
}
