// SPDX-License-Identifier: Apache-2.0 The accesses of the checking mode that are more than a load
// or a store: functions on memory, atomics, asynchronous copies. Invariants: 1. an atomic is
// reported, made and, where it hands over or takes knowledge (emu_check_order.c), joined without
// another thread in between; 2. a copy is reported when it begins, under the name of its thread's
// copies, which nobody knows of who has not waited.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_check_internal.h"

#include <string.h>

// --- functions on memory -------------------------------------------------------------------------

ST_EMU_ON_FIBER void *st_emu_check_copy(void *to, const void *from, unsigned long bytes,
                                        const void *pc)
{
    st_emu_check_access(from, bytes, SIMTUNE_EMU_READ, pc);
    st_emu_check_access(to, bytes, SIMTUNE_EMU_WRITE, pc);
    volatile char *at = to; // the host's memcpy may not look at stacks of fibers
    const volatile char *source = from;
    if ((uintptr_t)to <= (uintptr_t)from)
        for (unsigned long i = 0; i < bytes; i++)
            at[i] = source[i];
    else
        for (unsigned long i = bytes; i-- > 0;)
            at[i] = source[i];
    return to;
}

ST_EMU_ON_FIBER void *st_emu_check_set(void *to, int value, unsigned long bytes, const void *pc)
{
    st_emu_check_access(to, bytes, SIMTUNE_EMU_WRITE, pc);
    volatile char *at = to;
    for (unsigned long i = 0; i < bytes; i++)
        at[i] = (char)value;
    return to;
}

// --- atomics -------------------------------------------------------------------------------------

typedef struct words { // of an atomic of up to 16 bytes
    uint64_t word[2];
} words;

ST_EMU_ON_FIBER static words read_words(const void *at, unsigned bytes)
{
    words read = {{0, 0}};
    switch (bytes) {
    case 1:
        read.word[0] = *(const volatile uint8_t *)at;
        break;
    case 2:
        read.word[0] = *(const volatile uint16_t *)at;
        break;
    case 4:
        read.word[0] = *(const volatile uint32_t *)at;
        break;
    case 16: // nobody else runs meanwhile
        read.word[1] = ((const volatile uint64_t *)at)[1];
        read.word[0] = *(const volatile uint64_t *)at;
        break;
    default:
        read.word[0] = *(const volatile uint64_t *)at;
        break;
    }
    return read;
}

ST_EMU_ON_FIBER static void write_words(void *at, unsigned bytes, words to)
{
    uint64_t value = to.word[0];
    switch (bytes) {
    case 1:
        *(volatile uint8_t *)at = (uint8_t)value;
        break;
    case 2:
        *(volatile uint16_t *)at = (uint16_t)value;
        break;
    case 4:
        *(volatile uint32_t *)at = (uint32_t)value;
        break;
    case 16:
        ((volatile uint64_t *)at)[1] = to.word[1];
        *(volatile uint64_t *)at = value;
        break;
    default:
        *(volatile uint64_t *)at = value;
        break;
    }
}

// Reports it; *narrow is its scope, which is then forgotten.
ST_EMU_ON_FIBER static uint32_t touch_strong(st_emu_runner *runner, const void *at, unsigned bytes,
                                             unsigned kind, const void *pc, bool *narrow)
{
    st_emu_region *region;
    *narrow = runner->current->view.narrow != 0;
    runner->current->view.narrow = 0;
    if ((uintptr_t)at % bytes)
        st_emu_stop(runner, NULL, 0, "an atomic of %u bytes off its alignment", bytes);
    if (!runner->check)
        return 0;
    return st_emu_check_touch(
        runner, at, bytes, kind | SIMTUNE_EMU_STRONG | (*narrow ? ST_EMU_NARROW : 0), pc, &region);
}

// The id of the last write to the byte at `at`.
ST_EMU_ON_FIBER static uint32_t last_write(st_emu_runner *runner, const void *at)
{
    st_emu_region *region = st_emu_check_region(runner->check, runner, (uintptr_t)at);
    return region->write[(uintptr_t)at - region->data];
}

ST_EMU_ON_FIBER static words load(const void *at, unsigned bytes, int order, const void *pc)
{
    st_emu_runner *runner = st_emu_active;
    bool narrow;
    runner->user = 0;
    uint32_t id = touch_strong(runner, at, bytes, SIMTUNE_EMU_READ, pc, &narrow);
    words value = read_words(at, bytes);
    st_emu_place *place = id ? st_emu_check_place(runner->check, (uintptr_t)at) : NULL;
    if (place) {
        // One load that knows nothing of the last store may miss it: the next will not.
        if (place->has_old && place->writer == last_write(runner, at) &&
            !st_emu_check_is_known(runner, place->writer)) {
            place->has_old = false;
            memcpy(value.word, place->old, sizeof value.word);
        } else {
            st_emu_check_acquire(runner, place, narrow, order == SIMTUNE_EMU_RELAXED);
        }
    }
    runner->user = 1;
    return value;
}

ST_EMU_ON_FIBER static void store(void *at, unsigned bytes, words value, int order, const void *pc)
{
    st_emu_runner *runner = st_emu_active;
    bool narrow;
    runner->user = 0;
    uint32_t id = touch_strong(runner, at, bytes, SIMTUNE_EMU_WRITE, pc, &narrow);
    if (id) {
        st_emu_place *place = st_emu_check_place_make(runner, (uintptr_t)at);
        words old = read_words(at, bytes);
        place->has_old = true;
        memcpy(place->old, old.word, sizeof place->old);
        place->writer = id;
        st_emu_check_hand_over(runner, place, order >= SIMTUNE_EMU_RELEASE, narrow);
    }
    write_words(at, bytes, value);
    runner->user = 1;
}

ST_EMU_ON_FIBER simtune_emu_u64 st_emu_check_load(const void *at, unsigned bytes, int order,
                                                  const void *pc)
{
    return load(at, bytes, order, pc ? pc : __builtin_return_address(0)).word[0];
}

ST_EMU_ON_FIBER void st_emu_check_store(void *at, unsigned bytes, simtune_emu_u64 value, int order,
                                        const void *pc)
{
    words one = {{value, 0}};
    store(at, bytes, one, order, pc ? pc : __builtin_return_address(0));
}

ST_EMU_ON_FIBER void st_emu_check_load_wide(const void *at, simtune_emu_u64 out[2], int order)
{
    words value = load(at, 16, order, __builtin_return_address(0));
    out[0] = value.word[0];
    out[1] = value.word[1];
}

ST_EMU_ON_FIBER void st_emu_check_store_wide(void *at, const simtune_emu_u64 value[2], int order)
{
    words both = {{value[0], value[1]}};
    store(at, 16, both, order, __builtin_return_address(0));
}

ST_EMU_ON_FIBER simtune_emu_u64 st_emu_check_begin_change(void *at, unsigned bytes, int order,
                                                          const void *pc)
{
    st_emu_runner *runner = st_emu_active;
    bool narrow;
    runner->user = 0; // until the end of the change
    uint32_t id = touch_strong(runner, at, bytes, SIMTUNE_EMU_READ | SIMTUNE_EMU_WRITE,
                               pc ? pc : __builtin_return_address(0), &narrow);
    if (id) {
        st_emu_check_thread *self = st_emu_check_self(runner);
        bool hands = order >= SIMTUNE_EMU_RELEASE || self->fenced[0] || self->fenced[1];
        st_emu_place *place = hands ? st_emu_check_place_make(runner, (uintptr_t)at)
                                    : st_emu_check_place(runner->check, (uintptr_t)at);
        if (place) {
            place->has_old = false;
            bool acquires = order != SIMTUNE_EMU_RELAXED && order != SIMTUNE_EMU_RELEASE;
            st_emu_check_acquire(runner, place, narrow, !acquires);
            st_emu_check_hand_over(runner, place, order >= SIMTUNE_EMU_RELEASE, narrow);
        }
    }
    return read_words(at, bytes).word[0];
}

ST_EMU_ON_FIBER void st_emu_check_end_change(void *at, unsigned bytes, simtune_emu_u64 value)
{
    words one = {{value, 0}};
    write_words(at, bytes, one);
    st_emu_active->user = 1;
}

ST_EMU_ON_FIBER void st_emu_check_dependency(void)
{
    st_emu_check_thread *self = st_emu_check_self(st_emu_active);
    if (self)
        self->waited = true;
}

// --- asynchronous copies -------------------------------------------------------------------------

ST_EMU_ON_FIBER uint32_t st_emu_check_copy_begin(st_emu_runner *runner, void *to, const void *from,
                                                 size_t bytes, size_t zeros, const void *pc)
{
    st_emu_check_thread *self = st_emu_check_self(runner);
    st_emu_region *region;
    if (!self)
        return 0;
    self->clock++; // a clock of its own: it is waited for by itself
    st_emu_check_touch(runner, from, bytes, SIMTUNE_EMU_READ | ST_EMU_COPYING, pc, &region);
    uint32_t id = st_emu_check_touch(runner, to, bytes + zeros, SIMTUNE_EMU_WRITE | ST_EMU_COPYING,
                                     pc, &region);
    self->clock++;
    return id;
}

ST_EMU_ON_FIBER static st_emu_knowledge *knowledge_of_copy(st_emu_runner *runner, uint32_t ticket)
{
    st_emu_check *check = runner->check;
    if (!check || ticket < check->window)
        return NULL;
    const st_emu_context *copy = &check->contexts[ticket - check->window];
    st_emu_knowledge *made = st_malloc(sizeof *made + sizeof(st_emu_knowledge_entry));
    if (!made)
        st_emu_check_no_memory(runner);
    made->references = made->count = 1;
    made->entries[0] =
        (st_emu_knowledge_entry){ST_EMU_KEY_COPY(copy->block, copy->thread), copy->clock + 1};
    return made;
}

ST_EMU_ON_FIBER void st_emu_check_copied(st_emu_runner *runner, uint32_t ticket)
{
    st_emu_knowledge *known = knowledge_of_copy(runner, ticket);
    if (known)
        st_emu_knowledge_add(runner, &st_emu_check_self(runner)->far, known);
    st_emu_knowledge_drop(known);
}

ST_EMU_ON_FIBER void st_emu_check_completed(st_emu_runner *runner, uint32_t ticket,
                                            const void *object)
{
    st_emu_knowledge *known = knowledge_of_copy(runner, ticket);
    if (known)
        st_emu_knowledge_add(runner, &st_emu_check_place_make(runner, (uintptr_t)object)->known[0],
                             known);
    st_emu_knowledge_drop(known);
}
