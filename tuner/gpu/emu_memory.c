// SPDX-License-Identifier: Apache-2.0
// Memory of the emulated device: host memory between inaccessible pages.
//
//  1. An allocation ends at its upper guard, but for what rounding up to 256 bytes leaves, so that
//  a read or write
//     past its end is a fault, and so is one up to 1 MiB away on either side.
//  2. The device has no more memory than its facts say.
//  3. Fresh memory holds 0xA5 (the first 4 MiB of it): zero would hide what was never written.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD ((size_t)1 << 20)
#define ALIGNMENT ((size_t)256)
#define GARBAGE_BYTES ((size_t)4 << 20)

st_code st_emu_allocate(st_gpu *gpu, size_t bytes, st_gpu_pointer *out, st_error *error)
{
    size_t total = (size_t)gpu->facts->memory_bytes;
    if (bytes == 0)
        return st_fail(error, ST_USAGE, NULL, "the emulated device: an allocation of 0 bytes");
    if (bytes > total - gpu->allocated)
        return st_fail(error, ST_NO_MEMORY, "choose smaller sizes",
                       "the emulated device has no %zu bytes left (%zu of %zu are in use)", bytes,
                       gpu->allocated, total);
    st_emu_allocation *more = st_grow(gpu->allocations, &gpu->allocation_capacity,
                                      gpu->allocation_count + 1, sizeof *more);
    if (!more)
        return st_fail_memory(error, "allocating on the emulated device");
    gpu->allocations = more;
    size_t pages = (bytes + ST_EMU_PAGE - 1) / ST_EMU_PAGE * ST_EMU_PAGE;
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *map = mmap(NULL, pages + 2 * GUARD, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map != MAP_FAILED && mprotect(map + GUARD, pages, PROT_READ | PROT_WRITE)) {
        munmap(map, pages + 2 * GUARD);
        map = MAP_FAILED;
    }
    if (map == MAP_FAILED)
        return st_fail(error, ST_NO_MEMORY, "choose smaller sizes",
                       "the host has no %zu bytes for the emulated device: %s", bytes,
                       strerror(errno));
    st_emu_allocation *made = &gpu->allocations[gpu->allocation_count++];
    *made = (st_emu_allocation){.map = map,
                                .mapped = pages + 2 * GUARD,
                                .data = map + GUARD + pages - rounded,
                                .bytes = bytes};
    if (gpu->check &&
        !st_emu_check_add(gpu->check, made->map, made->mapped, made->data, bytes)) {
        munmap(made->map, made->mapped);
        gpu->allocation_count--;
        return st_fail_memory(error, "allocating on the emulated device");
    }
    memset(made->data, 0xa5, bytes < GARBAGE_BYTES ? bytes : GARBAGE_BYTES);
    gpu->allocated += bytes;
    *out = (st_gpu_pointer)(uintptr_t)made->data;
    return ST_OK;
}

void st_emu_release(st_gpu *gpu, st_gpu_pointer pointer)
{
    for (size_t i = 0; i < gpu->allocation_count; i++) {
        st_emu_allocation *found = &gpu->allocations[i];
        if ((st_gpu_pointer)(uintptr_t)found->data != pointer)
            continue;
        if (gpu->check)
            st_emu_check_remove(gpu->check, found->data);
        munmap(found->map, found->mapped);
        gpu->allocated -= found->bytes;
        *found = gpu->allocations[--gpu->allocation_count];
        return;
    }
}

st_emu_allocation *st_emu_find_writable(st_gpu *gpu, uintptr_t address)
{
    for (size_t i = 0; i < gpu->allocation_count; i++)
        if (address - (uintptr_t)gpu->allocations[i].data < gpu->allocations[i].bytes)
            return &gpu->allocations[i];
    return NULL;
}

const st_emu_allocation *st_emu_find(const st_gpu *gpu, uintptr_t address)
{
    return st_emu_find_writable((st_gpu *)gpu, address);
}

st_code st_emu_check_range(const st_gpu *gpu, const char *what, st_gpu_pointer at, size_t bytes,
                           st_error *error)
{
    const st_emu_allocation *found = st_emu_find(gpu, (uintptr_t)at);
    if (bytes == 0 || (found && bytes <= found->bytes - ((uintptr_t)at - (uintptr_t)found->data)))
        return ST_OK;
    return st_fail(error, ST_USAGE, NULL,
                   "the emulated device: %s of %zu bytes at 0x%llx, which no allocation holds",
                   what, bytes, (unsigned long long)at);
}

ST_EMU_ON_FIBER void st_emu_explain_address(void *context, uintptr_t address, char *out,
                                            size_t capacity)
{
    const st_gpu *gpu = context;
    for (size_t i = 0; i < gpu->allocation_count; i++) {
        const st_emu_allocation *near = &gpu->allocations[i];
        if (address - (uintptr_t)near->map >= near->mapped)
            continue;
        uintptr_t start = (uintptr_t)near->data, end = start + near->bytes;
        if (address >= end)
            snprintf(out, capacity, "%zu bytes beyond the end of an allocation of %zu bytes",
                     (size_t)(address - end), near->bytes);
        else
            snprintf(out, capacity, "%zu bytes before an allocation of %zu bytes",
                     (size_t)(start - address), near->bytes);
        return;
    }
    snprintf(out, capacity, "0x%llx, no allocation is near", (unsigned long long)address);
}
