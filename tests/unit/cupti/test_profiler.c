// SPDX-License-Identifier: Apache-2.0
// Proves how the profiler drives CUPTI (profiler.c, pc_sampling.c, range_profiler.c), against a
// CUPTI of our own making that behaves as 13.0 was seen to: it keeps the first configuration after
// enabling, drops samples that come too fast, and refuses everything while another process
// profiles. Needs no GPU.
#include "cupti/profiler_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake_cupti.h"

static st_profiler *open_fake(void) {
    fake = (struct fake){.running = -1, .limit = 7};
    st_profiler *profiler = st_calloc(1, sizeof *profiler);
    assert_non_null(profiler);
    profiler->api = &fake_api;
    snprintf(profiler->chip, sizeof profiler->chip, "GH100");
    return profiler;
}

static void close_fake(st_profiler *profiler) {
    st_profiler_close(profiler);
    assert_false(fake.sampling || fake.ranges); // nothing is left enabled
    assert_int_equal(fake.breaches, 0);
}

// --- PC sampling
// -----------------------------------------------------------------------------------------------

static uint64_t collect(st_profiler *profiler, fake_run *run, uint64_t minimum) {
    st_stall_profile profile;
    st_error error;
    st_code code = st_profiler_stalls(profiler, run_once, run, NULL, 0, minimum, &profile, &error);
    assert_int_equal(code, ST_OK);
    uint64_t total = profile.total_samples;
    assert_int_equal(profile.reason_count, 2); // what is no reason is left out
    if (total) {
        assert_string_equal(profile.reasons[0].pc_name, "long_scoreboard");
        assert_true(fabs(st_stall_share(&profile, profile.reasons[0].stall) - 0.75) < 0.1);
        assert_true(profile.reasons[0].samples_not_issued < profile.reasons[0].samples);
        assert_true(profile.reasons[1].samples_not_issued == 0);
    }
    st_stall_profile_release(&profile);
    return total;
}

static void a_long_kernel_needs_one_run(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    fake_run run = {.cycles = 1u << 24};
    for (unsigned i = 1; i <= 5; i++) {
        assert_true(collect(profiler, &run, 2000) >= 2000);
        assert_int_equal(run.runs, i);
    }
    assert_int_equal(fake.enablings, 1); // enabled once, configured once
    assert_int_equal(fake.changes, 1);
    close_fake(profiler);
}

static void a_short_kernel_is_repeated_and_sampled_finely(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    fake_run run = {.cycles = 8000}; // 62 samples at the most, 15 at the first period
    assert_true(collect(profiler, &run, 2000) >= 2000);
    assert_true(run.runs > 1 && run.runs <= 64);
    unsigned changes = fake.changes;
    assert_true(changes > 1);
    assert_true(collect(profiler, &run, 2000) >= 2000);
    assert_int_equal(fake.changes, changes); // the next alike candidate changes nothing
    close_fake(profiler);
}

static void a_kernel_without_samples_ends(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    fake_run run = {.cycles = 1};
    assert_int_equal(collect(profiler, &run, 2000), 0);
    assert_int_equal(run.runs, 64);
    close_fake(profiler);
}

// pc_collect.c, invariant 2: after a short candidate a long one would lose most of its samples.
static void runs_that_lose_samples_are_thrown_away(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    fake_run small = {.cycles = 8000}, large = {.cycles = 1u << 26};
    fake.limit = 5; // one block alone loses nothing
    collect(profiler, &small, 2000);
    assert_int_equal(fake.period, 5);
    fake.limit = 7;
    st_stall_profile profile;
    assert_int_equal(st_profiler_stalls(profiler, run_once, &large, NULL, 0, 2000, &profile, NULL),
                     ST_OK);
    assert_true(large.runs > 1);
    assert_true(profile.total_samples >= 2000);
    assert_true(profile.dropped_samples <= profile.total_samples / 8);
    assert_true(profile.total_samples <= large.cycles >> 7); // of one kept run, not of all
    st_stall_profile_release(&profile);
    unsigned lossy = fake.lossy;
    assert_true(lossy > 0);
    collect(profiler, &small, 2000); // the period that lost is not tried again
    collect(profiler, &large, 2000);
    assert_int_equal(fake.lossy, lossy);
    close_fake(profiler);
}

static void far_too_many_samples_make_it_coarser(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    fake_run run = {.cycles = 1ull << 32};
    uint64_t first = collect(profiler, &run, 2000);
    uint64_t second = collect(profiler, &run, 2000);
    assert_true(second < first && second >= 2000);
    close_fake(profiler);
}

static void what_prepare_runs_is_not_sampled(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    st_profiler_set_prepare(profiler, prepare);
    fake_run run = {.cycles = 1u << 21};
    assert_int_equal(collect(profiler, &run, 2000), (1u << 21) >> 9);
    assert_int_equal(run.prepared, run.runs);
    st_profiler_set_prepare(profiler, NULL);
    collect(profiler, &run, 2000);
    assert_true(run.prepared < run.runs);
    close_fake(profiler);
}

// --- many candidates whose times are known

static st_stall_profile collect_as(st_profiler *profiler, fake_run *run, double expected_ns, uint64_t minimum) {
    st_stall_profile profile;
    const st_stall_options how = {.minimum = minimum, .expected_ns = expected_ns, .seconds = 10, .lines = 4};
    // The image is no cubin: its lines are not found, which costs nothing but themselves.
    assert_int_equal(st_profiler_stalls_as(profiler, run_once, run, "image", 5, &how, &profile, NULL), ST_OK);
    return profile;
}

static void a_known_time_chooses_the_period_once(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    for (int i = 0; i < 6; i++) { // 240 µs, and candidates up to 8 times slower
        double ns = 240e3 * (1 + i);
        fake_run run = {.cycles = (uint64_t)(ns * 1.98 * 132)};
        st_stall_profile profile = collect_as(profiler, &run, ns, 300);
        assert_true(profile.total_samples >= 300);
        assert_int_equal(run.runs, 1);
        assert_int_equal(profile.launches, 1);
        st_stall_profile_release(&profile);
    }
    assert_int_equal(fake.changes, 2); // as sampling was enabled, and to the period of these times
    assert_true(fake.period >= 11 && fake.period <= 15);
    fake_run tiny = {.cycles = (uint64_t)(4e3 * 1.98 * 132)};
    st_stall_profile profile = collect_as(profiler, &tiny, 4e3, 300);
    assert_int_equal(fake.period, 7); // the finest that loses nothing
    assert_int_equal(fake.lossy, 0);
    st_stall_profile_release(&profile);
    close_fake(profiler);
}

// pc_collect.c, invariant 3: a block alone gives few samples, so it is run often, and read seldom.
static void further_runs_are_read_together(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    st_profiler_set_prepare(profiler, prepare);
    fake_run run = {.cycles = 8000}; // 62 samples a run
    st_stall_profile profile = collect_as(profiler, &run, 4e3, 1000);
    assert_true(profile.total_samples >= 1000);
    assert_true(run.runs >= 16 && run.runs <= 20);
    assert_int_equal(run.prepared, run.runs);
    assert_int_equal(profile.launches, run.runs);
    assert_true(profile.launch_seconds >= 0 && profile.launch_seconds <= profile.seconds);
    // What the flush waited is not among it.
    assert_int_equal(profile.total_samples, run.runs * (8000 >> 7));
    assert_int_equal(profile.line_count, 2);
    st_stall_profile_release(&profile);
    close_fake(profiler);
}

static void an_end_by_time_is_kept(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    fake_run run = {.cycles = 8000};
    const st_stall_options how = {.minimum = 1000000, .expected_ns = 4e3, .seconds = 1e-9, .lines = 1};
    st_stall_profile profile;
    assert_int_equal(st_profiler_stalls_as(profiler, run_once, &run, NULL, 0, &how, &profile, NULL), ST_OK);
    assert_true(run.runs <= 3); // the first pays for the set-up and does not count
    assert_true(profile.total_samples > 0);
    st_stall_profile_release(&profile);
    close_fake(profiler);
}

static void leftovers_are_not_the_next_candidates(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    fake_run run = {.cycles = 1u << 21};
    collect(profiler, &run, 2000);
    fake.waiting = 123456;
    assert_int_equal(collect(profiler, &run, 2000), (1u << 21) >> 9);
    close_fake(profiler);
}

static void a_busy_device_is_told_and_left_alone(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    fake_run run = {.cycles = 1u << 24};
    collect(profiler, &run, 0);
    fake.busy = true;
    st_stall_profile profile;
    st_error error;
    assert_int_equal(st_profiler_stalls(profiler, run_once, &run, NULL, 0, 0, &profile, &error),
                     ST_FAILED);
    assert_non_null(strstr(error.what, "another process"));
    assert_string_equal(error.remedy, st_counters_remedy(ST_COUNTERS_BUSY));
    unsigned calls = fake.calls; // whatever is asked now, CUPTI is not called any more
    const char *name = "issue_active";
    void *contexts[] = {&run};
    double value = 1;
    assert_int_equal(
        st_profiler_counters(profiler, run_once, contexts, 1, &name, 1, &value, NULL, &error),
        ST_FAILED);
    assert_non_null(strstr(error.what, "left alone"));
    assert_true(isnan(value));
    assert_int_equal(st_profiler_stalls(profiler, run_once, &run, NULL, 0, 0, &profile, &error),
                     ST_FAILED);
    st_profiler_close(profiler);
    assert_int_equal(fake.calls, calls);
}

// --- the range profiler
// ----------------------------------------------------------------------------------------

#define MANY 150
static fake_run runs[MANY];
static void *contexts_of(size_t count) {
    static void *contexts[MANY];
    for (size_t c = 0; c < count; c++) {
        runs[c] = (fake_run){.number = (int)c + 1, .cycles = 1000};
        contexts[c] = &runs[c];
    }
    return contexts;
}

static void count_all(st_profiler *profiler, size_t count, const char *const *names,
                      size_t metrics) {
    static double values[MANY * 4];
    double seconds = -1;
    st_error error;
    void *const *contexts = contexts_of(count);
    assert_int_equal(st_profiler_counters(profiler, run_once, contexts, count, names, metrics,
                                          values, &seconds, &error),
                     ST_OK);
    assert_true(seconds >= 0);
    for (size_t c = 0; c < count; c++) {
        assert_true(values[c * metrics] ==
                    100.0 * (double)(c + 1) * st_metric_find(names[0])->scale);
        if (metrics > 1)
            assert_true(isnan(values[c * metrics + 1]));
        assert_true(runs[c].runs == FAKE_PASSES || runs[c].runs == 2 * FAKE_PASSES);
    }
}

static const char *const three[] = {"dram_throughput", "stall.wait", "ipc"};
static const char *const with_gap[] = {"ipc", "stall.gmma"}; // this fake chip has no gmma

static void every_candidate_gets_its_own_values(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    static const size_t counts[] = {1, 2, 63, 64, 65, 70, 128, 131, 150};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        unsigned before = fake.enablings;
        count_all(profiler, counts[i], three, 3);
        assert_true(fake.enablings - before <= 1); // chunks of one size
    }
    close_fake(profiler);
}

static void the_same_again_enables_nothing(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    count_all(profiler, 8, three, 3);
    unsigned enablings = fake.enablings;
    for (int i = 0; i < 5; i++)
        count_all(profiler, 8, three, 3);
    assert_int_equal(fake.enablings, enablings);
    count_all(profiler, 8, three, 1); // other metrics do (the fake counts a breach otherwise)
    assert_int_equal(fake.enablings, enablings + 1);
    count_all(profiler, 9, three, 1);
    assert_int_equal(fake.enablings, enablings + 2);
    close_fake(profiler);
}

static void a_counter_that_the_chip_lacks_is_nan(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    count_all(profiler, 3, with_gap, 2);
    double value = 3;
    unsigned calls = fake.calls;
    assert_int_equal(st_profiler_counters(profiler, run_once, contexts_of(1), 1, with_gap + 1, 1,
                                          &value, NULL, NULL),
                     ST_OK);
    assert_true(isnan(value));
    assert_int_equal(runs[0].runs, 0); // nothing to count: nothing is run
    assert_true(fake.calls <= calls + 1);
    close_fake(profiler);
}

static void nothing_asked_is_fine_and_nonsense_is_not(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    double value = 3;
    st_error error;
    assert_int_equal(
        st_profiler_counters(profiler, run_once, NULL, 0, three, 1, &value, NULL, &error), ST_OK);
    assert_int_equal(
        st_profiler_counters(profiler, run_once, contexts_of(1), 1, three, 0, &value, NULL, &error),
        ST_OK);
    const char *nonsense[] = {"dram_troughput"};
    assert_int_equal(st_profiler_counters(profiler, run_once, contexts_of(1), 1, nonsense, 1,
                                          &value, NULL, &error),
                     ST_USAGE);
    assert_non_null(strstr(error.what, "dram_troughput"));
    assert_int_equal(fake.calls, 0);
    close_fake(profiler);
}

static void modes_are_never_mixed(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    fake_run run = {.cycles = 1u << 22};
    for (int i = 0; i < 5; i++) {
        collect(profiler, &run, 2000);
        count_all(profiler, 5, three, 3);
    }
    assert_int_equal(fake.enablings, 10);
    close_fake(profiler);
}

static void a_failing_candidate_leaves_it_usable(void **state) {
    (void)state;
    st_profiler *profiler = open_fake();
    void *const *contexts = contexts_of(4);
    runs[2].fails = true;
    double values[4] = {1, 1, 1, 1};
    st_error error;
    assert_int_equal(
        st_profiler_counters(profiler, run_once, contexts, 4, three, 1, values, NULL, &error),
        ST_FAILED);
    assert_string_equal(error.what, "candidate 3 failed");
    for (int c = 0; c < 4; c++)
        assert_true(isnan(values[c]));
    assert_false(fake.open); // the range was ended
    count_all(profiler, 4, three, 3);
    fake_run bad = {.fails = true, .cycles = 5000};
    st_stall_profile profile;
    assert_int_equal(st_profiler_stalls(profiler, run_once, &bad, NULL, 0, 0, &profile, &error),
                     ST_FAILED);
    assert_string_equal(error.what, "candidate 0 failed");
    fake_run good = {.cycles = 1u << 22};
    assert_true(collect(profiler, &good, 2000) >= 2000);
    close_fake(profiler);
}

// Every call of CUPTI and every allocation fails in turn: an error, and the next collection is
// right.
static void a_fault_anywhere_is_survived(void **state) {
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_CUPTI, ST_FAULT_ALLOCATION};
    for (size_t k = 0; k < 2; k++) {
        bool injected = true;
        unsigned long n = 1;
        for (; injected; n++) {
            st_profiler *profiler = open_fake();
            fake_run run = {.cycles = 1u << 22};
            st_stall_profile profile;
            double values[4];
            st_error error;
            st_fault_arm(kinds[k], n);
            st_code first =
                st_profiler_stalls(profiler, run_once, &run, NULL, 0, 0, &profile, &error);
            st_code second = st_profiler_counters(profiler, run_once, contexts_of(2), 2, three, 2,
                                                  values, NULL, &error);
            injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            if (first == ST_OK)
                st_stall_profile_release(&profile);
            if (!injected)
                assert_true(first == ST_OK && second == ST_OK);
            assert_true(collect(profiler, &run, 0) >= 2000);
            count_all(profiler, 3, three, 3);
            close_fake(profiler);
        }
        assert_true(n > 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_kernel_needs_one_run),
        cmocka_unit_test(a_short_kernel_is_repeated_and_sampled_finely),
        cmocka_unit_test(a_kernel_without_samples_ends),
        cmocka_unit_test(runs_that_lose_samples_are_thrown_away),
        cmocka_unit_test(far_too_many_samples_make_it_coarser),
        cmocka_unit_test(what_prepare_runs_is_not_sampled),
        cmocka_unit_test(a_known_time_chooses_the_period_once),
        cmocka_unit_test(further_runs_are_read_together),
        cmocka_unit_test(an_end_by_time_is_kept),
        cmocka_unit_test(leftovers_are_not_the_next_candidates),
        cmocka_unit_test(a_busy_device_is_told_and_left_alone),
        cmocka_unit_test(every_candidate_gets_its_own_values),
        cmocka_unit_test(the_same_again_enables_nothing),
        cmocka_unit_test(a_counter_that_the_chip_lacks_is_nan),
        cmocka_unit_test(nothing_asked_is_fine_and_nonsense_is_not),
        cmocka_unit_test(modes_are_never_mixed),
        cmocka_unit_test(a_failing_candidate_leaves_it_usable),
        cmocka_unit_test(a_fault_anywhere_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
