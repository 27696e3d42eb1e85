// SPDX-License-Identifier: Apache-2.0
// Invariant: `what` and `remedy` are always NUL-terminated; a text that is too long is cut, never lost.
#include "tuner/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

st_code st_fail(st_error *error, st_code code, const char *remedy, const char *format, ...)
{
    if (error) {
        char what[sizeof error->what]; // the arguments may point into *error
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(what, sizeof what, format, arguments);
        va_end(arguments);
        char kept[sizeof error->remedy];
        snprintf(kept, sizeof kept, "%s", remedy ? remedy : "");
        error->code = code;
        memcpy(error->what, what, sizeof what);
        memcpy(error->remedy, kept, sizeof kept);
    }
    return code;
}

st_code st_fail_memory(st_error *error, const char *what)
{
    return st_fail(error, ST_NO_MEMORY, "free memory or choose a smaller problem",
                   "out of memory while %s", what);
}

st_code st_error_prefix(st_error *error, const char *format, ...)
{
    if (!error)
        return ST_FAILED;
    char what[sizeof error->what];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    size_t used = length < 0 ? 0 : (size_t)length;
    for (const char *parts[] = {": ", error->what}, **part = parts; part < parts + 2; part++)
        for (const char *at = *part; *at && used < sizeof what - 1; at++)
            what[used++] = *at;
    what[used < sizeof what ? used : sizeof what - 1] = '\0';
    memcpy(error->what, what, sizeof what);
    return error->code;
}

void st_error_clear(st_error *error)
{
    if (!error)
        return;
    error->code = ST_OK;
    error->what[0] = error->remedy[0] = '\0';
}

int st_exit_code(st_code code)
{
    return code == ST_NO_MEMORY || code == ST_DAMAGED ? ST_FAILED : (int)code;
}
