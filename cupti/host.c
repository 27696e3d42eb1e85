// SPDX-License-Identifier: Apache-2.0
// CUPTI's host side.
//
// Invariants:
//  1. A name is asked for by cuptiProfilerHostGetMetricProperties before it is added: a refused
//     cuptiProfilerHostConfigAddMetrics spoils the host object for all that follows.
//  2. Where the properties promise more than the scheduler keeps, each name is tried in a host
//  object of
//     its own, so that one bad name never costs the others.
//  3. A metric that a chip has not is NaN in the values, never 0.
//
// States of a config: empty → made (st_metric_config_make) → empty (st_metric_config_release).
#include "cupti/host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int host_open(const st_cupti *api, const char *chip, CUpti_Profiler_Host_Object **host) {
    CUpti_Profiler_Host_Initialize_Params open = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_Host_Initialize_Params, pHostObject),
        .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
        .pChipName = chip};
    int result = ST_CUPTI(api, ProfilerHostInitialize, &open);
    *host = result == CUPTI_SUCCESS ? open.pHostObject : NULL;
    return result;
}

static void host_close(const st_cupti *api, CUpti_Profiler_Host_Object *host) {
    if (!host)
        return;
    CUpti_Profiler_Host_Deinitialize_Params close = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_Host_Deinitialize_Params, pHostObject),
        .pHostObject = host};
    (void)api->ProfilerHostDeinitialize(&close); // nothing can be done about a refusal
}

static int host_ask(const st_cupti *api, CUpti_Profiler_Host_Object *host, const char *name) {
    CUpti_Profiler_Host_GetMetricProperties_Params ask = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_Host_GetMetricProperties_Params, metricType),
        .pHostObject = host,
        .pMetricName = name};
    return ST_CUPTI(api, ProfilerHostGetMetricProperties, &ask);
}

static int host_add(const st_cupti *api, CUpti_Profiler_Host_Object *host, const char **names,
                    size_t count) {
    CUpti_Profiler_Host_ConfigAddMetrics_Params add = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics),
        .pHostObject = host,
        .ppMetricNames = names,
        .numMetrics = count};
    return ST_CUPTI(api, ProfilerHostConfigAddMetrics, &add);
}

// Invariant 2.
static bool schedules_alone(const st_cupti *api, const char *chip, const char *name) {
    CUpti_Profiler_Host_Object *host = NULL;
    bool fine = host_open(api, chip, &host) == CUPTI_SUCCESS &&
                host_add(api, host, &name, 1) == CUPTI_SUCCESS;
    host_close(api, host);
    return fine;
}

// The spelling of a metric that this chip knows; *name is NULL when it knows none. Any other answer
// of CUPTI than "no such name" is an error, so that a failure is not taken for a metric that is
// missing.
static int spelling(const st_cupti *api, CUpti_Profiler_Host_Object *host, const st_metric *metric,
                    const char **name) {
    const char *const spellings[] = {metric->tool_name, metric->other_tool_name};
    *name = NULL;
    for (size_t i = 0; i < 2 && spellings[i]; i++) {
        int result = host_ask(api, host, spellings[i]);
        if (result == CUPTI_SUCCESS) {
            *name = spellings[i];
            return result;
        }
        if (result != CUPTI_ERROR_INVALID_METRIC_NAME)
            return result;
    }
    return CUPTI_SUCCESS;
}

static int resolve(st_metric_config *config) {
    config->tool_count = 0;
    for (size_t m = 0; m < config->count; m++) {
        const char *name = NULL;
        int result = spelling(config->api, config->host, config->metrics[m], &name);
        if (result != CUPTI_SUCCESS)
            return result;
        config->tool_index[m] = name ? (int)config->tool_count : -1;
        if (name)
            config->tool_names[config->tool_count++] = name;
    }
    return CUPTI_SUCCESS;
}

static void drop_unschedulable(st_metric_config *config, const char *chip) {
    size_t kept = 0;
    for (size_t m = 0; m < config->count; m++) {
        if (config->tool_index[m] < 0)
            continue;
        const char *name = config->tool_names[config->tool_index[m]];
        bool fine = schedules_alone(config->api, chip, name);
        config->tool_index[m] = fine ? (int)kept : -1;
        if (fine)
            config->tool_names[kept++] = name; // kept ≤ the index just read
    }
    config->tool_count = kept;
}

static int add_all(st_metric_config *config, const char *chip) {
    int result = host_add(config->api, config->host, config->tool_names, config->tool_count);
    if (result == CUPTI_SUCCESS)
        return result;
    drop_unschedulable(config, chip);
    host_close(config->api, config->host);
    int opened = host_open(config->api, chip, &config->host);
    if (opened != CUPTI_SUCCESS || config->tool_count == 0)
        return opened;
    return host_add(config->api, config->host, config->tool_names, config->tool_count);
}

static st_code make_image(st_metric_config *config, st_error *error) {
    const st_cupti *api = config->api;
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize),
        .pHostObject = config->host};
    int result = ST_CUPTI(api, ProfilerHostGetConfigImageSize, &size);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(api, result, "scheduling counters", error);
    config->image_bytes = size.configImageSize;
    config->image = st_malloc(config->image_bytes);
    if (!config->image)
        return st_fail_memory(error, "scheduling counters");
    CUpti_Profiler_Host_GetConfigImage_Params image = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage),
        .pHostObject = config->host,
        .configImageSize = config->image_bytes,
        .pConfigImage = config->image};
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses),
        .configImageSize = config->image_bytes,
        .pConfigImage = config->image};
    result = ST_CUPTI(api, ProfilerHostGetConfigImage, &image);
    if (result == CUPTI_SUCCESS)
        result = ST_CUPTI(api, ProfilerHostGetNumOfPasses, &passes);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(api, result, "scheduling counters", error);
    config->passes = passes.numOfPasses;
    return ST_OK;
}

static st_code allocate(st_metric_config *config, const st_metric *const *metrics, size_t count,
                        st_error *error) {
    config->metrics = st_calloc(count ? count : 1, sizeof *config->metrics);
    config->tool_names = st_calloc(count ? count : 1, sizeof *config->tool_names);
    config->tool_index = st_calloc(count ? count : 1, sizeof *config->tool_index);
    if (!config->metrics || !config->tool_names || !config->tool_index)
        return st_fail_memory(error, "scheduling counters");
    if (count)
        memcpy(config->metrics, metrics, count * sizeof *metrics);
    config->count = count;
    return ST_OK;
}

// Opens the host object, resolves the names and schedules what the chip has.
static st_code schedule(st_metric_config *config, const char *chip, st_error *error) {
    int result = host_open(config->api, chip, &config->host);
    if (result == CUPTI_ERROR_INVALID_PARAMETER || result == CUPTI_ERROR_UNKNOWN)
        return st_fail(error, ST_FAILED, st_counters_remedy(ST_COUNTERS_UNSUPPORTED),
                       "chip %s: CUPTI refuses it (%d)", chip, result);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(config->api, result, chip, error);
    result = resolve(config);
    if (result == CUPTI_SUCCESS && config->tool_count > 0)
        result = add_all(config, chip);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(config->api, result, "choosing counters", error);
    return config->tool_count > 0 ? make_image(config, error) : ST_OK;
}

st_code st_metric_config_make(const st_cupti *api, const char *chip,
                              const st_metric *const *metrics, size_t count,
                              st_metric_config *config, st_error *error) {
    *config = (st_metric_config){.api = api};
    st_code code = allocate(config, metrics, count, error);
    if (code == ST_OK)
        code = schedule(config, chip, error);
    if (code != ST_OK)
        st_metric_config_release(config);
    return code;
}

void st_metric_config_release(st_metric_config *config) {
    if (config->api)
        host_close(config->api, config->host);
    st_free(config->metrics);
    st_free(config->tool_names);
    st_free(config->tool_index);
    st_free(config->image);
    *config = (st_metric_config){0};
}

bool st_metric_config_is(const st_metric_config *config, const st_metric *const *metrics,
                         size_t count) {
    return config->metrics && config->count == count &&
           memcmp(config->metrics, metrics, count * sizeof *metrics) == 0;
}

st_code st_metric_config_values(const st_metric_config *config, const uint8_t *data,
                                size_t data_bytes, size_t range, double *values, st_error *error) {
    double *raw = st_calloc(config->tool_count, sizeof *raw);
    if (!raw)
        return st_fail_memory(error, "reading counters");
    CUpti_Profiler_Host_EvaluateToGpuValues_Params ask = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues),
        .pHostObject = config->host,
        .pCounterDataImage = data,
        .counterDataImageSize = data_bytes,
        .rangeIndex = range,
        .ppMetricNames = config->tool_names,
        .numMetrics = config->tool_count,
        .pMetricValues = raw};
    int result = ST_CUPTI(config->api, ProfilerHostEvaluateToGpuValues, &ask);
    if (result != CUPTI_SUCCESS) {
        st_free(raw);
        return st_cupti_fail(config->api, result, "reading counters", error);
    }
    for (size_t m = 0; m < config->count; m++) {
        int index = config->tool_index[m];
        values[m] = index < 0 ? NAN : st_metric_convert(config->metrics[m], raw[index]);
    }
    st_free(raw);
    return ST_OK;
}

// --- public, without a GPU
// -------------------------------------------------------------------------------

st_code st_cupti_chips(char chips[][16], size_t capacity, size_t *count, st_error *error) {
    *count = 0;
    const st_cupti *api = NULL;
    st_code code = st_cupti_open(&api, NULL, error);
    if (code != ST_OK)
        return code;
    CUpti_Profiler_Host_GetSupportedChips_Params ask = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_Host_GetSupportedChips_Params, ppChipNames)};
    int result = ST_CUPTI(api, ProfilerHostGetSupportedChips, &ask);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(api, result, "listing chips", error);
    *count = ask.numChips;
    for (size_t i = 0; i < ask.numChips && i < capacity; i++)
        snprintf(chips[i], sizeof chips[i], "%s", ask.ppChipNames[i]);
    return ST_OK;
}

st_code st_cupti_check_chip(const char *chip, bool *supported, size_t *passes, st_error *error) {
    const st_cupti *api = NULL;
    size_t count = 0;
    const st_metric *table = st_metrics(&count);
    st_code code = st_cupti_open(&api, NULL, error);
    if (code != ST_OK)
        return code;
    const st_metric **all = st_calloc(count, sizeof *all);
    if (!all)
        return st_fail_memory(error, "checking counters");
    for (size_t i = 0; i < count; i++)
        all[i] = &table[i];
    st_metric_config config;
    code = st_metric_config_make(api, chip, all, count, &config, error);
    if (code == ST_OK) {
        for (size_t i = 0; i < count; i++)
            supported[i] = config.tool_index[i] >= 0;
        if (passes)
            *passes = config.passes;
        st_metric_config_release(&config);
    }
    st_free(all);
    return code;
}
