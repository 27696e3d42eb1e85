// SPDX-License-Identifier: Apache-2.0
// Kernel Tuner's cache file, read. What an entry may look like, of all the versions that wrote such files: a failure
// stands in "__error__", or in the place of the time; the time may be missing, or be 1e20 for a failure; samples are
// milliseconds. The time is recomputed from the samples; the mean that the file reports is kept beside it.
#include "db/exchange_internal.h"

#include "tuner/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MS 1e6
#define FAILED_TIME 1e20 // what Kernel Tuner before 0.4 wrote as the time of a failure

// --- the whole -----------------------------------------------------------------------------------------------------
static const char *text_in(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static void add_size(st_text *out, const json_t *value)
{
    if (json_is_string(value))
        st_text_add(out, json_string_value(value));
    else
        st_history_print(value, out);
}

// 65536 and [65536] are n=65536; [4096, 4096] is x=4096 y=4096; a word ("callable") is problem_size=callable.
static st_code read_problem(const json_t *size, st_sheet *out, st_error *error)
{
    const json_t *one = json_array_size(size) == 1 ? json_array_get(size, 0) : size;
    st_text text;
    st_text_init(&text);
    if (json_is_integer(one) && json_integer_value(one) >= 0) {
        out->n = json_integer_value(one);
        st_text_addf(&text, "n=%lld", (long long)out->n);
    } else if (json_is_array(one) && json_array_size(one) && json_array_size(one) <= 3) {
        for (size_t i = 0; i < json_array_size(one); i++) {
            st_text_addf(&text, "%s%c=", i ? " " : "", "xyz"[i]);
            add_size(&text, json_array_get(one, i));
        }
    } else {
        st_text_add(&text, "problem_size=");
        if (!one || json_is_null(one))
            st_text_add(&text, "unknown");
        else
            add_size(&text, one);
    }
    st_code code = text.failed ? st_fail_memory(error, "importing") : ST_OK;
    if (code == ST_OK && text.length >= sizeof out->problem)
        code = st_fail(error, ST_FAILED, NULL, "\"problem_size\" is longer than %zu characters", sizeof out->problem);
    snprintf(out->problem, sizeof out->problem, "%s", st_text_string(&text));
    st_text_release(&text);
    return code;
}

static st_code read_sheet(const json_t *head, st_sheet *out, st_error *error)
{
    static const char remedy[] = "nothing was imported; a Kernel Tuner cache file names its parameters in their order";
    const json_t *keys = json_object_get(head, "tune_params_keys");
    out->unit_ns = MS;
    snprintf(out->cache, sizeof out->cache, "warm"); // it repeats a kernel over the same buffers
    snprintf(out->tool, sizeof out->tool, "Kernel Tuner, version unknown");
    snprintf(out->device, sizeof out->device, "%s", text_in(head, "device_name"));
    const char *kernel = text_in(head, "kernel_name");
    if (*kernel)
        st_family_of(kernel, out->family, sizeof out->family);
    if (!json_is_array(keys))
        return st_fail(error, ST_FAILED, remedy, "\"tune_params_keys\" is %s", keys ? "not a list" : "missing");
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (!json_is_string(json_array_get(keys, i)))
            return st_fail(error, ST_FAILED, remedy, "name %zu of \"tune_params_keys\" is not a text", i + 1);
    st_code code = read_problem(json_object_get(head, "problem_size"), out, error);
    if (code == ST_OK)
        code = st_sheet_read_own(json_object_get(head, "simtune"), "Kernel Tuner", out, error);
    return code;
}

// --- an entry ------------------------------------------------------------------------------------------------------
static bool is_parameter(const json_t *keys, const char *name)
{
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (strcmp(json_string_value(json_array_get(keys, i)), name) == 0)
            return true;
    return false;
}

// The i-th of the values joined by commas, for entries that do not repeat their parameters.
static json_t *value_in_key(const char *key, size_t i, size_t count)
{
    size_t commas = 0;
    for (const char *at = key; *at; at++)
        commas += *at == ',';
    if (commas + 1 != count)
        return NULL;
    for (; i; i--)
        key = strchr(key, ',') + 1;
    return json_stringn(key, strcspn(key, ","));
}

static st_code read_configuration(const json_t *keys, const char *key, const json_t *entry, st_trial *out,
                                  st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < json_array_size(keys) && code == ST_OK; i++) {
        const char *name = json_string_value(json_array_get(keys, i));
        json_t *value = json_incref(json_object_get(entry, name));
        if (!value)
            value = value_in_key(key, i, json_array_size(keys));
        code = value ? st_trial_add_parameter(out, name, value, error)
                     : st_fail(error, ST_FAILED, NULL, "the parameter \"%s\" is missing", name);
        json_decref(value);
    }
    return code;
}

// Kernel Tuner's word for a failure as an outcome.
static const char *outcome_of(const char *word)
{
    static const struct {
        const char *word, *outcome;
    } rows[] = {{"CompilationFailedConfig", "compile"},
                {"RuntimeFailedConfig", "launch"},
                {"InvalidConfig", "constraint"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].word, word) == 0)
            return rows[i].outcome;
    return "crash"; // ErrorConfig, and what later versions may say
}

static st_code read_result(const json_t *entry, st_trial *out, st_error *error)
{
    const json_t *time = json_object_get(entry, "time"), *times = json_object_get(entry, "times");
    const char *word = text_in(entry, "__error__"), *own = text_in(entry, "outcome");
    st_text_add(&out->detail, text_in(entry, "detail"));
    if (!*word && json_is_string(time))
        word = json_string_value(time);
    bool failed_time = json_is_number(time) && json_number_value(time) >= FAILED_TIME;
    if (*word)
        st_trial_set_outcome(out, *own && st_is_outcome(own) && strcmp(own, "correct") ? own : outcome_of(word),
                             *own ? NULL : word);
    else if (failed_time)
        st_trial_set_outcome(out, "launch", "its time is given as 1e20, which is a failure");
    else
        st_trial_set_outcome(out, "correct", NULL);
    if (times && !json_is_array(times) && !json_is_null(times))
        return st_fail(error, ST_FAILED, NULL, "\"times\" is not a list");
    if (json_is_number(time) && !failed_time)
        out->mean_ns = st_scaled_ns(json_number_value(time), MS);
    if (out->mean_ns < 0)
        return st_fail(error, ST_FAILED, NULL, "\"time\" is negative");
    return *word || failed_time ? ST_OK : st_trial_add_samples(out, times, MS, error);
}

static double seconds_in(const json_t *entry, const char *name)
{
    double ms = st_json_number_or_nan(entry, name);
    return ms >= 0 ? ms / 1000 : NAN;
}

// Objectives other than the time, metrics, what observers saw.
static st_code read_figures(const json_t *keys, const json_t *entry, st_trial *out, st_error *error)
{
    static const char *const read[] = {"time",           "times",          "compile_time",   "verification_time",
                                       "benchmark_time", "framework_time", "strategy_time"};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)entry, name, value)
    {
        bool known = !json_is_number(value) || is_parameter(keys, name);
        for (size_t i = 0; i < sizeof read / sizeof *read && !known; i++)
            known = strcmp(read[i], name) == 0;
        st_code code = known ? ST_OK : st_trial_add_figure(out, name, json_number_value(value), error);
        if (code != ST_OK)
            return code;
    }
    return ST_OK;
}

static st_code read_trial(const st_sheet *sheet, const char *key, const json_t *entry, st_trial *out, st_error *error)
{
    const json_t *keys = json_object_get(sheet->head, "tune_params_keys");
    st_code code = read_configuration(keys, key, entry, out, error);
    if (code == ST_OK)
        code = read_result(entry, out, error);
    if (code == ST_OK)
        code = read_figures(keys, entry, out, error);
    out->taken_ms = st_date_parse(text_in(entry, "timestamp"));
    out->compile_seconds = seconds_in(entry, "compile_time");
    out->seconds[0] = seconds_in(entry, "verification_time");
    out->seconds[1] = seconds_in(entry, "benchmark_time");
    out->seconds[2] = seconds_in(entry, "framework_time");
    out->seconds[3] = seconds_in(entry, "strategy_time");
    return code == ST_OK && out->detail.failed ? st_fail_memory(error, "importing an entry") : code;
}

const st_exchange_reader st_kernel_tuner_reader = {read_sheet, read_trial};
