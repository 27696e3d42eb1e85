// SPDX-License-Identifier: Apache-2.0
// The processes of the compile pool, as the parent sees them. The invariants are compile_pool.c's.
#include "tuner/gpu/compile_pool_internal.h"

#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_EARLY_DEATHS = 3 };
#define SEND_SECONDS 10 // a child that takes nothing for so long is lost

bool st_pool_child_is_alive(const st_pool_child *child) {
    return child->child.fd >= 0;
}

st_code st_pool_child_start(st_pool *pool, st_pool_child *child, st_error *error) {
    const char *variables[] = {pool->nvrtc_variable, NULL};
    st_code code = st_child_start(&child->child, "compile", variables, pool->program, error);
    if (code)
        return code;
    struct timeval limit = {.tv_sec = SEND_SECONDS};
    setsockopt(child->child.fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    struct epoll_event event = {.events = EPOLLIN};
    event.data.u32 = (uint32_t)(child - pool->children);
    if (epoll_ctl(pool->epoll_fd, EPOLL_CTL_ADD, child->child.fd, &event) == 0)
        return ST_OK;
    st_fail(error, ST_FAILED, NULL, "cannot watch a compile process: %s", strerror(errno));
    st_child_stop(&child->child, 0);
    return ST_FAILED;
}

static void describe_end(int status, char *out, size_t capacity) {
    if (WIFSIGNALED(status))
        snprintf(out, capacity, "was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(out, capacity, "ended with status %d",
                 WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

// The result of a job whose child was lost; the log says how.
static void finish_lost(st_pool *pool, const st_pool_child *child, st_pool_job *job, bool timeout,
                        double seconds, const char *end, const char *words) {
    st_compiled compiled = {.seconds = seconds,
                            .process = (int)(child - pool->children),
                            .began = st_clock_seconds() - seconds};
    compiled.outcome = timeout ? ST_COMPILE_TIMEOUT : ST_COMPILE_CRASH;
    snprintf(compiled.compiler, sizeof compiled.compiler, "%s", job->compiler);
    compiled.log =
        timeout ? st_format("%s: not compiled after %.1f s: given up", job->file_name, seconds)
                : st_format("%s: the compile process %s%s%s", job->file_name, end,
                            *words ? "; it said: " : "", words);
    if (!compiled.log)
        compiled.log = st_strdup("");
    if (compiled.log) {
        st_pool_finish(pool, job, &compiled);
        return;
    }
    st_error error;
    st_fail_memory(&error, "reporting a lost compile");
    st_pool_fail(pool, job, &error);
}

// Ends a child that died, broke the protocol (`kill_it`) or took too long (`timeout`): invariant 3.
static void lose_child(st_pool *pool, st_pool_child *child, bool kill_it, bool timeout) {
    char words[2048] = "", end[96];
    if (kill_it && child->child.pid > 0)
        kill(-child->child.pid, SIGKILL); // with whatever it started
    st_child_last_words(&child->child, words, sizeof words);
    st_child_stop(&child->child, kill_it ? 0 : 1);
    describe_end(child->child.exit_status, end, sizeof end);
    double seconds = st_clock_seconds() - child->since;
    bool had_started = child->started;
    int count = child->job_count;
    child->job_count = 0;
    child->started = false;
    for (int i = count - 1; i >= (had_started ? 1 : 0); --i)
        st_job_list_put_first(&pool->ready, child->jobs[i]);
    if (had_started)
        finish_lost(pool, child, child->jobs[0], timeout, seconds, end, words);
    else if (count > 0 && ++pool->early_deaths >= MOST_EARLY_DEATHS) { // invariant 4
        st_error error;
        st_fail(&error, ST_FAILED, "run simtune doctor",
                "compile processes end before they begin: the last one %s%s%.600s", end,
                *words ? "; it said: " : "", words);
        pool->early_deaths = 0;
        st_pool_fail(pool, NULL, &error);
    }
}

static void end_first_job(st_pool_child *child) {
    child->jobs[0] = child->jobs[1];
    child->job_count--;
    child->started = false;
    child->since = st_clock_seconds();
}

static void store(st_pool *pool, const st_pool_job *job, const st_compiled *compiled) {
    bool keep = compiled->outcome == ST_COMPILED ||
                (compiled->outcome == ST_COMPILE_ERROR && job->fails_alike);
    if (!keep || !job->key[0] || strcmp(job->compiler, compiled->compiler) != 0)
        return;
    // A cache that cannot be written costs time only.
    if (st_cache_write(pool->cache_folder, job->key, compiled, NULL) == ST_OK)
        pool->stored++;
}

static bool take_compiled(st_pool *pool, st_pool_child *child, const st_frame *frame) {
    st_pool_job *job = child->jobs[0];
    st_compiled compiled;
    if (st_compiled_decode(frame->json, frame->blob, frame->blob_length, &compiled, NULL))
        return false;
    if (compiled.id != job->id ||
        (compiled.outcome == ST_COMPILED && compiled.kernel_count != job->kernel_count)) {
        st_compiled_release(&compiled);
        return false;
    }
    // The child's own clock, which is ours: it is heard of only when somebody listens.
    double ended = st_json_number_or_nan(frame->json, "ended");
    compiled.process = (int)(child - pool->children);
    compiled.began = (isnan(ended) ? st_clock_seconds() : ended) - compiled.seconds;
    if (compiled.outcome == ST_COMPILED)
        st_compile_times_add(&pool->times, compiled.seconds, job->kernel_count);
    store(pool, job, &compiled);
    end_first_job(child);
    st_pool_finish(pool, job, &compiled);
    return true;
}

static bool take_failure(st_pool *pool, st_pool_child *child, const json_t *json) {
    const char *what = NULL, *remedy = NULL;
    int64_t code = ST_FAILED;
    if (st_json_get_string(json, "what", &what, NULL) ||
        st_json_get_string(json, "remedy", &remedy, NULL) ||
        st_json_get_int(json, "code", &code, NULL))
        return false;
    st_error error;
    st_fail(&error, code > 0 && code < 128 ? (st_code)code : ST_FAILED, *remedy ? remedy : NULL,
            "%s", what);
    st_pool_job *job = child->jobs[0];
    end_first_job(child);
    st_pool_fail(pool, job, &error);
    return true;
}

// False when it is not what a child may say now.
static bool take_frame(st_pool *pool, st_pool_child *child, const st_frame *frame) {
    const char *type = NULL;
    int64_t id = 0;
    if (child->job_count == 0 || st_json_get_string(frame->json, "type", &type, NULL) ||
        st_json_get_int(frame->json, "id", &id, NULL) || (uint64_t)id != child->jobs[0]->id)
        return false;
    if (!child->started) {
        if (strcmp(type, "started") != 0)
            return false;
        child->started = true;
        child->since = st_clock_seconds();
        pool->early_deaths = 0;
        return true;
    }
    if (strcmp(type, "compiled") == 0)
        return take_compiled(pool, child, frame);
    return strcmp(type, "failed") == 0 && take_failure(pool, child, frame->json);
}

void st_pool_child_listen(st_pool *pool, st_pool_child *child) {
    while (st_pool_child_is_alive(child)) {
        st_frame frame;
        st_receive got = st_channel_receive(child->child.fd, 0, &frame, NULL);
        if (got == ST_RECEIVE_TIMEOUT)
            return;
        bool right = got == ST_RECEIVED && take_frame(pool, child, &frame);
        if (got == ST_RECEIVED)
            st_frame_release(&frame);
        if (!right)
            lose_child(pool, child, got != ST_RECEIVE_CLOSED, false);
    }
}

// When jobs[0] of a child has had its time; infinite for an idle one.
static double deadline_of(const st_pool *pool, const st_pool_child *child) {
    if (!st_pool_child_is_alive(child) || child->job_count == 0)
        return INFINITY;
    double limit = child->started ? st_compile_times_limit(&pool->times, pool->first_limit,
                                                           child->jobs[0]->kernel_count)
                                  : fmax(pool->first_limit, SEND_SECONDS);
    return child->since + limit;
}

void st_pool_set_timer(st_pool *pool) {
    double next = INFINITY;
    for (int i = 0; i < pool->process_count; ++i)
        next = fmin(next, deadline_of(pool, &pool->children[i]));
    struct itimerspec when = {{0, 0}, {0, 0}};
    if (isfinite(next)) {
        double left = fmax(next - st_clock_seconds(), 0) + 0.001;
        when.it_value.tv_sec = (time_t)left;
        when.it_value.tv_nsec = (long)((left - floor(left)) * 1e9);
    }
    timerfd_settime(pool->timer_fd, 0, &when, NULL);
}

void st_pool_end_late_children(st_pool *pool) {
    for (int i = 0; i < pool->process_count; ++i)
        if (st_clock_seconds() >= deadline_of(pool, &pool->children[i]))
            lose_child(pool, &pool->children[i], true, true);
}

void st_pool_child_send(st_pool *pool, st_pool_child *child, st_pool_job *job) {
    if (child->job_count == 0)
        child->since = st_clock_seconds();
    child->jobs[child->job_count++] = job;
    if (st_channel_send(child->child.fd, job->json, job->blob.data, job->blob.length, NULL) ==
        ST_OK)
        return;
    st_pool_child_listen(pool, child); // it may have answered its first job before it died
    if (st_pool_child_is_alive(child))
        lose_child(pool, child, true, false); // half a frame may be on its way
}

void st_pool_stop_children(st_pool *pool) {
    for (int i = 0; pool->children && i < pool->process_count; ++i) {
        st_child *child = &pool->children[i].child;
        if (pool->children[i].job_count > 0 && child->pid > 0)
            kill(-child->pid, SIGKILL);
        if (child->fd >= 0)
            shutdown(child->fd, SHUT_RDWR); // all of them end while we wait for the first
    }
    for (int i = 0; pool->children && i < pool->process_count; ++i) {
        st_pool_child *child = &pool->children[i];
        if (child->child.pid > 0)
            st_child_stop(&child->child, child->job_count ? 0 : 2);
        for (int j = 0; j < child->job_count; ++j)
            st_pool_job_free(child->jobs[j]);
    }
}
