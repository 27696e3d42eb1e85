// SPDX-License-Identifier: Apache-2.0
// The checking mode's half in the program: -fsanitize=thread makes the compiler call one of these
// before every access of the unmodified source; they pass it on to the runtime, which knows who may
// access what (tuner/gpu/emu_check.c). No sanitizer library is linked. Empty otherwise.
#ifndef SIMTUNE_EMU_CHECKS_H
#define SIMTUNE_EMU_CHECKS_H

#if defined(__SANITIZE_THREAD__)
#define SIMTUNE_EMU_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIMTUNE_EMU_CHECKED 1
#endif
#endif
#ifndef SIMTUNE_EMU_CHECKED
#define SIMTUNE_EMU_CHECKED 0
#endif

#if SIMTUNE_EMU_CHECKED
#define SIMTUNE_EMU_QUIET __attribute__((no_sanitize("thread")))
#define SIMTUNE_EMU_CALLBACK                                                                       \
    __attribute__((visibility("hidden"), used, noinline)) SIMTUNE_EMU_QUIET
#define SIMTUNE_EMU_CALLER __builtin_return_address(0)

extern "C" {
SIMTUNE_EMU_CALLBACK void __tsan_init(void) {}
SIMTUNE_EMU_CALLBACK void __tsan_func_entry(void *) {}
SIMTUNE_EMU_CALLBACK void __tsan_func_exit(void) {}
SIMTUNE_EMU_CALLBACK void __tsan_vptr_update(void **, void *) {}
SIMTUNE_EMU_CALLBACK void __tsan_vptr_read(void **) {}
SIMTUNE_EMU_CALLBACK void __tsan_ignore_thread_begin(void) {}
SIMTUNE_EMU_CALLBACK void __tsan_ignore_thread_end(void) {}

#define SIMTUNE_EMU_ACCESS(name, bytes, kind)                                                      \
    SIMTUNE_EMU_CALLBACK void name(void *at) {                                                     \
        simtune_emu_do->access(at, bytes, kind, SIMTUNE_EMU_CALLER);                               \
    }
#define SIMTUNE_EMU_ACCESSES(bytes)                                                                \
    SIMTUNE_EMU_ACCESS(__tsan_read##bytes, bytes, SIMTUNE_EMU_READ)                                \
    SIMTUNE_EMU_ACCESS(__tsan_write##bytes, bytes, SIMTUNE_EMU_WRITE)                              \
    SIMTUNE_EMU_ACCESS(__tsan_read_write##bytes, bytes, SIMTUNE_EMU_READ | SIMTUNE_EMU_WRITE)      \
    SIMTUNE_EMU_ACCESS(__tsan_unaligned_read##bytes, bytes, SIMTUNE_EMU_READ)                      \
    SIMTUNE_EMU_ACCESS(__tsan_unaligned_write##bytes, bytes, SIMTUNE_EMU_WRITE)                    \
    SIMTUNE_EMU_ACCESS(__tsan_unaligned_read_write##bytes, bytes,                                  \
                       SIMTUNE_EMU_READ | SIMTUNE_EMU_WRITE)                                       \
    SIMTUNE_EMU_ACCESS(__tsan_volatile_read##bytes, bytes, SIMTUNE_EMU_READ | SIMTUNE_EMU_STRONG)  \
    SIMTUNE_EMU_ACCESS(__tsan_volatile_write##bytes, bytes,                                        \
                       SIMTUNE_EMU_WRITE | SIMTUNE_EMU_STRONG)                                     \
    SIMTUNE_EMU_ACCESS(__tsan_unaligned_volatile_read##bytes, bytes,                               \
                       SIMTUNE_EMU_READ | SIMTUNE_EMU_STRONG)                                      \
    SIMTUNE_EMU_ACCESS(__tsan_unaligned_volatile_write##bytes, bytes,                              \
                       SIMTUNE_EMU_WRITE | SIMTUNE_EMU_STRONG)
SIMTUNE_EMU_ACCESSES(1)
SIMTUNE_EMU_ACCESSES(2)
SIMTUNE_EMU_ACCESSES(4)
SIMTUNE_EMU_ACCESSES(8)
SIMTUNE_EMU_ACCESSES(16)
#undef SIMTUNE_EMU_ACCESSES
#undef SIMTUNE_EMU_ACCESS

SIMTUNE_EMU_CALLBACK void __tsan_read_range(void *at, unsigned long bytes) {
    simtune_emu_do->access(at, bytes, SIMTUNE_EMU_READ, SIMTUNE_EMU_CALLER);
}
SIMTUNE_EMU_CALLBACK void __tsan_write_range(void *at, unsigned long bytes) {
    simtune_emu_do->access(at, bytes, SIMTUNE_EMU_WRITE, SIMTUNE_EMU_CALLER);
}

// What the compiler does not see through: the C library's functions on memory.
SIMTUNE_EMU_CALLBACK void *memcpy(void *to, const void *from, size_t bytes) {
    return simtune_emu_do->copy(to, from, bytes, SIMTUNE_EMU_CALLER);
}
SIMTUNE_EMU_CALLBACK void *memmove(void *to, const void *from, size_t bytes) {
    return simtune_emu_do->copy(to, from, bytes, SIMTUNE_EMU_CALLER);
}
SIMTUNE_EMU_CALLBACK void *memset(void *to, int value, size_t bytes) {
    return simtune_emu_do->set(to, value, bytes, SIMTUNE_EMU_CALLER);
}
#if defined(__clang__)
SIMTUNE_EMU_CALLBACK void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
    return simtune_emu_do->copy(to, from, bytes, SIMTUNE_EMU_CALLER);
}
SIMTUNE_EMU_CALLBACK void *__tsan_memmove(void *to, const void *from, size_t bytes) {
    return simtune_emu_do->copy(to, from, bytes, SIMTUNE_EMU_CALLER);
}
SIMTUNE_EMU_CALLBACK void *__tsan_memset(void *to, int value, size_t bytes) {
    return simtune_emu_do->set(to, value, bytes, SIMTUNE_EMU_CALLER);
}
#endif

// The compiler's own atomics, in templates that use them.
#define SIMTUNE_EMU_CHANGE(word, bits, name, next)                                                 \
    SIMTUNE_EMU_CALLBACK word __tsan_atomic##bits##_##name(volatile word *at, word value,          \
                                                           int order) {                            \
        word old = (word)simtune_emu_do->atomic_begin((void *)at, bits / 8, order,                 \
                                                      SIMTUNE_EMU_CALLER);                         \
        simtune_emu_do->atomic_end((void *)at, bits / 8, (word)(next));                            \
        return old;                                                                                \
    }
#define SIMTUNE_EMU_COMPARE(word, bits, name)                                                      \
    SIMTUNE_EMU_CALLBACK int __tsan_atomic##bits##_compare_exchange_##name(                        \
        volatile word *at, word *expected, word value, int order, int) {                           \
        word old = (word)simtune_emu_do->atomic_begin((void *)at, bits / 8, order,                 \
                                                      SIMTUNE_EMU_CALLER);                         \
        bool same = old == *expected;                                                              \
        simtune_emu_do->atomic_end((void *)at, bits / 8, same ? value : old);                      \
        *expected = old;                                                                           \
        return same;                                                                               \
    }
#define SIMTUNE_EMU_ATOMICS(word, bits)                                                            \
    SIMTUNE_EMU_CALLBACK word __tsan_atomic##bits##_load(const volatile word *at, int order) {     \
        return (word)simtune_emu_do->atomic_load((const void *)at, bits / 8, order,                \
                                                 SIMTUNE_EMU_CALLER);                              \
    }                                                                                              \
    SIMTUNE_EMU_CALLBACK void __tsan_atomic##bits##_store(volatile word *at, word value,           \
                                                          int order) {                             \
        simtune_emu_do->atomic_store((void *)at, bits / 8, value, order, SIMTUNE_EMU_CALLER);      \
    }                                                                                              \
    SIMTUNE_EMU_CHANGE(word, bits, exchange, value)                                                \
    SIMTUNE_EMU_CHANGE(word, bits, fetch_add, old + value)                                         \
    SIMTUNE_EMU_CHANGE(word, bits, fetch_sub, old - value)                                         \
    SIMTUNE_EMU_CHANGE(word, bits, fetch_and, old &value)                                          \
    SIMTUNE_EMU_CHANGE(word, bits, fetch_or, old | value)                                          \
    SIMTUNE_EMU_CHANGE(word, bits, fetch_xor, old ^ value)                                         \
    SIMTUNE_EMU_COMPARE(word, bits, strong)                                                        \
    SIMTUNE_EMU_COMPARE(word, bits, weak)
SIMTUNE_EMU_ATOMICS(unsigned char, 8)
SIMTUNE_EMU_ATOMICS(unsigned short, 16)
SIMTUNE_EMU_ATOMICS(unsigned, 32)
SIMTUNE_EMU_ATOMICS(unsigned long, 64)
#undef SIMTUNE_EMU_ATOMICS
#undef SIMTUNE_EMU_COMPARE
#undef SIMTUNE_EMU_CHANGE
SIMTUNE_EMU_CALLBACK void __tsan_atomic_thread_fence(int) {
    simtune_emu_do->fence(0);
}
SIMTUNE_EMU_CALLBACK void __tsan_atomic_signal_fence(int) {}
}

// What the device headers say outright.
#define SIMTUNE_EMU_FENCE(narrow) simtune_emu_do->fence(narrow)
#else
#define SIMTUNE_EMU_QUIET
#define SIMTUNE_EMU_FENCE(narrow) __asm__ volatile("" ::: "memory")
#endif

#endif
