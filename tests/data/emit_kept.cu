// SPDX-License-Identifier: Apache-2.0
// A kernel that does nothing, with every directive that shapes a host function: names and arguments by problem, a
// scalar, data axes, two sizes, a promise. tests/consumers/contract_kept.cpp sees what a caller's values become.
//
// simtune: family   kept
// simtune: axis     T = f64 i64
// simtune: axis     kind = flagged less
// simtune: axis     percent = 50 10 data
// simtune: axis     pattern = random clustered data
// simtune: axis     rows  = 1 1Ki
// simtune: axis     width = 4 1Ki
// simtune: param    BLOCK = 32 64 128
// simtune: param    METHOD = any ordered
// simtune: default  BLOCK=32 METHOD=ordered
// simtune: where    METHOD == ordered or kind == flagged
// simtune: prune    BLOCK == 32 or rows > 1
// simtune: let      n = rows * width
// simtune: scalar   limit : T = 3
// simtune: scalar   share : f64 = percent
// simtune: buffer   in    : input T[n] fill below(percent, 1, 3)
// simtune: buffer   flags : input u8[(kind == flagged) * n] fill flags(percent, 1 + 7 * (pattern == clustered))
// simtune: buffer   out   : output T[n]   count : output u64[1]
// simtune: launch   kept<Config> grid=1 block=BLOCK smem=0 args=in,flags,limit,out,count,n:u64 when align_flags % 2 == 0
// simtune: launch   kept_odd<Config> grid=2 block=BLOCK args=in,flags,limit,out,count,n:u64 when align_flags % 2 != 0
// simtune: in_place in out when METHOD == ordered
// simtune: determinism run_to_run
// simtune: host_name {kind}_of_{T} when kind == less
// simtune: host_args in,flags,out,count,rows,width when kind == flagged
// simtune: host_args in,out,count,limit,width,rows
namespace simtune {

enum kind_word { kind_flagged, kind_less };
enum method_word { METHOD_any, METHOD_ordered };

template <class Config>
__global__ void kept(const typename Config::T *, const unsigned char *, typename Config::T, typename Config::T *,
                     unsigned long long *, unsigned long long)
{
}
template <class Config>
__global__ void kept_odd(const typename Config::T *, const unsigned char *, typename Config::T, typename Config::T *,
                         unsigned long long *, unsigned long long)
{
}

} // namespace simtune
