// SPDX-License-Identifier: Apache-2.0
// Problems: one value for each axis, to and from "T=f32 op=sum n=65536".
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *word_of(const st_axis *axis, int64_t number) {
    for (size_t i = 0; i < axis->value_count; i++)
        if (axis->values[i].word && axis->values[i].number == number)
            return axis->values[i].word;
    return NULL;
}

void st_problem_text(const st_template *tmpl, const st_problem *problem, st_text *out) {
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        const st_axis *axis = &tmpl->axes[i];
        const char *word = axis->kind == ST_AXIS_SIZE ? NULL : word_of(axis, problem->value[i]);
        st_text_addf(out, "%s%s=", i ? " " : "", axis->name);
        if (word)
            st_text_add(out, word);
        else
            st_text_addf(out, "%" PRId64, problem->value[i]);
    }
}

// A type or word must be one of the axis's; a size may be any.
static st_code parse_value(const st_template *tmpl, const st_axis *axis, const char *text,
                           int64_t *out, st_error *error) {
    char remedy[400];
    if (axis->kind == ST_AXIS_SIZE) {
        if (st_text_to_int(text, out) && *out >= 0)
            return ST_OK;
        return st_fail(error, ST_USAGE, "Sizes are integers from 0 on: 1000, 64Ki, 16Mi, 2^20.",
                       "`%.100s` is no size for the axis `%s` of %s", text, axis->name,
                       tmpl->family);
    }
    const st_type *type = axis->kind == ST_AXIS_TYPE ? st_type_find(text) : NULL;
    const char *wanted = type ? type->name : text;
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < axis->value_count; i++) {
        if (strcmp(axis->values[i].word, wanted) == 0) {
            *out = axis->values[i].number;
            return ST_OK;
        }
        if (count < sizeof names / sizeof *names)
            names[count++] = axis->values[i].word;
    }
    st_loader_suggest(text, names, count, "values", remedy, sizeof remedy);
    return st_fail(error, ST_USAGE, remedy, "`%.100s` is no value of the axis `%s` of %s", text,
                   axis->name, tmpl->family);
}

static st_code parse_one(const st_template *tmpl, char *token, st_problem *out, bool *given,
                         st_error *error) {
    const char *names[ST_MAX_AXES];
    char remedy[256];
    char *equals = strchr(token, '=');
    if (!equals)
        return st_fail(error, ST_USAGE, "Write AXIS=VALUE AXIS=VALUE ….",
                       "`%s` is no value of an axis of %s", token, tmpl->family);
    *equals = '\0';
    int index = st_template_axis(tmpl, token);
    if (index < 0) {
        for (size_t i = 0; i < tmpl->axis_count; i++)
            names[i] = tmpl->axes[i].name;
        st_loader_suggest(token, names, tmpl->axis_count, "axes", remedy, sizeof remedy);
        return st_fail(error, ST_USAGE, remedy, "%s has no axis `%s`", tmpl->family, token);
    }
    if (given[index])
        return st_fail(error, ST_USAGE, "Give each axis once.", "the axis `%s` stands twice",
                       token);
    given[index] = true;
    return parse_value(tmpl, &tmpl->axes[index], equals + 1, &out->value[index], error);
}

st_code st_problem_parse(const st_template *tmpl, const char *text, st_problem *out,
                         st_error *error) {
    bool given[ST_MAX_AXES] = {false};
    char token[256];
    memset(out, 0, sizeof *out);
    while (st_next_token(&text, token, sizeof token)) {
        st_code code = parse_one(tmpl, token, out, given, error);
        if (code)
            return code;
    }
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (!given[i])
            return st_fail(error, ST_USAGE, "A problem has one value for each axis.",
                           "the axis `%s` of %s has no value", tmpl->axes[i].name, tmpl->family);
    return ST_OK;
}

const st_type *st_problem_type(const st_template *tmpl, const st_problem *problem) {
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_TYPE)
            return st_type_of((st_type_id)problem->value[i]);
    return NULL;
}
