// SPDX-License-Identifier: Apache-2.0
// Shared by emu_check*.c; emu_check.c opens with the invariants.
#ifndef SIMTUNE_GPU_EMU_CHECK_INTERNAL_H
#define SIMTUNE_GPU_EMU_CHECK_INTERNAL_H

#include "tuner/gpu/emu_check.h"

// --- emu_check_order.c: what a thread knows of others ----------------------------------------------
// Sorted by key, each key once. A thread's accesses with a clock below its bound are known.
typedef struct st_emu_knowledge_entry {
    uint64_t key; // KEY_BLOCK, KEY_THREAD or KEY_COPY
    uint32_t bound;
} st_emu_knowledge_entry;
typedef struct st_emu_knowledge { // shared and never changed once made
    unsigned references, count;
    st_emu_knowledge_entry entries[];
} st_emu_knowledge;

#define ST_EMU_KEY_BLOCK(block) ((uint64_t)(block) << 16) // all its threads, but not their copies
#define ST_EMU_KEY_THREAD(block, thread) ((uint64_t)(block) << 16 | (1u + (thread)))
#define ST_EMU_KEY_COPY(block, thread) ((uint64_t)(block) << 16 | 0x8000u | (thread))
#define ST_EMU_PC_CACHE 32

typedef struct st_emu_check_thread {
    uint32_t clock; // grows whenever others may learn of what was done before
    uint32_t
        arrived; // its bound at the cluster's barrier that is not complete; 0: none, or relaxed
    bool waited; // may touch what the kernel before has written (dependent launches)
    uint32_t lanes[ST_EMU_WARP]; // bounds of its warp
    st_emu_knowledge *far;       // of all others
    st_emu_knowledge *fenced[2]; // at its last fence, by scope: 0 device, 1 block
    uintptr_t last_volatile;     // where it read last
    st_emu_knowledge *seen[2];   // by relaxed loads, not known before a fence
    struct {
        uint32_t key, clock, id;
    } accesses[ST_EMU_PC_CACHE]; // ids given to the last ones
} st_emu_check_thread;

// --- emu_check.c, emu_check_regions.c, emu_check_atomics.c ---------------------------------------
enum {                  // ids of accesses; those of kernels come after them
    ST_EMU_NEVER = 0,   // not written since it was allocated
    ST_EMU_NOTHING = 1, // filled with 0xFF by the host
    ST_EMU_HOST = 2,
    ST_EMU_FIRST_ID = 16
};

typedef struct st_emu_context { // of an access
    uint32_t block, clock, pc;
    uint16_t thread;
    uint16_t kind; // READ, WRITE, STRONG and these:
} st_emu_context;
#define ST_EMU_COPYING 8u // asynchronously
#define ST_EMU_NARROW 16u // an atomic of block scope

// A stretch of memory with a shadow: for each byte the ids of its last write and of two reads since.
typedef struct st_emu_region {
    uintptr_t map;
    size_t mapped;
    uintptr_t data;
    size_t bytes;
    uint32_t *write, *read, *other;
    size_t shadow_bytes; // of the three together
    uint32_t first;      // shared memory: ids below are of former blocks
    struct st_emu_check_block *owner;
} st_emu_region;

typedef struct st_emu_check_block {
    uint32_t number;
    uint32_t bound; // every thread's accesses with a clock below are known to the others
    st_emu_region shared;
    st_emu_check_thread *threads;
    unsigned capacity, restarts;
} st_emu_check_block;

typedef struct st_emu_place { // what acquires and releases meet at: an address
    uintptr_t at;
    st_emu_knowledge *known[2]; // released: 0 to the device, 1 to `block`
    uint32_t block;
    // The value before the last strong store, for one load that need not see the new one.
    bool has_old;
    uint64_t old[2];
    uint32_t writer;
} st_emu_place;

typedef struct st_emu_finding {
    bool found;
    char kind[24];
    char what[256];
    st_emu_context by, other;
    bool has_other, other_kernel;
} st_emu_finding;

typedef struct st_emu_doubt { // a write after a write that is a race if it changes anything
    uintptr_t at;
    unsigned bytes; // 0: none
    uint8_t before[16];
    st_emu_context by, other;
} st_emu_doubt;

struct st_emu_check {
    st_emu_region **regions;
    size_t region_count, region_capacity, last_region;
    st_emu_context *contexts; // by id - window
    uint32_t next, window;
    uint32_t launch_first; // the first id of this launch; from `window` on, those of the one before
    unsigned restarts;     // of ids
    bool dependent, trusted;
    uint32_t block_base,
        blocks;           // numbers of blocks begin there: those of the kernel before are others
    st_emu_place *places; // open addressing
    size_t place_count, place_capacity;
    st_emu_finding finding; // its `what` is that of the doubt while there is one
    st_emu_doubt doubt;
    uint32_t last_pc;
    uintptr_t base; // of the program
    const struct st_gpu_module *module;
    st_emu_knowledge *join_a, *join_b, *join_result; // of the last join
};

#define ST_EMU_MOST_CONTEXTS ((uint32_t)32 << 20) // of a launch; beyond, older ones are forgotten

// What `at` belongs to; NULL for what is not ours.
st_emu_region *st_emu_check_region(st_emu_check *check, st_emu_runner *runner, uintptr_t at);
// Checks and notes an access of the running thread. Returns its id, and the region; 0 when the
// address is not ours (a stack, the program's own data).
uint32_t st_emu_check_touch(st_emu_runner *runner, const void *at, size_t bytes, unsigned kind,
                            const void *pc, st_emu_region **where);
// Is what `id` names (of this launch, or of the one before) ordered before the running thread?
bool st_emu_check_is_known(st_emu_runner *runner, uint32_t id);
// Gives up the launch: memory is out.
void st_emu_check_no_memory(st_emu_runner *runner) __attribute__((noreturn));

st_emu_check_thread *st_emu_check_self(st_emu_runner *runner);
st_emu_knowledge *st_emu_knowledge_keep(st_emu_knowledge *known);
void st_emu_knowledge_drop(st_emu_knowledge *known);
// What both know; takes over neither. NULL for nothing.
st_emu_knowledge *st_emu_knowledge_join(st_emu_runner *runner, st_emu_knowledge *a,
                                        st_emu_knowledge *b);
// *into = *into and `more`.
void st_emu_knowledge_add(st_emu_runner *runner, st_emu_knowledge **into, st_emu_knowledge *more);
// All that the thread knows and has done until now; its clock moves on.
st_emu_knowledge *st_emu_knowledge_of(st_emu_runner *runner, st_emu_check_block *block,
                                      unsigned thread);
uint32_t st_emu_knowledge_bound(const st_emu_knowledge *known, uint64_t key);
// Does `self` (thread `thread` of `block`) know of this access?
bool st_emu_check_knows(const st_emu_check_block *block, const st_emu_check_thread *self,
                        unsigned thread, const st_emu_context *access);
void st_emu_check_thread_clear(st_emu_check_thread *thread);

st_emu_place *st_emu_check_place(st_emu_check *check, uintptr_t at); // or NULL
st_emu_place *st_emu_check_place_make(st_emu_runner *runner, uintptr_t at);
void st_emu_check_places_clear(st_emu_check *check, uintptr_t from, size_t bytes);
// What a store or change at this place hands over to whoever acquires there.
void st_emu_check_hand_over(st_emu_runner *runner, st_emu_place *place, bool releases, bool narrow);
void st_emu_check_acquire(st_emu_runner *runner, const st_emu_place *place, bool narrow,
                          bool later);

#endif
