// SPDX-License-Identifier: Apache-2.0
// The families that ship. Promise: a family is a file NAME.cu with a family line in templates/ or in templates/examples/,
// and nothing else knows its name: commands, help, manual, completions and lists all ask here, so adding the file adds the command.
#ifndef SIMTUNE_CLI_FAMILIES_H
#define SIMTUNE_CLI_FAMILIES_H

#include "tuner/base/options.h"

// Names by alphabet, the examples after the others, and the files, index by index. Without a folder of templates: none, and ST_OK. Both lists are
// freed by the caller, also after a failure.
st_code st_families(st_list *names, st_list *paths, st_error *error);
// As words of a line: "reduce scan"; appends.
void st_families_add(st_text *out, const char *between);
bool st_families_has(const char *name);

#endif
