// SPDX-License-Identifier: Apache-2.0
// Compaction: the elements of n that are kept, close together, and their number. What is kept is said by a flag
// for each element (bytes or bits) or by the element itself (not zero, less than a limit). Each configuration is
// right for every n from 0 on and for any base that is aligned to an element, and touches nothing beyond the count.
// templates/README.md tells what each parameter is for.
//
// clang-format off
// simtune: family   compact
// simtune: summary  the flagged elements of n, in order or in any order, and their number
//
// simtune: axis     T       = f32 f64 i32 u32 i64 u64 f16 bf16
// simtune: axis     select  = flagged bits nonzero less
// simtune: axis     order   = ordered any
// simtune: axis     percent = 50 1 10 90 100 data
// simtune: axis     pattern = random clustered data
// simtune: axis     n       = 64Ki 1Mi 16Mi 256Mi
//
// How it is done, and in how many kernels.
// simtune: param    METHOD  = simple atomic warp_aggregated block_aggregated scan_scatter look_back pipelined_look_back pipelined_wave one_block cluster quadratic  role sync work
// A tile: BLOCK threads of ITEMS elements each, VEC of them at a time.
// simtune: param    BLOCK   = 128 256 384 512 768 1024                role tlp work
// simtune: param    ITEMS   = 1 2 4 8 12 16 24 32 48 64                role mlp ilp work
// simtune: param    VEC     = 1 2 4 8                                 role mlp
// simtune: param    RANK    = ballot scan                             role sync ilp
// simtune: param    SCATTER = direct staged                           role smem sync
// simtune: param    STORE   = plain streaming                         role mlp
// simtune: param    STAGES  = 1 2 3 4 5                               role mlp smem
// simtune: param    MIN_BLOCKS = 1 2 3 4 5 6 7 8                      role regs tlp work
// simtune: param    WINDOW  = 1 2 4 8                                 role sync mlp
// simtune: param    BACKOFF = 0 50 200                                role sync
// simtune: param    EMPTY   = memset kernel dependent                 role sync
// simtune: param    CLUSTER = 1 2 4 8                                 role tlp sync
//
// The articles' way: an atomic counter where the order does not matter, else count, then scatter.
// simtune: default  METHOD=simple BLOCK=256 ITEMS=1 VEC=1 RANK=ballot SCATTER=direct STORE=plain
// simtune: default  STAGES=1 MIN_BLOCKS=4 WINDOW=1 BACKOFF=0 EMPTY=memset CLUSTER=1
//
// simtune: let      is_simple = METHOD == simple
// simtune: let      is_atomic = METHOD == atomic or (is_simple and order == any)
// simtune: let      is_scan_scatter = METHOD == scan_scatter or (is_simple and order == ordered)
// simtune: let      is_pipelined = METHOD == pipelined_look_back or METHOD == pipelined_wave
// simtune: let      has_states = METHOD == look_back or is_pipelined
// simtune: let      is_aggregated = METHOD == warp_aggregated or METHOD == block_aggregated
// simtune: let      adds_to_count = is_atomic or is_aggregated
// simtune: let      is_emptied = has_states or adds_to_count
// simtune: let      is_dependent = EMPTY == dependent
//
// What cannot be, on this device or at all.
// simtune: where    not adds_to_count or order == any
// simtune: where    ITEMS % VEC == 0 and VEC * size_of_T <= 16
// simtune: where    not is_dependent or CC >= 90
// simtune: where    BLOCK * MIN_BLOCKS <= THREADS_PER_SM or not (is_pipelined or is_scan_scatter)
// simtune: let      tile = BLOCK * ITEMS
// simtune: let      tiles = max(1, ceil_div(n, tile))
// simtune: let      flag_bytes = (select == flagged) * tile + (select == bits) * (tile / 8)
// simtune: let      threads = BLOCK + 96 * is_pipelined
// simtune: let      slot_bytes = tile * size_of_T + flag_bytes + 32
// simtune: let      stage_bytes = is_pipelined * STAGES * slot_bytes + (not is_pipelined and SCATTER == staged) * tile * size_of_T
// simtune: where    threads <= MAX_THREADS_PER_BLOCK or not is_pipelined
// simtune: where    stage_bytes + 2048 <= SMEM_PER_BLOCK
// simtune: where    not is_pipelined or MIN_BLOCKS * (stage_bytes + 2048 + SMEM_RESERVED) <= SMEM_PER_SM
// simtune: where    not is_pipelined or MIN_BLOCKS * threads <= THREADS_PER_SM
// simtune: where    METHOD != cluster or (CC >= 90 and CLUSTER > 1 and CLUSTER <= MAX_CLUSTER)
// simtune: where    is_pipelined or is_scan_scatter or tiles < 2147483648
// simtune: where    tiles < 4294000000
// Parameters that a method does not have stand at their default.
// simtune: where    METHOD == cluster or CLUSTER == 1
// simtune: where    is_pipelined == (STAGES > 1)
// simtune: where    is_pipelined or is_scan_scatter or MIN_BLOCKS == 4
// simtune: where    has_states or (WINDOW == 1 and BACKOFF == 0)
// simtune: where    is_emptied or (is_scan_scatter and EMPTY != kernel) or EMPTY == memset
// simtune: where    SCATTER == staged or STORE == plain
// simtune: where    not (is_atomic or METHOD == quadratic) or (SCATTER == direct and RANK == ballot)
// simtune: where    METHOD != quadratic or (ITEMS == 1 and VEC == 1)
// simtune: where    not is_simple or (BLOCK == 256 and ITEMS == 1 and VEC == 1 and RANK == ballot and SCATTER == direct and MIN_BLOCKS == 4 and EMPTY == memset)
//
// What was never near the best and would only cost time: of each method the shapes that have won somewhere, at the
// sizes where it can win, and at its usual shape one step aside at a time.
// simtune: let      item_bytes = ITEMS * size_of_T
// simtune: let      is_round = BLOCK != 384 and BLOCK != 768 and ITEMS != 12 and ITEMS != 24 and (MIN_BLOCKS == 1 or MIN_BLOCKS == 2 or MIN_BLOCKS == 4)
// simtune: let      aside = (RANK != scan) + (SCATTER == staged and STORE != streaming) + (BACKOFF != 0)
// simtune: let      soonest = (CC >= 90 and EMPTY == dependent) or (CC < 90 and EMPTY == memset)
// simtune: let      middling = item_bytes >= 16 and item_bytes <= 64 and BLOCK >= 256 and is_round
// simtune: let      shares_well = METHOD == scan_scatter and middling and BLOCK * MIN_BLOCKS >= 512 and BLOCK * MIN_BLOCKS <= 1024 and soonest and (aside == 0 or (aside == 1 and BLOCK == 512 and item_bytes == 64))
// simtune: let      looks_well = METHOD == look_back and middling and BLOCK <= 512 and item_bytes >= 32 and SCATTER == staged and WINDOW <= 2 and EMPTY != kernel and (aside == 0 or (aside == 1 and BLOCK == 256 and item_bytes == 64))
// simtune: let      is_small = n <= 262144
// simtune: let      clusters_well = METHOD == cluster and middling and is_small and tiles <= CLUSTER and aside == 0 and BLOCK >= 512 and CLUSTER >= 4
// simtune: let      blocks_well = METHOD == one_block and middling and n <= 65536 and aside == 0 and BLOCK == 1024
// simtune: let      squares_well = METHOD == quadratic and BLOCK == 256 and n <= 65536
// simtune: let      fills_ring = 2 * MIN_BLOCKS * stage_bytes >= SMEM_PER_SM
// simtune: let      is_deep = item_bytes >= 64 and item_bytes <= 192 and BLOCK <= 512 and MIN_BLOCKS <= 3 and fills_ring and n >= 524288
// simtune: let      is_core = BLOCK == 256 and MIN_BLOCKS == 1 and STAGES >= 3
// simtune: let      waves_usually = aside == 0 and SCATTER == staged and EMPTY == memset and WINDOW == 8 and MIN_BLOCKS <= 2
// simtune: let      waves_aside = is_core and aside + (SCATTER == direct) + (EMPTY == dependent) + (WINDOW == 4) == 1 and EMPTY != kernel and WINDOW >= 4
// simtune: let      waves_well = METHOD == pipelined_wave and is_deep and (waves_usually or waves_aside)
// simtune: let      pipes_well = METHOD == pipelined_look_back and is_deep and is_round and aside == 0 and SCATTER == staged and EMPTY == memset and WINDOW == 1 and STAGES <= 3
// simtune: let      counts_well = is_atomic and BLOCK == 256 and item_bytes <= 16 and EMPTY != kernel
// simtune: let      gathers_well = is_aggregated and middling and aside == 0 and soonest
// simtune: prune    is_simple or VEC * size_of_T == 16 or METHOD == quadratic or (METHOD == atomic and ITEMS == 1)
// simtune: prune    is_simple or shares_well or looks_well or clusters_well or blocks_well or squares_well or waves_well or pipes_well or counts_well or gathers_well
//
// simtune: let      dealt = min(tiles, SM_COUNT * MIN_BLOCKS)
// simtune: let      share = ceil_div(tiles, dealt)
// simtune: let      shares = ceil_div(tiles, share)
// simtune: let      cluster_share = ceil_div(tiles, CLUSTER)
// simtune: let      state_words = has_states * (tiles + 16)
// simtune: let      empty_blocks = min(SM_COUNT, ceil_div(state_words + 1, 256))
//
// simtune: scalar   limit : T = is_float_T + (T == u32) * 2147483648 + (T == u64) * 4611686018427387904
// simtune: buffer   in : input T[n] fill below(percent, 1 + 999 * (pattern == clustered), is_float_T + (T == u32) * 2147483648 + (T == u64) * 4611686018427387904)
// simtune: fill     in nonzero(percent, 1 + 999 * (pattern == clustered)) when select == nonzero
// simtune: buffer   flags : input u8[(select == flagged) * n] fill flags(percent, 1 + 999 * (pattern == clustered))
// simtune: buffer   bits : input u32[(select == bits) * ceil_div(n, 32)] fill flag_bits(percent, 1 + 999 * (pattern == clustered), n)
// simtune: buffer   out : output T[n]   count : output u64[1]
// simtune: buffer   state : temp u64[state_words + is_scan_scatter * shares]
// simtune: buffer   reference_out : expected T[(order == ordered) * n]   reference_count : expected u64[1]
// simtune: buffer   digest : derived u64[(order == any) * 4]   reference_digest : expected u64[(order == any) * 4]
//
// simtune: zero     state  when has_states and EMPTY == memset
// simtune: zero     count  when adds_to_count and EMPTY == memset
// simtune: launch   compact_empty<Config> grid=empty_blocks block=256 args=state,state_words:u64,count when is_emptied and EMPTY != memset
// simtune: launch   compact_atomic<Config> grid=tiles block=BLOCK dependent=is_dependent args=in,flags,bits,out,count,n,limit when is_atomic
// simtune: launch   compact_warp_aggregated<Config> grid=tiles block=BLOCK smem=stage_bytes dependent=is_dependent args=in,flags,bits,out,count,n,limit when METHOD == warp_aggregated
// simtune: launch   compact_block_aggregated<Config> grid=tiles block=BLOCK smem=stage_bytes dependent=is_dependent args=in,flags,bits,out,count,n,limit when METHOD == block_aggregated
// simtune: launch   compact_count<Config> grid=shares block=BLOCK args=in,flags,bits,state,n,limit,share:u64,tiles:u64 when is_scan_scatter
// simtune: launch   compact_scatter<Config> grid=shares block=BLOCK smem=stage_bytes dependent=is_dependent args=in,flags,bits,out,count,state,n,limit,share:u64,tiles:u64 when is_scan_scatter
// simtune: launch   compact_look_back<Config> grid=tiles block=BLOCK smem=stage_bytes dependent=is_dependent args=in,flags,bits,out,count,state,n,limit,tiles:u64 when METHOD == look_back
// simtune: launch   compact_pipelined<Config> grid=dealt block=threads smem=stage_bytes dependent=is_dependent args=in,flags,bits,out,count,state,n,limit,tiles:u64 when is_pipelined
// simtune: launch   compact_one_block<Config> grid=1 block=BLOCK smem=stage_bytes args=in,flags,bits,out,count,n,limit,tiles:u64 when METHOD == one_block
// simtune: launch   compact_cluster<Config> grid=CLUSTER block=BLOCK smem=stage_bytes cluster=CLUSTER args=in,flags,bits,out,count,n,limit,cluster_share:u64,tiles:u64 when METHOD == cluster
// simtune: launch   compact_quadratic<Config> grid=min(65536 / BLOCK, tiles) block=BLOCK args=in,flags,bits,out,count,n,limit,tiles:u64 when METHOD == quadratic
//
// Which of the blocks comes first is not the same in every run.
// simtune: determinism run_to_run when not adds_to_count
// simtune: determinism default none when order == any
//
// simtune: let      chunk = 32 * max(1, ceil_div(n, 32 * 8192))
// simtune: reference reference_compact_count<Config> file=reference/compact_reference.cu grid=1024 block=256 args=in,flags,bits,n,limit,chunk:u64 when order == ordered
// simtune: reference reference_compact_sum<Config> file=reference/compact_reference.cu grid=1 block=1024 args=reference_count when order == ordered
// simtune: reference reference_compact_copy<Config> file=reference/compact_reference.cu grid=1024 block=256 args=in,flags,bits,reference_out,reference_count,n,limit,chunk:u64 when order == ordered
// simtune: reference reference_digest_blocks<Config> file=reference/compact_reference.cu grid=1024 block=256 args=in,flags,bits,n,limit when order == any
// simtune: reference reference_digest_total<Config> file=reference/compact_reference.cu grid=1 block=256 args=reference_digest,reference_count when order == any
// simtune: derive   compact_digest_blocks<Config> file=reference/compact_reference.cu grid=1024 block=256 args=out,count,n when order == any
// simtune: derive   compact_digest_total<Config> file=reference/compact_reference.cu grid=1 block=256 args=digest when order == any
// simtune: compare  count with reference_count
// simtune: compare  out with reference_out when order == ordered
// simtune: compare  digest with reference_digest when order == any
//
// simtune: let      kept_bytes = n * percent / 100 * size_of_T
// simtune: bytes    n * size_of_T + kept_bytes + (select == flagged) * n + (select == bits) * ceil_div(n, 8)
// simtune: host_name compact_{T}_{select} when order == ordered
// simtune: host_name compact_{T}_{select}_any_order when order == any
// simtune: host_args in,flags,out,count,n when select == flagged
// simtune: host_args in,bits,out,count,n when select == bits
// simtune: host_args in,limit,out,count,n when select == less
// simtune: host_args in,out,count,n when select == nonzero
// clang-format on
#ifndef SIMTUNE_COMPACT_CU
#define SIMTUNE_COMPACT_CU
#include "simtune_pipeline.cuh"

namespace simtune {

enum select_word { select_flagged, select_bits, select_nonzero, select_less };
enum order_of_kept_word { order_ordered, order_any };
enum pattern_word { pattern_random, pattern_clustered };
enum method_word {
    METHOD_simple,
    METHOD_atomic,
    METHOD_warp_aggregated,
    METHOD_block_aggregated,
    METHOD_scan_scatter,
    METHOD_look_back,
    METHOD_pipelined_look_back,
    METHOD_pipelined_wave,
    METHOD_one_block,
    METHOD_cluster,
    METHOD_quadratic
};
enum scatter_word { SCATTER_direct, SCATTER_staged };
enum rank_word { RANK_ballot, RANK_scan };
enum empty_word { EMPTY_memset, EMPTY_kernel, EMPTY_dependent };

// --- what is kept --------------------------------------------------------------------------------
// A NaN is nonzero and not less than anything; zeros of both signs are zero.
template <int SELECT, class T> struct keeps {
    static const bool BY_VALUE = false; // flags or bits say it
    static __device__ __forceinline__ bool value(T, T) { return false; }
};
template <class T> struct keeps<select_nonzero, T> {
    static const bool BY_VALUE = true;
    static __device__ __forceinline__ bool value(T what, T) { return element<T>::widen(what) != 0; }
};
template <class T> struct keeps<select_less, T> {
    static const bool BY_VALUE = true;
    static __device__ __forceinline__ bool value(T what, T limit) {
        return element<T>::widen(what) < element<T>::widen(limit);
    }
};

// What a thread has of the input: where its tile begins, in global or in shared memory.
template <class T> struct compact_input {
    const T *in;
    const unsigned char *flags; // one a byte, or 32 a word
    u32 count;                  // elements of the tile that exist
    bool vectors;               // a whole tile, both aligned to their loads
    T limit;
};

template <bool SHARED> struct fetch {
    template <int BYTES> static __device__ __forceinline__ void load(packet<BYTES> &to, const void *from) {
        load_shared(to, from);
    }
};
template <> struct fetch<false> {
    template <int BYTES> static __device__ __forceinline__ void load(packet<BYTES> &to, const void *from) {
        loader<LOAD_nc>::load(to, from);
    }
};

// VEC flags as VEC bits. Any byte but 0 is a flag: bit 7 of each byte tells, and a product gathers four of them.
__device__ __forceinline__ u32 flag_tops(u32 bytes) {
    return (((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu) | bytes) & 0x80808080u;
}
__device__ __forceinline__ u32 four_flags(u32 bytes) {
    return (flag_tops(bytes) * 0x00204081u) >> 28;
}
template <bool SHARED, int VEC> struct flag_bytes {
    static __device__ __forceinline__ u32 mask(const unsigned char *from) {
        packet<VEC> bytes;
        fetch<SHARED>::load(bytes, from);
        u32 bits = 0;
#pragma unroll
        for (int i = 0; i < VEC / 4; i++)
            bits |= four_flags(bytes.word[i]) << (4 * i);
        return bits;
    }
};
template <bool SHARED> struct flag_bytes<SHARED, 1> {
    static __device__ __forceinline__ u32 mask(const unsigned char *from) { return *from != 0; }
};
template <bool SHARED> struct flag_bytes<SHARED, 2> {
    static __device__ __forceinline__ u32 mask(const unsigned char *from) {
        packet<2> bytes;
        fetch<SHARED>::load(bytes, from);
        return ((bytes.half & 0xffu) != 0) | (bytes.half > 0xffu) << 1;
    }
};

// --- a warp's share of a tile --------------------------------------------------------------------
// A warp has CHUNK neighbouring elements, in ROWS rows of 32 * VEC, of which a lane has VEC neighbours.
template <class Config> struct compact_warp {
    typedef typename Config::T T;
    typedef keeps<Config::select, T> kept;
    static const int VEC = Config::VEC, ITEMS = Config::ITEMS, ROWS = ITEMS / VEC;
    static const int BYTES = VEC * (int)sizeof(T); // of a lane's part of a row
    static const int ROW = 32 * VEC, CHUNK = 32 * ITEMS, WARPS = Config::BLOCK / 32;
    static const int TILE = Config::BLOCK * ITEMS;
    static const u32 ROW_MASK = (1u << VEC) - 1;
    static const u32 ALL = 0xffffffffu;

    T value[ITEMS];
    u32 keep[(ITEMS + 31) / 32]; // a bit an element; a row's stand together
    u32 rank[ROWS]; // of the first kept element of each row: how many of the chunk are kept before it
    u32 total;      // kept in the chunk

    __device__ __forceinline__ u32 row(int k) const {
        return keep[k * VEC / 32] >> (k * VEC % 32) & ROW_MASK;
    }
    __device__ __forceinline__ bool is_set(int i) const { return (keep[i / 32] >> (i % 32) & 1u) != 0; }
    __device__ __forceinline__ u32 kept_here() const {
        u32 sum = 0;
#pragma unroll
        for (int i = 0; i < (ITEMS + 31) / 32; i++)
            sum += __popc(keep[i]);
        return sum;
    }

    static __device__ __forceinline__ bool is_kept(const compact_input<T> &from, u32 i) {
        if (Config::select == select_flagged)
            return from.flags[i] != 0;
        if (Config::select == select_bits)
            return (((const u32 *)from.flags)[i / 32] >> (i % 32) & 1u) != 0;
        return kept::value(from.in[i], from.limit);
    }

    // VALUES false: only what is kept is of interest.
    template <bool SHARED, bool VALUES>
    __device__ __forceinline__ void read(const compact_input<T> &from, u32 warp) {
        const u32 at = warp * CHUNK + threadIdx.x % 32 * VEC;
#pragma unroll
        for (int i = 0; i < (ITEMS + 31) / 32; i++)
            keep[i] = 0;
        if (from.vectors) {
            packet<BYTES> data[ROWS];
            if (VALUES || kept::BY_VALUE) {
#pragma unroll
                for (int k = 0; k < ROWS; k++)
                    fetch<SHARED>::load(data[k], from.in + at + k * ROW);
            }
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                const u32 i = at + k * ROW;
                u32 mask = 0;
                if (Config::select == select_flagged)
                    mask = flag_bytes<SHARED, VEC>::mask(from.flags + i);
                if (Config::select == select_bits)
                    mask = ((const u32 *)from.flags)[i / 32] >> (i % 32) & ROW_MASK;
                if (kept::BY_VALUE) {
#pragma unroll
                    for (int v = 0; v < VEC; v++)
                        mask |= (u32)kept::value(unpack<T>::get(data[k], v), from.limit) << v;
                }
                keep[k * VEC / 32] |= mask << (k * VEC % 32);
            }
            if (VALUES) {
#pragma unroll
                for (int k = 0; k < ROWS; k++)
#pragma unroll
                    for (int v = 0; v < VEC; v++)
                        value[k * VEC + v] = unpack<T>::get(data[k], v);
            }
            return;
        }
#pragma unroll
        for (int k = 0; k < ROWS; k++)
#pragma unroll
            for (int v = 0; v < VEC; v++) {
                const u32 i = at + k * ROW + v;
                if (i < from.count) {
                    if (VALUES)
                        value[k * VEC + v] = from.in[i];
                    keep[(k * VEC + v) / 32] |= (u32)is_kept(from, i) << ((k * VEC + v) % 32);
                }
            }
    }

    // ballot: a vote for each element of a lane.
    __device__ __forceinline__ void rank_by_ballot() {
        const u32 before = (1u << threadIdx.x % 32) - 1;
        total = 0;
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            u32 here = 0, all = 0;
#pragma unroll
            for (int v = 0; v < VEC; v++) {
                const u32 votes = __ballot_sync(ALL, is_set(k * VEC + v));
                here += __popc(votes & before);
                all += __popc(votes);
            }
            rank[k] = total + here;
            total += all;
        }
    }

    // scan: lanes' counts are summed along the warp; the counts of several rows share a word.
    __device__ __forceinline__ void rank_by_scan() {
        const int BITS = VEC <= 4 ? 8 : 16, PER = 32 / BITS, WORDS = (ROWS + PER - 1) / PER;
        const u32 ONE = (1u << BITS) - 1;
        u32 own[WORDS], sum[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            own[i] = 0;
#pragma unroll
            for (int k = i * PER; k < ROWS && k < (i + 1) * PER; k++)
                own[i] |= (u32)__popc(row(k)) << (k % PER * BITS);
            sum[i] = own[i];
        }
#pragma unroll
        for (u32 distance = 1; distance < 32; distance *= 2)
#pragma unroll
            for (int i = 0; i < WORDS; i++) {
                const u32 other = __shfl_up_sync(ALL, sum[i], distance);
                if (threadIdx.x % 32 >= distance)
                    sum[i] += other;
            }
        total = 0;
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            const u32 all = __shfl_sync(ALL, sum[i], 31);
            sum[i] -= own[i];
#pragma unroll
            for (int k = i * PER; k < ROWS && k < (i + 1) * PER; k++) {
                rank[k] = total + (sum[i] >> (k % PER * BITS) & ONE);
                total += all >> (k % PER * BITS) & ONE;
            }
        }
    }

    __device__ __forceinline__ void find_ranks() {
        if (Config::RANK == RANK_ballot)
            rank_by_ballot();
        else
            rank_by_scan();
    }

    // The kept ones close together from `to` on.
    __device__ __forceinline__ void put(T *to) const {
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            T *at = to + rank[k];
#pragma unroll
            for (int v = 0; v < VEC; v++)
                if (is_set(k * VEC + v))
                    *at++ = value[k * VEC + v];
        }
    }

    // `total` elements from shared memory: each store of the warp but the first and the last is a whole, aligned line.
    static __device__ __forceinline__ void copy_out(T *to, const T *from, u32 total) {
        typedef pack<T, 1> one;
        int i = (int)(threadIdx.x % 32) - (int)((u32)((u64)to / sizeof(T)) % 32);
        if (i >= 0 && i < (int)total)
            storer<Config::STORE>::store(to + i, one::of(from + i));
#pragma unroll 4
        for (i += 32; i < (int)total; i += 32)
            storer<Config::STORE>::store(to + i, one::of(from + i));
    }

    // A chunk that is kept as a whole, both sides aligned to a row's loads.
    static __device__ __forceinline__ void copy_whole(T *to, const T *from) {
        const u32 at = threadIdx.x % 32 * VEC;
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            packet<BYTES> data;
            load_shared(data, from + at + k * ROW);
            storer<Config::STORE>::store(to + at + k * ROW, data);
        }
    }

    // All of the chunk to its place in the output, by way of the warp's part of shared memory, or not.
    __device__ __forceinline__ void scatter(T *to, T *stage) const {
        if (Config::SCATTER == SCATTER_direct) {
            put(to);
            return;
        }
        put(stage);
        __syncwarp();
        copy_out(to, stage, total);
        __syncwarp();
    }
};

// Tile `tile` in global memory.
template <class Config>
__device__ __forceinline__ compact_input<typename Config::T>
compact_tile_at(const typename Config::T *in, const void *flags, const void *bits, u64 n,
                typename Config::T limit, u64 tile) {
    typedef compact_warp<Config> warp;
    typedef typename Config::T T;
    const u64 first = tile * warp::TILE;
    const u64 left = first < n ? n - first : 0;
    compact_input<T> from;
    from.in = in + first;
    from.flags = Config::select == select_bits ? (const unsigned char *)bits + first / 8
                                               : (const unsigned char *)flags + first;
    from.count = left < (u64)warp::TILE ? (u32)left : (u32)warp::TILE;
    from.limit = limit;
    from.vectors = from.count == (u32)warp::TILE && (u64)in % (warp::VEC * sizeof(T)) == 0 &&
                   (Config::select != select_flagged || (u64)flags % warp::VEC == 0);
    return from;
}

template <class Config> __device__ __forceinline__ typename Config::T *compact_stage() {
    typedef compact_warp<Config> warp;
    return (typename Config::T *)dynamic_shared() + threadIdx.x / 32 * warp::CHUNK;
}

// --- where a warp's kept elements go -------------------------------------------------------------
// Each warp gets the number of elements that are kept before its own: `before` of warp 0's caller, and the warps
// before it. BEFORE::of(all) is called by warp 0 with the kept elements of the whole tile.
template <class Config, class BEFORE>
__device__ __forceinline__ u64 compact_place(u32 total, const BEFORE &before, u32 &tile_total) {
    const u32 WARPS = Config::BLOCK / 32, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    __shared__ u32 totals[WARPS], all;
    __shared__ u64 place[WARPS];
    if (lane == 0)
        totals[warp] = total;
    __syncthreads();
    if (warp == 0) {
        const u32 own = lane < WARPS ? totals[lane] : 0;
        u32 sum = own;
#pragma unroll
        for (u32 distance = 1; distance < WARPS; distance *= 2) {
            const u32 other = __shfl_up_sync(0xffffffffu, sum, distance);
            if (lane >= distance)
                sum += other;
        }
        const u32 whole = __shfl_sync(0xffffffffu, sum, WARPS - 1);
        const u64 first = before.of(whole);
        if (lane < WARPS)
            place[lane] = first + (sum - own);
        if (lane == 0)
            all = whole;
    }
    __syncthreads();
    tile_total = all;
    return place[warp];
}

// The caller knows it.
struct compact_before_known {
    u64 before;
    __device__ __forceinline__ u64 of(u32) const { return before; }
};
// Whoever comes first.
struct compact_before_taken {
    u64 *count;
    __device__ __forceinline__ u64 of(u32 all) const {
        u64 first = 0;
        if (threadIdx.x % 32 == 0 && all != 0)
            first = atomicAdd(count, (u64)all);
        return __shfl_sync(0xffffffffu, first, 0);
    }
};
// By look-back.
template <class Config> struct compact_before_looked_up {
    u64 *states, *count;
    u64 tile, tiles;
    __device__ __forceinline__ u64 of(u32 all) const {
        typedef tile_count_state state;
        const bool first = threadIdx.x % 32 == 0;
        if (first)
            state::put(states, tile, tile == 0 ? TILE_PREFIX : TILE_TOTAL, all);
        const u64 before = look_far_back<Config::WINDOW>(states, tile, Config::BACKOFF);
        if (first && tile != 0)
            state::put(states, tile, TILE_PREFIX, before + all);
        if (first && tile == tiles - 1)
            *count = before + all;
        return before;
    }
};

// --- emptying what kernels count in --------------------------------------------------------------
// words: of the state; 0 where the count itself is what blocks add to.
template <class Config>
__global__ void __launch_bounds__(256) compact_empty(u64 *state, u64 words, u64 *count) {
    if (Config::EMPTY == EMPTY_dependent)
        allow_dependents();
    clear_words(state, words);
    if (words == 0 && blockIdx.x == 0 && threadIdx.x == 0)
        *count = 0;
}

// --- in any order --------------------------------------------------------------------------------
// One counter, to which every kept element adds 1.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    compact_atomic(const typename Config::T *in, const void *flags, const void *bits,
                   typename Config::T *out, u64 *count, u64 n, typename Config::T limit) {
    typedef compact_warp<Config> warp;
    const compact_input<typename Config::T> from =
        compact_tile_at<Config>(in, flags, bits, n, limit, blockIdx.x);
    warp share;
    share.template read<false, true>(from, threadIdx.x / 32);
    if (Config::EMPTY == EMPTY_dependent)
        wait_for_previous();
#pragma unroll
    for (int i = 0; i < warp::ITEMS; i++)
        if (share.is_set(i))
            out[atomicAdd(count, 1ull)] = share.value[i];
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    compact_warp_aggregated(const typename Config::T *in, const void *flags, const void *bits,
                            typename Config::T *out, u64 *count, u64 n, typename Config::T limit) {
    const compact_input<typename Config::T> from =
        compact_tile_at<Config>(in, flags, bits, n, limit, blockIdx.x);
    compact_warp<Config> share;
    share.template read<false, true>(from, threadIdx.x / 32);
    share.find_ranks();
    if (Config::EMPTY == EMPTY_dependent)
        wait_for_previous();
    const compact_before_taken before = {count};
    share.scatter(out + before.of(share.total), compact_stage<Config>());
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    compact_block_aggregated(const typename Config::T *in, const void *flags, const void *bits,
                             typename Config::T *out, u64 *count, u64 n, typename Config::T limit) {
    const compact_input<typename Config::T> from =
        compact_tile_at<Config>(in, flags, bits, n, limit, blockIdx.x);
    compact_warp<Config> share;
    share.template read<false, true>(from, threadIdx.x / 32);
    share.find_ranks();
    if (Config::EMPTY == EMPTY_dependent)
        wait_for_previous();
    const compact_before_taken before = {count};
    u32 all;
    const u64 place = compact_place<Config>(share.total, before, all);
    share.scatter(out + place, compact_stage<Config>());
}

// --- in order, without state: scan_scatter, one_block, cluster -----------------------------------
// The sum of a value of each thread, in every thread. Begins a use of shared memory.
template <class Config> __device__ __forceinline__ u64 compact_sum(u64 value) {
    const u32 WARPS = Config::BLOCK / 32;
    __shared__ u64 sums[WARPS];
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        value += shuffle_xor(value, mask);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
#pragma unroll
    for (u32 i = 0; i < WARPS; i++)
        value += sums[i];
    return value;
}

// The tiles from `tile` on, of which the first is read already; `before` elements are kept before them.
template <class Config>
__device__ __forceinline__ u64 compact_share(compact_warp<Config> &share, const typename Config::T *in,
                                             const void *flags, const void *bits, typename Config::T *out,
                                             u64 n, typename Config::T limit, u64 tile, u64 end,
                                             u64 before) {
    compact_before_known known = {before};
    for (;;) {
        u32 all;
        share.find_ranks();
        const u64 place = compact_place<Config>(share.total, known, all);
        share.scatter(out + place, compact_stage<Config>());
        known.before += all;
        if (++tile >= end)
            return known.before;
        share.template read<false, true>(compact_tile_at<Config>(in, flags, bits, n, limit, tile),
                                         threadIdx.x / 32);
    }
}

// First kernel of scan_scatter: block b counts the kept elements of its `share` tiles.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    compact_count(const typename Config::T *in, const void *flags, const void *bits, u64 *counts, u64 n,
                  typename Config::T limit, u64 share_tiles, u64 tiles) {
    if (Config::EMPTY == EMPTY_dependent)
        allow_dependents();
    u64 tile = blockIdx.x * share_tiles;
    const u64 end = tile + share_tiles < tiles ? tile + share_tiles : tiles;
    u64 kept = 0;
#pragma unroll 2
    for (; tile < end; tile++) {
        compact_warp<Config> share;
        share.template read<false, false>(compact_tile_at<Config>(in, flags, bits, n, limit, tile),
                                          threadIdx.x / 32);
        kept += share.kept_here();
    }
    kept = compact_sum<Config>(kept);
    if (threadIdx.x == 0)
        store_relaxed(counts + blockIdx.x, kept);
}

// Second kernel: the same tiles; the blocks before this one tell where their kept elements begin.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    compact_scatter(const typename Config::T *in, const void *flags, const void *bits,
                    typename Config::T *out, u64 *count, const u64 *counts, u64 n,
                    typename Config::T limit, u64 share_tiles, u64 tiles) {
    const u64 tile = blockIdx.x * share_tiles;
    const u64 end = tile + share_tiles < tiles ? tile + share_tiles : tiles;
    compact_warp<Config> share;
    share.template read<false, true>(compact_tile_at<Config>(in, flags, bits, n, limit, tile),
                                     threadIdx.x / 32);
    if (Config::EMPTY == EMPTY_dependent)
        wait_for_previous();
    u64 before = 0;
    for (u32 i = threadIdx.x; i < blockIdx.x; i += Config::BLOCK)
        before += load_relaxed(counts + i);
    before = compact_sum<Config>(before);
    before = compact_share<Config>(share, in, flags, bits, out, n, limit, tile, end, before);
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0)
        *count = before;
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    compact_one_block(const typename Config::T *in, const void *flags, const void *bits,
                      typename Config::T *out, u64 *count, u64 n, typename Config::T limit, u64 tiles) {
    compact_warp<Config> share;
    share.template read<false, true>(compact_tile_at<Config>(in, flags, bits, n, limit, 0),
                                     threadIdx.x / 32);
    const u64 kept = compact_share<Config>(share, in, flags, bits, out, n, limit, 0, tiles, 0);
    if (threadIdx.x == 0)
        *count = kept;
}


// The grid is one cluster. Where a block has one tile, every warp tells all blocks how many it keeps, so that one
// barrier does for block and cluster; where it has more, it counts first, as scan_scatter does.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    compact_cluster(const typename Config::T *in, const void *flags, const void *bits,
                    typename Config::T *out, u64 *count, u64 n, typename Config::T limit,
                    u64 share_tiles, u64 tiles) {
    const u32 WARPS = Config::BLOCK / 32, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    __shared__ u32 totals[Config::CLUSTER * WARPS];
    __shared__ u64 shares[Config::CLUSTER];
    const u32 rank = cluster_rank();
    const u64 tile = rank * share_tiles;
    cluster_arrive_running();
    compact_warp<Config> share;
    share.template read<false, true>(compact_tile_at<Config>(in, flags, bits, n, limit, tile), warp);
    if (share_tiles > 1) {
        const u64 end = tile + share_tiles < tiles ? tile + share_tiles : tiles;
        u64 kept = share.kept_here();
        for (u64 i = tile + 1; i < end; i++) {
            compact_warp<Config> other;
            other.template read<false, false>(compact_tile_at<Config>(in, flags, bits, n, limit, i), warp);
            kept += other.kept_here();
        }
        kept = compact_sum<Config>(kept);
        cluster_wait_running();
        if (threadIdx.x < (u32)Config::CLUSTER)
            cluster_store(shares + rank, threadIdx.x, kept);
        cluster_barrier();
        u64 before = 0;
#pragma unroll
        for (u32 i = 0; i < (u32)Config::CLUSTER; i++)
            before += i < rank ? shares[i] : 0;
        before = compact_share<Config>(share, in, flags, bits, out, n, limit, tile, end, before);
        if (rank == Config::CLUSTER - 1 && threadIdx.x == 0)
            *count = before;
        return;
    }
    share.find_ranks();
    cluster_wait_running();
    if (lane < (u32)Config::CLUSTER)
        cluster_store(totals + rank * WARPS + warp, lane, share.total);
    cluster_barrier();
    u32 before = 0, all = 0;
#pragma unroll
    for (u32 i = lane; i < Config::CLUSTER * WARPS; i += 32) {
        all += totals[i];
        before += i < rank * WARPS + warp ? totals[i] : 0;
    }
    before = warp_instruction<op_sum, u32>::reduce(before);
    if (rank == 0 && warp == 0) {
        all = warp_instruction<op_sum, u32>::reduce(all);
        if (lane == 0)
            *count = all;
    }
    share.scatter(out + before, compact_stage<Config>());
}

// --- look_back: one kernel, a tile a block -------------------------------------------------------
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    compact_look_back(const typename Config::T *in, const void *flags, const void *bits,
                      typename Config::T *out, u64 *count, u64 *state, u64 n,
                      typename Config::T limit, u64 tiles) {
    __shared__ u32 ticket;
    if (Config::EMPTY == EMPTY_dependent)
        wait_for_previous();
    if (threadIdx.x == 0)
        ticket = take_ticket(state);
    __syncthreads();
    const u64 tile = ticket;
    compact_warp<Config> share;
    share.template read<false, true>(compact_tile_at<Config>(in, flags, bits, n, limit, tile),
                                     threadIdx.x / 32);
    share.find_ranks();
    const compact_before_looked_up<Config> before = {tile_states(state), count, tile, tiles};
    u32 all;
    const u64 place = compact_place<Config>(share.total, before, all);
    share.scatter(out + place, compact_stage<Config>());
}

// --- pipelined_look_back -------------------------------------------------------------------------
// Resident blocks, in which tiles go from warp to warp, STAGES of them under way. The warps that scatter are joined
// by three that serve them:
//
//   bring:   takes a ticket, copies the tile into a slot of the ring, flags first
//   count:   counts what each warp will keep of it and publishes the sum at once, so that no block ever waits for
//            another block's work, only for its copies
//   look:    looks back, and tells where the tile's kept elements go
//   scatter: the kept elements of a warp's chunk close up in the slot itself, then go out
//
// signals, one of each for a slot: marked (the flags are there), brought, counted, placed, and freed by the warps that
// scatter. Where flags tell, counting and looking go on while the tile's elements still come.
template <class Config> struct compact_pipeline {
    typedef typename Config::T T;
    typedef compact_warp<Config> warp;
    static const int STAGES = Config::STAGES, WARPS = Config::BLOCK / 32;
    static const int THREADS = Config::BLOCK + 96;
    static const int FLAG_BYTES = Config::select == select_flagged ? warp::TILE
                                  : Config::select == select_bits  ? warp::TILE / 8
                                                                   : 0;
    static const int DATA_SLOT = warp::TILE * (int)sizeof(T) + 16, FLAG_SLOT = FLAG_BYTES + 16;

    u64 marked[STAGES], brought[STAGES], counted[STAGES], placed[STAGES], freed[STAGES];
    u64 before[STAGES];         // kept elements before the tile
    u64 tile[STAGES];           // of this slot; beyond the last: there are no more
    u32 total[STAGES];          // kept in the tile
    u32 offset[STAGES][WARPS];  // kept in the tile before the warp's

    __device__ __forceinline__ void open() {
        for (int i = 0; i < STAGES; i++) {
            signal_open(marked + i, 1);
            signal_open(brought + i, 1);
            signal_open(counted + i, 1);
            signal_open(placed + i, 1);
            signal_open(freed + i, WARPS);
        }
    }

    // How many of 16 flags are set; bit 7 of a byte tells, and four words lie side by side.
    static __device__ __forceinline__ u32 sixteen_flags(const unsigned char *from) {
        packet<16> flags;
        load_shared(flags, from);
        u32 tops = 0;
#pragma unroll
        for (int k = 0; k < 4; k++)
            tops |= flag_tops(flags.word[k]) >> k;
        return __popc(tops);
    }
    // This lane's part of how many are kept in a warp's chunk of a slot.
    static __device__ __forceinline__ u32 kept(const compact_input<T> &here, u32 of) {
        u32 sum = 0;
        if (FLAG_BYTES && here.vectors && (u64)here.flags % 16 == 0) {
            const bool BITS = Config::select == select_bits;
            const u32 lane = threadIdx.x % 32;
            const unsigned char *from = here.flags + of * (BITS ? warp::CHUNK / 8 : warp::CHUNK);
#pragma unroll
            for (u32 i = 0; i < (u32)(BITS ? Config::ITEMS : 2 * Config::ITEMS); i += 32) {
                if (i + lane >= (u32)(BITS ? Config::ITEMS : 2 * Config::ITEMS))
                    break;
                sum += BITS ? __popc(((const u32 *)from)[i + lane]) : sixteen_flags(from + 16 * (i + lane));
            }
            return sum;
        }
        warp share;
        share.template read<true, false>(here, of);
        return share.kept_here();
    }

    // A slot as what a tile at `in` looks like there.
    static __device__ __forceinline__ compact_input<T> slot(int s, const compact_input<T> &tile) {
        compact_input<T> here = tile;
        here.in = shared_place(dynamic_shared() + s * DATA_SLOT, tile.in);
        if (FLAG_BYTES)
            here.flags = (const unsigned char *)shared_place(
                dynamic_shared() + STAGES * DATA_SLOT + s * FLAG_SLOT, tile.flags);
        return here;
    }
};

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK + 96, Config::MIN_BLOCKS)
    compact_pipelined(const typename Config::T *in, const void *flags, const void *bits,
                      typename Config::T *out, u64 *count, u64 *state, u64 n,
                      typename Config::T limit, u64 tiles) {
    typedef typename Config::T T;
    typedef compact_pipeline<Config> pipeline;
    typedef compact_warp<Config> chunk;
    typedef tile_count_state tile_state;
    const int STAGES = Config::STAGES, WARPS = Config::BLOCK / 32;
    const bool WAVE = Config::METHOD == METHOD_pipelined_wave;
    __shared__ pipeline line;
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0)
        line.open();
    __syncthreads();
    u64 *const states = tile_states(state);
    int s = 0;
    u32 phase = 0;

    if (warp == WARPS) { // bring
        if (Config::EMPTY == EMPTY_dependent)
            wait_for_previous();
        // A ticket is taken when its tile can be loaded at once, not before: all blocks wait for its total.
        for (u32 turn = 0;; turn++) {
            if (turn >= (u32)STAGES)
                signal_wait(line.freed + s, phase ^ 1);
            u32 ticket = 0;
            if (lane == 0)
                ticket = take_ticket(state);
            const u64 tile = __shfl_sync(0xffffffffu, ticket, 0);
            if (lane == 0)
                line.tile[s] = tile;
            if (tile >= tiles) {
                __syncwarp();
                if (lane == 0) {
                    signal_arrive(line.marked + s);
                    signal_arrive(line.brought + s);
                }
                break;
            }
            const compact_input<T> from = compact_tile_at<Config>(in, flags, bits, n, limit, tile);
            const compact_input<T> to = pipeline::slot(s, from);
            u32 announced = 0;
            if (Config::select == select_flagged)
                bring((unsigned char *)to.flags, from.flags, from.count, line.marked + s, announced);
            if (Config::select == select_bits)
                bring((u32 *)to.flags, (const u32 *)from.flags, (from.count + 31) / 32,
                      line.marked + s, announced);
            brought(line.marked + s, announced);
            announced = 0;
            bring((T *)to.in, from.in, from.count, line.brought + s, announced);
            brought(line.brought + s, announced);
            if (++s == STAGES)
                s = 0, phase ^= 1;
        }
    } else if (warp == WARPS + 1) { // count
        if (Config::EMPTY == EMPTY_dependent)
            wait_for_previous();
        for (;;) {
            signal_wait(line.marked + s, phase);
            if (keeps<Config::select, T>::BY_VALUE)
                signal_wait(line.brought + s, phase);
            const u64 tile = line.tile[s];
            if (tile >= tiles)
                break;
            const compact_input<T> here =
                pipeline::slot(s, compact_tile_at<Config>(in, flags, bits, n, limit, tile));
            u32 own = 0;
#pragma unroll 4
            for (int w = 0; w < WARPS; w++) {
                const u32 kept = warp_instruction<op_sum, u32>::reduce(pipeline::kept(here, w));
                own = lane == (u32)w ? kept : own;
            }
            u32 sum = own;
#pragma unroll
            for (u32 distance = 1; distance < (u32)WARPS; distance *= 2) {
                const u32 other = __shfl_up_sync(0xffffffffu, sum, distance);
                if (lane >= distance)
                    sum += other;
            }
            if (lane < (u32)WARPS)
                line.offset[s][lane] = sum - own;
            if (lane == (u32)WARPS - 1) {
                line.total[s] = sum;
                tile_state::put(states, tile, tile == 0 && !WAVE ? TILE_PREFIX : TILE_TOTAL, sum);
            }
            __syncwarp();
            if (lane == 0)
                signal_arrive(line.counted + s);
            if (++s == STAGES)
                s = 0, phase ^= 1;
        }
        __syncwarp();
        if (lane == 0)
            signal_arrive(line.counted + s);
    } else if (warp == WARPS + 2) { // look
        if (Config::EMPTY == EMPTY_dependent)
            wait_for_previous();
        u64 before = 0, known = 0; // kept before the tile `known`
        for (;;) {
            signal_wait(line.counted + s, phase);
            const u64 tile = line.tile[s];
            if (tile >= tiles)
                break;
            const u32 total = line.total[s];
            if (WAVE)
                before += totals_between<Config::WINDOW>(states, known, tile, Config::BACKOFF);
            else
                before = look_far_back<Config::WINDOW>(states, tile, Config::BACKOFF);
            __syncwarp(); // all lanes have read the slot's words
            if (lane == 0) {
                if (tile != 0 && !WAVE)
                    tile_state::put(states, tile, TILE_PREFIX, before + total);
                line.before[s] = before;
                signal_arrive(line.placed + s);
                if (tile == tiles - 1)
                    *count = before + total;
            }
            before += total;
            known = tile + 1;
            if (++s == STAGES)
                s = 0, phase ^= 1;
        }
    } else { // scatter
        for (;;) {
            signal_wait(line.marked + s, phase);
            signal_wait(line.brought + s, phase);
            const u64 tile = line.tile[s];
            if (tile >= tiles)
                break;
            const compact_input<T> here =
                pipeline::slot(s, compact_tile_at<Config>(in, flags, bits, n, limit, tile));
            T *const stage = (T *)here.in + warp * chunk::CHUNK;
            chunk share;
            share.template read<true, true>(here, warp);
            share.find_ranks();
            if (Config::SCATTER == SCATTER_staged && share.total != (u32)chunk::CHUNK) {
                if (keeps<Config::select, T>::BY_VALUE) // the elements themselves are counted: not before that
                    signal_wait(line.counted + s, phase);
                __syncwarp();
                share.put(stage);
                __syncwarp();
            }
            signal_wait(line.placed + s, phase);
            T *const to = out + (line.before[s] + line.offset[s][warp]);
            if (Config::SCATTER == SCATTER_staged) {
                if (share.total == (u32)chunk::CHUNK && here.vectors && (u64)to % chunk::BYTES == 0)
                    chunk::copy_whole(to, stage);
                else
                    chunk::copy_out(to, stage, share.total);
                order_before_bulk_copies();
            }
            __syncwarp();
            if (lane == 0)
                signal_arrive(line.freed + s);
            if (Config::SCATTER == SCATTER_direct)
                share.put(to);
            if (++s == STAGES)
                s = 0, phase ^= 1;
        }
    }
}

// --- quadratic: as one article counts, for small n -----------------------------------------------
// Each thread looks at all elements before its own. Beyond 64 Ki elements that would take for ever: there the first
// 16 blocks have a stretch of tiles each, and count what lies before it together.
enum { QUADRATIC_MOST = 65536, QUADRATIC_BLOCKS = 16 };

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    compact_quadratic(const typename Config::T *in, const void *flags, const void *bits,
                      typename Config::T *out, u64 *count, u64 n, typename Config::T limit, u64 tiles) {
    typedef compact_warp<Config> warp;
    if (n > QUADRATIC_MOST) {
        if (blockIdx.x >= QUADRATIC_BLOCKS)
            return;
        const u64 size = (tiles + QUADRATIC_BLOCKS - 1) / QUADRATIC_BLOCKS;
        const u64 tile = blockIdx.x * size, end = tile + size < tiles ? tile + size : tiles;
        u64 before = 0;
        for (u64 i = 0; i < tile; i++) {
            warp other;
            other.template read<false, false>(compact_tile_at<Config>(in, flags, bits, n, limit, i),
                                              threadIdx.x / 32);
            before += other.kept_here();
        }
        before = compact_sum<Config>(before);
        warp share;
        share.template read<false, true>(compact_tile_at<Config>(in, flags, bits, n, limit, tile),
                                         threadIdx.x / 32);
        before = compact_share<Config>(share, in, flags, bits, out, n, limit, tile, end, before);
        if (end == tiles && tile < tiles && threadIdx.x == 0)
            *count = before;
        return;
    }
    compact_input<typename Config::T> from = compact_tile_at<Config>(in, flags, bits, n, limit, 0);
    const u32 i = blockIdx.x * Config::BLOCK + threadIdx.x, size = (u32)n;
    u32 before = 0;
    for (u32 j = 0; j < i && j < size; j++)
        before += warp::is_kept(from, j);
    const bool kept = i < size && warp::is_kept(from, i);
    if (kept)
        out[before] = in[i];
    if (i == (size ? size - 1 : 0))
        *count = before + kept;
}

} // namespace simtune

#endif // SIMTUNE_COMPACT_CU
