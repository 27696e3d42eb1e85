// SPDX-License-Identifier: Apache-2.0
// A choice as one JSON object: a row of a header's provenance block and of a lock file. Unknown is null.
// What is read is checked: a text that fits, a number in its range, a problem and a configuration that the
// template allows.
#include "tuner/base/json.h"
#include "tuner/emit_internal.h"

#include <math.h>
#include <string.h>

// --- writing -------------------------------------------------------------------------------------

static bool put_numbers(json_t *object, const st_choice *choice)
{
    return st_json_put(object, "cc", json_integer(choice->device_class.cc)) &&
           st_json_put(object, "sm_count", json_integer(choice->device_class.sm_count)) &&
           st_json_put(object, "memory_bytes",
               choice->memory_bytes >= 0 ? json_integer(choice->memory_bytes) : json_null()) &&
           st_json_put(object, "blocks_per_sm", json_integer(choice->blocks_per_sm)) &&
           st_json_put(object, "measured_ms",
               choice->measured_ms > 0 ? json_integer(choice->measured_ms) : json_null()) &&
           st_json_put(object, "samples", json_integer((json_int_t)choice->samples)) &&
           st_json_put(object, "median_ns", st_json_number(choice->median_ns)) &&
           st_json_put(object, "speedup", st_json_number(choice->speedup)) &&
           st_json_put(object, "speedup_low", st_json_number(choice->speedup_low)) &&
           st_json_put(object, "speedup_high", st_json_number(choice->speedup_high)) &&
           st_json_put(object, "gbs", st_json_number(choice->gbs)) &&
           st_json_put(object, "tied", json_integer(choice->tied)) &&
           st_json_put(object, "deterministic", json_boolean(choice->deterministic)) &&
           st_json_put(object, "predicted", json_boolean(choice->predicted)) &&
           st_json_put(object, "emulated", json_boolean(choice->emulated)) &&
           st_json_put(object, "shipped", json_boolean(choice->shipped));
}

json_t *st_choice_to_json(const st_template *tmpl, const st_choice *choice)
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
                 st_json_put(object, "problem", json_string(st_text_string(&problem))) &&
                 st_json_put(object, "config", json_string(st_text_string(&config))) &&
                 st_json_put(object, "device", st_json_text_or_null(choice->device_name)) &&
                 st_json_put(object, "driver", st_json_text_or_null(choice->driver)) &&
                 st_json_put(object, "compiler", st_json_text_or_null(choice->compiler)) &&
                 st_json_put(object, "compiler_flags", st_json_text_or_null(flags)) &&
                 st_json_put(object, "template", st_json_text_or_null(choice->template_hash)) &&
                 st_json_put(object, "session", st_json_text_or_null(choice->session_id)) &&
                 st_json_put(object, "candidate", st_json_text_or_null(choice->candidate_id)) &&
                 put_numbers(object, choice);
    st_text_release(&problem);
    st_text_release(&config);
    if (whole)
        return object;
    json_decref(object);
    return NULL;
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
    if (!code && json_object_get(object, "shipped")) // headers of the first version lack it
        code = st_json_get_bool(object, "shipped", &out->shipped, error);
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

st_code st_choice_from_json(const st_template *tmpl, const json_t *object, st_choice *out, st_error *error)
{
    memset(out, 0, sizeof *out);
    st_code code = read_texts(tmpl, object, out, error);
    return code ? code : read_numbers(object, out, error);
}
