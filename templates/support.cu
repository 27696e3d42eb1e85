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
    case TYPE_F32: case TYPE_I32: case TYPE_U32: ((simtune_u32 *)to)[i] = (simtune_u32)bits; break;
    case TYPE_F64: case TYPE_I64: case TYPE_U64: ((simtune_u64 *)to)[i] = bits; break;
    case TYPE_F16: case TYPE_BF16: ((unsigned short *)to)[i] = (unsigned short)bits; break;
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

static __device__ bool is_float(int type)
{
    return type == TYPE_F32 || type == TYPE_F64 || type == TYPE_F16 || type == TYPE_BF16;
}

static __device__ int bits_of_type(int type)
{
    switch (type) {
    case TYPE_F64: case TYPE_I64: case TYPE_U64: return 64;
    case TYPE_F16: case TYPE_BF16: return 16;
    case TYPE_U8: return 8;
    default: return 32;
    }
}

// Is element i one of the `percent` that are chosen, in runs of mean length `run`? The places are cut into pieces
// of mean length run * (100 - percent) / 100, each of which is chosen or not: neighbours that are chosen join.
// Their boundaries are moved about, so that they fall anywhere in a thread's or a block's tile. The same for every
// buffer of a problem.
static __device__ bool is_chosen(simtune_u64 i, long long percent, long long run, simtune_u64 rotation)
{
    if (percent <= 0 || percent >= 100)
        return percent > 0;
    const simtune_u64 start = mix(0xc0ffee ^ (rotation * 0x9e3779b97f4a7c15ull));
    simtune_u64 length = run > 1 ? (simtune_u64)run * (simtune_u64)(100 - percent) / 100 : 1, piece = i;
    if (length > 1) {
        piece = i / length;
        if (i % length < mix(start ^ (piece + 0x5bd1e995ull)) % length)
            piece--; // before this piece's beginning: the one before it
    }
    return (mix(start + piece) >> 16) % 100 < (simtune_u64)percent;
}

// Bits that follow from the index: integers any, floats finite ones, among them -0 and subnormals.
static __device__ simtune_u64 distinct_bits(simtune_u64 i, int type, simtune_u64 seed, simtune_u64 rotation)
{
    const simtune_u64 drawn = mix(mix(seed ^ (rotation * 0x9e3779b97f4a7c15ull)) + i);
    const int bits = bits_of_type(type);
    if (!is_float(type))
        return drawn;
    const int mantissa = type == TYPE_F32 ? 23 : type == TYPE_F64 ? 52 : type == TYPE_F16 ? 10 : 7;
    const simtune_u64 sign = 1ull << (bits - 1), small = (1ull << mantissa) - 1, exponents = sign - 1 - small;
    const simtune_u64 which = mix(drawn) & 127;
    simtune_u64 value = drawn >> (64 - bits);
    if (which == 0)
        return sign; // -0
    if (which < 4)
        return value & (sign | small); // subnormal
    if ((value & exponents) == exponents)
        value &= ~(1ull << (mantissa + (drawn & 3))); // not infinite
    return value;
}

// Values as numbers that are ordered as they are, and back.
static __device__ simtune_u64 key_of(simtune_u64 bits, int type)
{
    const simtune_u64 sign = 1ull << (bits_of_type(type) - 1), all = sign | (sign - 1);
    bits &= all;
    if (is_float(type))
        return bits & sign ? all & ~bits : bits | sign;
    return type == TYPE_I32 || type == TYPE_I64 ? bits ^ sign : bits;
}

static __device__ simtune_u64 bits_of_key(simtune_u64 key, int type)
{
    const simtune_u64 sign = 1ull << (bits_of_type(type) - 1), all = sign | (sign - 1);
    if (is_float(type))
        return key & sign ? key & ~sign : all & ~key;
    return type == TYPE_I32 || type == TYPE_I64 ? key ^ sign : key;
}

static __device__ simtune_u64 bits_of_number(long long value, int type)
{
    union { double d; simtune_u64 u; } wide;
    switch (type) {
    case TYPE_F32: return bits_of((float)value);
    case TYPE_F16: return to_f16((float)value);
    case TYPE_BF16: return to_bf16((float)value);
    case TYPE_F64: wide.d = (double)value; return wide.u;
    default: return (simtune_u64)value;
    }
}

// An element that is below `limit`, or not, otherwise anything finite: one in eight right at the limit, one in
// eight around zero where that is on the wanted side. A side that has no values (u32 below 0) is the other one.
static __device__ simtune_u64 sided_bits(simtune_u64 i, int type, simtune_u64 seed, simtune_u64 rotation,
                                         bool below, long long limit)
{
    const simtune_u64 sign = 1ull << (bits_of_type(type) - 1), all = sign | (sign - 1);
    simtune_u64 low = 0, high = all, border = key_of(bits_of_number(limit, type), type), zero = key_of(0, type);
    if (is_float(type)) {
        const simtune_u64 largest = type == TYPE_F32   ? 0x7f7fffffull
                                    : type == TYPE_F64 ? 0x7fefffffffffffffull
                                    : type == TYPE_F16 ? 0x7bffull
                                                       : 0x7f7full;
        low = key_of(sign | largest, type);
        high = key_of(largest, type);
        if (limit == 0)
            border = zero - 1; // -0 is not below 0
        if (border > high)
            border = high;
    }
    if (below && border > low)
        high = border - 1;
    else if (border <= high)
        low = border;
    const simtune_u64 drawn = mix(mix(seed ^ (rotation * 0x9e3779b97f4a7c15ull)) + i), span = high - low;
    simtune_u64 key = span == ~0ull ? drawn : low + drawn % (span + 1);
    const simtune_u64 which = mix(drawn) & 7, near = (mix(drawn) >> 8) & 3;
    if (which == 0) // at the limit
        key = below ? high - (near < span ? near : span) : low + (near < span ? near : span);
    else if (which == 1) { // -0 and the smallest numbers of both signs, or 0 … 3
        const simtune_u64 at = zero + near - (is_float(type) ? 2 : 0);
        if (at >= low && at <= high)
            key = at;
    }
    return bits_of_key(key, type);
}

static __device__ simtune_u64 nonzero_bits(simtune_u64 i, int type, simtune_u64 seed, simtune_u64 rotation,
                                           bool chosen)
{
    const simtune_u64 sign = 1ull << (bits_of_type(type) - 1), all = sign | (sign - 1);
    simtune_u64 bits = distinct_bits(i, type, seed, rotation) & all;
    if (!chosen)
        return is_float(type) && (bits & 1) ? sign : 0;
    if (is_float(type) ? (bits & ~sign) == 0 : bits == 0)
        bits |= 1;
    return bits;
}

// floor(a * b / c) where a * (b % c) stays below 2^64: c below 2^32 or b small.
static __device__ simtune_u64 share(simtune_u64 a, simtune_u64 b, simtune_u64 c)
{
    return a * (b / c) + a * (b % c) / c;
}

// Boundary i of `count` - 1 pieces that fill `total`. Pieces come in groups of 16, whose boundaries lie at even
// shares; in seven groups of eight those within move up to one share, in the eighth all but one piece are empty.
static __device__ simtune_u64 offset_value(simtune_u64 i, simtune_u64 count, simtune_u64 total,
                                           simtune_u64 seed, simtune_u64 rotation)
{
    const simtune_u64 pieces = count - 1, group = i / 16, place = i % 16;
    if (pieces == 0 || i >= pieces)
        return total;
    const simtune_u64 first = share(group * 16, total, pieces);
    if (place == 0)
        return first;
    const simtune_u64 end = group * 16 + 16 < pieces ? group * 16 + 16 : pieces, members = end - group * 16;
    const simtune_u64 last = end == pieces ? total : share(end, total, pieces), width = last - first;
    const simtune_u64 start = mix(seed ^ (rotation * 0x9e3779b97f4a7c15ull)), drawn = mix(start + group);
    if (drawn % 8 == 0)
        return place <= (drawn >> 8) % members ? first : last;
    const simtune_u64 low = first + share(place, width, members), high = first + share(place + 1, width, members);
    const simtune_u64 moved = mix(mix(start + i) + 1);
    if ((moved & 7) == 0) // the piece before or behind it is empty more often than by chance
        return moved & 8 ? low : high;
    return low + moved % (high - low + 1);
}

// kind: 0 exact, 1 random (floats uniform in [-1, 1), integers all their bits), 2 zero, 3 distinct,
// 4 flags(a percent, runs of b), 5 flag bits likewise (from bit c on garbage), 6 below(a, b, limit c),
// 7 nonzero(a, b), 8 offsets(total a).
extern "C" __global__ void simtune_support_fill(void *to, simtune_u64 count, int type, int kind,
                                                simtune_u64 seed, simtune_u64 rotation, long long a,
                                                long long b, long long c)
{
    simtune_u64 stride = (simtune_u64)gridDim.x * blockDim.x;
    for (simtune_u64 i = (simtune_u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        const bool chosen = kind >= 4 && kind != 5 && kind != 8 && is_chosen(i, a, b, rotation);
        simtune_u64 bits = 0;
        switch (kind) {
        case 0: put(to, i, type, exact_value(i, count, seed, rotation)); continue;
        case 1:
            bits = mix(mix(seed + rotation) + i);
            if (is_float(type)) {
                put(to, i, type, (double)(long long)(bits >> 11) * (1.0 / 4503599627370496.0) - 1.0);
                continue;
            }
            break;
        case 3: bits = distinct_bits(i, type, seed, rotation); break;
        case 4:
            bits = mix(mix(seed + rotation) + i) % 255 + 1;
            bits = !chosen ? 0 : rotation == 0 ? 1 : bits;
            break;
        case 5:
            for (int k = 0; k < 32; k++) {
                const simtune_u64 place = i * 32 + (simtune_u64)k;
                const bool set = place < (simtune_u64)c ? is_chosen(place, a, b, rotation)
                                                        : !is_chosen(place, a, b, rotation) || a == 100;
                bits |= (simtune_u64)set << k;
            }
            break;
        case 6: bits = sided_bits(i, type, seed, rotation, chosen, c); break;
        case 7: bits = nonzero_bits(i, type, seed, rotation, chosen); break;
        case 8: bits = offset_value(i, count, (simtune_u64)a, seed, rotation); break;
        default: break; // zero
        }
        put_bits(to, i, type, bits);
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

static __device__ bool is_all_ones(const void *from, simtune_u64 i, int type)
{
    switch (type) {
    case TYPE_F64: case TYPE_I64: case TYPE_U64: return ((const simtune_u64 *)from)[i] == ~0ull;
    case TYPE_F16: case TYPE_BF16: return ((const unsigned short *)from)[i] == 0xFFFFu;
    case TYPE_U8: return ((const unsigned char *)from)[i] == 0xFFu;
    default: return ((const simtune_u32 *)from)[i] == ~0u;
    }
}

// rule: 0 exact, 1 |got - expected| <= share * magnitude + own * |expected| + tiny, 2 relative `share`;
// 4 more in place, where elements that are never written (expected to be 0xFF…) hold what the input left.
extern "C" __global__ void simtune_support_compare(const void *out, int type, const void *expected,
                                                   int expected_type, const double *magnitude,
                                                   simtune_u64 count, int rule, double share, double own,
                                                   double tiny, simtune_compare_result *result)
{
    const bool in_place = (rule & 4) != 0;
    rule &= 3;
    simtune_u64 stride = (simtune_u64)gridDim.x * blockDim.x;
    for (simtune_u64 i = (simtune_u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        bool fine = same_exactly(out, type, expected, expected_type, i) ||
                    (in_place && is_all_ones(expected, i, expected_type));
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
    rule &= 3;
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
