// SPDX-License-Identifier: Apache-2.0
// A polynomial of `length` coefficients at n points: chains of dependent multiply-adds, the example for
// the stall `wait`. Arguments are held to -1 … 1, where such series are used; a NaN gives a NaN. Each
// configuration is right for any n and length, for any base that is aligned to an element.
//
// The plain way, Horner's, is one chain: each step needs the one before it, and the multiplier idles
// meanwhile. It is broken by more chains in a thread (ACC: every ACC-th coefficient; POINTS: several
// points) or by more threads (LANES: a point's rows of coefficients are dealt out to several lanes).
//
//     simtune tune fma_chain.cu --size 16Ki,1Ki --set ROW=16 --set AHEAD=1 --vary ACC
//
// clang-format off
// simtune: family   fma_chain
// simtune: summary  example: a polynomial at n points, chains of dependent multiply-adds
//
// simtune: axis     T      = f32 f64
// simtune: axis     n      = 16Ki 1Mi
// simtune: axis     length = 1Ki
// More takes too long to check: a multiply-add each.
// simtune: problem  n * length <= SM_COUNT * 32Mi
//
// simtune: param    BLOCK  = 64 128 256 512     role tlp
// Points of a thread, chains of a point, lanes that share a point.
// simtune: param    POINTS = 1 2 4 8            role ilp regs work
// simtune: param    ACC    = 1 2 4 8            role ilp
// simtune: param    LANES  = 1 2 4 8 32         role tlp work smem
// Coefficients that are loaded at once, from where, and whether before those in hand are used up.
// simtune: param    ROW    = 4 8 16             role mlp ilp
// simtune: param    SOURCE = global shared      role mlp smem
// simtune: param    AHEAD  = 0 1                role mlp regs
//
// Horner's rule as one writes it; the loop unrolled four times, as compilers do.
// simtune: default  BLOCK=256 POINTS=1 ACC=1 LANES=1 ROW=4 SOURCE=global AHEAD=0
// simtune: rival    ACC=1
//
// simtune: where    ACC <= ROW
// simtune: where    POINTS * ACC <= 16
// More threads than the device holds twice, or fewer than a quarter of what it holds while lanes are left.
// simtune: let      threads = ceil_div(n, POINTS) * LANES
// simtune: let      held = SM_COUNT * THREADS_PER_SM
// simtune: prune    LANES == 1 or threads <= 2 * held
// simtune: prune    LANES == 32 or threads * 32 >= held
// simtune: prune    LANES == 1 or LANES * ROW <= length
//
// simtune: let      tile = BLOCK / LANES * POINTS
// simtune: let      blocks = ceil_div(n, tile)
//
// simtune: buffer   coefficients : input T[length]   x : input T[n]   y : output T[n]
// simtune: buffer   right : expected reference_T[n]   size : magnitude f64[n]
// simtune: launch   fma_chain<Config> grid=blocks block=BLOCK args=coefficients,x,y,n,length
// simtune: reference reference_fma_chain<Config> file=reference/fma_chain_reference.cu grid=ceil_div(n,128) block=128 args=coefficients,x,right,size,n,length
//
// Horner's rule rounds twice a coefficient. With several chains the power that a chain goes on by is itself
// rounded, and the error of a term grows with the power's power: not like a square root.
// simtune: let      chains = ACC * LANES
// simtune: let      powers = ceil_div(length, chains) * ceil_log2(chains)
// simtune: let      rounded = 2 * length + powers * powers / 36 + 16
// simtune: compare  y with right magnitude size height rounded
// simtune: determinism run_to_run
// simtune: bytes    (2 * n + length) * size_of_T
// simtune: host_args coefficients,length,x,y,n
// clang-format on
#ifndef SIMTUNE_FMA_CHAIN_CU
#define SIMTUNE_FMA_CHAIN_CU

namespace simtune {

typedef unsigned int u32;
typedef unsigned long long u64;

enum fma_chain_source_word { SOURCE_global, SOURCE_shared };

__device__ __forceinline__ float chain_step(float a, float b, float c) {
    return fmaf(a, b, c);
}
__device__ __forceinline__ double chain_step(double a, double b, double c) {
    return fma(a, b, c);
}

template <class T> __device__ __forceinline__ T chain_argument(T x) {
    return x > T(1) ? T(1) : x < T(-1) ? T(-1) : x; // a NaN stays
}

template <int POWER, class T> struct chain_power {
    static __device__ __forceinline__ T of(T x) {
        const T half = chain_power<POWER / 2, T>::of(x);
        return POWER % 2 ? half * half * x : half * half;
    }
};
template <class T> struct chain_power<1, T> {
    static __device__ __forceinline__ T of(T x) {
        return x;
    }
};

// --- a lane's row of coefficients ----------------------------------------------------------------
template <class T> struct chain_load; // 16 bytes at once
template <> struct chain_load<float> {
    static const int WIDTH = 4;
    static __device__ __forceinline__ void load(float *to, const float *from) {
        const float4 four = *(const float4 *)from;
        to[0] = four.x;
        to[1] = four.y;
        to[2] = four.z;
        to[3] = four.w;
    }
};
template <> struct chain_load<double> {
    static const int WIDTH = 2;
    static __device__ __forceinline__ void load(double *to, const double *from) {
        const double2 two = *(const double2 *)from;
        to[0] = two.x;
        to[1] = two.y;
    }
};

template <class T, int ROW> struct chain_row {
    T value[ROW];

    __device__ __forceinline__ void load(const T *from) {
#pragma unroll
        for (int k = 0; k < ROW; k += chain_load<T>::WIDTH)
            chain_load<T>::load(value + k, from + k);
    }
    // From any base, and no more than there are: the others are 0.
    __device__ __forceinline__ void load_part(const T *from, u64 count) {
#pragma unroll
        for (int k = 0; k < ROW; k++)
            value[k] = k < count ? from[k] : T(0);
    }
    __device__ __forceinline__ void load_each(const T *from) {
#pragma unroll
        for (int k = 0; k < ROW; k++)
            value[k] = from[k];
    }
};

// --- the chains of a thread ----------------------------------------------------------------------
// Coefficient (r * LANES + lane) * ROW + k is number k of row r of a lane. Chain a of it takes every
// ACC-th from a on, from the last to the first; so it goes down by ACC within a row, and by the
// rows of the other lanes besides from row to row.
template <class Config> struct chain_thread {
    typedef typename Config::T T;
    typedef chain_row<T, Config::ROW> row;
    static const int STRIDE = Config::LANES * Config::ROW; // coefficients of all lanes' rows
    static const int JUMP = (Config::LANES - 1) * Config::ROW + Config::ACC;

    T sum[Config::POINTS][Config::ACC];
    T x[Config::POINTS], step[Config::POINTS], jump[Config::POINTS];

    __device__ __forceinline__ void begin(int p, T argument) {
        x[p] = chain_argument(argument);
        step[p] = chain_power<Config::ACC, T>::of(x[p]);
        jump[p] = Config::LANES == 1 ? step[p] : chain_power<JUMP, T>::of(x[p]);
#pragma unroll
        for (int a = 0; a < Config::ACC; a++)
            sum[p][a] = T(0);
    }

    __device__ __forceinline__ void add(const row &c) {
#pragma unroll
        for (int k = Config::ROW - Config::ACC; k >= 0; k -= Config::ACC)
#pragma unroll
            for (int p = 0; p < Config::POINTS; p++)
#pragma unroll
                for (int a = 0; a < Config::ACC; a++)
                    sum[p][a] = chain_step(
                        sum[p][a], k == Config::ROW - Config::ACC ? jump[p] : step[p],
                        c.value[k + a]);
    }

    // `rows` rows that lie STRIDE apart, the last one first, all of them whole.
    template <bool WIDE> __device__ __forceinline__ void add_rows(const T *from, u64 rows) {
        from += (long long)rows * STRIDE - STRIDE;
        row one, other;
        if (!Config::AHEAD) {
#pragma unroll 1
            for (; rows > 0; rows--, from -= STRIDE) {
                load<WIDE>(one, from);
                add(one);
            }
            return;
        }
        if (rows > 0)
            load<WIDE>(one, from);
#pragma unroll 1
        for (; rows > 2; rows -= 2, from -= 2 * STRIDE) { // in turns, so that nothing is copied
            load<WIDE>(other, from - STRIDE);
            add(one);
            load<WIDE>(one, from - 2 * STRIDE);
            add(other);
        }
        if (rows > 1)
            load<WIDE>(other, from - STRIDE);
        if (rows > 0)
            add(one);
        if (rows > 1)
            add(other);
    }
    template <bool WIDE> static __device__ __forceinline__ void load(row &to, const T *from) {
        if (WIDE)
            to.load(from);
        else
            to.load_each(from);
    }

    // The chains of a point, then the lanes. All lanes of the warp take part; each gets the value.
    __device__ __forceinline__ T end(int p, u32 lane) const {
        T value = sum[p][Config::ACC - 1];
#pragma unroll
        for (int a = Config::ACC - 2; a >= 0; a--)
            value = chain_step(value, x[p], sum[p][a]);
        if (Config::LANES == 1)
            return value;
        T power = chain_power<Config::ROW, T>::of(x[p]);
#pragma unroll
        for (int bit = 1; bit < Config::LANES; bit *= 2) {
            if (lane & bit)
                value *= power;
            power *= power;
        }
#pragma unroll
        for (int bit = 1; bit < Config::LANES; bit *= 2)
            value += __shfl_xor_sync(0xffffffffu, value, bit);
        return value;
    }
};

// --- where coefficients come from ----------------------------------------------------------------
// From global memory: all lanes of a warp read the same few lines, which stay in L1.
template <class Config>
__device__ __forceinline__ void chain_from_global(chain_thread<Config> &thread,
                                                  const typename Config::T *__restrict__ all,
                                                  u64 length, u32 lane) {
    typedef chain_thread<Config> type;
    const u64 rows = length / type::STRIDE, rest = length % type::STRIDE, mine = lane * Config::ROW;
    const typename Config::T *from = all + mine;
    if (rest > 0) {
        typename type::row top;
        top.load_part(from + rows * type::STRIDE, rest > mine ? rest - mine : 0);
        thread.add(top);
    }
    if ((u64)all % 16 == 0)
        thread.template add_rows<true>(from, rows);
    else
        thread.template add_rows<false>(from, rows);
}

// From shared memory, stage by stage, the last one first; what it lacks is 0.
template <class Config>
__device__ __forceinline__ void chain_from_shared(chain_thread<Config> &thread,
                                                  const typename Config::T *__restrict__ all,
                                                  u64 length, u32 lane) {
    typedef typename Config::T T;
    const int STAGE = 1024;
    __shared__ __align__(16) T stage[STAGE];
    for (u64 begin = (length + STAGE - 1) / STAGE * STAGE; begin > 0;) {
        begin -= STAGE;
        __syncthreads();
#pragma unroll
        for (int r = 0; r < STAGE / Config::BLOCK; r++) {
            const u32 k = r * Config::BLOCK + threadIdx.x;
            stage[k] = begin + k < length ? all[begin + k] : T(0);
        }
        __syncthreads();
        thread.template add_rows<true>(stage + lane * Config::ROW,
                                       STAGE / chain_thread<Config>::STRIDE);
    }
}

// LANES neighbours share POINTS points, which lie a block's groups apart.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    fma_chain(const typename Config::T *__restrict__ coefficients,
              const typename Config::T *__restrict__ x, typename Config::T *__restrict__ y, u64 n,
              u64 length) {
    typedef typename Config::T T;
    const int GROUPS = Config::BLOCK / Config::LANES;
    const u32 lane = threadIdx.x % Config::LANES;
    const u64 first = (u64)blockIdx.x * (GROUPS * Config::POINTS) + threadIdx.x / Config::LANES;
    chain_thread<Config> thread;
#pragma unroll
    for (int p = 0; p < Config::POINTS; p++)
        thread.begin(p, first + p * GROUPS < n ? x[first + p * GROUPS] : T(0));
    if (Config::SOURCE == SOURCE_shared)
        chain_from_shared<Config>(thread, coefficients, length, lane);
    else
        chain_from_global<Config>(thread, coefficients, length, lane);
#pragma unroll
    for (int p = 0; p < Config::POINTS; p++) {
        const T value = thread.end(p, lane);
        if (lane == 0 && first + p * GROUPS < n)
            y[first + p * GROUPS] = value;
    }
}

} // namespace simtune

#endif // SIMTUNE_FMA_CHAIN_CU
