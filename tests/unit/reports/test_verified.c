// SPDX-License-Identifier: Apache-2.0
// A verified header's rows: one rule of noise, the verdict of a row, what is wrong, what an emulated device tells.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/verified.h"
#include "tests/unit/faults.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 60 };

static st_verified begin(void)
{
    st_verified made;
    st_verified_init(&made);
    made.path = "simtune_reduce.h", made.family = "reduce", made.cache = "cold", made.device = "NVIDIA H200";
    made.driver = "580.1", made.shipped_by = "nvcc 13.0", made.compiler = "nvrtc 13.0";
    made.cc = 90, made.sm_count = 132, made.threshold = 0.005;
    return made;
}

// Times of about `ns` that scatter by a share; the rounds of all sides move together.
static void add_side(st_verified_row *row, int kind, double ns, double scatter, uint64_t seed)
{
    st_verified_side *side = &row->sides[kind];
    st_random random;
    st_random_seed(&random, seed);
    side->present = true;
    side->configuration = st_strdup("BLOCK=256");
    snprintf(side->outcome, sizeof side->outcome, "correct");
    snprintf(side->compiler, sizeof side->compiler, "nvrtc 13.0");
    side->samples_ns = st_malloc(ROUNDS * sizeof *side->samples_ns);
    side->count = ROUNDS;
    side->median_ns = ns;
    side->registers = 40;
    side->spill_bytes = kind == ST_VERIFIED_HEADER ? 16 : 0;
    for (size_t i = 0; i < ROUNDS; i++)
        side->samples_ns[i] = ns * (1 + scatter * (st_random_unit(&random) - 0.5));
}

static st_verified_row *add_row(st_verified *made)
{
    st_verified_row *row = st_verified_add(made);
    row->function = st_strdup("simtune_reduce_f32_sum");
    row->problem = st_strdup("T=f32 op=sum n=65536");
    row->exact = true;
    row->cc = 90, row->sm_count = 132;
    return row;
}

static st_change verdict_of(double header, double standard, double store, double scatter)
{
    st_verified made = begin();
    st_error error;
    st_verified_row *row = add_row(&made);
    add_side(row, ST_VERIFIED_HEADER, header, scatter, 1);
    add_side(row, ST_VERIFIED_DEFAULT, standard, scatter, 2);
    if (store > 0)
        add_side(row, ST_VERIFIED_STORE, store, scatter, 3);
    assert_int_equal(st_verified_judge(&made, row, &error), ST_OK);
    st_change verdict = row->verdict;
    assert_int_equal(made.counts[verdict], 1);
    st_verified_release(&made);
    return verdict;
}

static void a_row_is_as_its_worst_side_says(void **state)
{
    (void)state;
    assert_int_equal(verdict_of(5000, 8000, 5000, 0.002), ST_CHANGE_BETTER);
    assert_int_equal(verdict_of(5000, 5000, 5000, 0.002), ST_CHANGE_SAME);
    assert_int_equal(verdict_of(5000, 8000, 4000, 0.002), ST_CHANGE_WORSE);
    assert_int_equal(verdict_of(5000, 4000, 6000, 0.002), ST_CHANGE_WORSE);
    assert_int_equal(verdict_of(5000, 8000, 0, 0.002), ST_CHANGE_BETTER);
    assert_int_equal(verdict_of(5000, 5020, 0, 0.5), ST_CHANGE_UNKNOWN); // scatter
    assert_int_equal(verdict_of(5000, 4985, 0, 0.0001), ST_CHANGE_SAME); // within 0.5 %
}

static void the_same_configuration_needs_no_time(void **state)
{
    (void)state;
    st_verified made = begin();
    st_error error;
    st_verified_row *row = add_row(&made);
    add_side(row, ST_VERIFIED_HEADER, 5000, 0.3, 1);
    row->sides[ST_VERIFIED_DEFAULT].as = ST_VERIFIED_HEADER;
    row->sides[ST_VERIFIED_STORE].as = ST_VERIFIED_HEADER;
    assert_int_equal(st_verified_judge(&made, row, &error), ST_OK);
    assert_int_equal(row->verdict, ST_CHANGE_SAME);
    assert_true(row->sides[ST_VERIFIED_STORE].ratio.centre == 1);
    st_verified_release(&made);
}

// By nvcc, the NVRTC side stands for a default that is the header's configuration: worse code of nvcc is worse.
static void another_compiler_is_held_against_nvrtc(void **state)
{
    (void)state;
    st_verified made = begin();
    st_error error;
    st_verified_row *row = add_row(&made);
    add_side(row, ST_VERIFIED_HEADER, 5500, 0.002, 1);
    add_side(row, ST_VERIFIED_NVRTC, 5000, 0.002, 2);
    row->sides[ST_VERIFIED_DEFAULT].as = ST_VERIFIED_NVRTC;
    assert_int_equal(st_verified_judge(&made, row, &error), ST_OK);
    assert_int_equal(row->sides[ST_VERIFIED_NVRTC].change, ST_CHANGE_WORSE);
    assert_int_equal(row->verdict, ST_CHANGE_WORSE);
    st_text text;
    st_text_init(&text);
    st_verified_text(&made, &text);
    assert_non_null(strstr(text.data, "5.500 µs, 40 registers, 16 bytes spilled"));
    assert_non_null(strstr(text.data, "the header's configuration, by NVRTC; header worse: +10.0 %"));
    assert_non_null(strstr(text.data, "1 verified: 0 better, 0 same, 1 worse, 0 cannot tell\n"));
    st_text_release(&text);
    st_verified_release(&made);
}

static void what_does_not_work_is_worse_than_anything(void **state)
{
    (void)state;
    static const char *const outcomes[] = {"wrong", "launch", "crash", "compile", "timeout"};
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        st_verified made = begin();
        st_error error;
        st_verified_row *row = add_row(&made);
        add_side(row, ST_VERIFIED_HEADER, 5000, 0.002, 1);
        add_side(row, ST_VERIFIED_DEFAULT, 9000, 0.002, 2);
        snprintf(row->sides[0].outcome, sizeof row->sides[0].outcome, "%s", outcomes[i]);
        row->sides[0].detail = st_strdup("out[3] is 1,\x1b[31m expected 2");
        assert_int_equal(st_verified_judge(&made, row, &error), ST_OK);
        assert_true(row->broken && row->verdict == ST_CHANGE_WORSE && made.broken == 1);
        st_text text;
        st_text_init(&text);
        st_verified_text(&made, &text);
        assert_non_null(strstr(text.data, i ? "does not run here" : "gives wrong answers here"));
        assert_non_null(strstr(text.data, "1 of the worse ones do not work here"));
        assert_null(strchr(text.data, '\x1b'));
        st_text_release(&text);
        st_verified_release(&made);
    }
}

static void a_side_that_is_wrong_is_no_alternative(void **state)
{
    (void)state;
    st_verified made = begin();
    st_error error;
    st_verified_row *row = add_row(&made);
    add_side(row, ST_VERIFIED_HEADER, 5000, 0.002, 1);
    add_side(row, ST_VERIFIED_DEFAULT, 6000, 0.002, 2);
    add_side(row, ST_VERIFIED_STORE, 3000, 0.002, 3);
    snprintf(row->sides[ST_VERIFIED_STORE].outcome, 16, "wrong");
    assert_int_equal(st_verified_judge(&made, row, &error), ST_OK);
    assert_int_equal(row->verdict, ST_CHANGE_BETTER);
    snprintf(row->sides[ST_VERIFIED_DEFAULT].outcome, 16, "launch");
    assert_int_equal(st_verified_judge(&made, row, &error), ST_OK);
    assert_int_equal(row->verdict, ST_CHANGE_UNKNOWN);
    assert_non_null(strstr(row->reason, "nothing right"));
    st_verified_release(&made);
}

static void an_emulated_time_and_a_lack_of_memory_tell_nothing(void **state)
{
    (void)state;
    st_verified made = begin();
    st_error error;
    st_verified_row *row = add_row(&made);
    add_side(row, ST_VERIFIED_HEADER, 5000, 0.002, 1);
    add_side(row, ST_VERIFIED_DEFAULT, 9000, 0.002, 2);
    row->emulated = true;
    assert_int_equal(st_verified_judge(&made, row, &error), ST_OK);
    assert_int_equal(row->verdict, ST_CHANGE_UNKNOWN);
    row = add_row(&made);
    row->too_big = true;
    assert_int_equal(st_verified_judge(&made, row, &error), ST_OK);
    assert_true(row->verdict == ST_CHANGE_UNKNOWN && !row->broken);
    row = add_row(&made);
    add_side(row, ST_VERIFIED_HEADER, 5000, 0.002, 1);
    add_side(row, ST_VERIFIED_DEFAULT, 9000, 0.002, 2);
    row->sides[ST_VERIFIED_DEFAULT].count = ST_COMPARE_SAMPLES_LEAST - 1;
    assert_int_equal(st_verified_judge(&made, row, &error), ST_OK);
    assert_int_equal(row->verdict, ST_CHANGE_UNKNOWN);
    assert_int_equal(made.counts[ST_CHANGE_UNKNOWN], 3);
    st_verified_release(&made);
}

static void json_knows_null_from_zero(void **state)
{
    (void)state;
    st_verified made = begin();
    st_error error;
    st_verified_row *row = add_row(&made);
    add_side(row, ST_VERIFIED_HEADER, 5000, 0.002, 1);
    row->sides[0].registers = 0, row->sides[0].spill_bytes = -1;
    row->sides[ST_VERIFIED_DEFAULT].as = ST_VERIFIED_HEADER;
    assert_int_equal(st_verified_judge(&made, row, &error), ST_OK);
    json_t *json = st_verified_json(&made), *first = json_array_get(json_object_get(json, "rows"), 0);
    assert_string_equal(json_string_value(json_object_get(json, "schema")), "simtune.verify/1");
    json_t *header = json_object_get(first, "header");
    assert_int_equal(json_integer_value(json_object_get(header, "registers")), 0);
    assert_true(json_is_null(json_object_get(header, "spill_bytes")));
    assert_true(json_is_null(json_object_get(first, "store")));
    assert_string_equal(json_string_value(json_object_get(json_object_get(first, "default"), "same_as")), "header");
    assert_true(json_is_null(json_object_get(json, "nvcc_seconds")));
    json_decref(json);
    st_verified_release(&made);
}

static void faults_are_reported(void **state)
{
    (void)state;
    for (unsigned long n = 1;; n = next_fault(n)) {
        st_verified made = begin();
        st_error error = {0};
        st_verified_row *row = add_row(&made);
        add_side(row, ST_VERIFIED_HEADER, 5000, 0.002, 1);
        add_side(row, ST_VERIFIED_DEFAULT, 9000, 0.002, 2);
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_verified_judge(&made, row, &error);
        bool hit = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_true(code == ST_OK ? row->verdict == ST_CHANGE_BETTER : hit && code == ST_NO_MEMORY);
        st_verified_release(&made);
        if (!hit)
            break;
    }
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_as_its_worst_side_says),
        cmocka_unit_test(the_same_configuration_needs_no_time),
        cmocka_unit_test(another_compiler_is_held_against_nvrtc),
        cmocka_unit_test(what_does_not_work_is_worse_than_anything),
        cmocka_unit_test(a_side_that_is_wrong_is_no_alternative),
        cmocka_unit_test(an_emulated_time_and_a_lack_of_memory_tell_nothing),
        cmocka_unit_test(json_knows_null_from_zero),
        cmocka_unit_test(faults_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
