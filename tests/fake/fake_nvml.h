// SPDX-License-Identifier: Apache-2.0
// A counterfeit NVML: answers what its control says. The library exports `fake_nvml
// *fake_nvml_control`.
#ifndef SIMTUNE_TESTS_FAKE_NVML_H
#define SIMTUNE_TESTS_FAKE_NVML_H

#include <stdbool.h>

typedef struct fake_nvml {
    int init_result;
    int started;          // nvmlInit less nvmlShutdown
    bool knows_device;    // the UUID is found
    bool mig;             // the handle is a MIG instance: it answers for processes only
    int clock_result, temperature_result, power_result, reasons_result, processes_result;
    unsigned sm_clock, memory_clock, temperature, power;
    unsigned long long reasons;
    unsigned process_count;
    unsigned pids[200];
    char asked_uuid[96];
} fake_nvml;
typedef fake_nvml *fake_nvml_control_function(void);

#endif
