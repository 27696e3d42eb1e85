// SPDX-License-Identifier: Apache-2.0
// `simtune db prune`: says what could go, and removes it with --yes.
#include "db/prune.h"
#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/cmd_db.h"

#include <string.h>

static const int64_t day_ms = 86400000;

// "1/10" or "10"; 1 keeps all.
static st_code read_share(st_cli *cli, int *one_in, st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, "keep");
    int64_t number;
    *one_in = 10;
    if (!word)
        return ST_OK;
    const char *digits = strncmp(word, "1/", 2) == 0 ? word + 2 : word;
    if (!st_text_to_int(digits, &number) || number < 1 || number > 1000000)
        return st_fail(error, ST_USAGE, "give --keep 1/10 for one in ten, 1/1 for all",
                       "%s is no share of samples", word);
    *one_in = (int)number;
    return ST_OK;
}

// "180d", "26w", "2y".
static st_code read_age(st_cli *cli, int64_t *before_ms, st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, "older-than");
    *before_ms = -1;
    if (!word)
        return ST_OK;
    char digits[16];
    size_t length = strspn(word, "0123456789");
    snprintf(digits, sizeof digits, "%.*s", (int)(length < 12 ? length : 12), word);
    int64_t number, days = word[length] == 'd' ? 1 : word[length] == 'w' ? 7 : word[length] == 'y' ? 365 : 0;
    if (!length || length > 6 || !days || word[length + 1] || !st_text_to_int(digits, &number))
        return st_fail(error, ST_USAGE, "give --older-than 180d, 26w or 2y", "%s is no age", word);
    *before_ms = st_clock_unix_ms() - number * days * day_ms;
    if (*before_ms < 1) // before there were sessions
        *before_ms = 1;
    return ST_OK;
}

static st_code print_prune_json(st_cli *cli, const st_store *store, const st_prune_options *options, bool really,
                                const st_prune_report *report, st_error *error)
{
    return st_cli_print_json(
        cli,
        json_pack("{s:s, s:s, s:b, s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "schema",
                  "simtune.db_prune/1", "path", st_store_path(store), "removed", (int)really, "keep_one_in",
                  options->keep_one_in, "before_ms", st_json_known_or_null(options->older_than_ms), "candidates",
                  (json_int_t)report->candidates, "kept_whole", (json_int_t)report->kept, "thinned_measurements",
                  (json_int_t)report->thinned, "thinned_samples", (json_int_t)report->samples, "dropped_candidates",
                  (json_int_t)report->dropped, "dropped_measurements", (json_int_t)report->dropped_measurements,
                  "dropped_samples", (json_int_t)report->dropped_samples, "dropped_counters",
                  (json_int_t)report->dropped_counters, "dropped_configurations", (json_int_t)report->configurations,
                  "bytes", (json_int_t)report->bytes),
        error);
}

static void print_prune(st_cli *cli, const st_prune_options *options, bool really, const st_prune_report *report)
{
    st_text size;
    st_text_init(&size);
    st_report_bytes(&size, report->bytes);
    fprintf(cli->out, "%lld of %lld candidate%s stay%s whole: winners, defaults, finalists, baselines, acknowledged and\n"
                      "unfinished sessions, and for each device and problem the newest session\n",
            (long long)report->kept, (long long)report->candidates, st_plural(report->candidates),
            report->candidates == 1 ? "s" : "");
    if (options->keep_one_in > 1)
        fprintf(cli->out, "%s %lld sample%s of %lld measurement%s; one in %d stays, and their medians\n",
                really ? "removed" : "would remove", (long long)report->samples, st_plural(report->samples),
                (long long)report->thinned, st_plural(report->thinned),
                options->keep_one_in);
    if (options->older_than_ms > 0)
        fprintf(cli->out, "%s %lld candidate%s that lost, with %lld measurement%s, %lld sample%s and %lld counter%s\n",
                really ? "removed" : "would remove", (long long)report->dropped, st_plural(report->dropped),
                (long long)report->dropped_measurements, st_plural(report->dropped_measurements),
                (long long)report->dropped_samples, st_plural(report->dropped_samples),
                (long long)report->dropped_counters, st_plural(report->dropped_counters));
    fprintf(cli->out, "about %s\n", st_text_string(&size));
    st_text_release(&size);
    if (really)
        fprintf(cli->talk, "simtune db vacuum makes the file smaller\n");
    else
        fprintf(cli->talk, "nothing was removed; with --yes it is, for good\n");
}

st_code st_cmd_db_prune(st_cli *cli, st_error *error)
{
    st_prune_options options;
    st_prune_report report;
    st_store *store = NULL;
    bool really = st_parsed_flag(cli->parsed, "yes");
    st_code code = read_share(cli, &options.keep_one_in, error);
    if (code == ST_OK)
        code = read_age(cli, &options.older_than_ms, error);
    if (code == ST_OK)
        code = st_cmd_db_store(cli, really ? ST_STORE_WRITE : ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = st_store_prune(store, &options, really, &report, error);
    if (code == ST_OK && cli->json)
        code = print_prune_json(cli, store, &options, really, &report, error);
    else if (code == ST_OK)
        print_prune(cli, &options, really, &report);
    st_store_close(store);
    return code;
}
