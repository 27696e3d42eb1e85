// SPDX-License-Identifier: Apache-2.0
// Shared inside tuner/worker. See worker.c for the invariants.
#ifndef SIMTUNE_WORKER_INTERNAL_H
#define SIMTUNE_WORKER_INTERNAL_H

#include "tuner/base/channel.h"
#include "tuner/base/error.h"
#include "tuner/gpu/gpu.h"
#include "tuner/worker/messages.h"

// Fences: bytes of 0xFF before and after what a candidate may write. Reading one gives NaN or -1.
enum { FRONT_GUARD = 256, REAR_GUARD = 4096 };

typedef struct wk_buffer {
    st_plan_buffer spec;
    st_gpu_pointer base;    // of the allocation, 256-byte aligned; 0: none yet
    uint64_t elements;      // that the allocation holds
    // Inputs of a batched sample: copies 1 … copies-1, each in an allocation of its own.
    st_gpu_pointer *copy_bases;
    uint32_t copies;        // besides the first
    bool copies_fresh;      // hold the data that the first holds
    const struct wk_buffer *same; // while a run is made in place: the buffer whose memory it takes
} wk_buffer;

// A loaded program. Many candidates and many sizes use one, and loading costs milliseconds: programs stay
// until there are too many.
typedef struct wk_module {
    int64_t key;            // the parent's; 0: not shared
    st_gpu_module *module;
    unsigned users;
    uint64_t last_use;
} wk_module;

typedef struct wk_candidate {
    int64_t id;
    st_gpu_module *module;  // of its own (module_key 0), or borrowed from the cache
    int64_t module_key;
    st_gpu_kernel **kernels;
    size_t kernel_count;
    st_plan plan;
} wk_candidate;

typedef enum wk_support {
    SUPPORT_FILL, SUPPORT_COMPARE, SUPPORT_REPORT, SUPPORT_CHECK, SUPPORT_FLUSH, SUPPORT_READ,
    SUPPORT_COPY, SUPPORT_GATE, SUPPORT_KERNELS
} wk_support;

typedef struct wk_compare_result { // as in templates/support.cu
    uint64_t mismatches, first;
    double got, expected, bound;
} wk_compare_result;

typedef struct st_worker {
    int fd;
    bool profiles;
    const st_gpu_operations *ops;
    st_gpu *gpu;
    st_device_facts facts;
    st_monitor *monitor;
    st_device_state state;      // read last
    double state_read_at;       // monotonic seconds
    double tick_ns;
    st_gpu_module *support_module;
    st_gpu_kernel *support[SUPPORT_KERNELS];
    volatile int *gate_host;
    st_gpu_pointer gate_device;
    st_gpu_pointer flush;
    uint64_t flush_bytes;
    st_gpu_pointer scratch;     // 4 KiB: compare results, sinks
    st_gpu_event *events[128];
    wk_buffer *buffers;
    size_t buffer_count;
    wk_candidate reference;
    st_gpu_pointer *captured;   // per buffer: what `capture` kept
    bool data_known;
    st_data data;
    uint64_t rotation;
    wk_candidate *candidates;
    size_t candidate_count, candidate_capacity;
    wk_module *modules;
    size_t module_count, module_capacity;
    uint64_t module_clock;
    struct st_profiler *profiler;
} st_worker;

static inline bool wk_emulated(const st_worker *worker)
{
    return worker->ops->name[0] == 'e';
}

// --- buffers.c --------------------------------------------------------------------------------------
void wk_buffers_release(st_worker *worker);
// Allocates; ST_NOTHING with *wanted and *free_bytes when the device has not the room.
st_code wk_buffers_make(st_worker *worker, uint64_t *wanted, uint64_t *free_bytes, st_error *error);
// Makes temp buffers large enough for `plan`.
st_code wk_buffers_fit(st_worker *worker, const st_plan *plan, st_error *error);
size_t wk_element_bytes(const wk_buffer *buffer);
st_gpu_pointer wk_buffer_pointer(const wk_buffer *buffer, uint32_t copy);
// 0xFF over a whole allocation, fences included.
st_code wk_buffer_poison(st_worker *worker, wk_buffer *buffer, st_error *error);
// Counts what was written outside the first `elements` of a buffer.
st_code wk_buffer_check(st_worker *worker, const wk_buffer *buffer, uint64_t elements,
                        wk_compare_result *result, st_error *error);
// Fills the inputs and runs the reference, unless they hold this already.
st_code wk_data_prepare(st_worker *worker, st_data data, uint64_t rotation, st_error *error);
// Puts an input's data into another buffer, which is large enough.
st_code wk_input_into(st_worker *worker, size_t input, const wk_buffer *to, st_error *error);
// At least `copies` further copies of every input, filled.
st_code wk_inputs_copy(st_worker *worker, uint32_t copies, st_error *error);
st_code wk_support_launch(st_worker *worker, wk_support kernel, uint64_t work, void **arguments,
                          const size_t *sizes, unsigned count, st_error *error);

// --- execute.c --------------------------------------------------------------------------------------
// Queues the steps of a plan, reading inputs from `copy`.
st_code wk_plan_run(st_worker *worker, const wk_candidate *candidate, uint32_t copy, st_error *error);
wk_candidate *wk_candidate_find(st_worker *worker, int64_t id);
void wk_candidate_release(st_worker *worker, wk_candidate *candidate);

// --- modules.c -----------------------------------------------------------------------------------------
// Takes the module `key`, loading `image` when it is not there; *absent when it is not there and there is no
// image. Key 0 always loads.
st_code wk_module_take(st_worker *worker, int64_t key, const void *image, size_t bytes, st_gpu_module **out,
                       bool *absent, st_error *error);
void wk_module_return(st_worker *worker, int64_t key, st_gpu_module *module);
void wk_modules_release(st_worker *worker);

// --- requests: each fills *reply (owned by the caller) and a blob (st_free) ------------------------------
typedef struct wk_reply {
    json_t *json;
    void *blob;
    size_t blob_length;
} wk_reply;
st_code wk_verify(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error);
st_code wk_capture(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error);
st_code wk_time(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error);
st_code wk_race(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error);
st_code wk_speed(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error);
st_code wk_stalls(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error);
st_code wk_counters(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error);
void wk_profiler_close(st_worker *worker);
void wk_profiler_warm(st_worker *worker); // what the first profile would wait for; silent when there are no counters
// Queues the reading that leaves nothing of a problem in L2.
st_code wk_flush_cache(st_worker *worker, st_error *error);
// Smallest difference that the events' clock can tell, in nanoseconds.
st_code wk_measure_tick(st_worker *worker, double *tick_ns, st_error *error);
st_code wk_get_candidate(st_worker *worker, const json_t *request, wk_candidate **out, st_error *error);
st_code wk_get_planned(st_worker *worker, const json_t *request, wk_candidate **out, st_error *error);

#endif
