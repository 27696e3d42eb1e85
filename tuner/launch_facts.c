// SPDX-License-Identifier: Apache-2.0
// Invariant: a limit of the device or a fact of the kernel that is unknown rules nothing out.
#include "tuner/launch_facts.h"

#include "tuner/gpu/compile.h"
#include "tuner/gpu/occupancy.h"

#include <stdio.h>

void st_launch_never_words(const st_load_kernel *kernel, int registers, int static_smem, char *out, size_t capacity)
{
    snprintf(out, capacity, "no block fits an SM: %u threads, %d registers each, %u + %d bytes of shared memory",
             kernel->block, registers, kernel->smem, static_smem);
}

void st_launch_facts_read(const char *log, const st_load_kernel *kernels, size_t count, const st_device_facts *device,
                          st_launch_facts *out)
{
    *out = (st_launch_facts){.registers = -1, .spill_bytes = -1, .static_smem = -1, .blocks_per_sm = -1};
    for (size_t i = 0; i < count; i++) {
        const st_load_kernel *kernel = &kernels[i];
        int registers, spill_bytes, smem, blocks = -1;
        if (!st_compile_kernel_facts(log, kernel->lowered, &registers, &spill_bytes, &smem))
            continue;
        if (smem >= 0 && device->max_threads_per_block > 0)
            blocks = st_occupancy_blocks(device, (int)kernel->block, registers, (int64_t)kernel->smem + smem);
        if (blocks == 0 && !out->never[0])
            st_launch_never_words(kernel, registers, smem, out->never, sizeof out->never);
        if (registers <= out->registers)
            continue;
        out->registers = registers;
        out->spill_bytes = spill_bytes;
        out->static_smem = smem;
        out->blocks_per_sm = blocks;
        out->block = kernel->block;
        out->smem = kernel->smem;
    }
}
