// SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_kernels/data.h"
#include "tests/emulated_kernels/families.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Which elements are kept: none, all, every other one about, one in a hundred, in long runs, all but the last,
// the last alone; by the run's rotation.
static bool is_kept(const kernels_case *of, uint64_t i, uint64_t n)
{
    unsigned rotation = of->run->rotation;
    uint64_t drawn = data_mix(i + rotation * 4099u + 7);
    switch (rotation % 7) {
    case 0:
        return drawn % 2;
    case 1:
        return true;
    case 2:
        return drawn % 100 == 0;
    case 3:
        return data_mix(i / 300 + rotation) % 2;
    case 4:
        return i + 1 == n;
    case 5:
        return i + 1 < n && drawn % 10;
    default:
        return false;
    }
}

// The limit of `less`, as the plan hands it over: floats 1, signed 0, u32 2^31, u64 2^62.
static void put_near_limit(void *at, st_type_id type, uint64_t i, bool kept, unsigned rotation)
{
    size_t size = st_type_of(type)->size;
    bool is_float = st_type_of(type)->is_float, is_signed = st_type_of(type)->is_signed;
    uint64_t drawn = data_mix(i * 5 + rotation), bits;
    uint64_t top = (uint64_t)1 << (is_signed || size == 4 ? size * 8 - 1 : 62);
    if (is_float) { // 1 or more; less than 1, zeros of both signs and negative numbers among them
        static const double below[] = {0.5, -0.0, 0.0, -1.0, -3.5, 0.25, -100.0, -0.125};
        data_put_number(at, type, i, kept ? below[drawn % 8] : (double)(1 + drawn % 100));
        return;
    }
    bits = drawn & (top - 1);
    if (is_signed ? kept : !kept) // negative; or the limit and more
        bits |= top;
    memcpy((char *)at + i * size, &bits, size); // little endian
}

static void put_zero_or_not(void *at, st_type_id type, uint64_t i, bool kept, unsigned rotation)
{
    if (kept)
        data_put_distinct(at, type, i, rotation);
    else
        data_put(at, type, i, 0);
    if (!kept && st_type_of(type)->is_float && data_mix(i) % 2)
        data_put_number(at, type, i, -0.0);
}

// Special: a NaN, which is nonzero and not less than anything, and infinities. True when kept.
static bool put_special(const kernels_case *of, void *at, uint64_t i, bool less)
{
    static const double values[] = {0, 0, -0.0, 2.0, -2.0};
    double value = values[i % 5];
    unsigned rotation = of->run->rotation;
    if (i % 5 == 0)
        value = rotation % 2 ? (double)INFINITY : -(double)INFINITY;
    if (i % 7 == 3)
        value = (double)NAN;
    data_put_number(at, of->type, i, value);
    return less ? value < 1 : value != 0; // a NaN is not less, and differs from zero
}

static void put_flag(kernels_case *of, uint64_t i, bool kept)
{
    uint64_t drawn = data_mix(i + 99);
    if (kernels_axis_is(of, "select", "flagged")) {
        unsigned char *flags = of->host[kernels_buffer(of, "flags")];
        flags[i] = kept ? (unsigned char)(drawn % 255 + 1) : 0;
        return;
    }
    uint32_t *bits = of->host[kernels_buffer(of, "bits")];
    if (i % 32 == 0) // what lies behind the last element is garbage
        bits[i / 32] = (uint32_t)drawn;
    bits[i / 32] = (bits[i / 32] & ~((uint32_t)1 << i % 32)) | (uint32_t)kept << i % 32;
}

static st_code fill(kernels_case *of, st_error *error)
{
    (void)error;
    uint64_t n = (uint64_t)kernels_axis(of, "n"), count = 0;
    size_t size = st_type_of(of->type)->size;
    bool by_flag =
        kernels_axis_is(of, "select", "flagged") || kernels_axis_is(of, "select", "bits");
    bool less = kernels_axis_is(of, "select", "less");
    bool special = of->run->data == KERNELS_SPECIAL && st_type_of(of->type)->is_float;
    char *in = of->host[kernels_buffer(of, "in")], *out = of->host[kernels_buffer(of, "out")];
    for (uint64_t i = 0; i < n; i++) {
        bool kept = is_kept(of, i, n);
        if (by_flag) {
            data_put_distinct(in, of->type, i, of->run->rotation);
            put_flag(of, i, kept);
        } else if (special) {
            kept = put_special(of, in, i, less);
        } else if (less) {
            put_near_limit(in, of->type, i, kept, of->run->rotation);
        } else {
            put_zero_or_not(in, of->type, i, kept, of->run->rotation);
        }
        if (kept)
            memcpy(out + count++ * size, in + i * size, size);
    }
    memcpy(of->host[kernels_buffer(of, "count")], &count, sizeof count);
    return ST_OK;
}

static int by_bits_8(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, 8), memcpy(&y, b, 8);
    return x < y ? -1 : x > y;
}

// A copy in the order of the bits, widened to 8 bytes.
static uint64_t *sorted(const void *from, size_t size, uint64_t count)
{
    uint64_t *made = st_calloc(count + 1, sizeof *made);
    for (uint64_t i = 0; made && i < count; i++)
        memcpy(&made[i], (const char *)from + i * size, size);
    if (made)
        qsort(made, count, sizeof *made, by_bits_8);
    return made;
}

// Bit by bit, and nothing is written behind the last kept element; in any order where that was asked for.
static void judge(const kernels_case *of, int buffer, const void *got, char detail[600])
{
    const st_plan_buffer *what = &of->buffers[buffer];
    size_t size = st_type_of(what->type)->size;
    const void *right = of->host[buffer];
    bool any = kernels_axis_is(of, "order", "any") && buffer == kernels_buffer(of, "out");
    uint64_t *found = any ? sorted(got, size, what->count) : NULL;
    uint64_t *wanted = any ? sorted(right, size, what->count) : NULL;
    uint64_t kept = 0;
    memcpy(&kept, of->host[kernels_buffer(of, "count")], sizeof kept);
    char a[32], b[32];
    for (uint64_t i = 0; i < what->count && !detail[0]; i++) {
        const void *x = any ? (void *)&found[i] : (const char *)got + i * size;
        const void *y = any ? (void *)&wanted[i] : (const char *)right + i * size;
        if (memcmp(x, y, size) == 0)
            continue;
        data_text(what->type, x, a, sizeof a);
        data_text(what->type, y, b, sizeof b);
        snprintf(detail, 600, "%s[%llu] of %llu kept%s: %s, expected %s", what->name,
                 (unsigned long long)i, (unsigned long long)kept, any ? ", sorted" : "", a, b);
    }
    st_free(found);
    st_free(wanted);
}

static const int64_t covered[][2] = {{1 << 10, 0}, {1 << 16, 0}, {1 << 20, 0}};

const family family_compact = {.name = "compact",
                               .special = {{"n", 1021}},
                               .covered = covered,
                               .covered_count = sizeof covered / sizeof *covered,
                               .fill = fill,
                               .runs = family_tile_runs,
                               .judge = judge};
