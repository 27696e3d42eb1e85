// SPDX-License-Identifier: Apache-2.0
// What query, show and emit share: the rows of the store that --device and --arch mean, and a row as JSON.
#ifndef SIMTUNE_CLI_ANSWERS_H
#define SIMTUNE_CLI_ANSWERS_H

#include "tuner/base/json.h"
#include "tuner/cli/cli.h"


enum { ST_ARCHS_MOST = 16 };

typedef struct st_cli_filter {
    st_query query;              // all but cc
    char device[96];             // what query.device points to
    int archs[ST_ARCHS_MOST];    // of --arch, a list; none: any
    size_t arch_count;
} st_cli_filter;

// Reads --device and --arch. A device that is named by its number, or emu, and --arch auto are looked up here;
// a name or a UUID need no GPU. The filter must not be moved after.
st_code st_cli_filter_read(st_cli *cli, st_cli_filter *out, st_error *error);
// Asks once for each arch. query.limit holds for all together.
st_code st_cli_filter_ask(st_store *store, const st_cli_filter *filter, st_answer_callback *callback,
                          void *context, st_error *error);
// ST_NOTHING for a session that is not there, ST_USAGE for what is no id.
st_code st_cli_check_session(st_store *store, const char *id, st_error *error);
// A word is the beginning of a session's id, "latest" (NULL too), or a family, of which the latest is taken; of `family` alone
// where that is given. Finished ones only, but by id. Released by the caller.
st_code st_cli_session_of(st_store *store, const char *family, const char *word, st_session_row *row, st_error *error);
// "f32" or an old name ("float") → the type's name. ST_USAGE with the nearest or all of them.
st_code st_cli_type(const char *word, const char **name, st_error *error);
// The value of an option that is one of `words` (NULL-terminated), NULL when it is not given.
st_code st_cli_choice(st_cli *cli, const char *option, const char *const *words, const char **out,
                      st_error *error);

// Base units: nanoseconds, bytes, bytes per second, shares 0…1; unknown is null. NULL: no memory.
json_t *st_answer_json(const st_answer *answer);
// Prints and frees `value` and a newline; `value` may be NULL (no memory).
st_code st_cli_print_json(st_cli *cli, json_t *value, st_error *error);

#endif
