// SPDX-License-Identifier: Apache-2.0
// A set of configurations with their positions.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"
#include "tuner/config_index.h"

#include <string.h>

static const char text[] = "// simtune: family   trial\n"
                           "// simtune: axis     n = 1Ki\n"
                           "// simtune: param    A = 0:99:1\n"
                           "// simtune: param    B = 0:99:1\n"
                           "// simtune: param    C = 1 2 3   runtime\n"
                           "// simtune: default  A=0 B=0 C=2\n"
                           "// simtune: buffer   x : inout f32[n]\n"
                           "// simtune: launch   k grid=C block=32 args=x\n"
                           "extern \"C\" __global__ void k(float *x) {}\n";
static st_template *tmpl;

static int load(void **state)
{
    (void)state;
    st_error error = {0};
    return st_template_parse("trial.cu", text, strlen(text), &tmpl, &error);
}

static int unload(void **state)
{
    (void)state;
    st_template_free(tmpl);
    return 0;
}

static st_config config(int64_t a, int64_t b, int64_t c)
{
    st_config made = {{0}};
    made.value[0] = a, made.value[1] = b, made.value[2] = c;
    return made;
}

// Many, so that the table grows several times; each is found at its position, others are not.
static void test_many(void **state)
{
    (void)state;
    st_config_index index;
    st_config_index_init(&index, tmpl);
    st_config one = config(1, 1, 1);
    assert_true(st_config_index_find(&index, &one) == SIZE_MAX); // of none
    bool added;
    for (int64_t i = 0; i < 10000; i++) {
        st_config made = config(i % 100, i / 100, 2);
        assert_int_equal(st_config_index_add(&index, &made, &added), i);
        assert_true(added);
    }
    assert_int_equal(index.count, 10000);
    for (int64_t i = 0; i < 10000; i++) {
        st_config made = config(i % 100, i / 100, 2), other = config(i % 100, i / 100, 3);
        assert_int_equal(st_config_index_find(&index, &made), i);
        assert_true(st_config_index_find(&index, &other) == SIZE_MAX);
        assert_int_equal(st_config_index_add(&index, &made, &added), i); // again: the same, nothing added
        assert_false(added);
        assert_true(st_config_equal(tmpl, &index.configs[i], &made));
    }
    assert_int_equal(index.count, 10000);
    assert_true(2 * index.count <= index.table_size); // the invariant
    st_config_index_release(&index);
    assert_true(st_config_index_find(&index, &one) == SIZE_MAX);
    assert_int_equal(st_config_index_add(&index, &one, NULL), 0); // may be filled anew
    st_config_index_release(&index);
}

// What stands beyond the template's parameters does not count.
static void test_only_parameters_count(void **state)
{
    (void)state;
    st_config_index index;
    st_config_index_init(&index, tmpl);
    st_config a = config(1, 2, 3), b = a;
    b.value[tmpl->parameter_count] = 77;
    assert_int_equal(st_config_index_add(&index, &a, NULL), 0);
    assert_int_equal(st_config_index_find(&index, &b), 0);
    st_config_index_release(&index);
}

static void test_compiled(void **state)
{
    (void)state;
    st_config a = config(5, 6, 1), b = config(5, 6, 3), c = config(5, 7, 1);
    st_config x = st_config_compiled(tmpl, &a), y = st_config_compiled(tmpl, &b), z = st_config_compiled(tmpl, &c);
    assert_true(st_config_equal(tmpl, &x, &y)); // they differ at run time only
    assert_false(st_config_equal(tmpl, &x, &z));
    assert_int_equal(x.value[2], 2); // the default
    assert_int_equal(a.value[2], 1);
}

// Each allocation fails in turn: SIZE_MAX, and what was there stays findable.
static void test_no_memory(void **state)
{
    (void)state;
    for (unsigned long n = 1; n < 100; n++) {
        st_config_index index;
        size_t refused = 0;
        st_config_index_init(&index, tmpl);
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        for (int64_t i = 0; i < 600; i++) {
            st_config made = config(i % 100, i / 100, 1);
            refused += st_config_index_add(&index, &made, NULL) == SIZE_MAX;
        }
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_int_equal(refused, injected);
        assert_int_equal(index.count, 600 - refused);
        for (size_t i = 0; i < index.count; i++)
            assert_int_equal(st_config_index_find(&index, &index.configs[i]), i);
        st_config_index_release(&index);
        if (!injected)
            return;
    }
    fail_msg("the trial without a fault was never reached");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many), cmocka_unit_test(test_only_parameters_count),
        cmocka_unit_test(test_compiled), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
