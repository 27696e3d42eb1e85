// SPDX-License-Identifier: Apache-2.0
// The kernels' text as a header or a standalone program holds it: directives gone, the files that
// it includes with "…" in place of the first #include of each, namespace simtune renamed.
// Everything else stays as the author wrote it. Line by line; a line inside a comment or a string
// that looks like a directive of the preprocessor is not expected in kernels and would be taken for
// one.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <ctype.h>
#include <string.h>

typedef struct expansion {
    st_emit_kernels *out;
    const st_includes *includes;
    bool *placed; // one an include: its text stands already
    const char *rename;
    bool embed, ours;
    bool system_in_place; // system headers stay where they are included
    int depth;
    bool failed;
} expansion;

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static bool begins(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

static bool is_directive(const char *at, const char *end)
{
    at = skip_blanks(at, end);
    if (!begins(at, end, "//"))
        return false;
    at = skip_blanks(at + 2, end);
    return begins(at, end, "simtune:");
}

// "# include" → what follows the word; NULL when the line is not that directive.
static const char *after_hash(const char *at, const char *end, const char *word)
{
    at = skip_blanks(at, end);
    if (at == end || *at != '#')
        return NULL;
    at = skip_blanks(at + 1, end);
    if (!begins(at, end, word))
        return NULL;
    at += strlen(word);
    if (at < end && (isalnum((unsigned char)*at) || *at == '_'))
        return NULL;
    return skip_blanks(at, end);
}

static bool word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// `simtune` as a whole word before `::` or after `namespace`.
static bool names_namespace(const char *line, const char *at, const char *end)
{
    const char *after = skip_blanks(at + 7, end);
    if (begins(after, end, "::"))
        return true;
    const char *before = at;
    while (before > line && (before[-1] == ' ' || before[-1] == '\t'))
        before--;
    return before - line >= 9 && memcmp(before - 9, "namespace", 9) == 0 &&
           (before - line == 9 || !word_byte(before[-10]));
}

// The length of `extern "C"` and what follows it up to the next word or brace; 0 when it is not
// there.
static size_t extern_c(const char *at, const char *end)
{
    if (!begins(at, end, "extern"))
        return 0;
    const char *next = skip_blanks(at + 6, end);
    if (!begins(next, end, "\"C\""))
        return 0;
    return (size_t)(skip_blanks(next + 3, end) - at);
}

static void add_code(expansion *state, const char *line, const char *end)
{
    st_text *out = &state->out->text;
    bool at_word = true; // the byte before is no part of a word
    for (const char *at = line; at < end;) {
        size_t length = at_word && state->embed ? extern_c(at, end) : 0;
        if (length > 0) {
            at += length;
            if (at < end && *at == '{')
                st_text_add(out, "inline namespace simtune_c ");
            continue;
        }
        if (state->rename && at_word && begins(at, end, "simtune") &&
            (at + 7 == end || !word_byte(at[7])) && names_namespace(line, at, end)) {
            st_text_add(out, state->rename);
            at += 7;
            at_word = false;
            continue;
        }
        at_word = !word_byte(*at);
        st_text_add_bytes(out, at++, 1);
    }
    st_text_add(out, "\n");
}

static void expand(expansion *state, const char *text, size_t length);

// True when the line was an #include that is dealt with.
static bool place_include(expansion *state, const char *line, const char *end)
{
    const char *name = after_hash(line, end, "include");
    if (!name || name == end)
        return false;
    if (*name == '<') {
        if (state->system_in_place)
            return false; // stands outside any namespace
        const char *close = memchr(name, '>', (size_t)(end - name));
        if (close && !st_emit_strings_add(&state->out->headers, name, (size_t)(close + 1 - name)))
            state->failed = true;
        return close != NULL;
    }
    const char *close = *name == '"' ? memchr(name + 1, '"', (size_t)(end - name - 1)) : NULL;
    if (!close)
        return false;
    size_t length = (size_t)(close - name - 1);
    for (size_t i = 0; i < state->includes->count; i++) {
        const st_include *include = &state->includes->items[i];
        if (strlen(include->name) != length || memcmp(include->name, name + 1, length) != 0)
            continue;
        if (!state->placed[i] && state->depth < 64) {
            state->placed[i] = true;
            state->depth++;
            expand(state, include->text, strlen(include->text));
            state->depth--;
        }
        return true;
    }
    // Not beside the template: a header of the compiler's own path.
    if (state->system_in_place)
        return false;
    state->failed |= !st_emit_strings_add(&state->out->headers, name, length + 2);
    return true;
}

static void note_macro(expansion *state, const char *line, const char *end)
{
    const char *name = after_hash(line, end, "define");
    if (!name)
        return;
    const char *stop = name;
    while (stop < end && word_byte(*stop))
        stop++;
    if (stop > name && !st_emit_strings_add(&state->out->macros, name, (size_t)(stop - name)))
        state->failed = true;
}

static bool is_licence_of_ours(const expansion *state, const char *line, const char *end)
{
    return state->ours &&
           begins(skip_blanks(line, end), end, "// SPDX-License-Identifier: Apache-2.0");
}

static void expand(expansion *state, const char *text, size_t length)
{
    const char *stop = text + length;
    bool blank = true; // no two empty lines in a row, none at the beginning
    for (const char *line = text; line < stop;) {
        const char *newline = memchr(line, '\n', (size_t)(stop - line));
        const char *end = newline ? newline : stop, *next = newline ? newline + 1 : stop;
        if (end > line && end[-1] == '\r')
            end--;
        const char *pragma = after_hash(line, end, "pragma");
        bool dropped = is_directive(line, end) || is_licence_of_ours(state, line, end) ||
                       (pragma && begins(pragma, end, "once"));
        if (!dropped && !place_include(state, line, end)) {
            bool empty = skip_blanks(line, end) == end;
            note_macro(state, line, end);
            if (!empty || !blank)
                add_code(state, line, end);
            blank = empty;
        }
        line = next;
    }
}

st_code st_emit_kernels_make(const st_template *tmpl, const char *rename, bool embed,
                             st_emit_kernels *out, st_error *error)
{
    memset(out, 0, sizeof *out);
    st_text_init(&out->text);
    st_code code = st_template_includes(tmpl, &out->includes, error);
    if (code) {
        st_emit_kernels_release(out);
        return code;
    }
    out->has_namespace = st_program_in_namespace(tmpl, &out->includes);
    if (!out->has_namespace || !tmpl->is_config)
        rename = NULL;
    bool *placed = st_calloc(out->includes.count + 1, sizeof *placed);
    // Not in a namespace, nor below the macros that stand for parameters.
    bool in_place = tmpl->is_config && (out->has_namespace || !embed);
    expansion state = {out, &out->includes, placed, rename, embed, out->has_namespace, in_place,
                       0,   false};
    if (placed)
        expand(&state, tmpl->text, tmpl->text_length);
    st_free(placed);
    if (!placed || state.failed || out->text.failed) {
        st_emit_kernels_release(out);
        return st_fail_memory(error, "copying the kernels");
    }
    return ST_OK;
}

void st_emit_kernels_release(st_emit_kernels *kernels)
{
    st_includes_release(&kernels->includes);
    st_text_release(&kernels->text);
    st_emit_strings_release(&kernels->macros);
    st_emit_strings_release(&kernels->headers);
    memset(kernels, 0, sizeof *kernels);
}
