// SPDX-License-Identifier: Apache-2.0
// Where things are kept: XDG folders, and the data files that ship with the program.
#ifndef SIMTUNE_BASE_PATHS_H
#define SIMTUNE_BASE_PATHS_H

#include "tuner/base/error.h"
#include "tuner/base/text.h"

// $XDG_DATA_HOME/simtune, $XDG_CACHE_HOME/simtune; for locks /tmp/simtune-locks ($SIMTUNE_RUNTIME), the same for
// all users, since a device is locked between users.
// Appends to `out`; fails only when neither the variable nor HOME is set, or memory is out.
st_code st_paths_data(st_text *out, st_error *error);
st_code st_paths_cache(st_text *out, st_error *error);
st_code st_paths_runtime(st_text *out, st_error *error);
// A shipped file, `relative` to the repository's root ("templates/reduce.cu", "db/history/…"):
// looked for under $SIMTUNE_SHARE, beside the binary (../share/simtune, as installed), and in the
// source tree that this binary was built from. ST_NOTHING when it is in none of them.
st_code st_paths_shipped(const char *relative, st_text *out, st_error *error);

#endif
