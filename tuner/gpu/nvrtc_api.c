// SPDX-License-Identifier: Apache-2.0
// Finding and opening NVRTC.
//
// Invariants:
//  1. SIMTUNE_LIBNVRTC, where set, is the only library that is tried.
//  2. A library of a CUDA major above the driver's is never tried: the driver could not load its
//  code.
//  3. Majors are tried from the newest downward; within a major the places are tried in this order:
//     SIMTUNE_CUDA_LIBRARIES, CUDA_HOME, CUDA_PATH, /usr/local/cuda, /usr/local/cuda-*, the
//     loader's own path, .deps/cuda of the source tree, cuda/ in the user's data folder.
//  4. SIMTUNE_IGNORE_TOOLKIT=1 leaves out installed toolkits and the loader's path, so that the way
//     without a toolkit can be tested on a machine that has one.
#include "tuner/gpu/nvrtc_api.h"

#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/base/text.h"
#include "tuner/gpu/compile.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OLDEST_MAJOR 12
#define NEWEST_MAJOR 13 // raised once a newer one was tested
#define MAX_NAMES 64
#define REMEDY                                                                                     \
    "install the CUDA toolkit (12.6 or later), or set SIMTUNE_CUDA_LIBRARIES to a folder that "    \
    "holds "                                                                                       \
    "the PyPI package nvidia-cuda-nvrtc, or SIMTUNE_LIBNVRTC to the library itself"

// The names to try, in order; the last is followed by NULL.
typedef struct name_list {
    char *names[MAX_NAMES + 1];
    size_t count;
    bool failed; // out of memory
} name_list;

static void release_names(name_list *list) {
    for (size_t i = 0; i < list->count; ++i)
        st_free(list->names[i]);
    list->count = 0;
}

static void add_name(name_list *list, const char *folder, const char *middle, int major) {
    if (list->count == MAX_NAMES)
        return;
    char *name = st_format("%s%slibnvrtc.so.%d", folder, middle, major);
    if (!name) {
        list->failed = true;
        return;
    }
    list->names[list->count++] = name;
    list->names[list->count] = NULL;
}

static void add_toolkit(name_list *list, const char *root, int major) {
    if (!root || !*root)
        return;
    add_name(list, root, "/lib64/", major);
    add_name(list, root, "/targets/x86_64-linux/lib/", major);
}

// `folder` holds the libraries themselves or what pip unpacked: nvidia/cu13/lib (13.x names) or
// nvidia/cuda_nvrtc/lib (12.x names).
static void add_unpacked(name_list *list, const char *folder, int major) {
    if (!folder || !*folder)
        return;
    char middle[32];
    snprintf(middle, sizeof middle, "/nvidia/cu%d/lib/", major);
    add_name(list, folder, "/", major);
    add_name(list, folder, middle, major);
    add_name(list, folder, "/nvidia/cuda_nvrtc/lib/", major);
}

static void add_versioned_toolkits(name_list *list, int major) {
    glob_t found;
    char pattern[64];
    snprintf(pattern, sizeof pattern, "/usr/local/cuda-%d*", major);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = found.gl_pathc; i-- > 0;)
        add_toolkit(list, found.gl_pathv[i], major);
    globfree(&found);
}

static void add_user_data(name_list *list, int major) {
    st_text folder;
    st_text_init(&folder);
    if (st_paths_data(&folder, NULL) == ST_OK) {
        st_text_add(&folder, "/cuda");
        add_unpacked(list, st_text_string(&folder), major);
    }
    st_text_release(&folder);
}

static void add_major(name_list *list, int major) {
    const char *hidden = getenv("SIMTUNE_IGNORE_TOOLKIT");
    bool toolkits = !hidden || strcmp(hidden, "1") != 0;
    add_unpacked(list, getenv("SIMTUNE_CUDA_LIBRARIES"), major);
    if (toolkits) {
        add_toolkit(list, getenv("CUDA_HOME"), major);
        add_toolkit(list, getenv("CUDA_PATH"), major);
        add_toolkit(list, "/usr/local/cuda", major);
        add_versioned_toolkits(list, major);
        add_name(list, "", "", major);
    }
    add_unpacked(list, SIMTUNE_SOURCE_FOLDER "/.deps/cuda", major);
    add_user_data(list, major);
}

static st_code list_names(int driver_cuda, name_list *list, st_error *error) {
    const char *only = getenv("SIMTUNE_LIBNVRTC");
    if (only && *only) { // invariant 1
        list->names[0] = st_strdup(only);
        if (!list->names[0])
            return st_fail_memory(error, "looking for NVRTC");
        list->count = 1;
        return ST_OK;
    }
    int newest = driver_cuda < 0 ? NEWEST_MAJOR : driver_cuda / 1000;
    if (newest < OLDEST_MAJOR)
        return st_fail(error, ST_NOTHING, "update the NVIDIA driver to one for CUDA 12.6 or later",
                       "the NVIDIA driver supports CUDA %d.%d only, simtune needs 12.6 or later",
                       driver_cuda / 1000, driver_cuda % 1000 / 10);
    if (newest > NEWEST_MAJOR)
        newest = NEWEST_MAJOR;
    for (int major = newest; major >= OLDEST_MAJOR; --major)
        add_major(list, major);
    return list->failed ? st_fail_memory(error, "looking for NVRTC") : ST_OK;
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
    if (code)
        return code;
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
        name_list list = {.count = 0};
        st_code code = list_names(driver_cuda, &list, error);
        if (!code && st_library_open(&api.library, (const char *const *)list.names, REMEDY, error))
            code = ST_NOTHING;
        if (!code && (code = load(&api, error)))
            st_library_close(&api.library);
        release_names(&list);
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
        api->GetSupportedArchs(known) != NVRTC_SUCCESS)
        return st_fail(error, ST_FAILED, REMEDY, "%s does not tell which archs it knows",
                       api->library.path);
    for (int i = 0; i < count && *arch_count < arch_capacity; ++i)
        archs[(*arch_count)++] = known[i];
    return ST_OK;
}
