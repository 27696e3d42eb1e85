// SPDX-License-Identifier: Apache-2.0
// What the machine says about its GPUs without any vendor library: device nodes, kernel modules,
// PCI, container, WSL. Promise: only reads; what cannot be read is unknown (-1, ""), never an
// error.
#ifndef SIMTUNE_GPU_MACHINE_H
#define SIMTUNE_GPU_MACHINE_H

#include <stdbool.h>

typedef struct st_machine_facts {
    bool is_wsl, has_dxg;         // Windows Subsystem for Linux; its GPU node /dev/dxg
    bool is_container;
    char container[24]; // "docker", "podman", "kubernetes", "lxc", "container"; "" when none
    int device_nodes;             // /dev/nvidia0, /dev/nvidia1 …
    int closed_nodes;             // of these and /dev/nvidiactl: those that we may not open
    char closed_node[64];         // the first of them
    char closed_group[32];        // group that may open it, "" unknown
    bool has_control_node;        // /dev/nvidiactl
    bool has_uvm_node;            // /dev/nvidia-uvm
    int pci_gpus;                 // NVIDIA display or 3D controllers on the PCI bus; -1 unknown
    bool nouveau;                 // the nouveau module is loaded
    bool has_kernel_module;       // /proc/driver/nvidia
    char kernel_module[32];       // its version, "580.95.05"
    int profiling_admin_only;     // RmProfilingAdminOnly: 0, 1, -1 unknown
    bool may_administer;          // root of the machine or CAP_SYS_ADMIN
    bool has_visible_devices;     // CUDA_VISIBLE_DEVICES is set …
    char visible_devices[64];     // … to this
} st_machine_facts;

// `root` goes before every path: "" for this machine (tests build a small tree).
void st_machine_read(const char *root, st_machine_facts *facts);
// Where st_driver_get and doctor look; "" unless a test points it elsewhere.
extern const char *st_machine_root;
// Any sign of an NVIDIA GPU that this process could have been given.
bool st_machine_has_gpu(const st_machine_facts *facts);

#endif
