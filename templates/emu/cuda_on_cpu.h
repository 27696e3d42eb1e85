// SPDX-License-Identifier: Apache-2.0
// CUDA's words for a host C++11 compiler: the emulated device compiles an unmodified template after
// this header. It stands for what NVRTC has built in, so it includes nothing of the system.
//
//  1. A thread is a fiber; all fibers of a launch share one thread of the operating system. The
//  global
//     `simtune_emu_self` is the running one.
//  2. `__shared__` is thread_local storage, and this program's own __tls_get_addr places it in the
//  running
//     block's memory: every block has its own, static and dynamic, and it starts as garbage (0xFF).
//  3. Nothing that waits spins here: it goes to the runtime, which runs the other threads.
//  4. What CUDA leaves undefined is an error that names the place, or the least friendly answer
//  allowed.
#ifndef SIMTUNE_CUDA_ON_CPU_H
#define SIMTUNE_CUDA_ON_CPU_H
#ifndef SIMTUNE_EMULATED
#define SIMTUNE_EMULATED 1
#endif
#include "abi.h"

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

// --- qualifiers --------------------------------------------------------------------------------
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __shared__ thread_local
#define __forceinline__ inline __attribute__((always_inline))
#if defined(__clang__) // takes no argument that depends on a template there
#define __launch_bounds__(...)
#else
constexpr int simtune_emu_bounds(unsigned threads, unsigned blocks = 0, unsigned = 0) {
    return threads == 0 ? 1 + 31 * SIMTUNE_EMU_BOUNDS_BLOCKS
                        : 1 +
                              (int)((threads > 1024 ? 1024 : threads) + 31) / 32 *
                                  SIMTUNE_EMU_BOUNDS_BLOCKS -
                              SIMTUNE_EMU_BOUNDS_BLOCKS + (int)(blocks > 32 ? 32 : blocks);
}
#define __launch_bounds__(...)                                                                     \
    __attribute__((patchable_function_entry(simtune_emu_bounds(__VA_ARGS__),                       \
                                            simtune_emu_bounds(__VA_ARGS__))))
#endif
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#ifndef __clang__
#define __builtin_assume(condition)
#endif
#define __noinline__ __attribute__((noinline))
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1

// Where a call stands, as default arguments of everything that can fail or wait.
#define SIMTUNE_EMU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define SIMTUNE_EMU_AT file, line
#define SIMTUNE_EMU_INLINE static inline __attribute__((always_inline, unused))

extern "C" {
// Hidden: each loaded program has its own.
__attribute__((visibility("hidden"))) extern struct simtune_emu_thread *simtune_emu_self;
__attribute__((visibility("hidden"))) extern const struct simtune_emu_runtime *simtune_emu_do;
}

// --- where a thread stands ---------------------------------------------------------------------
#define threadIdx (simtune_emu_self->thread_index)
#define blockIdx (simtune_emu_self->block_index)
#define blockDim (simtune_emu_self->block_size)
#define gridDim (simtune_emu_self->grid_size)
#define warpSize 32

#include "checks.h"
#include "cuda_types.h"

// --- barriers ----------------------------------------------------------------------------------
SIMTUNE_EMU_INLINE void __syncthreads(SIMTUNE_EMU_HERE) {
    simtune_emu_do->barrier(SIMTUNE_EMU_BARRIER, 0, 0, 0, SIMTUNE_EMU_AT);
}
SIMTUNE_EMU_INLINE int __syncthreads_count(int predicate, SIMTUNE_EMU_HERE) {
    return simtune_emu_do->barrier(SIMTUNE_EMU_BARRIER_COUNT, 0, 0, predicate, SIMTUNE_EMU_AT);
}
SIMTUNE_EMU_INLINE int __syncthreads_and(int predicate, SIMTUNE_EMU_HERE) {
    return simtune_emu_do->barrier(SIMTUNE_EMU_BARRIER_AND, 0, 0, predicate, SIMTUNE_EMU_AT);
}
SIMTUNE_EMU_INLINE int __syncthreads_or(int predicate, SIMTUNE_EMU_HERE) {
    return simtune_emu_do->barrier(SIMTUNE_EMU_BARRIER_OR, 0, 0, predicate, SIMTUNE_EMU_AT);
}
SIMTUNE_EMU_INLINE void __syncwarp(unsigned mask = 0xffffffffu, SIMTUNE_EMU_HERE) {
    simtune_emu_do->collective(SIMTUNE_EMU_SYNCWARP, mask, 0, 0, 32, SIMTUNE_EMU_AT);
}
SIMTUNE_EMU_INLINE void __threadfence(void) {
    SIMTUNE_EMU_FENCE(0);
}
SIMTUNE_EMU_INLINE void __threadfence_block(void) {
    SIMTUNE_EMU_FENCE(1);
}
SIMTUNE_EMU_INLINE void __threadfence_system(void) {
    SIMTUNE_EMU_FENCE(0);
}
SIMTUNE_EMU_INLINE void __nanosleep(unsigned) {
    simtune_emu_do->yield();
}
SIMTUNE_EMU_INLINE void __trap(SIMTUNE_EMU_HERE) {
    simtune_emu_do->fail("__trap was called", SIMTUNE_EMU_AT);
    __builtin_unreachable();
}
SIMTUNE_EMU_INLINE long long clock64(void) {
    return (long long)simtune_emu_do->clock();
}
SIMTUNE_EMU_INLINE long clock(void) {
    return (long)simtune_emu_do->clock();
}

// --- what a wait loop must pass, so that whoever it waits for can run --------------------------
// Called by atomics and by ordered loads; every so often lets the others run.
SIMTUNE_EMU_INLINE void simtune_emu_touch(unsigned limit) {
    if (++simtune_emu_self->touches >= limit) {
        simtune_emu_self->touches = 0;
        simtune_emu_do->yield();
    }
}

#include "cuda_math.h"
#include "cuda_memory.h"
#include "cuda_warp.h"

// --- hooks for simtune_device.cuh --------------------------------------------------------------
// What has no word in CUDA C++ without its headers and is inline PTX there.
SIMTUNE_EMU_INLINE void simtune_emu_yield(void) {
    simtune_emu_do->yield();
}
// Dynamic shared memory, without a declaration of its own.
SIMTUNE_EMU_INLINE unsigned simtune_emu_dynamic_shared_bytes(void) {
    return simtune_emu_self->dynamic_shared;
}
SIMTUNE_EMU_INLINE unsigned simtune_emu_lane(void) {
    return simtune_emu_self->lane;
}

// Clusters. A kernel launched without one is a cluster of one block.
SIMTUNE_EMU_INLINE unsigned simtune_emu_cluster_rank(void) {
    return simtune_emu_do->cluster_rank();
}
SIMTUNE_EMU_INLINE unsigned simtune_emu_cluster_size(void) {
    return simtune_emu_do->cluster_size();
}
SIMTUNE_EMU_INLINE void simtune_emu_cluster_arrive(SIMTUNE_EMU_HERE) {
    simtune_emu_do->cluster_arrive(0, SIMTUNE_EMU_AT);
}
// barrier.cluster.arrive.relaxed: says only that this thread is here.
SIMTUNE_EMU_INLINE void simtune_emu_cluster_arrive_relaxed(SIMTUNE_EMU_HERE) {
    simtune_emu_do->cluster_arrive(1, SIMTUNE_EMU_AT);
}
SIMTUNE_EMU_INLINE void simtune_emu_cluster_wait(SIMTUNE_EMU_HERE) {
    simtune_emu_do->cluster_wait(SIMTUNE_EMU_AT);
}
SIMTUNE_EMU_INLINE void simtune_emu_cluster_barrier(SIMTUNE_EMU_HERE) {
    simtune_emu_do->cluster_arrive(0, SIMTUNE_EMU_AT);
    simtune_emu_do->cluster_wait(SIMTUNE_EMU_AT);
}
// The same variable in block `rank` of the cluster: a plain pointer, to read and to write.
template <class T>
SIMTUNE_EMU_INLINE T *simtune_emu_cluster_shared(T *own, unsigned rank, SIMTUNE_EMU_HERE) {
    return (T *)simtune_emu_do->cluster_shared((const void *)own, rank, SIMTUNE_EMU_AT);
}

// bar.sync id, threads (and bar.arrive). `threads` is a multiple of 32.
SIMTUNE_EMU_INLINE void simtune_emu_named_barrier(unsigned id, unsigned threads, SIMTUNE_EMU_HERE) {
    simtune_emu_do->barrier(SIMTUNE_EMU_BARRIER, id, threads, 0, SIMTUNE_EMU_AT);
}
SIMTUNE_EMU_INLINE void simtune_emu_named_arrive(unsigned id, unsigned threads, SIMTUNE_EMU_HERE) {
    simtune_emu_do->barrier_arrive(id, threads, SIMTUNE_EMU_AT);
}

// Programmatic dependent launch: the dependent kernel begins once every block of the one before has
// triggered or ended, and waits here for its end.
SIMTUNE_EMU_INLINE void simtune_emu_dependency_wait(void) {
    simtune_emu_do->dependency_wait();
}
SIMTUNE_EMU_INLINE void simtune_emu_dependency_trigger(void) {
    simtune_emu_do->dependency_trigger();
}

// cp.async: `bytes` copied, then `zeros` bytes of zero. Complete late.
SIMTUNE_EMU_INLINE void simtune_emu_async_copy(void *to, const void *from, unsigned bytes,
                                               unsigned zeros = 0) {
    simtune_emu_do->copy_async(to, from, bytes, zeros);
}
SIMTUNE_EMU_INLINE void simtune_emu_async_commit(void) {
    simtune_emu_do->copy_commit();
}
// Waits until at most `groups_left` of this thread's groups are under way.
SIMTUNE_EMU_INLINE void simtune_emu_async_wait(unsigned groups_left) {
    simtune_emu_do->copy_wait(groups_left);
}
SIMTUNE_EMU_INLINE void simtune_emu_async_wait_all(void) {
    simtune_emu_do->copy_commit();
    simtune_emu_do->copy_wait(0);
}
// cp.async.bulk and mbarrier.
SIMTUNE_EMU_INLINE void simtune_emu_bulk_copy(void *to, const void *from, unsigned bytes,
                                              simtune_emu_u64 *barrier) {
    simtune_emu_do->bulk_copy(to, from, bytes, barrier);
}
SIMTUNE_EMU_INLINE void simtune_emu_mbarrier_init(simtune_emu_u64 *barrier, unsigned count) {
    simtune_emu_do->object_init(barrier, count);
}
SIMTUNE_EMU_INLINE void simtune_emu_mbarrier_arrive(simtune_emu_u64 *barrier) {
    simtune_emu_do->object_arrive(barrier, 0);
}
SIMTUNE_EMU_INLINE void simtune_emu_mbarrier_arrive_expect(simtune_emu_u64 *barrier,
                                                           unsigned bytes) {
    simtune_emu_do->object_arrive(barrier, bytes);
}
// True once the phase of that parity is complete; lets others run when it is not.
SIMTUNE_EMU_INLINE bool simtune_emu_mbarrier_test(simtune_emu_u64 *barrier, unsigned parity) {
    return simtune_emu_do->object_test(barrier, parity) != 0;
}

#endif
