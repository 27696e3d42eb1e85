// SPDX-License-Identifier: Apache-2.0
// Frames and children. Invariants of channel.c: 1. a frame is sent and received whole or the channel is given
// up; 2. no call waits longer than it was told; 3. SIGPIPE never ends us; 4. a child never outlives its parent
// and leaves no zombie. This program is its own child: --internal ROLE.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/channel.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2]; // a channel of this process with itself

static int make_ends(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static int close_ends(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return 0;
}

static void close_end(int i)
{
    close(ends[i]);
    ends[i] = -1;
}

static void test_frames(void **state)
{
    (void)state;
    st_error error = {0};
    st_frame frame;
    json_t *json = json_pack("{s:s, s:i}", "type", "time", "n", 7);
    assert_int_equal(st_channel_send(ends[0], json, NULL, 0, &error), ST_OK);
    assert_int_equal(st_channel_send(ends[0], json, "a\0b", 3, &error), ST_OK);
    assert_int_equal(st_channel_receive(ends[1], 5, &frame, &error), ST_RECEIVED);
    assert_true(json_equal(frame.json, json));
    assert_null(frame.blob);
    assert_int_equal(frame.blob_length, 0);
    st_frame_release(&frame);
    assert_int_equal(st_channel_receive(ends[1], 5, &frame, &error), ST_RECEIVED);
    assert_int_equal(frame.blob_length, 3);
    assert_memory_equal(frame.blob, "a\0b", 3);
    st_frame_release(&frame);
    st_frame_release(&frame); // twice is fine
    json_decref(json);
}

static void test_nothing_comes(void **state)
{
    (void)state;
    st_frame frame;
    st_error error = {0};
    assert_int_equal(st_channel_receive(ends[1], 0, &frame, &error), ST_RECEIVE_TIMEOUT);
    assert_int_equal(st_channel_receive(ends[1], 0.01, &frame, &error), ST_RECEIVE_TIMEOUT);
    assert_null(frame.json);
    close_end(0);
    assert_int_equal(st_channel_receive(ends[1], 5, &frame, &error), ST_RECEIVE_CLOSED);
    assert_int_equal(st_channel_receive(ends[1], -1, &frame, &error), ST_RECEIVE_CLOSED);
}

// Invariant 3.
static void test_sending_to_nobody(void **state)
{
    (void)state;
    st_error error = {0};
    json_t *json = json_object();
    close_end(1);
    assert_int_equal(st_channel_send(ends[0], json, NULL, 0, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "gone"));
    json_decref(json);
}

static void put_head(unsigned char *head, uint32_t json, uint64_t blob)
{
    for (int i = 0; i < 4; i++)
        head[i] = (unsigned char)(json >> (8 * i));
    for (int i = 0; i < 8; i++)
        head[4 + i] = (unsigned char)(blob >> (8 * i));
}

// Bytes as they are put on the wire by whoever does not keep to the format, then the end.
static st_receive receive_bytes(uint32_t json, uint64_t blob, const void *bytes, size_t length, bool close_it)
{
    st_frame frame;
    st_error error = {0};
    unsigned char head[12];
    int pair[2];
    put_head(head, json, blob);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(write(pair[0], head, 12), 12);
    assert_int_equal(write(pair[0], bytes, length), (ssize_t)length);
    if (close_it)
        close(pair[0]);
    st_receive got = st_channel_receive(pair[1], 5, &frame, &error);
    assert_null(frame.json);
    assert_null(frame.blob);
    if (!close_it)
        close(pair[0]);
    close(pair[1]);
    return got;
}

static void test_nonsense(void **state)
{
    (void)state;
    assert_int_equal(receive_bytes(0xffffffffu, 0, "x", 1, false), ST_RECEIVE_BROKEN);
    assert_int_equal(receive_bytes(ST_FRAME_JSON_MAX + 1, 0, "x", 1, false), ST_RECEIVE_BROKEN);
    assert_int_equal(receive_bytes(2, UINT64_MAX, "{}", 2, false), ST_RECEIVE_BROKEN);
    assert_int_equal(receive_bytes(2, ST_FRAME_BLOB_MAX + 1, "{}", 2, false), ST_RECEIVE_BROKEN);
    assert_int_equal(receive_bytes(3, 0, "{]x", 3, false), ST_RECEIVE_BROKEN);
    assert_int_equal(receive_bytes(0, 0, "", 0, false), ST_RECEIVE_BROKEN); // no JSON at all
    // Whoever dies within a frame is gone.
    assert_int_equal(receive_bytes(10, 0, "{}", 2, true), ST_RECEIVE_CLOSED);
    assert_int_equal(receive_bytes(2, 10, "{}abc", 5, true), ST_RECEIVE_CLOSED);
    st_frame frame;
    assert_int_equal(write(ends[0], "abc", 3), 3); // within the head
    close_end(0);
    assert_int_equal(st_channel_receive(ends[1], 5, &frame, NULL), ST_RECEIVE_CLOSED);
}

static void test_too_long(void **state)
{
    (void)state;
    st_error error = {0};
    json_t *json = json_object();
    assert_int_equal(st_channel_send(ends[0], json, "x", ST_FRAME_BLOB_MAX + 1, &error), ST_FAILED);
    st_frame frame;
    assert_int_equal(st_channel_receive(ends[1], 0, &frame, &error), ST_RECEIVE_TIMEOUT); // nothing was sent
    json_decref(json);
}

static void test_faults(void **state)
{
    (void)state;
    json_t *json = json_pack("{s:[i,i]}", "list", 1, 2);
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    for (size_t k = 0; k < 2; k++)
        for (unsigned long n = 1;; n++) {
            int pair[2];
            st_frame frame;
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            st_fault_arm(kinds[k], n);
            st_code sent = st_channel_send(pair[0], json, "blob", 4, NULL);
            close(pair[0]);
            st_receive got = st_channel_receive(pair[1], 5, &frame, NULL);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            close(pair[1]);
            if (sent == ST_OK && got == ST_RECEIVED)
                assert_true(json_equal(frame.json, json) && frame.blob_length == 4);
            else {
                assert_true(injected);
                assert_null(frame.json);
                assert_null(frame.blob);
            }
            st_frame_release(&frame);
            if (!injected)
                break;
            assert_true(n < 200);
        }
    json_decref(json);
}

// --- children ------------------------------------------------------------------------------------------------

static st_child start(const char *role, const char *const *environment)
{
    st_child child;
    st_error error = {0};
    if (st_child_start(&child, role, environment, NULL, &error) != ST_OK)
        fail_msg("%s", error.what);
    return child;
}

static void test_child_answers(void **state)
{
    (void)state;
    static const char *const environment[] = {"SIMTUNE_TEST_CHILD=told", NULL};
    st_child child = start("echo", environment);
    st_frame frame;
    json_t *json = json_pack("{s:i}", "n", 5);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(st_channel_send(child.fd, json, "blob", 4, NULL), ST_OK);
        assert_int_equal(st_channel_receive(child.fd, 20, &frame, NULL), ST_RECEIVED);
        assert_string_equal(json_string_value(json_object_get(frame.json, "environment")), "told");
        assert_int_equal(json_integer_value(json_object_get(frame.json, "n")), 5);
        assert_memory_equal(frame.blob, "blob", 4);
        st_frame_release(&frame);
    }
    json_decref(json);
    pid_t pid = child.pid;
    st_child_stop(&child, 20); // closing the channel is enough
    assert_true(WIFEXITED(child.exit_status));
    assert_int_equal(WEXITSTATUS(child.exit_status), 0);
    assert_int_equal(child.pid, 0);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); // reaped: invariant 4
    assert_int_equal(errno, ECHILD);
    st_child_stop(&child, 20); // twice is fine
}

static void test_child_dies(void **state)
{
    (void)state;
    st_child child = start("abort", NULL);
    st_frame frame;
    char words[64];
    assert_int_equal(st_channel_receive(child.fd, 20, &frame, NULL), ST_RECEIVE_CLOSED);
    st_child_last_words(&child, words, sizeof words);
    assert_string_equal(words, "these are my last words");
    st_child_stop(&child, 20);
    assert_true(WIFSIGNALED(child.exit_status));
    assert_int_equal(WTERMSIG(child.exit_status), SIGKILL);
}

// Only the end of many words is kept, less the blanks after them.
static void test_many_words(void **state)
{
    (void)state;
    st_child child = start("talk", NULL);
    st_frame frame;
    char words[16];
    assert_int_equal(st_channel_receive(child.fd, 20, &frame, NULL), ST_RECEIVE_CLOSED);
    st_child_last_words(&child, words, sizeof words);
    assert_string_equal(words, "xxxxxxxx end");
    st_child_stop(&child, 20);
}

static void test_child_hangs(void **state)
{
    (void)state;
    st_child child = start("hang", NULL);
    st_frame frame;
    assert_int_equal(st_channel_receive(child.fd, 0.05, &frame, NULL), ST_RECEIVE_TIMEOUT);
    st_child_stop(&child, 0.05);
    assert_true(WIFSIGNALED(child.exit_status));
}

static void test_no_such_program(void **state)
{
    (void)state;
    st_child child;
    st_frame frame;
    assert_int_equal(st_child_start(&child, "echo", NULL, "/nonexistent/simtune", NULL), ST_OK);
    assert_int_equal(st_channel_receive(child.fd, 20, &frame, NULL), ST_RECEIVE_CLOSED);
    st_child_stop(&child, 20);
    assert_true(WIFEXITED(child.exit_status));
    assert_int_equal(WEXITSTATUS(child.exit_status), 127);
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static void test_start_faults(void **state)
{
    (void)state;
    size_t before = open_descriptors();
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    for (size_t k = 0; k < 2; k++)
        for (unsigned long n = 1;; n++) {
            st_child child;
            st_error error = {0};
            st_fault_arm(kinds[k], n);
            st_code code = st_child_start(&child, "exit", NULL, NULL, &error);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            assert_int_equal(code == ST_OK, !injected);
            if (code != ST_OK) {
                assert_true(error.what[0]);
                assert_int_equal(child.pid, 0);
                assert_int_equal(child.fd, -1);
            }
            st_child_stop(&child, 20);
            assert_int_equal(open_descriptors(), before);
            if (!injected)
                break;
            assert_true(n < 50);
        }
}

// What the child does.
static int be_child(const char *role)
{
    enum { CHANNEL = 3 };
    if (strcmp(role, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(role, "abort") == 0) {
        fprintf(stderr, "these are my last words\n");
        kill(getpid(), SIGKILL);
    }
    if (strcmp(role, "talk") == 0) {
        for (int i = 0; i < 10000; i++)
            fputc('x', stderr);
        fprintf(stderr, " end\n \n");
    }
    st_frame frame;
    while (strcmp(role, "echo") == 0 && st_channel_receive(CHANNEL, -1, &frame, NULL) == ST_RECEIVED) {
        const char *told = getenv("SIMTUNE_TEST_CHILD");
        json_object_set_new(frame.json, "environment", json_string(told ? told : "-"));
        st_channel_send(CHANNEL, frame.json, frame.blob, frame.blob_length, NULL);
        st_frame_release(&frame);
    }
    return 0;
}

int main(int argc, char **argv)
{
    st_json_setup();
    if (argc == 3 && strcmp(argv[1], "--internal") == 0)
        return be_child(argv[2]);
    setenv("SIMTUNE_TEST_CHILD", "not told", 1); // the child's own stands before ours
#define WITH_ENDS(test) cmocka_unit_test_setup_teardown(test, make_ends, close_ends)
    const struct CMUnitTest tests[] = {
        WITH_ENDS(test_frames),    WITH_ENDS(test_nothing_comes), WITH_ENDS(test_sending_to_nobody),
        WITH_ENDS(test_nonsense),  WITH_ENDS(test_too_long),      cmocka_unit_test(test_faults),
        cmocka_unit_test(test_child_answers), cmocka_unit_test(test_child_dies),
        cmocka_unit_test(test_many_words),    cmocka_unit_test(test_child_hangs),
        cmocka_unit_test(test_no_such_program), cmocka_unit_test(test_start_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
