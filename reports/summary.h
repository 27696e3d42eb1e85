// SPDX-License-Identifier: Apache-2.0
// The terminal summary of one session, from the store alone: winner per size, against the default with its
// interval, fraction of the device's measured memory speed, main stall of winner and default in words, ties,
// what failed, and the next command to try.
#ifndef SIMTUNE_REPORTS_SUMMARY_H
#define SIMTUNE_REPORTS_SUMMARY_H

#include "db/store.h"

typedef struct st_summary_options {
    const char *cache;    // "cold" or "warm": whose winners
    bool colour;
    int width;            // columns; 0: 80
} st_summary_options;

// Text for people. `session_id` whole.
st_code st_summary_text(st_store *store, const char *session_id, const st_summary_options *options,
                        st_text *out, st_error *error);
// The same as JSON ("schema": "simtune.summary/1", times in nanoseconds, speeds in bytes per second).
st_code st_summary_json(st_store *store, const char *session_id, st_text *out, st_error *error);
// Three lines on why the winner of a problem wins, from its and the default's counters: for a machine without
// a GPU. `problem` canonical; nothing is appended when the store has no counters of them.
st_code st_summary_why(st_store *store, const char *session_id, const char *problem, const char *cache,
                       st_text *out, st_error *error);

#endif
