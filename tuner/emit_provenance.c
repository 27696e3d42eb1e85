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

#define ST_PROVENANCE_SCHEMA 1
static const char line_start[] = "// simtune-provenance ";

// --- writing -------------------------------------------------------------------------------------

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

// What is known of the text, or null: unknown is not "".
static json_t *text_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

static void add_line(json_t *object, bool whole, st_text *out)
{
    if (object && whole) {
        st_text_add(out, line_start);
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
    bool whole = object && put(object, "schema", json_integer(ST_PROVENANCE_SCHEMA)) &&
                 put(object, "tool", json_string("simtune " SIMTUNE_VERSION)) &&
                 put(object, "family", json_string(model->tmpl->family)) &&
                 put(object, "template", json_string(model->tmpl->hash)) &&
                 put(object, "licence", json_string("0BSD")) &&
                 put(object, "cache", text_or_null(model->options->cache)) &&
                 put(object, "not_tuned_here", json_boolean(model->options->not_tuned_here)) &&
                 put(object, "command", text_or_null(model->options->command)) &&
                 put(object, "rows", json_integer((json_int_t)model->given_count));
    add_line(object, whole, out);
}

static bool put_numbers(json_t *object, const st_choice *choice)
{
    return put(object, "cc", json_integer(choice->device_class.cc)) &&
           put(object, "sm_count", json_integer(choice->device_class.sm_count)) &&
           put(object, "memory_bytes",
               choice->memory_bytes >= 0 ? json_integer(choice->memory_bytes) : json_null()) &&
           put(object, "blocks_per_sm", json_integer(choice->blocks_per_sm)) &&
           put(object, "measured_ms",
               choice->measured_ms > 0 ? json_integer(choice->measured_ms) : json_null()) &&
           put(object, "samples", json_integer((json_int_t)choice->samples)) &&
           put(object, "median_ns", st_json_number(choice->median_ns)) &&
           put(object, "speedup", st_json_number(choice->speedup)) &&
           put(object, "speedup_low", st_json_number(choice->speedup_low)) &&
           put(object, "speedup_high", st_json_number(choice->speedup_high)) &&
           put(object, "gbs", st_json_number(choice->gbs)) &&
           put(object, "tied", json_integer(choice->tied)) &&
           put(object, "deterministic", json_boolean(choice->deterministic)) &&
           put(object, "predicted", json_boolean(choice->predicted)) &&
           put(object, "emulated", json_boolean(choice->emulated));
}

static void add_choice_line(const st_template *tmpl, const st_choice *choice, st_text *out)
{
    st_text problem, config;
    st_text_init(&problem);
    st_text_init(&config);
    st_problem_text(tmpl, &choice->problem, &problem);
    st_config_text(tmpl, &choice->config, &config);
    json_t *object = json_object();
    // What the compile pool gives NVRTC beside arch and macros (tuner/gpu/compile_child.c).
    const char *flags =
        choice->emulated || choice->predicted ? NULL : "--std=c++11 -lineinfo -default-device";
    bool whole = object && !problem.failed && !config.failed &&
                 put(object, "problem", json_string(st_text_string(&problem))) &&
                 put(object, "config", json_string(st_text_string(&config))) &&
                 put(object, "device", text_or_null(choice->device_name)) &&
                 put(object, "driver", text_or_null(choice->driver)) &&
                 put(object, "compiler", text_or_null(choice->compiler)) &&
                 put(object, "compiler_flags", text_or_null(flags)) &&
                 put(object, "template", text_or_null(choice->template_hash)) &&
                 put(object, "session", text_or_null(choice->session_id)) &&
                 put(object, "candidate", text_or_null(choice->candidate_id)) &&
                 put_numbers(object, choice);
    add_line(object, whole, out);
    st_text_release(&problem);
    st_text_release(&config);
}

void st_emit_provenance(const st_emit_model *model, st_text *out)
{
    add_header_line(model, out);
    for (size_t i = 0; i < model->given_count; i++)
        add_choice_line(model->tmpl, &model->choices[i], out);
}

// --- reading -------------------------------------------------------------------------------------

// Fills `out` when the key holds a text that fits; null and absent leave it empty.
static st_code get_text(const json_t *object, const char *key, char *out, size_t capacity,
                        st_error *error)
{
    const json_t *found = json_object_get(object, key);
    out[0] = '\0';
    if (!found || json_is_null(found))
        return ST_OK;
    if (!json_is_string(found) || json_string_length(found) >= capacity)
        return st_fail(error, ST_FAILED, NULL, "\"%s\" is not a text of at most %zu bytes", key,
                       capacity - 1);
    memcpy(out, json_string_value(found), json_string_length(found) + 1);
    return ST_OK;
}

static st_code get_whole(const json_t *object, const char *key, int64_t low, int64_t high,
                         int64_t missing, int64_t *out, st_error *error)
{
    const json_t *found = json_object_get(object, key);
    *out = missing;
    if (!found || json_is_null(found))
        return ST_OK;
    st_code code = st_json_get_int(object, key, out, error);
    if (!code && (*out < low || *out > high))
        code = st_fail(error, ST_FAILED, NULL, "\"%s\" is out of range", key);
    return code;
}

static st_code read_texts(const st_template *tmpl, const json_t *object, st_choice *out,
                          st_error *error)
{
    const char *text;
    st_code code = st_json_get_string(object, "problem", &text, error);
    if (!code)
        code = st_problem_parse(tmpl, text, &out->problem, error);
    if (!code)
        code = st_json_get_string(object, "config", &text, error);
    if (!code)
        code = st_config_parse(tmpl, text, &out->config, error);
    if (!code)
        code = get_text(object, "device", out->device_name, sizeof out->device_name, error);
    if (!code)
        code = get_text(object, "driver", out->driver, sizeof out->driver, error);
    if (!code)
        code = get_text(object, "compiler", out->compiler, sizeof out->compiler, error);
    if (!code)
        code = get_text(object, "template", out->template_hash, sizeof out->template_hash, error);
    if (!code)
        code = get_text(object, "session", out->session_id, sizeof out->session_id, error);
    if (!code)
        code = get_text(object, "candidate", out->candidate_id, sizeof out->candidate_id, error);
    return code;
}

static st_code read_numbers(const json_t *object, st_choice *out, st_error *error)
{
    static const int64_t missing_number = INT64_MIN;
    int64_t cc = 0, sm_count = 0, blocks = 0, samples = 0, tied = 0;
    st_code code = get_whole(object, "cc", 1, 10000, missing_number, &cc, error);
    if (!code)
        code = get_whole(object, "sm_count", 1, 1000000, missing_number, &sm_count, error);
    if (!code && (cc == missing_number || sm_count == missing_number))
        code = st_fail(error, ST_FAILED, NULL, "\"cc\" or \"sm_count\" is missing");
    if (!code)
        code = get_whole(object, "blocks_per_sm", 1, 1024, 1, &blocks, error);
    if (!code)
        code = get_whole(object, "memory_bytes", 0, INT64_MAX, -1, &out->memory_bytes, error);
    if (!code)
        code = get_whole(object, "measured_ms", 0, INT64_MAX, -1, &out->measured_ms, error);
    if (!code)
        code = get_whole(object, "samples", 0, INT64_MAX, 0, &samples, error);
    if (!code)
        code = get_whole(object, "tied", 0, INT32_MAX, 0, &tied, error);
    if (!code)
        code = st_json_get_bool(object, "deterministic", &out->deterministic, error);
    if (!code)
        code = st_json_get_bool(object, "predicted", &out->predicted, error);
    if (!code)
        code = st_json_get_bool(object, "emulated", &out->emulated, error);
    if (code)
        return code;
    out->device_class = (st_device_class){(int)cc, (int)sm_count};
    out->blocks_per_sm = (int)blocks;
    out->samples = (size_t)samples;
    out->tied = (int)tied;
    out->median_ns = st_json_number_or_nan(object, "median_ns");
    out->speedup = st_json_number_or_nan(object, "speedup");
    out->speedup_low = st_json_number_or_nan(object, "speedup_low");
    out->speedup_high = st_json_number_or_nan(object, "speedup_high");
    out->gbs = st_json_number_or_nan(object, "gbs");
    return ST_OK;
}

// The header's own line: is it one that we can read, of this template?
static st_code check_header_line(const st_template *tmpl, const json_t *object, int64_t *rows,
                                 st_error *error)
{
    int64_t schema = 0;
    const char *family = NULL, *hash = NULL;
    st_code code = st_json_get_int(object, "schema", &schema, error);
    if (!code && schema > ST_PROVENANCE_SCHEMA)
        return st_fail(error, ST_FAILED, "Use the simtune that wrote it, or write to another file.",
                       "it was written by a newer simtune (provenance schema %lld, known here: %d)",
                       (long long)schema, ST_PROVENANCE_SCHEMA);
    if (!code)
        code = st_json_get_string(object, "family", &family, error);
    if (!code && strcmp(family, tmpl->family) != 0)
        return st_fail(error, ST_FAILED, "Write to another file.",
                       "it is a header of %s, not of %s", family, tmpl->family);
    if (!code)
        code = st_json_get_string(object, "template", &hash, error);
    if (!code)
        code = st_json_get_int(object, "rows", rows, error);
    if (!code && strcmp(hash, tmpl->hash) != 0)
        return st_fail(error, ST_STALE,
                       "Tune those devices again, or write the header anew to another file.",
                       "it was made from another version of the template %s", tmpl->path);
    return code;
}

typedef struct reader {
    const st_template *tmpl;
    const st_device_class *except;
    st_choice *choices;
    size_t count, capacity, seen;
    int64_t rows; // that the header's line promises; -1 before it
} reader;

static st_code keep_choice(reader *state, const json_t *object, st_error *error)
{
    st_choice choice;
    memset(&choice, 0, sizeof choice);
    st_code code = read_texts(state->tmpl, object, &choice, error);
    if (!code)
        code = read_numbers(object, &choice, error);
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
    if (!code && state->rows < 0)
        code = check_header_line(state->tmpl, object, &state->rows, error);
    else if (!code)
        code = keep_choice(state, object, error);
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
    const size_t start = sizeof line_start - 1;
    int number = 1, last = 0;
    for (const char *line = text; *line; number++) {
        size_t length = strcspn(line, "\n");
        if (length > start && strncmp(line, line_start, start) == 0) {
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

st_code st_emit_read(const st_template *tmpl, const char *path, const st_device_class *except,
                     st_choice **choices, size_t *count, st_error *error)
{
    *choices = NULL;
    *count = 0;
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return st_fail(error, ST_NOTHING, NULL, "%s does not exist", path);
    st_text text;
    st_text_init(&text);
    reader state = {tmpl, except, NULL, 0, 0, 0, -1};
    st_code code = st_text_read_file(&text, path, error);
    if (!code) {
        code = read_block(&state, path, st_text_string(&text), error);
    }
    st_text_release(&text);
    if (code) {
        st_free(state.choices);
        return code;
    }
    *choices = state.choices;
    *count = state.count;
    return ST_OK;
}
