// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. exact data: no element is zero, every sum from the first element on is an integer below 96 in
// size, so that any part's is below 192, a sum in any order is exact in every type, and any lost, doubled or
// shifted part shows; for min and max all have the sign that a wrong identity would win against, a list to
// reduce has one extreme, at a place that moves with `rotation`, and in a list to scan the extreme changes up
// to the end; 2. special data have results that no order of combining changes.
#include "tests/emulated_kernels/data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

uint64_t data_mix(uint64_t z)
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

void data_put_number(void *at, st_type_id type, uint64_t i, double value)
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

void data_put(void *at, st_type_id type, uint64_t i, int64_t value)
{
    if (st_type_of(type)->is_float)
        data_put_number(at, type, i, (double)value);
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

static uint64_t place_of(const data_list *run)
{
    switch (run->rotation % 4) {
    case 0:
        return 0;
    case 1:
        return run->n - 1;
    case 2:
        return run->n / 2;
    default:
        return data_mix(run->n + run->rotation) % run->n;
    }
}

static void make_sum(void *at, st_type_id type, const data_list *run, void *expected)
{
    int64_t sum = 0;
    for (uint64_t i = 0; i < run->n; i++) {
        uint64_t drawn = data_mix(i * 2654435761u + run->rotation + 1);
        int64_t value = 1 + (int64_t)(drawn % 3);
        if (sum > 90 || (sum > -90 && (drawn >> 32 & 1)))
            value = -value;
        data_put(at, type, i, value);
        sum += value;
    }
    data_put(expected, type, 0, sum);
}

static void make_extreme(void *at, st_type_id type, bool max, const data_list *run, void *expected)
{
    bool is_signed = st_type_of(type)->is_signed || st_type_of(type)->is_float;
    // From the extreme on, away from it: -1, then -2 … -120 for max; 1, then 2 … for min.
    int64_t extreme = max ? (is_signed ? -1 : 121) : 1;
    for (uint64_t i = 0; i < run->n; i++) {
        int64_t away = 1 + (int64_t)(data_mix(i + run->rotation * 7919u + 1) % 119);
        data_put(at, type, i, max ? extreme - away : extreme + away);
    }
    data_put(at, type, place_of(run), extreme);
    data_put(expected, type, 0, extreme);
}

static void make_nothing(st_type_id type, data_operation operation, void *expected)
{
    double ends[] = {0, INFINITY, -INFINITY};
    if (st_type_of(type)->is_float) {
        data_put_number(expected, type, 0, ends[operation]);
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

static void make_bits(void *at, st_type_id type, data_operation operation, const data_list *run,
                      void *expected)
{
    bool is_signed = st_type_of(type)->is_signed, narrow = st_type_of(type)->size == 4;
    uint64_t result = 0;
    for (uint64_t i = 0; i < run->n; i++) {
        uint64_t bits = data_mix(i * 31 + run->rotation + 12345);
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
static void make_floats(void *at, st_type_id type, data_operation operation, const data_list *run,
                        void *expected)
{
    double infinite = operation == DATA_MAX ? -INFINITY : INFINITY, result = infinite;
    for (uint64_t i = 0; i < run->n; i++)
        data_put_number(at, type, i, run->rotation % 4 == 0 ? infinite : (double)(1 + i % 7));
    uint64_t place = run->n ? data_mix(run->n * 3 + run->rotation) % run->n : 0;
    if (run->rotation % 4 == 1) {
        result = NAN;
        data_put_number(at, type, place, NAN);
    } else if (run->rotation % 4 == 2) {
        double odd = operation == DATA_MAX ? 0.0 : -0.0;
        for (uint64_t i = 0; i < run->n; i++)
            data_put_number(at, type, i, -odd);
        data_put_number(at, type, place, odd);
        result = operation == DATA_SUM ? 0.0 : odd;
    } else if (run->rotation % 4 == 3) {
        result = operation == DATA_MIN ? -INFINITY : INFINITY;
        data_put_number(at, type, place, result);
    }
    data_put_number(expected, type, 0, result);
}

void data_make(void *at, const data_list *list, void *expected)
{
    bool is_float = st_type_of(list->type)->is_float;
    if (list->n == 0)
        make_nothing(list->type, list->operation, expected);
    else if (list->data == KERNELS_SPECIAL && is_float)
        make_floats(at, list->type, list->operation, list, expected);
    else if (list->data == KERNELS_SPECIAL)
        make_bits(at, list->type, list->operation, list, expected);
    else if (list->operation == DATA_SUM)
        make_sum(at, list->type, list, expected);
    else
        make_extreme(at, list->type, list->operation == DATA_MAX, list, expected);
}

// --- scans ---------------------------------------------------------------------------------------

// Element i as the plain program sees it. Floats of the data above are exact as doubles.
typedef union number {
    double real;
    uint64_t bits; // integers, in their low bytes
} number;

static number number_at(const void *at, st_type_id type, uint64_t i)
{
    number made = {.bits = 0};
    uint16_t half;
    size_t size = st_type_of(type)->size;
    const char *from = (const char *)at + i * size;
    memcpy(&half, from, 2);
    uint32_t wide = (uint32_t)half << 16;
    float single;
    memcpy(&single, type == ST_F32 ? (const void *)from : (const void *)&wide, 4);
    if (type == ST_F16)
        made.real = of_half(half);
    else if (type == ST_F32 || type == ST_BF16)
        made.real = (double)single;
    else
        memcpy(&made, from, size);
    return made;
}

static number combine_integers(st_type_id type, data_operation operation, number a, number b)
{
    bool narrow = st_type_of(type)->size == 4;
    int64_t x = narrow ? (int32_t)a.bits : (int64_t)a.bits;
    int64_t y = narrow ? (int32_t)b.bits : (int64_t)b.bits;
    bool less = st_type_of(type)->is_signed ? y < x : b.bits < a.bits;
    number sum = {.bits = narrow ? (uint32_t)(a.bits + b.bits) : a.bits + b.bits};
    if (operation == DATA_SUM)
        return sum;
    return less == (operation == DATA_MIN) ? b : a;
}

static number combine_floats(data_operation operation, number a, number b)
{
    number sum = {.real = a.real + b.real};
    if (operation == DATA_SUM || isnan(sum.real))
        return operation == DATA_SUM || isnan(a.real) || isnan(b.real)
                   ? sum
                   : ((a.real < b.real) == (operation == DATA_MIN) ? a : b); // two infinities
    bool a_less = a.real < b.real || (a.real == b.real && signbit(a.real) && !signbit(b.real));
    return a_less == (operation == DATA_MIN) ? a : b;
}

static void put_number(void *at, st_type_id type, uint64_t i, number value)
{
    if (st_type_of(type)->is_float)
        data_put_number(at, type, i, value.real);
    else
        put_integer(at, type, i, value.bits);
}

// The extreme comes nearer and nearer up to the end, in steps at places that are drawn.
static void make_steps(void *at, const data_list *list)
{
    bool max = list->operation == DATA_MAX;
    bool is_signed = st_type_of(list->type)->is_signed || st_type_of(list->type)->is_float;
    int64_t extreme = max ? (is_signed ? -1 : 121) : 1;
    for (uint64_t i = 0; i < list->n; i++) {
        uint64_t drawn = data_mix(i + list->rotation * 7919u + 1);
        int64_t nearest = (int64_t)(100 * (list->n - i) / list->n);
        int64_t away = nearest + (int64_t)(drawn % 20);
        data_put(at, list->type, i, max ? extreme - away : extreme + away);
    }
}

// Sums that stay exact up to the infinity or the NaN; rotation 2 and 3: no such element.
static void make_special_sums(void *at, const data_list *list)
{
    _Alignas(8) unsigned char ignored[8];
    uint64_t place = data_mix(list->n + list->rotation) % list->n;
    make_sum(at, list->type, list, ignored);
    if (list->rotation % 4 < 2)
        data_put_number(at, list->type, place, list->rotation % 4 ? NAN : INFINITY);
}

void data_make_scan(void *at, const data_list *list, bool inclusive, void *prefixes)
{
    bool is_float = st_type_of(list->type)->is_float;
    _Alignas(8) unsigned char ignored[8];
    data_list none = *list;
    none.n = 0;
    data_make(ignored, &none, ignored); // the identity
    number before = number_at(ignored, list->type, 0);
    if (list->n && list->data == KERNELS_EXACT && list->operation != DATA_SUM)
        make_steps(at, list);
    else if (list->n && list->data == KERNELS_SPECIAL && is_float && list->operation == DATA_SUM)
        make_special_sums(at, list);
    else
        data_make(at, list, ignored);
    for (uint64_t i = 0; i < list->n; i++) {
        number here = number_at(at, list->type, i);
        number after = is_float ? combine_floats(list->operation, before, here)
                                : combine_integers(list->type, list->operation, before, here);
        put_number(prefixes, list->type, i, inclusive ? after : before);
        before = after;
    }
}

// --- elements that tell their place ----------------------------------------------------------------

void data_put_distinct(void *at, st_type_id type, uint64_t place, unsigned rotation)
{
    uint64_t bits = data_mix(place + 1 + (uint64_t)rotation * 1000003u);
    size_t size = st_type_of(type)->size;
    if (!st_type_of(type)->is_float) {
        put_integer(at, type, place, bits | 1);
        return;
    }
    // Finite, of any size and both signs, never zero: the exponent's highest bit is cleared, the number's
    // lowest is set.
    uint64_t top = size == 2 ? 0x4000u : (size == 4 ? 0x40000000u : (uint64_t)0x4000000000000000u);
    bits = (bits & ~top) | 1;
    memcpy((char *)at + place * size, &bits, size); // little endian
}

data_operation data_operation_of(const kernels_case *of)
{
    return kernels_axis_is(of, "op", "min")   ? DATA_MIN
           : kernels_axis_is(of, "op", "max") ? DATA_MAX
                                              : DATA_SUM;
}
