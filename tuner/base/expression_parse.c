// SPDX-License-Identifier: Apache-2.0
// From text to tree, by recursive descent:
//   or:         and { "or" and }                  comparison: sum [ ("==" "!=" "<" …) sum ]
//   and:        not { "and" not }                 sum:        product { ("+" "-") product }
//   not:        "not" not | comparison            product:    unary { ("*" "/" "%") unary }
//   unary:      "-" unary | INTEGER | NAME | FUNCTION "(" or { "," or } ")" | "(" or ")"
// A failed parse leaves its nodes to the source, which frees them all.
#include "tuner/base/expression_parser.h"
#include "tuner/base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct st_function_row {
    const char *name;
    st_operator op;
    bool unary, query; // query: of that dialect alone
} st_function_row;

// To add a function: a row here, an operator with its meaning in st_operate, its range in
// expression_range.c, its printing in expression_print.c, and a line in docs/templates.md.
static const st_function_row functions[] = {
    {"min", ST_OP_MIN, false, false},
    {"max", ST_OP_MAX, false, false},
    {"ceil_div", ST_OP_CEIL_DIV, false, false},
    {"ceil_log2", ST_OP_CEIL_LOG2, true, false},
    {"known", ST_OP_KNOWN, true, true},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

static st_expression *parse_or(st_parser *p);

st_expression *st_parser_no_memory(st_parser *p) {
    p->code = st_fail_memory(p->error, "reading an expression");
    return NULL;
}

static void skip_space(st_parser *p) {
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static size_t name_length(const char *at) {
    size_t length = 0;
    if (isalpha((unsigned char)*at) || *at == '_')
        while (isalnum((unsigned char)at[length]) || at[length] == '_')
            length++;
    return length;
}

// Takes `symbol` when it stands here: a word is not taken out of the middle of a longer one.
static bool take(st_parser *p, const char *symbol) {
    skip_space(p);
    size_t length = strlen(symbol);
    if (strncmp(p->at, symbol, length) != 0)
        return false;
    if (isalpha((unsigned char)*symbol) && name_length(p->at) != length)
        return false;
    p->at += length;
    return true;
}

st_expression *st_parser_node(st_parser *p, st_operator op, st_expression *left,
                              st_expression *right) {
    if (++p->node_count > ST_EXPRESSION_NODES)
        return FAIL(p, p->query ? "Ask for less at once." : "Split it with `let`, or into several `where` lines.",
                    "%s: the expression is too long", p->source->where);
    st_expression *node = st_calloc(1, sizeof *node);
    if (!node)
        return st_parser_no_memory(p);
    *node = (st_expression){.op = op,
                            .slot = -1,
                            .left = left,
                            .right = right,
                            .source = p->source,
                            .next = p->source->nodes};
    p->source->nodes = node;
    if (left && right) {
        node->begin = left->begin;
        node->end = right->end;
    }
    return node;
}

// What stands here, for messages.
static const char *describe(st_parser *p, char *out, size_t size) {
    skip_space(p);
    size_t length = name_length(p->at);
    if (!*p->at)
        return "the expression ends";
    if (!length)
        length = *p->at && strchr("=!<>&|", *p->at) && p->at[1] && strchr("=&|", p->at[1]) ? 2 : 1;
    if (length > size - 3)
        length = size - 3;
    out[0] = '`';
    memcpy(out + 1, p->at, length);
    strcpy(out + 1 + length, "`");
    return out;
}

static const char query_hint[] =
    "As in: BLOCK >= 256 and stall.long_scoreboard > 0.5; docs/command-line.md tells more.";
static const char template_hint[] = "See docs/templates.md for the expression language.";

// The spellings of C that people write by habit.
static const char *habit(const char *at, bool query) {
    if (strncmp(at, "&&", 2) == 0)
        return "Write `and` for `&&`.";
    if (strncmp(at, "||", 2) == 0)
        return "Write `or` for `||`.";
    if (*at == '!' && at[1] != '=')
        return "Write `not` for `!`.";
    if (*at == '=' && at[1] != '=')
        return "Write `==` to compare.";
    if (*at == '^' || strncmp(at, "**", 2) == 0)
        return "Write powers of two as numbers: 2^20, 64Ki.";
    if (*at == '?')
        return query ? "There is no ?: here; use min, max, or two questions."
                     : "There is no ?: here; use min, max, or two lines with `when`.";
    return query ? query_hint : template_hint;
}

st_expression *st_parser_unexpected(st_parser *p, const char *wanted) {
    char buffer[64];
    const char *found = describe(p, buffer, sizeof buffer);
    return FAIL(p, habit(p->at, p->query), "%s: %s where %s should stand", p->source->where, found, wanted);
}

// --- numbers and names
// ----------------------------------------------------------------------------------

// The smallest integer has no positive counterpart: it is known by its digits.
static bool read_integer(const char *digits, bool negative, int64_t *value) {
    if (negative && strcmp(digits, "9223372036854775808") == 0) {
        *value = INT64_MIN;
        return true;
    }
    if (!st_text_to_int(digits, value))
        return false;
    if (negative)
        *value = -*value;
    return true;
}

static st_expression *parse_number(st_parser *p, bool negative) {
    const char *start = p->at;
    if (p->query && st_parser_is_query_number(p))
        return st_parser_query_number(p, negative);
    while (isalnum((unsigned char)*p->at) || *p->at == '_')
        p->at++;
    if (*p->at == '^' && isdigit((unsigned char)p->at[1]))
        for (p->at++; isalnum((unsigned char)*p->at); p->at++)
            ;
    size_t length = (size_t)(p->at - start);
    char digits[64];
    int64_t value;
    bool fits = length < sizeof digits;
    if (fits) {
        memcpy(digits, start, length);
        digits[length] = '\0';
    }
    if (*p->at == '.')
        return FAIL(p, "Expressions are computed with integers.", "%s: a fraction after `%.*s`",
                    p->source->where, length < 40 ? (int)length : 40, start);
    if (!fits || !read_integer(digits, negative, &value))
        return FAIL(p, "Numbers are 64-bit integers: 256, 64Ki, 16Mi, 2^20.",
                    "%s: `%.*s` is no number", p->source->where, length < 40 ? (int)length : 40,
                    start);
    st_expression *node = st_parser_node(p, ST_OP_INTEGER, NULL, NULL);
    if (node) {
        node->value = value;
        node->begin = (size_t)(start - p->source->text);
        node->end = node->begin + length;
    }
    return node;
}

st_expression *st_parser_unknown_name(st_parser *p, const char *name) {
    const char *nearest = NULL;
    char remedy[sizeof p->error->remedy];
    p->unknown_name = true;
    const char **names = st_malloc((p->scope->count + 1) * sizeof *names);
    if (!names)
        return st_parser_no_memory(p);
    for (size_t i = 0; i < p->scope->count; i++)
        names[i] = p->scope->names[i].name;
    int best = st_text_nearest(name, names, p->scope->count);
    if (best >= 0)
        nearest = names[best];
    st_free(names);
    if (nearest) {
        snprintf(remedy, sizeof remedy, "Did you mean `%.100s`?", nearest);
        return FAIL(p, remedy, "%s: unknown name `%.100s`", p->source->where, name);
    }
    size_t length = (size_t)snprintf(remedy, sizeof remedy, "Names here:");
    for (size_t i = 0; i < p->scope->count && length + 80 < sizeof remedy; i++)
        if (!p->scope->names[i].is_constant && !(p->query && strchr(p->scope->names[i].name, '.')))
            length += (size_t)snprintf(remedy + length, sizeof remedy - length, " %.60s",
                                       p->scope->names[i].name);
    return FAIL(p, remedy, "%s: unknown name `%.100s`", p->source->where, name);
}

static st_expression *parse_name(st_parser *p, const char *name, size_t begin) {
    int slot = st_scope_find(p->scope, name);
    if (slot < 0) // in a query it may be a word: st_parser_check_query knows when all is read
        return p->query ? st_parser_word(p, begin, begin + strlen(name), false)
                        : st_parser_unknown_name(p, name);
    const st_name *row = &p->scope->names[slot];
    st_expression *node = st_parser_node(p, row->is_constant ? ST_OP_INTEGER : ST_OP_NAME, NULL, NULL);
    if (!node)
        return NULL;
    node->slot = slot;
    node->kind = row->kind;
    node->value = row->is_constant ? row->value : 0;
    node->begin = begin;
    node->end = begin + strlen(name);
    return node;
}

static st_expression *parse_call(st_parser *p, const char *name, size_t begin) {
    const st_function_row *function = NULL;
    const char *names[FUNCTION_COUNT];
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        names[i] = functions[i].name;
        if (strcmp(name, names[i]) == 0 && (p->query || !functions[i].query))
            function = &functions[i];
    }
    if (!function) {
        int best = st_text_nearest(name, names, p->query ? FUNCTION_COUNT : FUNCTION_COUNT - 1);
        char remedy[80] = "The functions are min, max, ceil_div and ceil_log2.";
        if (best >= 0)
            snprintf(remedy, sizeof remedy, "Did you mean `%s`?", names[best]);
        return FAIL(p, remedy, "%s: unknown function `%.100s`", p->source->where, name);
    }
    st_expression *result = parse_or(p);
    int count = 1;
    for (; result && take(p, ","); count++) {
        st_expression *next = parse_or(p);
        result = next ? st_parser_node(p, function->op, result, next) : NULL;
    }
    if (!result)
        return NULL;
    if (!take(p, ")"))
        return st_parser_unexpected(p, "`,` or `)`");
    bool many = function->op == ST_OP_MIN || function->op == ST_OP_MAX;
    if (function->unary ? count != 1 : many ? count < 2 : count != 2)
        return FAIL(p, p->query ? query_hint : template_hint,
                    "%s: %s takes %s, not %d", p->source->where, name,
                    function->unary ? "one argument"
                    : many          ? "two or more arguments"
                                    : "two arguments",
                    count);
    if (function->unary)
        result = st_parser_node(p, function->op, result, NULL);
    if (result) {
        result->begin = begin;
        result->end = (size_t)(p->at - p->source->text);
    }
    return result;
}

static const char word_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

static bool is_reserved(const char *name) {
    return strcmp(name, "and") == 0 || strcmp(name, "or") == 0 || strcmp(name, "not") == 0;
}

static st_expression *parse_word(st_parser *p) {
    char name[128];
    size_t length = name_length(p->at);
    size_t begin = (size_t)(p->at - p->source->text);
    while (p->query && p->at[length] == '.' && isalnum((unsigned char)p->at[length + 1]))
        length += 1 + strspn(p->at + length + 1, word_characters);
    if (!p->query && p->at[length] == '.')
        return FAIL(p, "Counters and other names with dots are for simtune query --where.",
                    "%s: a dot after `%.*s`", p->source->where, length < 60 ? (int)length : 60, p->at);
    if (length >= sizeof name)
        return FAIL(p, NULL, "%s: a name is longer than %zu characters", p->source->where,
                    sizeof name - 1);
    memcpy(name, p->at, length);
    name[length] = '\0';
    if (is_reserved(name))
        return st_parser_unexpected(p, "a number or a name");
    p->at += length;
    return take(p, "(") ? parse_call(p, name, begin) : parse_name(p, name, begin);
}

// --- operators, from the tightest to the loosest
// ---------------------------------------------------------------

static bool begins_number(const st_parser *p) {
    return isdigit((unsigned char)*p->at) ||
           (p->query && *p->at == '.' && isdigit((unsigned char)p->at[1]));
}

static st_expression *parse_unary(st_parser *p) {
    skip_space(p);
    size_t begin = (size_t)(p->at - p->source->text);
    st_expression *node;
    if (++p->nesting > ST_EXPRESSION_NESTING)
        return FAIL(p, p->query ? "Take parentheses away." : "Split it with `let`.", "%s: the expression is nested too deeply",
                    p->source->where);
    if (take(p, "-")) {
        skip_space(p);
        bool literal = begins_number(p);
        node = literal ? parse_number(p, true) : parse_unary(p);
        if (node && !literal)
            node = st_parser_node(p, ST_OP_NEGATE, node, NULL);
        if (node) {
            node->end = (size_t)(p->at - p->source->text);
            node->begin = begin;
        }
    } else if (take(p, "(")) {
        node = parse_or(p);
        if (node && !take(p, ")"))
            return st_parser_unexpected(p, "an operator or `)`");
        if (node) {
            node->begin = begin;
            node->end = (size_t)(p->at - p->source->text);
        }
    } else if (begins_number(p)) {
        node = parse_number(p, false);
    } else if (p->query && (*p->at == '"' || *p->at == '\'')) {
        node = st_parser_quoted(p);
    } else if (name_length(p->at)) {
        node = parse_word(p);
    } else {
        return st_parser_unexpected(p, "a number or a name");
    }
    p->nesting--;
    return node;
}

// `a op b op c …`, left to right, for the operators of one level.
typedef struct st_operator_row {
    const char *symbol;
    st_operator op;
} st_operator_row;

static st_expression *parse_chain(st_parser *p, st_expression *(*parse)(st_parser *),
                                  const st_operator_row *rows, size_t count) {
    st_expression *left = parse(p);
    while (left) {
        size_t i = 0;
        while (i < count && !take(p, rows[i].symbol))
            i++;
        if (i == count)
            break;
        st_expression *right = parse(p);
        left = right ? st_parser_node(p, rows[i].op, left, right) : NULL;
    }
    return left;
}

static st_expression *parse_product(st_parser *p) {
    static const st_operator_row rows[] = {
        {"*", ST_OP_MULTIPLY}, {"/", ST_OP_DIVIDE}, {"%", ST_OP_MODULO}};
    return parse_chain(p, parse_unary, rows, 3);
}

static st_expression *parse_sum(st_parser *p) {
    static const st_operator_row rows[] = {{"+", ST_OP_ADD}, {"-", ST_OP_SUBTRACT}};
    return parse_chain(p, parse_product, rows, 2);
}

static int take_comparison(st_parser *p) {
    static const st_operator_row rows[] = {{"==", ST_OP_EQUAL},      {"!=", ST_OP_NOT_EQUAL},
                                           {"<=", ST_OP_LESS_EQUAL}, {">=", ST_OP_GREATER_EQUAL},
                                           {"<", ST_OP_LESS},        {">", ST_OP_GREATER}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (take(p, rows[i].symbol))
            return (int)rows[i].op;
    return -1;
}

static st_expression *parse_comparison(st_parser *p) {
    st_expression *left = parse_sum(p);
    int op = left ? take_comparison(p) : -1;
    if (op < 0)
        return left;
    st_expression *right = parse_sum(p);
    if (right && take_comparison(p) >= 0)
        return FAIL(p, "Write `a < b and b < c`.", "%s: comparisons do not chain",
                    p->source->where);
    return right ? st_parser_node(p, (st_operator)op, left, right) : NULL;
}

static st_expression *parse_not(st_parser *p) {
    skip_space(p);
    size_t begin = (size_t)(p->at - p->source->text);
    if (!take(p, "not"))
        return parse_comparison(p);
    if (++p->nesting > ST_EXPRESSION_NESTING)
        return FAIL(p, NULL, "%s: the expression is nested too deeply", p->source->where);
    st_expression *operand = parse_not(p);
    st_expression *node = operand ? st_parser_node(p, ST_OP_NOT, operand, NULL) : NULL;
    if (node) {
        node->begin = begin;
        node->end = (size_t)(p->at - p->source->text);
    }
    p->nesting--;
    return node;
}

static st_expression *parse_and(st_parser *p) {
    static const st_operator_row rows[] = {{"and", ST_OP_AND}};
    return parse_chain(p, parse_not, rows, 1);
}

static st_expression *parse_or(st_parser *p) {
    static const st_operator_row rows[] = {{"or", ST_OP_OR}};
    return parse_chain(p, parse_and, rows, 1);
}

// --- the whole text
// ----------------------------------------------------------------------------------------------

static st_source *new_source(const char *text, st_place place) {
    st_source *source = st_calloc(1, sizeof *source);
    if (!source)
        return NULL;
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1]))
        length--;
    source->line = place.line;
    source->text = st_strndup(text, length);
    source->file = place.file ? st_strdup(place.file) : NULL;
    // Messages have room for a few hundred characters.
    int shown = length > 200 ? 200 : (int)length;
    const char *dots = length > 200 ? "…" : "";
    if (!place.file)
        source->where = st_format("`%.*s%s`", shown, text, dots);
    else if (place.line > 0)
        source->where = st_format("%s:%d: `%.*s%s`", place.file, place.line, shown, text, dots);
    else
        source->where = st_format("%s: `%.*s%s`", place.file, shown, text, dots);
    if (source->text && source->where && (source->file || !place.file))
        return source;
    st_source_free(source);
    return NULL;
}

// Gives the root and each top-level `and` term its own text.
static bool cut_texts(st_expression *node) {
    node->text = st_strndup(node->source->text + node->begin, node->end - node->begin);
    if (!node->text || node->op != ST_OP_AND)
        return node->text != NULL;
    return cut_texts(node->left) && cut_texts(node->right);
}

static st_code parse(const char *text, st_place place, const st_scope *scope, bool query,
                     bool *unknown_name, st_expression **out, st_error *error) {
    *out = NULL;
    st_error local; // st_parser reads sizes through its error
    st_parser p = {.scope = scope, .query = query, .error = error ? error : &local};
    p.source = new_source(text, place);
    if (!p.source)
        return st_fail_memory(error, "reading an expression");
    p.at = p.source->text;
    st_expression *root = parse_or(&p);
    if (root) {
        skip_space(&p);
        if (*p.at)
            root = st_parser_unexpected(&p, "an operator or the end");
    }
    if (root && query && !st_parser_check_query(&p, root))
        root = NULL;
    if (root && !cut_texts(root))
        root = st_parser_no_memory(&p);
    if (unknown_name)
        *unknown_name = p.unknown_name;
    if (!root) {
        st_source_free(p.source);
        return p.code;
    }
    *out = root;
    return ST_OK;
}

st_code st_expression_parse(const char *text, st_place place, const st_scope *scope,
                            st_expression **out, st_error *error) {
    return parse(text, place, scope, false, NULL, out, error);
}

st_code st_expression_parse_query(const char *text, st_place place, const st_scope *scope,
                                  bool *unknown_name, st_expression **out, st_error *error) {
    return parse(text, place, scope, true, unknown_name, out, error);
}
