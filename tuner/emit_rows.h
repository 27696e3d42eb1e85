// SPDX-License-Identifier: Apache-2.0
// What a header says of itself, read without its template: for comparisons, where the template may be another one
// by now, or not be there at all. Promise: nothing in the file is trusted; a file that is no header of ours, or a
// damaged one, is refused with its place.
#ifndef SIMTUNE_TUNER_EMIT_ROWS_H
#define SIMTUNE_TUNER_EMIT_ROWS_H

#include "tuner/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_emit_row {
    const char *family, *cache, *problem, *configuration; // valid during the callback only; "" unknown
    const char *device, *driver, *compiler, *template_hash, *session, *candidate; // ids are whole ones, or ""
    int cc, sm_count;
    int64_t measured_ms;   // -1 unknown
    double median_ns;      // NaN unknown
    bool predicted, emulated;
} st_emit_row;
typedef st_code st_emit_row_callback(void *context, const st_emit_row *row, st_error *error);
// In the order of the file. ST_NOTHING when it is absent; ST_FAILED when it is none of ours, damaged, or of a newer
// simtune; the callback may have seen rows by then.
st_code st_emit_rows(const char *path, st_emit_row_callback *callback, void *context, st_error *error);

#endif
