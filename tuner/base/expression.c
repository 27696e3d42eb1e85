// SPDX-License-Identifier: Apache-2.0
// Invariants (tests/unit/base/test_expression.c and tests/unit/tuner/test_expression_sql.c cite
// them):
//  E1  A tree that was parsed evaluates to a number or to an error; it never traps and never
//  overflows
//      silently, whatever the slots hold.
//  E2  The SQL that is printed for a tree gives the same number, or fails with the same message.
//  With
//      ranges, plain operators are printed only where the ranges prove that they cannot go wrong.
//  E3  The C++ that is printed gives the same number wherever the tree gives one.
//  E4  Every node belongs to its source; freeing the root frees all of it, conjuncts included.
//  E5  No walk recurses deeper than ST_EXPRESSION_NODES, which the parser enforces.
// This file holds the meaning (st_operate, evaluation) and the questions about a tree;
// expression_parse.c makes trees, expression_print.c prints them as SQL and C++, expression_range.c
// knows what values they can take, expression_bound.c weakens constraints for earlier joins.
#include "tuner/base/expression.h"

#include "tuner/base/expression_internal.h"
#include "tuner/base/memory.h"

#include <string.h>

// --- scopes
// ----------------------------------------------------------------------------------------------

void st_scope_release(st_scope *scope) {
    st_free(scope->names);
    memset(scope, 0, sizeof *scope);
}

int st_scope_add(st_scope *scope, st_name name) {
    st_name *names = st_grow(scope->names, &scope->capacity, scope->count + 1, sizeof *names);
    if (!names)
        return -1;
    scope->names = names;
    names[scope->count] = name;
    return (int)scope->count++;
}

int st_scope_find(const st_scope *scope, const char *name) {
    for (size_t i = 0; i < scope->count; i++)
        if (strcmp(scope->names[i].name, name) == 0)
            return (int)i;
    return -1;
}

// --- the meaning of the operators
// ----------------------------------------------------------------------------

static int64_t ceil_log2(int64_t x) {
    int64_t k = 0;
    while (k < 63 && ((uint64_t)1 << k) < (uint64_t)(x > 1 ? x : 1))
        k++;
    return k;
}

static st_arithmetic divide(st_operator op, int64_t a, int64_t b, int64_t *out) {
    if (b == 0)
        return ST_ARITHMETIC_ZERO;
    if (b == -1) { // INT64_MIN / -1 traps, and INT64_MIN % -1 as well
        *out = 0;
        if (op == ST_OP_MODULO)
            return ST_ARITHMETIC_FINE;
        return __builtin_sub_overflow((int64_t)0, a, out) ? ST_ARITHMETIC_OVERFLOW
                                                          : ST_ARITHMETIC_FINE;
    }
    *out = op == ST_OP_MODULO ? a % b : a / b;
    if (op == ST_OP_CEIL_DIV && a % b != 0 && (a < 0) == (b < 0))
        (*out)++;
    return ST_ARITHMETIC_FINE;
}

st_arithmetic st_operate(st_operator op, int64_t a, int64_t b, int64_t *out) {
    bool overflow = false;
    switch (op) {
    case ST_OP_NEGATE:
        overflow = __builtin_sub_overflow((int64_t)0, a, out);
        break;
    case ST_OP_ADD:
        overflow = __builtin_add_overflow(a, b, out);
        break;
    case ST_OP_SUBTRACT:
        overflow = __builtin_sub_overflow(a, b, out);
        break;
    case ST_OP_MULTIPLY:
        overflow = __builtin_mul_overflow(a, b, out);
        break;
    case ST_OP_DIVIDE:
    case ST_OP_MODULO:
    case ST_OP_CEIL_DIV:
        return divide(op, a, b, out);
    case ST_OP_NOT:
        *out = !a;
        break;
    case ST_OP_CEIL_LOG2:
        *out = ceil_log2(a);
        break;
    case ST_OP_EQUAL:
        *out = a == b;
        break;
    case ST_OP_NOT_EQUAL:
        *out = a != b;
        break;
    case ST_OP_LESS:
        *out = a < b;
        break;
    case ST_OP_LESS_EQUAL:
        *out = a <= b;
        break;
    case ST_OP_GREATER:
        *out = a > b;
        break;
    case ST_OP_GREATER_EQUAL:
        *out = a >= b;
        break;
    case ST_OP_AND:
        *out = a && b;
        break;
    case ST_OP_OR:
        *out = a || b;
        break;
    case ST_OP_MIN:
        *out = a < b ? a : b;
        break;
    case ST_OP_MAX:
        *out = a > b ? a : b;
        break;
    case ST_OP_INTEGER:
    case ST_OP_NAME:
    case ST_OP_REAL: // the last three are in no tree that is computed here
    case ST_OP_WORD:
    case ST_OP_KNOWN:
        *out = a;
        break;
    }
    return overflow ? ST_ARITHMETIC_OVERFLOW : ST_ARITHMETIC_FINE;
}

st_code st_operate_failed(st_arithmetic how, const char *where, st_error *error) {
    if (how == ST_ARITHMETIC_ZERO)
        return st_fail(error, ST_USAGE, "Put a condition before it, as in `d != 0 and n % d == 0`.",
                       "%s: division by zero", where);
    return st_fail(error, ST_USAGE,
                   "Expressions are computed with 64-bit integers: use smaller ones.",
                   "%s: a result does not fit 64 bits", where);
}

static st_code evaluate(const st_expression *e, const int64_t *values, int64_t *out,
                        st_error *error) {
    if (e->op == ST_OP_INTEGER || e->op == ST_OP_NAME) {
        *out = e->op == ST_OP_INTEGER ? e->value : values[e->slot];
        return ST_OK;
    }
    int64_t left = 0, right = 0;
    st_code code = evaluate(e->left, values, &left, error);
    if (code)
        return code;
    if ((e->op == ST_OP_AND && !left) || (e->op == ST_OP_OR && left)) {
        *out = left != 0;
        return ST_OK;
    }
    if (e->right && (code = evaluate(e->right, values, &right, error)) != ST_OK)
        return code;
    st_arithmetic how = st_operate(e->op, left, right, out);
    return how == ST_ARITHMETIC_FINE ? ST_OK : st_operate_failed(how, e->source->where, error);
}

st_code st_expression_evaluate(const st_expression *expression, const int64_t *values, int64_t *out,
                               st_error *error) {
    int64_t result = 0;
    st_code code = evaluate(expression, values, &result, error);
    if (!code)
        *out = result;
    return code;
}

// --- questions about a tree
// -------------------------------------------------------------------------------------

const char *st_expression_text(const st_expression *expression) {
    return expression->text ? expression->text : expression->source->text;
}

st_place st_expression_place(const st_expression *expression) {
    return (st_place){expression->source->file, expression->source->line};
}

bool st_expression_uses(const st_expression *expression, int slot) {
    if (!expression->left)
        return expression->slot == slot && slot >= 0;
    return st_expression_uses(expression->left, slot) ||
           (expression->right && st_expression_uses(expression->right, slot));
}

bool st_expression_uses_kind(const st_expression *expression, const unsigned char *kinds, unsigned char kind,
                             bool equal) {
    if (!expression->left)
        return expression->slot >= 0 && (kinds[expression->slot] == kind) == equal;
    return st_expression_uses_kind(expression->left, kinds, kind, equal) ||
           (expression->right && st_expression_uses_kind(expression->right, kinds, kind, equal));
}

int st_expression_name(const st_expression *expression) {
    return expression->op == ST_OP_NAME ? expression->slot : -1;
}

bool st_expression_is_late(const st_expression *expression, const st_scope *scope) {
    if (expression->op == ST_OP_NAME)
        return scope->names[expression->slot].is_late;
    return (expression->left && st_expression_is_late(expression->left, scope)) ||
           (expression->right && st_expression_is_late(expression->right, scope));
}

bool st_expression_constant(const st_expression *expression, int64_t *value) {
    if (expression->op == ST_OP_INTEGER || expression->op == ST_OP_NAME) {
        *value = expression->value;
        return expression->op == ST_OP_INTEGER;
    }
    int64_t left = 0, right = 0;
    if (!st_expression_constant(expression->left, &left))
        return false;
    if ((expression->op == ST_OP_AND && !left) || (expression->op == ST_OP_OR && left)) {
        *value = left != 0;
        return true;
    }
    if (expression->right && !st_expression_constant(expression->right, &right))
        return false;
    return st_operate(expression->op, left, right, value) == ST_ARITHMETIC_FINE;
}

size_t st_expression_weight(const st_expression *expression, const size_t *weights) {
    const size_t most = SIZE_MAX / 4; // so that sums of saturated weights do not wrap
    size_t weight = 1;
    if (expression->op == ST_OP_NAME && weights)
        weight = weights[expression->slot];
    if (expression->left)
        weight += st_expression_weight(expression->left, weights);
    if (expression->right && weight < most)
        weight += st_expression_weight(expression->right, weights);
    return weight < most ? weight : most;
}

static void collect_conjuncts(const st_expression *e, const st_expression **terms, size_t capacity,
                              size_t *count) {
    if (e->op == ST_OP_AND) {
        collect_conjuncts(e->left, terms, capacity, count);
        collect_conjuncts(e->right, terms, capacity, count);
        return;
    }
    if (*count < capacity)
        terms[*count] = e;
    (*count)++;
}

size_t st_expression_conjuncts(const st_expression *expression, const st_expression **terms,
                               size_t capacity) {
    size_t count = 0;
    collect_conjuncts(expression, terms, capacity, &count);
    return count;
}

// --- the end
// -------------------------------------------------------------------------------------------------------

void st_source_free(st_source *source) {
    if (!source)
        return;
    for (st_expression *node = source->nodes, *next; node; node = next) {
        next = node->next;
        st_free(node->text);
        st_free(node->word);
        st_free(node);
    }
    st_free(source->file);
    st_free(source->text);
    st_free(source->where);
    st_free(source);
}

void st_expression_free(st_expression *expression) {
    if (expression)
        st_source_free(expression->source);
}
