// SPDX-License-Identifier: Apache-2.0
// The size of the storage that a compaction needs, asked for from C++ without CUDA.
#include "simtune_compact.h"

size_t storage_of_compaction(size_t n);

size_t storage_of_compaction(size_t n)
{
    size_t bytes = 0;
    return simtune_compact_f32_flagged(nullptr, &bytes, nullptr, nullptr, nullptr, nullptr, n, nullptr) == cudaSuccess
               ? bytes
               : 0;
}
