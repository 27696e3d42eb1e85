// SPDX-License-Identifier: Apache-2.0
// The header's model: which functions there are, their rows by class and size, which rows share a
// plan and which plans share kernels. Everything is sorted here, so that the printers only walk.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- order ---------------------------------------------------------------------------------------

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

// Position of an axis's value in the template's list: the order of the file is the order of the
// header.
static int64_t place_of(const st_axis *axis, int64_t number)
{
    for (size_t i = 0; i < axis->value_count; i++)
        if (axis->values[i].number == number)
            return (int64_t)i;
    return (int64_t)axis->value_count;
}

static int compare_function(const st_template *tmpl, const st_choice *a, const st_choice *b)
{
    for (int kind = ST_AXIS_TYPE; kind <= ST_AXIS_WORD; kind++) {
        for (size_t i = 0; i < tmpl->axis_count; i++) {
            if (tmpl->axes[i].kind != (st_axis_kind)kind || tmpl->axes[i].data)
                continue;
            int64_t left = a->problem.value[i], right = b->problem.value[i];
            if (kind == ST_AXIS_WORD) {
                left = place_of(&tmpl->axes[i], left);
                right = place_of(&tmpl->axes[i], right);
            }
            if (left != right)
                return compare_numbers(left, right);
        }
    }
    return 0;
}

static int compare_class(const st_device_class *a, const st_device_class *b)
{
    return a->cc != b->cc ? compare_numbers(a->cc, b->cc)
                          : compare_numbers(a->sm_count, b->sm_count);
}

static int compare_sizes(const st_emit_model *model, const st_choice *a, const st_choice *b)
{
    for (size_t i = 0; i < model->size_count; i++) {
        int axis = model->size_axes[i];
        if (a->problem.value[axis] != b->problem.value[axis])
            return compare_numbers(a->problem.value[axis], b->problem.value[axis]);
    }
    return 0;
}

// Of choices for the same problem: the order of the axes that are no arguments, then the newest,
// then text.
static int compare_rest(const st_emit_model *model, const st_choice *a, const st_choice *b)
{
    const st_template *tmpl = model->tmpl;
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        int64_t left = place_of(&tmpl->axes[i], a->problem.value[i]);
        int64_t right = place_of(&tmpl->axes[i], b->problem.value[i]);
        if (tmpl->axes[i].kind == ST_AXIS_SIZE && !model->given[i] && left != right)
            return compare_numbers(left, right);
    }
    if (a->predicted != b->predicted)
        return a->predicted ? 1 : -1;
    if (a->measured_ms != b->measured_ms)
        return compare_numbers(b->measured_ms, a->measured_ms);
    int order = strcmp(a->candidate_id, b->candidate_id);
    for (size_t i = 0; !order && i < tmpl->parameter_count; i++)
        order = compare_numbers(a->config.value[i], b->config.value[i]);
    return order;
}

static int compare_choices(const void *left, const void *right, void *context)
{
    const st_emit_model *model = context;
    const st_choice *a = left, *b = right;
    int order = compare_function(model->tmpl, a, b);
    if (!order)
        order = compare_class(&a->device_class, &b->device_class);
    if (!order)
        order = compare_sizes(model, a, b);
    return order ? order : compare_rest(model, a, b);
}

static void sort_choices(st_emit_model *model)
{
    qsort_r(model->choices, model->choice_count, sizeof *model->choices, compare_choices, model);
    size_t kept = 0; // one a function, class and size
    for (size_t i = 0; i < model->choice_count; i++) {
        const st_choice *before = kept ? &model->choices[kept - 1] : NULL, *it = &model->choices[i];
        if (before && !compare_function(model->tmpl, before, it) &&
            !compare_class(&before->device_class, &it->device_class) &&
            !compare_sizes(model, before, it))
            continue;
        if (kept != i)
            model->choices[kept] = *it;
        kept++;
    }
    model->choice_count = kept;
    model->given_count = kept;
}

// --- what there is --------------------------------------------------------------

// Every list of host_args names every size, so that all functions have the same.
static void find_sizes(st_emit_model *model)
{
    const st_template *tmpl = model->tmpl;
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        model->given[i] = tmpl->axes[i].kind == ST_AXIS_SIZE && !tmpl->axes[i].data;
        if (model->given[i])
            model->size_axes[model->size_count++] = (int)i;
    }
}

// Rows of other data than the usual make no header.
static size_t keep_usual(const st_template *tmpl, const st_choice *from, size_t count,
                         st_choice *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (st_problem_is_usual(tmpl, &from[i].problem))
            to[kept++] = from[i];
    return kept;
}

// --- plans and what they share -------------------------------------------------------------------

// The same kernels: type, words and compiled parameters.
static bool same_structure(const st_template *tmpl, const st_choice *a, const st_choice *b)
{
    if (compare_function(tmpl, a, b))
        return false;
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        if (!tmpl->parameters[i].runtime && a->config.value[i] != b->config.value[i])
            return false;
    return true;
}

static bool same_plan(const st_emit_model *model, const st_choice *a, const st_choice *b)
{
    const st_template *tmpl = model->tmpl;
    if (!same_structure(tmpl, a, b) || a->blocks_per_sm != b->blocks_per_sm ||
        !st_config_equal(tmpl, &a->config, &b->config))
        return false;
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_SIZE && !model->given[i] &&
            a->problem.value[i] != b->problem.value[i])
            return false;
    return true;
}

static size_t structure_of(st_emit_model *model, size_t choice)
{
    for (size_t i = 0; i < model->structure_count; i++)
        if (same_structure(model->tmpl, &model->choices[model->structures[i]],
                           &model->choices[choice]))
            return i;
    model->structures[model->structure_count] = choice;
    return model->structure_count++;
}

static st_code plan_of(st_emit_model *model, st_emit_function *function, size_t choice,
                       size_t *plan, st_error *error)
{
    for (size_t i = 0; i < function->plan_count; i++) {
        const st_emit_plan *known = &model->plans[function->first_plan + i];
        if (same_plan(model, &model->choices[known->choice], &model->choices[choice])) {
            *plan = function->first_plan + i;
            return ST_OK;
        }
    }
    const st_choice *it = &model->choices[choice];
    st_emit_plan *fresh = &model->plans[model->plan_count];
    st_code code = st_emit_values_make(model->tmpl, &it->problem, &it->config, it->blocks_per_sm,
                                       model->given, &fresh->values, error);
    if (code)
        return code;
    fresh->choice = choice;
    fresh->structure = structure_of(model, choice);
    function->plan_count++;
    *plan = model->plan_count++;
    return ST_OK;
}

// Which `where` rules a plan out whatever the device; NULL when none does.
static const st_expression *broken_where(const st_template *tmpl, const st_emit_values *values)
{
    for (size_t i = 0; i < tmpl->where_count; i++)
        if (st_emit_values_truth(values, tmpl->wheres[i]) == 0)
            return tmpl->wheres[i];
    return NULL;
}

// --- functions -----------------------------------------------------------------------------------

// The smallest size that is nearer to `above` than to `below` on a log scale: their geometric mean,
// rounded up.
static int64_t threshold(int64_t below, int64_t above)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(below > 0 ? below : 1) * (wide)(above > 0 ? above : 1);
    uint64_t low = 0, high = (uint64_t)1 << 63; // low² < product <= high²
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if ((wide)middle * middle >= product)
            high = middle;
        else
            low = middle;
    }
    return (int64_t)high;
}

static st_code add_row(st_emit_model *model, st_emit_function *function, size_t choice,
                       st_error *error)
{
    const st_choice *it = &model->choices[choice];
    st_emit_row *row = &model->rows[model->row_count];
    st_code code = plan_of(model, function, choice, &row->plan, error);
    if (code)
        return code;
    row->choice = choice;
    row->from = 0;
    model->row_count++;
    function->row_count++;
    if (choice >= model->given_count)
        return ST_OK; // the default has no class
    st_emit_class *last = function->class_count
                              ? &model->classes[function->first_class + function->class_count - 1]
                              : NULL;
    if (!last || compare_class(&last->device, &it->device_class)) {
        last = &model->classes[model->class_count++];
        *last = (st_emit_class){it->device_class, function->row_count - 1, 0};
        function->class_count++;
    } else if (model->size_count == 1) {
        int axis = model->size_axes[0];
        row->from =
            threshold(model->choices[row[-1].choice].problem.value[axis], it->problem.value[axis]);
    }
    last->count++;
    const st_expression *broken = broken_where(model->tmpl, &model->plans[row->plan].values);
    if (broken)
        return st_fail(error, ST_STALE, "Tune again, or leave this row out.",
                       "%s: a row for sm_%d breaks `%s`", model->tmpl->path, it->device_class.cc,
                       st_expression_text(broken));
    return ST_OK;
}

// The default configuration as what is left when no row suits the running device: one block a SM,
// which is never too many. Left out where a `where` rules it out for this type.
static st_code add_default(st_emit_model *model, st_emit_function *function, size_t like,
                           st_error *error)
{
    st_choice *choice = &model->choices[model->choice_count];
    memset(choice, 0, sizeof *choice);
    choice->problem = model->choices[like].problem;
    st_config_default(model->tmpl, &choice->config);
    choice->blocks_per_sm = 1;
    choice->median_ns = choice->speedup = choice->speedup_low = choice->speedup_high = NAN;
    choice->gbs = NAN;
    choice->memory_bytes = -1;
    choice->predicted = true;
    st_emit_values values;
    st_code code = st_emit_values_make(model->tmpl, &choice->problem, &choice->config, 1,
                                       model->given, &values, error);
    if (code)
        return code;
    bool allowed = broken_where(model->tmpl, &values) == NULL;
    st_emit_values_release(&values);
    if (!allowed)
        return ST_OK;
    model->choice_count++;
    function->has_default = true;
    return add_row(model, function, model->choice_count - 1, error);
}

static st_code add_functions(st_emit_model *model, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; !code && i < model->given_count;) {
        st_emit_function *function = &model->functions[model->function_count++];
        function->first_row = model->row_count;
        function->first_class = model->class_count;
        function->first_plan = model->plan_count;
        code = st_emit_name_function(model, function, &model->choices[i], error);
        size_t first = i;
        for (; !code && i < model->given_count &&
               !compare_function(model->tmpl, &model->choices[first], &model->choices[i]);
             i++)
            code = add_row(model, function, i, error);
        if (!code)
            code = add_default(model, function, first, error);
    }
    return code;
}

// --- the whole -----------------------------------------------------------------------------------

static void mark_facts(st_emit_model *model)
{
    static const char *const always[] = {"CC", "SM_COUNT", "MAX_THREADS_PER_BLOCK",
                                         "SMEM_PER_BLOCK"};
    const st_template *tmpl = model->tmpl;
    for (size_t i = 0; i < st_emit_fact_count(); i++) {
        int slot = tmpl->fact_slots[i];
        for (size_t j = 0; j < sizeof always / sizeof always[0]; j++)
            model->fact_used[i] |= strcmp(st_emit_fact_of(i)->name, always[j]) == 0;
        if (slot < 0)
            continue;
        for (size_t j = 0; j < tmpl->where_count; j++)
            model->fact_used[i] |= st_expression_uses(tmpl->wheres[j], slot);
        for (size_t j = 0; j < tmpl->let_count; j++)
            model->fact_used[i] |= st_expression_uses(tmpl->lets[j].value, slot);
        for (size_t j = 0; j < tmpl->buffer_count; j++)
            model->fact_used[i] |= st_expression_uses(tmpl->buffers[j].count, slot);
        for (size_t j = 0; j < tmpl->step_count; j++) {
            const st_step *step = &tmpl->steps[j];
            const st_expression *used[] = {
                step->when,    step->smem,    step->cluster,  step->dependent, step->grid[0],
                step->grid[1], step->grid[2], step->block[0], step->block[1],  step->block[2]};
            for (size_t k = 0; k < sizeof used / sizeof used[0]; k++)
                model->fact_used[i] |= used[k] && st_expression_uses(used[k], slot);
            for (size_t k = 0; k < step->argument_count; k++)
                model->fact_used[i] |= step->arguments[k].value &&
                                       st_expression_uses(step->arguments[k].value, slot);
        }
    }
}

st_code st_emit_model_make(const st_template *tmpl, const st_choice *choices, size_t count,
                           const st_emit_options *options, st_emit_model *out, st_error *error)
{
    memset(out, 0, sizeof *out);
    out->tmpl = tmpl;
    out->options = options;
    if (count == 0)
        return st_fail(error, ST_NOTHING, "Tune first, or ask for another type or device.",
                       "there is no row to print a header of %s from", tmpl->family);
    st_text upper;
    st_text_init(&upper);
    st_emit_upper(tmpl->family, &upper);
    out->upper = st_text_take(&upper);
    out->base = st_format("simtune_%s", tmpl->family);
    out->choices = st_calloc(2 * count, sizeof *out->choices);
    out->rows = st_calloc(2 * count, sizeof *out->rows);
    out->classes = st_calloc(2 * count, sizeof *out->classes);
    out->plans = st_calloc(2 * count, sizeof *out->plans);
    out->functions = st_calloc(count, sizeof *out->functions);
    out->structures = st_calloc(2 * count, sizeof *out->structures);
    st_code code = out->upper && out->base && out->choices && out->rows && out->classes &&
                           out->plans && out->functions && out->structures
                       ? ST_OK
                       : st_fail_memory(error, "sorting the header's rows");
    if (!code) {
        for (char *at = out->base; *at; at++)
            if (*at == '-' || *at == '.')
                *at = '_';
        out->choice_count = keep_usual(tmpl, choices, count, out->choices);
        if (!out->choice_count)
            code = st_fail(error, ST_NOTHING, "Tune without --axis of these.",
                           "every row of %s is of other data than the usual", tmpl->family);
        for (size_t i = 0; i < out->choice_count; i++)
            if (out->choices[i].blocks_per_sm < 1)
                out->choices[i].blocks_per_sm = 1;
        find_sizes(out);
    }
    if (!code) {
        sort_choices(out);
        mark_facts(out);
        code = add_functions(out, error);
    }
    if (code)
        st_emit_model_release(out);
    return code;
}

void st_emit_model_release(st_emit_model *model)
{
    for (size_t i = 0; i < model->function_count; i++) {
        st_free(model->functions[i].name);
        st_free(model->functions[i].upper);
        st_free(model->functions[i].full);
        st_free(model->functions[i].arguments);
    }
    for (size_t i = 0; i < model->plan_count; i++)
        st_emit_values_release(&model->plans[i].values);
    st_free(model->base);
    st_free(model->upper);
    st_free(model->choices);
    st_free(model->rows);
    st_free(model->classes);
    st_free(model->plans);
    st_free(model->functions);
    st_free(model->structures);
    st_emit_share_release(&model->shared);
    memset(model, 0, sizeof *model);
}

const st_choice *st_emit_row_choice(const st_emit_model *model, const st_emit_function *function,
                                    size_t row)
{
    return &model->choices[model->rows[function->first_row + row].choice];
}

size_t st_emit_row_plan(const st_emit_model *model, const st_emit_function *function, size_t row)
{
    return model->rows[function->first_row + row].plan;
}

bool st_emit_in_place(const st_emit_model *model, const st_emit_function *function,
                      const st_in_place *promise)
{
    bool takes_input = false, takes_output = false;
    for (size_t i = 0; i < function->argument_count; i++) {
        takes_input |= function->arguments[i].buffer == promise->input;
        takes_output |= function->arguments[i].buffer == promise->output;
    }
    for (size_t i = 0; i < function->plan_count; i++)
        if (st_emit_values_truth(&model->plans[function->first_plan + i].values, promise->when) != 1)
            return false;
    return takes_input && takes_output;
}
