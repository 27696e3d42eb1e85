// SPDX-License-Identifier: Apache-2.0
// What the SQL of questions calls. Invariants: 1. no function fails: what has no value is NULL (but for
// simtune_query_comparable, which reads the store); 2. all are deterministic, so SQLite may call them once for what
// stays the same.
#include "db/query_internal.h"

#include "tuner/base/memory.h"

#include <string.h>

// Plain decimals, as rows.c writes them into the JSON of parameters.
bool st_query_whole_number(const char *text, size_t length, int64_t *number)
{
    char digits[24];
    if (!length || length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    size_t sign = digits[0] == '-';
    return digits[sign] && !digits[sign + strspn(digits + sign, "0123456789")] && st_text_to_int(digits, number);
}

static st_query_value value_of(sqlite3_value *value)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return (st_query_value){ST_VALUE_INTEGER, sqlite3_value_int64(value), 0};
    case SQLITE_FLOAT:
        return (st_query_value){ST_VALUE_REAL, 0, sqlite3_value_double(value)};
    default:
        return (st_query_value){ST_VALUE_UNKNOWN, 0, 0};
    }
}

static void call(sqlite3_context *context, int count, sqlite3_value **values)
{
    const st_query_function *function = sqlite3_user_data(context);
    st_query_value a = value_of(values[0]), b = count > 1 ? value_of(values[1]) : a;
    st_query_value result = function->call(a, b);
    if (result.kind == ST_VALUE_INTEGER)
        sqlite3_result_int64(context, result.integer);
    else if (result.kind == ST_VALUE_REAL)
        sqlite3_result_double(context, result.real);
}

// simtune_query_axis("T=f32 n=1024", "n"): 1024. NULL when there is no such pair.
static void call_axis(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    const char *text = (const char *)sqlite3_value_text(values[0]);
    const char *name = (const char *)sqlite3_value_text(values[1]);
    size_t wanted = name ? strlen(name) : 0;
    for (; text && name && *(text += strspn(text, " ")); text += strcspn(text, " ")) {
        size_t length = strcspn(text, " ");
        if (strncmp(text, name, wanted) != 0 || text[wanted] != '=' || wanted >= length)
            continue;
        int64_t number;
        size_t size = length - wanted - 1;
        if (st_query_whole_number(text + wanted + 1, size, &number))
            sqlite3_result_int64(context, number);
        else
            sqlite3_result_text(context, text + wanted + 1, (int)size, SQLITE_TRANSIENT);
        return;
    }
}

// simtune_query_version("580.159.04"): a key that orders versions.
static void call_version(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    const char *text = (const char *)sqlite3_value_text(values[0]);
    if (!text)
        return;
    int64_t key = 0;
    for (int part = 0; part < 4; part++) {
        int64_t number = 0;
        text += strcspn(text, "0123456789");
        for (; *text >= '0' && *text <= '9'; text++)
            number = number < 99999 ? number * 10 + (*text - '0') : 99999;
        key = key * 32768 + (number < 32768 ? number : 32767);
    }
    sqlite3_result_int64(context, key);
}

static st_code define(st_store *store, const char *name, int count, const void *data,
                      void (*function)(sqlite3_context *, int, sqlite3_value **), st_error *error)
{
    int rc = st_fault_here(ST_FAULT_SQLITE)
                 ? SQLITE_NOMEM
                 : sqlite3_create_function_v2(store->db, name, count,
                                              SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                              (void *)(uintptr_t)data, function, NULL, NULL, NULL);
    return rc == SQLITE_OK ? ST_OK : st_store_fail(store, rc, "asking it", error);
}

st_code st_query_functions(st_store *store, st_error *error)
{
    if (store->has_query_functions)
        return ST_OK;
    const st_query_function *rows;
    size_t count = st_expression_query_functions(&rows);
    st_code code = define(store, "simtune_query_axis", 2, NULL, call_axis, error);
    if (code == ST_OK)
        code = define(store, "simtune_query_version", 1, NULL, call_version, error);
    if (code == ST_OK)
        code = define(store, "simtune_query_comparable", 6, store, st_query_call_comparable, error);
    for (size_t i = 0; i < count && code == ST_OK; i++)
        code = define(store, rows[i].name, rows[i].argument_count, &rows[i], call, error);
    store->has_query_functions = code == ST_OK;
    return code;
}
