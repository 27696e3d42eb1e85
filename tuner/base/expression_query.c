// SPDX-License-Identifier: Apache-2.0
// The query dialect (expression.h): what it adds to the language, and its SQL. Invariants:
//  Q1  A tree that passed st_parser_check_query prints SQL that SQLite accepts wherever a condition may stand:
//      the depth of its parse is bounded, and every operand has the kind that its operator wants.
//  Q2  No function here fails: what has no value is unknown.
//  Q3  On whole numbers, where the language gives a number, the dialect gives the same one.
#include "tuner/base/expression_parser.h"
#include "tuner/base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// SQLite's parser has a stack of 100 symbols; the statement around a condition needs some thirty of them.
enum { DEEPEST = 66, NAME_DEPTH = 12, LONGEST = 400 };

// --- literals ----------------------------------------------------------------------------------------------

// The length of `580.159.04`: whole numbers, two dots or more.
static size_t version_length(const char *at) {
    size_t length = strspn(at, "0123456789"), dots = 0;
    while (length && at[length] == '.' && isdigit((unsigned char)at[length + 1])) {
        length += 1 + strspn(at + length + 1, "0123456789");
        dots++;
    }
    return dots >= 2 ? length : 0;
}

// The length of a number with a fraction or an exponent.
static size_t real_length(const char *at) {
    size_t length = strspn(at, "0123456789");
    bool fraction = at[length] == '.' && (length || isdigit((unsigned char)at[1]));
    if (fraction)
        length += 1 + strspn(at + length + 1, "0123456789");
    size_t exponent = length;
    if (length && (at[exponent] == 'e' || at[exponent] == 'E')) {
        exponent += 1 + (at[exponent + 1] == '-' || at[exponent + 1] == '+');
        size_t digits = strspn(at + exponent, "0123456789");
        if (digits)
            return exponent + digits;
    }
    return fraction ? length : 0;
}

bool st_parser_is_query_number(const st_parser *p) {
    return version_length(p->at) || real_length(p->at);
}

st_expression *st_parser_word(st_parser *p, size_t begin, size_t end, bool quoted) {
    st_expression *node = st_parser_node(p, ST_OP_WORD, NULL, NULL);
    if (!node)
        return NULL;
    node->quoted = quoted;
    node->begin = begin;
    node->end = end;
    node->word = st_strndup(p->source->text + begin + quoted, end - begin - 2u * quoted);
    return node->word ? node : st_parser_no_memory(p);
}

st_expression *st_parser_query_number(st_parser *p, bool negative) {
    size_t begin = (size_t)(p->at - p->source->text), version = version_length(p->at);
    size_t length = version ? version : real_length(p->at);
    const char *end = p->at + length;
    if (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
        return FAIL(p, "Numbers are 0.5, 1e6, 256, 64Ki; words that look like one stand in quotes.",
                    "%s: `%.*s` is no number", p->source->where,
                    (int)strspn(p->at, "0123456789.eE+-_abcdfghijklmnopqrstuvwxyz"), p->at);
    if (version && !negative) {
        p->at = end;
        return st_parser_word(p, begin, begin + length, false);
    }
    double value = strtod(p->at, NULL); // the locale is C: main sets none
    if (version || !isfinite(value))
        return FAIL(p, "Numbers are 0.5, 1e6, 256, 64Ki.", "%s: `%.*s` is no number",
                    p->source->where, length < 40 ? (int)length : 40, p->at);
    st_expression *node = st_parser_node(p, ST_OP_REAL, NULL, NULL);
    if (!node)
        return NULL;
    node->real = negative ? -value : value;
    node->begin = begin;
    node->end = begin + length;
    p->at = end;
    return node;
}

st_expression *st_parser_quoted(st_parser *p) {
    size_t begin = (size_t)(p->at - p->source->text);
    const char *end = strchr(p->at + 1, *p->at);
    if (!end)
        return FAIL(p, "Close it; a word that holds one kind of quote stands in the other kind.",
                    "%s: a quote is open at its end", p->source->where);
    p->at = end + 1;
    return st_parser_word(p, begin, (size_t)(p->at - p->source->text), true);
}

// --- what may stand where ------------------------------------------------------------------------------------

static bool failed(st_expression *node) {
    return !node;
}

// How a text stands in the source, for messages.
static const char *cut(const st_expression *e, char *out, size_t size) {
    size_t length = e->end - e->begin;
    snprintf(out, size, "%.*s", length < size - 1 ? (int)length : (int)size - 1,
             e->source->text + e->begin);
    return out;
}

static bool is_word_name(const st_expression *e) {
    return e->op == ST_OP_NAME && e->kind == ST_NAME_WORD;
}

// A bare word that stands where a number should is a name that nobody knows.
static bool refuse_word(st_parser *p, const st_expression *e) {
    char text[64];
    if (e->op == ST_OP_WORD && !e->quoted && !isdigit((unsigned char)e->word[0]))
        return !failed(st_parser_unknown_name(p, e->word));
    return !failed(FAIL(p, "Words are compared with == and !=, a name of words on one side.",
                        "%s: `%s` is a word where a number should stand", p->source->where,
                        cut(e, text, sizeof text)));
}

static bool check_number(st_parser *p, st_expression *e);

// A word beside a name: of a closed vocabulary it must be one of its words.
static bool check_word(st_parser *p, const st_expression *name, st_expression *word) {
    const char *const *words = p->scope->names[name->slot].words;
    char text[64], remedy[sizeof p->error->remedy] = "";
    size_t count = 0, length;
    for (; words && words[count]; count++)
        if (strcmp(words[count], word->word) == 0)
            return true;
    if (!words)
        return true;
    int nearest = st_text_nearest(word->word, words, count);
    if (nearest >= 0)
        snprintf(remedy, sizeof remedy, "Did you mean `%s`?", words[nearest]);
    else {
        length = (size_t)snprintf(remedy, sizeof remedy, "It is one of:");
        for (size_t i = 0; i < count && length + 40 < sizeof remedy; i++)
            length += (size_t)snprintf(remedy + length, sizeof remedy - length, " %.30s", words[i]);
    }
    return !failed(FAIL(p, remedy, "%s: no %s is `%.100s`", p->source->where,
                        cut(name, text, sizeof text), word->word));
}

// A number beside a name of words (`driver == 570`) is the word that it is written as.
static bool number_as_word(st_parser *p, st_expression *e) {
    e->word = st_strndup(p->source->text + e->begin, e->end - e->begin);
    e->op = ST_OP_WORD;
    e->quoted = true;
    return e->word || !failed(st_parser_no_memory(p));
}

static bool check_equal_sides(st_parser *p, st_expression *name, st_expression *other) {
    char text[64];
    if (is_word_name(name) && (other->op == ST_OP_INTEGER || other->op == ST_OP_REAL) &&
        other->slot < 0 && !number_as_word(p, other))
        return false;
    if (other->op == ST_OP_WORD && name->kind != ST_NAME_WORD && name->kind != ST_NAME_MIXED) {
        if (!other->quoted && !isdigit((unsigned char)other->word[0]))
            return refuse_word(p, other);
        return !failed(FAIL(p, "Compare it with a number.", "%s: `%s` is a number, not a word",
                            p->source->where, cut(name, text, sizeof text)));
    }
    if (other->op == ST_OP_WORD)
        return check_word(p, name, other);
    if (is_word_name(name) && other->op == ST_OP_NAME &&
        (other->kind == ST_NAME_WORD || other->kind == ST_NAME_MIXED))
        return true;
    if (other->op == ST_OP_NAME && other->kind == ST_NAME_MIXED)
        return true;
    return check_number(p, other);
}

static bool check_equal(st_parser *p, st_expression *e) {
    st_expression *left = e->left, *right = e->right;
    bool worded = left->op == ST_OP_WORD || right->op == ST_OP_WORD || is_word_name(left) ||
                  is_word_name(right);
    if (!worded) {
        bool mixed_left = left->op == ST_OP_NAME && left->kind == ST_NAME_MIXED;
        bool mixed_right = right->op == ST_OP_NAME && right->kind == ST_NAME_MIXED;
        return (mixed_left || check_number(p, left)) && (mixed_right || check_number(p, right));
    }
    if (left->op == ST_OP_NAME && (is_word_name(left) || right->op == ST_OP_WORD))
        return check_equal_sides(p, left, right);
    if (right->op == ST_OP_NAME)
        return check_equal_sides(p, right, left);
    return refuse_word(p, left->op == ST_OP_WORD || is_word_name(left) ? left : right);
}

static bool check_number(st_parser *p, st_expression *e) {
    if (e->op == ST_OP_WORD || is_word_name(e))
        return refuse_word(p, e);
    if (e->op == ST_OP_KNOWN) {
        char text[64];
        if (e->left->op == ST_OP_NAME)
            return true;
        if (e->left->op == ST_OP_WORD && !e->left->quoted)
            return refuse_word(p, e->left);
        return !failed(FAIL(p, "As in known(registers).", "%s: known(%s) is asked of no name",
                            p->source->where, cut(e->left, text, sizeof text)));
    }
    if (e->op == ST_OP_EQUAL || e->op == ST_OP_NOT_EQUAL)
        return check_equal(p, e);
    return (!e->left || check_number(p, e->left)) && (!e->right || check_number(p, e->right));
}

// --- SQL -------------------------------------------------------------------------------------------------------

typedef struct printer {
    st_name_printer *name;
    void *context;
    st_text *out;
} printer;

static const char *function_of(st_operator op) {
    switch (op) {
    case ST_OP_MIN:
        return "min";
    case ST_OP_MAX:
        return "max";
    case ST_OP_MODULO:
        return "simtune_query_modulo";
    case ST_OP_CEIL_DIV:
        return "simtune_query_ceil_div";
    case ST_OP_CEIL_LOG2:
        return "simtune_query_ceil_log2";
    default:
        return NULL;
    }
}

// Whether the left operand goes on as a chain without parentheses of its own.
static bool chains(const st_expression *e) {
    int level = st_operator_chain(e->op);
    return level && !function_of(e->left->op) && st_operator_chain(e->left->op) == level;
}

// Symbols on the parser's stack while it reads a term; its name stands for what is printed for it.
static int depth(const st_expression *e) {
    int left = 0, right = 0;
    if (e->op == ST_OP_NAME)
        return NAME_DEPTH;
    if (!e->left)
        return 4;
    left = depth(e->left);
    if (e->right)
        right = depth(e->right);
    if (function_of(e->op))
        return 4 + (left > right + 1 ? left : right + 1);
    if (chains(e))
        left--; // the parenthesis is counted there
    return 2 + (left > right + 2 ? left : right + 2);
}

bool st_parser_check_query(st_parser *p, st_expression *root) {
    if (!check_number(p, root))
        return false;
    if (p->node_count > LONGEST)
        return !failed(FAIL(p, "Ask in several goes.", "%s: the expression is too long",
                            p->source->where));
    if (depth(root) > DEEPEST)
        return !failed(FAIL(p, "Take parentheses away: write the deepest term first.",
                            "%s: the expression is nested too deeply", p->source->where));
    return true;
}

bool st_expression_is_strict(const st_expression *e) {
    if (e->op == ST_OP_AND || e->op == ST_OP_OR || e->op == ST_OP_NOT || e->op == ST_OP_KNOWN)
        return false;
    return (!e->left || st_expression_is_strict(e->left)) && (!e->right || st_expression_is_strict(e->right));
}

static void term(const printer *to, const st_expression *e);

static void raw_name(const printer *to, const st_expression *e) {
    to->name(to->context, e->slot, to->out);
}

static void real(double value, st_text *out) {
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    st_text_addf(out, value < 0 ? "(%s%s)" : "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

// A side of == or !=: words stay words.
static void side(const printer *to, const st_expression *e) {
    if (e->op == ST_OP_WORD)
        st_print_sql_string(e->word, to->out);
    else if (e->op == ST_OP_NAME)
        raw_name(to, e);
    else
        term(to, e);
}

static void binary(const printer *to, const st_expression *e) {
    bool equal = e->op == ST_OP_EQUAL || e->op == ST_OP_NOT_EQUAL;
    void (*operand)(const printer *, const st_expression *) = equal ? side : term;
    if (chains(e))
        binary(to, e->left);
    else
        operand(to, e->left);
    st_text_addf(to->out, " %s ", st_operator_symbol(e->op, true));
    operand(to, e->right);
}

static void call(const printer *to, const st_expression *e) {
    st_text_addf(to->out, "%s(", function_of(e->op));
    term(to, e->left);
    if (e->right) {
        st_text_add(to->out, ", ");
        term(to, e->right);
    }
    st_text_add(to->out, ")");
}

static void term(const printer *to, const st_expression *e) {
    if (e->op == ST_OP_INTEGER)
        st_print_sql_integer(e->value, to->out);
    else if (e->op == ST_OP_REAL)
        real(e->real, to->out);
    else if (e->op == ST_OP_WORD) // beside == alone; a term for safety
        st_print_sql_string(e->word, to->out);
    else if (e->op == ST_OP_NAME) {
        st_text_add(to->out, e->kind == ST_NAME_MIXED ? "simtune_query_number(" : "");
        raw_name(to, e);
        st_text_add(to->out, e->kind == ST_NAME_MIXED ? ")" : "");
    } else if (e->op == ST_OP_KNOWN) {
        st_text_add(to->out, "(");
        raw_name(to, e->left);
        st_text_add(to->out, " IS NOT NULL)");
    } else if (function_of(e->op))
        call(to, e);
    else if (!e->right) {
        st_text_add(to->out, e->op == ST_OP_NOT ? "(NOT " : "(- ");
        term(to, e->left);
        st_text_add(to->out, ")");
    } else {
        st_text_add(to->out, "(");
        binary(to, e);
        st_text_add(to->out, ")");
    }
}

void st_expression_print_query(const st_expression *expression, st_name_printer *name, void *context,
                               st_text *out) {
    printer to = {name, context, out};
    term(&to, expression);
}

// --- functions of the SQL ----------------------------------------------------------------------------------------

static const st_query_value unknown = {ST_VALUE_UNKNOWN, 0, 0};

static double as_real(st_query_value value) {
    return value.kind == ST_VALUE_INTEGER ? (double)value.integer : value.real;
}

static st_query_value real_or_unknown(double value) {
    return isfinite(value) ? (st_query_value){ST_VALUE_REAL, 0, value} : unknown;
}

static st_query_value call_number(st_query_value a, st_query_value b) {
    (void)b;
    return a;
}

static bool whole(st_query_value a, st_query_value b) {
    return a.kind == ST_VALUE_INTEGER && b.kind == ST_VALUE_INTEGER;
}

static bool lacks(st_query_value a, st_query_value b) {
    return a.kind == ST_VALUE_UNKNOWN || b.kind == ST_VALUE_UNKNOWN || as_real(b) == 0;
}

static st_query_value call_modulo(st_query_value a, st_query_value b) {
    if (lacks(a, b))
        return unknown;
    if (!whole(a, b))
        return real_or_unknown(fmod(as_real(a), as_real(b)));
    int64_t value = 0;
    (void)st_operate(ST_OP_MODULO, a.integer, b.integer, &value); // the divisor is not 0
    return (st_query_value){ST_VALUE_INTEGER, value, 0};
}

static st_query_value call_ceil_div(st_query_value a, st_query_value b) {
    int64_t value;
    if (lacks(a, b))
        return unknown;
    if (whole(a, b) && st_operate(ST_OP_CEIL_DIV, a.integer, b.integer, &value) == ST_ARITHMETIC_FINE)
        return (st_query_value){ST_VALUE_INTEGER, value, 0};
    return real_or_unknown(ceil(as_real(a) / as_real(b)));
}

static st_query_value call_ceil_log2(st_query_value a, st_query_value b) {
    (void)b;
    int64_t value = 0;
    if (a.kind == ST_VALUE_UNKNOWN)
        return unknown;
    if (a.kind == ST_VALUE_REAL)
        return a.real <= 1 ? (st_query_value){ST_VALUE_INTEGER, 0, 0} : real_or_unknown(ceil(log2(a.real)));
    (void)st_operate(ST_OP_CEIL_LOG2, a.integer, 0, &value); // never fails
    return (st_query_value){ST_VALUE_INTEGER, value, 0};
}

size_t st_expression_query_functions(const st_query_function **functions) {
    static const st_query_function rows[] = {
        {"simtune_query_number", 1, call_number},
        {"simtune_query_modulo", 2, call_modulo},
        {"simtune_query_ceil_div", 2, call_ceil_div},
        {"simtune_query_ceil_log2", 1, call_ceil_log2},
    };
    *functions = rows;
    return sizeof rows / sizeof *rows;
}
