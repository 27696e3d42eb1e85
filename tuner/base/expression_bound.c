// SPDX-License-Identifier: Apache-2.0
// Weaker conditions for earlier joins. A constraint over A, B and C can be checked only when all
// three are bound; but whatever C may still become, `A * B * C <= 4096` needs `A * B * (least C) <=
// 4096`, which cuts before C is joined. Sound, not tight: what is printed holds wherever the
// constraint holds.
#include "tuner/base/expression_internal.h"

#include <string.h>

typedef struct st_bounder {
    const st_sql_names *names;
    const bool *known;
} st_bounder;

static bool all_known(const st_bounder *b, const st_expression *e) {
    if (e->op == ST_OP_INTEGER)
        return true;
    if (e->op == ST_OP_NAME)
        return b->known[e->slot];
    return all_known(b, e->left) && (!e->right || all_known(b, e->right));
}

static st_range print_bound(const st_bounder *b, const st_expression *e, bool high, int chain,
                            st_text *out);

// `left op right` of two bounds; no parentheses where it goes on a chain of its level.
static st_range print_infix(const st_bounder *b, const st_expression *e, bool high, bool high_right,
                            int chain, st_text *out) {
    int level = st_operator_chain(e->op);
    bool inside = level == chain;
    st_text part;
    st_text_init(&part);
    st_range right = print_bound(b, e->right, high_right, 0, &part);
    bool neutral = e->op == ST_OP_MULTIPLY && strcmp(st_text_string(&part), "1") == 0;
    if (!neutral && !inside)
        st_text_add(out, "(");
    st_range left = print_bound(b, e->left, high, neutral ? chain : level, out);
    if (!neutral)
        st_text_addf(out, " %s %s%s", st_operator_symbol(e->op, true), st_text_string(&part),
                     inside ? "" : ")");
    out->failed |= part.failed;
    st_text_release(&part);
    return st_range_combine(e->op, left, right);
}

static st_range print_function(const st_bounder *b, const st_expression *e, bool high,
                               bool high_right, st_text *out) {
    st_text_addf(out, "%s(", st_operator_sql_function(e->op));
    st_range left = print_bound(b, e->left, high, 0, out), right = left;
    if (e->right) {
        st_text_add(out, ", ");
        right = print_bound(b, e->right, high_right, 0, out);
    }
    if (e->op == ST_OP_CEIL_DIV || e->op == ST_OP_CEIL_LOG2) {
        st_text_add(out, ", ");
        st_print_sql_string(e->source->where, out);
    }
    st_text_add(out, ")");
    return st_range_combine(e->op, left, right);
}

// Prints a term over the known names that is never above (high: never below) `e`, which cannot
// fail; returns the term's range. Each part stays within the range of what it replaces, so nothing
// overflows. `chain` is the level of the chain whose left end this is, or 0.
static st_range print_bound(const st_bounder *b, const st_expression *e, bool high, int chain,
                            st_text *out) {
    st_range whole = st_expression_range(e, b->names);
    if (whole.may_fail) { // in a part that is never reached: what it would be at most will do
        st_print_sql_integer(high ? whole.high : whole.low, out);
        return (st_range){high ? whole.high : whole.low, high ? whole.high : whole.low, false};
    }
    if (all_known(b, e)) {
        st_expression_print_sql_with(e, b->names, out);
        return whole;
    }
    const st_expression *definition =
        e->op == ST_OP_NAME && b->names->definitions ? b->names->definitions[e->slot] : NULL;
    if (definition)
        return print_bound(b, definition, high, chain, out);
    st_range left = e->left ? st_expression_range(e->left, b->names) : whole;
    st_range right = e->right ? st_expression_range(e->right, b->names) : whole;
    switch (e->op) {
    case ST_OP_ADD:
        return print_infix(b, e, high, high, chain, out);
    case ST_OP_SUBTRACT:
        return print_infix(b, e, high, !high, chain, out);
    case ST_OP_MIN:
    case ST_OP_MAX:
    case ST_OP_CEIL_LOG2:
        return print_function(b, e, high, high, out);
    case ST_OP_MULTIPLY:
        if (left.low >= 0 && right.low >= 0)
            return print_infix(b, e, high, high, chain, out);
        break;
    case ST_OP_DIVIDE:
        if (left.low >= 0 && right.low > 0)
            return print_infix(b, e, high, !high, chain, out);
        break;
    case ST_OP_CEIL_DIV:
        if (left.low >= 0 && right.low > 0)
            return print_function(b, e, high, !high, out);
        break;
    default:
        break;
    }
    int64_t value = high ? whole.high : whole.low;
    st_print_sql_integer(value, out);
    return (st_range){value, value, false};
}

// `lower(left) op upper(right)`, or nothing when it always holds.
static bool print_order(const st_bounder *b, const st_expression *left, const st_expression *right,
                        st_operator op, st_text *out) {
    st_text part;
    st_text_init(&part);
    st_text_add(&part, "(");
    st_range low = print_bound(b, left, false, 0, &part);
    st_text_addf(&part, " %s ", st_operator_symbol(op, true));
    st_range high = print_bound(b, right, true, 0, &part);
    st_text_add(&part, ")");
    bool useful = part.failed || st_range_combine(op, low, high).low == 0;
    if (useful)
        st_text_add(out, st_text_string(&part));
    out->failed |= part.failed;
    st_text_release(&part);
    return useful;
}

// Joins what two conditions gave: `or` needs both, `and` takes what there is. Releases them.
static bool join_conditions(st_operator op, bool has_left, st_text *left, bool has_right,
                            st_text *right, st_text *out) {
    bool useful = op == ST_OP_OR ? has_left && has_right : has_left || has_right;
    if (useful && has_left && has_right)
        st_text_addf(out, "(%s %s %s)", st_text_string(left), st_operator_symbol(op, true),
                     st_text_string(right));
    else if (useful)
        st_text_add(out, st_text_string(has_left ? left : right));
    out->failed |= left->failed || right->failed;
    st_text_release(left);
    st_text_release(right);
    return useful;
}

static bool print_condition(const st_bounder *b, const st_expression *e, st_text *out) {
    st_text left, right;
    st_text_init(&left);
    st_text_init(&right);
    st_range range = st_expression_range(e, b->names);
    if (range.may_fail) // in a part that is never reached
        return false;
    if (all_known(b, e)) {
        if (range.low > 0 || range.high < 0) // always true
            return false;
        st_expression_print_sql_with(e, b->names, out);
        return true;
    }
    switch (e->op) {
    case ST_OP_LESS:
    case ST_OP_LESS_EQUAL:
        return print_order(b, e->left, e->right, e->op, out);
    case ST_OP_GREATER:
        return print_order(b, e->right, e->left, ST_OP_LESS, out);
    case ST_OP_GREATER_EQUAL:
        return print_order(b, e->right, e->left, ST_OP_LESS_EQUAL, out);
    case ST_OP_EQUAL: {
        bool has_left = print_order(b, e->left, e->right, ST_OP_LESS_EQUAL, &left);
        bool has_right = print_order(b, e->right, e->left, ST_OP_LESS_EQUAL, &right);
        return join_conditions(ST_OP_AND, has_left, &left, has_right, &right, out);
    }
    case ST_OP_AND:
    case ST_OP_OR: {
        bool has_left = print_condition(b, e->left, &left);
        bool has_right = print_condition(b, e->right, &right);
        return join_conditions(e->op, has_left, &left, has_right, &right, out);
    }
    default:
        return false;
    }
}

bool st_expression_print_sql_bound(const st_expression *expression, const st_sql_names *names,
                                   const bool *known, st_text *out) {
    st_bounder b = {names, known};
    if (all_known(&b, expression) || st_expression_range(expression, names).may_fail)
        return false;
    st_text part;
    st_text_init(&part);
    bool useful = print_condition(&b, expression, &part);
    if (useful)
        st_text_addf(out, "(%s)", st_text_string(&part));
    out->failed |= part.failed;
    st_text_release(&part);
    return useful;
}
