// SPDX-License-Identifier: Apache-2.0
// Atomics and the loads and stores that have their own words.
#ifndef SIMTUNE_CUDA_MEMORY_H
#define SIMTUNE_CUDA_MEMORY_H

// How many atomics or ordered loads a thread makes before the others run: a loop that waits does
// little else, a loop that works does many atomics.
#define SIMTUNE_EMU_ATOMIC_LIMIT 16
#define SIMTUNE_EMU_LOAD_LIMIT 8

SIMTUNE_EMU_INLINE void simtune_emu_atomic(void) {
    simtune_emu_self->atomics++;
    simtune_emu_touch(SIMTUNE_EMU_ATOMIC_LIMIT);
}

// A read-modify-write: the threads are fibers, but a timer may switch them anywhere, so it is a
// real compare and swap. `bits` is the unsigned integer of the type's size.
template <class T, class Bits, int ORDER, class Change>
SIMTUNE_EMU_INLINE T simtune_emu_modify(T *at, Change change) {
    simtune_emu_atomic();
#if SIMTUNE_EMU_CHECKED
    Bits before = (Bits)simtune_emu_do->atomic_begin((void *)at, sizeof(T), ORDER, 0), after;
    T value;
    __builtin_memcpy(&value, &before, sizeof value);
    T changed = change(value);
    __builtin_memcpy(&after, &changed, sizeof after);
    simtune_emu_do->atomic_end((void *)at, sizeof(T), after);
    return value;
#else
    Bits seen = __atomic_load_n((Bits *)at, __ATOMIC_RELAXED), wanted;
    T old;
    do {
        __builtin_memcpy(&old, &seen, sizeof old);
        T next = change(old);
        __builtin_memcpy(&wanted, &next, sizeof wanted);
    } while (!__atomic_compare_exchange_n((Bits *)at, &seen, wanted, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return old;
#endif
}
// The scope of the atomic that follows: of a block, or wider.
SIMTUNE_EMU_INLINE void simtune_emu_scope(unsigned narrow) {
#if SIMTUNE_EMU_CHECKED
    simtune_emu_self->narrow = narrow;
#endif
    (void)narrow;
}

#define SIMTUNE_EMU_ATOMIC_ONE(word, narrow, type, bits, next)                                     \
    SIMTUNE_EMU_INLINE type word(type *at, type value) {                                           \
        simtune_emu_scope(narrow);                                                                 \
        return simtune_emu_modify<type, bits, SIMTUNE_EMU_RELAXED>(                                \
            at, [value](type old) -> type { return next; });                                       \
    }
// As CUDA: each also with _block and _system.
#define SIMTUNE_EMU_ATOMIC(word, type, bits, next)                                                 \
    SIMTUNE_EMU_ATOMIC_ONE(word, 0, type, bits, next)                                              \
    SIMTUNE_EMU_ATOMIC_ONE(word##_block, 1, type, bits, next)                                      \
    SIMTUNE_EMU_ATOMIC_ONE(word##_system, 0, type, bits, next)
#define SIMTUNE_EMU_ATOMIC_INTEGER(type, bits)                                                     \
    SIMTUNE_EMU_ATOMIC(atomicMin, type, bits, value < old ? value : old)                           \
    SIMTUNE_EMU_ATOMIC(atomicMax, type, bits, value > old ? value : old)                           \
    SIMTUNE_EMU_ATOMIC(atomicAnd, type, bits, (type)(old & value))                                 \
    SIMTUNE_EMU_ATOMIC(atomicOr, type, bits, (type)(old | value))                                  \
    SIMTUNE_EMU_ATOMIC(atomicXor, type, bits, (type)(old ^ value))                                 \
    SIMTUNE_EMU_ATOMIC_SWAP(type, bits)
#define SIMTUNE_EMU_ATOMIC_CAS(word, narrow, type, bits)                                           \
    SIMTUNE_EMU_INLINE type word(type *at, type compare, type value) {                             \
        simtune_emu_scope(narrow);                                                                 \
        return simtune_emu_modify<type, bits, SIMTUNE_EMU_RELAXED>(                                \
            at, [compare, value](type old) -> type { return old == compare ? value : old; });      \
    }
#define SIMTUNE_EMU_ATOMIC_SWAP(type, bits)                                                        \
    SIMTUNE_EMU_ATOMIC(atomicExch, type, bits, ((void)old, value))                                 \
    SIMTUNE_EMU_ATOMIC_CAS(atomicCAS, 0, type, bits)                                               \
    SIMTUNE_EMU_ATOMIC_CAS(atomicCAS_block, 1, type, bits)                                         \
    SIMTUNE_EMU_ATOMIC_CAS(atomicCAS_system, 0, type, bits)

SIMTUNE_EMU_ATOMIC(atomicAdd, int, unsigned, (int)((unsigned)old + (unsigned)value))
SIMTUNE_EMU_ATOMIC(atomicAdd, unsigned, unsigned, old + value)
SIMTUNE_EMU_ATOMIC(atomicAdd, unsigned long long, unsigned long long, old + value)
SIMTUNE_EMU_ATOMIC(atomicAdd, float, unsigned, old + value)
SIMTUNE_EMU_ATOMIC(atomicAdd, double, unsigned long long, old + value)
SIMTUNE_EMU_ATOMIC(atomicSub, int, unsigned, (int)((unsigned)old - (unsigned)value))
SIMTUNE_EMU_ATOMIC(atomicSub, unsigned, unsigned, old - value)
SIMTUNE_EMU_ATOMIC(atomicInc, unsigned, unsigned, old >= value ? 0u : old + 1u)
SIMTUNE_EMU_ATOMIC(atomicDec, unsigned, unsigned, old == 0u || old > value ? value : old - 1u)
SIMTUNE_EMU_ATOMIC(atomicExch, float, unsigned, ((void)old, value))
SIMTUNE_EMU_ATOMIC_INTEGER(int, unsigned)
SIMTUNE_EMU_ATOMIC_INTEGER(unsigned, unsigned)
SIMTUNE_EMU_ATOMIC_INTEGER(long long, unsigned long long)
SIMTUNE_EMU_ATOMIC_INTEGER(unsigned long long, unsigned long long)
SIMTUNE_EMU_ATOMIC_CAS(atomicCAS, 0, unsigned short, unsigned short)
#undef SIMTUNE_EMU_ATOMIC
#undef SIMTUNE_EMU_ATOMIC_ONE
#undef SIMTUNE_EMU_ATOMIC_INTEGER
#undef SIMTUNE_EMU_ATOMIC_CAS
#undef SIMTUNE_EMU_ATOMIC_SWAP

// --- ordered loads and stores, for the device header -------------------------------------------
// Relaxed, acquire and release differ in the checking mode alone. A load counts as part of a wait
// loop. Each is one access, of 16 bytes too: no other thread's store comes in between.
typedef int simtune_emu_wide __attribute__((vector_size(16), may_alias));
template <unsigned BYTES> struct simtune_emu_ordered {
    template <int ORDER, class T> SIMTUNE_EMU_INLINE T load(const T *at) {
        static_assert(BYTES <= 8, "ordered loads are of 1, 2, 4, 8 or 16 bytes");
        T value;
#if SIMTUNE_EMU_CHECKED
        simtune_emu_u64 bits = simtune_emu_do->atomic_load((const void *)at, sizeof(T), ORDER, 0);
        __builtin_memcpy(&value, &bits, sizeof value);
#else
        value = *at;
#endif
        return value;
    }
    template <int ORDER, class T> SIMTUNE_EMU_INLINE void store(T *at, T value) {
        static_assert(BYTES <= 8, "ordered stores are of 1, 2, 4, 8 or 16 bytes");
#if SIMTUNE_EMU_CHECKED
        simtune_emu_u64 bits = 0;
        __builtin_memcpy(&bits, &value, sizeof value);
        simtune_emu_do->atomic_store((void *)at, sizeof(T), bits, ORDER, 0);
#else
        *at = value;
#endif
    }
};
template <> struct simtune_emu_ordered<16> {
    template <int ORDER, class T> SIMTUNE_EMU_INLINE T load(const T *at) {
        T value;
#if SIMTUNE_EMU_CHECKED
        simtune_emu_u64 bits[2];
        simtune_emu_do->atomic_load_wide((const void *)at, bits, ORDER);
#else
        simtune_emu_wide bits = *(const volatile simtune_emu_wide *)at;
#endif
        __builtin_memcpy(&value, &bits, sizeof value);
        return value;
    }
    template <int ORDER, class T> SIMTUNE_EMU_INLINE void store(T *at, T value) {
#if SIMTUNE_EMU_CHECKED
        simtune_emu_u64 bits[2];
        __builtin_memcpy(bits, &value, sizeof value);
        simtune_emu_do->atomic_store_wide((void *)at, bits, ORDER);
#else
        simtune_emu_wide bits;
        __builtin_memcpy(&bits, &value, sizeof value);
        *(volatile simtune_emu_wide *)at = bits;
#endif
    }
};
template <int ORDER, class T> SIMTUNE_EMU_INLINE T simtune_emu_load(const T *at) {
    simtune_emu_touch(SIMTUNE_EMU_LOAD_LIMIT);
    __asm__ volatile("" ::: "memory");
    T value = simtune_emu_ordered<sizeof(T)>::template load<ORDER, T>(at);
    __asm__ volatile("" ::: "memory");
    return value;
}
template <int ORDER, class T> SIMTUNE_EMU_INLINE void simtune_emu_store(T *at, T value) {
    __asm__ volatile("" ::: "memory");
    simtune_emu_ordered<sizeof(T)>::template store<ORDER, T>(at, value);
    __asm__ volatile("" ::: "memory");
}
template <class T> SIMTUNE_EMU_INLINE T simtune_emu_load_relaxed(const T *at) {
    return simtune_emu_load<SIMTUNE_EMU_RELAXED>(at);
}
template <class T> SIMTUNE_EMU_INLINE T simtune_emu_load_ordered(const T *at) {
    return simtune_emu_load<SIMTUNE_EMU_ACQUIRE>(at);
}
template <class T> SIMTUNE_EMU_INLINE void simtune_emu_store_relaxed(T *at, T value) {
    simtune_emu_store<SIMTUNE_EMU_RELAXED>(at, value);
}
template <class T> SIMTUNE_EMU_INLINE void simtune_emu_store_ordered(T *at, T value) {
    simtune_emu_store<SIMTUNE_EMU_RELEASE>(at, value);
}
// atom.acq_rel.add: what CUDA's atomicAdd, which is relaxed, is not.
SIMTUNE_EMU_INLINE unsigned simtune_emu_add_ordered(unsigned *at, unsigned value) {
    simtune_emu_scope(0);
    return simtune_emu_modify<unsigned, unsigned, SIMTUNE_EMU_ACQUIRE_RELEASE>(
        at, [value](unsigned old) -> unsigned { return old + value; });
}

// --- loads and stores with a cache policy: the policy has no meaning here ----------------------
#define SIMTUNE_EMU_LOAD(word)                                                                     \
    template <class T> SIMTUNE_EMU_INLINE T word(const T *at) {                                    \
        return *at;                                                                                \
    }
#define SIMTUNE_EMU_STORE(word)                                                                    \
    template <class T, class V> SIMTUNE_EMU_INLINE void word(T *at, V value) {                     \
        *at = value;                                                                               \
    }
SIMTUNE_EMU_LOAD(__ldg)
SIMTUNE_EMU_LOAD(__ldca)
SIMTUNE_EMU_LOAD(__ldcs)
SIMTUNE_EMU_LOAD(__ldlu)
// These two see what other blocks wrote, so wait loops use them. __ldcv is a volatile load, __ldcg
// a plain one past L1.
template <class T> SIMTUNE_EMU_INLINE T __ldcg(const T *at) {
    simtune_emu_touch(SIMTUNE_EMU_LOAD_LIMIT);
    __asm__ volatile("" ::: "memory");
    T value = *at;
    __asm__ volatile("" ::: "memory");
    return value;
}
template <class T> SIMTUNE_EMU_INLINE T __ldcv(const T *at) {
    return simtune_emu_load_relaxed(at);
}
SIMTUNE_EMU_STORE(__stwb)
SIMTUNE_EMU_STORE(__stcg)
SIMTUNE_EMU_STORE(__stcs)
SIMTUNE_EMU_STORE(__stwt)
#undef SIMTUNE_EMU_LOAD
#undef SIMTUNE_EMU_STORE

SIMTUNE_EMU_INLINE size_t __cvta_generic_to_shared(const void *at) {
    return (size_t)at;
}
SIMTUNE_EMU_INLINE size_t __cvta_generic_to_global(const void *at) {
    return (size_t)at;
}

#endif
