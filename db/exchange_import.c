// SPDX-License-Identifier: Apache-2.0
// Files into the store, whatever their form. Invariants: 1. one transaction a file: all of it or nothing; 2. a
// session that is there is left as it is, so that again adds nothing; 3. the form is seen in the file, never guessed
// from its name.
#include "db/exchange_internal.h"

#include <stdio.h>
#include <string.h>

static st_code session_is_there(st_store *store, const char *id, bool *there, st_error *error)
{
    st_statement statement;
    int64_t key;
    st_code code = st_statement_open(store, &statement, "SELECT session_key FROM session WHERE session_id = ?",
                                     "importing", error);
    if (code == ST_OK) {
        st_bind_text(&statement, id);
        code = st_statement_number(&statement, &key, there, error);
    }
    st_statement_close(&statement);
    return code;
}

static st_code import_other(st_store *store, const char *path, const st_survey *survey, st_imported *out,
                            st_error *error)
{
    const st_sheet *sheet = &survey->sheet;
    out->form = survey->walked.form;
    out->cut = survey->walked.cut;
    out->device_unknown = sheet->device_unknown;
    out->family_of_path = sheet->family_of_path;
    snprintf(out->session, sizeof out->session, "%s", survey->session_id);
    snprintf(out->device, sizeof out->device, "%s", sheet->device);
    snprintf(out->family, sizeof out->family, "%s", sheet->family);
    st_code code = session_is_there(store, survey->session_id, &out->there_already, error);
    if (code != ST_OK || out->there_already)
        return code;
    int before = sqlite3_total_changes(store->db);
    code = st_exchange_store(store, path, survey, out, error);
    out->added = (size_t)(sqlite3_total_changes(store->db) - before);
    return code;
}

st_code st_exchange_import(st_store *store, const char *path, const st_import_wish *wish, st_imported *out,
                           st_error *error)
{
    st_error unheard; // messages are put together in steps
    st_survey survey;
    bool history;
    *out = (st_imported){.form = ST_FORM_JSONL};
    error = error ? error : &unheard;
    st_code code = st_exchange_is_history(path, &history, error);
    if (code != ST_OK)
        return code;
    if (history)
        return st_history_import(store, path, false, &out->added, error);
    code = st_exchange_survey(path, wish, &survey, error);
    if (code != ST_OK)
        return code;
    code = st_store_begin(store, error);
    if (code == ST_OK)
        code = st_store_finish(store, import_other(store, path, &survey, out, error), error);
    st_survey_release(&survey);
    if (code != ST_OK)
        *out = (st_imported){.form = out->form};
    return code;
}
