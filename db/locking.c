// SPDX-License-Identifier: Apache-2.0
// What keeps several programs on one file from harming each other. Invariants: 1. the journal is chosen by the
// file system (place.c) each time the store is opened for writing; 2. a file that was moved, removed or
// replaced under an open store is noticed before a transaction is begun and before it is committed: nothing is
// written to a ghost; 3. while a store is open in this process, its file is not opened and closed beside
// SQLite: POSIX locks belong to the process, and closing any descriptor of the file drops them all.
#include "db/locking.h"

#include "db/store_internal.h"
#include "tuner/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// --- what is open in this process ----------------------------------------------------------------------------
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static st_store *open_stores;

static st_file_identity identity_of(const struct stat *status)
{
    return (st_file_identity){.device = status->st_dev, .inode = status->st_ino};
}

static bool same_file(const st_file_identity *a, const st_file_identity *b)
{
    return a->device == b->device && a->inode == b->inode;
}

bool st_locking_is_open(const struct stat *status)
{
    st_file_identity file = identity_of(status);
    bool found = false;
    pthread_mutex_lock(&open_lock);
    for (const st_store *store = open_stores; store && !found; store = store->next_open)
        found = same_file(&store->main_file, &file);
    pthread_mutex_unlock(&open_lock);
    return found;
}

void st_locking_opened(st_store *store)
{
    const char *path = store->db ? sqlite3_db_filename(store->db, "main") : NULL;
    struct stat status;
    if (store->is_listed || !path || !*path || stat(path, &status) != 0)
        return;
    store->main_file = identity_of(&status);
    pthread_mutex_lock(&open_lock);
    store->next_open = open_stores;
    open_stores = store;
    store->is_listed = true;
    pthread_mutex_unlock(&open_lock);
}

void st_locking_closed(st_store *store)
{
    if (!store->is_listed)
        return;
    pthread_mutex_lock(&open_lock);
    st_store **at = &open_stores;
    while (*at && *at != store)
        at = &(*at)->next_open;
    if (*at)
        *at = store->next_open;
    store->is_listed = false;
    pthread_mutex_unlock(&open_lock);
}

// --- choosing the journal ------------------------------------------------------------------------------------
// SQLite answers "busy" at once when two processes switch a file at the same time, so the waiting is here.
static st_code set_journal(st_store *store, const char *sql, const char *doing, st_error *error)
{
    for (int times = 0;; times++) {
        st_statement statement;
        bool row;
        st_code code = st_statement_open_once(store, &statement, sql, doing, error);
        if (code == ST_OK)
            code = st_statement_step(&statement, &row, error);
        if (code == ST_OK)
            st_column_copy(&statement, 0, store->journal, sizeof store->journal);
        int rc = code == ST_OK ? SQLITE_OK : sqlite3_errcode(store->db) & 0xff;
        st_statement_close(&statement);
        bool busy = rc == SQLITE_BUSY || rc == SQLITE_LOCKED;
        if (code == ST_OK || !busy || !st_waiting_again(store, times))
            return code == ST_OK || !busy ? code : st_waiting_fail(store, doing, error);
    }
}

static void tell_of_others(st_store *store)
{
    const st_file_place *place = &store->place;
    const st_store_listener *to = &store->waiting.listener;
    char text[1400];
    if (!place->shared || !to->note)
        return;
    bool locks = place->locks == ST_LOCKS_WORK;
    snprintf(text, sizeof text, "the store %.800s lies on %s (%s), which several hosts may share: %s", store->path,
             place->file_system, place->source,
             locks ? "it is kept with a rollback journal, and readers and writers wait for each other"
                   : "its locks do not work, and SIMTUNE_DB_LOCKS=trust says that nobody else writes");
    to->note(to->context, text);
}

st_code st_locking_choose_journal(st_store *store, st_error *error)
{
    bool in_memory = strcmp(store->path, ":memory:") == 0;
    if (!in_memory && st_place_wants_log(&store->place)) {
        st_code code = set_journal(store, "PRAGMA journal_mode = WAL", "choosing the write-ahead log", error);
        return code == ST_OK ? st_waiting_use_checkpoints(store, error) : code;
    }
    if (in_memory)
        return ST_OK;
    st_code code = set_journal(store, "PRAGMA journal_mode = TRUNCATE", "choosing the rollback journal", error);
    // A rollback journal that is not synced may cost the file when the power goes.
    if (code == ST_OK)
        code = st_script_run(store, "PRAGMA synchronous = FULL", "setting up", error);
    if (code == ST_OK)
        tell_of_others(store);
    return code;
}

// --- ghosts --------------------------------------------------------------------------------------------------
// Where the open file is now: the name that the kernel has for it.
static void find_new_name(const st_store *store, char *out, size_t capacity)
{
    DIR *folder = opendir("/proc/self/fd");
    out[0] = '\0';
    for (struct dirent *entry; folder && !out[0] && (entry = readdir(folder));) {
        char link[300], name[PATH_MAX];
        struct stat status;
        snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
        if (stat(link, &status) != 0)
            continue;
        st_file_identity file = identity_of(&status);
        ssize_t length = same_file(&file, &store->main_file) ? readlink(link, name, sizeof name - 1) : -1;
        if (length <= 0 || status.st_nlink == 0)
            continue;
        name[length] = '\0';
        snprintf(out, capacity, "%.599s", name);
    }
    if (folder)
        closedir(folder);
}

static st_code fail_moved(const st_store *store, const char *path, st_error *error)
{
    char name[600], remedy[480];
    find_new_name(store, name, sizeof name);
    bool wal = strcmp(store->journal, "wal") == 0;
    if (!name[0])
        return st_fail(error, ST_FAILED, "restore it from a copy, or begin a new one: the same command makes it",
                       "the store %.600s was removed or replaced while it was in use; nothing more is written to it",
                       path);
    snprintf(remedy, sizeof remedy, "move it back%s, then run the same command again", wal ? "" : ", or name it with --db");
    if (wal && strlen(name) < 150)
        snprintf(remedy, sizeof remedy,
                 "move it back, then run the same command again; or, when nothing uses it any more, move its "
                 "-wal file too (to %.200s-wal): the newest rows stand there", name);
    return st_fail(error, ST_FAILED, remedy,
                   "the store %.300s was moved to %.400s while it was in use; nothing more is written to it", path,
                   name);
}

// The files of the write-ahead log, too: whoever removes one (tidying up, say) splits the programs that have it.
static st_code check_beside(const char *path, const char *ending, st_file_identity *known,
                            st_error *error)
{
    char name[PATH_MAX];
    struct stat status;
    snprintf(name, sizeof name, "%s%s", path, ending);
    bool there = stat(name, &status) == 0;
    st_file_identity now = there ? identity_of(&status) : (st_file_identity){0};
    if (known->inode == 0 && there) {
        *known = now;
        return ST_OK;
    }
    if (same_file(&now, known))
        return ST_OK;
    return st_fail(error, ST_FAILED,
                   "leave the files beside a store alone while it is in use; end every simtune that uses it, look at "
                   "it with `simtune db check`, then run the same command again",
                   "%.700s was removed or replaced while it was in use; nothing more is written to the store", name);
}

// On a shared file system a host that has the file as its own may switch it to the write-ahead log.
static st_code check_journal(st_store *store, st_error *error)
{
    st_statement statement;
    bool row = false;
    st_code code = st_statement_open(store, &statement, "PRAGMA journal_mode", "asking for its journal", error);
    if (code == ST_OK)
        code = st_statement_step(&statement, &row, error);
    if (code == ST_OK && row && strcmp(st_column_text(&statement, 0), store->journal) != 0)
        code = st_fail(error, ST_FAILED,
                       "write a store from one side only: from hosts that mount it, or from the one whose disk it is",
                       "the store %.600s was switched to the journal mode %s by another host, which this one cannot "
                       "share", store->path, st_column_text(&statement, 0));
    st_statement_close(&statement);
    return code;
}

st_code st_locking_check(st_store *store, st_error *error)
{
    const char *path = sqlite3_db_filename(store->db, "main");
    if (!path || !*path || !store->is_listed)
        return ST_OK;
    int moved = 0;
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved)
        return fail_moved(store, path, error);
    if (strcmp(store->journal, "wal") != 0)
        return store->place.shared ? check_journal(store, error) : ST_OK;
    st_code code = check_beside(path, "-wal", &store->wal_file, error);
    return code == ST_OK ? check_beside(path, "-shm", &store->shm_file, error) : code;
}
