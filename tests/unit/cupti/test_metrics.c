// SPDX-License-Identifier: Apache-2.0
// Proves that the table of metrics is sane (metrics.c, invariants 1–4), that values are converted
// and printed as the rows say, and, where libcupti is there, that CUPTI knows every row on the
// chips that should have it. Needs no GPU.
#include "cupti/counters.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void every_row_is_filled(void **state) {
    (void)state;
    size_t count = 0;
    const st_metric *table = st_metrics(&count);
    assert_true(count > 40);
    for (size_t i = 0; i < count; i++) {
        assert_true(table[i].name && *table[i].name);
        assert_true(table[i].tool_name && strstr(table[i].tool_name, "__"));
        assert_non_null(strchr(table[i].tool_name, '.')); // a roll-up or submetric is named
        assert_true(table[i].meaning && strlen(table[i].meaning) > 15);
        assert_true(table[i].better >= -1 && table[i].better <= 1);
        assert_string_not_equal(st_metric_unit_name(table[i].unit), "unknown");
        const char *groups = "stall memory shared issue occupancy";
        assert_non_null(strstr(groups, table[i].group));
    }
}

static void names_are_unique(void **state) {
    (void)state;
    size_t count = 0;
    const st_metric *table = st_metrics(&count);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(st_metric_find(table[i].name), &table[i]);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(table[i].tool_name, table[j].tool_name);
            if (table[i].other_tool_name && table[j].other_tool_name)
                assert_string_not_equal(table[i].other_tool_name, table[j].other_tool_name);
        }
    }
    assert_null(st_metric_find("no_such_counter"));
    assert_null(st_metric_find(""));
    assert_null(st_metric_find(NULL));
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

// Invariant 2: what NVIDIA gives in percent is scaled, and nothing else is.
static void scales_fit_units(void **state) {
    (void)state;
    size_t count = 0;
    const st_metric *table = st_metrics(&count);
    for (size_t i = 0; i < count; i++) {
        bool percent = strstr(table[i].tool_name, ".pct") != NULL;
        assert_true(percent == (table[i].unit == ST_UNIT_SHARE));
        assert_true(table[i].scale == (percent ? 0.01 : 1.0));
        bool rate = ends_with(table[i].tool_name, "per_second");
        assert_true(rate == (table[i].unit == ST_UNIT_BYTES_PER_SECOND));
        assert_null(strstr(table[i].tool_name, "gpu__time")); // invariant 3
        assert_true(table[i].unit != ST_UNIT_NANOSECONDS);
    }
}

// Invariant 4, both ways: each reason that the range profiler has is a metric.
static void stall_rows_match_the_stall_table(void **state) {
    (void)state;
    size_t metrics = 0, stalls = 0, matched = 0;
    const st_metric *table = st_metrics(&metrics);
    const st_stall *reasons = st_stalls(&stalls);
    for (size_t i = 0; i < metrics; i++) {
        if (strcmp(table[i].group, "stall") != 0)
            continue;
        assert_int_equal(strncmp(table[i].name, "stall.", 6), 0);
        const st_stall *stall = st_stall_find(table[i].name + 6);
        assert_non_null(stall);
        assert_non_null(strstr(table[i].tool_name, stall->range_name));
        matched++;
    }
    size_t expected = 0;
    for (size_t i = 0; i < stalls; i++)
        expected += reasons[i].range_name != NULL;
    assert_int_equal(matched, expected);
    assert_int_equal(matched, 19);
}

static void values_are_converted(void **state) {
    (void)state;
    const st_metric *share = st_metric_find("dram_throughput");
    const st_metric *ratio = st_metric_find("stall.long_scoreboard");
    assert_true(fabs(st_metric_convert(share, 94.5) - 0.945) < 1e-12);
    assert_true(st_metric_convert(ratio, 107.5) == 107.5);
    assert_true(isnan(st_metric_convert(share, NAN)));
    assert_true(isnan(st_metric_convert(share, INFINITY)));
}

static void expect_text(const char *metric, double value, const char *expected) {
    st_text text;
    st_text_init(&text);
    st_metric_add_value(&text, st_metric_find(metric), value);
    assert_string_equal(st_text_string(&text), expected);
    st_text_release(&text);
}

static void values_are_printed(void **state) {
    (void)state;
    expect_text("dram_throughput", 0.9449, "94.5 %");
    expect_text("stall.long_scoreboard", 107.46, "107.5");
    expect_text("stall.wait", 0.944, "0.94");
    expect_text("dram_bytes_read", 1073741824.0, "1.07 GB");
    expect_text("dram_bytes_read", 999.7, "1 kB");
    expect_text("dram_bytes_read", 0, "0 B");
    expect_text("dram_bandwidth", 4.514e12, "4.51 TB/s");
    expect_text("instructions", 12345678, "12345678");
    expect_text("dram_bandwidth", NAN, "-"); // unknown is not zero
}

static void every_row_is_documented(void **state) {
    (void)state;
    st_text page;
    st_text_init(&page);
    assert_int_equal(st_text_read_file(&page, SIMTUNE_SOURCE_FOLDER "/docs/counters.md", NULL),
                     ST_OK);
    size_t count = 0;
    const st_metric *table = st_metrics(&count);
    for (size_t i = 0; i < count; i++) {
        char name[80];
        bool stall = strcmp(table[i].group, "stall") == 0; // listed by reason
        snprintf(name, sizeof name, "| `%s` |", table[i].name + (stall ? 6 : 0));
        if (!strstr(st_text_string(&page), name) ||
            (!stall && !strstr(st_text_string(&page), table[i].tool_name)))
            fail_msg("docs/counters.md lacks %s", table[i].name);
    }
    for (int s = ST_COUNTERS_ALLOWED; s <= ST_COUNTERS_FAILED; s++) {
        char name[80];
        snprintf(name, sizeof name, "| %s |", st_counters_state_name((st_counters_state)s));
        if (!strstr(st_text_string(&page), name))
            fail_msg("docs/counters.md lacks the state %s", name);
    }
    st_text_release(&page);
}

// --- with the host library
// ---------------------------------------------------------------------------------

#define CHIPS 64
static char chips[CHIPS][16];
static size_t chip_count;

static bool have_library(void) {
    st_error error;
    if (st_cupti_chips(chips, CHIPS, &chip_count, &error) == ST_OK)
        return true;
    printf("SKIPPED: no usable libcupti, nothing was checked against CUPTI (%s)\n", error.what);
    return false;
}

static bool has_chip(const char *name) {
    for (size_t i = 0; i < chip_count && i < CHIPS; i++)
        if (strcmp(chips[i], name) == 0)
            return true;
    return false;
}

// Which reasons a chip may lack (FACTS of the hardware); everything else must be there.
static bool may_lack(const char *chip, const char *metric) {
    if (strcmp(metric, "stall.gmma") == 0)
        return strcmp(chip, "GH100") != 0;
    if (strcmp(metric, "stall.imc_miss") == 0)
        return strncmp(chip, "GB", 2) == 0;
    return false;
}

static void every_metric_exists_on_every_chip(void **state) {
    (void)state;
    if (!have_library())
        skip();
    static const char *const wanted[] = {"TU102", "GA100", "GA102", "AD102",
                                         "GH100", "GB100", "GB202"};
    size_t count = 0;
    const st_metric *table = st_metrics(&count);
    bool *supported = st_calloc(count, sizeof *supported);
    assert_non_null(supported);
    for (size_t c = 0; c < sizeof wanted / sizeof *wanted; c++) {
        if (!has_chip(wanted[c])) {
            printf("%s: not known to this CUPTI\n", wanted[c]);
            continue;
        }
        size_t passes = 0, has = 0;
        st_error error;
        assert_int_equal(st_cupti_check_chip(wanted[c], supported, &passes, &error), ST_OK);
        printf("%s:", wanted[c]);
        bool missing = false;
        for (size_t i = 0; i < count; i++) {
            has += supported[i];
            if (supported[i])
                continue;
            printf(" no %s;", table[i].name);
            missing = missing || !may_lack(wanted[c], table[i].name);
        }
        printf(" %zu of %zu metrics, %zu passes\n", has, count, passes);
        assert_false(missing);
        assert_true(passes >= 1 && passes < 100);
    }
    assert_true(has_chip("GH100"));
    st_free(supported);
}

static void an_unknown_chip_is_an_error(void **state) {
    (void)state;
    if (!have_library())
        skip();
    size_t count = 0, passes = 0;
    st_metrics(&count);
    bool *supported = st_calloc(count, sizeof *supported);
    st_error error;
    st_code code = st_cupti_check_chip("XX999", supported, &passes, &error);
    assert_int_not_equal(code, ST_OK);
    assert_non_null(strstr(error.what, "XX999"));
    assert_true(strlen(error.remedy) > 0);
    st_free(supported);
}

// A fault at every CUPTI call and every allocation in turn: an error, or the very same answer.
static void faults_leave_no_false_answer(void **state) {
    (void)state;
    if (!have_library())
        skip();
    size_t count = 0;
    st_metrics(&count);
    bool *truth = st_calloc(count, sizeof *truth), *answer = st_calloc(count, sizeof *answer);
    size_t passes = 0, again = 0;
    assert_int_equal(st_cupti_check_chip("GH100", truth, &passes, NULL), ST_OK);
    static const st_fault kinds[] = {ST_FAULT_CUPTI, ST_FAULT_ALLOCATION};
    for (size_t k = 0; k < 2; k++) {
        bool injected = true;
        size_t trials = 0;
        // Every allocation; of the many alike calls of CUPTI the first ones and every seventh.
        for (unsigned long n = 1; injected; n += kinds[k] == ST_FAULT_CUPTI && n > 8 ? 7 : 1) {
            st_error error = {.code = ST_OK};
            st_fault_arm(kinds[k], n);
            st_code code = st_cupti_check_chip("GH100", answer, &again, &error);
            injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            if (code == ST_OK) {
                assert_memory_equal(answer, truth, count * sizeof *truth);
                assert_int_equal(again, passes);
            } else {
                assert_true(injected);
                assert_true(strlen(error.what) > 0);
            }
            trials++;
        }
        assert_true(trials > 3);
    }
    st_free(truth);
    st_free(answer);
}

static void the_version_is_named(void **state) {
    (void)state;
    if (!have_library())
        skip();
    st_text text;
    st_text_init(&text);
    int version = 0;
    assert_int_equal(st_cupti_version(&text, &version, NULL), ST_OK);
    assert_true(version >= 24); // CUDA 12.6
    assert_non_null(strstr(st_text_string(&text), "libcupti"));
    printf("%s\n", st_text_string(&text));
    st_text_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_filled),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(scales_fit_units),
        cmocka_unit_test(stall_rows_match_the_stall_table),
        cmocka_unit_test(values_are_converted),
        cmocka_unit_test(values_are_printed),
        cmocka_unit_test(every_row_is_documented),
        cmocka_unit_test(every_metric_exists_on_every_chip),
        cmocka_unit_test(an_unknown_chip_is_an_error),
        cmocka_unit_test(faults_leave_no_false_answer),
        cmocka_unit_test(the_version_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
