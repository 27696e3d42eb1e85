// SPDX-License-Identifier: Apache-2.0
// T4 results (db/exchange_t4.c), uncompressed; see exchange_checks.h for what is checked.
#include "tests/fuzz/exchange_checks.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_exchange_open();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_exchange(data, size, ST_FORM_T4);
    return 0;
}
