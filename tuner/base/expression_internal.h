// SPDX-License-Identifier: Apache-2.0
// The tree behind st_expression, shared by the expression_*.c files alone.
#ifndef SIMTUNE_BASE_EXPRESSION_INTERNAL_H
#define SIMTUNE_BASE_EXPRESSION_INTERNAL_H

#include "tuner/base/expression.h"

typedef enum st_operator {
    ST_OP_INTEGER, // value; slot is that of a named constant, else -1
    ST_OP_NAME,    // slot
    ST_OP_NEGATE,  // left
    ST_OP_NOT,
    ST_OP_CEIL_LOG2,
    ST_OP_ADD, // left, right from here on
    ST_OP_SUBTRACT,
    ST_OP_MULTIPLY,
    ST_OP_DIVIDE,
    ST_OP_MODULO,
    ST_OP_EQUAL,
    ST_OP_NOT_EQUAL,
    ST_OP_LESS,
    ST_OP_LESS_EQUAL,
    ST_OP_GREATER,
    ST_OP_GREATER_EQUAL,
    ST_OP_AND,
    ST_OP_OR,
    ST_OP_MIN,
    ST_OP_MAX,
    ST_OP_CEIL_DIV,
    // Of the query dialect alone.
    ST_OP_REAL,  // real
    ST_OP_WORD,  // word
    ST_OP_KNOWN  // left
} st_operator;

// What all nodes of one parsed text share. Owns the nodes.
typedef struct st_source {
    char *file; // NULL when the place had none
    int line;
    char *text;  // as written, trimmed
    char *where; // "reduce.cu:12: `a / b`": how messages begin
    st_expression *nodes;
} st_source;

struct st_expression {
    st_operator op;
    int slot;
    int64_t value;
    double real;
    char *word;        // owned
    bool quoted;       // the word stood in quotes
    st_name_kind kind; // of the name
    st_expression *left, *right;
    st_source *source;
    st_expression *next; // in source->nodes
    size_t begin, end;   // of the term in source->text, without enclosing parentheses
    char *text;          // of the root and of each top-level `and` term; else NULL
};

// Longest chain of nested terms that the parser accepts, and most nodes of one expression: every
// walk over a tree may recurse.
#define ST_EXPRESSION_NESTING 60
#define ST_EXPRESSION_NODES 2000

typedef enum st_arithmetic {
    ST_ARITHMETIC_FINE,
    ST_ARITHMETIC_ZERO,
    ST_ARITHMETIC_OVERFLOW
} st_arithmetic;

// One operator on numbers; `b` is ignored by unary ones.
st_arithmetic st_operate(st_operator op, int64_t a, int64_t b, int64_t *out);
st_code st_operate_failed(st_arithmetic how, const char *where, st_error *error);

// The range of an operator on operands of these ranges.
st_range st_range_combine(st_operator op, st_range a, st_range b);

// Pieces of printing that expression_print.c and expression_bound.c share.
void st_print_sql_integer(int64_t value, st_text *out);
void st_print_sql_string(const char *text, st_text *out);
const char *st_operator_symbol(st_operator op, bool sql);
const char *st_operator_sql_function(st_operator op);
// Operators of one level, which chain without parentheses, have one number; 0: none.
int st_operator_chain(st_operator op);

void st_source_free(st_source *source);

static inline bool st_operator_is_boolean(st_operator op) {
    return op == ST_OP_NOT || (op >= ST_OP_EQUAL && op <= ST_OP_OR);
}

#endif
