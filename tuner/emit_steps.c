// SPDX-License-Identifier: Apache-2.0
// The steps of a plan, printed: one template a launch, over the kernels' configuration, with an empty body where no
// row of the configuration takes it, so that such a kernel is not compiled; and `run`, which takes them in order.
#include "tuner/emit_internal.h"

#include <string.h>

// --- types as kernels know them ----------------------------------------------------------------------------------

typedef struct typed { // a buffer, or else a scalar
    int buffer, scalar;
} typed;

static st_type_id type_for(const st_emit_model *model, const st_problem *problem, const typed *of)
{
    const st_template *tmpl = model->tmpl;
    return of->buffer >= 0 ? st_emit_buffer_type(tmpl, problem, &tmpl->buffers[of->buffer])
                           : st_problem_scalar_type(tmpl, problem, &tmpl->scalars[of->scalar]);
}

static const st_problem *problem_of(const st_emit_model *model, size_t function)
{
    return &st_emit_row_choice(model, &model->functions[function], 0)->problem;
}

static const char *type_axis(const st_template *tmpl)
{
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_TYPE)
            return tmpl->axes[i].name;
    return "";
}

// `choice` NULL: of a template's configuration `C`, whatever it is. A type that differs from function to function is
// the element type, or of floats the wider one (reference_T).
static void add_type(const st_emit_model *model, const st_choice *choice, const typed *of, st_text *out)
{
    bool same = true, is_element = true;
    if (choice) {
        st_text_add(out, st_type_of(type_for(model, &choice->problem, of))->device_name);
        return;
    }
    st_type_id first = type_for(model, problem_of(model, 0), of);
    for (size_t i = 0; i < model->function_count; i++) {
        st_type_id id = type_for(model, problem_of(model, i), of);
        const st_type *element = st_problem_type(model->tmpl, problem_of(model, i));
        same &= id == first;
        is_element &= element && element->id == id;
    }
    if (same)
        st_text_add(out, st_type_of(first)->device_name);
    else
        st_text_addf(out, is_element ? "typename C::%s" : "typename wide<typename C::%s>::type",
                     type_axis(model->tmpl));
}

// --- one launch --------------------------------------------------------------------------------------------------

static void add_kernel(const st_emit_model *model, size_t structure, const st_step *step, st_text *out)
{
    // Not found by the search from namespace `host` alone: a helper there may bear the same name.
    st_text_add(out, "::simtune_" ST_EMIT_HASH_PLACE "::");
    if (!model->tmpl->is_config)
        st_text_addf(out, "config_%zu::%s", structure, model->in_namespace ? "simtune::" : "");
    st_text_addf(out, "%s%s", step->kernel, step->uses_config ? "<C>" : "");
}

static void add_number(const st_emit_model *model, size_t index, size_t place, const st_expression *value, st_text *out)
{
    int64_t number;
    if (st_emit_is_number(model, index, place))
        st_text_addf(out, "p.arg_%zu_%zu", index, place);
    else if (st_emit_values_known(&model->shared.values, value, 0, &number))
        st_text_addf(out, "%lld", (long long)number);
}

// A number, or what the caller gives; a scalar that the list leaves out is what it was while tuning.
static void add_value(const st_emit_model *model, const st_choice *choice, size_t index, size_t place, st_text *out)
{
    const st_argument *argument = &model->tmpl->steps[index].arguments[place];
    if (argument->scalar < 0) {
        const char *type = st_type_of(argument->type)->device_name;
        if (argument->type == ST_F16 || argument->type == ST_BF16) {
            st_text_addf(out, "::simtune_" ST_EMIT_HASH_PLACE "::%s()", type); // not looked at
            return;
        }
        st_text_addf(out, "(%s)", type);
        add_number(model, index, place, argument->value, out);
        return;
    }
    const st_scalar *scalar = &model->tmpl->scalars[argument->scalar];
    const typed of = {-1, argument->scalar};
    bool any = st_emit_any_takes(model, argument->scalar), all = st_emit_all_take(model, argument->scalar);
    if (any) {
        st_text_addf(out, all ? "" : "it.scalars[s_%s] ? ", scalar->name);
        st_text_add(out, "same_bits<");
        add_type(model, choice, &of, out);
        st_text_addf(out, ">(it.scalars[s_%s])%s", scalar->name, all ? "" : " : ");
    }
    if (!all) {
        st_text_add(out, "from_number<");
        add_type(model, choice, &of, out);
        st_text_add(out, ">::is(");
        add_number(model, index, place, scalar->value, out);
        st_text_add(out, ")");
    }
}

static void add_pointer(const st_emit_model *model, const st_choice *choice, int buffer, st_text *out)
{
    const st_buffer *it = &model->tmpl->buffers[buffer];
    const typed of = {buffer, -1};
    st_text_add(out, "(");
    add_type(model, choice, &of, out);
    if (it->role == ST_BUFFER_TEMP)
        st_text_addf(out, " *)(it.base + p.at_%s)", it->name);
    else
        st_text_addf(out, " *)it.buffers[b_%s]", it->name);
}

// `choice`: of a macro template's structure.
static void add_body(const st_emit_model *model, size_t index, const st_choice *choice, size_t structure, st_text *out)
{
    const st_step *step = &model->tmpl->steps[index];
    const st_emit_values *values = &model->shared.values;
    int64_t shared, cluster;
    bool no_shared = st_emit_values_known(values, step->smem, 0, &shared) && shared == 0;
    bool small_cluster = st_emit_values_known(values, step->cluster, 1, &cluster) && cluster <= 8;
    bool plain = no_shared && small_cluster;
    st_text_add(out, "    static cudaError_t run(const call &it, const plan &p)\n    {\n");
    if (!plain)
        st_text_add(out, "        static shared<unsigned long long> prepared;\n");
    st_text_add(out, "        return launch(");
    add_kernel(model, structure, step, out);
    st_text_addf(out, ", it, %s, p.form_%zu", plain ? "nullptr" : "&prepared", index);
    for (size_t i = 0; i < step->argument_count; i++) {
        st_text_add(out, ",\n                      ");
        if (step->arguments[i].buffer >= 0)
            add_pointer(model, choice, step->arguments[i].buffer, out);
        else
            add_value(model, choice, index, i, out);
    }
    st_text_add(out, ");\n    }\n};\n");
}

// Steps that any row of the structure takes.
static unsigned long long steps_of(const st_emit_model *model, size_t structure)
{
    unsigned long long steps = 0;
    for (size_t r = 0; r < model->row_count; r++)
        if (model->plans[model->rows[r].plan].structure == structure)
            steps |= model->rows[r].masks.steps;
    return steps;
}

static void add_launch(const st_emit_model *model, size_t index, st_text *out)
{
    st_text_addf(out,
                 "template <class C, bool Taken> struct step_%zu {\n"
                 "    static cudaError_t run(const call &, const plan &) { return cudaSuccess; }\n};\n",
                 index);
    if (model->tmpl->is_config) {
        st_text_addf(out, "template <class C> struct step_%zu<C, true> {\n", index);
        add_body(model, index, NULL, 0, out);
        st_text_add(out, "\n");
        return;
    }
    for (size_t i = 0; i < model->structure_count; i++) {
        if (!(steps_of(model, i) & st_emit_bit(index)))
            continue;
        st_text_addf(out,
                     "template <> struct step_%zu< ::simtune_" ST_EMIT_HASH_PLACE "::config_%zu::simtune_structure, true> {\n",
                     index, i);
        add_body(model, index, &model->choices[model->structures[i]], i, out);
    }
    st_text_add(out, "\n");
}

// --- helpers that few templates need -----------------------------------------------------------------------------

static void add_wide(const st_emit_model *model, st_text *out)
{
    bool listed[ST_TYPE_COUNT] = {false}, needed = false;
    for (size_t i = 0; i < model->tmpl->buffer_count; i++)
        needed |= st_emit_steps_of(model, (int)i) && strcmp(model->tmpl->buffers[i].type_word, "reference_T") == 0;
    if (!needed || !model->tmpl->is_config)
        return;
    st_text_add(out, "template <class T> struct wide {\n    typedef T type;\n};\n");
    for (size_t i = 0; i < model->function_count; i++) {
        const st_type *type = st_problem_type(model->tmpl, problem_of(model, i));
        if (!type || !type->is_float || listed[type->id])
            continue;
        st_text_addf(out, "template <> struct wide<%s> {\n    typedef double type;\n};\n", type->device_name);
        listed[type->id] = true;
    }
    st_text_add(out, "\n");
}

// Half-precision numbers of the caller's type are those of the kernels, bit by bit; one that no caller gives is not
// looked at.
static void add_scalar_helpers(const st_emit_model *model, st_text *out)
{
    bool any = false, lacks = false, half[ST_TYPE_COUNT] = {false};
    for (size_t s = 0; s < model->tmpl->scalar_count; s++) {
        const typed of = {-1, (int)s};
        any |= st_emit_any_takes(model, (int)s);
        lacks |= !st_emit_all_take(model, (int)s);
        for (size_t f = 0; f < model->function_count; f++)
            half[type_for(model, problem_of(model, f), &of)] = true;
    }
    if (any)
        st_text_add(out, "template <class To>\ninline To same_bits(const void *from)\n{\n    To to;\n"
                         "    for (size_t i = 0; i < sizeof to; i++)\n"
                         "        reinterpret_cast<char *>(&to)[i] = static_cast<const char *>(from)[i];\n"
                         "    return to;\n}\n\n");
    if (!lacks)
        return;
    st_text_add(out, "template <class T> struct from_number {\n"
                     "    static T is(long long number) { return (T)number; }\n};\n");
    static const st_type_id halves[] = {ST_F16, ST_BF16};
    for (int i = 0; i < 2; i++)
        if (half[halves[i]])
            st_text_addf(out,
                         "template <> struct from_number< ::simtune_" ST_EMIT_HASH_PLACE "::%s> {\n"
                         "    static ::simtune_" ST_EMIT_HASH_PLACE "::%s is(long long) { return {}; }\n};\n",
                         st_type_of(halves[i])->device_name, st_type_of(halves[i])->device_name);
    st_text_add(out, "\n");
}

// --- all of them -------------------------------------------------------------------------------------------------

static void add_zero(const st_emit_model *model, size_t index, st_text *out)
{
    const st_buffer *buffer = &model->tmpl->buffers[model->tmpl->steps[index].buffer];
    st_text_addf(out, "    if (error == cudaSuccess && p.run_%zu && p.bytes_%zu > 0)\n        error = cudaMemsetAsync(",
                 index, index);
    if (buffer->role == ST_BUFFER_TEMP)
        st_text_addf(out, "it.base + p.at_%s", buffer->name);
    else
        st_text_addf(out, "const_cast<void *>(it.buffers[b_%s])", buffer->name);
    st_text_addf(out, ", 0, p.bytes_%zu, it.stream);\n", index);
}

void st_emit_steps(st_emit_model *model, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    add_wide(model, out);
    add_scalar_helpers(model, out);
    for (size_t i = 0; i < tmpl->step_count; i++)
        if ((model->shared.steps & st_emit_bit(i)) && tmpl->steps[i].kind == ST_STEP_LAUNCH)
            add_launch(model, i, out);
    st_text_add(out, "// Steps: those that any row of the configuration takes.\n"
                     "template <class C, unsigned long long Steps>\n"
                     "inline cudaError_t run(const call &it, const plan &p)\n{\n"
                     "    cudaError_t error = cudaSuccess;\n");
    for (size_t i = 0; i < tmpl->step_count; i++) {
        if (!(model->shared.steps & st_emit_bit(i)))
            continue;
        if (tmpl->steps[i].kind == ST_STEP_ZERO)
            add_zero(model, i, out);
        else
            st_text_addf(out,
                         "    if (error == cudaSuccess && p.run_%zu)\n"
                         "        error = step_%zu<C, (Steps & 0x%llx) != 0>::run(it, p);\n",
                         i, i, st_emit_bit(i));
    }
    st_text_add(out, "    return error;\n}\n\n");
}
