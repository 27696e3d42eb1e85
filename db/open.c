// SPDX-License-Identifier: Apache-2.0
// Opening the file. Invariants:
// 1. A file that is not ours, or is of a newer version, is told by its first 100 bytes, before SQLite
//    touches it. (A newer version that stands only in the write-ahead log is told right after; then the
//    connection is closed without a checkpoint, so the files stay as they were.)
// 2. A store opened for reading is opened read-only, by the first of these ways that works:
//      shared      the ordinary way; needs the -shm file, which it makes where the folder allows it
//      immutable   the folder cannot be written and there is no -wal file (or nothing in it): nothing can change
//      alone       the folder cannot be written and a killed writer left a -wal file: its index is kept
//                  in memory, without locks (exclusive mode of the VFS "unix-none"); so it is, too, on a
//                  network file system that refuses locks
// 3. The main file's bytes change only in a store opened for writing.
#include "db/store_internal.h"

#include "tuner/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// --- a look at the file ------------------------------------------------------------------------------------
static int big_endian(const unsigned char *bytes)
{
    return (int)((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
                 bytes[3]);
}

static st_code not_a_store(const char *path, st_error *error)
{
    return st_fail(error, ST_FAILED, "name another file with --db, or move this one away",
                   "%s is not a simtune store (not an SQLite database)", path);
}

static st_code read_header(const char *path, st_file_look *look, st_error *error)
{
    int fd = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, -1) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return st_fail(error, ST_FAILED, "check its permissions, or name another store with --db",
                       "cannot open the store %s: %s", path, strerror(errno));
    unsigned char header[100];
    ssize_t got =
        st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, -1) : pread(fd, header, sizeof header, 0);
    int why = errno;
    close(fd);
    if (got < 0)
        return st_fail(error, ST_FAILED, "check the disk that holds it",
                       "cannot read the store %s: %s", path, strerror(why));
    look->empty = got == 0;
    if (look->empty)
        return ST_OK;
    if (got != sizeof header || memcmp(header, "SQLite format 3", 16) != 0)
        return not_a_store(path, error);
    look->user_version = big_endian(header + 60);
    return ST_OK;
}

st_code st_file_look_at(const char *path, st_file_look *look, st_error *error)
{
    *look = (st_file_look){0};
    struct stat status;
    if (stat(path, &status) != 0) {
        if (errno == ENOENT)
            return ST_OK;
        return st_fail(error, ST_FAILED, "check the path, or name another store with --db",
                       "cannot open the store %s: %s", path, strerror(errno));
    }
    look->exists = true;
    if (S_ISDIR(status.st_mode))
        return st_fail(error, ST_FAILED, "name a file inside it: --db FOLDER/history.db",
                       "the store %s is a folder", path);
    if (!S_ISREG(status.st_mode))
        return st_fail(error, ST_FAILED, "name an ordinary file with --db",
                       "the store %s is not an ordinary file", path);
    look->is_open = st_locking_is_open(&status);
    if (look->is_open)
        return ST_OK; // what the header tells is known, and closing the file would drop SQLite's locks
    return read_header(path, look, error);
}

// --- connections -------------------------------------------------------------------------------------------
static void disconnect(st_store *store)
{
    st_locking_closed(store);
    sqlite3_close(store->db);
    store->db = NULL;
}

static st_code connect(st_store *store, const char *name, int flags, st_error *error)
{
    int rc = st_fault_here(ST_FAULT_SQLITE)
                 ? SQLITE_CANTOPEN
                 : sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_extended_result_codes(store->db, 1);
        st_waiting_install(store);
        st_locking_opened(store);
        return ST_OK;
    }
    st_code code = st_store_fail(store, rc, "opening it", error);
    disconnect(store);
    return code;
}

// "file:" and the path, with what a URI gives a meaning to written as %XX, and the parameters.
static st_code connect_uri(st_store *store, const char *parameters, int flags, st_error *error)
{
    st_text uri;
    st_text_init(&uri);
    st_text_add(&uri, "file:");
    const char *path = st_store_file(store);
    while (path[0] == '/' && path[1] == '/') // two slashes would begin a host name
        path++;
    for (; *path; path++) {
        if (strchr("%?#", *path))
            st_text_addf(&uri, "%%%02X", (unsigned char)*path);
        else
            st_text_add_bytes(&uri, path, 1);
    }
    st_text_addf(&uri, "?%s", parameters);
    st_code code = uri.failed
                       ? st_fail_memory(error, "opening the store")
                       : connect(store, uri.data, flags | SQLITE_OPEN_URI, error);
    st_text_release(&uri);
    return code;
}

// Reads something, because SQLite opens the files only then.
static st_code try_to_read(st_store *store, int *rc, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, "SELECT count(*) FROM sqlite_schema",
                                          "opening it", error);
    if (code == ST_OK)
        code = st_statement_run(&statement, error);
    *rc = code == ST_OK ? SQLITE_OK : sqlite3_errcode(store->db) & 0xff;
    st_statement_close(&statement);
    return code;
}

static bool has_log(const st_store *store)
{
    char log[PATH_MAX + 8];
    struct stat status;
    snprintf(log, sizeof log, "%s-wal", sqlite3_db_filename(store->db, "main"));
    return stat(log, &status) == 0 && status.st_size > 0;
}

// Without locks and with the log's index in memory.
static st_code connect_alone(st_store *store, int flags, st_error *error)
{
    st_code code = connect_uri(store, "vfs=unix-none", flags, error);
    if (code == ST_OK)
        code = st_script_run(store, "PRAGMA locking_mode = EXCLUSIVE", "opening it", error);
    return code;
}

st_code st_open_for_reading(st_store *store, st_error *error)
{
    int rc;
    st_code code = st_place_look(store->path, &store->place, error);
    if (code == ST_OK && store->place.shared && !st_place_locks_readers(store->path, &store->place)) {
        code = connect_alone(store, SQLITE_OPEN_READONLY, error);
        return code == ST_OK ? try_to_read(store, &rc, error) : code;
    }
    if (code == ST_OK)
        code = connect(store, store->path, SQLITE_OPEN_READONLY, error);
    if (code != ST_OK)
        return code;
    code = try_to_read(store, &rc, error);
    if (code == ST_OK || (rc != SQLITE_READONLY && rc != SQLITE_CANTOPEN))
        return code;
    bool with_log = has_log(store); // SQLite's answer does not tell: it differs between folders and mounts
    disconnect(store);
    code = !with_log ? connect_uri(store, "immutable=1", SQLITE_OPEN_READONLY, error)
                       : connect_alone(store, SQLITE_OPEN_READONLY, error);
    if (code == ST_OK)
        code = try_to_read(store, &rc, error);
    return code;
}

static st_code make_parent(const char *path, st_error *error)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return ST_OK;
    char *folder = st_strndup(path, (size_t)(slash - path));
    st_code code =
        folder ? st_text_make_folder(folder, error) : st_fail_memory(error, "opening the store");
    st_free(folder);
    return code;
}

// What lies below the store, and whether it can be written there.
static st_code look_at_place(st_store *store, st_error *error)
{
    char *real = realpath(store->path, NULL); // a link's target: there SQLite puts its files
    const char *path = real ? real : store->path;
    char *above = st_strdup(path);
    char *slash = above ? strrchr(above, '/') : NULL;
    if (slash)
        slash[slash == above] = '\0';
    st_code code = !above ? st_fail_memory(error, "opening the store")
                          : st_place_look(real ? real : slash ? above : ".", &store->place, error);
    if (code == ST_OK)
        code = st_place_try(path, &store->place, error);
    if (code == ST_OK)
        code = st_place_may_write(&store->place, store->path, error);
    st_free(above);
    free(real);
    return code;
}

st_code st_open_for_writing(st_store *store, st_error *error)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    bool in_memory = strcmp(store->path, ":memory:") == 0;
    st_code code = in_memory ? ST_OK : make_parent(store->path, error);
    if (code == ST_OK && !in_memory)
        code = look_at_place(store, error);
    if (code == ST_OK)
        code = st_place_has_locks(&store->place) ? connect(store, st_store_file(store), flags, error)
                                                 : connect_alone(store, flags, error);
    if (code == ST_OK && sqlite3_db_readonly(store->db, "main") == 1)
        code = st_store_fail(store, SQLITE_READONLY, "opening it", error);
    return code;
}

st_code st_open_copy_in_memory(st_store *store, st_error *error)
{
    static const char doing[] = "copying it into memory";
    sqlite3 *from = store->db;
    store->db = NULL;
    st_locking_closed(store);
    st_code code = connect(store, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error);
    if (code == ST_OK) {
        sqlite3_backup *backup = sqlite3_backup_init(store->db, "main", from, "main");
        int rc = !backup                          ? sqlite3_errcode(store->db)
                 : st_fault_here(ST_FAULT_SQLITE) ? SQLITE_IOERR
                                                  : sqlite3_backup_step(backup, -1);
        if (backup)
            sqlite3_backup_finish(backup);
        if (rc != SQLITE_DONE)
            code = st_store_fail(store, rc, doing, error);
    }
    sqlite3_close(from);
    return code;
}
