// SPDX-License-Identifier: Apache-2.0
// Samples per instruction.
//
// Invariants:
//  1. An instruction is (function name, offset): the same kernel sampled in many runs is one entry.
//  2. A bucket holds an entry's index + 1 or 0; at most half of the buckets are taken.
//  3. `samples` includes `not_issued`, as PC sampling counts them.
#include "cupti/pc_table.h"

#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void st_pc_table_clear(st_pc_table *table) {
    for (size_t i = 0; i < table->function_count; i++)
        st_free(table->functions[i].name);
    table->function_count = 0;
    table->entry_count = 0;
    if (table->buckets)
        memset(table->buckets, 0, table->bucket_count * sizeof *table->buckets);
}

void st_pc_table_release(st_pc_table *table) {
    st_pc_table_clear(table);
    st_free(table->functions);
    st_free(table->entries);
    st_free(table->buckets);
    *table = (st_pc_table){0};
}

// Few functions (the kernels of a candidate), so a walk is enough.
static bool find_function(st_pc_table *table, const char *name, bool ours, uint32_t *index) {
    for (size_t i = table->function_count; i-- > 0;)
        if (table->functions[i].ours == ours && strcmp(table->functions[i].name, name) == 0) {
            *index = (uint32_t)i;
            return true;
        }
    st_pc_function *grown = st_grow(table->functions, &table->function_capacity,
                                    table->function_count + 1, sizeof *grown);
    char *copy = grown ? st_strdup(name) : NULL;
    if (grown)
        table->functions = grown;
    if (!copy)
        return false;
    *index = (uint32_t)table->function_count;
    table->functions[table->function_count++] = (st_pc_function){.name = copy, .ours = ours};
    return true;
}

static size_t hash_of(uint32_t function, uint64_t offset) {
    uint64_t x = offset * 0x9E3779B97F4A7C15u ^ (uint64_t)function * 0xC2B2AE3D27D4EB4Fu;
    return (size_t)(x ^ x >> 29);
}

static void put(st_pc_table *table, size_t index) {
    const st_pc_entry *entry = &table->entries[index];
    size_t b = hash_of(entry->function, entry->offset) & (table->bucket_count - 1);
    while (table->buckets[b])
        b = (b + 1) & (table->bucket_count - 1);
    table->buckets[b] = (uint32_t)index + 1;
}

// Room for one more entry (invariant 2).
static bool reserve(st_pc_table *table) {
    st_pc_entry *grown =
        st_grow(table->entries, &table->entry_capacity, table->entry_count + 1, sizeof *grown);
    if (!grown)
        return false;
    table->entries = grown;
    if ((table->entry_count + 1) * 2 <= table->bucket_count)
        return true;
    size_t count = table->bucket_count ? table->bucket_count * 2 : 1024;
    uint32_t *buckets = st_calloc(count, sizeof *buckets);
    if (!buckets)
        return false;
    st_free(table->buckets);
    table->buckets = buckets;
    table->bucket_count = count;
    for (size_t i = 0; i < table->entry_count; i++)
        put(table, i);
    return true;
}

st_pc_entry *st_pc_table_at(st_pc_table *table, const char *function, bool ours, uint64_t offset) {
    uint32_t f = 0;
    if (!find_function(table, function, ours, &f))
        return NULL;
    if (table->bucket_count) {
        size_t b = hash_of(f, offset) & (table->bucket_count - 1);
        for (; table->buckets[b]; b = (b + 1) & (table->bucket_count - 1)) {
            st_pc_entry *entry = &table->entries[table->buckets[b] - 1];
            if (entry->function == f && entry->offset == offset)
                return entry;
        }
    }
    if (!reserve(table))
        return NULL;
    st_pc_entry *entry = &table->entries[table->entry_count++];
    memset(entry, 0, sizeof *entry);
    entry->function = f;
    entry->offset = offset;
    put(table, table->entry_count - 1);
    return entry;
}

bool st_pc_table_knows_ours(const st_pc_table *table) {
    for (size_t i = 0; i < table->function_count; i++)
        if (table->functions[i].ours)
            return true;
    return false;
}

static bool counts(const st_pc_table *table, bool only_ours, const st_pc_entry *entry) {
    return !only_ours || table->functions[entry->function].ours;
}

static uint64_t entry_samples(const st_pc_entry *entry) {
    uint64_t sum = 0;
    for (size_t s = 0; s < ST_REASON_SLOTS; s++)
        sum += entry->samples[s];
    return sum;
}

uint64_t st_pc_table_samples(const st_pc_table *table) {
    bool only_ours = st_pc_table_knows_ours(table);
    uint64_t sum = 0;
    for (size_t i = 0; i < table->entry_count; i++)
        if (counts(table, only_ours, &table->entries[i]))
            sum += entry_samples(&table->entries[i]);
    return sum;
}

static int by_samples_reason(const void *a, const void *b) {
    const st_stall_sample *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    return strcmp(x->pc_name, y->pc_name);
}

static int by_samples_line(const void *a, const void *b) {
    const st_line_sample *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    int order = strcmp(x->function, y->function);
    if (order != 0)
        return order;
    return x->pc_offset < y->pc_offset ? -1 : x->pc_offset > y->pc_offset;
}

static int stall_index(const char *pc_name) {
    size_t count = 0;
    const st_stall *table = st_stalls(&count);
    const st_stall *found = st_stall_find(pc_name);
    return found ? (int)(found - table) : -1;
}

static bool make_reasons(const st_pc_table *table, bool only_ours, const char slot_names[][64],
                         size_t slot_count, st_stall_profile *out) {
    out->reasons = st_calloc(slot_count ? slot_count : 1, sizeof *out->reasons);
    if (!out->reasons)
        return false;
    for (size_t s = 0; s < slot_count; s++) {
        st_stall_sample reason = {.stall = stall_index(slot_names[s])};
        snprintf(reason.pc_name, sizeof reason.pc_name, "%s", slot_names[s]);
        for (size_t i = 0; i < table->entry_count; i++) {
            if (!counts(table, only_ours, &table->entries[i]))
                continue;
            reason.samples += table->entries[i].samples[s];
            reason.samples_not_issued += table->entries[i].not_issued[s];
        }
        out->total_samples += reason.samples;
        out->reasons[out->reason_count++] = reason;
    }
    qsort(out->reasons, out->reason_count, sizeof *out->reasons, by_samples_reason);
    return true;
}

// The reason that an instruction waits for most; issuing is none.
static int main_stall(const st_pc_entry *entry, const char slot_names[][64], size_t slot_count) {
    int best = -1;
    uint64_t most = 0;
    for (size_t s = 0; s < slot_count; s++) {
        if (entry->samples[s] <= most || strcmp(slot_names[s], "selected") == 0)
            continue;
        most = entry->samples[s];
        best = stall_index(slot_names[s]);
    }
    return best;
}

static bool make_lines(const st_pc_table *table, bool only_ours, const char slot_names[][64],
                       size_t slot_count, st_stall_profile *out) {
    out->lines = st_calloc(table->entry_count ? table->entry_count : 1, sizeof *out->lines);
    if (!out->lines)
        return false;
    for (size_t i = 0; i < table->entry_count; i++) {
        const st_pc_entry *entry = &table->entries[i];
        uint64_t samples = entry_samples(entry);
        if (!counts(table, only_ours, entry) || samples == 0)
            continue;
        st_line_sample *line = &out->lines[out->line_count++];
        snprintf(line->function, sizeof line->function, "%s",
                 table->functions[entry->function].name);
        line->pc_offset = entry->offset;
        line->samples = samples;
        line->main_stall = main_stall(entry, slot_names, slot_count);
    }
    qsort(out->lines, out->line_count, sizeof *out->lines, by_samples_line);
    return true;
}

st_code st_pc_table_profile(const st_pc_table *table, const char slot_names[][64],
                            size_t slot_count, st_stall_profile *out, st_error *error) {
    bool only_ours = st_pc_table_knows_ours(table);
    if (make_reasons(table, only_ours, slot_names, slot_count, out) &&
        make_lines(table, only_ours, slot_names, slot_count, out))
        return ST_OK;
    st_stall_profile_release(out);
    return st_fail_memory(error, "summing stall samples");
}
