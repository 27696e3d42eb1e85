// SPDX-License-Identifier: Apache-2.0
// Expressions (tuner/base/expression.h): parse, and where that succeeds, what every reading of the tree says
// must be the same: its own evaluation, the SQL (with ranges and without, as a value and as a condition) run
// by SQLite, errors and their messages included, the C++ read by cxx_evaluator.c, its text parsed again, its
// conjuncts, its constant; ranges must hold, and a weakened condition must hold wherever the expression does.
//
// The input: the expression on a line, a byte that says which names an earlier join knows, then rows of
// values of the names a … f, up to four. A value is one byte; from 0xE0 on it stands for an edge of 64 bits,
// 0xFF for the eight bytes that follow.
#include "tests/fuzz/cxx_evaluator.h"
#include "tests/fuzz/fuzz.h"
#include "tuner/base/expression.h"
#include "tuner/space_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 6, ROWS = 4, LATE = NAMES, CONSTANT, SLOTS };

static sqlite3 *connection;
static sqlite3_stmt *insert;
static st_error failure;
static st_scope scope;

static int64_t rows[ROWS][SLOTS];
static st_range ranges[SLOTS];

static void print_column(void *context, int slot, st_text *out)
{
    (void)context;
    st_text_addf(out, "t.v%d", slot);
}

static void print_variable(void *context, int slot, st_text *out)
{
    (void)context;
    st_text_addf(out, "v%d", slot);
}

static void run(const char *sql)
{
    if (sqlite3_exec(connection, sql, NULL, NULL, NULL) != SQLITE_OK)
        fuzz_fail("%s: %s", sql, sqlite3_errmsg(connection));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    (void)argc, (void)argv;
    for (int i = 0; i < NAMES; i++)
        if (st_scope_add(&scope, (st_name){.name = names[i]}) != i)
            fuzz_fail("no memory");
    if (st_scope_add(&scope, (st_name){.name = "LATE", .is_late = true}) != LATE ||
        st_scope_add(&scope, (st_name){.name = "seven", .is_constant = true, .value = 7}) !=
            CONSTANT)
        fuzz_fail("no memory");
    if (sqlite3_open(":memory:", &connection) != SQLITE_OK ||
        st_register_expression_functions(connection, &failure) != SQLITE_OK)
        fuzz_fail("no SQLite");
    run("CREATE TABLE t(k INTEGER PRIMARY KEY, v0 INTEGER, v1 INTEGER, v2 INTEGER, v3 INTEGER,"
        " v4 INTEGER, v5 INTEGER, v6 INTEGER) STRICT");
    if (sqlite3_prepare_v2(connection, "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", -1, &insert,
                           NULL) != SQLITE_OK)
        fuzz_fail("%s", sqlite3_errmsg(connection));
    FUZZ_MUST(cxx_functions_are(st_expression_cxx_functions()),
              "the functions of headers changed: change those of cxx_evaluator.c with them");
    return 0;
}

// --- the values --------------------------------------------------------------------------------------------
static int64_t take_value(const uint8_t **data, size_t *size)
{
    static const int64_t edges[] = {
        INT64_MAX,    INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, 1ll << 31,
        -(1ll << 32), 1ll << 62, 3037000500,    INT64_MAX / 2, (1ll << 32) - 1,
        1ll << 32,    1 << 16,   -(1ll << 62),  1000000007,    4611686018427387905};
    if (!*size)
        return 1;
    uint8_t byte = **data;
    ++*data, --*size;
    if (byte < 0xE0)
        return byte < 0xC0 ? byte : (int64_t)byte - 0xE0; // -32 … -1
    if (byte < 0xFF || *size < 8)
        return edges[(byte - 0xE0) % (sizeof edges / sizeof *edges)];
    int64_t value;
    memcpy(&value, *data, 8);
    *data += 8, *size -= 8;
    return value;
}

static int take_rows(const uint8_t *data, size_t size)
{
    int count = 0;
    run("DELETE FROM t");
    do {
        int64_t *row = rows[count];
        for (int i = 0; i <= LATE; i++) {
            row[i] = take_value(&data, &size);
            if (count == 0)
                ranges[i] = (st_range){row[i], row[i], false};
            ranges[i].low = row[i] < ranges[i].low ? row[i] : ranges[i].low;
            ranges[i].high = row[i] > ranges[i].high ? row[i] : ranges[i].high;
            sqlite3_bind_int64(insert, i + 2, row[i]);
        }
        row[CONSTANT] = -1; // never read: the tree holds the constant
        sqlite3_bind_int(insert, 1, count);
        FUZZ_MUST(sqlite3_step(insert) == SQLITE_DONE, "%s", sqlite3_errmsg(connection));
        sqlite3_reset(insert);
        count++;
    } while (count < ROWS && size);
    return count;
}

// --- SQL ---------------------------------------------------------------------------------------------------
typedef struct evaluated {
    st_code code;
    int64_t value;
    st_error error;
} evaluated;

// SQLite's parser has a stack of 100 symbols, at most 5 of them a level of nested functions. A query that is
// deeper is refused in order (tuner/space_query.c says what to do); up to here none may be.
enum { DEPTH_ALWAYS = 18 };

static bool is_too_deep(const char *sql)
{
    int depth = 0, deepest = 0;
    for (; *sql; sql++) {
        depth += (*sql == '(') - (*sql == ')');
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest > DEPTH_ALWAYS &&
           strstr(sqlite3_errmsg(connection), "parser stack overflow") != NULL;
}

static void ask(const st_expression *e, const char *format, const char *sql, int r,
                const evaluated *expected, bool condition)
{
    sqlite3_stmt *statement = NULL;
    st_text query;
    st_text_init(&query);
    st_text_addf(&query, format, sql, r);
    int status = query.failed ? SQLITE_NOMEM
                              : sqlite3_prepare_v2(connection, query.data, -1, &statement, NULL);
    if (status != SQLITE_OK) {
        FUZZ_MUST(is_too_deep(query.data), "`%s`: %s: %s", st_expression_text(e), query.data,
                  sqlite3_errmsg(connection));
        st_text_release(&query);
        return;
    }
    status = sqlite3_step(statement);
    if (expected->code) {
        FUZZ_MUST(status == SQLITE_ERROR, "`%s` fails (%s), but %s gives %d", st_expression_text(e),
                  expected->error.what, query.data, status);
        FUZZ_MUST(strcmp(sqlite3_errmsg(connection), expected->error.what) == 0 &&
                      strcmp(failure.remedy, expected->error.remedy) == 0,
                  "`%s` fails with `%s`, its SQL with `%s`", st_expression_text(e),
                  expected->error.what, sqlite3_errmsg(connection));
    } else if (condition) {
        FUZZ_MUST(status == (expected->value ? SQLITE_ROW : SQLITE_DONE),
                  "`%s` is %lld, but as a condition %s gives %d", st_expression_text(e),
                  (long long)expected->value, query.data, status);
    } else {
        FUZZ_MUST(status == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER &&
                      sqlite3_column_int64(statement, 0) == expected->value,
                  "`%s` is %lld, but %s gives %d %s %s", st_expression_text(e),
                  (long long)expected->value, query.data, status,
                  status == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : "",
                  sqlite3_errmsg(connection));
    }
    sqlite3_finalize(statement);
    st_text_release(&query);
}

static void check_sql(const st_expression *e, const st_sql_names *names, int count,
                      const evaluated *expected)
{
    st_text sql;
    st_text_init(&sql);
    st_expression_print_sql_with(e, names, &sql);
    FUZZ_MUST(!sql.failed, "no memory for SQL");
    for (int r = 0; r < count; r++) {
        ask(e, "SELECT %s FROM t WHERE k = %d", sql.data, r, &expected[r], false);
        st_range range = st_expression_range(e, names);
        if (expected[r].code)
            FUZZ_MUST(range.may_fail, "`%s` fails, and its range says that it cannot",
                      st_expression_text(e));
        else
            FUZZ_MUST(expected[r].value >= range.low && expected[r].value <= range.high,
                      "`%s` is %lld, outside %lld … %lld", st_expression_text(e),
                      (long long)expected[r].value, (long long)range.low, (long long)range.high);
    }
    // As a condition SQLite compiles it to jumps. One row a query, so that an error has its row.
    for (int r = 0; r < count; r++) {
        st_text condition;
        st_text_init(&condition);
        st_text_addf(&condition, "k = %d AND %s", r, sql.data);
        ask(e, "SELECT 1 FROM t WHERE %s AND %d = 0", condition.data, 0, &expected[r], true);
        st_text_release(&condition);
    }
    st_text_release(&sql);
}

// Where the expression holds, so does the condition for an earlier join, which uses known names alone.
static void check_bound(const st_expression *e, const st_sql_names *names, unsigned mask, int count,
                        const evaluated *expected)
{
    bool known[SLOTS] = {false};
    st_text sql;
    for (int i = 0; i < NAMES; i++)
        known[i] = mask >> i & 1;
    st_text_init(&sql);
    if (st_expression_print_sql_bound(e, names, known, &sql)) {
        for (int i = 0; i <= LATE; i++) {
            char column[16];
            snprintf(column, sizeof column, "t.v%d", i);
            FUZZ_MUST(known[i] || !strstr(sql.data, column), "`%s`: %s uses %s",
                      st_expression_text(e), sql.data, column);
        }
        for (int r = 0; r < count; r++) {
            FUZZ_MUST(!expected[r].code, "`%s` fails in a row within the ranges and was weakened",
                      st_expression_text(e));
            if (expected[r].value)
                ask(e, "SELECT (%s) <> 0 FROM t WHERE k = %d", sql.data, r,
                    &(evaluated){.value = 1}, false);
        }
    } else {
        FUZZ_MUST(!sql.length, "`%s`: no condition, but a text", st_expression_text(e));
    }
    st_text_release(&sql);
}

// --- C++ ---------------------------------------------------------------------------------------------------
static void check_cxx(const st_expression *e, int count, const evaluated *expected)
{
    st_text text;
    st_text_init(&text);
    st_expression_print_cxx(e, print_variable, NULL, &text);
    FUZZ_MUST(!text.failed, "no memory for C++");
    for (int r = 0; r < count; r++) {
        long long values[LATE + 1], got = 0;
        for (int i = 0; i <= LATE; i++)
            values[i] = rows[r][i];
        cxx_result result = cxx_evaluate(text.data, values, LATE + 1, &got);
        FUZZ_MUST(result != CXX_SYNTAX, "`%s`: is this C++? %s", st_expression_text(e), text.data);
        FUZZ_MUST(result != CXX_ZERO, "`%s` may trap: %s divides by zero", st_expression_text(e),
                  text.data);
        if (!expected[r].code)
            FUZZ_MUST(result == CXX_VALUE && got == expected[r].value,
                      "`%s` is %lld, but %s is %s %lld", st_expression_text(e),
                      (long long)expected[r].value, text.data,
                      result == CXX_VALUE ? "" : "undefined", got);
    }
    st_text_release(&text);
}

// --- the tree ----------------------------------------------------------------------------------------------
static void check_text(const st_expression *e, int count, const evaluated *expected)
{
    st_expression *again = NULL;
    st_error error = {0};
    FUZZ_MUST(st_expression_parse(st_expression_text(e), (st_place){"again", 2}, &scope, &again,
                                  &error) == ST_OK,
              "its own text `%s` is refused: %s", st_expression_text(e), error.what);
    for (int r = 0; r < count; r++) {
        int64_t value = 0;
        st_code code = st_expression_evaluate(again, rows[r], &value, NULL);
        FUZZ_MUST(code == expected[r].code && (code || value == expected[r].value),
                  "its own text `%s` means something else", st_expression_text(e));
    }
    FUZZ_MUST(st_expression_is_late(e, &scope) == st_expression_uses(e, LATE),
              "`%s` is late or not", st_expression_text(e));
    st_expression_free(again);
}

static void check_constant(const st_expression *e, int count, const evaluated *expected)
{
    int64_t value = 0;
    if (!st_expression_constant(e, &value))
        return;
    for (int r = 0; r < count; r++)
        FUZZ_MUST(!expected[r].code && expected[r].value == value, "`%s` is constant, and is not",
                  st_expression_text(e));
}

// The terms are taken in order, and the first that fails or does not hold decides.
static void check_conjuncts(const st_expression *e, int count, const evaluated *expected)
{
    const st_expression *terms[64];
    size_t term_count = st_expression_conjuncts(e, terms, 64);
    if (term_count > 64)
        return;
    for (int r = 0; r < count; r++) {
        st_code code = ST_OK;
        int64_t value = 1;
        for (size_t i = 0; i < term_count && !code && value; i++)
            code = st_expression_evaluate(terms[i], rows[r], &value, NULL);
        FUZZ_MUST(code == expected[r].code && (code || !value == !expected[r].value),
                  "the terms of `%s` mean something else", st_expression_text(e));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = fuzz_line(&data, &size);
    st_expression *e = NULL;
    st_error error = {0};
    if (!line)
        return 0;
    st_code code = st_expression_parse(line, (st_place){"fuzz.cu", 1}, &scope, &e, &error);
    free(line);
    if (code) {
        fuzz_check_error(code, &error);
        return 0;
    }
    unsigned mask = size ? *data : 0;
    int count = take_rows(data + (size > 0), size - (size > 0));
    evaluated expected[ROWS] = {0};
    for (int r = 0; r < count; r++) {
        expected[r].code =
            st_expression_evaluate(e, rows[r], &expected[r].value, &expected[r].error);
        if (expected[r].code)
            fuzz_check_error(expected[r].code, &expected[r].error);
    }
    st_sql_names plain = {.name = print_column}, ranged = {.name = print_column, .ranges = ranges};
    check_sql(e, &plain, count, expected);
    check_sql(e, &ranged, count, expected);
    check_bound(e, &ranged, mask, count, expected);
    check_cxx(e, count, expected);
    check_text(e, count, expected);
    check_constant(e, count, expected);
    check_conjuncts(e, count, expected);
    st_expression_free(e);
    return 0;
}
