// SPDX-License-Identifier: Apache-2.0
// What every measurement needs on the device beside the candidate: inputs, comparison, guards, a cold
// cache, a gate. Plain kernels, one per job, for every type by a number at run time: they are never timed.
// They share no code with the templates, so that a fault there cannot hide here.
//
// Compiles as C++11 without any include, with NVRTC, nvcc, and for the emulated device.

typedef unsigned long long simtune_u64;
typedef unsigned int simtune_u32;

// The numbers of base/types.h.
enum { TYPE_F32, TYPE_F64, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64, TYPE_F16, TYPE_BF16, TYPE_U8 };

static __device__ simtune_u32 bits_of(float value)
{
    union { float f; simtune_u32 u; } both;
    both.f = value;
    return both.u;
}

static __device__ float float_of(simtune_u32 bits)
{
    union { float f; simtune_u32 u; } both;
    both.u = bits;
    return both.f;
}

// float32 to bfloat16 and float16, round to nearest even, NaN stays NaN.
static __device__ unsigned short to_bf16(float value)
{
    simtune_u32 bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (unsigned short)0x7fff;
    return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static __device__ unsigned short to_f16(float value)
{
    simtune_u32 bits = bits_of(value), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u)
        return (unsigned short)0x7fff;
    if (size >= 0x47800000u) // 65536 and more
        return (unsigned short)(sign | 0x7c00u);
    if (size < 0x38800000u) { // subnormal: let the addition round at the place of 2^-24
        simtune_u32 rounded = bits_of(float_of(size) + 0.5f) - bits_of(0.5f);
        return (unsigned short)(sign | rounded);
    }
    simtune_u32 odd = (size >> 13) & 1u;
    return (unsigned short)(sign | ((size - 0x38000000u + 0xfffu + odd) >> 13));
}

static __device__ float from_f16(unsigned short half)
{
    simtune_u32 sign = (simtune_u32)(half & 0x8000u) << 16, size = half & 0x7fffu;
    float value;
    if (size >= 0x7c00u)
        value = float_of(0x7f800000u | ((size & 0x3ffu) << 13));
    else if (size < 0x400u)
        value = (float)size * (1.0f / 16777216.0f);
    else
        value = float_of((size << 13) + 0x38000000u);
    return float_of(bits_of(value) | sign);
}

static __device__ float from_bf16(unsigned short half)
{
    return float_of((simtune_u32)half << 16);
}

static __device__ simtune_u64 mix(simtune_u64 z) // splitmix64's finaliser
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static __device__ void put(void *to, simtune_u64 i, int type, double value)
{
    switch (type) {
    case TYPE_F32: ((float *)to)[i] = (float)value; break;
    case TYPE_F64: ((double *)to)[i] = value; break;
    case TYPE_I32: ((int *)to)[i] = (int)value; break;
    case TYPE_U32: ((simtune_u32 *)to)[i] = (simtune_u32)(long long)value; break;
    case TYPE_I64: ((long long *)to)[i] = (long long)value; break;
    case TYPE_U64: ((simtune_u64 *)to)[i] = (simtune_u64)(long long)value; break;
    case TYPE_F16: ((unsigned short *)to)[i] = to_f16((float)value); break;
    case TYPE_BF16: ((unsigned short *)to)[i] = to_bf16((float)value); break;
    case TYPE_U8: ((unsigned char *)to)[i] = (unsigned char)(int)value; break;
    }
}

static __device__ void put_bits(void *to, simtune_u64 i, int type, simtune_u64 bits)
{
    switch (type) {
    case TYPE_I32: case TYPE_U32: ((simtune_u32 *)to)[i] = (simtune_u32)bits; break;
    case TYPE_I64: case TYPE_U64: ((simtune_u64 *)to)[i] = bits; break;
    case TYPE_U8: ((unsigned char *)to)[i] = (unsigned char)bits; break;
    }
}

// Exact data: integers of -3 … 3, so that sums in any order are exact, arranged so that any lost, doubled
// or shifted element changes the answer:
//  - under 64 elements: 1 … 3, all positive (a bfloat16 holds the sum);
//  - otherwise the second half mirrors the first with the other sign, so that sums stay small and exact in
//    every type, while the sum of any part does not; element 0 carries 101 more, so that a kernel that adds
//    nothing is found; two extremes, +1000 and its mirror, move with `rotation`, for min and max;
//  - from 2^20 elements on, one in 16 is not zero, its place in the sixteen moving with `rotation`: signs are
//    random, so the sum of any part stays far below 2^24 and float32 holds it exactly.
static __device__ double exact_value(simtune_u64 i, simtune_u64 count, simtune_u64 seed,
                                     simtune_u64 rotation)
{
    simtune_u64 start = mix(seed ^ (rotation * 0x9e3779b97f4a7c15ull));
    if (count < 64)
        return (double)(1 + mix(start + i) % 3);
    simtune_u64 half = count / 2, mirrored = count - 1 - i;
    bool second = i >= count - half, middle = !second && i >= half; // middle: of an odd count
    simtune_u64 place = second ? mirrored : i;
    simtune_u64 sixteen = mix(start + (place >> 4));
    double value = 0;
    if (count < (1ull << 20) || (place & 15) == (sixteen & 15)) {
        simtune_u64 drawn = mix(sixteen + place);
        value = (double)(1 + drawn % 3) * ((drawn >> 32) & 1 ? 1.0 : -1.0);
    }
    simtune_u64 extreme = rotation == 0 ? 0 : rotation == 1 ? half - 1 : mix(start + 1) % half;
    if (place == extreme && !middle)
        value = (start >> 7) & 1 ? 1000.0 : -1000.0;
    if (second)
        value = -value;
    return i == 0 ? value + 101.0 : value;
}

// kind: 0 exact, 1 random (floats uniform in [-1, 1), integers all their bits), 2 zero.
extern "C" __global__ void simtune_support_fill(void *to, simtune_u64 count, int type, int kind,
                                                simtune_u64 seed, simtune_u64 rotation)
{
    simtune_u64 stride = (simtune_u64)gridDim.x * blockDim.x;
    for (simtune_u64 i = (simtune_u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        if (kind == 0)
            put(to, i, type, exact_value(i, count, seed, rotation));
        else if (kind == 2)
            put(to, i, type, 0.0);
        else {
            simtune_u64 bits = mix(mix(seed + rotation) + i);
            bool is_float = type == TYPE_F32 || type == TYPE_F64 || type == TYPE_F16 || type == TYPE_BF16;
            if (is_float)
                put(to, i, type, (double)(long long)(bits >> 11) * (1.0 / 4503599627370496.0) - 1.0);
            else
                put_bits(to, i, type, bits);
        }
    }
}

struct simtune_compare_result {
    simtune_u64 mismatches, first;
    double got, expected, bound;
};

static __device__ double get(const void *from, simtune_u64 i, int type)
{
    switch (type) {
    case TYPE_F32: return ((const float *)from)[i];
    case TYPE_F64: return ((const double *)from)[i];
    case TYPE_I32: return ((const int *)from)[i];
    case TYPE_U32: return ((const simtune_u32 *)from)[i];
    case TYPE_I64: return (double)((const long long *)from)[i];
    case TYPE_U64: return (double)((const simtune_u64 *)from)[i];
    case TYPE_F16: return from_f16(((const unsigned short *)from)[i]);
    case TYPE_BF16: return from_bf16(((const unsigned short *)from)[i]);
    default: return ((const unsigned char *)from)[i];
    }
}

static __device__ int size_of_type(int type)
{
    return type == TYPE_F64 || type == TYPE_I64 || type == TYPE_U64 ? 8
           : type == TYPE_F16 || type == TYPE_BF16                  ? 2
           : type == TYPE_U8                                        ? 1
                                                                    : 4;
}

static __device__ simtune_u64 bits_at(const void *from, simtune_u64 i, int type)
{
    switch (size_of_type(type)) {
    case 8: return ((const simtune_u64 *)from)[i];
    case 4: return ((const simtune_u32 *)from)[i];
    case 2: return ((const unsigned short *)from)[i];
    default: return ((const unsigned char *)from)[i];
    }
}

// Equal bit by bit after rounding what is expected to the type of the output. Zeros of either sign and
// NaNs of any payload are the same value.
static __device__ bool same_exactly(const void *out, int type, const void *expected, int expected_type,
                                    simtune_u64 i)
{
    if (type == expected_type && bits_at(out, i, type) == bits_at(expected, i, type))
        return true;
    double want = get(expected, i, expected_type), got = get(out, i, type);
    if (want != want)
        return got != got;
    switch (type) {
    case TYPE_F32: return got == (double)(float)want;
    case TYPE_F64: return got == want;
    case TYPE_F16: return got == (double)from_f16(to_f16((float)want));
    case TYPE_BF16: return got == (double)from_bf16(to_bf16((float)want));
    default: return false; // integers have the type of their reference: the bits have told
    }
}

// rule: 0 exact, 1 |got - expected| <= share * magnitude + own * |expected| + tiny, 2 relative `share`.
extern "C" __global__ void simtune_support_compare(const void *out, int type, const void *expected,
                                                   int expected_type, const double *magnitude,
                                                   simtune_u64 count, int rule, double share, double own,
                                                   double tiny, simtune_compare_result *result)
{
    simtune_u64 stride = (simtune_u64)gridDim.x * blockDim.x;
    for (simtune_u64 i = (simtune_u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        bool fine = same_exactly(out, type, expected, expected_type, i);
        double got = get(out, i, type), want = get(expected, i, expected_type), bound = 0;
        if (!fine && rule != 0) {
            double size = want < 0 ? -want : want, off = got < want ? want - got : got - want;
            bound = (rule == 1 ? share * (magnitude ? magnitude[i] : 0.0) + own * size : share * size) + tiny;
            fine = off <= bound; // false for NaN
        }
        if (!fine) {
            atomicAdd(&result->mismatches, 1ull);
            atomicMin(&result->first, i);
        }
    }
}

// After compare: what stands at the first mismatch. One thread.
extern "C" __global__ void simtune_support_report(const void *out, int type, const void *expected,
                                                  int expected_type, const double *magnitude, int rule,
                                                  double share, double own, double tiny,
                                                  simtune_compare_result *result)
{
    if (result->mismatches == 0)
        return;
    simtune_u64 i = result->first;
    double want = get(expected, i, expected_type), size = want < 0 ? -want : want;
    result->got = get(out, i, type);
    result->expected = want;
    result->bound = rule == 0   ? 0.0
                    : rule == 1 ? share * (magnitude ? magnitude[i] : 0.0) + own * size + tiny
                                : share * size + tiny;
}

// Counts bytes that are not 0xFF: of guards (any is a write out of bounds).
extern "C" __global__ void simtune_support_check(const unsigned char *bytes, simtune_u64 count,
                                                 simtune_compare_result *result)
{
    simtune_u64 stride = (simtune_u64)gridDim.x * blockDim.x;
    for (simtune_u64 i = (simtune_u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        if (bytes[i] != 0xFF) {
            atomicAdd(&result->mismatches, 1ull);
            atomicMin(&result->first, i);
        }
}

// Reads `count` 16-byte words, so that nothing else is left in L2 (reading, since writing leaves dirty lines).
// Adds to `sink` a value that the compiler cannot know to be unused.
extern "C" __global__ void simtune_support_flush(const int4 *from, simtune_u64 count, int *sink)
{
    simtune_u64 stride = (simtune_u64)gridDim.x * blockDim.x;
    int sum = 0;
    for (simtune_u64 i = (simtune_u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        int4 word = from[i];
        sum += word.x ^ word.y ^ word.z ^ word.w;
    }
    if (sum == 0x12345678)
        *sink = sum;
}

// Eight loads in flight a thread: the read speed of the memory as a plain kernel reaches it.
extern "C" __global__ void simtune_support_read(const int4 *from, simtune_u64 count, int *sink)
{
    simtune_u64 stride = (simtune_u64)gridDim.x * blockDim.x;
    simtune_u64 i = (simtune_u64)blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (; i + 7 * stride < count; i += 8 * stride) {
        int4 word[8];
#pragma unroll
        for (int k = 0; k < 8; k++)
            word[k] = from[i + k * stride];
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum += word[k].x ^ word[k].y ^ word[k].z ^ word[k].w;
    }
    for (; i < count; i += stride)
        sum += from[i].x;
    if (sum == 0x12345678)
        *sink = sum;
}

extern "C" __global__ void simtune_support_copy(int4 *to, const int4 *from, simtune_u64 count)
{
    simtune_u64 stride = (simtune_u64)gridDim.x * blockDim.x;
    simtune_u64 i = (simtune_u64)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < count; i += 4 * stride) {
        int4 word[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            word[k] = from[i + k * stride];
#pragma unroll
        for (int k = 0; k < 4; k++)
            to[i + k * stride] = word[k];
    }
    for (; i < count; i += stride)
        to[i] = from[i];
}

// Holds the stream until the host sets *flag, so that all that follows is queued before it begins. Gives up
// after `limit` cycles, so that a host that died cannot hold the device.
extern "C" __global__ void simtune_support_gate(volatile int *flag, long long limit)
{
    long long start = clock64();
    while (*flag == 0 && clock64() - start < limit)
        __nanosleep(100);
}
