// SPDX-License-Identifier: Apache-2.0
// The answers of `simtune query` as JSON, CSV and Markdown. All have the same rows; unknown is null, an empty cell,
// and "-".
#include "reports/format.h"
#include "tuner/base/json.h"
#include "tuner/cli/cmd_query.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// The columns of --csv are keys of --json, in this order. To add one: a row of both.
static const char *const columns[] = {
    "family",      "problem",       "type",        "operation",    "n",             "device",
    "device_uuid", "backend",       "cc",          "sm_count",     "driver",        "driver_cuda",
    "compiler",    "tool",          "template_hash", "session",    "candidate",     "configuration",
    "outcome",     "cache",         "phase",       "median_ns",    "comparable_ns", "default_ns",    "samples",
    "bytes",
    "bytes_per_second", "read_bytes_per_second", "speedup", "speedup_low", "speedup_high", "tied",
    "winner",      "default",       "registers",   "local_bytes",  "static_smem_bytes",
    "dynamic_smem_bytes", "blocks_per_sm", "occupancy", "deterministic", "taken_ms", "shipped", "detail", "repro"};

bool st_query_is_column(const char *name)
{
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (strcmp(name, columns[i]) == 0)
            return true;
    return false;
}

// --- JSON ------------------------------------------------------------------------------------------------------

st_code st_query_keep_json(void *context, const st_answer *row, st_error *error)
{
    st_query_printing *to = context;
    to->count++;
    return json_array_append_new(to->rows, st_answer_json(row)) == 0 ? ST_OK
                                                                    : st_fail_memory(error, "printing JSON");
}

// --- CSV -------------------------------------------------------------------------------------------------------

// RFC 4180: what holds a comma, a quote or a line's end stands in quotes, quotes doubled.
void st_csv_add(st_text *text, const char *value, size_t length)
{
    size_t plain = 0;
    while (plain < length && !strchr(",\"\r\n", value[plain] ? value[plain] : ' '))
        plain++;
    if (plain == length) {
        st_text_add_bytes(text, value, length);
        return;
    }
    st_text_add(text, "\"");
    for (size_t i = 0; i < length; i++)
        st_text_add_bytes(text, value[i] == '"' ? "\"\"" : value + i, value[i] == '"' ? 2 : 1);
    st_text_add(text, "\"");
}

static void csv_json(st_text *text, const json_t *value)
{
    if (json_is_string(value))
        st_csv_add(text, json_string_value(value), strlen(json_string_value(value)));
    else if (value && !json_is_null(value))
        st_json_print(value, text);
}

// The columns that every row has, then the group of --per, then the values that no column has.
void st_query_csv_head(st_query_printing *to, const st_answer *first)
{
    st_text text;
    st_text_init(&text);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        st_text_addf(&text, "%s%s", i ? "," : "", columns[i]);
    if (to->query->per)
        st_text_add(&text, ",group");
    for (size_t i = 0; first && i < first->value_count; i++)
        if (!st_query_is_column(first->values[i].name)) {
            st_text_add(&text, ",");
            st_csv_add(&text, first->values[i].name, strlen(first->values[i].name));
        }
    fprintf(to->cli->out, "%s\n", st_text_string(&text));
    st_text_release(&text);
}

st_code st_query_print_csv(void *context, const st_answer *row, st_error *error)
{
    st_query_printing *to = context;
    json_t *object = st_answer_json(row);
    st_text text;
    st_text_init(&text);
    if (!to->count)
        st_query_csv_head(to, row);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0] && object; i++) {
        st_text_add(&text, i ? "," : "");
        csv_json(&text, json_object_get(object, columns[i]));
    }
    if (to->query->per) {
        st_text_add(&text, ",");
        csv_json(&text, json_object_get(object, "group"));
    }
    const json_t *values = json_object_get(object, "values");
    for (size_t i = 0; i < row->value_count; i++)
        if (!st_query_is_column(row->values[i].name)) {
            st_text_add(&text, ",");
            csv_json(&text, json_object_get(values, row->values[i].name));
        }
    bool failed = !object || text.failed;
    if (!failed)
        fprintf(to->cli->out, "%s\n", st_text_string(&text));
    to->count++;
    st_text_release(&text);
    json_decref(object);
    return failed ? st_fail_memory(error, "printing CSV") : ST_OK;
}

// --- Markdown ----------------------------------------------------------------------------------------------------

void st_answer_value_add(st_text *text, const st_answer_value *value)
{
    switch (value->kind) {
    case ST_ANSWER_UNKNOWN:
        st_text_add(text, "-");
        break;
    case ST_ANSWER_INTEGER:
        st_text_addf(text, "%" PRId64, value->integer);
        break;
    case ST_ANSWER_REAL:
        st_text_addf(text, "%.4g", value->real);
        break;
    case ST_ANSWER_WORD:
        st_text_add(text, value->word);
        break;
    }
}

static const char *const heads[] = {"family",        "problem", "cache",     "time",          "speed",  "of memory",
                                    "× the default", "outcome", "registers", "configuration", "device", "driver",
                                    "candidate"};
enum { HEADS = sizeof heads / sizeof *heads };

static bool is_head(const char *name)
{
    for (size_t i = 0; i < HEADS; i++)
        if (strcmp(name, heads[i]) == 0)
            return true;
    return false;
}

static void markdown_head(const st_query_printing *to, const st_answer *first, st_text *text)
{
    size_t count = HEADS;
    if (to->query->per)
        st_text_addf(text, "| %s ", to->query->per);
    for (size_t i = 0; i < count; i++)
        st_text_addf(text, "| %s ", heads[i]);
    for (size_t i = 0; i < first->value_count; i++) {
        if (is_head(first->values[i].name))
            continue;
        st_text_add(text, "| ");
        st_report_markdown_words(text, first->values[i].name);
        st_text_add(text, " ");
        count++;
    }
    st_text_add(text, "|\n");
    for (size_t i = 0; i < count + (to->query->per ? 1 : 0); i++)
        st_text_add(text, "|---");
    st_text_add(text, "|\n");
}

static void cell(st_text *text, const char *value)
{
    st_text_add(text, "| ");
    st_report_markdown_words(text, value && *value ? value : "-");
    st_text_add(text, " ");
}

st_code st_query_print_markdown(void *context, const st_answer *row, st_error *error)
{
    st_query_printing *to = context;
    st_text text, problem;
    st_text_init(&text);
    st_text_init(&problem);
    if (!to->count)
        markdown_head(to, row, &text);
    st_report_problem(&problem, row->problem);
    if (to->query->per)
        cell(&text, row->group);
    cell(&text, row->family);
    cell(&text, st_text_string(&problem));
    cell(&text, row->cache);
    st_text_add(&text, "| ");
    st_report_time(&text, row->median_ns);
    if (st_query_is_shifted(row)) {
        st_text_addf(&text, " (%s, ≈ ", row->phase);
        st_report_time(&text, row->comparable_ns);
        st_text_add(&text, ")");
    }
    st_text_add(&text, " | ");
    st_report_speed(&text, row->bytes / row->median_ns);
    st_text_add(&text, " | ");
    st_report_share(&text, row->bytes / row->median_ns / row->read_gbs);
    st_text_addf(&text, isfinite(row->speedup) ? " | %.2f " : " | - ", row->speedup);
    cell(&text, row->outcome);
    st_text_addf(&text, row->registers < 0 ? "| - " : "| %d ", row->registers);
    cell(&text, row->configuration);
    cell(&text, row->device_name);
    cell(&text, row->driver);
    st_text_addf(&text, "| %.12s ", row->candidate_id);
    for (size_t i = 0; i < row->value_count; i++) {
        st_text value;
        if (is_head(row->values[i].name))
            continue;
        st_text_init(&value);
        st_answer_value_add(&value, &row->values[i]);
        cell(&text, st_text_string(&value));
        st_text_release(&value);
    }
    to->count++;
    bool failed = text.failed || problem.failed;
    if (!failed)
        st_cli_tell(to->cli, to->cli->out, "%s|\n", st_text_string(&text));
    st_text_release(&problem);
    st_text_release(&text);
    return failed ? st_fail_memory(error, "printing Markdown") : ST_OK;
}
