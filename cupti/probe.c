// SPDX-License-Identifier: Apache-2.0
// Whether counters can be had, and if not, why, and what works there.
//
// Invariants:
//  1. The probe enables and disables both ways of collecting for real and leaves nothing enabled:
//  that
//     alone tells denied from allowed.
//  2. A refusal that several causes share is narrowed by what the machine says of itself (WSL, MIG,
//  the
//     driver's RmProfilingAdminOnly), never by guessing: without such a sign the plain state
//     stands.
//  3. Every state but `allowed` has a remedy.
#include "cupti/profiler_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// To add a state: a row here, in the order of st_counters_state, and a line in docs/counters.md.
static const struct {
    const char *name, *remedy;
} states[] = {
    [ST_COUNTERS_ALLOWED] = {"allowed", ""},
    [ST_COUNTERS_NO_LIBRARY] =
        {"no library",
         "install CUPTI: it is in the CUDA toolkit (12.6 or later, under extras/CUPTI), or unpack "
         "the "
         "PyPI package nvidia-cuda-cupti (13.x) or nvidia-cuda-cupti-cu12 and name its folder in "
         "SIMTUNE_CUDA_LIBRARIES"},
    [ST_COUNTERS_TOO_OLD] =
        {"too old",
         "install CUPTI of CUDA 12.6 or later that is no newer than what the driver supports "
         "(nvidia-smi prints that version), or update the driver"},
    [ST_COUNTERS_DENIED] =
        {"denied",
         "the driver keeps performance counters for administrators (ERR_NVGPUCTRPERM): load it "
         "with the "
         "option NVreg_RestrictProfilingToAdminUsers=0 (a line 'options nvidia "
         "NVreg_RestrictProfilingToAdminUsers=0' in /etc/modprobe.d, then rebuild the initramfs "
         "and "
         "reboot), or run as root or with CAP_SYS_ADMIN (a container: --cap-add=SYS_ADMIN)"},
    [ST_COUNTERS_BUSY] =
        {"busy",
         "another profiler holds the counters of this GPU: end ncu, nsys or the debugger that runs "
         "this process, or pause DCGM's metrics with 'dcgmi profile --pause' (and '--resume' "
         "after)"},
    [ST_COUNTERS_WSL] =
        {"WSL2",
         "in Windows, open the NVIDIA control panel as administrator, enable Desktop > Developer "
         "settings, and under 'Manage GPU performance counters' allow access to all users; then "
         "run 'wsl --shutdown'"},
    [ST_COUNTERS_VGPU] =
        {"vGPU",
         "profiling of a virtual GPU is switched on by the hypervisor's administrator (the vGPU "
         "plugin parameter enable_profiling=1), and one VM per GPU may use it at a time"},
    [ST_COUNTERS_MIG] =
        {"MIG",
         "counters of this MIG instance are refused: tune on a GPU without MIG, or on an instance "
         "that takes the whole GPU, as root or with NVreg_RestrictProfilingToAdminUsers=0"},
    [ST_COUNTERS_CONFIDENTIAL] =
        {"confidential computing",
         "the GPU is in confidential-computing mode, which hides its counters: "
         "ask for the mode's developer setting (devtools), or profile on a "
         "machine without it"},
    [ST_COUNTERS_UNSUPPORTED] =
        {"unsupported",
         "CUPTI does not profile this GPU or this setting of it: GPUs before compute "
         "capability 7.5 need an older toolkit, a newer GPU needs a newer CUPTI, and "
         "SLI and mining cards have no counters"},
    [ST_COUNTERS_FAILED] =
        {"failed",
         "run 'simtune doctor' and 'ncu --query-metrics' on this machine: if ncu fails as well, "
         "the installation of driver and CUPTI is at fault"},
};

const char *st_counters_state_name(st_counters_state state) {
    return (size_t)state < sizeof states / sizeof *states ? states[state].name : "unknown";
}

const char *st_counters_remedy(st_counters_state state) {
    return (size_t)state < sizeof states / sizeof *states ? states[state].remedy : "";
}

// --- what the machine says of itself
// ---------------------------------------------------------------------

static bool file_has(const char *path, const char *needle) {
    char bytes[8192];
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t length = fread(bytes, 1, sizeof bytes - 1, file);
    fclose(file);
    bytes[length] = 0;
    return strstr(bytes, needle) != NULL;
}

static bool is_wsl(void) {
    return access("/dev/dxg", F_OK) == 0 || file_has("/proc/version", "icrosoft");
}

static bool is_mig(void) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return visible && strncmp(visible, "MIG-", 4) == 0;
}

// Invariant 2.
st_counters_state st_counters_narrow(st_counters_state state, st_text *detail) {
    bool refused = state == ST_COUNTERS_DENIED || state == ST_COUNTERS_UNSUPPORTED;
    if (refused && is_wsl())
        return ST_COUNTERS_WSL;
    if ((state == ST_COUNTERS_UNSUPPORTED || state == ST_COUNTERS_FAILED) && is_mig())
        return ST_COUNTERS_MIG;
    if (state == ST_COUNTERS_DENIED && detail) {
        const char *file = "/proc/driver/nvidia/params";
        if (file_has(file, "RmProfilingAdminOnly: 1"))
            st_text_addf(detail, "; %s says RmProfilingAdminOnly: 1", file);
        else if (file_has(file, "RmProfilingAdminOnly: 0"))
            st_text_addf(detail,
                         "; %s says RmProfilingAdminOnly: 0, so something else refuses "
                         "(a container without the driver's capabilities, or a hypervisor)",
                         file);
    }
    return state;
}

// What cuptiProfilerDeviceSupported tells, as a state; allowed when it has nothing to say.
static st_counters_state state_of_support(const CUpti_Profiler_DeviceSupported_Params *answer) {
    const CUpti_Profiler_Support_Level yes = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    const CUpti_Profiler_Support_Level unknown = CUPTI_PROFILER_CONFIGURATION_UNKNOWN;
    if (answer->isSupported == yes || answer->isSupported == unknown)
        return ST_COUNTERS_ALLOWED;
    if (answer->confidentialCompute != yes && answer->confidentialCompute != unknown)
        return ST_COUNTERS_CONFIDENTIAL;
    if (answer->wsl != yes && answer->wsl != unknown)
        return ST_COUNTERS_WSL;
    if (answer->vGpu != yes && answer->vGpu != unknown)
        return ST_COUNTERS_VGPU;
    return ST_COUNTERS_UNSUPPORTED;
}

st_counters_state st_counters_supported(const st_cupti *api, int ordinal, st_text *detail) {
    if (!api->ProfilerDeviceSupported)
        return ST_COUNTERS_ALLOWED; // nobody to ask: enabling will tell
    CUpti_Profiler_DeviceSupported_Params ask = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_DeviceSupported_Params, api),
        .cuDevice = ordinal,
        .api = CUPTI_PROFILER_RANGE_PROFILING,
    };
    int result = ST_CUPTI(api, ProfilerDeviceSupported, &ask);
    if (result != CUPTI_SUCCESS)
        return ST_COUNTERS_ALLOWED;
    st_counters_state state = state_of_support(&ask);
    if (state != ST_COUNTERS_ALLOWED && detail)
        st_text_addf(
            detail,
            "cuptiProfilerDeviceSupported: architecture %d, SLI %d, vGPU %d, confidential %d, "
            "CMP %d, WSL %d (3 is supported)",
            (int)ask.architecture, (int)ask.sli, (int)ask.vGpu, (int)ask.confidentialCompute,
            (int)ask.cmp, (int)ask.wsl);
    return state;
}

// --- the probe
// -------------------------------------------------------------------------------------------

static st_counters_state refused(const st_cupti *api, int result, const char *call,
                                 st_text *detail) {
    if (detail)
        st_text_addf(detail, "%s: %s (%d)", call, st_cupti_words(api, result), result);
    return st_counters_narrow(st_cupti_state_of(result), detail);
}

static st_counters_state probe_sampling(const st_cupti *api, CUcontext context, st_text *detail) {
    CUpti_PCSamplingEnableParams on = {.size = ST_CUPTI_SIZE(CUpti_PCSamplingEnableParams, ctx),
                                       .ctx = context};
    int result = ST_CUPTI(api, PCSamplingEnable, &on);
    if (result != CUPTI_SUCCESS)
        return refused(api, result, "cuptiPCSamplingEnable", detail);
    CUpti_PCSamplingDisableParams off = {.size = ST_CUPTI_SIZE(CUpti_PCSamplingDisableParams, ctx),
                                         .ctx = context};
    result = ST_CUPTI(api, PCSamplingDisable, &off);
    if (result != CUPTI_SUCCESS) // once more, for invariant 1; the answer stays what it was
        (void)ST_CUPTI(api, PCSamplingDisable, &off);
    return result == CUPTI_SUCCESS ? ST_COUNTERS_ALLOWED
                                   : refused(api, result, "cuptiPCSamplingDisable", detail);
}

static st_counters_state probe_ranges(const st_cupti *api, CUcontext context, st_text *detail) {
    CUpti_RangeProfiler_Enable_Params on = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject),
        .ctx = context};
    int result = ST_CUPTI(api, RangeProfilerEnable, &on);
    if (result != CUPTI_SUCCESS)
        return refused(api, result, "cuptiRangeProfilerEnable", detail);
    CUpti_RangeProfiler_Disable_Params off = {
        .structSize = ST_CUPTI_SIZE(CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject),
        .pRangeProfilerObject = on.pRangeProfilerObject};
    result = ST_CUPTI(api, RangeProfilerDisable, &off);
    if (result != CUPTI_SUCCESS)
        (void)ST_CUPTI(api, RangeProfilerDisable, &off);
    return result == CUPTI_SUCCESS ? ST_COUNTERS_ALLOWED
                                   : refused(api, result, "cuptiRangeProfilerDisable", detail);
}

// cuptiProfilerInitialize fails where there is no GPU, and the host functions do without it.
int st_cupti_initialize(const st_cupti *api) {
    if (!api->ProfilerInitialize)
        return CUPTI_SUCCESS;
    CUpti_Profiler_Initialize_Params start = {
        .structSize = ST_CUPTI_SIZE(CUpti_Profiler_Initialize_Params, pPriv)};
    return ST_CUPTI(api, ProfilerInitialize, &start);
}

st_counters_state st_counters_probe_with(const st_cupti *api, void *cu_context, int ordinal,
                                         st_text *detail) {
    int result = st_cupti_initialize(api);
    if (result != CUPTI_SUCCESS)
        return refused(api, result, "cuptiProfilerInitialize", detail);
    st_counters_state state = st_counters_supported(api, ordinal, detail);
    if (state == ST_COUNTERS_ALLOWED)
        state = probe_sampling(api, cu_context, detail);
    if (state == ST_COUNTERS_ALLOWED)
        state = probe_ranges(api, cu_context, detail);
    return state;
}

st_counters_state st_counters_probe(void *cu_context, int ordinal, st_text *detail) {
    const st_cupti *api = NULL;
    st_error error;
    st_counters_state state;
    if (st_cupti_open(&api, &state, &error) != ST_OK) {
        if (detail)
            st_text_add(detail, error.what);
        return state;
    }
    if (!cu_context) {
        if (detail)
            st_text_add(detail, "no CUDA context to ask with");
        return ST_COUNTERS_FAILED;
    }
    return st_counters_probe_with(api, cu_context, ordinal, detail);
}
