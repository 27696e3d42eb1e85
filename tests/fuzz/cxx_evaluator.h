// SPDX-License-Identifier: Apache-2.0
// Evaluates the text that st_expression_print_cxx prints, as a C compiler would read it: C's precedence and
// its left-to-right chains, `&&`, `||` and `?:` that leave out what they need not, arithmetic in long long.
// It shares nothing with the parser and the tree of tuner/base. What would be undefined in C (overflow, a
// zero divisor, LLONG_MIN / -1) is an answer of its own. The functions (simtune_min …) are compiled from
// the very text that headers get.
#ifndef SIMTUNE_TESTS_FUZZ_CXX_EVALUATOR_H
#define SIMTUNE_TESTS_FUZZ_CXX_EVALUATOR_H

#include <stddef.h>

typedef enum cxx_result {
    CXX_VALUE,
    CXX_UNDEFINED, // C gives the text no meaning for these values: a result does not fit
    CXX_ZERO,      // a division by zero was reached
    CXX_SYNTAX     // it is not C, or more than is ever printed
} cxx_result;

// Variables are v0, v1 … of `values`.
cxx_result cxx_evaluate(const char *text, const long long *values, size_t count, long long *out);
// True when `text` is, blanks aside, the functions that are compiled in here.
int cxx_functions_are(const char *text);

#endif
