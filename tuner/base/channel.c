// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. a frame is sent and received whole or the channel is given up; 2. no call waits longer
// than it was told, 30 s more for the rest of a frame that has begun; 3. SIGPIPE never ends us; 4. a
// child never outlives its parent and leaves no zombie.
#include "tuner/base/channel.h"

#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { CHILD_FD = 3, HEAD_BYTES = 12, REST_SECONDS = 30 };

void st_frame_release(st_frame *frame)
{
    json_decref(frame->json);
    st_free(frame->blob);
    *frame = (st_frame){0};
}

// --- frames -----------------------------------------------------------------------------------------

static bool send_all(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length) {
        ssize_t put = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EPIPE, -1)
                                                     : send(fd, at, length, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        length -= (size_t)put;
    }
    return true;
}

st_code st_channel_send(int fd, const json_t *json, const void *blob, size_t blob_length,
                        st_error *error)
{
    st_text text;
    st_text_init(&text);
    st_json_print(json, &text);
    st_code code = ST_OK;
    if (text.failed)
        code = st_fail_memory(error, "writing a message");
    else if (text.length > ST_FRAME_JSON_MAX || blob_length > ST_FRAME_BLOB_MAX)
        code = st_fail(error, ST_FAILED, NULL, "a message of %zu bytes is too long", text.length);
    unsigned char head[HEAD_BYTES];
    for (int i = 0; i < 4; i++)
        head[i] = (unsigned char)(text.length >> (8 * i));
    for (int i = 0; i < 8; i++)
        head[4 + i] = (unsigned char)((uint64_t)blob_length >> (8 * i));
    if (code == ST_OK &&
        !(send_all(fd, head, sizeof head) && send_all(fd, text.data, text.length) &&
          send_all(fd, blob, blob_length)))
        code = st_fail(error, ST_FAILED, NULL, "the other process is gone (%s)", strerror(errno));
    st_text_release(&text);
    return code;
}

// Waits until something can be read; deadline on the monotonic clock, < 0 for none.
static int wait_readable(int fd, double deadline)
{
    for (;;) {
        double left = deadline < 0 ? -1 : deadline - st_clock_seconds();
        if (deadline >= 0 && left < 0)
            left = 0;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int ready = poll(&wait, 1, left < 0 ? -1 : (int)(left * 1000 + 0.999));
        if (ready < 0 && errno == EINTR) {
            if (deadline < 0)
                continue;
            if (deadline <= st_clock_seconds())
                return 0;
            continue;
        }
        return ready;
    }
}

static st_receive read_exactly(int fd, void *into, size_t length, double deadline)
{
    char *at = into;
    while (length) {
        int ready = wait_readable(fd, deadline);
        if (ready == 0)
            return ST_RECEIVE_TIMEOUT;
        ssize_t got = ready < 0 || st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, -1)
                                                                  : recv(fd, at, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 || (got < 0 && errno == ECONNRESET))
            return ST_RECEIVE_CLOSED;
        if (got < 0)
            return ST_RECEIVE_BROKEN;
        at += got;
        length -= (size_t)got;
    }
    return ST_RECEIVED;
}

static st_receive read_body(int fd, uint32_t json_length, uint64_t blob_length, st_frame *frame,
                            st_error *error)
{
    double deadline = st_clock_seconds() + REST_SECONDS;
    char *text = st_malloc(json_length);
    frame->blob = blob_length ? st_malloc((size_t)blob_length) : NULL;
    frame->blob_length = (size_t)blob_length;
    st_receive result = ST_RECEIVE_BROKEN;
    if (!text || (blob_length && !frame->blob))
        st_fail_memory(error, "reading a message");
    else {
        result = read_exactly(fd, text, json_length, deadline);
        if (result == ST_RECEIVED && blob_length)
            result = read_exactly(fd, frame->blob, (size_t)blob_length, deadline);
        if (result == ST_RECEIVE_TIMEOUT)
            result = ST_RECEIVE_BROKEN;
        if (result == ST_RECEIVE_BROKEN)
            st_fail(error, ST_FAILED, NULL, "a message broke off");
        if (result == ST_RECEIVED &&
            st_json_parse(text, json_length, "message", &frame->json, error) != ST_OK)
            result = ST_RECEIVE_BROKEN;
    }
    st_free(text);
    return result;
}

st_receive st_channel_receive(int fd, double seconds, st_frame *frame, st_error *error)
{
    *frame = (st_frame){0};
    double deadline = seconds < 0 ? -1 : st_clock_seconds() + seconds;
    int ready = wait_readable(fd, deadline);
    if (ready == 0)
        return ST_RECEIVE_TIMEOUT;
    unsigned char head[HEAD_BYTES];
    st_receive result = read_exactly(fd, head, sizeof head, st_clock_seconds() + REST_SECONDS);
    if (result == ST_RECEIVED) {
        uint32_t json_length = 0;
        uint64_t blob_length = 0;
        for (int i = 3; i >= 0; i--)
            json_length = json_length << 8 | head[i];
        for (int i = 7; i >= 0; i--)
            blob_length = blob_length << 8 | head[4 + i];
        if (json_length > ST_FRAME_JSON_MAX || blob_length > ST_FRAME_BLOB_MAX) {
            st_fail(error, ST_FAILED, NULL, "what came is not a message");
            return ST_RECEIVE_BROKEN;
        }
        result = read_body(fd, json_length, blob_length, frame, error);
    } else if (result == ST_RECEIVE_TIMEOUT)
        result = ST_RECEIVE_BROKEN;
    if (result != ST_RECEIVED)
        st_frame_release(frame);
    return result;
}

// --- children -----------------------------------------------------------------------------------------

// Only async-signal-safe calls: this runs between fork and exec.
static void become_child(int channel, int errors, const char *program, char *const *arguments,
                         char *const *variables)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); // the parent ends us in order: what a whole group gets must not look like a crash
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0);
    dup2(nothing, 1);
    dup2(errors, 2);
    if (channel == CHILD_FD)
        fcntl(CHILD_FD, F_SETFD, 0);
    else
        dup2(channel, CHILD_FD);
    execve(program, arguments, variables);
    _exit(127);
}

// The environment with `more` in front (the first of two equal names counts for us: drop the old).
static char **merged_environment(const char *const *more)
{
    size_t old = 0, added = 0;
    while (environ[old])
        old++;
    while (more && more[added])
        added++;
    char **merged = st_malloc((old + added + 1) * sizeof *merged);
    if (!merged)
        return NULL;
    size_t count = 0;
    for (size_t i = 0; i < added; i++)
        merged[count++] = (char *)(uintptr_t)more[i];
    for (size_t i = 0; i < old; i++) {
        size_t name = strcspn(environ[i], "=");
        bool replaced = false;
        for (size_t j = 0; j < added; j++)
            replaced = replaced || strncmp(more[j], environ[i], name + 1) == 0;
        if (!replaced)
            merged[count++] = environ[i];
    }
    merged[count] = NULL;
    return merged;
}

st_code st_child_start(st_child *child, const char *role, const char *const *environment,
                       const char *program, st_error *error)
{
    *child = (st_child){.fd = -1, .error_fd = -1};
    int channel[2] = {-1, -1}, errors[2] = {-1, -1};
    char **variables = merged_environment(environment);
    char *arguments[] = {(char *)(uintptr_t)"simtune", (char *)(uintptr_t)"--internal",
                         (char *)(uintptr_t)role, NULL};
    st_code code = ST_OK;
    if (!variables)
        code = st_fail_memory(error, "starting a process");
    else if (st_fault_here(ST_FAULT_SYSTEM) ||
             socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0 ||
             pipe2(errors, O_CLOEXEC) != 0)
        code = st_fail(error, ST_FAILED, "close programs or raise the limit of open files (ulimit -n)",
                       "cannot make a channel for a process: %s", strerror(errno));
    if (code == ST_OK) {
        pid_t pid = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EAGAIN, -1) : fork();
        if (pid == 0)
            become_child(channel[1], errors[1], program ? program : "/proc/self/exe", arguments,
                         variables);
        if (pid < 0)
            code = st_fail(error, ST_FAILED, "raise the limit of processes (ulimit -u)",
                           "cannot start a process: %s", strerror(errno));
        else {
            *child = (st_child){.pid = pid, .fd = channel[0], .error_fd = errors[0]};
            fcntl(errors[0], F_SETFL, O_NONBLOCK);
        }
    }
    if (channel[1] >= 0)
        close(channel[1]);
    if (errors[1] >= 0)
        close(errors[1]);
    if (code != ST_OK) {
        if (channel[0] >= 0)
            close(channel[0]);
        if (errors[0] >= 0)
            close(errors[0]);
    }
    st_free(variables);
    return code;
}

void st_child_stop(st_child *child, double patience)
{
    if (child->fd >= 0)
        close(child->fd);
    child->fd = -1;
    if (child->pid > 0) {
        double deadline = st_clock_seconds() + patience;
        pid_t reaped;
        while ((reaped = waitpid(child->pid, &child->exit_status, WNOHANG)) == 0) {
            if (st_clock_seconds() >= deadline) {
                kill(child->pid, SIGKILL);
                while (waitpid(child->pid, &child->exit_status, 0) < 0 && errno == EINTR)
                    continue;
                break;
            }
            struct timespec pause = {.tv_nsec = 1000000};
            nanosleep(&pause, NULL);
        }
        child->pid = 0;
    }
    if (child->error_fd >= 0)
        close(child->error_fd);
    child->error_fd = -1;
}

void st_child_last_words(st_child *child, char *out, size_t capacity)
{
    size_t length = 0;
    char block[4096];
    ssize_t got;
    while (child->error_fd >= 0 && (got = read(child->error_fd, block, sizeof block)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            if (length == capacity - 1) { // keep the end
                memmove(out, out + 1, length - 1);
                length--;
            }
            out[length++] = block[i];
        }
    while (length && (out[length - 1] == '\n' || out[length - 1] == ' '))
        length--;
    out[length] = '\0';
}
