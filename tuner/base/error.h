// SPDX-License-Identifier: Apache-2.0
// Errors of the whole program. Promise: a library function returns a code and fills the caller's
// st_error with what happened, to what, and what to do about it; it never prints and never exits.
#ifndef SIMTUNE_BASE_ERROR_H
#define SIMTUNE_BASE_ERROR_H

#if defined(__GNUC__)
#define ST_PRINTF(format_at, arguments_at) __attribute__((format(printf, format_at, arguments_at)))
#else
#define ST_PRINTF(format_at, arguments_at)
#endif

// The values below 128 that a process can end with are the exit codes of the command line (see
// docs/simtune.1). ST_NO_MEMORY is a library code; the command line ends with ST_FAILED for it.
typedef enum st_code {
    ST_OK = 0,
    ST_FAILED = 1,       // something went wrong that is not below
    ST_USAGE = 2,        // the caller's words: unknown option, bad value, typing error in a template
    ST_NOTHING = 3,      // nothing valid: no usable device, no allowed configuration, no such row
    ST_REGRESSION = 4,   // a comparison found something slower
    ST_DENIED = 5,       // counters were demanded and are not allowed
    ST_STALE = 6,        // what was checked is out of date
    ST_NO_MEMORY = 7,    // an allocation failed
    ST_DAMAGED = 8,      // a file of ours cannot be read any more; the command line ends with ST_FAILED
    ST_INTERRUPTED = 130 // Ctrl-C
} st_code;

typedef struct st_error {
    st_code code;
    char what[1024];  // one sentence: what happened, to what, where (file:line where there is one)
    char remedy[512]; // one sentence: what to do; empty when there is nothing to do
} st_error;

// Fills `error` (may be NULL) and returns `code`. `remedy` may be NULL. An error that is already
// set is replaced: the caller that can say more has the last word.
st_code st_fail(st_error *error, st_code code, const char *remedy, const char *format, ...)
    ST_PRINTF(4, 5);

// Out of memory while doing `what` ("reading the template").
st_code st_fail_memory(st_error *error, const char *what);

// Puts "prefix: " before an error's sentence, keeping code and remedy. Returns error->code.
st_code st_error_prefix(st_error *error, const char *format, ...) ST_PRINTF(2, 3);

void st_error_clear(st_error *error);

// The exit code of the process for a library code.
int st_exit_code(st_code code);

#endif
