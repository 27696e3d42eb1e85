// SPDX-License-Identifier: Apache-2.0
// What the files of the emulated device share. The picture and the invariants stand in emu_run.c.
#ifndef SIMTUNE_GPU_EMU_INTERNAL_H
#define SIMTUNE_GPU_EMU_INTERNAL_H

#include "templates/emu/abi.h"
#include "tuner/base/error.h"
#include "tuner/gpu/emu.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_EMU_WARP 32
#define ST_EMU_MAX_WARPS 32 // of a block
#define ST_EMU_BARRIERS 16
#define ST_EMU_MAX_CLUSTER 16
#define ST_EMU_PORTABLE_CLUSTER 8
#define ST_EMU_MESSAGE 768
#define ST_EMU_STACK ((size_t)256 << 10) // of a thread
#define ST_EMU_PAGE ((size_t)4096)
#define ST_EMU_SHARED_GUARD ((size_t)64 << 10)

// Functions that run on a fiber's stack: AddressSanitizer must not take it for the thread's own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ST_EMU_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(ST_EMU_ADDRESS_SANITIZER)
#define ST_EMU_ON_FIBER __attribute__((no_sanitize_address))
#else
#define ST_EMU_ON_FIBER
#endif

// --- emu_fiber.c
// ------------------------------------------------------------------------------------- Saves the
// running context in *save and continues the one in `load`.
void st_emu_switch(void **save, void *load);
// A context that begins in st_emu_fiber_start() on the stack that ends at `top`.
void *st_emu_fiber_prepare(char *top);
void st_emu_fiber_start(void) __attribute__((noreturn)); // emu_run.c

// --- one thread, one warp, one block -----------------------------------------------------------
typedef enum st_emu_state {
    ST_EMU_READY,
    ST_EMU_YIELDED,
    ST_EMU_AT_COLLECTIVE,
    ST_EMU_AT_BARRIER,
    ST_EMU_AT_CLUSTER,
    ST_EMU_EXITED
} st_emu_state;

typedef struct st_emu_copy { // an asynchronous copy that has not been done yet
    struct st_emu_copy *next;
    void *to;
    const void *from;
    unsigned bytes, zeros;
    unsigned group;          // of its thread
    uint32_t ticket;         // checking mode
    simtune_emu_u64 *object; // bulk: completes on this
} st_emu_copy;

typedef struct st_emu_fiber {
    struct simtune_emu_thread view; // what the program sees
    void *context;                  // while it does not run
    unsigned index;                 // in the block
    st_emu_state state;
    unsigned barrier; // AT_BARRIER: which
    int kind;         // AT_COLLECTIVE: which operation
    const char *file; // where it waits
    int line;
    unsigned cluster_phase; // of its last arrival at the cluster's barrier, plus 1; 0: none
    unsigned copy_group;    // the group that copies are added to
    st_emu_copy *copies;    // oldest first
} st_emu_fiber;

typedef struct st_emu_warp {
    uint32_t alive, ready, yielded;
    uint32_t waiting; // at a collective
    uint32_t at_barrier[ST_EMU_BARRIERS];
    uint8_t rotation; // the order in which lanes run
    bool descending;
    uint32_t mask[ST_EMU_WARP];  // of the collective that a lane waits at
    uint64_t value[ST_EMU_WARP]; // its operand, then its result
    uint32_t argument[ST_EMU_WARP];
    int width[ST_EMU_WARP];
} st_emu_warp;

typedef struct st_emu_barrier_state {
    unsigned arrived, expected; // expected: of a named barrier
    unsigned arrived_only;      // bar.arrive: counted, not waiting
    unsigned count;             // predicates that were true
    int kind;
    const char *file;
    int line;
    unsigned first; // the thread that came first
} st_emu_barrier_state;

struct st_emu_cluster;
typedef struct st_emu_block {
    st_emu_fiber *fibers;
    unsigned capacity, threads, alive;
    unsigned warp_count;
    uint32_t ready_warps, yielded_warps; // bit a warp
    uint8_t rotation;
    unsigned current_warp;
    st_emu_warp warps[ST_EMU_MAX_WARPS];
    st_emu_barrier_state barriers[ST_EMU_BARRIERS];
    int result; // of the last predicated barrier
    unsigned index[3];
    unsigned rank; // in its cluster
    struct st_emu_cluster *cluster;
    st_emu_copy *bulk; // bulk copies under way
    char *stacks;      // capacity × ST_EMU_STACK
    char *shared_map;  // the block's shared memory ends at an inaccessible page
    size_t shared_capacity, shared_bytes;
    char *shared;
    struct st_emu_check_block *checked; // checking mode
    bool triggered;                     // lets a dependent launch begin
    struct st_emu_block *next_free;
} st_emu_block;

typedef struct st_emu_cluster {
    st_emu_block *blocks[ST_EMU_MAX_CLUSTER];
    unsigned size, phase, arrived, alive_blocks;
    struct st_emu_knowledge *arrived_far, *known; // checking mode
} st_emu_cluster;

// --- one launch --------------------------------------------------------------------------------
typedef struct st_emu_counts { // of what was really executed
    uint64_t barriers;        // of blocks, each once
    uint64_t cluster_barriers;
    uint64_t collectives;     // of warps, each once
    uint64_t atomics;         // of threads
    uint64_t shared_uses;     // of threads: a shared variable was looked up
    uint64_t copied;          // bytes of asynchronous copies
    uint64_t threads;
} st_emu_counts;

// Where threads of a launch met, while it is profiled.
typedef enum st_emu_site_kind { ST_EMU_SITE_BARRIER, ST_EMU_SITE_COLLECTIVE, ST_EMU_SITE_CLUSTER } st_emu_site_kind;
typedef struct st_emu_site {
    st_emu_site_kind kind;
    const char *file; // the program's
    int line;
    uint64_t count;
} st_emu_site;

typedef struct st_emu_launch {
    const struct simtune_emu_kernel *kernel;
    struct simtune_emu_thread **self; // the program's
    unsigned grid[3], block[3], cluster;
    size_t static_shared, dynamic_shared, shared_align;
    unsigned resident; // blocks that run at the same time
    uint64_t seed;
    void **arguments;
    const struct st_gpu_module *module;
    bool dependent; // on the launch before, as far as the kernel waits for it
    struct st_emu_runner *before; // the launch before runs there still; NULL once it has ended
} st_emu_launch;

typedef enum st_emu_outcome {
    ST_EMU_DONE,    // every block has ended
    ST_EMU_PENDING, // the time slice is over
    ST_EMU_LAUNCH_FAILURE
} st_emu_outcome;

typedef struct st_emu_runner st_emu_runner; // keeps stacks and shared memory from launch to launch
// Where an address lies, for messages: appended to `out` (at most `capacity` bytes with the NUL).
typedef void st_emu_explain(void *context, uintptr_t address, char *out, size_t capacity);

st_emu_runner *st_emu_runner_make(st_emu_explain *explain, void *context);
void st_emu_runner_free(st_emu_runner *runner);
// Begins `launch` (borrowed until it is done); false when memory is out.
bool st_emu_runner_begin(st_emu_runner *runner, const st_emu_launch *launch);
// Runs it for at most `seconds` (negative: to its end) and at most `turns` of blocks (0: any number).
st_emu_outcome st_emu_runner_go(st_emu_runner *runner, double seconds, unsigned turns);
// Every block has let dependent launches begin, or has ended.
bool st_emu_runner_triggered(const st_emu_runner *runner);
const st_emu_counts *st_emu_runner_counts(const st_emu_runner *runner);
// Where threads met, since profiling was switched on; owned by the runner.
void st_emu_runner_profile(st_emu_runner *runner, bool on);
const st_emu_site *st_emu_runner_sites(const st_emu_runner *runner, size_t *count);
// Of ST_EMU_LAUNCH_FAILURE: "illegal address", "deadlock" …, and the sentence.
const char *st_emu_runner_message(const st_emu_runner *runner);
const struct simtune_emu_runtime *st_emu_runtime(void);

// --- shared by emu_run.c, emu_sync.c, emu_async.c, emu_trap.c ----------------------------------
struct st_emu_runner {
    st_emu_explain *explain;
    void *explain_context;
    const st_emu_launch *launch;
    void *main_context; // the scheduler, while a fiber runs
    st_emu_fiber *current;
    st_emu_block *block;             // of `current`
    volatile sig_atomic_t in_fibers; // a fiber's stack is in use
    volatile sig_atomic_t user;      // the running code is the kernel's own, not the runtime
    uint64_t random;
    uint64_t switches, seen_switches;
    uint64_t clock;
    st_emu_counts counts;
    // Blocks: numbers not begun but admitted, blocks running, blocks free for reuse.
    unsigned *admitted; // first block numbers of clusters
    unsigned admitted_count, admitted_capacity;
    unsigned next_cluster, cluster_count;
    st_emu_block **running;
    unsigned running_count, running_capacity;
    unsigned resident;
    unsigned triggered; // blocks that have triggered or ended
    st_emu_block *free_blocks;
    st_emu_site *sites; // NULL while nobody profiles
    size_t site_count;
    bool failed;
    char message[ST_EMU_MESSAGE];
    struct st_emu_traps *traps; // emu_trap.c
    struct st_emu_check *check; // NULL outside the checking mode; borrowed
};

extern st_emu_runner *st_emu_active; // the one that runs; NULL when none does

uint32_t st_emu_random(st_emu_runner *runner);
// Leaves the running fiber, which some list will make ready again; returns when it runs again.
void st_emu_reschedule(st_emu_runner *runner);
void st_emu_make_ready(st_emu_block *block, unsigned warp, uint32_t lanes);
// Ends the launch with a message that begins "KERNEL, block (x,y,z), thread (x,y,z): ". Does not
// return.
void st_emu_stop(st_emu_runner *runner, SIMTUNE_EMU_PLACE, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));
void st_emu_message(st_emu_runner *runner, const st_emu_block *block, const st_emu_fiber *fiber,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
void st_emu_yield(void);
// A meeting is complete: counts its place while the launch is profiled.
void st_emu_note_site(st_emu_runner *runner, st_emu_site_kind kind, SIMTUNE_EMU_PLACE);

// emu_block.c
// A block with stacks and shared memory for this launch; NULL when memory is out.
st_emu_block *st_emu_block_take(st_emu_runner *runner, unsigned threads);
void st_emu_block_free(st_emu_block *block);
void st_emu_block_start_threads(st_emu_runner *runner, st_emu_block *block);

// emu_sync.c
simtune_emu_u64 st_emu_collective(int kind, unsigned mask, simtune_emu_u64 value, unsigned argument,
                                  int width, SIMTUNE_EMU_PLACE);
int st_emu_barrier(int kind, unsigned id, unsigned threads, int predicate, SIMTUNE_EMU_PLACE);
void st_emu_barrier_arrive(unsigned id, unsigned threads, SIMTUNE_EMU_PLACE);
// A thread of `block` has exited: whoever waited only for it goes on.
void st_emu_sync_exit(st_emu_runner *runner, st_emu_block *block, st_emu_fiber *fiber);
// "thread (5,0,0) waits at __syncthreads (reduce.cu:12)", and for whom.
void st_emu_describe_wait(const st_emu_block *block, const st_emu_fiber *fiber, char *out,
                          size_t capacity);

// emu_async.c
unsigned st_emu_cluster_rank(void);
unsigned st_emu_cluster_size(void);
void st_emu_cluster_arrive(int relaxed, SIMTUNE_EMU_PLACE);
void st_emu_cluster_wait(SIMTUNE_EMU_PLACE);
void *st_emu_cluster_shared(const void *own, unsigned rank, SIMTUNE_EMU_PLACE);
void st_emu_cluster_exit(st_emu_block *block, st_emu_fiber *fiber);
void st_emu_copy_async(void *to, const void *from, unsigned bytes, unsigned zeros);
void st_emu_copy_commit(void);
void st_emu_copy_wait(unsigned groups_left);
void st_emu_bulk_copy(void *to, const void *from, unsigned bytes, simtune_emu_u64 *object);
void st_emu_object_init(simtune_emu_u64 *object, unsigned count);
void st_emu_object_arrive(simtune_emu_u64 *object, unsigned expected_bytes);
int st_emu_object_test(simtune_emu_u64 *object, unsigned parity);
void st_emu_copies_finish(st_emu_fiber *fiber); // those of a thread that exits
void st_emu_bulk_finish(st_emu_block *block);
void st_emu_copies_drop(st_emu_copy **list);

// emu_trap.c: signals while fibers run.
struct st_emu_traps *st_emu_traps_make(void);
void st_emu_traps_free(struct st_emu_traps *traps);
void st_emu_traps_enter(st_emu_runner *runner);
void st_emu_traps_leave(st_emu_runner *runner);

// --- emu_elf.c: symbols of objects that we compiled --------------------------------------------
typedef struct st_elf_symbol {
    const char *name; // borrowed from the image
    uint64_t value, size;
    bool is_tls, is_undefined, is_function;
} st_elf_symbol;
// Calls `visit` for each symbol until it returns false. ST_FAILED when it is not an object of this
// machine.
st_code st_elf_symbols(const void *image, size_t bytes,
                       bool (*visit)(void *context, const st_elf_symbol *symbol), void *context,
                       st_error *error);
// Makes every thread-local variable of an object file `bytes` longer than its symbol says: a gap
// that belongs to none behind each.
void st_elf_widen_tls(void *image, size_t length, size_t bytes);
// Size and alignment of the thread-local segment of a shared object; 0 and 1 when it has none.
st_code st_elf_tls(const void *image, size_t bytes, size_t *size, size_t *align, st_error *error);

// --- emu_model.c -------------------------------------------------------------------------------
extern const st_device_facts st_emu_devices[2];
typedef struct st_emu_model_input {
    const st_device_facts *device;
    unsigned blocks, threads, cluster; // of the grid, of a block, of a cluster
    int blocks_per_sm, registers, spilled; // spilled: bytes a thread
    unsigned held;                     // bytes a thread can have under way
    size_t shared_bytes;               // of a block
    double hit_bytes, miss_bytes;      // of the buffers that the arguments name: in L2, not in L2
    bool dependent;                    // its launch was prepared while the one before ran
    const st_emu_counts *counts;
} st_emu_model_input;
// The terms of one launch's time in nanoseconds, and what they were made of.
typedef struct st_emu_account {
    double launch, memory, issue, barrier, cluster, exchange, shared, atomic;
    double total;        // without noise
    double instructions; // of warps
    double in_flight;    // bytes under way over bytes needed for the full bandwidth
    double warps_per_sm, sms; // resident; SMs with work
} st_emu_account;
void st_emu_model_launch(const st_emu_model_input *input, st_emu_account *out);
double st_emu_model_copy(const st_device_facts *device, size_t bytes);
double st_emu_model_noise(uint64_t key, uint64_t count); // 1 ± 0.5 %
int st_emu_model_registers(uint64_t code_bytes, unsigned frame_bytes);
// As few as __launch_bounds__ asks for; *spilled: bytes a thread that do not fit any more.
int st_emu_model_bounded(const st_device_facts *device, int registers, unsigned max_threads,
                         unsigned min_blocks, int *spilled);
int st_emu_model_occupancy(const st_device_facts *device, unsigned block, int registers,
                           size_t shared_bytes);
double st_emu_model_bandwidth(const st_device_facts *device); // bytes a nanosecond
uint64_t st_emu_mix(uint64_t a, uint64_t b);
uint64_t st_emu_mix_text(uint64_t a, const char *text);

// --- emu_module.c ------------------------------------------------------------------------------
struct st_gpu_kernel {
    const struct simtune_emu_kernel *kernel;
    struct st_gpu_module *module;
    st_kernel_facts facts; // local_bytes: what __launch_bounds__ left no registers for
    unsigned held;         // bytes of its arrays
};
struct st_gpu_module {
    void *handle;
    int fd;
    uintptr_t base; // where it was loaded
    uint64_t hash;  // of its image
    const struct simtune_emu_module *table;
    size_t shared_static, shared_align;
    struct st_gpu_kernel *kernels; // as the table
    // Checking mode: which shared variable each byte of the static shared memory belongs to.
    uint16_t *shared_owner; // index in shared_variables plus 1; 0: none
    struct st_emu_variable *shared_variables;
    size_t shared_variable_count, shared_variable_capacity;
    struct st_gpu_module *next;    // of the device
};
typedef struct st_emu_variable {
    char name[64];
    size_t offset, bytes;
} st_emu_variable;
st_code st_emu_module_load(const void *image, size_t bytes, const st_device_facts *device,
                           st_gpu_module **out, st_error *error);
void st_emu_module_unload(st_gpu_module *module);

#endif
