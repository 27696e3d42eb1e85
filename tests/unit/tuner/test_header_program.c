// SPDX-License-Identifier: Apache-2.0
// What a header holds, as a program: names of its kernels, in one file and in two; what is damaged or edited. The choice
// of rows is tests/consumers/chosen.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/faults.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/device_class.h"
#include "tuner/header_program.h"
#include "tuner/publish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], path[96], beside[96];
static st_template *total, *axpy;
static st_device_facts h200;

static st_choice choice_of(const st_template *tmpl, const char *problem, const char *config)
{
    st_choice choice;
    st_error error;
    memset(&choice, 0, sizeof choice);
    if (st_problem_parse(tmpl, problem, &choice.problem, &error) || st_config_parse(tmpl, config, &choice.config, &error))
        fail_msg("%s", error.what);
    choice.device_class = (st_device_class){90, 132};
    choice.blocks_per_sm = 2;
    choice.memory_bytes = choice.measured_ms = -1;
    choice.median_ns = 4600;
    choice.tied = 1;
    choice.speedup = choice.speedup_low = choice.speedup_high = choice.gbs = NAN;
    snprintf(choice.template_hash, sizeof choice.template_hash, "%s", tmpl->hash);
    return choice;
}

static void write_header(const st_template *tmpl, const st_choice *choices, size_t count, bool split)
{
    const st_emit_options options = {.cache = "warm", .command = "simtune emit", .split = split, .alone = true};
    st_text written;
    st_error error;
    bool changed;
    st_text_init(&written);
    unlink(path); // of another family, maybe, which is not written over
    if (st_header_publish(tmpl, choices, count, &options, path, &written, &changed, &error) != ST_OK)
        fail_msg("%s", error.what);
    st_text_release(&written);
}

static void write_total(bool split)
{
    const st_choice choices[] = {
        choice_of(total, "T=f32 op=sum n=1024", "BLOCK=256 ITEMS=2 FINISH=cluster WAVES=1"),
        choice_of(total, "T=f32 op=sum n=1048576", "BLOCK=256 ITEMS=4 FINISH=two_pass WAVES=2"),
        choice_of(total, "T=f32 op=sum n=65536", "BLOCK=256 ITEMS=4 FINISH=two_pass WAVES=4")};
    write_header(total, choices, 3, split);
}

static int begin(void **state)
{
    (void)state;
    st_error error;
    snprintf(folder, sizeof folder, "/tmp/simtune-header-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/simtune_it.h", folder);
    snprintf(beside, sizeof beside, "%s/simtune_it.cu", folder);
    return st_template_load(SIMTUNE_SOURCE_FOLDER "/tests/data/emit_total.cu", &total, &error) ||
           st_template_load(SIMTUNE_SOURCE_FOLDER "/tests/data/emit_axpy.cu", &axpy, &error) ||
           st_device_class_facts((st_device_class){90, 132}, -1, &h200, &error);
}

static int end(void **state)
{
    (void)state;
    st_template_free(total);
    st_template_free(axpy);
    unlink(path);
    unlink(beside);
    return rmdir(folder);
}

static st_header_program *open_header(const st_template *tmpl)
{
    st_header_program *made = NULL;
    st_error error;
    if (st_header_open(tmpl, path, &made, &error) != ST_OK)
        fail_msg("%s (%s)", error.what, error.remedy);
    return made;
}

static void has_kernel(const st_header_program *header, const st_header_row *row, size_t launch, const char *wanted)
{
    char **names, expected[256];
    size_t count;
    st_error error;
    assert_int_equal(st_header_kernels(header, row, &names, &count, &error), ST_OK);
    assert_true(launch < count);
    snprintf(expected, sizeof expected, wanted, st_header_space(header), st_header_space(header));
    assert_string_equal(names[launch], expected);
    for (size_t i = 0; i < count; i++)
        st_free(names[i]);
    st_free(names);
}

static void kernels_have_the_names_of_the_text(void **state)
{
    (void)state;
    write_total(false);
    st_header_program *header = open_header(total);
    st_error error;
    st_problem problems[8];
    st_header_row small, large, middle;
    assert_string_equal(st_header_cache(header), "warm");
    assert_int_equal(st_header_function_count(header), 1);
    assert_string_equal(st_header_function_name(header, 0), "simtune_total_f32_sum");
    assert_int_equal(st_header_problems(header, 0, &h200, problems, 8), 3);
    assert_int_equal(st_header_choose(header, 0, &h200, &problems[0], &small, &error), ST_OK);
    assert_int_equal(st_header_choose(header, 0, &h200, &problems[1], &middle, &error), ST_OK);
    assert_int_equal(st_header_choose(header, 0, &h200, &problems[2], &large, &error), ST_OK);
    assert_true(small.exact && !small.is_default);
    assert_int_equal(middle.structure, large.structure); // WAVES does not reach the compiler
    assert_int_not_equal(middle.plan, large.plan);
    assert_int_not_equal(small.structure, large.structure);
    has_kernel(header, &large, 1, "%s::total_partials<%s::config_1>");
    has_kernel(header, &large, 0, "%s::total_partials<%s::config_1>"); // never taken: the name of one that is
    st_compile_job job;
    st_header_job(header, &job);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "namespace %s {", st_header_space(header));
    assert_non_null(strstr(job.source, wanted));
    assert_int_equal(job.include_count, 0);
    char *parts[4];
    assert_int_equal(st_header_symbol_parts(header, &large, 2, parts, &error), ST_OK);
    assert_string_equal(parts[1], "12total_finish");
    assert_string_equal(parts[2], "8config_1");
    assert_null(parts[3]);
    for (int i = 0; i < 4; i++)
        st_free(parts[i]);
    st_header_close(header);
}

static void two_files_are_one_program(void **state)
{
    (void)state;
    write_total(true);
    st_header_program *header = open_header(total);
    st_compile_job job;
    assert_true(st_header_is_split(header) && !st_header_is_edited(header));
    assert_string_equal(st_header_file(header), "simtune_it.cu");
    assert_string_equal(st_header_folder(header) + strlen(folder), "/");
    st_header_job(header, &job);
    assert_int_equal(job.include_count, 1);
    assert_string_equal(job.includes[0].name, "simtune_it.h");
    assert_non_null(strstr(job.source, "#include \"simtune_it.h\""));
    st_header_close(header);
    unlink(beside);
    st_error error;
    assert_int_equal(st_header_open(total, path, &header, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "simtune_it.cu"));
}

static void macros_are_namespaces(void **state)
{
    (void)state;
    const st_choice choices[] = {choice_of(axpy, "n=1048576", "BLOCK=256 ITEMS=2 ORDER=chunked")};
    write_header(axpy, choices, 1, false);
    st_header_program *header = open_header(axpy);
    st_header_row row;
    st_error error;
    char *parts[4];
    assert_int_equal(st_header_choose(header, 0, &h200, st_header_function_problem(header, 0), &row, &error), ST_OK);
    has_kernel(header, &row, 0, "%s::config_0::axpy");
    assert_int_equal(st_header_symbol_parts(header, &row, 0, parts, &error), ST_OK);
    assert_string_equal(parts[1], "8config_0");
    assert_string_equal(parts[2], "4axpy");
    for (int i = 0; i < 4; i++)
        st_free(parts[i]);
    st_header_close(header);
}

// Writes the header with one text in the place of another, everywhere.
static void replace(const char *from, const char *to)
{
    st_text text, made;
    st_error error;
    st_text_init(&text);
    st_text_init(&made);
    assert_int_equal(st_text_read_file(&text, path, &error), ST_OK);
    size_t found = 0;
    const char *at = text.data;
    for (const char *place; (place = strstr(at, from)) != NULL; at = place + strlen(from), found++) {
        st_text_add_bytes(&made, at, (size_t)(place - at));
        st_text_add(&made, to);
    }
    st_text_add(&made, at);
    assert_true(found > 0);
    assert_int_equal(st_text_write_file(path, made.data, made.length, NULL, &error), ST_OK);
    st_text_release(&text);
    st_text_release(&made);
}

static void what_was_changed_is_noticed(void **state)
{
    (void)state;
    st_header_program *header = NULL;
    st_error error;
    write_total(false);
    replace("__global__", "/* mine */ __global__");
    header = open_header(total);
    assert_true(st_header_is_edited(header));
    st_header_close(header);
    write_total(false); // other kernels than the provenance tells of
    replace("static const int ITEMS = 4;", "static const int ITEMS = 8;");
    assert_int_equal(st_header_open(total, path, &header, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "config_1"));
    write_total(false);
    replace("#define SIMTUNE_TOTAL_H_", "#define SIMTUNE_TOTAL_X_");
    assert_int_equal(st_header_open(total, path, &header, &error), ST_FAILED);
    assert_int_equal(st_header_open(axpy, path, &header, &error), ST_FAILED);
    assert_int_equal(st_header_open(total, "/nonexistent.h", &header, &error), ST_NOTHING);
    assert_null(header);
}

static void faults_are_reported(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    write_total(false);
    for (int k = 0; k < 2; k++)
        for (unsigned long n = 1;; n = next_fault(n)) {
            st_header_program *header = NULL;
            st_error error = {0};
            st_fault_arm(kinds[k], n);
            st_code code = st_header_open(total, path, &header, &error);
            bool hit = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            assert_true(code == ST_OK || (hit && error.what[0] && !header));
            st_header_close(header);
            if (!hit)
                break;
        }
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_have_the_names_of_the_text), cmocka_unit_test(two_files_are_one_program),
        cmocka_unit_test(macros_are_namespaces),              cmocka_unit_test(what_was_changed_is_noticed),
        cmocka_unit_test(faults_are_reported),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
