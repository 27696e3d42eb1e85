// SPDX-License-Identifier: Apache-2.0
// Profiles on the emulated device: its model's, in the form of a GPU's. Invariants: 1. the same request gives
// the same profile in every worker; 2. SIMTUNE_EMU_COUNTERS=STATE (denied, busy …) refuses as a GPU in that
// state does, so that this path is tried without one.
#include "tuner/worker/profile_internal.h"

#include "tuner/base/memory.h"
#include "tuner/gpu/emu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

st_code wk_emulated_counters_allowed(st_error *error)
{
    const char *wish = getenv("SIMTUNE_EMU_COUNTERS");
    for (int state = 0; wish && state <= ST_COUNTERS_FAILED; state++) {
        const char *name = st_counters_state_name((st_counters_state)state);
        if (state != ST_COUNTERS_ALLOWED && name && strcmp(name, wish) == 0)
            return st_fail(error, ST_DENIED, st_counters_remedy((st_counters_state)state),
                           "counters are %s", name);
    }
    return ST_OK;
}

static st_code record(st_worker *worker, st_run_once *prepare, st_run_once *run, void *context,
                      st_error *error)
{
    st_code code = prepare(context, error);
    if (code == ST_OK)
        code = st_emu_profile_begin(worker->gpu, error);
    return code == ST_OK ? run(context, error) : code;
}

static int find_stall(const char *name)
{
    size_t count;
    const st_stall *table = st_stalls(&count), *found = st_stall_find(name);
    return found ? (int)(found - table) : -1;
}

static st_code translate(const st_emu_profile *from, st_stall_profile *out, st_error *error)
{
    *out = (st_stall_profile){.total_samples = from->total};
    out->reasons = st_calloc(from->reason_count, sizeof *out->reasons);
    out->lines = st_calloc(from->line_count, sizeof *out->lines);
    if (!out->reasons || !out->lines) {
        st_stall_profile_release(out);
        return st_fail_memory(error, "profiling");
    }
    for (size_t i = 0; i < from->reason_count; i++) {
        st_stall_sample *to = &out->reasons[out->reason_count++];
        to->stall = find_stall(from->reasons[i].name);
        to->samples = from->reasons[i].samples;
        to->samples_not_issued = from->reasons[i].samples_not_issued;
        snprintf(to->pc_name, sizeof to->pc_name, "%s", from->reasons[i].name);
    }
    for (size_t i = 0; i < from->line_count; i++) {
        st_line_sample *to = &out->lines[out->line_count++];
        to->main_stall = find_stall(from->lines[i].reason);
        to->line = from->lines[i].line;
        to->samples = from->lines[i].samples;
        snprintf(to->function, sizeof to->function, "%s", from->lines[i].function);
        snprintf(to->file, sizeof to->file, "%s", from->lines[i].file);
    }
    return ST_OK;
}

st_code wk_emulated_stalls(st_worker *worker, st_run_once *prepare, st_run_once *run, void *context,
                           uint64_t minimum, st_stall_profile *out, st_error *error)
{
    st_emu_profile profile = {0};
    st_code code = record(worker, prepare, run, context, error);
    if (code == ST_OK)
        code = st_emu_profile_stalls(worker->gpu, minimum, &profile, error);
    if (code == ST_OK)
        code = translate(&profile, out, error);
    if (code == ST_OK)
    { // what it took would say nothing
        out->launches = 1;
        out->launch_seconds = NAN;
    }
    st_emu_profile_release(&profile);
    st_emu_profile_end(worker->gpu);
    return code;
}

st_code wk_emulated_counters(st_worker *worker, st_run_once *prepare, st_run_once *run,
                             void *const *contexts, size_t candidate_count,
                             const char *const *names, size_t name_count, double *values,
                             st_error *error)
{
    st_code code = ST_OK;
    for (size_t m = 0; m < name_count && code == ST_OK; m++)
        if (!st_metric_find(names[m]))
            code = st_fail(error, ST_USAGE, NULL, "there is no metric %s", names[m]);
    for (size_t c = 0; c < candidate_count && code == ST_OK; c++) {
        code = record(worker, prepare, run, contexts[c], error);
        for (size_t m = 0; m < name_count && code == ST_OK; m++)
            code =
                st_emu_profile_counter(worker->gpu, names[m], &values[c * name_count + m], error);
    }
    st_emu_profile_end(worker->gpu);
    return code;
}
