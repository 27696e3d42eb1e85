// SPDX-License-Identifier: Apache-2.0
// The parser's state, shared by expression_parse.c (the language) and expression_query.c (what the query dialect
// adds). Functions that return a node return NULL after they filled p->code and p->error.
#ifndef SIMTUNE_BASE_EXPRESSION_PARSER_H
#define SIMTUNE_BASE_EXPRESSION_PARSER_H

#include "tuner/base/expression_internal.h"

typedef struct st_parser {
    const char *at;
    const st_scope *scope;
    st_source *source;
    bool query;        // the dialect
    bool unknown_name; // that is what was wrong
    size_t node_count;
    int nesting;
    st_code code;
    st_error *error;
} st_parser;

#define FAIL(p, remedy, ...)                                                                       \
    ((p)->code = st_fail((p)->error, ST_USAGE, remedy, __VA_ARGS__), (st_expression *)NULL)

st_expression *st_parser_node(st_parser *p, st_operator op, st_expression *left,
                              st_expression *right);
st_expression *st_parser_no_memory(st_parser *p);
st_expression *st_parser_unexpected(st_parser *p, const char *wanted);
st_expression *st_parser_unknown_name(st_parser *p, const char *name);

// --- expression_query.c ------------------------------------------------------------------------------------
// Whether a number with a fraction or an exponent, or a version such as 580.159.04, stands here; reading it.
bool st_parser_is_query_number(const st_parser *p);
st_expression *st_parser_query_number(st_parser *p, bool negative);
st_expression *st_parser_quoted(st_parser *p);
// A word out of the source's text.
st_expression *st_parser_word(st_parser *p, size_t begin, size_t end, bool quoted);
// Numbers where numbers belong, words beside words; no deeper than SQLite takes. False after an error.
bool st_parser_check_query(st_parser *p, st_expression *root);

#endif
