// SPDX-License-Identifier: Apache-2.0
// E3 of tuner/base/expression.c: the tree and its C++ agree. Some hundred random expressions become
// the functions of one program, which is compiled as C11 and as C++11 without a warning and
// compares itself with what the trees gave; with sanitizers, so that no undefined behaviour passes
// for an answer. Skipped where no compiler is present.
#include "tests/unit/random_expression.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { EXPRESSIONS = 400, ROWS = 6 };

static void print_variable(void *context, int slot, st_text *out) {
    (void)context;
    st_text_add(out, random_names[slot]);
}

static void add_number(st_text *out, int64_t value) {
    if (value == INT64_MIN)
        st_text_add(out, "-9223372036854775807LL - 1");
    else
        st_text_addf(out, "%" PRId64 "LL", value);
}

static void add_check(st_text *checks, int number, const int64_t *row, int64_t expected) {
    st_text_addf(checks, "    wrong += check(%d, f%d(", number, number);
    for (int i = 0; i < RANDOM_NAMES; i++) {
        st_text_add(checks, i ? ", " : "");
        add_number(checks, row[i]);
    }
    st_text_add(checks, "), ");
    add_number(checks, expected);
    st_text_add(checks, ");\n");
}

// One function, and a check of it for each row that the tree has a value for.
static size_t add_expression(int number, const st_scope *scope, st_text *functions,
                             st_text *checks) {
    st_text text;
    st_expression *e = NULL;
    size_t count = 0;
    st_text_init(&text);
    do {
        st_text_clear(&text);
        random_text(&text, 4);
    } while (text.length > 300);
    assert_int_equal(
        st_expression_parse(st_text_string(&text), (st_place){"r.cu", 1}, scope, &e, NULL), ST_OK);
    st_text_addf(functions, "/* %s */\nstatic long long f%d(", st_text_string(&text), number);
    for (int i = 0; i < RANDOM_NAMES; i++)
        st_text_addf(functions, "%slong long %s", i ? ", " : "", random_names[i]);
    st_text_add(functions, ") {\n   ");
    for (int i = 0; i < RANDOM_NAMES; i++)
        st_text_addf(functions, " (void)%s;", random_names[i]);
    st_text_add(functions, "\n    return ");
    st_expression_print_cxx(e, print_variable, NULL, functions);
    st_text_add(functions, ";\n}\n");
    for (int r = 0; r < ROWS; r++) {
        int64_t row[RANDOM_NAMES], value;
        random_row(row);
        if (st_expression_evaluate(e, row, &value, NULL) != ST_OK)
            continue;
        add_check(checks, number, row, value);
        count++;
    }
    st_expression_free(e);
    st_text_release(&text);
    return count;
}

static void make_program(st_text *program) {
    st_scope scope = {0};
    st_text checks;
    size_t count = 0;
    st_text_init(&checks);
    random_state = 77;
    assert_true(random_scope(&scope));
    st_text_add(program, "#include <stdio.h>\n");
    st_text_add(program, st_expression_cxx_functions());
    st_text_add(program, "static int check(int number, long long got, long long expected) {\n"
                         "    if (got != expected)\n"
                         "        printf(\"f%d: %lld, not %lld\\n\", number, got, expected);\n"
                         "    return got != expected;\n"
                         "}\n");
    for (int i = 0; i < EXPRESSIONS; i++)
        count += add_expression(i, &scope, program, &checks);
    st_text_addf(
        program,
        "int main(void) {\n    int wrong = 0;\n"
        "    (void)simtune_min; (void)simtune_max; (void)simtune_divide; (void)simtune_modulo;\n"
        "    (void)simtune_ceil_div; (void)simtune_ceil_log2;\n"
        "%s    printf(\"%%d of %zu wrong\\n\", wrong);\n    return wrong != 0;\n}\n",
        st_text_string(&checks), count);
    assert_true(count > EXPRESSIONS);
    assert_false(program->failed || checks.failed);
    st_text_release(&checks);
    st_scope_release(&scope);
}

// Random trees compare a name with itself and multiply constants beyond 64 bits in parts never
// reached.
#define WARNINGS                                                                                   \
    "-Wall -Wextra -Werror -Wno-unknown-warning-option -Wno-tautological-compare -Wno-overflow "   \
    "-Wno-integer-overflow -Wno-div-by-zero -Wno-type-limits -Wno-logical-op -Wno-bool-compare "   \
    "-Wno-unused-function "

static void check_language(const char *compiler, const char *language) {
    char folder[] = "/tmp/simtune-cxx-XXXXXX", command[1024];
    snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", compiler);
    if (system(command) != 0) {
        print_message("no %s here\n", compiler);
        skip();
    }
    st_text program;
    st_text_init(&program);
    make_program(&program);
    assert_non_null(mkdtemp(folder));
    char source[64], binary[64];
    snprintf(source, sizeof source, "%s/program.txt", folder);
    snprintf(binary, sizeof binary, "%s/program", folder);
    assert_int_equal(st_text_write_file(source, program.data, program.length, NULL, NULL), ST_OK);
    st_text_release(&program);
    snprintf(command, sizeof command,
             "%s %s " WARNINGS "-fsanitize=undefined "
             "-fno-sanitize-recover=all -o %s %s",
             compiler, language, binary, source);
    int compiled = system(command);
    int ran = compiled == 0 ? system(binary) : -1;
    if (compiled == 0 && ran == 0) {
        unlink(source);
        unlink(binary);
        rmdir(folder);
    }
    assert_int_equal(compiled, 0);
    assert_int_equal(ran, 0);
}

static void test_c11(void **state) {
    (void)state;
    check_language("cc", "-x c -std=c11 -pedantic");
}

static void test_cxx11(void **state) {
    (void)state;
    check_language("c++", "-x c++ -std=c++11 -pedantic");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c11),
        cmocka_unit_test(test_cxx11),
    };
    return cmocka_run_group_tests_name("expression_cxx", tests, NULL, NULL);
}
