// SPDX-License-Identifier: Apache-2.0 The memory that the checking mode watches, the shadow of it,
// and the checker's own life from launch to launch. Invariants: 1. every allocation of the device
// has a region, every running block one for its shared memory; 2. the shadow of shared memory is
// not cleared between blocks: ids below `first` say nothing; 3. a shadow costs memory only where it
// is touched.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_check_internal.h"

#include <string.h>
#include <sys/mman.h>

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

ST_EMU_ON_FIBER st_emu_region *st_emu_check_region(st_emu_check *check, st_emu_runner *runner,
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
    check->dependent = launch->dependent && check->next - check->window < ST_EMU_MOST_CONTEXTS / 2;
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
    made->contexts = map_zeroes(ST_EMU_MOST_CONTEXTS * sizeof *made->contexts);
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
    munmap(check->contexts, ST_EMU_MOST_CONTEXTS * sizeof *check->contexts);
    st_free(check->regions);
    st_free(check);
}
