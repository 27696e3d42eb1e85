// SPDX-License-Identifier: Apache-2.0
// Device facts as a program asks for them, and the small pieces of text that emission prints.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

// In the order of ST_DEVICE_FACTS. What a compute capability tells (CUDA C++ Programming Guide,
// table of technical specifications); of an unknown one the least that any has, so that nothing is
// promised.
#define BY_CC_SMEM                                                                                 \
    "cc == 75 ? 65536 : cc < 80 ? 98304 : cc == 80 || cc == 87 ? 166912 : "                        \
    "cc >= 90 && cc < 120 ? 232448 : 101376"
#define BY_CC_SMEM_SM                                                                              \
    "cc == 75 ? 65536 : cc < 80 ? 98304 : cc == 80 || cc == 87 ? 167936 : "                        \
    "cc >= 90 && cc < 120 ? 233472 : 102400"
static const st_emit_fact facts[] = {
    {"cc", "CC", "cc", NULL},
    {"sm_count", "SM_COUNT", "sm_count", "cudaDevAttrMultiProcessorCount"},
    {"warp_size", "WARP_SIZE", "32", "cudaDevAttrWarpSize"},
    {"max_threads_per_block", "MAX_THREADS_PER_BLOCK", "1024", "cudaDevAttrMaxThreadsPerBlock"},
    {"threads_per_sm", "THREADS_PER_SM",
     "cc == 75 ? 1024 : cc <= 80 || (cc >= 90 && cc < 110) ? 2048 : 1536",
     "cudaDevAttrMaxThreadsPerMultiProcessor"},
    {"max_blocks_per_sm", "MAX_BLOCKS_PER_SM",
     "cc == 75 || cc == 86 || cc == 87 ? 16 : cc == 89 || cc >= 110 ? 24 : 32",
     "cudaDevAttrMaxBlocksPerMultiprocessor"},
    {"registers_per_sm", "REGISTERS_PER_SM", "65536", "cudaDevAttrMaxRegistersPerMultiprocessor"},
    {"smem_per_block", "SMEM_PER_BLOCK", BY_CC_SMEM, "cudaDevAttrMaxSharedMemoryPerBlockOptin"},
    {"smem_per_sm", "SMEM_PER_SM", BY_CC_SMEM_SM, "cudaDevAttrMaxSharedMemoryPerMultiprocessor"},
    {"smem_reserved", "SMEM_RESERVED", "cc < 80 ? 0 : 1024",
     "cudaDevAttrReservedSharedMemoryPerBlock"},
    {"l2_bytes", "L2_BYTES", NULL, "cudaDevAttrL2CacheSize"},
    {"memory_bytes", "MEMORY_BYTES", NULL, NULL},
    {"memory_clock_khz", "MEMORY_CLOCK_KHZ", NULL, "cudaDevAttrMemoryClockRate"},
    {"memory_bus_bits", "MEMORY_BUS_BITS", NULL, "cudaDevAttrGlobalMemoryBusWidth"},
    {"sm_clock_khz", "SM_CLOCK_KHZ", NULL, "cudaDevAttrClockRate"},
    {"max_cluster", "MAX_CLUSTER", "cc >= 90 ? 8 : 1", NULL},
};
// A fact that is added to the table of gpu/device.h needs its row here.
#define X(field, name, unit, meaning) +1
_Static_assert(sizeof facts / sizeof facts[0] == 0 ST_DEVICE_FACTS(X), "one row a device fact");
#undef X

size_t st_emit_fact_count(void)
{
    return sizeof facts / sizeof facts[0];
}

const st_emit_fact *st_emit_fact_of(size_t index)
{
    return &facts[index];
}

void st_emit_string(const char *text, st_text *out)
{
    st_text_add(out, "\"");
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\' || c == '?')
            st_text_addf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            st_text_addf(out, "\\%03o", c);
        else
            st_text_add_bytes(out, at, 1);
    }
    st_text_add(out, "\"");
}

void st_emit_upper(const char *text, st_text *out)
{
    for (; *text; text++) {
        char c = isalnum((unsigned char)*text) ? (char)toupper((unsigned char)*text) : '_';
        st_text_add_bytes(out, &c, 1);
    }
}

void st_emit_identifier(const char *text, st_text *out)
{
    for (; *text; text++) {
        char c = isalnum((unsigned char)*text) ? *text : '_';
        st_text_add_bytes(out, &c, 1);
    }
}

void st_emit_comment(const char *text, st_text *out)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\\') // would continue the comment
        length--;
    for (size_t i = 0; i < length; i++) {
        char c = (unsigned char)text[i] < 0x20 ? ' ' : text[i];
        st_text_add_bytes(out, &c, 1);
    }
}

void st_emit_number(double value, st_text *out)
{
    if (isfinite(value))
        st_text_addf(out, "%.9g", value);
    else
        st_text_add(out, "-1");
}

const char *st_emit_word(const st_value *values, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].word && values[i].number == number)
            return values[i].word;
    return NULL;
}

void st_emit_strings_release(st_emit_strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        st_free(strings->items[i]);
    st_free(strings->items);
    memset(strings, 0, sizeof *strings);
}

bool st_emit_strings_add(st_emit_strings *strings, const char *text, size_t length)
{
    for (size_t i = 0; i < strings->count; i++)
        if (strlen(strings->items[i]) == length && memcmp(strings->items[i], text, length) == 0)
            return true;
    char **items = st_grow(strings->items, &strings->capacity, strings->count + 1, sizeof *items);
    if (!items)
        return false;
    strings->items = items;
    items[strings->count] = st_strndup(text, length);
    if (!items[strings->count])
        return false;
    strings->count++;
    return true;
}
