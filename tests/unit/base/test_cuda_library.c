// SPDX-License-Identifier: Apache-2.0
// The places of CUDA's libraries: their order, and what the environment hides or adds.
#include "tuner/base/cuda_library.h"
#include "tuner/base/memory.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const st_library_kind kind = {"some", "cuda_some", "/extras/SOME/lib64/", "SIMTUNE_LIBSOME"};

static int forget(void **state)
{
    (void)state;
    static const char *const variables[] = {"SIMTUNE_LIBSOME", "SIMTUNE_CUDA_LIBRARIES", "CUDA_HOME", "CUDA_PATH",
                                            "SIMTUNE_IGNORE_TOOLKIT"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    return 0;
}

static size_t place_of(const st_library_names *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            return i;
    return SIZE_MAX;
}

static void a_set_variable_is_the_only_name(void **state)
{
    (void)state;
    st_library_names list = {.count = 0};
    bool only;
    setenv("SIMTUNE_LIBSOME", "/there/libsome.so", 1);
    assert_int_equal(st_library_names_only(&kind, &list, &only, NULL), ST_OK);
    assert_true(only);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.names[0], "/there/libsome.so");
    assert_null(list.names[1]);
    st_library_names_release(&list);
    setenv("SIMTUNE_LIBSOME", "", 1); // empty is not set
    assert_int_equal(st_library_names_only(&kind, &list, &only, NULL), ST_OK);
    assert_false(only);
    assert_int_equal(list.count, 0);
}

static void places_come_in_their_order(void **state)
{
    (void)state;
    st_library_names list = {.count = 0};
    setenv("SIMTUNE_CUDA_LIBRARIES", "/wheels", 1);
    setenv("CUDA_HOME", "/home-of-cuda", 1);
    setenv("CUDA_PATH", "/path-of-cuda", 1);
    assert_int_equal(st_library_names_add(&kind, 13, &list, NULL), ST_OK);
    static const char *const wanted[] = {
        "/wheels/libsome.so.13",
        "/wheels/nvidia/cu13/lib/libsome.so.13",
        "/wheels/nvidia/cuda_some/lib/libsome.so.13",
        "/home-of-cuda/lib64/libsome.so.13",
        "/home-of-cuda/extras/SOME/lib64/libsome.so.13",
        "/home-of-cuda/targets/x86_64-linux/lib/libsome.so.13",
        "/home-of-cuda/targets/sbsa-linux/lib/libsome.so.13",
        "/path-of-cuda/lib64/libsome.so.13",
        "/usr/local/cuda/lib64/libsome.so.13",
        "libsome.so.13",
        SIMTUNE_SOURCE_FOLDER "/.deps/cuda/libsome.so.13",
    };
    size_t before = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t at = place_of(&list, wanted[i]);
        assert_int_not_equal(at, SIZE_MAX);
        assert_true(i == 0 || at > before);
        before = at;
    }
    assert_null(list.names[list.count]);
    st_library_names_release(&list);
    assert_int_equal(list.count, 0);
}

static void toolkits_can_be_hidden(void **state)
{
    (void)state;
    st_library_names list = {.count = 0};
    setenv("SIMTUNE_IGNORE_TOOLKIT", "1", 1);
    setenv("SIMTUNE_CUDA_LIBRARIES", "/wheels", 1);
    setenv("CUDA_HOME", "/home-of-cuda", 1);
    assert_int_equal(st_library_names_add(&kind, 12, &list, NULL), ST_OK);
    assert_int_equal(st_library_names_add_plain(&kind, &list, NULL), ST_OK);
    assert_int_not_equal(place_of(&list, "/wheels/libsome.so.12"), SIZE_MAX);
    assert_int_equal(place_of(&list, "/home-of-cuda/lib64/libsome.so.12"), SIZE_MAX);
    assert_int_equal(place_of(&list, "libsome.so.12"), SIZE_MAX);
    assert_int_equal(place_of(&list, "libsome.so"), SIZE_MAX);
    st_library_names_release(&list);
    unsetenv("SIMTUNE_IGNORE_TOOLKIT");
    assert_int_equal(st_library_names_add_plain(&kind, &list, NULL), ST_OK);
    assert_int_equal(place_of(&list, "libsome.so"), 0);
    st_library_names_release(&list);
}

static void memory_that_runs_out_is_said(void **state)
{
    (void)state;
    setenv("CUDA_HOME", "/home-of-cuda", 1);
    unsigned failed = 0;
    for (unsigned n = 1; n < 100; n++) {
        st_library_names list = {.count = 0};
        st_error error = {0};
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_library_names_add(&kind, 13, &list, &error);
        bool fired = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_true(fired == (code == ST_NO_MEMORY));
        st_library_names_release(&list);
        failed += fired;
        if (!fired)
            break;
    }
    assert_true(failed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_set_variable_is_the_only_name, forget, forget),
        cmocka_unit_test_setup_teardown(places_come_in_their_order, forget, forget),
        cmocka_unit_test_setup_teardown(toolkits_can_be_hidden, forget, forget),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_is_said, forget, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
