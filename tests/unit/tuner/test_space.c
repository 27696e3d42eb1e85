// SPDX-License-Identifier: Apache-2.0
// The space. S1 … S4 are the invariants of tuner/space.c. The judge is a plain loop over all
// combinations that evaluates every constraint as a tree.
#include "tuner/space.h"

#include "tuner/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const st_device_facts device = {.name = "Test",
                                       .cc = 90,
                                       .sm_count = 132,
                                       .smem_per_block = 65536,
                                       .max_threads_per_block = 1024};

static st_template *load(const char *directives) {
    st_template *t = NULL;
    st_error error = {0};
    char *text = st_format("// simtune: family f\n// simtune: axis n = 1000\n%s"
                           "// simtune: launch k grid=1 block=1 args=n\n",
                           directives);
    if (st_template_parse("s.cu", text, strlen(text), &t, &error) != ST_OK)
        fail_msg("%s | %s", error.what, error.remedy);
    st_free(text);
    return t;
}

static const st_problem problem = {{1000}};

static st_space *open_space(const st_template *t, const st_space_options *options) {
    st_space *space = NULL;
    st_error error = {0};
    if (st_space_open(t, &problem, &device, options, &space, &error) != ST_OK)
        fail_msg("%s | %s", error.what, error.remedy);
    return space;
}

static void expect_error(const st_template *t, const st_space_options *options, st_code code,
                         const char *what, const char *remedy) {
    st_space *space = (st_space *)t; // must be set to NULL
    st_error error = {0};
    st_code got = st_space_open(t, &problem, &device, options, &space, &error);
    if (got != code || space || !strstr(error.what, what) || !strstr(error.remedy, remedy))
        fail_msg("%d: %s | %s", got, error.what, error.remedy);
}

// --- the judge
// ----------------------------------------------------------------------------------------------------

static bool allowed(const st_template *t, const st_config *config, bool need_run_to_run) {
    st_bindings bindings;
    bool holds = true;
    assert_int_equal(st_bindings_make(t, &problem, config, &device, &bindings, NULL), ST_OK);
    for (size_t i = 0; holds && i < t->where_count; i++) {
        int64_t value;
        assert_int_equal(st_bindings_evaluate(&bindings, t->wheres[i], 1, &value, NULL), ST_OK);
        holds = value != 0;
    }
    if (holds && need_run_to_run)
        assert_int_equal(st_bindings_deterministic(&bindings, &holds, NULL), ST_OK);
    st_bindings_release(&bindings);
    return holds;
}

// All combinations in the order of the file: those that are allowed must be the space, in that
// order.
static size_t judge(const st_template *t, const st_space *space, bool need_run_to_run) {
    size_t index[ST_MAX_PARAMETERS] = {0};
    size_t count = 0, total = 0;
    for (;;) {
        st_config config = {{0}}, got;
        for (size_t i = 0; i < t->parameter_count; i++)
            config.value[i] = t->parameters[i].values[index[i]].number;
        total++;
        bool is = allowed(t, &config, need_run_to_run);
        assert_int_equal(st_space_find(space, &config), is ? (int64_t)count : -1); // S1, S2, S3
        const char *why = st_space_why_not(space, &config);
        assert_true((why == NULL) == is);
        if (is) {
            assert_true(count < st_space_count(space));
            st_space_config(space, count++, &got);
            assert_true(st_config_equal(t, &config, &got));
        }
        size_t i = t->parameter_count;
        while (i > 0 && ++index[i - 1] == t->parameters[i - 1].value_count)
            index[--i] = 0;
        if (i == 0)
            break;
    }
    assert_int_equal(st_space_count(space), count);
    assert_true(st_space_combinations(space) == (double)total);
    return count;
}

static const char mixed[] = "// simtune: param A = 1 2 4 8\n"
                            "// simtune: param B = 1 2 3 4 6\n"
                            "// simtune: param MODE = plain fancy atomic\n"
                            "// simtune: param C = 0:6:2\n"
                            "// simtune: param ONE = 7\n"
                            "// simtune: default A=1 B=1 MODE=plain C=0 ONE=7\n"
                            "// simtune: let product = A * B * ONE\n"
                            "// simtune: let share = ceil_div(n, product)\n"
                            "// simtune: where A % B == 0 or MODE == fancy\n"
                            "// simtune: where C == 0 or 12 % C == 0\n" // guarded: C is 0 at times
                            "// simtune: where not MODE == atomic or product <= 28 and CC >= 90\n"
                            "// simtune: where share * 2 >= 30 - C and max(A, B) < 8\n"
                            "// simtune: determinism run_to_run when MODE != atomic\n"
                            "// simtune: determinism run_to_run when A == 1\n";

static void test_against_the_judge(void **state) {
    (void)state;
    st_template *t = load(mixed);
    st_space *space = open_space(t, NULL);
    size_t all = judge(t, space, false);
    st_space_close(space);
    space = open_space(t, &(st_space_options){.need_run_to_run = true});
    size_t deterministic = judge(t, space, true);
    st_space_close(space);
    assert_true(all > 20 && deterministic > 10 && deterministic < all);
    st_template_free(t);
}

// Prunes cut the search, not what is right: who names values is not cut, and what only they leave out is told.
static void test_prunes(void **state) {
    (void)state;
    st_template *t = load("// simtune: param A = 1 2 4\n// simtune: param B = 1 2\n// simtune: default A=1 B=1\n"
                          "// simtune: where A != 4 or B == 1\n// simtune: prune A > B\n");
    st_space *space = open_space(t, NULL);
    assert_int_equal(st_space_count(space), 2); // A=2 B=1, A=4 B=1
    st_config config;
    st_config_default(t, &config);
    assert_int_equal(st_space_find(space, &config), -1);
    assert_true(st_space_only_pruned(space, &config));
    assert_string_equal(st_space_why_not(space, &config), "s.cu:7: prune A > B");
    config = (st_config){{4, 2}}; // forbidden as well
    assert_false(st_space_only_pruned(space, &config));
    config = (st_config){{2, 1}}; // in the space
    assert_false(st_space_only_pruned(space, &config));
    st_space_close(space);
    static const char *const set[] = {"B=1"}, *const vary[] = {"A"}, *const where[] = {"B == 1"};
    space = open_space(t, &(st_space_options){.set = set, .set_count = 1});
    assert_int_equal(st_space_count(space), 3);
    st_space_close(space);
    space = open_space(t, &(st_space_options){.vary = vary, .vary_count = 1});
    assert_int_equal(st_space_count(space), 3);
    st_space_close(space);
    space = open_space(t, &(st_space_options){.where = where, .where_count = 1});
    assert_int_equal(st_space_count(space), 2);
    st_space_close(space);
    st_template_free(t);
}

static void test_determinism_of_default_runs(void **state) {
    (void)state;
    st_template *t = load("// simtune: param A = 1 2\n// simtune: default A=1\n"
                          "// simtune: determinism run_to_run when A == 1\n"
                          "// simtune: determinism default none when n >= 1000\n");
    st_space *space = open_space(t, &(st_space_options){.need_run_to_run = true, .unless_default_none = true});
    assert_int_equal(st_space_count(space), 2);
    st_space_close(space);
    space = open_space(t, &(st_space_options){.need_run_to_run = true}); // asked for expressly
    assert_int_equal(st_space_count(space), 1);
    st_space_close(space);
    st_template_free(t);
    t = load("// simtune: param A = 1 2\n// simtune: default A=1\n"
             "// simtune: determinism run_to_run when A == 1\n"
             "// simtune: determinism default none when n > 1000\n");
    space = open_space(t, &(st_space_options){.need_run_to_run = true, .unless_default_none = true});
    assert_int_equal(st_space_count(space), 1);
    st_space_close(space);
    st_template_free(t);
}

// Many parameters: rows of several words.
static void test_wide_rows(void **state) {
    (void)state;
    st_text text;
    st_text_init(&text);
    st_text_add(&text, "// simtune: let few = 3\n");
    for (int i = 0; i < ST_MAX_PARAMETERS; i++)
        st_text_addf(&text, "// simtune: param P%d = 0 1 2 3 4\n// simtune: default P%d=0\n", i, i);
    st_text_add(&text, "// simtune: where 0");
    for (int i = 0; i < ST_MAX_PARAMETERS; i++)
        st_text_addf(&text, " + P%d", i);
    st_text_add(&text, " <= 2\n"); // 1 + 40 + C(40, 2) + 40 (a single 2)
    st_template *t = load(st_text_string(&text));
    st_space *space = open_space(t, NULL);
    assert_int_equal(st_space_count(space), 1 + 40 + 780 + 40);
    for (size_t i = 0; i < st_space_count(space); i++) {
        st_config config;
        st_space_config(space, i, &config);
        assert_int_equal(st_space_find(space, &config), (int64_t)i);
    }
    st_space_close(space);
    st_template_free(t);
    st_text_release(&text);
}

static void test_no_parameters(void **state) {
    (void)state;
    st_template *t = load("// simtune: where n > 10\n");
    st_space *space = open_space(t, NULL);
    assert_int_equal(st_space_count(space), 1);
    assert_true(st_space_combinations(space) == 1);
    st_config config = {{0}};
    assert_int_equal(st_space_find(space, &config), 0);
    st_space_close(space);
    st_template_free(t);
}

// Ten million combinations, a constraint that binds only at the last parameter (so that all of them
// are looked at) and one with a product: the counts were made by the same sums in another
// language's loops.
static const char ten[] = "// simtune: param A = 1:10\n// simtune: param B = 1:10\n"
                          "// simtune: param C = 1:10\n// simtune: param D = 1:10\n"
                          "// simtune: param E = 1:10\n// simtune: param F = 1:10\n"
                          "// simtune: param G = 1:10\n"
                          "// simtune: default A=1 B=1 C=1 D=1 E=1 F=1 G=1\n";

static void test_ten_million(void **state) {
    (void)state;
    static const struct {
        const char *where;
        size_t count;
    } rows[] = {{"(A + B * C + D * E + F * G) % 100 == 7", 87843},
                {"A * B * C * D * E * F * G <= 600", 183045}};
    for (size_t i = 0; i < 2; i++) {
        char *text = st_format("%s// simtune: where %s\n", ten, rows[i].where);
        st_template *t = load(text);
        st_space *space = open_space(t, NULL);
        assert_true(st_space_combinations(space) == 1e7);
        assert_int_equal(st_space_count(space), rows[i].count);
        st_space_close(space);
        st_template_free(t);
        st_free(text);
    }
}

// --- options
// ----------------------------------------------------------------------------------------------------------

static void test_set_and_vary(void **state) {
    (void)state;
    st_template *t = load("// simtune: param A = 1 2 4 8\n// simtune: param B = 1 2 4\n"
                          "// simtune: param M = x y\n// simtune: default A=2 B=1 M=y\n");
    static const char *const set[] = {"A=8,1", "M=x"}, *const vary[] = {"B"},
                             *const both[] = {"B,M"}, *const where[] = {"A < 8", "M == y"};
    st_space *space = open_space(t, &(st_space_options){.set = set, .set_count = 2});
    assert_int_equal(st_space_count(space), 2 * 3);
    st_config config;
    st_space_config(space, 0, &config);
    assert_int_equal(config.value[0], 1); // the order of the file, not of the option
    st_config_default(t, &config);
    assert_string_equal(st_space_why_not(space, &config), "--set or --vary");
    st_space_close(space);
    static const char *const joined[] = {"A=8,1,M=x"}; // the same in one
    space = open_space(t, &(st_space_options){.set = joined, .set_count = 1});
    assert_int_equal(st_space_count(space), 2 * 3);
    st_space_close(space);
    // What is not varied stays at its default, what is set at what it is set to.
    space = open_space(t, &(st_space_options){.vary = vary, .vary_count = 1});
    assert_int_equal(st_space_count(space), 3);
    st_space_config(space, 2, &config);
    assert_int_equal(config.value[0], 2);
    assert_int_equal(config.value[1], 4);
    st_space_close(space);
    space = open_space(
        t, &(st_space_options){.set = set, .set_count = 1, .vary = both, .vary_count = 1});
    assert_int_equal(st_space_count(space), 2 * 3 * 2);
    st_space_close(space);
    space = open_space(t, &(st_space_options){.where = where, .where_count = 2});
    assert_int_equal(st_space_count(space), 3 * 3);
    config.value[0] = 8;
    assert_string_equal(st_space_why_not(space, &config), "--where A < 8");
    st_space_close(space);
    st_template_free(t);
}

static void test_mistakes(void **state) {
    (void)state;
    st_template *t = load("// simtune: param BLOCK = 128 256\n// simtune: param M = plain fancy\n"
                          "// simtune: default BLOCK=128 M=plain\n");
    static const struct {
        const char *set, *vary, *where, *what, *remedy;
    } rows[] = {
        {"BLOK=128", NULL, NULL, "--set: f has no parameter `BLOK`", "Did you mean `BLOCK`?"},
        {"BLOCK=512", NULL, NULL, "--set: `512` is no value of the parameter `BLOCK`", "128 256"},
        {"BLOCK=128,", NULL, NULL, "`` is no value", "128 256"},
        {"M=fancyy", NULL, NULL, "`fancyy` is no value of the parameter `M`",
         "Did you mean `fancy`?"},
        {"BLOCK", NULL, NULL, "--set: `BLOCK` is no value of a parameter", "PARAM=VALUE"},
        {"=3", NULL, NULL, "--set: `=3`", ""},
        {NULL, "BLOCKS", NULL, "--vary: f has no parameter `BLOCKS`", "Did you mean `BLOCK`?"},
        {NULL, "n", NULL, "--vary: f has no parameter `n`", ""},
        {NULL, NULL, "BLOK > 1", "--where: `BLOK > 1`: unknown name `BLOK`",
         "Did you mean `BLOCK`?"},
        {NULL, NULL, "BLOCK = 1", "`=` where", "Write `==`"},
        {NULL, NULL, "n / (BLOCK - 128) > 1", "--where: `n / (BLOCK - 128) > 1`: division by zero",
         "d != 0 and"},
        {NULL, NULL, "BLOCK * 2^62 > 1", "does not fit 64 bits", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_error(t,
                     &(st_space_options){.set = &rows[i].set,
                                         .set_count = rows[i].set != NULL,
                                         .vary = &rows[i].vary,
                                         .vary_count = rows[i].vary != NULL,
                                         .where = &rows[i].where,
                                         .where_count = rows[i].where != NULL},
                     ST_USAGE, rows[i].what, rows[i].remedy);
    static const char *const twice[] = {"BLOCK=128", "BLOCK=256"};
    expect_error(t, &(st_space_options){.set = twice, .set_count = 2}, ST_USAGE, "given twice",
                 "Join");
    expect_error(t, &(st_space_options){.limit = 3}, ST_FAILED, "more than 3 configurations",
                 "--set");
    expect_error(t, &(st_space_options){.need_run_to_run = true}, ST_NOTHING,
                 "no configuration of f", "--determinism");
    st_space *space = open_space(t, &(st_space_options){.limit = 4});
    assert_int_equal(st_space_count(space), 4);
    st_space_close(space);
    st_template_free(t);
}

// An empty space says what forbids the default.
static void test_nothing(void **state) {
    (void)state;
    st_template *t = load("// simtune: param A = 1 2\n// simtune: default A=2\n"
                          "// simtune: where A >= 1\n// simtune: where A * n <= 10 and CC == 90\n");
    expect_error(t, NULL, ST_NOTHING, "no configuration of f is allowed for n=1000 on Test (CC 90)",
                 "A=2 is forbidden by s.cu:6: where A * n <= 10 and CC == 90.");
    static const char *const set[] = {"A=1"};
    expect_error(t, &(st_space_options){.set = set, .set_count = 1}, ST_NOTHING, "no configuration",
                 "A=1 is forbidden by s.cu:6");
    st_template_free(t);
    t = load("// simtune: where n < 10\n");
    expect_error(t, NULL, ST_NOTHING, "no configuration", "forbidden by s.cu:3: where n < 10");
    st_template_free(t);
}

// --- constraints that fail or come late
// -----------------------------------------------------------------------------

// A constraint that guards itself must not divide, wherever SQLite would place its parts.
static void test_guarded(void **state) {
    (void)state;
    st_template *t =
        load("// simtune: param A = 0 1 2 3\n// simtune: param B = 0 1 2\n"
             "// simtune: default A=1 B=1\n"
             "// simtune: let ratio = 12 / B\n" // fails for B = 0
             "// simtune: where A != 0 and B != 0 and 6 % A == 0 and ratio / A >= 2\n");
    st_space *space = open_space(t, NULL);
    assert_int_equal(st_space_count(space), 3 + 3);
    st_config config = {{0, 0}};
    assert_non_null(st_space_why_not(space, &config)); // the let's division by zero
    assert_non_null(strstr(st_space_why_not(space, &config), "s.cu:6: `12 / B`: division by zero"));
    st_space_close(space);
    st_template_free(t);
}

static void test_late(void **state) {
    (void)state;
    st_template *t = load("// simtune: param A = 1 2 4\n// simtune: default A=1\n"
                          "// simtune: let resident = A * BLOCKS_PER_SM\n"
                          "// simtune: where A < 4\n// simtune: where resident <= 4\n");
    static const char *const where[] = {"BLOCKS_PER_SM >= 2"};
    st_space *space = open_space(t, &(st_space_options){.where = where, .where_count = 1});
    assert_int_equal(st_space_count(space), 2); // the late ones do not count
    assert_true(st_space_has_late_where(space));
    static const struct {
        int64_t a, blocks;
        const char *forbidden_by;
    } rows[] = {
        {1, 4, NULL}, {2, 4, "s.cu:7: where resident <= 4"}, {1, 1, "--where BLOCKS_PER_SM >= 2"}};
    for (size_t i = 0; i < 3; i++) {
        st_config config = {{rows[i].a}};
        st_bindings bindings;
        const char *by = "?";
        assert_int_equal(st_bindings_make(t, &problem, &config, &device, &bindings, NULL), ST_OK);
        assert_int_equal(st_space_late_where(space, &bindings, &by, NULL),
                         ST_FAILED); // not yet known
        assert_int_equal(st_bindings_late(&bindings, rows[i].blocks, NULL), ST_OK);
        assert_int_equal(st_space_late_where(space, &bindings, &by, NULL), ST_OK);
        if (rows[i].forbidden_by)
            assert_string_equal(by, rows[i].forbidden_by);
        else
            assert_null(by);
        st_bindings_release(&bindings);
    }
    st_space_close(space);
    st_template_free(t);
}

// Lets of lets of lets would fill the memory if they were simply written out.
static void test_expansion(void **state) {
    (void)state;
    st_text text;
    st_text_init(&text);
    st_text_add(&text,
                "// simtune: param A = 0 1\n// simtune: default A=0\n// simtune: let x0 = A\n");
    for (int i = 1; i < 60; i++)
        st_text_addf(&text, "// simtune: let x%d = max(x%d, x%d)\n", i, i - 1, i - 1);
    st_text_add(&text, "// simtune: where x59 == 0\n");
    st_template *t = load(st_text_string(&text));
    expect_error(t, NULL, ST_USAGE, "too long once the lets in it are written out", "fewer");
    st_template_free(t);
    st_text_release(&text);
}

// --- the query
// ------------------------------------------------------------------------------------------------------

static void test_query(void **state) {
    (void)state;
    st_template *t = load("// simtune: param A = 1 2\n// simtune: param B = 1:8\n"
                          "// simtune: param C = 3\n// simtune: param D = 2 4\n"
                          "// simtune: default A=1 B=1 C=3 D=2\n"
                          "// simtune: where A * C < 6 and B * D <= 16 and n == 1000\n");
    st_space *space = open_space(t, NULL);
    assert_string_equal(st_space_sql(space), "SELECT p0.k, p1.k, p2.k\n"
                                             "FROM p0 /* A */\n"
                                             "CROSS JOIN p1 /* B */\n"
                                             "CROSS JOIN p2 /* D */\n"
                                             "  ON ((p1.v * p2.v) <= 16)\n"
                                             "WHERE 1\n"
                                             "  AND ((p0.v * 3) < 6)\n");
    st_space *again = open_space(t, NULL); // S4
    assert_string_equal(st_space_sql(again), st_space_sql(space));
    st_space_close(again);
    st_space_close(space);
    // Bounds are pushed down where they cut.
    static const char *const where[] = {"B * D <= 12"};
    space = open_space(t, &(st_space_options){.where = where, .where_count = 1});
    assert_non_null(
        strstr(st_space_sql(space), "CROSS JOIN p1 /* B */\n  ON (((p1.v * 2) <= 12))\n"));
    st_space_close(space);
    st_template_free(t);
}

// --- faults
// ---------------------------------------------------------------------------------------------------------

static void test_faults(void **state) {
    (void)state;
    st_template *t = load(mixed);
    static const char *const set[] = {"A=1,2"}, *const where[] = {"B < 4"};
    const st_space_options options = {.set = set, .set_count = 1, .where = where, .where_count = 1};
    for (int kind = ST_FAULT_ALLOCATION; kind <= ST_FAULT_SQLITE; kind++) {
        bool injected = true;
        unsigned long n = 1;
        for (; injected && kind != ST_FAULT_SYSTEM; n++) {
            st_space *space = NULL;
            st_error error = {0};
            st_fault_arm((st_fault)kind, n);
            st_code code = st_space_open(t, &problem, &device, &options, &space, &error);
            injected = st_fault_injected((st_fault)kind);
            st_fault_arm((st_fault)kind, 0);
            assert_int_equal(code, injected ? ST_NO_MEMORY : ST_OK);
            assert_true((space != NULL) == (code == ST_OK));
            st_space_close(space);
        }
        assert_true(kind == ST_FAULT_SYSTEM || n > 20);
    }
    st_template_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_the_judge),
        cmocka_unit_test(test_prunes),
        cmocka_unit_test(test_determinism_of_default_runs),
        cmocka_unit_test(test_wide_rows),
        cmocka_unit_test(test_no_parameters),
        cmocka_unit_test(test_ten_million),
        cmocka_unit_test(test_set_and_vary),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_guarded),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_expansion),
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
