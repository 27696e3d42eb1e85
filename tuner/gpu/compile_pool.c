// SPDX-License-Identifier: Apache-2.0
// The compile pool, parent's side.
//
// Invariants:
//  1. Every submitted job is in exactly one place: a list (fresh, ready), one child's slots, or (as
//  its
//     result) the finished list; st_pool_pending counts them all. It leaves by st_pool_next, by an
//     error that st_pool_next returns for it, by st_pool_drop, or by st_pool_close.
//  2. Only the first job of a child can have started; the second waits in the socket, so that the
//  child
//     need not wait for us. A job is sent ahead only when it surely fits there.
//  3. A child that dies, breaks the protocol or exceeds the limit costs at most the job that it had
//     started; what it had not started goes back to the head of the ready list.
//  4. Children that die before they start anything stop the run (st_pool_next fails) at the third
//  in a
//     row: they would do so for ever.
//  5. Two jobs of one key are never compiled at once: the second waits for the cache.
//  6. The poll descriptor is readable whenever a child has spoken or died, a limit has run out, or
//  a
//     result waits.
//
// A child's slot:  (none) --st_pool_child_start--> idle --st_pool_child_send--> sent --"started"-->
//                  compiling --answer--> idle or sent;   any --lose_child--> (none)
#include "tuner/gpu/compile.h"

#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/compile_pool_internal.h"
#include "tuner/gpu/nvrtc_api.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { MOST_PROCESSES = 64, MOST_BY_DEFAULT = 16 };
#define SENT_AHEAD_BYTES (48u << 10)   // well below a socket's buffer
#define MOST_FINISHED 32               // results read from the cache ahead of the caller
#define CACHE_BYTES ((int64_t)2 << 30) // SIMTUNE_CACHE_BYTES overrides
#define DEFAULT_FIRST_LIMIT 60.0
#define EVENT_FD UINT32_MAX
#define TIMER_FD (UINT32_MAX - 1)

// The identity of the emulated device's compiler, for the cache. Weak: a build without that backend
// keeps nothing of it.
__attribute__((weak)) st_code st_emu_compiler(char version[48], st_error *error);

// --- where jobs go
// ---------------------------------------------------------------------------------

// Keeps the event descriptor readable exactly while st_pool_next can return at once (invariant 6).
static void tell_finished(st_pool *pool) {
    uint64_t value = 1;
    bool is_ready = pool->finished || pool->failure.code;
    ssize_t done = is_ready ? write(pool->event_fd, &value, sizeof value)
                            : read(pool->event_fd, &value, sizeof value);
    (void)done; // EAGAIN: it was so already
}

void st_pool_fail(st_pool *pool, st_pool_job *job, const st_error *error) {
    pool->failed_jobs += job != NULL; // still pending: the caller has not heard of it
    st_pool_job_free(job);
    if (!pool->failure.code) { // the first one is the one to tell
        pool->failure = *error;
        if (!pool->failure.code)
            pool->failure.code = ST_FAILED;
    }
    tell_finished(pool);
}

void st_pool_finish(st_pool *pool, st_pool_job *job, st_compiled *compiled) {
    compiled->id = job->id;
    st_finished_job *entry = st_calloc(1, sizeof *entry);
    if (!entry) {
        st_error error;
        st_fail_memory(&error, "keeping a compiled program");
        st_compiled_release(compiled);
        st_pool_fail(pool, job, &error);
        return;
    }
    entry->compiled = *compiled;
    *(pool->last_finished ? &pool->last_finished->next : &pool->finished) = entry;
    pool->last_finished = entry;
    pool->finished_count++;
    tell_finished(pool);
    st_pool_job_free(job);
}

static bool key_is_compiling(const st_pool *pool, const char *key) {
    for (int i = 0; i < pool->process_count; ++i)
        for (int j = 0; j < pool->children[i].job_count; ++j)
            if (strcmp(pool->children[i].jobs[j]->key, key) == 0)
                return true;
    return false;
}

static bool is_cached(st_pool *pool, st_pool_job *job) {
    st_compiled compiled;
    if (!job->key[0] || !st_cache_read(pool->cache_folder, job->key, &compiled))
        return false;
    st_pool_finish(pool, job, &compiled);
    return true;
}

// Looks the first fresh job up; it is finished, or ready.
static void admit_one(st_pool *pool) {
    st_pool_job *job = st_job_list_take_after(&pool->fresh, NULL);
    if (!is_cached(pool, job))
        st_job_list_put_last(&pool->ready, job);
}

// The first ready job that may be sent now (taken out), NULL when there is none.
static st_pool_job *take_ready(st_pool *pool, size_t most_bytes, bool *too_large) {
    st_pool_job *before = NULL;
    for (st_pool_job *job = pool->ready.first; job;
         job = before ? before->next : pool->ready.first) {
        if (job->key[0] && key_is_compiling(pool, job->key)) { // invariant 5
            job->waited = true;
            before = job;
            continue;
        }
        *too_large = job->blob.length > most_bytes;
        if (*too_large)
            return NULL; // in order
        st_job_list_take_after(&pool->ready, before);
        if (job->waited && is_cached(pool, job))
            continue;
        return job;
    }
    return NULL;
}

static st_pool_job *next_to_send(st_pool *pool, size_t most_bytes) {
    for (;;) {
        bool too_large = false;
        st_pool_job *job = take_ready(pool, most_bytes, &too_large);
        if (job || too_large || !pool->fresh.first || pool->finished_count >= MOST_FINISHED)
            return job;
        admit_one(pool);
    }
}

// Gives a child work until it holds `most` jobs.
static void feed(st_pool *pool, st_pool_child *child, int most, size_t most_bytes) {
    while (st_pool_child_is_alive(child) && child->job_count < most) {
        st_pool_job *job = next_to_send(pool, most_bytes);
        if (!job)
            return;
        st_pool_child_send(pool, child, job);
    }
}

// Starts a child for the next job. False: no job, or no child (an error only when there is none at
// all).
static bool start_for_next(st_pool *pool, st_pool_child *child) {
    st_pool_job *job = next_to_send(pool, SIZE_MAX);
    if (!job)
        return false;
    st_error error = {0};
    if (st_pool_child_start(pool, child, &error) == ST_OK) {
        st_pool_child_send(pool, child, job);
        return true;
    }
    st_job_list_put_first(&pool->ready, job);
    for (int i = 0; i < pool->process_count; ++i)
        if (st_pool_child_is_alive(&pool->children[i]))
            return false;
    st_pool_fail(pool, NULL, &error);
    return false;
}

// Moves jobs on: to idle children, to new ones, ahead to busy ones; looks fresh ones up.
static void pump(st_pool *pool) {
    for (int i = 0; i < pool->process_count; ++i)
        feed(pool, &pool->children[i], 1, SIZE_MAX);
    for (int i = 0; i < pool->process_count && !pool->failure.code; ++i)
        if (!st_pool_child_is_alive(&pool->children[i]) &&
            !start_for_next(pool, &pool->children[i]))
            break;
    for (int i = 0; i < pool->process_count; ++i)
        if (pool->children[i].job_count > 0)
            feed(pool, &pool->children[i], ST_JOBS_A_CHILD, SENT_AHEAD_BYTES);
    while (pool->fresh.first && !pool->finished)
        admit_one(pool); // a hit need not wait behind what must be compiled
    st_pool_set_timer(pool);
}

// --- the interface
// ---------------------------------------------------------------------------------

static int default_processes(void) {
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return cores < 1 ? 1 : cores > MOST_BY_DEFAULT ? MOST_BY_DEFAULT : cores;
}

static st_code watch(st_pool *pool, int fd, uint32_t name, st_error *error) {
    struct epoll_event event = {.events = EPOLLIN};
    event.data.u32 = name;
    if (pool->epoll_fd >= 0 && fd >= 0 && epoll_ctl(pool->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
        return ST_OK;
    return st_fail(error, ST_FAILED, "raise the limit of open files (ulimit -n)",
                   "cannot set up the compile pool: %s", strerror(errno));
}

static st_code fill_pool(st_pool *pool, const st_pool_options *options, st_error *error) {
    pool->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    pool->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pool->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int wanted = options->processes > 0 ? options->processes : default_processes();
    pool->process_count = wanted > MOST_PROCESSES ? MOST_PROCESSES : wanted;
    pool->first_limit = options->first_limit > 0 ? options->first_limit : DEFAULT_FIRST_LIMIT;
    pool->children = st_calloc((size_t)pool->process_count, sizeof *pool->children);
    pool->includes = st_include_memory_new();
    if (options->program)
        pool->program = st_strdup(options->program);
    if (options->cache_folder)
        pool->cache_folder = st_strdup(options->cache_folder);
    if (!pool->children || !pool->includes || (options->program && !pool->program) ||
        (options->cache_folder && !pool->cache_folder))
        return st_fail_memory(error, "setting up the compile pool");
    for (int i = 0; i < pool->process_count; ++i)
        pool->children[i].child.fd = pool->children[i].child.error_fd = -1;
    st_code code = watch(pool, pool->event_fd, EVENT_FD, error);
    if (!code)
        code = watch(pool, pool->timer_fd, TIMER_FD, error);
    if (!code && pool->cache_folder)
        code = st_text_make_folder(pool->cache_folder, error);
    return code;
}

st_code st_pool_open(const st_pool_options *options, st_pool **out, st_error *error) {
    *out = NULL;
    st_pool *pool = st_calloc(1, sizeof *pool);
    if (!pool)
        return st_fail_memory(error, "setting up the compile pool");
    pool->epoll_fd = pool->event_fd = pool->timer_fd = -1;
    st_code code = fill_pool(pool, options, error);
    if (code)
        st_pool_close(pool);
    else
        *out = pool;
    return code;
}

static int64_t cache_bytes(void) {
    const char *text = getenv("SIMTUNE_CACHE_BYTES");
    int64_t bytes = 0;
    return text && st_text_to_int(text, &bytes) && bytes >= 0 ? bytes : CACHE_BYTES;
}

void st_pool_close(st_pool *pool) {
    if (!pool)
        return;
    st_pool_stop_children(pool);
    if (pool->stored)
        st_cache_trim(pool->cache_folder, cache_bytes());
    st_job_list_release(&pool->fresh);
    st_job_list_release(&pool->ready);
    for (st_finished_job *entry; (entry = pool->finished);) {
        pool->finished = entry->next;
        st_compiled_release(&entry->compiled);
        st_free(entry);
    }
    int descriptors[] = {pool->epoll_fd, pool->event_fd, pool->timer_fd};
    for (int i = 0; i < 3; ++i)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    st_include_memory_free(pool->includes);
    st_free(pool->children);
    st_free(pool->cache_folder);
    st_free(pool->program);
    st_free(pool->nvrtc_variable);
    st_free(pool);
}

static st_code find_nvrtc(st_pool *pool, st_error *error) {
    const st_nvrtc *api = NULL;
    st_code code = st_nvrtc_open(st_driver_cuda_version(), &api, error);
    if (code)
        return code;
    memcpy(pool->cuda_version, api->version, sizeof pool->cuda_version);
    snprintf(pool->cuda_compiler, sizeof pool->cuda_compiler, "%s %lld", api->version,
             api->file_bytes);
    pool->nvrtc_variable =
        st_format("SIMTUNE_LIBNVRTC=%s", api->library.path); // children: the same
    return pool->nvrtc_variable ? ST_OK : st_fail_memory(error, "queueing a compile job");
}

// Finds the job's compiler, so that its absence is one clear error and not a failure of each job.
// *identity is for the key ("": not known, the result is not kept), *version as results name it.
static st_code find_compiler(st_pool *pool, const char *backend, const char **identity,
                             const char **version, st_error *error) {
    *identity = *version = "";
    st_code code = ST_OK;
    if (strcmp(backend, "cuda") == 0) {
        if (!pool->nvrtc_variable)
            code = find_nvrtc(pool, error);
        *identity = pool->cuda_compiler;
        *version = pool->cuda_version;
    } else if (strcmp(backend, "emu") == 0 && st_emu_compiler) {
        if (!pool->emu_compiler[0])
            code = st_emu_compiler(pool->emu_compiler, error);
        *identity = *version = pool->emu_compiler;
    }
    return code;
}

st_code st_pool_submit(st_pool *pool, const st_compile_job *job, st_error *error) {
    const char *identity = NULL, *version = NULL;
    st_pool_job *made = NULL;
    st_code code = find_compiler(pool, job->backend, &identity, &version, error);
    if (!code)
        code = st_pool_job_new(job, &made, error);
    if (!code && pool->cache_folder && *identity)
        code = st_compile_key(job, identity, pool->includes, made->key, error);
    if (code) {
        st_pool_job_free(made);
        return code;
    }
    snprintf(made->compiler, sizeof made->compiler, "%s", version);
    st_job_list_put_last(&pool->fresh, made);
    pool->pending++;
    pump(pool);
    return ST_OK;
}

static void pop(st_pool *pool, st_compiled *out) {
    st_finished_job *entry = pool->finished;
    pool->finished = entry->next;
    if (!pool->finished)
        pool->last_finished = NULL;
    *out = entry->compiled;
    st_free(entry);
    pool->finished_count--;
    pool->pending--;
}

// Hears the children once, waiting at most `seconds`.
static void listen_once(st_pool *pool, double seconds) {
    struct epoll_event events[MOST_PROCESSES + 2];
    int wait = seconds <= 0 ? 0 : seconds > 3600 ? 3600000 : (int)ceil(seconds * 1000);
    int count = epoll_wait(pool->epoll_fd, events, MOST_PROCESSES + 2, wait);
    for (int i = 0; i < count; ++i) {
        uint64_t ignored;
        if (events[i].data.u32 == TIMER_FD && read(pool->timer_fd, &ignored, sizeof ignored) < 0)
            continue; // set anew meanwhile
        if (events[i].data.u32 < (uint32_t)pool->process_count)
            st_pool_child_listen(pool, &pool->children[events[i].data.u32]);
    }
    st_pool_end_late_children(pool);
}

static st_code take_failure(st_pool *pool, st_error *error) {
    st_code code = pool->failure.code;
    if (error)
        *error = pool->failure;
    st_error_clear(&pool->failure);
    pool->pending -= pool->failed_jobs;
    pool->failed_jobs = 0;
    tell_finished(pool);
    return code;
}

st_code st_pool_next(st_pool *pool, double seconds, st_compiled *out, bool *got, st_error *error) {
    double deadline = st_clock_seconds() + seconds;
    *got = false;
    memset(out, 0, sizeof *out);
    for (bool last = false;; last = st_clock_seconds() >= deadline) {
        pump(pool);
        if (pool->finished) {
            pop(pool, out);
            *got = true;
            pump(pool); // room for the next hits
            tell_finished(pool);
            return ST_OK;
        }
        if (pool->failure.code)
            return take_failure(pool, error);
        if (last || pool->pending == 0)
            return ST_OK;
        listen_once(pool, deadline - st_clock_seconds());
    }
}

static bool drop_from(st_job_list *list, uint64_t id) {
    st_pool_job *before = NULL;
    for (st_pool_job *job = list->first; job; before = job, job = job->next)
        if (job->id == id) {
            st_pool_job_free(st_job_list_take_after(list, before));
            return true;
        }
    return false;
}

bool st_pool_drop(st_pool *pool, uint64_t id) {
    bool dropped = drop_from(&pool->ready, id) || drop_from(&pool->fresh, id);
    pool->pending -= dropped;
    return dropped;
}

size_t st_pool_pending(const st_pool *pool) {
    return pool->pending;
}

int st_pool_processes(const st_pool *pool) {
    return pool->process_count;
}

int st_pool_poll_fd(const st_pool *pool) {
    return pool->epoll_fd;
}
