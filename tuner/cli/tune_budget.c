// SPDX-License-Identifier: Apache-2.0
// Of `simtune tune`: which configurations are tried, and when that ends.
#include "tuner/base/memory.h"
#include "tuner/cli/tune_options.h"
#include "tuner/t1.h"

#include <stdlib.h>
#include <string.h>

// One part of a budget; each of its kinds is given once.
static st_code read_budget_part(const char *word, st_tune_options *options, st_error *error)
{
    static const char remedy[] = "write 30s, 500 (configurations), limit:5% (of the memory's limit), some of them by comma, "
                                 "or none";
    static const char limit[] = "limit:";
    enum { LIMIT_PERCENT_MOST = 1000 };
    bool is_limit = st_text_starts(word, limit);
    const char *start = is_limit ? word + sizeof limit - 1 : word;
    char *end;
    if (!*word)
        return st_fail(error, ST_USAGE, remedy, "a part of --budget is empty");
    double number = strtod(start, &end);
    bool plain = strspn(start, "0123456789.eE+-") >= (size_t)(end - start); // no 0x10, no inf
    bool fine = plain && end != start && number > 0 && number <= 1e9, twice = false;
    if (fine && is_limit) {
        fine = strcmp(end, "%") == 0 && number <= LIMIT_PERCENT_MOST;
        twice = options->budget_limit > 0;
        options->budget_limit = number / 100;
    } else if (fine && (strcmp(end, "s") == 0 || strcmp(end, "min") == 0)) {
        twice = options->budget_seconds > 0;
        options->budget_seconds = end[0] == 'm' ? number * 60 : number;
    } else if (fine && !*end && number == (double)(uint64_t)number) {
        twice = options->budget_candidates > 0;
        options->budget_candidates = (uint64_t)number;
    } else
        fine = false;
    if (!fine || twice)
        return st_fail(error, ST_USAGE, remedy, fine ? "two budgets of one kind: %s" : "%s is no budget", word);
    return ST_OK;
}

// "30s" is time, "500" a number of configurations, "limit:5%" how near the memory's limit; "none" is none of them.
st_code st_tune_budget_read(st_cli *cli, st_tune_words *out, st_error *error)
{
    enum { EMULATED_CANDIDATES = 24 }; // a number, not a time: two runs try the same
    st_tune_options *options = &out->options;
    const char *word = st_parsed_text(cli->parsed, "budget");
    char own[32] = "";
    st_code code = ST_OK;
    if (!word && cli->parsed->word_count && st_t1_is_file(cli->parsed->words[0])) {
        code = st_t1_budget(cli->parsed->words[0], own, error);
        if (code != ST_OK)
            return code;
        word = own[0] ? own : NULL;
    }
    options->budget_seconds = options->budget_limit = 0;
    options->budget_candidates = 0;
    if (!word && st_cli_wants_emulated(cli))
        options->budget_candidates = EMULATED_CANDIDATES;
    else if (!word && !out->vary.count) // a table that --vary asks for is to be whole
        options->budget_seconds = 1.6;
    if (!word || strcmp(word, "none") == 0)
        return ST_OK;
    for (const char *at = word; code == ST_OK; at++) {
        size_t length = strcspn(at, ",");
        char *part = st_strndup(at, length);
        code = part ? read_budget_part(part, options, error) : st_fail_memory(error, "reading the command line");
        st_free(part);
        at += length;
        if (!*at)
            break;
    }
    return code;
}

// The first of the table, unless all is to be tried: for a table that --vary asks for, and where times mean nothing to
// go by.
st_code st_tune_strategy_read(st_cli *cli, st_tune_words *out, st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, "strategy");
    size_t count;
    const st_strategy_row *rows = st_strategies(&count);
    out->options.strategy = out->vary.count || st_cli_wants_emulated(cli) ? "exhaustive" : rows[0].name;
    for (size_t i = 0; word && i < count; i++)
        if (strcmp(rows[i].name, word) == 0) {
            out->options.strategy = rows[i].name;
            return ST_OK;
        }
    return word ? st_fail(error, ST_USAGE, st_strategy_names(), "there is no strategy %s", word)
                : ST_OK;
}
