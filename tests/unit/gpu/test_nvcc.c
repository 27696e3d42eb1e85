// SPDX-License-Identifier: Apache-2.0
// nvcc by a script in its place: what is found, what it is told, what comes back, and kernels by the parts of their names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/faults.h"
#include "tuner/base/memory.h"
#include "tuner/base/text.h"
#include "tuner/gpu/nvcc.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], script[96], notes[96];

// Writes what it was told to `notes`, and the unit as its own image, unless the unit says "broken".
static const char text[] =
    "#!/bin/sh\n"
    "if [ \"$1\" = --version ]; then\n"
    "    echo 'nvcc: NVIDIA (R) Cuda compiler driver'\n"
    "    echo 'Cuda compilation tools, release 13.0, V13.0.48'\n"
    "    exit 0\n"
    "fi\n"
    "echo \"$@\" >\"$NOTES\"\n"
    "for word; do last=$word; done\n"
    "out=; while [ $# -gt 1 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n"
    "if grep -q broken \"$last\"; then echo 'header.cu(1): error: broken' >&2; exit 2; fi\n"
    "cp \"$last\" \"$out\"\n"
    "echo \"ptxas info    : Compiling entry function '_ZN1a1kE' for 'sm_90'\" >&2\n";

static int make_script(void **state)
{
    (void)state;
    st_error error;
    snprintf(folder, sizeof folder, "/tmp/simtune-test-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(script, sizeof script, "%s/nvcc", folder);
    snprintf(notes, sizeof notes, "%s/notes", folder);
    setenv("NOTES", notes, 1);
    setenv("TMPDIR", folder, 1);
    return st_text_write_file(script, text, strlen(text), NULL, &error) == ST_OK ? chmod(script, 0755) : -1;
}

static int remove_script(void **state)
{
    (void)state;
    unlink(script);
    unlink(notes);
    return rmdir(folder); // fails when something was left
}

static void it_is_found_by_path_and_in_its_places(void **state)
{
    (void)state;
    st_nvcc nvcc;
    st_error error;
    assert_int_equal(st_nvcc_find(script, &nvcc, &error), ST_OK);
    assert_string_equal(nvcc.version, "nvcc 13.0");
    assert_string_equal(nvcc.program, script);
    assert_int_equal(st_nvcc_find("/nonexistent/nvcc", &nvcc, &error), ST_NOTHING);
    assert_non_null(strstr(error.remedy, "--compiler"));
    assert_int_equal(st_nvcc_find("/bin/true", &nvcc, &error), ST_NOTHING); // runs, but is no nvcc
    setenv("PATH", folder, 1);
    assert_int_equal(st_nvcc_find("nvcc", &nvcc, &error), ST_OK);
    assert_string_equal(nvcc.program, "nvcc");
}

static void a_unit_becomes_an_image_with_a_log(void **state)
{
    (void)state;
    st_nvcc nvcc;
    st_error error;
    st_compiled made;
    st_text told;
    st_text_init(&told);
    setenv("PATH", "/usr/bin:/bin", 1);
    assert_int_equal(st_nvcc_find(script, &nvcc, &error), ST_OK);
    assert_int_equal(st_nvcc_compile(&nvcc, "int unit;\n", "/some/include", "sm_90", &made, &error), ST_OK);
    assert_int_equal(made.outcome, ST_COMPILED);
    assert_int_equal(made.image_bytes, strlen("int unit;\n"));
    assert_memory_equal(made.image, "int unit;\n", made.image_bytes);
    assert_non_null(strstr(made.log, "_ZN1a1kE"));
    assert_string_equal(made.compiler, "nvcc 13.0");
    assert_true(made.seconds >= 0);
    st_compiled_release(&made);
    assert_int_equal(st_text_read_file(&told, notes, &error), ST_OK);
    assert_non_null(strstr(told.data, "-cubin -arch=sm_90 -I/some/include -Xptxas -v -o "));
    st_text_release(&told);
}

static void what_does_not_compile_is_an_outcome(void **state)
{
    (void)state;
    st_nvcc nvcc;
    st_error error;
    st_compiled made;
    assert_int_equal(st_nvcc_find(script, &nvcc, &error), ST_OK);
    assert_int_equal(st_nvcc_compile(&nvcc, "broken\n", ".", "sm_90", &made, &error), ST_OK);
    assert_int_equal(made.outcome, ST_COMPILE_ERROR);
    assert_null(made.image);
    assert_non_null(strstr(made.log, "error: broken"));
    st_compiled_release(&made);
    setenv("TMPDIR", "/nonexistent", 1);
    assert_int_equal(st_nvcc_compile(&nvcc, "int unit;\n", ".", "sm_90", &made, &error), ST_FAILED);
    assert_non_null(strstr(error.remedy, "TMPDIR"));
    setenv("TMPDIR", folder, 1);
}

static void a_kernel_is_found_by_the_parts_of_its_name(void **state)
{
    (void)state;
    static const char log[] =
        "ptxas info    : Compiling entry function '_ZN16simtune_1234abcd5probeIvEEvv' for 'sm_90'\n"
        "ptxas info    : Compiling entry function '_ZN16simtune_1234abcd6blocksINS_9config_31EEEvPf' for 'sm_90'\n"
        "ptxas info    : Compiling entry function '_ZN16simtune_1234abcd6blocksINS_8config_3EEEvPf' for 'sm_90'\n"
        "ptxas info    : Compiling entry function '_ZN16simtune_1234abcd8config_012_GLOBAL__N__4axpyEPf' for 'sm_90'\n";
    static char *const of_config[] = {(char *)"16simtune_1234abcd", (char *)"6blocks", (char *)"8config_3", NULL};
    static char *const of_macros[] = {(char *)"16simtune_1234abcd", (char *)"8config_0", (char *)"4axpy", NULL};
    static char *const of_none[] = {(char *)"16simtune_1234abcd", (char *)"8config_3", (char *)"6blocks", NULL};
    bool failed = true;
    char *name = st_nvcc_symbol(log, of_config, &failed);
    assert_string_equal(name, "_ZN16simtune_1234abcd6blocksINS_8config_3EEEvPf");
    assert_false(failed);
    st_free(name);
    name = st_nvcc_symbol(log, of_macros, &failed);
    assert_string_equal(name, "_ZN16simtune_1234abcd8config_012_GLOBAL__N__4axpyEPf");
    st_free(name);
    assert_null(st_nvcc_symbol(log, of_none, &failed)); // the order counts
    assert_false(failed);
    assert_null(st_nvcc_symbol("", of_config, &failed));
}

static void faults_leave_nothing_behind(void **state)
{
    (void)state;
    st_nvcc nvcc;
    st_error error;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    assert_int_equal(st_nvcc_find(script, &nvcc, &error), ST_OK);
    for (int k = 0; k < 2; k++)
        for (unsigned long n = 1;; n = next_fault(n)) {
            st_compiled made;
            st_fault_arm(kinds[k], n);
            st_code code = st_nvcc_compile(&nvcc, "int unit;\n", ".", "sm_90", &made, &error);
            bool hit = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            assert_true(code == ST_OK || (hit && error.what[0]));
            if (code == ST_OK)
                st_compiled_release(&made);
            if (!hit)
                break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_found_by_path_and_in_its_places),
        cmocka_unit_test(a_unit_becomes_an_image_with_a_log),
        cmocka_unit_test(what_does_not_compile_is_an_outcome),
        cmocka_unit_test(a_kernel_is_found_by_the_parts_of_its_name),
        cmocka_unit_test(faults_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_script, remove_script);
}
