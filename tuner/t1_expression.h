// SPDX-License-Identifier: Apache-2.0
// The expressions of T1 files, which are Python's or C's: read here, never run by an interpreter. Two uses: lists of
// values are computed (`[32 * i for i in range(1, 32)]`), conditions and sizes are written in the expression
// language of templates (`32 <= x * y <= 1024` becomes `(32 <= (x * y)) and ((x * y) <= 1024)`).
//
// What neither language's reader could tell apart is refused with what to write instead: `/`, which is exact in Python
// and truncates in C (only `ceil(a / b)` is clear), and powers whose exponent is not a small number.
#ifndef SIMTUNE_TUNER_T1_EXPRESSION_H
#define SIMTUNE_TUNER_T1_EXPRESSION_H

#include "tuner/base/error.h"
#include "tuner/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_t1_value {
    int64_t number; // true is 1
    char *word;     // owned; of a string. NULL: a number
} st_t1_value;

typedef struct st_t1_list {
    st_t1_value *items; // owned
    size_t count, capacity;
} st_t1_list;

void st_t1_list_release(st_t1_list *list);
bool st_t1_list_add(st_t1_list *list, int64_t number, const char *word,
                    size_t word_length); // false: no memory

// Computes the list that `text` is: `[1, 2] + [4 * i for i in range(1, 5) if i != 3]`, `list(range(8))`, `range(1, 9, 2)`.
// `place` begins messages (ST_USAGE). *out is released by the caller, also after a failure.
st_code st_t1_values(const char *text, const char *place, st_t1_list *out, st_error *error);

// What names of a file stand for, beside its parameters.
typedef struct st_t1_names {
    int64_t sizes[3]; // ProblemSize[0] or problem_size_x, and so on
    size_t size_count;
    bool
        are_signed; // some parameter may be below 0, for which // and % would round another way: they are refused
} st_t1_names;

// Appends `text` in the language of templates.
st_code st_t1_translate(const char *text, const char *place, const st_t1_names *names, st_text *out,
                        st_error *error);

#endif
