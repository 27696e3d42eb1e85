// SPDX-License-Identifier: Apache-2.0
// `simtune replay FILE|SESSION …`: strategies over recorded spaces, many seeds, no GPU. Reads only: a file is taken
// into a store in memory.
#include "db/exchange.h"
#include "reports/format.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/replay.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STRATEGIES_MOST = 16, WIDTH = 17 };

typedef struct replaying {
    st_cli *cli;
    st_records records;
    const char *strategies[STRATEGIES_MOST];
    size_t strategy_count;
    st_replay_options options;
    bool history;
    json_t *list;                 // --json
    st_text chart;                // --chart
    double logarithms[STRATEGIES_MOST]; // sums: evaluations to within 1 % over those that random expects
} replaying;

// --- what is to be replayed --------------------------------------------------------------------------------------

static st_code load_file(const char *path, const st_record_wish *wish, st_records *out, st_error *error)
{
    st_store *store = NULL;
    st_imported done;
    st_code code = st_store_open(":memory:", ST_STORE_WRITE, &store, error);
    if (code == ST_OK)
        code = st_exchange_import(store, path, NULL, &done, error);
    if (code == ST_OK)
        code = st_records_load(store, wish, out, error);
    if (code == ST_NOTHING)
        st_error_prefix(error, "%s", path);
    st_store_close(store);
    return code;
}

static st_code load(replaying *at, st_error *error)
{
    st_cli *cli = at->cli;
    static const char *const caches[] = {"cold", "warm", NULL};
    st_record_wish wish = {.problem = st_parsed_text(cli->parsed, "problem"), .before_ms = -1};
    st_store *store = NULL;
    st_code code = st_cli_choice(cli, "cache", caches, &wish.cache, error);
    for (size_t i = 0; i < cli->parsed->word_count && code == ST_OK; i++) {
        const char *word = cli->parsed->words[i];
        if (access(word, F_OK) == 0) {
            code = load_file(word, &wish, &at->records, error);
            continue;
        }
        if (strchr(word, '/') || strchr(word, '.'))
            code = st_fail(error, ST_FAILED, "name a file that is there, or a session of the store",
                           "there is no file %s", word);
        if (code == ST_OK && !store)
            code = st_cli_store(cli, ST_STORE_READ, &store, error);
        st_session_row row = {0};
        if (code == ST_OK)
            code = st_cli_session_of(store, NULL, word, &row, error);
        wish.session = row.id;
        if (code == ST_OK)
            code = st_records_load(store, &wish, &at->records, error);
        wish.session = NULL;
        st_session_row_release(&row);
    }
    st_store_close(store);
    return code;
}

// --- options -----------------------------------------------------------------------------------------------------

static st_code read_strategies(replaying *at, st_list *words, st_error *error)
{
    static const char *const usual[] = {"guided", "local", "genetic", "anneal", "random"};
    st_code code = st_parsed_list(at->cli->parsed, "strategy", true, words, error);
    size_t count = words->count ? words->count : sizeof usual / sizeof usual[0];
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        const char *word = words->count ? words->items[i] : usual[i];
        const st_strategy_row *row = st_strategy_find(word);
        if (!row)
            code = st_fail(error, ST_USAGE, st_strategy_names(), "there is no strategy %s", word);
        for (size_t s = 0; s < at->strategy_count && code == ST_OK; s++)
            if (at->strategies[s] == row->name)
                code = st_fail(error, ST_USAGE, "name each once", "the strategy %s is named twice", row->name);
        if (code == ST_OK)
            at->strategies[at->strategy_count++] = row->name;
    }
    return code;
}

static st_code read_whole(st_cli *cli, const char *name, int64_t missing, int64_t low, int64_t high, int64_t *out,
                          st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, name);
    *out = missing;
    if (word && (!st_text_to_int(word, out) || *out < low || *out > high))
        return st_fail(error, ST_USAGE, "see simtune replay --help", "--%s %s is not a whole number from %lld to %lld",
                       name, word, (long long)low, (long long)high);
    return ST_OK;
}

// What `guided` is to do without.
static st_code read_without(replaying *at, st_error *error)
{
    st_list words = {0};
    st_code code = st_parsed_list(at->cli->parsed, "without", true, &words, error);
    for (size_t i = 0; i < words.count && code == ST_OK; i++) {
        const char *word = words.items[i];
        if (strcmp(word, "stalls") == 0)
            at->options.search.without_stalls = true;
        else if (strcmp(word, "model") == 0)
            at->options.search.without_model = true;
        else
            code = st_fail(error, ST_USAGE, "there are stalls and model", "guided cannot do without %s", word);
    }
    st_list_free(&words);
    return code;
}

static st_code read_options(replaying *at, st_list *words, st_error *error)
{
    int64_t seeds, seed, batch;
    st_cli *cli = at->cli;
    if (!cli->parsed->word_count)
        return st_fail(error, ST_USAGE, "simtune replay FILE, or simtune replay SESSION; simtune query --json names sessions",
                       "replay needs a recorded space");
    st_code code = read_strategies(at, words, error);
    if (code == ST_OK)
        code = read_whole(cli, "seeds", 25, 1, 100000, &seeds, error);
    if (code == ST_OK)
        code = read_whole(cli, "seed", 1, 0, INT64_MAX, &seed, error);
    if (code == ST_OK)
        code = read_whole(cli, "batch", 1, 1, 256, &batch, error);
    if (code == ST_OK)
        code = read_without(at, error);
    if (code != ST_OK)
        return code;
    at->history = st_parsed_flag(cli->parsed, "history");
    at->options.seeds = (size_t)seeds;
    at->options.first_seed = (uint64_t)seed;
    at->options.batch = (size_t)batch;
    at->options.profile_seconds = 0.01; // what the tuning run allows for one
    at->options.interrupted = cli->interrupted;
    return ST_OK;
}

// --- printing ----------------------------------------------------------------------------------------------------

static json_t *figure_json(st_replay_figure figure)
{
    return json_pack("{s:o, s:o, s:o}", "low", st_json_number(figure.low), "median", st_json_number(figure.median),
                     "high", st_json_number(figure.high));
}

static json_t *result_json(const char *strategy, const st_replay_result *result, size_t seeds)
{
    json_t *goals = json_array(), *curve = json_array();
    for (int g = 0; g < ST_REPLAY_GOALS && goals; g++)
        json_array_append_new(goals, json_pack("{s:f, s:o, s:o}", "within", st_replay_goals[g], "evaluations",
                                               figure_json(result->evaluations[g]), "seconds",
                                               figure_json(result->seconds[g])));
    for (size_t p = 0; p < result->point_count && curve; p++)
        json_array_append_new(curve, json_pack("{s:I, s:o}", "evaluations", (json_int_t)result->points[p], "ratio",
                                               figure_json(result->curve[p])));
    json_t *stop = result->stopped ? json_pack("{s:I, s:o, s:o}", "seeds", (json_int_t)result->stopped, "evaluations",
                                               figure_json(result->stop_evaluations), "gap",
                                               figure_json(result->stop_gap))
                                   : json_null();
    return json_pack("{s:s, s:I, s:o, s:o, s:o, s:o}", "strategy", strategy, "seeds", (json_int_t)seeds, "goals", goals,
                     "profiles", figure_json(result->profiles), "stops", stop, "curve", curve);
}

static json_t *record_json(const st_recorded *record, size_t history, json_t *strategies)
{
    json_t *within = json_array();
    for (int g = 0; g < ST_REPLAY_GOALS && within; g++)
        json_array_append_new(within, json_pack("{s:f, s:I, s:f}", "within", st_replay_goals[g], "configurations",
                                                (json_int_t)st_recorded_within(record, st_replay_goals[g]),
                                                "random_expects", st_replay_expected(record, st_replay_goals[g])));
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:o, s:o, s:I, s:O}", "session", record->session, "family",
                     record->family, "problem", record->problem, "device", record->device, "configurations",
                     (json_int_t)record->space.count, "failed", (json_int_t)record->failed, "profiled",
                     (json_int_t)record->profiled, "best_ns", record->ns[record->best], "limit_ns",
                     st_json_number(record->limit_ns), "within", within, "history", (json_int_t)history, "strategies",
                     strategies);
}

static void add_figure(st_text *text, st_replay_figure figure, bool seconds, int width)
{
    st_text cell;
    st_text_init(&cell);
    if (isnan(figure.median))
        st_text_add(&cell, "-");
    else if (seconds)
        st_text_addf(&cell, "%.3g (%.3g–%.3g)", figure.median, figure.low, figure.high);
    else
        st_text_addf(&cell, "%.4g (%.4g–%.4g)", figure.median, figure.low, figure.high);
    if ((int)st_report_columns(st_text_string(&cell)) >= width) // never into its neighbour
        st_text_add(text, " ");
    st_report_right(text, st_text_string(&cell), width);
    st_text_release(&cell);
}

static void print_head(const replaying *at, const st_recorded *record, size_t history, st_text *text)
{
    st_text_addf(text, "%s ", record->family);
    st_report_problem(text, record->problem);
    st_text_addf(text, "\n  %s, session %.12s: %zu configurations", record->device, record->session,
                 record->space.count);
    if (record->failed)
        st_text_addf(text, " (%zu failed)", record->failed);
    st_text_addf(text, "; within 1, 5, 10 %% of the best: %zu, %zu, %zu; ",
                 st_recorded_within(record, 0.01), st_recorded_within(record, 0.05), st_recorded_within(record, 0.10));
    if (record->profiled)
        st_text_addf(text, "%zu with stall profiles", record->profiled);
    else
        st_text_add(text, "no stall profiles");
    if (at->history)
        st_text_addf(text, "; history of %zu other problem%s", history, history == 1 ? "" : "s");
    st_text_add(text, "\n\n  evaluations to within       1 %              5 %             10 %        seconds to 1 %\n"
                      "  expected, random");
    for (int g = 0; g < ST_REPLAY_GOALS; g++) {
        char words[32];
        snprintf(words, sizeof words, "%.1f", st_replay_expected(record, st_replay_goals[g]));
        st_report_right(text, words, g ? WIDTH : WIDTH - 2);
    }
    st_text_add(text, "\n");
}

static void print_result(const char *strategy, const st_replay_result *result, st_text *text)
{
    st_text_addf(text, "  %-14s", strategy);
    for (int g = 0; g < ST_REPLAY_GOALS; g++)
        add_figure(text, result->evaluations[g], false, WIDTH);
    add_figure(text, result->seconds[0], true, WIDTH + 5);
    st_text_add(text, "\n");
    if (result->stopped)
        st_text_addf(text, "    stops by itself after %.4g (%.4g–%.4g), then %.2g %% from the best (%.2g–%.2g)\n",
                     result->stop_evaluations.median, result->stop_evaluations.low, result->stop_evaluations.high,
                     result->stop_gap.median * 100, result->stop_gap.low * 100, result->stop_gap.high * 100);
}

static void add_chart(st_text *out, const st_recorded *record, const char *strategy, const st_replay_result *result)
{
    for (size_t p = 0; p < result->point_count; p++)
        st_text_addf(out, "%s,\"%s\",%s,%zu,%.6g,%.6g,%.6g\n", record->family, record->problem, strategy,
                     result->points[p], result->curve[p].low, result->curve[p].median, result->curve[p].high);
}

// --- one record --------------------------------------------------------------------------------------------------

static st_code find_history(replaying *at, const st_recorded *record, double *expected, size_t *used, st_error *error)
{
    st_experience_of of = {.family = record->family, .problem = record->problem, .device = record->device,
                           .cc = record->cc, .sm_count = record->sm_count, .space = &record->space,
                           .words = (char *const *const *)record->words, .self = record};
    return st_experience(&of, &at->records, expected, used, error);
}

static st_code replay_one(replaying *at, const st_recorded *record, st_error *error)
{
    st_text text;
    st_text_init(&text);
    size_t history = 0;
    json_t *list = json_array();
    double *expected = st_malloc((record->space.count + 1) * sizeof *expected);
    st_code code = expected && list ? ST_OK : st_fail_memory(error, "replaying");
    if (code == ST_OK && at->history)
        code = find_history(at, record, expected, &history, error);
    at->options.search.expected = history ? expected : NULL;
    if (code == ST_OK && !at->cli->json)
        print_head(at, record, history, &text);
    for (size_t s = 0; s < at->strategy_count && code == ST_OK; s++) {
        st_replay_result result;
        code = st_replay(record, at->strategies[s], &at->options, &result, error);
        if (code != ST_OK)
            break;
        add_chart(&at->chart, record, at->strategies[s], &result);
        at->logarithms[s] += log(result.evaluations[0].median / st_replay_expected(record, st_replay_goals[0]));
        if (!at->cli->json)
            print_result(at->strategies[s], &result, &text);
        else if (json_array_append_new(list, result_json(at->strategies[s], &result, at->options.seeds)) != 0)
            code = st_fail_memory(error, "replaying");
    }
    if (code == ST_OK && at->cli->json && json_array_append_new(at->list, record_json(record, history, list)) != 0)
        code = st_fail_memory(error, "replaying");
    if (code == ST_OK && text.failed)
        code = st_fail_memory(error, "replaying");
    if (code == ST_OK && !at->cli->json)
        st_cli_print(at->cli, at->cli->out, st_text_string(&text));
    at->options.search.expected = NULL;
    json_decref(list);
    st_free(expected);
    st_text_release(&text);
    return code;
}

static void print_summary(const replaying *at)
{
    double spaces = (double)at->records.count;
    fprintf(at->cli->out, "\nOf these %zu spaces, evaluations to within 1 %% as a share of what random expects (geometric mean):\n",
            at->records.count);
    for (size_t s = 0; s < at->strategy_count; s++)
        fprintf(at->cli->out, "  %-14s %.2f\n", at->strategies[s], exp(at->logarithms[s] / spaces));
}

static st_code write_chart(replaying *at, st_error *error)
{
    const char *path = st_parsed_text(at->cli->parsed, "chart");
    if (!path)
        return ST_OK;
    if (at->chart.failed)
        return st_fail_memory(error, "writing the chart's data");
    return st_text_write_file(path, st_text_string(&at->chart), at->chart.length, NULL, error);
}

st_code st_cmd_replay(st_cli *cli, st_error *error)
{
    replaying at = {.cli = cli, .list = json_array()};
    st_list words = {0};
    st_text_init(&at.chart);
    st_text_add(&at.chart, "family,problem,strategy,evaluations,low,median,high\n");
    st_code code = at.list ? read_options(&at, &words, error) : st_fail_memory(error, "replaying");
    if (code == ST_OK)
        code = load(&at, error);
    for (size_t i = 0; i < at.records.count && code == ST_OK; i++) {
        if (i && !cli->json)
            st_cli_print(cli, cli->out, "\n");
        code = replay_one(&at, &at.records.items[i], error);
    }
    if (code == ST_OK && !cli->json && at.records.count > 1)
        print_summary(&at);
    if (code == ST_OK)
        code = write_chart(&at, error);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:O}", "schema", "simtune.replay/1", "spaces", at.list), error);
    json_decref(at.list);
    st_list_free(&words);
    st_records_release(&at.records);
    st_text_release(&at.chart);
    return code;
}
