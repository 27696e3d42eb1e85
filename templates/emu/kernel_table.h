// SPDX-License-Identifier: Apache-2.0
// How the runtime reaches a program's kernels: a trampoline for each wanted name expression, which
// takes its arguments as cuLaunchKernel does. Included before the template, whose macros must not
// reach it.
#ifndef SIMTUNE_EMU_KERNEL_TABLE_H
#define SIMTUNE_EMU_KERNEL_TABLE_H

extern "C" {
struct simtune_emu_thread *simtune_emu_self;
const struct simtune_emu_runtime *simtune_emu_do;

// Every access to a thread_local variable asks here where it is: in the running block's shared
// memory. This one is found before the C library's because it is part of the program.
struct simtune_emu_tls_index {
    unsigned long module, offset;
};
__attribute__((visibility("hidden"))) SIMTUNE_EMU_QUIET void *__tls_get_addr(simtune_emu_tls_index *index) {
    simtune_emu_self->shared_uses++;
    return simtune_emu_self->shared + index->offset;
}
// The linker's marks around the list that patchable_function_entry makes (abi.h); null without one.
extern void *const __start___patchable_function_entries[]
    __attribute__((weak, visibility("hidden")));
extern void *const __stop___patchable_function_entries[]
    __attribute__((weak, visibility("hidden")));
}

namespace simtune_emu_table {
template <unsigned... I> struct places {};
template <unsigned N, unsigned... I> struct count : count<N - 1, N - 1, I...> {};
template <unsigned... I> struct count<0, I...> { typedef places<I...> type; };
template <class T> struct plain { typedef T type; };
template <class T> struct plain<const T> { typedef T type; };

template <class F, F *KERNEL> struct entry;
template <class... A, void (*KERNEL)(A...)> struct entry<void(A...), KERNEL> {
    template <unsigned... I> static void spread(void **arguments, places<I...>) {
        (void)arguments;
        KERNEL(*(typename plain<A>::type *)arguments[I]...);
    }
    static void call(void **arguments) {
        spread(arguments, typename count<sizeof...(A)>::type());
    }
    static const unsigned sizes[sizeof...(A) + 1];
    static const unsigned argument_count = sizeof...(A);
};
template <class... A, void (*KERNEL)(A...)>
const unsigned entry<void(A...), KERNEL>::sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};

template <class F> struct function_of;
template <class F> struct function_of<F *> { typedef F type; };
} // namespace simtune_emu_table

// One row of the table; the name expression may hold commas.
#define SIMTUNE_EMU_ENTRY_OF(...)                                                                  \
    simtune_emu_table::entry<simtune_emu_table::function_of<decltype(&__VA_ARGS__)>::type,         \
                             &__VA_ARGS__>
#define SIMTUNE_EMU_ENTRY(text, ...)                                                               \
    {                                                                                              \
        text, &SIMTUNE_EMU_ENTRY_OF(__VA_ARGS__)::call, (const void *)&__VA_ARGS__,                \
            SIMTUNE_EMU_ENTRY_OF(__VA_ARGS__)::argument_count,                                     \
            SIMTUNE_EMU_ENTRY_OF(__VA_ARGS__)::sizes                                               \
    }

#endif
