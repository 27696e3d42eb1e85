// SPDX-License-Identifier: Apache-2.0
// What the space*.c files share.
#ifndef SIMTUNE_TUNER_SPACE_INTERNAL_H
#define SIMTUNE_TUNER_SPACE_INTERNAL_H

#include "tuner/space.h"

#include <sqlite3.h>

// The values of a parameter that this space has, in the order of the file.
typedef struct st_chosen {
    int64_t *values; // owned
    size_t count;
    int table; // p<table>; -1 when there is but one value, which then stands in the query itself
    int word, shift, bits; // where its index lies in a packed row
} st_chosen;

typedef struct st_constraint {
    const st_expression *expression;
    char *label; // "reduce.cu:12: where ACC <= UNROLL"
    bool late;
    bool prune; // only cuts the search
} st_constraint;

struct st_space {
    const st_template *tmpl;
    st_problem problem;
    st_device_facts device;
    bool has_device;
    st_chosen chosen[ST_MAX_PARAMETERS];
    int table_count;
    bool need_run_to_run;
    st_expression **extra; // the options' constraints
    size_t extra_count;
    st_constraint *constraints; // the template's, then the options'
    size_t constraint_count;
    st_text sql;
    uint64_t *rows; // packed indices, ascending; see space.c
    size_t row_count, row_capacity, row_words;
    uint64_t limit;
    st_text why; // the answer of the last st_space_why_not
};

// space_options.c: fills `chosen`.
st_code st_space_choose(st_space *space, const st_space_options *options, st_error *error);

// space_sql.c: writes the query over the tables p0 … into space->sql.
st_code st_space_write_sql(st_space *space, st_error *error);

// space_query.c: makes the tables, runs the query, calls `row` with the index of each table's
// value.
typedef st_code st_space_row(void *context, const int *indices, st_error *error);
st_code st_space_run_sql(st_space *space, st_space_row *row, void *context, st_error *error);
// Registers the functions of tuner/base/expression.h. `failure` receives the error of the one that
// fails; it must outlive the connection.
int st_register_expression_functions(sqlite3 *connection, st_error *failure);

#endif
