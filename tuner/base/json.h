// SPDX-License-Identifier: Apache-2.0
// JSON through jansson, allocating through memory.h, with errors that name the place. Promise: text
// that came from outside is never trusted: every getter checks presence, type and range.
#ifndef SIMTUNE_BASE_JSON_H
#define SIMTUNE_BASE_JSON_H

#include "tuner/base/error.h"
#include "tuner/base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

// Points jansson at st_malloc and st_free. Called once, first thing in main and in tests.
void st_json_setup(void);
// `name` is what the message calls the source ("cache.json", "message"). The caller owns *out.
st_code st_json_parse(const char *text, size_t length, const char *name, json_t **out,
                      st_error *error);
// Compact, sorted keys: equal values give equal bytes. Appends to `text`.
void st_json_print(const json_t *value, st_text *text);

// Each returns ST_FAILED with "NAME: KEY is missing / is not a …" when it is not so.
st_code st_json_get_int(const json_t *object, const char *key, int64_t *value, st_error *error);
st_code st_json_get_number(const json_t *object, const char *key, double *value, st_error *error);
st_code st_json_get_bool(const json_t *object, const char *key, bool *value, st_error *error);
// Borrowed: valid as long as the object.
st_code st_json_get_string(const json_t *object, const char *key, const char **value,
                           st_error *error);
st_code st_json_get_array(const json_t *object, const char *key, json_t **value, st_error *error);
st_code st_json_get_object(const json_t *object, const char *key, json_t **value, st_error *error);
// Appends a text as a JSON string, in quotes; what is not UTF-8 in it becomes "?".
void st_json_add_string(st_text *out, const char *text);
// NaN and infinities have no JSON form: they are written as null.
json_t *st_json_number(double value);
// null or absent gives NaN.
double st_json_number_or_nan(const json_t *object, const char *key);

// Sets a new value; false when memory was out somewhere, for this value or before.
bool st_json_put(json_t *object, const char *key, json_t *value);
// Unknown is null: NULL and "", and what is below 0.
json_t *st_json_text_or_null(const char *text);
json_t *st_json_known_or_null(int64_t value);

#endif
