// SPDX-License-Identifier: Apache-2.0
// Verification of one candidate (DESIGN.md §7.2). Invariants: 1. on exact data the candidate runs twice, first
// over temporary storage and outputs of 0xFF, then over what its first run left, and must be right both times;
// 2. only counts and the first mismatch come back; 3. fences are checked after each run.
//
// The bound of a float result (PRIMITIVES, after Higham, Accuracy and Stability of Numerical Algorithms,
// 2nd ed., 4.2, and Higham and Mary 2019 for the probabilistic term):
//   |s - S| <= min(gamma_h, 6 sqrt(h) u) * sum |x| + u_out * |S|,   gamma_h = h u / (1 - h u)
// with u of the accumulator (2^-24 for every type but f64) and u_out of the output's own rounding.
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/worker/worker_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROLE_OUTPUT = 1, ROLE_INOUT = 2, ROLE_TEMP = 3 };

typedef struct rule {
    int kind; // of simtune_support_compare
    double share, own, tiny;
} rule;

static rule rule_of(const st_worker *worker, const st_plan_compare *compare)
{
    const st_type *type = st_type_of(worker->buffers[compare->output].spec.type);
    rule made = {0, 0, 0, 0};
    if (!type->is_float || worker->data == ST_DATA_EXACT)
        return made;
    if (compare->bounded) {
        double u = type->id == ST_F64 ? 0x1p-53 : 0x1p-24, h = (double)compare->height;
        double gamma = h * u < 1 ? h * u / (1 - h * u) : INFINITY, likely = 6 * sqrt(h) * u;
        made.kind = 1;
        made.share = gamma < likely ? gamma : likely;
        made.own = type->unit_roundoff;
    } else if (compare->tolerance > 0) {
        made.kind = 2;
        made.share = compare->tolerance;
    }
    // Half the smallest subnormal: results that round to nothing.
    if (made.kind)
        made.tiny = type->id == ST_F16 ? 0x1p-25 : type->id == ST_F64 ? 0 : 0x1p-150;
    return made;
}

static st_code compare_one(st_worker *worker, const st_plan_compare *compare,
                           wk_compare_result *result, st_error *error)
{
    const wk_buffer *output = &worker->buffers[compare->output];
    const wk_buffer *expected = compare->expected >= 0 ? &worker->buffers[compare->expected] : NULL;
    rule how = rule_of(worker, compare);
    st_gpu_pointer out_at = wk_buffer_pointer(output, 0);
    st_gpu_pointer expected_at = expected ? wk_buffer_pointer(expected, 0)
                                          : worker->captured[compare->output];
    st_gpu_pointer magnitude_at =
        compare->magnitude >= 0 ? wk_buffer_pointer(&worker->buffers[compare->magnitude], 0) : 0;
    int type = (int)output->spec.type, expected_type = expected ? (int)expected->spec.type : type;
    uint64_t count = output->spec.count;
    if (!expected_at)
        return st_fail(error, ST_FAILED, NULL, "nothing was captured to compare %s with",
                       output->spec.name);
    if (expected && expected->spec.count < count)
        count = expected->spec.count;
    *result = (wk_compare_result){.first = UINT64_MAX};
    void *arguments[] = {&out_at, &type,      &expected_at, &expected_type, &magnitude_at,   &count,
                         &how.kind, &how.share, &how.own,     &how.tiny,      &worker->scratch};
    static const size_t sizes[] = {8, 4, 8, 4, 8, 8, 4, 8, 8, 8, 8};
    void *report[] = {&out_at,    &type,    &expected_at, &expected_type, &magnitude_at,
                      &how.kind, &how.share, &how.own,     &how.tiny,      &worker->scratch};
    static const size_t report_sizes[] = {8, 4, 8, 4, 8, 4, 8, 8, 8, 8};
    st_code code = worker->ops->copy_in(worker->gpu, worker->scratch, result, sizeof *result, error);
    if (code == ST_OK)
        code = wk_support_launch(worker, SUPPORT_COMPARE, count, arguments, sizes, 11, error);
    if (code == ST_OK)
        code = wk_support_launch(worker, SUPPORT_REPORT, 1, report, report_sizes, 10, error);
    if (code == ST_OK)
        code = worker->ops->copy_out(worker->gpu, result, worker->scratch, sizeof *result, error);
    return code;
}

// True when the element still holds the 0xFF that it was filled with.
static bool is_unwritten(st_worker *worker, const wk_buffer *buffer, uint64_t index)
{
    unsigned char bytes[8] = {0};
    size_t size = wk_element_bytes(buffer);
    if (worker->ops->copy_out(worker->gpu, bytes, wk_buffer_pointer(buffer, 0) + index * size, size,
                              NULL) != ST_OK)
        return false;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0xFF)
            return false;
    return true;
}

static st_code judge_outputs(st_worker *worker, const st_plan_compare *compares, size_t count,
                             bool repeat, st_verdict *verdict, st_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const wk_buffer *output = &worker->buffers[compares[i].output];
        wk_compare_result result;
        st_code code = compare_one(worker, &compares[i], &result, error);
        if (code != ST_OK)
            return code;
        verdict->checked += output->spec.count;
        if (!result.mismatches || verdict->mismatches)
            continue;
        verdict->mismatches = result.mismatches;
        verdict->first_index = result.first;
        verdict->got = result.got;
        verdict->expected = result.expected;
        verdict->bound = result.bound;
        const char *what = repeat                                        ? "repeat"
                           : is_unwritten(worker, output, result.first) ? "unwritten"
                                                                         : "value";
        snprintf(verdict->what, sizeof verdict->what, "%s", what);
        snprintf(verdict->output, sizeof verdict->output, "%s", output->spec.name);
    }
    return ST_OK;
}

static st_code judge_fences(st_worker *worker, const st_plan *plan, st_verdict *verdict,
                            st_error *error)
{
    for (size_t i = 0; i < worker->buffer_count && !verdict->mismatches; i++) {
        wk_buffer *buffer = &worker->buffers[i];
        uint64_t elements = buffer->spec.role == ROLE_TEMP ? plan->temp_counts[i] : buffer->spec.count;
        wk_compare_result result;
        st_code code = wk_buffer_check(worker, buffer, elements, &result, error);
        if (code != ST_OK)
            return code;
        if (!result.mismatches)
            continue;
        verdict->mismatches = result.mismatches;
        verdict->first_index = result.first;
        verdict->got = verdict->expected = verdict->bound = NAN;
        snprintf(verdict->what, sizeof verdict->what, "guard");
        snprintf(verdict->output, sizeof verdict->output, "%s", buffer->spec.name);
        worker->data_known = false; // an input may have been hit as well
    }
    return ST_OK;
}

static st_code poison(st_worker *worker, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < worker->buffer_count && code == ST_OK; i++) {
        int role = worker->buffers[i].spec.role;
        if (role == ROLE_OUTPUT || role == ROLE_TEMP)
            code = wk_buffer_poison(worker, &worker->buffers[i], error);
    }
    return code;
}

static bool has_inout(const st_worker *worker)
{
    for (size_t i = 0; i < worker->buffer_count; i++)
        if (worker->buffers[i].spec.role == ROLE_INOUT)
            return true;
    return false;
}

// Reads what verify and capture have in common and puts the data in place.
static st_code begin(st_worker *worker, const st_frame *request, wk_candidate **candidate,
                     st_error *error)
{
    int64_t data, rotation;
    st_code code = wk_get_planned(worker, request->json, candidate, error);
    if (code == ST_OK)
        code = st_json_get_int(request->json, "data", &data, error);
    if (code == ST_OK)
        code = st_json_get_int(request->json, "rotation", &rotation, error);
    if (code == ST_OK && has_inout(worker))
        worker->data_known = false; // the last run changed it
    if (code == ST_OK)
        code = wk_data_prepare(worker, data ? ST_DATA_RANDOM : ST_DATA_EXACT, (uint64_t)rotation, error);
    if (code == ST_OK)
        code = poison(worker, error);
    return code;
}

static st_code run_and_judge(st_worker *worker, const wk_candidate *candidate,
                             const st_plan_compare *compares, size_t count, bool repeat,
                             st_verdict *verdict, st_error *error)
{
    st_code code = wk_plan_run(worker, candidate, 0, error);
    if (code == ST_OK)
        code = worker->ops->synchronize(worker->gpu, error);
    if (code == ST_OK)
        code = judge_outputs(worker, compares, count, repeat, verdict, error);
    if (code == ST_OK)
        code = judge_fences(worker, &candidate->plan, verdict, error);
    return code;
}

st_code wk_verify(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error)
{
    wk_candidate *candidate;
    st_plan_compare *compares = NULL;
    size_t count;
    st_verdict verdict = {.got = NAN, .expected = NAN, .bound = NAN};
    st_code code = begin(worker, request, &candidate, error);
    if (code == ST_OK)
        code = st_plan_compares_decode(json_object_get(request->json, "compares"),
                                       worker->buffer_count, &compares, &count, error);
    if (code == ST_OK)
        code = run_and_judge(worker, candidate, compares, count, false, &verdict, error);
    // Random data tell nothing of leftovers that exact data did not.
    if (code == ST_OK && !verdict.mismatches && !has_inout(worker) && worker->data == ST_DATA_EXACT)
        code = run_and_judge(worker, candidate, compares, count, true, &verdict, error);
    st_free(compares);
    if (code != ST_OK)
        return code;
    if (verdict.first_index > INT64_MAX)
        verdict.first_index = 0;
    reply->json = json_pack("{s:s, s:o}", "type", "verified", "verdict", st_verdict_encode(&verdict));
    return reply->json ? ST_OK : st_fail_memory(error, "writing a verdict");
}

st_code wk_capture(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error)
{
    wk_candidate *candidate;
    st_code code = begin(worker, request, &candidate, error);
    if (code == ST_OK)
        code = wk_plan_run(worker, candidate, 0, error);
    if (code == ST_OK)
        code = worker->ops->synchronize(worker->gpu, error);
    for (size_t i = 0; i < worker->buffer_count && code == ST_OK; i++) {
        wk_buffer *buffer = &worker->buffers[i];
        if (buffer->spec.role != ROLE_OUTPUT && buffer->spec.role != ROLE_INOUT)
            continue;
        size_t bytes = buffer->spec.count * wk_element_bytes(buffer);
        void *copy = st_malloc(bytes);
        if (!copy)
            code = st_fail_memory(error, "keeping an output");
        if (code == ST_OK && !worker->captured[i])
            code = worker->ops->allocate(worker->gpu, bytes ? bytes : 1, &worker->captured[i], error);
        if (code == ST_OK)
            code = worker->ops->copy_out(worker->gpu, copy, wk_buffer_pointer(buffer, 0), bytes, error);
        if (code == ST_OK)
            code = worker->ops->copy_in(worker->gpu, worker->captured[i], copy, bytes, error);
        st_free(copy);
    }
    if (code == ST_OK)
        reply->json = json_pack("{s:s}", "type", "ready");
    return code;
}
