// SPDX-License-Identifier: Apache-2.0
// Times of different phases on one scale: what was only screened does not come before the survivors that beat it there,
// whatever a condition leaves out; what is told of a row stays as it was measured.
#include "fixture.h"

typedef struct seen {
    size_t count;
    char lines[16][80]; // "BLOCK=1 finals 540 540": configuration, phase, median, comparable
} seen;

static st_code see(void *context, const st_answer *answer, st_error *error)
{
    (void)error;
    seen *all = context;
    assert_true(all->count < 16);
    snprintf(all->lines[all->count++], sizeof all->lines[0], "%s %s %g %g", answer->configuration, answer->phase,
             answer->median_ns, answer->comparable_ns);
    return ST_OK;
}

static st_query everything(void)
{
    return (st_query){.cc = -1, .sm_count = -1, .n = -1, .since_ms = -1, .cache = "cold"};
}

static seen ask(st_store *store, st_query query)
{
    st_error error = {0};
    seen all = {0};
    assert_ok(st_store_query(store, &query, see, &all, &error), error);
    return all;
}

static void expect(const seen *all, size_t count, const char *const *lines)
{
    for (size_t i = 0; i < count && i < all->count; i++)
        assert_string_equal(all->lines[i], lines[i]);
    assert_int_equal(all->count, count);
}

static void measured(st_store *store, int64_t candidate, const char *phase, int round, double ns)
{
    st_error error = {0};
    const double samples[] = {ns, ns, ns};
    st_measurement_row row = some_measurement(candidate, phase, round, "cold", samples, 3);
    assert_ok(st_store_measurement(store, &row, &error), error);
}

// screen, both rounds of halving, finals; 0: it did not come so far
static int64_t tried(st_store *store, const st_session_row *session, int64_t n, const char *configuration,
                     const double ns[4])
{
    st_error error = {0};
    int64_t problem, candidate;
    assert_ok(add_candidate(store, session, n, configuration, ns[0], &problem, &candidate, &error), error);
    for (int round = 1; round <= 2; round++)
        if (ns[round] > 0)
            measured(store, candidate, "halving", round, ns[round]);
    if (ns[3] > 0)
        measured(store, candidate, "finals", 0, ns[3]);
    return candidate;
}

// Short kernels: turns cost 40 ns in the finals, 50 and 60 in halving.
static st_store *some_store(const char *path)
{
    st_error error = {0};
    st_store *store = open_store(path, ST_STORE_WRITE);
    st_session_row session;
    assert_ok(add_session(store, "reduce", "GPU-1", "570", &session, &error), error);
    tried(store, &session, 1024, "BLOCK=1", (double[]){500, 550, 560, 540});
    tried(store, &session, 1024, "BLOCK=2", (double[]){505, 555, 565, 545});
    tried(store, &session, 1024, "BLOCK=3", (double[]){510, 560, 570, 0}); // left out after the second round
    tried(store, &session, 1024, "BLOCK=4", (double[]){515, 565, 0, 0});   // after the first
    tried(store, &session, 1024, "BLOCK=5", (double[]){520, 0, 0, 0});     // of all the least as measured
    tried(store, &session, 1024, "BLOCK=6", (double[]){2000, 0, 0, 0});    // slow: it pays no more than the others
    tried(store, &session, 2048, "BLOCK=1", (double[]){900, 0, 0, 0});     // another problem: nobody came further
    return store;
}

static const char *const in_order[] = {"BLOCK=1 finals 540 540",   "BLOCK=2 finals 545 545", "BLOCK=3 halving 570 550",
                                       "BLOCK=4 halving 565 555",  "BLOCK=5 screen 520 560", "BLOCK=6 screen 2000 2040",
                                       "BLOCK=1 screen 900 900"};

static void survivors_stand_before_what_they_beat(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    st_query query = everything();
    seen all = ask(store, query);
    expect(&all, 7, in_order);
    query.n = 1024;
    query.top = 2;
    all = ask(store, query);
    expect(&all, 2, in_order);
    query.per = "size";
    all = ask(store, query);
    expect(&all, 2, in_order);
    query = everything();
    query.where = "outcome == correct and n == 1024"; // of all that was tried
    all = ask(store, query);
    expect(&all, 6, in_order);
    st_store_close(store);
}

// The scale is that of the problem, not of the rows that a condition leaves.
static void conditions_do_not_change_the_scale(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    st_query query = everything();
    query.where = "BLOCK >= 5 and n == 1024";
    seen all = ask(store, query);
    expect(&all, 2, in_order + 4);
    query.top = 1;
    all = ask(store, query);
    expect(&all, 1, in_order + 4);
    query = everything();
    query.where = "time < 530"; // as measured
    all = ask(store, query);
    expect(&all, 1, in_order + 4);
    st_store_close(store);
}

// BLOCK is what makes it a question of two: as measured, BLOCK=5 would beat BLOCK=1.
static void what_no_other_beats_is_found_on_the_scale(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    st_query query = everything();
    query.n = 1024;
    query.pareto = "time";
    seen all = ask(store, query);
    expect(&all, 1, in_order);
    query.pareto = "time,max:BLOCK";
    all = ask(store, query);
    expect(&all, 6, in_order);
    query.pareto = "time * 1, min:BLOCK";
    all = ask(store, query);
    expect(&all, 1, in_order);
    query.where = "known(time)";
    query.pareto = "median_ns";
    all = ask(store, query);
    expect(&all, 1, in_order);
    st_store_close(store);
}

static void states_of_the_cache_have_scales_of_their_own(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session;
    assert_ok(add_session(store, "reduce", "GPU-1", "570", &session, &error), error);
    int64_t best = tried(store, &session, 1024, "BLOCK=1", (double[]){500, 0, 0, 540});
    tried(store, &session, 1024, "BLOCK=2", (double[]){510, 0, 0, 0});
    const double samples[] = {300};
    st_measurement_row row = some_measurement(best, "screen", 0, "warm", samples, 1);
    st_query query = everything();
    assert_ok(st_store_measurement(store, &row, &error), error);
    query.cache = "warm";
    seen all = ask(store, query);
    expect(&all, 1, (const char *const[]){"BLOCK=1 screen 300 300"});
    st_store_close(store);
}

// A store is asked again after more was measured.
static void the_scale_follows_the_store(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session;
    assert_ok(add_session(store, "reduce", "GPU-1", "570", &session, &error), error);
    int64_t best = tried(store, &session, 1024, "BLOCK=1", (double[]){500, 0, 0, 0});
    int64_t other = tried(store, &session, 1024, "BLOCK=2", (double[]){510, 0, 0, 0});
    seen all = ask(store, everything());
    expect(&all, 2, (const char *const[]){"BLOCK=1 screen 500 500", "BLOCK=2 screen 510 510"});
    measured(store, best, "finals", 0, 540);
    all = ask(store, everything());
    expect(&all, 2, (const char *const[]){"BLOCK=1 finals 540 540", "BLOCK=2 screen 510 550"});
    all = (seen){0};
    assert_ok(st_store_answer_of(store, other, see, &all, &error), error);
    expect(&all, 1, (const char *const[]){"BLOCK=2 screen 510 550"});
    sqlite3_exec(store->db, "UPDATE measurement SET median_ns = NULL WHERE phase = 'screen'", NULL, NULL, NULL);
    all = ask(store, everything()); // unknown is no time
    assert_int_equal(all.count, 2);
    st_store_close(store);
}

static void many_groups_are_told_apart(void **state)
{
    (void)state;
    enum { GROUPS = 100 };
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session;
    assert_ok(add_session(store, "reduce", "GPU-1", "570", &session, &error), error);
    for (int i = 1; i <= GROUPS; i++) {
        tried(store, &session, i, "BLOCK=1", (double[]){500, 0, 0, 500 + i});
        tried(store, &session, i, "BLOCK=2", (double[]){510, 0, 0, 0});
    }
    for (int i = 1; i <= GROUPS; i += 33) {
        st_query query = everything();
        char line[80];
        query.n = i;
        seen all = ask(store, query);
        snprintf(line, sizeof line, "BLOCK=2 screen 510 %d", 510 + i);
        assert_int_equal(all.count, 2);
        assert_string_equal(all.lines[1], line);
    }
    st_query query = everything();
    query.pareto = "time,max:n"; // one row a problem: all groups are looked at in one question
    query.where = "BLOCK == 2 and n > 95";
    assert_int_equal(ask(store, query).count, 5);
    query.pareto = NULL;
    query.where = "n <= 7";
    assert_int_equal(ask(store, query).count, 14);
    query.where = "n > 98 or n == 1";
    seen all = ask(store, query);
    assert_string_equal(all.lines[1], "BLOCK=2 screen 510 511");
    assert_string_equal(all.lines[5], "BLOCK=2 screen 510 610");
    st_store_close(store);
}

static void every_fault_is_an_error(void **state)
{
    (void)state;
    st_store *store = some_store(":memory:");
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SQLITE};
    for (size_t k = 0; k < 2; k++)
        for (int top = 0; top < 2; top++)
            for (unsigned long n = 1;; n++) {
                st_error error = {0};
                seen all = {0};
                st_query query = everything();
                query.top = top ? 9 : 0;
                st_fault_arm(kinds[k], n);
                st_code code = st_store_query(store, &query, see, &all, &error);
                bool injected = st_fault_injected(kinds[k]);
                st_fault_arm(kinds[k], 0);
                assert_null(store->scales);
                if (!injected) {
                    assert_ok(code, error);
                    expect(&all, 7, in_order);
                    break;
                }
                assert_true(code != ST_OK && error.what[0]);
                assert_true(n < 5000);
            }
    st_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survivors_stand_before_what_they_beat),
        cmocka_unit_test(conditions_do_not_change_the_scale),
        cmocka_unit_test(what_no_other_beats_is_found_on_the_scale),
        cmocka_unit_test(states_of_the_cache_have_scales_of_their_own),
        cmocka_unit_test(the_scale_follows_the_store),
        cmocka_unit_test(many_groups_are_told_apart),
        cmocka_unit_test(every_fault_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
