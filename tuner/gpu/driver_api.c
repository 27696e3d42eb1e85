// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. `ready` is true exactly while `driver` is open, complete and initialised; 2. a
// failed attempt closes what it opened and leaves `probe` saying how far it came; 3. no call is
// made without passing the fault point.
// States: closed → (st_driver_get) → ready → (st_driver_close) → closed.
#include "tuner/gpu/driver_api.h"

#include "tuner/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static st_driver driver;
static st_driver_probe probe = {.version = -1, .init_result = -1};
static bool ready;

static const char *const call_names[ST_DRIVER_CALL_COUNT] = {
#define X(field, exported, required, parameters) exported,
    ST_DRIVER_CALLS(X)
#undef X
};

const char *st_driver_call_name(st_driver_call call)
{
    return call_names[call];
}

// The file name alone first: the loader knows where the driver's package put it. The unversioned
// name is left out on purpose: it is what the toolkit's link-time stub is called.
static const char *const usual_places[] = {
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
    NULL,
};

static bool open_library(void)
{
    const char *wish = getenv("SIMTUNE_LIBCUDA");
    const char *const wished[] = {wish, NULL};
    probe.is_wished = wish && wish[0];
    st_error error;
    st_error_clear(&error);
    if (st_library_open(&driver.library, probe.is_wished ? wished : usual_places, NULL, &error)) {
        snprintf(probe.tried, sizeof probe.tried, "%.*s", (int)sizeof probe.tried - 1, error.what);
        return false;
    }
    probe.found = true;
    memcpy(probe.path, driver.library.path, sizeof probe.path);
    return true;
}

static bool load_calls(void)
{
    const st_symbol symbols[] = {
#define X(field, exported, required, parameters) {exported, (void **)&driver.field, required},
        ST_DRIVER_CALLS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (st_library_load(&driver.library, &symbols[i], 1, NULL, NULL)) {
            snprintf(probe.missing, sizeof probe.missing, "%s", symbols[i].name);
            return false;
        }
    return true;
}

static void words(CUresult result, char *name, size_t name_capacity, char *text,
                  size_t text_capacity)
{
    const char *own_name = NULL, *own_text = NULL;
    if (result == ST_DRIVER_INJECTED) {
        own_name = "INJECTED_FAULT";
        own_text = "a test made this call fail";
    } else {
        driver.get_error_name(result, &own_name);
        driver.get_error_string(result, &own_text);
    }
    if (own_name)
        snprintf(name, name_capacity, "%s", own_name);
    else
        snprintf(name, name_capacity, "CUresult %d", (int)result);
    snprintf(text, text_capacity, "%s", own_text ? own_text : "no description");
}

static bool start(void)
{
    int version = -1;
    CUresult result = ST_DRIVER_CALL(&driver, driver_get_version, &version);
    if (result == CUDA_SUCCESS) {
        driver.version = probe.version = version;
        if (version < ST_DRIVER_OLDEST_CUDA)
            return false; // not started: cuInit of an old driver tells nothing more
        result = ST_DRIVER_CALL(&driver, init, 0);
    }
    probe.init_result = (int)result;
    if (result != CUDA_SUCCESS)
        words(result, probe.init_name, sizeof probe.init_name, probe.init_text,
              sizeof probe.init_text);
    return result == CUDA_SUCCESS;
}

const st_driver *st_driver_get(st_error *error)
{
    if (ready)
        return &driver;
    probe = (st_driver_probe){.version = -1, .init_result = -1};
    driver = (st_driver){.version = -1};
    ready = open_library() && load_calls() && start();
    if (ready)
        return &driver;
    st_library_close(&driver.library);

    st_machine_facts machine;
    st_doctor_finding finding;
    st_machine_read(st_machine_root, &machine);
    st_code code = st_doctor_driver(&machine, &probe, &finding);
    st_fail(error, code == ST_OK ? ST_FAILED : code, finding.remedy, "%s", finding.message);
    return NULL;
}

void st_driver_probed(st_driver_probe *out)
{
    *out = probe;
}

void st_driver_close(void)
{
    st_library_close(&driver.library);
    driver = (st_driver){.version = -1};
    ready = false;
}

st_code st_driver_check(const st_driver *used, CUresult result, st_driver_call call,
                        st_error *error)
{
    (void)used;
    if (result == CUDA_SUCCESS)
        return ST_OK;
    char name[64], text[192];
    words(result, name, sizeof name, text, sizeof text);
    return st_fail(error, ST_FAILED, NULL, "%s: %s: %s", st_driver_call_name(call), name, text);
}

CUresult st_driver_given_back(CUresult result)
{
    return st_fault_here(ST_FAULT_DRIVER) ? ST_DRIVER_INJECTED : result;
}

// By number: some of the names are younger than the oldest headers that we compile with.
bool st_driver_is_sticky(CUresult result)
{
    switch ((int)result) {
    case 4:   // DEINITIALIZED
    case 46:  // DEVICE_UNAVAILABLE: it fell off the bus, or was taken away
    case 214: // ECC_UNCORRECTABLE
    case 220: // NVLINK_UNCORRECTABLE
    case 226: // CONTAINED
    case 700: // ILLEGAL_ADDRESS
    case 702: // LAUNCH_TIMEOUT
    case 709: // CONTEXT_IS_DESTROYED
    case 710: // ASSERT
    case 714: // HARDWARE_STACK_ERROR
    case 715: // ILLEGAL_INSTRUCTION
    case 716: // MISALIGNED_ADDRESS
    case 717: // INVALID_ADDRESS_SPACE
    case 718: // INVALID_PC
    case 719: // LAUNCH_FAILED
    case 721: // TENSOR_MEMORY_LEAK
    case 806: // MPS_RPC_FAILURE
    case 810: // MPS_CLIENT_TERMINATED
        return true;
    default:
        return false;
    }
}
