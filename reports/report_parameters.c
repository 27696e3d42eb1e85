// SPDX-License-Identifier: Apache-2.0
// The parameters of a session, out of the texts of its configurations. Invariants: 1. parameters stand in the order in
// which configurations name them, which is the template's; 2. numbers stand ascending, words as they came; 3. the values
// of all candidates are one block of small numbers, so that charts and filters of many candidates stay cheap.
#include "reports/report_internal.h"

#include "reports/format.h"
#include "tuner/base/memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_text(const char *text, const char *part, size_t length)
{
    return strncmp(text, part, length) == 0 && text[length] == '\0';
}

static bool is_number(const char *text)
{
    char *end;
    if (!text[0] || strchr(" \t+", text[0]))
        return false;
    strtod(text, &end);
    return *end == '\0' && strspn(text, "-.0123456789eE") == strlen(text);
}

// `guess`: where it stood in the configuration before.
static st_reported_parameter *parameter_of(st_reported_session *session, const char *name, size_t length, size_t guess)
{
    if (guess < session->parameter_count && is_text(session->parameters[guess].name, name, length))
        return &session->parameters[guess];
    for (size_t i = 0; i < session->parameter_count; i++)
        if (is_text(session->parameters[i].name, name, length))
            return &session->parameters[i];
    return NULL;
}

static st_reported_parameter *add_parameter(st_reported_session *session, const char *name, size_t length)
{
    st_reported_parameter *made =
        REPORT_ADD(session->parameters, session->parameter_count, session->parameter_capacity);
    if (!made)
        return NULL;
    made->numeric = true;
    made->standard = -1;
    made->name = st_strndup(name, length);
    return made->name ? made : NULL;
}

// Index of a value, -1: it is new.
static int value_of(const st_reported_parameter *parameter, const char *value, size_t length)
{
    for (size_t i = 0; i < parameter->value_count; i++)
        if (is_text(parameter->values[i], value, length))
            return (int)i;
    return -1;
}

static bool add_value(st_reported_parameter *parameter, const char *value, size_t length)
{
    if (value_of(parameter, value, length) >= 0 || parameter->value_count >= ST_REPORT_NO_VALUE - 1)
        return true;
    char **made = REPORT_ADD(parameter->values, parameter->value_count, parameter->value_capacity);
    if (made)
        *made = st_strndup(value, length);
    if (!made || !*made)
        return false;
    parameter->numeric = parameter->numeric && is_number(*made);
    return true;
}

static st_code collect(st_reported_session *session, const char *configuration, st_error *error)
{
    size_t name_length, length, guess = 0;
    for (const char *pair; (pair = st_report_next_pair(&configuration, &name_length, &length)); guess++) {
        if (name_length + 1 > length)
            continue; // no "=": nothing that we wrote
        st_reported_parameter *parameter = parameter_of(session, pair, name_length, guess);
        if (!parameter)
            parameter = add_parameter(session, pair, name_length);
        if (!parameter || !add_value(parameter, pair + name_length + 1, length - name_length - 1))
            return st_fail_memory(error, "reading the parameters of a session");
    }
    return ST_OK;
}

static int by_number(const void *a, const void *b)
{
    double x = strtod(*(char *const *)a, NULL), y = strtod(*(char *const *)b, NULL);
    return (x > y) - (x < y);
}

static void encode(const st_reported_session *session, const char *configuration, uint16_t *values)
{
    size_t name_length, length, guess = 0;
    for (size_t i = 0; i < session->parameter_count; i++)
        values[i] = ST_REPORT_NO_VALUE;
    for (const char *pair; (pair = st_report_next_pair(&configuration, &name_length, &length)); guess++) {
        if (name_length + 1 > length)
            continue;
        st_reported_parameter *parameter =
            parameter_of((st_reported_session *)(uintptr_t)session, pair, name_length, guess);
        int value = parameter ? value_of(parameter, pair + name_length + 1, length - name_length - 1) : -1;
        if (value >= 0)
            values[parameter - session->parameters] = (uint16_t)value;
    }
}

st_code report_parameters(st_reported_session *session, st_error *error)
{
    st_code code = ST_OK;
    for (size_t p = 0; p < session->count && code == ST_OK; p++)
        for (size_t c = 0; c < session->problems[p].count && code == ST_OK; c++)
            code = collect(session, session->problems[p].candidates[c].configuration, error);
    if (code != ST_OK)
        return code;
    for (size_t i = 0; i < session->parameter_count; i++)
        if (session->parameters[i].numeric)
            qsort(session->parameters[i].values, session->parameters[i].value_count, sizeof(char *), by_number);
    size_t wanted = session->candidate_count * session->parameter_count;
    session->values = st_calloc(wanted ? wanted : 1, sizeof *session->values);
    if (!session->values)
        return st_fail_memory(error, "reading the parameters of a session");
    uint16_t *at = session->values;
    for (size_t p = 0; p < session->count; p++)
        for (size_t c = 0; c < session->problems[p].count; c++, at += session->parameter_count) {
            encode(session, session->problems[p].candidates[c].configuration, at);
            session->problems[p].candidates[c].values = at;
        }
    return ST_OK;
}
