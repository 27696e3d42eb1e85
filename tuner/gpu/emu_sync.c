// SPDX-License-Identifier: Apache-2.0
// Where threads of the emulated device wait for each other: warp-wide operations and block
// barriers.
//
//  1. A collective is complete when every lane of its mask that has not exited waits at the same
//  operation with
//     the same mask. The last to arrive computes all results.
//  2. A lane that is read must take part: an exited, absent or unmasked one is an error.
//  3. __syncthreads is complete when all threads of the block that have not exited wait at it, at
//  the same line of
//     the source: CUDA allows nothing else, and hardware does not notice.
#include "tuner/gpu/emu_check.h"

#include <stdio.h>
#include <string.h>

static const char *const collective_names[SIMTUNE_EMU_COLLECTIVES] = {
    [SIMTUNE_EMU_SYNCWARP] = "__syncwarp",
    [SIMTUNE_EMU_SHFL] = "__shfl_sync",
    [SIMTUNE_EMU_SHFL_UP] = "__shfl_up_sync",
    [SIMTUNE_EMU_SHFL_DOWN] = "__shfl_down_sync",
    [SIMTUNE_EMU_SHFL_XOR] = "__shfl_xor_sync",
    [SIMTUNE_EMU_BALLOT] = "__ballot_sync",
    [SIMTUNE_EMU_ANY] = "__any_sync",
    [SIMTUNE_EMU_ALL] = "__all_sync",
    [SIMTUNE_EMU_MATCH_ANY] = "__match_any_sync",
    [SIMTUNE_EMU_MATCH_ALL] = "__match_all_sync",
    [SIMTUNE_EMU_REDUCE_ADD] = "__reduce_add_sync",
    [SIMTUNE_EMU_REDUCE_MIN_U] = "__reduce_min_sync",
    [SIMTUNE_EMU_REDUCE_MAX_U] = "__reduce_max_sync",
    [SIMTUNE_EMU_REDUCE_MIN_S] = "__reduce_min_sync",
    [SIMTUNE_EMU_REDUCE_MAX_S] = "__reduce_max_sync",
    [SIMTUNE_EMU_REDUCE_AND] = "__reduce_and_sync",
    [SIMTUNE_EMU_REDUCE_OR] = "__reduce_or_sync",
    [SIMTUNE_EMU_REDUCE_XOR] = "__reduce_xor_sync",
};

// --- results of warp-wide operations -----------------------------------------------------------

// Which lane's value `lane` gets (PTX, shfl.sync): its own where the source is outside its segment.
ST_EMU_ON_FIBER static unsigned shuffle_source(int kind, unsigned lane, unsigned argument,
                                               int width) {
    unsigned segment = lane & ~((unsigned)width - 1u), last = segment + (unsigned)width - 1u;
    unsigned distance = argument & 31u, source;
    switch (kind) {
    case SIMTUNE_EMU_SHFL:
        return segment + (argument & ((unsigned)width - 1u));
    case SIMTUNE_EMU_SHFL_UP:
        return lane < segment + distance ? lane : lane - distance;
    case SIMTUNE_EMU_SHFL_DOWN:
        source = lane + distance;
        return source > last ? lane : source;
    default: // SIMTUNE_EMU_SHFL_XOR
        source = lane ^ distance;
        return source > last ? lane : source;
    }
}

ST_EMU_ON_FIBER static void shuffle(st_emu_runner *runner, st_emu_block *block, unsigned w,
                                    int kind, uint32_t lanes) {
    st_emu_warp *warp = &block->warps[w];
    uint64_t in[ST_EMU_WARP];
    memcpy(in, warp->value, sizeof in);
    for (uint32_t left = lanes; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        unsigned source = shuffle_source(kind, lane, warp->argument[lane], warp->width[lane]);
        if (!(lanes >> source & 1u)) {
            st_emu_fiber *reader = &block->fibers[w * ST_EMU_WARP + lane];
            const char *why = !(warp->mask[lane] >> source & 1u)           ? "is not in the mask"
                              : w * ST_EMU_WARP + source >= block->threads ? "does not exist"
                                                                           : "has exited";
            runner->current = reader;
            st_emu_stop(runner, reader->file, reader->line,
                        "%s reads lane %u, which %s (mask 0x%08x)", collective_names[kind], source,
                        why, warp->mask[lane]);
        }
        warp->value[lane] = in[source];
    }
}

ST_EMU_ON_FIBER static uint32_t reduce(int kind, const st_emu_warp *warp, uint32_t lanes) {
    uint32_t result = (uint32_t)warp->value[__builtin_ctz(lanes)];
    for (uint32_t left = lanes & (lanes - 1); left; left &= left - 1) {
        uint32_t value = (uint32_t)warp->value[__builtin_ctz(left)];
        switch (kind) {
        case SIMTUNE_EMU_REDUCE_ADD:
            result += value;
            break;
        case SIMTUNE_EMU_REDUCE_MIN_U:
            result = value < result ? value : result;
            break;
        case SIMTUNE_EMU_REDUCE_MAX_U:
            result = value > result ? value : result;
            break;
        case SIMTUNE_EMU_REDUCE_MIN_S:
            result = (int32_t)value < (int32_t)result ? value : result;
            break;
        case SIMTUNE_EMU_REDUCE_MAX_S:
            result = (int32_t)value > (int32_t)result ? value : result;
            break;
        case SIMTUNE_EMU_REDUCE_AND:
            result &= value;
            break;
        case SIMTUNE_EMU_REDUCE_OR:
            result |= value;
            break;
        default:
            result ^= value;
            break;
        }
    }
    return result;
}

// The lanes of `lanes` whose value is `value`.
ST_EMU_ON_FIBER static uint32_t equal_lanes(const uint64_t *values, uint32_t lanes,
                                            uint64_t value) {
    uint32_t same = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (values[lane] == value)
            same |= 1u << lane;
    }
    return same;
}

ST_EMU_ON_FIBER static void compute(st_emu_runner *runner, st_emu_block *block, unsigned w,
                                    int kind, uint32_t lanes) {
    st_emu_warp *warp = &block->warps[w];
    if (kind == SIMTUNE_EMU_SYNCWARP) {
        st_emu_check_warp(runner, block, w, lanes);
        return;
    }
    if (kind >= SIMTUNE_EMU_SHFL && kind <= SIMTUNE_EMU_SHFL_XOR) {
        shuffle(runner, block, w, kind, lanes);
        return;
    }
    uint64_t in[ST_EMU_WARP];
    memcpy(in, warp->value, sizeof in);
    uint64_t all = 0;
    uint32_t votes = equal_lanes(in, lanes, 1);
    switch (kind) {
    case SIMTUNE_EMU_BALLOT:
        all = votes;
        break;
    case SIMTUNE_EMU_ANY:
        all = votes != 0;
        break;
    case SIMTUNE_EMU_ALL:
        all = votes == lanes;
        break;
    case SIMTUNE_EMU_MATCH_ANY:
        break;
    case SIMTUNE_EMU_MATCH_ALL:
        all = equal_lanes(in, lanes, in[__builtin_ctz(lanes)]) == lanes ? lanes : 0;
        break;
    default:
        all = reduce(kind, warp, lanes);
        break;
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        warp->value[lane] = kind == SIMTUNE_EMU_MATCH_ANY ? equal_lanes(in, lanes, in[lane]) : all;
    }
}

// --- arriving ----------------------------------------------------------------------------------

// The lanes that take part in what `lane` is at, when it is complete; else 0. `here`: the lanes
// that are at some collective.
ST_EMU_ON_FIBER static uint32_t complete_lanes(const st_emu_block *block, unsigned w, unsigned lane,
                                               uint32_t here) {
    const st_emu_warp *warp = &block->warps[w];
    const st_emu_fiber *fibers = &block->fibers[w * ST_EMU_WARP];
    uint32_t mask = warp->mask[lane], need = mask & warp->alive;
    if ((here & need) != need)
        return 0;
    for (uint32_t left = need; left; left &= left - 1) {
        unsigned other = (unsigned)__builtin_ctz(left);
        if (warp->mask[other] != mask || fibers[other].kind != fibers[lane].kind)
            return 0;
    }
    return need;
}

ST_EMU_ON_FIBER simtune_emu_u64 st_emu_collective(int kind, unsigned mask, simtune_emu_u64 value,
                                                  unsigned argument, int width, SIMTUNE_EMU_PLACE) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    st_emu_fiber *fiber = runner->current;
    st_emu_block *block = runner->block;
    unsigned w = fiber->index / ST_EMU_WARP, lane = fiber->index % ST_EMU_WARP;
    st_emu_warp *warp = &block->warps[w];
    if (!(mask >> lane & 1u))
        st_emu_stop(runner, file, line, "%s with mask 0x%08x, in which its own lane %u is not",
                    collective_names[kind], mask, lane);
    if (width < 1 || width > 32 || (width & (width - 1)))
        st_emu_stop(runner, file, line, "%s with width %d, which is not a power of 2 up to 32",
                    collective_names[kind], width);
    fiber->kind = kind;
    fiber->file = file;
    fiber->line = line;
    fiber->view.touches = 0;
    warp->mask[lane] = mask;
    warp->value[lane] = value;
    warp->argument[lane] = argument;
    warp->width[lane] = width;
    uint32_t done = complete_lanes(block, w, lane, warp->waiting | 1u << lane);
    if (done) {
        runner->counts.collectives++;
        st_emu_note_site(runner, ST_EMU_SITE_COLLECTIVE, file, line);
        compute(runner, block, w, kind, done);
        warp->waiting &= ~done;
        st_emu_make_ready(block, w, done & ~(1u << lane));
    } else {
        fiber->state = ST_EMU_AT_COLLECTIVE;
        warp->waiting |= 1u << lane;
        st_emu_reschedule(runner);
    }
    runner->user = 1;
    return warp->value[lane];
}

ST_EMU_ON_FIBER static void complete_barrier(st_emu_runner *runner, st_emu_block *block,
                                             unsigned id, unsigned self) {
    st_emu_barrier_state *barrier = &block->barriers[id];
    unsigned arrived = barrier->arrived;
    block->result = barrier->kind == SIMTUNE_EMU_BARRIER_AND  ? barrier->count == arrived
                    : barrier->kind == SIMTUNE_EMU_BARRIER_OR ? barrier->count > 0
                                                              : (int)barrier->count;
    // A named barrier of the whole block is one like __syncthreads.
    bool whole = !barrier->expected || arrived == block->threads;
    if (whole)
        st_emu_check_barrier(runner, block);
    barrier->arrived = 0;
    runner->counts.barriers++;
    st_emu_note_site(runner, ST_EMU_SITE_BARRIER, barrier->file, barrier->line);
    for (unsigned w = 0; w < block->warp_count; w++) {
        uint32_t lanes = block->warps[w].at_barrier[id];
        block->warps[w].at_barrier[id] = 0;
        for (uint32_t left = whole ? 0 : lanes; left; left &= left - 1)
            st_emu_check_pass(runner, block, w * ST_EMU_WARP + (unsigned)__builtin_ctz(left),
                              barrier);
        if (self / ST_EMU_WARP == w)
            lanes &= ~(1u << (self % ST_EMU_WARP));
        st_emu_make_ready(block, w, lanes);
    }
}

ST_EMU_ON_FIBER static bool same_place(const st_emu_barrier_state *barrier, SIMTUNE_EMU_PLACE) {
    return barrier->line == line && (barrier->file == file || strcmp(barrier->file, file) == 0);
}

// Counts the running thread in. True when that completes the barrier.
ST_EMU_ON_FIBER static bool arrive(st_emu_runner *runner, int kind, unsigned id, unsigned threads,
                                   int predicate, SIMTUNE_EMU_PLACE) {
    st_emu_block *block = runner->block;
    st_emu_fiber *fiber = runner->current;
    if (id >= ST_EMU_BARRIERS)
        st_emu_stop(runner, file, line, "barrier %u: a block has the barriers 0 to 15", id);
    if (threads % ST_EMU_WARP || threads > 1024)
        st_emu_stop(runner, file, line, "barrier %u for %u threads: not a multiple of 32", id,
                    threads);
    st_emu_barrier_state *barrier = &block->barriers[id];
    if (barrier->arrived == 0) {
        *barrier = (st_emu_barrier_state){
            .expected = threads, .kind = kind, .file = file, .line = line, .first = fiber->index};
    } else if (barrier->expected != threads || (threads == 0 && !same_place(barrier, file, line))) {
        const simtune_emu_index *first = &block->fibers[barrier->first].view.thread_index;
        st_emu_stop(runner, file, line,
                    "barrier divergence: thread (%u,%u,%u) waits at another barrier (%s:%d)",
                    first->x, first->y, first->z, barrier->file, barrier->line);
    }
    if (threads && threads != block->threads)
        st_emu_check_arrive(runner, barrier);
    barrier->arrived++;
    barrier->count += predicate != 0;
    return barrier->arrived == (threads ? threads : block->alive);
}

ST_EMU_ON_FIBER int st_emu_barrier(int kind, unsigned id, unsigned threads, int predicate,
                                   SIMTUNE_EMU_PLACE) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    st_emu_fiber *fiber = runner->current;
    st_emu_block *block = runner->block;
    fiber->view.touches = 0;
    if (arrive(runner, kind, id, threads, predicate, file, line)) {
        if (threads && threads != block->threads)
            st_emu_check_pass(runner, block, fiber->index, &block->barriers[id]);
        complete_barrier(runner, block, id, fiber->index);
    } else {
        fiber->state = ST_EMU_AT_BARRIER;
        fiber->barrier = id;
        fiber->file = file;
        fiber->line = line;
        block->warps[fiber->index / ST_EMU_WARP].at_barrier[id] |= 1u
                                                                   << (fiber->index % ST_EMU_WARP);
        st_emu_reschedule(runner);
    }
    runner->user = 1;
    return block->result;
}

ST_EMU_ON_FIBER void st_emu_barrier_arrive(unsigned id, unsigned threads, SIMTUNE_EMU_PLACE) {
    st_emu_runner *runner = st_emu_active;
    runner->user = 0;
    if (threads == 0)
        st_emu_stop(runner, file, line, "bar.arrive needs a number of threads");
    if (arrive(runner, SIMTUNE_EMU_BARRIER, id, threads, 0, file, line))
        complete_barrier(runner, runner->block, id, runner->current->index);
    runner->user = 1;
}

ST_EMU_ON_FIBER void st_emu_sync_exit(st_emu_runner *runner, st_emu_block *block,
                                      st_emu_fiber *fiber) {
    unsigned w = fiber->index / ST_EMU_WARP;
    st_emu_warp *warp = &block->warps[w];
    st_emu_barrier_state *barrier = &block->barriers[0];
    if (barrier->arrived && !barrier->expected && barrier->arrived == block->alive)
        complete_barrier(runner, block, 0, fiber->index);
    for (uint32_t left = warp->waiting; left;) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t done = complete_lanes(block, w, lane, warp->waiting);
        if (done) {
            runner->counts.collectives++;
            compute(runner, block, w, block->fibers[w * ST_EMU_WARP + lane].kind, done);
            warp->waiting &= ~done;
            st_emu_make_ready(block, w, done);
            left &= ~done;
        }
        left &= ~(1u << lane);
    }
}

// --- saying who waits for whom -----------------------------------------------------------------

static int add_thread(char *out, size_t capacity, const st_emu_fiber *fiber) {
    const simtune_emu_index *at = &fiber->view.thread_index;
    return snprintf(out, capacity, "thread (%u,%u,%u)", at->x, at->y, at->z);
}

static int add_place(char *out, size_t capacity, const st_emu_block *block,
                     const st_emu_fiber *fiber) {
    if (fiber->state == ST_EMU_AT_COLLECTIVE)
        return snprintf(out, capacity, " waits at %s with mask 0x%08x (%s:%d)",
                        collective_names[fiber->kind],
                        block->warps[fiber->index / ST_EMU_WARP].mask[fiber->index % ST_EMU_WARP],
                        fiber->file, fiber->line);
    const char *what = fiber->state == ST_EMU_AT_CLUSTER ? "the cluster's barrier"
                       : fiber->barrier                  ? "a named barrier"
                                                         : "__syncthreads";
    return snprintf(out, capacity, " waits at %s (%s:%d)", what, fiber->file, fiber->line);
}

// Someone for whom `fiber` waits: a thread of its warp or block that is not where it is.
static const st_emu_fiber *find_missing(const st_emu_block *block, const st_emu_fiber *fiber) {
    unsigned w = fiber->index / ST_EMU_WARP, lane = fiber->index % ST_EMU_WARP;
    uint32_t mask = block->warps[w].mask[lane];
    for (unsigned t = 0; t < block->threads; t++) {
        const st_emu_fiber *other = &block->fibers[t];
        if (other == fiber || other->state == ST_EMU_EXITED)
            continue;
        if (fiber->state == ST_EMU_AT_COLLECTIVE) {
            bool partner = t / ST_EMU_WARP == w && (mask >> (t % ST_EMU_WARP) & 1u);
            if (partner && (other->state != ST_EMU_AT_COLLECTIVE || other->kind != fiber->kind ||
                            block->warps[w].mask[t % ST_EMU_WARP] != mask))
                return other;
        } else if (other->state != fiber->state || other->barrier != fiber->barrier) {
            return other;
        }
    }
    return NULL;
}

void st_emu_describe_wait(const st_emu_block *block, const st_emu_fiber *fiber, char *out,
                          size_t capacity) {
    const st_emu_fiber *missing = find_missing(block, fiber);
    size_t n = (size_t)add_thread(out, capacity, fiber);
    if (n < capacity)
        n += (size_t)add_place(out + n, capacity - n, block, fiber);
    if (!missing || n >= capacity)
        return;
    n += (size_t)snprintf(out + n, capacity - n, "; ");
    if (n < capacity)
        n += (size_t)add_thread(out + n, capacity - n, missing);
    if (n < capacity)
        add_place(out + n, capacity - n, block, missing);
}
