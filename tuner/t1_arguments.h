// SPDX-License-Identifier: Apache-2.0
// What t1.c and t1_arguments.c share: the directives that a T1 file becomes, with the key that each line comes from.
#ifndef SIMTUNE_TUNER_T1_ARGUMENTS_H
#define SIMTUNE_TUNER_T1_ARGUMENTS_H

#include "tuner/base/error.h"
#include "tuner/base/options.h"
#include "tuner/base/text.h"
#include "tuner/t1_expression.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct t1_writer {
    const char *path, *kernel; // of the JSON file; the kernel's text
    st_text out, definitions;
    st_list places; // of each line of `out`, from the first
    st_t1_names names;
    st_error *error;
} t1_writer;

// Adds a directive.
st_code st_t1_line(t1_writer *to, const char *place, const char *format, ...) ST_PRINTF(3, 4);
st_code st_t1_wrong(t1_writer *to, const char *place, const char *remedy,
                    const char *what); // ST_USAGE
// Appends an expression in the language of templates.
st_code st_t1_expression(t1_writer *to, const char *place, const char *text, st_text *out);
// An integer or an expression; *present false: null or absent, nothing is added.
st_code st_t1_size(t1_writer *to, const char *place, const json_t *value, st_text *out,
                   bool *present);

// Problem sizes, before all that may name them; buffers, scalars and the launch (t1_arguments.c).
st_code st_t1_read_problem(t1_writer *to, const json_t *kernel);
st_code st_t1_read_launch(t1_writer *to, const json_t *kernel, const char *name);

#endif
