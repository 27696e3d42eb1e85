// SPDX-License-Identifier: Apache-2.0
// The judgements on everything but libcuda itself (doctor_driver.c).
//
// Invariants: 1. pure: what they say depends on the facts given alone; 2. every warning and problem
// has a remedy; 3. a finding names what was found even when it is well.
#include "tuner/gpu/doctor.h"

#include "tuner/base/memory.h"
#include "tuner/gpu/driver_api.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *st_finding_state_name(st_finding_state state)
{
    static const char *const names[] = {"ok", "warning", "problem"};
    return names[state];
}

// --- lists ---------------------------------------------------------------------------------------
void st_findings_release(st_findings *findings)
{
    st_free(findings->items);
    *findings = (st_findings){0};
}

st_code st_findings_add(st_findings *findings, const st_doctor_finding *finding, st_error *error)
{
    st_doctor_finding *items = st_grow(findings->items, &findings->capacity, findings->count + 1,
                                sizeof *items);
    if (!items)
        return st_fail_memory(error, "listing the findings");
    findings->items = items;
    items[findings->count++] = *finding;
    return ST_OK;
}

st_finding_state st_findings_worst(const st_findings *findings)
{
    st_finding_state worst = ST_FINDING_OK;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].state > worst)
            worst = findings->items[i].state;
    return worst;
}

// --- one finding ---------------------------------------------------------------------------------
static void say(st_doctor_finding *out, st_finding_state state, const char *remedy, const char *format,
                ...) ST_PRINTF(4, 5);
static void say(st_doctor_finding *out, st_finding_state state, const char *remedy, const char *format,
                ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->message, sizeof out->message, format, arguments);
    va_end(arguments);
    snprintf(out->remedy, sizeof out->remedy, "%s", remedy);
    out->state = state;
}

static bool compiler_knows(const st_doctor_facts *facts, int cc)
{
    for (int i = 0; i < facts->nvrtc_arch_count; i++)
        if (facts->nvrtc_archs[i] == cc)
            return true;
    return false;
}

void st_doctor_device_finding(const st_doctor_facts *facts, int index, st_doctor_finding *out)
{
    const st_doctor_device *device = &facts->devices[index];
    const st_device_facts *known = &device->facts;
    *out = (st_doctor_finding){0};
    snprintf(out->part, sizeof out->part, "device %d", index);
    if (!device->readable) {
        say(out, ST_FINDING_PROBLEM,
            "see `nvidia-smi`; a GPU that fell off the bus needs a restart", "%s", device->error);
        return;
    }
    snprintf(out->version, sizeof out->version, "sm_%d", (int)known->cc);
    snprintf(out->where, sizeof out->where, "%s", known->pci);
    bool known_to_compiler = facts->nvrtc_arch_count == 0 || compiler_knows(facts, (int)known->cc);
    if (known->cc < 70)
        say(out, ST_FINDING_PROBLEM, "use a GPU of compute capability 7.0 (Volta) or later",
            "%s is older than what simtune's templates are written for", known->name);
    else if (!known_to_compiler && known->cc < facts->nvrtc_archs[0])
        say(out, ST_FINDING_PROBLEM,
            "install the NVRTC of an older CUDA: 12.9 is the last one that compiles for sm_70 and "
            "sm_72",
            "%s compiles nothing for the %s any more (sm_%d)", facts->nvrtc_version, known->name,
            (int)known->cc);
    else if (!known_to_compiler)
        say(out, ST_FINDING_PROBLEM, "install a newer NVRTC, of the driver's CUDA version",
            "%s does not know the %s (sm_%d)", facts->nvrtc_version, known->name, (int)known->cc);
    else if (device->virtualization == 2)
        say(out, ST_FINDING_WARNING,
            "times of a shared vGPU depend on its neighbours; for counters the host must set the "
            "plugin parameter enable_profiling=1 for this virtual machine",
            "%s is a vGPU", known->name);
    else if (known->is_mig)
        say(out, ST_FINDING_WARNING,
            "tune on the whole board (`sudo nvidia-smi -i … -mig 0`) unless the header is for this "
            "kind of instance",
            "%s is a MIG instance: results hold for instances of %d SMs, and clocks are shared",
            known->name, (int)known->sm_count);
    else if (device->mig_mode == 1)
        say(out, ST_FINDING_WARNING, "`nvidia-smi -L` lists the instances",
            "%s is in MIG mode: only its instances can be used", known->name);
    else
        say(out, ST_FINDING_OK, "", "%s, %d SMs, %s", known->name, (int)known->sm_count,
            known->uuid);
}

void st_doctor_nvrtc(const st_doctor_facts *facts, st_doctor_finding *out)
{
    *out = (st_doctor_finding){.part = "nvrtc"};
    snprintf(out->version, sizeof out->version, "%s", facts->nvrtc_version);
    memcpy(out->where, facts->nvrtc_path, sizeof out->where);
    if (!facts->nvrtc_found) {
        say(out, ST_FINDING_PROBLEM,
            facts->nvrtc_remedy[0] ? facts->nvrtc_remedy
                                   : "install NVRTC of the driver's CUDA version (pip: "
                                     "nvidia-cuda-nvrtc, distribution: cuda-nvrtc)",
            "%s", facts->nvrtc_error[0] ? facts->nvrtc_error : "NVRTC was not found");
        return;
    }
    char archs[256] = "";
    size_t at = 0;
    for (int i = 0; i < facts->nvrtc_arch_count && at < sizeof archs - 8; i++)
        at += (size_t)snprintf(archs + at, sizeof archs - at, " %d", facts->nvrtc_archs[i]);
    say(out, ST_FINDING_OK, "", "compiles for%s", archs[0] ? archs : " no known arch");
}

void st_doctor_nvml(const st_doctor_facts *facts, st_doctor_finding *out)
{
    *out = (st_doctor_finding){.part = "nvml"};
    memcpy(out->where, facts->nvml_path, sizeof out->where);
    memcpy(out->version, facts->nvml_version, sizeof out->version);
    if (facts->nvml_found)
        say(out, ST_FINDING_OK, "", "clocks, temperature and throttling can be read (driver %s)",
            facts->nvml_driver[0] ? facts->nvml_driver : "unknown");
    else
        say(out, ST_FINDING_WARNING,
            facts->machine.is_container
                ? "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility"
                : "install libnvidia-ml.so.1, which comes with the driver",
            "NVML is absent, so clocks, throttling and other processes on the GPU stay unknown: %s",
            facts->nvml_error);
}

void st_doctor_counters(const st_machine_facts *machine, st_doctor_finding *out)
{
    *out = (st_doctor_finding){.part = "counters", .where = "/proc/driver/nvidia/params"};
    if (machine->is_wsl) {
        out->where[0] = '\0';
        say(out, ST_FINDING_WARNING,
            "in Windows: NVIDIA Control Panel, Desktop, Enable Developer Settings, then Manage GPU "
            "Performance Counters: allow access to all users",
            "under WSL it is Windows that allows counters");
    } else if (machine->profiling_admin_only < 0) {
        say(out, ST_FINDING_WARNING, "load the NVIDIA module first",
            "the NVIDIA module does not say whether it allows counters");
    } else if (machine->profiling_admin_only == 0) {
        say(out, ST_FINDING_OK, "", "the NVIDIA module allows counters to all users");
    } else if (machine->may_administer) {
        say(out, ST_FINDING_OK, "",
            "the NVIDIA module allows counters to administrators, as we are");
    } else if (machine->is_container) {
        say(out, ST_FINDING_WARNING,
            "start the container with --cap-add=SYS_ADMIN, or allow all users on the host: "
            "`options nvidia NVreg_RestrictProfilingToAdminUsers=0` in its /etc/modprobe.d/, then "
            "restart it",
            "the NVIDIA module allows counters to administrators only, and this container has not "
            "CAP_SYS_ADMIN; tuning works, stalls stay unknown");
    } else {
        say(out, ST_FINDING_WARNING,
            "`echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | sudo tee "
            "/etc/modprobe.d/nvidia-counters.conf`, `sudo update-initramfs -u`, restart; or run "
            "simtune as root",
            "the NVIDIA module allows counters to administrators only; tuning works, stalls stay "
            "unknown");
    }
}

bool st_doctor_environment(const st_machine_facts *machine, st_doctor_finding *out)
{
    *out = (st_doctor_finding){.part = "environment"};
    if (machine->has_visible_devices) {
        say(out, ST_FINDING_WARNING, "unset CUDA_VISIBLE_DEVICES to see every GPU",
            "CUDA_VISIBLE_DEVICES=\"%s\": devices are counted among these only",
            machine->visible_devices);
        return true;
    }
    if (machine->is_wsl) {
        say(out, ST_FINDING_WARNING,
            "close what draws on the Windows desktop while tuning, or tune under Linux",
            "this is WSL: Windows shares the GPU, and launches cost more than under Linux");
        return true;
    }
    if (machine->is_container) {
        say(out, ST_FINDING_OK, "", "this is a %s container: other processes on the GPU may be "
                                    "invisible from here", machine->container);
        return true;
    }
    return false;
}

void st_doctor_folder(const char *part, const char *purpose, const st_folder_facts *folder,
                      st_doctor_finding *out)
{
    *out = (st_doctor_finding){0};
    snprintf(out->part, sizeof out->part, "%s", part);
    memcpy(out->where, folder->path, sizeof out->where);
    if (folder->usable)
        say(out, ST_FINDING_OK, "", "%s", purpose);
    else
        say(out, ST_FINDING_WARNING,
            strcmp(part, "cache") == 0
                ? "make it writable, or set XDG_CACHE_HOME to a folder that is"
                : "make it writable, or set SIMTUNE_RUNTIME to a folder that "
                  "all tuners of this machine share",
            "%s cannot be written: %s", folder->path[0] ? folder->path : "the folder",
            folder->error);
}

// --- all -----------------------------------------------------------------------------------------
st_code st_doctor_findings(const st_doctor_facts *facts, st_findings *out, st_error *error)
{
    st_doctor_finding finding;
    bool driver_works = st_doctor_driver(&facts->machine, &facts->driver, &finding) == ST_OK;
    st_code code = st_findings_add(out, &finding, error);
    for (int i = 0; i < facts->device_count && i < ST_DOCTOR_DEVICES && code == ST_OK; i++) {
        st_doctor_device_finding(facts, i, &finding);
        code = st_findings_add(out, &finding, error);
    }
    if (code == ST_OK) {
        st_doctor_nvrtc(facts, &finding);
        code = st_findings_add(out, &finding, error);
    }
    // Without a working driver these two would only repeat the driver's finding.
    if (code == ST_OK && driver_works) {
        st_doctor_nvml(facts, &finding);
        code = st_findings_add(out, &finding, error);
        if (code == ST_OK) {
            st_doctor_counters(&facts->machine, &finding);
            code = st_findings_add(out, &finding, error);
        }
    }
    if (code == ST_OK && st_doctor_environment(&facts->machine, &finding))
        code = st_findings_add(out, &finding, error);
    if (code == ST_OK) {
        st_doctor_folder("cache", "compiled kernels are kept here", &facts->cache, &finding);
        code = st_findings_add(out, &finding, error);
    }
    if (code == ST_OK) {
        st_doctor_folder("locks", "the locks of devices are kept here", &facts->runtime, &finding);
        code = st_findings_add(out, &finding, error);
    }
    return code;
}
