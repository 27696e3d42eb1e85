// SPDX-License-Identifier: Apache-2.0
// Measurements in the forms of other tools, out and in. Promise: a file is taken in whole or not at all (one
// transaction), taking it in again adds nothing, and what was measured by others is never mistaken for our own: it
// stands in sessions of its own, on devices of the backend "imported". docs/store.md tells what each form carries.
//
// To add a form: a row in exchange_formats.c; a reader (exchange_internal.h), a writer, or both.
#ifndef SIMTUNE_DB_EXCHANGE_H
#define SIMTUNE_DB_EXCHANGE_H

#include "db/store.h"

#define ST_IMPORTED_BACKEND "imported"

typedef enum st_exchange_form {
    ST_FORM_JSONL,        // history files, which carry everything
    ST_FORM_T4,           // T4 results: one JSON object with a list of results
    ST_FORM_KERNEL_TUNER, // Kernel Tuner's cache file
    ST_FORM_COUNT
} st_exchange_form;
const char *st_exchange_form_name(st_exchange_form form);  // "jsonl", "t4", "kernel-tuner"
const char *st_exchange_form_title(st_exchange_form form); // for people: "a Kernel Tuner cache file"
// NULL-terminated, for options.
extern const char *const st_exchange_form_names[];
bool st_exchange_form_find(const char *name, st_exchange_form *out);
// What a file's name tells: x.jsonl, x.jsonl.gz and whatever is not .json; t4 and cache or kernel-tuner as a word of
// the name of a .json or .json.gz. False when such a name tells nothing.
bool st_exchange_form_of_path(const char *path, st_exchange_form *out);

// --- in ----------------------------------------------------------------------------------------------------
typedef struct st_import_wish {
    const char *device, *family; // for files that name none; NULL: see below
} st_import_wish;
typedef struct st_imported {
    st_exchange_form form;
    size_t added;                // new rows
    // What follows is of other tools' files only.
    char session[ST_HASH_TEXT];  // "" for history files
    char device[96], family[64];
    bool there_already;          // the session: nothing was looked at further
    bool device_unknown;         // neither file nor wish names it: "unknown device"
    bool family_of_path;         // neither file nor wish names it: the file's name
    bool cut;                    // lacks its last brackets, as an interrupted run leaves it
    size_t candidates, failed, repeated; // failed: of the candidates; repeated: entries of a configuration again
} st_imported;
// A file of any form, gzip'ed or not; the form is seen in the file. `wish` may be NULL.
st_code st_exchange_import(st_store *store, const char *path, const st_import_wish *wish, st_imported *out,
                           st_error *error);

// --- out ---------------------------------------------------------------------------------------------------
typedef struct st_export_wish {
    const char *const *sessions;  // whole ids, NULL-terminated; NULL: all
    const char *family;           // NULL: all
    const char *device;           // substring of the name, or UUID; NULL: all
    const int *archs; size_t arch_count; // compute capabilities; none: all
    const char *type, *operation; // NULL: all
    int64_t n;                    // -1: all
    const char *problem;          // its canonical text; NULL: all
    const char *cache;            // "cold", "warm", NULL: cold where there is both. Not for ST_FORM_JSONL
} st_export_wish;
typedef struct st_exported {
    size_t sessions, candidates;
    size_t older;       // candidates left out: their configuration was measured again in a later session
    size_t strangers;   // left out: their parameters are others than those of the newest session
    size_t unmeasured;  // left out: correct, but not measured in this state of the cache
    char family[64], device[96], problem[512], cache[8]; // of T4 and Kernel Tuner files
} st_exported;
// ST_NOTHING when nothing matches; ST_USAGE when a form that holds one problem of one device is to hold several.
// The file is gzip'ed when its name ends in .gz.
st_code st_exchange_export(st_store *store, const st_export_wish *wish, st_exchange_form form, const char *path,
                           st_exported *out, st_error *error);

#endif
