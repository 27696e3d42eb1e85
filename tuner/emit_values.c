// SPDX-License-Identifier: Apache-2.0
// What is known of each name when an expression of the template is printed into a program.
// Parameters, words and types are numbers by then; sizes, device facts and alignments are
// variables; a let is a number when all that it uses is, else a variable. What has one value only,
// whatever the variables hold, is computed here: of a choice that is made, nothing is left in the
// program.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <string.h>

static void know(st_emit_values *values, int slot, int64_t value)
{
    if (slot < 0)
        return;
    values->kinds[slot] = ST_EMIT_KNOWN;
    values->values[slot] = value;
    values->ranges[slot] = (st_range){value, value, false};
}

static void is_variable(st_emit_values *values, int slot, st_emit_kind kind, int index)
{
    if (slot < 0)
        return;
    static const st_range ranges[] = {
        [ST_EMIT_SIZE] = {0, (int64_t)1 << 48, false}, // larger ones are refused
        [ST_EMIT_FACT] = {0, (int64_t)1 << 56, false},
        [ST_EMIT_ALIGN] = {1, 256, false},
        [ST_EMIT_LET] = {INT64_MIN, INT64_MAX, true},
    };
    values->kinds[slot] = (unsigned char)kind;
    values->index[slot] = index;
    values->ranges[slot] = ranges[kind];
}

static st_range range_of(const st_emit_values *values, const st_expression *expression)
{
    const st_sql_names names = {NULL, NULL, values->ranges, NULL};
    return st_expression_range(expression, &names);
}

static void bind_names(st_emit_values *values, const st_problem *problem, const st_config *config,
                       int64_t blocks_per_sm, const bool *given)
{
    const st_template *tmpl = values->tmpl;
    for (size_t i = 0; i < tmpl->scope.count; i++)
        if (tmpl->scope.names[i].is_constant)
            know(values, (int)i, tmpl->scope.names[i].value);
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        if (tmpl->axes[i].kind == ST_AXIS_SIZE && given[i])
            is_variable(values, tmpl->axes[i].slot, ST_EMIT_SIZE, (int)i);
        else
            know(values, tmpl->axes[i].slot, problem->value[i]);
    }
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        know(values, tmpl->parameters[i].slot, config->value[i]);
    for (size_t i = 0; i < st_emit_fact_count(); i++)
        is_variable(values, tmpl->fact_slots[i], ST_EMIT_FACT, (int)i);
    for (size_t i = 0; i < tmpl->buffer_count; i++) {
        if (tmpl->buffers[i].role == ST_BUFFER_TEMP)
            know(values, tmpl->buffers[i].align_slot, 256);
        else
            is_variable(values, tmpl->buffers[i].align_slot, ST_EMIT_ALIGN, (int)i);
    }
    const st_type *type = st_problem_type(tmpl, problem);
    if (type) {
        know(values, tmpl->slot_size_of_type, (int64_t)type->size);
        know(values, tmpl->slot_is_float, type->is_float);
    }
    if (blocks_per_sm >= 0)
        know(values, tmpl->slot_blocks_per_sm, blocks_per_sm);
}

static bool uses_unknown(const st_emit_values *values, const st_expression *expression)
{
    return st_expression_uses_kind(expression, values->kinds, ST_EMIT_UNKNOWN, true);
}

st_code st_emit_values_make(const st_template *tmpl, const st_problem *problem,
                            const st_config *config, int64_t blocks_per_sm, const bool *given,
                            st_emit_values *out, st_error *error)
{
    memset(out, 0, sizeof *out);
    size_t count = tmpl->scope.count;
    out->tmpl = tmpl;
    out->count = count;
    out->values = st_calloc(count + 1, sizeof *out->values);
    out->kinds = st_calloc(count + 1, sizeof *out->kinds);
    out->index = st_calloc(count + 1, sizeof *out->index);
    out->used = st_calloc(count + 1, sizeof *out->used);
    out->ranges = st_calloc(count + 1, sizeof *out->ranges);
    if (!out->values || !out->kinds || !out->index || !out->used || !out->ranges) {
        st_emit_values_release(out);
        return st_fail_memory(error, "printing the launch plan");
    }
    for (size_t i = 0; i < count; i++)
        out->ranges[i] = (st_range){INT64_MIN, INT64_MAX, true};
    bind_names(out, problem, config, blocks_per_sm, given);
    for (size_t i = 0; i < tmpl->let_count; i++) {
        int64_t value;
        if (st_emit_values_known(out, tmpl->lets[i].value, 0, &value))
            know(out, tmpl->lets[i].slot, value);
        else if (!uses_unknown(out, tmpl->lets[i].value))
            is_variable(out, tmpl->lets[i].slot, ST_EMIT_LET, (int)i);
        if (out->kinds[tmpl->lets[i].slot] == ST_EMIT_LET)
            out->ranges[tmpl->lets[i].slot] = range_of(out, tmpl->lets[i].value);
    }
    return ST_OK;
}

void st_emit_values_release(st_emit_values *values)
{
    st_free(values->values);
    st_free(values->kinds);
    st_free(values->index);
    st_free(values->used);
    st_free(values->ranges);
    memset(values, 0, sizeof *values);
}

void st_emit_values_forget(st_emit_values *values)
{
    memset(values->used, 0, values->count * sizeof *values->used);
}

int64_t st_emit_values_most(const st_emit_values *values, const st_expression *expression,
                            int64_t missing)
{
    int64_t value;
    if (st_emit_values_known(values, expression, missing, &value))
        return value;
    return range_of(values, expression).high;
}

bool st_emit_values_known(const st_emit_values *values, const st_expression *expression,
                          int64_t missing, int64_t *out)
{
    if (!expression) {
        *out = missing;
        return true;
    }
    if (st_expression_uses_kind(expression, values->kinds, ST_EMIT_KNOWN, false)) {
        // `FINISH != cluster or CC >= 90` is decided by FINISH alone.
        st_range range = range_of(values, expression);
        *out = range.low;
        return range.low == range.high && !range.may_fail;
    }
    // An error (a zero divisor) is left to the program, which can reach it or not.
    return st_expression_evaluate(expression, values->values, out, NULL) == ST_OK;
}

// Calls `each` for the conjuncts; a condition of more terms than fit is one term.
#define ST_EMIT_TERMS 64
static size_t terms_of(const st_expression *condition, const st_expression *terms[ST_EMIT_TERMS])
{
    size_t count = st_expression_conjuncts(condition, terms, ST_EMIT_TERMS);
    if (count > ST_EMIT_TERMS) {
        terms[0] = condition;
        return 1;
    }
    return count;
}

int st_emit_values_truth(const st_emit_values *values, const st_expression *condition)
{
    if (!condition)
        return 1;
    const st_expression *terms[ST_EMIT_TERMS];
    size_t count = terms_of(condition, terms);
    int truth = 1;
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        if (!st_emit_values_known(values, terms[i], 1, &value))
            truth = -1;
        else if (!value)
            return 0;
    }
    return truth;
}

static void print_name(void *context, int slot, st_text *out)
{
    st_emit_values *values = context;
    const st_template *tmpl = values->tmpl;
    values->used[slot] = true;
    int index = values->index[slot];
    switch ((st_emit_kind)values->kinds[slot]) {
    case ST_EMIT_KNOWN:
        if (values->values[slot] == INT64_MIN)
            st_text_add(out, "(-9223372036854775807LL - 1)");
        else
            st_text_addf(out, values->values[slot] < 0 ? "(%lldLL)" : "%lldLL",
                         (long long)values->values[slot]);
        break;
    case ST_EMIT_SIZE:
        st_text_addf(out, "size_%s", tmpl->axes[index].name);
        break;
    case ST_EMIT_FACT:
        // Code that was compiled for an older architecture than the device's lacks what the newer
        // has.
        st_text_addf(out, "facts->%s", index == 0 ? "code_cc" : st_emit_fact_of((size_t)index)->field);
        break;
    case ST_EMIT_COLUMN:
        st_text_addf(out, "p_%s", tmpl->scope.names[slot].name);
        break;
    case ST_EMIT_ALIGN:
        st_text_addf(out, "align_%s", tmpl->buffers[index].name);
        break;
    case ST_EMIT_LET:
        st_text_addf(out, "let_%s", tmpl->lets[index].name);
        break;
    case ST_EMIT_UNKNOWN:
        values->unprintable = true;
        st_text_add(out, "0LL");
        break;
    }
}

void st_emit_values_print(st_emit_values *values, const st_expression *expression, int64_t missing,
                          st_text *out)
{
    int64_t value;
    if (st_emit_values_known(values, expression, missing, &value))
        st_text_addf(out, "%lld", (long long)value);
    else
        st_expression_print_cxx(expression, print_name, values, out);
}

// Lets use earlier lets: from the last to the first, printing a used one marks what it needs.
static void mark_lets(st_emit_values *values, st_text *out)
{
    const st_template *tmpl = values->tmpl;
    st_text scratch;
    st_text_init(&scratch);
    for (size_t i = tmpl->let_count; i-- > 0;)
        if (values->used[tmpl->lets[i].slot] && values->kinds[tmpl->lets[i].slot] == ST_EMIT_LET)
            st_expression_print_cxx(tmpl->lets[i].value, print_name, values, &scratch);
    out->failed |= scratch.failed;
    st_text_release(&scratch);
}

static size_t size_position(const st_emit_values *values, int axis)
{
    size_t position = 0;
    for (int i = 0; i < axis; i++)
        if (values->kinds[values->tmpl->axes[i].slot] == ST_EMIT_SIZE)
            position++;
    return position;
}

static void declare_alignment(const char *name, const char *indent, const char *alignment, st_text *out)
{
    const char *place = strstr(alignment, "%s");
    st_text_addf(out, "%sconst long long align_%s = ", indent, name);
    if (place)
        st_text_addf(out, "%.*s%s%s;\n", (int)(place - alignment), alignment, name, place + 2);
    else
        st_text_addf(out, "%s;\n", alignment);
}

static void declare_lets(st_emit_values *values, const char *indent, st_text *out)
{
    const st_template *tmpl = values->tmpl;
    for (size_t i = 0; i < tmpl->let_count; i++) {
        int slot = tmpl->lets[i].slot;
        if (values->kinds[slot] != ST_EMIT_LET || !values->used[slot])
            continue;
        st_text_addf(out, "%sconst long long let_%s = ", indent, tmpl->lets[i].name);
        if (values->let_bits)
            st_text_addf(out, "!(row->lets & 0x%llx) ? 0 : ", values->let_bits[i]);
        st_emit_values_print(values, tmpl->lets[i].value, 0, out);
        st_text_add(out, ";\n");
    }
}

void st_emit_values_declare(st_emit_values *values, const char *indent, const char *sizes, const char *alignment,
                            st_text *out)
{
    const st_template *tmpl = values->tmpl;
    mark_lets(values, out);
    for (size_t slot = 0; slot < values->count; slot++)
        if (values->kinds[slot] == ST_EMIT_COLUMN && values->used[slot])
            st_text_addf(out, "%sconst long long p_%s = row->value[%d];\n", indent, tmpl->scope.names[slot].name,
                         values->index[slot]);
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (values->kinds[tmpl->axes[i].slot] == ST_EMIT_SIZE && values->used[tmpl->axes[i].slot])
            st_text_addf(out, "%sconst long long size_%s = %s[%zu];\n", indent, tmpl->axes[i].name, sizes,
                         size_position(values, (int)i));
    for (size_t i = 0; i < tmpl->buffer_count; i++) {
        int slot = tmpl->buffers[i].align_slot;
        if (slot >= 0 && values->kinds[slot] == ST_EMIT_ALIGN && values->used[slot])
            declare_alignment(tmpl->buffers[i].name, indent, alignment, out);
    }
    declare_lets(values, indent, out);
}

// Does it use, itself or through a let, a fact that a class's compute capability does not tell?
static bool uses_hidden_fact(const st_emit_values *values, const st_expression *expression)
{
    for (size_t i = 0; i < values->count; i++) {
        if (!st_expression_uses(expression, (int)i))
            continue;
        int index = values->index[i];
        if (values->kinds[i] == ST_EMIT_FACT && !st_emit_fact_of((size_t)index)->of_class)
            return true;
        if (values->kinds[i] == ST_EMIT_LET &&
            uses_hidden_fact(values, values->tmpl->lets[index].value))
            return true;
    }
    return false;
}

void st_emit_values_print_condition(st_emit_values *values, const st_expression *condition,
                                    bool guard_facts, st_text *out)
{
    const st_expression *terms[ST_EMIT_TERMS];
    size_t count = condition ? terms_of(condition, terms) : 0, printed = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        if (st_emit_values_known(values, terms[i], 1, &value) && value)
            continue;
        st_text_add(out, printed++ ? " && " : "");
        if (guard_facts && uses_hidden_fact(values, terms[i])) {
            st_text_add(out, "(!facts->complete || ");
            st_emit_values_print(values, terms[i], 1, out);
            st_text_add(out, ")");
        } else {
            st_emit_values_print(values, terms[i], 1, out);
        }
    }
    if (!printed)
        st_text_add(out, "1");
}
