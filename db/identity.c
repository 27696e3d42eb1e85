// SPDX-License-Identifier: Apache-2.0
// Whether ids are what they should be: the hash of what a row says (rows.c makes them). Invariant: nothing here
// writes. To add a table whose ids are hashes: a line in `kinds`.
#include "db/upkeep_internal.h"

#include <string.h>

enum { FIELDS_MOST = 5 };

// key, id, then the fields that are hashed, in the order of rows.c.
static const struct {
    const char *table;
    int fields;
    const char *sql;
} kinds[] = {
    {"device", 3, "SELECT device_key, device_id, 'device', uuid, backend FROM device"},
    {"toolchain", 5,
     "SELECT toolchain_key, toolchain_id, 'toolchain', coalesce(driver, ''), coalesce(driver_cuda, -1) || '',"
     " coalesce(compiler, ''), coalesce(tool, '') FROM toolchain"},
    {"problem", 3, "SELECT problem_key, problem_id, 'problem', family, text FROM problem"},
    {"configuration", 3,
     "SELECT configuration_key, configuration_id, 'configuration', family, text FROM configuration"},
    {"candidate", 4,
     "SELECT c.candidate_key, c.candidate_id, 'candidate', s.session_id, p.problem_id, g.configuration_id"
     " FROM candidate c JOIN session s ON s.session_key = c.session_key"
     " JOIN problem p ON p.problem_key = c.problem_key"
     " JOIN configuration g ON g.configuration_key = c.configuration_key"},
};

st_code st_wrong_ids(st_store *store, st_wrong_id_callback *callback, void *context, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && code == ST_OK; i++) {
        st_statement statement;
        code = st_statement_open_once(store, &statement, kinds[i].sql, "checking ids", error);
        for (bool row = true; code == ST_OK && row;) {
            char right[ST_HASH_TEXT];
            const char *fields[FIELDS_MOST];
            code = st_statement_step(&statement, &row, error);
            if (code != ST_OK || !row)
                break;
            for (int f = 0; f < kinds[i].fields; f++)
                fields[f] = st_column_text(&statement, 2 + f);
            code = st_content_id(right, fields, (size_t)kinds[i].fields, error);
            if (code == ST_OK && strcmp(right, st_column_text(&statement, 1)) != 0)
                code = callback(context, kinds[i].table, st_column_int(&statement, 0), st_column_text(&statement, 1),
                                error);
        }
        st_statement_close(&statement);
    }
    return code;
}
