// SPDX-License-Identifier: Apache-2.0
// What is found of driver, devices, compiler and permissions, and what to do about what is not.
// Promise: gathering and judging are apart. st_doctor_gather reads the machine and never fails for
// what it finds; the judging functions are pure, so that each message is tested without a GPU.
//
// Whether counters are really allowed needs CUPTI, which this folder may not include: the command
// `doctor` adds that finding from cupti/counters.h.
#ifndef SIMTUNE_GPU_DOCTOR_H
#define SIMTUNE_GPU_DOCTOR_H

#include "tuner/base/error.h"
#include "tuner/gpu/device.h"
#include "tuner/gpu/machine.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum st_finding_state {
    ST_FINDING_OK,
    ST_FINDING_WARNING, // tuning works, something is less than it could be
    ST_FINDING_PROBLEM  // no tuning here before this is mended
} st_finding_state;
const char *st_finding_state_name(st_finding_state state); // "ok", "warning", "problem"

typedef struct st_doctor_finding {
    char part[24];     // "driver", "device 0", "nvrtc", "nvml", "counters", "environment" …
    st_finding_state state;
    char version[64];  // "" when it has none
    char where[512];   // file or folder, "" when there is none
    char message[768]; // one sentence
    char remedy[512];  // what works here; "" when there is nothing to do
} st_doctor_finding;

typedef struct st_findings {
    st_doctor_finding *items; // owned
    size_t count, capacity;
} st_findings;
void st_findings_release(st_findings *findings);
// Copies `finding` to the end.
st_code st_findings_add(st_findings *findings, const st_doctor_finding *finding, st_error *error);
st_finding_state st_findings_worst(const st_findings *findings);

// --- the facts -----------------------------------------------------------------------------------
// What became of opening and starting libcuda.
typedef struct st_driver_probe {
    bool found;
    bool is_wished;      // SIMTUNE_LIBCUDA names it
    char path[512];
    char tried[512];     // the loader's words when nothing was found
    char missing[64];    // a function that it lacks, ""
    int version;         // 12060 for CUDA 12.6; -1 unknown
    int init_result;     // CUresult of cuInit; -1 not called
    char init_name[64];  // "CUDA_ERROR_NO_DEVICE"
    char init_text[128]; // the driver's words
} st_driver_probe;

#define ST_DOCTOR_DEVICES 32
#define ST_DOCTOR_ARCHS 32

typedef struct st_doctor_device {
    st_device_facts facts;
    bool readable;
    char error[512];       // when it is not
    int virtualization;    // NVML: 0 none, 1 passthrough, 2 vGPU, others host modes; -1 unknown
    int mig_mode;          // 1: the board is in MIG mode; -1 unknown
} st_doctor_device;

typedef struct st_folder_facts {
    char path[512];
    bool usable;     // exists and is writable, or could be made
    char error[256];
} st_folder_facts;

typedef struct st_doctor_facts {
    st_machine_facts machine;
    st_driver_probe driver;
    st_doctor_device devices[ST_DOCTOR_DEVICES];
    int device_count;        // shown; -1 unknown
    bool nvrtc_found;
    char nvrtc_version[48];  // "nvrtc 13.0"
    char nvrtc_path[512];
    char nvrtc_error[512], nvrtc_remedy[512];
    int nvrtc_archs[ST_DOCTOR_ARCHS];
    int nvrtc_arch_count;
    bool nvml_found;
    char nvml_path[512], nvml_version[64], nvml_driver[32], nvml_error[512];
    st_folder_facts cache, runtime;
} st_doctor_facts;

// Reads this machine. Opens the driver but creates no context. `facts` is large: allocate it.
void st_doctor_gather(st_doctor_facts *facts);

// --- the judgement (pure) ------------------------------------------------------------------------
// The driver: ST_OK, ST_NOTHING (no GPU that was meant for this process) or ST_FAILED (one is
// there, or a driver is, and it cannot be used).
st_code st_doctor_driver(const st_machine_facts *machine, const st_driver_probe *driver,
                         st_doctor_finding *out);
void st_doctor_device_finding(const st_doctor_facts *facts, int index, st_doctor_finding *out);
void st_doctor_nvrtc(const st_doctor_facts *facts, st_doctor_finding *out);
void st_doctor_nvml(const st_doctor_facts *facts, st_doctor_finding *out);
// What the kernel module's options say of counters, before CUPTI is asked.
void st_doctor_counters(const st_machine_facts *machine, st_doctor_finding *out);
// WSL, container, hidden devices. False when there is nothing to say.
bool st_doctor_environment(const st_machine_facts *machine, st_doctor_finding *out);
void st_doctor_folder(const char *part, const char *purpose, const st_folder_facts *folder,
                      st_doctor_finding *out);
// All of them in the order in which they are shown. Appends.
st_code st_doctor_findings(const st_doctor_facts *facts, st_findings *out, st_error *error);

#endif
