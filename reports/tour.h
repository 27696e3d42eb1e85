// SPDX-License-Identifier: Apache-2.0
// A tour of what articles on warp stalls show, with figures of the store: one table for each demonstration, what is
// claimed, what this device did, and why where it did less. Promise: every figure is a measured candidate's; a stop that
// the store cannot show says how it is measured.
#ifndef SIMTUNE_REPORTS_TOUR_H
#define SIMTUNE_REPORTS_TOUR_H

#include "reports/report.h"

enum { ST_TOUR_VALUES = 6 };

// The table of stops: to add one, a row in tour_stops.c.
typedef struct st_tour_stop {
    const char *id, *title;
    const char *family, *parameter;
    const char *values[ST_TOUR_VALUES]; // NULL-terminated when fewer
    bool alone;           // all other parameters stay; false: each value at its best
    const char *look_at[2]; // the stalls that the claim is about, names of st_stalls; the second may be NULL
    const char *claim;    // what articles say
    double promised;      // how many times as fast they promise the best value to be than the first; NaN: no figure
    const char *measure;  // words of the simtune command that measures it, after "simtune tune "; NAME.cu is one of
                          // templates/examples
} st_tour_stop;
const st_tour_stop *st_tour_stops(size_t *count);

typedef struct st_tour_row {
    const char *value;    // of the stop
    char id[ST_HASH_TEXT];
    char *configuration;
    double ns;            // on the scale of the finals (base/phases.h); NaN: none that was right was timed
    double median_ns;     // as measured
    size_t tried, wrong;  // candidates with this value; those that gave a wrong result
    st_profile_view view; // without lines
    int registers;        // -1 unknown
} st_tour_row;

typedef struct st_tour_found {
    bool found;           // at least two values were timed
    bool alone;           // what the rows have in common besides
    char *device, *problem, *backend;
    char uuid[48], session[ST_HASH_TEXT];
    st_tour_row rows[ST_TOUR_VALUES];
    size_t count;
} st_tour_found;
// Looks in the newest sessions of the family, hardware before others; `device`: a part of its name or its UUID, NULL any.
// `archs` (compute capability times 10): any of these, 0 of them all.
st_code st_tour_find(st_store *store, const st_tour_stop *stop, const char *device, const int *archs, size_t arch_count,
                     st_tour_found *out, st_error *error);
void st_tour_found_release(st_tour_found *found);

// `number` counts from 1. `here`: UUID of the device that is here, "" none.
void st_tour_text(const st_tour_stop *stop, const st_tour_found *found, size_t number, const char *here, int width,
                  st_text *out);
json_t *st_tour_json(const st_tour_stop *stop, const st_tour_found *found, const char *here); // NULL: no memory
// In a sentence or two: what came of the claim, out of the figures. Nothing when they do not tell.
void st_tour_why(const st_tour_stop *stop, const st_tour_found *found, st_text *out);

#endif
