// SPDX-License-Identifier: Apache-2.0
// The judgement on libcuda: absent, too old, or why it does not start.
//
// Invariants: 1. pure: the answer depends on the arguments alone; 2. the machine's own signs
// (device nodes, modules, container) come before the driver's code where the code is known to be
// vague (no device, unknown, operating system); 3. ST_NOTHING only where no GPU was meant for this
// process.
#include "tuner/gpu/driver_api.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define UPDATE_DRIVER                                                                              \
    "install driver 560 or later (https://www.nvidia.com/drivers, or the "                         \
    "distribution's nvidia-driver package) and restart the machine"
#define GIVE_CONTAINER                                                                             \
    "start the container with `--gpus all` (Docker), `--device nvidia.com/gpu=all` (Podman) or a " \
    "limit of nvidia.com/gpu (Kubernetes); the host needs the NVIDIA Container Toolkit"
#define ON_WINDOWS                                                                                 \
    "install the NVIDIA driver on Windows (none inside WSL), run `wsl --update`, then `wsl "       \
    "--shutdown`"

static st_code judge(st_doctor_finding *out, st_code code, const char *remedy, const char *format, ...)
    ST_PRINTF(4, 5);
static st_code judge(st_doctor_finding *out, st_code code, const char *remedy, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->message, sizeof out->message, format, arguments);
    va_end(arguments);
    snprintf(out->remedy, sizeof out->remedy, "%s", remedy);
    out->state = code == ST_OK ? ST_FINDING_OK : ST_FINDING_PROBLEM;
    return code;
}

// --- no library ----------------------------------------------------------------------------------
static st_code judge_absent(const st_machine_facts *machine, const st_driver_probe *driver,
                            st_doctor_finding *out)
{
    if (driver->is_wished)
        return judge(out, ST_FAILED, "unset SIMTUNE_LIBCUDA, or let it name a libcuda.so.1",
                     "the libcuda that SIMTUNE_LIBCUDA names: %s", driver->tried);
    if (machine->is_wsl)
        return judge(
            out, ST_NOTHING, ON_WINDOWS,
            "WSL has no /usr/lib/wsl/lib/libcuda.so.1: Windows has no NVIDIA driver, or WSL "
            "is older than it");
    if (machine->is_container)
        return judge(out, ST_NOTHING, GIVE_CONTAINER,
                     "no libcuda.so.1 in this %s container: it was not given a GPU%s",
                     machine->container,
                     machine->has_kernel_module ? " (the host has an NVIDIA driver)" : "");
    if (machine->has_kernel_module)
        return judge(
            out, ST_NOTHING,
            "install the driver's compute libraries of the same version (Debian: libcuda1, "
            "Ubuntu: libnvidia-compute-…, Fedora: nvidia-driver-cuda)",
            "the NVIDIA kernel module %s is loaded, but libcuda.so.1 cannot be opened (%.400s)",
            machine->kernel_module, driver->tried);
    if (machine->pci_gpus > 0)
        return judge(out, ST_NOTHING, UPDATE_DRIVER,
                     "this machine has an NVIDIA GPU but no NVIDIA driver%s",
                     machine->nouveau ? " (nouveau drives it, which cannot run CUDA)" : "");
    return judge(
        out, ST_NOTHING,
        "nothing to do if this machine is only to build; to tune, use one with an NVIDIA GPU "
        "and its driver",
        "this machine has no NVIDIA GPU and no NVIDIA driver (libcuda.so.1 was not found)");
}

// --- cuInit failed -------------------------------------------------------------------------------
typedef struct init_row {
    int result;
    const char *message;
    const char *remedy;
} init_row;

// Codes that mean one thing whatever the machine looks like. To add one: a row, a case in
// test_doctor.c.
static const init_row init_rows[] = {
    {2, "the driver ran out of host memory while starting",
     "free memory, or lift the limit on virtual memory (`ulimit -v unlimited`)"},
    {34, "this libcuda is the toolkit's link-time stub, not a driver",
     "take …/stubs out of LD_LIBRARY_PATH; " UPDATE_DRIVER},
    {46, "the GPU is unavailable: another process holds it in exclusive mode, or it needs a reset",
     "see `nvidia-smi`; end the other process, or `sudo nvidia-smi -c DEFAULT`"},
    {101,
     "the driver refuses the device: CUDA_VISIBLE_DEVICES names one that is not there, or MIG "
     "mode is on without an instance",
     "check CUDA_VISIBLE_DEVICES against `nvidia-smi -L`; with MIG, make one by `sudo "
     "nvidia-smi mig -cgi … -C`"},
    {102, "the vGPU of this virtual machine has no licence",
     "have the administrator license it (`nvidia-smi -q | grep License`)"},
    {802,
     "the system is not ready: the fabric manager that joins the NVLink switches is not running",
     "`sudo systemctl start nvidia-fabricmanager` (of exactly the driver's version), then look at "
     "`nvidia-smi -q | grep -A2 Fabric`"},
    {803, "libcuda and the loaded kernel module are of different versions",
     "restart the machine after a driver update; in a container, remove the image's own libcuda or "
     "cuda-compat"},
    {804, "this libcuda is a forward-compatibility package, which this GPU does not support",
     "take …/cuda/compat out of LD_LIBRARY_PATH, or install a newer driver"},
    {805, "the MPS control daemon cannot be reached",
     "start it (`nvidia-cuda-mps-control -d`), or unset CUDA_MPS_PIPE_DIRECTORY"},
    {806, "the MPS server failed", "restart it: `echo quit | nvidia-cuda-mps-control`"},
    {807, "the MPS server is not ready for a new client", "wait a moment and try again"},
    {808, "the MPS server has no room for another client", "end another client of this GPU"},
    {809, "the device has no room for another MPS connection", "end another client of this GPU"},
};

static bool hidden_on_purpose(const st_machine_facts *machine)
{
    return machine->has_visible_devices && (machine->visible_devices[0] == '\0' ||
                                            machine->visible_devices[0] == '-' ||
                                            strcmp(machine->visible_devices, "NoDevFiles") == 0);
}

static st_code judge_closed_node(const st_machine_facts *machine, const char *name,
                                 st_doctor_finding *out)
{
    char remedy[sizeof out->remedy];
    if (machine->closed_group[0] && strcmp(machine->closed_group, "root") != 0)
        snprintf(remedy, sizeof remedy,
                 "join its group: `sudo usermod -aG %s $USER`, then log in again; in a batch job, "
                 "ask for the GPU",
                 machine->closed_group);
    else
        snprintf(remedy, sizeof remedy,
                 "have it opened to users (`sudo chmod a+rw /dev/nvidia*`, or the module's option "
                 "NVreg_DeviceFileMode=0666); in a batch job, ask for the GPU");
    return judge(out, ST_FAILED, remedy, "%s may not be opened by this user (%s)",
                 machine->closed_node, name);
}

static st_code judge_no_node(const st_machine_facts *machine, const char *name, st_doctor_finding *out)
{
    if (machine->is_container)
        return judge(out, ST_NOTHING, GIVE_CONTAINER,
                     "this %s container was not given a GPU: there is no /dev/nvidia0 (%s)",
                     machine->container, name);
    if (machine->pci_gpus > 0 && machine->nouveau)
        return judge(out, ST_FAILED,
                     "keep nouveau away (`blacklist nouveau` in /etc/modprobe.d/, then `sudo "
                     "update-initramfs -u`) and restart",
                     "nouveau holds the GPU, so the NVIDIA module is not loaded (%s)", name);
    if (machine->pci_gpus > 0)
        return judge(out, ST_FAILED,
                     "`sudo modprobe nvidia && sudo nvidia-modprobe -u -c 0`; if that fails, `sudo "
                     "dmesg | grep -i nvrm` tells why (Secure Boot, or a module built for another "
                     "kernel)",
                     "there is a GPU but no /dev/nvidia0: the NVIDIA module is not loaded (%s)",
                     name);
    return judge(out, ST_NOTHING, "nothing to do if this machine is only to build",
                 "a driver is installed, but this machine has no NVIDIA GPU (%s)", name);
}

// The vague codes: what the machine itself shows is more certain than the driver's word.
static st_code judge_by_machine(const st_machine_facts *machine, const st_driver_probe *driver,
                                st_doctor_finding *out)
{
    const char *name = driver->init_name;
    if (machine->has_visible_devices && driver->init_result == 100 &&
        (hidden_on_purpose(machine) || st_machine_has_gpu(machine)))
        return judge(out, hidden_on_purpose(machine) ? ST_NOTHING : ST_FAILED,
                     "unset CUDA_VISIBLE_DEVICES, or set it to a device of `nvidia-smi -L`",
                     "CUDA_VISIBLE_DEVICES=\"%s\" leaves no GPU visible (%s)",
                     machine->visible_devices, name);
    if (machine->closed_nodes > 0)
        return judge_closed_node(machine, name, out);
    if (machine->is_wsl && !machine->has_dxg)
        return judge(out, ST_NOTHING, ON_WINDOWS, "WSL has no GPU: /dev/dxg is absent (%s)", name);
    if (machine->device_nodes == 0 && !machine->has_dxg)
        return judge_no_node(machine, name, out);
    if (!machine->is_wsl && !machine->has_uvm_node)
        return judge(out, ST_FAILED,
                     "`sudo nvidia-modprobe -u`; in a container, pass /dev/nvidia-uvm",
                     "/dev/nvidia-uvm is absent, which CUDA needs (%s)", name);
    return judge(out, ST_FAILED,
                 "look at `sudo dmesg | grep -iE 'nvrm|xid'`; after a suspend `sudo modprobe -r "
                 "nvidia_uvm && sudo modprobe nvidia_uvm` helps, else restart the machine",
                 "the driver does not start: %s: %s", name, driver->init_text);
}

static st_code judge_init(const st_machine_facts *machine, const st_driver_probe *driver,
                          st_doctor_finding *out)
{
    for (size_t i = 0; i < sizeof init_rows / sizeof init_rows[0]; i++) {
        const init_row *row = &init_rows[i];
        if (row->result != driver->init_result)
            continue;
        // A stub is no driver, and without a GPU nothing is broken.
        bool nothing = row->result == 34 || !st_machine_has_gpu(machine);
        st_code code = judge(out, nothing ? ST_NOTHING : ST_FAILED, row->remedy, "%s (%s)",
                             row->message, driver->init_name);
        if (row->result == 803 && machine->kernel_module[0])
            snprintf(out->message, sizeof out->message, "%s: %.300s against module %s (%s)",
                     row->message, driver->path, machine->kernel_module, driver->init_name);
        return code;
    }
    return judge_by_machine(machine, driver, out);
}

// --- all -----------------------------------------------------------------------------------------
st_code st_doctor_driver(const st_machine_facts *machine, const st_driver_probe *driver,
                         st_doctor_finding *out)
{
    *out = (st_doctor_finding){.part = "driver"};
    memcpy(out->where, driver->path, sizeof out->where);
    if (driver->version > 0)
        snprintf(out->version, sizeof out->version, "CUDA %d.%d%s%s", driver->version / 1000,
                 driver->version % 1000 / 10, machine->kernel_module[0] ? ", " : "",
                 machine->kernel_module);
    if (!driver->found)
        return judge_absent(machine, driver, out);
    if (strstr(driver->path, "/stubs/"))
        return judge(out, ST_NOTHING, "take …/stubs out of LD_LIBRARY_PATH",
                     "%.300s is the toolkit's link-time stub, not a driver", driver->path);
    const char *update = machine->is_wsl ? "update the NVIDIA driver on Windows" : UPDATE_DRIVER;
    if (driver->missing[0])
        return judge(out, ST_FAILED, update,
                     "the driver is too old: %.300s has no %s; simtune needs CUDA %d.%d or later",
                     driver->path, driver->missing, ST_DRIVER_OLDEST_CUDA / 1000,
                     ST_DRIVER_OLDEST_CUDA % 1000 / 10);
    if (driver->version >= 0 && driver->version < ST_DRIVER_OLDEST_CUDA)
        return judge(out, ST_FAILED, update,
                     "the driver is too old: it supports CUDA %d.%d, simtune needs %d.%d or later",
                     driver->version / 1000, driver->version % 1000 / 10,
                     ST_DRIVER_OLDEST_CUDA / 1000, ST_DRIVER_OLDEST_CUDA % 1000 / 10);
    if (driver->init_result != 0)
        return judge_init(machine, driver, out);
    return judge(out, ST_OK, "", "the driver works");
}
