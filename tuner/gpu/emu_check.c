// SPDX-License-Identifier: Apache-2.0
// The checking mode: sees every access of a program that was compiled for it
// (templates/emu/checks.h) before it happens, and ends the launch at the first that CUDA leaves
// undefined.
//
//     access -> which region: the block's shared memory, the cluster's, an allocation (anything else
//               is not ours; emu_check_regions.c)
//            -> inside? written? ordered after what others did to these bytes (emu_check_order.c)?
//            -> its id into the region's shadow
//
// Invariants
//  1. An id names an access: who, when (clock), where in the code, which kind. Ids grow; those of
//     earlier launches are below `window` (the kernels' boundary orders them), those of earlier
//     blocks in the same shared memory below its region's `first` (they wrote nothing of this one).
//  2. For each byte the shadow holds the id of its last write and of two reads since. A read that
//     the reader knows of is replaced; of three and more reads that know nothing of each other two
//     are kept. So a race may be missed when there are many readers, and none is reported that is
//     not one.
//  3. Two accesses race when one of them writes, not both are strong (volatile or atomic, scopes
//     that include both), and who comes second does not know of the first. A write of the value
//     that is there already does not race with the write that put it there.
//  4. The order in which threads happen to run decides what an acquire sees and what is found
//     first; what barriers order or do not order is the same in every order.
//  5. A finding ends the launch; nothing that the kernel does after it is seen.
//  6. Hooks run with `user` cleared, so that the timer does not switch inside them.
#include "tuner/gpu/emu_check_internal.h"

#include <stdio.h>
#include <string.h>

// --- findings ------------------------------------------------------------------------------------

ST_EMU_ON_FIBER st_emu_check_thread *st_emu_check_self(st_emu_runner *runner)
{
    st_emu_check_block *block = runner->check ? runner->block->checked : NULL;
    return block ? &block->threads[runner->current->index] : NULL;
}

ST_EMU_ON_FIBER void st_emu_check_no_memory(st_emu_runner *runner)
{
    st_emu_stop(runner, NULL, 0, "the host has no memory for checking it");
}

// "4 bytes of `warps` in shared memory, at 8" or "…of an allocation of 1024 bytes, at 16".
ST_EMU_ON_FIBER static int describe_bytes(const st_emu_check *check, const st_emu_region *region,
                                          size_t off, size_t bytes, char *out, size_t capacity)
{
    if (!region->owner)
        return snprintf(out, capacity, "%zu bytes of an allocation of %zu bytes, at %zu", bytes,
                        region->bytes, off);
    const struct st_gpu_module *module = check->module;
    for (size_t v = 0; v < module->shared_variable_count; v++) {
        const st_emu_variable *variable = &module->shared_variables[v];
        if (off - variable->offset < variable->bytes)
            return snprintf(out, capacity, "%zu bytes of the shared `%s`, at %zu", bytes,
                            variable->name, off - variable->offset);
    }
    return snprintf(out, capacity, "%zu bytes of the dynamic shared memory, at %zu", bytes,
                    off - module->shared_static);
}

ST_EMU_ON_FIBER static void give_up(st_emu_runner *runner, const char *kind,
                                    const st_emu_context *by, const st_emu_context *other,
                                    bool other_kernel)
{
    st_emu_finding *finding = &runner->check->finding;
    finding->found = true;
    snprintf(finding->kind, sizeof finding->kind, "%s", kind);
    finding->by = *by;
    finding->has_other = other != NULL;
    if (other)
        finding->other = *other;
    finding->other_kernel = other_kernel;
    runner->user = 0;
    runner->failed = true;
    st_emu_switch(&runner->current->context, runner->main_context);
    __builtin_unreachable(); // emu_run.c, invariant 5
}

// Where a shared address lies that no variable holds: behind which one.
ST_EMU_ON_FIBER static void describe_gap(const st_emu_check *check, size_t off, size_t bytes,
                                         char *out, size_t capacity)
{
    const st_emu_variable *before = NULL;
    const struct st_gpu_module *module = check->module;
    for (size_t v = 0; v < module->shared_variable_count; v++) {
        const st_emu_variable *variable = &module->shared_variables[v];
        if (variable->offset <= off && (!before || variable->offset > before->offset))
            before = variable;
    }
    if (before)
        snprintf(out, capacity, "%zu bytes at %zu of the shared `%s`, which has %zu bytes", bytes,
                 off - before->offset, before->name, before->bytes);
    else
        snprintf(out, capacity, "%zu bytes of shared memory that belong to no variable", bytes);
}

// Ends the launch when [off, off + bytes) is not all within one thing that may be accessed.
ST_EMU_ON_FIBER static void need_inside(st_emu_runner *runner, const st_emu_region *region,
                                        uintptr_t at, size_t bytes, const st_emu_context *by)
{
    st_emu_finding *finding = &runner->check->finding;
    const struct st_gpu_module *module = runner->check->module;
    size_t off = at - region->data;
    bool inside = off < region->bytes && bytes <= region->bytes - off;
    bool is_shared = region->owner != NULL;
    if (inside && is_shared && off < module->shared_static) {
        uint16_t owner = module->shared_owner ? module->shared_owner[off] : 1;
        size_t end = off + bytes - 1;
        if (owner && (!module->shared_owner ||
                      (end < module->shared_static && module->shared_owner[end] == owner)))
            return;
        describe_gap(runner->check, off, bytes, finding->what, sizeof finding->what);
        give_up(runner, "out of bounds", by, NULL, false);
    }
    if (inside)
        return;
    if (is_shared && off < region->mapped)
        snprintf(finding->what, sizeof finding->what,
                 "%zu bytes %zu beyond the block's shared memory (%zu of them dynamic)", bytes,
                 off + bytes - region->bytes, runner->launch->dynamic_shared);
    else if (is_shared)
        snprintf(finding->what, sizeof finding->what,
                 "%zu bytes, %zu before the block's shared memory", bytes, (size_t)0 - off);
    else if (off < region->mapped)
        snprintf(finding->what, sizeof finding->what,
                 "%zu bytes, %zu bytes beyond the end of an allocation of %zu bytes", bytes,
                 off + bytes - region->bytes, region->bytes);
    else
        snprintf(finding->what, sizeof finding->what,
                 "%zu bytes, %zu bytes before an allocation of %zu bytes", bytes, (size_t)0 - off,
                 region->bytes);
    give_up(runner, "out of bounds", by, NULL, false);
}

// --- one access ----------------------------------------------------------------------------------

ST_EMU_ON_FIBER static uint32_t new_id(st_emu_check *check, const st_emu_context *access)
{
    if (check->next - check->window >= ST_EMU_MOST_CONTEXTS) {
        check->window = check->next; // what was before is taken for ordered
        check->launch_first = check->next;
    }
    check->contexts[check->next - check->window] = *access;
    return check->next++;
}

// The same for the same line and clock, so that a loop does not fill the table.
ST_EMU_ON_FIBER static uint32_t id_of(st_emu_check *check, st_emu_check_thread *self,
                                      const st_emu_context *access)
{
    uint32_t key = access->pc << 5 | (access->kind & 31u);
    unsigned slot = key * 2654435761u >> 27;
    if (self->accesses[slot].key == key && self->accesses[slot].clock == self->clock &&
        self->accesses[slot].id >= check->window)
        return self->accesses[slot].id;
    self->accesses[slot].key = key;
    self->accesses[slot].clock = self->clock;
    return self->accesses[slot].id = new_id(check, access);
}

typedef struct access_work {
    st_emu_runner *runner;
    st_emu_check *check;
    st_emu_check_thread *self;
    st_emu_region *region;
    st_emu_context by;
} access_work;

ST_EMU_ON_FIBER bool st_emu_check_is_known(st_emu_runner *runner, uint32_t id)
{
    const st_emu_check *check = runner->check;
    const st_emu_check_thread *self = st_emu_check_self(runner);
    if (id < check->window || (id < check->launch_first && self->waited))
        return true;
    return st_emu_check_knows(runner->block->checked, self, runner->current->index,
                              &check->contexts[id - check->window]);
}

ST_EMU_ON_FIBER static bool both_strong(const st_emu_context *a, const st_emu_context *b,
                                        bool two_kernels)
{
    if (!(a->kind & b->kind & SIMTUNE_EMU_STRONG))
        return false;
    return (a->block == b->block && !two_kernels) || !((a->kind | b->kind) & ST_EMU_NARROW);
}

// A write after a write: whether it changes anything is seen once it has been made, which is before
// the next access that is reported.
ST_EMU_ON_FIBER static bool can_wait(const access_work *work, const st_emu_context *other,
                                     size_t off, size_t bytes)
{
    st_emu_doubt *doubt = &work->check->doubt;
    if (work->by.kind != SIMTUNE_EMU_WRITE || other->kind != SIMTUNE_EMU_WRITE ||
        bytes > sizeof doubt->before)
        return false;
    doubt->at = work->region->data + off;
    doubt->bytes = (unsigned)bytes;
    for (size_t i = 0; i < bytes; i++)
        doubt->before[i] = ((const volatile uint8_t *)doubt->at)[i];
    doubt->by = work->by;
    doubt->other = *other;
    return true;
}

ST_EMU_ON_FIBER void st_emu_check_settle(st_emu_runner *runner)
{
    st_emu_check *check = runner->check;
    if (!check || !check->doubt.bytes)
        return;
    st_emu_doubt *doubt = &check->doubt;
    unsigned bytes = doubt->bytes;
    doubt->bytes = 0;
    for (unsigned i = 0; i < bytes; i++)
        if (((const volatile uint8_t *)doubt->at)[i] != doubt->before[i])
            give_up(runner, "race", &doubt->by, &doubt->other, false);
}

ST_EMU_ON_FIBER static void need_order(const access_work *work, uint32_t id, size_t off,
                                       size_t bytes)
{
    st_emu_check *check = work->check;
    if (id < check->window || st_emu_check_is_known(work->runner, id))
        return;
    const st_emu_context *other = &check->contexts[id - check->window];
    bool other_kernel = id < check->launch_first;
    if (both_strong(&work->by, other, other_kernel))
        return;
    describe_bytes(check, work->region, off, bytes, check->finding.what,
                   sizeof check->finding.what);
    if (!other_kernel && can_wait(work, other, off, bytes))
        return;
    give_up(work->runner, "race", &work->by, other, other_kernel);
}

ST_EMU_ON_FIBER static void need_written(const access_work *work, uint32_t id, size_t off,
                                         size_t bytes)
{
    uint32_t least = work->region->owner ? work->region->first : ST_EMU_HOST;
    if (id >= least || work->check->trusted)
        return;
    describe_bytes(work->check, work->region, off, bytes, work->check->finding.what,
                   sizeof work->check->finding.what);
    give_up(work->runner, "uninitialised", &work->by, NULL, false);
}

// Of two slots for reads: that of one that we know of, else the second.
ST_EMU_ON_FIBER static void note_read(const access_work *work, size_t at, uint32_t id,
                                      uint32_t *replaceable)
{
    uint32_t *read = &work->region->read[at], *other = &work->region->other[at];
    if (*read == id)
        return;
    uint32_t stale = work->region->owner ? work->region->first : 0;
    if (*read < stale || *read == *replaceable || st_emu_check_is_known(work->runner, *read)) {
        *replaceable = *read;
        *read = id;
    } else {
        *other = id;
    }
}

ST_EMU_ON_FIBER static void touch_read(const access_work *work, size_t off, size_t bytes,
                                       uint32_t id)
{
    uint32_t last = UINT32_MAX, replaceable = UINT32_MAX;
    for (size_t i = off; i < off + bytes; i++) {
        uint32_t written = work->region->write[i];
        if (written != last) {
            need_written(work, written, off, bytes);
            need_order(work, written, off, bytes);
            last = written;
        }
        note_read(work, i, id, &replaceable);
    }
}

ST_EMU_ON_FIBER static void touch_write(const access_work *work, size_t off, size_t bytes,
                                        uint32_t id)
{
    st_emu_region *region = work->region;
    uint32_t last[3] = {0, 0, 0};
    for (size_t i = off; i < off + bytes; i++) {
        uint32_t *slots[3] = {&region->write[i], &region->read[i], &region->other[i]};
        for (int s = 0; s < 3; s++) {
            uint32_t seen = *slots[s];
            if (seen == last[s] || seen == id || (region->owner && seen < region->first))
                continue;
            need_order(work, seen, off, bytes);
            last[s] = seen;
        }
        region->write[i] = id;
        region->read[i] = region->other[i] = 0;
    }
}

// Returns its id, and the region; 0 when the address is not ours (a stack, the program's own data).
ST_EMU_ON_FIBER uint32_t st_emu_check_touch(st_emu_runner *runner, const void *at, size_t bytes,
                                            unsigned kind, const void *pc, st_emu_region **where)
{
    access_work work = {.runner = runner, .check = runner->check};
    st_emu_check_settle(runner);
    work.check->last_pc = (uint32_t)((uintptr_t)pc - work.check->base);
    *where = work.region = st_emu_check_region(work.check, runner, (uintptr_t)at);
    if (!work.region || bytes == 0)
        return 0;
    work.self = st_emu_check_self(runner);
    work.by = (st_emu_context){.block = runner->block->checked->number,
                               .clock = work.self->clock,
                               .pc = work.check->last_pc,
                               .thread = (uint16_t)runner->current->index,
                               .kind = (uint16_t)kind};
    need_inside(runner, work.region, (uintptr_t)at, bytes, &work.by);
    size_t off = (uintptr_t)at - work.region->data;
    uint32_t id = id_of(work.check, work.self, &work.by);
    if (kind & SIMTUNE_EMU_READ)
        touch_read(&work, off, bytes, id);
    if (kind & SIMTUNE_EMU_WRITE)
        touch_write(&work, off, bytes, id);
    return id;
}

// Volatile accesses are relaxed atomics: what was fenced before goes with a store, and a load's
// knowledge counts from the next fence on. The load itself is yet to come: the fence looks again.
ST_EMU_ON_FIBER static void note_volatile(st_emu_runner *runner, uintptr_t at, unsigned kind)
{
    st_emu_check_thread *self = st_emu_check_self(runner);
    if (kind & SIMTUNE_EMU_READ)
        self->last_volatile = at;
    if ((kind & SIMTUNE_EMU_WRITE) && (self->fenced[0] || self->fenced[1])) {
        st_emu_place *place = st_emu_check_place_make(runner, at);
        st_emu_check_hand_over(runner, place, false, false);
    }
}

ST_EMU_ON_FIBER void st_emu_check_access(const void *at, unsigned long bytes, unsigned kind,
                                         const void *pc)
{
    st_emu_runner *runner = st_emu_active;
    if (!runner->check)
        return;
    st_emu_region *region;
    int user = runner->user;
    runner->user = 0;
    uint32_t id = st_emu_check_touch(runner, at, bytes, kind, pc, &region);
    if (id && (kind & SIMTUNE_EMU_STRONG))
        note_volatile(runner, (uintptr_t)at, kind);
    runner->user = user;
}
