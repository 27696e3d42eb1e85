// SPDX-License-Identifier: Apache-2.0
// What is new, against its baselines: for compare --against-baseline and for acknowledge.
#include "tuner/cli/compare_sides.h"

#include <stdio.h>
#include <string.h>

typedef struct gathering {
    st_cli *cli;
    st_store *store;
    const st_compare_filter *filter;
    st_comparison *to;
    bool given;       // the new side is there already
    size_t baselines; // that are of the filter
    size_t used, idle;
} gathering;

static bool new_side_has(const st_compare_side *side, const st_baseline_row *row)
{
    for (size_t i = 0; i < side->session_count; i++)
        if (side->sessions[i].device_key == row->device_key && strcmp(side->sessions[i].family, row->family) == 0)
            return true;
    for (size_t i = 0; i < side->count; i++)
        if (side->records[i]->row.device_key == row->device_key &&
            strcmp(side->records[i]->row.family, row->family) == 0)
            return true;
    return false;
}

static st_code take_baseline(void *context, const st_baseline_row *row, st_error *error)
{
    gathering *at = context;
    if (!row->newest)
        return ST_OK;
    at->baselines++;
    if (at->given && !new_side_has(&at->to->sides[1], row))
        return ST_OK;
    if (!at->given && strcmp(row->session_id, row->newest_session) == 0) {
        st_cli_tell(at->cli, at->cli->talk, "note: nothing of %s was tuned on %s since the baseline %.12s\n", row->family,
                row->device_name, row->session_id);
        at->idle++;
        return ST_OK;
    }
    at->used++;
    st_code code = st_comparison_add(at->to, at->store, 0, ST_SIDE_SESSION, row->session_id, at->filter, error);
    if (code == ST_OK && !at->given)
        code = st_comparison_add(at->to, at->store, 1, ST_SIDE_SESSION, row->newest_session, at->filter, error);
    return code;
}

static st_code gather(st_cli *cli, st_store *store, const st_cli_comparing *comparing, const char *word,
                      gathering *at, st_error *error)
{
    st_code code = ST_OK;
    at->to->against_baseline = true;
    if (word) {
        st_cli_side side;
        at->given = true;
        code = st_cli_side_find(cli, store, comparing, word, &side, error);
        if (code == ST_OK)
            code = st_cli_side_add(store, &side, comparing, at->to, 1, error);
    }
    if (code == ST_OK)
        code = st_store_baselines(store, &comparing->filter, take_baseline, at, error);
    if (code == ST_OK && !at->baselines)
        code = st_fail(error, ST_NOTHING, "mark one: simtune compare --baseline SESSION",
                       "there is no baseline%s%s to compare with", comparing->filter.family ? " of " : "",
                       comparing->filter.family ? comparing->filter.family : "");
    if (code == ST_OK && at->given && !at->used)
        code = st_fail(error, ST_NOTHING, "mark one: simtune compare --baseline SESSION; --baselines lists them",
                       "%s is of no family and device that has a baseline", at->to->sides[1].label);
    return code;
}

st_code st_cli_against_baseline(st_cli *cli, st_store *store, const st_cli_comparing *comparing, const char *word,
                                st_comparison *made, size_t *idle, st_error *error)
{
    gathering at = {.cli = cli, .store = store, .filter = &comparing->filter, .to = made};
    st_code code = gather(cli, store, comparing, word, &at, error);
    if (code == ST_OK)
        code = st_comparison_judge(made, store, error);
    if (code == ST_OK)
        code = st_comparison_acknowledged(made, store, error);
    *idle = at.idle;
    return code;
}
