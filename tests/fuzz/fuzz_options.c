// SPDX-License-Identifier: Apache-2.0
// Command lines (tuner/base/options.h). The input: one argument a line.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/options.h"

#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_MOST = 64 };

static const st_option common[] = {
    {"verbose", 'v', NULL, false, "say more"},
    {"db", 0, "FILE", false, "the store"},
    {"help", 'h', NULL, false, "this text"},
    {0},
};
static const st_option tuning[] = {
    {"device", 'd', "N", false, "which"},
    {"set", 0, "PARAM=VALUE", true, "hold a parameter"},
    {"output", 'o', "FILE", false, "where the header goes"},
    {"dry-run", 'n', NULL, false, "measure nothing"},
    {0},
};
static const st_option *const tables[] = {common, tuning, NULL};

static bool has_empty_word(const char *value)
{
    size_t length = strlen(value);
    return !length || value[0] == ',' || value[length - 1] == ',' || strstr(value, ",,");
}

static void check_list(const st_parsed *parsed, const char *name, bool split)
{
    st_list list;
    st_error error = {0};
    bool empty = false;
    for (size_t i = 0; i < parsed->given_count; i++)
        if (strcmp(parsed->given[i].option->name, name) == 0 && parsed->given[i].option->value)
            empty = empty || has_empty_word(parsed->given[i].value);
    st_code code = st_parsed_list(parsed, name, split, &list, &error);
    FUZZ_MUST(code == (split && empty ? ST_USAGE : ST_OK), "the list of --%s ends with %d", name, (int)code);
    if (code != ST_OK)
        fuzz_check_error(code, &error);
    FUZZ_MUST(code == ST_OK || !list.count, "a list that was refused has items");
    for (size_t i = 0; i < list.count; i++)
        FUZZ_MUST(*list.items[i] && !(split && strchr(list.items[i], ',')),
                  "an item of the list is `%s`", list.items[i]);
    FUZZ_MUST(!list.count || st_parsed_flag(parsed, name), "a list of what was not given");
    st_list_free(&list);
}

static void check_parsed(const st_parsed *parsed, char *const *arguments, size_t count)
{
    FUZZ_MUST(parsed->given_count + parsed->word_count <= count, "more came out than went in");
    for (size_t i = 0; i < parsed->given_count; i++) {
        const struct st_given *given = &parsed->given[i];
        FUZZ_MUST(given->value && (given->value[0] || !given->option->value), "--%s has no value",
                  given->option->name);
        bool inside = !given->option->value;
        for (size_t a = 0; a < count && !inside; a++) // the value is an argument or its tail
            inside =
                given->value >= arguments[a] && given->value <= arguments[a] + strlen(arguments[a]);
        FUZZ_MUST(inside, "the value of --%s was never given", given->option->name);
        FUZZ_MUST(st_parsed_text(parsed, given->option->name), "--%s is forgotten",
                  given->option->name);
    }
    for (const st_option *const *table = tables; *table; table++)
        for (const st_option *row = *table; row->name; row++)
            for (int split = 0; split < 2; split++)
                check_list(parsed, row->name, split);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *arguments[ARGUMENTS_MOST + 1];
    size_t count = 0;
    while (count < ARGUMENTS_MOST && (arguments[count] = fuzz_line(&data, &size)) != NULL)
        count++;
    st_parsed parsed;
    st_error error = {0};
    st_code code = st_options_parse(tables, (int)count, arguments, &parsed, &error);
    if (code == ST_OK) {
        check_parsed(&parsed, arguments, count);
        st_parsed_release(&parsed);
    } else {
        fuzz_check_error(code, &error);
        FUZZ_MUST(code == ST_USAGE, "a command line fails with %d", (int)code);
    }
    for (size_t i = 0; i < count; i++)
        free(arguments[i]);
    return 0;
}
