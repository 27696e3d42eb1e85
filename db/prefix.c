// SPDX-License-Identifier: Apache-2.0
// Rows by the beginning of their id, as people type it. Invariant: a prefix that several ids have names none of them.
#include "db/query_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void st_id_prefix(const char *text, char out[ST_HASH_TEXT], bool *valid)
{
    size_t length = strlen(text);
    *valid = length >= 4 && length < ST_HASH_TEXT;
    for (size_t i = 0; i < length && *valid; i++)
        *valid = isxdigit((unsigned char)text[i]) != 0;
    st_lower_case(*valid ? text : "", out, ST_HASH_TEXT);
}

st_code st_key_by_prefix(st_store *store, const char *sql, const char *what, const char *prefix,
                         int64_t *key, st_error *error)
{
    bool valid;
    char id[ST_HASH_TEXT], first[ST_HASH_TEXT] = "", second[ST_HASH_TEXT] = "";
    st_id_prefix(prefix, id, &valid);
    if (!valid)
        return st_fail(error, ST_USAGE,
                       "give 4 to 32 hexadecimal digits of an id, as tables print them",
                       "\"%s\" is not the id of %s %s", prefix, strchr("aeiou", what[0]) ? "an" : "a", what);
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, sql, "looking for an id", error);
    if (code != ST_OK)
        return code;
    st_bind_text(&statement, id);
    bool row;
    code = st_statement_step(&statement, &row, error);
    if (code == ST_OK && row) {
        *key = st_column_int(&statement, 0);
        st_column_copy(&statement, 1, first, sizeof first);
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            st_column_copy(&statement, 1, second, sizeof second);
    }
    st_statement_close(&statement);
    if (code != ST_OK)
        return code;
    if (*second)
        return st_fail(error, ST_USAGE, "give more digits", "several %ss begin with %s: %s, %s …",
                       what, id, first, second);
    return *first ? ST_OK
                  : st_fail(error, ST_NOTHING, "list what there is with simtune query",
                            "the store %s has no %s that begins with %s", store->path, what, id);
}

st_code st_store_candidate_key(st_store *store, const char *id_prefix, int64_t *key,
                               st_error *error)
{
    return st_key_by_prefix(store,
                            "SELECT candidate_key, candidate_id FROM candidate"
                            " WHERE candidate_id >= ?1 AND candidate_id < ?1 || 'g'"
                            " ORDER BY candidate_id LIMIT 2",
                            "candidate", id_prefix, key, error);
}
