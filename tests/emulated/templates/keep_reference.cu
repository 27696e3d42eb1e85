// SPDX-License-Identifier: Apache-2.0
// What keep.cu should give. Plain on purpose.
#include "keep.cu"

namespace simtune {

// The same for any order of the elements: a sum of scattered bits.
template <class T>
__device__ unsigned long long scattered(T value)
{
    union { T value; unsigned int bits; unsigned short half; } both;
    both.bits = 0;
    both.value = value;
    unsigned long long x = (unsigned long long)both.bits * 0x9e3779b97f4a7c15ull;
    return x ^ (x >> 29);
}

template <class Config>
__global__ void reference_keep(const typename Config::T *in, const unsigned char *flags, const unsigned int *bits,
                               typename Config::T limit, typename Config::T *right, unsigned long long *count,
                               unsigned long long *sum, unsigned long long n)
{
    unsigned long long kept = 0;
    *sum = 0;
    for (unsigned long long i = 0; i < n; i++) {
        const bool keep = Config::kind == kind_flagged ? flags[i] != 0
                          : Config::kind == kind_bits  ? (bits[i / 32] & (1u << (i % 32))) != 0
                                                       : element<typename Config::T>::widen(in[i]) < element<typename Config::T>::widen(limit);
        if (keep) {
            right[kept++] = in[i];
            *sum += scattered(in[i]);
        }
    }
    *count = kept;
    for (unsigned long long b = kept * sizeof(typename Config::T); b < n * sizeof(typename Config::T); b++)
        ((unsigned char *)right)[b] = 0xFF; // nothing may be written there
}

template <class Config>
__global__ void reference_sum(const typename Config::T *out, const unsigned long long *count, unsigned long long *sum)
{
    *sum = 0;
    for (unsigned long long i = 0; i < *count; i++)
        *sum += scattered(out[i]);
}

} // namespace simtune
