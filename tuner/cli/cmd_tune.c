// SPDX-License-Identifier: Apache-2.0
// simtune tune. Three ways: measure on the GPU at hand; without one, from recorded history (tune_history.c); --dry-run
// says what would be done.
#include "reports/format.h"
#include "reports/summary.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/live_view.h"
#include "tuner/cli/tune_history.h"
#include "tuner/cli/vary_table.h"
#include "tuner/publish.h"

#include <math.h>
#include <string.h>

// --- dry run --------------------------------------------------------------------------------------------------

// Of the session on an H200 that ships (db/history): 100 s of processor time for its 1109 kernels, 6.2 s for 2635
// candidates, 7.7 s for finals and profiles of four problems. Compiling overlaps; here it does not.
static double forecast_seconds(const st_tune_words *words, size_t compiles, size_t chosen)
{
    double problems = (double)words->problem_count, screen = (double)chosen * 0.0024;
    if (words->options.budget_seconds > 0 && screen > words->options.budget_seconds * problems)
        screen = words->options.budget_seconds * problems;
    return (double)compiles * 0.09 / 8 + screen + 1.9 * problems + 1;
}

// `guided` stopped after 32 to 48 configurations of each of four problems of scan on an H200.
enum { STOPS_AFTER = 48 };

static st_code print_forecast(st_cli *cli, const st_tune_words *words, const st_tune_forecast *forecast, size_t index,
                              json_t *list, st_error *error)
{
    const st_template *tmpl = words->options.tmpl;
    st_text text;
    st_text_init(&text);
    st_problem_text(tmpl, &words->problems[index], &text);
    st_code code = ST_OK;
    if (!cli->json)
        fprintf(cli->out, "%s %s: %.0f combinations, %zu allowed, %s%zu to be tried, %s%zu to be compiled\n", tmpl->family,
                st_text_string(&text), forecast->combinations, forecast->allowed, forecast->stops ? "at most " : "",
                forecast->chosen, forecast->stops ? "at most " : "", forecast->compiles);
    else if (json_array_append_new(list, json_pack("{s:s, s:f, s:I, s:I, s:I}", "problem", st_text_string(&text),
                                                   "combinations", forecast->combinations, "allowed",
                                                   (json_int_t)forecast->allowed, "tried", (json_int_t)forecast->chosen,
                                                   "compiled", (json_int_t)forecast->compiles)) != 0)
        code = st_fail_memory(error, "printing JSON");
    st_text_release(&text);
    return code;
}

static st_code dry_run(st_cli *cli, const st_tune_words *words, const st_cli_device *device, st_error *error)
{
    st_tune_forecast *forecasts = st_calloc(words->problem_count, sizeof *forecasts);
    json_t *list = json_array();
    st_code code = forecasts && list ? st_tune_dry_run(&words->options, device->present ? &device->facts : NULL,
                                                       forecasts, error)
                                     : st_fail_memory(error, "forecasting");
    size_t compiles = 0, chosen = 0;
    for (size_t i = 0; i < words->problem_count && code == ST_OK; i++) {
        code = print_forecast(cli, words, &forecasts[i], i, list, error);
        size_t most = forecasts[i].stops && words->options.budget_limit <= 0 ? STOPS_AFTER : SIZE_MAX;
        chosen += forecasts[i].chosen < most ? forecasts[i].chosen : most;
        size_t compiled = forecasts[i].compiles < most ? forecasts[i].compiles : most;
        if (compiled > compiles)
            compiles = compiled;
    }
    if (code == ST_OK && !chosen) // as the run would end
        code = st_fail(error, ST_NOTHING, "leave out a --where or a --set", "no configuration of %s is allowed for this",
                       words->options.tmpl->family);
    double seconds = forecast_seconds(words, compiles, chosen);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:s, s:f, s:O}", "schema", "simtune.forecast/1", "family",
                                                words->options.tmpl->family, "seconds", seconds, "problems", list),
                                 error);
    else if (code == ST_OK)
        fprintf(cli->out, "about %.0f s on 8 cores; nothing was measured\n", seconds);
    json_decref(list);
    st_free(forecasts);
    return code;
}

// --- measuring ------------------------------------------------------------------------------------------------

static st_code publish(st_cli *cli, const st_template *tmpl, const st_tune_result *result, st_store *store,
                       const char *cache, st_error *error)
{
    bool emulated = strcmp(result->device.backend, "emu") == 0;
    if (st_parsed_flag(cli->parsed, "no-header"))
        return ST_OK;
    if (emulated) {
        fprintf(cli->talk, "note: no header: the emulated device's times mean nothing\n");
        return ST_OK;
    }
    st_publish wanted = {.device = result->device.uuid,
                         .cc = (int)result->device.cc,
                         .sm_count = (int)result->device.sm_count,
                         .cache = cache,
                         .session = result->session_id};
    st_choice *choices = NULL;
    size_t count = 0;
    st_text path;
    bool changed = false;
    st_text_init(&path);
    st_code code = st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, error);
    st_emit_options options = {.cache = cache, .command = cli->command_line};
    bool usual = false;
    for (size_t i = 0; i < count && code == ST_OK; i++)
        usual = usual || st_problem_is_usual(tmpl, &choices[i].problem);
    if (code == ST_OK && !usual)
        fprintf(cli->talk, "note: no header: it is made from the usual data, which were not among these\n");
    if (code == ST_OK && usual)
        code = st_header_publish(tmpl, choices, count, &options, st_parsed_text(cli->parsed, "output"), &path,
                                 &changed, error);
    if (code == ST_OK && usual && !cli->json)
        fprintf(cli->out, "%s %s\n", changed ? "wrote" : "unchanged:", st_text_string(&path));
    st_text_release(&path);
    st_free(choices);
    return code;
}

static st_code summarise(st_cli *cli, const st_tune_words *words, const st_tune_result *result, st_store *store,
                         const char *cache, st_error *error)
{
    st_text text;
    st_text_init(&text);
    st_summary_options options = {.cache = cache, .colour = cli->colour};
    st_code code = ST_OK;
    if (!cli->json) // first: the summary ends with the next command to try
        code = st_vary_tables(store, words->options.tmpl, words->options.space.vary,
                              words->options.space.vary_count, result->session_id, cache, &text, error);
    if (code == ST_OK)
        code = cli->json ? st_summary_json(store, result->session_id, &text, error)
                         : st_summary_text(store, result->session_id, &options, &text, error);
    if (code == ST_OK && cli->json)
        fprintf(cli->out, "%s\n", st_text_string(&text));
    else if (code == ST_OK)
        st_cli_print(cli, cli->out, st_text_string(&text));
    st_text_release(&text);
    return code;
}

// Also of a run that was interrupted or found nothing: that is when one looks.
static st_code write_trace(st_cli *cli, const st_trace *trace, st_error *error)
{
    const char *path = st_parsed_text(cli->parsed, "trace");
    if (!trace)
        return ST_OK;
    st_code code = st_trace_write(trace, path, error);
    if (code == ST_OK)
        fprintf(cli->talk, "note: the timeline is in %s: open it in ui.perfetto.dev or chrome://tracing\n", path);
    return code;
}

static st_code measure(st_cli *cli, st_tune_words *words, const st_cli_device *device, st_error *error)
{
    st_store *store = NULL;
    st_tune_result result;
    st_live_view view;
    st_tune_listener listener = {&view, st_live_progress, st_live_note};
    const char *cache = st_parsed_flag(cli->parsed, "warm") ? "warm" : "cold";
    st_text folder;
    st_text_init(&folder);
    st_code code = st_cli_store(cli, ST_STORE_WRITE, &store, error);
    if (code == ST_OK)
        code = st_paths_cache(&folder, error);
    words->options.cache_folder = st_text_string(&folder);
    words->options.backend = device->backend;
    words->options.ordinal = device->ordinal;
    st_error why = {0};
    if (code == ST_OK && st_parsed_text(cli->parsed, "trace") && !(words->options.trace = st_trace_new()))
        code = st_fail_memory(error, "tracing");
    if (code == ST_OK) {
        st_live_begin(&view, cli);
        code = st_tune(&words->options, store, &listener, &result, &why);
        st_live_end(&view);
        if (code != ST_OK && error)
            *error = why;
        if (result.resumed)
            fprintf(cli->talk, "note: resumed session %.12s: %zu candidate%s measured before\n", result.session_id,
                    result.resumed_candidates, result.resumed_candidates == 1 ? " was" : "s were");
        // Also after Ctrl-C: the best so far is reported; and when all failed: what failed, with ids.
        bool some = code == ST_OK ? result.problems_done > 0
                                  : (code == ST_INTERRUPTED || code == ST_NOTHING) && result.session_id[0];
        st_error later = {0};
        st_code traced = result.session_id[0] ? write_trace(cli, words->options.trace, &later) : ST_OK;
        if (traced != ST_OK && code != ST_OK) // which has an error of its own
            st_cli_say(cli, &later);
        st_code shown = some ? summarise(cli, words, &result, store, cache, &later) : ST_OK;
        if (shown == ST_OK && some && result.problems_done)
            shown = publish(cli, words->options.tmpl, &result, store, cache, &later);
        shown = shown != ST_OK ? shown : traced;
        if (code == ST_OK && shown != ST_OK) {
            code = shown;
            if (error)
                *error = later;
        }
    }
    st_trace_free(words->options.trace);
    words->options.trace = NULL;
    st_text_release(&folder);
    st_store_close(store);
    return code;
}

// A header that cannot be written is better known before a minute of measuring than after.
static st_code check_output(st_cli *cli, st_error *error)
{
    const char *place = st_parsed_text(cli->parsed, "output");
    if (!place || st_parsed_flag(cli->parsed, "no-header") || st_parsed_flag(cli->parsed, "dry-run"))
        return ST_OK;
    size_t length = strlen(place);
    char *folder = length > 2 && strcmp(place + length - 2, ".h") == 0
                       ? st_strndup(place, strrchr(place, '/') ? (size_t)(strrchr(place, '/') - place) : 0)
                       : st_strdup(place);
    if (!folder)
        return st_fail_memory(error, "checking the output");
    st_code code = folder[0] ? st_text_make_folder(folder, error) : ST_OK;
    char *trial = st_format("%s%s.simtune-trial", folder, folder[0] ? "/" : "");
    FILE *file = code == ST_OK && trial && !st_fault_here(ST_FAULT_SYSTEM) ? fopen(trial, "w") : NULL;
    if (code == ST_OK && !file)
        code = st_fail(error, ST_FAILED, "choose a folder that can be written with -o", "%s cannot be written",
                       place);
    if (file) {
        fclose(file);
        remove(trial);
    }
    st_free(trial);
    st_free(folder);
    return code;
}

static st_code check_trace(st_cli *cli, bool measures, st_error *error)
{
    const char *place = st_parsed_text(cli->parsed, "trace");
    st_writing trial = {0};
    if (!place)
        return ST_OK;
    if (!measures) {
        fprintf(cli->talk, "note: nothing is measured, so --trace has nothing to show\n");
        return ST_OK;
    }
    st_code code = st_writing_open(&trial, place, error);
    st_writing_release(&trial);
    return code;
}

st_code st_cmd_tune(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count != 1)
        return st_fail(error, ST_USAGE, "simtune tune FAMILY, or simtune tune FILE.cu; simtune templates lists the "
                                        "families",
                       cli->parsed->word_count ? "one family at a time, not %zu" : "which family? (%zu given)",
                       cli->parsed->word_count);
    st_template *tmpl = NULL;
    st_tune_words words = {0};
    st_cli_device device = {0};
    st_code code = st_template_find(cli->parsed->words[0], &tmpl, error);
    if (code == ST_OK)
        code = st_tune_words_read(cli, tmpl, &words, error);
    if (code == ST_OK)
        code = st_cli_find_device(cli, &device, error);
    if (code == ST_OK && device.present) // from history, the header is written at once
        code = check_output(cli, error);
    if (code == ST_OK)
        code = check_trace(cli, device.present && !st_parsed_flag(cli->parsed, "dry-run"), error);
    if (code == ST_OK) {
        const char *arch = st_parsed_text(cli->parsed, "arch");
        int cc = -1;
        if (arch && strcmp(arch, "auto") != 0)
            code = st_cli_arch(arch, &cc, error);
        if (code == ST_OK && device.present)
            code = st_parsed_flag(cli->parsed, "dry-run") ? dry_run(cli, &words, &device, error)
                                                          : measure(cli, &words, &device, error);
        else if (code == ST_OK)
            code = st_tune_from_history(cli, tmpl, &words, cc, error);
    }
    st_tune_words_release(&words);
    st_template_free(tmpl);
    return code;
}
