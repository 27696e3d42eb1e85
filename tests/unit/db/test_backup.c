// SPDX-License-Identifier: Apache-2.0
// Copies of the file, and vacuum. Proven here: a backup is whole and of one moment while another process writes; it
// replaces nothing unasked, never the store itself; of a damaged store none is written; vacuum gives room back and
// refuses a damaged store.
#include "tests/unit/db/damage.h"

#include "db/backup.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int64_t size_at(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : -1;
}

static void a_copy_is_whole(void **state)
{
    (void)state;
    st_error error = {0};
    char path[256], copy[256];
    int64_t bytes;
    snprintf(path, sizeof path, "%s/a.db", folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    make_big_store(path);
    assert_ok(st_store_backup(path, copy, false, &bytes, &error), error);
    assert_int_equal(bytes, size_at(copy));
    st_store *store = open_store(copy, ST_STORE_READ);
    assert_sound(store);
    assert_int_equal(rows_not_in(store, path), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM candidate"), BIG_CANDIDATES);
    st_store_close(store);
    unlink(copy);
    assert_int_equal(size_at(in_folder("copy.db-wal")), -1);
}

// Of a store that may only be read, in a folder that may only be read.
static void a_copy_can_be_written(void **state)
{
    (void)state;
    st_error error = {0};
    char path[256], copy[256];
    int64_t bytes;
    struct stat status;
    snprintf(path, sizeof path, "%s/archive/a.db", folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    st_store_close(open_store(path, ST_STORE_WRITE));
    chmod(path, 0444);
    chmod(in_folder("archive"), 0555);
    assert_ok(st_store_backup(path, copy, false, &bytes, &error), error);
    assert_int_equal(stat(copy, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    st_store_close(open_store(copy, ST_STORE_WRITE));
    chmod(in_folder("archive"), 0755);
}

static void nothing_is_replaced_unasked(void **state)
{
    (void)state;
    st_error error = {0};
    char path[256], copy[256];
    int64_t bytes;
    snprintf(path, sizeof path, "%s/a.db", folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    st_store_close(open_store(path, ST_STORE_WRITE));
    write_bytes(copy, (const unsigned char *)"mine", 4);
    assert_int_equal(st_store_backup(path, copy, false, &bytes, &error), ST_USAGE);
    assert_int_equal(size_at(copy), 4);
    assert_ok(st_store_backup(path, copy, true, &bytes, &error), error);
    assert_true(size_at(copy) > 4096);
    assert_int_equal(st_store_backup(path, path, true, &bytes, &error), ST_USAGE);
    assert_int_equal(st_store_backup(path, folder, true, &bytes, &error), ST_USAGE);
    assert_int_equal(st_store_backup(in_folder("missing.db"), in_folder("new.db"), false, &bytes, &error), ST_NOTHING);
    assert_int_equal(size_at(in_folder("new.db")), -1);
    assert_int_equal(st_store_backup(path, "/nonexistent/x.db", false, &bytes, &error), ST_FAILED);
}

static void an_older_store_stays_older(void **state)
{
    (void)state;
    st_error error = {0};
    const st_store_options first = {1000, st_migrations, 1};
    st_store *store;
    st_file_look look;
    int64_t bytes;
    assert_ok(st_store_open_with(in_folder("old.db"), ST_STORE_WRITE, &first, &store, &error), error);
    st_store_close(store);
    assert_ok(st_store_backup(in_folder("old.db"), in_folder("copy.db"), false, &bytes, &error), error);
    assert_ok(st_file_look_at(in_folder("copy.db"), &look, &error), error);
    assert_int_equal(look.user_version, 1);
}

static int write_on(const char *path, int fd)
{
    st_error error = {0};
    st_store *store;
    st_session_row session;
    int64_t problem, candidate;
    if (st_store_open(path, ST_STORE_WRITE, &store, &error) != ST_OK ||
        add_session(store, "reduce", "GPU-1", "580", &session, &error) != ST_OK)
        return 1;
    for (int i = 0; i < 100000; i++) {
        char text[32], more;
        snprintf(text, sizeof text, "A=%d", i);
        if (add_candidate(store, &session, 1024, text, 5, &problem, &candidate, &error) != ST_OK) {
            fprintf(stderr, "the writer: %s\n", error.what);
            return 2;
        }
        if (i == 0 && write(fd, "x", 1) != 1)
            return 3;
        if (i > 0 && recv(fd, &more, 1, MSG_DONTWAIT) == 1)
            break;
    }
    st_store_close(store);
    return 0;
}

static void while_another_writes(void **state)
{
    (void)state;
    st_error error = {0};
    char path[256], copy[256], byte;
    int64_t bytes, before = 0;
    int ends[2], status;
    snprintf(path, sizeof path, "%s/a.db", folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(write_on(path, ends[1]));
    ssize_t got;
    do
        got = read(ends[0], &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        fail_msg("the writer did not begin: %s", strerror(errno));
    for (int i = 0; i < 5; i++) {
        assert_ok(st_store_backup(path, copy, true, &bytes, &error), error);
        st_store *store = open_store(copy, ST_STORE_READ);
        assert_sound(store);
        int64_t candidates = number(store, "SELECT count(*) FROM candidate");
        assert_int_equal(number(store, "SELECT count(*) FROM measurement"), candidates); // of one moment
        assert_true(candidates >= before && candidates > 0);
        before = candidates;
        st_store_close(store);
    }
    assert_int_equal(write(ends[0], "x", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ends[0]);
    close(ends[1]);
}

static void a_damaged_store(void **state)
{
    (void)state;
    st_error error = {0};
    char path[256], copy[256];
    int64_t bytes, before, after;
    unsigned char *whole;
    snprintf(path, sizeof path, "%s/a.db", folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    make_big_store(path);
    size_t length = read_bytes(path, &whole);
    memset(whole + length - 3 * 4096, 0, 4096);
    write_bytes(path, whole, length);
    assert_int_equal(st_store_backup(path, copy, false, &bytes, &error), ST_DAMAGED);
    assert_int_equal(size_at(copy), -1);
    st_store *store = NULL;
    st_code code = st_store_open(path, ST_STORE_WRITE, &store, &error);
    if (code == ST_OK)
        code = st_store_vacuum(store, &before, &after, &error);
    assert_int_equal(code, ST_DAMAGED);
    st_store_close(store);
    unsigned char *now;
    assert_int_equal(read_bytes(path, &now), length);
    assert_memory_equal(now + 100, whole + 100, length - 100);
    st_free(whole);
    st_free(now);
}

static void vacuum_gives_room_back(void **state)
{
    (void)state;
    st_error error = {0};
    char path[256];
    int64_t before, after;
    snprintf(path, sizeof path, "%s/a.db", folder);
    make_big_store(path);
    st_store *store = open_store(path, ST_STORE_WRITE);
    assert_ok(st_script_run(store, "DELETE FROM measurement; DELETE FROM stall_lines", "t", &error), error);
    assert_ok(st_store_vacuum(store, &before, &after, &error), error);
    assert_true(after < before);
    assert_int_equal(size_at(path), after);
    assert_int_equal(number(store, "SELECT count(*) FROM candidate"), BIG_CANDIDATES);
    assert_sound(store);
    st_store_close(store);
}

static void faults_leave_no_file(void **state)
{
    (void)state;
    const st_fault kinds[] = {ST_FAULT_SQLITE, ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    char path[256], copy[256], command[300];
    snprintf(path, sizeof path, "%s/a.db", folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    st_store_close(open_store(path, ST_STORE_WRITE));
    for (size_t k = 0; k < 3; k++)
        for (unsigned long n = 1;; n++) {
            st_error error = {0};
            int64_t bytes;
            st_fault_arm(kinds[k], n);
            st_code code = st_store_backup(path, copy, false, &bytes, &error);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            if (code != ST_OK) {
                assert_true(injected && error.what[0]);
                assert_int_equal(size_at(copy), -1);
                snprintf(command, sizeof command, "! ls %s/copy.db* 2>/dev/null", folder);
                assert_int_equal(system(command), 0); // nor a part of one
            }
            unlink(copy);
            if (!injected)
                break;
            assert_true(n < 500);
        }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_fast_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_copy_is_whole),      IN_FOLDER(nothing_is_replaced_unasked), IN_FOLDER(an_older_store_stays_older),
        IN_FOLDER(while_another_writes), IN_FOLDER(a_damaged_store),             IN_FOLDER(vacuum_gives_room_back),
        IN_FOLDER(faults_leave_no_file),   IN_FOLDER(a_copy_can_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
