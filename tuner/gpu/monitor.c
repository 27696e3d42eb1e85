// SPDX-License-Identifier: Apache-2.0
// The state of a device while it is measured, by NVML.
//
// Invariants: 1. a reading never fails: what is not known is -1; 2. clocks, temperature, power and
// reasons belong to the board, so for a MIG instance they are asked of its board, while processes
// are asked of the instance; 3. a process is ours only when it runs this same program in this
// process group.
#include "tuner/gpu/gpu.h"

#include "tuner/base/memory.h"
#include "tuner/gpu/nvml.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct st_monitor {
    const st_nvml *nvml;   // NULL: everything unknown
    st_nvml_device device; // as CUDA names it, perhaps a MIG instance
    st_nvml_device board;
    bool own_namespace;    // process numbers of NVML may not be ours
};

// --- reasons -------------------------------------------------------------------------------------
// NVML's "clocks event reasons". To add one: a row. `slows` marks what makes a kernel slower than
// the clock that was asked for; idling and clocks that somebody has set are states, not throttling.
static const struct {
    int64_t bit;
    const char *name;
    bool slows;
} reason_rows[] = {
    {0x001, "idle", false},          {0x002, "application_clocks", false},
    {0x004, "sw_power_cap", true},   {0x008, "hw_slowdown", true},
    {0x010, "sync_boost", true},     {0x020, "sw_thermal", true},
    {0x040, "hw_thermal", true},     {0x080, "hw_power_brake", true},
    {0x100, "display_clocks", false},
};
#define REASON_COUNT (sizeof reason_rows / sizeof reason_rows[0])

void st_throttle_names(int64_t reasons, st_text *out)
{
    if (reasons <= 0) {
        st_text_add(out, reasons < 0 ? "unknown" : "none");
        return;
    }
    const char *comma = "";
    for (size_t i = 0; i < REASON_COUNT; i++)
        if (reasons & reason_rows[i].bit) {
            st_text_addf(out, "%s%s", comma, reason_rows[i].name);
            reasons &= ~reason_rows[i].bit;
            comma = ", ";
        }
    if (reasons)
        st_text_addf(out, "%sreason_0x%llx", comma, (unsigned long long)reasons);
}

static bool slows(int64_t reasons)
{
    for (size_t i = 0; i < REASON_COUNT; i++)
        if (reasons > 0 && reasons & reason_rows[i].bit && reason_rows[i].slows)
            return true;
    return false;
}

// --- processes -----------------------------------------------------------------------------------
// The kernel gives the first process namespace this number on every machine.
static bool in_own_namespace(void)
{
    char name[64];
    ssize_t length = readlink("/proc/self/ns/pid", name, sizeof name - 1);
    if (length <= 0)
        return true;
    name[length] = '\0';
    return strcmp(name, "pid:[4026531836]") != 0;
}

static bool same_program(pid_t pid)
{
    char link[64], theirs[PATH_MAX], ours[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t their_length = readlink(link, theirs, sizeof theirs);
    ssize_t our_length = readlink("/proc/self/exe", ours, sizeof ours);
    return their_length > 0 && their_length == our_length &&
           memcmp(theirs, ours, (size_t)our_length) == 0;
}

static bool is_ours(pid_t pid)
{
    return pid == getpid() || (getpgid(pid) == getpgrp() && same_program(pid));
}

static int count_others(const st_monitor *monitor)
{
    enum { FIRST = 64, MOST = 4096 };
    unsigned capacity = FIRST;
    // Twice what is promised to the call: one line of drivers filled a larger structure than it
    // said.
    st_nvml_process *list = NULL;
    int result = ST_NVML_INSUFFICIENT_SIZE, others = -1;
    unsigned count = 0;
    while (result == ST_NVML_INSUFFICIENT_SIZE && capacity <= MOST) {
        st_free(list);
        list = st_calloc(2 * (size_t)capacity, sizeof *list);
        if (!list)
            return -1;
        count = capacity;
        result = ST_NVML_CALL(monitor->nvml, processes, monitor->device, &count, list);
        capacity *= 4;
    }
    if (result == ST_NVML_SUCCESS) {
        bool seen_ourselves = false;
        others = 0;
        for (unsigned i = 0; i < count; i++)
            if (is_ours((pid_t)list[i].pid))
                seen_ourselves = true;
            else
                others++;
        // In a container NVML may list the host's numbers, or nothing: without ourselves in the
        // list it cannot be told whose they are.
        if (monitor->own_namespace && !seen_ourselves)
            others = -1;
    }
    st_free(list);
    return others;
}

// --- the monitor ---------------------------------------------------------------------------------
st_code st_monitor_open(const st_device_facts *device, st_monitor **out, st_error *error)
{
    st_monitor *monitor = *out = st_calloc(1, sizeof *monitor);
    if (!monitor)
        return st_fail_memory(error, "opening the monitor of the device");
    if (strcmp(device->backend, "cuda") != 0)
        return ST_OK;
    monitor->own_namespace = in_own_namespace();
    monitor->nvml = st_nvml_get(NULL);
    if (monitor->nvml &&
        ST_NVML_CALL(monitor->nvml, by_uuid, device->uuid, &monitor->device) != ST_NVML_SUCCESS)
        monitor->nvml = NULL;
    if (!monitor->nvml)
        return ST_OK;
    monitor->board = monitor->device;
    if (device->is_mig &&
        ST_NVML_CALL(monitor->nvml, board_of_mig, monitor->device, &monitor->board) !=
            ST_NVML_SUCCESS)
        monitor->board = monitor->device;
    return ST_OK;
}

void st_monitor_close(st_monitor *monitor)
{
    st_free(monitor);
}

static int number(int result, unsigned value)
{
    return result == ST_NVML_SUCCESS && value <= INT_MAX ? (int)value : -1;
}

static int64_t read_reasons(const st_nvml *nvml, st_nvml_device board)
{
    unsigned long long reasons = 0;
    int result = ST_NVML_CALL(nvml, reasons, board, &reasons);
    if (result != ST_NVML_SUCCESS)
        result = ST_NVML_CALL(nvml, old_reasons, board, &reasons);
    return result == ST_NVML_SUCCESS && reasons <= INT64_MAX ? (int64_t)reasons : -1;
}

void st_monitor_read(st_monitor *monitor, st_device_state *state)
{
    *state = (st_device_state){-1, -1, -1, -1, -1, false, -1};
    const st_nvml *nvml = monitor ? monitor->nvml : NULL;
    if (!nvml)
        return;
    unsigned value = 0;
    int result = ST_NVML_CALL(nvml, clock, monitor->board, ST_NVML_CLOCK_SM, &value);
    state->sm_clock_mhz = number(result, value);
    result = ST_NVML_CALL(nvml, clock, monitor->board, ST_NVML_CLOCK_MEMORY, &value);
    state->memory_clock_mhz = number(result, value);
    result = ST_NVML_CALL(nvml, temperature, monitor->board, ST_NVML_TEMPERATURE_GPU, &value);
    state->temperature_c = number(result, value);
    result = ST_NVML_CALL(nvml, power, monitor->board, &value);
    state->power_mw = number(result, value);
    state->throttle_reasons = read_reasons(nvml, monitor->board);
    state->throttled = slows(state->throttle_reasons);
    state->other_processes = count_others(monitor);
}
