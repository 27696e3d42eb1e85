// SPDX-License-Identifier: Apache-2.0
// The cache of compiled programs: one file a content key.
//
// Invariants:
//  1. A file at its final name was written whole (temporary file, rename), or it is noticed: its
//  head
//     holds the length and the hash of the rest. There is no fsync: after a power cut a file may be
//     damaged, which costs one compile.
//  2. What cannot be read as ours is a miss, never an error.
//  3. A hit sets the file's time, so that trimming removes what was used least recently.
//  4. Only files named like ours (32 hex digits first) are ever removed.
#include "tuner/gpu/compile_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The head: a magic line, then the hash of the rest and its two lengths, in text, ended by a
// newline.
#define MAGIC "simtune-compiled 1 "
#define HEAD_FORMAT MAGIC "%32s %016llx %016llx\n"
#define HEAD_BYTES (sizeof MAGIC - 1 + 32 + 1 + 16 + 1 + 16 + 1)

static char *file_path(const char *folder, const char *key) {
    return st_format("%s/%s.compiled", folder, key);
}

// Splits a file's text. False when it is not whole.
static bool check_head(const st_text *text, size_t *json_length, size_t *blob_length) {
    char hash[ST_HASH_TEXT], found[ST_HASH_TEXT];
    unsigned long long json = 0, blob = 0;
    if (text->length < HEAD_BYTES || text->data[HEAD_BYTES - 1] != '\n' ||
        sscanf(text->data, MAGIC "%32[0-9a-f] %llx %llx", hash, &json, &blob) != 3)
        return false;
    size_t rest = text->length - HEAD_BYTES;
    if (json > rest || blob != rest - json)
        return false;
    st_hash_of(text->data + HEAD_BYTES, rest, found);
    *json_length = (size_t)json;
    *blob_length = (size_t)blob;
    return strcmp(hash, found) == 0;
}

bool st_cache_read(const char *folder, const char *key, st_compiled *out) {
    char *path = file_path(folder, key);
    bool hit = false;
    json_t *json = NULL;
    st_text text;
    st_text_init(&text);
    size_t json_length = 0, blob_length = 0;
    if (path && st_text_read_file(&text, path, NULL) == ST_OK &&
        check_head(&text, &json_length, &blob_length) &&
        st_json_parse(text.data + HEAD_BYTES, json_length, path, &json, NULL) == ST_OK)
        hit = st_compiled_decode(json, text.data + HEAD_BYTES + json_length, blob_length, out,
                                 NULL) == ST_OK;
    if (hit) {
        out->from_cache = true;
        utimensat(AT_FDCWD, path, NULL, 0); // invariant 3; failing is harmless
    }
    json_decref(json);
    st_text_release(&text);
    st_free(path);
    return hit;
}

static bool write_whole(const char *path, const st_text *text) {
    int fd = st_fault_here(ST_FAULT_SYSTEM)
                 ? (errno = EACCES, -1)
                 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    size_t done = 0;
    while (done < text->length) {
        ssize_t put = st_fault_here(ST_FAULT_SYSTEM)
                          ? (errno = ENOSPC, -1)
                          : write(fd, text->data + done, text->length - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            break;
        done += (size_t)put;
    }
    int why = errno;
    bool closed = close(fd) == 0;
    if (done < text->length)
        errno = why;
    return closed && done == text->length;
}

// The file's bytes: head, JSON, blob.
static st_code file_text(const st_compiled *compiled, st_text *out, st_error *error) {
    st_text blob, json_text;
    st_text_init(&blob);
    st_text_init(&json_text);
    json_t *json = NULL;
    st_code code = st_compiled_encode(compiled, &json, &blob, error);
    if (!code) {
        st_json_print(json, &json_text);
        size_t json_length = json_text.length;
        st_text_add_bytes(&json_text, blob.data, blob.length);
        char hash[ST_HASH_TEXT];
        if (!json_text.failed) {
            st_hash_of(json_text.data, json_text.length, hash);
            st_text_addf(out, HEAD_FORMAT, hash, (unsigned long long)json_length,
                         (unsigned long long)blob.length);
            st_text_add_bytes(out, json_text.data, json_text.length);
        }
        if (json_text.failed || out->failed)
            code = st_fail_memory(error, "writing the compile cache");
    }
    json_decref(json);
    st_text_release(&blob);
    st_text_release(&json_text);
    return code;
}

st_code st_cache_write(const char *folder, const char *key, const st_compiled *compiled,
                       st_error *error) {
    st_text text;
    st_text_init(&text);
    char *path = file_path(folder, key);
    char *temporary = path ? st_format("%s.%ld", path, (long)getpid()) : NULL;
    st_code code = temporary ? file_text(compiled, &text, error)
                             : st_fail_memory(error, "writing the compile cache");
    bool written = !code && write_whole(temporary, &text);
    if (written && (st_fault_here(ST_FAULT_SYSTEM) ? (errno = EACCES, -1) : rename(temporary, path)) != 0)
        written = false;
    if (!code && !written) {
        code = st_fail(error, ST_FAILED, "make room there, or choose another cache folder",
                       "cannot write %s: %s", path, strerror(errno));
        unlink(temporary);
    }
    st_free(temporary);
    st_free(path);
    st_text_release(&text);
    return code;
}

// --- trimming
// --------------------------------------------------------------------------------------

typedef struct cached_file {
    char *name;
    int64_t bytes;
    struct timespec used;
} cached_file;

static int by_age(const void *a, const void *b) {
    const cached_file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_ours(const char *name) {
    return strspn(name, "0123456789abcdef") == ST_HASH_TEXT - 1 &&
           strncmp(name + ST_HASH_TEXT - 1, ".compiled", 9) == 0;
}

// Lists our files; *total is their size. What cannot be listed is left alone.
static cached_file *list_files(DIR *opened, size_t *count, int64_t *total) {
    cached_file *files = NULL;
    size_t capacity = 0;
    for (struct dirent *entry; (entry = readdir(opened));) {
        struct stat status;
        if (!is_ours(entry->d_name) ||
            fstatat(dirfd(opened), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        cached_file *more = st_grow(files, &capacity, *count + 1, sizeof *files);
        char *name = st_strdup(entry->d_name);
        if (more)
            files = more;
        if (!more || !name) {
            st_free(name);
            break;
        }
        files[(*count)++] = (cached_file){name, (int64_t)status.st_size, status.st_mtim};
        *total += (int64_t)status.st_size;
    }
    return files;
}

void st_cache_trim(const char *folder, int64_t most_bytes) {
    DIR *opened = opendir(folder);
    if (!opened)
        return;
    size_t count = 0;
    int64_t total = 0;
    cached_file *files = list_files(opened, &count, &total);
    if (files)
        qsort(files, count, sizeof *files, by_age);
    for (size_t i = 0; i < count; ++i) {
        if (total > most_bytes && unlinkat(dirfd(opened), files[i].name, 0) == 0)
            total -= files[i].bytes;
        st_free(files[i].name);
    }
    st_free(files);
    closedir(opened);
}
