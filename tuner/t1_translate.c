// SPDX-License-Identifier: Apache-2.0
// A T1 expression in the language of templates, every operation in parentheses.
#include "tuner/t1_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MOST_POWER = 16, LONGEST_OUT = 1 << 20 };

typedef struct writer {
    t1_reader *from;
    st_text *out;
    const st_t1_names *names;
} writer;

static st_code write_node(writer *to, int at);

static bool is(const t1_node *node, const char *name)
{
    return strlen(name) == node->length && strncmp(node->text, name, node->length) == 0;
}

// before LEFT between RIGHT )
static st_code write_pair(writer *to, const char *before, int left, const char *between, int right)
{
    st_text_add(to->out, before);
    st_code code = write_node(to, left);
    st_text_add(to->out, between);
    if (code == ST_OK && right >= 0)
        code = write_node(to, right);
    st_text_add(to->out, ")");
    return code;
}

static st_code write_power(writer *to, const t1_node *node)
{
    const t1_node *exponent = &to->from->nodes[node->right];
    if (exponent->kind != T1_NUMBER || exponent->number < 0 || exponent->number > MOST_POWER)
        return st_t1_refuse(to->from, "Write the product, or a list of the powers as values.",
                            "the exponent of ** is not a number from 0 to 16");
    int64_t count = exponent->number;
    int base = node->left;
    st_code code = ST_OK;
    st_text_add(to->out, "(1");
    for (int64_t i = 0; i < count && code == ST_OK; i++) {
        st_text_add(to->out, " * ");
        code = write_node(to, base);
    }
    st_text_add(to->out, ")");
    return code;
}

// x in [a, b]: one of the comparisons.
static st_code write_in(writer *to, const t1_node *node)
{
    const t1_node *list = &to->from->nodes[node->right];
    int left = node->left, item = list->left;
    if (list->kind != T1_LIST)
        return st_t1_refuse(to->from, "Write `x in [1, 2, 4]`.", "`in` is followed by no list");
    st_text_add(to->out, node->operation[0] == 'n' ? "(not (0" : "((0");
    st_code code = ST_OK;
    for (; item >= 0 && code == ST_OK; item = to->from->nodes[item].right) {
        st_text_add(to->out, " or ");
        code = write_pair(to, "(", left, " == ", to->from->nodes[item].left);
    }
    st_text_add(to->out, "))");
    return code;
}

static st_code write_binary(writer *to, const t1_node *node)
{
    const char *operation = node->operation;
    if (strcmp(operation, "neg") == 0)
        return write_pair(to, "(-", node->left, "", -1);
    if (strcmp(operation, "not") == 0)
        return write_pair(to, "(not ", node->left, "", -1);
    if (strcmp(operation, "in") == 0 || strcmp(operation, "not in") == 0)
        return write_in(to, node);
    if (strcmp(operation, "**") == 0)
        return write_power(to, node);
    if (strcmp(operation, "/") == 0)
        return st_t1_refuse(
            to->from, "Write // for the integer below, ceil(a / b) for the one above, or multiply.",
            "`/` is exact in Python and truncates in C");
    bool floors = strcmp(operation, "//") == 0 || strcmp(operation, "%") == 0;
    if (floors && to->names->are_signed)
        return st_t1_refuse(to->from, "Use values from 0 on.",
                            "// and % round in different ways below 0");
    char between[16];
    snprintf(between, sizeof between, " %s ", strcmp(operation, "//") == 0 ? "/" : operation);
    return write_pair(to, "(", node->left, between, node->right);
}

static st_code write_call(writer *to, const t1_node *node)
{
    int first = node->left, item = first;
    const t1_node *argument = first >= 0 ? &to->from->nodes[to->from->nodes[first].left] : NULL;
    bool one = first >= 0 && to->from->nodes[first].right < 0;
    if (one && (is(node, "ceil") || is(node, "math.ceil")) && argument->kind == T1_BINARY &&
        strcmp(argument->operation, "/") == 0)
        return write_pair(to, "ceil_div(", argument->left, ", ", argument->right);
    if (one && (is(node, "int") || is(node, "bool")))
        return write_pair(to, "(", to->from->nodes[first].left, "", -1);
    if (first < 0 || one || (!is(node, "min") && !is(node, "max")))
        return st_t1_refuse(to->from, "min and max of two or more, int, and ceil(a / b) are known.",
                            "an unknown function");
    st_text_add_bytes(to->out, node->text, node->length);
    st_code code = ST_OK;
    for (; item >= 0 && code == ST_OK; item = to->from->nodes[item].right) {
        st_text_add(to->out, item == first ? "(" : ", ");
        code = write_node(to, to->from->nodes[item].left);
    }
    st_text_add(to->out, ")");
    return code;
}

static st_code write_index(writer *to, const t1_node *node)
{
    const t1_node *index = &to->from->nodes[node->left];
    bool size = is(node, "ProblemSize") || is(node, "problem_size");
    if (!size || index->kind != T1_NUMBER || index->number < 0 ||
        (size_t)index->number >= to->names->size_count)
        return st_t1_refuse(to->from, "ProblemSize[0] to [2] are known, as many as the file has.",
                            "an index of something else");
    st_text_addf(to->out, "%lld", (long long)to->names->sizes[index->number]);
    return ST_OK;
}

static st_code write_name(writer *to, const t1_node *node)
{
    static const char *const sizes[] = {"problem_size_x", "problem_size_y", "problem_size_z"};
    for (size_t i = 0; i < to->names->size_count; i++)
        if (is(node, sizes[i])) {
            st_text_addf(to->out, "%lld", (long long)to->names->sizes[i]);
            return ST_OK;
        }
    st_text_add_bytes(to->out, node->text, node->length);
    return ST_OK;
}

static st_code write_node(writer *to, int at)
{
    const t1_node *node = &to->from->nodes[at];
    if (to->out->failed)
        return st_fail_memory(to->from->error, "reading an expression");
    if (to->out->length > LONGEST_OUT) // chains double what they compare
        return st_t1_refuse(to->from, NULL, "an expression that grows too long");
    switch (node->kind) {
    case T1_NUMBER:
        st_text_addf(to->out, "%lld", (long long)node->number);
        return ST_OK;
    case T1_NAME:
        return write_name(to, node);
    case T1_STRING:
        for (size_t i = 0; i < node->length; i++)
            if (!isalnum((unsigned char)node->text[i]) && node->text[i] != '_')
                return st_t1_refuse(to->from, "Use words of letters, digits and _.",
                                    "a text that is no word");
        st_text_add_bytes(to->out, node->length ? node->text : "0",
                          node->length ? node->length : 1);
        return ST_OK;
    case T1_BINARY:
        return write_binary(to, node);
    case T1_CALL:
        return write_call(to, node);
    case T1_INDEX:
        return write_index(to, node);
    default:
        return st_t1_refuse(to->from, NULL, "a list where a number is needed");
    }
}

st_code st_t1_translate(const char *text, const char *place, const st_t1_names *names, st_text *out,
                        st_error *error)
{
    t1_reader from;
    int root;
    st_code code = st_t1_read(&from, text, place, &root, error);
    writer to = {&from, out, names};
    if (code == ST_OK)
        code = write_node(&to, root);
    if (code == ST_OK && out->failed)
        code = st_fail_memory(error, "reading an expression");
    st_t1_reader_release(&from);
    return code;
}
