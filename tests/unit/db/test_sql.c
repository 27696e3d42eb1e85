// SPDX-License-Identifier: Apache-2.0
// Statements of users (sql.c): cells of every kind arrive, nothing but reading is done, also in the copy in memory;
// every fault is an error.
#include "fixture.h"

#include "db/sql.h"
#include "tuner/base/memory.h"

typedef struct taken {
    size_t columns, rows;
    char text[512];
    st_code stop;
} taken;

static st_code take_columns(void *context, const char *const *names, size_t count, st_error *error)
{
    (void)error;
    taken *to = context;
    to->columns = count;
    for (size_t i = 0; i < count; i++)
        snprintf(to->text + strlen(to->text), sizeof to->text - strlen(to->text), "%s ", names[i]);
    return ST_OK;
}

static st_code take_row(void *context, const st_sql_cell *cells, size_t count, st_error *error)
{
    taken *to = context;
    to->rows++;
    for (size_t i = 0; i < count; i++) {
        char *out = to->text + strlen(to->text);
        size_t room = sizeof to->text - strlen(to->text);
        if (cells[i].kind == ST_CELL_INTEGER)
            snprintf(out, room, "%lld ", (long long)cells[i].integer);
        else if (cells[i].kind == ST_CELL_REAL)
            snprintf(out, room, "%g ", cells[i].real);
        else if (cells[i].kind == ST_CELL_NULL)
            snprintf(out, room, "null ");
        else
            snprintf(out, room, "%s%zu ", cells[i].kind == ST_CELL_TEXT ? "t" : "b", cells[i].length);
    }
    return to->stop == ST_OK ? ST_OK : st_fail(error, to->stop, NULL, "stopped");
}

static st_code run(st_store *store, const char *sql, taken *to, st_error *error)
{
    st_sql_sink sink = {to, take_columns, take_row};
    return st_store_sql(store, sql, &sink, error);
}

static void cells_of_every_kind_arrive(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    taken to = {0};
    assert_ok(run(store, "SELECT 7 AS a, 0.5 b, 'xyz', NULL, x'0001', '' AS z -- end\n;", &to, &error), error);
    assert_string_equal(to.text, "a b 'xyz' NULL x'0001' z 7 0.5 t3 null b2 t0 ");
    to = (taken){0};
    assert_ok(run(store, "SELECT * FROM simtune_best", &to, &error), error);
    assert_true(to.columns > 40 && to.rows == 0);
    to = (taken){.stop = ST_STALE};
    assert_int_equal(run(store, "VALUES (1), (2)", &to, &error), ST_STALE);
    assert_int_equal(to.rows, 1);
    st_store_close(store);
}

static void nothing_is_changed(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "DELETE FROM problem", "UPDATE problem SET n = 1", "INSERT INTO metric (name) VALUES ('x')", "DROP VIEW simtune_best",
        "CREATE TABLE t (a)", "CREATE TEMP VIEW v AS SELECT 1", "ALTER TABLE metric ADD COLUMN a", "ANALYZE", "REINDEX",
        "VACUUM", "VACUUM INTO '/tmp/simtune-no.db'", "ATTACH ':memory:' AS other", "DETACH main", "BEGIN", "COMMIT",
        "SAVEPOINT a", "PRAGMA user_version = 3", "PRAGMA foreign_keys = OFF", "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON", "PRAGMA journal_mode = MEMORY", "PRAGMA wal_checkpoint", "PRAGMA optimize",
        "PRAGMA mmap_size = 0", "UPDATE sqlite_master SET sql = ''", "DELETE FROM sqlite_master", "SELECT load_extension('a')", "DELETE FROM problem RETURNING n",
        "INSERT INTO metric (name) SELECT 'y' RETURNING name", "EXPLAIN DELETE FROM problem", "SELECT 1; DELETE FROM problem",
        "SELECT * FROM pragma_user_version(3)"};
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE); // even of one that could be written
    int64_t key;
    assert_ok(st_store_problem(store, "f", "n=1", NULL, NULL, 1, &key, &error), error);
    int before = sqlite3_total_changes(store->db);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        taken to = {0};
        error = (st_error){0};
        st_code code = run(store, statements[i], &to, &error);
        if (code != ST_USAGE || !error.remedy[0])
            fail_msg("%s: %d %s", statements[i], code, error.what);
    }
    assert_int_equal(sqlite3_total_changes(store->db), before);
    assert_int_equal(number(store, "SELECT count(*) FROM problem"), 1);
    assert_int_equal(number(store, "PRAGMA foreign_keys"), 1);
    assert_ok(st_store_problem(store, "f", "n=2", NULL, NULL, 2, &key, &error), error); // the store itself writes on
    st_store_close(store);
}

static void pragmas_that_tell_are_allowed(void **state)
{
    (void)state;
    static const char *const statements[] = {"PRAGMA user_version", "PRAGMA table_info(metric)", "PRAGMA Integrity_Check",
                                             "SELECT name FROM pragma_table_info('metric')", "EXPLAIN QUERY PLAN SELECT 1",
                                             "WITH a AS (SELECT 1) SELECT * FROM a"};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        taken to = {0};
        st_error error = {0};
        assert_ok(run(store, statements[i], &to, &error), error);
        assert_true(to.rows > 0);
    }
    st_store_close(store);
}

static void mistakes_say_what_sqlite_says(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *what;
    } rows[] = {{"SELECT missing FROM simtune_best", "no such column: missing"},
                {"SELECT * FROM missing", "no such table: missing"},
                {"SELEKT 1", "syntax error"},
                {"", "empty"},
                {" ; -- nothing", "empty"},
                {"SELECT abs(-9223372036854775807 - 1)", "integer overflow"},
                {"SELECT json_extract('{', '$.a')", "malformed JSON"}};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        taken to = {0};
        st_error error = {0};
        st_code code = run(store, rows[i].sql, &to, &error);
        if (code != ST_USAGE || !strstr(error.what, rows[i].what))
            fail_msg("%s: %d %s", rows[i].sql, code, error.what);
    }
    st_store_close(store);
}

static void it_can_be_stopped(void **state)
{
    (void)state;
    volatile sig_atomic_t stop = 1;
    st_error error = {0};
    taken to = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_store_stop_when(store, &stop);
    assert_int_equal(run(store, "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT count(*) FROM a",
                         &to, &error),
                     ST_INTERRUPTED);
    st_store_stop_when(store, NULL);
    st_store_close(store);
}

static st_code count_view(void *context, const char *view, const char *const *columns, size_t count, st_error *error)
{
    (void)error;
    ++*(size_t *)context;
    assert_true(strncmp(view, "simtune_", 8) == 0 && count > 3 && columns[count - 1][0]);
    return ST_OK;
}

static void views_are_listed_with_their_columns(void **state)
{
    (void)state;
    st_error error = {0};
    size_t count = 0;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    assert_ok(st_store_views(store, count_view, &count, &error), error);
    assert_int_equal(count, number(store, "SELECT count(*) FROM sqlite_schema WHERE type = 'view'"));
    st_store_close(store);
}

static void every_fault_is_an_error(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SQLITE};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    for (int k = 0; k < 4; k++)
        for (unsigned long n = 1;; n++) {
            st_error error = {0};
            taken to = {0};
            size_t count = 0;
            st_fault_arm(kinds[k % 2], n);
            st_code code = k < 2 ? run(store, "VALUES (1, 'a'), (2, 'b')", &to, &error)
                                 : st_store_views(store, count_view, &count, &error);
            bool injected = st_fault_injected(kinds[k % 2]);
            st_fault_arm(kinds[k % 2], 0);
            if (!injected) {
                assert_ok(code, error);
                break;
            }
            assert_true(code != ST_OK && error.what[0]);
        }
    st_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_of_every_kind_arrive),   cmocka_unit_test(nothing_is_changed),
        cmocka_unit_test(pragmas_that_tell_are_allowed), cmocka_unit_test(mistakes_say_what_sqlite_says),
        cmocka_unit_test(it_can_be_stopped),            cmocka_unit_test(views_are_listed_with_their_columns),
        cmocka_unit_test(every_fault_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
