// SPDX-License-Identifier: Apache-2.0
// T1 files (tuner/t1.c): what is read is a template whose space can be opened; a refusal names the file. Expressions alone:
// what is translated, the reader of templates can read.
//
// The input: a T1 file; or, when it begins with "?", an expression of one, and with "[" a list of values.
#include "tests/fuzz/fuzz.h"
#include "tuner/base/expression.h"
#include "tuner/base/json.h"
#include "tuner/space.h"
#include "tuner/t1.h"
#include "tuner/t1_expression.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    st_json_setup();
    return 0;
}

static void must_name(st_code code, const st_error *error)
{
    FUZZ_MUST(code == ST_OK || code == ST_NO_MEMORY || strstr(error->what, "f.json"),
              "names no file: %s", error->what);
}

static void check_values(const char *text)
{
    st_t1_list list;
    st_error error = {0};
    st_code code = st_t1_values(text, "f.json", &list, &error);
    must_name(code, &error);
    FUZZ_MUST(code != ST_OK || list.count <= 65536, "%zu values", list.count);
    st_t1_list_release(&list);
}

// Names are any: each that the reader asks for is added to the scope, so that form alone is judged.
static void check_expression(const char *text)
{
    const st_t1_names names = {.sizes = {7}, .size_count = 1};
    st_scope scope = {0};
    st_text out;
    st_error error = {0};
    st_expression *expression = NULL;
    st_text_init(&out);
    st_scope_add(&scope, (st_name){.name = "x"});
    st_code code = st_t1_translate(text, "f.json", &names, &out, &error);
    must_name(code, &error);
    if (code == ST_OK) {
        code = st_expression_parse(st_text_string(&out), (st_place){"t", 1}, &scope, &expression,
                                   &error);
        FUZZ_MUST(code == ST_OK || strstr(error.what, "name") || strstr(error.what, "deep") ||
                      strstr(error.what, "long") || strstr(error.what, "operands") ||
                      strchr(text, '.'),
                  "%s → %s: %s", text, st_text_string(&out), error.what);
    }
    st_expression_free(expression);
    st_scope_release(&scope);
    st_text_release(&out);
}

static void check_file(const char *text, size_t size)
{
    st_template *tmpl = NULL;
    st_space *space = NULL;
    st_error error = {0};
    st_problem problem = {0};
    st_space_options options = {0};
    st_code code =
        st_t1_parse("f.json", text, size, "k.cu", "__global__ void k() {}\n", &tmpl, &error);
    must_name(code, &error);
    if (code == ST_OK && st_space_open(tmpl, &problem, NULL, &options, &space, &error) == ST_OK)
        st_space_close(space);
    st_template_free(tmpl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    if (text[0] == '?')
        check_expression(text + 1);
    else if (text[0] == '[')
        check_values(text);
    else
        check_file(text, strlen(text));
    free(text);
    return 0;
}
