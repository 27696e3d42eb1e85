// SPDX-License-Identifier: Apache-2.0
// Device code that the families share, and the only place where inline PTX stands. Each piece names
// the architecture that it needs, has a fallback for older ones, and a plain body for the emulated
// device (SIMTUNE_EMULATED), which compiles the same source with the host's compiler.
//
// Promises:
//  1. C++11, no include, no macro left defined at the end: NVRTC reads it in a few milliseconds, and
//     a generated header can hold it in a namespace of its own.
//  2. Operations are total and do not depend on the order of their operands: integers wrap, a NaN
//     among the operands of min or max gives a NaN, -0 is less than +0. (A sum of floats depends on
//     its grouping.)
//  3. Accumulators of 16-bit floats are float32; conversions round to nearest even.
//  4. Loads with an operation (nc, no_allocate …) are for memory that the kernel does not write.
#ifndef SIMTUNE_DEVICE_CUH
#define SIMTUNE_DEVICE_CUH

namespace simtune {

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// --- bits ----------------------------------------------------------------------------------------
// A value's bits as an unsigned integer of its size, and back.
template <int BYTES> struct unsigned_of;
template <> struct unsigned_of<2> { typedef u16 type; };
template <> struct unsigned_of<4> { typedef u32 type; };
template <> struct unsigned_of<8> { typedef u64 type; };

template <class To, class From> __device__ __forceinline__ To bit_cast(From value) {
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    union {
        From from;
        To to;
    } both;
    both.from = value;
    return both.to;
}

template <class T>
__device__ __forceinline__ typename unsigned_of<sizeof(T)>::type bits_of(T value) {
    return bit_cast<typename unsigned_of<sizeof(T)>::type>(value);
}

// --- element types -------------------------------------------------------------------------------
// Storage of 16-bit floats, laid out as __half and __nv_bfloat16 are.
struct simtune_half {
    u16 bits;
};
struct simtune_bfloat16 {
    u16 bits;
};

#ifdef SIMTUNE_EMULATED
inline float half_to_float(u16 half) {
    const u32 sign = (u32)(half & 0x8000u) << 16, size = half & 0x7fffu;
    if (size >= 0x7c00u) // infinity and NaN
        return bit_cast<float>(sign | 0x7f800000u | ((size & 0x3ffu) << 13));
    if (size >= 0x400u)
        return bit_cast<float>(sign | ((size << 13) + 0x38000000u));
    const float subnormal = (float)size / 16777216.0f; // size * 2^-24, exact
    return bit_cast<float>(sign | bit_cast<u32>(subnormal));
}

inline u16 float_to_half(float value) {
    const u32 bits = bit_cast<u32>(value), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u)
        return (u16)0x7fffu;
    if (size >= 0x47800000u) // 65536 and more
        return (u16)(sign | 0x7c00u);
    if (size < 0x38800000u) // subnormal: the addition rounds at the place of 2^-24
        return (u16)(sign | (bit_cast<u32>(bit_cast<float>(size) + 0.5f) - bit_cast<u32>(0.5f)));
    return (u16)(sign | ((size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13));
}
#else
__device__ __forceinline__ float half_to_float(u16 half) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

__device__ __forceinline__ u16 float_to_half(float value) {
    u16 half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}
#endif

__device__ __forceinline__ u16 float_to_bfloat16(float value) {
    const u32 bits = bit_cast<u32>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (u16)0x7fffu;
    return (u16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// What a family needs of an element type: the type that it accumulates in, and the ways there and
// back.
template <class T> struct element {
    typedef T accumulator;
    static __device__ __forceinline__ T widen(T value) {
        return value;
    }
    static __device__ __forceinline__ T narrow(T value) {
        return value;
    }
};
template <> struct element<simtune_half> {
    typedef float accumulator;
    static __device__ __forceinline__ float widen(simtune_half value) {
        return half_to_float(value.bits);
    }
    static __device__ __forceinline__ simtune_half narrow(float value) {
        simtune_half result;
        result.bits = float_to_half(value);
        return result;
    }
};
template <> struct element<simtune_bfloat16> {
    typedef float accumulator;
    static __device__ __forceinline__ float widen(simtune_bfloat16 value) {
        return bit_cast<float>((u32)value.bits << 16);
    }
    static __device__ __forceinline__ simtune_bfloat16 narrow(float value) {
        simtune_bfloat16 result;
        result.bits = float_to_bfloat16(value);
        return result;
    }
};

template <class A> struct is_integer { static const bool value = false; };
template <> struct is_integer<int> { static const bool value = true; };
template <> struct is_integer<u32> { static const bool value = true; };
template <> struct is_integer<long long> { static const bool value = true; };
template <> struct is_integer<u64> { static const bool value = true; };

// Least and greatest value; of floats the infinities, so that all-infinite input is right.
template <class A> struct limits;
template <> struct limits<int> {
    static __device__ __forceinline__ int least() {
        return -2147483647 - 1;
    }
    static __device__ __forceinline__ int greatest() {
        return 2147483647;
    }
};
template <> struct limits<u32> {
    static __device__ __forceinline__ u32 least() {
        return 0u;
    }
    static __device__ __forceinline__ u32 greatest() {
        return 0xffffffffu;
    }
};
template <> struct limits<long long> {
    static __device__ __forceinline__ long long least() {
        return -9223372036854775807ll - 1;
    }
    static __device__ __forceinline__ long long greatest() {
        return 9223372036854775807ll;
    }
};
template <> struct limits<u64> {
    static __device__ __forceinline__ u64 least() {
        return 0ull;
    }
    static __device__ __forceinline__ u64 greatest() {
        return 0xffffffffffffffffull;
    }
};
template <> struct limits<float> {
    static __device__ __forceinline__ float least() {
        return bit_cast<float>(0xff800000u);
    }
    static __device__ __forceinline__ float greatest() {
        return bit_cast<float>(0x7f800000u);
    }
};
template <> struct limits<double> {
    static __device__ __forceinline__ double least() {
        return bit_cast<double>(0xfff0000000000000ull);
    }
    static __device__ __forceinline__ double greatest() {
        return bit_cast<double>(0x7ff0000000000000ull);
    }
};

// --- operations ----------------------------------------------------------------------------------
enum operation_word { op_sum, op_min, op_max };

// Integers compare plainly. Of floats: equal ones are the same number or zeros of two signs, where
// OR of the bits gives -0 and AND gives +0; what does not compare holds a NaN, which the sum passes
// on.
template <class A, bool INTEGER = is_integer<A>::value> struct order {
    static __device__ __forceinline__ A least(A a, A b) {
        return b < a ? b : a;
    }
    static __device__ __forceinline__ A greatest(A a, A b) {
        return a < b ? b : a;
    }
};
template <class A> struct order<A, false> {
    static __device__ __forceinline__ A least(A a, A b) {
        return a < b ? a : b < a ? b : a == b ? bit_cast<A>(bits_of(a) | bits_of(b)) : a + b;
    }
    static __device__ __forceinline__ A greatest(A a, A b) {
        return a < b ? b : b < a ? a : a == b ? bit_cast<A>(bits_of(a) & bits_of(b)) : a + b;
    }
};
#if !defined(SIMTUNE_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <> struct order<float, false> {
    static __device__ __forceinline__ float least(float a, float b) {
        asm("min.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
        return a;
    }
    static __device__ __forceinline__ float greatest(float a, float b) {
        asm("max.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
        return a;
    }
};
#endif

// Sums of signed integers wrap: they are added as unsigned ones.
template <class A, bool INTEGER = is_integer<A>::value> struct adder {
    static __device__ __forceinline__ A add(A a, A b) {
        return bit_cast<A>(bits_of(a) + bits_of(b));
    }
};
template <class A> struct adder<A, false> {
    static __device__ __forceinline__ A add(A a, A b) {
        return a + b;
    }
};

// identity() changes nothing; combine() is the operation.
template <int OPERATION, class A> struct operation;
template <class A> struct operation<op_sum, A> {
    static __device__ __forceinline__ A identity() {
        return A(0);
    }
    static __device__ __forceinline__ A combine(A a, A b) {
        return adder<A>::add(a, b);
    }
};
template <class A> struct operation<op_min, A> {
    static __device__ __forceinline__ A identity() {
        return limits<A>::greatest();
    }
    static __device__ __forceinline__ A combine(A a, A b) {
        return order<A>::least(a, b);
    }
};
template <class A> struct operation<op_max, A> {
    static __device__ __forceinline__ A identity() {
        return limits<A>::least();
    }
    static __device__ __forceinline__ A combine(A a, A b) {
        return order<A>::greatest(a, b);
    }
};

// --- vector loads --------------------------------------------------------------------------------
// What one load brings: 2, 4, 8 or 16 bytes.
template <int BYTES> struct packet { u32 word[BYTES / 4]; };
template <> struct packet<2> { u16 half; };

// Element `index` of a packet (a constant after unrolling, so nothing is indexed at run time).
template <class T, int SIZE = sizeof(T)> struct unpack;
template <class T> struct unpack<T, 2> {
    static __device__ __forceinline__ T get(const packet<2> &from, int) {
        return bit_cast<T>(from.half);
    }
    template <int BYTES>
    static __device__ __forceinline__ T get(const packet<BYTES> &from, int index) {
        const u32 word = from.word[index / 2];
        return bit_cast<T>((u16)(index % 2 ? word >> 16 : word & 0xffffu));
    }
};
template <class T> struct unpack<T, 4> {
    template <int BYTES>
    static __device__ __forceinline__ T get(const packet<BYTES> &from, int index) {
        return bit_cast<T>(from.word[index]);
    }
};
template <class T> struct unpack<T, 8> {
    template <int BYTES>
    static __device__ __forceinline__ T get(const packet<BYTES> &from, int index) {
        return bit_cast<T>((u64)from.word[2 * index] | (u64)from.word[2 * index + 1] << 32);
    }
};

// plain: through L1 as the hardware likes; nc: non-coherent; cg: past L1; no_allocate and
// evict_first: leave L1 to others; prefetch_N: L2 takes N bytes around the address (N = 256 needs
// sm_80, there 128 before).
enum load_word {
    LOAD_plain,
    LOAD_nc,
    LOAD_cg,
    LOAD_no_allocate,
    LOAD_evict_first,
    LOAD_l2_64,
    LOAD_l2_128,
    LOAD_l2_256
};

#ifdef SIMTUNE_EMULATED
template <int LOAD> struct loader {
    static inline void load(packet<2> &to, const void *from) {
        to.half = *(const u16 *)from;
    }
    template <int BYTES> static inline void load(packet<BYTES> &to, const void *from) {
        if ((u64)from % BYTES != 0)
            __trap(); // as the device: a load must be aligned to its size
        for (int i = 0; i < BYTES / 4; i++)
            to.word[i] = ((const u32 *)from)[i];
    }
};
#else
template <int LOAD> struct loader;
#define SIMTUNE_LOADER(WORD, MODIFIERS)                                                            \
    template <> struct loader<WORD> {                                                              \
        static __device__ __forceinline__ void load(packet<2> &to, const void *from) {             \
            asm volatile("ld.global" MODIFIERS ".u16 %0, [%1];" : "=h"(to.half) : "l"(from));      \
        }                                                                                          \
        static __device__ __forceinline__ void load(packet<4> &to, const void *from) {             \
            asm volatile("ld.global" MODIFIERS ".u32 %0, [%1];" : "=r"(to.word[0]) : "l"(from));   \
        }                                                                                          \
        static __device__ __forceinline__ void load(packet<8> &to, const void *from) {             \
            asm volatile("ld.global" MODIFIERS ".v2.u32 {%0, %1}, [%2];"                           \
                         : "=r"(to.word[0]), "=r"(to.word[1])                                      \
                         : "l"(from));                                                             \
        }                                                                                          \
        static __device__ __forceinline__ void load(packet<16> &to, const void *from) {            \
            asm volatile("ld.global" MODIFIERS ".v4.u32 {%0, %1, %2, %3}, [%4];"                   \
                         : "=r"(to.word[0]), "=r"(to.word[1]), "=r"(to.word[2]), "=r"(to.word[3])  \
                         : "l"(from));                                                             \
        }                                                                                          \
    };
SIMTUNE_LOADER(LOAD_plain, "")
SIMTUNE_LOADER(LOAD_nc, ".nc")
SIMTUNE_LOADER(LOAD_cg, ".cg")
SIMTUNE_LOADER(LOAD_no_allocate, ".nc.L1::no_allocate")
SIMTUNE_LOADER(LOAD_evict_first, ".nc.L1::evict_first")
SIMTUNE_LOADER(LOAD_l2_64, ".nc.L2::64B")
SIMTUNE_LOADER(LOAD_l2_128, ".nc.L2::128B")
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
SIMTUNE_LOADER(LOAD_l2_256, ".nc.L2::256B")
#else
SIMTUNE_LOADER(LOAD_l2_256, ".nc.L2::128B")
#endif
#undef SIMTUNE_LOADER
#endif

// --- memory that blocks share --------------------------------------------------------------------
// Device scope, 4 and 8 bytes. The relaxed pair is atomic and never served by a stale L1 line.
#ifdef SIMTUNE_EMULATED
template <class W> inline W load_relaxed(const W *from) {
    return simtune_emu_load_relaxed(from);
}
template <class W> inline W load_acquire(const W *from) {
    return simtune_emu_load_ordered(from);
}
template <class W> inline void store_relaxed(W *to, W word) {
    simtune_emu_store_relaxed(to, word);
}
template <class W> inline void store_release(W *to, W word) {
    simtune_emu_store_ordered(to, word);
}
inline u32 add_acquire_release(u32 *to, u32 word) {
    return simtune_emu_add_ordered(to, word);
}
#else
#define SIMTUNE_SHARED_WORD(W, SUFFIX, R)                                                          \
    __device__ __forceinline__ W load_relaxed(const W *from) {                                     \
        W word;                                                                                    \
        asm volatile("ld.relaxed.gpu.global." SUFFIX " %0, [%1];"                                  \
                     : "=" R(word)                                                                 \
                     : "l"(from)                                                                   \
                     : "memory");                                                                  \
        return word;                                                                               \
    }                                                                                              \
    __device__ __forceinline__ W load_acquire(const W *from) {                                     \
        W word;                                                                                    \
        asm volatile("ld.acquire.gpu.global." SUFFIX " %0, [%1];"                                  \
                     : "=" R(word)                                                                 \
                     : "l"(from)                                                                   \
                     : "memory");                                                                  \
        return word;                                                                               \
    }                                                                                              \
    __device__ __forceinline__ void store_relaxed(W *to, W word) {                                 \
        asm volatile("st.relaxed.gpu.global." SUFFIX " [%0], %1;" ::"l"(to), R(word) : "memory");  \
    }                                                                                              \
    __device__ __forceinline__ void store_release(W *to, W word) {                                 \
        asm volatile("st.release.gpu.global." SUFFIX " [%0], %1;" ::"l"(to), R(word) : "memory");  \
    }
SIMTUNE_SHARED_WORD(u32, "u32", "r")
SIMTUNE_SHARED_WORD(u64, "u64", "l")
#undef SIMTUNE_SHARED_WORD

// What this thread wrote before, and all that it had seen, is visible to whoever adds after it.
__device__ __forceinline__ u32 add_acquire_release(u32 *to, u32 word) {
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(to), "r"(word)
                 : "memory");
    return before;
}
#endif

// Partial results of any 4- or 8-byte type.
template <class A> __device__ __forceinline__ A load_value(const A *from) {
    typedef typename unsigned_of<sizeof(A)>::type word;
    return bit_cast<A>(load_relaxed((const word *)from));
}
template <class A> __device__ __forceinline__ void store_value(A *to, A value) {
    typedef typename unsigned_of<sizeof(A)>::type word;
    store_relaxed((word *)to, bits_of(value));
}

// Asks L2 for the line, and so for the translation of its address. Reads nothing.
#ifdef SIMTUNE_EMULATED
inline void prefetch(const void *) {}
#else
__device__ __forceinline__ void prefetch(const void *address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}
#endif

// Atomic combine on a slot that memset has zeroed: the slot holds a value's bits XOR those of the
// identity, so zero means "nothing yet". For integers that code keeps the order (reversed for min):
// the hardware's unsigned max serves both. Floats have no such instruction and take turns by
// compare and swap. Relaxed.
template <int OPERATION, class A, bool INTEGER = is_integer<A>::value> struct atomic {
    typedef typename unsigned_of<sizeof(A)>::type word;
    static __device__ __forceinline__ word identity_bits() {
        return bits_of(operation<OPERATION, A>::identity());
    }
    static __device__ __forceinline__ void combine(word *slot, A value) {
        word seen = load_relaxed(slot);
        for (;;) {
            const A before = decode(seen);
            const word wanted =
                bits_of(operation<OPERATION, A>::combine(before, value)) ^ identity_bits();
            if (wanted == seen)
                return;
            const word found = atomicCAS(slot, seen, wanted);
            if (found == seen)
                return;
            seen = found;
        }
    }
    static __device__ __forceinline__ A decode(word stored) {
        return bit_cast<A>((word)(stored ^ identity_bits()));
    }
};
template <int OPERATION, class A> struct atomic<OPERATION, A, true> {
    typedef typename unsigned_of<sizeof(A)>::type word;
    static __device__ __forceinline__ void combine(word *slot, A value) {
        atomicMax(slot, (word)(bits_of(value) ^ bits_of(operation<OPERATION, A>::identity())));
    }
    static __device__ __forceinline__ A decode(word stored) {
        return bit_cast<A>((word)(stored ^ bits_of(operation<OPERATION, A>::identity())));
    }
};
template <class A> struct atomic<op_sum, A, true> {
    typedef typename unsigned_of<sizeof(A)>::type word;
    static __device__ __forceinline__ void combine(word *slot, A value) {
        atomicAdd(slot, bits_of(value));
    }
    static __device__ __forceinline__ A decode(word stored) {
        return bit_cast<A>(stored);
    }
};
template <class A> struct atomic<op_sum, A, false> {
    typedef typename unsigned_of<sizeof(A)>::type word;
    static __device__ __forceinline__ void combine(word *slot, A value) {
        atomicAdd((A *)slot, value);
    }
    static __device__ __forceinline__ A decode(word stored) {
        return bit_cast<A>(stored);
    }
};

// --- warps ---------------------------------------------------------------------------------------
// The value of the lane whose number differs in the bits of `mask`. All lanes take part.
template <class A> __device__ __forceinline__ A shuffle_xor(A value, int mask) {
    return bit_cast<A>(__shfl_xor_sync(0xffffffffu, bits_of(value), mask));
}
template <class A> __device__ __forceinline__ A shuffle_down(A value, int distance) {
    return bit_cast<A>(__shfl_down_sync(0xffffffffu, bits_of(value), distance));
}

// All lanes reduced by one instruction (32-bit integers, sm_80); others by shuffles.
template <int OPERATION, class A> struct warp_instruction {
    static __device__ __forceinline__ A reduce(A value) {
        for (int mask = 16; mask > 0; mask /= 2)
            value = operation<OPERATION, A>::combine(value, shuffle_xor(value, mask));
        return value;
    }
};
#if defined(SIMTUNE_EMULATED) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
#define SIMTUNE_REDUX(OPERATION, A, INSTRUCTION)                                                   \
    template <> struct warp_instruction<OPERATION, A> {                                            \
        static __device__ __forceinline__ A reduce(A value) {                                      \
            return INSTRUCTION(0xffffffffu, value);                                                \
        }                                                                                          \
    };
SIMTUNE_REDUX(op_sum, int, __reduce_add_sync)
SIMTUNE_REDUX(op_min, int, __reduce_min_sync)
SIMTUNE_REDUX(op_max, int, __reduce_max_sync)
SIMTUNE_REDUX(op_sum, u32, __reduce_add_sync)
SIMTUNE_REDUX(op_min, u32, __reduce_min_sync)
SIMTUNE_REDUX(op_max, u32, __reduce_max_sync)
#undef SIMTUNE_REDUX
#endif

// --- clusters (sm_90) ----------------------------------------------------------------------------
// Elsewhere a cluster is one block: rank 0, its own shared memory, the block's barrier.
#ifdef SIMTUNE_EMULATED
inline u32 cluster_rank() {
    return simtune_emu_cluster_rank();
}
inline void cluster_arrive_running() {
    simtune_emu_cluster_arrive_relaxed();
}
inline void cluster_wait_running() {
    simtune_emu_cluster_wait();
}
inline void cluster_barrier() {
    simtune_emu_cluster_barrier();
}
template <class A> inline void cluster_store(A *here, u32 rank, A value) {
    *simtune_emu_cluster_shared(here, rank) = value;
}
// The low word counts the bytes that have come.
inline void mailbox_open(u64 *box) {
    *(u32 *)box = 0;
}
inline void mailbox_expect(u64 *, u32) {}
inline void cluster_arrive_open() {
    simtune_emu_cluster_arrive();
}
template <class A> inline void mailbox_send(A *here, u64 *box, u32 rank, A value) {
    *simtune_emu_cluster_shared(here, rank) = value;
    simtune_emu_add_ordered((u32 *)simtune_emu_cluster_shared(box, rank), (u32)sizeof(A));
}
inline void mailbox_wait(u64 *box, u32 bytes) {
    while (simtune_emu_load_ordered((const u32 *)box) != bytes)
        simtune_emu_yield();
}
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ __forceinline__ u32 cluster_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Says that this block runs, so that others may touch its shared memory: one arrive, then one wait,
// in every thread. Orders no memory.
__device__ __forceinline__ void cluster_arrive_running() {
    asm volatile("barrier.cluster.arrive.relaxed;");
}
__device__ __forceinline__ void cluster_wait_running() {
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

// Barrier of all threads of the cluster; what was written before it is visible after it.
__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

// Writes `value` to the variable at `here`'s place in the shared memory of block `rank`.
template <class A> __device__ __forceinline__ void cluster_store(A *here, u32 rank, A value) {
    const u32 local = (u32)__cvta_generic_to_shared(here);
    u32 remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(local), "r"(rank));
    if (sizeof(A) == 4)
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote), "r"((u32)bits_of(value))
                     : "memory");
    else
        asm volatile("st.shared::cluster.u64 [%0], %1;" ::"r"(remote), "l"((u64)bits_of(value))
                     : "memory");
}

// A mailbox: the blocks of a cluster send values into the shared memory of one of them, where `box` counts the
// bytes. Only the receiver waits, and senders may end at once. One thread of the receiver opens it, then all
// threads of the cluster pass cluster_arrive_open and cluster_wait_running before the first is sent; then a
// thread of the receiver says how many bytes are expected, in whatever order with those that come.
__device__ __forceinline__ void mailbox_open(u64 *box) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
                 "fence.mbarrier_init.release.cluster;" ::"r"((u32)__cvta_generic_to_shared(box))
                 : "memory");
}
__device__ __forceinline__ void mailbox_expect(u64 *box, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     (u32)__cvta_generic_to_shared(box)),
                 "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void cluster_arrive_open() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
template <class A>
__device__ __forceinline__ void mailbox_send(A *here, u64 *box, u32 rank, A value) {
    u32 to, count;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(to)
                 : "r"((u32)__cvta_generic_to_shared(here)), "r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(count)
                 : "r"((u32)__cvta_generic_to_shared(box)), "r"(rank));
    if (sizeof(A) == 4)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to),
                     "r"((u32)bits_of(value)), "r"(count)
                     : "memory");
    else
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(to),
                     "l"((u64)bits_of(value)), "r"(count)
                     : "memory");
}
__device__ __forceinline__ void mailbox_wait(u64 *box, u32) {
    const u32 local = (u32)__cvta_generic_to_shared(box);
    u32 done;
    do
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(local)
                     : "memory");
    while (!done);
}
#else
__device__ __forceinline__ u32 cluster_rank() {
    return 0;
}
__device__ __forceinline__ void cluster_arrive_running() {}
__device__ __forceinline__ void cluster_wait_running() {}
__device__ __forceinline__ void cluster_barrier() {
    __syncthreads();
}
template <class A> __device__ __forceinline__ void cluster_store(A *here, u32, A value) {
    *here = value;
}
__device__ __forceinline__ void mailbox_open(u64 *) {}
__device__ __forceinline__ void mailbox_expect(u64 *, u32) {}
__device__ __forceinline__ void cluster_arrive_open() {}
template <class A>
__device__ __forceinline__ void mailbox_send(A *here, u64 *, u32, A value) {
    *here = value;
}
__device__ __forceinline__ void mailbox_wait(u64 *, u32) {}
#endif

// --- programmatic dependent launch (sm_90) -------------------------------------------------------
// allow: the next kernel of the stream may start now; it waits before it touches what this one
// writes.
#ifdef SIMTUNE_EMULATED
inline void allow_dependents() {
    simtune_emu_dependency_trigger();
}
inline void wait_for_previous() {
    simtune_emu_dependency_wait();
}
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ __forceinline__ void allow_dependents() {
    asm volatile("griddepcontrol.launch_dependents;");
}
__device__ __forceinline__ void wait_for_previous() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
#else
__device__ __forceinline__ void allow_dependents() {}
__device__ __forceinline__ void wait_for_previous() {}
#endif

} // namespace simtune

#endif // SIMTUNE_DEVICE_CUH
