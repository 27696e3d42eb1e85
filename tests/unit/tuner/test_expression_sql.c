// SPDX-License-Identifier: Apache-2.0
// E2 of tuner/base/expression.c: the tree and its SQL agree on thousands of random expressions, as
// values and as conditions of a query, with ranges and without, errors and their messages included;
// and a weaker condition for an earlier join holds wherever the expression holds.
#include "tests/unit/random_expression.h"
#include "tuner/space_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { EXPRESSIONS = 6000, ROWS = 8 };

typedef struct fixture {
    sqlite3 *connection;
    st_error failure;
    st_scope scope;
    int64_t rows[ROWS][RANDOM_NAMES];
    st_range ranges[RANDOM_NAMES];
} fixture;

static void print_column(void *context, int slot, st_text *out) {
    (void)context;
    st_text_addf(out, "t.%s", random_names[slot]);
}

static void run(sqlite3 *connection, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(connection, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

// New rows, in table t with their number as key, and the ranges that hold for them.
static void new_rows(fixture *f) {
    run(f->connection, "DELETE FROM t");
    for (int r = 0; r < ROWS; r++) {
        char sql[400];
        int64_t *v = f->rows[r];
        random_row(v);
        for (int i = 0; i < RANDOM_NAMES; i++) {
            if (r == 0)
                f->ranges[i] = (st_range){v[i], v[i], false};
            f->ranges[i].low = v[i] < f->ranges[i].low ? v[i] : f->ranges[i].low;
            f->ranges[i].high = v[i] > f->ranges[i].high ? v[i] : f->ranges[i].high;
        }
        sqlite3_stmt *statement;
        snprintf(sql, sizeof sql, "INSERT INTO t VALUES (%d, ?, ?, ?, ?, ?, ?)", r);
        assert_int_equal(sqlite3_prepare_v2(f->connection, sql, -1, &statement, NULL), SQLITE_OK);
        for (int i = 0; i < RANDOM_NAMES; i++)
            sqlite3_bind_int64(statement, i + 1, v[i]);
        assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
        sqlite3_finalize(statement);
    }
}

static int set_up(void **state) {
    static fixture f;
    *state = &f;
    random_state = 20260;
    if (sqlite3_open(":memory:", &f.connection) != SQLITE_OK || !random_scope(&f.scope) ||
        st_register_expression_functions(f.connection, &f.failure) != SQLITE_OK)
        return -1;
    run(f.connection, "CREATE TABLE t(k INTEGER PRIMARY KEY, a INTEGER, b INTEGER, c INTEGER,"
                      " d INTEGER, e INTEGER, f INTEGER) STRICT");
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    st_scope_release(&f->scope);
    sqlite3_close(f->connection);
    return 0;
}

// One row of the query: SQLITE_ROW with *value, SQLITE_DONE for no row, SQLITE_ERROR with the
// message.
static int ask(fixture *f, const char *sql, int64_t *value) {
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(f->connection, sql, -1, &statement, NULL);
    if (status != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(f->connection));
    status = sqlite3_step(statement);
    if (status == SQLITE_ROW) {
        if (sqlite3_column_type(statement, 0) != SQLITE_INTEGER)
            fail_msg("%s is no integer", sql);
        *value = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return status;
}

static void compare_row(fixture *f, const st_expression *e, const char *sql, int r,
                        size_t *errors) {
    int64_t expected = 0, got = 0;
    st_error error = {0};
    st_text query;
    st_text_init(&query);
    bool fails = st_expression_evaluate(e, f->rows[r], &expected, &error) != ST_OK;
    *errors += fails;
    // As a value, and as a condition, which SQLite compiles to jumps.
    for (int condition = 0; condition < 2; condition++) {
        st_text_clear(&query);
        st_text_addf(&query,
                     condition ? "SELECT 1 FROM t WHERE k = %d AND %s"
                               : "SELECT %2$s FROM t WHERE k = %1$d",
                     r, sql);
        int status = ask(f, st_text_string(&query), &got);
        if (fails) {
            if (status != SQLITE_ERROR || strcmp(sqlite3_errmsg(f->connection), error.what) != 0)
                fail_msg("`%s`, %s: %s, not: %s", st_expression_text(e), st_text_string(&query),
                         status == SQLITE_ERROR ? sqlite3_errmsg(f->connection) : "a value",
                         error.what);
            assert_string_equal(f->failure.remedy, error.remedy);
        } else if (condition ? status != (expected ? SQLITE_ROW : SQLITE_DONE)
                             : status != SQLITE_ROW || got != expected) {
            fail_msg("`%s`, %s: %d %lld, not %lld", st_expression_text(e), st_text_string(&query),
                     status, (long long)got, (long long)expected);
        }
    }
    st_text_release(&query);
}

// The range must hold the value, and an error must have been announced.
static void check_range(fixture *f, const st_expression *e, const st_sql_names *names, int r) {
    int64_t value;
    st_range range = st_expression_range(e, names);
    if (st_expression_evaluate(e, f->rows[r], &value, NULL) != ST_OK)
        assert_true(range.may_fail);
    else if (value < range.low || value > range.high)
        fail_msg("`%s` is %lld, not %lld … %lld", st_expression_text(e), (long long)value,
                 (long long)range.low, (long long)range.high);
}

static st_expression *random_tree(fixture *f, st_text *text) {
    st_expression *e = NULL;
    st_error error = {0};
    do {
        st_text_clear(text);
        random_text(text, 4);
    } while (text->length > 800);
    if (st_expression_parse(st_text_string(text), (st_place){"r.cu", 3}, &f->scope, &e, &error) !=
        ST_OK)
        fail_msg("%s", error.what);
    return e;
}

static void test_agreement(void **state) {
    fixture *f = *state;
    st_sql_names plain = {print_column, NULL, NULL, NULL};
    st_sql_names ranged = {print_column, NULL, f->ranges, NULL};
    size_t errors = 0;
    st_text text, sql;
    st_text_init(&text);
    st_text_init(&sql);
    for (int i = 0; i < EXPRESSIONS; i++) {
        if (i % 50 == 0)
            new_rows(f);
        st_expression *e = random_tree(f, &text);
        for (int with = 0; with < 2; with++) {
            st_text_clear(&sql);
            st_expression_print_sql_with(e, with ? &ranged : &plain, &sql);
            for (int r = 0; r < ROWS; r += 1 + i % 4) {
                compare_row(f, e, st_text_string(&sql), r, &errors);
                check_range(f, e, with ? &ranged : &plain, r);
            }
        }
        st_expression_free(e);
    }
    // The test means something only if both ends were met often.
    print_message("%zu errors agreed\n", errors);
    assert_true(errors > 1000);
    st_text_release(&text);
    st_text_release(&sql);
}

// For every subset of known names: rows for which the expression holds satisfy the weaker
// condition.
static void test_bounds_are_sound(void **state) {
    fixture *f = *state;
    st_sql_names ranged = {print_column, NULL, f->ranges, NULL};
    size_t bounds = 0, cuts = 0;
    st_text text, sql, query;
    st_text_init(&text);
    st_text_init(&sql);
    st_text_init(&query);
    for (int i = 0; i < EXPRESSIONS; i++) {
        if (i % 50 == 0)
            new_rows(f);
        st_expression *e = random_tree(f, &text);
        bool known[RANDOM_NAMES];
        for (int k = 0; k < RANDOM_NAMES; k++)
            known[k] = random_below(2);
        st_text_clear(&sql);
        if (st_expression_print_sql_bound(e, &ranged, known, &sql)) {
            bounds++;
            for (int k = 0; k < RANDOM_NAMES; k++) { // uses known names only
                char column[8];
                snprintf(column, sizeof column, "t.%s", random_names[k]);
                if (!known[k] && strstr(st_text_string(&sql), column))
                    fail_msg("`%s`: %s uses %s", st_text_string(&text), st_text_string(&sql),
                             column);
            }
            for (int r = 0; r < ROWS; r++) {
                int64_t value = 0, weaker = 0;
                assert_int_equal(st_expression_evaluate(e, f->rows[r], &value, NULL), ST_OK);
                st_text_clear(&query);
                st_text_addf(&query, "SELECT %s <> 0 FROM t WHERE k = %d", st_text_string(&sql), r);
                int status = ask(f, st_text_string(&query), &weaker);
                if (status != SQLITE_ROW || (value && !weaker))
                    fail_msg("`%s` holds in row %d, but %s gives %d %s", st_text_string(&text), r,
                             st_text_string(&sql), status, sqlite3_errmsg(f->connection));
                cuts += !weaker;
            }
        }
        st_expression_free(e);
    }
    print_message("%zu bounds, %zu cuts\n", bounds, cuts);
    assert_true(bounds > 100 && cuts > 50);
    st_text_release(&text);
    st_text_release(&sql);
    st_text_release(&query);
}

// What is printed for long chains must pass SQLite's parser, whose stack holds some hundred
// symbols.
static void test_long_chains(void **state) {
    fixture *f = *state;
    static const char *const operators[] = {" + ", " * ", " and ", " or "};
    new_rows(f);
    for (int op = 0; op < 4; op++) {
        st_text text, sql;
        st_text_init(&text);
        st_text_init(&sql);
        st_expression *e = NULL;
        st_text_add(&text, op < 2 ? "f" : "a == 1");
        for (int i = 0; i < 300; i++)
            st_text_addf(&text, "%s%s", operators[op], op < 2 ? "f" : "a == 1");
        assert_int_equal(
            st_expression_parse(st_text_string(&text), (st_place){"r.cu", 3}, &f->scope, &e, NULL),
            ST_OK);
        st_sql_names ranged = {print_column, NULL, f->ranges, NULL};
        size_t errors = 0;
        st_expression_print_sql_with(e, &ranged, &sql);
        for (int r = 0; r < ROWS; r++)
            compare_row(f, e, st_text_string(&sql), r, &errors);
        st_expression_free(e);
        st_text_release(&text);
        st_text_release(&sql);
    }
}

// SQLite writes the constant of `column == constant` into the other conditions of a WHERE clause, also into the guard
// of an operator that fails; the rows that the guard kept out must stay out. The ranges say that the guard never
// holds, so nothing else orders the conditions.
static void test_equality_does_not_undo_a_guard(void **state) {
    fixture *f = *state;
    static const char *const texts[] = {"f == 100 and a % a < 100 and f == 100 and a % f == 1",
                                        "(f != 100 or b / a == 1) and 100 == f",
                                        "(f == 100 and a / a == 1) and (c == 3 or f == 100) and f == 100"};
    new_rows(f);
    run(f->connection, "UPDATE t SET a = 0, f = k");
    f->ranges[0] = (st_range){0, 0, false};
    f->ranges[5] = (st_range){0, ROWS - 1, false};
    for (int r = 0; r < ROWS; r++)
        f->rows[r][0] = 0, f->rows[r][5] = r;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        st_expression *e = NULL;
        st_text sql;
        st_text_init(&sql);
        assert_int_equal(st_expression_parse(texts[i], (st_place){"r.cu", 3}, &f->scope, &e, NULL), ST_OK);
        st_sql_names ranged = {print_column, NULL, f->ranges, NULL};
        size_t errors = 0;
        st_expression_print_sql_with(e, &ranged, &sql);
        for (int r = 0; r < ROWS; r++)
            compare_row(f, e, st_text_string(&sql), r, &errors);
        assert_int_equal(errors, 0);
        st_expression_free(e);
        st_text_release(&sql);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equality_does_not_undo_a_guard),
        cmocka_unit_test(test_agreement),
        cmocka_unit_test(test_bounds_are_sound),
        cmocka_unit_test(test_long_chains),
    };
    return cmocka_run_group_tests_name("expression_sql", tests, set_up, tear_down);
}
