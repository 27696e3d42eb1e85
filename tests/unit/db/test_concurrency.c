// SPDX-License-Identifier: Apache-2.0
// Several processes on one store: four writers at once lose nothing, four that make the file at once agree,
// a reader sees whole candidates only, a long lock ends in a clear message, and a writer that is killed at
// any moment loses at most the candidate in flight.
#include "fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define WRITERS 4
#define CANDIDATES 25

// Adds a session with `count` candidates; tells each committed one over `fd` (when not negative).
static int writer(const char *path, int name, int count, int fd)
{
    st_error error = {0};
    st_store *store;
    st_session_row session;
    int64_t problem, candidate;
    char uuid[32];
    snprintf(uuid, sizeof uuid, "GPU-%d", name % 2); // rows that several want to make
    if (st_store_open(path, ST_STORE_WRITE, &store, &error) != ST_OK ||
        add_session(store, "reduce", uuid, "580", &session, &error) != ST_OK) {
        fprintf(stderr, "writer %d: %s\n", name, error.what);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        char configuration[32];
        snprintf(configuration, sizeof configuration, "BLOCK=%d", i);
        if (add_candidate(store, &session, 1024, configuration, 10 + i, &problem, &candidate,
                          &error) != ST_OK) {
            fprintf(stderr, "writer %d: %s\n", name, error.what);
            return 1;
        }
        if (fd >= 0 && write(fd, "+", 1) != 1)
            return 1;
    }
    st_code code = st_store_session_end(store, session.key, ST_SESSION_FINISHED, NULL, &error);
    st_store_close(store);
    return code == ST_OK ? 0 : 1;
}

static int wait_for(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A candidate is whole when it has its measurement, both counters and its stall lines.
static void assert_whole(st_store *store)
{
    int64_t candidates = number(store, "SELECT count(*) FROM candidate");
    assert_int_equal(number(store, "SELECT count(*) FROM measurement"), candidates);
    assert_int_equal(number(store, "SELECT count(*) FROM counter"), 2 * candidates);
    assert_int_equal(number(store, "SELECT count(*) FROM stall_lines"), candidates);
    assert_sound(store);
}

static void four_writers_lose_nothing(void **state)
{
    (void)state;
    const char *path = in_folder("four.db"); // they make the file themselves
    pid_t children[WRITERS];
    fflush(NULL);
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(writer(path, i, CANDIDATES, -1));
    }
    // A reader in between sees whole candidates only.
    st_store *reader = NULL;
    for (int tries = 0; tries < 2000 && !reader; tries++) {
        if (st_store_open(path, ST_STORE_READ, &reader, NULL) != ST_OK)
            usleep(5000);
    }
    assert_non_null(reader);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(number(reader, "SELECT (SELECT count(*) FROM candidate) ="
                                        " (SELECT count(*) FROM measurement) AND"
                                        " (SELECT count(*) FROM candidate) * 2 ="
                                        " (SELECT count(*) FROM counter)"),
                         1);
        usleep(2000);
    }
    st_store_close(reader);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(wait_for(children[i]), 0);
    st_store *store = open_store(path, ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM candidate"), WRITERS * CANDIDATES);
    assert_int_equal(number(store, "SELECT count(*) FROM configuration"), CANDIDATES);
    assert_int_equal(number(store, "SELECT count(*) FROM device"), 2);
    assert_int_equal(number(store, "SELECT count(*) FROM problem"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM session WHERE status = 'finished'"),
                     WRITERS);
    assert_whole(store);
    st_store_close(store);
}

static void a_long_lock_ends_in_a_clear_message(void **state)
{
    (void)state;
    st_error error = {0};
    int64_t key;
    st_store *holder = open_store(in_folder("held.db"), ST_STORE_WRITE), *waiter;
    assert_ok(st_store_begin(holder, &error), error);
    st_store_options options = current_options(50);
    assert_ok(st_store_open_with(in_folder("held.db"), ST_STORE_WRITE, &options, &waiter, &error),
              error);
    assert_int_equal(st_store_problem(waiter, "r", "x", NULL, NULL, -1, &key, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "locked by another program for 0.05 s"));
    assert_non_null(strstr(error.what, "held.db"));
    assert_non_null(strstr(error.remedy, "wait"));
    assert_ok(st_store_commit(holder, &error), error);
    assert_ok(st_store_problem(waiter, "r", "x", NULL, NULL, -1, &key, &error),
              error); // and goes on
    st_store_close(waiter);
    st_store_close(holder);
    // Not ours and not in WAL mode: an exclusive lock on a new file.
    sqlite3 *raw;
    assert_int_equal(sqlite3_open(in_folder("new.db"), &raw), SQLITE_OK);
    assert_int_equal(sqlite3_exec(raw, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(
        st_store_open_with(in_folder("new.db"), ST_STORE_WRITE, &options, &waiter, &error),
        ST_FAILED);
    assert_non_null(strstr(error.what, "locked by another program"));
    sqlite3_exec(raw, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(raw);
}

static void a_waiting_writer_gets_its_turn(void **state)
{
    (void)state;
    st_error error = {0};
    const char *path = in_folder("turn.db");
    int pipes[2];
    char go;
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    pid_t child = fork(); // before the store is opened: SQLite's connections do not survive a fork
    if (child == 0)
        _exit(read(pipes[0], &go, 1) == 1 ? writer(path, 0, 1, -1) : 1);
    st_store *holder = open_store(path, ST_STORE_WRITE);
    assert_ok(st_store_begin(holder, &error), error);
    assert_int_equal(write(pipes[1], "+", 1), 1);
    usleep(100000);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0); // waits
    assert_ok(st_store_commit(holder, &error), error);
    assert_int_equal(wait_for(child), 0);
    assert_int_equal(number(holder, "SELECT count(*) FROM candidate"), 1);
    st_store_close(holder);
    close(pipes[0]);
    close(pipes[1]);
}

static void a_killed_writer_loses_only_what_is_in_flight(void **state)
{
    (void)state;
    const char *path = in_folder("killed.db");
    unsigned seed = 1;
    int64_t told = 0, trials = 20;
    for (int trial = 0; trial < trials; trial++) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            close(pipes[0]);
            _exit(writer(path, trial, 100000, pipes[1]));
        }
        close(pipes[1]);
        // Random moments: some before the first candidate, most amid them.
        seed = seed * 1103515245 + 12345;
        usleep(seed / 65536 % 60000);
        kill(child, SIGKILL);
        assert_int_equal(wait_for(child), 128 + SIGKILL);
        char block[4096];
        int64_t committed = 0;
        ssize_t got;
        while ((got = read(pipes[0], block, sizeof block)) > 0)
            committed += got;
        close(pipes[0]);
        st_store *store = open_store(path, ST_STORE_WRITE); // recovers
        int64_t kept = number(store, "SELECT count(*) FROM candidate");
        // All that it said it had committed, and at most one that it could not tell of.
        assert_true(kept == told + committed || kept == told + committed + 1);
        told = kept;
        assert_whole(store);
        st_store_close(store);
    }
    assert_true(told > 0);
    st_store *store = open_store(path, ST_STORE_READ);
    st_session_row session;
    st_error error = {0};
    assert_ok(st_store_session_unfinished(store, "key", &session, &error), error); // can be resumed
    st_session_row_release(&session);
    st_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_writers_lose_nothing),
        cmocka_unit_test(a_long_lock_ends_in_a_clear_message),
        cmocka_unit_test(a_waiting_writer_gets_its_turn),
        cmocka_unit_test(a_killed_writer_loses_only_what_is_in_flight),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
