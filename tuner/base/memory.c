// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. nothing here aborts; 2. a fault is injected at most once each time it is armed; 3. the
// counters are atomic, so that threads of a test may pass fault points.
#include "tuner/base/memory.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong passes_left[ST_FAULT_KINDS]; // 0: nothing armed
static atomic_bool injected[ST_FAULT_KINDS];
static atomic_bool anything_armed;

__attribute__((constructor)) static void arm_from_environment(void)
{
    static const char *const names[ST_FAULT_KINDS] = {"allocation", "system", "sqlite",
                                                      "driver",     "nvrtc",  "cupti"};
    const char *wish = getenv("SIMTUNE_FAULT");
    const char *colon = wish ? strchr(wish, ':') : NULL;
    if (!colon)
        return;
    for (int kind = 0; kind < ST_FAULT_KINDS; kind++)
        if (strlen(names[kind]) == (size_t)(colon - wish) &&
            strncmp(names[kind], wish, (size_t)(colon - wish)) == 0)
            st_fault_arm((st_fault)kind, strtoul(colon + 1, NULL, 10));
}

bool st_fault_here(st_fault kind)
{
    if (!atomic_load_explicit(&anything_armed, memory_order_relaxed))
        return false;
    unsigned long left = atomic_load(&passes_left[kind]);
    while (left != 0) {
        if (atomic_compare_exchange_weak(&passes_left[kind], &left, left - 1)) {
            if (left != 1)
                return false;
            atomic_store(&injected[kind], true);
            return true;
        }
    }
    return false;
}

void st_fault_arm(st_fault kind, unsigned long n)
{
    atomic_store(&injected[kind], false);
    atomic_store(&passes_left[kind], n);
    bool armed = false;
    for (int k = 0; k < ST_FAULT_KINDS; k++)
        armed = armed || atomic_load(&passes_left[k]) != 0;
    atomic_store(&anything_armed, armed);
}

bool st_fault_injected(st_fault kind)
{
    return atomic_load(&injected[kind]);
}

void *st_malloc(size_t bytes)
{
    return st_fault_here(ST_FAULT_ALLOCATION) ? NULL : malloc(bytes ? bytes : 1);
}

void *st_calloc(size_t count, size_t bytes)
{
    if (st_fault_here(ST_FAULT_ALLOCATION))
        return NULL;
    return calloc(count ? count : 1, bytes ? bytes : 1);
}

void *st_realloc(void *block, size_t bytes)
{
    return st_fault_here(ST_FAULT_ALLOCATION) ? NULL : realloc(block, bytes ? bytes : 1);
}

void *st_grow(void *block, size_t *capacity, size_t wanted, size_t bytes)
{
    if (wanted <= *capacity && block)
        return block;
    size_t grown = *capacity ? *capacity * 2 : 8;
    if (grown < wanted)
        grown = wanted;
    if (bytes && grown > SIZE_MAX / bytes)
        return NULL;
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
