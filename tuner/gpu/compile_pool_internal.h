// SPDX-License-Identifier: Apache-2.0
// Shared by the two halves of the pool's parent side: compile_pool.c (interface, invariants) and
// compile_children.c (the processes).
#ifndef SIMTUNE_GPU_COMPILE_POOL_INTERNAL_H
#define SIMTUNE_GPU_COMPILE_POOL_INTERNAL_H

#include "tuner/base/channel.h"
#include "tuner/gpu/compile.h"
#include "tuner/gpu/compile_internal.h"

enum { ST_JOBS_A_CHILD = 2 };

typedef struct st_pool_child {
    st_child child; // fd -1: none
    st_pool_job *jobs[ST_JOBS_A_CHILD];
    int job_count;
    bool started; // jobs[0]
    double since; // when jobs[0] was started, or became the first
} st_pool_child;

typedef struct st_finished_job {
    struct st_finished_job *next;
    st_compiled compiled;
} st_finished_job;

struct st_pool {
    char *cache_folder, *program, *nvrtc_variable;
    double first_limit;
    int process_count;
    st_pool_child *children;
    st_job_list fresh; // not yet looked up in the cache
    st_job_list ready; // to be compiled
    st_finished_job *finished, *last_finished;
    size_t finished_count, pending, stored;
    size_t failed_jobs; // ended by `failure`, which is not yet returned
    st_compile_times times;
    st_include_memory *includes;
    char cuda_version[48], cuda_compiler[96], emu_compiler[48];
    int epoll_fd, event_fd, timer_fd;
    int early_deaths;
    st_error failure; // to be returned by st_pool_next
};

// --- compile_pool.c: where jobs go
// ----------------------------------------------------------------- Takes over `compiled` and ends
// `job`, which is in no list any more.
void st_pool_finish(st_pool *pool, st_pool_job *job, st_compiled *compiled);
// Ends `job` without a result: st_pool_next will return `error`. `job` may be NULL.
void st_pool_fail(st_pool *pool, st_pool_job *job, const st_error *error);

// --- compile_children.c
// ----------------------------------------------------------------------------
bool st_pool_child_is_alive(const st_pool_child *child);
st_code st_pool_child_start(st_pool *pool, st_pool_child *child, st_error *error);
// Sends `job`; when that fails the child is given up and the job is back on the ready list.
void st_pool_child_send(st_pool *pool, st_pool_child *child, st_pool_job *job);
// Takes everything that the child has said.
void st_pool_child_listen(st_pool *pool, st_pool_child *child);
void st_pool_end_late_children(st_pool *pool);
void st_pool_set_timer(st_pool *pool);
void st_pool_stop_children(st_pool *pool);

#endif
