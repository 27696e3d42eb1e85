// SPDX-License-Identifier: Apache-2.0
// Allocation and fault points. Invariants of memory.c: 1. nothing aborts; 2. a fault is injected at most once
// each time it is armed; 3. kinds are counted apart.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_blocks(void **state)
{
    (void)state;
    void *nothing = st_malloc(0), *zero = st_calloc(0, 0);
    assert_non_null(nothing);
    assert_non_null(zero);
    st_free(nothing);
    st_free(zero);
    st_free(NULL);
    unsigned char *zeroes = st_calloc(7, 3);
    for (int i = 0; i < 21; i++)
        assert_int_equal(zeroes[i], 0);
    memset(zeroes, 5, 21);
    zeroes = st_realloc(zeroes, 1000);
    for (int i = 0; i < 21; i++)
        assert_int_equal(zeroes[i], 5);
    st_free(zeroes);
    unsigned char *fresh = st_realloc(NULL, 4);
    assert_non_null(fresh);
    st_free(fresh);
}

static void test_texts(void **state)
{
    (void)state;
    char *copy = st_strdup("abc"), *part = st_strndup("abcdef", 2), *none = st_strndup("", 0);
    char *made = st_format("%d-%s", 12, "x"), *empty = st_format("%s", "");
    assert_string_equal(copy, "abc");
    assert_string_equal(part, "ab");
    assert_string_equal(none, "");
    assert_string_equal(made, "12-x");
    assert_string_equal(empty, "");
    char *const all[] = {copy, part, none, made, empty};
    for (size_t i = 0; i < 5; i++)
        st_free(all[i]);
}

static void test_growing(void **state)
{
    (void)state;
    size_t capacity = 0;
    int *numbers = st_grow(NULL, &capacity, 1, sizeof *numbers);
    assert_non_null(numbers);
    assert_true(capacity >= 1);
    for (size_t count = 0; count < 1000; count++) {
        size_t before = capacity;
        numbers = st_grow(numbers, &capacity, count + 1, sizeof *numbers);
        assert_non_null(numbers);
        assert_true(capacity > count);
        assert_true(capacity == before || capacity >= 2 * before); // so appending is cheap
        numbers[count] = (int)count;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(numbers[i], i);
    size_t large = capacity;
    assert_ptr_equal(st_grow(numbers, &capacity, 3, sizeof *numbers), numbers); // never shrinks
    assert_int_equal(capacity, large);
    // More than an address space, and more than there is: block and capacity stay as they are.
    assert_null(st_grow(numbers, &capacity, SIZE_MAX / 2, sizeof *numbers));
    assert_int_equal(capacity, large);
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    assert_null(st_grow(numbers, &capacity, capacity + 1, sizeof *numbers));
    assert_int_equal(capacity, large);
    assert_int_equal(numbers[999], 999);
    st_free(numbers);
}

// The n-th pass fails, only that, and only of its kind.
static void test_faults(void **state)
{
    (void)state;
    assert_false(st_fault_here(ST_FAULT_SYSTEM));
    for (unsigned long n = 1; n < 5; n++) {
        st_fault_arm(ST_FAULT_SYSTEM, n);
        assert_false(st_fault_injected(ST_FAULT_SYSTEM));
        for (unsigned long pass = 1; pass < 10; pass++) {
            assert_false(st_fault_here(ST_FAULT_DRIVER));
            assert_int_equal(st_fault_here(ST_FAULT_SYSTEM), pass == n);
            assert_int_equal(st_fault_injected(ST_FAULT_SYSTEM), pass >= n);
        }
    }
    st_fault_arm(ST_FAULT_SYSTEM, 3);
    st_fault_arm(ST_FAULT_SYSTEM, 0); // disarmed
    for (int i = 0; i < 10; i++)
        assert_false(st_fault_here(ST_FAULT_SYSTEM));
    // One kind disarmed leaves another armed.
    st_fault_arm(ST_FAULT_SQLITE, 1);
    st_fault_arm(ST_FAULT_SYSTEM, 0);
    assert_true(st_fault_here(ST_FAULT_SQLITE));
}

static void test_every_allocation_can_fail(void **state)
{
    (void)state;
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    assert_null(st_malloc(8));
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    assert_null(st_calloc(1, 8));
    char *block = st_malloc(8);
    memcpy(block, "kept", 5);
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    assert_null(st_realloc(block, 16));
    assert_string_equal(block, "kept");
    st_free(block);
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    assert_null(st_strdup("x"));
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    assert_null(st_strndup("x", 1));
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    assert_null(st_format("%d", 1));
    st_fault_arm(ST_FAULT_ALLOCATION, 0);
}

// The program itself, run anew with the variable set: its exit code says which passes failed.
static int passes_that_fail(const char *wish)
{
    char command[512], self[256];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    snprintf(command, sizeof command, "SIMTUNE_FAULT='%s' '%s' --count", wish, self);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_environment(void **state)
{
    (void)state;
    assert_int_equal(passes_that_fail("cupti:2"), 2);
    assert_int_equal(passes_that_fail("cupti:1"), 1);
    assert_int_equal(passes_that_fail("cupti:0"), 0);
    assert_int_equal(passes_that_fail("cupti"), 0);
    assert_int_equal(passes_that_fail("driver:2"), 0);
    assert_int_equal(passes_that_fail("cuptix:2"), 0);
    assert_int_equal(passes_that_fail("cup:2"), 0);
    assert_int_equal(passes_that_fail(""), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--count") == 0) {
        for (int pass = 1; pass < 9; pass++)
            if (st_fault_here(ST_FAULT_CUPTI))
                return pass;
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks), cmocka_unit_test(test_texts),
        cmocka_unit_test(test_growing), cmocka_unit_test(test_faults),
        cmocka_unit_test(test_every_allocation_can_fail), cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
