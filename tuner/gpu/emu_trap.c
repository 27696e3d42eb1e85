// SPDX-License-Identifier: Apache-2.0
// Signals while fibers run: faults of a kernel become errors of its launch, and a kernel that waits
// in a loop without any word of CUDA is preempted by a timer.
//
//  1. The handlers are in place only while st_emu_runner_go runs; what was there before comes back.
//  2. A fault while no fiber runs is not ours: the former handler gets it.
//  3. Faults are handled on a stack of their own (the fiber's may be what overflowed) and leave it
//  by
//     switching to main; the timer's signal is handled on the fiber's stack and may switch to other
//     fibers.
//  4. The timer acts only on the kernel's own code (`user`), and only when it has had a whole
//  period.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define TICK_SIGNAL SIGVTALRM
#define TICK_NS 10000000L // of processor time
#define FAULT_STACK ((size_t)64 << 10)

static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#define FAULTS (sizeof fault_signals / sizeof *fault_signals)

typedef struct st_emu_traps {
    struct sigaction former[FAULTS], former_tick;
    stack_t former_stack;
    void *stack;
    timer_t timer;
    bool has_timer;
    pid_t thread; // that the timer belongs to
} st_emu_traps;

ST_EMU_ON_FIBER static void on_tick(int signal)
{
    (void)signal;
    st_emu_runner *runner = st_emu_active;
    if (!runner || !runner->in_fibers || !runner->user)
        return;
    if (runner->switches != runner->seen_switches) {
        runner->seen_switches = runner->switches;
        return;
    }
    st_emu_yield();
}

ST_EMU_ON_FIBER static void describe_fault(st_emu_runner *runner, int signal, const siginfo_t *info)
{
    const st_emu_fiber *fiber = runner->current;
    const st_emu_block *block = runner->block;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (signal == SIGFPE || signal == SIGILL) {
        st_emu_message(runner, block, fiber,
                       signal == SIGFPE ? "division of an integer by zero"
                                        : "illegal instruction (code that must not be reached)");
        return;
    }
    const char *where = NULL;
    char text[256] = "";
    uintptr_t stacks = (uintptr_t)block->stacks, shared = (uintptr_t)block->shared;
    if (address - stacks < (uintptr_t)block->capacity * ST_EMU_STACK)
        where = "the thread's stack of 256 KiB is full";
    else if (address - shared < block->shared_bytes + ST_EMU_SHARED_GUARD)
        where = "beyond the block's shared memory";
    else if (runner->explain)
        runner->explain(runner->explain_context, address, text, sizeof text);
    // No address where there are words for it: it differs from run to run.
    st_emu_message(runner, block, fiber, "illegal address: %s", where ? where : text);
}

ST_EMU_ON_FIBER static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    st_emu_runner *runner = st_emu_active;
    if (!runner || !runner->in_fibers) {
        // Not ours: the former handler meets it when the instruction runs again.
        for (size_t i = 0; i < FAULTS; i++)
            if (fault_signals[i] == signal && runner && runner->traps)
                sigaction(signal, &runner->traps->former[i], NULL);
            else if (fault_signals[i] == signal)
                sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        return;
    }
    runner->user = 0;
    describe_fault(runner, signal, info);
    st_emu_switch(&runner->current->context, runner->main_context);
    abort(); // emu_run.c, invariant 5
}

struct st_emu_traps *st_emu_traps_make(void)
{
    st_emu_traps *traps = st_calloc(1, sizeof *traps);
    if (!traps || !(traps->stack = st_malloc(FAULT_STACK))) {
        st_free(traps);
        return NULL;
    }
    return traps;
}

void st_emu_traps_free(struct st_emu_traps *traps)
{
    if (!traps)
        return;
    if (traps->has_timer)
        timer_delete(traps->timer);
    st_free(traps->stack);
    st_free(traps);
}

// Without a timer everything works but such loops.
static void start_timer(st_emu_traps *traps)
{
    pid_t thread = (pid_t)syscall(SYS_gettid);
    if (traps->has_timer && traps->thread != thread) {
        timer_delete(traps->timer);
        traps->has_timer = false;
    }
    if (!traps->has_timer) {
        struct sigevent event;
        memset(&event, 0, sizeof event);
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = TICK_SIGNAL;
        event.sigev_notify_thread_id = thread;
        if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &traps->timer))
            return;
        traps->has_timer = true;
        traps->thread = thread;
    }
    struct itimerspec period = {.it_interval = {0, TICK_NS}, .it_value = {0, TICK_NS}};
    timer_settime(traps->timer, 0, &period, NULL);
}

void st_emu_traps_enter(st_emu_runner *runner)
{
    st_emu_traps *traps = runner->traps;
    stack_t own = {.ss_sp = traps->stack, .ss_size = FAULT_STACK};
    sigaltstack(&own, &traps->former_stack);
    struct sigaction fault = {.sa_sigaction = on_fault,
                              .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_NODEFER | SA_RESTART};
    sigemptyset(&fault.sa_mask);
    sigemptyset(&tick.sa_mask);
    for (size_t i = 0; i < FAULTS; i++)
        sigaction(fault_signals[i], &fault, &traps->former[i]);
    sigaction(TICK_SIGNAL, &tick, &traps->former_tick);
    start_timer(traps);
}

void st_emu_traps_leave(st_emu_runner *runner)
{
    st_emu_traps *traps = runner->traps;
    if (traps->has_timer) {
        struct itimerspec never = {{0, 0}, {0, 0}};
        timer_settime(traps->timer, 0, &never, NULL);
    }
    // A tick that is already on its way must find a handler: the default action ends the process.
    if (traps->former_tick.sa_handler != SIG_DFL)
        sigaction(TICK_SIGNAL, &traps->former_tick, NULL);
    for (size_t i = 0; i < FAULTS; i++)
        sigaction(fault_signals[i], &traps->former[i], NULL);
    sigaltstack(&traps->former_stack, NULL);
}
