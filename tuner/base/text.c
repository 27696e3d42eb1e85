// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. data[length] is NUL once data is not NULL; 2. once `failed`, nothing is appended.
#include "tuner/base/text.h"

#include "tuner/base/memory.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void st_text_init(st_text *text)
{
    *text = (st_text){0};
}

void st_text_release(st_text *text)
{
    st_free(text->data);
    *text = (st_text){0};
}

void st_text_clear(st_text *text)
{
    text->length = 0;
    text->failed = false;
    if (text->data)
        text->data[0] = '\0';
}

static bool make_room(st_text *text, size_t more)
{
    if (text->failed)
        return false;
    if (more > SIZE_MAX - text->length - 1) {
        text->failed = true;
        return false;
    }
    char *data = st_grow(text->data, &text->capacity, text->length + more + 1, 1);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    return true;
}

void st_text_add_bytes(st_text *text, const void *bytes, size_t length)
{
    if (!make_room(text, length))
        return;
    if (length)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void st_text_add(st_text *text, const char *string)
{
    st_text_add_bytes(text, string, strlen(string));
}

void st_text_addf(st_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t room = text->failed || !text->data ? 0 : text->capacity - text->length;
    char *end = room ? text->data + text->length : NULL;
    int length = vsnprintf(end, room, format, arguments); // mostly it fits
    bool fits = length >= 0 && (size_t)length < room;
    va_end(arguments);
    if (end && !fits)
        *end = '\0';
    if (length < 0)
        text->failed = true;
    else if (fits)
        text->length += (size_t)length;
    else if (make_room(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

const char *st_text_string(const st_text *text)
{
    return text->data ? text->data : "";
}

char *st_text_take(st_text *text)
{
    char *data = NULL;
    if (!text->failed) {
        st_text_add_bytes(text, "", 0); // an empty text still gives a string
        data = text->failed ? NULL : text->data;
    }
    if (data)
        *text = (st_text){0};
    else
        st_text_release(text);
    return data;
}

bool st_text_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

size_t st_text_character(const char *text)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000}; // by length: nothing overlong
    const unsigned char *at = (const unsigned char *)text;
    size_t length = at[0] == 0           ? 0
                    : at[0] < 0x80       ? 1
                    : at[0] >> 5 == 0x06 ? 2
                    : at[0] >> 4 == 0x0e ? 3
                    : at[0] >> 3 == 0x1e ? 4
                                         : 0;
    uint32_t point = length > 1 ? at[0] & (0xffu >> (length + 1)) : at[0];
    for (size_t i = 1; i < length; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        point = point << 6 | (at[i] & 0x3f);
    }
    bool surrogate = point >= 0xd800 && point <= 0xdfff;
    return length && (point < smallest[length] || point > 0x10ffff || surrogate) ? 0 : length;
}

bool st_text_starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

// The factor of a suffix, 0 when unknown.
static int64_t suffix_factor(const char *suffix)
{
    static const struct {
        const char *name;
        int64_t factor;
    } table[] = {{"", 1},           {"Ki", 1ll << 10},  {"Mi", 1ll << 20}, {"Gi", 1ll << 30},
                 {"Ti", 1ll << 40}, {"K", 1000},        {"k", 1000},       {"M", 1000000},
                 {"G", 1000000000}, {"T", 1000000000000}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(suffix, table[i].name) == 0)
            return table[i].factor;
    return 0;
}

bool st_text_to_int(const char *text, int64_t *value)
{
    const char *at = text;
    bool negative = *at == '-';
    if (negative)
        at++;
    if (!isdigit((unsigned char)*at))
        return false;
    int64_t number = 0;
    for (; isdigit((unsigned char)*at); at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number))
            return false;
    if (*at == '^') { // 2^20
        int64_t exponent, power = 1;
        // Digits alone: the call for them must not meet a power again.
        if (!at[1] || at[1 + strspn(at + 1, "0123456789")] || !st_text_to_int(at + 1, &exponent) ||
            exponent > 63)
            return false;
        for (int64_t i = 0; i < exponent; i++)
            if (__builtin_mul_overflow(power, number, &power))
                return false;
        *value = negative ? -power : power;
        return true;
    }
    int64_t factor = suffix_factor(at);
    if (factor == 0 || __builtin_mul_overflow(number, factor, &number))
        return false;
    *value = negative ? -number : number;
    return true;
}

void st_text_add_size(st_text *text, uint64_t value)
{
    static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti"};
    size_t suffix = 0;
    while (suffix < 4 && value >= 1024 && value % 1024 == 0) {
        value /= 1024;
        suffix++;
    }
    st_text_addf(text, "%llu%s", (unsigned long long)value, suffixes[suffix]);
}

static size_t edit_distance(const char *a, const char *b, size_t most)
{
    enum { LONGEST = 64 };
    size_t m = strlen(a), n = strlen(b);
    if (m >= LONGEST || n >= LONGEST)
        return most + 1;
    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t best = diagonal + (same ? 0 : 1);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

int st_text_nearest(const char *word, const char *const *candidates, size_t count)
{
    int best = -1;
    size_t best_distance = 3;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, candidates[i], 2);
        if (distance < best_distance && distance < strlen(word)) {
            best = (int)i;
            best_distance = distance;
        }
    }
    return best;
}

const char *st_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}
