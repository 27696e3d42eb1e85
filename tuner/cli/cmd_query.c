// SPDX-License-Identifier: Apache-2.0
// `simtune query`: what the store knows, as a table, JSON or CSV. Opens the store for reading only; needs no
// GPU unless --device gives a number or --arch is auto.
#include "reports/format.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/worker/messages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct printing {
    st_cli *cli;
    bool failures; // outcomes and reasons instead of times
    size_t count;
    char device[256], problem[320]; // of the last row, to print each once
    json_t *rows;
} printing;

// --- a table --------------------------------------------------------------------------------------------------

static void head_of_device(printing *to, const st_answer *row, st_text *text)
{
    char device[256];
    snprintf(device, sizeof device, "%s (sm_%d, %d SMs), driver %s, %s%s%s", row->device_name, row->cc,
             row->sm_count, row->driver[0] ? row->driver : "-", row->compiler[0] ? row->compiler : "-",
             row->shipped ? ", shipped" : "", st_text_equal(row->backend, "emu") ? ", EMULATED" : "");
    if (strcmp(device, to->device) == 0)
        return;
    st_text_addf(text, "%s%s%s%s\n", to->count ? "\n" : "", to->cli->colour ? "\033[1m" : "", device,
                 to->cli->colour ? "\033[0m" : "");
    st_text_add(text, to->failures
                          ? "  outcome     candidate     why\n"
                          : "  cache       time        speed  of mem.  × the default          candidate\n");
    snprintf(to->device, sizeof to->device, "%s", device);
    to->problem[0] = '\0';
}

static void head_of_problem(printing *to, const st_answer *row, st_text *text)
{
    char problem[320];
    snprintf(problem, sizeof problem, "%s %s", row->family, row->problem);
    if (strcmp(problem, to->problem) == 0)
        return;
    st_text_addf(text, "%s ", row->family);
    st_report_problem(text, row->problem);
    st_text_add(text, "\n");
    snprintf(to->problem, sizeof to->problem, "%s", problem);
}

// What stands for a row beside its time: how much a winner gained, or what it is.
static void add_standing(const st_answer *row, st_text *text)
{
    bool correct = st_text_equal(row->outcome, "correct");
    if (!correct)
        st_text_add(text, row->outcome);
    else if (row->is_winner && row->is_default)
        st_text_addf(text, row->tied > 1 ? "the default wins, %d tie" : "the default wins", row->tied);
    else if (row->is_winner && isfinite(row->speedup)) {
        st_text_addf(text, "%.2f", row->speedup);
        if (isfinite(row->speedup_low) && isfinite(row->speedup_high))
            st_text_addf(text, " (%.2f–%.2f)", row->speedup_low, row->speedup_high);
        if (row->tied > 1)
            st_text_addf(text, ", %d tie", row->tied);
    } else if (row->is_winner)
        st_text_add(text, "winner");
    else if (row->is_default)
        st_text_add(text, "the default");
}

static void add_cell(st_text *text, void (*add)(st_text *, double), double value, int width)
{
    st_text cell;
    st_text_init(&cell);
    add(&cell, value);
    st_report_right(text, st_text_string(&cell), width);
    text->failed = text->failed || cell.failed;
    st_text_release(&cell);
}

static st_code print_row(void *context, const st_answer *row, st_error *error)
{
    printing *to = context;
    st_text text, standing;
    st_text_init(&text);
    st_text_init(&standing);
    head_of_device(to, row, &text);
    head_of_problem(to, row, &text);
    double speed = row->bytes / row->median_ns;
    st_text_addf(&text, "  %-4s", row->cache);
    add_cell(&text, st_report_time, row->median_ns, 12);
    add_cell(&text, st_report_speed, speed, 13);
    add_cell(&text, st_report_share, speed / row->read_gbs, 9);
    add_standing(row, &standing);
    st_text_add(&text, "  ");
    st_report_left(&text, st_text_string(&standing), 23);
    st_text_addf(&text, " %.12s\n", row->candidate_id);
    st_report_row(&text, "", 8, row->configuration, 80);
    to->count++;
    bool failed = text.failed || standing.failed;
    if (!failed)
        fputs(st_text_string(&text), to->cli->out);
    st_text_release(&standing);
    st_text_release(&text);
    return failed ? st_fail_memory(error, "printing a table") : ST_OK;
}

// A candidate by its outcome: why, of the log the first line, and how to see it again.
static st_code print_failure(void *context, const st_answer *row, st_error *error)
{
    enum { LINE = 100 };
    printing *to = context;
    st_text text;
    st_text_init(&text);
    head_of_device(to, row, &text);
    head_of_problem(to, row, &text);
    const char *why = row->detail ? row->detail : "";
    size_t length = strcspn(why, "\n");
    st_text_addf(&text, "  %-11s %.12s  %.*s%s\n", row->outcome, row->candidate_id,
                 (int)(length > LINE ? LINE : length ? length : 1), length ? why : "-",
                 why[length] || length > LINE ? " …" : "");
    st_report_row(&text, "", 8, row->configuration, 80);
    st_text_addf(&text, "        simtune repro %.12s -o repro.cu\n", row->candidate_id);
    to->count++;
    bool failed = text.failed;
    if (!failed)
        fputs(st_text_string(&text), to->cli->out);
    st_text_release(&text);
    return failed ? st_fail_memory(error, "printing a table") : ST_OK;
}

// --- JSON and CSV -------------------------------------------------------------------------------------------------

static st_code keep_row(void *context, const st_answer *row, st_error *error)
{
    printing *to = context;
    to->count++;
    return json_array_append_new(to->rows, st_answer_json(row)) == 0 ? ST_OK
                                                                    : st_fail_memory(error, "printing JSON");
}

// The columns of --csv are keys of --json, in this order. To add one: a row of both.
static const char *const columns[] = {
    "family",      "problem",       "type",        "operation",    "n",             "device",
    "device_uuid", "backend",       "cc",          "sm_count",     "driver",        "driver_cuda",
    "compiler",    "tool",          "template_hash", "session",    "candidate",     "configuration",
    "outcome",     "cache",         "phase",       "median_ns",    "default_ns",    "samples",       "bytes",
    "bytes_per_second", "read_bytes_per_second", "speedup", "speedup_low", "speedup_high", "tied",
    "winner",      "default",       "registers",   "local_bytes",  "static_smem_bytes",
    "dynamic_smem_bytes", "blocks_per_sm", "occupancy", "deterministic", "taken_ms", "shipped", "detail", "repro"};

// RFC 4180: what holds a comma, a quote or a line's end stands in quotes, quotes doubled.
static void add_csv_text(st_text *text, const char *value)
{
    if (!value[strcspn(value, ",\"\r\n")]) {
        st_text_add(text, value);
        return;
    }
    st_text_add(text, "\"");
    for (; *value; value++)
        st_text_addf(text, *value == '"' ? "\"\"" : "%c", *value);
    st_text_add(text, "\"");
}

static st_code print_csv_row(void *context, const st_answer *row, st_error *error)
{
    printing *to = context;
    json_t *object = st_answer_json(row);
    st_text text;
    st_text_init(&text);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0] && object; i++) {
        const json_t *value = json_object_get(object, columns[i]);
        st_text_add(&text, i ? "," : "");
        if (json_is_string(value))
            add_csv_text(&text, json_string_value(value));
        else if (value && !json_is_null(value))
            st_json_print(value, &text);
    }
    bool failed = !object || text.failed;
    if (!failed)
        fprintf(to->cli->out, "%s\n", st_text_string(&text));
    to->count++;
    st_text_release(&text);
    json_decref(object);
    return failed ? st_fail_memory(error, "printing CSV") : ST_OK;
}

static void print_csv_head(FILE *out)
{
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        fprintf(out, "%s%s", i ? "," : "", columns[i]);
    fprintf(out, "\n");
}

// --- what is asked ------------------------------------------------------------------------------------------------

static st_code read_numbers(st_cli *cli, st_query *query, st_error *error)
{
    const char *size = st_parsed_text(cli->parsed, "size"), *limit = st_parsed_text(cli->parsed, "limit");
    int64_t number;
    if (size && (!st_text_to_int(size, &query->n) || query->n < 0))
        return st_fail(error, ST_USAGE, "write sizes like 1000, 64Ki, 16Mi or 2^24", "%s is no size", size);
    if (limit && (!st_text_to_int(limit, &number) || number < 1))
        return st_fail(error, ST_USAGE, "give a number from 1 on", "--limit %s is no number of rows", limit);
    if (limit)
        query->limit = (size_t)number;
    return ST_OK;
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
    if (code == ST_OK && type)
        code = st_cli_type(type, &query->type, error);
    if (code == ST_OK)
        code = st_cli_choice(cli, "cache", caches, &query->cache, error);
    if (code == ST_OK)
        code = read_numbers(cli, query, error);
    if (code == ST_OK && cli->json && st_parsed_flag(cli->parsed, "csv"))
        code = st_fail(error, ST_USAGE, "choose one", "--json and --csv together");
    if (code == ST_OK)
        code = read_outcomes(cli, outcomes, error);
    query->outcomes = outcomes->length ? st_text_string(outcomes) : NULL;
    return code;
}

static st_code count_row(void *context, const st_answer *row, st_error *error)
{
    (void)row, (void)error;
    ++*(size_t *)context;
    return ST_OK;
}

// Measured ones or others.
static st_code knows_family(st_store *store, const char *family, bool *known, st_error *error)
{
    size_t count = 0;
    st_query query = {.family = family, .cc = -1, .sm_count = -1, .n = -1, .since_ms = -1, .limit = 1};
    st_code code = st_store_query(store, &query, count_row, &count, error);
    query.outcomes = failures;
    if (code == ST_OK && !count)
        code = st_store_query(store, &query, count_row, &count, error);
    *known = count > 0;
    return code;
}

// No row: either a family that nobody has heard of, or one that was not measured so.
static st_code nothing_known(st_store *store, const st_query *query, st_error *error)
{
    bool known = !query->family || st_command_is_family(query->family);
    st_code code = known ? ST_OK : knows_family(store, query->family, &known, error);
    if (code != ST_OK)
        return code;
    if (!known)
        return st_fail(error, ST_NOTHING, "simtune templates lists the families; simtune query lists all rows",
                       "nothing is known of %s, and no family of that name is shipped", query->family);
    return st_fail(error, ST_NOTHING, "ask for less, or tune first: simtune reduce --arch auto",
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

st_code st_cmd_query(st_cli *cli, st_error *error)
{
    st_store *store = NULL;
    st_cli_filter filter;
    bool csv = st_parsed_flag(cli->parsed, "csv");
    st_text outcomes;
    st_text_init(&outcomes);
    printing to = {.cli = cli, .rows = json_array()};
    st_code code = to.rows ? read_query(cli, &filter, &outcomes, error) : st_fail_memory(error, "asking the store");
    to.failures = outcomes.length > 0;
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK && filter.query.session)
        code = st_cli_check_session(store, filter.query.session, error);
    if (code == ST_OK && csv)
        print_csv_head(cli->out);
    if (code == ST_OK)
        code = st_cli_filter_ask(store, &filter,
                                 cli->json     ? keep_row
                                 : csv         ? print_csv_row
                                 : to.failures ? print_failure
                                               : print_row,
                                 &to, error);
    if (code == ST_OK && cli->json)
        code = print_json_rows(cli, to.rows, error);
    if (code == ST_OK && !to.count)
        code = nothing_known(store, &filter.query, error);
    json_decref(to.rows);
    st_text_release(&outcomes);
    st_store_close(store);
    return code;
}
