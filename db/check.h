// SPDX-License-Identifier: Apache-2.0
// Whether what a store says can be so. Promise: changes nothing; every finding has a kind that does not change, a
// number, and words for people.
#ifndef SIMTUNE_DB_CHECK_H
#define SIMTUNE_DB_CHECK_H

#include "db/store.h"

typedef enum st_severity {
    ST_SEVERITY_REMARK,  // nothing is wrong: what nobody uses, what was cut short
    ST_SEVERITY_WRONG,   // rows that contradict themselves or each other
    ST_SEVERITY_DAMAGED  // the file
} st_severity;

typedef struct st_check_finding {
    st_severity severity;
    const char *kind;  // "unused_configuration"
    int64_t count;
    const char *words; // with the number; valid during the callback only
} st_check_finding;
typedef st_code st_finding_callback(void *context, const st_check_finding *finding, st_error *error);

// What a sound store may hold that cannot be so, or that nobody uses. Ask st_store_check (inspect.h) first.
st_code st_store_examine(st_store *store, st_finding_callback *callback, void *context, st_error *error);
// How many of these there are; "remark", "wrong", "damaged".
const char *st_severity_name(st_severity severity);

#endif
