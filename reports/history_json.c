// SPDX-License-Identifier: Apache-2.0
// A family's history for programs. Invariants: 1. base units; 2. unknown is null; 3. the order is that of the text.
#include "reports/history.h"

#include "reports/compare_internal.h"
#include "tuner/base/json.h"

#include <math.h>
#include <string.h>

static json_t *whole_or_null(json_t *object, bool whole)
{
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *change_json(const st_compare_pair *change)
{
    if (!change->a)
        return json_null();
    json_t *object = json_object();
    return whole_or_null(object, object && compare_put_change(object, change));
}

static json_t *line_json(const st_history_line *line)
{
    json_t *object = json_object();
    return whole_or_null(object, object && st_json_put(object, "version", st_json_text_or_null(line->version)) &&
                                     st_json_put(object, "held", json_boolean(line->held)) &&
                                     st_json_put(object, "row", compare_record_json(line->record, line->median_ns)) &&
                                     st_json_put(object, "level", st_json_known_or_null(line->level)) &&
                                     st_json_put(object, "change", change_json(&line->change)));
}

static json_t *series_json(const st_history_series *series)
{
    json_t *object = json_object(), *lines = json_array();
    bool whole = object && lines && compare_put_problem(object, &series->lines[0].record->row) &&
                 st_json_put(object, "overall", change_json(&series->overall));
    for (size_t i = 0; i < series->count && whole; i++)
        whole = json_array_append_new(lines, line_json(&series->lines[i])) == 0;
    whole = whole && json_object_set(object, "lines", lines) == 0;
    json_decref(lines);
    return whole_or_null(object, whole);
}

static json_t *finding_json(const st_history *made, const st_history_finding *finding)
{
    st_text sentence;
    st_text_init(&sentence);
    st_history_sentence(made, finding, &sentence);
    json_t *object = json_object();
    bool whole = object && !sentence.failed &&
                 st_json_put(object, "version", st_json_text_or_null(finding->version)) &&
                 st_json_put(object, "before", st_json_text_or_null(finding->before)) &&
                 st_json_put(object, "device", st_json_text_or_null(finding->device)) &&
                 st_json_put(object, "verdict", json_string(st_change_name(finding->change))) &&
                 st_json_put(object, "count", json_integer((json_int_t)finding->count)) &&
                 st_json_put(object, "of", json_integer((json_int_t)finding->of)) &&
                 st_json_put(object, "cannot_tell", json_integer((json_int_t)finding->untold)) &&
                 st_json_put(object, "least_ratio", st_json_number(finding->least)) &&
                 st_json_put(object, "most_ratio", st_json_number(finding->most)) &&
                 st_json_put(object, "changed_too", compare_differs_json(finding->others)) &&
                 st_json_put(object, "sentence", json_string(st_text_string(&sentence)));
    st_text_release(&sentence);
    return whole_or_null(object, whole);
}

st_code st_history_json(const st_history *made, st_text *out, st_error *error)
{
    json_t *object = json_object(), *series = json_array(), *findings = json_array();
    bool whole = object && series && findings;
    for (size_t i = 0; i < made->count && whole; i++)
        whole = json_array_append_new(series, series_json(&made->series[i])) == 0;
    for (size_t i = 0; i < made->finding_count && whole; i++)
        whole = json_array_append_new(findings, finding_json(made, &made->findings[i])) == 0;
    whole = whole && st_json_put(object, "schema", json_string("simtune.version_history/1")) &&
            st_json_put(object, "family", json_string(made->family)) &&
            st_json_put(object, "by", json_string(st_history_by_name(made->by))) &&
            st_json_put(object, "thresholds", compare_rules_json(&made->rules)) &&
            json_object_set(object, "series", series) == 0 && json_object_set(object, "findings", findings) == 0;
    if (whole)
        st_json_print(object, out);
    json_decref(findings);
    json_decref(series);
    json_decref(object);
    return whole && !out->failed ? ST_OK : st_fail_memory(error, "printing a history");
}
