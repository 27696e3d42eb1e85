// SPDX-License-Identifier: Apache-2.0
// A record out of what was gathered. Invariants: 1. the values of a parameter are those that occur, numbers ascending,
// words by name; a parameter of numbers alone is ordered; 2. configurations come in the order of the store; 3. times
// of one record are comparable: those of an earlier phase are put on the scale of the last.
#include "tuner/replay_internal.h"

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"
#include "tuner/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- times ---------------------------------------------------------------------------------------------------------

double st_found_first(const st_found *item)
{
    for (int phase = 0; phase < ST_PHASES; phase++)
        if (!isnan(item->times.ns[phase]))
            return item->times.ns[phase];
    return NAN;
}

// How much longer a candidate takes in the phase `to` than in `from`: the median over those that were in both.
static st_code lengthening(const st_gathering *one, int from, int to, double *out, st_error *error)
{
    double *ratios = st_malloc((one->count + 1) * sizeof *ratios);
    size_t count = 0;
    *out = 1;
    if (!ratios)
        return st_fail_memory(error, "reading records");
    for (size_t i = 0; i < one->count; i++) {
        double ratio = one->items[i].times.ns[to] / one->items[i].times.ns[from];
        if (!isnan(ratio))
            ratios[count++] = ratio;
    }
    if (count)
        *out = st_median(ratios, count);
    st_free(ratios);
    return isnan(*out) ? st_fail_memory(error, "reading records") : ST_OK;
}

// Phases are not alike: candidates that take turns find the instruction cache cold, and short kernels take up to a
// tenth more than when each has its samples in a row. Comparing them as they are would put the fastest, which alone
// come into later phases, behind those that do not. Fills out->ns.
static st_code put_on_one_scale(const st_gathering *one, st_recorded *out, st_error *error)
{
    double factor[ST_PHASES];
    st_code code = ST_OK;
    int to = -1;
    for (size_t i = 0; i < one->count; i++) {
        int last = st_phase_last(&one->items[i].times);
        to = last > to ? last : to;
    }
    for (int phase = 0; phase <= to && code == ST_OK; phase++)
        code = lengthening(one, phase, to, &factor[phase], error);
    for (size_t i = 0; i < one->count && code == ST_OK; i++) {
        const st_phase_times *times = &one->items[i].times;
        int phase = st_phase_last(times);
        out->ns[i] = phase < 0 ? NAN : times->ns[phase] * factor[phase];
    }
    return code;
}

// --- a record out of what was gathered -----------------------------------------------------------------------------

typedef struct word {
    const char *text;
    size_t length;
    double number;
    bool is_number;
} word;

// The next NAME=VALUE of "A=1 B=2"; NULL at the end.
static const char *next_pair(const char **at, word *name, word *value)
{
    const char *start = *at + strspn(*at, " ");
    const char *equals = strchr(start, '=');
    if (!*start || !equals)
        return NULL;
    *name = (word){.text = start, .length = (size_t)(equals - start)};
    *value = (word){.text = equals + 1, .length = strcspn(equals + 1, " ")};
    char *end;
    value->number = strtod(value->text, &end);
    value->is_number = value->length && end == value->text + value->length && isfinite(value->number);
    *at = value->text + value->length;
    return start;
}

static int by_value(const void *a, const void *b)
{
    const word *x = a, *y = b;
    if (x->is_number != y->is_number)
        return x->is_number ? -1 : 1;
    if (x->is_number && x->number != y->number)
        return x->number < y->number ? -1 : 1;
    size_t shorter = x->length < y->length ? x->length : y->length;
    int order = strncmp(x->text, y->text, shorter);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

// A column of the space: fills values, and the parameter with its words.
static st_code make_column(const st_gathering *one, const char *name, size_t name_length, size_t p, st_recorded *out,
                           st_error *error)
{
    size_t count = one->count, parameters = out->space.parameter_count, used = 0;
    word *column = st_malloc((count + 1) * sizeof *column), *sorted = st_malloc((count + 1) * sizeof *sorted);
    st_search_parameter *parameter = (st_search_parameter *)(uintptr_t)&out->space.parameters[p];
    st_code code = column && sorted ? ST_OK : st_fail_memory(error, "reading records");
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        const char *at = one->items[i].configuration;
        word pair = {0}, value = {0};
        bool there = false;
        while (!there && next_pair(&at, &pair, &value))
            there = pair.length == name_length && strncmp(pair.text, name, name_length) == 0;
        column[i] = there ? value : (word){.text = ""};
    }
    if (code == ST_OK && count) {
        memcpy(sorted, column, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_value);
        for (size_t i = 0; i < count; i++)
            if (!used || by_value(&sorted[used - 1], &sorted[i]) != 0)
                sorted[used++] = sorted[i];
    }
    if (code == ST_OK && used > UINT16_MAX)
        code = st_fail(error, ST_FAILED, "such a space cannot be replayed", "parameter %.*s has %zu values",
                       (int)name_length, name, used);
    double *values = code == ST_OK ? st_calloc(used + 1, sizeof *values) : NULL;
    out->words[p] = code == ST_OK ? st_calloc(used + 1, sizeof **out->words) : NULL;
    parameter->name = code == ST_OK ? st_strndup(name, name_length) : NULL;
    parameter->values = values;
    if (code == ST_OK && (!values || !out->words[p] || !parameter->name))
        code = st_fail_memory(error, "reading records");
    for (size_t v = 0; v < used && code == ST_OK; v++) {
        values[v] = sorted[v].number;
        parameter->is_word = parameter->is_word || !sorted[v].is_number;
        parameter->value_count = v + 1;
        if (!(out->words[p][v] = st_strndup(sorted[v].text, sorted[v].length)))
            code = st_fail_memory(error, "reading records");
    }
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        const word *place = bsearch(&column[i], sorted, used, sizeof *sorted, by_value);
        ((uint16_t *)(uintptr_t)out->space.values)[i * parameters + p] = (uint16_t)(place - sorted);
    }
    st_free(column);
    st_free(sorted);
    return code;
}

// Roles of the family's parameters, where its template is known.
static void add_roles(st_recorded *record)
{
    st_template *tmpl = NULL;
    if (st_template_find(record->family, &tmpl, NULL) != ST_OK)
        return;
    for (size_t p = 0; p < record->space.parameter_count; p++) {
        int found_at = st_template_parameter(tmpl, record->space.parameters[p].name);
        if (found_at >= 0)
            ((st_search_parameter *)(uintptr_t)record->space.parameters)[p].roles = tmpl->parameters[found_at].roles;
    }
    st_template_free(tmpl);
}

void st_record_release(st_recorded *record)
{
    for (size_t p = 0; p < record->space.parameter_count && record->space.parameters; p++) {
        for (size_t v = 0; record->words && record->words[p] && v < record->space.parameters[p].value_count; v++)
            st_free(record->words[p][v]);
        if (record->words)
            st_free(record->words[p]);
        st_free((void *)(uintptr_t)record->space.parameters[p].name);
        st_free((void *)(uintptr_t)record->space.parameters[p].values);
    }
    st_free(record->words);
    st_free((void *)(uintptr_t)record->space.parameters);
    st_free((void *)(uintptr_t)record->space.values);
    st_free(record->ns);
    st_free(record->first_ns);
    st_free(record->profile_seconds);
    st_free(record->facts);
    st_free(record->seconds);
    st_free(record->advice);
    st_free(record->has_profile);
    st_free(record->family);
    st_free(record->problem);
    st_free(record->device);
    *record = (st_recorded){0};
}

static st_code make_room(const st_gathering *one, size_t parameters, st_recorded *out, st_error *error)
{
    size_t count = one->count;
    out->space.parameters = st_calloc(parameters + 1, sizeof *out->space.parameters);
    out->space.values = st_calloc(count * parameters + 1, sizeof *out->space.values);
    out->words = st_calloc(parameters + 1, sizeof *out->words);
    out->ns = st_malloc((count + 1) * sizeof *out->ns);
    out->first_ns = st_malloc((count + 1) * sizeof *out->first_ns);
    out->profile_seconds = st_malloc((count + 1) * sizeof *out->profile_seconds);
    out->facts = st_malloc((count + 1) * sizeof *out->facts);
    out->seconds = st_malloc((count + 1) * sizeof *out->seconds);
    out->advice = st_calloc(count + 1, sizeof *out->advice);
    out->has_profile = st_calloc(count + 1, sizeof *out->has_profile);
    if (!out->space.parameters || !out->space.values || !out->words || !out->ns || !out->first_ns ||
        !out->profile_seconds || !out->facts || !out->seconds ||
        !out->advice || !out->has_profile)
        return st_fail_memory(error, "reading records");
    out->space.parameter_count = parameters;
    out->space.count = count;
    return ST_OK;
}

static st_code fill_answers(const st_gathering *one, st_recorded *out, st_error *error)
{
    st_code code = put_on_one_scale(one, out, error);
    out->best = out->space.standard = ST_SEARCH_NONE;
    for (size_t i = 0; i < one->count && code == ST_OK; i++) {
        const st_found *item = &one->items[i];
        out->first_ns[i] = st_found_first(item);
        out->facts[i] = item->facts;
        out->seconds[i] = item->seconds;
        out->profile_seconds[i] = item->profile_seconds;
        out->advice[i] = item->advice;
        out->has_profile[i] = item->has_profile;
        out->failed += isnan(out->ns[i]);
        out->profiled += item->has_profile;
        if (!isnan(out->ns[i]) && (out->best == ST_SEARCH_NONE || out->ns[i] < out->ns[out->best]))
            out->best = i;
        if (one->standard && strcmp(one->standard, item->configuration) == 0)
            out->space.standard = i;
    }
    out->limit_ns = one->bytes / one->read_gbs; // GB/s are bytes a nanosecond
    return code;
}

st_code st_record_make(st_gathering *one, st_recorded *out, st_error *error)
{
    word names[ST_SEARCH_PARAMETERS], value;
    size_t parameters = 0;
    *out = (st_recorded){.cc = one->cc, .sm_count = one->sm_count};
    const char *at = one->items[0].configuration;
    word name;
    while (next_pair(&at, &name, &value)) {
        if (parameters == ST_SEARCH_PARAMETERS)
            return st_fail(error, ST_FAILED, "such a space cannot be replayed", "%s: more than %d parameters",
                           one->problem, ST_SEARCH_PARAMETERS);
        names[parameters++] = name;
    }
    st_code code = make_room(one, parameters, out, error);
    for (size_t p = 0; p < parameters && code == ST_OK; p++)
        code = make_column(one, names[p].text, names[p].length, p, out, error);
    if (code == ST_OK)
        code = fill_answers(one, out, error);
    if (code == ST_OK) {
        snprintf(out->session, sizeof out->session, "%s", one->session);
        out->family = one->family;
        out->problem = one->problem;
        out->device = one->device;
        one->family = one->problem = one->device = NULL;
        add_roles(out);
    } else
        st_record_release(out);
    return code;
}
