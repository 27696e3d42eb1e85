// SPDX-License-Identifier: Apache-2.0
// Proves that the table of stall reasons is sane and finds every spelling (stalls.c), that samples
// are summed per instruction (pc_table.c) and that a profile says what its samples say
// (stall_profile.c).
#include "cupti/counters.h"
#include "cupti/pc_table.h"
#include "tuner/base/memory.h"
#include "tuner/base/roles.h"

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
    const st_stall *table = st_stalls(&count);
    assert_int_equal(count, 19);
    for (size_t i = 0; i < count; i++) {
        assert_true(table[i].name && *table[i].name);
        assert_true(table[i].pc_name && *table[i].pc_name);
        assert_true(table[i].old_names && *table[i].old_names);
        assert_true(table[i].waits_for && strlen(table[i].waits_for) > 8);
        assert_true(table[i].meaning && strlen(table[i].meaning) > 60);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(table[i].name, table[j].name);
            assert_string_not_equal(table[i].pc_name, table[j].pc_name);
        }
    }
}

static void expect_found(const char *any, const char *name) {
    const st_stall *found = st_stall_find(any);
    assert_non_null(found);
    assert_string_equal(found->name, name);
}

static void every_spelling_is_found(void **state) {
    (void)state;
    expect_found("long_scoreboard", "long_scoreboard");
    expect_found("no_instruction", "no_instruction");  // range profiler
    expect_found("no_instructions", "no_instruction"); // PC sampling
    expect_found("gmma", "gmma");
    expect_found("warpgroup_arrive", "gmma");
    expect_found("smsp__pcsamp_warps_issue_stalled_wait", "wait");
    expect_found("smsp__pcsamp_warps_issue_stalled_wait_not_issued", "wait");
    expect_found("smsp__pcsamp_warp_stall_warpgroup_arrive_not_issued", "gmma"); // older libraries
    expect_found("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "barrier");
    expect_found("smsp__warps_issue_stalled_drain.sum", "drain");
    expect_found("stall.membar", "membar");
    expect_found("Stall Long Scoreboard", "long_scoreboard"); // Nsight Compute's tables
    expect_found("stall_long_sb", "long_scoreboard");
    expect_found("Stall_MIO_Throttle", "mio_throttle");
    expect_found("stall_imc", "imc_miss");
    expect_found("Execution Dependency", "wait"); // nvprof
    char long_name[400];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_null(st_stall_find(long_name));
    assert_null(st_stall_find("long_scoreboar"));
    assert_null(st_stall_find("long"));
    assert_null(st_stall_find("stall."));
    assert_null(st_stall_find(""));
    assert_null(st_stall_find(NULL));
}

// The names of old articles, as DESIGN maps them; the first meant comes first.
static void old_names_are_mapped(void **state) {
    (void)state;
    expect_found("execution_dependency", "wait");
    expect_found("stall_exec_dependency", "wait");
    expect_found("memory_dependency", "long_scoreboard");
    expect_found("memory_throttle", "lg_throttle");
    expect_found("synchronization", "barrier");
    expect_found("stall_sync", "barrier");
    expect_found("pipe_busy", "math_pipe_throttle");
    expect_found("stall_inst_fetch", "no_instruction");
    size_t count = 0;
    const st_stall *table = st_stalls(&count);
    static const struct {
        const char *old, *name;
    } also[] = {{"execution_dependency", "short_scoreboard"},
                {"memory_throttle", "drain"},
                {"synchronization", "membar"},
                {"pipe_busy", "mio_throttle"}};
    for (size_t a = 0; a < 4; a++) {
        bool both = false;
        for (size_t i = 0; i < count; i++)
            both = both || (strcmp(table[i].name, also[a].name) == 0 &&
                            strstr(table[i].old_names, also[a].old));
        assert_true(both);
    }
}

static void roles_point_the_right_way(void **state) {
    (void)state;
    assert_true(st_stall_find("long_scoreboard")->moves & ST_ROLE_MLP);
    assert_true(st_stall_find("wait")->moves & ST_ROLE_ILP);
    assert_true(st_stall_find("short_scoreboard")->moves & ST_ROLE_SMEM);
    assert_true(st_stall_find("mio_throttle")->moves & ST_ROLE_SMEM);
    assert_true(st_stall_find("barrier")->moves & ST_ROLE_SYNC);
    assert_true(st_stall_find("lg_throttle")->moves & ST_ROLE_MLP);
    assert_int_equal(st_stall_find("selected")->moves, 0);
}

// --- samples
// -----------------------------------------------------------------------------------------------

static const char slots[][64] = {"selected", "long_scoreboard", "wait", "brand_new"};
enum { SELECTED, LONG, WAIT, NEW, SLOTS };

static void add(st_pc_table *table, const char *function, bool ours, uint64_t offset, int slot,
                uint64_t samples, uint64_t not_issued) {
    st_pc_entry *entry = st_pc_table_at(table, function, ours, offset);
    assert_non_null(entry);
    entry->samples[slot] += samples;
    entry->not_issued[slot] += not_issued;
}

static void samples_are_summed(void **state) {
    (void)state;
    st_pc_table table = {0};
    for (int run = 0; run < 3; run++) {
        add(&table, "first", false, 0x10, LONG, 50, 40);
        add(&table, "first", false, 0x20, SELECTED, 10, 0);
        add(&table, "second", false, 0x10, WAIT, 20, 5);
        add(&table, "second", false, 0x10, NEW, 1, 1);
    }
    assert_int_equal(st_pc_table_samples(&table), 3 * 81);
    st_stall_profile profile = {0};
    assert_int_equal(st_pc_table_profile(&table, slots, SLOTS, &profile, NULL), ST_OK);
    assert_int_equal(profile.total_samples, 3 * 81);
    assert_int_equal(profile.reason_count, SLOTS);
    assert_string_equal(profile.reasons[0].pc_name, "long_scoreboard");
    assert_int_equal(profile.reasons[0].samples, 150);
    assert_int_equal(profile.reasons[0].samples_not_issued, 120);
    assert_string_equal(profile.reasons[3].pc_name, "brand_new");
    assert_int_equal(profile.reasons[3].stall, -1); // a reason that the table does not know is kept
    assert_int_equal(profile.line_count, 3);
    assert_string_equal(profile.lines[0].function, "first");
    assert_int_equal(profile.lines[0].pc_offset, 0x10);
    size_t count = 0;
    const st_stall *stalls = st_stalls(&count);
    assert_string_equal(stalls[profile.lines[0].main_stall].name, "long_scoreboard");
    assert_string_equal(profile.lines[1].function, "second");
    assert_string_equal(stalls[profile.lines[1].main_stall].name, "wait");
    assert_int_equal(profile.lines[2].main_stall, -1); // issuing is no stall
    st_stall_profile_release(&profile);
    st_pc_table_release(&table);
}

// Kernels of other modules (a cache flush) do not count once the candidate's own were seen.
static void other_modules_are_left_out(void **state) {
    (void)state;
    st_pc_table table = {0};
    add(&table, "flush", false, 0, LONG, 1000, 1000);
    assert_int_equal(st_pc_table_samples(&table), 1000); // nothing known: everything counts
    add(&table, "kernel", true, 0, WAIT, 7, 7);
    assert_int_equal(st_pc_table_samples(&table), 7);
    st_stall_profile profile = {0};
    assert_int_equal(st_pc_table_profile(&table, slots, SLOTS, &profile, NULL), ST_OK);
    assert_int_equal(profile.total_samples, 7);
    assert_int_equal(profile.line_count, 1);
    assert_string_equal(profile.lines[0].function, "kernel");
    st_stall_profile_release(&profile);
    st_pc_table_release(&table);
}

static void many_instructions_fit(void **state) {
    (void)state;
    st_pc_table table = {0};
    for (int round = 0; round < 2; round++) {
        for (uint64_t offset = 0; offset < 5000; offset++)
            add(&table, offset % 2 ? "odd" : "even", true, offset * 16, LONG, offset, 0);
        assert_int_equal(table.entry_count, 5000);
    }
    assert_int_equal(st_pc_table_samples(&table), 2 * (4999ull * 5000 / 2));
    st_pc_table_clear(&table);
    assert_int_equal(st_pc_table_samples(&table), 0);
    add(&table, "odd", true, 16, LONG, 1, 0); // a cleared table has forgotten all
    assert_int_equal(table.entry_count, 1);
    assert_int_equal(st_pc_table_samples(&table), 1);
    st_pc_table_release(&table);
}

static void long_names_are_cut(void **state) {
    (void)state;
    char name[600];
    memset(name, 'k', sizeof name - 1);
    name[sizeof name - 1] = 0;
    st_pc_table table = {0};
    add(&table, name, true, 0, LONG, 1, 0);
    st_stall_profile profile = {0};
    assert_int_equal(st_pc_table_profile(&table, slots, SLOTS, &profile, NULL), ST_OK);
    assert_int_equal(strlen(profile.lines[0].function), sizeof profile.lines[0].function - 1);
    st_stall_profile_release(&profile);
    st_pc_table_release(&table);
}

static void a_failed_allocation_is_an_error(void **state) {
    (void)state;
    bool injected = true;
    for (unsigned long n = 1; injected; n++) {
        st_pc_table table = {0};
        st_stall_profile profile = {0};
        st_error error = {.code = ST_OK};
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_pc_entry *entry = st_pc_table_at(&table, "kernel", true, 16);
        if (entry)
            entry->samples[LONG] = 3;
        st_code code =
            entry ? st_pc_table_profile(&table, slots, SLOTS, &profile, &error) : ST_NO_MEMORY;
        injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_int_equal(code, injected ? ST_NO_MEMORY : ST_OK);
        assert_int_equal(profile.total_samples, injected ? 0 : 3);
        st_stall_profile_release(&profile);
        st_pc_table_release(&table);
        assert_true(n < 100);
    }
}

// --- what a profile says
// -------------------------------------------------------------------------------------

static int index_of(const char *name) {
    size_t count = 0;
    return (int)(st_stall_find(name) - st_stalls(&count));
}

static void shares_and_words(void **state) {
    (void)state;
    st_stall_sample reasons[] = {
        {.stall = index_of("selected"), .pc_name = "selected", .samples = 60},
        {.stall = index_of("long_scoreboard"),
         .pc_name = "long_scoreboard",
         .samples = 30,
         .samples_not_issued = 25},
        {.stall = -1, .pc_name = "brand_new", .samples = 10}};
    st_stall_profile profile = {.reasons = reasons, .reason_count = 3, .total_samples = 100};
    assert_true(fabs(st_stall_share(&profile, index_of("long_scoreboard")) - 0.3) < 1e-12);
    assert_true(st_stall_share(&profile, index_of("barrier")) == 0);
    assert_int_equal(st_stall_main(&profile), 1); // issuing leads, but is no stall
    st_text text;
    st_text_init(&text);
    st_stall_describe(&profile, &text);
    assert_string_equal(st_text_string(&text),
                        "waits for a value from global memory (long_scoreboard): 30 % of samples, "
                        "25 % with nothing issued");
    reasons[1].samples = 5;
    st_text_clear(&text);
    st_stall_describe(&profile, &text);
    assert_non_null(strstr(st_text_string(&text), "waits for brand_new: 10 %"));
    st_text_release(&text);
}

static void no_samples_is_unknown(void **state) {
    (void)state;
    st_stall_profile profile = {0};
    assert_true(isnan(st_stall_share(&profile, 0)));
    assert_int_equal(st_stall_main(&profile), -1);
    st_text text;
    st_text_init(&text);
    st_stall_describe(&profile, &text);
    assert_string_equal(st_text_string(&text), "no samples");
    st_text_release(&text);
    st_stall_profile_release(&profile); // of an empty one
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_filled),
        cmocka_unit_test(every_spelling_is_found),
        cmocka_unit_test(old_names_are_mapped),
        cmocka_unit_test(roles_point_the_right_way),
        cmocka_unit_test(samples_are_summed),
        cmocka_unit_test(other_modules_are_left_out),
        cmocka_unit_test(many_instructions_fit),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(a_failed_allocation_is_an_error),
        cmocka_unit_test(shares_and_words),
        cmocka_unit_test(no_samples_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
