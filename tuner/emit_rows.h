// SPDX-License-Identifier: Apache-2.0
// What a header says of itself, read without its template: for comparisons, where the template may be another one
// by now, or not be there at all. Promise: nothing in the file is trusted; a file that is no header of ours, or a
// damaged one, is refused with its place.
#ifndef SIMTUNE_TUNER_EMIT_ROWS_H
#define SIMTUNE_TUNER_EMIT_ROWS_H

#include "tuner/base/error.h"
#include "tuner/base/hash.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The first line of the block.
typedef struct st_emit_head {
    char family[64], template_hash[ST_HASH_TEXT], cache[8]; // "" unknown
    int64_t rows;                                           // that follow
} st_emit_head;
// ST_NOTHING when the file is absent; ST_FAILED when it is none of ours, damaged, or of a newer simtune.
st_code st_emit_read_head(const char *path, st_emit_head *out, st_error *error);

typedef struct st_provenance_row {
    const char *family, *cache, *problem, *configuration; // valid during the callback only; "" unknown
    const char *device, *driver, *compiler, *template_hash, *session, *candidate; // ids are whole ones, or ""
    int cc, sm_count;
    int64_t measured_ms;   // -1 unknown
    double median_ns;      // NaN unknown
    bool predicted, emulated;
} st_provenance_row;
typedef st_code st_provenance_callback(void *context, const st_provenance_row *row, st_error *error);
// In the order of the file. ST_NOTHING and ST_FAILED as above; the callback may have seen rows by then.
st_code st_emit_rows(const char *path, st_provenance_callback *callback, void *context, st_error *error);

// What both readers of the block share (this one, and st_emit_read, which knows the template): the lines, as JSON.
typedef struct st_provenance_reader {
    void *context;
    // Called once, before rows, with the checked head; may be NULL.
    st_code (*head)(void *context, const st_emit_head *head, st_error *error);
    // An ST_FAILED of it without a remedy says what is damaged. NULL: rows are counted alone.
    st_code (*row)(void *context, const st_emit_head *head, const json_t *object, st_error *error);
    const char *anew, *newer, *foreign; // remedies: for a damaged block, a newer simtune's, a file that is not ours
} st_provenance_reader;
st_code st_provenance_read(const char *path, const st_provenance_reader *reader, st_error *error);

#endif
