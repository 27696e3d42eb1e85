// SPDX-License-Identifier: Apache-2.0
// T4 results and Kernel Tuner cache files, written. Invariants: 1. T4 is valid against its schema and says
// "compilation_time" as the schema and "compilation" as the common writer; 2. a cache file ends in "}\n}" and has an
// entry a line, which is what Kernel Tuner looks for when it goes on writing; 3. times are milliseconds and always
// reals; what is not known is left out, but for the three times that Kernel Tuner demands of every entry (0 there).
#include "db/exchange_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MS 1e6

// --- both ----------------------------------------------------------------------------------------------------------
static void add_samples(st_text *out, const st_export_row *row)
{
    st_text_add(out, "[");
    for (size_t i = 0; i < row->sample_count; i++) {
        st_text_add(out, i ? ", " : "");
        st_json_add_real(out, row->samples_ns[i] / MS);
    }
    st_text_add(out, "]");
}

static void add_configuration(st_text *out, const st_export_rows *rows, const st_export_row *row)
{
    for (size_t i = 0; i < rows->parameter_count; i++) {
        st_json_add_key(out, rows->parameters[i].name);
        st_json_add_value(out, row->values.items[i]);
    }
}

static bool is_parameter(const st_export_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->parameter_count; i++)
        if (strcmp(rows->parameters[i].name, name) == 0)
            return true;
    return false;
}

static bool is_correct(const st_export_row *row)
{
    return strcmp(row->outcome, "correct") == 0;
}

// Calls `add` for each figure beside the times that is known.
typedef void figure_adder(st_text *out, const char *name, double value);
static void add_figures(st_text *out, const st_export_rows *rows, const st_export_row *row, figure_adder *add)
{
    char name[160];
    for (int i = 0; i < ST_PROPERTIES; i++)
        if (row->properties[i] >= 0 && !is_parameter(rows, st_property_names[i]))
            add(out, st_property_names[i], row->properties[i]);
    if (isfinite(row->occupancy) && !is_parameter(rows, "occupancy"))
        add(out, "occupancy", row->occupancy);
    for (size_t i = 0; i < row->counter_count; i++) {
        const st_trial_counter *counter = &row->counters[i];
        snprintf(name, sizeof name, "%s%s",
                 counter->sampled                     ? "pc."
                 : st_is_property_name(counter->name) ? "range."
                                                      : "",
                 counter->name);
        if (!is_parameter(rows, name))
            add(out, name, row->counters[i].value);
    }
}

// --- T4 ------------------------------------------------------------------------------------------------------------
typedef struct t4 {
    const st_export_rows *rows;
    st_sink *sink;
    st_text line;
    size_t count;
} t4;

static void add_time(st_text *out, const char *name, double seconds)
{
    if (!isfinite(seconds))
        return;
    st_json_add_key(out, name);
    st_json_add_real(out, seconds * 1000);
}

static void begin_measurement(st_text *out, const char *name)
{
    st_text_add(out, out->length && out->data[out->length - 1] == '[' ? "{" : ", {");
    st_json_add_key(out, "name");
    st_json_add_text(out, name);
    st_json_add_key(out, "value");
}

static void end_measurement(st_text *out, const char *unit)
{
    st_json_add_key(out, "unit");
    st_json_add_text(out, unit);
    st_text_add(out, "}");
}

static void add_figure_t4(st_text *out, const char *name, double value)
{
    begin_measurement(out, name);
    json_t *number = value == floor(value) && fabs(value) < 1e15 ? json_integer((json_int_t)value) : json_real(value);
    if (number)
        st_history_print(number, out);
    else
        out->failed = true;
    json_decref(number);
    end_measurement(out, strstr(name, "bytes") || strstr(name, "smem") ? "bytes" : "");
}

static void add_measurements(st_text *out, const st_export_rows *rows, const st_export_row *row)
{
    st_json_add_key(out, "measurements");
    st_text_add(out, "[");
    if (isfinite(row->mean_ns)) {
        begin_measurement(out, "time");
        st_json_add_real(out, row->mean_ns / MS);
        end_measurement(out, "ms");
    }
    if (!is_correct(row)) {
        begin_measurement(out, "outcome");
        st_json_add_text(out, row->outcome);
        end_measurement(out, "");
        if (*row->detail) {
            begin_measurement(out, "detail");
            st_json_add_text(out, row->detail);
            end_measurement(out, "");
        }
    }
    add_figures(out, rows, row, add_figure_t4);
    st_text_add(out, "]");
}

static const char *invalidity_of(const char *outcome)
{
    static const struct {
        const char *outcome, *word;
    } rows[] = {{"correct", "correct"}, {"timeout", "timeout"},   {"compile", "compile"},        {"wrong", "correctness"},
                {"race", "correctness"}, {"launch", "runtime"}, {"crash", "runtime"}, {"constraint", "constraints"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].outcome, outcome) == 0)
            return rows[i].word;
    return "runtime";
}

static st_code write_t4(void *context, const st_export_row *row, st_error *error)
{
    t4 *to = context;
    st_text *out = &to->line;
    st_text_clear(out);
    st_text_add(out, to->count++ ? ",\n{" : "\n{");
    if (row->taken_ms > 0) {
        st_json_add_key(out, "timestamp");
        st_json_add_date(out, row->taken_ms);
    }
    st_json_add_key(out, "configuration");
    st_text_add(out, "{");
    add_configuration(out, to->rows, row);
    st_text_add(out, "}");
    st_json_add_key(out, "times");
    st_text_add(out, "{");
    add_time(out, "compilation_time", row->compile_seconds);
    add_time(out, "compilation", row->compile_seconds);
    add_time(out, "benchmark", row->benchmark_seconds);
    st_json_add_key(out, "runtimes");
    add_samples(out, row);
    st_text_add(out, "}");
    st_json_add_key(out, "invalidity");
    st_json_add_text(out, invalidity_of(row->outcome));
    st_json_add_key(out, "correctness");
    st_text_add(out, is_correct(row) ? "1" : "0");
    add_measurements(out, to->rows, row);
    st_json_add_key(out, "objectives");
    st_text_add(out, "[\"time\"]}");
    return st_sink_add(to->sink, out, error);
}

st_code st_t4_write(st_export_rows *rows, st_sink *sink, st_error *error)
{
    t4 to = {.rows = rows, .sink = sink};
    st_text_init(&to.line);
    st_text_add(&to.line, "{\"metadata\": {\"timeunit\": \"milliseconds\", \"simtune\": ");
    st_json_add_own(&to.line, &rows->sheet);
    st_text_add(&to.line, "},\n\"schema_version\": \"1.0.0\",\n\"results\": [");
    st_code code = st_sink_add(sink, &to.line, error);
    if (code == ST_OK)
        code = st_export_rows_each(rows, write_t4, &to, error);
    st_text_clear(&to.line);
    st_text_add(&to.line, "\n]\n}\n");
    if (code == ST_OK)
        code = st_sink_add(sink, &to.line, error);
    st_text_release(&to.line);
    return code;
}

// --- Kernel Tuner ----------------------------------------------------------------------------------------------------
// What stands in the key of an entry: Python's text of the value.
static void add_in_key(st_text *out, const char *value)
{
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        st_text_add(out, *value == 't' ? "True" : "False");
    else
        st_text_add_unescaped(out, value, strlen(value));
}

static void add_key(st_text *out, const st_export_row *row)
{
    st_text key;
    st_text_init(&key);
    for (size_t i = 0; i < row->values.count; i++) {
        st_text_add(&key, i ? "," : "");
        add_in_key(&key, row->values.items[i]);
    }
    if (key.failed)
        out->failed = true;
    st_json_add_text(out, st_text_string(&key));
    st_text_release(&key);
}

static void add_figure_tuner(st_text *out, const char *name, double value)
{
    static const char *const taken[] = {"time", "times", "timestamp", "outcome", "detail"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(taken[i], name) == 0)
            return;
    if (length > 5 && strcmp(name + length - 5, "_time") == 0)
        return;
    st_json_add_key(out, name);
    st_json_add_real(out, value);
}

static const char *error_of(const char *outcome)
{
    return strcmp(outcome, "compile") == 0      ? "CompilationFailedConfig"
           : strcmp(outcome, "constraint") == 0 ? "InvalidConfig"
                                                : "RuntimeFailedConfig";
}

static void add_demanded(st_text *out, const char *name, double seconds)
{
    st_json_add_key(out, name);
    st_json_add_real(out, isfinite(seconds) ? seconds * 1000 : 0);
}

static void add_result(st_text *out, const st_export_rows *rows, const st_export_row *row)
{
    if (!is_correct(row)) {
        st_json_add_key(out, "__error__");
        st_json_add_text(out, error_of(row->outcome));
        st_json_add_key(out, "outcome");
        st_json_add_text(out, row->outcome);
        if (*row->detail) {
            st_json_add_key(out, "detail");
            st_json_add_text(out, row->detail);
        }
    } else if (isfinite(row->mean_ns)) {
        st_json_add_key(out, "time");
        st_json_add_real(out, row->mean_ns / MS);
        if (row->sample_count) {
            st_json_add_key(out, "times");
            add_samples(out, row);
        }
    }
    add_demanded(out, "compile_time", row->compile_seconds);
    add_demanded(out, "verification_time", NAN);
    add_demanded(out, "benchmark_time", row->benchmark_seconds);
    if (row->taken_ms > 0) {
        st_json_add_key(out, "timestamp");
        st_json_add_date(out, row->taken_ms);
    }
    add_figures(out, rows, row, add_figure_tuner);
}

static st_code write_tuner(void *context, const st_export_row *row, st_error *error)
{
    t4 *to = context;
    st_text *out = &to->line;
    st_text_clear(out);
    st_text_add(out, to->count++ ? ",\n" : "\n");
    add_key(out, row);
    st_text_add(out, ": {");
    add_configuration(out, to->rows, row);
    add_result(out, to->rows, row);
    st_text_add(out, "}");
    return st_sink_add(to->sink, out, error);
}

// n; or x, y and z as an imported file has them; or what Kernel Tuner writes for what is no number.
static void add_problem_size(st_text *out, const st_sheet *sheet)
{
    long long size[3];
    int length = 0, count = 0;
    for (const char *at = sheet->problem; sheet->n < 0 && count < 3; count++, at += length) {
        const char wanted[] = {"xyz"[count], '\0'};
        char name[2];
        if (sscanf(at, " %1[xyz]=%lld%n", name, &size[count], &length) != 2 || strcmp(name, wanted) != 0)
            break;
        if (!at[length]) {
            for (int i = 0; i <= count; i++)
                st_text_addf(out, "%s%lld", i ? ", " : "[", size[i]);
            st_text_add(out, "]");
            return;
        }
    }
    if (sheet->n >= 0)
        st_text_addf(out, "%lld", (long long)sheet->n);
    else
        st_text_add(out, "\"callable\"");
}

static void add_head(st_text *out, const st_export_rows *rows)
{
    const st_sheet *sheet = &rows->sheet;
    st_text_add(out, "{\n\"device_name\": ");
    st_json_add_text(out, sheet->device);
    st_text_add(out, ",\n\"kernel_name\": ");
    st_json_add_text(out, sheet->family);
    st_text_add(out, ",\n\"problem_size\": ");
    add_problem_size(out, sheet);
    st_text_add(out, ",\n\"simtune\": ");
    st_json_add_own(out, sheet);
    st_text_add(out, ",\n\"tune_params_keys\": [");
    for (size_t i = 0; i < rows->parameter_count; i++) {
        st_text_add(out, i ? ", " : "");
        st_json_add_text(out, rows->parameters[i].name);
    }
    st_text_add(out, "],\n\"tune_params\": {");
    for (size_t i = 0; i < rows->parameter_count; i++) {
        st_json_add_key(out, rows->parameters[i].name);
        st_text_add(out, "[");
        for (size_t v = 0; v < rows->parameters[i].values.count; v++) {
            st_text_add(out, v ? ", " : "");
            st_json_add_value(out, rows->parameters[i].values.items[v]);
        }
        st_text_add(out, "]");
    }
    st_text_add(out, "},\n\"objective\": \"time\",\n\"cache\": {");
}

st_code st_kernel_tuner_write(st_export_rows *rows, st_sink *sink, st_error *error)
{
    t4 to = {.rows = rows, .sink = sink};
    st_text_init(&to.line);
    add_head(&to.line, rows);
    st_code code = st_sink_add(sink, &to.line, error);
    if (code == ST_OK)
        code = st_export_rows_each(rows, write_tuner, &to, error);
    st_text_clear(&to.line);
    st_text_add(&to.line, "}\n}"); // no line end: Kernel Tuner looks at the last three bytes
    if (code == ST_OK)
        code = st_sink_add(sink, &to.line, error);
    st_text_release(&to.line);
    return code;
}
