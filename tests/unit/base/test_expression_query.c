// SPDX-License-Identifier: Apache-2.0
// The query dialect: its SQL, what it refuses, what templates refuse of it (expression_query.c, Q1 to Q3). What the
// SQL gives is tested where there is SQLite: db/test_query_where.c and the fuzz target `where`.
#include "tuner/base/expression.h"
#include "tuner/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCK, RATE, OUTCOME, MODE, STALL };

static st_scope scope;

static int make_scope(void **state)
{
    (void)state;
    static const char *const words[] = {"correct", "crash", NULL};
    st_scope_add(&scope, (st_name){.name = "BLOCK"});
    st_scope_add(&scope, (st_name){.name = "rate", .kind = ST_NAME_REAL});
    st_scope_add(&scope, (st_name){.name = "outcome", .kind = ST_NAME_WORD, .words = words});
    st_scope_add(&scope, (st_name){.name = "MODE", .kind = ST_NAME_MIXED});
    return st_scope_add(&scope, (st_name){.name = "stall.wait", .kind = ST_NAME_REAL}) == STALL ? 0 : 1;
}

static int free_scope(void **state)
{
    (void)state;
    st_scope_release(&scope);
    return 0;
}

static void print_name(void *context, int slot, st_text *out)
{
    (void)context;
    st_text_addf(out, "c%d", slot);
}

static void its_sql_is_this(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sql;
    } rows[] = {
        {"BLOCK >= 256 and stall.wait > 0.5", "((c0 >= 256) AND (c4 > 0.5))"},
        {"outcome == crash", "(c2 == 'crash')"},
        {"'crash' != outcome", "('crash' != c2)"},
        {"MODE == it or MODE > 1", "((c3 == 'it') OR (simtune_query_number(c3) > 1))"},
        {"MODE == \"it's\"", "(c3 == 'it''s')"},
        {"MODE == 1.2.3", "(c3 == '1.2.3')"},
        {"MODE == 7", "(c3 == 7)"},
        {"not known(rate)", "(NOT (c1 IS NOT NULL))"},
        {"rate == -1e3 + .5", "(c1 == ((-1000.0) + 0.5))"},
        {"BLOCK % 7 + ceil_div(BLOCK, 2) + ceil_log2(rate)",
         "(simtune_query_modulo(c0, 7) + simtune_query_ceil_div(c0, 2) + simtune_query_ceil_log2(c1))"},
        {"min(BLOCK, 1, rate) / 2 * 3", "(min(min(c0, 1), c1) / 2 * 3)"},
        {"BLOCK - (1 - 64Ki)", "(c0 - (1 - 65536))"},
        {"- BLOCK < -9223372036854775808", "((- c0) < (-9223372036854775807 - 1))"},
        {"2 * BLOCK % 3 * 4", "(simtune_query_modulo((2 * c0), 3) * 4)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_expression *e = NULL;
        st_error error = {0};
        st_text sql;
        st_text_init(&sql);
        if (st_expression_parse_query(rows[i].text, (st_place){NULL, 0}, &scope, NULL, &e, &error) != ST_OK)
            fail_msg("%s: %s", rows[i].text, error.what);
        st_expression_print_query(e, print_name, NULL, &sql);
        assert_string_equal(st_text_string(&sql), rows[i].sql);
        assert_string_equal(st_expression_text(e), rows[i].text);
        st_text_release(&sql);
        st_expression_free(e);
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
        bool unknown;
    } rows[] = {{"stall.wiat > 1", "unknown name `stall.wiat`", true},
                {"BLOK", "unknown name `BLOK`", true},
                {"min(BLOCK, what)", "unknown name `what`", true},
                {"BLOCK == many", "unknown name `many`", true},
                {"known(what)", "unknown name `what`", true},
                {"outcome == cash", "no outcome is `cash`", false},
                {"outcome > 1", "`outcome` is a word", false},
                {"outcome == BLOCK + 1 and 1", "", false},
                {"'a' == 'b'", "is a word", false},
                {"rate == 'a'", "`rate` is a number", false},
                {"rate == 1.2.3", "`rate` is a number", false},
                {"known(BLOCK + 1)", "asked of no name", false},
                {"1.5.x > 1", "is no number", false},
                {"1e400", "is no number", false},
                {"-1.2.3 == MODE", "is no number", false},
                {"'x", "quote is open", false},
                {"known(BLOCK, 1)", "known takes one argument", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_expression *e = NULL;
        st_error error = {0};
        bool unknown = false;
        st_code code = st_expression_parse_query(rows[i].text, (st_place){NULL, 0}, &scope, &unknown, &e, &error);
        if (!*rows[i].what) { // words beside numbers are another row or none
            st_expression_free(e);
            continue;
        }
        if (code != ST_USAGE || !strstr(error.what, rows[i].what) || unknown != rows[i].unknown || e)
            fail_msg("%s: %d \"%s\"", rows[i].text, code, error.what);
    }
}

static void templates_stay_with_whole_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } rows[] = {{"BLOCK > 0.5", "a fraction after `0`"},   {"stall.wait > 1", "a dot after `stall`"},
                {"BLOCK == crash", "unknown name `crash`"}, {"known(BLOCK)", "unknown function `known`"},
                {"BLOCK == 'a'", "`'`"},                    {"BLOCK > 1e6", "`1e6` is no number"},
                {"BLOCK > .5", "`.`"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_expression *e = NULL;
        st_error error = {0};
        if (st_expression_parse(rows[i].text, (st_place){NULL, 0}, &scope, &e, &error) != ST_USAGE ||
            !strstr(error.what, rows[i].what))
            fail_msg("%s: \"%s\"", rows[i].text, error.what);
    }
}

// SQLite's parser takes a hundred symbols; what would need more is refused before it.
static void depth_and_length_are_bounded(void **state)
{
    (void)state;
    static const char *const units[] = {"(1 + ", "min(1, ", "not (", "- ("};
    for (size_t u = 0; u < 4; u++) {
        st_text text;
        st_text_init(&text);
        for (int i = 0; i < 50; i++)
            st_text_add(&text, units[u]);
        st_text_add(&text, "BLOCK");
        for (int i = 0; i < 50; i++)
            st_text_add(&text, ")");
        st_expression *e = NULL;
        st_error error = {0};
        assert_int_equal(st_expression_parse_query(st_text_string(&text), (st_place){NULL, 0}, &scope, NULL, &e, &error),
                         ST_USAGE);
        assert_non_null(strstr(error.what, "nested too deeply"));
        st_text_release(&text);
    }
    st_text text;
    st_text_init(&text);
    for (int i = 0; i < 450; i++)
        st_text_add(&text, i ? " + 1" : "1");
    st_expression *e = NULL;
    st_error error = {0};
    assert_int_equal(st_expression_parse_query(st_text_string(&text), (st_place){NULL, 0}, &scope, NULL, &e, &error),
                     ST_USAGE);
    assert_non_null(strstr(error.what, "too long"));
    st_text_release(&text);
}

static void strictness_and_names(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool strict;
        int name;
    } rows[] = {{"stall.wait > 0.5", true, -1},      {"stall.wait + 1 == BLOCK / 2", true, -1},
                {"not stall.wait > 1", false, -1},   {"rate > 1 or 1", false, -1},
                {"known(rate) > 0", false, -1},      {"stall.wait", true, STALL},
                {"(1 and rate) + 1 > 0", false, -1}, {"(rate)", true, RATE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_expression *e = NULL;
        assert_int_equal(st_expression_parse_query(rows[i].text, (st_place){NULL, 0}, &scope, NULL, &e, NULL), ST_OK);
        assert_int_equal(st_expression_is_strict(e), rows[i].strict);
        assert_int_equal(st_expression_name(e), rows[i].name);
        st_expression_free(e);
    }
}

static void without_memory_nothing_leaks(void **state)
{
    (void)state;
    for (unsigned long n = 1;; n++) {
        st_expression *e = NULL;
        st_error error = {0};
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_expression_parse_query("outcome == 'crash' and MODE == two and rate > 1.5", (st_place){"--where", 0},
                                                 &scope, NULL, &e, &error);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        st_expression_free(e);
        if (!injected) {
            assert_int_equal(code, ST_OK);
            break;
        }
        assert_int_equal(code, ST_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_sql_is_this),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(templates_stay_with_whole_numbers),
        cmocka_unit_test(depth_and_length_are_bounded),
        cmocka_unit_test(strictness_and_names),
        cmocka_unit_test(without_memory_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, make_scope, free_scope);
}
