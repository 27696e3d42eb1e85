// SPDX-License-Identifier: Apache-2.0
// The provenance lines of a header, as emit_provenance.c writes them. Invariants: 1. the first line says schema,
// family and how many rows follow, and so many there are; 2. an id is 32 hexadecimal digits, or it is unknown;
// 3. numbers that cannot be are refused.
#include "tuner/emit_rows.h"

#include "tuner/base/json.h"
#include "tuner/base/text.h"
#include "tuner/emit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// --- values --------------------------------------------------------------------------------------------------------

// "" where there is none; ST_FAILED when it is something else than a text.
static st_code text_of(const json_t *object, const char *key, const char **out, st_error *error)
{
    const json_t *value = json_object_get(object, key);
    *out = "";
    if (!value || json_is_null(value))
        return ST_OK;
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
        return st_fail(error, ST_FAILED, NULL, "\"%s\" is no text", key);
    *out = json_string_value(value);
    return ST_OK;
}

static st_code id_of(const json_t *object, const char *key, const char **out, st_error *error)
{
    st_code code = text_of(object, key, out, error);
    if (code == ST_OK && **out &&
        (strlen(*out) != ST_HASH_TEXT - 1 || strspn(*out, "0123456789abcdef") != ST_HASH_TEXT - 1))
        code = st_fail(error, ST_FAILED, NULL, "\"%s\" is no id", key);
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
    if (code != ST_OK && error)
        error->remedy[0] = '\0'; // of whoever writes JSON; nobody wrote this by hand
    if (code == ST_OK && (*out < low || *out > high))
        code = st_fail(error, ST_FAILED, NULL, "\"%s\" is out of range", key);
    return code;
}

// --- the lines -----------------------------------------------------------------------------------------------------

typedef struct reading {
    const st_provenance_reader *reader;
    const char *path;
    st_emit_head head;
    bool has_head;
    int64_t seen;
    int line, last; // the one at hand; the last of the block
} reading;

static st_code read_head(reading *at, const json_t *object, st_error *error)
{
    int64_t schema = 0;
    const char *family = "", *hash = "", *cache = "";
    st_code code = st_json_get_int(object, "schema", &schema, error);
    if (code != ST_OK && error)
        error->remedy[0] = '\0';
    if (code == ST_OK && schema > ST_PROVENANCE_SCHEMA)
        return st_fail(error, ST_FAILED, at->reader->newer,
                       "it was written by a newer simtune (provenance schema %lld, known here: %d)", (long long)schema,
                       ST_PROVENANCE_SCHEMA);
    if (code == ST_OK)
        code = number_of(object, "rows", 0, INT32_MAX, -1, &at->head.rows, error);
    if (code == ST_OK)
        code = text_of(object, "family", &family, error);
    if (code == ST_OK)
        code = text_of(object, "template", &hash, error);
    if (code == ST_OK)
        code = text_of(object, "cache", &cache, error);
    if (code == ST_OK && (!*family || at->head.rows < 0))
        code = st_fail(error, ST_FAILED, NULL, "\"family\" or \"rows\" is missing");
    if (code == ST_OK && *cache && strcmp(cache, "cold") != 0 && strcmp(cache, "warm") != 0)
        code = st_fail(error, ST_FAILED, NULL, "\"cache\" is neither cold nor warm");
    if (code != ST_OK)
        return code;
    snprintf(at->head.family, sizeof at->head.family, "%s", family);
    snprintf(at->head.template_hash, sizeof at->head.template_hash, "%s", hash);
    snprintf(at->head.cache, sizeof at->head.cache, "%s", cache);
    at->has_head = true;
    return at->reader->head ? at->reader->head(at->reader->context, &at->head, error) : ST_OK;
}

static st_code read_line(reading *at, const char *line, size_t length, st_error *error)
{
    json_t *object = NULL;
    st_code code = st_json_parse(line, length, "simtune-provenance", &object, error);
    if (code != ST_OK && error)
        error->remedy[0] = '\0';
    if (code == ST_OK && !json_is_object(object))
        code = st_fail(error, ST_FAILED, NULL, "a provenance line is no JSON object");
    if (code == ST_OK && !at->has_head) {
        code = read_head(at, object, error);
    } else if (code == ST_OK) {
        if (at->reader->row)
            code = at->reader->row(at->reader->context, &at->head, object, error);
        at->seen++;
    }
    json_decref(object);
    return code;
}

// What is wrong with a line, where, and what to do, unless whoever refused it knows better. Other codes than ST_FAILED
// are the caller's own.
static st_code line_failed(const reading *at, st_code code, st_error *error)
{
    if ((code != ST_FAILED && code != ST_STALE) || !error)
        return code;
    if (!error->remedy[0]) {
        snprintf(error->remedy, sizeof error->remedy, "%s", at->reader->anew);
        st_error_prefix(error, "the provenance in this header is damaged");
    }
    return st_error_prefix(error, "%s:%d", at->path, at->line);
}

static st_code read_lines(reading *at, const char *text, st_error *error)
{
    const size_t start = sizeof ST_PROVENANCE_START - 1;
    for (at->line = 1; *text; at->line++) {
        size_t length = strcspn(text, "\n");
        if (length > start && strncmp(text, ST_PROVENANCE_START, start) == 0) {
            st_code code = read_line(at, text + start, length - start, error);
            if (code != ST_OK)
                return line_failed(at, code, error);
            at->last = at->line;
        }
        text += length;
        text += *text == '\n';
    }
    if (!at->has_head)
        return st_fail(error, ST_FAILED, at->reader->foreign, "%s is no header that simtune made", at->path);
    if (at->seen != at->head.rows)
        return st_fail(error, ST_FAILED, at->reader->anew,
                       "%s:%d: the provenance in this header is damaged: its rows end here, %lld where %lld are announced",
                       at->path, at->last, (long long)at->seen, (long long)at->head.rows);
    return ST_OK;
}

st_code st_provenance_read(const char *path, const st_provenance_reader *reader, st_error *error)
{
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return st_fail(error, ST_NOTHING, NULL, "%s does not exist", path);
    st_text text;
    st_text_init(&text);
    reading at = {.reader = reader, .path = path};
    st_code code = st_text_read_file(&text, path, error);
    if (code == ST_OK)
        code = read_lines(&at, st_text_string(&text), error);
    st_text_release(&text);
    return code;
}

// --- the first line alone --------------------------------------------------------------------------------------------

#define WITHOUT_TEMPLATE                                                                                               \
    .anew = "write it again: simtune emit FAMILY", .newer = "use the simtune that wrote it",                           \
    .foreign = "name a header that simtune emit wrote"

static st_code keep_head(void *context, const st_emit_head *head, st_error *error)
{
    (void)error;
    *(st_emit_head *)context = *head;
    return ST_OK;
}

st_code st_emit_read_head(const char *path, st_emit_head *out, st_error *error)
{
    *out = (st_emit_head){.rows = 0};
    const st_provenance_reader reader = {.context = out, .head = keep_head, WITHOUT_TEMPLATE};
    return st_provenance_read(path, &reader, error);
}

// --- rows without a template -----------------------------------------------------------------------------------------

typedef struct row_reader {
    st_provenance_callback *callback;
    void *context;
} row_reader;

static st_code fill_row(const st_emit_head *head, const json_t *object, st_provenance_row *row, st_error *error)
{
    const struct {
        const char *key;
        const char **out;
        bool is_id;
    } texts[] = {{"problem", &row->problem, false},   {"config", &row->configuration, false},
                 {"device", &row->device, false},     {"driver", &row->driver, false},
                 {"compiler", &row->compiler, false}, {"template", &row->template_hash, false},
                 {"session", &row->session, true},    {"candidate", &row->candidate, true}};
    int64_t cc = -1, sm_count = -1;
    st_code code = ST_OK;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && code == ST_OK; i++)
        code = (texts[i].is_id ? id_of : text_of)(object, texts[i].key, texts[i].out, error);
    if (code == ST_OK && !*row->problem)
        code = st_fail(error, ST_FAILED, NULL, "\"problem\" is missing");
    if (code == ST_OK)
        code = number_of(object, "cc", 1, 10000, -1, &cc, error);
    if (code == ST_OK)
        code = number_of(object, "sm_count", 1, 1000000, -1, &sm_count, error);
    if (code == ST_OK)
        code = number_of(object, "measured_ms", 0, INT64_MAX, -1, &row->measured_ms, error);
    row->family = head->family;
    row->cache = head->cache[0] ? head->cache : "cold";
    row->cc = (int)cc;
    row->sm_count = (int)sm_count;
    row->median_ns = st_json_number_or_nan(object, "median_ns");
    row->predicted = json_is_true(json_object_get(object, "predicted"));
    row->emulated = json_is_true(json_object_get(object, "emulated"));
    return code;
}

static st_code read_row(void *context, const st_emit_head *head, const json_t *object, st_error *error)
{
    row_reader *at = context;
    st_provenance_row row = {0};
    st_code code = fill_row(head, object, &row, error);
    return code == ST_OK ? at->callback(at->context, &row, error) : code;
}

st_code st_emit_rows(const char *path, st_provenance_callback *callback, void *context, st_error *error)
{
    row_reader at = {.callback = callback, .context = context};
    const st_provenance_reader reader = {.context = &at, .row = read_row, WITHOUT_TEMPLATE};
    return st_provenance_read(path, &reader, error);
}
