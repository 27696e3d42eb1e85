// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/cxx_evaluator.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// --- the functions of the headers, compiled and as text ----------------------------------------------------
// clang-format off
#define FUNCTIONS \
static inline long long simtune_min(long long a, long long b) { return a < b ? a : b; } \
static inline long long simtune_max(long long a, long long b) { return a > b ? a : b; } \
static inline long long simtune_divide(long long a, long long b) { \
    return b == 0 ? 0 : a / b; \
} \
static inline long long simtune_modulo(long long a, long long b) { \
    return b == 0 || b == -1 ? 0 : a % b; \
} \
static inline long long simtune_ceil_div(long long a, long long b) { \
    if (b == 0) \
        return 0; \
    return a / b + (b != -1 && a % b != 0 && (a < 0) == (b < 0) ? 1 : 0); \
} \
static inline long long simtune_ceil_log2(long long x) { \
    long long k = 0; \
    while (k < 63 && ((unsigned long long)1 << k) < (unsigned long long)(x > 1 ? x : 1)) \
        k++; \
    return k; \
}
// clang-format on
FUNCTIONS
#define TEXT_OF(...) #__VA_ARGS__
#define EXPANDED_TEXT_OF(...) TEXT_OF(__VA_ARGS__)

int cxx_functions_are(const char *text)
{
    const char *mine = EXPANDED_TEXT_OF(FUNCTIONS);
    for (;; mine++, text++) {
        mine += strspn(mine, " \n");
        text += strspn(text, " \n");
        if (*mine != *text)
            return 0;
        if (!*mine)
            return 1;
    }
}

// --- reading -----------------------------------------------------------------------------------------------
typedef struct reader {
    const char *at;
    const long long *values;
    size_t count;
    int depth;
    bool syntax, undefined, zero;
} reader;

enum { DEPTH_MOST = 20000 };

static void skip_blanks(reader *in)
{
    while (*in->at == ' ')
        in->at++;
}

static bool take(reader *in, const char *token)
{
    skip_blanks(in);
    size_t length = strlen(token);
    if (strncmp(in->at, token, length) != 0)
        return false;
    // `<` is not the beginning of `<=`, `!` not of `!=`.
    if (strchr("<>!", *token) && length == 1 && in->at[1] == '=')
        return false;
    in->at += length;
    return true;
}

static long long wrong(reader *in)
{
    in->syntax = true;
    return 0;
}

// `live`: false in what C does not evaluate.
static long long undefined(reader *in, bool live)
{
    in->undefined = in->undefined || live;
    return 0;
}

static long long conditional(reader *in, bool live);

static long long number(reader *in)
{
    char *end;
    errno = 0;
    long long value = strtoll(in->at, &end, 10);
    if (errno || strncmp(end, "LL", 2) != 0 || isalnum((unsigned char)end[2])) {
        // 0 and -1 of `x == 0 ? …` are ints.
        if (errno || isalnum((unsigned char)*end) || value > 1)
            return wrong(in);
        in->at = end;
        return value;
    }
    in->at = end + 2;
    return value;
}

static long long variable(reader *in)
{
    char *end;
    unsigned long slot = strtoul(in->at + 1, &end, 10);
    if (slot >= in->count)
        return wrong(in);
    in->at = end;
    return in->values[slot];
}

static long long call(reader *in, bool live)
{
    static const char *const names[] = {"simtune_min(",      "simtune_max(",
                                        "simtune_divide(",   "simtune_modulo(",
                                        "simtune_ceil_div(", "simtune_ceil_log2("};
    size_t which = 0;
    while (which < 6 && !take(in, names[which]))
        which++;
    if (which == 6)
        return wrong(in);
    long long a = conditional(in, live), b = 0;
    if (which < 5) {
        if (!take(in, ","))
            return wrong(in);
        b = conditional(in, live);
    }
    if (!take(in, ")"))
        return wrong(in);
    if (in->syntax || !live)
        return 0;
    // Their bodies divide LLONG_MIN by -1 as they stand.
    if ((which == 2 || which == 4) && a == LLONG_MIN && b == -1)
        return undefined(in, live);
    switch (which) {
    case 0:
        return simtune_min(a, b);
    case 1:
        return simtune_max(a, b);
    case 2:
        return simtune_divide(a, b);
    case 3:
        return simtune_modulo(a, b);
    case 4:
        return simtune_ceil_div(a, b);
    default:
        return simtune_ceil_log2(a);
    }
}

static long long unary(reader *in, bool live)
{
    if (++in->depth > DEPTH_MOST)
        return wrong(in);
    long long value = 0, zero = 0;
    if (take(in, "(long long)")) {
        value = unary(in, live);
    } else if (take(in, "!")) {
        value = !unary(in, live);
    } else if (take(in, "-")) {
        value = unary(in, live);
        if (__builtin_sub_overflow(zero, value, &value))
            value = undefined(in, live);
    } else if (take(in, "(")) {
        value = conditional(in, live);
        if (!take(in, ")"))
            value = wrong(in);
    } else if (isdigit((unsigned char)*in->at)) {
        value = number(in);
    } else if (*in->at == 'v') {
        value = variable(in);
    } else {
        value = call(in, live);
    }
    in->depth--;
    return value;
}

static long long product(reader *in, bool live)
{
    long long a = unary(in, live);
    for (; !in->syntax;) {
        if (take(in, "*")) {
            long long b = unary(in, live);
            if (__builtin_mul_overflow(a, b, &a))
                a = undefined(in, live);
            continue;
        }
        bool divides = take(in, "/");
        if (!divides && !take(in, "%"))
            break;
        long long b = unary(in, live);
        in->zero = in->zero || (live && b == 0);
        if (b == 0 || (b == -1 && a == LLONG_MIN))
            a = undefined(in, live);
        else
            a = divides ? a / b : a % b;
    }
    return a;
}

static long long sum(reader *in, bool live)
{
    long long a = product(in, live);
    for (; !in->syntax;) {
        bool adds = take(in, "+");
        if (!adds && !take(in, "-"))
            break;
        long long b = product(in, live);
        if (adds ? __builtin_add_overflow(a, b, &a) : __builtin_sub_overflow(a, b, &a))
            a = undefined(in, live);
    }
    return a;
}

static long long relation(reader *in, bool live)
{
    long long a = sum(in, live);
    for (; !in->syntax;) {
        if (take(in, "<="))
            a = a <= sum(in, live);
        else if (take(in, ">="))
            a = a >= sum(in, live);
        else if (take(in, "<"))
            a = a < sum(in, live);
        else if (take(in, ">"))
            a = a > sum(in, live);
        else
            break;
    }
    return a;
}

static long long equality(reader *in, bool live)
{
    long long a = relation(in, live);
    for (; !in->syntax;) {
        if (take(in, "=="))
            a = a == relation(in, live);
        else if (take(in, "!="))
            a = a != relation(in, live);
        else
            break;
    }
    return a;
}

static long long conjunction(reader *in, bool live)
{
    long long a = equality(in, live);
    while (!in->syntax && take(in, "&&")) {
        long long b = equality(in, live && a);
        a = a && b;
    }
    return a;
}

static long long disjunction(reader *in, bool live)
{
    long long a = conjunction(in, live);
    while (!in->syntax && take(in, "||")) {
        long long b = conjunction(in, live && !a);
        a = a || b;
    }
    return a;
}

static long long conditional(reader *in, bool live)
{
    long long condition = disjunction(in, live);
    if (in->syntax || !take(in, "?"))
        return condition;
    long long yes = conditional(in, live && condition);
    if (!take(in, ":"))
        return wrong(in);
    long long no = conditional(in, live && !condition);
    return condition ? yes : no;
}

cxx_result cxx_evaluate(const char *text, const long long *values, size_t count, long long *out)
{
    reader in = {.at = text, .values = values, .count = count};
    long long value = conditional(&in, true);
    skip_blanks(&in);
    if (in.syntax || *in.at)
        return CXX_SYNTAX;
    *out = value;
    return in.zero ? CXX_ZERO : in.undefined ? CXX_UNDEFINED : CXX_VALUE;
}
