// SPDX-License-Identifier: Apache-2.0
// Finding and opening NVRTC.
//
// Invariants:
//  1. SIMTUNE_LIBNVRTC, where set, is the only library that is tried.
//  2. A library of a CUDA major above the driver's is never tried: the driver could not load its
//  code.
//  3. Majors are tried from the newest downward; within a major the places are those of
//     base/cuda_library.h.
#include "tuner/gpu/nvrtc_api.h"

#include "tuner/base/cuda_library.h"
#include "tuner/base/memory.h"
#include "tuner/base/text.h"
#include "tuner/gpu/compile.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define REMEDY                                                                                     \
    "install the CUDA toolkit (12.6 or later), or set SIMTUNE_CUDA_LIBRARIES to a folder that "    \
    "holds "                                                                                       \
    "the PyPI package nvidia-cuda-nvrtc, or SIMTUNE_LIBNVRTC to the library itself"

static const st_library_kind nvrtc_library = {"nvrtc", "cuda_nvrtc", NULL, "SIMTUNE_LIBNVRTC"};

static st_code list_names(int driver_cuda, st_library_names *list, st_error *error) {
    bool only;
    st_code code = st_library_names_only(&nvrtc_library, list, &only, error);
    if (code != ST_OK || only) // invariant 1
        return code;
    int newest = driver_cuda < 0 ? ST_NEWEST_CUDA_MAJOR : driver_cuda / 1000;
    if (newest < ST_OLDEST_CUDA_MAJOR)
        return st_fail(error, ST_NOTHING, "update the NVIDIA driver to one for CUDA 12.6 or later",
                       "the NVIDIA driver supports CUDA %d.%d only, simtune needs 12.6 or later",
                       driver_cuda / 1000, driver_cuda % 1000 / 10);
    if (newest > ST_NEWEST_CUDA_MAJOR)
        newest = ST_NEWEST_CUDA_MAJOR;
    for (int major = newest; major >= ST_OLDEST_CUDA_MAJOR && code == ST_OK; --major)
        code = st_library_names_add(&nvrtc_library, major, list, error);
    return code;
}

// NVRTC 12 opens its libnvrtc-builtins by the loader's path alone, where what pip unpacked is not:
// opened here from beside the library, it is found by its name. Kept open: NVRTC needs it as long
// as itself.
static void open_builtins(const st_nvrtc *api) {
    const char *slash = strrchr(api->library.path, '/');
    if (!slash)
        return;
    char path[600];
    snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - api->library.path),
             api->library.path, api->major, api->minor);
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
        dlerror(); // NVRTC will say what it misses
}

static st_code load(st_nvrtc *api, st_error *error) {
    st_symbol symbols[] = {
#define X(type, name, arguments) {"nvrtc" #name, (void **)&api->name, true},
        ST_NVRTC_FUNCTIONS(X)
#undef X
    };
    st_code code =
        st_library_load(&api->library, symbols, sizeof symbols / sizeof *symbols, REMEDY, error);
    if (code) {
        st_library_close(&api->library);
        return code;
    }
    // From its first call on NVRTC stays: it keeps memory that unloading would lose.
    if (st_fault_here(ST_FAULT_NVRTC) || api->Version(&api->major, &api->minor) != NVRTC_SUCCESS)
        return st_fail(error, ST_FAILED, REMEDY, "%s does not tell its version", api->library.path);
    snprintf(api->version, sizeof api->version, "nvrtc %d.%d", api->major, api->minor);
    open_builtins(api);
    struct stat status;
    api->file_bytes = stat(api->library.path, &status) == 0 ? (long long)status.st_size : -1;
    return ST_OK;
}

st_code st_nvrtc_open(int driver_cuda, const st_nvrtc **out, st_error *error) {
    static st_nvrtc kept;
    *out = NULL;
    if (!kept.library.handle) {
        st_nvrtc api = {0};
        st_library_names list = {.count = 0};
        st_code code = list_names(driver_cuda, &list, error);
        if (!code && st_library_open(&api.library, (const char *const *)list.names, REMEDY, error))
            code = ST_NOTHING;
        if (!code)
            code = load(&api, error);
        st_library_names_release(&list);
        if (code) {
            if (error)
                error->code = code;
            return code;
        }
        kept = api;
    }
    *out = &kept;
    return ST_OK;
}

int st_driver_cuda_version(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!driver)
        return -1;
    int version = -1;
    int (*get)(int *) = NULL;
    *(void **)&get = dlsym(driver, "cuDriverGetVersion");
    if (!get || get(&version) != 0 || version <= 0)
        version = -1;
    dlclose(driver);
    return version;
}

st_code st_nvrtc_version(int driver_cuda, char version[48], int *archs, size_t *arch_count,
                         size_t arch_capacity, st_error *error) {
    const st_nvrtc *api = NULL;
    st_code code = st_nvrtc_open(driver_cuda, &api, error);
    if (code)
        return code;
    memcpy(version, api->version, sizeof api->version);
    if (!arch_count)
        return ST_OK;
    *arch_count = 0;
    int known[128], count = 0;
    if (st_fault_here(ST_FAULT_NVRTC) || api->GetNumSupportedArchs(&count) != NVRTC_SUCCESS ||
        count < 0 || count > (int)(sizeof known / sizeof *known) ||
        st_fault_here(ST_FAULT_NVRTC) || api->GetSupportedArchs(known) != NVRTC_SUCCESS)
        return st_fail(error, ST_FAILED, REMEDY, "%s does not tell which archs it knows",
                       api->library.path);
    for (int i = 0; i < count && *arch_count < arch_capacity; ++i)
        archs[(*arch_count)++] = known[i];
    return ST_OK;
}
