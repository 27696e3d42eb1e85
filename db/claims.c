// SPDX-License-Identifier: Apache-2.0
// Which sessions run now. A process that runs a session locks one byte of STORE-running, at an offset made of
// the session's id. Invariants: 1. the kernel holds the lock, so a killed process leaves none behind, and
// processes in different containers and (where locks reach that far) on different hosts see it alike; 2. the
// file stays empty and is never removed: whoever had opened it before would lock a file that nobody else sees;
// 3. it is open description locks where there are any, so that two stores of one process exclude each other
// too, and workers that are executed anew inherit nothing.
#include "db/locking.h"

#include "db/store_internal.h"
#include "tuner/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// --- the byte of a session -----------------------------------------------------------------------------------
// The last 15 digits of an id are random: 60 bits, so that no two sessions share a byte.
static off_t byte_of(const char *session_id)
{
    size_t length = strlen(session_id);
    return (off_t)strtoull(session_id + (length > 15 ? length - 15 : 0), NULL, 16);
}

static int lock(int fd, int command, int old_command, struct flock *what)
{
    if (st_fault_here(ST_FAULT_SYSTEM)) {
        errno = EIO;
        return -1;
    }
    int result = fcntl(fd, command, what);
    if (result != 0 && errno == EINVAL) // a kernel before 3.15
        result = fcntl(fd, old_command, what);
    return result;
}

// --- the file ------------------------------------------------------------------------------------------------
static bool has_file(const st_store *store)
{
    const char *path = sqlite3_db_filename(store->db, "main");
    return path && *path;
}

static st_code open_file(st_store *store, int flags, int *fd, st_error *error)
{
    char *path = st_format("%s-running", sqlite3_db_filename(store->db, "main"));
    if (!path)
        return st_fail_memory(error, "claiming a session");
    struct stat status;
    bool failed = st_fault_here(ST_FAULT_SYSTEM);
    *fd = failed ? -1 : open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (failed)
        errno = EIO;
    st_code code = ST_OK;
    if (*fd < 0 && (errno != ENOENT || flags & O_CREAT))
        code = st_fail(error, ST_FAILED, "check the permissions of the store's folder, and its disk",
                       "%s, by which runs know of each other, cannot be opened: %s", path, strerror(errno));
    // As SQLite does it for its files: whoever may write the store may write this one.
    if (*fd >= 0 && flags & O_CREAT && stat(sqlite3_db_filename(store->db, "main"), &status) == 0)
        (void)!fchmod(*fd, status.st_mode & 0666);
    st_free(path);
    return code;
}

// --- claims --------------------------------------------------------------------------------------------------
static struct flock one_byte(short type, const char *session_id)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = byte_of(session_id), .l_len = 1};
}

st_code st_store_session_claim(st_store *store, const char *session_id, bool *mine, st_error *error)
{
    *mine = true;
    if (!has_file(store))
        return ST_OK;
    st_code code = store->running_fd >= 0 ? ST_OK : open_file(store, O_RDWR | O_CREAT, &store->running_fd, error);
    if (code != ST_OK)
        return code;
    struct flock what = one_byte(F_WRLCK, session_id);
    if (lock(store->running_fd, F_OFD_SETLK, F_SETLK, &what) == 0)
        return ST_OK;
    *mine = false;
    if (errno == EAGAIN || errno == EACCES)
        return ST_OK;
    if (!st_place_has_locks(&store->place)) {
        *mine = true; // the user has said that nobody else writes: there is nobody to be told from
        return ST_OK;
    }
    return st_fail(error, ST_FAILED, "keep the store on a disk of this machine (--db)",
                   "the session cannot be locked beside the store %s: %s", store->path, strerror(errno));
}

void st_store_session_release(st_store *store, const char *session_id)
{
    struct flock what = one_byte(F_UNLCK, session_id);
    if (store->running_fd >= 0 && fcntl(store->running_fd, F_OFD_SETLK, &what) != 0)
        fcntl(store->running_fd, F_SETLK, &what);
}

st_code st_store_session_is_live(st_store *store, const char *session_id, bool *live, st_error *error)
{
    *live = false;
    if (!has_file(store))
        return ST_OK;
    int fd = -1;
    st_code code = open_file(store, O_RDONLY, &fd, error);
    if (code != ST_OK || fd < 0)
        return code;
    struct flock what = one_byte(F_WRLCK, session_id);
    if (lock(fd, F_OFD_GETLK, F_GETLK, &what) == 0)
        *live = what.l_type != F_UNLCK;
    else if (st_place_has_locks(&store->place))
        code = st_fail(error, ST_FAILED, "check the disk that holds the store",
                       "whether a session of the store %s is running cannot be told: %s", store->path,
                       strerror(errno));
    close(fd);
    return code;
}

// --- resuming ------------------------------------------------------------------------------------------------
st_code st_store_session_resume(st_store *store, const char *resume_key, st_session_row *row,
                                size_t *running, st_error *error)
{
    char id[ST_HASH_TEXT] = "";
    bool more = true, mine = false;
    st_statement statement;
    *row = (st_session_row){0};
    *running = 0;
    st_code code = st_statement_open(store, &statement,
                                     "SELECT session_id FROM session WHERE resume_key = ? AND status <> 'finished'"
                                     " AND shipped = 0 ORDER BY started_ms DESC, session_id DESC",
                                     "looking for an unfinished session", error);
    if (code != ST_OK)
        return code;
    st_bind_text(&statement, resume_key);
    while (code == ST_OK && more && !mine) {
        code = st_statement_step(&statement, &more, error);
        if (code != ST_OK || !more)
            break;
        st_column_copy(&statement, 0, id, sizeof id);
        code = st_store_session_claim(store, id, &mine, error);
        *running += code == ST_OK && !mine;
    }
    st_statement_close(&statement);
    if (code != ST_OK || !mine)
        return code == ST_OK ? ST_NOTHING : code;
    code = st_store_session_of(store, id, row, error);
    if (code != ST_OK)
        st_store_session_release(store, id);
    return code;
}

st_code st_store_newest_ms(st_store *store, int64_t *newest_ms, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open(store, &statement,
                                     "SELECT max(finished_ms) FROM session WHERE finished_ms IS NOT NULL"
                                     " AND shipped = 0",
                                     "looking at its sessions", error);
    if (code == ST_OK)
        code = st_statement_number(&statement, newest_ms, NULL, error);
    st_statement_close(&statement);
    return code;
}

void st_claims_close(st_store *store)
{
    if (store->running_fd >= 0)
        close(store->running_fd);
    store->running_fd = -1;
}
