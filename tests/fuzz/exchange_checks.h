// SPDX-License-Identifier: Apache-2.0
// What fuzz_t4.c and fuzz_kernel_tuner.c check of a file that they are given: it is taken in whole or not at all,
// again adds nothing, the store stays sound, and what goes out of it comes back as the same rows.
#ifndef SIMTUNE_TESTS_EXCHANGE_CHECKS_H
#define SIMTUNE_TESTS_EXCHANGE_CHECKS_H

#include "db/exchange.h"
#include "tests/fuzz/fuzz.h"

void fuzz_exchange_open(void);
void fuzz_exchange(const void *data, size_t size, st_exchange_form form);

#endif
