// SPDX-License-Identifier: Apache-2.0
// Recorded spaces: read out of a store, searched again, and carried over to a like problem.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/faults.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/replay.h"

#include <stdio.h>
#include <string.h>

typedef struct making {
    st_store *store;
    int64_t session, problem;
    char id[ST_HASH_TEXT];
} making;

static st_error error;
#define OK(call) assert_int_equal((call), ST_OK)

// One candidate: times of the screen (and of later phases) cold and warm; ns NaN: it failed.
static void add(making *at, const char *configuration, double screen, double finals, double warm)
{
    int64_t key;
    OK(st_store_configuration(at->store, "trial", configuration, &key, &error));
    st_candidate_row row = {.session_key = at->session, .problem_key = at->problem, .configuration_key = key,
                            .registers = 32, .local_bytes = 0, .static_smem = 512, .dynamic_smem = 1024,
                            .blocks_per_sm = 4, .occupancy = 0.5, .deterministic = 1, .compile_seconds = 0.25};
    snprintf(row.outcome, sizeof row.outcome, "%s", isnan(screen) ? "wrong" : "correct");
    OK(st_store_candidate(at->store, &row, &error));
    const struct { const char *phase, *cache; int round; double ns; } all[] = {
        {"screen", "cold", 0, screen}, {"finals", "cold", 0, finals}, {"screen", "warm", 0, warm}};
    for (size_t i = 0; i < 3; i++) {
        double samples[2] = {all[i].ns, all[i].ns};
        st_measurement_row taken = {.candidate_key = row.key, .round = all[i].round, .samples_ns = samples,
                                    .sample_count = 2, .median_ns = all[i].ns, .batch = 1, .taken_ms = 1000 + i};
        snprintf(taken.phase, sizeof taken.phase, "%s", all[i].phase);
        snprintf(taken.cache, sizeof taken.cache, "%s", all[i].cache);
        if (!isnan(all[i].ns))
            OK(st_store_measurement(at->store, &taken, &error));
    }
    static const char *const names[] = {"stall.long_scoreboard", "stall_not_issued.long_scoreboard", "stall.selected",
                                        "stall_samples"};
    static const double values[] = {0.8, 0.7, 0.1, 5000};
    if (strstr(configuration, "A=1 "))
        OK(st_store_counters(at->store, row.key, "pc", names, values, 4, 0.5, &error));
    // Exact counters of a survivor say nothing to a search, which would not have them yet.
    static const char *const exact[] = {"stall.barrier", "stall_not_issued.barrier", "stall_samples"};
    static const double much[] = {0.9, 0.9, 5000};
    if (strstr(configuration, "A=16 "))
        OK(st_store_counters(at->store, row.key, "range", exact, much, 3, 0.25, &error));
}

static void begin(making *at, const char *problem, int64_t n)
{
    int64_t device, toolchain, template;
    st_device_row gpu = {.uuid = "GPU-1", .name = "Some GPU", .backend = "cuda", .cc = 90, .sm_count = 132,
                         .memory_bytes = -1, .l2_bytes = -1, .facts_json = (char *)(uintptr_t)"{}", .read_gbs = 4000,
                         .copy_gbs = NAN};
    st_toolchain_row tools = {.driver = "1", .driver_cuda = 13000, .compiler = "nvrtc 13.0", .tool = "0"};
    OK(st_store_device(at->store, &gpu, &device, &error));
    OK(st_store_toolchain(at->store, &tools, &toolchain, &error));
    OK(st_store_template(at->store, "trial", "00000000000000000000000000000000", "{}", &template, &error));
    st_session_row session = {.started_ms = 1000, .finished_ms = -1, .device_key = device, .toolchain_key = toolchain,
                              .template_key = template, .command = (char *)(uintptr_t)"x",
                              .options_json = (char *)(uintptr_t)"{}"};
    snprintf(session.family, sizeof session.family, "trial");
    OK(st_store_session_begin(at->store, &session, &error));
    at->session = session.key;
    snprintf(at->id, sizeof at->id, "%s", session.id);
    OK(st_store_problem(at->store, "trial", problem, "f32", NULL, n, &at->problem, &error));
}

// A in 1 2 16, KIND in slow quick; the best is A=16 KIND=quick.
static void fill(making *at, double factor)
{
    static const int a[] = {16, 2, 1};
    for (size_t i = 0; i < 3; i++)
        for (int quick = 0; quick < 2; quick++) {
            char text[64];
            double ns = factor * (1000 + 500.0 * (double)i + (quick ? 0 : 300));
            snprintf(text, sizeof text, "A=%d KIND=%s", a[i], quick ? "quick" : "slow");
            add(at, text, i == 2 && !quick ? NAN : ns, i == 0 ? ns * 1.1 : NAN, ns / 2);
        }
}

static making make(const char *problem, int64_t n, double factor)
{
    making at = {0};
    OK(st_store_open(":memory:", ST_STORE_WRITE, &at.store, &error));
    begin(&at, problem, n);
    fill(&at, factor);
    OK(st_store_session_end(at.store, at.session, ST_SESSION_FINISHED, NULL, &error));
    return at;
}

static void test_load(void **state)
{
    (void)state;
    making at = make("T=f32 n=4096", 4096, 1);
    st_records records = {0};
    st_record_wish wish = {.session = at.id, .before_ms = -1};
    OK(st_records_load(at.store, &wish, &records, &error));
    assert_int_equal(records.count, 1);
    const st_recorded *record = &records.items[0];
    assert_string_equal(record->family, "trial");
    assert_string_equal(record->problem, "T=f32 n=4096");
    assert_string_equal(record->device, "Some GPU");
    assert_int_equal(record->space.count, 6);
    assert_int_equal(record->failed, 1);
    assert_int_equal(record->profiled, 2);
    // Numbers in their order, though 16 came first; words are none.
    const st_search_parameter *a = &record->space.parameters[0], *kind = &record->space.parameters[1];
    assert_string_equal(a->name, "A");
    assert_false(a->is_word);
    assert_true(kind->is_word);
    assert_int_equal(a->value_count, 3);
    assert_true(a->values[0] == 1 && a->values[1] == 2 && a->values[2] == 16);
    assert_string_equal(record->words[0][2], "16");
    // The finals stand, where there are any; cold before warm. They took a tenth longer: so would have the others.
    assert_true(fabs(record->ns[record->best] / (1000 * 1.1) - 1) < 1e-9);
    for (size_t i = 0; i < record->space.count; i++)
        assert_true(isnan(record->ns[i]) ? isnan(record->first_ns[i])
                                         : fabs(record->ns[i] / record->first_ns[i] - 1.1) < 1e-9);
    assert_true(record->first_ns[record->best] == 1000);
    assert_int_equal(record->space.values[record->best * 2], 2);
    assert_int_equal(st_recorded_within(record, 0.01), 1);
    assert_int_equal(st_recorded_within(record, 1), 5);
    // Compiling, and two samples each of the first look cold and warm.
    assert_true(fabs(record->seconds[record->best] - (0.25 + 2 * 1000e-9 + 2 * 500e-9)) < 1e-9);
    assert_true(record->facts[0].registers == 32 && record->facts[0].shared_bytes == 1536);
    size_t advised = 0;
    for (size_t i = 0; i < record->space.count; i++)
        if (record->has_profile[i]) {
            assert_true(record->profile_seconds[i] == 0.5);
            assert_true(record->advice[i].pull[1] > 0); // waits for memory: more loads in flight
            advised++;
        }
    assert_int_equal(advised, 2);
    st_records_release(&records);
    wish.cache = "warm";
    OK(st_records_load(at.store, &wish, &records, &error));
    assert_true(records.items[0].ns[records.items[0].best] == 500);
    st_records_release(&records);
    wish = (st_record_wish){.family = "other", .before_ms = -1};
    assert_int_equal(st_records_load(at.store, &wish, &records, &error), ST_NOTHING);
    wish = (st_record_wish){.before_ms = 1}; // sessions are younger than the first millisecond of 1970
    assert_int_equal(st_records_load(at.store, &wish, &records, &error), ST_NOTHING);
    wish.also_session = at.id;
    OK(st_records_load(at.store, &wish, &records, &error));
    st_records_release(&records);
    st_store_close(at.store);
}

static void test_replay(void **state)
{
    (void)state;
    making at = make("T=f32 n=4096", 4096, 1);
    st_records records = {0};
    st_record_wish wish = {.before_ms = -1};
    OK(st_records_load(at.store, &wish, &records, &error));
    st_replay_options options = {.seeds = 40, .first_seed = 1, .profile_seconds = 1};
    st_replay_result result, again;
    OK(st_replay(&records.items[0], "random", &options, &result, &error));
    assert_true(st_replay_expected(&records.items[0], 0.01) == 3.5); // (6 + 1) / (1 + 1)
    assert_true(result.evaluations[0].median >= 2 && result.evaluations[0].median <= 5);
    assert_true(result.evaluations[0].low >= 1 && result.evaluations[0].high <= 6);
    assert_true(result.evaluations[2].median <= result.evaluations[0].median);
    assert_true(fabs(result.seconds[0].median - 0.25 * result.evaluations[0].median) < 0.01);
    assert_true(isnan(result.stop_evaluations.median));
    assert_int_equal(result.points[result.point_count - 1], 6);
    assert_true(result.curve[result.point_count - 1].high == 1);
    OK(st_replay(&records.items[0], "random", &options, &again, &error));
    assert_memory_equal(&result, &again, sizeof result);
    // A profile is taken where there is one, and costs what was recorded, else what is said; without stalls none.
    double profiles = 0;
    options.seeds = 1;
    for (int recorded = 1; recorded >= 0; recorded--) {
        for (options.first_seed = 1; options.first_seed <= 40; options.first_seed++) {
            OK(st_replay(&records.items[0], "guided", &options, &result, &error));
            assert_true(fabs(result.seconds[0].median - 0.25 * result.evaluations[0].median -
                             (recorded ? 0.5 : 1) * result.profiles.median) < 0.01);
            profiles += result.profiles.median;
        }
        assert_true(profiles > 0);
        for (size_t i = 0; i < records.items[0].space.count; i++)
            records.items[0].profile_seconds[i] = NAN;
    }
    options.first_seed = 1;
    options.seeds = 40;
    options.search.without_stalls = true;
    OK(st_replay(&records.items[0], "guided", &options, &result, &error));
    assert_true(result.profiles.high == 0 && result.seconds[0].high < 2);
    sig_atomic_t stop = 1;
    options.interrupted = &stop;
    assert_int_equal(st_replay(&records.items[0], "random", &options, &result, &error), ST_INTERRUPTED);
    st_records_release(&records);
    st_store_close(at.store);
}

// Another size of the same family expects what was measured, relative to its own best, and a guess of the rest.
static void test_experience(void **state)
{
    (void)state;
    making near = make("T=f32 n=4096", 4096, 1), far = make("T=f32 n=1073741824", 1 << 30, 100);
    st_records all = {0}, other = {0};
    st_record_wish wish = {.before_ms = -1};
    OK(st_records_load(near.store, &wish, &all, &error));
    OK(st_records_load(far.store, &wish, &other, &error));
    const st_recorded *record = &other.items[0];
    st_experience_of of = {.family = "trial", .problem = record->problem, .device = record->device, .cc = 90,
                           .sm_count = 132, .space = &record->space,
                           .words = (char *const *const *)record->words, .self = record};
    double expected[6];
    size_t used;
    OK(st_experience(&of, &all, expected, &used, &error));
    assert_int_equal(used, 1);
    assert_true(fabs(expected[record->best]) < 0.05);
    for (size_t i = 0; i < 6; i++)
        assert_true(isnan(record->ns[i]) || fabs(expected[i] - log(record->ns[i] / record->ns[record->best])) < 0.1);
    // Not of itself, nor of another family.
    OK(st_experience(&of, &other, expected, &used, &error));
    assert_int_equal(used, 0);
    assert_true(isnan(expected[0]));
    // Nor of a copy of itself.
    st_records twins = {0};
    OK(st_records_load(far.store, &wish, &twins, &error));
    OK(st_experience(&of, &twins, expected, &used, &error));
    assert_int_equal(used, 0);
    st_records_release(&twins);
    of.family = "another";
    OK(st_experience(&of, &all, expected, &used, &error));
    assert_int_equal(used, 0);
    st_records_release(&all);
    st_records_release(&other);
    st_store_close(near.store);
    st_store_close(far.store);
}

static void test_distance(void **state)
{
    (void)state;
    assert_true(st_problem_distance("T=f32 n=64", "T=f32 n=64") == 0);
    assert_true(st_problem_distance("T=f32 n=64", "T=f32 n=1024") == 1);
    assert_true(st_problem_distance("T=f32 n=64", "T=f64 n=64") == 1);
    assert_true(st_problem_distance("T=f32 n=64", "T=f32 n=256") < st_problem_distance("T=f32 n=64", "T=f32 n=4096"));
    assert_true(st_problem_distance("T=f32 n=64", "T=f32 m=64") == 1);
    assert_true(st_problem_distance("callable", "T=f32") == 1);
}

static void test_no_memory(void **state)
{
    (void)state;
    making at = make("T=f32 n=4096", 4096, 1);
    for (unsigned long n = 1; n < 20000; n = next_fault(n)) {
        st_records records = {0};
        st_record_wish wish = {.before_ms = -1, .nearest_to = "T=f32 n=64", .device = "Some GPU", .family = "trial",
                               .also_session = at.id};
        double expected[6];
        size_t used = 0;
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_records_load(at.store, &wish, &records, &error);
        if (code == ST_OK) {
            const st_recorded *record = &records.items[0];
            st_experience_of of = {.family = "trial", .problem = "T=f32 n=64", .device = "x", .cc = 80, .sm_count = 1,
                                   .space = &record->space, .words = (char *const *const *)record->words};
            code = st_experience(&of, &records, expected, &used, &error);
        }
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        st_records_release(&records);
        assert_true(injected ? code == ST_NO_MEMORY || code == ST_OK : code == ST_OK);
        if (!injected) {
            st_store_close(at.store);
            return;
        }
    }
    fail_msg("the trial without a fault was never reached");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load), cmocka_unit_test(test_replay), cmocka_unit_test(test_experience),
        cmocka_unit_test(test_distance), cmocka_unit_test(test_no_memory),
    };
    st_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
