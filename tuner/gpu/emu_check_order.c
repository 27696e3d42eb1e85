// SPDX-License-Identifier: Apache-2.0
// What a thread of the emulated device knows of the others' accesses: the order that barriers,
// fences and atomics give (see emu_check.c for what is done with it).
//
//  1. Each thread has a clock, which moves on whenever others may learn of what it has done; an
//     access is stamped with the clock of its time. "Known up to a bound" are the accesses whose
//     clock is below it.
//  2. Of its own block a thread knows up to check_block.bound (the last barrier of the block), of its
//     warp's lanes up to lanes[] (by __syncwarp), of all others and of copies what `far` holds.
//  3. What is handed over (at barriers, by release and acquire) is a sorted list of bounds, shared by
//     all who know the same and never changed.
//  4. A block's bound says nothing of its asynchronous copies: only who waited for one knows it.
//  5. As CUDA says: __syncwarp and barriers order memory, shuffles and votes do not; a relaxed atomic
//     orders only between fences; scopes must include both threads. A thread that has exited counts
//     as having arrived.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_check_internal.h"

#include <string.h>

// --- knowledge -----------------------------------------------------------------------------------

ST_EMU_ON_FIBER st_emu_knowledge *st_emu_knowledge_keep(st_emu_knowledge *known)
{
    if (known)
        known->references++;
    return known;
}

ST_EMU_ON_FIBER void st_emu_knowledge_drop(st_emu_knowledge *known)
{
    if (known && --known->references == 0)
        st_free(known);
}

ST_EMU_ON_FIBER static st_emu_knowledge *make(st_emu_runner *runner, unsigned capacity)
{
    st_emu_knowledge *made =
        st_malloc(sizeof *made + (size_t)capacity * sizeof(st_emu_knowledge_entry));
    if (!made)
        st_emu_check_no_memory(runner);
    made->references = 1;
    made->count = 0;
    return made;
}

// Appends; an entry that its block's bound covers is left out.
ST_EMU_ON_FIBER static void append(st_emu_knowledge *to, st_emu_knowledge_entry entry,
                                   st_emu_knowledge_entry *block)
{
    uint64_t slot = entry.key & 0xffffu;
    if (slot == 0)
        *block = entry;
    else if (slot < 0x8000u && block->key == entry.key - slot && block->bound >= entry.bound)
        return;
    to->entries[to->count++] = entry;
}

ST_EMU_ON_FIBER st_emu_knowledge *st_emu_knowledge_join(st_emu_runner *runner, st_emu_knowledge *a,
                                                        st_emu_knowledge *b)
{
    if (a == b || !b)
        return st_emu_knowledge_keep(a);
    if (!a)
        return st_emu_knowledge_keep(b);
    st_emu_check *check = runner->check;
    if (check->join_a == a && check->join_b == b) // a whole block learns the same
        return st_emu_knowledge_keep(check->join_result);
    st_emu_knowledge *made = make(runner, a->count + b->count);
    st_emu_knowledge_entry block = {UINT64_MAX, 0};
    unsigned i = 0, j = 0;
    while (i < a->count || j < b->count) {
        bool first = j == b->count || (i < a->count && a->entries[i].key <= b->entries[j].key);
        bool both = first && j < b->count && a->entries[i].key == b->entries[j].key;
        st_emu_knowledge_entry entry = first ? a->entries[i++] : b->entries[j];
        if (both && b->entries[j].bound > entry.bound)
            entry.bound = b->entries[j].bound;
        j += both || !first;
        append(made, entry, &block);
    }
    st_emu_knowledge_drop(check->join_a);
    st_emu_knowledge_drop(check->join_b);
    st_emu_knowledge_drop(check->join_result);
    check->join_a = st_emu_knowledge_keep(a);
    check->join_b = st_emu_knowledge_keep(b);
    check->join_result = st_emu_knowledge_keep(made);
    return made;
}

ST_EMU_ON_FIBER void st_emu_knowledge_add(st_emu_runner *runner, st_emu_knowledge **into,
                                          st_emu_knowledge *more)
{
    if (!more || *into == more)
        return;
    st_emu_knowledge *both = st_emu_knowledge_join(runner, *into, more);
    st_emu_knowledge_drop(*into);
    *into = both;
}

ST_EMU_ON_FIBER uint32_t st_emu_knowledge_bound(const st_emu_knowledge *known, uint64_t key)
{
    unsigned low = 0, high = known ? known->count : 0;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (known->entries[middle].key == key)
            return known->entries[middle].bound;
        if (known->entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

ST_EMU_ON_FIBER st_emu_knowledge *st_emu_knowledge_of(st_emu_runner *runner,
                                                      st_emu_check_block *block, unsigned thread)
{
    st_emu_check_thread *self = &block->threads[thread];
    st_emu_knowledge *own = make(runner, ST_EMU_WARP + 2);
    unsigned warp = thread / ST_EMU_WARP * ST_EMU_WARP;
    if (block->bound)
        own->entries[own->count++] =
            (st_emu_knowledge_entry){ST_EMU_KEY_BLOCK(block->number), block->bound};
    for (unsigned lane = 0; lane < ST_EMU_WARP; lane++) {
        uint32_t bound = warp + lane == thread ? self->clock + 1 : self->lanes[lane];
        if (bound > block->bound)
            own->entries[own->count++] =
                (st_emu_knowledge_entry){ST_EMU_KEY_THREAD(block->number, warp + lane), bound};
    }
    self->clock++;
    st_emu_knowledge_add(runner, &own, self->far);
    return own;
}

ST_EMU_ON_FIBER bool st_emu_check_knows(const st_emu_check_block *block,
                                        const st_emu_check_thread *self, unsigned thread,
                                        const st_emu_context *access)
{
    if (access->kind & ST_EMU_COPYING)
        return access->clock <
               st_emu_knowledge_bound(self->far, ST_EMU_KEY_COPY(access->block, access->thread));
    if (access->block == block->number) {
        if (access->thread == thread || access->clock < block->bound)
            return true;
        if (access->thread / ST_EMU_WARP == thread / ST_EMU_WARP &&
            access->clock < self->lanes[access->thread % ST_EMU_WARP])
            return true;
    }
    return self->far &&
           (access->clock < st_emu_knowledge_bound(self->far, ST_EMU_KEY_BLOCK(access->block)) ||
            access->clock < st_emu_knowledge_bound(
                                self->far, ST_EMU_KEY_THREAD(access->block, access->thread)));
}

void st_emu_check_thread_clear(st_emu_check_thread *thread)
{
    st_emu_knowledge_drop(thread->far);
    for (int scope = 0; scope < 2; scope++) {
        st_emu_knowledge_drop(thread->fenced[scope]);
        st_emu_knowledge_drop(thread->seen[scope]);
    }
    memset(thread, 0, sizeof *thread);
    thread->clock = 1;
}

// --- barriers ------------------------------------------------------------------------------------

ST_EMU_ON_FIBER void st_emu_check_barrier(st_emu_runner *runner, st_emu_block *block)
{
    st_emu_check_block *checked = block->checked;
    if (!runner->check || !checked)
        return;
    uint32_t clock = 0;
    st_emu_knowledge *far = NULL, *last = NULL;
    for (unsigned t = 0; t < block->threads; t++) {
        st_emu_check_thread *thread = &checked->threads[t];
        clock = thread->clock > clock ? thread->clock : clock;
        if (thread->far != last) // mostly all the same
            st_emu_knowledge_add(runner, &far, last = thread->far);
    }
    checked->bound = clock + 1;
    for (unsigned t = 0; t < block->threads; t++) {
        st_emu_check_thread *thread = &checked->threads[t];
        thread->clock = clock + 1;
        if (thread->far == far)
            continue;
        st_emu_knowledge_drop(thread->far);
        thread->far = st_emu_knowledge_keep(far);
    }
    st_emu_knowledge_drop(far);
}

ST_EMU_ON_FIBER void st_emu_check_warp(st_emu_runner *runner, st_emu_block *block, unsigned warp,
                                       uint32_t lanes)
{
    st_emu_check_block *checked = block->checked;
    if (!runner->check || !checked)
        return;
    st_emu_check_thread *threads = &checked->threads[warp * ST_EMU_WARP];
    uint32_t joint[ST_EMU_WARP] = {0};
    st_emu_knowledge *far = NULL;
    for (uint32_t left = lanes; left; left &= left - 1) {
        st_emu_check_thread *thread = &threads[__builtin_ctz(left)];
        for (unsigned l = 0; l < ST_EMU_WARP; l++)
            joint[l] = thread->lanes[l] > joint[l] ? thread->lanes[l] : joint[l];
        st_emu_knowledge_add(runner, &far, thread->far);
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        joint[lane] = ++threads[lane].clock;
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        st_emu_check_thread *thread = &threads[__builtin_ctz(left)];
        memcpy(thread->lanes, joint, sizeof joint);
        st_emu_knowledge_drop(thread->far);
        thread->far = st_emu_knowledge_keep(far);
    }
    st_emu_knowledge_drop(far);
}

ST_EMU_ON_FIBER void st_emu_check_arrive(st_emu_runner *runner, const void *object)
{
    st_emu_check_block *checked = runner->block->checked;
    if (!runner->check || !checked)
        return;
    st_emu_place *place = st_emu_check_place_make(runner, (uintptr_t)object);
    st_emu_knowledge *known = st_emu_knowledge_of(runner, checked, runner->current->index);
    st_emu_knowledge_add(runner, &place->known[0], known);
    st_emu_knowledge_drop(known);
}

ST_EMU_ON_FIBER void st_emu_check_pass(st_emu_runner *runner, st_emu_block *block, unsigned thread,
                                       const void *object)
{
    if (!runner->check || !block->checked)
        return;
    st_emu_place *place = st_emu_check_place(runner->check, (uintptr_t)object);
    if (place)
        st_emu_knowledge_add(runner, &block->checked->threads[thread].far, place->known[0]);
}

// --- the cluster's barrier -----------------------------------------------------------------------

ST_EMU_ON_FIBER void st_emu_check_cluster_arrive(st_emu_runner *runner, st_emu_cluster *cluster)
{
    st_emu_check_block *checked = runner->block->checked;
    if (!runner->check || !checked)
        return;
    st_emu_check_thread *self = &checked->threads[runner->current->index];
    self->arrived = ++self->clock;
    st_emu_knowledge_add(runner, &cluster->arrived_far, self->far);
}

// One block: a bound for all where all arrived with order, and more for those who know more.
ST_EMU_ON_FIBER static void add_block(st_emu_knowledge *to, st_emu_block *block)
{
    st_emu_check_block *checked = block->checked;
    uint32_t least = UINT32_MAX;
    for (unsigned t = 0; t < block->threads; t++) {
        st_emu_check_thread *thread = &checked->threads[t];
        if (block->fibers[t].state == ST_EMU_EXITED)
            thread->arrived = thread->clock + 1;
        least = thread->arrived < least ? thread->arrived : least;
    }
    if (least)
        to->entries[to->count++] =
            (st_emu_knowledge_entry){ST_EMU_KEY_BLOCK(checked->number), least};
    for (unsigned t = 0; t < block->threads; t++) {
        if (checked->threads[t].arrived > least)
            to->entries[to->count++] = (st_emu_knowledge_entry){
                ST_EMU_KEY_THREAD(checked->number, t), checked->threads[t].arrived};
        checked->threads[t].arrived = 0;
    }
}

ST_EMU_ON_FIBER void st_emu_check_cluster_complete(st_emu_runner *runner, st_emu_cluster *cluster)
{
    if (!runner->check)
        return;
    unsigned most = 0;
    for (unsigned r = 0; r < cluster->size; r++)
        most += cluster->blocks[r] ? cluster->blocks[r]->threads + 1 : 0;
    st_emu_knowledge *all = make(runner, most);
    for (unsigned r = 0; r < cluster->size; r++)
        if (cluster->blocks[r] && cluster->blocks[r]->checked)
            add_block(all, cluster->blocks[r]);
    st_emu_knowledge_add(runner, &all, cluster->arrived_far);
    st_emu_knowledge_drop(cluster->arrived_far);
    st_emu_knowledge_drop(cluster->known);
    cluster->arrived_far = NULL;
    cluster->known = all;
}

ST_EMU_ON_FIBER void st_emu_check_cluster_wait(st_emu_runner *runner, st_emu_cluster *cluster)
{
    st_emu_check_block *checked = runner->block->checked;
    if (!runner->check || !checked)
        return;
    st_emu_knowledge_add(runner, &checked->threads[runner->current->index].far, cluster->known);
}

void st_emu_check_cluster_free(st_emu_cluster *cluster)
{
    st_emu_knowledge_drop(cluster->arrived_far);
    st_emu_knowledge_drop(cluster->known);
}

// --- fences, acquire and release -----------------------------------------------------------------

ST_EMU_ON_FIBER void st_emu_check_fence(int narrow)
{
    st_emu_runner *runner = st_emu_active;
    int user = runner->user;
    runner->user = 0;
    st_emu_check_thread *self = st_emu_check_self(runner);
    if (self) {
        const st_emu_place *place =
            self->last_volatile ? st_emu_check_place(runner->check, self->last_volatile) : NULL;
        if (place)
            st_emu_check_acquire(runner, place, narrow, true);
        for (int scope = narrow ? 1 : 0; scope < 2; scope++) {
            st_emu_knowledge_add(runner, &self->far, self->seen[scope]);
            st_emu_knowledge_drop(self->seen[scope]);
            self->seen[scope] = NULL;
        }
        st_emu_knowledge *known =
            st_emu_knowledge_of(runner, runner->block->checked, runner->current->index);
        for (int scope = narrow ? 1 : 0; scope < 2; scope++) {
            st_emu_knowledge_drop(self->fenced[scope]);
            self->fenced[scope] = st_emu_knowledge_keep(known);
        }
        st_emu_knowledge_drop(known);
    }
    runner->user = user;
}

ST_EMU_ON_FIBER static void release(st_emu_runner *runner, st_emu_place *place,
                                    st_emu_knowledge *known, bool narrow)
{
    uint32_t block = runner->block->checked->number;
    if (place->block != block) {
        st_emu_knowledge_drop(place->known[1]);
        place->known[1] = NULL;
        place->block = block;
    }
    st_emu_knowledge_add(runner, &place->known[1], known);
    if (!narrow)
        st_emu_knowledge_add(runner, &place->known[0], known);
}

// What a store or change at this place hands over: everything, or what was fenced.
ST_EMU_ON_FIBER void st_emu_check_hand_over(st_emu_runner *runner, st_emu_place *place,
                                            bool releases, bool narrow)
{
    st_emu_check_thread *self = st_emu_check_self(runner);
    if (releases) {
        st_emu_knowledge *known =
            st_emu_knowledge_of(runner, runner->block->checked, runner->current->index);
        release(runner, place, known, narrow);
        st_emu_knowledge_drop(known);
        return;
    }
    if (self->fenced[1])
        release(runner, place, self->fenced[1], true);
    if (self->fenced[0])
        release(runner, place, self->fenced[0], narrow);
}

// later: a relaxed one, whose knowledge counts from the next fence on.
ST_EMU_ON_FIBER void st_emu_check_acquire(st_emu_runner *runner, const st_emu_place *place,
                                          bool narrow, bool later)
{
    st_emu_check_thread *self = st_emu_check_self(runner);
    if (place->block == runner->block->checked->number)
        st_emu_knowledge_add(runner, later ? &self->seen[1] : &self->far, place->known[1]);
    if (!narrow)
        st_emu_knowledge_add(runner, later ? &self->seen[0] : &self->far, place->known[0]);
}

// --- the places where they meet ------------------------------------------------------------------

ST_EMU_ON_FIBER static size_t slot_of(const st_emu_check *check, uintptr_t at)
{
    uint64_t hash = (uint64_t)at * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash >> 32) & (check->place_capacity - 1);
    while (check->places[slot].at && check->places[slot].at != at)
        slot = (slot + 1) & (check->place_capacity - 1);
    return slot;
}

ST_EMU_ON_FIBER st_emu_place *st_emu_check_place(st_emu_check *check, uintptr_t at)
{
    if (!check->place_capacity)
        return NULL;
    st_emu_place *place = &check->places[slot_of(check, at)];
    return place->at ? place : NULL;
}

ST_EMU_ON_FIBER st_emu_place *st_emu_check_place_make(st_emu_runner *runner, uintptr_t at)
{
    st_emu_check *check = runner->check;
    if (check->place_count * 2 >= check->place_capacity) {
        size_t capacity = check->place_capacity ? check->place_capacity * 2 : 256;
        st_emu_place *old = check->places, *more = st_calloc(capacity, sizeof *more);
        if (!more)
            st_emu_check_no_memory(runner);
        size_t former = check->place_capacity;
        check->places = more;
        check->place_capacity = capacity;
        for (size_t i = 0; i < former; i++)
            if (old[i].at)
                more[slot_of(check, old[i].at)] = old[i];
        st_free(old);
    }
    st_emu_place *place = &check->places[slot_of(check, at)];
    if (!place->at) {
        check->place_count++;
        *place = (st_emu_place){.at = at, .block = UINT32_MAX};
    }
    return place;
}

// Those of [from, from + bytes): emptied, and kept for who comes next.
void st_emu_check_places_clear(st_emu_check *check, uintptr_t from, size_t bytes)
{
    for (size_t i = 0; i < check->place_capacity; i++) {
        st_emu_place *place = &check->places[i];
        if (!place->at || place->at - from >= bytes)
            continue;
        st_emu_knowledge_drop(place->known[0]);
        st_emu_knowledge_drop(place->known[1]);
        *place = (st_emu_place){.at = place->at, .block = UINT32_MAX};
    }
}
