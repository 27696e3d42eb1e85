// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. the tree is an array of nodes; a node's parts come before it, so walking it ends; 2. depth and length
// are bounded, whatever the text; 3. arithmetic that leaves 64 bits is an error, never a wrong number.
//
// reader: or → and → not → comparison (a chain) → sum → term → sign → power → atom.
#include "tuner/t1_internal.h"

#include "tuner/base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 100, LONGEST_ROW = 1000 };

// --- words ----------------------------------------------------------------------------------------------------

static const char *const operators[] = {"**", "//", "==", "!=", "<=", ">=", "&&", "||",
                                        "+",  "-",  "*",  "/",  "%",  "<",  ">",  "!",
                                        "(",  ")",  "[",  "]",  ",",  NULL};

static st_code st_t1_stop(t1_reader *from, const char *remedy, const char *what)
{
    return st_fail(from->error, ST_USAGE, remedy, "%s: %s: `%.200s`", from->place, what,
                   from->text);
}

static st_code read_number(t1_reader *from)
{
    const char *at = from->at;
    char *end;
    errno = 0;
    double value = strtod(at, &end);
    if (end == at || isalpha((unsigned char)*end) || *end == '_')
        return st_t1_stop(from, NULL, "this is no number");
    if (!(value > -9e15 && value < 9e15) || value != (double)(int64_t)value)
        return st_t1_stop(from, "Values and sizes are integers here; scale them in the kernel.",
                          "a number that is no integer");
    from->kind = T1_NUMBER;
    from->number = (int64_t)value;
    from->length = (size_t)(end - at);
    return ST_OK;
}

static st_code read_quoted(t1_reader *from)
{
    const char *end = strchr(from->at + 1, *from->at);
    if (!end || memchr(from->at, '\\', (size_t)(end - from->at)))
        return st_t1_stop(from, "Use words of letters, digits and _.",
                          "a text that has no end, or a backslash");
    from->kind = T1_STRING;
    from->length = (size_t)(end - from->at) + 1;
    return ST_OK;
}

// The next word: its kind, where it begins and how long it is.
static st_code advance(t1_reader *from)
{
    from->at += from->length;
    from->length = 0;
    while (isspace((unsigned char)*from->at))
        from->at++;
    unsigned char c = (unsigned char)*from->at;
    if (!c) {
        from->kind = T1_END;
        return ST_OK;
    }
    if (isdigit(c) || (c == '.' && isdigit((unsigned char)from->at[1])))
        return read_number(from);
    if (c == '"' || c == '\'')
        return read_quoted(from);
    if (isalpha(c) || c == '_') {
        from->kind = T1_NAME;
        while (
            isalnum((unsigned char)from->at[from->length]) || from->at[from->length] == '_' ||
            (from->at[from->length] == '.' && isalpha((unsigned char)from->at[from->length + 1])))
            from->length++;
        return ST_OK;
    }
    for (size_t i = 0; operators[i]; i++)
        if (st_text_starts(from->at, operators[i])) {
            from->kind = T1_OPERATOR;
            from->length = strlen(operators[i]);
            return ST_OK;
        }
    return st_t1_stop(
        from, "Numbers, names, + - * // % **, comparisons, and, or, not, in, ( ) and [ ] are read.",
        "a character that is not read here");
}

static bool is_word(const t1_reader *from, const char *word)
{
    return from->kind >= T1_NAME && from->kind <= T1_OPERATOR && strlen(word) == from->length &&
           strncmp(from->at, word, from->length) == 0;
}

static st_code expect(t1_reader *from, const char *word)
{
    if (is_word(from, word))
        return advance(from);
    char what[32];
    snprintf(what, sizeof what, "`%s` is missing", word);
    return st_t1_stop(from, NULL, what);
}

// --- the tree -------------------------------------------------------------------------------------------------

// -1: no memory.
static int add_node(t1_reader *from, t1_node node)
{
    t1_node *nodes = st_grow(from->nodes, &from->capacity, from->count + 1, sizeof *nodes);
    if (!nodes)
        return -1;
    from->nodes = nodes;
    nodes[from->count] = node;
    return (int)from->count++;
}

static st_code make(t1_reader *from, t1_node node, int *out)
{
    *out = add_node(from, node);
    return *out < 0 ? st_fail_memory(from->error, "reading an expression") : ST_OK;
}

static st_code read_or(t1_reader *from, int *out);

// The items behind an opened bracket up to `close`, as a chain of T1_ITEM nodes in order; *out -1: none.
static st_code read_items(t1_reader *from, const char *close, int first, int *out)
{
    st_code code = ST_OK;
    int last = -1, item = first;
    *out = -1;
    while (code == ST_OK && (item >= 0 || !is_word(from, close))) {
        if (item < 0)
            code = read_or(from, &item);
        int node = -1;
        if (code == ST_OK)
            code = make(from, (t1_node){.kind = T1_ITEM, .left = item, .right = -1}, &node);
        if (code == ST_OK && last >= 0)
            from->nodes[last].right = node;
        if (code == ST_OK && last < 0)
            *out = node;
        last = node;
        item = -1;
        if (code != ST_OK || !is_word(from, ","))
            break;
        code = advance(from);
    }
    return code == ST_OK ? expect(from, close) : code;
}

// What follows `[ITEM`: `for NAME in LIST [if CONDITION] ]`.
static st_code read_comprehension(t1_reader *from, int item, int *out)
{
    t1_node made = {.kind = T1_EACH, .left = item, .third = -1};
    st_code code = expect(from, "for");
    if (code == ST_OK && from->kind != T1_NAME)
        code = st_t1_stop(from, NULL, "`for` is followed by no name");
    made.text = from->at;
    made.length = from->length;
    if (code == ST_OK)
        code = advance(from);
    if (code == ST_OK)
        code = expect(from, "in");
    if (code == ST_OK)
        code = read_or(from, &made.right);
    if (code == ST_OK && is_word(from, "if")) {
        code = advance(from);
        if (code == ST_OK)
            code = read_or(from, &made.third);
    }
    if (code == ST_OK && is_word(from, "for"))
        code = st_t1_stop(from, "Write the values out.", "two `for` in one list are not read");
    if (code == ST_OK)
        code = expect(from, "]");
    return code == ST_OK ? make(from, made, out) : code;
}

static st_code read_list(t1_reader *from, int *out)
{
    int item = -1;
    st_code code = advance(from);
    if (code == ST_OK && !is_word(from, "]"))
        code = read_or(from, &item);
    if (code == ST_OK && item >= 0 && is_word(from, "for"))
        return read_comprehension(from, item, out);
    if (code == ST_OK && item >= 0 && !is_word(from, ","))
        return (code = expect(from, "]")) != ST_OK ? code
               : (code = make(from, (t1_node){.kind = T1_ITEM, .left = item, .right = -1},
                              &item)) != ST_OK
                   ? code
                   : make(from, (t1_node){.kind = T1_LIST, .left = item}, out);
    // read_items wants to stand behind its first item's comma, or at the bracket.
    int items = -1;
    if (code == ST_OK)
        code = read_items(from, "]", item, &items);
    return code == ST_OK ? make(from, (t1_node){.kind = T1_LIST, .left = items}, out) : code;
}

static st_code read_parenthesis(t1_reader *from, int *out)
{
    int item = -1, items = -1;
    st_code code = advance(from);
    if (code == ST_OK)
        code = read_or(from, &item);
    if (code == ST_OK && !is_word(from, ",")) {
        *out = item;
        return expect(from, ")");
    }
    if (code == ST_OK) // a tuple
        code = read_items(from, ")", item, &items);
    return code == ST_OK ? make(from, (t1_node){.kind = T1_LIST, .left = items}, out) : code;
}

static st_code read_name(t1_reader *from, int *out)
{
    t1_node made = {.kind = T1_NAME, .text = from->at, .length = from->length, .left = -1};
    static const char *const constants[][2] = {{"True", "true"}, {"False", "false"}};
    for (int i = 0; i < 2; i++)
        if (is_word(from, constants[i][0]) || is_word(from, constants[i][1]))
            made = (t1_node){.kind = T1_NUMBER, .number = 1 - i};
    st_code code = advance(from);
    if (code == ST_OK && made.kind == T1_NAME && is_word(from, "(")) {
        made.kind = T1_CALL;
        if ((code = advance(from)) == ST_OK)
            code = read_items(from, ")", -1, &made.left);
    } else if (code == ST_OK && made.kind == T1_NAME && is_word(from, "[")) {
        made.kind = T1_INDEX;
        if ((code = advance(from)) == ST_OK)
            code = read_or(from, &made.left);
        if (code == ST_OK)
            code = expect(from, "]");
    }
    return code == ST_OK ? make(from, made, out) : code;
}

static st_code read_atom(t1_reader *from, int *out)
{
    st_code code;
    if (from->kind == T1_NUMBER || from->kind == T1_STRING) {
        t1_node made = {.kind = from->kind,
                        .number = from->number,
                        .text = from->at + 1,
                        .length = from->length};
        if (from->kind == T1_STRING)
            made.length -= 2;
        code = advance(from);
        return code == ST_OK ? make(from, made, out) : code;
    }
    if (from->kind == T1_NAME)
        return read_name(from, out);
    if (is_word(from, "("))
        return read_parenthesis(from, out);
    if (is_word(from, "["))
        return read_list(from, out);
    return st_t1_stop(from, NULL,
                      from->kind == T1_END ? "something is missing at the end"
                                           : "an operand is missing");
}

static st_code join(t1_reader *from, const char *operation, int left, int right, int *out)
{
    t1_node made = {.kind = T1_BINARY, .left = left, .right = right};
    snprintf(made.operation, sizeof made.operation, "%s", operation);
    return make(from, made, out);
}

static st_code read_sign(t1_reader *from, int *out);

static st_code read_power(t1_reader *from, int *out)
{
    int exponent;
    st_code code = read_atom(from, out);
    if (code != ST_OK || !is_word(from, "**"))
        return code;
    code = advance(from);
    if (code == ST_OK)
        code = read_sign(from, &exponent);
    return code == ST_OK ? join(from, "**", *out, exponent, out) : code;
}

static st_code read_sign(t1_reader *from, int *out)
{
    bool minus = is_word(from, "-"), not = is_word(from, "!");
    if (!minus && !not &&!is_word(from, "+"))
        return read_power(from, out);
    if (++from->depth > DEPTH)
        return st_t1_stop(from, NULL, "too many signs or brackets within each other");
    st_code code = advance(from);
    if (code == ST_OK)
        code = read_sign(from, out);
    from->depth--;
    if (code == ST_OK && (minus || not ))
        code = join(from, minus ? "neg" : "not", *out, -1, out);
    return code;
}

// A row of operands with one of `operations` (NULL-terminated) between them, from the left.
static st_code read_row(t1_reader *from, const char *const *operations, const char *const *names,
                        st_code (*operand)(t1_reader *, int *), int *out)
{
    st_code code = operand(from, out);
    for (int length = 0; code == ST_OK; length++) {
        int right;
        size_t i = 0;
        if (length > LONGEST_ROW)
            return st_t1_stop(from, NULL, "more than 1000 operands in a row");
        while (operations[i] && !is_word(from, operations[i]))
            i++;
        if (!operations[i])
            return ST_OK;
        code = advance(from);
        if (code == ST_OK)
            code = operand(from, &right);
        if (code == ST_OK)
            code = join(from, names[i], *out, right, out);
    }
    return code;
}

static st_code read_term(t1_reader *from, int *out)
{
    static const char *const words[] = {"*", "//", "/", "%", NULL};
    return read_row(from, words, words, read_sign, out);
}

static st_code read_sum(t1_reader *from, int *out)
{
    static const char *const words[] = {"+", "-", NULL};
    return read_row(from, words, words, read_term, out);
}

// The word that compares, NULL: none; "not in" is taken up to `in`.
static st_code read_comparison_word(t1_reader *from, const char **word)
{
    static const char *const words[] = {"==", "!=", "<=", ">=", "<", ">", "in", NULL};
    *word = NULL;
    if (is_word(from, "not")) { // an operand stands before it
        st_code code = advance(from);
        *word = "not in";
        return code == ST_OK && !is_word(from, "in") ? st_t1_stop(from, NULL, "`not` without `in`")
                                                     : code;
    }
    for (size_t i = 0; words[i] && !*word; i++)
        if (is_word(from, words[i]))
            *word = words[i];
    return ST_OK;
}

// a < b <= c is (a < b) and (b <= c).
static st_code read_comparison(t1_reader *from, int *out)
{
    int left, right, all = -1, one;
    const char *word;
    st_code code = read_sum(from, &left);
    *out = left;
    for (int length = 0;
         code == ST_OK && (code = read_comparison_word(from, &word)) == ST_OK && word; length++) {
        code = length > LONGEST_ROW ? st_t1_stop(from, NULL, "more than 1000 operands in a row")
                                    : advance(from);
        if (code == ST_OK)
            code = read_sum(from, &right);
        if (code == ST_OK)
            code = join(from, word, left, right, &one);
        if (code == ST_OK && all >= 0)
            code = join(from, "and", all, one, &one);
        all = *out = one;
        left = right;
    }
    return code;
}

static st_code read_not(t1_reader *from, int *out)
{
    if (!is_word(from, "not"))
        return read_comparison(from, out);
    if (++from->depth > DEPTH)
        return st_t1_stop(from, NULL, "too many signs or brackets within each other");
    st_code code = advance(from);
    if (code == ST_OK)
        code = read_not(from, out);
    from->depth--;
    return code == ST_OK ? join(from, "not", *out, -1, out) : code;
}

static st_code read_and(t1_reader *from, int *out)
{
    static const char *const words[] = {"and", "&&", NULL}, *const names[] = {"and", "and", NULL};
    return read_row(from, words, names, read_not, out);
}

static st_code read_or(t1_reader *from, int *out)
{
    static const char *const words[] = {"or", "||", NULL}, *const names[] = {"or", "or", NULL};
    if (++from->depth > DEPTH)
        return st_t1_stop(from, NULL, "too many signs or brackets within each other");
    st_code code = read_row(from, words, names, read_and, out);
    from->depth--;
    return code;
}

st_code st_t1_read(t1_reader *from, const char *text, const char *place, int *root, st_error *error)
{
    *from = (t1_reader){.text = text, .at = text, .place = place, .error = error};
    st_code code = strlen(text) > T1_LONGEST
                       ? st_fail(error, ST_USAGE, NULL,
                                 "%s: an expression of more than %d characters", place, T1_LONGEST)
                       : advance(from);
    if (code == ST_OK)
        code = read_or(from, root);
    if (code == ST_OK && from->kind != T1_END)
        code = st_t1_stop(from, NULL, "something stands behind the end");
    return code;
}

void st_t1_reader_release(t1_reader *from)
{
    st_free(from->nodes);
    from->nodes = NULL;
}

st_code st_t1_refuse(t1_reader *from, const char *remedy, const char *what)
{
    return st_t1_stop(from, remedy, what);
}
