// SPDX-License-Identifier: Apache-2.0
// libcuda found, refused and diagnosed, with a counterfeit driver and a machine that is an empty
// folder.
#include "tests/fake/fake_cuda.h"
#include "tuner/gpu/driver_api.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static fake_cuda *fake;
static fake_cuda pristine;
static char root[64];

static int setup_all(void **state)
{
    (void)state;
    void *handle = dlopen(FAKE_CUDA, RTLD_NOW);
    if (!handle)
        return -1;
    fake_cuda_control_function *control;
    *(void **)&control = dlsym(handle, "fake_cuda_control");
    fake = control();
    pristine = *fake;
    snprintf(root, sizeof root, "/tmp/simtune-test-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    st_machine_root = root;
    unsetenv("CUDA_VISIBLE_DEVICES");
    return 0;
}

static int teardown_all(void **state)
{
    (void)state;
    st_driver_close();
    return rmdir(root);
}

static int setup(void **state)
{
    (void)state;
    st_driver_close();
    *fake = pristine;
    setenv("SIMTUNE_LIBCUDA", FAKE_CUDA, 1);
    return 0;
}

static void starts_and_stays(void **state)
{
    (void)state;
    st_error error;
    st_error_clear(&error);
    const st_driver *driver = st_driver_get(&error);
    assert_non_null(driver);
    assert_int_equal(driver->version, 13000);
    assert_string_equal(driver->library.path, FAKE_CUDA);
    int calls = fake->calls;
    assert_ptr_equal(st_driver_get(&error), driver);
    assert_int_equal(fake->calls, calls); // initialised once
    assert_int_equal(fake->contexts_made, 0);
    st_driver_probe probe;
    st_driver_probed(&probe);
    assert_true(probe.found);
    assert_int_equal(probe.init_result, 0);
}

static void says_why_it_does_not_start(void **state)
{
    (void)state;
    st_error error;
    st_error_clear(&error);
    fake->init_result = 803;
    assert_null(st_driver_get(&error));
    assert_non_null(strstr(error.what, "different versions"));
    assert_non_null(strstr(error.what, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"));
    assert_non_null(strstr(error.remedy, "restart"));
    assert_int_equal(error.code, ST_NOTHING); // there is no GPU in the empty machine
    // The next attempt is made afresh.
    fake->init_result = 0;
    assert_non_null(st_driver_get(&error));
}

static void no_gpu_is_nothing(void **state)
{
    (void)state;
    st_error error;
    fake->init_result = 100;
    assert_null(st_driver_get(&error));
    assert_int_equal(error.code, ST_NOTHING);
    assert_non_null(strstr(error.what, "no NVIDIA GPU"));
}

static void too_old_is_refused(void **state)
{
    (void)state;
    st_error error;
    fake->version = 12050;
    assert_null(st_driver_get(&error));
    assert_int_equal(error.code, ST_FAILED);
    assert_non_null(strstr(error.what, "CUDA 12.5"));
    assert_non_null(strstr(error.what, "12.6"));
    fake->version = 12060;
    assert_non_null(st_driver_get(&error));
}

static void wished_library_that_is_not_there(void **state)
{
    (void)state;
    st_error error;
    setenv("SIMTUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    assert_null(st_driver_get(&error));
    assert_int_equal(error.code, ST_FAILED);
    assert_non_null(strstr(error.what, "/nowhere/libcuda.so.1"));
    assert_non_null(strstr(error.remedy, "SIMTUNE_LIBCUDA"));
}

// Any library without the driver's functions stands for a driver that lacks one.
static void library_without_the_functions(void **state)
{
    (void)state;
    st_error error;
    setenv("SIMTUNE_LIBCUDA", FAKE_NVML, 1);
    assert_null(st_driver_get(&error));
    assert_int_equal(error.code, ST_FAILED);
    assert_non_null(strstr(error.what, "cuGetErrorName"));
    assert_non_null(strstr(error.what, "too old"));
}

static void errors_name_call_and_words(void **state)
{
    (void)state;
    st_error error;
    st_error_clear(&error);
    const st_driver *driver = st_driver_get(&error);
    assert_non_null(driver);
    assert_int_equal(st_driver_check(driver, CUDA_SUCCESS, ST_CALL_mem_alloc, &error), ST_OK);
    assert_int_equal(
        st_driver_check(driver, CUDA_ERROR_ILLEGAL_ADDRESS, ST_CALL_stream_synchronize, &error),
        ST_FAILED);
    assert_string_equal(error.what, "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal "
                                    "memory access was encountered");
    st_driver_check(driver, (CUresult)123, ST_CALL_mem_alloc, &error);
    assert_string_equal(error.what, "cuMemAlloc_v2: CUresult 123: words");
    st_driver_check(driver, CUDA_ERROR_UNKNOWN, ST_CALL_init, NULL); // no error to fill is fine
}

static void sticky_results(void **state)
{
    (void)state;
    const int sticky[] = {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};
    const int passing[] = {0, 1, 2, 100, 200, 209, 400, 500, 600, 701, 720, 801, 912, 999};
    for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; i++)
        assert_true(st_driver_is_sticky((CUresult)sticky[i]));
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
        assert_false(st_driver_is_sticky((CUresult)passing[i]));
    assert_false(st_driver_is_sticky(ST_DRIVER_INJECTED));
}

// Each driver call of the start fails in turn, until a trial injects none.
static void every_call_of_the_start_may_fail(void **state)
{
    (void)state;
    unsigned long n = 1;
    for (;; n++) {
        st_error error;
        st_error_clear(&error);
        st_driver_close();
        st_fault_arm(ST_FAULT_DRIVER, n);
        const st_driver *driver = st_driver_get(&error);
        bool injected = st_fault_injected(ST_FAULT_DRIVER);
        st_fault_arm(ST_FAULT_DRIVER, 0);
        if (!injected) {
            assert_non_null(driver);
            break;
        }
        assert_null(driver);
        assert_non_null(strstr(error.what, "INJECTED_FAULT"));
        assert_true(error.remedy[0]);
    }
    assert_int_equal(n, 3); // cuDriverGetVersion, cuInit
    st_fault_arm(ST_FAULT_SYSTEM, 1);
    st_driver_close();
    st_error error;
    assert_null(st_driver_get(&error)); // the loader fails
    st_fault_arm(ST_FAULT_SYSTEM, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(starts_and_stays, setup),
        cmocka_unit_test_setup(says_why_it_does_not_start, setup),
        cmocka_unit_test_setup(no_gpu_is_nothing, setup),
        cmocka_unit_test_setup(too_old_is_refused, setup),
        cmocka_unit_test_setup(wished_library_that_is_not_there, setup),
        cmocka_unit_test_setup(library_without_the_functions, setup),
        cmocka_unit_test_setup(errors_name_call_and_words, setup),
        cmocka_unit_test_setup(sticky_results, setup),
        cmocka_unit_test_setup(every_call_of_the_start_may_fail, setup),
    };
    return cmocka_run_group_tests_name("driver_api", tests, setup_all, teardown_all);
}
