// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. A target is one file fuzz_NAME.c that defines LLVMFuzzerTestOneInput: it
// gives arbitrary bytes to one reader of ours and checks what the reader promises. The same file is linked
// with libFuzzer (clang, ./dev fuzz) and with replay.c (any compiler, ./dev test).
//
// To add one: fuzz_NAME.c, a row in CMakeLists.txt, seeds in corpus/NAME (write_seeds.c makes those that
// are made), a line in docs/testing.md.
#ifndef SIMTUNE_TESTS_FUZZ_H
#define SIMTUNE_TESTS_FUZZ_H

#include "tuner/base/error.h"
#include "tuner/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// libFuzzer's names. Initialize is called once, before the first input.
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A promise that was not kept: prints the sentence and aborts, which both drivers report with the input.
void fuzz_fail(const char *format, ...) ST_PRINTF(1, 2) __attribute__((noreturn));
#define FUZZ_MUST(condition, ...)                                                                  \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_fail(__VA_ARGS__);                                                                \
    } while (0)
// A reader that refuses must say why: a sentence, and the code that it returned.
void fuzz_check_error(st_code code, const st_error *error);

// A NUL-ended copy in a block of exactly that size, so that reading beyond is seen. free() it.
char *fuzz_string(const uint8_t *data, size_t size);
// The next line of *data as such a copy (without its end; up to the first NUL), NULL at the end.
char *fuzz_line(const uint8_t **data, size_t *size);
// The path of a file that holds these bytes, until the next call.
const char *fuzz_file(const void *data, size_t size);

#endif
