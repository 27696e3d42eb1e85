// SPDX-License-Identifier: Apache-2.0
// What a function of a header is called, and what its callers give (host_name and host_args of the template).
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <string.h>

static st_code find_arguments(const st_emit_model *model, st_emit_function *function,
                              const st_problem *problem, st_error *error)
{
    const st_template *tmpl = model->tmpl;
    const st_host_list *list = st_problem_host_list(tmpl, problem);
    function->arguments = st_calloc(list->count + 1, sizeof *function->arguments);
    if (!function->arguments)
        return st_fail_memory(error, "naming a function");
    for (size_t i = 0; i < list->count; i++) {
        st_emit_argument *argument = &function->arguments[function->argument_count++];
        argument->buffer = st_template_buffer(tmpl, list->names[i]);
        argument->scalar =
            argument->buffer < 0 ? st_template_scalar(tmpl, list->names[i]) : -1;
        argument->axis = argument->buffer < 0 && argument->scalar < 0
                             ? st_template_axis(tmpl, list->names[i])
                             : -1;
    }
    return ST_OK;
}

// "{kind}_scan_{T}" with the problem's words.
static void add_pattern(const st_template *tmpl, const char *pattern, const st_problem *problem,
                        st_text *out)
{
    for (const char *at = pattern; *at; at++) {
        const char *close = *at == '{' ? strchr(at, '}') : NULL;
        if (!close) {
            st_text_add_bytes(out, at, 1);
            continue;
        }
        for (size_t i = 0; i < tmpl->axis_count; i++) {
            const st_axis *axis = &tmpl->axes[i];
            if (strlen(axis->name) != (size_t)(close - at - 1) ||
                strncmp(axis->name, at + 1, (size_t)(close - at - 1)) != 0)
                continue;
            const char *word = st_emit_word(axis->values, axis->value_count, problem->value[i]);
            st_emit_identifier(word ? word : "other", out);
        }
        at = close;
    }
}

static st_code name_fully(const st_emit_model *model, st_emit_function *function,
                          const st_choice *choice, st_error *error)
{
    const char *pattern = st_problem_host_name(model->tmpl, &choice->problem);
    st_text full;
    st_text_init(&full);
    if (pattern) {
        st_text_add(&full, "simtune_");
        add_pattern(model->tmpl, pattern, &choice->problem, &full);
    } else {
        st_text_addf(&full, "%s%s%s", model->base, *function->name ? "_" : "", function->name);
    }
    function->full = full.failed ? NULL : st_strdup(st_text_string(&full));
    st_text_release(&full);
    if (!function->full)
        return st_fail_memory(error, "naming a function");
    for (size_t i = 0; i + 1 < model->function_count; i++)
        if (strcmp(model->functions[i].full, function->full) == 0)
            return st_fail(error, ST_USAGE, "Name the axes in which they differ: host_name {T}_{op}.",
                           "%s: two functions of the header are called %s", model->tmpl->path,
                           function->full);
    return ST_OK;
}

st_code st_emit_name_function(const st_emit_model *model, st_emit_function *function, const st_choice *choice,
                              st_error *error)
{
    const st_template *tmpl = model->tmpl;
    st_text name, upper;
    st_text_init(&name);
    st_text_init(&upper);
    const st_type *type = st_problem_type(tmpl, &choice->problem);
    if (type)
        st_text_add(&name, type->name);
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        const st_axis *axis = &tmpl->axes[i];
        if (axis->kind != ST_AXIS_WORD || axis->data)
            continue;
        const char *word = st_emit_word(axis->values, axis->value_count, choice->problem.value[i]);
        st_text_add(&name, name.length ? "_" : "");
        st_emit_identifier(word ? word : "other", &name);
    }
    st_emit_upper(st_text_string(&name), &upper);
    function->name = name.failed ? NULL : st_strdup(st_text_string(&name));
    function->upper = name.failed || upper.failed ? NULL : st_strdup(st_text_string(&upper));
    st_text_release(&name);
    st_text_release(&upper);
    if (!function->name || !function->upper)
        return st_fail_memory(error, "naming a function");
    st_code code = name_fully(model, function, choice, error);
    return code ? code : find_arguments(model, function, &choice->problem, error);
}
