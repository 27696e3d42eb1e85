// SPDX-License-Identifier: Apache-2.0
// Versions of the schema (invariants of db/migrations.c): an older store arrives whole at the newest
// version or stays as it was, a newer one is refused untouched, a reader migrates a copy in memory.
#include "fixture.h"

#include <sys/wait.h>

static const char *const first[] = {st_schema_1_tables, st_schema_1_views, NULL};
static const char *const second[] = {
    "ALTER TABLE session ADD COLUMN host TEXT;",
    "UPDATE session SET host = 'unknown'; DROP VIEW simtune_best;"
    "CREATE VIEW simtune_best AS SELECT session_id, host FROM session;",
    NULL};
static const char *const broken[] = {"CREATE TABLE half (x INTEGER) STRICT;", "SELECT nonsense;",
                                     NULL};
static const char *const dangling[] = {"DELETE FROM device;", NULL};
static const st_migration two[] = {{1, "first schema", first}, {2, "hosts", second}};
static const st_migration two_broken[] = {{1, "first schema", first}, {2, "broken", broken}};
static const st_migration two_dangling[] = {{1, "first schema", first}, {2, "dangling", dangling}};

static st_code open_with(const char *path, st_store_mode mode, const st_migration *migrations,
                         size_t count, st_store **store, st_error *error)
{
    st_store_options options = {2000, migrations, count};
    return st_store_open_with(path, mode, &options, store, error);
}

static void make_old(const char *path)
{
    st_error error = {0};
    st_session_row session;
    int64_t problem, candidate;
    st_store *store;
    assert_ok(open_with(path, ST_STORE_WRITE, two, 1, &store, &error), error);
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(add_candidate(store, &session, 8, "BLOCK=1", 5, &problem, &candidate, &error), error);
    st_store_close(store);
}

static void copy(const char *from, const char *to)
{
    char command[1200];
    snprintf(command, sizeof command, "cp -p %s %s", from, to);
    assert_int_equal(system(command), 0);
}

static bool same_bytes(const char *a, const char *b)
{
    char command[1200];
    snprintf(command, sizeof command, "cmp -s %s %s", a, b);
    return system(command) == 0;
}

static void the_table_is_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < st_migration_count; i++)
        assert_int_equal(st_migrations[i].number, i + 1);
}

static void a_new_store_is_stamped(void **state)
{
    (void)state;
    st_store *store = open_store(in_folder("new.db"), ST_STORE_WRITE);
    assert_int_equal(number(store, "PRAGMA user_version"), st_migration_count);
    assert_int_equal(number(store, "PRAGMA application_id"), ST_APPLICATION_ID);
    assert_int_equal(number(store, "PRAGMA foreign_keys"), 1);
    assert_int_equal(number(store, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    assert_int_equal(number(store,
                            "SELECT count(*) FROM pragma_table_list WHERE type = 'table'"
                            " AND schema = 'main' AND name NOT LIKE 'sqlite_%' AND NOT strict"),
                     0);
    assert_sound(store);
    st_store_close(store);
    store = open_store(in_folder("new.db"), ST_STORE_WRITE); // again: nothing to do
    assert_int_equal(number(store, "PRAGMA user_version"), st_migration_count);
    st_store_close(store);
}

static void an_older_store_is_migrated_by_a_writer(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store;
    make_old(in_folder("old.db"));
    assert_ok(open_with(in_folder("old.db"), ST_STORE_WRITE, two, 2, &store, &error), error);
    assert_int_equal(number(store, "PRAGMA user_version"), 2);
    assert_int_equal(number(store, "SELECT host = 'unknown' FROM simtune_best"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM measurement"), 1);
    assert_int_equal(number(store, "PRAGMA foreign_keys"), 1);
    assert_sound(store);
    st_store_close(store);
}

static void an_older_store_is_read_through_a_copy(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store;
    int64_t key;
    make_old(in_folder("old-read.db"));
    copy(in_folder("old-read.db"), in_folder("old-read.copy"));
    assert_ok(open_with(in_folder("old-read.db"), ST_STORE_READ, two, 2, &store, &error), error);
    assert_int_equal(number(store, "SELECT host = 'unknown' FROM simtune_best"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM measurement"), 1);
    assert_int_equal(st_store_problem(store, "r", "x", NULL, NULL, -1, &key, &error), ST_FAILED);
    assert_string_equal(st_store_path(store), in_folder("old-read.db"));
    st_store_close(store);
    assert_true(same_bytes(in_folder("old-read.db"), in_folder("old-read.copy")));
    // An empty file is a store of version 0.
    FILE *file = fopen(in_folder("empty.db"), "wb");
    fclose(file);
    store = open_store(in_folder("empty.db"), ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM simtune_best"), 0);
    st_store_close(store);
    struct stat status;
    assert_int_equal(stat(in_folder("empty.db"), &status), 0);
    assert_int_equal(status.st_size, 0);
    st_store_close(open_store(in_folder("empty.db"), ST_STORE_WRITE));
}

static void a_newer_store_is_refused_untouched(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store;
    assert_ok(open_with(in_folder("newer.db"), ST_STORE_WRITE, two, 2, &store, &error), error);
    st_store_close(store);
    copy(in_folder("newer.db"), in_folder("newer.copy"));
    for (int mode = ST_STORE_READ; mode <= ST_STORE_WRITE; mode++) {
        assert_int_equal(
            open_with(in_folder("newer.db"), (st_store_mode)mode, two, 1, &store, &error),
            ST_FAILED);
        assert_null(store);
        assert_non_null(strstr(error.what, "version 2"));
        assert_non_null(strstr(error.what, "up to 1"));
        assert_non_null(strstr(error.remedy, "newer simtune"));
        assert_true(same_bytes(in_folder("newer.db"), in_folder("newer.copy")));
        assert_int_equal(access(in_folder("newer.db-wal"), F_OK), -1);
    }
}

// A killed writer has migrated, but the new version stands in the write-ahead log only.
static void a_newer_version_in_the_log_is_seen(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store;
    char wal[300], wal_copy[300];
    make_old(in_folder("log.db"));
    pid_t child = fork();
    if (child == 0)
        _exit(open_with(in_folder("log.db"), ST_STORE_WRITE, two, 2, &store, NULL) == ST_OK ? 0
                                                                                            : 1);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    snprintf(wal, sizeof wal, "%s-wal", in_folder("log.db"));
    snprintf(wal_copy, sizeof wal_copy, "%s-wal.copy", in_folder("log.db"));
    copy(in_folder("log.db"), in_folder("log.copy"));
    copy(wal, wal_copy);
    for (int mode = ST_STORE_READ; mode <= ST_STORE_WRITE; mode++) {
        assert_int_equal(
            open_with(in_folder("log.db"), (st_store_mode)mode, two, 1, &store, &error), ST_FAILED);
        assert_non_null(strstr(error.what, "version 2"));
        assert_true(same_bytes(in_folder("log.db"), in_folder("log.copy")));
        assert_true(same_bytes(wal, wal_copy));
    }
    assert_ok(open_with(in_folder("log.db"), ST_STORE_WRITE, two, 2, &store, &error), error);
    assert_sound(store);
    st_store_close(store);
}

static void a_failed_migration_changes_nothing(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store;
    make_old(in_folder("fails.db"));
    assert_int_equal(
        open_with(in_folder("fails.db"), ST_STORE_WRITE, two_broken, 2, &store, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "migration 2 (broken)"));
    assert_int_equal(
        open_with(in_folder("fails.db"), ST_STORE_WRITE, two_dangling, 2, &store, &error),
        ST_FAILED);
    assert_non_null(strstr(error.what, "session refers to a row that is not there"));
    assert_ok(open_with(in_folder("fails.db"), ST_STORE_WRITE, two, 1, &store, &error), error);
    assert_int_equal(number(store, "PRAGMA user_version"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'"), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM device"), 1);
    st_store_close(store);
}

static void databases_of_others_are_refused(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store;
    sqlite3 *raw;
    assert_int_equal(sqlite3_open(in_folder("other.db"), &raw), SQLITE_OK);
    assert_int_equal(sqlite3_exec(raw, "CREATE TABLE mine (x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(raw);
    copy(in_folder("other.db"), in_folder("other.copy"));
    for (int mode = ST_STORE_READ; mode <= ST_STORE_WRITE; mode++) {
        assert_int_equal(st_store_open(in_folder("other.db"), (st_store_mode)mode, &store, &error),
                         ST_FAILED);
        assert_non_null(strstr(error.what, "another program"));
        assert_true(same_bytes(in_folder("other.db"), in_folder("other.copy")));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_in_order),
        cmocka_unit_test(a_new_store_is_stamped),
        cmocka_unit_test(an_older_store_is_migrated_by_a_writer),
        cmocka_unit_test(an_older_store_is_read_through_a_copy),
        cmocka_unit_test(a_newer_store_is_refused_untouched),
        cmocka_unit_test(a_newer_version_in_the_log_is_seen),
        cmocka_unit_test(a_failed_migration_changes_nothing),
        cmocka_unit_test(databases_of_others_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
