// SPDX-License-Identifier: Apache-2.0
// Each message of doctor from facts that are written down here, and the reading of a machine from a
// small tree of files: no GPU, no driver, no container is needed.
#include "tuner/base/memory.h"
#include "tuner/base/text.h"
#include "tuner/gpu/doctor.h"
#include "tuner/gpu/driver_api.h"
#include "tuner/gpu/nvml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

// --- the driver ----------------------------------------------------------------------------------
// Machines as they occur; what is not named is absent.
static const st_machine_facts nothing = {.profiling_admin_only = -1};
static const st_machine_facts healthy = {.device_nodes = 1, .has_control_node = true,
                                         .has_uvm_node = true, .pci_gpus = 1,
                                         .has_kernel_module = true, .kernel_module = "580.95.05",
                                         .profiling_admin_only = 1};
static const st_machine_facts no_driver = {.pci_gpus = 1, .profiling_admin_only = -1};
static const st_machine_facts nouveau = {.pci_gpus = 1, .nouveau = true};
static const st_machine_facts no_libraries = {.pci_gpus = 1, .device_nodes = 1,
                                              .has_kernel_module = true,
                                              .kernel_module = "580.95.05"};
static const st_machine_facts bare_container = {.is_container = true, .container = "docker",
                                                .pci_gpus = 1};
static const st_machine_facts host_container = {.is_container = true, .container = "kubernetes",
                                                .pci_gpus = 1, .has_kernel_module = true};
static const st_machine_facts wsl = {.is_wsl = true, .has_dxg = true};
static const st_machine_facts wsl_without = {.is_wsl = true};
static const st_machine_facts closed = {.device_nodes = 2, .closed_nodes = 2, .has_uvm_node = true,
                                        .closed_node = "/dev/nvidia0", .closed_group = "video",
                                        .pci_gpus = 2};
static const st_machine_facts closed_to_all = {.device_nodes = 1, .closed_nodes = 1,
                                               .closed_node = "/dev/nvidiactl",
                                               .closed_group = "root"};
static const st_machine_facts no_uvm = {.device_nodes = 1, .pci_gpus = 1};
static const st_machine_facts hidden = {.device_nodes = 1, .pci_gpus = 1, .has_uvm_node = true,
                                        .has_visible_devices = true, .visible_devices = ""};
static const st_machine_facts misnamed = {.device_nodes = 1, .pci_gpus = 1, .has_uvm_node = true,
                                          .has_visible_devices = true, .visible_devices = "7"};
static const st_machine_facts named_without = {.has_visible_devices = true, .visible_devices = "0"};

#define ABSENT {.version = -1, .init_result = -1, .tried = "libcuda.so.1: no such file"}
#define RESULT(r, n)                                                                               \
    {.found = true, .path = "/usr/lib/libcuda.so.1", .version = 13000, .init_result = r,           \
     .init_name = n, .init_text = "words"}

static const struct driver_case {
    const char *label;
    const st_machine_facts *machine;
    st_driver_probe driver;
    st_code code;
    const char *message, *remedy; // parts of them
} driver_cases[] = {
    {"works", &healthy, RESULT(0, ""), ST_OK, "works", ""},
    // absent
    {"nothing at all", &nothing, ABSENT, ST_NOTHING, "no NVIDIA GPU", "only to build"},
    {"no driver", &no_driver, ABSENT, ST_NOTHING, "no NVIDIA driver", "560"},
    {"nouveau", &nouveau, ABSENT, ST_NOTHING, "nouveau", "560"},
    {"module only", &no_libraries, ABSENT, ST_NOTHING, "580.95.05 is loaded", "libcuda1"},
    {"container", &bare_container, ABSENT, ST_NOTHING, "docker container", "--gpus all"},
    {"container on GPU host", &host_container, ABSENT, ST_NOTHING, "host has", "nvidia.com/gpu"},
    {"wsl", &wsl, ABSENT, ST_NOTHING, "WSL", "on Windows"},
    {"wished",
     &healthy,
     {.is_wished = true, .version = -1, .init_result = -1, .tried = "/x/y cannot be opened"},
     ST_FAILED,
     "/x/y",
     "SIMTUNE_LIBCUDA"},
    // unfit
    {"stub by path",
     &nothing,
     {.found = true,
      .path = "/usr/local/cuda/lib64/stubs/libcuda.so.1",
      .version = 13000,
      .init_result = 34},
     ST_NOTHING,
     "stub",
     "LD_LIBRARY_PATH"},
    {"stub by code", &healthy, RESULT(34, "CUDA_ERROR_STUB_LIBRARY"), ST_NOTHING, "stub",
     "LD_LIBRARY_PATH"},
    {"lacks a function",
     &healthy,
     {.found = true,
      .path = "/l/libcuda.so.1",
      .missing = "cuLaunchKernelEx",
      .version = -1,
      .init_result = -1},
     ST_FAILED,
     "no cuLaunchKernelEx",
     "560"},
    {"too old",
     &healthy,
     {.found = true, .path = "/l/libcuda.so.1", .version = 12040, .init_result = -1},
     ST_FAILED,
     "supports CUDA 12.4",
     "560"},
    {"too old in wsl",
     &wsl,
     {.found = true, .path = "/l/libcuda.so.1", .version = 12040, .init_result = -1},
     ST_FAILED,
     "12.6",
     "Windows"},
    // does not start: codes that mean one thing
    {"no memory", &healthy, RESULT(2, "OOM"), ST_FAILED, "host memory", "ulimit"},
    {"unavailable", &healthy, RESULT(46, "UNAVAILABLE"), ST_FAILED, "exclusive", "nvidia-smi -c"},
    {"invalid device", &healthy, RESULT(101, "INVALID"), ST_FAILED, "MIG", "nvidia-smi -L"},
    {"not licensed", &healthy, RESULT(102, "LICENSED"), ST_FAILED, "licence", "administrator"},
    {"fabric manager", &healthy, RESULT(802, "NOT_READY"), ST_FAILED, "fabric manager",
     "nvidia-fabricmanager"},
    {"mismatch", &healthy, RESULT(803, "MISMATCH"), ST_FAILED,
     "/usr/lib/libcuda.so.1 against module 580.95.05", "restart"},
    {"compat", &healthy, RESULT(804, "COMPAT"), ST_FAILED, "forward-compat", "compat"},
    {"mps gone", &healthy, RESULT(805, "MPS"), ST_FAILED, "MPS", "CUDA_MPS_PIPE_DIRECTORY"},
    {"mps failed", &healthy, RESULT(806, "MPS"), ST_FAILED, "MPS server failed", "quit"},
    {"mps early", &healthy, RESULT(807, "MPS"), ST_FAILED, "not ready", "again"},
    {"mps full", &healthy, RESULT(808, "MPS"), ST_FAILED, "no room", "end another"},
    {"mps device full", &healthy, RESULT(809, "MPS"), ST_FAILED, "no room", "end another"},
    {"mismatch, no GPU", &nothing, RESULT(803, "MISMATCH"), ST_NOTHING, "versions", "restart"},
    // … and codes that mean what the machine shows
    {"no device at all", &nothing, RESULT(100, "NO_DEVICE"), ST_NOTHING, "has no NVIDIA GPU",
     "build"},
    {"hidden", &hidden, RESULT(100, "NO_DEVICE"), ST_NOTHING, "CUDA_VISIBLE_DEVICES=\"\"", "unset"},
    {"misnamed", &misnamed, RESULT(100, "NO_DEVICE"), ST_FAILED, "CUDA_VISIBLE_DEVICES=\"7\"",
     "-L"},
    {"named, no GPU", &named_without, RESULT(100, "NO_DEVICE"), ST_NOTHING, "has no NVIDIA GPU",
     "build"},
    {"container, no device", &bare_container, RESULT(100, "NO_DEVICE"), ST_NOTHING,
     "not given a GPU", "--gpus all"},
    {"closed", &closed, RESULT(100, "NO_DEVICE"), ST_FAILED, "/dev/nvidia0 may not be opened",
     "-aG video"},
    {"closed to all", &closed_to_all, RESULT(304, "OPERATING_SYSTEM"), ST_FAILED,
     "/dev/nvidiactl may not", "chmod"},
    {"not loaded", &no_driver, RESULT(999, "UNKNOWN"), ST_FAILED, "not loaded", "modprobe nvidia"},
    {"nouveau holds it", &nouveau, RESULT(100, "NO_DEVICE"), ST_FAILED, "nouveau", "blacklist"},
    {"no uvm", &no_uvm, RESULT(999, "UNKNOWN"), ST_FAILED, "/dev/nvidia-uvm", "nvidia-modprobe -u"},
    {"wsl without GPU", &wsl_without, RESULT(100, "NO_DEVICE"), ST_NOTHING, "/dev/dxg", "Windows"},
    {"wsl, unknown", &wsl, RESULT(999, "UNKNOWN"), ST_FAILED, "UNKNOWN: words", "restart"},
    {"unknown", &healthy, RESULT(999, "UNKNOWN"), ST_FAILED, "UNKNOWN: words", "dmesg"},
    {"never seen", &healthy, RESULT(4711, "NEW"), ST_FAILED, "NEW: words", "dmesg"},
};

static void expect(const char *label, const st_doctor_finding *finding, const char *message,
                   const char *remedy)
{
    if (!strstr(finding->message, message) || !strstr(finding->remedy, remedy)) {
        print_message("%s: “%s” / “%s”\n", label, finding->message, finding->remedy);
        fail();
    }
    // Every warning and problem says what to do; no text was cut off.
    assert_true(finding->state == ST_FINDING_OK || finding->remedy[0]);
    assert_true(strlen(finding->message) + 1 < sizeof finding->message);
    assert_true(strlen(finding->remedy) + 1 < sizeof finding->remedy);
    assert_true(finding->message[0]);
}

static void driver_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof driver_cases / sizeof driver_cases[0]; i++) {
        const struct driver_case *c = &driver_cases[i];
        st_doctor_finding finding;
        st_code code = st_doctor_driver(c->machine, &c->driver, &finding);
        if (code != c->code)
            print_message("%s: %s\n", c->label, finding.message);
        assert_int_equal(code, c->code);
        assert_int_equal(finding.state, code == ST_OK ? ST_FINDING_OK : ST_FINDING_PROBLEM);
        assert_string_equal(finding.part, "driver");
        expect(c->label, &finding, c->message, c->remedy);
    }
    st_doctor_finding finding;
    st_doctor_driver(&healthy, &(st_driver_probe)RESULT(0, ""), &finding);
    assert_string_equal(finding.version, "CUDA 13.0, 580.95.05");
    assert_string_equal(finding.where, "/usr/lib/libcuda.so.1");
}

// Messages hold long paths without being cut in the middle of what matters.
static void long_paths(void **state)
{
    (void)state;
    st_driver_probe driver = RESULT(803, "MISMATCH");
    memset(driver.path, 'p', sizeof driver.path - 1);
    st_doctor_finding finding;
    st_doctor_driver(&healthy, &driver, &finding);
    assert_non_null(strstr(finding.message, "MISMATCH"));
    driver = (st_driver_probe)ABSENT;
    memset(driver.tried, 't', sizeof driver.tried - 1);
    st_doctor_driver(&no_libraries, &driver, &finding);
    assert_non_null(strstr(finding.message, "ttt)"));
}

// --- devices, compiler, NVML ---------------------------------------------------------------------
static st_doctor_facts *new_facts(void)
{
    st_doctor_facts *facts = calloc(1, sizeof *facts);
    assert_non_null(facts);
    facts->machine = healthy;
    facts->driver = (st_driver_probe)RESULT(0, "");
    facts->device_count = 1;
    facts->devices[0] = (st_doctor_device){
        .facts = {.name = "NVIDIA H200", .uuid = "GPU-1", .pci = "0000:05:00.0", .cc = 90,
                  .sm_count = 132},
        .readable = true, .virtualization = 0, .mig_mode = 0};
    facts->nvrtc_found = true;
    snprintf(facts->nvrtc_version, sizeof facts->nvrtc_version, "nvrtc 13.0");
    snprintf(facts->nvrtc_path, sizeof facts->nvrtc_path, "/usr/lib/libnvrtc.so.13");
    const int archs[] = {75, 80, 90, 100};
    memcpy(facts->nvrtc_archs, archs, sizeof archs);
    facts->nvrtc_arch_count = 4;
    facts->nvml_found = true;
    facts->cache.usable = facts->runtime.usable = true;
    return facts;
}

static void device_messages(void **state)
{
    (void)state;
    st_doctor_facts *facts = new_facts();
    st_doctor_device *device = &facts->devices[0];
    const st_doctor_device well = *device;
    st_doctor_finding finding;
    st_doctor_device_finding(facts, 0, &finding);
    assert_int_equal(finding.state, ST_FINDING_OK);
    assert_string_equal(finding.part, "device 0");
    assert_string_equal(finding.version, "sm_90");
    assert_string_equal(finding.where, "0000:05:00.0");
    expect("well", &finding, "NVIDIA H200, 132 SMs, GPU-1", "");

    device->facts.cc = 61;
    st_doctor_device_finding(facts, 0, &finding);
    assert_int_equal(finding.state, ST_FINDING_PROBLEM);
    expect("pascal", &finding, "older than", "7.0");
    device->facts.cc = 70;
    st_doctor_device_finding(facts, 0, &finding);
    assert_int_equal(finding.state, ST_FINDING_PROBLEM);
    expect("volta", &finding, "nvrtc 13.0 compiles nothing", "12.9");
    device->facts.cc = 120;
    st_doctor_device_finding(facts, 0, &finding);
    assert_int_equal(finding.state, ST_FINDING_PROBLEM);
    expect("newer", &finding, "does not know", "newer NVRTC");
    facts->nvrtc_arch_count = 0; // archs unknown: nothing is claimed
    st_doctor_device_finding(facts, 0, &finding);
    assert_int_equal(finding.state, ST_FINDING_OK);
    *device = well;
    device->virtualization = 2;
    st_doctor_device_finding(facts, 0, &finding);
    assert_int_equal(finding.state, ST_FINDING_WARNING);
    expect("vgpu", &finding, "vGPU", "enable_profiling=1");
    *device = well;
    device->virtualization = 1; // passed through whole: like bare metal
    st_doctor_device_finding(facts, 0, &finding);
    assert_int_equal(finding.state, ST_FINDING_OK);
    device->facts.is_mig = true;
    st_doctor_device_finding(facts, 0, &finding);
    assert_int_equal(finding.state, ST_FINDING_WARNING);
    expect("mig", &finding, "MIG instance", "-mig 0");
    *device = well;
    device->mig_mode = 1;
    st_doctor_device_finding(facts, 0, &finding);
    expect("mig mode", &finding, "MIG mode", "nvidia-smi -L");
    device->readable = false;
    snprintf(device->error, sizeof device->error, "cuDeviceGetName: lost");
    st_doctor_device_finding(facts, 0, &finding);
    assert_int_equal(finding.state, ST_FINDING_PROBLEM);
    expect("unreadable", &finding, "cuDeviceGetName: lost", "nvidia-smi");
    free(facts);
}

static void compiler_and_nvml_messages(void **state)
{
    (void)state;
    st_doctor_facts *facts = new_facts();
    st_doctor_finding finding;
    st_doctor_nvrtc(facts, &finding);
    assert_int_equal(finding.state, ST_FINDING_OK);
    expect("nvrtc", &finding, "compiles for 75 80 90 100", "");
    assert_string_equal(finding.where, "/usr/lib/libnvrtc.so.13");
    facts->nvrtc_found = false;
    facts->nvrtc_arch_count = 0;
    st_doctor_nvrtc(facts, &finding);
    assert_int_equal(finding.state, ST_FINDING_PROBLEM);
    expect("no nvrtc", &finding, "not found", "nvidia-cuda-nvrtc");
    snprintf(facts->nvrtc_error, sizeof facts->nvrtc_error, "libnvrtc.so.12 lacks X");
    snprintf(facts->nvrtc_remedy, sizeof facts->nvrtc_remedy, "do Y");
    st_doctor_nvrtc(facts, &finding);
    expect("its own words", &finding, "lacks X", "do Y");

    snprintf(facts->nvml_driver, sizeof facts->nvml_driver, "580.95.05");
    st_doctor_nvml(facts, &finding);
    assert_int_equal(finding.state, ST_FINDING_OK);
    expect("nvml", &finding, "580.95.05", "");
    facts->nvml_found = false;
    snprintf(facts->nvml_error, sizeof facts->nvml_error, "libnvidia-ml.so.1: no");
    st_doctor_nvml(facts, &finding);
    assert_int_equal(finding.state, ST_FINDING_WARNING); // tuning works without
    expect("no nvml", &finding, "libnvidia-ml.so.1: no", "with the driver");
    facts->machine.is_container = true;
    st_doctor_nvml(facts, &finding);
    expect("no nvml in a container", &finding, "absent", "NVIDIA_DRIVER_CAPABILITIES");
    free(facts);
}

static void counter_messages(void **state)
{
    (void)state;
    const struct {
        const char *label;
        st_machine_facts machine;
        st_finding_state state;
        const char *message, *remedy;
    } cases[] = {
        {"all", {.profiling_admin_only = 0}, ST_FINDING_OK, "all users", ""},
        {"root",
         {.profiling_admin_only = 1, .may_administer = true},
         ST_FINDING_OK,
         "as we are",
         ""},
        {"denied",
         {.profiling_admin_only = 1},
         ST_FINDING_WARNING,
         "administrators only",
         "NVreg_RestrictProfilingToAdminUsers=0"},
        {"container",
         {.profiling_admin_only = 1, .is_container = true},
         ST_FINDING_WARNING,
         "CAP_SYS_ADMIN",
         "--cap-add=SYS_ADMIN"},
        {"wsl",
         {.profiling_admin_only = -1, .is_wsl = true},
         ST_FINDING_WARNING,
         "Windows",
         "Control Panel"},
        {"unknown", {.profiling_admin_only = -1}, ST_FINDING_WARNING, "does not say", "module"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_doctor_finding finding;
        st_doctor_counters(&cases[i].machine, &finding);
        assert_int_equal(finding.state, cases[i].state);
        expect(cases[i].label, &finding, cases[i].message, cases[i].remedy);
    }
}

static void environment_and_folders(void **state)
{
    (void)state;
    st_doctor_finding finding;
    assert_false(st_doctor_environment(&healthy, &finding));
    assert_true(st_doctor_environment(&wsl, &finding));
    expect("wsl", &finding, "WSL", "desktop");
    assert_true(st_doctor_environment(&bare_container, &finding));
    assert_int_equal(finding.state, ST_FINDING_OK);
    expect("container", &finding, "docker", "");
    assert_true(st_doctor_environment(&misnamed, &finding));
    expect("visible", &finding, "CUDA_VISIBLE_DEVICES=\"7\"", "unset");

    st_folder_facts folder = {.path = "/c", .usable = true};
    st_doctor_folder("cache", "kept here", &folder, &finding);
    assert_int_equal(finding.state, ST_FINDING_OK);
    assert_string_equal(finding.where, "/c");
    folder.usable = false;
    snprintf(folder.error, sizeof folder.error, "Read-only file system");
    st_doctor_folder("cache", "kept here", &folder, &finding);
    assert_int_equal(finding.state, ST_FINDING_WARNING);
    expect("cache", &finding, "/c cannot be written: Read-only", "XDG_CACHE_HOME");
    st_doctor_folder("locks", "kept here", &folder, &finding);
    expect("locks", &finding, "/c cannot", "SIMTUNE_RUNTIME");
}

// --- the list ------------------------------------------------------------------------------------
static bool has_part(const st_findings *findings, const char *part)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].part, part) == 0)
            return true;
    return false;
}

static void list_of_findings(void **state)
{
    (void)state;
    st_doctor_facts *facts = new_facts();
    st_findings findings = {0};
    assert_int_equal(st_doctor_findings(facts, &findings, NULL), ST_OK);
    const char *parts[] = {"driver", "device 0", "nvrtc", "nvml", "counters", "cache", "locks"};
    assert_int_equal(findings.count, 7);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(findings.items[i].part, parts[i]);
    assert_int_equal(st_findings_worst(&findings), ST_FINDING_WARNING); // counters
    st_findings_release(&findings);
    assert_int_equal(st_findings_worst(&findings), ST_FINDING_OK);

    // Without a driver the others would only repeat it.
    facts->machine = nothing;
    facts->driver = (st_driver_probe)ABSENT;
    facts->device_count = 0;
    assert_int_equal(st_doctor_findings(facts, &findings, NULL), ST_OK);
    assert_false(has_part(&findings, "nvml"));
    assert_false(has_part(&findings, "counters"));
    assert_true(has_part(&findings, "nvrtc"));
    assert_int_equal(st_findings_worst(&findings), ST_FINDING_PROBLEM);
    st_findings_release(&findings);

    facts->device_count = 1;
    for (unsigned long n = 1;; n++) {
        st_error error;
        st_error_clear(&error);
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_doctor_findings(facts, &findings, &error);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        st_findings_release(&findings);
        assert_int_equal(code, injected ? ST_NO_MEMORY : ST_OK);
        if (!injected)
            break;
    }
    free(facts);
    assert_string_equal(st_finding_state_name(ST_FINDING_WARNING), "warning");
}

// --- the machine ---------------------------------------------------------------------------------
static char root[64];

static int make_root(void **state)
{
    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    snprintf(root, sizeof root, "/tmp/simtune-test-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void put(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s%s", root, path);
    assert_int_equal(st_text_write_file(full, text, strlen(text), NULL, NULL), ST_OK);
}

static void empty_machine(void **state)
{
    (void)state;
    st_machine_facts facts;
    st_machine_read(root, &facts);
    assert_int_equal(facts.device_nodes, 0);
    assert_int_equal(facts.pci_gpus, -1); // no bus to look at is not "none"
    assert_int_equal(facts.profiling_admin_only, -1);
    assert_false(facts.is_wsl || facts.is_container || facts.has_kernel_module || facts.nouveau ||
                 facts.may_administer || facts.has_visible_devices);
    assert_string_equal(facts.kernel_module, "");
    assert_false(st_machine_has_gpu(&facts));
}

static void machine_with_gpus(void **state)
{
    (void)state;
    put("/dev/nvidia0", "");
    put("/dev/nvidia12", "");
    put("/dev/nvidia-caps", "");
    put("/dev/nvidiactl", "");
    put("/dev/nvidia-uvm", "");
    put("/dev/nvidia1x", "");
    put("/sys/bus/pci/devices/0000:05:00.0/vendor", "0x10de\n");
    put("/sys/bus/pci/devices/0000:05:00.0/class", "0x030200\n");
    put("/sys/bus/pci/devices/0000:05:00.1/vendor", "0x10de\n"); // its sound
    put("/sys/bus/pci/devices/0000:05:00.1/class", "0x040300\n");
    put("/sys/bus/pci/devices/0000:06:00.0/vendor", "0x1a03\n"); // another maker's display
    put("/sys/bus/pci/devices/0000:06:00.0/class", "0x030000\n");
    put("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  "
                                       "Tue Sep 23 2025\nGCC version: 12\n");
    put("/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n");
    put("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
    put("/proc/sys/kernel/osrelease", "6.8.0-generic\n");
    setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
    st_machine_facts facts;
    st_machine_read(root, &facts);
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_int_equal(facts.device_nodes, 2);
    assert_int_equal(facts.closed_nodes, 0);
    assert_true(facts.has_control_node && facts.has_uvm_node);
    assert_int_equal(facts.pci_gpus, 1);
    assert_true(facts.has_kernel_module);
    assert_string_equal(facts.kernel_module, "580.95.05");
    assert_int_equal(facts.profiling_admin_only, 1);
    assert_true(facts.may_administer);
    assert_true(facts.has_visible_devices);
    assert_string_equal(facts.visible_devices, "0,1");
    assert_false(facts.is_wsl || facts.is_container);
    assert_true(st_machine_has_gpu(&facts));
    put("/proc/self/status", "CapEff:\t00000000a80425fb\n"); // root in a plain container
    put("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
    st_machine_read(root, &facts);
    assert_false(facts.may_administer);
    assert_int_equal(facts.profiling_admin_only, 0);
}

static void closed_device_nodes(void **state)
{
    (void)state;
    put("/dev/nvidia0", "");
    char full[256];
    snprintf(full, sizeof full, "%s/dev/nvidia0", root);
    assert_int_equal(chmod(full, 0), 0);
    st_machine_facts facts;
    st_machine_read(root, &facts);
    // Root opens everything: then there is nothing closed to see.
    assert_int_equal(facts.closed_nodes, geteuid() == 0 ? 0 : 1);
    if (facts.closed_nodes)
        assert_string_equal(facts.closed_node, "/dev/nvidia0");
}

static void kinds_of_machine(void **state)
{
    (void)state;
    const struct {
        const char *path, *text, *container;
        bool is_wsl;
    } cases[] = {
        {"/.dockerenv", "", "docker", false},
        {"/run/.containerenv", "", "podman", false},
        {"/proc/1/cgroup", "0::/kubepods.slice/x\n", "kubernetes", false},
        {"/proc/1/cgroup", "12:cpu:/docker/abc\n", "docker", false},
        {"/proc/1/cgroup", "0::/lxc/web\n", "lxc", false},
        {"/proc/1/cgroup", "0::/init.scope\n", "", false},
        {"/proc/self/mounts", "overlay / overlay rw 0 0\n", "container", false},
        {"/proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\n", "", false},
        {"/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n", "", true},
        {"/dev/dxg", "", "", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put(cases[i].path, cases[i].text);
        st_machine_facts facts;
        st_machine_read(root, &facts);
        assert_string_equal(facts.container, cases[i].container);
        assert_int_equal(facts.is_container, cases[i].container[0] != '\0');
        assert_int_equal(facts.is_wsl, cases[i].is_wsl);
        char full[256];
        snprintf(full, sizeof full, "%s%s", root, cases[i].path);
        assert_int_equal(unlink(full), 0);
    }
}

// The whole, over a counterfeit driver and NVML and an empty machine.
static void gathering(void **state)
{
    (void)state;
    char folder[128];
    setenv("SIMTUNE_LIBCUDA", FAKE_CUDA, 1);
    setenv("SIMTUNE_LIBNVML", FAKE_NVML, 1);
    snprintf(folder, sizeof folder, "%s/cache", root);
    setenv("XDG_CACHE_HOME", folder, 1);
    put("/file", "");
    snprintf(folder, sizeof folder, "%s/file/locks", root); // cannot be made: under a file
    setenv("SIMTUNE_RUNTIME", folder, 1);
    st_machine_root = root;
    st_doctor_facts *facts = malloc(sizeof *facts);
    assert_non_null(facts);
    st_doctor_gather(facts);
    assert_true(facts->driver.found);
    assert_int_equal(facts->driver.init_result, 0);
    assert_string_equal(facts->driver.path, FAKE_CUDA);
    assert_int_equal(facts->device_count, 1);
    assert_true(facts->devices[0].readable);
    assert_string_equal(facts->devices[0].facts.name, "Counterfeit 0");
    assert_int_equal(facts->devices[0].virtualization, 0);
    assert_int_equal(facts->devices[0].mig_mode, 0);
    assert_true(facts->nvml_found);
    assert_string_equal(facts->nvml_path, FAKE_NVML);
    assert_string_equal(facts->nvml_version, "13.580.95.05");
    assert_true(facts->cache.usable);
    assert_false(facts->runtime.usable);
    assert_true(facts->runtime.error[0]);
    assert_int_equal(facts->nvrtc_found, facts->nvrtc_path[0] != '\0'); // as this machine has it
    free(facts);
    st_nvml_close();
    st_driver_close();
    st_machine_root = "";
    unsetenv("XDG_CACHE_HOME");
    unsetenv("SIMTUNE_RUNTIME");
}

// A container sees the host's bus, which does not make its GPU ours.
static void bus_of_the_host(void **state)
{
    (void)state;
    assert_false(st_machine_has_gpu(&bare_container));
    assert_true(st_machine_has_gpu(&no_driver));
    assert_true(st_machine_has_gpu(&wsl));
    assert_false(st_machine_has_gpu(&wsl_without));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(driver_messages),
        cmocka_unit_test(long_paths),
        cmocka_unit_test(device_messages),
        cmocka_unit_test(compiler_and_nvml_messages),
        cmocka_unit_test(counter_messages),
        cmocka_unit_test(environment_and_folders),
        cmocka_unit_test(list_of_findings),
        cmocka_unit_test_setup_teardown(empty_machine, make_root, remove_root),
        cmocka_unit_test_setup_teardown(machine_with_gpus, make_root, remove_root),
        cmocka_unit_test_setup_teardown(closed_device_nodes, make_root, remove_root),
        cmocka_unit_test_setup_teardown(kinds_of_machine, make_root, remove_root),
        cmocka_unit_test_setup_teardown(gathering, make_root, remove_root),
        cmocka_unit_test(bus_of_the_host),
    };
    return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
