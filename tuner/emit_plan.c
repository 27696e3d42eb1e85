// SPDX-License-Identifier: Apache-2.0
// The CUDA host functions, printed from the launch plan. Everything is a template, so that what is
// not called costs nothing; nothing allocates, synchronises or keeps state but facts of devices
// that never change, in atomics. In the header's namespace `host`.
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

// --- one plan ------------------------------------------------------------------------------------

// Helpers are named by what tells the functions of one header apart: "f32_sum_run_0".
static void add_function_name(const st_emit_function *function, const char *end, st_text *out)
{
    st_text_addf(out, "%s%s", *function->name ? function->name : "all", end);
}

// Is the buffer touched by a step that this plan may take?
static bool uses_buffer(const st_emit_plan *plan, int buffer)
{
    const st_template *tmpl = plan->values.tmpl;
    for (size_t i = 0; i < tmpl->step_count; i++) {
        const st_step *step = &tmpl->steps[i];
        if (st_emit_values_truth(&plan->values, step->when) == 0)
            continue;
        if (step->kind == ST_STEP_ZERO && step->buffer == buffer)
            return true;
        for (size_t j = 0; step->kind == ST_STEP_LAUNCH && j < step->argument_count; j++)
            if (step->arguments[j].buffer == buffer)
                return true;
    }
    return false;
}

static const st_type *buffer_type(const st_emit_model *model, const st_emit_plan *plan,
                                  size_t buffer)
{
    return st_type_of(st_emit_buffer_type(model->tmpl, &model->choices[plan->choice].problem,
                                          &model->tmpl->buffers[buffer]));
}

// The temporary buffers that the plan uses; `offsets`: keep where each stands.
static void add_layout(const st_emit_model *model, st_emit_plan *plan, bool offsets, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    for (size_t i = 0; i < tmpl->buffer_count; i++) {
        if (tmpl->buffers[i].role != ST_BUFFER_TEMP || !uses_buffer(plan, (int)i))
            continue;
        st_text_add(out, "    ");
        if (offsets)
            st_text_addf(out, "const size_t at_%s = ", tmpl->buffers[i].name);
        st_text_add(out, "reserve(&bytes_, ");
        st_emit_values_print(&plan->values, tmpl->buffers[i].count, 0, out);
        st_text_addf(out, ", %zu);\n", buffer_type(model, plan, i)->size);
    }
}

static void add_bytes_function(st_emit_model *model, const st_emit_function *function, size_t p,
                               st_text *out)
{
    st_emit_plan *plan = &model->plans[function->first_plan + p];
    st_text layout;
    st_text_init(&layout);
    st_emit_values_forget(&plan->values);
    plan->values.fact_prefix = "facts.";
    add_layout(model, plan, false, &layout);
    st_text_add(out, "template <class Unused> inline size_t ");
    add_function_name(function, "_bytes_", out);
    st_text_addf(out,
                 "%zu(const %s_facts &facts, const long long *sizes, long long alignment_)\n{\n"
                 "    (void)facts, (void)sizes, (void)alignment_;\n    size_t bytes_ = 0;\n",
                 p, model->base);
    st_emit_values_declare(&plan->values, "    ", "alignment_", out);
    st_text_add(out, st_text_string(&layout));
    st_text_add(out, "    return bytes_;\n}\n\n");
    out->failed |= layout.failed;
    st_text_release(&layout);
}

static void add_pointer(const st_emit_model *model, const st_emit_plan *plan, size_t buffer,
                        st_text *out)
{
    st_text_add(out, "(");
    bool temp = model->tmpl->buffers[buffer].role == ST_BUFFER_TEMP;
    st_text_addf(out, "%s *)%s%s%s", buffer_type(model, plan, buffer)->device_name,
                 temp ? "(base_ + at_" : "b_", model->tmpl->buffers[buffer].name, temp ? ")" : "");
}

static bool is_argument(const st_emit_model *model, const st_emit_function *function, int buffer)
{
    if (model->tmpl->buffers[buffer].role == ST_BUFFER_TEMP)
        return true;
    for (size_t i = 0; i < function->argument_count; i++)
        if (function->arguments[i].buffer == buffer)
            return true;
    return false;
}

static bool takes_scalar(const st_emit_function *function, int scalar)
{
    for (size_t i = 0; i < function->argument_count; i++)
        if (function->arguments[i].scalar == scalar)
            return true;
    return false;
}

// A buffer that the function's list leaves out, and that holds nothing for this problem: null.
static bool is_empty(const st_emit_model *model, const st_emit_plan *plan, int buffer)
{
    return st_emit_values_most(&plan->values, model->tmpl->buffers[buffer].count, 0) <= 0;
}

static st_code refuse_buffer(const st_emit_model *model, const st_step *step, int buffer,
                             st_error *error)
{
    return st_fail(error, ST_USAGE, "Add it to host_args, or make it a temp buffer.",
                   "%s:%d: the header's host function does not get buffer `%s`", model->tmpl->path,
                   step->line, model->tmpl->buffers[buffer].name);
}

static void add_zero(const st_emit_model *model, st_emit_plan *plan, const st_step *step,
                     const char *indent, st_text *out)
{
    st_text_addf(out, "%s{\n%s    size_t size_ = 0;\n%s    reserve(&size_, ", indent, indent,
                 indent);
    st_emit_values_print(&plan->values, model->tmpl->buffers[step->buffer].count, 0, out);
    st_text_addf(out, ", %zu);\n%s    if (size_ > 0)\n%s        error_ = cudaMemsetAsync(",
                 buffer_type(model, plan, (size_t)step->buffer)->size, indent, indent);
    add_pointer(model, plan, (size_t)step->buffer, out);
    st_text_addf(out, ", 0, size_, stream_);\n%s}\n", indent);
}

static void add_dims(st_emit_values *values, st_expression *const *dims, st_text *out)
{
    st_text_add(out, "{");
    for (int d = 0; d < ST_MAX_DIMS; d++) {
        st_text_add(out, d ? ", " : "");
        st_emit_values_print(values, dims[d], 1, out);
    }
    st_text_add(out, "}");
}

static void add_kernel(const st_emit_model *model, const st_emit_plan *plan, const st_step *step,
                       st_text *out)
{
    // Not found by the search from namespace `host` alone: a helper there may bear the same name.
    st_text_add(out, "::simtune_" ST_EMIT_HASH_PLACE "::");
    if (!model->tmpl->is_config)
        st_text_addf(out, "config_%zu::%s", plan->structure,
                     model->in_namespace ? "simtune::" : "");
    st_text_add(out, step->kernel);
    if (step->uses_config)
        st_text_addf(out, "< ::simtune_" ST_EMIT_HASH_PLACE "::config_%zu>", plan->structure);
}

// A number, or what the caller gives; a scalar that the list leaves out is what it was while tuning.
static void add_value(const st_emit_model *model, const st_emit_function *function,
                      st_emit_plan *plan, const st_argument *argument, st_text *out)
{
    const st_problem *problem = &model->choices[plan->choice].problem;
    const st_scalar *scalar =
        argument->scalar >= 0 ? &model->tmpl->scalars[argument->scalar] : NULL;
    st_type_id id = scalar ? st_problem_scalar_type(model->tmpl, problem, scalar) : argument->type;
    const char *type = st_type_of(id)->device_name;
    bool is_half = id == ST_F16 || id == ST_BF16;
    if (scalar && takes_scalar(function, argument->scalar)) {
        st_text_addf(out, is_half ? "same_bits< ::simtune_" ST_EMIT_HASH_PLACE "::%s>(s_%s)" : "(%s)s_%s",
                     type, scalar->name);
        return;
    }
    if (is_half)
        st_text_addf(out, "::simtune_" ST_EMIT_HASH_PLACE "::%s()", type); // not looked at
    else {
        st_text_addf(out, "(%s)", type);
        st_emit_values_print(&plan->values, scalar ? scalar->value : argument->value, 0, out);
    }
}

static void add_launch(const st_emit_model *model, const st_emit_function *function,
                       st_emit_plan *plan, const st_step *step, const char *indent, st_text *out)
{
    st_emit_values *values = &plan->values;
    int64_t shared, cluster;
    bool no_shared = st_emit_values_known(values, step->smem, 0, &shared) && shared == 0;
    bool small_cluster = st_emit_values_known(values, step->cluster, 1, &cluster) && cluster <= 8;
    const char *prepared = no_shared && small_cluster ? "nullptr" : "&prepared_";
    st_text_addf(out, "%s{\n", indent);
    if (*prepared == '&')
        st_text_addf(out, "%s    static std::atomic<unsigned long long> prepared_;\n", indent);
    st_text_addf(out, "%s    const shape form_ = {", indent);
    add_dims(values, step->grid, out);
    st_text_add(out, ", ");
    add_dims(values, step->block, out);
    st_text_add(out, ", ");
    st_emit_values_print(values, step->smem, 0, out);
    st_text_add(out, ", ");
    st_emit_values_print(values, step->cluster, 1, out);
    st_text_add(out, ", ");
    st_emit_values_print(values, step->dependent, 0, out);
    st_text_addf(out, "};\n%s    error_ = launch(", indent);
    add_kernel(model, plan, step, out);
    st_text_addf(out, ", facts, ordinal_, %s, form_, stream_", prepared);
    for (size_t i = 0; i < step->argument_count; i++) {
        const st_argument *argument = &step->arguments[i];
        st_text_add(out, ",\n");
        st_text_addf(out, "%s                    ", indent);
        if (argument->buffer >= 0) {
            add_pointer(model, plan, (size_t)argument->buffer, out);
        } else {
            add_value(model, function, plan, argument, out);
        }
    }
    st_text_addf(out, ");\n%s}\n", indent);
}

static st_code add_step(st_emit_model *model, const st_emit_function *function, st_emit_plan *plan,
                        size_t index, st_text *out, st_error *error)
{
    const st_step *step = &model->tmpl->steps[index];
    int truth = st_emit_values_truth(&plan->values, step->when);
    if (truth == 0)
        return ST_OK;
    if (step->kind == ST_STEP_ZERO && !is_argument(model, function, step->buffer))
        return refuse_buffer(model, step, step->buffer, error);
    for (size_t i = 0; step->kind == ST_STEP_LAUNCH && i < step->argument_count; i++) {
        int buffer = step->arguments[i].buffer;
        if (buffer >= 0 && !is_argument(model, function, buffer) && !is_empty(model, plan, buffer))
            return refuse_buffer(model, step, buffer, error);
    }
    st_text_add(out, "    if (error_ == cudaSuccess");
    if (truth < 0) {
        st_text_add(out, " && (");
        st_emit_values_print_condition(&plan->values, step->when, false, out);
        st_text_add(out, ")");
    }
    st_text_add(out, ")\n");
    if (step->kind == ST_STEP_ZERO)
        add_zero(model, plan, step, "    ", out);
    else
        add_launch(model, function, plan, step, "    ", out);
    return ST_OK;
}

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

// Sizes go apart, as an array.
static const char *prefix_of(const st_emit_argument *argument)
{
    return argument->buffer >= 0 ? "b_" : argument->scalar >= 0 ? "s_" : NULL;
}

// What the caller gives but sizes, as parameters: "const float *b_in, float s_limit, ".
static void add_parameters(const st_emit_model *model, const st_emit_function *function,
                           st_text *out)
{
    for (size_t i = 0; i < function->argument_count; i++) {
        const st_emit_argument *argument = &function->arguments[i];
        if (!prefix_of(argument))
            continue;
        st_emit_argument_type(model, function, argument, out);
        st_text_addf(out, "%s%s, ", prefix_of(argument), st_emit_argument_name(model, argument));
    }
}

// Buffers that the list leaves out and the plan takes: null.
static void add_left_out(const st_emit_model *model, const st_emit_function *function,
                         const st_emit_plan *plan, st_text *out)
{
    for (size_t i = 0; i < model->tmpl->buffer_count; i++)
        if (!is_argument(model, function, (int)i) && uses_buffer(plan, (int)i))
            st_text_addf(out, "    const void *const b_%s = nullptr;\n    (void)b_%s;\n",
                         model->tmpl->buffers[i].name, model->tmpl->buffers[i].name);
}

static void add_comment_of(const st_emit_model *model, const st_emit_plan *plan, st_text *out)
{
    const st_choice *choice = &model->choices[plan->choice];
    st_text_add(out, "// ");
    st_config_text(model->tmpl, &choice->config, out);
    st_text_addf(out, ", BLOCKS_PER_SM %d\n", choice->blocks_per_sm);
}

static bool has_temp(const st_emit_model *model, const st_emit_plan *plan)
{
    for (size_t i = 0; i < model->tmpl->buffer_count; i++)
        if (model->tmpl->buffers[i].role == ST_BUFFER_TEMP && uses_buffer(plan, (int)i))
            return true;
    return false;
}

static st_code add_run_function(st_emit_model *model, const st_emit_function *function, size_t p,
                                st_text *out, st_error *error)
{
    st_emit_plan *plan = &model->plans[function->first_plan + p];
    st_text layout, steps;
    st_text_init(&layout);
    st_text_init(&steps);
    st_emit_values_forget(&plan->values);
    add_layout(model, plan, true, &layout);
    st_code code = ST_OK;
    for (size_t i = 0; !code && i < model->tmpl->step_count; i++)
        code = add_step(model, function, plan, i, &steps, error);
    add_comment_of(model, plan, out);
    st_text_add(out, "template <class Unused> inline cudaError_t ");
    add_function_name(function, "_run_", out);
    st_text_addf(out, "%zu(const %s_facts &facts, int ordinal_, void *temp_, size_t temp_bytes_, ",
                 p, model->base);
    add_parameters(model, function, out);
    st_text_add(out, "const long long *sizes, cudaStream_t stream_)\n{\n"
                     "    (void)facts, (void)ordinal_, (void)temp_, (void)sizes, (void)stream_");
    for (size_t i = 0; i < function->argument_count; i++)
        if (prefix_of(&function->arguments[i]))
            st_text_addf(out, ", (void)%s%s", prefix_of(&function->arguments[i]),
                         st_emit_argument_name(model, &function->arguments[i]));
    st_text_add(out, ";\n    size_t bytes_ = 0;\n");
    add_left_out(model, function, plan, out);
    st_emit_values_declare(&plan->values, "    ", "alignment_of(b_%s)", out);
    st_text_add(out, st_text_string(&layout));
    if (has_temp(model, plan))
        st_text_add(
            out, "    const size_t skip_ = (size_t)(0 - reinterpret_cast<size_t>(temp_)) & 255;\n"
                 "    char *const base_ = static_cast<char *>(temp_) + skip_;\n"
                 "    if (temp_bytes_ < skip_ || temp_bytes_ - skip_ < bytes_)\n"
                 "        return cudaErrorInvalidValue;\n");
    else
        st_text_add(out, "    if (temp_bytes_ < bytes_)\n"
                         "        return cudaErrorInvalidValue;\n");
    st_text_add(out, "    cudaError_t error_ = cudaSuccess;\n");
    st_text_add(out, st_text_string(&steps));
    st_text_add(out, "    return error_;\n}\n\n");
    out->failed |= layout.failed || steps.failed;
    st_text_release(&layout);
    st_text_release(&steps);
    return code;
}

// --- the function that people call ---------------------------------------------------------------

// Does the size of the temporary storage depend on the alignment of a pointer?
static bool temp_needs_alignment(const st_emit_model *model, const st_emit_function *function,
                                 st_text *out)
{
    const st_template *tmpl = model->tmpl;
    for (size_t p = 0; p < function->plan_count; p++) {
        st_emit_plan *plan = &model->plans[function->first_plan + p];
        st_text scratch;
        st_text_init(&scratch);
        st_emit_values_forget(&plan->values);
        add_layout(model, plan, false, &scratch);
        st_emit_values_declare(&plan->values, "", "0", &scratch);
        out->failed |= scratch.failed;
        st_text_release(&scratch);
        for (size_t i = 0; i < tmpl->buffer_count; i++) {
            int slot = tmpl->buffers[i].align_slot;
            if (slot >= 0 && plan->values.used[slot] && plan->values.kinds[slot] == ST_EMIT_ALIGN)
                return true;
        }
    }
    return false;
}

static void add_cases(const st_emit_model *model, const st_emit_function *function, size_t p,
                      st_text *out)
{
    st_text_add(out, "   ");
    for (size_t r = 0; r < function->row_count; r++)
        if (st_emit_row_plan(model, function, r) == function->first_plan + p)
            st_text_addf(out, " case %zu:", r);
}

static void add_temp_function(const st_emit_model *model, const st_emit_function *function,
                              st_text *out)
{
    st_text_add(out, "template <class Unused> inline size_t ");
    add_function_name(function, "_temp(", out);
    st_text_addf(out,
                 "const %s_facts &facts, const long long *sizes, long long alignment_)\n{\n"
                 "    int exact_ = 0;\n    switch (%s_choice(&facts, sizes, &exact_)) {\n",
                 model->base, function->full);
    for (size_t p = 0; p < function->plan_count; p++) {
        add_cases(model, function, p, out);
        st_text_add(out, " return ");
        add_function_name(function, "_bytes_", out);
        st_text_addf(out, "%zu<Unused>(facts, sizes, alignment_);\n", p);
    }
    st_text_add(out, "    }\n    return 0;\n}\n\n");
}

// The boundaries between recorded sizes, of all classes: the storage for n must do for less than n
// as well.
static size_t add_boundaries(const st_emit_model *model, const st_emit_function *function,
                             st_text *out)
{
    size_t count = 0;
    for (size_t r = 0; model->size_count == 1 && r < function->row_count; r++) {
        int64_t from = model->rows[function->first_row + r].from;
        bool seen = from <= 0;
        for (size_t s = 0; s < r; s++)
            seen |= model->rows[function->first_row + s].from == from;
        if (!seen)
            st_text_addf(out, "%s%lld", count++ ? ", " : "", (long long)(from - 1));
    }
    return count;
}

static void add_size_function(const st_emit_model *model, const st_emit_function *function,
                              st_text *out)
{
    st_text boundaries;
    st_text_init(&boundaries);
    size_t boundary_count = add_boundaries(model, function, &boundaries);
    bool aligned = temp_needs_alignment(model, function, out);
    st_text_addf(out,
                 "// Enough for these sizes%s on every device of the process.\n"
                 "template <class Unused> inline cudaError_t ",
                 model->size_count > 1 ? "" : ", and smaller ones,");
    add_function_name(function, "_size(size_t *temp_bytes_, const long long *sizes)\n{\n", out);
    st_text_add(
        out,
        "    int count_ = 0;\n    size_t most_ = 1;\n"
        "    cudaError_t error_ = cudaGetDeviceCount(&count_);\n"
        "    for (int ordinal_ = 0; error_ == cudaSuccess && ordinal_ < count_; ordinal_++) {\n");
    st_text_addf(out, "        %s_facts facts_;\n", model->base);
    st_text_add(out, "        int archs_[32];\n"
                     "        error_ = device_facts<Unused>(ordinal_, &facts_);\n"
                     "        if (error_ != cudaSuccess)\n            break;\n"
                     "        const int arch_count_ = code_archs<Unused>(facts_.cc, archs_, 32);\n"
                     "        for (int i_ = 0; i_ < arch_count_; i_++) {\n"
                     "            facts_.code_cc = archs_[i_];\n");
    st_text_addf(
        out, "            for (long long alignment_ = %s; alignment_ <= 256; alignment_ *= 2) {\n",
        aligned ? "1" : "256");
    st_text_add(out, "                size_t bytes_ = ");
    add_function_name(function, "_temp<Unused>(facts_, sizes, alignment_);\n", out);
    st_text_add(out, "                most_ = bytes_ > most_ ? bytes_ : most_;\n");
    if (boundary_count) {
        st_text_addf(out, "                static const long long smaller_[] = {%s};\n",
                     st_text_string(&boundaries));
        st_text_addf(out,
                     "                for (int j_ = 0; j_ < %zu; j_++) {\n"
                     "                    if (smaller_[j_] >= sizes[0])\n"
                     "                        continue;\n"
                     "                    bytes_ = ",
                     boundary_count);
        add_function_name(function, "_temp<Unused>(facts_, &smaller_[j_], alignment_);\n", out);
        st_text_add(out, "                    most_ = bytes_ > most_ ? bytes_ : most_;\n"
                         "                }\n");
    }
    st_text_add(out, "            }\n        }\n    }\n"
                     "    if (error_ == cudaSuccess)\n        *temp_bytes_ = most_;\n"
                     "    return error_;\n}\n\n");
    out->failed |= boundaries.failed;
    st_text_release(&boundaries);
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

static void add_signature(const st_emit_model *model, const st_emit_function *function,
                          st_text *out)
{
    st_text_addf(out, "inline cudaError_t %s(void *temp, size_t *temp_bytes", function->full);
    for (size_t i = 0; i < function->argument_count; i++) {
        st_text_add(out, ", ");
        st_emit_argument_type(model, function, &function->arguments[i], out);
        add_public_name(st_emit_argument_name(model, &function->arguments[i]), out);
    }
    st_text_add(out, ", cudaStream_t stream)\n");
}

static void add_dispatch(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    st_text_addf(out, "    int exact_ = 0;\n    switch (%s_choice(&facts_, sizes_, &exact_)) {\n",
                 function->full);
    for (size_t p = 0; p < function->plan_count; p++) {
        add_cases(model, function, p, out);
        st_text_add(out, " return ");
        add_function_name(function, "_run_", out);
        st_text_addf(out, "%zu<Unused>(facts_, ordinal_, temp, *temp_bytes, ", p);
        for (size_t i = 0; i < function->argument_count; i++)
            if (prefix_of(&function->arguments[i])) {
                add_public_name(st_emit_argument_name(model, &function->arguments[i]), out);
                st_text_add(out, ", ");
            }
        st_text_add(out, "sizes_, stream);\n");
    }
    st_text_add(
        out, "    }\n    return cudaErrorNotSupported; // nothing here suits this device\n}\n\n");
}

static void add_public_function(const st_emit_model *model, const st_emit_function *function,
                                st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_text_add(out, "template <class Unused = void>\n");
    add_signature(model, function, out);
    st_text_addf(out,
                 "{\n    %s_facts facts_;\n    int ordinal_ = 0;\n    long long sizes_[%zu];\n"
                 "    if (temp_bytes == nullptr)\n        return cudaErrorInvalidValue;\n",
                 model->base, model->size_count ? model->size_count : 1);
    for (size_t i = 0; i < model->size_count; i++) {
        st_text_addf(out, "    sizes_[%zu] = %s_size(", i, model->base);
        add_public_name(tmpl->axes[model->size_axes[i]].name, out);
        st_text_addf(out,
                     ");\n    if (sizes_[%zu] == 1ll << 48) // more than can be addressed\n"
                     "        return cudaErrorInvalidValue;\n",
                     i);
    }
    if (!model->size_count)
        st_text_add(out, "    sizes_[0] = 0;\n");
    st_text_add(out, "    if (temp == nullptr)\n        return ");
    add_function_name(function, "_size<Unused>(temp_bytes, sizes_);\n", out);
    st_text_add(out, "    const cudaError_t error_ = current_device<Unused>(&ordinal_, &facts_);\n"
                     "    if (error_ != cudaSuccess)\n        return error_;\n");
    add_dispatch(model, function, out);
}

st_code st_emit_host_function(st_emit_model *model, const st_emit_function *function, st_text *out,
                              st_error *error)
{
    st_code code = ST_OK;
    for (size_t p = 0; !code && p < function->plan_count; p++) {
        add_bytes_function(model, function, p, out);
        code = add_run_function(model, function, p, out, error);
        if (!code && model->plans[function->first_plan + p].values.unprintable)
            code = st_fail(error, ST_FAILED, "Use axes, parameters and device facts there.",
                           "%s: the plan uses something that is known only while tuning",
                           model->tmpl->path);
    }
    if (code)
        return code;
    add_temp_function(model, function, out);
    add_size_function(model, function, out);
    add_public_function(model, function, out);
    return ST_OK;
}
