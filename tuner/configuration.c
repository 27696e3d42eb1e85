// SPDX-License-Identifier: Apache-2.0
// Configurations: one value for each parameter, to and from "BLOCK=256 VEC=4 FINISH=cluster".
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void st_config_default(const st_template *tmpl, st_config *out) {
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < tmpl->parameter_count; i++) {
        const st_parameter *parameter = &tmpl->parameters[i];
        out->value[i] = parameter->values[parameter->default_index].number;
    }
}

void st_parameter_value_text(const st_template *tmpl, int parameter, int64_t value, st_text *out) {
    const st_parameter *p = &tmpl->parameters[parameter];
    for (size_t i = 0; i < p->value_count; i++)
        if (p->values[i].word && p->values[i].number == value) {
            st_text_add(out, p->values[i].word);
            return;
        }
    st_text_addf(out, "%" PRId64, value);
}

void st_config_text(const st_template *tmpl, const st_config *config, st_text *out) {
    for (size_t i = 0; i < tmpl->parameter_count; i++) {
        st_text_addf(out, "%s%s=", i ? " " : "", tmpl->parameters[i].name);
        st_parameter_value_text(tmpl, (int)i, config->value[i], out);
    }
}

static st_code no_such_value(const st_template *tmpl, int parameter, const char *text,
                             st_error *error) {
    const st_parameter *p = &tmpl->parameters[parameter];
    char remedy[480];
    st_text list;
    st_text_init(&list);
    for (size_t i = 0; i < p->value_count && list.length < 400; i++) {
        st_text_add(&list, " ");
        st_parameter_value_text(tmpl, parameter, p->values[i].number, &list);
    }
    const char *nearest[1];
    int found = -1;
    for (size_t i = 0; found < 0 && p->values[0].word && i < p->value_count; i++) {
        nearest[0] = p->values[i].word;
        found = st_text_nearest(text, nearest, 1);
    }
    if (found >= 0)
        snprintf(remedy, sizeof remedy, "Did you mean `%.60s`? Its values are:%.300s.", nearest[0],
                 st_text_string(&list));
    else
        snprintf(remedy, sizeof remedy, "Its values are:%.400s%s", st_text_string(&list),
                 list.length > 400 ? " …" : ".");
    st_text_release(&list);
    return st_fail(error, ST_USAGE, remedy, "`%.100s` is no value of the parameter `%s`", text,
                   p->name);
}

st_code st_parameter_value(const st_template *tmpl, int parameter, const char *text, int64_t *out,
                           st_error *error) {
    const st_parameter *p = &tmpl->parameters[parameter];
    int64_t number = 0;
    bool is_number = st_text_to_int(text, &number);
    for (size_t i = 0; i < p->value_count; i++) {
        const st_value *value = &p->values[i];
        if (value->word ? strcmp(value->word, text) == 0 : is_number && value->number == number) {
            *out = value->number;
            return ST_OK;
        }
    }
    return no_such_value(tmpl, parameter, text, error);
}

// One "NAME=VALUE" of a list; `token` is cut at its "=".
static st_code parse_pair(const st_template *tmpl, const st_pairs *of, char *token, int64_t *out,
                          bool *given, st_error *error) {
    const char *names[ST_MAX_PARAMETERS > ST_MAX_AXES ? ST_MAX_PARAMETERS : ST_MAX_AXES];
    char remedy[400];
    char *equals = strchr(token, '=');
    if (!equals)
        return st_fail(error, ST_USAGE, of->form, "`%s` is no value of %s %s of %s", token,
                       of->article, of->noun, tmpl->family);
    *equals = '\0';
    int index = of->find(tmpl, token);
    if (index < 0) {
        for (size_t i = 0; i < of->count; i++)
            names[i] = of->name(tmpl, i);
        st_loader_suggest(token, names, of->count, of->nouns, remedy, sizeof remedy);
        return st_fail(error, ST_USAGE, remedy, "%s has no %s `%s`", tmpl->family, of->noun, token);
    }
    if (given[index]) {
        snprintf(remedy, sizeof remedy, "Give each %s once.", of->noun);
        return st_fail(error, ST_USAGE, remedy, "the %s `%s` stands twice", of->noun, token);
    }
    given[index] = true;
    return of->value(tmpl, index, equals + 1, &out[index], error);
}

st_code st_pairs_parse(const st_template *tmpl, const st_pairs *of, const char *text, int64_t *out,
                       st_error *error) {
    bool given[ST_MAX_PARAMETERS > ST_MAX_AXES ? ST_MAX_PARAMETERS : ST_MAX_AXES] = {false};
    char token[256];
    while (st_next_token(&text, token, sizeof token)) {
        st_code code = parse_pair(tmpl, of, token, out, given, error);
        if (code)
            return code;
    }
    for (size_t i = 0; i < of->count; i++)
        if (!given[i])
            return st_fail(error, ST_USAGE, of->whole, "the %s `%s` of %s has no value", of->noun,
                           of->name(tmpl, i), tmpl->family);
    return ST_OK;
}

static const char *parameter_name(const st_template *tmpl, size_t index) {
    return tmpl->parameters[index].name;
}

st_code st_config_parse(const st_template *tmpl, const char *text, st_config *out,
                        st_error *error) {
    const st_pairs parameters = {"a", "parameter", "parameters", "Write PARAM=VALUE PARAM=VALUE ….",
                                 "A configuration has one value for each parameter.",
                                 tmpl->parameter_count, st_template_parameter, parameter_name,
                                 st_parameter_value};
    memset(out, 0, sizeof *out);
    return st_pairs_parse(tmpl, &parameters, text, out->value, error);
}

bool st_config_equal(const st_template *tmpl, const st_config *a, const st_config *b) {
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        if (a->value[i] != b->value[i])
            return false;
    return true;
}
