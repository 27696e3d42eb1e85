// SPDX-License-Identifier: Apache-2.0
// How many blocks of a kernel one SM holds at once, from limits alone: for devices that are not here. Promise: pure; the
// rules of the CUDA occupancy calculator for compute capability 7.0 and later.
#ifndef SIMTUNE_GPU_OCCUPANCY_H
#define SIMTUNE_GPU_OCCUPANCY_H

#include "tuner/gpu/device.h"

// `smem`: static and dynamic bytes of a block. 0: none fits. -1: a limit of the device is unknown.
int st_occupancy_blocks(const st_device_facts *device, int threads, int registers, int64_t smem);

#endif
