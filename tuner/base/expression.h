// SPDX-License-Identifier: Apache-2.0
// The one expression language of simtune (DESIGN.md §5): 64-bit integers, names, + - * / %,
// == != < <= > >=, and or not, min max ceil_div ceil_log2, parentheses. Booleans are 0 and 1.
//
// One parser makes a tree. The tree is evaluated here, or printed fully parenthesised as SQL (SQLite)
// and as C++; the three mean the same:
//  - `/` and `%` truncate toward zero; a zero divisor is an error, never NULL and never a trap;
//  - a result that does not fit 64 bits is an error;
//  - `not` binds tighter than `and`, looser than comparisons; comparisons do not chain;
//  - `and`, `or` evaluate left to right and stop early;
//  - unknown names are errors, with the nearest known name in the remedy.
#ifndef SIMTUNE_BASE_EXPRESSION_H
#define SIMTUNE_BASE_EXPRESSION_H

#include "tuner/base/error.h"
#include "tuner/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Where a text stands, for messages: "reduce.cu:12".
typedef struct st_place {
    const char *file; // borrowed
    int line;
} st_place;

// A name that expressions may use. Its index in the scope is its slot.
typedef struct st_name {
    const char *name;   // borrowed from whoever owns the scope's names
    bool is_constant;   // a named value: `value` is it
    int64_t value;
    bool is_late;       // known only after compiling (BLOCKS_PER_SM and what depends on it)
} st_name;

typedef struct st_scope {
    st_name *names;
    size_t count, capacity;
} st_scope;

void st_scope_release(st_scope *scope);
// Returns the new slot, or -1 when memory is out. The caller checks for duplicates with st_scope_find.
int st_scope_add(st_scope *scope, st_name name);
int st_scope_find(const st_scope *scope, const char *name); // slot or -1

typedef struct st_expression st_expression;

// Parses and binds `text` against `scope` (slots are stored in the tree; the scope may grow later).
st_code st_expression_parse(const char *text, st_place place, const st_scope *scope,
                            st_expression **out, st_error *error);
void st_expression_free(st_expression *expression);
const char *st_expression_text(const st_expression *expression); // as written

// `values[slot]` for every slot that the expression uses and that is not a constant.
st_code st_expression_evaluate(const st_expression *expression, const int64_t *values, int64_t *out,
                               st_error *error);
bool st_expression_uses(const st_expression *expression, int slot);
bool st_expression_is_late(const st_expression *expression, const st_scope *scope);
// True with *value when it is a constant whatever the slots hold.
bool st_expression_constant(const st_expression *expression, int64_t *value);

// Appends the column or variable for a slot ("c3", "config::BLOCK").
typedef void st_name_printer(void *context, int slot, st_text *out);
// SQL: the statement that uses it must have the functions of st_expression_sql_functions registered.
// A zero divisor or an overflow makes the statement fail with the same message.
void st_expression_print_sql(const st_expression *expression, st_name_printer *name, void *context,
                             st_text *out);
// C++ (also C): operands are printed as they are named; the caller gives names that are long long.
// min, max, ceil_div, ceil_log2 become simtune_min(a, b) … which the header defines.
void st_expression_print_cxx(const st_expression *expression, st_name_printer *name, void *context,
                             st_text *out);

// The top-level `and` terms, for placing constraints early. Borrowed pointers into `expression`; each
// may be used with all functions above except free. Returns how many; fills at most `capacity`.
size_t st_expression_conjuncts(const st_expression *expression, const st_expression **terms,
                               size_t capacity);

#endif
