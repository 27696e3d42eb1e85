// SPDX-License-Identifier: Apache-2.0
// The backend `emu` of gpu.h: one device (two with SIMTUNE_EMU_DEVICES=2) whose memory is the
// host's and whose kernels run on the CPU.
//
//  1. Calls that only name work queue it (emu_stream.c); calls that need its results wait for it.
//  2. What hardware refuses at the launch is refused at the launch and loses nothing; what goes
//  wrong while a kernel
//     runs shows at the next call that waits, and the device is lost.
//  3. Device addresses are host addresses.
//
// States of a device: open -> lost (a failed launch) -> closed.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static st_code count(int *devices, st_error *error) {
    (void)error;
    const char *wish = getenv("SIMTUNE_EMU_DEVICES");
    *devices = wish && strcmp(wish, "2") == 0 ? 2 : 1;
    return ST_OK;
}

static st_code check_ordinal(int ordinal, st_error *error) {
    int devices = 0;
    count(&devices, NULL);
    if (ordinal >= 0 && ordinal < devices)
        return ST_OK;
    return st_fail(error, ST_NOTHING, "SIMTUNE_EMU_DEVICES=2 offers a second one",
                   "there is no emulated device %d", ordinal);
}

static st_code facts(int ordinal, st_device_facts *out, st_error *error) {
    st_code code = check_ordinal(ordinal, error);
    if (code)
        return code;
    *out = st_emu_devices[ordinal];
    if (st_emu_checking()) // other programs, so other registers and times
        snprintf(out->driver, sizeof out->driver, "emulated, checking");
    return ST_OK;
}

static void close_device(st_gpu *gpu) {
    if (!gpu)
        return;
    while (gpu->first) {
        st_emu_operation *next = gpu->first->next;
        st_emu_operation_free(gpu->first);
        gpu->first = next;
    }
    if (gpu->profiling)
        st_emu_profile_end(gpu);
    st_emu_runner_free(gpu->runner);
    st_emu_runner_free(gpu->other);
    st_emu_tally_free(gpu->tally);
    st_emu_check_free(gpu->check);
    gpu->check = NULL;
    while (gpu->modules) {
        st_gpu_module *next = gpu->modules->next;
        st_emu_module_unload(gpu->modules);
        gpu->modules = next;
    }
    while (gpu->allocation_count > 0)
        st_emu_release(gpu, (st_gpu_pointer)(uintptr_t)gpu->allocations[0].data);
    st_free(gpu->allocations);
    st_free(gpu);
}

static st_code open_device(int ordinal, st_gpu **out, st_error *error) {
    st_code code = check_ordinal(ordinal, error);
    if (code)
        return code;
    st_gpu *gpu = st_calloc(1, sizeof *gpu);
    if (!gpu)
        return st_fail_memory(error, "opening the emulated device");
    gpu->facts = &st_emu_devices[ordinal];
    gpu->last = &gpu->first;
    const char *seed = getenv("SIMTUNE_EMU_SEED");
    gpu->seed = seed ? strtoull(seed, NULL, 0) : 0;
    gpu->runner = st_emu_runner_make(st_emu_explain_address, gpu);
    gpu->other = st_emu_runner_make(st_emu_explain_address, gpu);
    gpu->tally = st_emu_tally_make();
    if (st_emu_checking())
        gpu->check = st_emu_check_make();
    if (!gpu->runner || !gpu->other || !gpu->tally || (st_emu_checking() && !gpu->check)) {
        close_device(gpu);
        return st_fail_memory(error, "opening the emulated device");
    }
    gpu->runner->check = gpu->check;
    *out = gpu;
    return ST_OK;
}

// --- memory ------------------------------------------------------------------------------------

static st_code allocate(st_gpu *gpu, size_t bytes, st_gpu_pointer *out, st_error *error) {
    return gpu->lost ? st_emu_lost_error(gpu, error) : st_emu_allocate(gpu, bytes, out, error);
}

static void release(st_gpu *gpu, st_gpu_pointer pointer) {
    st_emu_drain(gpu, -1, NULL, NULL); // what is queued may use it
    st_emu_release(gpu, pointer);
}

static st_code allocate_mapped(st_gpu *gpu, size_t bytes, void **host, st_gpu_pointer *device,
                               st_error *error) {
    st_code code = allocate(gpu, bytes, device, error);
    if (code)
        return code;
    *host = (void *)(uintptr_t)*device;
    if (gpu->check) // the host writes it behind our back
        st_emu_check_written(gpu->check, *host, bytes, false);
    return ST_OK;
}

static st_code memory(st_gpu *gpu, size_t *free_bytes, size_t *total_bytes, st_error *error) {
    (void)error;
    *total_bytes = (size_t)gpu->facts->memory_bytes;
    *free_bytes = *total_bytes - gpu->allocated;
    return ST_OK;
}

// A new operation on [to, to + bytes), after the checks that all of them share.
static st_code make_operation(st_gpu *gpu, const char *what, st_gpu_pointer to, size_t bytes,
                              st_emu_operation **out, st_error *error) {
    if (gpu->lost)
        return st_emu_lost_error(gpu, error);
    st_code code = st_emu_check_range(gpu, what, to, bytes, error);
    if (code)
        return code;
    st_emu_operation *made = st_calloc(1, sizeof *made);
    if (!made)
        return st_fail_memory(error, "queueing work for the emulated device");
    made->to = (void *)(uintptr_t)to;
    made->bytes = bytes;
    *out = made;
    return ST_OK;
}

static st_code fill8(st_gpu *gpu, st_gpu_pointer at, uint8_t value, size_t bytes, st_error *error) {
    st_emu_operation *fill = NULL;
    st_code code = make_operation(gpu, "a fill", at, bytes, &fill, error);
    if (code)
        return code;
    fill->kind = ST_EMU_FILL8;
    fill->value = value;
    st_emu_enqueue(gpu, fill);
    return ST_OK;
}

static st_code fill32(st_gpu *gpu, st_gpu_pointer at, uint32_t value, size_t words,
                      st_error *error) {
    st_emu_operation *fill = NULL;
    if (at % 4)
        return st_fail(error, ST_USAGE, NULL, "the emulated device: a fill of words at 0x%llx",
                       (unsigned long long)at);
    if (words > SIZE_MAX / 4)
        return st_fail(error, ST_USAGE, NULL, "the emulated device: a fill of %zu words", words);
    st_code code = make_operation(gpu, "a fill", at, words * 4, &fill, error);
    if (code)
        return code;
    fill->kind = ST_EMU_FILL32;
    fill->value = value;
    st_emu_enqueue(gpu, fill);
    return ST_OK;
}

static st_code copy(st_gpu *gpu, st_gpu_pointer to, st_gpu_pointer from, size_t bytes,
                    st_error *error) {
    st_emu_operation *made = NULL;
    st_code code = st_emu_check_range(gpu, "a copy", from, bytes, error);
    if (!code)
        code = make_operation(gpu, "a copy", to, bytes, &made, error);
    if (code)
        return code;
    made->kind = ST_EMU_COPY;
    made->from = (const void *)(uintptr_t)from;
    st_emu_enqueue(gpu, made);
    return ST_OK;
}

static st_code copy_in(st_gpu *gpu, st_gpu_pointer to, const void *from, size_t bytes,
                       st_error *error) {
    st_emu_operation *copy = NULL;
    st_code code = make_operation(gpu, "a copy", to, bytes, &copy, error);
    if (code)
        return code;
    copy->kind = ST_EMU_COPY_IN;
    copy->owned = bytes ? st_malloc(bytes) : NULL;
    if (bytes && !copy->owned) {
        st_emu_operation_free(copy);
        return st_fail_memory(error, "copying to the emulated device");
    }
    if (bytes)
        memcpy(copy->owned, from, bytes);
    st_emu_enqueue(gpu, copy);
    return ST_OK;
}

static st_code copy_out(st_gpu *gpu, void *to, st_gpu_pointer from, size_t bytes, st_error *error) {
    st_code code = st_emu_drain(gpu, -1, NULL, error);
    if (!code)
        code = st_emu_check_range(gpu, "a copy", from, bytes, error);
    if (!code && bytes) {
        memcpy(to, (const void *)(uintptr_t)from, bytes);
        st_emu_take_copy(gpu, "copy out", bytes);
    }
    return code;
}

// --- kernels -----------------------------------------------------------------------------------

static st_code load(st_gpu *gpu, const void *image, size_t bytes, st_gpu_module **out,
                    st_error *error) {
    if (gpu->lost)
        return st_emu_lost_error(gpu, error);
    st_code code = st_emu_module_load(image, bytes, gpu->facts, out, error);
    if (code)
        return code;
    if (gpu->check && !(*out)->table->checked) {
        st_emu_module_unload(*out);
        return st_fail(error, ST_FAILED, "compile it with SIMTUNE_EMU_CHECK=1",
                       "the emulated device: a program that was not compiled for the checking mode");
    }
    (*out)->next = gpu->modules;
    gpu->modules = *out;
    return ST_OK;
}

static void unload(st_gpu *gpu, st_gpu_module *module) {
    if (!module)
        return;
    st_emu_drain(gpu, -1, NULL, NULL); // what is queued may run it
    for (st_gpu_module **at = &gpu->modules; *at; at = &(*at)->next)
        if (*at == module) {
            *at = module->next;
            break;
        }
    st_emu_module_unload(module);
}

static st_code kernel(st_gpu *gpu, st_gpu_module *module, const char *lowered_name,
                      st_gpu_kernel **out, st_error *error) {
    (void)gpu;
    for (unsigned k = 0; k < module->table->kernel_count; k++)
        if (strcmp(module->table->kernels[k].name, lowered_name) == 0) {
            *out = &module->kernels[k];
            return ST_OK;
        }
    return st_fail(error, ST_NOTHING, NULL, "the emulated program has no kernel %s", lowered_name);
}

static st_code kernel_facts(st_gpu *gpu, st_gpu_kernel *of, st_kernel_facts *out, st_error *error) {
    (void)gpu, (void)error;
    *out = of->facts;
    return ST_OK;
}

static st_code occupancy(st_gpu *gpu, st_gpu_kernel *of, unsigned block, unsigned dynamic_smem,
                         int *blocks_per_sm, st_error *error) {
    (void)error;
    *blocks_per_sm = (uint64_t)block > (uint64_t)of->facts.max_threads
                         ? 0
                         : st_emu_model_occupancy(gpu->facts, block, of->facts.registers,
                                                  (size_t)of->facts.static_smem + dynamic_smem);
    return ST_OK;
}

// What a driver refuses.
static st_code check_launch(const st_gpu *gpu, const st_launch *launch, int *blocks_per_sm,
                            st_error *error) {
    const char *name = launch->kernel->kernel->name;
    const struct simtune_emu_kernel *table = launch->kernel->kernel;
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    unsigned cluster = launch->cluster ? launch->cluster : 1;
    if (threads == 0 || launch->block[0] > 1024 || launch->block[1] > 1024 ||
        launch->block[2] > 64 || threads > 1024)
        return st_fail(error, ST_FAILED, NULL,
                       "launching %s: a block of %u × %u × %u threads is not possible", name,
                       launch->block[0], launch->block[1], launch->block[2]);
    if (blocks == 0 || launch->grid[0] > 0x7fffffffu || launch->grid[1] > 65535 ||
        launch->grid[2] > 65535 || blocks > 0xffffffffu)
        return st_fail(error, ST_FAILED, NULL,
                       "launching %s: a grid of %u × %u × %u blocks is not possible", name,
                       launch->grid[0], launch->grid[1], launch->grid[2]);
    // As the other backend, which opts in to more than the portable 8.
    int most_cluster = gpu->facts->max_cluster > 1 ? ST_EMU_MAX_CLUSTER : 1;
    if (cluster > (unsigned)most_cluster || launch->grid[0] % cluster)
        return st_fail(
            error, ST_FAILED, NULL,
            "launching %s: clusters of %u in a grid of %u blocks (at most %d, and whole)", name,
            cluster, launch->grid[0], most_cluster);
    *blocks_per_sm =
        st_emu_model_occupancy(gpu->facts, (unsigned)threads, launch->kernel->facts.registers,
                               (size_t)launch->kernel->facts.static_smem + launch->dynamic_smem);
    if (*blocks_per_sm == 0)
        return st_fail(error, ST_FAILED, NULL,
                       "launching %s: %u bytes of dynamic shared memory beside %d static ones (a "
                       "block has %d)",
                       name, launch->dynamic_smem, launch->kernel->facts.static_smem,
                       (int)gpu->facts->smem_per_block);
    if (threads > (uint64_t)launch->kernel->facts.max_threads)
        return st_fail(error, ST_FAILED, "launch fewer, or say so in __launch_bounds__",
                       "launching %s: a block of %llu threads, __launch_bounds__ allows %d", name,
                       (unsigned long long)threads, launch->kernel->facts.max_threads);
    if (launch->argument_count != table->argument_count)
        return st_fail(error, ST_FAILED, NULL, "launching %s: %u arguments for %u parameters", name,
                       launch->argument_count, table->argument_count);
    for (unsigned i = 0; launch->argument_sizes && i < launch->argument_count; i++)
        if (launch->argument_sizes[i] != table->argument_sizes[i])
            return st_fail(error, ST_FAILED, NULL,
                           "launching %s: argument %u has %zu bytes, the parameter has %u", name, i,
                           launch->argument_sizes[i], table->argument_sizes[i]);
    return ST_OK;
}

// Notes the buffer that an argument points into. `bytes` 0: as much as the allocation holds.
static void note_use(const st_gpu *gpu, st_emu_operation *to, uintptr_t value, size_t bytes) {
    const st_emu_allocation *into = st_emu_find(gpu, value);
    if (!into)
        return;
    st_emu_use use = {(uintptr_t)into->data, bytes && bytes < into->bytes ? bytes : into->bytes};
    for (unsigned i = 0; i < to->use_count; i++)
        if (to->uses[i].data == use.data) {
            if (to->uses[i].bytes < use.bytes)
                to->uses[i].bytes = use.bytes;
            return;
        }
    if (to->use_count < ST_EMU_USES)
        to->uses[to->use_count++] = use;
}

// Copies the arguments, aligned to 16, behind their pointers, and notes where they point.
static bool copy_arguments(const st_gpu *gpu, st_emu_operation *to, const st_launch *from) {
    const struct simtune_emu_kernel *table = from->kernel->kernel;
    size_t pointers = (from->argument_count * sizeof(void *) + 15) / 16 * 16, bytes = pointers;
    for (unsigned i = 0; i < from->argument_count; i++)
        bytes += (table->argument_sizes[i] + 15u) / 16 * 16;
    char *block = st_calloc(1, bytes + 16);
    if (!block)
        return false;
    void **list = (void **)block;
    char *at = block + pointers;
    for (unsigned i = 0; i < from->argument_count; i++) {
        unsigned size = table->argument_sizes[i];
        list[i] = memcpy(at, from->arguments[i], size);
        at += (size + 15u) / 16 * 16;
        uintptr_t value = 0;
        if (size != sizeof value)
            continue;
        memcpy(&value, list[i], sizeof value);
        note_use(gpu, to, value, from->buffer_bytes ? from->buffer_bytes[i] : 0);
    }
    to->owned = block;
    to->launch.arguments = list;
    return true;
}

static st_code launch(st_gpu *gpu, const st_launch *what, st_error *error) {
    int blocks_per_sm = 0;
    if (gpu->lost)
        return st_emu_lost_error(gpu, error);
    st_code code = check_launch(gpu, what, &blocks_per_sm, error);
    if (code)
        return code;
    st_emu_operation *made = st_calloc(1, sizeof *made);
    if (!made || !copy_arguments(gpu, made, what)) {
        st_emu_operation_free(made);
        return st_fail_memory(error, "queueing a launch on the emulated device");
    }
    const st_gpu_module *module = what->kernel->module;
    made->kind = ST_EMU_LAUNCH;
    made->kernel = what->kernel;
    made->blocks_per_sm = blocks_per_sm;
    made->launch.kernel = what->kernel->kernel;
    made->launch.self = module->table->self;
    made->launch.module = module;
    made->launch.dependent = what->dependent;
    memcpy(made->launch.grid, what->grid, sizeof what->grid);
    memcpy(made->launch.block, what->block, sizeof what->block);
    made->launch.cluster = what->cluster ? what->cluster : 1;
    made->launch.static_shared = module->shared_static;
    made->launch.shared_align = module->shared_align;
    made->launch.dynamic_shared = what->dynamic_smem;
    made->launch.resident = (unsigned)(blocks_per_sm * gpu->facts->sm_count);
    // Programs name their configurations alike.
    uint64_t shape = st_emu_mix_text(module->hash, made->launch.kernel->name);
    for (int d = 0; d < 3; d++)
        shape = st_emu_mix(st_emu_mix(shape, what->grid[d]), what->block[d]);
    made->key = st_emu_mix(st_emu_mix(shape, what->dynamic_smem), made->launch.cluster);
    st_emu_enqueue(gpu, made);
    return ST_OK;
}

static st_code synchronize(st_gpu *gpu, st_error *error) {
    return st_emu_drain(gpu, -1, NULL, error);
}

static st_code query(st_gpu *gpu, bool *done, st_error *error) {
    return st_emu_drain(gpu, 0.001, done, error);
}

// --- events ------------------------------------------------------------------------------------

static st_code event_make(st_gpu *gpu, st_gpu_event **out, st_error *error) {
    (void)gpu;
    *out = st_calloc(1, sizeof **out);
    return *out ? ST_OK : st_fail_memory(error, "making an event");
}

static void event_free(st_gpu *gpu, st_gpu_event *event) {
    for (st_emu_operation *queued = gpu->first; event && queued; queued = queued->next)
        if (queued->kind == ST_EMU_EVENT && queued->event == event)
            queued->event = NULL;
    st_free(event);
}

static st_code event_record(st_gpu *gpu, st_gpu_event *event, st_error *error) {
    st_emu_operation *made = NULL;
    st_code code = make_operation(gpu, "an event", 0, 0, &made, error);
    if (code)
        return code;
    made->kind = ST_EMU_EVENT;
    made->event = event;
    event->recorded = false;
    st_emu_enqueue(gpu, made);
    return ST_OK;
}

static st_code event_elapsed(st_gpu *gpu, st_gpu_event *start, st_gpu_event *end, double *ns,
                             st_error *error) {
    st_code code = st_emu_drain(gpu, -1, NULL, error);
    if (code)
        return code;
    if (!start->recorded || !end->recorded)
        return st_fail(error, ST_FAILED, NULL, "the emulated device: an event was never recorded");
    *ns = end->at - start->at;
    return ST_OK;
}

static bool is_lost(const st_gpu *gpu) {
    return gpu->lost;
}

static void *native_context(st_gpu *gpu) {
    (void)gpu;
    return NULL;
}

// The compile pool knows the compiler only by a weak reference, which does not take it out of an
// archive.
st_code (*const st_emu_compile_is_linked)(const st_compile_job *, st_compiled *,
                                          st_error *) = st_emu_compile;

const st_gpu_operations st_emu_operations = {
    .name = "emu",
    .count = count,
    .facts = facts,
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
    .launch = launch,
    .synchronize = synchronize,
    .query = query,
    .load = load,
    .unload = unload,
    .kernel = kernel,
    .kernel_facts = kernel_facts,
    .occupancy = occupancy,
    .event_make = event_make,
    .event_free = event_free,
    .event_record = event_record,
    .event_elapsed = event_elapsed,
    .is_lost = is_lost,
    .native_context = native_context,
};
