// SPDX-License-Identifier: Apache-2.0
// Proves what a view knows (advice_view.c): counters under the names of the store, shares of samples or of latency, what
// is derived and how it is marked, the memory's limit; unknown stays unknown.
#include "cupti/advice.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect_known(const st_profile_view *view, const char *name, double value, st_validity validity) {
    st_validity how;
    double got = st_view_value(view, name, &how);
    bool equal = isnan(value) ? isnan(got) : fabs(got - value) < 1e-9 * fmax(1, fabs(value));
    if (!equal || how != validity)
        fail_msg("%s is %g (%s), expected %g (%s)", name, got, st_validity_name(how), value,
                 st_validity_name(validity));
}

static void an_empty_view_knows_nothing(void **state) {
    (void)state;
    st_profile_view view;
    st_view_init(&view);
    size_t count = 0;
    const st_metric *metrics = st_metrics(&count);
    for (size_t i = 0; i < count; i++)
        expect_known(&view, metrics[i].name, NAN, ST_VALID_UNKNOWN);
    static const char *const names[] = {
        "stall.wait",     "stall_not_issued.wait", "latency",        "latency.wait",  "ns", "bytes",
        "registers",      "occupancy_limit",       "share_of_limit", "stall_samples", "",   "nonsense",
        "stall.nonsense", "latency.nonsense",      "stall."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_known(&view, names[i], NAN, ST_VALID_UNKNOWN);
    assert_false(st_view_has_stalls(&view));
    assert_int_equal(st_view_main_stall(&view), -1);
    assert_false(st_view_at_limit(&view));
    assert_true(isnan(st_view_limit_gbs(&view)));
}

static void tables_fit_the_view(void **state) {
    (void)state;
    size_t stalls = 0, metrics = 0;
    st_stalls(&stalls);
    st_metrics(&metrics);
    assert_true(stalls <= ST_VIEW_STALLS);
    assert_true(metrics <= ST_VIEW_METRICS);
}

// As 1000 samples: half wait for memory (a fifth of these while another warp issues), a twentieth issues.
static st_profile_view sampled(double samples) {
    st_profile_view view;
    st_view_init(&view);
    st_view_counter(&view, "pc", "stall.long_scoreboard", 0.5);
    st_view_counter(&view, "pc", "stall_not_issued.long_scoreboard", 0.4);
    st_view_counter(&view, "pc", "stall.wait", 0.4);
    st_view_counter(&view, "pc", "stall_not_issued.wait", 0.35);
    st_view_counter(&view, "pc", "stall.selected", 0.05);
    st_view_counter(&view, "pc", "stall_not_issued.selected", 0);
    st_view_counter(&view, "pc", "stall.not_selected", 0.05);
    st_view_counter(&view, "pc", "stall_samples", samples);
    return view;
}

static void samples_give_shares_and_what_follows(void **state) {
    (void)state;
    st_profile_view view = sampled(1000);
    expect_known(&view, "stall.long_scoreboard", 0.5, ST_VALID_SAMPLED);
    expect_known(&view, "stall_not_issued.wait", 0.35, ST_VALID_SAMPLED);
    expect_known(&view, "stall.barrier", NAN, ST_VALID_UNKNOWN);
    expect_known(&view, "issue_active", 0.25, ST_VALID_DERIVED); // nothing is issued in 75 % of samples
    expect_known(&view, "ipc", 1, ST_VALID_DERIVED);
    expect_known(&view, "latency", 20, ST_VALID_DERIVED); // one sample in twenty finds a warp issuing
    expect_known(&view, "cycles_per_instruction", 20, ST_VALID_DERIVED);
    expect_known(&view, "latency.wait", 8, ST_VALID_DERIVED);
    expect_known(&view, "dram_throughput", NAN, ST_VALID_UNKNOWN);
    assert_int_equal(st_view_main_stall(&view), st_stall_find("long_scoreboard") - st_stalls(&(size_t){0}));
}

static void few_samples_are_marked(void **state) {
    (void)state;
    st_profile_view view = sampled(ST_SAMPLES_FEW - 1);
    expect_known(&view, "stall.wait", 0.4, ST_VALID_FEW);
    expect_known(&view, "issue_active", 0.25, ST_VALID_FEW);
    view = sampled(ST_SAMPLES_FEW);
    expect_known(&view, "stall.wait", 0.4, ST_VALID_SAMPLED);
}

static void exact_counters_go_before_samples(void **state) {
    (void)state;
    st_profile_view view = sampled(1000);
    st_view_counter(&view, "range", "issue_active", 0.31);
    st_view_counter(&view, "range", "cycles_per_instruction", 22);
    expect_known(&view, "issue_active", 0.31, ST_VALID_EXACT);
    expect_known(&view, "latency", 22, ST_VALID_EXACT);
    expect_known(&view, "latency.wait", 8.8, ST_VALID_EXACT);
}

static void ratios_are_shares_where_nothing_was_sampled(void **state) {
    (void)state;
    st_profile_view view;
    st_view_init(&view);
    st_view_counter(&view, "range", "stall.long_scoreboard", 6);
    st_view_counter(&view, "range", "stall.wait", 3);
    st_view_counter(&view, "range", "stall.selected", 1);
    expect_known(&view, "stall.long_scoreboard", 0.6, ST_VALID_EXACT);
    expect_known(&view, "stall.wait", 0.3, ST_VALID_EXACT);
    expect_known(&view, "issue_active", NAN, ST_VALID_UNKNOWN); // ratios are of issued instructions: they do not tell
    st_view_counter(&view, "pc", "stall.wait", 0.9); // from now on shares are of samples, and of nothing else
    expect_known(&view, "stall.wait", 0.9, ST_VALID_SAMPLED);
    expect_known(&view, "stall.long_scoreboard", NAN, ST_VALID_UNKNOWN);
    st_view_counter(&view, "range", "stall.wait", 7);
    expect_known(&view, "stall.wait", 0.9, ST_VALID_SAMPLED);
    assert_true(view.ratio[st_stall_find("wait") - st_stalls(&(size_t){0})] == 7);
}

static void what_is_not_known_is_left_out(void **state) {
    (void)state;
    st_profile_view view, untouched;
    st_view_init(&view);
    st_view_init(&untouched);
    static const struct {
        const char *kind, *name;
        double value;
    } rows[] = {{"pc", "stall.warpgroup_depbar", 0.5},
                {"pc", "stall_launch_seconds", 0.1},
                {"pc", "issue_active", 0.5},
                {"range", "reported.mean_ns", 5},
                {"range", "stall.later", 2},
                {"kind", "issue_active", 1},
                {"pc", "stall.wait", NAN},
                {"range", "issue_active", INFINITY},
                {"", "", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        st_view_counter(&view, rows[i].kind, rows[i].name, rows[i].value);
    assert_memory_equal(&view, &untouched, sizeof view);
}

static void shares_that_exceed_one_derive_nothing(void **state) {
    (void)state;
    st_profile_view view = sampled(1000);
    st_view_counter(&view, "pc", "stall_not_issued.wait", 0.9); // 1.3 in all: no such samples
    expect_known(&view, "issue_active", NAN, ST_VALID_UNKNOWN);
    st_view_counter(&view, "pc", "stall.selected", 0);
    expect_known(&view, "latency", NAN, ST_VALID_UNKNOWN); // never seen to issue
}

static void the_limit_is_that_of_reads_and_writes(void **state) {
    (void)state;
    st_profile_view view;
    st_view_init(&view);
    view.bytes = 1e9;
    view.ns = 250e3; // 4000 GB/s
    view.device.read_gbs = 4600;
    view.device.copy_gbs = 4000;
    assert_true(fabs(st_view_limit_gbs(&view) - 4600) < 1e-6); // nothing known of writes
    expect_known(&view, "share_of_limit", 4000.0 / 4600, ST_VALID_EXACT);
    assert_false(st_view_at_limit(&view));
    view.device.written_share = 0.5;
    assert_true(fabs(st_view_limit_gbs(&view) - 4000) < 1e-6);
    assert_true(st_view_at_limit(&view));
    view.best_ns = 1e9 / 4400; // another candidate was faster than the copy: there is more to be had
    assert_true(fabs(st_view_limit_gbs(&view) - 4400) < 1e-6);
    assert_false(st_view_at_limit(&view));
    view.best_ns = 1e9 / 3900; // a slower one says nothing
    assert_true(fabs(st_view_limit_gbs(&view) - 4000) < 1e-6);
    view.device.written_share = 0.25; // half of its bytes go as a copy's
    assert_true(fabs(st_view_limit_gbs(&view) - 1 / (0.5 / 4600 + 0.5 / 4000)) < 1e-6);
    view.device.written_share = NAN; // then counters tell
    st_view_counter(&view, "range", "dram_bytes_read", 5e8);
    st_view_counter(&view, "range", "dram_bytes_written", 5e8);
    assert_true(fabs(st_view_limit_gbs(&view) - 4000) < 1e-6);
    view.device.copy_gbs = NAN;
    assert_true(isnan(st_view_limit_gbs(&view)));
    view.device.written_share = 0;
    assert_true(fabs(st_view_limit_gbs(&view) - 4600) < 1e-6);
    view.device.read_gbs = 0;
    assert_true(isnan(st_view_limit_gbs(&view)));
    assert_false(st_view_at_limit(&view));
}

static void facts_are_values_too(void **state) {
    (void)state;
    st_profile_view view;
    st_view_init(&view);
    view.registers = 84;
    view.occupancy = 0.31;
    view.ns = 1e5;
    expect_known(&view, "registers", 84, ST_VALID_EXACT);
    expect_known(&view, "occupancy_limit", 0.31, ST_VALID_EXACT);
    expect_known(&view, "occupancy", NAN, ST_VALID_UNKNOWN); // that is the counter of what was resident
    expect_known(&view, "ns", 1e5, ST_VALID_EXACT);
    st_view_counter(&view, "range", "shared_wavefronts", 200);
    expect_known(&view, "bank_conflicts", NAN, ST_VALID_UNKNOWN);
    st_view_counter(&view, "range", "shared_store_conflicts", 50);
    expect_known(&view, "bank_conflicts", 0.25, ST_VALID_EXACT);
    for (int v = ST_VALID_UNKNOWN; v <= ST_VALID_FEW; v++)
        assert_true(st_validity_name((st_validity)v)[0] != '\0');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_view_knows_nothing),
        cmocka_unit_test(tables_fit_the_view),
        cmocka_unit_test(samples_give_shares_and_what_follows),
        cmocka_unit_test(few_samples_are_marked),
        cmocka_unit_test(exact_counters_go_before_samples),
        cmocka_unit_test(ratios_are_shares_where_nothing_was_sampled),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(shares_that_exceed_one_derive_nothing),
        cmocka_unit_test(the_limit_is_that_of_reads_and_writes),
        cmocka_unit_test(facts_are_values_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
