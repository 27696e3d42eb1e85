// SPDX-License-Identifier: Apache-2.0
// consumer_nvrtc HEADERS: NVRTC compiles the headers without a word, and a kernel of each is found by the name
// that the header's comment tells. 77: no NVRTC.
#include "tuner/base/library.h"
#include "tuner/base/memory.h"
#include "tuner/base/text.h"

#include <nvrtc.h>
#include <stdio.h>
#include <string.h>

static struct {
    nvrtcResult (*create)(nvrtcProgram *, const char *, const char *, int, const char *const *,
                          const char *const *);
    nvrtcResult (*destroy)(nvrtcProgram *);
    nvrtcResult (*compile)(nvrtcProgram, int, const char *const *);
    nvrtcResult (*log_size)(nvrtcProgram, size_t *);
    nvrtcResult (*log)(nvrtcProgram, char *);
    nvrtcResult (*add_name)(nvrtcProgram, const char *);
    nvrtcResult (*lowered)(nvrtcProgram, const char *, const char **);
} api;

static int open_nvrtc(st_library *library)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so", NULL};
    const st_symbol symbols[] = {
        {"nvrtcCreateProgram", (void **)&api.create, true},
        {"nvrtcDestroyProgram", (void **)&api.destroy, true},
        {"nvrtcCompileProgram", (void **)&api.compile, true},
        {"nvrtcGetProgramLogSize", (void **)&api.log_size, true},
        {"nvrtcGetProgramLog", (void **)&api.log, true},
        {"nvrtcAddNameExpression", (void **)&api.add_name, true},
        {"nvrtcGetLoweredName", (void **)&api.lowered, true},
    };
    return st_library_open(library, names, "", NULL) == ST_OK &&
           st_library_load(library, symbols, sizeof symbols / sizeof symbols[0], "", NULL) == ST_OK;
}

static int compile(const char *path, const char *kernel, const char *arch)
{
    st_text text;
    st_text_init(&text);
    st_error error;
    if (st_text_read_file(&text, path, &error)) {
        printf("%s\n", error.what);
        return 1;
    }
    const char *place = strstr(text.data, "namespace simtune_");
    char space[64] = "", name[256], log[4096] = "";
    if (place)
        sscanf(place, "namespace %63[a-z0-9_]", space);
    snprintf(name, sizeof name, kernel, space, space);
    char *arch_option = st_format("--gpu-architecture=%s", arch);
    const char *const options[] = {arch_option, "--std=c++11", "-I" SIMTUNE_TEST_CUDA_INCLUDE};
    nvrtcProgram program = NULL;
    int failed =
        api.create(&program, text.data, path, 0, NULL, NULL) || api.add_name(program, name);
    failed = failed || api.compile(program, 3, options);
    size_t size = 0;
    if (program && api.log_size(program, &size) == NVRTC_SUCCESS && size <= sizeof log)
        api.log(program, log);
    const char *lowered = NULL;
    failed = failed || api.lowered(program, name, &lowered) || !lowered || *log;
    if (failed)
        printf("%s for %s, %s: %s\n", path, arch, name, log);
    api.destroy(&program);
    st_free(arch_option);
    st_text_release(&text);
    return failed;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *file, *kernel;
    } cases[] = {
        {"simtune_total.h", "%s::total_partials<%s::config_0>"},
        {"simtune_reduce.h", "%s::reduce_cluster<%s::config_0>"},
        {"simtune_axpy.h", "%s::config_0::axpy"},
    };
    st_library library;
    memset(&library, 0, sizeof library);
    if (argc != 2)
        return 2;
    if (!open_nvrtc(&library))
        return 77;
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path = st_format("%s/%s", argv[1], cases[i].file);
        failed |= compile(path, cases[i].kernel, "sm_90");
        failed |= compile(path, cases[i].kernel, "sm_75");
        st_free(path);
    }
    st_library_close(&library);
    return failed;
}
