// SPDX-License-Identifier: Apache-2.0
// Conditions over a store (simtune query --where and --pareto): what parses must become SQL that SQLite prepares and
// runs to its end, by candidate and by counter with the same rows; what does not parse must say why.
//
// The input: a condition on a line, then terms of --pareto on a line (either may be empty), then a byte of flags:
// 1 best, 2 the two fastest, 4 groups by driver, 8 candidates by outcome, 16 one family.
#include "db/query_internal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/reports/session_fixture.h"
#include "tuner/base/json.h"

#include <stdlib.h>

static st_store *store;
static st_error failure;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fixture_session session;
    st_json_setup();
    if (st_store_open(":memory:", ST_STORE_WRITE, &store, &failure) != ST_OK ||
        fixture_reduce(store, &session, &failure) != ST_OK ||
        fixture_scale(store, "fedcba9876543210fedcba9876543210", "{\"scale.cu\":\"int x;\"}", &session, &failure) != ST_OK)
        fuzz_fail("no store: %s", failure.what);
    return 0;
}

static st_code count_row(void *context, const st_answer *answer, st_error *error)
{
    (void)error;
    ++*(size_t *)context;
    for (size_t i = 0; i < answer->value_count; i++)
        FUZZ_MUST(answer->values[i].name && answer->values[i].name[0], "a value without a name");
    return ST_OK;
}

// The rows of a question without a choice, with the look-ups that `wide` stands for.
static size_t rows_of(const st_query *query, bool wide)
{
    st_question question;
    st_text sql;
    sqlite3_stmt *statement = NULL;
    size_t count = 0;
    st_text_init(&sql);
    st_code code = st_question_read(store, query, &question, &failure);
    question.wide = wide;
    if (code == ST_OK)
        code = st_question_sql(&question, &sql, &failure);
    if (code != ST_OK)
        fuzz_fail("it was read before, and now: %s", failure.what);
    if (sqlite3_prepare_v2(store->db, st_text_string(&sql), -1, &statement, NULL) != SQLITE_OK)
        fuzz_fail("%s: %s", sqlite3_errmsg(store->db), st_text_string(&sql));
    st_statement bound = {.store = store, .statement = statement};
    st_question_bind(&bound, &question);
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
        count++;
    FUZZ_MUST(rc == SQLITE_DONE, "%s: %s", sqlite3_errmsg(store->db), st_text_string(&sql));
    sqlite3_finalize(statement);
    st_text_release(&sql);
    st_question_release(&question);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *where = fuzz_line(&data, &size), *pareto = fuzz_line(&data, &size);
    unsigned flags = size ? *data : 0;
    st_query query = {.cc = -1, .sm_count = -1, .n = -1, .since_ms = -1,
                      .where = where && *where ? where : NULL, .pareto = pareto && *pareto ? pareto : NULL,
                      .best = flags & 1, .top = flags & 2, .per = flags & 4 ? "driver" : NULL,
                      .outcomes = flags & 8 ? "crash,correct" : NULL, .family = flags & 16 ? "scale" : NULL};
    size_t count = 0;
    st_error error = {0};
    st_code code = st_store_query(store, &query, count_row, &count, &error);
    if (code != ST_OK) {
        fuzz_check_error(code, &error);
        FUZZ_MUST(code == ST_USAGE, "not the words, but: %s", error.what);
    } else if (!query.top && !query.per && !query.pareto && !query.best) {
        FUZZ_MUST(rows_of(&query, false) == count, "other rows the second time: %s", where);
        FUZZ_MUST(rows_of(&query, true) == count, "other rows by counter: %s", where);
    }
    free(where);
    free(pareto);
    return 0;
}
