// SPDX-License-Identifier: Apache-2.0
// Generated stores (db/generate.h): exactly as large as asked, sound, the same for the same seed, varied enough to ask
// questions of, never on top of a file, and no file left when making one fails.
#include "fixture.h"

#include "db/generate.h"

static st_generated make(const char *path, int64_t candidates, int samples, uint64_t seed)
{
    st_error error = {0};
    st_generated made = {0};
    st_generate_options options = {.candidates = candidates, .samples = samples, .seed = seed};
    assert_ok(st_store_generate(path, &options, &made, &error), error);
    return made;
}

static void it_is_as_large_as_asked_and_sound(void **state)
{
    (void)state;
    const int64_t sizes[] = {1, 2, 97, getenv("SIMTUNE_ALL_FAULTS") ? 5000 : 600};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        st_generated made = make(in_folder("size.db"), sizes[i], 4, 1);
        assert_int_equal(access(in_folder("size.db-wal"), F_OK), -1); // one file
        st_store *store = open_store(in_folder("size.db"), ST_STORE_READ);
        assert_int_equal(made.candidates, sizes[i]);
        assert_int_equal(number(store, "SELECT count(*) FROM candidate"), sizes[i]);
        assert_int_equal(number(store, "SELECT count(*) FROM session"), made.sessions);
        assert_int_equal(number(store, "SELECT count(*) FROM measurement"), made.measurements);
        assert_int_equal(number(store, "SELECT sum(length(samples) / 8) FROM measurement"), made.samples);
        assert_int_equal(number(store, "SELECT count(*) FROM counter"), made.counters);
        assert_int_equal(number(store, "SELECT count(*) FROM winner"), made.winners);
        assert_true(made.samples >= sizes[i] * 4);
        // A profile is never without its counters, a counter never without its profile.
        assert_int_equal(number(store, "SELECT count(*) FROM counter WHERE profile_key NOT IN"
                                       " (SELECT profile_key FROM profile)"),
                         0);
        assert_int_equal(number(store, "SELECT count(*) FROM profile") * 20, made.counters);
        assert_sound(store);
        st_store_close(store);
        remove(in_folder("size.db"));
    }
}

static void it_has_much_to_ask_for(void **state)
{
    (void)state;
    make(in_folder("rich.db"), getenv("SIMTUNE_ALL_FAULTS") ? 20000 : 3000, 3, 3);
    st_store *store = open_store(in_folder("rich.db"), ST_STORE_READ);
    static const struct {
        const char *sql;
        int64_t least;
    } facts[] = {
        {"SELECT count(DISTINCT s.device_key) FROM session s", 2},
        {"SELECT count(DISTINCT s.toolchain_key) FROM session s", 2},
        {"SELECT count(DISTINCT family) FROM session", 4},
        {"SELECT count(DISTINCT template_key) FROM session", 8},
        {"SELECT count(DISTINCT problem_key) FROM candidate", 16},
        {"SELECT count(DISTINCT outcome) FROM candidate", 9},
        {"SELECT count(DISTINCT phase || cache) FROM measurement", 4},
        {"SELECT count(*) FROM counter WHERE value IS NULL", 1},
        {"SELECT count(*) FROM winner WHERE tied > 1 AND ties IS NOT NULL", 1},
        {"SELECT count(*) FROM winner WHERE winner_key <> default_key AND speedup > 1.05", 10},
        {"SELECT count(*) FROM stall_lines", 50},
        // The same configuration of the same problem in several sessions: comparisons have pairs.
        {"SELECT max(c) FROM (SELECT count(*) c FROM candidate GROUP BY problem_key, configuration_key)", 3},
        // The same device, problem and family with an older and a newer driver.
        {"SELECT max(c) FROM (SELECT count(DISTINCT toolchain_key) c FROM session GROUP BY device_key, family)", 2},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (number(store, facts[i].sql) < facts[i].least)
            fail_msg("%s: %lld", facts[i].sql, (long long)number(store, facts[i].sql));
    assert_int_equal(number(store, "SELECT count(*) FROM device WHERE backend <> 'generated'"), 0);
    assert_false(st_backend_is_hardware(ST_GENERATED_BACKEND));
    st_store_close(store);
}

// Every table has the same rows; another seed gives others.
static void the_same_seed_gives_the_same_rows(void **state)
{
    (void)state;
    char sql[400];
    make(in_folder("one.db"), 700, 5, 42);
    make(in_folder("two.db"), 700, 5, 42);
    make(in_folder("three.db"), 700, 5, 43);
    st_store *store = open_store(in_folder("one.db"), ST_STORE_WRITE);
    snprintf(sql, sizeof sql, "ATTACH '%s' AS two; ATTACH '%s' AS three;", in_folder("two.db"),
             in_folder("three.db"));
    assert_int_equal(sqlite3_exec(store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    static const char *const tables[] = {"device",  "toolchain", "template",  "problem",     "configuration",
                                         "session", "candidate", "measurement", "profile",   "metric",
                                         "counter", "stall_lines", "winner"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT (SELECT count(*) FROM (SELECT * FROM main.%s EXCEPT SELECT * FROM two.%s)) +"
                 " (SELECT count(*) FROM (SELECT * FROM two.%s EXCEPT SELECT * FROM main.%s))",
                 tables[i], tables[i], tables[i], tables[i]);
        if (number(store, sql) != 0)
            fail_msg("%s differs", tables[i]);
    }
    assert_true(number(store, "SELECT count(*) FROM (SELECT samples FROM main.measurement EXCEPT"
                              " SELECT samples FROM three.measurement)") > 100);
    assert_int_equal(number(store, "SELECT count(*) FROM main.session s JOIN three.session t USING (session_id)"), 0);
    st_store_close(store);
}

// As many candidates as a session's ids say: they are those that the store itself would give.
static void ids_are_those_of_the_store(void **state)
{
    (void)state;
    st_error error = {0};
    make(in_folder("ids.db"), 50, 2, 3);
    st_store *store = open_store(in_folder("ids.db"), ST_STORE_WRITE);
    int64_t count = number(store, "SELECT count(*) FROM candidate");
    st_candidate_row row = blank_candidate(number(store, "SELECT session_key FROM candidate WHERE candidate_key = 7"),
                                           number(store, "SELECT problem_key FROM candidate WHERE candidate_key = 7"),
                                           number(store,
                                                  "SELECT configuration_key FROM candidate WHERE candidate_key = 7"),
                                           "correct");
    assert_ok(st_store_candidate(store, &row, &error), error);
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT candidate_key FROM candidate WHERE candidate_id = '%s'", row.id);
    assert_int_equal(number(store, sql), 7);
    assert_int_equal(number(store, "SELECT count(*) FROM candidate"), count);
    st_store_close(store);
}

static void a_file_that_exists_is_refused(void **state)
{
    (void)state;
    st_error error = {0};
    st_generated made;
    st_generate_options options = {.candidates = 10, .samples = 2, .seed = 1};
    const char *path = in_folder("mine.db");
    FILE *file = fopen(path, "w");
    fputs("mine", file);
    fclose(file);
    assert_int_equal(st_store_generate(path, &options, &made, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "exists"));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 4);
    assert_int_equal(st_store_generate("/nonexistent/x.db", &options, &made, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "No such file"));
}

static void sizes_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t candidates;
        int samples;
    } bad[] = {{0, 20}, {-1, 20}, {ST_GENERATE_CANDIDATES_MAX + 1, 20}, {10, 0}, {10, 51}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        st_error error = {0};
        st_generated made;
        st_generate_options options = {.candidates = bad[i].candidates, .samples = bad[i].samples, .seed = 1};
        assert_int_equal(st_store_generate(in_folder("bad.db"), &options, &made, &error), ST_USAGE);
        assert_non_null(strstr(error.remedy, "ask for 1 to"));
        assert_int_equal(access(in_folder("bad.db"), F_OK), -1);
    }
}

static void assert_no_file(const char *name)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char path[300];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(path, sizeof path, "%s%s", in_folder(name), suffixes[i]);
        assert_int_equal(access(path, F_OK), -1);
    }
}

static bool stop_at_100(void *context, int64_t candidates)
{
    ++*(int *)context;
    return candidates < 100;
}

static void it_can_be_stopped_and_leaves_nothing(void **state)
{
    (void)state;
    st_error error = {0};
    st_generated made;
    int asked = 0;
    st_generate_options options = {.candidates = 5000, .samples = 2, .seed = 1, .go_on = stop_at_100, .context = &asked};
    assert_int_equal(st_store_generate(in_folder("stopped.db"), &options, &made, &error), ST_INTERRUPTED);
    assert_true(asked > 1);
    assert_no_file("stopped.db");
}

// Allocations and SQLite's steps fail in turn. Of a store of two candidates all; that is every kind of row.
static void a_failure_leaves_nothing(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SQLITE};
    for (size_t kind = 0; kind < 2; kind++) {
        int failures = 0;
        unsigned long step = 1;
        for (unsigned long n = 1;; n += step, step = n < 12 || getenv("SIMTUNE_ALL_FAULTS") ? 1 : n / 3) {
            st_error error = {0};
            st_generated made;
            st_generate_options options = {.candidates = 2, .samples = 2, .seed = 1};
            st_fault_arm(kinds[kind], n);
            st_code code = st_store_generate(in_folder("fails.db"), &options, &made, &error);
            bool injected = st_fault_injected(kinds[kind]);
            st_fault_arm(kinds[kind], 0);
            if (code == ST_OK)
                remove(in_folder("fails.db"));
            else
                failures++;
            if (!injected)
                break;
            if (code != ST_OK)
                assert_true(error.what[0]);
            assert_no_file("fails.db");
        }
        assert_true(failures > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_as_large_as_asked_and_sound),
        cmocka_unit_test(it_has_much_to_ask_for),
        cmocka_unit_test(the_same_seed_gives_the_same_rows),
        cmocka_unit_test(ids_are_those_of_the_store),
        cmocka_unit_test(a_file_that_exists_is_refused),
        cmocka_unit_test(sizes_out_of_range_are_refused),
        cmocka_unit_test(it_can_be_stopped_and_leaves_nothing),
        cmocka_unit_test(a_failure_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, make_fast_folder, remove_folder);
}
