// SPDX-License-Identifier: Apache-2.0
// Stores that an earlier simtune wrote, kept under tests/unit/db/data: each arrives at the newest version with every
// row and with every answer of its views, for writers in the file and for readers in a copy; a migration that fails
// anywhere leaves the file as it was. To keep another one: gzip a store of the released version (failed candidates,
// counters, stall lines, winners, a running and a shipped session, at least) and add a row to `kept`.
#include "fixture.h"

#include <zlib.h>

typedef struct kept_store {
    const char *file; // in tests/unit/db/data
    int version;
    // Tables that a later version holds in another form, by commas: their rows are compared by a test of their own.
    const char *reshaped;
} kept_store;

static const kept_store kept[] = {
    {"store_v1.db.gz", 1, ""},
};
#define KEPT_COUNT (sizeof kept / sizeof *kept)

// Released scripts never change: their hashes.
static const struct {
    const char *const *scripts;
    const char *hash;
} released[] = {
    {(const char *const[]){st_schema_1_tables, st_schema_1_views, NULL}, "659a881bd2b2c12a5c0f6c2d9df4fbd3"},
};

static const char *unpack(const kept_store *store, const char *name)
{
    char path[300], bytes[65536];
    const char *to = in_folder(name);
    snprintf(path, sizeof path, "tests/unit/db/data/%s", store->file);
    gzFile from = gzopen(path, "rb");
    assert_non_null(from);
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    int count;
    while ((count = gzread(from, bytes, sizeof bytes)) > 0)
        assert_int_equal(fwrite(bytes, 1, (size_t)count, file), count);
    assert_int_equal(count, 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(gzclose(from), Z_OK);
    return to;
}

static void run_sql(st_store *store, const char *sql)
{
    char *why = NULL;
    if (sqlite3_exec(store->db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
}

static bool stands_in(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
            return true;
    return false;
}

// The columns of old.NAME, by commas.
static void columns_of(st_store *store, const char *name, st_text *out)
{
    sqlite3_stmt *statement;
    st_text_clear(out);
    assert_int_equal(sqlite3_prepare_v2(store->db, "SELECT group_concat(name) FROM pragma_table_info(?, 'old')", -1,
                                        &statement, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    st_text_add(out, (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
}

// Every row of the old table or view stands in the new one, and no other.
static void assert_same_rows(st_store *store, const char *name)
{
    st_text columns, sql;
    st_text_init(&columns);
    st_text_init(&sql);
    columns_of(store, name, &columns);
    static const char *const from_to[2][2] = {{"old", "main"}, {"main", "old"}};
    for (int way = 0; way < 2; way++) {
        st_text_clear(&sql);
        st_text_addf(&sql, "SELECT count(*) FROM (SELECT %s FROM %s.%s EXCEPT SELECT %s FROM %s.%s)", columns.data,
                     from_to[way][0], name, columns.data, from_to[way][1], name);
        int64_t missing = number(store, sql.data);
        if (missing)
            fail_msg("%lld rows of %s.%s are not in %s", (long long)missing, from_to[way][0], name, from_to[way][1]);
    }
    st_text_clear(&sql);
    st_text_addf(&sql, "SELECT (SELECT count(*) FROM old.%s) = (SELECT count(*) FROM main.%s)", name, name);
    assert_int_equal(number(store, sql.data), 1);
    st_text_release(&columns);
    st_text_release(&sql);
}

// Compares each table and each promised view of the file at `old` with the store.
static int assert_whole(st_store *store, const kept_store *as, const char *old)
{
    char sql[400];
    int compared = 0;
    run_sql(store, "PRAGMA query_only = OFF");
    snprintf(sql, sizeof sql, "ATTACH '%s' AS old", old);
    run_sql(store, sql);
    assert_int_equal(number(store, "PRAGMA old.user_version"), as->version);
    sqlite3_stmt *names;
    assert_int_equal(sqlite3_prepare_v2(store->db, "SELECT name FROM old.sqlite_schema WHERE type IN ('table', 'view')"
                                                   " AND name NOT LIKE 'sqlite_%' ORDER BY type, name",
                                        -1, &names, NULL),
                     SQLITE_OK);
    while (sqlite3_step(names) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(names, 0);
        snprintf(sql, sizeof sql, "SELECT count(*) > 0 FROM old.%s", name);
        if (number(store, sql) != 1)
            fail_msg("%s has no row of %s: it proves nothing about it", as->file, name);
        if (!stands_in(as->reshaped, name))
            assert_same_rows(store, name);
        compared++;
    }
    sqlite3_finalize(names);
    run_sql(store, "DETACH old");
    return compared;
}

// What a kept file must hold to prove something.
static void assert_rich(st_store *store)
{
    assert_true(number(store, "SELECT count(DISTINCT outcome) FROM candidate") >= 4);
    assert_true(number(store, "SELECT count(DISTINCT phase) FROM measurement") == 3);
    assert_true(number(store, "SELECT count(DISTINCT kind) FROM profile") == 2);
    assert_true(number(store, "SELECT count(*) FROM session WHERE status = 'running'") > 0);
    assert_true(number(store, "SELECT count(*) FROM session WHERE shipped") > 0);
    assert_true(number(store, "SELECT count(*) FROM candidate WHERE detail IS NOT NULL") > 0);
    assert_true(number(store, "SELECT count(*) FROM device WHERE backend = 'emu'") > 0);
}

static st_code count_answers(void *context, const st_answer *answer, st_error *error)
{
    (void)answer;
    (void)error;
    ++*(int *)context;
    return ST_OK;
}

// The migrated store goes on: it is asked, resumed, and takes rows.
static void assert_usable(st_store *store)
{
    st_error error = {0};
    st_query query = {.cc = -1, .sm_count = -1, .n = -1, .since_ms = -1, .best = true};
    st_session_row session;
    int64_t problem, candidate;
    int before = 0, after = 0;
    assert_ok(st_store_query(store, &query, count_answers, &before, &error), error);
    assert_true(before > 0);
    assert_ok(add_session(store, "reduce", "GPU-new", "590", &session, &error), error);
    assert_ok(add_candidate(store, &session, 4096, "BLOCK=4096", 5, &problem, &candidate, &error), error);
    st_winner_row winner = some_winner(session.key, problem, candidate, 5);
    assert_ok(st_store_winner(store, &winner, &error), error);
    assert_ok(st_store_session_end(store, session.key, ST_SESSION_FINISHED, NULL, &error), error);
    assert_ok(st_store_query(store, &query, count_answers, &after, &error), error);
    assert_int_equal(after, before + 1);
    char key[ST_HASH_TEXT];
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(store->db, "SELECT resume_key FROM session WHERE status = 'running'", -1,
                                        &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    snprintf(key, sizeof key, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    assert_ok(st_store_session_unfinished(store, key, &session, &error), error);
    st_session_row_release(&session);
}

static void a_writer_brings_every_row_to_the_newest_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEPT_COUNT; i++) {
        char path[256], old[256];
        snprintf(path, sizeof path, "%s", unpack(&kept[i], "kept.db"));
        snprintf(old, sizeof old, "%s", unpack(&kept[i], "kept-old.db"));
        st_store *store = open_store(path, ST_STORE_WRITE);
        assert_int_equal(number(store, "PRAGMA user_version"), st_migrations[st_migration_count - 1].number);
        assert_rich(store);
        assert_true(assert_whole(store, &kept[i], old) >= 20);
        assert_sound(store);
        assert_usable(store);
        assert_sound(store);
        st_store_close(store);
        store = open_store(path, ST_STORE_READ); // it stays
        assert_int_equal(number(store, "SELECT count(*) FROM device WHERE uuid = 'GPU-new'"), 1);
        st_store_close(store);
        remove(path);
        remove(old);
    }
}

static void a_reader_sees_every_row_and_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEPT_COUNT; i++) {
        char path[256], old[256], command[600];
        snprintf(path, sizeof path, "%s", unpack(&kept[i], "kept.db"));
        snprintf(old, sizeof old, "%s", unpack(&kept[i], "kept-old.db"));
        st_store *store = open_store(path, ST_STORE_READ);
        assert_int_equal(number(store, "PRAGMA user_version"), st_migrations[st_migration_count - 1].number);
        assert_true(assert_whole(store, &kept[i], old) >= 20);
        st_store_close(store);
        snprintf(command, sizeof command, "cmp -s %s %s", path, old);
        assert_int_equal(system(command), 0);
        remove(path);
        remove(old);
    }
}

// One step after the other fails, until none does: the file has the old version or the new one, whole.
static void a_migration_that_fails_anywhere_leaves_the_old_store(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEPT_COUNT; i++) {
        int failures = 0;
        bool done = false;
        for (unsigned long n = 1; !done; n++) {
            st_error error = {0};
            st_store *store;
            char path[256];
            snprintf(path, sizeof path, "%s", unpack(&kept[i], "kept.db"));
            st_fault_arm(ST_FAULT_SQLITE, n);
            st_code code = st_store_open(path, ST_STORE_WRITE, &store, &error);
            done = !st_fault_injected(ST_FAULT_SQLITE);
            st_fault_arm(ST_FAULT_SQLITE, 0);
            if (code == ST_OK) {
                st_store_close(store);
                continue;
            }
            failures++;
            assert_non_null(strstr(error.what, "kept.db"));
            sqlite3 *raw;
            sqlite3_stmt *version;
            assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
            assert_int_equal(sqlite3_prepare_v2(raw, "PRAGMA user_version", -1, &version, NULL), SQLITE_OK);
            assert_int_equal(sqlite3_step(version), SQLITE_ROW);
            int stands = sqlite3_column_int(version, 0);
            assert_true(stands == kept[i].version || stands == st_migrations[st_migration_count - 1].number);
            sqlite3_finalize(version);
            sqlite3_close(raw);
            store = open_store(path, ST_STORE_WRITE); // and then it works
            assert_sound(store);
            assert_rich(store);
            st_store_close(store);
            remove(path);
        }
        assert_true(failures > 10);
    }
}

static void there_is_a_kept_store_of_each_version(void **state)
{
    (void)state;
    for (int version = 1; version < st_migrations[st_migration_count - 1].number; version++) {
        bool found = false;
        for (size_t i = 0; i < KEPT_COUNT; i++)
            found |= kept[i].version == version;
        if (!found)
            fail_msg("keep a store of schema version %d under tests/unit/db/data", version);
    }
}

static void released_scripts_never_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof released / sizeof *released; i++) {
        char hash[ST_HASH_TEXT];
        st_hash *all = st_hash_new();
        for (const char *const *script = released[i].scripts; *script; script++)
            st_hash_field(all, *script);
        st_hash_text(all, hash);
        st_hash_free(all);
        assert_string_equal(hash, released[i].hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_writer_brings_every_row_to_the_newest_version),
        cmocka_unit_test(a_reader_sees_every_row_and_changes_nothing),
        cmocka_unit_test(a_migration_that_fails_anywhere_leaves_the_old_store),
        cmocka_unit_test(there_is_a_kept_store_of_each_version),
        cmocka_unit_test(released_scripts_never_change),
    };
    return cmocka_run_group_tests(tests, make_fast_folder, remove_folder);
}
