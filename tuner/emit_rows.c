// SPDX-License-Identifier: Apache-2.0
// The provenance lines of a header, as emit_provenance.c writes them. Invariants: 1. the first line says schema,
// family and how many rows follow, and so many there are; 2. an id is 32 hexadecimal digits, or it is unknown;
// 3. numbers that cannot be are refused.
#include "tuner/emit_rows.h"

#include "tuner/base/hash.h"
#include "tuner/base/json.h"
#include "tuner/base/text.h"
#include "tuner/emit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char anew[] = "write it again: simtune emit FAMILY";

typedef struct reader {
    const char *path;
    int line;
    json_t *head;       // NULL before it
    int64_t announced, seen;
    st_emit_row_callback *callback;
    void *context;
} reader;

// "" where there is none; ST_FAILED when it is something else than a text.
static st_code text_of(const json_t *object, const char *key, const char **out, st_error *error)
{
    const json_t *value = json_object_get(object, key);
    *out = "";
    if (!value || json_is_null(value))
        return ST_OK;
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
        return st_fail(error, ST_FAILED, anew, "\"%s\" is no text", key);
    *out = json_string_value(value);
    return ST_OK;
}

static st_code id_of(const json_t *object, const char *key, const char **out, st_error *error)
{
    st_code code = text_of(object, key, out, error);
    if (code == ST_OK && **out &&
        (strlen(*out) != ST_HASH_TEXT - 1 || strspn(*out, "0123456789abcdef") != ST_HASH_TEXT - 1))
        code = st_fail(error, ST_FAILED, anew, "\"%s\" is no id", key);
    return code;
}

static st_code number_of(const json_t *object, const char *key, int64_t low, int64_t high, int64_t missing,
                         int64_t *out, st_error *error)
{
    const json_t *value = json_object_get(object, key);
    *out = missing;
    if (!value || json_is_null(value))
        return ST_OK;
    st_code code = st_json_get_int(object, key, out, error);
    if (code == ST_OK && (*out < low || *out > high))
        code = st_fail(error, ST_FAILED, anew, "\"%s\" is out of range", key);
    return code;
}

static st_code read_head(reader *at, json_t *object, st_error *error)
{
    int64_t schema = 0;
    const char *text = "";
    st_code code = st_json_get_int(object, "schema", &schema, error);
    if (code == ST_OK && schema > ST_PROVENANCE_SCHEMA)
        return st_fail(error, ST_FAILED, "use the simtune that wrote it",
                       "it was written by a newer simtune (provenance schema %lld, known here: %d)",
                       (long long)schema, ST_PROVENANCE_SCHEMA);
    if (code == ST_OK)
        code = number_of(object, "rows", 0, INT32_MAX, -1, &at->announced, error);
    if (code == ST_OK)
        code = text_of(object, "family", &text, error);
    if (code == ST_OK && (!*text || at->announced < 0))
        code = st_fail(error, ST_FAILED, anew, "\"family\" or \"rows\" is missing");
    if (code == ST_OK)
        code = text_of(object, "cache", &text, error);
    if (code == ST_OK && *text && strcmp(text, "cold") != 0 && strcmp(text, "warm") != 0)
        code = st_fail(error, ST_FAILED, anew, "\"cache\" is neither cold nor warm");
    if (code == ST_OK)
        at->head = json_incref(object);
    return code;
}

static st_code read_row(reader *at, const json_t *object, st_error *error)
{
    st_emit_row row = {0};
    const struct {
        const char *key;
        const char **out;
        bool is_id;
    } texts[] = {{"problem", &row.problem, false},   {"config", &row.configuration, false},
                 {"device", &row.device, false},     {"driver", &row.driver, false},
                 {"compiler", &row.compiler, false}, {"template", &row.template_hash, false},
                 {"session", &row.session, true},    {"candidate", &row.candidate, true}};
    int64_t cc = -1, sm_count = -1;
    st_code code = text_of(at->head, "family", &row.family, error);
    if (code == ST_OK)
        code = text_of(at->head, "cache", &row.cache, error);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && code == ST_OK; i++)
        code = (texts[i].is_id ? id_of : text_of)(object, texts[i].key, texts[i].out, error);
    if (code == ST_OK && !*row.problem)
        code = st_fail(error, ST_FAILED, anew, "\"problem\" is missing");
    if (code == ST_OK)
        code = number_of(object, "cc", 1, 10000, -1, &cc, error);
    if (code == ST_OK)
        code = number_of(object, "sm_count", 1, 1000000, -1, &sm_count, error);
    if (code == ST_OK)
        code = number_of(object, "measured_ms", 0, INT64_MAX, -1, &row.measured_ms, error);
    if (code != ST_OK)
        return code;
    row.cc = (int)cc;
    row.sm_count = (int)sm_count;
    row.median_ns = st_json_number_or_nan(object, "median_ns");
    row.predicted = json_is_true(json_object_get(object, "predicted"));
    row.emulated = json_is_true(json_object_get(object, "emulated"));
    if (!*row.cache)
        row.cache = "cold";
    at->seen++;
    return at->callback(at->context, &row, error);
}

static st_code read_line(reader *at, const char *line, size_t length, st_error *error)
{
    json_t *object = NULL;
    st_code code = st_json_parse(line, length, "simtune-provenance", &object, error);
    if (code == ST_OK && !json_is_object(object))
        code = st_fail(error, ST_FAILED, anew, "a provenance line is no JSON object");
    if (code == ST_OK)
        code = at->head ? read_row(at, object, error) : read_head(at, object, error);
    json_decref(object);
    return code;
}

// Where, and what to do when whoever refused it could not know. A callback's own errors stand as they are.
static st_code line_failed(const reader *at, st_code code, st_error *error)
{
    if (code != ST_FAILED || !error)
        return code;
    if (!error->remedy[0])
        snprintf(error->remedy, sizeof error->remedy, "%s", anew);
    st_error_prefix(error, "%s:%d", at->path, at->line);
    return code;
}

static st_code read_all(reader *at, const char *text, st_error *error)
{
    const size_t start = sizeof ST_PROVENANCE_START - 1;
    for (at->line = 1; *text; at->line++) {
        size_t length = strcspn(text, "\n");
        if (length > start && strncmp(text, ST_PROVENANCE_START, start) == 0) {
            st_code code = read_line(at, text + start, length - start, error);
            if (code != ST_OK)
                return line_failed(at, code, error);
        }
        text += length;
        text += *text == '\n';
    }
    if (!at->head)
        return st_fail(error, ST_FAILED, "name a header that simtune emit wrote", "%s is no header that simtune made",
                       at->path);
    if (at->seen != at->announced)
        return st_fail(error, ST_FAILED, anew,
                       "%s: the provenance of this header is cut off: %lld rows where %lld are announced", at->path,
                       (long long)at->seen, (long long)at->announced);
    return ST_OK;
}

st_code st_emit_rows(const char *path, st_emit_row_callback *callback, void *context, st_error *error)
{
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return st_fail(error, ST_NOTHING, NULL, "%s does not exist", path);
    st_text text;
    st_text_init(&text);
    reader at = {.path = path, .callback = callback, .context = context};
    st_code code = st_text_read_file(&text, path, error);
    if (code == ST_OK)
        code = read_all(&at, st_text_string(&text), error);
    json_decref(at.head);
    st_text_release(&text);
    return code;
}
