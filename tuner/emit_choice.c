// SPDX-License-Identifier: Apache-2.0
// The part of the header that needs no CUDA: constants, the table of configurations, and the choice
// for a device class and size. What is printed is C11 and C++11; in C++ it stands in the header's
// namespace.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <math.h>
#include <string.h>

// "simtune_reduce_f32_sum" + end
static void add_name(const st_emit_function *function, const char *end, st_text *out)
{
    st_text_addf(out, "%s%s", function->full, end);
}

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

// --- one function --------------------------------------------------------------------------------

static void add_row(const st_emit_model *model, const st_choice *choice, bool is_default, int exact,
                    size_t config, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_text text;
    st_text_init(&text);
    st_text_add(out, "        {");
    st_problem_text(tmpl, &choice->problem, &text);
    st_emit_string(is_default ? "" : st_text_string(&text), out);
    out->failed |= text.failed;
    st_text_clear(&text);
    st_text_add(out, ", ");
    st_config_text(tmpl, &choice->config, &text);
    st_emit_string(st_text_string(&text), out);
    st_text_add(out, ", ");
    st_emit_string(choice->device_name, out);
    long long n = model->size_count && !is_default
                      ? (long long)choice->problem.value[model->size_axes[0]]
                      : 0;
    st_text_addf(out, ",\n         %d, %d, %lldu, %d, %d, %d, %d, %d, ", choice->device_class.cc,
                 choice->device_class.sm_count, n, exact, choice->predicted, choice->emulated,
                 choice->deterministic, choice->blocks_per_sm);
    st_emit_number(choice->median_ns, out);
    st_text_add(out, ", ");
    st_emit_number(choice->speedup, out);
    st_text_addf(out, ", %zu, values_%zu}", tmpl->parameter_count, config);
    out->failed |= text.failed;
    st_text_release(&text);
}

static void add_rows(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_text_add(out, "SIMTUNE_INLINE_ const simtune_config *");
    add_name(function, "_row(int row, int exact)\n{\n", out);
    for (size_t p = 0; p < function->plan_count; p++) {
        const st_emit_plan *plan = &model->plans[function->first_plan + p];
        st_text_addf(out, "    static const long long values_%zu[] = {", p);
        for (size_t i = 0; i < tmpl->parameter_count; i++)
            st_text_addf(out, "%s%lld", i ? ", " : "",
                         (long long)model->choices[plan->choice].config.value[i]);
        st_text_add(out, tmpl->parameter_count ? "};\n" : "0};\n");
    }
    st_text_add(out, "    static const simtune_config rows[] = {\n");
    for (size_t r = 0; r < function->row_count; r++) {
        bool is_default = function->has_default && r + 1 == function->row_count;
        size_t config = st_emit_row_plan(model, function, r) - function->first_plan;
        for (int exact = 1; exact >= 0; exact--) {
            add_row(model, st_emit_row_choice(model, function, r), is_default, exact, config, out);
            st_text_add(out, ",\n");
        }
    }
    st_text_add(out, "    };\n    return &rows[2 * row + !exact];\n}\n\n");
}

// What every launch needs of the device, beside the template's own constraints.
static void add_launch_limits(st_emit_values *values, const st_step *step, st_text *out)
{
    int64_t number;
    // Every device takes blocks of 1024 threads.
    int64_t most = 1;
    for (int d = 0; d < ST_MAX_DIMS; d++)
        if (__builtin_mul_overflow(most, st_emit_values_most(values, step->block[d], 1), &most))
            most = INT64_MAX;
    if (most > 1024) {
        st_text_add(out, " && ");
        for (int d = 0; d < ST_MAX_DIMS; d++) {
            st_text_add(out, d ? " * " : "");
            st_emit_values_print(values, step->block[d], 1, out);
        }
        st_text_add(out, " <= facts->max_threads_per_block");
    }
    if (!st_emit_values_known(values, step->smem, 0, &number) || number > 0) {
        st_text_add(out, " && ");
        st_emit_values_print(values, step->smem, 0, out);
        st_text_add(out, " <= facts->smem_per_block");
    }
    if (st_emit_values_known(values, step->cluster, 1, &number)) {
        st_text_add(out, number > 1 ? " && facts->code_cc >= 90" : "");
    } else {
        st_text_add(out, " && (");
        st_emit_values_print(values, step->cluster, 1, out);
        st_text_add(out, " <= 1 || facts->code_cc >= 90)");
    }
}

// The template's own constraints. A template whose kernels stand in namespace simtune promises
// kernels that are right for every size: its constraints on sizes cut the space that is searched,
// and hold where they were recorded. Others may depend on them (n % BLOCK == 0), so there they are
// held against the size asked for.
static st_code add_wheres(st_emit_model *model, const st_emit_function *function, size_t row,
                          st_text *out, st_error *error)
{
    const st_template *tmpl = model->tmpl;
    const st_choice *choice = st_emit_row_choice(model, function, row);
    static const bool none_given[ST_MAX_AXES] = {false};
    st_emit_values values;
    st_code code =
        st_emit_values_make(tmpl, &choice->problem, &choice->config, choice->blocks_per_sm,
                            model->in_namespace ? none_given : model->given, &values, error);
    if (code)
        return code;
    st_text condition;
    st_text_init(&condition);
    size_t printed = 0;
    for (size_t i = 0; i < tmpl->where_count; i++) {
        if (st_emit_values_truth(&values, tmpl->wheres[i]) == 1)
            continue;
        st_text_add(&condition, printed++ ? " &&\n              (" : "(");
        st_emit_values_print_condition(&values, tmpl->wheres[i], true, &condition);
        st_text_add(&condition, ")");
    }
    if (printed) {
        st_text_add(out, "        {\n");
        st_emit_values_declare(&values, "            ", "256", out);
        st_text_addf(out, "            if (!(%s))\n                return 0;\n        }\n",
                     st_text_string(&condition));
    }
    out->failed |= condition.failed;
    bool unprintable = values.unprintable;
    st_text_release(&condition);
    st_emit_values_release(&values);
    return unprintable
               ? st_fail(error, ST_FAILED, "Use axes, parameters and device facts there.",
                         "%s: a `where` uses something that is known only while tuning", tmpl->path)
               : ST_OK;
}

static void add_limits(st_emit_model *model, st_emit_plan *plan, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_emit_values *values = &plan->values;
    st_text condition;
    st_text_init(&condition);
    st_emit_values_forget(values);
    st_text_add(&condition, "1");
    for (size_t i = 0; i < tmpl->step_count; i++) {
        const st_step *step = &tmpl->steps[i];
        int truth = step->kind == ST_STEP_LAUNCH ? st_emit_values_truth(values, step->when) : 0;
        if (truth == 0)
            continue;
        if (truth < 0) {
            st_text_add(&condition, " && (!(");
            st_emit_values_print_condition(values, step->when, false, &condition);
            st_text_add(&condition, ") || (1");
        }
        add_launch_limits(values, step, &condition);
        st_text_add(&condition, truth < 0 ? "))" : "");
    }
    st_emit_values_declare(values, "        ", "256", out);
    st_text_addf(out, "        return %s;\n", st_text_string(&condition));
    out->failed |= condition.failed;
    st_text_release(&condition);
}

// Rows with the same conditions share a case.
static st_code add_cases(st_emit_model *model, const st_emit_function *function, st_text *out,
                         st_error *error)
{
    st_emit_strings seen = {NULL, 0, 0};
    size_t *group = st_calloc(function->row_count, sizeof *group);
    st_code code = group ? ST_OK : st_fail_memory(error, "printing constraints");
    for (size_t r = 0; !code && r < function->row_count; r++) {
        st_text text;
        st_text_init(&text);
        code = add_wheres(model, function, r, &text, error);
        add_limits(model, &model->plans[st_emit_row_plan(model, function, r)], &text);
        if (!code && (text.failed || !st_emit_strings_add(&seen, text.data, text.length)))
            code = st_fail_memory(error, "printing constraints");
        for (size_t i = 0; !code && i < seen.count; i++)
            if (strcmp(seen.items[i], text.data) == 0)
                group[r] = i;
        st_text_release(&text);
    }
    for (size_t i = 0; !code && i < seen.count; i++) {
        st_text_add(out, "   ");
        for (size_t r = 0; r < function->row_count; r++)
            if (group[r] == i)
                st_text_addf(out, " case %zu:", r);
        st_text_addf(out, " {\n%s    }\n", seen.items[i]);
    }
    st_emit_strings_release(&seen);
    st_free(group);
    return code;
}

static st_code add_holds(st_emit_model *model, const st_emit_function *function, st_text *out,
                         st_error *error)
{
    st_text_add(out, "SIMTUNE_INLINE_ int ");
    add_name(function, "_holds(int row, ", out);
    st_text_addf(out,
                 "const %s_facts *facts, const long long *sizes)\n{\n"
                 "    (void)facts, (void)sizes;\n    switch (row) {\n",
                 model->base);
    st_code code = add_cases(model, function, out, error);
    st_text_add(out, "    }\n    return 0;\n}\n\n");
    return code;
}

static void add_tables(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    st_text_addf(out, "    static const %s_class classes[] = {", model->base);
    for (size_t i = 0; i < function->class_count; i++) {
        const st_emit_class *it = &model->classes[function->first_class + i];
        st_text_addf(out, "%s{%d, %d, %zu, %zu}", i ? ", " : "", it->device.cc, it->device.sm_count,
                     it->first, it->count);
    }
    st_text_add(out, "};\n    static const long long recorded[] = {");
    size_t count = function->row_count - function->has_default;
    for (size_t r = 0; r < count; r++) {
        const st_choice *choice = st_emit_row_choice(model, function, r);
        for (size_t i = 0; i < model->size_count; i++)
            st_text_addf(out, "%s%lld", r + i ? ", " : "",
                         (long long)choice->problem.value[model->size_axes[i]]);
    }
    st_text_add(out, model->size_count ? "};\n" : "0};\n");
    st_text_add(out, "    static const long long from[] = {");
    for (size_t r = 0; r < count; r++)
        st_text_addf(out, "%s%lld", r ? ", " : "",
                     (long long)model->rows[function->first_row + r].from);
    st_text_add(out, "};\n");
}

static void add_choice(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    st_text_add(out, "SIMTUNE_INLINE_ int ");
    add_name(function, "_choice(", out);
    st_text_addf(out, "const %s_facts *facts, const long long *sizes, int *exact)\n{\n",
                 model->base);
    add_tables(model, function, out);
    st_text_addf(out, "    return %s_choose(classes, %zu, recorded, from, %d, ", model->base,
                 function->class_count, function->has_default ? (int)function->row_count - 1 : -1);
    add_name(function, "_holds, facts, sizes, exact);\n}\n\n", out);
}

static void add_config(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_text_add(out, "SIMTUNE_INLINE_ const simtune_config *");
    add_name(function, "_config(int cc, int sm_count", out);
    for (size_t i = 0; i < model->size_count; i++)
        st_text_addf(out, ", size_t %s", tmpl->axes[model->size_axes[i]].name);
    st_text_addf(out,
                 ")\n{\n    const %s_facts facts_ = %s_facts_of_class(cc, sm_count);\n"
                 "    int exact_ = 0, row_;\n    long long sizes_[%zu];\n",
                 model->base, model->base, model->size_count ? model->size_count : 1);
    for (size_t i = 0; i < model->size_count; i++)
        st_text_addf(out, "    sizes_[%zu] = %s_size(%s);\n", i, model->base,
                     tmpl->axes[model->size_axes[i]].name);
    if (!model->size_count)
        st_text_add(out, "    sizes_[0] = 0;\n");
    st_text_add(out, "    row_ = ");
    add_name(function,
             "_choice(&facts_, sizes_, &exact_);\n    return row_ < 0 ? NULL : ", out);
    add_name(function, "_row(row_, exact_);\n}\n\n", out);
}

st_code st_emit_choice_function(st_emit_model *model, const st_emit_function *function,
                                st_text *out, st_error *error)
{
    add_rows(model, function, out);
    st_code code = add_holds(model, function, out, error);
    add_choice(model, function, out);
    add_config(model, function, out);
    for (size_t p = 0; !code && p < function->plan_count; p++)
        if (model->plans[function->first_plan + p].values.unprintable)
            code = st_fail(error, ST_FAILED, "Use axes, parameters and device facts there.",
                           "%s: a launch uses something that is known only while tuning",
                           model->tmpl->path);
    return code;
}
