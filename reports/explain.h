// SPDX-License-Identifier: Apache-2.0
// Why a candidate takes the time it takes: what its warps wait for, what the rules say of it, which lines wait, what to
// change, and what the store says that such changes brought. Promise: everything comes from stored rows; what a rule
// estimates is marked as an estimate, what was measured as measured; whose device it was is always said.
#ifndef SIMTUNE_REPORTS_EXPLAIN_H
#define SIMTUNE_REPORTS_EXPLAIN_H

#include "reports/report.h"

// What a move of a finding (cupti/advice.h) brought where it was tried.
typedef struct st_brought {
    int finding, move;    // indices in the profile's findings and its moves
    int parameter;        // of the session
    const char *from, *to; // its values
    int candidate;        // the one that has `to`
    bool alone;           // all else is the same; false: it is the fastest of all that have `to`
    double times;         // time before / time after: above 1 it got faster
    double promised;      // so many times as fast articles promise it to be (n chains, n times); NaN: they do not
    st_profile_view view; // of that candidate, where something is promised; without lines
} st_brought;

typedef struct st_explained_one {
    int candidate;                 // of the problem
    double ns;                     // NaN: not timed in this state of the cache
    st_reported_profile *profile;  // never NULL; `any` tells whether there are counters
    st_brought *brought;           // for each finding those that brought most first
    size_t brought_count, brought_capacity;
} st_explained_one;

typedef struct st_explained {
    const st_reported_session *session; // borrowed
    const st_reported_problem *problem;
    int cache;
    st_explained_one one;          // what is explained
    st_explained_one other;        // what it is compared with: the default; candidate -1: nothing
    const st_reported_result *result; // of the problem in this state of the cache
} st_explained;

// `candidate` of problem `problem` of the session, against its default unless it is that itself.
st_code st_explain(st_store *store, const st_reported_session *session, int problem, int cache, int candidate,
                   st_explained *out, st_error *error);
void st_explained_release(st_explained *explained);

typedef struct st_explain_options {
    int width;             // columns; 0: 80
    bool colour;
    const char *here;      // UUID of the device that is here; "" or NULL: none
} st_explain_options;
st_code st_explain_text(const st_explained *explained, const st_explain_options *options, st_text *out, st_error *error);
// "schema": "simtune.explain/1"; times in nanoseconds, shares 0…1, unknown is null.
st_code st_explain_json(const st_explained *explained, const st_explain_options *options, json_t **out, st_error *error);

// --- a stall by any of its names --------------------------------------------------------------------------------------
// An example of the store for a reason: the candidate whose profile has the largest share of it.
typedef struct st_stall_example {
    char id[ST_HASH_TEXT];
    char *family, *problem, *configuration, *device; // NULL: there is no example
    double share, ns;
} st_stall_example;
st_code st_stall_example_find(st_store *store, int stall, st_stall_example *out, st_error *error);
void st_stall_example_release(st_stall_example *example);
// Meaning, names, what articles say, what moves it, the example. `asked`: the name that was given.
void st_stall_text(int stall, const char *asked, const st_stall_example *example, int width, st_text *out);
json_t *st_stall_json(int stall, const st_stall_example *example); // "simtune.stall/1"'s items; NULL: no memory

#endif
