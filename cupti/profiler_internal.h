// SPDX-License-Identifier: Apache-2.0
// Private to cupti/: the profiler behind st_profiler, shared by profiler.c, pc_sampling.c and
// range_profiler.c, and what probe.c lends to them.
#ifndef SIMTUNE_CUPTI_PROFILER_INTERNAL_H
#define SIMTUNE_CUPTI_PROFILER_INTERNAL_H

#include "cupti/cupti_api.h"
#include "cupti/host.h"
#include "cupti/pc_table.h"

typedef struct st_sampling {
    bool ready;              // reasons are known and buffers stand; they outlive disabling
    uint32_t *reason_index;  // CUPTI's number of each reason
    st_reason_slot *reasons; // by position in reason_index
    uint32_t reason_count;
    st_reason_slot *by_number; // by CUPTI's number
    uint32_t number_count;
    char slot_names[ST_REASON_SLOTS][64];
    size_t slot_count;
    CUpti_PCSamplingData kept, taken; // CUPTI's own buffer, and the one that is read into
    CUpti_PCSamplingStallReason *stall_memory;
    CUpti_PCSamplingPCData *record_memory;
    uint32_t period;     // log2 of the cycles between samples of an SM: what the next run will use
    uint32_t set_period; // what CUPTI was told; 0 nothing
    uint32_t limit;      // the finest period that may be used: finer ones lost samples
    bool fresh;          // nothing was run since CUPTI was told: the next run pays for the set-up
    st_pc_table table;
} st_sampling;

typedef struct st_ranges {
    CUpti_RangeProfiler_Object *object; // NULL while not enabled
    st_metric_config config;
    uint8_t *data;
    size_t data_bytes, data_capacity;
    size_t set_ranges; // ranges a pass that CUPTI was told since enabling; 0: nothing yet
} st_ranges;

typedef enum st_profiler_mode { ST_MODE_OFF, ST_MODE_SAMPLING, ST_MODE_RANGES } st_profiler_mode;

struct st_profiler {
    const st_cupti *api;
    CUcontext context;
    int ordinal;
    char chip[16];
    st_profiler_mode mode;
    bool broken; // see st_profiler_give_up
    st_run_once *prepare;
    st_sampling sampling;
    st_ranges ranges;
};

// Enables one way of collecting, disabling the other before; cheap when it is enabled already.
st_code st_profiler_switch(st_profiler *profiler, st_profiler_mode mode, st_error *error);
// As st_cupti_fail, for results of a collection. An unknown error there is what CUPTI gives while
// another process profiles the GPU, and its next calls may end the process: the profiler refuses
// from then on.
st_code st_profiler_give_up(st_profiler *profiler, int result, const char *what, st_error *error);
// Calls prepare, if any.
st_code st_profiler_get_ready(st_profiler *profiler, void *context, st_error *error);

// --- pc_sampling.c
enum { ST_PERIOD_FINEST = 5, ST_PERIOD_COARSEST = 20 }; // log2 of cycles, as CUPTI takes it

// What is read of a candidate's samples, and what came with them.
typedef struct st_sample_reading {
    bool crc_known;
    uint64_t crc; // of the image that is asked for
    uint64_t dropped;
    bool full; // the hardware buffer overflowed
} st_sample_reading;

st_code st_sampling_enable(st_profiler *profiler, st_error *error);
st_code st_sampling_disable(st_profiler *profiler, st_error *error);
void st_sampling_release(st_sampling *sampling);
// Tells CUPTI the period, if it is another than it was told.
st_code st_sampling_apply_period(st_profiler *profiler, st_error *error);
// Reads all that CUPTI has into the table; `reading` NULL throws it away.
st_code st_sampling_read(st_profiler *profiler, st_sample_reading *reading, st_error *error);

st_code st_ranges_enable(st_profiler *profiler, st_error *error);
st_code st_ranges_disable(st_profiler *profiler, st_error *error);
void st_ranges_release(st_ranges *ranges);

// probe.c
int st_cupti_initialize(const st_cupti *api); // a CUptiResult
st_counters_state st_counters_narrow(st_counters_state state, st_text *detail);
st_counters_state st_counters_supported(const st_cupti *api, int ordinal, st_text *detail);
st_counters_state st_counters_probe_with(const st_cupti *api, void *cu_context, int ordinal,
                                         st_text *detail);

#endif
