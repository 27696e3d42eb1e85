// SPDX-License-Identifier: Apache-2.0
// What single-pass families share: tiles by ticket, the states by which blocks tell each other what
// lies before a tile (decoupled look-back), and a ring of tiles in shared memory that is filled
// ahead. As in simtune_device.cuh each piece of inline PTX names its architecture, has a fallback
// and a body for the emulated device.
//
// Promises:
//  1. Blocks wait only for tiles that a running block has taken: a ticket is taken by a block that
//     runs, and a tile's own total is published before its block waits for anything. Any number of
//     such grids, beside any other kernel, come to an end.
//  2. A state is right on every architecture: each 64-bit word of it is atomic by itself and carries
//     its own status, and no other memory is passed along with it, so no fence is needed.
//  3. States must be zero before the first block of the scanning kernel touches them: by memset, or
//     by clear_words in the launch before.
//  4. Whatever the alignment of a base, no byte outside [base, base + n) is read.
//
//                     put(TILE_TOTAL)             put(TILE_PREFIX)
//     TILE_EMPTY ------------------> TILE_TOTAL ------------------> TILE_PREFIX
//                \------------------------------------------------/   (tile 0)
#ifndef SIMTUNE_TILES_CUH
#define SIMTUNE_TILES_CUH
#include "simtune_device.cuh"

namespace simtune {

// --- vector stores -------------------------------------------------------------------------------
// VEC values as one packet.
template <class T, int VEC, int SIZE = sizeof(T)> struct pack;
template <class T> struct pack<T, 1, 2> {
    static __device__ __forceinline__ packet<2> of(const T *value) {
        packet<2> to;
        to.half = bits_of(value[0]);
        return to;
    }
};
template <class T, int VEC> struct pack<T, VEC, 2> {
    static __device__ __forceinline__ packet<2 * VEC> of(const T *value) {
        packet<2 * VEC> to;
#pragma unroll
        for (int i = 0; i < VEC / 2; i++)
            to.word[i] = (u32)bits_of(value[2 * i]) | (u32)bits_of(value[2 * i + 1]) << 16;
        return to;
    }
};
template <class T, int VEC> struct pack<T, VEC, 4> {
    static __device__ __forceinline__ packet<4 * VEC> of(const T *value) {
        packet<4 * VEC> to;
#pragma unroll
        for (int i = 0; i < VEC; i++)
            to.word[i] = bits_of(value[i]);
        return to;
    }
};
template <class T, int VEC> struct pack<T, VEC, 8> {
    static __device__ __forceinline__ packet<8 * VEC> of(const T *value) {
        packet<8 * VEC> to;
#pragma unroll
        for (int i = 0; i < VEC; i++) {
            to.word[2 * i] = (u32)bits_of(value[i]);
            to.word[2 * i + 1] = (u32)(bits_of(value[i]) >> 32);
        }
        return to;
    }
};

// plain; streaming: to leave the caches first.
enum store_word { STORE_plain, STORE_streaming };
#ifdef SIMTUNE_EMULATED
template <int STORE> struct storer {
    static inline void store(void *to, const packet<2> &from) {
        *(u16 *)to = from.half;
    }
    template <int BYTES> static inline void store(void *to, const packet<BYTES> &from) {
        if ((u64)to % BYTES != 0)
            __trap(); // as the device: a store must be aligned to its size
        for (int i = 0; i < BYTES / 4; i++)
            ((u32 *)to)[i] = from.word[i];
    }
};
#else
template <int STORE> struct storer;
#define SIMTUNE_STORER(WORD, MODIFIER)                                                             \
    template <> struct storer<WORD> {                                                              \
        static __device__ __forceinline__ void store(void *to, const packet<2> &from) {            \
            asm volatile("st.global" MODIFIER ".u16 [%0], %1;" ::"l"(to), "h"(from.half)           \
                         : "memory");                                                              \
        }                                                                                          \
        static __device__ __forceinline__ void store(void *to, const packet<4> &from) {            \
            asm volatile("st.global" MODIFIER ".u32 [%0], %1;" ::"l"(to), "r"(from.word[0])        \
                         : "memory");                                                              \
        }                                                                                          \
        static __device__ __forceinline__ void store(void *to, const packet<8> &from) {            \
            asm volatile("st.global" MODIFIER ".v2.u32 [%0], {%1, %2};" ::"l"(to),                 \
                         "r"(from.word[0]), "r"(from.word[1])                                      \
                         : "memory");                                                              \
        }                                                                                          \
        static __device__ __forceinline__ void store(void *to, const packet<16> &from) {           \
            asm volatile("st.global" MODIFIER ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to),         \
                         "r"(from.word[0]), "r"(from.word[1]), "r"(from.word[2]),                  \
                         "r"(from.word[3])                                                         \
                         : "memory");                                                              \
        }                                                                                          \
    };
SIMTUNE_STORER(STORE_plain, "")
SIMTUNE_STORER(STORE_streaming, ".cs")
#undef SIMTUNE_STORER
#endif

// Packets in shared memory, aligned to their size: one instruction each.
template <int BYTES> struct alignas(BYTES) shared_packet { packet<BYTES> packed; };
template <int BYTES>
__device__ __forceinline__ void load_shared(packet<BYTES> &to, const void *from) {
    to = ((const shared_packet<BYTES> *)from)->packed;
}
template <int BYTES>
__device__ __forceinline__ void store_shared(void *to, const packet<BYTES> &from) {
    ((shared_packet<BYTES> *)to)->packed = from;
}

// --- warps ---------------------------------------------------------------------------------------
// The value of the lane `distance` below (one's own where there is none), and of a given lane.
template <class A> __device__ __forceinline__ A shuffle_up(A value, int distance) {
    return bit_cast<A>(__shfl_up_sync(0xffffffffu, bits_of(value), distance));
}
template <class A> __device__ __forceinline__ A shuffle_from(A value, int lane) {
    return bit_cast<A>(__shfl_sync(0xffffffffu, bits_of(value), lane));
}

// All lanes get the combination of all lanes' values.
template <class OP, class A> __device__ __forceinline__ A combine_lanes(A value) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        value = OP::combine(value, shuffle_xor(value, mask));
    return value;
}

// Kogge-Stone: each lane gets the combination of its own and all lower lanes' values. WIDTH: lanes
// that hold one.
template <class OP, int WIDTH, class A> __device__ __forceinline__ A scan_lanes(A value) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int distance = 1; distance < WIDTH; distance *= 2) {
        const A lower = shuffle_up(value, distance);
        if (lane >= distance)
            value = OP::combine(lower, value);
    }
    return value;
}

// --- tickets -------------------------------------------------------------------------------------
// The storage that blocks share: a head with the ticket counter, alone in its cache line, then the
// states of the tiles.
enum { TILE_HEAD_WORDS = 16 }; // u64

__device__ __forceinline__ u32 take_ticket(u64 *shared_storage) {
    return atomicAdd((u32 *)shared_storage, 1u);
}
// `count` tickets in a row; the first of them. A block must use its tickets in their order, or it may
// wait for a tile of its own: let one thread take them.
__device__ __forceinline__ u32 take_tickets(u64 *shared_storage, u32 count) {
    return atomicAdd((u32 *)shared_storage, count);
}
__device__ __forceinline__ u64 *tile_states(u64 *shared_storage) {
    return shared_storage + TILE_HEAD_WORDS;
}

// Zeroes `count` words with the whole grid: the body of a kernel that is launched before the scan,
// which then may start early (dependent launch) and must wait_for_previous before its first ticket.
__device__ __forceinline__ void clear_words(u64 *words, u64 count) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (u64)gridDim.x * blockDim.x)
        words[i] = 0;
}

// --- tile states ---------------------------------------------------------------------------------
// TILE_TOTAL: the value is of this tile alone; TILE_PREFIX: of all tiles up to and with this one.
enum tile_status { TILE_EMPTY, TILE_TOTAL, TILE_PREFIX };

// Two words, loaded and stored at once but atomic one by one.
#ifdef SIMTUNE_EMULATED
inline void load_relaxed_pair(const u64 *from, u64 &first, u64 &second) {
    first = simtune_emu_load_relaxed(from);
    second = simtune_emu_load_relaxed(from + 1);
}
inline void store_relaxed_pair(u64 *to, u64 first, u64 second) {
    simtune_emu_store_relaxed(to, first);
    simtune_emu_store_relaxed(to + 1, second);
}
#else
__device__ __forceinline__ void load_relaxed_pair(const u64 *from, u64 &first, u64 &second) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(first), "=l"(second)
                 : "l"(from)
                 : "memory");
}
__device__ __forceinline__ void store_relaxed_pair(u64 *to, u64 first, u64 second) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second)
                 : "memory");
}
#endif

// A 4-byte value shares a word with its status. An 8-byte value is two halves, each in a word with
// the status: halves of different status are halves of different values, and are read again. (Each
// status is put once, so halves of one status belong together.) States are aligned to 16 bytes.
template <class A, int BYTES = (int)sizeof(A)> struct tile_state {
    typedef A value;
    static const int WORDS = 1;
    static __device__ __forceinline__ void put(u64 *states, u64 tile, u32 status, A what) {
        store_relaxed(states + tile, (u64)status << 32 | bits_of(what));
    }
    static __device__ __forceinline__ u32 get(const u64 *states, u64 tile, A &what) {
        const u64 word = load_relaxed(states + tile);
        what = bit_cast<A>((u32)word);
        return (u32)(word >> 32);
    }
};
template <class A> struct tile_state<A, 8> {
    typedef A value;
    static const int WORDS = 2;
    static __device__ __forceinline__ void put(u64 *states, u64 tile, u32 status, A what) {
        const u64 bits = bits_of(what), mark = (u64)status << 32;
        store_relaxed_pair(states + 2 * tile, mark | (u32)bits, mark | bits >> 32);
    }
    static __device__ __forceinline__ u32 get(const u64 *states, u64 tile, A &what) {
        u64 low, high;
        load_relaxed_pair(states + 2 * tile, low, high);
        what = bit_cast<A>((u64)(u32)low | high << 32);
        return low >> 32 == high >> 32 ? (u32)(low >> 32) : (u32)TILE_EMPTY;
    }
};

// Counts below 2^62 in one word.
struct tile_count_state {
    typedef u64 value;
    static const int WORDS = 1;
    static __device__ __forceinline__ void put(u64 *states, u64 tile, u32 status, u64 what) {
        store_relaxed(states + tile, (u64)status << 62 | what);
    }
    static __device__ __forceinline__ u32 get(const u64 *states, u64 tile, u64 &what) {
        const u64 word = load_relaxed(states + tile);
        what = word & 0x3fffffffffffffffull;
        return (u32)(word >> 62);
    }
};

// Between two looks at what another block writes: nanoseconds to sleep, 0: none.
#ifdef SIMTUNE_EMULATED
inline void wait_a_moment(u32) {
    simtune_emu_yield();
}
#else
__device__ __forceinline__ void wait_a_moment(u32 pause) {
    if (pause)
        __nanosleep(pause);
}
#endif

// All tiles before `tile`, combined. Called by one whole warp; every lane gets the value. 32 tiles
// are looked at together, from the nearest on; what lies behind the nearest prefix does not matter.
// pause: nanoseconds to sleep before looking again, 0: none.
template <class STATE, class OP>
__device__ __forceinline__ typename STATE::value look_back(const u64 *states, u64 tile, u32 pause) {
    typedef typename STATE::value A;
    const u32 lane = threadIdx.x % 32;
    A sum = OP::identity();
    for (u64 end = tile; end > 0; end -= 32) {
        A value;
        u32 prefixes, wanted;
        for (;;) {
            u32 status = TILE_PREFIX; // of nothing, before tile 0
            value = OP::identity();
            if (lane < end)
                status = STATE::get(states, end - 1 - lane, value);
            prefixes = __ballot_sync(0xffffffffu, status == TILE_PREFIX);
            // The lanes up to the nearest prefix, or all.
            wanted = prefixes ? prefixes ^ (prefixes - 1) : 0xffffffffu;
            if ((__ballot_sync(0xffffffffu, status == TILE_EMPTY) & wanted) == 0)
                break;
            wait_a_moment(pause);
        }
        if (!(wanted >> lane & 1u))
            value = OP::identity();
        sum = OP::combine(combine_lanes<OP>(value), sum);
        if (prefixes)
            break;
    }
    return sum;
}

// The totals of tiles first … end - 1, combined. Called by one whole warp; every lane gets the value.
// For a block that knows what lies before its own last tile: between that and its next one lie about
// as many tiles as there are blocks, asked for at once, and nobody's prefix is waited for.
template <class STATE, class OP>
__device__ __forceinline__ typename STATE::value totals_between(const u64 *states, u64 first, u64 end,
                                                                u32 pause) {
    typedef typename STATE::value A;
    const int AT_ONCE = 8;
    const u32 lane = threadIdx.x % 32;
    A sum = OP::identity();
    for (u64 base = first; base < end; base += 32 * AT_ONCE) {
        u32 missing = 0; // bit j: tile base + 32 j + lane
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            if (base + 32 * j + lane < end)
                missing |= 1u << j;
        while (missing) {
            A value[AT_ONCE];
            u32 there = 0;
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                if ((missing >> j & 1u) &&
                    STATE::get(states, base + 32 * j + lane, value[j]) != TILE_EMPTY)
                    there |= 1u << j;
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                if (there >> j & 1u)
                    sum = OP::combine(sum, value[j]);
            missing ^= there;
            if (missing)
                wait_a_moment(pause);
        }
    }
    __syncwarp();
    return combine_lanes<OP>(sum);
}

// This thread's share of all tiles before `tile`, of which each is looked at by one thread and none
// needs to know its prefix: no chain. The caller combines the shares of its threads.
template <class STATE, class OP>
__device__ __forceinline__ typename STATE::value predecessors(const u64 *states, u64 tile,
                                                              u32 thread, u32 threads) {
    typedef typename STATE::value A;
    A sum = OP::identity();
    for (u64 i = thread; i < tile; i += threads) {
        A value;
        while (STATE::get(states, i, value) == TILE_EMPTY)
            wait_a_moment(0);
        sum = OP::combine(sum, value);
    }
    return sum;
}

// --- copies that run beside the threads ----------------------------------------------------------
// bulk: one instruction a tile, counted by an mbarrier (sm_90); async: 16 bytes a thread (sm_80);
// plain: loads and stores.
enum copy_word { COPY_bulk, COPY_async, COPY_plain };

// What this architecture can do of it.
template <int COPY> struct copy_form {
#if defined(SIMTUNE_EMULATED) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)
    static const int FORM = COPY;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    static const int FORM = COPY == COPY_bulk ? (int)COPY_async : COPY;
#else
    static const int FORM = COPY_plain;
#endif
};

// A block's dynamic shared memory, aligned to 128 bytes.
__device__ __forceinline__ char *dynamic_shared() {
    extern __shared__ __align__(128) char simtune_dynamic_shared[];
    return simtune_dynamic_shared;
}

#ifdef SIMTUNE_EMULATED
inline void mbarrier_open(u64 *box, u32 arrivals) {
    simtune_emu_mbarrier_init(box, arrivals);
}
inline void mbarrier_arrive_expect(u64 *box, u32 bytes) {
    simtune_emu_mbarrier_arrive_expect(box, bytes);
}
inline void mbarrier_arrive(u64 *box) {
    simtune_emu_mbarrier_arrive(box);
}
inline void mbarrier_wait(u64 *box, u32 parity) {
    while (!simtune_emu_mbarrier_test(box, parity)) {
    }
}
inline void bulk_copy(void *to, const void *from, u32 bytes, u64 *box) {
    simtune_emu_bulk_copy(to, from, bytes, box);
}
inline void order_before_bulk_copies() {}
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// One thread opens it; then a barrier of the block.
__device__ __forceinline__ void mbarrier_open(u64 *box, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\t"
                 "fence.mbarrier_init.release.cluster;" ::"r"((u32)__cvta_generic_to_shared(box)),
                 "r"(arrivals)
                 : "memory");
}
__device__ __forceinline__ void mbarrier_arrive_expect(u64 *box, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     (u32)__cvta_generic_to_shared(box)),
                 "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void mbarrier_arrive(u64 *box) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(
                     (u32)__cvta_generic_to_shared(box))
                 : "memory");
}
// Until the phase of that parity is complete.
__device__ __forceinline__ void mbarrier_wait(u64 *box, u32 parity) {
    u32 done;
    do
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"((u32)__cvta_generic_to_shared(box)), "r"(parity)
                     : "memory");
    while (!done);
}
// Addresses and size are multiples of 16.
__device__ __forceinline__ void bulk_copy(void *to, const void *from, u32 bytes, u64 *box) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"((u32)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(bytes), "r"((u32)__cvta_generic_to_shared(box))
                 : "memory");
}
// What this thread wrote to shared memory is written before later bulk copies write there.
__device__ __forceinline__ void order_before_bulk_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
#else
__device__ __forceinline__ void mbarrier_open(u64 *, u32) {}
__device__ __forceinline__ void mbarrier_arrive_expect(u64 *, u32) {}
__device__ __forceinline__ void mbarrier_arrive(u64 *) {}
__device__ __forceinline__ void mbarrier_wait(u64 *, u32) {}
__device__ __forceinline__ void bulk_copy(void *, const void *, u32, u64 *) {}
__device__ __forceinline__ void order_before_bulk_copies() {}
#endif

#ifdef SIMTUNE_EMULATED
inline void async_copy_16(void *to, const void *from) {
    simtune_emu_async_copy(to, from, 16);
}
inline void async_commit() {
    simtune_emu_async_commit();
}
template <int LEFT> inline void async_wait() {
    simtune_emu_async_wait(LEFT);
}
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ void async_copy_16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     (u32)__cvta_generic_to_shared(to)),
                 "l"(from)
                 : "memory");
}
__device__ __forceinline__ void async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
// Until at most LEFT of this thread's groups are under way.
template <int LEFT> __device__ __forceinline__ void async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}
#else
__device__ __forceinline__ void async_copy_16(void *, const void *) {}
__device__ __forceinline__ void async_commit() {}
template <int LEFT> __device__ __forceinline__ void async_wait() {}
#endif

// Asks L2 for [from, from + bytes), but for the ends that share 16 bytes with something else. By one
// thread (sm_90; elsewhere nothing).
#if !defined(SIMTUNE_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ __forceinline__ void prefetch_bytes(const void *from, u32 bytes) {
    const u32 head = (0u - (u32)(u64)from) % 16;
    if (bytes >= head + 16)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"((const char *)from + head),
                     "r"((bytes - head) / 16 * 16));
}
#else
__device__ __forceinline__ void prefetch_bytes(const void *, u32) {}
#endif

// --- a ring of tiles in shared memory ------------------------------------------------------------
// Turn t (0, 1, …) of a block uses slot t % STAGES. A turn is: copy, any number of times; commit;
// later wait. All threads of the block call all of them, in the same order of turns.
//  - What a copy brings stands at `to`, which must agree with `from` modulo 16 (see shared_place).
//  - bulk: warp 0 alone works in copy and commit, and only its arguments matter. Otherwise all
//    threads need the right arguments.
//  - wait<LEFT>: LEFT is the number of turns that are committed after the one that is waited for.
//    After it every thread may read what was copied.
//  - Between the last reading of a slot and the copy into it the caller puts a barrier of the block.
//    Threads that write into a slot call order_before_bulk_copies before that barrier.
template <int COPY, int STAGES, int THREADS> struct tile_ring {
    static const int FORM = copy_form<COPY>::FORM;
    u64 *full;    // STAGES words of shared memory
    u32 expected; // bytes of this turn's bulk copies

    // `barriers`: STAGES words of shared memory. Has a barrier of the block.
    __device__ __forceinline__ void open(u64 *barriers) {
        full = barriers;
        expected = 0;
        if (FORM == COPY_bulk) {
            if (threadIdx.x == 0)
                for (int i = 0; i < STAGES; i++)
                    mbarrier_open(full + i, 1);
            __syncthreads();
        }
    }

    // Ends that are no whole 16 bytes, and what no copy unit moves, go element by element.
    template <class T>
    __device__ __forceinline__ void copy(int turn, T *to, const T *from, u32 count) {
        if (FORM == COPY_bulk && threadIdx.x >= 32)
            return;
        const u32 stride = FORM == COPY_bulk ? 32 : THREADS;
        u32 head = (0u - (u32)(u64)from) % 16 / (u32)sizeof(T);
        head = head < count ? head : count;
        const u32 body = (count - head) * (u32)sizeof(T) / 16 * 16; // bytes
        const u32 after = head + body / (u32)sizeof(T);             // first element after it
        if (FORM == COPY_bulk) {
            if (body && threadIdx.x == 0)
                bulk_copy(to + head, from + head, body, full + turn % STAGES);
            expected += body;
        } else {
            const char *source = (const char *)(from + head);
            char *target = (char *)(to + head);
            for (u32 i = threadIdx.x * 16; i < body; i += THREADS * 16) {
                if (FORM == COPY_async) {
                    async_copy_16(target + i, source + i);
                } else {
                    packet<16> piece;
                    loader<LOAD_plain>::load(piece, source + i);
                    store_shared(target + i, piece);
                }
            }
        }
        if (head + (count - after) > 0) {
            for (u32 i = threadIdx.x; i < head; i += stride)
                to[i] = from[i];
            for (u32 i = after + threadIdx.x; i < count; i += stride)
                to[i] = from[i];
            if (FORM == COPY_bulk)
                order_before_bulk_copies();
        }
    }

    // For blocks whose warps have roles: the calling warp alone loads, whichever it is. Copies one
    // stream; returns the bytes that are to be expected at `barrier` (lane 0 arrives, after __syncwarp).
    template <class T>
    static __device__ __forceinline__ u32 copy_by_warp(u64 *barrier, T *to, const T *from,
                                                       u32 count) {
        const u32 lane = threadIdx.x % 32;
        u32 head = (0u - (u32)(u64)from) % 16 / (u32)sizeof(T);
        head = head < count ? head : count;
        const u32 body = (count - head) * (u32)sizeof(T) / 16 * 16;
        const u32 after = head + body / (u32)sizeof(T);
        if (body && lane == 0)
            bulk_copy(to + head, from + head, body, barrier);
        if (head + (count - after) > 0) {
            if (lane < head)
                to[lane] = from[lane];
            if (after + lane < count)
                to[after + lane] = from[after + lane];
            order_before_bulk_copies();
        }
        return body;
    }

    __device__ __forceinline__ void commit(int turn) {
        if (FORM == COPY_bulk && threadIdx.x < 32) {
            __syncwarp();
            if (threadIdx.x == 0)
                mbarrier_arrive_expect(full + turn % STAGES, expected);
            expected = 0;
        }
        if (FORM == COPY_async)
            async_commit();
    }

    template <int LEFT> __device__ __forceinline__ void wait(int turn) {
        if (FORM == COPY_bulk) {
            mbarrier_wait(full + turn % STAGES, (u32)(turn / STAGES) & 1u);
        } else {
            if (FORM == COPY_async)
                async_wait<LEFT>();
            __syncthreads();
        }
    }
};

// Where in a slot that is aligned to 16 bytes the copy of `from` begins.
template <class T> __device__ __forceinline__ T *shared_place(char *slot, const T *from) {
    return (T *)(slot + (u64)from % 16);
}

} // namespace simtune

#endif // SIMTUNE_TILES_CUH
