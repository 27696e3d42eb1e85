// SPDX-License-Identifier: Apache-2.0
// Invariant: nothing here aborts; every allocation passes the fault point (fault.c), and one that fails is counted.
#include "tuner/base/memory.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong failures;

unsigned long st_allocations_failed(void)
{
    return atomic_load(&failures);
}

static void *counted(void *block)
{
    if (!block)
        atomic_fetch_add(&failures, 1);
    return block;
}

void *st_malloc(size_t bytes)
{
    return counted(st_fault_here(ST_FAULT_ALLOCATION) ? NULL : malloc(bytes ? bytes : 1));
}

void *st_calloc(size_t count, size_t bytes)
{
    bool fails = st_fault_here(ST_FAULT_ALLOCATION);
    return counted(fails ? NULL : calloc(count ? count : 1, bytes ? bytes : 1));
}

void *st_realloc(void *block, size_t bytes)
{
    return counted(st_fault_here(ST_FAULT_ALLOCATION) ? NULL : realloc(block, bytes ? bytes : 1));
}

void *st_grow(void *block, size_t *capacity, size_t wanted, size_t bytes)
{
    if (wanted <= *capacity && block)
        return block;
    size_t grown = *capacity ? *capacity * 2 : 8;
    if (grown < wanted)
        grown = wanted;
    if (bytes && grown > SIZE_MAX / bytes)
        return counted(NULL);
    void *larger = st_realloc(block, grown * bytes);
    if (larger)
        *capacity = grown;
    return larger;
}

char *st_strndup(const char *text, size_t length)
{
    char *copy = st_malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *st_strdup(const char *text)
{
    return st_strndup(text, strlen(text));
}

char *st_format(const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : st_malloc((size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void st_free(void *block)
{
    free(block);
}
