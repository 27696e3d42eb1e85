// SPDX-License-Identifier: Apache-2.0
// Reduction of n elements to one: sum, min or max. Each configuration is right for every n from 0
// on and for any base that is aligned to an element. templates/README.md tells what each parameter
// is for.
//
// clang-format off
// simtune: family   reduce
// simtune: summary  sum, min or max of n elements
//
// simtune: axis     T  = f32 f64 i32 u32 i64 u64 f16 bf16
// simtune: axis     op = sum min max
// simtune: axis     n  = 64Ki 1Mi 16Mi 256Mi
//
// How a block reads: BLOCK threads take UNROLL rows of VEC elements each, a tile, into ACC
// accumulators.
// simtune: param    BLOCK  = 128 256 512 1024                        role tlp work
// simtune: param    VEC    = 1 2 4 8                                 role mlp work
// simtune: param    UNROLL = 1 2 4 8 16                              role mlp ilp
// simtune: param    ACC    = 1 2 4 8                                 role ilp
// simtune: param    LOAD   = plain nc cg no_allocate evict_first l2_64 l2_128 l2_256  role mlp
// simtune: param    ORDER  = batched interleaved                     role mlp ilp regs
// simtune: param    MIN_BLOCKS = 1 2 3 4                             role regs tlp
// How tiles are dealt out: WAVES = 0 starts one block a tile, k starts k times what the device
// holds at once.
// simtune: param    WAVES  = 0 1 2 4 8                               role tlp work runtime
// simtune: param    MAP    = strided contiguous                      role work runtime
// How values come together: in a warp, in a block, in the grid.
// simtune: param    WARP   = shuffle shared redux                    role sync smem
// simtune: param    BLOCK_STEP = serial shuffle direct               role sync
// simtune: param    FINISH = two_pass dependent watched cluster one_block ticket atomic  role sync
// simtune: param    CLUSTER = 1 2 4 8                                role tlp sync
//
// The naive loop: a grid-stride loop with one accumulator, then a second kernel.
// simtune: default  BLOCK=256 VEC=1 UNROLL=1 ACC=1 LOAD=plain ORDER=batched MIN_BLOCKS=1
// simtune: default  WAVES=1 MAP=strided WARP=shuffle BLOCK_STEP=shuffle FINISH=two_pass CLUSTER=1
//
// What cannot be, on this device or at all.
// simtune: let      vec_bytes = VEC * size_of_T
// simtune: let      acc_bytes = max(4, size_of_T)
// simtune: where    vec_bytes <= 16
// simtune: where    ACC <= UNROLL * VEC
// simtune: where    BLOCK * MIN_BLOCKS <= THREADS_PER_SM
// simtune: let      registers = UNROLL * vec_bytes / 4 + ACC * acc_bytes / 4 + 24
// simtune: where    registers * BLOCK * MIN_BLOCKS <= REGISTERS_PER_SM
// simtune: where    WARP != redux or (CC >= 80 and (T == i32 or T == u32))
// simtune: where    LOAD != l2_256 or CC >= 80
// simtune: let      is_dependent = FINISH == dependent or FINISH == watched
// simtune: where    not is_dependent or CC >= 90
// simtune: let      is_two_pass = FINISH == two_pass or is_dependent
// simtune: let      is_few = FINISH == cluster or FINISH == one_block
// simtune: where    FINISH != cluster or (CC >= 90 and CLUSTER > 1 and CLUSTER <= MAX_CLUSTER)
// simtune: where    FINISH == cluster or CLUSTER == 1
// simtune: where    BLOCK_STEP != direct or is_two_pass or FINISH == cluster
//
// What was never near the best and would only cost time: much work for few blocks, little for
// many …
// simtune: let      bytes_in = n * size_of_T
// simtune: let      tiles = max(1, ceil_div(n, BLOCK * VEC * UNROLL))
// simtune: where    FINISH != cluster or bytes_in <= 2097152
// simtune: where    FINISH != one_block or bytes_in <= 262144
// simtune: where    UNROLL == 1 or tiles * 4 >= SM_COUNT or is_few
// simtune: where    UNROLL == 1 or tiles >= CLUSTER
// simtune: where    WAVES != 0 or (tiles > SM_COUNT and tiles <= 65536)
// simtune: where    WAVES <= 1 or tiles > SM_COUNT * WAVES
// simtune: where    WAVES == 1 or not is_few
// … and combinations of what moves time by a few percent at most: one of these at a time, from
// 16-byte loads with four accumulators and the finish that suits the device.
// simtune: let      minor_read = (LOAD != plain) + (ORDER != batched) + (MIN_BLOCKS != 1) + (MAP != strided)
// simtune: let      minor = minor_read + (WARP != shuffle) + (BLOCK_STEP != shuffle)
// simtune: let      is_core = vec_bytes == 16 and (ACC == 4 or (ACC == UNROLL * VEC and ACC < 4))
// simtune: let      is_widest = FINISH == cluster and CLUSTER == MAX_CLUSTER
// simtune: let      is_usual = FINISH == watched or is_widest or (FINISH == two_pass and CC < 90)
// simtune: where    minor == 0 or (minor == 1 and is_core and is_usual)
// simtune: where    is_core or is_two_pass
// simtune: where    WAVES <= 2 or minor == 0
// simtune: where    MAP == strided or (WAVES == 1 and tiles > SM_COUNT) or (is_few and tiles > CLUSTER)
//
// simtune: let      resident = SM_COUNT * BLOCKS_PER_SM
// simtune: let      dealt = (WAVES == 0) * tiles + (WAVES > 0) * min(tiles, resident * WAVES)
// simtune: let      blocks = is_few * CLUSTER + (not is_few) * dealt
// simtune: let      rows = max(1, ceil_div(n, BLOCK * VEC))
// simtune: let      share = (MAP == contiguous) * ceil_div(rows, blocks) * BLOCK
// simtune: let      values_a_block = 1 + (BLOCK_STEP == direct) * (BLOCK / 32 - 1)
// simtune: let      partials = blocks * values_a_block
// The second kernel: four values a thread, by the most blocks that there can be.
// simtune: let      most_resident = SM_COUNT * min(MAX_BLOCKS_PER_SM, THREADS_PER_SM / BLOCK)
// simtune: let      most_blocks = (WAVES == 0) * tiles + (WAVES > 0) * min(tiles, most_resident * WAVES)
// simtune: let      finish_block = min(1024, 32 * ceil_div(most_blocks * values_a_block, 128))
// Sums of 4- and 8-byte types are added to `out` itself; others need a decoding at the end.
// simtune: let      adds_to_out = op == sum and size_of_T >= 4
//
// simtune: let      is_watched = FINISH == watched
// simtune: let      keeps_partials = (is_two_pass and not is_watched) or FINISH == ticket
// simtune: let      keeps_state = FINISH == ticket or (FINISH == atomic and not adds_to_out)
//
// simtune: buffer   in : input T[n]   out : output T[1]
// simtune: buffer   partial : temp u64[keeps_partials * ceil_div(partials * acc_bytes, 8) + is_watched * partials * acc_bytes / 4]
// simtune: buffer   state : temp u64[keeps_state * 2]
// simtune: buffer   reference_value : expected reference_T[1]   reference_magnitude : magnitude f64[1]
//
// simtune: zero     state  when keeps_state
// simtune: zero     out    when FINISH == atomic and adds_to_out
// simtune: launch   reduce_blocks<Config> grid=blocks block=BLOCK args=in,partial,n,share:u64 when is_two_pass
// simtune: launch   reduce_partials<Config> grid=1 block=finish_block dependent=is_dependent args=partial,out,partials:u64 when is_two_pass and not is_watched
// simtune: launch   reduce_watched<Config> grid=1 block=finish_block dependent=1 args=partial,out,partials:u64 when is_watched
// simtune: launch   reduce_cluster<Config> grid=blocks block=BLOCK cluster=CLUSTER args=in,out,n,share:u64 when FINISH == cluster
// simtune: launch   reduce_one_block<Config> grid=1 block=BLOCK args=in,out,n when FINISH == one_block
// simtune: launch   reduce_ticket<Config> grid=blocks block=BLOCK args=in,out,partial,state,n,share:u64 when FINISH == ticket
// simtune: launch   reduce_atomic<Config> grid=blocks block=BLOCK args=in,out,state,n,share:u64 when FINISH == atomic
//
// Values are combined in an order that the configuration fixes, except by atomics; min, max and
// integers do not care about the order.
// simtune: determinism run_to_run when FINISH != atomic or op != sum or not is_float_T
//
// simtune: let      reference_blocks = min(1024, max(1, ceil_div(n, 4096)))
// simtune: reference reference_reduce_blocks<Config> file=reference/reduce_reference.cu grid=reference_blocks block=256 args=in,n
// simtune: reference reference_reduce_total<Config> file=reference/reduce_reference.cu grid=1 block=1 args=reference_value,reference_magnitude,reference_blocks:u64
//
// The height of the summation tree: a thread's chain, its accumulators, warp, block, grid.
// simtune: let      chain = (ceil_div(tiles, blocks) + 1) * ceil_div(UNROLL * VEC, ACC) + 1
// simtune: let      block_height = 5 + (BLOCK_STEP == serial) * (BLOCK / 32) + (BLOCK_STEP != serial) * 5
// simtune: let      two_pass_height = is_two_pass * (ceil_div(partials, finish_block) + 12)
// simtune: let      ticket_height = (FINISH == ticket) * (ceil_div(blocks, BLOCK) + block_height)
// simtune: let      other_height = (FINISH == cluster) * (CLUSTER + 6) + (FINISH == atomic) * blocks
// simtune: let      grid_height = two_pass_height + ticket_height + other_height
// simtune: let      summation_height = chain + ceil_log2(ACC) + block_height + grid_height
// simtune: compare  out with reference_value magnitude reference_magnitude height summation_height when op == sum
// simtune: compare  out with reference_value when op != sum
//
// simtune: bytes    bytes_in
// simtune: host_args in,out,n
// clang-format on
#ifndef SIMTUNE_REDUCE_CU
#define SIMTUNE_REDUCE_CU
#include "simtune_device.cuh"

namespace simtune {

enum order_word { ORDER_batched, ORDER_interleaved };
enum warp_word { WARP_shuffle, WARP_shared, WARP_redux };
enum block_step_word { BLOCK_STEP_serial, BLOCK_STEP_shuffle, BLOCK_STEP_direct };
enum finish_word {
    FINISH_two_pass,
    FINISH_dependent,
    FINISH_watched,
    FINISH_cluster,
    FINISH_one_block,
    FINISH_ticket,
    FINISH_atomic
};

// --- one thread's share --------------------------------------------------------------------------
// The accumulators of a thread. Element v of row u goes to accumulator (u * VEC + v) % ACC.
template <class Config> struct reduce_thread {
    typedef typename Config::T T;
    typedef typename element<T>::accumulator A;
    typedef operation<Config::op, A> OP;
    static const int BYTES = Config::VEC * (int)sizeof(T);  // of one load
    static const int ROW_BYTES = Config::BLOCK * BYTES;     // of one load of the block
    static const int TILE = Config::BLOCK * Config::UNROLL; // loads of the block's tile
    typedef loader<Config::LOAD> load_operation;

    A value[Config::ACC];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < Config::ACC; i++)
            value[i] = OP::identity();
    }

    __device__ __forceinline__ void add(const packet<BYTES> &from, int row) {
#pragma unroll
        for (int v = 0; v < Config::VEC; v++) {
            const int i = (row * Config::VEC + v) % Config::ACC;
            value[i] = OP::combine(value[i], element<T>::widen(unpack<T>::get(from, v)));
        }
    }

    // All rows are loaded before the first is added: UNROLL loads in flight, none while adding.
    __device__ __forceinline__ void add_tile(const char *from) {
        packet<BYTES> row[Config::UNROLL];
#pragma unroll
        for (int u = 0; u < Config::UNROLL; u++)
            load_operation::load(row[u], from + u * ROW_BYTES);
#pragma unroll
        for (int u = 0; u < Config::UNROLL; u++)
            add(row[u], u);
    }

    // The last tile, of which only `rest` loads exist.
    __device__ __forceinline__ void add_part(const char *from, int rest) {
        packet<BYTES> row[Config::UNROLL];
#pragma unroll
        for (int u = 0; u < Config::UNROLL; u++)
            if ((int)threadIdx.x + u * Config::BLOCK < rest)
                load_operation::load(row[u], from + u * ROW_BYTES);
#pragma unroll
        for (int u = 0; u < Config::UNROLL; u++)
            if ((int)threadIdx.x + u * Config::BLOCK < rest)
                add(row[u], u);
    }

    // Whole tiles at `from`, `from` + step, …; both move to the first that is not whole.
    __device__ __forceinline__ void add_tiles(const char *&from, long long &left, long long step) {
        if (Config::ORDER == ORDER_batched) {
#pragma unroll 1
            for (; left >= TILE; left -= step, from += step * BYTES)
                add_tile(from);
            return;
        }
        // A row's register is loaded again as soon as it is added: always UNROLL loads in flight.
        if (left < TILE)
            return;
        packet<BYTES> row[Config::UNROLL];
#pragma unroll
        for (int u = 0; u < Config::UNROLL; u++)
            load_operation::load(row[u], from + u * ROW_BYTES);
#pragma unroll 1
        for (left -= step, from += step * BYTES; left >= TILE; left -= step, from += step * BYTES) {
#pragma unroll
            for (int u = 0; u < Config::UNROLL; u++) {
                add(row[u], u);
                load_operation::load(row[u], from + u * ROW_BYTES);
            }
        }
#pragma unroll
        for (int u = 0; u < Config::UNROLL; u++)
            add(row[u], u);
    }

    __device__ __forceinline__ A total() {
#pragma unroll
        for (int distance = Config::ACC / 2; distance > 0; distance /= 2)
#pragma unroll
            for (int i = 0; i < distance; i++)
                value[i] = OP::combine(value[i], value[i + distance]);
        return value[0];
    }
};

// What this thread contributes. A base that is not aligned to a whole load costs nothing but the
// peel: the elements before the first whole load and after the last go to the first threads of
// block 0. share: loads of a block's contiguous part, or 0 when blocks take every gridDim-th tile.
template <class Config>
__device__ __forceinline__ typename reduce_thread<Config>::A
reduce_share(const typename Config::T *in, u64 n, u64 share) {
    typedef reduce_thread<Config> thread;
    typedef typename Config::T T;
    typedef typename thread::A A;
    thread sum;
    sum.clear();

    u32 head = 0, tail = 0; // elements before the first whole load and after the last
    if (Config::VEC > 1) {
        head = ((0u - (u32)(u64)in) % thread::BYTES) / (u32)sizeof(T);
        head = head < n ? head : (u32)n;
        tail = ((u32)n - head) % Config::VEC;
    }
    const u64 body = (n - head) / Config::VEC; // whole loads
    A extra = thread::OP::identity();
    if (Config::VEC > 1 && blockIdx.x == 0 && threadIdx.x < head + tail)
        extra = element<T>::widen(
            in[threadIdx.x < head ? threadIdx.x : n - (head + tail) + threadIdx.x]);

    const u64 first = blockIdx.x * (share ? share : (u64)thread::TILE);
    const long long step = share ? (long long)thread::TILE : (long long)gridDim.x * thread::TILE;
    long long left = (long long)(body - first); // of what this block may read; negative: nothing
    if (share && left > (long long)share)
        left = (long long)share;
    const char *from = (const char *)(in + head) + (first + threadIdx.x) * thread::BYTES;
    sum.add_tiles(from, left, step);
    if (left > 0)
        sum.add_part(from, (int)left);
    return thread::OP::combine(sum.total(), extra);
}

// --- warp and block ------------------------------------------------------------------------------
// Lane 0 gets the warp's value. WIDTH: lanes that hold one, a power of two.
template <class OP, int WIDTH, class A> __device__ __forceinline__ A reduce_lanes(A value) {
#pragma unroll
    for (int distance = WIDTH / 2; distance > 0; distance /= 2)
        value = OP::combine(value, shuffle_down(value, distance));
    return value;
}

template <class Config, class A> __device__ __forceinline__ A reduce_warp(A value) {
    typedef operation<Config::op, A> OP;
    if (Config::WARP == WARP_redux)
        return warp_instruction<Config::op, A>::reduce(value);
    if (Config::WARP == WARP_shuffle)
        return reduce_lanes<OP, 32>(value);
    __shared__ A lanes[Config::WARP == WARP_shared ? Config::BLOCK : 1];
    const u32 lane = threadIdx.x % 32;
    lanes[threadIdx.x] = value;
    __syncwarp();
#pragma unroll
    for (u32 distance = 16; distance > 0; distance /= 2) {
        if (lane < distance) {
            value = OP::combine(value, lanes[threadIdx.x + distance]);
            lanes[threadIdx.x] = value;
        }
        __syncwarp();
    }
    return value;
}

// Thread 0 gets the value of COUNT values in shared memory. Called by the threads of warp 0.
template <class Config, int COUNT, class A, int STEP = Config::BLOCK_STEP> struct reduce_values {
    static __device__ __forceinline__ A step(const A *values) {
        typedef operation<Config::op, A> OP;
        A value = OP::identity();
#pragma unroll
        for (int i = 0; i < COUNT; i += 32)
            if (i + (int)threadIdx.x < COUNT)
                value = OP::combine(value, values[i + threadIdx.x]);
        if (Config::WARP == WARP_redux)
            return warp_instruction<Config::op, A>::reduce(value);
        return reduce_lanes<OP, (COUNT < 32 ? COUNT : 32)>(value);
    }
};
template <class Config, int COUNT, class A>
struct reduce_values<Config, COUNT, A, BLOCK_STEP_serial> {
    static __device__ __forceinline__ A step(const A *values) {
        A value = operation<Config::op, A>::identity();
        if (threadIdx.x == 0)
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                value = operation<Config::op, A>::combine(value, values[i]);
        return value;
    }
};

// Thread 0 gets the block's value. Begins a use of shared memory: callers put a barrier between two
// calls.
template <class Config, class A> __device__ __forceinline__ A reduce_block(A value) {
    const int WARPS = Config::BLOCK / 32;
    __shared__ A warps[WARPS];
    value = reduce_warp<Config>(value);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32)
        value = reduce_values<Config, WARPS, A>::step(warps);
    return value;
}

// --- two_pass, dependent, watched: partial values, then one block adds them ------------------------
// watched: the second kernel is there while the first still runs, and takes each value as it comes. A slot
// says by itself whether it holds a value, so storage may hold anything before: every block empties its own
// slots before it allows the second kernel, and that one starts only when all blocks have. It then waits for
// blocks that all run already, so it cannot keep them from running. 4-byte values stand in one word with
// their mark; 8-byte values have their mark in a word of its own, written after them.
template <class A, int BYTES = (int)sizeof(A)> struct watched_slot {
    static const int WORDS = 1;
    static __device__ __forceinline__ void clear(u64 *slot) { store_relaxed(slot, (u64)0); }
    static __device__ __forceinline__ void put(u64 *slot, A value) {
        store_relaxed(slot, (u64)1 << 32 | bits_of(value));
    }
    static __device__ __forceinline__ bool take(const u64 *slot, A &value) {
        const u64 word = load_relaxed(slot);
        value = bit_cast<A>((u32)word);
        return (word >> 32) != 0;
    }
};
template <class A> struct watched_slot<A, 8> {
    static const int WORDS = 2;
    static __device__ __forceinline__ void clear(u64 *slot) { store_relaxed(slot + 1, (u64)0); }
    static __device__ __forceinline__ void put(u64 *slot, A value) {
        store_relaxed(slot, bits_of(value));
        store_release(slot + 1, (u64)1);
    }
    static __device__ __forceinline__ bool take(const u64 *slot, A &value) {
        if (load_acquire(slot + 1) == 0)
            return false;
        value = bit_cast<A>(load_relaxed(slot));
        return true;
    }
};

// direct: every warp leaves its own value, and the block needs no barrier.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    reduce_blocks(const typename Config::T *in, void *partial, u64 n, u64 share) {
    typedef typename reduce_thread<Config>::A A;
    typedef watched_slot<A> slot;
    const int VALUES = Config::BLOCK_STEP == BLOCK_STEP_direct ? Config::BLOCK / 32 : 1;
    const bool WATCHED = Config::FINISH == FINISH_watched;
    // The next kernel may take its place now: it waits for all that is written here.
    if (Config::FINISH == FINISH_dependent)
        allow_dependents();
    // Each slot is emptied by the thread that will fill it, so that no value can be lost.
    const bool fills = threadIdx.x % 32 == 0 && threadIdx.x / 32 < (u32)VALUES;
    const u64 at = (u64)blockIdx.x * VALUES + threadIdx.x / 32;
    if (WATCHED) {
        if (fills)
            slot::clear((u64 *)partial + at * slot::WORDS);
        if (VALUES > 1)
            __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            allow_dependents();
        }
    }
    A value = reduce_share<Config>(in, n, share);
    value = VALUES > 1 ? reduce_warp<Config>(value) : reduce_block<Config>(value);
    if (fills && WATCHED)
        slot::put((u64 *)partial + at * slot::WORDS, value);
    else if (fills)
        store_value((A *)partial + at, value);
}

// Thread 0 gets the value of one block of any number of whole warps.
template <class OP, class A> __device__ __forceinline__ A reduce_any_block(A value) {
    __shared__ A warps[32];
    value = reduce_lanes<OP, 32>(value);
    if (blockDim.x > 32) {
        if (threadIdx.x % 32 == 0)
            warps[threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x < 32) {
            value = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : OP::identity();
            value = reduce_lanes<OP, 32>(value);
        }
    }
    return value;
}

template <class Config>
__global__ void __launch_bounds__(1024)
    reduce_watched(const void *partial, typename Config::T *out, u64 count) {
    typedef typename reduce_thread<Config>::A A;
    typedef operation<Config::op, A> OP;
    typedef watched_slot<A> slot;
    const u64 *from = (const u64 *)partial;
    prefetch(out);
    A value = OP::identity();
#pragma unroll 1
    for (u64 i = threadIdx.x; i < count; i += 4 * blockDim.x) {
        A four[4];
        bool all;
        do {
            all = true;
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                four[k] = OP::identity();
                if (i + k * blockDim.x < count)
                    all &= slot::take(from + (i + k * blockDim.x) * slot::WORDS, four[k]);
            }
        } while (!all);
        value = OP::combine(
            value, OP::combine(OP::combine(four[0], four[1]), OP::combine(four[2], four[3])));
    }
    value = reduce_any_block<OP>(value);
    if (threadIdx.x == 0)
        *out = element<typename Config::T>::narrow(value);
}

// One block of any number of whole warps, four values a thread at a time. As a dependent launch it
// is there before the values are, and fetches the translations of their addresses meanwhile.
template <class Config>
__global__ void __launch_bounds__(1024)
    reduce_partials(const void *partial, typename Config::T *out, u64 count) {
    typedef typename reduce_thread<Config>::A A;
    typedef operation<Config::op, A> OP;
    const A *from = (const A *)partial;
    if (Config::FINISH == FINISH_dependent) {
        if (threadIdx.x < count)
            prefetch(from + threadIdx.x);
        prefetch(out);
        wait_for_previous();
    }
    A value = OP::identity();
#pragma unroll 1
    for (u64 i = threadIdx.x; i < count; i += 4 * blockDim.x) {
        A four[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            four[k] = OP::identity();
            if (i + k * blockDim.x < count)
                four[k] = load_value(from + (i + k * blockDim.x));
        }
        value = OP::combine(
            value, OP::combine(OP::combine(four[0], four[1]), OP::combine(four[2], four[3])));
    }
    value = reduce_any_block<OP>(value);
    if (threadIdx.x == 0)
        *out = element<typename Config::T>::narrow(value);
}

// --- one_block, cluster: no temporary storage, no state ------------------------------------------
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    reduce_one_block(const typename Config::T *in, typename Config::T *out, u64 n) {
    const typename reduce_thread<Config>::A value =
        reduce_block<Config>(reduce_share<Config>(in, n, 0));
    if (threadIdx.x == 0)
        *out = element<typename Config::T>::narrow(value);
}

// The grid is one cluster. Blocks (or, direct, warps) send their values to block 0, the only one that waits.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    reduce_cluster(const typename Config::T *in, typename Config::T *out, u64 n, u64 share) {
    typedef typename reduce_thread<Config>::A A;
    const int WARPS = Config::BLOCK / 32;
    const bool DIRECT = Config::BLOCK_STEP == BLOCK_STEP_direct;
    const int VALUES = Config::CLUSTER * (DIRECT ? WARPS : 1);
    __shared__ A values[VALUES];
    __shared__ u64 box;
    const u32 rank = cluster_rank();
    if (rank == 0 && threadIdx.x == 0)
        mailbox_open(&box);
    cluster_arrive_open();
    A value = reduce_share<Config>(in, n, share);
    value = DIRECT ? reduce_warp<Config>(value) : reduce_block<Config>(value);
    cluster_wait_running();
    if (rank == 0 && threadIdx.x == 0)
        mailbox_expect(&box, VALUES * (u32)sizeof(A));
    const int SENDERS = DIRECT ? WARPS : 1;
    if (threadIdx.x % 32 == 0 && threadIdx.x / 32 < (u32)SENDERS)
        mailbox_send(&values[rank * SENDERS + threadIdx.x / 32], &box, 0, value);
    if (rank == 0 && threadIdx.x < 32) {
        mailbox_wait(&box, VALUES * (u32)sizeof(A));
        value = reduce_values<Config, VALUES, A>::step(values);
        if (threadIdx.x == 0)
            *out = element<typename Config::T>::narrow(value);
    }
}

// --- ticket, atomic: one kernel on storage that memset has zeroed --------------------------------
// The block that takes the last ticket adds all partial values, in their order: deterministic.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    reduce_ticket(const typename Config::T *in, typename Config::T *out, void *partial, void *state,
                  u64 n, u64 share) {
    typedef typename reduce_thread<Config>::A A;
    typedef operation<Config::op, A> OP;
    __shared__ bool is_last;
    A value = reduce_block<Config>(reduce_share<Config>(in, n, share));
    if (threadIdx.x == 0) {
        store_value((A *)partial + blockIdx.x, value);
        is_last = add_acquire_release((u32 *)state, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last)
        return;
    value = OP::identity();
    for (u32 i = threadIdx.x; i < gridDim.x; i += Config::BLOCK)
        value = OP::combine(value, load_value((const A *)partial + i));
    value = reduce_block<Config>(value);
    if (threadIdx.x == 0)
        *out = element<typename Config::T>::narrow(value);
}

// Sums of 4- and 8-byte types are added to `out` itself. Others need a decoding at the end (min and
// max are stored so that zero means nothing, 16-bit floats are summed in float32): the last block
// does it. state: the value at 0, the ticket at 8.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    reduce_atomic(const typename Config::T *in, typename Config::T *out, void *state, u64 n,
                  u64 share) {
    typedef typename reduce_thread<Config>::A A;
    typedef atomic<Config::op, A> ATOMIC;
    const A value = reduce_block<Config>(reduce_share<Config>(in, n, share));
    if (threadIdx.x != 0)
        return;
    if (Config::op == op_sum && sizeof(typename Config::T) == sizeof(A)) {
        ATOMIC::combine((typename ATOMIC::word *)out, value);
        return;
    }
    typename ATOMIC::word *slot = (typename ATOMIC::word *)state;
    ATOMIC::combine(slot, value);
    if (add_acquire_release((u32 *)state + 2, 1) == gridDim.x - 1)
        *out = element<typename Config::T>::narrow(ATOMIC::decode(load_relaxed(slot)));
}

} // namespace simtune

#endif // SIMTUNE_REDUCE_CU
