// SPDX-License-Identifier: Apache-2.0
// Comparisons: known better, same, worse and cannot tell are told as such; same distributions rarely are a change;
// what differs, what moved, what was lost and what was acknowledged is said; without memory nothing is said wrongly.
#include "tests/unit/db/fixture.h"

#include "reports/compare_internal.h"
#include "tests/unit/db/history_fixture.h"
#include "tuner/base/json.h"

static const char *const devices[] = {NULL, "GPU-second"};

// --- the rule ----------------------------------------------------------------------------------------------------------

static void the_rule_needs_both_interval_and_gap(void **state)
{
    (void)state;
    static const struct {
        st_interval ratio;
        double threshold;
        st_change expected;
    } cases[] = {
        {{1.03, 1.04, 1.05}, 0.02, ST_CHANGE_WORSE},   {{0.99, 1.04, 1.05}, 0.02, ST_CHANGE_UNKNOWN}, // holds 1
        {{1.001, 1.01, 1.018}, 0.02, ST_CHANGE_SAME},  {{1.001, 1.01, 1.03}, 0.02, ST_CHANGE_UNKNOWN}, // too small
        {{0.95, 0.96, 0.97}, 0.02, ST_CHANGE_BETTER},  {{0.95, 0.96, 1.01}, 0.02, ST_CHANGE_UNKNOWN},
        {{0.999, 1, 1.001}, 0.02, ST_CHANGE_SAME},     {{0.9, 1, 1.1}, 0.02, ST_CHANGE_UNKNOWN},
        {{1, 1, 1}, 0, ST_CHANGE_SAME},                {{1.02, 1.02, 1.02}, 0.02, ST_CHANGE_WORSE}, // the edge counts
        {{1 / 1.02, 1 / 1.02, 1 / 1.02}, 0.02, ST_CHANGE_BETTER},
        {{NAN, 1, 1}, 0.02, ST_CHANGE_UNKNOWN},        {{1, NAN, 1}, 0.02, ST_CHANGE_UNKNOWN},
        {{NAN, NAN, NAN}, 0.02, ST_CHANGE_UNKNOWN},    {{-1, 0, 1}, 0.02, ST_CHANGE_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (st_change_of(cases[i].ratio, cases[i].threshold) != cases[i].expected)
            fail_msg("case %zu: %s", i, st_change_name(st_change_of(cases[i].ratio, cases[i].threshold)));
}

static void exchanged_sides_give_the_opposite(void **state)
{
    (void)state;
    st_random random;
    st_random_seed(&random, 3);
    for (int i = 0; i < 10000; i++) {
        double centre = 0.9 + 0.2 * st_random_unit(&random), wide = 0.05 * st_random_unit(&random);
        st_interval one = {centre * (1 - wide), centre, centre * (1 + wide)};
        st_interval other = {1 / one.high, 1 / one.centre, 1 / one.low};
        st_change there = st_change_of(one, 0.0201), back = st_change_of(other, 0.0201);
        st_change expected = there == ST_CHANGE_WORSE    ? ST_CHANGE_BETTER
                             : there == ST_CHANGE_BETTER ? ST_CHANGE_WORSE
                                                         : there;
        assert_int_equal(back, expected);
    }
}

// --- constructed samples -----------------------------------------------------------------------------------------------

typedef struct made {
    st_store *store;
    char ids[8][ST_HASH_TEXT];
    int64_t keys[8];
    size_t count;
} made;

// A session with these problems. Returns its place.
static size_t add(made *to, history_session session, history_problem *problems, size_t count)
{
    st_error error = {0};
    session.ended_ms = 1780000000000 + (int64_t)to->count * 86400000;
    assert_ok(history_begin(to->store, &session, &error), error);
    for (size_t i = 0; i < count; i++)
        assert_ok(history_add(&session, &problems[i], &error), error);
    assert_ok(history_end(&session, &error), error);
    memcpy(to->ids[to->count], session.row.id, ST_HASH_TEXT);
    to->keys[to->count] = session.row.key;
    return to->count++;
}

static st_comparison compare_with(const made *to, size_t a, size_t b, const st_compare_rules *rules)
{
    st_error error = {0};
    st_comparison result;
    const st_compare_filter any = {.n = -1};
    st_comparison_init(&result, rules);
    assert_ok(st_comparison_add(&result, to->store, 0, ST_SIDE_SESSION, to->ids[a], &any, &error), error);
    assert_ok(st_comparison_add(&result, to->store, 1, ST_SIDE_SESSION, to->ids[b], &any, &error), error);
    assert_ok(st_comparison_judge(&result, to->store, &error), error);
    return result;
}

static st_comparison compare(const made *to, size_t a, size_t b)
{
    return compare_with(to, a, b, NULL);
}

static st_change verdict(double a, double scatter_a, double b, double scatter_b, int samples, uint64_t seed,
                         const char **reason)
{
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem before = {.n = 1024, .ns = a, .scatter = scatter_a, .samples = samples, .seed = seed};
    history_problem after = {.n = 1024, .ns = b, .scatter = scatter_b, .samples = samples, .seed = seed + 1000};
    add(&to, (history_session){0}, &before, 1);
    add(&to, (history_session){0}, &after, 1);
    st_comparison result = compare(&to, 0, 1);
    assert_int_equal(result.count, 1);
    st_change change = result.pairs[0].change;
    if (reason)
        *reason = result.pairs[0].reason;
    assert_int_equal(result.counts[change], 1);
    st_comparison_release(&result);
    st_store_close(to.store);
    return change;
}

static void known_changes_are_told(void **state)
{
    (void)state;
    const char *reason;
    assert_int_equal(verdict(100000, 0.01, 105000, 0.01, 60, 1, &reason), ST_CHANGE_WORSE);
    assert_string_equal(reason, "");
    assert_int_equal(verdict(105000, 0.01, 100000, 0.01, 60, 2, NULL), ST_CHANGE_BETTER);
    assert_int_equal(verdict(100000, 0.01, 100500, 0.01, 60, 3, NULL), ST_CHANGE_SAME); // half a percent is noise
    assert_int_equal(verdict(100000, 0.3, 105000, 0.3, 60, 4, &reason), ST_CHANGE_UNKNOWN);
    assert_string_equal(reason, "the samples scatter too much");
    assert_int_equal(verdict(100000, 0, 110000, 0, 5, 5, &reason), ST_CHANGE_UNKNOWN);
    assert_string_equal(reason, "there are fewer than 6 samples on a side");
    assert_int_equal(verdict(100000, 0, 110000, 0, 6, 6, NULL), ST_CHANGE_WORSE);
    assert_int_equal(verdict(100000, 0.002, 101900, 0.01, 60, 7, &reason), ST_CHANGE_UNKNOWN);
    assert_string_equal(reason, "the gap is too small for noise to be ruled out");
}

// Two runs of one thing, 400 times: the rule calls few of them a change, however wide the samples scatter.
static void same_distributions_are_rarely_a_change(void **state)
{
    (void)state;
    static const struct {
        double scatter;
        int samples, most; // of 400
    } cases[] = {{0.005, 60, 0}, {0.02, 60, 2}, {0.05, 60, 16}, {0.05, 12, 20}, {0.1, 300, 20}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        st_random random;
        st_random_seed(&random, 77 + c);
        int wrong = 0;
        for (int trial = 0; trial < 400; trial++) {
            double a[300], b[300];
            for (int i = 0; i < cases[c].samples; i++) {
                a[i] = 1e5 * (1 + cases[c].scatter * history_gauss(&random));
                b[i] = 1e5 * (1 + cases[c].scatter * history_gauss(&random));
            }
            size_t n = (size_t)cases[c].samples;
            st_change change = st_change_of(st_ratio_interval_unpaired(b, n, a, n), st_compare_usual_rules.between);
            wrong += change == ST_CHANGE_WORSE || change == ST_CHANGE_BETTER;
        }
        if (wrong > cases[c].most)
            fail_msg("scatter %g, %d samples: %d of 400 called a change", cases[c].scatter, cases[c].samples, wrong);
    }
}

// Real cold starts have two levels 10 % apart: what share of samples is on which differs from run to run.
static void two_levels_are_not_a_change(void **state)
{
    (void)state;
    st_random random;
    st_random_seed(&random, 11);
    int wrong = 0;
    for (int trial = 0; trial < 400; trial++) {
        double a[60], b[60];
        for (int i = 0; i < 60; i++) {
            a[i] = (st_random_unit(&random) < 0.5 ? 1e5 : 1.1e5) * (1 + 0.003 * history_gauss(&random));
            b[i] = (st_random_unit(&random) < 0.5 ? 1e5 : 1.1e5) * (1 + 0.003 * history_gauss(&random));
        }
        st_change change = st_change_of(st_ratio_interval_unpaired(b, 60, a, 60), st_compare_usual_rules.between);
        wrong += change == ST_CHANGE_WORSE || change == ST_CHANGE_BETTER;
    }
    assert_true(wrong <= 20);
}

static void ids_of(const made *to, const int64_t keys[2], char ids[2][ST_HASH_TEXT])
{
    for (int i = 0; i < 2; i++) {
        sqlite3_stmt *statement;
        sqlite3_prepare_v2(to->store->db, "SELECT candidate_id FROM candidate WHERE candidate_key = ?", -1, &statement,
                           NULL);
        sqlite3_bind_int64(statement, 1, keys[i]);
        sqlite3_step(statement);
        snprintf(ids[i], ST_HASH_TEXT, "%s", (const char *)sqlite3_column_text(statement, 0));
        sqlite3_finalize(statement);
    }
}

static st_comparison compare_candidates(const made *to, char ids[2][ST_HASH_TEXT])
{
    st_error error = {0};
    st_comparison result;
    const st_compare_filter any = {.n = -1};
    st_comparison_init(&result, NULL);
    for (int i = 0; i < 2; i++)
        assert_ok(st_comparison_add(&result, to->store, i, ST_SIDE_CANDIDATE, ids[i], &any, &error), error);
    assert_ok(st_comparison_judge(&result, to->store, &error), error);
    return result;
}

// A drift that both see cancels in pairs, and would hide the gap otherwise.
static void samples_by_turns_are_paired(void **state)
{
    (void)state;
    st_error error = {0};
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem problem = {.n = 1024, .ns = 100000, .scatter = 0, .seed = 1};
    add(&to, (history_session){0}, &problem, 1);
    double a[60], b[60];
    for (int i = 0; i < 60; i++) {
        a[i] = 100000 * (1 + 0.004 * i);
        b[i] = a[i] * 1.008;
    }
    int64_t standard = number(to.store, "SELECT default_key FROM winner");
    st_measurement_row row = some_measurement(problem.winner_key, "finals", 1, "cold", b, 60);
    assert_ok(st_store_measurement(to.store, &row, &error), error);
    row = some_measurement(standard, "finals", 1, "cold", a, 60);
    assert_ok(st_store_measurement(to.store, &row, &error), error);
    const int64_t keys[] = {standard, problem.winner_key};
    char ids[2][ST_HASH_TEXT];
    ids_of(&to, keys, ids);
    st_comparison result = compare_candidates(&to, ids);
    const st_compare_filter any = {.n = -1};
    assert_int_equal(result.count, 1);
    const st_compare_pair *pair = &result.pairs[0];
    assert_true(pair->paired && pair->threshold == st_compare_usual_rules.within);
    assert_int_equal(pair->change, ST_CHANGE_WORSE);
    assert_true(fabs(pair->ratio.low - 1.008) < 1e-9 || pair->ratio.low > 1);
    assert_int_equal(st_change_of(st_ratio_interval_unpaired(b, 60, a, 60), 0.005), ST_CHANGE_UNKNOWN);
    st_comparison_release(&result);
    // With itself it is the same, whatever the samples.
    st_comparison_init(&result, NULL);
    for (int i = 0; i < 2; i++)
        assert_ok(st_comparison_add(&result, to.store, i, ST_SIDE_CANDIDATE, ids[0], &any, &error), error);
    assert_ok(st_comparison_judge(&result, to.store, &error), error);
    assert_int_equal(result.pairs[0].change, ST_CHANGE_SAME);
    st_comparison_release(&result);
    st_store_close(to.store);
}

static void measured(const made *to, int64_t candidate, const char *phase, double ns, size_t count)
{
    st_error error = {0};
    double samples[60];
    for (size_t i = 0; i < count; i++)
        samples[i] = ns + (double)(i % 3);
    st_measurement_row row = some_measurement(candidate, phase, 0, "cold", samples, count);
    row.median_ns = ns + 1;
    assert_ok(st_store_measurement(to->store, &row, &error), error);
}

// The survivor takes longer in the finals than what was only screened took there; in the screen it was the faster.
static void phases_are_not_set_against_each_other(void **state)
{
    (void)state;
    st_error error = {0};
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem problem = {.n = 1024, .ns = 5400, .scatter = 0, .seed = 1};
    history_session session = {.ended_ms = 1780000000000};
    int64_t loser;
    assert_ok(history_begin(to.store, &session, &error), error);
    assert_ok(history_add(&session, &problem, &error), error);
    assert_ok(history_candidate(&session, number(to.store, "SELECT problem_key FROM problem"), "BLOCK=77", "correct",
                                &loser, &error), error);
    assert_ok(history_end(&session, &error), error);
    measured(&to, loser, "screen", 5200, 12);
    const int64_t keys[] = {problem.winner_key, loser};
    char ids[2][ST_HASH_TEXT];
    ids_of(&to, keys, ids);
    st_comparison result = compare_candidates(&to, ids);
    assert_int_equal(result.count, 1);
    assert_int_equal(result.pairs[0].change, ST_CHANGE_UNKNOWN); // not "better"
    assert_string_equal(result.pairs[0].reason, "they were never timed in the same phase, and phases are not alike");
    assert_true(isnan(result.pairs[0].ratio.centre));
    st_comparison_release(&result);
    measured(&to, problem.winner_key, "screen", 5000, 12);
    result = compare_candidates(&to, ids);
    assert_int_equal(result.pairs[0].change, ST_CHANGE_WORSE);
    assert_true(result.pairs[0].a_ns == 5001 && result.pairs[0].b_ns == 5201);
    st_comparison_release(&result);
    sqlite3_exec(to.store->db, "DELETE FROM measurement WHERE phase = 'screen'", NULL, NULL, NULL);
    measured(&to, loser, "screen", 5200, 4);
    measured(&to, problem.winner_key, "screen", 5000, 4);
    result = compare_candidates(&to, ids);
    assert_string_equal(result.pairs[0].reason, "there are fewer than 6 samples on a side");
    assert_true(result.pairs[0].ratio.centre > 1.03 && result.pairs[0].b_ns == 5201);
    st_comparison_release(&result);
    st_store_close(to.store);
}

static void ticks_raise_the_threshold_of_short_kernels(void **state)
{
    (void)state;
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem before[] = {{.n = 1024, .ns = 1600, .scatter = 0, .seed = 1},
                                {.n = 4096, .ns = 160000, .scatter = 0, .seed = 2}};
    history_problem after[] = {{.n = 1024, .ns = 1648, .scatter = 0, .seed = 3},
                               {.n = 4096, .ns = 164800, .scatter = 0, .seed = 4}};
    add(&to, (history_session){0}, before, 2);
    add(&to, (history_session){0}, after, 2);
    st_comparison result = compare(&to, 0, 1);
    assert_true(fabs(result.pairs[0].threshold - 0.04) < 1e-9); // two ticks of 32 ns
    assert_int_equal(result.pairs[0].change, ST_CHANGE_SAME);
    assert_true(result.pairs[1].threshold == 0.02);
    assert_int_equal(result.pairs[1].change, ST_CHANGE_WORSE);
    st_comparison_release(&result);
    const st_compare_rules own = {0.01, 0.01, 0}; // who sets a threshold gets that one
    result = compare_with(&to, 0, 1, &own);
    assert_int_equal(result.pairs[0].change, ST_CHANGE_WORSE);
    st_comparison_release(&result);
    st_store_close(to.store);
}

// --- matching ------------------------------------------------------------------------------------------------------------

static void what_one_side_has_is_listed_and_what_was_lost_is_worse(void **state)
{
    (void)state;
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem before[] = {{.n = 1024, .ns = 1000}, {.n = 2048, .ns = 2000}, {.n = 4096, .ns = 4000},
                                {.n = 1024, .ns = 900, .cache = "warm"}};
    history_problem after[] = {{.n = 1024, .ns = 1000}, {.n = 2048, .outcome = "wrong"}, {.n = 8192, .ns = 8000}};
    add(&to, (history_session){0}, before, 4);
    add(&to, (history_session){0}, after, 3);
    st_comparison result = compare(&to, 0, 1);
    assert_int_equal(result.count, 2);
    assert_int_equal(result.pairs[0].change, ST_CHANGE_SAME);
    assert_true(result.pairs[1].lost && !result.pairs[1].b && result.pairs[1].change == ST_CHANGE_WORSE);
    assert_int_equal(result.only_count[0], 2); // 4096 was not tried; the warm cache not measured, but valid
    assert_int_equal(result.only_count[1], 1);
    assert_int_equal(st_comparison_regressions(&result), 1);
    assert_int_equal(st_comparison_untold(&result), 2);
    st_comparison_release(&result);
    // The other way round nothing is lost.
    result = compare(&to, 1, 0);
    assert_int_equal(result.count, 1);
    st_comparison_release(&result);
    st_store_close(to.store);
}

static void drivers_are_compared_device_by_device(void **state)
{
    (void)state;
    st_error error = {0};
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    for (int d = 0; d < 2; d++)
        for (int v = 0; v < 2; v++) {
            history_problem problem = {.n = 1024, .ns = 1000 + 500 * d + 100 * v, .seed = 1};
            add(&to, (history_session){.driver = v ? "580" : "570", .uuid = devices[d]}, &problem, 1);
        }
    st_comparison result;
    const st_compare_filter any = {.n = -1};
    st_comparison_init(&result, NULL);
    assert_ok(st_comparison_add(&result, to.store, 0, ST_SIDE_DRIVER, "570", &any, &error), error);
    assert_ok(st_comparison_add(&result, to.store, 1, ST_SIDE_DRIVER, "580", &any, &error), error);
    assert_ok(st_comparison_judge(&result, to.store, &error), error);
    assert_int_equal(result.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(result.pairs[i].a->row.device_uuid, result.pairs[i].b->row.device_uuid);
        assert_int_equal(result.pairs[i].change, ST_CHANGE_WORSE);
        assert_int_equal(result.pairs[i].differs, ST_DIFFERS_DRIVER);
    }
    st_comparison_release(&result);
    // Sessions of two cards meet all the same, and it is said.
    result = compare(&to, 0, 2);
    assert_int_equal(result.count, 1);
    assert_int_equal(result.pairs[0].differs, ST_DIFFERS_DEVICE);
    st_comparison_release(&result);
    st_store_close(to.store);
}

static void what_differs_beside_is_found(void **state)
{
    (void)state;
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem one = {.n = 1024, .ns = 1000}, two = {.n = 1024, .ns = 1000, .clock = 1755};
    add(&to, (history_session){0}, &one, 1);
    add(&to, (history_session){.driver = "580", .compiler = "nvrtc 12.6", .tool = "0.2.0", .device = "NVIDIA A100", .uuid = "GPU-second",
                               .template_hash = "2222bbbb2222bbbb2222bbbb2222bbbb", .options = "{\"run_to_run\":false}"},
        &two, 1);
    sqlite3_exec(to.store->db, "UPDATE session SET status = 'interrupted' WHERE session_key = 1", NULL, NULL, NULL);
    st_comparison result = compare(&to, 0, 1);
    assert_int_equal(result.pairs[0].differs, (1u << ST_DIFFERS_KINDS) - 1);
    st_comparison_release(&result);
    for (unsigned bit = 1; bit < 1u << ST_DIFFERS_KINDS; bit <<= 1)
        assert_true(st_differs_name(bit)[0]);
    // Options that differ otherwise, or that are unknown, are no difference of the verification.
    sqlite3_exec(to.store->db, "UPDATE session SET options = '{\"seed\":7}' WHERE session_key = 2", NULL, NULL, NULL);
    result = compare(&to, 0, 1);
    assert_false(result.pairs[0].differs & ST_DIFFERS_VERIFICATION);
    st_comparison_release(&result);
    st_store_close(to.store);
}

// --- rows that the store does not have -----------------------------------------------------------------------------------

static void rows_of_a_header_alone_cannot_be_told(void **state)
{
    (void)state;
    st_error error = {0};
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem problem = {.n = 1024, .ns = 1000};
    add(&to, (history_session){0}, &problem, 1);
    for (int measured = 0; measured < 2; measured++) {
        st_comparison result;
        const st_compare_filter any = {.n = -1};
        st_compare_row row = {.problem_key = -1, .candidate_key = -1, .session_key = -1, .device_key = -1,
                              .default_configuration_key = -1, .family = "reduce", .problem = "T=f32 op=sum n=1024",
                              .type = "f32", .operation = "sum", .n = 1024, .cache = "cold",
                              .device_name = "NVIDIA H200", .backend = "cuda", .deterministic = -1,
                              .median_ns = measured ? 500 : NAN};
        st_comparison_init(&result, NULL);
        assert_ok(st_comparison_add_row(&result, 0, &row, &error), error);
        assert_ok(st_comparison_add(&result, to.store, 1, ST_SIDE_SESSION, to.ids[0], &any, &error), error);
        assert_ok(st_comparison_judge(&result, to.store, &error), error);
        assert_int_equal(result.count, 1);
        assert_int_equal(result.pairs[0].change, ST_CHANGE_UNKNOWN);
        assert_int_equal(result.pairs[0].differs, 0); // what a header does not say is no difference
        assert_string_equal(result.pairs[0].reason,
                            measured ? "A's samples are not in this store" : "A was never measured");
        assert_true(measured ? result.pairs[0].ratio.centre == 2 : isnan(result.pairs[0].ratio.centre));
        st_comparison_release(&result);
    }
    st_store_close(to.store);
}

static void times_of_wrong_candidates_mean_nothing(void **state)
{
    (void)state;
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem one = {.n = 1024, .ns = 1000}, two = {.n = 1024, .ns = 500};
    add(&to, (history_session){0}, &one, 1);
    add(&to, (history_session){0}, &two, 1);
    char sql[120];
    snprintf(sql, sizeof sql, "UPDATE candidate SET outcome = 'wrong' WHERE candidate_key = %lld",
             (long long)two.winner_key);
    sqlite3_exec(to.store->db, sql, NULL, NULL, NULL);
    st_comparison result = compare(&to, 0, 1);
    assert_int_equal(result.pairs[0].change, ST_CHANGE_UNKNOWN);
    assert_non_null(strstr(result.pairs[0].reason, "B's candidate is not correct"));
    st_comparison_release(&result);
    st_store_close(to.store);
}

// --- counters ------------------------------------------------------------------------------------------------------------

static void add_counters(st_store *store, int64_t candidate, const char *kind, const char *name, double value,
                         const char *other, double other_value)
{
    st_error error = {0};
    const char *const names[] = {name, other};
    const double values[] = {value, other_value};
    assert_ok(st_store_counters(store, candidate, kind, names, values, other ? 2 : 1, 0.1, &error), error);
}

static void counters_that_moved_come_largest_first(void **state)
{
    (void)state;
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem one = {.n = 1024, .ns = 1000, .long_scoreboard = 0.5, .barrier = 0.05, .dram = 0.9},
                    two = {.n = 1024, .ns = 1500, .long_scoreboard = 0.2, .barrier = 0.06, .dram = 0.6};
    add(&to, (history_session){0}, &one, 1);
    add(&to, (history_session){0}, &two, 1);
    // Seen on one side's samples only: 0 on the other.
    add_counters(to.store, two.winner_key, "pc", "stall.membar", 0.3, "stall_samples", 9999);
    st_comparison result = compare(&to, 0, 1);
    const st_compare_pair *pair = &result.pairs[0];
    assert_int_equal(pair->moved_count, 3); // the barrier's point is too little, instructions are as before
    assert_string_equal(pair->moved[0].name, "stall.long_scoreboard");
    assert_string_equal(pair->moved[1].name, "stall.membar");
    assert_true(pair->moved[1].a == 0 && pair->moved[1].b == 0.3);
    assert_string_equal(pair->moved[2].name, "dram_throughput");
    st_text words;
    st_text_init(&words);
    st_compare_add_moved(&pair->moved[0], &words);
    st_text_add(&words, "; ");
    st_compare_add_moved(&pair->moved[2], &words);
    assert_string_equal(st_text_string(&words), "long_scoreboard 50 % → 20 % of samples; dram_throughput 90.0 % → 60.0 %");
    st_text_release(&words);
    st_comparison_release(&result);
    st_store_close(to.store);
}

// Without samples the exact ratios count, as shares of their sum.
static void exact_stalls_are_shares_of_latency(void **state)
{
    (void)state;
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem one = {.n = 1024, .ns = 1000}, two = {.n = 1024, .ns = 1500};
    add(&to, (history_session){0}, &one, 1);
    add(&to, (history_session){0}, &two, 1);
    add_counters(to.store, one.winner_key, "range", "stall.wait", 2, "stall.barrier", 2);
    add_counters(to.store, two.winner_key, "range", "stall.wait", 2, "stall.barrier", 6);
    st_comparison result = compare(&to, 0, 1);
    const st_compare_pair *pair = &result.pairs[0];
    assert_int_equal(pair->moved_count, 2);
    assert_string_equal(pair->moved[0].name, "stall.barrier");
    assert_true(pair->moved[0].a == 0.5 && pair->moved[0].b == 0.75);
    assert_string_equal(compare_moved_of(&pair->moved[0]), "warp_latency");
    st_comparison_release(&result);
    st_store_close(to.store);
}

// --- acknowledgements ------------------------------------------------------------------------------------------------------

static void say(const made *to, size_t baseline, size_t session, int64_t n, const char *reason, int64_t when)
{
    st_error error = {0};
    char sql[80];
    snprintf(sql, sizeof sql, "SELECT problem_key FROM problem WHERE n = %lld", (long long)n);
    st_acknowledgement row = {.baseline_key = to->keys[baseline], .session_key = to->keys[session],
                              .problem_key = number(to->store, sql), .cache = "cold", .reason = reason,
                              .acknowledged_ms = when};
    assert_ok(st_store_acknowledge(to->store, &row, &error), error);
}

static st_comparison against(const made *to, size_t baseline, size_t session)
{
    st_error error = {0};
    st_comparison result;
    const st_compare_filter any = {.n = -1};
    st_comparison_init(&result, NULL);
    result.against_baseline = true;
    assert_ok(st_comparison_add(&result, to->store, 0, ST_SIDE_SESSION, to->ids[baseline], &any, &error), error);
    assert_ok(st_comparison_add(&result, to->store, 1, ST_SIDE_SESSION, to->ids[session], &any, &error), error);
    assert_ok(st_comparison_judge(&result, to->store, &error), error);
    assert_ok(st_comparison_acknowledged(&result, to->store, &error), error);
    return result;
}

static void an_acknowledged_change_fails_again_only_when_it_gets_worse(void **state)
{
    (void)state;
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    const double times[] = {100000, 110000, 110500, 120000};
    for (int i = 0; i < 4; i++) {
        history_problem problem = {.n = 1024, .ns = times[i], .scatter = 0.003, .seed = (uint64_t)i + 1};
        add(&to, (history_session){0}, &problem, 1);
    }
    st_comparison result = against(&to, 0, 1);
    assert_int_equal(st_comparison_regressions(&result), 1);
    assert_null(result.pairs[0].note);
    st_comparison_release(&result);
    say(&to, 0, 1, 1024, "it is safer", 1000);
    static const size_t expected[] = {0, 0, 1}; // itself, as slow, slower
    for (size_t i = 0; i < 3; i++) {
        result = against(&to, 0, i + 1);
        assert_int_equal(st_comparison_regressions(&result), expected[i]);
        assert_int_equal(result.acknowledged, !expected[i]);
        assert_non_null(result.pairs[0].note);
        assert_string_equal(result.pairs[0].note->reason, "it is safer");
        assert_int_equal(result.pairs[0].note->surpassed, expected[i]);
        st_comparison_release(&result);
    }
    // The newest acknowledgement counts; one of another baseline never does.
    say(&to, 0, 3, 1024, "even safer", 2000);
    result = against(&to, 0, 3);
    assert_int_equal(st_comparison_regressions(&result), 0);
    assert_string_equal(result.pairs[0].note->reason, "even safer");
    st_comparison_release(&result);
    result = against(&to, 1, 3);
    assert_int_equal(st_comparison_regressions(&result), 1);
    st_comparison_release(&result);
    st_store_close(to.store);
}

static void a_loss_can_be_acknowledged_and_a_new_loss_cannot_hide_behind_a_change(void **state)
{
    (void)state;
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem good = {.n = 1024, .ns = 100000, .seed = 1}, slow = {.n = 1024, .ns = 120000, .seed = 2},
                    lost = {.n = 1024, .outcome = "crash"}, again = {.n = 1024, .outcome = "crash"};
    add(&to, (history_session){0}, &good, 1);
    add(&to, (history_session){0}, &slow, 1);
    add(&to, (history_session){0}, &lost, 1);
    add(&to, (history_session){0}, &again, 1);
    say(&to, 0, 1, 1024, "slower is fine", 1000);
    st_comparison result = against(&to, 0, 2);
    assert_int_equal(st_comparison_regressions(&result), 1);
    assert_true(result.pairs[0].note && result.pairs[0].note->surpassed);
    st_comparison_release(&result);
    say(&to, 0, 2, 1024, "known to crash", 2000);
    for (size_t i = 2; i < 4; i++) {
        result = against(&to, 0, i);
        assert_int_equal(st_comparison_regressions(&result), 0);
        st_comparison_release(&result);
    }
    st_store_close(to.store);
}

// --- printing ------------------------------------------------------------------------------------------------------------

static made printed_store(void)
{
    made to = {.store = open_store(":memory:", ST_STORE_WRITE)};
    history_problem before[] = {{.n = 1024, .ns = 100000, .scatter = 0.003, .long_scoreboard = 0.5, .barrier = 0.1,
                                 .dram = 0.9, .seed = 1}, {.n = 2048, .ns = 2000, .seed = 2}, {.n = 4096, .ns = 4000}};
    history_problem after[] = {{.n = 1024, .ns = 120000, .scatter = 0.003, .long_scoreboard = 0.3, .barrier = 0.3,
                                .dram = 0.7, .seed = 3, .configuration = "BLOCK=64 NAME=a|b"},
                               {.n = 2048, .outcome = "wrong"}, {.n = 8192, .ns = 8000}};
    add(&to, (history_session){0}, before, 3);
    add(&to, (history_session){.driver = "580.65.06"}, after, 3);
    say(&to, 0, 1, 1024, "a | b\nc", 1000);
    return to;
}

static void every_form_says_the_same(void **state)
{
    (void)state;
    st_error error = {0};
    made to = printed_store();
    st_comparison result = against(&to, 0, 1);
    st_text text, markdown, json;
    st_text_init(&text);
    st_text_init(&markdown);
    st_text_init(&json);
    const st_compare_print print = {.width = 90, .colour = true};
    st_comparison_text(&result, &print, &text);
    st_comparison_markdown(&result, &markdown);
    assert_ok(st_comparison_json(&result, &json, &error), error);
    assert_non_null(strstr(text.data, "2 compared: 0 better, 0 same, 2 worse, 0 cannot tell; 1 acknowledged; 1 only in "
                                      "the baseline; 1 only in the new session"));
    assert_non_null(strstr(text.data, "differ in driver: 570.124.06 | 580.65.06"));
    assert_non_null(strstr(text.data, "\033[31m"));
    assert_non_null(strstr(text.data, "nothing valid any more"));
    assert_non_null(strstr(markdown.data, "2 compared: 0 better, 0 same, 2 worse"));
    assert_non_null(strstr(markdown.data, "a \\| b c")); // nothing of another's text breaks the table
    assert_non_null(strstr(markdown.data, "NAME=a\\|b"));
    json_t *whole = NULL;
    assert_ok(st_json_parse(json.data, json.length, "json", &whole, &error), error);
    assert_int_equal(json_array_size(json_object_get(whole, "problems")), 2);
    const json_t *first = json_array_get(json_object_get(whole, "problems"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "verdict")), "worse");
    assert_string_equal(json_string_value(json_object_get(json_object_get(first, "acknowledged"), "reason")), "a | b\nc");
    json_decref(whole);
    // No colour, no escape.
    st_text_clear(&text);
    st_comparison_text(&result, &(st_compare_print){0}, &text);
    assert_null(strchr(text.data, '\033'));
    st_text_release(&json);
    st_text_release(&markdown);
    st_text_release(&text);
    st_comparison_release(&result);
    st_store_close(to.store);
}

static st_code whole_way(const made *to, st_text *out, st_error *error)
{
    st_comparison result;
    const st_compare_filter any = {.n = -1};
    unsigned long failed = st_allocations_failed();
    st_comparison_init(&result, NULL);
    result.against_baseline = true;
    st_code code = st_comparison_label(&result, 1, "new", error);
    if (code == ST_OK)
        code = st_comparison_add(&result, to->store, 0, ST_SIDE_SESSION, to->ids[0], &any, error);
    if (code == ST_OK)
        code = st_comparison_add(&result, to->store, 1, ST_SIDE_SESSION, to->ids[1], &any, error);
    if (code == ST_OK)
        code = st_comparison_judge(&result, to->store, error);
    if (code == ST_OK)
        code = st_comparison_acknowledged(&result, to->store, error);
    if (code == ST_OK)
        code = st_comparison_json(&result, out, error);
    if (code == ST_OK)
        st_comparison_text(&result, &(st_compare_print){0}, out);
    if (code == ST_OK)
        st_comparison_markdown(&result, out);
    st_comparison_release(&result);
    if (code == ST_OK && st_allocations_failed() != failed) // as main looks at it
        code = st_fail_memory(error, "printing");
    return code;
}

static void inject(st_fault kind, unsigned long least)
{
    made to = printed_store();
    st_text expected, got;
    st_error error = {0};
    st_text_init(&expected);
    st_text_init(&got);
    assert_ok(whole_way(&to, &expected, &error), error);
    for (unsigned long n = 1;; n++) {
        st_text_clear(&got);
        got.failed = false;
        error = (st_error){0};
        st_fault_arm(kind, n);
        st_code code = whole_way(&to, &got, &error);
        bool hit = st_fault_injected(kind);
        st_fault_arm(kind, 0);
        if (code == ST_OK)
            assert_string_equal(st_text_string(&got), st_text_string(&expected));
        else
            assert_true(hit && error.what[0]);
        if (!hit) {
            assert_true(n > least);
            break;
        }
    }
    st_text_release(&got);
    st_text_release(&expected);
    st_store_close(to.store);
}

static void faults_never_change_a_verdict(void **state)
{
    (void)state;
    // jansson's own: see tests/unit/db/test_faults.c. It is only written with here, and options are short.
    inject(ST_FAULT_ALLOCATION, 60);
    inject(ST_FAULT_SQLITE, 20);
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_needs_both_interval_and_gap),
        cmocka_unit_test(exchanged_sides_give_the_opposite),
        cmocka_unit_test(known_changes_are_told),
        cmocka_unit_test(same_distributions_are_rarely_a_change),
        cmocka_unit_test(two_levels_are_not_a_change),
        cmocka_unit_test(samples_by_turns_are_paired),
        cmocka_unit_test(phases_are_not_set_against_each_other),
        cmocka_unit_test(ticks_raise_the_threshold_of_short_kernels),
        cmocka_unit_test(what_one_side_has_is_listed_and_what_was_lost_is_worse),
        cmocka_unit_test(drivers_are_compared_device_by_device),
        cmocka_unit_test(what_differs_beside_is_found),
        cmocka_unit_test(rows_of_a_header_alone_cannot_be_told),
        cmocka_unit_test(times_of_wrong_candidates_mean_nothing),
        cmocka_unit_test(counters_that_moved_come_largest_first),
        cmocka_unit_test(exact_stalls_are_shares_of_latency),
        cmocka_unit_test(an_acknowledged_change_fails_again_only_when_it_gets_worse),
        cmocka_unit_test(a_loss_can_be_acknowledged_and_a_new_loss_cannot_hide_behind_a_change),
        cmocka_unit_test(every_form_says_the_same),
        cmocka_unit_test(faults_never_change_a_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
