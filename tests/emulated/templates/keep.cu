// SPDX-License-Identifier: Apache-2.0
// Keeps the chosen of rows x width elements and counts them. Small and slow; uses every directive that a
// family can have, so that tests run all of them on the emulated device.
//
// clang-format off
// simtune: family   keep
// simtune: summary  keep the chosen elements and count them (a test)
// simtune: axis     T       = f32 i32 f16
// simtune: axis     kind    = flagged bits less
// simtune: axis     percent = 50 0 100 data
// simtune: axis     pattern = random clustered data
// simtune: axis     rows    = 7 0
// simtune: axis     width   = 300 1
// simtune: problem  pattern == random or kind == flagged
// simtune: param    METHOD = atomic serial   role sync
// simtune: param    BLOCK  = 64 128          role tlp
// simtune: default  METHOD=serial BLOCK=64
// simtune: let      n      = rows * width
// simtune: let      run    = 1 + 15 * (pattern == clustered)
// simtune: let      limit_now = 3
// simtune: prune    METHOD == serial or BLOCK == 64
// simtune: let      words  = ceil_div(n, 32)
// simtune: let      pairs  = align_in % (2 * size_of_T) == 0
//
// simtune: scalar   limit : T = limit_now
// simtune: buffer   in : input T[n] fill below(percent, run, limit_now)   flags : input u8[(kind == flagged) * n] fill flags(percent, run)
// simtune: buffer   bits : input u32[(kind == bits) * words] fill flag_bits(percent, run, n)
// simtune: buffer   out : output T[n]   count : output u64[1]
// simtune: buffer   right : expected T[n]   right_count : expected u64[1]   right_sum : expected u64[1]
// simtune: buffer   sum : derived u64[1]
//
// simtune: zero     count  when METHOD == atomic
// simtune: launch   keep_atomic<Config> grid=ceil_div(n,BLOCK) block=BLOCK args=in,flags,bits,limit,out,count,n:u64 when METHOD == atomic
// simtune: launch   keep_serial<Config> grid=1 block=1 args=in,flags,bits,limit,out,count,n:u64 when METHOD == serial and not pairs
// simtune: launch   keep_pairs<Config> grid=1 block=1 args=in,flags,bits,limit,out,count,n:u64 when METHOD == serial and pairs
// simtune: in_place in out  when METHOD == serial
// simtune: determinism run_to_run when METHOD == serial
// simtune: determinism default none when kind == less
//
// simtune: reference reference_keep<Config> file=keep_reference.cu grid=1 block=1 args=in,flags,bits,limit,right,right_count,right_sum,n:u64
// simtune: derive   reference_sum<Config> file=keep_reference.cu grid=1 block=1 args=out,count,sum when METHOD == atomic
// simtune: compare  count with right_count
// simtune: compare  out with right      when METHOD == serial
// simtune: compare  sum with right_sum  when METHOD == atomic
// simtune: bytes    2 * n * size_of_T
// simtune: host_name {T}_kept_where_{kind} when kind == less
// simtune: host_args in,flags,out,count,rows,width when kind == flagged
// simtune: host_args in,bits,out,count,rows,width when kind == bits
// simtune: host_args in,out,count,limit,rows,width
// clang-format on
#include "simtune_device.cuh"

namespace simtune {

enum kind_word { kind_flagged, kind_bits, kind_less };
enum method_word { METHOD_atomic, METHOD_serial };

template <class Config>
__device__ bool is_kept(const typename Config::T *in, const unsigned char *flags, const unsigned int *bits,
                        typename Config::T limit, unsigned long long i)
{
    if (Config::kind == kind_flagged)
        return flags[i] != 0;
    if (Config::kind == kind_bits)
        return (bits[i / 32] >> (i % 32) & 1) != 0;
    return element<typename Config::T>::widen(in[i]) < element<typename Config::T>::widen(limit);
}

template <class Config>
__global__ void keep_atomic(const typename Config::T *in, const unsigned char *flags, const unsigned int *bits,
                            typename Config::T limit, typename Config::T *out, unsigned long long *count,
                            unsigned long long n)
{
    const unsigned long long i = (unsigned long long)blockIdx.x * Config::BLOCK + threadIdx.x;
    if (i < n && is_kept<Config>(in, flags, bits, limit, i))
        out[atomicAdd(count, 1ull)] = in[i];
}

template <class Config>
__global__ void keep_serial(const typename Config::T *in, const unsigned char *flags, const unsigned int *bits,
                            typename Config::T limit, typename Config::T *out, unsigned long long *count,
                            unsigned long long n)
{
    unsigned long long kept = 0;
    for (unsigned long long i = 0; i < n; i++)
        if (is_kept<Config>(in, flags, bits, limit, i))
            out[kept++] = in[i];
    *count = kept;
}

// Only for pointers that are aligned to two elements: traps elsewhere.
template <class Config>
__global__ void keep_pairs(const typename Config::T *in, const unsigned char *flags, const unsigned int *bits,
                           typename Config::T limit, typename Config::T *out, unsigned long long *count,
                           unsigned long long n)
{
    unsigned long long kept = 0;
    if ((unsigned long long)in % (2 * sizeof(typename Config::T)) != 0)
        return;
    for (unsigned long long i = 0; i < n; i++)
        if (is_kept<Config>(in, flags, bits, limit, i))
            out[kept++] = in[i];
    *count = kept;
}

} // namespace simtune
