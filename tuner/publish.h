// SPDX-License-Identifier: Apache-2.0
// From the store to a header on disk. Promise: a header is made from stored rows alone; rows of another
// template version are left out and counted; other devices' rows in an existing header are kept.
#ifndef SIMTUNE_TUNER_PUBLISH_H
#define SIMTUNE_TUNER_PUBLISH_H

#include "db/store.h"
#include "tuner/emit.h"

typedef struct st_publish {
    const char *device;        // UUID or part of a name; NULL: any
    int cc, sm_count;          // -1: any
    const char *const *types;  // NULL: all that there are
    size_t type_count;
    const char *cache;         // "cold" or "warm"
    const char *session;       // only this session's; NULL: the newest winner of each problem
    bool allow_emulated;
    bool shipped_only;
} st_publish;

// The newest winner of each device class and problem; a measured one before a predicted one (tuner/predict.h). *stale counts rows of other template versions, *emulated
// those left out because they come from the emulated device (either may be NULL). ST_NOTHING when none is left.
st_code st_choices_from_store(st_store *store, const st_template *tmpl, const st_publish *wanted,
                              st_choice **out, size_t *count, size_t *stale, size_t *emulated,
                              st_error *error);

// Writes simtune_FAMILY.h into `place` (a folder, or a file name that ends in .h; NULL: here), keeping the
// classes of an existing header of ours that `choices` does not have, unless options->alone. With options->split the
// kernels go into a .cu of the same name beside it. `path` gets the file's name.
st_code st_header_publish(const st_template *tmpl, const st_choice *choices, size_t count,
                          const st_emit_options *options, const char *place, st_text *path, bool *changed,
                          st_error *error);

#endif
