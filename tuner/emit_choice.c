// SPDX-License-Identifier: Apache-2.0
// The part of the header that needs no CUDA: constants, which constraints hold for a row, the table of each function,
// and the choice for a device class and size. What is printed is C11 and C++11; in C++ it stands in the header's
// namespace.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <string.h>

// --- constants -----------------------------------------------------------------------------------

static void add_words(const st_emit_model *model, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_emit_strings seen = {NULL, 0, 0};
    for (size_t i = 0; i < tmpl->parameter_count; i++) {
        const st_parameter *parameter = &tmpl->parameters[i];
        for (size_t j = 0; j < parameter->value_count; j++) {
            const char *word = parameter->values[j].word;
            size_t before = seen.count;
            if (!word)
                continue;
            if (!st_emit_strings_add(&seen, word, strlen(word)))
                out->failed = true;
            if (seen.count > before)
                st_text_addf(out, "#define SIMTUNE_%s_WORD_%s %lld\n", model->upper, word,
                             (long long)parameter->values[j].number);
        }
    }
    st_emit_strings_release(&seen);
}

static void add_row_constants(const st_emit_model *model, const st_emit_function *function,
                              const st_choice *choice, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_text prefix;
    st_text_init(&prefix);
    st_text_addf(&prefix, "SIMTUNE_%s%s%s_SM%d_%d", model->upper, *function->upper ? "_" : "",
                 function->upper, choice->device_class.cc, choice->device_class.sm_count);
    for (size_t i = 0; i < model->size_count; i++) {
        int axis = model->size_axes[i];
        st_text_add(&prefix, "_");
        st_emit_upper(tmpl->axes[axis].name, &prefix);
        st_text_addf(&prefix, "%lld", (long long)choice->problem.value[axis]);
    }
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        st_text_addf(out, "#define %s_%s %lld\n", st_text_string(&prefix), tmpl->parameters[i].name,
                     (long long)choice->config.value[i]);
    out->failed |= prefix.failed;
    st_text_release(&prefix);
}

void st_emit_constants(const st_emit_model *model, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_text_addf(
        out,
        "/* Places of the parameters in simtune_config.value, and numbers of their words. */\n");
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        st_text_addf(out, "#define SIMTUNE_%s_%s %zu\n", model->upper, tmpl->parameters[i].name, i);
    add_words(model, out);
    st_text_add(out, "/* The winners, by class (compute capability, SMs) and size. */\n");
    for (size_t f = 0; f < model->function_count; f++) {
        const st_emit_function *function = &model->functions[f];
        for (size_t r = 0; r < function->row_count - function->has_default; r++)
            add_row_constants(model, function, st_emit_row_choice(model, function, r), out);
    }
}

// --- does a row suit a device? -----------------------------------------------------------------------------------

static void add_where(const st_emit_model *model, st_emit_values *values, size_t index, st_text *out)
{
    st_text_addf(out, "        if ((row->wheres & 0x%llx) && !(", st_emit_bit(index));
    st_emit_values_print_condition(values, model->tmpl->wheres[index], true, out);
    st_text_add(out, "))\n            return 0;\n");
}

// What a launch needs of the device, beside the template's own constraints.
static void add_launch_limits(st_emit_values *values, const st_step *step, st_text *out)
{
    int64_t most = 1, shared, cluster;
    const char *join = "";
    for (int d = 0; d < ST_MAX_DIMS; d++)
        if (__builtin_mul_overflow(most, st_emit_values_most(values, step->block[d], 1), &most))
            most = INT64_MAX;
    if (most > 1024) { // every device takes blocks of 1024 threads
        for (int d = 0; d < ST_MAX_DIMS; d++) {
            st_text_add(out, d ? " * " : "");
            st_emit_values_print(values, step->block[d], 1, out);
        }
        st_text_add(out, " <= facts->max_threads_per_block");
        join = " && ";
    }
    if (!st_emit_values_known(values, step->smem, 0, &shared) || shared > 0) {
        st_text_add(out, join);
        st_emit_values_print(values, step->smem, 0, out);
        st_text_add(out, " <= facts->smem_per_block");
        join = " && ";
    }
    if (!st_emit_values_known(values, step->cluster, 1, &cluster)) {
        st_text_addf(out, "%s(", join);
        st_emit_values_print(values, step->cluster, 1, out);
        st_text_add(out, " <= 1 || facts->code_cc >= 90)");
        join = " && ";
    } else if (cluster > 1) {
        st_text_addf(out, "%sfacts->code_cc >= 90", join);
        join = " && ";
    }
    st_text_add(out, *join ? "" : "1");
}

static void add_limit(const st_emit_model *model, st_emit_values *values, size_t index, st_text *out)
{
    const st_step *step = &model->tmpl->steps[index];
    st_text_addf(out, "        if ((row->limits & 0x%llx)", st_emit_bit(index));
    if (st_emit_values_truth(values, step->when) != 1) {
        st_text_add(out, " && ");
        st_emit_values_print_condition(values, step->when, false, out);
    }
    st_text_add(out, " && !(");
    add_launch_limits(values, step, out);
    st_text_add(out, "))\n            return 0;\n");
}

// One block of the function: declarations, then what is asked of the rows whose mask `name` is not empty.
static void add_block(st_emit_model *model, const char *name, const char *sizes, const st_text *conditions,
                      st_text *out)
{
    if (!conditions->length)
        return;
    st_text_addf(out, "    if (row->%s) {\n", name);
    st_emit_values_declare(&model->shared.values, "        ", sizes, "256", out);
    st_text_add(out, st_text_string(conditions));
    st_text_add(out, "    }\n");
}

static st_code add_holds(st_emit_model *model, st_text *out, st_error *error)
{
    const st_template *tmpl = model->tmpl;
    st_emit_values *values = &model->shared.values;
    unsigned long long limits = 0;
    st_text wheres, launches;
    st_text_init(&wheres);
    st_text_init(&launches);
    st_text_addf(out,
                 "/* Is the device one for the row? Constraints that the row's numbers alone do not settle, and what its "
                 "launches\n   need. */\n"
                 "SIMTUNE_INLINE_ int %s_holds(const %s_row *row, const %s_facts *facts, const long long *sizes)\n{\n"
                 "    (void)row, (void)facts, (void)sizes;\n",
                 model->base, model->base, model->base);
    st_emit_values_forget(values);
    for (size_t i = 0; i < tmpl->where_count; i++)
        if (model->shared.wheres[i])
            add_where(model, values, i, &wheres);
    add_block(model, "wheres", model->in_namespace && model->size_count ? "row->size" : "sizes", &wheres, out);
    st_emit_values_forget(values);
    for (size_t r = 0; r < model->row_count; r++)
        limits |= model->rows[r].masks.limits;
    for (size_t i = 0; i < tmpl->step_count; i++)
        if (limits & st_emit_bit(i))
            add_limit(model, values, i, &launches);
    add_block(model, "limits", "sizes", &launches, out);
    st_text_add(out, "    return 1;\n}\n\n");
    out->failed |= wheres.failed || launches.failed;
    st_text_release(&wheres);
    st_text_release(&launches);
    return values->unprintable
               ? st_fail(error, ST_FAILED, "Use axes, parameters and device facts there.",
                         "%s: a `where` or a launch uses something that is known only while tuning", tmpl->path)
               : ST_OK;
}

// --- the table of a function -------------------------------------------------------------------------------------

static void add_row(const st_emit_model *model, const st_emit_function *function, size_t index, st_text *out)
{
    const st_emit_row *row = &model->rows[function->first_row + index];
    const st_choice *choice = &model->choices[row->choice];
    st_text_add(out, "        {{");
    for (size_t i = 0; i < model->size_count; i++)
        st_text_addf(out, "%s%lld", i ? ", " : "", (long long)choice->problem.value[model->size_axes[i]]);
    st_text_addf(out, "%s}, %lld, 0x%llx, 0x%llx, 0x%llx, 0x%llx, %zu, {", model->size_count ? "" : "0",
                 (long long)row->from, row->masks.wheres, row->masks.limits, row->masks.steps, row->masks.lets,
                 st_emit_kernels_of(model, function, index));
    for (size_t i = 0; i < model->shared.column_count; i++)
        st_text_addf(out, "%s%lld", i ? ", " : "", (long long)st_emit_column(model, row, i));
    st_text_add(out, model->shared.column_count ? "}},\n" : "0}},\n");
}

static void add_config(const st_emit_model *model, const st_emit_function *function, size_t index, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    const st_choice *choice = st_emit_row_choice(model, function, index);
    bool is_default = function->has_default && index + 1 == function->row_count;
    st_text text;
    st_text_init(&text);
    st_problem_text(tmpl, &choice->problem, &text);
    st_text_add(out, "        SIMTUNE_ROW_(");
    st_emit_string(is_default ? "" : st_text_string(&text), out);
    out->failed |= text.failed;
    st_text_clear(&text);
    st_config_text(tmpl, &choice->config, &text);
    st_text_add(out, ",\n                     ");
    st_emit_string(st_text_string(&text), out);
    st_text_add(out, ",\n                     ");
    st_emit_string(choice->device_name, out);
    st_text_addf(out, ", %d, %d, %lldu, %d, %d, %d, %d, ", choice->device_class.cc, choice->device_class.sm_count,
                 model->size_count && !is_default ? (long long)choice->problem.value[model->size_axes[0]] : 0LL,
                 choice->predicted, choice->emulated, choice->deterministic, choice->blocks_per_sm);
    st_emit_number(choice->median_ns, out);
    st_text_add(out, ", ");
    st_emit_number(choice->speedup, out);
    st_text_addf(out, ", %zu, rows[%zu].value),\n", tmpl->parameter_count, index);
    out->failed |= text.failed;
    st_text_release(&text);
}

static void add_table(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    st_text_addf(out,
                 "SIMTUNE_INLINE_ const %s_table *%s_rows(void)\n{\n"
                 "    static const %s_class classes[] = {",
                 model->base, function->full, model->base);
    for (size_t i = 0; i < function->class_count; i++) {
        const st_emit_class *it = &model->classes[function->first_class + i];
        st_text_addf(out, "%s{%d, %d, %zu, %zu}", i ? ", " : "", it->device.cc, it->device.sm_count, it->first,
                     it->count);
    }
    st_text_addf(out, "};\n    static const %s_row rows[] = {\n", model->base);
    for (size_t r = 0; r < function->row_count; r++)
        add_row(model, function, r, out);
    st_text_add(out, "    };\n    static const simtune_config configs[] = {\n");
    for (size_t r = 0; r < function->row_count; r++)
        add_config(model, function, r, out);
    st_text_addf(out,
                 "    };\n    static const %s_table table = {classes, rows, configs, %zu, %zu, %d};\n"
                 "    return &table;\n}\n\n",
                 model->base, function->class_count, function->row_count,
                 function->has_default ? (int)function->row_count - 1 : -1);
}

static void add_config_function(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_text_addf(out, "SIMTUNE_INLINE_ const simtune_config *%s_config(int cc, int sm_count", function->full);
    for (size_t i = 0; i < model->size_count; i++)
        st_text_addf(out, ", size_t %s", tmpl->axes[model->size_axes[i]].name);
    st_text_addf(out, ")\n{\n    long long sizes_[%zu];\n", model->size_count ? model->size_count : 1);
    for (size_t i = 0; i < model->size_count; i++)
        st_text_addf(out, "    sizes_[%zu] = %s_size(%s);\n", i, model->base,
                     tmpl->axes[model->size_axes[i]].name);
    if (!model->size_count)
        st_text_add(out, "    sizes_[0] = 0;\n");
    st_text_addf(out, "    return %s_config_of(%s_rows(), cc, sm_count, sizes_);\n}\n\n", model->base,
                 function->full);
}

// --- the whole ---------------------------------------------------------------------------------------------------

// A row's description twice: as recorded for the class that was asked for, and as borrowed from another.
static const char row_macro[] =
    "#define SIMTUNE_ROW_(problem, text, device, cc, sm_count, n, predicted, emulated, deterministic, blocks, ns, "
    "speedup, \\\n                     count, value)                                                                  "
    "        \\\n"
    "    {problem, text, device, cc, sm_count, n, 1, predicted, emulated, deterministic, blocks, ns, speedup, count, "
    "value}, \\\n"
    "    {problem, text, device, cc, sm_count, n, 0, predicted, emulated, deterministic, blocks, ns, speedup, count, "
    "value}\n\n";

static void add_columns_comment(const st_emit_model *model, st_text *out)
{
    st_text_add(out, "/* The numbers of a row:");
    size_t width = 24;
    for (size_t i = 0; i < model->shared.column_count; i++) {
        int slot = model->shared.column_slots[i];
        const char *name = slot >= 0 ? model->tmpl->scope.names[slot].name : model->tmpl->buffers[-1 - slot].name;
        bool breaks = width + strlen(name) > 100;
        st_text_addf(out, "%s%s%s", breaks ? "\n   " : " ", name, slot >= 0 ? "" : "'s size");
        width = (breaks ? 3 : width) + strlen(name) + (slot >= 0 ? 1 : 8);
    }
    st_text_add(out, " */\n");
}

// A CUDA compiler reads a file once more for each architecture, to find the kernels; host functions are not compiled
// then, and tables of hundreds of rows take longer to read than all the rest.
static void add_device_pass(const st_emit_model *model, st_text *out)
{
    st_text_add(out, "#else /* device code is compiled: the bodies of host functions are not */\n");
    for (size_t i = 0; i < model->function_count; i++) {
        st_text_addf(out,
                     "SIMTUNE_INLINE_ const %s_table *%s_rows(void) { return NULL; }\n"
                     "SIMTUNE_INLINE_ const simtune_config *%s_config(int, int",
                     model->base, model->functions[i].full, model->functions[i].full);
        for (size_t k = 0; k < model->size_count; k++)
            st_text_add(out, ", size_t");
        st_text_add(out, ") { return NULL; }\n");
    }
    st_text_add(out, "#endif\n");
}

st_code st_emit_choice(st_emit_model *model, st_text *out, st_error *error)
{
    st_emit_choice_common(model, false, out);
    st_code code = add_holds(model, out, error);
    if (code)
        return code;
    st_emit_choice_common(model, true, out);
    st_text_add(out, row_macro);
    add_columns_comment(model, out);
    st_text_add(out, "#ifndef __CUDA_ARCH__\n");
    for (size_t i = 0; i < model->function_count; i++) {
        add_table(model, &model->functions[i], out);
        add_config_function(model, &model->functions[i], out);
    }
    add_device_pass(model, out);
    st_text_add(out, "#undef SIMTUNE_ROW_\n");
    return ST_OK;
}
