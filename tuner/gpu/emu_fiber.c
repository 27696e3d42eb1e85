// SPDX-License-Identifier: Apache-2.0
// Switching between the stacks of the emulated device's threads: what the C calling convention says
// a callee keeps, and nothing else. About 2 ns; swapcontext makes two system calls each time.
#include "tuner/gpu/emu_internal.h"

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl st_emu_switch\n"
        ".hidden st_emu_switch\n"
        ".type st_emu_switch, @function\n"
        "st_emu_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size st_emu_switch, .-st_emu_switch\n");

void *st_emu_fiber_prepare(char *top) {
    // At the first instruction of a function the stack pointer is 8 below a multiple of 16.
    void **at = (void **)((uintptr_t)top & ~(uintptr_t)15);
    *--at = NULL;                       // where a return address would be
    *--at = (void *)st_emu_fiber_start; // what `ret` goes to
    for (int i = 0; i < 6; i++)
        *--at = NULL;
    return at;
}

#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl st_emu_switch\n"
        ".hidden st_emu_switch\n"
        ".type st_emu_switch, %function\n"
        "st_emu_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x2, sp\n"
        "    str x2, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size st_emu_switch, .-st_emu_switch\n");

void *st_emu_fiber_prepare(char *top) {
    char *at = (char *)((uintptr_t)top & ~(uintptr_t)15) - 160;
    void **slots = (void **)at;
    for (int i = 0; i < 20; i++)
        slots[i] = NULL;
    slots[11] = (void *)st_emu_fiber_start; // x30
    return at;
}

#else
#error "the emulated device knows how to switch stacks on x86-64 and aarch64; add this machine here"
#endif
