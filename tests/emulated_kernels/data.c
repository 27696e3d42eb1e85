// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. exact data: no element is zero, every partial sum is an integer below 256 in size, so
// that a sum in any order is exact in every type, and any lost, doubled or shifted part shows; for min
// and max there is one extreme, at a place that moves with `rotation`, and all have the sign that a
// wrong identity would win against; 2. special data have a result that no order of combining changes.
#include "tests/emulated_kernels/data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// --- types ---------------------------------------------------------------------------------------

// Exactly representable values only: integers below 256 in size, infinities, NaN, zeros.
static uint16_t half_of(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    value = fabs(value);
    if (isnan(value))
        return 0x7fff;
    if (isinf(value))
        return (uint16_t)(sign | 0x7c00);
    int exponent;
    double part = frexp(value, &exponent); // value = part * 2^exponent, 0.5 <= part < 1
    if (value == 0)
        return sign;
    uint32_t fraction = (uint32_t)((part * 2 - 1) * 1024);
    return (uint16_t)(sign | (((uint32_t)(exponent + 14) << 10) + fraction));
}

static uint16_t bfloat_of(double value)
{
    float wide = (float)value;
    uint32_t bits;
    memcpy(&bits, &wide, 4);
    return isnan(value) ? 0x7fff : (uint16_t)(bits >> 16);
}

static double of_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double part = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return part != 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + part, exponent - 25) : ldexp(part, -24));
}

static void put_float(void *at, st_type_id type, uint64_t i, double value)
{
    if (type == ST_F32)
        ((float *)at)[i] = (float)value;
    else if (type == ST_F64)
        ((double *)at)[i] = value;
    else
        ((uint16_t *)at)[i] = type == ST_F16 ? half_of(value) : bfloat_of(value);
}

static void put_integer(void *at, st_type_id type, uint64_t i, uint64_t bits)
{
    if (st_type_of(type)->size == 4)
        ((uint32_t *)at)[i] = (uint32_t)bits;
    else
        ((uint64_t *)at)[i] = bits;
}

static void put(void *at, st_type_id type, uint64_t i, int64_t value)
{
    if (st_type_of(type)->is_float)
        put_float(at, type, i, (double)value);
    else
        put_integer(at, type, i, (uint64_t)value);
}

bool data_same(st_type_id type, const void *a, const void *b)
{
    if (memcmp(a, b, st_type_of(type)->size) == 0)
        return true;
    switch (type) {
    case ST_F32: {
        float x, y;
        memcpy(&x, a, 4), memcpy(&y, b, 4);
        return isnan(x) && isnan(y);
    }
    case ST_F64: {
        double x, y;
        memcpy(&x, a, 8), memcpy(&y, b, 8);
        return isnan(x) && isnan(y);
    }
    case ST_F16:
    case ST_BF16: {
        uint16_t x, y, infinite = type == ST_F16 ? 0x7c00 : 0x7f80;
        memcpy(&x, a, 2), memcpy(&y, b, 2);
        return (x & 0x7fff) > infinite && (y & 0x7fff) > infinite;
    }
    default:
        return false;
    }
}

void data_text(st_type_id type, const void *at, char *out, size_t capacity)
{
    uint64_t bits = 0;
    memcpy(&bits, at, st_type_of(type)->size);
    float single;
    double number;
    uint32_t word = (uint32_t)(type == ST_BF16 ? bits << 16 : bits);
    memcpy(&single, &word, 4);
    memcpy(&number, &bits, 8);
    switch (type) {
    case ST_F32:
    case ST_BF16:
        snprintf(out, capacity, "%.9g", (double)single);
        break;
    case ST_F64:
        snprintf(out, capacity, "%.17g", number);
        break;
    case ST_F16:
        snprintf(out, capacity, "%.9g", of_half((uint16_t)bits));
        break;
    case ST_I32:
        snprintf(out, capacity, "%d", (int)(int32_t)bits);
        break;
    case ST_I64:
        snprintf(out, capacity, "%lld", (long long)bits);
        break;
    default:
        snprintf(out, capacity, "%llu", (unsigned long long)bits);
        break;
    }
}

// --- exact ---------------------------------------------------------------------------------------

static uint64_t place_of(const kernels_run *run)
{
    switch (run->rotation % 4) {
    case 0:
        return 0;
    case 1:
        return run->n - 1;
    case 2:
        return run->n / 2;
    default:
        return mix(run->n + run->rotation) % run->n;
    }
}

static void make_sum(void *at, st_type_id type, const kernels_run *run, void *expected)
{
    int64_t sum = 0;
    for (uint64_t i = 0; i < run->n; i++) {
        uint64_t drawn = mix(i * 2654435761u + run->rotation + 1);
        int64_t value = 1 + (int64_t)(drawn % 3);
        if (sum > 90 || (sum > -90 && (drawn >> 32 & 1)))
            value = -value;
        put(at, type, i, value);
        sum += value;
    }
    put(expected, type, 0, sum);
}

static void make_extreme(void *at, st_type_id type, bool max, const kernels_run *run,
                         void *expected)
{
    bool is_signed = st_type_of(type)->is_signed || st_type_of(type)->is_float;
    // From the extreme on, away from it: -1, then -2 … -120 for max; 1, then 2 … for min.
    int64_t extreme = max ? (is_signed ? -1 : 121) : 1;
    for (uint64_t i = 0; i < run->n; i++) {
        int64_t away = 1 + (int64_t)(mix(i + run->rotation * 7919u + 1) % 119);
        put(at, type, i, max ? extreme - away : extreme + away);
    }
    put(at, type, place_of(run), extreme);
    put(expected, type, 0, extreme);
}

static void make_nothing(st_type_id type, data_operation operation, void *expected)
{
    double ends[] = {0, INFINITY, -INFINITY};
    if (st_type_of(type)->is_float) {
        put_float(expected, type, 0, ends[operation]);
        return;
    }
    bool is_signed = st_type_of(type)->is_signed;
    uint64_t most = st_type_of(type)->size == 4 ? UINT32_MAX : UINT64_MAX;
    uint64_t greatest = is_signed ? most >> 1 : most;
    put_integer(expected, type, 0,
                operation == DATA_SUM   ? 0
                : operation == DATA_MIN ? greatest
                                        : most - greatest);
    if (operation == DATA_MAX && is_signed)
        put_integer(expected, type, 0, (most >> 1) + 1);
}

// --- special -------------------------------------------------------------------------------------

static void make_bits(void *at, st_type_id type, data_operation operation, const kernels_run *run,
                      void *expected)
{
    bool is_signed = st_type_of(type)->is_signed, narrow = st_type_of(type)->size == 4;
    uint64_t result = 0;
    for (uint64_t i = 0; i < run->n; i++) {
        uint64_t bits = mix(i * 31 + run->rotation + 12345);
        put_integer(at, type, i, bits);
        int64_t value = narrow ? (int32_t)bits : (int64_t)bits;
        uint64_t plain = narrow ? (uint32_t)bits : bits;
        bool less = is_signed ? value < (int64_t)result : plain < result;
        if (operation == DATA_SUM)
            result += bits;
        else if (i == 0 || less == (operation == DATA_MIN))
            result = is_signed ? (uint64_t)value : plain;
    }
    put_integer(expected, type, 0, result);
}

// rotation 0: all infinite, the way that a finite identity would win against; 1: one NaN; 2: zeros of
// both signs (-0 is less than +0); 3: one infinity among numbers.
static void make_floats(void *at, st_type_id type, data_operation operation, const kernels_run *run,
                        void *expected)
{
    double infinite = operation == DATA_MAX ? -INFINITY : INFINITY, result = infinite;
    for (uint64_t i = 0; i < run->n; i++)
        put_float(at, type, i, run->rotation % 4 == 0 ? infinite : (double)(1 + i % 7));
    uint64_t place = run->n ? mix(run->n * 3 + run->rotation) % run->n : 0;
    if (run->rotation % 4 == 1) {
        result = NAN;
        put_float(at, type, place, NAN);
    } else if (run->rotation % 4 == 2) {
        double odd = operation == DATA_MAX ? 0.0 : -0.0;
        for (uint64_t i = 0; i < run->n; i++)
            put_float(at, type, i, -odd);
        put_float(at, type, place, odd);
        result = operation == DATA_SUM ? 0.0 : odd;
    } else if (run->rotation % 4 == 3) {
        result = operation == DATA_MIN ? -INFINITY : INFINITY;
        put_float(at, type, place, result);
    }
    put_float(expected, type, 0, result);
}

void data_make(void *at, st_type_id type, data_operation operation, const kernels_run *run,
               void *expected)
{
    if (run->n == 0)
        make_nothing(type, operation, expected);
    else if (run->data == KERNELS_SPECIAL && st_type_of(type)->is_float)
        make_floats(at, type, operation, run, expected);
    else if (run->data == KERNELS_SPECIAL)
        make_bits(at, type, operation, run, expected);
    else if (operation == DATA_SUM)
        make_sum(at, type, run, expected);
    else
        make_extreme(at, type, operation == DATA_MAX, run, expected);
}
