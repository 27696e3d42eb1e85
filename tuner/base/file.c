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

const char *const st_database_endings[] = {"-wal", "-shm", "-journal", "-running", NULL};

// Years of measurements are not written over by a slip of the hand: neither a database nor the files beside one.
static st_code refuse_database(const char *path, st_error *error)
{
    bool is = is_database(path);
    for (const char *const *beside = st_database_endings; *beside && !is; beside++) {
        size_t length = strlen(path), end = strlen(*beside);
        char *store = length > end && strcmp(path + length - end, *beside) == 0 ? st_strndup(path, length - end) : NULL;
        is = store && is_database(store);
        st_free(store);
    }
    return is ? st_fail(error, ST_USAGE, "name another file", "%s is a database, or belongs to one: it is not written over",
                        path)
              : ST_OK;
}

static const char remedy[] = "choose a place that can be written, with room on its disk";

static st_code cannot_write(const st_writing *writing, int why, st_error *error)
{
    return st_fail(error, ST_FAILED, remedy, "cannot write %s: %s", writing->path, strerror(why));
}

// The folder above it, unless it is here or the root.
static st_code make_folder_above(const char *path, st_error *error)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return ST_OK;
    char *folder = st_strndup(path, (size_t)(slash - path));
    st_code code = folder ? st_text_make_folder(folder, error) : st_fail_memory(error, "writing a file");
    st_free(folder);
    return code;
}

// Where links lead, when something may be written there.
static st_code find_place(const char *path, char **out, st_error *error)
{
    st_text real;
    struct stat there; // a device or a pipe must not be renamed over
    st_text_init(&real);
    st_code code = follow_links(path, &real, error);
    if (code == ST_OK)
        code = refuse_database(st_text_string(&real), error);
    if (code == ST_OK)
        code = make_folder_above(st_text_string(&real), error);
    if (code == ST_OK && stat(st_text_string(&real), &there) == 0 && !S_ISREG(there.st_mode))
        code = st_fail(error, ST_FAILED, "name an ordinary file", "%s is not an ordinary file", st_text_string(&real));
    if (code == ST_OK && !(*out = st_text_take(&real)))
        code = st_fail_memory(error, "writing a file");
    st_text_release(&real);
    return code;
}

st_code st_writing_open(st_writing *writing, const char *path, st_error *error)
{
    *writing = (st_writing){.file = -1};
    st_code code = find_place(path, &writing->path, error);
    if (code != ST_OK)
        return code;
    writing->temporary = st_format("%s.tmp.%ld", writing->path, (long)getpid());
    if (!writing->temporary)
        return st_fail_memory(error, "writing a file");
    if (!injected(EACCES))
        writing->file = open(writing->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return writing->file >= 0 ? ST_OK : cannot_write(writing, errno, error);
}

st_code st_writing_add(st_writing *writing, const void *bytes, size_t length, st_error *error)
{
    return write_all(writing->file, bytes, length) ? ST_OK : cannot_write(writing, errno, error);
}

// Block by block, so that it does not matter how large they are.
static bool files_equal(const char *a, const char *b)
{
    char left[1 << 14], right[1 << 14];
    struct stat x, y;
    if (stat(a, &x) != 0 || stat(b, &y) != 0 || x.st_size != y.st_size)
        return false;
    FILE *one = fopen(a, "rbe"), *other = fopen(b, "rbe");
    bool equal = one && other;
    for (size_t got = sizeof left; equal && got == sizeof left;) {
        got = fread(left, 1, sizeof left, one);
        equal = fread(right, 1, sizeof right, other) == got && memcmp(left, right, got) == 0 && !ferror(one);
    }
    if (one)
        fclose(one);
    if (other)
        fclose(other);
    return equal;
}

st_code st_writing_finish(st_writing *writing, st_error *error)
{
    if (files_equal(writing->temporary, writing->path))
        return ST_OK; // it stays as it is, so that nothing rebuilds; released, the other one is removed
    bool ok = !injected(EIO) && fsync(writing->file) == 0;
    int why = errno;
    if (close(writing->file) != 0 && ok) {
        ok = false;
        why = errno;
    }
    writing->file = -1;
    if (ok && (injected(EACCES) || rename(writing->temporary, writing->path) != 0)) {
        ok = false;
        why = errno;
    }
    if (!ok) {
        unlink(writing->temporary);
        return cannot_write(writing, why, error);
    }
    return ST_OK;
}

void st_writing_release(st_writing *writing)
{
    if (writing->temporary && writing->file >= 0) {
        close(writing->file);
        unlink(writing->temporary);
    }
    st_free(writing->temporary);
    st_free(writing->path);
    *writing = (st_writing){.file = -1};
}

st_code st_text_write_file(const char *path, const void *bytes, size_t length, bool *changed,
                           st_error *error)
{
    if (changed)
        *changed = false;
    if (file_equals(path, bytes, length))
        return ST_OK;
    st_writing writing;
    st_code code = st_writing_open(&writing, path, error);
    if (code == ST_OK)
        code = st_writing_add(&writing, bytes, length, error);
    if (code == ST_OK)
        code = st_writing_finish(&writing, error);
    st_writing_release(&writing);
    if (code == ST_OK && changed)
        *changed = true;
    return code;
}
