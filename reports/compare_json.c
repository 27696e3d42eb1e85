// SPDX-License-Identifier: Apache-2.0
// A comparison for programs. Invariants: 1. base units; 2. unknown is null; 3. the order is that of the text.
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

json_t *compare_interval_json(st_interval ratio)
{
    json_t *object = json_object();
    return whole_or_null(object, object && st_json_put(object, "ratio", st_json_number(ratio.centre)) &&
                                     st_json_put(object, "low", st_json_number(ratio.low)) &&
                                     st_json_put(object, "high", st_json_number(ratio.high)));
}

// What one side's row is.
json_t *compare_record_json(const st_compare_record *record, double median_ns)
{
    const st_compare_row *row = &record->row;
    const struct {
        const char *key, *text;
    } texts[] = {{"candidate", row->candidate_id}, {"session", row->session_id},
                 {"configuration", row->configuration}, {"device", row->device_name},
                 {"device_uuid", row->device_uuid}, {"backend", row->backend},
                 {"driver", row->driver}, {"compiler", row->compiler}, {"tool", row->tool},
                 {"template_hash", row->template_hash}, {"status", row->status}};
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"cc", row->cc}, {"sm_count", row->sm_count}, {"registers", row->registers},
                   {"taken_ms", row->taken_ms}, {"sm_clock_mhz", record->sm_clock_mhz},
                   {"memory_clock_mhz", record->memory_clock_mhz}, {"temperature_c", record->temperature_c}};
    json_t *object = json_object();
    bool whole = object && st_json_put(object, "median_ns", st_json_number(median_ns)) &&
                 st_json_put(object, "samples", json_integer((json_int_t)record->samples)) &&
                 st_json_put(object, "bytes_per_second", st_json_number(row->bytes / median_ns * 1e9)) &&
                 st_json_put(object, "deterministic",
                             row->deterministic < 0 ? json_null() : json_boolean(row->deterministic));
    for (size_t i = 0; i < sizeof texts / sizeof *texts && whole; i++)
        whole = st_json_put(object, texts[i].key, st_json_text_or_null(texts[i].text));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && whole; i++)
        whole = st_json_put(object, numbers[i].key, st_json_known_or_null(numbers[i].value));
    return whole_or_null(object, whole);
}

static json_t *moved_json(const st_compare_pair *pair)
{
    json_t *list = json_array();
    bool whole = list;
    for (size_t i = 0; i < pair->moved_count && whole; i++) {
        const st_compare_moved *moved = &pair->moved[i];
        json_t *one = json_object();
        whole = one && st_json_put(one, "kind", json_string(moved->kind)) &&
                st_json_put(one, "name", json_string(moved->name)) &&
                st_json_put(one, "unit", json_string(compare_moved_unit(moved))) &&
                st_json_put(one, "share_of", st_json_text_or_null(compare_moved_of(moved))) &&
                st_json_put(one, "a", st_json_number(moved->a)) && st_json_put(one, "b", st_json_number(moved->b)) &&
                st_json_put(one, "meaning", st_json_text_or_null(compare_moved_meaning(moved))) &&
                json_array_append(list, one) == 0;
        json_decref(one);
    }
    return whole_or_null(list, whole);
}

json_t *compare_differs_json(unsigned differs)
{
    json_t *list = json_array();
    bool whole = list;
    for (unsigned bit = 1; bit < 1u << ST_DIFFERS_KINDS && whole; bit <<= 1)
        if (differs & bit)
            whole = json_array_append_new(list, json_string(st_differs_name(bit))) == 0;
    return whole_or_null(list, whole);
}

static json_t *note_json(const st_compare_note *note)
{
    if (!note)
        return json_null();
    json_t *object = json_object();
    return whole_or_null(object, object && st_json_put(object, "id", json_string(note->id)) &&
                                     st_json_put(object, "session", json_string(note->session_id)) &&
                                     st_json_put(object, "reason", json_string(note->reason)) &&
                                     st_json_put(object, "author", st_json_text_or_null(note->author)) &&
                                     st_json_put(object, "acknowledged_ms", json_integer(note->acknowledged_ms)) &&
                                     st_json_put(object, "got_worse", json_boolean(note->surpassed)) &&
                                     st_json_put(object, "since", compare_interval_json(note->ratio)));
}

bool compare_put_problem(json_t *object, const st_compare_row *row)
{
    return st_json_put(object, "family", json_string(row->family)) &&
           st_json_put(object, "problem", json_string(row->problem)) &&
           st_json_put(object, "type", st_json_text_or_null(row->type)) &&
           st_json_put(object, "operation", st_json_text_or_null(row->operation)) &&
           st_json_put(object, "n", st_json_known_or_null(row->n)) &&
           st_json_put(object, "cache", json_string(row->cache));
}

bool compare_put_change(json_t *object, const st_compare_pair *pair)
{
    const char *verdict = pair->change == ST_CHANGE_UNKNOWN ? "cannot_tell" : st_change_name(pair->change);
    return st_json_put(object, "verdict", json_string(verdict)) &&
           st_json_put(object, "reason", st_json_text_or_null(pair->reason)) &&
           st_json_put(object, "paired", json_boolean(pair->paired)) &&
           st_json_put(object, "ratio", st_json_number(pair->ratio.centre)) &&
           st_json_put(object, "low", st_json_number(pair->ratio.low)) &&
           st_json_put(object, "high", st_json_number(pair->ratio.high)) &&
           st_json_put(object, "threshold", st_json_number(pair->threshold)) &&
           st_json_put(object, "default_ratio", st_json_number(pair->default_ratio)) &&
           st_json_put(object, "differs", compare_differs_json(pair->differs)) &&
           st_json_put(object, "moved", moved_json(pair));
}

static json_t *pair_json(const st_compare_pair *pair)
{
    json_t *object = json_object();
    bool whole = object && compare_put_problem(object, &pair->a->row) && compare_put_change(object, pair) &&
                 st_json_put(object, "lost", json_boolean(pair->lost)) &&
                 st_json_put(object, "a", compare_record_json(pair->a, pair->a_ns)) &&
                 st_json_put(object, "b", pair->b ? compare_record_json(pair->b, pair->b_ns) : json_null()) &&
                 st_json_put(object, "acknowledged", note_json(pair->note));
    return whole_or_null(object, whole);
}

static json_t *only_json(const st_comparison *made, int side)
{
    json_t *list = json_array();
    bool whole = list;
    for (size_t i = 0; i < made->only_count[side] && whole; i++) {
        const st_compare_record *record = side ? made->only[side][i].b : made->only[side][i].a;
        json_t *one = json_object();
        whole = one && compare_put_problem(one, &record->row) &&
                st_json_put(one, "row", compare_record_json(record, record->row.median_ns)) &&
                json_array_append(list, one) == 0;
        json_decref(one);
    }
    return whole_or_null(list, whole);
}

static json_t *counts_json(const st_comparison *made)
{
    const struct {
        const char *key;
        size_t value;
    } counts[] = {{"compared", made->count},
                  {"better", made->counts[ST_CHANGE_BETTER]},
                  {"same", made->counts[ST_CHANGE_SAME]},
                  {"worse", made->counts[ST_CHANGE_WORSE]},
                  {"cannot_tell", made->counts[ST_CHANGE_UNKNOWN]},
                  {"acknowledged", made->acknowledged},
                  {"regressions", st_comparison_regressions(made)},
                  {"only_a", made->only_count[0]},
                  {"only_b", made->only_count[1]}};
    json_t *object = json_object();
    bool whole = object;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && whole; i++)
        whole = st_json_put(object, counts[i].key, json_integer((json_int_t)counts[i].value));
    return whole_or_null(object, whole);
}

json_t *compare_rules_json(const st_compare_rules *rules)
{
    json_t *object = json_object();
    return whole_or_null(object, object && st_json_put(object, "within_session", st_json_number(rules->within)) &&
                                     st_json_put(object, "between_sessions", st_json_number(rules->between)) &&
                                     st_json_put(object, "timer_ticks", st_json_number(rules->ticks)));
}

st_code st_comparison_json(const st_comparison *made, st_text *out, st_error *error)
{
    json_t *whole_thing = json_object(), *pairs = json_array();
    bool whole = whole_thing && pairs;
    for (size_t i = 0; i < made->count && whole; i++)
        whole = json_array_append_new(pairs, pair_json(&made->pairs[i])) == 0;
    whole = whole && json_object_set(whole_thing, "problems", pairs) == 0 &&
            st_json_put(whole_thing, "schema", json_string("simtune.compare/1")) &&
            st_json_put(whole_thing, "against_baseline", json_boolean(made->against_baseline)) &&
            st_json_put(whole_thing, "a", st_json_text_or_null(made->sides[0].label)) &&
            st_json_put(whole_thing, "b", st_json_text_or_null(made->sides[1].label)) &&
            st_json_put(whole_thing, "thresholds", compare_rules_json(&made->rules)) &&
            st_json_put(whole_thing, "counts", counts_json(made)) &&
            st_json_put(whole_thing, "only_a", only_json(made, 0)) &&
            st_json_put(whole_thing, "only_b", only_json(made, 1));
    if (whole)
        st_json_print(whole_thing, out);
    json_decref(pairs);
    json_decref(whole_thing);
    return whole && !out->failed ? ST_OK : st_fail_memory(error, "printing a comparison");
}
