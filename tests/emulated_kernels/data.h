// SPDX-License-Identifier: Apache-2.0
// Inputs for reductions and the exact result, for every type.
#ifndef SIMTUNE_TESTS_KERNELS_DATA_H
#define SIMTUNE_TESTS_KERNELS_DATA_H

#include "tests/emulated_kernels/kernels.h"

typedef enum data_operation { DATA_SUM, DATA_MIN, DATA_MAX } data_operation;

// Fills n elements of `type` at `at`, and writes the result of reducing them to `expected`.
void data_make(void *at, st_type_id type, data_operation operation, const kernels_run *run,
               void *expected);
// Equal bits; all NaNs are one value.
bool data_same(st_type_id type, const void *a, const void *b);
void data_text(st_type_id type, const void *at, char *out, size_t capacity);

#endif
