// SPDX-License-Identifier: Apache-2.0
// How a question becomes a statement; shared by the query_*.c files and their tests.
//   query.c         the statement of a question, and its answers
//   query_names.c   the names that a condition may use, and what each is in SQL
//   query_functions.c  what the SQL calls
//   query_where.c   conditions: parsed, placed where they are cheap, printed
//   query_rows.c    results with few columns, and few joins
//   query_scale.c   times of all phases on one scale
//   query_choose.c  the K fastest, the best of each group, the rows that no other row beats
#ifndef SIMTUNE_DB_QUERY_INTERNAL_H
#define SIMTUNE_DB_QUERY_INTERNAL_H

#include "db/store_internal.h"
#include "tuner/base/expression.h"

// What the rows of an answer are. All have the alias r and the columns of simtune_candidates.
typedef enum st_query_source {
    ST_FROM_WINNERS,    // simtune_winners
    ST_FROM_RESULTS,    // simtune_results
    ST_FROM_TRIED,      // simtune_candidates with the measurements (m) and winners (w) that there are
    ST_FROM_CANDIDATES  // simtune_candidates
} st_query_source;

// The row that a name belongs to: a condition is evaluated once for each.
typedef enum st_query_place {
    ST_OF_CONFIGURATION, ST_OF_PROBLEM, ST_OF_SESSION, ST_OF_CANDIDATE, ST_OF_MEASUREMENT
} st_query_place;

typedef struct st_query_fact {
    const char *name;
    st_name_kind kind;
    st_query_place place;
    const char *sql, *tried;        // with the alias r; tried: where it differs in ST_FROM_TRIED
    const char *const *words;       // a closed vocabulary, or NULL
    bool alias;                     // of the row before it: not listed
} st_query_fact;

typedef enum st_query_origin {
    ST_NAME_PARAMETER, ST_NAME_AXIS, ST_NAME_FACT, ST_NAME_COUNTER
} st_query_origin;

typedef struct st_asked_name {
    char *name; // as in conditions
    st_query_origin origin;
    const st_query_fact *fact;      // of a fact
    const char *bare;               // of a parameter, an axis or a counter: without "parameter." …; in `name`
    const char *kind;               // of a counter: "pc", "range" or NULL for either
    bool hidden;                    // another spelling: not listed
} st_asked_name;

// Slots of the scope are indices of items.
typedef struct st_query_names {
    st_scope scope;
    st_asked_name *items;
    size_t count, capacity;
    int64_t *stalls;                // metric keys of the stall reasons
    size_t stall_count, stall_capacity;
    int64_t *metrics;               // one an item: its metric key, -1 for what is no counter
    size_t metric_capacity;
    bool whole;                     // all configurations were looked at, not some of each family
} st_query_names;

void st_query_names_release(st_query_names *names);
// What a question may name. `whole` false looks at some configurations of each family: enough for names that
// there are, not for saying that there is none.
st_code st_query_names_read(st_store *store, const st_query *query, bool whole, st_query_names *names,
                            st_error *error);
void st_query_name_sql(const st_query_names *names, st_query_source source, int slot, st_text *out);
// The same where rows are ranked by it: times of all phases are on one scale.
void st_query_name_ranked_sql(const st_query_names *names, st_query_source source, int slot, st_text *out);
// Of the row v of counter: its share of all stalls of its profile.
void st_query_share_sql(const st_query_names *names, st_text *out);
st_query_place st_query_name_place(const st_query_names *names, int slot);
bool st_query_name_is_measured(const st_query_names *names, int slot); // needs a measurement
bool st_query_name_is_stall(const st_query_names *names, int slot); // of either kind of profile
// Plain decimals in a canonical text: a number there, and in the JSON of parameters, is one in conditions.
bool st_query_whole_number(const char *text, size_t length, int64_t *number);

// A term of --pareto.
typedef struct st_query_aim {
    st_expression *expression;
    bool more; // is better
} st_query_aim;
#define ST_QUERY_AIMS 8

typedef struct st_question {
    const st_query *query;
    st_query_source source;
    st_query_names names;
    st_expression *where; // NULL: none
    st_query_aim aims[ST_QUERY_AIMS];
    size_t aim_count;
    int shown[64]; // slots whose values are told; then the aims that are more than a name
    size_t shown_count;
    st_answer_value values[64 + ST_QUERY_AIMS];
    size_t value_count;
    bool wide;     // so many candidates that conditions on counters are looked up by counter, not by candidate
    char session[ST_HASH_TEXT + 1]; // in lower case; one more than an id: too long a prefix must not match
    char *chosen;  // JSON [2 × candidate_key + (1 if warm), …] of the rows to answer, or NULL: all
} st_question;

void st_question_release(st_question *question);
// Parses where and pareto, finds the source and the values to tell, and refuses what does not go together.
st_code st_question_read(st_store *store, const st_query *query, st_question *question, st_error *error);
// " AND …" for the condition, each part of it where it is evaluated least often.
void st_question_where_sql(const st_question *question, st_text *sql);
// ", value, value …"
void st_question_values_sql(const st_question *question, st_text *sql);
void st_question_aims_sql(const st_question *question, st_text *sql); // ", value AS aim0, value AS aim1 …"
// What the rows are grouped by beside problem and cache: a key.
const char *st_question_group_sql(const st_query *query);
bool st_question_chooses(const st_question *question); // with top, per or pareto
// The statement of all rows that there are to choose among.
void st_question_choice_sql(const st_question *question, st_text *sql);
// Fills question->chosen with the K fastest, the best of each group, or those that no other row beats.
st_code st_question_choose(st_store *store, st_question *question, st_error *error);

// --- query_scale.c -----------------------------------------------------------------------------------------
// What rows are ranked by, out of the view's columns: of `of` (r, or m where they are joined) cache, phase, time.
#define ST_COMPARABLE(of)                                                                          \
    "simtune_query_comparable(r.candidate_key, r.session_key, r.problem_key, " of ".cache, " of    \
    ".phase, " of ".median_ns)"
// The function; its data is the store.
void st_query_call_comparable(sqlite3_context *context, int count, sqlite3_value **values);

// --- query_rows.c ------------------------------------------------------------------------------------------
// What stands behind FROM, with the alias r, for a statement in which `using` uses it: st_question_from, or the same rows
// with the columns alone that are used.
void st_question_rows_sql(const st_question *question, const char *using, st_text *out);
// Of all columns that it knows (used NULL), by number; NULL behind the last. For the test.
void st_query_rows_sql(const bool used[], st_text *out);
const char *st_query_rows_column(size_t index);

// --- query.c -----------------------------------------------------------------------------------------------
// " AND …" for all that the query asks for but its expression, top, per and pareto.
void st_question_conditions_sql(const st_question *question, st_text *sql);
const char *st_question_from(st_query_source source);
st_code st_question_sql(const st_question *question, st_text *sql, st_error *error);
void st_question_bind(st_statement *statement, const st_question *question);
void st_lower_case(const char *text, char *out, size_t capacity);

#endif
