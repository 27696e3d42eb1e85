// SPDX-License-Identifier: Apache-2.0
// What is known of a device. Promise: facts are what the driver says, in the units stated; unknown is
// -1 (numbers) or "" (texts), never 0.
#ifndef SIMTUNE_GPU_DEVICE_H
#define SIMTUNE_GPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

// X(field, NAME in expressions, unit, meaning). To add a fact: one row here and its reading in
// cuda_backend.c, its number in emu, and its line in docs/templates.md.
#define ST_DEVICE_FACTS(X)                                                                         \
    X(cc, "CC", "", "compute capability × 10: 90 for sm_90")                                       \
    X(sm_count, "SM_COUNT", "", "streaming multiprocessors")                                       \
    X(warp_size, "WARP_SIZE", "threads", "threads of a warp")                                      \
    X(max_threads_per_block, "MAX_THREADS_PER_BLOCK", "threads", "of one block")                   \
    X(threads_per_sm, "THREADS_PER_SM", "threads", "resident on one SM")                           \
    X(max_blocks_per_sm, "MAX_BLOCKS_PER_SM", "blocks", "resident on one SM")                      \
    X(registers_per_sm, "REGISTERS_PER_SM", "registers", "32-bit registers of one SM")             \
    X(smem_per_block, "SMEM_PER_BLOCK", "bytes", "shared memory of one block, opt-in maximum")     \
    X(smem_per_sm, "SMEM_PER_SM", "bytes", "shared memory of one SM")                              \
    X(smem_reserved, "SMEM_RESERVED", "bytes", "shared memory that the system takes of each block")\
    X(l2_bytes, "L2_BYTES", "bytes", "second-level cache")                                         \
    X(memory_bytes, "MEMORY_BYTES", "bytes", "device memory")                                      \
    X(memory_clock_khz, "MEMORY_CLOCK_KHZ", "kHz", "highest memory clock")                         \
    X(memory_bus_bits, "MEMORY_BUS_BITS", "bits", "width of the memory bus")                       \
    X(sm_clock_khz, "SM_CLOCK_KHZ", "kHz", "highest SM clock")                                     \
    X(max_cluster, "MAX_CLUSTER", "blocks", "largest cluster without opting in to more; 1 before sm_90")

typedef struct st_device_facts {
    char name[96];       // "NVIDIA H200"
    char uuid[48];       // "GPU-…"; "EMU-…" for the emulated device
    char backend[8];     // "cuda" or "emu"
    char driver[32];     // "580.159.04", or "" when NVML is absent
    int driver_cuda;     // CUDA version that the driver supports, × 1000: 13000; -1 unknown
    char pci[24];        // "0000:05:00.0"
    int ordinal;         // as CUDA counts
    bool is_mig, is_integrated, ecc;
#define X(field, name, unit, meaning) int64_t field;
    ST_DEVICE_FACTS(X)
#undef X
} st_device_facts;

// The device class of a header's table: compute capability and SM count ("sm_90/132").
typedef struct st_device_class { int cc, sm_count; } st_device_class;

#endif
