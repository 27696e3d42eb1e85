// SPDX-License-Identifier: Apache-2.0
// `simtune query`: what the store knows, as a table, JSON, CSV or Markdown. Opens the store for reading only; needs
// no GPU unless --device gives a number or --arch is auto. Here is what is asked; db/query*.c answers.
#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cmd_query.h"
#include "tuner/worker/messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- what is asked ------------------------------------------------------------------------------------------------

static st_code read_numbers(st_cli *cli, st_query *query, st_error *error)
{
    const char *size = st_parsed_text(cli->parsed, "size"), *limit = st_parsed_text(cli->parsed, "limit");
    const char *top = st_parsed_text(cli->parsed, "top");
    int64_t number;
    if (size && (!st_text_to_int(size, &query->n) || query->n < 0))
        return st_fail(error, ST_USAGE, "write sizes like 1000, 64Ki, 16Mi or 2^24", "%s is no size", size);
    if (limit && (!st_text_to_int(limit, &number) || number < 1))
        return st_fail(error, ST_USAGE, "give a number from 1 on", "--limit %s is no number of rows", limit);
    if (limit)
        query->limit = (size_t)number;
    if (top && (!st_text_to_int(top, &number) || number < 1))
        return st_fail(error, ST_USAGE, "give a number from 1 on: --top 10", "--top %s is no number of rows", top);
    if (top)
        query->top = (size_t)number;
    const char *since = st_parsed_text(cli->parsed, "since");
    return since ? st_clock_since(since, st_clock_unix_ms(), &query->since_ms, error) : ST_OK;
}

static const char failures[] = "wrong,race,compile,launch,crash,timeout";

// --failures and --outcome, into words by comma.
static st_code read_outcomes(st_cli *cli, st_text *out, st_error *error)
{
    st_list words;
    st_code code = st_parsed_list(cli->parsed, "outcome", true, &words, error);
    bool given = words.count > 0, failed = st_parsed_flag(cli->parsed, "failures");
    for (size_t i = 0; i < words.count && code == ST_OK; i++)
        if (st_outcome_find(words.items[i]) < 0) {
            st_text all;
            st_text_init(&all);
            for (int o = 0; o < ST_OUTCOME_COUNT; o++)
                st_text_addf(&all, " %s", st_outcome_name((st_outcome)o));
            code = st_fail(error, ST_USAGE, NULL, "there is no outcome %s", words.items[i]);
            if (error)
                snprintf(error->remedy, sizeof error->remedy, "the outcomes are%s", st_text_string(&all));
            st_text_release(&all);
        } else
            st_text_addf(out, "%s%s", out->length ? "," : "", words.items[i]);
    if (code == ST_OK && given && failed)
        code = st_fail(error, ST_USAGE, "--failures is --outcome wrong,race,compile,launch,crash,timeout",
                       "--failures and --outcome together");
    if (failed)
        st_text_add(out, failures);
    const char *timed = st_parsed_flag(cli->parsed, "best") ? "best" : st_parsed_flag(cli->parsed, "cache") ? "cache" : NULL;
    if (code == ST_OK && (given || failed) && timed)
        code = st_fail(error, ST_USAGE, "ask for one or the other",
                       "--%s chooses among times, --%s lists candidates without", timed,
                       failed ? "failures" : "outcome");
    st_list_free(&words);
    return code == ST_OK && out->failed ? st_fail_memory(error, "reading the command line") : code;
}

static st_code read_query(st_cli *cli, st_cli_filter *filter, st_text *outcomes, st_error *error)
{
    static const char *const caches[] = {"cold", "warm", NULL};
    st_code code = st_cli_filter_read(cli, filter, error);
    st_query *query = &filter->query;
    const char *type = st_parsed_text(cli->parsed, "type");
    if (code == ST_OK && cli->parsed->word_count > 1)
        code = st_fail(error, ST_USAGE, "one family at a time, or none for all", "query takes no %s",
                       cli->parsed->words[1]);
    query->family = cli->parsed->word_count ? cli->parsed->words[0] : NULL;
    query->operation = st_parsed_text(cli->parsed, "op");
    query->session = st_parsed_text(cli->parsed, "session");
    query->best = st_parsed_flag(cli->parsed, "best");
    query->where = st_parsed_text(cli->parsed, "where");
    query->per = st_parsed_text(cli->parsed, "per");
    query->pareto = st_parsed_text(cli->parsed, "pareto");
    query->archs = filter->archs; // of all at once: the fastest of each are not the fastest of all
    query->arch_count = filter->arch_count;
    if (code == ST_OK && type)
        code = st_cli_type(type, &query->type, error);
    if (code == ST_OK)
        code = st_cli_choice(cli, "cache", caches, &query->cache, error);
    if (code == ST_OK)
        code = read_numbers(cli, query, error);
    if (code == ST_OK)
        code = read_outcomes(cli, outcomes, error);
    query->outcomes = outcomes->length ? st_text_string(outcomes) : NULL;
    return code;
}

// The names that conditions may use, when one of them is not among them.
typedef struct listing {
    st_text of[4];
} listing;

static const char *const kinds[] = {"parameter", "axis", "fact", "counter"};

static void list_name(void *context, const char *kind, const char *name)
{
    listing *all = context;
    for (int i = 0; i < 4; i++)
        if (strcmp(kind, kinds[i]) == 0)
            st_text_addf(&all->of[i], "%s%s", all->of[i].length ? " " : "", name);
}

static void print_listing(st_cli *cli, listing *all)
{
    static const char *const labels[] = {"parameters", "axes", "facts", "counters"};
    st_text text;
    st_text_init(&text);
    for (int i = 0; i < 4; i++) {
        if (all->of[i].length)
            st_report_row(&text, labels[i], 14, st_text_string(&all->of[i]), 100);
        st_text_release(&all->of[i]);
    }
    if (text.length)
        st_cli_tell(cli, cli->talk, "names that there are to ask for:\n%s", st_text_string(&text));
    st_text_release(&text);
}

// No row: either a family that nobody has heard of, or one that was not measured so.
static st_code nothing_known(st_store *store, const st_query *query, st_error *error)
{
    bool known = !query->family || st_command_is_family(query->family);
    st_code code = known ? ST_OK : st_store_knows_family(store, query->family, &known, error);
    if (code != ST_OK)
        return code;
    if (!known)
        return st_fail(error, ST_NOTHING, "simtune templates lists the families; simtune query lists all rows",
                       "nothing is known of %s, and no family of that name is shipped", query->family);
    const char *remedy = query->where ? "ask for less; a row of which a value is not known does not match"
                                      : "ask for less, or tune first: simtune reduce --arch auto";
    return st_fail(error, ST_NOTHING, remedy,
                   "the store knows no such %s%s%s", query->best       ? "winner"
                                                     : query->outcomes ? "candidate"
                                                                       : "measurement",
                   query->family ? " of " : "", query->family ? query->family : "");
}

static st_code print_json_rows(st_cli *cli, json_t *rows, st_error *error)
{
    json_t *whole = json_pack("{s:s, s:O}", "schema", "simtune.query/1", "rows", rows);
    return st_cli_print_json(cli, whole, error);
}

st_code st_query_format_read(st_cli *cli, st_query_format *out, st_error *error)
{
    const struct {
        bool given;
        st_query_format format;
        const char *name;
    } formats[] = {{cli->json, ST_PRINT_JSON, "json"},
                   {st_parsed_flag(cli->parsed, "csv"), ST_PRINT_CSV, "csv"},
                   {st_parsed_flag(cli->parsed, "markdown"), ST_PRINT_MARKDOWN, "markdown"}};
    const char *first = NULL;
    *out = ST_PRINT_TABLE;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!formats[i].given)
            continue;
        if (first)
            return st_fail(error, ST_USAGE, "choose one", "--%s and --%s together", first, formats[i].name);
        first = formats[i].name;
        *out = formats[i].format;
    }
    return ST_OK;
}

static st_answer_callback *printer_of(const st_query_printing *to)
{
    return to->format == ST_PRINT_JSON       ? st_query_keep_json
           : to->format == ST_PRINT_CSV      ? st_query_print_csv
           : to->format == ST_PRINT_MARKDOWN ? st_query_print_markdown
           : to->query->outcomes             ? st_query_print_failure
                                             : st_query_print_time;
}

static st_code ask(st_cli *cli, st_store *store, st_query *query, st_query_format format, st_error *error)
{
    st_query_printing to = {.cli = cli, .query = query, .format = format, .rows = json_array()};
    listing names;
    st_text_init(&to.text);
    st_text_init(&to.cell);
    st_text_init(&to.words);
    for (int i = 0; i < 4; i++)
        st_text_init(&names.of[i]);
    query->brief = format == ST_PRINT_TABLE || format == ST_PRINT_MARKDOWN;
    query->unknown = list_name;
    query->unknown_context = &names;
    st_code code = to.rows ? st_store_query(store, query, printer_of(&to), &to, error)
                           : st_fail_memory(error, "asking the store");
    if (code == ST_OK && format == ST_PRINT_JSON)
        code = print_json_rows(cli, to.rows, error);
    if (code == ST_OK && to.shifted)
        st_cli_tell(cli, cli->out, "\n%s; rows stand by it\n", st_report_shifted);
    if (code == ST_OK && format == ST_PRINT_CSV && !to.count)
        st_query_csv_head(&to, NULL);
    if (code == ST_OK && !to.count)
        code = nothing_known(store, query, error);
    print_listing(cli, &names);
    json_decref(to.rows);
    st_text_release(&to.text);
    st_text_release(&to.cell);
    st_text_release(&to.words);
    return code;
}

st_code st_cmd_query(st_cli *cli, st_error *error)
{
    st_store *store = NULL;
    st_cli_filter filter;
    st_query_format format;
    st_text outcomes;
    st_code code = st_query_format_read(cli, &format, error);
    if (code == ST_OK && st_parsed_flag(cli->parsed, "sql"))
        return st_query_sql_command(cli, format, error);
    st_text_init(&outcomes);
    if (code == ST_OK)
        code = read_query(cli, &filter, &outcomes, error);
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK && filter.query.session)
        code = st_cli_check_session(store, filter.query.session, error);
    if (code == ST_OK) {
        st_store_stop_when(store, cli->interrupted);
        code = ask(cli, store, &filter.query, format, error);
    }
    st_text_release(&outcomes);
    st_store_close(store);
    return code;
}
