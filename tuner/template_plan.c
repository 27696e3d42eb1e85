// SPDX-License-Identifier: Apache-2.0
// What runs and what is compared: launches, references, derives, zeros, comparisons, determinism.
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- names of buffers
// ------------------------------------------------------------------------------------------

st_code st_find_buffer(st_loader *loader, const char *name, int *index) {
    const st_template *t = loader->tmpl;
    *index = st_template_buffer(t, name);
    if (*index >= 0)
        return ST_OK;
    const char **names = st_malloc((t->buffer_count + 1) * sizeof *names);
    char remedy[256];
    if (!names)
        return st_loader_no_memory(loader);
    for (size_t i = 0; i < t->buffer_count; i++)
        names[i] = t->buffers[i].name;
    st_loader_suggest(name, names, t->buffer_count, "buffers", remedy, sizeof remedy);
    st_free(names);
    return st_loader_fail(loader, remedy, "unknown buffer `%s`", name);
}

static st_code read_when(st_loader *loader, const st_fields *fields, st_expression **when) {
    const char *text = st_fields_get(fields, "when");
    return text ? st_loader_expression(loader, text, when) : ST_OK;
}

// --- launches
// --------------------------------------------------------------------------------------------------

// "reduce_blocks<Config>"
static st_code read_kernel(st_loader *loader, const char *head, st_step *step) {
    size_t length = strcspn(head, "<");
    step->uses_config = head[length] == '<';
    step->kernel = st_trimmed(head, length);
    if (!step->kernel)
        return st_loader_no_memory(loader);
    if (step->uses_config) {
        char rest[32];
        size_t used = 0;
        for (const char *at = head + length; *at && used + 1 < sizeof rest; at++)
            if (*at != ' ')
                rest[used++] = *at;
        rest[used] = '\0';
        if (strcmp(rest, "<Config>") != 0)
            return st_loader_fail(loader, "Write KERNEL<Config>, or KERNEL alone for macros.",
                                  "`%s`: the only template argument of a kernel is Config", head);
    }
    const char *at = step->kernel;
    while (*at) { // NAME or SPACE::NAME
        char part[128];
        size_t part_length = strcspn(at, ":");
        if (part_length >= sizeof part)
            break;
        memcpy(part, at, part_length);
        part[part_length] = '\0';
        at += part_length;
        if (!st_is_name(part) || (*at && (strncmp(at, "::", 2) != 0 || !at[2])))
            break;
        at += *at ? 2 : 0;
        if (!*at)
            return ST_OK;
    }
    return st_loader_fail(loader, "Write `launch KERNEL grid=… block=… args=…`.",
                          "`%s` is no name of a kernel", step->kernel);
}

// "E", "E,E" or "E,E,E"
static st_code read_dims(st_loader *loader, const st_fields *fields, const char *key,
                         st_expression **dims) {
    const char *text = st_fields_get(fields, key);
    if (!text || !*text)
        return st_loader_fail(loader, "Give `grid=` and `block=` with one to three expressions.",
                              "`%s=` is missing", key);
    for (int i = 0; text; i++) {
        char *item = st_next_item(&text);
        if (!item)
            return st_loader_no_memory(loader);
        st_code code = ST_OK;
        if (i == ST_MAX_DIMS)
            code =
                st_loader_fail(loader, NULL, "`%s=` has more than %d dimensions", key, ST_MAX_DIMS);
        else
            code = st_loader_expression(loader, item, &dims[i]);
        st_free(item);
        if (code)
            return code;
    }
    return ST_OK;
}

static st_code unknown_argument(st_loader *loader, const char *item) {
    const st_template *t = loader->tmpl;
    char remedy[256];
    if (st_scope_find(&t->scope, item) >= 0 || !st_is_name(item)) {
        snprintf(remedy, sizeof remedy, "To pass a number, say its type: `%.100s:u32`.", item);
        return st_loader_fail(loader, remedy, "the argument `%s` is no buffer", item);
    }
    int ignored;
    return st_find_buffer(loader, item, &ignored);
}

// A buffer, a scalar, EXPRESSION:TYPE, or a size axis alone.
static st_code read_argument(st_loader *loader, const char *item, st_argument *argument) {
    const st_template *t = loader->tmpl;
    argument->buffer = st_template_buffer(t, item);
    argument->scalar = argument->buffer < 0 ? st_template_scalar(t, item) : -1;
    if (argument->buffer >= 0 || argument->scalar >= 0)
        return ST_OK;
    const char *colon = strrchr(item, ':');
    int axis = st_template_axis(t, item);
    if (!colon) {
        if (axis < 0 || t->axes[axis].kind != ST_AXIS_SIZE)
            return unknown_argument(loader, item);
        argument->type = ST_U64;
        return st_loader_expression(loader, item, &argument->value);
    }
    char *value = st_trimmed(item, (size_t)(colon - item));
    char *word = st_trimmed(colon + 1, strlen(colon + 1));
    st_code code = value && word ? ST_OK : st_loader_no_memory(loader);
    const st_type *type = code ? NULL : st_type_find(word);
    if (!code && !type)
        code = st_loader_fail(loader, "Types are f32 f64 i32 u32 i64 u64 f16 bf16 u8.",
                              "unknown type `%s` of the argument `%s`", word, item);
    if (!code && (type->id == ST_F16 || type->id == ST_BF16))
        code = st_loader_fail(loader, "Pass it as f32 and convert it in the kernel.",
                              "the argument `%s` cannot be a half-precision number", item);
    if (!code) {
        argument->type = type->id;
        code = st_loader_expression(loader, value, &argument->value);
    }
    st_free(value);
    st_free(word);
    return code;
}

static st_code read_arguments(st_loader *loader, const char *text, st_step *step) {
    size_t capacity = 0;
    if (!text)
        return st_loader_fail(loader,
                              "Write `args=` with what the kernel takes, or nothing behind it.",
                              "`args=` is missing");
    if (!*text)
        return ST_OK;
    while (text) {
        char *item = st_next_item(&text);
        if (!item)
            return st_loader_no_memory(loader);
        st_argument *arguments = st_loader_append(loader, step->arguments, &step->argument_count,
                                                  &capacity, sizeof *arguments);
        st_code code = arguments ? ST_OK : ST_NO_MEMORY;
        if (arguments) {
            step->arguments = arguments;
            code = read_argument(loader, item, &arguments[step->argument_count - 1]);
        }
        st_free(item);
        if (code)
            return code;
    }
    return ST_OK;
}

// How many blocks fit on an SM follows from these, so they cannot follow from it.
static st_code check_not_late(st_loader *loader, const char *key, const st_expression *expression) {
    if (!expression || !st_expression_is_late(expression, &loader->tmpl->scope))
        return ST_OK;
    return st_loader_fail(loader, "BLOCKS_PER_SM may decide grid, cluster and arguments.",
                          "`%s` depends on BLOCKS_PER_SM, which is known only after compiling",
                          key);
}

static st_code check_early(st_loader *loader, const st_step *step) {
    st_code code = check_not_late(loader, "when", step->when);
    for (int i = 0; !code && i < ST_MAX_DIMS; i++)
        code = check_not_late(loader, "block=", step->block[i]);
    return code ? code : check_not_late(loader, "smem=", step->smem);
}

// Of a launch, or (`plain`) of a reference or derive.
static st_code read_step(st_loader *loader, bool plain, st_step *step) {
    static const char *const launch_keys[] = {
        "grid=", "block=", "smem=", "cluster=", "dependent=", "args=", "when", NULL};
    static const char *const plain_keys[] = {
        "file=", "grid=", "block=", "smem=", "args=", "when", NULL};
    static const char *const optional[] = {"smem", "cluster", "dependent"};
    st_expression **places[] = {&step->smem, &step->cluster, &step->dependent};
    st_fields fields;
    step->kind = ST_STEP_LAUNCH;
    step->line = loader->at->line;
    step->buffer = -1;
    st_code code = st_fields_split(loader, loader->at->rest,
                                   plain ? plain_keys : launch_keys, &fields);
    if (!code)
        code = read_kernel(loader, fields.head, step);
    if (!code)
        code = read_dims(loader, &fields, "grid", step->grid);
    if (!code)
        code = read_dims(loader, &fields, "block", step->block);
    for (size_t i = 0; !code && i < 3; i++) {
        const char *text = st_fields_get(&fields, optional[i]);
        if (text)
            code = st_loader_expression(loader, text, places[i]);
    }
    if (!code)
        code = read_arguments(loader, st_fields_get(&fields, "args"), step);
    if (!code)
        code = read_when(loader, &fields, &step->when);
    if (!code)
        code = check_early(loader, step);
    const char *file = code ? NULL : st_fields_get(&fields, "file");
    if (file && !(step->file = st_strdup(file)))
        code = st_loader_no_memory(loader);
    st_fields_release(&fields);
    return code;
}

st_code st_read_launch(st_loader *loader) {
    st_template *t = loader->tmpl;
    st_step *steps =
        st_loader_append(loader, t->steps, &t->step_count, &loader->step_capacity, sizeof *steps);
    if (!steps)
        return ST_NO_MEMORY;
    t->steps = steps;
    st_step *step = &steps[t->step_count - 1];
    st_code code = read_step(loader, false, step);
    t->is_config |= step->uses_config;
    return code;
}

st_code st_read_reference(st_loader *loader) {
    st_template *t = loader->tmpl;
    st_step *steps = st_loader_append(loader, t->references, &t->reference_count,
                                      &loader->reference_capacity, sizeof *steps);
    if (!steps)
        return ST_NO_MEMORY;
    t->references = steps;
    return read_step(loader, true, &steps[t->reference_count - 1]);
}

st_code st_read_derive(st_loader *loader) {
    st_template *t = loader->tmpl;
    st_step *steps = st_loader_append(loader, t->derives, &t->derive_count,
                                      &loader->derive_capacity, sizeof *steps);
    if (!steps)
        return ST_NO_MEMORY;
    t->derives = steps;
    st_code code = read_step(loader, true, &steps[t->derive_count - 1]);
    if (!code && !t->reference_count)
        code = st_loader_fail(loader, "Add a `reference` that says what it should be.",
                              "without a reference nothing is compared with what is derived");
    return code;
}

st_code st_read_zero(st_loader *loader) {
    static const char *const keys[] = {"when", NULL};
    st_template *t = loader->tmpl;
    st_step *steps =
        st_loader_append(loader, t->steps, &t->step_count, &loader->step_capacity, sizeof *steps);
    if (!steps)
        return ST_NO_MEMORY;
    t->steps = steps;
    st_step *step = &steps[t->step_count - 1];
    st_fields fields;
    *step = (st_step){.kind = ST_STEP_ZERO, .line = loader->at->line, .buffer = -1};
    st_code code = st_fields_split(loader, loader->at->rest, keys, &fields);
    if (!code)
        code = st_find_buffer(loader, fields.head, &step->buffer);
    if (!code && t->buffers[step->buffer].role == ST_BUFFER_INPUT)
        code = st_loader_fail(loader, "Make it `inout`, or zero another buffer.",
                              "`%s` is an input: it is not to be changed", fields.head);
    if (!code)
        code = read_when(loader, &fields, &step->when);
    st_fields_release(&fields);
    return code;
}

// --- comparisons
// ------------------------------------------------------------------------------------------------

static st_code find_compared(st_loader *loader, const char *name, unsigned roles,
                             const char *wanted, int *index) {
    st_code code = st_find_buffer(loader, name, index);
    if (!code && !(roles >> loader->tmpl->buffers[*index].role & 1))
        code = st_loader_fail(loader, "See docs/templates.md for the roles of buffers.",
                              "`%s` is no %s buffer", name, wanted);
    return code;
}

static st_code read_tolerance(st_loader *loader, const char *text, double *tolerance) {
    char *end;
    *tolerance = strtod(text, &end);
    if (end == text || *end || !(*tolerance > 0 && *tolerance < 1))
        return st_loader_fail(loader, "Write a relative tolerance between 0 and 1, such as 1e-5.",
                              "`%s` is no tolerance", text);
    return ST_OK;
}

st_code st_read_compare(st_loader *loader) {
    static const char *const keys[] = {"with", "magnitude", "height", "tolerance", "when", NULL};
    st_template *t = loader->tmpl;
    st_compare *compares = st_loader_append(loader, t->compares, &t->compare_count,
                                            &loader->compare_capacity, sizeof *compares);
    if (!compares)
        return ST_NO_MEMORY;
    t->compares = compares;
    st_compare *compare = &compares[t->compare_count - 1];
    st_fields fields;
    compare->output = compare->expected = compare->magnitude = -1;
    st_code code = st_fields_split(loader, loader->at->rest, keys, &fields);
    if (!code)
        code = find_compared(loader, fields.head,
                             1u << ST_BUFFER_OUTPUT | 1u << ST_BUFFER_INOUT | 1u << ST_BUFFER_DERIVED,
                             "output, inout or derived", &compare->output);
    const char *with = code ? NULL : st_fields_get(&fields, "with");
    if (!code && !with && t->reference_count)
        code = st_loader_fail(loader, "Write `compare OUTPUT with EXPECTED`.",
                              "it does not say what `%s` is compared with", fields.head);
    if (with)
        code =
            find_compared(loader, with, 1u << ST_BUFFER_EXPECTED, "expected", &compare->expected);
    const char *magnitude = code ? NULL : st_fields_get(&fields, "magnitude");
    if (magnitude)
        code = find_compared(loader, magnitude, 1u << ST_BUFFER_MAGNITUDE, "magnitude",
                             &compare->magnitude);
    const char *height = code ? NULL : st_fields_get(&fields, "height");
    if (height)
        code = st_loader_expression(loader, height, &compare->height);
    if (!code && height && compare->magnitude < 0)
        code = st_loader_fail(loader,
                              "Add `magnitude BUFFER`, which a reference fills with the sums of "
                              "absolute values.",
                              "`height` needs a magnitude buffer");
    const char *tolerance = code ? NULL : st_fields_get(&fields, "tolerance");
    if (tolerance && height)
        code = st_loader_fail(loader, "Keep one of them.", "`height` and `tolerance` are two bounds for `%s`",
                              fields.head);
    else if (tolerance)
        code = read_tolerance(loader, tolerance, &compare->tolerance);
    if (!code)
        code = read_when(loader, &fields, &compare->when);
    st_fields_release(&fields);
    return code;
}

// --- determinism
// ------------------------------------------------------------------------------------------------

// "run_to_run", or "default none" whose `when` asks for axes only.
st_code st_read_determinism(st_loader *loader) {
    st_template *t = loader->tmpl;
    char *head;
    st_expression *when = NULL;
    st_code code = st_read_head_and_when(loader, &head, &when);
    char first[16] = "", second[16] = "";
    const char *at = head ? head : "";
    bool is_default = st_next_token(&at, first, sizeof first) && strcmp(first, "default") == 0 &&
                      st_next_token(&at, second, sizeof second) && strcmp(second, "none") == 0 &&
                      !*at;
    if (!code && !is_default && strcmp(head, "run_to_run") != 0)
        code = st_loader_fail(loader,
                              "Write `determinism run_to_run when EXPRESSION`; what no line "
                              "grants is not deterministic.",
                              "unknown level `%s`", head);
    if (!code && is_default)
        code = st_check_given(loader, "`determinism default`", when, false);
    if (!code && when && st_expression_is_late(when, &t->scope))
        code = st_loader_fail(loader, "Do not use BLOCKS_PER_SM here.",
                              "determinism must be known before compiling");
    st_free(head);
    st_determinism_rule **list = is_default ? &t->default_none : &t->determinism;
    st_determinism_rule *rules =
        code ? NULL
             : st_loader_append(loader, *list,
                                is_default ? &t->default_none_count : &t->determinism_count,
                                is_default ? &loader->default_none_capacity
                                           : &loader->determinism_capacity,
                                sizeof *rules);
    if (!rules) {
        st_expression_free(when);
        return code ? code : ST_NO_MEMORY;
    }
    *list = rules;
    rules[(is_default ? t->default_none_count : t->determinism_count) - 1].when = when;
    return ST_OK;
}

// --- the whole plan
// --------------------------------------------------------------------------------------------

static bool takes(const st_step *steps, size_t count, int buffer) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < steps[i].argument_count; j++)
            if (steps[i].arguments[j].buffer == buffer)
                return true;
    return false;
}

static bool is_compared(const st_template *t, int buffer) {
    for (size_t i = 0; i < t->compare_count; i++)
        if (t->compares[i].output == buffer)
            return true;
    return false;
}

// A comparison with what nothing fills would always fail, an output that is compared with nothing
// never.
static st_code check_comparisons(st_loader *loader) {
    const st_template *t = loader->tmpl;
    for (size_t i = 0; i < t->compare_count; i++) {
        const int buffers[] = {t->compares[i].expected, t->compares[i].magnitude};
        for (int k = 0; k < 2; k++)
            if (buffers[k] >= 0 && !takes(t->references, t->reference_count, buffers[k]))
                return st_loader_fail(loader, "Add a `reference` that takes it as an argument.",
                                      "no reference fills the buffer `%s`",
                                      t->buffers[buffers[k]].name);
    }
    for (size_t i = 0; t->reference_count && i < t->buffer_count; i++) {
        bool written =
            t->buffers[i].role == ST_BUFFER_OUTPUT || t->buffers[i].role == ST_BUFFER_INOUT;
        bool derived = t->buffers[i].role == ST_BUFFER_DERIVED;
        bool seen = takes(t->derives, t->derive_count, (int)i);
        if (derived && !seen)
            return st_loader_fail(loader, "Add a `derive` that takes it as an argument.",
                                  "nothing fills the derived buffer `%s`", t->buffers[i].name);
        if ((derived || (written && !seen)) && !is_compared(t, (int)i))
            return st_loader_fail(loader, "Add `compare OUTPUT with EXPECTED`.",
                                  "`%s` is compared with nothing", t->buffers[i].name);
    }
    return ST_OK;
}

static bool uses_axis(const st_template *t, const st_expression *expression, int slot) {
    if (!expression)
        return false;
    if (st_expression_uses(expression, slot))
        return true;
    for (size_t i = 0; i < t->let_count; i++)
        if (st_expression_uses(expression, t->lets[i].slot) &&
            uses_axis(t, t->lets[i].value, slot))
            return true;
    return false;
}

static bool step_uses(const st_template *t, const st_step *step, int slot) {
    bool uses = uses_axis(t, step->when, slot) || uses_axis(t, step->smem, slot) ||
                uses_axis(t, step->cluster, slot) || uses_axis(t, step->dependent, slot);
    for (int d = 0; d < ST_MAX_DIMS; d++)
        uses |= uses_axis(t, step->grid[d], slot) || uses_axis(t, step->block[d], slot);
    for (size_t i = 0; i < step->argument_count; i++)
        uses |= uses_axis(t, step->arguments[i].value, slot);
    return uses;
}

// A header's caller knows nothing of the data, so that nothing that runs may depend on them.
static st_code check_data_axes(st_loader *loader) {
    const st_template *t = loader->tmpl;
    for (size_t a = 0; a < t->axis_count; a++) {
        const st_axis *axis = &t->axes[a];
        for (size_t i = 0; axis->data && i < t->step_count; i++) {
            st_directive line = {.line = t->steps[i].line};
            if (!step_uses(t, &t->steps[i], axis->slot))
                continue;
            loader->at = &line;
            st_code code = st_loader_fail(
                loader, "Let fills, expected buffers, `height` or `bytes` depend on it, or remove `data`.",
                "what runs depends on `%s`, which callers of the header do not know", axis->name);
            loader->at = NULL;
            return code;
        }
        for (size_t i = 0; axis->data && i < t->buffer_count; i++)
            if (t->buffers[i].role == ST_BUFFER_TEMP && uses_axis(t, t->buffers[i].count, axis->slot))
                return st_loader_fail(loader, "Make room for any data.",
                                      "the size of `%s` depends on `%s`, which callers of the header "
                                      "do not know",
                                      t->buffers[i].name, axis->name);
    }
    return ST_OK;
}

st_code st_check_plan(st_loader *loader) {
    const st_template *t = loader->tmpl;
    bool launches = false;
    loader->at = NULL;
    for (size_t i = 0; i < t->step_count; i++)
        launches |= t->steps[i].kind == ST_STEP_LAUNCH;
    if (!launches)
        return st_loader_fail(loader, "Add `// simtune: launch KERNEL grid=… block=… args=…`.",
                              "no kernel is launched");
    st_code code = check_comparisons(loader);
    if (!code)
        code = check_data_axes(loader);
    return code ? code : st_complete_host_args(loader);
}
