// SPDX-License-Identifier: Apache-2.0
// What the template_*.c files share: directives as text, and the state of one loading.
#ifndef SIMTUNE_TUNER_TEMPLATE_INTERNAL_H
#define SIMTUNE_TUNER_TEMPLATE_INTERNAL_H

#include "tuner/base/options.h"
#include "tuner/template.h"

// --- directives as text (template_directives.c)
// ------------------------------------------------------------
typedef struct st_directive {
    int line;          // of its first line, from 1
    char *word, *rest; // "param", "BLOCK = 128 256 role tlp": trimmed, continuation joined
} st_directive;

typedef struct st_directives {
    st_directive *items;
    size_t count, capacity;
} st_directives;

st_code st_directives_read(const char *path, const char *text, size_t length, st_directives *out,
                           st_error *error);
void st_directives_release(st_directives *directives);

// st_template_parse of a text whose own files lie beside `beside` (t1.c: the kernel's file).
st_code st_template_parse_beside(const char *path, const char *beside, const st_list *places, const char *text, size_t length,
                                 st_template **out, st_error *error);

// --- one loading
// -------------------------------------------------------------------------------------------
typedef struct st_loader {
    st_template *tmpl;
    const st_directive *at; // the directive being read
    const st_list *places;  // what stands for the file and line of each line; NULL: the file and the line
    st_error *error;
    size_t axis_capacity, parameter_capacity, let_capacity, where_capacity, determinism_capacity,
        buffer_capacity, step_capacity, reference_capacity, compare_capacity, made_capacity,
        prune_capacity, rule_capacity, usual_capacity, default_none_capacity, scalar_capacity, derive_capacity,
        in_place_capacity, list_capacity, host_name_capacity, fill_line_capacity;
    const char **words; // the file's distinct words; borrowed from the values
    size_t word_count, word_capacity;
    // Expressions to parse once all names are known; of fills one a buffer, "" without arguments.
    st_directives let_texts, buffer_texts, fill_texts, scalar_texts;
    bool *has_default;                     // one a parameter
} st_loader;

// FILE:LINE and the message. Returns the code of the error.
st_code st_loader_fail(st_loader *loader, const char *remedy, const char *format, ...)
    ST_PRINTF(3, 4);
st_code st_loader_no_memory(st_loader *loader);
// Appends one zeroed element; NULL (with the error set) when memory is out.
void *st_loader_append(st_loader *loader, void *items, size_t *count, size_t *capacity,
                       size_t bytes);
// "Did you mean `X`?", or "The NOUN are: a b c." into `remedy`.
void st_loader_suggest(const char *word, const char *const *names, size_t count, const char *noun,
                       char *remedy, size_t size);
st_code st_loader_expression(st_loader *loader, const char *text, st_expression **out);

// Fields of a directive: "HEAD key=value key=value when …".
#define ST_MAX_FIELDS 12
typedef struct st_fields {
    char *head;
    char *keys[ST_MAX_FIELDS], *values[ST_MAX_FIELDS];
    size_t count;
} st_fields;
// `keys` (NULL-terminated) are the words that may begin a field; those given as "key=" take an
// equals sign. What stands before the first is the head. Each may stand once; `when` goes to the
// end.
st_code st_fields_split(st_loader *loader, const char *text, const char *const *keys,
                        st_fields *out);
const char *st_fields_get(const st_fields *fields,
                          const char *key); // without "="; NULL when absent
void st_fields_release(st_fields *fields);
// Cuts `*text` at the next comma outside parentheses: returns the trimmed piece (to st_free), NULL
// when memory is out, and moves *text behind it (to NULL at the end).
char *st_next_item(const char **text);
// A copy of `length` characters without blanks around it.
char *st_trimmed(const char *text, size_t length);
bool st_is_name(const char *text);
// The next blank-separated token of *text, cut to fit `out`; false at the end.
bool st_next_token(const char **text, char *out, size_t size);
// Lists of "NAME=VALUE" with each name once: a configuration's, a problem's.
typedef struct st_pairs {
    const char *article, *noun, *nouns; // "a" "parameter" "parameters"
    const char *form, *whole;           // remedies: how one is written; that none may lack
    size_t count;
    int (*find)(const st_template *tmpl, const char *name); // index or -1
    const char *(*name)(const st_template *tmpl, size_t index);
    st_code (*value)(const st_template *tmpl, int index, const char *text, int64_t *out, st_error *error);
} st_pairs;
st_code st_pairs_parse(const st_template *tmpl, const st_pairs *of, const char *text, int64_t *out,
                       st_error *error);
// `what` is for messages: "parameter".
st_code st_check_name(st_loader *loader, const char *what, const char *name);
// "NAME =" of an axis, parameter or let: *text moves behind the `=`, *name is the caller's.
st_code st_take_name(st_loader *loader, const char *what, const char **text, char **name);

// Bindings in which a let that cannot be evaluated is 0 (bindings.c).
st_code st_bindings_make_leniently(const st_template *tmpl, const st_problem *problem,
                                   const st_config *config, const st_device_facts *device,
                                   st_bindings *out);

// The words: each reads loader->at.
st_code st_declare_axis(st_loader *loader); // template_names.c
st_code st_declare_parameter(st_loader *loader);
st_code st_read_default(st_loader *loader);
st_code st_read_rivals(st_loader *loader); // template_rivals.c
st_code st_declare_let(st_loader *loader); // template_scope.c
st_code st_declare_buffer(st_loader *loader);
st_code st_build_scope(st_loader *loader, const st_directives *directives);
st_code st_define_lets(st_loader *loader);
st_code st_define_buffers(st_loader *loader);
st_code st_read_launch(st_loader *loader); // template_plan.c
st_code st_read_reference(st_loader *loader);
st_code st_read_zero(st_loader *loader);
st_code st_read_compare(st_loader *loader);
st_code st_read_determinism(st_loader *loader);
st_code st_read_host_args(st_loader *loader); // template_host.c
st_code st_read_host_name(st_loader *loader);
st_code st_complete_host_args(st_loader *loader);
st_code st_declare_scalar(st_loader *loader); // template_fill.c
st_code st_define_scalars(st_loader *loader);
st_code st_read_fill(st_loader *loader, const char **text, st_buffer *buffer);
st_code st_define_fill(st_loader *loader, const st_buffer *buffer, const char *text, st_fill *fill);
st_code st_read_fill_line(st_loader *loader);
void st_fill_release(st_fill *fill);
st_code st_read_derive(st_loader *loader);
st_code st_read_in_place(st_loader *loader);
// "[HEAD] when E" with `when` last; the head is the caller's (st_free).
st_code st_read_head_and_when(st_loader *loader, char **head, st_expression **when);
// Fails unless the expression, with the lets in it, uses axes (and, with `facts`, device facts) only.
st_code st_check_given(st_loader *loader, const char *what, const st_expression *expression,
                       bool facts);
st_code st_find_buffer(st_loader *loader, const char *name, int *index);
bool st_is_type_word(const st_template *tmpl, const char *word);
// Keeps the text of an expression until all names are known.
st_code st_keep_text(st_loader *loader, const char *text, size_t length, st_directives *texts);
st_code st_check_plan(st_loader *loader);

#endif
