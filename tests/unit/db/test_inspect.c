// SPDX-License-Identifier: Apache-2.0
// Looking at a store as a whole. Promise of inspect.h: it changes nothing.
#include "tests/unit/db/fixture.h"

#include "db/inspect.h"

static void test_empty(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    st_store_counts counts;
    assert_ok(st_store_count(store, &counts, &error), error);
    assert_int_equal(counts.schema_version, (int)st_migration_count);
    assert_int_equal(counts.sessions, 0);
    assert_int_equal(counts.samples, 0);
    assert_int_equal(counts.first_ms, -1); // unknown, not 1970
    assert_int_equal(counts.last_ms, -1);
    assert_true(counts.bytes > 0);
    st_store_close(store);
}

static st_code count_sessions(void *context, const st_session_answer *answer, st_error *error)
{
    (void)error;
    int *count = context;
    assert_int_equal(strlen(answer->id), 32);
    assert_string_equal(answer->device_name, "NVIDIA H200");
    assert_string_equal(answer->family, *count ? "scan" : "reduce"); // oldest first
    assert_string_equal(answer->status, *count ? "running" : "finished");
    assert_int_equal(answer->finished_ms == -1, *count);
    assert_int_equal(answer->candidates, *count ? 0 : 2);
    assert_false(answer->shipped);
    ++*count;
    return ST_OK;
}

static void test_counts_and_sessions(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    st_session_row first, second;
    int64_t problem, candidate;
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &first, &error), error);
    assert_ok(add_candidate(store, &first, 1024, "A=1", 5, &problem, &candidate, &error), error);
    assert_ok(add_candidate(store, &first, 1024, "A=2", 6, &problem, &candidate, &error), error);
    st_winner_row winner = some_winner(first.key, problem, candidate, 6);
    assert_ok(st_store_winner(store, &winner, &error), error);
    assert_ok(st_store_session_end(store, first.key, ST_SESSION_FINISHED, "{}", &error), error);
    usleep(2000); // sessions are told apart by milliseconds
    assert_ok(add_session(store, "scan", "GPU-1", "580", &second, &error), error);
    st_store_counts counts;
    assert_ok(st_store_count(store, &counts, &error), error);
    assert_int_equal(counts.devices, 1);
    assert_int_equal(counts.sessions, 2);
    assert_int_equal(counts.unfinished, 1);
    assert_int_equal(counts.shipped, 0);
    assert_int_equal(counts.problems, 1);
    assert_int_equal(counts.candidates, 2);
    assert_int_equal(counts.measurements, 2);
    assert_int_equal(counts.samples, 6);
    assert_int_equal(counts.profiles, 2);
    assert_int_equal(counts.winners, 1);
    assert_true(counts.first_ms > 0 && counts.first_ms < counts.last_ms);
    int count = 0;
    assert_ok(st_store_sessions(store, count_sessions, &count, &error), error);
    assert_int_equal(count, 2);
    st_store_close(store);
}

static st_code stop(void *context, const st_session_answer *answer, st_error *error)
{
    (void)answer;
    ++*(int *)context;
    return st_fail(error, ST_STALE, NULL, "enough");
}

static void test_callback_ends_it(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    st_session_row session;
    int count = 0;
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(add_session(store, "scan", "GPU-1", "580", &session, &error), error);
    assert_int_equal(st_store_sessions(store, stop, &count, &error), ST_STALE);
    assert_int_equal(count, 1);
    st_store_close(store);
}

static void test_check(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    st_session_row session;
    st_text findings;
    bool sound = false;
    st_text_init(&findings);
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(st_store_check(store, &sound, &findings, &error), error);
    assert_true(sound);
    assert_int_equal(findings.length, 0);
    // A row whose device is gone.
    assert_int_equal(sqlite3_exec(store->db, "PRAGMA foreign_keys = OFF; DELETE FROM device", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_ok(st_store_check(store, &sound, &findings, &error), error);
    assert_false(sound);
    assert_string_equal(st_text_string(&findings), "row 1 of session refers to what is not in device\n");
    st_text_release(&findings);
    st_store_close(store);
}

// A page that is overwritten: found, or refused by SQLite itself; never called sound.
static void test_damage(void **state)
{
    (void)state;
    st_error error = {0};
    const char *path = in_folder("a.db");
    st_store *store = open_store(path, ST_STORE_WRITE);
    st_session_row session;
    int64_t problem, candidate;
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    for (int i = 0; i < 50; i++) {
        char configuration[32];
        snprintf(configuration, sizeof configuration, "A=%d", i);
        assert_ok(add_candidate(store, &session, 1024, configuration, 5, &problem, &candidate, &error), error);
    }
    int64_t pages = number(store, "SELECT page_count FROM pragma_page_count");
    int64_t size = number(store, "SELECT page_size FROM pragma_page_size");
    st_store_close(store);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)((pages / 2) * size), SEEK_SET), 0);
    for (int64_t i = 0; i < 2 * size; i++)
        fputc(0xA5, file);
    assert_int_equal(fclose(file), 0);
    bool sound = true;
    st_text findings;
    st_text_init(&findings);
    st_code code = st_store_open(path, ST_STORE_READ, &store, &error);
    if (code == ST_OK) {
        code = st_store_check(store, &sound, &findings, &error);
        assert_true(code != ST_OK || (!sound && findings.length > 0));
        st_store_close(store);
    }
    st_text_release(&findings);
}

static void test_faults(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    st_session_row session;
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_int_equal(sqlite3_exec(store->db, "PRAGMA foreign_keys = OFF; UPDATE session SET device_key = 99", NULL,
                                  NULL, NULL), SQLITE_OK);
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SQLITE};
    for (size_t k = 0; k < 2; k++)
        for (unsigned long n = 1;; n++) {
            st_store_counts counts;
            st_text findings;
            bool sound = true;
            st_text_init(&findings);
            st_fault_arm(kinds[k], n);
            st_code code = st_store_count(store, &counts, &error);
            if (code == ST_OK)
                code = st_store_check(store, &sound, &findings, &error);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            assert_int_equal(code == ST_OK, !injected);
            assert_true(code != ST_OK || !sound);
            st_text_release(&findings);
            if (!injected)
                break;
            assert_true(n < 100);
        }
    st_store_close(store);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_empty), IN_FOLDER(test_counts_and_sessions), IN_FOLDER(test_callback_ends_it),
        IN_FOLDER(test_check), IN_FOLDER(test_damage),              IN_FOLDER(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
