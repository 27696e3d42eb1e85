// SPDX-License-Identifier: Apache-2.0
// T1 files: lists of values are Python's; conditions mean the same in the language of templates; a file becomes the
// template that its keys describe; what is not understood is refused, by the key.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/faults.h"
#include "tuner/base/expression.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/types.h"
#include "tuner/t1.h"
#include "tuner/t1_expression.h"

#include <stdio.h>
#include <string.h>

// --- lists ------------------------------------------------------------------------------------------------------

static void list_text(const char *text, st_text *out)
{
    st_t1_list list;
    st_error error = {0};
    st_code code = st_t1_values(text, "f.json", &list, &error);
    st_text_clear(out);
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].word)
            st_text_addf(out, "%s%s", i ? " " : "", list.items[i].word);
        else
            st_text_addf(out, "%s%lld", i ? " " : "", (long long)list.items[i].number);
    if (code)
        st_text_addf(out, "!%s", error.what);
    assert_true(code == ST_OK || (code == ST_USAGE && st_text_starts(error.what, "f.json: ")));
    st_t1_list_release(&list);
}

static void test_values(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[1, 2, 4]", "1 2 4"},
        {"[]", ""},
        {"[7]", "7"},
        {"(1, 2)", "1 2"},
        {"[1, 2,]", "1 2"},
        {"[32 * i for i in range(1, 5)]", "32 64 96 128"},
        {"[1] + [2 * i for i in range(1, 4)]", "1 2 4 6"},
        {"[i for i in range(10) if i % 3 == 0 and i != 6]", "0 3 9"},
        {"[i**2 for i in [1, 2, 3]]", "1 4 9"},
        {"[2**i for i in range(0, 6)]", "1 2 4 8 16 32"},
        {"list(range(2, 9, 3))", "2 5 8"},
        {"range(3, 0, -1)", "3 2 1"},
        {"[-7 // 2, -7 % 2, 7 // -2, 8 / 2]", "-4 1 -4 4"}, // as Python: toward minus infinity
        {"[1e3, 2.0]", "1000 2"},
        {"[True, False]", "1 0"},
        {"['row', \"column\"]", "row column"},
        {"[min(3, 2), max(1, 2, 3), int(4)]", "2 3 4"},
        {"[i if i in range(3)]", "!f.json: `]` is missing: `[i if i in range(3)]`"},
        {"[0.5]", "!f.json: a number that is no integer: `[0.5]`"},
        {"[7 / 2]", "!f.json: a quotient that is no integer: `[7 / 2]`"},
        {"[1 // 0]", "!f.json: a division by zero: `[1 // 0]`"},
        {"[2**63]", "!f.json: a number that does not fit 64 bits: `[2**63]`"},
        {"[x]", "!f.json: an unknown name: `[x]`"},
        {"[1, 2", "!f.json: `]` is missing: `[1, 2`"},
        {"[1] [2]", "!f.json: something stands behind the end: `[1] [2]`"},
        {"__import__('os').system('x')",
         "!f.json: a character that is not read here: `__import__('os').system('x')`"},
        {"open('x')", "!f.json: this is no list: `open('x')`"},
        {"3", "!f.json: this is no list: `3`"},
        {"range(100000)", NULL}, // more values than are read
        {"range(1, 2, 0)", NULL},
        {"[i for i in range(9) for j in range(9)]", NULL},
        {"['a\\'b']", NULL},
        {"", NULL},
    };
    st_text got;
    st_text_init(&got);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        list_text(cases[i][0], &got);
        if (cases[i][1] && strcmp(st_text_string(&got), cases[i][1]) != 0)
            fail_msg("%s: %s, expected %s", cases[i][0], st_text_string(&got), cases[i][1]);
        if (!cases[i][1] && !strchr(st_text_string(&got), '!'))
            fail_msg("%s: not refused: %.200s", cases[i][0], st_text_string(&got));
    }
    st_text_release(&got);
}

// --- conditions -------------------------------------------------------------------------------------------------

static st_code translated(const char *text, bool are_signed, st_text *out, st_error *error)
{
    const st_t1_names names = {.sizes = {4096, 100}, .size_count = 2, .are_signed = are_signed};
    st_text_clear(out);
    return st_t1_translate(text, "f.json", &names, out, error);
}

// For every x and y: what Python says of `text` is what the translation gives.
static void test_conditions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t right[3]; // at (x, y) = (4, 6), (32, 1), (0, 0)
    } cases[] = {
        {"x * y <= 1024", {1, 1, 1}},
        {"1 <= x * y <= 24", {1, 0, 0}},
        {"1 < x < y < 7 < 8", {1, 0, 0}},
        {"x == 4 and not y == 1 or x == 32", {1, 1, 0}},
        {"x == 4 && !(y == 1) || x == 32", {1, 1, 0}},
        {"x in [1, 2, 4]", {1, 0, 0}},
        {"x not in (1, 2, 4)", {0, 1, 1}},
        {"x in []", {0, 0, 0}},
        {"x ** 2 == 16", {1, 0, 0}},
        {"x ** 0 == 1", {1, 1, 1}},
        {"2 * x + y // 4 % 3 - 1", {8, 63, -1}},
        {"-x + 2 * -y", {-16, -34, 0}},
        {"ceil(x / 3) == 2", {1, 0, 0}},
        {"math.ceil((x + y) / 4)", {3, 9, 0}},
        {"max(x, y, 5) - min(x, y)", {2, 31, 5}},
        {"ProblemSize[0] - problem_size_y", {3996, 3996, 3996}},
        {"x == 4 == True", {0, 0, 0}}, // a chain, as in Python
        {"(x == 4) == True", {1, 0, 0}},
        {"int(x) > 0", {1, 1, 0}},
    };
    static const int64_t points[][2] = {{4, 6}, {32, 1}, {0, 0}};
    st_scope scope = {0};
    st_text text;
    st_text_init(&text);
    st_scope_add(&scope, (st_name){.name = "x"});
    st_scope_add(&scope, (st_name){.name = "y"});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_error error = {0};
        st_expression *expression = NULL;
        if (translated(cases[i].text, false, &text, &error) ||
            st_expression_parse(st_text_string(&text), (st_place){"t", 1}, &scope, &expression,
                                &error))
            fail_msg("%s → %s: %s", cases[i].text, st_text_string(&text), error.what);
        for (size_t p = 0; p < 3; p++) {
            int64_t got = -99;
            assert_int_equal(st_expression_evaluate(expression, points[p], &got, &error), ST_OK);
            if (got != cases[i].right[p])
                fail_msg("%s → %s: %lld at point %zu", cases[i].text, st_text_string(&text),
                         (long long)got, p);
        }
        st_expression_free(expression);
    }
    st_text_release(&text);
    st_scope_release(&scope);
}

static void test_refused_conditions(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "x / 2 == 1",    "2 ** x == 8", "x ** 17", "f(x)",  "x in y", "x[0]",    "ProblemSize[2]",
        "x if y else 1", "x = 1",       "x +",     "(x",    "x y",    "x not y", "'a b' == x",
        "lambda: 1",     "x @ y",       "max(x)",  "min()", "[1, 2]", "x.y.z"};
    st_text text;
    st_text_init(&text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_error error = {0};
        st_code code = translated(cases[i], false, &text, &error);
        bool left = code == ST_OK &&
                    strcmp(cases[i], "x.y.z") == 0; // the template's reader knows no such name
        if (!left && (code != ST_USAGE || !st_text_starts(error.what, "f.json: ")))
            fail_msg("%s: not refused: %s", cases[i], st_text_string(&text));
    }
    // Below 0 these round another way here than in Python.
    st_error error = {0};
    assert_int_equal(translated("x // 2 == 1", true, &text, &error), ST_USAGE);
    assert_int_equal(translated("x % 2 == 1", true, &text, &error), ST_USAGE);
    assert_int_equal(translated("x * 2 == 1", true, &text, &error), ST_OK);
    // Depth and growth are bounded.
    st_text deep;
    st_text_init(&deep);
    for (int i = 0; i < 2000; i++)
        st_text_add(&deep, "(x < ");
    assert_int_equal(translated(st_text_string(&deep), false, &text, &error), ST_USAGE);
    st_text_clear(&deep);
    for (int i = 0; i < 60; i++)
        st_text_add(&deep, "(x < ");
    st_text_add(&deep, "1");
    for (int i = 0; i < 60; i++)
        st_text_add(&deep, " < y)");
    assert_int_equal(translated(st_text_string(&deep), false, &text, &error), ST_USAGE);
    st_text_release(&deep);
    st_text_release(&text);
}

// --- files ------------------------------------------------------------------------------------------------------

static const char kernel[] =
    "extern \"C\" __global__ void vector_add(float *c, const float *a, int n) {}\n";
static const char head[] =
    "{\"ConfigurationSpace\": {\"TuningParameters\": ["
    "{\"Name\": \"block_size_x\", \"Type\": \"int\", \"Values\": \"[32 * i for i in range(1, "
    "5)]\", \"Default\": 64},"
    "{\"Name\": \"order\", \"Type\": \"string\", \"Values\": [\"row\", \"column\"]}],"
    "\"Conditions\": [{\"Parameters\": [\"block_size_x\"], \"Expression\": \"64 <= block_size_x <= "
    "96\"}]},"
    "\"KernelSpecification\": {\"Language\": \"CUDA\", \"KernelName\": \"vector_add\", "
    "\"KernelFile\": \"add.cu\","
    "\"CompilerOptions\": [\"-std=c++11\", \"-DSCALE=2\"], \"ProblemSize\": [1000], \"LocalSize\": "
    "{\"X\": "
    "\"block_size_x\"}, \"GridDivX\": [\"block_size_x\", 2], \"SharedMemory\": 16, \"Arguments\": ["
    "{\"Name\": \"c\", \"Type\": \"float\", \"MemoryType\": \"Vector\", \"AccessType\": "
    "\"WriteOnly\", \"Size\": "
    "\"ProblemSize[0]\"},"
    "{\"Name\": \"a\", \"Type\": \"float2\", \"MemoryType\": \"Vector\", \"AccessType\": "
    "\"ReadOnly\", \"FillType\": "
    "\"Constant\", \"FillValue\": 0.0, \"Size\": 1000},"
    "{\"Name\": \"n\", \"Type\": \"int32\", \"MemoryType\": \"Scalar\", \"FillType\": "
    "\"Constant\", \"FillValue\": 1000},"
    "{\"Type\": \"double\", \"MemoryType\": \"Local\", \"Size\": \"block_size_x\"}]}}";

static st_code parse(const char *json, st_template **out, st_error *error)
{
    return st_t1_parse("dir/f.json", json, strlen(json), "dir/add.cu", kernel, out, error);
}

static void test_file(void **state)
{
    (void)state;
    st_template *t = NULL;
    st_error error = {0};
    if (parse(head, &t, &error))
        fail_msg("%s", error.what);
    assert_string_equal(t->family, "vector_add");
    assert_string_equal(t->path, "dir/f.json");
    assert_string_equal(t->folder, "dir");
    assert_int_equal(t->axis_count, 0);
    assert_int_equal(t->parameter_count, 2);
    assert_int_equal(t->parameters[0].value_count, 4);
    assert_int_equal(t->parameters[0].default_index, 1);
    assert_int_equal(t->parameters[0].roles, ST_ROLE_TLP);
    assert_int_equal(t->parameters[1].default_index, 0);
    assert_string_equal(t->parameters[1].values[1].word, "column");
    assert_int_equal(t->where_count, 1);
    assert_int_equal(t->buffer_count, 2);
    assert_int_equal(t->buffers[0].role, ST_BUFFER_OUTPUT);
    assert_string_equal(st_expression_text(t->buffers[0].count), "1 * (1000)");
    assert_string_equal(st_expression_text(t->buffers[1].count), "2 * (1000)");
    assert_string_equal(t->buffers[1].fill.word, "zero");
    const st_step *launch = &t->steps[0];
    assert_string_equal(launch->kernel, "vector_add");
    assert_string_equal(st_expression_text(launch->grid[0]),
                        "(ceil_div(1000, max(1, 1 * (block_size_x) * (2))))");
    assert_string_equal(st_expression_text(launch->block[0]), "(block_size_x)");
    assert_string_equal(st_expression_text(launch->smem), "16 + 8 * (block_size_x)");
    assert_int_equal(launch->argument_count, 3); // local memory is none
    assert_int_equal(launch->arguments[2].type, ST_I32);
    assert_non_null(strstr(t->text, "#define SCALE 2\n#line 1 \"add.cu\"\nextern"));
    st_template_free(t);
}

// `from` in the file becomes `to`; what is said of it.
static void test_mistakes(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"64 <= block_size_x", "64 <= block_size_y",
         "dir/f.json: ConfigurationSpace.Conditions[0]: "},
        {"\"Default\": 64", "\"Default\": 65",
         "dir/f.json: ConfigurationSpace.TuningParameters[0] (block_size_x): Default"},
        {"\"Values\": [\"row\", \"column\"]", "\"Values\": []", "it has no values"},
        {"\"Values\": [\"row\", \"column\"]", "\"Values\": [\"row\", 0.5]",
         "neither an integer nor a text"},
        {"\"Values\": [\"row\", \"column\"]", "\"Values\": [\"row\", \"row\"]",
         "dir/f.json: ConfigurationSpace.TuningParameters[1] (order): "},
        {"\"Name\": \"order\"", "\"Name\": \"block_size_X\"",
         "ConfigurationSpace.TuningParameters[1] (block_size_X): "},
        {"\"Name\": \"order\"", "\"Name\": \"a b\"", "no Name that a macro can have"},
        {"CUDA", "OpenCL", "KernelSpecification.Language: only CUDA"},
        {"\"KernelName\": \"vector_add\"", "\"KernelName\": \"vector_add<int>\"",
         "no plain name of a kernel"},
        {"-DSCALE=2", "--use_fast_math", "KernelSpecification.CompilerOptions[1]: "},
        {"\"ProblemSize\": [1000]", "\"ProblemSize\": [\"n\"]",
         "KernelSpecification.ProblemSize: "},
        {"\"ProblemSize\": [1000]", "\"ProblemSize\": null", "ProblemSize[0] to [2]"},
        {"\"GridDivX\": [\"block_size_x\", 2], ", "",
         "KernelSpecification.GlobalSize.X: the grid is missing"},
        {"\"Type\": \"float2\"", "\"Type\": \"custom\"",
         "KernelSpecification.Arguments[1] (a): an unknown Type"},
        {"\"ReadOnly\"", "\"Read\"", "an unknown AccessType"},
        {"\"Constant\", \"FillValue\": 0.0", "\"BinaryRaw\"", "data out of files"},
        {"\"FillValue\": 1000", "\"FillValue\": 0.5", "a scalar whose FillValue is no integer"},
        {"\"Local\"", "\"Symbol\"", "constant memory"},
        {"\"Name\": \"c\"", "\"Name\": \"class\"", "KernelSpecification.Arguments[0] (class): "},
        {"\"SharedMemory\": 16",
         "\"ReferenceArguments\": [{\"TargetName\": \"c\", \"ValidationMethod\": "
         "\"AbsoluteDifference\", \"ValidationThreshold\": 0.1}]",
         "KernelSpecification.ReferenceArguments[0]: "},
        {"{\"ConfigurationSpace\"", "{\"Space\"", "dir/f.json is no T1 file"},
        {"\"SharedMemory\": 16", "\"SharedMemory\": 1000000000000",
         "KernelSpecification.SharedMemory: it is 1000000000000, outside 0 to 1048576"},
        {"\"Constant\", \"FillValue\": 0.0, \"Size\": 1000", "\"Random\", \"Size\": 1000000000000000000",
         "KernelSpecification.Arguments[1] (a): Size is 1000000000000000000, outside 0 to "},
        {"\"Constant\", \"FillValue\": 0.0, \"Size\": 1000", "\"Random\", \"Size\": -1", "Size is -1, outside"},
        {"\"Arguments\": [", "\"Arguments\": {}, \"Other\": [", "KernelSpecification.Arguments: it is no list"},
        {"}]}}", "}]}", "dir/f.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = strstr(head, cases[i][0]);
        assert_non_null(at);
        char *json =
            st_format("%.*s%s%s", (int)(at - head), head, cases[i][1], at + strlen(cases[i][0]));
        st_template *t = NULL;
        st_error error = {0};
        st_code code = parse(json, &t, &error);
        char all[1600];
        snprintf(all, sizeof all, "%s %s", error.what, error.remedy);
        if (code == ST_OK || t || !strstr(all, cases[i][2]) || !strstr(error.what, "f.json"))
            fail_msg("%s → %s: %d %s", cases[i][0], cases[i][1], code, error.what);
        st_free(json);
    }
}

// What fails only when it is computed is told by the key, too.
static void test_condition_that_divides_by_zero(void **state)
{
    (void)state;
    const char *at = strstr(head, "64 <= block_size_x");
    char *json = st_format("%.*sblock_size_x %% 0 == 0 or 64 <= block_size_x%s", (int)(at - head), head,
                           strchr(at, '"'));
    st_template *t = NULL;
    st_error error = {0};
    if (parse(json, &t, &error))
        fail_msg("%s", error.what);
    st_place place = st_expression_place(t->wheres[0]);
    assert_string_equal(place.file, "dir/f.json: ConfigurationSpace.Conditions[0]");
    assert_true(place.line < 0);
    const int64_t values[64] = {0};
    int64_t out;
    assert_int_equal(st_expression_evaluate(t->wheres[0], values, &out, &error), ST_USAGE);
    assert_true(st_text_starts(error.what, "dir/f.json: ConfigurationSpace.Conditions[0]: `"));
    assert_non_null(strstr(error.what, "division by zero"));
    st_template_free(t);
    st_free(json);
}

static void test_reference_threshold(void **state)
{
    (void)state;
    const char *at = strstr(head, "\"SharedMemory\": 16");
    char *json =
        st_format("%.*s\"ReferenceArguments\": [{\"TargetName\": \"c\", \"ValidationMethod\": "
                  "\"SideBySideRelativeComparison\", \"ValidationThreshold\": 0.001}]%s",
                  (int)(at - head), head, at + strlen("\"SharedMemory\": 16"));
    st_template *t = NULL;
    st_error error = {0};
    if (parse(json, &t, &error))
        fail_msg("%s", error.what);
    assert_int_equal(t->compare_count, 1);
    assert_true(t->compares[0].tolerance == 0.001);
    st_template_free(t);
    st_free(json);
}

static void test_kernel_that_names_its_size(void **state)
{
    (void)state;
    st_template *t = NULL;
    st_error error = {0};
    if (st_t1_parse("f.json", head, strlen(head), "add.cu", "int n = problem_size_x;\n", &t,
                    &error))
        fail_msg("%s", error.what);
    assert_non_null(strstr(t->text, "#define problem_size_x 1000\n"));
    st_template_free(t);
}

// Memory that runs out anywhere is told, and nothing is left.
static void test_no_memory(void **state)
{
    (void)state;
    for (unsigned long n = 1;; n = next_fault(n)) {
        st_error error = {0};
        st_template *t = NULL;
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = parse(head, &t, &error);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_true((code == ST_OK) == (t != NULL));
        st_template_free(t);
        if (!injected) {
            assert_int_equal(code, ST_OK);
            break;
        }
        if (code != ST_NO_MEMORY)
            fail_msg("allocation %lu: %d %s", n, code, error.what);
    }
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_refused_conditions),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_condition_that_divides_by_zero),
        cmocka_unit_test(test_reference_threshold),
        cmocka_unit_test(test_kernel_that_names_its_size),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
