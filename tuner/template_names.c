// SPDX-License-Identifier: Apache-2.0
// Names and their values: what a name may be, lists and ranges, axes, parameters, the default.
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LARGEST_LIST 4096

// Keywords of C++ (to C++20) and names that a macro or constant must not take.
static const char *const keywords[] = {"alignas",
                                       "alignof",
                                       "asm",
                                       "auto",
                                       "bool",
                                       "break",
                                       "case",
                                       "catch",
                                       "char",
                                       "char8_t",
                                       "char16_t",
                                       "char32_t",
                                       "class",
                                       "concept",
                                       "const",
                                       "consteval",
                                       "constexpr",
                                       "constinit",
                                       "const_cast",
                                       "continue",
                                       "co_await",
                                       "co_return",
                                       "co_yield",
                                       "decltype",
                                       "default",
                                       "delete",
                                       "do",
                                       "double",
                                       "dynamic_cast",
                                       "else",
                                       "enum",
                                       "explicit",
                                       "export",
                                       "extern",
                                       "false",
                                       "float",
                                       "for",
                                       "friend",
                                       "goto",
                                       "if",
                                       "inline",
                                       "int",
                                       "long",
                                       "mutable",
                                       "namespace",
                                       "new",
                                       "noexcept",
                                       "nullptr",
                                       "operator",
                                       "private",
                                       "protected",
                                       "public",
                                       "register",
                                       "reinterpret_cast",
                                       "requires",
                                       "return",
                                       "short",
                                       "signed",
                                       "sizeof",
                                       "static",
                                       "static_assert",
                                       "static_cast",
                                       "struct",
                                       "switch",
                                       "template",
                                       "this",
                                       "thread_local",
                                       "throw",
                                       "true",
                                       "try",
                                       "typedef",
                                       "typeid",
                                       "typename",
                                       "union",
                                       "unsigned",
                                       "using",
                                       "virtual",
                                       "void",
                                       "volatile",
                                       "wchar_t",
                                       "while",
                                       "xor",
                                       "bitand",
                                       "bitor",
                                       "compl",
                                       "and_eq",
                                       "or_eq",
                                       "xor_eq",
                                       "not_eq",
                                       "restrict",
                                       "_Bool",
                                       "NULL",
                                       "Config",
                                       "simtune",
                                       NULL};
static const char *const function_words[] = {"min", "max", "ceil_div", "ceil_log2", NULL};
// A word of a list may be `min`: only a parenthesis behind it makes it a call.
static const char *const grammar_words[] = {"and", "or", "not", "when", "role", "runtime", NULL};

static bool in_list(const char *word, const char *const *list) {
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

st_code st_check_name(st_loader *loader, const char *what, const char *name) {
    if (!*name)
        return st_loader_fail(loader, "See docs/templates.md for the form of each directive.",
                              "the name of the %s is missing", what);
    if (!st_is_name(name))
        return st_loader_fail(loader,
                              "Names are letters, digits and _, not beginning with a digit.",
                              "`%s` is no name for the %s", name, what);
    if (strlen(name) > 60)
        return st_loader_fail(loader, "Use at most 60 characters.", "the name `%.60s…` is too long",
                              name);
    if (in_list(name, keywords))
        return st_loader_fail(
            loader, "Choose another name.",
            "`%s` cannot name the %s: it is a word of C++ or of the generated code", name, what);
    if (in_list(name, grammar_words) || in_list(name, function_words))
        return st_loader_fail(loader, "Choose another name.",
                              "`%s` cannot name the %s: it is a word of the expression language",
                              name, what);
    return ST_OK;
}

// --- values
// --------------------------------------------------------------------------------------------------

// The number of a word: the same in the whole file. Types have their ids, so others begin behind
// them.
static st_code number_of_word(st_loader *loader, const char *word, int64_t *number) {
    const st_type *type = st_type_find(word);
    if (type && strcmp(type->name, word) == 0) {
        *number = type->id;
        return ST_OK;
    }
    for (size_t i = 0; i < loader->word_count; i++)
        if (strcmp(loader->words[i], word) == 0) {
            *number = (int64_t)(ST_TYPE_COUNT + i);
            return ST_OK;
        }
    const char **words = st_loader_append(loader, loader->words, &loader->word_count,
                                          &loader->word_capacity, sizeof *words);
    if (!words)
        return ST_NO_MEMORY;
    loader->words = words;
    words[loader->word_count - 1] = word;
    *number = (int64_t)(ST_TYPE_COUNT + loader->word_count - 1);
    return ST_OK;
}

typedef struct st_values {
    st_value *items;
    size_t count, capacity;
} st_values;

static st_code add_value(st_loader *loader, st_values *values, const char *name, const char *word,
                         int64_t number) {
    if (values->count >= LARGEST_LIST)
        return st_loader_fail(loader, "Use a larger step.", "`%s` has more than %d values", name,
                              LARGEST_LIST);
    st_value *items =
        st_loader_append(loader, values->items, &values->count, &values->capacity, sizeof *items);
    if (!items)
        return ST_NO_MEMORY;
    values->items = items;
    st_value *value = &items[values->count - 1];
    value->number = number;
    if (word) {
        value->word = st_strdup(word);
        if (!value->word)
            return st_loader_no_memory(loader);
        st_code code = number_of_word(loader, value->word, &value->number);
        if (code)
            return code;
    }
    for (size_t i = 0; i + 1 < values->count; i++) {
        if (!items[i].word != !word)
            return st_loader_fail(loader, "Give integers only, or words only.",
                                  "`%s` mixes integers and words", name);
        if (items[i].number != value->number)
            continue;
        if (word)
            return st_loader_fail(loader, "Remove one.", "`%s` lists %s twice", name, word);
        return st_loader_fail(loader, "Remove one.", "`%s` lists %lld twice", name,
                              (long long)value->number);
    }
    return ST_OK;
}

// "128:1024:32", end included.
static st_code add_range(st_loader *loader, st_values *values, const char *name, const char *text) {
    char copy[128];
    int64_t part[3] = {0, 0, 1};
    int count = 0;
    if (strlen(text) >= sizeof copy)
        return st_loader_fail(loader, NULL, "`%.60s…` is no range", text);
    strcpy(copy, text);
    char *at = copy;
    for (char *next; at; at = next, count++) {
        next = strchr(at, ':');
        if (next)
            *next++ = '\0';
        if (count == 3 || !st_text_to_int(at, &part[count]))
            return st_loader_fail(loader, "Write START:END:STEP, as in 128:1024:32.",
                                  "`%s` is no range of integers", text);
    }
    if (part[2] < 1)
        return st_loader_fail(loader, "The step must be 1 or more.", "`%s` does not go forward",
                              text);
    if (part[0] > part[1])
        return st_loader_fail(loader, "Write the smaller number first.", "the range `%s` is empty",
                              text);
    for (int64_t value = part[0];; value += part[2]) {
        st_code code = add_value(loader, values, name, NULL, value);
        if (code)
            return code;
        int64_t next;
        if (__builtin_add_overflow(value, part[2], &next) || next > part[1])
            return ST_OK;
    }
}

static st_code add_values(st_loader *loader, st_values *values, const char *name,
                          const char *token) {
    int64_t number;
    if (strchr(token, ':'))
        return add_range(loader, values, name, token);
    if (st_text_to_int(token, &number))
        return add_value(loader, values, name, NULL, number);
    if (!st_is_name(token))
        return st_loader_fail(loader,
                              "Values are integers (128, 64Ki), words, or START:END:STEP, "
                              "with blanks between them.",
                              "`%s` is no value for `%s`", token, name);
    if (in_list(token, grammar_words))
        return st_loader_fail(loader, "Choose another word.",
                              "the value `%s` of `%s` is a word of the expression language", token,
                              name);
    return add_value(loader, values, name, token, 0);
}

// The next blank-separated token of *text into `out`; false at the end.
bool st_next_token(const char **text, char *out, size_t size) {
    const char *at = *text;
    while (isspace((unsigned char)*at))
        at++;
    size_t length = 0;
    while (at[length] && !isspace((unsigned char)at[length]))
        length++;
    *text = at + length;
    if (length >= size)
        length = size - 1;
    memcpy(out, at, length);
    out[length] = '\0';
    return length > 0;
}

// "NAME = " of an axis, parameter or let; *text moves behind the `=`.
st_code st_take_name(st_loader *loader, const char *what, const char **text, char **name) {
    const char *equals = strchr(*text, '=');
    if (!equals || equals[1] == '=')
        return st_loader_fail(loader, "See docs/templates.md for the form of each directive.",
                              "`%s` needs a name, `=` and what it is", loader->at->word);
    *name = st_trimmed(*text, (size_t)(equals - *text));
    if (!*name)
        return st_loader_no_memory(loader);
    *text = equals + 1;
    st_code code = st_check_name(loader, what, *name);
    if (code) {
        st_free(*name);
        *name = NULL;
    }
    return code;
}

// --- axes
// ----------------------------------------------------------------------------------------------------

// Types may be written with their old names; the axis keeps the new ones.
static st_code read_type_values(st_loader *loader, const char *name, const char *text,
                                st_values *values) {
    char token[128];
    while (st_next_token(&text, token, sizeof token)) {
        const st_type *type = st_type_find(token);
        if (!type)
            return st_loader_fail(loader,
                                  "The types are f32 f64 i32 u32 i64 u64 f16 bf16 u8; an axis has "
                                  "types only, or other words only.",
                                  "`%s` is no type, and `%s` is an axis of types", token, name);
        st_code code = add_value(loader, values, name, type->name, 0);
        if (code)
            return code;
    }
    return ST_OK;
}

// Cuts the word `data` off the end of a list that has more than it.
static bool cut_data(char *text) {
    size_t length = strlen(text);
    if (length < 6 || strcmp(text + length - 4, "data") != 0 ||
        !isspace((unsigned char)text[length - 5]))
        return false;
    text[length - 4] = '\0';
    while (isspace((unsigned char)*text))
        text++;
    return *text != '\0';
}

static st_code read_axis_values(st_loader *loader, st_axis *axis, const char *text) {
    char token[128];
    const char *first = text;
    st_values values = {0};
    st_code code = ST_OK;
    if (!st_next_token(&first, token, sizeof token))
        return st_loader_fail(loader, "List its values behind the `=`.",
                              "the axis `%s` has no values", axis->name);
    axis->kind = ST_AXIS_SIZE;
    if (st_type_find(token)) {
        axis->kind = ST_AXIS_TYPE;
        code = read_type_values(loader, axis->name, text, &values);
    } else {
        while (!code && st_next_token(&text, token, sizeof token))
            code = add_values(loader, &values, axis->name, token);
    }
    axis->values = values.items;
    axis->value_count = values.count;
    if (code)
        return code;
    if (axis->kind == ST_AXIS_SIZE && values.items[0].word)
        axis->kind = ST_AXIS_WORD;
    for (size_t i = 0; axis->kind == ST_AXIS_SIZE && i < values.count; i++)
        if (values.items[i].number < 0)
            return st_loader_fail(loader, "Sizes are 0 or more.", "the axis `%s` has the size %lld",
                                  axis->name, (long long)values.items[i].number);
    return ST_OK;
}

st_code st_declare_axis(st_loader *loader) {
    st_template *t = loader->tmpl;
    const char *text = loader->at->rest;
    if (t->axis_count == ST_MAX_AXES)
        return st_loader_fail(loader, "Join some of them.", "more than %d axes", ST_MAX_AXES);
    st_axis *axes =
        st_loader_append(loader, t->axes, &t->axis_count, &loader->axis_capacity, sizeof *axes);
    if (!axes)
        return ST_NO_MEMORY;
    t->axes = axes;
    st_axis *axis = &axes[t->axis_count - 1];
    st_code code = st_take_name(loader, "axis", &text, &axis->name);
    char *values = code ? NULL : st_trimmed(text, strlen(text));
    if (!code && !values)
        code = st_loader_no_memory(loader);
    axis->data = values && cut_data(values);
    if (!code)
        code = read_axis_values(loader, axis, values);
    st_free(values);
    if (!code && axis->data && axis->kind == ST_AXIS_TYPE)
        code = st_loader_fail(loader, "Remove `data`.",
                              "the type axis `%s` is known to callers: it is no property of the data",
                              axis->name);
    for (size_t i = 0; !code && axis->kind == ST_AXIS_TYPE && i + 1 < t->axis_count; i++)
        if (axes[i].kind == ST_AXIS_TYPE)
            code = st_loader_fail(loader, "Make one of them a `param` of words.",
                                  "`%s` is a second axis of types, after `%s`", axis->name,
                                  axes[i].name);
    return code;
}

// --- parameters
// ------------------------------------------------------------------------------------------------

static st_code read_role(st_loader *loader, const char *token, unsigned *roles) {
    static const struct {
        const char *name;
        st_role role;
    } rows[] = {{"ilp", ST_ROLE_ILP},   {"mlp", ST_ROLE_MLP},   {"tlp", ST_ROLE_TLP},
                {"sync", ST_ROLE_SYNC}, {"smem", ST_ROLE_SMEM}, {"work", ST_ROLE_WORK},
                {"regs", ST_ROLE_REGS}};
    enum { COUNT = sizeof rows / sizeof *rows };
    const char *names[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        names[i] = rows[i].name;
        if (strcmp(token, rows[i].name) == 0) {
            *roles |= rows[i].role;
            return ST_OK;
        }
    }
    char remedy[160];
    st_loader_suggest(token, names, COUNT, "roles", remedy, sizeof remedy);
    return st_loader_fail(loader, remedy, "unknown role `%s`", token);
}

static st_code read_parameter_values(st_loader *loader, st_parameter *parameter, const char *text) {
    char token[128];
    st_values values = {0};
    st_code code = ST_OK;
    bool in_roles = false;
    size_t roles_seen = 0;
    while (!code && st_next_token(&text, token, sizeof token)) {
        if (strcmp(token, "runtime") == 0) {
            parameter->runtime = true;
        } else if (strcmp(token, "role") == 0) {
            in_roles = true;
        } else if (in_roles) {
            code = read_role(loader, token, &parameter->roles);
            roles_seen++;
        } else if (parameter->runtime) {
            code = st_loader_fail(loader, "Put it before `runtime`.",
                                  "`%s` stands behind `runtime`", token);
        } else {
            code = add_values(loader, &values, parameter->name, token);
        }
    }
    parameter->values = values.items;
    parameter->value_count = values.count;
    if (code)
        return code;
    if (!values.count)
        return st_loader_fail(loader, "List its values behind the `=`.",
                              "the parameter `%s` has no values", parameter->name);
    if (in_roles && !roles_seen)
        return st_loader_fail(loader, "The roles are ilp mlp tlp sync smem work regs.",
                              "`role` without a role");
    for (size_t i = 0; i < values.count; i++)
        if (values.items[i].number > INT32_MAX || values.items[i].number < -INT32_MAX)
            return st_loader_fail(loader, "Use values of 32 bits.",
                                  "the value %lld of `%s` does not fit an int",
                                  (long long)values.items[i].number, parameter->name);
    return ST_OK;
}

st_code st_declare_parameter(st_loader *loader) {
    st_template *t = loader->tmpl;
    const char *text = loader->at->rest;
    if (t->parameter_count == ST_MAX_PARAMETERS)
        return st_loader_fail(loader, "Leave some fixed in the source.", "more than %d parameters",
                              ST_MAX_PARAMETERS);
    st_parameter *parameters = st_loader_append(loader, t->parameters, &t->parameter_count,
                                                &loader->parameter_capacity, sizeof *parameters);
    if (!parameters)
        return ST_NO_MEMORY;
    t->parameters = parameters;
    st_parameter *parameter = &parameters[t->parameter_count - 1];
    parameter->line = loader->at->line;
    st_code code = st_take_name(loader, "parameter", &text, &parameter->name);
    return code ? code : read_parameter_values(loader, parameter, text);
}

// "BLOCK=256 VEC=1": may be spread over several lines.
st_code st_read_default(st_loader *loader) {
    st_template *t = loader->tmpl;
    const char *text = loader->at->rest;
    const char *names[ST_MAX_PARAMETERS];
    char token[128], remedy[256];
    for (size_t i = 0; i < t->parameter_count; i++)
        names[i] = t->parameters[i].name;
    while (st_next_token(&text, token, sizeof token)) {
        char *equals = strchr(token, '=');
        if (!equals || equals == token || !equals[1])
            return st_loader_fail(loader, "Write PARAM=VALUE without blanks.",
                                  "`%s` is no default of a parameter", token);
        *equals = '\0';
        int index = st_template_parameter(t, token);
        if (index < 0) {
            st_loader_suggest(token, names, t->parameter_count, "parameters", remedy,
                              sizeof remedy);
            return st_loader_fail(loader, remedy, "the default names an unknown parameter `%s`",
                                  token);
        }
        if (loader->has_default[index])
            return st_loader_fail(loader, NULL, "`%s` has two defaults", token);
        loader->has_default[index] = true;
        st_error inner;
        int64_t value;
        if (st_parameter_value(t, index, equals + 1, &value, &inner) != ST_OK)
            return st_loader_fail(loader, inner.remedy, "%s", inner.what);
        st_parameter *parameter = &t->parameters[index];
        while (parameter->values[parameter->default_index].number != value)
            parameter->default_index++;
    }
    return ST_OK;
}
