// SPDX-License-Identifier: Apache-2.0
// Lock files: the chosen rows as a text that people commit and review (DESIGN.md §9). Promise: the same rows give
// the same bytes; one line a device class and problem, in an order that new rows do not disturb, so that diffs are
// short and branches merge; a line that cannot be understood is an error that names it, and nothing is guessed.
//
//     simtune-lock 1
//     # comments and empty lines are allowed
//     FAMILY sm_CC/SMS CACHE PROBLEM : CONFIGURATION : {"candidate":…,"median_ns":…,…}
//
// The JSON is a row of a header's provenance (tuner/choice_json.c) without what stands before it.
#ifndef SIMTUNE_TUNER_LOCK_H
#define SIMTUNE_TUNER_LOCK_H

#include "tuner/emit.h"

typedef struct st_lock_line {
    char family[64];
    st_device_class device_class;
    char cache[8];
    char *problem, *configuration; // canonical texts
    char *json;
    char template_hash[ST_HASH_TEXT];
    int line;                      // in the file; 0: not from a file
} st_lock_line;

typedef struct st_lock {
    char *path;                    // for messages
    st_lock_line *lines;
    size_t count, capacity;
} st_lock;
void st_lock_init(st_lock *lock);
void st_lock_release(st_lock *lock);

// ST_NOTHING (quietly) when there is no such file; ST_FAILED with FILE:LINE and the remedy for a file of a newer
// simtune, one that is no lock, a mark of an unfinished merge, a line that is not as above, two lines for one problem.
st_code st_lock_read(const char *path, st_lock *out, st_error *error);
bool st_lock_has_family(const st_lock *lock, const char *family);

// The rows of the template's family that were chosen by `cache`, st_free'd by the caller. ST_NOTHING: it has none
// (the remedy says what it has); ST_STALE: a row is of another version of the template, which FILE:LINE names;
// ST_FAILED: a row does not fit the template.
st_code st_lock_choices(const st_lock *lock, const st_template *tmpl, const char *cache, st_choice **choices,
                        size_t *count, st_error *error);

// Puts choices in: each takes the place of the line of the same family, class, problem and cache. Lines of the
// family that are of another version of the template go (no header can be printed from them); *dropped counts them.
st_code st_lock_put(st_lock *lock, const st_template *tmpl, const char *cache, const st_choice *choices,
                    size_t count, size_t *dropped, st_error *error);
// The whole file, sorted.
st_code st_lock_print(st_lock *lock, st_text *out, st_error *error);

#endif
