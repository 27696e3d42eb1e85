// SPDX-License-Identifier: Apache-2.0
// Which sessions run now: a claim excludes everybody else, in this process and in others, and ends with its
// process; only sessions without one are resumed. Numbers refer to the invariants that open db/claims.c (C).
#include "fixture.h"

#include <signal.h>
#include <sys/wait.h>

static void begin_session(st_store *store, const char *uuid, st_session_row *session)
{
    st_error error = {0};
    assert_ok(add_session(store, "reduce", uuid, "580", session, &error), error);
}

static bool claim(st_store *store, const char *id)
{
    st_error error = {0};
    bool mine;
    assert_ok(st_store_session_claim(store, id, &mine, &error), error);
    return mine;
}

static bool is_live(st_store *store, const char *id)
{
    st_error error = {0};
    bool live;
    assert_ok(st_store_session_is_live(store, id, &live, &error), error);
    return live;
}

static void a_claim_excludes_others(void **state) // C3
{
    (void)state;
    st_session_row a, b;
    st_store *one = open_store(in_folder("claims.db"), ST_STORE_WRITE);
    st_store *two = open_store(in_folder("claims.db"), ST_STORE_WRITE);
    begin_session(one, "GPU-1", &a);
    begin_session(one, "GPU-2", &b);
    assert_false(is_live(two, a.id)); // nobody has claimed anything: not even the file is there
    assert_true(claim(one, a.id));
    assert_true(claim(one, a.id)); // again: still
    assert_false(claim(two, a.id));
    assert_true(claim(two, b.id)); // another session is free
    assert_true(is_live(two, a.id));
    assert_true(is_live(one, b.id));
    assert_false(is_live(one, "00000000000000000000000000000000"));
    st_store *reader = open_store(in_folder("claims.db"), ST_STORE_READ);
    assert_true(is_live(reader, a.id));
    st_store_close(reader); // and closing does not free it
    assert_false(claim(two, a.id));
    st_store_session_release(one, a.id);
    assert_false(is_live(two, a.id));
    assert_true(claim(two, a.id));
    st_store_close(two);
    assert_false(is_live(one, b.id));
    assert_true(claim(one, b.id));
    st_store_close(one);
    struct stat status;
    assert_int_equal(stat(in_folder("claims.db-running"), &status), 0); // C2
    assert_int_equal(status.st_size, 0);
}

static void by_a_link_it_is_the_same_store(void **state)
{
    (void)state;
    st_session_row session;
    st_store *one = open_store(in_folder("real.db"), ST_STORE_WRITE);
    assert_int_equal(symlink(in_folder("real.db"), in_folder("by-link.db")), 0);
    st_store *two = open_store(in_folder("by-link.db"), ST_STORE_WRITE);
    begin_session(one, "GPU-1", &session);
    assert_true(claim(one, session.id));
    assert_false(claim(two, session.id));
    st_store_close(two);
    st_store_close(one);
}

// Claims a session, tells so, and waits to be killed.
static int hold(const char *path, const char *id, int fd)
{
    st_store *store;
    bool mine = false;
    if (st_store_open(path, ST_STORE_WRITE, &store, NULL) != ST_OK ||
        st_store_session_claim(store, id, &mine, NULL) != ST_OK || write(fd, mine ? "+" : "-", 1) != 1)
        return 1;
    pause();
    return 0;
}

static pid_t start_holder(const char *path, const char *id)
{
    int pipes[2];
    char answer = 0;
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(hold(path, id, pipes[1]));
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &answer, 1), 1);
    close(pipes[0]);
    assert_int_equal(answer, '+');
    return child;
}

static void kill_it(pid_t child)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void only_what_nobody_runs_is_resumed(void **state) // C1
{
    (void)state;
    st_error error = {0};
    st_session_row a, b, found;
    size_t running;
    const char *path = in_folder("resume.db");
    st_store *store = open_store(path, ST_STORE_WRITE);
    a.started_ms = b.started_ms = 0;
    begin_session(store, "GPU-1", &a);
    usleep(2000);
    begin_session(store, "GPU-1", &b); // the newer one
    st_store_close(store);
    pid_t holder = start_holder(path, b.id);
    store = open_store(path, ST_STORE_WRITE);
    assert_ok(st_store_session_resume(store, "key", &found, &running, &error), error);
    assert_string_equal(found.id, a.id);
    assert_int_equal(running, 1);
    st_session_row_release(&found);
    st_store *other = open_store(path, ST_STORE_WRITE); // both are run now
    assert_int_equal(st_store_session_resume(other, "key", &found, &running, &error), ST_NOTHING);
    assert_int_equal(running, 2);
    assert_int_equal(st_store_session_resume(other, "another key", &found, &running, &error), ST_NOTHING);
    assert_int_equal(running, 0);
    kill_it(holder);
    assert_ok(st_store_session_resume(other, "key", &found, &running, &error), error);
    assert_string_equal(found.id, b.id);
    assert_int_equal(running, 0);
    st_session_row_release(&found);
    assert_ok(st_store_session_end(other, b.key, ST_SESSION_FINISHED, NULL, &error), error);
    st_store_session_release(other, b.id);
    st_store_close(store);
    assert_ok(st_store_session_resume(other, "key", &found, &running, &error), error);
    assert_string_equal(found.id, a.id); // a finished one is over
    st_session_row_release(&found);
    st_store_close(other);
}

static void in_memory_nobody_shares(void **state)
{
    (void)state;
    st_session_row session;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    begin_session(store, "GPU-1", &session);
    assert_true(claim(store, session.id));
    assert_false(is_live(store, session.id));
    st_store_session_release(store, session.id);
    st_store_close(store);
}

static void faults_are_told(void **state)
{
    (void)state;
    st_error error = {0};
    st_session_row session;
    bool mine;
    st_store *store = open_store(in_folder("faults.db"), ST_STORE_WRITE);
    begin_session(store, "GPU-1", &session);
    for (unsigned long n = 1;; n++) {
        st_fault_arm(ST_FAULT_SYSTEM, n);
        st_code code = st_store_session_claim(store, session.id, &mine, &error);
        if (code == ST_OK)
            code = st_store_session_is_live(store, session.id, &mine, &error);
        bool hit = st_fault_injected(ST_FAULT_SYSTEM);
        st_fault_arm(ST_FAULT_SYSTEM, 0);
        assert_int_equal(code, hit ? ST_FAILED : ST_OK);
        if (!hit)
            break;
        assert_non_null(strstr(error.what, "faults.db"));
    }
    st_store_close(store);
}

// A clock that was set back: ids stay apart, a session does not end before it began.
static void a_clock_that_jumps_back_does_no_harm(void **state)
{
    (void)state;
    st_error error = {0};
    int64_t newest;
    st_session_row late = {0}, now;
    st_store *store = open_store(in_folder("clock.db"), ST_STORE_WRITE);
    assert_ok(st_store_newest_ms(store, &newest, &error), error);
    assert_int_equal(newest, -1);
    begin_session(store, "GPU-1", &now);
    late = now;
    late.started_ms = now.started_ms + 3600 * 1000 * 24; // begun when the clock was a day ahead
    assert_ok(st_store_session_begin(store, &late, &error), error);
    assert_string_not_equal(late.id, now.id);
    assert_ok(st_store_session_end(store, late.key, ST_SESSION_FINISHED, NULL, &error), error);
    assert_int_equal(number(store, "SELECT count(*) FROM session WHERE finished_ms < started_ms"), 0);
    assert_ok(st_store_newest_ms(store, &newest, &error), error);
    assert_true(newest == late.started_ms);
    st_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_excludes_others),
        cmocka_unit_test(by_a_link_it_is_the_same_store),
        cmocka_unit_test(only_what_nobody_runs_is_resumed),
        cmocka_unit_test(in_memory_nobody_shares),
        cmocka_unit_test(faults_are_told),
        cmocka_unit_test(a_clock_that_jumps_back_does_no_harm),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
