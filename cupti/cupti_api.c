// SPDX-License-Identifier: Apache-2.0
// Finding and opening libcupti, and what its results mean.
//
// Invariants:
//  1. SIMTUNE_LIBCUPTI, where set, is the only library that is tried.
//  2. A library of a CUDA major above the driver's is not tried while another may be had: it cannot
//  talk
//     to that driver. Without a driver (the host functions need none) the newest comes first.
//  3. Within a major the places are tried in the order that tuner/gpu uses for NVRTC.
//  4. The first library that has every required function wins; one that lacks some is passed over
//  and
//     remembered, so that "too old" is said only when nothing newer was found.
//  5. Once open, a library stays: there is no way back that CUPTI survives.
//
// States: nothing open → open (st_cupti_open); a failure leaves nothing open and may be tried
// again.
#include "cupti/cupti_api.h"

#include "tuner/base/paths.h"
#include "tuner/base/text.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST_MAJOR 12
#define NEWEST_MAJOR 13 // raised once a newer one was tested
#define MAX_NAMES 64

static st_cupti opened; // library.handle is NULL while nothing is open

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define UNDER_ADDRESS_SANITIZER 1
#endif

#ifdef UNDER_ADDRESS_SANITIZER
// libcupti opens its neighbours (libnvperf_host) with RTLD_DEEPBIND, and AddressSanitizer ends the
// process for that flag. In such builds alone this dlopen stands before the sanitizer's and takes
// the flag away.
void *dlopen(const char *name, int flags) {
    static void *(*next)(const char *, int);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    return next(name, flags & ~RTLD_DEEPBIND);
}

// libcupti keeps what it parsed of each cubin for ever: no leak of ours.
const char *__lsan_default_suppressions(void);
__attribute__((weak)) const char *__lsan_default_suppressions(void) {
    return "leak:libcupti\nleak:libnvperf\n";
}
#endif

typedef struct name_list {
    char *names[MAX_NAMES];
    size_t count;
    bool failed; // out of memory
} name_list;

static void release_names(name_list *list) {
    for (size_t i = 0; i < list->count; i++)
        st_free(list->names[i]);
    list->count = 0;
}

// major 0: the name without a version, as development packages link it.
static void add_name(name_list *list, const char *folder, const char *middle, int major) {
    if (list->count == MAX_NAMES)
        return;
    char *name = major ? st_format("%s%slibcupti.so.%d", folder, middle, major)
                       : st_format("%s%slibcupti.so", folder, middle);
    if (name)
        list->names[list->count++] = name;
    else
        list->failed = true;
}

static void add_toolkit(name_list *list, const char *root, int major) {
    if (!root || !*root)
        return;
    add_name(list, root, "/lib64/", major);
    add_name(list, root, "/extras/CUPTI/lib64/", major);
    add_name(list, root, "/targets/x86_64-linux/lib/", major);
    add_name(list, root, "/targets/sbsa-linux/lib/", major);
}

// `folder` holds the libraries themselves or what pip unpacked: nvidia/cu13/lib (13.x packages) or
// nvidia/cuda_cupti/lib (12.x packages).
static void add_unpacked(name_list *list, const char *folder, int major) {
    if (!folder || !*folder)
        return;
    char middle[32];
    snprintf(middle, sizeof middle, "/nvidia/cu%d/lib/", major);
    add_name(list, folder, "/", major);
    add_name(list, folder, middle, major);
    add_name(list, folder, "/nvidia/cuda_cupti/lib/", major);
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

static bool toolkits_hidden(void) {
    const char *hidden = getenv("SIMTUNE_IGNORE_TOOLKIT");
    return hidden && strcmp(hidden, "1") == 0;
}

static void add_major(name_list *list, int major) {
    add_unpacked(list, getenv("SIMTUNE_CUDA_LIBRARIES"), major);
    if (!toolkits_hidden()) {
        add_toolkit(list, getenv("CUDA_HOME"), major);
        add_toolkit(list, getenv("CUDA_PATH"), major);
        add_toolkit(list, "/usr/local/cuda", major);
        add_versioned_toolkits(list, major);
        add_name(list, "", "", major);
    }
    add_unpacked(list, SIMTUNE_SOURCE_FOLDER "/.deps/cuda", major);
    add_user_data(list, major);
}

// The CUDA major of the driver, when one is loaded already (the profile worker has a context by
// then); -1 otherwise. It is not loaded for this question: the host functions must work without it.
static int driver_major(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        return -1;
    typedef CUresult version_function(int *);
    version_function *get = NULL;
    *(void **)&get = dlsym(driver, "cuDriverGetVersion");
    int version = 0;
    int major = get && get(&version) == CUDA_SUCCESS ? version / 1000 : -1;
    dlclose(driver); // the one that was there before stays
    return major;
}

static st_code list_names(name_list *list, st_error *error) {
    const char *only = getenv("SIMTUNE_LIBCUPTI");
    if (only && *only) { // invariant 1
        list->names[0] = st_strdup(only);
        list->count = list->names[0] ? 1 : 0;
        return list->count ? ST_OK : st_fail_memory(error, "looking for CUPTI");
    }
    int newest = driver_major();
    if (newest < 0 || newest > NEWEST_MAJOR)
        newest = NEWEST_MAJOR;
    for (int major = newest; major >= OLDEST_MAJOR; major--)
        add_major(list, major);
    for (int major = NEWEST_MAJOR; major > newest && major >= OLDEST_MAJOR; major--)
        add_major(list, major); // better than nothing: its message names both versions
    if (!toolkits_hidden())
        add_name(list, "", "", 0);
    return list->failed ? st_fail_memory(error, "looking for CUPTI") : ST_OK;
}

static st_code load_functions(st_cupti *api, st_error *error) {
    st_symbol symbols[] = {
#define X(name, required) {"cupti" #name, (void **)&api->name, required},
        ST_CUPTI_FUNCTIONS(X)
#undef X
    };
    return st_library_load(&api->library, symbols, sizeof symbols / sizeof *symbols,
                           st_counters_remedy(ST_COUNTERS_TOO_OLD), error);
}

static st_code open_one(const char *name, st_cupti *api, bool *too_old, st_error *error) {
    const char *names[] = {name, NULL};
    st_code code =
        st_library_open(&api->library, names, st_counters_remedy(ST_COUNTERS_NO_LIBRARY), error);
    if (code != ST_OK)
        return code;
    code = load_functions(api, error);
    uint32_t version = 0;
    if (code == ST_OK) {
        int result = ST_CUPTI(api, GetVersion, &version);
        if (result != CUPTI_SUCCESS)
            code = st_fail(error, ST_FAILED, st_counters_remedy(ST_COUNTERS_FAILED),
                           "%s does not tell its version (CUPTI result %d)", api->library.path,
                           result);
        else
            api->version = (int)version;
    } else {
        *too_old = true;
    }
    if (code != ST_OK)
        st_library_close(&api->library); // nothing of it was used: it may go
    return code;
}

// Invariant 4.
static st_code open_first(const name_list *list, st_counters_state *state, st_error *error) {
    st_error old = {.code = ST_OK}, last = {.code = ST_OK};
    for (size_t i = 0; i < list->count; i++) {
        bool too_old = false;
        if (open_one(list->names[i], &opened, &too_old, &last) == ST_OK) {
            *state = ST_COUNTERS_ALLOWED;
            return ST_OK;
        }
        if (too_old && old.code == ST_OK)
            old = last;
    }
    if (old.code != ST_OK) {
        *state = ST_COUNTERS_TOO_OLD;
        return st_fail(error, ST_NOTHING, old.remedy, "%s", old.what);
    }
    if (last.code == ST_FAILED)
        return st_fail(error, ST_FAILED, last.remedy, "%s", last.what);
    *state = ST_COUNTERS_NO_LIBRARY;
    return st_fail(error, ST_NOTHING, st_counters_remedy(ST_COUNTERS_NO_LIBRARY),
                   "no libcupti was found in %zu places (the last: %s)", list->count, last.what);
}

st_code st_cupti_open(const st_cupti **api, st_counters_state *state, st_error *error) {
    st_counters_state unused;
    state = state ? state : &unused;
    *state = ST_COUNTERS_ALLOWED;
    *api = &opened;
    if (opened.library.handle)
        return ST_OK;
    *api = NULL;
    *state = ST_COUNTERS_FAILED;
    name_list list = {.count = 0};
    st_code code = list_names(&list, error);
    if (code == ST_OK)
        code = open_first(&list, state, error);
    if (code == ST_OK)
        *api = &opened;
    release_names(&list);
    return code;
}

const char *st_cupti_words(const st_cupti *api, int result) {
    const char *words = NULL;
    if (!api || !api->GetResultString ||
        api->GetResultString((CUptiResult)result, &words) != CUPTI_SUCCESS || !words)
        words = "an unknown result";
    return words;
}

st_counters_state st_cupti_state_of(int result) {
    switch (result) {
    case CUPTI_SUCCESS:
        return ST_COUNTERS_ALLOWED;
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
        return ST_COUNTERS_DENIED;
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_DISABLED: // another profiler has this process
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return ST_COUNTERS_BUSY;
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return ST_COUNTERS_VGPU;
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
        return ST_COUNTERS_CONFIDENTIAL;
    case 43 /* CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED */:
        return ST_COUNTERS_MIG;
    case 45 /* CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED */:
        return ST_COUNTERS_WSL;
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case 44 /* CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED */:
    case 46 /* CUPTI_ERROR_INVALID_CHIP_NAME */:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
    case CUPTI_ERROR_NOT_SUPPORTED:
        return ST_COUNTERS_UNSUPPORTED;
    case CUPTI_ERROR_API_NOT_IMPLEMENTED:
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_NOT_INITIALIZED:
        return ST_COUNTERS_TOO_OLD; // driver and library do not fit
    default:
        return ST_COUNTERS_FAILED;
    }
}

st_code st_cupti_fail(const st_cupti *api, int result, const char *what, st_error *error) {
    st_counters_state state = st_cupti_state_of(result);
    bool refused = state != ST_COUNTERS_FAILED && state != ST_COUNTERS_TOO_OLD;
    if (result == CUPTI_ERROR_OUT_OF_MEMORY)
        return st_fail(error, ST_NO_MEMORY, NULL, "%s: CUPTI is out of memory", what);
    return st_fail(error, refused ? ST_DENIED : ST_FAILED, st_counters_remedy(state),
                   "%s: CUPTI says %s (%d)", what, st_cupti_words(api, result), result);
}

st_code st_cupti_version(st_text *path_and_version, int *version, st_error *error) {
    const st_cupti *api = NULL;
    st_code code = st_cupti_open(&api, NULL, error);
    if (code != ST_OK)
        return code == ST_FAILED ? ST_NOTHING : code;
    if (version)
        *version = api->version;
    if (path_and_version) {
        st_text_addf(path_and_version, "%s, CUPTI API %d", api->library.path, api->version);
        if (path_and_version->failed)
            return st_fail_memory(error, "naming the CUPTI library");
    }
    return ST_OK;
}
