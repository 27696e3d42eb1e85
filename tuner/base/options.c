// SPDX-License-Identifier: Apache-2.0
#include "tuner/base/options.h"

#include "tuner/base/memory.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MOST = 128 };

static const st_option *find(const st_option *const *tables, const char *name, size_t length)
{
    for (; *tables; tables++)
        for (const st_option *row = *tables; row->name; row++)
            if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
                return row;
    return NULL;
}

static const st_option *find_letter(const st_option *const *tables, char letter)
{
    for (; *tables; tables++)
        for (const st_option *row = *tables; row->name; row++)
            if (row->letter == letter)
                return row;
    return NULL;
}

static st_code unknown(const st_option *const *tables, const char *argument, st_error *error)
{
    const char *names[NAMES_MOST];
    size_t count = 0, length = strcspn(argument, "=");
    char word[64];
    for (; *tables; tables++)
        for (const st_option *row = *tables; row->name && count < NAMES_MOST; row++)
            names[count++] = row->name;
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), argument);
    const char *bare = word + strspn(word, "-");
    int nearest = st_text_nearest(bare, names, count);
    char remedy[128] = "--help lists the options";
    if (nearest >= 0)
        snprintf(remedy, sizeof remedy, "did you mean --%s?", names[nearest]);
    return st_fail(error, ST_USAGE, remedy, "there is no option %s", word);
}

static st_code give(st_parsed *out, const st_option *option, const char *value, st_error *error)
{
    if (option->value && !value[0]) // of a shell's variable that is not set: never what was meant
        return st_fail(error, ST_USAGE, "give a value, or leave the option out", "--%s needs a value (%s), not \"\"",
                       option->name, option->value);
    for (size_t i = 0; i < out->given_count; i++)
        if (out->given[i].option == option && !option->repeats && option->value &&
            strcmp(out->given[i].value, value) != 0)
            return st_fail(error, ST_USAGE, "give it once", "--%s is given twice: %s and %s", option->name,
                           out->given[i].value, value);
    struct st_given *given =
        st_grow(out->given, &out->given_capacity, out->given_count + 1, sizeof *given);
    if (!given)
        return st_fail_memory(error, "reading the command line");
    out->given = given;
    given[out->given_count++] = (struct st_given){option, value};
    return ST_OK;
}

static st_code add_word(st_parsed *out, const char *word, st_error *error)
{
    const char **words =
        st_grow(out->words, &out->word_capacity, out->word_count + 1, sizeof *words);
    if (!words)
        return st_fail_memory(error, "reading the command line");
    out->words = words;
    words[out->word_count++] = word;
    return ST_OK;
}

// The option that `argument` names, and where its value stands in it (NULL: not in it).
static const st_option *recognise(const st_option *const *tables, const char *argument,
                                  const char **value)
{
    *value = NULL;
    if (argument[1] != '-') {
        const st_option *option = find_letter(tables, argument[1]);
        if (option && argument[2])
            *value = argument + 2;
        return option && !option->value && argument[2] ? NULL : option;
    }
    size_t length = strcspn(argument + 2, "=");
    if (argument[2 + length] == '=')
        *value = argument + 2 + length + 1;
    return find(tables, argument + 2, length);
}

st_code st_options_parse(const st_option *const *tables, int count, char **arguments, st_parsed *out,
                         st_error *error)
{
    *out = (st_parsed){.tables = tables};
    st_code code = ST_OK;
    bool only_words = false;
    for (int i = 0; i < count && code == ST_OK; i++) {
        const char *argument = arguments[i], *value;
        if (only_words || argument[0] != '-' || !argument[1]) {
            code = add_word(out, argument, error);
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            only_words = true;
            continue;
        }
        const st_option *option = recognise(tables, argument, &value);
        if (!option)
            code = unknown(tables, argument, error);
        else if (!option->value && value)
            code = st_fail(error, ST_USAGE, "leave the value out", "--%s takes no value", option->name);
        else if (option->value && !value && i + 1 == count)
            code = st_fail(error, ST_USAGE, "see --help", "--%s needs a value (%s)", option->name,
                           option->value);
        else
            code = give(out, option, !option->value ? "" : value ? value : arguments[++i], error);
    }
    if (code != ST_OK)
        st_parsed_release(out);
    return code;
}

void st_parsed_release(st_parsed *parsed)
{
    st_free(parsed->given);
    st_free(parsed->words);
    *parsed = (st_parsed){0};
}

const char *st_parsed_text(const st_parsed *parsed, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < parsed->given_count; i++)
        if (strcmp(parsed->given[i].option->name, name) == 0)
            value = parsed->given[i].value;
    return value;
}

bool st_parsed_flag(const st_parsed *parsed, const char *name)
{
    return st_parsed_text(parsed, name) != NULL;
}

bool st_list_add(st_list *list, const char *text, size_t length)
{
    char **items = st_grow(list->items, &list->capacity, list->count + 1, sizeof *items);
    if (!items)
        return false;
    list->items = items;
    items[list->count] = st_strndup(text, length);
    if (!items[list->count])
        return false;
    list->count++;
    return true;
}

void st_list_free(st_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        st_free(list->items[i]);
    st_free(list->items);
    *list = (st_list){0};
}

st_code st_parsed_list(const st_parsed *parsed, const char *name, bool split, st_list *out,
                       st_error *error)
{
    *out = (st_list){0};
    for (size_t i = 0; i < parsed->given_count; i++) {
        if (strcmp(parsed->given[i].option->name, name) != 0 || !parsed->given[i].option->value)
            continue;
        const char *at = parsed->given[i].value;
        for (;;) {
            size_t length = split ? strcspn(at, ",") : strlen(at);
            if (!length || !st_list_add(out, at, length)) {
                st_list_free(out);
                return length ? st_fail_memory(error, "reading the command line")
                              : st_fail(error, ST_USAGE, "one comma between two words, and none at the ends",
                                        "--%s %s has an empty word", name, parsed->given[i].value);
            }
            if (!at[length])
                break;
            at += length + 1;
        }
    }
    return ST_OK;
}

void st_options_help(const st_option *table, st_text *out)
{
    for (const st_option *row = table; row->name; row++) {
        char left[64];
        if (row->letter)
            snprintf(left, sizeof left, "-%c, --%s%s%s", row->letter, row->name, row->value ? " " : "",
                     row->value ? row->value : "");
        else
            snprintf(left, sizeof left, "    --%s%s%s", row->name, row->value ? " " : "",
                     row->value ? row->value : "");
        st_text_addf(out, "  %-28s %s%s\n", left, row->help, row->repeats ? " (repeatable)" : "");
    }
}
