// SPDX-License-Identifier: Apache-2.0
// The tuner's end of a conversation with one device worker (worker/messages.h). Promise: a worker that
// dies, hangs or answers nonsense costs the request in flight; the link starts another, brings it back to
// the problem at hand, and says so by its generation (loaded candidates are gone with the old one).
#ifndef SIMTUNE_TUNER_LINK_H
#define SIMTUNE_TUNER_LINK_H

#include "tuner/base/text.h"
#include "tuner/trace.h"
#include "tuner/base/text.h"
#include "tuner/worker/messages.h"

typedef struct st_link st_link;

// How a request ended, beside ST_OK (answered) and errors of the tool itself.
typedef enum st_trouble {
    ST_TROUBLE_NONE,
    ST_TROUBLE_REFUSED,  // answered `failed`, the worker lives: a launch that the driver refuses
    ST_TROUBLE_CRASH,    // its context or its process is lost
    ST_TROUBLE_TIMEOUT,  // no answer in time; it was killed
} st_trouble;

// Where every request is told to, and how a candidate is called there.
typedef struct st_link_trace {
    st_trace *trace;       // NULL: nowhere
    void *context;
    void (*name)(void *context, int64_t candidate, st_text *out);
} st_link_trace;

typedef struct st_link_options {
    const char *backend;
    int ordinal;
    bool profiles;         // the worker that may use CUPTI
    bool warm;             // it also readies its counters while it opens, so that no profile waits for them
    const void *support; size_t support_bytes; // image of templates/support.cu; borrowed for the link's life;
                                               // NULL: st_link_support gives it later
    const char *program;   // NULL: this binary (tests name another)
    const st_link_trace *trace; // NULL: none; borrowed for the link's life
} st_link_options;

// Starts a worker and opens the device. Fails when the device cannot be opened (with the worker's words).
st_code st_link_open(const st_link_options *options, st_link **out, st_error *error);
// The same without waiting for the worker, which opens the device meanwhile: the first request waits for it and fails
// as st_link_open would.
st_code st_link_begin(const st_link_options *options, st_link **out, st_error *error);
st_code st_link_await(st_link *link, st_error *error); // until it is open
void st_link_close(st_link *link);
// Gives the support module to a link that was opened without one (the device's arch decides its image).
st_code st_link_support(st_link *link, const void *image, size_t bytes, st_error *error);
const st_device_facts *st_link_facts(const st_link *link);
uint64_t st_link_free_bytes(const st_link *link);
double st_link_tick_ns(const st_link *link);
// Grows with every worker that is lost; notices one that died while nothing was asked of it.
unsigned st_link_generation(st_link *link);

// What a problem is to the worker. Kept by the link (copied), to bring a new worker to it.
typedef struct st_link_problem {
    const st_plan_buffer *buffers; size_t buffer_count;
    const void *image; size_t image_bytes;              // references'; NULL: none
    const st_load_kernel *kernels; size_t kernel_count;
    const st_plan *plan;
} st_link_problem;
// *too_big: the device has not the memory.
st_code st_link_set_problem(st_link *link, const st_link_problem *problem, bool *too_big,
                            st_error *error);

// Each of these returns ST_OK with *trouble; what the worker said is in `error` unless it is NONE. Other
// codes are failures of the tool (a worker cannot be started, memory).
// `module_key` names the image for as long as this link lives, so that it is sent once; 0: always sent.
st_code st_link_load(st_link *link, int64_t candidate, int64_t module_key, const void *image, size_t image_bytes,
                     const st_load_kernel *kernels, size_t count, st_loaded_kernel *facts, double limit,
                     st_trouble *trouble, st_error *error);
st_code st_link_plan(st_link *link, int64_t candidate, const st_plan *plan, st_trouble *trouble,
                     st_error *error);
// What a verification looks at.
typedef struct st_link_check {
    const st_plan_compare *compares; size_t count;
    const st_plan *derive;   // of the problem's kernels: fills derived buffers; NULL: none
    const int (*in_places)[2]; size_t in_place_count; // input and output: once more as one memory
    bool keeps_storage;      // temporary storage as the last run left it, with whatever data that was
} st_link_check;
st_code st_link_verify(st_link *link, int64_t candidate, st_data data, uint64_t rotation,
                       const st_link_check *check, double limit, st_verdict *verdict,
                       st_trouble *trouble, st_error *error);
st_code st_link_capture(st_link *link, int64_t candidate, st_data data, uint64_t rotation, double limit,
                        st_trouble *trouble, st_error *error);
// *samples is st_free'd by the caller.
st_code st_link_time(st_link *link, int64_t candidate, const char *cache, int64_t samples, double limit,
                     double **out, size_t *count, st_timing_state *state, st_trouble *trouble,
                     st_error *error);
// rounds × count samples, [round][candidate].
st_code st_link_race(st_link *link, const int64_t *candidates, size_t count, const char *cache,
                     int64_t rounds, int64_t seed, double limit, double **out, size_t *rounds_done,
                     st_timing_state *state, st_trouble *trouble, st_error *error);
st_code st_link_unload(st_link *link, int64_t candidate, st_trouble *trouble, st_error *error);
// How much of a candidate is looked at (cupti/counters.h, st_stall_options); 0: the worker's choice.
typedef struct st_link_stall_options {
    int64_t minimum, lines;
    double expected_ns, seconds;
} st_link_stall_options;
// The JSON reply is the caller's (json_decref).
st_code st_link_stalls(st_link *link, int64_t candidate, const st_link_stall_options *how, const void *image,
                       size_t image_bytes, double limit, json_t **reply, st_trouble *trouble,
                       st_error *error);
st_code st_link_counters(st_link *link, const int64_t *candidates, size_t count,
                         const char *const *metrics, size_t metric_count, double limit, json_t **reply,
                         st_trouble *trouble, st_error *error);
st_code st_link_speed(st_link *link, double *read_gbs, double *copy_gbs, st_trouble *trouble,
                      st_error *error);

#endif
