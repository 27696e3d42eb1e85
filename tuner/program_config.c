// SPDX-License-Identifier: Apache-2.0
// A configuration as a program spells it: a struct of constants, or macros.
#include "tuner/emit_internal.h"

#include <stdio.h>

static void add_constant(const char *name, int64_t value, const char *word, st_text *out)
{
    if (word)
        st_text_addf(out, "    static const int %s = %s_%s;\n", name, name, word);
    else if (value > INT32_MAX || value < -INT32_MAX)
        st_text_addf(out, "    static const long long %s = %lldLL;\n", name, (long long)value);
    else
        st_text_addf(out, "    static const int %s = %d;\n", name, (int)value);
}

void st_program_config_struct(const st_template *tmpl, const st_problem *problem,
                              const st_config *config, const char *name, st_text *out)
{
    st_text_addf(out, "struct %s {\n", name);
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        const st_axis *axis = &tmpl->axes[i];
        if (axis->kind == ST_AXIS_TYPE)
            st_text_addf(out, "    typedef %s %s;\n",
                         st_type_of((st_type_id)problem->value[i])->device_name, axis->name);
        else if (axis->kind == ST_AXIS_WORD && !axis->data)
            add_constant(axis->name, problem->value[i],
                         st_emit_word(axis->values, axis->value_count, problem->value[i]), out);
    }
    for (size_t i = 0; i < tmpl->parameter_count; i++) {
        const st_parameter *parameter = &tmpl->parameters[i];
        if (!parameter->runtime)
            add_constant(parameter->name, config->value[i],
                         st_emit_word(parameter->values, parameter->value_count, config->value[i]),
                         out);
    }
    st_text_add(out, "};\n");
}

static void number_macro(const char *name, int64_t value, st_macro_callback *callback,
                         void *context)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    callback(context, name, text);
}

// The words of an axis or parameter as NAME_word, so that `#if FINISH == FINISH_cluster` works.
static void word_macros(const char *name, const st_value *values, size_t count,
                        st_macro_callback *callback, void *context)
{
    for (size_t i = 0; i < count; i++) {
        char macro[256];
        if (!values[i].word)
            continue;
        snprintf(macro, sizeof macro, "%s_%s", name, values[i].word);
        number_macro(macro, values[i].number, callback, context);
    }
}

void st_program_macros(const st_template *tmpl, const st_problem *problem, const st_config *config,
                       st_macro_callback *callback, void *context)
{
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        const st_axis *axis = &tmpl->axes[i];
        if (axis->kind == ST_AXIS_TYPE) {
            callback(context, axis->name, st_type_of((st_type_id)problem->value[i])->device_name);
        } else if (axis->kind == ST_AXIS_WORD && !axis->data) {
            number_macro(axis->name, problem->value[i], callback, context);
            word_macros(axis->name, axis->values, axis->value_count, callback, context);
        }
    }
    for (size_t i = 0; i < tmpl->parameter_count; i++) {
        const st_parameter *parameter = &tmpl->parameters[i];
        if (parameter->runtime)
            continue;
        number_macro(parameter->name, config->value[i], callback, context);
        word_macros(parameter->name, parameter->values, parameter->value_count, callback, context);
    }
}
