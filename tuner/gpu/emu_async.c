// SPDX-License-Identifier: Apache-2.0
// Clusters and asynchronous copies of the emulated device.
//
//  1. An asynchronous copy is done when its thread waits for it, or exits: as late as allowed, so
//  that reading
//     what has not been waited for gives what was there before.
//  2. A bulk copy is done when someone tests the barrier object that it completes on.
//  3. A barrier object is 64 bits: phase 1 bit, pending arrivals 15, expected arrivals 15, bytes
//  under
//     way 33 (two's complement).
//  4. The cluster's barrier counts the threads of all its blocks that have not exited.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_check.h"

#include <string.h>

// --- clusters ----------------------------------------------------------------------------------

ST_EMU_ON_FIBER unsigned st_emu_cluster_rank(void) {
    return st_emu_active->block->rank;
}

ST_EMU_ON_FIBER unsigned st_emu_cluster_size(void) {
    return st_emu_active->launch->cluster;
}

ST_EMU_ON_FIBER static unsigned alive_threads(const st_emu_cluster *cluster) {
    unsigned alive = 0;
    for (unsigned r = 0; r < cluster->size; r++)
        alive += cluster->blocks[r] ? cluster->blocks[r]->alive : 0;
    return alive;
}

ST_EMU_ON_FIBER static void complete_phase(st_emu_cluster *cluster) {
    st_emu_check_cluster_complete(st_emu_active, cluster);
    st_emu_active->counts.cluster_barriers++;
    cluster->phase++;
    cluster->arrived = 0;
    for (unsigned r = 0; r < cluster->size; r++) {
        st_emu_block *block = cluster->blocks[r];
        for (unsigned t = 0; block && t < block->threads; t++)
            if (block->fibers[t].state == ST_EMU_AT_CLUSTER)
                st_emu_make_ready(block, t / ST_EMU_WARP, 1u << (t % ST_EMU_WARP));
    }
}

ST_EMU_ON_FIBER void st_emu_cluster_arrive(int relaxed, SIMTUNE_EMU_PLACE) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    st_emu_cluster *cluster = runner->block->cluster;
    st_emu_fiber *fiber = runner->current;
    if (fiber->cluster_phase)
        st_emu_stop(runner, file, line, "arrives at the cluster's barrier twice without waiting");
    fiber->cluster_phase = cluster->phase + 1;
    if (!relaxed)
        st_emu_check_cluster_arrive(runner, cluster);
    if (++cluster->arrived == alive_threads(cluster)) {
        st_emu_note_site(runner, ST_EMU_SITE_CLUSTER, file, line);
        complete_phase(cluster);
    }
    runner->user = 1;
}

ST_EMU_ON_FIBER void st_emu_cluster_wait(SIMTUNE_EMU_PLACE) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    st_emu_cluster *cluster = runner->block->cluster;
    st_emu_fiber *fiber = runner->current;
    if (!fiber->cluster_phase)
        st_emu_stop(runner, file, line, "waits at the cluster's barrier without having arrived");
    if (cluster->phase + 1 == fiber->cluster_phase) {
        fiber->state = ST_EMU_AT_CLUSTER;
        fiber->file = file;
        fiber->line = line;
        st_emu_reschedule(runner);
    }
    st_emu_check_cluster_wait(runner, cluster);
    fiber->cluster_phase = 0;
    fiber->view.touches = 0;
    runner->user = 1;
}

ST_EMU_ON_FIBER void st_emu_cluster_exit(st_emu_block *block, st_emu_fiber *fiber) {
    st_emu_cluster *cluster = block->cluster;
    if (fiber->cluster_phase == cluster->phase + 1) // had arrived: alive no longer counts it
        cluster->arrived--;
    if (cluster->arrived && cluster->arrived == alive_threads(cluster))
        complete_phase(cluster);
}

ST_EMU_ON_FIBER void *st_emu_cluster_shared(const void *own, unsigned rank, SIMTUNE_EMU_PLACE) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    st_emu_block *block = runner->block;
    size_t offset = (size_t)((const char *)own - block->shared);
    if (rank >= block->cluster->size)
        st_emu_stop(runner, file, line, "block %u of a cluster of %u", rank, block->cluster->size);
    if (offset >= block->shared_bytes)
        st_emu_stop(runner, file, line, "%p is not in this block's shared memory", own);
    st_emu_block *other = block->cluster->blocks[rank];
    if (!other || other->alive == 0)
        st_emu_stop(runner, file, line,
                    "the shared memory of block %u of the cluster, which has exited", rank);
    runner->user = 1;
    return other->shared + offset;
}

// --- copies of a thread ------------------------------------------------------------------------

ST_EMU_ON_FIBER void st_emu_copies_drop(st_emu_copy **list) {
    while (*list) {
        st_emu_copy *next = (*list)->next;
        st_free(*list);
        *list = next;
    }
}

ST_EMU_ON_FIBER static st_emu_copy *queue_copy(st_emu_runner *runner, st_emu_copy **list) {
    st_emu_copy *copy = st_calloc(1, sizeof *copy);
    if (!copy)
        st_emu_stop(runner, NULL, 0, "the host has no memory for an asynchronous copy");
    while (*list)
        list = &(*list)->next;
    *list = copy;
    return copy;
}

ST_EMU_ON_FIBER static void do_copy(const st_emu_copy *copy) {
    memcpy(copy->to, copy->from, copy->bytes);
    memset((char *)copy->to + copy->bytes, 0, copy->zeros);
}

ST_EMU_ON_FIBER void st_emu_copy_async(void *to, const void *from, unsigned bytes, unsigned zeros) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    unsigned size = bytes + zeros;
    if (size != 4 && size != 8 && size != 16)
        st_emu_stop(runner, NULL, 0, "an asynchronous copy of %u bytes: 4, 8 or 16", size);
    if ((uintptr_t)to % size || (uintptr_t)from % size)
        st_emu_stop(runner, NULL, 0, "an asynchronous copy of %u bytes off its alignment", size);
    st_emu_fiber *fiber = runner->current;
    st_emu_copy *copy = queue_copy(runner, &fiber->copies);
    copy->to = to;
    copy->from = from;
    copy->bytes = bytes;
    copy->zeros = zeros;
    copy->group = fiber->copy_group;
    runner->counts.copied += bytes;
    copy->ticket = st_emu_check_copy_begin(runner, to, from, bytes, zeros,
                                           __builtin_return_address(0));
    runner->user = 1;
}

ST_EMU_ON_FIBER void st_emu_copy_commit(void) {
    st_emu_active->current->copy_group++;
}

// Does those of the oldest groups until `groups_left` closed ones are left.
ST_EMU_ON_FIBER void st_emu_copy_wait(unsigned groups_left) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    st_emu_fiber *fiber = runner->current;
    while (fiber->copies && fiber->copies->group + groups_left < fiber->copy_group) {
        st_emu_copy *copy = fiber->copies;
        do_copy(copy);
        st_emu_check_copied(runner, copy->ticket);
        fiber->copies = copy->next;
        st_free(copy);
    }
    runner->user = 1;
}

ST_EMU_ON_FIBER void st_emu_copies_finish(st_emu_fiber *fiber) {
    for (st_emu_copy *copy = fiber->copies; copy; copy = copy->next)
        do_copy(copy);
    st_emu_copies_drop(&fiber->copies);
}

// --- barrier objects and bulk copies -----------------------------------------------------------

typedef struct object_state {
    unsigned phase, pending, expected;
    int64_t bytes;
} object_state;

ST_EMU_ON_FIBER static object_state unpack(uint64_t word) {
    return (object_state){.phase = word & 1u,
                          .pending = word >> 1 & 0x7fffu,
                          .expected = word >> 16 & 0x7fffu,
                          .bytes = (int64_t)word >> 31};
}

ST_EMU_ON_FIBER static uint64_t pack(object_state state) {
    if (state.pending == 0 && state.bytes == 0) { // the phase is complete
        state.phase ^= 1u;
        state.pending = state.expected;
    }
    return (uint64_t)state.bytes << 31 | (uint64_t)state.expected << 16 |
           (uint64_t)state.pending << 1 | state.phase;
}

ST_EMU_ON_FIBER void st_emu_object_init(simtune_emu_u64 *object, unsigned count) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    if (count == 0 || count > 0x7fff)
        st_emu_stop(runner, NULL, 0, "a barrier object for %u arrivals", count);
    st_emu_check_access(object, sizeof *object, SIMTUNE_EMU_WRITE, __builtin_return_address(0));
    *object = (uint64_t)count << 16 | (uint64_t)count << 1;
    runner->user = 1;
}

ST_EMU_ON_FIBER void st_emu_object_arrive(simtune_emu_u64 *object, unsigned expected_bytes) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    st_emu_check_access(object, sizeof *object,
                        SIMTUNE_EMU_READ | SIMTUNE_EMU_WRITE | SIMTUNE_EMU_STRONG,
                        __builtin_return_address(0));
    st_emu_check_arrive(runner, object);
    object_state state = unpack(*object);
    if (state.pending == 0)
        st_emu_stop(runner, NULL, 0, "one arrival too many at a barrier object");
    state.pending--;
    state.bytes += expected_bytes;
    *object = pack(state);
    runner->user = 1;
}

ST_EMU_ON_FIBER void st_emu_bulk_copy(void *to, const void *from, unsigned bytes,
                                      simtune_emu_u64 *object) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    if (bytes % 16 || (uintptr_t)to % 16 || (uintptr_t)from % 16)
        st_emu_stop(runner, NULL, 0,
                    "a bulk copy of %u bytes: size and addresses are multiples of 16", bytes);
    st_emu_copy *copy = queue_copy(runner, &runner->block->bulk);
    copy->to = to;
    copy->from = from;
    copy->bytes = bytes;
    copy->object = object;
    runner->counts.copied += bytes;
    copy->ticket =
        st_emu_check_copy_begin(runner, to, from, bytes, 0, __builtin_return_address(0));
    runner->user = 1;
}

ST_EMU_ON_FIBER static void finish_bulk(st_emu_block *block, const simtune_emu_u64 *object) {
    for (st_emu_copy **at = &block->bulk; *at;) {
        st_emu_copy *copy = *at;
        if (object && copy->object != object) {
            at = &copy->next;
            continue;
        }
        do_copy(copy);
        st_emu_check_completed(st_emu_active, copy->ticket, copy->object);
        object_state state = unpack(*copy->object);
        state.bytes -= copy->bytes;
        *copy->object = pack(state);
        *at = copy->next;
        st_free(copy);
    }
}

// Copies that nobody waited for: the block is gone, and its shared memory with it.
void st_emu_bulk_finish(st_emu_block *block) {
    st_emu_copies_drop(&block->bulk);
}

ST_EMU_ON_FIBER int st_emu_object_test(simtune_emu_u64 *object, unsigned parity) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    st_emu_check_access(object, sizeof *object, SIMTUNE_EMU_READ | SIMTUNE_EMU_STRONG,
                        __builtin_return_address(0));
    if (unpack(*object).phase == (parity & 1u)) { // still in the phase of that parity
        st_emu_yield();
        runner->user = 0;
        finish_bulk(runner->block, object);
    }
    int done = unpack(*object).phase != (parity & 1u);
    if (done)
        st_emu_check_pass(runner, runner->block, runner->current->index, object);
    runner->user = 1;
    return done;
}
