// SPDX-License-Identifier: Apache-2.0
#include "tuner/base/json.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// jansson 2.14 corrupts its token buffer when that cannot grow while it reads a text (lex_save drops the byte
// and goes on), so faults are not injected there; a system that is truly out of memory may still meet it.
static _Thread_local bool reading;

static void *json_memory(size_t bytes)
{
    return reading ? malloc(bytes ? bytes : 1) : st_malloc(bytes);
}

void st_json_setup(void)
{
    json_set_alloc_funcs(json_memory, st_free);
}

st_code st_json_parse(const char *text, size_t length, const char *name, json_t **out,
                      st_error *error)
{
    json_error_t why;
    reading = true;
    *out = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    reading = false;
    if (*out)
        return ST_OK;
    if (json_error_code(&why) == json_error_out_of_memory)
        return st_fail_memory(error, "reading JSON");
    return st_fail(error, ST_FAILED, "check that the file is JSON and complete", "%s:%d:%d: %s", name,
                   why.line, why.column, why.text);
}

static int append(const char *buffer, size_t size, void *data)
{
    st_text_add_bytes(data, buffer, size);
    return 0;
}

void st_json_print(const json_t *value, st_text *text)
{
    if (json_dump_callback(value, append, text,
                           JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) !=
        0)
        text->failed = true;
}

void st_json_add_string(st_text *out, const char *text)
{
    st_text_add(out, "\"");
    while (*text) {
        size_t length = st_text_character(text);
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            st_text_addf(out, "\\%c", c);
        else if (length == 1 && (c < 0x20 || c == 0x7f))
            st_text_addf(out, "\\u%04x", c);
        else
            st_text_add_bytes(out, length ? text : "?", length ? length : 1);
        text += length ? length : 1;
    }
    st_text_add(out, "\"");
}

static st_code wrong(st_error *error, const char *key, const json_t *found, const char *wanted)
{
    if (!found)
        return st_fail(error, ST_FAILED, NULL, "\"%s\" is missing (%s)", key, wanted);
    return st_fail(error, ST_FAILED, NULL, "\"%s\" is not %s", key, wanted);
}

st_code st_json_get_int(const json_t *object, const char *key, int64_t *value, st_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_integer(found))
        return wrong(error, key, found, "a whole number");
    *value = json_integer_value(found);
    return ST_OK;
}

st_code st_json_get_number(const json_t *object, const char *key, double *value, st_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_number(found))
        return wrong(error, key, found, "a number");
    *value = json_number_value(found);
    return ST_OK;
}

st_code st_json_get_bool(const json_t *object, const char *key, bool *value, st_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_boolean(found))
        return wrong(error, key, found, "true or false");
    *value = json_is_true(found);
    return ST_OK;
}

st_code st_json_get_string(const json_t *object, const char *key, const char **value,
                           st_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_string(found))
        return wrong(error, key, found, "a text");
    *value = json_string_value(found);
    return ST_OK;
}

st_code st_json_get_array(const json_t *object, const char *key, json_t **value, st_error *error)
{
    json_t *found = json_object_get(object, key);
    if (!json_is_array(found))
        return wrong(error, key, found, "a list");
    *value = found;
    return ST_OK;
}

st_code st_json_get_object(const json_t *object, const char *key, json_t **value, st_error *error)
{
    json_t *found = json_object_get(object, key);
    if (!json_is_object(found))
        return wrong(error, key, found, "an object");
    *value = found;
    return ST_OK;
}

json_t *st_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

double st_json_number_or_nan(const json_t *object, const char *key)
{
    const json_t *found = json_object_get(object, key);
    return json_is_number(found) ? json_number_value(found) : NAN;
}

bool st_json_put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

json_t *st_json_text_or_null(const char *text)
{
    return text && text[0] ? json_string(text) : json_null();
}

json_t *st_json_known_or_null(int64_t value)
{
    return value >= 0 ? json_integer(value) : json_null();
}
