// SPDX-License-Identifier: Apache-2.0
// Files whole. Invariant: a file at its final name is always complete; the temporary file beside it is
// removed on every way out.
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

static st_code write_and_rename(const char *path, const char *temporary, const void *bytes,
                                size_t length, st_error *error)
{
    static const char remedy[] = "choose a place that can be written, with room on its disk";
    int fd = st_fault_here(ST_FAULT_SYSTEM)
                 ? (errno = EACCES, -1)
                 : open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return st_fail(error, ST_FAILED, remedy, "cannot write %s: %s", path, strerror(errno));
    bool ok = write_all(fd, bytes, length) && fsync(fd) == 0;
    int why = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (ok && rename(temporary, path) != 0) {
        ok = false;
        why = errno;
    }
    if (!ok) {
        unlink(temporary);
        return st_fail(error, ST_FAILED, remedy, "cannot write %s: %s", path, strerror(why));
    }
    return ST_OK;
}

st_code st_text_write_file(const char *path, const void *bytes, size_t length, bool *changed,
                           st_error *error)
{
    if (changed)
        *changed = false;
    if (file_equals(path, bytes, length))
        return ST_OK;
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
