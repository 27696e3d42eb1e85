// SPDX-License-Identifier: Apache-2.0
// What check finds in a store whose file is sound. Proven here: a store that the tool made has nothing wrong; each
// kind of finding is found, with its number, when rows are made so; nothing is changed.
#include "tests/unit/db/damage.h"

#include "db/check.h"

typedef struct found {
    char kinds[512]; // "kind=count " of each finding
    int wrong;
} found;

static st_code note(void *context, const st_check_finding *finding, st_error *error)
{
    (void)error;
    found *all = context;
    size_t used = strlen(all->kinds);
    snprintf(all->kinds + used, sizeof all->kinds - used, "%s=%lld ", finding->kind, (long long)finding->count);
    assert_true(strlen(finding->words) > 4 && finding->count > 0);
    all->wrong += finding->severity != ST_SEVERITY_REMARK;
    return ST_OK;
}

static st_store *made(void)
{
    st_error error = {0};
    st_session_row session;
    int64_t problem, candidate;
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    for (int i = 0; i < 4; i++) {
        char text[16];
        snprintf(text, sizeof text, "A=%d", i);
        assert_ok(add_candidate(store, &session, 1024, text, 5 + i, &problem, &candidate, &error), error);
    }
    st_winner_row winner = some_winner(session.key, problem, candidate, 8);
    assert_ok(st_store_winner(store, &winner, &error), error);
    assert_ok(st_store_session_end(store, session.key, ST_SESSION_FINISHED, "{}", &error), error);
    return store;
}

static found examine(st_store *store)
{
    st_error error = {0};
    found all = {0};
    int changes = sqlite3_total_changes(store->db);
    assert_ok(st_store_examine(store, note, &all, &error), error);
    assert_int_equal(sqlite3_total_changes(store->db), changes);
    return all;
}

static void a_sound_store(void **state)
{
    (void)state;
    st_store *store = made();
    assert_string_equal(examine(store).kinds, "");
    st_store_close(store);
    store = open_store(":memory:", ST_STORE_WRITE); // nothing in it, nothing wrong
    assert_string_equal(examine(store).kinds, "");
    st_store_close(store);
    make_big_store(in_folder("big.db"));
    store = open_store(in_folder("big.db"), ST_STORE_READ);
    assert_int_equal(examine(store).wrong, 1); // its fixture says that a winner of 100 ns took 9
    st_store_close(store);
}

static void each_kind(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *kinds;
        int wrong;
    } cases[] = {
        {"UPDATE problem SET text = text || ' x=1'", "wrong_id=1 ", 1},
        {"UPDATE configuration SET text = 'B=1' WHERE configuration_key = 2", "wrong_id=1 ", 1},
        {"UPDATE device SET uuid = 'GPU-7'", "wrong_id=1 ", 1},
        {"UPDATE toolchain SET driver = '581'", "wrong_id=1 ", 1},
        {"UPDATE candidate SET candidate_id = printf('%032d', candidate_key)", "wrong_id=4 ", 1},
        {"UPDATE measurement SET samples = x'000000000000f07f0000000000000040' WHERE measurement_key = 1",
         "samples_not_finite=1 ", 1},
        {"UPDATE measurement SET samples = x'00000000000000c0' WHERE measurement_key < 3", "samples_not_finite=2 ", 1},
        {"UPDATE measurement SET samples = x'0102' WHERE measurement_key = 1", "samples_of_odd_length=1 ", 1},
        {"UPDATE measurement SET median_ns = 1000 WHERE measurement_key = 1", "median_outside_samples=1 ", 1},
        {"UPDATE measurement SET median_ns = 1000, samples_taken = 9 WHERE measurement_key = 1", "thinned=1 ", 0},
        {"UPDATE winner SET winner_ns = 100", "winner_unlike_its_samples=1 ", 1},
        {"UPDATE candidate SET outcome = 'wrong'", "winner_not_of_its_session=1 ", 1},
        {"UPDATE problem SET family = 'scan'", "wrong_id=1 candidate_of_two_families=4 ", 2},
        {"UPDATE session SET family = 'scan'", "candidate_of_two_families=4 session_of_two_families=1 ", 2},
        {"UPDATE session SET finished_ms = started_ms - 1", "session_ends_before_it_begins=1 ", 1},
        {"DELETE FROM winner", "session_without_winner=1 ", 0},
        {"DELETE FROM counter WHERE profile_key = 1", "profile_without_counters=1 ", 0},
        {"DROP TRIGGER profile_takes_its_counters; DELETE FROM profile WHERE profile_key = 1",
         "schema_incomplete=1 counter_without_profile=2 ", 2},
        {"DROP INDEX candidate_problem; DROP INDEX winner_default", "schema_incomplete=2 ", 1},
        {"INSERT INTO metric (name) VALUES ('nobody')", "unused_metric=1 ", 0},
        {"INSERT INTO problem VALUES (NULL, '0123456789abcdef0123456789abcdef', 'r', 'n=1', NULL, NULL, 1)",
         "wrong_id=1 unused_problem=1 ", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_store *store = made();
        char *message = NULL;
        sqlite3_exec(store->db, "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;"
                                "DROP TRIGGER IF EXISTS none", NULL, NULL, NULL);
        if (sqlite3_exec(store->db, cases[i].sql, NULL, NULL, &message) != SQLITE_OK)
            fail_msg("%s: %s", cases[i].sql, message);
        found all = examine(store);
        if (strcmp(all.kinds, cases[i].kinds) != 0 || all.wrong != cases[i].wrong)
            fail_msg("%s: found %s", cases[i].sql, all.kinds);
        st_store_close(store);
        unlink(in_folder("a.db"));
    }
}

static void what_nobody_uses(void **state)
{
    (void)state;
    st_error error = {0};
    int64_t key;
    st_store *store = made();
    st_device_row device = some_device("GPU-9");
    st_toolchain_row toolchain = some_toolchain("999");
    assert_ok(st_store_device(store, &device, &key, &error), error);
    assert_ok(st_store_toolchain(store, &toolchain, &key, &error), error);
    assert_ok(st_store_template(store, "scan", "hash", "{}", &key, &error), error);
    assert_ok(st_store_problem(store, "scan", "n=1", NULL, NULL, 1, &key, &error), error);
    assert_ok(st_store_configuration(store, "scan", "A=1", &key, &error), error);
    found all = examine(store);
    assert_string_equal(all.kinds, "unused_configuration=1 unused_problem=1 unused_device=1 unused_toolchain=1"
                                   " unused_template=1 ");
    assert_int_equal(all.wrong, 0);
    st_store_close(store);
}

static void faults_are_reported(void **state)
{
    (void)state;
    const st_fault kinds[] = {ST_FAULT_SQLITE, ST_FAULT_ALLOCATION};
    st_store *store = made();
    for (size_t k = 0; k < 2; k++)
        for (unsigned long n = 1;; n += 1 + n / 20) {
            st_error error = {0};
            found all = {0};
            st_fault_arm(kinds[k], n);
            st_code code = st_store_examine(store, note, &all, &error);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            assert_int_equal(code == ST_OK, !injected);
            if (!injected)
                break;
        }
    st_store_close(store);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_fast_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_sound_store), IN_FOLDER(each_kind), IN_FOLDER(what_nobody_uses), IN_FOLDER(faults_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
