// SPDX-License-Identifier: Apache-2.0
// The emulated device's stream: operations wait in a queue and run when the host waits for them, as
// far as it waits. So a gate kernel holds the stream although there is only one thread: the host
// opens the gate before it waits, or asks (st_emu_drain with a limit) and gets an answer.
//
//  1. Operations run in order, each to its end before the next begins; but a dependent launch begins when
//  every block of the launch before has triggered or ended, and both then run in turn.
//  2. The stream's clock advances by the model's time of each operation and by nothing else.
//  3. After a failed launch the device is lost: the queue is dropped and every call fails with its
//  message.
#include "tuner/gpu/emu_stream.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void st_emu_operation_free(st_emu_operation *operation)
{
    if (!operation)
        return;
    st_free(operation->owned);
    st_free(operation);
}

void st_emu_enqueue(st_gpu *gpu, st_emu_operation *operation)
{
    *gpu->last = operation;
    gpu->last = &operation->next;
}

st_code st_emu_lost_error(const st_gpu *gpu, st_error *error)
{
    return st_fail(error, ST_FAILED, NULL, "the emulated device: launch failed: %s", gpu->message);
}

static void drop_first(st_gpu *gpu)
{
    st_emu_operation *done = gpu->first;
    gpu->first = done->next;
    if (!gpu->first)
        gpu->last = &gpu->first;
    st_emu_operation_free(done);
}

static void lose(st_gpu *gpu, const char *message)
{
    gpu->lost = true;
    snprintf(gpu->message, sizeof gpu->message, "%s", message);
    while (gpu->first)
        drop_first(gpu);
}

// --- how often something came before -----------------------------------------------------------

typedef struct tally_entry {
    uint64_t key, count; // count 0: free
} tally_entry;

struct st_emu_tally { // open addressing, at most half full
    tally_entry *entries;
    size_t used, capacity;
};

st_emu_tally *st_emu_tally_make(void)
{
    st_emu_tally *tally = st_calloc(1, sizeof *tally);
    if (!tally || !(tally->entries = st_calloc(tally->capacity = 256, sizeof(tally_entry)))) {
        st_free(tally);
        return NULL;
    }
    return tally;
}

void st_emu_tally_free(st_emu_tally *tally)
{
    if (tally)
        st_free(tally->entries);
    st_free(tally);
}

static tally_entry *tally_find(tally_entry *entries, size_t capacity, uint64_t key)
{
    size_t at = (size_t)key & (capacity - 1);
    while (entries[at].count && entries[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &entries[at];
}

// How often `key` was asked for before. Without memory for more keys a new one is always the first.
static uint64_t count_before(st_emu_tally *tally, uint64_t key)
{
    if (2 * tally->used >= tally->capacity) {
        tally_entry *more = st_calloc(2 * tally->capacity, sizeof *more);
        for (size_t i = 0; more && i < tally->capacity; i++)
            if (tally->entries[i].count)
                *tally_find(more, 2 * tally->capacity, tally->entries[i].key) = tally->entries[i];
        if (more) {
            st_free(tally->entries);
            tally->entries = more;
            tally->capacity *= 2;
        }
    }
    tally_entry *entry = tally_find(tally->entries, tally->capacity, key);
    if (!entry->count && tally->used + 1 == tally->capacity)
        return 0;
    tally->used += !entry->count;
    entry->key = key;
    return entry->count++;
}

// --- time --------------------------------------------------------------------------------------

// In steps of 2^-10 ns: sums of such are exact, so that a difference does not depend on what was before.
static void advance(st_gpu *gpu, double ns)
{
    gpu->now += round(ns * 1024) / 1024;
}

void st_emu_take_copy(st_gpu *gpu, const char *what, size_t bytes)
{
    uint64_t key = st_emu_mix(st_emu_mix_text(0, what), bytes);
    double noise = st_emu_model_noise(key, count_before(gpu->tally, key));
    advance(gpu, st_emu_model_copy(gpu->facts, bytes) * noise);
}

// How much of a buffer is still in L2 when it is read from its beginning: all when it fits beside what came since,
// nothing when half of it has been replaced.
static double hits_of(const st_emu_use *use, double left)
{
    double bytes = (double)use->bytes;
    return left >= bytes ? bytes : fmax(0, 2 * left - bytes);
}

// Which bytes of a launch's buffers come from L2, which from memory.
static void use_buffers(st_gpu *gpu, const st_emu_operation *launch, double *hit, double *miss)
{
    double l2 = (double)gpu->facts->l2_bytes;
    uint64_t began = gpu->traffic;
    *hit = *miss = 0;
    for (unsigned i = 0; i < launch->use_count; i++) {
        const st_emu_use *use = &launch->uses[i];
        st_emu_allocation *of = st_emu_find_writable(gpu, use->data);
        double hits = of && of->used_at ? hits_of(use, l2 - (double)(began - of->used_at)) : 0;
        *hit += hits;
        *miss += (double)use->bytes - hits;
        gpu->traffic += use->bytes;
        if (of)
            of->used_at = gpu->traffic;
    }
}

// Fills and copies go through L2, too.
static void note_traffic(st_gpu *gpu, const void *at, size_t bytes)
{
    st_emu_allocation *of = st_emu_find_writable(gpu, (uintptr_t)at);
    gpu->traffic += bytes;
    if (of)
        of->used_at = gpu->traffic;
}

static void take_launch(st_gpu *gpu, const st_emu_operation *launch)
{
    const st_emu_launch *what = &launch->launch;
    st_emu_model_input input = {
        .device = gpu->facts,
        .blocks = what->grid[0] * what->grid[1] * what->grid[2],
        .threads = what->block[0] * what->block[1] * what->block[2],
        .cluster = what->cluster,
        .blocks_per_sm = launch->blocks_per_sm,
        .registers = launch->kernel->facts.registers,
        .spilled = launch->kernel->facts.local_bytes,
        .held = launch->kernel->held,
        .shared_bytes = (size_t)launch->kernel->facts.static_smem + what->dynamic_shared,
        .dependent = what->dependent,
        .counts = st_emu_runner_counts(launch->runner),
    };
    st_emu_account account;
    use_buffers(gpu, launch, &input.hit_bytes, &input.miss_bytes);
    st_emu_model_launch(&input, &account);
    advance(gpu, account.total * st_emu_model_noise(launch->key, launch->count));
    st_emu_record record = {
        .kernel = what->kernel->name, .account = account, .counts = *input.counts, .input = input};
    if (gpu->profiling)
        st_emu_profile_keep(gpu, launch->runner, &record);
}

// --- launches ----------------------------------------------------------------------------------

static bool begin(st_gpu *gpu, st_emu_operation *launch, st_emu_runner *on, st_emu_runner *before)
{
    launch->count = count_before(gpu->tally, launch->key);
    launch->launch.seed = st_emu_mix(gpu->seed, st_emu_mix(launch->key, launch->count));
    launch->launch.before = before;
    launch->runner = on;
    launch->begun = true;
    if (st_emu_runner_begin(on, &launch->launch))
        return true;
    lose(gpu, "the host has no memory for it"); // `launch` is gone
    return false;
}

// Runs a launch for some turns. True when it has ended, or has lost the device.
static bool go(st_gpu *gpu, st_emu_operation *launch, double seconds, unsigned turns)
{
    st_emu_runner *on = launch->runner;
    switch (st_emu_runner_go(on, seconds, turns)) {
    case ST_EMU_PENDING:
        return false;
    case ST_EMU_LAUNCH_FAILURE:
        lose(gpu, st_emu_runner_message(on));
        return true;
    default:
        launch->ended = true;
        return true;
    }
}

// The launch behind the first when it may run beside it. (In the checking mode it runs after it: what it
// touches too early is a race there in whatever order they run.)
static st_emu_operation *beside(const st_gpu *gpu)
{
    st_emu_operation *next = gpu->first->next;
    return next && next->kind == ST_EMU_LAUNCH && next->launch.dependent && !gpu->check ? next
                                                                                        : NULL;
}

// The two take turns of random length.
static bool run_both(st_gpu *gpu, st_emu_operation *first, st_emu_operation *next, double until)
{
    for (unsigned round = 0;; round++) {
        uint64_t random = st_emu_mix(first->launch.seed, round);
        double left = until < 0 ? -1 : until - st_clock_seconds();
        if (until >= 0 && left <= 0)
            return false;
        if (go(gpu, first, left, 1 + (unsigned)(random & 3u)))
            return true;
        if (!next->begun && st_emu_runner_triggered(first->runner) &&
            !begin(gpu, next, first->runner == gpu->runner ? gpu->other : gpu->runner,
                   first->runner))
            return true;
        if (next->begun && !next->ended && go(gpu, next, left, 1 + (unsigned)(random >> 8 & 7u)) &&
            gpu->lost)
            return true;
    }
}

// True when it has run to its end (or has lost the device).
static bool run_launch(st_gpu *gpu, st_emu_operation *launch, double seconds)
{
    if (!launch->begun && !begin(gpu, launch, gpu->runner, NULL))
        return true;
    st_emu_operation *next = beside(gpu);
    bool done = launch->ended;
    if (!done && next)
        done = run_both(gpu, launch, next, seconds < 0 ? -1 : st_clock_seconds() + seconds);
    else if (!done)
        done = go(gpu, launch, seconds, 0);
    if (!done || gpu->lost)
        return done;
    take_launch(gpu, launch);
    if (next && next->begun)
        next->launch.before = NULL;
    return true;
}

static bool run_first(st_gpu *gpu, double seconds)
{
    st_emu_operation *operation = gpu->first;
    switch (operation->kind) {
    case ST_EMU_FILL8:
        memset(operation->to, (int)operation->value, operation->bytes);
        if (gpu->check)
            st_emu_check_written(gpu->check, operation->to, operation->bytes,
                                 operation->value == 0xff);
        break;
    case ST_EMU_FILL32:
        for (size_t i = 0; i < operation->bytes / 4; i++)
            ((uint32_t *)operation->to)[i] = operation->value;
        if (gpu->check)
            st_emu_check_written(gpu->check, operation->to, operation->bytes, false);
        break;
    case ST_EMU_COPY_IN:
    case ST_EMU_COPY:
        memcpy(operation->to, operation->kind == ST_EMU_COPY ? operation->from : operation->owned, operation->bytes);
        if (gpu->check)
            st_emu_check_written(gpu->check, operation->to, operation->bytes, false);
        break;
    case ST_EMU_EVENT:
        if (operation->event)
            operation->event->at = gpu->now;
        if (operation->event)
            operation->event->recorded = true;
        return true;
    case ST_EMU_LAUNCH:
        return run_launch(gpu, operation, seconds);
    }
    note_traffic(gpu, operation->to, operation->bytes);
    st_emu_take_copy(gpu, operation->kind == ST_EMU_COPY_IN ? "copy in"
                          : operation->kind == ST_EMU_COPY  ? "copy"
                                                            : "fill", operation->bytes);
    return true;
}

st_code st_emu_drain(st_gpu *gpu, double seconds, bool *done, st_error *error)
{
    double until = seconds >= 0 ? st_clock_seconds() + seconds : 0;
    while (!gpu->lost && gpu->first) {
        double left = seconds >= 0 ? until - st_clock_seconds() : -1;
        if (seconds >= 0 && left <= 0)
            break;
        if (!run_first(gpu, left))
            break;
        if (gpu->lost)
            break;
        drop_first(gpu);
    }
    if (done)
        *done = !gpu->first;
    return gpu->lost ? st_emu_lost_error(gpu, error) : ST_OK;
}
