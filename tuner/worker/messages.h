// SPDX-License-Identifier: Apache-2.0
// What the tuner and its device workers say to each other. Plain structs with an encoder and a decoder
// each; a decoder trusts nothing. The worker knows no expressions: the parent has evaluated them.
//
// A conversation. The worker answers each request with exactly one reply: the one after →, or
// {"type":"failed","code":…,"what":…,"remedy":…,"lost":bool}; `lost` means that only a new worker helps.
//   open     {backend, ordinal, warm}                  → opened {facts, free_bytes, total_bytes, seconds}
//                                                        warm (may be absent): counters are made ready as well; that
//                                                        they cannot be had is told by the first stalls or counters
//   support  {kernels} + module                        → ready
//   problem  {buffers, kernels, plan} + module         → ready {rotation}, or too_big {wanted, free}
//                                                        the module is the references' and derives'; blob may be
//                                                        empty
//   load     {candidate, kernels, module} + module     → loaded {kernels}, or need_module when the blob was left
//                                                        out and the worker does not hold that key (0: never held)
//   plan     {candidate, plan}                         → ready
//   verify   {candidate, data, rotation, compares, derive, in_place, keep} → verified {verdict}
//                                                        derive: a plan of the problem's kernels that fills derived
//                                                        buffers (may be absent); in_place: pairs of input and output
//                                                        that are one memory in a further run (may be absent); keep: temporary
//                                                        storage stays as the last run left it (may be absent)
//   capture  {candidate, data, rotation}               → ready   its outputs become what others must equal
//   time     {candidate, cache, samples, drop}         → timed {state} + float64 ns
//   race     {candidates, cache, rounds, seed}         → timed {state} + float64 ns [round][candidate]
//   stalls   {candidate, minimum, expected_ns, seconds, lines} + cubin → stalls {profile}   profile worker only
//                                                        all but the first two may be absent (cupti/counters.h,
//                                                        st_stall_options)
//   counters {candidates, metrics}                     → counters {values, seconds}  profile worker only
//   speed    {}                                        → speed {read_gbs, copy_gbs}
//   unload   {candidate}                               → ready
#ifndef SIMTUNE_WORKER_MESSAGES_H
#define SIMTUNE_WORKER_MESSAGES_H

#include "tuner/base/channel.h"
#include "tuner/base/error.h"
#include "tuner/base/types.h"
#include "tuner/gpu/device.h"

#include <stdbool.h>
#include <stdint.h>

#define ST_NAME_MAX 512

// A buffer of the problem, sizes resolved. Index in the array = index in the plan.
typedef struct st_plan_buffer {
    char name[64];
    int role;            // st_buffer_role of tuner/template.h
    st_type_id type;
    uint64_t count;      // elements; temp buffers of candidates grow as needed
    char fill[32];       // "values", "zero", "flags" …
    int64_t fill_values[3]; uint32_t fill_value_count; // its arguments
    uint32_t misalign;   // elements that the pointer is moved off its 256-byte alignment
    // Only inputs are rotated over copies when a sample takes a batch of runs.
} st_plan_buffer;

typedef struct st_plan_argument {
    int buffer;          // or -1
    st_type_id type;
    int64_t value;
} st_plan_argument;

typedef struct st_plan_step {
    bool is_zero;
    int buffer;          // zero
    uint64_t zero_bytes;
    int kernel;          // launch: index in the candidate's (or reference's) kernel list
    uint32_t grid[3], block[3], smem, cluster;
    bool dependent;
    st_plan_argument *arguments; // owned
    uint32_t argument_count;
} st_plan_step;

typedef struct st_plan {
    st_plan_step *steps; // owned
    uint32_t step_count;
    uint64_t *temp_counts; // per buffer of the problem: elements wanted of temp buffers (0: not used)
    uint32_t buffer_count;
} st_plan;
void st_plan_release(st_plan *plan);
json_t *st_plan_encode(const st_plan *plan); // NULL: no memory
st_code st_plan_decode(const json_t *json, size_t buffers, size_t kernels, st_plan *out,
                       st_error *error);

json_t *st_plan_buffers_encode(const st_plan_buffer *buffers, size_t count);
st_code st_plan_buffers_decode(const json_t *json, st_plan_buffer **out, size_t *count,
                               st_error *error); // *out is st_free'd by the caller

typedef struct st_plan_compare {
    int output, expected, magnitude; // buffers; expected -1: what `capture` kept; magnitude -1: none
    bool bounded;        // float bound with `height`; else bit by bit unless tolerance > 0
    int64_t height;
    double tolerance;
} st_plan_compare;
json_t *st_plan_compares_encode(const st_plan_compare *compares, size_t count);
st_code st_plan_compares_decode(const json_t *json, size_t buffers, st_plan_compare **out,
                                size_t *count, st_error *error);

// A kernel to load, with what its launch needs to be checked against.
typedef struct st_load_kernel {
    char lowered[ST_NAME_MAX];
    uint32_t block;      // threads
    uint32_t smem;       // dynamic bytes
} st_load_kernel;
json_t *st_load_kernels_encode(const st_load_kernel *kernels, size_t count);
st_code st_load_kernels_decode(const json_t *json, st_load_kernel **out, size_t *count,
                               st_error *error);

typedef struct st_loaded_kernel {
    int registers, local_bytes, static_smem, max_threads, blocks_per_sm;
} st_loaded_kernel;
json_t *st_loaded_kernels_encode(const st_loaded_kernel *kernels, size_t count);
st_code st_loaded_kernels_decode(const json_t *json, st_loaded_kernel *out, size_t count,
                                 st_error *error); // exactly `count` are expected

// What the data are: exact (small integers, sparse, place rotating with `rotation`) or random.
typedef enum st_data { ST_DATA_EXACT, ST_DATA_RANDOM } st_data;

typedef struct st_verdict {
    uint64_t mismatches, checked;
    uint64_t first_index;
    double got, expected, bound; // at first_index; NaN unknown
    char what[32];   // "value", "guard" (wrote beyond a buffer), "unwritten" (output holds the fill), "repeat",
                     // "in place"
    char output[64]; // buffer
} st_verdict;
json_t *st_verdict_encode(const st_verdict *verdict);
st_code st_verdict_decode(const json_t *json, st_verdict *out, st_error *error);

// How a request ended for the candidate: words of DESIGN.md §4.
typedef enum st_outcome {
    ST_OUTCOME_CORRECT, ST_OUTCOME_WRONG, ST_OUTCOME_RACE, ST_OUTCOME_COMPILE, ST_OUTCOME_LAUNCH,
    ST_OUTCOME_CRASH, ST_OUTCOME_TIMEOUT, ST_OUTCOME_CONSTRAINT, ST_OUTCOME_SKIPPED, ST_OUTCOME_COUNT
} st_outcome;
const char *st_outcome_name(st_outcome outcome);
int st_outcome_find(const char *name); // or -1

// The conditions of a measurement.
typedef struct st_timing_state {
    int sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw; // -1 unknown
    int64_t throttle_reasons;  // every reason seen, or -1
    int other_processes;
    uint32_t dropped;          // samples dropped because the device was throttled
    uint32_t batch;            // runs a sample
    double tick_ns;
} st_timing_state;
json_t *st_timing_state_encode(const st_timing_state *state);
st_code st_timing_state_decode(const json_t *json, st_timing_state *out, st_error *error);
json_t *st_device_facts_encode(const st_device_facts *facts);
st_code st_device_facts_decode(const json_t *json, st_device_facts *out, st_error *error);

#endif
