// SPDX-License-Identifier: Apache-2.0
// The choice that a header makes on a device, made here: what emit_search.c and emit_choice.c print as C, computed from
// the same model. tests/consumers/chosen.c holds the two against each other.
#include "tuner/emit_internal.h"

#include <stdlib.h>
#include <string.h>

// --- does a row hold on the device? ------------------------------------------------------------------------------

// Blocks, shared memory and clusters of every launch that the row takes.
static st_code launches_hold(const st_bindings *bindings, const st_device_facts *device, bool *holds, st_error *error)
{
    const st_template *tmpl = bindings->tmpl;
    st_code code = ST_OK;
    for (size_t i = 0; i < tmpl->step_count && code == ST_OK && *holds; i++) {
        const st_step *step = &tmpl->steps[i];
        int64_t taken = 0, threads = 1, smem = 0, cluster = 1;
        if (step->kind != ST_STEP_LAUNCH)
            continue;
        code = st_bindings_evaluate(bindings, step->when, 1, &taken, error);
        if (code != ST_OK || !taken)
            continue;
        for (int d = 0; d < ST_MAX_DIMS && code == ST_OK; d++) {
            int64_t size = 1;
            code = st_bindings_evaluate(bindings, step->block[d], 1, &size, error);
            if (__builtin_mul_overflow(threads, size, &threads))
                threads = INT64_MAX;
        }
        if (code == ST_OK)
            code = st_bindings_evaluate(bindings, step->smem, 0, &smem, error);
        if (code == ST_OK)
            code = st_bindings_evaluate(bindings, step->cluster, 1, &cluster, error);
        *holds = threads <= device->max_threads_per_block && smem <= device->smem_per_block &&
                 (cluster <= 1 || device->cc >= 90);
    }
    return code;
}

static st_code wheres_hold(const st_bindings *bindings, bool *holds, st_error *error)
{
    const st_template *tmpl = bindings->tmpl;
    st_code code = ST_OK;
    for (size_t i = 0; i < tmpl->where_count && code == ST_OK && *holds; i++) {
        int64_t value = 0;
        code = st_bindings_evaluate(bindings, tmpl->wheres[i], 1, &value, error);
        *holds = value != 0;
    }
    return code;
}

static st_code bind(const st_emit_model *model, const st_choice *choice, const st_problem *problem,
                    const st_device_facts *device, st_bindings *out, st_error *error)
{
    st_code code = st_bindings_make(model->tmpl, problem, &choice->config, device, out, error);
    if (code != ST_OK)
        return code;
    code = st_bindings_late(out, choice->blocks_per_sm, error);
    if (code != ST_OK)
        st_bindings_release(out);
    return code;
}

// Kernels in namespace simtune are right for every size: their constraints hold where they were recorded
// (emit_choice.c). What cannot be evaluated does not hold, as in the header, where it gives 0.
static st_code row_holds(const st_emit_model *model, const st_choice *choice, const st_problem *asked,
                         const st_device_facts *device, bool *holds, st_error *error)
{
    st_error why = {0};
    *holds = true;
    for (int part = 0; part < 2 && *holds; part++) {
        st_bindings bindings;
        const st_problem *problem = part == 0 && model->in_namespace ? &choice->problem : asked;
        st_code code = bind(model, choice, problem, device, &bindings, &why);
        if (code == ST_OK) {
            code = part == 0 ? wheres_hold(&bindings, holds, &why) : launches_hold(&bindings, device, holds, &why);
            st_bindings_release(&bindings);
        }
        if (code == ST_NO_MEMORY) {
            if (error)
                *error = why;
            return code;
        }
        if (code != ST_OK)
            *holds = false;
    }
    return ST_OK;
}

// --- the order in which rows and classes are tried ----------------------------------------------------------------

static int64_t class_distance(const st_device_class *known, const st_device_facts *facts)
{
    int64_t cc = facts->cc - known->cc, sms = llabs(facts->sm_count - known->sm_count);
    if (facts->cc / 10 != known->cc / 10)
        cc = cc < 0 ? 100000 - cc : 1000 + cc;
    cc = cc < 0 ? -2 * cc : 2 * cc + (cc > 0);
    return cc * 65536 + (sms < 65535 ? sms : 65535);
}

// log2 in 1/65536, linear between powers of two.
static int64_t log2_of(int64_t size)
{
    int bit = 0;
    if (size < 1)
        size = 1;
    for (int step = 32; step > 0; step /= 2)
        if (size >> (bit + step) > 0)
            bit += step;
    int64_t rest = size - ((int64_t)1 << bit);
    return ((int64_t)bit << 16) + (bit > 16 ? rest >> (bit - 16) : rest << (16 - bit));
}

// A smaller number is tried before a larger one. With one size: the row whose range holds it, then alternately the
// nearest by the ratio of sizes; with several: the sum of the distances on log scales.
static int64_t row_distance(const st_emit_model *model, const st_choice *choice, const st_problem *asked)
{
    int64_t distance = 0;
    for (size_t i = 0; i < model->size_count; i++) {
        int axis = model->size_axes[i];
        distance += llabs(log2_of(asked->value[axis]) - log2_of(choice->problem.value[axis]));
    }
    return distance;
}

typedef struct search {
    const st_emit_model *model;
    const st_emit_function *function;
    const st_device_facts *device;
    const st_problem *asked;
} search;

static const st_choice *choice_of(const search *it, size_t row)
{
    return st_emit_row_choice(it->model, it->function, row);
}

static st_code try_row(const search *it, size_t row, size_t *found, st_error *error)
{
    bool holds = false;
    st_code code = row_holds(it->model, choice_of(it, row), it->asked, it->device, &holds, error);
    if (code == ST_OK && holds)
        *found = row;
    return code;
}

static st_code search_one_size(const search *it, const st_emit_class *within, size_t *found, st_error *error)
{
    const st_emit_model *model = it->model;
    int axis = model->size_axes[0];
    int64_t size = it->asked->value[axis];
    size_t first = within->first, high = first + within->count - 1;
    while (high > first && size < model->rows[it->function->first_row + high].from)
        high--;
    st_code code = try_row(it, high, found, error);
    size_t low = high, last = first + within->count - 1;
    high++;
    while (code == ST_OK && *found == SIZE_MAX && (low > first || high <= last)) {
        bool down = high > last;
        if (!down && low > first)
            down = (double)size * (double)size < (double)choice_of(it, low - 1)->problem.value[axis] *
                                                     (double)choice_of(it, high)->problem.value[axis];
        code = try_row(it, down ? --low : high++, found, error);
    }
    return code;
}

static st_code search_sizes(const search *it, const st_emit_class *within, size_t *found, st_error *error)
{
    int64_t done = -1;
    st_code code = ST_OK;
    for (size_t tried = 0; tried < within->count && code == ST_OK && *found == SIZE_MAX; tried++) {
        int64_t nearest = -1;
        size_t row = within->first;
        for (size_t i = 0; i < within->count; i++) {
            int64_t key = row_distance(it->model, choice_of(it, within->first + i), it->asked) *
                              (int64_t)within->count + (int64_t)i;
            if (key > done && (nearest < 0 || key < nearest)) {
                nearest = key;
                row = within->first + i;
            }
        }
        done = nearest;
        code = try_row(it, row, found, error);
    }
    return code;
}

static st_code search_class(const search *it, size_t class_index, size_t *found, st_error *error)
{
    const st_emit_class *within = &it->model->classes[it->function->first_class + class_index];
    return it->model->size_count == 1 ? search_one_size(it, within, found, error)
                                      : search_sizes(it, within, found, error);
}

static st_code search_classes(const search *it, size_t *found, st_error *error)
{
    size_t count = it->function->class_count;
    int64_t done = -1;
    st_code code = ST_OK;
    for (size_t tried = 0; tried < count && code == ST_OK && *found == SIZE_MAX; tried++) {
        int64_t best = -1;
        size_t next = 0;
        for (size_t i = 0; i < count; i++) {
            const st_device_class *known = &it->model->classes[it->function->first_class + i].device;
            int64_t key = class_distance(known, it->device) * (int64_t)count + (int64_t)i;
            if (key > done && (best < 0 || key < best)) {
                best = key;
                next = i;
            }
        }
        done = best;
        code = search_class(it, next, found, error);
    }
    return code;
}

st_code st_emit_choose(const st_emit_model *model, const st_emit_function *function, const st_device_facts *device,
                       const st_problem *asked, size_t *row, bool *exact, st_error *error)
{
    const search it = {model, function, device, asked};
    st_code code = ST_OK;
    *row = SIZE_MAX;
    *exact = true;
    for (size_t i = 0; i < function->class_count && code == ST_OK && *row == SIZE_MAX; i++) {
        const st_device_class *known = &model->classes[function->first_class + i].device;
        if (known->cc == device->cc && known->sm_count == device->sm_count)
            code = search_class(&it, i, row, error);
    }
    if (code != ST_OK || *row != SIZE_MAX)
        return code;
    *exact = false;
    code = search_classes(&it, row, error);
    if (code == ST_OK && *row == SIZE_MAX && function->has_default)
        code = try_row(&it, function->row_count - 1, row, error);
    return code;
}
