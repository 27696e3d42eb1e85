// SPDX-License-Identifier: Apache-2.0
// Verification of one candidate (DESIGN.md §7.2). Invariants: 1. on exact data the candidate runs twice, first
// over temporary storage and outputs of 0xFF, then over what its first run left, and must be right both times (what
// was left is of the same data: `keep` asks for a run over what other data left, see run_check.c);
// where that is promised, it runs a third time in place, on all data; 2. only counts and the first mismatch come
// back; 3. fences are checked after each run; 4. derived buffers are made anew, over 0xFF, from each run's outputs.
//
// The bound of a float result (PRIMITIVES, after Higham, Accuracy and Stability of Numerical Algorithms,
// 2nd ed., 4.2, and Higham and Mary 2019 for the probabilistic term):
//   |s - S| <= min(gamma_h, 6 sqrt(h) u) * sum |x| + u_out * |S|,   gamma_h = h u / (1 - h u)
// with u of the accumulator (2^-24 for every type but f64) and u_out of the output's own rounding.
// A tolerance is the template's own bound, a share of |S| or of its magnitude, and holds for exact data too.
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/worker/worker_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROLE_INPUT, ROLE_OUTPUT, ROLE_INOUT, ROLE_TEMP, ROLE_DERIVED = 6 };

typedef struct rule {
    int kind; // of simtune_support_compare
    double share, own, tiny;
} rule;

static rule rule_of(const st_worker *worker, const st_plan_compare *compare)
{
    const st_type *type = st_type_of(worker->buffers[compare->output].spec.type);
    rule made = {0, 0, 0, 0};
    bool has_tolerance = !compare->bounded && compare->tolerance > 0;
    if (!type->is_float || (worker->data == ST_DATA_EXACT && !has_tolerance))
        return made;
    if (compare->bounded) {
        double u = type->id == ST_F64 ? 0x1p-53 : 0x1p-24, h = (double)compare->height;
        double gamma = h * u < 1 ? h * u / (1 - h * u) : INFINITY, likely = 6 * sqrt(h) * u;
        made.kind = 1;
        made.share = gamma < likely ? gamma : likely;
        made.own = type->unit_roundoff;
    } else if (has_tolerance) {
        made.kind = compare->magnitude >= 0 ? 1 : 2;
        made.share = compare->tolerance;
        made.own = compare->magnitude >= 0 ? type->unit_roundoff : 0;
    }
    // Half the smallest subnormal: results that round to nothing.
    if (made.kind)
        made.tiny = type->id == ST_F16 ? 0x1p-25 : type->id == ST_F64 ? 0 : 0x1p-150;
    return made;
}

static st_code compare_one(st_worker *worker, const st_plan_compare *compare, bool in_place,
                           wk_compare_result *result, st_error *error)
{
    const wk_buffer *output = &worker->buffers[compare->output];
    const wk_buffer *expected = compare->expected >= 0 ? &worker->buffers[compare->expected] : NULL;
    rule how = rule_of(worker, compare);
    how.kind |= in_place ? 4 : 0;
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

// What one request looks at.
typedef struct check {
    st_plan_compare *compares;
    size_t count;
    wk_candidate derive;   // the references' kernels with a plan of its own; no steps: none
    int (*in_places)[2];
    size_t in_place_count;
} check;

typedef enum run_kind { RUN_FIRST, RUN_AGAIN, RUN_IN_PLACE } run_kind;

static st_code judge_outputs(st_worker *worker, const check *of, run_kind kind, st_verdict *verdict,
                             st_error *error)
{
    const st_plan_compare *compares = of->compares;
    for (size_t i = 0; i < of->count; i++) {
        const wk_buffer *output = &worker->buffers[compares[i].output];
        wk_compare_result result;
        st_code code = compare_one(worker, &compares[i], kind == RUN_IN_PLACE, &result, error);
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
        const char *what = kind == RUN_AGAIN      ? "repeat"
                           : kind == RUN_IN_PLACE ? "in place"
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

// `keep`: the temporary storage stays as it is.
static st_code poison(st_worker *worker, bool keep, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < worker->buffer_count && code == ST_OK; i++) {
        int role = worker->buffers[i].spec.role;
        if (role == ROLE_OUTPUT || (role == ROLE_TEMP && !keep) || role == ROLE_DERIVED)
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
        code = poison(worker, json_is_true(json_object_get(request->json, "keep")), error);
    return code;
}

// From the outputs of the run, over 0xFF.
static st_code derive(st_worker *worker, const check *of, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < worker->buffer_count && code == ST_OK; i++)
        if (worker->buffers[i].spec.role == ROLE_DERIVED)
            code = wk_buffer_poison(worker, &worker->buffers[i], error);
    return code == ST_OK ? wk_plan_run(worker, &of->derive, 0, error) : code;
}

static st_code run_and_judge(st_worker *worker, const wk_candidate *candidate, const check *of,
                             run_kind kind, st_verdict *verdict, st_error *error)
{
    st_code code = wk_plan_run(worker, candidate, 0, error);
    for (size_t i = 0; i < worker->buffer_count; i++)
        worker->buffers[i].same = NULL;
    if (code == ST_OK && of->derive.plan.step_count)
        code = derive(worker, of, error);
    if (code == ST_OK)
        code = worker->ops->synchronize(worker->gpu, error);
    if (code == ST_OK)
        code = judge_outputs(worker, of, kind, verdict, error);
    if (code == ST_OK)
        code = judge_fences(worker, &candidate->plan, verdict, error);
    return code;
}

// Buffers of different alignments are not the same memory: what runs was chosen by both.
static bool can_be_one(const st_worker *worker, const int pair[2])
{
    return worker->buffers[pair[0]].spec.misalign == worker->buffers[pair[1]].spec.misalign;
}

// The input's data stand in the output, and the kernels get that for both.
static st_code run_in_place(st_worker *worker, const wk_candidate *candidate, const check *of, size_t which,
                            st_verdict *verdict, st_error *error)
{
    wk_buffer *input = &worker->buffers[of->in_places[which][0]];
    const wk_buffer *output = &worker->buffers[of->in_places[which][1]];
    if (input->spec.role != ROLE_INPUT || output->spec.role != ROLE_OUTPUT ||
        input->spec.type != output->spec.type || input->spec.count > output->spec.count)
        return st_fail(error, ST_FAILED, "remove `in_place`, or give both the same type and size",
                       "%s and %s cannot be the same memory", input->spec.name, output->spec.name);
    st_code code = poison(worker, false, error);
    if (code == ST_OK)
        code = wk_input_into(worker, (size_t)of->in_places[which][0], output, error);
    if (code != ST_OK)
        return code;
    input->same = output;
    return run_and_judge(worker, candidate, of, RUN_IN_PLACE, verdict, error);
}

static st_code read_in_places(const st_worker *worker, const json_t *list, check *out, st_error *error)
{
    size_t count = json_array_size(list);
    if (list && !json_is_array(list))
        return st_fail(error, ST_FAILED, NULL, "\"in_place\" is no list");
    out->in_places = st_calloc(count + 1, sizeof *out->in_places);
    if (!out->in_places)
        return st_fail_memory(error, "reading a request");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < 2; k++) {
            const json_t *value = json_array_get(json_array_get(list, i), k);
            json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
            if (number < 0 || number >= (json_int_t)worker->buffer_count)
                return st_fail(error, ST_FAILED, NULL, "\"in_place\" is not pairs of buffers");
            out->in_places[i][k] = (int)number;
        }
    out->in_place_count = count;
    return ST_OK;
}

static st_code read_check(const st_worker *worker, const json_t *request, check *out, st_error *error)
{
    st_code code = st_plan_compares_decode(json_object_get(request, "compares"), worker->buffer_count,
                                           &out->compares, &out->count, error);
    const json_t *plan = json_object_get(request, "derive");
    if (code == ST_OK && plan)
        code = st_plan_decode(plan, worker->buffer_count, worker->reference.kernel_count, &out->derive.plan,
                              error);
    out->derive.kernels = worker->reference.kernels; // borrowed
    out->derive.kernel_count = worker->reference.kernel_count;
    return code == ST_OK ? read_in_places(worker, json_object_get(request, "in_place"), out, error) : code;
}

st_code wk_verify(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error)
{
    wk_candidate *candidate;
    check of = {0};
    st_verdict verdict = {.got = NAN, .expected = NAN, .bound = NAN};
    st_code code = begin(worker, request, &candidate, error);
    if (code == ST_OK)
        code = read_check(worker, request->json, &of, error);
    if (code == ST_OK)
        code = run_and_judge(worker, candidate, &of, RUN_FIRST, &verdict, error);
    // Random data tell nothing of leftovers that exact data did not.
    if (code == ST_OK && !verdict.mismatches && !has_inout(worker) && worker->data == ST_DATA_EXACT)
        code = run_and_judge(worker, candidate, &of, RUN_AGAIN, &verdict, error);
    for (size_t i = 0; i < of.in_place_count && code == ST_OK && !verdict.mismatches && !has_inout(worker); i++)
        if (can_be_one(worker, of.in_places[i]))
            code = run_in_place(worker, candidate, &of, i, &verdict, error);
    st_free(of.compares);
    st_free(of.in_places);
    st_plan_release(&of.derive.plan);
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
