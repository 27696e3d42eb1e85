// SPDX-License-Identifier: Apache-2.0
// The emulated device's stream: operations wait in a queue and run when the host waits for them, as
// far as it waits. So a gate kernel holds the stream although there is only one thread: the host
// opens the gate before it waits, or asks (st_emu_drain with a limit) and gets an answer.
//
//  1. Operations run in order, each to its end before the next begins.
//  2. The stream's clock advances by the model's time of each operation and by nothing else.
//  3. After a failed launch the device is lost: the queue is dropped and every call fails with its
//  message.
#include "tuner/gpu/emu_stream.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <string.h>

void st_emu_operation_free(st_emu_operation *operation) {
    if (!operation)
        return;
    st_free(operation->owned);
    st_free(operation);
}

void st_emu_enqueue(st_gpu *gpu, st_emu_operation *operation) {
    *gpu->last = operation;
    gpu->last = &operation->next;
}

st_code st_emu_lost_error(const st_gpu *gpu, st_error *error) {
    return st_fail(error, ST_FAILED, NULL, "the emulated device: launch failed: %s", gpu->message);
}

static void drop_first(st_gpu *gpu) {
    st_emu_operation *done = gpu->first;
    gpu->first = done->next;
    if (!gpu->first)
        gpu->last = &gpu->first;
    st_emu_operation_free(done);
}

static void lose(st_gpu *gpu, const char *message) {
    gpu->lost = true;
    snprintf(gpu->message, sizeof gpu->message, "%s", message);
    while (gpu->first)
        drop_first(gpu);
}

static double launch_time(st_gpu *gpu, const st_emu_operation *launch) {
    const st_emu_launch *what = &launch->launch;
    st_emu_model_input input = {
        .device = gpu->facts,
        .kernel = what->kernel->name,
        .blocks = what->grid[0] * what->grid[1] * what->grid[2],
        .threads = what->block[0] * what->block[1] * what->block[2],
        .blocks_per_sm = launch->blocks_per_sm,
        .registers = launch->kernel->facts.registers,
        .bytes = launch->argument_bytes,
        .counts = st_emu_runner_counts(gpu->runner),
        .ordinal = gpu->ordinal,
    };
    return st_emu_model_launch(&input);
}

// True when it has run to its end (or has lost the device).
static bool run_launch(st_gpu *gpu, st_emu_operation *operation, double seconds) {
    if (!operation->begun) {
        operation->launch.seed =
            st_emu_mix(gpu->seed, st_emu_mix(gpu->ordinal, operation->launch.grid[0]));
        if (!st_emu_runner_begin(gpu->runner, &operation->launch)) {
            lose(gpu, "the host has no memory for it");
            return true;
        }
        operation->begun = true;
    }
    switch (st_emu_runner_go(gpu->runner, seconds)) {
    case ST_EMU_PENDING:
        return false;
    case ST_EMU_LAUNCH_FAILURE:
        lose(gpu, st_emu_runner_message(gpu->runner));
        return true;
    default:
        gpu->now += launch_time(gpu, operation);
        return true;
    }
}

static bool run_first(st_gpu *gpu, double seconds) {
    st_emu_operation *operation = gpu->first;
    switch (operation->kind) {
    case ST_EMU_FILL8:
        memset(operation->to, (int)operation->value, operation->bytes);
        if (gpu->check)
            st_emu_check_written(gpu->check, operation->to, operation->bytes,
                                 operation->value == 0xff);
        break;
    case ST_EMU_FILL32:
        for (size_t i = 0; i < operation->bytes / 4; i++)
            ((uint32_t *)operation->to)[i] = operation->value;
        if (gpu->check)
            st_emu_check_written(gpu->check, operation->to, operation->bytes, false);
        break;
    case ST_EMU_COPY_IN:
        memcpy(operation->to, operation->owned, operation->bytes);
        if (gpu->check)
            st_emu_check_written(gpu->check, operation->to, operation->bytes, false);
        break;
    case ST_EMU_EVENT:
        if (operation->event)
            operation->event->at = gpu->now;
        if (operation->event)
            operation->event->recorded = true;
        return true;
    case ST_EMU_LAUNCH:
        return run_launch(gpu, operation, seconds);
    }
    gpu->now += st_emu_model_copy(gpu->facts, operation->bytes, gpu->ordinal);
    return true;
}

st_code st_emu_drain(st_gpu *gpu, double seconds, bool *done, st_error *error) {
    double until = seconds >= 0 ? st_clock_seconds() + seconds : 0;
    while (!gpu->lost && gpu->first) {
        double left = seconds >= 0 ? until - st_clock_seconds() : -1;
        if (seconds >= 0 && left <= 0)
            break;
        if (!run_first(gpu, left))
            break;
        if (gpu->lost)
            break;
        gpu->ordinal++;
        drop_first(gpu);
    }
    if (done)
        *done = !gpu->first;
    return gpu->lost ? st_emu_lost_error(gpu, error) : ST_OK;
}
