// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing, with a plan that has everything: a host compiler and a runtime that only takes notes
// (tests/consumers/fake) show what a header's host function asks of the runtime.
//
// simtune: family   plain
// simtune: axis     n = 1Ki 1Mi
// simtune: axis     rows = 1 1Ki
// simtune: param    BLOCK  = 64 256
// simtune: param    FINISH = two_pass cluster ticket
// simtune: default  BLOCK=64 FINISH=two_pass
// simtune: where    FINISH != cluster or CC >= 90
// simtune: let      blocks = min(ceil_div(n, BLOCK), SM_COUNT * BLOCKS_PER_SM)
// simtune: let      head   = (16 - align_in % 16) % 16 / 4
// simtune: buffer   in      : input f32[n]
// simtune: buffer   partial : temp f32[(FINISH == two_pass) * (blocks + head)]
// simtune: buffer   counter : temp u32[(FINISH == ticket) * 3]
// simtune: buffer   state   : temp f64[(FINISH == ticket) * blocks]
// simtune: buffer   out     : output f32[rows]
// simtune: zero     counter when FINISH == ticket
// simtune: launch   plain_blocks<Config>  grid=blocks block=BLOCK args=in,partial,n,head:i32 when FINISH == two_pass
// simtune: launch   plain_finish<Config>  grid=rows,2 block=32,2,4 smem=65536 dependent=1 args=partial,out,rows when FINISH == two_pass
// simtune: launch   plain_cluster<Config> grid=16 block=BLOCK cluster=16 args=in,out when FINISH == cluster
// simtune: launch   plain_ticket<Config>  grid=blocks block=BLOCK args=counter,state,out when FINISH == ticket
namespace simtune {

enum finish_word { FINISH_two_pass, FINISH_cluster, FINISH_ticket };

template <class Config> __global__ void plain_blocks(const float *, float *, unsigned long long, int) {}
template <class Config> __global__ void plain_finish(const float *, float *, unsigned long long) {}
template <class Config> __global__ void plain_cluster(const float *, float *) {}
template <class Config> __global__ void plain_ticket(unsigned int *, double *, float *) {}

} // namespace simtune
