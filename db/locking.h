// SPDX-License-Identifier: Apache-2.0
// Several programs on one store: how they wait for each other, which sessions run now, and the file system
// below. Promise: a wait is said, can be ended, and ends by itself; two processes never write one session;
// a store is written only where locks work, or where the user has said that nobody else writes.
#ifndef SIMTUNE_DB_LOCKING_H
#define SIMTUNE_DB_LOCKING_H

#include "db/store.h"

// --- waiting for other writers ---------------------------------------------------------------------------
typedef struct st_store_listener {
    void *context;
    void (*note)(void *context, const char *text); // what the user should know while waiting; may be NULL
    bool (*stop)(void *context);                   // asked while waiting; true ends the wait; may be NULL
} st_store_listener;
// For one store; with NULL for every store that is opened from now on (set before there are threads).
// `listener` NULL: for a store those of all stores again, for all stores none. A wait that `stop` ended fails with ST_INTERRUPTED.
void st_store_listen(st_store *store, const st_store_listener *listener);
// Waits so many times longer than SIMTUNE_DB_PATIENCE (seconds, 30 by default): for what would be costly to
// lose. What was measured stays in memory meanwhile.
void st_store_be_patient(st_store *store, int times);
// The longest wait for others so far, in seconds.
double st_store_longest_wait(const st_store *store);

// --- sessions that run now -------------------------------------------------------------------------------
// A running session is claimed by its process. The claim is a lock of the kernel's: it ends with the process,
// however that ends. A store in memory has nobody to share with: every claim is granted.
// *mine false: another process (or another open store) holds it.
st_code st_store_session_claim(st_store *store, const char *session_id, bool *mine, st_error *error);
void st_store_session_release(st_store *store, const char *session_id); // also by st_store_close
// Whether some process runs this session now.
st_code st_store_session_is_live(st_store *store, const char *session_id, bool *live, st_error *error);
// The newest unfinished session with this key that nobody runs, claimed; ST_NOTHING (quietly) when none.
// *running: how many there are that somebody runs. Call it inside a transaction.
st_code st_store_session_resume(st_store *store, const char *resume_key, st_session_row *row,
                                size_t *running, st_error *error);
// When the newest session of the store itself (not shipped) began; -1: there is none.
st_code st_store_newest_ms(st_store *store, int64_t *newest_ms, st_error *error);

// --- the file system below -------------------------------------------------------------------------------
typedef enum st_locks {
    ST_LOCKS_UNTRIED, // of this machine's own file systems they are known to work
    ST_LOCKS_WORK,
    ST_LOCKS_REFUSED, // the file system refuses to lock
    ST_LOCKS_IGNORED, // two processes were granted one lock
    ST_LOCKS_LOCAL    // mounted so that other hosts do not see them
} st_locks;
typedef struct st_file_place {
    char file_system[32]; // "ext4", "nfs4", "fuse.sshfs"; "memory"; "" unknown
    char source[128];     // "server:/export"; "" unknown
    bool shared;          // other hosts may have the same file
    st_locks locks;
    int locks_errno;      // why they were refused
    bool memory_maps;     // processes can share memory here: what a write-ahead log needs
    char journal[12];     // of an open store: "wal", "truncate", "delete", "memory" …; else ""
} st_file_place;
st_code st_store_place(st_store *store, st_file_place *out, st_error *error);
// The same for a path (NULL: the default store), there or not; tries locks where the file system is not this
// machine's own and the folder can be written. `where` (may be NULL) gets the path.
st_code st_place_examine(const char *path, st_file_place *out, st_text *where, st_error *error);
// Whether a store can be written there: ST_OK, or the error that opening it for writing gives.
st_code st_place_may_write(const st_file_place *place, const char *path, st_error *error);

#endif
