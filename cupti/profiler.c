// SPDX-License-Identifier: Apache-2.0
// The profiler of one context: opening, closing, and which way of collecting is enabled.
//
// Invariants:
//  1. At most one of PC sampling and the range profiler is enabled: CUPTI does not take both.
//  2. A way is enabled when it is first asked for, and stays so until the other is asked for, a
//     collection fails, or the profiler is closed.
//  3. After a failed collection nothing is enabled, so the next one starts from a known state.
//  4. A profiler that is broken (st_profiler_give_up) calls CUPTI no more, not even to disable:
//  with CUPTI
//     13.0 the next enabling ended the process. The worker is started anew.
//  5. Once open, counters were shown to be allowed; what goes wrong later is an error with its
//  reason.
//
// States: off → sampling → off → ranges … (st_profiler_switch); any → off (failure,
// st_profiler_close).
#include "cupti/profiler_internal.h"

#include <stdio.h>
#include <string.h>

static st_code find_chip(st_profiler *profiler, st_error *error) {
    CUpti_Device_GetChipName_Params ask = {
        .structSize = ST_CUPTI_SIZE(CUpti_Device_GetChipName_Params, pChipName),
        .deviceIndex = (size_t)profiler->ordinal};
    int result = ST_CUPTI(profiler->api, DeviceGetChipName, &ask);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(profiler->api, result, "asking for the chip's name", error);
    snprintf(profiler->chip, sizeof profiler->chip, "%s", ask.pChipName);
    return ST_OK;
}

// The state becomes an error with CUPTI's words and the remedy that works there.
static st_code fail_state(st_counters_state state, const st_text *detail, st_error *error) {
    bool refused = state != ST_COUNTERS_FAILED && state != ST_COUNTERS_TOO_OLD;
    const char *words = st_text_string(detail);
    return st_fail(error, refused ? ST_DENIED : ST_FAILED, st_counters_remedy(state),
                   "performance counters: %s%s%s", st_counters_state_name(state),
                   *words ? ": " : "", words);
}

st_code st_profiler_open(void *cu_context, int ordinal, st_profiler **out, st_counters_state *state,
                         st_error *error) {
    *out = NULL;
    const st_cupti *api = NULL;
    st_code code = st_cupti_open(&api, state, error);
    if (code != ST_OK)
        return code;
    *state = ST_COUNTERS_FAILED;
    if (!cu_context)
        return st_fail(error, ST_FAILED, NULL, "no CUDA context to profile in");
    st_text detail;
    st_text_init(&detail);
    st_profiler *profiler = st_calloc(1, sizeof *profiler);
    if (!profiler) {
        code = st_fail_memory(error, "opening the profiler");
        goto out;
    }
    profiler->api = api;
    profiler->context = cu_context;
    profiler->ordinal = ordinal;
    *state = st_counters_probe_with(api, cu_context, ordinal, &detail);
    code = *state == ST_COUNTERS_ALLOWED ? find_chip(profiler, error)
                                         : fail_state(*state, &detail, error);
out:
    st_text_release(&detail);
    if (code == ST_OK)
        *out = profiler;
    else if (profiler)
        st_profiler_close(profiler);
    return code;
}

void st_profiler_close(st_profiler *profiler) {
    if (!profiler)
        return;
    (void)st_profiler_switch(profiler, ST_MODE_OFF, NULL);
    st_sampling_release(&profiler->sampling);
    st_ranges_release(&profiler->ranges);
    st_free(profiler);
}

const char *st_profiler_chip(const st_profiler *profiler) {
    return profiler->chip;
}

void st_profiler_set_prepare(st_profiler *profiler, st_run_once *prepare) {
    profiler->prepare = prepare;
}

st_code st_profiler_get_ready(st_profiler *profiler, void *context, st_error *error) {
    return profiler->prepare ? profiler->prepare(context, error) : ST_OK;
}

static st_code disable(st_profiler *profiler, st_error *error) {
    switch (profiler->mode) {
    case ST_MODE_SAMPLING:
        return st_sampling_disable(profiler, error);
    case ST_MODE_RANGES:
        return st_ranges_disable(profiler, error);
    case ST_MODE_OFF:
        break;
    }
    return ST_OK;
}

st_code st_profiler_give_up(st_profiler *profiler, int result, const char *what, st_error *error) {
    if (result != CUPTI_ERROR_UNKNOWN)
        return st_cupti_fail(profiler->api, result, what, error);
    profiler->broken = true;
    profiler->mode = ST_MODE_OFF;
    return st_fail(error, ST_FAILED, st_counters_remedy(ST_COUNTERS_BUSY),
                   "%s: CUPTI says %s (%d), as it does while another process profiles this GPU",
                   what, st_cupti_words(profiler->api, result), result);
}

st_code st_profiler_switch(st_profiler *profiler, st_profiler_mode mode, st_error *error) {
    if (profiler->broken) // invariant 4
        return mode == ST_MODE_OFF
                   ? ST_OK
                   : st_fail(error, ST_FAILED, st_counters_remedy(ST_COUNTERS_BUSY),
                             "CUPTI failed in this process before and is left alone");
    if (profiler->mode == mode)
        return ST_OK;
    st_code code = disable(profiler, error);
    if (code != ST_OK) // once more: what stays enabled would block the other way for good
        code = disable(profiler, error);
    profiler->ranges.object = NULL;
    profiler->mode = ST_MODE_OFF; // also after a failed disabling: enabling anew will tell
    if (code != ST_OK || mode == ST_MODE_OFF)
        return code;
    code = mode == ST_MODE_SAMPLING ? st_sampling_enable(profiler, error)
                                    : st_ranges_enable(profiler, error);
    if (code == ST_OK)
        profiler->mode = mode;
    return code;
}

st_code st_profiler_warm(st_profiler *profiler, st_error *error) {
    return st_profiler_switch(profiler, ST_MODE_SAMPLING, error);
}
