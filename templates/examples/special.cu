// SPDX-License-Identifier: Apache-2.0
// Kepler's equation E - e sin E = M, and Lambert's w exp(w) = |x|, solved for n right sides by Newton's
// method: sines, cosines, exponentials and divisions, the example for special functions and their fast
// forms, for the stalls `math_pipe_throttle` and `short_scoreboard`, and for fast forms that are wrong.
//
// The fast forms (__sinf, __cosf) keep an absolute error. Near a root of nothing that is too much where
// the caller wants few units in the last place (bound = ulps); and a step of Newton's method repairs what
// the step before it got wrong, so that only the last one must be exact. __expf and __logf keep a relative
// error, and are right for Lambert's equation in every step. Too few steps are wrong as well.
//
//     simtune tune special.cu --size 1Mi --vary EARLY --vary LAST      and --axis bound=absolute
//
// clang-format off
// simtune: family   special
// simtune: summary  example: Kepler's and Lambert's equations, special functions and their fast forms
//
// simtune: axis     T        = f32
// simtune: axis     equation = kepler lambert
// What the caller allows: 8 units in the last place of the root; or 2^-18 besides.
// simtune: axis     bound    = ulps absolute
// simtune: axis     n        = 1Mi 16Mi
//
// simtune: param    BLOCK  = 64 128 256 512             role tlp
// Right sides of a thread that go through the steps together, and how many times.
// simtune: param    ITEMS  = 1 2 4 8                    role ilp mlp regs
// simtune: param    TILES  = 1 4                        role work tlp
// simtune: param    VEC    = 1 2 4                      role mlp
// simtune: param    STEPS  = 3 4 5 6 8                  role work
// library: sincosf, expf; fast: __sinf, __cosf, __expf; polynomial: on the multipliers, no special unit.
// simtune: param    EARLY  = library fast polynomial    role work ilp
// simtune: param    LAST   = library fast polynomial    role work ilp
// simtune: param    DIVIDE = exact fast                 role work
//
// simtune: default  BLOCK=256 ITEMS=1 TILES=1 VEC=1 STEPS=8 EARLY=library LAST=library DIVIDE=exact
// simtune: rival    EARLY=library EARLY=polynomial
//
// simtune: where    VEC <= ITEMS
// No step before the last one needs more than the last one has.
// simtune: prune    EARLY == LAST or EARLY == fast
// simtune: prune    VEC == 1 or VEC == min(ITEMS, 4)
// simtune: prune    TILES == 1 or VEC == min(ITEMS, 4)
// simtune: prune    STEPS <= 6 or (BLOCK == 256 and EARLY == LAST)
//
// simtune: let      tile = BLOCK * ITEMS
// simtune: let      blocks = ceil_div(n, tile * TILES)
// simtune: let      wide = align_x % (VEC * 4) == 0 and align_root % (VEC * 4) == 0
// simtune: scalar   percent : u32 = 50
// simtune: buffer   x : input T[n]   root : output T[n]
// simtune: buffer   right : expected reference_T[n]   allowed : magnitude f64[n]
// simtune: launch   special_roots<Config> grid=blocks block=BLOCK args=x,root,n,percent,wide:u32
// simtune: reference reference_special<Config> file=reference/special_reference.cu grid=ceil_div(n,128) block=128 args=x,right,allowed,n,percent
//
// 2^-24 of what the reference allows: 16 |root|, and 64 where the bound is absolute.
// simtune: compare  root with right magnitude allowed tolerance 5.9604644775390625e-8
// simtune: determinism run_to_run
// simtune: bytes    2 * n * size_of_T
// simtune: host_args x,root,n,percent
// clang-format on
#ifndef SIMTUNE_SPECIAL_CU
#define SIMTUNE_SPECIAL_CU

namespace simtune {

typedef unsigned int u32;
typedef unsigned long long u64;

enum special_equation_word { equation_kepler, equation_lambert };
enum special_bound_word { bound_ulps, bound_absolute };
enum special_early_word { EARLY_library, EARLY_fast, EARLY_polynomial };
enum special_last_word { LAST_library, LAST_fast, LAST_polynomial }; // the same numbers
enum special_divide_word { DIVIDE_exact, DIVIDE_fast };

// --- three forms of each function ----------------------------------------------------------------
template <int FORM> struct special_form;
template <> struct special_form<EARLY_library> {
    static __device__ __forceinline__ void sine(float x, float &sine, float &cosine) {
        sincosf(x, &sine, &cosine);
    }
    static __device__ __forceinline__ float exponential(float x) {
        return expf(x);
    }
};
template <> struct special_form<EARLY_fast> {
    static __device__ __forceinline__ void sine(float x, float &sine, float &cosine) {
        sine = __sinf(x);
        cosine = __cosf(x);
    }
    static __device__ __forceinline__ float exponential(float x) {
        return __expf(x);
    }
};
// Reduced in three parts of pi/2 (two of ln 2), then polynomials of least relative error: a unit in
// the last place or two, with multiply-adds alone.
template <> struct special_form<EARLY_polynomial> {
    static __device__ __forceinline__ void sine(float x, float &sine, float &cosine) {
        if (!(x > -32768.0f && x < 32768.0f)) { // three parts do not reach as far
            sincosf(x, &sine, &cosine);
            return;
        }
        const int quarter = __float2int_rn(x * 0.636619772f);
        const float turns = (float)quarter;
        float r = fmaf(-turns, 1.570795059e+00f, x);
        r = fmaf(-turns, 1.267590051e-06f, r);
        r = fmaf(-turns, 7.443547731e-13f, r);
        const float square = r * r;
        float s = fmaf(2.718311646e-06f, square, -1.983933485e-04f);
        s = fmaf(s, square, 8.333329386e-03f);
        s = fmaf(s, square, -1.666666664e-01f);
        s = fmaf(s * square, r, r);
        float c = fmaf(2.443845159e-05f, square, -1.388736752e-03f);
        c = fmaf(c, square, 4.166664687e-02f);
        c = fmaf(c, square, -0.5f);
        c = fmaf(c, square, 1.0f);
        sine = quarter & 1 ? c : s;
        cosine = quarter & 1 ? s : c;
        if (quarter & 2)
            sine = -sine;
        if ((quarter + 1) & 2)
            cosine = -cosine;
    }
    static __device__ __forceinline__ float exponential(float x) {
        float doublings = rintf(x * 1.442695041f);
        doublings = doublings < -126.0f ? -126.0f : doublings > 127.0f ? 127.0f : doublings;
        float r = fmaf(-doublings, 6.914062500e-01f, x);
        r = fmaf(-doublings, 1.740930602e-03f, r);
        if (!(r > -1.0f)) // far below the smallest number; a NaN stays in p
            r = x == x ? -1.0f : x;
        float p = fmaf(1.395047948e-03f, r, 8.368882228e-03f);
        p = fmaf(p, r, 4.166620598e-02f);
        p = fmaf(p, r, 1.666651890e-01f);
        p = fmaf(p, r, 5.000000095e-01f);
        p = fmaf(p * r, r, r) + 1.0f;
        return p * __int_as_float(((int)doublings + 127) << 23);
    }
};

template <int DIVIDE> __device__ __forceinline__ float special_divide(float a, float b) {
    return DIVIDE == DIVIDE_fast ? __fdividef(a, b) : a / b;
}

// --- the equations -------------------------------------------------------------------------------
// Where Newton's method begins, and a step of it.
template <int EQUATION> struct special_equation;
template <> struct special_equation<equation_kepler> {
    static __device__ __forceinline__ float prepare(float mean) {
        return mean;
    }
    template <int FORM> static __device__ __forceinline__ float begin(float mean) {
        return mean;
    }
    template <int FORM, int DIVIDE>
    static __device__ __forceinline__ float step(float at, float mean, float eccentricity) {
        float sine, cosine;
        special_form<FORM>::sine(at, sine, cosine);
        const float missed = fmaf(-eccentricity, sine, at) - mean;
        return at - special_divide<DIVIDE>(missed, fmaf(-eccentricity, cosine, 1.0f));
    }
};
// w - (w exp(w) - x) / (exp(w) (1 + w)) without large numbers.
template <> struct special_equation<equation_lambert> {
    static __device__ __forceinline__ float prepare(float x) {
        return fabsf(x);
    }
    template <int FORM> static __device__ __forceinline__ float begin(float x) {
        return FORM == EARLY_library ? logf(1.0f + x) : __logf(1.0f + x);
    }
    template <int FORM, int DIVIDE>
    static __device__ __forceinline__ float step(float at, float x, float) {
        const float left = special_form<FORM>::exponential(-at);
        return special_divide<DIVIDE>(fmaf(at, at, x * left), 1.0f + at);
    }
};

// --- one tile ------------------------------------------------------------------------------------
template <int VEC> struct special_vector;
template <> struct special_vector<1> {
    static __device__ __forceinline__ void load(float *to, const float *from) {
        to[0] = from[0];
    }
    static __device__ __forceinline__ void store(float *to, const float *from) {
        to[0] = from[0];
    }
};
template <> struct special_vector<2> {
    static __device__ __forceinline__ void load(float *to, const float *from) {
        const float2 both = *(const float2 *)from;
        to[0] = both.x;
        to[1] = both.y;
    }
    static __device__ __forceinline__ void store(float *to, const float *from) {
        const float2 both = {from[0], from[1]};
        *(float2 *)to = both;
    }
};
template <> struct special_vector<4> {
    static __device__ __forceinline__ void load(float *to, const float *from) {
        const float4 four = *(const float4 *)from;
        to[0] = four.x;
        to[1] = four.y;
        to[2] = four.z;
        to[3] = four.w;
    }
    static __device__ __forceinline__ void store(float *to, const float *from) {
        const float4 four = {from[0], from[1], from[2], from[3]};
        *(float4 *)to = four;
    }
};

// The thread's ITEMS elements: groups of VEC, BLOCK groups apart, the first at `first`.
template <class Config> struct special_tile {
    static const int ROW = Config::BLOCK * Config::VEC;
    float value[Config::ITEMS];

    __device__ __forceinline__ void load(const float *x, u64 first, u64 n, bool wide) {
#pragma unroll
        for (int k = 0; k < Config::ITEMS; k += Config::VEC) {
            const u64 at = first + k / Config::VEC * ROW;
            if (wide && at + Config::VEC <= n)
                special_vector<Config::VEC>::load(value + k, x + at);
            else
#pragma unroll
                for (int v = 0; v < Config::VEC; v++)
                    value[k + v] = at + v < n ? x[at + v] : 0.0f;
        }
    }
    __device__ __forceinline__ void store(float *root, u64 first, u64 n, bool wide) const {
#pragma unroll
        for (int k = 0; k < Config::ITEMS; k += Config::VEC) {
            const u64 at = first + k / Config::VEC * ROW;
            if (wide && at + Config::VEC <= n)
                special_vector<Config::VEC>::store(root + at, value + k);
            else
#pragma unroll
                for (int v = 0; v < Config::VEC; v++)
                    if (at + v < n)
                        root[at + v] = value[k + v];
        }
    }
    __device__ __forceinline__ void solve(float eccentricity) {
        typedef special_equation<Config::equation> equation;
        float at[Config::ITEMS];
#pragma unroll
        for (int k = 0; k < Config::ITEMS; k++) {
            value[k] = equation::prepare(value[k]);
            at[k] = equation::template begin<Config::EARLY>(value[k]);
        }
#pragma unroll 1
        for (int step = 1; step < Config::STEPS; step++)
#pragma unroll
            for (int k = 0; k < Config::ITEMS; k++)
                at[k] = equation::template step<Config::EARLY, Config::DIVIDE>(at[k], value[k],
                                                                               eccentricity);
#pragma unroll
        for (int k = 0; k < Config::ITEMS; k++)
            value[k] = equation::template step<Config::LAST, Config::DIVIDE>(at[k], value[k],
                                                                             eccentricity);
    }
};

// percent: the orbits' eccentricity, below 100. wide: both bases are aligned to VEC elements.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    special_roots(const float *__restrict__ x, float *__restrict__ root, u64 n, u32 percent,
                  u32 wide) {
    const float eccentricity = (float)percent * 0.01f;
    u64 first = (u64)blockIdx.x * (Config::BLOCK * Config::ITEMS) + threadIdx.x * Config::VEC;
#pragma unroll 1
    for (int t = 0; t < Config::TILES; t++) {
        special_tile<Config> tile;
        tile.load(x, first, n, wide != 0);
        tile.solve(eccentricity);
        tile.store(root, first, n, wide != 0);
        first += (u64)gridDim.x * (Config::BLOCK * Config::ITEMS);
    }
}

} // namespace simtune

#endif // SIMTUNE_SPECIAL_CU
