// SPDX-License-Identifier: Apache-2.0
// The store's life and its transactions. Invariants:
// 1. A store that st_store_open returns has the current schema: the file's own, or (older, opened for
//    reading) that of a migrated copy in memory. Newer and foreign files were refused untouched.
// 2. All writing happens between st_store_begin and its end; the outermost begin takes SQLite's write
//    lock (BEGIN IMMEDIATE), so waiting for others happens there and nowhere else.
// 3. A nested begin joins: what it wrote becomes durable with the outermost commit, and an inner rollback
//    undoes the inner part only. A commit that failed has rolled back; it needs no rollback after it.
// 4. Where damage was met, or is seen before the file is opened (glance.c), nothing is written any more: a transaction
//    that met it is rolled back, and no other begins.
// 5. When SQLite has rolled back by itself (disk full, I/O error), the rest of the transaction is refused,
//    so that half of a candidate is never committed.
//
// States of a transaction:    begin            begin
//                      none ───────► outermost ───────► nested (savepoints, depth > 1)
//                       ▲  commit or   │  ▲   commit or    │
//                       └── rollback ──┘  └── rollback ────┘
//   doomed: an inner rollback itself failed; the outermost commit then rolls back and fails.
#include "db/store_internal.h"

#include "tuner/base/memory.h"
#include "tuner/base/paths.h"

#include <string.h>
#include <unistd.h>

// --- opening -----------------------------------------------------------------------------------------------
static st_code set_path(st_store *store, const char *path, st_error *error)
{
    if (path && !*path)
        return st_fail(error, ST_USAGE, "name a file: --db FILE", "the store's path is empty");
    st_text text;
    st_text_init(&text);
    st_code code = ST_OK;
    if (path) {
        st_text_add(&text, path);
    } else {
        code = st_paths_data(&text, error);
        st_text_add(&text, "/history.db");
    }
    if (code == ST_OK && text.failed)
        code = st_fail_memory(error, "opening the store");
    if (code == ST_OK && !(store->path = st_text_take(&text)))
        code = st_fail_memory(error, "opening the store");
    st_text_release(&text);
    return code;
}

static st_code configure(st_store *store, st_error *error)
{
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    // Committed data survive the end of the process in any case; with NORMAL a power cut may cost the
    // last transactions, never the file.
    return st_script_run(store,
                         "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;"
                         "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32000;",
                         "setting up", error);
}

static st_code check_suspicion(st_store *store, st_error *error)
{
    bool damaged = false;
    st_code code = st_glance_locked(store, &damaged, error);
    if (code == ST_OK && damaged)
        code = st_fail(error, ST_DAMAGED, st_damage_remedy,
                       "the store %s is damaged (inner pages or the list of free pages), so nothing is written to it",
                       store->path);
    return code;
}

static st_code open_to_write(st_store *store, const st_store_options *options, st_error *error)
{
    st_schema_state state;
    st_code code = st_open_for_writing(store, error);
    if (code != ST_OK)
        return code;
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); // until it is ours
    code = configure(store, error);
    if (code == ST_OK && store->suspect)
        code = check_suspicion(store, error);
    if (code == ST_OK)
        code = st_migrations_state(store, options->migrations, options->migration_count, &state,
                                   error);
    if (code != ST_OK)
        return code;
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    code = st_locking_choose_journal(store, error);
    if (code == ST_OK && state != ST_SCHEMA_CURRENT)
        code = st_migrations_run(store, options->migrations, options->migration_count, error);
    return code;
}

static st_code open_to_read(st_store *store, const st_store_options *options, st_error *error)
{
    st_schema_state state;
    bool in_memory = strcmp(store->path, ":memory:") == 0;
    st_code code =
        in_memory ? st_open_for_writing(store, error) : st_open_for_reading(store, error);
    if (code == ST_OK)
        code = st_migrations_state(store, options->migrations, options->migration_count, &state,
                                   error);
    if (code == ST_OK && state != ST_SCHEMA_CURRENT && !in_memory) {
        // Cached statements belong to the connection that the copy replaces.
        for (size_t i = 0; i < store->cached_count; i++)
            sqlite3_finalize(store->cached[i].statement);
        store->cached_count = 0;
        code = st_open_copy_in_memory(store, error);
    }
    if (code == ST_OK)
        code = configure(store, error);
    if (code == ST_OK && state != ST_SCHEMA_CURRENT)
        code = st_migrations_run(store, options->migrations, options->migration_count, error);
    if (code == ST_OK)
        code = st_script_run(store, "PRAGMA query_only = ON", "setting up", error);
    return code;
}

// What can be said before SQLite opens the file.
static st_code look_first(st_store *store, const st_store_options *options, st_error *error)
{
    st_file_look look;
    if (strcmp(store->path, ":memory:") == 0)
        return ST_OK;
    st_code code = st_file_look_at(store->path, &look, error);
    if (code != ST_OK)
        return code;
    if (!look.exists && store->mode == ST_STORE_READ)
        return st_fail(error, ST_NOTHING,
                       "tune something first (simtune reduce), or name a store with --db",
                       "there is no store at %s", store->path);
    int known = options->migrations[options->migration_count - 1].number;
    if (look.exists && look.user_version > known)
        return st_migrations_newer(store->path, look.user_version, known, error);
    if (store->mode == ST_STORE_WRITE && look.exists && !look.empty && !look.is_open)
        return st_glance(store->path, 2, &store->suspect, error);
    return ST_OK;
}

st_code st_store_open_with(const char *path, st_store_mode mode, const st_store_options *options,
                           st_store **out, st_error *error)
{
    return st_store_open_as(path, mode, options, false, out, error);
}

st_code st_store_open_as(const char *path, st_store_mode mode, const st_store_options *options, bool aside,
                         st_store **out, st_error *error)
{
    *out = NULL;
    st_store *store = st_calloc(1, sizeof *store);
    if (!store)
        return st_fail_memory(error, "opening the store");
    store->mode = mode;
    store->patience_ms = options->patience_ms;
    st_waiting_begin(store);
    st_code code = set_path(store, path, error);
    if (code == ST_OK)
        code = look_first(store, options, error);
    if (code == ST_OK && aside)
        code = st_aside_name(store, error);
    if (code == ST_OK)
        code = mode == ST_STORE_WRITE ? open_to_write(store, options, error)
                                      : open_to_read(store, options, error);
    if (code == ST_OK)
        *out = store;
    else
        st_store_close(store);
    return code;
}

st_code st_store_open(const char *path, st_store_mode mode, st_store **out, st_error *error)
{
    st_store_options options = {.migrations = st_migrations, .migration_count = st_migration_count};
    *out = NULL;
    st_code code = st_waiting_patience(&options.patience_ms, error);
    if (code != ST_OK)
        return code;
    return st_store_open_with(path, mode, &options, out, error);
}

void st_store_close(st_store *store)
{
    if (!store)
        return;
    while (store->depth > 0)
        st_store_rollback(store);
    for (size_t i = 0; i < store->cached_count; i++)
        sqlite3_finalize(store->cached[i].statement);
    st_query_scales_forget(store);
    sqlite3_close(store->db);
    if (store->kept_fd >= 0)
        close(store->kept_fd);
    if (store->aside)
        st_store_remove(store->aside);
    st_claims_close(store); // after it: what the session wrote is in the file before another takes it up
    st_locking_closed(store);
    st_free(store->aside);
    st_free(store->path);
    st_free(store);
}

const char *st_store_path(const st_store *store)
{
    return store->path;
}

st_code st_store_hurry(st_store *store, st_error *error)
{
    int rc = sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    if (rc != SQLITE_OK)
        return st_store_fail(store, rc, "setting up", error);
    return st_script_run(store,
                         "PRAGMA synchronous = OFF; PRAGMA cache_size = -128000; PRAGMA foreign_keys = OFF;"
                         " PRAGMA ignore_check_constraints = ON",
                         "setting up", error);
}

// --- transactions ------------------------------------------------------------------------------------------
static bool rolled_back_by_itself(const st_store *store)
{
    return store->depth > 0 && sqlite3_get_autocommit(store->db);
}

static st_code gone(const st_store *store, st_error *error)
{
    return st_fail(error, ST_FAILED, "see the first error; run the same command again",
                   "the store %s: the transaction was rolled back after an earlier error",
                   store->path);
}

static st_code refuse_damaged(const st_store *store, st_error *error)
{
    return st_fail(error, ST_DAMAGED, st_damage_remedy, "the store %s is damaged, so nothing more is written to it",
                   store->path);
}

st_code st_store_begin(st_store *store, st_error *error)
{
    if (store->mode == ST_STORE_READ)
        return st_fail(error, ST_FAILED, "this is a fault of the program",
                       "the store %s was opened for reading only", store->path);
    if (store->damaged)
        return refuse_damaged(store, error);
    if (rolled_back_by_itself(store))
        return gone(store, error);
    if (store->whole_from && store->depth >= store->whole_from) {
        store->depth++;
        return ST_OK;
    }
    st_code code = store->depth == 0
                       ? st_statement_do(store, "BEGIN IMMEDIATE", "beginning to write", error)
                       : st_statement_do(store, "SAVEPOINT step", "beginning to write", error);
    if (code != ST_OK)
        return code;
    if (store->depth++ == 0 && (code = st_locking_check(store, error)) != ST_OK)
        st_store_rollback(store);
    return code;
}

// True when the undoing succeeded. Tried twice: undoing needs no room and hardly fails.
static bool undo(st_store *store, const char *sql)
{
    return st_statement_do(store, sql, "rolling back", NULL) == ST_OK ||
           st_statement_do(store, sql, "rolling back", NULL) == ST_OK;
}

void st_store_rollback(st_store *store)
{
    if (store->depth == 0)
        return;
    bool by_itself = rolled_back_by_itself(store);
    store->depth--;
    if (store->whole_from && store->depth >= store->whole_from) {
        store->whole_failed = true;
    } else if (store->depth == 0) {
        store->doomed = false;
        if (!by_itself)
            undo(store, "ROLLBACK");
    } else if (!by_itself) {
        if (!undo(store, "ROLLBACK TO step") || !undo(store, "RELEASE step"))
            store->doomed = true;
    }
}

st_code st_store_commit(st_store *store, st_error *error)
{
    if (store->depth == 0)
        return st_fail(error, ST_FAILED, "this is a fault of the program",
                       "the store %s: commit without a transaction", store->path);
    st_code code = ST_OK;
    if (store->damaged)
        code = refuse_damaged(store, error);
    else if (rolled_back_by_itself(store) || (store->doomed && store->depth == 1))
        code = gone(store, error);
    else if (store->whole_from && store->depth > store->whole_from)
        code = store->whole_failed ? gone(store, error) : ST_OK;
    else if (store->depth == 1) {
        code = st_locking_check(store, error);
        if (code == ST_OK)
            code = st_statement_do(store, "COMMIT", "committing", error);
    } else
        code = st_statement_do(store, "RELEASE step", "committing", error);
    if (code == ST_OK)
        store->depth--;
    else
        st_store_rollback(store);
    return code;
}

void st_store_whole_begin(st_store *store)
{
    store->whole_from = store->depth;
    store->whole_failed = false;
}

void st_store_whole_end(st_store *store)
{
    store->whole_from = 0;
}

st_code st_store_finish(st_store *store, st_code code, st_error *error)
{
    if (code == ST_OK)
        return st_store_commit(store, error);
    st_store_rollback(store);
    return code;
}
