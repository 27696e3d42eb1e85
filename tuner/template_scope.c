// SPDX-License-Identifier: Apache-2.0
// Lets, buffers, and the scope that expressions see. Names are declared in a first pass over the
// directives and defined in a second, so that a line may use names of later lines; only lets go
// strictly upwards, so that they have an order of evaluation. The order of the scope: words and
// types (constants); facts of the device; axes; parameters; size_of_T and is_float_T; lets;
// align_BUFFER; BLOCKS_PER_SM.
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// --- lets and buffers
// --------------------------------------------------------------------------------------------

st_code st_keep_text(st_loader *loader, const char *text, size_t length, st_directives *texts) {
    st_directive *items =
        st_loader_append(loader, texts->items, &texts->count, &texts->capacity, sizeof *items);
    if (!items)
        return ST_NO_MEMORY;
    texts->items = items;
    st_directive *kept = &items[texts->count - 1];
    *kept = (st_directive){loader->at->line, st_strdup(loader->at->word), st_trimmed(text, length)};
    return kept->word && kept->rest ? ST_OK : st_loader_no_memory(loader);
}

st_code st_declare_let(st_loader *loader) {
    st_template *t = loader->tmpl;
    const char *text = loader->at->rest;
    char *name;
    st_code code = st_take_name(loader, "let", &text, &name);
    if (code)
        return code;
    st_let *lets =
        st_loader_append(loader, t->lets, &t->let_count, &loader->let_capacity, sizeof *lets);
    if (!lets) {
        st_free(name);
        return ST_NO_MEMORY;
    }
    t->lets = lets;
    lets[t->let_count - 1].name = name;
    return st_keep_text(loader, text, strlen(text), &loader->let_texts);
}

static st_code read_buffer_role(st_loader *loader, const char *token, st_buffer_role *role) {
    static const char *const names[] = {"input",    "output",    "inout",  "temp",
                                        "expected", "magnitude", "derived"};
    enum { COUNT = sizeof names / sizeof *names };
    for (int i = 0; i < COUNT; i++)
        if (strcmp(token, names[i]) == 0) {
            *role = (st_buffer_role)i;
            return ST_OK;
        }
    char remedy[160];
    st_loader_suggest(token, names, COUNT, "roles", remedy, sizeof remedy);
    return st_loader_fail(loader, remedy, "unknown role `%s` of a buffer", token);
}

// "[fill F] [guard]", up to the next "NAME :" or the end.
static st_code read_buffer_options(st_loader *loader, const char **text, st_buffer *buffer) {
    char token[128], colon[128];
    for (;;) {
        const char *at = *text, *peek;
        if (!st_next_token(&at, token, sizeof token))
            return ST_OK;
        peek = at;
        if (strchr(token, ':') || (st_next_token(&peek, colon, sizeof colon) && *colon == ':'))
            return ST_OK;                  // the next buffer
        if (strcmp(token, "guard") == 0) { // every buffer that kernels write is guarded
            *text = at;
            continue;
        }
        if (strcmp(token, "fill") != 0)
            return st_loader_fail(loader,
                                  "Behind TYPE[COUNT] may stand `fill FILL` and `guard`, then the "
                                  "next buffer.",
                                  "`%s` is not known to `buffer`", token);
        st_code code = st_read_fill(loader, &at, buffer);
        if (code)
            return code;
        *text = at;
    }
}

// "NAME : ROLE TYPE[COUNT]"; *text moves behind the bracket.
static st_code read_buffer_head(st_loader *loader, const char **text, st_buffer *buffer) {
    const char *form = "Write `buffer NAME : ROLE TYPE[COUNT]`.";
    const char *colon = strchr(*text, ':');
    const char *open = colon ? strchr(colon, '[') : NULL;
    const char *close = open ? strchr(open, ']') : NULL;
    if (!close)
        return st_loader_fail(loader, form, "`%s` is no buffer", *text);
    buffer->name = st_trimmed(*text, (size_t)(colon - *text));
    char *between = st_trimmed(colon + 1, (size_t)(open - colon - 1));
    char role[64], type[64], more[64];
    const char *at = between;
    if (!buffer->name || !between) {
        st_free(between);
        return st_loader_no_memory(loader);
    }
    bool complete = st_next_token(&at, role, sizeof role) &&
                    st_next_token(&at, type, sizeof type) && !st_next_token(&at, more, sizeof more);
    st_free(between);
    st_code code = st_check_name(loader, "buffer", buffer->name);
    if (!code && !complete)
        code =
            st_loader_fail(loader, form, "the buffer `%s` needs a role and a type", buffer->name);
    if (!code)
        code = read_buffer_role(loader, role, &buffer->role);
    if (code)
        return code;
    bool has_values = buffer->role == ST_BUFFER_INPUT || buffer->role == ST_BUFFER_INOUT;
    buffer->type_word = st_strdup(type);
    buffer->fill.word = st_strdup(has_values ? "values" : "none");
    if (!buffer->type_word || !buffer->fill.word)
        return st_loader_no_memory(loader);
    *text = close + 1;
    code = st_keep_text(loader, "", 0, &loader->fill_texts);
    return code ? code
                : st_keep_text(loader, open + 1, (size_t)(close - open - 1), &loader->buffer_texts);
}

// One or several on a line.
st_code st_declare_buffer(st_loader *loader) {
    st_template *t = loader->tmpl;
    const char *text = loader->at->rest;
    st_code code = ST_OK;
    do {
        st_buffer *buffers = st_loader_append(loader, t->buffers, &t->buffer_count,
                                              &loader->buffer_capacity, sizeof *buffers);
        if (!buffers)
            return ST_NO_MEMORY;
        t->buffers = buffers;
        st_buffer *buffer = &buffers[t->buffer_count - 1];
        code = read_buffer_head(loader, &text, buffer);
        if (!code)
            code = read_buffer_options(loader, &text, buffer);
        while (isspace((unsigned char)*text))
            text++;
    } while (!code && *text);
    return code;
}

// --- the scope
// -------------------------------------------------------------------------------------------------

// Names of values may not differ only in case: columns of SQL would be one, and readers would
// mistake one for the other. Words are not compared with names so: CLUSTER and cluster go well
// together.
static st_code add_to_scope(st_loader *loader, const char *what, st_name name, int *slot) {
    st_scope *scope = &loader->tmpl->scope;
    for (size_t i = 0; i < scope->count; i++) {
        const st_name *other = &scope->names[i];
        if (strcmp(other->name, name.name) == 0)
            return st_loader_fail(loader, "Rename one of them.",
                                  "the %s `%s` has the name of something else%s", what, name.name,
                                  other->is_constant ? " (a word of an axis or parameter)" : "");
        if (!name.is_constant && !other->is_constant && strcasecmp(other->name, name.name) == 0)
            return st_loader_fail(loader, "Rename one of them.",
                                  "the %s `%s` differs from `%s` only in case", what, name.name,
                                  other->name);
    }
    *slot = st_scope_add(scope, name);
    return *slot < 0 ? st_loader_no_memory(loader) : ST_OK;
}

static st_code add_word(st_loader *loader, const st_value *value) {
    int slot = st_scope_find(&loader->tmpl->scope, value->word);
    if (slot >= 0) // the same word of two lists is one name
        return ST_OK;
    return add_to_scope(loader, "word",
                        (st_name){.name = value->word, .is_constant = true, .value = value->number},
                        &slot);
}

static st_code add_words(st_loader *loader) {
    st_template *t = loader->tmpl;
    st_code code = ST_OK;
    for (size_t i = 0; !code && i < t->axis_count; i++)
        for (size_t j = 0; !code && t->axes[i].kind != ST_AXIS_SIZE && j < t->axes[i].value_count;
             j++)
            code = add_word(loader, &t->axes[i].values[j]);
    for (size_t i = 0; !code && i < t->parameter_count; i++)
        for (size_t j = 0; !code && j < t->parameters[i].value_count; j++)
            if (t->parameters[i].values[j].word)
                code = add_word(loader, &t->parameters[i].values[j]);
    return code;
}

static st_code add_facts(st_loader *loader) {
    static const char *const names[] = {
#define X(field, name, unit, meaning) name,
        ST_DEVICE_FACTS(X)
#undef X
    };
    _Static_assert(sizeof names / sizeof *names <= 32, "st_template.fact_slots is too small");
    st_code code = ST_OK;
    for (size_t i = 0; !code && i < sizeof names / sizeof *names; i++)
        code = add_to_scope(loader, "fact of the device", (st_name){.name = names[i]},
                            &loader->tmpl->fact_slots[i]);
    return code;
}

// A name that is put together: the template keeps it for the scope.
static st_code add_made_name(st_loader *loader, const char *what, const char *start,
                             const char *rest, int *slot) {
    st_template *t = loader->tmpl;
    char **names = st_loader_append(loader, t->made_names, &t->made_name_count,
                                    &loader->made_capacity, sizeof *names);
    if (!names)
        return ST_NO_MEMORY;
    t->made_names = names;
    char *name = names[t->made_name_count - 1] = st_format("%s%s", start, rest);
    return name ? add_to_scope(loader, what, (st_name){.name = name}, slot)
                : st_loader_no_memory(loader);
}

static st_code add_type_names(st_loader *loader) {
    st_template *t = loader->tmpl;
    for (size_t i = 0; i < t->axis_count; i++) {
        if (t->axes[i].kind != ST_AXIS_TYPE)
            continue;
        st_code code =
            add_made_name(loader, "name", "size_of_", t->axes[i].name, &t->slot_size_of_type);
        return code
                   ? code
                   : add_made_name(loader, "name", "is_float_", t->axes[i].name, &t->slot_is_float);
    }
    return ST_OK;
}

// Buffers are no numbers, but they share `args` with them and become names of C.
static st_code check_buffer_name(st_loader *loader, size_t index) {
    const st_template *t = loader->tmpl;
    const char *name = t->buffers[index].name;
    for (size_t i = 0; i < index; i++)
        if (strcasecmp(t->buffers[i].name, name) == 0)
            return st_loader_fail(loader, "Rename one of them.",
                                  "the buffers `%s` and `%s` have the same name",
                                  t->buffers[i].name, name);
    for (size_t i = 0; i < t->scope.count; i++)
        if (!t->scope.names[i].is_constant && strcasecmp(t->scope.names[i].name, name) == 0)
            return st_loader_fail(loader, "Rename one of them.",
                                  "the buffer `%s` has the name of something else", name);
    return ST_OK;
}

// Scalars are no names of expressions, but they share `args` and the host function with buffers.
static st_code check_scalar_name(st_loader *loader, size_t index) {
    const st_template *t = loader->tmpl;
    const char *name = t->scalars[index].name;
    bool taken = false;
    for (size_t i = 0; i < index; i++)
        taken |= strcasecmp(t->scalars[i].name, name) == 0;
    for (size_t i = 0; i < t->buffer_count; i++)
        taken |= strcasecmp(t->buffers[i].name, name) == 0;
    for (size_t i = 0; i < t->scope.count; i++)
        taken |= !t->scope.names[i].is_constant && strcasecmp(t->scope.names[i].name, name) == 0;
    return taken ? st_loader_fail(loader, "Rename one of them.",
                                  "the scalar `%s` has the name of something else", name)
                 : ST_OK;
}

static const st_directive *line_of(const st_directives *directives, const char *word,
                                   size_t index) {
    for (size_t i = 0; i < directives->count; i++)
        if (strcmp(directives->items[i].word, word) == 0 && index-- == 0)
            return &directives->items[i];
    return NULL;
}

st_code st_build_scope(st_loader *loader, const st_directives *directives) {
    st_template *t = loader->tmpl;
    st_code code = add_words(loader);
    if (!code)
        code = add_facts(loader);
    for (size_t i = 0; !code && i < t->axis_count; i++) {
        loader->at = line_of(directives, "axis", i);
        code = add_to_scope(loader, "axis", (st_name){.name = t->axes[i].name}, &t->axes[i].slot);
    }
    for (size_t i = 0; !code && i < t->parameter_count; i++) {
        loader->at = line_of(directives, "param", i);
        code = add_to_scope(loader, "parameter", (st_name){.name = t->parameters[i].name},
                            &t->parameters[i].slot);
    }
    if (!code)
        code = add_type_names(loader);
    for (size_t i = 0; !code && i < t->let_count; i++) {
        loader->at = &loader->let_texts.items[i];
        code = add_to_scope(loader, "let", (st_name){.name = t->lets[i].name}, &t->lets[i].slot);
    }
    for (size_t i = 0; !code && i < t->buffer_count; i++) {
        loader->at = &loader->buffer_texts.items[i];
        code = check_buffer_name(loader, i);
        if (!code)
            code = add_made_name(loader, "name", "align_", t->buffers[i].name,
                                 &t->buffers[i].align_slot);
    }
    for (size_t i = 0; !code && i < t->scalar_count; i++) {
        loader->at = &loader->scalar_texts.items[i];
        code = check_scalar_name(loader, i);
    }
    if (!code)
        code = add_to_scope(loader, "name", (st_name){.name = "BLOCKS_PER_SM", .is_late = true},
                            &t->slot_blocks_per_sm);
    loader->at = NULL;
    return code;
}

st_code st_define_lets(st_loader *loader) {
    st_template *t = loader->tmpl;
    for (size_t i = 0; i < t->let_count; i++) {
        st_let *let = &t->lets[i];
        loader->at = &loader->let_texts.items[i];
        st_code code = st_loader_expression(loader, loader->at->rest, &let->value);
        if (code)
            return code;
        for (size_t j = i; j < t->let_count; j++)
            if (st_expression_uses(let->value, t->lets[j].slot))
                return st_loader_fail(loader, "Move that line above this one.",
                                      "`%s` uses `%s`, which is not yet defined", let->name,
                                      t->lets[j].name);
        let->late = st_expression_is_late(let->value, &t->scope);
        t->scope.names[let->slot].is_late = let->late;
    }
    return ST_OK;
}

bool st_is_type_word(const st_template *t, const char *word) {
    const char *axis = NULL;
    for (size_t i = 0; i < t->axis_count; i++)
        if (t->axes[i].kind == ST_AXIS_TYPE)
            axis = t->axes[i].name;
    if (st_type_find(word) || (axis && strcmp(word, axis) == 0))
        return true;
    return axis && st_text_starts(word, "reference_") &&
           strcmp(word + strlen("reference_"), axis) == 0;
}

st_code st_define_buffers(st_loader *loader) {
    st_template *t = loader->tmpl;
    for (size_t i = 0; i < t->buffer_count; i++) {
        st_buffer *buffer = &t->buffers[i];
        loader->at = &loader->buffer_texts.items[i];
        if (!st_is_type_word(t, buffer->type_word))
            return st_loader_fail(loader,
                                  "Types are f32 f64 i32 u32 i64 u64 f16 bf16 u8, the name T of a "
                                  "type axis, and reference_T.",
                                  "unknown type `%s` of the buffer `%s`", buffer->type_word,
                                  buffer->name);
        st_code code = st_loader_expression(loader, loader->at->rest, &buffer->count);
        if (code)
            return code;
        if (buffer->role != ST_BUFFER_TEMP && st_expression_is_late(buffer->count, &t->scope))
            return st_loader_fail(loader, "Only temp buffers may depend on BLOCKS_PER_SM.",
                                  "the size of `%s` is known only after compiling", buffer->name);
        code = st_define_fill(loader, buffer, loader->fill_texts.items[i].rest, &buffer->fill);
        if (code)
            return code;
    }
    return ST_OK;
}
