// SPDX-License-Identifier: Apache-2.0
// The words of parameters against the templates that ship: none is without words, neither is a value that is a word.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/parameter_words.h"
#include "tuner/base/roles.h"
#include "tuner/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const templates[] = {"reduce.cu",           "scan.cu",             "compact.cu",
                                        "segreduce.cu",        "examples/fma_chain.cu", "examples/special.cu",
                                        "examples/particles.cu"};

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return *end == '\0';
}

static void need_words(const char *family, const char *parameter, const char *value)
{
    const char *words = st_parameter_words(family, parameter, value);
    if (!words)
        fail_msg("%s %s%s%s has no words (reports/parameter_words.c)", family, parameter, value ? "=" : "",
                 value ? value : "");
    assert_true(strlen(words) > 3);
    assert_true(words[strlen(words) - 1] != '.');
}

// "BLOCK = 128 256  role tlp work"; returns how many values were words.
static size_t check_parameter(const char *family, char *line)
{
    size_t words = 0;
    char *kept, *name = strtok_r(line, " =", &kept);
    need_words(family, name, NULL);
    for (char *value; (value = strtok_r(NULL, " =", &kept)) && strcmp(value, "role") != 0;) {
        if (is_number(value) || strchr(value, ':'))
            continue;
        need_words(family, name, value);
        words++;
    }
    return words;
}

static void test_all_that_ships(void **state)
{
    (void)state;
    static const char family_mark[] = "// simtune: family", parameter_mark[] = "// simtune: param ";
    size_t parameters = 0, words = 0;
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        char path[512], family[64] = "", *kept, *line;
        st_text text;
        st_text_init(&text);
        snprintf(path, sizeof path, "%s/templates/%s", SIMTUNE_SOURCE_FOLDER, templates[i]);
        assert_int_equal(st_text_read_file(&text, path, NULL), ST_OK);
        for (line = strtok_r(text.data, "\n", &kept); line; line = strtok_r(NULL, "\n", &kept)) {
            if (strncmp(line, family_mark, sizeof family_mark - 1) == 0)
                assert_int_equal(sscanf(line + sizeof family_mark - 1, "%63s", family), 1);
            if (strncmp(line, parameter_mark, sizeof parameter_mark - 1) != 0)
                continue;
            words += check_parameter(family, line + sizeof parameter_mark - 1);
            parameters++;
        }
        st_text_release(&text);
    }
    assert_true(parameters > 60 && words > 60); // the templates were read
}

static void test_others(void **state)
{
    (void)state;
    assert_null(st_parameter_words("mine", "BLOCK", NULL)); // the same name may mean something else
    assert_null(st_parameter_words("scan", "WARP", NULL));  // of another family
    assert_null(st_parameter_words("scan", "BLOCK", "256"));
    assert_null(st_parameter_words("scan", "", NULL));
    assert_string_not_equal(st_parameter_words("special", "ITEMS", NULL), st_parameter_words("scan", "ITEMS", NULL));
}

static void test_roles(void **state)
{
    (void)state;
    unsigned role, all = 0;
    const char *name, *words;
    size_t count = 0;
    for (; st_role_words(count, &role, &name, &words); count++) {
        assert_int_equal(all & role, 0);
        assert_true(name[0] && words[0]);
        all |= role;
    }
    assert_int_equal(all, ST_ROLE_ILP | ST_ROLE_MLP | ST_ROLE_TLP | ST_ROLE_SYNC | ST_ROLE_SMEM | ST_ROLE_WORK | ST_ROLE_REGS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_that_ships), cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_roles)};
    return cmocka_run_group_tests_name("parameter_words", tests, NULL, NULL);
}
