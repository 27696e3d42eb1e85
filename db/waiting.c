// SPDX-License-Identifier: Apache-2.0
// Waiting for other programs. Invariants: 1. SQLite waits nowhere but in wait_more(), so every wait is
// said (once, after a moment), can be ended, and has an end; 2. who holds the store is asked of the kernel
// (/proc/locks) and only ever told: nothing is decided by it; 3. the files that SQLite locks are never opened
// here: closing them would drop this process's locks.
//
// States of a wait:  begun ──► said (after MOMENT) ──► got it
//                      │            │
//                      └────────────┴──► gave up (patience is over) or stopped (the listener said so, and
//                                        GRACE is over: writers are quick, so one Ctrl-C loses nothing)
//
// Checkpoints: a candidate with its counters changes some 50 pages, of which the next one changes most again, so the
// write-ahead log is brought into the file from CHECKPOINT_PAGES (32 MB) on, not from SQLite's 1000. That waits for
// nobody, and lets the log grow as long as readers overlap. From WAL_MOST bytes on a writer also waits a little for
// the readers that are in its way, so that the log begins anew.
#include "db/store_internal.h"

#include "db/locking.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

static const double moment = 2, grace = 1, readers_wait = 0.25; // seconds
enum { CHECKPOINT_PAGES = 8000, WAL_MOST = 64 << 20 };
static st_store_listener default_listener;

// --- patience ------------------------------------------------------------------------------------------------
st_code st_waiting_patience(int *patience_ms, st_error *error)
{
    const char *wish = getenv("SIMTUNE_DB_PATIENCE");
    *patience_ms = ST_STORE_PATIENCE_MS;
    if (!wish || !*wish)
        return ST_OK;
    char *end = NULL;
    double seconds = strtod(wish, &end);
    if (*end || !(seconds >= 0 && seconds <= 1e6))
        return st_fail(error, ST_USAGE, "set it to a number of seconds, 0 for not at all, or unset it (30 s)",
                       "SIMTUNE_DB_PATIENCE=%.40s is no time to wait for other writers", wish);
    *patience_ms = (int)(seconds * 1000);
    return ST_OK;
}

void st_store_be_patient(st_store *store, int times)
{
    store->waiting.times = times > 1 ? times : 1;
}

double st_store_longest_wait(const st_store *store)
{
    return store->waiting.longest;
}

void st_store_listen(st_store *store, const st_store_listener *listener)
{
    if (store)
        store->waiting.listener = listener ? *listener : default_listener;
    else
        default_listener = listener ? *listener : (st_store_listener){0};
}

static double patience(const st_store *store)
{
    return store->patience_ms / 1000.0 * (store->waiting.times > 1 ? store->waiting.times : 1);
}

// --- who holds it --------------------------------------------------------------------------------------------
// The bytes that SQLite locks: of FILE-shm the writer's, or of the main file those of the rollback journal.
enum { WAL_WRITER = 120, MAIN_FIRST = 0x40000000, MAIN_LAST = MAIN_FIRST + 511 };

static pid_t holder_of(const struct stat *file, long long first, long long last)
{
    FILE *locks = fopen("/proc/locks", "re");
    char line[160];
    pid_t found = 0;
    bool of_device = false, writes = false;
    while (locks && fgets(line, sizeof line, locks)) {
        char mode[8], end_text[32];
        int pid;
        unsigned major_number, minor_number;
        unsigned long long inode;
        long long start;
        if (sscanf(line, "%*s POSIX %*s %7s %d %x:%x:%llu %lld %31s", mode, &pid, &major_number, &minor_number,
                   &inode, &start, end_text) != 7 ||
            inode != file->st_ino || pid <= 0 || pid == getpid())
            continue;
        long long end = strcmp(end_text, "EOF") == 0 ? last : atoll(end_text);
        if (end < first || start > last)
            continue;
        // Devices are told differently on some file systems: there the inode must do.
        bool same = major_number == major(file->st_dev) && minor_number == minor(file->st_dev);
        bool write = strcmp(mode, "WRITE") == 0;
        if (!found || (same && !of_device) || (same == of_device && write && !writes)) {
            found = pid;
            of_device = same;
            writes = write;
        }
    }
    if (locks)
        fclose(locks);
    return found;
}

void st_waiting_holder(const st_store *store, char *out, size_t capacity)
{
    snprintf(out, capacity, "another program");
    const char *path = store->db ? sqlite3_db_filename(store->db, "main") : NULL;
    char *shm = path && *path ? st_format("%s-shm", path) : NULL;
    struct stat status;
    pid_t pid = shm && stat(shm, &status) == 0 ? holder_of(&status, WAL_WRITER, WAL_WRITER) : 0;
    if (!pid && shm && stat(path, &status) == 0 && strcmp(store->journal, "wal") != 0)
        pid = holder_of(&status, MAIN_FIRST, MAIN_LAST);
    st_free(shm);
    if (!pid)
        return;
    char place[64], command[200] = "";
    snprintf(place, sizeof place, "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(place, "re");
    size_t length = file ? fread(command, 1, sizeof command - 1, file) : 0;
    if (file)
        fclose(file);
    while (length > 0 && command[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++) // another user's words must not steer a terminal
        if (iscntrl((unsigned char)command[i]))
            command[i] = command[i] == '\0' ? ' ' : '?';
    snprintf(out, capacity, "process %d%s%s%s", (int)pid, length ? " (" : "", command, length ? ")" : "");
}

// --- one wait ------------------------------------------------------------------------------------------------
static void say(st_store *store, double waited)
{
    st_waiting *wait = &store->waiting;
    char holder[300], text[1400];
    if (!wait->listener.note || waited < wait->say_at)
        return;
    bool first = !wait->said;
    double then = store->patience_ms / 1000.0, soon = 2 * wait->moment;
    wait->said = true;
    wait->say_at = !first ? 2 * wait->say_at : then > soon ? then : soon;
    st_waiting_holder(store, holder, sizeof holder);
    snprintf(text, sizeof text, "%swaiting for the store %.800s: %s holds it%s", first ? "" : "still ",
             store->path, holder, first ? "" : "; what was measured is kept in memory meanwhile");
    wait->listener.note(wait->listener.context, text);
}

static bool is_over(st_store *store, double now)
{
    st_waiting *wait = &store->waiting;
    double waited = now - wait->began;
    if (wait->for_readers)
        return waited >= readers_wait;
    if (wait->listener.stop && wait->listener.stop(wait->listener.context)) {
        if (wait->stopping_since == 0)
            wait->stopping_since = now;
        wait->stopped = now - wait->stopping_since >= grace;
    }
    return wait->stopped || waited >= patience(store);
}

static int wait_more(void *context, int times_before)
{
    st_store *store = context;
    st_waiting *wait = &store->waiting;
    double now = st_clock_seconds();
    if (times_before == 0) {
        wait->began = now;
        wait->say_at = wait->moment;
        wait->said = false;
        wait->stopping_since = 0;
        wait->stopped = false;
    }
    if (is_over(store, now))
        return 0;
    if (!wait->for_readers)
        say(store, now - wait->began);
    // Not all at the same moment: two that wait would meet again and again.
    long most_us = times_before < 10 ? 1000 * (times_before + 1) : 10000;
    wait->random = wait->random * 1103515245u + 12345u;
    long us = most_us / 2 + (long)(wait->random / 65536u) % most_us;
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
    double waited = st_clock_seconds() - wait->began;
    if (waited > wait->longest && !wait->for_readers)
        wait->longest = waited;
    return 1;
}

bool st_waiting_again(st_store *store, int times_before)
{
    return wait_more(store, times_before) == 1;
}

st_code st_waiting_fail(const st_store *store, const char *doing, st_error *error)
{
    char holder[300];
    st_waiting_holder(store, holder, sizeof holder);
    if (store->waiting.stopped)
        return st_fail(error, ST_INTERRUPTED, "run the same command again when the store is free",
                       "interrupted while waiting for the store %.600s, which %s holds (%s)", store->path, holder,
                       doing);
    return st_fail(error, ST_FAILED,
                   "wait until the other program is done and run the same command again, have more patience "
                   "(SIMTUNE_DB_PATIENCE=SECONDS), or name another store with --db",
                   "the store %.600s stayed locked by %s for %g s (%s)", store->path, holder, patience(store),
                   doing);
}

// --- checkpoints ---------------------------------------------------------------------------------------------
static int after_commit(void *context, sqlite3 *db, const char *name, int pages)
{
    st_store *store = context;
    st_waiting *wait = &store->waiting;
    int64_t bytes = (int64_t)pages * wait->page_bytes;
    if (bytes < wait->wal_most) // it began anew, by whoever
        wait->checkpoint_at = 0;
    bool with_patience = bytes >= wait->wal_most && bytes >= wait->checkpoint_at &&
                         sqlite3_txn_state(db, NULL) == SQLITE_TXN_NONE;
    if (!with_patience) {
        if (pages >= CHECKPOINT_PAGES)
            sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        return SQLITE_OK; // what could not be copied now is copied later
    }
    wait->for_readers = true;
    int rc = sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    wait->for_readers = false;
    // A reader that stays must not cost every commit the wait.
    wait->checkpoint_at = rc == SQLITE_OK ? 0 : bytes + wait->wal_most / 4;
    return SQLITE_OK;
}

st_code st_waiting_use_checkpoints(st_store *store, st_error *error)
{
    char sql[80];
    int64_t bytes = 0;
    st_statement statement;
    snprintf(sql, sizeof sql, "PRAGMA journal_size_limit = %d", WAL_MOST);
    st_code code = st_script_run(store, sql, "setting up", error);
    if (code != ST_OK)
        return code;
    code = st_statement_open(store, &statement, "PRAGMA page_size", "setting up", error);
    if (code == ST_OK)
        code = st_statement_number(&statement, &bytes, NULL, error);
    st_statement_close(&statement);
    store->waiting.page_bytes = (int)bytes;
    if (code == ST_OK)
        sqlite3_wal_hook(store->db, after_commit, store);
    return code;
}

// --- beginning -----------------------------------------------------------------------------------------------
void st_waiting_install(st_store *store)
{
    st_waiting *wait = &store->waiting;
    wait->random = (unsigned)getpid() * 2654435761u + (unsigned)st_clock_unix_ms();
    sqlite3_busy_handler(store->db, wait_more, store);
}

void st_waiting_begin(st_store *store)
{
    store->waiting =
        (st_waiting){.listener = default_listener, .times = 1, .moment = moment, .wal_most = WAL_MOST};
    store->running_fd = store->kept_fd = -1;
}
