// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. a user's store gets the shipped history once, and again when other files ship; 2. nothing here fails
// because the cache cannot be written: then the history is read into memory.
#include "tuner/cli/shipped.h"

#include "tuner/base/hash.h"
#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/base/version.h"
#include "tuner/cli/cli.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_history(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 9 && strcmp(entry->d_name + length - 9, ".jsonl.gz") == 0;
}

// None: a program installed without history still works.
static int list_shipped(st_text *folder, struct dirent ***files)
{
    return st_paths_shipped("db/history", folder, NULL) == ST_OK
               ? scandir(st_text_string(folder), files, is_history, alphasort)
               : 0;
}

// "off": a store of one's own measurements alone.
static bool is_off(void)
{
    const char *wish = getenv("SIMTUNE_SHIPPED_HISTORY");
    return wish && strcmp(wish, "off") == 0;
}

st_code st_cli_import_shipped(st_store *store, st_error *error)
{
    if (is_off())
        return ST_OK;
    st_text folder, path;
    st_text_init(&folder);
    st_text_init(&path);
    struct dirent **files = NULL;
    int count = list_shipped(&folder, &files);
    st_code code = ST_OK;
    for (int i = 0; i < count; i++) {
        size_t added;
        st_text_clear(&path);
        st_text_addf(&path, "%s/%s", st_text_string(&folder), files[i]->d_name);
        if (code == ST_OK)
            code = st_history_import(store, st_text_string(&path), true, &added, error);
        free(files[i]);
    }
    free(files);
    st_text_release(&path);
    st_text_release(&folder);
    return code;
}

static st_code see_shipped(void *context, const st_answer *answer, st_error *error)
{
    (void)error;
    *(bool *)context = *(bool *)context || answer->shipped;
    return ST_OK;
}

// What names the shipped files as they are now: names and sizes. A file beside the store keeps it, since
// reading them all takes a second.
static void shipped_mark(st_text *out)
{
    st_text folder;
    st_text_init(&folder);
    struct dirent **files = NULL;
    int count = list_shipped(&folder, &files);
    for (int i = 0; i < count; i++) {
        char *path = st_format("%s/%s", st_text_string(&folder), files[i]->d_name);
        struct stat status;
        long long size = path && stat(path, &status) == 0 ? (long long)status.st_size : -1;
        st_text_addf(out, "%s %lld\n", files[i]->d_name, size);
        st_free(path);
        free(files[i]);
    }
    free(files);
    st_text_release(&folder);
}

// Brings the shipped history into the user's store unless it is there as it ships now.
st_code st_shipped_bring(st_store *store, st_error *error)
{
    st_query any = {.cc = -1, .sm_count = -1, .n = -1, .since_ms = -1, .shipped = true, .best = true, .limit = 1};
    bool there = false;
    if (is_off())
        return ST_OK;
    st_text mark, old;
    st_text_init(&mark);
    st_text_init(&old);
    shipped_mark(&mark);
    char *place = st_format("%s.shipped", st_store_path(store));
    st_code code = place ? st_store_query(store, &any, see_shipped, &there, error)
                         : st_fail_memory(error, "opening the store");
    bool same = place && st_text_read_file(&old, place, NULL) == ST_OK &&
                strcmp(st_text_string(&old), st_text_string(&mark)) == 0;
    if (code == ST_OK && mark.length && !(there && same)) {
        code = st_cli_import_shipped(store, error);
        if (code == ST_OK) // without the mark the next run only reads them once more
            (void)st_text_write_file(place, st_text_string(&mark), mark.length, NULL, NULL);
    }
    st_free(place);
    st_text_release(&old);
    st_text_release(&mark);
    return code;
}

// --- for those who have no store -------------------------------------------------------------------------------

static void forget(st_store **store)
{
    st_store_close(*store);
    *store = NULL;
}

static st_code open_in_memory(st_store **out, st_error *error)
{
    st_code code = st_store_open(":memory:", ST_STORE_WRITE, out, error);
    if (code == ST_OK && (code = st_cli_import_shipped(*out, error)) != ST_OK)
        forget(out);
    return code;
}

// Named by what ships and by the version of the program that made it. NULL: nothing ships, or no
// memory.
static char *cached_path(void)
{
    st_text mark, folder;
    char hash[ST_HASH_TEXT];
    st_text_init(&mark);
    st_text_init(&folder);
    shipped_mark(&mark);
    char *path = NULL;
    if (mark.length && st_paths_cache(&folder, NULL) == ST_OK) {
        st_text_add(&mark, SIMTUNE_VERSION);
        st_hash_of(st_text_string(&mark), mark.length, hash);
        if (!mark.failed)
            path = st_format("%s/shipped-%.16s.db", st_text_string(&folder), hash);
    }
    st_text_release(&mark);
    st_text_release(&folder);
    return path;
}

static bool is_cached(const char *name)
{
    size_t length = strlen(name);
    return strncmp(name, "shipped-", 8) == 0 && length > 11 && strcmp(name + length - 3, ".db") == 0;
}

// Caches of what shipped before. One of them stays, the newest: two programs may be in use by turns. A reader that has one
// open keeps it.
static void remove_older(const char *path)
{
    const char *own = st_text_file_name(path);
    char *folder = st_strndup(path, (size_t)(own - path)), newest[256] = "";
    struct stat status, best = {0};
    for (int removing = 0; folder && removing < 2; removing++) {
        DIR *directory = opendir(folder);
        for (struct dirent *entry; directory && (entry = readdir(directory));) {
            char *file = is_cached(entry->d_name) && strcmp(entry->d_name, own) != 0
                             ? st_format("%s%s", folder, entry->d_name) : NULL;
            if (file && removing && strcmp(entry->d_name, newest) != 0) {
                st_store_remove(file);
            } else if (file && !removing && stat(file, &status) == 0 && status.st_mtime >= best.st_mtime) {
                best = status;
                snprintf(newest, sizeof newest, "%s", entry->d_name);
            }
            st_free(file);
        }
        if (directory)
            closedir(directory);
    }
    st_free(folder);
}

// Under a name of its own until it is whole, so that two programs may make it at once.
static bool make_cached(const char *path)
{
    st_store *store = NULL;
    char *making = st_format("%s.%ld", path, (long)getpid());
    bool made = making && st_store_open(making, ST_STORE_WRITE, &store, NULL) == ST_OK &&
                st_store_hurry(store, NULL) == ST_OK && st_cli_import_shipped(store, NULL) == ST_OK;
    st_store_close(store);
    made = made && rename(making, path) == 0;
    if (made)
        remove_older(path);
    if (making && !made)
        st_store_remove(making);
    st_free(making);
    return made;
}

st_code st_shipped_open_made(st_store **out)
{
    char *path = is_off() ? NULL : cached_path();
    struct stat status;
    bool there = path && stat(path, &status) == 0 && status.st_size > 0;
    st_code code = there ? st_store_open(path, ST_STORE_READ, out, NULL) : ST_NOTHING;
    st_free(path);
    return code == ST_OK ? code : ST_NOTHING;
}

st_code st_shipped_open(st_store **out, st_error *error)
{
    char *path = is_off() ? NULL : cached_path();
    struct stat status; // an empty file would pass for a store without rows
    bool there = path && ((stat(path, &status) == 0 && status.st_size > 0) || make_cached(path));
    st_code code = there ? st_store_open(path, ST_STORE_READ, out, NULL) : ST_NOTHING;
    if (there && code != ST_OK)
        unlink(path); // a cache: it is made anew
    st_free(path);
    return code == ST_OK ? code : open_in_memory(out, error);
}
