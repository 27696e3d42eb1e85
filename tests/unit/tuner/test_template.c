// SPDX-License-Identifier: Apache-2.0
// Templates: what the directives say is what stands in st_template; every mistake is one message
// with FILE:LINE and a remedy. T1 … T4 are the invariants of tuner/template.c.
#include "tuner/template.h"

#include "tuner/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

// The directives of a whole template, as a reduction would have them.
static const char whole[] =
    "// a comment of no interest\n"
    "// simtune: family   reduce\n"
    "// simtune: summary  sum or least of n elements\n"
    "// simtune: axis     T = f32 double i32\n"
    "// simtune: axis     op = sum min\n"
    "  //simtune: axis    n = 64Ki 1Mi\n"
    "// simtune: param    BLOCK  = 128:512:128          role tlp work\n"
    "// simtune: param    VEC    = 1 2 4                role mlp\r\n"
    "// simtune: param    FINISH = two_pass cluster \\\n"
    "// simtune:                   ticket               role sync\n"
    "// simtune: param    WAVES  = 0 1 2                role tlp work runtime\n"
    "// simtune: default  BLOCK=256 VEC=1\n"
    "// simtune: default  FINISH=two_pass WAVES=0\n"
    "// simtune: where    FINISH != cluster or CC >= 90\n"
    "// simtune: where    BLOCK * VEC * size_of_T <= 4096\n"
    "// simtune: let      tile = BLOCK * VEC\n"
    "// simtune: let      tiles = ceil_div(n, tile)\n"
    "// simtune: let      blocks = min(tiles, SM_COUNT * BLOCKS_PER_SM)\n"
    "// simtune: let      aligned = align_in % (VEC * size_of_T) == 0\n"
    "// simtune: determinism run_to_run when FINISH != ticket or not is_float_T\n"
    "// simtune: buffer   in : input T[n]   partial : temp T[max(blocks, 1)]  out : output T[1]\n"
    "// simtune: buffer   counter : temp u32[1] fill zero guard\n"
    "// simtune: buffer   right : expected reference_T[1]   size : magnitude f64[1]\n"
    "// simtune: zero     counter   when FINISH == ticket\n"
    "// simtune: launch   reduce_blocks<Config> grid=blocks,2 block=BLOCK smem=tile * 4 cluster=2 "
    "\\\n"
    "//                   dependent=FINISH == two_pass args=in,partial,n,min(n, 7):i32,counter \\\n"
    "//                   when n > 0\n"
    "// simtune: launch   simtune::finish<Config> grid=1 block = 32 args=partial,out when FINISH "
    "== two_pass\n"
    "// simtune: reference plain file=reference/reduce.cu grid=1 block=1 args=in,right,size,n\n"
    "// simtune: compare  out with right magnitude size height ceil_log2(n) + 5 when is_float_T\n"
    "// simtune: compare  out with right tolerance 1e-5\n"
    "// simtune: bytes    n * size_of_T\n"
    "// simtune: host_args in, out ,n\n"
    "__global__ void k() {}\n";

static st_template *load(const char *text) {
    st_template *t = NULL;
    st_error error = {0};
    st_code code = st_template_parse("dir/t.cu", text, strlen(text), &t, &error);
    if (code)
        fail_msg("%s | %s", error.what, error.remedy);
    return t;
}

static const st_device_facts device = {.name = "Test", .cc = 90, .sm_count = 132, .warp_size = 32};

// --- what is read
// ------------------------------------------------------------------------------------------------

static void test_names(void **state) {
    (void)state;
    st_template *t = load(whole);
    assert_string_equal(t->family, "reduce");
    assert_string_equal(t->summary, "sum or least of n elements");
    assert_string_equal(t->path, "dir/t.cu");
    assert_string_equal(t->folder, "dir");
    assert_true(t->is_config);
    assert_int_equal(t->axis_count, 3);
    assert_int_equal(t->axes[0].kind, ST_AXIS_TYPE);
    assert_string_equal(t->axes[0].values[1].word, "f64"); // of "double"
    assert_int_equal(t->axes[0].values[1].number, ST_F64);
    assert_int_equal(t->axes[1].kind, ST_AXIS_WORD);
    assert_int_equal(t->axes[2].kind, ST_AXIS_SIZE);
    assert_int_equal(t->axes[2].values[1].number, 1048576);
    assert_int_equal(t->parameter_count, 4);
    assert_int_equal(t->parameters[0].value_count, 4); // 128 256 384 512: the end is included
    assert_int_equal(t->parameters[0].values[3].number, 512);
    assert_int_equal(t->parameters[0].default_index, 1);
    assert_int_equal(t->parameters[0].roles, ST_ROLE_TLP | ST_ROLE_WORK);
    assert_int_equal(t->parameters[2].value_count, 3); // over two lines
    assert_string_equal(t->parameters[2].values[2].word, "ticket");
    assert_int_equal(t->parameters[2].line, 9);
    assert_true(t->parameters[3].runtime && !t->parameters[2].runtime);
    // Words are numbers that differ, `min` of the axis included.
    int min = st_scope_find(&t->scope, "min"), ticket = st_scope_find(&t->scope, "ticket");
    assert_true(min >= 0 && ticket >= 0 && t->scope.names[min].is_constant);
    assert_int_equal(t->scope.names[min].value, t->axes[1].values[1].number);
    assert_int_not_equal(t->scope.names[min].value, t->scope.names[ticket].value);
    st_template_free(t);
}

static void test_plan(void **state) {
    (void)state;
    st_template *t = load(whole);
    assert_int_equal(t->let_count, 4);
    assert_true(t->lets[2].late && !t->lets[1].late);
    assert_int_equal(t->where_count, 2);
    assert_int_equal(t->buffer_count, 6);
    assert_string_equal(t->buffers[0].fill.word, "values");
    assert_string_equal(t->buffers[1].fill.word, "none");
    assert_string_equal(t->buffers[3].fill.word, "zero");
    assert_int_equal(t->buffers[5].role, ST_BUFFER_MAGNITUDE);
    assert_int_equal(t->step_count, 3);
    assert_int_equal(t->steps[0].kind, ST_STEP_ZERO);
    assert_int_equal(t->steps[0].buffer, 3);
    const st_step *launch = &t->steps[1];
    assert_string_equal(launch->kernel, "reduce_blocks");
    assert_true(launch->uses_config);
    assert_int_equal(launch->line, 25);
    assert_string_equal(st_expression_text(launch->grid[1]), "2");
    assert_null(launch->grid[2]);
    assert_string_equal(st_expression_text(launch->smem), "tile * 4");
    assert_string_equal(st_expression_text(launch->dependent), "FINISH == two_pass");
    assert_string_equal(st_expression_text(launch->when), "n > 0");
    assert_int_equal(launch->argument_count, 5);
    assert_int_equal(launch->arguments[0].buffer, 0);
    assert_int_equal(launch->arguments[2].buffer, -1);
    assert_int_equal(launch->arguments[2].type, ST_U64);
    assert_string_equal(st_expression_text(launch->arguments[3].value), "min(n, 7)");
    assert_int_equal(launch->arguments[3].type, ST_I32);
    assert_string_equal(t->steps[2].kernel, "simtune::finish");
    assert_string_equal(st_expression_text(t->steps[2].block[0]), "32"); // blanks around `=`
    assert_string_equal(t->references[0].file, "reference/reduce.cu");
    assert_int_equal(t->compare_count, 2);
    assert_string_equal(st_expression_text(t->compares[0].height), "ceil_log2(n) + 5");
    assert_true(t->compares[1].tolerance == 1e-5 && !t->compares[1].height && !t->compares[1].when);
    assert_int_equal(t->host_lists[0].count, 3);
    assert_string_equal(t->host_lists[0].names[1], "out");
    st_template_free(t);
}

// A template with as little as is allowed, with macros.
static const char small[] =
    "// simtune: family f\n"
    "// simtune: axis n = 10\n"
    "// simtune: buffer x : inout f32[n]   y : output i32[1]   z : input u8[n]\n"
    "// simtune: launch k grid=1 block=1 args=x,n\n";

static void test_small(void **state) {
    (void)state;
    st_template *t = load(small);
    assert_false(t->is_config);
    assert_int_equal(t->slot_size_of_type, -1);
    assert_null(t->bytes);
    // Without host_args: inputs, inouts, outputs, sizes.
    static const char *const order[] = {"z", "x", "y", "n"};
    assert_int_equal(t->host_lists[0].count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(t->host_lists[0].names[i], order[i]);
    st_problem problem;
    assert_int_equal(st_problem_parse(t, "n=7", &problem, NULL), ST_OK);
    assert_null(st_problem_type(t, &problem));
    st_template_free(t);
}

// --- problems and configurations
// ----------------------------------------------------------------------------------

static void expect_error(st_code code, const st_error *error, const char *what,
                         const char *remedy) {
    if (code != ST_USAGE || !strstr(error->what, what) || !strstr(error->remedy, remedy))
        fail_msg("%d: %s | %s (wanted %s | %s)", code, error->what, error->remedy, what, remedy);
}

static void test_problems(void **state) {
    (void)state;
    st_template *t = load(whole);
    st_problem problem;
    st_error error = {0};
    st_text text;
    st_text_init(&text);
    // Any size, an old name of a type, any order; the text is canonical.
    assert_int_equal(st_problem_parse(t, " n=12345  op=min T=float", &problem, &error), ST_OK);
    st_problem_text(t, &problem, &text);
    assert_string_equal(st_text_string(&text), "T=f32 op=min n=12345");
    assert_int_equal(st_problem_type(t, &problem)->id, ST_F32);
    static const struct {
        const char *text, *what, *remedy;
    } rows[] = {
        {"T=f32 op=sum", "axis `n` of reduce has no value", "one value for each axis"},
        {"T=f16 op=sum n=1", "`f16` is no value of the axis `T`", "f32"},
        {"T=f32 op=summ n=1", "`summ` is no value", "Did you mean `sum`?"},
        {"T=f32 op=sum n=-1", "`-1` is no size", "64Ki"},
        {"T=f32 op=sum n=many", "`many` is no size", ""},
        {"T=f32 op=sum m=1", "no axis `m`", "n"},
        {"T=f32 T=f32 op=sum n=1", "stands twice", ""},
        {"f32", "`f32` is no value of an axis", "AXIS=VALUE"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_error(st_problem_parse(t, rows[i].text, &problem, &error), &error, rows[i].what,
                     rows[i].remedy);
    st_text_release(&text);
    st_template_free(t);
}

static void test_configurations(void **state) {
    (void)state;
    st_template *t = load(whole);
    st_config a, b;
    st_error error = {0};
    st_text text;
    st_text_init(&text);
    st_config_default(t, &a);
    st_config_text(t, &a, &text);
    assert_string_equal(st_text_string(&text), "BLOCK=256 VEC=1 FINISH=two_pass WAVES=0");
    assert_int_equal(st_config_parse(t, "WAVES=0 FINISH=two_pass VEC=1 BLOCK=256", &b, &error),
                     ST_OK);
    assert_true(st_config_equal(t, &a, &b));
    assert_int_equal(st_config_parse(t, "WAVES=2 FINISH=ticket VEC=4 BLOCK=512", &b, &error),
                     ST_OK);
    assert_false(st_config_equal(t, &a, &b));
    static const struct {
        const char *text, *what, *remedy;
    } rows[] = {
        {"BLOCK=256 VEC=1 WAVES=0", "parameter `FINISH` of reduce has no value", ""},
        {"BLOCK=300", "`300` is no value of the parameter `BLOCK`", "128 256 384 512"},
        {"FINISH=tickets", "`tickets` is no value", "Did you mean `ticket`?"},
        {"FINISH=1", "`1` is no value", "two_pass cluster ticket"},
        {"BLOK=256", "no parameter `BLOK`", "Did you mean `BLOCK`?"},
        {"VEC=1 VEC=1", "stands twice", ""},
        {"VEC", "`VEC` is no value", "PARAM=VALUE"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_error(st_config_parse(t, rows[i].text, &b, &error), &error, rows[i].what,
                     rows[i].remedy);
    st_text_release(&text);
    st_template_free(t);
}

// --- bindings
// -------------------------------------------------------------------------------------------------------

static int64_t value_of(const st_bindings *bindings, const char *name) {
    return bindings->values[st_scope_find(&bindings->tmpl->scope, name)];
}

static void test_bindings(void **state) {
    (void)state;
    st_template *t = load(whole);
    st_problem problem;
    st_config config;
    st_bindings bindings;
    st_error error = {0};
    int64_t value = -5;
    bool deterministic = false;
    assert_int_equal(st_problem_parse(t, "T=f64 op=sum n=1000", &problem, &error), ST_OK);
    assert_int_equal(st_config_parse(t, "BLOCK=128 VEC=2 FINISH=ticket WAVES=0", &config, &error),
                     ST_OK);
    assert_int_equal(st_bindings_make(t, &problem, &config, &device, &bindings, &error), ST_OK);
    assert_int_equal(value_of(&bindings, "SM_COUNT"), 132);
    assert_int_equal(value_of(&bindings, "n"), 1000);
    assert_int_equal(value_of(&bindings, "size_of_T"), 8);
    assert_int_equal(value_of(&bindings, "is_float_T"), 1);
    assert_int_equal(value_of(&bindings, "tiles"), 4);
    // Late values are refused until they are bound.
    assert_int_equal(st_bindings_evaluate(&bindings, t->steps[1].grid[0], 0, &value, &error),
                     ST_FAILED);
    assert_non_null(strstr(error.what, "dir/t.cu:25: `blocks` needs BLOCKS_PER_SM"));
    assert_int_equal(st_bindings_late(&bindings, 2, &error), ST_OK);
    assert_int_equal(st_bindings_evaluate(&bindings, t->steps[1].grid[0], 0, &value, &error),
                     ST_OK);
    assert_int_equal(value, 4); // min(4, 264)
    assert_int_equal(st_bindings_evaluate(&bindings, NULL, 17, &value, &error), ST_OK);
    assert_int_equal(value, 17);
    // A let follows the alignment of a buffer.
    assert_int_equal(value_of(&bindings, "aligned"), 1);
    st_bindings_align(&bindings, st_template_buffer(t, "in"), 8);
    assert_int_equal(value_of(&bindings, "aligned"), 0);
    // Types of buffers, and what determinism grants.
    assert_int_equal(st_buffer_type(&bindings, &t->buffers[0]), ST_F64);
    assert_int_equal(st_buffer_type(&bindings, &t->buffers[3]), ST_U32);
    assert_int_equal(st_buffer_type(&bindings, &t->buffers[4]), ST_F64);
    assert_int_equal(st_bindings_deterministic(&bindings, &deterministic, &error), ST_OK);
    assert_false(deterministic);
    st_bindings_release(&bindings);
    assert_int_equal(st_problem_parse(t, "T=i32 op=sum n=0", &problem, &error), ST_OK);
    assert_int_equal(st_bindings_make(t, &problem, &config, NULL, &bindings, &error), ST_OK);
    assert_int_equal(value_of(&bindings, "CC"), -1); // no device: unknown
    assert_int_equal(st_buffer_type(&bindings, &t->buffers[4]), ST_I32);
    assert_int_equal(st_bindings_deterministic(&bindings, &deterministic, &error), ST_OK);
    assert_true(deterministic);
    st_bindings_release(&bindings);
    st_template_free(t);
}

static void test_failing_lets(void **state) {
    (void)state;
    st_template *t = load("// simtune: family f\n"
                          "// simtune: axis n = 0 1\n"
                          "// simtune: buffer x : output f32[1]\n"
                          "// simtune: let share = 100 / n\n"
                          "// simtune: let room = 64 / (align_x - 4)\n"
                          "// simtune: launch k grid=1 block=share args=x\n");
    st_problem problem = {{0}};
    st_config config = {{0}};
    st_bindings bindings;
    st_error error = {0};
    int64_t value;
    assert_int_equal(st_bindings_make(t, &problem, &config, &device, &bindings, &error), ST_USAGE);
    assert_string_equal(error.what, "dir/t.cu:4: `100 / n`: division by zero");
    problem.value[0] = 5;
    assert_int_equal(st_bindings_make(t, &problem, &config, &device, &bindings, &error), ST_OK);
    st_bindings_align(&bindings, 0, 4); // the let goes wrong; who evaluates is told
    assert_int_equal(st_bindings_evaluate(&bindings, t->steps[0].block[0], 0, &value, &error),
                     ST_USAGE);
    assert_non_null(strstr(error.what, "dir/t.cu:5: `64 / (align_x - 4)`: division by zero"));
    st_bindings_align(&bindings, 0, 16);
    assert_int_equal(st_bindings_evaluate(&bindings, t->steps[0].block[0], 0, &value, &error),
                     ST_OK);
    assert_int_equal(value, 20);
    st_bindings_release(&bindings);
    st_template_free(t);
}

// --- mistakes (T2)
// ---------------------------------------------------------------------------------------------------

// Each is put between the head and the launch of a small template, as line 3 (and on).
static const struct {
    const char *lines, *what, *remedy;
} mistakes[] = {
    {"parm A = 1", "t.cu:3: unknown directive `parm`", "Did you mean `param`?"},
    {"elephant", "unknown directive `elephant`", "family"},
    {"", "t.cu:3: an empty directive", "param"},
    {"param", "`param` with nothing behind it", "docs/templates.md"},
    {"family g", "a second `family`, after line 1", "Remove one"},
    {"bytes n\n// simtune: bytes n", "t.cu:4: a second `bytes`, after line 3", ""},
    // names
    {"param A B = 1 2", "`A B` is no name", "letters, digits and _"},
    {"param 1A = 1", "`1A` is no name", ""},
    {"param = 1", "the name of the parameter is missing", ""},
    {"param A", "`param` needs a name, `=` and what it is", ""},
    {"param class = 1", "`class` cannot name the parameter", "another name"},
    {"param Config = 1", "`Config` cannot name", ""},
    {"param max = 1", "`max` cannot name the parameter: it is a word of the expression language",
     ""},
    {"let and = 1", "`and` cannot name the let", ""},
    {"param N = 1", "`N` differs from `n` only in case", "Rename"},
    {"param n = 1", "the parameter `n` has the name of something else", ""},
    {"let A = 1\n// simtune: param A = 1", "t.cu:3: the let `A` has the name of something else",
     ""},
    {"param A = 1\n// simtune: param A = 2", "t.cu:4: the parameter `A` has the name", ""},
    {"param CC = 1", "the parameter `CC` has the name of something else", ""},
    {"let Sm_Count = 1", "differs from `SM_COUNT` only in case", ""},
    {"let BLOCKS_PER_SM = 1", "has the name of something else", ""},
    {"param A = A B", "the parameter `A` has the name of something else (a word", ""},
    {"let align_x = 1\n// simtune: buffer x : temp f32[1]", "`align_x` has the name", ""},
    {"axis T = f32\n// simtune: let size_of_T = 4", "`size_of_T` has the name", ""},
    // values
    {"param A =", "the parameter `A` has no values", "List its values"},
    {"param A = role ilp", "the parameter `A` has no values", ""},
    {"axis A =", "the axis `A` has no values", ""},
    {"param A = 1 2 1", "`A` lists 1 twice", "Remove one"},
    {"param A = x y x", "`A` lists x twice", ""},
    {"param A = 1 x", "`A` mixes integers and words", ""},
    {"param A = x 1", "`A` mixes integers and words", ""},
    {"param A = 1.5", "`1.5` is no value for `A`", "START:END:STEP"},
    {"param A = 1,2", "`1,2` is no value for `A`", "blanks"},
    {"param A = and", "the value `and` of `A` is a word of the expression language", ""},
    {"param A = 1:10:0", "`1:10:0` does not go forward", "1 or more"},
    {"param A = 1:10:-1", "does not go forward", ""},
    {"param A = 10:1:1", "the range `10:1:1` is empty", ""},
    {"param A = 1:2:3:4", "`1:2:3:4` is no range", ""},
    {"param A = 1::2", "`1::2` is no range", ""},
    {"param A = 0:1Gi:1", "`A` has more than 4096 values", "larger step"},
    {"param A = 4Gi", "does not fit an int", ""},
    {"axis m = -1", "the axis `m` has the size -1", ""},
    {"axis T = f32 red", "`red` is no type", ""},
    {"axis T = f32\n// simtune: axis U = f64", "t.cu:4: `U` is a second axis of types", ""},
    {"param A = 1 role sink", "unknown role `sink`", "Did you mean `sync`?"},
    {"param A = 1 role", "`role` without a role", ""},
    {"param A = 1 runtime 2", "`2` stands behind `runtime`", ""},
    // defaults
    {"param A = 1 2", "t.cu:3: the parameter `A` has no default", "default A=1"},
    {"param A = 1 2\n// simtune: default A=3", "t.cu:4: `3` is no value of the parameter `A`",
     "1 2"},
    {"param A = 1 2\n// simtune: default A", "`A` is no default", "PARAM=VALUE"},
    {"param A = 1 2\n// simtune: default A=1 A=1", "`A` has two defaults", ""},
    {"param AB = 1 2\n// simtune: default AC=1", "unknown parameter `AC`", "Did you mean `AB`?"},
    // rivals
    {"param AB = 1 2\n// simtune: default AB=1\n// simtune: rival AC=1", "unknown parameter `AC`",
     "Did you mean `AB`?"},
    {"param A = 1 2\n// simtune: default A=1\n// simtune: rival A=3", "`3` is no value of the parameter `A`", ""},
    {"param A = 1 2\n// simtune: default A=1\n// simtune: rival A", "`A` is no rival", "PARAM=VALUE"},
    {"param A = 1 2\n// simtune: default A=1\n// simtune: rival A=2 A=2", "stands twice", "Remove one."},
    {"param A = 1:9:1\n// simtune: default A=1\n// simtune: rival A=2 A=3 A=4 A=5 A=6 A=7 A=8",
     "more than 6 rivals", ""},
    // expressions
    {"where m > 1", "t.cu:3: `m > 1`: unknown name `m`", "Names here: CC"},
    {"where SM_CONT > 1", "unknown name `SM_CONT`", "Did you mean `SM_COUNT`?"},
    {"let a = b\n// simtune: let b = 1", "t.cu:3: `a` uses `b`, which is not yet defined", "above"},
    {"let a = a", "`a` uses `a`", ""},
    {"bytes n +", "the expression ends", ""},
    // buffers
    {"buffer x", "`x` is no buffer", "NAME : ROLE TYPE[COUNT]"},
    {"buffer x : input f32", "is no buffer", ""},
    {"buffer x : f32[n]", "the buffer `x` needs a role and a type", ""},
    {"buffer x : elephant f32[n]", "unknown role `elephant`", "inout"},
    {"buffer x : inptu f32[n]", "unknown role `inptu`", "Did you mean `input`?"},
    {"buffer x : input f33[n]", "unknown type `f33` of the buffer `x`", "f32"},
    {"buffer x : input T[n]", "unknown type `T`", ""},
    {"buffer x : input f32[m]", "unknown name `m`", ""},
    {"buffer x : input f32[n] fill zeros", "unknown fill `zeros`", "Did you mean `zero`?"},
    {"buffer x : input f32[n] fill", "`fill` without a word", ""},
    {"buffer x : input f32[n] big", "`big` is not known to `buffer`", ""},
    {"buffer x : input f32[n] x : temp f32[n]", "the buffers `x` and `x` have the same name", ""},
    {"buffer n : input f32[1]", "the buffer `n` has the name of something else", ""},
    {"buffer x : input f32[BLOCKS_PER_SM]", "the size of `x` is known only after compiling",
     "temp"},
    // the plan
    {"zero y", "unknown buffer `y`", "There are no buffers"},
    {"buffer x : input f32[1]\n// simtune: zero x", "`x` is an input", ""},
    {"launch k grid=1 block=1", "`args=` is missing", ""},
    {"launch k grid=1 args=n", "`block=` is missing", ""},
    {"launch k block=1 args=n", "`grid=` is missing", ""},
    {"launch k grid=1,1,1,1 block=1 args=n", "`grid=` has more than 3 dimensions", ""},
    {"launch k grid=1 blok=1 args=n", "`blok=` is not known to `launch`", "Did you mean `block=`?"},
    {"launch k grid=1 grid=2 block=1 args=n", "`grid` stands twice", ""},
    {"launch 1k grid=1 block=1 args=n", "`1k` is no name of a kernel", ""},
    {"launch k<int> grid=1 block=1 args=n", "the only template argument of a kernel is Config", ""},
    {"launch k: grid=1 block=1 args=n", "`k:` is no name of a kernel", ""},
    {"launch k grid=1 block=1 args=x", "unknown buffer `x`", ""},
    {"buffer xx : input f32[1]\n// simtune: launch k grid=1 block=1 args=xy", "unknown buffer `xy`",
     "Did you mean `xx`?"},
    {"let a = 1\n// simtune: launch k grid=1 block=1 args=a", "the argument `a` is no buffer",
     "`a:u32`"},
    {"launch k grid=1 block=1 args=n + 1", "the argument `n + 1` is no buffer", ""},
    {"launch k grid=1 block=1 args=n:u33", "unknown type `u33`", ""},
    {"launch k grid=1 block=1 args=n:f16", "half-precision", ""},
    {"launch k grid=1 block=1 args=n,", "the argument `` is no buffer", ""},
    {"launch k grid=1 block=1 args=n when", "the expression ends", ""},
    {"launch k grid=1 block=BLOCKS_PER_SM args=n", "t.cu:3: `block=` depends on BLOCKS_PER_SM",
     "grid"},
    {"launch k grid=1 block=1 smem=BLOCKS_PER_SM args=n", "`smem=` depends on", ""},
    {"launch k grid=1 block=1 args=n when BLOCKS_PER_SM > 1", "`when` depends on", ""},
    {"reference r grid=1 block=1 cluster=2 args=n", "`cluster=` is not known to `reference`", ""},
    {"determinism always", "unknown level `always`", "run_to_run"},
    {"determinism run_to_run when BLOCKS_PER_SM > 1", "must be known before compiling", ""},
    {"buffer x : output f32[1]\n// simtune: compare y with x", "unknown buffer `y`", ""},
    {"buffer x : input f32[1]\n// simtune: compare x", "`x` is no output, inout or derived buffer", ""},
    {"buffer x : output f32[1]\n// simtune: compare x with x", "`x` is no expected buffer", ""},
    {"buffer x : output f32[1]\n// simtune: compare x tolerance 2", "`2` is no tolerance", "1e-5"},
    {"buffer x : output f32[1]\n// simtune: compare x tolerance nan", "`nan` is no tolerance", ""},
    {"buffer x : output f32[1]  m : magnitude f64[1]\n// simtune: compare x magnitude m height 2 tolerance 1e-5",
     "`height` and `tolerance` are two bounds for `x`", "Keep one"},
    {"buffer x : output f32[1]\n// simtune: compare x height 3",
     "`height` needs a magnitude buffer", ""},
    {"buffer x : output f32[1]  y : expected f64[1]\n// simtune: compare x with y",
     "no reference fills the buffer `y`", ""},
    {"buffer x : output f32[1]\n// simtune: reference r grid=1 block=1 args=x",
     "`x` is compared with nothing", "compare"},
    {"buffer x : output f32[1]\n// simtune: reference r grid=1 block=1 args=x\n// simtune: compare "
     "x",
     "t.cu:5: it does not say what `x` is compared with", ""},
    {"host_args m", "`m` cannot stand here", ""},
    {"host_args n,n", "`n` cannot stand twice here", ""},
    {"buffer x : input f32[1]\n// simtune: host_args n", "`host_args` lacks the buffer `x`", ""},
    // the form
    {"where 1 \\\nint x;", "t.cu:3: the directive goes on, but the next line is no comment",
     "simtune:"},
};

static void test_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        st_template *t = (st_template *)mistakes; // must be set to NULL
        st_error error = {0};
        char *text = st_format("// simtune: family f\n// simtune: axis n = 10\n// simtune: %s\n"
                               "// simtune: launch k grid=1 block=1 args=n\n",
                               mistakes[i].lines);
        st_code code = st_template_parse("t.cu", text, strlen(text), &t, &error);
        if (code != ST_USAGE || t)
            fail_msg("`%s` gives %d", mistakes[i].lines, code);
        if (!strstr(error.what, mistakes[i].what) || !strstr(error.remedy, mistakes[i].remedy) ||
            !strstr(error.what, "t.cu:"))
            fail_msg("`%s` says: %s | %s", mistakes[i].lines, error.what, error.remedy);
        assert_int_equal(st_template_parse("t.cu", text, strlen(text), &t, NULL), ST_USAGE);
        st_free(text);
    }
}

static void expect_whole_file(const char *text, size_t length, const char *what) {
    st_template *t = NULL;
    st_error error = {0};
    assert_int_equal(st_template_parse("t.cu", text, length, &t, &error), ST_USAGE);
    if (!strstr(error.what, what))
        fail_msg("%s", error.what);
}

static void test_whole_file_mistakes(void **state) {
    (void)state;
    expect_whole_file("", 0, "t.cu: the file holds no `// simtune:` directives");
    expect_whole_file("int x; // simtune: family f\n", 28, "no `// simtune:` directives");
    expect_whole_file("a\0b", 3, "NUL byte");
    static const char no_launch[] = "// simtune: family f\n// simtune: axis n = 1\n";
    expect_whole_file(no_launch, sizeof no_launch - 1, "t.cu: no kernel is launched");
    static const char no_family[] = "// simtune: launch k grid=1 block=1 args=\n";
    expect_whole_file(no_family, sizeof no_family - 1, "t.cu: the family has no name");
    static const char unfinished[] = "// simtune: family f \\";
    expect_whole_file(unfinished, sizeof unfinished - 1, "goes on");
    // More than the limits.
    for (int kind = 0; kind < 2; kind++) {
        st_text text;
        st_text_init(&text);
        st_text_add(&text, "// simtune: family f\n");
        for (int i = 0; i <= (kind ? ST_MAX_PARAMETERS : ST_MAX_AXES); i++)
            st_text_addf(&text, "// simtune: %s x%d = 1\n", kind ? "param" : "axis", i);
        expect_whole_file(st_text_string(&text), text.length,
                          kind ? "more than 40 parameters" : "more than 12 axes");
        st_text_release(&text);
    }
}

// --- files
// ---------------------------------------------------------------------------------------------------------

static char folder[64];

static void write_file(const char *name, const char *text) {
    char *path = st_format("%s/%s", folder, name);
    assert_int_equal(st_text_write_file(path, text, strlen(text), NULL, NULL), ST_OK);
    st_free(path);
}

static void hash_of_file(char out[ST_HASH_TEXT]) {
    char *path = st_format("%s/t.cu", folder);
    st_template *t = NULL;
    st_error error = {0};
    if (st_template_find(path, &t, &error) != ST_OK)
        fail_msg("%s", error.what);
    memcpy(out, t->hash, ST_HASH_TEXT);
    st_template_free(t);
    st_free(path);
}

// T4: the text and what it includes, however deep, and nothing else.
static void test_includes(void **state) {
    (void)state;
    strcpy(folder, "/tmp/simtune-template-XXXXXX");
    assert_non_null(mkdtemp(folder));
    char *source = st_format("%s  #  include \"a.cuh\"\n#include <b.cuh>\n#include \"nowhere.h\"\n"
                             "#include \"sub/c.cuh\"\n",
                             small);
    write_file("t.cu", source);
    write_file("a.cuh", "#include \"sub/c.cuh\"\n#include \"a.cuh\"\nint a;\n");
    write_file("b.cuh", "int b;\n");
    write_file("sub/c.cuh", "#include \"d.cuh\""); // beside itself; no newline at the end
    write_file("sub/d.cuh", "");
    char first[ST_HASH_TEXT], second[ST_HASH_TEXT];
    hash_of_file(first);
    write_file("b.cuh", "int changed;\n"); // included with <…>: the compiler's
    hash_of_file(second);
    assert_string_equal(first, second);
    write_file("sub/d.cuh", "int d;\n");
    hash_of_file(second);
    assert_string_not_equal(first, second);

    st_template *t = NULL;
    char *path = st_format("%s/t.cu", folder);
    assert_int_equal(st_template_load(path, &t, NULL), ST_OK);
    st_includes includes;
    assert_int_equal(st_template_includes(t, &includes, NULL), ST_OK);
    static const char *const names[] = {"a.cuh", "sub/c.cuh", "d.cuh"};
    assert_int_equal(includes.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(includes.items[i].name, names[i]);
    assert_string_equal(includes.items[2].text, "int d;\n");
    st_includes_release(&includes);
    st_template_free(t);

    // One name for two files would reach the compiler as one.
    write_file("d.cuh", "int other;\n");
    write_file("a.cuh", "#include \"d.cuh\"\n");
    st_error error = {0};
    assert_int_equal(st_template_load(path, &t, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "two files are included as \"d.cuh\""));
    assert_null(t);
    st_free(path);
    st_free(source);
}

static void test_reference_files(void **state) {
    (void)state;
    char *source = st_format("%s// simtune: reference r file=ref.cu grid=1 block=1 args=x\n"
                             "// simtune: compare x with e\n// simtune: compare y with e\n"
                             "// simtune: buffer e : expected f32[1]\n"
                             "// simtune: reference s file=ref.cu grid=1 block=1 args=e\n",
                             small);
    write_file("u.cu", source);
    char *path = st_format("%s/u.cu", folder);
    st_template *t = NULL;
    st_error error = {0};
    assert_int_equal(st_template_load(path, &t, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "u.cu:5: cannot read the reference"));
    assert_null(t);
    write_file("ref.cu", "");
    assert_int_equal(st_template_load(path, &t, &error), ST_OK);
    st_template_free(t);
    st_free(path);
    st_free(source);
}

static void test_finding(void **state) {
    (void)state;
    st_template *t = NULL;
    st_error error = {0};
    assert_int_equal(st_template_find("reduse", &t, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "unknown family `reduse`"));
    assert_non_null(strstr(error.remedy, "Did you mean `reduce`?"));
    assert_int_equal(st_template_find("elephant", &t, &error), ST_USAGE);
    assert_non_null(strstr(error.remedy, "reduce"));
    assert_null(strstr(error.remedy, "support")); // no family in it
    assert_non_null(strstr(error.remedy, "fma_chain")); // an example
    assert_int_equal(st_template_find("fma_chian", &t, &error), ST_USAGE);
    assert_non_null(strstr(error.remedy, "Did you mean `fma_chain`?"));
    assert_int_equal(st_template_find("fma_chain", &t, &error), ST_OK);
    assert_string_equal(t->family, "fma_chain");
    // What its reference includes lies beside the template, not beside the reference.
    st_includes includes;
    char *beside = st_format("%s/reference", t->folder);
    assert_int_equal(st_template_includes_of(t, beside, "#include \"fma_chain.cu\"\n", &includes, &error), ST_OK);
    assert_int_equal(includes.count, 1);
    st_includes_release(&includes);
    st_free(beside);
    st_template_free(t);
    assert_int_equal(st_template_find("..", &t, &error), ST_USAGE);
    assert_int_equal(st_template_find("", &t, &error), ST_USAGE);
    assert_int_equal(st_template_find("/nowhere/x.cu", &t, &error), ST_FAILED);
    assert_int_equal(st_template_find("nowhere.cu", &t, &error), ST_FAILED);
    assert_null(t);
}

static int drop_folder(void **state) {
    (void)state;
    static const char *const names[] = {"t.cu",  "u.cu",  "ref.cu",    "a.cuh",
                                        "b.cuh", "d.cuh", "sub/c.cuh", "sub/d.cuh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = st_format("%s/%s", folder, names[i]);
        unlink(path);
        st_free(path);
    }
    char *sub = st_format("%s/sub", folder);
    rmdir(sub);
    st_free(sub);
    return rmdir(folder);
}

// --- memory
// --- the documentation --------------------------------------------------------------------------

// Every complete example of docs/templates.md loads.
static void test_documentation(void **state) {
    (void)state;
    st_text page;
    st_error error = {0};
    st_text_init(&page);
    if (st_text_read_file(&page, SIMTUNE_SOURCE_FOLDER "/docs/templates.md", &error) != ST_OK)
        fail_msg("%s", error.what);
    size_t examples = 0;
    for (const char *at = page.data; (at = strstr(at, "```cuda\n"));) {
        const char *start = at + strlen("```cuda\n"), *end = strstr(start, "```");
        assert_non_null(end);
        st_template *t = NULL;
        st_code code =
            st_template_parse("docs/templates.md", start, (size_t)(end - start), &t, &error);
        if (code)
            fail_msg("%s | %s", error.what, error.remedy);
        st_template_free(t);
        examples++;
        at = end;
    }
    assert_true(examples >= 2);
    // Every fact of the device is explained.
#define X(field, name, unit, meaning)                                                              \
    if (!strstr(page.data, "| `" name "` |"))                                                      \
        fail_msg("docs/templates.md lacks " name);
    ST_DEVICE_FACTS(X)
#undef X
    st_text_release(&page);
}

// ----------------------------------------------------------------------------------------------------------

static void test_no_memory(void **state) {
    (void)state;
    bool injected = true;
    unsigned long n = 1;
    for (; injected; n++) {
        st_template *t = NULL;
        st_error error = {0};
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_template_parse("t.cu", whole, strlen(whole), &t, &error);
        injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        if (code != (injected ? ST_NO_MEMORY : ST_OK))
            fail_msg("allocation %lu: %d %s", n, code, error.what);
        assert_true((t != NULL) == (code == ST_OK));
        st_template_free(t);
    }
    assert_true(n > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_configurations),
        cmocka_unit_test(test_bindings),
        cmocka_unit_test(test_failing_lets),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_whole_file_mistakes),
        cmocka_unit_test(test_includes),
        cmocka_unit_test(test_reference_files),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_documentation),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("template", tests, NULL, drop_folder);
}
