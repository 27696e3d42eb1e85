// SPDX-License-Identifier: Apache-2.0
// The part of the header that needs no CUDA: constants, the table of configurations, and the choice for a
// device class and size. What is printed is C11 and C++11; in C++ it stands in the header's namespace.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <math.h>
#include <string.h>

// "simtune_reduce_f32_sum" + end
static void add_name(const st_emit_model *model, const st_emit_function *function, const char *end,
                     st_text *out) {
    st_text_addf(out, "%s%s%s%s", model->base, *function->name ? "_" : "", function->name, end);
}

// --- constants -----------------------------------------------------------------------------------------------

static void add_words(const st_emit_model *model, st_text *out) {
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
                              const st_choice *choice, st_text *out) {
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

void st_emit_constants(const st_emit_model *model, st_text *out) {
    const st_template *tmpl = model->tmpl;
    st_text_addf(out, "/* Places of the parameters in simtune_config.value, and numbers of their words. */\n");
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

// --- what all functions of the header share ------------------------------------------------------------------------

static void add_facts(const st_emit_model *model, st_text *out) {
    st_text_addf(out, "/* What is asked of a device. code_cc: what the code was compiled for, at most cc. */\n"
                      "typedef struct %s_facts {\n    long long code_cc;\n", model->base);
    for (size_t i = 0; i < st_emit_fact_count(); i++)
        if (model->fact_used[i])
            st_text_addf(out, "    long long %s;\n", st_emit_fact_of(i)->field);
    st_text_addf(out, "    int complete; /* 0: only what the class tells */\n} %s_facts;\n\n", model->base);
    st_text_addf(out,
                 "SIMTUNE_INLINE_ %s_facts %s_facts_of_class(int cc, int sm_count)\n{\n"
                 "    %s_facts facts;\n    facts.code_cc = cc;\n",
                 model->base, model->base, model->base);
    for (size_t i = 0; i < st_emit_fact_count(); i++) {
        const st_emit_fact *fact = st_emit_fact_of(i);
        if (model->fact_used[i])
            st_text_addf(out, "    facts.%s = %s;\n", fact->field, fact->of_class ? fact->of_class : "0");
    }
    st_text_add(out, "    facts.complete = 0;\n    return facts;\n}\n\n");
}

// Printed with $ for the base name.
static const char search_text[] =
    "typedef struct $_class { int cc, sm_count, first, count; } $_class;\n"
    "typedef int $_holds_function(int row, const $_facts *facts, const long long *sizes);\n"
    "\n"
    "/* log2 of a size in 1/65536, linear between powers of two. */\n"
    "SIMTUNE_INLINE_ long long $_log2(long long size)\n"
    "{\n"
    "    int bit = 0;\n"
    "    long long rest;\n"
    "    if (size < 1)\n"
    "        size = 1;\n"
    "    while (size >> bit > 1)\n"
    "        bit++;\n"
    "    rest = size - ((long long)1 << bit);\n"
    "    return ((long long)bit << 16) + (bit > 16 ? rest >> (bit - 16) : rest << (16 - bit));\n"
    "}\n"
    "\n"
    "/* How far a recorded row is from the sizes asked for, on a log scale. */\n"
    "SIMTUNE_INLINE_ long long $_row_distance(const long long *recorded, const long long *sizes)\n"
    "{\n"
    "    long long distance = 0, one;\n"
    "    int axis;\n"
    "    for (axis = 0; axis < AXES; axis++) {\n"
    "        one = $_log2(sizes[axis]) - $_log2(recorded[axis]);\n"
    "        distance += one < 0 ? -one : one;\n"
    "    }\n"
    "    return distance;\n"
    "}\n"
    "\n"
    "/* The same compute capability first, then one of the same generation, then the nearest older one, then a\n"
    "   newer; among equals the nearest SM count. */\n"
    "SIMTUNE_INLINE_ long long $_class_distance(const $_class *known, const $_facts *facts)\n"
    "{\n"
    "    long long cc = facts->cc - known->cc, sms = facts->sm_count - known->sm_count;\n"
    "    if (facts->cc / 10 != known->cc / 10)\n"
    "        cc = cc < 0 ? 100000 - cc : 1000 + cc;\n"
    "    cc = cc < 0 ? -2 * cc : 2 * cc + (cc > 0);\n"
    "    sms = sms < 0 ? -sms : sms;\n"
    "    return cc * 65536 + (sms < 65535 ? sms : 65535);\n"
    "}\n"
    "\n"
    "/* The first row whose constraints hold: classes from the nearest, in each the sizes from the nearest.\n"
    "   -1: none. */\n"
    "SIMTUNE_INLINE_ int $_search(const $_class *classes, int class_count, const long long *recorded,\n"
    "                             $_holds_function *holds, const $_facts *facts, const long long *sizes)\n"
    "{\n"
    "    long long class_done = -1;\n"
    "    int tried;\n"
    "    for (tried = 0; tried < class_count; tried++) {\n"
    "        long long best = -1, row_done = -1;\n"
    "        int i, rows, found = 0;\n"
    "        for (i = 0; i < class_count; i++) {\n"
    "            long long key = $_class_distance(&classes[i], facts) * class_count + i;\n"
    "            if (key > class_done && (best < 0 || key < best)) {\n"
    "                best = key;\n"
    "                found = i;\n"
    "            }\n"
    "        }\n"
    "        class_done = best;\n"
    "        for (rows = 0; rows < classes[found].count; rows++) {\n"
    "            long long nearest = -1;\n"
    "            int row = 0;\n"
    "            for (i = 0; i < classes[found].count; i++) {\n"
    "                int at = classes[found].first + i;\n"
    "                long long key = $_row_distance(recorded + (long)at * AXES, sizes) * classes[found].count + i;\n"
    "                if (key > row_done && (nearest < 0 || key < nearest)) {\n"
    "                    nearest = key;\n"
    "                    row = at;\n"
    "                }\n"
    "            }\n"
    "            row_done = nearest;\n"
    "            if (holds(row, facts, sizes))\n"
    "                return row;\n"
    "        }\n"
    "    }\n"
    "    return -1;\n"
    "}\n"
    "\n"
    "/* For the class of `facts`: the recorded size nearest on a log scale (the boundary between two is their\n"
    "   geometric mean), or the next that the device can hold; for another class the nearest known one.\n"
    "   `last` is the row of the default configuration, or -1. */\n"
    "SIMTUNE_INLINE_ int $_choose(const $_class *classes, int class_count, const long long *recorded,\n"
    "                             const long long *from, int last, $_holds_function *holds, const $_facts *facts,\n"
    "                             const long long *sizes, int *exact)\n"
    "{\n"
    "    int i, row;\n"
    "    for (i = 0; i < class_count; i++) {\n"
    "        if (classes[i].cc != facts->cc || classes[i].sm_count != facts->sm_count)\n"
    "            continue;\n"
    "        *exact = 1;\n"
    "        if (AXES == 1) {\n"
    "            row = classes[i].first + classes[i].count - 1;\n"
    "            while (row > classes[i].first && sizes[0] < from[row])\n"
    "                row--;\n"
    "            if (holds(row, facts, sizes))\n"
    "                return row;\n"
    "        }\n"
    "        row = $_search(&classes[i], 1, recorded, holds, facts, sizes);\n"
    "        if (row >= 0)\n"
    "            return row;\n"
    "        break;\n"
    "    }\n"
    "    *exact = 0;\n"
    "#ifdef SIMTUNE_NO_FALLBACK\n"
    "    (void)last;\n"
    "    return -1;\n"
    "#else\n"
    "    row = $_search(classes, class_count, recorded, holds, facts, sizes);\n"
    "    if (row < 0 && last >= 0 && holds(last, facts, sizes))\n"
    "        row = last;\n"
    "    return row;\n"
    "#endif\n"
    "}\n"
    "\n"
    "/* Sizes that no memory holds are one size, small enough to compute with. */\n"
    "SIMTUNE_INLINE_ long long $_size(size_t size)\n"
    "{\n"
    "    const unsigned long long most = 1ull << 48;\n"
    "    return (long long)(size < most ? size : most);\n"
    "}\n"
    "\n";

static void add_search(const st_emit_model *model, st_text *out) {
    for (const char *at = search_text; *at;) {
        size_t span = strcspn(at, "$A");
        st_text_add_bytes(out, at, span);
        at += span;
        if (*at == '$') {
            st_text_add(out, model->base);
            at++;
        } else if (strncmp(at, "AXES", 4) == 0) {
            st_text_addf(out, "%zu", model->size_count);
            at += 4;
        } else if (*at) {
            st_text_add_bytes(out, at++, 1);
        }
    }
}

void st_emit_choice_common(const st_emit_model *model, st_text *out) {
    st_text_add(out, "#if defined(__cplusplus) || !defined(SIMTUNE_EXPRESSIONS_1)\n"
                     "#define SIMTUNE_EXPRESSIONS_1\n");
    st_text_add(out, st_expression_cxx_functions());
    st_text_add(out, "#endif\n\n");
    add_facts(model, out);
    add_search(model, out);
}

// --- one function ----------------------------------------------------------------------------------------------------

static void add_row(const st_emit_model *model, const st_choice *choice, bool is_default, int exact,
                    size_t config, st_text *out) {
    const st_template *tmpl = model->tmpl;
    st_text text;
    st_text_init(&text);
    st_text_add(out, "        {");
    st_problem_text(tmpl, &choice->problem, &text);
    st_emit_string(is_default ? "" : st_text_string(&text), out);
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

static void add_rows(const st_emit_model *model, const st_emit_function *function, st_text *out) {
    const st_template *tmpl = model->tmpl;
    st_text_add(out, "SIMTUNE_INLINE_ const simtune_config *");
    add_name(model, function, "_row(int row, int exact)\n{\n", out);
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
static void add_launch_limits(st_emit_values *values, const st_step *step, st_text *out) {
    int64_t number;
    st_text_add(out, " && ");
    for (int d = 0; d < ST_MAX_DIMS; d++) {
        st_text_add(out, d ? " * " : "");
        st_emit_values_print(values, step->block[d], 1, out);
    }
    st_text_add(out, " <= facts->max_threads_per_block");
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

// The template's own constraints. A template whose kernels stand in namespace simtune promises kernels that are right for every
// size: its constraints on sizes cut the space that is searched, and hold where they were recorded. Others may
// depend on them (n % BLOCK == 0), so there they are held against the size asked for.
static st_code add_wheres(st_emit_model *model, const st_emit_function *function, size_t row,
                          st_text *out, st_error *error) {
    const st_template *tmpl = model->tmpl;
    const st_choice *choice = st_emit_row_choice(model, function, row);
    static const bool none_given[ST_MAX_AXES] = {false};
    st_emit_values values;
    st_code code = st_emit_values_make(tmpl, &choice->problem, &choice->config, choice->blocks_per_sm,
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
    return unprintable ? st_fail(error, ST_FAILED, "Use axes, parameters and device facts there.",
                                 "%s: a `where` uses something that is known only while tuning", tmpl->path)
                       : ST_OK;
}

static void add_limits(st_emit_model *model, st_emit_plan *plan, st_text *out) {
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
                         st_error *error) {
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
                         st_error *error) {
    st_text_add(out, "SIMTUNE_INLINE_ int ");
    add_name(model, function, "_holds(int row, ", out);
    st_text_addf(out,
                 "const %s_facts *facts, const long long *sizes)\n{\n"
                 "    (void)sizes;\n    switch (row) {\n",
                 model->base);
    st_code code = add_cases(model, function, out, error);
    st_text_add(out, "    }\n    return 0;\n}\n\n");
    return code;
}

static void add_tables(const st_emit_model *model, const st_emit_function *function, st_text *out) {
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

static void add_choice(const st_emit_model *model, const st_emit_function *function, st_text *out) {
    st_text_add(out, "SIMTUNE_INLINE_ int ");
    add_name(model, function, "_choice(", out);
    st_text_addf(out, "const %s_facts *facts, const long long *sizes, int *exact)\n{\n", model->base);
    add_tables(model, function, out);
    st_text_addf(out, "    return %s_choose(classes, %zu, recorded, from, %d, ", model->base,
                 function->class_count, function->has_default ? (int)function->row_count - 1 : -1);
    add_name(model, function, "_holds, facts, sizes, exact);\n}\n\n", out);
}

static void add_config(const st_emit_model *model, const st_emit_function *function, st_text *out) {
    const st_template *tmpl = model->tmpl;
    st_text_add(out, "SIMTUNE_INLINE_ const simtune_config *");
    add_name(model, function, "_config(int cc, int sm_count", out);
    for (size_t i = 0; i < model->size_count; i++)
        st_text_addf(out, ", size_t %s", tmpl->axes[model->size_axes[i]].name);
    st_text_addf(out, ")\n{\n    const %s_facts facts_ = %s_facts_of_class(cc, sm_count);\n"
                      "    int exact_ = 0, row_;\n    long long sizes_[%zu];\n",
                 model->base, model->base, model->size_count ? model->size_count : 1);
    for (size_t i = 0; i < model->size_count; i++)
        st_text_addf(out, "    sizes_[%zu] = %s_size(%s);\n", i, model->base,
                     tmpl->axes[model->size_axes[i]].name);
    if (!model->size_count)
        st_text_add(out, "    sizes_[0] = 0;\n");
    st_text_add(out, "    row_ = ");
    add_name(model, function, "_choice(&facts_, sizes_, &exact_);\n    return row_ < 0 ? NULL : ", out);
    add_name(model, function, "_row(row_, exact_);\n}\n\n", out);
}

st_code st_emit_choice_function(st_emit_model *model, const st_emit_function *function, st_text *out,
                                st_error *error) {
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
