// SPDX-License-Identifier: Apache-2.0
// What a compile log foretells of launching a configuration's kernels, before any device has loaded the code. Promise:
// what it says cannot be launched cannot; what it does not know it does not rule out.
#ifndef SIMTUNE_TUNER_LAUNCH_FACTS_H
#define SIMTUNE_TUNER_LAUNCH_FACTS_H

#include "tuner/worker/messages.h"

// Of the kernel with the most registers; -1 unknown.
typedef struct st_launch_facts {
    int registers, spill_bytes, static_smem, blocks_per_sm;
    uint32_t block, smem;
    char never[160]; // why one of them does not fit this device; "": nothing is known against it
} st_launch_facts;

void st_launch_facts_read(const char *log, const st_load_kernel *kernels, size_t count, const st_device_facts *device,
                          st_launch_facts *out);
// "no block fits an SM: …", also of loaded kernels.
void st_launch_never_words(const st_load_kernel *kernel, int registers, int static_smem, char *out, size_t capacity);

#endif
