// SPDX-License-Identifier: Apache-2.0
// Stall lines as the store has them. Invariant: text that came from a store may be from anyone: fields that are
// missing or of another kind leave the line unknown there, what is no list at all is refused.
#include "cupti/advice.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <string.h>

static void copy_text(const json_t *object, const char *key, char *to, size_t capacity) {
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(to, capacity, "%s", text ? text : "");
}

static uint64_t number_of(const json_t *object, const char *key) {
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static int stall_of(const json_t *object) {
    size_t count = 0;
    const st_stall *table = st_stalls(&count), *found = NULL;
    const char *name = json_string_value(json_object_get(object, "stall"));
    if (name && name[0])
        found = st_stall_find(name);
    return found ? (int)(found - table) : -1;
}

static void read_line(const json_t *object, st_line_sample *out) {
    uint64_t line = number_of(object, "line");
    copy_text(object, "function", out->function, sizeof out->function);
    copy_text(object, "file", out->file, sizeof out->file);
    out->pc_offset = number_of(object, "pc");
    out->line = line <= 0x7fffffff ? (int)line : 0;
    out->samples = number_of(object, "samples");
    out->main_stall = stall_of(object);
}

st_code st_stall_lines_parse(const char *json, st_line_sample **out, size_t *count, st_error *error) {
    json_t *list = NULL;
    *out = NULL;
    *count = 0;
    if (!json || !json[0])
        return ST_OK;
    st_code code = st_json_parse(json, strlen(json), "stall lines", &list, error);
    if (code == ST_OK && !json_is_array(list))
        code = st_fail(error, ST_FAILED, NULL, "stall lines: this is no list");
    size_t lines = json_array_size(list);
    if (code == ST_OK && lines && !(*out = st_calloc(lines, sizeof **out)))
        code = st_fail_memory(error, "reading stall lines");
    for (size_t i = 0; i < lines && code == ST_OK; i++)
        read_line(json_array_get(list, i), &(*out)[(*count)++]);
    json_decref(list);
    return code;
}
