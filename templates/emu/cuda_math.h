// SPDX-License-Identifier: Apache-2.0
// Bit operations, conversions and mathematics that CUDA has built in. The C library's functions are
// declared here, not included, so that nothing of the system comes in between a template and its
// compiler.
#ifndef SIMTUNE_CUDA_MATH_H
#define SIMTUNE_CUDA_MATH_H

extern "C" {
int printf(const char *, ...);
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
#define SIMTUNE_EMU_MATH1(name)                                                                    \
    double name(double);                                                                           \
    float name##f(float);
#define SIMTUNE_EMU_MATH2(name)                                                                    \
    double name(double, double);                                                                   \
    float name##f(float, float);
SIMTUNE_EMU_MATH1(sqrt)
SIMTUNE_EMU_MATH1(cbrt)
SIMTUNE_EMU_MATH1(exp)
SIMTUNE_EMU_MATH1(exp2)
SIMTUNE_EMU_MATH1(expm1)
SIMTUNE_EMU_MATH1(log)
SIMTUNE_EMU_MATH1(log2)
SIMTUNE_EMU_MATH1(log10)
SIMTUNE_EMU_MATH1(log1p)
SIMTUNE_EMU_MATH1(sin)
SIMTUNE_EMU_MATH1(cos)
SIMTUNE_EMU_MATH1(tan)
SIMTUNE_EMU_MATH1(asin)
SIMTUNE_EMU_MATH1(acos)
SIMTUNE_EMU_MATH1(atan)
SIMTUNE_EMU_MATH1(sinh)
SIMTUNE_EMU_MATH1(cosh)
SIMTUNE_EMU_MATH1(tanh)
SIMTUNE_EMU_MATH1(asinh)
SIMTUNE_EMU_MATH1(acosh)
SIMTUNE_EMU_MATH1(atanh)
SIMTUNE_EMU_MATH1(erf)
SIMTUNE_EMU_MATH1(erfc)
SIMTUNE_EMU_MATH1(floor)
SIMTUNE_EMU_MATH1(ceil)
SIMTUNE_EMU_MATH1(trunc)
SIMTUNE_EMU_MATH1(round)
SIMTUNE_EMU_MATH1(rint)
SIMTUNE_EMU_MATH1(nearbyint)
SIMTUNE_EMU_MATH1(fabs)
SIMTUNE_EMU_MATH1(lgamma)
SIMTUNE_EMU_MATH1(tgamma)
SIMTUNE_EMU_MATH2(pow)
SIMTUNE_EMU_MATH2(atan2)
SIMTUNE_EMU_MATH2(fmod)
SIMTUNE_EMU_MATH2(hypot)
SIMTUNE_EMU_MATH2(fmin)
SIMTUNE_EMU_MATH2(fmax)
SIMTUNE_EMU_MATH2(copysign)
SIMTUNE_EMU_MATH2(fdim)
SIMTUNE_EMU_MATH2(remainder)
#undef SIMTUNE_EMU_MATH1
#undef SIMTUNE_EMU_MATH2
double fma(double, double, double);
float fmaf(float, float, float);
double ldexp(double, int);
float ldexpf(float, int);
int abs(int);
long labs(long);
long long llabs(long long);
}

// The overloads for float.
SIMTUNE_EMU_INLINE float sqrt(float x) {
    return sqrtf(x);
}
SIMTUNE_EMU_INLINE float cbrt(float x) {
    return cbrtf(x);
}
SIMTUNE_EMU_INLINE float exp(float x) {
    return expf(x);
}
SIMTUNE_EMU_INLINE float exp2(float x) {
    return exp2f(x);
}
SIMTUNE_EMU_INLINE float expm1(float x) {
    return expm1f(x);
}
SIMTUNE_EMU_INLINE float log(float x) {
    return logf(x);
}
SIMTUNE_EMU_INLINE float log2(float x) {
    return log2f(x);
}
SIMTUNE_EMU_INLINE float log10(float x) {
    return log10f(x);
}
SIMTUNE_EMU_INLINE float log1p(float x) {
    return log1pf(x);
}
SIMTUNE_EMU_INLINE float sin(float x) {
    return sinf(x);
}
SIMTUNE_EMU_INLINE float cos(float x) {
    return cosf(x);
}
SIMTUNE_EMU_INLINE float tan(float x) {
    return tanf(x);
}
SIMTUNE_EMU_INLINE float asin(float x) {
    return asinf(x);
}
SIMTUNE_EMU_INLINE float acos(float x) {
    return acosf(x);
}
SIMTUNE_EMU_INLINE float atan(float x) {
    return atanf(x);
}
SIMTUNE_EMU_INLINE float sinh(float x) {
    return sinhf(x);
}
SIMTUNE_EMU_INLINE float cosh(float x) {
    return coshf(x);
}
SIMTUNE_EMU_INLINE float tanh(float x) {
    return tanhf(x);
}
SIMTUNE_EMU_INLINE float asinh(float x) {
    return asinhf(x);
}
SIMTUNE_EMU_INLINE float acosh(float x) {
    return acoshf(x);
}
SIMTUNE_EMU_INLINE float atanh(float x) {
    return atanhf(x);
}
SIMTUNE_EMU_INLINE float erf(float x) {
    return erff(x);
}
SIMTUNE_EMU_INLINE float erfc(float x) {
    return erfcf(x);
}
SIMTUNE_EMU_INLINE float floor(float x) {
    return floorf(x);
}
SIMTUNE_EMU_INLINE float ceil(float x) {
    return ceilf(x);
}
SIMTUNE_EMU_INLINE float trunc(float x) {
    return truncf(x);
}
SIMTUNE_EMU_INLINE float round(float x) {
    return roundf(x);
}
SIMTUNE_EMU_INLINE float rint(float x) {
    return rintf(x);
}
SIMTUNE_EMU_INLINE float nearbyint(float x) {
    return nearbyintf(x);
}
SIMTUNE_EMU_INLINE float fabs(float x) {
    return fabsf(x);
}
SIMTUNE_EMU_INLINE float lgamma(float x) {
    return lgammaf(x);
}
SIMTUNE_EMU_INLINE float tgamma(float x) {
    return tgammaf(x);
}
SIMTUNE_EMU_INLINE float pow(float x, float y) {
    return powf(x, y);
}
SIMTUNE_EMU_INLINE float atan2(float x, float y) {
    return atan2f(x, y);
}
SIMTUNE_EMU_INLINE float fmod(float x, float y) {
    return fmodf(x, y);
}
SIMTUNE_EMU_INLINE float hypot(float x, float y) {
    return hypotf(x, y);
}
SIMTUNE_EMU_INLINE float fmin(float x, float y) {
    return fminf(x, y);
}
SIMTUNE_EMU_INLINE float fmax(float x, float y) {
    return fmaxf(x, y);
}
SIMTUNE_EMU_INLINE float copysign(float x, float y) {
    return copysignf(x, y);
}
SIMTUNE_EMU_INLINE float fdim(float x, float y) {
    return fdimf(x, y);
}
SIMTUNE_EMU_INLINE float remainder(float x, float y) {
    return remainderf(x, y);
}
SIMTUNE_EMU_INLINE float fma(float x, float y, float z) {
    return fmaf(x, y, z);
}
SIMTUNE_EMU_INLINE float abs(float x) {
    return fabsf(x);
}
SIMTUNE_EMU_INLINE double abs(double x) {
    return fabs(x);
}
SIMTUNE_EMU_INLINE long abs(long x) {
    return x < 0 ? -x : x;
}
SIMTUNE_EMU_INLINE long long abs(long long x) {
    return x < 0 ? -x : x;
}
SIMTUNE_EMU_INLINE bool isnan(float x) {
    return x != x;
}
SIMTUNE_EMU_INLINE bool isnan(double x) {
    return x != x;
}
SIMTUNE_EMU_INLINE bool isinf(float x) {
    return __builtin_isinf(x) != 0;
}
SIMTUNE_EMU_INLINE bool isinf(double x) {
    return __builtin_isinf(x) != 0;
}
SIMTUNE_EMU_INLINE bool isfinite(float x) {
    return __builtin_isfinite(x) != 0;
}
SIMTUNE_EMU_INLINE bool isfinite(double x) {
    return __builtin_isfinite(x) != 0;
}
SIMTUNE_EMU_INLINE float rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}
SIMTUNE_EMU_INLINE double rsqrt(double x) {
    return 1.0 / sqrt(x);
}
SIMTUNE_EMU_INLINE float rsqrt(float x) {
    return 1.0f / sqrtf(x);
}
SIMTUNE_EMU_INLINE void sincosf(float x, float *s, float *c) {
    *s = sinf(x);
    *c = cosf(x);
}
SIMTUNE_EMU_INLINE void sincos(double x, double *s, double *c) {
    *s = sin(x);
    *c = cos(x);
}

// --- min and max, with CUDA's mixed overloads (the unsigned one wins) --------------------------
#define SIMTUNE_EMU_MINMAX(result, left, right)                                                    \
    SIMTUNE_EMU_INLINE result min(left a, right b) {                                               \
        return (result)a < (result)b ? (result)a : (result)b;                                      \
    }                                                                                              \
    SIMTUNE_EMU_INLINE result max(left a, right b) {                                               \
        return (result)a > (result)b ? (result)a : (result)b;                                      \
    }
#define SIMTUNE_EMU_MINMAX_MIXED(signed_type, unsigned_type)                                       \
    SIMTUNE_EMU_MINMAX(signed_type, signed_type, signed_type)                                      \
    SIMTUNE_EMU_MINMAX(unsigned_type, unsigned_type, unsigned_type)                                \
    SIMTUNE_EMU_MINMAX(unsigned_type, signed_type, unsigned_type)                                  \
    SIMTUNE_EMU_MINMAX(unsigned_type, unsigned_type, signed_type)
SIMTUNE_EMU_MINMAX_MIXED(int, unsigned)
SIMTUNE_EMU_MINMAX_MIXED(long, unsigned long)
SIMTUNE_EMU_MINMAX_MIXED(long long, unsigned long long)
#undef SIMTUNE_EMU_MINMAX_MIXED
#undef SIMTUNE_EMU_MINMAX
SIMTUNE_EMU_INLINE float min(float a, float b) {
    return fminf(a, b);
}
SIMTUNE_EMU_INLINE float max(float a, float b) {
    return fmaxf(a, b);
}
SIMTUNE_EMU_INLINE double min(double a, double b) {
    return fmin(a, b);
}
SIMTUNE_EMU_INLINE double max(double a, double b) {
    return fmax(a, b);
}
SIMTUNE_EMU_INLINE double min(float a, double b) {
    return fmin((double)a, b);
}
SIMTUNE_EMU_INLINE double max(float a, double b) {
    return fmax((double)a, b);
}
SIMTUNE_EMU_INLINE double min(double a, float b) {
    return fmin(a, (double)b);
}
SIMTUNE_EMU_INLINE double max(double a, float b) {
    return fmax(a, (double)b);
}

// --- bits --------------------------------------------------------------------------------------
SIMTUNE_EMU_INLINE int __popc(unsigned x) {
    return __builtin_popcount(x);
}
SIMTUNE_EMU_INLINE int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
SIMTUNE_EMU_INLINE int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
SIMTUNE_EMU_INLINE int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
SIMTUNE_EMU_INLINE int __ffs(int x) {
    return __builtin_ffs(x);
}
SIMTUNE_EMU_INLINE int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
SIMTUNE_EMU_INLINE unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
SIMTUNE_EMU_INLINE unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
SIMTUNE_EMU_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned select = selector >> (4 * i) & 0xfu;
        unsigned byte = (unsigned)(both >> (8 * (select & 7u))) & 0xffu;
        if (select & 8u)
            byte = byte & 0x80u ? 0xffu : 0u;
        result |= byte << (8 * i);
    }
    return result;
}
SIMTUNE_EMU_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31u)) >> 32);
}
SIMTUNE_EMU_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31u));
}
SIMTUNE_EMU_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32u ? low : __funnelshift_l(low, high, shift);
}
SIMTUNE_EMU_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32u ? high : __funnelshift_r(low, high, shift);
}
SIMTUNE_EMU_INLINE int __mulhi(int x, int y) {
    return (int)((long long)x * y >> 32);
}
SIMTUNE_EMU_INLINE unsigned __umulhi(unsigned x, unsigned y) {
    return (unsigned)((unsigned long long)x * y >> 32);
}
SIMTUNE_EMU_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
SIMTUNE_EMU_INLINE long long __mul64hi(long long x, long long y) {
    return (long long)((__int128)x * y >> 64);
}
SIMTUNE_EMU_INLINE int __mul24(int x, int y) {
    return (int)((unsigned)((int)((unsigned)x << 8) >> 8) *
                 (unsigned)((int)((unsigned)y << 8) >> 8));
}
SIMTUNE_EMU_INLINE unsigned __umul24(unsigned x, unsigned y) {
    return (x & 0xffffffu) * (y & 0xffffffu);
}
SIMTUNE_EMU_INLINE unsigned __sad(int x, int y, unsigned z) {
    return (unsigned)(x > y ? (long long)x - y : (long long)y - x) + z;
}
SIMTUNE_EMU_INLINE unsigned __usad(unsigned x, unsigned y, unsigned z) {
    return (x > y ? x - y : y - x) + z;
}

// --- casts of bits and of values ---------------------------------------------------------------
template <class To, class From> SIMTUNE_EMU_INLINE To simtune_emu_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "sizes differ");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
SIMTUNE_EMU_INLINE int __float_as_int(float x) {
    return simtune_emu_bits<int>(x);
}
SIMTUNE_EMU_INLINE unsigned __float_as_uint(float x) {
    return simtune_emu_bits<unsigned>(x);
}
SIMTUNE_EMU_INLINE float __int_as_float(int x) {
    return simtune_emu_bits<float>(x);
}
SIMTUNE_EMU_INLINE float __uint_as_float(unsigned x) {
    return simtune_emu_bits<float>(x);
}
SIMTUNE_EMU_INLINE long long __double_as_longlong(double x) {
    return simtune_emu_bits<long long>(x);
}
SIMTUNE_EMU_INLINE double __longlong_as_double(long long x) {
    return simtune_emu_bits<double>(x);
}
SIMTUNE_EMU_INLINE int __double2loint(double x) {
    return (int)__double_as_longlong(x);
}
SIMTUNE_EMU_INLINE int __double2hiint(double x) {
    return (int)(__double_as_longlong(x) >> 32);
}
SIMTUNE_EMU_INLINE double __hiloint2double(int high, int low) {
    return __longlong_as_double(
        (long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
// Out of range saturates and NaN becomes 0, as on the device.
template <class To>
SIMTUNE_EMU_INLINE To simtune_emu_to_integer(double x, double low, double high, To lowest,
                                             To highest) {
    if (x != x)
        return (To)0;
    return x <= low ? lowest : x >= high ? highest : (To)x;
}
#define SIMTUNE_EMU_TO_INT(x)                                                                      \
    simtune_emu_to_integer<int>(x, -2147483648.0, 2147483647.0, -2147483647 - 1, 2147483647)
#define SIMTUNE_EMU_TO_UINT(x)                                                                     \
    simtune_emu_to_integer<unsigned>(x, 0.0, 4294967295.0, 0u, 4294967295u)
SIMTUNE_EMU_INLINE int __float2int_rn(float x) {
    return SIMTUNE_EMU_TO_INT(rint((double)x));
}
SIMTUNE_EMU_INLINE int __float2int_rz(float x) {
    return SIMTUNE_EMU_TO_INT(trunc((double)x));
}
SIMTUNE_EMU_INLINE int __float2int_rd(float x) {
    return SIMTUNE_EMU_TO_INT(floor((double)x));
}
SIMTUNE_EMU_INLINE int __float2int_ru(float x) {
    return SIMTUNE_EMU_TO_INT(ceil((double)x));
}
SIMTUNE_EMU_INLINE unsigned __float2uint_rn(float x) {
    return SIMTUNE_EMU_TO_UINT(rint((double)x));
}
SIMTUNE_EMU_INLINE unsigned __float2uint_rz(float x) {
    return SIMTUNE_EMU_TO_UINT(trunc((double)x));
}
SIMTUNE_EMU_INLINE int __double2int_rn(double x) {
    return SIMTUNE_EMU_TO_INT(rint(x));
}
SIMTUNE_EMU_INLINE int __double2int_rz(double x) {
    return SIMTUNE_EMU_TO_INT(trunc(x));
}
SIMTUNE_EMU_INLINE float __int2float_rn(int x) {
    return (float)x;
}
SIMTUNE_EMU_INLINE float __uint2float_rn(unsigned x) {
    return (float)x;
}
SIMTUNE_EMU_INLINE double __int2double_rn(int x) {
    return (double)x;
}
SIMTUNE_EMU_INLINE float __double2float_rn(double x) {
    return (float)x;
}
#undef SIMTUNE_EMU_TO_INT
#undef SIMTUNE_EMU_TO_UINT

// --- arithmetic with its own words -------------------------------------------------------------
SIMTUNE_EMU_INLINE float __fadd_rn(float x, float y) {
    return x + y;
}
SIMTUNE_EMU_INLINE float __fsub_rn(float x, float y) {
    return x - y;
}
SIMTUNE_EMU_INLINE float __fmul_rn(float x, float y) {
    return x * y;
}
SIMTUNE_EMU_INLINE float __fdiv_rn(float x, float y) {
    return x / y;
}
SIMTUNE_EMU_INLINE float __fmaf_rn(float x, float y, float z) {
    return fmaf(x, y, z);
}
SIMTUNE_EMU_INLINE float __frcp_rn(float x) {
    return 1.0f / x;
}
SIMTUNE_EMU_INLINE float __fsqrt_rn(float x) {
    return sqrtf(x);
}
SIMTUNE_EMU_INLINE float __frsqrt_rn(float x) {
    return (float)(1.0 / sqrt((double)x));
}
SIMTUNE_EMU_INLINE double __dadd_rn(double x, double y) {
    return x + y;
}
SIMTUNE_EMU_INLINE double __dsub_rn(double x, double y) {
    return x - y;
}
SIMTUNE_EMU_INLINE double __dmul_rn(double x, double y) {
    return x * y;
}
SIMTUNE_EMU_INLINE double __ddiv_rn(double x, double y) {
    return x / y;
}
SIMTUNE_EMU_INLINE double __fma_rn(double x, double y, double z) {
    return fma(x, y, z);
}
// The fast forms are as far off as CUDA's programming guide says that they may be (appendix on
// mathematical functions), so that a kernel that cannot bear it is found here too: sine and cosine
// keep 2^-21.4 within -pi ... pi and lose what the argument's product with 1 / 2 pi is rounded by
// beyond, exponentials what the product with log2(e) is, logarithms keep 2^-21.4 around 1.
SIMTUNE_EMU_INLINE float simtune_emu_coarse(double x) {
    return (float)(rint(x * 4194304.0) * (1.0 / 4194304.0));
}
SIMTUNE_EMU_INLINE double simtune_emu_turns(float x) {
    return (double)(x * 0.15915494f) * 6.283185307179586;
}
SIMTUNE_EMU_INLINE float __fdividef(float x, float y) {
    float size = fabsf(y);
    return size > 8.507059173e37f && size < __builtin_inff() ? x * 0.0f : x / y;
}
SIMTUNE_EMU_INLINE float __expf(float x) {
    return exp2f(x * 1.44269504f);
}
SIMTUNE_EMU_INLINE float __exp10f(float x) {
    return exp2f(x * 3.32192809f);
}
SIMTUNE_EMU_INLINE float __log2f(float x) {
    return x >= 0.5f && x <= 2.0f ? simtune_emu_coarse(log2((double)x)) : log2f(x);
}
SIMTUNE_EMU_INLINE float __logf(float x) {
    return __log2f(x) * 0.693147182f;
}
SIMTUNE_EMU_INLINE float __log10f(float x) {
    return __log2f(x) * 0.301029996f;
}
SIMTUNE_EMU_INLINE float __sinf(float x) {
    return simtune_emu_coarse(sin(simtune_emu_turns(x)));
}
SIMTUNE_EMU_INLINE float __cosf(float x) {
    return simtune_emu_coarse(cos(simtune_emu_turns(x)));
}
SIMTUNE_EMU_INLINE void __sincosf(float x, float *s, float *c) {
    *s = __sinf(x);
    *c = __cosf(x);
}
SIMTUNE_EMU_INLINE float __tanf(float x) {
    return __sinf(x) / __cosf(x);
}
SIMTUNE_EMU_INLINE float __powf(float x, float y) {
    return exp2f(y * __log2f(x));
}
SIMTUNE_EMU_INLINE float __saturatef(float x) {
    return x >= 0.0f ? (x <= 1.0f ? x : 1.0f) : 0.0f;
}

// --- 16-bit floats as bits, round to nearest even ----------------------------------------------
SIMTUNE_EMU_INLINE float simtune_emu_half_to_float(unsigned short half) {
    unsigned sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, mantissa = half & 0x3ffu;
    if (exponent == 31)
        return __uint_as_float(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0) {
        float magnitude = (float)mantissa * (1.0f / 16777216.0f);
        return sign ? -magnitude : magnitude;
    }
    return __uint_as_float(sign | (exponent + 112u) << 23 | mantissa << 13);
}
SIMTUNE_EMU_INLINE unsigned short simtune_emu_float_to_half(float value) {
    unsigned bits = __float_as_uint(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u)
        return 0x7fff;       // as the device
    if (size >= 0x477ff000u) // rounds to 65536 or more
        return (unsigned short)(sign | 0x7c00u);
    if (size < 0x38800000u) // subnormal: in units of 2^-24
        return (unsigned short)(sign | (unsigned)rintf(__uint_as_float(size) * 16777216.0f));
    unsigned rounded = size + 0xfffu + (size >> 13 & 1u);
    return (unsigned short)(sign | (rounded - 0x38000000u) >> 13);
}
SIMTUNE_EMU_INLINE float simtune_emu_bf16_to_float(unsigned short bits) {
    return __uint_as_float((unsigned)bits << 16);
}
SIMTUNE_EMU_INLINE unsigned short simtune_emu_float_to_bf16(float value) {
    unsigned bits = __float_as_uint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
