// SPDX-License-Identifier: Apache-2.0
// Proves that an instruction of a cubin is traced to the line it came from (correlate.c), with a
// kernel compiled here by NVRTC with -lineinfo. Needs libcupti and NVRTC, no GPU.
#include "cupti/counters.h"
#include "tuner/base/library.h"
#include "tuner/base/memory.h"

#include <nvrtc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char source[] =
    "extern \"C\" __global__ void kernel(const float *in, float *out)\n" // 1
    "{\n"                                                                // 2
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"               // 3
    "    float a = in[i];\n"                                             // 4
    "    a = a * a + 1.5f;\n"                                            // 5
    "    out[i] = a;\n"                                                  // 6
    "}\n";

typedef struct cubin {
    char *bytes;
    size_t length;
} cubin;

#define FUNCTION(name) __typeof__(&name) name##_

typedef struct nvrtc {
    st_library library;
    FUNCTION(nvrtcCreateProgram);
    FUNCTION(nvrtcDestroyProgram);
    FUNCTION(nvrtcCompileProgram);
    FUNCTION(nvrtcGetCUBINSize);
    FUNCTION(nvrtcGetCUBIN);
} nvrtc;

static bool open_nvrtc(nvrtc *api) {
    static const char *const names[] = {
        "/usr/local/cuda/lib64/libnvrtc.so.13",
        "/usr/local/cuda/lib64/libnvrtc.so.12",
        SIMTUNE_SOURCE_FOLDER "/.deps/cuda/nvidia/cu13/lib/libnvrtc.so.13",
        SIMTUNE_SOURCE_FOLDER "/.deps/cuda/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        "libnvrtc.so.13",
        "libnvrtc.so.12",
        NULL};
    st_error error;
    if (st_library_open(&api->library, names, "", &error) != ST_OK) {
        printf("SKIPPED: no NVRTC (%s)\n", error.what);
        return false;
    }
#define ROW(name)                                                                                  \
    { #name, (void **)&api->name##_, true }
    const st_symbol symbols[] = {ROW(nvrtcCreateProgram), ROW(nvrtcDestroyProgram),
                                 ROW(nvrtcCompileProgram), ROW(nvrtcGetCUBINSize),
                                 ROW(nvrtcGetCUBIN)};
    return st_library_load(&api->library, symbols, 5, "", &error) == ST_OK;
}

static cubin compile(const nvrtc *api, bool lines) {
    const char *options[] = {"--gpu-architecture=sm_90", "-lineinfo"};
    nvrtcProgram program = NULL;
    cubin made = {0};
    assert_int_equal(api->nvrtcCreateProgram_(&program, source, "folder/kernel.cu", 0, NULL, NULL),
                     0);
    assert_int_equal(api->nvrtcCompileProgram_(program, lines ? 2 : 1, options), 0);
    assert_int_equal(api->nvrtcGetCUBINSize_(program, &made.length), 0);
    made.bytes = st_malloc(made.length);
    assert_non_null(made.bytes);
    assert_int_equal(api->nvrtcGetCUBIN_(program, made.bytes), 0);
    api->nvrtcDestroyProgram_(&program);
    return made;
}

static cubin with_lines, without_lines;
static bool ready;

static int set_up(void **state) {
    (void)state;
    char chips[1][16];
    size_t count = 0;
    st_error error;
    if (st_cupti_chips(chips, 1, &count, &error) != ST_OK) {
        printf("SKIPPED: no usable libcupti (%s)\n", error.what);
        return 0;
    }
    static nvrtc api; // stays open: NVRTC is not made for being unloaded
    if (!open_nvrtc(&api))
        return 0;
    with_lines = compile(&api, true);
    without_lines = compile(&api, false);
    ready = true;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    st_free(with_lines.bytes);
    st_free(without_lines.bytes);
    return 0;
}

static void every_statement_is_found(void **state) {
    (void)state;
    if (!ready)
        skip();
    bool seen[8] = {false};
    int known = 0;
    for (uint64_t offset = 0; offset < 0x200; offset += 16) {
        char file[256];
        int line = 0;
        if (st_source_line(with_lines.bytes, with_lines.length, "kernel", offset, file, sizeof file,
                           &line, NULL) != ST_OK)
            continue;
        assert_true(line >= 1 && line <= 7);
        assert_string_equal(file, "folder/kernel.cu"); // as it was given
        seen[line] = true;
        known++;
    }
    assert_true(known > 5);
    assert_true(seen[3] && seen[4] && seen[5] && seen[6]);
}

static void what_is_not_there_is_said(void **state) {
    (void)state;
    if (!ready)
        skip();
    char file[256] = "left over";
    int line = 17;
    st_error error = {.code = ST_OK};
    assert_int_equal(st_source_line(without_lines.bytes, without_lines.length, "kernel", 0, file,
                                    sizeof file, &line, &error),
                     ST_NOTHING);
    assert_int_equal(line, 0);
    assert_string_equal(file, "");
    assert_non_null(strstr(error.remedy, "-lineinfo"));
    assert_int_equal(st_source_line(with_lines.bytes, with_lines.length, "other", 0, file,
                                    sizeof file, &line, &error),
                     ST_NOTHING);
    assert_non_null(strstr(error.what, "other"));
    assert_int_equal(st_source_line(NULL, 0, "kernel", 0, file, sizeof file, &line, &error),
                     ST_NOTHING);
    assert_int_equal(st_source_line(with_lines.bytes, with_lines.length, NULL, 0, file, sizeof file,
                                    &line, &error),
                     ST_NOTHING);
    assert_int_equal(st_source_line("nonsense", 8, "kernel", 0, file, sizeof file, &line, &error),
                     ST_NOTHING);
}

static void a_short_buffer_is_not_overrun(void **state) {
    (void)state;
    if (!ready)
        skip();
    for (uint64_t offset = 0; offset < 0x200; offset += 16) {
        char file[4] = {'x', 'x', 'x', 'x'};
        int line = 0;
        if (st_source_line(with_lines.bytes, with_lines.length, "kernel", offset, file, 3, &line,
                           NULL) == ST_OK)
            assert_string_equal(file, "fo");
        assert_int_equal(file[3], 'x');
    }
}

static void a_fault_is_an_error(void **state) {
    (void)state;
    if (!ready)
        skip();
    char file[256];
    int line = 0;
    st_error error = {.code = ST_OK};
    st_fault_arm(ST_FAULT_CUPTI, 1);
    st_code code = st_source_line(with_lines.bytes, with_lines.length, "kernel", 0, file,
                                  sizeof file, &line, &error);
    st_fault_arm(ST_FAULT_CUPTI, 0);
    assert_int_equal(code, ST_NOTHING);
    assert_int_equal(line, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_statement_is_found),
        cmocka_unit_test(what_is_not_there_is_said),
        cmocka_unit_test(a_short_buffer_is_not_overrun),
        cmocka_unit_test(a_fault_is_an_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
