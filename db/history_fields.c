// SPDX-License-Identifier: Apache-2.0
// Fields of a row of a history file, and the keys of what it names. Presence and type are checked here; after the
// first failure (in->code) each gives what is unknown.
#include "db/history_internal.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- fields ------------------------------------------------------------------------------------------------
static const st_value *field(const st_import *in, const char *name)
{
    return st_value_get(&in->reader, in->row, name);
}

static void wrong(st_import *in, const char *name, const char *wanted)
{
    in->code = field(in, name) ? st_fail(in->error, ST_FAILED, NULL, "\"%s\" is not %s", name, wanted)
                               : st_fail(in->error, ST_FAILED, NULL, "\"%s\" is missing (%s)", name, wanted);
}

const char *st_import_text_of(st_import *in, const char *name)
{
    const st_value *value = in->code == ST_OK ? field(in, name) : NULL;
    if (value && value->kind == ST_VALUE_TEXT)
        return value->text;
    if (in->code == ST_OK)
        wrong(in, name, "a text");
    return "";
}

const st_value *st_import_members_of(st_import *in, const char *name, st_value_kind kind)
{
    const st_value *value = in->code == ST_OK ? field(in, name) : NULL;
    if (value && value->kind == kind)
        return value;
    if (in->code == ST_OK)
        wrong(in, name, kind == ST_VALUE_LIST ? "a list" : "an object");
    return NULL;
}

bool st_import_is_given(const st_import *in, const char *name)
{
    const st_value *value = field(in, name);
    return value && value->kind != ST_VALUE_NULL;
}

const char *st_import_text_or_empty(st_import *in, const char *name)
{
    return st_import_is_given(in, name) ? st_import_text_of(in, name) : "";
}

int64_t st_import_int_or_unknown(st_import *in, const char *name)
{
    const st_value *value = in->code == ST_OK ? field(in, name) : NULL;
    if (value && value->kind == ST_VALUE_INT)
        return value->integer;
    if (value && value->kind != ST_VALUE_NULL)
        wrong(in, name, "a whole number");
    return -1;
}

int st_import_small_or_unknown(st_import *in, const char *name)
{
    int64_t value = st_import_int_or_unknown(in, name);
    if (in->code == ST_OK && (value < INT32_MIN || value > INT32_MAX))
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is out of range", name);
    return (int)value;
}

bool st_import_number(const st_value *value, double *out)
{
    *out = value->kind == ST_VALUE_INT ? (double)value->integer : value->kind == ST_VALUE_REAL ? value->real : NAN;
    return value->kind == ST_VALUE_INT || value->kind == ST_VALUE_REAL || value->kind == ST_VALUE_NULL;
}

double st_import_real_or_unknown(st_import *in, const char *name)
{
    double number = NAN;
    const st_value *value = in->code == ST_OK ? field(in, name) : NULL;
    if (value && !st_import_number(value, &number))
        wrong(in, name, "a number");
    return number;
}

int64_t st_import_int_within(st_import *in, const char *name, st_field_need need, int64_t low, int64_t high)
{
    int64_t value = st_import_int_or_unknown(in, name);
    if (in->code != ST_OK)
        return -1;
    if (!st_import_is_given(in, name)) {
        if (need == ST_FIELD_REQUIRED)
            wrong(in, name, "a whole number");
        return -1;
    }
    if (value < low || value > high)
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is %lld; allowed is a whole number from %lld to %lld", name,
                           (long long)value, (long long)low, (long long)high);
    return in->code == ST_OK ? value : -1;
}

double st_import_real_within(st_import *in, const char *name, double low, double high)
{
    double value = st_import_real_or_unknown(in, name);
    if (in->code == ST_OK && (value < low || value > high))
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is %g; allowed is a number from %g to %g", name, value, low, high);
    return value;
}

// A text that must fit an array of a struct.
void st_import_copy_text(st_import *in, const char *name, bool required, char *out, size_t capacity)
{
    const char *text = required ? st_import_text_of(in, name) : st_import_text_or_empty(in, name);
    if (in->code == ST_OK && strlen(text) >= capacity)
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is too long", name);
    snprintf(out, capacity, "%s", text);
}

// The JSON value as text (st_free), NULL when it is not given.
char *st_import_json_or_null(st_import *in, const char *name)
{
    if (in->code != ST_OK || !st_import_is_given(in, name))
        return NULL;
    char *value = st_value_json(&in->reader, field(in, name));
    if (!value)
        in->code = st_fail_memory(in->error, "importing");
    return value;
}

// --- keys by stable id -------------------------------------------------------------------------------------
int64_t st_import_key_of(st_import *in, const char *sql, const char *what, const char *id)
{
    st_statement statement;
    int64_t key = -1;
    bool found = false;
    if (in->code != ST_OK)
        return -1;
    in->code = st_statement_open(in->store, &statement, sql, "importing", in->error);
    if (in->code == ST_OK) {
        st_bind_text(&statement, id);
        in->code = st_statement_number(&statement, &key, &found, in->error);
    }
    st_statement_close(&statement);
    if (in->code == ST_OK && !found)
        in->code = st_fail(in->error, ST_FAILED, NULL, "it refers to a %s (%s) that is not there",
                           what, id);
    return key;
}

void st_known_release(st_known *known)
{
    st_free(known->problem);
    for (size_t i = 0; i < known->metric_count; i++)
        st_free(known->metrics[i]);
    *known = (st_known){0};
}

// The family of the session: rows are found by it.
static void find_family(st_import *in, int64_t session)
{
    st_statement statement;
    bool row;
    in->code =
        st_statement_open(in->store, &statement, "SELECT family FROM session WHERE session_key = ?",
                          "importing", in->error);
    if (in->code == ST_OK) {
        st_bind_int(&statement, session);
        in->code = st_statement_step(&statement, &row, in->error);
        if (in->code == ST_OK && row)
            st_column_copy(&statement, 0, in->known.family, sizeof in->known.family);
    }
    st_statement_close(&statement);
}

int64_t st_import_session_key(st_import *in, const char *id)
{
    st_known *known = &in->known;
    if (in->code == ST_OK && *id && strcmp(known->session_id, id) == 0)
        return known->session;
    int64_t key = st_import_key_of(in, "SELECT session_key FROM session WHERE session_id = ?", "session", id);
    known->session_id[0] = known->family[0] = '\0';
    st_free(known->problem);
    known->problem = NULL;
    if (in->code == ST_OK)
        find_family(in, key);
    if (in->code == ST_OK) {
        known->session = key;
        snprintf(known->session_id, sizeof known->session_id, "%s", id);
    }
    return key;
}

// Of the family of the session that was found last.
int64_t st_import_problem_key(st_import *in, const char *text)
{
    st_known *known = &in->known;
    if (in->code == ST_OK && known->problem && strcmp(known->problem, text) == 0)
        return known->problem_key;
    st_free(known->problem);
    known->problem = NULL;
    if (in->code == ST_OK)
        in->code = st_problem_id(known->family, text, known->problem_id, in->error);
    if (in->code != ST_OK)
        return -1;
    int64_t key = st_import_key_of(in, "SELECT problem_key FROM problem WHERE problem_id = ?", "problem", known->problem_id);
    if (in->code == ST_OK && !(known->problem = st_strdup(text)))
        in->code = st_fail_memory(in->error, "importing");
    known->problem_key = key;
    return key;
}

// -1 quietly when it is not there. Its session and problem are those that were found last.
int64_t st_import_candidate_key(st_import *in, const char *configuration)
{
    char id[ST_HASH_TEXT];
    int64_t key = -1;
    bool found = false;
    st_statement statement;
    if (in->code == ST_OK)
        in->code = st_configuration_id(in->known.family, configuration, id, in->error);
    if (in->code != ST_OK)
        return -1;
    in->code = st_statement_open(in->store, &statement,
                                 "SELECT c.candidate_key FROM configuration g JOIN candidate c"
                                 " ON c.configuration_key = g.configuration_key"
                                 " WHERE g.configuration_id = ? AND c.session_key = ?"
                                 " AND c.problem_key = ?",
                                 "importing", in->error);
    if (in->code == ST_OK) {
        st_bind_text(&statement, id);
        st_bind_int(&statement, in->known.session);
        st_bind_int(&statement, in->known.problem_key);
        in->code = st_statement_number(&statement, &key, &found, in->error);
    }
    st_statement_close(&statement);
    return found ? key : -1;
}

int64_t st_import_metric_key(st_import *in, const char *name, size_t guess)
{
    st_known *known = &in->known;
    int64_t key = -1;
    for (size_t i = 0; i <= known->metric_count; i++) { // where it was in the profile before, then everywhere
        size_t at = i ? i - 1 : guess;
        if (at < known->metric_count && strcmp(known->metrics[at], name) == 0)
            return known->metric_keys[at];
    }
    in->code = st_store_metric(in->store, name, &key, in->error);
    if (in->code == ST_OK && known->metric_count < ST_KNOWN_METRICS) {
        char *copy = st_strdup(name);
        if (!copy)
            in->code = st_fail_memory(in->error, "importing counters");
        else {
            known->metrics[known->metric_count] = copy;
            known->metric_keys[known->metric_count++] = key;
        }
    }
    return key;
}
