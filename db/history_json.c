// SPDX-License-Identifier: Apache-2.0
// JSON of history files. Invariants: 1. equal values give equal bytes; 2. a number reads back as the same
// double; 3. a text that is not UTF-8 (a cut log) is written with '?' for what is wrong in it.
#include "db/history_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- filling -----------------------------------------------------------------------------------------------
void st_line_value(st_line *line, const char *name, json_t *value)
{
    // json_object_set_new takes the value even when it fails, also for want of an object.
    if (json_object_set_new(line->object, name, value) != 0)
        line->failed = true;
}

void st_line_start(st_line *line, const char *row)
{
    line->object = json_object();
    line->failed = line->object == NULL;
    if (row)
        st_line_text(line, "row", row);
}

json_t *st_history_string(const char *text)
{
    st_text valid;
    st_text_init(&valid);
    for (const char *at = text; *at;) {
        size_t length = st_text_character(at);
        st_text_add_bytes(&valid, length ? at : "?", length ? length : 1);
        at += length ? length : 1;
    }
    json_t *value = valid.failed ? NULL : json_string(st_text_string(&valid));
    st_text_release(&valid);
    return value;
}

void st_line_text(st_line *line, const char *name, const char *value)
{
    if (value && *value)
        st_line_value(line, name, st_history_string(value));
}

void st_line_int(st_line *line, const char *name, int64_t value)
{
    if (value != -1)
        st_line_value(line, name, json_integer(value));
}

void st_line_real(st_line *line, const char *name, double value)
{
    if (isfinite(value))
        st_line_value(line, name, json_real(value));
}

void st_line_json(st_line *line, const char *name, const char *json)
{
    if (!json || !*json)
        return;
    json_t *value = NULL; // stays so when the text cannot be read
    st_json_parse(json, strlen(json), name, &value, NULL);
    st_line_value(line, name, value);
}

json_t *st_history_samples(const double *samples, size_t count)
{
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = json_array_append_new(list, st_json_number(samples[i])) == 0;
    if (ok)
        return list;
    json_decref(list);
    return NULL;
}

// --- printing ----------------------------------------------------------------------------------------------
static void print_string(const char *text, size_t length, st_text *out)
{
    st_text_add(out, "\"");
    size_t done = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        st_text_add_bytes(out, text + done, i - done);
        done = i + 1;
        if (c == '\n')
            st_text_add(out, "\\n");
        else if (c < 0x20)
            st_text_addf(out, "\\u%04x", c);
        else
            st_text_addf(out, "\\%c", c);
    }
    st_text_add_bytes(out, text + done, length - done);
    st_text_add(out, "\"");
}

// The shortest of 15, 16 and 17 digits that reads back as the same number.
static void print_real(double value, st_text *out)
{
    char digits[40] = "-0.0"; // as "-0" it would be read as an integer and lose its sign
    bool negative_zero = value == 0 && signbit(value);
    for (int precision = 15; precision <= 17 && !negative_zero; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    for (char *at = digits; *at; at++) // whatever the locale says
        if (*at == ',')
            *at = '.';
    st_text_add(out, digits);
}

static void print_list(const json_t *list, st_text *out)
{
    st_text_add(out, "[");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i)
            st_text_add(out, ",");
        st_history_print(json_array_get(list, i), out);
    }
    st_text_add(out, "]");
}

static void print_object(json_t *object, st_text *out)
{
    st_text_add(out, "{");
    const char *separator = "";
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        st_text_add(out, separator);
        print_string(key, strlen(key), out);
        st_text_add(out, ":");
        st_history_print(value, out);
        separator = ",";
    }
    st_text_add(out, "}");
}

void st_history_print(const json_t *value, st_text *out)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        print_object((json_t *)(uintptr_t)value,
                     out); // the macro wants it not const; nothing is changed
        break;
    case JSON_ARRAY:
        print_list(value, out);
        break;
    case JSON_STRING:
        print_string(json_string_value(value), json_string_length(value), out);
        break;
    case JSON_INTEGER:
        st_text_addf(out, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        print_real(json_real_value(value), out);
        break;
    default:
        st_text_add(out, json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
    }
}
