// SPDX-License-Identifier: Apache-2.0
// The emulated devices' facts and the synthetic model of their time.
//
// The times mean nothing. They exist so that search, statistics, guidance, store and reports have
// something to work on that (1) is the same in every run, (2) depends on the configuration in the ways
// that a GPU's time does, and (3) has noise. The host's clock never enters. A launch takes
//
//     launch + max(memory, issue) + min(memory, issue) / 4 + meetings, times 1 ± 0.5 %
//
// launch      2000 ns (800 ns for a dependent one), 500 ns more for clusters, and 300 ns a wave of
//             blocks.
// memory      The bytes of the buffers that the arguments name, each over the bandwidth it gets: that of
//             the memory, or three times as much for what is still in L2. The bandwidth follows Little's
//             law: with x = bytes under way / (bandwidth × latency) it is x / sqrt(1 + x²) of the peak.
//             Under way: resident threads × what a thread can hold (4 bytes at least, else its arrays
//             beyond 24 bytes, not more than half of its registers), and what asynchronous copies bring
//             as far as the block's shared memory holds it. Latency: 600 ns, of L2 250 ns.
//             Spilled registers are written and read once.
// issue       Warp instructions / (4 a clock and SM), less where fewer than 4 warps a scheduler hide the
//             arithmetic's latency. Instructions: 3 for each access of 128 to 512 bytes a warp (wider
//             with what a thread holds), 20 and a register's half for each warp, 4 a meeting.
// meetings    barrier: 20 clocks and one a warp, one after the other within a block, blocks beside each
//             other; cluster: 200 ns each; exchange (shuffles, votes …): 25 clocks, half of it hidden by
//             each further warp, 2 clocks of the SM at least; shared: 8 clocks a look-up of a shared
//             variable by a warp, hidden in the same way, 1 clock of the SM at least; atomic: 1 ns,
//             one after the other.
//
// Meetings, look-ups and atomics are those that were really executed. The noise is a hash of the kernel, of
// its launch's shape and of how often that was launched before.
//
// Registers are read off the host's machine code: 16, one for each 64 bytes of code up to 24, and one for
// each 4 bytes of its arrays: what its frame on the stack holds, where a GPU's compiler has registers.
// __launch_bounds__ makes them as few as it asks for, the rest is spilled; without it they are 64 at most,
// so that 1024 threads can always be launched.
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
     .max_cluster = ST_EMU_PORTABLE_CLUSTER},
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

uint64_t st_emu_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2));
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t st_emu_mix_text(uint64_t a, const char *text)
{
    for (const char *c = text; *c; c++)
        a = st_emu_mix(a, (unsigned char)*c);
    return a;
}

double st_emu_model_noise(uint64_t key, uint64_t count)
{
    uint64_t bits = st_emu_mix(key, count);
    return 1.0 + ((double)(bits >> 11) / 9007199254740992.0 - 0.5) * 0.01;
}

// Two transfers a clock.
double st_emu_model_bandwidth(const st_device_facts *device)
{
    return (double)device->memory_clock_khz * 2e3 * (double)device->memory_bus_bits / 8 / 1e9;
}

double st_emu_model_copy(const st_device_facts *device, size_t bytes)
{
    return 1000.0 + (double)bytes / st_emu_model_bandwidth(device);
}

#define MEMORY_LATENCY 600.0 // nanoseconds
#define L2_LATENCY 250.0
#define L2_FACTOR 3.0
#define ISSUE_A_CLOCK 4.0
#define SCHEDULERS 4.0

// Little's law, smoothed: the share of `peak` that `in_flight` bytes under way sustain.
static double share_of(double in_flight, double peak, double latency)
{
    double x = in_flight / (peak * latency);
    return x / sqrt(1 + x * x);
}

static double memory_time(const st_emu_model_input *input, double in_flight, double spilled)
{
    double peak = st_emu_model_bandwidth(input->device), l2 = peak * L2_FACTOR;
    return input->miss_bytes / (peak * share_of(in_flight, peak, MEMORY_LATENCY)) +
           (input->hit_bytes + spilled) / (l2 * share_of(in_flight, l2, L2_LATENCY));
}

void st_emu_model_launch(const st_emu_model_input *input, st_emu_account *out)
{
    const st_device_facts *device = input->device;
    const st_emu_counts *counts = input->counts;
    double clock = (double)device->sm_clock_khz / 1e6; // a nanosecond
    double blocks = fmax(input->blocks, 1.0), per_sm = fmax(input->blocks_per_sm, 1.0);
    double sms = fmin((double)device->sm_count, blocks);
    double at_once = fmin(blocks, (double)device->sm_count * per_sm);
    double waves = ceil(blocks / at_once), warps = ceil(input->threads / 32.0);
    double resident = at_once * warps / sms; // warps of an SM
    double hidden = 1 + (resident - 1) / 2;  // how many wait at the same time

    memset(out, 0, sizeof *out);
    out->sms = sms;
    out->warps_per_sm = resident;
    double held = fmin(fmax(4.0, input->held), 2.0 * input->registers);
    double copied = (double)counts->copied / blocks; // needs no registers, but shared memory
    double in_flight = at_once * (input->threads * held + fmin(copied, (double)input->shared_bytes));
    double spilled = 2.0 * input->spilled * blocks * input->threads;
    out->in_flight = in_flight / (st_emu_model_bandwidth(device) * MEMORY_LATENCY);
    out->memory = memory_time(input, in_flight, spilled);

    double access = 32 * fmin(16.0, fmax(4.0, held / 2)); // bytes of a warp's access
    double bytes = input->hit_bytes + input->miss_bytes + spilled;
    out->instructions = 3 * bytes / access + blocks * warps * (20 + input->registers / 2.0) +
                        4.0 * ((double)counts->collectives + (double)counts->barriers * warps) +
                        2.0 * (double)(counts->shared_uses + counts->atomics) / 32;
    double busy = fmin(1.0, 0.25 + 0.75 * resident / (4 * SCHEDULERS));
    out->issue = out->instructions / (ISSUE_A_CLOCK * clock * sms * busy);

    out->launch =
        (input->dependent ? 800.0 : 2000.0) + 300.0 * waves + (input->cluster > 1 ? 500.0 : 0);
    out->barrier = (20 + warps) / clock * (double)counts->barriers / at_once;
    out->cluster = 200.0 * (double)counts->cluster_barriers / fmax(1.0, at_once / input->cluster);
    double exchanges = (double)counts->collectives / sms;
    out->exchange = exchanges * fmax(2.0, 25 / hidden) / clock;
    double looks = (double)counts->shared_uses / 32 / sms;
    out->shared = looks * fmax(1.0, 8 / hidden) / clock;
    out->atomic = 1.0 * (double)counts->atomics;
    out->total = out->launch + fmax(out->memory, out->issue) + fmin(out->memory, out->issue) / 4 +
                 out->barrier + out->cluster + out->exchange + out->shared + out->atomic;
}

int st_emu_model_registers(uint64_t code_bytes, unsigned frame_bytes)
{
    uint64_t code = code_bytes / 64 > 24 ? 24 : code_bytes / 64;
    uint64_t registers = (16 + code + frame_bytes / 4 + 7) / 8 * 8;
    return registers > 248 ? 248 : (int)registers;
}

int st_emu_model_bounded(const st_device_facts *device, int registers, unsigned max_threads,
                         unsigned min_blocks, int *spilled)
{
    int64_t threads = max_threads ? (int64_t)max_threads * (min_blocks ? min_blocks : 1) : 1024;
    int64_t most = device->registers_per_sm / threads / 8 * 8;
    most = most < 16 ? 16 : most;
    *spilled = registers > most ? (int)(registers - most) * 4 : 0;
    return registers > most ? (int)most : registers;
}

int st_emu_model_occupancy(const st_device_facts *device, unsigned block, int registers,
                           size_t shared_bytes)
{
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
