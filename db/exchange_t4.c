// SPDX-License-Identifier: Apache-2.0
// T4 results, read. The form has no place for device, problem and kernel; our own files name them in
// metadata.simtune. Accepted although the schema says otherwise: "compilation" for compilation_time, "miliseconds",
// no schema_version, an error word of Kernel Tuner as a measured value.
#include "db/exchange_internal.h"

#include "tuner/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- the whole -----------------------------------------------------------------------------------------------------
static st_code read_unit(const json_t *metadata, st_sheet *out, st_error *error)
{
    static const struct {
        const char *word;
        double ns;
    } rows[] = {{"milliseconds", 1e6}, {"miliseconds", 1e6}, {"ms", 1e6}, {"microseconds", 1e3}, {"us", 1e3},
                {"nanoseconds", 1},    {"ns", 1},            {"seconds", 1e9}, {"s", 1e9}};
    const json_t *unit = json_object_get(metadata, "timeunit");
    out->unit_ns = 1e6;
    if (!unit || json_is_null(unit))
        return ST_OK;
    const char *word = json_string_value(unit);
    for (size_t i = 0; word && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].word, word) == 0) {
            out->unit_ns = rows[i].ns;
            return ST_OK;
        }
    return st_fail(error, ST_FAILED, "it is seconds, milliseconds, microseconds or nanoseconds; nothing was imported",
                   "\"timeunit\" is %s%s", word ? "unknown: " : "not a text", word ? word : "");
}

static st_code read_sheet(const json_t *head, st_sheet *out, st_error *error)
{
    const json_t *metadata = json_object_get(head, "metadata");
    snprintf(out->problem, sizeof out->problem, "problem_size=unknown");
    snprintf(out->cache, sizeof out->cache, "warm"); // runs are repeated over the same buffers
    snprintf(out->tool, sizeof out->tool, "T4 results, tool unknown");
    st_code code = read_unit(metadata, out, error);
    return code == ST_OK ? st_sheet_read_own(json_object_get(metadata, "simtune"), "T4", out, error) : code;
}

// --- an entry ------------------------------------------------------------------------------------------------------
static st_code read_outcome(const json_t *entry, st_trial *out, st_error *error)
{
    static const struct {
        const char *word, *outcome;
    } rows[] = {{"correct", "correct"},   {"timeout", "timeout"},   {"compile", "compile"},
                {"runtime", "launch"},    {"correctness", "wrong"}, {"constraints", "constraint"}};
    const char *word = NULL;
    st_code code = st_json_get_string(entry, "invalidity", &word, error);
    if (code != ST_OK)
        return code;
    double correctness = st_json_number_or_nan(entry, "correctness");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].word, word) == 0) {
            bool wrong = i == 0 && correctness == 0;
            st_trial_set_outcome(out, wrong ? "wrong" : rows[i].outcome, NULL);
            return ST_OK;
        }
    return st_fail(error, ST_FAILED, NULL,
                   "\"invalidity\" is \"%.40s\", not timeout, compile, runtime, correctness, constraints or correct",
                   word);
}

static st_code read_times(const st_sheet *sheet, const json_t *times, st_trial *out, st_error *error)
{
    static const char *const names[] = {"validation", "benchmark", "framework", "search_algorithm"};
    double unit_seconds = sheet->unit_ns / 1e9;
    double compile = st_json_number_or_nan(times, "compilation_time");
    if (isnan(compile))
        compile = st_json_number_or_nan(times, "compilation");
    out->compile_seconds = compile >= 0 ? compile * unit_seconds : NAN;
    for (int i = 0; i < ST_TRIAL_SECONDS; i++) {
        double value = st_json_number_or_nan(times, names[i]);
        out->seconds[i] = value >= 0 ? value * unit_seconds : NAN;
    }
    const json_t *runtimes = json_object_get(times, "runtimes");
    if (runtimes && !json_is_array(runtimes) && !json_is_null(runtimes))
        return st_fail(error, ST_FAILED, NULL, "\"runtimes\" is not a list");
    return strcmp(out->outcome, "correct") == 0 ? st_trial_add_samples(out, runtimes, sheet->unit_ns, error) : ST_OK;
}

// The reported time: in the unit that the measurement names, else that of the file.
static void read_mean(const st_sheet *sheet, const json_t *measurement, double value, st_trial *out)
{
    const char *unit = json_string_value(json_object_get(measurement, "unit"));
    double unit_ns = sheet->unit_ns;
    if (unit && strcmp(unit, "ns") == 0)
        unit_ns = 1;
    else if (unit && strcmp(unit, "us") == 0)
        unit_ns = 1e3;
    else if (unit && strcmp(unit, "ms") == 0)
        unit_ns = 1e6;
    else if (unit && strcmp(unit, "s") == 0)
        unit_ns = 1e9;
    if (value >= 0 && value < 1e20)
        out->mean_ns = st_scaled_ns(value, unit_ns);
}

static st_code read_measurement(const st_sheet *sheet, const json_t *measurement, st_trial *out, st_error *error)
{
    const char *name = json_string_value(json_object_get(measurement, "name"));
    const json_t *value = json_object_get(measurement, "value");
    bool failed = strcmp(out->outcome, "correct") != 0;
    if (!name)
        return st_fail(error, ST_FAILED, NULL, "a measurement without a name");
    if (json_is_string(value)) {
        const char *word = json_string_value(value);
        if (strcmp(name, "outcome") == 0 && failed && st_is_outcome(word))
            snprintf(out->outcome, sizeof out->outcome, "%s", word);
        else if (failed && !out->detail.length) // "detail" of our own; an error word in the place of the time
            st_text_add(&out->detail, word);
        return ST_OK;
    }
    if (!json_is_number(value))
        return ST_OK;
    if (strcmp(name, "time") == 0) {
        if (!failed)
            read_mean(sheet, measurement, json_number_value(value), out);
        return ST_OK;
    }
    return st_trial_add_figure(out, name, json_number_value(value), error);
}

static st_code read_configuration(const json_t *entry, st_trial *out, st_error *error)
{
    json_t *configuration, *value;
    const char *name;
    st_code code = st_json_get_object(entry, "configuration", &configuration, error);
    if (code != ST_OK)
        return code;
    json_object_foreach(configuration, name, value)
    {
        code = st_trial_add_parameter(out, name, value, error);
        if (code != ST_OK)
            return code;
    }
    return ST_OK;
}

static st_code read_trial(const st_sheet *sheet, const char *key, const json_t *entry, st_trial *out, st_error *error)
{
    (void)key;
    json_t *times = NULL;
    st_code code = read_configuration(entry, out, error);
    if (code == ST_OK)
        code = read_outcome(entry, out, error);
    if (code == ST_OK)
        code = st_json_get_object(entry, "times", &times, error);
    if (code == ST_OK)
        code = read_times(sheet, times, out, error);
    const json_t *measurements = json_object_get(entry, "measurements");
    for (size_t i = 0; i < json_array_size(measurements) && code == ST_OK; i++)
        code = read_measurement(sheet, json_array_get(measurements, i), out, error);
    const char *date = json_string_value(json_object_get(entry, "timestamp"));
    out->taken_ms = date ? st_date_parse(date) : -1;
    return code == ST_OK && out->detail.failed ? st_fail_memory(error, "importing an entry") : code;
}

const st_exchange_reader st_t4_reader = {read_sheet, read_trial};
