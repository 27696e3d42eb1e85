// SPDX-License-Identifier: Apache-2.0
// What a program compiled for the emulated device and the process that runs it know of each other.
// Plain C, included by cuda_on_cpu.h (C++11, in the compiled program) and by tuner/gpu/emu_*.c.
#ifndef SIMTUNE_EMU_ABI_H
#define SIMTUNE_EMU_ABI_H

#define SIMTUNE_EMU_ABI 3u
#define SIMTUNE_EMU_MODULE_SYMBOL "simtune_emu_module_table"

typedef unsigned long long simtune_emu_u64;
typedef struct simtune_emu_index {
    unsigned x, y, z;
} simtune_emu_index;

// What a running thread sees of itself. The runtime points the program's `self` at the running one.
struct simtune_emu_thread {
    simtune_emu_index thread_index, block_index, block_size, grid_size;
    char *shared;            // the block's shared memory: the static part, then the dynamic part
    unsigned lane;           // 0 … 31
    unsigned touches;        // atomics and ordered loads since this thread last let others run
    unsigned dynamic_shared; // bytes
    unsigned narrow;         // checking mode: the next atomic is of block scope
    unsigned shared_uses;    // how often it looked up a shared variable
    unsigned atomics;        // read-modify-writes so far
};

// __launch_bounds__(max, min) becomes 1 + (warps of max - 1) * BOUNDS_BLOCKS + min no-operations before the
// kernel: an attribute is all that stands in that place of a declaration and may depend on a template.
#define SIMTUNE_EMU_BOUNDS_BLOCKS 33
#if defined(__aarch64__)
#define SIMTUNE_EMU_NOP_BYTES 4
#else
#define SIMTUNE_EMU_NOP_BYTES 1
#endif

// A source position, for messages.
#define SIMTUNE_EMU_PLACE const char *file, int line

enum simtune_emu_collective {
    SIMTUNE_EMU_SYNCWARP,
    SIMTUNE_EMU_SHFL,
    SIMTUNE_EMU_SHFL_UP,
    SIMTUNE_EMU_SHFL_DOWN,
    SIMTUNE_EMU_SHFL_XOR,
    SIMTUNE_EMU_BALLOT,
    SIMTUNE_EMU_ANY,
    SIMTUNE_EMU_ALL,
    SIMTUNE_EMU_MATCH_ANY,
    SIMTUNE_EMU_MATCH_ALL,
    SIMTUNE_EMU_REDUCE_ADD,
    SIMTUNE_EMU_REDUCE_MIN_U,
    SIMTUNE_EMU_REDUCE_MAX_U,
    SIMTUNE_EMU_REDUCE_MIN_S,
    SIMTUNE_EMU_REDUCE_MAX_S,
    SIMTUNE_EMU_REDUCE_AND,
    SIMTUNE_EMU_REDUCE_OR,
    SIMTUNE_EMU_REDUCE_XOR,
    SIMTUNE_EMU_COLLECTIVES
};

// Checking mode (checks.h): what a reported access is.
enum simtune_emu_access {
    SIMTUNE_EMU_READ = 1,
    SIMTUNE_EMU_WRITE = 2,
    SIMTUNE_EMU_STRONG = 4 // volatile or atomic: two of these are no race
};
// Orders of atomics, as the compiler's __ATOMIC_*.
enum simtune_emu_order {
    SIMTUNE_EMU_RELAXED = 0,
    SIMTUNE_EMU_ACQUIRE = 2,
    SIMTUNE_EMU_RELEASE = 3,
    SIMTUNE_EMU_ACQUIRE_RELEASE = 4
};

enum simtune_emu_barrier {
    SIMTUNE_EMU_BARRIER,
    SIMTUNE_EMU_BARRIER_COUNT,
    SIMTUNE_EMU_BARRIER_AND,
    SIMTUNE_EMU_BARRIER_OR
};

struct simtune_emu_runtime {
    // One lane's part in a warp-wide operation; returns when all lanes of `mask` have arrived.
    simtune_emu_u64 (*collective)(int kind, unsigned mask, simtune_emu_u64 value, unsigned argument,
                                  int width, SIMTUNE_EMU_PLACE);
    // Block barrier `id`; `threads` 0: all of the block that have not exited.
    int (*barrier)(int kind, unsigned id, unsigned threads, int predicate, SIMTUNE_EMU_PLACE);
    void (*barrier_arrive)(unsigned id, unsigned threads, SIMTUNE_EMU_PLACE); // without waiting
    void (*yield)(void);                               // lets every other thread run first
    void (*fail)(const char *what, SIMTUNE_EMU_PLACE); // ends the launch; does not return
    unsigned (*cluster_rank)(void);
    unsigned (*cluster_size)(void);
    void (*cluster_arrive)(int relaxed, SIMTUNE_EMU_PLACE); // relaxed: orders no memory
    void (*cluster_wait)(SIMTUNE_EMU_PLACE);
    // Where the block `rank` of the cluster has what `own` is in this block.
    void *(*cluster_shared)(const void *own, unsigned rank, SIMTUNE_EMU_PLACE);
    // Asynchronous copies: done as late as allowed, so that a missing wait shows.
    void (*copy_async)(void *to, const void *from, unsigned bytes, unsigned zeros);
    void (*copy_commit)(void);
    void (*copy_wait)(unsigned groups_left);
    // Bulk copies complete on a 64-bit barrier object in shared memory.
    void (*bulk_copy)(void *to, const void *from, unsigned bytes, simtune_emu_u64 *barrier);
    void (*object_init)(simtune_emu_u64 *barrier, unsigned count);
    void (*object_arrive)(simtune_emu_u64 *barrier, unsigned expected_bytes);
    int (*object_test)(simtune_emu_u64 *barrier, unsigned parity);
    simtune_emu_u64 (*clock)(void);
    void (*dependency_wait)(void);
    void (*dependency_trigger)(void);
    // Checking mode. `pc`: of the access; null: where the call returns to.
    void (*access)(const void *at, unsigned long bytes, unsigned kind, const void *pc);
    void (*fence)(int narrow);
    // 1, 2, 4 or 8 bytes. A load may give the value before the last one, as hardware may.
    simtune_emu_u64 (*atomic_load)(const void *at, unsigned bytes, int order, const void *pc);
    void (*atomic_store)(void *at, unsigned bytes, simtune_emu_u64 value, int order,
                         const void *pc);
    void (*atomic_load_wide)(const void *at, simtune_emu_u64 out[2], int order); // 16 bytes
    void (*atomic_store_wide)(void *at, const simtune_emu_u64 value[2], int order);
    // A read-modify-write: no other thread runs between begin, which gives the value, and end.
    simtune_emu_u64 (*atomic_begin)(void *at, unsigned bytes, int order, const void *pc);
    void (*atomic_end)(void *at, unsigned bytes, simtune_emu_u64 value);
    void *(*copy)(void *to, const void *from, unsigned long bytes, const void *pc);
    void *(*set)(void *to, int value, unsigned long bytes, const void *pc);
};

struct simtune_emu_kernel {
    const char *name; // the name expression
    void (*call)(void **arguments);
    const void *function; // the kernel itself: its symbol tells its size
    unsigned argument_count;
    const unsigned *argument_sizes;
};

struct simtune_emu_module {
    unsigned abi;
    unsigned checked; // compiled for the checking mode
    unsigned kernel_count;
    const struct simtune_emu_kernel *kernels;
    struct simtune_emu_thread **self;           // written at each switch
    const struct simtune_emu_runtime **runtime; // written once, after loading
    void *const *bounds, *const *bounds_end;    // where the marks of __launch_bounds__ are
};

#endif
