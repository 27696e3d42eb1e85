// SPDX-License-Identifier: Apache-2.0
// Are the rows that a header or a lock holds still what the store would choose? Pure: two lists of choices in, a
// verdict for each row out.
#ifndef SIMTUNE_TUNER_STALENESS_H
#define SIMTUNE_TUNER_STALENESS_H

#include "tuner/emit.h"

typedef enum st_staleness {
    ST_ROW_CURRENT,   // the store chooses the same configuration
    ST_ROW_BETTER,    // the store knows a configuration that takes less time, by more than the threshold
    ST_ROW_MEASURED,  // the row is predicted or emulated, and the store has a measured one
    ST_ROW_OTHER,     // the store chooses another configuration, which is not faster beyond the threshold
    ST_ROW_UNKNOWN    // the store knows nothing of this device class and problem: cannot tell
} st_staleness;

// "current", "better known", … in the order of the enumeration.
const char *st_staleness_name(st_staleness staleness);

typedef struct st_stale_row {
    const st_choice *row, *known; // known NULL: none
    st_staleness staleness;
    double ratio;                 // the row's time over the known one's; NaN when either is unknown
} st_stale_row;

// `known`: what st_choices_from_store gave for the same template and state of the cache. `threshold`: a share of the
// time (0.02). `out` has room for `count` rows; both lists must outlive it.
void st_stale_rows(const st_template *tmpl, const st_choice *rows, size_t count, const st_choice *known,
                   size_t known_count, double threshold, st_stale_row *out);

#endif
