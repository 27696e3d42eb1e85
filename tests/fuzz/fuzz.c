// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "a promise was not kept: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

void fuzz_check_error(st_code code, const st_error *error)
{
    FUZZ_MUST(error->code == code, "it returned %d, but its error says %d", (int)code,
              (int)error->code);
    FUZZ_MUST(error->what[0], "it failed (%d) and does not say why", (int)code);
}

char *fuzz_string(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    size_t length = nul ? (size_t)(nul - data) : size;
    char *text = malloc(length + 1);
    if (!text)
        fuzz_fail("no memory");
    if (length)
        memcpy(text, data, length);
    text[length] = '\0';
    return text;
}

char *fuzz_line(const uint8_t **data, size_t *size)
{
    if (!*size)
        return NULL;
    const uint8_t *end = memchr(*data, '\n', *size);
    size_t length = end ? (size_t)(end - *data) : *size;
    char *line = fuzz_string(*data, length);
    *data += length + (end != NULL);
    *size -= length + (end != NULL);
    return line;
}

const char *fuzz_file(const void *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0)
        file = memfd_create("input", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        fuzz_fail("cannot write a file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return path;
}
