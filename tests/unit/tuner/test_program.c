// SPDX-License-Identifier: Apache-2.0
// Program texts (invariants P1 to P4 of tuner/program.c).
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/emit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static st_template *load(const char *path)
{
    st_template *tmpl = NULL;
    st_error error = {0};
    if (st_template_load(path, &tmpl, &error))
        fail_msg("%s: %s", path, error.what);
    return tmpl;
}

static st_template *parse(const char *text)
{
    st_template *tmpl = NULL;
    st_error error = {0};
    if (st_template_parse("tests/data/inline.cu", text, strlen(text), &tmpl, &error))
        fail_msg("%s", error.what);
    return tmpl;
}

static st_problem problem_of(const st_template *tmpl, const char *text)
{
    st_problem problem;
    st_error error = {0};
    if (st_problem_parse(tmpl, text, &problem, &error))
        fail_msg("%s", error.what);
    return problem;
}

static st_config config_of(const st_template *tmpl, const char *text)
{
    st_config config;
    st_error error = {0};
    if (st_config_parse(tmpl, text, &config, &error))
        fail_msg("%s", error.what);
    return config;
}

static void make(const st_template *tmpl, const char *problem, const char *const *configs,
                 size_t count, st_program *out)
{
    st_problem at = problem_of(tmpl, problem);
    st_config list[8];
    st_error error = {0};
    for (size_t i = 0; i < count; i++)
        list[i] = config_of(tmpl, configs[i]);
    if (st_program_make(tmpl, &at, list, count, out, &error))
        fail_msg("%s", error.what);
}

static void contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("`%s` is missing in:\n%s", part, text);
}

static void lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("`%s` should not be in:\n%s", part, text);
}

// P1: the file's lines keep their numbers.
static void the_template_stands_first_and_unchanged(void **state)
{
    (void)state;
    st_template *tmpl = load("tests/data/emit_total.cu");
    st_program program;
    const char *configs[] = {"BLOCK=256 ITEMS=2 FINISH=cluster WAVES=1"};
    make(tmpl, "T=f32 op=sum n=1024", configs, 1, &program);
    const char *mark = "#line 1 \"tests/data/emit_total.cu\"\n",
               *text = st_text_string(&program.source);
    assert_int_equal(strncmp(text, mark, strlen(mark)), 0);
    assert_int_equal(strncmp(text + strlen(mark), tmpl->text, tmpl->text_length), 0);
    contains(text + strlen(mark) + tmpl->text_length, "#line 1 \"simtune_config\"\n");
    assert_int_equal(program.includes.count, 1);
    assert_string_equal(program.includes.items[0].name, "emit_total_device.cuh");
    st_program_release(&program);
    st_template_free(tmpl);
}

static void a_struct_for_each_configuration(void **state)
{
    (void)state;
    st_template *tmpl = load("tests/data/emit_total.cu");
    st_program program;
    const char *configs[] = {"BLOCK=256 ITEMS=2 FINISH=cluster WAVES=1",
                             "BLOCK=64 ITEMS=1 FINISH=two_pass WAVES=4"};
    make(tmpl, "T=f16 op=max n=1024", configs, 2, &program);
    contains(program.source.data, "namespace simtune {\n"
                                  "struct simtune_config_0 {\n"
                                  "    typedef simtune_half T;\n"
                                  "    static const int op = op_max;\n"
                                  "    static const int BLOCK = 256;\n"
                                  "    static const int ITEMS = 2;\n"
                                  "    static const int FINISH = FINISH_cluster;\n"
                                  "};\n"
                                  "struct simtune_config_1 {\n");
    lacks(program.source.data + tmpl->text_length,
          "WAVES"); // runtime: the compiler does not see it
    assert_int_equal(program.option_count, 0);
    st_program_release(&program);
    st_template_free(tmpl);
}

// P2: a cached program serves every size and every runtime parameter.
static void sizes_and_runtime_parameters_change_nothing(void **state)
{
    (void)state;
    st_template *tmpl = load("tests/data/emit_total.cu");
    st_program small, large;
    const char *first[] = {"BLOCK=256 ITEMS=2 FINISH=ticket WAVES=1"};
    const char *second[] = {"BLOCK=256 ITEMS=2 FINISH=ticket WAVES=4"};
    make(tmpl, "T=f32 op=sum n=1024", first, 1, &small);
    make(tmpl, "T=f32 op=sum n=1048576", second, 1, &large);
    assert_string_equal(small.source.data, large.source.data);
    assert_int_equal(small.kernel_count, large.kernel_count);
    for (size_t i = 0; i < small.kernel_count; i++)
        assert_string_equal(small.kernels[i], large.kernels[i]);
    st_program_release(&small);
    st_program_release(&large);
    st_template_free(tmpl);
}

// P3, P4
static void every_launch_has_a_name_that_compiles(void **state)
{
    (void)state;
    st_template *tmpl = load("tests/data/emit_total.cu");
    st_program program;
    const char *configs[] = {"BLOCK=256 ITEMS=2 FINISH=cluster WAVES=1",
                             "BLOCK=64 ITEMS=1 FINISH=dependent WAVES=4"};
    static const char *const names[] = {"simtune::total_cluster<simtune::simtune_config_0>",
                                        "simtune::total_cluster<simtune::simtune_config_0>",
                                        "simtune::total_cluster<simtune::simtune_config_0>",
                                        "simtune::total_cluster<simtune::simtune_config_0>",
                                        "simtune::total_partials<simtune::simtune_config_1>",
                                        "simtune::total_partials<simtune::simtune_config_1>",
                                        "simtune::total_finish<simtune::simtune_config_1>",
                                        "simtune::total_partials<simtune::simtune_config_1>"};
    static const bool used[] = {false, false, false, true, false, true, true, false};
    make(tmpl, "T=f32 op=sum n=1024", configs, 2, &program);
    assert_int_equal(program.launch_count, 4);
    assert_int_equal(program.kernel_count, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(program.kernels[i], names[i]);
        assert_int_equal(program.used[i], used[i]);
    }
    st_program_release(&program);
    st_template_free(tmpl);
}

static const char one_launch[] = "// simtune: family f\n// simtune: axis n = 1Ki\n"
                                 "// simtune: param B = 32 64\n// simtune: default B=32\n"
                                 "// simtune: buffer x : inout f32[n]\n"
                                 "// simtune: launch k<Config> grid=1 block=B args=x\n";

// P4: comments and strings do not count, nor does another namespace.
static void names_are_qualified_only_where_the_namespace_is_opened(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"namespace simtune {\ntemplate <class Config> __global__ void k(float *x);\n}",
         "simtune::k<simtune::simtune_config_0>"},
        {"namespace  simtune\n{\ntemplate <class Config> __global__ void k(float *x);\n}",
         "simtune::k<simtune::simtune_config_0>"},
        {"// namespace simtune {\n/* namespace simtune { */ template <class Config> void k(float "
         "*x);",
         "k<simtune_config_0>"},
        {"const char *s = \"namespace simtune {\"; template <class Config> void k(float *x);",
         "k<simtune_config_0>"},
        {"namespace simtune_other { } namespace my_simtune { } using namespace simtune;\n"
         "template <class Config> void k(float *x);",
         "k<simtune_config_0>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = st_format("%s%s", one_launch, cases[i].text);
        st_template *tmpl = parse(text);
        st_program program;
        const char *configs[] = {"B=64"};
        make(tmpl, "n=1024", configs, 1, &program);
        assert_string_equal(program.kernels[0], cases[i].name);
        st_program_release(&program);
        st_template_free(tmpl);
        st_free(text);
    }
}

// The kernels stand in a file that the template includes.
static void the_namespace_is_that_of_the_file_with_the_kernels(void **state)
{
    (void)state;
    st_template *tmpl = load("tests/data/emit_narrow.cu");
    st_program program;
    const char *configs[] = {"BLOCK=256 ITEMS=2 FINISH=ticket WAVES=1"};
    make(tmpl, "T=f32 op=sum n=1024", configs, 1, &program);
    assert_string_equal(program.kernels[0], "simtune::total_blocks<simtune::simtune_config_0>");
    st_program_release(&program);
    st_template_free(tmpl);
}

static bool has_define(const st_program *program, const char *define)
{
    char line[128];
    snprintf(line, sizeof line, "#define %s\n", define);
    const char *source = st_text_string(&program->source), *end = strstr(source, "#line");
    const char *found = strstr(source, line);
    return found && end && found < end; // in front of the user's text
}

// The number that a macro of the program stands for.
static long defined_number(const st_program *program, const char *name)
{
    char start[128];
    snprintf(start, sizeof start, "#define %s ", name);
    const char *found = strstr(st_text_string(&program->source), start);
    assert_non_null(found);
    return strtol(found + strlen(start), NULL, 10);
}

static void macro_templates_get_defines(void **state)
{
    (void)state;
    st_template *tmpl = load("tests/data/emit_axpy.cu");
    st_program program;
    const char *configs[] = {"BLOCK=256 ITEMS=2 ORDER=chunked"};
    make(tmpl, "n=1048576", configs, 1, &program);
    assert_true(has_define(&program, "BLOCK 256"));
    assert_true(has_define(&program, "ITEMS 2"));
    assert_int_equal(program.option_count, 0); // -D would reach the compiler's own headers
    assert_int_equal(defined_number(&program, "ORDER"), defined_number(&program, "ORDER_chunked"));
    assert_string_equal(program.kernels[0], "axpy");
    lacks(program.source.data, "simtune_config");
    st_program_release(&program);

    st_problem problem = problem_of(tmpl, "n=1048576");
    st_config two[2] = {config_of(tmpl, configs[0]), config_of(tmpl, configs[0])};
    st_error error = {0};
    assert_int_equal(st_program_make(tmpl, &problem, two, 2, &program, &error), ST_FAILED);
    st_template_free(tmpl);
}

static void type_axes_of_macro_templates_are_macros(void **state)
{
    (void)state;
    st_template *tmpl =
        parse("// simtune: family f\n// simtune: axis T = f32 u64\n// simtune: axis op = sum max\n"
              "// simtune: axis n = 1Ki\n// simtune: param B = 32 64\n// simtune: default B=32\n"
              "// simtune: buffer x : inout T[n]\n"
              "// simtune: launch k grid=1 block=B args=x\n__global__ void k(T *x);\n");
    st_program program;
    const char *configs[] = {"B=64"};
    make(tmpl, "T=u64 op=max n=1024", configs, 1, &program);
    assert_true(has_define(&program, "T unsigned long long"));
    assert_true(has_define(&program, "B 64"));
    st_program_release(&program);
    st_template_free(tmpl);
}

static void references_are_programs_of_their_own(void **state)
{
    (void)state;
    st_template *tmpl = load("templates/reduce.cu");
    st_problem problem = problem_of(tmpl, "T=bf16 op=max n=65536");
    st_program program;
    st_error error = {0};
    if (st_reference_program_make(tmpl, &problem, &program, &error))
        fail_msg("%s", error.what);
    assert_int_equal(program.launch_count, tmpl->reference_count);
    contains(program.source.data, "reference/reduce_reference.cu\"\n");
    contains(program.source.data, "typedef simtune_bfloat16 T;");
    lacks(program.source.data, "reduce_ticket"); // shares no kernel with the template
    for (size_t i = 0; i < program.kernel_count; i++)
        contains(program.kernels[i], tmpl->references[i].kernel);
    st_program_release(&program);
    st_template_free(tmpl);

    tmpl = load("tests/data/emit_axpy.cu");
    assert_int_equal(st_reference_program_make(tmpl, &problem, &program, &error), ST_NOTHING);
    st_template_free(tmpl);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    st_template *tmpl = load("tests/data/emit_total.cu");
    st_problem problem = problem_of(tmpl, "T=f32 op=sum n=1024");
    st_config config = config_of(tmpl, "BLOCK=256 ITEMS=2 FINISH=ticket WAVES=1");
    for (unsigned long n = 1;; n++) {
        st_program program;
        st_error error = {0};
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_program_make(tmpl, &problem, &config, 1, &program, &error);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        if (!code)
            st_program_release(&program);
        assert_true(injected ? code == ST_NO_MEMORY || code == ST_OK : code == ST_OK);
        if (!injected)
            break;
    }
    st_template_free(tmpl);
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_template_stands_first_and_unchanged),
        cmocka_unit_test(a_struct_for_each_configuration),
        cmocka_unit_test(sizes_and_runtime_parameters_change_nothing),
        cmocka_unit_test(every_launch_has_a_name_that_compiles),
        cmocka_unit_test(names_are_qualified_only_where_the_namespace_is_opened),
        cmocka_unit_test(the_namespace_is_that_of_the_file_with_the_kernels),
        cmocka_unit_test(macro_templates_get_defines),
        cmocka_unit_test(type_axes_of_macro_templates_are_macros),
        cmocka_unit_test(references_are_programs_of_their_own),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
