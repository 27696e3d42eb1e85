// SPDX-License-Identifier: Apache-2.0
// What the functions of a header share. Their host code is one text, over the numbers of a row: a name of the
// template that has one worth in all plans is that number; one that every plan knows, each its own, is a column of
// the rows; sizes, facts of the device and alignments are variables; and so is a let that needs one of them. What of
// the text a row needs (steps that it may take, constraints and limits that its numbers alone do not settle, lets)
// stands in its masks, so that nothing is computed for a row that does not ask for it, and no kernel is compiled
// that none of its rows can launch.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <string.h>

// --- names -------------------------------------------------------------------------------------------------------

// What a name is over all plans: as in the first, unless they differ.
static void join_kind(const st_emit_model *model, st_emit_values *all, size_t slot)
{
    const st_emit_values *first = &model->plans[0].values;
    bool known = true, same = true, unknown = false;
    st_range range = first->ranges[slot];
    for (size_t p = 0; p < model->plan_count; p++) {
        const st_emit_values *it = &model->plans[p].values;
        known &= it->kinds[slot] == ST_EMIT_KNOWN;
        unknown |= it->kinds[slot] == ST_EMIT_UNKNOWN;
        same &= it->values[slot] == first->values[slot];
        range.low = it->ranges[slot].low < range.low ? it->ranges[slot].low : range.low;
        range.high = it->ranges[slot].high > range.high ? it->ranges[slot].high : range.high;
        range.may_fail |= it->ranges[slot].may_fail;
        if (it->kinds[slot] != ST_EMIT_KNOWN && all->kinds[slot] != it->kinds[slot]) {
            all->kinds[slot] = it->kinds[slot];
            all->index[slot] = it->index[slot];
        }
    }
    all->ranges[slot] = range;
    all->values[slot] = first->values[slot];
    if (unknown)
        all->kinds[slot] = ST_EMIT_UNKNOWN;
    else if (known)
        all->kinds[slot] = same ? ST_EMIT_KNOWN : ST_EMIT_COLUMN;
}

// --- what depends on what ----------------------------------------------------------------------------------------

static void need(const st_emit_shared *shared, const st_expression *expression, bool *needed)
{
    const st_template *tmpl = shared->values.tmpl;
    for (size_t i = 0; i < tmpl->let_count; i++) {
        int slot = tmpl->lets[i].slot;
        if (needed[i] || shared->values.kinds[slot] != ST_EMIT_LET || !st_expression_uses(expression, slot))
            continue;
        needed[i] = true;
        need(shared, tmpl->lets[i].value, needed);
    }
}

static void need_step(const st_emit_shared *shared, const st_step *step, bool *needed)
{
    const st_template *tmpl = shared->values.tmpl;
    const st_expression *used[] = {step->when,    step->smem,     step->cluster,  step->dependent, step->grid[0],
                                   step->grid[1], step->grid[2],  step->block[0], step->block[1],  step->block[2]};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        if (used[i])
            need(shared, used[i], needed);
    if (step->kind == ST_STEP_ZERO)
        need(shared, tmpl->buffers[step->buffer].count, needed);
    for (size_t i = 0; i < step->argument_count; i++) {
        const st_argument *argument = &step->arguments[i];
        if (argument->buffer >= 0 && tmpl->buffers[argument->buffer].role == ST_BUFFER_TEMP)
            need(shared, tmpl->buffers[argument->buffer].count, needed);
        if (argument->scalar >= 0)
            need(shared, tmpl->scalars[argument->scalar].value, needed);
        else if (argument->buffer < 0)
            need(shared, argument->value, needed);
    }
}

// --- masks -------------------------------------------------------------------------------------------------------

// Constraints and lets beyond the last bit share it.
unsigned long long st_emit_bit(size_t index)
{
    return 1ull << (index < 63 ? index : 63);
}

static bool limits_hold(const st_emit_values *values, const st_step *step)
{
    int64_t shared, cluster, threads = 1;
    // Every device takes blocks of 1024 threads.
    for (int d = 0; d < ST_MAX_DIMS; d++)
        if (__builtin_mul_overflow(threads, st_emit_values_most(values, step->block[d], 1), &threads))
            threads = INT64_MAX;
    return threads <= 1024 && st_emit_values_known(values, step->smem, 0, &shared) && shared <= 0 &&
           st_emit_values_known(values, step->cluster, 1, &cluster) && cluster <= 1;
}

// Steps and limits of a plan, and the lets that these need.
static void mask_plan(const st_emit_shared *shared, const st_emit_plan *plan, st_emit_masks *masks, bool *needed)
{
    const st_template *tmpl = shared->values.tmpl;
    for (size_t i = 0; i < tmpl->step_count; i++) {
        const st_step *step = &tmpl->steps[i];
        if (st_emit_values_truth(&plan->values, step->when) == 0)
            continue;
        masks->steps |= st_emit_bit(i);
        if (step->kind == ST_STEP_LAUNCH && !limits_hold(&plan->values, step))
            masks->limits |= st_emit_bit(i);
        need_step(shared, step, needed);
    }
}

// A template whose kernels stand in namespace simtune promises kernels that are right for every size: its constraints
// on sizes cut the space that is searched, and hold where they were recorded. Others may depend on them
// (n % BLOCK == 0), so there they are held against the size asked for.
static st_code mask_row(const st_emit_model *model, st_emit_shared *shared, st_emit_row *row, bool *needed,
                        st_error *error)
{
    static const bool none_given[ST_MAX_AXES] = {false};
    const st_template *tmpl = model->tmpl;
    const st_choice *choice = &model->choices[row->choice];
    st_emit_values recorded;
    const st_emit_values *values = &model->plans[row->plan].values;
    if (model->in_namespace) {
        st_code code = st_emit_values_make(tmpl, &choice->problem, &choice->config, choice->blocks_per_sm, none_given,
                                           &recorded, error);
        if (code)
            return code;
        values = &recorded;
    }
    for (size_t i = 0; i < tmpl->where_count; i++) {
        if (st_emit_values_truth(values, tmpl->wheres[i]) == 1)
            continue;
        row->masks.wheres |= st_emit_bit(i);
        shared->wheres[i] = true;
        need(shared, tmpl->wheres[i], needed);
    }
    if (model->in_namespace)
        st_emit_values_release(&recorded);
    return ST_OK;
}

// Lets have bits in the order of the file, those that no row needs have none.
static void number_lets(st_emit_model *model, st_emit_shared *shared, const bool *needed)
{
    size_t lets = model->tmpl->let_count, bits = 0;
    for (size_t i = 0; i < lets; i++) {
        bool any = false;
        for (size_t r = 0; r < model->row_count; r++)
            any |= needed[r * lets + i];
        shared->let_bits[i] = any ? st_emit_bit(bits++) : 0;
    }
    for (size_t r = 0; r < model->row_count; r++)
        for (size_t i = 0; i < lets; i++)
            if (needed[r * lets + i])
                model->rows[r].masks.lets |= shared->let_bits[i];
}

static st_code mask_rows(st_emit_model *model, st_emit_shared *shared, st_error *error)
{
    size_t lets = model->tmpl->let_count;
    bool *needed = st_calloc(model->row_count * lets + 1, sizeof *needed);
    st_code code = needed ? ST_OK : st_fail_memory(error, "printing the launch plan");
    for (size_t r = 0; r < model->row_count && code == ST_OK; r++) {
        st_emit_row *row = &model->rows[r];
        row->masks = (st_emit_masks){0};
        mask_plan(shared, &model->plans[row->plan], &row->masks, needed + r * lets);
        code = mask_row(model, shared, row, needed + r * lets, error);
        shared->steps |= row->masks.steps;
    }
    if (code == ST_OK)
        number_lets(model, shared, needed);
    st_free(needed);
    return code;
}

// --- columns -----------------------------------------------------------------------------------------------------

static bool uses(const st_expression *expression, int slot)
{
    return expression && st_expression_uses(expression, slot);
}

static bool step_uses(const st_template *tmpl, const st_step *step, int slot)
{
    bool found = uses(step->when, slot) || uses(step->smem, slot) || uses(step->cluster, slot) ||
                 uses(step->dependent, slot);
    for (int d = 0; d < ST_MAX_DIMS; d++)
        found |= uses(step->grid[d], slot) || uses(step->block[d], slot);
    if (step->kind == ST_STEP_ZERO)
        found |= uses(tmpl->buffers[step->buffer].count, slot);
    for (size_t i = 0; i < step->argument_count; i++) {
        const st_argument *it = &step->arguments[i];
        found |= it->buffer >= 0   ? uses(tmpl->buffers[it->buffer].count, slot)
                 : it->scalar >= 0 ? uses(tmpl->scalars[it->scalar].value, slot)
                                   : uses(it->value, slot);
    }
    return found;
}

// Is the name asked for by anything that any row may need?
static bool is_asked(const st_emit_shared *shared, int slot)
{
    const st_template *tmpl = shared->values.tmpl;
    bool found = false;
    for (size_t i = 0; i < tmpl->step_count && !found; i++)
        found = (shared->steps & st_emit_bit(i)) && step_uses(tmpl, &tmpl->steps[i], slot);
    for (size_t i = 0; i < tmpl->where_count && !found; i++)
        found = shared->wheres[i] && uses(tmpl->wheres[i], slot);
    for (size_t i = 0; i < tmpl->let_count && !found; i++)
        found = shared->let_bits[i] && uses(tmpl->lets[i].value, slot);
    return found;
}

static size_t element_size(const st_emit_model *model, size_t buffer, size_t choice)
{
    return st_type_of(st_emit_buffer_type(model->tmpl, &model->choices[choice].problem,
                                          &model->tmpl->buffers[buffer]))->size;
}

static bool sizes_differ(const st_emit_model *model, size_t buffer)
{
    for (size_t i = 1; i < model->choice_count; i++)
        if (element_size(model, buffer, i) != element_size(model, buffer, 0))
            return true;
    return false;
}

// The column of a buffer before this one whose elements have the same sizes in all rows; -1: none.
static int same_sizes(const st_emit_model *model, size_t buffer)
{
    for (size_t b = 0; b < buffer; b++) {
        bool same = model->shared.element_columns[b] >= 0;
        for (size_t i = 0; same && i < model->choice_count; i++)
            same = element_size(model, b, i) == element_size(model, buffer, i);
        if (same)
            return model->shared.element_columns[b];
    }
    return -1;
}

// The parameters are the first columns, as users know them; then what else the text asks for, and sizes of elements.
static void place_columns(const st_emit_model *model, st_emit_shared *shared)
{
    const st_template *tmpl = model->tmpl;
    for (size_t i = 0; i < tmpl->parameter_count; i++) {
        shared->values.index[tmpl->parameters[i].slot] = (int)i;
        shared->column_slots[i] = tmpl->parameters[i].slot;
    }
    shared->column_count = tmpl->parameter_count;
    for (size_t slot = 0; slot < shared->values.count; slot++) {
        bool is_parameter = false;
        for (size_t i = 0; i < tmpl->parameter_count; i++)
            is_parameter |= tmpl->parameters[i].slot == (int)slot;
        if (is_parameter || shared->values.kinds[slot] != ST_EMIT_COLUMN || !is_asked(shared, (int)slot))
            continue;
        shared->column_slots[shared->column_count] = (int)slot;
        shared->values.index[slot] = (int)shared->column_count++;
    }
    for (size_t i = 0; i < tmpl->buffer_count; i++) {
        shared->element_columns[i] = -1;
        if (!st_emit_steps_of(model, (int)i) || !sizes_differ(model, i))
            continue;
        shared->element_columns[i] = same_sizes(model, i);
        if (shared->element_columns[i] >= 0)
            continue;
        shared->column_slots[shared->column_count] = -1 - (int)i;
        shared->element_columns[i] = (int)shared->column_count++;
    }
}

int64_t st_emit_column(const st_emit_model *model, const st_emit_row *row, size_t column)
{
    const st_choice *choice = &model->choices[row->choice];
    int slot = model->shared.column_slots[column];
    if (column < model->tmpl->parameter_count)
        return choice->config.value[column];
    if (slot < 0)
        return (int64_t)element_size(model, (size_t)(-1 - slot), row->choice);
    return model->plans[row->plan].values.values[slot];
}

// --- the whole ---------------------------------------------------------------------------------------------------

st_code st_emit_share(st_emit_model *model, st_error *error)
{
    st_emit_shared *shared = &model->shared;
    const st_template *tmpl = model->tmpl;
    const st_choice *choice = &model->choices[0];
    if (tmpl->step_count > 63)
        return st_fail(error, ST_USAGE, "Make two families of it.", "%s: a header has room for 63 steps, not for %zu",
                       tmpl->path, tmpl->step_count);
    st_code code = st_emit_values_make(tmpl, &choice->problem, &choice->config, choice->blocks_per_sm, model->given,
                                       &shared->values, error);
    if (code)
        return code;
    shared->wheres = st_calloc(tmpl->where_count + 1, sizeof *shared->wheres);
    shared->let_bits = st_calloc(tmpl->let_count + 1, sizeof *shared->let_bits);
    shared->column_slots = st_calloc(tmpl->scope.count + tmpl->buffer_count + 1, sizeof *shared->column_slots);
    shared->element_columns = st_calloc(tmpl->buffer_count + 1, sizeof *shared->element_columns);
    if (!shared->wheres || !shared->let_bits || !shared->column_slots || !shared->element_columns)
        return st_fail_memory(error, "printing the launch plan");
    for (size_t slot = 0; slot < shared->values.count; slot++)
        join_kind(model, &shared->values, slot);
    code = mask_rows(model, shared, error);
    shared->values.let_bits = shared->let_bits;
    if (!code)
        place_columns(model, shared);
    return code;
}

void st_emit_share_release(st_emit_shared *shared)
{
    st_emit_values_release(&shared->values);
    st_free(shared->wheres);
    st_free(shared->let_bits);
    st_free(shared->column_slots);
    st_free(shared->element_columns);
    memset(shared, 0, sizeof *shared);
}
