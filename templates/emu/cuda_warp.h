// SPDX-License-Identifier: Apache-2.0
// Warp-wide operations: shuffles, votes, matches, reductions. All lanes of the mask must arrive; a
// lane that is read must be one of them.
#ifndef SIMTUNE_CUDA_WARP_H
#define SIMTUNE_CUDA_WARP_H

#define SIMTUNE_EMU_SHUFFLE(word, kind, type, bits, argument)                                      \
    SIMTUNE_EMU_INLINE type word(unsigned mask, type value, argument, int width = 32,              \
                                 SIMTUNE_EMU_HERE) {                                               \
        bits in;                                                                                   \
        __builtin_memcpy(&in, &value, sizeof in);                                                  \
        bits out =                                                                                 \
            (bits)simtune_emu_do->collective(kind, mask, in, (unsigned)at, width, SIMTUNE_EMU_AT); \
        __builtin_memcpy(&value, &out, sizeof out);                                                \
        return value;                                                                              \
    }
#define SIMTUNE_EMU_SHUFFLES(type, bits)                                                           \
    SIMTUNE_EMU_SHUFFLE(__shfl_sync, SIMTUNE_EMU_SHFL, type, bits, int at)                         \
    SIMTUNE_EMU_SHUFFLE(__shfl_up_sync, SIMTUNE_EMU_SHFL_UP, type, bits, unsigned at)              \
    SIMTUNE_EMU_SHUFFLE(__shfl_down_sync, SIMTUNE_EMU_SHFL_DOWN, type, bits, unsigned at)          \
    SIMTUNE_EMU_SHUFFLE(__shfl_xor_sync, SIMTUNE_EMU_SHFL_XOR, type, bits, int at)
SIMTUNE_EMU_SHUFFLES(int, unsigned)
SIMTUNE_EMU_SHUFFLES(unsigned, unsigned)
SIMTUNE_EMU_SHUFFLES(float, unsigned)
SIMTUNE_EMU_SHUFFLES(long, unsigned long)
SIMTUNE_EMU_SHUFFLES(unsigned long, unsigned long)
SIMTUNE_EMU_SHUFFLES(long long, unsigned long long)
SIMTUNE_EMU_SHUFFLES(unsigned long long, unsigned long long)
SIMTUNE_EMU_SHUFFLES(double, unsigned long long)
#undef SIMTUNE_EMU_SHUFFLES
#undef SIMTUNE_EMU_SHUFFLE

SIMTUNE_EMU_INLINE unsigned __ballot_sync(unsigned mask, int predicate, SIMTUNE_EMU_HERE) {
    return (unsigned)simtune_emu_do->collective(SIMTUNE_EMU_BALLOT, mask, predicate != 0, 0, 32,
                                                SIMTUNE_EMU_AT);
}
SIMTUNE_EMU_INLINE int __any_sync(unsigned mask, int predicate, SIMTUNE_EMU_HERE) {
    return (int)simtune_emu_do->collective(SIMTUNE_EMU_ANY, mask, predicate != 0, 0, 32,
                                           SIMTUNE_EMU_AT);
}
SIMTUNE_EMU_INLINE int __all_sync(unsigned mask, int predicate, SIMTUNE_EMU_HERE) {
    return (int)simtune_emu_do->collective(SIMTUNE_EMU_ALL, mask, predicate != 0, 0, 32,
                                           SIMTUNE_EMU_AT);
}
// CUDA promises nothing about which other lanes are with this one: none.
SIMTUNE_EMU_INLINE unsigned __activemask(void) {
    return 1u << simtune_emu_self->lane;
}

#define SIMTUNE_EMU_MATCH(type, bits)                                                              \
    SIMTUNE_EMU_INLINE unsigned __match_any_sync(unsigned mask, type value, SIMTUNE_EMU_HERE) {    \
        bits in;                                                                                   \
        __builtin_memcpy(&in, &value, sizeof in);                                                  \
        return (unsigned)simtune_emu_do->collective(SIMTUNE_EMU_MATCH_ANY, mask, in, 0, 32,        \
                                                    SIMTUNE_EMU_AT);                               \
    }                                                                                              \
    SIMTUNE_EMU_INLINE unsigned __match_all_sync(unsigned mask, type value, int *all,              \
                                                 SIMTUNE_EMU_HERE) {                               \
        bits in;                                                                                   \
        __builtin_memcpy(&in, &value, sizeof in);                                                  \
        unsigned same = (unsigned)simtune_emu_do->collective(SIMTUNE_EMU_MATCH_ALL, mask, in, 0,   \
                                                             32, SIMTUNE_EMU_AT);                  \
        *all = same != 0;                                                                          \
        return same;                                                                               \
    }
SIMTUNE_EMU_MATCH(int, unsigned)
SIMTUNE_EMU_MATCH(unsigned, unsigned)
SIMTUNE_EMU_MATCH(float, unsigned)
SIMTUNE_EMU_MATCH(long long, unsigned long long)
SIMTUNE_EMU_MATCH(unsigned long long, unsigned long long)
SIMTUNE_EMU_MATCH(long, unsigned long)
SIMTUNE_EMU_MATCH(unsigned long, unsigned long)
SIMTUNE_EMU_MATCH(double, unsigned long long)
#undef SIMTUNE_EMU_MATCH

#define SIMTUNE_EMU_REDUCE(word, kind, type)                                                       \
    SIMTUNE_EMU_INLINE type word(unsigned mask, type value, SIMTUNE_EMU_HERE) {                    \
        return (type)(unsigned)simtune_emu_do->collective(kind, mask, (unsigned)value, 0, 32,      \
                                                          SIMTUNE_EMU_AT);                         \
    }
SIMTUNE_EMU_REDUCE(__reduce_add_sync, SIMTUNE_EMU_REDUCE_ADD, unsigned)
SIMTUNE_EMU_REDUCE(__reduce_add_sync, SIMTUNE_EMU_REDUCE_ADD, int)
SIMTUNE_EMU_REDUCE(__reduce_min_sync, SIMTUNE_EMU_REDUCE_MIN_U, unsigned)
SIMTUNE_EMU_REDUCE(__reduce_min_sync, SIMTUNE_EMU_REDUCE_MIN_S, int)
SIMTUNE_EMU_REDUCE(__reduce_max_sync, SIMTUNE_EMU_REDUCE_MAX_U, unsigned)
SIMTUNE_EMU_REDUCE(__reduce_max_sync, SIMTUNE_EMU_REDUCE_MAX_S, int)
SIMTUNE_EMU_REDUCE(__reduce_and_sync, SIMTUNE_EMU_REDUCE_AND, unsigned)
SIMTUNE_EMU_REDUCE(__reduce_or_sync, SIMTUNE_EMU_REDUCE_OR, unsigned)
SIMTUNE_EMU_REDUCE(__reduce_xor_sync, SIMTUNE_EMU_REDUCE_XOR, unsigned)
#undef SIMTUNE_EMU_REDUCE

#endif
