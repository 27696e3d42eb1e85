// SPDX-License-Identifier: Apache-2.0
// The backends that stand in the table of backends.c.
#ifndef SIMTUNE_GPU_BACKENDS_INTERNAL_H
#define SIMTUNE_GPU_BACKENDS_INTERNAL_H

#include "tuner/gpu/gpu.h"

extern const st_gpu_operations st_cuda_operations; // cuda_backend.c
extern const st_gpu_operations st_emu_operations;  // emu_backend.c

#endif
