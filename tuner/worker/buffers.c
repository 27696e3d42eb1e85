// SPDX-License-Identifier: Apache-2.0
// The buffers of a problem. Invariants: 1. every allocation is FRONT_GUARD + data + REAR_GUARD bytes, data
// starts at a 256-byte boundary plus the wanted misalignment; 2. fences hold 0xFF whenever a candidate may
// run; 3. `data_known` is true only while inputs, expected and magnitude hold (data, rotation).
#include "tuner/base/memory.h"
#include "tuner/worker/worker_internal.h"

#include <string.h>

enum { // st_buffer_role of tuner/template.h, which a worker must not include
    ROLE_INPUT, ROLE_OUTPUT, ROLE_INOUT, ROLE_TEMP, ROLE_EXPECTED, ROLE_MAGNITUDE
};

size_t wk_element_bytes(const wk_buffer *buffer)
{
    return st_type_of(buffer->spec.type)->size;
}

static uint64_t allocation_bytes(const wk_buffer *buffer, uint64_t elements)
{
    return FRONT_GUARD + (elements + buffer->spec.misalign) * wk_element_bytes(buffer) + REAR_GUARD;
}

st_gpu_pointer wk_buffer_pointer(const wk_buffer *buffer, uint32_t copy)
{
    if (buffer->same)
        return wk_buffer_pointer(buffer->same, 0);
    st_gpu_pointer base = copy && copy <= buffer->copies ? buffer->copy_bases[copy - 1] : buffer->base;
    return base + FRONT_GUARD + (uint64_t)buffer->spec.misalign * wk_element_bytes(buffer);
}

static void release_copies(st_worker *worker, wk_buffer *buffer)
{
    for (uint32_t i = 0; i < buffer->copies; i++)
        worker->ops->release(worker->gpu, buffer->copy_bases[i]);
    st_free(buffer->copy_bases);
    buffer->copy_bases = NULL;
    buffer->copies = 0;
    buffer->copies_fresh = false;
}

void wk_buffers_release(st_worker *worker)
{
    for (size_t i = 0; i < worker->buffer_count; i++) {
        wk_buffer *buffer = &worker->buffers[i];
        release_copies(worker, buffer);
        if (buffer->base)
            worker->ops->release(worker->gpu, buffer->base);
        if (worker->captured && worker->captured[i])
            worker->ops->release(worker->gpu, worker->captured[i]);
    }
    st_free(worker->captured);
    st_free(worker->buffers);
    worker->captured = NULL;
    worker->buffers = NULL;
    worker->buffer_count = 0;
    worker->data_known = false;
}

st_code wk_buffer_poison(st_worker *worker, wk_buffer *buffer, st_error *error)
{
    return worker->ops->fill8(worker->gpu, buffer->base, 0xFF,
                              allocation_bytes(buffer, buffer->elements), error);
}

static st_code allocate(st_worker *worker, wk_buffer *buffer, uint64_t elements, st_error *error)
{
    if (buffer->base)
        worker->ops->release(worker->gpu, buffer->base);
    buffer->base = 0;
    buffer->elements = 0;
    st_code code = worker->ops->allocate(worker->gpu, allocation_bytes(buffer, elements),
                                         &buffer->base, error);
    if (code != ST_OK)
        return code;
    buffer->elements = elements;
    return wk_buffer_poison(worker, buffer, error);
}

st_code wk_buffers_make(st_worker *worker, uint64_t *wanted, uint64_t *free_bytes, st_error *error)
{
    uint64_t reserve = (uint64_t)64 << 20; // modules, local memory, temporary storage
    size_t available, total;
    *wanted = 0;
    for (size_t i = 0; i < worker->buffer_count; i++)
        *wanted += allocation_bytes(&worker->buffers[i], worker->buffers[i].spec.count);
    st_code code = worker->ops->memory(worker->gpu, &available, &total, error);
    if (code != ST_OK)
        return code;
    *free_bytes = available;
    if (*wanted + reserve > available)
        return st_fail(error, ST_NOTHING, "choose a smaller size, or free memory on the device",
                       "the problem needs %llu MiB, the device has %llu MiB free",
                       (unsigned long long)(*wanted >> 20), (unsigned long long)(available >> 20));
    worker->captured = st_calloc(worker->buffer_count, sizeof *worker->captured);
    if (!worker->captured)
        return st_fail_memory(error, "making buffers");
    for (size_t i = 0; i < worker->buffer_count && code == ST_OK; i++)
        code = allocate(worker, &worker->buffers[i], worker->buffers[i].spec.count, error);
    return code;
}

st_code wk_buffers_fit(st_worker *worker, const st_plan *plan, st_error *error)
{
    for (size_t i = 0; i < worker->buffer_count; i++) {
        wk_buffer *buffer = &worker->buffers[i];
        if (buffer->spec.role != ROLE_TEMP || plan->temp_counts[i] <= buffer->elements)
            continue;
        st_code code = allocate(worker, buffer, plan->temp_counts[i], error);
        if (code != ST_OK)
            return code;
    }
    return ST_OK;
}

st_code wk_support_launch(st_worker *worker, wk_support kernel, uint64_t work, void **arguments,
                          const size_t *sizes, unsigned count, st_error *error)
{
    uint64_t most = (uint64_t)(worker->facts.sm_count > 0 ? worker->facts.sm_count : 1) * 8;
    uint64_t blocks = (work + 255) / 256;
    st_launch launch = {.kernel = worker->support[kernel],
                        .grid = {(unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks), 1, 1},
                        .block = {256, 1, 1},
                        .cluster = 1,
                        .arguments = arguments,
                        .argument_sizes = sizes,
                        .argument_count = count};
    if (kernel == SUPPORT_GATE || kernel == SUPPORT_REPORT)
        launch.grid[0] = launch.block[0] = 1;
    return worker->ops->launch(worker->gpu, &launch, error);
}

static st_code check_bytes(st_worker *worker, st_gpu_pointer at, uint64_t count, st_error *error)
{
    void *arguments[] = {&at, &count, &worker->scratch};
    static const size_t sizes[] = {8, 8, 8};
    return wk_support_launch(worker, SUPPORT_CHECK, count, arguments, sizes, 3, error);
}

st_code wk_buffer_check(st_worker *worker, const wk_buffer *buffer, uint64_t elements,
                        wk_compare_result *result, st_error *error)
{
    const st_gpu_operations *ops = worker->ops;
    *result = (wk_compare_result){.first = UINT64_MAX};
    uint64_t front = FRONT_GUARD + (uint64_t)buffer->spec.misalign * wk_element_bytes(buffer);
    uint64_t end = front + elements * wk_element_bytes(buffer);
    st_code code = ops->copy_in(worker->gpu, worker->scratch, result, sizeof *result, error);
    if (code == ST_OK)
        code = check_bytes(worker, buffer->base, front, error);
    if (code == ST_OK)
        code = check_bytes(worker, buffer->base + end, REAR_GUARD, error);
    if (code == ST_OK)
        code = ops->copy_out(worker->gpu, result, worker->scratch, sizeof *result, error);
    return code;
}

// The kinds of simtune_support_fill; "values" (and what has no name here) is exact or random.
static int fill_kind(const st_worker *worker, const char *fill)
{
    static const char *const names[] = {"zero",  "distinct", "flags",  "flag_bits",
                                        "below", "nonzero",  "offsets"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(fill, names[i]) == 0)
            return 2 + (int)i;
    return worker->data == ST_DATA_EXACT ? 0 : 1;
}

static st_code fill(st_worker *worker, wk_buffer *buffer, st_gpu_pointer at, size_t index,
                    st_error *error)
{
    int type = (int)buffer->spec.type;
    int kind = fill_kind(worker, buffer->spec.fill);
    uint64_t seed = 0x51312e7u + index; // any fixed seed: the same data on every run
    uint64_t count = buffer->spec.count, rotation = worker->rotation;
    int64_t values[3];
    memcpy(values, buffer->spec.fill_values, sizeof values);
    if (strcmp(buffer->spec.fill, "flag_bits") == 0 && buffer->spec.fill_value_count < 3)
        values[2] = (int64_t)(count * 32);
    void *arguments[] = {&at,   &count,    &type,      &kind,      &seed,
                         &rotation, &values[0], &values[1], &values[2]};
    static const size_t sizes[] = {8, 8, 4, 4, 8, 8, 8, 8, 8};
    return wk_support_launch(worker, SUPPORT_FILL, count, arguments, sizes, 9, error);
}

st_code wk_data_prepare(st_worker *worker, st_data data, uint64_t rotation, st_error *error)
{
    if (worker->data_known && worker->data == data && worker->rotation == rotation)
        return ST_OK;
    worker->data_known = false;
    worker->data = data;
    worker->rotation = rotation;
    st_code code = ST_OK;
    for (size_t i = 0; i < worker->buffer_count && code == ST_OK; i++) {
        wk_buffer *buffer = &worker->buffers[i];
        buffer->copies_fresh = false;
        int role = buffer->spec.role;
        if (role == ROLE_INPUT || role == ROLE_INOUT)
            code = fill(worker, buffer, wk_buffer_pointer(buffer, 0), i, error);
    }
    if (code == ST_OK && worker->reference.plan.step_count)
        code = wk_buffers_fit(worker, &worker->reference.plan, error);
    if (code == ST_OK && worker->reference.plan.step_count)
        code = wk_plan_run(worker, &worker->reference, 0, error);
    if (code == ST_OK)
        code = worker->ops->synchronize(worker->gpu, error);
    worker->data_known = code == ST_OK;
    return code;
}

st_code wk_input_into(st_worker *worker, size_t input, const wk_buffer *to, st_error *error)
{
    return fill(worker, &worker->buffers[input], wk_buffer_pointer(to, 0), input, error);
}

static st_code copy_one(st_worker *worker, size_t index, uint32_t copies, st_error *error)
{
    wk_buffer *buffer = &worker->buffers[index];
    if (buffer->copies < copies) {
        st_gpu_pointer *bases = st_realloc(buffer->copy_bases, copies * sizeof *bases);
        if (!bases)
            return st_fail_memory(error, "making copies of the input");
        buffer->copy_bases = bases;
    }
    while (buffer->copies < copies) {
        st_code code = worker->ops->allocate(worker->gpu, allocation_bytes(buffer, buffer->spec.count),
                                             &buffer->copy_bases[buffer->copies], error);
        if (code != ST_OK)
            return code;
        buffer->copies++;
        buffer->copies_fresh = false;
    }
    for (uint32_t i = 1; i <= buffer->copies && !buffer->copies_fresh; i++) {
        st_code code = fill(worker, buffer, wk_buffer_pointer(buffer, i), index, error);
        if (code != ST_OK)
            return code;
    }
    buffer->copies_fresh = true;
    return ST_OK;
}

st_code wk_inputs_copy(st_worker *worker, uint32_t copies, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < worker->buffer_count && code == ST_OK; i++)
        if (worker->buffers[i].spec.role == ROLE_INPUT && copies)
            code = copy_one(worker, i, copies, error);
    return code;
}
