// SPDX-License-Identifier: Apache-2.0
// Lock files (tuner/lock.h): what goes in comes back; the order of lines follows sizes and disturbs no other line;
// lines of other families pass through; memory that runs out anywhere leaves an error and nothing behind. What the
// command line says of damaged files is in tests/cli/cases/lock.sh, and arbitrary bytes are in tests/fuzz.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/lock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/simtune-test-lock-XXXXXX", path[64];
static st_template *tmpl;

static void need(st_code code, const st_error *error)
{
    if (code != ST_OK)
        fail_msg("%s (%s)", error->what, error->remedy);
}

static st_choice choice_of(int cc, int sm_count, const char *problem, const char *config, double ns)
{
    st_error error = {0};
    st_choice made = {.device_class = {cc, sm_count}, .blocks_per_sm = 3, .memory_bytes = -1, .measured_ms = 1790000000000,
                      .samples = 12, .median_ns = ns, .speedup = 1.5, .speedup_low = NAN, .speedup_high = NAN,
                      .gbs = 0.1, .tied = 2, .deterministic = true, .shipped = true};
    need(st_problem_parse(tmpl, problem, &made.problem, &error), &error);
    need(st_config_parse(tmpl, config, &made.config, &error), &error);
    snprintf(made.device_name, sizeof made.device_name, "NVIDIA : {odd} \"name\"");
    snprintf(made.template_hash, sizeof made.template_hash, "%s", tmpl->hash);
    return made;
}

static void write_file(const char *text)
{
    st_error error = {0};
    need(st_text_write_file(path, text, strlen(text), NULL, &error), &error);
}

static char *printed(st_lock *lock)
{
    st_text text;
    st_error error = {0};
    st_text_init(&text);
    need(st_lock_print(lock, &text, &error), &error);
    return st_text_take(&text);
}

static int set_up(void **state)
{
    (void)state;
    st_error error = {0};
    st_json_setup();
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/simtune.lock", folder);
    return st_template_load(SIMTUNE_SOURCE_FOLDER "/tests/cli/data/scale.cu", &tmpl, &error);
}

static int tear_down(void **state)
{
    (void)state;
    st_template_free(tmpl);
    unlink(path);
    return rmdir(folder);
}

static void test_round_trip(void **state)
{
    (void)state;
    st_error error = {0};
    const st_choice put[] = {choice_of(90, 132, "n=1048576", "BLOCK=256 ITEMS=4", 6000.000065),
                             choice_of(90, 132, "n=65536", "BLOCK=128 ITEMS=1", NAN),
                             choice_of(80, 108, "n=65536", "BLOCK=128 ITEMS=2", 1.0 / 3)};
    st_lock lock;
    size_t dropped = 9, count;
    st_lock_init(&lock);
    need(st_lock_put(&lock, tmpl, "cold", put, 3, &dropped, &error), &error);
    assert_int_equal(dropped, 0);
    char *first = printed(&lock);
    // Classes in order, within one the sizes by value.
    const char *a = strstr(first, "scale sm_80/108 cold n=65536 : BLOCK=128 ITEMS=2 : {"),
               *b = strstr(first, "scale sm_90/132 cold n=65536 : BLOCK=128 ITEMS=1 : {"),
               *c = strstr(first, "scale sm_90/132 cold n=1048576 : BLOCK=256 ITEMS=4 : {");
    assert_true(a && b && c && a < b && b < c);
    st_lock_release(&lock);

    write_file(first);
    need(st_lock_read(path, &lock, &error), &error);
    char *second = printed(&lock);
    assert_string_equal(first, second);
    st_choice *got;
    need(st_lock_choices(&lock, tmpl, "cold", &got, &count, &error), &error);
    assert_int_equal(count, 3);
    const st_choice *from[] = {&put[2], &put[1], &put[0]};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(got[i].device_class.cc, from[i]->device_class.cc);
        assert_int_equal(got[i].device_class.sm_count, from[i]->device_class.sm_count);
        assert_memory_equal(got[i].problem.value, from[i]->problem.value, sizeof got[i].problem.value[0]);
        assert_true(st_config_equal(tmpl, &got[i].config, &from[i]->config));
        assert_string_equal(got[i].device_name, from[i]->device_name);
        assert_true(isnan(from[i]->median_ns) ? isnan(got[i].median_ns) : got[i].median_ns == from[i]->median_ns);
        assert_true(isnan(got[i].speedup_low) && got[i].speedup == 1.5 && got[i].gbs == 0.1);
        assert_int_equal(got[i].memory_bytes, -1);
        assert_int_equal(got[i].samples, 12);
        assert_true(got[i].shipped && got[i].deterministic && !got[i].predicted && !got[i].emulated);
    }
    st_free(got);
    assert_int_equal(st_lock_choices(&lock, tmpl, "warm", &got, &count, &error), ST_NOTHING);
    st_lock_release(&lock);
    st_free(first);
    st_free(second);
}

// A new row is one line more, a new choice one line changed; what the template does not know stays as it is.
static void test_put(void **state)
{
    (void)state;
    st_error error = {0};
    static const char other[] = "zebra sm_90/132 warm T=f32 n=7 : A=1 : "
                                "{\"template\":\"0123456789abcdef0123456789abcdef\",\"x\":[1, 2]}";
    char text[400];
    st_lock lock;
    size_t dropped, count;
    snprintf(text, sizeof text, "\n# mine\nsimtune-lock 1\n\n  \n%s\r\n", other);
    write_file(text);
    need(st_lock_read(path, &lock, &error), &error);
    st_choice row = choice_of(90, 132, "n=1048576", "BLOCK=256 ITEMS=4", 6000);
    need(st_lock_put(&lock, tmpl, "cold", &row, 1, &dropped, &error), &error);
    char *one = printed(&lock);
    row = choice_of(90, 132, "n=1048576", "BLOCK=128 ITEMS=1", 5000);
    need(st_lock_put(&lock, tmpl, "cold", &row, 1, &dropped, &error), &error);
    need(st_lock_put(&lock, tmpl, "warm", &row, 1, &dropped, &error), &error);
    char *two = printed(&lock);
    assert_int_equal(lock.count, 3);
    assert_non_null(strstr(one, other));
    assert_non_null(strstr(two, other));
    assert_null(strstr(two, "ITEMS=4"));
    // Of another version of the template: they go.
    snprintf(tmpl->hash, sizeof tmpl->hash, "%s", "fedcba9876543210fedcba9876543210");
    assert_int_equal(st_lock_choices(&lock, tmpl, "cold", &(st_choice *){NULL}, &count, &error), ST_STALE);
    need(st_lock_put(&lock, tmpl, "cold", &row, 1, &dropped, &error), &error);
    assert_int_equal(dropped, 2);
    assert_int_equal(lock.count, 2);
    st_lock_release(&lock);
    st_free(one);
    st_free(two);
}

static st_code whole_way(const st_choice *row, st_error *error)
{
    st_lock lock;
    st_text text;
    st_choice *got = NULL;
    size_t dropped, count;
    st_text_init(&text);
    st_code code = st_lock_read(path, &lock, error);
    if (code == ST_OK)
        code = st_lock_put(&lock, tmpl, "cold", row, 1, &dropped, error);
    if (code == ST_OK)
        code = st_lock_choices(&lock, tmpl, "cold", &got, &count, error);
    if (code == ST_OK)
        code = st_lock_print(&lock, &text, error);
    st_free(got);
    st_text_release(&text);
    st_lock_release(&lock);
    return code;
}

static void test_faults(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    st_error error = {0};
    st_choice row = choice_of(90, 132, "n=1048576", "BLOCK=256 ITEMS=4", 6000);
    st_lock lock;
    size_t dropped;
    st_lock_init(&lock);
    need(st_lock_put(&lock, tmpl, "cold", &row, 1, &dropped, &error), &error);
    char *text = printed(&lock);
    st_lock_release(&lock);
    write_file(text);
    st_free(text);
    for (size_t k = 0; k < 2; k++) {
        bool injected = true;
        int trials = 0;
        for (int n = 1; injected; n++, trials++) {
            error = (st_error){0};
            st_fault_arm(kinds[k], n);
            st_code code = whole_way(&row, &error);
            injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            if (injected && code == ST_OK)
                fail_msg("fault %d of kind %zu passed unnoticed", n, k);
            if (injected)
                assert_true(error.what[0] != '\0');
            else
                need(code, &error);
        }
        assert_true(trials > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_put),
                                       cmocka_unit_test(test_faults)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
