// SPDX-License-Identifier: Apache-2.0
// Copies and vacuum. Invariants: 1. a copy is read in one read transaction, so it is of one moment, and no writer
// waits for it; 2. it is made beside its final name, checked, synced, and only then renamed; what stood there
// before stays until then; 3. vacuum runs on a store that was checked just before, since rewriting damaged pages
// could lose what can still be read.
#include "db/backup.h"

#include "db/upkeep_internal.h"
#include "tuner/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGES_AT_ONCE = 4096 };
static const char doing[] = "copying it";

// --- the source --------------------------------------------------------------------------------------------
// As st_store_open for reading does it, but an older version stays as it is.
static st_code open_source(const char *path, st_store **out, st_error *error)
{
    st_file_look look;
    st_schema_state state;
    *out = NULL;
    st_code code = st_file_look_at(path, &look, error);
    if (code == ST_OK && !look.exists)
        code = st_fail(error, ST_NOTHING, "check its name", "there is no store at %s", path);
    if (code != ST_OK)
        return code;
    st_store *store = st_calloc(1, sizeof *store);
    if (!store || !(store->path = st_strdup(path))) {
        st_free(store);
        return st_fail_memory(error, "opening the store");
    }
    store->mode = ST_STORE_READ;
    st_waiting_begin(store);
    code = st_waiting_patience(&store->patience_ms, error);
    if (code == ST_OK)
        code = st_open_for_reading(store, error);
    if (code == ST_OK)
        code = st_migrations_state(store, st_migrations, st_migration_count, &state, error);
    if (code == ST_OK)
        *out = store;
    else
        st_store_close(store);
    return code;
}

// --- copying -----------------------------------------------------------------------------------------------
static st_code copy_pages(st_store *from, sqlite3 *to, st_error *error)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from->db, "main");
    int rc = backup ? SQLITE_OK : sqlite3_errcode(to);
    while (rc == SQLITE_OK)
        rc = st_fault_here(ST_FAULT_SQLITE) ? SQLITE_IOERR : sqlite3_backup_step(backup, PAGES_AT_ONCE);
    if (backup)
        sqlite3_backup_finish(backup);
    return rc == SQLITE_DONE ? ST_OK : st_store_fail(from, rc, doing, error);
}

// The copy is one file that needs no -wal beside it.
static st_code check_copy(const st_store *from, sqlite3 *db, const char *target, st_error *error)
{
    st_store copy = {.db = db, .path = (char *)(uintptr_t)target, .mode = ST_STORE_WRITE};
    st_statement statement;
    char words[120] = "";
    bool row = false;
    st_code code = st_script_run(&copy, "PRAGMA journal_mode = DELETE", doing, error);
    if (code == ST_OK)
        code = st_statement_open_once(&copy, &statement, "PRAGMA quick_check(1)", "checking the copy", error);
    if (code != ST_OK)
        return code;
    code = st_statement_step(&statement, &row, error);
    if (code == ST_OK && row) { // "*** in database main ***", then what is wrong
        const char *text = st_column_text(&statement, 0), *last = strrchr(text, '\n');
        snprintf(words, sizeof words, "%s", last ? last + 1 : text);
    }
    st_statement_close(&statement);
    if (code == ST_OK && strcmp(words, "ok") != 0)
        code = st_fail(error, ST_DAMAGED, "simtune db check says what is damaged; simtune db export saves what can be "
                                          "read",
                       "the store %s is damaged (%s), so it was not copied", from->path, words);
    return code;
}

static st_code copy_to(st_store *from, const char *target, st_error *error)
{
    sqlite3 *to = NULL;
    int rc = st_fault_here(ST_FAULT_SQLITE) ? SQLITE_CANTOPEN
                                            : sqlite3_open_v2(target, &to,
                                                              SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                                                  SQLITE_OPEN_NOMUTEX, NULL);
    st_code code = ST_OK;
    if (rc != SQLITE_OK)
        code = st_fail(error, ST_FAILED, "choose a folder that can be written", "cannot write the copy %s: %s", target,
                       sqlite3_errstr(rc));
    if (code == ST_OK) // one moment for all steps
        code = st_script_run(from, "BEGIN; SELECT count(*) FROM sqlite_schema", doing, error);
    if (code == ST_OK) {
        code = copy_pages(from, to, error);
        sqlite3_exec(from->db, "COMMIT", NULL, NULL, NULL);
    }
    if (code == ST_OK)
        code = check_copy(from, to, target, error);
    sqlite3_close(to);
    return code;
}

st_code st_store_copy(const char *path, const char *target, st_error *error)
{
    st_store *from = NULL;
    st_code code = open_source(path, &from, error);
    if (code == ST_OK)
        code = copy_to(from, target, error);
    st_store_close(from);
    return code;
}

// --- backup ------------------------------------------------------------------------------------------------
// SQLite would take what stands there for the copy's own, and spoil it.
static st_code nothing_beside(const char *target, st_error *error)
{
    static const char *const beside[] = {"-wal", "-journal"};
    struct stat there;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char *name = st_format("%s%s", target, beside[i]);
        bool is = name && stat(name, &there) == 0;
        st_free(name);
        if (!name)
            return st_fail_memory(error, "copying the store");
        if (is)
            return st_fail(error, ST_USAGE, "name another file; or remove it, if no program uses that store any more",
                           "%s%s exists: it belongs to a store that stood or stands there", target, beside[i]);
    }
    return ST_OK;
}

static st_code may_write(const char *path, const char *target, bool replace, st_error *error)
{
    struct stat there;
    size_t length = strlen(path);
    for (const char *const *own = st_database_endings; *own; own++)
        if (strncmp(target, path, length) == 0 && strcmp(target + length, *own) == 0)
            return st_fail(error, ST_USAGE, "name another file", "%s belongs to the store itself", target);
    bool exists = stat(target, &there) == 0;
    if (st_text_one_file(path, target))
        return st_fail(error, ST_USAGE, "name another file", "%s is the store itself", target);
    if (exists && !S_ISREG(there.st_mode))
        return st_fail(error, ST_USAGE, "name a file", "%s is not an ordinary file", target);
    if (exists && !replace)
        return st_fail(error, ST_USAGE, "name another file, or replace it with --force", "%s exists", target);
    return nothing_beside(target, error);
}

static st_code put_in_place(const char *made, const char *target, int64_t *bytes, st_error *error)
{
    struct stat status;
    int file = open(made, O_RDONLY | O_CLOEXEC);
    bool fine = file >= 0 && !st_fault_here(ST_FAULT_SYSTEM) && fsync(file) == 0 && fstat(file, &status) == 0;
    if (file >= 0)
        close(file);
    fine = fine && rename(made, target) == 0;
    if (fine)
        *bytes = status.st_size;
    return fine ? ST_OK
                : st_fail(error, ST_FAILED, "check the disk that it is written to", "cannot write %s: %s", target,
                          strerror(errno));
}

st_code st_store_backup(const char *path, const char *target, bool replace, int64_t *bytes, st_error *error)
{
    *bytes = 0;
    st_code code = may_write(path, target, replace, error);
    if (code != ST_OK)
        return code;
    char *made = st_format("%s.XXXXXX", target);
    if (!made)
        return st_fail_memory(error, doing);
    int file = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, -1) : mkstemp(made);
    struct stat source;
    if (file < 0) {
        code = st_fail(error, ST_FAILED, "choose a folder that can be written", "cannot write the copy %s: %s", target,
                       strerror(errno));
    } else {
        if (stat(path, &source) == 0)
            (void)fchmod(file, (source.st_mode & 0777) | 0600); // whoever may read the store may read its copy; ours to write
        close(file);
    }
    if (code == ST_OK)
        code = st_store_copy(path, made, error);
    if (code == ST_OK)
        code = put_in_place(made, target, bytes, error);
    if (code != ST_OK && file >= 0)
        unlink(made);
    st_free(made);
    return code;
}

// --- vacuum ------------------------------------------------------------------------------------------------
static st_code size_of(st_store *store, int64_t *bytes, st_error *error)
{
    return st_ask_number(store,
                         "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
                         "measuring it", bytes, error);
}

static st_code must_be_sound(st_store *store, st_error *error)
{
    int64_t damages;
    st_code code = st_ask_number(store, "SELECT count(*) FROM pragma_quick_check WHERE quick_check <> 'ok'",
                                 "checking it", &damages, error); // not the indexes' content: they are made anew
    if (code == ST_OK && damages)
        code = st_fail(error, ST_DAMAGED,
                       "simtune db check says what is damaged; simtune db export saves what can be read",
                       "the store %s is damaged, so it was not rewritten", store->path);
    return code;
}

st_code st_store_vacuum(st_store *store, int64_t *bytes_before, int64_t *bytes_after, st_error *error)
{
    st_code code = must_be_sound(store, error);
    if (code == ST_OK)
        code = size_of(store, bytes_before, error);
    if (code == ST_OK)
        code = st_script_run(store, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", "rewriting it", error);
    return code == ST_OK ? size_of(store, bytes_after, error) : code;
}
