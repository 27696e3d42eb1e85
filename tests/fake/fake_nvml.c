// SPDX-License-Identifier: Apache-2.0
// See fake_nvml.h.
#include "tests/fake/fake_nvml.h"

#include <stdio.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

// Two handles: the device as it was asked for, and the board behind a MIG instance.
static int device_handle, board_handle;
static fake_nvml control = {
    .knows_device = true,
    .sm_clock = 1980,
    .memory_clock = 3201,
    .temperature = 41,
    .power = 120500,
};

fake_nvml *fake_nvml_control(void)
{
    return &control;
}

int nvmlInit_v2(void)
{
    if (control.init_result == SUCCESS)
        control.started++;
    return control.init_result;
}

int nvmlShutdown(void)
{
    control.started--;
    return SUCCESS;
}

const char *nvmlErrorString(int result)
{
    return result == 18 ? "Driver/library version mismatch" : "Some Error";
}

int nvmlSystemGetDriverVersion(char *text, unsigned capacity)
{
    snprintf(text, capacity, "580.95.05");
    return SUCCESS;
}

int nvmlSystemGetNVMLVersion(char *text, unsigned capacity)
{
    snprintf(text, capacity, "13.580.95.05");
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    snprintf(control.asked_uuid, sizeof control.asked_uuid, "%s", uuid);
    *device = &device_handle;
    return control.knows_device ? SUCCESS : NOT_FOUND;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *device, void **board)
{
    if (!control.mig || device != &device_handle)
        return NOT_SUPPORTED;
    *board = &board_handle;
    return SUCCESS;
}

static int board_answer(void *device, int result, unsigned value, unsigned *out)
{
    if (control.mig && device != &board_handle)
        return NOT_SUPPORTED;
    *out = value;
    return result;
}

int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *value)
{
    return board_answer(device, control.clock_result,
                        kind == 1 ? control.sm_clock : control.memory_clock, value);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *value)
{
    (void)sensor;
    return board_answer(device, control.temperature_result, control.temperature, value);
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *value)
{
    return board_answer(device, control.power_result, control.power, value);
}

// Only the old name, as before driver 535: the monitor must fall back to it.
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    if (control.mig && device != &board_handle)
        return NOT_SUPPORTED;
    *reasons = control.reasons;
    return control.reasons_result;
}

typedef struct process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
} process;

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process *list)
{
    if (device != &device_handle)
        return NOT_SUPPORTED;
    if (control.processes_result != SUCCESS)
        return control.processes_result;
    unsigned capacity = *count;
    *count = control.process_count;
    if (control.process_count > capacity)
        return INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < control.process_count; i++)
        list[i] = (process){.pid = control.pids[i], .memory = 1 << 20};
    return SUCCESS;
}

int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
    (void)device;
    *current = *pending = control.mig;
    return SUCCESS;
}

int nvmlDeviceGetVirtualizationMode(void *device, int *mode)
{
    (void)device;
    *mode = 0;
    return SUCCESS;
}
