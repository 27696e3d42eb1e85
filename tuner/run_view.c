// SPDX-License-Identifier: Apache-2.0
// What is known of a candidate, put together for advice. Invariants: 1. counters come out of the store, so that a
// resumed run and an undisturbed one see the same; 2. what is not known stays unknown.
#include "tuner/base/memory.h"
#include "tuner/run_internal.h"

#include <math.h>

static st_code take_counter(void *context, const char *kind, const char *name, double value, st_error *error)
{
    (void)error;
    st_view_counter(context, kind, name, value);
    return ST_OK;
}

// Of the bytes that a problem moves, the share that is written: what is not read once from the inputs.
st_code run_written_share(st_run *run, run_problem *problem, double *out, st_error *error)
{
    st_bindings bindings = {0};
    st_plan_buffer *buffers = NULL;
    st_config standard;
    double inputs = 0;
    *out = NAN;
    st_config_default(run->tmpl, &standard);
    st_code code = st_bindings_make(run->tmpl, &problem->problem, &standard, &run->device, &bindings, error);
    if (code == ST_OK)
        code = st_bindings_late(&bindings, 1, error);
    if (code == ST_OK)
        code = st_plan_buffers(&bindings, 0, &buffers, error);
    for (size_t i = 0; i < run->tmpl->buffer_count && code == ST_OK; i++)
        if (buffers[i].role == ST_BUFFER_INPUT || buffers[i].role == ST_BUFFER_INOUT)
            inputs += (double)buffers[i].count * (double)st_type_of(buffers[i].type)->size;
    if (code == ST_OK && problem->bytes > 0)
        *out = fmin(1, fmax(0, 1 - inputs / problem->bytes));
    st_free(buffers);
    st_bindings_release(&bindings);
    return code;
}

static double known(int64_t value)
{
    return value < 0 ? NAN : (double)value;
}

st_code run_view(st_run *run, run_problem *problem, size_t index, st_profile_view *out, st_error *error)
{
    const run_candidate *candidate = &problem->candidates[index];
    st_code code = ST_OK;
    st_view_init(out);
    if (candidate->key)
        code = st_store_counters_of(run->store, candidate->key, take_counter, out, error);
    out->registers = known(candidate->main.registers);
    out->local_bytes = known(candidate->main.local_bytes);
    out->static_smem = known(candidate->main.static_smem);
    out->blocks_per_sm = known(candidate->main.blocks_per_sm);
    out->occupancy = run_occupancy(run, candidate);
    out->ns = candidate->series[COLD].median_ns;
    out->best_ns = problem->best_ns[COLD];
    out->bytes = problem->bytes;
    out->device = (st_device_limits){.read_gbs = run->read_gbs,
                                     .copy_gbs = run->copy_gbs,
                                     .written_share = NAN,
                                     .cc = (int)run->device.cc,
                                     .sm_count = (int)run->device.sm_count,
                                     .sm_clock_ghz = known(run->device.sm_clock_khz) / 1e6,
                                     .threads_per_sm = run->device.threads_per_sm,
                                     .registers_per_sm = run->device.registers_per_sm,
                                     .smem_per_sm = run->device.smem_per_sm};
    return code == ST_OK ? run_written_share(run, problem, &out->device.written_share, error) : code;
}
