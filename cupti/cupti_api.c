// SPDX-License-Identifier: Apache-2.0
// Finding and opening libcupti, and what its results mean.
//
// Invariants:
//  1. SIMTUNE_LIBCUPTI, where set, is the only library that is tried.
//  2. A library of a CUDA major above the driver's is not tried while another may be had: it cannot
//  talk
//     to that driver. Without a driver (the host functions need none) the newest comes first.
//  3. Within a major the places are those of base/cuda_library.h.
//  4. The first library that has every required function wins; one that lacks some is passed over
//  and
//     remembered, so that "too old" is said only when nothing newer was found.
//  5. Once open, a library stays: there is no way back that CUPTI survives.
//
// States: nothing open → open (st_cupti_open); a failure leaves nothing open and may be tried
// again.
#include "cupti/cupti_api.h"

#include "tuner/base/cuda_library.h"
#include "tuner/base/text.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const st_library_kind cupti_library = {"cupti", "cuda_cupti", "/extras/CUPTI/lib64/", "SIMTUNE_LIBCUPTI"};

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

static st_code list_names(st_library_names *list, st_error *error) {
    bool only;
    st_code code = st_library_names_only(&cupti_library, list, &only, error);
    if (code != ST_OK || only) // invariant 1
        return code;
    int newest = driver_major();
    if (newest < 0 || newest > ST_NEWEST_CUDA_MAJOR)
        newest = ST_NEWEST_CUDA_MAJOR;
    for (int major = newest; major >= ST_OLDEST_CUDA_MAJOR && code == ST_OK; major--)
        code = st_library_names_add(&cupti_library, major, list, error);
    // Better than nothing: its message names both versions.
    for (int major = ST_NEWEST_CUDA_MAJOR; major > newest && code == ST_OK; major--)
        if (major >= ST_OLDEST_CUDA_MAJOR)
            code = st_library_names_add(&cupti_library, major, list, error);
    return code == ST_OK ? st_library_names_add_plain(&cupti_library, list, error) : code;
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
static st_code open_first(const st_library_names *list, st_counters_state *state, st_error *error) {
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
    st_library_names list = {.count = 0};
    st_code code = list_names(&list, error);
    if (code == ST_OK)
        code = open_first(&list, state, error);
    if (code == ST_OK)
        *api = &opened;
    st_library_names_release(&list);
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
