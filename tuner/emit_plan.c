// SPDX-License-Identifier: Apache-2.0
// The plan of a row, printed: make_plan computes from a row's numbers, the device and the sizes which steps run, with
// which grids and arguments, and where the buffers of the temporary storage stand. One function for all rows of the
// header, in its namespace `host`; nothing in it is a template, nothing launches.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <string.h>

st_type_id st_emit_buffer_type(const st_template *tmpl, const st_problem *problem,
                               const st_buffer *buffer)
{
    const st_type *type = st_problem_type(tmpl, problem);
    if (strcmp(buffer->type_word, "reference_T") == 0)
        return type && type->is_float ? ST_F64 : type ? type->id : ST_F64;
    for (size_t i = 0; type && i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_TYPE &&
            strcmp(tmpl->axes[i].name, buffer->type_word) == 0)
            return type->id;
    const st_type *named = st_type_find(buffer->type_word);
    return named ? named->id : type ? type->id : ST_U8;
}

// --- what the text asks for --------------------------------------------------------------------------------------

unsigned long long st_emit_steps_of(const st_emit_model *model, int buffer)
{
    const st_template *tmpl = model->tmpl;
    unsigned long long steps = 0;
    for (size_t i = 0; i < tmpl->step_count; i++) {
        const st_step *step = &tmpl->steps[i];
        bool touches = step->kind == ST_STEP_ZERO && step->buffer == buffer;
        for (size_t j = 0; step->kind == ST_STEP_LAUNCH && j < step->argument_count; j++)
            touches |= step->arguments[j].buffer == buffer;
        if (touches)
            steps |= st_emit_bit(i);
    }
    return steps & model->shared.steps;
}

static bool takes(const st_emit_function *function, int buffer, int scalar)
{
    for (size_t i = 0; i < function->argument_count; i++)
        if ((buffer >= 0 && function->arguments[i].buffer == buffer) ||
            (scalar >= 0 && function->arguments[i].scalar == scalar))
            return true;
    return false;
}

bool st_emit_is_given(const st_emit_model *model, int buffer)
{
    if (model->tmpl->buffers[buffer].role == ST_BUFFER_TEMP)
        return false;
    bool given = st_emit_steps_of(model, buffer) != 0;
    for (size_t i = 0; i < model->function_count; i++)
        given |= takes(&model->functions[i], buffer, -1);
    return given;
}

bool st_emit_all_take(const st_emit_model *model, int scalar)
{
    for (size_t i = 0; i < model->function_count; i++)
        if (!takes(&model->functions[i], -1, scalar))
            return false;
    return true;
}

bool st_emit_any_takes(const st_emit_model *model, int scalar)
{
    for (size_t i = 0; i < model->function_count; i++)
        if (takes(&model->functions[i], -1, scalar))
            return true;
    return false;
}

static bool is_half(st_type_id id)
{
    return id == ST_F16 || id == ST_BF16;
}

static const st_expression *value_of(const st_emit_model *model, const st_argument *argument)
{
    return argument->scalar >= 0 ? model->tmpl->scalars[argument->scalar].value : argument->value;
}

bool st_emit_is_number(const st_emit_model *model, size_t step, size_t index)
{
    const st_argument *argument = &model->tmpl->steps[step].arguments[index];
    int64_t number;
    if (argument->buffer >= 0 || (argument->scalar >= 0 && st_emit_all_take(model, argument->scalar)))
        return false;
    if (argument->scalar < 0 && is_half(argument->type))
        return false;
    return !st_emit_values_known(&model->shared.values, value_of(model, argument), 0, &number);
}

// --- the structure -----------------------------------------------------------------------------------------------

static void add_members(const st_emit_model *model, size_t index, st_text *out)
{
    const st_step *step = &model->tmpl->steps[index];
    if (step->kind == ST_STEP_ZERO) {
        st_text_addf(out, "    bool run_%zu; size_t bytes_%zu; // zeros in %s\n", index, index,
                     model->tmpl->buffers[step->buffer].name);
        return;
    }
    st_text_addf(out, "    bool run_%zu; shape form_%zu;", index, index);
    const char *join = " long long";
    for (size_t i = 0; i < step->argument_count; i++)
        if (st_emit_is_number(model, index, i)) {
            st_text_addf(out, "%s arg_%zu_%zu", join, index, i);
            join = ",";
        }
    st_text_addf(out, "%s // %s\n", *join == ',' ? ";" : "", step->kernel);
}

static void add_structure(const st_emit_model *model, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_text_add(out, "// What is launched for a row, by the steps of the template, and how the temporary storage is laid "
                     "out.\nstruct plan {\n    size_t bytes;\n");
    for (size_t i = 0; i < tmpl->buffer_count; i++)
        if (tmpl->buffers[i].role == ST_BUFFER_TEMP && st_emit_steps_of(model, (int)i))
            st_text_addf(out, "    size_t at_%s;\n", tmpl->buffers[i].name);
    for (size_t i = 0; i < tmpl->step_count; i++)
        if (model->shared.steps & st_emit_bit(i))
            add_members(model, i, out);
    st_text_add(out, "};\n\n");
}

static void add_places(const st_emit_model *model, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    const char *start = "// Places of what the caller gives.\nenum { ", *join = start;
    for (size_t i = 0; i < tmpl->buffer_count; i++)
        if (st_emit_is_given(model, (int)i)) {
            st_text_addf(out, "%sb_%s", join, tmpl->buffers[i].name);
            join = ", ";
        }
    st_text_add(out, join == start ? "" : " };\n");
    join = start = "enum { ";
    for (size_t i = 0; i < tmpl->scalar_count; i++)
        if (st_emit_any_takes(model, (int)i)) {
            st_text_addf(out, "%ss_%s", join, tmpl->scalars[i].name);
            join = ", ";
        }
    st_text_add(out, join == start ? "\n" : " };\n\n");
}

// --- the function ------------------------------------------------------------------------------------------------

static void add_element_size(const st_emit_model *model, size_t buffer, st_text *out)
{
    const st_problem *problem = &model->choices[0].problem;
    int column = model->shared.element_columns[buffer];
    if (column < 0)
        st_text_addf(out, "%zu", st_type_of(st_emit_buffer_type(model->tmpl, problem, &model->tmpl->buffers[buffer]))->size);
    else
        st_text_addf(out, "(size_t)row->value[%d]", column);
}

static void add_layout(st_emit_model *model, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    for (size_t i = 0; i < tmpl->buffer_count; i++) {
        unsigned long long steps = st_emit_steps_of(model, (int)i);
        if (tmpl->buffers[i].role != ST_BUFFER_TEMP || !steps)
            continue;
        st_text_addf(out, "    if (row->steps & 0x%llx)\n        out->at_%s = reserve(&out->bytes, ", steps,
                     tmpl->buffers[i].name);
        st_emit_values_print(&model->shared.values, tmpl->buffers[i].count, 0, out);
        st_text_add(out, ", ");
        add_element_size(model, i, out);
        st_text_add(out, ");\n");
    }
}

static void add_dims(st_emit_values *values, st_expression *const *dims, st_text *out)
{
    st_text_add(out, "{");
    for (int d = 0; d < ST_MAX_DIMS; d++) {
        st_text_add(out, d ? ", " : "");
        st_emit_values_print(values, dims[d], 1, out);
    }
    st_text_add(out, "}, ");
}

static void add_launch(st_emit_model *model, size_t index, st_text *out)
{
    const st_step *step = &model->tmpl->steps[index];
    st_emit_values *values = &model->shared.values;
    st_text_addf(out, "        const shape form = {");
    add_dims(values, step->grid, out);
    add_dims(values, step->block, out);
    st_emit_values_print(values, step->smem, 0, out);
    st_text_add(out, ", ");
    st_emit_values_print(values, step->cluster, 1, out);
    st_text_add(out, ", ");
    st_emit_values_print(values, step->dependent, 0, out);
    st_text_addf(out, "};\n        out->form_%zu = form;\n", index);
    for (size_t i = 0; i < step->argument_count; i++) {
        if (!st_emit_is_number(model, index, i))
            continue;
        st_text_addf(out, "        out->arg_%zu_%zu = ", index, i);
        st_emit_values_print(values, value_of(model, &step->arguments[i]), 0, out);
        st_text_add(out, ";\n");
    }
}

static void add_step(st_emit_model *model, size_t index, st_text *out)
{
    const st_step *step = &model->tmpl->steps[index];
    st_emit_values *values = &model->shared.values;
    st_text_addf(out, "    out->run_%zu = (row->steps & 0x%llx) != 0", index, st_emit_bit(index));
    if (st_emit_values_truth(values, step->when) != 1) {
        st_text_add(out, " && (");
        st_emit_values_print_condition(values, step->when, false, out);
        st_text_add(out, ")");
    }
    st_text_addf(out, ";\n    if (out->run_%zu) {\n", index);
    if (step->kind == ST_STEP_LAUNCH) {
        add_launch(model, index, out);
    } else {
        st_text_addf(out, "        reserve(&out->bytes_%zu, ", index);
        st_emit_values_print(values, model->tmpl->buffers[step->buffer].count, 0, out);
        st_text_add(out, ", ");
        add_element_size(model, (size_t)step->buffer, out);
        st_text_add(out, ");\n");
    }
    st_text_add(out, "    }\n");
}

static bool layout_needs_alignment(st_emit_model *model, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_emit_values *values = &model->shared.values;
    bool needs = false;
    st_text scratch;
    st_text_init(&scratch);
    st_emit_values_forget(values);
    add_layout(model, &scratch);
    st_emit_values_declare(values, "", "sizes", "0", &scratch); // marks what lets need
    out->failed |= scratch.failed;
    st_text_release(&scratch);
    for (size_t i = 0; i < tmpl->buffer_count; i++) {
        int slot = tmpl->buffers[i].align_slot;
        needs |= slot >= 0 && values->used[slot] && values->kinds[slot] == ST_EMIT_ALIGN;
    }
    return needs;
}

st_code st_emit_plan_function(st_emit_model *model, st_text *out, st_error *error)
{
    st_emit_values *values = &model->shared.values;
    st_text text;
    st_text_init(&text);
    model->shared.aligns = layout_needs_alignment(model, out);
    add_places(model, out);
    add_structure(model, out);
    st_emit_values_forget(values);
    add_layout(model, &text);
    for (size_t i = 0; i < model->tmpl->step_count; i++)
        if (model->shared.steps & st_emit_bit(i))
            add_step(model, i, &text);
    st_text_addf(out,
                 "// `alignment` 0: that of the pointers. *out is zeros before.\n"
                 "inline void make_plan(const %s_row *row, const %s_facts *facts, const long long *sizes,\n"
                 "                      const void *const *buffers, long long alignment, plan *out)\n{\n"
                 "    (void)facts, (void)sizes, (void)buffers, (void)alignment;\n",
                 model->base, model->base);
    st_emit_values_declare(values, "    ", "sizes", "alignment > 0 ? alignment : alignment_of(buffers[b_%s])", out);
    st_text_add(out, st_text_string(&text));
    st_text_add(out, "}\n\n");
    out->failed |= text.failed;
    st_text_release(&text);
    return values->unprintable
               ? st_fail(error, ST_FAILED, "Use axes, parameters and device facts there.",
                         "%s: the plan uses something that is known only while tuning", model->tmpl->path)
               : ST_OK;
}
