// SPDX-License-Identifier: Apache-2.0
// What measuring a header again gave, for people and machines: each row beside the template's default and the store's
// best. Promise: one rule of noise, that of compare (st_change_of, paired samples); times of an emulated device tell
// nothing; what is wrong or does not run is never called the same.
#ifndef SIMTUNE_REPORTS_VERIFIED_H
#define SIMTUNE_REPORTS_VERIFIED_H

#include "reports/compare.h"
#include "tuner/base/text.h"

#include <jansson.h>

typedef enum st_verified_kind { // the sides of a row, in the order of printing
    ST_VERIFIED_HEADER,   // as it is shipped
    ST_VERIFIED_NVRTC,    // the header's kernels by NVRTC, when the shipped ones are nvcc's
    ST_VERIFIED_DEFAULT,
    ST_VERIFIED_STORE,
    ST_VERIFIED_KINDS
} st_verified_kind;
const char *st_verified_kind_name(st_verified_kind kind); // "header", "nvrtc", "default", "store"

typedef struct st_verified_side {
    bool present;                // false: not asked for, unknown, or the same code as `as`
    int as;                      // side with the same configuration and compiler; -1: none
    char *configuration, *detail; // st_free'd by release; detail NULL: nothing went wrong
    char compiler[48], outcome[16];
    double *samples_ns; size_t count; // by rounds; st_free'd by release; NULL: not timed
    double median_ns;            // NaN: not timed
    int registers, spill_bytes, local_bytes, blocks_per_sm; // -1 unknown
    // filled by st_verified_judge, of every side but the header's: the header's time over this one's
    st_change change;
    st_interval ratio;
    const char *reason;          // why it cannot be told, or why nothing had to be measured; "" else
} st_verified_side;

typedef struct st_verified_row {
    char *function, *problem;    // "simtune_reduce_f32_sum", "T=f32 op=sum n=65536"; st_free'd by release
    char *recorded;              // the row that the header takes for it, when recorded for another problem; or NULL
    bool exact;                  // recorded for this device's class; else borrowed from another one
    bool is_default, predicted;  // of the header's row
    int cc, sm_count;            // its class
    bool too_big;                // nothing was measured: the device has not the memory
    bool emulated;
    st_verified_side sides[ST_VERIFIED_KINDS];
    st_change verdict;           // filled by judge
    bool broken;                 // what the header ships is wrong, or does not run: the verdict is worse
    const char *reason;          // "" unless there is more to say
} st_verified_row;

typedef struct st_verified {
    const char *path, *family, *cache, *device, *driver, *shipped_by, *compiler; // borrowed; driver "" unknown
    int cc, sm_count;
    double threshold;            // a share of the time
    double nvcc_seconds;         // 0: without nvcc
    bool edited;                 // the file was changed after it was written
    st_verified_row *rows; size_t count, capacity;
    size_t counts[ST_CHANGES], broken;
} st_verified;
void st_verified_init(st_verified *made);
void st_verified_release(st_verified *made);
// Room for one more row, zeroed but for unknown numbers; NULL: no memory.
st_verified_row *st_verified_add(st_verified *made);
// Judges a row and counts it. ST_NO_MEMORY alone.
st_code st_verified_judge(st_verified *made, st_verified_row *row, st_error *error);
// The three parts of a text, so that rows can be printed as they come; and all of it.
void st_verified_text_head(const st_verified *made, st_text *out);
void st_verified_text_row(const st_verified_row *row, st_text *out);
void st_verified_text_foot(const st_verified *made, st_text *out);
void st_verified_text(const st_verified *made, st_text *out);
// "schema": "simtune.verify/1". NULL: no memory.
json_t *st_verified_json(const st_verified *made);

#endif
