// SPDX-License-Identifier: Apache-2.0
// Jobs as the pool keeps them, and the time limit that follows the times seen so far.
#include "tuner/gpu/compile_internal.h"

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <string.h>

#define ENOUGH_TIMES 3
#define LEAST_LIMIT 5.0 // seconds
#define LIMIT_FACTOR 20.0

st_code st_pool_job_new(const st_compile_job *job, st_pool_job **out, st_error *error) {
    *out = NULL;
    st_pool_job *made = st_calloc(1, sizeof *made);
    if (!made)
        return st_fail_memory(error, "queueing a compile job");
    st_text_init(&made->blob);
    made->id = job->id;
    made->kernel_count = job->kernel_count;
    made->fails_alike = strcmp(job->backend, "cuda") == 0;
    made->file_name = st_strdup(job->file_name ? job->file_name : "");
    st_code code = made->file_name ? st_job_encode(job, &made->json, &made->blob, error)
                                   : st_fail_memory(error, "queueing a compile job");
    if (code)
        st_pool_job_free(made);
    else
        *out = made;
    return code;
}

void st_pool_job_free(st_pool_job *job) {
    if (!job)
        return;
    json_decref(job->json);
    st_text_release(&job->blob);
    st_free(job->file_name);
    st_free(job);
}

void st_job_list_put_first(st_job_list *list, st_pool_job *job) {
    job->next = list->first;
    list->first = job;
    if (!list->last)
        list->last = job;
}

void st_job_list_put_last(st_job_list *list, st_pool_job *job) {
    job->next = NULL;
    *(list->last ? &list->last->next : &list->first) = job;
    list->last = job;
}

st_pool_job *st_job_list_take_after(st_job_list *list, st_pool_job *before) {
    st_pool_job **at = before ? &before->next : &list->first;
    st_pool_job *job = *at;
    *at = job->next;
    if (list->last == job)
        list->last = before;
    job->next = NULL;
    return job;
}

void st_job_list_release(st_job_list *list) {
    while (list->first)
        st_pool_job_free(st_job_list_take_after(list, NULL));
}

static size_t kernels_or_one(size_t kernels) {
    return kernels ? kernels : 1;
}

void st_compile_times_add(st_compile_times *times, double seconds, size_t kernels) {
    size_t capacity = sizeof times->seconds / sizeof *times->seconds;
    times->seconds[times->count++ % capacity] = seconds / (double)kernels_or_one(kernels);
}

double st_compile_times_limit(const st_compile_times *times, double first_limit, size_t kernels) {
    if (times->count < ENOUGH_TIMES)
        return first_limit;
    size_t capacity = sizeof times->seconds / sizeof *times->seconds;
    size_t count = times->count < capacity ? times->count : capacity;
    double limit =
        LIMIT_FACTOR * st_median(times->seconds, count) * (double)kernels_or_one(kernels);
    return limit > LEAST_LIMIT ? limit : LEAST_LIMIT;
}
