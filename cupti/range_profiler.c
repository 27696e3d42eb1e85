// SPDX-License-Identifier: Apache-2.0
// Exact counters: one range a candidate, replayed as often as the counters need passes.
//
// Invariants:
//  1. User range, user replay: the candidate is run anew for every pass by `run`, which resets its
//  state.
//     (Auto range with kernel replay cannot reset tickets and tile states between passes.)
//  2. Ranges are numbered in the order in which they were pushed; as many come back as went in, or
//  it is
//     an error.
//  3. A schedule of passes is kept while the same metrics are asked for: making it costs
//  milliseconds.
//  4. A pass that fails leaves the range profiler disabled (profiler.c, invariant 3).
#include "cupti/profiler_internal.h"

#include "tuner/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Ranges between one start and stop. More save little: the fixed cost is shared by 64 already.
#define MAX_RANGES 64

st_code st_ranges_enable(st_profiler *profiler, st_error *error) {
    CUpti_RangeProfiler_Enable_Params on = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject),
        .ctx = profiler->context};
    int result = ST_CUPTI(profiler->api, RangeProfilerEnable, &on);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(profiler->api, result, "enabling the range profiler", error);
    profiler->ranges.object = on.pRangeProfilerObject;
    profiler->ranges.set_ranges = 0;
    return ST_OK;
}

st_code st_ranges_disable(st_profiler *profiler, st_error *error) {
    CUpti_RangeProfiler_Disable_Params off = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject),
        .pRangeProfilerObject = profiler->ranges.object};
    int result = ST_CUPTI(profiler->api, RangeProfilerDisable, &off);
    return result == CUPTI_SUCCESS
               ? ST_OK
               : st_cupti_fail(profiler->api, result, "disabling the range profiler", error);
}

void st_ranges_release(st_ranges *ranges) {
    st_metric_config_release(&ranges->config);
    st_free(ranges->data);
    *ranges = (st_ranges){0};
}

// --- preparing
// -------------------------------------------------------------------------------------------

static st_code find_metrics(const char *const *names, size_t count, const st_metric **metrics,
                            st_error *error) {
    for (size_t m = 0; m < count; m++) {
        metrics[m] = st_metric_find(names[m]);
        if (!metrics[m])
            return st_fail(error, ST_USAGE, "the names are in docs/counters.md",
                           "unknown counter '%s'", names[m] ? names[m] : "(null)");
    }
    return ST_OK;
}

// Invariant 3: the schedule is for these metrics, and CUPTI holds no other.
static st_code choose(st_profiler *profiler, const st_metric *const *metrics, size_t count,
                      st_error *error) {
    st_ranges *ranges = &profiler->ranges;
    if (st_metric_config_is(&ranges->config, metrics, count))
        return ST_OK;
    st_code code = ST_OK;
    if (profiler->mode == ST_MODE_RANGES)
        code = st_profiler_switch(profiler, ST_MODE_OFF, error);
    if (code != ST_OK)
        return code;
    st_metric_config_release(&ranges->config);
    return st_metric_config_make(profiler->api, profiler->chip, metrics, count, &ranges->config,
                                 error);
}

// Invariant 3: enabled, and not for another number of ranges.
static st_code enable_for(st_profiler *profiler, size_t range_count, st_error *error) {
    size_t set = profiler->ranges.set_ranges;
    st_code code = ST_OK;
    if (profiler->mode == ST_MODE_RANGES && set != 0 && set != range_count)
        code = st_profiler_switch(profiler, ST_MODE_OFF, error);
    return code == ST_OK ? st_profiler_switch(profiler, ST_MODE_RANGES, error) : code;
}

static st_code size_data(st_profiler *profiler, size_t range_count, st_error *error) {
    st_ranges *ranges = &profiler->ranges;
    CUpti_RangeProfiler_GetCounterDataSize_Params ask = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize),
        .pRangeProfilerObject = ranges->object,
        .pMetricNames = ranges->config.tool_names,
        .numMetrics = ranges->config.tool_count,
        .maxNumOfRanges = range_count,
        .maxNumRangeTreeNodes = (uint32_t)range_count};
    int result = ST_CUPTI(profiler->api, RangeProfilerGetCounterDataSize, &ask);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(profiler->api, result, "sizing counter data", error);
    if (ask.counterDataSize > ranges->data_capacity) {
        uint8_t *grown = st_realloc(ranges->data, ask.counterDataSize);
        if (!grown)
            return st_fail_memory(error, "holding counter data");
        ranges->data = grown;
        ranges->data_capacity = ask.counterDataSize;
    }
    ranges->data_bytes = ask.counterDataSize;
    memset(ranges->data, 0, ranges->data_bytes);
    return ST_OK;
}

static st_code configure(st_profiler *profiler, size_t range_count, st_error *error) {
    st_ranges *ranges = &profiler->ranges;
    st_code code = size_data(profiler, range_count, error);
    if (code != ST_OK)
        return code;
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params fresh = {
        .structSize =
            ST_CUPTI_SIZE(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData),
        .pRangeProfilerObject = ranges->object,
        .counterDataSize = ranges->data_bytes,
        .pCounterData = ranges->data};
    int result = ST_CUPTI(profiler->api, RangeProfilerCounterDataImageInitialize, &fresh);
    if (result != CUPTI_SUCCESS)
        return st_profiler_give_up(profiler, result, "preparing counter data", error);
    CUpti_RangeProfiler_SetConfig_Params set = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel),
        .pRangeProfilerObject = ranges->object,
        .configSize = ranges->config.image_bytes,
        .pConfig = ranges->config.image,
        .counterDataImageSize = ranges->data_bytes,
        .pCounterDataImage = ranges->data,
        .range = CUPTI_UserRange,
        .replayMode = CUPTI_UserReplay, // invariant 1
        .maxRangesPerPass = range_count,
        .numNestingLevels = 1,
        .minNestingLevel = 1,
        .passIndex = 0,
        .targetNestingLevel = 1};
    result = ST_CUPTI(profiler->api, RangeProfilerSetConfig, &set);
    if (result != CUPTI_SUCCESS)
        return st_profiler_give_up(profiler, result, "configuring the range profiler", error);
    ranges->set_ranges = range_count;
    return ST_OK;
}

// --- one pass
// --------------------------------------------------------------------------------------------

static st_code run_range(st_profiler *profiler, st_run_once *run, void *context, size_t number,
                         st_error *error) {
    st_code code = st_profiler_get_ready(profiler, context, error);
    if (code != ST_OK)
        return code;
    char name[24];
    snprintf(name, sizeof name, "%zu", number);
    CUpti_RangeProfiler_PushRange_Params push = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_PushRange_Params, pRangeName),
        .pRangeProfilerObject = profiler->ranges.object,
        .pRangeName = name};
    int result = ST_CUPTI(profiler->api, RangeProfilerPushRange, &push);
    if (result != CUPTI_SUCCESS)
        return st_profiler_give_up(profiler, result, "beginning a range", error);
    code = run(context, error);
    CUpti_RangeProfiler_PopRange_Params pop = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject),
        .pRangeProfilerObject = profiler->ranges.object};
    result = ST_CUPTI(profiler->api, RangeProfilerPopRange, &pop);
    if (code == ST_OK && result != CUPTI_SUCCESS)
        code = st_profiler_give_up(profiler, result, "ending a range", error);
    return code;
}

static st_code run_pass(st_profiler *profiler, st_run_once *run, void *const *contexts,
                        size_t count, bool *last, st_error *error) {
    CUpti_RangeProfiler_Object *object = profiler->ranges.object;
    CUpti_RangeProfiler_Start_Params start = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_Start_Params, pRangeProfilerObject),
        .pRangeProfilerObject = object};
    int result = ST_CUPTI(profiler->api, RangeProfilerStart, &start);
    if (result != CUPTI_SUCCESS)
        return st_profiler_give_up(profiler, result, "starting a pass", error);
    st_code code = ST_OK;
    for (size_t c = 0; c < count && code == ST_OK; c++)
        code = run_range(profiler, run, contexts[c], c, error);
    CUpti_RangeProfiler_Stop_Params stop = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted),
        .pRangeProfilerObject = object};
    result = ST_CUPTI(profiler->api, RangeProfilerStop, &stop);
    if (code == ST_OK && result != CUPTI_SUCCESS)
        code = st_profiler_give_up(profiler, result, "ending a pass", error);
    *last = stop.isAllPassSubmitted != 0;
    return code;
}

static st_code decode(st_profiler *profiler, size_t range_count, double *values, st_error *error) {
    st_ranges *ranges = &profiler->ranges;
    CUpti_RangeProfiler_DecodeData_Params data = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped),
        .pRangeProfilerObject = ranges->object};
    int result = ST_CUPTI(profiler->api, RangeProfilerDecodeData, &data);
    if (result != CUPTI_SUCCESS)
        return st_profiler_give_up(profiler, result, "decoding counters", error);
    CUpti_RangeProfiler_GetCounterDataInfo_Params info = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges),
        .pCounterDataImage = ranges->data,
        .counterDataImageSize = ranges->data_bytes};
    result = ST_CUPTI(profiler->api, RangeProfilerGetCounterDataInfo, &info);
    if (result != CUPTI_SUCCESS)
        return st_profiler_give_up(profiler, result, "decoding counters", error);
    if (info.numTotalRanges != range_count) // invariant 2
        return st_fail(error, ST_FAILED, NULL, "the range profiler returned %zu ranges of %zu",
                       info.numTotalRanges, range_count);
    st_code code = ST_OK;
    for (size_t r = 0; r < range_count && code == ST_OK; r++)
        code = st_metric_config_values(&ranges->config, ranges->data, ranges->data_bytes, r,
                                       values + r * ranges->config.count, error);
    return code;
}

static st_code collect(st_profiler *profiler, st_run_once *run, void *const *contexts, size_t count,
                       double *values, st_error *error) {
    st_code code = configure(profiler, count, error);
    size_t limit =
        2 * profiler->ranges.config.passes + 8; // a library that never ends is not waited for
    bool last = false;
    for (size_t pass = 0; code == ST_OK && !last; pass++) {
        if (pass == limit)
            return st_fail(error, ST_FAILED, NULL,
                           "the range profiler asks for more than %zu passes, %zu were planned",
                           limit, profiler->ranges.config.passes);
        code = run_pass(profiler, run, contexts, count, &last, error);
    }
    return code == ST_OK ? decode(profiler, count, values, error) : code;
}

// Invariant 4.
static st_code collect_all(st_profiler *profiler, st_run_once *run, void *const *contexts,
                           size_t count, double *values, st_error *error) {
    size_t chunks = (count + MAX_RANGES - 1) / MAX_RANGES;
    size_t part = (count + chunks - 1) / chunks;
    st_code code = enable_for(profiler, part, error);
    for (size_t done = 0; done < count && code == ST_OK; done += part) {
        size_t first = done + part <= count ? done : count - part;
        code = collect(profiler, run, contexts + first, part,
                       values + first * profiler->ranges.config.count, error);
    }
    if (code != ST_OK)
        (void)st_profiler_switch(profiler, ST_MODE_OFF, NULL); // invariant 5
    return code;
}

st_code st_profiler_counters(st_profiler *profiler, st_run_once *run, void *const *contexts,
                             size_t candidate_count, const char *const *metric_names,
                             size_t metric_count, double *values, double *seconds,
                             st_error *error) {
    double began = st_clock_seconds();
    for (size_t i = 0; i < candidate_count * metric_count; i++)
        values[i] = NAN;
    const st_metric **metrics = st_calloc(metric_count ? metric_count : 1, sizeof *metrics);
    if (!metrics)
        return st_fail_memory(error, "choosing counters");
    st_code code = find_metrics(metric_names, metric_count, metrics, error);
    if (code == ST_OK && candidate_count > 0 && metric_count > 0)
        code = choose(profiler, metrics, metric_count, error);
    if (code == ST_OK && candidate_count > 0 && metric_count > 0 &&
        profiler->ranges.config.tool_count > 0)
        code = collect_all(profiler, run, contexts, candidate_count, values, error);
    st_free(metrics);
    if (seconds)
        *seconds = st_clock_seconds() - began;
    return code;
}
