// SPDX-License-Identifier: Apache-2.0
// The functions that people call, printed: each names its table, the kernels of its configurations and what its caller
// gives; the way is the same for all (`enter`, emit_host.c). Templates, so that what is not called costs nothing.
#include "tuner/emit_internal.h"

#include <string.h>

// --- arguments ---------------------------------------------------------------------------------------------------

void st_emit_argument_type(const st_emit_model *model, const st_emit_function *function,
                           const st_emit_argument *argument, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    const st_problem *problem = &st_emit_row_choice(model, function, 0)->problem;
    if (argument->axis >= 0) {
        st_text_add(out, "size_t ");
    } else if (argument->scalar >= 0) {
        st_type_id id = st_problem_scalar_type(tmpl, problem, &tmpl->scalars[argument->scalar]);
        st_text_addf(out, "%s ", st_type_of(id)->host_name);
    } else {
        const st_buffer *buffer = &tmpl->buffers[argument->buffer];
        st_type_id id = st_emit_buffer_type(tmpl, problem, buffer);
        st_text_addf(out, "%s%s *", buffer->role == ST_BUFFER_INPUT ? "const " : "",
                     st_type_of(id)->host_name);
    }
}

const char *st_emit_argument_name(const st_emit_model *model, const st_emit_argument *argument)
{
    return argument->buffer >= 0   ? model->tmpl->buffers[argument->buffer].name
           : argument->scalar >= 0 ? model->tmpl->scalars[argument->scalar].name
                                   : model->tmpl->axes[argument->axis].name;
}

// A name of the caller's signature; ours end in an underscore.
static void add_public_name(const char *name, st_text *out)
{
    static const char *const taken[] = {"temp", "temp_bytes", "stream"};
    st_text_add(out, name);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(name, taken[i]) == 0)
            st_text_add(out, "_buffer");
}

static const st_emit_argument *argument_of(const st_emit_function *function, int buffer, int scalar)
{
    for (size_t i = 0; i < function->argument_count; i++)
        if ((buffer >= 0 && function->arguments[i].buffer == buffer) ||
            (scalar >= 0 && function->arguments[i].scalar == scalar))
            return &function->arguments[i];
    return NULL;
}

// --- what cannot be launched -------------------------------------------------------------------------------------

static st_code check_buffer(const st_emit_model *model, const st_emit_function *function, const st_emit_plan *plan,
                            const st_step *step, int buffer, st_error *error)
{
    const st_buffer *it = &model->tmpl->buffers[buffer];
    if (it->role == ST_BUFFER_TEMP || argument_of(function, buffer, -1))
        return ST_OK;
    // Left out, and nothing in it for this problem: null.
    if (step->kind == ST_STEP_LAUNCH && st_emit_values_most(&plan->values, it->count, 0) <= 0)
        return ST_OK;
    return st_fail(error, ST_USAGE, "Add it to host_args, or make it a temp buffer.",
                   "%s:%d: the header's host function does not get buffer `%s`", model->tmpl->path, step->line,
                   it->name);
}

static st_code check_plan(const st_emit_model *model, const st_emit_function *function, const st_emit_plan *plan,
                          st_error *error)
{
    st_code code = ST_OK;
    for (size_t s = 0; s < model->tmpl->step_count && code == ST_OK; s++) {
        const st_step *step = &model->tmpl->steps[s];
        if (st_emit_values_truth(&plan->values, step->when) == 0)
            continue;
        if (step->kind == ST_STEP_ZERO)
            code = check_buffer(model, function, plan, step, step->buffer, error);
        for (size_t i = 0; step->kind == ST_STEP_LAUNCH && i < step->argument_count && code == ST_OK; i++)
            if (step->arguments[i].buffer >= 0)
                code = check_buffer(model, function, plan, step, step->arguments[i].buffer, error);
    }
    return code;
}

// --- kernels -----------------------------------------------------------------------------------------------------

static size_t structure_of(const st_emit_model *model, const st_emit_function *function, size_t row)
{
    return model->plans[st_emit_row_plan(model, function, row)].structure;
}

static bool is_first(const st_emit_model *model, const st_emit_function *function, size_t row)
{
    for (size_t r = 0; r < row; r++)
        if (structure_of(model, function, r) == structure_of(model, function, row))
            return false;
    return true;
}

size_t st_emit_kernels_of(const st_emit_model *model, const st_emit_function *function, size_t row)
{
    size_t place = 0;
    for (size_t r = 0; structure_of(model, function, r) != structure_of(model, function, row); r++)
        place += is_first(model, function, r);
    return place;
}

static void add_kernels(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    const char *join = "";
    st_text_add(out, "    static run_function *const kernels_[] = {");
    for (size_t r = 0; r < function->row_count; r++) {
        if (!is_first(model, function, r))
            continue;
        unsigned long long steps = 0;
        size_t structure = structure_of(model, function, r);
        for (size_t i = r; i < function->row_count; i++)
            if (structure_of(model, function, i) == structure)
                steps |= model->rows[function->first_row + i].masks.steps;
        st_text_addf(out, "%srun< ::simtune_" ST_EMIT_HASH_PLACE "::config_%zu%s, 0x%llx>", join, structure,
                     model->tmpl->is_config ? "" : "::simtune_structure", steps);
        join = ",\n                                             ";
    }
    st_text_add(out, "};\n");
}

// --- the function ------------------------------------------------------------------------------------------------

static void add_signature(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    st_text_addf(out, "template <class Unused = void>\ninline cudaError_t %s(void *temp, size_t *temp_bytes",
                 function->full);
    for (size_t i = 0; i < function->argument_count; i++) {
        st_text_add(out, ", ");
        st_emit_argument_type(model, function, &function->arguments[i], out);
        add_public_name(st_emit_argument_name(model, &function->arguments[i]), out);
    }
    st_text_add(out, ", cudaStream_t stream)\n{\n");
}

static void add_buffers(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    const char *join = "";
    st_text_add(out, "    const void *const buffers_[] = {");
    for (size_t i = 0; i < model->tmpl->buffer_count; i++) {
        if (!st_emit_is_given(model, (int)i))
            continue;
        st_text_add(out, join);
        if (argument_of(function, (int)i, -1))
            add_public_name(model->tmpl->buffers[i].name, out);
        else
            st_text_add(out, "nullptr");
        join = ", ";
    }
    st_text_add(out, *join ? "};\n" : "nullptr};\n");
}

// False: no function of the header takes one.
static bool add_scalars(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    bool any = false;
    for (size_t i = 0; i < model->tmpl->scalar_count; i++) {
        if (!st_emit_any_takes(model, (int)i))
            continue;
        st_text_add(out, any ? ", " : "    const void *const scalars_[] = {");
        any = true;
        if (argument_of(function, -1, (int)i)) {
            st_text_add(out, "&");
            add_public_name(model->tmpl->scalars[i].name, out);
        } else {
            st_text_add(out, "nullptr");
        }
    }
    st_text_add(out, any ? "};\n" : "");
    return any;
}

st_code st_emit_call_function(st_emit_model *model, const st_emit_function *function, st_text *out, st_error *error)
{
    st_code code = ST_OK;
    for (size_t p = 0; p < function->plan_count && code == ST_OK; p++)
        code = check_plan(model, function, &model->plans[function->first_plan + p], error);
    if (code != ST_OK)
        return code;
    add_signature(model, function, out);
    add_kernels(model, function, out);
    add_buffers(model, function, out);
    bool scalars = add_scalars(model, function, out);
    st_text_add(out, model->size_count ? "    const size_t sizes_[] = {" : "");
    for (size_t i = 0; i < model->size_count; i++) {
        st_text_add(out, i ? ", " : "");
        add_public_name(model->tmpl->axes[model->size_axes[i]].name, out);
    }
    st_text_add(out, model->size_count ? "};\n" : "");
    st_text_addf(out,
                 "    return enter<Unused>(%s_rows(), kernels_, temp, temp_bytes, buffers_, %s, %s, stream);\n}\n\n",
                 function->full, scalars ? "scalars_" : "nullptr", model->size_count ? "sizes_" : "nullptr");
    return ST_OK;
}
