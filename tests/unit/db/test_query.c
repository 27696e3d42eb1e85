// SPDX-License-Identifier: Apache-2.0
// Asking the store: what `best` picks, what each filter does, the order of answers, ids by prefix, that the
// views tell sqlite3 and Python users the same, and that no main question scans the tables that grow with
// every run (candidate, measurement, counter).
#include "fixture.h"

typedef struct seen {
    size_t count;
    char lines[64][160]; // "configuration cache driver median"
    st_answer last;      // numbers only: its texts are gone
    char candidate[64][ST_HASH_TEXT];
} seen;

static st_code see(void *context, const st_answer *answer, st_error *error)
{
    (void)error;
    seen *all = context;
    assert_true(all->count < 64);
    snprintf(all->lines[all->count], sizeof all->lines[0], "%s %s %s %s %g", answer->problem,
             answer->configuration, answer->cache, answer->driver, answer->median_ns);
    snprintf(all->candidate[all->count], ST_HASH_TEXT, "%s", answer->candidate_id);
    all->last = *answer;
    all->count++;
    return ST_OK;
}

static st_query everything(void)
{
    return (st_query){.cc = -1, .sm_count = -1, .n = -1, .since_ms = -1};
}

static seen ask(st_store *store, st_query query)
{
    st_error error = {0};
    seen all = {0};
    assert_ok(st_store_query(store, &query, see, &all, &error), error);
    return all;
}

// A session with one problem and one winner, ended at a given time.
static st_session_row add_run(st_store *store, const char *family, const char *uuid,
                              const char *driver, int64_t n, const char *configuration, double ns,
                              int64_t finished_ms, const char *status)
{
    st_error error = {0};
    st_session_row session;
    int64_t problem, candidate;
    char sql[200];
    assert_ok(add_session(store, family, uuid, driver, &session, &error), error);
    assert_ok(add_candidate(store, &session, n, configuration, ns, &problem, &candidate, &error),
              error);
    st_winner_row winner = some_winner(session.key, problem, candidate, ns);
    assert_ok(st_store_winner(store, &winner, &error), error);
    if (strcmp(status, "running") != 0) {
        snprintf(sql, sizeof sql,
                 "UPDATE session SET status = '%s', finished_ms = %lld WHERE session_key = %lld",
                 status, (long long)finished_ms, (long long)session.key);
        assert_int_equal(sqlite3_exec(store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    return session;
}

static void best_is_the_newest_ended_session_with_a_winner(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add_run(store, "reduce", "GPU-1", "570", 1024, "BLOCK=1", 10, 1000, "finished");
    add_run(store, "reduce", "GPU-1", "570", 1024, "BLOCK=2", 20, 2000,
            "finished");                                                           // newer, slower
    add_run(store, "reduce", "GPU-1", "570", 1024, "BLOCK=3", 1, 3000, "running"); // not ended
    add_run(store, "reduce", "GPU-1", "580", 1024, "BLOCK=4", 9, 2500, "interrupted");
    add_run(store, "reduce", "GPU-2", "570", 1024, "BLOCK=5", 8, 500, "finished");
    st_session_row empty; // newest of all, but without a winner
    assert_ok(add_session(store, "reduce", "GPU-1", "570", &empty, &error), error);
    assert_ok(st_store_session_end(store, empty.key, ST_SESSION_FINISHED, NULL, &error), error);

    st_query query = everything();
    query.best = true;
    seen all = ask(store, query);
    assert_int_equal(all.count, 3);
    assert_string_equal(all.lines[0],
                        "T=f32 op=sum n=1024 BLOCK=4 cold 580 9"); // newest toolchain first
    assert_string_equal(all.lines[1], "T=f32 op=sum n=1024 BLOCK=2 cold 570 20");
    assert_string_equal(all.lines[2], "T=f32 op=sum n=1024 BLOCK=5 cold 570 8");
    assert_true(all.last.is_winner && all.last.is_default && !all.last.shipped);
    assert_true(all.last.speedup == 2.0 && all.last.speedup_low == 1.9 && all.last.bytes == 4096.0);
    assert_int_equal(all.last.tied, 1);
    assert_int_equal(all.last.registers, 32);
    assert_int_equal(all.last.deterministic, -1);
    assert_int_equal(all.last.sample_count, 3);
    assert_int_equal(all.last.driver_cuda, 13000);
    assert_int_equal(number(store, "SELECT count(*) FROM simtune_best"), 3);
    st_store_close(store);
}

static void best_looks_among_what_is_asked_for(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row old =
        add_run(store, "reduce", "GPU-1", "570", 8, "BLOCK=1", 10, 1000, "finished");
    st_session_row new =
        add_run(store, "reduce", "GPU-1", "570", 8, "BLOCK=2", 20, 2000, "finished");
    char sql[100];
    snprintf(sql, sizeof sql, "UPDATE session SET shipped = 1 WHERE session_key = %lld",
             (long long)new.key);
    sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    st_query query = everything();
    query.best = true;
    assert_string_equal(ask(store, query).lines[0], "T=f32 op=sum n=8 BLOCK=2 cold 570 20");
    query.own = true;
    assert_string_equal(ask(store, query).lines[0], "T=f32 op=sum n=8 BLOCK=1 cold 570 10");
    query.shipped = true; // both: as none
    assert_int_equal(ask(store, query).count, 1);
    query.own = false;
    assert_true(ask(store, query).last.shipped);
    query.shipped = false;
    query.session = old.id;
    assert_string_equal(ask(store, query).lines[0], "T=f32 op=sum n=8 BLOCK=1 cold 570 10");
    st_store_close(store);
}

static void filters_each_leave_out_the_rest(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add_run(store, "reduce", "GPU-aaaa", "570", 8, "BLOCK=1", 30, 1000, "finished");
    add_run(store, "reduce", "GPU-aaaa", "570", 4096, "BLOCK=2", 20, 1000, "finished");
    add_run(store, "scan", "GPU-bbbb", "570", 8, "BLOCK=3", 10, 1000, "finished");
    int64_t candidate = number(store, "SELECT max(candidate_key) FROM candidate");
    const double samples[] = {7};
    st_measurement_row warm = some_measurement(candidate, "screen", 5, "warm", samples, 1);
    assert_ok(st_store_measurement(store, &warm, &error), error);
    int64_t key;
    st_device_row small = {.uuid = "GPU-cccc",
                           .name = "RTX A4000",
                           .backend = "cuda",
                           .cc = 86,
                           .sm_count = 48,
                           .memory_bytes = -1,
                           .l2_bytes = -1,
                           .read_gbs = NAN,
                           .copy_gbs = NAN};
    assert_ok(st_store_device(store, &small, &key, &error), error);
    char sql[100];
    snprintf(sql, sizeof sql, "UPDATE session SET device_key = %lld WHERE family = 'scan'",
             (long long)key);
    sqlite3_exec(store->db, sql, NULL, NULL, NULL);

    st_query query = everything();
    assert_int_equal(ask(store, query).count, 4); // one a candidate and state of the cache
    query.limit = 2;
    assert_int_equal(ask(store, query).count, 2);
    query = everything();
    query.family = "reduce";
    assert_int_equal(ask(store, query).count, 2);
    query.family = "sort";
    assert_int_equal(ask(store, query).count, 0);
    query = everything();
    query.device = "h200"; // of the name, whatever its case
    assert_int_equal(ask(store, query).count, 2);
    query.device = "gpu-AAAA"; // the whole UUID
    assert_int_equal(ask(store, query).count, 2);
    query.device = "GPU-"; // part of a UUID is not enough
    assert_int_equal(ask(store, query).count, 0);
    query = everything();
    query.cc = 86;
    assert_int_equal(ask(store, query).count, 2);
    query.sm_count = 132;
    assert_int_equal(ask(store, query).count, 0);
    query = everything();
    query.type = "f32";
    query.operation = "sum";
    assert_int_equal(ask(store, query).count, 4);
    query.type = "f64";
    assert_int_equal(ask(store, query).count, 0);
    query = everything();
    query.n = 4096;
    assert_int_equal(ask(store, query).count, 1);
    query = everything();
    query.cache = "warm";
    assert_string_equal(ask(store, query).lines[0], "T=f32 op=sum n=8 BLOCK=3 warm 570 7");
    query.best = true; // no winner in that state
    assert_int_equal(ask(store, query).count, 0);
    query = everything();
    query.since_ms = 1764000000003;
    assert_int_equal(ask(store, query).count, 1);
    query = everything();
    query.session = "xyz"; // no id looks like this
    assert_int_equal(ask(store, query).count, 0);
    query.session = "0000000000000000000000000000000000000000";
    assert_int_equal(ask(store, query).count, 0);
    st_store_close(store);
}

static void candidates_come_in_order_and_with_their_furthest_measurement(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session;
    int64_t problem, slow, fast, big;
    assert_ok(add_session(store, "reduce", "GPU-1", "570", &session, &error), error);
    assert_ok(add_candidate(store, &session, 65536, "BLOCK=9", 1, &problem, &big, &error), error);
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=1", 50, &problem, &slow, &error), error);
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=2", 48, &problem, &fast, &error), error);
    const double samples[] = {40, 41, 42, 43};
    st_measurement_row row = some_measurement(fast, "halving", 1, "cold", samples, 3);
    assert_ok(st_store_measurement(store, &row, &error), error);
    row = some_measurement(fast, "halving", 2, "cold", samples + 1, 1);
    assert_ok(st_store_measurement(store, &row, &error), error);
    row = some_measurement(fast, "finals", 0, "cold", samples + 2, 2);
    assert_ok(st_store_measurement(store, &row, &error), error);
    seen all = ask(store, everything());
    assert_int_equal(all.count, 3);
    assert_string_equal(all.lines[0],
                        "T=f32 op=sum n=1024 BLOCK=2 cold 570 42"); // finals, not screen
    assert_string_equal(all.lines[1], "T=f32 op=sum n=1024 BLOCK=1 cold 570 50");
    assert_string_equal(all.lines[2],
                        "T=f32 op=sum n=65536 BLOCK=9 cold 570 1"); // 65536 after 1024
    assert_false(all.last.is_winner);
    assert_true(isnan(all.last.speedup) && isnan(all.last.bytes));
    assert_int_equal(all.last.tied, 0);
    // Without the finals the last round of the halving stands.
    sqlite3_exec(store->db, "DELETE FROM measurement WHERE phase = 'finals'", NULL, NULL, NULL);
    assert_string_equal(ask(store, everything()).lines[0],
                        "T=f32 op=sum n=1024 BLOCK=2 cold 570 41");

    st_winner_row winner = some_winner(session.key, problem, fast, 39.5);
    winner.default_key = slow;
    winner.ties_json = (char *)"[]";
    assert_ok(st_store_winner(store, &winner, &error), error);
    seen one = {0};
    assert_ok(st_store_answer_of(store, slow, see, &one, &error), error);
    assert_int_equal(one.count, 1);
    assert_true(one.last.is_default && !one.last.is_winner && one.last.bytes == 4096.0);
    assert_true(isnan(one.last.speedup));
    one = (seen){0};
    assert_ok(st_store_answer_of(store, fast, see, &one, &error), error);
    assert_true(one.last.is_winner && !one.last.is_default && one.last.speedup == 2.0);
    st_store_close(store);
}

static st_code see_texts(void *context, const st_answer *answer, st_error *error)
{
    (void)error;
    ++*(int *)context;
    assert_string_equal(answer->outcome, "compile");
    assert_string_equal(answer->detail, "error: x");
    assert_string_equal(answer->cache, "");
    assert_string_equal(answer->phase, "");
    assert_string_equal(answer->type, "");
    assert_null(answer->note);
    assert_null(answer->ties_json);
    assert_true(isnan(answer->median_ns) && answer->n == -1 && answer->taken_ms == -1);
    assert_string_equal(answer->template_hash, "hash-of-reduce");
    return ST_OK;
}

static void a_candidate_without_measurement_is_shown_too(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session;
    int64_t problem, configuration, count = 0;
    assert_ok(add_session(store, "reduce", "GPU-1", "570", &session, &error), error);
    assert_ok(st_store_problem(store, "reduce", "free", NULL, NULL, -1, &problem, &error), error);
    assert_ok(st_store_configuration(store, "reduce", "A=1", &configuration, &error), error);
    st_candidate_row row = blank_candidate(session.key, problem, configuration, "compile");
    row.detail = (char *)"error: x";
    assert_ok(st_store_candidate(store, &row, &error), error);
    int calls = 0;
    assert_ok(st_store_answer_of(store, row.key, see_texts, &calls, &error), error);
    assert_int_equal(calls, 1);
    assert_int_equal(ask(store, everything()).count, 0); // not measured
    assert_int_equal(number(store, "SELECT count(*) FROM simtune_candidates"), 1);
    assert_int_equal(st_store_answer_of(store, row.key + 1, see_texts, &count, &error), ST_NOTHING);
    st_store_close(store);
}

static void ids_are_found_by_a_prefix(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add_run(store, "reduce", "GPU-1", "570", 8, "BLOCK=1", 10, 1000, "finished");
    int64_t key, found;
    seen all = ask(store, everything());
    char prefix[ST_HASH_TEXT];
    for (int length = 4; length <= 32; length += 14) {
        snprintf(prefix, sizeof prefix, "%.*s", length, all.candidate[0]);
        for (char *at = prefix; *at; at++)
            if (*at >= 'a' && *at <= 'f' && length > 4)
                *at = (char)(*at - 'a' + 'A'); // people paste capitals too
        assert_ok(st_store_candidate_key(store, prefix, &found, &error), error);
        key = number(store, "SELECT candidate_key FROM candidate");
        assert_int_equal(found, key);
    }
    snprintf(prefix, sizeof prefix, "%.3s", all.candidate[0]);
    assert_int_equal(st_store_candidate_key(store, prefix, &found, &error), ST_USAGE);
    assert_int_equal(st_store_candidate_key(store, "", &found, &error), ST_USAGE);
    assert_int_equal(st_store_candidate_key(store, "12345g", &found, &error), ST_USAGE);
    snprintf(prefix, sizeof prefix, "%s", all.candidate[0]);
    prefix[31] = prefix[31] == '0' ? '1' : '0';
    assert_int_equal(st_store_candidate_key(store, prefix, &found, &error), ST_NOTHING);
    assert_true(strlen(error.remedy) > 0);
    st_session_row session, other;
    assert_ok(add_session(store, "reduce", "GPU-1", "570", &session, &error), error);
    assert_ok(add_session(store, "reduce", "GPU-1", "570", &other, &error), error);
    snprintf(prefix, sizeof prefix, "%.4s", session.id); // ids of one day begin alike
    assert_int_equal(st_store_session_of(store, prefix, &session, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "several sessions"));
    st_store_close(store);
}

static st_code stop_at_once(void *context, const st_answer *answer, st_error *error)
{
    (void)answer;
    ++*(int *)context;
    return st_fail(error, ST_STALE, NULL, "stopped");
}

static st_code write_meanwhile(void *context, const st_answer *answer, st_error *error)
{
    int64_t key;
    st_store *store = context;
    seen inner = {0};
    st_query query = everything();
    query.family = answer->family;
    st_code code = st_store_query(store, &query, see, &inner, error);
    return code == ST_OK ? st_store_problem(store, "reduce", answer->candidate_id, NULL, NULL, -1,
                                            &key, error)
                         : code;
}

static void callbacks_may_stop_and_may_use_the_store(void **state)
{
    (void)state;
    st_error error = {0};
    int calls = 0;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add_run(store, "reduce", "GPU-1", "570", 8, "BLOCK=1", 10, 1000, "finished");
    add_run(store, "reduce", "GPU-1", "570", 16, "BLOCK=1", 10, 1000, "finished");
    st_query query = everything();
    assert_int_equal(st_store_query(store, &query, stop_at_once, &calls, &error), ST_STALE);
    assert_int_equal(calls, 1);
    assert_ok(st_store_query(store, &query, write_meanwhile, store, &error), error);
    assert_int_equal(number(store, "SELECT count(*) FROM problem"), 4);
    st_store_close(store);
}

static void views_tell_what_the_manual_promises(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add_run(store, "reduce", "GPU-1", "570", 1048576, "BLOCK=1 VEC=4", 10, 1764000000000,
            "finished");
    assert_int_equal(
        number(store, "SELECT count(*) = 1 AND max(gbs) = 409.6 AND max(winner_key_is) = 1 FROM"
                      " (SELECT gbs, is_winner AS winner_key_is FROM simtune_best"
                      "  WHERE json_extract(parameters, '$.VEC') = 4 AND device_name ="
                      "  'NVIDIA H200' AND median_ns = 10)"),
        1);
    assert_int_equal(number(store, "SELECT sample_count = 3 AND phase = 'screen' AND taken ="
                                   " '2025-11-24T16:00:00Z' FROM simtune_measurements"),
                     1);
    assert_int_equal(number(store, "SELECT value = 0.93 FROM simtune_counters WHERE"
                                   " name = 'dram_throughput' AND kind = 'pc'"),
                     1);
    assert_int_equal(number(store, "SELECT finished = '2025-11-24T16:00:00Z' AND driver = '570'"
                                   " FROM simtune_sessions"),
                     1);
    assert_int_equal(number(store, "SELECT count(*) FROM simtune_results r JOIN simtune_winners w"
                                   " USING (candidate_key, cache) WHERE r.is_winner"),
                     1);
    // The two that st_store_query reads have the same columns, but for the default's time.
    assert_int_equal(number(store, "SELECT count(*) FROM pragma_table_info('simtune_winners')"
                                   " WHERE name NOT IN (SELECT name FROM"
                                   " pragma_table_info('simtune_results'))"),
                     1);
    st_store_close(store);
}

// --- plans -------------------------------------------------------------------------------------------------
// Fails when the plan reads one of the growing tables from end to end.
static void assert_plan(st_store *store, const char *sql, bool newest)
{
    st_text text;
    st_text_init(&text);
    st_text_addf(&text, "EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(store->db, text.data, -1, &statement, NULL), SQLITE_OK);
    int steps = 0, lists = 0, routines = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(statement, 3);
        steps++;
        // The aliases of candidate (c), measurement (m, y, z), counter (v), profile (f).
        static const char *const grown[] = {"SCAN c",         "SCAN m",           "SCAN y",
                                            "SCAN z",         "SCAN v",           "SCAN f",
                                            "SCAN candidate", "SCAN measurement", "SCAN counter"};
        for (size_t i = 0; i < sizeof grown / sizeof *grown; i++) {
            size_t length = strlen(grown[i]);
            if (strncmp(step, grown[i], length) == 0 && (step[length] == ' ' || !step[length]))
                fail_msg("\"%s\" in the plan of %s", step, sql);
        }
        bool apart = strncmp(step, "MATERIALIZE", 11) == 0 || strncmp(step, "CO-ROUTINE", 10) == 0;
        routines += apart;
        if (apart && !newest)
            fail_msg("\"%s\" in the plan of %s: a view was not flattened", step, sql);
        lists += strncmp(step, "LIST SUBQUERY", 13) == 0;
    }
    assert_true(steps > 0);
    if (newest && (lists != 1 || routines > 2)) // once, not for each row; a routine for its window, in and out
        fail_msg("%d lists, %d routines: the newest are not found in one pass: %s", lists, routines, sql);
    sqlite3_finalize(statement);
    st_text_release(&text);
}

static void assert_no_scan(st_store *store, const char *sql)
{
    assert_plan(store, sql, false);
}

static void check_query(st_store *store, st_query query)
{
    st_text sql;
    st_text_init(&sql);
    assert_int_equal(st_query_sql(store, &query, &sql, NULL), ST_OK);
    assert_plan(store, sql.data, query.best);
    st_text_release(&sql);
}

static void main_questions_use_indexes(void **state)
{
    (void)state;
    st_store *store = open_store(in_folder("plans.db"), ST_STORE_WRITE);
    for (int analyzed = 0; analyzed < 2; analyzed++) {
        st_query query = everything();
        query.best = true;
        check_query(store, query); // all best
        query.family = "reduce";
        check_query(store, query);
        query.type = "f32";
        query.operation = "sum";
        query.n = 1024;
        query.cache = "cold";
        check_query(store, query);
        query = everything();
        query.best = true;
        query.device = "H200";
        query.own = true;
        check_query(store, query);
        query = everything();
        query.family = "reduce"; // all candidates of a family, of a problem, of a session
        check_query(store, query);
        query.n = 1024;
        check_query(store, query);
        query = everything();
        query.session = "0123";
        check_query(store, query);
        query.best = true;
        check_query(store, query);
        assert_int_equal(st_query_functions(store, NULL), ST_OK); // which it calls
        assert_no_scan(store, st_answer_of_sql);
        assert_no_scan(store, st_query_scale_sql);
        assert_no_scan(store, st_candidates_of_session_sql);
        assert_no_scan(store, st_measurements_of_sql);
        assert_no_scan(store, st_counters_of_sql);
        // The same with statistics of a store that has grown.
        st_error error = {0};
        st_session_row session;
        int64_t problem, candidate;
        for (int run = 0; run < 20 && !analyzed; run++) {
            assert_ok(st_store_begin(store, &error), error);
            assert_ok(add_session(store, "reduce", "GPU-1", "570", &session, &error), error);
            for (int i = 0; i < 40; i++) {
                char configuration[32];
                snprintf(configuration, sizeof configuration, "BLOCK=%d", i);
                assert_ok(add_candidate(store, &session, 1024 << run, configuration, 10 + i,
                                        &problem, &candidate, &error),
                          error);
            }
            st_winner_row winner = some_winner(session.key, problem, candidate, 9);
            assert_ok(st_store_winner(store, &winner, &error), error);
            assert_ok(st_store_session_end(store, session.key, ST_SESSION_FINISHED, NULL, &error),
                      error);
            assert_ok(st_store_commit(store, &error), error);
        }
        assert_int_equal(sqlite3_exec(store->db, "ANALYZE", NULL, NULL, NULL), SQLITE_OK);
        st_store_close(store);
        store = open_store(in_folder("plans.db"), ST_STORE_WRITE);
    }
    st_store_close(store);
}

// Steps of SQLite's machine for "best of reduce" in a store with so many sessions of one problem.
static int steps_of_best(int sessions)
{
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    assert_ok(st_store_begin(store, &error), error);
    for (int i = 0; i < sessions; i++)
        add_run(store, "reduce", "GPU-1", "570", 1024, "BLOCK=1", 10, 1000 + i, "finished");
    assert_ok(st_store_commit(store, &error), error);
    st_query query = everything();
    query.best = true;
    query.family = "reduce";
    assert_int_equal(ask(store, query).count, 1);
    st_text sql;
    st_text_init(&sql);
    sqlite3_stmt *statement;
    assert_int_equal(st_query_sql(store, &query, &sql, NULL), ST_OK);
    assert_int_equal(sqlite3_prepare_v2(store->db, sql.data, -1, &statement, NULL), SQLITE_OK);
    sqlite3_bind_text(statement, sqlite3_bind_parameter_index(statement, ":family"), "reduce", -1, SQLITE_STATIC);
    while (sqlite3_step(statement) == SQLITE_ROW)
        ;
    int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    sqlite3_finalize(statement);
    st_text_release(&sql);
    st_store_close(store);
    return steps;
}

// Eight times the sessions of one problem: about eight times the work, not sixty-four times.
static void best_does_not_grow_with_the_square_of_sessions(void **state)
{
    (void)state;
    int few = steps_of_best(40), many = steps_of_best(320);
    assert_true(few > 40);
    if (many > 12 * few)
        fail_msg("%d steps for 40 sessions, %d for 320", few, many);
}

// A failed candidate, one that violates a constraint, one without problem columns; measured ones stay out.
static void outcomes_are_asked_for_by_their_words(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session;
    int64_t problem, measured, configuration;
    assert_ok(add_session(store, "reduce", "GPU-1", "570", &session, &error), error);
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=1", 50, &problem, &measured, &error), error);
    static const char *const outcomes[] = {"wrong", "crash", "constraint"};
    for (int i = 0; i < 3; i++) {
        char text[32];
        snprintf(text, sizeof text, "BLOCK=%d", 2 + i);
        assert_ok(st_store_configuration(store, "reduce", text, &configuration, &error), error);
        st_candidate_row row = blank_candidate(session.key, problem, configuration, outcomes[i]);
        row.detail = (char *)"because";
        assert_ok(st_store_candidate(store, &row, &error), error);
    }
    st_query query = everything();
    query.outcomes = "crash,wrong,timeout";
    seen all = ask(store, query);
    assert_int_equal(all.count, 2);
    assert_string_equal(all.lines[0], "T=f32 op=sum n=1024 BLOCK=3  570 nan"); // crash before wrong
    assert_string_equal(all.lines[1], "T=f32 op=sum n=1024 BLOCK=2  570 nan");
    query.outcomes = "constraint";
    assert_int_equal(ask(store, query).count, 1);
    query.outcomes = "correct"; // measured or not, without its time
    all = ask(store, query);
    assert_int_equal(all.count, 1);
    assert_true(isnan(all.last.median_ns) && isnan(all.last.default_ns) && !all.last.is_winner);
    query.outcomes = "rong"; // a part of a word is none
    assert_int_equal(ask(store, query).count, 0);
    query.outcomes = "crash";
    query.family = "scan";
    assert_int_equal(ask(store, query).count, 0);
    query.family = "reduce";
    query.n = 1024;
    query.device = "h200";
    assert_int_equal(ask(store, query).count, 1);
    st_store_close(store);
}

static void answers_know_memory_and_the_time_of_the_default(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add_run(store, "reduce", "GPU-1", "570", 1024, "BLOCK=1", 10, 1000, "finished");
    st_query query = everything();
    for (int best = 0; best < 2; best++) {
        query.best = best;
        seen all = ask(store, query);
        assert_int_equal(all.count, 1);
        assert_true(all.last.is_winner && all.last.default_ns == 20);
        assert_int_equal(all.last.memory_bytes, number(store, "SELECT memory_bytes FROM device"));
    }
    sqlite3_exec(store->db, "UPDATE device SET memory_bytes = NULL; UPDATE winner SET default_ns = NULL", NULL, NULL,
                 NULL);
    seen all = ask(store, query);
    assert_true(all.last.memory_bytes == -1 && isnan(all.last.default_ns));
    st_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_is_the_newest_ended_session_with_a_winner),
        cmocka_unit_test(best_looks_among_what_is_asked_for),
        cmocka_unit_test(filters_each_leave_out_the_rest),
        cmocka_unit_test(candidates_come_in_order_and_with_their_furthest_measurement),
        cmocka_unit_test(a_candidate_without_measurement_is_shown_too),
        cmocka_unit_test(ids_are_found_by_a_prefix),
        cmocka_unit_test(callbacks_may_stop_and_may_use_the_store),
        cmocka_unit_test(views_tell_what_the_manual_promises),
        cmocka_unit_test(main_questions_use_indexes),
        cmocka_unit_test(best_does_not_grow_with_the_square_of_sessions),
        cmocka_unit_test(outcomes_are_asked_for_by_their_words),
        cmocka_unit_test(answers_know_memory_and_the_time_of_the_default),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
