// SPDX-License-Identifier: Apache-2.0
// The CUPTI of tests/unit/cupti/fake_cupti.h as a library, for whole runs over the counterfeit libcuda: name it in
// SIMTUNE_LIBCUPTI, and that in SIMTUNE_LIBCUDA. It samples whatever is launched there. A process that ends in
// order appends to FAKE_REPORT `left …` for what is still enabled, and for each thing done that CUPTI does not survive.
#include "tests/unit/cupti/fake_cupti.h"

#include "tests/fake/fake_cuda.h"

#include <dlfcn.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static const fake_run any_kernel = {.number = 1, .cycles = 1u << 22};

static void launched(void)
{
    device_runs(&any_kernel);
}

// The profile worker has opened its driver before it opens CUPTI.
__attribute__((constructor)) static void begin(void)
{
    fake = (struct fake){.running = -1, .limit = 7};
    const char *path = getenv("SIMTUNE_LIBCUDA");
    void *driver = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    fake_cuda_control_function *control = NULL;
    if (driver)
        *(void **)&control = dlsym(driver, "fake_cuda_control");
    if (control)
        control()->on_launch = launched;
    (void)run_once, (void)prepare; // of the unit test
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAKE_REPORT");
    FILE *file = path && (fake.sampling || fake.ranges || fake.breaches) ? fopen(path, "ae") : NULL;
    if (!file)
        return;
    fprintf(file, "left sampling %d ranges %d breaches %u\n", fake.sampling, fake.ranges, fake.breaches);
    fclose(file);
}

// --- what the table of fake_cupti.h has not -------------------------------------------------------------
CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    return words(result, text);
}

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
    (void)p;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *p)
{
    p->isSupported = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
    p->pChipName = "GH100";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *p)
{
    static const char *const chips[] = {"GH100"};
    p->numChips = 1;
    p->ppChipNames = (void *)chips;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetSassToSourceCorrelation(CUpti_GetSassToSourceCorrelationParams *p)
{
    p->lineNumber = 25;
    p->fileName = strdup("blend.cu"); // CUPTI's callers free both
    p->dirName = strdup("/templates");
    return CUPTI_SUCCESS;
}

// --- the table ------------------------------------------------------------------------------------------
#define FORWARD(name, parameters)                                                                  \
    CUptiResult cupti##name(parameters *p) { return fake_api.name(p); }
FORWARD(PCSamplingEnable, CUpti_PCSamplingEnableParams)
FORWARD(PCSamplingDisable, CUpti_PCSamplingDisableParams)
FORWARD(PCSamplingGetNumStallReasons, CUpti_PCSamplingGetNumStallReasonsParams)
FORWARD(PCSamplingGetStallReasons, CUpti_PCSamplingGetStallReasonsParams)
FORWARD(PCSamplingSetConfigurationAttribute, CUpti_PCSamplingConfigurationInfoParams)
FORWARD(PCSamplingGetData, CUpti_PCSamplingGetDataParams)
FORWARD(RangeProfilerEnable, CUpti_RangeProfiler_Enable_Params)
FORWARD(RangeProfilerDisable, CUpti_RangeProfiler_Disable_Params)
FORWARD(RangeProfilerGetCounterDataSize, CUpti_RangeProfiler_GetCounterDataSize_Params)
FORWARD(RangeProfilerCounterDataImageInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params)
FORWARD(RangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig_Params)
FORWARD(RangeProfilerStart, CUpti_RangeProfiler_Start_Params)
FORWARD(RangeProfilerStop, CUpti_RangeProfiler_Stop_Params)
FORWARD(RangeProfilerPushRange, CUpti_RangeProfiler_PushRange_Params)
FORWARD(RangeProfilerPopRange, CUpti_RangeProfiler_PopRange_Params)
FORWARD(RangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData_Params)
FORWARD(RangeProfilerGetCounterDataInfo, CUpti_RangeProfiler_GetCounterDataInfo_Params)
FORWARD(ProfilerHostInitialize, CUpti_Profiler_Host_Initialize_Params)
FORWARD(ProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params)
FORWARD(ProfilerHostGetMetricProperties, CUpti_Profiler_Host_GetMetricProperties_Params)
FORWARD(ProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params)
FORWARD(ProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params)
FORWARD(ProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params)
FORWARD(ProfilerHostGetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params)
FORWARD(ProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues_Params)
