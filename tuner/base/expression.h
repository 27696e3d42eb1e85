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
//  - ceil_div(a, b) is the smallest integer that is not below a / b; ceil_log2(x) the smallest k with
//    2^k >= x, and 0 for every x <= 1; min and max take two or more;
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
    int line; // 0: none; below 0: that of a text which was made out of `file`, and is not told
} st_place;

// What a name stands for; all but the first are of the query dialect alone.
typedef enum st_name_kind {
    ST_NAME_INTEGER,
    ST_NAME_REAL,
    ST_NAME_WORD,
    ST_NAME_MIXED // a number in some rows, a word in others
} st_name_kind;

// A name that expressions may use. Its index in the scope is its slot.
typedef struct st_name {
    const char *name;   // borrowed from whoever owns the scope's names
    bool is_constant;   // a named value: `value` is it
    int64_t value;
    bool is_late;       // known only after compiling (BLOCKS_PER_SM and what depends on it)
    st_name_kind kind;
    const char *const *words; // all that a name of words can be, NULL-terminated; NULL: anything
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
// Where it stands; the file's name lives as long as the expression.
st_place st_expression_place(const st_expression *expression);

// `values[slot]` for every slot that the expression uses and that is not a constant.
st_code st_expression_evaluate(const st_expression *expression, const int64_t *values, int64_t *out,
                               st_error *error);
bool st_expression_uses(const st_expression *expression, int slot);
// Does `kinds[slot]` of any slot that it uses equal `kind` (`equal`), or differ from it (not `equal`)?
bool st_expression_uses_kind(const st_expression *expression, const unsigned char *kinds, unsigned char kind, bool equal);
bool st_expression_is_late(const st_expression *expression, const st_scope *scope);
// True with *value when it is a constant whatever the slots hold.
bool st_expression_constant(const st_expression *expression, int64_t *value);

// Appends the column or variable for a slot ("c3", "config::BLOCK"). Never called for constants, which
// are printed as numbers.
typedef void st_name_printer(void *context, int slot, st_text *out);
// SQL: the statement that uses it must run on a connection on which the functions of
// st_expression_sql_functions are registered. A zero divisor or an overflow makes the statement fail
// with the message of st_expression_evaluate. Names are columns of integers, never NULL.
void st_expression_print_sql(const st_expression *expression, st_name_printer *name, void *context,
                             st_text *out);
// C++ (also C): operands are printed as they are named; the caller gives names that are long long.
// min, max, ceil_div, ceil_log2 become simtune_min(a, b) … which the header defines (as
// st_expression_cxx_functions does, with simtune_divide and simtune_modulo for long divisors). A zero divisor of `/` or `%`, which the tree reports, gives 0 here,
// never a trap; values for which the tree reports an overflow are the caller's to keep out.
void st_expression_print_cxx(const st_expression *expression, st_name_printer *name, void *context,
                             st_text *out);
// Definitions of those functions as `static inline` C and C++ text.
const char *st_expression_cxx_functions(void);

// --- SQL with what is known of the names ---------------------------------------------------------------
// What a name or expression can be; may_fail: evaluating it can end in an error.
typedef struct st_range {
    int64_t low, high;
    bool may_fail;
} st_range;

typedef struct st_sql_names {
    st_name_printer *name;
    void *context;
    const st_range *ranges;                  // one a slot, or NULL: nothing is known
    const st_expression *const *definitions; // one a slot: printed in the name's place; may be NULL, as
                                             // may each of them. Its range stands in `ranges`.
} st_sql_names;

// The values that an expression can take, given the ranges of its names.
st_range st_expression_range(const st_expression *expression, const st_sql_names *names);
// As st_expression_print_sql; where the ranges prove that nothing can go wrong, plain operators are
// printed, which SQLite evaluates several times faster than functions.
void st_expression_print_sql_with(const st_expression *expression, const st_sql_names *names,
                                  st_text *out);
// Appends a condition that uses only the slots with known[slot], and that holds wherever the comparison
// `expression` holds, whatever the other slots are within their ranges: `BLOCK * VEC <= 4096` with VEC
// from 2 on gives `BLOCK * 2 <= 4096`. False, with nothing appended, when there is none worth checking.
bool st_expression_print_sql_bound(const st_expression *expression, const st_sql_names *names,
                                   const bool *known, st_text *out);
// Number of nodes, a name counting as weights[slot] (NULL: 1). Saturates.
size_t st_expression_weight(const st_expression *expression, const size_t *weights);

// The functions that SQL uses where something can go wrong. base links no SQLite: the owner of a
// connection registers each row under its name with argument_count integers and, last, the text
// `where`; on failure the statement must fail with error->what. Not to be registered as deterministic:
// SQLite evaluates deterministic functions of constants even where a CASE does not reach them.
typedef struct st_sql_function {
    const char *name;
    int argument_count; // without `where`
    st_code (*call)(const int64_t *arguments, const char *where, int64_t *out, st_error *error);
} st_sql_function;
size_t st_expression_sql_functions(const st_sql_function **functions);

// --- the query dialect -----------------------------------------------------------------------------------
// The same language over rows of a store, where values may be real, words or unknown. It adds
//  - numbers with a fraction or an exponent; `/` of two whole numbers still truncates, `%` may be fractional;
//  - names with dots (stall.long_scoreboard);
//  - words, bare (crash, two_pass), as versions (580.159.04) or in quotes ("NVIDIA H200"), on either side of
//    == and != opposite a name that can be a word;
//  - known(x): 1 where x is known, else 0.
// Nothing fails while it runs: division by zero gives unknown, what does not fit 64 bits becomes real, unknown
// makes a comparison unknown, `and`, `or`, `not` follow the three values of SQL, and a row of which the whole is
// unknown does not match.
// A tree of this dialect goes to st_expression_print_query, _uses, _name, _is_strict, _conjuncts, _text and _free alone.
// *unknown_name (may be NULL): whether that is what was wrong.
st_code st_expression_parse_query(const char *text, st_place place, const st_scope *scope,
                                  bool *unknown_name, st_expression **out, st_error *error);
// Its slot when it is a name alone, else -1.
int st_expression_name(const st_expression *expression);
// True when it is unknown, and never true, wherever one of its names is unknown: a comparison of computed values.
bool st_expression_is_strict(const st_expression *expression);
// SQL: needs the functions of st_expression_query_functions. `name` prints a value without affinity problems:
// a column, a call or something in parentheses.
void st_expression_print_query(const st_expression *expression, st_name_printer *name, void *context,
                               st_text *out);
// What a value of SQLite is to those functions.
typedef struct st_query_value {
    enum { ST_VALUE_UNKNOWN, ST_VALUE_INTEGER, ST_VALUE_REAL } kind; // a word is unknown to arithmetic
    int64_t integer;
    double real;
} st_query_value;
typedef struct st_query_function {
    const char *name;
    int argument_count; // 1 or 2
    st_query_value (*call)(st_query_value a, st_query_value b);
} st_query_function;
size_t st_expression_query_functions(const st_query_function **functions);

// The top-level `and` terms, for placing constraints early. Borrowed pointers into `expression`; each
// may be used with all functions above except free. Returns how many; fills at most `capacity`.
size_t st_expression_conjuncts(const st_expression *expression, const st_expression **terms,
                               size_t capacity);

#endif
