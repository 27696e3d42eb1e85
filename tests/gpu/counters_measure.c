// SPDX-License-Identifier: Apache-2.0
// What collecting costs, printed: periods, memory, sets of counters. Nothing is judged here.
#include "counters_kernels.h"

#include "tuner/base/clock.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// -------------------------------------------------------------------------------

static void measure_periods(st_profiler *profiler, candidate *one, const char *title,
                            const trial_cubin *cubin) {
    for (uint32_t period = 5; period <= 14; period++) {
        char name[64];
        snprintf(name, sizeof name, "%s, period 2^%u", title, period);
        profiler->sampling.period = period;
        st_stall_profile profile = stalls_of(profiler, one, cubin, name);
        st_stall_profile_release(&profile);
    }
}

static void measure_growth(st_profiler *profiler, candidate *one, const trial_cubin *cubin) {
    for (int i = 0; i <= 60; i++) {
        st_error error;
        st_stall_profile profile;
        if (st_profiler_stalls(profiler, run_once, one, cubin->bytes, cubin->length, 0, &profile,
                               &error) == ST_OK)
            st_stall_profile_release(&profile);
        if (i % 20 == 0)
            printf("  after %d collections: %zu KiB in use\n", i,
                   (size_t)mallinfo2().uordblks >> 10);
    }
}

static void measure_leftover(st_profiler *profiler) {
    usleep(200000);
    CUpti_PCSamplingData *taken = &profiler->sampling.taken;
    CUpti_PCSamplingGetDataParams get = {
        .size = ST_CUPTI_SIZE(CUpti_PCSamplingGetDataParams, pcSamplingData),
        .ctx = profiler->context,
        .pcSamplingData = taken};
    int result = profiler->api->PCSamplingGetData(&get);
    printf("  200 ms later: result %d, %zu records, %llu samples, own buffer %zu records\n", result,
           taken->totalNumPcs, (unsigned long long)taken->totalSamples,
           profiler->sampling.kept.totalNumPcs);
    for (size_t i = 0; i < taken->totalNumPcs; i++)
        taken->pPcData[i].functionName = NULL;
}

void measure_counters(st_profiler *profiler, candidate *stream) {
    static const char *const groups[] = {"stall", "memory", "shared", "issue", "occupancy"};
    size_t count = 0;
    const st_metric *table = st_metrics(&count);
    for (size_t g = 0; g < 5; g++)
        for (int repeat = 0; repeat < 2; repeat++) {
            const char *names[128];
            double values[128 * MANY], seconds = 0;
            size_t used = 0;
            for (size_t m = 0; m < count; m++)
                if (strcmp(table[m].group, groups[g]) == 0)
                    names[used++] = table[m].name;
            void *contexts[MANY];
            for (int c = 0; c < MANY; c++)
                contexts[c] = stream;
            st_error error;
            size_t candidates = repeat ? MANY : 1;
            stream->runs = 0;
            st_code code = st_profiler_counters(profiler, run_once, contexts, candidates, names,
                                                used, values, &seconds, &error);
            printf("  %-10s %2zu counters, %2zu candidates: %s, %u runs, %.3f s, %.1f ms each\n",
                   groups[g], used, candidates, code == ST_OK ? "ok" : error.what, stream->runs,
                   seconds, 1e3 * seconds / (double)candidates);
        }
}

void measure_sampling(st_profiler *profiler, candidate *stream, candidate *small, candidate *tiny,
                      const trial_cubin *cubin) {
    measure_leftover(profiler);
    measure_periods(profiler, stream, "stream", cubin);
    measure_periods(profiler, small, "small", cubin);
    measure_periods(profiler, tiny, "tiny", cubin);
    measure_growth(profiler, small, cubin);
}
