// SPDX-License-Identifier: Apache-2.0
// The state of a device through a counterfeit NVML: readings, reasons, whose processes they are,
// and that what is not known is -1 (invariants of monitor.c).
#include "tests/fake/fake_nvml.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/gpu.h"
#include "tuner/gpu/machine.h"
#include "tuner/gpu/nvml.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static fake_nvml *fake;
static fake_nvml pristine;
static const st_device_facts cuda_device = {.backend = "cuda", .uuid = "GPU-0123"};

static int setup_all(void **state)
{
    (void)state;
    void *handle = dlopen(FAKE_NVML, RTLD_NOW);
    if (!handle)
        return -1;
    fake_nvml_control_function *control;
    *(void **)&control = dlsym(handle, "fake_nvml_control");
    fake = control();
    pristine = *fake;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    st_nvml_close();
    *fake = pristine;
    setenv("SIMTUNE_LIBNVML", FAKE_NVML, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    st_nvml_close();
    return 0;
}

static st_device_state read_once(const st_device_facts *device)
{
    st_monitor *monitor = NULL;
    st_device_state result;
    assert_int_equal(st_monitor_open(device, &monitor, NULL), ST_OK);
    assert_non_null(monitor);
    st_monitor_read(monitor, &result);
    st_monitor_close(monitor);
    return result;
}

static void assert_unknown(const st_device_state *state)
{
    assert_int_equal(state->sm_clock_mhz, -1);
    assert_int_equal(state->memory_clock_mhz, -1);
    assert_int_equal(state->temperature_c, -1);
    assert_int_equal(state->power_mw, -1);
    assert_int_equal(state->throttle_reasons, -1);
    assert_false(state->throttled);
    assert_int_equal(state->other_processes, -1);
}

static void readings(void **state)
{
    (void)state;
    fake->reasons = 0x2;
    st_device_state now = read_once(&cuda_device);
    assert_string_equal(fake->asked_uuid, "GPU-0123");
    assert_int_equal(now.sm_clock_mhz, 1980);
    assert_int_equal(now.memory_clock_mhz, 3201);
    assert_int_equal(now.temperature_c, 41);
    assert_int_equal(now.power_mw, 120500);
    assert_int_equal(now.throttle_reasons, 2);
    assert_false(now.throttled); // somebody set the clocks: a state, not throttling
}

static void what_slows_is_throttling(void **state)
{
    (void)state;
    const unsigned long long slow[] = {0x4, 0x8, 0x10, 0x20, 0x40, 0x80, 0x5, 0x1ff};
    const unsigned long long well[] = {0, 0x1, 0x2, 0x100, 0x103, 1ull << 40};
    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++) {
        fake->reasons = slow[i];
        assert_true(read_once(&cuda_device).throttled);
    }
    for (size_t i = 0; i < sizeof well / sizeof well[0]; i++) {
        fake->reasons = well[i];
        assert_false(read_once(&cuda_device).throttled);
    }
    fake->reasons_result = 3;
    st_device_state now = read_once(&cuda_device);
    assert_int_equal(now.throttle_reasons, -1);
    assert_false(now.throttled);
}

static void each_unknown_stands_alone(void **state)
{
    (void)state;
    fake->temperature_result = 3;
    fake->power_result = 999;
    st_device_state now = read_once(&cuda_device);
    assert_int_equal(now.temperature_c, -1);
    assert_int_equal(now.power_mw, -1);
    assert_int_equal(now.sm_clock_mhz, 1980);
    fake->clock_result = 15;
    now = read_once(&cuda_device);
    assert_int_equal(now.sm_clock_mhz, -1);
    assert_int_equal(now.memory_clock_mhz, -1);
    assert_int_equal(now.throttle_reasons, 0);
}

static void nothing_to_ask(void **state)
{
    (void)state;
    st_device_facts emulated = {.backend = "emu", .uuid = "EMU-0"};
    st_device_state now = read_once(&emulated);
    assert_unknown(&now);
    assert_int_equal(fake->started, 0); // NVML is not even opened for it
    fake->knows_device = false;
    now = read_once(&cuda_device);
    assert_unknown(&now);
    st_nvml_close();
    assert_int_equal(fake->started, 0);
    fake->init_result = 18;
    now = read_once(&cuda_device);
    assert_unknown(&now);
    st_error error;
    assert_null(st_nvml_get(&error));
    assert_int_equal(error.code, ST_NOTHING);
    assert_non_null(strstr(error.what, "Driver/library version mismatch"));
    setenv("SIMTUNE_LIBNVML", "/nowhere/libnvidia-ml.so.1", 1);
    now = read_once(&cuda_device);
    assert_unknown(&now);
    st_monitor_read(NULL, &now);
    assert_unknown(&now);
    st_monitor_close(NULL);
}

// Clocks belong to the board, processes to the instance.
static void mig_instance(void **state)
{
    (void)state;
    st_device_facts device = {.backend = "cuda", .uuid = "MIG-0123", .is_mig = true};
    fake->mig = true;
    fake->process_count = 1;
    fake->pids[0] = (unsigned)getpid();
    st_device_state now = read_once(&device);
    assert_int_equal(now.sm_clock_mhz, 1980);
    assert_int_equal(now.temperature_c, 41);
    assert_int_equal(now.throttle_reasons, 0);
    assert_int_equal(now.other_processes, 0);
}

static void whose_processes(void **state)
{
    (void)state;
    // A child that runs this same program in this group is one of ours, and init is not.
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_true(child > 0);
    fake->process_count = 3;
    fake->pids[0] = (unsigned)getpid();
    fake->pids[1] = (unsigned)child;
    fake->pids[2] = 1;
    assert_int_equal(read_once(&cuda_device).other_processes, 1);
    // The same program started by somebody else is another tuner.
    assert_int_equal(setpgid(child, child), 0);
    assert_int_equal(read_once(&cuda_device).other_processes, 2);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    // More than fit the first list.
    fake->process_count = 200;
    for (unsigned i = 1; i < 200; i++)
        fake->pids[i] = 1;
    assert_int_equal(read_once(&cuda_device).other_processes, 199);
    fake->processes_result = 3;
    assert_int_equal(read_once(&cuda_device).other_processes, -1);
}

// Without ourselves in the list, its numbers can be trusted only in the first process namespace.
static void a_list_without_us(void **state)
{
    (void)state;
    char name[64] = "";
    ssize_t length = readlink("/proc/self/ns/pid", name, sizeof name - 1);
    bool first = length > 0 && strcmp(name, "pid:[4026531836]") == 0;
    fake->process_count = 1;
    fake->pids[0] = 1;
    assert_int_equal(read_once(&cuda_device).other_processes, first ? 1 : -1);
}

static void names_of_reasons(void **state)
{
    (void)state;
    const struct {
        int64_t reasons;
        const char *names;
    } cases[] = {
        {-1, "unknown"},
        {0, "none"},
        {0x1, "idle"},
        {0x44, "sw_power_cap, hw_thermal"},
        {0x1f8, "hw_slowdown, sync_boost, sw_thermal, hw_thermal, hw_power_brake, display_clocks"},
        {0x202, "application_clocks, reason_0x200"},
        {0x1000, "reason_0x1000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_text text;
        st_text_init(&text);
        st_throttle_names(cases[i].reasons, &text);
        assert_string_equal(st_text_string(&text), cases[i].names);
        st_text_release(&text);
    }
}

static void version_of_the_driver(void **state)
{
    (void)state;
    char version[32];
    st_nvml_driver_version(version);
    assert_string_equal(version, "580.95.05");
    // Without NVML the kernel module tells; without both it is unknown.
    char root[] = "/tmp/simtune-test-XXXXXX", path[128];
    assert_non_null(mkdtemp(root));
    st_nvml_close();
    setenv("SIMTUNE_LIBNVML", "/nowhere/libnvidia-ml.so.1", 1);
    st_machine_root = root;
    st_nvml_driver_version(version);
    assert_string_equal(version, "");
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/version", root);
    static const char words[] =
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  "
        "Release Build\nGCC version: 12.2\n";
    assert_int_equal(st_text_write_file(path, words, strlen(words), NULL, NULL), ST_OK);
    st_nvml_driver_version(version);
    assert_string_equal(version, "560.35.03");
    st_machine_root = "";
    assert_int_equal(unlink(path), 0);
    for (char *slash; (slash = strrchr(path, '/')) > path + strlen(root) - 1;) {
        *slash = '\0';
        rmdir(path);
    }
}

// Each NVML call fails in turn: a reading loses something and nothing else happens.
static void every_call_may_fail(void **state)
{
    (void)state;
    fake->process_count = 1;
    fake->pids[0] = (unsigned)getpid();
    fake->reasons = 0x4;
    unsigned long n = 1;
    for (;; n++) {
        st_nvml_close();
        st_fault_arm(ST_FAULT_DRIVER, n);
        st_device_state now = read_once(&cuda_device);
        bool injected = st_fault_injected(ST_FAULT_DRIVER);
        st_fault_arm(ST_FAULT_DRIVER, 0);
        int unknown = (now.sm_clock_mhz < 0) + (now.memory_clock_mhz < 0) +
                      (now.temperature_c < 0) + (now.power_mw < 0) + (now.throttle_reasons < 0) +
                      (now.other_processes < 0);
        if (!injected) {
            assert_int_equal(unknown, 0);
            break;
        }
        assert_true(unknown == 1 || unknown == 6);
    }
    assert_true(n > 7);
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    st_monitor *monitor;
    st_error error;
    assert_int_equal(st_monitor_open(&cuda_device, &monitor, &error), ST_NO_MEMORY);
    assert_null(monitor);
    st_fault_arm(ST_FAULT_ALLOCATION, 2); // the list of processes
    assert_int_equal(read_once(&cuda_device).other_processes, -1);
    st_fault_arm(ST_FAULT_ALLOCATION, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(readings, setup, teardown),
        cmocka_unit_test_setup_teardown(what_slows_is_throttling, setup, teardown),
        cmocka_unit_test_setup_teardown(each_unknown_stands_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_to_ask, setup, teardown),
        cmocka_unit_test_setup_teardown(mig_instance, setup, teardown),
        cmocka_unit_test_setup_teardown(whose_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_list_without_us, setup, teardown),
        cmocka_unit_test_setup_teardown(names_of_reasons, setup, teardown),
        cmocka_unit_test_setup_teardown(version_of_the_driver, setup, teardown),
        cmocka_unit_test_setup_teardown(every_call_may_fail, setup, teardown),
    };
    return cmocka_run_group_tests_name("monitor", tests, setup_all, NULL);
}
