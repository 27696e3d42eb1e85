// SPDX-License-Identifier: Apache-2.0
// What the assembler says of a kernel (st_compile_kernel_facts), and kernels by a part of their names (st_nvcc_symbol).
// The input: the kernel's name on a line, then the log.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/memory.h"
#include "tuner/gpu/compile.h"
#include "tuner/gpu/nvcc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = fuzz_line(&data, &size);
    if (!name)
        return 0;
    char *log = fuzz_string(data, size);
    int registers, spills, smem;
    bool known = st_compile_kernel_facts(log, name, &registers, &spills, &smem);
    FUZZ_MUST(registers >= -1 && spills >= -1 && smem >= -1,
              "%d registers, %d bytes of spills, %d of shared memory", registers, spills, smem);
    FUZZ_MUST(known == (registers >= 0), "%d registers, and it says %d", registers, known);
    FUZZ_MUST(!known || strstr(log, name), "it knows a kernel of which the log does not speak");
    FUZZ_MUST(!st_compile_kernel_facts(NULL, name, &registers, &spills, &smem) && registers == -1,
              "no log says something");
    char *const parts[] = {name, NULL};
    bool failed;
    char *symbol = st_nvcc_symbol(log, parts, &failed);
    FUZZ_MUST(!failed && (!symbol || (strstr(symbol, name) && strstr(log, symbol) && !strpbrk(symbol, "'\n"))),
              "a symbol that is none");
    FUZZ_MUST(symbol || !known || strchr(name, '\''), "a kernel that has facts has no symbol");
    st_free(symbol);
    free(name);
    free(log);
    return 0;
}
