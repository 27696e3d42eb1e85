// SPDX-License-Identifier: Apache-2.0
// Timing (DESIGN.md §7.3–7.7). Invariants: 1. everything that a sample needs is queued behind a gate before
// the first of it runs, so that no launch latency of the host is in a time; 2. nothing is allocated, loaded
// or waited for while the gate is shut; 3. samples of a throttled device are dropped, unless that would leave
// none: then they are kept and the state says so; 4. a sample shorter than 100 ticks of the clock is a batch
// of runs over rotating inputs, divided by their number.
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"
#include "tuner/worker/worker_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUEUE_MOST = 400,       // operations behind one gate: the driver's queue holds about a thousand
    SAMPLES_MOST = 24,      // behind one gate
    BATCH_MOST = 64,
    TICKS_LEAST = 100,
    LONG_NS = 50000,
};
static const long long GATE_CYCLES = 6000000000ll; // about three seconds, should the host die

static st_code gate_shut(st_worker *worker, st_error *error)
{
    if (wk_emulated(worker))
        return ST_OK; // its launches run at once, and its times are a model
    *worker->gate_host = 0;
    __sync_synchronize();
    long long limit = GATE_CYCLES;
    void *arguments[] = {&worker->gate_device, &limit};
    static const size_t sizes[] = {8, 8};
    return wk_support_launch(worker, SUPPORT_GATE, 1, arguments, sizes, 2, error);
}

static void gate_open(st_worker *worker)
{
    __sync_synchronize();
    if (worker->gate_host)
        *worker->gate_host = 1;
}

st_code wk_flush_cache(st_worker *worker, st_error *error)
{
    uint64_t words = worker->flush_bytes / 16;
    st_gpu_pointer sink = worker->scratch + 2048;
    void *arguments[] = {&worker->flush, &words, &sink};
    static const size_t sizes[] = {8, 8, 8};
    return wk_support_launch(worker, SUPPORT_FLUSH, words, arguments, sizes, 3, error);
}

// Reads NVML at most every 50 ms: a reading costs up to a few milliseconds.
static void read_state(st_worker *worker)
{
    double now = st_clock_seconds();
    if (now - worker->state_read_at < 0.05)
        return;
    st_monitor_read(worker->monitor, &worker->state);
    worker->state_read_at = st_clock_seconds();
}

static void state_begin(st_worker *worker, st_timing_state *state)
{
    read_state(worker);
    *state = (st_timing_state){.sm_clock_mhz = worker->state.sm_clock_mhz,
                               .memory_clock_mhz = worker->state.memory_clock_mhz,
                               .temperature_c = worker->state.temperature_c,
                               .power_mw = worker->state.power_mw,
                               .throttle_reasons = worker->state.throttle_reasons,
                               .other_processes = worker->state.other_processes,
                               .batch = 1,
                               .tick_ns = worker->tick_ns};
}

// True when the device was throttled while what was just measured ran.
static bool state_throttled(st_worker *worker, st_timing_state *state)
{
    read_state(worker);
    if (worker->state.throttle_reasons >= 0)
        state->throttle_reasons = (state->throttle_reasons > 0 ? state->throttle_reasons : 0) |
                                  worker->state.throttle_reasons;
    if (worker->state.sm_clock_mhz > 0)
        state->sm_clock_mhz = worker->state.sm_clock_mhz;
    return worker->state.throttled;
}

typedef struct timing {
    bool cold;
    uint32_t batch;
} timing;

static st_code queue_sample(st_worker *worker, const wk_candidate *candidate, timing how,
                            size_t event, st_error *error)
{
    st_code code = how.cold ? wk_flush_cache(worker, error) : ST_OK;
    if (code == ST_OK)
        code = worker->ops->event_record(worker->gpu, worker->events[event], error);
    for (uint32_t run = 0; run < how.batch && code == ST_OK; run++)
        code = wk_plan_run(worker, candidate, how.cold ? run : 0, error);
    if (code == ST_OK)
        code = worker->ops->event_record(worker->gpu, worker->events[event + 1], error);
    return code;
}

// One gate's worth: samples[i] of candidates[i].
static st_code measure(st_worker *worker, wk_candidate *const *candidates, size_t count, timing how,
                       double *samples, st_error *error)
{
    st_code code = gate_shut(worker, error);
    for (size_t i = 0; i < count && code == ST_OK; i++)
        code = queue_sample(worker, candidates[i], how, 2 * i, error);
    gate_open(worker);
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        code = worker->ops->event_elapsed(worker->gpu, worker->events[2 * i],
                                          worker->events[2 * i + 1], &samples[i], error);
        samples[i] /= how.batch;
    }
    st_code waited = worker->ops->synchronize(worker->gpu, code == ST_OK ? error : NULL);
    return code == ST_OK ? waited : code;
}

// How many samples may stand behind one gate.
static size_t samples_behind_gate(const wk_candidate *candidate, timing how)
{
    size_t operations = 3 + (size_t)how.batch * candidate->plan.step_count;
    size_t fit = QUEUE_MOST / operations;
    return fit < 1 ? 1 : fit > SAMPLES_MOST ? SAMPLES_MOST : fit;
}

// Runs untimed (the first run after a load is slow; a long one by little), then decides the batch.
static st_code settle(st_worker *worker, wk_candidate *candidate, timing *how, st_error *error)
{
    wk_candidate *one[] = {candidate};
    double sample;
    how->batch = 1;
    st_code code = measure(worker, one, 1, *how, &sample, error);
    if (code == ST_OK && sample < LONG_NS)
        code = measure(worker, one, 1, *how, &sample, error);
    if (code != ST_OK || !(sample < TICKS_LEAST * worker->tick_ns))
        return code;
    double wanted = ceil(TICKS_LEAST * worker->tick_ns / (sample > 1 ? sample : 1));
    how->batch = wanted > BATCH_MOST ? BATCH_MOST : wanted < 1 ? 1 : (uint32_t)wanted;
    if (candidate->plan.step_count * how->batch > QUEUE_MOST)
        how->batch = QUEUE_MOST / candidate->plan.step_count;
    return how->cold ? wk_inputs_copy(worker, how->batch - 1, error) : ST_OK;
}

static st_code read_cache_word(const json_t *request, timing *how, st_error *error)
{
    const char *cache;
    st_code code = st_json_get_string(request, "cache", &cache, error);
    how->cold = code == ST_OK && strcmp(cache, "cold") == 0;
    if (code == ST_OK && !how->cold && strcmp(cache, "warm") != 0)
        return st_fail(error, ST_FAILED, NULL, "there is no state %s of the cache", cache);
    return code;
}

static st_code reply_samples(wk_reply *reply, double *samples, size_t count,
                             const st_timing_state *state, st_error *error)
{
    reply->json = json_pack("{s:s, s:o}", "type", "timed", "state", st_timing_state_encode(state));
    if (!reply->json)
        return st_fail_memory(error, "writing samples");
    reply->blob = samples;
    reply->blob_length = count * sizeof *samples;
    return ST_OK;
}

st_code wk_time(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error)
{
    wk_candidate *candidate;
    int64_t wanted;
    timing how;
    st_code code = wk_get_planned(worker, request->json, &candidate, error);
    if (code == ST_OK)
        code = st_json_get_int(request->json, "samples", &wanted, error);
    if (code == ST_OK)
        code = read_cache_word(request->json, &how, error);
    if (code == ST_OK && (wanted < 1 || wanted > 1000000))
        code = st_fail(error, ST_FAILED, NULL, "%lld samples are wanted", (long long)wanted);
    if (code == ST_OK)
        code = wk_data_prepare(worker, ST_DATA_RANDOM, 0, error);
    if (code == ST_OK)
        code = settle(worker, candidate, &how, error);
    if (code != ST_OK)
        return code;
    size_t count = 0, most = (size_t)wanted, at_once = samples_behind_gate(candidate, how);
    double *samples = st_malloc(most * sizeof *samples);
    if (!samples)
        return st_fail_memory(error, "taking samples");
    st_timing_state state;
    state_begin(worker, &state);
    state.batch = how.batch;
    for (unsigned spoiled = 0; count < most && code == ST_OK;) {
        wk_candidate *same[SAMPLES_MOST];
        size_t now = most - count < at_once ? most - count : at_once;
        for (size_t i = 0; i < now; i++)
            same[i] = candidate;
        code = measure(worker, same, now, how, samples + count, error);
        if (code == ST_OK && state_throttled(worker, &state) && spoiled < most) {
            spoiled += (unsigned)now; // at most as many again: then they are kept, and the state tells
            state.dropped += (uint32_t)now;
        } else
            count += now;
    }
    if (code == ST_OK)
        code = reply_samples(reply, samples, count, &state, error);
    if (code != ST_OK)
        st_free(samples);
    return code;
}

// --- races: several candidates, every round in another random order --------------------------------------------

typedef struct race {
    wk_candidate **candidates;
    size_t count;
    size_t *order;
    wk_candidate **ordered;
    double *taken;
    timing how;
} race;

static void race_release(race *made)
{
    st_free(made->candidates);
    st_free(made->order);
    st_free(made->ordered);
    st_free(made->taken);
}

static st_code race_read(st_worker *worker, const json_t *request, race *out, st_error *error)
{
    json_t *list;
    st_code code = st_json_get_array(request, "candidates", &list, error);
    if (code == ST_OK)
        code = read_cache_word(request, &out->how, error);
    if (code != ST_OK)
        return code;
    out->count = json_array_size(list);
    out->candidates = st_calloc(out->count, sizeof *out->candidates);
    out->ordered = st_calloc(out->count, sizeof *out->ordered);
    out->order = st_calloc(out->count, sizeof *out->order);
    out->taken = st_calloc(out->count, sizeof *out->taken);
    if (!out->candidates || !out->ordered || !out->order || !out->taken)
        return st_fail_memory(error, "preparing the finals");
    out->how.batch = 1;
    for (size_t i = 0; i < out->count; i++) {
        out->order[i] = i;
        out->candidates[i] = wk_candidate_find(worker, json_integer_value(json_array_get(list, i)));
        if (!out->candidates[i] || !out->candidates[i]->plan.temp_counts)
            return st_fail(error, ST_FAILED, NULL, "a finalist is not loaded or has no plan");
    }
    return ST_OK;
}

// All candidates get the batch of the one that needs most.
static st_code race_settle(st_worker *worker, race *all, st_error *error)
{
    uint32_t batch = 1;
    st_code code = ST_OK;
    for (size_t i = 0; i < all->count && code == ST_OK; i++) {
        timing how = all->how;
        code = settle(worker, all->candidates[i], &how, error);
        if (how.batch > batch)
            batch = how.batch;
    }
    all->how.batch = batch;
    return code;
}

// How many of the candidates from `first` on may stand behind one gate: together they must fit the queue.
static size_t race_behind_gate(const race *all, size_t first)
{
    size_t count = 0, operations = 0;
    while (first + count < all->count && count < SAMPLES_MOST) {
        operations += 3 + (size_t)all->how.batch * all->ordered[first + count]->plan.step_count;
        if (count && operations > QUEUE_MOST)
            break;
        count++;
    }
    return count;
}

static st_code race_round(st_worker *worker, race *all, st_random *random, double *row, st_error *error)
{
    st_random_shuffle(random, all->order, all->count);
    for (size_t i = 0; i < all->count; i++)
        all->ordered[i] = all->candidates[all->order[i]];
    st_code code = ST_OK;
    for (size_t i = 0; i < all->count && code == ST_OK;) {
        size_t now = race_behind_gate(all, i);
        code = measure(worker, all->ordered + i, now, all->how, all->taken + i, error);
        i += now;
    }
    for (size_t i = 0; i < all->count && code == ST_OK; i++)
        row[all->order[i]] = all->taken[i];
    return code;
}

st_code wk_race(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error)
{
    race all = {0};
    int64_t rounds = 0, seed = 0;
    double *samples = NULL;
    st_code code = race_read(worker, request->json, &all, error);
    if (code == ST_OK)
        code = st_json_get_int(request->json, "rounds", &rounds, error);
    if (code == ST_OK)
        code = st_json_get_int(request->json, "seed", &seed, error);
    if (code == ST_OK && (rounds < 1 || rounds > 100000 || all.count < 1))
        code = st_fail(error, ST_FAILED, NULL, "a race of %lld rounds", (long long)rounds);
    if (code == ST_OK)
        code = wk_data_prepare(worker, ST_DATA_RANDOM, 0, error);
    if (code == ST_OK)
        code = race_settle(worker, &all, error);
    if (code == ST_OK && !(samples = st_malloc((size_t)rounds * all.count * sizeof *samples)))
        code = st_fail_memory(error, "taking samples");
    st_timing_state state = {0};
    if (code == ST_OK)
        state_begin(worker, &state);
    state.batch = all.how.batch;
    st_random random;
    st_random_seed(&random, (uint64_t)seed);
    size_t done = 0;
    for (size_t spoiled = 0; done < (size_t)rounds && code == ST_OK;) {
        code = race_round(worker, &all, &random, samples + done * all.count, error);
        if (code == ST_OK && state_throttled(worker, &state) && spoiled < (size_t)rounds) {
            spoiled++;
            state.dropped++;
        } else
            done++;
    }
    if (code == ST_OK)
        code = reply_samples(reply, samples, done * all.count, &state, error);
    if (code != ST_OK)
        st_free(samples);
    race_release(&all);
    return code;
}

// --- the clock and the memory -----------------------------------------------------------------------------------

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

st_code wk_measure_tick(st_worker *worker, double *tick_ns, st_error *error)
{
    enum { TRIALS = 60 };
    double elapsed[TRIALS];
    st_code code = gate_shut(worker, error);
    for (int i = 0; i < TRIALS && code == ST_OK; i++) {
        uint64_t words = (uint64_t)(1 + i % 20) * 997; // kernels of many lengths
        st_gpu_pointer sink = worker->scratch + 2048;
        void *arguments[] = {&worker->flush, &words, &sink};
        static const size_t sizes[] = {8, 8, 8};
        code = worker->ops->event_record(worker->gpu, worker->events[2 * i], error);
        if (code == ST_OK)
            code = wk_support_launch(worker, SUPPORT_FLUSH, words, arguments, sizes, 3, error);
        if (code == ST_OK)
            code = worker->ops->event_record(worker->gpu, worker->events[2 * i + 1], error);
    }
    gate_open(worker);
    for (int i = 0; i < TRIALS && code == ST_OK; i++)
        code = worker->ops->event_elapsed(worker->gpu, worker->events[2 * i],
                                          worker->events[2 * i + 1], &elapsed[i], error);
    if (code != ST_OK)
        return code;
    qsort(elapsed, TRIALS, sizeof *elapsed, by_value);
    *tick_ns = 1e9;
    for (int i = 1; i < TRIALS; i++)
        if (elapsed[i] - elapsed[i - 1] > 0.5 && elapsed[i] - elapsed[i - 1] < *tick_ns)
            *tick_ns = elapsed[i] - elapsed[i - 1]; // floats of milliseconds blur below half a nanosecond
    if (*tick_ns == 1e9)
        *tick_ns = 1;
    return ST_OK;
}

// What moves bytes through the memory: a plain kernel, or the driver's own copy.
typedef struct mover {
    wk_support kernel;
    void **arguments; // three of 8 bytes; NULL: the driver
    uint64_t words;
    st_gpu_pointer to, from;
} mover;

static st_code move(st_worker *worker, const mover *by, st_error *error)
{
    static const size_t sizes[] = {8, 8, 8};
    if (by->arguments)
        return wk_support_launch(worker, by->kernel, by->words, by->arguments, sizes, 3, error);
    return worker->ops->copy(worker->gpu, by->to, by->from, by->words * 16, error);
}

static st_code speed_of(st_worker *worker, const mover *by, double bytes, double *gbs, st_error *error)
{
    enum { TRIALS = 11 };
    double ns[TRIALS];
    st_code code = ST_OK;
    for (int i = 0; i < TRIALS && code == ST_OK; i++) {
        code = gate_shut(worker, error);
        if (code == ST_OK)
            code = worker->ops->event_record(worker->gpu, worker->events[0], error);
        if (code == ST_OK)
            code = move(worker, by, error);
        if (code == ST_OK)
            code = worker->ops->event_record(worker->gpu, worker->events[1], error);
        gate_open(worker);
        if (code == ST_OK)
            code = worker->ops->event_elapsed(worker->gpu, worker->events[0], worker->events[1], &ns[i],
                                              error);
    }
    if (code == ST_OK)
        *gbs = bytes / st_median(ns, TRIALS);
    return code;
}

st_code wk_speed(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error)
{
    (void)request;
    size_t available, total;
    st_gpu_pointer area = 0;
    double read_gbs = NAN, copy_gbs = NAN, driver_gbs = NAN;
    st_code code = worker->ops->memory(worker->gpu, &available, &total, error);
    uint64_t bytes = wk_emulated(worker) ? (uint64_t)1 << 22 : (uint64_t)1 << 31;
    while (code == ST_OK && bytes > available / 2)
        bytes /= 2;
    if (code == ST_OK)
        code = worker->ops->allocate(worker->gpu, bytes, &area, error);
    if (code == ST_OK)
        code = worker->ops->fill8(worker->gpu, area, 1, bytes, error);
    uint64_t words = bytes / 16, half = words / 2;
    st_gpu_pointer sink = worker->scratch + 2048, second = area + bytes / 2;
    void *read_arguments[] = {&area, &words, &sink};
    void *copy_arguments[] = {&second, &area, &half};
    const mover reads = {SUPPORT_READ, read_arguments, words, 0, 0},
                copies = {SUPPORT_COPY, copy_arguments, half, 0, 0},
                driver = {SUPPORT_COPY, NULL, half, second, area};
    if (code == ST_OK)
        code = speed_of(worker, &reads, (double)bytes, &read_gbs, error);
    if (code == ST_OK)
        code = speed_of(worker, &copies, (double)bytes, &copy_gbs, error);
    // On an H200 the driver's copy is 8 % faster than the plain kernel, and 3 % faster than the best that we tried.
    if (code == ST_OK)
        code = speed_of(worker, &driver, (double)bytes, &driver_gbs, error);
    copy_gbs = fmax(copy_gbs, driver_gbs);
    if (area)
        worker->ops->release(worker->gpu, area);
    if (code == ST_OK)
        reply->json = json_pack("{s:s, s:o, s:o}", "type", "speed", "read_gbs", st_json_number(read_gbs),
                                "copy_gbs", st_json_number(copy_gbs));
    return code;
}
