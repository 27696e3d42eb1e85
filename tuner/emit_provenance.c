// SPDX-License-Identifier: Apache-2.0
// The machine-readable block: one comment line "// simtune-provenance {…}" for the header, then one
// a row. JSON with sorted keys; written and read here alone. A reader of a later simtune reads
// every older schema; this one refuses a newer.
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/version.h"
#include "tuner/emit_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>


// --- writing -------------------------------------------------------------------------------------

static void add_line(json_t *object, bool whole, st_text *out)
{
    if (object && whole) {
        st_text_add(out, ST_PROVENANCE_START);
        st_json_print(object, out);
        st_text_add(out, "\n");
    } else {
        out->failed = true;
    }
    json_decref(object);
}

static void add_header_line(const st_emit_model *model, st_text *out)
{
    json_t *object = json_object();
    bool whole = object && st_json_put(object, "schema", json_integer(ST_PROVENANCE_SCHEMA)) &&
                 st_json_put(object, "tool", json_string("simtune " SIMTUNE_VERSION)) &&
                 st_json_put(object, "family", json_string(model->tmpl->family)) &&
                 st_json_put(object, "template", json_string(model->tmpl->hash)) &&
                 st_json_put(object, "licence", json_string("0BSD")) &&
                 st_json_put(object, "cache", st_json_text_or_null(model->options->cache)) &&
                 st_json_put(object, "not_tuned_here", json_boolean(model->options->not_tuned_here)) &&
                 st_json_put(object, "command", st_json_text_or_null(model->options->command)) &&
                 st_json_put(object, "rows", json_integer((json_int_t)model->given_count));
    add_line(object, whole, out);
}

static void add_choice_line(const st_template *tmpl, const st_choice *choice, st_text *out)
{
    json_t *object = st_choice_to_json(tmpl, choice);
    add_line(object, object != NULL, out);
}

void st_emit_provenance(const st_emit_model *model, st_text *out)
{
    add_header_line(model, out);
    for (size_t i = 0; i < model->given_count; i++)
        add_choice_line(model->tmpl, &model->choices[i], out);
}

// --- reading -------------------------------------------------------------------------------------

// The header's own line: is it one that we can read?
static st_code read_head(const json_t *object, st_emit_head *out, st_error *error)
{
    int64_t schema = 0;
    const char *family = NULL, *hash = NULL;
    const json_t *cache = json_object_get(object, "cache");
    st_code code = st_json_get_int(object, "schema", &schema, error);
    if (!code && schema > ST_PROVENANCE_SCHEMA)
        return st_fail(error, ST_FAILED, "Use the simtune that wrote it, or write to another file.",
                       "it was written by a newer simtune (provenance schema %lld, known here: %d)",
                       (long long)schema, ST_PROVENANCE_SCHEMA);
    if (!code)
        code = st_json_get_string(object, "family", &family, error);
    if (!code)
        code = st_json_get_string(object, "template", &hash, error);
    if (!code)
        code = st_json_get_int(object, "rows", &out->rows, error);
    if (code)
        return code;
    snprintf(out->family, sizeof out->family, "%s", family);
    snprintf(out->template_hash, sizeof out->template_hash, "%s", hash);
    snprintf(out->cache, sizeof out->cache, "%s", json_is_string(cache) ? json_string_value(cache) : "");
    return ST_OK;
}

// And is it of this template?
static st_code check_head(const st_template *tmpl, const json_t *object, int64_t *rows, st_error *error)
{
    st_emit_head head;
    st_code code = read_head(object, &head, error);
    if (code)
        return code;
    *rows = head.rows;
    if (strcmp(head.family, tmpl->family) != 0)
        return st_fail(error, ST_FAILED, "Write to another file.", "it is a header of %s, not of %s",
                       head.family, tmpl->family);
    if (strcmp(head.template_hash, tmpl->hash) != 0)
        return st_fail(error, ST_STALE,
                       "Tune those devices again, or write the header anew to another file.",
                       "it was made from another version of the template %s", tmpl->path);
    return ST_OK;
}

typedef struct reader {
    const st_template *tmpl; // NULL: the first line alone is wanted
    st_emit_head *head;
    const st_device_class *except;
    st_choice *choices;
    size_t count, capacity, seen;
    int64_t rows; // that the header's line promises; -1 before it
} reader;

static st_code keep_choice(reader *state, const json_t *object, st_error *error)
{
    st_choice choice;
    st_code code = st_choice_from_json(state->tmpl, object, &choice, error);
    if (code == ST_NO_MEMORY)
        return code;
    if (code) { // whatever is wrong with the row, the file is
        if (error) {
            st_error_prefix(error, "row %zu", state->seen + 1);
            error->code = ST_FAILED;
            error->remedy[0] = '\0'; // of whoever writes a problem or configuration; nobody wrote this by hand
        }
        return ST_FAILED;
    }
    state->seen++;
    if (state->except && choice.device_class.cc == state->except->cc &&
        choice.device_class.sm_count == state->except->sm_count)
        return ST_OK;
    st_choice *grown = st_grow(state->choices, &state->capacity, state->count + 1, sizeof *grown);
    if (!grown)
        return st_fail_memory(error, "reading a header");
    state->choices = grown;
    grown[state->count++] = choice;
    return ST_OK;
}

static st_code read_line(reader *state, const char *line, size_t length, st_error *error)
{
    json_t *object = NULL;
    st_code code = st_json_parse(line, length, "simtune-provenance", &object, error);
    if (code && error)
        error->remedy[0] = '\0';
    if (!code && !json_is_object(object))
        code = st_fail(error, ST_FAILED, NULL, "a provenance line is no JSON object");
    bool is_head = state->rows < 0;
    if (!code && is_head && !state->tmpl) {
        code = read_head(object, state->head, error);
        state->rows = state->head->rows;
    } else if (!code && is_head)
        code = check_head(state->tmpl, object, &state->rows, error);
    else if (!code && state->tmpl)
        code = keep_choice(state, object, error);
    else if (!code)
        state->seen++;
    json_decref(object);
    return code;
}

static const char anew[] = "Remove the file, or write to another one: the store has every row of this "
                           "machine, and the header is made anew from it.";

// What is wrong with a line, where, and what to do, unless the reader of the line knows better.
static st_code line_failed(const char *path, int line, st_code code, st_error *error)
{
    if (code == ST_NO_MEMORY || !error)
        return code;
    if (code == ST_FAILED && !error->remedy[0]) {
        snprintf(error->remedy, sizeof error->remedy, "%s", anew);
        st_error_prefix(error, "the provenance in this header is damaged");
    }
    return st_error_prefix(error, "%s:%d", path, line);
}

static st_code read_block(reader *state, const char *path, const char *text, st_error *error)
{
    const size_t start = sizeof ST_PROVENANCE_START - 1;
    int number = 1, last = 0;
    for (const char *line = text; *line; number++) {
        size_t length = strcspn(line, "\n");
        if (length > start && strncmp(line, ST_PROVENANCE_START, start) == 0) {
            st_code code = read_line(state, line + start, length - start, error);
            if (code)
                return line_failed(path, number, code, error);
            last = number;
        }
        line += length;
        line += *line == '\n';
    }
    if (state->rows < 0)
        return st_fail(error, ST_FAILED, "Write to another file, or remove it.",
                       "%s is no header that simtune made", path);
    if (state->rows != (int64_t)state->seen)
        return st_fail(error, ST_FAILED, anew,
                       "%s:%d: the provenance in this header is damaged: its rows end here, %zu where %lld are announced",
                       path, last, state->seen, (long long)state->rows);
    return ST_OK;
}

static st_code read_header(reader *state, const char *path, st_error *error)
{
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return st_fail(error, ST_NOTHING, NULL, "%s does not exist", path);
    st_text text;
    st_text_init(&text);
    st_code code = st_text_read_file(&text, path, error);
    if (!code)
        code = read_block(state, path, st_text_string(&text), error);
    st_text_release(&text);
    return code;
}

st_code st_emit_read_head(const char *path, st_emit_head *out, st_error *error)
{
    *out = (st_emit_head){0};
    reader state = {.head = out, .rows = -1};
    return read_header(&state, path, error);
}

st_code st_emit_read(const st_template *tmpl, const char *path, const st_device_class *except,
                     st_choice **choices, size_t *count, st_error *error)
{
    *choices = NULL;
    *count = 0;
    reader state = {.tmpl = tmpl, .except = except, .rows = -1};
    st_code code = read_header(&state, path, error);
    if (code) {
        st_free(state.choices);
        return code;
    }
    *choices = state.choices;
    *count = state.count;
    return ST_OK;
}
