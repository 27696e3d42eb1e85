// SPDX-License-Identifier: Apache-2.0
// Growable text. Promise: appending never fails on the spot; an allocation failure is remembered in
// `failed` and everything after it is dropped, so a builder checks once, at its end.
#ifndef SIMTUNE_BASE_TEXT_H
#define SIMTUNE_BASE_TEXT_H

#include "tuner/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_text {
    char *data; // NUL-terminated once anything was appended; NULL before
    size_t length;
    size_t capacity;
    bool failed;
} st_text;

void st_text_init(st_text *text);
void st_text_release(st_text *text);
void st_text_clear(st_text *text); // keeps the memory
void st_text_add(st_text *text, const char *string);
void st_text_add_bytes(st_text *text, const void *bytes, size_t length);
// Bytes of the well-formed UTF-8 character at `text`, 0: there is none (neither at the end nor in what is broken).
size_t st_text_character(const char *text);
void st_text_addf(st_text *text, const char *format, ...) ST_PRINTF(2, 3);
// The text as a C string, "" when empty. Valid until the next change.
const char *st_text_string(const st_text *text);
// Hands the memory to the caller (st_free). NULL when the text failed.
char *st_text_take(st_text *text);

bool st_text_equal(const char *a, const char *b);        // NULL equals only NULL
bool st_text_starts(const char *text, const char *start);
// Parses a whole decimal integer with an optional suffix Ki Mi Gi Ti (2^10…) or K M G T (10^3…) or a
// power "2^20". False for anything else, overflow included. Negative numbers are accepted.
bool st_text_to_int(const char *text, int64_t *value);
// "64Ki", "1Mi", "256Mi" when the number is a multiple of a power of 1024, else plain decimal.
void st_text_add_size(st_text *text, uint64_t value);
// Levenshtein distance is at most 2 (and less than the word's length): for "did you mean".
// Returns the index of the nearest candidate or -1.
int st_text_nearest(const char *word, const char *const *candidates, size_t count);
// Reads a whole file. ST_FAILED with the reason; the text holds the bytes (and a NUL after them).
st_code st_text_read_file(st_text *text, const char *path, st_error *error);
// Writes through a temporary file beside `path` and renames. Leaves an equal file untouched:
// *changed (may be NULL) says whether anything was written. Parent folders are made; a symbolic link stays, the
// file that it points to is replaced. ST_USAGE: an SQLite database stands there, or a file that belongs to one.
st_code st_text_write_file(const char *path, const void *bytes, size_t length, bool *changed,
                           st_error *error);
// A file that is written bit by bit, with the promises of st_text_write_file. Zeroed before it is opened;
// st_writing_release ends it in any case, and removes what was not finished.
typedef struct st_writing {
    char *path, *temporary; // what is replaced in the end, and what is written until then
    int file;               // of `temporary`
} st_writing;
st_code st_writing_open(st_writing *writing, const char *path, st_error *error);
st_code st_writing_add(st_writing *writing, const void *bytes, size_t length, st_error *error);
st_code st_writing_finish(st_writing *writing, st_error *error); // on the disk, and at its name
void st_writing_release(st_writing *writing);
// What SQLite and the store keep beside a database: endings of its name, ended by NULL.
extern const char *const st_database_endings[];
// The end of a noun after a number of things: "" after 1, else "s".
const char *st_plural(int64_t count);
// What stands behind the last slash.
const char *st_text_file_name(const char *path);
// Do both names lead to one file? False when either leads nowhere.
bool st_text_one_file(const char *a, const char *b);
// mkdir -p
st_code st_text_make_folder(const char *path, st_error *error);

#endif
