// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. `ready` is true exactly while the library is open and nvmlInit has succeeded; 2. a
// failed attempt leaves nothing open. States: closed → ready → closed.
#include "tuner/gpu/nvml.h"

#include "tuner/gpu/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static st_nvml nvml;
static bool ready;

static const char *const usual_places[] = {
    "libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib64/libnvidia-ml.so.1",
    "/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
    NULL,
};

static const char remedy[] =
    "clocks, throttling and other processes stay unknown; libnvidia-ml.so.1 "
    "comes with the driver (in a container: NVIDIA_DRIVER_CAPABILITIES must "
    "hold `utility`)";

static st_code load(st_error *error)
{
    const st_symbol symbols[] = {
#define X(field, exported, required, parameters) {exported, (void **)&nvml.field, required},
        ST_NVML_CALLS(X)
#undef X
        {"nvmlErrorString", (void **)&nvml.error_text, true},
    };
    return st_library_load(&nvml.library, symbols, sizeof symbols / sizeof symbols[0], remedy,
                           error);
}

static st_code start(st_error *error)
{
    int result = ST_NVML_CALL(&nvml, init);
    if (result == ST_NVML_SUCCESS)
        return ST_OK;
    return st_fail(error, ST_NOTHING, remedy, "nvmlInit_v2 of %s: %s", nvml.library.path,
                   result == ST_NVML_INJECTED ? "a test made this call fail"
                                              : nvml.error_text(result));
}

const st_nvml *st_nvml_get(st_error *error)
{
    if (ready)
        return &nvml;
    const char *wish = getenv("SIMTUNE_LIBNVML");
    const char *const wished[] = {wish, NULL};
    nvml = (st_nvml){0};
    st_code code = st_library_open(&nvml.library, wish && wish[0] ? wished : usual_places, remedy,
                                   error);
    if (code == ST_OK)
        code = load(error);
    if (code == ST_OK)
        code = start(error);
    if (code != ST_OK) {
        st_library_close(&nvml.library);
        return NULL;
    }
    ready = true;
    return &nvml;
}

void st_nvml_close(void)
{
    if (ready)
        nvml.shutdown();
    st_library_close(&nvml.library);
    ready = false;
}

void st_nvml_driver_version(char out[32])
{
    const st_nvml *used = st_nvml_get(NULL);
    char version[96] = "";
    if (used && ST_NVML_CALL(used, driver_version, version, sizeof version) != ST_NVML_SUCCESS)
        version[0] = '\0';
    if (!version[0]) {
        st_machine_facts machine;
        st_machine_read(st_machine_root, &machine);
        snprintf(version, sizeof version, "%s", machine.kernel_module);
    }
    snprintf(out, 32, "%.31s", version);
}
