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

// --- history_read.c ----------------------------------------------------------------------------------------
typedef enum st_value_kind {
    ST_VALUE_NULL, ST_VALUE_BOOL, ST_VALUE_INT, ST_VALUE_REAL, ST_VALUE_TEXT, ST_VALUE_LIST, ST_VALUE_OBJECT
} st_value_kind;
// Valid until the next line is read, or the reader released.
typedef struct st_value {
    const char *name; // in an object
    union {
        const char *text;
        int64_t integer; // of a BOOL too
        double real;
    };
    uint32_t begin, end;  // bytes of the line
    uint32_t first, next; // members; use the functions below
    uint32_t count;       // of members
    st_value_kind kind;
} st_value;
typedef struct st_reader { // zeroed before the first line
    st_value *values;
    char *texts;
    size_t count, capacity, texts_used, texts_capacity;
    const char *line, *at;
    const char *why; // the line is not JSON
    bool no_memory;
} st_reader;
st_code st_reader_read(st_reader *reader, const st_text *line, const st_value **value, st_error *error);
void st_reader_release(st_reader *reader);
double st_reader_number(const char *from, const char *end); // of a real number as JSON has it
const st_value *st_value_first(const st_reader *reader, const st_value *value); // NULL: no members
const st_value *st_value_next(const st_reader *reader, const st_value *value);
// The member of that name. NULL: it is not there, or `object` is none.
const st_value *st_value_get(const st_reader *reader, const st_value *object, const char *name);
// As it stands in the line. For st_free.
char *st_value_json(const st_reader *reader, const st_value *value);

// --- history_rows.c ----------------------------------------------------------------------------------------
// Keys of the rows that were found last: neighbours in a file share them.
#define ST_KNOWN_METRICS 256
typedef struct st_known {
    char session_id[ST_HASH_TEXT], family[64];
    int64_t session;
    char *problem; // its text
    char problem_id[ST_HASH_TEXT];
    int64_t problem_key;
    char *metrics[ST_KNOWN_METRICS]; // in the order in which profiles name them
    int64_t metric_keys[ST_KNOWN_METRICS];
    size_t metric_count;
} st_known;
void st_known_release(st_known *known);

typedef struct st_import {
    st_store *store;
    const char *path;
    bool shipped;
    size_t line_number, added;
    bool ended;
    st_reader reader;
    st_known known;
    // The row being read. The first missing or wrong field fills `code` and `error`.
    const st_value *row;
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
// What is given must lie within; a required one must be given. -1 and NaN only where it is not.
typedef enum st_field_need { ST_FIELD_OPTIONAL, ST_FIELD_REQUIRED } st_field_need;
int64_t st_import_int_within(st_import *in, const char *name, st_field_need need, int64_t low, int64_t high);
double st_import_real_within(st_import *in, const char *name, double low, double high);
void st_import_copy_text(st_import *in, const char *name, bool required, char *out, size_t capacity);
char *st_import_json_or_null(st_import *in, const char *name); // st_free
// A list or an object. NULL after a failure.
const st_value *st_import_members_of(st_import *in, const char *name, st_value_kind kind);
bool st_import_number(const st_value *value, double *out); // null is NaN; false: it is none
// Keys of rows that are named; one that is not there is a failure, but for the candidate: -1. Session, then its problem,
// then its candidate.
int64_t st_import_key_of(st_import *in, const char *sql, const char *what, const char *id);
int64_t st_import_session_key(st_import *in, const char *id);
int64_t st_import_problem_key(st_import *in, const char *text);
int64_t st_import_candidate_key(st_import *in, const char *configuration);
// Found or made. `guess`: its place in the profile.
int64_t st_import_metric_key(st_import *in, const char *name, size_t guess);

// --- history_check.c ---------------------------------------------------------------------------------------
#define ST_CC_LEAST 20 // 10 * major + minor of the oldest device that had caches
#define ST_CC_MOST 999
#define ST_TIME_MOST_MS INT64_C(253402300799999) // the end of the year 9999
// Each does nothing after a failure.
void st_import_check_filled(st_import *in, const char *name, const char *text);
void st_import_check_id(st_import *in, const char *name, const char *text);
void st_import_check_word(st_import *in, const char *name, const char *text, const char *const *allowed); // NULL ends them
void st_import_check_times(st_import *in, const char *status, int64_t started, int64_t finished);
void st_import_check_texts(st_import *in); // of a template, by the names of its files
void st_import_check_configuration(st_import *in, const char *text);
void st_import_check_samples(st_import *in, const st_measurement_row *row, bool thinned);
void st_import_check_speedup(st_import *in, const st_winner_row *row);
// `sql` counts, of a key and a text, what must be there; `otherwise` is told, with the text behind it.
void st_import_check_holds(st_import *in, const char *sql, int64_t key, const char *text, const char *otherwise);
// Nothing may stand behind the last member of a gzip file, which zlib's reader passes over.
st_code st_history_check_end(const char *path, st_error *error);

#endif
