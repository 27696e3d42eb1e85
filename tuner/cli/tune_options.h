// SPDX-License-Identifier: Apache-2.0
// From the words of `simtune tune` to problems and options.
#ifndef SIMTUNE_CLI_TUNE_OPTIONS_H
#define SIMTUNE_CLI_TUNE_OPTIONS_H

#include "tuner/cli/cli.h"
#include "tuner/run.h"

typedef struct st_tune_words {
    st_list types, words, sizes, axes, set, vary, where;
    st_problem *problems;
    size_t problem_count;
    st_tune_options options;  // all but store and device
} st_tune_words;

// Reads everything that can be read without a device. Refuses unknown types, words, sizes, parameters.
st_code st_tune_words_read(st_cli *cli, const st_template *tmpl, st_tune_words *out, st_error *error);
// Parts of it (tune_budget.c); --vary was read.
st_code st_tune_budget_read(st_cli *cli, st_tune_words *out, st_error *error);
st_code st_tune_strategy_read(st_cli *cli, st_tune_words *out, st_error *error);
void st_tune_words_release(st_tune_words *words);

#endif
