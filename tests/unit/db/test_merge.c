// SPDX-License-Identifier: Apache-2.0
// Merging. Proven here: nothing is lost and nothing doubled; merging again changes nothing; either way two stores
// come to hold the same rows, also where a session was taken up in both; the other file stays as it is to the byte;
// every table of the schema is merged.
#include "tests/unit/db/damage.h"
#include "tests/unit/faults.h"

#include "db/merge.h"

// All rows of a store without its local keys, sorted: what two stores have in common.
static char *rows_of(st_store *store)
{
    static const char *const questions[] = {
        "SELECT session_id, status, finished_ms, summary, shipped, family, device_uuid, driver, template_hash FROM simtune_sessions"
        " ORDER BY 1",
        "SELECT candidate_id, session_id, problem, configuration, outcome, detail, registers FROM simtune_candidates ORDER BY 1",
        "SELECT candidate_id, phase, round, cache, median_ns, hex(samples), taken_ms FROM simtune_measurements"
        " ORDER BY 1, 2, 3, 4",
        "SELECT candidate_id, kind, name, value, seconds FROM simtune_counters ORDER BY 1, 2, 3",
        "SELECT candidate_id, session_id, problem, cache, median_ns, default_ns, ties, note FROM simtune_winners ORDER BY 2, 3, 4",
        "SELECT session_id, marked_ms, note FROM simtune_baselines ORDER BY 1",
        "SELECT acknowledgement_id, baseline_id, session_id, problem, cache, reason, author FROM simtune_acknowledgements ORDER BY 1",
        "SELECT device_id, uuid, name, pci, cc, sm_count, memory_bytes, l2_bytes, facts, read_gbs, copy_gbs FROM device ORDER BY 1",
        "SELECT candidate_id, lines FROM stall_lines JOIN candidate USING (candidate_key) ORDER BY 1",
        "SELECT problem_id FROM problem ORDER BY 1", "SELECT configuration_id FROM configuration ORDER BY 1",
        "SELECT toolchain_id FROM toolchain ORDER BY 1", "SELECT hash, texts FROM template ORDER BY 1",
        "SELECT name FROM metric ORDER BY 1"};
    st_text out;
    st_text_init(&out);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_prepare_v2(store->db, questions[i], -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            for (int c = 0; c < sqlite3_column_count(statement); c++) {
                const char *text = (const char *)sqlite3_column_text(statement, c);
                st_text_addf(&out, "|%s", text ? text : "-");
            }
            st_text_add(&out, "\n");
        }
        sqlite3_finalize(statement);
        st_text_add(&out, "--\n");
    }
    return st_text_take(&out);
}

static void copy_file(const char *from, const char *to)
{
    unsigned char *bytes;
    size_t length = read_bytes(from, &bytes);
    write_bytes(to, bytes, length);
    st_free(bytes);
}

static st_merge_report merge_into(const char *into, const char *other)
{
    st_error error = {0};
    st_merge_report report;
    unsigned char *before, *after;
    size_t length = read_bytes(other, &before);
    st_store *store = open_store(into, ST_STORE_WRITE);
    assert_ok(st_store_merge(store, other, &report, &error), error);
    assert_sound(store);
    st_store_close(store);
    assert_int_equal(read_bytes(other, &after), length);
    assert_memory_equal(before, after, length);
    st_free(before);
    st_free(after);
    return report;
}

// Merges both ways into copies and compares; then once more, which must change nothing.
static void assert_symmetric(const char *a, const char *b)
{
    char left[256], right[256];
    snprintf(left, sizeof left, "%s/left.db", folder);
    snprintf(right, sizeof right, "%s/right.db", folder);
    copy_file(a, left);
    copy_file(b, right);
    merge_into(left, b);
    merge_into(right, a);
    st_store *store = open_store(left, ST_STORE_READ);
    char *first = rows_of(store);
    st_store_close(store);
    store = open_store(right, ST_STORE_READ);
    char *second = rows_of(store);
    st_store_close(store);
    assert_string_equal(first, second);
    st_merge_report report = merge_into(left, b);
    assert_int_equal(report.new_sessions + report.changed_sessions + report.new_candidates + report.new_measurements +
                         report.settled + report.new_devices + report.new_baselines, 0);
    store = open_store(left, ST_STORE_READ);
    char *again = rows_of(store);
    st_store_close(store);
    assert_string_equal(first, again);
    st_free(first);
    st_free(second);
    st_free(again);
}

static void two_strangers(void **state)
{
    (void)state;
    char a[256], b[256];
    snprintf(a, sizeof a, "%s/a.db", folder);
    snprintf(b, sizeof b, "%s/b.db", folder);
    make_big_store(a);
    usleep(3000);
    make_big_store(b);
    st_merge_report report = merge_into(in_folder("empty.db"), a);
    assert_int_equal(report.sessions, 2);
    assert_int_equal(report.new_sessions, 2);
    assert_int_equal(report.new_candidates, BIG_CANDIDATES);
    assert_int_equal(report.new_measurements, 2 * BIG_CANDIDATES);
    assert_int_equal(report.new_winners, 2);
    assert_int_equal(report.new_baselines, 2);
    assert_int_equal(report.new_devices, 2);
    assert_symmetric(a, b);
    st_store *store = open_store(in_folder("left.db"), ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM session"), 4);
    assert_int_equal(number(store, "SELECT count(*) FROM device"), 2); // the same cards
    assert_int_equal(number(store, "SELECT count(*) FROM counter"), 4 * BIG_CANDIDATES);
    assert_int_equal(number(store, "SELECT count(*) FROM stall_lines"), 2 * BIG_CANDIDATES);
    st_store_close(store);
}

static void change(const char *path, const char *sql)
{
    st_error error = {0};
    st_store *store = open_store(path, ST_STORE_WRITE);
    assert_ok(st_script_run(store, sql, "changing", &error), error);
    st_store_close(store);
}

static void small_store(const char *path)
{
    st_error error = {0};
    st_session_row session;
    int64_t problem, candidate;
    st_store *store = open_store(path, ST_STORE_WRITE);
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    for (int i = 0; i < 3; i++) {
        char text[16];
        snprintf(text, sizeof text, "A=%d", i);
        assert_ok(add_candidate(store, &session, 1024, text, 5 + i, &problem, &candidate, &error), error);
    }
    st_store_close(store);
}

// A session that was copied and then went on in one, or in both.
// a.db and b.db, with the same rows.
static void two_alike(char a[256], char b[256])
{
    snprintf(a, 256, "%s/a.db", folder);
    snprintf(b, 256, "%s/b.db", folder);
    small_store(a);
    copy_file(a, b);
}

static void a_session_that_went_on(void **state)
{
    (void)state;
    char a[256], b[256];
    two_alike(a, b);
    change(b, "UPDATE candidate SET outcome = 'wrong', detail = 'differs at 7' WHERE candidate_key = 2;"
              "UPDATE session SET status = 'finished', finished_ms = started_ms + 5, summary = '{\"b\":1}';"
              "INSERT INTO winner SELECT session_key, problem_key, 'cold', 1, 1, 5, 5, 1, 1, 1, 1, NULL, 64, 'b' FROM candidate LIMIT 1;"
              "UPDATE counter SET value = 0.5 WHERE profile_key = 1;"
              "UPDATE stall_lines SET lines = '[]' WHERE candidate_key = 1;"
              "UPDATE measurement SET taken_ms = taken_ms + 7, samples = zeroblob(24) WHERE measurement_key = 3");
    change(a, "UPDATE session SET status = 'interrupted', finished_ms = started_ms + 9, summary = '{\"a\":1}';"
              "UPDATE candidate SET registers = NULL; UPDATE counter SET value = NULL WHERE profile_key = 2;"
              "INSERT INTO baseline VALUES (1, 1764000000001, 'a')");
    change(b, "INSERT INTO baseline VALUES (1, 1764000000000, 'b')");
    assert_symmetric(a, b);
    st_store *store = open_store(in_folder("left.db"), ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM session WHERE status = 'finished' AND summary = '{\"b\":1}'"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM candidate WHERE outcome = 'wrong' AND detail = 'differs at 7'"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM candidate WHERE registers = 32"), 3); // filled in again
    assert_int_equal(number(store, "SELECT count(*) FROM winner"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM measurement WHERE samples = zeroblob(24)"), 0); // the older stays
    assert_int_equal(number(store, "SELECT count(*) FROM baseline WHERE note = 'a'"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM counter WHERE value = 0.5"), 2);
    st_store_close(store);
}

static void thinned_samples_come_back(void **state)
{
    (void)state;
    char a[256], b[256];
    two_alike(a, b);
    change(b, "UPDATE measurement SET samples_taken = 3, samples = zeroblob(8)");
    assert_symmetric(a, b);
    st_store *store = open_store(in_folder("right.db"), ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM measurement WHERE samples_taken IS NULL AND length(samples) = 24"), 3);
    st_store_close(store);
}

static void devices_and_shipped(void **state)
{
    (void)state;
    char a[256], b[256];
    two_alike(a, b);
    change(a, "UPDATE session SET shipped = 1; UPDATE device SET read_gbs = 4000, copy_gbs = 3000, l2_bytes = NULL");
    change(b, "UPDATE device SET read_gbs = 4600, copy_gbs = NULL, l2_bytes = 62914560, facts = '{}'");
    assert_symmetric(a, b);
    st_store *store = open_store(in_folder("left.db"), ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM session WHERE shipped = 0"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM device WHERE read_gbs = 4600 AND copy_gbs = 3000"
                                   " AND l2_bytes = 62914560 AND facts = '{}'"), 1);
    st_store_close(store);
}

static void acknowledgements(void **state)
{
    (void)state;
    char a[256], b[256];
    two_alike(a, b);
#define ACKNOWLEDGE(id, reason, ms) \
    "INSERT INTO acknowledgement VALUES (NULL, '" id "', 1, 1, 1, 'cold', '" reason "', 'me', " ms ")"
    change(a, ACKNOWLEDGE("0123456789abcdef0123456789abcdef", "first", "1764000000000"));
    change(b, ACKNOWLEDGE("fedcba9876543210fedcba9876543210", "second", "1764000000009"));
    assert_symmetric(a, b);
    st_store *store = open_store(in_folder("right.db"), ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM acknowledgement WHERE reason = 'first'"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM acknowledgement"), 1);
    st_store_close(store);
}

static void an_older_store(void **state)
{
    (void)state;
    st_error error = {0};
    const st_store_options first = {1000, st_migrations, 1};
    const char *path = in_folder("old.db");
    st_store *store;
    st_session_row session;
    int64_t problem, candidate;
    assert_ok(st_store_open_with(path, ST_STORE_WRITE, &first, &store, &error), error);
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(add_candidate(store, &session, 1024, "A=1", 5, &problem, &candidate, &error), error);
    st_store_close(store);
    st_merge_report report = merge_into(in_folder("new.db"), path);
    assert_int_equal(report.schema_version, 1);
    assert_int_equal(report.new_candidates, 1);
    assert_int_equal(report.unfinished, 1);
    store = open_store(in_folder("new.db"), ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM counter"), 2);
    st_store_close(store);
}

static void what_is_refused(void **state)
{
    (void)state;
    st_error error = {0};
    st_merge_report report;
    st_store *store = open_store(in_folder("a.db"), ST_STORE_WRITE);
    assert_int_equal(st_store_merge(store, in_folder("missing.db"), &report, &error), ST_NOTHING);
    assert_int_equal(st_store_merge(store, in_folder("a.db"), &report, &error), ST_USAGE);
    assert_int_equal(st_store_merge(store, folder, &report, &error), ST_FAILED);
    write_bytes(in_folder("text"), (const unsigned char *)"no store, and more than a hundred bytes of it, which is what a header of a database takes, as you may know", 105);
    assert_int_equal(st_store_merge(store, in_folder("text"), &report, &error), ST_FAILED);
    st_store *newer = open_store(in_folder("newer.db"), ST_STORE_WRITE);
    assert_ok(st_script_run(newer, "PRAGMA user_version = 999", "t", &error), error);
    st_store_close(newer);
    assert_int_equal(st_store_merge(store, in_folder("newer.db"), &report, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "999"));
    assert_int_equal(number(store, "SELECT count(*) FROM sqlite_temp_schema"), 0);
    st_store_close(store);
}

// A table that a migration adds must be merged too; this list is what merge.c has a statement for.
static void every_table_is_merged(void **state)
{
    (void)state;
    static const char known[] = " device toolchain template problem configuration metric session candidate measurement"
                                " profile counter stall_lines winner baseline acknowledgement ";
    st_error error = {0};
    st_table tables[ST_TABLES_MOST];
    size_t count;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    assert_ok(st_tables_of(store, tables, &count, &error), error);
    assert_int_equal(count, 15);
    for (size_t i = 0; i < count; i++) {
        char word[40];
        snprintf(word, sizeof word, " %.31s ", tables[i].name);
        if (!strstr(known, word))
            fail_msg("nobody merges the table %s", tables[i].name);
    }
    st_store_close(store);
}

static void faults_leave_whole_sessions(void **state)
{
    (void)state;
    const st_fault kinds[] = {ST_FAULT_SQLITE, ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    char other[256], into[256];
    snprintf(other, sizeof other, "%s/other.db", folder);
    snprintf(into, sizeof into, "%s/into.db", folder);
    small_store(other);
    for (size_t k = 0; k < 3; k++)
        for (unsigned long n = 1;; n = next_fault(n)) {
            st_error error = {0};
            st_merge_report report;
            st_store *store = open_store(into, ST_STORE_WRITE);
            st_fault_arm(kinds[k], n);
            st_code code = st_store_merge(store, other, &report, &error);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            assert_true(code == ST_OK || (injected && error.what[0]));
            int64_t sessions = number(store, "SELECT count(*) FROM session");
            assert_int_equal(number(store, "SELECT count(*) FROM measurement"), 3 * sessions); // whole, or not at all
            assert_int_equal(number(store, "SELECT count(*) FROM counter"), 6 * sessions);
            assert_sound(store);
            assert_int_equal(number(store, "SELECT count(*) FROM sqlite_temp_schema"), 0);
            st_store_close(store);
            unlink(into);
            if (!injected)
                break;
        }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_fast_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(two_strangers),     IN_FOLDER(a_session_that_went_on), IN_FOLDER(thinned_samples_come_back),
        IN_FOLDER(devices_and_shipped), IN_FOLDER(acknowledgements),     IN_FOLDER(an_older_store),
        IN_FOLDER(what_is_refused),   IN_FOLDER(every_table_is_merged),  IN_FOLDER(faults_leave_whole_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
