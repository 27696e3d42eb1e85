// SPDX-License-Identifier: Apache-2.0
// Kernel Tuner cache files (db/exchange_kernel_tuner.c), uncompressed; see exchange_checks.h for what is checked.
#include "tests/fuzz/exchange_checks.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_exchange_open();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_exchange(data, size, ST_FORM_KERNEL_TUNER);
    return 0;
}
