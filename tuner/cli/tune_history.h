// SPDX-License-Identifier: Apache-2.0
// A run without the GPU that it asks for: what history knows of such a device, or, without any, what was predicted for
// it. Promise: the first line and the header say whose figures these are, or that there are none.
#ifndef SIMTUNE_CLI_TUNE_HISTORY_H
#define SIMTUNE_CLI_TUNE_HISTORY_H

#include "tuner/cli/tune_options.h"

// `cc` -1: any, so the reference device of what ships; else from what the user's store and the shipped history know of
// that arch.
st_code st_tune_from_history(st_cli *cli, const st_template *tmpl, const st_tune_words *words, int cc, st_error *error);

#endif
