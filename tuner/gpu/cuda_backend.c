// SPDX-License-Identifier: Apache-2.0
// The backend `cuda`: one device, its primary context and one stream, through libcuda.
//
// Invariants: 1. everything runs on `stream`, which is not the default stream and does not wait for
// it; 2. `lost` is set by the first sticky error and never cleared, and from then on no call but
// those that give something back is made; 3. close gives back what open and the allocations took,
// whatever failed before; 4. one thread uses a device.
// States: open → lost (only by a sticky error) → closed; open → closed.
#include "tuner/gpu/backends_internal.h"
#include "tuner/gpu/cuda_internal.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

// --- errors --------------------------------------------------------------------------------------
static const char lost_remedy[] = "the context is gone for good: a new process is needed";

st_code st_cuda_check(st_gpu *gpu, CUresult result, st_driver_call call, st_error *error)
{
    if (result == CUDA_SUCCESS)
        return ST_OK;
    st_error own;
    st_error_clear(&own);
    st_code code = st_driver_check(gpu->driver, result, call, &own);
    if (st_driver_is_sticky(result) && !gpu->lost) {
        gpu->lost = true;
        snprintf(gpu->lost_by, sizeof gpu->lost_by, "%.*s", (int)sizeof gpu->lost_by - 1, own.what);
    }
    return st_fail(error, code, gpu->lost ? lost_remedy : NULL, "%s", own.what);
}

st_code st_cuda_lost(const st_gpu *gpu, st_error *error)
{
    return st_fail(error, ST_FAILED, lost_remedy, "the device was lost before: %s", gpu->lost_by);
}

static bool is_lost(const st_gpu *gpu)
{
    return gpu->lost;
}

static void *native_context(st_gpu *gpu)
{
    return gpu->context;
}

// --- open and close ------------------------------------------------------------------------------
static void release_mapped(st_gpu *gpu, st_cuda_mapped **place)
{
    st_cuda_mapped *mapped = *place;
    *place = mapped->next;
    ST_CUDA_GIVE_BACK(gpu, mem_host_free, mapped->host);
    st_free(mapped);
}

static void close_device(st_gpu *gpu)
{
    if (!gpu)
        return;
    while (gpu->modules)
        st_cuda_unload(gpu, gpu->modules);
    while (gpu->mapped)
        release_mapped(gpu, &gpu->mapped);
    if (gpu->stream)
        ST_CUDA_GIVE_BACK(gpu, stream_destroy, gpu->stream);
    if (gpu->context)
        ST_CUDA_GIVE_BACK(gpu, context_release, gpu->device);
    st_free(gpu);
}

// Spinning sees the end of a kernel soonest. With few cores the compile pool needs them more, and
// the times come from the device's own clock anyhow. Local memory is kept at its largest: shrinking
// and growing it would synchronise in the middle of a queue.
static unsigned context_flags(void)
{
    return (sysconf(_SC_NPROCESSORS_ONLN) > 2 ? CU_CTX_SCHED_SPIN : CU_CTX_SCHED_YIELD) |
           CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX;
}

static st_code open_context(st_gpu *gpu, int ordinal, st_error *error)
{
    st_code code = ST_CUDA(gpu, error, device_get, &gpu->device, ordinal);
    if (code == ST_OK)
        code = ST_CUDA(gpu, error, device_get_attribute, &gpu->smem_optin,
                       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, gpu->device);
    // Not vital, and refused where someone else has activated the context with other flags.
    if (code == ST_OK)
        ST_DRIVER_CALL(gpu->driver, context_set_flags, gpu->device, context_flags());
    if (code == ST_OK)
        code = ST_CUDA(gpu, error, context_retain, &gpu->context, gpu->device);
    if (code == ST_OK)
        code = ST_CUDA(gpu, error, context_set_current, gpu->context);
    if (code == ST_OK)
        code = ST_CUDA(gpu, error, stream_create, &gpu->stream, CU_STREAM_NON_BLOCKING);
    return code;
}

static st_code open_device(int ordinal, st_gpu **out, st_error *error)
{
    *out = NULL;
    st_error own;
    st_error_clear(&own);
    const st_driver *driver = st_driver_get(&own);
    if (!driver)
        return st_fail(error, own.code, own.remedy, "%s", own.what);
    st_gpu *gpu = st_calloc(1, sizeof *gpu);
    if (!gpu)
        return st_fail_memory(error, "opening a device");
    gpu->driver = driver;
    st_code code = open_context(gpu, ordinal, error);
    if (code != ST_OK) {
        close_device(gpu);
        return st_error_prefix(error, "opening device %d", ordinal), code;
    }
    *out = gpu;
    return ST_OK;
}

// --- memory --------------------------------------------------------------------------------------
static st_code memory(st_gpu *gpu, size_t *free_bytes, size_t *total_bytes, st_error *error)
{
    *free_bytes = *total_bytes = 0;
    return ST_CUDA(gpu, error, mem_get_info, free_bytes, total_bytes);
}

// ST_NO_MEMORY when the device has no room: then a smaller problem may still fit.
static st_code allocate(st_gpu *gpu, size_t bytes, st_gpu_pointer *out, st_error *error)
{
    *out = 0;
    if (gpu->lost)
        return st_cuda_lost(gpu, error);
    CUdeviceptr pointer = 0;
    CUresult result = ST_DRIVER_CALL(gpu->driver, mem_alloc, &pointer, bytes ? bytes : 1);
    st_code code = st_cuda_check(gpu, result, ST_CALL_mem_alloc, error);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        size_t free_bytes = 0, total = 0;
        memory(gpu, &free_bytes, &total, NULL);
        return st_fail(error, ST_NO_MEMORY,
                       "use a smaller --size, or end other programs on this GPU",
                       "%s: no room for %zu B on the device (%zu of %zu B are free)",
                       st_driver_call_name(ST_CALL_mem_alloc), bytes, free_bytes, total);
    }
    if (code == ST_OK)
        *out = pointer;
    return code;
}

static void release(st_gpu *gpu, st_gpu_pointer pointer)
{
    if (!pointer)
        return;
    for (st_cuda_mapped **place = &gpu->mapped; *place; place = &(*place)->next)
        if ((*place)->device == pointer) {
            release_mapped(gpu, place);
            return;
        }
    ST_CUDA_GIVE_BACK(gpu, mem_free, pointer);
}

static st_code allocate_mapped(st_gpu *gpu, size_t bytes, void **host, st_gpu_pointer *device,
                               st_error *error)
{
    *host = NULL;
    *device = 0;
    st_cuda_mapped *mapped = st_calloc(1, sizeof *mapped);
    if (!mapped)
        return st_fail_memory(error, "allocating mapped memory");
    st_code code = ST_CUDA(gpu, error, mem_host_alloc, &mapped->host, bytes ? bytes : 1,
                           CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (code != ST_OK) {
        st_free(mapped);
        return code;
    }
    mapped->next = gpu->mapped;
    gpu->mapped = mapped;
    CUdeviceptr pointer = 0;
    code = ST_CUDA(gpu, error, mem_host_pointer, &pointer, mapped->host, 0);
    if (code != ST_OK) {
        release_mapped(gpu, &gpu->mapped);
        return code;
    }
    mapped->device = pointer;
    *host = mapped->host;
    *device = pointer;
    return ST_OK;
}

// --- the stream ----------------------------------------------------------------------------------
static st_code synchronize(st_gpu *gpu, st_error *error)
{
    return ST_CUDA(gpu, error, stream_synchronize, gpu->stream);
}

static st_code query(st_gpu *gpu, bool *done, st_error *error)
{
    *done = false;
    if (gpu->lost)
        return st_cuda_lost(gpu, error);
    CUresult result = ST_DRIVER_CALL(gpu->driver, stream_query, gpu->stream);
    if (result == CUDA_ERROR_NOT_READY)
        return ST_OK;
    *done = result == CUDA_SUCCESS;
    return st_cuda_check(gpu, result, ST_CALL_stream_query, error);
}

static st_code fill8(st_gpu *gpu, st_gpu_pointer at, uint8_t value, size_t bytes, st_error *error)
{
    return bytes ? ST_CUDA(gpu, error, memset_d8, at, value, bytes, gpu->stream) : ST_OK;
}

static st_code fill32(st_gpu *gpu, st_gpu_pointer at, uint32_t value, size_t count, st_error *error)
{
    return count ? ST_CUDA(gpu, error, memset_d32, at, value, count, gpu->stream) : ST_OK;
}

static st_code copy(st_gpu *gpu, st_gpu_pointer to, st_gpu_pointer from, size_t bytes, st_error *error)
{
    return bytes ? ST_CUDA(gpu, error, memcpy_within, to, from, bytes, gpu->stream) : ST_OK;
}

static st_code copy_in(st_gpu *gpu, st_gpu_pointer to, const void *from, size_t bytes,
                       st_error *error)
{
    if (!bytes)
        return ST_OK;
    st_code code = ST_CUDA(gpu, error, memcpy_to_device, to, from, bytes, gpu->stream);
    // Pageable memory is staged before the call returns, pinned memory is not: waiting serves both.
    return code == ST_OK ? synchronize(gpu, error) : code;
}

static st_code copy_out(st_gpu *gpu, void *to, st_gpu_pointer from, size_t bytes, st_error *error)
{
    st_code code = ST_OK;
    if (bytes)
        code = ST_CUDA(gpu, error, memcpy_to_host, to, from, bytes, gpu->stream);
    return code == ST_OK ? synchronize(gpu, error) : code;
}

// --- events --------------------------------------------------------------------------------------
static st_code event_make(st_gpu *gpu, st_gpu_event **out, st_error *error)
{
    *out = NULL;
    st_gpu_event *event = st_calloc(1, sizeof *event);
    if (!event)
        return st_fail_memory(error, "making an event");
    st_code code = ST_CUDA(gpu, error, event_create, &event->event, CU_EVENT_DEFAULT);
    if (code != ST_OK) {
        st_free(event);
        return code;
    }
    *out = event;
    return ST_OK;
}

static void event_free(st_gpu *gpu, st_gpu_event *event)
{
    if (!event)
        return;
    ST_CUDA_GIVE_BACK(gpu, event_destroy, event->event);
    st_free(event);
}

static st_code event_record(st_gpu *gpu, st_gpu_event *event, st_error *error)
{
    return ST_CUDA(gpu, error, event_record, event->event, gpu->stream);
}

static st_code event_elapsed(st_gpu *gpu, st_gpu_event *start, st_gpu_event *end, double *ns,
                             st_error *error)
{
    float milliseconds = 0;
    st_code code = ST_CUDA(gpu, error, event_synchronize, end->event);
    if (code == ST_OK)
        code = ST_CUDA(gpu, error, event_elapsed, &milliseconds, start->event, end->event);
    *ns = code == ST_OK ? (double)milliseconds * 1e6 : NAN;
    return code;
}

const st_gpu_operations st_cuda_operations = {
    .name = "cuda",
    .count = st_cuda_count,
    .facts = st_cuda_facts,
    .open = open_device,
    .close = close_device,
    .allocate = allocate,
    .release = release,
    .allocate_mapped = allocate_mapped,
    .memory = memory,
    .fill8 = fill8,
    .fill32 = fill32,
    .copy = copy,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .launch = st_cuda_launch,
    .synchronize = synchronize,
    .query = query,
    .load = st_cuda_load,
    .unload = st_cuda_unload,
    .kernel = st_cuda_kernel,
    .kernel_facts = st_cuda_kernel_facts,
    .occupancy = st_cuda_occupancy,
    .event_make = event_make,
    .event_free = event_free,
    .event_record = event_record,
    .event_elapsed = event_elapsed,
    .is_lost = is_lost,
    .native_context = native_context,
};
