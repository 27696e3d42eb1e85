// SPDX-License-Identifier: Apache-2.0
// The checking mode: sees every access of a program that was compiled for it (templates/emu/checks.h)
// before it happens, and ends the launch at the first that CUDA leaves undefined.
//
//     access -> which region (block's shared memory, cluster's, an allocation; anything else is not ours)
//            -> inside? written? ordered after what others did to these bytes? -> its id into the shadow
//
// Invariants
//  1. An id names an access: who, when (clock), where in the code, which kind. Ids grow; they are
//     told apart from those of earlier launches (below `window`: ordered by the kernels' boundary) and
//     of earlier blocks in the same shared memory (below its region's `first`: never written) by that.
//  2. For each byte the shadow holds the id of its last write and of two reads since. A read that the
//     reader knows of is replaced; of three and more reads that know nothing of each other two are
//     kept. So a race may be missed when there are many readers, and none is reported that is not one.
//  3. Two accesses race when one of them writes, not both are strong (volatile or atomic, scopes that
//     include both), and who comes second does not know of the first (emu_check_order.c). A write of
//     the value that is there already does not race with the write that put it there.
//  4. The order in which threads happen to run decides what is found first, not what is a race.
//  5. A finding ends the launch; nothing that the kernel does after it is seen.
//  6. Hooks run with `user` cleared, so that the timer does not switch inside them.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_check_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_CONTEXTS ((uint32_t)32 << 20) // of a launch; beyond, older ones are forgotten
#define LAST_ID 0xe0000000u

static void *map_zeroes(size_t bytes)
{
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return made == MAP_FAILED ? NULL : made;
}

// --- regions -------------------------------------------------------------------------------------

static bool shadow_make(st_emu_region *region, size_t bytes)
{
    size_t words = (bytes + 15) / 16 * 16;
    region->shadow_bytes = words * 3 * sizeof(uint32_t);
    region->write = words ? map_zeroes(region->shadow_bytes) : NULL;
    region->read = region->write + words;
    region->other = region->read + words;
    return region->write || !words;
}

static void shadow_free(st_emu_region *region)
{
    if (region->write)
        munmap(region->write, region->shadow_bytes);
    region->write = NULL;
}

bool st_emu_check_add(st_emu_check *check, void *map, size_t mapped, void *data, size_t bytes)
{
    st_emu_region **more = st_grow(check->regions, &check->region_capacity, check->region_count + 1,
                                   sizeof(st_emu_region *));
    if (!more)
        return false;
    check->regions = more;
    st_emu_region *made = st_calloc(1, sizeof *made);
    if (!made || !shadow_make(made, bytes)) {
        st_free(made);
        return false;
    }
    made->map = (uintptr_t)map;
    made->mapped = mapped;
    made->data = (uintptr_t)data;
    made->bytes = bytes;
    check->regions[check->region_count++] = made;
    return true;
}

void st_emu_check_remove(st_emu_check *check, const void *data)
{
    for (size_t i = 0; i < check->region_count; i++) {
        st_emu_region *found = check->regions[i];
        if (found->data != (uintptr_t)data)
            continue;
        st_emu_check_places_clear(check, found->data, found->bytes);
        shadow_free(found);
        st_free(found);
        check->regions[i] = check->regions[--check->region_count];
        check->last_region = 0;
        return;
    }
}

void st_emu_check_written(st_emu_check *check, const void *at, size_t bytes, bool nothing)
{
    for (size_t i = 0; i < check->region_count; i++) {
        st_emu_region *region = check->regions[i];
        size_t from = (uintptr_t)at - region->data;
        if (from >= region->bytes)
            continue;
        for (size_t b = from; b < from + bytes && b < region->bytes; b++) {
            region->write[b] = nothing ? ST_EMU_NOTHING : ST_EMU_HOST;
            region->read[b] = region->other[b] = 0;
        }
    }
}

ST_EMU_ON_FIBER static st_emu_region *find_region(st_emu_check *check, st_emu_runner *runner,
                                                  uintptr_t at)
{
    const st_emu_block *block = runner->block;
    if (check->last_region < check->region_count) {
        st_emu_region *last = check->regions[check->last_region];
        if (at - last->map < last->mapped)
            return last;
    }
    if (at - block->checked->shared.map < block->checked->shared.mapped)
        return &block->checked->shared;
    if (at - (uintptr_t)block->stacks < (uintptr_t)block->capacity * ST_EMU_STACK)
        return NULL;
    for (unsigned r = 0; block->cluster->size > 1 && r < block->cluster->size; r++) {
        const st_emu_block *other = block->cluster->blocks[r];
        if (other && at - other->checked->shared.map < other->checked->shared.mapped)
            return &other->checked->shared;
    }
    for (size_t i = 0; i < check->region_count; i++)
        if (at - check->regions[i]->map < check->regions[i]->mapped) {
            check->last_region = i;
            return check->regions[i];
        }
    return NULL;
}

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
    if (check->next - check->window >= MAX_CONTEXTS) {
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

// Is what `id` names (of this launch, or of the one before) ordered before us?
ST_EMU_ON_FIBER static bool is_known(const access_work *work, uint32_t id)
{
    const st_emu_check *check = work->check;
    if (id < check->window)
        return true;
    if (id < check->launch_first && work->self->waited)
        return true;
    return st_emu_check_knows(work->runner->block->checked, work->self, work->by.thread,
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
    if (id < check->window || is_known(work, id))
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
    if (*read < stale || *read == *replaceable || is_known(work, *read)) {
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
ST_EMU_ON_FIBER static uint32_t touch(st_emu_runner *runner, const void *at, size_t bytes,
                                      unsigned kind, const void *pc, st_emu_region **where)
{
    access_work work = {.runner = runner, .check = runner->check};
    st_emu_check_settle(runner);
    work.check->last_pc = (uint32_t)((uintptr_t)pc - work.check->base);
    *where = work.region = find_region(work.check, runner, (uintptr_t)at);
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
    uint32_t id = touch(runner, at, bytes, kind, pc, &region);
    if (id && (kind & SIMTUNE_EMU_STRONG))
        note_volatile(runner, (uintptr_t)at, kind);
    runner->user = user;
}

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

ST_EMU_ON_FIBER static uint64_t read_word(const void *at, unsigned bytes)
{
    switch (bytes) {
    case 1:
        return *(const volatile uint8_t *)at;
    case 2:
        return *(const volatile uint16_t *)at;
    case 4:
        return *(const volatile uint32_t *)at;
    default:
        return *(const volatile uint64_t *)at;
    }
}

ST_EMU_ON_FIBER static void write_word(void *at, unsigned bytes, uint64_t value)
{
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
    return touch(runner, at, bytes, kind | SIMTUNE_EMU_STRONG | (*narrow ? ST_EMU_NARROW : 0), pc,
                 &region);
}

// The id of the last write to the byte at `at`.
ST_EMU_ON_FIBER static uint32_t last_write(st_emu_runner *runner, const void *at)
{
    st_emu_region *region = find_region(runner->check, runner, (uintptr_t)at);
    return region->write[(uintptr_t)at - region->data];
}

ST_EMU_ON_FIBER simtune_emu_u64 st_emu_check_load(const void *at, unsigned bytes, int order,
                                                  const void *pc)
{
    st_emu_runner *runner = st_emu_active;
    bool narrow;
    runner->user = 0;
    uint32_t id = touch_strong(runner, at, bytes, SIMTUNE_EMU_READ,
                               pc ? pc : __builtin_return_address(0), &narrow);
    uint64_t value = read_word(at, bytes);
    st_emu_place *place = id ? st_emu_check_place(runner->check, (uintptr_t)at) : NULL;
    if (place) {
        access_work work = {.runner = runner,
                            .check = runner->check,
                            .self = st_emu_check_self(runner),
                            .by = {.thread = (uint16_t)runner->current->index}};
        // One load that knows nothing of the last store may miss it: the next will not.
        if (place->has_old && place->writer == last_write(runner, at) &&
            !is_known(&work, place->writer)) {
            place->has_old = false;
            value = place->old;
        } else {
            st_emu_check_acquire(runner, place, narrow, order == SIMTUNE_EMU_RELAXED);
        }
    }
    runner->user = 1;
    return value;
}

ST_EMU_ON_FIBER void st_emu_check_store(void *at, unsigned bytes, simtune_emu_u64 value, int order,
                                        const void *pc)
{
    st_emu_runner *runner = st_emu_active;
    bool narrow;
    runner->user = 0;
    uint32_t id = touch_strong(runner, at, bytes, SIMTUNE_EMU_WRITE,
                               pc ? pc : __builtin_return_address(0), &narrow);
    if (id) {
        st_emu_place *place = st_emu_check_place_make(runner, (uintptr_t)at);
        place->has_old = true;
        place->old = read_word(at, bytes);
        place->writer = id;
        st_emu_check_hand_over(runner, place, order >= SIMTUNE_EMU_RELEASE, narrow);
    }
    write_word(at, bytes, value);
    runner->user = 1;
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
    return read_word(at, bytes);
}

ST_EMU_ON_FIBER void st_emu_check_end_change(void *at, unsigned bytes, simtune_emu_u64 value)
{
    write_word(at, bytes, value);
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
    touch(runner, from, bytes, SIMTUNE_EMU_READ | ST_EMU_COPYING, pc, &region);
    uint32_t id = touch(runner, to, bytes + zeros, SIMTUNE_EMU_WRITE | ST_EMU_COPYING, pc, &region);
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

// --- launches and blocks -------------------------------------------------------------------------

// Ids begin anew: what kernels wrote becomes what the host wrote.
static void restart_ids(st_emu_check *check)
{
    for (size_t r = 0; r < check->region_count; r++)
        for (size_t i = 0; i < check->regions[r]->bytes; i++) {
            uint32_t *write = &check->regions[r]->write[i];
            *write = *write > ST_EMU_HOST ? ST_EMU_HOST : *write;
            check->regions[r]->read[i] = check->regions[r]->other[i] = 0;
        }
    check->restarts++;
    check->next = check->window = check->launch_first = ST_EMU_FIRST_ID;
}

static void drop_places(st_emu_check *check)
{
    for (size_t i = 0; i < check->place_capacity; i++) {
        st_emu_knowledge_drop(check->places[i].known[0]);
        st_emu_knowledge_drop(check->places[i].known[1]);
    }
    st_free(check->places);
    check->places = NULL;
    check->place_count = check->place_capacity = 0;
}

bool st_emu_check_begin(st_emu_check *check, st_emu_runner *runner)
{
    const st_emu_launch *launch = runner->launch;
    if (check->next > LAST_ID)
        restart_ids(check);
    check->dependent = launch->dependent && check->next - check->window < MAX_CONTEXTS / 2;
    check->window = check->dependent ? check->launch_first : check->next;
    check->launch_first = check->next;
    check->block_base = check->dependent ? check->block_base + check->blocks : 0;
    check->blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    check->trusted = strncmp(launch->kernel->name, "simtune_support_", 16) == 0;
    check->module = launch->module;
    check->base = launch->module->base;
    check->last_pc = 0;
    check->finding = (st_emu_finding){.found = false};
    check->doubt.bytes = 0;
    if (!check->dependent) // what it does not wait for it may learn of by acquire
        drop_places(check);
    return true;
}

void st_emu_check_end(st_emu_check *check)
{
    st_emu_knowledge_drop(check->join_a);
    st_emu_knowledge_drop(check->join_b);
    st_emu_knowledge_drop(check->join_result);
    check->join_a = check->join_b = check->join_result = NULL;
}

static bool reserve_block(st_emu_check *check, st_emu_block *block, st_emu_check_block *checked)
{
    if (checked->capacity < block->threads) {
        st_emu_check_thread *threads = st_calloc(block->threads, sizeof *threads);
        if (!threads)
            return false;
        for (unsigned t = 0; t < checked->capacity; t++)
            st_emu_check_thread_clear(&checked->threads[t]);
        st_free(checked->threads);
        checked->threads = threads;
        checked->capacity = block->threads;
    }
    st_emu_region *shared = &checked->shared;
    if (shared->shadow_bytes < block->shared_bytes * 3 * sizeof(uint32_t) ||
        checked->restarts != check->restarts) {
        shadow_free(shared);
        checked->restarts = check->restarts;
        if (!shadow_make(shared, block->shared_bytes))
            return false;
    }
    return true;
}

bool st_emu_check_block_begin(st_emu_check *check, st_emu_block *block, unsigned number)
{
    st_emu_check_block *checked = block->checked;
    if (!checked && !(checked = block->checked = st_calloc(1, sizeof *checked)))
        return false;
    if (!reserve_block(check, block, checked))
        return false;
    const st_emu_launch *launch = st_emu_active->launch;
    checked->number = check->block_base + number;
    checked->bound = 0;
    checked->shared.owner = checked;
    checked->shared.map = (uintptr_t)block->shared_map - ST_EMU_SHARED_GUARD;
    checked->shared.mapped = block->shared_capacity + 2 * ST_EMU_SHARED_GUARD;
    checked->shared.data = (uintptr_t)block->shared;
    checked->shared.bytes = launch->static_shared + launch->dynamic_shared;
    checked->shared.first = check->next;
    for (unsigned t = 0; t < block->threads; t++) {
        st_emu_check_thread_clear(&checked->threads[t]);
        checked->threads[t].waited = !check->dependent;
    }
    return true;
}

void st_emu_check_block_end(st_emu_check *check, st_emu_block *block)
{
    if (!block->checked || !check->place_count)
        return;
    st_emu_check_places_clear(check, (uintptr_t)block->barriers, sizeof block->barriers);
    st_emu_check_places_clear(check, (uintptr_t)block->shared, block->shared_bytes);
}

void st_emu_check_block_free(st_emu_block *block)
{
    st_emu_check_block *checked = block->checked;
    if (!checked)
        return;
    for (unsigned t = 0; t < checked->capacity; t++)
        st_emu_check_thread_clear(&checked->threads[t]);
    shadow_free(&checked->shared);
    st_free(checked->threads);
    st_free(checked);
    block->checked = NULL;
}

// --- the checker ---------------------------------------------------------------------------------

st_emu_check *st_emu_check_make(void)
{
    st_emu_check *made = st_calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->contexts = map_zeroes(MAX_CONTEXTS * sizeof *made->contexts);
    if (!made->contexts) {
        st_free(made);
        return NULL;
    }
    made->next = made->window = made->launch_first = ST_EMU_FIRST_ID;
    return made;
}

void st_emu_check_free(st_emu_check *check)
{
    if (!check)
        return;
    st_emu_check_end(check);
    drop_places(check);
    while (check->region_count > 0)
        st_emu_check_remove(check, (const void *)check->regions[0]->data);
    munmap(check->contexts, MAX_CONTEXTS * sizeof *check->contexts);
    st_free(check->regions);
    st_free(check);
}
