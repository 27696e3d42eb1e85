// SPDX-License-Identifier: Apache-2.0
// A store large enough that its tables have several pages, and ways to damage the file.
#ifndef SIMTUNE_TESTS_DB_DAMAGE_H
#define SIMTUNE_TESTS_DB_DAMAGE_H

#include "tests/unit/db/fixture.h"

#include "db/upkeep_internal.h"

#include <fcntl.h>

enum { BIG_CANDIDATES = 110 };

// Two sessions over two problems with a winner and a final each; a template whose text needs more than a page.
SHARED void make_big_store(const char *path)
{
    st_error error = {0};
    st_store *store = open_store(path, ST_STORE_WRITE);
    int64_t problem = 0, candidate = 0, key;
    char *text = st_malloc(20000);
    assert_non_null(text);
    memset(text, 'x', 20000);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + 19997, "\"}", 3);
    assert_ok(st_store_template(store, "reduce", "hash-of-reduce", text, &key, &error), error);
    st_free(text);
    for (int s = 0; s < 2; s++) {
        st_session_row session;
        double samples[40];
        assert_ok(add_session(store, "reduce", s ? "GPU-2" : "GPU-1", "580", &session, &error), error);
        assert_ok(st_store_begin(store, &error), error);
        for (int i = 0; i < BIG_CANDIDATES / 2; i++) {
            char configuration[64];
            snprintf(configuration, sizeof configuration, "BLOCK=%d VEC=%d UNROLL=4 ACC=%d", 32 * i, 1 + i % 8, i);
            assert_ok(add_candidate(store, &session, 1024 << (i % 2), configuration, 100.25 + i, &problem,
                                    &candidate, &error), error);
            for (int k = 0; k < 40; k++)
                samples[k] = 100.125 + i + k / 64.0;
            st_measurement_row m = some_measurement(candidate, "finals", 0, "cold", samples, 40);
            assert_ok(st_store_measurement(store, &m, &error), error);
        }
        st_winner_row winner = some_winner(session.key, problem, candidate, 9);
        assert_ok(st_store_winner(store, &winner, &error), error);
        assert_ok(st_store_commit(store, &error), error);
        assert_ok(st_store_session_end(store, session.key, ST_SESSION_FINISHED, "{}", &error), error);
        char sql[160];
        snprintf(sql, sizeof sql, "INSERT INTO baseline VALUES (%lld, 1764000000000, 'before the update')",
                 (long long)session.key);
        assert_ok(st_script_run(store, sql, "marking", &error), error);
    }
    st_store_close(store);
}

SHARED size_t read_bytes(const char *path, unsigned char **out)
{
    st_text text;
    st_text_init(&text);
    assert_int_equal(st_text_read_file(&text, path, NULL), ST_OK);
    size_t length = text.length;
    *out = (unsigned char *)st_text_take(&text);
    return length;
}

SHARED void write_bytes(const char *path, const unsigned char *bytes, size_t length)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, length), (ssize_t)length);
    close(file);
}

// Rows of `store` that the store at `path` has not, over all tables.
SHARED int64_t rows_not_in(st_store *store, const char *path)
{
    st_table tables[ST_TABLES_MOST];
    size_t count;
    st_error error = {0};
    char sql[512];
    int64_t found = 0;
    snprintf(sql, sizeof sql, "ATTACH '%.300s' AS original", path);
    assert_int_equal(sqlite3_exec(store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_ok(st_tables_of(store, tables, &count, &error), error);
    for (size_t i = 0; i < count; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM (SELECT * FROM main.\"%.31s\" EXCEPT SELECT * FROM original.\"%.31s\")",
                 tables[i].name, tables[i].name);
        found += number(store, sql);
    }
    assert_int_equal(sqlite3_exec(store->db, "DETACH original", NULL, NULL, NULL), SQLITE_OK);
    return found;
}

#endif
