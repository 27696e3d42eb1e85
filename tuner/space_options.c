// SPDX-License-Identifier: Apache-2.0
// --set and --vary: which values of each parameter a space has.
#include "tuner/base/memory.h"
#include "tuner/space_internal.h"
#include "tuner/template_internal.h"

#include <stdio.h>
#include <string.h>

static st_code find_parameter(const st_template *t, const char *name, const char *option,
                              int *index, st_error *error) {
    const char *names[ST_MAX_PARAMETERS];
    char remedy[400];
    *index = st_template_parameter(t, name);
    if (*index >= 0)
        return ST_OK;
    for (size_t i = 0; i < t->parameter_count; i++)
        names[i] = t->parameters[i].name;
    st_loader_suggest(name, names, t->parameter_count, "parameters", remedy, sizeof remedy);
    return st_fail(error, ST_USAGE, remedy, "%s: %s has no parameter `%.100s`", option, t->family,
                   name);
}

// Index of a value in the parameter's list of the file.
static size_t index_of(const st_parameter *parameter, int64_t value) {
    size_t i = 0;
    while (parameter->values[i].number != value)
        i++;
    return i;
}

// "BLOCK=128": a parameter that is set from here on.
static st_code begin_set(st_space *space, const char *item, const char *equals, bool *wanted[],
                         int *index, st_error *error) {
    const st_template *t = space->tmpl;
    char *name = st_trimmed(item, (size_t)(equals - item));
    st_code code = name ? find_parameter(t, name, "--set", index, error)
                        : st_fail_memory(error, "reading --set");
    st_free(name);
    if (code)
        return code;
    const st_parameter *parameter = &t->parameters[*index];
    if (wanted[*index])
        return st_fail(error, ST_USAGE, "Join them: --set PARAM=VALUE,VALUE.",
                       "--set: `%s` is given twice", parameter->name);
    wanted[*index] = st_calloc(parameter->value_count, sizeof **wanted);
    return wanted[*index] ? ST_OK : st_fail_memory(error, "reading --set");
}

static st_code add_set_value(st_space *space, int index, const char *text, bool *wanted[],
                             st_error *error) {
    const st_template *t = space->tmpl;
    int64_t value;
    st_code code = st_parameter_value(t, index, text, &value, error);
    if (code)
        return error ? st_error_prefix(error, "--set") : code;
    wanted[index][index_of(&t->parameters[index], value)] = true;
    return ST_OK;
}

// "BLOCK=128,256" or "BLOCK=128,256,VEC=4": marks the values that are wanted.
static st_code read_set(st_space *space, const char *text, bool *wanted[], st_error *error) {
    int index = -1;
    st_code code = ST_OK;
    for (const char *rest = text; !code && rest;) {
        char *item = st_next_item(&rest);
        if (!item)
            return st_fail_memory(error, "reading --set");
        const char *equals = strchr(item, '=');
        const char *value = equals ? equals + 1 : item;
        if (equals == item || (equals && !equals[1]) || (!equals && index < 0))
            code = st_fail(error, ST_USAGE, "Write --set PARAM=VALUE or --set PARAM=VALUE,VALUE.",
                           "--set: `%.100s` is no value of a parameter", item);
        if (!code && equals)
            code = begin_set(space, item, equals, wanted, &index, error);
        if (!code)
            code = add_set_value(space, index, value, wanted, error);
        st_free(item);
    }
    return code;
}

// "ACC" or "ACC,VEC"
static st_code read_vary(st_space *space, const char *text, bool *varies, st_error *error) {
    st_code code = ST_OK;
    for (const char *rest = text; !code && rest;) {
        char *name = st_next_item(&rest);
        int index = -1;
        code = name ? find_parameter(space->tmpl, name, "--vary", &index, error)
                    : st_fail_memory(error, "reading --vary");
        if (!code)
            varies[index] = true;
        st_free(name);
    }
    return code;
}

static st_code choose_values(st_space *space, size_t index, const bool *wanted, bool only_default,
                             st_error *error) {
    const st_parameter *parameter = &space->tmpl->parameters[index];
    st_chosen *chosen = &space->chosen[index];
    chosen->values = st_calloc(parameter->value_count, sizeof *chosen->values);
    if (!chosen->values)
        return st_fail_memory(error, "making the space");
    for (size_t i = 0; i < parameter->value_count; i++)
        if (wanted ? wanted[i] : !only_default || i == parameter->default_index)
            chosen->values[chosen->count++] = parameter->values[i].number;
    chosen->table = chosen->count > 1 ? space->table_count++ : -1;
    return ST_OK;
}

// Packs the indices of a row from the highest bits of its first word on, so that comparing words in
// order compares configurations in the order of the file.
static void lay_out_rows(st_space *space) {
    int word = 0, free_bits = 64;
    for (size_t i = 0; i < space->tmpl->parameter_count; i++) {
        st_chosen *chosen = &space->chosen[i];
        if (chosen->table < 0)
            continue;
        while (((size_t)1 << chosen->bits) < chosen->count)
            chosen->bits++;
        if (chosen->bits > free_bits) {
            word++;
            free_bits = 64;
        }
        free_bits -= chosen->bits;
        chosen->word = word;
        chosen->shift = free_bits;
    }
    space->row_words = (size_t)word + 1;
}

st_code st_space_choose(st_space *space, const st_space_options *options, st_error *error) {
    const st_template *t = space->tmpl;
    bool *wanted[ST_MAX_PARAMETERS] = {NULL};
    bool varies[ST_MAX_PARAMETERS] = {false};
    st_code code = ST_OK;
    for (size_t i = 0; !code && i < options->set_count; i++)
        code = read_set(space, options->set[i], wanted, error);
    for (size_t i = 0; !code && i < options->vary_count; i++)
        code = read_vary(space, options->vary[i], varies, error);
    for (size_t i = 0; !code && i < t->parameter_count; i++)
        code = choose_values(space, i, wanted[i], options->vary_count && !varies[i], error);
    for (size_t i = 0; i < t->parameter_count; i++)
        st_free(wanted[i]);
    if (!code)
        lay_out_rows(space);
    return code;
}
