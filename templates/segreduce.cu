// SPDX-License-Identifier: Apache-2.0
// Sum, min or max of each of many segments that lie one after another: all of one length (layout =
// equal), or where offsets say (layout = offsets: segment s is offsets[s] … offsets[s+1] - 1). Each
// configuration is right for any number of segments of any lengths, empty ones included (they give
// the identity), and for any base that is aligned to an element. templates/README.md tells what each
// parameter is for.
//
// clang-format off
// simtune: family   segreduce
// simtune: summary  sum, min or max of each of many segments
//
// With offsets, `segment` is the mean length: it chooses the configuration, lengths come from the
// offsets.
// simtune: axis     layout = equal offsets
// simtune: axis     T  = f32 f64 i32 u32 i64 u64 f16 bf16
// simtune: axis     op = sum min max
// simtune: axis     segments = 16 256 64Ki 1Mi 64Mi
// simtune: axis     segment  = 4 256 4Ki 64Ki 1Mi 16Mi
// simtune: usual    segments * segment <= 256Mi
//
// Who reads a segment: a block; LANES threads of a warp, BATCH segments at once; the same out of a
// shared copy of the block's segments, which is read in whole rows; or, with the array split evenly
// whatever the segments are, each warp or block a piece of it, and a second kernel joins the segments that
// go over the edge of a piece.
// simtune: param    METHOD = by_block by_lanes staged split_warps split_blocks  role work sync smem
// simtune: param    LANES  = 1 2 4 8 16 32                           role work ilp
// simtune: param    BATCH  = 1 2 4                                   role mlp ilp
// A reader takes UNROLL rows of VEC elements a thread at a time, into ACC accumulators.
// simtune: param    BLOCK  = 64 128 256 512 1024                     role tlp work
// simtune: param    VEC    = 1 2 4 8                                 role mlp work
// simtune: param    UNROLL = 1 2 4 8 16                              role mlp ilp
// simtune: param    ACC    = 1 4                                     role ilp
// simtune: param    LOAD   = plain nc no_allocate evict_first l2_128 role mlp
// split: WAVES times as many pieces as the device holds at once; how the second kernel starts.
// simtune: param    WAVES  = 1 2 4 8                                 role tlp work runtime
// simtune: param    JOIN   = second_kernel dependent                 role sync
//
// Block sums: a block a segment, one element a thread at a time.
// simtune: default  METHOD=by_block LANES=32 BATCH=1 BLOCK=256 VEC=1 UNROLL=1 ACC=1 LOAD=plain
// simtune: default  WAVES=1 JOIN=second_kernel
//
// What cannot be, on this device or at all.
// simtune: let      vec_bytes = VEC * size_of_T
// simtune: let      acc_bytes = max(4, size_of_T)
// simtune: where    vec_bytes <= 16
// simtune: where    ACC <= UNROLL * VEC
// simtune: let      is_split = METHOD == split_warps or METHOD == split_blocks
// simtune: let      is_grouped = METHOD == by_lanes or METHOD == staged
// simtune: where    is_grouped or (LANES == 32 and BATCH == 1)
// simtune: where    is_split or (WAVES == 1 and JOIN == second_kernel)
// simtune: where    JOIN == second_kernel or CC >= 90
// simtune: let      registers = BATCH * (UNROLL * vec_bytes / 4 + ACC * acc_bytes / 4 + 12) + 20
// simtune: where    registers <= 192 and registers * BLOCK <= REGISTERS_PER_SM
// staged: what the block's segments take; half as much again where only their mean is known.
// simtune: let      threads = is_grouped * LANES + (METHOD == split_warps) * 32 + (METHOD == by_block or METHOD == split_blocks) * BLOCK
// simtune: let      segments_a_block = BLOCK / threads * BATCH
// simtune: let      stage = segments_a_block * segment * (2 + (layout == offsets)) / 2 + 64
// simtune: let      stage_bytes = (METHOD == staged) * ((stage + 16) * size_of_T * 17 / 128 * 8 + 16)
// simtune: where    METHOD != staged or (stage <= 24576 and stage_bytes <= 49152)
//
// What was never near the best and would only cost time: more threads and loads than a segment has elements,
// few for many …
// simtune: let      n = segments * segment
// simtune: let      tile = threads * VEC * UNROLL
// simtune: let      is_core = vec_bytes == 16 and ACC == 1 + 3 * (UNROLL * VEC >= 4)
// simtune: let      is_usual = ACC == 1 + 3 * (UNROLL * VEC >= 4) and LOAD == plain and WAVES <= 2 and BATCH <= 2
// simtune: let      is_default = UNROLL * VEC == 1 and METHOD == by_block
// simtune: prune    is_default or tile < 2 * segment or METHOD == staged
// simtune: prune    METHOD != by_block or is_default or segment <= 256 * tile or BLOCK == 1024
// simtune: prune    METHOD != by_lanes or segment <= 8 * tile
// simtune: prune    METHOD != staged or (segment <= 128 and UNROLL == 4 and LANES <= 8 and LANES * 2 <= segment)
// simtune: prune    METHOD != split_blocks or segment >= 2 * BLOCK
// simtune: prune    METHOD != split_warps or segment >= 64 or layout == offsets
// simtune: prune    BATCH == 1 or segment * BATCH <= 4 * tile
// simtune: prune    not is_split or (n >= 65536 and UNROLL >= 4 and is_core)
// simtune: prune    (METHOD == staged) + (METHOD == by_lanes) == 0 or BLOCK <= 512
// … and combinations of what moves time by a few percent at most.
// simtune: prune    is_core or is_usual
// simtune: prune    LOAD == plain or (is_core and BLOCK == 256 and WAVES == 1 and BATCH <= 2)
//
// simtune: let      size = min(1, segments) * (n + segments)
// simtune: let      readers = (METHOD == split_warps) * (BLOCK / 32) + (METHOD == split_blocks)
// simtune: let      wanted = ceil_div(ceil_div(size, tile), max(1, readers))
// simtune: let      blocks = min(wanted, SM_COUNT * BLOCKS_PER_SM * WAVES)
// simtune: let      pieces = blocks * readers
//
// simtune: buffer   in : input T[n]
// simtune: buffer   offsets : input u64[(layout == offsets) * (segments + 1)] fill offsets(n)
// simtune: buffer   out : output T[segments]
// simtune: buffer   partial : temp u64[is_split * ceil_div(2 * pieces * acc_bytes, 8)]
// simtune: buffer   ended : temp u64[is_split * pieces]
// simtune: buffer   reference_value : expected reference_T[segments]   reference_magnitude : magnitude f64[segments]
//
// simtune: launch   segreduce_block<Config> grid=segments block=BLOCK args=in,out,segments,segment when METHOD == by_block and layout == equal
// simtune: launch   segreduce_block_offsets<Config> grid=segments block=BLOCK args=in,offsets,out,segments when METHOD == by_block and layout == offsets
// simtune: launch   segreduce_lanes<Config> grid=ceil_div(segments,segments_a_block) block=BLOCK args=in,out,segments,segment when METHOD == by_lanes and layout == equal
// simtune: launch   segreduce_lanes_offsets<Config> grid=ceil_div(segments,segments_a_block) block=BLOCK args=in,offsets,out,segments when METHOD == by_lanes and layout == offsets
// simtune: launch   segreduce_staged<Config> grid=ceil_div(segments,segments_a_block) block=BLOCK smem=stage_bytes args=in,out,segments,segment,stage:u32 when METHOD == staged and layout == equal
// simtune: launch   segreduce_staged_offsets<Config> grid=ceil_div(segments,segments_a_block) block=BLOCK smem=stage_bytes args=in,offsets,out,segments,stage:u32 when METHOD == staged and layout == offsets
// simtune: launch   segreduce_split<Config> grid=blocks block=BLOCK args=in,out,partial,ended,segments,segment when is_split and layout == equal
// simtune: launch   segreduce_split_offsets<Config> grid=blocks block=BLOCK args=in,offsets,out,partial,ended,segments when is_split and layout == offsets
// simtune: launch   segreduce_join<Config> grid=ceil_div(pieces,128) block=128 dependent=(JOIN==dependent) args=out,partial,ended,pieces:u64,segments,segment when is_split and layout == equal
// simtune: launch   segreduce_join_offsets<Config> grid=ceil_div(pieces,128) block=128 dependent=(JOIN==dependent) args=offsets,out,partial,ended,pieces:u64,segments when is_split and layout == offsets
//
// Every segment is combined in an order that the configuration and the offsets fix.
// simtune: determinism run_to_run
//
// simtune: reference reference_segreduce_short<Config> file=reference/segreduce_reference.cu grid=min(ceil_div(segments,256),4096) block=256 args=in,reference_value,reference_magnitude,segments,segment when layout == equal
// simtune: reference reference_segreduce_long<Config> file=reference/segreduce_reference.cu grid=min(segments,4096) block=256 args=in,reference_value,reference_magnitude,segments,segment when layout == equal
// simtune: reference reference_segreduce_short_offsets<Config> file=reference/segreduce_reference.cu grid=min(ceil_div(segments,256),4096) block=256 args=in,offsets,reference_value,reference_magnitude,segments when layout == offsets
// simtune: reference reference_segreduce_long_offsets<Config> file=reference/segreduce_reference.cu grid=min(segments,4096) block=256 args=in,offsets,reference_value,reference_magnitude,segments when layout == offsets
//
// The height of the summation tree: a thread's chain, its accumulators, warp and block, pieces. With offsets a
// segment may be as long as all.
// simtune: let      longest = (layout == equal) * segment + (layout == offsets) * n
// simtune: let      chain = ceil_div(longest, threads) + 2 * VEC + 2
// simtune: let      summation_height = chain + 12 + is_split * (pieces + 8)
// simtune: compare  out with reference_value magnitude reference_magnitude height summation_height when op == sum
// simtune: compare  out with reference_value when op != sum
//
// simtune: bytes    (n + segments) * size_of_T + (layout == offsets) * (segments + 1) * 8
// simtune: host_name segreduce_{T}_{op} when layout == equal
// simtune: host_name segreduce_offsets_{T}_{op} when layout == offsets
// simtune: host_args in,out,segments,segment when layout == equal
// simtune: host_args in,offsets,out,segments,segment when layout == offsets
// clang-format on
#ifndef SIMTUNE_SEGREDUCE_CU
#define SIMTUNE_SEGREDUCE_CU
#include "simtune_device.cuh"

namespace simtune {

enum segreduce_layout_word { layout_equal, layout_offsets };
enum segreduce_method_word {
    METHOD_by_block,
    METHOD_by_lanes,
    METHOD_staged,
    METHOD_split_warps,
    METHOD_split_blocks
};
enum segreduce_join_word { JOIN_second_kernel, JOIN_dependent };

// --- where the segments are ----------------------------------------------------------------------
// Splitting goes along a path on which a segment's elements are followed by one step that ends it, so
// that empty segments have a length too. place_of(s): the step that ends s, plus one.
struct segreduce_equal {
    static const bool VARIES = false;
    u64 segments, length;

    __device__ __forceinline__ u64 begin(u64 s) const {
        return s * length;
    }
    __device__ __forceinline__ u64 end(u64 s) const {
        return s * length + length;
    }
    // How many segments end before the steps `from` and `to` of the path.
    __device__ __forceinline__ void find(u64 from, u64 to, u64 &first, u64 &last) const {
        first = from / (length + 1);
        last = to / (length + 1);
    }
};

struct segreduce_offsets {
    static const bool VARIES = true;
    u64 segments;
    const u64 *offsets;

    __device__ __forceinline__ u64 begin(u64 s) const {
        return offsets[s];
    }
    __device__ __forceinline__ u64 end(u64 s) const {
        return offsets[s + 1];
    }
    // By all lanes of a warp: half of them look for each, 16 places at a time.
    __device__ __forceinline__ void find(u64 from, u64 to, u64 &first, u64 &last) const {
        const u32 half = threadIdx.x & 16u, lane = threadIdx.x & 15u;
        const u64 wanted = half ? to : from;
        u64 low = 0, high = segments; // the answer is one of low … high
        while (__any_sync(0xffffffffu, low < high)) {
            const u64 step = (high - low + 15) / 16;
            u64 at = low + (lane + 1) * step - 1;
            at = at < high ? at : high - 1;
            const bool ends_later = low < high && offsets[at + 1] + at >= wanted;
            const u32 later = __ballot_sync(0xffffffffu, ends_later) >> half & 0xffffu;
            if (low < high) {
                const u32 earlier = 16 - __popc(later); // probes that end before
                const u64 next = low + (earlier + 1) * step - 1;
                low = low + earlier * step < high ? low + earlier * step : high;
                if (earlier < 16)
                    high = next < high ? next : high - 1;
            }
        }
        first = __shfl_sync(0xffffffffu, low, 0);
        last = __shfl_sync(0xffffffffu, low, 16);
    }
};

// --- one thread's part of a segment --------------------------------------------------------------
// LANES threads read a segment together: `lane` takes every LANES-th load. open() starts the first
// loads and close() adds them and all others, so that several segments can be under way at once. A base that is
// not aligned to a whole load costs nothing but the peel. Element v of row u goes to accumulator
// (u * VEC + v) % ACC.
template <class Config, int LANES> struct segreduce_part {
    typedef typename Config::T T;
    typedef typename element<T>::accumulator A;
    typedef operation<Config::op, A> OP;
    typedef loader<Config::LOAD> load_operation;
    static const int BYTES = Config::VEC * (int)sizeof(T); // of one load
    static const int ROW_BYTES = LANES * BYTES;            // of one load of all lanes
    static const u32 TILE = LANES * Config::UNROLL;        // loads of all lanes at a time

    packet<BYTES> row[Config::UNROLL];
    A value[Config::ACC];
    const T *at;
    u64 length, body; // elements, and whole loads among them
    u32 head, tail;   // elements before the first whole load and after the last

    __device__ __forceinline__ void load_rows(const char *from, u64 left, u32 lane) {
        if (left >= TILE) {
#pragma unroll
            for (int u = 0; u < Config::UNROLL; u++)
                load_operation::load(row[u], from + u * ROW_BYTES);
            return;
        }
#pragma unroll
        for (int u = 0; u < Config::UNROLL; u++)
            if (lane + u * LANES < (u32)left)
                load_operation::load(row[u], from + u * ROW_BYTES);
    }

    __device__ __forceinline__ void add_row(int u) {
#pragma unroll
        for (int v = 0; v < Config::VEC; v++) {
            const int i = (u * Config::VEC + v) % Config::ACC;
            value[i] = OP::combine(value[i], element<T>::widen(unpack<T>::get(row[u], v)));
        }
    }
    __device__ __forceinline__ void add_rows(u64 left, u32 lane) {
        if (left >= TILE) {
#pragma unroll
            for (int u = 0; u < Config::UNROLL; u++)
                add_row(u);
            return;
        }
#pragma unroll
        for (int u = 0; u < Config::UNROLL; u++)
            if (lane + u * LANES < (u32)left)
                add_row(u);
    }

    __device__ __forceinline__ const char *start(u32 lane) const {
        return (const char *)(at + head) + (u64)lane * BYTES;
    }

    __device__ __forceinline__ void open(const T *segment, u64 elements, u32 lane) {
        at = segment;
        length = elements;
        head = tail = 0;
        if (Config::VEC > 1) {
            head = ((0u - (u32)(u64)at) % BYTES) / (u32)sizeof(T);
            head = head < length ? head : (u32)length;
            tail = ((u32)length - head) % Config::VEC;
        }
        body = (length - head) / Config::VEC;
#pragma unroll
        for (int i = 0; i < Config::ACC; i++)
            value[i] = OP::identity();
        load_rows(start(lane), body, lane);
    }

    __device__ __forceinline__ A close(u32 lane) {
        add_rows(body, lane);
        if (body > TILE) {
            const char *from = start(lane) + (u64)TILE * BYTES;
            u64 left = body - TILE;
#pragma unroll 1
            for (; left >= TILE; left -= TILE, from += (u64)TILE * BYTES) {
                load_rows(from, TILE, lane);
                add_rows(TILE, lane);
            }
            load_rows(from, left, lane);
            add_rows(left, lane);
        }
        if (Config::VEC > 1)
            for (u32 k = lane; k < head + tail; k += LANES)
                value[0] = OP::combine(
                    value[0], element<T>::widen(at[k < head ? k : length - (head + tail) + k]));
#pragma unroll
        for (int distance = Config::ACC / 2; distance > 0; distance /= 2)
#pragma unroll
            for (int i = 0; i < distance; i++)
                value[i] = OP::combine(value[i], value[i + distance]);
        return value[0];
    }
};

// --- warp and block ------------------------------------------------------------------------------
// The first of each LANES lanes gets the value of all of them.
template <class OP, int LANES, class A> __device__ __forceinline__ A segreduce_lanes_total(A value) {
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2)
        value = OP::combine(value, shuffle_down(value, distance));
    return value;
}

// Thread 0 gets the block's value. All threads; begins and ends with what `warps` held being of no use.
template <class Config, class A> __device__ __forceinline__ A segreduce_block_total(A value) {
    typedef operation<Config::op, A> OP;
    const int WARPS = Config::BLOCK / 32;
    __shared__ A warps[WARPS];
    value = segreduce_lanes_total<OP, 32>(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < WARPS ? warps[threadIdx.x] : OP::identity();
        value = segreduce_lanes_total<OP, (WARPS < 2 ? 2 : WARPS)>(value);
    }
    return value;
}

// Thread 0 gets the value of `length` elements that the whole block reads.
template <class Config>
__device__ __forceinline__ typename element<typename Config::T>::accumulator
segreduce_by_block(const typename Config::T *at, u64 length) {
    segreduce_part<Config, Config::BLOCK> part;
    part.open(at, length, threadIdx.x);
    return segreduce_block_total<Config>(part.close(threadIdx.x));
}

// --- by_block: a block a segment --------------------------------------------------------------------
template <class Config, class BOUNDS>
__device__ __forceinline__ void segreduce_one(const typename Config::T *in, const BOUNDS &bounds,
                                              typename Config::T *out) {
    typedef typename Config::T T;
    const u64 begin = bounds.begin(blockIdx.x);
    const typename element<T>::accumulator value =
        segreduce_by_block<Config>(in + begin, bounds.end(blockIdx.x) - begin);
    if (threadIdx.x == 0)
        out[blockIdx.x] = element<T>::narrow(value);
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    segreduce_block(const typename Config::T *in, typename Config::T *out, u64 segments,
                    u64 length) {
    const segreduce_equal bounds = {segments, length};
    segreduce_one<Config>(in, bounds, out);
}
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    segreduce_block_offsets(const typename Config::T *in, const u64 *offsets,
                            typename Config::T *out, u64 segments) {
    const segreduce_offsets bounds = {segments, offsets};
    segreduce_one<Config>(in, bounds, out);
}

// --- by_lanes: LANES threads a segment --------------------------------------------------------------
// Segments that are far longer than the others wait until the rest is done, and are read by the whole block.
template <class Config, class BOUNDS>
__device__ __forceinline__ void segreduce_groups(const typename Config::T *in, const BOUNDS &bounds,
                                                 typename Config::T *out) {
    typedef typename Config::T T;
    typedef segreduce_part<Config, Config::LANES> part_type;
    typedef typename part_type::OP OP;
    const int GROUPS = Config::BLOCK / Config::LANES;
    const u64 LONG = 16 * Config::VEC * part_type::TILE;
    __shared__ u32 late[BOUNDS::VARIES ? GROUPS * Config::BATCH : 1], late_count;
    const u32 lane = threadIdx.x % Config::LANES, group = threadIdx.x / Config::LANES;
    const u64 first = (u64)blockIdx.x * (GROUPS * Config::BATCH);
    if (BOUNDS::VARIES) {
        if (threadIdx.x == 0)
            late_count = 0;
        __syncthreads();
    }
    part_type part[Config::BATCH];
    bool mine[Config::BATCH];
#pragma unroll
    for (int b = 0; b < Config::BATCH; b++) {
        const u64 s = first + (u32)(b * GROUPS) + group;
        mine[b] = s < bounds.segments;
        const u64 begin = mine[b] ? bounds.begin(s) : 0;
        u64 length = mine[b] ? bounds.end(s) - begin : 0;
        if (BOUNDS::VARIES && length > LONG) {
            if (lane == 0)
                late[atomicAdd(&late_count, 1u)] = b * GROUPS + group;
            mine[b] = false;
            length = 0;
        }
        part[b].open(in + begin, length, lane);
    }
#pragma unroll
    for (int b = 0; b < Config::BATCH; b++) {
        const u64 s = first + (u32)(b * GROUPS) + group;
        const typename part_type::A value =
            segreduce_lanes_total<OP, Config::LANES>(part[b].close(lane));
        if (mine[b] && lane == 0)
            out[s] = element<T>::narrow(value);
    }
    if (!BOUNDS::VARIES)
        return;
    __syncthreads();
    const u32 count = late_count;
#pragma unroll 1
    for (u32 i = 0; i < count; i++) {
        const u64 s = first + late[i], begin = bounds.begin(s);
        const typename part_type::A value =
            segreduce_by_block<Config>(in + begin, bounds.end(s) - begin);
        if (threadIdx.x == 0)
            out[s] = element<T>::narrow(value);
    }
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    segreduce_lanes(const typename Config::T *in, typename Config::T *out, u64 segments,
                    u64 length) {
    const segreduce_equal bounds = {segments, length};
    segreduce_groups<Config>(in, bounds, out);
}
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    segreduce_lanes_offsets(const typename Config::T *in, const u64 *offsets,
                            typename Config::T *out, u64 segments) {
    const segreduce_offsets bounds = {segments, offsets};
    segreduce_groups<Config>(in, bounds, out);
}

// --- staged: the block's segments are copied to shared memory first ---------------------------------
// Segments of a few elements at odd places: whole rows are read, whatever the segments are. Every 128 bytes
// one word is left free, so that threads whose segments are a power of two apart meet in different banks.
template <class T> struct segreduce_stage {
    static const u32 GAP = sizeof(T) == 8 ? 8 : 4;
    static __device__ __forceinline__ u32 place(u32 index) {
        const u32 bytes = index * (u32)sizeof(T);
        return bytes + bytes / 128 * GAP;
    }
    static __device__ __forceinline__ void put(char *stage, u32 index, const packet<2> &from) {
        *(u16 *)(stage + place(index)) = from.half;
    }
    template <int BYTES>
    static __device__ __forceinline__ void put(char *stage, u32 index, const packet<BYTES> &from) {
        u32 *to = (u32 *)(stage + place(index));
#pragma unroll
        for (int k = 0; k < BYTES / 4; k++)
            to[k] = from.word[k];
    }
    static __device__ __forceinline__ T get(const char *stage, u32 index) {
        return *(const T *)(stage + place(index));
    }
};

// Elements at, at + 1, … come to the places shift, shift + 1, … of the stage: whole loads to places that
// are a multiple of VEC. Gives shift.
template <class Config>
__device__ __forceinline__ u32 segreduce_fill(const typename Config::T *at, u32 count, char *stage) {
    typedef typename Config::T T;
    typedef segreduce_part<Config, Config::BLOCK> part;
    typedef segreduce_stage<T> place;
    u32 head = 0, tail = 0;
    if (Config::VEC > 1) {
        head = ((0u - (u32)(u64)at) % part::BYTES) / (u32)sizeof(T);
        head = head < count ? head : count;
        tail = (count - head) % Config::VEC;
    }
    const u32 body = (count - head) / Config::VEC;
    const u32 shift = (Config::VEC - head) % Config::VEC;
    const char *from = (const char *)(at + head);
#pragma unroll 1
    for (u32 i = threadIdx.x; i < body; i += part::TILE) {
        packet<part::BYTES> row[Config::UNROLL];
#pragma unroll
        for (int u = 0; u < Config::UNROLL; u++)
            if (i + u * Config::BLOCK < body)
                part::load_operation::load(row[u],
                                           from + (u64)(i + u * Config::BLOCK) * part::BYTES);
#pragma unroll
        for (int u = 0; u < Config::UNROLL; u++)
            if (i + u * Config::BLOCK < body)
                place::put(stage, shift + head + (i + u * Config::BLOCK) * Config::VEC, row[u]);
    }
    if (Config::VEC > 1)
        for (u32 k = threadIdx.x; k < head + tail; k += Config::BLOCK) {
            const u32 i = k < head ? k : count - (head + tail) + k;
            *(T *)(stage + place::place(shift + i)) = at[i];
        }
    return shift;
}

// capacity: elements that the stage holds. Segments that are longer together than expected are read from where
// they are.
template <class Config, class BOUNDS>
__device__ __forceinline__ void segreduce_by_stage(const typename Config::T *in,
                                                   const BOUNDS &bounds, typename Config::T *out,
                                                   u32 capacity) {
    typedef typename Config::T T;
    typedef typename element<T>::accumulator A;
    typedef operation<Config::op, A> OP;
    extern __shared__ u64 segreduce_staging[];
    const int GROUPS = Config::BLOCK / Config::LANES;
    const u64 first = (u64)blockIdx.x * (GROUPS * Config::BATCH);
    u64 after = first + GROUPS * Config::BATCH;
    after = after < bounds.segments ? after : bounds.segments;
    const u64 start = bounds.begin(first), stop = bounds.end(after - 1);
    if (BOUNDS::VARIES && stop - start > capacity) {
        segreduce_groups<Config>(in, bounds, out);
        return;
    }
    const char *stage = (const char *)segreduce_staging;
    const u32 shift = segreduce_fill<Config>(in + start, (u32)(stop - start), (char *)stage);
    __syncthreads();
    const u32 lane = threadIdx.x % Config::LANES, group = threadIdx.x / Config::LANES;
#pragma unroll
    for (int b = 0; b < Config::BATCH; b++) {
        const u64 s = first + (u32)(b * GROUPS) + group;
        A value = OP::identity();
        if (s < after) {
            u32 i = shift + (u32)(bounds.begin(s) - start);
            const u32 end = shift + (u32)(bounds.end(s) - start);
#pragma unroll 4
            for (i += lane; i < end; i += Config::LANES)
                value = OP::combine(value,
                                    element<T>::widen(segreduce_stage<T>::get(stage, i)));
        }
        value = segreduce_lanes_total<OP, Config::LANES>(value);
        if (s < after && lane == 0)
            out[s] = element<T>::narrow(value);
    }
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    segreduce_staged(const typename Config::T *in, typename Config::T *out, u64 segments,
                     u64 length, u32 capacity) {
    const segreduce_equal bounds = {segments, length};
    segreduce_by_stage<Config>(in, bounds, out, capacity);
}
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    segreduce_staged_offsets(const typename Config::T *in, const u64 *offsets,
                             typename Config::T *out, u64 segments, u32 capacity) {
    const segreduce_offsets bounds = {segments, offsets};
    segreduce_by_stage<Config>(in, bounds, out, capacity);
}

// --- split_warps, split_blocks: even pieces, whatever the segments are --------------------------------
// A piece is a stretch of the path (see above). It ends the segments first … last - 1 and has a part, maybe
// an empty one, of `last`, which a later piece ends. What it leaves: values of the segments that began
// in it and end in it, in `out`; of the one that began before, its part (head), and in `ended` its number; its
// part of `last` (tail). The second kernel adds to each head the tails of the pieces before it, back to where the
// segment began.
template <class Config, class BOUNDS> struct segreduce_piece {
    typedef typename Config::T T;
    typedef typename element<T>::accumulator A;
    BOUNDS bounds;
    u64 piece, start, stop;   // steps of the path
    u64 first, last;          // segments
    u64 from, to;             // elements
    bool began_before;        // `first` did, and it ends here
    T *out;
    A *partial;

    __device__ __forceinline__ void open(u64 number, u64 step, u64 path, u64 *ended, bool leader) {
        piece = number;
        start = piece * step < path ? piece * step : path;
        stop = path - start < step ? path : start + step;
        bounds.find(start, stop, first, last);
        from = start - first;
        to = stop - last;
        began_before = first < last && bounds.begin(first) + first < start;
        if (leader)
            store_relaxed(ended + piece, began_before ? first : ~(u64)0);
    }
    // The elements of segment s that are in this piece.
    __device__ __forceinline__ u64 part_of(u64 s, u64 &begin) const {
        begin = 0;
        if (s > last || s >= bounds.segments)
            return 0;
        begin = bounds.begin(s) > from ? bounds.begin(s) : from;
        const u64 end = bounds.end(s) < to ? bounds.end(s) : to;
        return end - begin;
    }
    __device__ __forceinline__ void leave(u64 s, A value) const {
        if (s > last || s >= bounds.segments)
            return;
        if (s == last)
            store_value(partial + 2 * piece + 1, value);
        else if (s == first && began_before)
            store_value(partial + 2 * piece, value);
        else
            out[s] = element<T>::narrow(value);
    }
};

// 32 segments, one a lane: a lane reads its own when it is short, all lanes one after another those that are
// longer, up to `most` elements. Each lane gets the value of its own.
template <class Config>
__device__ __forceinline__ typename element<typename Config::T>::accumulator
segreduce_window(const typename Config::T *in, u64 begin, u64 length, u64 most) {
    typedef typename Config::T T;
    typedef segreduce_part<Config, 32> part_type;
    typedef typename part_type::A A;
    typedef typename part_type::OP OP;
    const u64 SHORT = 8;
    const u32 lane = threadIdx.x % 32;
    A value = OP::identity();
    if (length <= SHORT)
        for (u64 i = 0; i < length; i++)
            value = OP::combine(value, element<T>::widen(in[begin + i]));
    u32 others = __ballot_sync(0xffffffffu, length > SHORT && length <= most);
    for (; others != 0; others &= others - 1) {
        const int whose = __ffs((int)others) - 1;
        const u64 at = __shfl_sync(0xffffffffu, begin, whose);
        const u64 count = __shfl_sync(0xffffffffu, length, whose);
        part_type part;
        part.open(in + at, count, lane);
        A sum = segreduce_lanes_total<OP, 32>(part.close(lane));
        sum = bit_cast<A>(__shfl_sync(0xffffffffu, bits_of(sum), 0));
        if ((int)lane == whose)
            value = sum;
    }
    return value;
}

template <class Config, class BOUNDS>
__device__ __forceinline__ void segreduce_split_warps(const typename Config::T *in,
                                                      segreduce_piece<Config, BOUNDS> &piece,
                                                      u64 step, u64 path, u64 *ended) {
    const u32 lane = threadIdx.x % 32;
    piece.open((u64)blockIdx.x * (Config::BLOCK / 32) + threadIdx.x / 32, step, path, ended,
               lane == 0);
#pragma unroll 1
    for (u64 window = piece.first; window <= piece.last; window += 32) {
        u64 begin;
        const u64 length = piece.part_of(window + lane, begin);
        piece.leave(window + lane, segreduce_window<Config>(in, begin, length, ~(u64)0));
    }
}

// BLOCK segments, one a thread; the whole block reads those that are too long for a warp.
template <class Config, class BOUNDS>
__device__ __forceinline__ void segreduce_split_blocks(const typename Config::T *in,
                                                       segreduce_piece<Config, BOUNDS> &piece,
                                                       u64 step, u64 path, u64 *ended) {
    typedef typename element<typename Config::T>::accumulator A;
    const u64 LONG = 4 * Config::VEC * segreduce_part<Config, 32>::TILE;
    __shared__ u32 late[Config::BLOCK], late_count;
    piece.open(blockIdx.x, step, path, ended, threadIdx.x == 0);
#pragma unroll 1
    for (u64 window = piece.first; window <= piece.last; window += Config::BLOCK) {
        u64 begin;
        const u64 length = piece.part_of(window + threadIdx.x, begin);
        __syncthreads();
        if (threadIdx.x == 0)
            late_count = 0;
        __syncthreads();
        if (length > LONG)
            late[atomicAdd(&late_count, 1u)] = threadIdx.x;
        const A value = segreduce_window<Config>(in, begin, length, LONG);
        if (length <= LONG)
            piece.leave(window + threadIdx.x, value);
        __syncthreads();
        const u32 count = late_count;
#pragma unroll 1
        for (u32 i = 0; i < count; i++) {
            const u64 s = window + late[i];
            u64 at;
            const u64 elements = piece.part_of(s, at);
            const A sum = segreduce_by_block<Config>(in + at, elements);
            if (threadIdx.x == 0)
                piece.leave(s, sum);
        }
    }
}

template <class Config, class BOUNDS>
__device__ __forceinline__ void segreduce_pieces(const typename Config::T *in, const BOUNDS &bounds,
                                                 typename Config::T *out, void *partial, u64 *ended) {
    typedef segreduce_piece<Config, BOUNDS> piece_type;
    const bool WARPS = Config::METHOD == METHOD_split_warps;
    if (Config::JOIN == JOIN_dependent)
        allow_dependents();
    piece_type piece;
    piece.bounds = bounds;
    piece.out = out;
    piece.partial = (typename piece_type::A *)partial;
    const u64 path = bounds.end(bounds.segments - 1) + bounds.segments;
    const u64 pieces = (u64)gridDim.x * (WARPS ? Config::BLOCK / 32 : 1);
    const u64 step = (path + pieces - 1) / pieces;
    if (WARPS)
        segreduce_split_warps<Config>(in, piece, step, path, ended);
    else
        segreduce_split_blocks<Config>(in, piece, step, path, ended);
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    segreduce_split(const typename Config::T *in, typename Config::T *out, void *partial,
                    u64 *ended, u64 segments, u64 length) {
    const segreduce_equal bounds = {segments, length};
    segreduce_pieces<Config>(in, bounds, out, partial, ended);
}
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    segreduce_split_offsets(const typename Config::T *in, const u64 *offsets,
                            typename Config::T *out, void *partial, u64 *ended, u64 segments) {
    const segreduce_offsets bounds = {segments, offsets};
    segreduce_pieces<Config>(in, bounds, out, partial, ended);
}

// A thread a piece. Whoever has many tails to add is helped by its whole warp.
template <class Config, class BOUNDS>
__device__ __forceinline__ void segreduce_heads(const BOUNDS &bounds, typename Config::T *out,
                                                const void *partial, const u64 *ended, u64 pieces) {
    typedef typename element<typename Config::T>::accumulator A;
    typedef operation<Config::op, A> OP;
    const A *from = (const A *)partial;
    const u64 FEW = 8;
    const u32 lane = threadIdx.x % 32;
    const u64 path = bounds.end(bounds.segments - 1) + bounds.segments;
    const u64 step = (path + pieces - 1) / pieces;
    const u64 piece = (u64)blockIdx.x * 128 + threadIdx.x;
    if (Config::JOIN == JOIN_dependent)
        wait_for_previous();
    const u64 s = piece < pieces ? load_relaxed(ended + piece) : ~(u64)0;
    const bool has_head = s != ~(u64)0;
    const u64 began = has_head ? (bounds.begin(s) + s) / step : piece;
    A value = OP::identity();
    if (piece - began <= FEW)
        for (u64 i = began; i < piece; i++)
            value = OP::combine(value, load_value(from + 2 * i + 1));
    u32 others = __ballot_sync(0xffffffffu, piece - began > FEW);
    for (; others != 0; others &= others - 1) {
        const int whose = __ffs((int)others) - 1;
        const u64 first = __shfl_sync(0xffffffffu, began, whose);
        const u64 after = __shfl_sync(0xffffffffu, piece, whose);
        A sum = OP::identity();
#pragma unroll 4
        for (u64 i = first + lane; i < after; i += 32)
            sum = OP::combine(sum, load_value(from + 2 * i + 1));
        sum = segreduce_lanes_total<OP, 32>(sum);
        sum = bit_cast<A>(__shfl_sync(0xffffffffu, bits_of(sum), 0));
        if ((int)lane == whose)
            value = sum;
    }
    if (has_head)
        out[s] = element<typename Config::T>::narrow(
            OP::combine(value, load_value(from + 2 * piece)));
}

template <class Config>
__global__ void __launch_bounds__(128)
    segreduce_join(typename Config::T *out, const void *partial, const u64 *ended, u64 pieces,
                   u64 segments, u64 length) {
    const segreduce_equal bounds = {segments, length};
    segreduce_heads<Config>(bounds, out, partial, ended, pieces);
}
template <class Config>
__global__ void __launch_bounds__(128)
    segreduce_join_offsets(const u64 *offsets, typename Config::T *out, const void *partial,
                           const u64 *ended, u64 pieces, u64 segments) {
    const segreduce_offsets bounds = {segments, offsets};
    segreduce_heads<Config>(bounds, out, partial, ended, pieces);
}

} // namespace simtune

#endif // SIMTUNE_SEGREDUCE_CU
