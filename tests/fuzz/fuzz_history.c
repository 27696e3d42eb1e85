// SPDX-License-Identifier: Apache-2.0
// History files (db/history_import.c), uncompressed: the reader takes them as they are. A file is imported
// whole or not at all, and importing it again adds nothing.
#include "tests/fuzz/fuzz.h"

#include "db/history_internal.h"
#include "tuner/base/json.h"

#include <string.h>

static st_store *store;

static void must(st_code code, const st_error *error)
{
    FUZZ_MUST(code == ST_OK, "%s", error->what);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    st_error error = {0};
    (void)argc, (void)argv;
    st_json_setup();
    must(st_store_open(":memory:", ST_STORE_WRITE, &store, &error), &error);
    return 0;
}

// Rows of all tables that an import fills.
static int64_t row_count(void)
{
    static const char sql[] =
        "SELECT (SELECT count(*) FROM device) + (SELECT count(*) FROM toolchain) +"
        " (SELECT count(*) FROM template) + (SELECT count(*) FROM problem) +"
        " (SELECT count(*) FROM configuration) + (SELECT count(*) FROM session) +"
        " (SELECT count(*) FROM candidate) + (SELECT count(*) FROM measurement) +"
        " (SELECT count(*) FROM profile) + (SELECT count(*) FROM stall_lines) +"
        " (SELECT count(*) FROM winner)";
    static sqlite3_stmt *statement;
    if (!statement && sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
        fuzz_fail("%s", sqlite3_errmsg(store->db));
    FUZZ_MUST(sqlite3_step(statement) == SQLITE_ROW, "%s", sqlite3_errmsg(store->db));
    int64_t count = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_error error = {0};
    size_t added = 0, again = 0;
    const char *path = fuzz_file(data, size);
    must(st_store_begin(store, &error), &error);
    st_code code = st_history_import(store, path, false, &added, &error);
    if (code) {
        fuzz_check_error(code, &error);
        FUZZ_MUST(strstr(error.what, path), "the message names no file: %s", error.what);
        FUZZ_MUST(row_count() == 0 && !added, "half a file was imported: %s", error.what);
    } else {
        int64_t rows = row_count();
        FUZZ_MUST((size_t)rows >= added, "%zu rows were added, %lld are there", added,
                  (long long)rows);
        code = st_history_import(store, path, false, &again, &error);
        FUZZ_MUST(code == ST_OK, "importing again fails: %s", error.what);
        FUZZ_MUST(!again && row_count() == rows, "importing again added %zu rows", again);
    }
    st_store_rollback(store);
    FUZZ_MUST(row_count() == 0, "the store is not empty again");
    return 0;
}
