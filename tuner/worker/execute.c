// SPDX-License-Identifier: Apache-2.0
// Candidates in the device and the running of their plans. Invariant: a plan is queued whole or an error is
// returned; nothing here waits for the device.
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/worker/worker_internal.h"

#include <string.h>

enum { MOST_ARGUMENTS = 64 };

wk_candidate *wk_candidate_find(st_worker *worker, int64_t id)
{
    for (size_t i = 0; i < worker->candidate_count; i++)
        if (worker->candidates[i].id == id)
            return &worker->candidates[i];
    return NULL;
}

st_code wk_get_candidate(st_worker *worker, const json_t *request, wk_candidate **out, st_error *error)
{
    int64_t id;
    st_code code = st_json_get_int(request, "candidate", &id, error);
    if (code != ST_OK)
        return code;
    *out = wk_candidate_find(worker, id);
    if (!*out)
        return st_fail(error, ST_FAILED, NULL, "candidate %lld is not loaded", (long long)id);
    return ST_OK;
}

// One that has been told what to run.
st_code wk_get_planned(st_worker *worker, const json_t *request, wk_candidate **out, st_error *error)
{
    st_code code = wk_get_candidate(worker, request, out, error);
    if (code == ST_OK && !(*out)->plan.temp_counts)
        code = st_fail(error, ST_FAILED, NULL, "candidate %lld has no plan yet", (long long)(*out)->id);
    return code;
}

void wk_candidate_release(st_worker *worker, wk_candidate *candidate)
{
    if (candidate->module)
        wk_module_return(worker, candidate->module_key, candidate->module);
    st_free(candidate->kernels);
    st_plan_release(&candidate->plan);
    *candidate = (wk_candidate){0};
}

// A whole number as a half-precision number of `exponent_bits`, to nearest even; beyond the largest: infinity.
static uint16_t half_bits(int64_t value, int exponent_bits)
{
    int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    uint16_t sign = value < 0 ? 0x8000 : 0;
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (size == 0)
        return 0;
    int exponent = 63 - __builtin_clzll(size);
    int shift = exponent - mantissa_bits;
    if (shift > 0) {
        uint64_t half = (uint64_t)1 << (shift - 1), rest = size & (2 * half - 1);
        size >>= shift;
        size += rest > half || (rest == half && (size & 1));
    } else
        size <<= -shift;
    // A mantissa that was rounded up to 2 carries into the exponent.
    uint64_t bits = ((uint64_t)(exponent + bias - 1) << mantissa_bits) + size;
    uint64_t infinity = (((uint64_t)1 << exponent_bits) - 1) << mantissa_bits;
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

// Bytes of a buffer that this plan uses: temp buffers hold as much as the largest plan so far wanted.
static size_t used_bytes(const st_worker *worker, const wk_candidate *candidate, int index)
{
    const wk_buffer *buffer = &worker->buffers[index];
    const uint64_t *temps = candidate->plan.temp_counts;
    uint64_t count = temps && temps[index] ? temps[index] : buffer->spec.count;
    return (size_t)count * wk_element_bytes(buffer);
}

// A value as its type stands in memory, at most 8 bytes.
static void value_bytes(st_type_id type, int64_t value, uint64_t *out)
{
    *out = 0;
    if (type == ST_F16 || type == ST_BF16)
        *out = half_bits(value, type == ST_F16 ? 5 : 8);
    else if (type == ST_F32) {
        float number = (float)value;
        memcpy(out, &number, sizeof number);
    } else if (type == ST_F64) {
        double number = (double)value;
        memcpy(out, &number, sizeof number);
    } else
        memcpy(out, &value, st_type_of(type)->size); // little endian
}

static st_code run_launch(st_worker *worker, const wk_candidate *candidate,
                          const st_plan_step *step, uint32_t copy, st_error *error)
{
    uint64_t values[MOST_ARGUMENTS];
    void *arguments[MOST_ARGUMENTS];
    size_t sizes[MOST_ARGUMENTS], used[MOST_ARGUMENTS];
    if (step->argument_count > MOST_ARGUMENTS)
        return st_fail(error, ST_FAILED, "pass fewer arguments", "a launch has %u arguments, at most %d",
                       step->argument_count, MOST_ARGUMENTS);
    for (uint32_t i = 0; i < step->argument_count; i++) {
        const st_plan_argument *argument = &step->arguments[i];
        arguments[i] = &values[i];
        used[i] = argument->buffer >= 0 ? used_bytes(worker, candidate, argument->buffer) : 0;
        if (argument->buffer >= 0) {
            values[i] = wk_buffer_pointer(&worker->buffers[argument->buffer], copy);
            sizes[i] = sizeof(st_gpu_pointer);
        } else {
            value_bytes(argument->type, argument->value, &values[i]);
            sizes[i] = st_type_of(argument->type)->size;
        }
    }
    st_launch launch = {.kernel = candidate->kernels[step->kernel],
                        .grid = {step->grid[0], step->grid[1], step->grid[2]},
                        .block = {step->block[0], step->block[1], step->block[2]},
                        .dynamic_smem = step->smem,
                        .cluster = step->cluster ? step->cluster : 1,
                        .dependent = step->dependent,
                        .arguments = arguments,
                        .argument_sizes = sizes,
                        .buffer_bytes = used,
                        .argument_count = step->argument_count};
    return worker->ops->launch(worker->gpu, &launch, error);
}

st_code wk_plan_run(st_worker *worker, const wk_candidate *candidate, uint32_t copy, st_error *error)
{
    st_code code = ST_OK;
    for (uint32_t i = 0; i < candidate->plan.step_count && code == ST_OK; i++) {
        const st_plan_step *step = &candidate->plan.steps[i];
        if (!step->is_zero)
            code = run_launch(worker, candidate, step, copy, error);
        else if (step->zero_bytes)
            code = worker->ops->fill8(worker->gpu, wk_buffer_pointer(&worker->buffers[step->buffer], 0),
                                      0, step->zero_bytes, error);
    }
    return code;
}
