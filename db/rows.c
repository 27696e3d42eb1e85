// SPDX-License-Identifier: Apache-2.0
// Rows that are found or made: device, toolchain, template, problem, configuration. Invariants: 1. the
// stable id is a hash over the content that identifies the row, so every store gives the same id; 2. a row
// that is there is found without taking the write lock; 3. of a row that is there only what was unknown is
// filled in, and a device's measured speeds rise to the better figure; nothing else changes.
#include "db/store_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- stable ids --------------------------------------------------------------------------------------------
st_code st_content_id(char out[ST_HASH_TEXT], const char *const *fields, size_t count,
                      st_error *error)
{
    st_hash *hash = st_hash_new();
    if (!hash)
        return st_fail_memory(error, "naming a row");
    for (size_t i = 0; i < count; i++)
        st_hash_field(hash, fields[i]);
    st_hash_text(hash, out);
    st_hash_free(hash);
    return ST_OK;
}

st_code st_device_id(const st_device_row *row, char out[ST_HASH_TEXT], st_error *error)
{
    return st_content_id(out, (const char *[]){"device", row->uuid, row->backend}, 3, error);
}

st_code st_toolchain_id(const st_toolchain_row *row, char out[ST_HASH_TEXT], st_error *error)
{
    char cuda[16];
    snprintf(cuda, sizeof cuda, "%d", row->driver_cuda);
    return st_content_id(
        out, (const char *[]){"toolchain", row->driver, cuda, row->compiler, row->tool}, 5, error);
}

st_code st_problem_id(const char *family, const char *text, char out[ST_HASH_TEXT], st_error *error)
{
    return st_content_id(out, (const char *[]){"problem", family, text}, 3, error);
}

st_code st_configuration_id(const char *family, const char *text, char out[ST_HASH_TEXT],
                            st_error *error)
{
    return st_content_id(out, (const char *[]){"configuration", family, text}, 3, error);
}

st_code st_candidate_id(const char *session_id, const char *problem_id,
                        const char *configuration_id, char out[ST_HASH_TEXT], st_error *error)
{
    return st_content_id(
        out, (const char *[]){"candidate", session_id, problem_id, configuration_id}, 4, error);
}

// --- finding -----------------------------------------------------------------------------------------------
static st_code find(st_store *store, const char *sql, const char *id, const char *doing,
                    int64_t *key, bool *found, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open(store, &statement, sql, doing, error);
    if (code == ST_OK) {
        st_bind_text(&statement, id);
        code = st_statement_number(&statement, key, found, error);
    }
    st_statement_close(&statement);
    return code;
}

// What differs between the kinds: how a row is found, how it is made. `make` opens nothing else.
typedef struct st_kind {
    const char *doing, *find_sql, *insert_sql;
    void (*bind)(st_statement *statement, const char *id, const void *row);
} st_kind;

static st_code insert(st_store *store, const st_kind *kind, const char *id, const void *row,
                      int64_t *key, st_error *error)
{
    bool found;
    st_statement statement;
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = st_statement_open(store, &statement, kind->insert_sql, kind->doing, error);
    if (code == ST_OK) {
        kind->bind(&statement, id, row);
        code = st_statement_number(&statement, key, &found, error);
        if (code == ST_OK && !found) // another writer made it since we looked
            code = find(store, kind->find_sql, id, kind->doing, key, &found, error);
    }
    st_statement_close(&statement);
    return st_store_finish(store, code, error);
}

static st_code find_or_make(st_store *store, const st_kind *kind, const char *id, const void *row,
                            int64_t *key, bool *was_there, st_error *error)
{
    bool found = false;
    st_code code = find(store, kind->find_sql, id, kind->doing, key, &found, error);
    if (code == ST_OK && !found)
        code = insert(store, kind, id, row, key, error);
    if (was_there)
        *was_there = found;
    return code;
}

// --- devices -----------------------------------------------------------------------------------------------
static void bind_device(st_statement *statement, const char *id, const void *context)
{
    const st_device_row *row = context;
    st_bind_text(statement, id);
    st_bind_text(statement, row->uuid);
    st_bind_text(statement, row->name);
    st_bind_text(statement, row->backend);
    st_bind_known_text(statement, row->pci);
    st_bind_known_int(statement, row->cc);
    st_bind_known_int(statement, row->sm_count);
    st_bind_known_int(statement, row->memory_bytes);
    st_bind_known_int(statement, row->l2_bytes);
    st_bind_known_text(statement, row->facts_json);
    st_bind_real(statement, row->read_gbs);
    st_bind_real(statement, row->copy_gbs);
}

static const st_kind device_kind = {
    "storing a device", "SELECT device_key FROM device WHERE device_id = ?",
    "INSERT INTO device (device_id, uuid, name, backend, pci, cc, sm_count, memory_bytes, l2_bytes,"
    " facts, read_gbs, copy_gbs) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING RETURNING device_key",
    bind_device};

// Touches the row (and takes the lock) only when there is something to add.
static st_code complete_device(st_store *store, const st_device_row *row, int64_t key,
                               st_error *error)
{
    static const char news_sql[] =
        "SELECT (pci IS NULL AND ?2 IS NOT NULL) OR (memory_bytes IS NULL AND ?3 IS NOT NULL)"
        " OR (l2_bytes IS NULL AND ?4 IS NOT NULL) OR (facts IS NULL AND ?5 IS NOT NULL)"
        " OR coalesce(?6 > coalesce(read_gbs, 0), 0) OR coalesce(?7 > coalesce(copy_gbs, 0), 0)"
        " FROM device WHERE device_key = ?1";
    static const char update_sql[] =
        "UPDATE device SET pci = coalesce(pci, ?2), memory_bytes = coalesce(memory_bytes, ?3),"
        " l2_bytes = coalesce(l2_bytes, ?4), facts = coalesce(facts, ?5),"
        " read_gbs = CASE WHEN ?6 > coalesce(read_gbs, 0) THEN ?6 ELSE read_gbs END,"
        " copy_gbs = CASE WHEN ?7 > coalesce(copy_gbs, 0) THEN ?7 ELSE copy_gbs END"
        " WHERE device_key = ?1";
    int64_t news = 0;
    st_code code = ST_OK;
    for (int writing = 0; writing < 2 && code == ST_OK && (!writing || news == 1); writing++) {
        st_statement statement;
        if (writing && (code = st_store_begin(store, error)) != ST_OK)
            return code;
        code = st_statement_open(store, &statement, writing ? update_sql : news_sql,
                                 device_kind.doing, error);
        if (code == ST_OK) {
            st_bind_int(&statement, key);
            st_bind_known_text(&statement, row->pci);
            st_bind_known_int(&statement, row->memory_bytes);
            st_bind_known_int(&statement, row->l2_bytes);
            st_bind_known_text(&statement, row->facts_json);
            st_bind_real(&statement, row->read_gbs);
            st_bind_real(&statement, row->copy_gbs);
            code = st_statement_number(&statement, &news, NULL, error);
        }
        st_statement_close(&statement);
        if (writing)
            code = st_store_finish(store, code, error);
    }
    return code;
}

st_code st_device_find_or_make(st_store *store, const st_device_row *row, int64_t *key,
                               bool *was_there, st_error *error)
{
    char id[ST_HASH_TEXT];
    st_code code = st_device_id(row, id, error);
    return code == ST_OK ? find_or_make(store, &device_kind, id, row, key, was_there, error) : code;
}

st_code st_store_device(st_store *store, const st_device_row *row, int64_t *key, st_error *error)
{
    bool was_there;
    st_code code = st_device_find_or_make(store, row, key, &was_there, error);
    if (code == ST_OK && was_there && store->mode == ST_STORE_WRITE)
        code = complete_device(store, row, *key, error);
    return code;
}

// --- toolchains --------------------------------------------------------------------------------------------
static void bind_toolchain(st_statement *statement, const char *id, const void *context)
{
    const st_toolchain_row *row = context;
    st_bind_text(statement, id);
    st_bind_known_text(statement, row->driver);
    st_bind_known_int(statement, row->driver_cuda);
    st_bind_known_text(statement, row->compiler);
    st_bind_known_text(statement, row->tool);
}

static const st_kind toolchain_kind = {"storing a toolchain",
                                       "SELECT toolchain_key FROM toolchain WHERE toolchain_id = ?",
                                       "INSERT INTO toolchain (toolchain_id, driver, driver_cuda, "
                                       "compiler, tool) VALUES (?, ?, ?, ?, ?)"
                                       " ON CONFLICT DO NOTHING RETURNING toolchain_key",
                                       bind_toolchain};

st_code st_store_toolchain(st_store *store, const st_toolchain_row *row, int64_t *key,
                           st_error *error)
{
    char id[ST_HASH_TEXT];
    st_code code = st_toolchain_id(row, id, error);
    return code == ST_OK ? find_or_make(store, &toolchain_kind, id, row, key, NULL, error) : code;
}

// --- templates, problems, configurations -------------------------------------------------------------------
typedef struct st_text_row { // of all three
    const char *family, *text, *second_text, *operation;
    int64_t n;
} st_text_row;

static void bind_template(st_statement *statement, const char *hash, const void *context)
{
    const st_text_row *row = context;
    st_bind_text(statement, hash);
    st_bind_text(statement, row->family);
    st_bind_text(statement, row->text);
}

static const st_kind template_kind = {"storing a template",
                                      "SELECT template_key FROM template WHERE hash = ?",
                                      "INSERT INTO template (hash, family, texts) VALUES (?, ?, ?)"
                                      " ON CONFLICT DO NOTHING RETURNING template_key",
                                      bind_template};

st_code st_store_template(st_store *store, const char *family, const char *hash,
                          const char *text_json, int64_t *key, st_error *error)
{
    st_text_row row = {.family = family, .text = text_json};
    return find_or_make(store, &template_kind, hash, &row, key, NULL, error);
}

static void bind_problem(st_statement *statement, const char *id, const void *context)
{
    const st_text_row *row = context;
    st_bind_text(statement, id);
    st_bind_text(statement, row->family);
    st_bind_text(statement, row->text);
    st_bind_known_text(statement, row->second_text);
    st_bind_known_text(statement, row->operation);
    st_bind_known_int(statement, row->n);
}

static const st_kind problem_kind = {
    "storing a problem", "SELECT problem_key FROM problem WHERE problem_id = ?",
    "INSERT INTO problem (problem_id, family, text, type, operation, n) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING RETURNING problem_key",
    bind_problem};

st_code st_store_problem(st_store *store, const char *family, const char *text, const char *type,
                         const char *operation, int64_t n, int64_t *key, st_error *error)
{
    char id[ST_HASH_TEXT];
    st_text_row row = {family, text, type, operation, n};
    st_code code = st_problem_id(family, text, id, error);
    return code == ST_OK ? find_or_make(store, &problem_kind, id, &row, key, NULL, error) : code;
}

static void bind_configuration(st_statement *statement, const char *id, const void *context)
{
    const st_text_row *row = context;
    st_bind_text(statement, id);
    st_bind_text(statement, row->family);
    st_bind_text(statement, row->text);
    st_bind_text(statement, row->second_text);
}

static const st_kind configuration_kind = {
    "storing a configuration",
    "SELECT configuration_key FROM configuration WHERE configuration_id = ?",
    "INSERT INTO configuration (configuration_id, family, text, parameters) VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING RETURNING configuration_key",
    bind_configuration};

static json_t *parameter_value(const char *text, size_t length)
{
    char digits[24];
    if (length < sizeof digits) {
        memcpy(digits, text, length);
        digits[length] = '\0';
        char *end;
        errno = 0;
        long long value = strtoll(digits, &end, 10);
        if (length && !*end && !errno && (isdigit((unsigned char)digits[0]) || digits[0] == '-'))
            return json_integer(value);
    }
    return json_stringn(text, length);
}

// "BLOCK=256 FINISH=cluster" as {"BLOCK":256,"FINISH":"cluster"}. Words without "=" are left out.
static st_code parameters_json(const char *text, st_text *out, st_error *error)
{
    json_t *object = json_object();
    bool ok = object != NULL;
    for (const char *at = text; ok && *at;) {
        size_t length = strcspn(at, " ");
        const char *equals = memchr(at, '=', length);
        char *name = equals ? st_strndup(at, (size_t)(equals - at)) : NULL;
        if (equals)
            ok = name && json_object_set_new(
                             object, name,
                             parameter_value(equals + 1, length - (size_t)(equals + 1 - at))) == 0;
        st_free(name);
        at += length + strspn(at + length, " ");
    }
    if (ok)
        st_json_print(object, out);
    json_decref(object);
    return ok && !out->failed ? ST_OK
                              : st_fail(error, ST_FAILED, "check the values of the configuration",
                                        "the configuration \"%s\" cannot be written as JSON", text);
}

st_code st_store_configuration(st_store *store, const char *family, const char *text, int64_t *key,
                               st_error *error)
{
    char id[ST_HASH_TEXT];
    bool found = false;
    st_text parameters;
    st_text_init(&parameters);
    st_code code = st_configuration_id(family, text, id, error);
    if (code == ST_OK)
        code = find(store, configuration_kind.find_sql, id, configuration_kind.doing, key, &found, error);
    if (code == ST_OK && !found)
        code = parameters_json(text, &parameters, error);
    if (code == ST_OK && !found) {
        st_text_row row = {.family = family, .text = text, .second_text = parameters.data};
        code = insert(store, &configuration_kind, id, &row, key, error);
    }
    st_text_release(&parameters);
    return code;
}
