// SPDX-License-Identifier: Apache-2.0
// The tree of a T1 expression (t1_expression.c makes it, t1_values.c computes lists of it, t1_translate.c writes it in
// the language of templates).
#ifndef SIMTUNE_TUNER_T1_INTERNAL_H
#define SIMTUNE_TUNER_T1_INTERNAL_H

#include "tuner/t1_expression.h"

enum { T1_LONGEST = 65536, T1_MOST_VALUES = 65536, T1_MOST_STEPS = 4000000 };

typedef enum t1_kind {
    T1_END,
    T1_NUMBER,
    T1_STRING,
    T1_NAME,
    T1_OPERATOR, // of the reader alone
    T1_BINARY,   // operation: left, right; "neg" and "not": left
    T1_CALL,     // name, items from `left`
    T1_INDEX,    // name [left]
    T1_LIST,     // items from `left`
    T1_ITEM,     // left, and the next one at `right`
    T1_EACH      // [left for NAME in right if third]
} t1_kind;

typedef struct t1_node {
    t1_kind kind;
    int64_t number;
    const char *text; // of a name or a string, in the expression
    size_t length;
    char operation[8];
    int left, right, third; // nodes, -1: none
} t1_node;

typedef struct t1_reader {
    const char *text, *place, *at; // at: the word at hand
    size_t length;
    t1_kind kind;
    int64_t number;
    int depth;
    long steps;     // of computing
    t1_node *nodes; // owned
    size_t count, capacity;
    st_error *error;
} t1_reader;

// *root: the whole. Released by the caller, also after a failure.
st_code st_t1_read(t1_reader *from, const char *text, const char *place, int *root,
                   st_error *error);
void st_t1_reader_release(t1_reader *from);
st_code st_t1_refuse(t1_reader *from, const char *remedy, const char *what); // ST_USAGE

#endif
