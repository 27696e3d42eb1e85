// SPDX-License-Identifier: Apache-2.0
// Numbers of every type on the host: data for reductions and scans with their exact results, and
// comparison of bits.
#ifndef SIMTUNE_TESTS_KERNELS_DATA_H
#define SIMTUNE_TESTS_KERNELS_DATA_H

#include "tests/emulated_kernels/kernels.h"

typedef enum data_operation { DATA_SUM, DATA_MIN, DATA_MAX } data_operation;

// How a list of elements comes about: by its length, and by `rotation`, which moves what is extreme.
typedef struct data_list {
    st_type_id type;
    data_operation operation;
    kernels_data data;
    uint64_t n;
    unsigned rotation;
} data_list;

uint64_t data_mix(uint64_t bits);
// The operation that the problem's axis `op` names.
data_operation data_operation_of(const kernels_case *of);

// Fills n elements at `at`, and writes the result of reducing them to `expected`.
void data_make(void *at, const data_list *list, void *expected);
// The same for scans: prefixes[i] is the result up to element i, with it or without it.
void data_make_scan(void *at, const data_list *list, bool inclusive, void *prefixes);
// An element that tells its place and is not 0: all of them different as far as the type reaches.
void data_put_distinct(void *at, st_type_id type, uint64_t place, unsigned rotation);
// Any integer that the type holds exactly (floats: below 256 in size for bf16).
void data_put(void *at, st_type_id type, uint64_t place, int64_t value);
void data_put_number(void *at, st_type_id type, uint64_t place, double value);
// Equal bits; all NaNs are one value.
bool data_same(st_type_id type, const void *a, const void *b);
void data_text(st_type_id type, const void *at, char *out, size_t capacity);

#endif
