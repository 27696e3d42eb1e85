// SPDX-License-Identifier: Apache-2.0
// The kernels of emit_total.cu as another family, for headers with few rows: its directives must be the same.
//
// simtune: family   narrow
// simtune: axis     T  = f32 f64 i32 u64 f16
// simtune: axis     op = sum max
// simtune: axis     n  = 1Ki 64Ki 1Mi
// simtune: param    BLOCK  = 64 128 256 1024
// simtune: param    ITEMS  = 1 2 4 16
// simtune: param    FINISH = two_pass dependent ticket cluster
// simtune: param    WAVES  = 1 2 4   runtime
// simtune: default  BLOCK=128 ITEMS=1 FINISH=two_pass WAVES=1
// simtune: where    FINISH != cluster or (CC >= 90 and WAVES == 1)
// simtune: where    FINISH != dependent or CC >= 90
// simtune: where    BLOCK * 8 * ITEMS <= SMEM_PER_BLOCK
// simtune: let      tiles  = max(1, ceil_div(n, BLOCK * ITEMS))
// simtune: let      blocks = min(tiles, SM_COUNT * BLOCKS_PER_SM * WAVES)
// simtune: let      fits   = n <= L2_BYTES
// simtune: determinism run_to_run when FINISH != ticket
// simtune: buffer   in      : input T[n]
// simtune: buffer   partial : temp reference_T[blocks]
// simtune: buffer   ticket  : temp u32[1]
// simtune: buffer   out     : output T[1]
// simtune: zero     ticket when FINISH == ticket
// simtune: launch   total_blocks<Config> grid=blocks block=BLOCK smem=BLOCK*8*ITEMS \
// simtune:          args=in,partial,ticket,out,n,blocks:i32 when FINISH == ticket
// simtune: launch   total_partials<Config> grid=blocks block=BLOCK smem=BLOCK*8 \
// simtune:          args=in,partial,n when FINISH == two_pass or FINISH == dependent
// simtune: launch   total_finish<Config> grid=1 block=256 dependent=FINISH==dependent \
// simtune:          args=partial,out,blocks:u32 when FINISH == two_pass or FINISH == dependent
// simtune: launch   total_cluster<Config> grid=8 block=BLOCK cluster=8 \
// simtune:          args=in,out,n when FINISH == cluster
// simtune: bytes    n * size_of_T
// simtune: summary  sums and maxima, for the tests of headers
#include "emit_total.cu"
