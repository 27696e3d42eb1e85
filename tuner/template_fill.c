// SPDX-License-Identifier: Apache-2.0
// What data are made of: fills of buffers with their arguments, scalars, and the check that such
// expressions ask for nothing but the problem and the device, so that the data are the same for
// every configuration.
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// The fills. To add one: a row here, its kind in tuner/worker/buffers.c and templates/support.cu, a
// line in docs/templates.md.
static const struct fill_row {
    const char *name, *form;
    size_t least, most; // arguments
    const char *types;  // of the buffer, NULL: any
} fills[] = {
    {"values", "fill values", 0, 0, NULL},
    {"zero", "fill zero", 0, 0, NULL},
    {"distinct", "fill distinct", 0, 0, NULL},
    {"flags", "fill flags(PERCENT, RUN)", 2, 2, "u8"},
    {"flag_bits", "fill flag_bits(PERCENT, RUN) or fill flag_bits(PERCENT, RUN, BITS)", 2, 3,
     "u32"},
    {"below", "fill below(PERCENT, RUN, LIMIT)", 3, 3, NULL},
    {"nonzero", "fill nonzero(PERCENT, RUN)", 2, 2, NULL},
    {"offsets", "fill offsets(TOTAL)", 1, 1, "u32 u64"},
};
enum { FILL_COUNT = sizeof fills / sizeof *fills };

static const struct fill_row *find_fill(const char *name) {
    for (size_t i = 0; i < FILL_COUNT; i++)
        if (strcmp(fills[i].name, name) == 0)
            return &fills[i];
    return NULL;
}

static st_code unknown_fill(st_loader *loader, const char *name) {
    const char *names[FILL_COUNT];
    char remedy[160];
    for (size_t i = 0; i < FILL_COUNT; i++)
        names[i] = fills[i].name;
    st_loader_suggest(name, names, FILL_COUNT, "fills", remedy, sizeof remedy);
    return st_loader_fail(loader, remedy, "unknown fill `%s`", name);
}

// The end of "(…)" that begins at `open`, or NULL.
static const char *closing(const char *open) {
    int depth = 0;
    for (const char *at = open; *at; at++) {
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (depth == 0)
            return at;
    }
    return NULL;
}

void st_fill_release(st_fill *fill) {
    st_free(fill->word);
    for (size_t k = 0; k < ST_FILL_ARGUMENTS; k++)
        st_expression_free(fill->arguments[k]);
}

// "WORD" or "WORD(E, …)": *text moves behind it; *arguments is what stands in the parentheses, NULL without any.
static st_code split_fill(st_loader *loader, const char **text, char **word, char **arguments) {
    const char *at = *text;
    *arguments = NULL;
    while (isspace((unsigned char)*at))
        at++;
    size_t length = 0;
    while (at[length] && !isspace((unsigned char)at[length]) && at[length] != '(')
        length++;
    char *name = st_strndup(at, length);
    if (!name)
        return st_loader_no_memory(loader);
    st_code code = ST_OK;
    if (!length)
        code = st_loader_fail(loader, "Write `fill values` or `fill zero`.", "`fill` without a word");
    else if (!find_fill(name))
        code = unknown_fill(loader, name);
    if (code) {
        st_free(name);
        return code;
    }
    st_free(*word);
    *word = name;
    at += length;
    const char *open = at;
    while (isspace((unsigned char)*open))
        open++;
    *text = at;
    if (*open != '(')
        return ST_OK;
    const char *close = closing(open);
    if (!close)
        return st_loader_fail(loader, "Close the parenthesis.", "`fill %s(` has no end", name);
    *arguments = st_trimmed(open + 1, (size_t)(close - open - 1));
    *text = close + 1;
    return *arguments ? ST_OK : st_loader_no_memory(loader);
}

// The fill of the newest buffer. Its arguments wait until all names are known.
st_code st_read_fill(st_loader *loader, const char **text, st_buffer *buffer) {
    char *arguments;
    st_code code = split_fill(loader, text, &buffer->fill.word, &arguments);
    if (code || !arguments)
        return code;
    st_directive *kept = &loader->fill_texts.items[loader->tmpl->buffer_count - 1];
    st_free(kept->rest);
    kept->rest = arguments;
    return ST_OK;
}

static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    const char *at = strstr(list, word);
    return at && (at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]);
}

st_code st_define_fill(st_loader *loader, const st_buffer *buffer, const char *text, st_fill *fill) {
    const struct fill_row *row = find_fill(fill->word);
    if (!row) // "none"
        return ST_OK;
    if (row->types && !has_word(row->types, buffer->type_word))
        return st_loader_fail(loader, "See docs/templates.md for the fills.",
                              "`fill %s` is for %s, and `%s` is of type %s", row->name, row->types,
                              buffer->name, buffer->type_word);
    if (*row->name != 'v' && *row->name != 'z' && buffer->role != ST_BUFFER_INPUT &&
        buffer->role != ST_BUFFER_INOUT)
        return st_loader_fail(loader, "Remove the fill, or make it an input.",
                              "`%s` is neither input nor inout: nothing fills it", buffer->name);
    while (text && *text) {
        char *item = st_next_item(&text);
        if (!item)
            return st_loader_no_memory(loader);
        st_code code = ST_OK;
        if (fill->argument_count == row->most)
            code = st_loader_fail(loader, NULL, "too many arguments: write `%s`", row->form);
        st_expression **to =
            code ? NULL : &fill->arguments[fill->argument_count++];
        if (!code)
            code = st_loader_expression(loader, item, to);
        if (!code)
            code = st_check_given(loader, "a fill", *to, true);
        st_free(item);
        if (code)
            return code;
    }
    if (fill->argument_count < row->least)
        return st_loader_fail(loader, "Their meaning stands in docs/templates.md.",
                              "too few arguments: write `%s`", row->form);
    return ST_OK;
}

// --- a line of its own: `fill BUFFER F [when E]` -------------------------------------------------

static st_code add_fill_line(st_loader *loader, size_t buffer, st_fill_line **out) {
    st_template *t = loader->tmpl;
    for (size_t i = 0; i < t->fill_line_count; i++)
        if (t->fill_lines[i].buffer == buffer && !t->fill_lines[i].when)
            return st_loader_fail(loader, "Put the line without `when` last.",
                                  "line %d, which always holds, leaves nothing for this one",
                                  t->fill_lines[i].line);
    st_fill_line *lines = st_loader_append(loader, t->fill_lines, &t->fill_line_count,
                                           &loader->fill_line_capacity, sizeof *lines);
    if (!lines)
        return ST_NO_MEMORY;
    t->fill_lines = lines;
    *out = &lines[t->fill_line_count - 1];
    (*out)->buffer = buffer;
    (*out)->line = loader->at->line;
    return ST_OK;
}

static st_code read_line_head(st_loader *loader, const char *head, st_expression *when) {
    st_template *t = loader->tmpl;
    char name[128] = "";
    int buffer = st_next_token(&head, name, sizeof name) ? st_template_buffer(t, name) : -1;
    st_fill_line *line = NULL;
    if (buffer < 0) {
        st_expression_free(when);
        return st_loader_fail(loader, "Write `fill BUFFER FILL when EXPRESSION`.", "no buffer `%s`", name);
    }
    st_code code = add_fill_line(loader, (size_t)buffer, &line);
    if (code) {
        st_expression_free(when);
        return code;
    }
    line->when = when;
    char *arguments = NULL;
    code = split_fill(loader, &head, &line->fill.word, &arguments);
    char more[32];
    if (!code && st_next_token(&head, more, sizeof more))
        code = st_loader_fail(loader, "Write `fill BUFFER FILL when EXPRESSION`.",
                              "`%s` behind the fill", more);
    if (!code)
        code = st_define_fill(loader, &t->buffers[buffer], arguments, &line->fill);
    st_free(arguments);
    return code;
}

st_code st_read_fill_line(st_loader *loader) {
    char *head;
    st_expression *when = NULL;
    st_code code = st_read_head_and_when(loader, &head, &when);
    if (!code)
        code = st_check_given(loader, "`fill`", when, false);
    if (code)
        st_expression_free(when);
    else
        code = read_line_head(loader, head, when);
    st_free(head);
    return code;
}

// --- what the problem alone decides --------------------------------------------------------------

static bool is_given(const st_template *t, int slot, bool facts) {
    if (t->scope.names[slot].is_constant || slot == t->slot_size_of_type || slot == t->slot_is_float)
        return true;
    for (size_t i = 0; i < t->axis_count; i++)
        if (t->axes[i].slot == slot)
            return true;
    for (size_t i = 0; facts && i < sizeof t->fact_slots / sizeof *t->fact_slots; i++)
        if (t->fact_slots[i] == slot)
            return true;
    return false;
}

static const st_let *let_of(const st_template *t, int slot) {
    for (size_t i = 0; i < t->let_count; i++)
        if (t->lets[i].slot == slot)
            return &t->lets[i];
    return NULL;
}

// The first slot that is neither; -1: none. Lets use earlier lets only, so this ends.
static int other_slot(const st_template *t, const st_expression *expression, bool facts) {
    for (size_t i = 0; i < t->scope.count; i++) {
        if (!st_expression_uses(expression, (int)i) || is_given(t, (int)i, facts))
            continue;
        const st_let *let = let_of(t, (int)i);
        if (!let || !let->value || other_slot(t, let->value, facts) >= 0)
            return (int)i;
    }
    return -1;
}

st_code st_check_given(st_loader *loader, const char *what, const st_expression *expression,
                       bool facts) {
    int slot = expression ? other_slot(loader->tmpl, expression, facts) : -1;
    if (slot < 0)
        return ST_OK;
    return st_loader_fail(loader,
                          facts ? "Use axes and facts of the device only." : "Use axes only.",
                          "%s cannot depend on `%s`: it is the same for every configuration", what,
                          loader->tmpl->scope.names[slot].name);
}

// --- scalars -------------------------------------------------------------------------------------

// "NAME : TYPE = EXPRESSION"
st_code st_declare_scalar(st_loader *loader) {
    static const char form[] = "Write `scalar NAME : TYPE = EXPRESSION`.";
    st_template *t = loader->tmpl;
    const char *text = loader->at->rest, *colon = strchr(text, ':');
    const char *equals = colon ? strchr(colon, '=') : NULL;
    if (!equals)
        return st_loader_fail(loader, form, "`%s` is no scalar", text);
    st_scalar *scalars = st_loader_append(loader, t->scalars, &t->scalar_count,
                                          &loader->scalar_capacity, sizeof *scalars);
    if (!scalars)
        return ST_NO_MEMORY;
    t->scalars = scalars;
    st_scalar *scalar = &scalars[t->scalar_count - 1];
    scalar->line = loader->at->line;
    scalar->name = st_trimmed(text, (size_t)(colon - text));
    scalar->type_word = st_trimmed(colon + 1, (size_t)(equals - colon - 1));
    if (!scalar->name || !scalar->type_word)
        return st_loader_no_memory(loader);
    st_code code = st_check_name(loader, "scalar", scalar->name);
    return code ? code : st_keep_text(loader, equals + 1, strlen(equals + 1), &loader->scalar_texts);
}

st_code st_define_scalars(st_loader *loader) {
    st_template *t = loader->tmpl;
    for (size_t i = 0; i < t->scalar_count; i++) {
        st_scalar *scalar = &t->scalars[i];
        loader->at = &loader->scalar_texts.items[i];
        if (!st_is_type_word(t, scalar->type_word) ||
            st_text_starts(scalar->type_word, "reference_"))
            return st_loader_fail(loader,
                                  "Types are f32 f64 i32 u32 i64 u64 f16 bf16 u8, and the name T "
                                  "of a type axis.",
                                  "unknown type `%s` of the scalar `%s`", scalar->type_word,
                                  scalar->name);
        st_code code = st_loader_expression(loader, loader->at->rest, &scalar->value);
        if (!code)
            code = st_check_given(loader, "a scalar", scalar->value, true);
        if (code)
            return code;
    }
    loader->at = NULL;
    return ST_OK;
}
