// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/exchange_checks.h"

#include "db/store_internal.h"
#include "tuner/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static st_store *store;

static void must(st_code code, const st_error *error)
{
    FUZZ_MUST(code == ST_OK, "%s", error->what);
}

void fuzz_exchange_open(void)
{
    st_error error = {0};
    st_json_setup();
    must(st_store_open(":memory:", ST_STORE_WRITE, &store, &error), &error);
}

static int64_t number(const char *sql, const char *text)
{
    sqlite3_stmt *statement;
    FUZZ_MUST(sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(store->db));
    if (text)
        sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
    FUZZ_MUST(sqlite3_step(statement) == SQLITE_ROW, "%s", sqlite3_errmsg(store->db));
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static int64_t rows(void)
{
    return number("SELECT (SELECT count(*) FROM device) + (SELECT count(*) FROM toolchain) +"
                  " (SELECT count(*) FROM template) + (SELECT count(*) FROM problem) + (SELECT count(*) FROM session) +"
                  " (SELECT count(*) FROM configuration) + (SELECT count(*) FROM candidate) +"
                  " (SELECT count(*) FROM measurement) + (SELECT count(*) FROM profile) + (SELECT count(*) FROM winner)",
                  NULL);
}

// Configurations with their outcomes and times, of one session, as a number.
static int64_t meaning(const char *session)
{
    return number("SELECT ifnull(sum(length(c.configuration) * 31 + unicode(c.outcome) * 7 + c.configuration_key * 1009"
                  " + ifnull(r.sample_count, 0) * 13 + ifnull(CAST(round(log(1 + r.median_ns) * 1000) AS INTEGER), 1)), 0)"
                  " FROM simtune_candidates c LEFT JOIN simtune_results r ON r.candidate_key = c.candidate_key"
                  " WHERE c.session_id = ?1 AND c.outcome <> 'skipped' AND (c.outcome <> 'correct' OR r.median_ns IS NOT NULL)",
                  session);
}

// Out in the same form, in again: another session with the same meaning.
static void round_trip(const st_imported *first, st_exchange_form form)
{
    static char path[64];
    st_error error = {0};
    st_exported out;
    st_imported back;
    const char *const sessions[] = {first->session, NULL};
    const st_export_wish wish = {.sessions = sessions, .n = -1};
    if (!*path)
        snprintf(path, sizeof path, "/tmp/simtune-fuzz-%d.json", (int)getpid());
    st_code code = st_exchange_export(store, &wish, form, path, &out, &error);
    if (code == ST_NOTHING && number("SELECT count(*) FROM simtune_candidates WHERE session_id = ?1 AND outcome <> 'correct'",
                                     first->session) == 0) {
        unlink(path);
        return; // nothing was measured
    }
    FUZZ_MUST(code == ST_OK, "what was taken in does not go out: %s", error.what);
    code = st_exchange_import(store, path, NULL, &back, &error);
    unlink(path);
    FUZZ_MUST(code == ST_OK, "what went out is refused: %s", error.what);
    FUZZ_MUST(back.form == form, "it is taken for another form");
    if (!out.strangers)
        FUZZ_MUST(meaning(first->session) == meaning(back.session), "it comes back as something else");
}

void fuzz_exchange(const void *data, size_t size, st_exchange_form form)
{
    st_error error = {0};
    st_imported done, again;
    const char *path = fuzz_file(data, size);
    must(st_store_begin(store, &error), &error);
    st_code code = st_exchange_import(store, path, NULL, &done, &error);
    if (code) {
        fuzz_check_error(code, &error);
        FUZZ_MUST(strstr(error.what, path) || code == ST_NO_MEMORY, "the message names no file: %s", error.what);
        FUZZ_MUST(*error.remedy, "the message names no remedy: %s", error.what);
        FUZZ_MUST(rows() == 0 && !done.added, "half a file was imported: %s", error.what);
    } else if (done.form != ST_FORM_JSONL) {
        int64_t before = rows();
        code = st_exchange_import(store, path, NULL, &again, &error);
        FUZZ_MUST(code == ST_OK && again.there_already, "importing again fails: %s", error.what);
        FUZZ_MUST(!again.added && rows() == before, "importing again added rows");
        FUZZ_MUST(number("SELECT count(*) FROM device WHERE backend <> 'imported'", NULL) == 0, "a device of ours");
        FUZZ_MUST(number("SELECT count(*) FROM pragma_foreign_key_check", NULL) == 0, "a reference to nothing");
        if (done.form == form)
            round_trip(&done, form);
    }
    st_store_rollback(store);
    FUZZ_MUST(rows() == 0, "the store is not empty again");
}
