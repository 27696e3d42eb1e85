// SPDX-License-Identifier: Apache-2.0
// Runs the blocks and threads of one launch on the emulated device.
//
// Each thread is a fiber: a stack of its own, switched in user space. The scheduler runs on the
// caller's stack ("main") and picks a block; inside a block, fibers hand over to each other
// directly until none can run, then main picks again.
//
//     fiber: READY -> runs -> AT_COLLECTIVE, AT_BARRIER, AT_CLUSTER -> READY by who completes it
//                          -> YIELDED -> READY when main comes back to the block
//                          -> EXITED
//     block: admitted (a number) -> running (stacks, shared memory) -> free for reuse
//
// Invariants
//  1. A lane's bit is in at most one of ready, yielded, waiting, at_barrier[*] of its warp; in none
//  while it
//     runs, waits for its cluster, or has exited. ready_warps and yielded_warps have the bit of a
//     warp exactly when its mask is not empty.
//  2. As many blocks are admitted or running as a device would hold at once; they are admitted in
//  order and
//     begun in a random one, so a block may wait for any before it in the grid and for none after
//     the window.
//  3. The order of lanes, warps and blocks comes from the launch's seed alone, so a run can be
//  repeated (a
//     loop that waits without any word of CUDA is the exception: a timer preempts it, emu_trap.c).
//  4. Main comes back to blocks with yielded lanes only when nothing else can run. Nothing can run
//  and nothing
//     has yielded: a deadlock, which is an error.
//  5. After a failure no fiber is ever resumed; their stacks are reused as they are.
//  6. `user` is set exactly while the kernel's own code runs.
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

st_emu_runner *st_emu_active;

ST_EMU_ON_FIBER uint32_t st_emu_random(st_emu_runner *runner) {
    runner->random = runner->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(runner->random >> 33);
}

// --- picking -----------------------------------------------------------------------------------

// The place of a set bit of `mask`: the first or the last, counted from `rotation`.
ST_EMU_ON_FIBER static unsigned pick_bit(uint32_t mask, unsigned rotation, bool descending) {
    uint32_t turned = rotation ? mask >> rotation | mask << (32 - rotation) : mask;
    unsigned bit =
        descending ? 31u - (unsigned)__builtin_clz(turned) : (unsigned)__builtin_ctz(turned);
    return (bit + rotation) & 31u;
}

ST_EMU_ON_FIBER static st_emu_fiber *pick_fiber(st_emu_block *block) {
    if (!block->ready_warps)
        return NULL;
    unsigned w = block->current_warp;
    if (!(block->ready_warps >> w & 1u)) {
        w = pick_bit(block->ready_warps, block->rotation, false);
        block->current_warp = w;
    }
    st_emu_warp *warp = &block->warps[w];
    unsigned lane = pick_bit(warp->ready, warp->rotation, warp->descending);
    warp->ready &= ~(1u << lane);
    if (!warp->ready)
        block->ready_warps &= ~(1u << w);
    return &block->fibers[w * ST_EMU_WARP + lane];
}

ST_EMU_ON_FIBER void st_emu_make_ready(st_emu_block *block, unsigned warp, uint32_t lanes) {
    if (!lanes)
        return;
    block->warps[warp].ready |= lanes;
    block->ready_warps |= 1u << warp;
}

// --- switching ---------------------------------------------------------------------------------

ST_EMU_ON_FIBER static void enter(st_emu_runner *runner, st_emu_fiber *fiber) {
    runner->current = fiber;
    runner->switches++;
    runner->clock += 20;
    *runner->launch->self = &fiber->view;
    fiber->state = ST_EMU_READY;
}

ST_EMU_ON_FIBER void st_emu_reschedule(st_emu_runner *runner) {
    st_emu_fiber *from = runner->current;
    st_emu_fiber *next = pick_fiber(runner->block);
    if (next == from) {
        enter(runner, from);
        return;
    }
    if (next) {
        enter(runner, next);
        st_emu_switch(&from->context, next->context);
    } else {
        st_emu_switch(&from->context, runner->main_context);
    }
}

ST_EMU_ON_FIBER void st_emu_yield(void) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    st_emu_fiber *fiber = runner->current;
    st_emu_block *block = runner->block;
    unsigned w = fiber->index / ST_EMU_WARP;
    fiber->state = ST_EMU_YIELDED;
    fiber->view.touches = 0;
    block->warps[w].yielded |= 1u << (fiber->index % ST_EMU_WARP);
    block->yielded_warps |= 1u << w;
    st_emu_reschedule(runner);
    runner->user = 1;
}

ST_EMU_ON_FIBER void st_emu_fiber_start(void) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 1;
    runner->launch->kernel->call(runner->launch->arguments);
    runner->user = 0;
    st_emu_check_settle(runner);
    st_emu_fiber *fiber = runner->current;
    st_emu_block *block = runner->block;
    if (fiber->copies)
        st_emu_copies_finish(fiber);
    runner->counts.shared_uses += fiber->view.shared_uses;
    runner->counts.atomics += fiber->view.atomics;
    fiber->state = ST_EMU_EXITED;
    block->warps[fiber->index / ST_EMU_WARP].alive &= ~(1u << (fiber->index % ST_EMU_WARP));
    block->alive--;
    st_emu_sync_exit(runner, block, fiber);
    st_emu_cluster_exit(block, fiber);
    st_emu_reschedule(runner);
    __builtin_unreachable(); // an exited fiber is in no list
}

// --- failing -----------------------------------------------------------------------------------

ST_EMU_ON_FIBER void st_emu_message(st_emu_runner *runner, const st_emu_block *block,
                                    const st_emu_fiber *fiber, const char *format, ...) {
    char *out = runner->message;
    size_t capacity = sizeof runner->message;
    int n = snprintf(out, capacity, "%s", runner->launch->kernel->name);
    if (block && n >= 0 && (size_t)n < capacity)
        n += snprintf(out + n, capacity - (size_t)n, ", block (%u,%u,%u)", block->index[0],
                      block->index[1], block->index[2]);
    if (fiber && n >= 0 && (size_t)n < capacity)
        n += snprintf(out + n, capacity - (size_t)n, ", thread (%u,%u,%u)",
                      fiber->view.thread_index.x, fiber->view.thread_index.y,
                      fiber->view.thread_index.z);
    if (n >= 0 && (size_t)n < capacity)
        n += snprintf(out + n, capacity - (size_t)n, ": ");
    va_list arguments;
    va_start(arguments, format);
    if (n >= 0 && (size_t)n < capacity)
        vsnprintf(out + n, capacity - (size_t)n, format, arguments);
    va_end(arguments);
    runner->failed = true;
}

ST_EMU_ON_FIBER void st_emu_stop(st_emu_runner *runner, SIMTUNE_EMU_PLACE, const char *format,
                                 ...) {
    char sentence[ST_EMU_MESSAGE / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    runner->user = 0;
    if (file)
        st_emu_message(runner, runner->block, runner->current, "%s (%s:%d)", sentence, file, line);
    else
        st_emu_message(runner, runner->block, runner->current, "%s", sentence);
    st_emu_switch(&runner->current->context, runner->main_context);
    __builtin_unreachable(); // invariant 5
}

ST_EMU_ON_FIBER static void fail_at(const char *what, SIMTUNE_EMU_PLACE) {
    st_emu_stop(st_emu_active, file, line, "%s", what);
}

// The first thread that waits, and what for.
static void report_deadlock(st_emu_runner *runner) {
    for (unsigned b = 0; b < runner->running_count; b++) {
        st_emu_block *block = runner->running[b];
        for (unsigned t = 0; t < block->threads; t++) {
            const st_emu_fiber *fiber = &block->fibers[t];
            if (fiber->state == ST_EMU_EXITED)
                continue;
            char wait[ST_EMU_MESSAGE / 2];
            st_emu_describe_wait(block, fiber, wait, sizeof wait);
            st_emu_message(runner, block, NULL, "deadlock: %s", wait);
            return;
        }
    }
    st_emu_message(runner, NULL, NULL, "deadlock");
}

// --- blocks ------------------------------------------------------------------------------------

static bool start_block(st_emu_runner *runner, unsigned number, st_emu_cluster *cluster,
                        unsigned rank) {
    const st_emu_launch *launch = runner->launch;
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    st_emu_block *block = st_emu_block_take(runner, threads);
    if (!block)
        return false;
    block->threads = block->alive = threads;
    block->warp_count = (threads + ST_EMU_WARP - 1) / ST_EMU_WARP;
    block->index[0] = number % launch->grid[0];
    block->index[1] = number / launch->grid[0] % launch->grid[1];
    block->index[2] = number / launch->grid[0] / launch->grid[1];
    block->rank = rank;
    block->triggered = false;
    block->cluster = cluster;
    cluster->blocks[rank] = block;
    block->ready_warps = block->yielded_warps = 0;
    block->current_warp = 0;
    block->rotation = (uint8_t)(st_emu_random(runner) & 31u);
    memset(block->barriers, 0, sizeof block->barriers);
    memset(block->shared, 0xff, block->shared_bytes);
    if (runner->check && !st_emu_check_block_begin(runner->check, block, number)) {
        cluster->blocks[rank] = NULL;
        st_emu_block_free(block);
        return false;
    }
    st_emu_copies_drop(&block->bulk);
    for (unsigned w = 0; w < block->warp_count; w++) {
        st_emu_warp *warp = &block->warps[w];
        unsigned lanes = threads - w * ST_EMU_WARP;
        uint32_t random = st_emu_random(runner);
        memset(warp->at_barrier, 0, sizeof warp->at_barrier);
        warp->alive = lanes >= ST_EMU_WARP ? 0xffffffffu : (1u << lanes) - 1u;
        warp->ready = warp->yielded = warp->waiting = 0;
        warp->rotation = (uint8_t)(random & 31u);
        warp->descending = random >> 5 & 1u;
        st_emu_make_ready(block, w, warp->alive);
    }
    block->current_warp = block->rotation % block->warp_count;
    st_emu_block_start_threads(runner, block);
    runner->counts.threads += threads;
    runner->running[runner->running_count++] = block; // reserved at begin
    return true;
}

// A random one of the admitted clusters; the next in order takes its place.
static bool start_cluster(st_emu_runner *runner) {
    unsigned at = st_emu_random(runner) % runner->admitted_count;
    unsigned number = runner->admitted[at];
    runner->admitted[at] = runner->admitted[--runner->admitted_count];
    unsigned size = runner->launch->cluster;
    st_emu_cluster *cluster = st_calloc(1, sizeof *cluster);
    if (!cluster)
        return false;
    cluster->size = size;
    cluster->alive_blocks = 0;
    for (unsigned rank = 0; rank < size; rank++) {
        if (!start_block(runner, number * size + rank, cluster, rank)) {
            if (cluster->alive_blocks == 0)
                st_free(cluster);
            return false;
        }
        cluster->alive_blocks++;
    }
    return true;
}

static void admit(st_emu_runner *runner) {
    unsigned size = runner->launch->cluster;
    while (runner->next_cluster < runner->cluster_count &&
           runner->running_count + (runner->admitted_count + 1) * size <= runner->resident)
        runner->admitted[runner->admitted_count++] = runner->next_cluster++;
}

static void end_block(st_emu_runner *runner, unsigned at) {
    st_emu_block *block = runner->running[at];
    runner->triggered += !block->triggered;
    st_emu_bulk_finish(block);
    if (runner->check)
        st_emu_check_block_end(runner->check, block);
    runner->running[at] = runner->running[--runner->running_count];
    block->cluster->blocks[block->rank] = NULL;
    if (--block->cluster->alive_blocks == 0) {
        st_emu_check_cluster_free(block->cluster);
        st_free(block->cluster);
    }
    block->cluster = NULL;
    block->next_free = runner->free_blocks;
    runner->free_blocks = block;
}

// --- main --------------------------------------------------------------------------------------

// Every lane that yielded may run again. True when there was one.
static bool wake_yielded(st_emu_runner *runner) {
    bool any = false;
    for (unsigned b = 0; b < runner->running_count; b++) {
        st_emu_block *block = runner->running[b];
        uint32_t warps = block->yielded_warps;
        any = any || warps;
        for (; warps; warps &= warps - 1) {
            unsigned w = (unsigned)__builtin_ctz(warps);
            st_emu_make_ready(block, w, block->warps[w].yielded);
            block->warps[w].yielded = 0;
        }
        block->yielded_warps = 0;
    }
    return any;
}

// A random one of those that can run: of the blocks of a cluster, too, any may be ahead.
static st_emu_block *pick_block(st_emu_runner *runner) {
    unsigned from = runner->running_count > 1 ? st_emu_random(runner) % runner->running_count : 0;
    for (unsigned i = 0; i < runner->running_count; i++) {
        st_emu_block *block = runner->running[(from + i) % runner->running_count];
        if (block->ready_warps)
            return block;
    }
    return NULL;
}

static void run_block(st_emu_runner *runner, st_emu_block *block) {
    st_emu_fiber *fiber = pick_fiber(block);
    runner->block = block;
    enter(runner, fiber);
    runner->in_fibers = 1;
    st_emu_switch(&runner->main_context, fiber->context);
    runner->in_fibers = 0;
    runner->user = 0;
}

static void end_finished(st_emu_runner *runner) {
    for (unsigned b = 0; b < runner->running_count;)
        if (runner->running[b]->alive == 0)
            end_block(runner, b);
        else
            b++;
}

static void drop_blocks(st_emu_runner *runner) {
    while (runner->running_count > 0)
        end_block(runner, runner->running_count - 1);
    runner->admitted_count = 0;
}

// One step: true while there is more to do.
static bool step(st_emu_runner *runner) {
    st_emu_block *block = pick_block(runner);
    if (!block && runner->admitted_count > 0) {
        if (!start_cluster(runner)) {
            st_emu_message(runner, NULL, NULL, "the host has no memory for the stacks of a block");
            return false;
        }
        return true;
    }
    if (!block) {
        if (!wake_yielded(runner)) {
            report_deadlock(runner);
            return false;
        }
        return true;
    }
    run_block(runner, block);
    if (runner->failed)
        return false;
    if (block->alive == 0) {
        end_finished(runner);
        admit(runner);
    }
    return runner->running_count > 0 || runner->admitted_count > 0;
}

bool st_emu_runner_triggered(const st_emu_runner *runner) {
    return runner->triggered == (uint64_t)runner->cluster_count * runner->launch->cluster;
}

st_emu_outcome st_emu_runner_go(st_emu_runner *runner, double seconds, unsigned turns) {
    double until = seconds >= 0 ? st_clock_seconds() + seconds : 0;
    bool more = runner->running_count > 0 || runner->admitted_count > 0;
    st_emu_runner *outer = st_emu_active;
    st_emu_active = runner;
    st_emu_traps_enter(runner);
    while (more) {
        more = step(runner);
        if (turns && --turns == 0)
            break;
        if (more && seconds >= 0 && st_clock_seconds() >= until)
            break;
    }
    st_emu_traps_leave(runner);
    st_emu_active = outer;
    if (runner->failed) {
        if (runner->check)
            st_emu_check_describe(runner->check, runner);
        drop_blocks(runner);
    }
    if (runner->check && (runner->failed || !more))
        st_emu_check_end(runner->check);
    if (runner->failed)
        return ST_EMU_LAUNCH_FAILURE;
    return more ? ST_EMU_PENDING : ST_EMU_DONE;
}

bool st_emu_runner_begin(st_emu_runner *runner, const st_emu_launch *launch) {
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    runner->launch = launch;
    runner->random = launch->seed;
    runner->counts = (st_emu_counts){0};
    runner->triggered = 0;
    runner->failed = false;
    runner->message[0] = 0;
    runner->next_cluster = 0;
    runner->cluster_count = (unsigned)(blocks / launch->cluster);
    runner->resident = launch->resident < launch->cluster ? launch->cluster : launch->resident;
    size_t admitted = runner->admitted_capacity, running = runner->running_capacity;
    unsigned *more = st_grow(runner->admitted, &admitted, runner->resident, sizeof *more);
    if (more) {
        runner->admitted = more;
        runner->admitted_capacity = (unsigned)admitted;
    }
    st_emu_block **blocks_more =
        st_grow(runner->running, &running, runner->resident, sizeof(st_emu_block *));
    if (blocks_more) {
        runner->running = blocks_more;
        runner->running_capacity = (unsigned)running;
    }
    if (!more || !blocks_more ||
        (runner->check && !st_emu_check_begin(runner->check, runner)))
        return false;
    admit(runner);
    return true;
}

st_emu_runner *st_emu_runner_make(st_emu_explain *explain, void *context) {
    st_emu_runner *runner = st_calloc(1, sizeof *runner);
    if (!runner)
        return NULL;
    runner->explain = explain;
    runner->explain_context = context;
    runner->traps = st_emu_traps_make();
    if (!runner->traps) {
        st_free(runner);
        return NULL;
    }
    return runner;
}

void st_emu_runner_free(st_emu_runner *runner) {
    if (!runner)
        return;
    drop_blocks(runner);
    while (runner->free_blocks) {
        st_emu_block *block = runner->free_blocks;
        runner->free_blocks = block->next_free;
        st_emu_block_free(block);
    }
    st_emu_traps_free(runner->traps);
    st_free(runner->sites);
    st_free(runner->admitted);
    st_free(runner->running);
    st_free(runner);
}

const st_emu_counts *st_emu_runner_counts(const st_emu_runner *runner) {
    return &runner->counts;
}

const char *st_emu_runner_message(const st_emu_runner *runner) {
    return runner->message;
}

// --- what a profile needs -----------------------------------------------------------------------

enum { SITES = 256 }; // further ones are not told apart from the last

void st_emu_runner_profile(st_emu_runner *runner, bool on) {
    st_free(runner->sites);
    runner->sites = on ? st_calloc(SITES, sizeof *runner->sites) : NULL;
    runner->site_count = 0;
}

const st_emu_site *st_emu_runner_sites(const st_emu_runner *runner, size_t *count) {
    *count = runner->sites ? runner->site_count : 0;
    return runner->sites;
}

ST_EMU_ON_FIBER void st_emu_note_site(st_emu_runner *runner, st_emu_site_kind kind,
                                      SIMTUNE_EMU_PLACE) {
    if (!runner->sites)
        return;
    st_emu_site *at = runner->sites, *end = at + runner->site_count;
    while (at < end && !(at->kind == kind && at->line == line && strcmp(at->file, file) == 0))
        at++;
    if (at == end && runner->site_count == SITES)
        at--;
    else if (at == end) {
        *at = (st_emu_site){.kind = kind, .file = file, .line = line};
        runner->site_count++;
    }
    at->count++;
}

// --- the table that programs call --------------------------------------------------------------

ST_EMU_ON_FIBER static simtune_emu_u64 read_clock(void) {
    return st_emu_active->clock += 10;
}

// Waits for the end of the launch before, which runs in turn with this one. (In the checking mode it has
// ended already, and what of it this thread may touch begins here.)
ST_EMU_ON_FIBER static void dependency_wait(void) {
    while (st_emu_active->launch->before)
        st_emu_yield();
    st_emu_check_dependency();
}

ST_EMU_ON_FIBER static void dependency_trigger(void) {
    st_emu_runner *runner = st_emu_active;
    runner->triggered += !runner->block->triggered;
    runner->block->triggered = true;
}

const struct simtune_emu_runtime *st_emu_runtime(void) {
    static const struct simtune_emu_runtime table = {
        .collective = st_emu_collective,
        .barrier = st_emu_barrier,
        .barrier_arrive = st_emu_barrier_arrive,
        .yield = st_emu_yield,
        .fail = fail_at,
        .cluster_rank = st_emu_cluster_rank,
        .cluster_size = st_emu_cluster_size,
        .cluster_arrive = st_emu_cluster_arrive,
        .cluster_wait = st_emu_cluster_wait,
        .cluster_shared = st_emu_cluster_shared,
        .copy_async = st_emu_copy_async,
        .copy_commit = st_emu_copy_commit,
        .copy_wait = st_emu_copy_wait,
        .bulk_copy = st_emu_bulk_copy,
        .object_init = st_emu_object_init,
        .object_arrive = st_emu_object_arrive,
        .object_test = st_emu_object_test,
        .clock = read_clock,
        .dependency_wait = dependency_wait,
        .dependency_trigger = dependency_trigger,
        .access = st_emu_check_access,
        .fence = st_emu_check_fence,
        .atomic_load = st_emu_check_load,
        .atomic_store = st_emu_check_store,
        .atomic_load_wide = st_emu_check_load_wide,
        .atomic_store_wide = st_emu_check_store_wide,
        .atomic_begin = st_emu_check_begin_change,
        .atomic_end = st_emu_check_end_change,
        .copy = st_emu_check_copy,
        .set = st_emu_check_set,
    };
    return &table;
}
