// SPDX-License-Identifier: Apache-2.0
// The plain reference of the `compact` family: what is kept, in its order, counted; and a digest of it for results that
// may come in any order. Slow enough to be simple, and separately written: of the template it takes types and words alone.
//
//  - Kept elements are copied bit by bit. What lies beyond the count is 0xFF, as verification fills outputs, so that
//    a kernel that touches it is found out.
//  - A NaN is nonzero and not less than anything.
//  - The digest: the count, two sums of hashes of the kept elements' bits, and how many elements beyond the count are
//    not 0xFF any more (none).
#ifndef SIMTUNE_COMPACT_REFERENCE_CU
#define SIMTUNE_COMPACT_REFERENCE_CU
#include "compact.cu"

namespace simtune {

enum { REFERENCE_CHUNKS = 8192, REFERENCE_LANES = 1024, REFERENCE_BLOCKS = 1024 };

// Kept elements of each chunk, then of all chunks before it.
__device__ u64 reference_kept[REFERENCE_CHUNKS];

// What a type is compared as.
template <class T> __device__ T reference_number(T value) {
    return value;
}
__device__ inline float reference_number(simtune_bfloat16 value) {
    return bit_cast<float>((u32)value.bits << 16);
}
__device__ inline float reference_number(simtune_half value) {
    const u32 exponent = (u32)value.bits >> 10 & 31, fraction = value.bits & 1023;
    const u32 sign = (u32)(value.bits & 0x8000) << 16;
    if (exponent == 31)
        return bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0)
        return bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float size = (float)fraction * (1.0f / 16777216.0f);
    return sign ? -size : size;
}

template <class Config>
__device__ bool reference_keeps(const typename Config::T *in, const unsigned char *flags, const u32 *bits,
                                typename Config::T limit, u64 i) {
    switch ((int)Config::select) {
    case select_flagged: return flags[i] != 0;
    case select_bits: return (bits[i >> 5] & 1u << (i & 31)) != 0;
    case select_nonzero: return !(reference_number(in[i]) == 0);
    default: return reference_number(in[i]) < reference_number(limit);
    }
}

// A warp has a chunk: `size` neighbours, 32 at a time.
template <class Config>
__global__ void reference_compact_count(const typename Config::T *in, const unsigned char *flags,
                                        const u32 *bits, u64 n, typename Config::T limit, u64 size) {
    const u32 chunk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    u64 kept = 0;
    for (u64 first = chunk * size; first < n && first < (chunk + 1) * size; first += 32) {
        const u64 i = first + lane;
        kept += __popc(__ballot_sync(0xffffffffu, i < n && reference_keeps<Config>(in, flags, bits, limit, i)));
    }
    if (lane == 0)
        reference_kept[chunk] = kept;
}

// One block of REFERENCE_LANES threads, each with a few chunks.
template <class Config> __global__ void reference_compact_sum(u64 *count) {
    const int EACH = REFERENCE_CHUNKS / REFERENCE_LANES;
    __shared__ u64 sums[REFERENCE_LANES];
    u64 *own = reference_kept + threadIdx.x * EACH, sum = 0;
    for (int i = 0; i < EACH; i++)
        sum += own[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    u64 before = 0;
    for (u32 i = 0; i < threadIdx.x; i++)
        before += sums[i];
    for (int i = 0; i < EACH; i++) {
        const u64 kept = own[i];
        own[i] = before;
        before += kept;
    }
    if (threadIdx.x == REFERENCE_LANES - 1)
        *count = before;
}

// The same warps and chunks; then all threads write what lies beyond the count.
template <class Config>
__global__ void reference_compact_copy(const typename Config::T *in, const unsigned char *flags,
                                       const u32 *bits, typename Config::T *expected, const u64 *count,
                                       u64 n, typename Config::T limit, u64 size) {
    typedef typename unsigned_of<sizeof(typename Config::T)>::type word;
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 chunk = thread / 32, lane = threadIdx.x % 32;
    u64 to = reference_kept[chunk];
    for (u64 first = chunk * size; first < n && first < (chunk + 1) * size; first += 32) {
        const u64 i = first + lane;
        const bool kept = i < n && reference_keeps<Config>(in, flags, bits, limit, i);
        const u32 votes = __ballot_sync(0xffffffffu, kept);
        if (kept)
            ((word *)expected)[to + __popc(votes & ((1u << lane) - 1))] = ((const word *)in)[i];
        to += __popc(votes);
    }
    for (u64 i = *count + thread; i < n; i += REFERENCE_CHUNKS * 32)
        ((word *)expected)[i] = (word)~(word)0;
}

// --- digests: REFERENCE_BLOCKS blocks of 256 threads leave theirs, then one block of 256 adds them up ------
__device__ u64 reference_digests[REFERENCE_BLOCKS * 4];

__device__ inline u64 reference_hash(u64 z) {
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

struct reference_digest {
    u64 part[4];
    __device__ void clear() { part[0] = part[1] = part[2] = part[3] = 0; }
    __device__ void add(u64 bits) {
        const u64 hash = reference_hash(bits);
        part[0] += 1;
        part[1] += hash;
        part[2] += reference_hash(hash ^ 0x5851f42d4c957f2dull);
    }
    // The block's digests added up.
    __device__ void write(u64 *to) const {
        __shared__ u64 sums[256];
        for (int p = 0; p < 4; p++) {
            sums[threadIdx.x] = part[p];
            __syncthreads();
            for (u32 half = 128; half > 0; half /= 2) {
                if (threadIdx.x < half)
                    sums[threadIdx.x] += sums[threadIdx.x + half];
                __syncthreads();
            }
            if (threadIdx.x == 0)
                to[p] = sums[0];
            __syncthreads();
        }
    }
};

// Of the output of a configuration.
template <class Config>
__global__ void compact_digest_blocks(const typename Config::T *out, const u64 *count, u64 n) {
    typedef typename unsigned_of<sizeof(typename Config::T)>::type word;
    const word *words = (const word *)out;
    const u64 kept = *count < n ? *count : n;
    reference_digest sum;
    sum.clear();
    for (u64 i = (u64)blockIdx.x * 256 + threadIdx.x; i < n; i += REFERENCE_BLOCKS * 256)
        if (i < kept)
            sum.add(words[i]);
        else
            sum.part[3] += words[i] != (word)~(word)0;
    sum.write(reference_digests + 4 * blockIdx.x);
}

// Of what should be kept.
template <class Config>
__global__ void reference_digest_blocks(const typename Config::T *in, const unsigned char *flags,
                                        const u32 *bits, u64 n, typename Config::T limit) {
    typedef typename unsigned_of<sizeof(typename Config::T)>::type word;
    reference_digest sum;
    sum.clear();
    for (u64 i = (u64)blockIdx.x * 256 + threadIdx.x; i < n; i += REFERENCE_BLOCKS * 256)
        if (reference_keeps<Config>(in, flags, bits, limit, i))
            sum.add(((const word *)in)[i]);
    sum.write(reference_digests + 4 * blockIdx.x);
}

__device__ inline void reference_digest_sum(u64 *digest) {
    reference_digest sum;
    sum.clear();
    for (u32 block = threadIdx.x; block < REFERENCE_BLOCKS; block += 256)
        for (int p = 0; p < 4; p++)
            sum.part[p] += reference_digests[4 * block + p];
    sum.write(digest);
}
template <class Config> __global__ void compact_digest_total(u64 *digest) {
    reference_digest_sum(digest);
}
template <class Config> __global__ void reference_digest_total(u64 *digest, u64 *count) {
    reference_digest_sum(digest);
    if (threadIdx.x == 0)
        *count = digest[0];
}

} // namespace simtune

#endif // SIMTUNE_COMPACT_REFERENCE_CU
