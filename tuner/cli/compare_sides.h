// SPDX-License-Identifier: Apache-2.0
// What compare, acknowledge and history share: their filter and rules, and what a word of the command line means.
#ifndef SIMTUNE_CLI_COMPARE_SIDES_H
#define SIMTUNE_CLI_COMPARE_SIDES_H

#include "reports/compare.h"
#include "tuner/cli/cli_answers.h"

typedef struct st_cli_comparing {
    st_compare_filter filter;  // of --type --op --size --cache --device --arch, and --family where there is one
    st_compare_rules rules;    // of --threshold
    st_cli_filter device;      // what the filter points into
} st_cli_comparing;
// The result must not be moved after.
st_code st_cli_comparing_read(st_cli *cli, st_cli_comparing *out, st_error *error);
// --json and --markdown exclude each other.
st_code st_cli_check_forms(st_cli *cli, st_error *error);

// The store for writing, but none is made where there is none.
st_code st_cli_store_that_is(st_cli *cli, st_store **out, st_error *error);

typedef struct st_cli_side {
    bool is_header;        // a file; else as kind and value say
    st_side_kind kind;
    char value[256];       // a path, a whole id or hash, a name, a version
    char label[512];       // "driver 580.159.04"
} st_cli_side;
// The one meaning of a word, a file or something that the store knows, of the kind that --by demands. "latest" is
// the newest finished session of the filter. ST_USAGE: several, all of them named; ST_NOTHING: none.
st_code st_cli_side_find(st_cli *cli, st_store *store, const st_cli_comparing *comparing, const char *word,
                         st_cli_side *out, st_error *error);
// As above, of sessions alone: the whole id.
st_code st_cli_session_find(st_store *store, const st_cli_comparing *comparing, const char *word,
                            char id[ST_HASH_TEXT], st_error *error);
// Adds a side's rows to a comparison, and its label.
st_code st_cli_side_add(st_store *store, const st_cli_side *side, const st_cli_comparing *comparing,
                        st_comparison *to, int which, st_error *error);

// Fills and judges a comparison of what is new (`word`: a side; NULL: the newest finished session of each family and
// device that has a baseline) with the newest baselines. *idle: baselines since which nothing was tuned; they are
// said on stderr. ST_NOTHING when there is no baseline.
st_code st_cli_against_baseline(st_cli *cli, st_store *store, const st_cli_comparing *comparing, const char *word,
                                st_comparison *made, size_t *idle, st_error *error);

#endif
