// SPDX-License-Identifier: Apache-2.0
// Command-line options out of one table: parsing, help, completions and the manual all read it. Promise: an
// option is a row; a word that is no option is refused with the nearest one that is.
#ifndef SIMTUNE_BASE_OPTIONS_H
#define SIMTUNE_BASE_OPTIONS_H

#include "tuner/base/error.h"
#include "tuner/base/text.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct st_option {
    const char *name;    // "device": given as --device X or --device=X
    char letter;         // 'o' for -o X; 0: none
    const char *value;   // what the help calls its value ("NAME"); NULL: a flag
    bool repeats;        // may be given several times
    const char *help;    // one line
} st_option;

typedef struct st_parsed {
    const st_option *const *tables; // NULL-terminated list of tables, each ended by a row without name
    // One a given option, in order.
    struct st_given { const st_option *option; const char *value; } *given;
    size_t given_count, given_capacity;
    const char **words;  // what is no option
    size_t word_count, word_capacity;
} st_parsed;

// `arguments` must outlive `out`. After "--" everything is a word. ST_USAGE names the culprit; an empty value is one.
st_code st_options_parse(const st_option *const *tables, int count, char **arguments, st_parsed *out,
                         st_error *error);
void st_parsed_release(st_parsed *parsed);
bool st_parsed_flag(const st_parsed *parsed, const char *name);
// The last value, or NULL.
const char *st_parsed_text(const st_parsed *parsed, const char *name);
// All values of an option in order; commas separate as well when `split`, and an empty word between them is
// ST_USAGE. *out is st_free'd by the caller (the texts too, through st_list_free).
typedef struct st_list { char **items; size_t count, capacity; } st_list;
st_code st_parsed_list(const st_parsed *parsed, const char *name, bool split, st_list *out,
                       st_error *error);
bool st_list_add(st_list *list, const char *text, size_t length); // false: no memory
void st_list_free(st_list *list);
// "  -o, --output DIR     where …" for each row.
void st_options_help(const st_option *table, st_text *out);

#endif
