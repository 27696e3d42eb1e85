// SPDX-License-Identifier: Apache-2.0
// What a word means. Invariants: 1. only what the store holds is a meaning; 2. within a kind what is named whole
// hides what is named in part; 3. kinds are tried in the order of st_side_kind, and each gives at most 9.
#include "db/compare_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MEANINGS = 9 };

// "reduce on NVIDIA H200, 2026-11-30T09:20:43Z"
#define SESSION_ABOUT                                                                                                  \
    "s.family || ' on ' || d.name || strftime(', %Y-%m-%dT%H:%M:%SZ', coalesce(s.finished_ms, s.started_ms) / 1000,"  \
    " 'unixepoch')"
// What was measured with a toolchain last.
#define LAST_OF(column)                                                                                                \
    " FROM toolchain t LEFT JOIN session s ON s.toolchain_key = t.toolchain_key WHERE t." column " IS NOT NULL"

// One row a kind. `matching`: value, about, whether it is named whole; ?1 the word in lower case, ?2 as typed.
// `all`: value, about; newest first.
static const struct {
    const char *name;
    bool hexadecimal; // the word must be 4 to 32 such digits
    const char *matching, *all;
} kinds[ST_SIDE_KINDS] = {
    [ST_SIDE_SESSION] = {"session", true,
        "SELECT s.session_id, " SESSION_ABOUT ", length(?1) = 32 FROM session s JOIN device d USING (device_key)"
        " WHERE s.session_id >= ?1 AND s.session_id < ?1 || 'g' ORDER BY s.session_id LIMIT 9",
        "SELECT s.session_id, " SESSION_ABOUT " FROM session s JOIN device d USING (device_key)"
        " WHERE s.status <> 'running' ORDER BY s.finished_ms DESC, s.session_id DESC"},
    [ST_SIDE_CANDIDATE] = {"candidate", true,
        "SELECT c.candidate_id, p.family || ' ' || p.text, length(?1) = 32 FROM candidate c JOIN problem p"
        " USING (problem_key) WHERE c.candidate_id >= ?1 AND c.candidate_id < ?1 || 'g'"
        " ORDER BY c.candidate_id LIMIT 9",
        "SELECT candidate_id, '' FROM candidate WHERE 0"}, // nobody wants a million
    [ST_SIDE_TEMPLATE] = {"template", false,
        "SELECT hash, family, hash = ?1 FROM template WHERE length(?1) >= 4 AND substr(hash, 1, length(?1)) = ?1"
        " ORDER BY hash LIMIT 9",
        "SELECT e.hash, e.family FROM template e LEFT JOIN session s USING (template_key)"
        " GROUP BY e.template_key ORDER BY max(s.started_ms) DESC, e.hash"},
    [ST_SIDE_DEVICE] = {"device", false,
        "SELECT name, '', max(lower(name) = ?1) FROM device WHERE length(?1) >= 2 AND instr(lower(name), ?1) > 0"
        " GROUP BY name UNION ALL"
        " SELECT uuid, name, lower(uuid) = ?1 FROM device WHERE length(?1) >= 8"
        "  AND substr(lower(uuid), 1, length(?1)) = ?1 ORDER BY 1 LIMIT 9",
        "SELECT d.name, '' FROM device d LEFT JOIN session s USING (device_key) GROUP BY d.name"
        " ORDER BY max(s.started_ms) DESC, d.name"},
    [ST_SIDE_DRIVER] = {"driver", false,
        "SELECT DISTINCT driver, '', driver = ?2 FROM toolchain WHERE driver = ?2"
        " OR substr(driver, 1, length(?2) + 1) = ?2 || '.' ORDER BY driver LIMIT 9",
        "SELECT t.driver, ''" LAST_OF("driver") " GROUP BY t.driver ORDER BY max(s.started_ms) DESC, t.driver"},
    [ST_SIDE_COMPILER] = {"compiler", false,
        "SELECT DISTINCT compiler, '', compiler = ?2 FROM toolchain WHERE compiler = ?2"
        " OR (instr(compiler, ' ') AND substr(compiler, instr(compiler, ' ') + 1) = ?2) ORDER BY compiler LIMIT 9",
        "SELECT t.compiler, ''" LAST_OF("compiler") " GROUP BY t.compiler ORDER BY max(s.started_ms) DESC, t.compiler"},
    [ST_SIDE_TOOL] = {"tool", false,
        "SELECT DISTINCT tool, 'simtune', 1 FROM toolchain WHERE tool = ?2 OR 'simtune ' || tool = ?2 ORDER BY tool"
        " LIMIT 9",
        "SELECT t.tool, 'simtune'" LAST_OF("tool") " GROUP BY t.tool ORDER BY max(s.started_ms) DESC, t.tool"},
};

const char *st_side_kind_name(st_side_kind kind)
{
    return kinds[kind].name;
}

int st_side_kind_find(const char *name)
{
    for (int kind = 0; kind < ST_SIDE_KINDS; kind++)
        if (strcmp(kinds[kind].name, name) == 0)
            return kind;
    return -1;
}

typedef struct found {
    char value[160], about[320];
    bool whole;
} found;

static st_code list(st_store *store, st_side_kind kind, const char *lower, const char *word, found *out, size_t *count,
                    st_error *error)
{
    st_statement statement;
    *count = 0;
    st_code code = st_statement_open_once(store, &statement, kinds[kind].matching, "looking for a word", error);
    if (code != ST_OK)
        return code;
    bool second = strstr(kinds[kind].matching, "?2") != NULL;
    if (second)
        statement.bound = 1;
    st_bind_text(&statement, second ? word : lower);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row || *count == MEANINGS)
            break;
        st_column_copy(&statement, 0, out[*count].value, sizeof out->value);
        st_column_copy(&statement, 1, out[*count].about, sizeof out->about);
        out[(*count)++].whole = st_column_int(&statement, 2) == 1;
    }
    st_statement_close(&statement);
    return code;
}

// As st_id_prefix has it.
static bool is_hexadecimal(const char *word)
{
    char id[ST_HASH_TEXT];
    bool valid;
    st_id_prefix(word, id, &valid);
    return valid;
}

st_code st_store_meanings(st_store *store, const char *word, st_meaning_callback *callback, void *context,
                          st_error *error)
{
    char lower[128];
    if (strlen(word) >= sizeof lower) // nothing has such a name
        return ST_OK;
    for (size_t i = 0; i <= strlen(word); i++)
        lower[i] = (char)tolower((unsigned char)word[i]);
    st_code code = ST_OK;
    for (int kind = 0; kind < ST_SIDE_KINDS && code == ST_OK; kind++) {
        found all[MEANINGS];
        size_t count;
        bool whole = false;
        if (kinds[kind].hexadecimal && !is_hexadecimal(word))
            continue;
        code = list(store, (st_side_kind)kind, lower, word, all, &count, error);
        for (size_t i = 0; i < count; i++)
            whole = whole || all[i].whole;
        for (size_t i = 0; i < count && code == ST_OK; i++) {
            st_meaning meaning = {(st_side_kind)kind, all[i].value, all[i].about};
            if (!whole || all[i].whole)
                code = callback(context, &meaning, error);
        }
    }
    return code;
}

st_code st_store_values(st_store *store, st_side_kind kind, size_t limit, st_meaning_callback *callback,
                        void *context, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, kinds[kind].all, "listing what is known", error);
    if (code != ST_OK)
        return code;
    for (bool row = true; code == ST_OK && row && limit; limit--) {
        code = st_statement_step(&statement, &row, error);
        st_meaning meaning = {kind, st_column_text(&statement, 0), st_column_text(&statement, 1)};
        if (code == ST_OK && row)
            code = callback(context, &meaning, error);
    }
    st_statement_close(&statement);
    return code;
}
