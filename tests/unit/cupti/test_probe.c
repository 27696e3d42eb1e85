// SPDX-License-Identifier: Apache-2.0
// Proves that every state of the counters has a name and a remedy, that CUPTI's results are told
// apart, and that an absent, a foreign and a refused library give the state that fits. Needs no
// GPU.
#include "cupti/cupti_api.h"
#include "cupti/profiler_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void every_state_has_words(void **state) {
    (void)state;
    for (int s = ST_COUNTERS_ALLOWED; s <= ST_COUNTERS_FAILED; s++) {
        const char *name = st_counters_state_name((st_counters_state)s);
        const char *remedy = st_counters_remedy((st_counters_state)s);
        assert_true(name && *name && strcmp(name, "unknown") != 0);
        assert_true((s == ST_COUNTERS_ALLOWED) == (*remedy == 0));
        assert_true(strlen(remedy) < sizeof((st_error *)0)->remedy); // none is cut in an error
        for (int t = ST_COUNTERS_ALLOWED; t < s; t++) {
            assert_string_not_equal(name, st_counters_state_name((st_counters_state)t));
            assert_string_not_equal(remedy, st_counters_remedy((st_counters_state)t));
        }
    }
    assert_string_equal(st_counters_state_name((st_counters_state)99), "unknown");
    assert_string_equal(st_counters_remedy((st_counters_state)99), "");
}

static void remedies_name_the_cure(void **state) {
    (void)state;
    const char *denied = st_counters_remedy(ST_COUNTERS_DENIED);
    assert_non_null(strstr(denied, "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_non_null(strstr(denied, "ERR_NVGPUCTRPERM"));
    assert_non_null(strstr(denied, "CAP_SYS_ADMIN"));
    assert_non_null(strstr(st_counters_remedy(ST_COUNTERS_BUSY), "dcgmi profile --pause"));
    assert_non_null(strstr(st_counters_remedy(ST_COUNTERS_WSL), "NVIDIA control panel"));
    assert_non_null(strstr(st_counters_remedy(ST_COUNTERS_VGPU), "enable_profiling"));
    assert_non_null(strstr(st_counters_remedy(ST_COUNTERS_NO_LIBRARY), "nvidia-cuda-cupti"));
    assert_non_null(strstr(st_counters_remedy(ST_COUNTERS_TOO_OLD), "12.6"));
}

static void results_are_told_apart(void **state) {
    (void)state;
    assert_int_equal(st_cupti_state_of(0), ST_COUNTERS_ALLOWED);
    assert_int_equal(st_cupti_state_of(35), ST_COUNTERS_DENIED);
    assert_int_equal(st_cupti_state_of(26), ST_COUNTERS_BUSY);
    assert_int_equal(st_cupti_state_of(39), ST_COUNTERS_BUSY);
    assert_int_equal(st_cupti_state_of(33), ST_COUNTERS_VGPU);
    assert_int_equal(st_cupti_state_of(40), ST_COUNTERS_VGPU);
    assert_int_equal(st_cupti_state_of(41), ST_COUNTERS_CONFIDENTIAL);
    assert_int_equal(st_cupti_state_of(42), ST_COUNTERS_UNSUPPORTED);
    assert_int_equal(st_cupti_state_of(43), ST_COUNTERS_MIG);
    assert_int_equal(st_cupti_state_of(45), ST_COUNTERS_WSL);
    assert_int_equal(st_cupti_state_of(15), ST_COUNTERS_TOO_OLD);
    assert_int_equal(st_cupti_state_of(999), ST_COUNTERS_FAILED);
    assert_int_equal(st_cupti_state_of(12345), ST_COUNTERS_FAILED);
}

static void a_refusal_is_denied_not_failed(void **state) {
    (void)state;
    st_error error;
    assert_int_equal(st_cupti_fail(NULL, 35, "enabling", &error), ST_DENIED);
    assert_non_null(strstr(error.what, "enabling"));
    assert_non_null(strstr(error.what, "35"));
    assert_string_equal(error.remedy, st_counters_remedy(ST_COUNTERS_DENIED));
    assert_int_equal(st_cupti_fail(NULL, 999, "enabling", &error), ST_FAILED);
    assert_int_equal(st_cupti_fail(NULL, 8, "enabling", &error), ST_NO_MEMORY);
}

// A MIG instance is recognised by the name that made it visible, and only where CUPTI did refuse.
static void mig_is_recognised(void **state) {
    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "MIG-0d51a1d9-0000-0000-0000-000000000000", 1);
    assert_int_equal(st_counters_narrow(ST_COUNTERS_FAILED, NULL), ST_COUNTERS_MIG);
    assert_int_equal(st_counters_narrow(ST_COUNTERS_ALLOWED, NULL), ST_COUNTERS_ALLOWED);
    assert_int_equal(st_counters_narrow(ST_COUNTERS_BUSY, NULL), ST_COUNTERS_BUSY);
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    assert_int_equal(st_counters_narrow(ST_COUNTERS_FAILED, NULL), ST_COUNTERS_FAILED);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void an_absent_library_is_named(void **state) {
    (void)state;
    setenv("SIMTUNE_LIBCUPTI", "/nowhere/libcupti.so.13", 1);
    const st_cupti *api = NULL;
    st_counters_state why = ST_COUNTERS_ALLOWED;
    st_error error;
    assert_int_equal(st_cupti_open(&api, &why, &error), ST_NOTHING);
    assert_null(api);
    assert_int_equal(why, ST_COUNTERS_NO_LIBRARY);
    assert_non_null(strstr(error.what, "/nowhere/libcupti.so.13"));
    assert_string_equal(error.remedy, st_counters_remedy(ST_COUNTERS_NO_LIBRARY));
    st_text detail;
    st_text_init(&detail);
    assert_int_equal(st_counters_probe(NULL, 0, &detail), ST_COUNTERS_NO_LIBRARY);
    assert_non_null(strstr(st_text_string(&detail), "/nowhere/"));
    st_text_release(&detail);
    st_profiler *profiler = NULL;
    assert_int_equal(st_profiler_open(NULL, 0, &profiler, &why, &error), ST_NOTHING);
    assert_null(profiler);
    assert_int_equal(why, ST_COUNTERS_NO_LIBRARY);
    assert_int_equal(st_cupti_version(NULL, NULL, &error), ST_NOTHING);
}

// A library without the range profiler (here: the mathematics library) is too old, not absent.
static void a_library_without_the_functions_is_too_old(void **state) {
    (void)state;
    setenv("SIMTUNE_LIBCUPTI", "libm.so.6", 1);
    const st_cupti *api = NULL;
    st_counters_state why = ST_COUNTERS_ALLOWED;
    st_error error;
    assert_int_equal(st_cupti_open(&api, &why, &error), ST_NOTHING);
    assert_int_equal(why, ST_COUNTERS_TOO_OLD);
    assert_non_null(strstr(error.what, "cupti"));
    assert_string_equal(error.remedy, st_counters_remedy(ST_COUNTERS_TOO_OLD));
}

static void without_a_context_nothing_is_claimed(void **state) {
    (void)state;
    unsetenv("SIMTUNE_LIBCUPTI");
    const st_cupti *api = NULL;
    st_counters_state why = ST_COUNTERS_ALLOWED;
    st_error error;
    if (st_cupti_open(&api, &why, &error) != ST_OK) {
        printf("SKIPPED: no usable libcupti (%s)\n", error.what);
        skip();
    }
    assert_true(api->version >= 24);
    assert_int_equal(st_counters_probe(NULL, 0, NULL), ST_COUNTERS_FAILED);
    st_profiler *profiler = NULL;
    assert_int_equal(st_profiler_open(NULL, 0, &profiler, &why, &error), ST_FAILED);
    assert_int_equal(why, ST_COUNTERS_FAILED);
    assert_null(profiler);
    st_profiler_close(NULL); // as free(NULL)
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_has_words),
        cmocka_unit_test(remedies_name_the_cure),
        cmocka_unit_test(results_are_told_apart),
        cmocka_unit_test(a_refusal_is_denied_not_failed),
        cmocka_unit_test(mig_is_recognised),
        // In this order: a library that is open stays open.
        cmocka_unit_test(an_absent_library_is_named),
        cmocka_unit_test(a_library_without_the_functions_is_too_old),
        cmocka_unit_test(without_a_context_nothing_is_claimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
