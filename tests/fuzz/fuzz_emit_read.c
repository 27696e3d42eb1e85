// SPDX-License-Identifier: Apache-2.0
// The provenance block of headers (st_emit_read), for the template tests/data/emit_total.cu with a hash of
// zeros, so that seeds outlive changes of that file. Rows that are accepted and can be printed as a header
// come back from it.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/emit.h"
#include "tuner/gpu/device_class.h"
#include "tuner/header_program.h"

#include <string.h>

static st_template *tmpl;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    st_error error = {0};
    (void)argc, (void)argv;
    st_json_setup();
    FUZZ_MUST(st_template_load(SIMTUNE_SOURCE_FOLDER "/tests/data/emit_total.cu", &tmpl, &error) ==
                  ST_OK,
              "%s", error.what);
    memset(tmpl->hash, '0', ST_HASH_TEXT - 1);
    return 0;
}

static void check_choice(const st_choice *choice)
{
    st_text text;
    st_problem problem;
    st_config config;
    st_text_init(&text);
    st_problem_text(tmpl, &choice->problem, &text);
    FUZZ_MUST(st_problem_parse(tmpl, st_text_string(&text), &problem, NULL) == ST_OK,
              "the problem %s is refused", st_text_string(&text));
    st_text_clear(&text);
    st_config_text(tmpl, &choice->config, &text);
    FUZZ_MUST(st_config_parse(tmpl, st_text_string(&text), &config, NULL) == ST_OK &&
                  st_config_equal(tmpl, &config, &choice->config),
              "the configuration %s is refused", st_text_string(&text));
    FUZZ_MUST(choice->blocks_per_sm >= 1 && choice->device_class.cc >= 1, "an impossible row");
    st_text_release(&text);
}

// As a program (header_program.h) the header has kernels for each row, and takes a row of its class for each problem.
static void check_program(const char *path, const st_choice *choices, size_t count)
{
    st_header_program *header = NULL;
    st_error error = {0};
    st_code code = st_header_open(tmpl, path, &header, &error);
    FUZZ_MUST(code == ST_OK && !st_header_is_edited(header), "our own header is no program: %s", error.what);
    for (size_t i = 0; i < count; i++) {
        st_device_facts facts;
        if (st_device_class_facts(choices[i].device_class, -1, &facts, NULL) != ST_OK)
            continue;
        for (size_t f = 0; f < st_header_function_count(header); f++) {
            st_header_row row;
            char **names;
            size_t name_count;
            if (st_header_choose(header, f, &facts, &choices[i].problem, &row, NULL) != ST_OK)
                continue; // its constraints do not hold there
            FUZZ_MUST(row.is_default || !row.exact || row.choice->device_class.cc == facts.cc, "a row of another class");
            code = st_header_kernels(header, &row, &names, &name_count, &error);
            FUZZ_MUST(code == ST_OK && name_count == 4, "a row without kernels: %s", error.what);
            for (size_t n = 0; n < name_count; n++) {
                FUZZ_MUST(strstr(names[n], st_header_space(header)) == names[n], "the kernel %s", names[n]);
                st_free(names[n]);
            }
            st_free(names);
        }
    }
    st_header_close(header);
}

// A header of these rows, if it can be made, holds them (equal ones once), and what is read from it makes the
// same header.
static void check_header(const st_choice *choices, size_t count)
{
    static const st_emit_options options = {.cache = "cold", .command = "fuzz"};
    st_error error = {0};
    st_text text, second;
    st_text_init(&text);
    st_text_init(&second);
    st_code code = st_emit_header(tmpl, choices, count, &options, &text, &error);
    if (code) {
        fuzz_check_error(code, &error);
    } else {
        st_choice *again = NULL;
        size_t again_count = 0;
        const char *path = fuzz_file(text.data, text.length);
        code = st_emit_read(tmpl, path, NULL, &again, &again_count, &error);
        FUZZ_MUST(code == ST_OK, "our own header is refused: %s", error.what);
        FUZZ_MUST(again_count && again_count <= count, "%zu rows became %zu", count, again_count);
        code = st_emit_header(tmpl, again, again_count, &options, &second, &error);
        FUZZ_MUST(code == ST_OK, "what was read makes no header: %s", error.what);
        FUZZ_MUST(text.length == second.length && memcmp(text.data, second.data, text.length) == 0,
                  "what was read makes another header");
        st_free(again);
        check_program(path, choices, count);
    }
    st_text_release(&second);
    st_text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const st_device_class h200 = {90, 132};
    st_choice *choices = NULL, *others = NULL;
    size_t count = 0, other_count = 0;
    st_error error = {0};
    const char *path = fuzz_file(data, size);
    st_code code = st_emit_read(tmpl, path, NULL, &choices, &count, &error);
    if (code) {
        fuzz_check_error(code, &error);
        FUZZ_MUST(strstr(error.what, path), "the message names no file: %s", error.what);
        FUZZ_MUST(!choices && !count, "rows of a header that is refused");
    }
    FUZZ_MUST(st_emit_read(tmpl, path, &h200, &others, &other_count, NULL) == code &&
                  other_count <= count,
              "without one class there are more rows, or an error");
    st_header_program *program = NULL;
    st_error of_program = {0};
    code = st_header_open(tmpl, path, &program, &of_program);
    FUZZ_MUST(code == ST_OK || strstr(of_program.what, path) || strstr(of_program.what, tmpl->path) || count,
              "the message names no file: %s", of_program.what);
    st_header_close(program);
    for (size_t i = 0; i < count; i++)
        check_choice(&choices[i]);
    if (count && count <= 16)
        check_header(choices, count);
    st_free(choices);
    st_free(others);
    return 0;
}
