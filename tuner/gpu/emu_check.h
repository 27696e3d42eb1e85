// SPDX-License-Identifier: Apache-2.0
// The checking mode of the emulated device: who has accessed what, and what orders it. Every hook is
// called where something happens and does nothing without a checker. The picture and the invariants
// stand in emu_check.c.
#ifndef SIMTUNE_GPU_EMU_CHECK_H
#define SIMTUNE_GPU_EMU_CHECK_H

#include "tuner/gpu/emu_internal.h"

typedef struct st_emu_check st_emu_check;

st_emu_check *st_emu_check_make(void); // NULL when memory is out
void st_emu_check_free(st_emu_check *check);

// --- memory, by the host -------------------------------------------------------------------------
// `map` … is what belongs to the allocation's neighbourhood, `data` … what may be accessed.
bool st_emu_check_add(st_emu_check *check, void *map, size_t mapped, void *data, size_t bytes);
void st_emu_check_remove(st_emu_check *check, const void *data);
// The host has written; a fill of 0xFF stands for "holds nothing" and is not a value to be read.
void st_emu_check_written(st_emu_check *check, const void *at, size_t bytes, bool nothing);

// --- a launch ------------------------------------------------------------------------------------
bool st_emu_check_begin(st_emu_check *check, st_emu_runner *runner);
void st_emu_check_end(st_emu_check *check);
bool st_emu_check_block_begin(st_emu_check *check, st_emu_block *block, unsigned number);
void st_emu_check_block_end(st_emu_check *check, st_emu_block *block);
void st_emu_check_block_free(st_emu_block *block);
// After the launch has failed: makes the finding the runner's message, or adds the line of the last
// access to the message that is there.
void st_emu_check_describe(st_emu_check *check, st_emu_runner *runner);

// --- accesses, on the running fiber --------------------------------------------------------------
void st_emu_check_access(const void *at, unsigned long bytes, unsigned kind, const void *pc);
simtune_emu_u64 st_emu_check_load(const void *at, unsigned bytes, int order, const void *pc);
void st_emu_check_store(void *at, unsigned bytes, simtune_emu_u64 value, int order, const void *pc);
void st_emu_check_load_wide(const void *at, simtune_emu_u64 out[2], int order); // 16 bytes
void st_emu_check_store_wide(void *at, const simtune_emu_u64 value[2], int order);
simtune_emu_u64 st_emu_check_begin_change(void *at, unsigned bytes, int order, const void *pc);
void st_emu_check_end_change(void *at, unsigned bytes, simtune_emu_u64 value);
void *st_emu_check_copy(void *to, const void *from, unsigned long bytes, const void *pc);
void *st_emu_check_set(void *to, int value, unsigned long bytes, const void *pc);
void st_emu_check_settle(st_emu_runner *runner); // a thread exits
void st_emu_check_fence(int narrow);
void st_emu_check_dependency(void);
// An asynchronous copy, reported when it begins: only who acquires `object` (a bulk copy), or the
// thread itself after st_emu_check_copied, may touch what it touches. Returns its ticket.
uint32_t st_emu_check_copy_begin(st_emu_runner *runner, void *to, const void *from, size_t bytes,
                                 size_t zeros, const void *pc);
void st_emu_check_copied(st_emu_runner *runner, uint32_t ticket); // cp.async was waited for
void st_emu_check_completed(st_emu_runner *runner, uint32_t ticket, const void *object);

// --- what orders threads -------------------------------------------------------------------------
void st_emu_check_barrier(st_emu_runner *runner,
                          st_emu_block *block); // complete, of the whole block
void st_emu_check_warp(st_emu_runner *runner, st_emu_block *block, unsigned warp, uint32_t lanes);
// Everything before `arrive` of the objects below is known after a `pass` of the same object.
void st_emu_check_arrive(st_emu_runner *runner, const void *object);
void st_emu_check_pass(st_emu_runner *runner, st_emu_block *block, unsigned thread,
                       const void *object);
void st_emu_check_cluster_arrive(st_emu_runner *runner, st_emu_cluster *cluster);
void st_emu_check_cluster_complete(st_emu_runner *runner, st_emu_cluster *cluster);
void st_emu_check_cluster_wait(st_emu_runner *runner, st_emu_cluster *cluster);
void st_emu_check_cluster_free(st_emu_cluster *cluster);

#endif
