// SPDX-License-Identifier: Apache-2.0
// Conditions over a store: what each kind of name means, what unknown does, what is refused and with which words;
// the K fastest, the best of each group, the rows that no other beats; that index look-ups stay index look-ups; and
// that every fault on the way is an error and no leak.
#include "fixture.h"

#include "db/query_internal.h"
#include "tuner/base/memory.h"

typedef struct seen {
    size_t count, value_count;
    char rows[64][128]; // "configuration cache median [group]"
    char values[64][160]; // "name=value …" of each row
} seen;

static st_code see(void *context, const st_answer *answer, st_error *error)
{
    (void)error;
    seen *all = context;
    assert_true(all->count < 64);
    snprintf(all->rows[all->count], sizeof all->rows[0], "%s %s %g%s%s", answer->configuration,
             answer->cache[0] ? answer->cache : answer->outcome, answer->median_ns, answer->group ? " in " : "",
             answer->group ? answer->group : "");
    char *out = all->values[all->count];
    for (size_t i = 0; i < answer->value_count; i++) {
        const st_answer_value *value = &answer->values[i];
        size_t length = strlen(out), room = sizeof all->values[0] - length;
        if (value->kind == ST_ANSWER_INTEGER)
            snprintf(out + length, room, "%s=%lld ", value->name, (long long)value->integer);
        else if (value->kind == ST_ANSWER_REAL)
            snprintf(out + length, room, "%s=%g ", value->name, value->real);
        else
            snprintf(out + length, room, "%s=%s ", value->name, value->kind == ST_ANSWER_WORD ? value->word : "?");
    }
    all->value_count = answer->value_count;
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

static seen where(st_store *store, const char *text)
{
    st_query query = everything();
    query.where = text;
    return ask(store, query);
}

static void counter(st_store *store, int64_t candidate, const char *kind, const char *name, double value)
{
    st_error error = {0};
    assert_ok(st_store_counters(store, candidate, kind, &name, &value, 1, 0.1, &error), error);
}

// Two families; one device; configurations with a word, with counters of each kind and without.
static st_store *some_store(const char *path)
{
    st_error error = {0};
    st_store *store = open_store(path, ST_STORE_WRITE);
    st_session_row reduce, scan;
    int64_t problem, a, b, c, d;
    assert_ok(add_session(store, "reduce", "GPU-1", "570.1.2", &reduce, &error), error);
    assert_ok(add_candidate(store, &reduce, 1024, "BLOCK=128 FINISH=two_pass", 30, &problem, &a, &error), error);
    assert_ok(add_candidate(store, &reduce, 1024, "BLOCK=256 FINISH=cluster", 20, &problem, &b, &error), error);
    assert_ok(add_candidate(store, &reduce, 1024, "BLOCK=512 FINISH=cluster", 10, &problem, &c, &error), error);
    st_winner_row winner = some_winner(reduce.key, problem, c, 10);
    winner.default_key = a;
    assert_ok(st_store_winner(store, &winner, &error), error);
    int64_t key;
    assert_ok(st_store_configuration(store, "reduce", "BLOCK=1024 FINISH=ticket", &key, &error), error);
    st_candidate_row failed = blank_candidate(reduce.key, problem, key, "crash");
    assert_ok(st_store_candidate(store, &failed, &error), error);
    assert_ok(st_store_session_end(store, reduce.key, ST_SESSION_FINISHED, NULL, &error), error);
    assert_ok(add_session(store, "scan", "GPU-1", "580.10.1", &scan, &error), error);
    assert_ok(add_candidate(store, &scan, 4096, "ITEMS=4 FINISH=7", 5, &problem, &d, &error), error);
    winner = some_winner(scan.key, problem, d, 5);
    assert_ok(st_store_winner(store, &winner, &error), error);
    assert_ok(st_store_session_end(store, scan.key, ST_SESSION_FINISHED, NULL, &error), error);
    // Of `b` shares of samples are known; of `d` warps per issue alone.
    counter(store, b, "pc", "stall.wait", 0.6);
    counter(store, b, "range", "stall.wait", 9);
    sqlite3_exec(store->db, "DELETE FROM counter WHERE profile_key IN (SELECT profile_key FROM profile f"
                            " JOIN simtune_candidates c USING (candidate_key) WHERE c.family = 'scan');"
                            "DELETE FROM profile WHERE candidate_key IN (SELECT candidate_key FROM"
                            " simtune_candidates WHERE family = 'scan')", NULL, NULL, NULL);
    const char *const names[] = {"stall.wait", "stall.barrier"};
    const double values[] = {30, 10};
    assert_ok(st_store_counters(store, d, "range", names, values, 2, 0.1, &error), error);
    return store;
}

static void names_mean_what_the_manual_says(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    static const struct {
        const char *text;
        size_t count;
        const char *first;
    } rows[] = {
        {"BLOCK >= 256", 2, "BLOCK=512 FINISH=cluster cold 10"},
        {"BLOCK * 2 == 512", 1, "BLOCK=256 FINISH=cluster cold 20"},
        {"FINISH == cluster", 2, "BLOCK=512 FINISH=cluster cold 10"},
        {"FINISH != cluster", 2, "BLOCK=128 FINISH=two_pass cold 30"}, // a number is another word
        {"FINISH == 7", 1, "ITEMS=4 FINISH=7 cold 5"},
        {"FINISH > 6", 1, "ITEMS=4 FINISH=7 cold 5"}, // words are unknown to arithmetic
        {"\"two_pass\" == FINISH", 1, "BLOCK=128 FINISH=two_pass cold 30"},
        {"time < 10.5", 2, "BLOCK=512 FINISH=cluster cold 10"},
        {"median_ns <= 5", 1, "ITEMS=4 FINISH=7 cold 5"},
        {"n == 4Ki and op == sum and T == f32 and type == f32 and axis.n == n", 1, "ITEMS=4 FINISH=7 cold 5"},
        {"driver == 580.10.1", 1, "ITEMS=4 FINISH=7 cold 5"},
        {"device == 'NVIDIA H200' and cc >= 90 and family != scan", 3, "BLOCK=512 FINISH=cluster cold 10"},
        {"registers == 32", 4, "BLOCK=512 FINISH=cluster cold 10"},
        {"winner and speedup > 1.5", 2, "BLOCK=512 FINISH=cluster cold 10"},
        {"gbs > 400", 2, "BLOCK=512 FINISH=cluster cold 10"}, // 4096 bytes in 10 ns and in 5
        {"stall.wait > 0.5", 2, "BLOCK=256 FINISH=cluster cold 20"}, // 0.6 of samples; 30 of 40
        {"stall.wait == 0.75", 1, "ITEMS=4 FINISH=7 cold 5"},
        {"range.stall.wait > 5", 2, "BLOCK=256 FINISH=cluster cold 20"},
        {"pc.stall.wait > 0.5", 1, "BLOCK=256 FINISH=cluster cold 20"},
        {"counter.dram_throughput > 0.9", 3, "BLOCK=512 FINISH=cluster cold 10"},
        {"known(ITEMS)", 1, "ITEMS=4 FINISH=7 cold 5"},
        {"not known(stall.wait)", 2, "BLOCK=512 FINISH=cluster cold 10"},
        {"1", 4, "BLOCK=512 FINISH=cluster cold 10"},
        {"0.0", 0, ""},
        // Unknown is not a small number, and not its opposite either.
        {"stall.wait < 0.5", 0, ""},
        {"not stall.wait > 0.5", 0, ""},
        {"stall.long_scoreboard < 1", 0, ""},
        {"stall.wait > 0.5 or BLOCK == 512", 3, "BLOCK=512 FINISH=cluster cold 10"},
        {"ITEMS > 1 and BLOCK > 1", 0, ""},
        // Nothing fails while it runs.
        {"BLOCK / (BLOCK - 256) > 0", 1, "BLOCK=512 FINISH=cluster cold 10"},
        {"BLOCK % 0 == 0 or ceil_div(BLOCK, 0) == 0", 0, ""},
        {"9223372036854775807 * BLOCK > 1e20", 3, "BLOCK=512 FINISH=cluster cold 10"},
        {"7 / 2 == 3 and 7 / 2.0 == 3.5 and 7.5 % 2 == 1.5 and ceil_log2(5) == 3 and ceil_div(7, 2) == 4", 4, ""},
        {"-.5e1 == -5 and max(1, 2.5) == 2.5 and min(3, known(BLOCK), 9) <= 1", 4, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        seen all = where(store, rows[i].text);
        if (all.count != rows[i].count || (*rows[i].first && strcmp(all.rows[0], rows[i].first) != 0))
            fail_msg("%s: %zu rows, the first is %s", rows[i].text, all.count, all.rows[0]);
    }
    st_store_close(store);
}

static void a_condition_on_the_outcome_asks_all_candidates(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    seen all = where(store, "outcome == crash");
    assert_int_equal(all.count, 1);
    assert_string_equal(all.rows[0], "BLOCK=1024 FINISH=ticket crash nan");
    assert_string_equal(all.values[0], "outcome=crash ");
    assert_int_equal(where(store, "outcome != correct or time < 6").count, 2);
    assert_int_equal(where(store, "BLOCK == 1024").count, 0); // measured ones alone
    st_query query = everything();
    query.where = "BLOCK == 1024";
    query.outcomes = "crash,wrong";
    assert_int_equal(ask(store, query).count, 1);
    query.where = "time > 1";
    st_error error = {0};
    seen none = {0};
    assert_int_equal(st_store_query(store, &query, see, &none, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "`time`"));
    st_store_close(store);
}

static void values_of_names_are_told(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    seen all = where(store, "BLOCK == 256 and stall.wait > 0.1 and FINISH == cluster and op == sum");
    assert_int_equal(all.count, 1);
    assert_string_equal(all.values[0], "BLOCK=256 FINISH=cluster op=sum stall.wait=0.6 ");
    all = where(store, "BLOCK == 512 and (stall.wait > 2 or 1)");
    assert_string_equal(all.values[0], "BLOCK=512 stall.wait=? ");
    st_query query = everything();
    query.pareto = "time, BLOCK * 2";
    all = ask(store, query);
    assert_string_equal(all.values[0], "BLOCK=512 time=10 BLOCK * 2=1024 ");
    st_store_close(store);
}

static void collect(void *context, const char *kind, const char *name)
{
    st_text_addf(context, "%c:%s ", kind[0], name);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    static const struct {
        const char *where, *what, *remedy;
    } rows[] = {
        {"BLOK > 1", "unknown name `BLOK`", "`BLOCK`"},
        {"stall.wiat > 1", "unknown name `stall.wiat`", "`stall.wait`"},
        {"outcome == crsh", "no outcome is `crsh`", "`crash`"},
        {"outcome == 7", "no outcome is `7`", "correct wrong"},
        {"registers == many", "unknown name `many`", ""},
        {"registers == 'many'", "`registers` is a number", ""},
        {"driver > 500", "`driver` is a word", "== and !="},
        {"device + 1", "`device` is a word", ""},
        {"driver", "`driver` is a word", ""},
        {"known(1)", "known(1)", ""},
        {"BLOCK = 1", "`=`", "=="},
        {"'open", "quote is open", ""},
        {"1.5x > 1", "no number", ""},
        {"1e999 > 1", "no number", ""},
        {"BLOCK > 1 &", "`&`", ""},
        {"", "the expression ends", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_error error = {0};
        st_query query = everything();
        seen all = {0};
        query.where = rows[i].where;
        if (st_store_query(store, &query, see, &all, &error) != ST_USAGE || !strstr(error.what, rows[i].what) ||
            !strstr(error.remedy, rows[i].remedy))
            fail_msg("%s: \"%s\" / \"%s\"", rows[i].where, error.what, error.remedy);
    }
    st_text names;
    st_text_init(&names);
    st_error error = {0};
    seen none = {0};
    st_query query = everything();
    query.family = "scan";
    query.where = "BLOCK == 1"; // of another family
    query.unknown = collect;
    query.unknown_context = &names;
    assert_int_equal(st_store_query(store, &query, see, &none, &error), ST_USAGE);
    assert_non_null(strstr(st_text_string(&names), "p:ITEMS p:FINISH a:T a:op a:n f:time "));
    assert_non_null(strstr(st_text_string(&names), "c:stall.wait "));
    assert_null(strstr(st_text_string(&names), "BLOCK"));
    assert_null(strstr(st_text_string(&names), "median_ns")); // another spelling
    st_text_release(&names);
    st_store_close(store);
}

static void combinations_that_say_nothing_are_refused(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    const st_query wrong[] = {
        {.per = "colour"},           {.best = true, .top = 3},       {.best = true, .pareto = "time"},
        {.top = 2, .pareto = "time"}, {.outcomes = "crash", .top = 1}, {.outcomes = "crash", .per = "size"},
        {.outcomes = "crash", .pareto = "time"}, {.pareto = ""},      {.pareto = "time,"},
        {.pareto = "time,max:"},     {.pareto = "driver"},            {.pareto = "n,n,n,n,n,n,n,n,n"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        st_error error = {0};
        seen none = {0};
        st_query query = wrong[i];
        query.cc = query.sm_count = -1;
        query.n = query.since_ms = -1;
        assert_int_equal(st_store_query(store, &query, see, &none, &error), ST_USAGE);
        assert_true(error.what[0] && error.remedy[0]);
    }
    st_store_close(store);
}

// One more run of BLOCK=512 on a newer driver, slower; one of BLOCK=128 on another device, faster.
static st_store *store_of_several(void)
{
    st_error error = {0};
    st_store *store = some_store(":memory:");
    st_session_row newer, other;
    int64_t problem, candidate;
    assert_ok(add_session(store, "reduce", "GPU-1", "580.10.1", &newer, &error), error);
    assert_ok(add_candidate(store, &newer, 1024, "BLOCK=512 FINISH=cluster", 25, &problem, &candidate, &error), error);
    sqlite3_exec(store->db, "UPDATE measurement SET taken_ms = taken_ms + 5000 WHERE median_ns = 25", NULL, NULL, NULL);
    st_winner_row winner = some_winner(newer.key, problem, candidate, 25);
    assert_ok(st_store_winner(store, &winner, &error), error);
    assert_ok(st_store_session_end(store, newer.key, ST_SESSION_FINISHED, NULL, &error), error);
    assert_ok(add_session(store, "reduce", "GPU-2", "580.10.1", &other, &error), error);
    assert_ok(add_candidate(store, &other, 1024, "BLOCK=128 FINISH=two_pass", 3, &problem, &candidate, &error), error);
    winner = some_winner(other.key, problem, candidate, 3);
    assert_ok(st_store_winner(store, &winner, &error), error);
    assert_ok(st_store_session_end(store, other.key, ST_SESSION_FINISHED, NULL, &error), error);
    return store;
}

static void the_fastest_are_chosen_by_device_and_newest(void **state)
{
    (void)state;
    st_store *store = store_of_several();
    st_query query = everything();
    query.top = 2;
    query.family = "reduce";
    seen all = ask(store, query);
    assert_int_equal(all.count, 3);
    assert_string_equal(all.rows[0], "BLOCK=256 FINISH=cluster cold 20"); // not the 10 ns that are out of date
    assert_string_equal(all.rows[1], "BLOCK=512 FINISH=cluster cold 25");
    assert_string_equal(all.rows[2], "BLOCK=128 FINISH=two_pass cold 3"); // of the other device
    query.where = "BLOCK != 256";
    assert_string_equal(ask(store, query).rows[0], "BLOCK=512 FINISH=cluster cold 25");
    query.top = 1;
    assert_int_equal(ask(store, query).count, 2);
    query.limit = 1;
    assert_int_equal(ask(store, query).count, 1);
    st_store_close(store);
}

static void groups_have_the_best_of_each_problem(void **state)
{
    (void)state;
    st_store *store = store_of_several();
    st_query query = everything();
    query.per = "driver";
    seen all = ask(store, query);
    assert_int_equal(all.count, 3);
    assert_string_equal(all.rows[0], "BLOCK=512 FINISH=cluster cold 10 in 570.1.2");
    assert_string_equal(all.rows[1], "BLOCK=128 FINISH=two_pass cold 3 in 580.10.1");
    assert_string_equal(all.rows[2], "ITEMS=4 FINISH=7 cold 5 in 580.10.1");
    query.per = "device"; // the fastest of the newest of each toolchain
    query.family = "reduce";
    all = ask(store, query);
    assert_int_equal(all.count, 2);
    assert_string_equal(all.rows[0], "BLOCK=512 FINISH=cluster cold 10 in NVIDIA H200");
    assert_string_equal(all.rows[1], "BLOCK=128 FINISH=two_pass cold 3 in NVIDIA H200");
    query = everything();
    query.per = "size";
    all = ask(store, query);
    assert_string_equal(all.rows[0], "BLOCK=128 FINISH=two_pass cold 3 in 1024");
    assert_string_equal(all.rows[1], "ITEMS=4 FINISH=7 cold 5 in 4096");
    query.per = "type";
    assert_int_equal(ask(store, query).count, 2);
    query.top = 2;
    query.per = "driver";
    all = ask(store, query);
    assert_int_equal(all.count, 5);
    assert_string_equal(all.rows[0], "BLOCK=512 FINISH=cluster cold 10 in 570.1.2");
    assert_string_equal(all.rows[1], "BLOCK=256 FINISH=cluster cold 20 in 570.1.2");
    query.where = "cc == 90 and BLOCK == 256";
    assert_int_equal(ask(store, query).count, 1);
    st_store_close(store);
}

static void rows_that_no_other_beats(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    sqlite3_exec(store->db, "UPDATE candidate SET registers = (SELECT CAST(10000 / median_ns AS INTEGER) FROM measurement m"
                            " WHERE m.candidate_key = candidate.candidate_key)", NULL, NULL, NULL);
    st_query query = everything();
    query.family = "reduce";
    query.pareto = "time,registers"; // the faster has more registers: all three stand
    assert_int_equal(ask(store, query).count, 3);
    query.pareto = "time,max:registers"; // the fastest is best in both
    seen all = ask(store, query);
    assert_int_equal(all.count, 1);
    assert_string_equal(all.rows[0], "BLOCK=512 FINISH=cluster cold 10");
    query.pareto = "min:time";
    assert_int_equal(ask(store, query).count, 1);
    query.pareto = "cc"; // equal rows do not beat each other
    assert_int_equal(ask(store, query).count, 3);
    query.pareto = "time,stall.wait"; // known of one alone
    assert_string_equal(ask(store, query).rows[0], "BLOCK=256 FINISH=cluster cold 20");
    query.pareto = "max(time, 25),registers * 0";
    assert_int_equal(ask(store, query).count, 2);
    query.family = NULL;
    query.pareto = "time";
    assert_int_equal(ask(store, query).count, 2); // one a problem
    st_store_close(store);
}

static void several_archs_are_asked_at_once(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    const int archs[] = {80, 90};
    st_query query = everything();
    query.archs = archs;
    query.arch_count = 2;
    assert_int_equal(ask(store, query).count, 4);
    query.arch_count = 1;
    assert_int_equal(ask(store, query).count, 0);
    st_store_close(store);
}

static void a_name_of_a_rare_configuration_is_found(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = some_store(":memory:");
    st_session_row session;
    int64_t problem, candidate;
    char configuration[64];
    assert_ok(add_session(store, "wide", "GPU-1", "570.1.2", &session, &error), error);
    for (int i = 0; i < 250; i++) { // in the middle of the alphabet one that has another parameter
        snprintf(configuration, sizeof configuration, i == 125 ? "A=%03d RARE=1 MODE=new" : "A=%03d MODE=%d", i, i);
        assert_ok(add_candidate(store, &session, 8, configuration, i + 1, &problem, &candidate, &error), error);
    }
    assert_int_equal(where(store, "RARE == 1").count, 1);
    assert_int_equal(where(store, "family == wide and MODE == new").count, 1);
    st_store_close(store);
}

static void a_question_can_be_stopped(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    volatile sig_atomic_t stop = 1;
    st_error error = {0};
    for (int i = 0; i < 12; i++)
        sqlite3_exec(store->db, "INSERT INTO problem (problem_id, family, text) SELECT lower(hex(randomblob(16))),"
                                " 'x', hex(randomblob(16)) FROM problem LIMIT 4000", NULL, NULL, NULL);
    st_store_stop_when(store, &stop);
    st_query query = everything();
    query.where = "family == nothing";
    seen all = {0};
    assert_int_equal(st_store_query(store, &query, see, &all, &error), ST_INTERRUPTED);
    stop = 0;
    assert_int_equal(ask(store, query).count, 0);
    st_store_stop_when(store, NULL);
    st_store_close(store);
}

// --- plans -------------------------------------------------------------------------------------------------------
static void assert_looks_up(st_store *store, st_query query, const char *wanted)
{
    st_error error = {0};
    st_text sql, plan;
    st_text_init(&sql);
    st_text_init(&plan);
    st_text_add(&sql, "EXPLAIN QUERY PLAN ");
    assert_ok(st_query_sql(store, &query, &sql, &error), error);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(store->db, st_text_string(&sql), -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW)
        st_text_addf(&plan, "%s\n", (const char *)sqlite3_column_text(statement, 3));
    sqlite3_finalize(statement);
    static const char *const never[] = {"SCAN c\n", "SCAN c ", "SCAN m\n", "SCAN m ", "SCAN v\n", "SCAN v ", "SCAN f\n"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(st_text_string(&plan), never[i]))
            fail_msg("%s in\n%s\n%s", never[i], st_text_string(&plan), st_text_string(&sql));
    if (!strstr(st_text_string(&plan), wanted))
        fail_msg("no %s in\n%s\n%s", wanted, st_text_string(&plan), st_text_string(&sql));
    st_text_release(&sql);
    st_text_release(&plan);
}

static void assert_chosen_are_looked_up(st_store *store, st_query query)
{
    st_error error = {0};
    st_question question;
    st_text sql;
    int scans = 0, found = 0;
    st_text_init(&sql);
    st_text_add(&sql, "EXPLAIN QUERY PLAN ");
    assert_ok(st_question_read(store, &query, &question, &error), error);
    assert_ok(st_question_choose(store, &question, &error), error);
    assert_ok(st_question_sql(&question, &sql, &error), error);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(store->db, st_text_string(&sql), -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(statement, 3);
        found += strncmp(step, "SEARCH c USING INTEGER PRIMARY KEY", 34) == 0;
        scans += strncmp(step, "SCAN c", 6) == 0 || strncmp(step, "SCAN m", 6) == 0;
    }
    sqlite3_finalize(statement);
    st_text_release(&sql);
    st_question_release(&question);
    assert_true(found == 1 && scans == 0);
}

static void questions_look_up_what_grows(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    st_query query = everything();
    query.family = "reduce";
    query.n = 1024;
    query.where = "BLOCK >= 256 and stall.wait > 0.5 and time < 100 and cc >= 90 and T == f32";
    assert_looks_up(store, query, "SEARCH v USING PRIMARY KEY (metric_key=? AND profile_key=?)");
    assert_looks_up(store, query, "SEARCH configuration USING INDEX"); // once each, not for each candidate
    query.where = NULL;
    query.top = 3; // the rows to choose among, then those that were chosen
    assert_looks_up(store, query, "SEARCH c USING INDEX candidate_problem");
    assert_chosen_are_looked_up(store, query);
    query.top = 0;
    query.per = "driver";
    assert_looks_up(store, query, "SEARCH c USING INTEGER PRIMARY KEY");
    assert_chosen_are_looked_up(store, query);
    st_store_close(store);
}

// Choosing joins no table whose columns nobody asked for.
static void choosing_reads_few_tables(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = some_store(":memory:");
    static const struct {
        const char *where, *per;
        bool problem, device, toolchain, configuration, winner;
    } rows[] = {{"stall.wait > 0.5 and BLOCK >= 256", NULL, false, false, false, false, false},
                {"time < 100 and n > 2", NULL, false, false, false, false, false}, // n is asked of problems alone
                {"time < 100 or n > 2", NULL, true, false, false, false, false},
                {"time < 100 or device == 'the problem p, the device d'", NULL, false, true, false, false, false},
                {"time < 100 or gbs > 2 and BLOCK > 1", "size", true, false, false, true, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_query query = everything();
        query.where = rows[i].where;
        query.per = rows[i].per;
        query.top = 3;
        st_text sql;
        st_text_init(&sql);
        assert_ok(st_query_sql(store, &query, &sql, &error), error);
        const struct {
            bool wanted;
            const char *join;
        } joins[] = {{rows[i].problem, " JOIN problem p"}, {rows[i].device, " JOIN device d"},
                     {rows[i].toolchain, " JOIN toolchain t"}, {rows[i].configuration, " JOIN configuration g"},
                     {rows[i].winner, " JOIN winner w"}, {false, "simtune_results"}, {false, " JOIN template e"}};
        for (size_t k = 0; k < sizeof joins / sizeof *joins; k++)
            if (joins[k].wanted != (strstr(sql.data, joins[k].join) != NULL))
                fail_msg("%s:%s in %s", rows[i].where, joins[k].join, sql.data);
        st_text_release(&sql);
    }
    st_store_close(store);
}

// The columns that choosing knows are those of the view.
static void few_columns_say_what_the_view_says(void **state)
{
    (void)state;
    st_text columns, sql;
    st_text_init(&columns);
    st_text_init(&sql);
    st_store *store = some_store(":memory:");
    for (size_t i = 0; st_query_rows_column(i); i++)
        st_text_addf(&columns, "%sr.%s", i ? ", " : "", st_query_rows_column(i));
    st_text_addf(&sql, "SELECT (SELECT count(*) FROM simtune_results) > 3 AND NOT EXISTS (SELECT %s FROM ",
                 columns.data);
    st_query_rows_sql(NULL, &sql);
    st_text_addf(&sql, " EXCEPT SELECT %s FROM simtune_results r) AND NOT EXISTS (SELECT %s FROM simtune_results r"
                       " EXCEPT SELECT %s FROM ", columns.data, columns.data, columns.data);
    st_query_rows_sql(NULL, &sql);
    st_text_add(&sql, ")");
    assert_int_equal(number(store, sql.data), 1);
    st_text_release(&columns);
    st_text_release(&sql);
    st_store_close(store);
}

// What many candidates would make slow is looked up by counter; the rows are the same.
static void wide_questions_give_the_same_rows(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    // Of both kinds with the exact one unknown; sampled but without this stall; sampled as unknown.
    st_error made = {0};
    int64_t key = number(store, "SELECT candidate_key FROM candidate JOIN configuration USING (configuration_key)"
                                " WHERE text LIKE 'BLOCK=512%'");
    counter(store, key, "pc", "flops", 3);
    counter(store, key, "range", "flops", NAN);
    counter(store, key, "range", "stall.barrier", 4);
    counter(store, key, "pc", "stall.barrier", NAN);
    assert_int_equal(made.code, ST_OK);
    static const char *const texts[] = {"stall.wait > 0.5", "stall.wait == 0.75 and BLOCK > 0", "range.stall.wait > 5",
                                        "dram_throughput > 0.9 and stall.wait > 0.1", "stall.wait / 0 > 1",
                                        "not stall.wait > 5", "stall.wait > 0.5 or BLOCK == 512", "flops > 2",
                                        "pc.flops > 2", "range.flops > 2", "stall.barrier > 0.1", "stall.barrier >= 0",
                                        "stall.wait > 0.1 and stall.barrier < 0.5", "dram_throughput < 1",
                                        "pc.dram_throughput > 0", "range.dram_throughput > 0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int wide = 0; wide < 2; wide++) {
            static char narrow[1024];
            char found[1024] = "";
            st_error error = {0};
            st_query query = everything();
            query.where = texts[i];
            st_question question;
            st_text sql;
            st_text_init(&sql);
            assert_ok(st_question_read(store, &query, &question, &error), error);
            assert_false(question.wide);
            question.wide = wide;
            assert_ok(st_question_sql(&question, &sql, &error), error);
            sqlite3_stmt *statement;
            assert_int_equal(sqlite3_prepare_v2(store->db, st_text_string(&sql), -1, &statement, NULL), SQLITE_OK);
            while (sqlite3_step(statement) == SQLITE_ROW)
                strncat(found, (const char *)sqlite3_column_text(statement, 0), sizeof found - strlen(found) - 1);
            sqlite3_finalize(statement);
            if (wide && strcmp(found, narrow) != 0)
                fail_msg("%s: %s by counter, %s by candidate", texts[i], found, narrow);
            memcpy(narrow, found, sizeof narrow);
            st_text_release(&sql);
            st_question_release(&question);
        }
    st_store_close(store);
}

// --- faults ------------------------------------------------------------------------------------------------------
static void every_fault_is_an_error(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SQLITE};
    for (size_t k = 0; k < 2; k++)
        for (int step = 0; step < 3; step++)
            for (int n = 1;; n++) {
                st_error error = {0};
                seen all = {0};
                st_query query = everything();
                query.where = "BLOCK >= 256 and stall.wait > 0.5 and FINISH == cluster";
                query.top = step == 1;
                query.pareto = step == 2 ? "time,max:registers" : NULL;
                st_fault_arm(kinds[k], n);
                st_code code = st_store_query(store, &query, see, &all, &error);
                bool injected = st_fault_injected(kinds[k]);
                st_fault_arm(kinds[k], 0);
                if (!injected) {
                    assert_ok(code, error);
                    assert_int_equal(all.count, 1);
                    break;
                }
                if (code == ST_OK)
                    assert_int_equal(all.count, 1); // a suggestion less, nothing else
                else
                    assert_true(error.what[0]);
                assert_true(n < 20000);
            }
    st_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_mean_what_the_manual_says),
        cmocka_unit_test(a_condition_on_the_outcome_asks_all_candidates),
        cmocka_unit_test(values_of_names_are_told),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(combinations_that_say_nothing_are_refused),
        cmocka_unit_test(the_fastest_are_chosen_by_device_and_newest),
        cmocka_unit_test(groups_have_the_best_of_each_problem),
        cmocka_unit_test(rows_that_no_other_beats),
        cmocka_unit_test(several_archs_are_asked_at_once),
        cmocka_unit_test(a_name_of_a_rare_configuration_is_found),
        cmocka_unit_test(a_question_can_be_stopped),
        cmocka_unit_test(questions_look_up_what_grows), cmocka_unit_test(choosing_reads_few_tables),
        cmocka_unit_test(few_columns_say_what_the_view_says),
        cmocka_unit_test(wide_questions_give_the_same_rows),
        cmocka_unit_test(every_fault_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
