// SPDX-License-Identifier: Apache-2.0
// What the assembler says of a kernel (`ptxas -v`), read from a compile log: facts before any
// device has loaded the code.
#include "tuner/gpu/compile.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// The line "… 'NAME' …" or "… for NAME" that starts with `start` after ptxas's prefix.
static const char *find_named(const char *log, const char *start, const char *end_mark,
                              const char *name) {
    size_t start_length = strlen(start), name_length = strlen(name);
    for (const char *at = log; (at = strstr(at, start)); at += start_length) {
        const char *found = at + start_length;
        if (strncmp(found, name, name_length) == 0 &&
            (strchr(end_mark, found[name_length]) || !found[name_length]))
            return found + name_length;
    }
    return NULL;
}

// The number before `unit` in the line that begins at `line`; -1 when the line does not say.
static int number_before(const char *line, const char *unit) {
    const char *end = line + strcspn(line, "\n");
    const char *at = strstr(line, unit);
    if (!at || at >= end)
        return -1;
    while (at > line && at[-1] == ' ')
        --at;
    const char *digits = at;
    while (digits > line && digits[-1] >= '0' && digits[-1] <= '9')
        --digits;
    errno = 0;
    long number = digits == at ? -1 : strtol(digits, NULL, 10);
    return errno || number > INT_MAX ? -1 : (int)number; // a log may hold anything
}

bool st_compile_kernel_facts(const char *log, const char *lowered_name, int *registers,
                             int *spill_bytes, int *smem) {
    *registers = *spill_bytes = *smem = -1;
    const char *at = log ? find_named(log, "Compiling entry function '", "'", lowered_name) : NULL;
    if (!at)
        return false;
    const char *next = strstr(at, "Compiling entry function '");
    const char *own = find_named(at, "Function properties for ", "\r\n", lowered_name);
    const char *line = own && (!next || own < next) ? strchr(own, '\n') : NULL;
    if (line)
        *spill_bytes = number_before(line + 1, "bytes spill stores");
    const char *used = strstr(at, "Used ");
    if (used && (!next || used < next)) {
        *registers = number_before(used, "registers");
        *smem = number_before(used, "bytes smem");
        if (*smem < 0 && *registers >= 0)
            *smem = 0; // ptxas leaves out what is zero
    }
    return *registers >= 0;
}
