// SPDX-License-Identifier: Apache-2.0
// What a store with a million candidates rests on: questions about one candidate search by keys, counters of one metric
// lie side by side, "the newest" and "the one that stands" are found without sorting for each row, deleting a row never
// reads a large table from end to end. (Plans of `simtune query` are in test_query.c. Figures: tests/bench/store_bench.c.)
#include "fixture.h"

#include "db/generate.h"

static st_store *generated(const char *name, int64_t candidates)
{
    st_error error = {0};
    st_generated made;
    st_generate_options options = {.candidates = candidates, .samples = 2, .seed = 5};
    assert_ok(st_store_generate(in_folder(name), &options, &made, &error), error);
    return open_store(in_folder(name), ST_STORE_WRITE);
}

static void plan_of(st_store *store, const char *sql, st_text *out)
{
    st_text text;
    sqlite3_stmt *statement;
    st_text_init(&text);
    st_text_addf(&text, "EXPLAIN QUERY PLAN %s", sql);
    st_text_clear(out);
    if (sqlite3_prepare_v2(store->db, text.data, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(store->db));
    while (sqlite3_step(statement) == SQLITE_ROW)
        st_text_addf(out, "%s\n", (const char *)sqlite3_column_text(statement, 3));
    sqlite3_finalize(statement);
    st_text_release(&text);
}

// Fails when the plan reads candidate, measurement, profile or counter (by their aliases) from end to end.
static void assert_searches(st_store *store, const char *sql)
{
    static const char *const grown[] = {"SCAN c\n",         "SCAN m\n",           "SCAN y\n",       "SCAN z\n",
                                        "SCAN v\n",         "SCAN f\n",           "SCAN candidate\n",
                                        "SCAN measurement\n", "SCAN counter\n",   "SCAN profile\n", "SCAN c ",
                                        "SCAN m ",          "SCAN y ",            "SCAN v ",        "SCAN f "};
    st_text plan;
    st_text_init(&plan);
    plan_of(store, sql, &plan);
    for (size_t i = 0; i < sizeof grown / sizeof *grown; i++)
        if (strstr(plan.data, grown[i]))
            fail_msg("%s in the plan of %s:\n%s", grown[i], sql, plan.data);
    st_text_release(&plan);
}

static void one_candidate_is_found_by_keys(void **state)
{
    (void)state;
    const char *const questions[] = {
        st_answer_of_sql,
        st_query_scale_sql,
        st_candidates_of_session_sql,
        st_measurements_of_sql,
        st_counters_of_sql,
        "SELECT * FROM simtune_counters WHERE candidate_key = 1",
        "SELECT * FROM simtune_counters WHERE candidate_key = 1 AND name = 'stall.wait'",
        "SELECT * FROM simtune_counters WHERE candidate_id = 'abc'",
        "SELECT * FROM simtune_candidates WHERE candidate_id = 'abc'",
        "SELECT * FROM simtune_results WHERE candidate_key = 1",
        "SELECT * FROM simtune_measurements WHERE candidate_key = 1",
        "SELECT * FROM simtune_winners WHERE family = 'reduce' AND n = 1048576",
        "SELECT * FROM simtune_winners WHERE session_id = 'abc'",
        "SELECT * FROM simtune_best",
        "SELECT * FROM simtune_best WHERE family = 'reduce'",
        "SELECT * FROM simtune_results WHERE family = 'reduce' AND type = 'f32' AND n = 1048576",
        "SELECT * FROM simtune_results WHERE session_id = 'abc'",
        "SELECT * FROM simtune_baselines",
        "SELECT * FROM simtune_acknowledgements",
        // How counters are joined to what was found.
        "SELECT r.median_ns, k.value FROM simtune_results r JOIN simtune_counters k ON k.candidate_key ="
        " r.candidate_key AND k.name = 'stall.wait' WHERE r.family = 'reduce' AND r.n = 1048576",
    };
    st_store *store = generated("keys.db", 2000);
    for (int analyzed = 0; analyzed < 2; analyzed++) {
        assert_int_equal(st_query_functions(store, NULL), ST_OK);
        for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
            assert_searches(store, questions[i]);
        assert_int_equal(sqlite3_exec(store->db, "ANALYZE", NULL, NULL, NULL), SQLITE_OK);
        st_store_close(store);
        store = open_store(in_folder("keys.db"), ST_STORE_WRITE);
    }
    st_store_close(store);
}

static void a_metric_is_one_range_of_rows(void **state)
{
    (void)state;
    st_text plan;
    st_text_init(&plan);
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    plan_of(store, "SELECT profile_key FROM counter WHERE metric_key = 3 AND value > 0.5", &plan);
    assert_string_equal(plan.data, "SEARCH counter USING PRIMARY KEY (metric_key=?)\n");
    plan_of(store, "SELECT value FROM counter WHERE metric_key = 3 AND profile_key = 7", &plan);
    assert_string_equal(plan.data, "SEARCH counter USING PRIMARY KEY (metric_key=? AND profile_key=?)\n");
    st_text_release(&plan);
    st_store_close(store);
}

static void the_standing_measurement_is_found_without_sorting(void **state)
{
    (void)state;
    st_text plan;
    st_text_init(&plan);
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    static const char *const questions[] = {"SELECT * FROM simtune_results", "SELECT * FROM simtune_winners"};
    for (size_t i = 0; i < 2; i++) {
        plan_of(store, questions[i], &plan);
        assert_non_null(strstr(plan.data, "measurement_standing (candidate_key=? AND cache=?)"));
        if (strstr(plan.data, "TEMP B-TREE"))
            fail_msg("%s", plan.data);
    }
    st_text_release(&plan);
    st_store_close(store);
}

// Every column that refers to another table is the first of an index, or else deleting there would read this table
// once for each row.
static void references_can_be_followed_backwards(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    sqlite3_stmt *bare;
    assert_int_equal(
        sqlite3_prepare_v2(store->db,
                           "SELECT t.name || '.' || f.\"from\" FROM pragma_table_list t,"
                           " pragma_foreign_key_list(t.name) f WHERE t.schema = 'main' AND NOT EXISTS (SELECT 1 FROM"
                           "  pragma_index_list(t.name) i, pragma_index_info(i.name) c WHERE c.seqno = 0 AND"
                           "  c.name = f.\"from\" AND NOT i.partial) AND NOT EXISTS (SELECT 1 FROM pragma_table_info("
                           "  t.name) k WHERE k.pk = 1 AND k.name = f.\"from\") ORDER BY 1",
                           -1, &bare, NULL),
        SQLITE_OK);
    // A session is one row of some thousand.
    static const char *const small[] = {"session.template_key", "session.toolchain_key"};
    size_t count = 0;
    for (; sqlite3_step(bare) == SQLITE_ROW; count++) {
        const char *column = (const char *)sqlite3_column_text(bare, 0);
        if (count >= 2 || strcmp(column, small[count]) != 0)
            fail_msg("%s has no index", column);
    }
    assert_int_equal(count, 2);
    sqlite3_finalize(bare);
    st_store_close(store);
}

// Steps of SQLite's machine for a statement, triggers and references included.
static int steps_of(st_store *store, const char *sql)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(store->db));
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
        ;
    if (rc != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(store->db));
    int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    sqlite3_finalize(statement);
    return steps;
}

// The first correct candidate that no winner refers to.
static int steps_of_deleting(st_store *store, const char *table)
{
    static const char loser[] = "SELECT min(candidate_key) FROM candidate WHERE outcome = 'correct'"
                                " AND candidate_key NOT IN (SELECT winner_key FROM winner)"
                                " AND candidate_key NOT IN (SELECT default_key FROM winner)";
    char sql[120];
    snprintf(sql, sizeof sql, "DELETE FROM %s WHERE candidate_key = %lld", table, (long long)number(store, loser));
    return steps_of(store, sql);
}

static void deleting_a_candidate_does_not_grow_with_the_store(void **state)
{
    (void)state;
    static const char *const tables[] = {"profile", "measurement", "stall_lines", "candidate"};
    st_store *small = generated("small.db", 500), *large = generated("large.db", 8000);
    int64_t counters = number(small, "SELECT count(*) FROM counter");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        int few = steps_of_deleting(small, tables[i]), many = steps_of_deleting(large, tables[i]);
        if (many > 2 * few + 100)
            fail_msg("%s: %d steps among 500 candidates, %d among 8000", tables[i], few, many);
    }
    assert_int_equal(number(small, "SELECT count(*) FROM counter"), counters - 40);
    assert_sound(small);
    assert_int_equal(number(small, "SELECT count(*) FROM counter WHERE profile_key NOT IN"
                                   " (SELECT profile_key FROM profile)"),
                     0);
    st_store_close(small);
    st_store_close(large);
}

static void a_counter_needs_its_profile(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    assert_int_equal(sqlite3_exec(store->db, "INSERT INTO metric (name) VALUES ('x')", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(store->db, "INSERT INTO counter VALUES (1, 77, 0.5)", NULL, NULL, NULL) & 0xff,
                     SQLITE_CONSTRAINT);
    assert_non_null(strstr(sqlite3_errmsg(store->db), "a profile that is not there"));
    st_store_close(store);
}

// As test_query.c does for the command line: the view, too, must not look through each row's rivals.
static int steps_of_best(int sessions)
{
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    assert_ok(st_store_begin(store, &error), error);
    for (int i = 0; i < sessions; i++) {
        st_session_row session;
        int64_t problem, candidate;
        assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
        assert_ok(add_candidate(store, &session, 1024, "BLOCK=1", 10, &problem, &candidate, &error), error);
        st_winner_row winner = some_winner(session.key, problem, candidate, 10);
        assert_ok(st_store_winner(store, &winner, &error), error);
        assert_ok(st_store_session_end(store, session.key, ST_SESSION_FINISHED, NULL, &error), error);
    }
    assert_ok(st_store_commit(store, &error), error);
    assert_int_equal(number(store, "SELECT count(*) FROM simtune_best"), 1);
    int steps = steps_of(store, "SELECT * FROM simtune_best");
    st_store_close(store);
    return steps;
}

static void the_view_of_the_best_does_not_grow_with_the_square(void **state)
{
    (void)state;
    int few = steps_of_best(40), many = steps_of_best(320);
    assert_true(few > 40);
    if (many > 12 * few)
        fail_msg("%d steps for 40 sessions, %d for 320", few, many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_candidate_is_found_by_keys),
        cmocka_unit_test(a_metric_is_one_range_of_rows),
        cmocka_unit_test(the_standing_measurement_is_found_without_sorting),
        cmocka_unit_test(references_can_be_followed_backwards),
        cmocka_unit_test(deleting_a_candidate_does_not_grow_with_the_store),
        cmocka_unit_test(a_counter_needs_its_profile),
        cmocka_unit_test(the_view_of_the_best_does_not_grow_with_the_square),
    };
    return cmocka_run_group_tests(tests, make_fast_folder, remove_folder);
}
