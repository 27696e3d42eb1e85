// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/null_device.h"

#include "tests/fuzz/fuzz.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MOST = 1024, MEMORY = 256 << 20 };

typedef struct allocation {
    char *bytes;
    size_t size;
    bool mapped; // the gate's: the device frees it
} allocation;

struct st_gpu {
    allocation blocks[BLOCKS_MOST];
    size_t used;
    bool lost, wrong;
    double clock;
};
struct st_gpu_module {
    st_gpu_kernel *kernels;
};
struct st_gpu_kernel {
    st_gpu_kernel *next;
    char name[64];
};
struct st_gpu_event {
    double at;
};

static size_t leaks;

size_t null_device_leaks(void)
{
    return leaks;
}

static st_code refuse(const st_gpu *gpu, const char *what, st_error *error)
{
    return st_fail(error, ST_FAILED, NULL, gpu && gpu->lost ? "%s: the context is lost" : "%s",
                   what);
}

// --- memory ------------------------------------------------------------------------------------------------
static allocation *find(st_gpu *gpu, st_gpu_pointer at)
{
    for (size_t i = 0; i < BLOCKS_MOST; i++) {
        st_gpu_pointer base = (uintptr_t)gpu->blocks[i].bytes;
        if (base && at >= base && at - base <= gpu->blocks[i].size)
            return &gpu->blocks[i];
    }
    return NULL;
}

// The bytes, when all of them lie in one allocation.
static char *range(st_gpu *gpu, st_gpu_pointer at, size_t bytes)
{
    const allocation *in = gpu->lost ? NULL : find(gpu, at);
    if (!in || bytes > in->size - (size_t)(at - (uintptr_t)in->bytes))
        return NULL;
    return in->bytes + (at - (uintptr_t)in->bytes);
}

static st_code take(st_gpu *gpu, size_t bytes, bool mapped, st_gpu_pointer *out, st_error *error)
{
    size_t i = 0;
    while (i < BLOCKS_MOST && gpu->blocks[i].bytes)
        i++;
    if (gpu->lost || i == BLOCKS_MOST)
        return refuse(gpu, "cannot allocate", error);
    if (bytes > MEMORY - gpu->used)
        return st_fail(error, ST_NO_MEMORY, NULL, "the device has no room");
    gpu->blocks[i] = (allocation){aligned_alloc(256, (bytes + 256) / 256 * 256), bytes, mapped};
    if (!gpu->blocks[i].bytes)
        return st_fail_memory(error, "a device");
    gpu->used += bytes;
    *out = (uintptr_t)gpu->blocks[i].bytes;
    return ST_OK;
}

static st_code null_allocate(st_gpu *gpu, size_t bytes, st_gpu_pointer *out, st_error *error)
{
    FUZZ_MUST(bytes, "an allocation of nothing");
    return take(gpu, bytes, false, out, error);
}

static void null_release(st_gpu *gpu, st_gpu_pointer pointer)
{
    allocation *known = find(gpu, pointer);
    FUZZ_MUST(known && (uintptr_t)known->bytes == pointer, "what is released was not allocated");
    gpu->used -= known->size;
    free(known->bytes);
    *known = (allocation){0};
}

static st_code null_allocate_mapped(st_gpu *gpu, size_t bytes, void **host, st_gpu_pointer *device,
                                    st_error *error)
{
    st_code code = take(gpu, bytes, true, device, error);
    if (code == ST_OK)
        *host = (void *)(uintptr_t)*device;
    return code;
}

static st_code null_memory(st_gpu *gpu, size_t *free_bytes, size_t *total_bytes, st_error *error)
{
    (void)error;
    *free_bytes = MEMORY - gpu->used;
    *total_bytes = MEMORY;
    return ST_OK;
}

static st_code null_fill8(st_gpu *gpu, st_gpu_pointer at, uint8_t value, size_t bytes,
                          st_error *error)
{
    char *to = range(gpu, at, bytes);
    if (!to)
        return refuse(gpu, "filling what was not allocated", error);
    memset(to, value, bytes);
    return ST_OK;
}

static st_code null_fill32(st_gpu *gpu, st_gpu_pointer at, uint32_t value, size_t words,
                           st_error *error)
{
    return null_fill8(gpu, at, (uint8_t)value, 4 * words, error);
}

static st_code null_copy(st_gpu *gpu, st_gpu_pointer to, st_gpu_pointer from, size_t bytes, st_error *error)
{
    char *place = range(gpu, to, bytes);
    const char *source = range(gpu, from, bytes);
    if (!place || !source)
        return refuse(gpu, "copying between what was not allocated", error);
    if (bytes)
        memmove(place, source, bytes);
    return ST_OK;
}

static st_code null_copy_in(st_gpu *gpu, st_gpu_pointer to, const void *from, size_t bytes,
                            st_error *error)
{
    char *place = range(gpu, to, bytes);
    if (!place)
        return refuse(gpu, "copying to what was not allocated", error);
    if (bytes)
        memcpy(place, from, bytes);
    return ST_OK;
}

static st_code null_copy_out(st_gpu *gpu, void *to, st_gpu_pointer from, size_t bytes,
                             st_error *error)
{
    const char *place = range(gpu, from, bytes);
    if (!place)
        return refuse(gpu, "copying what was not allocated", error);
    if (bytes)
        memcpy(to, place, bytes);
    return ST_OK;
}

// --- the device --------------------------------------------------------------------------------------------
static st_code null_count(int *devices, st_error *error)
{
    (void)error;
    *devices = 1;
    return ST_OK;
}

static st_code null_facts(int ordinal, st_device_facts *facts, st_error *error)
{
    if (ordinal)
        return st_fail(error, ST_NOTHING, NULL, "there is no device %d", ordinal);
    memset(facts, 0, sizeof *facts);
#define X(field, name, unit, meaning) facts->field = 1024;
    ST_DEVICE_FACTS(X)
#undef X
    facts->sm_count = 4;
    snprintf(facts->name, sizeof facts->name, "Null GPU");
    snprintf(facts->uuid, sizeof facts->uuid, "NULL-0");
    snprintf(facts->backend, sizeof facts->backend, "emu");
    return ST_OK;
}

static st_code null_open(int ordinal, st_gpu **gpu, st_error *error)
{
    (void)ordinal;
    leaks = 0;
    *gpu = calloc(1, sizeof **gpu);
    return *gpu ? ST_OK : st_fail_memory(error, "opening the device");
}

static void null_close(st_gpu *gpu)
{
    for (size_t i = 0; i < BLOCKS_MOST; i++) {
        leaks += gpu->blocks[i].bytes && !gpu->blocks[i].mapped;
        free(gpu->blocks[i].bytes);
    }
    free(gpu);
}

static bool null_is_lost(const st_gpu *gpu)
{
    return gpu->lost;
}

static void *null_native_context(st_gpu *gpu)
{
    (void)gpu;
    return NULL;
}

// --- kernels -----------------------------------------------------------------------------------------------
static st_code null_load(st_gpu *gpu, const void *image, size_t bytes, st_gpu_module **out,
                         st_error *error)
{
    if (gpu->lost || !bytes || (bytes >= 3 && memcmp(image, "bad", 3) == 0))
        return refuse(gpu, "this is no image", error);
    *out = calloc(1, sizeof **out);
    return *out ? ST_OK : st_fail_memory(error, "loading");
}

static void null_unload(st_gpu *gpu, st_gpu_module *module)
{
    (void)gpu;
    for (st_gpu_kernel *kernel = module->kernels, *next; kernel; kernel = next) {
        next = kernel->next;
        free(kernel);
    }
    free(module);
}

static st_code null_kernel(st_gpu *gpu, st_gpu_module *module, const char *name,
                           st_gpu_kernel **out, st_error *error)
{
    if (gpu->lost || strncmp(name, "absent", 6) == 0)
        return refuse(gpu, "there is no such kernel", error);
    st_gpu_kernel *kernel = *out = calloc(1, sizeof *kernel);
    if (!kernel)
        return st_fail_memory(error, "loading");
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    kernel->next = module->kernels;
    module->kernels = kernel;
    return ST_OK;
}

static st_code null_kernel_facts(st_gpu *gpu, st_gpu_kernel *kernel, st_kernel_facts *facts,
                                 st_error *error)
{
    (void)gpu, (void)error;
    *facts = (st_kernel_facts){(int)strlen(kernel->name), 0, 0, 1024, 900};
    return ST_OK;
}

static st_code null_occupancy(st_gpu *gpu, st_gpu_kernel *kernel, unsigned block, unsigned smem,
                              int *blocks_per_sm, st_error *error)
{
    (void)gpu, (void)kernel, (void)smem, (void)error;
    FUZZ_MUST(block, "the occupancy of a block without threads is asked");
    *blocks_per_sm = block > 1024 ? 0 : (int)(2048 / block);
    return ST_OK;
}

static st_code null_launch(st_gpu *gpu, const st_launch *launch, st_error *error)
{
    const unsigned *block = launch->block, *grid = launch->grid;
    const char *name = launch->kernel->name;
    FUZZ_MUST(launch->cluster, "a launch with a cluster of 0");
    for (unsigned i = 0; i < launch->argument_count; i++)
        FUZZ_MUST(launch->arguments[i] && launch->argument_sizes[i] >= 1 &&
                      launch->argument_sizes[i] <= 8,
                  "argument %u of %s has no place or no size", i, name);
    if (gpu->lost || (uint64_t)block[0] * block[1] > 1024 || !block[0] || !block[1] || !block[2] ||
        (uint64_t)block[0] * block[1] * block[2] > 1024 || !grid[0] || !grid[1] || !grid[2] ||
        grid[1] > 65535 || grid[2] > 65535 || grid[0] % launch->cluster)
        return refuse(gpu, "this cannot be launched", error);
    gpu->clock += 5000;
    gpu->lost = gpu->lost || strncmp(name, "lost", 4) == 0;
    gpu->wrong = gpu->wrong || strncmp(name, "wrong", 5) == 0;
    if (gpu->wrong && strcmp(name, "simtune_support_compare") == 0) {
        const uint64_t found[] = {3, 0};
        st_gpu_pointer result;
        memcpy(&result, launch->arguments[launch->argument_count - 1], sizeof result);
        char *place = range(gpu, result, sizeof found);
        FUZZ_MUST(place, "a comparison has nowhere to put its result");
        memcpy(place, found, sizeof found);
        gpu->wrong = false;
    }
    return ST_OK;
}

static st_code null_synchronize(st_gpu *gpu, st_error *error)
{
    return gpu->lost ? refuse(gpu, "waiting", error) : ST_OK;
}

static st_code null_query(st_gpu *gpu, bool *done, st_error *error)
{
    *done = true;
    return null_synchronize(gpu, error);
}

// --- events ------------------------------------------------------------------------------------------------
static st_code null_event_make(st_gpu *gpu, st_gpu_event **out, st_error *error)
{
    (void)gpu;
    *out = calloc(1, sizeof **out);
    return *out ? ST_OK : st_fail_memory(error, "an event");
}

static void null_event_free(st_gpu *gpu, st_gpu_event *event)
{
    (void)gpu;
    free(event);
}

static st_code null_event_record(st_gpu *gpu, st_gpu_event *event, st_error *error)
{
    event->at = gpu->clock;
    return null_synchronize(gpu, error);
}

static st_code null_event_elapsed(st_gpu *gpu, st_gpu_event *start, st_gpu_event *end, double *ns,
                                  st_error *error)
{
    *ns = end->at - start->at;
    return null_synchronize(gpu, error);
}

static const st_gpu_operations operations = {
    "emu",
    null_count,
    null_facts,
    null_open,
    null_close,
    null_allocate,
    null_release,
    null_allocate_mapped,
    null_memory,
    null_fill8,
    null_fill32,
    null_copy,
    null_copy_in,
    null_copy_out,
    null_launch,
    null_synchronize,
    null_query,
    null_load,
    null_unload,
    null_kernel,
    null_kernel_facts,
    null_occupancy,
    null_event_make,
    null_event_free,
    null_event_record,
    null_event_elapsed,
    null_is_lost,
    null_native_context,
};

const st_gpu_operations *st_gpu_backend(const char *name)
{
    return strcmp(name, "emu") == 0 ? &operations : NULL;
}
