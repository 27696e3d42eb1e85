// SPDX-License-Identifier: Apache-2.0
// Stall reasons of one candidate: how often it runs, how finely it is sampled, what is kept.
//
// Invariants:
//  1. The period follows the samples: too few and the next run is sampled more finely, far too many and the next
//     candidate is sampled more coarsely. Where the caller knows how long a run takes, the period is chosen by that
//     beforehand and kept from candidate to candidate, because every change costs a tenth of a second. Shares do
//     not depend on it.
//  2. A run that lost more than an eighth of its samples is forgotten and sampled more coarsely.
//  3. Further runs are read together only when the samples of the image were recognised in the first: then what
//     `prepare` launched is left out of the table by its module, and is not read away before each run.
#include "cupti/profiler_internal.h"

#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <string.h>

#define MAX_RUNS 64
#define MAX_SECONDS 0.05
#define DEFAULT_MINIMUM 2000
#define PLENTY 128         // times the minimum: more than this and the period is made coarser
#define FEW 16             // a run with less than the minimum by this factor is sampled more finely
#define LINES_LOOKED_UP 64 // hottest instructions whose source lines are looked up
#define TOGETHER_MOST 16   // runs that are read together
// When the time of a run is known: so many times the minimum are aimed at, on a device of this size. The finest
// period loses nothing there.
#define AIM 32
#define SMS 100
#define CYCLES_A_NS 1.6
#define EXPECTED_FINEST 7

typedef struct collecting {
    st_profiler *profiler;
    st_run_once *run;
    void *context;
    st_stall_options how; // nothing is 0 any more but expected_ns
    st_sample_reading reading;
    double seconds;        // of runs and reading, set-up left out
    double launch_seconds; // of these: until the device had run prepare and the candidate
    unsigned launches;
} collecting;

// --- the period ---------------------------------------------------------------------------------------------

static uint32_t clamp_period(uint32_t wish) {
    return wish < ST_PERIOD_FINEST ? ST_PERIOD_FINEST : wish > ST_PERIOD_COARSEST ? ST_PERIOD_COARSEST : wish;
}

// Invariant 1: so fine that four runs should do, after one that gave `got` of `minimum` samples.
static uint32_t finer_period(const st_sampling *sampling, uint64_t got, uint64_t minimum) {
    uint32_t steps = 0;
    for (uint64_t reach = got ? got : 1; reach < minimum / 4; reach *= 2)
        steps++;
    uint32_t limit = sampling->limit;
    return sampling->period > limit + steps ? sampling->period - steps : limit;
}

static uint32_t coarser_period(uint32_t period, uint64_t got, uint64_t minimum) {
    for (uint64_t left = got; left > PLENTY * minimum; left /= 2)
        period++;
    return clamp_period(period);
}

// A period within a factor of 4 (8 when it is the finer one) does as well, and costs no change. Nor does one that
// nothing was run with yet.
static void expect_period(st_sampling *sampling, const st_stall_options *how) {
    double cycles = how->expected_ns * CYCLES_A_NS * SMS;
    uint32_t wish = EXPECTED_FINEST > sampling->limit ? EXPECTED_FINEST : sampling->limit;
    while (wish < ST_PERIOD_COARSEST && cycles / (double)(1u << wish) > (double)AIM * (double)how->minimum)
        wish++;
    bool set = sampling->set_period != 0 && !sampling->fresh && sampling->set_period >= sampling->limit;
    if (set && sampling->set_period + 3 >= wish && sampling->set_period <= wish + 2)
        wish = sampling->set_period;
    sampling->period = wish;
}

// Invariant 2: true when the run is to be forgotten.
static bool lost_too_many(st_sampling *sampling, uint64_t got, uint64_t dropped, bool full) {
    if ((dropped <= got / 8 && !full) || sampling->period + 2 > ST_PERIOD_COARSEST)
        return false;
    sampling->period += dropped > 2 * got || full ? 2 : 1;
    return true;
}

// --- runs ---------------------------------------------------------------------------------------------------

static void know_image(st_profiler *profiler, const void *image, size_t bytes, st_sample_reading *reading) {
    if (!image || bytes == 0 || !profiler->api->GetCubinCrc)
        return;
    CUpti_GetCubinCrcParams ask = {
        .size = ST_CUPTI_SIZE(CUpti_GetCubinCrcParams, cubinCrc), .cubinSize = bytes, .cubin = image};
    reading->crc_known = ST_CUPTI(profiler->api, GetCubinCrc, &ask) == CUPTI_SUCCESS;
    reading->crc = ask.cubinCrc;
}

// Runs so often and reads what was sampled. `together`: what prepare launches is left to the table.
static st_code sample_runs(collecting *at, unsigned count, bool together, st_error *error) {
    st_sampling *sampling = &at->profiler->sampling;
    st_code code = st_sampling_apply_period(at->profiler, error);
    double began = st_clock_seconds(), launching = 0;
    for (unsigned i = 0; i < count && code == ST_OK; i++) {
        double start = st_clock_seconds();
        code = st_profiler_get_ready(at->profiler, at->context, error);
        launching += st_clock_seconds() - start;
        if (code == ST_OK && at->profiler->prepare && !together)
            code = st_sampling_read(at->profiler, NULL, error); // its kernels, and what was dropped of them
        start = st_clock_seconds();
        if (code == ST_OK)
            code = at->run(at->context, error);
        launching += st_clock_seconds() - start;
        at->launches++;
    }
    if (code == ST_OK)
        code = st_sampling_read(at->profiler, &at->reading, error);
    at->launch_seconds += launching;
    if (!sampling->fresh)
        at->seconds += st_clock_seconds() - began;
    sampling->fresh = false;
    return code;
}

// How many further runs should do for the minimum, after runs that gave `total` samples.
static unsigned runs_wanted(const collecting *at, unsigned runs, uint64_t total) {
    uint64_t each = total / (runs ? runs : 1);
    uint64_t wanted = (at->how.minimum - total) / (each ? each : 1) + 1;
    if (wanted > TOGETHER_MOST)
        wanted = TOGETHER_MOST;
    return runs + wanted > MAX_RUNS ? MAX_RUNS - runs : (unsigned)wanted;
}

static void settle_period(const collecting *at, uint64_t got, bool enough) {
    st_sampling *sampling = &at->profiler->sampling;
    if (at->how.expected_ns > 0)
        return;
    if (enough)
        sampling->period = coarser_period(sampling->period, got, at->how.minimum);
    else if (got < at->how.minimum / FEW)
        sampling->period = finer_period(sampling, got, at->how.minimum);
}

static st_code collect(collecting *at, st_error *error) {
    st_sampling *sampling = &at->profiler->sampling;
    uint64_t total = 0, dropped = 0; // of the runs that count
    unsigned runs = 0, count = 1;
    while (runs < MAX_RUNS) {
        uint64_t before = total;
        bool together = count > 1;
        at->reading.dropped = 0;
        at->reading.full = false;
        st_code code = sample_runs(at, count, together, error);
        if (code != ST_OK)
            return code;
        runs += count;
        total = st_pc_table_samples(&sampling->table);
        uint64_t got = total - before;
        // Read together, what was dropped is mostly prepare's.
        if (!together && lost_too_many(sampling, got, at->reading.dropped, at->reading.full)) {
            sampling->limit = sampling->period;
            st_pc_table_clear(&sampling->table);
            total = dropped = 0;
            continue;
        }
        dropped += together ? 0 : at->reading.dropped;
        bool enough = total >= at->how.minimum || at->seconds > at->how.seconds;
        settle_period(at, got, enough);
        if (enough)
            break;
        count =
            at->how.expected_ns > 0 && st_pc_table_knows_ours(&sampling->table) ? runs_wanted(at, runs, total) : 1;
    }
    at->reading.dropped = dropped;
    return ST_OK;
}

// --- lines --------------------------------------------------------------------------------------------------

// A line holds a function's name cut to its field: CUPTI wants the whole one.
static const char *whole_name(const st_pc_table *table, const st_line_sample *line) {
    for (size_t i = 0; i < table->function_count; i++)
        if (strncmp(table->functions[i].name, line->function, sizeof line->function - 1) == 0)
            return table->functions[i].name;
    return line->function;
}

// Source lines of the hottest instructions; a cubin without lines leaves them unknown.
static void find_lines(const st_pc_table *table, const void *image, size_t bytes, size_t most,
                       st_stall_profile *profile) {
    size_t found = 0;
    for (size_t i = 0; i < profile->line_count && i < most; i++) {
        st_line_sample *line = &profile->lines[i];
        if (st_source_line(image, bytes, whole_name(table, line), line->pc_offset, line->file, sizeof line->file,
                           &line->line, NULL) == ST_OK)
            found++;
        if (i >= 3 && found == 0)
            return; // no lines in this cubin: asking on would only cost time
    }
}

// --- one candidate --------------------------------------------------------------------------------------------

static void fill_in(st_stall_options *how) {
    how->minimum = how->minimum ? how->minimum : DEFAULT_MINIMUM;
    how->seconds = how->seconds > 0 ? how->seconds : MAX_SECONDS;
    how->lines = how->lines ? how->lines : LINES_LOOKED_UP;
}

st_code st_profiler_stalls_as(st_profiler *profiler, st_run_once *run, void *context, const void *image,
                              size_t image_bytes, const st_stall_options *how, st_stall_profile *out,
                              st_error *error) {
    *out = (st_stall_profile){0};
    double began = st_clock_seconds();
    st_sampling *sampling = &profiler->sampling;
    collecting at = {.profiler = profiler, .run = run, .context = context, .how = *how};
    fill_in(&at.how);
    st_code code = st_profiler_switch(profiler, ST_MODE_SAMPLING, error);
    if (code != ST_OK)
        return code;
    know_image(profiler, image, image_bytes, &at.reading);
    if (at.how.expected_ns > 0)
        expect_period(sampling, &at.how);
    code = st_sampling_read(profiler, NULL, error); // what a run before left behind
    if (code == ST_OK)
        code = collect(&at, error);
    if (code == ST_OK)
        code = st_pc_table_profile(&sampling->table, sampling->slot_names, sampling->slot_count, out, error);
    if (code == ST_OK && image)
        find_lines(&sampling->table, image, image_bytes, at.how.lines, out);
    st_pc_table_clear(&sampling->table);
    if (code != ST_OK) {
        (void)st_profiler_switch(profiler, ST_MODE_OFF, NULL); // profiler.c, invariant 3
        return code;
    }
    out->dropped_samples = at.reading.dropped;
    out->launches = at.launches;
    out->launch_seconds = at.launch_seconds;
    out->seconds = st_clock_seconds() - began;
    return ST_OK;
}

st_code st_profiler_stalls(st_profiler *profiler, st_run_once *run, void *context, const void *image,
                           size_t image_bytes, uint64_t minimum, st_stall_profile *out, st_error *error) {
    const st_stall_options how = {.minimum = minimum};
    return st_profiler_stalls_as(profiler, run, context, image, image_bytes, &how, out, error);
}
