// SPDX-License-Identifier: Apache-2.0
// A whole session read in bulk. Promises of session_read.h: rows come in a stated order, unknown is as in store.h, and a
// callback's code ends the reading.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "db/session_read.h"
#include "tests/unit/faults.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static st_store *store;
static int64_t keys[2], candidates[4]; // sessions; two candidates each

static void need(st_code code, const st_error *error)
{
    if (code != ST_OK)
        fail_msg("%s (%s)", error->what, error->remedy);
}

static void measure(int64_t candidate, const char *phase, int round, const char *cache, double ns, int64_t ms)
{
    st_error error = {0};
    const double samples[] = {ns, ns + 1, ns - 1};
    st_measurement_row row = {.candidate_key = candidate,
                              .round = round,
                              .samples_ns = samples,
                              .sample_count = 3,
                              .median_ns = ns,
                              .sm_clock_mhz = 1980,
                              .memory_clock_mhz = -1,
                              .temperature_c = -1,
                              .power_mw = -1,
                              .throttle_reasons = -1,
                              .dropped = 2,
                              .batch = 1,
                              .tick_ns = NAN,
                              .taken_ms = ms};
    snprintf(row.phase, sizeof row.phase, "%s", phase);
    snprintf(row.cache, sizeof row.cache, "%s", cache);
    need(st_store_measurement(store, &row, &error), &error);
}

static void add_session(int index, int64_t device, int64_t toolchain, int64_t template, double winner_ns)
{
    st_error error = {0};
    int64_t problem, configuration;
    st_session_row session = {.device_key = device,
                              .toolchain_key = toolchain,
                              .template_key = template,
                              .finished_ms = -1,
                              .started_ms = 1790000000000 + index};
    snprintf(session.family, sizeof session.family, "reduce");
    snprintf(session.resume_key, sizeof session.resume_key, "key");
    need(st_store_session_begin(store, &session, &error), &error);
    keys[index] = session.key;
    need(st_store_problem(store, "reduce", "T=f32 n=64", "f32", NULL, 64, &problem, &error), &error);
    for (int i = 0; i < 2; i++) {
        st_candidate_row row = {.session_key = session.key,
                                .problem_key = problem,
                                .registers = -1,
                                .local_bytes = -1,
                                .static_smem = -1,
                                .dynamic_smem = -1,
                                .blocks_per_sm = -1,
                                .occupancy = NAN,
                                .deterministic = -1,
                                .compile_seconds = NAN};
        snprintf(row.outcome, sizeof row.outcome, "correct");
        need(st_store_configuration(store, "reduce", i ? "BLOCK=256" : "BLOCK=128", &configuration, &error), &error);
        row.configuration_key = configuration;
        need(st_store_candidate(store, &row, &error), &error);
        candidates[index * 2 + i] = row.key;
    }
    st_winner_row winner = {.session_key = session.key,
                            .problem_key = problem,
                            .winner_key = candidates[index * 2],
                            .default_key = -1,
                            .winner_ns = winner_ns,
                            .default_ns = NAN,
                            .speedup = NAN,
                            .speedup_low = NAN,
                            .speedup_high = NAN,
                            .tied = 1,
                            .ties_json = (char *)(uintptr_t) "[]",
                            .bytes = NAN};
    snprintf(winner.cache, sizeof winner.cache, "cold");
    need(st_store_winner(store, &winner, &error), &error);
    need(st_store_session_end(store, session.key, ST_SESSION_FINISHED, "{}", &error), &error);
}

static int setup(void **state)
{
    (void)state;
    st_error error = {0};
    int64_t device, toolchain, template;
    st_device_row row = {
        .cc = 90, .sm_count = 132, .memory_bytes = -1, .l2_bytes = 60, .read_gbs = 4600, .copy_gbs = NAN};
    st_toolchain_row tools = {.driver_cuda = -1};
    snprintf(row.uuid, sizeof row.uuid, "GPU-1");
    snprintf(row.name, sizeof row.name, "NVIDIA H200");
    snprintf(row.backend, sizeof row.backend, "cuda");
    snprintf(tools.compiler, sizeof tools.compiler, "nvrtc 13.0");
    need(st_store_open(":memory:", ST_STORE_WRITE, &store, &error), &error);
    need(st_store_device(store, &row, &device, &error), &error);
    need(st_store_toolchain(store, &tools, &toolchain, &error), &error);
    need(st_store_template(store, "reduce", "0123456789abcdef0123456789abcdef", "{\"a.cu\":\"x\"}", &template, &error),
         &error);
    add_session(0, device, toolchain, template, 5000);
    add_session(1, device, toolchain, template, 4000);
    measure(candidates[1], "screen", 0, "cold", 70, 1790000000002);
    measure(candidates[0], "screen", 0, "cold", 50, 1790000000003);
    measure(candidates[0], "screen", 0, "warm", 40, 1790000000003);
    measure(candidates[0], "finals", 0, "cold", 51, 1790000000009);
    measure(candidates[2], "screen", 0, "cold", 45, 1790000000004);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    st_store_close(store);
    return 0;
}

// --- what comes ------------------------------------------------------------------------------------------------------

static void test_origin(void **state)
{
    (void)state;
    st_error error = {0};
    st_session_origin origin;
    need(st_store_session_origin(store, keys[0], &origin, &error), &error);
    assert_string_equal(origin.device.name, "NVIDIA H200");
    assert_int_equal(origin.device.memory_bytes, -1);
    assert_float_equal(origin.device.read_gbs, 4600, 0);
    assert_true(isnan(origin.device.copy_gbs));
    assert_string_equal(origin.toolchain.driver, "");
    assert_int_equal(origin.toolchain.driver_cuda, -1);
    assert_string_equal(origin.template_hash, "0123456789abcdef0123456789abcdef");
    assert_string_equal(origin.template_json, "{\"a.cu\":\"x\"}");
    assert_false(origin.shipped);
    st_session_origin_release(&origin);
    assert_int_equal(st_store_session_origin(store, 999, &origin, &error), ST_NOTHING);
}

typedef struct seen {
    size_t count, stop_at; // 0: never
    st_session_time times[8];
    char sessions[8][ST_HASH_TEXT];
    double ns[8];
} seen;

static st_code take_time(void *context, const st_session_time *row, st_error *error)
{
    seen *at = context;
    at->times[at->count++] = *row;
    return at->count == at->stop_at ? st_fail(error, ST_FAILED, NULL, "enough") : ST_OK;
}

// By candidate, and of a candidate in the order in which they were taken; nothing of other sessions.
static void test_times(void **state)
{
    (void)state;
    st_error error = {0};
    seen at = {0};
    need(st_store_session_times(store, keys[0], take_time, &at, &error), &error);
    assert_int_equal(at.count, 4);
    assert_int_equal(at.times[0].candidate_key, candidates[0]);
    assert_string_equal(at.times[0].phase, "screen");
    assert_string_equal(at.times[1].cache, "warm");
    assert_string_equal(at.times[2].phase, "finals");
    assert_int_equal(at.times[3].candidate_key, candidates[1]);
    assert_int_equal(at.times[0].sample_count, 3);
    assert_int_equal(at.times[0].dropped, 2);
    assert_int_equal(at.times[0].memory_clock_mhz, -1);
    assert_true(isnan(at.times[0].tick_ns));
    at = (seen){.stop_at = 2};
    assert_int_equal(st_store_session_times(store, keys[0], take_time, &at, &error), ST_FAILED);
    assert_int_equal(at.count, 2);
}

static st_code take_winner(void *context, const st_winner_row *row, const char *problem, st_error *error)
{
    (void)error;
    size_t *count = context;
    ++*count;
    assert_string_equal(problem, "T=f32 n=64");
    assert_int_equal(row->winner_key, candidates[2]);
    assert_int_equal(row->default_key, -1);
    assert_true(isnan(row->speedup) && isnan(row->bytes));
    assert_string_equal(row->ties_json, "[]");
    assert_null(row->note);
    return ST_OK;
}

static st_code take_problem(void *context, const char *problem, const char *type, const char *operation, int64_t n,
                            st_error *error)
{
    (void)error;
    ++*(size_t *)context;
    assert_string_equal(problem, "T=f32 n=64");
    assert_string_equal(type, "f32");
    assert_string_equal(operation, "");
    assert_int_equal(n, 64);
    return ST_OK;
}

static void test_winners_and_problems(void **state)
{
    (void)state;
    st_error error = {0};
    size_t winners = 0, problems = 0;
    need(st_store_session_winners(store, keys[1], take_winner, &winners, &error), &error);
    need(st_store_session_problems(store, keys[1], take_problem, &problems, &error), &error);
    assert_int_equal(winners, 1);
    assert_int_equal(problems, 1);
}

static st_code take_past(void *context, const st_past_winner *row, st_error *error)
{
    (void)error;
    seen *at = context;
    snprintf(at->sessions[at->count], sizeof at->sessions[0], "%s", row->session_id);
    at->ns[at->count++] = row->winner_ns;
    assert_string_equal(row->configuration, "BLOCK=128");
    return ST_OK;
}

static st_code take_profiled(void *context, int64_t key, st_error *error)
{
    (void)error;
    int64_t *at = context;
    assert_int_equal(*at, 0); // there is one
    *at = key;
    return ST_OK;
}

static void test_profiled(void **state)
{
    (void)state;
    st_error error = {0};
    const char *names[] = {"stall.wait"};
    const double values[] = {0.5};
    int64_t key = 0, none = 0;
    need(st_store_counters(store, candidates[1], "pc", names, values, 1, 0.1, &error), &error);
    need(st_store_counters(store, candidates[1], "range", names, values, 1, 0.1, &error), &error);
    need(st_store_session_profiled(store, keys[0], take_profiled, &key, &error), &error);
    need(st_store_session_profiled(store, keys[1], take_profiled, &none, &error), &error);
    assert_int_equal(key, candidates[1]);
    assert_int_equal(none, 0);
}

// All ended sessions of the problem and device, the oldest first; a running one does not count.
static void test_past(void **state)
{
    (void)state;
    st_error error = {0};
    seen at = {0};
    need(st_store_past_winners(store, keys[1], take_past, &at, &error), &error);
    assert_int_equal(at.count, 2);
    assert_string_not_equal(at.sessions[0], at.sessions[1]);
    assert_float_equal(at.ns[0] + at.ns[1], 9000, 0);
}

// Every allocation and every step in turn: an error, and nothing is left behind.
static void test_faults(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SQLITE};
    for (size_t k = 0; k < 2; k++)
        for (unsigned long n = 1;; n = next_fault(n)) {
            st_error error = {0};
            st_session_origin origin;
            seen at = {0};
            size_t count = 0;
            st_fault_arm(kinds[k], n);
            st_code code = st_store_session_origin(store, keys[1], &origin, &error);
            if (code == ST_OK)
                st_session_origin_release(&origin);
            if (code == ST_OK)
                code = st_store_session_times(store, keys[1], take_time, &at, &error);
            if (code == ST_OK)
                code = st_store_session_winners(store, keys[1], take_winner, &count, &error);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            assert_true(code == ST_OK || error.what[0]);
            if (!injected)
                break;
        }
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_origin, setup, teardown),
        cmocka_unit_test_setup_teardown(test_times, setup, teardown),
        cmocka_unit_test_setup_teardown(test_winners_and_problems, setup, teardown),
        cmocka_unit_test_setup_teardown(test_profiled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_past, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
    };
    return cmocka_run_group_tests_name("session_read", tests, NULL, NULL);
}
