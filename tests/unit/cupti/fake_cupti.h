// SPDX-License-Identifier: Apache-2.0
// A CUPTI of our own making, for test_profiler.c alone: a device whose samples and ranges are
// counted, and the habits that CUPTI 13.0 was seen to have on a GPU. What the profiler must never
// do is a `breach`.
#ifndef SIMTUNE_TESTS_FAKE_CUPTI_H
#define SIMTUNE_TESTS_FAKE_CUPTI_H

#include "cupti/profiler_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------

typedef struct fake_run { // one candidate
    int number;
    uint64_t cycles; // of one run
    bool fails;
    unsigned runs, prepared;
} fake_run;

static struct fake {
    bool sampling, ranges;     // enabled
    bool busy;                 // another process profiles
    uint32_t period, limit;    // a period below the limit loses samples
    uint64_t waiting, dropped; // samples that were not read yet
    uint64_t of_flush;         // those of them that are of the cache's flush, of another module
    unsigned calls, changes, enablings, breaches, lossy;
    // ranges
    const uint8_t *first_image;
    const uint8_t *first_data;
    size_t first_ranges;
    uint8_t *data;
    size_t pushed;
    int pass, running; // the candidate in the open range, -1 none
    bool open;
} fake;

#define FAKE_FLUSH 1000
#define FAKE_CRC 7 // of every candidate's module
#define FAKE_REASONS 4
#define FAKE_PASSES 3
static const char *const fake_names[FAKE_REASONS] = {
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_selected", "smsp__pcsamp_samples_data_dropped"};

static void device_runs(const fake_run *run) {
    if (fake.sampling) {
        uint64_t wanted = run->cycles >> fake.period;
        uint64_t most = run->cycles >> fake.limit;
        *(run->number == FAKE_FLUSH ? &fake.of_flush : &fake.waiting) += wanted < most ? wanted : most;
        fake.dropped += wanted < most ? 0 : wanted - most;
        fake.lossy += wanted > most;
    }
    if (fake.open)
        fake.running = run->number;
}

static st_code run_once(void *context, st_error *error) {
    fake_run *run = context;
    run->runs++;
    device_runs(run);
    return run->fails ? st_fail(error, ST_FAILED, NULL, "candidate %d failed", run->number) : ST_OK;
}

static st_code prepare(void *context, st_error *error) {
    (void)error;
    fake_run flush = {.number = FAKE_FLUSH, .cycles = 1u << 28};
    ((fake_run *)context)->prepared++;
    device_runs(&flush);
    return ST_OK;
}

static CUptiResult sampling_enable(CUpti_PCSamplingEnableParams *p) {
    (void)p;
    fake.calls++;
    fake.enablings++;
    fake.breaches += fake.sampling || fake.ranges; // never both, never twice
    fake.sampling = true;
    return CUPTI_SUCCESS;
}

static CUptiResult sampling_disable(CUpti_PCSamplingDisableParams *p) {
    (void)p;
    fake.calls++;
    fake.breaches += !fake.sampling;
    fake.sampling = false;
    fake.waiting = fake.of_flush = 0;
    return CUPTI_SUCCESS;
}

static CUptiResult count_reasons(CUpti_PCSamplingGetNumStallReasonsParams *p) {
    fake.calls++;
    if (!fake.sampling)
        return CUPTI_ERROR_INVALID_OPERATION;
    *p->numStallReasons = FAKE_REASONS;
    return CUPTI_SUCCESS;
}

static CUptiResult list_reasons(CUpti_PCSamplingGetStallReasonsParams *p) {
    fake.calls++;
    for (uint32_t i = 0; i < FAKE_REASONS; i++) {
        p->stallReasonIndex[i] = 10 + i;
        snprintf(p->stallReasons[i], CUPTI_STALL_REASON_STRING_SIZE, "%s", fake_names[i]);
    }
    return CUPTI_SUCCESS;
}

static CUptiResult set_attributes(CUpti_PCSamplingConfigurationInfoParams *p) {
    fake.calls++;
    for (size_t i = 0; i < p->numAttributes; i++)
        if (p->pPCSamplingConfigurationInfo[i].attributeType ==
            CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD) {
            fake.period =
                p->pPCSamplingConfigurationInfo[i].attributeData.samplingPeriodData.samplingPeriod;
            fake.changes++;
        }
    return fake.period >= 5 && fake.period <= 31 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

static CUptiResult cubin_crc(CUpti_GetCubinCrcParams *p) {
    fake.calls++;
    p->cubinCrc = FAKE_CRC;
    return CUPTI_SUCCESS;
}

// Three quarters wait (two thirds of these with nothing issued), one quarter issues; two
// instructions, and one of the flush, which always waits.
static CUptiResult get_data(CUpti_PCSamplingGetDataParams *p) {
    fake.calls++;
    if (fake.busy)
        return CUPTI_ERROR_UNKNOWN;
    CUpti_PCSamplingData *data = p->pcSamplingData;
    uint32_t n = (uint32_t)fake.waiting, others = (uint32_t)fake.of_flush;
    data->droppedSamples = fake.dropped;
    data->totalNumPcs = n ? 2 : 0;
    data->remainingNumPcs = 0;
    if (n) {
        CUpti_PCSamplingPCData *a = &data->pPcData[0], *b = &data->pPcData[1];
        a->functionName = b->functionName = "kernel";
        a->pcOffset = 0x100;
        b->pcOffset = 0x200;
        a->stallReasonCount = 2;
        a->stallReason[0] = (CUpti_PCSamplingStallReason){10, n - n / 4};
        a->stallReason[1] = (CUpti_PCSamplingStallReason){11, n / 2};
        b->stallReasonCount = 2;
        b->stallReason[0] = (CUpti_PCSamplingStallReason){12, n / 4};
        b->stallReason[1] = (CUpti_PCSamplingStallReason){13, 77}; // no reason: to be ignored
        a->cubinCrc = b->cubinCrc = FAKE_CRC;
    }
    if (others) {
        CUpti_PCSamplingPCData *c = &data->pPcData[data->totalNumPcs++];
        c->functionName = "flush";
        c->cubinCrc = FAKE_CRC + 1;
        c->pcOffset = 0x300;
        c->stallReasonCount = 1;
        c->stallReason[0] = (CUpti_PCSamplingStallReason){10, others};
    }
    fake.waiting = fake.of_flush = fake.dropped = 0;
    return CUPTI_SUCCESS;
}

static CUptiResult ranges_enable(CUpti_RangeProfiler_Enable_Params *p) {
    fake.calls++;
    fake.enablings++;
    fake.breaches += fake.sampling || fake.ranges;
    fake.ranges = true;
    fake.open = false; // a fresh session, whatever failed in the one before
    fake.first_image = NULL;
    p->pRangeProfilerObject = (CUpti_RangeProfiler_Object *)&fake;
    return CUPTI_SUCCESS;
}

static CUptiResult ranges_disable(CUpti_RangeProfiler_Disable_Params *p) {
    fake.calls++;
    fake.breaches += !fake.ranges || p->pRangeProfilerObject != (void *)&fake;
    fake.ranges = false;
    return CUPTI_SUCCESS;
}

static CUptiResult data_size(CUpti_RangeProfiler_GetCounterDataSize_Params *p) {
    fake.calls++;
    p->counterDataSize = p->maxNumOfRanges * sizeof(int);
    return CUPTI_SUCCESS;
}

static CUptiResult data_initialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p) {
    fake.calls++;
    memset(p->pCounterData, 0xFF, p->counterDataSize);
    return CUPTI_SUCCESS;
}

// Another image, other data or another number of ranges than at first is what CUPTI does not
// survive.
static CUptiResult set_config(CUpti_RangeProfiler_SetConfig_Params *p) {
    fake.calls++;
    if (!fake.first_image) {
        fake.first_image = p->pConfig;
        fake.first_data = p->pCounterDataImage;
        fake.first_ranges = p->maxRangesPerPass;
    }
    fake.breaches += fake.first_image != p->pConfig || fake.first_data != p->pCounterDataImage ||
                     fake.first_ranges != p->maxRangesPerPass;
    fake.data = p->pCounterDataImage;
    fake.pass = 0;
    return CUPTI_SUCCESS;
}

static CUptiResult start_pass(CUpti_RangeProfiler_Start_Params *p) {
    (void)p;
    fake.calls++;
    fake.pushed = 0;
    return CUPTI_SUCCESS;
}

static CUptiResult push(CUpti_RangeProfiler_PushRange_Params *p) {
    (void)p;
    fake.calls++;
    fake.breaches += fake.open;
    fake.open = true;
    fake.running = -1;
    return CUPTI_SUCCESS;
}

static CUptiResult pop(CUpti_RangeProfiler_PopRange_Params *p) {
    (void)p;
    fake.calls++;
    fake.breaches += !fake.open;
    fake.open = false;
    if (fake.pushed < fake.first_ranges)
        ((int *)fake.data)[fake.pushed++] = fake.running;
    return CUPTI_SUCCESS;
}

static CUptiResult stop_pass(CUpti_RangeProfiler_Stop_Params *p) {
    fake.calls++;
    p->isAllPassSubmitted = ++fake.pass == FAKE_PASSES;
    return CUPTI_SUCCESS;
}

static CUptiResult decode(CUpti_RangeProfiler_DecodeData_Params *p) {
    (void)p;
    fake.calls++;
    return CUPTI_SUCCESS;
}

static CUptiResult data_info(CUpti_RangeProfiler_GetCounterDataInfo_Params *p) {
    fake.calls++;
    p->numTotalRanges = fake.pushed;
    return CUPTI_SUCCESS;
}

static CUptiResult host_open(CUpti_Profiler_Host_Initialize_Params *p) {
    p->pHostObject = (CUpti_Profiler_Host_Object *)&fake;
    return CUPTI_SUCCESS;
}

static CUptiResult host_close(CUpti_Profiler_Host_Deinitialize_Params *p) {
    (void)p;
    return CUPTI_SUCCESS;
}

static CUptiResult host_properties(CUpti_Profiler_Host_GetMetricProperties_Params *p) {
    return strstr(p->pMetricName, "gmma") ? CUPTI_ERROR_INVALID_METRIC_NAME : CUPTI_SUCCESS;
}

static CUptiResult host_add(CUpti_Profiler_Host_ConfigAddMetrics_Params *p) {
    (void)p;
    return CUPTI_SUCCESS;
}

static CUptiResult image_size(CUpti_Profiler_Host_GetConfigImageSize_Params *p) {
    p->configImageSize = 16;
    return CUPTI_SUCCESS;
}

static CUptiResult get_image(CUpti_Profiler_Host_GetConfigImage_Params *p) {
    memset(p->pConfigImage, 1, p->configImageSize);
    return CUPTI_SUCCESS;
}

static CUptiResult passes(CUpti_Profiler_Host_GetNumOfPasses_Params *p) {
    p->numOfPasses = FAKE_PASSES;
    return CUPTI_SUCCESS;
}

// The value of every metric is 100 × the candidate's number; a chip's NaN for the second metric.
static CUptiResult evaluate(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p) {
    fake.calls++;
    for (size_t m = 0; m < p->numMetrics; m++)
        p->pMetricValues[m] =
            m == 1 ? NAN : 100.0 * ((const int *)p->pCounterDataImage)[p->rangeIndex];
    return CUPTI_SUCCESS;
}

static CUptiResult words(CUptiResult result, const char **text) {
    (void)result;
    *text = "FAKE_WORDS";
    return CUPTI_SUCCESS;
}

static const st_cupti fake_api = {
    .GetResultString = words,
    .PCSamplingEnable = sampling_enable,
    .PCSamplingDisable = sampling_disable,
    .PCSamplingGetNumStallReasons = count_reasons,
    .PCSamplingGetStallReasons = list_reasons,
    .PCSamplingSetConfigurationAttribute = set_attributes,
    .PCSamplingGetData = get_data,
    .GetCubinCrc = cubin_crc,
    .RangeProfilerEnable = ranges_enable,
    .RangeProfilerDisable = ranges_disable,
    .RangeProfilerGetCounterDataSize = data_size,
    .RangeProfilerCounterDataImageInitialize = data_initialize,
    .RangeProfilerSetConfig = set_config,
    .RangeProfilerStart = start_pass,
    .RangeProfilerStop = stop_pass,
    .RangeProfilerPushRange = push,
    .RangeProfilerPopRange = pop,
    .RangeProfilerDecodeData = decode,
    .RangeProfilerGetCounterDataInfo = data_info,
    .ProfilerHostInitialize = host_open,
    .ProfilerHostDeinitialize = host_close,
    .ProfilerHostGetMetricProperties = host_properties,
    .ProfilerHostConfigAddMetrics = host_add,
    .ProfilerHostGetConfigImageSize = image_size,
    .ProfilerHostGetConfigImage = get_image,
    .ProfilerHostGetNumOfPasses = passes,
    .ProfilerHostEvaluateToGpuValues = evaluate,
};

#endif
