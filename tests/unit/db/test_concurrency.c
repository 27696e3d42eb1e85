// SPDX-License-Identifier: Apache-2.0
// Several processes on one store: four writers at once lose nothing, four that make the file at once agree,
// a reader sees whole candidates only, a long lock ends in a clear message, and a writer that is killed at
// any moment loses at most the candidate in flight. A wait is said once and can be ended; the write-ahead log
// stays small beside readers that overlap. What a writer waited at worst is printed, not judged.
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

static int random_below(unsigned *seed, int most)
{
    *seed = *seed * 1103515245 + 12345;
    return (int)(*seed / 65536 % (unsigned)most);
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

// --- with pauses, beside slow readers -------------------------------------------------------------------------
enum { MOST_WRITERS = 5, SLOW_CANDIDATES = 60, MOST_READERS = 3, BIG_SAMPLES = 6000, WAL_LIMIT = 1 << 20 };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Inserts candidates of many samples, with random pauses, and tells its longest wait for the store.
static int pausing_writer(const char *path, int name, int pause_us, int fd)
{
    static double samples[BIG_SAMPLES];
    st_error error = {0};
    st_store *store;
    st_session_row session;
    unsigned seed = (unsigned)name + 1;
    double longest = 0;
    if (st_store_open(path, ST_STORE_WRITE, &store, &error) != ST_OK ||
        add_session(store, "reduce", "GPU-1", "580", &session, &error) != ST_OK)
        return 1;
    store->waiting.wal_most = WAL_LIMIT;
    for (int i = 0; i < SLOW_CANDIDATES; i++) {
        int64_t problem, candidate;
        char configuration[32];
        snprintf(configuration, sizeof configuration, "BLOCK=%d", i);
        if (pause_us)
            usleep((useconds_t)random_below(&seed, pause_us));
        double before = seconds_now();
        st_code code = st_store_begin(store, &error);
        double waited = seconds_now() - before;
        longest = waited > longest ? waited : longest;
        if (code == ST_OK)
            code = add_candidate(store, &session, 1024, configuration, 10 + i, &problem, &candidate, &error);
        if (code == ST_OK) {
            st_measurement_row more = some_measurement(candidate, "halving", 1, "cold", samples, BIG_SAMPLES);
            code = st_store_measurement(store, &more, &error);
        }
        code = st_store_finish(store, code, &error);
        if (code != ST_OK) {
            fprintf(stderr, "writer %d: %s\n", name, error.what);
            return 1;
        }
    }
    st_code code = st_store_session_end(store, session.key, ST_SESSION_FINISHED, NULL, &error);
    st_store_close(store);
    return code == ST_OK && write(fd, &longest, sizeof longest) == (ssize_t)sizeof longest ? 0 : 1;
}

// Stays in one read transaction for a while, again and again, until it is told to end.
static int slow_reader(const char *path, int name)
{
    unsigned seed = (unsigned)name + 100;
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        return 1;
    sqlite3_busy_timeout(db, 30000);
    for (;;) {
        if (sqlite3_exec(db, "BEGIN; SELECT count(*) FROM candidate;", NULL, NULL, NULL) != SQLITE_OK)
            return 1;
        usleep((useconds_t)(20000 + random_below(&seed, 80000)));
        if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
            return 1;
    }
}

// Until all writers have ended well. Returns the largest size of the log that was seen.
static off_t watch(pid_t *writers, int count, const char *wal)
{
    off_t largest = 0;
    for (int running = count; running > 0; usleep(1000)) {
        struct stat status;
        int end;
        if (stat(wal, &status) == 0 && status.st_size > largest)
            largest = status.st_size;
        for (int i = 0; i < count; i++)
            if (writers[i] > 0 && waitpid(writers[i], &end, WNOHANG) == writers[i]) {
                assert_int_equal(end, 0);
                writers[i] = 0;
                running--;
            }
    }
    return largest;
}

// Returns how much of the store's size the log reached at most.
static double compete(const char *path, int writer_count, int pause_us, int reader_count)
{
    char wal[300];
    int pipes[2];
    pid_t writers[MOST_WRITERS], readers[MOST_READERS];
    snprintf(wal, sizeof wal, "%s-wal", path);
    st_store_close(open_store(path, ST_STORE_WRITE));
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    for (int i = 0; i < reader_count; i++)
        if ((readers[i] = fork()) == 0)
            _exit(slow_reader(path, i));
    for (int i = 0; i < writer_count; i++)
        if ((writers[i] = fork()) == 0)
            _exit(pausing_writer(path, i, pause_us, pipes[1]));
    off_t largest = watch(writers, writer_count, wal);
    double longest = 0;
    for (int i = 0; i < writer_count; i++) {
        double one;
        assert_int_equal(read(pipes[0], &one, sizeof one), sizeof one);
        longest = one > longest ? one : longest;
    }
    for (int i = 0; i < reader_count; i++) {
        int status;
        assert_int_equal(waitpid(readers[i], &status, WNOHANG), 0); // none met an error
        kill(readers[i], SIGKILL);
        assert_int_equal(waitpid(readers[i], &status, 0), readers[i]);
    }
    close(pipes[0]);
    close(pipes[1]);
    struct stat whole;
    assert_int_equal(stat(path, &whole), 0);
    printf("%d writers beside %d slow readers: longest wait %.1f ms; log at most %.1f MiB, store %.1f MiB\n",
           writer_count, reader_count, longest * 1e3, (double)largest / (1 << 20),
           (double)whole.st_size / (1 << 20));
    return (double)largest / (double)whole.st_size;
}

static void writers_with_pauses_beside_slow_readers(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        const char *path = in_folder(slow ? "slow.db" : "busy.db");
        int writers = slow ? MOST_WRITERS : WRITERS;
        double share = compete(path, writers, slow ? 8000 : 0, slow ? MOST_READERS : 0);
        st_store *store = open_store(path, ST_STORE_READ);
        assert_int_equal(number(store, "SELECT count(*) FROM candidate"), writers * SLOW_CANDIDATES);
        assert_int_equal(number(store, "SELECT count(*) FROM measurement"), 2 * writers * SLOW_CANDIDATES);
        assert_int_equal(number(store, "SELECT count(*) FROM session WHERE status = 'finished'"), writers);
        assert_sound(store);
        // All that was written went through the log: without checkpoints that wait it holds more than the store.
        assert_true(share < 0.5);
        st_store_close(store);
    }
}

// On a file system of others: a rollback journal, where readers and writers wait for each other.
static void four_writers_with_a_rollback_journal(void **state)
{
    (void)state;
    const char *path = in_folder("rollback.db");
    setenv("SIMTUNE_FILE_SYSTEM", "nfs4", 1);
    pid_t children[WRITERS];
    fflush(NULL);
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(writer(path, i, 10, -1));
    }
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(wait_for(children[i]), 0);
    assert_int_equal(access(in_folder("rollback.db-wal"), F_OK), -1);
    st_store *store = open_store(path, ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM candidate"), WRITERS * 10);
    assert_whole(store);
    st_store_close(store);
    unsetenv("SIMTUNE_FILE_SYSTEM");
}

// --- waiting --------------------------------------------------------------------------------------------------
typedef struct listened {
    int notes;
    bool stop;
    char text[1400];
} listened;

static void hear(void *context, const char *text)
{
    listened *all = context;
    all->notes++;
    snprintf(all->text, sizeof all->text, "%s", text);
}

static bool wants_to_stop(void *context)
{
    return ((listened *)context)->stop;
}

// Holds the store until the pipe is closed.
static int hold(const char *path, int told_fd, int until_fd)
{
    st_store *store;
    char end;
    if (st_store_open(path, ST_STORE_WRITE, &store, NULL) != ST_OK || st_store_begin(store, NULL) != ST_OK ||
        write(told_fd, "+", 1) != 1)
        return 1;
    (void)!read(until_fd, &end, 1);
    st_store_close(store);
    return 0;
}

static void a_wait_is_said_once_and_can_be_ended(void **state)
{
    (void)state;
    st_error error = {0};
    int ready[2], until[2];
    int64_t key;
    char answer, process[32];
    static const char *const systems[] = {"ext4", "nfs4"}; // both journals
    for (int i = 0; i < 2; i++) {
        setenv("SIMTUNE_FILE_SYSTEM", systems[i], 1);
        const char *path = in_folder(systems[i]);
        st_store_close(open_store(path, ST_STORE_WRITE));
        assert_int_equal(pipe(ready), 0);
        assert_int_equal(pipe(until), 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            close(until[1]);
            _exit(hold(path, ready[1], until[0]));
        }
        close(until[0]);
        assert_int_equal(read(ready[0], &answer, 1), 1);
        listened all = {0};
        st_store *store;
        st_store_options options = current_options(300);
        assert_ok(st_store_open_with(path, ST_STORE_WRITE, &options, &store, &error), error);
        st_store_listen(store, &(st_store_listener){&all, hear, wants_to_stop});
        store->waiting.moment = 0.02;
        snprintf(process, sizeof process, "process %d (", (int)child);
        assert_int_equal(st_store_problem(store, "r", "x", NULL, NULL, -1, &key, &error), ST_FAILED);
        assert_int_equal(all.notes, 1);
        assert_non_null(strstr(all.text, path));
        assert_non_null(strstr(all.text, process));
        assert_non_null(strstr(error.what, process));
        assert_non_null(strstr(error.what, "for 0.3 s"));
        assert_non_null(strstr(error.remedy, "SIMTUNE_DB_PATIENCE"));
        // A run waits longer, and says why nothing is lost.
        st_store_be_patient(store, 3);
        all = (listened){0};
        assert_int_equal(st_store_problem(store, "r", "x", NULL, NULL, -1, &key, &error), ST_FAILED);
        assert_non_null(strstr(error.what, "for 0.9 s"));
        assert_true(all.notes >= 2);
        assert_non_null(strstr(all.text, "still waiting"));
        // Ctrl-C ends it, long before patience does.
        st_store_be_patient(store, 1000);
        all = (listened){.stop = true};
        assert_int_equal(st_store_problem(store, "r", "x", NULL, NULL, -1, &key, &error), ST_INTERRUPTED);
        assert_non_null(strstr(error.what, "interrupted while waiting"));
        // And when the other one ends, an interrupted writer still gets its turn.
        close(until[1]);
        assert_int_equal(wait_for(child), 0);
        assert_ok(st_store_problem(store, "r", "x", NULL, NULL, -1, &key, &error), error);
        st_store_close(store);
        close(ready[0]);
        close(ready[1]);
    }
    unsetenv("SIMTUNE_FILE_SYSTEM");
}

static void patience_is_read_from_the_environment(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store;
    static const char *const bad[] = {"soon", "-1", "3x", "nan", "1e9"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv("SIMTUNE_DB_PATIENCE", bad[i], 1);
        assert_int_equal(st_store_open(in_folder("p.db"), ST_STORE_WRITE, &store, &error), ST_USAGE);
        assert_null(store);
        assert_non_null(strstr(error.what, bad[i]));
    }
    static const struct {
        const char *text;
        int ms;
    } good[] = {{"0", 0}, {"0.25", 250}, {"600", 600000}, {"", 30000}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        setenv("SIMTUNE_DB_PATIENCE", good[i].text, 1);
        store = open_store(in_folder("p.db"), ST_STORE_WRITE);
        assert_int_equal(store->patience_ms, good[i].ms);
        st_store_close(store);
    }
    unsetenv("SIMTUNE_DB_PATIENCE");
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
        cmocka_unit_test(writers_with_pauses_beside_slow_readers),
        cmocka_unit_test(four_writers_with_a_rollback_journal),
        cmocka_unit_test(a_wait_is_said_once_and_can_be_ended),
        cmocka_unit_test(patience_is_read_from_the_environment),
        cmocka_unit_test(a_long_lock_ends_in_a_clear_message),
        cmocka_unit_test(a_waiting_writer_gets_its_turn),
        cmocka_unit_test(a_killed_writer_loses_only_what_is_in_flight),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
