// SPDX-License-Identifier: Apache-2.0
// The face of the header's host function: its name and the order of its arguments, each chosen by
// the first line whose `when` holds for the problem; and what may be done in place.
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <stdio.h>
#include <string.h>

st_code st_read_head_and_when(st_loader *loader, char **head, st_expression **when) {
    static const char *const keys[] = {"when", NULL};
    st_fields fields;
    *head = NULL;
    st_code code = st_fields_split(loader, loader->at->rest, keys, &fields);
    const char *text = code ? NULL : st_fields_get(&fields, "when");
    if (text)
        code = st_loader_expression(loader, text, when);
    if (!code && !(*head = st_strdup(fields.head)))
        code = st_loader_no_memory(loader);
    st_fields_release(&fields);
    return code;
}

// --- arguments -----------------------------------------------------------------------------------

static st_code add_name(st_loader *loader, st_host_list *list, size_t *capacity, char *name) {
    char **names =
        name ? st_loader_append(loader, list->names, &list->count, capacity, sizeof *names) : NULL;
    if (!names) {
        st_free(name);
        return st_loader_no_memory(loader);
    }
    list->names = names;
    names[list->count - 1] = name;
    return ST_OK;
}

static bool is_host_buffer(const st_buffer *buffer) {
    return buffer->role == ST_BUFFER_INPUT || buffer->role == ST_BUFFER_OUTPUT ||
           buffer->role == ST_BUFFER_INOUT;
}

static bool is_host_axis(const st_axis *axis) {
    return axis->kind == ST_AXIS_SIZE && !axis->data;
}

static bool has_name(const st_host_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            return true;
    return false;
}

static bool fits(const st_template *t, const char *name) {
    int buffer = st_template_buffer(t, name), axis = st_template_axis(t, name);
    return (buffer >= 0 && is_host_buffer(&t->buffers[buffer])) ||
           (axis >= 0 && is_host_axis(&t->axes[axis])) || st_template_scalar(t, name) >= 0;
}

static st_host_list *new_list(st_loader *loader) {
    st_template *t = loader->tmpl;
    st_host_list *lists = st_loader_append(loader, t->host_lists, &t->host_list_count,
                                           &loader->list_capacity, sizeof *lists);
    if (!lists)
        return NULL;
    t->host_lists = lists;
    st_host_list *list = &lists[t->host_list_count - 1];
    list->line = loader->at ? loader->at->line : 0;
    return list;
}

static st_code read_names(st_loader *loader, const char *text, st_host_list *list) {
    size_t capacity = 0;
    st_code code = ST_OK;
    while (!code && text) {
        char *name = st_next_item(&text);
        bool fit = name && fits(loader->tmpl, name);
        if (name && (!fit || has_name(list, name))) {
            code = st_loader_fail(loader,
                                  "List input, output and inout buffers, scalars and size axes, "
                                  "each once.",
                                  "`%s` cannot stand %shere", name, fit ? "twice " : "");
            st_free(name);
        } else {
            code = add_name(loader, list, &capacity, name);
        }
    }
    return code;
}

// A line behind one without `when` would never be asked.
static st_code check_reachable(st_loader *loader, const st_expression *before, int line) {
    return line && !before
               ? st_loader_fail(loader, "Put the line without `when` last.",
                                "line %d, which always holds, leaves nothing for this one", line)
               : ST_OK;
}

st_code st_read_host_args(st_loader *loader) {
    st_template *t = loader->tmpl;
    size_t before = t->host_list_count;
    st_code code = before ? check_reachable(loader, t->host_lists[before - 1].when,
                                            t->host_lists[before - 1].line)
                          : ST_OK;
    st_host_list *list = code ? NULL : new_list(loader);
    if (!list)
        return code ? code : ST_NO_MEMORY;
    char *head;
    code = st_read_head_and_when(loader, &head, &list->when);
    if (!code)
        code = st_check_given(loader, "`host_args`", list->when, false);
    if (!code)
        code = read_names(loader, head, list);
    st_free(head);
    return code;
}

// Every list names every size. One without `when` names every buffer as well; the others may leave
// out what their problems do not use, which the printing of the header finds.
static st_code check_list(st_loader *loader, const st_host_list *list) {
    const st_template *t = loader->tmpl;
    st_directive line = {.line = list->line};
    const char *missing = NULL, *what = "size";
    for (size_t i = 0; !missing && i < t->axis_count; i++)
        if (is_host_axis(&t->axes[i]) && !has_name(list, t->axes[i].name))
            missing = t->axes[i].name;
    for (size_t i = 0; !missing && t->host_list_count == 1 && !list->when && i < t->buffer_count;
         i++)
        if (is_host_buffer(&t->buffers[i]) && !has_name(list, t->buffers[i].name)) {
            missing = t->buffers[i].name;
            what = "buffer";
        }
    if (!missing)
        return ST_OK;
    loader->at = &line;
    st_code code = st_loader_fail(loader, "Add it to `host_args`.", "`host_args` lacks the %s `%s`",
                                  what, missing);
    loader->at = NULL;
    return code;
}

// What is left when no line holds: inputs, inouts, outputs, scalars, sizes.
st_code st_complete_host_args(st_loader *loader) {
    static const st_buffer_role order[] = {ST_BUFFER_INPUT, ST_BUFFER_INOUT, ST_BUFFER_OUTPUT};
    st_template *t = loader->tmpl;
    st_code code = ST_OK;
    loader->at = NULL;
    for (size_t i = 0; !code && i < t->host_list_count; i++)
        code = check_list(loader, &t->host_lists[i]);
    if (code || (t->host_list_count && !t->host_lists[t->host_list_count - 1].when))
        return code;
    st_host_list *list = new_list(loader);
    size_t capacity = 0;
    if (!list)
        return ST_NO_MEMORY;
    for (size_t r = 0; r < 3; r++)
        for (size_t i = 0; !code && i < t->buffer_count; i++)
            if (t->buffers[i].role == order[r])
                code = add_name(loader, list, &capacity, st_strdup(t->buffers[i].name));
    for (size_t i = 0; !code && i < t->scalar_count; i++)
        code = add_name(loader, list, &capacity, st_strdup(t->scalars[i].name));
    for (size_t i = 0; !code && i < t->axis_count; i++)
        if (is_host_axis(&t->axes[i]))
            code = add_name(loader, list, &capacity, st_strdup(t->axes[i].name));
    return code;
}

// --- the name ------------------------------------------------------------------------------------

// "{kind}_scan_{T}": letters, digits, _ and axes in braces.
static st_code check_pattern(st_loader *loader, const char *pattern) {
    const st_template *t = loader->tmpl;
    for (const char *at = pattern; *at; at++) {
        char name[64];
        if (*at != '{') {
            if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *at))
                return st_loader_fail(loader, "Use letters, digits, _ and axes in braces: {T}_{op}.",
                                      "`%s` is no name of a host function", pattern);
            continue;
        }
        const char *close = strchr(at, '}');
        size_t length = close ? (size_t)(close - at - 1) : 0;
        snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), at + 1);
        int axis = close ? st_template_axis(t, name) : -1;
        if (axis < 0 || t->axes[axis].kind == ST_AXIS_SIZE || t->axes[axis].data)
            return st_loader_fail(loader, "Name an axis of types or words in the braces.",
                                  "`%s`: {%s} is no axis that can stand in a name", pattern, name);
        at = close;
    }
    return *pattern ? ST_OK
                    : st_loader_fail(loader, "Write `host_name {T}_{op}`.", "the name is missing");
}

st_code st_read_host_name(st_loader *loader) {
    st_template *t = loader->tmpl;
    size_t before = t->host_name_count;
    st_code code = before ? check_reachable(loader, t->host_names[before - 1].when,
                                            t->host_names[before - 1].line)
                          : ST_OK;
    st_host_name *names = code ? NULL
                               : st_loader_append(loader, t->host_names, &t->host_name_count,
                                                  &loader->host_name_capacity, sizeof *names);
    if (!names)
        return code ? code : ST_NO_MEMORY;
    t->host_names = names;
    st_host_name *name = &names[t->host_name_count - 1];
    name->line = loader->at->line;
    code = st_read_head_and_when(loader, &name->pattern, &name->when);
    if (!code)
        code = st_check_given(loader, "`host_name`", name->when, false);
    return code ? code : check_pattern(loader, name->pattern);
}

// --- in place ------------------------------------------------------------------------------------

// "IN OUT [when E]"
st_code st_read_in_place(st_loader *loader) {
    st_template *t = loader->tmpl;
    st_in_place *items = st_loader_append(loader, t->in_places, &t->in_place_count,
                                          &loader->in_place_capacity, sizeof *items);
    if (!items)
        return ST_NO_MEMORY;
    t->in_places = items;
    st_in_place *it = &items[t->in_place_count - 1];
    it->input = it->output = -1;
    char *head, input[64], output[64], more[8];
    st_code code = st_read_head_and_when(loader, &head, &it->when);
    const char *at = head;
    if (!code && (!st_next_token(&at, input, sizeof input) ||
                  !st_next_token(&at, output, sizeof output) || st_next_token(&at, more, sizeof more)))
        code = st_loader_fail(loader, "Write `in_place INPUT OUTPUT`.", "`%s` are not two buffers",
                              head);
    st_free(head);
    if (!code)
        code = st_find_buffer(loader, input, &it->input);
    if (!code)
        code = st_find_buffer(loader, output, &it->output);
    if (!code && (t->buffers[it->input].role != ST_BUFFER_INPUT ||
                  t->buffers[it->output].role != ST_BUFFER_OUTPUT ||
                  strcmp(t->buffers[it->input].type_word, t->buffers[it->output].type_word) != 0))
        code = st_loader_fail(loader, "Name an input and an output of the same type.",
                              "`%s` and `%s` cannot be the same memory", input, output);
    if (!code && it->when && st_expression_is_late(it->when, &t->scope))
        code = st_loader_fail(loader, "Do not use BLOCKS_PER_SM here.",
                              "the promise must be known before compiling");
    return code;
}
