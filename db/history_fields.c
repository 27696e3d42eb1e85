// SPDX-License-Identifier: Apache-2.0
// Fields of a row of a history file, and the keys of what it names. Presence and type are checked here; after the
// first failure (in->code) each gives what is unknown.
#include "db/history_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- fields ------------------------------------------------------------------------------------------------
const char *st_import_text_of(st_import *in, const char *name)
{
    const char *value = "";
    if (in->code == ST_OK)
        in->code = st_json_get_string(in->row, name, &value, in->error);
    return value;
}

bool st_import_is_given(const st_import *in, const char *name)
{
    const json_t *value = json_object_get(in->row, name);
    return value && !json_is_null(value);
}

const char *st_import_text_or_empty(st_import *in, const char *name)
{
    return st_import_is_given(in, name) ? st_import_text_of(in, name) : "";
}

int64_t st_import_int_or_unknown(st_import *in, const char *name)
{
    int64_t value = -1;
    if (in->code == ST_OK && st_import_is_given(in, name))
        in->code = st_json_get_int(in->row, name, &value, in->error);
    return value;
}

int st_import_small_or_unknown(st_import *in, const char *name)
{
    int64_t value = st_import_int_or_unknown(in, name);
    if (in->code == ST_OK && (value < INT32_MIN || value > INT32_MAX))
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is out of range", name);
    return (int)value;
}

double st_import_real_or_unknown(st_import *in, const char *name)
{
    double value = NAN;
    if (in->code == ST_OK && st_import_is_given(in, name))
        in->code = st_json_get_number(in->row, name, &value, in->error);
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
    st_text text;
    st_text_init(&text);
    st_history_print(json_object_get(in->row, name), &text);
    char *value = st_text_take(&text);
    if (!value)
        in->code = st_fail_memory(in->error, "importing");
    st_text_release(&text);
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

int64_t st_import_session_key(st_import *in, const char *id)
{
    return st_import_key_of(in, "SELECT session_key FROM session WHERE session_id = ?", "session", id);
}

// The family of the session that the row belongs to. A copy: rows are found by it.
void st_import_session_family(st_import *in, int64_t session, char out[64])
{
    st_statement statement;
    bool row;
    out[0] = '\0';
    if (in->code != ST_OK)
        return;
    in->code =
        st_statement_open(in->store, &statement, "SELECT family FROM session WHERE session_key = ?",
                          "importing", in->error);
    if (in->code == ST_OK) {
        st_bind_int(&statement, session);
        in->code = st_statement_step(&statement, &row, in->error);
        if (in->code == ST_OK && row)
            st_column_copy(&statement, 0, out, 64);
    }
    st_statement_close(&statement);
}

int64_t st_import_problem_key(st_import *in, const char *family, const char *text)
{
    char id[ST_HASH_TEXT];
    if (in->code == ST_OK)
        in->code = st_problem_id(family, text, id, in->error);
    return in->code == ST_OK
               ? st_import_key_of(in, "SELECT problem_key FROM problem WHERE problem_id = ?", "problem", id)
               : -1;
}

// -1 quietly when it is not there.
int64_t st_import_candidate_key(st_import *in, int64_t session, int64_t problem, const char *family,
                             const char *configuration)
{
    char id[ST_HASH_TEXT];
    int64_t key = -1;
    bool found = false;
    st_statement statement;
    if (in->code == ST_OK)
        in->code = st_configuration_id(family, configuration, id, in->error);
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
        st_bind_int(&statement, session);
        st_bind_int(&statement, problem);
        in->code = st_statement_number(&statement, &key, &found, in->error);
    }
    st_statement_close(&statement);
    return found ? key : -1;
}
