// SPDX-License-Identifier: Apache-2.0
// Files whole. Invariants: 1. a file at its final name is always complete; the temporary file beside it is
// removed on every way out; 2. a symbolic link stays one: what it points to is replaced.
#include "tuner/base/memory.h"
#include "tuner/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

st_code st_text_read_file(st_text *text, const char *path, st_error *error)
{
    int fd = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, -1) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return st_fail(error, ST_FAILED, "check that the file exists and can be read",
                       "cannot open %s: %s", path, strerror(errno));
    struct stat there; // a device may have no end
    if (fstat(fd, &there) == 0 && (S_ISCHR(there.st_mode) || S_ISBLK(there.st_mode))) {
        close(fd);
        return st_fail(error, ST_FAILED, "name an ordinary file", "%s is not an ordinary file", path);
    }
    char block[1 << 16];
    st_code code = ST_OK;
    for (;;) {
        ssize_t got = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, -1)
                                                     : read(fd, block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            code = st_fail(error, ST_FAILED, "check the file", "cannot read %s: %s", path,
                           strerror(errno));
        if (got <= 0)
            break;
        st_text_add_bytes(text, block, (size_t)got);
    }
    close(fd);
    st_text_add_bytes(text, "", 0);
    if (code == ST_OK && text->failed)
        code = st_fail_memory(error, "reading a file");
    return code;
}

st_code st_text_make_folder(const char *path, st_error *error)
{
    if (!path[0]) // here
        return ST_OK;
    char *copy = st_strdup(path);
    if (!copy)
        return st_fail_memory(error, "making a folder");
    st_code code = ST_OK;
    for (char *at = copy + 1; code == ST_OK; at++) {
        bool last = *at == '\0';
        if (*at != '/' && !last)
            continue;
        *at = '\0';
        if (st_fault_here(ST_FAULT_SYSTEM)) {
            errno = EIO;
            code = st_fail(error, ST_FAILED, "choose a folder that can be written",
                           "cannot make the folder %s: %s", copy, strerror(errno));
        } else if (mkdir(copy, 0777) != 0) {
            struct stat status; // what exists may be a file, and a read-only parent may answer EROFS or EACCES
            int why = errno == EEXIST ? ENOTDIR : errno;
            if (stat(copy, &status) != 0 || !S_ISDIR(status.st_mode))
                code = st_fail(error, ST_FAILED, "choose a folder that can be written",
                               "cannot make the folder %s: %s", copy, strerror(why));
        }
        if (last)
            break;
        *at = '/';
    }
    st_free(copy);
    return code;
}

// Follows symbolic links by hand, since the last one may point to a file that is not there yet. `out` gets the
// path to be replaced.
static st_code follow_links(const char *path, st_text *out, st_error *error)
{
    enum { LINKS_MOST = 40 }; // as the kernel
    char target[4096];
    st_text_add(out, path);
    for (int i = 0; i < LINKS_MOST && !out->failed; i++) {
        ssize_t length = readlink(st_text_string(out), target, sizeof target - 1);
        if (length < 0) // no link, or nothing there
            return ST_OK;
        target[length] = '\0';
        const char *slash = strrchr(st_text_string(out), '/');
        size_t folder = target[0] == '/' || !slash ? 0 : (size_t)(slash - st_text_string(out)) + 1;
        char *joined = st_format("%.*s%s", (int)folder, st_text_string(out), target);
        if (!joined)
            return st_fail_memory(error, "writing a file");
        st_text_clear(out);
        st_text_add(out, joined);
        st_free(joined);
    }
    if (out->failed)
        return st_fail_memory(error, "writing a file");
    return st_fail(error, ST_FAILED, "choose another place", "cannot write %s: %s", path, strerror(ELOOP));
}

static bool file_equals(const char *path, const void *bytes, size_t length)
{
    struct stat status;
    if (stat(path, &status) != 0 || (size_t)status.st_size != length)
        return false;
    st_text text;
    st_text_init(&text);
    bool equal = st_text_read_file(&text, path, NULL) == ST_OK && text.length == length &&
                 memcmp(st_text_string(&text), bytes, length) == 0;
    st_text_release(&text);
    return equal;
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        if (st_fault_here(ST_FAULT_SYSTEM)) {
            errno = ENOSPC;
            return false;
        }
        ssize_t put = write(fd, bytes, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

static bool injected(int why)
{
    bool now = st_fault_here(ST_FAULT_SYSTEM);
    if (now)
        errno = why;
    return now;
}

static st_code write_and_rename(const char *path, const char *temporary, const void *bytes,
                                size_t length, st_error *error)
{
    static const char remedy[] = "choose a place that can be written, with room on its disk";
    int fd = st_fault_here(ST_FAULT_SYSTEM)
                 ? (errno = EACCES, -1)
                 : open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return st_fail(error, ST_FAILED, remedy, "cannot write %s: %s", path, strerror(errno));
    bool ok = write_all(fd, bytes, length) && !injected(EIO) && fsync(fd) == 0;
    int why = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (ok && (injected(EACCES) || rename(temporary, path) != 0)) {
        ok = false;
        why = errno;
    }
    if (!ok) {
        unlink(temporary);
        return st_fail(error, ST_FAILED, remedy, "cannot write %s: %s", path, strerror(why));
    }
    return ST_OK;
}

const char *st_text_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool st_text_one_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_database(const char *path)
{
    char magic[16];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool is = read(fd, magic, sizeof magic) == (ssize_t)sizeof magic && memcmp(magic, "SQLite format 3", 16) == 0;
    close(fd);
    return is;
}

// Years of measurements are not written over by a slip of the hand: neither a database nor the files that SQLite and
// the store keep beside one.
static st_code refuse_database(const char *path, st_error *error)
{
    static const char *const beside[] = {"-wal", "-shm", "-journal", "-running"};
    bool is = is_database(path);
    for (size_t i = 0; i < sizeof beside / sizeof *beside && !is; i++) {
        size_t length = strlen(path), end = strlen(beside[i]);
        char *store = length > end && strcmp(path + length - end, beside[i]) == 0 ? st_strndup(path, length - end) : NULL;
        is = store && is_database(store);
        st_free(store);
    }
    return is ? st_fail(error, ST_USAGE, "name another file", "%s is a database, or belongs to one: it is not written over",
                        path)
              : ST_OK;
}

static st_code write_file(const char *path, const void *bytes, size_t length, bool *changed, st_error *error)
{
    st_code refused = refuse_database(path, error);
    if (refused != ST_OK)
        return refused;
    const char *slash = strrchr(path, '/');
    if (slash && slash != path) {
        char *folder = st_strndup(path, (size_t)(slash - path));
        st_code code = folder ? st_text_make_folder(folder, error)
                              : st_fail_memory(error, "writing a file");
        st_free(folder);
        if (code != ST_OK)
            return code;
    }
    struct stat there; // a device or a pipe must not be renamed over
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return st_fail(error, ST_FAILED, "name an ordinary file", "%s is not an ordinary file", path);
    char *temporary = st_format("%s.tmp.%ld", path, (long)getpid());
    if (!temporary)
        return st_fail_memory(error, "writing a file");
    st_code code = write_and_rename(path, temporary, bytes, length, error);
    st_free(temporary);
    if (code == ST_OK && changed)
        *changed = true;
    return code;
}

st_code st_text_write_file(const char *path, const void *bytes, size_t length, bool *changed,
                           st_error *error)
{
    if (changed)
        *changed = false;
    if (file_equals(path, bytes, length))
        return ST_OK;
    st_text real;
    st_text_init(&real);
    st_code code = follow_links(path, &real, error);
    if (code == ST_OK)
        code = write_file(st_text_string(&real), bytes, length, changed, error);
    st_text_release(&real);
    return code;
}
