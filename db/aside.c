// SPDX-License-Identifier: Apache-2.0
// A new store that is made beside its name. Invariants: 1. at its name there is a whole store or none: it is put there when
// it is closed and nothing stands beside it any more; 2. a store that another program put there meanwhile stays.
#include "db/store_internal.h"

#include "tuner/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void st_store_remove(const char *path)
{
    unlink(path);
    for (const char *const *ending = st_database_endings; *ending; ending++) {
        char *name = st_format("%s%s", path, *ending);
        if (name)
            unlink(name);
        st_free(name);
    }
}

const char *st_store_file(const st_store *store)
{
    return store->aside ? store->aside : store->path;
}

st_code st_aside_name(st_store *store, st_error *error)
{
    struct stat status;
    if (lstat(store->path, &status) == 0) // made by another program since we looked, or a link to nothing
        return ST_OK;
    store->aside = st_format("%s.making-%ld", store->path, (long)getpid());
    if (!store->aside)
        return st_fail_memory(error, "opening the store");
    st_store_remove(store->aside); // of a process long gone
    return ST_OK;
}

st_code st_store_open_aside(const char *path, st_store **out, st_error *error)
{
    st_store_options options = {.migrations = st_migrations, .migration_count = st_migration_count};
    *out = NULL;
    st_code code = st_waiting_patience(&options.patience_ms, error);
    return code == ST_OK ? st_store_open_as(path, ST_STORE_WRITE, &options, true, out, error) : code;
}

// Never over a file that is there.
static bool move(const char *from, const char *to)
{
    if (st_fault_here(ST_FAULT_SYSTEM)) {
        errno = EIO;
        return false;
    }
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    if (link(from, to) == 0) // a file system or a kernel that knows no better
        return unlink(from) == 0;
    return errno != EEXIST && access(to, F_OK) != 0 && rename(from, to) == 0;
}

st_code st_store_settle(st_store *store, st_code code, st_error *error)
{
    if (!store || !store->aside) {
        st_store_close(store);
        return code;
    }
    char *aside = store->aside, *path = st_strdup(store->path);
    store->aside = NULL;
    st_store_close(store);
    if (code == ST_OK && !path)
        code = st_fail_memory(error, "keeping the store");
    if (code == ST_OK && !move(aside, path))
        code = errno == EEXIST
                   ? st_fail(error, ST_FAILED, "run the same command again: it adds to that one",
                             "another program made the store %s meanwhile", path)
                   : st_fail(error, ST_FAILED, "choose a place that can be written, with room on its disk",
                             "cannot make the store %s: %s", path, strerror(errno));
    if (code != ST_OK)
        st_store_remove(aside);
    st_free(aside);
    st_free(path);
    return code;
}
