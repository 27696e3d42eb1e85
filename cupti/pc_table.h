// SPDX-License-Identifier: Apache-2.0
// Private to cupti/: samples summed per instruction over runs, kernels and buffers. Pure: no CUPTI.
#ifndef SIMTUNE_CUPTI_PC_TABLE_H
#define SIMTUNE_CUPTI_PC_TABLE_H

#include "cupti/counters.h"

#define ST_REASON_SLOTS 64 // distinct reasons at most (chips have 20)

typedef struct st_pc_function {
    char *name; // owned
    bool ours;  // of the module that is asked for
} st_pc_function;

typedef struct st_pc_entry {
    uint64_t offset;
    uint32_t function; // index
    uint64_t samples[ST_REASON_SLOTS], not_issued[ST_REASON_SLOTS];
} st_pc_entry;

typedef struct st_pc_table {
    st_pc_function *functions;
    size_t function_count, function_capacity;
    st_pc_entry *entries;
    size_t entry_count, entry_capacity;
    uint32_t *buckets; // index of an entry + 1; 0 is free. bucket_count is 0 or a power of two
    size_t bucket_count;
} st_pc_table;

// One reason as PC sampling numbers it: where it is summed. slot -1: not a reason (ignored).
typedef struct st_reason_slot {
    int slot;
    bool not_issued;
} st_reason_slot;

void st_pc_table_clear(st_pc_table *table); // forgets samples, keeps the memory
void st_pc_table_release(st_pc_table *table);
// The entry of an instruction, made when it is new; NULL when memory is out. Valid until the next
// call.
st_pc_entry *st_pc_table_at(st_pc_table *table, const char *function, bool ours, uint64_t offset);
// Samples so far, of the functions that count (see st_pc_table_profile).
uint64_t st_pc_table_samples(const st_pc_table *table);
// Whether samples of the module that is asked for were met.
bool st_pc_table_knows_ours(const st_pc_table *table);
// Makes the sums of a profile: reasons (most samples first) and lines (most samples first, `line`,
// `file` still unknown). slot_names[slot] is PC sampling's spelling without prefix. When any
// function is `ours`, the others (cache flush, fills) are left out.
st_code st_pc_table_profile(const st_pc_table *table, const char slot_names[][64],
                            size_t slot_count, st_stall_profile *out, st_error *error);

#endif
