// SPDX-License-Identifier: Apache-2.0
// What values an expression can take, given the ranges of its names, and whether it can fail.
// Sound, not tight: a range holds every value that occurs, and may_fail is false only where nothing
// can go wrong.
#include "tuner/base/expression_internal.h"

#include <string.h>

typedef __int128 st_wide;

static const st_range anything = {INT64_MIN, INT64_MAX, false};

// The hull of some wide numbers; one that leaves 64 bits is an overflow, which is an error, so what
// is left of the range is what fits.
static st_range hull(const st_wide *numbers, size_t count, bool may_fail) {
    st_wide low = numbers[0], high = numbers[0];
    for (size_t i = 1; i < count; i++) {
        low = numbers[i] < low ? numbers[i] : low;
        high = numbers[i] > high ? numbers[i] : high;
    }
    if (low > INT64_MAX || high < INT64_MIN)
        return (st_range){INT64_MIN, INT64_MAX, true};
    st_range range = {(int64_t)low, (int64_t)high, may_fail};
    if (low < INT64_MIN) {
        range.low = INT64_MIN;
        range.may_fail = true;
    }
    if (high > INT64_MAX) {
        range.high = INT64_MAX;
        range.may_fail = true;
    }
    return range;
}

static bool holds_zero(st_range r) {
    return r.low <= 0 && r.high >= 0;
}

static st_range quotient_range(st_operator op, st_range a, st_range b, bool may_fail) {
    if (holds_zero(b)) { // |a / b| <= |a| for what does not fail
        st_wide low = a.low, high = a.high;
        st_wide numbers[] = {low, high, -low, -high, 0};
        st_range range = hull(numbers, 5, true);
        range.may_fail = true;
        return range;
    }
    st_wide numbers[4];
    for (int i = 0; i < 4; i++) {
        st_wide x = i & 1 ? a.high : a.low, y = i & 2 ? b.high : b.low;
        numbers[i] = x / y;
        if (op == ST_OP_CEIL_DIV && x % y != 0 && (x < 0) == (y < 0))
            numbers[i]++;
    }
    return hull(numbers, 4, may_fail);
}

static st_range remainder_range(st_range a, st_range b, bool may_fail) {
    st_wide low = b.low, high = b.high;
    st_wide largest = (-low > high ? -low : high) - 1; // |a % b| < |b|
    if (largest < 0)
        largest = 0;
    // … and no farther from zero than a, whose sign it has.
    st_wide from = a.low < 0 ? (-(st_wide)a.low < largest ? (st_wide)a.low : -largest) : 0;
    st_wide to = a.high > 0 ? ((st_wide)a.high < largest ? (st_wide)a.high : largest) : 0;
    return (st_range){(int64_t)from, (int64_t)to, may_fail || holds_zero(b)};
}

// Comparisons that the ranges decide are constants.
static st_range comparison_range(st_operator op, st_range a, st_range b, bool may_fail) {
    bool can_less = a.low<b.high, can_greater = a.high> b.low;
    bool can_equal = a.low <= b.high && b.low <= a.high;
    bool only_equal = can_equal && a.low == a.high && b.low == b.high;
    bool can_true = true, can_false = true;
    switch (op) {
    case ST_OP_EQUAL:
        can_true = can_equal, can_false = !only_equal;
        break;
    case ST_OP_NOT_EQUAL:
        can_true = !only_equal, can_false = can_equal;
        break;
    case ST_OP_LESS:
        can_true = can_less, can_false = can_equal || can_greater;
        break;
    case ST_OP_LESS_EQUAL:
        can_true = can_less || can_equal, can_false = can_greater;
        break;
    case ST_OP_GREATER:
        can_true = can_greater, can_false = can_equal || can_less;
        break;
    case ST_OP_GREATER_EQUAL:
        can_true = can_greater || can_equal, can_false = can_less;
        break;
    default:
        break;
    }
    return (st_range){!can_false, can_true, may_fail};
}

static st_range logic_range(st_operator op, st_range a, st_range b) {
    bool a_true = a.low > 0 || a.high < 0, a_false = a.low == 0 && a.high == 0;
    bool b_true = b.low > 0 || b.high < 0, b_false = b.low == 0 && b.high == 0;
    if (op == ST_OP_NOT)
        return (st_range){a_false, !a_true, a.may_fail};
    // What stops early does not fail later.
    bool fails = a.may_fail || (b.may_fail && !(op == ST_OP_AND ? a_false : a_true));
    if (op == ST_OP_AND)
        return (st_range){a_true && b_true, !(a_false || b_false), fails};
    return (st_range){a_true || b_true, !(a_false && b_false), fails};
}

static st_range pick_range(st_operator op, st_range a, st_range b, bool may_fail) {
    if (op == ST_OP_MIN)
        return (st_range){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high,
                          may_fail};
    return (st_range){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high, may_fail};
}

st_range st_range_combine(st_operator op, st_range a, st_range b) {
    bool may_fail = a.may_fail || b.may_fail;
    st_wide numbers[4] = {a.low, a.high, b.low, b.high};
    switch (op) {
    case ST_OP_NEGATE:
        numbers[0] = -numbers[0], numbers[1] = -numbers[1];
        return hull(numbers, 2, may_fail);
    case ST_OP_CEIL_LOG2: {
        int64_t low = 0, high = 0;
        st_operate(op, a.low, 0, &low);
        st_operate(op, a.high, 0, &high);
        return (st_range){low, high, may_fail};
    }
    case ST_OP_ADD:
        numbers[0] += numbers[2], numbers[1] += numbers[3];
        return hull(numbers, 2, may_fail);
    case ST_OP_SUBTRACT:
        numbers[0] -= numbers[3], numbers[1] -= numbers[2];
        return hull(numbers, 2, may_fail);
    case ST_OP_MULTIPLY: {
        st_wide products[] = {numbers[0] * numbers[2], numbers[0] * numbers[3],
                              numbers[1] * numbers[2], numbers[1] * numbers[3]};
        return hull(products, 4, may_fail);
    }
    case ST_OP_DIVIDE:
    case ST_OP_CEIL_DIV:
        return quotient_range(op, a, b, may_fail);
    case ST_OP_MODULO:
        return remainder_range(a, b, may_fail);
    case ST_OP_MIN:
    case ST_OP_MAX:
        return pick_range(op, a, b, may_fail);
    case ST_OP_NOT:
    case ST_OP_AND:
    case ST_OP_OR:
        return logic_range(op, a, b);
    default:
        return comparison_range(op, a, b, may_fail);
    }
}

st_range st_expression_range(const st_expression *expression, const st_sql_names *names) {
    if (expression->op == ST_OP_INTEGER)
        return (st_range){expression->value, expression->value, false};
    if (expression->op == ST_OP_NAME) {
        if (names->ranges)
            return names->ranges[expression->slot];
        if (names->definitions && names->definitions[expression->slot])
            return st_expression_range(names->definitions[expression->slot], names);
        return anything;
    }
    st_range left = st_expression_range(expression->left, names);
    st_range right = expression->right ? st_expression_range(expression->right, names) : left;
    return st_range_combine(expression->op, left, right);
}
