// SPDX-License-Identifier: Apache-2.0
// Shared inside the compile pool: how jobs and results travel, the cache, and what names a content.
#ifndef SIMTUNE_GPU_COMPILE_INTERNAL_H
#define SIMTUNE_GPU_COMPILE_INTERNAL_H

#include "tuner/base/channel.h"
#include "tuner/base/hash.h"
#include "tuner/base/text.h"
#include "tuner/gpu/compile.h"

// --- compile_wire.c: frames
// ------------------------------------------------------------------------ Sources need not be
// UTF-8, so every text of a job travels in the blob, each ended by a NUL, in the order backend,
// arch, file name, source, (include name, include text)…, options…, kernels…; the JSON holds the
// type "compile", the id and the three counts.
st_code st_job_encode(const st_compile_job *job, json_t **json, st_text *blob, st_error *error);

// A job that was received. `job` points into `frame`, which is owned.
typedef struct st_received_job {
    st_compile_job job;
    st_frame frame;
    const char **texts;       // owned: options, kernels
    st_source_text *includes; // owned
} st_received_job;
// Takes over `frame` (also when it fails).
st_code st_job_decode(st_frame *frame, st_received_job *out, st_error *error);
void st_received_job_release(st_received_job *received);

// A result: JSON of type "compiled"; the blob is the image, then the lowered names and the log,
// each ended by a NUL. The same form stands in the cache.
st_code st_compiled_encode(const st_compiled *compiled, json_t **json, st_text *blob,
                           st_error *error);
st_code st_compiled_decode(const json_t *json, const void *blob, size_t blob_length,
                           st_compiled *out, st_error *error);

// --- compile_key.c
// --------------------------------------------------------------------------------- Remembers the
// hashes of files that sources include by -I, so that each is read once a pool.
typedef struct st_include_memory st_include_memory;
st_include_memory *st_include_memory_new(void); // NULL: no memory
void st_include_memory_free(st_include_memory *memory);
// What names this job's result: source, includes (those found through -I as well), options,
// kernels, backend, arch and `compiler`.
st_code st_compile_key(const st_compile_job *job, const char *compiler, st_include_memory *memory,
                       char key[ST_HASH_TEXT], st_error *error);

// --- compile_cache.c
// ------------------------------------------------------------------------------- False: not there,
// or damaged (a damaged file is a miss).
bool st_cache_read(const char *folder, const char *key, st_compiled *out);
st_code st_cache_write(const char *folder, const char *key, const st_compiled *compiled,
                       st_error *error);
// Removes the least recently used files until the rest is within `most_bytes`.
void st_cache_trim(const char *folder, int64_t most_bytes);

// --- compile_jobs.c
// -------------------------------------------------------------------------------- A job of the
// pool, in the form that travels.
typedef struct st_pool_job {
    struct st_pool_job *next;
    uint64_t id;
    char *file_name;
    size_t kernel_count;
    bool fails_alike; // an error of the compiler is as good as a result: kept in the cache
    json_t *json;
    st_text blob;
    char key[ST_HASH_TEXT]; // "" when the result is not kept
    char compiler[48];      // that the key was made for
    bool waited;            // for another job of its key: look again before compiling
} st_pool_job;
st_code st_pool_job_new(const st_compile_job *job, st_pool_job **out, st_error *error);
void st_pool_job_free(st_pool_job *job);

typedef struct st_job_list {
    st_pool_job *first, *last;
} st_job_list;
void st_job_list_put_first(st_job_list *list, st_pool_job *job);
void st_job_list_put_last(st_job_list *list, st_pool_job *job);
// Takes out the job that follows `before` (NULL: the first).
st_pool_job *st_job_list_take_after(st_job_list *list, st_pool_job *before);
void st_job_list_release(st_job_list *list); // with its jobs

// What compiling took so far, a kernel; gives the time limit of a job.
typedef struct st_compile_times {
    double seconds[256]; // the last ones, a ring
    size_t count;        // of all
} st_compile_times;
void st_compile_times_add(st_compile_times *times, double seconds, size_t kernels);
// first_limit until three are known, then max(5 s, 20 × the median for as many kernels).
double st_compile_times_limit(const st_compile_times *times, double first_limit, size_t kernels);

#endif
