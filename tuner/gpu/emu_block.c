// SPDX-License-Identifier: Apache-2.0
// The memory of the emulated device's blocks: stacks of their threads, shared memory. Both are kept
// from block to block and grow when a launch needs more.
//
//  1. Below each stack lies an inaccessible page; below and above the shared memory, which ends
//  there, 64 KiB.
//  2. Stacks are reserved, not used: a page costs memory once it has been touched.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_check.h"

#include <sys/mman.h>

static void unmap_shared(st_emu_block *block) {
    if (block->shared_map)
        munmap(block->shared_map - ST_EMU_SHARED_GUARD,
               block->shared_capacity + 2 * ST_EMU_SHARED_GUARD);
}

void st_emu_block_free(st_emu_block *block) {
    if (!block)
        return;
    if (block->stacks)
        munmap(block->stacks, (size_t)block->capacity * ST_EMU_STACK);
    unmap_shared(block);
    st_emu_check_block_free(block);
    st_emu_copies_drop(&block->bulk);
    for (unsigned t = 0; t < block->capacity; t++)
        st_emu_copies_drop(&block->fibers[t].copies);
    st_free(block->fibers);
    st_free(block);
}

static bool reserve_stacks(st_emu_block *block, unsigned threads) {
    if (threads <= block->capacity)
        return true;
    st_emu_fiber *fibers = st_calloc(threads, sizeof *fibers);
    char *stacks = mmap(NULL, threads * ST_EMU_STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!fibers || stacks == MAP_FAILED) {
        st_free(fibers);
        if (stacks != MAP_FAILED)
            munmap(stacks, threads * ST_EMU_STACK);
        return false;
    }
    for (unsigned t = 0; t < threads; t++) // a stack that overflows meets an inaccessible page
        if (mprotect(stacks + t * ST_EMU_STACK, ST_EMU_PAGE, PROT_NONE)) {
            munmap(stacks, threads * ST_EMU_STACK);
            st_free(fibers);
            return false;
        }
    for (unsigned t = 0; t < block->capacity; t++)
        st_emu_copies_drop(&block->fibers[t].copies);
    if (block->stacks)
        munmap(block->stacks, (size_t)block->capacity * ST_EMU_STACK);
    st_free(block->fibers);
    block->fibers = fibers;
    block->stacks = stacks;
    block->capacity = threads;
    return true;
}

static bool reserve_shared(st_emu_block *block, const st_emu_launch *launch) {
    size_t align = launch->shared_align < 16 ? 16 : launch->shared_align;
    size_t bytes = (launch->static_shared + launch->dynamic_shared + align - 1) / align * align;
    size_t capacity = (bytes + ST_EMU_PAGE - 1) / ST_EMU_PAGE * ST_EMU_PAGE;
    if (!block->shared_map || capacity > block->shared_capacity) {
        size_t mapped = capacity + 2 * ST_EMU_SHARED_GUARD;
        char *map =
            mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED)
            return false;
        if (capacity && mprotect(map + ST_EMU_SHARED_GUARD, capacity, PROT_READ | PROT_WRITE)) {
            munmap(map, mapped);
            return false;
        }
        unmap_shared(block);
        block->shared_map = map + ST_EMU_SHARED_GUARD;
        block->shared_capacity = capacity;
    }
    block->shared_bytes = bytes;
    block->shared = block->shared_map + block->shared_capacity - bytes;
    return true;
}

st_emu_block *st_emu_block_take(st_emu_runner *runner, unsigned threads) {
    st_emu_block *block = runner->free_blocks;
    if (block)
        runner->free_blocks = block->next_free;
    else
        block = st_calloc(1, sizeof *block);
    if (!block)
        return NULL;
    if (!reserve_stacks(block, threads) || !reserve_shared(block, runner->launch)) {
        st_emu_block_free(block);
        return NULL;
    }
    return block;
}

void st_emu_block_start_threads(st_emu_runner *runner, st_emu_block *block) {
    const st_emu_launch *launch = runner->launch;
    unsigned width = launch->block[0], height = launch->block[1];
    for (unsigned t = 0; t < block->threads; t++) {
        st_emu_fiber *fiber = &block->fibers[t];
        st_emu_copies_drop(&fiber->copies);
        fiber->view = (struct simtune_emu_thread){
            .thread_index = {t % width, t / width % height, t / width / height},
            .block_index = {block->index[0], block->index[1], block->index[2]},
            .block_size = {launch->block[0], launch->block[1], launch->block[2]},
            .grid_size = {launch->grid[0], launch->grid[1], launch->grid[2]},
            .shared = block->shared,
            .lane = t % ST_EMU_WARP,
            .dynamic_shared = (unsigned)launch->dynamic_shared,
        };
        fiber->index = t;
        fiber->state = ST_EMU_READY;
        fiber->cluster_phase = 0;
        fiber->copy_group = 0;
        // Stacks begin at different places of their pages: equal ones would share few cache lines.
        char *top = block->stacks + (t + 1) * ST_EMU_STACK - (t * 192 & 2047);
        fiber->context = st_emu_fiber_prepare(top);
    }
}
