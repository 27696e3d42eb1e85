// SPDX-License-Identifier: Apache-2.0
// The store as files, whatever their form. Invariants: 1. the store is only read; 2. same rows, same bytes: nothing
// in a file tells when it was made; 3. a T4 or Kernel Tuner file is of one problem on one device.
#include "db/exchange_internal.h"

#include <stdio.h>
#include <string.h>

static st_code nothing(st_store *store, st_error *error)
{
    return st_fail(error, ST_NOTHING, "simtune db info lists the sessions that there are",
                   "the store %s has no session that was asked for", store->path);
}

static st_code count_candidates(st_store *store, size_t *count, st_error *error)
{
    st_statement statement;
    int64_t number = 0;
    st_code code = st_statement_open_once(store, &statement,
                                          "SELECT count(*) FROM temp.chosen h JOIN candidate c ON c.session_key ="
                                          " h.session_key AND c.problem_key IN"
                                          " (SELECT problem_key FROM temp.chosen_problem)",
                                          "exporting", error);
    if (code == ST_OK)
        code = st_statement_number(&statement, &number, NULL, error);
    st_statement_close(&statement);
    *count = (size_t)number;
    return code;
}

static st_code export_other(st_store *store, const st_export_wish *wish, st_exchange_form form, const char *path,
                            st_exported *out, st_error *error)
{
    st_export_rows rows;
    st_sink sink;
    st_code code = st_export_rows_open(store, wish, out, &rows, error);
    if (code != ST_OK)
        return code;
    code = st_sink_open(&sink, path, st_path_is_zipped(path), error);
    if (code == ST_OK)
        code = (form == ST_FORM_T4 ? st_t4_write : st_kernel_tuner_write)(&rows, &sink, error);
    if (code == ST_OK)
        code = st_sink_finish(&sink, error);
    st_sink_release(&sink);
    st_export_rows_release(&rows);
    return code;
}

st_code st_exchange_export(st_store *store, const st_export_wish *wish, st_exchange_form form, const char *path,
                           st_exported *out, st_error *error)
{
    bool reading;
    *out = (st_exported){0};
    st_code code = st_exchange_select(store, wish, &reading, &out->sessions, error);
    if (code != ST_OK)
        return code;
    if (!out->sessions)
        code = nothing(store, error);
    else if (form != ST_FORM_JSONL)
        code = export_other(store, wish, form, path, out, error);
    else if ((code = count_candidates(store, &out->candidates, error)) == ST_OK)
        code = st_history_write(store, path, st_path_is_zipped(path), error);
    st_exchange_unselect(store, reading);
    return code;
}
