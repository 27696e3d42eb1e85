// SPDX-License-Identifier: Apache-2.0
// The emulated devices' facts and the synthetic model of their time.
//
// The times mean nothing. They exist so that search, statistics, store and reports have something
// to work on that (1) is the same in every run, (2) depends on the configuration, smoothly enough
// to be searched, and (3) has noise. The host's clock never enters. A launch takes
//
//     latency + max(memory, issue) + synchronisation, times 1 ± 0.5 %
//
//     latency: 2000 ns, and 400 ns for each wave of blocks;
//
//     memory: the bytes of the allocations that the arguments point into / (peak × share). The peak
//     is three times as high when they fit the L2; the share grows with resident warps and with the
//     registers that a thread has for loads, until 2048 threads × 64 registers are in flight;
//
//     issue: warp operations / (4 a clock and SM);
//
//     synchronisation: 20 ns a barrier and 4 ns a warp collective, over the warps and blocks that
//     run at once, and 2 ns an atomic, one after the other.
//
// The noise is a hash of the kernel's name and the operation's place in the stream. Registers are
// read off the size of the host's machine code: more unrolling, more registers.
#include "tuner/gpu/emu_internal.h"

#include <math.h>
#include <string.h>

const st_device_facts st_emu_devices[2] = {
    {.name = "Emulated GPU",
     .uuid = "EMU-00000000-0000-0000-0000-000000000090",
     .backend = "emu",
     .driver = "emulated",
     .driver_cuda = -1,
     .pci = "",
     .ordinal = 0,
     .is_integrated = false,
     .cc = 90,
     .sm_count = 4,
     .warp_size = 32,
     .max_threads_per_block = 1024,
     .threads_per_sm = 2048,
     .max_blocks_per_sm = 32,
     .registers_per_sm = 65536,
     .smem_per_block = 232448,
     .smem_per_sm = 233472,
     .smem_reserved = 1024,
     .l2_bytes = 1 << 20,
     .memory_bytes = 1 << 30,
     .memory_clock_khz = 1000000,
     .memory_bus_bits = 256,
     .sm_clock_khz = 1000000,
     .max_cluster = ST_EMU_MAX_CLUSTER},
    {.name = "Emulated GPU 80",
     .uuid = "EMU-00000000-0000-0000-0000-000000000080",
     .backend = "emu",
     .driver = "emulated",
     .driver_cuda = -1,
     .pci = "",
     .ordinal = 1,
     .cc = 80,
     .sm_count = 6,
     .warp_size = 32,
     .max_threads_per_block = 1024,
     .threads_per_sm = 2048,
     .max_blocks_per_sm = 32,
     .registers_per_sm = 65536,
     .smem_per_block = 166912,
     .smem_per_sm = 167936,
     .smem_reserved = 1024,
     .l2_bytes = 1 << 19,
     .memory_bytes = 1 << 29,
     .memory_clock_khz = 800000,
     .memory_bus_bits = 192,
     .sm_clock_khz = 1200000,
     .max_cluster = 1},
};

uint64_t st_emu_mix(uint64_t a, uint64_t b) {
    uint64_t x = a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2));
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// 1 ± 0.5 %
static double noise(const char *name, uint64_t ordinal) {
    uint64_t seed = 0;
    for (const char *c = name; *c; c++)
        seed = st_emu_mix(seed, (unsigned char)*c);
    uint64_t bits = st_emu_mix(seed, ordinal);
    return 1.0 + ((double)(bits >> 11) / 9007199254740992.0 - 0.5) * 0.01;
}

// Bytes a nanosecond: two transfers a clock.
static double bandwidth(const st_device_facts *device) {
    return (double)device->memory_clock_khz * 2e3 * (double)device->memory_bus_bits / 8 / 1e9;
}

double st_emu_model_copy(const st_device_facts *device, size_t bytes, uint64_t ordinal) {
    return (1000.0 + (double)bytes / bandwidth(device)) * noise("copy", ordinal);
}

double st_emu_model_launch(const st_emu_model_input *input) {
    const st_device_facts *device = input->device;
    double clock = (double)device->sm_clock_khz / 1e6; // a nanosecond
    double sms = (double)device->sm_count;
    double per_sm = input->blocks_per_sm > 0 ? input->blocks_per_sm : 1;
    double blocks = input->blocks, at_once = fmin(blocks, sms * per_sm);
    double waves = at_once > 0 ? ceil(blocks / at_once) : 0;
    double warps = ceil(input->threads / 32.0);

    double in_flight = at_once / sms * input->threads * input->registers;
    double share = fmin(1.0, 0.05 + 0.95 * sqrt(in_flight / (2048.0 * 64.0)));
    double peak = bandwidth(device) * (input->bytes <= (uint64_t)device->l2_bytes ? 3.0 : 1.0);
    double memory = (double)input->bytes / (peak * share);

    double operations = blocks * warps * (20.0 + input->registers) + (double)input->bytes / 64.0;
    double issue = operations / (4.0 * clock * fmin(sms, fmax(blocks, 1.0)));

    const st_emu_counts *counts = input->counts;
    double sync = 20.0 * (double)counts->barriers / fmax(at_once, 1.0) +
                  4.0 * (double)counts->collectives / fmax(at_once * warps, 1.0) +
                  2.0 * (double)counts->atomics;
    double ns = 2000.0 + 400.0 * waves + fmax(memory, issue) + sync;
    return ns * noise(input->kernel, input->ordinal);
}

int st_emu_model_registers(uint64_t code_bytes) {
    uint64_t registers = 16 + code_bytes / 128 * 8;
    return registers > 64 ? 64 : (int)registers; // so that 1024 threads can always be launched
}

int st_emu_model_occupancy(const st_device_facts *device, unsigned block, int registers,
                           size_t shared_bytes) {
    if (block == 0 || block > (uint64_t)device->max_threads_per_block ||
        shared_bytes > (uint64_t)device->smem_per_block)
        return 0;
    int64_t warps = (block + 31) / 32;
    int64_t most = device->max_blocks_per_sm;
    int64_t by_threads = device->threads_per_sm / (warps * 32);
    int64_t by_registers = device->registers_per_sm / (registers * 32 * warps);
    int64_t by_shared = device->smem_per_sm / ((int64_t)shared_bytes + device->smem_reserved);
    most = by_threads < most ? by_threads : most;
    most = by_registers < most ? by_registers : most;
    most = by_shared < most ? by_shared : most;
    return (int)most;
}
