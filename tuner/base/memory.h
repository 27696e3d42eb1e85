// SPDX-License-Identifier: Apache-2.0
// Allocation with fault points. Promise: every allocation of ours goes through here and may fail;
// a test makes the n-th allocation (or the n-th pass of any other fault point) fail, for n = 1, 2, …
#ifndef SIMTUNE_BASE_MEMORY_H
#define SIMTUNE_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

// Like malloc, calloc, realloc, strdup, strndup; NULL on failure. Freed with st_free (NULL is fine).
void *st_malloc(size_t bytes);
void *st_calloc(size_t count, size_t bytes);
void *st_realloc(void *block, size_t bytes);
// Grows `block`, an array of `*capacity` elements of `bytes` each, to hold at least `wanted`
// elements; at least doubles. NULL on failure, then `block` and `*capacity` are untouched.
void *st_grow(void *block, size_t *capacity, size_t wanted, size_t bytes);
char *st_strdup(const char *text);
char *st_strndup(const char *text, size_t length);
char *st_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void st_free(void *block);
// How many of these failed since the process began. What makes one thing out of many small parts (a page, a
// winner) asks before and after, so that a part that is missing is noticed although nobody looked at it.
unsigned long st_allocations_failed(void);

// --- fault points ---------------------------------------------------------------------------
// A fault point is a place where something of the outside world can fail. Kinds are counted apart.
typedef enum st_fault {
    ST_FAULT_ALLOCATION,
    ST_FAULT_SYSTEM, // system calls through our wrappers
    ST_FAULT_SQLITE, // each prepare and step
    ST_FAULT_DRIVER, // each libcuda, NVML call
    ST_FAULT_NVRTC,
    ST_FAULT_CUPTI,
    ST_FAULT_KINDS
} st_fault;

// True when this pass must fail. Costs one predictable branch when nothing is armed.
bool st_fault_here(st_fault kind);
// The n-th pass from now (n ≥ 1) fails, once; n = 0 disarms. Also armed by the environment variable
// SIMTUNE_FAULT="allocation:3" (names: allocation system sqlite driver nvrtc cupti), read once; fault.c
// tells how to name one kind of process, strike once in a run, and count passes.
void st_fault_arm(st_fault kind, unsigned long n);
// True when an armed fault of this kind has been injected since it was armed.
bool st_fault_injected(st_fault kind);

#endif
