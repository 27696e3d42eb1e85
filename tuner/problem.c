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

st_code st_axis_value(const st_template *tmpl, int axis, const char *text, int64_t *out,
                      st_error *error) {
    return parse_value(tmpl, &tmpl->axes[axis], text, out, error);
}

static const char *axis_name(const st_template *tmpl, size_t index) {
    return tmpl->axes[index].name;
}

st_code st_problem_parse(const st_template *tmpl, const char *text, st_problem *out,
                         st_error *error) {
    const st_pairs axes = {"an", "axis", "axes", "Write AXIS=VALUE AXIS=VALUE ….",
                           "A problem has one value for each axis.", tmpl->axis_count,
                           st_template_axis, axis_name, st_axis_value};
    memset(out, 0, sizeof *out);
    return st_pairs_parse(tmpl, &axes, text, out->value, error);
}

const st_type *st_problem_type(const st_template *tmpl, const st_problem *problem) {
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_TYPE)
            return st_type_of((st_type_id)problem->value[i]);
    return NULL;
}

// --- what the template says of a problem
// ------------------------------------------------------------------------------------------------

// A value of an expression that asks for axes and facts, `failed` when it has none.
static int64_t value_of(const st_template *tmpl, const st_problem *problem,
                        const st_device_facts *device, const st_expression *expression,
                        int64_t failed) {
    st_bindings bindings;
    st_config config;
    int64_t value = failed;
    if (!expression)
        return 1;
    st_config_default(tmpl, &config);
    // A let that fails for the default configuration is none of this expression's.
    st_code code = st_bindings_make_leniently(tmpl, problem, &config, device, &bindings);
    if (code == ST_OK &&
        st_expression_evaluate(expression, bindings.values, &value, NULL) != ST_OK)
        value = failed;
    if (code == ST_OK)
        st_bindings_release(&bindings);
    return value;
}

static bool uses_facts(const st_template *tmpl, const st_expression *expression) {
    for (size_t i = 0; i < sizeof tmpl->fact_slots / sizeof *tmpl->fact_slots; i++)
        if (tmpl->fact_slots[i] >= 0 && st_expression_uses(expression, tmpl->fact_slots[i]))
            return true;
    for (size_t i = 0; i < tmpl->let_count; i++)
        if (st_expression_uses(expression, tmpl->lets[i].slot) &&
            uses_facts(tmpl, tmpl->lets[i].value))
            return true;
    return false;
}

const st_expression *st_problem_broken_rule(const st_template *tmpl, const st_problem *problem,
                                            const st_device_facts *device) {
    for (size_t i = 0; i < tmpl->problem_rule_count; i++) {
        const st_expression *rule = tmpl->problem_rules[i];
        if (!device && uses_facts(tmpl, rule))
            continue;
        if (!value_of(tmpl, problem, device, rule, 0))
            return rule;
    }
    return NULL;
}

const st_expression *st_problem_unusual_rule(const st_template *tmpl, const st_problem *problem) {
    for (size_t i = 0; i < tmpl->usual_rule_count; i++)
        if (!value_of(tmpl, problem, NULL, tmpl->usual_rules[i], 0))
            return tmpl->usual_rules[i];
    return NULL;
}

bool st_problem_default_none(const st_template *tmpl, const st_problem *problem) {
    for (size_t i = 0; i < tmpl->default_none_count; i++)
        if (value_of(tmpl, problem, NULL, tmpl->default_none[i].when, 0))
            return true;
    return false;
}

const st_host_list *st_problem_host_list(const st_template *tmpl, const st_problem *problem) {
    for (size_t i = 0; i < tmpl->host_list_count; i++)
        if (value_of(tmpl, problem, NULL, tmpl->host_lists[i].when, 0))
            return &tmpl->host_lists[i];
    return &tmpl->host_lists[tmpl->host_list_count - 1]; // always holds
}

const char *st_problem_host_name(const st_template *tmpl, const st_problem *problem) {
    for (size_t i = 0; i < tmpl->host_name_count; i++)
        if (value_of(tmpl, problem, NULL, tmpl->host_names[i].when, 0))
            return tmpl->host_names[i].pattern;
    return NULL;
}

st_type_id st_problem_scalar_type(const st_template *tmpl, const st_problem *problem,
                                  const st_scalar *scalar) {
    const st_type *type = st_type_find(scalar->type_word);
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_TYPE &&
            strcmp(tmpl->axes[i].name, scalar->type_word) == 0)
            type = st_problem_type(tmpl, problem);
    return type->id; // loading has checked it (T1)
}

bool st_problem_is_usual(const st_template *tmpl, const st_problem *problem) {
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].data && problem->value[i] != tmpl->axes[i].values[0].number)
            return false;
    return true;
}
