// SPDX-License-Identifier: Apache-2.0
// Registers are given to warps in units of 256, to each of the four parts of an SM alike; shared memory in units of 128
// bytes (256 before 8.0), with what the system takes of each block.
#include "tuner/gpu/occupancy.h"

enum { WARP = 32, REGISTER_UNIT = 256, PARTS = 4, REGISTERS_MOST = 255 };

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int st_occupancy_blocks(const st_device_facts *device, int threads, int registers, int64_t smem)
{
    if (device->threads_per_sm < 0 || device->registers_per_sm < 0 || device->smem_per_sm < 0 ||
        device->max_blocks_per_sm < 0 || device->smem_per_block < 0)
        return -1;
    if (threads < 1 || threads > device->max_threads_per_block || registers > REGISTERS_MOST ||
        smem > device->smem_per_block)
        return 0;
    int64_t warps = (threads + WARP - 1) / WARP, blocks = device->max_blocks_per_sm;
    blocks = least(blocks, device->threads_per_sm / (warps * WARP));
    if (registers > 0) {
        int64_t of_warp = round_up((int64_t)registers * WARP, REGISTER_UNIT);
        int64_t warps_held = device->registers_per_sm / PARTS / of_warp * PARTS;
        blocks = least(blocks, warps_held / warps);
    }
    int64_t taken = round_up(smem, device->cc >= 80 ? 128 : 256);
    taken += device->smem_reserved > 0 ? device->smem_reserved : 0;
    if (taken > 0)
        blocks = least(blocks, device->smem_per_sm / taken);
    return (int)blocks;
}
