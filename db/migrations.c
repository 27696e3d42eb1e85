// SPDX-License-Identifier: Apache-2.0
// The schema's versions. Invariants: 1. the version is SQLite's user_version, and equals the number of the
// last migration that ran; 2. all migrations that a file needs run in one transaction: a file has an old
// version or the newest, never one between; 3. a file of a newer version is refused untouched.
//
// To change the schema: never edit a script that was released (a test knows their hashes). Add a file
// schema_N.c, a row with the next number here, a kept store of the version before with its row in
// tests/unit/db/test_kept_stores.c, and a line in docs/store.md. Views are dropped and made anew by the migration that changes them.
// Foreign keys are off while migrations run, so a table may be rebuilt (make the new one, copy, drop the
// old one, rename); they are checked before the commit.
#include "db/store_internal.h"

#include <stdio.h>

static const char *const first_schema[] = {st_schema_1_tables, st_schema_1_views, NULL};
static const char *const second_schema[] = {st_schema_2_tables, st_schema_2_views, NULL};

const st_migration st_migrations[] = {
    {1, "first schema", first_schema},
    {2, "baselines and acknowledgements", second_schema},
};
const size_t st_migration_count = sizeof st_migrations / sizeof *st_migrations;

st_code st_migrations_newer(const char *path, int version, int known, st_error *error)
{
    return st_fail(
        error, ST_FAILED,
        "use the newer simtune that wrote it, or name another store with --db; this one was "
        "left as it is",
        "the store %s has schema version %d; this simtune knows versions up to %d", path, version,
        known);
}

static st_code ask(st_store *store, const char *sql, int64_t *value, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open(store, &statement, sql, "reading its version", error);
    if (code == ST_OK)
        code = st_statement_number(&statement, value, NULL, error);
    st_statement_close(&statement);
    return code;
}

st_code st_migrations_state(st_store *store, const st_migration *migrations, size_t count,
                            st_schema_state *state, st_error *error)
{
    int64_t version = 0, application = 0, objects = 0;
    st_code code = ask(store, "PRAGMA user_version", &version, error);
    if (code == ST_OK)
        code = ask(store, "PRAGMA application_id", &application, error);
    if (code == ST_OK)
        code = ask(store, "SELECT count(*) FROM sqlite_schema", &objects, error);
    if (code != ST_OK)
        return code;
    if (version == 0 && application == 0 && objects == 0) {
        *state = ST_SCHEMA_EMPTY;
        return ST_OK;
    }
    if (application != ST_APPLICATION_ID)
        return st_fail(error, ST_FAILED, "name another file with --db",
                       "%s is an SQLite database of another program, not a simtune store",
                       store->path);
    int known = migrations[count - 1].number;
    if (version > known)
        return st_migrations_newer(store->path, (int)version, known, error);
    *state = version == known ? ST_SCHEMA_CURRENT : ST_SCHEMA_OLDER;
    return ST_OK;
}

static st_code stamp(st_store *store, int version, st_error *error)
{
    char sql[96];
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d; PRAGMA application_id = %d;", version,
             ST_APPLICATION_ID);
    return st_script_run(store, sql, "writing its version", error);
}

static st_code check_references(st_store *store, st_error *error)
{
    st_statement statement;
    bool broken = false;
    st_code code = st_statement_open_once(store, &statement, "PRAGMA foreign_key_check",
                                          "checking references", error);
    if (code == ST_OK)
        code = st_statement_step(&statement, &broken, error);
    if (code == ST_OK && broken)
        code = st_fail(error, ST_FAILED, "restore the store from a copy; it was left as it was",
                       "the store %s: a row of %s refers to a row that is not there", store->path,
                       st_column_text(&statement, 0));
    st_statement_close(&statement);
    return code;
}

static st_code run_from(st_store *store, const st_migration *migrations, size_t count,
                        int64_t version, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        if (migrations[i].number <= version)
            continue;
        for (const char *const *script = migrations[i].scripts; *script && code == ST_OK; script++)
            code = st_script_run(store, *script, "migrating it", error);
        if (code == ST_OK)
            code = stamp(store, migrations[i].number, error);
        if (code != ST_OK)
            st_error_prefix(error, "migration %d (%s)", migrations[i].number, migrations[i].name);
    }
    return code == ST_OK ? check_references(store, error) : code;
}

st_code st_migrations_run(st_store *store, const st_migration *migrations, size_t count,
                          st_error *error)
{
    st_store_mode mode = store->mode;
    store->mode = ST_STORE_WRITE; // also for the copy in memory that a reader gets
    st_schema_state state = ST_SCHEMA_EMPTY;
    int64_t version = 0;
    st_code code = st_script_run(store, "PRAGMA foreign_keys = OFF", "migrating it", error);
    if (code == ST_OK)
        code = st_store_begin(store, error);
    if (code == ST_OK) {
        // Another process may have migrated while this one waited for the lock.
        code = st_migrations_state(store, migrations, count, &state, error);
        if (code == ST_OK)
            code = ask(store, "PRAGMA user_version", &version, error);
        if (code == ST_OK && state != ST_SCHEMA_CURRENT)
            code = run_from(store, migrations, count, version, error);
        code = st_store_finish(store, code, error);
    }
    if (code == ST_OK)
        code = st_script_run(store, "PRAGMA foreign_keys = ON", "migrating it", error);
    store->mode = mode;
    return code;
}
