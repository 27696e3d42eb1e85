// SPDX-License-Identifier: Apache-2.0
// The compile pool: N long-lived processes around NVRTC (or the host compiler, for emu), and the cache
// of what they made. Promise: a compile that fails, hangs or kills its process costs that job only; the
// same content (source, included texts, options, compiler version, arch) is compiled once.
#ifndef SIMTUNE_GPU_COMPILE_H
#define SIMTUNE_GPU_COMPILE_H

#include "tuner/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_source_text {
    const char *name; // as in #include
    const char *text;
} st_source_text;

// One program: one source with one or more kernels wanted from it. All borrowed until submit returns.
typedef struct st_compile_job {
    uint64_t id;                 // the caller's
    const char *backend;         // "cuda" or "emu"
    const char *arch;            // "sm_90"
    const char *file_name;       // for messages and line information
    const char *source;
    const st_source_text *includes; size_t include_count;
    const char *const *options; size_t option_count;    // beyond arch and -lineinfo
    const char *const *kernels; size_t kernel_count;    // name expressions: "reduce_blocks<config_3>"
} st_compile_job;

typedef struct st_compiled {
    uint64_t id;
    enum { ST_COMPILED, ST_COMPILE_ERROR, ST_COMPILE_TIMEOUT, ST_COMPILE_CRASH } outcome;
    void *image; size_t image_bytes;      // cubin, or a shared object for emu; owned
    char **lowered_names; size_t kernel_count; // as the kernels of the job; owned
    char *log;                            // compiler's and assembler's words, never NULL; owned
    double seconds;                       // spent compiling; as when it was made if from the cache
    bool from_cache;
    int process;                          // that compiled it, of the pool's; of no meaning if from the cache
    double began;                         // st_clock_seconds; of no meaning if from the cache
    char compiler[48];                    // "nvrtc 13.0", "g++ 12.2.0"
} st_compiled;
void st_compiled_release(st_compiled *compiled);

typedef struct st_pool_options {
    int processes;          // 0: one a core, at most 16
    const char *cache_folder; // NULL: no cache
    double first_limit;     // seconds for a job before any time is known (default 60)
    const char *program;    // NULL: this binary (tests name another)
} st_pool_options;

typedef struct st_pool st_pool;
st_code st_pool_open(const st_pool_options *options, st_pool **out, st_error *error);
// Ends the processes; jobs not yet returned are dropped.
void st_pool_close(st_pool *pool);
// Queues; never blocks for long. Copies what it needs.
st_code st_pool_submit(st_pool *pool, const st_compile_job *job, st_error *error);
// Waits up to `seconds` for one finished job. *got says whether `out` was filled. Results come in the
// order of finishing. An error is not of a job (its compiler is absent, processes cannot be started): the
// run should stop.
st_code st_pool_next(st_pool *pool, double seconds, st_compiled *out, bool *got, st_error *error);
// Takes back a job that no process was given yet: it is forgotten. False: it is being compiled, or it is done.
bool st_pool_drop(st_pool *pool, uint64_t id);
size_t st_pool_pending(const st_pool *pool);
int st_pool_processes(const st_pool *pool);
// A descriptor that becomes readable when st_pool_next has something to do (for poll in the caller).
int st_pool_poll_fd(const st_pool *pool);

// "nvrtc 13.0" of the NVRTC that would be used for this driver (driver_cuda < 0: the newest found),
// and its archs ("75 80 …"). ST_NOTHING with the remedy when there is none.
st_code st_nvrtc_version(int driver_cuda, char version[48], int *archs, size_t *arch_count,
                         size_t arch_capacity, st_error *error);

// What ptxas said of one kernel in a compile log: registers a thread, bytes a thread that are spilled
// (stores), static shared memory of a block. -1 unknown. False when the log does not speak of it.
bool st_compile_kernel_facts(const char *log, const char *lowered_name, int *registers,
                             int *spill_bytes, int *smem);

// The child's main loop: `simtune --internal compile`. Returns an exit code.
int st_compile_child(int channel_fd);

#endif
