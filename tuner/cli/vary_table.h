// SPDX-License-Identifier: Apache-2.0
// The tables of --vary where several parameters moved: for each varied parameter and each of its values the best
// that was found with it. (Where one parameter moved alone, the summary prints its table.)
#ifndef SIMTUNE_CLI_VARY_TABLE_H
#define SIMTUNE_CLI_VARY_TABLE_H

#include "db/store.h"
#include "tuner/template.h"

// `vary`: names of parameters. From the store alone; appends nothing where there is nothing to compare.
st_code st_vary_tables(st_store *store, const st_template *tmpl, const char *const *vary, size_t vary_count,
                       const char *session_id, const char *cache, st_text *out, st_error *error);

#endif
