// SPDX-License-Identifier: Apache-2.0
// From a file's text to directives, and from a directive's text to its fields. Knows the form of
// directives, not their meaning.
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// --- errors and small helpers
// --------------------------------------------------------------------------------

st_code st_loader_fail(st_loader *loader, const char *remedy, const char *format, ...) {
    char message[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (loader->at)
        return st_fail(loader->error, ST_USAGE, remedy, "%s:%d: %s", loader->tmpl->path,
                       loader->at->line, message);
    return st_fail(loader->error, ST_USAGE, remedy, "%s: %s", loader->tmpl->path, message);
}

st_code st_loader_no_memory(st_loader *loader) {
    return st_fail_memory(loader->error, "reading the template");
}

void *st_loader_append(st_loader *loader, void *items, size_t *count, size_t *capacity,
                       size_t bytes) {
    char *grown = st_grow(items, capacity, *count + 1, bytes);
    if (!grown) {
        st_loader_no_memory(loader);
        return NULL;
    }
    memset(grown + *count * bytes, 0, bytes);
    (*count)++;
    return grown;
}

void st_loader_suggest(const char *word, const char *const *names, size_t count, const char *noun,
                       char *remedy, size_t size) {
    int nearest = st_text_nearest(word, names, count);
    if (nearest >= 0) {
        snprintf(remedy, size, "Did you mean `%s`?", names[nearest]);
        return;
    }
    if (!count) {
        snprintf(remedy, size, "There are no %s.", noun);
        return;
    }
    size_t length = (size_t)snprintf(remedy, size, "The %s are:", noun);
    for (size_t i = 0; i < count && length + 1 < size; i++)
        length += (size_t)snprintf(remedy + length, size - length, " %s", names[i]);
}

st_code st_loader_expression(st_loader *loader, const char *text, st_expression **out) {
    st_place place = {loader->tmpl->path, loader->at->line};
    if (loader->places && loader->at->line > 0 && (size_t)loader->at->line <= loader->places->count)
        place = (st_place){loader->places->items[loader->at->line - 1], -loader->at->line};
    return st_expression_parse(text, place, &loader->tmpl->scope, out, loader->error);
}

char *st_trimmed(const char *text, size_t length) {
    while (length && isspace((unsigned char)*text))
        text++, length--;
    while (length && isspace((unsigned char)text[length - 1]))
        length--;
    return st_strndup(text, length);
}

bool st_is_name(const char *text) {
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return !*text;
}

// --- lines
// ---------------------------------------------------------------------------------------------------

// What follows "// simtune:" in a line, or NULL. `*length` goes from the line's to the rest's.
static const char *after_marker(const char *line, size_t *length, const char *marker) {
    const char *end = line + *length;
    while (line < end && isblank((unsigned char)*line))
        line++;
    if (end - line < 2 || line[0] != '/' || line[1] != '/')
        return NULL;
    line += 2;
    while (line < end && isblank((unsigned char)*line))
        line++;
    size_t marker_length = strlen(marker);
    if ((size_t)(end - line) < marker_length || strncmp(line, marker, marker_length) != 0)
        return NULL;
    line += marker_length;
    *length = (size_t)(end - line);
    return line;
}

// Appends a line to `joined`; returns whether it goes on in the next one.
static bool join_line(const char *text, size_t length, st_text *joined) {
    while (length && isspace((unsigned char)text[length - 1]))
        length--;
    bool goes_on = length && text[length - 1] == '\\';
    st_text_add_bytes(joined, text, goes_on ? length - 1 : length);
    st_text_add(joined, " ");
    return goes_on;
}

static st_code add_directive(const char *path, int line, const char *text, st_directives *out,
                             st_error *error) {
    while (isspace((unsigned char)*text))
        text++;
    size_t length = 0;
    while (text[length] && !isspace((unsigned char)text[length]))
        length++;
    if (!length)
        return st_fail(error, ST_USAGE,
                       "Write a word such as `param` behind it, or remove the line.",
                       "%s:%d: an empty directive", path, line);
    st_directive *items = st_grow(out->items, &out->capacity, out->count + 1, sizeof *items);
    if (!items)
        return st_fail_memory(error, "reading the template");
    out->items = items;
    st_directive *directive = &items[out->count++];
    directive->line = line;
    directive->word = st_strndup(text, length);
    directive->rest = st_trimmed(text + length, strlen(text + length));
    if (!directive->word || !directive->rest)
        return st_fail_memory(error, "reading the template");
    return ST_OK;
}

// One line at *at, which moves to the next.
static size_t take_line(const char **at, const char *end) {
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    size_t length = newline ? (size_t)(newline - *at) : (size_t)(end - *at);
    *at = newline ? newline + 1 : end;
    return length;
}

st_code st_directives_read(const char *path, const char *text, size_t length, st_directives *out,
                           st_error *error) {
    memset(out, 0, sizeof *out);
    const char *at = text, *end = text + length;
    st_text joined;
    st_text_init(&joined);
    st_code code = ST_OK;
    if (memchr(text, '\0', length))
        code = st_fail(error, ST_USAGE, "Give the source text of a kernel, not a compiled file.",
                       "%s: the file holds a NUL byte: it is no source text", path);
    for (int line = 1; !code && at < end; line++) {
        const char *start = at;
        size_t rest_length = take_line(&at, end);
        const char *rest = after_marker(start, &rest_length, "simtune:");
        if (!rest)
            continue;
        int first = line;
        st_text_clear(&joined);
        while (!code && join_line(rest, rest_length, &joined)) {
            start = at;
            rest_length = at < end ? take_line(&at, end) : 0;
            line++;
            const char *marked = after_marker(start, &rest_length, "simtune:");
            rest = marked ? marked : after_marker(start, &rest_length, "");
            if (!rest)
                code = st_fail(error, ST_USAGE,
                               "Begin the next line with `// simtune:`, or remove the backslash.",
                               "%s:%d: the directive goes on, but the next line is no comment",
                               path, first);
        }
        if (!code && joined.failed)
            code = st_fail_memory(error, "reading the template");
        if (!code)
            code = add_directive(path, first, st_text_string(&joined), out, error);
    }
    st_text_release(&joined);
    return code;
}

void st_directives_release(st_directives *directives) {
    for (size_t i = 0; i < directives->count; i++) {
        st_free(directives->items[i].word);
        st_free(directives->items[i].rest);
    }
    st_free(directives->items);
    memset(directives, 0, sizeof *directives);
}

// --- fields
// ----------------------------------------------------------------------------------------------------

void st_fields_release(st_fields *fields) {
    st_free(fields->head);
    for (size_t i = 0; i < fields->count; i++) {
        st_free(fields->keys[i]);
        st_free(fields->values[i]);
    }
    memset(fields, 0, sizeof *fields);
}

const char *st_fields_get(const st_fields *fields, const char *key) {
    for (size_t i = 0; i < fields->count; i++)
        if (strcmp(fields->keys[i], key) == 0)
            return fields->values[i];
    return NULL;
}

// Length of a key that begins at `at` ("grid=", "when"), its value following at *value; 0: none.
// NAME= that is no known key is one too, so that a typing error is not taken for a value.
static size_t key_at(const char *at, const char *const *keys, bool *known, const char **value) {
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    const char *behind = at + length;
    while (isblank((unsigned char)*behind))
        behind++;
    bool equals = *behind == '=' && behind[1] != '=', any_equals = false;
    *known = false;
    for (; *keys; keys++) {
        size_t key_length = strlen(*keys);
        bool wants = (*keys)[key_length - 1] == '=';
        any_equals |= wants;
        if (key_length - (wants ? 1 : 0) == length && strncmp(at, *keys, length) == 0 &&
            wants == equals)
            *known = true;
    }
    *value = equals ? behind + 1 : behind;
    return length && !isdigit((unsigned char)*at) && (*known || (equals && any_equals)) ? length
                                                                                        : 0;
}

static st_code unknown_key(st_loader *loader, const char *key, const char *const *keys) {
    size_t count = 0;
    char remedy[256];
    while (keys[count])
        count++;
    st_loader_suggest(key, keys, count, "words here", remedy, sizeof remedy);
    return st_loader_fail(loader, remedy, "`%s` is not known to `%s`", key, loader->at->word);
}

static st_code add_field(st_loader *loader, const char *key, size_t key_length, const char *value,
                         size_t value_length, st_fields *out) {
    char *name = st_strndup(key, key_length);
    char *text = st_trimmed(value, value_length);
    st_code code = ST_OK;
    if (!name || !text)
        code = st_loader_no_memory(loader);
    else if (st_fields_get(out, name))
        code = st_loader_fail(loader, NULL, "`%s` stands twice", name);
    else if (out->count == ST_MAX_FIELDS)
        code = st_loader_fail(loader, NULL, "too many fields");
    if (code) {
        st_free(name);
        st_free(text);
        return code;
    }
    out->keys[out->count] = name;
    out->values[out->count++] = text;
    return ST_OK;
}

// The end of a value that begins at `at`: the next key outside parentheses, or the end of the text.
static const char *field_end(const char *at, const char *const *keys) {
    int depth = 0;
    const char *value;
    bool known, start = true;
    for (; *at; at++) {
        depth += *at == '(' || *at == '[' ? 1 : *at == ')' || *at == ']' ? -1 : 0;
        if (start && depth <= 0 && key_at(at, keys, &known, &value))
            return at;
        start = isspace((unsigned char)*at);
    }
    return at;
}

st_code st_fields_split(st_loader *loader, const char *text, const char *const *keys,
                        st_fields *out) {
    memset(out, 0, sizeof *out);
    const char *at = field_end(text, keys);
    out->head = st_trimmed(text, (size_t)(at - text));
    if (!out->head)
        return st_loader_no_memory(loader);
    while (*at) {
        const char *value;
        bool known;
        size_t length = key_at(at, keys, &known, &value);
        if (!known) {
            char key[80];
            snprintf(key, sizeof key, "%.*s=", (int)(length < 70 ? length : 70), at);
            return unknown_key(loader, key, keys);
        }
        bool last = length == 4 && strncmp(at, "when", 4) == 0; // an expression to the end
        const char *end = last ? value + strlen(value) : field_end(value, keys);
        st_code code = add_field(loader, at, length, value, (size_t)(end - value), out);
        if (code)
            return code;
        at = end;
    }
    return ST_OK;
}

char *st_next_item(const char **text) {
    int depth = 0;
    const char *start = *text, *at = start;
    for (; *at && (*at != ',' || depth > 0); at++)
        depth += *at == '(' || *at == '[' ? 1 : *at == ')' || *at == ']' ? -1 : 0;
    *text = *at ? at + 1 : NULL;
    return st_trimmed(start, (size_t)(at - start));
}
