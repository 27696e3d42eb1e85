// SPDX-License-Identifier: Apache-2.0
// The expression language: what parses, what it means, what is refused and with which words. E1 …
// E5 are the invariants of tuner/base/expression.c. That the SQL and the C++ mean the same is shown
// in tests/unit/tuner/test_expression_sql.c and test_expression_cxx.c, on random trees.
#include "tuner/base/expression.h"
#include "tuner/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// One scope for all rows: n = 100, m = -7, zero = 0, big = INT64_MAX, low = INT64_MIN, constant red
// = 41, late = 3.
enum { N, M, ZERO, BIG, LOW, RED, LATE, SLOTS };
static const int64_t values[SLOTS] = {100, -7, 0, INT64_MAX, INT64_MIN, 0, 3};
static st_scope scope;

static int make_scope(void **state) {
    (void)state;
    static const st_name names[SLOTS] = {{.name = "n"},
                                         {.name = "m"},
                                         {.name = "zero"},
                                         {.name = "big"},
                                         {.name = "low"},
                                         {.name = "red", .is_constant = true, .value = 41},
                                         {.name = "late", .is_late = true}};
    for (int i = 0; i < SLOTS; i++)
        if (st_scope_add(&scope, names[i]) != i)
            return -1;
    return 0;
}

static int drop_scope(void **state) {
    (void)state;
    st_scope_release(&scope);
    return 0;
}

static st_expression *parse(const char *text) {
    st_expression *expression = NULL;
    st_error error = {0};
    st_code code = st_expression_parse(text, (st_place){"t.cu", 7}, &scope, &expression, &error);
    if (code)
        fail_msg("`%s` does not parse: %s", text, error.what);
    return expression;
}

// --- what a text means
// ------------------------------------------------------------------------------------

typedef struct row {
    const char *text;
    int64_t value;
} row;

static const row meanings[] = {
    // numbers
    {"0", 0},
    {"64Ki", 65536},
    {"2^20", 1048576},
    {"-2^20", -1048576},
    {"16Mi - 1", 16777215},
    {"9223372036854775807", INT64_MAX},
    {"-9223372036854775808", INT64_MIN},
    {"  7  ", 7},
    {"red", 41},
    // precedence
    {"2 + 3 * 4", 14},
    {"(2 + 3) * 4", 20},
    {"20 - 5 - 3", 12},
    {"100 / 7 / 2", 7},
    {"100 / (7 / 2)", 33},
    {"2 * 7 % 4", 2},
    {"1 + 1 == 2", 1},
    {"not 1 == 2", 1},  // (not 1) == 2 would be 0
    {"not 0 and 0", 0}, // not (0 and 0) would be 1
    {"(not 0) == 1", 1},
    {"not not 5", 1},
    {"1 or 0 and 0", 1}, // (1 or 0) and 0 would be 0
    {"0 == 0 and 1 < 2", 1},
    {"- 3 * -4", 12},
    {"-m", 7},
    {"- - 5", 5},
    {"-(2 + 3)", -5},
    // truncation toward zero, and the sign of the remainder
    {"7 / 2", 3},
    {"-7 / 2", -3},
    {"7 / -2", -3},
    {"-7 % 3", -1},
    {"7 % -3", 1},
    {"m % 2", -1},
    {"low % -1", 0},
    {"low / 1", INT64_MIN},
    // comparisons
    {"3 != 3", 0},
    {"3 <= 3", 1},
    {"3 >= 4", 0},
    {"m < 0", 1},
    {"n > 99", 1},
    {"(1 < 2) + (2 < 3)", 2},
    // booleans are 0 and 1 whatever the operands
    {"5 and 3", 1},
    {"0 or 9", 1},
    {"0 or 0", 0},
    {"not 7", 0},
    // stopping early
    {"zero != 0 and n / zero == 2", 0},
    {"zero == 0 or n / zero == 2", 1},
    {"0 and big + 1", 0},
    // functions
    {"min(3, 4)", 3},
    {"max(3, 4, 9, 1)", 9},
    {"min(n, m)", -7},
    {"ceil_div(n, 7)", 15},
    {"ceil_div(98, 7)", 14},
    {"ceil_div(0, 7)", 0},
    {"ceil_div(-7, 2)", -3},
    {"ceil_div(-7, -2)", 4},
    {"ceil_div(7, -2)", -3},
    {"ceil_div(big, 1)", INT64_MAX},
    {"ceil_div(big, 2)", INT64_C(4611686018427387904)},
    {"ceil_log2(-5)", 0},
    {"ceil_log2(0)", 0},
    {"ceil_log2(1)", 0},
    {"ceil_log2(2)", 1},
    {"ceil_log2(3)", 2},
    {"ceil_log2(1024)", 10},
    {"ceil_log2(1025)", 11},
    {"ceil_log2(big)", 63},
    {"ceil_log2(2^62)", 62},
    // the edges of 64 bits
    {"big - 1 + 1", INT64_MAX},
    {"low + big", -1},
    {"-big - 1", INT64_MIN},
    {"max(low, big)", INT64_MAX},
};

static void test_meanings(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        st_expression *expression = parse(meanings[i].text);
        int64_t value = 12345;
        st_error error = {0};
        if (st_expression_evaluate(expression, values, &value, &error) != ST_OK)
            fail_msg("`%s`: %s", meanings[i].text, error.what);
        if (value != meanings[i].value)
            fail_msg("`%s` is %lld, not %lld", meanings[i].text, (long long)value,
                     (long long)meanings[i].value);
        st_expression_free(expression);
    }
}

// --- what cannot be computed (E1)
// -----------------------------------------------------------------------------

typedef struct refused {
    const char *text, *what, *remedy;
} refused;

static const refused failures[] = {
    {"n / zero", "t.cu:7: `n / zero`: division by zero", "d != 0 and"},
    {"n % zero", "division by zero", ""},
    {"ceil_div(n, zero)", "division by zero", ""},
    {"1 / (zero * n)", "division by zero", ""},
    {"n / zero == 1 and zero != 0", "division by zero", ""}, // left to right
    {"big + 1", "does not fit 64 bits", "64-bit"},
    {"low - 1", "does not fit 64 bits", ""},
    {"big * 2", "does not fit 64 bits", ""},
    {"-low", "does not fit 64 bits", ""},
    {"low / -1", "does not fit 64 bits", ""},
    {"low / (m + 6)", "does not fit 64 bits", ""},
    {"ceil_div(low, -1)", "does not fit 64 bits", ""},
    {"min(1, big + 1)", "does not fit 64 bits", ""},
};

static void test_failures(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        st_expression *expression = parse(failures[i].text);
        int64_t value = 77;
        st_error error = {0};
        st_code code = st_expression_evaluate(expression, values, &value, &error);
        if (code != ST_USAGE || value != 77)
            fail_msg("`%s` gives code %d and %lld", failures[i].text, code, (long long)value);
        if (!strstr(error.what, failures[i].what) || !strstr(error.remedy, failures[i].remedy))
            fail_msg("`%s` says: %s %s", failures[i].text, error.what, error.remedy);
        assert_true(st_expression_evaluate(expression, values, &value, NULL) == ST_USAGE);
        st_expression_free(expression);
    }
}

// --- what does not parse
// ---------------------------------------------------------------------------------------

static const refused mistakes[] = {
    {"", "the expression ends where a number or a name should stand", ""},
    {"   ", "the expression ends", ""},
    {"1 +", "t.cu:7: `1 +`: the expression ends where", ""},
    {"* 2", "`*` where a number or a name should stand", ""},
    {"(1 + 2", "where an operator or `)` should stand", ""},
    {"1 + 2)", "`)` where an operator or the end should stand", ""},
    {"1 2", "`2` where an operator or the end should stand", ""},
    {"n m", "`m` where an operator", ""},
    {"a and", "unknown name `a`", ""},
    {"N + 1", "unknown name `N`", "Did you mean `n`?"},
    {"zeros", "unknown name `zeros`", "Did you mean `zero`?"},
    {"elephant", "unknown name `elephant`", "Names here: n m zero big low late"},
    {"minn(1, 2)", "unknown function `minn`", "Did you mean `min`?"},
    {"sqrt(2)", "unknown function `sqrt`", "min, max, ceil_div"},
    {"min", "unknown name `min`", ""},
    {"min(1)", "min takes two or more arguments, not 1", ""},
    {"min()", "`)` where a number", ""},
    {"ceil_div(1, 2, 3)", "ceil_div takes two arguments, not 3", ""},
    {"ceil_log2(1, 2)", "ceil_log2 takes one argument, not 2", ""},
    {"min(1, 2", "where `,` or `)` should stand", ""},
    {"1 < 2 < 3", "comparisons do not chain", "`a < b and b < c`"},
    {"1 == 1 != 0", "comparisons do not chain", ""},
    {"n = 5", "`=` where", "Write `==`"},
    {"n && m", "`&&` where", "Write `and`"},
    {"n || m", "`||` where", "Write `or`"},
    {"!n", "`!` where", "Write `not`"},
    {"n ? 1 : 2", "`?` where", "There is no ?:"},
    {"n ** 2", "`*` where", ""},
    {"n ^ 2", "`^` where", "powers of two"},
    {"1.5", "a fraction after `1`", "integers"},
    {"12abc", "`12abc` is no number", "64Ki"},
    {"0x10", "`0x10` is no number", ""},
    {"9223372036854775808", "is no number", "64-bit"},
    {"-9223372036854775809", "is no number", ""},
    {"and 1", "`and` where a number or a name should stand", ""},
    {"1 + not 2", "`not` where a number or a name should stand", ""},
    {"n; m", "`;` where", ""},
    {"\"n\"", "`\"` where", ""},
    {"n\xff", "where an operator", ""},
};

static void test_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        st_expression *expression = (st_expression *)&scope; // must be set to NULL
        st_error error = {0};
        st_code code = st_expression_parse(mistakes[i].text, (st_place){"t.cu", 7}, &scope,
                                           &expression, &error);
        if (code != ST_USAGE || expression)
            fail_msg("`%s` gives code %d", mistakes[i].text, code);
        if (!strstr(error.what, mistakes[i].what) || !strstr(error.remedy, mistakes[i].remedy))
            fail_msg("`%s` says: %s | %s", mistakes[i].text, error.what, error.remedy);
        assert_true(strncmp(error.what, "t.cu:7: ", 8) == 0);
        assert_int_equal(
            st_expression_parse(mistakes[i].text, (st_place){NULL, 0}, &scope, &expression, NULL),
            ST_USAGE);
    }
}

// --- limits (E5)
// -----------------------------------------------------------------------------------------------

static char *repeat(const char *start, const char *piece, size_t count, const char *end) {
    st_text text;
    st_text_init(&text);
    st_text_add(&text, start);
    for (size_t i = 0; i < count; i++)
        st_text_add(&text, piece);
    st_text_add(&text, end);
    return st_text_take(&text);
}

static st_code parse_code(char *text, st_error *error) {
    st_expression *expression = NULL;
    st_code code = st_expression_parse(text, (st_place){"t.cu", 7}, &scope, &expression, error);
    int64_t value;
    if (!code)
        assert_int_equal(st_expression_evaluate(expression, values, &value, NULL), ST_OK);
    st_expression_free(expression);
    st_free(text);
    return code;
}

static void test_limits(void **state) {
    (void)state;
    st_error error = {0};
    assert_int_equal(parse_code(repeat("1", " + 1", 500, ""), &error), ST_OK);
    assert_int_equal(parse_code(repeat("1", " + 1", 100000, ""), &error), ST_USAGE);
    assert_non_null(strstr(error.what, "too long"));
    assert_int_equal(parse_code(repeat("", "(", 40, "1"), &error), ST_USAGE); // not closed
    assert_int_equal(parse_code(repeat("", "(", 100000, "1"), &error), ST_USAGE);
    assert_non_null(strstr(error.what, "nested too deeply"));
    assert_int_equal(parse_code(repeat("", "not ", 100000, "1"), &error), ST_USAGE);
    assert_non_null(strstr(error.what, "nested too deeply"));
    assert_int_equal(parse_code(repeat("", "- ", 100000, "1"), &error), ST_USAGE);
    assert_int_equal(parse_code(repeat("n", "n", 300, ""), &error), ST_USAGE);
    assert_non_null(strstr(error.what, "longer than"));
}

// --- questions about a tree
// --------------------------------------------------------------------------------------

static void test_questions(void **state) {
    (void)state;
    st_expression *e = parse(" n * 2 <= big and late > red ");
    assert_string_equal(st_expression_text(e), "n * 2 <= big and late > red");
    assert_string_equal(st_expression_place(e).file, "t.cu");
    assert_int_equal(st_expression_place(e).line, 7);
    assert_true(st_expression_uses(e, N) && st_expression_uses(e, LATE) &&
                st_expression_uses(e, RED));
    assert_false(st_expression_uses(e, M) || st_expression_uses(e, -1));
    assert_true(st_expression_is_late(e, &scope));
    st_expression_free(e);
    e = parse("n + red");
    assert_false(st_expression_is_late(e, &scope));
    assert_int_equal(st_expression_weight(e, NULL), 3);
    size_t weights[SLOTS] = {[N] = 10};
    assert_int_equal(st_expression_weight(e, weights), 12);
    weights[N] = SIZE_MAX;
    assert_true(st_expression_weight(e, weights) > 1000000); // saturates, does not wrap
    st_expression_free(e);
}

static void test_constants(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is;
        int64_t value;
    } rows[] = {{"red + 1", true, 42}, {"2 * 3 == 6", true, 1},  {"n", false, 0},
                {"0 and n", true, 0},  {"1 or n", true, 1},      {"n or 1", false, 0},
                {"1 / 0", false, 0},   {"0 and 1 / 0", true, 0}, {"max(2, 3, 4)", true, 4},
                {"not red", true, 0},  {"-red", true, -41}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_expression *e = parse(rows[i].text);
        int64_t value = -99;
        bool is = st_expression_constant(e, &value);
        if (is != rows[i].is || (is && value != rows[i].value))
            fail_msg("`%s`: %d %lld", rows[i].text, is, (long long)value);
        st_expression_free(e);
    }
}

static void test_conjuncts(void **state) {
    (void)state;
    const st_expression *terms[8];
    st_expression *e =
        parse("(n > 1 and (m + 1) * 2 < 3) and (zero or (n and m)) and not (n and m)");
    assert_int_equal(st_expression_conjuncts(e, terms, 8), 4);
    assert_string_equal(st_expression_text(terms[0]), "n > 1");
    assert_string_equal(st_expression_text(terms[1]), "(m + 1) * 2 < 3");
    assert_string_equal(st_expression_text(terms[2]), "(zero or (n and m))");
    assert_string_equal(st_expression_text(terms[3]), "not (n and m)");
    assert_int_equal(st_expression_conjuncts(e, terms, 2), 4); // how many there are
    int64_t value;
    assert_int_equal(st_expression_evaluate(terms[1], values, &value, NULL), ST_OK);
    assert_int_equal(value, 1);
    st_expression_free(e); // E4: the terms go with it
    e = parse("n or m");
    assert_int_equal(st_expression_conjuncts(e, terms, 8), 1);
    assert_ptr_equal(terms[0], e);
    st_expression_free(e);
}

// --- printing
// ------------------------------------------------------------------------------------------------------

static void print_name(void *context, int slot, st_text *out) {
    (void)context;
    st_text_addf(out, "v%d", slot);
}

static const struct {
    const char *text, *sql, *cxx;
} printed[] = {
    {"n", "v0", "v0"},
    {"red", "41", "41LL"},
    {"-5", "(-5)", "(-5LL)"},
    {"-9223372036854775808", "(-9223372036854775807 - 1)", "(-9223372036854775807LL - 1LL)"},
    {"not n == 2", "(NOT (+v0 == 2))", "(!(v0 == 2LL))"},
    {"not n", "(NOT v0)", "(!(v0 != 0))"},
    {"n and m or zero", "((v0 AND v1) OR v2)", "(((v0 != 0) && (v1 != 0)) || (v2 != 0))"},
    {"n and m and zero", "(v0 AND v1 AND v2)", "((v0 != 0) && (v1 != 0) && (v2 != 0))"},
    {"n / 4 % 3", "(v0 / 4 % 3)", "((v0 / 4LL) % 3LL)"},
    {"n / zero", "simtune_divide(v0, v2, 't.cu:7: `n / zero`')", "(v2 == 0 ? 0LL : v0 / v2)"},
    {"n % zero", "simtune_modulo(v0, v2, 't.cu:7: `n % zero`')",
     "((v2 == 0 || v2 == -1) ? 0LL : v0 % v2)"},
    {"n + 1", "simtune_add(v0, 1, 't.cu:7: `n + 1`')", "(v0 + 1LL)"},
    {"(n < 2) + 1", "((v0 < 2) + 1)", "(((long long)(v0 < 2LL)) + 1LL)"},
    {"min(n, 2, m)", "min(min(v0, 2), v1)", "simtune_min(simtune_min(v0, 2LL), v1)"},
    {"ceil_div(n, 4)", "simtune_ceil_div(v0, 4, 't.cu:7: `ceil_div(n, 4)`')",
     "simtune_ceil_div(v0, 4LL)"},
    {"n and 1 / zero", // order is spelled out where something can fail
     "(CASE WHEN v0 THEN (simtune_divide(1, v2, 't.cu:7: `n and 1 / zero`') <> 0) ELSE 0 END)",
     "((v0 != 0) && ((v2 == 0 ? 0LL : 1LL / v2) != 0))"},
};

static void test_printing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        st_expression *e = parse(printed[i].text);
        st_text sql, cxx;
        st_text_init(&sql);
        st_text_init(&cxx);
        st_expression_print_sql(e, print_name, NULL, &sql);
        st_expression_print_cxx(e, print_name, NULL, &cxx);
        assert_string_equal(st_text_string(&sql), printed[i].sql);
        assert_string_equal(st_text_string(&cxx), printed[i].cxx);
        st_text_release(&sql);
        st_text_release(&cxx);
        st_expression_free(e);
    }
}

// A quote in the text must not end the SQL string that carries it.
static void test_quotes(void **state) {
    (void)state;
    st_expression *e = NULL;
    assert_int_equal(st_expression_parse("n / zero", (st_place){"it's.cu", 1}, &scope, &e, NULL),
                     ST_OK);
    st_text sql;
    st_text_init(&sql);
    st_expression_print_sql(e, print_name, NULL, &sql);
    assert_string_equal(st_text_string(&sql), "simtune_divide(v0, v2, 'it''s.cu:1: `n / zero`')");
    st_text_release(&sql);
    st_expression_free(e);
}

// With ranges: n 1…1000, m -10…10, zero 0…5, everything else anything.
static void test_ranges(void **state) {
    (void)state;
    st_range ranges[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        ranges[i] = (st_range){INT64_MIN, INT64_MAX, false};
    ranges[N] = (st_range){1, 1000, false};
    ranges[M] = (st_range){-10, 10, false};
    ranges[ZERO] = (st_range){0, 5, false};
    st_sql_names names = {print_name, NULL, ranges, NULL};
    static const struct {
        const char *text, *sql;
        int64_t low, high;
        bool may_fail;
    } rows[] = {
        {"n + 1", "(v0 + 1)", 2, 1001, false},
        {"n * m", "(v0 * v1)", -10000, 10000, false},
        {"100 / n", "(100 / v0)", 0, 100, false},
        {"m / n", "(v1 / v0)", -10, 10, false},
        {"m % n", "(v1 % v0)", -10, 10, false},
        {"n % 7", "(v0 % 7)", 0, 6, false},
        {"n / m", "simtune_divide(v0, v1, 't.cu:7: `n / m`')", -1000, 1000, true},
        {"ceil_div(n, 4)", "((v0 + 4 - 1) / 4)", 1, 250, false},
        {"ceil_log2(n)", "simtune_ceil_log2(v0, 't.cu:7: `ceil_log2(n)`')", 0, 10, false},
        {"n > 0", "(v0 > 0)", 1, 1, false},
        {"n == m", "(+v0 == +v1)", 0, 1, false},
        {"m > 100", "(v1 > 100)", 0, 0, false},
        {"min(n, m)", "min(v0, v1)", -10, 10, false},
        {"-m", "(- v1)", -10, 10, false},
        {"big + n", "simtune_add(v3, v0, 't.cu:7: `big + n`')", INT64_MIN + 1, INT64_MAX, true},
        {"n > 0 or 1 / zero", // never reached
         "(CASE WHEN (v0 > 0) THEN 1 ELSE (simtune_divide(1, v2, "
         "'t.cu:7: `n > 0 or 1 / zero`') <> 0) END)",
         1, 1, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_expression *e = parse(rows[i].text);
        st_text sql;
        st_text_init(&sql);
        st_range range = st_expression_range(e, &names);
        st_expression_print_sql_with(e, &names, &sql);
        if (range.low != rows[i].low || range.high != rows[i].high ||
            range.may_fail != rows[i].may_fail)
            fail_msg("`%s`: %lld … %lld %d", rows[i].text, (long long)range.low,
                     (long long)range.high, range.may_fail);
        assert_string_equal(st_text_string(&sql), rows[i].sql);
        st_text_release(&sql);
        st_expression_free(e);
    }
}

// Bounds over n alone, the others as above (m 2…16, zero 0…5 here).
static void test_bounds(void **state) {
    (void)state;
    st_range ranges[SLOTS];
    bool known[SLOTS] = {[N] = true};
    for (int i = 0; i < SLOTS; i++)
        ranges[i] = (st_range){0, 0, false};
    ranges[N] = (st_range){1, 1000, false};
    ranges[M] = (st_range){2, 16, false};
    ranges[ZERO] = (st_range){0, 5, false};
    st_sql_names names = {print_name, NULL, ranges, NULL};
    static const struct {
        const char *text, *bound;
    } rows[] = {
        {"n * m <= 100", "(((v0 * 2) <= 100))"},
        {"100 >= n * m", "(((v0 * 2) <= 100))"},
        {"n * m * 3 < 100", "(((v0 * 2 * 3) < 100))"},
        {"n + m - zero <= 10", "(((v0 + 2 - 5) <= 10))"},
        {"n * m >= 100", "((100 <= (v0 * 16)))"},
        {"ceil_div(n, m) >= 10",
         "((10 <= simtune_ceil_div(v0, 2, 't.cu:7: `ceil_div(n, m) >= 10`')))"},
        {"n / m >= 10", "((10 <= (v0 / 2)))"},
        {"n * m == 64", "((((v0 * 2) <= 64) AND (64 <= (v0 * 16))))"},
        {"n * m <= 32000", NULL}, // always true
        {"n % m == 0", NULL},     // nothing follows for n
        {"n <= 5", NULL},         // all is known: not a bound
        {"n * m <= 100 or n + m <= 8", "((((v0 * 2) <= 100) OR ((v0 + 2) <= 8)))"},
        {"n * m <= 100 or m == 3", NULL}, // one side of `or` says nothing of n
        {"n / zero <= 100", NULL},        // can fail
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_expression *e = parse(rows[i].text);
        st_text sql;
        st_text_init(&sql);
        bool is = st_expression_print_sql_bound(e, &names, known, &sql);
        if (is != (rows[i].bound != NULL))
            fail_msg("`%s`: %s", rows[i].text, st_text_string(&sql));
        assert_string_equal(st_text_string(&sql), is ? rows[i].bound : "");
        st_text_release(&sql);
        st_expression_free(e);
    }
}

// --- memory
// --------------------------------------------------------------------------------------------------------

static void test_no_memory(void **state) {
    (void)state;
    const char *text = "min(n, 2) * 3 <= 4 and not elephants";
    for (int good = 0; good < 2; good++) {
        const char *use = good ? "min(n, 2) * 3 <= 4 and not m" : text;
        bool injected = true;
        for (unsigned long n = 1; injected; n++) {
            st_expression *e = NULL;
            st_error error = {0};
            st_fault_arm(ST_FAULT_ALLOCATION, n);
            st_code code = st_expression_parse(use, (st_place){"t.cu", 7}, &scope, &e, &error);
            injected = st_fault_injected(ST_FAULT_ALLOCATION);
            st_fault_arm(ST_FAULT_ALLOCATION, 0);
            assert_int_equal(code, injected ? ST_NO_MEMORY : good ? ST_OK : ST_USAGE);
            assert_true((e != NULL) == (code == ST_OK));
            st_expression_free(e);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meanings),  cmocka_unit_test(test_failures),
        cmocka_unit_test(test_mistakes),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_questions), cmocka_unit_test(test_constants),
        cmocka_unit_test(test_conjuncts), cmocka_unit_test(test_printing),
        cmocka_unit_test(test_quotes),    cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_bounds),    cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("expression", tests, make_scope, drop_scope);
}
