// SPDX-License-Identifier: Apache-2.0
// Fault points (memory.h). Invariants: 1. nothing here aborts; 2. a fault is injected at most once each time it is
// armed; 3. the counters are atomic, so that threads of a test may pass fault points; 4. what is said below of
// children holds for `simtune --internal ROLE` alone: every other process is a `parent`.
//
// Environment, read once:
//   SIMTUNE_FAULT=[ROLE/]KIND:N   the N-th pass fails; with a ROLE (parent, time, profile, compile) only in such
//                                 processes, without one in every process, each of which counts for itself
//   SIMTUNE_FAULT_ONCE=FILE       the process that can create FILE injects, no other: one fault a run, also
//                                 where one child after the other comes to its N-th pass
//   SIMTUNE_FAULT_COUNT=FILE      at its end each process appends `ROLE KIND PASSES`, and for each place (chain of
//                                 callers) where a fault can strike `ROLE KIND at N`, its first pass there: with
//                                 these N a test reaches every place without trying every pass
#include "tuner/base/memory.h"

#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[ST_FAULT_KINDS] = {"allocation", "system", "sqlite",
                                                  "driver",     "nvrtc",  "cupti"};
static atomic_ulong passes_left[ST_FAULT_KINDS]; // 0: nothing armed
static atomic_bool injected[ST_FAULT_KINDS];
static atomic_bool watched; // something is armed, or counted
static const char *role = "parent";
static const char *once_file, *count_file; // NULL: not asked for

// --- counting ---------------------------------------------------------------------------------------------

enum { PLACES = 1 << 14, CALLERS = 6, SKIPPED_CALLERS = 2 };
static atomic_ulong passes[ST_FAULT_KINDS];
static struct place {
    atomic_ulong callers; // their hash; 0: free
    unsigned long first;
} * places[ST_FAULT_KINDS]; // hash tables, PLACES each

static void count_pass(st_fault kind)
{
    unsigned long n = atomic_fetch_add(&passes[kind], 1) + 1;
    void *frames[CALLERS + SKIPPED_CALLERS];
    int depth = backtrace(frames, CALLERS + SKIPPED_CALLERS);
    unsigned long hash = 14695981039346656037ul;
    for (int i = SKIPPED_CALLERS; i < depth; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * 1099511628211ul;
    hash += hash == 0;
    for (unsigned probe = 0; places[kind] && probe < PLACES; probe++) {
        struct place *place = &places[kind][(hash + probe) % PLACES];
        unsigned long found = 0;
        if (atomic_compare_exchange_strong(&place->callers, &found, hash))
            place->first = n;
        if (found == 0 || found == hash)
            return;
    }
}

__attribute__((destructor)) static void write_counts(void)
{
    if (!count_file)
        return;
    FILE *file = fopen(count_file, "ae");
    for (int kind = 0; kind < ST_FAULT_KINDS && file; kind++) {
        if (passes[kind])
            fprintf(file, "%s %s %lu\n", role, names[kind], atomic_load(&passes[kind]));
        for (unsigned i = 0; places[kind] && i < PLACES; i++)
            if (places[kind][i].callers)
                fprintf(file, "%s %s at %lu\n", role, names[kind], places[kind][i].first);
    }
    if (file)
        fclose(file);
    for (int kind = 0; kind < ST_FAULT_KINDS; kind++) {
        free(places[kind]);
        places[kind] = NULL;
    }
}

// --- arming -----------------------------------------------------------------------------------------------

static void arm_from_environment(void)
{
    const char *wish = getenv("SIMTUNE_FAULT");
    const char *slash = wish ? strchr(wish, '/') : NULL;
    if (slash) {
        size_t length = (size_t)(slash - wish);
        if (strlen(role) != length || strncmp(role, wish, length) != 0)
            return;
        wish = slash + 1;
    }
    const char *colon = wish ? strchr(wish, ':') : NULL;
    if (!colon)
        return;
    for (int kind = 0; kind < ST_FAULT_KINDS; kind++)
        if (strlen(names[kind]) == (size_t)(colon - wish) &&
            strncmp(names[kind], wish, (size_t)(colon - wish)) == 0)
            st_fault_arm((st_fault)kind, strtoul(colon + 1, NULL, 10));
}

__attribute__((constructor)) static void read_environment(int argc, char **argv)
{
    if (argc == 3 && argv && strcmp(argv[1], "--internal") == 0)
        role = argv[2];
    once_file = getenv("SIMTUNE_FAULT_ONCE");
    count_file = getenv("SIMTUNE_FAULT_COUNT");
    for (int kind = 0; kind < ST_FAULT_KINDS && count_file; kind++)
        places[kind] = calloc(PLACES, sizeof *places[kind]);
    atomic_store(&watched, count_file != NULL);
    arm_from_environment();
}

static bool first_of_the_run(void)
{
    if (!once_file)
        return true;
    int fd = open(once_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

bool st_fault_here(st_fault kind)
{
    if (!atomic_load_explicit(&watched, memory_order_relaxed))
        return false;
    if (count_file)
        count_pass(kind);
    unsigned long left = atomic_load(&passes_left[kind]);
    while (left != 0) {
        if (atomic_compare_exchange_weak(&passes_left[kind], &left, left - 1)) {
            if (left != 1 || !first_of_the_run())
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
    bool armed = count_file != NULL;
    for (int k = 0; k < ST_FAULT_KINDS; k++)
        armed = armed || atomic_load(&passes_left[k]) != 0;
    atomic_store(&watched, armed);
}

bool st_fault_injected(st_fault kind)
{
    return atomic_load(&injected[kind]);
}
