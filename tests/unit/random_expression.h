// SPDX-License-Identifier: Apache-2.0
// Random expressions and rows of values, for the tests that compare the tree with its SQL and its
// C++. The same seed gives the same expressions everywhere.
#ifndef SIMTUNE_TESTS_RANDOM_EXPRESSION_H
#define SIMTUNE_TESTS_RANDOM_EXPRESSION_H

#include "tuner/base/expression.h"

#include <inttypes.h>

enum { RANDOM_NAMES = 6 };
static const char *const random_names[RANDOM_NAMES] = {"a", "b", "c", "d", "e", "f"};

static uint64_t random_state = 1;

static uint64_t random_bits(void) { // xorshift64*
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(2685821657736338717);
}

static int random_below(int n) {
    return (int)(random_bits() >> 33) % n;
}

static int64_t random_edge(void) {
    static const int64_t edges[] = {0,
                                    1,
                                    -1,
                                    2,
                                    INT64_MAX,
                                    INT64_MIN,
                                    INT64_MIN + 1,
                                    INT64_C(1) << 31,
                                    INT64_C(1) << 62,
                                    -(INT64_C(1) << 32),
                                    3037000500};
    return edges[random_below((int)(sizeof edges / sizeof *edges))];
}

// a 0…5, b -3…3, c 1…1024, d any, e edges of 64 bits, f 0 or 1.
static void random_row(int64_t row[RANDOM_NAMES]) {
    row[0] = random_below(6);
    row[1] = random_below(7) - 3;
    row[2] = 1 + random_below(1024);
    row[3] = (int64_t)random_bits();
    row[4] = random_edge();
    row[5] = random_below(2);
}

static void random_text(st_text *out, int depth);

static void random_leaf(st_text *out) {
    int kind = random_below(10);
    if (kind < 7)
        st_text_add(out, random_names[random_below(kind < 5 ? 3 : RANDOM_NAMES)]);
    else if (kind < 9)
        st_text_addf(out, "%d", random_below(12));
    else
        st_text_addf(out, "%" PRId64, random_edge());
}

static void random_call(st_text *out, int depth) {
    static const char *const calls[] = {"min", "max", "ceil_div", "ceil_log2"};
    int which = random_below(4);
    st_text_addf(out, "%s(", calls[which]);
    random_text(out, depth - 1);
    for (int more = which == 3 ? 0 : which < 2 ? 1 + random_below(2) : 1; more > 0; more--) {
        st_text_add(out, ", ");
        random_text(out, depth - 1);
    }
    st_text_add(out, ")");
}

// Operands are in parentheses half of the time, so that precedence is exercised.
static void random_operand(st_text *out, int depth, bool must) {
    bool parentheses = must || random_below(2);
    st_text_add(out, parentheses ? "(" : "");
    if (parentheses)
        random_text(out, depth - 1);
    else
        random_leaf(out);
    st_text_add(out, parentheses ? ")" : "");
}

static void random_text(st_text *out, int depth) {
    static const char *const operators[] = {"+",  "-", "*",  "/",   "%",  "==",  "!=", "<",
                                            "<=", ">", ">=", "and", "or", "and", "or"};
    int kind = depth > 0 ? random_below(10) : 0;
    if (kind < 2) {
        random_leaf(out);
    } else if (kind == 2) {
        random_call(out, depth);
    } else if (kind == 3) {
        st_text_add(out, random_below(2) ? "not " : "- ");
        random_operand(out, depth, true);
    } else {
        int length = 1 + random_below(3);
        int op = random_below(15);
        bool chains = op < 5 || op > 10;
        random_operand(out, depth, false);
        for (int i = 0; i < (chains ? length : 1); i++) {
            if (chains && op < 5)
                op = random_below(5);
            st_text_addf(out, " %s ", operators[op]);
            random_operand(out, depth, false);
        }
    }
}

static bool random_scope(st_scope *scope) {
    for (int i = 0; i < RANDOM_NAMES; i++)
        if (st_scope_add(scope, (st_name){.name = random_names[i]}) != i)
            return false;
    return true;
}

#endif
