// SPDX-License-Identifier: Apache-2.0
// The form of a history file, shared by history_export.c, history_import.c and history_json.c.
//
// gzip'ed JSON Lines, one row a line, in an order in which everything stands before what refers to it:
//   {"format":"simtune-history","version":1}
//   {"row":"device", …} {"row":"toolchain", …} {"row":"template", …} {"row":"problem", …}
//   {"row":"session","id":…,"device":id,"toolchain":id,"template":hash, …}
//   {"row":"candidate","session":id,"problem":text,"configuration":text, …,"measurements":[…],
//    "profiles":[…],"stall_lines":…}
//   {"row":"winner","session":id,"problem":text,"winner":configuration text, …}
//   {"row":"baseline","session":id, …}
//   {"row":"acknowledgement","id":…,"baseline":id of a session,"session":id,"family":…,"problem":text, …}
//   {"row":"end","rows":N}          N lines stand between the first and this one
// Problems and configurations are named by their canonical text (with the family), which is what their
// stable ids are made of. What is unknown is left out (null in lists). A file without baselines and
// acknowledgements is of version 1, which earlier programs read.
#ifndef SIMTUNE_DB_HISTORY_INTERNAL_H
#define SIMTUNE_DB_HISTORY_INTERNAL_H

#include "db/store_internal.h"

#include <jansson.h>

#define ST_HISTORY_FORMAT "simtune-history"
#define ST_HISTORY_VERSION 2

// --- history_json.c ----------------------------------------------------------------------------------------
// An object being filled. The first failure is kept; unknown values are left out.
typedef struct st_line {
    json_t *object;
    bool failed;
} st_line;
void st_line_start(st_line *line, const char *row); // row NULL: an object inside a line
void st_line_text(st_line *line, const char *name, const char *value);
void st_line_int(st_line *line, const char *name, int64_t value);   // -1: left out
void st_line_real(st_line *line, const char *name, double value);   // NaN: left out
void st_line_json(st_line *line, const char *name, const char *json); // text of a value; "" and NULL left out
void st_line_value(st_line *line, const char *name, json_t *value);  // takes it
// Compact, keys in the order in which they were set, numbers in their shortest exact form.
void st_history_print(const json_t *value, st_text *out);
// A string, with '?' for what is not UTF-8. NULL: no memory.
json_t *st_history_string(const char *text);
json_t *st_history_samples(const double *samples, size_t count);

// --- history_export.c --------------------------------------------------------------------------------------
// What st_exchange_select chose.
st_code st_history_write(st_store *store, const char *path, bool zipped, st_error *error);

// --- history_samples.c --------------------------------------------------------------------------------------
// The lists of samples of one line. Zeroed before the first; list i has values[ends[i - 1]] to values[ends[i] - 1].
typedef struct st_cut_samples {
    double *values;
    size_t *ends;
    size_t count, lists, capacity, end_capacity;
} st_cut_samples;
// Takes them out of the line: "samples_ns":[…] becomes "samples_ns":I. No lists: the line stays as it was. False: no memory.
bool st_cut_samples_of(st_cut_samples *cut, st_text *line);
void st_cut_samples_release(st_cut_samples *cut);

// --- history_rows.c ----------------------------------------------------------------------------------------
typedef struct st_import {
    st_store *store;
    const char *path;
    bool shipped;
    size_t line_number, added;
    bool ended;
    st_cut_samples cut; // of the line
    // The row being read. The first missing or wrong field fills `code` and `error`.
    const json_t *row;
    st_code code;
    st_error *error;
} st_import;
void st_import_row(st_import *in);

// --- history_fields.c --------------------------------------------------------------------------------------
// Fields of the row at hand. Texts are valid as long as the row; "" and -1 and NaN are unknown.
const char *st_import_text_of(st_import *in, const char *name);
bool st_import_is_given(const st_import *in, const char *name);
const char *st_import_text_or_empty(st_import *in, const char *name);
int64_t st_import_int_or_unknown(st_import *in, const char *name);
int st_import_small_or_unknown(st_import *in, const char *name);
double st_import_real_or_unknown(st_import *in, const char *name);
void st_import_copy_text(st_import *in, const char *name, bool required, char *out, size_t capacity);
char *st_import_json_or_null(st_import *in, const char *name); // st_free
// Keys of rows that are named; one that is not there is a failure, but for the candidate: -1.
int64_t st_import_key_of(st_import *in, const char *sql, const char *what, const char *id);
int64_t st_import_session_key(st_import *in, const char *id);
void st_import_session_family(st_import *in, int64_t session, char out[64]);
int64_t st_import_problem_key(st_import *in, const char *family, const char *text);
int64_t st_import_candidate_key(st_import *in, int64_t session, int64_t problem, const char *family,
                                const char *configuration);

#endif
