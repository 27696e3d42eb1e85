// SPDX-License-Identifier: Apache-2.0
// Bindings: a number for every slot of a template's scope. Lets are evaluated in their order, which
// is upwards (template.c, T3): first those that are known before compiling, then the late ones.
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <string.h>

#define DEFAULT_ALIGNMENT 256

static st_code evaluate_lets(st_bindings *bindings, bool late, st_error *error) {
    const st_template *t = bindings->tmpl;
    for (size_t i = 0; i < t->let_count; i++) {
        const st_let *let = &t->lets[i];
        if (let->late != late)
            continue;
        st_code code = st_expression_evaluate(let->value, bindings->values,
                                              &bindings->values[let->slot], error);
        if (code)
            return code;
    }
    return ST_OK;
}

static void bind_given(const st_template *t, const st_problem *problem, const st_config *config,
                       const st_device_facts *device, int64_t *values) {
    const int64_t facts[] = {
#define X(field, name, unit, meaning) device ? device->field : -1,
        ST_DEVICE_FACTS(X)
#undef X
    };
    const st_type *type = st_problem_type(t, problem);
    for (size_t i = 0; i < t->scope.count; i++)
        values[i] = t->scope.names[i].is_constant ? t->scope.names[i].value : 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        values[t->fact_slots[i]] = facts[i];
    for (size_t i = 0; i < t->axis_count; i++)
        values[t->axes[i].slot] = problem->value[i];
    for (size_t i = 0; config && i < t->parameter_count; i++)
        values[t->parameters[i].slot] = config->value[i];
    for (size_t i = 0; i < t->buffer_count; i++)
        values[t->buffers[i].align_slot] = DEFAULT_ALIGNMENT;
    if (type && t->slot_size_of_type >= 0)
        values[t->slot_size_of_type] = (int64_t)type->size;
    if (type && t->slot_is_float >= 0)
        values[t->slot_is_float] = type->is_float;
}

st_code st_bindings_make(const st_template *tmpl, const st_problem *problem,
                         const st_config *config, const st_device_facts *device, st_bindings *out,
                         st_error *error) {
    memset(out, 0, sizeof *out);
    out->tmpl = tmpl;
    out->values = st_calloc(tmpl->scope.count + 1, sizeof *out->values);
    if (!out->values)
        return st_fail_memory(error, "binding a configuration");
    bind_given(tmpl, problem, config, device, out->values);
    st_code code = evaluate_lets(out, false, error);
    if (code)
        st_bindings_release(out);
    return code;
}

st_code st_bindings_make_leniently(const st_template *tmpl, const st_problem *problem,
                                   const st_config *config, const st_device_facts *device,
                                   st_bindings *out) {
    memset(out, 0, sizeof *out);
    out->tmpl = tmpl;
    out->values = st_calloc(tmpl->scope.count + 1, sizeof *out->values);
    if (!out->values)
        return ST_NO_MEMORY;
    bind_given(tmpl, problem, config, device, out->values);
    for (size_t i = 0; i < tmpl->let_count; i++)
        if (!tmpl->lets[i].late)
            (void)st_expression_evaluate(tmpl->lets[i].value, out->values,
                                         &out->values[tmpl->lets[i].slot], NULL);
    return ST_OK;
}

st_code st_bindings_late(st_bindings *bindings, int64_t blocks_per_sm, st_error *error) {
    bindings->values[bindings->tmpl->slot_blocks_per_sm] = blocks_per_sm;
    st_code code = evaluate_lets(bindings, true, error);
    bindings->late_known = code == ST_OK;
    return code;
}

void st_bindings_align(st_bindings *bindings, int buffer, int64_t alignment) {
    bindings->values[bindings->tmpl->buffers[buffer].align_slot] = alignment;
    // Lets may depend on it. One that fails is found by st_bindings_evaluate, which can say so.
    bindings->lets_failed = evaluate_lets(bindings, false, NULL) != ST_OK ||
                            (bindings->late_known && evaluate_lets(bindings, true, NULL) != ST_OK);
}

void st_bindings_release(st_bindings *bindings) {
    st_free(bindings->values);
    memset(bindings, 0, sizeof *bindings);
}

// Evaluates the lets once more, into a copy, for their error.
static st_code failed_lets(const st_bindings *bindings, st_error *error) {
    size_t count = bindings->tmpl->scope.count;
    st_bindings copy = *bindings;
    copy.values = st_calloc(count + 1, sizeof *copy.values);
    if (!copy.values)
        return st_fail_memory(error, "binding a configuration");
    memcpy(copy.values, bindings->values, count * sizeof *copy.values);
    st_code code = evaluate_lets(&copy, false, error);
    if (!code && copy.late_known)
        code = evaluate_lets(&copy, true, error);
    st_free(copy.values);
    return code;
}

st_code st_bindings_evaluate(const st_bindings *bindings, const st_expression *expression,
                             int64_t missing, int64_t *out, st_error *error) {
    if (!expression) {
        *out = missing;
        return ST_OK;
    }
    if (bindings->lets_failed) {
        st_code code = failed_lets(bindings, error);
        if (code)
            return code;
    }
    if (!bindings->late_known && st_expression_is_late(expression, &bindings->tmpl->scope)) {
        st_place place = st_expression_place(expression);
        return st_fail(error, ST_FAILED, "It is known only after compiling.",
                       "%s:%d: `%s` needs BLOCKS_PER_SM", place.file ? place.file : "", place.line,
                       st_expression_text(expression));
    }
    return st_expression_evaluate(expression, bindings->values, out, error);
}

st_type_id st_buffer_type(const st_bindings *bindings, const st_buffer *buffer) {
    const st_template *t = bindings->tmpl;
    const char *word = buffer->type_word;
    for (size_t i = 0; i < t->axis_count; i++) {
        const st_axis *axis = &t->axes[i];
        if (axis->kind != ST_AXIS_TYPE)
            continue;
        st_type_id id = (st_type_id)bindings->values[axis->slot];
        if (strcmp(word, axis->name) == 0)
            return id;
        if (st_text_starts(word, "reference_") &&
            strcmp(word + strlen("reference_"), axis->name) == 0)
            return st_type_of(id)->is_float ? ST_F64 : id;
    }
    return st_type_find(word)->id; // loading has checked it (T1)
}

st_type_id st_bindings_scalar_type(const st_bindings *bindings, const st_scalar *scalar) {
    const st_template *t = bindings->tmpl;
    for (size_t i = 0; i < t->axis_count; i++)
        if (t->axes[i].kind == ST_AXIS_TYPE && strcmp(scalar->type_word, t->axes[i].name) == 0)
            return (st_type_id)bindings->values[t->axes[i].slot];
    return st_type_find(scalar->type_word)->id; // loading has checked it (T1)
}

st_code st_bindings_deterministic(const st_bindings *bindings, bool *out, st_error *error) {
    const st_template *t = bindings->tmpl;
    *out = false;
    for (size_t i = 0; !*out && i < t->determinism_count; i++) {
        int64_t grants;
        st_code code = st_bindings_evaluate(bindings, t->determinism[i].when, 1, &grants, error);
        if (code)
            return code;
        *out = grants != 0;
    }
    return ST_OK;
}
