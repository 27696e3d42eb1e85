// SPDX-License-Identifier: Apache-2.0
// The file as a whole: copies of it while others write, and its size. Promise: a copy is of one moment, checked
// before it stands at its name, and never over the store itself; the store is only read, but for vacuum.
#ifndef SIMTUNE_DB_BACKUP_H
#define SIMTUNE_DB_BACKUP_H

#include "db/store.h"

// Copies the store at `path` (any version up to this simtune's, as it is) to `target`. ST_USAGE when `target` exists
// and `replace` is false, or is the store itself.
st_code st_store_backup(const char *path, const char *target, bool replace, int64_t *bytes, st_error *error);

// Gives back the room of deleted rows. Refuses a store that is not sound, and one that others keep open.
st_code st_store_vacuum(st_store *store, int64_t *bytes_before, int64_t *bytes_after, st_error *error);

#endif
