// SPDX-License-Identifier: Apache-2.0
// Pruning. Proven here: a plan changes nothing; what answers questions stays (winners, defaults, finalists,
// baselines, acknowledged and unfinished sessions, shipped ones, the newest of each device and problem); medians and
// the views that queries read stay as they were; pruning again removes nothing.
#include "tests/unit/db/fixture.h"

#include "db/inspect.h"
#include "db/prune.h"
#include "db/upkeep_internal.h"

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_fast_folder, remove_folder)

// A session of 6 candidates with 40 screen samples each; the first wins, the second is the default, the third was in
// the finals. `finished_ms` 0: it still runs.
static int64_t add_run(st_store *store, const char *family, const char *uuid, int64_t finished_ms)
{
    st_error error = {0};
    st_session_row session;
    int64_t problem = 0, candidates[6] = {0};
    double samples[40];
    assert_ok(add_session(store, family, uuid, "580", &session, &error), error);
    for (int i = 0; i < 6; i++) {
        char text[32];
        snprintf(text, sizeof text, "A=%d", i);
        assert_ok(add_candidate(store, &session, 1024, text, 50 + i, &problem, &candidates[i], &error), error);
        for (int k = 0; k < 40; k++)
            samples[k] = 50 + i + k / 8.0;
        st_measurement_row m = some_measurement(candidates[i], i == 2 ? "finals" : "halving", 0, "cold", samples, 40);
        assert_ok(st_store_measurement(store, &m, &error), error);
    }
    st_winner_row winner = some_winner(session.key, problem, candidates[0], 50);
    winner.default_key = candidates[1];
    assert_ok(st_store_winner(store, &winner, &error), error);
    if (finished_ms) {
        char sql[160];
        snprintf(sql, sizeof sql, "UPDATE session SET status = 'finished', finished_ms = %lld WHERE session_key = %lld",
                 (long long)finished_ms, (long long)session.key);
        assert_ok(st_script_run(store, sql, "t", &error), error);
    }
    return session.key;
}

static st_prune_report prune(st_store *store, int one_in, int64_t before_ms, bool really)
{
    st_error error = {0};
    st_prune_report report;
    const st_prune_options options = {one_in, before_ms};
    assert_ok(st_store_prune(store, &options, really, &report, &error), error);
    assert_int_equal(number(store, "SELECT count(*) FROM sqlite_temp_schema"), 0);
    return report;
}

static int64_t samples_of(st_store *store, int64_t session)
{
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT sum(length(samples)) / 8 FROM measurement JOIN candidate USING (candidate_key)"
                              " WHERE session_key = %lld", (long long)session);
    return number(store, sql);
}

enum { WHOLE = 6 * 43 };

static void a_plan_changes_nothing(void **state)
{
    (void)state;
    const char *path = in_folder("a.db");
    st_store *store = open_store(path, ST_STORE_WRITE);
    add_run(store, "reduce", "GPU-1", 1000000);
    add_run(store, "reduce", "GPU-1", 2000000);
    st_store_close(store);
    store = open_store(path, ST_STORE_READ); // a plan needs no more
    st_prune_report plan = prune(store, 10, 1500000, false);
    assert_int_equal(plan.candidates, 12);
    assert_int_equal(plan.kept, 9);
    assert_int_equal(plan.dropped, 3);
    assert_int_equal(plan.dropped_measurements, 6);
    assert_int_equal(plan.dropped_samples, 3 * 43);
    assert_int_equal(plan.dropped_counters, 6);
    assert_int_equal(plan.configurations, 0); // the newer session tried the same
    assert_int_equal(plan.samples, 0);
    assert_true(plan.bytes > 3 * 43 * 8);
    plan = prune(store, 10, -1, false);
    assert_int_equal(plan.thinned, 6); // 40 → 4 and 3 → 1
    assert_int_equal(plan.samples, 3 * (36 + 2));
    assert_int_equal(number(store, "SELECT count(*) FROM candidate"), 12);
    assert_int_equal(number(store, "SELECT count(samples_taken) FROM measurement"), 0);
    sqlite3_exec(store->db, "DELETE FROM counter", NULL, NULL, NULL); // still read-only
    assert_int_equal(number(store, "SELECT count(*) FROM counter"), 24);
    st_store_close(store);
}

static void thinning(void **state)
{
    (void)state;
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    int64_t old = add_run(store, "reduce", "GPU-1", 1000000), newest = add_run(store, "reduce", "GPU-1", 2000000);
    int64_t medians = number(store, "SELECT sum(median_ns * 1024) FROM simtune_results");
    st_prune_report done = prune(store, 10, -1, true);
    assert_int_equal(done.thinned, 6);
    assert_int_equal(samples_of(store, newest), WHOLE);
    assert_int_equal(samples_of(store, old), WHOLE - 3 * (36 + 2));
    assert_int_equal(number(store, "SELECT sum(median_ns * 1024) FROM simtune_results"), medians);
    assert_int_equal(number(store, "SELECT count(*) FROM measurement WHERE samples_taken = 40 AND length(samples) = 32"), 3);
    // Of 40 samples 50, 50.125 … those at 5, 15, 25 and 35 stay.
    sqlite3_stmt *statement;
    size_t count;
    sqlite3_prepare_v2(store->db, "SELECT samples FROM measurement WHERE samples_taken = 40 ORDER BY measurement_key",
                       -1, &statement, NULL);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    double *left = st_samples_decode(sqlite3_column_blob(statement, 0), 32, &count);
    for (int k = 0; k < 4; k++)
        assert_true(left[k] == 53 + (5 + 10 * k) / 8.0);
    st_free(left);
    sqlite3_finalize(statement);
    assert_int_equal(prune(store, 10, -1, true).thinned, 0); // not again
    assert_int_equal(prune(store, 5, -1, true).thinned, 0);  // and nothing comes back
    assert_int_equal(prune(store, 20, -1, true).samples, 3 * 2);
    assert_int_equal(prune(store, 1, -1, true).thinned, 0);
    assert_sound(store);
    st_store_close(store);
}

static void what_stays_whole(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    int64_t plain = add_run(store, "reduce", "GPU-1", 1000000), baseline = add_run(store, "reduce", "GPU-1", 1000001);
    int64_t against = add_run(store, "reduce", "GPU-1", 1000002), shipped = add_run(store, "reduce", "GPU-1", 1000003);
    int64_t looked_at = add_run(store, "reduce", "GPU-1", 1000004), running = add_run(store, "reduce", "GPU-1", 0);
    int64_t other_card = add_run(store, "reduce", "GPU-2", 1000005), newest = add_run(store, "reduce", "GPU-1", 2000000);
    char sql[600];
    snprintf(sql, sizeof sql,
             "INSERT INTO baseline VALUES (%lld, 1, NULL); UPDATE session SET shipped = 1 WHERE session_key = %lld;"
             "INSERT INTO acknowledgement VALUES (NULL, '0123456789abcdef0123456789abcdef', %lld, %lld, 1, 'cold', 'why',"
             " NULL, 1)", (long long)baseline, (long long)shipped, (long long)against, (long long)looked_at);
    assert_ok(st_script_run(store, sql, "t", &error), error);
    int64_t best = number(store, "SELECT count(*) || sum(median_ns) FROM simtune_best");
    st_prune_report done = prune(store, 10, 9000000, true);
    assert_int_equal(done.dropped, 3);
    const int64_t whole[] = {baseline, against, shipped, looked_at, running, other_card, newest};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        assert_int_equal(samples_of(store, whole[i]), WHOLE);
    assert_int_equal(samples_of(store, plain), WHOLE / 2); // winner, default, finalist
    assert_int_equal(number(store, "SELECT count(*) || sum(median_ns) FROM simtune_best"), best);
    assert_int_equal(number(store, "SELECT count(*) FROM winner"), 8);
    assert_int_equal(number(store, "SELECT count(*) FROM counter WHERE profile_key NOT IN (SELECT profile_key FROM profile)"), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM counter"), 2 * (8 * 6 - 3));
    assert_sound(store);
    st_store_close(store);
}

// Configurations that only old losers tried go with them, others stay.
static void unused_configurations(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    int64_t old = add_run(store, "reduce", "GPU-1", 1000000), problem, candidate;
    add_run(store, "reduce", "GPU-1", 2000000);
    st_session_row session = {.key = old, .family = "reduce"};
    assert_ok(add_candidate(store, &session, 1024, "A=77", 99, &problem, &candidate, &error), error);
    st_prune_report done = prune(store, 1, 1500000, true);
    assert_int_equal(done.dropped, 4);
    assert_int_equal(done.configurations, 1);
    assert_int_equal(number(store, "SELECT count(*) FROM configuration WHERE text = 'A=77'"), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM configuration"), 6);
    st_store_close(store);
}

// Whoever stands in the list of ties stays, also without a measurement of the finals.
static void ties_stay(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    add_run(store, "reduce", "GPU-1", 1000000);
    add_run(store, "reduce", "GPU-1", 2000000);
    assert_ok(st_script_run(store, "UPDATE winner SET ties = '[{\"configuration\":\"A=4\",\"tied\":true},\"odd\",7]'", "t",
                            &error), error);
    assert_int_equal(prune(store, 1, 1500000, true).dropped, 2);
    assert_int_equal(number(store, "SELECT count(*) FROM simtune_candidates WHERE configuration = 'A=4'"), 2);
    st_store_close(store);
}

static void faults_remove_nothing(void **state)
{
    (void)state;
    const st_fault kinds[] = {ST_FAULT_SQLITE, ST_FAULT_ALLOCATION};
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    add_run(store, "reduce", "GPU-1", 1000000);
    add_run(store, "reduce", "GPU-1", 2000000);
    int64_t samples = number(store, "SELECT sum(length(samples)) FROM measurement");
    const st_prune_options options = {10, -1};
    for (size_t k = 0; k < 2; k++)
        for (unsigned long n = 1;; n++) {
            st_error error = {0};
            st_prune_report report;
            st_fault_arm(kinds[k], n);
            st_code code = st_store_prune(store, &options, true, &report, &error);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            if (code == ST_OK)
                break;
            assert_true(injected && error.what[0]);
            assert_int_equal(number(store, "SELECT sum(length(samples)) FROM measurement"), samples);
            assert_int_equal(store->depth, 0);
            assert_true(n < 500);
        }
    assert_true(number(store, "SELECT sum(length(samples)) FROM measurement") < samples);
    st_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_plan_changes_nothing), IN_FOLDER(thinning),  IN_FOLDER(what_stays_whole),
        IN_FOLDER(unused_configurations),  IN_FOLDER(ties_stay), IN_FOLDER(faults_remove_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
