// SPDX-License-Identifier: Apache-2.0
// The table of backends. To add one: its operations in a file of its own, a line in
// backends_internal.h, a row here. Invariant: an explicit table, so that no linker drops a backend
// out of a static archive.
#include "tuner/gpu/backends_internal.h"

#include <string.h>

static const st_gpu_operations *const backends[] = {
    &st_cuda_operations,
    &st_emu_operations,
};

const st_gpu_operations *st_gpu_backend(const char *name)
{
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
