// SPDX-License-Identifier: Apache-2.0
// Trees as SQL and as C++. Both print a term in parentheses of its own, except that a chain of one
// level (a + b - c, a and b and c) has one pair: SQLite's parser and some compilers take only so
// many nested parentheses, and left to right is what a chain means in all three languages.
#include "tuner/base/expression_internal.h"
#include "tuner/base/memory.h"

#include <inttypes.h>
#include <string.h>

// --- the functions of the SQL
// ------------------------------------------------------------------------------

static st_code call_operator(st_operator op, const int64_t *arguments, const char *where,
                             int64_t *out, st_error *error) {
    int64_t second = op == ST_OP_NEGATE || op == ST_OP_CEIL_LOG2 ? 0 : arguments[1];
    st_arithmetic how = st_operate(op, arguments[0], second, out);
    return how == ST_ARITHMETIC_FINE ? ST_OK : st_operate_failed(how, where, error);
}

#define ST_SQL_FUNCTIONS(X)                                                                        \
    X(ST_OP_NEGATE, negate, 1)                                                                     \
    X(ST_OP_CEIL_LOG2, ceil_log2, 1)                                                               \
    X(ST_OP_ADD, add, 2)                                                                           \
    X(ST_OP_SUBTRACT, subtract, 2)                                                                 \
    X(ST_OP_MULTIPLY, multiply, 2)                                                                 \
    X(ST_OP_DIVIDE, divide, 2)                                                                     \
    X(ST_OP_MODULO, modulo, 2)                                                                     \
    X(ST_OP_CEIL_DIV, ceil_div, 2)

#define X(op, name, count)                                                                         \
    static st_code call_##name(const int64_t *arguments, const char *where, int64_t *out,          \
                               st_error *error) {                                                  \
        return call_operator(op, arguments, where, out, error);                                    \
    }
ST_SQL_FUNCTIONS(X)
#undef X

size_t st_expression_sql_functions(const st_sql_function **functions) {
    static const st_sql_function rows[] = {
#define X(op, name, count) {"simtune_" #name, count, call_##name},
        ST_SQL_FUNCTIONS(X)
#undef X
    };
    *functions = rows;
    return sizeof rows / sizeof *rows;
}

const char *st_operator_sql_function(st_operator op) {
    switch (op) {
#define X(operator, name, count)                                                                   \
    case operator:                                                                                 \
        return "simtune_" #name;
        ST_SQL_FUNCTIONS(X)
#undef X
    case ST_OP_MIN:
        return "min";
    case ST_OP_MAX:
        return "max";
    default:
        return NULL;
    }
}

const char *st_operator_symbol(st_operator op, bool sql) {
    switch (op) {
    case ST_OP_ADD:
        return "+";
    case ST_OP_SUBTRACT:
        return "-";
    case ST_OP_MULTIPLY:
        return "*";
    case ST_OP_DIVIDE:
        return "/";
    case ST_OP_MODULO:
        return "%";
    case ST_OP_EQUAL:
        return "==";
    case ST_OP_NOT_EQUAL:
        return "!=";
    case ST_OP_LESS:
        return "<";
    case ST_OP_LESS_EQUAL:
        return "<=";
    case ST_OP_GREATER:
        return ">";
    case ST_OP_GREATER_EQUAL:
        return ">=";
    case ST_OP_AND:
        return sql ? "AND" : "&&";
    case ST_OP_OR:
        return sql ? "OR" : "||";
    default:
        return NULL;
    }
}

// Operators whose chains need no parentheses inside: 0 for those that have no such chain.
int st_operator_chain(st_operator op) {
    switch (op) {
    case ST_OP_ADD:
    case ST_OP_SUBTRACT:
        return 1;
    case ST_OP_MULTIPLY:
    case ST_OP_DIVIDE:
    case ST_OP_MODULO:
        return 2;
    case ST_OP_AND:
        return 3;
    case ST_OP_OR:
        return 4;
    default:
        return 0;
    }
}

// --- SQL
// ---------------------------------------------------------------------------------------------------

void st_print_sql_integer(int64_t value, st_text *out) {
    if (value == INT64_MIN) // "-9223372036854775808" is a negated 2^63, a float, to some readers
        st_text_add(out, "(-9223372036854775807 - 1)");
    else
        st_text_addf(out, value < 0 ? "(%" PRId64 ")" : "%" PRId64, value);
}

void st_print_sql_string(const char *text, st_text *out) {
    st_text_add(out, "'");
    for (; *text; text++)
        st_text_add_bytes(out, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
    st_text_add(out, "'");
}

// True when the operator itself can go wrong on operands that did not.
static bool operator_fails(const st_expression *e, const st_sql_names *names) {
    if (e->op < ST_OP_NEGATE || st_operator_is_boolean(e->op))
        return false;
    st_range left = st_expression_range(e->left, names);
    st_range right = e->right ? st_expression_range(e->right, names) : left;
    left.may_fail = right.may_fail = false;
    return st_range_combine(e->op, left, right).may_fail;
}

static void sql_term(const st_expression *e, const st_sql_names *names, st_text *out);

static void sql_call(const st_expression *e, const st_sql_names *names, bool guarded,
                     st_text *out) {
    st_text_addf(out, "%s(", st_operator_sql_function(e->op));
    sql_term(e->left, names, out);
    if (e->right) {
        st_text_add(out, ", ");
        sql_term(e->right, names, out);
    }
    if (guarded) {
        st_text_add(out, ", ");
        st_print_sql_string(e->source->where, out);
    }
    st_text_add(out, ")");
}

// `and` and `or` of SQL promise no order. Where an operand can fail, the order is spelled out.
static void sql_ordered(const st_expression *e, const st_sql_names *names, st_text *out) {
    st_text_add(out, "(CASE WHEN ");
    sql_term(e->left, names, out);
    st_text_add(out, e->op == ST_OP_AND ? " THEN (" : " THEN 1 ELSE (");
    sql_term(e->right, names, out);
    st_text_add(out, e->op == ST_OP_AND ? " <> 0) ELSE 0 END)" : " <> 0) END)");
}

static bool sql_is_plain(const st_expression *e, const st_sql_names *names) {
    if (e->op == ST_OP_AND || e->op == ST_OP_OR)
        return !st_expression_range(e->left, names).may_fail &&
               !st_expression_range(e->right, names).may_fail;
    return !operator_fails(e, names);
}

// An operand of `==`. Where a WHERE clause says `column == constant`, SQLite writes the constant for that column
// into all other conditions, the guards of sql_ordered too, and then what they guard is evaluated where it fails.
// A unary plus keeps the column out of that.
static void sql_equal_operand(const st_expression *e, const st_sql_names *names, st_text *out) {
    if (e->op == ST_OP_NAME && !(names->definitions && names->definitions[e->slot]))
        st_text_add(out, "+");
    sql_term(e, names, out);
}

// `a op b` without the outer parentheses.
static void sql_chain(const st_expression *e, const st_sql_names *names, st_text *out) {
    void (*operand)(const st_expression *, const st_sql_names *, st_text *) =
        e->op == ST_OP_EQUAL ? sql_equal_operand : sql_term;
    int level = st_operator_chain(e->op);
    if (level && st_operator_chain(e->left->op) == level && sql_is_plain(e->left, names))
        sql_chain(e->left, names, out);
    else
        operand(e->left, names, out);
    st_text_addf(out, " %s ", st_operator_symbol(e->op, true));
    operand(e->right, names, out);
}

static void sql_name(const st_expression *e, const st_sql_names *names, st_text *out) {
    const st_expression *definition = names->definitions ? names->definitions[e->slot] : NULL;
    if (definition)
        sql_term(definition, names, out);
    else
        names->name(names->context, e->slot, out);
}

// ceil_div of what is not negative by a column or number: several times faster than the function.
static bool sql_plain_ceil_div(const st_expression *e, const st_sql_names *names, st_text *out) {
    st_range a = st_expression_range(e->left, names), b = st_expression_range(e->right, names);
    int64_t sum;
    bool leaf =
        e->right->op == ST_OP_INTEGER ||
        (e->right->op == ST_OP_NAME && !(names->definitions && names->definitions[e->right->slot]));
    if (!leaf || a.low < 0 || b.low < 1 || a.may_fail || b.may_fail ||
        __builtin_add_overflow(a.high, b.high, &sum))
        return false;
    st_text_add(out, "((");
    sql_term(e->left, names, out);
    st_text_add(out, " + ");
    sql_term(e->right, names, out);
    st_text_add(out, " - 1) / ");
    sql_term(e->right, names, out);
    st_text_add(out, ")");
    return true;
}

static void sql_term(const st_expression *e, const st_sql_names *names, st_text *out) {
    bool plain = sql_is_plain(e, names);
    switch (e->op) {
    case ST_OP_INTEGER:
        st_print_sql_integer(e->value, out);
        return;
    case ST_OP_NAME:
        sql_name(e, names, out);
        return;
    case ST_OP_NOT:
        st_text_add(out, "(NOT ");
        sql_term(e->left, names, out);
        st_text_add(out, ")");
        return;
    case ST_OP_MIN:
    case ST_OP_MAX:
        sql_call(e, names, false, out);
        return;
    case ST_OP_CEIL_DIV:
        if (sql_plain_ceil_div(e, names, out))
            return;
        sql_call(e, names, true, out);
        return;
    case ST_OP_CEIL_LOG2:
        sql_call(e, names, true, out);
        return;
    case ST_OP_AND:
    case ST_OP_OR:
        if (!plain) {
            sql_ordered(e, names, out);
            return;
        }
        break;
    case ST_OP_NEGATE:
        if (plain) {
            st_text_add(out, "(- ");
            sql_term(e->left, names, out);
            st_text_add(out, ")");
            return;
        }
        break;
    default:
        break;
    }
    if (!plain) {
        sql_call(e, names, true, out);
        return;
    }
    st_text_add(out, "(");
    sql_chain(e, names, out);
    st_text_add(out, ")");
}

void st_expression_print_sql_with(const st_expression *expression, const st_sql_names *names,
                                  st_text *out) {
    sql_term(expression, names, out);
}

void st_expression_print_sql(const st_expression *expression, st_name_printer *name, void *context,
                             st_text *out) {
    st_sql_names names = {.name = name, .context = context};
    sql_term(expression, &names, out);
}

// --- C++
// ----------------------------------------------------------------------------------------------------

typedef struct st_cxx {
    st_name_printer *name;
    void *context;
    st_text *out;
} st_cxx;

static void cxx_number(const st_cxx *c, const st_expression *e);

static void cxx_integer(int64_t value, st_text *out) {
    if (value == INT64_MIN) // C++ has no negative literals
        st_text_add(out, "(-9223372036854775807LL - 1LL)");
    else
        st_text_addf(out, value < 0 ? "(%" PRId64 "LL)" : "%" PRId64 "LL", value);
}

static void cxx_boolean(const st_cxx *c, const st_expression *e);

// `a op b` without the outer parentheses, for chains of plain operators.
static void cxx_chain(const st_cxx *c, const st_expression *e) {
    bool logic = e->op == ST_OP_AND || e->op == ST_OP_OR;
    void (*print)(const st_cxx *, const st_expression *) = logic ? cxx_boolean : cxx_number;
    int level = st_operator_chain(e->op);
    bool divides = e->left->op == ST_OP_DIVIDE || e->left->op == ST_OP_MODULO;
    if (level && st_operator_chain(e->left->op) == level && !divides)
        cxx_chain(c, e->left);
    else
        print(c, e->left);
    st_text_addf(c->out, " %s ", st_operator_symbol(e->op, false));
    print(c, e->right);
}

// Only C++'s `if` knows a truth value; where a number stands in for one it is compared with 0.
static void cxx_boolean(const st_cxx *c, const st_expression *e) {
    if (!st_operator_is_boolean(e->op)) {
        st_text_add(c->out, "(");
        cxx_number(c, e);
        st_text_add(c->out, " != 0)");
        return;
    }
    st_text_add(c->out, e->op == ST_OP_NOT ? "(!" : "(");
    if (e->op == ST_OP_NOT)
        cxx_boolean(c, e->left);
    else
        cxx_chain(c, e);
    st_text_add(c->out, ")");
}

// The divisor is printed twice, so a long one (which may hold divisions of its own) goes through a
// function: the length stays within a factor.
#define LONG_DIVISOR 200

static void cxx_divide(const st_cxx *c, const st_expression *e) {
    int64_t constant;
    bool modulo = e->op == ST_OP_MODULO;
    if (st_expression_constant(e->right, &constant) && constant != 0 &&
        !(modulo && constant == -1)) {
        st_text_add(c->out, "(");
        cxx_number(c, e->left);
        st_text_addf(c->out, " %s ", st_operator_symbol(e->op, false));
        cxx_number(c, e->right);
        st_text_add(c->out, ")");
        return;
    }
    st_text divisor;
    st_text_init(&divisor);
    st_cxx inner = {c->name, c->context, &divisor};
    cxx_number(&inner, e->right);
    const char *text = st_text_string(&divisor);
    if (divisor.length > LONG_DIVISOR) {
        st_text_add(c->out, modulo ? "simtune_modulo(" : "simtune_divide(");
        cxx_number(c, e->left);
        st_text_addf(c->out, ", %s)", text);
    } else {
        st_text_addf(c->out, modulo ? "((%s == 0 || %s == -1) ? 0LL : " : "(%s == 0 ? 0LL : ", text,
                     text);
        cxx_number(c, e->left);
        st_text_addf(c->out, " %s %s)", st_operator_symbol(e->op, false), text);
    }
    c->out->failed |= divisor.failed;
    st_text_release(&divisor);
}

static void cxx_call(const st_cxx *c, const st_expression *e) {
    const char *name = st_operator_sql_function(e->op);
    st_text_addf(c->out, "%s%s(", e->op == ST_OP_MIN || e->op == ST_OP_MAX ? "simtune_" : "", name);
    cxx_number(c, e->left);
    if (e->right) {
        st_text_add(c->out, ", ");
        cxx_number(c, e->right);
    }
    st_text_add(c->out, ")");
}

static void cxx_number(const st_cxx *c, const st_expression *e) {
    switch (e->op) {
    case ST_OP_INTEGER:
        cxx_integer(e->value, c->out);
        return;
    case ST_OP_NAME:
        c->name(c->context, e->slot, c->out);
        return;
    case ST_OP_MIN:
    case ST_OP_MAX:
    case ST_OP_CEIL_DIV:
    case ST_OP_CEIL_LOG2:
        cxx_call(c, e);
        return;
    case ST_OP_DIVIDE:
    case ST_OP_MODULO:
        cxx_divide(c, e);
        return;
    default:
        break;
    }
    if (st_operator_is_boolean(e->op)) {
        st_text_add(c->out, "((long long)");
        cxx_boolean(c, e);
        st_text_add(c->out, ")");
        return;
    }
    st_text_add(c->out, e->op == ST_OP_NEGATE ? "(-" : "(");
    if (e->op == ST_OP_NEGATE)
        cxx_number(c, e->left);
    else
        cxx_chain(c, e);
    st_text_add(c->out, ")");
}

void st_expression_print_cxx(const st_expression *expression, st_name_printer *name, void *context,
                             st_text *out) {
    st_cxx c = {name, context, out};
    if (st_operator_is_boolean(expression->op))
        cxx_boolean(&c, expression);
    else
        cxx_number(&c, expression);
}

const char *st_expression_cxx_functions(void) {
    return "static inline long long simtune_min(long long a, long long b) { return a < b ? a : b; }\n"
           "static inline long long simtune_max(long long a, long long b) { return a > b ? a : b; }\n"
           "static inline long long simtune_divide(long long a, long long b) { return b == 0 ? 0 : a / b; }\n"
           "static inline long long simtune_modulo(long long a, long long b) { return b == 0 || b == -1 ? 0 : a % b; }\n"
           "static inline long long simtune_ceil_div(long long a, long long b)\n"
           "{\n"
           "    if (b == 0)\n"
           "        return 0;\n"
           "    return a / b + (b != -1 && a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);\n"
           "}\n"
           "static inline long long simtune_ceil_log2(long long x)\n"
           "{\n"
           "    long long k = 0;\n"
           "    while (k < 63 && ((unsigned long long)1 << k) < (unsigned long long)(x > 1 ? x : 1))\n"
           "        k++;\n"
           "    return k;\n"
           "}\n";
}
